/* SPDX-License-Identifier: Apache-2.0 */
#include "train/tape/origin.h"

#include "shared/memory.h"
#include "train/tape/block.h"

struct gantry__origin_t {
    gantry_function_t *function;    /* whose gradient it is; no reference */
    const gantry__origin_t *before; /* of that function */
    gantry__gradient_block_t *block;
};

static const char origin_key;

static void origin_destroy(void *data) {
    gantry__origin_t *origin = data;
    gantry__block_release(origin->block);
    gantry__free(origin);
}

static const gantry__origin_t *origin_of(gantry_function_t *function) {
    return gantry_function_attach(function, &origin_key, NULL, NULL);
}

const gantry__origin_t *gantry__origin_hold(gantry_function_t *function) {
    const gantry__origin_t *origin = origin_of(function);
    (void)gantry_function_retain(function);
    for (const gantry__origin_t *at = origin; at; at = at->before)
        (void)gantry_function_retain(at->function);
    return origin;
}

/* An origin ends with the function that it is kept with. */
void gantry__origin_let_go(gantry_function_t *function, const gantry__origin_t *origin) {
    while (function) {
        gantry_function_t *next = origin ? origin->function : NULL;
        origin = origin ? origin->before : NULL;
        gantry_function_release(function);
        function = next;
    }
}

gantry_status_t gantry__origin_keep(gantry_function_t *made, gantry_function_t *function,
                                    gantry__gradient_block_t *block) {
    gantry__origin_t *origin = gantry__alloc(1, sizeof *origin);
    if (!origin) return GANTRY_RESOURCE_EXHAUSTED;
    *origin = (gantry__origin_t){function, origin_of(function), block};
    if (gantry_function_attach(made, &origin_key, origin, origin_destroy)) return GANTRY_OK;
    gantry__free(origin);
    return GANTRY_RESOURCE_EXHAUSTED;
}
