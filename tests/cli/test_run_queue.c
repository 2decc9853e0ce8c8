/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: `gantry run` waits in a queue; its claims outlive a killed parent and end with the
 * child. */
#define _XOPEN_SOURCE 700

#include "run_case.h"
#include "test.h"

#include <fcntl.h>

/* The child works on, so its card stays claimed; /proc tells who has it. */
TEST(a_killed_parent_leaves_the_card_to_its_child) {
    NEED_OPENCL;
    write_file("last", "echo $$ >child; while [ ! -e stop ]; do sleep 0.02; done; rm stop child\n");
    expect_run(0, "{ " RUN
                  "sh ./last & run=$!; while [ ! -s child ]; do sleep 0.02; done; "
                  "kill -KILL $run; wait $run; } 2>/dev/null; $BIN/gantry claims; "
                  "echo \"child $(cat child)\"; touch stop; "
                  "while [ -e child ]; do sleep 0.02; done; $BIN/gantry claims");
    expect_in_output("    sh ./last\n");
    char held[64];
    (void)snprintf(held, sizeof held, "held by process");
    expect_in_output(held);
    const char *child = strstr(output, "\nchild ");
    assert_non_null(child);
    (void)snprintf(held, sizeof held, " %ld", strtol(child + 7, NULL, 10));
    expect_in_output(held);
    expect_in_output("no device is claimed");
}

/* ---- the queue ---- */

TEST(waiters_come_in_order_and_time_ends_the_wait) {
    NEED_OPENCL;
    write_file("hold", "echo x >holds; while [ ! -e stop ]; do sleep 0.02; done\n");
    expect_run(0, RUN
               "--gpus 2 sh ./hold & while [ ! -e holds ]; do sleep 0.02; done; "
               "$BIN/gantry run --wait 1m -- sh -c 'echo first >>order' 2>first & "
               "while ! grep -q waits first; do sleep 0.02; done; "
               "$BIN/gantry run --wait 1m -- sh -c 'echo second >>order' 2>second & "
               "while ! grep -q waits second; do sleep 0.02; done; "
               "$BIN/gantry run true; echo \"hasty $?\"; "
               "$BIN/gantry run --wait 0.2 true; echo \"late $?\"; $BIN/gantry claims; "
               "touch stop; wait; cat first second; rm stop holds first second");
    expect_in_output("2 others wait for GPUs; --wait stands in line\nhasty 1");
    expect_in_output("gantry run: waits, number 3 in the queue\n");
    expect_in_output("late 124");
    expect_in_output("2 claimants wait in the queue");
    expect_in_output("gantry run: waits for a GPU, first in the queue\n");
    expect_in_output("gantry run: waits, number 2 in the queue\n");
    expect_run(0, "wc -l <order; rm order");
    expect_in_output("2");
}

TEST(a_signal_ends_the_wait) {
    NEED_OPENCL;
    write_file("hold", "echo x >holds; while [ ! -e stop ]; do sleep 0.02; done\n");
    expect_run(143, RUN
               "--gpus 2 sh ./hold & while [ ! -e holds ]; do sleep 0.02; done; "
               "$BIN/gantry run --wait 1m -- touch started 2>waiting & waiter=$!; "
               "while ! grep -q waits waiting; do sleep 0.02; done; kill -TERM $waiter; "
               "wait $waiter; code=$?; $BIN/gantry claims; touch stop; wait; "
               "rm stop holds waiting; exit $code");
    assert_null(strstr(output, "in the queue"));
    expect_run(1, "[ -e started ]");
}

/* A terminal has one line that is written again and again. */
TEST(a_terminal_shows_the_place_in_one_line) {
    NEED_OPENCL;
    char shown[4096];
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        SKIP_BECAUSE("this machine gives no pseudo-terminal");
    write_file("hold", "echo x >holds; while [ ! -e stop ]; do sleep 0.02; done\n");
    const int code = run(RUN
                         "--gpus 2 sh ./hold & while [ ! -e holds ]; do sleep 0.02; done; "
                         "$BIN/gantry run --wait 0.25 true 2>%s; code=$?; touch stop; wait; "
                         "rm stop holds; exit $code",
                         ptsname(terminal));
    assert_int_equal(code, 124);
    const ssize_t length = read(terminal, shown, sizeof shown - 1);
    assert_true(length > 0);
    shown[length] = '\0';
    (void)close(terminal);
    const char *line = "\rgantry run: waits for a GPU, first in the queue, for ";
    const char *first = strstr(shown, line);
    assert_non_null(first);
    assert_non_null(strstr(first + 1, line)); /* once more, over the first */
    assert_non_null(strstr(shown, "\ngantry run: 1 GPU requested, too few of 2 are free:"));
    assert_null(strstr(shown, "queue\n"));
}

/* ---- bad input ---- */

TEST(an_unusable_folder_is_named) {
    NEED_OPENCL;
    expect_run(1, "GANTRY_CLAIMS_DIR=/proc/none $BIN/gantry run true");
    expect_in_output("cannot open or make '/proc/none': ");
    expect_in_output("GANTRY_CLAIMS_DIR names another folder");
    expect_run(1, "mkdir -m 777 open; GANTRY_CLAIMS_DIR=$PWD/open $BIN/gantry claims");
    expect_in_output("has mode 0777: every user may remove another's claim");
    expect_run(1, "ln -s open link; GANTRY_CLAIMS_DIR=$PWD/link $BIN/gantry run true");
    expect_in_output("/link'");
    expect_run(0, "GANTRY_CLAIMS_DIR=$PWD/missing $BIN/gantry claims; [ ! -e missing ]");
}

/* ---- the library's own choice ---- */

TEST(automatic_lists_use_the_same_claims) {
    NEED_OPENCL;
    write_file("hold", "echo x >holds; while [ ! -e stop ]; do sleep 0.02; done\n");
    expect_run(0,
               "GANTRY_VISIBLE_DEVICES=auto $BIN/gantry devices --json >one.json; "
               "$BIN/gantry claims; cat one.json");
    expect_in_output("no device is claimed"); /* it ended with the program */
    expect_run(1, RUN
               "--gpus 2 sh ./hold & while [ ! -e holds ]; do sleep 0.02; done; "
               "GANTRY_VISIBLE_DEVICES=auto $BIN/functions; code=$?; touch stop; wait; "
               "rm stop holds; exit $code");
    expect_in_output("the visible devices are \"auto\", 1 GPU: device GPU-");
    expect_in_output(" is claimed by process ");
    expect_in_output("sh ./hold");
}

int main(void) {
    if (open_run_folder() != 0) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
