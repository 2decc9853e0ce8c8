/* SPDX-License-Identifier: Apache-2.0 */
/* A run over a context and queue of the program's own: --adopted. A first runtime says which device
 * of the driver has the name. The driver's library is opened at run time, and the few functions
 * that are used are declared here, so that no header is needed. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* X(return type, name, arguments) */
#define OPENCL_SYMBOLS(X)                                                     \
    X(void *, clCreateContext,                                                \
      (const intptr_t *, uint32_t, void *const *, void *, void *, int32_t *)) \
    X(int32_t, clReleaseContext, (void *))                                    \
    X(void *, clCreateCommandQueue, (void *, void *, uint64_t, int32_t *))    \
    X(int32_t, clReleaseCommandQueue, (void *))
#define CUDA_SYMBOLS(X)                              \
    X(int, cuCtxCreate_v2, (void **, unsigned, int)) \
    X(int, cuCtxPushCurrent_v2, (void *))            \
    X(int, cuCtxPopCurrent_v2, (void **))            \
    X(int, cuCtxDestroy_v2, (void *))                \
    X(int, cuStreamCreate, (void **, unsigned))      \
    X(int, cuStreamDestroy_v2, (void *))

#define ADOPTED_SLOT(result, name, arguments) result(*name) arguments;
static struct { OPENCL_SYMBOLS(ADOPTED_SLOT) } cl;
static struct { CUDA_SYMBOLS(ADOPTED_SLOT) } cu;

#define ADOPTED_FIND(table, name)                    \
    {                                                \
        void *symbol = dlsym(library, #name);        \
        memcpy(&table.name, &symbol, sizeof symbol); \
        if (!symbol) return false;                   \
    }

/* ---- OpenCL ---- */

static bool find_opencl(void *library) {
#define OPENCL_FIND(result, name, arguments) ADOPTED_FIND(cl, name)
    OPENCL_SYMBOLS(OPENCL_FIND)
    return true;
}

static bool make_opencl(gantry_adopted_context_t *out) {
    int32_t error = 0;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library || !find_opencl(library)) return false;
    out->context = cl.clCreateContext(NULL, 1, &out->device, NULL, NULL, &error);
    if (!out->context) return false;
    out->queue = cl.clCreateCommandQueue(out->context, out->device, 0, &error);
    return out->queue != NULL;
}

/* ---- CUDA ---- */

static bool find_cuda(void *library) {
#define CUDA_FIND(result, name, arguments) ADOPTED_FIND(cu, name)
    CUDA_SYMBOLS(CUDA_FIND)
    return true;
}

static bool make_cuda(gantry_adopted_context_t *out) {
    const char *path = getenv("GANTRY_CUDA_LIBRARY");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *popped = NULL;
    if (!library || !find_cuda(library)) return false;
    if (cu.cuCtxCreate_v2(&out->context, 0, (int)(intptr_t)out->device)) return false;
    const bool is_made = cu.cuStreamCreate(&out->queue, 0) == 0;
    return cu.cuCtxPopCurrent_v2(&popped) == 0 && is_made;
}

/* ---- both ---- */

/* Asks a runtime of its own contexts for the driver's device. */
static bool find_native(conformance_t *c, gantry_native_t *out_native) {
    const gantry_logical_device_t *device = NULL;
    gantry_runtime_t *runtime = NULL;
    gantry_runtime_options_t options = conformance_runtime_options(c);
    options.adopted_count = 0;
    const bool is_found =
        gantry_runtime_create(&options, &runtime) == GANTRY_OK &&
        gantry_find_logical_device(runtime, c->options.device, &device) == GANTRY_OK &&
        gantry_device_get_native(device, out_native) == GANTRY_OK;
    if (is_found) c->adopted.backend = strcmp(out_native->backend, "cuda") ? "opencl" : "cuda";
    gantry_runtime_release(runtime);
    return is_found;
}

int conformance_adopt(conformance_t *c) {
    gantry_native_t native = {.struct_size = sizeof native};
    c->adopted = (gantry_adopted_context_t){.struct_size = sizeof c->adopted};
    c->adopted_list[0] = &c->adopted;
    if (!find_native(c, &native)) {
        printf("FAIL no device for --adopted: %s\n", gantry_last_message());
        return 1;
    }
    const bool is_cuda = strcmp(c->adopted.backend, "cuda") == 0;
    c->adopted.device = native.device;
    if (is_cuda ? make_cuda(&c->adopted) : make_opencl(&c->adopted)) return 0;
    printf("FAIL %s gives no context of the program's own\n", c->adopted.backend);
    return 1;
}

int conformance_check_adopted(conformance_t *c) {
    gantry_native_t native = {.struct_size = sizeof native};
    gantry_status_t status = gantry_device_get_native(c->device, &native);
    if (status == GANTRY_OK && native.context == c->adopted.context &&
        native.queue == c->adopted.queue)
        return 0;
    printf("FAIL the device is not over the program's context: %s\n",
           status == GANTRY_OK ? "it has one of its own" : conformance_last_error(status));
    return 1;
}

static void give_cuda_back(const gantry_adopted_context_t *adopted) {
    if (!adopted->context || cu.cuCtxPushCurrent_v2(adopted->context)) return;
    if (adopted->queue) (void)cu.cuStreamDestroy_v2(adopted->queue);
    (void)cu.cuCtxDestroy_v2(adopted->context); /* which pops it */
}

static void give_opencl_back(const gantry_adopted_context_t *adopted) {
    if (adopted->queue) (void)cl.clReleaseCommandQueue(adopted->queue);
    if (adopted->context) (void)cl.clReleaseContext(adopted->context);
}

void conformance_give_back(conformance_t *c) {
    if (cu.cuCtxDestroy_v2) {
        give_cuda_back(&c->adopted);
    } else {
        give_opencl_back(&c->adopted);
    }
}
