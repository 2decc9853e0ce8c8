/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes whose ends close when a program is executed. The including file defines _GNU_SOURCE, for
 * pipe2. Owner: the caller closes both ends. Threads: any; where the system has no pipe2, a child
 * that another thread starts at this moment may inherit an end. */
#ifndef GANTRY_BASE_OS_POSIX_PIPES_H
#define GANTRY_BASE_OS_POSIX_PIPES_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

/* gantry__os_pipe_ends: the end that is read is first. 0 or an errno; then nothing is open. */
#if defined(__APPLE__)
static inline bool gantry__os_mark_end(int end, bool waits) {
    return fcntl(end, F_SETFD, FD_CLOEXEC) == 0 && (waits || fcntl(end, F_SETFL, O_NONBLOCK) == 0);
}

static inline int gantry__os_pipe_ends(int out_ends[2], bool waits) {
    if (pipe(out_ends) != 0) return errno;
    if (gantry__os_mark_end(out_ends[0], waits) && gantry__os_mark_end(out_ends[1], waits))
        return 0;
    const int error = errno;
    (void)close(out_ends[0]);
    (void)close(out_ends[1]);
    return error;
}
#else
static inline int gantry__os_pipe_ends(int out_ends[2], bool waits) {
    return pipe2(out_ends, waits ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : errno;
}
#endif

#endif
