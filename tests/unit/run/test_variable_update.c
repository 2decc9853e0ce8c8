/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Ops update variables at once and in functions, with TensorFlow's numbers, and in place
 * where nobody holds the value.
 * Promise: An update of a variable overwrites a value that nobody else holds, and no other, and the
 * updates of two threads both count. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <stdatomic.h>

#include "device/buffer.h"
#include "function_fixture.h"
#include "run/tensor_state.h"
#include "test.h"

enum { MANY = 5000 };

static const char *const homes[] = {"CPU:0", "GPU:0"};

static gantry_variable_t *make_variable(gantry_scope_t *scope, const gantry_tensor_t *initial,
                                        const char *name) {
    gantry_variable_t *variable = gantry_variable_create(scope, initial, name);
    if (!variable) fail_msg("%s", gantry_scope_message(scope));
    return variable;
}

static void release_all(gantry_variable_t *const *variables, size_t count) {
    for (size_t i = 0; i < count; ++i) gantry_variable_release(variables[i]);
}

#define UPDATE(scope, op, variables, inputs)                                                       \
    gantry_variable_update(scope, op, variables, sizeof(variables) / sizeof(variables)[0], inputs, \
                           sizeof(inputs) / sizeof(inputs)[0], NULL, 0)

static void expect_near(const gantry_tensor_t *tensor, size_t count, const float *values) {
    float got[64];
    assert_non_null(tensor);
    assert_in_range(count, 1, 64);
    if (gantry_tensor_read(tensor, got, count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) assert_float_equal(got[i], values[i], 2e-6f);
}

/* ---- Adam ---- */

/* Of tf.raw_ops.ResourceApplyAdam: var, m and v after one step and after two. */
static const float adam_first[3][4] = {{1, 2, 3, 4}, {0}, {0}};
static const float adam_one[3][4] = {{0.990196049f, 2.00990105f, 2.99004984f, 4},
                                     {0.0500000119f, -0.100000024f, 0.200000048f, 0},
                                     {0.00249999762f, 0.00999999046f, 0.0399999619f, 0}};
static const float adam_two[3][4] = {{0.976915598f, 2.0232749f, 2.97662878f, 4},
                                     {0.0950000212f, -0.190000042f, 0.380000085f, 0},
                                     {0.00497499527f, 0.0198999811f, 0.0795999244f, 0}};

typedef struct adam_t {
    gantry_variable_t *variables[3]; /* var, m, v */
} adam_t;

static adam_t make_adam(gantry_scope_t *scope) {
    static const char *const names[] = {"w", "w/m", "w/v"};
    adam_t adam;
    for (size_t i = 0; i < 3; ++i)
        adam.variables[i] = make_variable(scope, make_f32(scope, 4, adam_first[i]), names[i]);
    return adam;
}

static gantry_status_t step(gantry_scope_t *scope, const adam_t *adam,
                            const gantry_tensor_t *gradient) {
    const gantry_tensor_t *const inputs[] = {gantry_scalar_f32(scope, 0.9f),
                                             gantry_scalar_f32(scope, 0.99f),
                                             gantry_scalar_f32(scope, 0.01f),
                                             gantry_scalar_f32(scope, 0.9f),
                                             gantry_scalar_f32(scope, 0.99f),
                                             gantry_scalar_f32(scope, 0.001f),
                                             gradient};
    return UPDATE(scope, "ResourceApplyAdam", adam->variables, inputs);
}

static void expect_adam(gantry_scope_t *scope, const adam_t *adam, const float (*values)[4]) {
    for (size_t i = 0; i < 3; ++i)
        expect_near(gantry_variable_read(scope, adam->variables[i]), 4, values[i]);
}

TEST(steps_give_tensorflows_numbers) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        const adam_t adam = make_adam(scope);
        const gantry_tensor_t *gradient = F32(scope, 0.5f, -1, 2, 0);
        assert_int_equal(step(scope, &adam, gradient), GANTRY_OK);
        expect_adam(scope, &adam, adam_one);
        assert_int_equal(step(scope, &adam, gradient), GANTRY_OK);
        expect_adam(scope, &adam, adam_two);
        release_all(adam.variables, 3);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* ---- in a function ---- */

static void stepping_twice(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    const adam_t *adam = user;
    outputs[0] = gantry_variable_read(scope, adam->variables[0]);
    (void)step(scope, adam, inputs[0]);
    outputs[1] = gantry_variable_read(scope, adam->variables[0]);
    (void)step(scope, adam, inputs[0]);
    outputs[2] = gantry_variable_read(scope, adam->variables[0]);
}

TEST(steps_in_a_function_keep_program_order) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        adam_t adam = make_adam(scope);
        const gantry_input_spec_t input = SPEC_F32(4);
        gantry_function_t *function =
            function_fixture_trace(f.runtime, stepping_twice, &adam, &input, 1, 3, NULL);
        const gantry_tensor_t *gradient = F32(scope, 0.5f, -1, 2, 0), *got[3];
        expect_adam(scope, &adam, adam_first); /* tracing changes nothing */
        function_fixture_call(scope, function, &gradient, 1, got, 3);
        expect_near(got[0], 4, adam_first[0]);
        expect_near(got[1], 4, adam_one[0]);
        expect_near(got[2], 4, adam_two[0]);
        expect_adam(scope, &adam, adam_two);
        gantry_function_release(function);
        release_all(adam.variables, 3);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* The formula's ops, and those that make the gradient, are one node. */
static void stepping_by_a_loss(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *twice = gantry_add(scope, inputs[0], inputs[0]);
    (void)step(scope, user, twice);
    outputs[0] = inputs[0];
}

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); ++at) ++count;
    return count;
}

TEST(step_in_a_function_is_one_kernel) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    adam_t adam = make_adam(scope);
    const gantry_input_spec_t input = SPEC_F32(4);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, stepping_by_a_loss, &adam, &input, 1, 1, NULL);
    const gantry_tensor_t *half = F32(scope, 0.25f, -0.5f, 1, 0), *got;
    char text[8192];
    size_t needed;
    function_fixture_call(scope, function, &half, 1, &got, 1);
    expect_adam(scope, &adam, adam_one);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, &needed),
        GANTRY_OK);
    if (count_of(text, "_FusedElementwise") != 1) fail_msg("%s", text);
    assert_int_equal(count_of(text, "AssignVariableOp"), 3);
    gantry_function_release(function);
    release_all(adam.variables, 3);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- observers ---- */

static gantry_status_t counting_ops(gantry_scope_t *scope, const gantry_observation_t *observation,
                                    void *user) {
    (void)scope;
    *(size_t *)user += observation->op != NULL;
    return GANTRY_OK;
}

/* An update is no part of what a tape differentiates. */
TEST(observers_are_not_told) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    adam_t adam = make_adam(scope);
    const gantry_tensor_t *gradient = F32(scope, 0.5f, -1, 2, 0);
    const gantry_tensor_t *one = gantry_scalar_f32(scope, 1);
    const gantry_tensor_t *const inputs[] = {one, one, one, one, one, one, gradient};
    const gantry_input_spec_t input = SPEC_F32(4);
    const gantry_tensor_t *got[3];
    size_t told = 0;
    gantry_observer_t observer = {.observe = counting_ops, .user = &told};
    gantry_function_t *function =
        function_fixture_trace(f.runtime, stepping_twice, &adam, &input, 1, 3, NULL);
    assert_int_equal(gantry_scope_observe(scope, &observer), GANTRY_OK);
    assert_int_equal(UPDATE(scope, "ResourceApplyAdam", adam.variables, inputs), GANTRY_OK);
    assert_int_equal(told, 0);
    function_fixture_call(scope, function, &gradient, 1, got, 3);
    assert_int_equal(told, 1); /* the call */
    gantry_scope_unobserve(scope, &observer);
    gantry_function_release(function);
    release_all(adam.variables, 3);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- rows ---- */

typedef struct rows_row_t {
    const char *op;
    float values[6];
} rows_row_t;

static const rows_row_t rows_rows[] = {{"ResourceScatterUpdate", {10, 20, 3, 4, 30, -40}},
                                       {"ResourceScatterAdd", {11, 22, 3, 4, 35, -34}},
                                       {"ResourceScatterSub", {-9, -18, 3, 4, -25, 46}},
                                       {"ResourceScatterMax", {10, 20, 3, 4, 30, 6}},
                                       {"ResourceScatterMul", {10, 40, 3, 4, 150, -240}},
                                       {"ResourceScatterMin", {1, 2, 3, 4, 5, -40}}};

TEST(rows_are_scattered) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        for (size_t i = 0; i < sizeof rows_rows / sizeof rows_rows[0]; ++i) {
            const gantry_tensor_t *initial =
                gantry_reshape(scope, F32(scope, 1, 2, 3, 4, 5, 6), GANTRY_SHAPE(3, 2));
            const gantry_tensor_t *updates =
                gantry_reshape(scope, F32(scope, 10, 20, 30, -40), GANTRY_SHAPE(2, 2));
            gantry_variable_t *const variables[] = {make_variable(scope, initial, "table")};
            const gantry_tensor_t *const inputs[] = {I32(scope, 0, 2), updates};
            assert_int_equal(UPDATE(scope, rows_rows[i].op, variables, inputs), GANTRY_OK);
            expect_f32(gantry_variable_read(scope, variables[0]), 6, rows_rows[i].values);
            expect_f32(initial, 6, (const float[]){1, 2, 3, 4, 5, 6});
            gantry_variable_release(variables[0]);
        }
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* An embedding's gradient: one row for each number that occurs. */
static void adding_rows_of_distinct_ids(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                        const gantry_tensor_t **outputs, void *user) {
    gantry_variable_t *const variables[] = {user};
    const gantry_tensor_t *unique[2];
    size_t count = 2;
    (void)gantry_op_call(scope, "Unique", inputs, 1, NULL, 0, unique, &count);
    const gantry_tensor_t *const given[] = {unique[0], gantry_scalar_f32(scope, 1)};
    (void)UPDATE(scope, "ResourceScatterAdd", variables, given);
    outputs[0] = gantry_variable_read(scope, variables[0]);
}

TEST(rows_may_be_as_many_as_the_data_says) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_variable_t *table =
        make_variable(scope, gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2)), "table");
    const gantry_input_spec_t input = SPEC_I32(4);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, adding_rows_of_distinct_ids, table, &input, 1, 1, NULL);
    const gantry_tensor_t *given[] = {I32(scope, 2, 0, 2, 2), I32(scope, 1, 1, 1, 1)}, *got;
    function_fixture_call(scope, function, &given[0], 1, &got, 1);
    EXPECT_F32(got, 1, 1, 0, 0, 1, 1);
    function_fixture_call(scope, function, &given[1], 1, &got, 1);
    EXPECT_F32(got, 1, 1, 1, 1, 1, 1);
    gantry_function_release(function);
    gantry_variable_release(table);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(integers_are_updated_where_they_live) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_variable_t *const variables[] = {make_variable(scope, I32(scope, 1, 2, 3), "counts")};
    const gantry_tensor_t *const inputs[] = {
        gantry_reshape(scope, I32(scope, 2, 0), GANTRY_SHAPE(2, 1)), I32(scope, 10, 20)};
    assert_int_equal(UPDATE(scope, "ResourceScatterNdAdd", variables, inputs), GANTRY_OK);
    const gantry_tensor_t *value = gantry_variable_read(scope, variables[0]);
    EXPECT_I32(value, 21, 2, 13);
    expect_on(value, "/device:CPU:0");
    gantry_variable_release(variables[0]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- readers and threads ---- */

TEST(values_that_were_read_stay) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        float first[256], second[256];
        for (size_t i = 0; i < 256; ++i) {
            first[i] = (float)i;
            second[i] = (float)i - 0.5f;
        }
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        gantry_variable_t *const variables[] = {
            make_variable(scope, make_f32(scope, 256, first), "w")};
        const gantry_tensor_t *const inputs[] = {
            gantry_scalar_f32(scope, 0.5f),
            gantry_fill(scope, GANTRY_SHAPE(256), gantry_scalar_f32(scope, 1))};
        const gantry_tensor_t *before = gantry_variable_read(scope, variables[0]);
        assert_int_equal(UPDATE(scope, "ResourceApplyGradientDescent", variables, inputs),
                         GANTRY_OK);
        expect_f32(before, 256, first);
        expect_f32(gantry_variable_read(scope, variables[0]), 256, second);
        gantry_tensor_drop(scope, before);
        gantry_variable_release(variables[0]);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

typedef struct stepper_t {
    gantry_runtime_t *runtime;
    gantry_variable_t *variables[2];
    int steps;
    gantry_status_t status;
} stepper_t;

static void *keep_stepping(void *user) {
    stepper_t *stepper = user;
    gantry_scope_t *scope = gantry_scope_begin(stepper->runtime, NULL);
    const gantry_tensor_t *one = gantry_scalar_f32(scope, 1);
    const gantry_tensor_t *const inputs[] = {one, gantry_fill(scope, GANTRY_SHAPE(100), one), one};
    for (int i = 0; i < stepper->steps; ++i) {
        (void)UPDATE(scope, "ResourceApplyKerasMomentum", stepper->variables, inputs);
        gantry_tensor_drop(scope, gantry_variable_read(scope, stepper->variables[0]));
    }
    stepper->status = gantry_scope_end(scope);
    return NULL;
}

/* accum = accum * 1 - 1: after n updates it is -n, and var the sum. The threads name the variables
 * in the same order; locks of the other order are taken by the second pair. */
TEST(updates_of_two_threads_both_count) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(100));
        gantry_variable_t *var = make_variable(scope, zeros, "var"),
                          *accum = make_variable(scope, zeros, "accum");
        stepper_t steppers[] = {{f.runtime, {var, accum}, 60, GANTRY_OK},
                                {f.runtime, {var, accum}, 40, GANTRY_OK}};
        pthread_t threads[2];
        float values[100];
        for (size_t i = 0; i < 2; ++i)
            assert_int_equal(pthread_create(&threads[i], NULL, keep_stepping, &steppers[i]), 0);
        for (size_t i = 0; i < 2; ++i) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(steppers[i].status, GANTRY_OK);
        }
        for (size_t i = 0; i < 100; ++i) values[i] = -100;
        expect_f32(gantry_variable_read(scope, accum), 100, values);
        for (size_t i = 0; i < 100; ++i) values[i] = -5050;
        expect_f32(gantry_variable_read(scope, var), 100, values);
        expect_ended_well(scope);
        gantry_variable_release(var);
        gantry_variable_release(accum);
    }
    runtime_fixture_close(&f);
}

/* ---- in place ---- */

static uint64_t place_of(gantry_scope_t *scope, gantry_variable_t *variable) {
    const gantry_tensor_t *value = gantry_variable_read(scope, variable);
    const uint64_t place = value->buffer->span.offset_bytes + value->offset_bytes;
    gantry_tensor_drop(scope, value);
    return place;
}

static gantry_variable_t *make_many(gantry_scope_t *scope, float value) {
    return make_variable(
        scope, gantry_fill(scope, GANTRY_SHAPE(MANY), gantry_scalar_f32(scope, value)), "w");
}

/* var - 1 * delta, or rows of it */
static void overwriting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    gantry_variable_t *const variables[] = {user};
    const gantry_tensor_t *const given[] = {gantry_scalar_f32(scope, 1), inputs[0]};
    const gantry_tensor_t *const rows[] = {I32(scope, 0, MANY - 1), F32(scope, 3, 4)};
    (void)UPDATE(scope, "ResourceApplyGradientDescent", variables, given);
    (void)UPDATE(scope, "ResourceScatterAdd", variables, rows);
    outputs[0] = inputs[0];
}

static void expect_ends(gantry_scope_t *scope, gantry_variable_t *variable, float first,
                        float middle, float last) {
    static float values[MANY];
    const gantry_tensor_t *value = gantry_variable_read(scope, variable);
    assert_int_equal(gantry_tensor_read(value, values, sizeof values), GANTRY_OK);
    assert_float_equal(values[0], first, 0);
    for (size_t i = 1; i + 1 < MANY; ++i) assert_float_equal(values[i], middle, 0);
    assert_float_equal(values[MANY - 1], last, 0);
    gantry_tensor_drop(scope, value);
}

/* At once, and in a function. */
TEST(values_that_nobody_holds_are_overwritten) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *ones =
        gantry_fill(scope, GANTRY_SHAPE(MANY), gantry_scalar_f32(scope, 1));
    const gantry_input_spec_t input = SPEC_F32(MANY);
    const gantry_tensor_t *out;
    gantry_variable_t *v = make_many(scope, 10);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, overwriting, v, &input, 1, 1, NULL);
    overwriting(scope, &ones, &out, v); /* from here on nobody else has seen the value */
    const uint64_t place = place_of(scope, v);
    for (int i = 0; i < 2; ++i) {
        overwriting(scope, &ones, &out, v);
        assert_int_equal(place_of(scope, v), place);
    }
    expect_ends(scope, v, 16, 7, 19);
    for (int i = 0; i < 3; ++i) {
        function_fixture_call(scope, function, &ones, 1, &out, 1);
        gantry_tensor_drop(scope, out);
        assert_int_equal(place_of(scope, v), place);
    }
    expect_ends(scope, v, 22, 4, 28);
    gantry_function_release(function);
    gantry_variable_release(v);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(values_that_somebody_holds_are_not) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *ones =
        gantry_fill(scope, GANTRY_SHAPE(MANY), gantry_scalar_f32(scope, 1));
    const gantry_input_spec_t input = SPEC_F32(MANY);
    const gantry_tensor_t *out;
    static float values[MANY];
    gantry_variable_t *v = make_many(scope, 10);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, overwriting, v, &input, 1, 1, NULL);
    const gantry_tensor_t *held[3];
    held[0] = gantry_variable_read(scope, v);
    overwriting(scope, &ones, &out, v);
    held[1] = gantry_variable_read(scope, v);
    function_fixture_call(scope, function, &ones, 1, &out, 1);
    held[2] = gantry_variable_read(scope, v);
    function_fixture_call(scope, function, &held[2], 1, &out, 1);
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(gantry_tensor_read(held[i], values, sizeof values), GANTRY_OK);
        assert_float_equal(values[0], (float)(10 + 2 * (int)i), 0);
        assert_float_equal(values[1], (float)(10 - (int)i), 0);
    }
    expect_ends(scope, v, 3, 0, 4); /* each minus itself, and rows */
    gantry_function_release(function);
    gantry_variable_release(v);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

typedef struct writer_t {
    gantry_runtime_t *runtime;
    gantry_variable_t *variable;
    gantry_function_t *function; /* NULL: at once */
    atomic_bool has_ended;
    gantry_status_t status;
} writer_t;

static void stepping_once(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    gantry_variable_t *const variables[] = {user};
    const gantry_tensor_t *const given[] = {gantry_scalar_f32(scope, 1), inputs[0]};
    (void)UPDATE(scope, "ResourceApplyGradientDescent", variables, given);
    outputs[0] = inputs[0];
}

static void *keep_writing(void *user) {
    writer_t *writer = user;
    gantry_scope_t *scope = gantry_scope_begin(writer->runtime, "CPU:0");
    const gantry_tensor_t *out,
        *ones = gantry_fill(scope, GANTRY_SHAPE(MANY), gantry_scalar_f32(scope, 1));
    for (int i = 0; i < 300; ++i) {
        if (writer->function) {
            (void)gantry_function_call(scope, writer->function, &ones, 1, &out, 1);
            gantry_tensor_drop(scope, out);
        } else {
            stepping_once(scope, &ones, &out, writer->variable);
        }
    }
    writer->status = gantry_scope_end(scope);
    atomic_store(&writer->has_ended, true);
    return NULL;
}

TEST(readers_see_each_value_as_a_whole) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (int is_traced = 0; is_traced < 2; ++is_traced) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        const gantry_input_spec_t input = SPEC_F32(MANY);
        static float values[MANY];
        float before = 0;
        writer_t writer = {.runtime = f.runtime, .variable = make_many(scope, 0)};
        if (is_traced)
            writer.function = function_fixture_trace(f.runtime, stepping_once, writer.variable,
                                                     &input, 1, 1, NULL);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, keep_writing, &writer), 0);
        for (bool is_last = false; !is_last;) {
            is_last = atomic_load(&writer.has_ended);
            const gantry_tensor_t *value = gantry_variable_read(scope, writer.variable);
            assert_int_equal(gantry_tensor_read(value, values, sizeof values), GANTRY_OK);
            for (size_t i = 1; i < MANY; ++i) assert_float_equal(values[i], values[0], 0);
            assert_true(values[0] <= before);
            before = values[0];
            gantry_tensor_drop(scope, value);
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(writer.status, GANTRY_OK);
        assert_float_equal(before, -300, 0);
        gantry_function_release(writer.function);
        gantry_variable_release(writer.variable);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* ---- memory runs out ---- */

/* A failed update has changed nothing. */
TEST(failed_updates_leave_the_values) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *one = gantry_scalar_f32(scope, 1);
    const gantry_tensor_t *ones = gantry_fill(scope, GANTRY_SHAPE(MANY), one);
    gantry_variable_t *const variables[] = {make_many(scope, 0), make_many(scope, 0)};
    const gantry_tensor_t *const inputs[] = {one, ones, one};
    float expected[2] = {0, 0};
    long failed = 0;
    for (long n = 0;; ++n) {
        runtime_fixture_starve(&f, n);
        const gantry_status_t status =
            UPDATE(scope, "ResourceApplyKerasMomentum", variables, inputs);
        const bool has_failed = runtime_fixture_feed(&f);
        failed += has_failed;
        gantry_scope_clear(scope);
        if (status == GANTRY_OK) {
            expected[1] -= 1;
            expected[0] += expected[1];
        }
        for (size_t i = 0; i < 2; ++i)
            expect_ends(scope, variables[i], expected[i], expected[i], expected[i]);
        if (!has_failed) break;
    }
    assert_in_range(failed, 2, 1000);
    release_all(variables, 2);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static gantry_status_t update_and_trace(gantry_scope_t *scope) {
    const gantry_input_spec_t input = SPEC_F32(4);
    gantry_function_t *function = NULL;
    adam_t adam = {{NULL}};
    for (size_t i = 0; i < 3; ++i)
        adam.variables[i] = gantry_variable_create(scope, make_f32(scope, 4, adam_first[i]), "w");
    const gantry_tensor_t *gradient = F32(scope, 0.5f, -1, 2, 0), *got[3];
    gantry_status_t status = step(scope, &adam, gradient);
    if (status == GANTRY_OK)
        status = gantry_function_trace(gantry_scope_runtime(scope), "f", stepping_twice, &adam,
                                       &input, 1, 3, NULL, &function);
    if (status == GANTRY_OK) status = gantry_function_call(scope, function, &gradient, 1, got, 3);
    gantry_function_release(function);
    release_all(adam.variables, 3);
    return status;
}

TEST(nothing_leaks_when_memory_runs_out) {
    runtime_fixture_starve_each(0, NULL, update_and_trace);
    runtime_fixture_starve_each(1, "GPU:0", update_and_trace);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
