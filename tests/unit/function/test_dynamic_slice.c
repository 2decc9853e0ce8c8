/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A loop of dynamic updates takes memory for the whole once, not in each step: with one
 * update or several, in a branch, in a loop in a loop, and in a function without a loop.
 * Promise: A dynamic update in place never changes a value that is read later, that the caller
 * holds, or that is memory of the program which is only to be read.
 * Promise: A dynamic slice takes its starts, sizes and whole from a trace, with open sizes, too. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

#include "dynamic_slice_case.h"

TEST(updates_are_in_place_on_the_cpu) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    box_check_all(f.runtime, "/CPU:0");
    box_check_donated(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

TEST(update_of_memory_to_read_is_elsewhere) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    _Alignas(64) static float memory[64];
    for (int writable = 0; writable < 2; ++writable) {
        memset(memory, 0, sizeof memory);
        const gantry_from_memory_options_t options = {.struct_size = sizeof options,
                                                      .is_writable = writable};
        tensor *x = gantry_tensor_from_memory(scope, GANTRY_FLOAT32, GANTRY_SHAPE(64), memory,
                                              sizeof memory, &options);
        if (!x) fail_msg("%s", gantry_scope_message(scope));
        tensor *made = gantry_dynamic_update_slice(scope, gantry_tensor_donate(scope, x),
                                                   F32(scope, 1, 2), I32(scope, 60));
        if (!made) fail_msg("%s", gantry_scope_message(scope));
        float got[64];
        assert_int_equal(gantry_tensor_read(made, got, sizeof got), GANTRY_OK);
        assert_memory_equal(got + 60, ((float[]){1, 2, 0, 0}), 4 * sizeof *got);
        assert_int_equal(memory[60] > 0, writable);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The whole has an open size, and the sizes of the box are not known before the call. */
static void slicing_open(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    tensor *flat =
        gantry_reshape(s, gantry_where(s, gantry_greater(s, inputs[0], gantry_scalar_i32(s, 1))),
                       GANTRY_SHAPE(-1));
    tensor *from[] = {flat, inputs[1], inputs[2]};
    size_t count = 1;
    (void)gantry_op_call(s, "XlaDynamicSlice", from, 3, NULL, 0, outputs, &count);
    outputs[1] =
        gantry_dynamic_update_slice(s, flat, outputs[0], gantry_sub(s, inputs[1], inputs[1]));
}

TEST(slices_of_open_sizes_have_the_values) {
    const gantry_input_spec_t inputs[] = {SPEC_I32(6), SPEC_I32(1), SPEC_I32(1)};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_function_t *function =
        function_fixture_trace(f.runtime, slicing_open, NULL, inputs, 3, 2, NULL);
    tensor *outputs[2];
    tensor *given[] = {I32(scope, 0, 2, 0, 2, 2, 2), I32(scope, 9), I32(scope, 2)};
    function_fixture_call(scope, function, given, 3, outputs, 2);
    int64_t got[4];
    assert_int_equal(gantry_tensor_read(outputs[0], got, 2 * sizeof *got), GANTRY_OK);
    assert_true(got[0] == 4 && got[1] == 5);
    assert_int_equal(gantry_tensor_read(outputs[1], got, sizeof got), GANTRY_OK);
    assert_true(got[0] == 4 && got[1] == 5 && got[2] == 4 && got[3] == 5);
    given[2] = I32(scope, 5); /* more than the whole has in this call */
    expect_refusal(gantry_function_call(scope, function, given, 3, outputs, 2),
                   GANTRY_INVALID_ARGUMENT, "dimension 0 of the box is 5; at most 4 is accepted");
    gantry_scope_clear(scope);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
