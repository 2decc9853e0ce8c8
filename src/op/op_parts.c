/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of composed ops, from composed.def. Constant data. */
#include "op/op_def.h"

#define PART(name) GANTRY__OP_ID_##name,
#define COUNT(...) (sizeof((const uint16_t[]){__VA_ARGS__ GANTRY__OP_COUNT}) / sizeof(uint16_t))

/* The first part of each op, and GANTRY__OP_COUNT after the last one. */
enum {
    NO_PARTS = 0, /* of ops that are not composed: the end of an empty list */
#define COMPOSED(op_name, function, op_parts) \
    FIRST_##op_name, LAST_##op_name = FIRST_##op_name + COUNT(op_parts) - 1,
#include "op/composed.def"
#undef COMPOSED
};

static const uint16_t parts[] = {
    GANTRY__OP_COUNT,
#define COMPOSED(op_name, function, op_parts) op_parts GANTRY__OP_COUNT,
#include "op/composed.def"
#undef COMPOSED
};

static const uint16_t firsts[GANTRY__OP_COUNT] = {
#define COMPOSED(op_name, function, op_parts) [GANTRY__OP_ID_##op_name] = FIRST_##op_name,
#include "op/composed.def"
};

uint32_t gantry__op_first_part(const gantry__op_def_t *op) {
    return op->id < GANTRY__OP_COUNT ? firsts[op->id] : NO_PARTS;
}

const uint16_t *gantry__op_parts(const gantry__op_def_t *op, uint32_t *out_count) {
    const uint16_t *list = parts + gantry__op_first_part(op);
    *out_count = 0;
    while (list[*out_count] != GANTRY__OP_COUNT) ++*out_count;
    return list;
}
