/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A small ONNX model that asks for a large tensor, for a constant that doubles, or for a
 * loop without an end fails by a text, and takes no memory beyond the limit of the device.
 * Promise: What a model computes of constants takes no more than 16 bytes for each byte of its
 * tensors and 256 MiB; a run computes what takes more, or refuses it in a folded filter.
 * Promise: A chain of 20,000 nodes is loaded, traced, run and explained. */
#define _GNU_SOURCE

#include "test.h"

#include <gantry/gantry.h>
#include <gantry_onnx/onnx.h>

#include "onnx_wire.h"
#include "sanitized.h"

#define LIMIT_BYTES ((uint64_t)64 << 20)

static gantry_runtime_t *limited;

static int open_limited(void **state) {
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .memory_limit_bytes = LIMIT_BYTES};
    (void)state;
    return gantry_runtime_create(&options, &limited) != GANTRY_OK;
}

static int close_limited(void **state) {
    (void)state;
    gantry_runtime_release(limited);
    return 0;
}

/* A graph of x, float32 [1], and y. */
static onnx_wire_t begin_graph(void) {
    onnx_wire_t graph = {0};
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "1");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    return graph;
}

static void expect_run_fails_on(gantry_runtime_t *runtime, onnx_wire_t graph,
                                gantry_status_t status, const char *text) {
    onnx_wire_t wire = onnx_model(&graph, 17);
    gantry_onnx_model_t *model;
    const float one = 1;
    if (gantry_onnx_model_load_bytes(runtime, "small", wire.data, wire.size, NULL, &model) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *y,
        *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1), &one, sizeof one);
    assert_int_equal(gantry_onnx_model_run(model, scope, &x, 1, &y, 1), status);
    if (!strstr(gantry_scope_message(scope), text)) fail_msg("%s", gantry_scope_message(scope));
    (void)gantry_scope_end(scope);
    gantry_onnx_model_release(model);
    free(wire.data);
}

static void expect_run_fails(onnx_wire_t graph, gantry_status_t status, const char *text) {
    expect_run_fails_on(limited, graph, status, text);
}

TEST(large_shapes_are_refused) {
    static const char *const ops[] = {"Expand", "Tile"};
    for (size_t i = 0; i < 2; ++i) {
        onnx_wire_t graph = begin_graph();
        onnx_put_ints(&graph, "s", &(int64_t){INT64_C(1) << 40}, 1);
        onnx_put_node(&graph, ops[i], "x s", "y", NULL);
        expect_run_fails(graph, GANTRY_RESOURCE_EXHAUSTED, "4398046511104 bytes");
    }
    onnx_wire_t graph = begin_graph();
    onnx_put_ints(&graph, "s", (const int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32}, 2);
    onnx_put_node(&graph, "ConstantOfShape", "s", "y", NULL);
    expect_run_fails(graph, GANTRY_INVALID_ARGUMENT, "more than 2**63 - 1 elements");
}

/* 60 times the double of x, or of a constant. */
static onnx_wire_t doubles(const char *first) {
    onnx_wire_t graph = begin_graph(), attrs = {0};
    char inputs[64], before[16], name[16];
    onnx_put_floats(&graph, "w", &(int64_t){1}, 1, &(float){1});
    (void)snprintf(before, sizeof before, "%s", first);
    for (int i = 0; i < 60; ++i) {
        (void)snprintf(inputs, sizeof inputs, "%s %s", before, before);
        (void)snprintf(name, sizeof name, i == 59 ? "y" : "v%d", i);
        onnx_put_attr_int(&attrs, "axis", 0);
        onnx_put_node(&graph, "Concat", inputs, name, &attrs);
        memcpy(before, name, sizeof name);
    }
    return graph;
}

TEST(tensors_that_double_are_refused) {
    expect_run_fails(doubles("x"), GANTRY_RESOURCE_EXHAUSTED, "limit 67108864");
    expect_run_fails(doubles("w"), GANTRY_RESOURCE_EXHAUSTED, "67108864");
}

/* The device has more memory than what is computed of constants may take. */
static gantry_runtime_t *open_large(void) {
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .memory_limit_bytes = LIMIT_BYTES << 3};
    gantry_runtime_t *large;
    assert_int_equal(gantry_runtime_create(&options, &large), GANTRY_OK);
    return large;
}

/* A column and a row of so many constants, whose sum is c. */
static onnx_wire_t begin_table(int64_t size) {
    onnx_wire_t graph = begin_graph();
    float *row = calloc((size_t)size, sizeof *row);
    assert_non_null(row);
    for (int64_t i = 0; i < size; ++i) row[i] = (float)i;
    onnx_put_floats(&graph, "a", (const int64_t[]){size, 1}, 2, row);
    onnx_put_floats(&graph, "b", (const int64_t[]){1, size}, 2, row);
    onnx_put_node(&graph, "Add", "a b", "c", NULL);
    free(row);
    return graph;
}

TEST(constants_that_grow_are_not_kept) {
    gantry_runtime_t *large = open_large();
    expect_run_fails_on(large, doubles("w"), GANTRY_RESOURCE_EXHAUSTED, "function small: ");
    onnx_wire_t graph = begin_table(30000);
    onnx_put_node(&graph, "Add", "c x", "y", NULL);
    expect_run_fails_on(large, graph, GANTRY_RESOURCE_EXHAUSTED, "function small: ");
    graph = begin_graph();
    const int64_t size = INT64_C(1) << 27;
    onnx_put_tensor(&graph, ONNX_TENSOR, "n", ONNX_INT64, NULL, 0, &size, sizeof size);
    onnx_put_node(&graph, "HannWindow", "n", "c", NULL);
    onnx_put_node(&graph, "Add", "c x", "y", NULL);
    expect_run_fails_on(large, graph, GANTRY_UNIMPLEMENTED, "a table of 134217728 elements");
    gantry_runtime_release(large);
}

/* The largest of 9000 x 9000 sums, in the model's graph or in a branch of an If, and x. */
static void expect_largest(gantry_runtime_t *runtime, bool in_branch, bool is_eager) {
    onnx_wire_t graph = begin_table(9000), branch[2] = {{0}, {0}}, attrs = {0};
    gantry_onnx_model_t *model;
    float got = 0;
    const gantry_onnx_options_t options = {
        .struct_size = sizeof options,
        .function = &(const gantry_function_options_t){
            .struct_size = sizeof(gantry_function_options_t), .runs_eagerly = is_eager}};
    onnx_put_attr_int(&attrs, "keepdims", 0);
    onnx_put_node(in_branch ? &branch[0] : &graph, "ReduceMax", "c", "top", &attrs);
    if (in_branch) {
        onnx_put_value(&branch[0], ONNX_OUTPUT, "top", ONNX_FLOAT, "");
        onnx_put_node(&branch[1], "ReduceSum", "x", "none", NULL);
        onnx_put_node(&branch[1], "Squeeze", "none", "zero", NULL);
        onnx_put_value(&branch[1], ONNX_OUTPUT, "zero", ONNX_FLOAT, "");
        attrs = (onnx_wire_t){0};
        onnx_put_attr_graph(&attrs, "then_branch", &branch[0]);
        onnx_put_attr_graph(&attrs, "else_branch", &branch[1]);
        onnx_put_node(&graph, "Greater", "x a0", "is_more", NULL);
        onnx_put_floats(&graph, "a0", &(int64_t){1}, 1, &(float){0});
        onnx_put_node(&graph, "If", "is_more", "top", &attrs);
    }
    onnx_put_node(&graph, "Add", "top x", "y", NULL);
    onnx_wire_t wire = onnx_model(&graph, 17);
    if (gantry_onnx_model_load_bytes(runtime, "large", wire.data, wire.size, &options, &model) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int i = 0; i < 2; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        const gantry_tensor_t *y, *x = gantry_scalar_f32(scope, 1);
        x = gantry_reshape(scope, x, GANTRY_SHAPE(1));
        if (gantry_onnx_model_run(model, scope, &x, 1, &y, 1) != GANTRY_OK)
            fail_msg("%s", gantry_scope_message(scope));
        assert_int_equal(gantry_tensor_read(y, &got, sizeof got), GANTRY_OK);
        assert_true(got == 2 * 8999 + 1);
        (void)gantry_scope_end(scope);
    }
    gantry_onnx_model_release(model);
    free(wire.data);
}

TEST(constants_that_are_too_large_are_computed_in_each_run) {
    gantry_runtime_t *large = open_large();
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        expect_largest(large, false, is_eager);
        expect_largest(large, true, is_eager);
    }
    gantry_runtime_release(large);
}

/* The bias of a convolution with a scale after it, which becomes a part of it. */
TEST(constants_that_are_too_large_are_not_folded) {
    gantry_runtime_t *large = open_large();
    onnx_wire_t graph = begin_table(9000), attrs = {0};
    onnx_put_attr_int(&attrs, "keepdims", 0);
    onnx_put_node(&graph, "ReduceMax", "c", "top", &attrs);
    onnx_put_ints(&graph, "one", (const int64_t[]){1}, 1);
    onnx_put_ints(&graph, "image", (const int64_t[]){1, 1, 1, 1}, 4);
    onnx_put_node(&graph, "Reshape", "top one", "bias", NULL);
    onnx_put_node(&graph, "Reshape", "x image", "pixel", NULL);
    onnx_put_floats(&graph, "w", (const int64_t[]){1, 1, 1, 1}, 4, &(float){1});
    onnx_put_floats(&graph, "scale", &(int64_t){1}, 1, &(float){2});
    onnx_put_node(&graph, "Conv", "pixel w bias", "z", NULL);
    onnx_put_node(&graph, "Mul", "z scale", "y", NULL);
    expect_run_fails_on(large, graph, GANTRY_RESOURCE_EXHAUSTED, "takes 324000000 bytes more");
    gantry_runtime_release(large);
}

/* The host computes small results only: a column and a row that are known make a large sum. */
TEST(large_results_of_known_values_are_made_on_the_device) {
    onnx_wire_t graph = begin_graph(), attrs = {0};
    static const int64_t shapes[2][2] = {{4096, 1}, {1, 4096}};
    onnx_put_floats(&graph, "one", &(int64_t){1}, 1, &(float){1});
    for (int i = 0; i < 2; ++i) {
        onnx_put_ints(&graph, i ? "s" : "t", shapes[i], 2);
        onnx_put_node(&graph, "Expand", i ? "one s" : "one t", i ? "row" : "column", NULL);
    }
    onnx_put_node(&graph, "Add", "column row", "sum", NULL);
    onnx_put_attr_int(&attrs, "keepdims", 0);
    onnx_put_node(&graph, "ReduceMax", "sum", "top", &attrs);
    onnx_put_node(&graph, "Add", "top x", "y", NULL);
    expect_run_fails(graph, GANTRY_RESOURCE_EXHAUSTED, "function small: Allocator");
}

/* Adds y = Loop(x), of so many steps; the body's nodes make the condition d and the value e, of the
 * condition c and the value v, whose shape is dims. */
static void put_loop(onnx_wire_t *graph, onnx_wire_t *body, int64_t steps, const char *dims) {
    onnx_wire_t attrs = {0};
    onnx_put_value(body, ONNX_INPUT, "i", ONNX_INT64, "");
    onnx_put_value(body, ONNX_INPUT, "c", ONNX_BOOL, "");
    onnx_put_value(body, ONNX_INPUT, "v", ONNX_FLOAT, dims);
    onnx_put_value(body, ONNX_OUTPUT, "d", ONNX_BOOL, "");
    onnx_put_value(body, ONNX_OUTPUT, "e", ONNX_FLOAT, dims);
    onnx_put_tensor(graph, ONNX_TENSOR, "n", ONNX_INT64, NULL, 0, &steps, sizeof steps);
    onnx_put_attr_graph(&attrs, "body", body);
    onnx_put_node(graph, "Loop", "n - x", "y", &attrs);
}

/* Known sizes are refused in the trace; the steps do not run op by op. */
TEST(loops_that_double_are_refused) {
    onnx_wire_t graph = begin_graph(), body = {0}, concat = {0};
    onnx_put_node(&body, "Identity", "c", "d", NULL);
    onnx_put_attr_int(&concat, "axis", 0);
    onnx_put_node(&body, "Concat", "v v", "e", &concat);
    put_loop(&graph, &body, 62, "?");
    expect_run_fails(graph, GANTRY_INVALID_ARGUMENT, "more than 2**63 - 1 bytes");
}

TEST(loops_without_an_end_are_refused) {
    if (IS_SANITIZED) {
        print_message("left out with sanitizers: the ten million steps repeat the same accesses\n");
        skip();
    }
    onnx_wire_t graph = begin_graph(), body = {0};
    onnx_put_node(&body, "Identity", "c", "d", NULL);
    onnx_put_node(&body, "Neg", "v", "e", NULL);
    put_loop(&graph, &body, INT64_C(1) << 62, "1");
    expect_run_fails(graph, GANTRY_OUT_OF_RANGE, "most_steps");
}

#define CHAIN_NODES FEWER_FOR_SANITIZERS(20000, 4000)

/* The explanation takes 0.2 s, and more than 12 s with a search of all nodes for each. */
TEST(chains_of_many_nodes_are_explained) {
    onnx_wire_t graph = begin_graph();
    char before[16] = "x", name[16];
    for (int i = 0; i < CHAIN_NODES; ++i) {
        (void)snprintf(name, sizeof name, i == CHAIN_NODES - 1 ? "y" : "v%d", i);
        onnx_put_node(&graph, "Relu", before, name, NULL);
        memcpy(before, name, sizeof name);
    }
    onnx_wire_t wire = onnx_model(&graph, 17);
    gantry_onnx_model_t *model;
    const float one = 1;
    assert_int_equal(
        gantry_onnx_model_load_bytes(limited, "long", wire.data, wire.size, NULL, &model),
        GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(limited, NULL);
    const gantry_tensor_t *y,
        *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1), &one, sizeof one);
    assert_int_equal(gantry_onnx_model_run(model, scope, &x, 1, &y, 1), GANTRY_OK);
    size_t needed = 0;
    assert_int_equal(gantry_onnx_model_explain(model, GANTRY_EXPLAIN_TEXT, NULL, 0, &needed),
                     GANTRY_OK);
    assert_true(needed > CHAIN_NODES);
    (void)gantry_scope_end(scope);
    gantry_onnx_model_release(model);
    free(wire.data);
}

int main(void) { return test_main_with(open_limited, close_limited, NULL, NULL); }
