/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a golden case into a call of the library, and reads the results back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "golden_attr.h"

gantry_scope_t *conformance_scope_on(conformance_t *c, const char *device) {
    gantry_scope_t *scope = gantry_scope_begin(c->runtime, device);
    if (!scope) {
        fprintf(stderr, "gantry_conformance: no scope on %s: %s\n", device ? device : "(none)",
                gantry_last_message());
        exit(2);
    }
    return scope;
}

gantry_scope_t *conformance_scope(conformance_t *c) {
    return conformance_scope_on(c, c->options.device);
}

void conformance_end_scope(conformance_t *c, gantry_scope_t *scope, gantry_status_t wanted) {
    gantry_status_t status = gantry_scope_end(scope);
    if (status != wanted) {
        conformance_fail(c, "ending the scope gave %s instead of %s",
                         conformance_last_error(status), gantry_status_name(wanted));
    }
}

/* ---- values ---- */

const gantry_tensor_t *conformance_iota(gantry_scope_t *scope, int64_t n) {
    float *values = malloc((size_t)n * sizeof *values);
    if (!values) return NULL;
    for (int64_t i = 0; i < n; ++i) values[i] = (float)i;
    const gantry_tensor_t *tensor =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(n), values, (size_t)n * sizeof *values);
    free(values);
    return tensor;
}

void conformance_check_floats(conformance_t *c, const char *what, const gantry_tensor_t *tensor,
                              const float *values, size_t count) {
    golden_tensor_t got;
    if (!tensor) {
        conformance_fail(c, "%s: no tensor (%s)", what, gantry_last_message());
        return;
    }
    gantry_status_t status = conformance_read(tensor, &got);
    if (status != GANTRY_OK) {
        conformance_fail(c, "%s cannot be read: %s", what, conformance_last_error(status));
    } else if (got.dtype != GANTRY_FLOAT32 || got.bytes != count * sizeof *values) {
        conformance_fail(c, "%s: %zu bytes of %s instead of %zu floats", what, got.bytes,
                         gantry_dtype_name(got.dtype), count);
    } else {
        for (size_t i = 0; i < count; ++i) {
            float value;
            memcpy(&value, (const char *)got.data + i * sizeof value, sizeof value);
            if (value == values[i]) continue;
            conformance_fail(c, "%s: element %zu is %.9g instead of %.9g", what, i, (double)value,
                             (double)values[i]);
            break;
        }
    }
    conformance_free_outputs(&got, 1);
}

/* ---- inputs and attributes ---- */

typedef const gantry_tensor_t *make_fn(gantry_scope_t *scope, const golden_tensor_t *input);

static const gantry_tensor_t *make_constant(gantry_scope_t *scope, const golden_tensor_t *input) {
    return gantry_constant(scope, input->dtype, input->shape, input->data, input->bytes);
}

/* Puts the piece between two pages of NaN bytes, so that a read beyond the piece shows. */
static const gantry_tensor_t *make_piece(gantry_scope_t *scope, const golden_tensor_t *input) {
    const size_t around = 4096, bytes = around + input->bytes + around;
    const int64_t each = (int64_t)gantry_dtype_size(input->dtype);
    const int64_t begin = (int64_t)around / each, size = (int64_t)input->bytes / each;
    unsigned char *data = malloc(bytes);
    if (!data) return NULL;
    memset(data, input->dtype == GANTRY_BOOL ? 1 : 0xff, bytes);
    if (input->bytes > 0) memcpy(data + around, input->data, input->bytes);
    const gantry_tensor_t *whole =
        gantry_constant(scope, input->dtype, GANTRY_SHAPE((int64_t)bytes / each), data, bytes);
    free(data);
    const gantry_tensor_t *piece =
        gantry_reshape(scope, gantry_slice(scope, whole, &begin, &size), input->shape);
    gantry_tensor_drop(scope, whole);
    return piece;
}

/* Puts the elements between NaN bytes, and begins one element after a line: kernels may rely on no
 * more alignment. */
static const gantry_tensor_t *make_view(gantry_scope_t *scope, const golden_tensor_t *input) {
    const size_t each = gantry_dtype_size(input->dtype), before = 64 + each;
    const size_t bytes = before + input->bytes + 64;
    unsigned char *data = malloc(bytes);
    if (!data) return NULL;
    memset(data, input->dtype == GANTRY_BOOL ? 1 : 0xff, bytes);
    if (input->bytes > 0) memcpy(data + before, input->data, input->bytes);
    const gantry_tensor_t *whole =
        gantry_constant(scope, input->dtype, GANTRY_SHAPE((int64_t)(bytes / each)), data, bytes);
    free(data);
    const gantry_tensor_t *view =
        gantry_tensor_view(scope, whole, before, input->dtype, input->shape);
    gantry_tensor_drop(scope, whole);
    return view;
}

static bool make_inputs(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                        const gantry_tensor_t **inputs, make_fn *make) {
    if (item->input_count > CONFORMANCE_MAX_INPUTS) {
        conformance_fail(c, "%zu inputs are more than this program takes", item->input_count);
        return false;
    }
    for (size_t i = 0; i < item->input_count; ++i) {
        inputs[i] = make(scope, &item->inputs[i]);
        if (!inputs[i]) {
            conformance_fail(c, "input %zu cannot be made: %s", i, gantry_scope_message(scope));
            return false;
        }
    }
    return true;
}

bool conformance_make_inputs(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                             const gantry_tensor_t **inputs) {
    return make_inputs(c, scope, item, inputs, make_constant);
}

bool conformance_make_pieces(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                             const gantry_tensor_t **inputs) {
    return make_inputs(c, scope, item, inputs, make_piece);
}

bool conformance_make_views(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                            const gantry_tensor_t **inputs) {
    return make_inputs(c, scope, item, inputs, make_view);
}

size_t conformance_make_attrs(const golden_case_t *item,
                              gantry_attr_value_t attrs[CONFORMANCE_MAX_ATTRS]) {
    if (item->attr_count > CONFORMANCE_MAX_ATTRS) {
        fprintf(stderr, "gantry_conformance: %s has %zu attributes\n", item->name,
                item->attr_count);
        exit(2);
    }
    for (size_t i = 0; i < item->attr_count; ++i) attrs[i] = golden_attr_value(&item->attrs[i]);
    return item->attr_count;
}

/* By an op that is prepared for this one call. */
static gantry_status_t call_prepared(conformance_t *c, gantry_scope_t *scope,
                                     const golden_case_t *item, const gantry_attr_value_t *attrs,
                                     const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs, size_t *output_count) {
    gantry_prepared_op_t *prepared;
    gantry_status_t status =
        gantry_op_prepare(c->runtime, item->op, attrs, item->attr_count, &prepared);
    if (status != GANTRY_OK) return gantry_scope_fail(scope, status, gantry_last_message());
    status =
        gantry_op_call_prepared(scope, prepared, inputs, item->input_count, outputs, output_count);
    gantry_prepared_op_release(prepared);
    return status;
}

gantry_status_t conformance_call(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                                 const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, size_t *output_count) {
    gantry_attr_value_t attrs[CONFORMANCE_MAX_ATTRS];
    char before[512];
    (void)conformance_make_attrs(item, attrs);
    for (size_t i = 0; i < CONFORMANCE_MAX_OUTPUTS; ++i) outputs[i] = NULL;
    *output_count = CONFORMANCE_MAX_OUTPUTS;
    c->record = (gantry_placement_record_t){.struct_size = sizeof c->record};
    gantry_set_seed(c->runtime, 0); /* random ops with a state begin anew */
    snprintf(before, sizeof before, "%s", gantry_last_message());
    gantry_status_t status =
        c->prepares ? call_prepared(c, scope, item, attrs, inputs, outputs, output_count)
                    : gantry_op_call(scope, item->op, inputs, item->input_count, attrs,
                                     item->attr_count, outputs, output_count);
    /* a successful call leaves no text of an earlier failure */
    CHECK(c,
          status != GANTRY_OK || !*gantry_last_message() ||
              strncmp(before, gantry_last_message(), sizeof before - 1) == 0,
          "%s succeeds and leaves the message \"%s\"", item->op, gantry_last_message());
    return status;
}

/* ---- outputs ---- */

static gantry_status_t read_now(const gantry_tensor_t *tensor, void *out, size_t bytes) {
    return gantry_tensor_read(tensor, out, bytes);
}

static gantry_status_t read_later(const gantry_tensor_t *tensor, void *out, size_t bytes) {
    gantry_read_t *read;
    gantry_status_t status = gantry_tensor_read_async(tensor, out, bytes, &read);
    if (status != GANTRY_OK) return status;
    status = gantry_read_wait(read);
    gantry_read_release(read);
    return status;
}

typedef gantry_status_t read_fn(const gantry_tensor_t *tensor, void *out, size_t bytes);

static gantry_status_t read_by(read_fn *read, const gantry_tensor_t *tensor, golden_tensor_t *out) {
    *out = (golden_tensor_t){.dtype = gantry_tensor_dtype(tensor),
                             .shape = *gantry_tensor_shape(tensor)};
    out->bytes = gantry_tensor_bytes(tensor);
    out->data = malloc(out->bytes ? out->bytes : 1);
    if (!out->data) {
        fprintf(stderr, "gantry_conformance: out of memory\n");
        exit(2);
    }
    memset(out->data, 0x5b, out->bytes); /* so that a read that writes nothing shows */
    return read(tensor, out->data, out->bytes);
}

gantry_status_t conformance_read(const gantry_tensor_t *tensor, golden_tensor_t *out) {
    return read_by(read_now, tensor, out);
}

gantry_status_t conformance_read_later(const gantry_tensor_t *tensor, golden_tensor_t *out) {
    return read_by(read_later, tensor, out);
}

void conformance_free_outputs(golden_tensor_t *outputs, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        free(outputs[i].data);
        outputs[i] = (golden_tensor_t){0};
    }
}

void conformance_evaluate(conformance_t *c, const char *device, const golden_case_t *item,
                          golden_tensor_t *outputs, size_t *out_count) {
    const gantry_tensor_t *inputs[CONFORMANCE_MAX_INPUTS], *results[CONFORMANCE_MAX_OUTPUTS];
    gantry_scope_t *scope = conformance_scope_on(c, device);
    size_t count = 0;
    *out_count = 0;
    if (!conformance_make_inputs(c, scope, item, inputs)) goto done;
    if (conformance_call(c, scope, item, inputs, results, &count) != GANTRY_OK) {
        conformance_fail(c, "the call on %s failed: %s", device, gantry_scope_message(scope));
        goto done;
    }
    for (size_t i = 0; i < count; ++i) {
        gantry_status_t status = conformance_read(results[i], &outputs[i]);
        *out_count = i + 1;
        if (status != GANTRY_OK)
            conformance_fail(c, "output %zu on %s: %s", i, device, conformance_last_error(status));
    }
done:
    gantry_scope_end(scope);
}

void conformance_check_same(conformance_t *c, const char *what, const golden_tensor_t *expected,
                            const golden_tensor_t *actual) {
    char want[128], got[128], why[512];
    if (expected->dtype != actual->dtype || !gantry_shape_equal(&expected->shape, &actual->shape)) {
        gantry_shape_format(&expected->shape, want, sizeof want);
        gantry_shape_format(&actual->shape, got, sizeof got);
        conformance_fail(c, "%s: %s%s instead of %s%s", what, gantry_dtype_name(actual->dtype), got,
                         gantry_dtype_name(expected->dtype), want);
        return;
    }
    const golden_tolerance_t exact = {.exact = true};
    if (golden_compare(expected, &exact, actual->data, why, sizeof why))
        conformance_fail(c, "%s: %s", what, why);
}
