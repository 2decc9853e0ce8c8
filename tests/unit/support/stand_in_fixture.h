/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of tests that call the stand-in for NVIDIA's driver directly: its libraries as
 * one table, a context and a stream around each test, memory, and programs from the portable texts.
 * After each test nothing may live. Header only. */
#ifndef TESTS_STAND_IN_FIXTURE_H
#define TESTS_STAND_IN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "cuda/stand_in_control.h"
#include "need_opencl.h"

#define FOLDER GANTRY_TEST_MODULES "/cuda/"

typedef uint64_t address_t;

/* library, name, parameters */
#define FUNCTIONS(X)                                                                         \
    X(0, cuInit, (unsigned))                                                                 \
    X(0, cuDriverGetVersion, (int *))                                                        \
    X(0, cuDeviceGetCount, (int *))                                                          \
    X(0, cuDeviceGetName, (char *, int, int))                                                \
    X(0, cuDeviceGetPCIBusId, (char *, int, int))                                            \
    X(0, cuDeviceGetAttribute, (int *, int, int))                                            \
    X(0, cuDevicePrimaryCtxRetain, (void **, int))                                           \
    X(0, cuDevicePrimaryCtxRelease_v2, (int))                                                \
    X(0, cuCtxCreate_v2, (void **, unsigned, int))                                           \
    X(0, cuCtxDestroy_v2, (void *))                                                          \
    X(0, cuCtxPushCurrent_v2, (void *))                                                      \
    X(0, cuCtxPopCurrent_v2, (void **))                                                      \
    X(0, cuMemAlloc_v2, (address_t *, size_t))                                               \
    X(0, cuMemAllocAsync, (address_t *, size_t, void *))                                     \
    X(0, cuMemFree_v2, (address_t))                                                          \
    X(0, cuPointerGetAttributes, (unsigned, int *, void **, address_t))                      \
    X(0, cuMemHostAlloc, (void **, size_t, unsigned))                                        \
    X(0, cuMemFreeHost, (void *))                                                            \
    X(0, cuMemGetInfo_v2, (size_t *, size_t *))                                              \
    X(0, cuMemcpyHtoDAsync_v2, (address_t, const void *, size_t, void *))                    \
    X(0, cuMemcpyDtoHAsync_v2, (void *, address_t, size_t, void *))                          \
    X(0, cuMemcpyDtoDAsync_v2, (address_t, address_t, size_t, void *))                       \
    X(0, cuMemcpyPeerAsync, (address_t, void *, address_t, void *, size_t, void *))          \
    X(0, cuMemsetD8Async, (address_t, unsigned char, size_t, void *))                        \
    X(0, cuMemsetD32Async, (address_t, unsigned, size_t, void *))                            \
    X(0, cuStreamCreateWithPriority, (void **, unsigned, int))                               \
    X(0, cuStreamDestroy_v2, (void *))                                                       \
    X(0, cuStreamSynchronize, (void *))                                                      \
    X(0, cuStreamQuery, (void *))                                                            \
    X(0, cuStreamGetCtx, (void *, void **))                                                  \
    X(0, cuStreamWaitEvent, (void *, void *, unsigned))                                      \
    X(0, cuLaunchHostFunc, (void *, void (*)(void *), void *))                               \
    X(0, cuEventCreate, (void **, unsigned))                                                 \
    X(0, cuEventDestroy_v2, (void *))                                                        \
    X(0, cuEventRecord, (void *, void *))                                                    \
    X(0, cuEventQuery, (void *))                                                             \
    X(0, cuEventSynchronize, (void *))                                                       \
    X(0, cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))              \
    X(0, cuModuleUnload, (void *))                                                           \
    X(0, cuModuleGetFunction, (void **, void *, const char *))                               \
    X(0, cuFuncGetAttribute, (int *, int, void *))                                           \
    X(0, cuFuncSetAttribute, (void *, int, int))                                             \
    X(0, cuFuncGetParamInfo, (void *, size_t, size_t *, size_t *))                           \
    X(0, cuLaunchKernel,                                                                     \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
       void **, void **))                                                                    \
    X(0, cuGetErrorName, (int, const char **))                                               \
    X(1, nvrtcVersion, (int *, int *))                                                       \
    X(1, nvrtcCreateProgram,                                                                 \
      (void **, const char *, const char *, int, const char *const *, const char *const *))  \
    X(1, nvrtcCompileProgram, (void *, int, const char *const *))                            \
    X(1, nvrtcGetCUBINSize, (void *, size_t *))                                              \
    X(1, nvrtcGetCUBIN, (void *, char *))                                                    \
    X(1, nvrtcGetPTXSize, (void *, size_t *))                                                \
    X(1, nvrtcGetProgramLogSize, (void *, size_t *))                                         \
    X(1, nvrtcGetProgramLog, (void *, char *))                                               \
    X(1, nvrtcDestroyProgram, (void **))                                                     \
    X(2, cublasLtCreate, (void **))                                                          \
    X(2, cublasLtDestroy, (void *))                                                          \
    X(2, cublasLtMatmulDescCreate, (void **, int, int))                                      \
    X(2, cublasLtMatmulDescSetAttribute, (void *, int, const void *, size_t))                \
    X(2, cublasLtMatmulDescDestroy, (void *))                                                \
    X(2, cublasLtMatrixLayoutCreate, (void **, int, uint64_t, uint64_t, int64_t))            \
    X(2, cublasLtMatrixLayoutSetAttribute, (void *, int, const void *, size_t))              \
    X(2, cublasLtMatrixLayoutDestroy, (void *))                                              \
    X(2, cublasLtMatmulPreferenceCreate, (void **))                                          \
    X(2, cublasLtMatmulPreferenceSetAttribute, (void *, int, const void *, size_t))          \
    X(2, cublasLtMatmulPreferenceDestroy, (void *))                                          \
    X(2, cublasLtMatmulAlgoGetHeuristic,                                                     \
      (void *, void *, void *, void *, void *, void *, void *, int, void *, int *))          \
    X(2, cublasLtMatmul,                                                                     \
      (void *, void *, const void *, address_t, void *, address_t, void *, const void *,     \
       address_t, void *, address_t, void *, const void *, address_t, size_t, void *))       \
    X(3, nvmlInit_v2, (void))                                                                \
    X(3, nvmlShutdown, (void))                                                               \
    X(3, nvmlDeviceGetCount_v2, (unsigned *))                                                \
    X(3, nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **))                          \
    X(3, nvmlDeviceGetMemoryInfo, (void *, unsigned long long *))

static struct {
#define SLOT(library, name, parameters) int(*name) parameters;
    FUNCTIONS(SLOT)
#undef SLOT
} cu;

static const struct {
    int library;
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(library, name, parameters) {library, #name, offsetof(__typeof__(cu), name)},
    FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const stand_in_control_t *control;

#define assert_code(code, call) assert_int_equal(call, code)
#define assert_done(call) assert_int_equal(call, 0)

static inline int open_libraries(void) {
    static const char *const names[] = {FOLDER "standin_libcuda.so", FOLDER "standin_libnvrtc.so",
                                        FOLDER "standin_libcublas.so", FOLDER "standin_libnvml.so"};
    void *libraries[4];
    stand_in_control_fn get;
    void *address;

    for (int i = 0; i < 4; ++i) {
        libraries[i] = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (libraries[i] == NULL) {
            printf("%s\n", dlerror());
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {
        address = dlsym(libraries[symbols[i].library], symbols[i].name);
        if (address == NULL) {
            printf("no %s in %s\n", symbols[i].name, names[symbols[i].library]);
            return -1;
        }
        memcpy((char *)&cu + symbols[i].offset, &address, sizeof address);
    }
    address = dlsym(libraries[0], "stand_in_control");
    memcpy(&get, &address, sizeof get);
    control = get();
    return 0;
}

/* ---- each test's state: the first card's primary context current, one stream ---- */

static void *context;
static void *stream;
static uint64_t expected_complaints;

static inline int begin(void **state) {
    (void)state;
    control->reset();
    expected_complaints = 0;
    assert_done(cu.cuDevicePrimaryCtxRetain(&context, 0));
    assert_done(cu.cuCtxPushCurrent_v2(context));
    assert_done(cu.cuStreamCreateWithPriority(&stream, 1, 0));
    return 0;
}

/* After each test nothing lives, and nothing happened that would crash a driver. */
static inline int end(void **state) {
    char text[256];

    (void)state;
    assert_int_equal(control->complaints(text, sizeof text), expected_complaints);
    control->reset();
    assert_done(cu.cuStreamDestroy_v2(stream));
    assert_done(cu.cuCtxPopCurrent_v2(NULL));
    assert_done(cu.cuDevicePrimaryCtxRelease_v2(0));
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        assert_int_equal(control->live(kind), 0);
    }
    assert_int_equal(control->used_bytes(0), 0);
    return 0;
}

static inline address_t make_memory(size_t bytes) {
    address_t address = 0;

    assert_done(cu.cuMemAlloc_v2(&address, bytes));
    return address;
}

static inline address_t make_floats(const float *values, size_t count) {
    address_t address = make_memory(count * sizeof *values);

    assert_done(cu.cuMemcpyHtoDAsync_v2(address, values, count * sizeof *values, stream));
    return address;
}

static inline void read_floats(address_t address, float *values, size_t count) {
    assert_done(cu.cuMemcpyDtoHAsync_v2(values, address, count * sizeof *values, stream));
    assert_done(cu.cuStreamSynchronize(stream));
}

/* The texts of the portable kernels that other kernels use. The caller frees it. */
static inline char *read_texts(const char *own) {
    static const char *const names[] = {"dialect.cl", "launch.cl"};
    char *text = calloc(1, 200000);
    size_t length = 0;

    assert_non_null(text);
    for (int i = 0; i < 2; ++i) {
        char path[1024];
        FILE *file;

        snprintf(path, sizeof path, "%s/kernels/common/%s", GANTRY_TEST_SOURCE_DIR, names[i]);
        file = fopen(path, "rb");
        assert_non_null(file);
        length += fread(text + length, 1, 90000, file);
        fclose(file);
    }
    strcat(text, own);
    return text;
}

/* The image of a program; NULL and the log if it is refused. The caller frees both. */
static inline char *compile(const char *own, const char *architecture, int *out_code,
                            char **out_log) {
    const char *options[] = {architecture, "--fmad=false", "-default-device", "-DPLUS=+"};
    char *text = read_texts(own);
    char *image = NULL;
    void *program = NULL;
    size_t bytes = 0;

    assert_done(cu.nvrtcCreateProgram(&program, text, "test.cu", 0, NULL, NULL));
    free(text);
    *out_code = cu.nvrtcCompileProgram(program, 4, options);
    if (*out_code == 0) {
        assert_done(cu.nvrtcGetCUBINSize(program, &bytes));
        if (bytes > 0) {
            image = malloc(bytes);
            assert_non_null(image);
            assert_done(cu.nvrtcGetCUBIN(program, image));
        }
    } else if (out_log != NULL) {
        assert_done(cu.nvrtcGetProgramLogSize(program, &bytes));
        *out_log = malloc(bytes);
        assert_done(cu.nvrtcGetProgramLog(program, *out_log));
    }
    assert_done(cu.nvrtcDestroyProgram(&program));
    return image;
}

static inline void *load(const char *own, const char *name, void **out_function) {
    void *module = NULL;
    int code = 0;
    char *image = compile(own, "--gpu-architecture=sm_90", &code, NULL);

    assert_int_equal(code, 0);
    assert_non_null(image);
    assert_done(cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
    assert_done(cu.cuModuleGetFunction(out_function, module, name));
    free(image);
    return module;
}

/* out[i] = x[i] + y[i] * scale + more, and the last number of each group. */
static const char add_text[] =
    "\ntypedef struct { GANTRY_LONG count; float scale; int rest[3]; } plan_t;\n"
    "GANTRY_KERNEL add(GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(y), GANTRY_SPAN_OUT(out), const plan_t p, const float more)\n"
    "{ GANTRY_LONG i = GANTRY_GLOBAL_ID(0);\n"
    "  if (i < p.count) GANTRY_OUT(float, out)[i] = GANTRY_IN(float, x)[i] PLUS GANTRY_IN(float, y)[i] * p.scale + more; }\n";

static const char group_text[] =
    "\nGANTRY_KERNEL last_of_group(GANTRY_SPAN_OUT(out), GANTRY_SPAN_LOCAL(room))\n"
    "{ GANTRY_LOCAL(float, room)[GANTRY_LOCAL_ID(0)] = (float)GANTRY_GLOBAL_ID(0);\n"
    "  GANTRY_BARRIER();\n"
    "  if (GANTRY_LOCAL_ID(0) == 0) GANTRY_OUT(float, out)[GANTRY_GROUP_ID(0)] = GANTRY_LOCAL(float, room)[GANTRY_LOCAL_SIZE(0) - 1]; }\n";

/* Makes two cards with these settings. Returns 0, or main's result: 77 if the stand-in finds no
 * PoCL. */
static inline int start(void) {
    char text[256] = "";

    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("GANTRY_STAND_IN_CUDA",
           "devices=2;memory=256M;other=16M;driver=12040;pci=0000:65:00.0,0000:b3:00.0", 1);
    if (open_libraries() != 0) return 1;
    if (cu.cuInit(0) != 0) {
        control->complaints(text, sizeof text);
        printf("%s\n", text);
        const int code = skip_without_pocl();
        return code != 0 ? code : 1;
    }
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

#endif
