/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every call that would take or make a tensor of more than 8 dimensions is refused with
 * the call or the op, the rank and the limit.
 * Promise: Ops of tensors of 8 dimensions work, whatever they need inside. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include <gantry/graph.h>

#include "function_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

#define ONES8 GANTRY_SHAPE(1, 1, 1, 1, 1, 1, 1, 1)

/* A shape whose rank its dims cannot hold. */
static gantry_shape_t nine(void) {
    gantry_shape_t shape = ONES8;
    shape.rank = 9;
    return shape;
}

static tensor *floats(gantry_scope_t *s, gantry_shape_t shape) {
    return gantry_ones(s, GANTRY_FLOAT32, shape);
}

static tensor *deep(gantry_scope_t *s) { return floats(s, ONES8); }

static tensor *numbers(gantry_scope_t *s, gantry_shape_t shape) {
    return gantry_zeros(s, GANTRY_INT32, shape);
}

/* Nine sizes of 1. */
static tensor *sizes(gantry_scope_t *s) { return gantry_ones(s, GANTRY_INT32, GANTRY_SHAPE(9)); }

static void op(gantry_scope_t *s, const char *name, tensor *const *inputs, size_t count,
               const gantry_attr_value_t *attrs, size_t attr_count) {
    tensor *outputs[4];
    size_t output_count = 4;
    assert_int_not_equal(
        gantry_op_call(s, name, inputs, count, attrs, attr_count, outputs, &output_count),
        GANTRY_OK);
}

#define OP(s, name, ...)                                                                         \
    op(s, name, (tensor *[]){__VA_ARGS__}, sizeof((tensor *[]){__VA_ARGS__}) / sizeof(tensor *), \
       NULL, 0)

/* ---- the table ---- */

typedef struct rank_case_t {
    const char *object; /* the text names it */
    void (*call)(gantry_scope_t *s);
} rank_case_t;

#define CASE(name, ...) \
    static void name(gantry_scope_t *s) { __VA_ARGS__; }

CASE(constant, const float one = 1;
     (void)gantry_constant(s, GANTRY_FLOAT32, nine(), &one, sizeof one))
CASE(zeros, (void)gantry_zeros(s, GANTRY_FLOAT32, nine()))
CASE(fill, (void)gantry_fill(s, nine(), gantry_scalar_f32(s, 1)))
CASE(fill_op, OP(s, "Fill", sizes(s), gantry_scalar_f32(s, 1)))
CASE(reshape, (void)gantry_reshape(s, deep(s), nine()))
CASE(reshape_op, OP(s, "Reshape", deep(s), sizes(s)))
CASE(broadcast, (void)gantry_broadcast_to(s, deep(s), nine()))
CASE(broadcast_op, OP(s, "BroadcastTo", deep(s), sizes(s)))
CASE(expand, (void)gantry_expand_dims(s, deep(s), 0))
CASE(pack, tensor *both[] = {deep(s), deep(s)}; (void)gantry_pack(s, both, 2, 0))
CASE(gather, (void)gantry_gather(s, deep(s), numbers(s, GANTRY_SHAPE(1, 1)), 0))
CASE(gather_nd, OP(s, "GatherNd", deep(s), numbers(s, GANTRY_SHAPE(1, 1, 1))))
CASE(lookup, OP(s, "EmbeddingLookup", deep(s), numbers(s, GANTRY_SHAPE(1, 1))))
CASE(one_hot, OP(s, "OneHot", numbers(s, ONES8), gantry_scalar_i32(s, 2), gantry_scalar_f32(s, 1),
                 gantry_scalar_f32(s, 0)))
CASE(scatter_nd,
     (void)gantry_scatter_nd(s, numbers(s, GANTRY_SHAPE(1, 1)), floats(s, GANTRY_SHAPE(1)), nine()))
CASE(scatter_nd_op,
     OP(s, "ScatterNd", numbers(s, GANTRY_SHAPE(1, 9)), floats(s, GANTRY_SHAPE(1)), sizes(s)))
CASE(segments,
     OP(s, "UnsortedSegmentSum", deep(s), gantry_scalar_i32(s, 0), gantry_scalar_i32(s, 1)))
CASE(strided, const gantry_strided_slice_options_t new_axis = {.struct_size = sizeof new_axis,
                                                               .new_axis_mask = 1};
     (void)gantry_strided_slice(s, deep(s), NULL, NULL, NULL, 1, &new_axis))
CASE(bitcast, (void)gantry_bitcast(s, deep(s), GANTRY_UINT8))
CASE(einsum, const gantry_attr_value_t equation = {.kind = GANTRY_ATTR_STRING,
                                                   .name = "equation",
                                                   .s = "abcdefgh,i->abcdefghi"};
     tensor * both[] = {deep(s), floats(s, GANTRY_SHAPE(1))};
     op(s, "Einsum", both, 2, &equation, 1))
CASE(diagonal, OP(s, "MatrixDiag", deep(s), gantry_scalar_i32(s, 0), gantry_scalar_i32(s, -1),
                  gantry_scalar_i32(s, -1), gantry_scalar_f32(s, 0)))
CASE(uniform, (void)gantry_random_uniform(s, nine(), GANTRY_FLOAT32, NULL))
CASE(uniform_op,
     OP(s, "RandomUniformInt", sizes(s), gantry_scalar_i32(s, 0), gantry_scalar_i32(s, 5)))
CASE(stateless, (void)gantry_stateless_random_normal(s, nine(), GANTRY_FLOAT32, 1, 2))
CASE(view, (void)gantry_tensor_view(s, deep(s), 0, GANTRY_FLOAT32, nine()))
CASE(from_memory, static float memory = 0;
     (void)gantry_tensor_from_memory(s, GANTRY_FLOAT32, nine(), &memory, sizeof memory, NULL))
CASE(transposed, const gantry_window_options_t options = {.struct_size = sizeof options,
                                                          .padding = GANTRY_PADDING_SAME};
     (void)gantry_conv2d_transpose(s, floats(s, GANTRY_SHAPE(1, 1, 1, 1)),
                                   floats(s, GANTRY_SHAPE(1, 1, 1, 1)), nine(), &options))

static const rank_case_t table[] = {{"constant", constant},
                                    {"Fill", zeros},
                                    {"Fill", fill},
                                    {"Fill", fill_op},
                                    {"Reshape", reshape},
                                    {"Reshape", reshape_op},
                                    {"BroadcastTo", broadcast},
                                    {"BroadcastTo", broadcast_op},
                                    {"ExpandDims", expand},
                                    {"Pack", pack},
                                    {"Gather", gather},
                                    {"GatherNd", gather_nd},
                                    {"EmbeddingLookup", lookup},
                                    {"OneHot", one_hot},
                                    {"ScatterNd", scatter_nd},
                                    {"ScatterNd", scatter_nd_op},
                                    {"UnsortedSegmentSum", segments},
                                    {"StridedSlice", strided},
                                    {"Bitcast", bitcast},
                                    {"Einsum", einsum},
                                    {"MatrixDiag", diagonal},
                                    {"RandomUniform", uniform},
                                    {"RandomUniformInt", uniform_op},
                                    {"StatelessRandomNormal", stateless},
                                    {"gantry_tensor_from_memory", from_memory},
                                    {"Conv2DTranspose", transposed},
                                    {"gantry_tensor_view", view}};
/* A tensor of a trace has no view. */
#define TABLE_COUNT (sizeof table / sizeof table[0])
#define TRACED_COUNT (TABLE_COUNT - 1)

static void expect_rank_text(const char *text, const char *object) {
    if (!strstr(text, object) || !strstr(text, "9") || !strstr(text, "8"))
        fail_msg("%s: message: %s", object, text);
}

TEST(nine_dimensions_are_refused_with_object_rank_and_limit) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < TABLE_COUNT; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        table[i].call(scope);
        if (gantry_scope_status(scope) != GANTRY_INVALID_ARGUMENT)
            fail_msg("%s, %zu: %s", table[i].object, i, gantry_scope_message(scope));
        expect_rank_text(gantry_scope_message(scope), table[i].object);
        gantry_scope_clear(scope);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* The same while a function is traced. */
static void tracing(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    const rank_case_t *c = user;
    c->call(s);
    outputs[0] = inputs[0];
}

TEST(nine_dimensions_are_refused_in_a_trace) {
    const gantry_input_spec_t input = SPEC_F32(2);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < TRACED_COUNT; ++i) {
        gantry_function_t *function;
        assert_int_equal(
            gantry_function_trace(f.runtime, "f", tracing, (void *)(uintptr_t)&table[i], &input, 1,
                                  1, NULL, &function),
            GANTRY_INVALID_ARGUMENT);
        expect_rank_text(gantry_last_message(), table[i].object);
    }
    const gantry_input_spec_t wide = {NULL, GANTRY_FLOAT32, nine()};
    gantry_function_t *function;
    expect_refusal(
        gantry_function_trace(f.runtime, "f", negating, NULL, &wide, 1, 1, NULL, &function),
        GANTRY_INVALID_ARGUMENT, "input 0 has a shape of rank 9");
    runtime_fixture_close(&f);
}

/* A node whose result would have nine: its function is refused, with the node's name. */
TEST(nine_dimensions_of_a_node_are_refused) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, ONES8};
    runtime_fixture_t f;
    gantry_graph_t *graph;
    gantry_function_t *function;
    gantry_graph_value_t values[2], made;
    size_t count = 1;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    assert_int_equal(gantry_graph_create(f.runtime, "f", &graph), GANTRY_OK);
    assert_int_equal(gantry_graph_add_input(graph, &input, &values[0]), GANTRY_OK);
    assert_int_equal(
        gantry_graph_add_constant(graph, NULL, gantry_scalar_i32(scope, 0), &values[1]), GANTRY_OK);
    const gantry_graph_node_t node = {.struct_size = sizeof node,
                                      .op = "ExpandDims",
                                      .name = "deeper",
                                      .inputs = values,
                                      .input_count = 2};
    assert_int_equal(gantry_graph_add_node(graph, &node, &made, &count), GANTRY_OK);
    assert_int_equal(gantry_graph_add_output(graph, "y", made), GANTRY_OK);
    assert_int_equal(gantry_function_from_graph(graph, NULL, &function), GANTRY_INVALID_ARGUMENT);
    expect_rank_text(gantry_last_message(), "ExpandDims");
    expect_rank_text(gantry_last_message(), "deeper");
    gantry_graph_release(graph);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- what 8 dimensions need inside ---- */

static tensor *einsum_of(gantry_scope_t *s, const char *equation, tensor *a, tensor *b) {
    const gantry_attr_value_t attr = {
        .kind = GANTRY_ATTR_STRING, .name = "equation", .s = equation};
    tensor *made = NULL;
    size_t count = 1;
    (void)gantry_op_call(s, "Einsum", (tensor *[]){a, b}, 2, &attr, 1, &made, &count);
    return made;
}

static tensor *steps_in(gantry_scope_t *s, gantry_shape_t shape) {
    float values[256];
    const int64_t count = gantry_shape_elements(&shape);
    for (int64_t i = 0; i < count; ++i) values[i] = (float)(i % 11) - 4;
    return gantry_constant(s, GANTRY_FLOAT32, shape, values, (size_t)count * sizeof *values);
}

/* Batch dimensions that broadcast in turn: six, seven and eight of them. */
TEST(einsum_of_eight_dimensions_broadcasts) {
    const struct {
        const char *equation;
        gantry_shape_t a, b;
    } cases[] = {
        {"...,...->...", GANTRY_SHAPE(2, 1, 2, 1, 2, 1, 2, 1),
         GANTRY_SHAPE(1, 3, 1, 2, 1, 2, 1, 2)},
        {"...,...->...", GANTRY_SHAPE(2, 3, 2, 1, 2, 1, 2, 2), GANTRY_SHAPE(3, 1, 2, 1, 2, 1, 2)},
        {"...,...->...", GANTRY_SHAPE(2, 1, 2, 1, 1, 1, 2, 1),
         GANTRY_SHAPE(2, 3, 2, 2, 1, 2, 1, 2)}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        tensor *a = steps_in(scope, cases[i].a), *b = steps_in(scope, cases[i].b);
        tensor *made = einsum_of(scope, cases[i].equation, a, b), *wanted = gantry_mul(scope, a, b);
        float got[1024], expected[1024];
        if (!made) fail_msg("%s", gantry_scope_message(scope));
        assert_true(gantry_shape_equal(gantry_tensor_shape(made), gantry_tensor_shape(wanted)));
        const size_t bytes = gantry_tensor_bytes(wanted);
        assert_in_range(bytes, 1, sizeof got);
        assert_int_equal(gantry_tensor_read(made, got, bytes), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(wanted, expected, bytes), GANTRY_OK);
        assert_memory_equal(got, expected, bytes);
    }
    /* with a contracted one: a [.., k] times b [.., k] is the sum over k of the products */
    tensor *a = steps_in(scope, GANTRY_SHAPE(2, 1, 2, 1, 2, 1, 2, 3)),
           *b = steps_in(scope, GANTRY_SHAPE(1, 2, 1, 2, 1, 2, 2, 3));
    const int32_t last = -1;
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = &last, .axis_count = 1};
    tensor *made = einsum_of(scope, "...k,...k->...", a, b),
           *wanted = gantry_sum(scope, gantry_mul(scope, a, b), &over);
    float got[128], expected[128];
    if (!made) fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_tensor_bytes(made), sizeof got);
    assert_int_equal(gantry_tensor_read(made, got, sizeof got), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(wanted, expected, sizeof expected), GANTRY_OK);
    assert_memory_equal(got, expected, sizeof got); /* small integers: exact in any order */
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
