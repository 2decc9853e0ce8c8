/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of conv_gradient.cl: _ImagesGradient and _ImagesFilterGradient where cuDNN fails
 * at a run. */
#include "cuda/cuda_backend.h"
#include "cuda/cudnn/cuda_cudnn.h"
#include "cuda/cudnn/cuda_cudnn_call.h"
#include "kernels/common/device_kernel.h"

extern const unsigned char gantry__text_conv_gradient[];

GANTRY_K_PROGRAM(conv_gradient_source, "cuda/conv_gradient", gantry__text_half,
                 gantry__text_conv_gradient);

/* Must have the same fields as gantry__conv_gradient_t of the device text. */
typedef struct conv_gradient_t {
    int64_t elements;
    int64_t images, height, width, channels;
    int64_t out_height, out_width, outputs;
    int64_t rows, columns;
    int64_t step_y, step_x, spread_y, spread_x;
    int64_t top, left;
} conv_gradient_t;

static conv_gradient_t conv_gradient_problem(const gantry_op_call_t *call,
                                             const gantry__cudnn_form_t *form) {
    return (conv_gradient_t){.elements = call->outputs[0]->element_count,
                             .images = form->image[0],
                             .height = form->image[2],
                             .width = form->image[3],
                             .channels = form->image[1],
                             .out_height = form->result[2],
                             .out_width = form->result[3],
                             .outputs = form->result[1],
                             .rows = form->filter[2],
                             .columns = form->filter[3],
                             .step_y = form->steps[0],
                             .step_x = form->steps[1],
                             .spread_y = form->spreads[0],
                             .spread_x = form->spreads[1],
                             .top = form->before[0],
                             .left = form->before[1]};
}

static int32_t conv_gradient_run(gantry_op_call_t *call, const char *name,
                                 const gantry__cudnn_call_t *read, const gantry_arg_t *first) {
    const gantry_arg_t *out = call->outputs[0];
    const conv_gradient_t problem = conv_gradient_problem(call, &read->form);
    const gantry__k_options_t options = gantry__k_options_of_type(call, out->dtype);
    const gantry_launch_arg_t args[] = {
        gantry__k_span(first), gantry__k_span(read->args[GANTRY__CUDNN_RESULT]),
        gantry__k_span(out), gantry__k_scalar(&problem, sizeof problem)};
    const uint64_t items = (uint64_t)out->element_count;
    gantry_backend_kernel_t *kernel = NULL;
    GANTRY__TRY(call->services->kernel(call, &conv_gradient_source, options.text, name, &kernel));
    return gantry__k_launch_1d(call, kernel, items, gantry__k_local_for(call, items), args, 4);
}

static int32_t conv_gradient_of_image(gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    gantry__cudnn_read_image_gradient(call, &read);
    return conv_gradient_run(call, "conv_image_gradient", &read, read.args[GANTRY__CUDNN_FILTER]);
}

static int32_t conv_gradient_of_filter(gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    gantry__cudnn_read_filter_gradient(call, &read);
    return conv_gradient_run(call, "conv_filter_gradient", &read, read.args[GANTRY__CUDNN_IMAGE]);
}

static const gantry_type_constraint_t conv_gradient_types[] = {
    {"T", GANTRY_DTYPE_BIT(GANTRY_FLOAT32) | GANTRY_DTYPES_HALVES}};
static const char *const conv_gradient_image_hosts[] = {"input_sizes"};
static const char *const conv_gradient_filter_hosts[] = {"filter_sizes"};

const gantry_kernel_def_t gantry__conv_gradient_kernels[GANTRY__CONV_GRADIENT_OPS] = {
    GANTRY_K_DEFINITION("_ImagesGradient", conv_gradient_types, 1, conv_gradient_image_hosts, 1,
                        .compute = conv_gradient_of_image),
    GANTRY_K_DEFINITION("_ImagesFilterGradient", conv_gradient_types, 1,
                        conv_gradient_filter_hosts, 1, .compute = conv_gradient_of_filter)};
