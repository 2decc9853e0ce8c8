/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of tests that look into a child of fork. The child answers with its exit code and
 * never returns into the test; an alarm ends a child that hangs. Header only. */
#ifndef TESTS_FORK_CHILD_H
#define TESTS_FORK_CHILD_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#include "sanitized.h"

/* ThreadSanitizer starts no threads in a child of a process with several */
#define CHILD_THREADS FEWER_FOR_SANITIZERS(2, 1)

#define HANG_SECONDS 60

/* In a child: ends the process. */
#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            (void)fprintf(stderr, "in the child, line %d: %s; %s\n", __LINE__, #condition, \
                          gantry_last_message());                                          \
            _exit(1);                                                                      \
        }                                                                                  \
    } while (0)

static inline void fork_child_expect_success(pid_t child) {
    int state = 0;
    assert_int_equal(waitpid(child, &state, 0), child);
    if (WIFSIGNALED(state)) fail_msg("the child was ended by signal %d", WTERMSIG(state));
    assert_int_equal(WEXITSTATUS(state), 0);
}

static inline bool thread_sleeps(const char *id) {
    char path[64], line[256] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", id);
    FILE *file = fopen(path, "r");
    if (!file) return true; /* it has ended */
    (void)!fgets(line, sizeof line, file);
    (void)fclose(file);
    const char *name_end = strrchr(line, ')');
    return name_end && strncmp(name_end, ") S", 3) == 0;
}

static inline bool other_threads_sleep(void) {
    char self[16];
    (void)snprintf(self, sizeof self, "%ld", (long)getpid());
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    bool all = true;
    for (const struct dirent *task; all && (task = readdir(tasks)) != NULL;)
        all = task->d_name[0] == '.' || strcmp(task->d_name, self) == 0 ||
              thread_sleeps(task->d_name);
    (void)closedir(tasks);
    return all;
}

/* The address sanitizer's heap stays locked in a child if another thread used it during the fork. A
 * sleeping thread does not use it. */
static inline void wait_until_threads_sleep(void) {
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; !other_threads_sleep(); ++i) {
        if (i == HANG_SECONDS * 1000) fail_msg("the parent's threads do not come to rest");
        (void)nanosleep(&pause, NULL);
    }
}

#endif
