/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Variants of elementwise ops that attributes choose give the same bits op by op, in a
 * fused node and in a function without passes, on the CPU backend and on OpenCL.
 * Promise: Integer divisions and powers that never fail are fused, and those that may fail are
 * not; ReducePrecision is fused in every floating type. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gantry/gantry.h>

#include "module_runtime.h"
#include "planned.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

enum { COUNT = 64, OUTPUTS = 6 };

static gantry_attr_value_t flag(const char *name, bool value) {
    return (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_BOOL, .i = value};
}

static tensor *call(gantry_scope_t *scope, const char *op, tensor *x, tensor *y, const char *first,
                    const char *second) {
    tensor *inputs[] = {x, y}, *out = NULL;
    const gantry_attr_value_t attrs[] = {flag(first, true), flag(second, true)};
    const size_t attr_count = !first ? 0 : second ? 2 : 1;
    size_t count = 1;
    (void)gantry_op_call(scope, op, inputs, y ? 2 : 1, attrs, attr_count, &out, &count);
    return out;
}

/* The chain of integers, of inputs 0 and 1. */
static tensor *integers(gantry_scope_t *s, tensor *x, tensor *y) {
    const gantry_attr_value_t type = {
        .name = "output_type", .kind = GANTRY_ATTR_TYPE, .i = GANTRY_INT32};
    tensor *at = call(s, "Div", x, y, "never_fails", NULL), *bits = NULL;
    size_t count = 1;
    at = call(s, "FloorMod", call(s, "FloorDiv", at, y, "never_fails", NULL), y, "never_fails",
              NULL);
    at = gantry_add(s, at, call(s, "TruncateMod", x, y, "never_fails", NULL));
    at = gantry_add(s, at, call(s, "TruncateDiv", x, y, "never_fails", NULL));
    at = gantry_add(s, at, call(s, "Pow", x, y, "never_fails", NULL));
    at = call(s, "LeftShift", at, y, "shifts_out", NULL);
    at = gantry_add(s, at, call(s, "RightShift", x, y, "shifts_out", "logical"));
    at = gantry_add(s, at, call(s, "RightShift", x, y, "logical", NULL));
    at = gantry_add(s, at, call(s, "RightShift", x, y, "shifts_out", NULL));
    (void)gantry_op_call(s, "PopulationCount", &at, 1, &type, 1, &bits, &count);
    return gantry_add(s, at, gantry_add(s, bits, gantry_count_leading_zeros(s, at)));
}

/* A chain of 16-bit floats, with fewer bits and with all of them. */
static tensor *halves(gantry_scope_t *s, tensor *x, tensor *y, gantry_dtype_t dtype) {
    const bool is_half = dtype == GANTRY_FLOAT16;
    x = gantry_cast(s, x, dtype);
    tensor *at = gantry_mul(s, gantry_reduce_precision(s, x, 4, 3), gantry_cast(s, y, dtype));
    at = gantry_add(s, at, gantry_reduce_precision(s, x, is_half ? 5 : 8, is_half ? 10 : 7));
    return gantry_maximum(s, gantry_reduce_precision(s, at, 5, 0), x);
}

static void variants_body(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *x = inputs[2], *y = inputs[3];
    (void)user;
    outputs[0] = integers(s, inputs[0], inputs[1]);
    outputs[1] = gantry_population_count(s, gantry_invert(s, outputs[0]));
    outputs[2] = gantry_mul(s, call(s, "Sign", x, NULL, "signed_zero", NULL),
                            gantry_cbrt(s, call(s, "Maximum", x, y, "signed_zero", NULL)));
    outputs[3] = call(s, "Round", gantry_reduce_precision(s, gantry_mul(s, x, y), 5, 3), NULL,
                      "ties_away", NULL);
    outputs[3] = call(s, "Minimum", outputs[3], y, "signed_zero", NULL);
    outputs[4] = halves(s, x, y, GANTRY_FLOAT16);
    outputs[5] = halves(s, x, y, GANTRY_BFLOAT16);
}

static void inputs_of(gantry_scope_t *scope, tensor **inputs) {
    static const int32_t some[8] = {0, -1, 7, INT32_MIN, 3, 33, INT32_MAX, -2};
    static const float reals[8] = {0, -0.0F, 2.5F, -0.5F, 1e-40F, 3e38F, -27, 1.0625F};
    int32_t x[COUNT], y[COUNT];
    float f[COUNT], g[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        x[i] = some[i % 8], y[i] = some[i / 8];
        f[i] = reals[i % 8], g[i] = reals[i / 8];
    }
    inputs[0] = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT), x, sizeof x);
    inputs[1] = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT), y, sizeof y);
    inputs[2] = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), f, sizeof f);
    inputs[3] = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), g, sizeof g);
}

typedef struct results_t {
    unsigned char bytes[OUTPUTS][COUNT * sizeof(int32_t)];
} results_t;

static void read_results(gantry_scope_t *scope, tensor *const *outputs, results_t *out) {
    memset(out, 0, sizeof *out);
    for (int i = 0; i < OUTPUTS; ++i) {
        if (!outputs[i] || gantry_tensor_read(outputs[i], out->bytes[i],
                                              gantry_tensor_bytes(outputs[i])) != GANTRY_OK)
            fail_msg("output %d: %s", i, gantry_scope_message(scope));
    }
}

static gantry_function_t *trace_variants(gantry_runtime_t *runtime, gantry_function_body_fn body,
                                         uint32_t passes_off, size_t outputs) {
    const gantry_input_spec_t specs[] = {{"x", GANTRY_INT32, GANTRY_SHAPE(COUNT)},
                                         {"y", GANTRY_INT32, GANTRY_SHAPE(COUNT)},
                                         {"f", GANTRY_FLOAT32, GANTRY_SHAPE(COUNT)},
                                         {"g", GANTRY_FLOAT32, GANTRY_SHAPE(COUNT)}};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", body, NULL, specs, 4, outputs, &options, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static void call_traced(gantry_runtime_t *runtime, gantry_scope_t *scope, uint32_t passes_off,
                        results_t *out) {
    gantry_function_t *function = trace_variants(runtime, variants_body, passes_off, OUTPUTS);
    tensor *inputs[4], *outputs[OUTPUTS];
    inputs_of(scope, inputs);
    if (gantry_function_call(scope, function, inputs, 4, outputs, OUTPUTS) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    read_results(scope, outputs, out);
    gantry_function_release(function);
}

static void expect_equal(const char *device, const char *way, const results_t *got,
                         const results_t *want) {
    for (int i = 0; i < OUTPUTS; ++i) {
        if (memcmp(got->bytes[i], want->bytes[i], sizeof got->bytes[i]) != 0)
            fail_msg("%s, %s: output %d differs", device, way, i);
    }
}

TEST(variants_have_one_result_in_every_way) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    gantry_runtime_t *runtime = module_runtime_open();
    results_t first, got;
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, devices[d]);
        tensor *inputs[4], *outputs[OUTPUTS];
        inputs_of(scope, inputs);
        variants_body(scope, inputs, outputs, NULL);
        read_results(scope, outputs, d == 0 ? &first : &got);
        if (d > 0) expect_equal(devices[d], "op by op", &got, &first);
        call_traced(runtime, scope, 0, &got);
        expect_equal(devices[d], "fused", &got, &first);
        call_traced(runtime, scope, GANTRY_PASS_ALL, &got);
        expect_equal(devices[d], "without passes", &got, &first);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    gantry_runtime_release(runtime);
}

/* ---- what is fused ---- */

static void may_fail_body(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(s, gantry_div(s, inputs[0], inputs[1]), inputs[1]);
}

static void never_fails_body(gantry_scope_t *s, tensor *const *inputs, tensor **outputs,
                             void *user) {
    (void)user;
    outputs[0] =
        gantry_add(s, call(s, "Div", inputs[0], inputs[1], "never_fails", NULL), inputs[1]);
}

static bool has_node(gantry_runtime_t *runtime, gantry_function_body_fn body, size_t outputs,
                     const char *op) {
    gantry_function_t *function = trace_variants(runtime, body, 0, outputs);
    const gantry__graph_t *graph = &planned(function)->graph;
    bool has = false;
    for (size_t i = 0; i < graph->node_count; ++i)
        has = has || strcmp(graph->nodes[i].op->name, op) == 0;
    gantry_function_release(function);
    return has;
}

static void halves_body(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    outputs[0] = halves(s, inputs[2], inputs[3], GANTRY_FLOAT16);
    outputs[1] = halves(s, inputs[2], inputs[3], GANTRY_BFLOAT16);
}

TEST(precision_of_16_bit_floats_is_reduced_in_fused_nodes) {
    gantry_runtime_t *runtime = module_runtime_open();
    assert_false(has_node(runtime, halves_body, 2, "ReducePrecision"));
    assert_true(has_node(runtime, halves_body, 2, "_FusedElementwise"));
    gantry_runtime_release(runtime);
}

TEST(only_divisions_that_never_fail_are_fused) {
    gantry_runtime_t *runtime = module_runtime_open();
    assert_true(has_node(runtime, may_fail_body, 1, "Div"));
    assert_false(has_node(runtime, may_fail_body, 1, "_FusedElementwise"));
    assert_false(has_node(runtime, never_fails_body, 1, "Div"));
    assert_true(has_node(runtime, never_fails_body, 1, "_FusedElementwise"));
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
