/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of composed ops, from composed.def. Constant data. */
#include "op/op_def.h"

#define PART(name) GANTRY__OP_ID_##name,
#define COMPOSED(op_name, function, op_parts)                                                    \
    [GANTRY__OP_ID_##op_name] = {                                                                \
        sizeof((const gantry__op_id_t[]){op_parts GANTRY__OP_COUNT}) / sizeof(gantry__op_id_t) - \
            1,                                                                                   \
        (const gantry__op_id_t[]){op_parts GANTRY__OP_COUNT}},

static const struct {
    uint32_t count;
    const gantry__op_id_t *ids;
} parts[GANTRY__OP_COUNT] = {
#include "op/composed.def"
};

const gantry__op_id_t *gantry__op_parts(const gantry__op_def_t *op, uint32_t *out_count) {
    bool listed = op->id < GANTRY__OP_COUNT;
    *out_count = listed ? parts[op->id].count : 0;
    return listed ? parts[op->id].ids : NULL;
}
