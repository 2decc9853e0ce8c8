/* SPDX-License-Identifier: Apache-2.0 */
/* What the process may still take of memory by its own limits (ulimit): drivers and their compilers end the process where it is not
 * enough, so it is looked at before.
 *
 * Not here: what the machine and a cgroup have. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_SHARED_PROCESS_LIMIT_H
#define GANTRY_SHARED_PROCESS_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* 1 when the process may take as many bytes more; else 0 with the reason: limit, what is left of it, and who sets it. Unknown counts as enough. */
int gantry__process_has_room(uint64_t bytes, char *reason, size_t reason_bytes);

/* "; LIMIT, of which so much is left", for the message of a driver that had no memory; "" where the process has no limit. */
void gantry__process_limit_text(char *out, size_t out_bytes);

#endif
