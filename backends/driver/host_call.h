/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend asks of its host: for an option, for memory, to log.
 *
 * For modules that call a driver; third parties need none of it. Texts are cut at 1023 bytes. A
 * domain names whose numbers the native codes are, "CUDA": errors carry it, and texts name the
 * backend by it.
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

/* NULL when unset or empty. */
const char *gantry__host_option(const gantry_host_t *host, const char *name);
/* Which of the words the option is; the first when unset. InvalidArgument, with all words, for
 * any other. */
int32_t gantry__host_choice(const gantry_host_t *host, const char *domain, const char *name,
                            const char *const *words, int32_t count, int32_t *out_choice);

/* Zeroed memory; NULL after ResourceExhausted was stated. */
void *gantry__host_alloc(const gantry_host_t *host, const char *domain, size_t bytes);
/* ptr may be NULL; bytes is what was asked for. */
void gantry__host_free(const gantry_host_t *host, void *ptr, size_t bytes);
/* A copy of the text; NULL as above. */
char *gantry__host_text(const gantry_host_t *host, const char *domain, const char *text);
/* text, of strlen + 1 bytes, may be NULL. */
void gantry__host_text_free(const gantry_host_t *host, char *text);

#endif
