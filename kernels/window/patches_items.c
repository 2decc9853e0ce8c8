/* SPDX-License-Identifier: Apache-2.0 */
/* ExtractImagePatches: one launch of items. */
#include "kernels/window/window_items.h"
#include "kernels/window/window_shape.h"

GANTRY_K_ITEM_TEXTS(patches, GANTRY_PATCHES_ITEMS, gantry__text_window, gantry__text_patches);

static int32_t compute_patches(gantry_op_call_t *call) {
    static const gantry__window_names_t names = {"strides", "rates", "ksizes"};
    const gantry_arg_t *x = call->inputs[0], *out = call->outputs[0];
    gantry__windows_t window;
    gantry__k_item_launch_t launch = {.t = gantry__k_twin(x->dtype),
                                      .count = out->element_count,
                                      .parameters = &window,
                                      .parameter_bytes = sizeof window,
                                      .spans = {x->span, out->span},
                                      .span_count = 2};
    gantry__window_fill(call, &names, x, out, 0, 0, &window);
    gantry__window_stretches(call, &window, window.out_width, &launch);
    return gantry__k_run_items(call, &launch);
}

GANTRY_K_ITEM_KERNEL(patches, patches, "ExtractImagePatches", gantry__k_any_type, compute_patches);

#define OPS(OP) OP(patches)
GANTRY_K_ITEM_PACK(patches, OPS);
