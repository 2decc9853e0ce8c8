/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL driver with bad habits: a layer between the loader and PoCL. The loader loads it
 * through OPENCL_LAYERS. Thread-safe.
 *
 * ROUGH     words: "contract" lets the compiler round a * b + c once, whatever a program's pragma
 *           says; "split" rounds the product of an fma(), too; "flush" takes denormals as zero;
 *           "crash" ends the process when a context is made for PoCL's second device; "gone": that
 *           device was taken away; "idle": kernels do nothing on that device
 * ROUGH_LOG a file that gets a line for each context */
#define CL_TARGET_OPENCL_VERSION 120
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_layer.h"

static int has_habit(const char *word) {
    const char *habits = getenv("ROUGH");
    return habits && strstr(habits, word) != NULL;
}

/* The text as the habits make it; NULL: no memory. */
static char *copy_text(const char *text, size_t length, int is_first) {
    static const char off[] = "FP_CONTRACT OFF", on[] = "FP_CONTRACT ON ";
    static const char split[] = "#define fma(a, b, c) ((a) * (b) + (c))\n";
    const size_t head = is_first && has_habit("split") ? sizeof split - 1 : 0;
    char *copy = malloc(head + length + 1);
    if (!copy) return NULL;
    memcpy(copy, split, head);
    memcpy(copy + head, text, length);
    copy[head + length] = '\0';
    for (char *at = strstr(copy, off); at && has_habit("contract"); at = strstr(at, off))
        memcpy(at, on, sizeof on - 1);
    return copy;
}

static CL_API_ENTRY cl_program CL_API_CALL layer_clCreateProgramWithSource(
    cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code) {
    char **copies;
    cl_program program = NULL;
    if (!has_habit("contract") && !has_habit("split"))
        return target->clCreateProgramWithSource(context, count, texts, lengths, code);
    copies = calloc(count, sizeof *copies);
    if (code) *code = CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; copies && i < count; ++i)
        copies[i] =
            copy_text(texts[i], lengths && lengths[i] ? lengths[i] : strlen(texts[i]), i == 0);
    if (copies)
        program =
            target->clCreateProgramWithSource(context, count, (const char **)copies, NULL, code);
    for (cl_uint i = 0; copies && i < count; ++i) free(copies[i]);
    free(copies);
    return program;
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clBuildProgram(
    cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
    void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    char all[4096];
    (void)snprintf(all, sizeof all, "%s%s%s", options ? options : "",
                   has_habit("contract") ? " -cl-mad-enable" : "",
                   has_habit("flush") ? " -cl-denorms-are-zero" : "");
    return target->clBuildProgram(program, count, devices, all, notify, user);
}

static cl_device_id second_device(void) {
    cl_platform_id platform = NULL;
    cl_device_id both[2] = {NULL, NULL};
    (void)target->clGetPlatformIDs(1, &platform, NULL);
    (void)target->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, both, NULL);
    return both[1];
}

static CL_API_ENTRY cl_context CL_API_CALL layer_clCreateContext(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
    cl_int *code) {
    const char *log = getenv("ROUGH_LOG");
    FILE *file = log ? fopen(log, "a") : NULL;
    if (file) {
        (void)fputs("context\n", file);
        (void)fclose(file);
    }
    bool is_second = count > 0 && devices[0] == second_device();
    if (is_second && has_habit("crash")) abort();
    if (is_second && has_habit("gone")) {
        if (code) *code = CL_DEVICE_NOT_AVAILABLE;
        return NULL;
    }
    return target->clCreateContext(properties, count, devices, notify, user, code);
}

/* ---- a card that was taken away ---- */

static bool is_second_with(cl_command_queue queue, const char *habit) {
    cl_device_id device = NULL;
    if (!has_habit(habit)) return false;
    (void)target->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    return device == second_device();
}

static bool is_gone(cl_command_queue queue) { return is_second_with(queue, "gone"); }

#define QUEUED(name, parameters, arguments)                                        \
    static CL_API_ENTRY cl_int CL_API_CALL layer_##name parameters {               \
        return is_gone(queue) ? CL_INVALID_COMMAND_QUEUE : target->name arguments; \
    }
QUEUED(clFlush, (cl_command_queue queue), (queue))
QUEUED(clEnqueueReadBuffer,
       (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
        void *data, cl_uint waits, const cl_event *list, cl_event *event),
       (queue, buffer, blocking, offset, size, data, waits, list, event))
QUEUED(clEnqueueFillBuffer,
       (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t bytes, size_t offset,
        size_t size, cl_uint waits, const cl_event *list, cl_event *event),
       (queue, buffer, pattern, bytes, offset, size, waits, list, event))
QUEUED(clEnqueueMarkerWithWaitList,
       (cl_command_queue queue, cl_uint waits, const cl_event *list, cl_event *event),
       (queue, waits, list, event))

static CL_API_ENTRY cl_int CL_API_CALL
layer_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                             const size_t *offset, const size_t *global, const size_t *local,
                             cl_uint waits, const cl_event *list, cl_event *event) {
    if (is_gone(queue)) return CL_INVALID_COMMAND_QUEUE;
    if (is_second_with(queue, "idle"))
        return target->clEnqueueMarkerWithWaitList(queue, waits, list, event);
    return target->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits,
                                          list, event);
}

LAYER("PoCL with bad habits, for Gantry's tests",
      TAKE(clCreateProgramWithSource) TAKE(clBuildProgram) TAKE(clCreateContext) TAKE(clFlush)
          TAKE(clEnqueueNDRangeKernel) TAKE(clEnqueueReadBuffer) TAKE(clEnqueueFillBuffer)
              TAKE(clEnqueueMarkerWithWaitList))
