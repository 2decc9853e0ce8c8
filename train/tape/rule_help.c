/* SPDX-License-Identifier: Apache-2.0 */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

/* ---- shapes ---- */

int32_t gantry__rule_open_sizes(tensor *x) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    int32_t count = 0;
    for (int32_t d = 0; d < shape->rank; ++d) count += shape->dims[d] < 0;
    return count;
}

static bool has_zero(const gantry_shape_t *shape) {
    for (int32_t d = 0; d < shape->rank; ++d) {
        if (shape->dims[d] == 0) return true;
    }
    return false;
}

tensor *gantry__rule_size(const gantry__rule_call_t *c, tensor *x, int32_t dimension) {
    gantry_scope_t *s = c->scope;
    tensor *shape = gantry_shape(s, x, GANTRY_INT32);
    return gantry_reshape(s, gantry_slice(s, shape, (int64_t[]){dimension}, (int64_t[]){1}),
                          GANTRY_SCALAR);
}

tensor *gantry__rule_reshape_like(const gantry__rule_call_t *c, tensor *x, tensor *like) {
    if (!x) return NULL;
    const gantry_shape_t *shape = gantry_tensor_shape(like);
    const int32_t open = gantry__rule_open_sizes(like);
    if (open == 0 || (open == 1 && !has_zero(shape))) return gantry_reshape(c->scope, x, *shape);
    return gantry__rule_op2(c, "Reshape", x, gantry_shape(c->scope, like, GANTRY_INT32));
}

tensor *gantry__rule_broadcast_like(const gantry__rule_call_t *c, tensor *x, tensor *like) {
    if (!x) return NULL;
    if (gantry__rule_open_sizes(like) == 0)
        return gantry_broadcast_to(c->scope, x, gantry__shape(like));
    return gantry__rule_op2(c, "BroadcastTo", x, gantry_shape(c->scope, like, GANTRY_INT32));
}

/* ---- sizes: known, or computed in each call ---- */

/* -1 if one is open. */
static int64_t known_product(const gantry_shape_t *shape, int32_t from, int32_t to) {
    int64_t count = 1;
    for (int32_t d = from; d < to; ++d) {
        if (shape->dims[d] < 0) return -1;
        count *= shape->dims[d];
    }
    return count;
}

gantry__rule_size_t gantry__rule_sizes(const gantry__rule_call_t *c, tensor *x, int32_t from,
                                       int32_t to) {
    gantry_scope_t *s = c->scope;
    if (!x) return (gantry__rule_size_t){.known = 1}; /* after a failure */
    const int64_t known = known_product(gantry_tensor_shape(x), from, to);
    if (known >= 0) return (gantry__rule_size_t){.known = known};
    tensor *sizes = gantry_slice(s, gantry_shape(s, x, GANTRY_INT64), (int64_t[]){from},
                                 (int64_t[]){to - from});
    return (gantry__rule_size_t){-1, gantry_prod(s, sizes, NULL)};
}

tensor *gantry__rule_size_tensor(const gantry__rule_call_t *c, gantry__rule_size_t size) {
    return size.known < 0 ? size.open : gantry_scalar_i64(c->scope, size.known);
}

gantry__rule_size_t gantry__rule_times(const gantry__rule_call_t *c, gantry__rule_size_t a,
                                       gantry__rule_size_t b) {
    if (a.known >= 0 && b.known >= 0) return (gantry__rule_size_t){.known = a.known * b.known};
    return (gantry__rule_size_t){
        -1, gantry_mul(c->scope, gantry__rule_size_tensor(c, a), gantry__rule_size_tensor(c, b))};
}

tensor *gantry__rule_reshape_by(const gantry__rule_call_t *c, tensor *x,
                                const gantry__rule_size_t *sizes, int32_t count) {
    gantry_shape_t shape = {.rank = count};
    tensor *numbers[GANTRY_MAX_RANK];
    int32_t open = 0;
    for (int32_t d = 0; d < count; ++d) {
        shape.dims[d] = sizes[d].known;
        open += sizes[d].known < 0;
    }
    if (open == 0 || (open == 1 && !has_zero(&shape))) return gantry_reshape(c->scope, x, shape);
    for (int32_t d = 0; d < count; ++d) numbers[d] = gantry__rule_size_tensor(c, sizes[d]);
    return gantry__rule_op2(c, "Reshape", x, gantry_pack(c->scope, numbers, (size_t)count, 0));
}

/* ---- what was recorded ---- */

bool gantry__rule_knows_ints(const gantry__rule_call_t *c, size_t input, int64_t *out, size_t room,
                             size_t *out_count) {
    tensor *x = c->x[input];
    const int64_t count = gantry_tensor_elements(x);
    int32_t narrow[4 * GANTRY_MAX_RANK];
    *out_count = 0;
    if (count == 0) return true;
    if (count < 0 || (size_t)count > room || room > 4 * GANTRY_MAX_RANK) return false;
    const bool is_narrow = gantry_tensor_dtype(x) == GANTRY_INT32;
    if (gantry_tensor_read(x, is_narrow ? (void *)narrow : (void *)out,
                           (size_t)count * (is_narrow ? sizeof *narrow : sizeof *out)) != GANTRY_OK)
        return false;
    for (size_t i = 0; is_narrow && i < (size_t)count; ++i) out[i] = narrow[i];
    *out_count = (size_t)count;
    return true;
}

bool gantry__rule_axis(const gantry__rule_call_t *c, size_t input, int32_t rank, int32_t *out) {
    int64_t axis;
    size_t count;
    if (!gantry__rule_knows_ints(c, input, &axis, 1, &count) || count == 0) return false;
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return true;
}

tensor *gantry__rule_again(const gantry__rule_call_t *c, const char *op, tensor *const inputs[4],
                           const char *const *attr_names, size_t attr_count) {
    gantry_attr_value_t attrs[8];
    size_t input_count = 0, found = 0;
    while (input_count < 4 && inputs[input_count]) ++input_count;
    for (size_t i = 0; i < attr_count && found < 8; ++i) {
        const gantry_attr_value_t *attr = gantry__rule_attr(c, attr_names[i]);
        if (attr) attrs[found++] = *attr;
    }
    return gantry__rule_op(c, op, inputs, input_count, attrs, found);
}

tensor *gantry__rule_number(const gantry__rule_call_t *c, double value) {
    return gantry__rule_scalar(c, c->x[0], value);
}

void gantry__rule_chain(const gantry__rule_call_t *c, tensor *derivative) {
    c->dx[0] = gantry_mul(c->scope, c->dy[0], derivative);
}

tensor *gantry__rule_dy(const gantry__rule_call_t *c, size_t output) {
    return c->dy[output] ? c->dy[output] : gantry_zeros_like(c->scope, c->y[output]);
}

/* ---- places ---- */

tensor *gantry__rule_put_back(const gantry__rule_call_t *c, tensor *dy, tensor *places,
                              tensor *like) {
    gantry_scope_t *s = c->scope;
    if (!dy || !places) return NULL;
    tensor *inputs[] = {gantry_reshape(s, dy, GANTRY_SHAPE(-1)),
                        gantry_reshape(s, places, GANTRY_SHAPE(-1)),
                        gantry_size(s, like, GANTRY_INT64)};
    return gantry__rule_reshape_like(
        c, gantry__rule_op(c, "UnsortedSegmentSum", inputs, 3, NULL, 0), like);
}

/* ---- broadcasting ---- */

/* Whether a size of an operand depends on data, and another operand might repeat it. */
static bool may_be_repeated(const gantry__rule_call_t *c, tensor *operand) {
    const gantry_shape_t *shape = gantry_tensor_shape(operand);
    for (size_t i = 0; i < c->record->input_count; ++i) {
        const gantry_shape_t *other = gantry_tensor_shape(c->x[i]);
        const int32_t shift = other->rank - shape->rank;
        for (int32_t d = 0; c->x[i] != operand && d < shape->rank; ++d) {
            if (shape->dims[d] < 0 && d + shift >= 0 && other->dims[d + shift] != 1) return true;
        }
    }
    return false;
}

tensor *gantry__rule_sum_open(const gantry__rule_call_t *c, tensor *gradient, tensor *like) {
    tensor *axes[2] = {NULL, NULL};
    tensor *shapes[] = {gantry_shape(c->scope, like, GANTRY_INT32),
                        gantry_shape(c->scope, gradient, GANTRY_INT32)};
    const gantry_attr_value_t keep = {.name = "keep_dims", .kind = GANTRY_ATTR_BOOL, .i = true};
    size_t count = 2;
    (void)gantry_op_call(c->scope, "BroadcastGradientArgs", shapes, 2, NULL, 0, axes, &count);
    tensor *sum = gantry__rule_op(c, "Sum", (tensor *[]){gradient, axes[0]}, 2, &keep, 1);
    return gantry__rule_reshape_like(c, sum, like);
}

tensor *gantry__rule_sum_to(const gantry__rule_call_t *c, tensor *gradient, tensor *like) {
    if (!gradient) return NULL;
    if (may_be_repeated(c, like)) return gantry__rule_sum_open(c, gradient, like);
    const gantry_shape_t *from = gantry_tensor_shape(gradient), *to = gantry_tensor_shape(like);
    const int32_t added = from->rank - to->rank;
    int32_t axes[GANTRY_MAX_RANK];
    size_t count = 0;
    for (int32_t d = 0; d < from->rank; ++d) {
        if (d < added || (to->dims[d - added] == 1 && from->dims[d] != 1)) axes[count++] = d;
    }
    if (count > 0)
        gradient = gantry_sum(
            c->scope, gradient,
            &(gantry_reduce_options_t){.axes = axes, .axis_count = count, .keep_dims = true});
    return added > 0 || gantry__rule_open_sizes(like) > 0
               ? gantry__rule_reshape_like(c, gradient, like)
               : gradient;
}
