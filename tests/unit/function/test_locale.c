/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The program's locale changes no name, no setting and no text: in Turkish, numbers have a
 * comma, and the C library knows no small "I". */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"
#include "turkish.h"

static void naming_alike(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    (void)gantry_scope_name_next(scope, "INDEX");
    const gantry_tensor_t *first = gantry_matmul(scope, inputs[0], inputs[0], NULL);
    (void)gantry_scope_name_next(scope, "index");
    outputs[0] = gantry_matmul(scope, first, first, NULL);
}

TEST(names_and_numbers_are_those_of_the_c_locale) {
    const gantry_input_spec_t input = SPEC_F32(2, 2);
    static char text[4096];
    if (!turkish_begin()) {
        print_message("SKIP: no Turkish locale, and localedef cannot make it\n");
        skip();
    }
    (void)snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, naming_alike, NULL, &input, 1, 1, NULL);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text, "\nindex_1 "));
    gantry_function_release(function);
    runtime_fixture_close(&f);

    gantry_runtime_t *none;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .memory_fraction = 1.5};
    expect_refusal(gantry_runtime_create(&options, &none), GANTRY_INVALID_ARGUMENT,
                   "memory_fraction is 1.5;");
    (void)snprintf(text, sizeof text, "%.1f", 0.5); /* the program's locale is as before */
    assert_string_equal(text, "0,5");
    turkish_end();
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
