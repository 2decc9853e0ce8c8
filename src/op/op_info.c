/* SPDX-License-Identifier: Apache-2.0 */
/* The public list of ops. Its texts are constants, made from the same definitions as the table. */
#include "base/struct_size.h"
#include "op/op_def.h"

#define TEXT_FLOATS "type of float32, float64"
#define TEXT_INTS "type of int32, int64"
#define TEXT_NUMBERS "type of float32, float64, int32, int64"
#define TEXT_MULTIPLIED "type of float16, bfloat16, float32, float64, int32, int64"
#define TEXT_BATCH_MULTIPLIED "type of float16, bfloat16, float32, float64, int16, int32, int64"
#define TEXT_ONE_HOT_INDICES "type of uint8, int8, int32, int64"
#define TEXT_FLOATING "type of float16, bfloat16, float32, float64"
#define TEXT_DRAWN "type of int32, int64, uint32, uint64"
#define TEXT_INTEGERS "type of int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define TEXT_SIGNED_NUMERIC "type of the floating types and signed integers"
#define TEXT_NUMERIC "type of the floating types and integers"
#define TEXT_NUMERIC_BOOL "type of the floating types, integers and bool"
#define TEXT_ARGMAX_OUTPUTS "type of int16, uint16, int32, int64"
#define TEXT_ANY "type"

#define FIXED(dtype)
#define IN(arg, type) #arg,
#define HOST_IN(arg, type) #arg,
#define OPTIONAL_HOST_IN(arg, type) #arg "?",
#define LIST_IN(arg, type) #arg "...",
#define OUT(arg, type) #arg,
#define LIST_OUT(arg, type) #arg "...",
#define TYPE(attr, set) #attr ": " TEXT_##set,
#define TYPE_OR(attr, set, text, dtype) #attr ": " TEXT_##set " = " #text,
#define TYPE_REQUIRED(attr, set) #attr ": " TEXT_##set " (required)",
#define BOOL_ATTR(attr, value) #attr ": bool = " #value,
#define FLOAT_ATTR(attr, value) #attr ": float = " #value,
#define INT_ATTR(attr, value) #attr ": int = " #value,
#define INT_REQUIRED(attr) #attr ": int (required)",
#define LENGTH_ATTR(attr) #attr ": int (the list's length)",
#define OUTPUTS_ATTR(attr) #attr ": int (how many outputs, required)",
#define STRING_ATTR(attr, value) #attr ": string = " #value,
#define STRING_REQUIRED(attr) #attr ": string (required)",
#define INTS_ATTR(attr) #attr ": list of ints = {}",
#define SHAPE_ATTR(attr) #attr ": shape (required)",

#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    [GANTRY__OP_ID_##op_name] = {                                                    \
        .inputs = (const char *const[]){op_inputs NULL},                             \
        .outputs = (const char *const[]){op_outputs NULL},                           \
        .attrs = (const char *const[]){op_attrs NULL},                               \
    },

static const struct {
    const char *const *inputs;
    const char *const *outputs;
    const char *const *attrs;
} texts[GANTRY__OP_COUNT] = {
#include "op/op_definitions.def"
};

#define PART(name) #name,
#define COMPOSED(op_name, function, op_parts) \
    [GANTRY__OP_ID_##op_name] = (const char *const[]){op_parts NULL},

static const char *const *const part_names[GANTRY__OP_COUNT] = {
#include "op/composed.def"
};

size_t gantry_op_count(void) { return GANTRY__OP_COUNT; }

gantry_status_t gantry_op_info(size_t index, gantry_op_info_t *out_info) {
    if (index >= GANTRY__OP_COUNT) {
        return gantry__fail(GANTRY_OUT_OF_RANGE, "op %zu does not exist: there are %d ops, 0 to %d",
                            index, (int)GANTRY__OP_COUNT, (int)GANTRY__OP_COUNT - 1);
    }
    const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)index);
    uint32_t part_count;
    (void)gantry__op_parts(op, &part_count);
    gantry_op_info_t all = {
        .name = op->name,
        .summary = op->summary,
        .input_count = op->input_count,
        .output_count = op->output_count,
        .attr_count = op->attr_count,
        .inputs = texts[index].inputs,
        .outputs = texts[index].outputs,
        .attrs = texts[index].attrs,
        .is_composed = (op->flags & GANTRY__OP_COMPOSED) != 0,
        .part_count = part_count,
        .parts = part_names[index],
    };
    return gantry__struct_fill(out_info, &all, sizeof all, "gantry_op_info: out_info");
}
