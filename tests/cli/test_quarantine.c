/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that ends the process while it is opened is tried in a process of its own the next time,
 * and left out after two crashes in a row, until one of its files changes. Processes that live,
 * folders that cannot be written and GANTRY_DRIVER_QUARANTINE=0 leave nothing out. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"

#define ABORTED (128 + 6)
#define DEVICES "$BIN/gantry devices --json"
#define CRASH "FAKE_CRASH=abort " DEVICES
#define LEFT_OUT \
    "ended the process twice in a row while backend crashing opened them (it ended by signal 6; the code of libcrash?.so ran last)"

/* For at most 10 seconds. */
#define AWAIT_NOTES(count)                                                         \
    " i=0; until test $(ls kernels/drivers 2>/dev/null | grep -c 'try$') = " count \
    " || test $((i += 1)) = 1000; do sleep 0.01; done; "

static void expect_usable(const char *line) {
    expect_run(0, line);
    if (strstr(output, "twice in a row"))
        fail_msg("%s: the backend is left out:\n%s", line, output);
}

static void expect_no_files(void) {
    expect_run(0, "test ! -e kernels/drivers || { find kernels/drivers; false; }");
}

static int begin(void **state) {
    (void)state;
    return run("rm -rf kernels driver && echo 1 >driver");
}

static void second_crash_happens_in_a_process_of_its_own(void **state) {
    (void)state;
    expect_run(ABORTED, CRASH);
    expect_run(0, CRASH);
    expect_in_output("left out: its drivers (./driver, /none) " LEFT_OUT);
    expect_in_output("GANTRY_DRIVER_QUARANTINE=0");
    expect_in_output("kernels/drivers/crashing.crashed");
    expect_in_output(
        "did not survive it (the code of libcrash?.so ran last): a process of its own");
    expect_run(0, DEVICES); /* it stays out, although it works now */
    expect_in_output(LEFT_OUT);
    expect_run(0, "rm kernels/drivers/crashing.crashed");
    expect_usable(DEVICES);
    expect_no_files();
}

static void changed_file_is_another_driver(void **state) {
    (void)state;
    expect_run(ABORTED, CRASH);
    expect_run(0, CRASH);
    expect_in_output(LEFT_OUT);
    expect_run(0, "echo 22 >driver");
    expect_run(ABORTED, CRASH); /* its first crash */
    expect_run(0, "touch -d @1 driver");
    expect_usable(DEVICES);
    expect_no_files();
}

static void crashes_count_only_in_a_row(void **state) {
    (void)state;
    expect_run(ABORTED, CRASH);
    expect_usable(DEVICES);
    expect_no_files();
    expect_run(ABORTED, CRASH);
    expect_usable(DEVICES);
}

static void notes_of_living_processes_do_not_count(void **state) {
    (void)state;
    expect_usable("FAKE_CRASH=wait " DEVICES " >first & " AWAIT_NOTES("1") DEVICES
                  "; wait; cat first");
    expect_no_files();
}

static void killed_process_counts_once(void **state) {
    (void)state;
    expect_run(0, "FAKE_CRASH=hang " DEVICES " & " AWAIT_NOTES("1") "kill -9 $!; wait");
    expect_run(0, "test $(ls kernels/drivers | grep -c 'try$') = 1");
    expect_usable(DEVICES);
    expect_no_files();
}

static void crashes_at_the_same_time_count_once(void **state) {
    (void)state;
    expect_run(0, "for i in 1 2 3; do FAKE_CRASH=hang " DEVICES
                  " & all=\"$all $!\"; done;" AWAIT_NOTES("3") "kill -9 $all; wait");
    expect_run(0, "test $(ls kernels/drivers | grep -c 'try$') = 3");
    expect_usable(DEVICES);
    expect_no_files();
}

static void without_quarantine_each_process_crashes(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        expect_run(ABORTED, "GANTRY_DRIVER_QUARANTINE=0 " CRASH);
        expect_run(ABORTED, "GANTRY_KERNEL_CACHE= " CRASH);
        expect_run(ABORTED, "GANTRY_KERNEL_CACHE=/proc/none " CRASH);
    }
    expect_no_files();
    expect_usable("GANTRY_KERNEL_CACHE=/proc/none " DEVICES);
}

static void bad_setting_names_variable_and_values(void **state) {
    (void)state;
    assert_int_not_equal(run("GANTRY_DRIVER_QUARANTINE=perhaps " DEVICES), 0);
    expect_in_output("GANTRY_DRIVER_QUARANTINE");
    expect_in_output("perhaps");
}

static void damaged_records_are_no_crashes(void **state) {
    (void)state;
    expect_run(0,
               "mkdir -p kernels/drivers && cd kernels/drivers && : >crashing.1.try &&"
               " head -c 40 /dev/zero >crashing.2.try && touch -d @1 crashing.3.try.new &&"
               " head -c 9999 /dev/urandom >crashing.crashed && mkdir crashing.4.try");
    expect_usable(DEVICES);
    expect_run(0,
               "rmdir kernels/drivers/crashing.4.try && rm -f kernels/drivers/crashing.crashed &&"
               " rmdir kernels/drivers");
}

static void probe_tells_an_unknown_device(void **state) {
    (void)state;
    expect_run(0, "$BIN/gantry probe cpu:0");
    expect_run(0, "$BIN/gantry probe crashing"); /* a backend: nothing is opened */
    expect_run(3, "$BIN/gantry probe cpu:99");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(second_crash_happens_in_a_process_of_its_own, begin),
        cmocka_unit_test_setup(changed_file_is_another_driver, begin),
        cmocka_unit_test_setup(crashes_count_only_in_a_row, begin),
        cmocka_unit_test_setup(notes_of_living_processes_do_not_count, begin),
        cmocka_unit_test_setup(killed_process_counts_once, begin),
        cmocka_unit_test_setup(crashes_at_the_same_time_count_once, begin),
        cmocka_unit_test_setup(without_quarantine_each_process_crashes, begin),
        cmocka_unit_test_setup(bad_setting_names_variable_and_values, begin),
        cmocka_unit_test_setup(damaged_records_are_no_crashes, begin),
        cmocka_unit_test_setup(probe_tells_an_unknown_device, begin),
    };
    if (open_folder() != 0) return 1;
    (void)setenv("GANTRY_BACKENDS", "cpu,crashing", 1);
    (void)setenv("GANTRY_BACKEND_PATH", GANTRY_TEST_MODULES "/crashing", 1);
    (void)setenv("GANTRY_KERNEL_CACHE", "kernels", 1);
    (void)setenv("FAKE_FILES", "./driver\n/none\n", 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
