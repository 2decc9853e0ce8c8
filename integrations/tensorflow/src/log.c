/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int least_level(void) {
    const char *text = getenv("TF_CPP_MIN_LOG_LEVEL");
    return text ? atoi(text) : 0;
}

void log_receive(void *user, gantry_log_level_t level, const char *text) {
    (void)user;
    static const char letters[] = " DIWE";
    if (level < GANTRY_LEVEL_DEBUG || level > GANTRY_LEVEL_ERROR) level = GANTRY_LEVEL_ERROR;
    if ((int)level - GANTRY_LEVEL_INFO < least_level()) return;
    fprintf(stderr, "%c gantry: %s\n", letters[level], text);
}

void log_line(gantry_log_level_t level, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_receive(NULL, level, text);
}
