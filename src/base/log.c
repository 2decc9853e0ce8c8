/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void gantry__log(const gantry__log_t *log, gantry_log_level_t level, const char *format, ...) {
    if (!log->write || level < log->level) return;
    char text[GANTRY__MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log->write(log->user, level, text);
}
