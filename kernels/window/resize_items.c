/* SPDX-License-Identifier: Apache-2.0 */
/* _ResizeLinear and _ResizeWeighted: one launch of items over the result. */
#include "kernels/common/item_kernel.h"
#include "kernels/window/resize.cl"
#include "kernels/window/window_items.h"

GANTRY_K_ITEM_TEXTS(resize, GANTRY_RESIZE_ITEMS, gantry__text_resize);

static int32_t resize_run(gantry_op_call_t *call, uint32_t item) {
    const gantry_arg_t *x = call->inputs[0], *out = call->outputs[0];
    const int64_t axis = gantry__k_attr(call, "axis")->i;
    gantry__resize_t p = {.source = x->dims[axis], .inner = 1};
    gantry__k_item_launch_t launch = {
        .item = item, .t = x->dtype, .parameters = &p, .parameter_bytes = sizeof p};
    for (int64_t d = axis + 1; d < x->rank; ++d) p.inner *= x->dims[d];
    p.runs = gantry__k_runs(call, out->dims[axis] * p.inner);
    for (uint32_t i = 0; i < call->input_count; ++i)
        launch.spans[launch.span_count++] = call->inputs[i]->span;
    launch.spans[launch.span_count++] = out->span;
    return gantry__k_run_runs(call, &launch, &p.runs);
}

static int32_t compute_linear(gantry_op_call_t *call) {
    return resize_run(call, ITEM_resize_linear);
}

static int32_t compute_weighted(gantry_op_call_t *call) {
    return resize_run(call, ITEM_resize_weighted);
}

static const gantry_type_constraint_t resize_types[] = {{"T", GANTRY_DTYPES_FLOATS}};

GANTRY_K_ITEM_KERNEL(linear, resize, "_ResizeLinear", resize_types, compute_linear);
GANTRY_K_ITEM_KERNEL(weighted, resize, "_ResizeWeighted", resize_types, compute_weighted);

#define OPS(OP) \
    OP(linear)  \
    OP(weighted)
GANTRY_K_ITEM_PACK(resize, OPS);
