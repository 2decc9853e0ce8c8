/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of one tensor from a place in an open file: read, or mapped. */
#include <gantry/io.h>

#include <inttypes.h>

#include "api/interop.h"
#include "base/file_map.h"
#include "base/files.h"
#include "base/fp_mode.h"
#include "device/device_open.h"
#include "run/dispatch.h"
#include "run/tensor_stream.h"
#include "run/trace_hooks.h"

typedef struct elements_t {
    const char *call; /* for messages */
    int file;
    const char *path;
    uint64_t at; /* the place of the next element */
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    uint64_t bytes;
} elements_t;

static gantry_status_t elements_next(void *user, void *out, size_t bytes) {
    elements_t *self = user;
    GANTRY__TRY(gantry__file_read_at(self->file, self->path, self->at, out, bytes));
    self->at += bytes;
    unsigned char *flags = out;
    for (size_t i = 0; self->dtype == GANTRY_BOOL && i < bytes; ++i) flags[i] = flags[i] != 0;
    return GANTRY_OK;
}

static gantry_status_t check_shape(elements_t *self) {
    const int64_t count = gantry_shape_elements(&self->shape);
    const size_t item = gantry_dtype_size(self->dtype);
    if (item == 0)
        return gantry__refuse("%s: type %d is none of gantry_dtype_t", self->call,
                              (int)self->dtype);
    if (count < 0 || (uint64_t)count > SIZE_MAX / 2 / item) {
        char text[GANTRY_MAX_RANK * 24];
        (void)gantry_shape_format(&self->shape, text, sizeof text);
        return gantry__refuse(
            "%s: shape %s of rank %d is not possible; rank 0 to %d, no negative dimension and a size that fits into memory are accepted",
            self->call, text, self->shape.rank, GANTRY_MAX_RANK);
    }
    self->bytes = (uint64_t)count * item;
    return GANTRY_OK;
}

/* Checks what can be checked before memory is taken. */
static gantry_status_t check_file(const elements_t *self, int64_t offset) {
    gantry__os_info_t info;
    if (!self->path)
        return gantry__refuse("%s: the path is NULL; the file's name is accepted", self->call);
    if (gantry__os_file_info(self->file, &info) != 0 || info.kind != GANTRY__OS_PLAIN)
        return gantry__refuse("%s: the descriptor %d of '%s' is no open plain file", self->call,
                              self->file, self->path);
    if (offset < 0)
        return gantry__refuse("%s: the offset is %" PRId64 "; 0 and more are accepted", self->call,
                              offset);
    const uint64_t size = info.size;
    if (self->at <= size && self->bytes <= size - self->at) return GANTRY_OK;
    return gantry__fail(GANTRY_DATA_LOSS,
                        "cannot read '%s': it ends at byte %" PRIu64 ", %" PRIu64
                        " bytes too early",
                        self->path, size, self->at + self->bytes - size);
}

/* Loads the elements in a trace: into host memory, as gantry_constant does. */
static gantry_status_t load_traced(gantry_scope_t *scope, elements_t *self,
                                   gantry_tensor_t **out_tensor) {
    gantry_runtime_t *runtime = scope->runtime;
    GANTRY__TRY(gantry__runtime_initialize(runtime, "Const"));
    GANTRY__TRY(gantry__logical_device_open(runtime->host));
    GANTRY__TRY(gantry__tensor_stream(scope, runtime->host, self->dtype, &self->shape, false,
                                      elements_next, self, out_tensor));
    return gantry__trace_constant(scope, *out_tensor);
}

static gantry_status_t elements_load(gantry_scope_t *scope, elements_t *self, int64_t offset,
                                     gantry_tensor_t **out_tensor) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_Const, NULL);
    GANTRY__TRY(check_shape(self));
    GANTRY__TRY(check_file(self, offset));
    if (scope->trace) return load_traced(scope, self, out_tensor);
    gantry_logical_device_t *device;
    GANTRY__TRY(gantry__place_core_op(scope, GANTRY__OP_ID_Const, "_EagerConst", self->dtype, false,
                                      NULL, &device));
    recorded.device = device;
    GANTRY__TRY(gantry__logical_device_open(device));
    return gantry__tensor_stream(scope, device, self->dtype, &self->shape, false, elements_next,
                                 self, out_tensor);
}

const gantry_tensor_t *gantry_load_elements(gantry_scope_t *scope, int file, const char *path,
                                            int64_t offset, gantry_dtype_t dtype,
                                            gantry_shape_t shape) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    elements_t self = {"gantry_load_elements", file, path, (uint64_t)offset, dtype, shape, 0};
    gantry_status_t status = elements_load(scope, &self, offset, &tensor);
    if (status != GANTRY_OK) {
        gantry_tensor_release(tensor);
        (void)gantry__scope_fail(scope, status);
        return NULL;
    }
    gantry__scope_adopt(scope, tensor);
    return tensor;
}

/* ---- mapped ---- */

gantry_status_t gantry__from_file(gantry_scope_t *scope, int file, const char *path,
                                  uint64_t offset, const gantry__memory_t *memory, const char *call,
                                  gantry_tensor_t **out_tensor) {
    gantry__memory_t mapped = *memory;
    gantry__file_map_t *map = NULL;
    *out_tensor = NULL;
    if (!scope->trace) {
        GANTRY__TRY(gantry__place_core_op(scope, GANTRY__OP_ID_Const, "_EagerConst", memory->dtype,
                                          false, NULL, &mapped.device));
        GANTRY__TRY(gantry__logical_device_open(mapped.device));
    }
    if (memory->bytes > 0) {
        GANTRY__TRY(
            gantry__file_map(&scope->runtime->heap, file, path, offset, memory->bytes, &map));
        mapped.data = map->data;
    }
    mapped.options = (gantry_from_memory_options_t){.release = gantry__file_unmap, .user = map};
    const gantry_status_t status = gantry__from_memory(scope, &mapped, call, out_tensor);
    if (status != GANTRY_OK) gantry__file_unmap(map);
    return status;
}

static gantry_status_t elements_map(gantry_scope_t *scope, elements_t *self, int64_t offset,
                                    gantry_tensor_t **out_tensor) {
    GANTRY__TRY(check_shape(self));
    GANTRY__TRY(check_file(self, offset));
    const gantry__memory_t memory = {
        .dtype = self->dtype, .shape = self->shape, .bytes = (size_t)self->bytes};
    return gantry__from_file(scope, self->file, self->path, self->at, &memory, self->call,
                             out_tensor);
}

const gantry_tensor_t *gantry_map_elements(gantry_scope_t *scope, int file, const char *path,
                                           int64_t offset, gantry_dtype_t dtype,
                                           gantry_shape_t shape) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    elements_t self = {"gantry_map_elements", file, path, (uint64_t)offset, dtype, shape, 0};
    const gantry_status_t status = elements_map(scope, &self, offset, &tensor);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return tensor;
}
