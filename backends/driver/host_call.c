/* SPDX-License-Identifier: Apache-2.0 */
/* Each function calls one slot of the host, and states what failed (host_call.h). */
#include "driver/host_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gantry__host_log(const gantry_host_t *host, int32_t level, const char *format, ...) {
    if (!GANTRY_ABI_HAS(host, log) || !host->log) return;
    va_list arguments;
    va_start(arguments, format);
    char text[GANTRY__HOST_TEXT_BYTES];
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host->log(host->self, level, text);
}

void gantry__host_driver_enter(const gantry_host_t *host, const char *driver) {
    if (GANTRY_ABI_HAS(host, driver_enter) && host->driver_enter)
        host->driver_enter(host->self, driver);
}

bool gantry__host_others_may_write(const gantry_host_t *host, const char *path, char *reason,
                                   size_t reason_bytes) {
    return GANTRY_ABI_HAS(host, check_writers) && host->check_writers &&
           host->check_writers(host->self, path, reason, reason_bytes) != GANTRY_OK;
}

const char *gantry__host_option(const gantry_host_t *host, const char *name) {
    const char *value =
        GANTRY_ABI_HAS(host, option) && host->option ? host->option(host->self, name) : NULL;
    return value && value[0] != '\0' ? value : NULL;
}

int32_t gantry__host_choice(const gantry_host_t *host, const char *domain, const char *name,
                            const char *const *words, int32_t count, int32_t *out_choice) {
    const char *asked = gantry__host_option(host, name);
    size_t length;
    *out_choice = 0;
    for (int32_t i = 0; i < count; ++i) {
        if (!asked || strcmp(asked, words[i]) == 0) {
            *out_choice = i;
            return GANTRY_OK;
        }
    }
    char text[GANTRY__HOST_TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%s is \"%.40s\"; ", name, asked);
    for (int32_t i = 0; i < count; ++i) {
        length = strlen(text);
        (void)snprintf(text + length, sizeof text - length, "%s%s",
                       i == 0           ? ""
                       : i == count - 1 ? " and "
                                        : ", ",
                       words[i]);
    }
    length = strlen(text);
    (void)snprintf(text + length, sizeof text - length, " are accepted");
    return host->set_error(host->self, GANTRY_INVALID_ARGUMENT, domain, 0, text);
}

void *gantry__host_alloc(const gantry_host_t *host, const char *domain, size_t bytes) {
    void *ptr = host->reallocate(host->self, NULL, 0, bytes);
    char text[GANTRY__HOST_TEXT_BYTES];
    if (!ptr) {
        (void)snprintf(text, sizeof text, "no host memory for %zu bytes of the %s backend", bytes,
                       domain);
        host->set_error(host->self, GANTRY_RESOURCE_EXHAUSTED, domain, 0, text);
        return NULL;
    }
    return memset(ptr, 0, bytes);
}

void gantry__host_free(const gantry_host_t *host, void *ptr, size_t bytes) {
    if (ptr) host->reallocate(host->self, ptr, bytes, 0);
}

char *gantry__host_text(const gantry_host_t *host, const char *domain, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = gantry__host_alloc(host, domain, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void gantry__host_text_free(const gantry_host_t *host, char *text) {
    gantry__host_free(host, text, text ? strlen(text) + 1 : 0);
}
