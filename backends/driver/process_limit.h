/* SPDX-License-Identifier: Apache-2.0 */
/* What the process may still take of memory by its own limits (ulimit): drivers and their compilers
 * end the process where it is not enough, so it is looked at before.
 *
 * Not here: what machine and cgroup have. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_DRIVER_PROCESS_LIMIT_H
#define GANTRY_DRIVER_PROCESS_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1 when the process may take as many bytes more, or nothing is known; else 0 with the reason:
 * limit, who sets it, and what is left of it. */
bool gantry__process_has_room(uint64_t bytes, char *reason, size_t reason_bytes);

/* "; LIMIT, of which so much is left", for the message of a driver that had no memory; "" where
 * there is no limit. */
void gantry__process_limit_text(char *out, size_t out_bytes);

#endif
