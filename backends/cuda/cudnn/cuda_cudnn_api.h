/* SPDX-License-Identifier: Apache-2.0 */
/* The part of cuDNN 9 that this backend calls, declared here: its graph library, whose objects are
 * descriptors with typed attributes.
 *
 * Owner: the instance holds the table of functions; the library stays loaded. Threads: the table is
 * constant after the library was opened (cuda_cudnn.h). */
#ifndef GANTRY_CUDA_CUDNN_API_H
#define GANTRY_CUDA_CUDNN_API_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/cuda_api.h"
#include "cuda/cuda_library.h"

typedef unsigned int gantry__cudnn_status_t;
typedef struct cudnnContext *gantry__cudnn_handle_t;
typedef void *gantry__cudnn_desc_t;

/* The thousands of a status are its class. */
#define GANTRY__CUDNN_CLASS_OF(status) ((status) / 1000 * 1000)
enum {
    GANTRY__CUDNN_SUCCESS = 0,
    GANTRY__CUDNN_NOT_STARTED = 1000, /* the class of libraries that are missing, or do not fit */
    GANTRY__CUDNN_NOT_SUPPORTED = 3000,
    GANTRY__CUDNN_INTERNAL_ERROR = 4000,
    GANTRY__CUDNN_HOST_ALLOCATION_FAILED = 4003,
    GANTRY__CUDNN_DEVICE_ALLOCATION_FAILED = 4004
};

enum { /* kinds of descriptors */
       GANTRY__CUDNN_POINTWISE = 0,
       GANTRY__CUDNN_CONVOLUTION = 1,
       GANTRY__CUDNN_ENGINE = 2,
       GANTRY__CUDNN_CONFIG = 3,
       GANTRY__CUDNN_HEURISTICS = 4,
       GANTRY__CUDNN_PLAN = 5,
       GANTRY__CUDNN_KNOB = 7,
       GANTRY__CUDNN_FORWARD = 10,
       GANTRY__CUDNN_BACKWARD_FILTER = 11,
       GANTRY__CUDNN_BACKWARD_DATA = 12,
       GANTRY__CUDNN_POINTWISE_OP = 13,
       GANTRY__CUDNN_GRAPH = 15,
       GANTRY__CUDNN_PACK = 16,
       GANTRY__CUDNN_TENSOR = 17,
       GANTRY__CUDNN_DEVICE = 38
};

enum { /* types of attributes */
       GANTRY__CUDNN_TYPE_HANDLE = 0,
       GANTRY__CUDNN_TYPE_DATA_TYPE = 1,
       GANTRY__CUDNN_TYPE_BOOLEAN = 2,
       GANTRY__CUDNN_TYPE_INT64 = 3,
       GANTRY__CUDNN_TYPE_FLOAT = 4,
       GANTRY__CUDNN_TYPE_POINTER = 6,
       GANTRY__CUDNN_TYPE_CONVOLUTION_MODE = 7,
       GANTRY__CUDNN_TYPE_HEURISTICS_MODE = 8,
       GANTRY__CUDNN_TYPE_KNOB = 9,
       GANTRY__CUDNN_TYPE_NOTE = 11,
       GANTRY__CUDNN_TYPE_POINTWISE_MODE = 14,
       GANTRY__CUDNN_TYPE_DESCRIPTOR = 15,
       GANTRY__CUDNN_TYPE_CHAR = 24
};

enum { /* attributes */
       GANTRY__CUDNN_POINTWISE_MODE = 0,
       GANTRY__CUDNN_POINTWISE_TYPE = 1,
       GANTRY__CUDNN_CONVOLUTION_TYPE = 100,
       GANTRY__CUDNN_CONVOLUTION_MODE = 101,
       GANTRY__CUDNN_CONVOLUTION_DILATIONS = 102,
       GANTRY__CUDNN_CONVOLUTION_STRIDES = 103,
       GANTRY__CUDNN_CONVOLUTION_AFTER = 104,
       GANTRY__CUDNN_CONVOLUTION_BEFORE = 105,
       GANTRY__CUDNN_CONVOLUTION_RANK = 106,
       GANTRY__CUDNN_HEURISTICS_MODE = 200,
       GANTRY__CUDNN_HEURISTICS_GRAPH = 201,
       GANTRY__CUDNN_HEURISTICS_RESULTS = 202,
       GANTRY__CUDNN_HEURISTICS_DEVICE = 204,
       GANTRY__CUDNN_CONFIG_ENGINE = 300,
       GANTRY__CUDNN_CONFIG_KNOBS = 302,
       GANTRY__CUDNN_PLAN_HANDLE = 400,
       GANTRY__CUDNN_PLAN_CONFIG = 401,
       GANTRY__CUDNN_PLAN_WORKSPACE = 402,
       GANTRY__CUDNN_PLAN_DEVICE = 407,
       GANTRY__CUDNN_KNOB_TYPE = 600,
       GANTRY__CUDNN_KNOB_VALUE = 601,
       /* alpha, beta, convolution, filter, image, result follow one another */
       GANTRY__CUDNN_FORWARD_ALPHA = 700,
       GANTRY__CUDNN_DATA_ALPHA = 706,
       GANTRY__CUDNN_FILTER_ALPHA = 712,
       GANTRY__CUDNN_POINTWISE_OP_DESC = 750,
       GANTRY__CUDNN_POINTWISE_OP_X = 751,
       GANTRY__CUDNN_POINTWISE_OP_B = 752,
       GANTRY__CUDNN_POINTWISE_OP_Y = 753,
       GANTRY__CUDNN_GRAPH_HANDLE = 800,
       GANTRY__CUDNN_GRAPH_OPS = 801,
       GANTRY__CUDNN_TENSOR_ALIGNMENT = 900,
       GANTRY__CUDNN_TENSOR_TYPE = 901,
       GANTRY__CUDNN_TENSOR_DIMS = 902,
       GANTRY__CUDNN_TENSOR_STRIDES = 903,
       GANTRY__CUDNN_TENSOR_ID = 906,
       GANTRY__CUDNN_TENSOR_IS_VIRTUAL = 907,
       GANTRY__CUDNN_PACK_IDS = 1000,
       GANTRY__CUDNN_PACK_POINTERS = 1001,
       GANTRY__CUDNN_PACK_WORKSPACE = 1003,
       GANTRY__CUDNN_ENGINE_GRAPH = 1300,
       GANTRY__CUDNN_ENGINE_INDEX = 1301,
       GANTRY__CUDNN_ENGINE_NOTES = 1303,
       GANTRY__CUDNN_ENGINE_DEVICE = 1307,
       GANTRY__CUDNN_DEVICE_JSON = 2702
};

enum { /* element types */
       GANTRY__CUDNN_FLOAT = 0,
       GANTRY__CUDNN_HALF = 2,
       GANTRY__CUDNN_BFLOAT16 = 9
};
enum { GANTRY__CUDNN_CROSS_CORRELATION = 1 };
enum { GANTRY__CUDNN_ADD = 0, GANTRY__CUDNN_RELU = 100 };
enum { GANTRY__CUDNN_MODE_FALLBACK = 2, GANTRY__CUDNN_MODE_A = 3 };

enum { /* what an engine says of its numbers; others exclude it */
       GANTRY__CUDNN_NOTE_TENSOR_CORE = 0,
       GANTRY__CUDNN_NOTE_NONDETERMINISTIC = 4,
       GANTRY__CUDNN_NOTE_STRICT_NAN = 9
};

/* X(function, parameters); each returns a gantry__cudnn_status_t. */
#define GANTRY__CUDNN_FUNCTIONS(X)                                                               \
    X(cudnnGraphVersionCheck, (void))                                                            \
    X(cudnnCreate, (gantry__cudnn_handle_t * out_handle))                                        \
    X(cudnnDestroy, (gantry__cudnn_handle_t handle))                                             \
    X(cudnnSetStream, (gantry__cudnn_handle_t handle, gantry__cu_stream_t stream))               \
    X(cudnnBackendCreateDescriptor, (unsigned int kind, gantry__cudnn_desc_t *out_desc))         \
    X(cudnnBackendDestroyDescriptor, (gantry__cudnn_desc_t desc))                                \
    X(cudnnBackendFinalize, (gantry__cudnn_desc_t desc))                                         \
    X(cudnnBackendSetAttribute, (gantry__cudnn_desc_t desc, unsigned int attribute,              \
                                 unsigned int type, int64_t count, const void *values))          \
    X(cudnnBackendGetAttribute,                                                                  \
      (gantry__cudnn_desc_t const desc, unsigned int attribute, unsigned int type, int64_t room, \
       int64_t *out_count, void *values))                                                        \
    X(cudnnBackendExecute,                                                                       \
      (gantry__cudnn_handle_t handle, gantry__cudnn_desc_t plan, gantry__cudnn_desc_t pack))

typedef struct gantry__cudnn_t {
    gantry__cuda_library_t library;
    size_t (*cudnnGetVersion)(void);
    size_t (*cudnnGetCudartVersion)(void); /* of CUDA: 1000 * major + 10 * minor */
    const char *(*cudnnGetErrorString)(gantry__cudnn_status_t status);
    /* the calling thread's last failure, in words */
    void (*cudnnGetLastErrorString)(char *text, size_t text_bytes);
#define GANTRY__CUDNN_SLOT(function, parameters) gantry__cudnn_status_t(*function) parameters;
    GANTRY__CUDNN_FUNCTIONS(GANTRY__CUDNN_SLOT)
#undef GANTRY__CUDNN_SLOT
} gantry__cudnn_t;

#endif
