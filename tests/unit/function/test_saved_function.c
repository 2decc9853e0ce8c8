/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A saved function loads without its body: with its names, metadata, open sizes, branches,
 * loops and calls, and its variables are the loaded function's own, by name.
 * Promise: The streams of a saved function go on where they were, and begin again with a seed.
 * Promise: Saving takes no stream, and one without a seed of its own is saved as it is; what has
 * its stream elsewhere is refused.
 * Promise: A function that is batch-invariant by its option, by the scope of its calls or by the
 * runtime stays so when it is saved, as does its graph.
 * Promise: A damaged, truncated or newer saved function is refused by what it is, leaks nothing,
 * and never crashes: each byte changed, each length, and each allocation that fails. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "sanitized.h"
#include "saved_file.h"
#include "test.h"

typedef struct world_t {
    runtime_fixture_t f;
    saved_file_t file;
    gantry_scope_t *scope;
    gantry_variable_t *weights, *counter;
} world_t;

static void world_open_as(world_t *w, gantry_choice_t batch_invariant) {
    float numbers[32];
    for (int i = 0; i < 32; ++i) numbers[i] = (float)(i % 5) - 2;
    fake->set_device_count(0);
    gantry_runtime_options_t options = runtime_fixture_options(&w->f);
    options.batch_invariant = batch_invariant;
    runtime_fixture_open_with(&w->f, &options);
    saved_file_init(&w->file);
    w->scope = runtime_fixture_scope(&w->f, NULL);
    w->weights = gantry_variable_create(
        w->scope,
        gantry_constant(w->scope, GANTRY_FLOAT32, GANTRY_SHAPE(4, 8), numbers, sizeof numbers),
        "dense/kernel");
    w->counter = gantry_variable_create(w->scope, F32(w->scope, 0), "counter");
}

static void world_open(world_t *w) { world_open_as(w, GANTRY_DEFAULT); }

static void world_close(world_t *w) {
    gantry_variable_release(w->weights);
    gantry_variable_release(w->counter);
    expect_ended_well(w->scope);
    saved_file_deinit(&w->file);
    runtime_fixture_close(&w->f);
}

/* y = relu(x * weights + bias), and counts its calls; bias is larger than what a graph holds. */
static void dense(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    const world_t *w = user;
    static const float bias[32] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 1, 1, 1, 1};
    const gantry_tensor_t *all =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4, 8), bias, sizeof bias);
    const gantry_tensor_t *sum =
        gantry_matmul(scope, inputs[0], gantry_variable_read(scope, w->weights), NULL);
    sum = gantry_add(scope, sum, gantry_mean(scope, all, NULL));
    (void)gantry_variable_assign_add(scope, w->counter, F32(scope, 1));
    outputs[0] = gantry_relu(scope, sum);
    outputs[1] = gantry_variable_read(scope, w->counter);
}

static gantry_function_t *trace_dense(world_t *w) {
    static const gantry_metadata_t metadata[] = {{"author", "a test"}, {"empty", ""}};
    const gantry_input_spec_t input = {"pixels", GANTRY_FLOAT32, GANTRY_SHAPE(2, 4)};
    const char *const names[] = {"scores", NULL};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .output_names = names,
                                               .metadata = metadata,
                                               .metadata_count = 2};
    return function_fixture_trace(w->f.runtime, dense, w, &input, 1, 2, &options);
}

static void call_dense(world_t *w, gantry_function_t *function, float out[16], float *calls) {
    gantry_scope_t *scope = runtime_fixture_scope(&w->f, NULL);
    const float pixels[] = {1, 2, 3, 4, -1, 0.5f, 2, 8};
    const gantry_tensor_t *outputs[2],
        *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 4), pixels, sizeof pixels);
    function_fixture_call(scope, function, &x, 1, outputs, 2);
    assert_int_equal(gantry_tensor_read(outputs[0], out, 16 * sizeof *out), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(outputs[1], calls, sizeof *calls), GANTRY_OK);
    expect_ended_well(scope);
}

TEST(loaded_function_is_the_one_that_was_saved) {
    world_t w;
    float traced[16], loaded[16], calls;
    gantry_graph_t *graph;
    world_open(&w);
    gantry_function_t *function = trace_dense(&w);
    call_dense(&w, function, traced, &calls);
    saved_file_save(function, &w.file);
    gantry_function_release(function);
    function = saved_file_load(w.f.runtime, &w.file, NULL);
    assert_string_equal(gantry_function_name(function), "f");
    call_dense(&w, function, loaded, &calls);
    assert_memory_equal(traced, loaded, sizeof traced);
    assert_true(calls > 1.5f && calls < 2.5f); /* the saved count goes on */
    gantry_function_value_t value = {.struct_size = sizeof value};
    assert_int_equal(gantry_function_get_input(function, 0, &value), GANTRY_OK);
    assert_string_equal(value.name, "pixels");
    assert_int_equal(gantry_function_get_output(function, 0, &value), GANTRY_OK);
    assert_string_equal(value.name, "scores");
    assert_int_equal(gantry_function_metadata_count(function), 2);
    assert_int_equal(gantry_function_get_graph(function, &graph), GANTRY_OK);
    assert_int_equal(gantry_graph_variable_count(graph), 2);
    gantry_variable_t *counter = gantry_graph_find_variable(graph, "counter");
    assert_non_null(counter);
    assert_ptr_not_equal(counter, w.counter);
    assert_non_null(gantry_graph_find_variable(graph, "dense/kernel"));
    assert_null(gantry_graph_find_variable(graph, "bias"));
    EXPECT_F32(gantry_variable_read(w.scope, counter), 2);
    EXPECT_F32(gantry_variable_read(w.scope, w.counter), 1);
    gantry_graph_release(graph);
    /* and once more, from the loaded one */
    saved_file_save(function, &w.file);
    gantry_function_release(function);
    function = saved_file_load(w.f.runtime, &w.file, NULL);
    call_dense(&w, function, loaded, &calls);
    assert_memory_equal(traced, loaded, sizeof traced);
    assert_true(calls > 2.5f && calls < 3.5f);
    gantry_function_release(function);
    world_close(&w);
}

/* Weights stay in the file until the function assigns them. */
static void read_hidden(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_add(scope, inputs[0], gantry_variable_read(scope, user));
}

TEST(names_and_texts_of_the_format_are_no_obstacle) {
    static char text[70001];
    world_t w;
    world_open(&w);
    memset(text, 'x', sizeof text - 1);
    gantry_variable_t *hidden = gantry_variable_create(w.scope, F32(w.scope, 3), "__metadata__");
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(1)};
    gantry_function_t *function =
        function_fixture_trace(w.f.runtime, read_hidden, hidden, &input, 1, 1, NULL);
    gantry_function_t *loaded = NULL;
    gantry_graph_t *graph = NULL;
    const gantry_metadata_t metadata = {"long", text};
    const gantry_function_save_options_t options = {
        .struct_size = sizeof options, .metadata = &metadata, .metadata_count = 1};
    assert_int_equal(gantry_function_save(function, w.file.path, &options), GANTRY_OK);
    assert_int_equal(gantry_function_load(w.f.runtime, w.file.path, NULL, &loaded), GANTRY_OK);
    const gantry_tensor_t *x = F32(w.scope, 4), *sum;
    float got = 0;
    function_fixture_call(w.scope, loaded, &x, 1, &sum, 1);
    assert_int_equal(gantry_tensor_read(sum, &got, sizeof got), GANTRY_OK);
    assert_float_equal(got, 7, 0);
    assert_int_equal(gantry_function_get_graph(loaded, &graph), GANTRY_OK);
    assert_int_equal(gantry_graph_metadata_count(graph), 1);
    assert_int_equal(gantry_function_save(loaded, w.file.path, NULL), GANTRY_OK);
    gantry_graph_release(graph);
    gantry_function_release(loaded);
    gantry_function_release(function);
    gantry_variable_release(hidden);
    world_close(&w);
}

TEST(mapped_weights_take_no_memory) {
    world_t w;
    float traced[16], loaded[16], calls;
    gantry_memory_info_t info = {.struct_size = sizeof info};
    const gantry_function_load_options_t options = {
        .struct_size = sizeof options, .device = "CPU:0", .maps = true};
    world_open(&w);
    gantry_function_t *function = trace_dense(&w);
    call_dense(&w, function, traced, &calls);
    saved_file_save(function, &w.file);
    gantry_function_release(function);
    function = saved_file_load(w.f.runtime, &w.file, &options);
    assert_int_equal(unlink(w.file.path), 0);
    assert_int_equal(gantry_get_memory_info(w.f.runtime, "CPU:0", &info), GANTRY_OK);
    const uint64_t bytes = info.foreign_bytes;
    assert_true(bytes >= 2 * 32 * sizeof(float)); /* kernel and constant */
    call_dense(&w, function, loaded, &calls);
    assert_memory_equal(traced, loaded, sizeof traced);
    assert_int_equal(gantry_get_memory_info(w.f.runtime, "CPU:0", &info), GANTRY_OK);
    assert_true(info.foreign_bytes == bytes - sizeof(float)); /* without the counter */
    gantry_function_release(function);
    assert_int_equal(gantry_get_memory_info(w.f.runtime, "CPU:0", &info), GANTRY_OK);
    assert_true(info.foreign_bytes == 0);
    saved_file_write(&w.file, "", 0); /* the path is there again */
    world_close(&w);
}

/* ---- sizes, branches, loops ---- */

static void halve(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, 0.5f));
}

static void is_large(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] =
        gantry_greater(scope, gantry_max(scope, inputs[0], NULL), gantry_scalar_f32(scope, 1));
}

static void controlled(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *half, *sum = gantry_sum(scope, inputs[0], NULL);
    (void)user;
    (void)gantry_while(scope, is_large, halve, NULL, inputs, 1, NULL, &half);
    (void)gantry_cond(scope, gantry_greater(scope, sum, gantry_scalar_f32(scope, 0)), halve,
                      negating, NULL, &half, 1, outputs, 1);
}

static void check_sizes(int64_t size) {
    world_t w;
    world_open(&w);
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(size)};
    gantry_function_t *function =
        function_fixture_trace(w.f.runtime, controlled, NULL, &input, 1, 1, NULL);
    const gantry_tensor_t *given[] = {F32(w.scope, 3, 8), F32(w.scope, -3, -8)}, *out;
    for (int i = 0; i < 2; ++i) function_fixture_call(w.scope, function, &given[i], 1, &out, 1);
    saved_file_save(function, &w.file);
    gantry_function_release(function);
    function = saved_file_load(w.f.runtime, &w.file, NULL);
    function_fixture_call(w.scope, function, &given[0], 1, &out, 1);
    EXPECT_F32(out, 0.1875f, 0.5f);
    function_fixture_call(w.scope, function, &given[1], 1, &out, 1);
    EXPECT_F32(out, 3, 8);
    if (size == GANTRY_OPEN_SIZE) {
        const gantry_tensor_t *three = F32(w.scope, 1, 2, 4);
        function_fixture_call(w.scope, function, &three, 1, &out, 1);
        EXPECT_F32(out, 0.125f, 0.25f, 0.5f);
    }
    gantry_function_release(function);
    world_close(&w);
}

TEST(branches_and_loops_are_saved) { check_sizes(2); }

TEST(open_sizes_are_saved) { check_sizes(GANTRY_OPEN_SIZE); }

/* ---- draws ---- */

static void drawing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    static const int64_t seed = 17;
    (void)inputs;
    outputs[0] = gantry_generator_uniform(scope, user, GANTRY_SHAPE(2), GANTRY_FLOAT32);
    outputs[1] = gantry_random_uniform(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, &seed);
}

static void call_drawing(world_t *w, gantry_function_t *function, float out[4]) {
    gantry_scope_t *scope = runtime_fixture_scope(&w->f, NULL);
    const gantry_tensor_t *outputs[2];
    function_fixture_call(scope, function, NULL, 0, outputs, 2);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(gantry_tensor_read(outputs[i], out + 2 * i, 2 * sizeof *out), GANTRY_OK);
    expect_ended_well(scope);
}

TEST(streams_go_on_where_they_were) {
    world_t w;
    gantry_generator_t *generator;
    float first[4], next[4], loaded[4];
    world_open(&w);
    assert_int_equal(gantry_generator_from_seed(w.f.runtime, 5, GANTRY_RANDOM_PHILOX, &generator),
                     GANTRY_OK);
    assert_int_equal(gantry_set_seed(w.f.runtime, 3), GANTRY_OK);
    gantry_function_t *function =
        function_fixture_trace(w.f.runtime, drawing, generator, NULL, 0, 2, NULL);
    call_drawing(&w, function, first);
    saved_file_save(function, &w.file);
    call_drawing(&w, function, next);
    gantry_function_t *again = saved_file_load(w.f.runtime, &w.file, NULL);
    call_drawing(&w, again, loaded);
    assert_memory_equal(loaded, next, sizeof next);
    assert_int_equal(gantry_set_seed(w.f.runtime, 3), GANTRY_OK);
    call_drawing(&w, again, loaded);
    assert_memory_equal(loaded + 2, first + 2, 2 * sizeof *first); /* the op's stream began again */
    gantry_function_release(again);
    gantry_function_release(function);
    gantry_generator_release(generator);
    world_close(&w);
}

/* Draws without a seed: at the top, in a branch, and in a loop. */
typedef struct unseeded_t {
    int times; /* how often the body ran */
    bool changes;
} unseeded_t;

static void draw_more(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0],
                            gantry_random_uniform(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, NULL));
}

static void draw_normal(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] =
        gantry_add(scope, inputs[0],
                   gantry_random_standard_normal(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, NULL));
}

static void is_small(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] =
        gantry_less(scope, gantry_sum(scope, inputs[0], NULL), gantry_scalar_f32(scope, 3));
}

static void unseeded(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    unseeded_t *body = user;
    const gantry_tensor_t *x = gantry_random_uniform(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, NULL);
    const gantry_tensor_t *is_left =
        gantry_less(scope, gantry_sum(scope, x, NULL), gantry_scalar_f32(scope, 1));
    (void)inputs;
    if (body->changes && body->times > 0)
        x = gantry_random_standard_normal(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, NULL);
    ++body->times;
    (void)gantry_cond(scope, is_left, draw_more, draw_normal, NULL, &x, 1, &outputs[0], 1);
    outputs[1] = outputs[0];
    (void)gantry_while(scope, is_small, draw_more, NULL, &outputs[1], 1, NULL, &outputs[1]);
}

static void draw_eagerly(world_t *w, float out[2]) {
    gantry_scope_t *scope = runtime_fixture_scope(&w->f, NULL);
    const gantry_tensor_t *drawn =
        gantry_random_uniform(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, NULL);
    assert_int_equal(gantry_tensor_read(drawn, out, 2 * sizeof *out), GANTRY_OK);
    expect_ended_well(scope);
}

/* Two calls, between which the function may be saved, then a draw of the program. */
static void draw_unseeded(world_t *w, bool saves, float first[4], float next[4], float eager[2]) {
    unseeded_t body = {0};
    float loaded[4];
    assert_int_equal(gantry_set_seed(w->f.runtime, 5), GANTRY_OK);
    gantry_function_t *function =
        function_fixture_trace(w->f.runtime, unseeded, &body, NULL, 0, 2, NULL);
    gantry_function_t *again = NULL;
    call_drawing(w, function, first);
    if (saves) {
        saved_file_save(function, &w->file);
        saved_file_save(function, &w->file);
        again = saved_file_load(w->f.runtime, &w->file, NULL);
    }
    call_drawing(w, function, next);
    draw_eagerly(w, eager);
    if (again) {
        call_drawing(w, again, loaded);
        assert_memory_equal(loaded, next, sizeof loaded);
        assert_int_equal(gantry_set_seed(w->f.runtime, 5), GANTRY_OK);
        call_drawing(w, again, loaded);
        assert_memory_equal(loaded, first, sizeof loaded);
    }
    gantry_function_release(again);
    gantry_function_release(function);
}

TEST(draws_without_a_seed_are_saved_and_stay) {
    world_t w;
    float first[2][4], next[2][4], eager[2][2];
    world_open(&w);
    for (int saves = 0; saves < 2; ++saves)
        draw_unseeded(&w, saves, first[saves], next[saves], eager[saves]);
    assert_memory_equal(first[1], first[0], sizeof first[0]);
    assert_memory_equal(next[1], next[0], sizeof next[0]);
    assert_memory_equal(eager[1], eager[0], sizeof eager[0]);
    world_close(&w);
}

TEST(a_body_that_draws_otherwise_is_refused) {
    world_t w;
    unseeded_t body = {.changes = true};
    gantry_graph_t *graph;
    world_open(&w);
    gantry_function_t *function =
        function_fixture_trace(w.f.runtime, unseeded, &body, NULL, 0, 2, NULL);
    assert_int_equal(gantry_function_get_graph(function, &graph), GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "RandomStandardNormal"));
    assert_null(graph);
    gantry_function_release(function);
    world_close(&w);
}

TEST(allocations_that_fail_keep_the_streams) {
    world_t w;
    unseeded_t body = {0};
    gantry_graph_t *graph;
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    world_open(&w);
    gantry_function_t *function =
        function_fixture_trace(w.f.runtime, unseeded, &body, NULL, 0, 2, NULL);
    for (long at = 0; status != GANTRY_OK; ++at) {
        w.f.heap.inner.calls = 0;
        w.f.heap.inner.fail_at = at;
        status = gantry_function_get_graph(function, &graph);
        w.f.heap.inner.fail_at = -1;
        if (status != GANTRY_OK) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
    }
    gantry_graph_release(graph);
    gantry_function_release(function);
    world_close(&w);
}

TEST(an_op_of_a_graph_with_a_stream_elsewhere_is_refused) {
    world_t w;
    gantry_graph_t *graph;
    gantry_graph_value_t shape, drawn;
    gantry_function_t *function;
    size_t count = 1;
    world_open(&w);
    const gantry_tensor_t *two = gantry_constant(w.scope, GANTRY_INT32, GANTRY_SHAPE(1),
                                                 (const int32_t[]){2}, sizeof(int32_t));
    const gantry_attr_value_t attrs[] = {
        {.name = "dtype", .kind = GANTRY_ATTR_TYPE, .i = GANTRY_FLOAT32},
        {.name = "seed", .kind = GANTRY_ATTR_INT, .i = 7}};
    assert_int_equal(gantry_graph_create(w.f.runtime, "g", &graph), GANTRY_OK);
    assert_int_equal(gantry_graph_add_constant(graph, NULL, two, &shape), GANTRY_OK);
    const gantry_graph_node_t node = {.struct_size = sizeof node,
                                      .name = "noise",
                                      .op = "RandomUniform",
                                      .inputs = &shape,
                                      .input_count = 1,
                                      .attrs = attrs,
                                      .attr_count = 2};
    assert_int_equal(gantry_graph_add_node(graph, &node, &drawn, &count), GANTRY_OK);
    assert_int_equal(gantry_graph_add_output(graph, "y", drawn), GANTRY_OK);
    assert_int_equal(gantry_function_from_graph(graph, NULL, &function), GANTRY_OK);
    assert_int_equal(gantry_function_save(function, w.file.path, NULL), GANTRY_UNIMPLEMENTED);
    assert_non_null(strstr(gantry_last_message(), "node \"noise\" (RandomUniform)"));
    gantry_function_release(function);
    gantry_graph_release(graph);
    world_close(&w);
}

/* ---- batch invariance ---- */

enum { ROWS = 33, DEPTH = 777, COLUMNS = 130 };

static void multiply(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_matmul(scope, inputs[0], user, NULL);
}

static void call_multiply(gantry_runtime_t *runtime, gantry_function_t *function,
                          const gantry_tensor_t *x, gantry_choice_t choice,
                          float out[ROWS * COLUMNS]) {
    const gantry_tensor_t *y;
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    assert_int_equal(gantry_scope_set_batch_invariant(scope, choice), GANTRY_OK);
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(y, out, ROWS * COLUMNS * sizeof *out), GANTRY_OK);
    expect_ended_well(scope);
}

/* A function of a graph that says nothing, saved and loaded. */
static void graph_free_of_rows(world_t *w, gantry_runtime_t *runtime,
                               const gantry_tensor_t *weights, gantry_choice_t of_function,
                               gantry_choice_t of_scope, const gantry_tensor_t *x,
                               gantry_function_t **out_loaded) {
    static float ignored[ROWS * COLUMNS];
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(GANTRY_OPEN_SIZE, DEPTH)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .batch_invariant = of_function};
    gantry_graph_t *graph;
    gantry_graph_value_t inputs[2], product;
    gantry_function_t *function;
    size_t count = 1;
    assert_int_equal(gantry_graph_create(runtime, "g", &graph), GANTRY_OK);
    assert_int_equal(gantry_graph_add_input(graph, &input, &inputs[0]), GANTRY_OK);
    assert_int_equal(gantry_graph_add_constant(graph, NULL, weights, &inputs[1]), GANTRY_OK);
    const gantry_graph_node_t node = {
        .struct_size = sizeof node, .op = "MatMul", .inputs = inputs, .input_count = 2};
    assert_int_equal(gantry_graph_add_node(graph, &node, &product, &count), GANTRY_OK);
    assert_int_equal(gantry_graph_add_output(graph, "y", product), GANTRY_OK);
    assert_int_equal(gantry_function_from_graph(graph, &options, &function), GANTRY_OK);
    call_multiply(runtime, function, x, of_scope, ignored);
    saved_file_save(function, &w->file);
    *out_loaded = saved_file_load(runtime, &w->file, NULL);
    gantry_function_release(function);
    gantry_graph_release(graph);
}

/* The graph of the function, as a function, its file, and that of a function of a graph: called in
 * a scope that does not request it, they have the bits of a call that does. */
static void check_rows(world_t *w, gantry_choice_t of_function, gantry_choice_t of_scope) {
    static float expected[ROWS * COLUMNS], got[ROWS * COLUMNS];
    static const int64_t seeds[] = {1, 2};
    gantry_runtime_t *runtime = w->f.runtime;
    const gantry_tensor_t *weights =
        gantry_random_uniform(w->scope, GANTRY_SHAPE(DEPTH, COLUMNS), GANTRY_FLOAT32, &seeds[0]);
    const gantry_tensor_t *x =
        gantry_random_uniform(w->scope, GANTRY_SHAPE(ROWS, DEPTH), GANTRY_FLOAT32, &seeds[1]);
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(GANTRY_OPEN_SIZE, DEPTH)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .batch_invariant = of_function};
    gantry_graph_t *graph;
    gantry_function_t *functions[3];
    gantry_function_t *function =
        function_fixture_trace(runtime, multiply, (void *)weights, &input, 1, 1, &options);
    call_multiply(runtime, function, x, of_scope, expected);
    assert_int_equal(gantry_function_get_graph(function, &graph), GANTRY_OK);
    assert_int_equal(gantry_function_from_graph(graph, NULL, &functions[0]), GANTRY_OK);
    saved_file_save(function, &w->file);
    functions[1] = saved_file_load(runtime, &w->file, NULL);
    gantry_function_release(function);
    graph_free_of_rows(w, runtime, weights, of_function, of_scope, x, &functions[2]);
    for (int i = 0; i < 3; ++i) {
        call_multiply(runtime, functions[i], x, GANTRY_OFF, got);
        assert_memory_equal(got, expected, sizeof got);
        gantry_function_release(functions[i]);
    }
    gantry_graph_release(graph);
}

TEST(rows_stay_as_the_option_of_the_function_keeps_them) {
    world_t w;
    world_open(&w);
    check_rows(&w, GANTRY_ON, GANTRY_OFF);
    world_close(&w);
}

TEST(rows_stay_as_the_scope_of_the_calls_keeps_them) {
    world_t w;
    world_open(&w);
    check_rows(&w, GANTRY_DEFAULT, GANTRY_ON);
    world_close(&w);
}

TEST(rows_stay_as_the_option_of_the_runtime_keeps_them) {
    world_t w;
    world_open_as(&w, GANTRY_ON);
    check_rows(&w, GANTRY_DEFAULT, GANTRY_DEFAULT);
    world_close(&w);
}

/* ---- bad files ---- */

static gantry_status_t try_load(const world_t *w) {
    gantry_function_t *function;
    const gantry_status_t status =
        gantry_function_load(w->f.runtime, w->file.path, NULL, &function);
    if (status == GANTRY_OK)
        gantry_function_release(function);
    else
        assert_null(function);
    return status;
}

static void save_dense(world_t *w) {
    world_open(w);
    gantry_function_t *function = trace_dense(w);
    saved_file_save(function, &w->file);
    gantry_function_release(function);
    saved_file_read(&w->file);
}

/* Each byte of the header and of the graph; elements of weights may be any. */
TEST(each_changed_byte_is_refused_or_harmless) {
    static const unsigned char changes[] = {0x01, 0x80, 0xff};
    world_t w;
    size_t refused = 0;
    save_dense(&w);
    const size_t graph = saved_file_find(&w.file, "GTRYGRPH", 8);
    for (size_t at = 0; at < w.file.size; at += FEWER_FOR_SANITIZERS(1, 3)) {
        const unsigned char change = changes[at % sizeof changes];
        w.file.bytes[at] ^= change;
        saved_file_write(&w.file, w.file.bytes, w.file.size);
        const bool is_refused = try_load(&w) != GANTRY_OK;
        refused += is_refused;
        if (is_refused && !strstr(gantry_last_message(), w.file.path))
            fail_msg("byte %zu: %s", at, gantry_last_message());
        w.file.bytes[at] ^= change;
    }
    assert_true(refused > FEWER_FOR_SANITIZERS(1, 0) * (w.file.size - graph) / 2);
    world_close(&w);
}

TEST(each_length_is_refused) {
    world_t w;
    save_dense(&w);
    for (size_t size = 0; size < w.file.size; size += FEWER_FOR_SANITIZERS(1, 7)) {
        saved_file_write(&w.file, w.file.bytes, size);
        assert_int_not_equal(try_load(&w), GANTRY_OK);
    }
    world_close(&w);
}

/* Writes the file with other bytes at the first place of some, and expects a refusal. */
static void expect_refused(world_t *w, const void *bytes, const void *others, size_t size,
                           gantry_status_t status, const char *text) {
    unsigned char *at = w->file.bytes + saved_file_find(&w->file, bytes, size);
    memcpy(at, others, size);
    saved_file_write(&w->file, w->file.bytes, w->file.size);
    expect_refusal(try_load(w), status, text);
    memcpy(at, bytes, size);
}

TEST(newer_and_wrong_files_are_refused_by_name) {
    world_t w;
    save_dense(&w);
    expect_refused(&w, "gantry_format\":\"1", "gantry_format\":\"3", 17, GANTRY_UNIMPLEMENTED,
                   "its gantry_format is \"3\", and Gantry " GANTRY_VERSION " wrote it");
    expect_refused(&w, "\"gantry_function\"", "\"gantry_funktion\"", 17, GANTRY_INVALID_ARGUMENT,
                   "no saved function: the format in its metadata is gantry_funktion");
    expect_refused(&w, "GTRYGRPH\1\0\0\0", "GTRYGRPH\3\0\0\0", 12, GANTRY_UNIMPLEMENTED,
                   "its format is 3; this library, Gantry " GANTRY_VERSION
                   ", reads formats 1 to 2");
    expect_refused(&w, "\6\0MatMul\0\1\0\0", "\6\0MatMul\0\3\0\0", 12, GANTRY_UNIMPLEMENTED,
                   "op MatMul is of version 3; this library, Gantry " GANTRY_VERSION
                   ", knows versions up to 1");
    expect_refused(&w, "\6\0MatMul\0", "\6\0MutMal\0", 9, GANTRY_UNIMPLEMENTED,
                   "op MutMal is not in this library");
    expect_refused(&w, "\"dense/kernel\"", "\"dense/karnel\"", 14, GANTRY_DATA_LOSS,
                   "it has no tensor \"dense/kernel\"");
    expect_refused(&w, "[4,8],\"data_offsets\":[0", "[8,4],\"data_offsets\":[0", 23,
                   GANTRY_DATA_LOSS, "is F32 [8,4]; its graph accepts float32 [4,8]");
    world_close(&w);
}

TEST(other_files_are_refused) {
    static const char empty[] = "\x02\0\0\0\0\0\0\0{}";
    world_t w;
    world_open(&w);
    expect_refusal(try_load(&w), GANTRY_NOT_FOUND, w.file.path);
    saved_file_write(&w.file, empty, sizeof empty - 1);
    expect_refusal(try_load(&w), GANTRY_INVALID_ARGUMENT,
                   "no saved function: the format in its metadata is missing");
    saved_file_write(&w.file, "<html>no weights</html>", 23);
    expect_refusal(try_load(&w), GANTRY_INVALID_ARGUMENT, "HTML");
    world_close(&w);
}

/* ---- saving ---- */

TEST(what_cannot_be_saved_is_refused_by_name) {
    static const gantry_metadata_t metadata = {"key", "\xff"};
    const gantry_function_save_options_t options = {
        .struct_size = sizeof options, .metadata = &metadata, .metadata_count = 1};
    world_t w;
    world_open(&w);
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(-1)};
    gantry_function_t *function =
        function_fixture_trace(w.f.runtime, negating, NULL, &input, 1, 1, NULL);
    expect_refusal(gantry_function_save(function, w.file.path, NULL), GANTRY_FAILED_PRECONDITION,
                   "cannot save function f to");
    gantry_function_release(function);
    function = trace_dense(&w);
    expect_refusal(gantry_function_save(function, w.file.path, &options), GANTRY_INVALID_ARGUMENT,
                   "the text \"?\" of metadata is no UTF-8");
    expect_refusal(gantry_function_save(function, "/no/folder/f.safetensors", NULL),
                   GANTRY_NOT_FOUND, "/no/folder/f.safetensors");
    gantry_function_release(function);
    assert_int_equal(access(w.file.path, F_OK), -1);
    world_close(&w);
}

/* Each allocation of saving and loading fails in turn; nothing leaks, and the old file stays. */
TEST(allocations_that_fail_leave_nothing) {
    world_t w;
    gantry_function_t *function, *loaded;
    save_dense(&w);
    function = trace_dense(&w);
    for (long at = 0, ended = 0; ended < 2; ++at) {
        w.f.heap.inner.calls = 0;
        w.f.heap.inner.fail_at = at;
        const gantry_status_t status =
            ended == 0 ? gantry_function_save(function, w.file.path, NULL)
                       : gantry_function_load(w.f.runtime, w.file.path, NULL, &loaded);
        w.f.heap.inner.fail_at = -1;
        if (status != GANTRY_OK) {
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            continue;
        }
        if (ended++ == 1) gantry_function_release(loaded);
        at = -1;
    }
    gantry_function_release(function);
    world_close(&w);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
