/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A body joins elements of every type that its ops take, of one or several operands.
 * Promise: A body of a reduction may have tensors from outside, constants, branches and other
 * reductions in it, and set an output to an input, or to one tensor twice.
 * Promise: Open sizes of kept axes, however many, are joined in a function as known ones are, also
 * with sizes of 0; an open size of a reduced axis is refused with its number.
 * Promise: A joined reduction in a function takes memory for a part of its operands.
 * Promise: Wrong use of reductions and windows with a body is an error that names the call, the
 * value and what is accepted, at once and in a trace; the outputs are NULL.
 * Promise: A joined reduction whose allocations fail leaks nothing. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "function_fixture.h"
#include "test.h"

#include "join_case.h"

#define SCALAR_SPEC \
    (gantry_input_spec_t) { NULL, GANTRY_FLOAT32, GANTRY_SCALAR }

static tensor *one_of(gantry_scope_t *s, gantry_function_body_fn body, void *user, tensor *x,
                      tensor *init, const gantry_reduce_body_options_t *options) {
    tensor *out = NULL;
    (void)gantry_reduce_with_body(s, &x, &init, 1, body, user, options, &out);
    return out;
}

/* ---- types ---- */

JOIN_BODY(bits) {
    (void)user;
    out[0] = gantry_bitwise_xor(s, in[0], in[1]);
}

JOIN_BODY(is_any) {
    (void)user;
    out[0] = gantry_logical_or(s, in[0], in[1]);
}

/* What no op adds is added as float32. */
JOIN_BODY(add_as_float32) {
    const gantry_dtype_t dtype = *(const gantry_dtype_t *)user;
    out[0] = gantry_cast(
        s,
        gantry_add(s, gantry_cast(s, in[0], GANTRY_FLOAT32), gantry_cast(s, in[1], GANTRY_FLOAT32)),
        dtype);
}

/* Numbers that every type has, so that each order gives the same. */
static void check_numbers(gantry_scope_t *s, gantry_dtype_t dtype, gantry_function_body_fn body) {
    tensor *x = gantry_cast(s, F32(s, 1, 0, 1, 0, 0, 1, 1), dtype);
    tensor *got = one_of(s, body, &dtype, x, join_scalar(s, dtype, 0), NULL);
    if (gantry_scope_status(s) != GANTRY_OK)
        fail_msg("%s: %s", gantry_dtype_name(dtype), gantry_scope_message(s));
    assert_int_equal(gantry_tensor_dtype(got), dtype);
    tensor *as_float = gantry_cast(s, got, GANTRY_FLOAT32);
    if (body == join_bits)
        EXPECT_F32(as_float, 0);
    else if (dtype == GANTRY_BOOL)
        EXPECT_F32(as_float, 1);
    else
        EXPECT_F32(as_float, 4);
}

TEST(every_type_is_joined) {
    static const gantry_dtype_t added[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_FLOAT32,
                                           GANTRY_FLOAT64, GANTRY_INT8,     GANTRY_INT16,
                                           GANTRY_INT32,   GANTRY_INT64,    GANTRY_UINT8,
                                           GANTRY_UINT16,  GANTRY_UINT32,   GANTRY_UINT64};
    static const gantry_dtype_t cast[] = {GANTRY_FLOAT8_E4M3FN, GANTRY_FLOAT8_E5M2, GANTRY_FLOAT16};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    for (size_t i = 0; i < sizeof added / sizeof added[0]; ++i)
        check_numbers(s, added[i], join_add);
    for (size_t i = 0; i < sizeof cast / sizeof cast[0]; ++i)
        check_numbers(s, cast[i], join_add_as_float32);
    check_numbers(s, GANTRY_INT16, join_bits);
    check_numbers(s, GANTRY_BOOL, join_is_any);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* ---- logsumexp of two operands, and windows that are ops ---- */

JOIN_BODY(log_sum) {
    (void)user;
    tensor *most = gantry_maximum(s, in[0], in[2]);
    out[0] = most;
    out[1] = gantry_add(s, gantry_mul(s, in[1], gantry_exp(s, gantry_sub(s, in[0], most))),
                        gantry_mul(s, in[3], gantry_exp(s, gantry_sub(s, in[2], most))));
}

TEST(maximum_and_sum_give_log_sum_exp) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    const gantry_shape_t shape = GANTRY_SHAPE(777);
    tensor *x = gantry_mul(s, join_numbers(s, GANTRY_FLOAT32, shape), gantry_scalar_f32(s, 0.01f));
    tensor *ones = gantry_fill(s, shape, gantry_scalar_f32(s, 1)), *out[2];
    tensor *inits[] = {gantry_scalar_f32(s, -1e30f), gantry_scalar_f32(s, 0)};
    (void)gantry_reduce_with_body(s, (tensor *[]){x, ones}, inits, 2, join_log_sum, NULL, NULL,
                                  out);
    float got, expected;
    tensor *sum = gantry_add(s, out[0], gantry_log(s, out[1]));
    assert_int_equal(gantry_tensor_read(sum, &got, sizeof got), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(gantry_log_sum_exp(s, x, NULL), &expected, sizeof expected),
                     GANTRY_OK);
    assert_true(fabsf(got - expected) <= 1e-5f * fabsf(expected));
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(windows_are_pools_and_running_sums) {
    static const int64_t square[] = {1, 3, 2, 1}, steps[] = {1, 2, 1, 1}, line[] = {50};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *x = join_numbers(s, GANTRY_FLOAT32, GANTRY_SHAPE(2, 11, 9, 3));
    tensor *least = gantry_scalar_f32(s, -INFINITY), *zero = gantry_scalar_i32(s, 0), *got = NULL;
    const gantry_window_body_options_t pool = {.struct_size = sizeof pool, .strides = steps};
    (void)gantry_reduce_window_with_body(s, &x, &least, 1, join_maximum, NULL, square, &pool, &got);
    const gantry_window_options_t max_pool = {.strides = {2, 1}, .padding = GANTRY_PADDING_VALID};
    join_expect_equal(s, got, gantry_max_pool2d(s, x, 3, 2, &max_pool));
    tensor *numbers =
        gantry_range(s, gantry_scalar_i32(s, 1), gantry_scalar_i32(s, 51), gantry_scalar_i32(s, 1));
    const gantry_window_body_options_t before = {.struct_size = sizeof before,
                                                 .paddings = (int64_t[]){49, 0}};
    (void)gantry_reduce_window_with_body(s, &numbers, &zero, 1, join_add, NULL, line, &before,
                                         &got);
    join_expect_equal(s, got, gantry_cumsum(s, numbers, 0, NULL));
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* ---- what bodies do ---- */

static tensor *outside;

JOIN_BODY(with_outside) {
    (void)user;
    const float half = 0.5f;
    tensor *constant = gantry_constant(s, GANTRY_FLOAT32, GANTRY_SCALAR, &half, sizeof half);
    out[0] = gantry_add(s, gantry_add(s, in[0], in[1]), gantry_mul(s, outside, constant));
}

JOIN_BODY(left) {
    (void)s, (void)user;
    out[0] = in[0];
}

JOIN_BODY(left_twice) {
    (void)s, (void)user;
    out[0] = out[1] = in[0];
}

JOIN_BODY(what_is_outside) {
    (void)s, (void)in, (void)user;
    out[0] = outside;
}

JOIN_BODY(in_a_branch) {
    (void)user;
    const unsigned char yes = 1;
    tensor *is = gantry_constant(s, GANTRY_BOOL, GANTRY_SCALAR, &yes, 1);
    (void)gantry_cond(s, is, join_add, join_left, NULL, in, 2, out, 1);
}

/* A sum of a body in a body: of the two elements, side by side. */
JOIN_BODY(in_a_body) {
    (void)user;
    static const int32_t axis[] = {0};
    const gantry_reduce_body_options_t options = {
        .struct_size = sizeof options, .axes = axis, .axis_count = 1};
    out[0] = one_of(s, join_add, NULL, gantry_pack(s, in, 2, 0), gantry_scalar_f32(s, 0), &options);
}

static void run_bodies(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    tensor *zero = gantry_scalar_f32(s, 0), *both[2] = {in[0], in[0]}, *zeros[2] = {zero, zero};
    outside = gantry_scalar_f32(s, 2);
    out[0] = one_of(s, join_with_outside, NULL, in[0], zero, NULL); /* 15, and five ones */
    out[1] = one_of(s, join_left, NULL, in[0], gantry_scalar_f32(s, 9), NULL);
    (void)gantry_reduce_with_body(s, both, zeros, 2, join_left_twice, NULL, NULL, out + 2);
    out[4] = one_of(s, join_in_a_branch, NULL, in[0], zero, NULL);
    out[5] = one_of(s, join_in_a_body, NULL, in[0], zero, NULL);
    outside = in[1];
    out[6] = one_of(s, join_what_is_outside, NULL,
                    gantry_slice(s, in[0], (int64_t[]){0}, (int64_t[]){1}), zero,
                    &(gantry_reduce_body_options_t){
                        .struct_size = sizeof(gantry_reduce_body_options_t), .keep_dims = true});
}

static void expect_bodies(tensor *const *out) {
    EXPECT_F32(out[0], 20);
    EXPECT_F32(out[1], 9);
    EXPECT_F32(out[2], 0);
    EXPECT_F32(out[3], 0);
    EXPECT_F32(out[4], 15);
    EXPECT_F32(out[5], 15);
    EXPECT_F32(out[6], 77);
}

TEST(bodies_use_what_is_there) {
    const gantry_input_spec_t specs[] = {SPEC_F32(5), SPEC_F32(1)};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *in[] = {F32(s, 1, 2, 3, 4, 5), F32(s, 77)}, *out[7];
    run_bodies(s, in, out, NULL);
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
    expect_bodies(out);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, run_bodies, NULL, specs, 2, 7, NULL);
    function_fixture_call(s, function, in, 2, out, 7);
    expect_bodies(out);
    gantry_function_release(function);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* ---- open sizes ---- */

static gantry_status_t call_open(runtime_fixture_t *f, gantry_scope_t *s, gantry_shape_t open,
                                 gantry_shape_t shape, const gantry_reduce_body_options_t *reduce,
                                 const gantry_reduce_options_t *same) {
    join_call_t call = {.body = join_add, .count = 1, .reduce = reduce};
    const gantry_input_spec_t specs[] = {{NULL, GANTRY_FLOAT32, open}, SCALAR_SPEC};
    gantry_function_t *function;
    tensor *in[] = {join_numbers(s, GANTRY_FLOAT32, shape), gantry_scalar_f32(s, 0)}, *out;
    GANTRY__TRY(
        gantry_function_trace(f->runtime, "open", join_run, &call, specs, 2, 1, NULL, &function));
    const gantry_status_t status = gantry_function_call(s, function, in, 2, &out, 1);
    if (status == GANTRY_OK) join_expect_equal(s, out, gantry_sum(s, in[0], same));
    gantry_function_release(function);
    return status;
}

#define OPEN GANTRY_OPEN_SIZE

TEST(a_scalar_is_one_element) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *x = gantry_scalar_f32(s, 3), *init = gantry_scalar_f32(s, 4), *out;
    EXPECT_F32(one_of(s, join_add, NULL, x, init, NULL), 7);
    (void)gantry_reduce_window_with_body(s, &x, &init, 1, join_add, NULL, NULL, NULL, &out);
    EXPECT_F32(out, 7);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(open_sizes_of_kept_axes_are_joined) {
    static const int32_t one[] = {1}, zero[] = {0};
    const gantry_reduce_body_options_t axis = {
        .struct_size = sizeof axis, .axes = one, .axis_count = 1};
    const gantry_reduce_body_options_t kept = {
        .struct_size = sizeof kept, .axes = one, .axis_count = 1, .keep_dims = true};
    const gantry_reduce_body_options_t first = {
        .struct_size = sizeof first, .axes = zero, .axis_count = 1};
    const gantry_reduce_options_t over = {.struct_size = sizeof over, .axes = one, .axis_count = 1};
    const gantry_reduce_options_t keep = {
        .struct_size = sizeof keep, .axes = one, .axis_count = 1, .keep_dims = true};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    assert_int_equal(call_open(&f, s, GANTRY_SHAPE(OPEN, 70), GANTRY_SHAPE(3, 70), &axis, &over),
                     GANTRY_OK);
    assert_int_equal(
        call_open(&f, s, GANTRY_SHAPE(OPEN, 9000), GANTRY_SHAPE(3, 9000), &kept, &keep), GANTRY_OK);
    assert_int_equal(
        call_open(&f, s, GANTRY_SHAPE(OPEN, 70, OPEN), GANTRY_SHAPE(3, 70, 2), &kept, &keep),
        GANTRY_OK);
    static const int32_t fourth[] = {4};
    const gantry_reduce_body_options_t deep = {
        .struct_size = sizeof deep, .axes = fourth, .axis_count = 1};
    const gantry_reduce_options_t as_deep = {
        .struct_size = sizeof as_deep, .axes = fourth, .axis_count = 1};
    assert_int_equal(call_open(&f, s, GANTRY_SHAPE(OPEN, 1, 2, 1, 9000, 1, 1, 2),
                               GANTRY_SHAPE(3, 1, 2, 1, 9000, 1, 1, 2), &deep, &as_deep),
                     GANTRY_OK);
    expect_refusal(call_open(&f, s, GANTRY_SHAPE(OPEN, 70), GANTRY_SHAPE(3, 70), &first, &over),
                   GANTRY_UNIMPLEMENTED, "the size of axis 0 is open; a size that is known");
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

typedef struct several_open_t {
    gantry_shape_t open, given;
    int32_t axes[3];
    size_t axis_count;
} several_open_t;

#define RANK_3(a, b, c) \
    {                   \
        3, { a, b, c, } \
    }
#define RANK_4(a, b, c, d) \
    {                      \
        4, { a, b, c, d, } \
    }

static const several_open_t several_open[] = {
    {RANK_3(OPEN, 70, OPEN), RANK_3(3, 70, 2), {1}, 1},
    {RANK_4(OPEN, 30, OPEN, 50), RANK_4(2, 30, 3, 50), {1, 3}, 2},
    {RANK_4(5, OPEN, 30, OPEN), RANK_4(5, 2, 30, 3), {2, 0}, 2},
    {{7, {OPEN, OPEN, 1, 1, 9000, 1, 1}}, {7, {2, 2, 1, 1, 9000, 1, 1}}, {4}, 1},
    {{8, {OPEN, 1, OPEN, 1, 9, 1, 1, 5}}, {8, {2, 1, 3, 1, 9, 1, 1, 5}}, {4, 1, 7}, 3},
    {RANK_3(OPEN, 9, OPEN), RANK_3(2, 9, 0), {1}, 1},
    {RANK_3(OPEN, 9, 0), RANK_3(2, 9, 0), {1}, 1},
    {RANK_3(OPEN, 0, 7), RANK_3(2, 0, 7), {1}, 1},
    {RANK_4(OPEN, 0, OPEN, 7), RANK_4(2, 0, 3, 7), {1, 3}, 2},
};

/* Traced with open sizes, and with known ones. */
static void expect_as_known(runtime_fixture_t *f, gantry_scope_t *s, const several_open_t *at,
                            bool keep_dims, bool in_order) {
    const gantry_reduce_body_options_t options = {.struct_size = sizeof options,
                                                  .axes = at->axes,
                                                  .axis_count = at->axis_count,
                                                  .keep_dims = keep_dims,
                                                  .in_order = in_order};
    const join_call_t call = {.body = join_add, .count = 1, .reduce = &options};
    const gantry_input_spec_t specs[] = {{NULL, GANTRY_FLOAT32, at->open}, SCALAR_SPEC};
    tensor *in[] = {join_numbers(s, GANTRY_FLOAT32, at->given), gantry_scalar_f32(s, 0.3f)};
    tensor *known, *out;
    gantry_function_t *function =
        function_fixture_trace(f->runtime, join_run, (void *)&call, specs, 2, 1, NULL);
    join_in_function(s, join_run, &call, in, 2, 1, -1, &known);
    function_fixture_call(s, function, in, 2, &out, 1);
    join_expect_equal(s, out, known);
    gantry_function_release(function);
}

TEST(several_open_sizes_are_joined_as_known_ones) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    for (size_t i = 0; i < sizeof several_open / sizeof several_open[0]; ++i)
        for (int options = 0; options < 4; ++options)
            expect_as_known(&f, s, &several_open[i], options & 1, options & 2);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* ---- memory ---- */

TEST(functions_take_memory_for_a_part) {
    const gantry_input_spec_t specs[] = {SPEC_F32(1 << 18), SCALAR_SPEC};
    const gantry_reduce_body_options_t all = {.struct_size = sizeof all};
    const join_call_t call = {.body = join_add, .count = 1, .reduce = &all};
    static char text[1 << 20];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, join_run, (void *)&call, specs, 2, 1, NULL);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, text, sizeof text, NULL), GANTRY_OK);
    const char *planned = strstr(text, "\"planned_bytes\":");
    assert_non_null(planned);
    assert_in_range(strtoll(planned + strlen("\"planned_bytes\":"), NULL, 10), 1, 1 << 17);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- bad input ---- */

JOIN_BODY(widen) {
    (void)user;
    out[0] = gantry_expand_dims(s, in[0], 0);
}

JOIN_BODY(cast) {
    (void)user;
    out[0] = gantry_cast(s, in[0], GANTRY_FLOAT64);
}

JOIN_BODY(fail) {
    (void)in, (void)out, (void)user;
    (void)gantry_scope_fail(s, GANTRY_OUT_OF_RANGE, "the body's own words");
}

JOIN_BODY(end_it) {
    (void)in, (void)user;
    (void)gantry_scope_end(s);
    out[0] = in[0];
}

typedef struct join_bad_t {
    gantry_function_body_fn body;
    int32_t axes[2];
    size_t axis_count;
    bool is_window;
    int64_t window, stride, low;
    size_t count;
    gantry_status_t status;
    const char *text;
} join_bad_t;

#define BAD GANTRY_INVALID_ARGUMENT

static const join_bad_t bad_calls[] = {
    {NULL, {0}, 1, false, 0, 0, 0, 1, BAD, "gantry_reduce_with_body: body is NULL"},
    {join_add, {0}, 1, false, 0, 0, 0, 0, BAD, "0 operands; 1 to 32 are accepted"},
    {join_add, {0}, 1, false, 0, 0, 0, 33, BAD, "33 operands; 1 to 32 are accepted"},
    {join_add, {2}, 1, false, 0, 0, 0, 1, BAD, "axes[0] is 2; -2 to 1 are accepted for rank 2"},
    {join_add, {1, -1}, 2, false, 0, 0, 0, 1, BAD, "axes[1] is -1, which is axis 1 again"},
    {join_widen, {0}, 1, false, 0, 0, 0, 1, BAD, "body sets output 0 to float32[1,1,3]; float32["},
    {join_cast, {0}, 1, false, 0, 0, 0, 1, BAD, "body sets output 0 to float64["},
    {setting_nothing, {0}, 1, false, 0, 0, 0, 1, BAD, "body does not set output 0"},
    {join_fail, {0}, 1, false, 0, 0, 0, 1, GANTRY_OUT_OF_RANGE, "the body's own words"},
    {join_end_it, {0}, 1, false, 0, 0, 0, 1, GANTRY_FAILED_PRECONDITION, "a body ends a scope"},
    {join_add, {0}, 1, true, 0, 1, 0, 1, BAD, "gantry_reduce_window_with_body: window[1] is 0"},
    {join_add, {0}, 1, true, 1, -1, 0, 1, BAD, "strides[1] is -1; 1 to 2147483648 are accepted"},
    {join_add, {0}, 1, true, 1, 1, -9, 1, BAD, "the paddings of axis 1, -9 and 0, remove more"},
};

static void run_bad(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const join_bad_t *bad = user;
    const int64_t window[] = {1, bad->window}, strides[] = {1, bad->stride};
    const int64_t paddings[] = {0, 0, bad->low, 0};
    const gantry_reduce_body_options_t reduce = {
        .struct_size = sizeof reduce, .axes = bad->axes, .axis_count = bad->axis_count};
    const gantry_window_body_options_t options = {
        .struct_size = sizeof options, .strides = strides, .paddings = paddings};
    tensor *init = gantry_scalar_f32(s, 0);
    tensor *operands[33], *inits[33], *made[33];
    for (size_t i = 0; i < 33; ++i) operands[i] = made[i] = in[0], inits[i] = init;
    if (bad->is_window)
        (void)gantry_reduce_window_with_body(s, operands, inits, bad->count, bad->body, NULL,
                                             window, &options, made);
    else
        (void)gantry_reduce_with_body(s, operands, inits, bad->count, bad->body, NULL, &reduce,
                                      made);
    for (size_t i = 0; i < bad->count; ++i) assert_null(made[i]);
    out[0] = in[0];
}

TEST(wrong_use_is_refused) {
    const gantry_input_spec_t spec = SPEC_F32(2, 3);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    const float values[6] = {0};
    tensor *x = gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values), *y;
    for (size_t i = 0; i < sizeof bad_calls / sizeof bad_calls[0]; ++i) {
        gantry_function_t *function;
        run_bad(s, &x, &y, (void *)&bad_calls[i]);
        expect_scope_failure(s, bad_calls[i].status, bad_calls[i].text);
        expect_refusal(gantry_function_trace(f.runtime, "bad", run_bad, (void *)&bad_calls[i],
                                             &spec, 1, 1, NULL, &function),
                       bad_calls[i].status, bad_calls[i].text);
    }
    tensor *operands[] = {x, gantry_reshape(s, x, GANTRY_SHAPE(3, 2))}, *two[2], *inits[] = {x, x};
    (void)gantry_reduce_with_body(s, operands, inits, 2, join_left_twice, NULL, NULL, two);
    expect_scope_failure(s, BAD, "operand 1 has shape [3,2]; [2,3] is accepted, as operand 0 has");
    (void)gantry_reduce_with_body(s, operands, inits, 1, join_add, NULL, NULL, two);
    expect_scope_failure(s, BAD, "init 0 is float32[2,3]; a scalar of operand 0's type, float32");
    tensor *scalar = gantry_scalar_f32(s, 1);
    (void)gantry_scan_with_body(s, &scalar, NULL, 1, 0, join_add, NULL, NULL, two);
    expect_scope_failure(s, BAD, "axis is 0; none is accepted, because a scalar has no axes");
    (void)gantry_scope_end(s);
    runtime_fixture_close(&f);
}

static gantry_status_t joined_program(gantry_scope_t *s) {
    const float values[70] = {1};
    tensor *x = gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(70), values, sizeof values);
    tensor *init = gantry_scalar_f32(s, 0), *out = NULL;
    const gantry_window_body_options_t steps = {.struct_size = sizeof steps,
                                                .paddings = (int64_t[]){1, 1}};
    (void)one_of(s, join_add, NULL, x, init, NULL);
    return gantry_reduce_window_with_body(s, &x, &init, 1, join_add, NULL, (int64_t[]){3}, &steps,
                                          &out);
}

TEST(calls_without_memory_leak_nothing) { runtime_fixture_starve_each(0, "CPU:0", joined_program); }

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
