/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Wrong updates of variables are refused with a text that names the op and the variable,
 * and change nothing. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

typedef struct refusal_t {
    const char *op, *variables, *inputs; /* letters of things_t, '0': NULL */
    gantry_status_t status;
    const char *text;
} refusal_t;

static const refusal_t refusals[] = {
    {NULL, "w", "12", GANTRY_INVALID_ARGUMENT, "the op's name is NULL"},
    {"ResourceApplyNothing", "w", "12", GANTRY_NOT_FOUND,
     "Op type not registered 'ResourceApplyNothing'"},
    {"Add", "w", "2", GANTRY_INVALID_ARGUMENT,
     "op Add updates no variables; ops whose names begin"},
    {"AssignVariableOp", "w", "2", GANTRY_INVALID_ARGUMENT,
     "op AssignVariableOp updates no variables"},
    {"ResourceApplyMomentum", "w", "121", GANTRY_INVALID_ARGUMENT,
     "op ResourceApplyMomentum updates 2 variables, from var to accum; 1 are given"},
    {"ResourceApplyMomentum", "w0", "121", GANTRY_INVALID_ARGUMENT,
     "op ResourceApplyMomentum: variable 1 (accum) is NULL"},
    {"ResourceApplyMomentum", "ww", "121", GANTRY_INVALID_ARGUMENT,
     "op ResourceApplyMomentum: variable w is given as var and as accum"},
    {"ResourceApplyMomentum", "wc", "121", GANTRY_INVALID_ARGUMENT,
     "variable c (accum) lives on /device:CPU:0 and w (var) on /device:GPU:0; variables of one device are accepted"},
    {"ResourceApplyMomentum", "wk", "121", GANTRY_INVALID_ARGUMENT,
     "variable k (accum) lives on /device:CPU:0"},
    {"ResourceApplyMomentum", "ws", "121", GANTRY_INVALID_ARGUMENT,
     "variable w: ResourceApplyMomentum: var and accum do not have the same shape[2] []"},
    {"ResourceApplyGradientDescent", "a", "12", GANTRY_INVALID_ARGUMENT,
     "variable a (var) belongs to another runtime"},
    {"ResourceApplyGradientDescent", "w", "1", GANTRY_INVALID_ARGUMENT, "variable w: "},
    {"ResourceApplyGradientDescent", "w", "10", GANTRY_INVALID_ARGUMENT, "input 2 (delta) is NULL"},
    {"ResourceApplyGradientDescent", "w", "22", GANTRY_INVALID_ARGUMENT,
     "variable w: ResourceApplyGradientDescent: alpha is not a scalar: [2]"},
    {"ResourceApplyGradientDescent", "w", "11", GANTRY_INVALID_ARGUMENT,
     "variable w: ResourceApplyGradientDescent: var and delta do not have the same shape[2] []"},
    {"ResourceApplyGradientDescent", "k", "12", GANTRY_INVALID_ARGUMENT,
     "variable k: ResourceApplyGradientDescent: "},
    {"ResourceScatterAdd", "s", "i1", GANTRY_INVALID_ARGUMENT,
     "variable s: ResourceScatterAdd: Must have updates.shape = indices.shape + params.shape[1:]"},
};

typedef struct things_t {
    gantry_variable_t *w, *s, *k, *c, *a;
    const gantry_tensor_t *one, *two, *index;
} things_t;

static gantry_variable_t *variable_of(const things_t *things, char letter) {
    switch (letter) {
        case 'w': return things->w;
        case 's': return things->s;
        case 'k': return things->k;
        case 'c': return things->c;
        case 'a': return things->a;
        default: return NULL;
    }
}

static const gantry_tensor_t *tensor_of(const things_t *things, char letter) {
    switch (letter) {
        case '1': return things->one;
        case '2': return things->two;
        case 'i': return things->index;
        default: return NULL;
    }
}

static void expect_refused(gantry_scope_t *scope, const things_t *things, const refusal_t *row) {
    gantry_variable_t *variables[4] = {NULL};
    const gantry_tensor_t *inputs[4] = {NULL};
    const size_t count = strlen(row->variables), input_count = strlen(row->inputs);
    for (size_t i = 0; i < count; ++i) variables[i] = variable_of(things, row->variables[i]);
    for (size_t i = 0; i < input_count; ++i) inputs[i] = tensor_of(things, row->inputs[i]);
    assert_int_equal(
        gantry_variable_update(scope, row->op, variables, count, inputs, input_count, NULL, 0),
        row->status);
    expect_scope_failure(scope, row->status, row->text);
}

static void refusing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    gantry_variable_t *const variables[] = {((const things_t *)user)->w};
    (void)gantry_variable_update(scope, "ResourceApplyGradientDescent", variables, 1, inputs, 1,
                                 NULL, 0);
    outputs[0] = inputs[0];
}

TEST(wrong_calls_are_refused_and_change_nothing) {
    runtime_fixture_t f, g;
    runtime_fixture_open(&f, 1);
    gantry_runtime_options_t options = runtime_fixture_options(&g);
    runtime_fixture_open_with(&g, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *host = runtime_fixture_scope(&f, "CPU:0"),
                   *foreign = runtime_fixture_scope(&g, NULL);
    things_t things = {
        .one = gantry_scalar_f32(scope, 1), .two = F32(scope, 1, 2), .index = I32(scope, 0)};
    things.w = gantry_variable_create(scope, things.two, "w");
    things.s = gantry_variable_create(scope, things.one, "s");
    things.k = gantry_variable_create(scope, I32(scope, 1, 2), "k");
    things.c = gantry_variable_create(host, F32(host, 1, 2), "c");
    things.a = gantry_variable_create(foreign, F32(foreign, 1, 2), "a");
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i)
        expect_refused(scope, &things, &refusals[i]);
    expect_refusal(function_fixture_try(&f, refusing, &things), GANTRY_INVALID_ARGUMENT,
                   "variable w: ");
    EXPECT_F32(gantry_variable_read(scope, things.w), 1, 2);
    EXPECT_I32(gantry_variable_read(scope, things.k), 1, 2);
    gantry_variable_release(things.w);
    gantry_variable_release(things.s);
    gantry_variable_release(things.k);
    gantry_variable_release(things.c);
    gantry_variable_release(things.a);
    expect_ended_well(scope);
    expect_ended_well(host);
    expect_ended_well(foreign);
    gantry_runtime_release(g.runtime);
    runtime_fixture_close(&f);
}

TEST(lists_that_are_null_or_too_long_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_variable_t *const w[] = {gantry_variable_create(scope, F32(scope, 1, 2), "w")};
    const gantry_tensor_t *const inputs[] = {gantry_scalar_f32(scope, 1), F32(scope, 1, 2)};
    const char *op = "ResourceApplyGradientDescent";
    (void)gantry_variable_update(scope, op, NULL, 1, inputs, 2, NULL, 0);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "variables is NULL");
    (void)gantry_variable_update(scope, op, w, 1, NULL, 2, NULL, 0);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "inputs is NULL");
    (void)gantry_variable_update(scope, op, w, 1, inputs, 2, NULL, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "attrs is NULL");
    (void)gantry_variable_update(scope, op, w, 1, inputs, 1000, NULL, 0);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "is given 1000 inputs; it takes 2");
    const gantry_attr_value_t attr = {.name = "use_nesterov", .kind = GANTRY_ATTR_BOOL, .i = 1};
    (void)gantry_variable_update(scope, op, w, 1, inputs, 2, &attr, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "use_nesterov");
    EXPECT_F32(gantry_variable_read(scope, w[0]), 1, 2);
    gantry_variable_release(w[0]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* On the CPU the op finds a bad index before it writes. */
TEST(bad_index_changes_nothing_on_the_cpu) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    static const char *const ops[] = {"ResourceScatterUpdate", "ResourceScatterAdd",
                                      "ResourceScatterMax"};
    float values[100];
    for (size_t i = 0; i < 100; ++i) values[i] = (float)i;
    for (size_t i = 0; i < 3; ++i) {
        const gantry_tensor_t *initial = make_f32(scope, 100, values);
        gantry_variable_t *const w[] = {gantry_variable_create(scope, initial, "w")};
        gantry_tensor_drop(scope, initial); /* the variable alone holds its value */
        const gantry_tensor_t *const inputs[] = {I32(scope, 0, 100), F32(scope, 500, 6)};
        assert_int_equal(gantry_variable_update(scope, ops[i], w, 1, inputs, 2, NULL, 0),
                         GANTRY_INVALID_ARGUMENT);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                             "indices[1] = [100] does not index into shape [100]");
        expect_f32(gantry_variable_read(scope, w[0]), 100, values);
        gantry_variable_release(w[0]);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
