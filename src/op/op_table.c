/* SPDX-License-Identifier: Apache-2.0 */
/* The table of definitions, made from op_definitions.def. Constant data: the rows of all ops are in
 * two arrays. */
#include "op/op_infer.h"
#include "ops/type_sets.inc"

#define FIXED(dtype) GANTRY__TYPE_FIXED(GANTRY_##dtype)
#define EACH_TYPE GANTRY__TYPE_EACH
#define IN(arg, type) {#arg, type, 0},
#define HOST_IN(arg, type) {#arg, type, GANTRY__ARG_HOST},
#define OPTIONAL_IN(arg, type) {#arg, type, GANTRY__ARG_OPTIONAL},
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

/* The number of rows; the empty one, which ISO C needs where an op has no rows, does not count. */
#define ARGS(...) \
    (sizeof((const gantry__op_arg_t[]){__VA_ARGS__{"", 0, 0}}) / sizeof(gantry__op_arg_t) - 1)
#define ATTRS(...) \
    (sizeof((const gantry__op_attr_t[]){__VA_ARGS__{.name = ""}}) / sizeof(gantry__op_attr_t) - 1)

/* The first rows of each op: the next op's first is this op's last plus 1. */
enum {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    FIRST_ARG_##op_name, LAST_ARG_##op_name = FIRST_ARG_##op_name + ARGS(op_inputs op_outputs) - 1,
#include "op/op_definitions.def"
#undef OP
};
enum {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    FIRST_ATTR_##op_name, LAST_ATTR_##op_name = FIRST_ATTR_##op_name + ATTRS(op_attrs) - 1,
#include "op/op_definitions.def"
#undef OP
};

static const gantry__op_arg_t args[] = {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    op_inputs op_outputs
#include "op/op_definitions.def"
#undef OP
};

static const gantry__op_attr_t attrs[] = {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) op_attrs
#include "op/op_definitions.def"
#undef OP
};

static const gantry__op_def_t definitions[GANTRY__OP_COUNT] = {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    [GANTRY__OP_ID_##op_name] = {                                                    \
        .name = #op_name,                                                            \
        .flags = op_flags,                                                           \
        .id = GANTRY__OP_ID_##op_name,                                               \
        .input_count = ARGS(op_inputs),                                              \
        .output_count = ARGS(op_outputs),                                            \
        .attr_count = ATTRS(op_attrs),                                               \
        .inputs = &args[FIRST_ARG_##op_name],                                        \
        .attrs = &attrs[FIRST_ATTR_##op_name],                                       \
        .infer = op_infer,                                                           \
    },
#include "op/op_definitions.def"
};

const gantry__op_def_t *gantry__op_get(gantry__op_id_t id) {
    return (size_t)id < GANTRY__OP_COUNT ? &definitions[id] : NULL;
}
