/* SPDX-License-Identifier: Apache-2.0 */
#include "run/random_inputs.h"

#include "run/call_op.h"

enum { MOST_GIVEN = 4, PLACE_INPUTS = 3, PHILOX = 1 };

/* The place in the stream would be a constant of the graph: every call would draw the same. */
static gantry_status_t fail_traced_draw(gantry__op_id_t id) {
    return gantry__fail(
        GANTRY_UNIMPLEMENTED,
        "op %s: a function that is traced does not record draws from a generator's state; draw with a stateless op whose seed is an input of the function",
        gantry__op_get(id)->name);
}

const gantry_tensor_t *gantry__draw_from(gantry_scope_t *scope, gantry__op_id_t id,
                                         const gantry__philox_t *place,
                                         const gantry_tensor_t *const *inputs, uint32_t input_count,
                                         uint32_t before, const gantry_attr_value_t *attr) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *all[MOST_GIVEN + PLACE_INPUTS] = {NULL};
    if (scope && scope->trace) {
        if (gantry__scope_check(scope) == GANTRY_OK)
            (void)gantry__scope_fail(scope, fail_traced_draw(id));
        return NULL;
    }
    for (uint32_t i = 0; i < input_count; ++i) all[i < before ? i : i + PLACE_INPUTS] = inputs[i];
    all[before] = gantry__add_host(&extras, scope, GANTRY_UINT64, GANTRY_SHAPE(1), &place->key);
    if (all[before])
        all[before + 1] =
            gantry__add_host(&extras, scope, GANTRY_UINT64, GANTRY_SHAPE(2), place->counter);
    if (all[before + 1]) all[before + 2] = gantry__add_host_i32(&extras, scope, PHILOX);
    return gantry__call_op(scope, id, all, input_count + PLACE_INPUTS, attr, attr ? 1 : 0, &extras);
}
