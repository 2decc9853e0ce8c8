/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A scan whose body adds or multiplies has the bits of Cumsum or Cumprod.
 * Promise: A scan joins by any body in its stated order, several operands together.
 * Promise: A scatter with a body joins updates in their order, as the library's scatters do.
 * Promise: Scans and scatters with a body take sizes that are open, 8 axes, no updates, and indices
 * that name the whole operand; a body only sees elements that are joined.
 * Promise: Open sizes of operands, indices and updates that must be equal are compared in each
 * call; others are refused with the call's name and both shapes.
 * Promise: Wrong use of scans and scatters with a body is an error that names the call, the value
 * and what is accepted, at once and in a trace; the outputs are NULL.
 * Promise: A scan or scatter with a body whose allocations fail leaks nothing. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

#include "join_scan_case.h"

TEST(scans_have_the_bits_of_cumsum) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_scans(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

TEST(scan_of_pairs_has_the_order) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_scan_orders(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

TEST(scatters_have_the_order_of_updates) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_scatters(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

/* ---- forms ---- */

TEST(scans_take_open_sizes_and_reverse) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *x = join_numbers(s, GANTRY_FLOAT32, GANTRY_SHAPE(3, 300, 2)), *got, *part;
    const gantry_scan_options_t reverse = {.struct_size = sizeof reverse, .reverse = true};
    join_scan_call_t call = {.body = join_add,
                             .count = 1,
                             .axis = -2,
                             .options = {.struct_size = sizeof call.options, .reverse = true}};
    for (int32_t open = 0; open < 3; open += 2) {
        join_in_function(s, join_run_scan, &call, &x, 1, 1, open, &got);
        join_expect_equal(s, got, gantry_cumsum(s, x, 1, &reverse));
    }
    part = gantry_reshape(s, x, GANTRY_SHAPE(1, 3, 1, 2, 150, 2, 1, 1));
    call.axis = 4;
    join_run_scan(s, &part, &got, &call);
    join_expect_equal(s, got, gantry_cumsum(s, part, 4, &reverse));
    part = gantry_zeros(s, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3, 1, 2, 150));
    join_run_scan(s, &part, &got, &call);
    join_expect_equal(s, got, part);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* Fails for a divisor of 0. */
JOIN_BODY(divide) {
    (void)user;
    out[0] = gantry_floor_div(s, in[0], in[1]);
}

TEST(body_sees_only_what_is_joined) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    const join_scatter_call_t call = {
        .body = join_divide, .count = 1, .names_elements = true, .policy = "IGNORE"};
    /* the update of 0 is dropped */
    tensor *in[] = {I32(s, 100, 0, 7), I32(s, 0, 0, 3, 0), I32(s, 2, 5, 0, 3)}, *got;
    join_run_scatter(s, in, &got, (void *)&call);
    EXPECT_I32(got, 3, 0, 7);
    const join_scan_call_t scan = {
        .body = join_divide, .count = 1, .options = {.struct_size = sizeof scan.options}};
    join_run_scan(s, in, &got, (void *)&scan);
    assert_null(got); /* 100 / 0 is joined */
    gantry_scope_clear(s);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(rows_without_numbers_name_the_operand) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    const join_scatter_call_t call = {.body = join_add, .count = 1};
    tensor *in[] = {I32(s, 1, 2), gantry_zeros(s, GANTRY_INT64, GANTRY_SHAPE(3, 0)),
                    gantry_reshape(s, I32(s, 10, 20, 30, 40, 50, 60), GANTRY_SHAPE(3, 2))};
    tensor *got;
    join_run_scatter(s, in, &got, (void *)&call);
    EXPECT_I32(got, 91, 122);
    in[0] = gantry_scalar_i32(s, 5);
    in[2] = I32(s, 1, 2, 3);
    join_run_scatter(s, in, &got, (void *)&call);
    EXPECT_I32(got, 11);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* A trace of a call, with inputs of these shapes, called with such tensors. */
static gantry_status_t call_with_shapes(gantry_scope_t *s, gantry_function_body_fn body, void *user,
                                        const gantry_shape_t *shapes, tensor *const *in,
                                        size_t count, tensor **out) {
    gantry_input_spec_t specs[6];
    gantry_function_t *function;
    for (size_t i = 0; i < count; ++i)
        specs[i] = (gantry_input_spec_t){NULL, gantry_tensor_dtype(in[i]), shapes[i]};
    gantry_status_t status = gantry_function_trace(gantry_scope_runtime(s), "open", body, user,
                                                   specs, count, 1, NULL, &function);
    if (status != GANTRY_OK) return status;
    status = gantry_function_call(s, function, in, count, out, 1);
    gantry_function_release(function);
    return status;
}

TEST(scans_along_no_elements_are_empty) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *x = gantry_zeros(s, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3)), *out,
           *one = join_scalar(s, GANTRY_FLOAT32, 1);
    for (int i = 0; i < 3; ++i) {
        join_scan_call_t call = {.body = join_add, .count = 1, .inits = i > 0 ? &one : NULL};
        call.options =
            (gantry_scan_body_options_t){.struct_size = sizeof call.options, .exclusive = i > 1};
        assert_int_equal(call_with_shapes(s, join_run_scan, &call,
                                          &GANTRY_SHAPE(0, GANTRY_OPEN_SIZE), &x, 1, &out),
                         GANTRY_OK);
        join_expect_equal(s, out, x);
    }
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(updates_of_a_scalar_are_joined) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    const join_scatter_call_t call = {.body = join_add, .count = 1};
    tensor *in[] = {gantry_scalar_i32(s, 1), gantry_zeros(s, GANTRY_INT32, GANTRY_SHAPE(3, 0)),
                    I32(s, 2, 3, 4)},
           *out;
    join_run_scatter(s, in, &out, (void *)&call);
    join_expect_equal(s, out, gantry_scalar_i32(s, 10));
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* ---- open sizes that must be equal ---- */

#define OPEN GANTRY_OPEN_SIZE

JOIN_BODY(reduce_rows) {
    tensor *const inits[] = {gantry_scalar_i32(s, 0), gantry_scalar_i32(s, 0)};
    const gantry_reduce_body_options_t options = {
        .struct_size = sizeof options, .axes = (const int32_t[]){1}, .axis_count = 1};
    tensor *two[2];
    (void)user;
    (void)gantry_reduce_with_body(s, in, inits, 2, join_pair, NULL, &options, two);
    out[0] = two[0];
}

JOIN_BODY(reduce_windows) {
    tensor *const inits[] = {gantry_scalar_i32(s, 0), gantry_scalar_i32(s, 0)};
    tensor *two[2];
    (void)user;
    (void)gantry_reduce_window_with_body(s, in, inits, 2, join_pair, NULL, (const int64_t[]){1, 2},
                                         NULL, two);
    out[0] = two[0];
}

JOIN_BODY(scan_rows) {
    tensor *two[2];
    (void)user;
    (void)gantry_scan_with_body(s, in, NULL, 2, 1, join_pair, NULL, NULL, two);
    out[0] = two[0];
}

JOIN_BODY(scatter_two) {
    tensor *const x[] = {in[0], in[1]}, *const updates[] = {in[3], in[3]};
    tensor *two[2];
    (void)user;
    (void)gantry_scatter_with_body(s, x, in[2], updates, 2, join_pair, NULL, NULL, two);
    out[0] = two[0];
}

typedef struct open_sizes_t {
    gantry_function_body_fn body;
    const void *user;
    size_t count;
    gantry_shape_t traced[4], given[4];
    const char *text; /* NULL: they fit */
} open_sizes_t;

static const join_scatter_call_t by_rows = {.body = join_add, .count = 1},
                                 by_elements = {
                                     .body = join_add, .count = 1, .names_elements = true};

#define S1(a)    \
    {            \
        1, { a } \
    }
#define S2(a, b)    \
    {               \
        2, { a, b } \
    }
#define S3(a, b, c)    \
    {                  \
        3, { a, b, c } \
    }

static const open_sizes_t open_sizes[] = {
    {join_reduce_rows, NULL, 2, {S2(OPEN, 4), S2(OPEN, 4)}, {S2(3, 4), S2(3, 4)}, NULL},
    {join_reduce_rows,
     NULL,
     2,
     {S2(OPEN, 4), S2(OPEN, 4)},
     {S2(3, 4), S2(1, 4)},
     "node gantry_reduce_with_body_operand_1 (AddN) of int32[0,3,4], int32[0,1,4]"},
    {join_reduce_windows,
     NULL,
     2,
     {S2(OPEN, 4), S2(OPEN, 4)},
     {S2(3, 4), S2(1, 4)},
     "gantry_reduce_window_with_body_operand_1 (AddN) of int32[0,3,4], int32[0,1,4]"},
    {join_scan_rows,
     NULL,
     2,
     {S2(OPEN, 4), S2(OPEN, 4)},
     {S2(3, 4), S2(1, 4)},
     "gantry_scan_with_body_operand_1 (AddN) of int32[0,3,4], int32[0,1,4]"},
    {join_scan_rows,
     NULL,
     2,
     {S2(OPEN, 0), S2(OPEN, 0)},
     {S2(3, 0), S2(1, 0)},
     "gantry_scan_with_body_operand_1 (AddN) of int32[0,3,0], int32[0,1,0]"},
    {join_scatter_two,
     NULL,
     4,
     {S1(OPEN), S1(OPEN), S2(3, 1), S1(3)},
     {S1(5), S1(7), S2(3, 1), S1(3)},
     "gantry_scatter_with_body_operand_1 (AddN) of int32[0,5], int32[0,7]"},
    {join_run_scatter, &by_rows, 3, {S1(5), S2(OPEN, 1), S1(OPEN)}, {S1(5), S2(3, 1), S1(3)}, NULL},
    {join_run_scatter,
     &by_rows,
     3,
     {S1(5), S2(OPEN, 1), S1(OPEN)},
     {S1(5), S2(3, 1), S1(5)},
     "gantry_scatter_with_body_update_0 (AddN) of int32[0,3], int32[0,5]"},
    {join_run_scatter,
     &by_rows,
     3,
     {S1(5), S2(OPEN, 1), S1(3)},
     {S1(5), S2(2, 1), S1(3)},
     "gantry_scatter_with_body_update_0 (AddN) of int32[0,2], int32[0,3]"},
    {join_run_scatter,
     &by_rows,
     3,
     {S2(5, OPEN), S2(3, 1), S2(3, OPEN)},
     {S2(5, 2), S2(3, 1), S2(3, 1)},
     "gantry_scatter_with_body_update_0 (AddN) of int32[0,3,2], int32[0,3,1]"},
    {join_run_scatter,
     &by_rows,
     3,
     {S3(5, OPEN, OPEN), S2(3, 1), S3(3, OPEN, OPEN)},
     {S3(5, 3, 2), S2(3, 1), S3(3, 2, 3)},
     "gantry_scatter_with_body_update_0 (AddN) of int32[0,3,3,2], int32[0,3,2,3]"},
    {join_run_scatter, &by_elements, 3, {S1(5), S1(OPEN), S1(OPEN)}, {S1(5), S1(3), S1(3)}, NULL},
    {join_run_scatter,
     &by_elements,
     3,
     {S1(5), S1(OPEN), S1(OPEN)},
     {S1(5), S1(3), S1(5)},
     "gantry_scatter_elements_with_body_update_0 (AddN) of int32[0,3], int32[0,5]"},
    {join_run_scatter,
     &by_rows,
     3,
     {{8, {OPEN, 1, 1, 1, 1, 1, 1, 1}}, S2(1, 1), {8, {1, 1, 1, 1, 1, 1, 1, OPEN}}},
     {{8, {1, 1, 1, 1, 1, 1, 1, 1}}, S2(1, 1), {8, {1, 1, 1, 1, 1, 1, 1, 1}}},
     NULL},
    {join_run_scatter,
     &by_rows,
     3,
     {{8, {OPEN, 1, 1, 1, 1, 1, 1, 1}}, S2(1, 1), {8, {1, 1, 1, 1, 1, 1, 1, OPEN}}},
     {{8, {1, 1, 1, 1, 1, 1, 1, 1}}, S2(1, 1), {8, {1, 1, 1, 1, 1, 1, 1, 2}}},
     "gantry_scatter_with_body_update_0_1 (AddN) of int32[0,1], int32[0,2]"},
};

TEST(unlike_sizes_that_were_open_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    for (size_t i = 0; i < sizeof open_sizes / sizeof open_sizes[0]; ++i) {
        const open_sizes_t *at = &open_sizes[i];
        gantry_scope_t *inner = gantry_scope_begin_in(s, NULL);
        tensor *in[4], *out = NULL;
        for (size_t k = 0; k < at->count; ++k)
            in[k] = gantry_zeros(inner, GANTRY_INT32, at->given[k]);
        const gantry_status_t status =
            call_with_shapes(inner, at->body, (void *)at->user, at->traced, in, at->count, &out);
        if (at->text) {
            assert_int_not_equal(status, GANTRY_OK);
            if (!strstr(gantry_last_message(), at->text)) fail_msg("%s", gantry_last_message());
        } else {
            assert_int_equal(status, GANTRY_OK);
        }
        (void)gantry_scope_end(inner);
    }
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(scatters_take_any_open_sizes) {
    static const gantry_shape_t given[][3] = {{S2(5, 3), S2(7, 1), S2(7, 3)},
                                              {S2(5, 3), S2(4, 1), S2(4, 3)},
                                              {S2(5, 0), S2(0, 1), S2(0, 0)},
                                              {S2(5, 3), S2(0, 1), S2(0, 3)}},
                                open[] = {S2(OPEN, OPEN), S2(OPEN, 1), S2(OPEN, OPEN)};
    const int32_t places[] = {3, 1, 3, 0, 3, 1, 4};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    for (size_t i = 0; i < sizeof given / sizeof given[0]; ++i) {
        const gantry_shape_t *at = given[i];
        tensor *in[] = {
            join_numbers(s, GANTRY_FLOAT32, at[0]),
            gantry_constant(s, GANTRY_INT32, at[1], places, (size_t)at[1].dims[0] * sizeof *places),
            join_numbers(s, GANTRY_FLOAT32, at[2])};
        tensor *known, *out;
        join_run_scatter(s, in, &known, (void *)&by_rows);
        if (call_with_shapes(s, join_run_scatter, (void *)&by_rows, open, in, 3, &out) != GANTRY_OK)
            fail_msg("%zu: %s", i, gantry_last_message());
        join_expect_equal(s, out, known);
    }
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* ---- bad input ---- */

JOIN_BODY(widen) {
    (void)user;
    out[0] = gantry_expand_dims(s, in[0], 0);
}

typedef struct bad_join_t {
    gantry_function_body_fn body;
    int32_t axis;
    enum { SCAN, ROWS, ELEMENTS } kind;
    bool exclusive;
    gantry_dtype_t indices;
    gantry_shape_t shape; /* of indices */
    gantry_shape_t updates;
    const char *policy, *text;
} bad_join_t;

#define I GANTRY_INT32

static const bad_join_t bad_joins[] = {
    {NULL, 0, SCAN, false, I, {0}, {0}, NULL, "gantry_scan_with_body: body is NULL"},
    {join_add, 2, SCAN, false, I, {0}, {0}, NULL, "axis is 2; -2 to 1 are accepted for rank 2"},
    {join_add, 0, SCAN, true, I, {0}, {0}, NULL, "an exclusive scan begins with them"},
    {join_widen, 0, SCAN, false, I, {0}, {0}, NULL, "body sets output 0 to float32[1,"},
    {join_add,
     0,
     ROWS,
     false,
     GANTRY_FLOAT32,
     {1, {1}},
     {1, {3}},
     NULL,
     "gantry_scatter_with_body: indices are float32; int32 and int64 are accepted"},
    {join_add, 0, ROWS, false, I, {0}, {1, {3}}, NULL, "indices have rank 0; a rank of at least 1"},
    {join_add,
     0,
     ROWS,
     false,
     I,
     {1, {3}},
     {1, {3}},
     NULL,
     "indices have rows of 3 numbers; 0 to 2 are accepted"},
    {join_add,
     0,
     ROWS,
     false,
     I,
     {2, {4, 1}},
     {1, {3}},
     NULL,
     "update 0 is float32[3]; float32[4,3] is accepted"},
    {join_add, 0, ROWS, false, I, {1, {1}}, {1, {3}}, "MAYBE", "Bad indices policy 'MAYBE'"},
    {join_widen, 0, ROWS, false, I, {1, {1}}, {1, {3}}, NULL, "body sets output 0 to float32[1,"},
    {join_add,
     -3,
     ELEMENTS,
     false,
     I,
     {2, {2, 3}},
     {2, {2, 3}},
     NULL,
     "gantry_scatter_elements_with_body: axis is -3; -2 to 1 are accepted for rank 2"},
    {join_add,
     0,
     ELEMENTS,
     false,
     I,
     {2, {2, 4}},
     {2, {2, 4}},
     NULL,
     "indices have shape [2,4]; the rank of the operands' shape [2,3]"},
    {join_add,
     0,
     ELEMENTS,
     false,
     I,
     {2, {2, 3}},
     {1, {6}},
     NULL,
     "update 0 is float32[6]; float32[2,3] is accepted"},
};

static void run_bad_join(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const bad_join_t *bad = user;
    tensor *made = in[0], *x = in[0];
    const gantry_scan_body_options_t scan = {.struct_size = sizeof scan,
                                             .exclusive = bad->exclusive};
    const gantry_scatter_body_options_t scatter = {.struct_size = sizeof scatter,
                                                   .bad_indices_policy = bad->policy};
    tensor *at = gantry_zeros(s, bad->indices, bad->shape);
    tensor *updates = gantry_zeros(s, GANTRY_FLOAT32, bad->updates);
    if (bad->kind == SCAN)
        (void)gantry_scan_with_body(s, &x, NULL, 1, bad->axis, bad->body, NULL, &scan, &made);
    else if (bad->kind == ROWS)
        (void)gantry_scatter_with_body(s, &x, at, &updates, 1, bad->body, NULL, &scatter, &made);
    else
        (void)gantry_scatter_elements_with_body(s, &x, at, &updates, 1, bad->axis, bad->body, NULL,
                                                &scatter, &made);
    assert_null(made);
    out[0] = in[0];
}

TEST(wrong_use_is_refused) {
    const gantry_input_spec_t spec = SPEC_F32(2, 3);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *x = gantry_zeros(s, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3)), *y;
    for (size_t i = 0; i < sizeof bad_joins / sizeof bad_joins[0]; ++i) {
        gantry_function_t *function;
        run_bad_join(s, &x, &y, (void *)&bad_joins[i]);
        expect_scope_failure(s, GANTRY_INVALID_ARGUMENT, bad_joins[i].text);
        expect_refusal(gantry_function_trace(f.runtime, "bad", run_bad_join, (void *)&bad_joins[i],
                                             &spec, 1, 1, NULL, &function),
                       GANTRY_INVALID_ARGUMENT, bad_joins[i].text);
    }
    (void)gantry_scope_end(s);
    runtime_fixture_close(&f);
}

TEST(index_out_of_range_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    join_scatter_call_t call = {.body = join_add, .count = 1};
    tensor *in[] = {I32(s, 1, 2, 3), gantry_reshape(s, I32(s, 0, 3), GANTRY_SHAPE(2, 1)),
                    I32(s, 1, 1)};
    tensor *got;
    join_run_scatter(s, in, &got, &call);
    expect_scope_failure(s, GANTRY_INVALID_ARGUMENT, "indices[1] = [3] does not index into");
    call.names_elements = true;
    in[1] = I32(s, 0, -1);
    join_run_scatter(s, in, &got, &call);
    expect_scope_failure(s, GANTRY_INVALID_ARGUMENT, "-1 is not in [0, 3)");
    (void)gantry_scope_end(s);
    runtime_fixture_close(&f);
}

static gantry_status_t joined_program(gantry_scope_t *s) {
    const join_scatter_call_t scatter = {.body = join_add, .count = 1};
    const join_scan_call_t scan = {
        .body = join_add, .count = 1, .options = {.struct_size = sizeof scan.options}};
    tensor *x = gantry_zeros(s, GANTRY_FLOAT32, GANTRY_SHAPE(130)), *out = NULL;
    tensor *in[] = {x, gantry_zeros(s, GANTRY_INT32, GANTRY_SHAPE(2, 1)),
                    gantry_zeros(s, GANTRY_FLOAT32, GANTRY_SHAPE(2))};
    join_run_scatter(s, in, &out, (void *)&scatter);
    in[0] = gantry_zeros(s, GANTRY_FLOAT32, GANTRY_SHAPE(4));
    join_run_scan(s, in, &out, (void *)&scan);
    return gantry_scope_status(s);
}

TEST(calls_without_memory_leak_nothing) { runtime_fixture_starve_each(0, "CPU:0", joined_program); }

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
