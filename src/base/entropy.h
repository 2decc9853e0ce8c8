/* SPDX-License-Identifier: Apache-2.0 */
/* Unpredictable numbers from the operating system's generator. Owner: the caller's buffer. Threads:
 * thread-safe. */
#ifndef GANTRY_BASE_ENTROPY_H
#define GANTRY_BASE_ENTROPY_H

#include <stddef.h>

#include "base/failure.h"

/* Fills out, at most 256 bytes. Unavailable if the system has no generator. */
gantry_status_t gantry__entropy(void *out, size_t bytes);

#endif
