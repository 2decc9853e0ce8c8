/* SPDX-License-Identifier: Apache-2.0 */
#include "train/tape/rule.h"

#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"

typedef const gantry_tensor_t tensor;

/* ---- finding ---- */

static const gantry__rule_t *const tables[] = {
    gantry__rules_activation,  gantry__rules_attention, gantry__rules_control,
    gantry__rules_elementwise, gantry__rules_flat,      gantry__rules_gamma,
    gantry__rules_index,       gantry__rules_matrix,    gantry__rules_norm,
    gantry__rules_pieces,      gantry__rules_reduce,    gantry__rules_resize,
    gantry__rules_scan,        gantry__rules_segment,   gantry__rules_shape,
    gantry__rules_unary,       gantry__rules_window};

const gantry__rule_t *gantry__rule_table(size_t index) {
    return index < sizeof tables / sizeof tables[0] ? tables[index] : NULL;
}

/* Compares first letters up to that of the op, because the tables are sorted. */
static const gantry__rule_t *rule_find_in(const gantry__rule_t *rule, const char *op) {
    while (rule->op && rule->op[0] < op[0]) ++rule;
    for (; rule->op && rule->op[0] == op[0]; ++rule) {
        if (strcmp(rule->op, op) == 0) return rule;
    }
    return NULL;
}

const gantry__rule_t *gantry__rule_find(const char *op) {
    const gantry__rule_t *rule = NULL;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0] && !rule; ++t)
        rule = rule_find_in(tables[t], op);
    return rule;
}

const gantry__rule_t *gantry__rule_find_open(const char *op) {
    return rule_find_in(gantry__rules_open, op);
}

/* The names of the library's ops stay where they are. A name of another caller may change: each hit
 * is compared, and a name without a rule is not kept. */
const gantry__rule_t *gantry__rule_recall(gantry__rule_memo_t *memo, const char *op) {
    const uintptr_t address = (uintptr_t)op;
    const size_t at = (address ^ address >> 6 ^ address >> 12) & (GANTRY__RULE_MEMO - 1);
    if (memo->ops[at] == op && strcmp(memo->rules[at]->op, op) == 0) return memo->rules[at];
    const gantry__rule_t *rule = gantry__rule_find(op);
    if (rule) {
        memo->ops[at] = op;
        memo->rules[at] = rule;
    }
    return rule;
}

/* A composed op without a rule has a gradient if all its parts have one. */
static bool has_parts_with_rules(const char *op) {
    gantry_op_info_t info = {.struct_size = sizeof info};
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        if (gantry_op_info(i, &info) != GANTRY_OK || strcmp(info.name, op) != 0) continue;
        for (size_t k = 0; k < info.part_count; ++k) {
            if (!gantry_op_is_differentiable(info.parts[k]) && !gantry__rule_find(info.parts[k]))
                return false;
        }
        return info.part_count > 0;
    }
    return false;
}

bool gantry_op_is_differentiable(const char *op) {
    if (!op) return false;
    const gantry__rule_t *rule = gantry__rule_find(op);
    return rule ? rule->run != NULL : has_parts_with_rules(op);
}

const char *gantry__rule_whole_of(const char *part) {
    gantry_op_info_t info = {.struct_size = sizeof info};
    const char *whole = NULL;
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        if (gantry_op_info(i, &info) != GANTRY_OK) continue;
        for (size_t k = 0; k < info.part_count; ++k) {
            if (strcmp(info.parts[k], part) != 0) continue;
            if (whole) return NULL;
            whole = info.name;
        }
    }
    return whole;
}

/* ---- ops ---- */

tensor *gantry__rule_op(const gantry__rule_call_t *c, const char *op, tensor *const *inputs,
                        size_t input_count, const gantry_attr_value_t *attrs, size_t attr_count) {
    tensor *output = NULL;
    size_t count = 1;
    (void)gantry_op_call(c->scope, op, inputs, input_count, attrs, attr_count, &output, &count);
    return output;
}

tensor *gantry__rule_op2(const gantry__rule_call_t *c, const char *op, tensor *first,
                         tensor *second) {
    return gantry__rule_op(c, op, (tensor *[]){first, second}, 2, NULL, 0);
}

tensor *gantry__rule_scalar(const gantry__rule_call_t *c, tensor *like, double value) {
    return like ? gantry__train_constant(c->scope, gantry_tensor_dtype(like), value) : NULL;
}

tensor *gantry__rule_scale(const gantry__rule_call_t *c, tensor *x, double value) {
    return x ? gantry_mul(c->scope, x, gantry__rule_scalar(c, x, value)) : NULL;
}

tensor *gantry__rule_host_ints(const gantry__rule_call_t *c, const int64_t *values, size_t count) {
    int32_t narrow[4 * GANTRY_MAX_RANK];
    gantry_scope_t *host = gantry_scope_begin_in(c->scope, "/CPU:0");
    if (!host) {
        (void)gantry__train_hand_on(c->scope, GANTRY_RESOURCE_EXHAUSTED);
        return NULL;
    }
    for (size_t i = 0; i < count; ++i) narrow[i] = (int32_t)values[i];
    tensor *kept =
        gantry_scope_keep(host, gantry_constant(host, GANTRY_INT32, GANTRY_SHAPE((int64_t)count),
                                                narrow, count * sizeof *narrow));
    (void)gantry_scope_end(host);
    return kept;
}

/* ---- what was recorded ---- */

const gantry_attr_value_t *gantry__rule_attr(const gantry__rule_call_t *c, const char *name) {
    for (size_t i = 0; i < c->record->attr_count; ++i) {
        if (strcmp(c->record->attrs[i].name, name) == 0) return &c->record->attrs[i];
    }
    return NULL;
}

int64_t gantry__rule_attr_int(const gantry__rule_call_t *c, const char *name) {
    const gantry_attr_value_t *attr = gantry__rule_attr(c, name);
    return attr ? attr->i : 0;
}

void gantry__rule_lacks(const gantry__rule_call_t *c, const char *why) {
    char text[256];
    (void)snprintf(text, sizeof text, "op %s %s", c->record->op, why);
    (void)gantry_scope_fail(c->scope, GANTRY_UNIMPLEMENTED, text);
}
