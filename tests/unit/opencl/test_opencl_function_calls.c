/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: On a real driver (PoCL as GPU:0), a call of a clone copies only the inputs that are
 * passed: those that are bound were copied once.
 * Promise: On a real driver, the callback of a started call finds its outputs computed. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "module_runtime.h"
#include "test.h"

enum { ROWS = 64, COLUMNS = 256, CALLS = 8 };

static void layer(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *product = gantry_matmul(scope, inputs[1], inputs[0], NULL);
    outputs[0] = gantry_relu(scope, gantry_add(scope, product, inputs[2]));
}

static const gantry_input_spec_t specs[] = {
    {"w", GANTRY_FLOAT32, {.rank = 2, .dims = {COLUMNS, COLUMNS}}},
    {"x", GANTRY_FLOAT32, {.rank = 2, .dims = {ROWS, COLUMNS}}},
    {"b", GANTRY_FLOAT32, {.rank = 1, .dims = {COLUMNS}}}};

static const gantry_tensor_t *filled(gantry_scope_t *scope, gantry_shape_t shape, float value) {
    static float values[COLUMNS * COLUMNS];
    const size_t count = (size_t)gantry_shape_elements(&shape);
    for (size_t i = 0; i < count; ++i) values[i] = value + (float)(i % 7) * 0.25f;
    return gantry_constant(scope, GANTRY_FLOAT32, shape, values, count * sizeof *values);
}

static uint64_t moved(gantry_runtime_t *runtime) {
    gantry_profile_row_t row = {.struct_size = sizeof row};
    assert_int_equal(gantry_profile_read(runtime, GANTRY_PROFILE_TOTAL, &row), GANTRY_OK);
    return row.bytes_moved;
}

/* The bytes that CALLS calls move. */
static uint64_t move_in_calls(gantry_scope_t *scope, gantry_function_t *function,
                              const gantry_tensor_t *const *inputs, size_t count) {
    gantry_runtime_t *runtime = gantry_scope_runtime(scope);
    const gantry_tensor_t *y;
    function_fixture_call(scope, function, inputs, count, &y, 1);
    assert_int_equal(gantry_tensor_wait(y), GANTRY_OK);
    assert_int_equal(gantry_profile_start(runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    for (int i = 0; i < CALLS; ++i) {
        function_fixture_call(scope, function, inputs, count, &y, 1);
        gantry_tensor_drop(scope, y);
    }
    assert_int_equal(gantry_profile_stop(runtime), GANTRY_OK);
    return moved(runtime);
}

TEST(bound_weights_do_not_move) {
    gantry_runtime_t *runtime = module_runtime_open();
    gantry_scope_t *host = gantry_scope_begin(runtime, "CPU:0"),
                   *scope = gantry_scope_begin(runtime, "GPU:0");
    const gantry_tensor_t *w = filled(host, GANTRY_SHAPE(COLUMNS, COLUMNS), 0.5f),
                          *x = filled(host, GANTRY_SHAPE(ROWS, COLUMNS), -1),
                          *b = filled(host, GANTRY_SHAPE(COLUMNS), 2), *all[] = {w, x, b}, *y, *z;
    gantry_function_t *function = function_fixture_trace(runtime, layer, NULL, specs, 3, 1, NULL);
    const gantry_bound_input_t bound[] = {{"w", 0, w}, {"b", 0, b}};
    const gantry_clone_options_t options = {
        .struct_size = sizeof options, .bound = bound, .bound_count = 2};
    gantry_function_t *clone;
    assert_int_equal(gantry_function_clone(function, &options, &clone), GANTRY_OK);
    const uint64_t of_x = CALLS * gantry_tensor_bytes(x),
                   of_all = of_x + CALLS * (gantry_tensor_bytes(w) + gantry_tensor_bytes(b));
    assert_int_equal(move_in_calls(scope, function, all, 3), of_all);
    assert_int_equal(move_in_calls(scope, clone, &x, 1), of_x);
    function_fixture_call(scope, function, all, 3, &y, 1);
    function_fixture_call(scope, clone, &x, 1, &z, 1);
    static float left[ROWS * COLUMNS], right[ROWS * COLUMNS];
    assert_int_equal(gantry_tensor_read(y, left, sizeof left), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(z, right, sizeof right), GANTRY_OK);
    assert_memory_equal(left, right, sizeof left);
    gantry_function_release(clone);
    gantry_function_release(function);
    expect_ended_well(scope);
    expect_ended_well(host);
    gantry_runtime_release(runtime);
}

typedef struct seen_t {
    gantry_runtime_t *runtime;
    float expected[ROWS * COLUMNS];
    int calls, wrong;
} seen_t;

static void look(gantry_call_t *call, void *user) {
    static float got[ROWS * COLUMNS];
    seen_t *seen = user;
    const gantry_tensor_t *y;
    gantry_scope_t *scope = gantry_scope_begin(seen->runtime, NULL);
    if (gantry_call_wait(call, scope, &y, 1) != GANTRY_OK ||
        gantry_tensor_read(y, got, sizeof got) != GANTRY_OK ||
        memcmp(got, seen->expected, sizeof got) != 0)
        ++seen->wrong;
    ++seen->calls;
    (void)gantry_scope_end(scope);
}

TEST(callbacks_find_the_outputs) {
    static seen_t seen;
    gantry_runtime_t *runtime = seen.runtime = module_runtime_open();
    assert_int_equal(gantry_set_inter_op_parallelism_threads(runtime, 1), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    const gantry_tensor_t *all[] = {filled(scope, GANTRY_SHAPE(COLUMNS, COLUMNS), 0.5f),
                                    filled(scope, GANTRY_SHAPE(ROWS, COLUMNS), -1),
                                    filled(scope, GANTRY_SHAPE(COLUMNS), 2)},
                          *y;
    gantry_function_t *function = function_fixture_trace(runtime, layer, NULL, specs, 3, 1, NULL);
    function_fixture_call(scope, function, all, 3, &y, 1);
    assert_int_equal(gantry_tensor_read(y, seen.expected, sizeof seen.expected), GANTRY_OK);
    const gantry_start_options_t options = {sizeof options, look, &seen};
    gantry_call_t *calls[CALLS];
    for (int i = 0; i < CALLS; ++i)
        assert_int_equal(gantry_function_start(scope, function, all, 3, &options, &calls[i]),
                         GANTRY_OK);
    for (int i = 0; i < CALLS; ++i) {
        assert_int_equal(gantry_call_wait(calls[i], NULL, NULL, 0), GANTRY_OK);
        gantry_call_release(calls[i]);
    }
    assert_int_equal(seen.calls, CALLS);
    assert_int_equal(seen.wrong, 0);
    gantry_function_release(function);
    expect_ended_well(scope);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
