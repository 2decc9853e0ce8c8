/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A variable's value is written with its end where there is room, its size is known where
 * there is none, and a variable that is not set has size 0.
 * Promise: Each variable is visited once, until the visitor ends the visits. */
#include <string.h>

#include "base/os/environment.h"
#include "test.h"

#define NAME "GANTRY_TEST_VARIABLE"

TEST(a_value_is_written_where_there_is_room) {
    char out[8] = "before";
    assert_int_equal(gantry__os_variable(NAME, out, sizeof out), 0);
    assert_int_equal(gantry__os_set_variable(NAME, "four"), 0);
    assert_int_equal(gantry__os_variable(NAME, NULL, 0), 5);
    assert_int_equal(gantry__os_variable(NAME, out, 4), 5);
    assert_string_equal(out, "before");
    assert_int_equal(gantry__os_variable(NAME, out, 5), 5);
    assert_string_equal(out, "four");
    assert_int_equal(gantry__os_secure_variable(NAME, out, sizeof out), 5);
    assert_int_equal(gantry__os_set_variable(NAME, "\xc3\xbc"), 0);
    assert_int_equal(gantry__os_variable(NAME, out, sizeof out), 3);
    assert_string_equal(out, "\xc3\xbc");
    assert_int_equal(gantry__os_set_variable(NAME, NULL), 0);
    assert_int_equal(gantry__os_variable(NAME, out, sizeof out), 0);
}

static bool count_name(void *user, const char *assignment) {
    *(int *)user += strcmp(assignment, NAME "=seen") == 0;
    return true;
}

static bool count_first(void *user, const char *assignment) {
    (void)assignment;
    ++*(int *)user;
    return false;
}

TEST(each_variable_is_visited) {
    int count = 0, first = 0;
    assert_int_equal(gantry__os_set_variable(NAME, "seen"), 0);
    gantry__os_variables_visit(count_name, &count);
    gantry__os_variables_visit(count_first, &first);
    assert_int_equal(count, 1);
    assert_int_equal(first, 1);
    assert_int_equal(gantry__os_set_variable(NAME, NULL), 0);
}

int main(void) { return test_main(); }
