/* SPDX-License-Identifier: Apache-2.0 */
/* A stream over gantry/file.h. */
#define _GNU_SOURCE /* fopencookie */
#include <string.h>

#include "common/tool.h"

static ssize_t write_cookie(void *cookie, const char *bytes, size_t size) {
    return gantry_file_write(cookie, bytes, size) == GANTRY_OK ? (ssize_t)size : 0;
}

FILE *gantry_tool_file_open(gantry_new_file_t *file, const char *path) {
    const cookie_io_functions_t functions = {.write = write_cookie};
    if (gantry_file_begin(path, file) != GANTRY_OK) {
        (void)gantry_tool_fail_last();
        return NULL;
    }
    FILE *stream = fopencookie(file, "w", functions);
    if (stream) return stream;
    gantry_file_abandon(file);
    (void)gantry_tool_fail("cannot write '%s': there is no memory for it", path);
    return NULL;
}

bool gantry_tool_file_close(gantry_new_file_t *file, FILE *stream) {
    const bool failed = fflush(stream) != 0 || ferror(stream);
    const bool good = fclose(stream) == 0 && !failed && gantry_file_end(file) == GANTRY_OK;
    gantry_file_abandon(file);
    if (!good) (void)gantry_tool_fail_last();
    return good;
}
