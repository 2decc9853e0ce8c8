/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of composed ops, from composed.def. Constant data: the parts of all ops lie in one
 * array, and so do their names. */
#include "op/op_def.h"

/* The first part of each op: the next op's first is this op's last plus 1. */
enum {
#define PART(name) +1
#define COMPOSED(op_name, function, op_parts) \
    FIRST_PART_##op_name, LAST_PART_##op_name = FIRST_PART_##op_name - 1 op_parts,
#include "op/composed.def"
#undef COMPOSED
#undef PART
};

/* The end of the list is an op that does not exist: a composed op without parts points to it. */
static const gantry__op_id_t part_ids[] = {
#define PART(name) GANTRY__OP_ID_##name,
#define COMPOSED(op_name, function, op_parts) op_parts
#include "op/composed.def"
#undef COMPOSED
#undef PART
    GANTRY__OP_COUNT};

static const char *const part_names[] = {
#define PART(name) #name,
#define COMPOSED(op_name, function, op_parts) op_parts
#include "op/composed.def"
#undef COMPOSED
#undef PART
    NULL};

static const struct {
    uint16_t first, count;
} parts[GANTRY__OP_COUNT] = {
#define PART(name) +1
#define COMPOSED(op_name, function, op_parts) \
    [GANTRY__OP_ID_##op_name] = {FIRST_PART_##op_name, 0 op_parts},
#include "op/composed.def"
};

const gantry__op_id_t *gantry__op_parts(const gantry__op_def_t *op, uint32_t *out_count) {
    const bool is_listed = op->id < GANTRY__OP_COUNT;
    *out_count = is_listed ? parts[op->id].count : 0;
    return is_listed ? &part_ids[parts[op->id].first] : NULL;
}

const char *const *gantry__op_part_names(const gantry__op_def_t *op) {
    return op->flags & GANTRY__OP_COMPOSED ? &part_names[parts[op->id].first] : NULL;
}
