/* SPDX-License-Identifier: Apache-2.0 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "raw_opencl.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES ((size_t)1 << 20)
#define PINNED ((size_t)64 << 10)
#define QUEUES 3
#define WORDS 4096u

static cl_device_id device;
static unsigned char *binaries[RAW_PROGRAMS];
static size_t binary_bytes[RAW_PROGRAMS];

static bool is_good(cl_int error, const char *what) {
    if (error != CL_SUCCESS) printf("raw OpenCL: %s: error %d\n", what, (int)error);
    return error == CL_SUCCESS;
}

static void write_text(unsigned index, char *text, size_t bytes) {
    (void)snprintf(text, bytes,
                   "kernel void work%u(global float *x, float a) {\n"
                   "    size_t i = get_global_id(0);\n"
                   "    float y = x[i];\n"
                   "    for (int k = 0; k < %u; ++k) y = mad(y, a, sqrt(fabs(y) + %u.0f));\n"
                   "    x[i] = y;\n"
                   "}\n",
                   index, 2 + index % 3, index);
}

static bool build_binary(cl_context context, unsigned index) {
    char text[512];
    const char *texts[] = {text};
    cl_int error;
    write_text(index, text, sizeof text);
    cl_program program = clCreateProgramWithSource(context, 1, texts, NULL, &error);
    if (!is_good(error, "clCreateProgramWithSource")) return false;
    bool good = is_good(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram") &&
                is_good(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size_t),
                                         &binary_bytes[index], NULL),
                        "binary size");
    if (good) {
        binaries[index] = malloc(binary_bytes[index]);
        good = binaries[index] &&
               is_good(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(unsigned char *),
                                        &binaries[index], NULL),
                       "binary");
    }
    (void)clReleaseProgram(program);
    return good;
}

bool raw_opencl_open(const raw_work_t *work) {
    cl_platform_id platform;
    cl_int error;
    if (!is_good(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs")) return false;
    if (!is_good(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs"))
        return false;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (!is_good(error, "clCreateContext")) return false;
    bool good = true;
    for (unsigned i = 0; i < work->programs && good; ++i) good = build_binary(context, i);
    (void)clReleaseContext(context);
    return good;
}

void raw_opencl_close(void) {
    for (unsigned i = 0; i < RAW_PROGRAMS; ++i) free(binaries[i]);
}

/* ---- one cycle ---- */

static bool launch(cl_context context, cl_command_queue queue, cl_mem buffer, unsigned index,
                   unsigned launches) {
    cl_int error, state;
    const unsigned char *bytes = binaries[index];
    char name[16];
    (void)snprintf(name, sizeof name, "work%u", index);
    cl_program program = clCreateProgramWithBinary(context, 1, &device, &binary_bytes[index],
                                                   &bytes, &state, &error);
    if (!is_good(error, "clCreateProgramWithBinary")) return false;
    bool good = is_good(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = good ? clCreateKernel(program, name, &error) : NULL;
    good = good && is_good(error, "clCreateKernel");
    const float factor = 0.5f;
    const size_t global = WORDS, local = 64;
    for (unsigned i = 0; i < launches && good; ++i) {
        good =
            is_good(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "argument 0") &&
            is_good(clSetKernelArg(kernel, 1, sizeof factor, &factor), "argument 1") &&
            is_good(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
                    "launch");
    }
    if (kernel) (void)clReleaseKernel(kernel);
    (void)clFinish(queue);
    (void)clReleaseProgram(program);
    return good;
}

static bool transfer(cl_command_queue from, cl_command_queue to, cl_mem buffer, void *pinned) {
    cl_event events[2];
    if (!is_good(clEnqueueWriteBuffer(from, buffer, CL_FALSE, 0, PINNED, pinned, 0, NULL, NULL),
                 "write"))
        return false;
    if (!is_good(clEnqueueMarkerWithWaitList(from, 0, NULL, &events[0]), "marker")) return false;
    (void)clFlush(from);
    bool good = is_good(clEnqueueBarrierWithWaitList(to, 1, &events[0], NULL), "barrier") &&
                is_good(clEnqueueReadBuffer(to, buffer, CL_FALSE, 0, PINNED, pinned, 0, NULL, NULL),
                        "read") &&
                is_good(clEnqueueMarkerWithWaitList(to, 0, NULL, &events[1]), "marker");
    if (good) {
        (void)clFlush(to);
        good = is_good(clWaitForEvents(1, &events[1]), "clWaitForEvents");
        (void)clReleaseEvent(events[1]);
    }
    (void)clReleaseEvent(events[0]);
    return good;
}

static bool use_context(cl_context context, const raw_work_t *work) {
    cl_command_queue queues[QUEUES];
    cl_int error;
    bool good = true;
    for (int i = 0; i < QUEUES; ++i) {
        queues[i] = clCreateCommandQueue(context, device, 0, &error);
        good = good && is_good(error, "clCreateCommandQueue");
    }
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
    good = good && is_good(error, "clCreateBuffer");
    cl_mem pinned =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, PINNED, NULL, &error);
    good = good && is_good(error, "clCreateBuffer");
    void *mapped = good ? clEnqueueMapBuffer(queues[0], pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                             0, PINNED, 0, NULL, NULL, &error)
                        : NULL;
    good = good && is_good(error, "clEnqueueMapBuffer");
    for (unsigned i = 0; i < work->programs && good; ++i)
        good = launch(context, queues[0], buffer, i,
                      (work->launches + work->programs - 1) / work->programs);
    for (unsigned i = 0; i < work->transfers && good; ++i)
        good = transfer(queues[1], queues[2], buffer, mapped);
    if (mapped) (void)clEnqueueUnmapMemObject(queues[0], pinned, mapped, 0, NULL, NULL);
    for (int i = 0; i < QUEUES; ++i) {
        (void)clFinish(queues[i]);
        (void)clReleaseCommandQueue(queues[i]);
    }
    (void)clReleaseMemObject(pinned);
    (void)clReleaseMemObject(buffer);
    return good;
}

bool raw_opencl_cycle(const raw_work_t *work) {
    cl_int error;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (!is_good(error, "clCreateContext")) return false;
    bool good = use_context(context, work);
    (void)clReleaseContext(context);
    return good;
}
