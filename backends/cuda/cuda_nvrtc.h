/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC, NVIDIA's compiler of CUDA C as a library: the part that this backend calls, declared here,
 * and its opening at run time. NVRTC needs no driver and no card.
 *
 * Owner: the instance holds the table; the library stays loaded. Threads: loading is init-only, and
 * the table is constant afterwards; a program of NVRTC must be used by one thread at a time. */
#ifndef GANTRY_CUDA_NVRTC_H
#define GANTRY_CUDA_NVRTC_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stddef.h>

#include "cuda/cuda_driver.h"

typedef unsigned int gantry__nvrtc_result_t;
typedef struct _nvrtcProgram *gantry__nvrtc_program_t;

enum {
    GANTRY__NVRTC_SUCCESS = 0,
    GANTRY__NVRTC_OUT_OF_MEMORY = 1,
    GANTRY__NVRTC_INVALID_OPTION = 5,
    GANTRY__NVRTC_COMPILATION = 6
};

/* X(function, parameters); all but nvrtcGetErrorString return a gantry__nvrtc_result_t. */
#define GANTRY__NVRTC_FUNCTIONS(X)                                                     \
    X(nvrtcVersion, (int *out_major, int *out_minor))                                  \
    X(nvrtcGetNumSupportedArchs, (int *out_count))                                     \
    X(nvrtcGetSupportedArchs, (int *out_archs))                                        \
    X(nvrtcCreateProgram,                                                              \
      (gantry__nvrtc_program_t * out_program, const char *source, const char *name,    \
       int header_count, const char *const *headers, const char *const *header_names)) \
    X(nvrtcDestroyProgram, (gantry__nvrtc_program_t * program))                        \
    X(nvrtcCompileProgram,                                                             \
      (gantry__nvrtc_program_t program, int option_count, const char *const *options)) \
    X(nvrtcGetCUBINSize, (gantry__nvrtc_program_t program, size_t * out_bytes))        \
    X(nvrtcGetCUBIN, (gantry__nvrtc_program_t program, char *cubin))                   \
    X(nvrtcGetPTXSize, (gantry__nvrtc_program_t program, size_t * out_bytes))          \
    X(nvrtcGetPTX, (gantry__nvrtc_program_t program, char *ptx))                       \
    X(nvrtcGetProgramLogSize, (gantry__nvrtc_program_t program, size_t * out_bytes))   \
    X(nvrtcGetProgramLog, (gantry__nvrtc_program_t program, char *log))

#define GANTRY__NVRTC_MOST_ARCHS 64

typedef struct gantry__nvrtc_t {
    bool is_usable;
    int version;                         /* 1000 * major + 10 * minor */
    int archs[GANTRY__NVRTC_MOST_ARCHS]; /* 75 for 7.5, rising */
    int arch_count;
    char name[340];    /* "libnvrtc.so.12 (12.9)" */
    char reason[1024]; /* why it is not usable */
    const char *(*nvrtcGetErrorString)(gantry__nvrtc_result_t result);
#define GANTRY__NVRTC_SLOT(function, parameters) gantry__nvrtc_result_t(*function) parameters;
    GANTRY__NVRTC_FUNCTIONS(GANTRY__NVRTC_SLOT)
#undef GANTRY__NVRTC_SLOT
} gantry__nvrtc_t;

/* Opens option GANTRY_CUDA_NVRTC when set, else libnvrtc.so.13, .12, .11.2, with wants_12 that of
 * CUDA 12 first. A library of a later CUDA than the driver's is refused. A missing library is no
 * failure: is_usable is 0 and reason says why. */
void gantry__nvrtc_open(const gantry_host_t *host, const gantry__cuda_symbols_t *cu, bool wants_12,
                        gantry__nvrtc_t *out_nvrtc);

/* NVRTC's own word for a result, such as "NVRTC_ERROR_COMPILATION". */
const char *gantry__nvrtc_error_name(const gantry__nvrtc_t *nvrtc, gantry__nvrtc_result_t native);
int32_t gantry__nvrtc_error_code(gantry__nvrtc_result_t native);

#endif
