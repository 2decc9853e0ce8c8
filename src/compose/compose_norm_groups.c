/* SPDX-License-Identifier: Apache-2.0 */
/* RMSNorm, GroupNorm, InstanceNorm. float16 and bfloat16 are computed in float32 and rounded once,
 * at the end. A variance is the mean of the squared distances from the mean. */
#include <string.h>

#include <gantry/ops.h>

#include "op/op_infer.h"
#include "run/call_op.h"
#include "compose/compose.h"

typedef const gantry_tensor_t tensor;

static tensor *mean_kept(const gantry__compose_t *c, tensor *x, const int32_t *axes,
                         int32_t count) {
    const gantry_reduce_options_t options = {
        .axes = axes, .axis_count = (size_t)count, .keep_dims = true};
    return gantry_mean(c->scope, x, &options);
}

/* x / sqrt(variance + epsilon), with one division for each variance. */
static tensor *divide_by_root(const gantry__compose_t *c, tensor *x, tensor *variance) {
    const gantry_dtype_t dtype = x ? x->dtype : GANTRY_FLOAT32;
    tensor *epsilon = gantry__compose_scalar(c, dtype, gantry__infer_attr(c->call, "epsilon")->f);
    tensor *root = gantry_sqrt(c->scope, gantry_add(c->scope, variance, epsilon));
    tensor *factor = gantry_div(c->scope, gantry__compose_scalar(c, dtype, 1.0), root);
    return gantry_mul(c->scope, x, factor);
}

/* As tf.keras's RMSNormalization: x * rsqrt(mean square + epsilon) * scale. */
void gantry__compose_rms_norm(const gantry__compose_t *c) {
    gantry_scope_t *s = c->scope;
    int32_t axes[GANTRY_MAX_RANK];
    const int32_t rank = c->inputs[0]->shape.rank, count = c->inputs[1]->shape.rank;
    for (int32_t i = 0; i < count; ++i) axes[i] = rank - count + i;
    tensor *x = gantry__compose_widen(c, c->inputs[0]);
    tensor *squares = gantry_tensor_donate(s, gantry_square(s, x));
    tensor *epsilon = gantry__compose_scalar(c, x ? x->dtype : GANTRY_FLOAT32,
                                             gantry__infer_attr(c->call, "epsilon")->f);
    tensor *mean = mean_kept(c, squares, axes, count);
    tensor *y = gantry_mul(s, x, gantry_rsqrt(s, gantry_add(s, mean, epsilon)));
    y = gantry_mul(s, gantry_tensor_donate(s, y), gantry__compose_widen(c, c->inputs[1]));
    c->outputs[0] = gantry__compose_narrow(c, y, c->call->out_dtypes[0]);
}

/* The forms of x. parts: with the axes over which it is normalised, which are the last one if
 * channels are the second dimension, so that a function makes one kernel of rows of it. scaled:
 * with the channels as dimensions. */
typedef struct group_form_t {
    gantry_shape_t parts, scaled, by_channel;
    int32_t axes[2], axis_count;
} group_form_t;

static group_form_t group_form_of(const gantry__compose_t *c, int64_t groups) {
    const gantry_shape_t *x = &c->inputs[0]->shape;
    const bool is_last = strcmp(gantry__infer_attr(c->call, "data_format")->s, "NHWC") == 0;
    const int64_t channels = x->dims[is_last ? x->rank - 1 : 1],
                  each = groups > 0 ? channels / groups : 0;
    int64_t points = 1;
    for (int32_t d = is_last ? 1 : 2; d < (is_last ? x->rank - 1 : x->rank); ++d)
        points *= x->dims[d];
    if (is_last) {
        const gantry_shape_t all = GANTRY_SHAPE(x->dims[0], points, groups, each);
        return (group_form_t){.parts = all,
                              .scaled = all,
                              .by_channel = GANTRY_SHAPE(groups, each),
                              .axes = {1, 3},
                              .axis_count = 2};
    }
    const gantry_shape_t parts = GANTRY_SHAPE(x->dims[0], groups, each * points);
    return (group_form_t){
        .parts = parts,
        .scaled = each == 1 ? parts : GANTRY_SHAPE(x->dims[0], groups, each, points),
        .by_channel = each == 1 ? GANTRY_SHAPE(groups, 1) : GANTRY_SHAPE(groups, each, 1),
        .axes = {2},
        .axis_count = 1};
}

static void normalise_groups(const gantry__compose_t *c, int64_t groups) {
    gantry_scope_t *s = c->scope;
    const group_form_t form = group_form_of(c, groups);
    tensor *in[3];
    for (int i = 0; i < 3; ++i) {
        in[i] = gantry_reshape(s, c->inputs[i], i == 0 ? form.parts : form.by_channel);
        in[i] = gantry__compose_widen(c, in[i]);
    }
    tensor *mean = mean_kept(c, in[0], form.axes, form.axis_count);
    tensor *apart = gantry_sub(s, in[0], mean);
    tensor *squares = gantry_tensor_donate(s, gantry_square(s, apart));
    tensor *variance = mean_kept(c, squares, form.axes, form.axis_count);
    tensor *y = divide_by_root(c, apart, variance);
    if (form.scaled.rank != form.parts.rank)
        y = gantry_reshape(s, gantry_tensor_donate(s, y), form.scaled);
    y = gantry_mul(s, gantry_tensor_donate(s, y), in[1]);
    y = gantry_add(s, gantry_tensor_donate(s, y), in[2]);
    y = gantry__compose_narrow(c, y, c->call->out_dtypes[0]);
    c->outputs[0] = gantry_reshape(s, y, c->call->out_shapes[0]);
}

void gantry__compose_group_norm(const gantry__compose_t *c) {
    normalise_groups(c, gantry__infer_attr(c->call, "num_groups")->i);
}

void gantry__compose_instance_norm(const gantry__compose_t *c) {
    normalise_groups(c, c->call->shapes[1]->dims[0]);
}
