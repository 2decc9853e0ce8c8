/* SPDX-License-Identifier: Apache-2.0 */
/* A log that keeps its lines, for tests. Header only; thread-safe. */
#ifndef TESTS_LOG_LINES_H
#define TESTS_LOG_LINES_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define LOG_LINES 64

typedef struct log_lines_t {
    gantry__log_t log;
    pthread_mutex_t lock;
    int count; /* all lines; the kept ones are the first */
    gantry_log_level_t levels[LOG_LINES];
    char lines[LOG_LINES][1024];
} log_lines_t;

static inline void log_lines_write(void *user, gantry_log_level_t level, const char *text) {
    log_lines_t *self = user;
    (void)pthread_mutex_lock(&self->lock);
    if (self->count < LOG_LINES) {
        self->levels[self->count] = level;
        (void)snprintf(self->lines[self->count], sizeof self->lines[0], "%s", text);
    }
    ++self->count;
    (void)pthread_mutex_unlock(&self->lock);
}

static inline void log_lines_init(log_lines_t *self) {
    memset(self, 0, sizeof *self);
    self->log =
        (gantry__log_t){.write = log_lines_write, .user = self, .level = GANTRY_LEVEL_DEBUG};
    (void)pthread_mutex_init(&self->lock, NULL);
}

/* The number of kept lines that contain both texts. */
static inline int log_lines_with(const log_lines_t *self, const char *a, const char *b) {
    int found = 0;
    for (int i = 0; i < self->count && i < LOG_LINES; ++i)
        found += strstr(self->lines[i], a) && strstr(self->lines[i], b);
    return found;
}

#endif
