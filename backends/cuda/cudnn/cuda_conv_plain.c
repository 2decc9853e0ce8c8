/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of conv_plain.cl: ConvolveImages, _FusedConvolveImages with a bias, a Relu, or
 * both, _ImagesGradient and _ImagesFilterGradient with groups, where cuDNN fails at a run. Without
 * groups such kernels are in the portable packs, which decline groups. */
#include "cuda/cuda_backend.h"
#include "cuda/cudnn/cuda_cudnn.h"
#include "cuda/cudnn/cuda_cudnn_call.h"
#include "kernels/common/device_kernel.h"

extern const unsigned char gantry__text_conv_plain[];

GANTRY_K_PROGRAM(conv_plain_source, "cuda/conv_plain", gantry__text_half, gantry__text_conv_plain);

/* Must have the same fields as gantry__conv_plain_t of the device text. */
typedef struct conv_plain_t {
    int64_t elements;
    int64_t images, height, width, channels;
    int64_t out_height, out_width, outputs;
    int64_t depth, each;
    int64_t rows, columns;
    int64_t step_y, step_x, spread_y, spread_x;
    int64_t top, left;
    int64_t image_is_planar, result_is_planar, has_bias, has_relu;
} conv_plain_t;

static conv_plain_t conv_plain_problem(const gantry_op_call_t *call,
                                       const gantry__cudnn_form_t *form) {
    return (conv_plain_t){.elements = call->outputs[0]->element_count,
                          .images = form->image[0],
                          .height = form->image[2],
                          .width = form->image[3],
                          .channels = form->image[1],
                          .out_height = form->result[2],
                          .out_width = form->result[3],
                          .outputs = form->result[1],
                          .depth = form->filter[1],
                          .each = form->result[1] / (form->image[1] / form->filter[1]),
                          .rows = form->filter[2],
                          .columns = form->filter[3],
                          .step_y = form->steps[0],
                          .step_x = form->steps[1],
                          .spread_y = form->spreads[0],
                          .spread_x = form->spreads[1],
                          .top = form->before[0],
                          .left = form->before[1],
                          .image_is_planar = form->image_is_planar,
                          .result_is_planar = form->result_is_planar,
                          .has_bias = form->has_bias,
                          .has_relu = form->has_relu};
}

/* The operands are two inputs; NULL: there is no bias. */
static int32_t conv_plain_run(gantry_op_call_t *call, const char *name,
                              const gantry__cudnn_form_t *form, const gantry_arg_t *first,
                              const gantry_arg_t *second, const gantry_arg_t *bias) {
    const gantry_arg_t *out = call->outputs[0];
    const conv_plain_t problem = conv_plain_problem(call, form);
    const gantry__k_options_t options = gantry__k_options_of_type(call, out->dtype);
    const bool is_joined = form->what == GANTRY__CUDNN_CONVOLVES;
    const gantry_launch_arg_t args[] = {
        gantry__k_span(first), gantry__k_span(second), gantry__k_span(out),
        gantry__k_scalar(&problem, sizeof problem), gantry__k_span(bias ? bias : first)};
    const uint64_t items = (uint64_t)out->element_count;
    gantry_backend_kernel_t *kernel = NULL;
    GANTRY__TRY(call->services->kernel(call, &conv_plain_source, options.text, name, &kernel));
    return gantry__k_launch_1d(call, kernel, items, gantry__k_local_for(call, items), args,
                               is_joined ? 5 : 4);
}

static bool conv_plain_has_groups(const gantry__cudnn_form_t *form) {
    return form->image[1] != form->filter[1];
}

static int32_t conv_plain_supports_joined(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__cudnn_call_t read;
    if (!call->device || !gantry__epilogue_read(call, &epilogue) ||
        !gantry__cudnn_pads_with_zeros(call))
        return 0;
    gantry__cudnn_read_forward(call, &epilogue, &read);
    return conv_plain_has_groups(&read.form);
}

static int32_t conv_plain_joined(gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__cudnn_call_t read;
    (void)gantry__epilogue_read(call, &epilogue);
    gantry__cudnn_read_forward(call, &epilogue, &read);
    return conv_plain_run(call, "conv_joined", &read.form, call->inputs[0], call->inputs[1],
                          epilogue.bias);
}

static void conv_plain_read(const gantry_op_call_t *call, gantry__cudnn_call_t *out) {
    static const gantry__epilogue_t none = {.bias = NULL};
    gantry__cudnn_read_forward(call, &none, out);
}

static int32_t conv_plain_supports_single(const gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    if (!call->device || !gantry__cudnn_pads_with_zeros(call)) return 0;
    conv_plain_read(call, &read);
    return conv_plain_has_groups(&read.form);
}

static int32_t conv_plain_single(gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    conv_plain_read(call, &read);
    return conv_plain_run(call, "conv_joined", &read.form, call->inputs[0], call->inputs[1], NULL);
}

static int32_t conv_plain_supports_image(const gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    if (!call->device) return 0;
    gantry__cudnn_read_image_gradient(call, &read);
    return conv_plain_has_groups(&read.form);
}

static int32_t conv_plain_supports_filter(const gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    if (!call->device) return 0;
    gantry__cudnn_read_filter_gradient(call, &read);
    return conv_plain_has_groups(&read.form);
}

static int32_t conv_plain_of_image(gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    gantry__cudnn_read_image_gradient(call, &read);
    return conv_plain_run(call, "conv_image_gradient", &read.form, call->inputs[1], call->inputs[2],
                          NULL);
}

static int32_t conv_plain_of_filter(gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    gantry__cudnn_read_filter_gradient(call, &read);
    return conv_plain_run(call, "conv_filter_gradient", &read.form, call->inputs[0],
                          call->inputs[2], NULL);
}

static const gantry_type_constraint_t conv_plain_types[] = {
    {"T", GANTRY_DTYPE_BIT(GANTRY_FLOAT32) | GANTRY_DTYPES_HALVES}};
static const char *const conv_plain_image_hosts[] = {"input_sizes"};
static const char *const conv_plain_filter_hosts[] = {"filter_sizes"};

const gantry_kernel_def_t gantry__conv_plain_kernels[GANTRY__CONV_PLAIN_OPS] = {
    GANTRY_K_DEFINITION("ConvolveImages", conv_plain_types, 1, NULL, 0,
                        .supports = conv_plain_supports_single, .compute = conv_plain_single),
    GANTRY_K_DEFINITION("_FusedConvolveImages", conv_plain_types, 1, NULL, 0,
                        .supports = conv_plain_supports_joined, .compute = conv_plain_joined),
    GANTRY_K_DEFINITION("_ImagesGradient", conv_plain_types, 1, conv_plain_image_hosts, 1,
                        .supports = conv_plain_supports_image, .compute = conv_plain_of_image),
    GANTRY_K_DEFINITION("_ImagesFilterGradient", conv_plain_types, 1, conv_plain_filter_hosts, 1,
                        .supports = conv_plain_supports_filter, .compute = conv_plain_of_filter)};
