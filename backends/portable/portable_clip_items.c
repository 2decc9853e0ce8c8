/* SPDX-License-Identifier: Apache-2.0 */
/* ClipByValue: elementwise with three operands. */
#include "portable/item_kernel.h"
#include "portable/kernels/clip.cl"
#include "portable/portable_clip.h"

GANTRY_K_ITEM_TEXTS(clip, GANTRY_CLIP_ITEMS, gantry__text_clip);

static int32_t compute_clip(gantry_op_call_t *call) {
    static const gantry_k_work_t none = {0};
    const gantry_arg_t *const *in = call->inputs;
    const gantry_arg_t *out = call->outputs[0];
    gantry_k_plan_t plan;

    gantry_k_plan_broadcast(&plan, out, in, 3);
    gantry_k_device_plan_t parameters = gantry_k_device_plan(&plan, &none);
    const int is_simple = in[1]->element_count == 1 && in[2]->element_count == 1;
    gantry_k_item_launch_t launch = {.item = is_simple ? ITEM_clip_all : ITEM_clip,
                                     .t = out->dtype,
                                     .count = out->element_count,
                                     .parameters = &parameters,
                                     .parameter_bytes = sizeof parameters,
                                     .spans = {in[0]->span, in[1]->span, in[2]->span, out->span},
                                     .span_count = 4};

    return gantry_k_run_items(call, &launch);
}

GANTRY_K_ITEM_KERNEL(clip, clip, "ClipByValue", gantry_k_numeric_type, compute_clip);

#define OPS(OP) OP(clip)
GANTRY_K_ITEM_PACK(clip, OPS);
