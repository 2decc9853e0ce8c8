/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/file/model_file.h"

#include <errno.h>
#include <string.h>

#include "base/os/files.h"
#include "shared/memory.h"
#include "onnx/file/folder.h"
#include "onnx/graph/build.h"

static gantry_status_t new_file(bool reads_file, bool follows_links, gantry__onnx_file_t **out) {
    *out = gantry__alloc(1, sizeof **out);
    if (!*out) return GANTRY_RESOURCE_EXHAUSTED;
    (*out)->reads_file = reads_file;
    (*out)->follows_links = follows_links;
    (*out)->folder = -1;
    return GANTRY_OK;
}

/* Takes the file's bytes. A pipe does not make it wait. */
static gantry_status_t open_content(gantry__onnx_file_t *file, const char *path) {
    gantry__os_info_t info;
    gantry_status_t status;
    const int opened = gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_NO_WAIT, 0);
    if (opened < 0)
        return gantry__fail(errno == ENOENT ? GANTRY_NOT_FOUND : GANTRY_INVALID_ARGUMENT,
                            "%s: it cannot be opened: %s", path, strerror(errno));
    if (gantry__os_file_info(opened, &info) != 0 || info.kind != GANTRY__OS_PLAIN)
        status = gantry__fail(GANTRY_INVALID_ARGUMENT,
                              "%s: it is no regular file; an ONNX file is accepted", path);
    else
        status =
            gantry__onnx_take_content(opened, info.size, file->reads_file, path, &file->content);
    (void)gantry__os_close(opened);
    return status;
}

/* Makes the model of the file's bytes. open_folder, which may be NULL, is called for external
 * data. */
static gantry_status_t build_file(gantry__onnx_file_t *file, const char *path,
                                  gantry_status_t (*open_folder)(const char *path, int *out),
                                  const char *folder) {
    gantry__onnx_reader_t reader;
    gantry__onnx_tensor_t **externals;
    size_t count;
    gantry__onnx_reader_init(&reader, path, file->content.bytes.data, file->content.bytes.size);
    gantry_status_t status = gantry__onnx_build_model(&reader, &file->model, &externals, &count);
    if (status == GANTRY_OK && count > 0 && open_folder)
        status = open_folder(folder, &file->folder);
    if (status == GANTRY_OK) status = gantry__onnx_take_externals(file, &reader, externals, count);
    file->arena = reader.model;
    gantry__free(externals);
    return status;
}

/* Ends a function that makes a file: gives it or releases it. */
static gantry_status_t give_file(gantry__onnx_file_t *file, gantry_status_t status,
                                 gantry__onnx_file_t **out) {
    if (status != GANTRY_OK) gantry__onnx_file_release(file);
    *out = status == GANTRY_OK ? file : NULL;
    return status;
}

gantry_status_t gantry__onnx_read_path(const char *path, bool reads_file, bool follows_links,
                                       gantry__onnx_file_t **out_file) {
    gantry__onnx_file_t *file;
    *out_file = NULL;
    GANTRY__TRY(new_file(reads_file, follows_links, &file));
    gantry_status_t status = open_content(file, path);
    if (status == GANTRY_OK) status = build_file(file, path, gantry__onnx_open_folder_of, path);
    return give_file(file, status, out_file);
}

gantry_status_t gantry__onnx_read_bytes(const char *name, const void *bytes, size_t size,
                                        const char *folder, bool follows_links,
                                        gantry__onnx_file_t **out_file) {
    gantry__onnx_file_t *file;
    *out_file = NULL;
    GANTRY__TRY(new_file(false, follows_links, &file));
    file->content.bytes = (gantry__onnx_bytes_t){bytes, size};
    return give_file(file, build_file(file, name, folder ? gantry__onnx_open_folder : NULL, folder),
                     out_file);
}

const gantry__onnx_graph_model_t *gantry__onnx_file_model(const gantry__onnx_file_t *file) {
    return file->model;
}

void gantry__onnx_file_release(gantry__onnx_file_t *file) {
    if (!file) return;
    for (size_t i = 0; i < file->external_count; ++i)
        gantry__onnx_content_deinit(&file->externals[i].content);
    gantry__free(file->externals);
    gantry__onnx_arena_deinit(&file->arena);
    gantry__onnx_content_deinit(&file->content);
    if (file->folder >= 0) (void)gantry__os_close(file->folder);
    gantry__free(file);
}
