/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes of this machine, by their numbers. A number may be used again, so what it names
 * may change at any time. Owner: the caller's buffers. Threads: externally synchronised. */
#ifndef GANTRY_BASE_OS_PROCESSES_H
#define GANTRY_BASE_OS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a process's name, and its user's; "" where they are unknown. Whoever started the process
 * chose the name. */
void gantry__os_process_describe(int64_t process, char *out_name, size_t name_bytes, char *out_user,
                                 size_t user_bytes);
/* Returns when a process of that user (files.h) began, in seconds of gantry__os_boot_ns, at most
 * 0.01 too early; negative: there is none, or it is another user's. */
double gantry__os_process_start(int64_t process, uint64_t user);
/* Lists processes that have a file open whose path ends so; those of other users only where the
 * system shows them. False: it shows none. */
bool gantry__os_processes_with(const char *path_end, int64_t *out_processes, size_t most,
                               size_t *out_count);

#endif
