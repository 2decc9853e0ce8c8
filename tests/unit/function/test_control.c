/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Branches and loops give the same values when they run at once and in a function, with
 * tensors and variables from outside, one inside the other, on both devices. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

typedef struct control_case_t {
    const char *device;
    bool is_eager;
} control_case_t;

static const control_case_t cases[] = {
    {"CPU:0", true}, {"CPU:0", false}, {"GPU:0", true}, {"GPU:0", false}};

#define EACH_CASE(c) \
    for (const control_case_t *c = cases; c < cases + sizeof cases / sizeof cases[0]; ++c)

static gantry_function_t *trace(runtime_fixture_t *f, const control_case_t *c,
                                gantry_function_body_fn body, void *user,
                                const gantry_input_spec_t *inputs, size_t input_count,
                                size_t output_count) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = c->is_eager};
    return function_fixture_trace(f->runtime, body, user, inputs, input_count, output_count,
                                  &options);
}

/* ---- branches ---- */

static void double_it(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
}

static void square_it(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_mul(scope, inputs[0], inputs[0]);
}

static void keep_it(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)scope;
    (void)user;
    outputs[0] = inputs[0];
}

/* |x| < 3 elementwise is not asked: the sum decides. */
static void choosing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *sum = gantry_sum(scope, inputs[0], NULL);
    const gantry_tensor_t *is_small = gantry_less(scope, sum, gantry_scalar_f32(scope, 10));
    (void)gantry_cond(scope, is_small, double_it, square_it, NULL, inputs, 1, outputs, 1);
    outputs[0] = gantry_add(scope, outputs[0], inputs[0]);
}

TEST(predicate_chooses_the_body) {
    const gantry_input_spec_t input = SPEC_F32(2);
    EACH_CASE(c) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_function_t *function = trace(&f, c, choosing, NULL, &input, 1, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, c->device);
        const gantry_tensor_t *small = F32(scope, 1, 2), *large = F32(scope, 8, 9), *got;
        function_fixture_call(scope, function, &small, 1, &got, 1);
        EXPECT_F32(got, 3, 6);
        function_fixture_call(scope, function, &large, 1, &got, 1);
        EXPECT_F32(got, 72, 90);
        expect_ended_well(scope);
        gantry_function_release(function);
        runtime_fixture_close(&f);
    }
}

static void switching(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    static const gantry_function_body_fn bodies[] = {double_it, square_it, keep_it};
    (void)gantry_case(scope, inputs[1], bodies, 3, user, inputs, 1, outputs, 1);
}

TEST(index_chooses_the_body) {
    const gantry_input_spec_t inputs[] = {SPEC_F32(2), SPEC_I32(1)};
    EACH_CASE(c) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_function_t *function = trace(&f, c, switching, NULL, inputs, 2, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, c->device);
        const float first[] = {10, 25, 5, 5, 5}; /* beyond the bodies: the last one */
        const int32_t indices[] = {0, 1, 2, 3, -1};
        for (size_t i = 0; i < 5; ++i) {
            const gantry_tensor_t *given[] = {F32(scope, 5, 1), I32(scope, indices[i])}, *got;
            function_fixture_call(scope, function, given, 2, &got, 1);
            float values[2];
            assert_int_equal(gantry_tensor_read(got, values, sizeof values), GANTRY_OK);
            assert_true(values[0] >= first[i] && values[0] <= first[i]);
        }
        expect_ended_well(scope);
        gantry_function_release(function);
        runtime_fixture_close(&f);
    }
}

/* ---- loops ---- */

typedef struct outside_t {
    const gantry_tensor_t *step; /* of the function that is traced */
    const gantry_tensor_t *limit;
    gantry_variable_t *count;
} outside_t;

static void is_below(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const outside_t *outside = user;
    outputs[0] = gantry_less(scope, gantry_sum(scope, inputs[0], NULL), outside->limit);
}

static void add_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const outside_t *outside = user;
    outputs[0] = gantry_add(scope, inputs[0], outside->step);
    outputs[1] = inputs[0]; /* the value before */
    (void)gantry_variable_assign_add(scope, outside->count, gantry_scalar_f32(scope, 1));
}

/* The body uses a value of the outer trace, a tensor from outside, and a variable. */
static void counting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    outside_t *outside = user;
    outside->step = gantry_mul(scope, inputs[1], inputs[1]);
    const gantry_tensor_t *values[] = {inputs[0], inputs[0]};
    (void)gantry_while(scope, is_below, add_step, outside, values, 2, NULL, outputs);
    outputs[2] = gantry_variable_read(scope, outside->count);
}

TEST(loop_runs_until_its_condition_is_false) {
    const gantry_input_spec_t inputs[] = {SPEC_F32(2), SPEC_F32(2)};
    EACH_CASE(c) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, c->device);
        outside_t outside = {
            .limit = gantry_scalar_f32(scope, 20),
            .count = gantry_variable_create(scope, gantry_scalar_f32(scope, 0), "count")};
        gantry_function_t *function = trace(&f, c, counting, &outside, inputs, 2, 3);
        for (float round = 1; round < 3; ++round) {
            const gantry_tensor_t *given[] = {F32(scope, 0, 1), F32(scope, 2, 1)}, *got[3];
            function_fixture_call(scope, function, given, 2, got, 3);
            EXPECT_F32(got[0], 16, 5); /* 1, 6, 11, 16, 21: four steps */
            EXPECT_F32(got[1], 12, 4);
            EXPECT_F32(got[2], 4 * round);
        }
        gantry_function_release(function);
        gantry_variable_release(outside.count);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* ---- rows that a loop writes ---- */

enum { ROWS = 40, COLUMNS = 64, BYTES = ROWS * COLUMNS * 4 };

static void has_rows(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, inputs[0], gantry_scalar_i32(scope, ROWS));
}

/* Row i becomes i in each column. */
static void put_row(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *row = gantry_reshape(scope, inputs[0], GANTRY_SHAPE(1, 1));
    const gantry_tensor_t *value = gantry_cast(scope, row, GANTRY_FLOAT32);
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 1));
    outputs[1] = gantry_tensor_scatter_update(
        scope, inputs[1], row, gantry_broadcast_to(scope, value, GANTRY_SHAPE(1, COLUMNS)));
}

/* The value with which the loop begins is a result, too. */
static void filling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *first = gantry_neg(scope, inputs[0]),
                          *values[] = {gantry_scalar_i32(scope, 0), first}, *got[2];
    if (gantry_while(scope, has_rows, put_row, user, values, 2, NULL, got) != GANTRY_OK) return;
    outputs[0] = got[1];
    outputs[1] = first;
}

static void expect_rows(const gantry_tensor_t *got, float factor, float otherwise) {
    static float values[ROWS * COLUMNS];
    assert_int_equal(gantry_tensor_read(got, values, sizeof values), GANTRY_OK);
    for (size_t i = 0; i < ROWS * COLUMNS; ++i)
        assert_true(values[i] == factor * (float)(i / COLUMNS) + otherwise);
}

/* In place: beside the first value there is one other, which the first step copies. */
TEST(loops_write_rows_in_place) {
    const gantry_input_spec_t input = SPEC_F32(ROWS, COLUMNS);
    EACH_CASE(c) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_memory_info_t info = {.struct_size = sizeof info};
        uint64_t taken = 0;
        gantry_function_t *function = trace(&f, c, filling, NULL, &input, 1, 2);
        gantry_scope_t *scope = runtime_fixture_scope(&f, c->device);
        for (int round = 0; round < 2; ++round) {
            const gantry_tensor_t *given = gantry_fill(scope, GANTRY_SHAPE(ROWS, COLUMNS),
                                                       gantry_scalar_f32(scope, -7)),
                                  *got[2];
            assert_int_equal(gantry_reset_memory_stats(f.runtime, c->device), GANTRY_OK);
            assert_int_equal(gantry_get_memory_info(f.runtime, c->device, &info), GANTRY_OK);
            taken = info.current_bytes;
            function_fixture_call(scope, function, &given, 1, got, 2);
            assert_int_equal(gantry_get_memory_info(f.runtime, c->device, &info), GANTRY_OK);
            taken = info.peak_bytes - taken;
            expect_rows(got[0], 1, 0);
            expect_rows(got[1], 0, 7);
            expect_rows(given, 0, -7);
        }
        /* the fake GPU has no such kernel: the CPU runs the loop */
        if (!c->is_eager && c->device[0] == 'C') assert_in_range(taken, 2 * BYTES, 3 * BYTES - 1);
        expect_ended_well(scope);
        gantry_function_release(function);
        runtime_fixture_close(&f);
    }
}

static void is_early(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, inputs[0], gantry_scalar_i32(scope, 3));
}

/* The kernels on the CPU may not write over their operands, which the step uses later. */
static void double_and_keep(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "CPU:0"),
                   *gpu = gantry_scope_begin_in(scope, "GPU:0");
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 1));
    outputs[1] = gantry_scope_keep(cpu, gantry_add(cpu, inputs[1], inputs[1]));
    outputs[2] = inputs[1];
    outputs[3] = gantry_scope_keep(cpu, gantry_add(cpu, inputs[3], inputs[3]));
    outputs[4] = gantry_scope_keep(gpu, gantry_add(gpu, inputs[3], inputs[4]));
    (void)gantry_scope_end(gpu);
    (void)gantry_scope_end(cpu);
}

static void doubling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *first = gantry_neg(scope, inputs[0]),
                          *second = gantry_neg(scope, inputs[1]),
                          *values[] = {gantry_scalar_i32(scope, 0), first, second, first, second};
    (void)gantry_while(scope, is_early, double_and_keep, user, values, 5, NULL, outputs);
}

/* Without early copies, a step takes an argument where it uses it: once for a kernel, and later for
 * a result or another device. */
TEST(a_step_keeps_a_value_that_it_uses_again) {
    const gantry_input_spec_t inputs[] = {SPEC_F32(ROWS, COLUMNS), SPEC_F32(ROWS, COLUMNS)};
    const uint32_t early = GANTRY_PASS_EARLY_COPIES, in_place = GANTRY_PASS_IN_PLACE,
                   off[] = {0, early, in_place, GANTRY_PASS_ALL & ~in_place, GANTRY_PASS_ALL};
    for (uint32_t gpus = 0; gpus < 2; ++gpus) {
        for (size_t i = 0; i < sizeof off / sizeof off[0]; ++i) {
            const gantry_function_options_t options = {.struct_size = sizeof options,
                                                       .passes_off = off[i]};
            const gantry_tensor_t *given[2], *got[5];
            runtime_fixture_t f;
            runtime_fixture_open(&f, gpus);
            gantry_function_t *function =
                function_fixture_trace(f.runtime, doubling, NULL, inputs, 2, 5, &options);
            gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
            for (int round = 0; round < 2; ++round) {
                for (int k = 0; k < 2; ++k)
                    given[k] = gantry_fill(scope, GANTRY_SHAPE(ROWS, COLUMNS),
                                           gantry_scalar_f32(scope, k ? 0 : -1));
                function_fixture_call(scope, function, given, 2, got, 5);
                expect_rows(got[1], 0, 8);
                expect_rows(got[2], 0, 4);
                expect_rows(got[3], 0, 8);
                expect_rows(got[4], 0, 7); /* 1 + 2 + 4 */
            }
            expect_ended_well(scope);
            gantry_function_release(function);
            runtime_fixture_close(&f);
        }
    }
}

/* ---- one inside the other ---- */

static void is_positive(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_greater(scope, inputs[0], gantry_scalar_f32(scope, 0));
}

static void add_outer(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_add(scope, inputs[0], user);
}

/* Even counts add the captured tensor, odd ones square: through two levels. */
static void alternate(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *half = gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, 0.5f));
    const gantry_tensor_t *is_even = gantry_equal(scope, gantry_floor(scope, half), half);
    outputs[0] = gantry_sub(scope, inputs[0], gantry_scalar_f32(scope, 1));
    (void)gantry_cond(scope, is_even, add_outer, square_it, user, &inputs[1], 1, &outputs[1], 1);
}

static void nesting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *outer = gantry_add(scope, inputs[1], inputs[1]), *results[2];
    void *captured;
    memcpy(&captured, &outer, sizeof captured);
    (void)gantry_while(scope, is_positive, alternate, captured, inputs, 2, NULL, results);
    outputs[0] = results[1];
}

TEST(blocks_nest_and_capture_through_levels) {
    const gantry_input_spec_t inputs[] = {SPEC_F32(1), SPEC_F32(1)};
    EACH_CASE(c) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_function_t *function = trace(&f, c, nesting, NULL, inputs, 2, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, c->device);
        const gantry_tensor_t *given[] = {F32(scope, 4), F32(scope, 1)}, *got;
        function_fixture_call(scope, function, given, 2, &got, 1);
        EXPECT_F32(got, 121); /* 1 + 2, 3 * 3, 9 + 2, 11 * 11 */
        expect_ended_well(scope);
        gantry_function_release(function);
        runtime_fixture_close(&f);
    }
}

/* ---- errors ---- */

static void grow(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *both[] = {inputs[0], inputs[0]};
    outputs[0] = gantry_concat(scope, both, 2, 0);
}

static void always(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_equal(scope, inputs[0], inputs[0]);
}

static void growing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    (void)gantry_while(scope, always, grow, NULL, inputs, 1, NULL, outputs);
}

static void endless(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_while_options_t options = {.struct_size = sizeof options, .most_steps = 5};
    (void)user;
    (void)gantry_while(scope, always, double_it, NULL, inputs, 1, &options, outputs);
}

static gantry_status_t trace_and_call(runtime_fixture_t *f, const control_case_t *c,
                                      gantry_function_body_fn body) {
    const gantry_input_spec_t input = SPEC_F32(1);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = c->is_eager};
    gantry_function_t *function;
    const gantry_tensor_t *got;
    GANTRY__TRY(
        gantry_function_trace(f->runtime, "f", body, NULL, &input, 1, 1, &options, &function));
    gantry_scope_t *scope = runtime_fixture_scope(f, c->device);
    const gantry_tensor_t *given = F32(scope, 1);
    (void)gantry_function_call(scope, function, &given, 1, &got, 1);
    gantry_status_t status = gantry_scope_end(scope);
    gantry_function_release(function);
    return status;
}

TEST(loops_that_change_shapes_or_never_end_are_refused) {
    EACH_CASE(c) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        assert_int_equal(trace_and_call(&f, c, growing), GANTRY_INVALID_ARGUMENT);
        assert_non_null(strstr(
            gantry_last_message(),
            "While: body sets output 0 to float32[2]; float32[1] is accepted, as the loop's variable has"));
        assert_int_equal(trace_and_call(&f, c, endless), GANTRY_OUT_OF_RANGE);
        assert_non_null(strstr(gantry_last_message(), "the loop takes more than most_steps, 5"));
        if (!c->is_eager)
            assert_non_null(strstr(gantry_last_message(), " (While) of float32[1] on /device:"));
        runtime_fixture_close(&f);
    }
}

/* ---- values from outside ---- */

enum { OUTSIDE = 300 }; /* more than a block may be given */

typedef struct many_outside_t {
    gantry_variable_t *variable;
    const gantry_tensor_t *tensors[OUTSIDE];
} many_outside_t;

static void sum_outside(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const many_outside_t *outside = user;
    outputs[0] = inputs[0];
    for (int i = 0; i < OUTSIDE; ++i)
        outputs[0] = gantry_add(scope, outputs[0], outside->tensors[i]);
}

static void use_many(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    many_outside_t *outside = user;
    for (int i = 0; i < OUTSIDE; ++i)
        outside->tensors[i] =
            gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, (float)(i % 2)));
    (void)gantry_cond(scope, gantry_less(scope, inputs[0], gantry_scalar_f32(scope, 3)),
                      sum_outside, keep_it, user, inputs, 1, outputs, 1);
}

TEST(bodies_use_as_many_tensors_from_outside_as_they_like) {
    EACH_CASE(c) {
        runtime_fixture_t f;
        many_outside_t outside;
        runtime_fixture_open(&f, 1);
        const gantry_input_spec_t input = SPEC_F32(1);
        gantry_function_t *function = trace(&f, c, use_many, &outside, &input, 1, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, c->device);
        const gantry_tensor_t *given = F32(scope, 2), *got;
        function_fixture_call(scope, function, &given, 1, &got, 1);
        EXPECT_F32(got, 2 + 2 * OUTSIDE / 2);
        expect_ended_well(scope);
        gantry_function_release(function);
        runtime_fixture_close(&f);
    }
}

/* The one output of 20 ops that the block's assignment must follow. */
static void assign_after(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    const many_outside_t *outside = user;
    gantry_scope_t *after = gantry_scope_begin_after(scope, outside->tensors, 1);
    assert_int_equal(gantry_variable_assign(after, outside->variable, inputs[0]), GANTRY_OK);
    outputs[0] = gantry_scope_keep(after, gantry_neg(after, inputs[0]));
    assert_int_equal(gantry_scope_end(after), GANTRY_OK);
}

static void waiting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    many_outside_t *outside = user;
    const gantry_tensor_t *at = inputs[0];
    for (int i = 0; i < 20; ++i) at = gantry_reverse(scope, at, (const int32_t[]){0}, 1);
    outside->tensors[0] = at;
    const gantry_tensor_t *sum = gantry_sum(scope, inputs[0], NULL);
    (void)gantry_cond(scope, gantry_less(scope, sum, gantry_scalar_f32(scope, 9)), assign_after,
                      keep_it, user, inputs, 1, outputs, 1);
}

TEST(bodies_wait_for_tensors_from_outside) {
    EACH_CASE(c) {
        runtime_fixture_t f;
        many_outside_t outside;
        runtime_fixture_open(&f, 1);
        const gantry_input_spec_t input = SPEC_F32(2);
        gantry_scope_t *scope = runtime_fixture_scope(&f, c->device);
        outside.variable = gantry_variable_create(scope, F32(scope, 7, 7), "v");
        gantry_function_t *function = trace(&f, c, waiting, &outside, &input, 1, 1);
        const gantry_tensor_t *given = F32(scope, 2, 3), *got;
        function_fixture_call(scope, function, &given, 1, &got, 1);
        EXPECT_F32(got, -2, -3);
        EXPECT_F32(gantry_variable_read(scope, outside.variable), 2, 3);
        expect_ended_well(scope);
        gantry_function_release(function);
        gantry_variable_release(outside.variable);
        runtime_fixture_close(&f);
    }
}

/* ---- memory that runs out ---- */

TEST(nothing_leaks_when_memory_runs_out) {
    const control_case_t both[] = {{"GPU:0", true}, {"GPU:0", false}};
    for (size_t k = 0; k < 2; ++k) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        long failed = 0;
        assert_int_equal(trace_and_call(&f, &both[k], choosing), GANTRY_OK);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
        for (long n = 0;; ++n) {
            const gantry_input_spec_t inputs[] = {SPEC_F32(1), SPEC_F32(1)};
            const gantry_function_options_t options = {.struct_size = sizeof options,
                                                       .runs_eagerly = both[k].is_eager};
            const gantry_tensor_t *given[] = {F32(scope, 2), F32(scope, 1)}, *got;
            gantry_function_t *function = NULL;
            runtime_fixture_starve(&f, n);
            gantry_status_t status = gantry_function_trace(f.runtime, "f", nesting, NULL, inputs, 2,
                                                           1, &options, &function);
            if (status == GANTRY_OK)
                status = gantry_function_call(scope, function, given, 2, &got, 1);
            f.heap.inner.fail_at = -1;
            gantry_function_release(function);
            gantry_scope_clear(scope);
            if (status == GANTRY_OK) break;
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            assert_in_range(++failed, 1, 2000);
        }
        assert_in_range(failed, 10, 2000);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

static void dropping_its_inputs(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_sub(scope, inputs[0], inputs[1]);
    gantry_tensor_drop(scope, inputs[0]);
    gantry_tensor_drop(scope, inputs[1]);
    for (int i = 0; i < 4; ++i) outputs[0] = gantry_neg(scope, outputs[0]); /* in their memory */
}

static void branching_to_dropping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                  const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *is_low =
        gantry_less(scope, gantry_sum(scope, inputs[0], NULL), gantry_scalar_f32(scope, 0));
    (void)gantry_cond(scope, is_low, dropping_its_inputs, dropping_its_inputs, user, inputs, 2,
                      outputs, 1);
}

TEST(a_body_may_drop_its_inputs) {
    const gantry_input_spec_t inputs[2] = {SPEC_F32(2), SPEC_F32(2)};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, branching_to_dropping, NULL, inputs, 2, 1, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *const x[2] = {F32(scope, 3, 4), F32(scope, 1, 1)}, *y;
    function_fixture_call(scope, function, x, 2, &y, 1);
    EXPECT_F32(y, 2, 3);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
