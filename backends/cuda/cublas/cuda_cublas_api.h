/* SPDX-License-Identifier: Apache-2.0 */
/* The part of cuBLASLt that this backend calls, declared here.
 *
 * Owner: the instance holds the table of functions; the library stays loaded. Threads: the table is
 * constant after the library was opened (cuda_cublas.h). */
#ifndef GANTRY_CUDA_CUBLAS_API_H
#define GANTRY_CUDA_CUBLAS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cuda_api.h"

typedef unsigned int gantry__cublas_status_t;

/* NVIDIA's types are pointers to structs without a tag, which nothing declared elsewhere can match.
 * The comparison with NVIDIA's headers must therefore define GANTRY__CUBLAS_HANDLES and give these
 * names to NVIDIA's own types. */
#if !defined(GANTRY__CUBLAS_HANDLES)
typedef struct cublasLtContext *gantry__cublas_handle_t;
typedef struct gantry__cublas_desc_t *gantry__cublas_desc_t;
typedef struct gantry__cublas_layout_t *gantry__cublas_layout_t;
typedef struct gantry__cublas_preference_t *gantry__cublas_preference_t;
#endif

/* How a product is computed; opaque. */
typedef struct gantry__cublas_algo_own_t {
    uint64_t data[8];
} gantry__cublas_algo_own_t;

typedef struct gantry__cublas_choice_own_t {
    gantry__cublas_algo_own_t algo;
    size_t workspace_bytes;
    gantry__cublas_status_t state;
    float waves;
    int reserved[4];
} gantry__cublas_choice_own_t;

#if !defined(GANTRY__CUBLAS_HANDLES)
typedef gantry__cublas_algo_own_t gantry__cublas_algo_t;
typedef gantry__cublas_choice_own_t gantry__cublas_choice_t;
#endif

enum {
    GANTRY__CUBLAS_SUCCESS = 0,
    GANTRY__CUBLAS_NOT_INITIALIZED = 1,
    GANTRY__CUBLAS_ALLOC_FAILED = 3,
    GANTRY__CUBLAS_INVALID_VALUE = 7,
    GANTRY__CUBLAS_ARCH_MISMATCH = 8,
    GANTRY__CUBLAS_MAPPING_ERROR = 11,
    GANTRY__CUBLAS_EXECUTION_FAILED = 13,
    GANTRY__CUBLAS_INTERNAL_ERROR = 14,
    GANTRY__CUBLAS_NOT_SUPPORTED = 15,
    GANTRY__CUBLAS_LICENSE_ERROR = 16
};

/* Numbers of cudaDataType. */
enum {
    GANTRY__CUBLAS_R_32F = 0,
    GANTRY__CUBLAS_R_64F = 1,
    GANTRY__CUBLAS_R_16F = 2,
    GANTRY__CUBLAS_R_16BF = 14
};
/* FAST means that float32 inputs are rounded to a shorter type before they are multiplied. */
enum {
    GANTRY__CUBLAS_COMPUTE_32F = 68,
    GANTRY__CUBLAS_COMPUTE_64F = 70,
    GANTRY__CUBLAS_COMPUTE_32F_FAST_16F = 74,
    GANTRY__CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    GANTRY__CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum { GANTRY__CUBLAS_PLAIN = 0, GANTRY__CUBLAS_TRANSPOSED = 1 };

enum {
    GANTRY__CUBLAS_DESC_TRANSA = 3, /* int32 */
    GANTRY__CUBLAS_DESC_TRANSB = 4,
    GANTRY__CUBLAS_DESC_EPILOGUE = 7,     /* uint32, a GANTRY__CUBLAS_EPILOGUE_... */
    GANTRY__CUBLAS_DESC_BIAS_POINTER = 8, /* a device address: as many elements as D has rows */
};
enum {
    GANTRY__CUBLAS_EPILOGUE_NONE = 1,
    GANTRY__CUBLAS_EPILOGUE_RELU = 2,
    GANTRY__CUBLAS_EPILOGUE_BIAS = 4,
    GANTRY__CUBLAS_EPILOGUE_RELU_BIAS = 6
};
/* int32, int64 elements */
enum { GANTRY__CUBLAS_LAYOUT_BATCH_COUNT = 5, GANTRY__CUBLAS_LAYOUT_BATCH_STRIDE = 6 };
enum {
    GANTRY__CUBLAS_PREFERENCE_MAX_WORKSPACE_BYTES = 1, /* uint64 */
    /* uint32, a mask of GANTRY__CUBLAS_REDUCTION_... */
    GANTRY__CUBLAS_PREFERENCE_REDUCTIONS = 3,
    GANTRY__CUBLAS_PREFERENCE_ALIGNMENT_A = 5, /* uint32 bytes, default 256; then B, C, D */
    GANTRY__CUBLAS_PREFERENCE_ALIGNMENT_B = 6,
    GANTRY__CUBLAS_PREFERENCE_ALIGNMENT_C = 7,
    GANTRY__CUBLAS_PREFERENCE_ALIGNMENT_D = 8
};

/* How parts of a sum that were computed separately may be added up: as the type of the computation,
 * not as the output's. */
enum { GANTRY__CUBLAS_REDUCTION_COMPUTE_TYPE = 2, GANTRY__CUBLAS_REDUCTION_ALL = 7 };

/* X(function, parameters); all but cublasLtGetVersion return a gantry__cublas_status_t. */
#define GANTRY__CUBLAS_FUNCTIONS(X)                                                                \
    X(cublasLtCreate, (gantry__cublas_handle_t * out_handle))                                      \
    X(cublasLtDestroy, (gantry__cublas_handle_t handle))                                           \
    X(cublasLtMatmulDescCreate,                                                                    \
      (gantry__cublas_desc_t * out_desc, unsigned int compute, unsigned int scale_type))           \
    X(cublasLtMatmulDescDestroy, (gantry__cublas_desc_t desc))                                     \
    X(cublasLtMatmulDescSetAttribute,                                                              \
      (gantry__cublas_desc_t desc, unsigned int attribute, const void *value, size_t value_bytes)) \
    X(cublasLtMatrixLayoutCreate, (gantry__cublas_layout_t * out_layout, unsigned int type,        \
                                   uint64_t rows, uint64_t columns, int64_t leading))              \
    X(cublasLtMatrixLayoutDestroy, (gantry__cublas_layout_t layout))                               \
    X(cublasLtMatrixLayoutSetAttribute, (gantry__cublas_layout_t layout, unsigned int attribute,   \
                                         const void *value, size_t value_bytes))                   \
    X(cublasLtMatmulPreferenceCreate, (gantry__cublas_preference_t * out_preference))              \
    X(cublasLtMatmulPreferenceDestroy, (gantry__cublas_preference_t preference))                   \
    X(cublasLtMatmulPreferenceSetAttribute,                                                        \
      (gantry__cublas_preference_t preference, unsigned int attribute, const void *value,          \
       size_t value_bytes))                                                                        \
    X(cublasLtMatmulAlgoGetHeuristic,                                                              \
      (gantry__cublas_handle_t handle, gantry__cublas_desc_t desc, gantry__cublas_layout_t a,      \
       gantry__cublas_layout_t b, gantry__cublas_layout_t c, gantry__cublas_layout_t d,            \
       gantry__cublas_preference_t preference, int wanted, gantry__cublas_choice_t *choices,       \
       int *out_found))                                                                            \
    X(cublasLtMatmul, (gantry__cublas_handle_t handle, gantry__cublas_desc_t desc,                 \
                       const void *alpha, const void *a, gantry__cublas_layout_t a_layout,         \
                       const void *b, gantry__cublas_layout_t b_layout, const void *beta,          \
                       const void *c, gantry__cublas_layout_t c_layout, void *d,                   \
                       gantry__cublas_layout_t d_layout, const gantry__cublas_algo_t *algo,        \
                       void *workspace, size_t workspace_bytes, gantry__cu_stream_t stream))

typedef struct gantry__cublas_t {
    bool is_tried;
    bool is_usable;
    char name[340];    /* such as "libcublasLt.so.12 (12.9.1)" */
    char reason[1024]; /* why it is not usable */
    size_t (*cublasLtGetVersion)(void);
#define GANTRY__CUBLAS_SLOT(function, parameters) gantry__cublas_status_t(*function) parameters;
    GANTRY__CUBLAS_FUNCTIONS(GANTRY__CUBLAS_SLOT)
#undef GANTRY__CUBLAS_SLOT
} gantry__cublas_t;

#endif
