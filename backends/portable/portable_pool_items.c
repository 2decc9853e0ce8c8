/* MaxPool. */
#include "portable/portable_windows.h"
#include "portable/window_shape.h"

GANTRY_K_ITEM_TEXTS(pool, GANTRY_POOL_ITEMS, gantry__text_window, gantry__text_pool);

static int32_t compute_max_pool(gantry_op_call_t *call)
{
    return gantry__window_run_pool(call, ITEM_max_pool, 0);
}

GANTRY_K_ITEM_KERNEL(max_pool, pool, "MaxPool", gantry_k_numeric_type, compute_max_pool);

#define OPS(OP) OP(max_pool)
GANTRY_K_ITEM_PACK(pool, OPS);
