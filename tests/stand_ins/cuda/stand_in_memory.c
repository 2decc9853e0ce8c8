/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory and pinned host memory: blocks of PoCL's fine-grain shared memory. A guard on each
 * side is checked when the block is freed. New memory holds garbage, as on a card. */
#include <stdlib.h>
#include <string.h>

#include "stand_in_graph.h"

#define GUARD_BYTES 256
#define GUARD_BYTE 0xA5
#define GARBAGE_BYTE 0xCB
#define GARBAGE_BYTES (UINT64_C(4) << 20) /* at most, from the start */

static int guard_is_whole(const uint8_t *guard) {
    for (int i = 0; i < GUARD_BYTES; ++i) {
        if (guard[i] != GUARD_BYTE) return 0;
    }
    return 1;
}

static void end_memory(stand_in_object_t *object) {
    stand_in_memory_t *memory = (stand_in_memory_t *)object;

    if (!guard_is_whole(memory->base - GUARD_BYTES) ||
        !guard_is_whole(memory->base + memory->bytes)) {
        stand_in__complain("bytes were written %s an allocation of %llu bytes",
                           guard_is_whole(memory->base - GUARD_BYTES) ? "behind" : "before",
                           (unsigned long long)memory->bytes);
    }
    if (memory->device != NULL) {
        stand_in__give_bytes(memory->device, memory->bytes);
    }
    stand_in__pocl()->clSVMFree(stand_in__pocl()->context, memory->block);
    free(memory);
}

static stand_in_memory_t *make_memory(int kind, stand_in_device_t *device, uint64_t bytes) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    stand_in_memory_t *memory = calloc(1, sizeof *memory);

    if (memory == NULL) return NULL;
    memory->block = cl->clSVMAlloc(cl->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER,
                                   bytes + 4 * GUARD_BYTES, 0);
    if (memory->block == NULL) {
        free(memory);
        return NULL;
    }
    memory->base = memory->block + GUARD_BYTES;
    memory->base += GUARD_BYTES - (uintptr_t)memory->base % GUARD_BYTES;
    memory->bytes = bytes;
    memory->device = device;
    memory->object.kind = kind;
    memory->object.context = stand_in__current();
    memory->object.end = end_memory;
    memset(memory->base - GUARD_BYTES, GUARD_BYTE, GUARD_BYTES);
    memset(memory->base + bytes, GUARD_BYTE, GUARD_BYTES);
    memset(memory->base, GARBAGE_BYTE, bytes < GARBAGE_BYTES ? bytes : GARBAGE_BYTES);
    stand_in__list(&memory->object);
    return memory;
}

static int take_memory(uint64_t *pointer, size_t bytes, int is_pool) {
    stand_in_device_t *device;
    stand_in_memory_t *memory;

    if (pointer == NULL || bytes == 0) return CUDA_INVALID_VALUE;
    if (stand_in__check_unsafe() != CUDA_OK) return CUDA_CAPTURE_UNSUPPORTED;
    device = stand_in__current()->device;
    if (!stand_in__take_bytes(device, bytes)) return CUDA_OUT_OF_MEMORY;
    memory = make_memory(STAND_IN_MEMORY, device, bytes);
    if (memory == NULL) {
        stand_in__give_bytes(device, bytes);
        return CUDA_OUT_OF_MEMORY;
    }
    if (is_pool) {
        memory->object.context = NULL;
    }
    *pointer = (uint64_t)(uintptr_t)memory->base;
    return CUDA_OK;
}

STAND_IN_API int cuMemAlloc_v2(uint64_t *pointer, size_t bytes);
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return take_memory(pointer, bytes, 0);
}

/* Memory of the device's pool, which is of no context; it is ended by cuMemFree. */
STAND_IN_API int cuMemAllocAsync(uint64_t *pointer, size_t bytes, void *stream);
int cuMemAllocAsync(uint64_t *pointer, size_t bytes, void *stream) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    (void)stream;
    return take_memory(pointer, bytes, 1);
}

/* The memory that begins at this byte. */
static stand_in_memory_t *memory_of(const void *pointer, int kind) {
    stand_in_memory_t *memory = stand_in__memory_at((uint64_t)(uintptr_t)pointer, 1, kind);

    return memory != NULL && memory->base == pointer ? memory : NULL;
}

/* Waits for the device first, as the driver does. */
static int free_memory(int code, void *pointer, int kind) {
    stand_in_memory_t *memory;

    if (!stand_in__may_end(code)) return code;
    if (pointer == NULL) return kind == STAND_IN_MEMORY ? code : CUDA_INVALID_VALUE;
    if (stand_in__check_unsafe() != CUDA_OK) return CUDA_CAPTURE_UNSUPPORTED;
    memory = memory_of(pointer, kind);
    if (memory == NULL) return CUDA_INVALID_VALUE;
    if (memory->object.context != NULL) (void)stand_in__finish(memory->object.context);
    if (!stand_in__unlist(&memory->object)) return CUDA_INVALID_VALUE;
    end_memory(&memory->object);
    return code;
}

STAND_IN_API int cuMemFree_v2(uint64_t pointer);
int cuMemFree_v2(uint64_t pointer) {
    return free_memory(stand_in__enter(__func__, STAND_IN_NEEDS_ANY_CONTEXT),
                       (void *)(uintptr_t)pointer, STAND_IN_MEMORY);
}

STAND_IN_API int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    stand_in_memory_t *memory;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (pointer == NULL || bytes == 0 || flags > 7) return CUDA_INVALID_VALUE;
    if (stand_in__check_unsafe() != CUDA_OK) return CUDA_CAPTURE_UNSUPPORTED;
    memory = make_memory(STAND_IN_HOST_MEMORY, NULL, bytes);
    if (memory == NULL) return CUDA_OUT_OF_MEMORY;
    *pointer = memory->base;
    return CUDA_OK;
}

STAND_IN_API int cuMemFreeHost(void *pointer);
int cuMemFreeHost(void *pointer) {
    return free_memory(stand_in__enter(__func__, STAND_IN_NEEDS_ANY_CONTEXT), pointer,
                       STAND_IN_HOST_MEMORY);
}

static stand_in_memory_t *find_memory(uint64_t pointer) {
    stand_in_memory_t *memory = stand_in__memory_at(pointer, 1, STAND_IN_HOST_MEMORY);

    return memory != NULL ? memory : stand_in__memory_at(pointer, 1, STAND_IN_MEMORY);
}

static int ordinal_of(const stand_in_device_t *device) {
    int ordinal = 0;

    while (device != NULL && stand_in__visible(ordinal) != device) {
        ordinal++;
    }
    return ordinal;
}

/* An attribute of the memory; NULL: of none, so its value is 0. */
static int write_attribute(void *data, int attribute, const stand_in_memory_t *memory) {
    const stand_in_memory_t none = {.bytes = 0};
    const stand_in_memory_t *of = memory != NULL ? memory : &none;
    const unsigned type = memory == NULL ? 0 : memory->device == NULL ? 1 : 2;
    const unsigned is_managed = 0;
    const uint64_t base = (uint64_t)(uintptr_t)of->base;
    const size_t bytes = of->bytes;
    const int ordinal = ordinal_of(of->device);

    if (data == NULL) return CUDA_INVALID_VALUE;
    switch (attribute) {
        case 1: memcpy(data, &of->object.context, sizeof of->object.context); break;
        case 2: memcpy(data, &type, sizeof type); break;
        case 8: memcpy(data, &is_managed, sizeof is_managed); break;
        case 9: memcpy(data, &ordinal, sizeof ordinal); break;
        case 11: memcpy(data, &base, sizeof base); break;
        case 12: memcpy(data, &bytes, sizeof bytes); break;
        default: return CUDA_INVALID_VALUE;
    }
    return CUDA_OK;
}

STAND_IN_API int cuPointerGetAttribute(void *data, int attribute, uint64_t pointer);
int cuPointerGetAttribute(void *data, int attribute, uint64_t pointer) {
    const stand_in_memory_t *memory;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    memory = find_memory(pointer);
    return memory != NULL ? write_attribute(data, attribute, memory) : CUDA_INVALID_VALUE;
}

STAND_IN_API int cuPointerGetAttributes(unsigned count, int *attributes, void **data,
                                        uint64_t pointer);
int cuPointerGetAttributes(unsigned count, int *attributes, void **data, uint64_t pointer) {
    const stand_in_memory_t *memory;
    int code = CUDA_OK;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (attributes == NULL || data == NULL) return CUDA_INVALID_VALUE;
    memory = find_memory(pointer);
    for (unsigned i = 0; i < count && code == CUDA_OK; ++i) {
        code = write_attribute(data[i], attributes[i], memory);
    }
    return code;
}

STAND_IN_API int cuMemHostGetDevicePointer_v2(uint64_t *device_pointer, void *pointer,
                                              unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *device_pointer, void *pointer, unsigned flags) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (device_pointer == NULL || flags != 0) return CUDA_INVALID_VALUE;
    if (stand_in__memory_at((uint64_t)(uintptr_t)pointer, 1, STAND_IN_HOST_MEMORY) == NULL)
        return CUDA_INVALID_VALUE;
    *device_pointer = (uint64_t)(uintptr_t)pointer;
    return CUDA_OK;
}

STAND_IN_API int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    const stand_in_device_t *device;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (free_bytes == NULL || total == NULL) return CUDA_INVALID_VALUE;
    device = stand_in__current()->device;
    *total = device->memory;
    *free_bytes = stand_in__free_bytes(device);
    return CUDA_OK;
}
