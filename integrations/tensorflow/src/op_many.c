/* SPDX-License-Identifier: Apache-2.0 */
#include "op_many.h"

#include <stdlib.h>
#include <string.h>

/* Tensors of one call: a concatenation has its axis as an input, too. */
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

/* The number in an input that lies on the host. */
static int64_t host_number(bridge_call_t *call, int i) {
    int32_t number = 0;
    TF_Tensor *tensor = NULL;
    const void *data = bridge_host_input(call, i, &tensor);
    if (data && TF_TensorByteSize(tensor) == sizeof number) memcpy(&number, data, sizeof number);
    return number;
}

/* ---- joining ---- */

typedef enum join_t { JOIN_SUM, JOIN_CONCAT, JOIN_PACK } join_t;

static const gantry_tensor_t *join_group(gantry_scope_t *scope, join_t join,
                                         const gantry_tensor_t *const *list, size_t count,
                                         int32_t axis) {
    if (join == JOIN_SUM) return gantry_add_n(scope, list, count);
    if (join == JOIN_CONCAT) return gantry_concat(scope, list, count, axis);
    return gantry_pack(scope, list, count, axis);
}

/* Joins groups, then the results, until one is left. Packed groups are concatenated. */
static const gantry_tensor_t *join_all(gantry_scope_t *scope, join_t join,
                                       const gantry_tensor_t **list, size_t count, int32_t axis) {
    while (count > 1) {
        size_t made = 0;
        for (size_t i = 0; i < count; i += MANY_GROUP) {
            const size_t size = count - i < MANY_GROUP ? count - i : MANY_GROUP;
            list[made++] = join_group(scope, join, list + i, size, axis);
        }
        if (join == JOIN_PACK) join = JOIN_CONCAT;
        count = made;
    }
    return list[0];
}

static void join_inputs(bridge_call_t *call, join_t join, int count, int32_t axis) {
    const gantry_tensor_t **list = malloc((size_t)count * sizeof *list);
    if (!list) {
        bridge_fail(call, GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
        return;
    }
    for (int i = 0; i < count; ++i) list[i] = bridge_input(call, i);
    if (!bridge_has_failed(call)) {
        bridge_output(call, 0, join_all(call->scope, join, list, (size_t)count, axis));
    }
    free(list);
}

/* ---- splitting ---- */

/* Sets every output to an equal part of x along axis; unpacked, without that dimension. */
static void split_input(bridge_call_t *call, const gantry_tensor_t *x, int64_t axis, int count,
                        bool is_unpacked) {
    if (!x || bridge_has_failed(call)) return;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if (axis < 0) axis += shape->rank;
    if (axis < 0 || axis >= shape->rank || shape->dims[axis] % count) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "a tensor of %d dimensions cannot be split into %d equal parts along axis %d",
                    shape->rank, count, (int)axis);
        return;
    }
    int64_t begin[GANTRY_MAX_RANK] = {0};
    gantry_shape_t part = *shape, unpacked = {.rank = shape->rank - 1};
    part.dims[axis] /= count;
    for (int32_t i = 0; i < unpacked.rank; ++i) unpacked.dims[i] = part.dims[i + (i >= axis)];
    for (int i = 0; i < count && !bridge_has_failed(call); ++i) {
        begin[axis] = i * part.dims[axis];
        const gantry_tensor_t *slice = gantry_slice(call->scope, x, begin, part.dims);
        bridge_output(call, i, is_unpacked ? gantry_reshape(call->scope, slice, unpacked) : slice);
    }
}

void op_many_compute(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                     size_t attr_count, int input_count, int output_count) {
    const int64_t axis = int_attr(attrs, attr_count, "axis");
    if (!strcmp(row->op, "AddN")) {
        join_inputs(call, JOIN_SUM, input_count, 0);
    } else if (!strcmp(row->op, "ConcatV2")) {
        join_inputs(call, JOIN_CONCAT, input_count - 1,
                    (int32_t)host_number(call, input_count - 1));
    } else if (!strcmp(row->op, "Pack")) {
        join_inputs(call, JOIN_PACK, input_count, (int32_t)axis);
    } else if (!strcmp(row->op, "Unpack")) {
        split_input(call, bridge_input(call, 0), axis, output_count, true);
    } else if (!strcmp(row->op, "Split")) {
        split_input(call, bridge_input(call, 1), host_number(call, 0), output_count, false);
    } else {
        bridge_fail(call, GANTRY_UNIMPLEMENTED,
                    "%s has %d inputs and %d outputs; Gantry takes %d of each", row->op,
                    input_count, output_count, GANTRY_MAX_OP_INPUTS);
    }
}
