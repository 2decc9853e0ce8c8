/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry for structs of DLPack: clang -fsanitize=fuzzer,address,undefined. What is read of
 * a struct must be in the addresses that there are. Where all of it is in a buffer, a tensor is
 * made, and has the elements that its strides name. tests/unit/api/test_dlpack_hostile.c runs it,
 * too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "api/dlpack.h"

enum { FUZZ_BYTES = 4096 };

static _Alignas(64) unsigned char fuzz_memory[FUZZ_BYTES];
static int fuzz_deleted, fuzz_taken;

static void fuzz_delete(struct DLManagedTensorVersioned *self) {
    (void)self;
    ++fuzz_deleted;
}

/* The runtime is there to the end of the process, or to fuzz_dlpack_end. */
static gantry_runtime_t *fuzz_runtime;

void fuzz_dlpack_end(void);
void fuzz_dlpack_end(void) {
    gantry_runtime_release(fuzz_runtime);
    fuzz_runtime = NULL;
}

static gantry_scope_t *fuzz_scope(void) {
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    if (!fuzz_runtime && gantry_runtime_create(&options, &fuzz_runtime) != GANTRY_OK) abort();
    return gantry_scope_begin(fuzz_runtime, "/CPU:0");
}

/* Compares the tensor with a walk over the strides. */
static void fuzz_compare(const gantry_tensor_t *tensor, const gantry__memory_t *memory,
                         const int64_t *strides) {
    unsigned char got[FUZZ_BYTES];
    const gantry_shape_t *shape = &memory->shape;
    const size_t size = gantry_dtype_size(memory->dtype);
    if (gantry_tensor_read(tensor, got, memory->bytes) != GANTRY_OK) abort();
    for (size_t i = 0; i < memory->bytes / size; ++i) {
        int64_t place = 0, step = 1, left = (int64_t)i;
        for (int32_t dim = shape->rank; dim-- > 0; left /= shape->dims[dim]) {
            place += left % shape->dims[dim] * (strides ? strides[dim] : step);
            step *= shape->dims[dim];
        }
        const unsigned char *wanted = (unsigned char *)memory->data + place * (int64_t)size;
        if (memory->dtype == GANTRY_BOOL ? got[i] != (*wanted != 0)
                                         : memcmp(got + i * size, wanted, size) != 0)
            abort();
    }
}

static void fuzz_take(struct DLManagedTensorVersioned *managed, const gantry__memory_t *memory) {
    gantry_scope_t *scope = fuzz_scope();
    const int64_t *strides = managed->dl_tensor.strides;
    fuzz_deleted = 0;
    const gantry_tensor_t *tensor = gantry_tensor_from_dlpack(scope, managed, NULL);
    if (!tensor) abort();
    fuzz_compare(tensor, memory, strides);
    ++fuzz_taken;
    if (gantry_scope_end(scope) != GANTRY_OK || fuzz_deleted != 1) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* bytes: a shape, strides, and the struct's other numbers */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct {
        int64_t shape[GANTRY_MAX_RANK + 1], strides[GANTRY_MAX_RANK + 1];
        uint64_t byte_offset, data;
        int32_t ndim, device;
        uint8_t code, bits, lanes, has_strides;
    } given;
    if (size < sizeof given) return 0;
    memcpy(&given, bytes, sizeof given);
    struct DLManagedTensorVersioned managed = {
        .version = {1, 3},
        .deleter = fuzz_delete,
        .dl_tensor = {.data = given.data ? (void *)(uintptr_t)given.data : fuzz_memory,
                      .device_type = given.device,
                      .ndim = given.ndim,
                      .dtype = {given.code, given.bits, given.lanes},
                      .shape = given.shape,
                      .strides = given.has_strides ? given.strides : NULL,
                      .byte_offset = given.byte_offset}};
    const gantry__dl_taken_t taken = {
        .call = "fuzz", .versioned = &managed, .tensor = &managed.dl_tensor};
    gantry__memory_t memory = {.bytes = 0};
    gantry__dl_extent_t extent;
    for (size_t i = 0; i < FUZZ_BYTES; ++i) fuzz_memory[i] = (unsigned char)(i * 37 + i / 256);
    if (gantry__dlpack_read(&taken, &memory, &extent) != GANTRY_OK || memory.bytes == 0) return 0;
    const uintptr_t at = (uintptr_t)memory.data, begin = (uintptr_t)fuzz_memory;
    if (!gantry__dlpack_is_host(taken.tensor)) return 0;
    if (extent.before > at || extent.after > UINTPTR_MAX - at) abort();
    if (at < begin || at - begin > FUZZ_BYTES || extent.before > at - begin ||
        extent.after > FUZZ_BYTES - (at - begin) || memory.bytes > FUZZ_BYTES)
        return 0;
    fuzz_take(&managed, &memory);
    return 0;
}
