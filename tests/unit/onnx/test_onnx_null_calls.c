/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every function of libgantry_onnx refuses NULL in each place, or gives it the meaning
 * that its header names.
 *
 * null_calls.awk reads the functions from the headers. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_test.h"

const null_place_t null_places[] = {MAY_BE_NULL("*", "options") MAY_BE_NULL("*", "out_needed")
                                        MAY_BE_NULL("gantry_onnx_model_trace", "device")};
const size_t null_place_count = sizeof null_places / sizeof null_places[0];
const size_t null_least_functions = 12;

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_that_may_be_null_exists),
        cmocka_unit_test(every_function_with_null_in_each_place_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
