/* SPDX-License-Identifier: Apache-2.0 */
/* Joins long lists in groups (op_many.h); op_many_split.c splits. */
#include "op_many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op_many_split.h"

/* The most tensors of one call; a concatenation has its axis as an input, too. */
#define MANY_GROUP (GANTRY_MAX_OP_INPUTS - 1)

bool op_many_is_needed(int input_count, int output_count) {
    return input_count > GANTRY_MAX_OP_INPUTS || output_count > GANTRY_MAX_OP_OUTPUTS;
}

static int64_t int_attr(const gantry_attr_value_t *attrs, size_t count, const char *name) {
    for (size_t i = 0; i < count; ++i) {
        if (!strcmp(attrs[i].name, name)) return attrs[i].i;
    }
    return 0;
}

/* ---- joining ---- */

typedef enum join_kind_t { JOIN_SUM, JOIN_CONCAT, JOIN_PACK } join_kind_t;

/* Tensors that become one. */
typedef struct join_t {
    bridge_call_t *call;
    join_kind_t kind;
    const gantry_tensor_t **list;
    int count;
    int32_t axis;
} join_t;

/* Fails the call. The errors name a tensor by its place in the whole list, so the groups cannot
 * find them. */
static void fail_shapes(const join_t *join, int i, const char *text) {
    char first[256], other[256];
    (void)gantry_shape_format(gantry_tensor_shape(join->list[0]), first, sizeof first);
    (void)gantry_shape_format(gantry_tensor_shape(join->list[i]), other, sizeof other);
    if (join->kind == JOIN_SUM) {
        bridge_fail(join->call, GANTRY_INVALID_ARGUMENT,
                    "AddN: Inputs must have the same size and shape.  Input 0: %s != input %d: %s",
                    first, i, other);
    } else if (join->kind == JOIN_PACK) {
        bridge_fail(join->call, GANTRY_INVALID_ARGUMENT,
                    "Pack: Shapes of all inputs must match: values[0].shape = %s != "
                    "values[%d].shape = %s",
                    first, i, other);
    } else {
        bridge_fail(join->call, GANTRY_INVALID_ARGUMENT,
                    "Concat: %s: shape[0] = %s vs. shape[%d] = %s", text, first, i, other);
    }
}

/* Fails the call unless tensor i fits the first one. */
static void check_alike(const join_t *join, int i) {
    const gantry_shape_t *first = gantry_tensor_shape(join->list[0]);
    const gantry_shape_t *other = gantry_tensor_shape(join->list[i]);
    const int32_t axis = join->axis + (join->axis < 0 ? first->rank : 0);
    if (first->rank != other->rank) {
        fail_shapes(join, i, "Ranks of all input tensors should match");
        return;
    }
    for (int32_t k = 0; k < first->rank; ++k) {
        if (first->dims[k] == other->dims[k] || (join->kind == JOIN_CONCAT && k == axis)) continue;
        char text[64];
        (void)snprintf(text, sizeof text, "Dimension %d in both shapes must be equal", (int)k);
        fail_shapes(join, i, text);
        return;
    }
}

static const gantry_tensor_t *op_many_join_group(const join_t *join, join_kind_t kind, int begin,
                                                 int count) {
    const gantry_tensor_t *const *list = join->list + begin;
    gantry_scope_t *scope = join->call->scope;
    if (kind == JOIN_SUM) return gantry_add_n(scope, list, (size_t)count);
    if (kind == JOIN_CONCAT) return gantry_concat(scope, list, (size_t)count, join->axis);
    return gantry_pack(scope, list, (size_t)count, join->axis);
}

/* Joins groups, then the results, until one is left. Packed groups are concatenated. */
static const gantry_tensor_t *join_all(const join_t *join) {
    join_kind_t kind = join->kind;
    for (int count = join->count, made = 0; count > 1; count = made, made = 0) {
        for (int i = 0; i < count; i += MANY_GROUP) {
            const int size = count - i < MANY_GROUP ? count - i : MANY_GROUP;
            join->list[made++] = op_many_join_group(join, kind, i, size);
        }
        if (kind == JOIN_PACK) kind = JOIN_CONCAT;
    }
    return join->list[0];
}

/* Joins so many inputs, from this one on. */
static void join_inputs(join_t *join, int begin) {
    join->list = malloc((size_t)join->count * sizeof *join->list);
    if (!join->list) {
        bridge_fail_memory(join->call);
        return;
    }
    for (int i = 0; i < join->count; ++i) join->list[i] = bridge_input(join->call, begin + i);
    for (int i = 1; i < join->count && !bridge_has_failed(join->call); ++i) check_alike(join, i);
    if (!bridge_has_failed(join->call)) bridge_output(join->call, 0, join_all(join));
    free(join->list);
}

/* Concatenates all inputs but one, which has the axis. */
static void concat_inputs(join_t *join, int axis_input, int begin) {
    TF_Tensor *tensor = NULL;
    const void *axis = bridge_host_input(join->call, axis_input, &tensor);
    if (bridge_has_failed(join->call)) return;
    if (!axis || TF_TensorElementCount(tensor) != 1) {
        char text[256] = "";
        gantry_shape_t shape;
        if (bridge_shape(join->call, tensor, &shape))
            (void)gantry_shape_format(&shape, text, sizeof text);
        bridge_fail(join->call, GANTRY_INVALID_ARGUMENT,
                    "Concat: axis tensor should be a scalar integer, but got shape %s", text);
        return;
    }
    join->axis = bridge_nearest_int32(bridge_host_int(tensor, 0));
    join_inputs(join, begin);
}

/* ---- dispatch ---- */

static bool join_op(bridge_call_t *call, const char *op, int64_t axis, int count) {
    join_t join = {.call = call, .count = count, .axis = bridge_nearest_int32(axis)};
    if (!strcmp(op, "AddN")) {
        join.kind = JOIN_SUM;
        join_inputs(&join, 0);
    } else if (!strcmp(op, "Pack")) {
        join.kind = JOIN_PACK;
        join_inputs(&join, 0);
    } else if (!strcmp(op, "ConcatV2") || !strcmp(op, "Concat")) {
        const bool is_first = !strcmp(op, "Concat"); /* its axis comes first */
        join.kind = JOIN_CONCAT;
        join.count = count - 1;
        concat_inputs(&join, is_first ? 0 : count - 1, is_first);
    } else {
        return false;
    }
    return true;
}

static bool split_op(bridge_call_t *call, const char *op, int64_t axis, int count) {
    if (!strcmp(op, "Unpack")) {
        op_many_unpack(call, axis, count);
    } else if (!strcmp(op, "Split")) {
        op_many_split(call, count);
    } else if (!strcmp(op, "SplitV")) {
        op_many_split_v(call, count);
    } else {
        return false;
    }
    return true;
}

void op_many_compute(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                     size_t attr_count, int input_count, int output_count) {
    const int64_t axis = int_attr(attrs, attr_count, "axis");
    if (split_op(call, row->op, axis, output_count) || join_op(call, row->op, axis, input_count))
        return;
    bridge_fail(call, GANTRY_UNIMPLEMENTED,
                "%s has %d inputs and %d outputs; Gantry takes %d of each", row->op, input_count,
                output_count, GANTRY_MAX_OP_INPUTS);
}
