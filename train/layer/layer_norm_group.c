/* SPDX-License-Identifier: Apache-2.0 */
/* GroupNormalization. */
#include "train/base/fail.h"
#include "train/layer/layer_norm.h"

typedef const gantry_tensor_t tensor;
typedef gantry__norm_t norm_t;

static int64_t groups_of(const norm_t *n, int64_t size) {
    return n->groups == -1 ? size : n->groups;
}

static gantry_status_t group_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    const norm_t *n = user;
    GANTRY__TRY(gantry__norm_find_axes(layer, inputs, input_count, GANTRY_MAX_RANK - 1));
    const int64_t size = inputs[0].dims[n->axes[0]];
    if (size < 1 || size % groups_of(n, size) != 0)
        return gantry__train_refuse(
            NULL,
            "layer GroupNormalization: %lld groups of a dimension of %lld; a number that divides it is accepted, or -1",
            (long long)n->groups, (long long)size);
    return gantry__norm_add_scale_and_offset(layer, inputs);
}

/* Returns x's shape with the dimension split in two, groups and elements of a group. With `ones`,
 * all other sizes are 1. */
static gantry_shape_t split_shape(const norm_t *n, const gantry_shape_t *x, bool ones) {
    gantry_shape_t shape = {.rank = x->rank + 1};
    const int32_t axis = n->axes[0];
    for (int32_t d = 0; d < x->rank; ++d) shape.dims[d + (d > axis)] = ones ? 1 : x->dims[d];
    shape.dims[axis] = groups_of(n, x->dims[axis]);
    shape.dims[axis + 1] = x->dims[axis] / shape.dims[axis];
    return shape;
}

/* Channels are the second dimension or the last one: the op, except for 16-bit types, whose
 * gradient is computed in float32 without it. */
static tensor *group_op(const gantry_layer_call_t *call, const norm_t *n, int64_t groups,
                        const char *format) {
    const gantry_attr_value_t attrs[] = {
        {.name = "num_groups", .kind = GANTRY_ATTR_INT, .i = groups},
        {.name = "epsilon", .kind = GANTRY_ATTR_FLOAT, .f = n->epsilon},
        {.name = "data_format", .kind = GANTRY_ATTR_STRING, .s = format}};
    tensor *inputs[] = {call->inputs[0], gantry__norm_scale(call, n), gantry__norm_offset(call, n)},
           *y = NULL;
    size_t count = 1;
    (void)gantry_op_call(call->scope, "GroupNorm", inputs, 3, attrs, 3, &y, &count);
    return y;
}

static tensor *group_call(const gantry_layer_call_t *call, void *user) {
    if (!gantry__layer_has_floats(call, "GroupNormalization")) return NULL;
    const norm_t *n = user;
    gantry_scope_t *s = call->scope;
    const gantry_shape_t *shape = gantry_tensor_shape(call->inputs[0]);
    const int32_t axis = n->axes[0];
    if ((axis == 1 || axis == shape->rank - 1) &&
        gantry_dtype_size(gantry_tensor_dtype(call->inputs[0])) > 2)
        return group_op(call, n, groups_of(n, shape->dims[axis]), axis == 1 ? "NCHW" : "NHWC");
    const gantry_shape_t weight = split_shape(n, shape, true);
    tensor *x = gantry_reshape(s, call->inputs[0], split_shape(n, shape, false)), *mean, *variance;
    int32_t axes[GANTRY_MAX_RANK];
    gantry_reduce_options_t over = {.axes = axes, .keep_dims = true};
    for (int32_t d = 1; d <= shape->rank; ++d) {
        if (d != axis) axes[over.axis_count++] = d;
    }
    if (gantry_moments(s, x, &over, &mean, &variance) != GANTRY_OK) return NULL;
    tensor *y = gantry_batch_norm(
        s, x, mean, variance, gantry_reshape(s, gantry__norm_offset(call, n), weight),
        gantry_reshape(s, gantry__norm_scale(call, n), weight), n->epsilon);
    return gantry_reshape(s, y, *shape);
}

gantry_layer_t *gantry_group_normalization(int64_t groups, const gantry_norm_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("GroupNormalization", group_build, group_call, .passes_masks = true);
    if (groups < -1)
        return gantry__train_refuse_pointer(
            NULL,
            "layer GroupNormalization: %lld groups; 0 (which is 32), -1 and positive numbers are accepted",
            (long long)groups);
    gantry_layer_t *layer = gantry__norm_layer(&kind, 1, 0.001, options);
    if (layer) ((norm_t *)layer->user)->groups = groups == 0 ? 32 : groups;
    return layer;
}
