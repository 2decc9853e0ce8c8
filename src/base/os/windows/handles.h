/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of the system and descriptors of the C runtime, for the files of this folder. Owner: a
 * descriptor owns its handle. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_WINDOWS_HANDLES_H
#define GANTRY_BASE_OS_WINDOWS_HANDLES_H

#include <windows.h>

/* The handle of an open file; INVALID_HANDLE_VALUE with EBADF if there is none. */
HANDLE gantry__os_handle(int file);
/* A descriptor that owns the handle and that no child inherits; -1 with errno, after closing the
 * handle. flags: _O_APPEND or 0. */
int gantry__os_descriptor(HANDLE handle, int flags);

/* Makes a job, whose processes end when its last handle is closed, so with this process; NULL: the
 * system refuses it. */
HANDLE gantry__os_job_make(void);
/* From here on, the processes outlive the job's handle. job may be NULL. */
void gantry__os_job_release(HANDLE job);

#endif
