/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of files between processes and threads.
 *
 * A lock belongs to the open file: two openings of a name exclude each other, also in one process,
 * and the system ends the lock with the open file's last descriptor, so a process that dies leaves
 * none. Locks concern only each other: whoever has none may read and write. The lock of the file
 * and the locks of its bytes are independent. No function waits. Owner: the caller must unlock what
 * it locked, or close the file. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_LOCKS_H
#define GANTRY_BASE_OS_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Locks an open file or folder. is_shared: other shared locks may exist at the same time. Returns
 * 0, EAGAIN if another open file has the lock, or another errno value where the file system has no
 * locks. */
int gantry__os_lock(int file, bool is_shared);
void gantry__os_unlock(int file);

/* ---- bytes, which the file need not have ---- */

/* Locks one byte; the file must be open for writing. Returns as gantry__os_lock. */
int gantry__os_lock_byte(int file, int64_t byte);
void gantry__os_unlock_byte(int file, int64_t byte);

typedef struct gantry__os_range_t {
    int64_t begin, end;
} gantry__os_range_t;

/* A range of bytes in [from, end) that another open file locks, any of them; false: none. */
bool gantry__os_locked_range(int file, int64_t from, int64_t end, gantry__os_range_t *out_range);

#endif
