/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry/io.h>

#include "base/files.h"
#include "io/npy.h"
#include "run/eager.h"

/* Larger files are refused before memory is asked for. */
#define NPY_LARGEST ((size_t)1 << 40)

static gantry_status_t read_file(gantry_scope_t *scope, const char *path, gantry_tensor_t **out_tensor) {
    if (!path) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_load_npy: the path is NULL");
    gantry__npy_array_t array;
    gantry_status_t status = gantry__npy_load(&scope->runtime->heap, path, NPY_LARGEST, &array);
    if (status == GANTRY_OK) {
        gantry_logical_device_t *device;
        status = gantry__place_core_op(scope, GANTRY__OP_ID_CONST, "_EagerConst", array.dtype, false, NULL, &device);
        if (status == GANTRY_OK) {
            status = gantry__tensor_from_host(scope->runtime, device, array.dtype, &array.shape, array.data, scope->tag,
                                              out_tensor);
        }
    }
    gantry__npy_array_deinit(&array);
    return status;
}

static gantry_status_t load(gantry_scope_t *scope, const char *path, gantry_tensor_t **out_tensor) {
    gantry__profile_frame_t room, *frame = gantry__profile_begin_call(&scope->runtime->devices, &room);
    gantry_status_t status = read_file(scope, path, out_tensor);
    gantry__profile_end_call(&scope->runtime->profile, frame, GANTRY__OP_ID_CONST,
                             *out_tensor ? (*out_tensor)->device : NULL);
    return status;
}

const gantry_tensor_t *gantry_load_npy(gantry_scope_t *scope, const char *path) {
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    status = load(scope, path, &tensor);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(scope, status);
        return NULL;
    }
    gantry__scope_adopt(scope, tensor);
    return tensor;
}

static gantry_status_t save(const gantry_tensor_t *tensor, const char *path) {
    if (!path) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_save_npy: the path is NULL");
    if (!tensor) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_save_npy: the tensor for %s is NULL", path);
    char header[GANTRY__NPY_HEADER_BYTES];
    size_t header_bytes;
    GANTRY__TRY(gantry__npy_header(tensor->dtype, &tensor->shape, header, &header_bytes));
    const void *data;
    void *owned;
    GANTRY__TRY(gantry__tensor_host_data(tensor, &data, &owned));
    const gantry__file_piece_t pieces[] = {{header, header_bytes}, {data, tensor->size_bytes}};
    gantry_status_t status = gantry__file_write(path, pieces, 2, GANTRY__FILE_DURABLE);
    gantry__heap_free(&tensor->runtime->heap, owned, tensor->size_bytes);
    return status;
}

gantry_status_t gantry_save_npy(gantry_scope_t *scope, const gantry_tensor_t *tensor, const char *path) {
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return status;
    return gantry__scope_fail(scope, save(tensor, path));
}
