/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of known tensors, as numbers, and numbers as tensors. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "onnx/lower/run.h"

typedef const gantry_tensor_t tensor;

bool gantry__onnx_is_known(const gantry__onnx_call_t *call, tensor *x) {
    (void)call;
    return x && gantry_tensor_device(x) != NULL;
}

static gantry_status_t known_fail_unknown(gantry__onnx_call_t *call, size_t i, const char *what) {
    char node[512];
    call->run->needs_node = call->node;
    call->run->needs_input = i;
    call->run->is_reported = true;
    gantry__onnx_describe_node(call->node, node, sizeof node);
    return gantry__fail(GANTRY_FAILED_PRECONDITION,
                        "%s: %s: %s must be known before the model runs on a device, and depends "
                        "on what it computes",
                        call->run->constants->plan.model->path, node, what);
}

/* Reads all elements as a type of 8 bytes. */
static gantry_status_t known_read_numbers(gantry__onnx_call_t *call, size_t i, const char *name,
                                          gantry_dtype_t dtype, void **out_values,
                                          size_t *out_count) {
    char what[256];
    tensor *x = gantry__onnx_input(call, i);
    *out_values = NULL;
    *out_count = 0;
    if (!x) return GANTRY_OK;
    (void)snprintf(what, sizeof what, "%s (input %zu)", name, i);
    if (!gantry__onnx_is_known(call, x)) return known_fail_unknown(call, i, what);
    const size_t count = (size_t)gantry_tensor_elements(x);
    *out_values = gantry__onnx_scratch(call, count ? count : 1, 8);
    if (!*out_values) return GANTRY_RESOURCE_EXHAUSTED;
    *out_count = count;
    if (count == 0) return GANTRY_OK;
    tensor *cast = gantry_tensor_dtype(x) == dtype ? x : gantry_cast(call->host, x, dtype);
    if (!cast) return gantry_scope_status(call->host);
    return gantry_tensor_read(cast, *out_values, 8 * count);
}

static gantry_status_t check_integers(gantry__onnx_call_t *call, tensor *x, const char *name) {
    const uint64_t accepted = GANTRY_DTYPES_INTEGERS | GANTRY_DTYPES_BOOLS;
    if (!x || GANTRY_DTYPE_BIT(gantry_tensor_dtype(x)) & accepted) return GANTRY_OK;
    return gantry__onnx_invalid(call, "%s has elements of %s; integers are accepted", name,
                                gantry_dtype_name(gantry_tensor_dtype(x)));
}

gantry_status_t gantry__onnx_get_ints(gantry__onnx_call_t *call, size_t i, const char *name,
                                      const int64_t **out_values, size_t *out_count) {
    tensor *x = gantry__onnx_input(call, i);
    if (x && gantry_tensor_shape(x)->rank > 1)
        return gantry__onnx_invalid(call, "%s has %d dimensions; a vector is accepted", name,
                                    (int)gantry_tensor_shape(x)->rank);
    return gantry__onnx_get_all_ints(call, i, name, out_values, out_count);
}

gantry_status_t gantry__onnx_get_all_ints(gantry__onnx_call_t *call, size_t i, const char *name,
                                          const int64_t **out_values, size_t *out_count) {
    void *values;
    *out_values = NULL;
    *out_count = 0;
    GANTRY__TRY(check_integers(call, gantry__onnx_input(call, i), name));
    GANTRY__TRY(known_read_numbers(call, i, name, GANTRY_INT64, &values, out_count));
    *out_values = values;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_get_doubles(gantry__onnx_call_t *call, size_t i, const char *name,
                                         const double **out_values, size_t *out_count) {
    void *values;
    GANTRY__TRY(known_read_numbers(call, i, name, GANTRY_FLOAT64, &values, out_count));
    *out_values = values;
    return GANTRY_OK;
}

static gantry_status_t known_check_single(gantry__onnx_call_t *call, const char *name,
                                          size_t count) {
    if (count == 1) return GANTRY_OK;
    return gantry__onnx_invalid(call, "%s has %zu elements; one is accepted", name, count);
}

gantry_status_t gantry__onnx_get_int(gantry__onnx_call_t *call, size_t i, const char *name,
                                     int64_t fallback, int64_t *out_value) {
    const int64_t *values;
    size_t count;
    *out_value = fallback;
    if (!gantry__onnx_input(call, i)) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_get_all_ints(call, i, name, &values, &count));
    GANTRY__TRY(known_check_single(call, name, count));
    *out_value = values[0];
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_get_double(gantry__onnx_call_t *call, size_t i, const char *name,
                                        double fallback, double *out_value) {
    const double *values;
    size_t count;
    *out_value = fallback;
    if (!gantry__onnx_input(call, i)) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_get_doubles(call, i, name, &values, &count));
    GANTRY__TRY(known_check_single(call, name, count));
    *out_value = values[0];
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_need_shape(gantry__onnx_call_t *call, tensor *x) {
    if (gantry_tensor_elements(x) >= 0) return GANTRY_OK;
    return known_fail_unknown(call, GANTRY__ONNX_ALL_INPUTS, "a size of an input");
}

gantry_status_t gantry__onnx_need_values(gantry__onnx_call_t *call, const char *what) {
    return known_fail_unknown(call, GANTRY__ONNX_NO_INPUT, what);
}

int32_t gantry__onnx_input_type(const gantry__onnx_call_t *call, size_t i) {
    const gantry__onnx_value_t value =
        i < call->input_count ? call->node->inputs[i] : GANTRY__ONNX_NO_VALUE;
    if (value == GANTRY__ONNX_NO_VALUE) return 0;
    const gantry__onnx_value_info_t *info = &call->run->constants->plan.model->values[value];
    return info->tensor ? info->tensor->type : info->type.element;
}

/* ---- numbers as tensors ---- */

static tensor *made_of_numbers(gantry__onnx_call_t *call, tensor *x) {
    call->made[call->made_count++ % 4] = x;
    return x;
}

tensor *gantry__onnx_make_ints(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                               const int64_t *values, size_t count) {
    static const int64_t none;
    tensor *x = gantry_constant(call->host, GANTRY_INT64, GANTRY_SHAPE((int64_t)count),
                                count ? values : &none, count * sizeof *values);
    if (x && dtype != GANTRY_INT64) x = gantry_cast(call->host, x, dtype);
    return made_of_numbers(call, x);
}

tensor *gantry__onnx_make_scalar(gantry__onnx_call_t *call, gantry_dtype_t dtype, double value) {
    tensor *x = gantry_constant(call->host, GANTRY_FLOAT64, GANTRY_SCALAR, &value, sizeof value);
    if (x && dtype != GANTRY_FLOAT64) x = gantry_cast(call->host, x, dtype);
    return made_of_numbers(call, x);
}

/* ---- axes ---- */

gantry_status_t gantry__onnx_axis(gantry__onnx_call_t *call, int64_t axis, uint32_t rank,
                                  int64_t *out_axis) {
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return gantry__onnx_invalid(
            call, "axis %" PRId64 " of rank %" PRIu32 "; %" PRId64 " to %" PRId64 " are accepted",
            axis, rank, -(int64_t)rank, (int64_t)rank - 1);
    *out_axis = axis < 0 ? axis + rank : axis;
    return GANTRY_OK;
}

static int compare_axes(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

gantry_status_t gantry__onnx_axes(gantry__onnx_call_t *call, int64_t from_input, size_t i,
                                  uint32_t rank, const int64_t **out_axes, size_t *out_count,
                                  bool *out_given) {
    const int64_t *axes;
    size_t count;
    if (gantry__onnx_version(call) >= from_input) {
        *out_given = gantry__onnx_input(call, i) != NULL;
        GANTRY__TRY(gantry__onnx_get_ints(call, i, "axes", &axes, &count));
    } else {
        axes = gantry__onnx_attr_ints(call, "axes", &count);
        *out_given = axes != NULL;
    }
    int64_t *sorted = gantry__onnx_scratch(call, count ? count : 1, sizeof *sorted);
    if (!sorted) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < count; ++k)
        GANTRY__TRY(gantry__onnx_axis(call, axes[k], rank, &sorted[k]));
    qsort(sorted, count, sizeof *sorted, compare_axes);
    size_t kept = 0;
    for (size_t k = 0; k < count; ++k) {
        if (kept == 0 || sorted[kept - 1] != sorted[k]) sorted[kept++] = sorted[k];
    }
    *out_axes = sorted;
    *out_count = kept;
    return GANTRY_OK;
}
