/* SPDX-License-Identifier: Apache-2.0 */
/* A line goes to the callback as it is, and to GANTRY_LOG's file in one write, so that the lines of
 * several threads and processes do not mix:
 *
 *     gantry[4711] warning: Op Add runs on /CPU:0: ...
 *
 * A control character would make a second line, or reach a terminal as a command; a "?" takes its
 * place. A line that the system refuses (a full disk, a pipe without a reader) is lost, because the
 * program must not stop for its log; the callback gets one warning. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/fp_mode.h"
#include "base/os/paths.h"
#include "base/os/process.h"
#include "shared/c_locale.h"
#include "shared/printable.h"

#define LOG_NAME "GANTRY_LOG"
#define LEVEL_NAME "GANTRY_LOG_LEVEL"
#define HEAD_BYTES 48

static const char *const levels[] = {"debug", "info", "warning", "error"};

/* ---- opening ---- */

static gantry_status_t read_levels(gantry__log_t *log, gantry__settings_t *settings) {
    int word = GANTRY_LEVEL_INFO - 1;
    GANTRY__TRY(gantry__settings_get_word(settings, LEVEL_NAME, levels, 4, &word));
    log->level = (gantry_log_level_t)(word + 1);
    const gantry__setting_t *setting = gantry__settings_find(settings, LEVEL_NAME);
    const char *text =
        setting->source == GANTRY__SOURCE_ENVIRONMENT ? setting->value : setting->environment;
    word = GANTRY_LEVEL_INFO - 1;
    if (text) (void)gantry__parse_word(text, strlen(text), levels, 4, &word); /* was checked */
    log->file_level = (gantry_log_level_t)(word + 1);
    return GANTRY_OK;
}

gantry_status_t gantry__log_open(gantry__log_t *log, gantry__settings_t *settings) {
    GANTRY__TRY(read_levels(log, settings));
    const gantry__setting_t *setting = gantry__settings_find(settings, LOG_NAME);
    if (!setting) return GANTRY_RESOURCE_EXHAUSTED;
    const char *name = setting->value;
    if (!name || !*name) return GANTRY_OK;
    if (strcmp(name, "stderr") != 0 && !gantry__os_path_is_absolute(name)) {
        return gantry__refuse(
            "%s is \"%.200s\"; stderr and the absolute path of a file are accepted",
            gantry__setting_by(setting), name);
    }
    const char *why;
    GANTRY__TRY(gantry__log_file_open(settings->heap, name, &log->file, &why));
    log->file_name = name;
    if (!log->file)
        gantry__log(log, GANTRY_LEVEL_WARNING, "%s=%.500s is not written: %s", LOG_NAME, name, why);
    return GANTRY_OK;
}

void gantry__log_close(gantry__log_t *log) {
    gantry__log_file_close(log->file);
    log->file = NULL;
}

/* ---- lines ---- */

static void call_program(const gantry__log_t *log, gantry_log_level_t level, const char *text) {
    GANTRY__PROGRAM_FP_MODE(program);
    log->write(log->user, level, text);
}

static void warn_of_loss(const gantry__log_t *log, int error) {
    char text[GANTRY__MESSAGE_BYTES];
    if (!log->write || log->level > GANTRY_LEVEL_WARNING) return;
    (void)snprintf(text, sizeof text,
                   "%s=%.500s has lost a line: %s; more may be lost, and the file says how many "
                   "once it can be written again",
                   LOG_NAME, log->file_name, strerror(error));
    call_program(log, GANTRY_LEVEL_WARNING, text);
}

static void write_line(const gantry__log_t *log, gantry_log_level_t level, const char *text) {
    char line[HEAD_BYTES + GANTRY__MESSAGE_BYTES];
    const int place = level < GANTRY_LEVEL_DEBUG   ? 0
                      : level > GANTRY_LEVEL_ERROR ? 3
                                                   : (int)level - GANTRY_LEVEL_DEBUG;
    if (snprintf(line, sizeof line, "gantry[%ld] %s: %s", (long)gantry__os_process(), levels[place],
                 text) < 0)
        return;
    gantry__make_printable(line, '\0');
    const size_t length = strlen(line);
    line[length] = '\n'; /* in place of the end */
    const int error = gantry__log_file_put(log->file, line, length + 1);
    if (error) warn_of_loss(log, error);
}

/* The readers of a line: the callback, the file, both or none. */
typedef struct readers_t {
    bool callback, file;
} readers_t;

static void log_write(const gantry__log_t *log, readers_t readers, gantry_log_level_t level,
                      const char *format, va_list args) {
    char text[GANTRY__MESSAGE_BYTES];
    (void)gantry__format(text, sizeof text, format, args);
    if (readers.file) write_line(log, level, text);
    if (readers.callback) call_program(log, level, text);
}

static readers_t readers_of(const gantry__log_t *log, gantry_log_level_t level) {
    return (readers_t){.callback = log->write && level >= log->level,
                       .file = log->file && level >= log->file_level};
}

bool gantry__log_is_read(const gantry__log_t *log, gantry_log_level_t level) {
    const readers_t readers = readers_of(log, level);
    return readers.callback || readers.file;
}

void gantry__log(const gantry__log_t *log, gantry_log_level_t level, const char *format, ...) {
    const readers_t readers = readers_of(log, level);
    if (!readers.callback && !readers.file) return;
    va_list args;
    va_start(args, format);
    log_write(log, readers, level, format, args);
    va_end(args);
}

void gantry__log_asked(const gantry__log_t *log, gantry_log_level_t level, const char *format,
                       ...) {
    const readers_t readers = {.callback = log->write != NULL, .file = log->file != NULL};
    if (!readers.callback && !readers.file) return;
    va_list args;
    va_start(args, format);
    log_write(log, readers, level, format, args);
    va_end(args);
}
