/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA source: every call that reaches the stand-in for NVIDIA's driver, NVRTC, cuBLASLt,
 * cuDNN or NVML is an event. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/stand_in_control.h"
#include "faults_cuda.h"

typedef struct fault_t {
    int32_t error; /* in the function's own codes */
    gantry_status_t status;
    const char *name;
    bool loses; /* no context survives this code: the card answers every later call with it */
} fault_t;

static const fault_t value = {1, GANTRY_INVALID_ARGUMENT, "CUDA_ERROR_INVALID_VALUE", false};
static const fault_t memory = {2, GANTRY_RESOURCE_EXHAUSTED, "CUDA_ERROR_OUT_OF_MEMORY", false};
static const fault_t busy = {46, GANTRY_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", false};
static const fault_t image = {200, GANTRY_INVALID_ARGUMENT, "CUDA_ERROR_INVALID_IMAGE", false};
static const fault_t ecc = {214, GANTRY_UNAVAILABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", true};
static const fault_t missing = {500, GANTRY_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", false};
static const fault_t address = {700, GANTRY_UNAVAILABLE, "CUDA_ERROR_ILLEGAL_ADDRESS", true};
static const fault_t resources = {701, GANTRY_RESOURCE_EXHAUSTED,
                                  "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", false};
static const fault_t launch = {719, GANTRY_UNAVAILABLE, "CUDA_ERROR_LAUNCH_FAILED", true};
static const fault_t unknown = {999, GANTRY_UNKNOWN, "CUDA_ERROR_UNKNOWN", false};
static const fault_t rtc_memory = {1, GANTRY_RESOURCE_EXHAUSTED, "NVRTC_ERROR_OUT_OF_MEMORY",
                                   false};
static const fault_t rtc_compilation = {6, GANTRY_INVALID_ARGUMENT, "NVRTC_ERROR_COMPILATION",
                                        false};
static const fault_t rtc_internal = {11, GANTRY_INTERNAL, "NVRTC_ERROR_INTERNAL_ERROR", false};
static const fault_t blas_memory = {3, GANTRY_RESOURCE_EXHAUSTED, "CUBLAS_STATUS_ALLOC_FAILED",
                                    false};
static const fault_t blas_execution = {13, GANTRY_INTERNAL, "CUBLAS_STATUS_EXECUTION_FAILED",
                                       false};
static const fault_t blas_support = {15, GANTRY_UNIMPLEMENTED, "CUBLAS_STATUS_NOT_SUPPORTED",
                                     false};
static const fault_t dnn_start = {1001, GANTRY_INTERNAL, "CUDNN_STATUS_NOT_INITIALIZED", false};
static const fault_t dnn_support = {3000, GANTRY_INTERNAL, "CUDNN_STATUS_NOT_SUPPORTED", false};
static const fault_t dnn_memory = {4003, GANTRY_RESOURCE_EXHAUSTED,
                                   "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", false};
static const fault_t dnn_execution = {5000, GANTRY_INTERNAL, "CUDNN_STATUS_EXECUTION_FAILED",
                                      false};
static const fault_t monitor = {999, GANTRY_UNKNOWN, "Unknown Error", false};

/* Codes that the function may return. The first entry whose name is a prefix of the function's
 * applies: usually an ordinary code, out of memory, and a code that no context survives. A call
 * without a context has no such code. */
static const struct {
    const char *function;
    const fault_t *faults[3];
} plausible[] = {
    {"cuInit", {&unknown, &memory, &unknown}},
    {"cuDriverGetVersion", {&unknown, &memory, &value}},
    {"cuDevicePrimaryCtxRetain", {&busy, &memory, &value}},
    {"cuDevice", {&unknown, &memory, &value}},
    {"cuCtxPushCurrent", {&value, &memory, &unknown}},
    {"cuCtxPopCurrent", {&value, &memory, &unknown}},
    {"cuCtxDestroy", {&value, &memory, &unknown}},
    {"cuMem", {&value, &memory, &ecc}},
    {"cuModuleLoadDataEx", {&image, &memory, &launch}},
    {"cuModuleGetFunction", {&missing, &memory, &launch}},
    {"cuFuncGetParamInfo",
     /* CUDA_ERROR_INVALID_VALUE means that there are no more */
     {&unknown, &memory, &address}},
    {"cuLaunchKernel", {&resources, &memory, &launch}},
    {"cudnnCreate", {&dnn_start, &dnn_memory, &dnn_start}},
    {"cudnn", {&dnn_support, &dnn_memory, &dnn_execution}},
    {"cu", {&unknown, &memory, &address}},
    {"nvrtc", {&rtc_compilation, &rtc_memory, &rtc_internal}},
    {"nvml", {&monitor, &monitor, &monitor}},
};
static const fault_t *const plausible_blas[] = {&blas_support, &blas_memory, &blas_execution};

static struct {
    const stand_in_control_t *stand_in;
    int (*pop_context)(void **);
    long live[STAND_IN_KINDS], abandoned[STAND_IN_KINDS];
    bool is_left_behind; /* the context could not be made current, so its objects end with it */
} self;

static const fault_t *choose(const char *function) {
    size_t i = 0, choice = (size_t)(faults_sites_choice() % 3);
    if (strncmp(function, "cublasLt", 8) == 0) return plausible_blas[choice];
    while (strncmp(function, plausible[i].function, strlen(plausible[i].function)) != 0) ++i;
    return plausible[i].faults[choice];
}

static int32_t watch(void *user, const char *function) {
    (void)user;
    if (!faults_event(function)) return 0;
    const fault_t *fault = choose(function);
    self.is_left_behind = strncmp(function, "cuCtxPushCurrent", 16) == 0;
    faults_source_made(fault->status, fault->name, fault->loses);
    return fault->error;
}

/* ---- opening ---- */

/* Runs in a separate process, because this process is forked later and no driver survives a
 * fork. */
static bool has_cards(void *library) {
    int (*init)(unsigned) = NULL, result = -1;
    void *symbol = dlsym(library, "cuInit");
    memcpy(&init, &symbol, sizeof init);
    (void)fflush(stdout);
    pid_t child = symbol ? fork() : -1;
    if (child == 0) _exit(init(0) != 0);
    return child > 0 && waitpid(child, &result, 0) == child && result == 0;
}

static void *open_stand_in(void) {
    static const char *const libraries[][2] = {{"GANTRY_CUDA_LIBRARY", "libcuda"},
                                               {"GANTRY_CUDA_NVRTC", "libnvrtc"},
                                               {"GANTRY_CUDA_CUBLAS", "libcublas"},
                                               {"GANTRY_CUDA_CUDNN", "libcudnn"},
                                               {"GANTRY_CUDA_NVML", "libnvml"}};
    char file[1024];
    for (size_t i = sizeof libraries / sizeof *libraries; i-- > 0;) {
        (void)snprintf(file, sizeof file, "%s/standin_%s.so", GANTRY_FAULTS_STAND_IN,
                       libraries[i][1]);
        (void)setenv(libraries[i][0], file, 1);
    }
    (void)setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=2G", 1);
    (void)setenv("POCL_DEVICES", "pthread pthread", 0);
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

bool faults_cuda_prepare(char *out_why, size_t why_bytes) {
    stand_in_control_fn find = NULL;
    if (!*GANTRY_FAULTS_STAND_IN) {
        (void)snprintf(out_why, why_bytes,
                       "the CUDA backend or the stand-in for its driver was not built");
        return false;
    }
    void *library = open_stand_in(), *symbol = library ? dlsym(library, "stand_in_control") : NULL;
    if (!symbol) {
        (void)snprintf(out_why, why_bytes, "the stand-in for CUDA's driver cannot be opened: %s",
                       dlerror());
        return false;
    }
    if (!has_cards(library)) {
        (void)snprintf(out_why, why_bytes, "the stand-in for CUDA's driver finds no PoCL");
        return false;
    }
    memcpy(&find, &symbol, sizeof find);
    symbol = dlsym(library, "cuCtxPopCurrent_v2");
    memcpy(&self.pop_context, &symbol, sizeof symbol);
    self.stand_in = find();
    return true;
}

/* ---- runs ---- */

void faults_cuda_reset(void) {
    void *context;
    self.stand_in->reset();
    /* cuCtxPopCurrent_v2 may be the failed call */
    while (self.pop_context(&context) == 0) continue;
    self.stand_in->watch(watch, NULL);
    self.is_left_behind = false;
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        self.live[kind] = self.stand_in->live(kind);
        self.abandoned[kind] = self.stand_in->abandoned(kind);
    }
}

static bool is_given_back(char *out_why, size_t why_bytes) {
    static const char *const names[STAND_IN_KINDS] = {"contexts",
                                                      "streams",
                                                      "events",
                                                      "pieces of memory",
                                                      "pieces of host memory",
                                                      "modules",
                                                      "programs",
                                                      "cublasLt handles",
                                                      "cublasLt objects",
                                                      "uses of NVML",
                                                      "graphs",
                                                      "communicators",
                                                      "cuDNN handles",
                                                      "cuDNN descriptors"};
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        long live = self.stand_in->live(kind) - self.live[kind];
        long abandoned =
            self.is_left_behind ? 0 : self.stand_in->abandoned(kind) - self.abandoned[kind];
        if (live == 0 && abandoned == 0) continue;
        (void)snprintf(out_why, why_bytes, "CUDA: %+ld %s live, %ld ended with their context only",
                       live, names[kind], abandoned);
        return false;
    }
    return true;
}

bool faults_cuda_is_clean(char *out_why, size_t why_bytes) {
    const struct timespec pause = {.tv_nsec = 2000000};
    char text[256];
    if (self.stand_in->complaints(text, sizeof text) > 0) {
        (void)snprintf(out_why, why_bytes, "CUDA: no driver would have survived this: %s", text);
        return false;
    }
    for (int i = 0; i < 500; ++i) { /* a driver's threads may still be releasing objects */
        if (is_given_back(out_why, why_bytes)) return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}
