/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: TensorFlow's gradient ops in a function become their parts with the bits of the eager
 * ops, as LeakyRelu does; StopGradient keeps its name. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "function/call/function.h"
#include "function_fixture.h"
#include "test.h"

enum { ELEMENTS = 8 };

static const float first[ELEMENTS] = {-1.5f, 0, 0.25f, 2, NAN, INFINITY, -INFINITY, 7},
                   second[ELEMENTS] = {0.5f, 1, -0.75f, 3, 1, 0, -2, 0.125f};

static void gradient_call(gantry_scope_t *scope, const char *op,
                          const gantry_tensor_t *const *inputs, size_t count,
                          const gantry_attr_value_t *attr, const gantry_tensor_t **outputs) {
    size_t output_count = 2;
    (void)gantry_op_call(scope, op, inputs, count, attr, attr ? 1 : 0, outputs, &output_count);
}

/* ---- bodies: of two tensors of eight float32; user is the op's name ---- */

static void of_two(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    gradient_call(scope, user, inputs, 2, NULL, outputs);
}

static void of_channels(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const gantry_attr_value_t layout = {
        .name = "data_format", .kind = GANTRY_ATTR_STRING, .s = "NCHW"};
    const gantry_tensor_t *x = gantry_reshape(scope, inputs[1], GANTRY_SHAPE(2, 2, 2));
    gradient_call(scope, user, &x, 1, &layout, outputs);
}

static void of_a_border(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    static const int32_t paddings[] = {2, 1};
    const gantry_attr_value_t mode = {.name = "mode", .kind = GANTRY_ATTR_STRING, .s = "REFLECT"};
    const gantry_tensor_t *both[] = {
        inputs[0],
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1, 2), paddings, sizeof paddings)};
    gradient_call(scope, user, both, 2, &mode, outputs);
}

static void of_every_third(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *all[] = {I32(scope, 25), I32(scope, 23), I32(scope, -25), I32(scope, -3),
                                    inputs[0]};
    gradient_call(scope, user, all, 5, NULL, outputs);
}

typedef struct gradient_case_t {
    const char *op;
    gantry_function_body_fn body;
    size_t part_count; /* nodes that the op becomes; constants are none */
} gradient_case_t;

static const gradient_case_t cases[] = {
    {"ReluGrad", of_two, 3},
    {"Relu6Grad", of_two, 5},
    {"LeakyReluGrad", of_two, 3},
    {"EluGrad", of_two, 4},
    {"SeluGrad", of_two, 5},
    {"SoftplusGrad", of_two, 4},
    {"SoftsignGrad", of_two, 4},
    {"TanhGrad", of_two, 3},
    {"SigmoidGrad", of_two, 3},
    {"SqrtGrad", of_two, 2},
    {"RsqrtGrad", of_two, 4},
    {"ReciprocalGrad", of_two, 3},
    {"BiasAddGrad", of_channels, 2},
    {"MirrorPadGrad", of_a_border, 10},
    {"StridedSliceGrad", of_every_third, 8},
};

/* ---- the same bits ---- */

static size_t parts_of(gantry_function_t *function, const char *op) {
    gantry__specialization_t *traced;
    assert_int_equal(gantry__function_newest(function, &traced), GANTRY_OK);
    size_t count = 0;
    for (uint32_t i = 0; i < traced->graph.node_count; ++i) {
        const gantry__node_t *node = &traced->graph.nodes[i];
        if (node->op->flags & GANTRY__OP_COMPOSED) fail_msg("%s is a node", node->op->name);
        count +=
            node->kind == GANTRY__NODE_OP && node->part_of && strcmp(node->part_of->name, op) == 0;
    }
    gantry__function_leave(function, traced);
    return count;
}

static void expect_eager_bits(runtime_fixture_t *f, const gradient_case_t *it,
                              uint32_t passes_off) {
    const gantry_input_spec_t specs[] = {SPEC_F32(ELEMENTS), SPEC_F32(ELEMENTS)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    float eager[32], traced[32];
    void *user = (void *)(uintptr_t)it->op;
    gantry_function_t *function =
        function_fixture_trace(f->runtime, it->body, user, specs, 2, 1, &options);
    if (passes_off && parts_of(function, it->op) != it->part_count)
        fail_msg("%s: %zu parts", it->op, parts_of(function, it->op));
    gantry_scope_t *scope = runtime_fixture_scope(f, "CPU:0");
    const gantry_tensor_t *given[] = {
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ELEMENTS), first, sizeof first),
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ELEMENTS), second, sizeof second)};
    const gantry_tensor_t *got, *want[2] = {NULL, NULL};
    it->body(scope, given, want, user);
    const size_t bytes = (size_t)gantry_tensor_bytes(want[0]);
    assert_in_range(bytes, sizeof(float), sizeof eager);
    assert_int_equal(gantry_tensor_read(want[0], eager, bytes), GANTRY_OK);
    for (int k = 0; k < 2; ++k) {
        function_fixture_call(scope, function, given, 2, &got, 1);
        assert_int_equal(gantry_tensor_read(got, traced, bytes), GANTRY_OK);
        if (memcmp(eager, traced, bytes) != 0) fail_msg("%s: other bits in a function", it->op);
    }
    expect_ended_well(scope);
    gantry_function_release(function);
}

/* An alpha is a float32, as TensorFlow's attribute; 0.2 is none. */
static void of_wide_leaky(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    const gantry_attr_value_t alpha = {.name = "alpha", .kind = GANTRY_ATTR_FLOAT, .f = 0.2};
    const gantry_tensor_t *wide = gantry_neg(scope, gantry_cast(scope, inputs[0], GANTRY_FLOAT64));
    gradient_call(scope, user, &wide, 1, &alpha, outputs);
}

TEST(fused_alpha_is_rounded_as_elsewhere) {
    static const gradient_case_t leaky = {"LeakyRelu", of_wide_leaky, 0};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    expect_eager_bits(&f, &leaky, 0);
    runtime_fixture_close(&f);
}

TEST(functions_give_the_eager_bits_of_gradients) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        expect_eager_bits(&f, &cases[i], GANTRY_PASS_ALL);
        expect_eager_bits(&f, &cases[i], 0);
    }
    runtime_fixture_close(&f);
}

/* ---- sizes that depend on data ---- */

/* The gradient of x[::-1] for the positive elements x, and the axes of x against one element. */
static void of_open_sizes(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *is_positive =
        gantry_greater(scope, inputs[0], gantry_scalar_f32(scope, 0));
    const gantry_tensor_t *x = gantry_boolean_mask(scope, inputs[0], is_positive, 0);
    const gantry_tensor_t *sizes[] = {gantry_shape(scope, x, GANTRY_INT32), I32(scope, 1)};
    const gantry_tensor_t *slice[] = {sizes[0], I32(scope, 0), I32(scope, 0), I32(scope, -1), x};
    const gantry_attr_value_t masks[] = {{.name = "begin_mask", .kind = GANTRY_ATTR_INT, .i = 1},
                                         {.name = "end_mask", .kind = GANTRY_ATTR_INT, .i = 1}};
    size_t count = 1;
    (void)gantry_op_call(scope, "StridedSliceGrad", slice, 5, masks, 2, outputs, &count);
    gradient_call(scope, "BroadcastGradientArgs", sizes, 2, NULL, outputs + 1);
}

TEST(gradients_of_open_sizes_are_recorded_whole) {
    const gantry_input_spec_t input = SPEC_F32(4);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_function_t *function =
        function_fixture_trace(f.runtime, of_open_sizes, NULL, &input, 1, 3, NULL);
    const gantry_tensor_t *given = F32(scope, 1, -2, 3, 4), *got[3];
    function_fixture_call(scope, function, &given, 1, got, 3);
    EXPECT_F32(got[0], 4, 3, 1);
    assert_int_equal(gantry_tensor_elements(got[1]), 0);
    EXPECT_I32(got[2], 0);
    given = F32(scope, -1, -2, 3, -4);
    function_fixture_call(scope, function, &given, 1, got, 3);
    EXPECT_F32(got[0], 3);
    assert_int_equal(gantry_tensor_elements(got[1]), 0);
    assert_int_equal(gantry_tensor_elements(got[2]), 0);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- StopGradient ---- */

static void stopping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    gradient_call(scope, user, inputs, 1, NULL, outputs);
}

TEST(stop_gradient_is_a_node_of_its_name_and_an_alias) {
    const gantry_input_spec_t input = SPEC_F32(2);
    const gantry_function_options_t as_written = {.struct_size = sizeof as_written,
                                                  .passes_off = GANTRY_PASS_ALL};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    char name[] = "StopGradient";
    gantry_function_t *function =
        function_fixture_trace(f.runtime, stopping, name, &input, 1, 1, &as_written);
    gantry__specialization_t *traced;
    assert_int_equal(gantry__function_newest(function, &traced), GANTRY_OK);
    size_t count = 0;
    for (uint32_t i = 0; i < traced->graph.node_count; ++i)
        count += strcmp(traced->graph.nodes[i].op->name, "StopGradient") == 0;
    gantry__function_leave(function, traced);
    assert_int_equal(count, 1);
    const gantry_tensor_t *given = F32(scope, 1, 2), *got;
    function_fixture_call(scope, function, &given, 1, &got, 1);
    EXPECT_F32(got, 1, 2);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- memory that runs out ---- */

TEST(gradients_leak_nothing_when_memory_runs_out) {
    runtime_fixture_t f;
    size_t failed = 0;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *outer = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *given[] = {F32(outer, 1, 2, 3, 4, 5, 6, 7, 8), NULL};
    for (size_t i = 12; i < sizeof cases / sizeof cases[0]; ++i) {
        for (long n = 0;; ++n) {
            const gantry_tensor_t *got[2] = {NULL, NULL};
            gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
            given[1] = given[0];
            runtime_fixture_starve(&f, n);
            cases[i].body(scope, given, got, (void *)(uintptr_t)cases[i].op);
            f.heap.inner.fail_at = -1;
            gantry_status_t status = gantry_scope_end(scope);
            if (status == GANTRY_OK) break;
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            assert_null(got[0]);
            assert_in_range(++failed, 1, 2000);
        }
    }
    assert_in_range(failed, 10, 2000);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
