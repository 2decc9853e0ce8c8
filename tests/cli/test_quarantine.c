/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A driver that ended a process while it was opened is tried in a process of its own, and
 * left out with a warning only if that process crashes, exits or hangs.
 * Promise: A driver that calls exit is left out at the next start, whatever the exit code, also 0.
 * Promise: Starts that are interrupted or killed (SIGINT, SIGTERM, SIGHUP, SIGKILL) leave no driver
 * out, however often.
 * Promise: A driver that is left out is tried again after a day, after a change of its files, and
 * after the command that the warning and gantry doctor name.
 * Promise: A command or a module next to the library that others may write is neither started nor
 * opened, and a warning names it.
 * Promise: A backend in the library's own folder that the list of wanted backends leaves out is not
 * opened, even if its file is damaged or others may write it.
 * Promise: Where drivers are opened without a trial, as without the gantry command next to the
 * library, gantry_backend_status says why, and after a crash a warning does.
 * Promise: Pipes, folders, links and huge files in the place of a note or a record are no crashes,
 * and nobody waits for them.
 * Processes that live, folders that cannot be written or that others may write, and
 * GANTRY_DRIVER_QUARANTINE=0 leave nothing out. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#define ABORTED (128 + 6)
#define DEVICES "$BIN/gantry devices --json"
#define CRASH "FAKE_CRASH=abort " DEVICES
#define LEFT_OUT \
    "ended the process that tried to open backend crashing first (it ended by signal 6; the code of libcrash?.so ran last)"

/* For at most 10 seconds. */
#define AWAIT_NOTES(count)                                                         \
    " i=0; until test $(ls kernels/drivers 2>/dev/null | grep -c 'try$') = " count \
    " || test $((i += 1)) = 1000; do sleep 0.01; done; "

static void expect_usable(const char *line) {
    expect_run(0, line);
    if (strstr(output, "is left out")) fail_msg("%s: the backend is left out:\n%s", line, output);
}

static void expect_no_files(void) {
    expect_run(0, "test ! -e kernels/drivers || { find kernels/drivers; false; }");
}

static int begin(void **state) {
    (void)state;
    return run("rm -rf kernels driver && echo 1 >driver");
}

TEST(crash_of_the_trial_leaves_the_driver_out) {
    expect_run(ABORTED, CRASH);
    expect_run(0, CRASH);
    expect_in_output(
        "warning: Backend crashing is left out: its drivers (./driver, /none) " LEFT_OUT);
    expect_in_output("GANTRY_DRIVER_QUARANTINE=0");
    expect_in_output("rm 'kernels/drivers/crashing.crashed'");
    expect_run(0, "GANTRY_LOG_LEVEL=info " DEVICES); /* it stays out, although it works now */
    expect_in_output("warning: Backend crashing is left out");
    expect_in_output(LEFT_OUT);
    (void)run("$BIN/gantry doctor");
    expect_in_output(
        "rm 'kernels/drivers/crashing.crashed'  # Gantry then tries this driver again");
    expect_run(0, "rm 'kernels/drivers/crashing.crashed'");
    expect_usable(DEVICES);
    expect_no_files();
}

TEST(exit_of_the_trial_leaves_the_driver_out) {
    static const int codes[] = {0, 1, 2, 3, 7, 126, 127, 255};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
        char line[128];
        (void)run("rm -rf kernels");
        (void)snprintf(line, sizeof line, "FAKE_CRASH=exit:%d " DEVICES, codes[i]);
        expect_run(codes[i], line);
        expect_run(0, line);
        (void)snprintf(line, sizeof line,
                       "a driver ended it with exit code %d; the code of libcrash?.so ran last",
                       codes[i]);
        expect_in_output(line);
        expect_in_output("cpu:0");
    }
}

TEST(record_is_in_force_for_a_day) {
    expect_run(ABORTED, CRASH);
    expect_run(0, CRASH);
    expect_run(0, "sed -i 2s/.*/$(($(date +%s) - 86000))/ kernels/drivers/crashing.crashed");
    expect_run(0, DEVICES);
    expect_in_output(LEFT_OUT);
    expect_run(0, "sed -i 2s/.*/$(($(date +%s) - 86500))/ kernels/drivers/crashing.crashed");
    expect_run(0, CRASH); /* the trial crashes again */
    expect_in_output("is left out");
    expect_run(0, DEVICES);
    expect_in_output("is left out");
    expect_run(0, "sed -i 2s/.*/$(($(date +%s) - 86500))/ kernels/drivers/crashing.crashed");
    expect_usable(DEVICES);
    expect_no_files();
    expect_run(ABORTED, CRASH);
    expect_run(0, CRASH);
    expect_run(0, "sed -i 2s/.*/99999999999/ kernels/drivers/crashing.crashed"); /* of the future */
    expect_usable(DEVICES);
}

/* The signal ends the program, and then the process of its own, too. */
TEST(interrupted_starts_leave_no_driver_out) {
    static const int signals[] = {1, 2, 3, 9, 13, 15};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i) {
        for (int times = 0; times < 4; ++times)
            (void)run("FAKE_CRASH=signal:%d " DEVICES, signals[i]);
        expect_usable(DEVICES);
        expect_no_files();
    }
}

TEST(ctrl_c_does_not_reach_the_trial) {
    for (int times = 0; times < 2; ++times) {
        (void)run("FAKE_CRASH=signal:9 " DEVICES);
        expect_run(0,
                   "FAKE_CRASH=hang setsid $BIN/gantry devices & sleep 0.3; kill -TERM -$!; wait");
    }
    expect_usable(DEVICES);
    expect_no_files();
}

TEST(folder_of_others_keeps_no_record) {
    expect_run(0, "mkdir -p kernels/drivers && chmod 1777 kernels/drivers");
    for (int times = 0; times < 3; ++times) {
        expect_run(ABORTED, CRASH);
        expect_in_output("Crashes of drivers are not kept: others may write 'kernels/drivers'");
    }
}

/* A copy of the library, with a command and modules beside it. */
#define COPY "LD_LIBRARY_PATH=$PWD/lib "

static void make_copy(void) {
    if (run("test -e $BIN/../lib/libgantry.so.0") != 0) SKIP_BECAUSE("the library is static");
    expect_run(
        0,
        "rm -rf lib bin mark && mkdir -p lib/gantry bin && cp -L $BIN/../lib/libgantry.so.0 lib/ &&"
        " cp $GANTRY_BACKEND_PATH/*.so lib/gantry/ &&"
        " printf '#!/bin/sh\ntouch %s/mark\n' $PWD >bin/gantry && chmod 755 bin/gantry");
}

TEST(command_that_others_may_write_is_not_started) {
    static const char *const ways[] = {"chmod 777 bin/gantry", "chmod 777 bin",
                                       "chown 65534 bin/gantry"};
    make_copy();
    expect_run(ABORTED, COPY CRASH);
    expect_usable(COPY DEVICES);
    expect_run(0, "rm mark"); /* the user's own was started */
    for (size_t i = 0; i < (geteuid() == 0 ? 3 : 2); ++i) {
        make_copy();
        expect_run(0, ways[i]);
        expect_run(ABORTED, COPY CRASH);
        expect_usable(COPY DEVICES);
        expect_in_output("they are opened without a trial, because others may write '/tmp/");
        expect_run(0, "test ! -e mark");
    }
}

/* As in a program that brings only the library. */
TEST(driver_without_a_trial_is_said_to_be) {
    make_copy();
    expect_run(0, "rm bin/gantry; GANTRY_LOG_LEVEL=warning " COPY DEVICES);
    expect_in_output("\"untried\": \"the gantry command is not next to '/tmp/");
    if (strstr(output, "warning")) fail_msg("nothing crashed:\n%s", output);
    for (int times = 0; times < 2; ++times) {
        expect_run(ABORTED, COPY CRASH);
        if (times == 0) continue;
        expect_in_output(
            "warning: The last process that opened the drivers of backend crashing ended meanwhile (the code of libcrash?.so ran last): they are opened without a trial, because the gantry command is not next to '/tmp/");
    }
    expect_usable(COPY DEVICES);
    expect_no_files();
}

TEST(reason_for_no_trial_is_given) {
    static const struct {
        const char *environment, *why;
    } cases[] = {
        {"GANTRY_DRIVER_QUARANTINE=0", "GANTRY_DRIVER_QUARANTINE is off"},
        {"GANTRY_KERNEL_CACHE=", "GANTRY_KERNEL_CACHE is empty"},
        {"GANTRY_KERNEL_CACHE=/proc/none", "cannot make directory '/proc/none"},
        {"env -u GANTRY_KERNEL_CACHE -u HOME XDG_CACHE_HOME=relative",
         "XDG_CACHE_HOME, HOME and GANTRY_KERNEL_CACHE name no folder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, "%s $BIN/gantry devices --verbose", cases[i].environment);
        expect_run(0, line);
        expect_in_output("drivers without a trial: ");
        expect_in_output(cases[i].why);
    }
    expect_run(0, DEVICES);
    expect_in_output("\"untried\": \"\"");
    if (strstr(output, "next to")) fail_msg("there is a trial:\n%s", output);
}

TEST(modules_that_others_may_write_are_not_opened) {
    make_copy();
    expect_run(0, "unset GANTRY_BACKEND_PATH; " COPY DEVICES);
    expect_in_output("lib/gantry/libgantry_backend_crashing.so");
    expect_run(0, "chmod 1777 lib/gantry; unset GANTRY_BACKEND_PATH; " COPY DEVICES);
    expect_in_output(
        "The modules in the library's own folder are not opened: others may write '/tmp/");
    if (strstr(output, "libgantry_backend_crashing.so")) fail_msg("opened:\n%s", output);
    /* who may write the library gains nothing */
    expect_run(0, "chmod 666 lib/libgantry.so.0; unset GANTRY_BACKEND_PATH; " COPY DEVICES);
    expect_in_output("lib/gantry/libgantry_backend_crashing.so");
}

TEST(module_that_is_not_wanted_is_not_opened) {
    make_copy();
    expect_run(0,
               "rm lib/gantry/*.so; echo damaged >lib/gantry/libgantry_backend_opencl.so;"
               " chmod 1777 lib/gantry");
    expect_run(0, "unset GANTRY_BACKEND_PATH; " COPY "GANTRY_BACKENDS=cpu " DEVICES);
    expect_in_output("\"left out: the list of wanted backends is \\\"cpu\\\"\"");
    if (strstr(output, "own folder")) fail_msg("the folder is checked:\n%s", output);
    expect_run(0, "chmod 755 lib/gantry; unset GANTRY_BACKEND_PATH; " COPY
                  "GANTRY_BACKENDS=opencl " DEVICES);
    expect_in_output("libgantry_backend_opencl.so cannot be opened: ");
}

TEST(changed_file_is_another_driver) {
    expect_run(ABORTED, CRASH);
    expect_run(0, CRASH);
    expect_in_output(LEFT_OUT);
    expect_run(0, "echo 22 >driver");
    expect_run(ABORTED, CRASH); /* its first crash */
    expect_run(0, "touch -d @1 driver");
    expect_usable(DEVICES);
    expect_no_files();
}

TEST(crashes_count_only_in_a_row) {
    expect_run(ABORTED, CRASH);
    expect_usable(DEVICES);
    expect_no_files();
    expect_run(ABORTED, CRASH);
    expect_usable(DEVICES);
}

TEST(notes_of_living_processes_do_not_count) {
    expect_usable("FAKE_CRASH=wait " DEVICES " >first & " AWAIT_NOTES("1") DEVICES
                  "; wait; cat first");
    expect_no_files();
}

TEST(killed_process_counts_once) {
    expect_run(0, "FAKE_CRASH=hang " DEVICES " & " AWAIT_NOTES("1") "kill -9 $!; wait");
    expect_run(0, "test $(ls kernels/drivers | grep -c 'try$') = 1");
    expect_usable(DEVICES);
    expect_no_files();
}

TEST(processes_killed_in_crowds_leave_nothing_out) {
    for (int times = 0; times < 3; ++times) {
        expect_run(
            0,
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do FAKE_CRASH=hang " DEVICES
            " >/dev/null 2>&1 & all=\"$all\n$!\"; done; sleep 0.2; kill -9 $all; wait; :");
    }
    expect_run(
        0, "for i in 1 2 3 4 5 6 7 8; do " DEVICES " >out$i 2>&1 & done; wait; cat out?; rm out?");
    if (strstr(output, "is left out")) fail_msg("left out:\n%s", output);
    expect_usable(DEVICES);
    expect_run(1, "ls kernels/drivers 2>/dev/null | grep -E 'try$|crashed'");
}

TEST(home_that_cannot_be_written_keeps_no_record) {
    const char *user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    if (geteuid() != 0) user = "";
    if (run("%s test -x $BIN/gantry", user) != 0)
        SKIP_BECAUSE("no other user can run the programs");
    expect_run(0, "rm -rf home && mkdir -m 555 home && chmod 755 .");
    for (int times = 0; times < 3; ++times) {
        char line[512];
        (void)snprintf(line, sizeof line,
                       "%s env -u GANTRY_KERNEL_CACHE -u XDG_CACHE_HOME HOME=$PWD/home "
                       "FAKE_CRASH=abort $BIN/gantry devices --json",
                       user);
        expect_run(ABORTED, line);
    }
    expect_run(1, "ls -A home | grep .");
}

TEST(crashes_at_the_same_time_count_once) {
    expect_run(0, "for i in 1 2 3; do FAKE_CRASH=hang " DEVICES
                  " & all=\"$all\n$!\"; done;" AWAIT_NOTES("3") "kill -9 $all; wait");
    expect_run(0, "test $(ls kernels/drivers | grep -c 'try$') = 3");
    expect_usable(DEVICES);
    expect_no_files();
}

TEST(without_quarantine_each_process_crashes) {
    for (int i = 0; i < 3; ++i) {
        expect_run(ABORTED, "GANTRY_DRIVER_QUARANTINE=0 " CRASH);
        expect_run(ABORTED, "GANTRY_KERNEL_CACHE= " CRASH);
        expect_run(ABORTED, "GANTRY_KERNEL_CACHE=/proc/none " CRASH);
    }
    expect_no_files();
    expect_usable("GANTRY_KERNEL_CACHE=/proc/none " DEVICES);
}

TEST(bad_setting_names_variable_and_values) {
    assert_int_not_equal(run("GANTRY_DRIVER_QUARANTINE=perhaps " DEVICES), 0);
    expect_in_output("GANTRY_DRIVER_QUARANTINE");
    expect_in_output("perhaps");
}

TEST(damaged_records_are_no_crashes) {
    expect_run(0,
               "mkdir -p kernels/drivers && cd kernels/drivers && : >crashing.1.try &&"
               " head -c 40 /dev/zero >crashing.2.try && touch -d @1 crashing.3.try.new &&"
               " head -c 9999 /dev/urandom >crashing.crashed && mkdir crashing.4.try");
    expect_usable(DEVICES);
    expect_run(0,
               "rmdir kernels/drivers/crashing.4.try && rm -f kernels/drivers/crashing.crashed &&"
               " rmdir kernels/drivers");
}

/* In place of a record or of a note. A pipe would be waited for. */
TEST(files_of_another_kind_are_no_crashes) {
    static const char *const makes[] = {"mkfifo",
                                        "mkdir",
                                        "ln -s none",
                                        "ln -s /dev/zero",
                                        "truncate -s 4G",
                                        "ln -s $PWD/driver",
                                        "ln -s /proc/self/fd/0"};
    static const char *const names[] = {"crashing.crashed", "crashing.5.try", "crashing.5.try.new"};
    for (size_t i = 0; i < sizeof makes / sizeof makes[0]; ++i) {
        for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
            char line[256];
            (void)snprintf(line, sizeof line,
                           "rm -rf kernels; mkdir -p kernels/drivers && %s kernels/drivers/%s",
                           makes[i], names[k]);
            expect_run(0, line);
            expect_usable("timeout 20 " DEVICES " </dev/null");
            expect_run(ABORTED, CRASH);
            expect_run(0, "timeout 20 env " CRASH);
            expect_in_output("is left out");
        }
    }
}

TEST(probe_tells_an_unknown_device) {
    expect_run(0, "$BIN/gantry probe cpu:0");
    expect_run(0, "$BIN/gantry probe crashing"); /* a backend: nothing is opened */
    expect_run(3, "$BIN/gantry probe cpu:99");
}

int main(void) {
    if (open_folder() != 0) return 1;
    (void)setenv("GANTRY_BACKENDS", "cpu,crashing", 1);
    (void)setenv("GANTRY_BACKEND_PATH", GANTRY_TEST_MODULES "/crashing", 1);
    (void)setenv("GANTRY_KERNEL_CACHE", "kernels", 1);
    (void)setenv("FAKE_FILES", "./driver\n/none\n", 1);
    int failed = test_main_each(begin, NULL);
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
