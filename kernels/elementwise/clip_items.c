/* SPDX-License-Identifier: Apache-2.0 */
/* ClipByValue: elementwise with three operands. */
#include "kernels/common/item_kernel.h"
#include "kernels/elementwise/clip.cl"
#include "kernels/elementwise/clip_items.h"

GANTRY_K_ITEM_TEXTS(clip, GANTRY_CLIP_ITEMS, gantry__text_clip);

static int32_t compute_clip(gantry_op_call_t *call) {
    static const gantry__k_work_t none = {0};
    const gantry_arg_t *const *in = call->inputs;
    const gantry_arg_t *out = call->outputs[0];
    gantry__k_plan_t plan;

    gantry__k_plan_broadcast(&plan, out, in, 3);
    gantry__k_device_plan_t parameters = gantry__k_device_plan(&plan, &none);
    const bool is_simple = in[1]->element_count == 1 && in[2]->element_count == 1;
    gantry__k_item_launch_t launch = {.item = is_simple ? ITEM_clip_all : ITEM_clip,
                                      .t = out->dtype,
                                      .count = out->element_count,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {in[0]->span, in[1]->span, in[2]->span, out->span},
                                      .span_count = 4};

    return gantry__k_run_items(call, &launch);
}

GANTRY_K_ITEM_KERNEL(clip, clip, "ClipByValue", gantry__k_numeric_type, compute_clip);

#define OPS(OP) OP(clip)
GANTRY_K_ITEM_PACK(clip, OPS);
