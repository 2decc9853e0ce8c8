/* SPDX-License-Identifier: Apache-2.0 */
#include "train/tape/rule_help.h"

#include "train/base/fail.h"

typedef const gantry_tensor_t tensor;

/* ---- shapes ---- */

int32_t gantry__rule_open_sizes(const gantry_tensor_t *x) {
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

/* ---- what was recorded ---- */

bool gantry__rule_knows_ints(const gantry__rule_call_t *c, size_t input, int64_t *out, size_t room,
                             size_t *out_count) {
    const gantry_tensor_t *x = c->x[input];
    const int64_t count = gantry_tensor_elements(x);
    int32_t narrow[4 * GANTRY_MAX_RANK];
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
    if (!gantry__rule_read_ints(c, input, &axis, 1, &count)) return false;
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
