/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the instructions of a fused program, made from the rows of ops/elementwise.def. */
#include "op/fused_program.h"

#include <string.h>

#include "ops/type_sets.inc"

#define OPERANDS_UNARY 1
#define OPERANDS_ACTIVATION 1
#define OPERANDS_CHOICE 1
#define OPERANDS_VARIANT 1
#define OPERANDS_BINARY 2
#define OPERANDS_ANGLE 2
#define OPERANDS_EQUALITY 2
#define OPERANDS_VALUE 2
#define OPERANDS_PRECISION 2
#define OPERANDS_UNARY_CHOICE 1
#define OPERANDS_BINARY_CHOICE 2
#define OPERANDS_BINARY_VARIANT 2

#define RESULT_SAME 0
#define RESULT_BOOL GANTRY_BOOL
#define RESULT_BYTE GANTRY_UINT8

/* Types for which no element is bad. */
#define SAFE_NEVER UINT64_MAX
#define SAFE_ZERO_DIVISOR (~GANTRY_DTYPES_INTEGERS)
#define SAFE_NEGATIVE_EXPONENT (~GANTRY_DTYPES_INTEGERS)

/* Types of which a device gives the bits of the op by itself. Some functions of float64 are the
 * driver's own, which may round otherwise in vectors, where the op uses them. */
#define NO_FLOAT64 (~GANTRY_DTYPE_BIT(GANTRY_FLOAT64))
#define EQUAL_NONE UINT64_MAX
#define EQUAL_ROUNDING UINT64_MAX
#define EQUAL_MODULO UINT64_MAX
#define EQUAL_BITS UINT64_MAX
#define EQUAL_ROOT UINT64_MAX
#define EQUAL_FUNCTIONS UINT64_MAX
#define EQUAL_ERROR UINT64_MAX
#define EQUAL_TRIGONOMETRY NO_FLOAT64
#define EQUAL_HYPERBOLIC NO_FLOAT64
#define EQUAL_SPECIAL NO_FLOAT64
#define EQUAL_ACTIVATION NO_FLOAT64
#define EQUAL_GAMMA NO_FLOAT64
#define EQUAL_POWER NO_FLOAT64

#define IS_COSTLY_NONE false
#define IS_COSTLY_ROUNDING false
#define IS_COSTLY_BITS false
#define IS_COSTLY_ROOT true
#define IS_COSTLY_MODULO true
#define IS_COSTLY_FUNCTIONS true
#define IS_COSTLY_TRIGONOMETRY true
#define IS_COSTLY_HYPERBOLIC true
#define IS_COSTLY_SPECIAL true
#define IS_COSTLY_ERROR true
#define IS_COSTLY_ACTIVATION true
#define IS_COSTLY_GAMMA true
#define IS_COSTLY_POWER true

static const struct {
    uint64_t types;
    uint8_t operands;
    uint8_t result; /* the result's type; 0: that of the operands */
    bool is_costly;
} instructions[GANTRY__FUSED_ROWS_COUNT] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    [GANTRY__FUSED_##name] = {GANTRY_MASK_##types & SAFE_##check & EQUAL_##math, OPERANDS_##form, \
                              RESULT_##result, IS_COSTLY_##math},
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
    [GANTRY__FUSED_Cast] = {GANTRY_MASK_NUMERIC_BOOL, 1, 0, false},
    [GANTRY__FUSED_Select] = {GANTRY_MASK_NUMERIC_BOOL, 3, 0, false},
    [GANTRY__FUSED_ClipByValue] = {GANTRY_MASK_NUMERIC, 3, 0, false},
#define GANTRY_FUSED_REDUCTION(name) [GANTRY__FUSED_##name] = {GANTRY_MASK_FLOATING, 1, 0, false},
#include "ops/fused.def"
#undef GANTRY_FUSED_REDUCTION
};

#define IDS_UNARY(name) [GANTRY__OP_ID_##name] = GANTRY__FUSED_##name + 1,
#define IDS_ACTIVATION IDS_UNARY
#define IDS_CHOICE IDS_UNARY
#define IDS_VARIANT(name)
#define IDS_BINARY IDS_UNARY
#define IDS_ANGLE IDS_UNARY
#define IDS_EQUALITY IDS_UNARY
#define IDS_VALUE IDS_UNARY
#define IDS_PRECISION IDS_UNARY
#define IDS_UNARY_CHOICE IDS_UNARY
#define IDS_BINARY_CHOICE IDS_UNARY
#define IDS_BINARY_VARIANT IDS_VARIANT

/* The instruction of each op, counted from 1; 0: none. */
static const uint8_t ids[GANTRY__OP_COUNT] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    IDS_##form(name)
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
#define GANTRY_FUSED_OTHER IDS_UNARY
#include "ops/fused.def"
#undef GANTRY_FUSED_OTHER
};

static gantry__fused_id_t id_of(gantry__op_id_t op) {
    const bool has_one = (size_t)op < GANTRY__OP_COUNT && ids[op] != 0;

    return has_one ? (gantry__fused_id_t)(ids[op] - 1) : GANTRY__FUSED_COUNT;
}

/* A choice is followed by the variants that replace it, by its attributes other than T. */
#define IS_CHOICE_UNARY false
#define IS_CHOICE_ACTIVATION false
#define IS_CHOICE_CHOICE true
#define IS_CHOICE_VARIANT false
#define IS_CHOICE_BINARY false
#define IS_CHOICE_ANGLE false
#define IS_CHOICE_EQUALITY false
#define IS_CHOICE_VALUE false
#define IS_CHOICE_PRECISION false
#define IS_CHOICE_UNARY_CHOICE true
#define IS_CHOICE_BINARY_CHOICE true
#define IS_CHOICE_BINARY_VARIANT false

static bool is_choice(gantry__fused_id_t id) {
    static const bool choices[GANTRY__FUSED_COUNT] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    [GANTRY__FUSED_##name] = IS_CHOICE_##form,
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
    };

    return choices[id];
}

gantry__fused_id_t gantry__fused_id(const gantry__op_def_t *op, const gantry_attr_t *attrs) {
    const gantry__fused_id_t id = id_of((gantry__op_id_t)op->id);
    uint32_t variant = 0;
    if (id == GANTRY__FUSED_COUNT || !is_choice(id)) return id;
    for (uint32_t i = 1; i < op->attr_count; ++i) {
        if (attrs[i].i != op->attrs[i].i) variant |= 1u << (i - 1);
    }
    return (gantry__fused_id_t)(id + variant);
}

bool gantry__fused_takes(gantry__fused_id_t id, gantry_dtype_t dtype) {
    return (size_t)id < GANTRY__FUSED_COUNT && (uint64_t)dtype < 64 &&
           (instructions[id].types >> dtype & 1) != 0;
}

gantry__fused_id_t gantry__fused_reduction(const gantry__op_def_t *op) {
    switch (op->id) {
#define GANTRY_FUSED_REDUCTION(name) \
    case GANTRY__OP_ID_##name:       \
        return GANTRY__FUSED_##name;
#include "ops/fused.def"
#undef GANTRY_FUSED_REDUCTION
        default: return GANTRY__FUSED_COUNT;
    }
}

bool gantry__fused_keeps_dims(const gantry__op_def_t *reduction, const gantry_attr_t *attrs) {
    for (uint32_t i = 0; i < reduction->attr_count; ++i) {
        if (strcmp(attrs[i].name, "keep_dims") == 0) return attrs[i].i != 0;
    }
    return false;
}

bool gantry__fused_reduces(gantry__fused_id_t id, gantry_dtype_t dtype) {
    return (size_t)id > GANTRY__FUSED_COUNT && (size_t)id < GANTRY__FUSED_ROWS_COUNT &&
           (uint64_t)dtype < 64 && (instructions[id].types >> dtype & 1) != 0;
}

bool gantry__fused_is_costly(gantry__fused_id_t id) {
    return (size_t)id < GANTRY__FUSED_COUNT && instructions[id].is_costly;
}

uint32_t gantry__fused_operands(gantry__fused_id_t id) { return instructions[id].operands; }

gantry_dtype_t gantry__fused_result(const int64_t *instruction) {
    if (instruction[0] == GANTRY__FUSED_Cast) return (gantry_dtype_t)instruction[3];
    const uint8_t result = instructions[instruction[0]].result;
    return result != 0 ? (gantry_dtype_t)result : (gantry_dtype_t)instruction[1];
}
