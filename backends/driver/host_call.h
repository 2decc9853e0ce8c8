/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the host's services: options, memory, the log.
 *
 * They serve modules that call a driver; third parties need none of them. Texts are cut at 1023
 * bytes. A domain, such as "CUDA", says whose numbers the native codes are. Errors carry it, and
 * texts use it as the name of the backend.
 *
 * Owner: nothing is kept; memory is the caller's. Threads: thread-safe, as the host's slots are. */
#ifndef GANTRY_DRIVER_HOST_CALL_H
#define GANTRY_DRIVER_HOST_CALL_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernels/common/kernel_types.h"

#define GANTRY__HOST_TEXT_BYTES 1024
#define GANTRY__HOST_PRINTF(text, first) __attribute__((format(printf, text, first)))

void gantry__host_log(const gantry_host_t *host, int32_t level, const char *format, ...)
    GANTRY__HOST_PRINTF(3, 4);

/* Must be called by `open` before it calls a driver; `driver` says whose code runs next. */
void gantry__host_driver_enter(const gantry_host_t *host, const char *driver);
/* Whether others may write the file or folder, with the reason. */
bool gantry__host_others_may_write(const gantry_host_t *host, const char *path, char *reason,
                                   size_t reason_bytes);

/* The option's value; NULL if unset or empty. */
const char *gantry__host_option(const gantry_host_t *host, const char *name);
/* Writes the index of the option's value among the words, or 0 if it is unset. Returns
 * InvalidArgument, with all words, for any other value. */
int32_t gantry__host_choice(const gantry_host_t *host, const char *domain, const char *name,
                            const char *const *words, int32_t count, int32_t *out_choice);

/* Returns zeroed memory, or NULL after stating ResourceExhausted. */
void *gantry__host_alloc(const gantry_host_t *host, const char *domain, size_t bytes);
/* ptr may be NULL; bytes must be the size that was allocated. */
void gantry__host_free(const gantry_host_t *host, void *ptr, size_t bytes);
/* Returns a copy of the text, or NULL as above. */
char *gantry__host_text(const gantry_host_t *host, const char *domain, const char *text);
/* Frees a text of strlen + 1 bytes; it may be NULL. */
void gantry__host_text_free(const gantry_host_t *host, char *text);

#endif
