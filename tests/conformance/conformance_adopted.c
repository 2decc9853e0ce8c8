/* SPDX-License-Identifier: Apache-2.0 */
/* A run over a context and queue of the program's own: --adopted. The OpenCL loader is opened at
 * run time, and the few functions that are used are declared here, so that no header is needed. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "conformance.h"

#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

/* X(return type, name, arguments) */
#define ADOPTED_SYMBOLS(X)                                                        \
    X(int32_t, clGetPlatformIDs, (uint32_t, void **, uint32_t *))                 \
    X(int32_t, clGetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *)) \
    X(void *, clCreateContext,                                                    \
      (const intptr_t *, uint32_t, void *const *, void *, void *, int32_t *))     \
    X(int32_t, clReleaseContext, (void *))                                        \
    X(void *, clCreateCommandQueue, (void *, void *, uint64_t, int32_t *))        \
    X(int32_t, clReleaseCommandQueue, (void *))

#define ADOPTED_SLOT(result, name, arguments) result(*name) arguments;
static struct { ADOPTED_SYMBOLS(ADOPTED_SLOT) } cl;

static bool find_symbols(void *library) {
#define ADOPTED_FIND(result, name, arguments)     \
    {                                             \
        void *symbol = dlsym(library, #name);     \
        memcpy(&cl.name, &symbol, sizeof symbol); \
        if (!symbol) return false;                \
    }
    ADOPTED_SYMBOLS(ADOPTED_FIND)
    return true;
}

/* The first device of the first platform: opencl:0. */
static bool make_context(gantry_adopted_context_t *out) {
    void *platform = NULL;
    int32_t error = 0;
    if (cl.clGetPlatformIDs(1, &platform, NULL) ||
        cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &out->device, NULL))
        return false;
    out->context = cl.clCreateContext(NULL, 1, &out->device, NULL, NULL, &error);
    if (!out->context) return false;
    out->queue = cl.clCreateCommandQueue(out->context, out->device, 0, &error);
    return out->queue != NULL;
}

int conformance_adopt(conformance_t *c) {
    c->adopted = (gantry_adopted_context_t){.struct_size = sizeof c->adopted, .backend = "opencl"};
    c->adopted_list[0] = &c->adopted;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library && find_symbols(library) && make_context(&c->adopted)) return 0;
    printf("FAIL no context of the program's own: %s\n", library ? "the driver failed" : dlerror());
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

void conformance_give_back(conformance_t *c) {
    if (c->adopted.queue) (void)cl.clReleaseCommandQueue(c->adopted.queue);
    if (c->adopted.context) (void)cl.clReleaseContext(c->adopted.context);
}
