/* SPDX-License-Identifier: Apache-2.0 */
/* Turns an op's call into work of the fake's streams. A kernel begins the work, names its operands
 * in order, and ends it; end returns the first failure of the three. Externally synchronised, like
 * the stream. */
#ifndef TESTS_STAND_INS_FAKE_KERNELS_H
#define TESTS_STAND_INS_FAKE_KERNELS_H

#include "fake_internal.h"

typedef struct fake_kernel_work_t {
    fake_call_t call;
    const gantry_op_call_t *op;
    fake_stream_t *stream;
    fake_work_t *work;
} fake_kernel_work_t;

/* Takes the lock until end, so the caller must use no service of the call before end. params are
 * copied. */
void gantry__fake_kernel_begin(fake_kernel_work_t *self, const gantry_op_call_t *op,
                               fake_run_fn run, uint32_t operands, const void *params,
                               size_t param_bytes);
/* Operand `operand` is input (output) `index` of the call. */
void gantry__fake_kernel_input(fake_kernel_work_t *self, uint32_t operand, uint32_t index);
void gantry__fake_kernel_output(fake_kernel_work_t *self, uint32_t operand, uint32_t index);
void gantry__fake_kernel_span(fake_kernel_work_t *self, uint32_t operand, const gantry_span_t *span,
                              uint64_t bytes, bool writes);
int32_t gantry__fake_kernel_end(fake_kernel_work_t *self);

/* BOOL, INT or TYPE attribute; 0 when the op has none of that name. */
int64_t gantry__fake_attr(const gantry_op_call_t *op, const char *name);
int64_t gantry__fake_dtype_bytes(int32_t dtype);

/* compute() of ops that tests define (fake_test_ops.c): a size that depends on data, a list of
 * outputs. */
int32_t gantry__fake_compute_positive(gantry_op_call_t *op);
int32_t gantry__fake_compute_copies(gantry_op_call_t *op);

#endif
