/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A program that is started has its arguments, the variables that were changed for it
 * with the others, and the report's end.
 * Promise: How a started program ended is known: its code, a fault of its own, that others ended
 * it, or that it runs on.
 * Promise: A program that is not there is an error of the start.
 * Promise: A process knows its number, its command line, its machine and its threads' numbers, of
 * which no two are alike. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/paths.h"
#include "base/os/environment.h"
#include "base/os/files.h"
#include "base/os/library.h"
#include "base/os/process.h"
#include "base/os/thread.h"
#include "test.h"

#define MINUTE_NS UINT64_C(60000000000)
#define PAUSE_NS UINT64_C(1000000)

static const char *own_file(void) {
    static const char here = 0;
    return gantry__os_library_own_file(&here);
}

/* Starts this program with an action, and a report whose reading end it returns. */
static int start_action(const char *action, const char *const *variables,
                        gantry__os_child_t *out_child) {
    const char *const arguments[] = {"room_base", "test_os_process", action, NULL};
    int reading, writing;
    assert_int_equal(gantry__os_pipe(&reading, &writing), 0);
    const gantry__os_start_t start = {
        .program = own_file(), .arguments = arguments, .variables = variables, .report = writing};
    assert_int_equal(gantry__os_child_start(&start, out_child), 0);
    assert_int_equal(gantry__os_close(writing), 0);
    return reading;
}

static gantry__os_end_t run_action(const char *action, int *out_code) {
    gantry__os_child_t child;
    const int reading = start_action(action, NULL, &child);
    *out_code = -1;
    const gantry__os_end_t end = gantry__os_child_wait(&child, MINUTE_NS, PAUSE_NS, out_code);
    assert_int_equal(gantry__os_close(reading), 0);
    return end;
}

TEST(a_child_has_its_variables_and_its_report) {
    static const char *const variables[] = {"GANTRY_TEST_CHANGED=after", "GANTRY_TEST_NEW=n", NULL};
    gantry__os_child_t child;
    char text[64] = "";
    int code = -1;
    assert_int_equal(gantry__os_set_variable("GANTRY_TEST_CHANGED", "before"), 0);
    assert_int_equal(gantry__os_set_variable("GANTRY_TEST_KEPT", "kept"), 0);
    const int reading = start_action("variables", variables, &child);
    assert_int_equal(gantry__os_child_wait(&child, MINUTE_NS, PAUSE_NS, &code), GANTRY__OS_EXITED);
    assert_int_equal(code, 0);
    assert_true(gantry__os_read(reading, text, sizeof text - 1) > 0);
    assert_string_equal(text, "after n kept");
    assert_int_equal(gantry__os_read(reading, text, sizeof text), 0); /* the end */
    assert_int_equal(gantry__os_close(reading), 0);
    assert_int_equal(gantry__os_set_variable("GANTRY_TEST_CHANGED", NULL), 0);
    assert_int_equal(gantry__os_set_variable("GANTRY_TEST_KEPT", NULL), 0);
}

TEST(the_end_of_a_child_is_known) {
    int code;
    assert_true(gantry__os_child_can_wait());
    assert_int_equal(run_action("seven", &code), GANTRY__OS_EXITED);
    assert_int_equal(code, 7);
    assert_int_equal(run_action("abort", &code), GANTRY__OS_CRASHED);
}

TEST(a_child_that_runs_on_is_ended) {
    gantry__os_child_t child;
    char got;
    int code;
    const int reading = start_action("sleep", NULL, &child);
    assert_int_equal(gantry__os_child_wait(&child, 0, PAUSE_NS, &code), GANTRY__OS_RUNS);
    gantry__os_child_kill(&child);
    assert_int_equal(gantry__os_read(reading, &got, 1), 0); /* nobody has the other end */
    assert_int_equal(gantry__os_close(reading), 0);
}

TEST(a_missing_program_is_an_error) {
    static const char *const arguments[] = {"none", NULL};
    const gantry__os_start_t start = {
        .program = "/no/such/program", .arguments = arguments, .report = -1};
    gantry__os_child_t child;
    assert_int_equal(gantry__os_child_start(&start, &child), ENOENT);
}

static void *number_of_thread(void *out) {
    *(uint64_t *)out = gantry__os_thread();
    return NULL;
}

TEST(a_process_knows_itself) {
    char line[4096], host[256], system[64] = "", machine[64] = "";
    gantry__thread_t thread;
    uint64_t other = gantry__os_thread();
    assert_true(gantry__os_process() > 0);
    assert_int_equal(gantry__os_process(), gantry__os_process());
    gantry__os_command_line(line, sizeof line);
    assert_non_null(strstr(line, "test_os_process"));
    gantry__os_command_line(line, 5);
    assert_int_equal(strlen(line), 4);
    gantry__os_host_name(host, sizeof host);
    assert_true(*host != '\0');
    gantry__os_system_name(system, machine, sizeof system);
    assert_true(*system && *machine);
    assert_true(gantry__os_memory_bytes() > 0);
    assert_int_equal(gantry__os_thread(), other);
    assert_int_equal(gantry__thread_start(&thread, 0, number_of_thread, &other), 0);
    gantry__thread_join(thread);
    assert_true(other != gantry__os_thread());
}

/* ---- the child ---- */

static void add_value(char *text, size_t text_bytes, const char *name) {
    const size_t used = strlen(text);
    if (gantry__os_variable(name, text + used, text_bytes - used) == 0)
        (void)strcat(text, "(none)");
}

static int act(const char *action) {
    char text[64] = "";
    if (strcmp(action, "seven") == 0) return 7;
    /* the old C runtime of Windows takes abort for an exit */
    if (strcmp(action, "abort") == 0 && strcmp(gantry__os_library_ending, ".dll") == 0)
        __builtin_trap();
    if (strcmp(action, "abort") == 0) abort();
    if (strcmp(action, "sleep") == 0) gantry__os_sleep_ns(MINUTE_NS);
    add_value(text, sizeof text, "GANTRY_TEST_CHANGED");
    (void)strcat(text, " ");
    add_value(text, sizeof text, "GANTRY_TEST_NEW");
    (void)strcat(text, " ");
    add_value(text, sizeof text, "GANTRY_TEST_KEPT");
    return gantry__os_write(GANTRY__OS_CHILD_REPORT, text, strlen(text), GANTRY__OS_NEXT) < 0;
}

int main(int count, char **arguments) { return count == 2 ? act(arguments[1]) : test_main(); }
