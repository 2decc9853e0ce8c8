/* SPDX-License-Identifier: Apache-2.0 */
/* DepthwiseConv2dNative, and the parts of convolutions ConvolveImages and FoldImagePatches. */
#include "kernels/window/window_items.h"
#include "kernels/window/window_shape.h"

GANTRY_K_ITEM_TEXTS(window_sum, GANTRY_WINDOW_SUM_ITEMS, gantry__text_window,
                    gantry__text_window_sum);

static int32_t run_filter(gantry_op_call_t *call, uint32_t item, bool by_stretches) {
    static const gantry__window_names_t names = {"strides", "dilations", NULL};
    const gantry_arg_t *x = call->inputs[0], *filter = call->inputs[1];
    int64_t dims[4];
    const gantry_arg_t out = gantry__window_result_arg(call, dims);
    gantry__windows_t window;
    gantry__window_fill(call, &names, x, &out, filter->dims[0], filter->dims[1], &window);
    window.planar |= out.dims == dims ? 2 : 0; /* output_format */
    window.depth = filter->dims[3];
    return gantry__window_run(call, item, x, filter, &window, by_stretches ? window.out_width : 0);
}

static int32_t compute_depthwise(gantry_op_call_t *call) {
    return run_filter(call, ITEM_depthwise, true);
}

static int32_t compute_convolve(gantry_op_call_t *call) {
    return run_filter(call, ITEM_convolve, false);
}

/* The output must be the image. The inputs are the patches, [batch, y, x, rows * columns *
 * channels], and the sizes. */
static int32_t compute_fold(gantry_op_call_t *call) {
    static const gantry__window_names_t names = {"strides", "rates", "ksizes"};
    const gantry_arg_t *patches = call->inputs[0];
    gantry__windows_t window;
    gantry__window_fill(call, &names, call->outputs[0], patches, 0, 0, &window);
    return gantry__window_run(call, ITEM_fold, patches, NULL, &window, window.width);
}

static const char *const fold_hosts[] = {"sizes"};

GANTRY_K_ITEM_KERNEL(depthwise, window_sum, "DepthwiseConv2dNative", gantry__k_floating_type,
                     compute_depthwise);
/* A convolution by itself is the slowest one: products come first, also those of patches. */
#define CONVOLVE(items)                                                                        \
    GANTRY_K_DEFINITION("ConvolveImages", gantry__k_floating_type, 1, NULL, 0, .priority = -1, \
                        .supports = gantry__window_is_whole, .compute = compute_convolve,      \
                        .data = (items))
static const gantry_kernel_def_t convolve_on_devices = CONVOLVE(&window_sum_items),
                                 convolve_on_cpu = CONVOLVE(&gantry__cpu_window_sum_items);
GANTRY_K_ITEM_KERNEL_HOST(fold, window_sum, "FoldImagePatches", gantry__k_floating_type, fold_hosts,
                          compute_fold);

#define OPS(OP)   \
    OP(depthwise) \
    OP(convolve)  \
    OP(fold)
GANTRY_K_ITEM_PACK(window_sum, OPS);
