/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fopencookie */
#include "base/os/output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- standard output ---- */

int gantry__os_output_divert(void) {
    (void)fflush(stdout);
    const int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return kept;
    (void)close(kept);
    return -1;
}

void gantry__os_output_return(int kept) {
    (void)fflush(stdout); /* of the drivers */
    if (kept < 0) return;
    (void)dup2(kept, STDOUT_FILENO);
    (void)close(kept);
}

FILE *gantry__os_output_take(void) {
    const int kept = gantry__os_output_divert();
    FILE *output = kept >= 0 ? fdopen(kept, "w") : NULL;
    if (!output) {
        const int error = errno;
        gantry__os_output_return(kept);
        errno = error;
    }
    return output;
}

/* ---- streams to functions ---- */

#if defined(__APPLE__)
static int sink_write(void *user, const char *bytes, int size) {
    const gantry__os_sink_t *sink = user;
    return sink->write(sink->user, bytes, (size_t)size) ? size : -1;
}

FILE *gantry__os_sink_open(gantry__os_sink_t *sink) { return fwopen(sink, sink_write); }
#else
static ssize_t sink_write(void *user, const char *bytes, size_t size) {
    const gantry__os_sink_t *sink = user;
    return sink->write(sink->user, bytes, size) ? (ssize_t)size : 0;
}

FILE *gantry__os_sink_open(gantry__os_sink_t *sink) {
    const cookie_io_functions_t functions = {.write = sink_write};
    return fopencookie(sink, "w", functions);
}
#endif

bool gantry__os_sink_close(gantry__os_sink_t *sink, FILE *stream) {
    (void)sink;
    const bool failed = fflush(stream) != 0 || ferror(stream);
    return fclose(stream) == 0 && !failed;
}
