/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A body that returns its input gives the caller a tensor of the call's scope over the
 * input's memory, however the body runs.
 * Promise: The input of a body and the result that it became end independently of each other. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

enum { COUNT = 16384 }; /* more than a tensor holds itself */

static void returning(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)scope, (void)user;
    outputs[0] = outputs[1] = inputs[0];
}

static void calling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)gantry_function_call(scope, user, inputs, 1, outputs, 2);
}

static void branching(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *yes =
        gantry_less(scope, gantry_scalar_f32(scope, 0), gantry_scalar_f32(scope, 1));
    (void)gantry_cond(scope, yes, returning, returning, user, inputs, 1, outputs, 2);
}

/* The ways in which a body runs: in a trace, eagerly, as a part of another one, in a branch. */
enum { TRACED, EAGER, INSIDE, IN_A_BRANCH, WAYS };

static gantry_function_t *trace(runtime_fixture_t *f, int way, gantry_function_t *inner) {
    static const gantry_function_body_fn bodies[WAYS] = {returning, returning, calling, branching};
    const gantry_input_spec_t input = SPEC_F32(COUNT);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = way == EAGER};
    return function_fixture_trace(f->runtime, bodies[way], inner, &input, 1, 2, &options);
}

static uint64_t bytes_in_use(const runtime_fixture_t *f, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f->runtime, device, &info), GANTRY_OK);
    return info.current_bytes;
}

static void expect_first(const gantry_tensor_t *tensor, float wanted) {
    static float numbers[COUNT];
    assert_int_equal(gantry_tensor_read(tensor, numbers, sizeof numbers), GANTRY_OK);
    assert_float_equal(numbers[0], wanted, 0);
    assert_float_equal(numbers[COUNT - 1], wanted, 0);
}

/* The input is in a scope of its own, on a device; the call asks for none. */
static void check_way(runtime_fixture_t *f, gantry_function_t *function, const char *device) {
    gantry_scope_t *before = runtime_fixture_scope(f, device);
    gantry_scope_t *scope = runtime_fixture_scope(f, NULL);
    const uint64_t without = bytes_in_use(f, device);
    const gantry_tensor_t *given =
        gantry_fill(before, GANTRY_SHAPE(COUNT), gantry_scalar_f32(before, 5));
    const gantry_tensor_t *got[2];
    assert_int_equal(gantry_tensor_wait(given), GANTRY_OK);
    const uint64_t with = bytes_in_use(f, device);
    function_fixture_call(scope, function, &given, 1, got, 2);
    assert_ptr_not_equal(got[0], given);
    assert_ptr_not_equal(got[0], got[1]);
    assert_ptr_equal(gantry_tensor_device(got[0]), gantry_tensor_device(given));
    expect_first(got[0], 5);
    assert_int_equal(bytes_in_use(f, device), with); /* no copy */
    gantry_tensor_drop(scope, got[1]);               /* a result ends first */
    expect_first(given, 5);
    expect_ended_well(before); /* then the input */
    expect_first(got[0], 5);
    gantry_tensor_t *own = gantry_scope_keep(scope, got[0]);
    expect_ended_well(scope); /* then the scope of the call */
    expect_first(own, 5);
    gantry_tensor_release(own);
    assert_true(bytes_in_use(f, device) <= without + 512); /* the scalar of the fill */
}

TEST(a_returned_input_is_a_tensor_of_the_call) {
    static const char *const devices[] = {"/CPU:0", "/GPU:0"};
    for (int way = 0; way < WAYS; ++way) {
        for (size_t d = 0; d < 2; ++d) {
            runtime_fixture_t f;
            runtime_fixture_open(&f, 1);
            gantry_function_t *inner = trace(&f, TRACED, NULL), *function = trace(&f, way, inner);
            for (int call = 0; call < 3; ++call) check_way(&f, function, devices[d]);
            gantry_function_release(function);
            gantry_function_release(inner);
            runtime_fixture_close(&f); /* nothing is left to release */
        }
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
