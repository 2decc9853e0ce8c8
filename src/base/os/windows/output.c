/* SPDX-License-Identifier: Apache-2.0 */
/* The C runtime here opens no stream to a function, so such a stream is a file that is read when it
 * is closed. */
#include "base/os/output.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <windows.h>

#include "base/os/files.h"

/* ---- standard output ---- */

int gantry__os_output_divert(void) {
    (void)fflush(stdout);
    const int kept = gantry__os_copy(_fileno(stdout), 3);
    if (kept < 0 || _dup2(_fileno(stderr), _fileno(stdout)) == 0) return kept;
    (void)_close(kept);
    return -1;
}

void gantry__os_output_return(int kept) {
    (void)fflush(stdout); /* of the drivers */
    if (kept < 0) return;
    (void)_dup2(kept, _fileno(stdout));
    (void)_close(kept);
}

FILE *gantry__os_output_take(void) {
    const int kept = gantry__os_output_divert();
    return kept >= 0 ? _fdopen(kept, "wb") : NULL;
}

/* ---- streams to functions ---- */

/* tmpfile makes its file in the root of a volume, which most users may not write. "D" removes the
 * file when it is closed. */
FILE *gantry__os_sink_open(gantry__os_sink_t *sink) {
    wchar_t folder[MAX_PATH + 1], path[MAX_PATH + 1];
    const DWORD length = GetTempPathW(MAX_PATH + 1, folder);
    (void)sink;
    if (length == 0 || length > MAX_PATH || !GetTempFileNameW(folder, L"gan", 0, path)) return NULL;
    return _wfopen(path, L"w+bD");
}

bool gantry__os_sink_close(gantry__os_sink_t *sink, FILE *stream) {
    char bytes[4096];
    size_t count;
    bool is_written = fflush(stream) == 0 && !ferror(stream) && fseek(stream, 0, SEEK_SET) == 0;
    while (is_written && (count = fread(bytes, 1, sizeof bytes, stream)) > 0)
        is_written = sink->write(sink->user, bytes, count);
    is_written = is_written && !ferror(stream);
    return fclose(stream) == 0 && is_written;
}
