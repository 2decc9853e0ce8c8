/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "vendor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *bench_library_open(const char *variable, const char *const *names) {
    const char *asked = variable ? getenv(variable) : NULL;
    void *library = NULL;
    if (asked && asked[0]) return dlopen(asked, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; names[i] && !library; ++i) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* dlsym returns a data pointer, which C does not convert to a function pointer: the bytes are
 * copied. */
bool bench_library_find(void *library, const char *name, void *out) {
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol;
}

/* ---- OpenCL ---- */

bool bench_opencl_open(bench_opencl_t *opencl) {
    memset(opencl, 0, sizeof *opencl);
    opencl->library = bench_library_open(
        "GANTRY_OPENCL_LIBRARY", (const char *const[]){"libOpenCL.so.1", "libOpenCL.so", NULL});
    if (!opencl->library) {
        (void)fprintf(stderr, "raw OpenCL: %s\n", dlerror());
        return false;
    }
#define BENCH_OPENCL_FIND(result, name, arguments)                          \
    if (!bench_library_find(opencl->library, #name, &opencl->name)) {       \
        (void)fprintf(stderr, "raw OpenCL: the library lacks " #name "\n"); \
        return false;                                                       \
    }
    BENCH_OPENCL_SYMBOLS(BENCH_OPENCL_FIND)
    return true;
}

static void *find_device(const bench_opencl_t *opencl, const char *hardware) {
    void *platforms[16], *devices[16];
    uint32_t platform_count = 0, device_count;
    if (opencl->clGetPlatformIDs(16, platforms, &platform_count) != 0) return NULL;
    for (uint32_t p = 0; p < platform_count && p < 16; ++p) {
        if (opencl->clGetDeviceIDs(platforms[p], BENCH_CL_ALL_DEVICES, 16, devices,
                                   &device_count) != 0)
            continue;
        for (uint32_t d = 0; d < device_count && d < 16; ++d) {
            char name[256] = "";
            if (opencl->clGetDeviceInfo(devices[d], BENCH_CL_DEVICE_NAME, sizeof name - 1, name,
                                        NULL) != 0)
                continue;
            if (strcmp(name, hardware) == 0) return devices[d];
        }
    }
    return NULL;
}

static bool set_same(const bench_queue_t *queue) {
    const int64_t sizes[7] = {4, 4, 0, 0, 4, 8, 0}; /* count, run, stream, three offsets, y */
    bool is_set = queue->opencl.clSetKernelArg(queue->same, 3, sizeof sizes, sizes) == 0;
    for (uint32_t i = 0; i < 3; ++i)
        is_set &=
            queue->opencl.clSetKernelArg(queue->same, i, sizeof queue->buffer, &queue->buffer) == 0;
    return is_set;
}

static bool make_kernel(bench_queue_t *queue, void *device) {
    const char *text =
        "kernel void add(global float *x) { size_t i = get_global_id(0); x[8 + i] = x[i] + x[4 + i]; }\n"
        "kernel void busy(global float *x, const int rounds) {\n"
        "    float sum = x[0];\n"
        "    for (int i = 0; i < rounds; ++i) sum = sum * 0.999f + 1.0f;\n"
        "    x[16 + get_global_id(0)] = sum;\n"
        "}\n"
        "typedef struct { long count, run, stream; ulong offsets[3], y; } sizes_t;\n"
        "kernel void same(global float *x, global float *y, global float *out, const sizes_t s) {\n"
        "    for (long i = 0; i < s.count; ++i)\n"
        "        out[s.offsets[2] + i] = x[s.offsets[0] + i] + y[s.offsets[1] + i];\n"
        "}\n";
    const bench_opencl_t *cl = &queue->opencl;
    int32_t error;
    queue->program = cl->clCreateProgramWithSource(queue->context, 1, &text, NULL, &error);
    if (!queue->program || cl->clBuildProgram(queue->program, 1, &device, "", NULL, NULL) != 0)
        return false;
    queue->kernel = cl->clCreateKernel(queue->program, "add", &error);
    queue->busy = cl->clCreateKernel(queue->program, "busy", &error);
    queue->same = cl->clCreateKernel(queue->program, "same", &error);
    return queue->kernel && queue->busy && queue->same &&
           cl->clSetKernelArg(queue->kernel, 0, sizeof queue->buffer, &queue->buffer) == 0 &&
           cl->clSetKernelArg(queue->busy, 0, sizeof queue->buffer, &queue->buffer) == 0 &&
           set_same(queue);
}

bool bench_queue_open(bench_queue_t *queue, const char *hardware, size_t buffer_bytes) {
    memset(queue, 0, sizeof *queue);
    bench_opencl_t *cl = &queue->opencl;
    int32_t error;
    if (!bench_opencl_open(cl)) goto fail;
    void *device = find_device(cl, hardware);
    if (!device) goto fail;
    queue->context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (!queue->context) goto fail;
    queue->queue = cl->clCreateCommandQueue(queue->context, device, 0, &error);
    queue->buffer = cl->clCreateBuffer(queue->context, 1, buffer_bytes, NULL, &error);
    if (queue->queue && queue->buffer && make_kernel(queue, device)) return true;
fail:
    (void)fprintf(stderr, "raw OpenCL: no queue on %s\n", hardware);
    bench_queue_close(queue);
    return false;
}

void bench_queue_close(bench_queue_t *queue) {
    bench_opencl_t *cl = &queue->opencl;
    if (queue->kernel) (void)cl->clReleaseKernel(queue->kernel);
    if (queue->busy) (void)cl->clReleaseKernel(queue->busy);
    if (queue->same) (void)cl->clReleaseKernel(queue->same);
    if (queue->program) (void)cl->clReleaseProgram(queue->program);
    if (queue->buffer) (void)cl->clReleaseMemObject(queue->buffer);
    if (queue->queue) (void)cl->clReleaseCommandQueue(queue->queue);
    if (queue->context) (void)cl->clReleaseContext(queue->context);
    memset(queue, 0, sizeof *queue);
}

/* ---- matrix products ---- */

static void open_dnnl(bench_blas_t *blas) {
    typedef struct version_t {
        int major, minor, patch;
    } version_t; /* the head of the library's own struct */
    const version_t *(*version)(void) = NULL;
    blas->dnnl_library = bench_library_open(
        NULL, (const char *const[]){"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so", NULL});
    if (!blas->dnnl_library ||
        !bench_library_find(blas->dnnl_library, "dnnl_sgemm", &blas->dnnl_sgemm))
        return;
    (void)snprintf(blas->dnnl_name, sizeof blas->dnnl_name, "oneDNN");
    if (!bench_library_find(blas->dnnl_library, "dnnl_version", &version)) return;
    (void)snprintf(blas->dnnl_name, sizeof blas->dnnl_name, "oneDNN %d.%d.%d", version()->major,
                   version()->minor, version()->patch);
}

static void open_openblas(bench_blas_t *blas) {
    char *(*config)(void) = NULL;
    char version[12] = "";
    blas->openblas_library =
        bench_library_open(NULL, (const char *const[]){"libopenblas.so.0", "libopenblas.so", NULL});
    if (!blas->openblas_library ||
        !bench_library_find(blas->openblas_library, "cblas_sgemm", &blas->cblas_sgemm))
        return;
    if (bench_library_find(blas->openblas_library, "openblas_get_config", &config))
        (void)sscanf(config(), "OpenBLAS %11s", version);
    (void)snprintf(blas->openblas_name, sizeof blas->openblas_name, "OpenBLAS %s", version);
}

void bench_blas_open(bench_blas_t *blas) {
    memset(blas, 0, sizeof *blas);
    open_dnnl(blas);
    open_openblas(blas);
}
