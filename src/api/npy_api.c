/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry/io.h>

#include "base/files.h"
#include "base/new_file.h"
#include "device/device_open.h"
#include "device/transfer.h"
#include "io/npy.h"
#include "run/dispatch.h"

/* Larger files are refused before memory is allocated. */
#define NPY_LARGEST ((size_t)1 << (sizeof(size_t) > 4 ? 40 : 30))
/* A device gets a longer array in blocks of this size: the host never holds all of it. */
#define NPY_BLOCK ((size_t)4 << 20)

typedef struct npy_load_t {
    gantry_scope_t *scope;
    gantry_logical_device_t *device;
    gantry__npy_file_t file;
} npy_load_t;

static gantry_status_t make_tensor(npy_load_t *load, uint32_t first_stream,
                                   gantry_tensor_t **out_tensor) {
    const gantry__npy_view_t *array = &load->file.array;
    const gantry__allocation_t purpose = {.owner = "Const", .tag = load->scope->tag};
    return gantry__tensor_create(load->scope->runtime, load->device, array->dtype, &array->shape,
                                 first_stream, &purpose, out_tensor);
}

static gantry_status_t read_in_place(npy_load_t *load, gantry_tensor_t **out_tensor) {
    GANTRY__TRY(make_tensor(load, GANTRY_STREAM_TO_DEVICE, out_tensor));
    return gantry__npy_read(&load->scope->runtime->heap, &load->file, (*out_tensor)->data,
                            (*out_tensor)->size_bytes);
}

static gantry_status_t read_whole(npy_load_t *load, void *block, gantry_tensor_t **out_tensor) {
    const gantry__npy_view_t *array = &load->file.array;
    GANTRY__TRY(
        gantry__npy_read(&load->scope->runtime->heap, &load->file, block, array->data_bytes));
    return gantry__tensor_from_host(load->scope->runtime, load->device, array->dtype, &array->shape,
                                    block, load->scope->tag, out_tensor);
}

static gantry_status_t read_by_blocks(npy_load_t *load, void *block, gantry_tensor_t **out_tensor) {
    GANTRY__TRY(make_tensor(load, GANTRY_STREAM_TO_DEVICE, out_tensor));
    gantry_tensor_t *tensor = *out_tensor;
    for (uint64_t at = 0; at < tensor->size_bytes; at += NPY_BLOCK) {
        const uint64_t left = tensor->size_bytes - at;
        const size_t bytes = left < NPY_BLOCK ? (size_t)left : NPY_BLOCK;
        GANTRY__TRY(gantry__npy_read(&load->scope->runtime->heap, &load->file, block, bytes));
        GANTRY__TRY(gantry__copy_part_from_host(tensor->buffer, at, block, bytes, &tensor->ready));
    }
    return GANTRY_OK;
}

static gantry_status_t npy_read_elements(npy_load_t *load, gantry_tensor_t **out_tensor) {
    const gantry__npy_view_t *array = &load->file.array;
    const gantry__heap_t *heap = &load->scope->runtime->heap;
    if (load->device->host_addressable && load->device->synchronous)
        return read_in_place(load, out_tensor);
    const bool is_whole =
        array->data_bytes <= NPY_BLOCK || (array->fortran_order && array->shape.rank > 1);
    const size_t block_bytes = is_whole ? array->data_bytes : NPY_BLOCK;
    void *block = gantry__heap_alloc(heap, block_bytes);
    if (!block) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status =
        is_whole ? read_whole(load, block, out_tensor) : read_by_blocks(load, block, out_tensor);
    gantry__heap_free(heap, block, block_bytes);
    return status;
}

static gantry_status_t npy_read_file(gantry_scope_t *scope, const char *path,
                                     gantry_tensor_t **out_tensor) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_Const, NULL);
    if (!path) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_load_npy: the path is NULL");
    npy_load_t load = {.scope = scope};
    gantry_status_t status = gantry__npy_open(&scope->runtime->heap, path, NPY_LARGEST, &load.file);
    if (status == GANTRY_OK) {
        status = gantry__place_core_op(scope, GANTRY__OP_ID_Const, "_EagerConst",
                                       load.file.array.dtype, false, NULL, &load.device);
    }
    recorded.device = load.device;
    if (status == GANTRY_OK) status = gantry__logical_device_open(load.device);
    if (status == GANTRY_OK) status = npy_read_elements(&load, out_tensor);
    gantry__npy_close(&load.file);
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry_tensor_release(*out_tensor);
    *out_tensor = NULL;
    return status;
}

const gantry_tensor_t *gantry_load_npy(gantry_scope_t *scope, const char *path) {
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    status = npy_read_file(scope, path, &tensor);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(scope, status);
        return NULL;
    }
    gantry__scope_adopt(scope, tensor);
    return tensor;
}

static gantry_status_t save(const gantry_tensor_t *tensor, const char *path) {
    if (!path) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_save_npy: the path is NULL");
    if (!tensor)
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_save_npy: the tensor for %s is NULL",
                            path);
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

gantry_status_t gantry_save_npy(gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                const char *path) {
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return status;
    return gantry__scope_fail(scope, save(tensor, path));
}

/* ---- files in memory ---- */

gantry_status_t gantry_parse_npy(const void *npy, size_t npy_bytes, gantry_dtype_t *out_dtype,
                                 gantry_shape_t *out_shape, void *out, size_t out_bytes) {
    gantry__npy_view_t view;
    if (!npy || !out_dtype || !out_shape) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_parse_npy: %s is NULL",
                            !npy         ? "npy"
                            : !out_dtype ? "out_dtype"
                                         : "out_shape");
    }
    GANTRY__TRY(gantry__npy_parse(npy, npy_bytes, &view));
    *out_dtype = view.dtype;
    *out_shape = view.shape;
    if (!out) return GANTRY_OK;
    if (out_bytes != view.data_bytes) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "gantry_parse_npy: out has %zu bytes; the elements have %zu", out_bytes,
                            view.data_bytes);
    }
    gantry__npy_copy(&view, out);
    return GANTRY_OK;
}

_Static_assert(GANTRY_NPY_HEADER_BYTES == GANTRY__NPY_HEADER_BYTES, "one size");

gantry_status_t gantry_format_npy_header(gantry_dtype_t dtype, const gantry_shape_t *shape,
                                         char out[GANTRY_NPY_HEADER_BYTES], size_t *out_size) {
    if (!shape || !out || !out_size) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_format_npy_header: %s is NULL",
                            !shape ? "shape"
                            : !out ? "out"
                                   : "out_size");
    }
    return gantry__npy_header(dtype, shape, out, out_size);
}
