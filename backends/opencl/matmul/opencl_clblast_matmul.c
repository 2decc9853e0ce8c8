/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by CLBlast.
 *
 * CLBlast wants temporary memory for padded copies; it comes from the core's scratch, as a
 * sub-buffer because the library knows no offset there. Batches with one stride are one call; the
 * rest is one call per index of the outer dimensions. */
#include <stdio.h>

#include "opencl/opencl_backend.h"
#include "opencl/matmul/opencl_matmul.h"
#include "kernels/matmul/matmul_shape.h"

/* One call's matrices: buffers, and offsets, leading dimensions and batch strides in elements. */
typedef struct operands_t {
    cl_mem a;
    cl_mem b;
    cl_mem c;
    size_t a_offset;
    size_t b_offset;
    size_t c_offset;
    size_t a_ld;
    size_t b_ld;
    size_t c_ld;
    int a_form;
    int b_form;
} operands_t;

static int32_t opencl_clblast_matmul_check(const gantry_op_call_t *call, int native,
                                           const gantry__opencl_matmul_t *matmul) {
    const gantry_host_t *host = call->device->host;
    if (native == 0) return GANTRY_OK;
    char text[256];
    (void)snprintf(text, sizeof text, "%s of %lld x %lld by %lld x %lld (%lld batches): %s (%d)",
                   call->op, (long long)matmul->m, (long long)matmul->k, (long long)matmul->k,
                   (long long)matmul->n, (long long)matmul->batch_count,
                   native > -1000 ? gantry__driver_error_name(native) : "CLBlast's own error",
                   native);
    return host->set_error(host->self,
                           native > -1000 ? gantry__driver_error_code(native) : GANTRY_INTERNAL,
                           "CLBlast", native, text);
}

static void read_operands(const gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul,
                          operands_t *out) {
    const gantry_span_t *a = &call->inputs[0]->span;
    const gantry_span_t *b = &call->inputs[1]->span;
    const gantry_span_t *c = &call->outputs[0]->span;
    size_t item = gantry__k_size(matmul->dtype);
    *out = (operands_t){
        .a = gantry__opencl_buffer(a->region),
        .b = gantry__opencl_buffer(b->region),
        .c = gantry__opencl_buffer(c->region),
        .a_offset = (size_t)a->offset_bytes / item,
        .b_offset = (size_t)b->offset_bytes / item,
        .c_offset = (size_t)c->offset_bytes / item,
        .a_ld = (size_t)(matmul->is_a_transposed ? matmul->m : matmul->k),
        .b_ld = (size_t)(matmul->is_b_transposed ? matmul->k : matmul->n),
        .c_ld = (size_t)matmul->n,
        .a_form = matmul->is_a_transposed ? GANTRY__CLBLAST_TRANSPOSED : GANTRY__CLBLAST_PLAIN,
        .b_form = matmul->is_b_transposed ? GANTRY__CLBLAST_TRANSPOSED : GANTRY__CLBLAST_PLAIN,
    };
}

/* ---- one product ---- */

/* The temporary buffer, NULL when CLBlast needs none. Released by the caller once the work is
 * submitted. */
static int32_t take_temp(gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul,
                         const operands_t *o, cl_mem *out_temp) {
    gantry_backend_device_t *device = call->device;
    const gantry__opencl_clblast_t *clblast = &device->instance->clblast;
    bool is_double = matmul->dtype == GANTRY_FLOAT64;
    size_t bytes = 0;
    int32_t status = opencl_clblast_matmul_check(
        call,
        (is_double ? clblast->dgemm_temp_size : clblast->sgemm_temp_size)(
            GANTRY__CLBLAST_ROW_MAJOR, o->a_form, o->b_form, (size_t)matmul->m, (size_t)matmul->n,
            (size_t)matmul->k, o->a_offset, o->a_ld, o->b_offset, o->b_ld, o->c_offset, o->c_ld,
            &call->stream->queue, &bytes),
        matmul);
    *out_temp = NULL;
    if (status != GANTRY_OK || bytes == 0) return status;
    gantry_span_t span;
    GANTRY__TRY(call->services->scratch(call, bytes, &span));
    cl_buffer_region part = (cl_buffer_region){(size_t)span.offset_bytes, bytes};
    cl_int native = CL_SUCCESS;
    *out_temp = device->cl->clCreateSubBuffer(gantry__opencl_buffer(span.region), CL_MEM_READ_WRITE,
                                              CL_BUFFER_CREATE_TYPE_REGION, &part, &native);
    return gantry__driver_check(device->host, native,
                                "%zu bytes at offset %zu as CLBlast's temporary buffer", part.size,
                                part.origin);
}

static int32_t one_product(gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul,
                           const operands_t *o) {
    const gantry__opencl_clblast_t *clblast = &call->device->instance->clblast;
    cl_command_queue *queue = &call->stream->queue;
    size_t m = (size_t)matmul->m;
    size_t n = (size_t)matmul->n;
    size_t k = (size_t)matmul->k;
    int native;
    cl_mem temp = NULL;
    GANTRY__TRY(take_temp(call, matmul, o, &temp));
    if (matmul->dtype == GANTRY_FLOAT64) {
        native = clblast->dgemm(GANTRY__CLBLAST_ROW_MAJOR, o->a_form, o->b_form, m, n, k, 1.0, o->a,
                                o->a_offset, o->a_ld, o->b, o->b_offset, o->b_ld, 0.0, o->c,
                                o->c_offset, o->c_ld, queue, NULL, temp);
    } else {
        native = clblast->sgemm(GANTRY__CLBLAST_ROW_MAJOR, o->a_form, o->b_form, m, n, k, 1.0f,
                                o->a, o->a_offset, o->a_ld, o->b, o->b_offset, o->b_ld, 0.0f, o->c,
                                o->c_offset, o->c_ld, queue, NULL, temp);
    }
    if (temp) {
        call->device->cl->clReleaseMemObject(temp); /* the submitted commands keep it */
    }
    return opencl_clblast_matmul_check(call, native, matmul);
}

/* ---- batches ---- */

/* The innermost batch dimension, from the operands' offsets on. */
static int32_t batch_run(gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul,
                         const operands_t *o) {
    const gantry__opencl_clblast_t *clblast = &call->device->instance->clblast;
    cl_command_queue *queue = &call->stream->queue;
    int32_t last = matmul->batch_rank - 1;
    size_t m = (size_t)matmul->m;
    size_t n = (size_t)matmul->n;
    size_t k = (size_t)matmul->k;
    size_t a_stride = (size_t)matmul->a_batch[last];
    size_t b_stride = (size_t)matmul->b_batch[last];
    size_t count = (size_t)matmul->batch_dims[last];
    int native;
    if (matmul->dtype == GANTRY_FLOAT64) {
        native = clblast->dgemm_batched(GANTRY__CLBLAST_ROW_MAJOR, o->a_form, o->b_form, m, n, k,
                                        1.0, o->a, o->a_offset, o->a_ld, a_stride, o->b,
                                        o->b_offset, o->b_ld, b_stride, 0.0, o->c, o->c_offset,
                                        o->c_ld, m * n, count, queue, NULL);
    } else {
        native = clblast->sgemm_batched(GANTRY__CLBLAST_ROW_MAJOR, o->a_form, o->b_form, m, n, k,
                                        1.0f, o->a, o->a_offset, o->a_ld, a_stride, o->b,
                                        o->b_offset, o->b_ld, b_stride, 0.0f, o->c, o->c_offset,
                                        o->c_ld, m * n, count, queue, NULL);
    }
    return opencl_clblast_matmul_check(call, native, matmul);
}

static int32_t opencl_clblast_matmul_all_batches(gantry_op_call_t *call,
                                                 const gantry__opencl_matmul_t *matmul,
                                                 const operands_t *first) {
    int32_t last = matmul->batch_rank - 1;
    int64_t runs = matmul->batch_count / matmul->batch_dims[last];
    for (int64_t run = 0; run < runs; ++run) {
        operands_t o = *first;
        int64_t rest = run;
        for (int32_t d = last - 1; d >= 0; --d) {
            o.a_offset += (size_t)(rest % matmul->batch_dims[d] * matmul->a_batch[d]);
            o.b_offset += (size_t)(rest % matmul->batch_dims[d] * matmul->b_batch[d]);
            rest /= matmul->batch_dims[d];
        }
        o.c_offset += (size_t)(run * matmul->batch_dims[last] * matmul->m * matmul->n);
        GANTRY__TRY(batch_run(call, matmul, &o));
    }
    return GANTRY_OK;
}

/* ---- the kernels ---- */

static int32_t opencl_clblast_matmul_supports(const gantry_op_call_t *call) {
    return call->device && call->device->matmul == GANTRY__OPENCL_MATMUL_CLBLAST &&
           gantry__matmul_has_whole_card(call, &call->device->record->info);
}

static int32_t opencl_clblast_matmul_compute(gantry_op_call_t *call) {
    gantry__opencl_matmul_t matmul;
    gantry__opencl_matmul_read(call, &matmul);
    if (matmul.k == 0) return gantry__opencl_matmul_clear(call);
    atomic_store(&call->device->used_clblast, 1);
    operands_t operands;
    read_operands(call, &matmul, &operands);
    return matmul.batch_rank == 0 ? one_product(call, &matmul, &operands)
                                  : opencl_clblast_matmul_all_batches(call, &matmul, &operands);
}

static const gantry_type_constraint_t float_types[] = {{"T", GANTRY_DTYPES_FLOATS}};

const gantry_kernel_def_t gantry__opencl_clblast_kernels[GANTRY__OPENCL_MATMUL_OPS] =
    GANTRY__MATMUL_KERNELS(GANTRY__MATMUL_ABOVE_PACK, float_types, opencl_clblast_matmul_supports,
                           opencl_clblast_matmul_compute);
