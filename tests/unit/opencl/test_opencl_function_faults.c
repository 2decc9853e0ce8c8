/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Bad data that a function's kernel finds is reported in the words of the CPU backend,
 * with function, node, op, types, shapes and device, on a real driver (PoCL as GPU:0). */
#define _XOPEN_SOURCE 700

#include <stdlib.h>

#include "function_fixture.h"
#include "module_runtime.h"
#include "test.h"

/* ---- bodies: of four numbers and four others, int32 ---- */

static void dividing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_name_next(scope, "quotient");
    const gantry_tensor_t *quotient = gantry_floor_div(scope, inputs[0], inputs[1]);
    outputs[0] = gantry_add(scope, gantry_mul(scope, quotient, inputs[0]), inputs[0]);
}

static void picking(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *doubled = gantry_add(scope, inputs[0], inputs[0]);
    gantry_scope_name_next(scope, "pick");
    outputs[0] = gantry_gather(scope, doubled, inputs[1], 0);
}

static void branching(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *largest = gantry_max(scope, inputs[0], NULL),
                          *is_small = gantry_less(scope, largest, gantry_scalar_i32(scope, 100));
    gantry_scope_name_next(scope, "choice");
    (void)gantry_cond(scope, is_small, dividing, picking, user, inputs, 2, outputs, 1);
}

static void going_on(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, inputs[0], gantry_scalar_i32(scope, 3));
}

static void stepping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 1));
    dividing(scope, inputs + 1, outputs + 1, user);
    outputs[2] = inputs[2];
}

static void looping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *values[] = {gantry_scalar_i32(scope, 0), inputs[0], inputs[1]};
    gantry_scope_name_next(scope, "loop");
    (void)gantry_while(scope, going_on, stepping, user, values, 3, NULL, values);
    outputs[0] = values[1];
}

static const struct {
    gantry_function_body_fn body;
    const char *beginning; /* with the device in place of % */
} cases[] = {
    {dividing,
     "function f: node quotient (FloorDiv) of int32[4], int32[4] on %: Integer division "
     "by zero"},
    {picking,
     "function f: node pick (Gather) of int32[4], int32[4], int32[] on %: indices[2] = 9 "
     "is not in [0, 4)"},
    {branching,
     "function f: node choice (If) on %: then_body: node quotient (FloorDiv) of "
     "int32[4], int32[4] on %: "},
    {looping,
     "function f: node loop (While) on %: body: node quotient (FloorDiv) of int32[4], "
     "int32[4] on %: "},
};

static void expect_beginning(const char *text, const char *device) {
    const char *message = gantry_last_message();
    char expected[256];
    size_t length = 0;
    for (; *text; ++text)
        length +=
            (size_t)snprintf(expected + length, sizeof expected - length, "%.*s",
                             *text == '%' ? (int)strlen(device) : 1, *text == '%' ? device : text);
    if (strncmp(message, expected, length) != 0) fail_msg("%s\nmessage: %s", expected, message);
}

static const gantry_tensor_t *make(gantry_scope_t *scope, int32_t third) {
    return I32(scope, 1, 2, third, 3);
}

/* Calls the function with good data, with bad data, and with good data again, reads the bad result,
 * then the good ones. */
static void try_case(gantry_runtime_t *runtime, const char *device, size_t number,
                     uint32_t passes_off) {
    static const gantry_input_spec_t specs[] = {{"x", GANTRY_INT32, {.rank = 1, .dims = {4}}},
                                                {"y", GANTRY_INT32, {.rank = 1, .dims = {4}}}};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    const bool picks = cases[number].body == picking;
    const gantry_tensor_t *results[3];
    int32_t read[3][4];
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    gantry_function_t *function =
        function_fixture_trace(runtime, cases[number].body, NULL, specs, 2, 1, &options);
    gantry_status_t bad = GANTRY_OK;
    for (int i = 0; i < 3; ++i) {
        const gantry_tensor_t *inputs[] = {I32(scope, 5, 6, 7, 8), make(scope, i != 1  ? 1
                                                                               : picks ? 9
                                                                                       : 0)};
        const gantry_status_t status =
            gantry_function_call(scope, function, inputs, 2, &results[i], 1);
        if (i != 1) assert_int_equal(status, GANTRY_OK);
        if (i != 1) continue;
        bad = status; /* at once on the CPU and in the loop */
        if (bad == GANTRY_OK) bad = gantry_tensor_read(results[1], read[1], sizeof read[1]);
        assert_int_equal(bad, GANTRY_INVALID_ARGUMENT);
        expect_beginning(cases[number].beginning, device);
        gantry_scope_clear(scope);
    }
    gantry_function_release(function);
    for (int i = 0; i < 3; i += 2)
        assert_int_equal(gantry_tensor_read(results[i], read[i], sizeof read[i]), GANTRY_OK);
    assert_memory_equal(read[0], read[2], sizeof read[0]);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(errors_name_function_and_node_on_each_device) {
    static const char *const devices[] = {"/device:CPU:0", "/device:GPU:0"};
    gantry_runtime_t *runtime = module_runtime_open();
    for (size_t d = 0; d < 2; ++d) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
            try_case(runtime, devices[d], i, 0);
            try_case(runtime, devices[d], i, GANTRY_PASS_ALL);
        }
    }
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
