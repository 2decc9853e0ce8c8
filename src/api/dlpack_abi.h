/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of DLPack 1.1 (include/dlpack/dlpack.h of https://github.com/dmlc/dlpack), declared
 * here because programs bring that header themselves. tests/unit/api/test_dlpack.c holds their
 * layout.
 *
 * Owner: a managed tensor owns what manager_ctx is; its consumer calls deleter once. Threads: the
 * deleter may be called by any thread. */
#ifndef GANTRY_API_DLPACK_ABI_H
#define GANTRY_API_DLPACK_ABI_H

#include <stdint.h>

#define GANTRY__DLPACK_MAJOR 1
#define GANTRY__DLPACK_MINOR 1

enum { GANTRY__DL_CPU = 1, GANTRY__DL_CUDA_HOST = 3, GANTRY__DL_ROCM_HOST = 11 };
#define GANTRY__DL_READ_ONLY (UINT64_C(1) << 0)
#define GANTRY__DL_IS_COPIED (UINT64_C(1) << 1)

typedef struct gantry__dl_tensor_t {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major */
    uint64_t byte_offset;
} gantry__dl_tensor_t;

struct DLManagedTensor {
    gantry__dl_tensor_t dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    gantry__dl_tensor_t dl_tensor;
};

#endif
