/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each pass does its work on a graph, and can be left out: nodes are folded, joined,
 * dropped and fused; results are written in place; copies begin early. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include "function/call/function.h"
#include "planned.h"

#define COLUMNS 4096

typedef struct case_t {
    gantry_variable_t *variable;
    const gantry_tensor_t *captured;
    uint32_t length;
} case_t;

static const gantry_function_options_t all = {.struct_size = sizeof all};

static gantry_function_options_t without(uint32_t passes) {
    return (gantry_function_options_t){.struct_size = sizeof(gantry_function_options_t),
                                       .passes_off = passes};
}

static gantry_function_t *trace(runtime_fixture_t *f, gantry_function_body_fn body, case_t *user,
                                size_t output_count, gantry_function_options_t options) {
    const gantry_input_spec_t inputs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(COLUMNS)},
                                          {"y", GANTRY_FLOAT32, GANTRY_SHAPE(COLUMNS)}};
    gantry_function_t *function;
    if (gantry_function_trace(f->runtime, "f", body, user, inputs, 2, output_count, &options,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static const gantry__graph_t *graph_of(gantry_function_t *function) {
    return &planned(function)->graph;
}

static uint32_t count_kind(gantry_function_t *function, gantry__node_kind_t kind) {
    const gantry__graph_t *graph = graph_of(function);
    uint32_t count = 0;
    for (size_t i = 0; i < graph->node_count; ++i) count += graph->nodes[i].kind == kind;
    return count;
}

static const gantry__node_t *find_node(gantry_function_t *function, const char *name) {
    const gantry__graph_t *graph = graph_of(function);
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (strcmp(graph->nodes[i].name, name) == 0) return &graph->nodes[i];
    }
    return NULL;
}

/* The number of ops of a graph of the body, on the CPU, without these passes. */
static uint32_t count_ops(gantry_function_body_fn body, case_t user, size_t output_count,
                          uint32_t passes_off) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace(&f, body, &user, output_count, without(passes_off));
    const uint32_t count = count_kind(function, GANTRY__NODE_OP);
    gantry_function_release(function);
    runtime_fixture_close(&f);
    return count;
}

/* Of intermediate values on the one device. */
static uint64_t planned_bytes(gantry_function_t *function) {
    const gantry__schedule_t *schedule = &planned(function)->schedule;
    assert_int_equal(schedule->arena_count, 1);
    return schedule->arenas[0].bytes;
}

/* ---- folding ---- */

/* x * sqrt(1 / 4), and an integer division by zero of constants. */
static void constant_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *quarter =
        gantry_div(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 4));
    (void)gantry_scope_name_next(scope, "half");
    outputs[0] = gantry_mul(scope, inputs[0], gantry_sqrt(scope, quarter));
}

TEST(ops_of_constants_become_constants) {
    assert_int_equal(count_ops(constant_body, (case_t){0}, 1, 0), 1);
    assert_int_equal(count_ops(constant_body, (case_t){0}, 1, GANTRY_PASS_ALL), 3);
    assert_int_equal(count_ops(constant_body, (case_t){0}, 1,
                               GANTRY_PASS_ALL & ~(uint32_t)GANTRY_PASS_CONSTANT_FOLDING),
                     1);
}

static void failing_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    (void)inputs;
    outputs[0] = gantry_div(scope, gantry_scalar_i32(scope, 1), gantry_scalar_i32(scope, 0));
}

TEST(a_constant_op_that_fails_fails_in_the_call) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace(&f, failing_body, NULL, 1, all);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COLUMNS)),
                          *given[] = {x, x}, *got;
    assert_int_equal(gantry_function_call(scope, function, given, 2, &got, 1),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Integer division by zero");
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* 4 MiB of one number. */
static void large_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *large =
        gantry_fill(scope, GANTRY_SHAPE(256, COLUMNS), gantry_scalar_f32(scope, 2));
    outputs[0] = gantry_sum(scope, gantry_mul(scope, large, inputs[0]), NULL);
}

TEST(a_large_result_of_small_constants_is_not_kept) {
    assert_int_equal(count_ops(large_body, (case_t){0}, 1, 0), 3);
}

/* ---- common subexpressions ---- */

/* (x + y) * 2 and 2 * ... of the same sum, twice; a read of a variable before and after an
 * assignment. */
static void common_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    (void)user;
    for (uint32_t i = 0; i < 2; ++i) {
        const gantry_tensor_t *sum = gantry_add(scope, inputs[0], inputs[1]);
        outputs[i] = gantry_mul(scope, sum, gantry_scalar_f32(scope, 2));
    }
    outputs[2] = gantry_leaky_relu(scope, inputs[0], 0.5F);
    outputs[3] = gantry_leaky_relu(scope, inputs[0], 0.25F); /* another attribute */
}

TEST(equal_nodes_are_one) {
    const uint32_t off = GANTRY_PASS_ELEMENTWISE_FUSION;
    assert_int_equal(count_ops(common_body, (case_t){0}, 4, off), 4);
    assert_int_equal(
        count_ops(common_body, (case_t){0}, 4, off | GANTRY_PASS_COMMON_SUBEXPRESSIONS), 6);
}

static void reading_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    const case_t *c = user;
    outputs[0] = gantry_variable_read(scope, c->variable);
    outputs[1] = gantry_variable_read(scope, c->variable);
    (void)gantry_variable_assign_add(scope, c->variable, inputs[0]);
    outputs[2] = gantry_variable_read(scope, c->variable);
}

TEST(reads_are_one_until_an_assignment) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *ones = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COLUMNS)),
                          *given[] = {ones, ones}, *got[3];
    case_t c = {.variable = gantry_variable_create(scope, ones, "v")};
    gantry_function_t *function = trace(&f, reading_body, &c, 3, all);
    assert_int_equal(count_kind(function, GANTRY__NODE_READ), 2);
    assert_int_equal(gantry_function_call(scope, function, given, 2, got, 3), GANTRY_OK);
    const gantry_tensor_t *before = gantry_sum(scope, got[1], NULL),
                          *after = gantry_sum(scope, got[2], NULL);
    EXPECT_F32(before, COLUMNS);
    EXPECT_F32(after, 2 * COLUMNS);
    gantry_variable_release(c.variable);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- dead nodes ---- */

static void dead_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const case_t *c = user;
    (void)gantry_exp(scope, gantry_add(scope, inputs[0], c->captured));
    outputs[0] = gantry_sum(scope, inputs[1], NULL);
}

TEST(dead_nodes_go_with_their_constants) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_tensor_t *held = gantry_tensor_retain(F32(scope, 1));
    case_t c = {.captured = held};
    const gantry_function_options_t options = without(GANTRY_PASS_DEAD_NODES);
    gantry_function_t *with = trace(&f, dead_body, &c, 1, all),
                      *none = trace(&f, dead_body, &c, 1, options);
    assert_null(find_node(with, "Exp"));
    assert_int_equal(count_kind(with, GANTRY__NODE_OP), 1);
    assert_int_equal(count_kind(with, GANTRY__NODE_INPUT), 2);
    assert_non_null(find_node(none, "Exp"));
    gantry_function_release(with);
    gantry_function_release(none);
    gantry_tensor_release(held);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- fusion ---- */

/* A chain of c->length ops. */
static void chain_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const case_t *c = user;
    const gantry_tensor_t *at = inputs[0];
    for (uint32_t i = 0; i < c->length; ++i)
        at = i % 2 ? gantry_mul(scope, at, inputs[1]) : gantry_add(scope, at, inputs[1]);
    outputs[0] = at;
}

TEST(chains_are_cut_at_the_limit) {
    assert_int_equal(count_ops(chain_body, (case_t){.length = 2}, 1, 0), 1);
    assert_int_equal(count_ops(chain_body, (case_t){.length = 128}, 1, 0), 1);
    assert_int_equal(count_ops(chain_body, (case_t){.length = 129}, 1, 0), 2);
    assert_int_equal(count_ops(chain_body, (case_t){.length = 1000}, 1, 0), 8);
    assert_int_equal(
        count_ops(chain_body, (case_t){.length = 20}, 1, GANTRY_PASS_ELEMENTWISE_FUSION), 20);
}

TEST(a_fused_node_names_its_members) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    case_t c = {.length = 3};
    assert_int_equal(gantry_set_log_device_placement(f.runtime, true), GANTRY_OK);
    gantry_function_t *function = trace(&f, chain_body, &c, 1, all);
    const gantry__node_t *node = find_node(function, "Add_1");
    assert_non_null(node);
    assert_string_equal(node->op->name, "_FusedElementwise");
    assert_int_equal(node->fused_count, 3);
    assert_string_equal(node->fused[0], "Add");
    assert_string_equal(node->fused[1], "Mul");
    assert_string_equal(node->fused[2], "Add_1");
    assert_int_equal(log_lines_with(&f.log, "Mul: (Mul): ", "device:CPU:0"), 1);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* c->length sums of pairs of x, y and their earlier sums, all of them results. */
static void wide_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const case_t *c = user;
    const gantry_tensor_t *at = inputs[0];
    for (uint32_t i = 0; i < c->length; ++i) outputs[i] = at = gantry_add(scope, at, inputs[1]);
}

TEST(a_fused_node_has_at_most_four_results) {
    assert_int_equal(count_ops(wide_body, (case_t){.length = 4}, 4, 0), 1);
    assert_int_equal(count_ops(wide_body, (case_t){.length = 5}, 5, 0), 2);
    assert_int_equal(count_ops(wide_body, (case_t){.length = 8}, 8, 0), 2);
}

/* BiasAdd and AddN are sums, too. */
static void summing_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *rows = gantry_broadcast_to(scope, inputs[0], GANTRY_SHAPE(2, COLUMNS)),
                          *biased = gantry_bias_add(scope, rows, inputs[1]);
    const gantry_tensor_t *const terms[] = {biased, rows, rows, biased};
    outputs[0] = gantry_relu(scope, gantry_add_n(scope, terms, 4));
}

TEST(sums_of_several_are_fused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace(&f, summing_body, NULL, 1, all);
    const gantry__node_t *relu = find_node(function, "Relu");
    assert_int_equal(relu->fused_count, 3);
    assert_int_equal(relu->attrs[0].i, 5 * 5); /* four sums and Relu */
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* A product between two elementwise ops that both use exp(x + y). */
static void interrupted_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *sum = gantry_add(scope, inputs[0], inputs[1]),
                          *powers = gantry_exp(scope, sum);
    outputs[0] = gantry_div(scope, powers, gantry_prod(scope, powers, NULL));
}

TEST(a_use_from_outside_ends_a_group) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace(&f, interrupted_body, NULL, 1, all);
    const gantry__node_t *first = find_node(function, "Exp");
    assert_int_equal(count_kind(function, GANTRY__NODE_OP), 3);
    assert_non_null(first);
    assert_int_equal(first->fused_count, 2);
    assert_int_equal(find_node(function, "Div")->fused_count, 0);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- rows ---- */

static const int32_t last_axis[] = {-1};
static const gantry_reduce_options_t kept = {.struct_size = sizeof kept,
                                             .axes = last_axis,
                                             .axis_count = 1,
                                             .keep_dims = true},
                                     dropped = {.struct_size = sizeof dropped,
                                                .axes = last_axis,
                                                .axis_count = 1};

static void softmax_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *most = gantry_max(scope, inputs[0], &kept),
                          *powers = gantry_exp(scope, gantry_sub(scope, inputs[0], most));
    outputs[0] = gantry_div(scope, powers, gantry_sum(scope, powers, &kept));
}

static void norm_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *mean = gantry_mean(scope, inputs[0], &kept),
                          *centred = gantry_sub(scope, inputs[0], mean),
                          *squares = gantry_mean(scope, gantry_square(scope, centred), &kept),
                          *more = gantry_add(scope, squares, gantry_scalar_f32(scope, 1e-5F)),
                          *spread = gantry_mul(scope, centred, gantry_rsqrt(scope, more));
    outputs[0] = gantry_add(scope, gantry_mul(scope, spread, inputs[1]), inputs[1]);
}

TEST(reductions_of_rows_are_fused_with_their_elementwise_ops) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace(&f, softmax_body, NULL, 1, all);
    const gantry__node_t *node = find_node(function, "Div");
    const char *const names[] = {"Max", "Sub", "Exp", "Sum", "Div"};
    assert_non_null(node);
    assert_string_equal(node->op->name, "_FusedRows");
    assert_int_equal(node->fused_count, 5);
    for (int i = 0; i < 5; ++i) assert_string_equal(node->fused[i], names[i]);
    assert_int_equal(count_kind(function, GANTRY__NODE_CONST), 0); /* no axes */
    gantry_function_release(function);
    runtime_fixture_close(&f);
    assert_int_equal(count_ops(norm_body, (case_t){0}, 1, 0), 1);
    assert_int_equal(count_ops(norm_body, (case_t){0}, 1, GANTRY_PASS_ELEMENTWISE_FUSION), 9);
}

/* The sum has no last dimension, and its user broadcasts it otherwise: it cannot be a member. */
static void ended_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *powers = gantry_exp(scope, gantry_add(scope, inputs[0], inputs[1]));
    outputs[0] = gantry_div(scope, powers, gantry_sum(scope, powers, &dropped));
}

TEST(a_reduction_without_its_dimension_ends_a_group) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace(&f, ended_body, NULL, 1, all);
    const gantry__node_t *sum = find_node(function, "Sum");
    assert_int_equal(count_kind(function, GANTRY__NODE_OP), 2);
    assert_non_null(sum);
    assert_int_equal(sum->fused_count, 3);
    assert_int_equal(sum->output_count, 2); /* the powers, too */
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* Sums of squares over axis 0, which is no row, of rows that are too long, and of one that is too
 * short; and a reduction with narrow ops alone. */
static void unfit_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const case_t *c = user;
    const int32_t first = 0;
    const gantry_reduce_options_t over_first = {
        .struct_size = sizeof over_first, .axes = &first, .axis_count = 1};
    const gantry_tensor_t *x = inputs[0];
    if (c->length == 0)
        outputs[0] =
            gantry_sum(scope, gantry_square(scope, gantry_reshape(scope, x, GANTRY_SHAPE(64, 64))),
                       &over_first);
    if (c->length == 1) {
        const gantry_tensor_t *const both[] = {x, inputs[1]};
        outputs[0] =
            gantry_sum(scope, gantry_square(scope, gantry_concat(scope, both, 2, 0)), &dropped);
    }
    if (c->length == 2)
        outputs[0] = gantry_sum(
            scope, gantry_square(scope, gantry_reshape(scope, x, GANTRY_SHAPE(512, 8))), &dropped);
    if (c->length == 3) outputs[0] = gantry_sqrt(scope, gantry_sum(scope, x, &kept));
}

TEST(other_reductions_stay_apart) {
    for (uint32_t i = 0; i < 4; ++i) {
        const case_t c = {.length = i};
        assert_int_equal(count_ops(unfit_body, c, 1, 0),
                         count_ops(unfit_body, c, 1, GANTRY_PASS_ELEMENTWISE_FUSION));
    }
}

/* exp(x - m), with one m for each row of c->length. */
static void rows_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const case_t *c = user;
    const int64_t columns = c->length, rows = COLUMNS / columns, begin = 0;
    const gantry_tensor_t *x = gantry_reshape(scope, inputs[0], GANTRY_SHAPE(rows, columns)),
                          *first = gantry_slice(scope, inputs[1], &begin, &rows),
                          *m = gantry_reshape(scope, first, GANTRY_SHAPE(rows, 1));
    outputs[0] = gantry_exp(scope, gantry_sub(scope, x, m));
}

TEST(short_rows_with_an_element_each_are_not_fused_on_the_cpu) {
    assert_int_equal(count_ops(rows_body, (case_t){.length = 1024}, 1, 0),
                     count_ops(rows_body, (case_t){.length = 256}, 1, 0) - 1);
}

/* x0 * x1 - x2 of three temporaries: in one node, all three are there at a time. */
static void holding_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    const case_t *c = user;
    gantry_shape_t shape = GANTRY_SHAPE((int64_t)c->length, COLUMNS);
    const gantry_tensor_t *parts[3];
    for (uint32_t i = 0; i < 3; ++i) { /* no elementwise ops */
        const gantry_tensor_t *wide = gantry_broadcast_to(scope, inputs[i % 2], shape);
        parts[i] = gantry_reverse(scope, wide, (const int32_t[]){i > 0}, 1);
        if (i == 1) parts[0] = gantry_mul(scope, parts[0], parts[1]);
    }
    outputs[0] = gantry_sum(scope, gantry_sub(scope, parts[0], parts[2]), NULL);
}

TEST(a_group_does_not_hold_more_memory) {
    for (uint32_t length = 1; length <= 64; length *= 64) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 0);
        case_t c = {.length = length};
        gantry_function_t *function = trace(&f, holding_body, &c, 1, all),
                          *apart = trace(&f, holding_body, &c, 1,
                                         without(GANTRY_PASS_ELEMENTWISE_FUSION));
        assert_int_equal(find_node(function, "Sub")->fused_count, length == 1 ? 2 : 0);
        if (length > 1) assert_true(planned_bytes(function) <= planned_bytes(apart));
        gantry_function_release(function);
        gantry_function_release(apart);
        runtime_fixture_close(&f);
    }
}

/* Device scopes part a chain; the fake GPU has no fused kernel and keeps its ops. */
static void crossing_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "CPU:0"),
                   *gpu = gantry_scope_begin_in(scope, "GPU:0");
    const gantry_tensor_t *at = gantry_add(cpu, inputs[0], inputs[1]);
    at = gantry_mul(cpu, at, inputs[0]);
    at = gantry_add(gpu, at, inputs[0]);
    outputs[0] = gantry_scope_keep(gpu, gantry_mul(gpu, at, inputs[1]));
    (void)gantry_scope_end(gpu);
    (void)gantry_scope_end(cpu);
}

TEST(devices_part_groups) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function = trace(&f, crossing_body, NULL, 1, all);
    assert_int_equal(count_kind(function, GANTRY__NODE_OP), 3);
    assert_int_equal(find_node(function, "Mul")->fused_count, 2);
    assert_string_equal(
        planned(function)->schedule.places[graph_of(function)->node_count - 1].device->name,
        "/device:GPU:0");
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* A node that must come after a member is not put before it. */
static void ordered_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *first = gantry_add(scope, inputs[0], inputs[1]);
    gantry_scope_t *after = gantry_scope_begin_after(scope, &first, 1);
    outputs[1] = gantry_scope_keep(after, gantry_sum(after, inputs[0], NULL));
    (void)gantry_scope_end(after);
    outputs[0] = gantry_mul(scope, first, inputs[1]);
}

TEST(control_inputs_end_a_group) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace(&f, ordered_body, NULL, 2, all);
    const gantry__graph_t *graph = graph_of(function);
    const gantry__node_t *sum = find_node(function, "Sum");
    assert_int_equal(count_kind(function, GANTRY__NODE_OP), 3);
    assert_int_equal(sum->control_count, 1);
    assert_string_equal(graph->nodes[sum->controls[0]].name, "Add");
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- in place ---- */

TEST(results_lie_in_the_memory_of_inputs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    case_t c = {.length = 6};
    const uint32_t off = GANTRY_PASS_ELEMENTWISE_FUSION;
    gantry_function_t *in_place = trace(&f, chain_body, &c, 1, without(off)),
                      *apart = trace(&f, chain_body, &c, 1, without(off | GANTRY_PASS_IN_PLACE));
    assert_int_equal(planned_bytes(in_place), COLUMNS * sizeof(float));
    assert_int_equal(planned_bytes(apart), 2 * COLUMNS * sizeof(float));
    gantry_function_release(in_place);
    gantry_function_release(apart);
    runtime_fixture_close(&f);
}

/* A difference to the first element, which is an alias of what the kernel would write over. */
static void part_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    static const int64_t first = 0, one = 1;
    const case_t *c = user;
    const gantry_tensor_t *x = gantry_neg(scope, inputs[0]),
                          *w = gantry_variable_read(scope, c->variable);
    outputs[0] = gantry_neg(scope, gantry_sub(scope, x, gantry_slice(scope, x, &first, &one)));
    (void)gantry_variable_assign(scope, c->variable,
                                 gantry_sub(scope, w, gantry_slice(scope, w, &first, &one)));
}

TEST(a_value_read_in_part_too_is_not_overwritten) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COLUMNS));
    case_t c = {.variable = gantry_variable_create(scope, zeros, "w")};
    gantry_function_t *function =
        trace(&f, part_body, &c, 1, without(GANTRY_PASS_ELEMENTWISE_FUSION));
    const gantry__schedule_t *schedule = &planned(function)->schedule;
    assert_int_equal(planned_bytes(function), 2 * COLUMNS * sizeof(float));
    for (uint32_t i = 0; i < schedule->action_count; ++i)
        assert_int_equal(schedule->actions[i].overwrite_count, 0);
    gantry_function_release(function);
    gantry_variable_release(c.variable);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&f);
}

/* ---- copies ---- */

/* The GPU takes an early result of the CPU at the end. */
static void copying_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "CPU:0"),
                   *gpu = gantry_scope_begin_in(scope, "GPU:0");
    const gantry_tensor_t *early = gantry_reverse(cpu, inputs[0], (const int32_t[]){0}, 1);
    outputs[0] = gantry_scope_keep(cpu, gantry_sum(cpu, early, NULL));
    outputs[1] = gantry_scope_keep(gpu, gantry_add(gpu, early, inputs[1]));
    (void)gantry_scope_end(gpu);
    (void)gantry_scope_end(cpu);
}

static uint32_t find_act(gantry_function_t *function, gantry__action_kind_t kind) {
    const gantry__schedule_t *schedule = &planned(function)->schedule;
    for (uint32_t i = 0; i < schedule->action_count; ++i) {
        if (schedule->actions[i].kind == kind) return i;
    }
    return UINT32_MAX;
}

TEST(copies_follow_their_source) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *early = trace(&f, copying_body, NULL, 2, all),
                      *late = trace(&f, copying_body, NULL, 2, without(GANTRY_PASS_EARLY_COPIES));
    const gantry__schedule_t *schedule = &planned(early)->schedule;
    const uint32_t copy = find_act(early, GANTRY__ACTION_COPY),
                   call = find_act(early, GANTRY__ACTION_CALL);
    assert_int_equal(copy, call + 1);
    assert_int_equal(schedule->actions[0].kind, GANTRY__ACTION_ARGUMENT);
    assert_int_equal(schedule->actions[1].kind, GANTRY__ACTION_ARGUMENT);
    assert_int_equal(find_act(late, GANTRY__ACTION_COPY), find_act(late, GANTRY__ACTION_CALL) + 2);
    gantry_function_release(early);
    gantry_function_release(late);
    runtime_fixture_close(&f);
}

/* ---- memory that runs out ---- */

static void everything_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    constant_body(scope, inputs, &outputs[0], user);
    interrupted_body(scope, inputs, &outputs[1], user);
    common_body(scope, inputs, &outputs[2], user);
    softmax_body(scope, inputs, &outputs[6], user);
    ended_body(scope, inputs, &outputs[7], user);
}

static gantry_status_t trace_everything(gantry_scope_t *scope) {
    const gantry_input_spec_t inputs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(COLUMNS)},
                                          {"y", GANTRY_FLOAT32, GANTRY_SHAPE(COLUMNS)}};
    gantry_function_t *function;
    GANTRY__TRY(gantry_function_trace(scope->runtime, "f", everything_body, NULL, inputs, 2, 8,
                                      NULL, &function));
    gantry_function_release(function);
    return GANTRY_OK;
}

TEST(nothing_leaks_when_memory_runs_out_in_a_pass) {
    runtime_fixture_starve_each(1, NULL, trace_everything);
}

/* ---- bad input ---- */

TEST(unknown_passes_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    const gantry_function_options_t options = without(1U << 31);
    gantry_function_t *function;
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", dead_body, NULL, NULL, 0, 1, &options, &function),
        GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "passes_off is 0x80000000"));
    assert_null(function);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
