/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/c_locale.h"
#include "base/fp_mode.h"

void gantry__log(const gantry__log_t *log, gantry_log_level_t level, const char *format, ...) {
    if (!log->write || level < log->level) return;
    char text[GANTRY__MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    (void)vsnprintf(text, sizeof text, format, args);
    gantry__c_locale_end(&locale);
    va_end(args);
    GANTRY__PROGRAM_FP_MODE(program);
    log->write(log->user, level, text);
}
