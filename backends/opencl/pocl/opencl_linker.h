/* SPDX-License-Identifier: Apache-2.0 */
/* The linker that PoCL starts for each kernel that it compiles. A small link tries it before PoCL's
 * processors are listed, because PoCL ends the process when a link fails.
 *
 * Not here: the rest of what PoCL needs (opencl_pocl.h). Owner: nothing is kept. Threads: can_link
 * reads the environment and is init-only, can_wait is thread-safe. */
#ifndef GANTRY_OPENCL_LINKER_H
#define GANTRY_OPENCL_LINKER_H

#include <stdbool.h>
#include <stddef.h>

/* Whether PoCL can wait for its linker; one call of the system. 0 with the reason. */
bool gantry__linker_can_wait(char *reason, size_t reason_bytes);
/* Whether the linker links for this machine. folder: where PoCL keeps what it compiles; the trial
 * writes there. 0 with the reason. */
bool gantry__linker_can_link(const char *folder, char *reason, size_t reason_bytes);

#endif
