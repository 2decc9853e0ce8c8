/* SPDX-License-Identifier: Apache-2.0 */
/* CLBlast, the matrix products of GPUs, opened at run time when a device wants it.
 *
 * Owner: the instance holds the table; the library stays loaded. Threads: loading is
 * externally synchronised, and the table is constant afterwards. */
#ifndef GANTRY_OPENCL_CLBLAST_H
#define GANTRY_OPENCL_CLBLAST_H

#include <stdbool.h>

#include "opencl/opencl_symbols.h"

/* CLBlast's enumerations, passed as int. */
enum {
    GANTRY__CLBLAST_ROW_MAJOR = 101,
    GANTRY__CLBLAST_PLAIN = 111,
    GANTRY__CLBLAST_TRANSPOSED = 112
};

/* Matrices are (buffer, offset, leading dimension[, stride between batches]), all in elements. */
#define GANTRY__CLBLAST_GEMM(T)                                                                 \
    int layout, int a_form, int b_form, size_t m, size_t n, size_t k, T alpha, cl_mem a,        \
        size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset, size_t b_ld, T beta, cl_mem c, \
        size_t c_offset, size_t c_ld, cl_command_queue *queue, cl_event *event
#define GANTRY__CLBLAST_BATCHED(T)                                                             \
    int layout, int a_form, int b_form, size_t m, size_t n, size_t k, T alpha, cl_mem a,       \
        size_t a_offset, size_t a_ld, size_t a_stride, cl_mem b, size_t b_offset, size_t b_ld, \
        size_t b_stride, T beta, cl_mem c, size_t c_offset, size_t c_ld, size_t c_stride,      \
        size_t count, cl_command_queue *queue, cl_event *event
#define GANTRY__CLBLAST_TEMP_SIZE                                                      \
    int layout, int a_form, int b_form, size_t m, size_t n, size_t k, size_t a_offset, \
        size_t a_ld, size_t b_offset, size_t b_ld, size_t c_offset, size_t c_ld,       \
        cl_command_queue *queue, size_t *out_bytes

typedef struct gantry__opencl_clblast_t {
    bool is_tried;
    bool is_usable;
    char name[32];    /* "CLBlast 1.5.3" */
    char reason[256]; /* why it is not usable */
    /* the first product that another kernel had to compute, and why; "": none */
    char failure[256];
    int (*clear_cache)(void);
    int (*override_parameters)(cl_device_id device, const char *kernel, int precision, size_t count,
                               const char **names, const size_t *values);
    int (*sgemm)(GANTRY__CLBLAST_GEMM(float), cl_mem temp);
    int (*dgemm)(GANTRY__CLBLAST_GEMM(double), cl_mem temp);
    int (*sgemm_temp_size)(GANTRY__CLBLAST_TEMP_SIZE);
    int (*dgemm_temp_size)(GANTRY__CLBLAST_TEMP_SIZE);
    int (*sgemm_batched)(GANTRY__CLBLAST_BATCHED(float));
    int (*dgemm_batched)(GANTRY__CLBLAST_BATCHED(double));
} gantry__opencl_clblast_t;

/* Opens the library on the first call. Returns whether it can be used with the OpenCL library cl;
 * if not, clblast->reason says why. */
bool gantry__opencl_clblast_load(gantry__opencl_clblast_t *clblast,
                                 const gantry__opencl_symbols_t *cl);
/* Drops the programs that CLBlast keeps, which hold contexts. CLBlast can only drop all of them. */
void gantry__opencl_clblast_forget(const gantry__opencl_clblast_t *clblast);

#endif
