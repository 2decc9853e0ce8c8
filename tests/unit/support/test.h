/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of one file, run in the order in which they are written:
 *
 *     TEST(sum_of_nothing_is_zero) { assert_int_equal(sum(NULL, 0), 0); }
 *
 *     int main(void) { return test_main(); }
 *
 * TEST enters the test in its file's list before main, so that no test can be left out. A test may
 * read cmocka's `state`. Owner: each file owns its list. Threads: main's only. */
#ifndef GANTRY_TESTS_TEST_H
#define GANTRY_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST_MOST 128 /* tests of one file */

static struct CMUnitTest test_list[TEST_MOST];
static size_t test_count;

/* One test; set_up and tear_down run around this one and may be NULL. */
#define TEST_WITH(name, set_up, tear_down)                                         \
    static void name(void **state);                                                \
    __attribute__((constructor)) static void enter_##name(void) {                  \
        test_enter((struct CMUnitTest){#name, name, (set_up), (tear_down), NULL}); \
    }                                                                              \
    static void name(__attribute__((unused)) void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test beyond TEST_MOST is counted, so that test_main fails. */
static inline void test_enter(struct CMUnitTest test) {
    if (test_count < TEST_MOST) test_list[test_count] = test;
    ++test_count;
}

/* Runs the file's tests between first and last, and each that has no set_up and tear_down of its
 * own between before and after; any may be NULL. Returns the number of failures, as main does. */
static inline int test_main_with(CMFixtureFunction first, CMFixtureFunction last,
                                 CMFixtureFunction before, CMFixtureFunction after) {
    if (!test_count || test_count > TEST_MOST) {
        print_error("%zu tests; 1 to %d are accepted\n", test_count, TEST_MOST);
        return 1;
    }
    for (size_t i = 0; i < test_count; ++i) {
        if (test_list[i].setup_func || test_list[i].teardown_func) continue;
        test_list[i].setup_func = before;
        test_list[i].teardown_func = after;
    }
    return _cmocka_run_group_tests("tests", test_list, test_count, first, last);
}

static inline int test_main_each(CMFixtureFunction before, CMFixtureFunction after) {
    return test_main_with(NULL, NULL, before, after);
}

static inline int test_main(void) { return test_main_with(NULL, NULL, NULL, NULL); }

#endif
