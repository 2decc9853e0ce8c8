/* SPDX-License-Identifier: Apache-2.0 */
/* A call of ConvolveImages, of _FusedConvolveImages or of a gradient, as the library's form.
 *
 * Owner: plain values; operands are the call's, and must outlive what is read. Threads:
 * thread-safe. */
#ifndef GANTRY_CUDA_CUDNN_CALL_H
#define GANTRY_CUDA_CUDNN_CALL_H

#include "cuda/cudnn/cuda_cudnn_graph.h"
#include "kernels/matmul/matmul_epilogue.h"

/* A call: its form, and its operands by their id; NULL: the form lacks it. */
typedef struct gantry__cudnn_call_t {
    gantry__cudnn_form_t form;
    const gantry_arg_t *args[GANTRY__CUDNN_OPERANDS + 1];
    int32_t result; /* the operand that is computed */
} gantry__cudnn_call_t;

/* The call's device must be set. */
void gantry__cudnn_read_forward(const gantry_op_call_t *call, const gantry__epilogue_t *epilogue,
                                gantry__cudnn_call_t *out);
/* Whether the padding of such a call counts as zeros; padding that must be left out is the portable
 * kernel's. */
bool gantry__cudnn_pads_with_zeros(const gantry_op_call_t *call);
/* The inputs are the images' sizes, the filter, and the gradient of the result. */
void gantry__cudnn_read_image_gradient(const gantry_op_call_t *call, gantry__cudnn_call_t *out);
/* The inputs are the images, the filter's sizes, and the gradient of the result. */
void gantry__cudnn_read_filter_gradient(const gantry_op_call_t *call, gantry__cudnn_call_t *out);

#endif
