/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "child.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in the child. execv's parameter is not const, but execv does not write. */
static void become(const char *program, const char *const *arguments) {
    char *list[BENCH_CHILD_ARGUMENTS + 2] = {(char *)(uintptr_t) "gantry_bench"};
    for (size_t i = 0; i < BENCH_CHILD_ARGUMENTS && arguments[i]; ++i)
        list[i + 1] = (char *)(uintptr_t)arguments[i];
    (void)execv(program, list);
    _exit(127);
}

static size_t read_numbers(const char *text, double *out, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        char *end;
        out[i] = strtod(text, &end);
        if (end == text) return i;
        text = end;
    }
    return count;
}

bool bench_child_run(const char *program, const char *const *arguments, double *out, size_t count) {
    int ends[2], state = 1;
    char text[256] = "";
    if (pipe(ends) != 0) return false;
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        become(program, arguments);
    }
    (void)close(ends[1]);
    /* one read gets one short line */
    ssize_t length = child > 0 ? read(ends[0], text, sizeof text - 1) : 0;
    (void)close(ends[0]);
    if (child > 0 && waitpid(child, &state, 0) != child) state = 1;
    return length > 0 && state == 0 && read_numbers(text, out, count) == count;
}
