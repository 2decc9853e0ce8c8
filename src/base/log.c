/* SPDX-License-Identifier: Apache-2.0 */
/* A line goes to the callback as it is, and to GANTRY_LOG's file in one write, so that the lines of
 * several threads and processes do not mix:
 *
 *     gantry[4711] warning: Op Add runs on /CPU:0: ...
 *
 * A control character would make a second line, or reach a terminal as a command; a "?" stands in
 * its place. A line that the system refuses (a full disk, a pipe without a reader) is lost, since
 * the program must not stop for its log. */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/c_locale.h"
#include "base/files.h"
#include "base/fp_mode.h"
#include "base/printable.h"

#define LOG_NAME "GANTRY_LOG"
#define LEVEL_NAME "GANTRY_LOG_LEVEL"
#define HEAD_BYTES 48

static const char *const levels[] = {"debug", "info", "warning", "error"};

/* ---- the file ---- */

/* Returns -1 with errno. A pipe is refused: without a reader it would stop the program. */
static int open_log(const char *path) {
    int file = open(
        path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
    struct stat about;
    if (file < 0) return -1;
    const bool is_known = fstat(file, &about) == 0;
    const bool has_names = is_known && S_ISREG(about.st_mode) && about.st_nlink > 1;
    if (is_known && !has_names && (S_ISREG(about.st_mode) || S_ISCHR(about.st_mode))) {
        const int flags = fcntl(file, F_GETFL);
        if (flags >= 0 && fcntl(file, F_SETFL, flags & ~O_NONBLOCK) == 0) return file;
    }
    const int error = has_names ? EMLINK : is_known ? EINVAL : errno;
    (void)close(file);
    errno = error;
    return -1;
}

static const char *log_refusal(int error) {
    if (error == ELOOP) return "it is a symbolic link, which is not followed";
    if (error == EMLINK) return "it has several names (hard links)";
    if (error == EINVAL || error == ENXIO) return "it is neither a plain file nor a terminal";
    return strerror(error);
}

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
    const bool is_stderr = strcmp(name, "stderr") == 0;
    if (!is_stderr && *name != '/') {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "%s is \"%.200s\"; stderr and the absolute path of a file are accepted",
                            gantry__setting_by(setting), name);
    }
    /* a copy: the program may close its standard error and open a file of its own in its place */
    log->file = is_stderr ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : open_log(name);
    log->has_file = log->file >= 0;
    if (!log->has_file)
        gantry__log(log, GANTRY_LEVEL_WARNING, "%s=%.500s is not written: %s", LOG_NAME, name,
                    log_refusal(errno));
    return GANTRY_OK;
}

void gantry__log_close(gantry__log_t *log) {
    if (log->has_file) (void)close(log->file);
    log->has_file = false;
}

/* ---- lines ---- */

static void write_line(const gantry__log_t *log, gantry_log_level_t level, const char *text) {
    char line[HEAD_BYTES + GANTRY__MESSAGE_BYTES];
    const int place = level < GANTRY_LEVEL_DEBUG   ? 0
                      : level > GANTRY_LEVEL_ERROR ? 3
                                                   : (int)level - GANTRY_LEVEL_DEBUG;
    int length =
        snprintf(line, sizeof line, "gantry[%ld] %s: %s", (long)getpid(), levels[place], text);
    if (length < 0) return;
    if ((size_t)length > sizeof line - 1) length = (int)sizeof line - 1;
    gantry__make_printable(line);
    length = (int)strlen(line);
    line[length] = '\n'; /* in place of the end */
    while (gantry__file_put(log->file, line, (size_t)length + 1, GANTRY__FILE_NEXT) < 0 &&
           errno == EINTR)
        continue;
}

/* Who reads a line: the callback, the file, both or none. */
typedef struct readers_t {
    bool callback, file;
} readers_t;

static void log_write(const gantry__log_t *log, readers_t readers, gantry_log_level_t level,
                      const char *format, va_list args) {
    char text[GANTRY__MESSAGE_BYTES];
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    (void)vsnprintf(text, sizeof text, format, args);
    gantry__c_locale_end(&locale);
    if (readers.file) write_line(log, level, text);
    if (!readers.callback) return;
    GANTRY__PROGRAM_FP_MODE(program);
    log->write(log->user, level, text);
}

static readers_t readers_of(const gantry__log_t *log, gantry_log_level_t level) {
    return (readers_t){.callback = log->write && level >= log->level,
                       .file = log->has_file && level >= log->file_level};
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
    const readers_t readers = {.callback = log->write != NULL, .file = log->has_file};
    if (!readers.callback && !readers.file) return;
    va_list args;
    va_start(args, format);
    log_write(log, readers, level, format, args);
    va_end(args);
}
