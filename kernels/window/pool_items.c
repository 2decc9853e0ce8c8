/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool and AvgPool: one launch of items for each. */
#include "kernels/window/window_items.h"
#include "kernels/window/window_shape.h"

GANTRY_K_ITEM_TEXTS(pool, GANTRY_POOL_ITEMS, gantry__text_window, gantry__text_pool);

static int32_t pool_run(gantry_op_call_t *call, uint32_t item) {
    static const gantry__window_names_t names = {"strides", NULL};
    const gantry_arg_t *x = call->inputs[0];
    gantry__windows_t window;
    int64_t rows, columns;
    gantry__window_size(call, "ksize", &rows, &columns);
    gantry__window_fill(call, &names, x, call->outputs[0], rows, columns, &window);
    return gantry__window_run(call, item, x, NULL, &window, window.out_width);
}

static int32_t compute_max_pool(gantry_op_call_t *call) { return pool_run(call, ITEM_max_pool); }

static int32_t compute_avg_pool(gantry_op_call_t *call) { return pool_run(call, ITEM_avg_pool); }

GANTRY_K_ITEM_KERNEL(max_pool, pool, "MaxPool", gantry__k_numeric_type, compute_max_pool);
GANTRY_K_ITEM_KERNEL(avg_pool, pool, "AvgPool", gantry__k_floating_type, compute_avg_pool);

#define OPS(OP)  \
    OP(max_pool) \
    OP(avg_pool)
GANTRY_K_ITEM_PACK(pool, OPS);
