/* SPDX-License-Identifier: Apache-2.0 */
/* SortByKeys: stable sorts by one key after the other, from the last to the first. */
#include <gantry/op.h>
#include <gantry/ops.h>

#include "op/op_infer.h"
#include "run/call_op.h"
#include "compose/compose.h"

typedef const gantry_tensor_t tensor;

static gantry_attr_value_t sort_axis(const gantry__compose_t *c) {
    return gantry__attr_int("axis", gantry__infer_attr(c->call, "axis")->i);
}

/* The elements of x at these positions, all of which are along the axis. */
static tensor *take_along_axis(const gantry__compose_t *c, tensor *x, tensor *positions) {
    tensor *inputs[] = {x, positions};
    const gantry_attr_value_t attrs[] = {sort_axis(c),
                                         gantry__attr_text("bad_indices_policy", "IGNORE")};
    return gantry__call_op(c->scope, GANTRY__OP_ID_GatherElements, inputs, 2, attrs, 2, NULL);
}

/* Sort or ArgSort of values in the direction of a key. */
static tensor *sort_as_key(const gantry__compose_t *c, gantry__op_id_t id, tensor *values,
                           int64_t key) {
    const gantry_attr_t *descending = gantry__infer_attr(c->call, "descending");
    const bool falls = descending->i > 0 && descending->list[key] != 0;
    const gantry_attr_value_t attrs[] = {
        sort_axis(c), gantry__attr_text("direction", falls ? "DESCENDING" : "ASCENDING"),
        gantry__attr_text("order", gantry__infer_attr(c->call, "order")->s)};
    return gantry__call_op(c->scope, id, &values, 1, attrs, 3, NULL);
}

void gantry__compose_sort_by_keys(const gantry__compose_t *c) {
    tensor *positions = NULL;
    if (c->call->input_count == 1) {
        c->outputs[0] = sort_as_key(c, GANTRY__OP_ID_Sort, c->inputs[0], 0);
        return;
    }
    for (int64_t key = gantry__infer_attr(c->call, "num_keys")->i; key-- > 0;) {
        tensor *values = positions ? take_along_axis(c, c->inputs[key], positions) : c->inputs[key];
        tensor *order = sort_as_key(c, GANTRY__OP_ID_ArgSort, values, key);
        if (!order) return;
        positions = positions ? take_along_axis(c, positions, order) : order;
        if (!positions) return;
    }
    for (uint32_t i = 0; i < c->call->input_count; ++i)
        c->outputs[i] = take_along_axis(c, c->inputs[i], positions);
}
