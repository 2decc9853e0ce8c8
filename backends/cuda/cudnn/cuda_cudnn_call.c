/* SPDX-License-Identifier: Apache-2.0 */
/* Reads calls of convolutions (cuda_cudnn_call.h). */
#include "cuda/cudnn/cuda_cudnn_call.h"

#include <string.h>

#include "cuda/cuda_backend.h"

/* as large as the patches that a convolution makes at a time */
#define WORKSPACE_BYTES (UINT64_C(64) << 20)

static bool cudnn_call_is_planar(const gantry_op_call_t *call, const char *name) {
    const gantry_attr_t *format = gantry__k_attr(call, name);
    return format && format->s && format->s[1] == 'C';
}

static void cudnn_call_read_images(const gantry_arg_t *arg, bool is_planar, int64_t out[4]) {
    static const int orders[2][4] = {{0, 3, 1, 2}, {0, 1, 2, 3}};
    for (int d = 0; d < 4; ++d) out[d] = arg->dims[orders[is_planar][d]];
}

static void cudnn_call_read_filter(const gantry_arg_t *arg, int64_t out[4]) {
    out[0] = arg->dims[3];
    out[1] = arg->dims[2];
    out[2] = arg->dims[0];
    out[3] = arg->dims[1];
}

/* Element d + 1 of a list of four; 1 if the op has none. */
static int64_t cudnn_call_at(const gantry_op_call_t *call, const char *name, int d) {
    const gantry_attr_t *attr = gantry__k_attr(call, name);
    return attr && attr->i == 4 ? attr->list[d + 1] : 1;
}

/* The padding along rows (0) or columns (1). That of SAME is what the windows need, and its smaller
 * half comes first. */
static void cudnn_call_read_padding(const gantry_op_call_t *call, int d,
                                    gantry__cudnn_form_t *form) {
    const char *padding = gantry__k_attr(call, "padding")->s;
    if (strcmp(padding, "EXPLICIT") == 0) {
        const int64_t *pads = gantry__k_attr(call, "explicit_paddings")->list;
        form->before[d] = pads[2 * d + 2];
        form->after[d] = pads[2 * d + 3];
    } else if (strcmp(padding, "SAME") == 0) {
        const int64_t end = (form->result[d + 2] - 1) * form->steps[d] +
                            (form->filter[d + 2] - 1) * form->spreads[d] + 1,
                      beyond = end > form->image[d + 2] ? end - form->image[d + 2] : 0;
        form->before[d] = beyond / 2;
        form->after[d] = beyond - beyond / 2;
    }
}

static void cudnn_call_read_form(const gantry_op_call_t *call, int32_t what,
                                 gantry__cudnn_call_t *out) {
    gantry__cudnn_form_t *form = &out->form;
    const gantry_arg_t *const *args = out->args;
    const gantry_backend_instance_t *instance = call->device->instance;
    memset(form, 0, sizeof *form);
    form->what = what;
    form->dtype = call->outputs[0]->dtype;
    form->image_is_planar = cudnn_call_is_planar(call, "input_format");
    form->result_is_planar = cudnn_call_is_planar(call, "output_format");
    form->may_round =
        form->dtype == GANTRY_FLOAT32 && instance->float32_products != GANTRY__CUBLAS_COMPUTE_32F;
    form->any_order = gantry__k_takes_any_order(call);
    cudnn_call_read_images(args[GANTRY__CUDNN_IMAGE], form->image_is_planar, form->image);
    cudnn_call_read_filter(args[GANTRY__CUDNN_FILTER], form->filter);
    cudnn_call_read_images(args[GANTRY__CUDNN_RESULT], form->result_is_planar, form->result);
    for (int d = 0; d < 2; ++d) {
        form->steps[d] = cudnn_call_at(call, "strides", d);
        form->spreads[d] = cudnn_call_at(call, "dilations", d);
        cudnn_call_read_padding(call, d, form);
    }
    form->most_workspace_bytes = WORKSPACE_BYTES;
}

void gantry__cudnn_read_forward(const gantry_op_call_t *call, const gantry__epilogue_t *epilogue,
                                gantry__cudnn_call_t *out) {
    *out = (gantry__cudnn_call_t){.args = {[GANTRY__CUDNN_IMAGE] = call->inputs[0],
                                           [GANTRY__CUDNN_FILTER] = call->inputs[1],
                                           [GANTRY__CUDNN_RESULT] = call->outputs[0],
                                           [GANTRY__CUDNN_BIAS] = epilogue->bias},
                                  .result = GANTRY__CUDNN_RESULT};
    cudnn_call_read_form(call, GANTRY__CUDNN_CONVOLVES, out);
    out->form.has_bias = epilogue->bias != NULL;
    out->form.has_relu = epilogue->has_relu;
}

bool gantry__cudnn_pads_with_zeros(const gantry_op_call_t *call) {
    const gantry_attr_t *attr = gantry__k_attr(call, "without_padding");
    return !attr || attr->i == 0;
}

void gantry__cudnn_read_image_gradient(const gantry_op_call_t *call, gantry__cudnn_call_t *out) {
    *out = (gantry__cudnn_call_t){.args = {[GANTRY__CUDNN_IMAGE] = call->outputs[0],
                                           [GANTRY__CUDNN_FILTER] = call->inputs[1],
                                           [GANTRY__CUDNN_RESULT] = call->inputs[2]},
                                  .result = GANTRY__CUDNN_IMAGE};
    cudnn_call_read_form(call, GANTRY__CUDNN_GIVES_IMAGE, out);
}

void gantry__cudnn_read_filter_gradient(const gantry_op_call_t *call, gantry__cudnn_call_t *out) {
    *out = (gantry__cudnn_call_t){.args = {[GANTRY__CUDNN_IMAGE] = call->inputs[0],
                                           [GANTRY__CUDNN_FILTER] = call->outputs[0],
                                           [GANTRY__CUDNN_RESULT] = call->inputs[2]},
                                  .result = GANTRY__CUDNN_FILTER};
    cudnn_call_read_form(call, GANTRY__CUDNN_GIVES_FILTER, out);
}
