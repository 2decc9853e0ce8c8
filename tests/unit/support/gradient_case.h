/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of gradients, from tests/golden/gradients.json: a call of an op, the gradients of its
 * outputs, and TensorFlow's gradients of its inputs (tests/golden/golden_tape.py). Header only. */
#ifndef TESTS_GRADIENT_CASE_H
#define TESTS_GRADIENT_CASE_H

#include <gantry_train/tape.h>

#include "golden_cases.h"
#include "golden_file.h"
#include "runtime_fixture.h"

#define GRADIENT_MOST_VALUES 16

typedef const gantry_tensor_t gradient_tensor_t;

typedef struct gradient_case_t {
    const golden_case_t *golden;
    size_t input_count, output_count;
    const int64_t *of; /* the inputs that have a gradient */
    size_t of_count;
    bool is_smooth, is_second, has_only_differences, is_double;
} gradient_case_t;

static inline int64_t gradient_case_number(const golden_case_t *golden, const char *name) {
    const golden_attr_t *attr = golden_find_attr(golden, name);
    assert_non_null(attr);
    return attr->kind == GOLDEN_ATTR_BOOL ? attr->bool_value : attr->int_value;
}

static inline gradient_case_t gradient_case_read(const golden_case_t *golden) {
    const golden_attr_t *of = golden_find_attr(golden, "test_of");
    gradient_case_t c = {.golden = golden};
    assert_non_null(of);
    c.of = of->ints;
    c.of_count = of->int_count;
    c.input_count = (size_t)gradient_case_number(golden, "test_inputs");
    c.output_count = (size_t)gradient_case_number(golden, "test_outputs");
    c.is_smooth = gradient_case_number(golden, "test_smooth") != 0;
    c.is_second = gradient_case_number(golden, "test_second") != 0;
    c.has_only_differences = gradient_case_number(golden, "test_untold") != 0;
    c.is_double = strstr(golden->name, "float64") != NULL;
    assert_in_range(golden->input_count, 1, GRADIENT_MOST_VALUES);
    return c;
}

static inline void gradient_file_load(golden_file_t *file) {
    golden_file_open("gradients.json", file);
    assert_true(file->case_count > 500);
}

/* ---- calling ---- */

static inline bool gradient_is_floating(gradient_tensor_t *tensor) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(tensor);
    return dtype == GANTRY_FLOAT32 || dtype == GANTRY_FLOAT64;
}

/* The op's inputs and the gradients of its outputs. data NULL: the case's own values. */
static inline void gradient_case_inputs(gantry_scope_t *scope, const gradient_case_t *c,
                                        double *const *data, gradient_tensor_t **out) {
    for (size_t i = 0; i < c->golden->input_count; ++i) {
        const golden_tensor_t *given = &c->golden->inputs[i];
        const void *values = data && data[i] ? data[i] : given->data;
        out[i] = gantry_constant(scope, given->dtype, given->shape, values, given->bytes);
    }
}

/* 0: the call failed. */
static inline size_t gradient_case_run(gantry_scope_t *scope, const gradient_case_t *c,
                                       gradient_tensor_t *const *inputs,
                                       gradient_tensor_t **outputs) {
    gantry_attr_value_t attrs[16];
    size_t attr_count = 0, output_count = GANTRY_MAX_OP_OUTPUTS;
    for (size_t i = 0; i < c->golden->attr_count; ++i) {
        if (strncmp(c->golden->attrs[i].name, "test_", 5) != 0)
            attrs[attr_count++] = golden_attr_value(&c->golden->attrs[i]);
    }
    const gantry_status_t status = gantry_op_call(scope, c->golden->op, inputs, c->input_count,
                                                  attrs, attr_count, outputs, &output_count);
    return status == GANTRY_OK ? output_count : 0;
}

static inline size_t gradient_case_call(gantry_scope_t *scope, const gradient_case_t *c,
                                        gradient_tensor_t *const *inputs,
                                        gradient_tensor_t **outputs) {
    const size_t count = gradient_case_run(scope, c, inputs, outputs);
    if (count == 0) fail_msg("%s: %s", c->golden->name, gantry_scope_message(scope));
    return count;
}

/* The sum of all outputs, each element times its gradient; NULL where no output is floating, or
 * the call failed. */
static inline gradient_tensor_t *gradient_case_target(gantry_scope_t *scope,
                                                      const gradient_case_t *c,
                                                      gradient_tensor_t *const *inputs) {
    gradient_tensor_t *outputs[GANTRY_MAX_OP_OUTPUTS], *sum = NULL;
    const size_t count = gradient_case_run(scope, c, inputs, outputs);
    size_t weight = c->input_count;
    for (size_t i = 0; i < count; ++i) {
        if (!gradient_is_floating(outputs[i]) || weight == c->golden->input_count) continue;
        gradient_tensor_t *part =
            gantry_sum(scope, gantry_mul(scope, outputs[i], inputs[weight++]), NULL);
        sum = sum ? gantry_add(scope, sum, part) : part;
    }
    return sum;
}

/* The gradient of the target for each input of a floating type; NULL for others and where there is
 * none. Returns the scope's status. */
static inline gantry_status_t gradient_case_try(gantry_scope_t *scope, const gradient_case_t *c,
                                                gradient_tensor_t *const *inputs,
                                                gradient_tensor_t **out) {
    gantry_source_t sources[GRADIENT_MOST_VALUES];
    gradient_tensor_t *found[GRADIENT_MOST_VALUES] = {NULL};
    size_t count = 0;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_non_null(tape);
    for (size_t i = 0; i < c->input_count; ++i) {
        out[i] = NULL;
        if (!gradient_is_floating(inputs[i])) continue;
        assert_int_equal(gantry_tape_watch(tape, inputs[i]), GANTRY_OK);
        sources[count++] = (gantry_source_t){.tensor = inputs[i]};
    }
    gradient_tensor_t *target = gradient_case_target(scope, c, inputs);
    if (target) (void)gantry_tape_gradient(tape, target, NULL, sources, count, NULL, found);
    gantry_tape_end(tape);
    for (size_t i = 0, at = 0; target && i < c->input_count; ++i) {
        if (gradient_is_floating(inputs[i])) out[i] = found[at++];
    }
    return gantry_scope_status(scope);
}

static inline void gradient_case_gradients(gantry_scope_t *scope, const gradient_case_t *c,
                                           gradient_tensor_t *const *inputs,
                                           gradient_tensor_t **out) {
    if (gradient_case_try(scope, c, inputs, out) != GANTRY_OK)
        fail_msg("%s: %s", c->golden->name, gantry_scope_message(scope));
}

/* ---- reading ---- */

/* A tensor's elements, with its type and shape; the caller frees data. */
static inline golden_tensor_t gradient_read(gradient_tensor_t *tensor) {
    golden_tensor_t out = {.dtype = gantry_tensor_dtype(tensor),
                           .shape = *gantry_tensor_shape(tensor),
                           .bytes = gantry_tensor_bytes(tensor)};
    out.data = calloc(1, out.bytes + 1);
    assert_non_null(out.data);
    if (gantry_tensor_read(tensor, out.data, out.bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return out;
}

static inline size_t gradient_count(const golden_tensor_t *values) {
    return values->bytes / gantry_dtype_size(values->dtype);
}

static inline void gradient_expect_equal(const gradient_case_t *c, size_t input,
                                         const golden_tensor_t *expected,
                                         const golden_tolerance_t *tolerance,
                                         gradient_tensor_t *actual) {
    char why[512];
    golden_tensor_t got = gradient_read(actual);
    if (got.dtype != expected->dtype || !gantry_shape_equal(&got.shape, &expected->shape))
        fail_msg("%s: the gradient of input %zu has another type or shape", c->golden->name, input);
    if (golden_compare(expected, tolerance, got.data, why, sizeof why))
        fail_msg("%s: the gradient of input %zu: %s", c->golden->name, input, why);
    free(got.data);
}

/* ---- functions: the same bits as op by op ---- */

static inline void gradient_case_body(gantry_scope_t *scope, gradient_tensor_t *const *given,
                                      gradient_tensor_t **outputs, void *user) {
    const gradient_case_t *c = user;
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    gradient_case_inputs(scope, c, NULL, inputs);
    for (size_t i = 0, at = 0; i < c->input_count; ++i) {
        if (gradient_is_floating(inputs[i])) inputs[i] = given[at++];
    }
    gradient_case_gradients(scope, c, inputs, gradients);
    for (size_t k = 0; k < c->of_count; ++k) outputs[k] = gradients[c->of[k]];
}

static inline void gradient_expect_traced(gantry_runtime_t *runtime, const char *device,
                                          const gradient_case_t *c) {
    const golden_tolerance_t exact = {.exact = true};
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *eager[GRADIENT_MOST_VALUES];
    gradient_tensor_t *floating[GRADIENT_MOST_VALUES], *traced[GRADIENT_MOST_VALUES];
    gantry_input_spec_t specs[GRADIENT_MOST_VALUES];
    size_t count = 0;
    gantry_function_t *function;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    assert_non_null(scope);
    gradient_case_inputs(scope, c, NULL, inputs);
    for (size_t i = 0; i < c->input_count; ++i) {
        if (!gradient_is_floating(inputs[i])) continue;
        floating[count] = inputs[i];
        specs[count++] =
            (gantry_input_spec_t){"x", c->golden->inputs[i].dtype, c->golden->inputs[i].shape};
    }
    gradient_case_gradients(scope, c, inputs, eager);
    if (gantry_function_trace(runtime, "gradients", gradient_case_body, (void *)c, specs, count,
                              c->of_count, NULL, &function) != GANTRY_OK ||
        gantry_function_call(scope, function, floating, count, traced, c->of_count) != GANTRY_OK)
        fail_msg("%s: %s", c->golden->name, gantry_last_message());
    for (size_t k = 0; k < c->of_count; ++k) {
        golden_tensor_t expected = gradient_read(eager[c->of[k]]);
        gradient_expect_equal(c, (size_t)c->of[k], &expected, &exact, traced[k]);
        free(expected.data);
    }
    gantry_function_release(function);
    expect_ended_well(scope);
}

#endif
