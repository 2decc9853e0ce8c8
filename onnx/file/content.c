/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/pages.h"
#include "shared/memory.h"
#include "onnx/file/model_file.h"

gantry_status_t gantry__onnx_read_at(int file, const char *path, uint64_t offset, void *bytes,
                                     size_t size) {
    size_t done = 0;
    while (done < size) {
        const int64_t count =
            gantry__os_read_at(file, (char *)bytes + done, size - done, offset + done);
        if (count < 0)
            return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s: it cannot be read: %s", path,
                                strerror(errno));
        if (count == 0)
            return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s: it became shorter while it was read",
                                path);
        done += (size_t)count;
    }
    return GANTRY_OK;
}

static gantry_status_t map_content(int file, size_t size, const char *path,
                                   gantry__onnx_content_t *out) {
    gantry__os_map_t map;
    const int error = gantry__os_map(file, 0, size, &map);
    if (error)
        return gantry__fail(error == ENOMEM ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_INVALID_ARGUMENT,
                            "%s: its %zu bytes cannot be mapped: %s", path, size, strerror(error));
    *out = (gantry__onnx_content_t){.bytes = {map.data, size}, .map = map};
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_take_content(int file, uint64_t size, bool reads, const char *path,
                                          gantry__onnx_content_t *out_content) {
    *out_content = (gantry__onnx_content_t){0};
    if (size == 0) return GANTRY_OK;
    if (!reads) return map_content(file, (size_t)size, path, out_content);
    void *memory = gantry__alloc((size_t)size, 1);
    if (!memory) return GANTRY_RESOURCE_EXHAUSTED;
    *out_content = (gantry__onnx_content_t){.bytes = {memory, (size_t)size}, .memory = memory};
    return gantry__onnx_read_at(file, path, 0, memory, (size_t)size);
}

void gantry__onnx_content_deinit(gantry__onnx_content_t *content) {
    gantry__free(content->memory);
    if (content->map.pages) gantry__os_unmap(&content->map);
    *content = (gantry__onnx_content_t){0};
}
