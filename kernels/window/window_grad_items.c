/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPoolGrad, MaxPoolGradGrad and _ReluMaxPoolGrad, and DepthwiseFilterParts of the gradient of
 * depthwise filters. */
#include "kernels/window/window_items.h"
#include "kernels/window/window_shape.h"

/* elements of a rectangle on a processor: enough to pay for an item, and few enough for a cache */
#define LEAST_ELEMENTS 1024
#define MOST_ELEMENTS 65536
#define THREAD_ELEMENTS 16384 /* so many pay for a thread */

GANTRY_K_ITEM_TEXTS(window_grad, GANTRY_WINDOW_GRAD_ITEMS, gantry__text_window,
                    gantry__text_window_grad);

static int64_t clamp(int64_t value, int64_t least, int64_t most) {
    return value < least ? least : value < most ? value : most;
}

/* Cuts the images into rectangles of places: bands of whole rows, or stretches of one row. */
static void cut_images(const gantry_op_call_t *call, gantry__windows_t *window,
                       gantry__k_item_launch_t *launch) {
    const int64_t height = window->out_height > 0 ? window->out_height : 1,
                  width = window->out_width > 0 ? window->out_width : 1;
    const int64_t image = window->height * window->width * window->channels,
                  images = call->outputs[0]->element_count / image,
                  place = image / (height * width) + 1;
    const int64_t share =
        clamp(images * image / (gantry__k_units(call) * 2 * GANTRY_K_RUNS_PER_CORE), LEAST_ELEMENTS,
              MOST_ELEMENTS);
    const int64_t length = clamp(share / place, 1, width);
    window->band = clamp(share / (place * width), 1, height);
    window->runs =
        (gantry__runs_t){.size = width, .length = length, .count = (width + length - 1) / length};
    launch->count = images * ((height + window->band - 1) / window->band) * window->runs.count;
    launch->grain = THREAD_ELEMENTS / (window->band * length * place) + 1;
    launch->item_bytes = window->band * length * place * (int64_t)gantry__k_size(launch->t);
}

/* places must be the input or output over the windows' places. */
static int32_t window_grad_run(gantry_op_call_t *call, uint32_t item, const gantry_arg_t *grad,
                               const gantry_arg_t *places, bool is_gated) {
    static const gantry__window_names_t names = {"strides", "dilations", "ksize"};
    const gantry_arg_t *x = call->inputs[0], *out = call->outputs[0];
    gantry__windows_t window;
    gantry__k_item_launch_t launch = {.item = item,
                                      .t = out->dtype,
                                      .count = out->element_count,
                                      .is_costly = true,
                                      .parameters = &window,
                                      .parameter_bytes = sizeof window,
                                      .spans = {x->span, grad->span, out->span},
                                      .span_count = 3};
    gantry__window_fill(call, &names, x, places, 0, 0, &window);
    window.is_gated = is_gated;
    if (item == ITEM_max_pool_grad && gantry__k_is_serial(call)) cut_images(call, &window, &launch);
    return gantry__k_run_items(call, &launch);
}

static int32_t compute_max_pool_grad(gantry_op_call_t *call) {
    return window_grad_run(call, ITEM_max_pool_grad, call->inputs[2], call->inputs[2], false);
}

static int32_t compute_relu_max_pool_grad(gantry_op_call_t *call) {
    return window_grad_run(call, ITEM_max_pool_grad, call->inputs[1], call->inputs[1], true);
}

static int32_t compute_max_pool_grad_grad(gantry_op_call_t *call) {
    return window_grad_run(call, ITEM_max_pool_grad_grad, call->inputs[2], call->outputs[0], false);
}

/* The output is [parts, rows, columns, channels] of the filter. */
static int32_t compute_depthwise_parts(gantry_op_call_t *call) {
    static const gantry__window_names_t names = {"strides", "dilations", NULL};
    const gantry_arg_t *x = call->inputs[0], *grad = call->inputs[2], *out = call->outputs[0];
    const int64_t lines = grad->dims[0] * grad->dims[1], parts = out->dims[0],
                  taps = out->dims[1] * out->dims[2], channels = out->dims[3];
    gantry__windows_t window;
    gantry__k_item_launch_t launch = {.item = ITEM_depthwise_parts,
                                      .t = out->dtype,
                                      .is_costly = true,
                                      .parameters = &window,
                                      .parameter_bytes = sizeof window,
                                      .spans = {x->span, grad->span, out->span},
                                      .span_count = 3};
    gantry__window_fill(call, &names, x, grad, out->dims[1], out->dims[2], &window);
    window.runs = gantry__k_runs(call, channels);
    launch.count = parts * taps * window.runs.count;
    launch.grain =
        THREAD_ELEMENTS / (lines / parts * window.out_width * window.runs.length + 1) + 1;
    launch.item_bytes = window.runs.length * (int64_t)gantry__k_size(launch.t);
    window.runs.size = lines;
    window.band = (lines + parts - 1) / parts;
    return gantry__k_run_items(call, &launch);
}

static const gantry_type_constraint_t floats_type[] = {{"T", GANTRY_DTYPES_FLOATS}};
static const char *const part_hosts[] = {"filter_sizes"};

GANTRY_K_ITEM_KERNEL(max_pool_grad, window_grad, "MaxPoolGrad", gantry__k_floating_type,
                     compute_max_pool_grad);
GANTRY_K_ITEM_KERNEL(max_pool_grad_grad, window_grad, "MaxPoolGradGrad", gantry__k_floating_type,
                     compute_max_pool_grad_grad);
GANTRY_K_ITEM_KERNEL_HOST(depthwise_parts, window_grad, "DepthwiseFilterParts", floats_type,
                          part_hosts, compute_depthwise_parts);

/* On the CPU the result may overwrite the image. */
static const gantry_kernel_def_t relu_max_pool_grad_on_devices = GANTRY_K_ITEM_DEFINITION(
    &window_grad_items, "_ReluMaxPoolGrad", floats_type, NULL, 0, 0, compute_relu_max_pool_grad);
static const gantry_kernel_def_t relu_max_pool_grad_on_cpu =
    GANTRY_K_ITEM_DEFINITION(&gantry__cpu_window_grad_items, "_ReluMaxPoolGrad", floats_type, NULL,
                             0, GANTRY_KERNEL_IN_PLACE_FIRST, compute_relu_max_pool_grad);

#define OPS(OP)            \
    OP(max_pool_grad)      \
    OP(max_pool_grad_grad) \
    OP(relu_max_pool_grad) \
    OP(depthwise_parts)
GANTRY_K_ITEM_PACK(window_grad, OPS);
