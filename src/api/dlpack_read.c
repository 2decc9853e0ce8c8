/* SPDX-License-Identifier: Apache-2.0 */
/* Reads DLPack's struct: device, type, shape, and the addresses that its strides reach. */
#include <inttypes.h>

#include "api/dlpack.h"
#include "api/elements_check.h"

#include "ops/type_rows.h"

static const int32_t types[] = {
#define TYPE(short) GANTRY_ID_##short,
    GANTRY_ELEMENT_TYPES(TYPE)
#undef TYPE
};

bool gantry__dlpack_is_host(const gantry__dl_tensor_t *tensor) {
    const int32_t type = tensor->device_type;
    return type == GANTRY__DL_CPU || type == GANTRY__DL_CUDA_HOST || type == GANTRY__DL_ROCM_HOST;
}

static gantry_status_t check_device(const gantry__dl_taken_t *taken) {
    const int32_t type = taken->tensor->device_type;
    if (gantry__dlpack_is_host(taken->tensor) || gantry__dlpack_is_device(taken->tensor))
        return GANTRY_OK;
    return gantry__refuse(
        "%s: the memory is of DLPack's device type %d, device %d; accepted are kDLCPU (1), kDLCUDA (2), kDLCUDAHost (3), kDLOpenCL (4) and kDLROCMHost (11)",
        taken->call, (int)type, (int)taken->tensor->device_id);
}

static gantry_status_t read_dl_type(const gantry__dl_taken_t *taken, gantry_dtype_t *out_dtype) {
    const gantry__dl_tensor_t *tensor = taken->tensor;
    for (size_t i = 0; tensor->dtype.lanes == 1 && i < sizeof types / sizeof types[0]; ++i) {
        if (gantry__type_dlpack(types[i]) != tensor->dtype.code ||
            gantry__type_bytes(types[i]) * 8 != tensor->dtype.bits)
            continue;
        *out_dtype = (gantry_dtype_t)types[i];
        return GANTRY_OK;
    }
    return gantry__refuse(
        "%s: DLPack's type of code %u, %u bits and %u lanes is none of gantry_dtype_t; one lane of those types is accepted",
        taken->call, tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
}

static gantry_status_t read_shape(const gantry__dl_taken_t *taken, gantry__memory_t *memory) {
    const gantry__dl_tensor_t *tensor = taken->tensor;
    gantry_shape_t *shape = &memory->shape;
    if (tensor->ndim < 0 || tensor->ndim > GANTRY_MAX_RANK || (tensor->ndim > 0 && !tensor->shape))
        return gantry__refuse(
            "%s: %d dimensions%s; 0 to %d dimensions with their sizes are accepted", taken->call,
            (int)tensor->ndim, tensor->shape ? "" : " without sizes", GANTRY_MAX_RANK);
    *shape = (gantry_shape_t){.rank = tensor->ndim};
    for (int32_t i = 0; i < tensor->ndim; ++i) shape->dims[i] = tensor->shape[i];
    /* a product that does not fit is refused below */
    memory->bytes = (size_t)gantry_shape_elements(shape) * gantry_dtype_size(memory->dtype);
    return gantry__check_elements(taken->call, memory->dtype, shape, tensor->data, memory->bytes);
}

/* The bytes before and after the first element that the strides reach. Each dimension reaches less
 * than a sixteenth of the numbers, so that the sums fit. */
static gantry_status_t read_extent(const gantry__dl_taken_t *taken, const gantry__memory_t *memory,
                                   gantry__dl_extent_t *out_extent) {
    const gantry_shape_t *shape = &memory->shape;
    const int64_t size = (int64_t)gantry_dtype_size(memory->dtype);
    const int64_t *strides = taken->tensor->strides;
    *out_extent = (gantry__dl_extent_t){0, strides ? (uint64_t)size : memory->bytes};
    for (int32_t i = 0; strides && i < shape->rank; ++i) {
        if (shape->dims[i] == 1) continue; /* its stride leads nowhere */
        const int64_t most = INT64_MAX / 16 / size / shape->dims[i];
        if (strides[i] < -most || strides[i] > most)
            return gantry__refuse("%s: stride %" PRId64 " of dimension %d; -%" PRId64 " to %" PRId64
                                  " is accepted",
                                  taken->call, strides[i], (int)i, most, most);
        const int64_t reach = strides[i] * (shape->dims[i] - 1) * size;
        *(reach < 0 ? &out_extent->before : &out_extent->after) +=
            (uint64_t)(reach < 0 ? -reach : reach);
    }
    return GANTRY_OK;
}

/* Nothing that the struct names is outside the addresses that there are. A cl_mem is no address:
 * its offsets begin at 0. */
static gantry_status_t read_address(const gantry__dl_taken_t *taken, gantry__memory_t *memory,
                                    gantry__dl_extent_t *out_extent) {
    const gantry__dl_tensor_t *tensor = taken->tensor;
    const bool is_handle = tensor->device_type == GANTRY__DL_OPENCL;
    const uint64_t begin = is_handle ? 0 : (uint64_t)(uintptr_t)tensor->data;
    const uint64_t offset = tensor->byte_offset;
    *out_extent = (gantry__dl_extent_t){0, 0};
    if (memory->bytes == 0) return GANTRY_OK;
    GANTRY__TRY(read_extent(taken, memory, out_extent));
    if (offset > UINTPTR_MAX - begin || out_extent->after > UINTPTR_MAX - begin - offset ||
        out_extent->before > begin + offset)
        return gantry__refuse("%s: %" PRIu64 " bytes before and %" PRIu64
                              " bytes from %p with byte_offset %" PRIu64
                              " on are no memory; addresses up to %" PRIu64 " are accepted",
                              taken->call, out_extent->before, out_extent->after, tensor->data,
                              offset, (uint64_t)UINTPTR_MAX);
    memory->data = is_handle ? tensor->data : (void *)(uintptr_t)(begin + offset);
    return GANTRY_OK;
}

gantry_status_t gantry__dlpack_read(const gantry__dl_taken_t *taken, gantry__memory_t *out_memory,
                                    gantry__dl_extent_t *out_extent) {
    GANTRY__TRY(check_device(taken));
    GANTRY__TRY(read_dl_type(taken, &out_memory->dtype));
    GANTRY__TRY(read_shape(taken, out_memory));
    return read_address(taken, out_memory, out_extent);
}

bool gantry__dlpack_is_row_major(const gantry_shape_t *shape, const int64_t *strides) {
    int64_t wanted = 1;
    for (int32_t i = shape->rank; strides && i-- > 0; wanted *= shape->dims[i]) {
        if (shape->dims[i] > 1 && strides[i] != wanted) return false;
    }
    return true;
}
