/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and runtimes of the commands. */
#include "common/tool.h"
#include "shared/printable.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

static int lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

const char *gantry_tool_find_text(const char *text, const char *part) {
    for (;; ++text) {
        size_t i = 0;
        while (part[i] && lower(text[i]) == lower(part[i])) ++i;
        if (!part[i]) return text;
        if (!*text) return NULL;
    }
}

char *gantry_tool_copy(const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
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
    const int kept = gantry__os_output_divert();
    const gantry_status_t status = gantry_runtime_create(&own, &runtime);
    gantry__os_output_return(kept);
    if (status == GANTRY_OK) return runtime;
    (void)gantry_tool_fail_last();
    return NULL;
}
