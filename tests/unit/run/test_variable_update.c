/* SPDX-License-Identifier: Apache-2.0 */
/* Ops update variables at once and in functions, with TensorFlow's numbers; a failed one changes
 * nothing. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "function_fixture.h"

#define LOCAL(device) "/job:localhost/replica:0/task:0/device:" device

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

static void steps_give_tensorflows_numbers(void **state) {
    (void)state;
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

static void steps_in_a_function_keep_program_order(void **state) {
    (void)state;
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

static void step_in_a_function_is_one_kernel(void **state) {
    (void)state;
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

/* ---- rows ---- */

typedef struct rows_row_t {
    const char *op;
    float values[6];
} rows_row_t;

static const rows_row_t rows_rows[] = {{"ResourceScatterUpdate", {10, 20, 3, 4, 30, -40}},
                                       {"ResourceScatterAdd", {11, 22, 3, 4, 35, -34}},
                                       {"ResourceScatterSub", {-9, -18, 3, 4, -25, 46}},
                                       {"ResourceScatterMax", {10, 20, 3, 4, 30, 6}},
                                       {"ResourceScatterMin", {1, 2, 3, 4, 5, -40}}};

static void rows_are_scattered(void **state) {
    (void)state;
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

static void integers_are_updated_where_they_live(void **state) {
    (void)state;
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

static void values_that_were_read_stay(void **state) {
    (void)state;
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
static void updates_of_two_threads_both_count(void **state) {
    (void)state;
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

/* ---- errors ---- */

static void expect_update_failure(gantry_scope_t *scope, const char *op,
                                  gantry_variable_t *const *variables, size_t count,
                                  const gantry_tensor_t *const *inputs, size_t input_count,
                                  gantry_status_t status, const char *text) {
    assert_int_equal(
        gantry_variable_update(scope, op, variables, count, inputs, input_count, NULL, 0), status);
    expect_scope_failure(scope, status, text);
}

static void wrong_calls_are_refused_and_change_nothing(void **state) {
    (void)state;
    runtime_fixture_t f, g;
    runtime_fixture_open(&f, 1);
    gantry_runtime_options_t options = runtime_fixture_options(&g);
    runtime_fixture_open_with(&g, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *host = runtime_fixture_scope(&f, "CPU:0"),
                   *foreign = runtime_fixture_scope(&g, NULL);
    const gantry_tensor_t *one = gantry_scalar_f32(scope, 1), *two = F32(scope, 1, 2);
    gantry_variable_t *w = make_variable(scope, two, "w"), *m = make_variable(scope, two, "m"),
                      *k = make_variable(scope, I32(scope, 1, 2), "k"),
                      *c = make_variable(host, F32(host, 1, 2), "c"),
                      *alien = make_variable(foreign, F32(foreign, 1, 2), "alien");
    const gantry_tensor_t *const sgd[] = {one, two};
    const gantry_tensor_t *const momentum[] = {one, two, one};
    const struct {
        const char *op;
        gantry_variable_t *variables[2];
        size_t count;
        const gantry_tensor_t *inputs[3];
        size_t input_count;
        gantry_status_t status;
        const char *text;
    } rows[] = {
        {NULL, {w}, 1, {one, two}, 2, GANTRY_INVALID_ARGUMENT, "the op's name is NULL"},
        {"ResourceApplyNothing",
         {w},
         1,
         {one, two},
         2,
         GANTRY_NOT_FOUND,
         "Op type not registered 'ResourceApplyNothing'"},
        {"Add", {w}, 1, {two}, 1, GANTRY_INVALID_ARGUMENT, "op Add updates no variables"},
        {"AssignVariableOp",
         {w},
         1,
         {two},
         1,
         GANTRY_INVALID_ARGUMENT,
         "op AssignVariableOp updates no variables"},
        {"ResourceApplyMomentum",
         {w},
         1,
         {one, two, one},
         3,
         GANTRY_INVALID_ARGUMENT,
         "op ResourceApplyMomentum updates 2 variables, from var to accum; 1 are given"},
        {"ResourceApplyMomentum",
         {w, NULL},
         2,
         {one, two, one},
         3,
         GANTRY_INVALID_ARGUMENT,
         "op ResourceApplyMomentum: variable 1 (accum) is NULL"},
        {"ResourceApplyMomentum",
         {w, w},
         2,
         {one, two, one},
         3,
         GANTRY_INVALID_ARGUMENT,
         "op ResourceApplyMomentum: variable w is given as var and as accum"},
        {"ResourceApplyMomentum",
         {w, c},
         2,
         {one, two, one},
         3,
         GANTRY_INVALID_ARGUMENT,
         "variable c (accum) lives on /device:CPU:0 and w (var) on /device:GPU:0; variables of one device are accepted"},
        {"ResourceApplyGradientDescent",
         {alien},
         1,
         {one, two},
         2,
         GANTRY_INVALID_ARGUMENT,
         "variable alien (var) belongs to another runtime"},
        {"ResourceApplyGradientDescent", {w}, 1, {one}, 1, GANTRY_INVALID_ARGUMENT, "variable w: "},
        {"ResourceApplyGradientDescent",
         {w},
         1,
         {one, NULL},
         2,
         GANTRY_INVALID_ARGUMENT,
         "input 2 (delta) is NULL"},
        {"ResourceApplyGradientDescent",
         {w},
         1,
         {two, two},
         2,
         GANTRY_INVALID_ARGUMENT,
         "alpha is not a scalar: [2]"},
        {"ResourceApplyGradientDescent",
         {w},
         1,
         {one, one},
         2,
         GANTRY_INVALID_ARGUMENT,
         "variable w: ResourceApplyGradientDescent: var and delta do not have the same shape[2] []"},
        {"ResourceApplyGradientDescent",
         {k},
         1,
         {one, two},
         2,
         GANTRY_INVALID_ARGUMENT,
         "variable k: ResourceApplyGradientDescent: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        expect_update_failure(scope, rows[i].op, rows[i].variables, rows[i].count, rows[i].inputs,
                              rows[i].input_count, rows[i].status, rows[i].text);
    gantry_variable_t *const pair[] = {w, m};
    expect_update_failure(scope, "ResourceApplyMomentum", NULL, 2, momentum, 3,
                          GANTRY_INVALID_ARGUMENT, "variables is NULL");
    expect_update_failure(scope, "ResourceApplyMomentum", pair, 2, NULL, 3, GANTRY_INVALID_ARGUMENT,
                          "inputs is NULL");
    expect_update_failure(scope, "ResourceApplyGradientDescent", pair, 1, sgd, 1000,
                          GANTRY_INVALID_ARGUMENT, "is given 1000 inputs; it takes 2");
    EXPECT_F32(gantry_variable_read(scope, w), 1, 2);
    EXPECT_F32(gantry_variable_read(scope, m), 1, 2);
    release_all((gantry_variable_t *const[]){w, m, k, c, alien}, 5);
    expect_ended_well(scope);
    expect_ended_well(host);
    expect_ended_well(foreign);
    gantry_runtime_release(g.runtime);
    runtime_fixture_close(&f);
}

/* On the CPU the op finds a bad index before it writes. */
static void bad_index_changes_nothing_on_the_cpu(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    float values[100];
    for (size_t i = 0; i < 100; ++i) values[i] = (float)i;
    gantry_variable_t *const variables[] = {
        make_variable(scope, make_f32(scope, 100, values), "w")};
    const gantry_tensor_t *const inputs[] = {I32(scope, 0, 100), F32(scope, 5, 6)};
    assert_int_equal(UPDATE(scope, "ResourceScatterAdd", variables, inputs),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "indices[1] = [100] does not index into shape [100]");
    expect_f32(gantry_variable_read(scope, variables[0]), 100, values);
    gantry_variable_release(variables[0]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- memory runs out ---- */

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

static void nothing_leaks_when_memory_runs_out(void **state) {
    (void)state;
    runtime_fixture_starve_each(0, NULL, update_and_trace);
    runtime_fixture_starve_each(1, "GPU:0", update_and_trace);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, runtime_fixture_set_up, runtime_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(steps_give_tensorflows_numbers),
        TEST(steps_in_a_function_keep_program_order),
        TEST(step_in_a_function_is_one_kernel),
        TEST(rows_are_scattered),
        TEST(integers_are_updated_where_they_live),
        TEST(values_that_were_read_stay),
        TEST(updates_of_two_threads_both_count),
        TEST(wrong_calls_are_refused_and_change_nothing),
        TEST(bad_index_changes_nothing_on_the_cpu),
        TEST(nothing_leaks_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
