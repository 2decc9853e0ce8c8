/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/host_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gantry__host_log(const gantry_host_t *host, int32_t level, const char *format, ...) {
    char text[GANTRY__HOST_TEXT_BYTES];
    va_list arguments;

    if (!GANTRY_ABI_HAS(host, log) || host->log == NULL) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host->log(host->self, level, text);
}

const char *gantry__host_option(const gantry_host_t *host, const char *name) {
    const char *value = GANTRY_ABI_HAS(host, option) && host->option != NULL
                            ? host->option(host->self, name)
                            : NULL;

    return value != NULL && value[0] != '\0' ? value : NULL;
}

int32_t gantry__host_choice(const gantry_host_t *host, const char *domain, const char *name,
                            const char *const *words, int32_t count, int32_t *out_choice) {
    const char *asked = gantry__host_option(host, name);
    char text[GANTRY__HOST_TEXT_BYTES];
    size_t length;

    *out_choice = 0;
    for (int32_t i = 0; i < count; ++i) {
        if (asked == NULL || strcmp(asked, words[i]) == 0) {
            *out_choice = i;
            return GANTRY_OK;
        }
    }
    snprintf(text, sizeof text, "%s is \"%.40s\"; ", name, asked);
    for (int32_t i = 0; i < count; ++i) {
        length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s",
                 i == 0           ? ""
                 : i == count - 1 ? " and "
                                  : ", ",
                 words[i]);
    }
    length = strlen(text);
    snprintf(text + length, sizeof text - length, " are accepted");
    return host->set_error(host->self, GANTRY_INVALID_ARGUMENT, domain, 0, text);
}

void *gantry__host_alloc(const gantry_host_t *host, const char *domain, size_t bytes) {
    void *ptr = host->reallocate(host->self, NULL, 0, bytes);
    char text[GANTRY__HOST_TEXT_BYTES];

    if (ptr == NULL) {
        snprintf(text, sizeof text, "no host memory for %zu bytes of the %s backend", bytes,
                 domain);
        host->set_error(host->self, GANTRY_RESOURCE_EXHAUSTED, domain, 0, text);
        return NULL;
    }
    return memset(ptr, 0, bytes);
}

void gantry__host_free(const gantry_host_t *host, void *ptr, size_t bytes) {
    if (ptr != NULL) {
        host->reallocate(host->self, ptr, bytes, 0);
    }
}

char *gantry__host_text(const gantry_host_t *host, const char *domain, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = gantry__host_alloc(host, domain, bytes);

    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

void gantry__host_text_free(const gantry_host_t *host, char *text) {
    gantry__host_free(host, text, text != NULL ? strlen(text) + 1 : 0);
}
