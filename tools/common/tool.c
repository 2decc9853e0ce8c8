/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and runtimes of the commands. */
#define _POSIX_C_SOURCE 200809L
#include "common/tool.h"
#include "shared/printable.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gantry_tool_fail(const char *format, ...) {
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    gantry__make_printable(text, '\n');
    (void)fprintf(stderr, "gantry: %s\n", text);
    return GANTRY_TOOL_FAILED;
}

int gantry_tool_fail_last(void) { return gantry_tool_fail("%s", gantry_last_message()); }

void gantry_tool_log(void *user, gantry_log_level_t level, const char *text) {
    const bool *prints_all = user;
    char shown[8192];
    (void)snprintf(shown, sizeof shown, "%s", text);
    gantry__make_printable(shown, '\n');
    if (level >= GANTRY_LEVEL_WARNING)
        (void)fprintf(stderr, "%s: ", level == GANTRY_LEVEL_ERROR ? "error" : "warning");
    if (level >= GANTRY_LEVEL_WARNING || *prints_all) (void)fprintf(stderr, "%s\n", shown);
}

int gantry_tool_begin_drivers(void) {
    (void)fflush(stdout);
    const int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return kept;
    (void)close(kept);
    return -1;
}

void gantry_tool_end_drivers(int kept) {
    (void)fflush(stdout); /* of the drivers */
    if (kept < 0) return;
    (void)dup2(kept, STDOUT_FILENO);
    (void)close(kept);
}

gantry_runtime_t *gantry_tool_create_runtime(const gantry_runtime_options_t *options,
                                             bool is_verbose) {
    static bool warnings_only = false, everything = true;
    gantry_runtime_options_t own = *options;
    const char *wished = getenv("GANTRY_LOG_LEVEL");
    const bool has_wish = wished && *wished;
    /* At level info, backends would open their libraries to name them. */
    if (is_verbose) own.log_level = GANTRY_LEVEL_DEBUG;
    if (!is_verbose && !has_wish) own.log_level = GANTRY_LEVEL_WARNING;
    own.log = gantry_tool_log;
    own.log_user = is_verbose || has_wish ? &everything : &warnings_only;
    gantry_runtime_t *runtime = NULL;
    const int kept = gantry_tool_begin_drivers();
    const gantry_status_t status = gantry_runtime_create(&own, &runtime);
    gantry_tool_end_drivers(kept);
    if (status == GANTRY_OK) return runtime;
    (void)gantry_tool_fail_last();
    return NULL;
}
