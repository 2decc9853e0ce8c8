/* SPDX-License-Identifier: Apache-2.0 */
/* What only the system says of the processor. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_PROCESSOR_H
#define GANTRY_BASE_OS_PROCESSOR_H

#include <stdbool.h>

/* Whether the processor is an ARM with products of bytes (SDOT). */
bool gantry__os_processor_has_dots(void);

#endif
