/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every step of an optimizer gives the same bits at once and in a function, for few
 * elements and for many. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

enum { MANY = 5000 };

static gantry_variable_t *make_variable(gantry_scope_t *scope, const gantry_tensor_t *initial,
                                        const char *name) {
    gantry_variable_t *variable = gantry_variable_create(scope, initial, name);
    if (!variable) fail_msg("%s", gantry_scope_message(scope));
    return variable;
}

static void release_all(gantry_variable_t *const *variables, size_t count) {
    for (size_t i = 0; i < count; ++i) gantry_variable_release(variables[i]);
}

typedef struct optimizer_t {
    const gantry_op_info_t *info;
    gantry_variable_t *variables[4];
} optimizer_t;

static const gantry_tensor_t *make_pattern(gantry_scope_t *scope, int64_t count, size_t seed) {
    static float values[MANY];
    for (int64_t i = 0; i < count; ++i)
        values[i] = (float)((i * 7919 + (int64_t)seed * 104729) % 10007) / 10007 + 0.01f;
    return make_f32(scope, count, values);
}

static void stepping_with_all(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                              const gantry_tensor_t **outputs, void *user) {
    const optimizer_t *optimizer = user;
    const gantry_op_info_t *info = optimizer->info;
    const gantry_tensor_t *given[16];
    const size_t first = info->output_count;
    for (size_t i = first; i < info->input_count; ++i) {
        const bool is_gradient =
            strcmp(info->inputs[i], "grad") == 0 || strcmp(info->inputs[i], "delta") == 0;
        given[i - first] =
            is_gradient ? inputs[0] : gantry_scalar_f32(scope, 0.9f - 0.07f * (float)i);
    }
    (void)gantry_variable_update(scope, info->name, optimizer->variables, first, given,
                                 info->input_count - first, NULL, 0);
    outputs[0] = inputs[0];
}

static void make_states(gantry_scope_t *scope, optimizer_t *optimizer, int64_t count) {
    for (size_t i = 0; i < optimizer->info->output_count; ++i)
        optimizer->variables[i] = make_variable(scope, make_pattern(scope, count, i), "w");
}

/* At once, `count` elements, against a function. */
static void expect_same_bits(runtime_fixture_t *f, const gantry_op_info_t *info, int64_t count) {
    static float first[MANY], second[MANY];
    gantry_scope_t *scope = runtime_fixture_scope(f, "CPU:0");
    optimizer_t now = {.info = info}, traced = {.info = info};
    const gantry_input_spec_t input = SPEC_F32(count);
    const gantry_tensor_t *gradient = make_pattern(scope, count, 9), *got;
    const size_t bytes = (size_t)count * sizeof *first;
    make_states(scope, &now, count);
    make_states(scope, &traced, count);
    gantry_function_t *function =
        function_fixture_trace(f->runtime, stepping_with_all, &traced, &input, 1, 1, NULL);
    stepping_with_all(scope, &gradient, &got, &now);
    function_fixture_call(scope, function, &gradient, 1, &got, 1);
    for (size_t i = 0; i < info->output_count; ++i) {
        const gantry_tensor_t *a = gantry_variable_read(scope, now.variables[i]),
                              *b = gantry_variable_read(scope, traced.variables[i]);
        assert_int_equal(gantry_tensor_read(a, first, bytes), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(b, second, bytes), GANTRY_OK);
        if (memcmp(first, second, bytes) != 0) fail_msg("%s, variable %zu", info->name, i);
    }
    gantry_function_release(function);
    release_all(now.variables, info->output_count);
    release_all(traced.variables, info->output_count);
    expect_ended_well(scope);
}

/* Large steps compute the numbers apart. */
TEST(large_and_small_steps_have_the_bits_of_a_function) {
    runtime_fixture_t f;
    size_t ops = 0;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        if (strncmp(info.name, "ResourceApply", strlen("ResourceApply")) != 0) continue;
        expect_same_bits(&f, &info, 100);
        expect_same_bits(&f, &info, MANY);
        ++ops;
    }
    assert_int_equal(ops, 17);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
