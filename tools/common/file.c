/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the command: a stream over gantry/file.h, and folders. */
#include <stdlib.h>

#include "base/os/library.h"
#include "base/os/paths.h"
#include "base/os/user_places.h"
#include "common/tool.h"

bool gantry_tool_user_folder(const char *below, char out[GANTRY__OS_PATH_BYTES]) {
    for (size_t i = 0; i < GANTRY__OS_USER_PLACES; ++i) {
        const char *folder = getenv(gantry__os_user_places[i].variable);
        if (!folder || !gantry__os_path_is_absolute(folder)) continue;
        (void)snprintf(out, GANTRY__OS_PATH_BYTES, "%s%s/%s", folder,
                       gantry__os_user_places[i].below, below);
        return true;
    }
    out[0] = '\0';
    return false;
}

bool gantry_tool_program(char out[GANTRY__OS_PATH_BYTES]) {
    static const char own = 0; /* any address of the program */
    const char *file = gantry__os_library_own_file(&own);
    return file && gantry__os_real_path(file, out) == 0;
}

static bool write_sink(void *user, const void *bytes, size_t size) {
    return gantry_file_write(user, bytes, size) == GANTRY_OK;
}

FILE *gantry_tool_file_open(gantry_tool_file_t *self, const char *path) {
    self->sink = (gantry__os_sink_t){write_sink, &self->file};
    if (gantry_file_begin(path, &self->file) != GANTRY_OK) {
        (void)gantry_tool_fail_last();
        return NULL;
    }
    FILE *stream = gantry__os_sink_open(&self->sink);
    if (stream) return stream;
    gantry_file_abandon(&self->file);
    (void)gantry_tool_fail("cannot write '%s': there is no memory for it", path);
    return NULL;
}

bool gantry_tool_file_close(gantry_tool_file_t *self, FILE *stream) {
    const bool good =
        gantry__os_sink_close(&self->sink, stream) && gantry_file_end(&self->file) == GANTRY_OK;
    gantry_file_abandon(&self->file);
    if (!good) (void)gantry_tool_fail_last();
    return good;
}

void gantry_tool_file_drop(gantry_tool_file_t *self, FILE *stream) {
    (void)gantry__os_sink_close(&self->sink, stream);
    gantry_file_abandon(&self->file);
}
