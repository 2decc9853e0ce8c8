/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that nobody can foresee, from the operating system's generator. Thread-safe. */
#ifndef GANTRY_BASE_ENTROPY_H
#define GANTRY_BASE_ENTROPY_H

#include <stddef.h>

#include "base/failure.h"

/* Fills out, of at most 256 bytes. Unavailable when the system has no such generator. */
gantry_status_t gantry__entropy(void *out, size_t bytes);

#endif
