/* SPDX-License-Identifier: Apache-2.0 */
#define CL_TARGET_OPENCL_VERSION 120
#include "fake_clblast.h"

#include <CL/cl.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT fake_clblast_t *fake_clblast(void);

/* The code that opens CLBlast checks that CLBlast links the same OpenCL library. */
EXPORT const void *fake_clblast_opencl(void);
EXPORT const void *fake_clblast_opencl(void) { return (const void *)(size_t)&clGetPlatformIDs; }

static fake_clblast_t state;

EXPORT fake_clblast_t *fake_clblast(void) { return &state; }

static int keep(const fake_clblast_call_t *call) {
    if (state.call_count < FAKE_CLBLAST_CALLS) state.calls[state.call_count] = *call;
    ++state.call_count;
    return state.code;
}

EXPORT int CLBlastClearCache(void);
EXPORT int CLBlastClearCache(void) { return 0; }

EXPORT int CLBlastOverrideParameters(cl_device_id device, const char *kernel, int precision,
                                     size_t count, const char **names, const size_t *values);
EXPORT int CLBlastOverrideParameters(cl_device_id device, const char *kernel, int precision,
                                     size_t count, const char **names, const size_t *values) {
    (void)device, (void)kernel, (void)precision, (void)count, (void)names, (void)values;
    return 0;
}

#define SIZES int layout, int a_form, int b_form, size_t m, size_t n, size_t k

#define GEMM(name, T, is_double_)                                                                 \
    EXPORT int name(SIZES, T alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,             \
                    size_t b_offset, size_t b_ld, T beta, cl_mem c, size_t c_offset, size_t c_ld, \
                    cl_command_queue *queue, cl_event *event, cl_mem temp);                       \
    EXPORT int name(SIZES, T alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,             \
                    size_t b_offset, size_t b_ld, T beta, cl_mem c, size_t c_offset, size_t c_ld, \
                    cl_command_queue *queue, cl_event *event, cl_mem temp) {                      \
        (void)layout, (void)alpha, (void)beta, (void)queue, (void)event;                          \
        return keep(&(fake_clblast_call_t){.is_double = is_double_,                               \
                                           .a_form = a_form,                                      \
                                           .b_form = b_form,                                      \
                                           .m = m,                                                \
                                           .n = n,                                                \
                                           .k = k,                                                \
                                           .count = 1,                                            \
                                           .a = {a, a_offset, a_ld, 0},                           \
                                           .b = {b, b_offset, b_ld, 0},                           \
                                           .c = {c, c_offset, c_ld, 0},                           \
                                           .temp = temp});                                        \
    }
GEMM(CLBlastSgemmWithTempBuffer, float, 0)
GEMM(CLBlastDgemmWithTempBuffer, double, 1)

#define BATCHED(name, T, is_double_)                                                           \
    EXPORT int name(SIZES, T alpha, cl_mem a, size_t a_offset, size_t a_ld, size_t a_stride,   \
                    cl_mem b, size_t b_offset, size_t b_ld, size_t b_stride, T beta, cl_mem c, \
                    size_t c_offset, size_t c_ld, size_t c_stride, size_t count,               \
                    cl_command_queue *queue, cl_event *event);                                 \
    EXPORT int name(SIZES, T alpha, cl_mem a, size_t a_offset, size_t a_ld, size_t a_stride,   \
                    cl_mem b, size_t b_offset, size_t b_ld, size_t b_stride, T beta, cl_mem c, \
                    size_t c_offset, size_t c_ld, size_t c_stride, size_t count,               \
                    cl_command_queue *queue, cl_event *event) {                                \
        (void)layout, (void)alpha, (void)beta, (void)queue, (void)event;                       \
        return keep(&(fake_clblast_call_t){.is_batched = 1,                                    \
                                           .is_double = is_double_,                            \
                                           .a_form = a_form,                                   \
                                           .b_form = b_form,                                   \
                                           .m = m,                                             \
                                           .n = n,                                             \
                                           .k = k,                                             \
                                           .count = count,                                     \
                                           .a = {a, a_offset, a_ld, a_stride},                 \
                                           .b = {b, b_offset, b_ld, b_stride},                 \
                                           .c = {c, c_offset, c_ld, c_stride}});               \
    }
BATCHED(CLBlastSgemmStridedBatched, float, 0)
BATCHED(CLBlastDgemmStridedBatched, double, 1)

#define TEMP_SIZE(name)                                                                         \
    EXPORT int name(SIZES, size_t a_offset, size_t a_ld, size_t b_offset, size_t b_ld,          \
                    size_t c_offset, size_t c_ld, cl_command_queue *queue, size_t *out_bytes);  \
    EXPORT int name(SIZES, size_t a_offset, size_t a_ld, size_t b_offset, size_t b_ld,          \
                    size_t c_offset, size_t c_ld, cl_command_queue *queue, size_t *out_bytes) { \
        (void)layout, (void)a_form, (void)b_form, (void)m, (void)n, (void)k, (void)a_offset,    \
            (void)a_ld, (void)b_offset, (void)b_ld, (void)c_offset, (void)c_ld, (void)queue;    \
        *out_bytes = state.temp_bytes;                                                          \
        return 0;                                                                               \
    }
TEMP_SIZE(CLBlastSGemmTempBufferSize)
TEMP_SIZE(CLBlastDGemmTempBufferSize)
