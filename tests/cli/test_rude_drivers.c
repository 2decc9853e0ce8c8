/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An OpenCL driver or a libcuda that calls exit, _exit or abort while it is opened ends
 * one start of a program at most: gantry doctor reports it, and the next start leaves it out.
 * Promise: gantry doctor goes on while a driver hangs, and says that it does not answer.
 * Promise: What such a driver prints is no part of the output of gantry doctor and gantry devices.
 *
 * The driver is a library of the tests' own, found by the loader as any other. */
#define _GNU_SOURCE

#include "cli_case.h"
#include "test.h"

#define RUDE_DRIVER MODULES "/rude_driver.so"

static bool has_opencl, has_cuda;

typedef struct place_t {
    const char *variables, *backend;
} place_t;

/* Where the loader finds the driver. */
static const place_t places[] = {
    {"GANTRY_BACKENDS=cpu,opencl OCL_ICD_VENDORS=" RUDE_DRIVER, "opencl"},
    {"GANTRY_BACKENDS=cpu,cuda LD_LIBRARY_PATH=$PWD/rude:$LD_LIBRARY_PATH", "cuda"},
};

static bool is_there(size_t place) { return place == 0 ? has_opencl : has_cuda; }

static int start(size_t place, const char *wish, const char *command) {
    return run("RUDE=%s %s GANTRY_KERNEL_CACHE=$PWD/kernels $BIN/gantry %s", wish,
               places[place].variables, command);
}

static void expect_code(int got, int code, const char *wish) {
    if (got != code) fail_msg("%s: exit %d, not %d\n%s", wish, got, code, output);
}

TEST(an_end_of_the_process_happens_once) {
    static const struct {
        const char *wish;
        int code;
        const char *end, *why;
    } cases[] = {
        {"open:exit:0", 0, "ended with exit code 0", "a driver ended it with exit code 0"},
        {"open:exit:3", 3, "ended with exit code 3", "a driver ended it with exit code 3"},
        {"open:_exit:2", 2, "ended with exit code 2", "a driver ended it with exit code 2"},
        {"open:abort", 134, "ended by signal 6", "it ended by signal 6"},
        {"ask:exit:0", 0, "ended with exit code 0", "a driver ended it with exit code 0"},
        {"ask:_exit:127", 127, "ended with exit code 127", "a driver ended it with exit code 127"},
        {"ask:abort", 134, "ended by signal 6", "it ended by signal 6"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; ++i) {
        const size_t place = i % 2, c = i / 2;
        char line[256];
        const bool is_asked = strncmp(cases[c].wish, "ask", 3) == 0; /* OpenCL's question */
        if (!is_there(place) || (is_asked && place == 1)) continue;
        expect_run(0, "rm -rf kernels");
        expect_code(start(place, cases[c].wish, "devices"), cases[c].code, cases[c].wish);
        expect_code(start(place, cases[c].wish, "devices"), 0, cases[c].wish);
        (void)snprintf(line, sizeof line, "Backend %s is left out: ", places[place].backend);
        expect_in_output(line);
        expect_in_output(cases[c].why);
        expect_run(0, "rm -rf kernels");
        expect_code(start(place, cases[c].wish, "doctor"), 1, cases[c].wish);
        (void)snprintf(line, sizeof line,
                       "failed        drivers: a process that opened the drivers %s", cases[c].end);
        expect_in_output(line);
        expect_in_output("passed        cpu:0 computes: ");
        expect_in_output(cases[c].why); /* the next start leaves it out */
        expect_code(start(place, cases[c].wish, "devices"), 0, cases[c].wish);
        expect_code(start(place, cases[c].wish, "run --or-cpu -- true"), 0, cases[c].wish);
    }
}

TEST(a_driver_that_hangs_is_reported) {
    for (size_t place = 0; place < 2; ++place) {
        if (!is_there(place)) continue;
        expect_run(0, "rm -rf kernels");
        /* every process has this time, also those that compute */
        assert_int_equal(setenv("GANTRY_TEST_DOCTOR_MS", "1000", 1), 0);
        expect_code(start(place, "open:hang", "doctor"), 1, "hang");
        assert_int_equal(unsetenv("GANTRY_TEST_DOCTOR_MS"), 0);
        expect_in_output("failed        drivers: a process that opened the drivers did not answer");
        expect_in_output("cpu:0 computes: ");
    }
}

TEST(what_a_driver_prints_is_no_output) {
    for (size_t place = 0; place < 2; ++place) {
        if (!is_there(place)) continue;
        expect_run(0, "rm -rf kernels");
        expect_code(start(place, "open:print", "doctor 2>/dev/null"), 0, "print");
        if (strstr(output, "spoken")) fail_msg("the driver's text is in\n%s", output);
        expect_in_output("passed        cpu:0 computes: ");
        expect_code(start(place, "open:print", "devices --json 2>/dev/null"), 0, "print");
        assert_int_equal(output[0], '{');
    }
}

/* Whether the backend says so of a machine without a driver: then ours is the one that is found. */
static bool lacks(const char *backend, const char *text) {
    return run("GANTRY_BACKENDS=cpu,%s GANTRY_KERNEL_CACHE= $BIN/gantry devices | grep '^%s .*%s'",
               backend, backend, text) == 0;
}

int main(void) {
    if (open_folder() != 0) return 1;
    if (run("mkdir rude && cp " RUDE_DRIVER " rude/libcuda.so.1") != 0) return 1;
    if (!find_opencl(1, &has_opencl)) return 1;
    has_cuda = lacks("cuda", "no NVIDIA driver");
    int failed = test_main();
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
