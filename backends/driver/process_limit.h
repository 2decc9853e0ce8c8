/* SPDX-License-Identifier: Apache-2.0 */
/* The memory and the size of files that the process's own limits (ulimit) still allow. Drivers and
 * their compilers end the process if they get too little, so backends check these limits first.
 *
 * Not here: the limits of machine and cgroup. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_DRIVER_PROCESS_LIMIT_H
#define GANTRY_DRIVER_PROCESS_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether there is a limit of memory. It takes two calls of the system. */
bool gantry__process_is_limited(void);
/* The bytes in use that the tightest limit of memory counts; 0 without a limit. */
uint64_t gantry__process_counted_bytes(void);
/* Whether the process may take this many bytes more; true if its limits are unknown. If not, the
 * reason names the limit, its setting and the bytes left. */
bool gantry__process_has_room(uint64_t bytes, char *reason, size_t reason_bytes);
/* Whether the process may write a file of this size. A longer write would end the process by
 * SIGXFSZ. */
bool gantry__process_may_write(uint64_t bytes, char *reason, size_t reason_bytes);

/* Writes "; LIMIT, of which N MiB are left", for the message of a driver that ran out of memory, or
 * "" without a limit. */
void gantry__process_limit_text(char *out, size_t out_bytes);

#endif
