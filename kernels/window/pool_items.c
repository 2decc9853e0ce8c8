/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool, AvgPool and MaxPoolWithArgmax: one launch of items for each. */
#include "kernels/window/window_items.h"
#include "kernels/window/window_shape.h"

GANTRY_K_ITEM_TEXTS(pool, GANTRY_POOL_ITEMS, gantry__text_window, gantry__text_pool);

static void pool_fill(const gantry_op_call_t *call, gantry__windows_t *out) {
    static const gantry__window_names_t names = {"strides", "dilations", "ksize"};
    gantry__window_fill(call, &names, call->inputs[0], call->outputs[0], 0, 0, out);
}

static int32_t pool_run(gantry_op_call_t *call, uint32_t item) {
    gantry__windows_t window;
    pool_fill(call, &window);
    if (item == ITEM_avg_pool && gantry__k_attr_int(call, "count_include_pad", 0) != 0)
        gantry__window_count_padding(call, &window);
    return gantry__window_run(call, item, call->inputs[0], NULL, &window, window.out_width);
}

static int32_t compute_max_pool(gantry_op_call_t *call) { return pool_run(call, ITEM_max_pool); }

static int32_t compute_avg_pool(gantry_op_call_t *call) { return pool_run(call, ITEM_avg_pool); }

static int32_t compute_max_pool_argmax(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0], *positions = call->outputs[1];
    gantry__windows_t window;
    pool_fill(call, &window);
    window.is_wide = positions->dtype == GANTRY_INT64;
    window.is_by_columns = gantry__k_attr_int(call, "storage_order", 0);
    window.has_batch = gantry__k_attr_int(call, "include_batch_in_index", 0);
    gantry__k_item_launch_t launch = {.item = ITEM_max_pool_argmax,
                                      .t = out->dtype,
                                      .count = out->element_count,
                                      .is_costly = true,
                                      .parameters = &window,
                                      .parameter_bytes = sizeof window,
                                      .spans = {call->inputs[0]->span, out->span, positions->span},
                                      .span_count = 3};
    gantry__window_stretches(call, &window, window.out_width, &launch);
    return gantry__k_run_items(call, &launch);
}

GANTRY_K_ITEM_KERNEL(max_pool, pool, "MaxPool", gantry__k_numeric_type, compute_max_pool);
GANTRY_K_ITEM_KERNEL(avg_pool, pool, "AvgPool", gantry__k_floating_type, compute_avg_pool);
GANTRY_K_ITEM_KERNEL(max_pool_argmax, pool, "MaxPoolWithArgmax", gantry__k_numeric_type,
                     compute_max_pool_argmax);

#define OPS(OP)  \
    OP(max_pool) \
    OP(avg_pool) \
    OP(max_pool_argmax)
GANTRY_K_ITEM_PACK(pool, OPS);
