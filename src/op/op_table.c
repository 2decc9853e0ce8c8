/* SPDX-License-Identifier: Apache-2.0 */
/* The table of definitions, made from op_definitions.def. Constant data: arrays end with an empty
 * row, so that an op without inputs or attributes is no special case. */
#include "op/op_infer.h"
#include "ops/type_sets.inc"

#define FIXED(dtype) GANTRY__TYPE_FIXED(GANTRY_##dtype)
#define EACH_TYPE GANTRY__TYPE_EACH
#define IN(arg, type) {#arg, type, 0},
#define HOST_IN(arg, type) {#arg, type, GANTRY__ARG_HOST},
#define OPTIONAL_HOST_IN(arg, type) {#arg, type, GANTRY__ARG_HOST | GANTRY__ARG_OPTIONAL},
#define LIST_IN(arg, type) {#arg, type, GANTRY__ARG_LIST},
#define OUT(arg, type) {#arg, type, 0},
#define LIST_OUT(arg, type) {#arg, type, GANTRY__ARG_LIST},
#define TYPE(attr, set) {.name = #attr, .kind = GANTRY_ATTR_TYPE, .dtype_mask = GANTRY_MASK_##set},
#define TYPE_OR(attr, set, text, dtype) \
    {.name = #attr, .kind = GANTRY_ATTR_TYPE, .dtype_mask = GANTRY_MASK_##set, .i = GANTRY_##dtype},
#define TYPE_REQUIRED(attr, set) \
    {.name = #attr, .kind = GANTRY_ATTR_TYPE, .dtype_mask = GANTRY_MASK_##set, .required = true},
#define BOOL_ATTR(attr, value) {.name = #attr, .kind = GANTRY_ATTR_BOOL, .i = value},
#define INT_ATTR(attr, value) {.name = #attr, .kind = GANTRY_ATTR_INT, .i = value},
#define INT_REQUIRED(attr) {.name = #attr, .kind = GANTRY_ATTR_INT, .required = true},
#define FLOAT_ATTR(attr, value) {.name = #attr, .kind = GANTRY_ATTR_FLOAT, .f = value},
#define LENGTH_ATTR(attr) {.name = #attr, .kind = GANTRY_ATTR_INT},
#define OUTPUTS_ATTR(attr) \
    {.name = #attr, .kind = GANTRY_ATTR_INT, .required = true, .counts_outputs = true},
#define STRING_ATTR(attr, value) {.name = #attr, .kind = GANTRY_ATTR_STRING, .s = value},
#define STRING_REQUIRED(attr) {.name = #attr, .kind = GANTRY_ATTR_STRING, .required = true},
#define INTS_ATTR(attr) {.name = #attr, .kind = GANTRY_ATTR_INTS},
#define INTS_REQUIRED(attr) {.name = #attr, .kind = GANTRY_ATTR_INTS, .required = true},
#define COUNTED_INTS(attr) \
    {.name = #attr, .kind = GANTRY_ATTR_INTS, .required = true, .counts_outputs = true},
#define SHAPE_ATTR(attr) {.name = #attr, .kind = GANTRY_ATTR_SHAPE, .required = true},

/* The number of rows without the empty one. */
#define ROWS(type, ...) (sizeof((const type[]){__VA_ARGS__}) / sizeof(type) - 1)

#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    [GANTRY__OP_ID_##op_name] = {                                                    \
        .name = #op_name,                                                            \
        .summary = op_summary,                                                       \
        .flags = op_flags,                                                           \
        .input_count = ROWS(gantry__op_arg_t, op_inputs{NULL, 0, 0}),                \
        .output_count = ROWS(gantry__op_arg_t, op_outputs{NULL, 0, 0}),              \
        .attr_count = ROWS(gantry__op_attr_t, op_attrs{.name = NULL}),               \
        .inputs = (const gantry__op_arg_t[]){op_inputs{NULL, 0, 0}},                 \
        .outputs = (const gantry__op_arg_t[]){op_outputs{NULL, 0, 0}},               \
        .attrs = (const gantry__op_attr_t[]){op_attrs{.name = NULL}},                \
        .infer = op_infer,                                                           \
        .id = GANTRY__OP_ID_##op_name,                                               \
    },

static const gantry__op_def_t definitions[GANTRY__OP_COUNT] = {
#include "op/op_definitions.def"
};

const gantry__op_def_t *gantry__op_get(gantry__op_id_t id) {
    return (size_t)id < GANTRY__OP_COUNT ? &definitions[id] : NULL;
}
