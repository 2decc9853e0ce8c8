/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/build_failure.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The part of a long log that is shown, which begins with the line of the first error. */
static const char *interesting_part(const char *log) {
    const char *at;

    if (strlen(log) <= GANTRY__BUILD_LOG_BYTES) return log;
    at = strstr(log, "error");
    if (!at) return log;
    while (at > log && at[-1] != '\n') at--;
    return at;
}

/* Whether the log says that memory ran out. Compilers report that only in their log; the program
 * itself may be fine. */
static bool is_out_of_memory(const char *log) {
    static const char *const words[] = {"out of memory", "Out of memory", "Cannot allocate memory",
                                        "Memory allocation failure", "bad_alloc"};

    for (size_t i = 0; log && i < sizeof words / sizeof words[0]; ++i) {
        if (strstr(log, words[i])) return true;
    }
    return false;
}

int32_t gantry__build_failed(const gantry_host_t *host, const gantry__build_failure_t *failure) {
    char text[GANTRY__BUILD_LOG_BYTES + GANTRY__BUILD_OPTIONS_BYTES + 512];
    (void)snprintf(text, sizeof text,
                   "building \"%.100s\" with \"%.900s\" for \"%.200s\": %.100s (%lld)\n%.*s",
                   failure->label, failure->options, failure->hardware_name, failure->native_name,
                   (long long)failure->native, GANTRY__BUILD_LOG_BYTES,
                   failure->log ? interesting_part(failure->log) : "the compiler left no log");
    return host->set_error(
        host->self, is_out_of_memory(failure->log) ? GANTRY_RESOURCE_EXHAUSTED : failure->code,
        failure->domain, failure->native, text);
}
