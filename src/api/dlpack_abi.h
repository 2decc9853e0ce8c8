/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of DLPack 1.3 (include/dlpack/dlpack.h of https://github.com/dmlc/dlpack), declared
 * here because programs bring that header themselves. tests/interop/dlpack_header.c compares them
 * with the headers of installed packages.
 *
 * Owner: a managed tensor owns what manager_ctx is; its consumer calls deleter once. A table of
 * functions is never freed. Threads: the deleter may be called by any thread. */
#ifndef GANTRY_API_DLPACK_ABI_H
#define GANTRY_API_DLPACK_ABI_H

#include <stdint.h>

#define GANTRY__DLPACK_MAJOR 1
/* The one that given structs have: the first with all types of gantry_dtype_t. */
#define GANTRY__DLPACK_MINOR 1

enum {
    GANTRY__DL_CPU = 1,
    GANTRY__DL_CUDA = 2,
    GANTRY__DL_CUDA_HOST = 3,
    GANTRY__DL_OPENCL = 4,
    GANTRY__DL_ROCM_HOST = 11
};
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

typedef struct gantry__dl_version_t {
    uint32_t major, minor;
} gantry__dl_version_t;

struct DLManagedTensorVersioned {
    gantry__dl_version_t version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    gantry__dl_tensor_t dl_tensor;
};

/* ---- since version 1.2 ---- */

typedef struct gantry__dl_api_header_t {
    gantry__dl_version_t version;
    struct gantry__dl_api_header_t *prev_api; /* an older table; NULL: none */
} gantry__dl_api_header_t;

/* The functions return 0, or another number after a failure. */
struct DLPackExchangeAPI {
    gantry__dl_api_header_t header;
    int (*managed_tensor_allocator)(gantry__dl_tensor_t *prototype,
                                    struct DLManagedTensorVersioned **out, void *error_ctx,
                                    void (*set_error)(void *error_ctx, const char *kind,
                                                      const char *message));
    int (*managed_tensor_from_py_object_no_sync)(void *object,
                                                 struct DLManagedTensorVersioned **out);
    int (*managed_tensor_to_py_object_no_sync)(struct DLManagedTensorVersioned *managed,
                                               void **out_object);
    int (*dltensor_from_py_object_no_sync)(void *object, gantry__dl_tensor_t *out);
    int (*current_work_stream)(int32_t device_type, int32_t device_id, void **out_stream);
};

#endif
