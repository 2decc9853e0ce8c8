/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: PoCL is left out where the ld that it would call makes no programs for this machine.
 * Promise: The ld that PoCL would call is tried: PoCL is left out with the reason if it fails,
 * hangs, is empty or belongs to another machine.
 * Promise: Files named ld that PoCL passes over (folders, broken links, pipes) leave nothing out.
 * Promise: A linker that linked is recorded and not tried again, unless its file or the record
 * changed.
 * Promise: PoCL is left out, or its build refused, in a process that ignores SIGCHLD.
 * A test that needs a mount is skipped, with the reason, on systems without one. */
#define _GNU_SOURCE

#include "pocl_case.h"
#include "test.h"

/* An ld in the folder "wrong", made by a shell line. */
#define SCRIPT(lines) "printf '#!/bin/sh\\n" lines "\\n' >wrong/ld; chmod 755 wrong/ld"
#define FRESH "rm -rf wrong trial; mkdir -p -m 700 wrong trial; "
#define TRIAL "POCL_CACHE_DIR=$PWD/trial "

static void expect_linker_refused(const char *make, const char *path, const char *why) {
    char line[512];
    expect_run(0, make);
    (void)snprintf(line, sizeof line, TRIAL "%s $BIN/gantry devices", path);
    expect_run(0, line);
    expect_in_output("PoCL links each kernel with the first program ld that is found, /");
    expect_in_output(" when it was tried: ");
    expect_in_output(why);
    (void)snprintf(line, sizeof line, TRIAL "%s $SELF op add", path);
    expect_run(0, line);
    expect_in_output("add on /device:CPU:0: 2, OK");
    expect_run(1, "ls trial | grep gantry");
}

TEST(linker_that_fails_refuses_the_device) {
    static const char first[] = "PATH=$PWD/wrong:$PATH";
    static const struct {
        const char *make, *path, *why;
    } cases[] = {
        {FRESH SCRIPT("exit 1"), first, "/wrong/ld, which linked no library for "},
        {FRESH SCRIPT("exit 1"), first, ": it ended with exit code 1; mend PATH, so that"},
        {FRESH SCRIPT("kill -9 $$"), first, "it ended by signal 9"},
        {FRESH SCRIPT("exit 0"), first, "it wrote no library"},
        {FRESH "printf '#!/none\\n' >wrong/ld; chmod 755 wrong/ld", first, "it cannot be started"},
        {FRESH ": >wrong/ld; chmod 755 wrong/ld", first, "it cannot be started: Exec format error"},
        {FRESH "echo text >wrong/ld; chmod 755 wrong/ld", first, "it cannot be started"},
        {FRESH "cp /bin/true wrong/ld", first, "it wrote no library"},
        {FRESH "(head -c 18 /bin/true; printf '\\26\\0'; tail -c +21 /bin/true) >wrong/ld; "
               "chmod 755 wrong/ld",
         first, "it cannot be started: Exec format error"}, /* an S390's */
        {FRESH "ln -s /bin/false wrong/ld", first, "it ended with exit code 1"},
        {FRESH SCRIPT("exit 1"), "COMPILER_PATH=$PWD/wrong", "mend COMPILER_PATH, so that"},
        {FRESH SCRIPT("exit 1") "; mv wrong/ld wrong/$(uname -m)-pc-linux-gnu-ld",
         "PATH=$PATH:$PWD/wrong", "-pc-linux-gnu-ld, which linked no library for "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        expect_linker_refused(cases[i].make, cases[i].path, cases[i].why);
    expect_run(
        0, FRESH SCRIPT("exec sleep 1000") "; PATH=$PWD/wrong:$PATH " TRIAL "$BIN/gantry devices");
    expect_in_output("it did not end in 10 s");
}

/* As Clang passes over them. */
TEST(files_that_are_no_programs_are_passed_over) {
    static const char *const files[] = {"mkdir wrong/ld", "ln -s none wrong/ld",
                                        "echo exit 1 >wrong/ld", "mkfifo -m 777 wrong/ld",
                                        "ln -s /dev/null wrong/ld"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, FRESH "%s; PATH=$PWD/wrong:$PATH " TRIAL "$SELF op add",
                       files[i]);
        expect_run(0, line);
        expect_in_output("add on /device:GPU:0: 2, OK");
    }
    expect_run(
        0,
        FRESH SCRIPT(
            "exec $(PATH=/usr/bin:/bin command -v ld) \"$@\"") "; PATH=$PWD/wrong:$PATH " TRIAL
                                                               "$SELF op add"); /* a script that links */
    expect_in_output("add on /device:GPU:0: 2, OK");
}

TEST(trials_that_were_killed_are_removed) {
    expect_run(0, FRESH
               "mkdir trial/gantry_link_abcdef trial/gantry_link_fedcba && "
               "touch trial/gantry_link_abcdef/in.o && "
               "touch -d '1 hour ago' trial/gantry_link_abcdef && " TRIAL
               "$BIN/gantry devices && ls trial");
    expect_in_output("gantry_link_fedcba"); /* a process may be at it */
    if (strstr(output, "gantry_link_abcdef")) fail_msg("not removed:\n%s", output);
}

/* A trial removes old folders of other trials. */
TEST(linker_that_linked_is_recorded) {
    static const char old[] =
        "mkdir -p trial/gantry_link_abcdef; touch -d '1 hour ago' trial/gantry_link_abcdef; " TRIAL
        "$BIN/gantry devices; ls trial";
    char line[512];
    expect_run(0, FRESH TRIAL "$BIN/gantry devices; grep '/ld [0-9]' trial/gantry_linker");
    expect_run(0, old);
    expect_in_output("gantry_link_abcdef"); /* there was no trial */
    static const char *const changes[] = {"sed -i 's/ld [0-9]*/ld 1/' trial/gantry_linker; ",
                                          ": >trial/gantry_linker; ",
                                          "rm trial/gantry_linker; mkfifo trial/gantry_linker; ",
                                          "head -c 100000 /dev/zero >trial/gantry_linker; "};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
        (void)snprintf(line, sizeof line, "%s%s", changes[i], old);
        expect_run(0, line);
        if (strstr(output, "gantry_link_abcdef")) fail_msg("no trial:\n%s", output);
        expect_run(0, "grep '/ld [0-9]' trial/gantry_linker");
    }
    expect_run(0, "mkdir -p wrong; cp /bin/true wrong/ld; PATH=$PWD/wrong:$PATH " TRIAL
                  "$BIN/gantry devices");
    expect_in_output("it wrote no library");
}

TEST(process_that_ignores_sigchld_is_refused) {
    static const char reason[] =
        "cannot wait for it, because this process ignores the signal SIGCHLD";
    expect_run(0, FRESH TRIAL "env --ignore-signal=CHLD $BIN/gantry devices");
    expect_in_output(reason);
    expect_run(0, FRESH TRIAL "env --ignore-signal=CHLD $SELF op add");
    expect_in_output("add on /device:CPU:0: 2, OK");
    expect_run(0, FRESH TRIAL "$SELF op add ignore exp");
    expect_in_output("add on /device:GPU:0: 2, OK");
    expect_in_output("exp on no device: 0, FailedPrecondition");
    expect_in_output(reason);
}

/* The linker of a cross compiler is not the one that Clang finds without PATH. */
TEST(linker_of_a_cross_compiler_is_not_taken) {
    if (!is_here(
            "no mount over /usr",
            "mkdir -p cross/$(uname -m)-w64-mingw32/bin && cp /bin/true cross/$(uname -m)-w64-mingw32/bin/ld && "
            "unshare -m mount -t overlay overlay -o lowerdir=$PWD/cross:/usr /usr"))
        skip();
    expect_run(
        0,
        "unshare -m sh -c 'mount -t overlay overlay -o lowerdir=$PWD/cross:/usr /usr && POCL_CACHE_DIR=$PWD/no_linker PATH=/nonexistent \"$SELF\" op add'");
    expect_in_output("add on /device:CPU:0: 2, OK");
}

TEST(linker_that_is_missing_refuses_the_device) {
    expect_run(0, "POCL_CACHE_DIR=$PWD/no_linker PATH=/nonexistent $BIN/gantry devices");
    expect_in_output(
        "PoCL links each kernel with the program ld, which is in no folder of PATH (\"/nonexistent\"): install binutils, or mend PATH");
    expect_run(0, "POCL_CACHE_DIR=$PWD/no_linker PATH=/nonexistent $SELF op add");
    expect_in_output("add on /device:CPU:0: 2, OK");
    expect_run(0, "/usr/bin/env -u PATH POCL_CACHE_DIR=$PWD/no_linker $BIN/gantry devices");
    expect_in_output("PATH (not set)");
}

TEST(linker_without_its_libraries_refuses_the_device) {
    if (!has_mounts()) skip();
    if (!is_here("no GCC whose files can be hidden",
                 "test -d /usr/lib/gcc -a ! -d /usr/local/lib/gcc -a -x /usr/bin/ld"))
        skip();
    expect_run(
        0,
        "unshare -m sh -c 'mount -t tmpfs tmpfs /usr/lib/gcc && POCL_CACHE_DIR=$PWD/no_linker PATH=/usr/bin:/bin $BIN/gantry devices'");
    expect_in_output(
        "PoCL links each kernel with /usr/bin/ld, and GCC's libgcc.a is not found: install gcc");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "op") == 0) return run_ops(argc - 2, argv + 2);
    (void)unsetenv("COMPILER_PATH"); /* it comes before PATH */
    if (open_folder() != 0) return 1;
    const int code = begin_pocl();
    if (code != 0) return code;
    int failed = test_main();
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
