/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the programs as a user would, by shell lines in the test's own folder. Header only. */
#ifndef TESTS_CLI_CASE_H
#define TESTS_CLI_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../unit/support/need_opencl.h"
#include "../unit/support/sanitized.h"

static char output[1 << 20];
static char folder[64];

/* Runs a shell line in the tests' folder. $BIN names the programs' folder; its path may have a
 * space, because the shell splits words only at line feeds. Both streams go to output. */
static inline int run(const char *format, ...) {
    char line[4096], command[4200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    (void)snprintf(command, sizeof command, "cd %s && BIN='%s' IFS='\n' && { %s; } 2>&1", folder,
                   GANTRY_BIN, line);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static inline void expect_run(int code, const char *line) {
    int got = run("%s", line);
    if (got != code) fail_msg("%s: exit %d, not %d\n%s", line, got, code, output);
}

static inline void expect_in_output(const char *text) {
    if (!strstr(output, text)) fail_msg("\"%s\" is not in\n%s", text, output);
}

static inline void write_file(const char *name, const char *text) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

/* The folder of the tests' modules, quoted for a shell line. */
#define MODULES "'" GANTRY_TEST_MODULES "'"

/* Prefix that runs a command with the tests' OpenCL drivers and the environment that follows, and
 * nothing else. */
#define ALONE "env -i ${OCL_ICD_VENDORS:+OCL_ICD_VENDORS=\"$OCL_ICD_VENDORS\"} "

#define SKIP_BECAUSE(reason)                    \
    do {                                        \
        print_message("skipped: " reason "\n"); \
        skip();                                 \
    } while (0)

/* Every test program calls this first; 1 when the folder cannot be made. */
static inline int open_folder(void) {
    static const char *const others[] = {"GANTRY_BACKENDS",
                                         "GANTRY_BACKEND_PATH",
                                         "GANTRY_VISIBLE_DEVICES",
                                         "CUDA_VISIBLE_DEVICES",
                                         "GANTRY_SOFT_PLACEMENT",
                                         "GANTRY_LOG_LEVEL",
                                         "GANTRY_LOG"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) (void)unsetenv(others[i]);
    (void)snprintf(folder, sizeof folder, "/tmp/gantry_cli_XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

/* Whether Gantry shows that many OpenCL devices. False, with a reason, if it must and does not. */
static inline bool find_opencl(int count, bool *out_has_opencl) {
    char last[24], missing[40];
    (void)snprintf(last, sizeof last, "opencl:%d", count - 1);
    *out_has_opencl = run("$BIN/gantry devices") == 0 && strstr(output, last);
    if (*out_has_opencl || !GANTRY_TEST_OPENCL_IS_BUILT) return true;
    (void)snprintf(missing, sizeof missing, "device %s", last);
    const bool may_lack = !(need_opencl_found() & OPENCL_HAS_POCL);
    if (may_lack && without_opencl(missing) == NEED_OPENCL_SKIP) return true;
    (void)printf("gantry devices shows no %s:\n%s", last, output);
    return false;
}

#endif
