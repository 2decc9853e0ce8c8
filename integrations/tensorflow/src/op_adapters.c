/* SPDX-License-Identifier: Apache-2.0 */
/* The changes of arguments that op_adapters.h names, and the pieces that they share. */
#include "op_adapters.h"

#include <string.h>

/* ---- pieces ---- */

/* The value of an INT attribute, which is taken out of the list; 0 if there is none. */
static int64_t take_int(op_args_t *args, const char *name) {
    for (size_t i = 0; i < args->attr_count; ++i) {
        if (strcmp(args->attrs[i].name, name) != 0) continue;
        const int64_t value = args->attrs[i].i;
        args->attrs[i] = args->attrs[--args->attr_count];
        return value;
    }
    return 0;
}

static void op_adapters_add_input(op_args_t *args, const gantry_tensor_t *input) {
    args->inputs[args->input_count++] = input;
}

/* Adds a list of ints: the elements of input i, which must be an int32 vector on the host. */
static void add_ints(bridge_call_t *call, op_args_t *args, const char *name, int i,
                     int64_t *numbers) {
    TF_Tensor *tensor;
    const int32_t *elements = bridge_host_input(call, i, &tensor);
    if (!elements) return;
    const int64_t count = TF_TensorElementCount(tensor);
    if (count > GANTRY_MAX_RANK) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT, "%s has %lld numbers; accepted are %d", name,
                    (long long)count, GANTRY_MAX_RANK);
        return;
    }
    for (int64_t k = 0; k < count; ++k) numbers[k] = elements[k];
    args->attrs[args->attr_count++] =
        (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_INTS, .i = count, .list = numbers};
}

/* ---- adapters ---- */

void adapt_batch_norm_grad(bridge_call_t *call, op_args_t *args) {
    op_adapters_add_input(args,
                          gantry_constant(call->scope, GANTRY_FLOAT32, GANTRY_SHAPE(0), "", 0));
}

void adapt_concat(bridge_call_t *call, op_args_t *args) {
    (void)call;
    const gantry_tensor_t *axis = args->inputs[0];
    const size_t last = args->input_count - 1;
    memmove(args->inputs, args->inputs + 1, last * sizeof *args->inputs);
    args->inputs[last] = axis;
}

void adapt_gather(bridge_call_t *call, op_args_t *args) {
    const int32_t axis = 0;
    (void)take_int(args, "validate_indices");
    op_adapters_add_input(
        args, gantry_constant(call->scope, GANTRY_INT32, GANTRY_SCALAR, &axis, sizeof axis));
}

/* k must have the type of the targets. */
void adapt_k(bridge_call_t *call, op_args_t *args) {
    const int64_t wide = take_int(args, "k");
    const int32_t narrow = bridge_nearest_int32(wide);
    const bool is_wide = gantry_tensor_dtype(args->inputs[1]) == GANTRY_INT64;
    const void *k = is_wide ? (const void *)&wide : &narrow;
    op_adapters_add_input(
        args, gantry_constant(call->scope, is_wide ? GANTRY_INT64 : GANTRY_INT32, GANTRY_SCALAR, k,
                              is_wide ? sizeof wide : sizeof narrow));
}

void adapt_select(bridge_call_t *call, op_args_t *args) {
    const gantry_shape_t *condition = gantry_tensor_shape(args->inputs[0]);
    const gantry_shape_t *then = gantry_tensor_shape(args->inputs[1]);
    if (!gantry_shape_equal(then, gantry_tensor_shape(args->inputs[2]))) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "'then' and 'else' must have the same size. Select does not broadcast; "
                    "SelectV2 does.");
        return;
    }
    if (gantry_shape_equal(condition, then) || condition->rank == 0) return;
    if (condition->rank != 1 || then->rank == 0 || condition->dims[0] != then->dims[0]) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "The condition of Select must be a scalar, have the shape of 'then', or be a "
                    "vector of the size of its first dimension.");
        return;
    }
    gantry_shape_t rows = *then;
    for (int32_t i = 1; i < rows.rank; ++i) rows.dims[i] = 1;
    args->inputs[0] = gantry_reshape(call->scope, args->inputs[0], rows);
}

void adapt_window(bridge_call_t *call, op_args_t *args) {
    const int count = (int)args->input_count;
    args->input_count -= 2;
    add_ints(call, args, "ksize", count - 2, args->numbers);
    add_ints(call, args, "strides", count - 1, args->numbers + GANTRY_MAX_RANK);
}
