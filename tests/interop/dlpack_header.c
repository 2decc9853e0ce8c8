/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The structs, flags and numbers that Gantry declares of DLPack are those of installed
 * headers: sizes, places of fields, values.
 *
 * DLPACK_HEADER names the header that is compared; dlpack_header.sh compiles this file in C11 with
 * each that it finds. The headers declare tags of the same names, so Gantry's get others here. */
#include DLPACK_HEADER

#include <gantry/dlpack.h>

/* Both declare the same structs, so a program casts nothing. */
const gantry_tensor_t *take(gantry_scope_t *scope, struct DLManagedTensorVersioned *managed,
                            struct DLManagedTensor *old);
const gantry_tensor_t *take(gantry_scope_t *scope, struct DLManagedTensorVersioned *managed,
                            struct DLManagedTensor *old) {
    (void)gantry_tensor_from_dlpack_unversioned(scope, old, NULL);
    return gantry_tensor_from_dlpack(scope, managed, NULL);
}

#define DLManagedTensor gantry__managed
#define DLManagedTensorVersioned gantry__versioned
#define DLPackExchangeAPI gantry__exchange
#include "api/dlpack_abi.h"
#undef DLManagedTensor
#undef DLManagedTensorVersioned
#undef DLPackExchangeAPI

#include <stddef.h>

#define SAME(ours, theirs)                                                     \
    _Static_assert((unsigned long long)(ours) == (unsigned long long)(theirs), \
                   #ours " is not " #theirs)
#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define FIELD_SIZE(type, field) sizeof(((type *)0)->field)
#define SAME_FIELD(ours, theirs, field)                   \
    SAME(offsetof(ours, field), offsetof(theirs, field)); \
    SAME(FIELD_SIZE(ours, field), FIELD_SIZE(theirs, field))

SAME(GANTRY__DLPACK_MAJOR, DLPACK_MAJOR_VERSION);
_Static_assert(DLPACK_MINOR_VERSION >= GANTRY__DLPACK_MINOR, "the header lacks types of Gantry");

SAME(GANTRY__DL_CPU, kDLCPU);
SAME(GANTRY__DL_CUDA, kDLCUDA);
SAME(GANTRY__DL_CUDA_HOST, kDLCUDAHost);
SAME(GANTRY__DL_OPENCL, kDLOpenCL);
SAME(GANTRY__DL_ROCM_HOST, kDLROCMHost);
SAME(GANTRY__DL_READ_ONLY, DLPACK_FLAG_BITMASK_READ_ONLY);
SAME(GANTRY__DL_IS_COPIED, DLPACK_FLAG_BITMASK_IS_COPIED);

SAME_SIZE(gantry__dl_tensor_t, DLTensor);
SAME_FIELD(gantry__dl_tensor_t, DLTensor, data);
SAME(offsetof(gantry__dl_tensor_t, device_type), offsetof(DLTensor, device.device_type));
SAME(offsetof(gantry__dl_tensor_t, device_id), offsetof(DLTensor, device.device_id));
SAME(FIELD_SIZE(gantry__dl_tensor_t, device_type), FIELD_SIZE(DLTensor, device.device_type));
SAME_FIELD(gantry__dl_tensor_t, DLTensor, ndim);
SAME_FIELD(gantry__dl_tensor_t, DLTensor, dtype);
SAME_FIELD(gantry__dl_tensor_t, DLTensor, dtype.code);
SAME_FIELD(gantry__dl_tensor_t, DLTensor, dtype.bits);
SAME_FIELD(gantry__dl_tensor_t, DLTensor, dtype.lanes);
SAME_FIELD(gantry__dl_tensor_t, DLTensor, shape);
SAME_FIELD(gantry__dl_tensor_t, DLTensor, strides);
SAME_FIELD(gantry__dl_tensor_t, DLTensor, byte_offset);

SAME_SIZE(struct gantry__managed, struct DLManagedTensor);
SAME_FIELD(struct gantry__managed, struct DLManagedTensor, dl_tensor);
SAME_FIELD(struct gantry__managed, struct DLManagedTensor, manager_ctx);
SAME_FIELD(struct gantry__managed, struct DLManagedTensor, deleter);

SAME_SIZE(struct gantry__versioned, struct DLManagedTensorVersioned);
SAME_FIELD(struct gantry__versioned, struct DLManagedTensorVersioned, version.major);
SAME_FIELD(struct gantry__versioned, struct DLManagedTensorVersioned, version.minor);
SAME_FIELD(struct gantry__versioned, struct DLManagedTensorVersioned, manager_ctx);
SAME_FIELD(struct gantry__versioned, struct DLManagedTensorVersioned, deleter);
SAME_FIELD(struct gantry__versioned, struct DLManagedTensorVersioned, flags);
SAME_FIELD(struct gantry__versioned, struct DLManagedTensorVersioned, dl_tensor);

#if DLPACK_MINOR_VERSION >= 2
SAME_SIZE(struct gantry__exchange, struct DLPackExchangeAPI);
SAME_FIELD(struct gantry__exchange, struct DLPackExchangeAPI, header.version);
SAME_FIELD(struct gantry__exchange, struct DLPackExchangeAPI, header.prev_api);
SAME_FIELD(struct gantry__exchange, struct DLPackExchangeAPI, managed_tensor_allocator);
SAME_FIELD(struct gantry__exchange, struct DLPackExchangeAPI,
           managed_tensor_from_py_object_no_sync);
SAME_FIELD(struct gantry__exchange, struct DLPackExchangeAPI, managed_tensor_to_py_object_no_sync);
SAME_FIELD(struct gantry__exchange, struct DLPackExchangeAPI, dltensor_from_py_object_no_sync);
SAME_FIELD(struct gantry__exchange, struct DLPackExchangeAPI, current_work_stream);

/* The functions take and return what Gantry calls them with. */
#define SAME_RESULT(...) \
    _Static_assert(_Generic(__VA_ARGS__, int : 1, default : 0), "the result is an int")
static const struct DLPackExchangeAPI api;
SAME_RESULT(api.managed_tensor_from_py_object_no_sync((void *)0, (DLManagedTensorVersioned **)0));
SAME_RESULT(api.managed_tensor_to_py_object_no_sync((DLManagedTensorVersioned *)0, (void **)0));
SAME_RESULT(api.current_work_stream(kDLCUDA, (int32_t)0, (void **)0));
#endif

/* Codes of element types, which are a column of ops/types.def. */
enum {
    CODE_BOOL = kDLBool,
    CODE_UINT8 = kDLUInt,
    CODE_UINT16 = kDLUInt,
    CODE_UINT32 = kDLUInt,
    CODE_UINT64 = kDLUInt,
    CODE_INT8 = kDLInt,
    CODE_INT16 = kDLInt,
    CODE_INT32 = kDLInt,
    CODE_INT64 = kDLInt,
    CODE_FLOAT8_E5M2 = kDLFloat8_e5m2,
    CODE_FLOAT8_E4M3FN = kDLFloat8_e4m3fn,
    CODE_FLOAT16 = kDLFloat,
    CODE_BFLOAT16 = kDLBfloat,
    CODE_FLOAT32 = kDLFloat,
    CODE_FLOAT64 = kDLFloat,
    CODE_COMPLEX64 = kDLComplex,
    CODE_COMPLEX128 = kDLComplex
};
#define GANTRY_ELEMENT_TYPE(short, constant, class, bytes, exponent, name, alias, npy, \
                            safetensors, dlpack, ...)                                  \
    SAME(dlpack, CODE_##constant);
#define GANTRY_TYPE_SET(...)
#include "ops/types.def"
