/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms of the host's services for the files of one driver's backend. Errors carry the names
 * and numbers of that driver. Owner: nothing is kept; memory is the caller's. Threads:
 * thread-safe. */
/* The status header of the backend must set the driver's errors once, before it includes this file:
 *
 *     extern const gantry__native_errors_t gantry__cuda_errors;
 *     #define GANTRY__DRIVER_ERRORS gantry__cuda_errors
 *     #include "driver/driver_check.h" */
#ifndef GANTRY_DRIVER_DRIVER_CHECK_H
#define GANTRY_DRIVER_DRIVER_CHECK_H

#include "driver/native_error.h"
#include "host/try.h"

/* (host, code, native, format, ...): gives the text unchanged to the host; returns code. */
#define gantry__driver_fail(host, ...) \
    gantry__native_fail(host, &GANTRY__DRIVER_ERRORS, __VA_ARGS__)
/* (host, native, format, ...): returns 0 if native is the driver's success. Otherwise returns its
 * code and states the text, followed by ": NATIVE_NAME (number)". */
#define gantry__driver_check(host, ...) \
    gantry__native_check(host, &GANTRY__DRIVER_ERRORS, __VA_ARGS__)
/* (host, mutex, format, ...): initialises the mutex, or states ResourceExhausted "no mutex for
 * ...". */
#define gantry__driver_mutex_init(host, ...) \
    gantry__native_mutex_init(host, &GANTRY__DRIVER_ERRORS, __VA_ARGS__)

/* The name of an error, "CUDA_ERROR_OUT_OF_MEMORY", or the name for unknown errors if the list
 * lacks the number. */
static inline const char *gantry__driver_error_name(int64_t native) {
    return gantry__native_name(&GANTRY__DRIVER_ERRORS, native);
}

static inline int32_t gantry__driver_error_code(int64_t native) {
    return gantry__native_code(&GANTRY__DRIVER_ERRORS, native);
}

/* The result of a transfer, whose text is "WHAT N bytes at offset N on the device". */
static inline int32_t gantry__driver_check_span(const gantry_host_t *host, int64_t native,
                                                const char *what, const gantry_span_t *span,
                                                const char *hardware_name) {
    return native == 0 ? GANTRY_OK
                       : gantry__native_check_span(host, &GANTRY__DRIVER_ERRORS, native, what, span,
                                                   hardware_name);
}

/* Returns zeroed memory of the host, or NULL after stating ResourceExhausted. The caller must free
 * it with gantry__host_free. */
static inline void *gantry__driver_alloc(const gantry_host_t *host, size_t bytes) {
    return gantry__host_alloc(host, GANTRY__DRIVER_ERRORS.domain, bytes);
}

/* Returns a copy of the text, or NULL as above. The caller must free it with
 * gantry__host_text_free. */
static inline char *gantry__driver_text(const gantry_host_t *host, const char *text) {
    return gantry__host_text(host, GANTRY__DRIVER_ERRORS.domain, text);
}

/* The same as gantry__host_choice, in the driver's domain. */
static inline int32_t gantry__driver_choice(const gantry_host_t *host, const char *name,
                                            const char *const *words, int32_t count,
                                            int32_t *out_choice) {
    return gantry__host_choice(host, GANTRY__DRIVER_ERRORS.domain, name, words, count, out_choice);
}

#endif
