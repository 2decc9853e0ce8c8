/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An input of GANTRY_OPEN_SIZE takes any size in one trace, in which that size is open,
 * and a call has the bits of the ops one by one. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

typedef struct body_t {
    int runs;
    bool is_traced; /* else the body runs op by op */
} body_t;

/* x is [any, 2], w [2]: x w + 1, its sum over the rows, its number of rows. */
static void computing(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    static const int32_t rows[] = {0};
    body_t *body = user;
    ++body->runs;
    if (body->is_traced) {
        assert_true(gantry_shape_equal(gantry_tensor_shape(in[0]), &GANTRY_SHAPE(-1, 2)));
        assert_true(gantry_shape_equal(gantry_tensor_shape(in[1]), &GANTRY_SHAPE(2)));
        assert_int_equal(gantry_tensor_elements(in[0]), -1);
    }
    out[0] = gantry_add(s, gantry_mul(s, in[0], in[1]), gantry_scalar_f32(s, 1));
    out[1] = gantry_sum(s, out[0], &(gantry_reduce_options_t){.axes = rows, .axis_count = 1});
    out[2] = gantry_shape(s, in[0], GANTRY_INT32);
}

static const gantry_input_spec_t specs[] = {
    {"x", GANTRY_FLOAT32, {.rank = 2, .dims = {GANTRY_OPEN_SIZE, 2}}},
    {"w", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}}};

static void expect_same(tensor *got, tensor *expected, size_t element_bytes) {
    static char bytes[2][1024];
    const size_t size = (size_t)gantry_tensor_elements(expected) * element_bytes;
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), gantry_tensor_shape(expected)));
    assert_true(size <= sizeof bytes[0]);
    assert_int_equal(gantry_tensor_read(got, bytes[0], size), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(expected, bytes[1], size), GANTRY_OK);
    assert_memory_equal(bytes[0], bytes[1], size);
}

/* Calls with so many rows, and compares with the body run op by op. */
static void check_rows(gantry_scope_t *s, gantry_function_t *function, int64_t rows) {
    float elements[2 * 20];
    body_t eager = {.runs = 0};
    tensor *got[3], *expected[3];
    for (int64_t i = 0; i < 2 * rows; ++i) elements[i] = (float)i * 0.3f - 2;
    tensor *in[] = {gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(rows, 2), elements,
                                    (size_t)rows * 2 * sizeof *elements),
                    gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(2), (float[]){0.7f, -3}, 8)};
    function_fixture_call(s, function, in, 2, got, 3);
    computing(s, in, expected, &eager);
    for (int i = 0; i < 3; ++i) expect_same(got[i], expected[i], 4);
}

TEST(one_trace_takes_every_size) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (int d = 0; d < 2; ++d) {
        body_t body = {.is_traced = true};
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *s = runtime_fixture_scope(&f, devices[d]);
        gantry_function_t *function =
            function_fixture_trace(f.runtime, computing, &body, specs, 2, 3, NULL);
        assert_int_equal(body.runs, 1); /* before a call */
        check_rows(s, function, 3);
        const int runs = body.runs; /* a trace for the scope's device */
        for (int64_t rows = 0; rows <= 20; ++rows) check_rows(s, function, rows);
        assert_int_equal(body.runs, runs);
        gantry_function_release(function);
        expect_ended_well(s);
        runtime_fixture_close(&f);
    }
}

TEST(bodies_run_op_by_op_see_the_size) {
    const gantry_function_options_t options = {.struct_size = sizeof options, .runs_eagerly = true};
    body_t body = {.is_traced = false};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    gantry_function_t *function =
        function_fixture_trace(f.runtime, computing, &body, specs, 2, 3, &options);
    check_rows(s, function, 4);
    assert_int_equal(body.runs, 1);
    gantry_function_release(function);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(other_dimensions_are_checked) {
    body_t body = {.is_traced = true};
    runtime_fixture_t f;
    tensor *got[3];
    runtime_fixture_open(&f, 1);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, computing, &body, specs, 2, 3, NULL);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *in[] = {gantry_zeros(s, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3)),
                    gantry_zeros(s, GANTRY_FLOAT32, GANTRY_SHAPE(2))};
    expect_refusal(gantry_function_call(s, function, in, 2, got, 3), GANTRY_INVALID_ARGUMENT,
                   "input 0 is float32[2,3]; its signature accepts float32[-1,2]");
    gantry_scope_clear(s);
    expect_ended_well(s);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- with other inputs of open sizes, in branches, in another function ---- */

static void adding(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    ++*(int *)user;
    out[0] = gantry_add(s, in[0], in[1]);
}

TEST(sizes_that_do_not_fit_fail_the_call) {
    const gantry_input_spec_t open[] = {SPEC_F32(GANTRY_OPEN_SIZE), SPEC_F32(GANTRY_OPEN_SIZE)};
    runtime_fixture_t f;
    int runs = 0;
    tensor *got;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, adding, &runs, open, 2, 1, NULL);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *two = gantry_ones(s, GANTRY_FLOAT32, GANTRY_SHAPE(2)),
           *three = gantry_ones(s, GANTRY_FLOAT32, GANTRY_SHAPE(3)),
           *one = gantry_ones(s, GANTRY_FLOAT32, GANTRY_SHAPE(1));
    function_fixture_call(s, function, (tensor *[]){two, one}, 2, &got, 1);
    EXPECT_F32(got, 2, 2);
    expect_refusal(gantry_function_call(s, function, (tensor *[]){two, three}, 2, &got, 1),
                   GANTRY_INVALID_ARGUMENT, "[2] vs. [3]");
    gantry_scope_clear(s);
    function_fixture_call(s, function, (tensor *[]){three, three}, 2, &got, 1);
    EXPECT_F32(got, 2, 2, 2);
    gantry_function_release(function);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

static void doubling(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_add(s, in[0], in[0]);
}

static void halving(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_mul(s, in[0], gantry_scalar_f32(s, 0.5f));
}

static void choosing(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    tensor *is_large = gantry_greater(s, gantry_sum(s, in[0], NULL), gantry_scalar_f32(s, 3));
    ++*(int *)user;
    (void)gantry_cond(s, is_large, halving, doubling, NULL, in, 1, out, 1);
}

static void calling(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)gantry_function_call(s, user, in, 1, out, 1);
}

TEST(branches_and_other_functions_take_open_inputs) {
    const gantry_input_spec_t open = SPEC_F32(GANTRY_OPEN_SIZE);
    runtime_fixture_t f;
    int runs = 0;
    tensor *got;
    runtime_fixture_open(&f, 1);
    gantry_function_t *inner =
        function_fixture_trace(f.runtime, choosing, &runs, &open, 1, 1, NULL);
    gantry_function_t *outer = function_fixture_trace(f.runtime, calling, inner, &open, 1, 1, NULL);
    assert_int_equal(runs, 2);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *two = gantry_ones(s, GANTRY_FLOAT32, GANTRY_SHAPE(2)),
           *four = gantry_ones(s, GANTRY_FLOAT32, GANTRY_SHAPE(4));
    for (int i = 0; i < 2; ++i) {
        gantry_function_t *function = i == 0 ? inner : outer;
        function_fixture_call(s, function, &two, 1, &got, 1);
        EXPECT_F32(got, 2, 2);
        function_fixture_call(s, function, &four, 1, &got, 1);
        EXPECT_F32(got, 0.5f, 0.5f, 0.5f, 0.5f);
    }
    assert_int_equal(runs, 4); /* each once more, for the scope's device */
    gantry_function_release(outer);
    gantry_function_release(inner);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
