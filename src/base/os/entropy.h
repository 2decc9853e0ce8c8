/* SPDX-License-Identifier: Apache-2.0 */
/* Unpredictable numbers from the system's generator. Owner: the caller's buffer. Threads:
 * thread-safe. */
#ifndef GANTRY_BASE_OS_ENTROPY_H
#define GANTRY_BASE_OS_ENTROPY_H

#include <stddef.h>

/* Fills at most 256 bytes. Returns 0, or an errno value if the system has no generator. */
int gantry__os_entropy(void *out, size_t bytes);

#endif
