/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry/file.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/new_file.h"

gantry_status_t gantry_file_begin(const char *path, gantry_new_file_t *out_file) {
    if (!out_file)
        return gantry__refuse("gantry_file_begin: out_file is NULL; an address is accepted");
    return gantry__new_file_begin(path, GANTRY__FILE_DURABLE, out_file);
}

static gantry_status_t check_begun(const gantry_new_file_t *file, const char *call) {
    if (file && file->file >= 0) return GANTRY_OK;
    return gantry__refuse(
        "%s: the file is %s; one that gantry_file_begin began and nothing ended is accepted", call,
        file ? "closed" : "NULL");
}

gantry_status_t gantry_file_write(gantry_new_file_t *file, const void *bytes, size_t size) {
    GANTRY__TRY(check_begun(file, "gantry_file_write"));
    if (bytes || size == 0) return gantry__new_file_write(file, bytes, size);
    return gantry__refuse("gantry_file_write: bytes is NULL; the address of %zu bytes is accepted",
                          size);
}

gantry_status_t gantry_file_end(gantry_new_file_t *file) {
    GANTRY__TRY(check_begun(file, "gantry_file_end"));
    return gantry__new_file_end(file);
}

void gantry_file_abandon(gantry_new_file_t *file) {
    if (file) gantry__new_file_abandon(file);
}

gantry_status_t gantry_file_append(const char *path, const void *bytes, size_t size) {
    if (bytes || size == 0) return gantry__file_append(path, bytes, size);
    return gantry__refuse("gantry_file_append: bytes is NULL; the address of %zu bytes is accepted",
                          size);
}

gantry_status_t gantry_file_read_at(int file, const char *path, uint64_t offset, void *bytes,
                                    size_t size) {
    GANTRY__TRY(gantry__file_check_path("read a file", path));
    if (file < 0)
        return gantry__refuse("gantry_file_read_at: file is %d; an open file is accepted", file);
    if (bytes || size == 0) return gantry__file_read_at(file, path, offset, bytes, size);
    return gantry__refuse("gantry_file_read_at: bytes is NULL; room for %zu bytes is accepted",
                          size);
}
