/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/os/files.h"
#include "shared/memory.h"
#include "onnx/file/folder.h"
#include "onnx/file/model_file.h"
#include "onnx/graph/names.h"

/* Opens a file that was not opened before, and checks that nothing else is there. */
static gantry_status_t add_external(gantry__onnx_file_t *file,
                                    const gantry__onnx_tensor_t *tensor) {
    gantry__onnx_external_t external = {.location = tensor->location};
    int opened;
    if (!gantry__grow(&file->externals, file->external_count, &file->external_capacity,
                      sizeof *file->externals))
        return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(gantry__onnx_open_external(file->folder, tensor->location, file->follows_links,
                                           file->model->path, tensor->name, &opened,
                                           &external.size));
    gantry_status_t status = GANTRY_OK;
    if (!file->reads_file)
        status = gantry__onnx_take_content(opened, external.size, false, tensor->location,
                                           &external.content);
    (void)gantry__os_close(opened);
    if (status == GANTRY_OK) file->externals[file->external_count++] = external;
    return status;
}

static gantry_status_t external_take_tensor(gantry__onnx_file_t *file,
                                            const gantry__onnx_external_t *external,
                                            gantry__onnx_tensor_t *tensor) {
    if (tensor->offset > external->size || tensor->length > external->size - tensor->offset)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "%s: the external data of the tensor '%s' are %" PRIu64
                            " bytes at byte %" PRIu64 " of '%s', which has %" PRIu64,
                            file->model->path, tensor->name, tensor->length, tensor->offset,
                            tensor->location, external->size);
    if (external->content.bytes.data)
        tensor->raw = (gantry__onnx_bytes_t){external->content.bytes.data + tensor->offset,
                                             (size_t)tensor->bytes};
    return GANTRY_OK;
}

static gantry_status_t take_each(gantry__onnx_file_t *file, gantry__onnx_reader_t *reader,
                                 gantry__onnx_names_t *locations, gantry__onnx_tensor_t *tensor) {
    const gantry__onnx_bytes_t location = {(const uint8_t *)tensor->location,
                                           strlen(tensor->location)};
    uint32_t number;
    bool found;
    GANTRY__TRY(gantry__onnx_find_name(reader, locations, 0, location, &number, &found));
    if (!found) {
        number = (uint32_t)file->external_count;
        GANTRY__TRY(add_external(file, tensor));
        GANTRY__TRY(gantry__onnx_set_name(reader, locations, 0, location, number));
    }
    return external_take_tensor(file, &file->externals[number], tensor);
}

gantry_status_t gantry__onnx_take_externals(gantry__onnx_file_t *file,
                                            gantry__onnx_reader_t *reader,
                                            gantry__onnx_tensor_t *const *tensors, size_t count) {
    gantry__onnx_names_t locations = {0};
    gantry_status_t status = GANTRY_OK;
    if (count > 0 && file->folder < 0)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "%s: the tensor '%s' has its data in another file, '%s'; a model of "
                            "bytes needs the folder of such files",
                            file->model->path, tensors[0]->name, tensors[0]->location);
    for (size_t i = 0; i < count && status == GANTRY_OK; ++i)
        status = take_each(file, reader, &locations, tensors[i]);
    gantry__onnx_names_deinit(&locations);
    return status;
}
