/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/native_error.h"

#include <stdarg.h>
#include <stdio.h>

static const gantry__native_error_t *find_error(const gantry__native_errors_t *errors,
                                                int64_t native) {
    for (size_t i = 0; i < errors->count; ++i) {
        if (errors->list[i].native == native) return &errors->list[i];
    }
    return NULL;
}

const char *gantry__native_name(const gantry__native_errors_t *errors, int64_t native) {
    const gantry__native_error_t *error = find_error(errors, native);
    return error ? error->name : errors->unknown_name;
}

int32_t gantry__native_code(const gantry__native_errors_t *errors, int64_t native) {
    const gantry__native_error_t *error = find_error(errors, native);
    return error ? error->code : GANTRY_UNKNOWN;
}

int32_t gantry__native_fail(const gantry_host_t *host, const gantry__native_errors_t *errors,
                            int32_t code, int64_t native, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[GANTRY__HOST_TEXT_BYTES];
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return host->set_error(host->self, code, errors->domain, native, text);
}

int32_t gantry__native_check(const gantry_host_t *host, const gantry__native_errors_t *errors,
                             int64_t native, const char *format, ...) {
    if (native == 0) return GANTRY_OK;
    va_list arguments;
    va_start(arguments, format);
    char text[GANTRY__HOST_TEXT_BYTES];
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return gantry__native_fail(host, errors, gantry__native_code(errors, native), native,
                               "%.900s: %s (%lld)", text, gantry__native_name(errors, native),
                               (long long)native);
}

int32_t gantry__native_check_span(const gantry_host_t *host, const gantry__native_errors_t *errors,
                                  int64_t native, const char *what, const gantry_span_t *span,
                                  const char *hardware_name) {
    return gantry__native_check(host, errors, native, "%s %llu bytes at offset %llu on \"%.200s\"",
                                what, (unsigned long long)span->size_bytes,
                                (unsigned long long)span->offset_bytes, hardware_name);
}

int32_t gantry__native_mutex_init(const gantry_host_t *host, const gantry__native_errors_t *errors,
                                  gantry__mutex_t *mutex, const char *format, ...) {
    if (gantry__mutex_init(mutex) == 0) return GANTRY_OK;
    va_list arguments;
    va_start(arguments, format);
    char text[GANTRY__HOST_TEXT_BYTES];
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return gantry__native_fail(host, errors, GANTRY_RESOURCE_EXHAUSTED, 0, "no mutex for %.900s",
                               text);
}
