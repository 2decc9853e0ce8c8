/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a user's call: attributes in the definition's order, types resolved, shapes of results.
 *
 *     counts -> defaults -> given attributes -> types of inputs -> types left over -> the op's
 *     infer -> sizes
 *
 * The first one that names a type attribute decides it: the user, then the inputs from left to
 * right. Later ones must agree. An unnamed attribute takes its default. Everything after this step
 * trusts the result: kernels check no shape.
 *
 * Cost: one pass over attributes and inputs; names are compared only for given attributes. No
 * heap. */
#include "op/op_infer.h"

#include <stdio.h>

#include "base/shape_limit.h"

const gantry__op_arg_t *gantry__op_input_arg(const gantry__op_def_t *op, uint32_t input_count,
                                             uint32_t i) {
    uint32_t extra = input_count > op->input_count ? input_count - op->input_count : 0;
    for (uint32_t k = 0; extra > 0 && k < op->input_count; ++k) {
        if (!(op->inputs[k].flags & GANTRY__ARG_LIST)) continue;
        i = i <= k ? i : i <= k + extra ? k : i - extra;
        break;
    }
    return i < op->input_count ? &op->inputs[i] : NULL;
}

/* ---- counts ---- */

static bool has_list(const gantry__op_def_t *op) {
    for (uint32_t k = 0; k < op->input_count; ++k) {
        if (op->inputs[k].flags & GANTRY__ARG_LIST) return true;
    }
    return false;
}

/* The number of inputs that every call has. */
static uint32_t least_count(const gantry__op_def_t *op) {
    uint32_t count = op->input_count;
    while (count > 0 && (op->inputs[count - 1].flags & GANTRY__ARG_OPTIONAL)) --count;
    return count;
}

static gantry_status_t fail_count(const gantry__infer_t *call) {
    const gantry__op_def_t *op = call->op;
    bool list = has_list(op);
    uint32_t least = least_count(op);
    char names[160] = "";
    size_t used = 0;
    for (uint32_t k = 0; k < op->input_count && used < sizeof names; ++k) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s%s", k ? ", " : "",
                                 op->inputs[k].name,
                                 op->inputs[k].flags & GANTRY__ARG_LIST ? "..." : "");
    }
    if (list && call->input_count > op->input_count) {
        return gantry__refuse("%s takes at most %d inputs (%s), got %u", op->name,
                              GANTRY__MAX_INPUTS, names, (unsigned)call->input_count);
    }
    if (least < op->input_count) {
        return gantry__refuse("%s takes %u to %u inputs (%s), got %u", op->name, (unsigned)least,
                              (unsigned)op->input_count, names, (unsigned)call->input_count);
    }
    return gantry__refuse("%s takes %s%u input%s%s%s%s, got %u", op->name, list ? "at least " : "",
                          (unsigned)op->input_count, op->input_count == 1 ? "" : "s",
                          names[0] ? " (" : "", names, names[0] ? ")" : "",
                          (unsigned)call->input_count);
}

static gantry_status_t check_counts(const gantry__infer_t *call) {
    uint32_t expected = call->op->input_count;
    if (call->input_count == expected) return GANTRY_OK;
    if (call->input_count < expected && call->input_count >= least_count(call->op))
        return GANTRY_OK;
    if (call->input_count > expected && call->input_count <= GANTRY__MAX_INPUTS &&
        has_list(call->op))
        return GANTRY_OK;
    return fail_count(call);
}

/* ---- attributes ---- */

/* In place: a copy would be stored twice. */
static inline void fill_default(gantry_attr_t *attr, const gantry__op_attr_t *def, int64_t i) {
    attr->struct_size = sizeof *attr;
    attr->kind = def->kind;
    attr->name = def->name;
    attr->i = i;
    attr->f = 0;
    attr->s = NULL;
    attr->list = NULL;
}

/* Types, which come first, stay open. Returns the places of the other attributes that have no
 * default. */
static uint32_t fill_defaults(gantry__infer_t *call) {
    const gantry__op_attr_t *def = call->op->attrs, *const end = def + call->op->attr_count;
    gantry_attr_t *attr = call->attrs;
    uint32_t required = 0;
    for (; def < end && def->kind == GANTRY_ATTR_TYPE; ++def, ++attr)
        fill_default(attr, def, GANTRY_DTYPE_NONE);
    for (uint32_t bit = UINT32_C(1) << (attr - call->attrs); def < end; ++def, ++attr, bit <<= 1) {
        fill_default(attr, def, def->i);
        if (def->required) required |= bit;
        if (def->kind <= GANTRY_ATTR_INT) continue; /* most are bools */
        if (def->kind == GANTRY_ATTR_STRING) attr->s = def->s;
        if (def->kind == GANTRY_ATTR_FLOAT) attr->f = def->f;
    }
    return required;
}

/* Names by which TensorFlow calls the same attribute elsewhere: Python's for Squeeze,
 * BatchMatMulV3's for its types. */
static const struct {
    gantry__op_id_t op;
    const char *alias;
    const char *name;
} attr_aliases[] = {
    {GANTRY__OP_ID_Squeeze, "axis", "squeeze_dims"},
    {GANTRY__OP_ID_BatchMatMul, "Ta", "T"},
    {GANTRY__OP_ID_BatchMatMul, "Tb", "T"},
    {GANTRY__OP_ID_BatchMatMul, "Tout", "T"},
};

static uint32_t place_of_name(const gantry__op_def_t *op, const char *name) {
    uint32_t i = 0;
    while (i < op->attr_count && !gantry__attr_is(&op->attrs[i], name)) ++i;
    return i;
}

/* The attribute's index in the definition, or attr_count. */
static uint32_t attr_place(const gantry__op_def_t *op, const char *name) {
    const uint32_t place = place_of_name(op, name);
    if (place < op->attr_count) return place;
    for (size_t k = 0; k < sizeof attr_aliases / sizeof attr_aliases[0]; ++k) {
        if (attr_aliases[k].op == op->id && strcmp(attr_aliases[k].alias, name) == 0)
            return place_of_name(op, attr_aliases[k].name);
    }
    return place;
}

static gantry_status_t fail_unknown_attr(const gantry__op_def_t *op, const char *name) {
    char names[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < op->attr_count && used < sizeof names; ++i) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 op->attrs[i].name);
    }
    return gantry__refuse("%s: attribute '%s' does not exist for this operation; it has %s",
                          op->name, name, names[0] ? names : "none");
}

static const char *kind_name(int32_t kind) {
    static const char *const names[] = {"",     "bool",  "int",          "float",
                                        "type", "shape", "list of ints", "string"};
    return kind >= GANTRY_ATTR_BOOL && kind <= GANTRY_ATTR_STRING ? names[kind] : "unknown kind";
}

static GANTRY__COLD gantry_status_t fail_type(const gantry__infer_t *call, uint32_t place,
                                              int64_t dtype) {
    const gantry__op_attr_t *def = &call->op->attrs[place];
    const char *name =
        dtype > 0 && dtype < 64 ? gantry_dtype_name((gantry_dtype_t)dtype) : "invalid";
    return gantry__refuse("%s: value for attr '%s' of %s is not in the list of allowed values: %s",
                          call->op->name, def->name, name,
                          gantry__type_mask_text(def->dtype_mask).text);
}

static inline gantry_status_t check_type(const gantry__infer_t *call, uint32_t place,
                                         int64_t dtype) {
    const uint64_t mask = call->op->attrs[place].dtype_mask;
    return dtype > 0 && dtype < 64 && (mask >> dtype & 1) ? GANTRY_OK
                                                          : fail_type(call, place, dtype);
}

static gantry_status_t op_infer_check_list(const gantry__op_def_t *op,
                                           const gantry_attr_value_t *given) {
    bool shape = given->kind == GANTRY_ATTR_SHAPE;
    if (given->i < 0 || (given->i > 0 && !given->list) || (shape && given->i > GANTRY_MAX_RANK)) {
        return gantry__refuse("%s: attribute '%s' has %lld entries%s; accepted are %s", op->name,
                              given->name, (long long)given->i,
                              given->i > 0 && !given->list ? " at NULL" : "",
                              shape ? "0 to 8" : "0 or more");
    }
    for (int64_t k = 0; shape && k < given->i; ++k) {
        if (given->list[k] < 0) {
            return gantry__refuse("%s: attribute '%s': dimension %lld must be >= 0", op->name,
                                  given->name, (long long)given->list[k]);
        }
    }
    return GANTRY_OK;
}

static gantry_status_t op_infer_check_value(const gantry__infer_t *call, uint32_t place,
                                            const gantry_attr_value_t *given) {
    const gantry__op_def_t *op = call->op;
    if ((int32_t)given->kind != op->attrs[place].kind) {
        return gantry__refuse("%s: expecting %s value for attr %s, got %s", op->name,
                              kind_name(op->attrs[place].kind), given->name,
                              kind_name((int32_t)given->kind));
    }
    switch (op->attrs[place].kind) {
        case GANTRY_ATTR_TYPE: return check_type(call, place, given->i);
        case GANTRY_ATTR_BOOL:
            if (given->i == 0 || given->i == 1) return GANTRY_OK;
            return gantry__refuse("%s: bool attribute '%s' is %lld; accepted are 0 and 1", op->name,
                                  given->name, (long long)given->i);
        case GANTRY_ATTR_STRING:
            if (given->s) return GANTRY_OK;
            return gantry__refuse("%s: string attribute '%s' is NULL", op->name, given->name);
        case GANTRY_ATTR_SHAPE:
        case GANTRY_ATTR_INTS: return op_infer_check_list(op, given);
        default: return GANTRY_OK;
    }
}

static gantry_status_t take_attr(gantry__infer_t *call, const gantry_attr_value_t *given,
                                 uint32_t *seen) {
    const gantry__op_def_t *op = call->op;
    if (!given->name) return gantry__refuse("%s: an attribute's name is NULL", op->name);
    uint32_t place = attr_place(op, given->name);
    if (place == op->attr_count) return fail_unknown_attr(op, given->name);
    GANTRY__TRY(op_infer_check_value(call, place, given));
    gantry_attr_t *attr = &call->attrs[place];
    bool agrees = attr->kind == GANTRY_ATTR_TYPE && attr->i == given->i; /* Ta and Tb are both T */
    if ((*seen >> place & 1) && !agrees) {
        return gantry__refuse("%s: attribute '%s' is given twice", op->name, attr->name);
    }
    *seen |= UINT32_C(1) << place;
    attr->i = given->i;
    attr->f = given->f;
    attr->s = given->s;
    attr->list = given->list;
    return GANTRY_OK;
}

/* Sets TensorFlow's N, the length of the list: optional, but a given value must be right. */
static gantry_status_t set_list_length(gantry__infer_t *call, uint32_t seen) {
    uint32_t place = attr_place(call->op, "N");
    if (place == call->op->attr_count) return GANTRY_OK;
    int64_t length = (int64_t)call->input_count - call->op->input_count + 1;
    gantry_attr_t *attr = &call->attrs[place];
    if ((seen >> place & 1) && attr->i != length) {
        return gantry__refuse("%s: attribute 'N' is %lld, but the list has %lld tensors",
                              call->op->name, (long long)attr->i, (long long)length);
    }
    attr->i = length;
    return GANTRY_OK;
}

static bool has_output_list(const gantry__op_def_t *op) {
    return (gantry__op_outputs(op)[0].flags & GANTRY__ARG_LIST) != 0;
}

gantry_status_t gantry__op_count_outputs(gantry__infer_t *call) {
    const gantry__op_def_t *op = call->op;
    call->output_count = op->output_count;
    if (!has_output_list(op)) return GANTRY_OK;
    uint32_t place = 0;
    while (place < op->attr_count && !op->attrs[place].counts_outputs) ++place;
    if (place == op->attr_count) { /* an output for each input */
        call->output_count = call->input_count;
        return GANTRY_OK;
    }
    int64_t count = call->attrs[place].i;
    if (count < 0 || count > GANTRY__MAX_OUTPUTS) {
        return gantry__refuse("%s: attribute '%s' is %lld; 0 to %d outputs are accepted", op->name,
                              op->attrs[place].name, (long long)count, GANTRY__MAX_OUTPUTS);
    }
    call->output_count = (uint32_t)count;
    return GANTRY_OK;
}

/* ---- types ---- */

static GANTRY__COLD gantry_status_t fail_input_type(const gantry__infer_t *call, uint32_t input,
                                                    gantry_dtype_t expected) {
    return gantry__refuse(
        "cannot compute %s as input #%u(zero-based) was expected to be a %s tensor but is a %s tensor",
        call->op->name, (unsigned)input, gantry_dtype_name(expected),
        gantry_dtype_name(call->dtypes[input]));
}

static inline gantry_status_t settle_input(gantry__infer_t *call, uint32_t input,
                                           const gantry__op_arg_t *arg) {
    gantry_dtype_t dtype = call->dtypes[input];
    if (arg->type == GANTRY__TYPE_EACH) return GANTRY_OK;
    if (arg->type < 0) {
        gantry_dtype_t fixed = (gantry_dtype_t)-arg->type;
        return dtype == fixed ? GANTRY_OK : fail_input_type(call, input, fixed);
    }
    gantry_attr_t *attr = &call->attrs[arg->type];
    if (attr->i != GANTRY_DTYPE_NONE) {
        return attr->i == (int64_t)dtype ? GANTRY_OK
                                         : fail_input_type(call, input, (gantry_dtype_t)attr->i);
    }
    GANTRY__TRY(check_type(call, (uint32_t)arg->type, (int64_t)dtype));
    attr->i = (int64_t)dtype;
    return GANTRY_OK;
}

static gantry_status_t settle_rest(gantry__infer_t *call) {
    const gantry__op_def_t *op = call->op;
    for (uint32_t i = 0; i < op->attr_count && op->attrs[i].kind == GANTRY_ATTR_TYPE; ++i) {
        if (call->attrs[i].i != GANTRY_DTYPE_NONE) continue;
        if (op->attrs[i].required || op->attrs[i].i == GANTRY_DTYPE_NONE) {
            return gantry__refuse("%s: attribute '%s' (type) must be given; accepted are %s",
                                  op->name, op->attrs[i].name,
                                  gantry__type_mask_text(op->attrs[i].dtype_mask).text);
        }
        call->attrs[i].i = op->attrs[i].i;
    }
    const gantry__op_arg_t *output = gantry__op_outputs(op);
    const uint32_t step = has_output_list(op) ? 0 : 1;
    for (uint32_t k = 0; k < call->output_count; ++k, output += step) {
        const int16_t type = output->type;
        call->out_dtypes[k] = type == GANTRY__TYPE_EACH ? GANTRY_DTYPE_NONE
                              : type < 0                ? (gantry_dtype_t)-type
                                                        : (gantry_dtype_t)call->attrs[type].i;
    }
    return GANTRY_OK;
}

static GANTRY__COLD gantry_status_t fail_required(const gantry__infer_t *call, uint32_t missing) {
    const gantry__op_attr_t *def = call->op->attrs;
    for (; !(missing & 1); missing >>= 1) ++def;
    return gantry__refuse("%s: attribute '%s' (%s) must be given", call->op->name, def->name,
                          kind_name(def->kind));
}

/* ---- results ---- */

static bool is_left_to_data(const gantry__infer_t *call, const gantry_shape_t *shape) {
    return gantry__shape_is_open(shape) &&
           (call->is_open || (call->op->flags & GANTRY__OP_DATA_SHAPE) != 0);
}

static gantry_status_t check_results(const gantry__infer_t *call) {
    for (uint32_t k = 0; k < call->output_count; ++k) {
        const gantry_shape_t *shape = &call->out_shapes[k];
        int64_t elements = gantry__shape_elements(shape);
        if (elements >> 31 == 0) continue; /* avoids the division below */
        size_t size = gantry_dtype_size(call->out_dtypes[k]);
        if (elements >= 0 && (uint64_t)elements <= (uint64_t)INT64_MAX / (size ? size : 1))
            continue;
        if (elements < 0 && is_left_to_data(call, shape)) continue;
        return gantry__refuse(
            "%s: shape %s of the %s result would have more than %s", call->op->name,
            gantry__shape_text(shape).text, gantry_dtype_name(call->out_dtypes[k]),
            elements < 0 ? GANTRY__MOST_ELEMENTS_TEXT " elements" : "2**63 - 1 bytes");
    }
    return GANTRY_OK;
}

gantry_status_t gantry__op_infer(gantry__infer_t *call, const gantry_attr_value_t *attrs,
                                 size_t attr_count) {
    const gantry__op_def_t *op = call->op;
    uint32_t seen = 0;
    call->piece_first = -1;
    call->known_bool = -1;
    GANTRY__TRY(check_counts(call));
    const uint32_t required = fill_defaults(call);
    if (attr_count > 0 && !attrs) {
        return gantry__refuse("%s: %zu attributes at NULL", op->name, attr_count);
    }
    for (size_t i = 0; i < attr_count; ++i) GANTRY__TRY(take_attr(call, &attrs[i], &seen));
    if (required & ~seen) return fail_required(call, required & ~seen);
    call->given = seen;
    if (!call->shapes) return GANTRY_OK;
    uint32_t flags = 0;
    for (uint32_t i = 0; i < call->input_count; ++i) {
        const gantry__op_arg_t *arg = call->input_count == op->input_count
                                          ? &op->inputs[i]
                                          : gantry__op_input_arg(op, call->input_count, i);
        flags |= arg->flags;
        GANTRY__TRY(settle_input(call, i, arg));
    }
    GANTRY__TRY(gantry__op_count_outputs(call));
    GANTRY__TRY(settle_rest(call));
    if (flags & GANTRY__ARG_LIST) GANTRY__TRY(set_list_length(call, seen));
    gantry_status_t status = op->infer(call);
    if (status != GANTRY_OK) return gantry__fail_prefix(status, "%s: ", op->name);
    if (call->is_open) call->piece_first = -1;
    return check_results(call);
}
