/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry/io.h>

#include "api/interop.h"
#include "base/files.h"
#include "base/fp_mode.h"
#include "base/new_file.h"
#include "device/device_open.h"
#include "io/file_kind.h"
#include "io/npy.h"
#include "run/dispatch.h"
#include "run/tensor_stream.h"

/* Larger files are refused before memory is allocated. */
#define NPY_LARGEST ((size_t)1 << (sizeof(size_t) > 4 ? 40 : 30))

typedef struct npy_load_t {
    gantry_scope_t *scope;
    gantry_logical_device_t *device;
    gantry__npy_file_t file;
} npy_load_t;

static gantry_status_t npy_next(void *user, void *out, size_t bytes) {
    npy_load_t *load = user;
    return gantry__npy_read(&load->scope->runtime->heap, &load->file, out, bytes);
}

static gantry_status_t npy_read_elements(npy_load_t *load, gantry_tensor_t **out_tensor) {
    const gantry__npy_view_t *array = &load->file.array;
    return gantry__tensor_stream(load->scope, load->device, array->dtype, &array->shape,
                                 array->fortran_order && array->shape.rank > 1, npy_next, load,
                                 out_tensor);
}

static gantry_status_t npy_load(npy_load_t *load, gantry_tensor_t **out_tensor) {
    gantry_scope_t *scope = load->scope;
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_Const, NULL);
    gantry_status_t status =
        gantry__place_core_op(scope, GANTRY__OP_ID_Const, "_EagerConst", load->file.array.dtype,
                              false, NULL, &load->device);
    recorded.device = load->device;
    if (status == GANTRY_OK) status = gantry__logical_device_open(load->device);
    if (status == GANTRY_OK) status = npy_read_elements(load, out_tensor);
    if (status == GANTRY_OK) {
        gantry__scope_adopt(scope, *out_tensor);
        return GANTRY_OK;
    }
    gantry_tensor_release(*out_tensor);
    *out_tensor = NULL;
    return status;
}

/* Whether the elements are in the file as a tensor has them. */
static bool npy_is_mappable(const gantry__npy_view_t *array) {
    return !array->swapped && (!array->fortran_order || array->shape.rank < 2);
}

static gantry_status_t npy_map(const npy_load_t *load, gantry_tensor_t **out_tensor) {
    const gantry__npy_view_t *array = &load->file.array;
    const gantry__memory_t memory = {
        .dtype = array->dtype, .shape = array->shape, .bytes = array->data_bytes};
    return gantry__from_file(load->scope, load->file.file, load->file.path, array->data_offset,
                             &memory, "gantry_map_npy", out_tensor);
}

/* Gives the scope the tensor of a file. */
static const gantry_tensor_t *tensor_of_npy(gantry_scope_t *scope, const char *path,
                                            const char *call, bool maps) {
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    npy_load_t load = {.scope = scope, .file.file = -1};
    gantry_status_t status =
        path ? gantry__npy_open(&scope->runtime->heap, path, NPY_LARGEST, &load.file)
             : gantry__refuse("%s: the path is NULL", call);
    if (status == GANTRY_OK)
        status = maps && npy_is_mappable(&load.file.array) ? npy_map(&load, &tensor)
                                                           : npy_load(&load, &tensor);
    gantry__npy_close(&load.file);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return tensor;
}

const gantry_tensor_t *gantry_load_npy(gantry_scope_t *scope, const char *path) {
    GANTRY__OWN_FP_MODE(fp);
    return tensor_of_npy(scope, path, "gantry_load_npy", false);
}

const gantry_tensor_t *gantry_map_npy(gantry_scope_t *scope, const char *path) {
    GANTRY__OWN_FP_MODE(fp);
    return tensor_of_npy(scope, path, "gantry_map_npy", true);
}

static gantry_status_t save(const gantry_tensor_t *tensor, const char *path) {
    if (!path) return gantry__refuse("gantry_save_npy: the path is NULL");
    if (!tensor) return gantry__refuse("gantry_save_npy: the tensor for %s is NULL", path);
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
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return status;
    return gantry__scope_fail(scope, save(tensor, path));
}

/* ---- files in memory ---- */

gantry_status_t gantry_parse_npy(const void *npy, size_t npy_bytes, gantry_dtype_t *out_dtype,
                                 gantry_shape_t *out_shape, void *out, size_t out_bytes) {
    gantry__npy_view_t view;
    if (!npy || !out_dtype || !out_shape) {
        return gantry__refuse("gantry_parse_npy: %s is NULL", !npy         ? "npy"
                                                              : !out_dtype ? "out_dtype"
                                                                           : "out_shape");
    }
    GANTRY__TRY(gantry__npy_parse(npy, npy_bytes, &view));
    *out_dtype = view.dtype;
    *out_shape = view.shape;
    if (!out) return GANTRY_OK;
    if (out_bytes != view.data_bytes) {
        return gantry__refuse("gantry_parse_npy: out has %zu bytes; the elements have %zu",
                              out_bytes, view.data_bytes);
    }
    gantry__npy_copy(&view, out);
    return GANTRY_OK;
}

gantry_status_t gantry_parse_npy_header(const void *front, size_t front_bytes, uint64_t npy_bytes,
                                        gantry_dtype_t *out_dtype, gantry_shape_t *out_shape,
                                        uint64_t *out_offset) {
    gantry__npy_view_t view;
    if (!front || !out_dtype || !out_shape || !out_offset) {
        return gantry__refuse("gantry_parse_npy_header: %s is NULL", !front       ? "front"
                                                                     : !out_dtype ? "out_dtype"
                                                                     : !out_shape ? "out_shape"
                                                                                  : "out_offset");
    }
    GANTRY__TRY(gantry__npy_parse_front(front, front_bytes, npy_bytes, &view));
    *out_dtype = view.dtype;
    *out_shape = view.shape;
    *out_offset = view.data_offset;
    return GANTRY_OK;
}

const char *gantry_recognize_file(const void *front, size_t front_bytes) {
    return front ? gantry__file_kind(front, front_bytes) : NULL;
}

_Static_assert(GANTRY_NPY_HEADER_BYTES == GANTRY__NPY_HEADER_BYTES, "one size");

gantry_status_t gantry_format_npy_header(gantry_dtype_t dtype, const gantry_shape_t *shape,
                                         char out[GANTRY_NPY_HEADER_BYTES], size_t *out_size) {
    if (!shape || !out || !out_size) {
        return gantry__refuse("gantry_format_npy_header: %s is NULL", !shape ? "shape"
                                                                      : !out ? "out"
                                                                             : "out_size");
    }
    return gantry__npy_header(dtype, shape, out, out_size);
}
