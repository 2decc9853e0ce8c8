/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that join elements: checks, calls and parts. */
#include "function/join/join.h"

#include <gantry/ops.h>

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "run/trace_hooks.h"

typedef const gantry_tensor_t tensor;

/* ---- checks ---- */

gantry_status_t gantry__join_check_tensor(const gantry__join_t *join, const char *what,
                                          uint32_t number, tensor *given) {
    if (!given || given->runtime != join->outer->runtime)
        return gantry__refuse("%s %u is %s; a tensor of the scope's runtime is accepted", what,
                              number, given ? "of another runtime" : "NULL");
    return given->is_symbolic ? gantry__trace_check_input(join->outer, given, join->name, number)
                              : GANTRY_OK;
}

static gantry_status_t join_check(const gantry__join_t *join, tensor *const *operands) {
    if (join->count == 0 || join->count > GANTRY_MAX_JOINED)
        return gantry__refuse("%u operands; 1 to %d are accepted", join->count, GANTRY_MAX_JOINED);
    if (!operands) return gantry__refuse("the array of operands is NULL");
    if (!join->outputs) return gantry__refuse("the array of outputs is NULL");
    if (!join->body) return gantry__refuse("body is NULL; a function is accepted");
    for (uint32_t i = 0; i < join->count; ++i) {
        GANTRY__TRY(gantry__join_check_tensor(join, "operand", i, operands[i]));
        if (gantry_shape_equal(&operands[i]->shape, &operands[0]->shape)) continue;
        char got[GANTRY_MAX_RANK * 21 + 3], accepted[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(&operands[i]->shape, got, sizeof got);
        (void)gantry_shape_format(&operands[0]->shape, accepted, sizeof accepted);
        return gantry__refuse("operand %u has shape %s; %s is accepted, as operand 0 has", i, got,
                              accepted);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__join_check_axis(int64_t axis, int64_t number, int32_t rank) {
    char name[32] = "axis";
    if (axis >= -rank && axis < rank) return GANTRY_OK;
    if (number >= 0) (void)snprintf(name, sizeof name, "axes[%lld]", (long long)number);
    if (rank == 0)
        return gantry__refuse("%s is %lld; none is accepted, because a scalar has no axes", name,
                              (long long)axis);
    return gantry__refuse("%s is %lld; %d to %d are accepted for rank %d", name, (long long)axis,
                          -rank, rank - 1, rank);
}

gantry_status_t gantry__join_check_inits(const gantry__join_t *join, tensor *const *operands,
                                         tensor *const *inits) {
    if (!inits) return gantry__refuse("the array of inits is NULL");
    for (uint32_t i = 0; i < join->count; ++i) {
        GANTRY__TRY(gantry__join_check_tensor(join, "init", i, inits[i]));
        if (inits[i]->dtype == operands[i]->dtype && inits[i]->shape.rank == 0) continue;
        char got[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(&inits[i]->shape, got, sizeof got);
        return gantry__refuse("init %u is %s%s; a scalar of operand %u's type, %s, is accepted", i,
                              gantry_dtype_name(inits[i]->dtype), got, i,
                              gantry_dtype_name(operands[i]->dtype));
    }
    return GANTRY_OK;
}

/* No elements: [0] and the sizes. */
static tensor *join_empty(gantry_scope_t *scope, tensor *sizes) {
    const int64_t none = 0;
    size_t count = 1;
    tensor *first = gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(1), &none, sizeof none);
    tensor *dims = gantry_concat(scope, (tensor *[]){first, sizes}, 2, 0), *made = NULL;
    (void)gantry_op_call(scope, "Fill", (tensor *[]){dims, gantry_scalar_i32(scope, 0)}, 2, NULL, 0,
                         &made, &count);
    return made;
}

/* Fails in a call whose sizes from first to last - 1 are unlike. */
static tensor *join_compare(gantry_scope_t *scope, const char *name, tensor *const *sizes,
                            int64_t first, int64_t last) {
    const int64_t count = last - first;
    tensor *empty[2];
    for (int i = 0; i < 2; ++i)
        empty[i] = join_empty(scope, gantry_slice(scope, sizes[i], &first, &count));
    (void)gantry_scope_name_next(scope, name);
    return gantry_add_n(scope, empty, 2);
}

gantry_status_t gantry__join_wait_for_sizes(const gantry__join_t *join, const char *what,
                                            uint32_t number, tensor *x, tensor *sizes) {
    gantry_scope_t *scope = join->scope;
    char given[sizeof scope->next_name], name[sizeof scope->next_name];
    const int64_t rank = x->shape.rank, most = GANTRY_MAX_RANK - 1; /* a size of 0 is added */
    (void)snprintf(name, sizeof name, "%s_%s_%u", join->name, what, number);
    memcpy(given, scope->next_name, sizeof given);
    scope->next_name[0] = '\0';
    tensor *const both[] = {sizes, gantry_shape(scope, x, GANTRY_INT64)};
    for (int64_t first = 0; first < rank; first += most) {
        tensor *compared =
            join_compare(scope, name, both, first, rank - first < most ? rank : first + most);
        GANTRY__TRY(gantry__join_status(join));
        GANTRY__TRY(gantry__trace_follow(scope, &compared, 1));
    }
    memcpy(scope->next_name, given, sizeof given);
    return GANTRY_OK;
}

/* Open sizes of the operands are compared in each call. */
static gantry_status_t join_wait_for_operands(const gantry__join_t *join, tensor *const *operands) {
    for (uint32_t i = 1; i < join->count; ++i) {
        if (operands[i]->elements >= 0 && operands[0]->elements >= 0) continue;
        GANTRY__TRY(gantry__join_wait_for_sizes(
            join, "operand", i, operands[i], gantry_shape(join->scope, operands[0], GANTRY_INT64)));
    }
    return GANTRY_OK;
}

/* ---- the join's scope ---- */

gantry__join_t gantry__join_of(const char *name, gantry_scope_t *scope,
                               gantry_function_body_fn body, void *user, size_t count,
                               tensor **outputs) {
    return (gantry__join_t){.name = name,
                            .outer = scope,
                            .body = body,
                            .user = user,
                            .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
                            .outputs = outputs};
}

gantry_status_t gantry__join_begin(gantry__join_t *join, tensor *const *operands) {
    GANTRY__TRY(gantry__scope_check(join->outer));
    GANTRY__TRY(join_check(join, operands));
    join->scope = gantry_scope_begin_in(join->outer, NULL);
    if (!join->scope) return GANTRY_RESOURCE_EXHAUSTED;
    /* a name that the program gave is that of the first part */
    memcpy(join->scope->next_name, join->outer->next_name, sizeof join->outer->next_name);
    join->outer->next_name[0] = '\0';
    return join_wait_for_operands(join, operands);
}

/* Moves a tensor to the parent of a scope; another owner's as an alias. */
static tensor *keep_in_parent(gantry_scope_t *scope, tensor *given) {
    if (given->scope != scope) given = gantry_identity(scope, given);
    return given ? gantry_scope_keep(scope, given) : NULL;
}

static gantry_status_t join_keep_list(const gantry_scope_t *scope, gantry_scope_t *inner,
                                      uint32_t count, tensor *const *given, tensor **out) {
    for (uint32_t i = 0; i < count; ++i) {
        out[i] = keep_in_parent(inner, given[i]);
        if (!out[i]) return gantry__fail(inner->status, "%s", gantry_scope_message(inner));
    }
    return scope->status;
}

gantry_status_t gantry__join_end(gantry__join_t *join, gantry_status_t status,
                                 tensor *const *results) {
    tensor **outputs = join->outputs;
    gantry__joined_t made;
    if (status == GANTRY_OK)
        status = join_keep_list(join->outer, join->scope, join->count, results, made);
    if (join->scope) status = gantry__scope_end_body(join->scope, status);
    for (uint32_t i = 0; outputs && i < join->count; ++i)
        outputs[i] = status == GANTRY_OK ? made[i] : NULL;
    if (status == GANTRY_OK) return GANTRY_OK;
    status = gantry__fail_prefix(status, "%s: ", join->name);
    return join->outer ? gantry__scope_fail(join->outer, status) : status;
}

/* ---- calls ---- */

static gantry_status_t join_check_output(const gantry_scope_t *scope, uint32_t output,
                                         tensor *given, tensor *left) {
    if (given->runtime != scope->runtime)
        return gantry__refuse(
            "body sets output %u to a tensor of another runtime; a tensor of its scope is accepted",
            output);
    if (given->is_symbolic) GANTRY__TRY(gantry__trace_check_input(scope, given, "body", output));
    if (given->dtype == left->dtype && gantry_shape_equal(&given->shape, &left->shape))
        return GANTRY_OK;
    char got[GANTRY_MAX_RANK * 21 + 3], accepted[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(&given->shape, got, sizeof got);
    (void)gantry_shape_format(&left->shape, accepted, sizeof accepted);
    return gantry__refuse(
        "body sets output %u to %s%s; %s%s is accepted, as its inputs have: a "
        "body must be elementwise",
        output, gantry_dtype_name(given->dtype), got, gantry_dtype_name(left->dtype), accepted);
}

/* Calls the body in a scope of its own. */
static gantry_status_t join_run_body(const gantry__join_t *join, gantry_scope_t *at,
                                     tensor *const *inputs, tensor **out) {
    const uint32_t failures = gantry__failures();
    gantry__joined_t made;
    GANTRY__TRY(gantry__body_call(join->body, join->user, at, inputs, made, join->count));
    for (uint32_t i = 0; i < join->count; ++i) {
        if (!made[i]) return gantry__body_lacks_output(at, "body", i, failures);
        GANTRY__TRY(join_check_output(at, i, made[i], inputs[i]));
    }
    return join_keep_list(join->scope, at, join->count, made, out);
}

gantry_status_t gantry__join_call(const gantry__join_t *join, tensor *const *left,
                                  tensor *const *right, tensor **out) {
    tensor *inputs[2 * GANTRY_MAX_JOINED];
    for (uint32_t i = 0; i < join->count; ++i) {
        inputs[i] = left[i];
        inputs[join->count + i] = right[i];
    }
    gantry_scope_t *at = gantry_scope_begin_in(join->scope, NULL);
    if (!at) return GANTRY_RESOURCE_EXHAUSTED;
    return gantry__scope_end_body(at, join_run_body(join, at, inputs, out));
}

void gantry__join_drop(const gantry__join_t *join, tensor *const *list) {
    for (uint32_t i = 0; i < join->count; ++i) gantry_tensor_drop(join->scope, list[i]);
}

/* ---- parts ---- */

void gantry__join_copy(const gantry__join_t *join, tensor *const *from, tensor **to) {
    for (uint32_t i = 0; i < join->count; ++i) to[i] = from[i];
}

gantry_status_t gantry__join_status(const gantry__join_t *join) {
    const gantry_scope_t *scope = join->scope;
    return scope->status == GANTRY_OK
               ? GANTRY_OK
               : gantry__fail(scope->status, "%s", gantry_scope_message(scope));
}

static tensor *join_slice_one(gantry_scope_t *scope, tensor *x, int32_t axis, int64_t begin,
                              int64_t count, int64_t stride) {
    int64_t begins[GANTRY_MAX_RANK] = {0}, sizes[GANTRY_MAX_RANK], strides[GANTRY_MAX_RANK];
    const size_t rank = (size_t)x->shape.rank;
    if (x->shape.dims[axis] == count && begin == 0) return gantry_identity(scope, x);
    for (size_t d = 0; d < rank; ++d) {
        sizes[d] = -1;
        strides[d] = 1;
    }
    begins[axis] = begin;
    sizes[axis] = count;
    if (stride == 1) return gantry_slice(scope, x, begins, sizes);
    sizes[axis] = begin + (count - 1) * stride + 1;
    strides[axis] = stride;
    const gantry_strided_slice_options_t options = {.struct_size = sizeof options,
                                                    .end_mask = ((1 << rank) - 1) & ~(1 << axis)};
    return gantry_strided_slice(scope, x, begins, sizes, strides, rank, &options);
}

gantry_status_t gantry__join_slice(const gantry__join_t *join, tensor *const *x, int32_t axis,
                                   int64_t begin, int64_t count, int64_t stride, tensor **out) {
    for (uint32_t i = 0; i < join->count; ++i)
        out[i] = join_slice_one(join->scope, x[i], axis, begin, count, stride);
    return gantry__join_status(join);
}

gantry_status_t gantry__join_concat(const gantry__join_t *join, tensor *const *first,
                                    tensor *const *second, int32_t axis, tensor **out) {
    for (uint32_t i = 0; i < join->count; ++i)
        out[i] = gantry_concat(join->scope, (tensor *[]){first[i], second[i]}, 2, axis);
    return gantry__join_status(join);
}

/* Which places of what is padded are elements: sizes of 1 along axes that are not padded. */
static tensor *find_elements(gantry_scope_t *scope, const gantry_shape_t *shape,
                             const int64_t *paddings, const gantry_pad_options_t *options) {
    gantry_shape_t places = {.rank = shape->rank};
    const bool yes = true;
    for (int32_t d = 0; d < shape->rank; ++d) {
        const bool is_padded =
            paddings[2 * d] != 0 || paddings[2 * d + 1] != 0 || options->interior[d] != 0;
        places.dims[d] = is_padded ? shape->dims[d] : 1;
    }
    tensor *one = gantry_constant(scope, GANTRY_BOOL, GANTRY_SCALAR, &yes, sizeof yes);
    return gantry_pad(scope, gantry_fill(scope, places, one), paddings, options);
}

/* The inits are chosen, not the value of Pad, because that has no gradient, as in TensorFlow. */
gantry_status_t gantry__join_pad(const gantry__join_t *join, tensor *const *inits,
                                 const int64_t *paddings, const int64_t *interior, tensor **x) {
    gantry_scope_t *scope = join->scope;
    const gantry_pad_options_t options = {
        .struct_size = sizeof options, .interior = interior, .crop = true};
    tensor *elements = find_elements(scope, &x[0]->shape, paddings, &options);
    for (uint32_t i = 0; i < join->count; ++i) {
        tensor *padded = gantry_pad(scope, x[i], paddings, &options);
        gantry_tensor_drop(scope, x[i]);
        x[i] = gantry_select(scope, elements, padded, inits[i]);
        gantry_tensor_drop(scope, padded);
    }
    gantry_tensor_drop(scope, elements);
    return gantry__join_status(join);
}
