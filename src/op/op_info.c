/* SPDX-License-Identifier: Apache-2.0 */
/* The public list of ops. Its texts are constants, made from the same definitions as the table. */
#include "op/op_def.h"
#include "ops/type_sets.inc"
#include "shared/struct_size.h"

#define FIXED(dtype) GANTRY__TYPE_FIXED(GANTRY_##dtype)
#define EACH_TYPE GANTRY__TYPE_EACH
#define IN(arg, type) ARG(#arg, type)
#define HOST_IN(arg, type) ARG(#arg, type)
#define OPTIONAL_IN(arg, type) ARG(#arg "?", type)
#define OPTIONAL_HOST_IN(arg, type) ARG(#arg "?", type)
#define LIST_IN(arg, type) ARG(#arg "...", type)
#define OUT(arg, type) ARG(#arg, type)
#define LIST_OUT(arg, type) ARG(#arg "...", type)
#define TYPE(attr, set) #attr ": " GANTRY_##set##_TEXT,
#define TYPE_OR(attr, set, text, dtype) #attr ": " GANTRY_##set##_TEXT " = " #text,
#define TYPE_REQUIRED(attr, set) #attr ": " GANTRY_##set##_TEXT " (required)",
#define BOOL_ATTR(attr, value) #attr ": bool = " #value,
#define FLOAT_ATTR(attr, value) #attr ": float = " #value,
#define INT_ATTR(attr, value) #attr ": int = " #value,
#define INT_REQUIRED(attr) #attr ": int (required)",
#define LENGTH_ATTR(attr) #attr ": int (the list's length)",
#define OUTPUTS_ATTR(attr) #attr ": int (how many outputs, required)",
#define STRING_ATTR(attr, value) #attr ": string = " #value,
#define STRING_REQUIRED(attr) #attr ": string (required)",
#define INTS_ATTR(attr) #attr ": list of ints = {}",
#define INTS_REQUIRED(attr) #attr ": list of ints (required)",
#define COUNTED_INTS(attr) #attr ": list of ints (required; as many outputs)",
#define SHAPE_ATTR(attr) #attr ": shape (required)",

#define TEXTS(...) (sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* ---- texts ---- */

#define ARG(text, type) text,

/* The first text of each op: the next op's first is this op's last plus 1. */
enum {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    FIRST_##op_name,                                                                 \
        LAST_##op_name =                                                             \
            FIRST_##op_name + TEXTS(op_inputs NULL, op_outputs NULL, op_attrs NULL) - 1,
#include "op/op_definitions.def"
#undef OP
};

/* Three lists for each op, which end with NULL: inputs, outputs, attributes. */
static const char *const texts[] = {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    op_inputs NULL, op_outputs NULL, op_attrs NULL,
#include "op/op_definitions.def"
#undef OP
};

#undef ARG

/* ---- types ---- */

#define ARG(text, type) type,

enum {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    FIRST_TYPE_##op_name,                                                            \
        LAST_TYPE_##op_name =                                                        \
            FIRST_TYPE_##op_name + sizeof((const int8_t[]){op_inputs op_outputs 0}) - 2,
#include "op/op_definitions.def"
#undef OP
};

/* The types of each op's inputs, then of its outputs. */
static const int8_t types[] = {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    op_inputs op_outputs
#include "op/op_definitions.def"
#undef OP
};

/* ---- ops ---- */

static const struct op_summaries_t {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    char op_name[sizeof op_summary];
#include "op/op_definitions.def"
#undef OP
} summaries = {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) op_summary,
#include "op/op_definitions.def"
#undef OP
};

/* Positions instead of pointers, which cost 24 bytes of relocations each. */
static const struct {
    uint16_t text, type, summary;
} firsts[GANTRY__OP_COUNT] = {
#define OP(op_name, op_summary, op_flags, op_infer, op_inputs, op_outputs, op_attrs) \
    [GANTRY__OP_ID_##op_name] = {FIRST_##op_name, FIRST_TYPE_##op_name,              \
                                 offsetof(struct op_summaries_t, op_name)},
#include "op/op_definitions.def"
};

#define PART(name) #name,
#define COMPOSED(op_name, function, op_parts) op_parts NULL,

/* The names of parts, as gantry__op_first_part counts them. */
static const char *const part_names[] = {
    NULL,
#include "op/composed.def"
};

static const char *batch_dependence_of(gantry__op_id_t id) {
    switch (id) {
#define BATCH(op, why)       \
    case GANTRY__OP_ID_##op: \
        return why;
#include "op/batch.def"
#undef BATCH
        default: return NULL;
    }
}

/* Counts the ops without the core's own, which come last. */
size_t gantry_op_count(void) {
    size_t count = GANTRY__OP_COUNT;
    while (gantry__op_get((gantry__op_id_t)(count - 1))->name[0] == '_') --count;
    return count;
}

static uint64_t host_inputs_of_op(const gantry__op_def_t *op) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < op->input_count; ++i) {
        if (op->inputs[i].flags & GANTRY__ARG_HOST) mask |= UINT64_C(1) << i;
    }
    return mask;
}

gantry_status_t gantry_op_info(size_t index, gantry_op_info_t *out_info) {
    const size_t count = gantry_op_count();
    if (index >= count) {
        return gantry__fail(GANTRY_OUT_OF_RANGE,
                            "op %zu does not exist: there are %zu ops, 0 to %zu", index, count,
                            count - 1);
    }
    const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)index);
    const char *const *inputs = &texts[firsts[index].text];
    const char *const *outputs = inputs + op->input_count + 1;
    uint32_t part_count;
    (void)gantry__op_parts(op, &part_count);
    gantry_op_info_t all = {
        .name = op->name,
        .summary = (const char *)&summaries + firsts[index].summary,
        .input_count = op->input_count,
        .output_count = op->output_count,
        .attr_count = op->attr_count,
        .inputs = inputs,
        .outputs = outputs,
        .attrs = outputs + op->output_count + 1,
        .is_composed = (op->flags & GANTRY__OP_COMPOSED) != 0,
        .part_count = part_count,
        .parts = op->flags & GANTRY__OP_COMPOSED ? &part_names[gantry__op_first_part(op)] : NULL,
        .host_inputs = host_inputs_of_op(op),
        .types = &types[firsts[index].type],
        .has_data_shape = (op->flags & GANTRY__OP_DATA_SHAPE) != 0,
        .is_callable = (op->flags & GANTRY__OP_SEQUENCED) == 0,
        .batch_dependence = batch_dependence_of((gantry__op_id_t)index),
        .version = gantry__op_version(op),
    };
    return gantry__struct_fill(out_info, &all, sizeof all, "gantry_op_info: out_info");
}
