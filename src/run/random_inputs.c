/* SPDX-License-Identifier: Apache-2.0 */
#include "run/random_inputs.h"

#include "run/call_op.h"
#include "run/trace_hooks.h"

enum { MOST_GIVEN = 4, PLACE_INPUTS = 3, PHILOX = 1 };

/* Makes key and counter as values that each call of the function makes anew. */
static bool take_in_trace(gantry_scope_t *scope, gantry__op_id_t id, const gantry__draw_t *draw,
                          const gantry_tensor_t *const *inputs, uint32_t input_count,
                          const gantry_tensor_t *out_place[2]) {
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return false;
    for (uint32_t i = 0; i < input_count && status == GANTRY_OK; ++i) {
        if (inputs[i]) status = gantry__trace_check_draw(gantry__op_get(id), inputs[i]);
    }
    if (status == GANTRY_OK)
        status = gantry__trace_draw(scope, draw->draws, draw->blocks, out_place);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return status == GANTRY_OK;
}

static bool take_now(gantry__extras_t *extras, gantry_scope_t *scope, const gantry__draw_t *draw,
                     const gantry_tensor_t *out_place[2]) {
    const gantry__philox_t place =
        draw->draws ? gantry__draws_take(draw->draws, draw->blocks) : draw->place;
    out_place[0] = gantry__add_host(extras, scope, GANTRY_UINT64, GANTRY_SHAPE(1), &place.key);
    if (!out_place[0]) return false;
    out_place[1] = gantry__add_host(extras, scope, GANTRY_UINT64, GANTRY_SHAPE(2), place.counter);
    return out_place[1] != NULL;
}

const gantry_tensor_t *gantry__draw_from(gantry_scope_t *scope, gantry__op_id_t id,
                                         const gantry__draw_t *draw,
                                         const gantry_tensor_t *const *inputs, uint32_t input_count,
                                         uint32_t before, const gantry_attr_value_t *attr) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *all[MOST_GIVEN + PLACE_INPUTS] = {NULL};
    for (uint32_t i = 0; i < input_count; ++i) all[i < before ? i : i + PLACE_INPUTS] = inputs[i];
    if (scope && scope->trace && draw->draws) {
        if (!take_in_trace(scope, id, draw, inputs, input_count, &all[before])) return NULL;
    } else {
        (void)take_now(&extras, scope, draw, &all[before]);
    }
    if (all[before + 1]) all[before + 2] = gantry__add_host_i32(&extras, scope, PHILOX);
    return gantry__call_op(scope, id, all, input_count + PLACE_INPUTS, attr, attr ? 1 : 0, &extras);
}
