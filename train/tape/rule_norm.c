/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of softmax, of losses of logits, and of normalisation. */
#include <string.h>

#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static const int32_t last_axis[] = {-1};
static const gantry_reduce_options_t over_last = {
    .axes = last_axis, .axis_count = 1, .keep_dims = true};

/* ---- softmax ---- */

/* (dy - sum(dy y)) y */
static tensor *softmax_gradient(gantry__rule_call_t *c, tensor *y, tensor *dy) {
    gantry_scope_t *s = c->scope;
    return gantry_mul(s, gantry_sub(s, dy, gantry_sum(s, gantry_mul(s, dy, y), &over_last)), y);
}

static void rule_softmax(gantry__rule_call_t *c) {
    c->dx[0] = softmax_gradient(c, c->y[0], c->dy[0]);
}

/* dy - sum(dy) exp(y) */
static void rule_log_softmax(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *sum = gantry_sum(s, c->dy[0], &over_last);
    c->dx[0] = gantry_sub(s, c->dy[0], gantry_mul(s, sum, gantry_exp(s, c->y[0])));
}

/* ---- losses of logits: output 1 is the gradient of output 0 ---- */

/* A number for each row as a column. */
static tensor *as_column(gantry__rule_call_t *c, tensor *rows) {
    return gantry_expand_dims(c->scope, rows, -1);
}

static tensor *logits_gradient(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *first = c->dy[0] ? gantry_mul(s, as_column(c, c->dy[0]), c->y[1]) : NULL;
    if (!c->dy[1]) return first;
    /* of a second-order gradient: output 1 is softmax(logits) - labels */
    tensor *second = softmax_gradient(c, gantry_softmax(s, c->x[0]), c->dy[1]);
    return first ? gantry_add(s, first, second) : second;
}

static void rule_sparse_cross_entropy(gantry__rule_call_t *c) { c->dx[0] = logits_gradient(c); }

static void rule_cross_entropy(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    if (c->wants[0]) c->dx[0] = gantry__rule_sum_to(c, logits_gradient(c), c->x[0]);
    if (c->wants[1] && c->dy[0])
        c->dx[1] = gantry__rule_sum_to(
            c, gantry_mul(s, as_column(c, c->dy[0]), gantry_neg(s, gantry_log_softmax(s, c->x[0]))),
            c->x[1]);
}

/* ---- normalisation ---- */

/* Layer normalisation of x: the normalised values, and 1 / its deviation. */
typedef struct normalised_t {
    tensor *value, *scale;
    int32_t axes[GANTRY_MAX_RANK];
    gantry_reduce_options_t over;
} normalised_t;

/* The dimensions from the attribute axis on. */
static void over_trailing(gantry__rule_call_t *c, normalised_t *n) {
    const int32_t rank = gantry_tensor_shape(c->x[0])->rank;
    int32_t axis = (int32_t)gantry__rule_attr_int(c, "axis");
    size_t count = 0;
    for (axis = axis < 0 ? axis + rank : axis; axis < rank; ++axis) n->axes[count++] = axis;
    n->over = (gantry_reduce_options_t){.axes = n->axes, .axis_count = count, .keep_dims = true};
}

static void set_scale(gantry__rule_call_t *c, normalised_t *n, tensor *variance) {
    gantry_scope_t *s = c->scope;
    const double epsilon = gantry__rule_attr(c, "epsilon")->f;
    n->scale = gantry_rsqrt(s, gantry_add(s, variance, gantry__rule_scalar(c, c->x[0], epsilon)));
}

/* Sets the normalised values of x over n->over. */
static void centre(gantry__rule_call_t *c, tensor *x, normalised_t *n) {
    gantry_scope_t *s = c->scope;
    tensor *centred = gantry_sub(s, x, gantry_mean(s, x, &n->over));
    set_scale(c, n, gantry_mean(s, gantry_square(s, centred), &n->over));
    n->value = gantry_mul(s, centred, n->scale);
}

/* The gradient of x, from g = dy scale: (g - mean(g) - value mean(g value)) / deviation */
static tensor *layer_slope(gantry__rule_call_t *c, const normalised_t *n, tensor *g) {
    gantry_scope_t *s = c->scope;
    tensor *along = gantry_mean(s, gantry_mul(s, g, n->value), &n->over);
    tensor *rest = gantry_sub(s, gantry_sub(s, g, gantry_mean(s, g, &n->over)),
                              gantry_mul(s, n->value, along));
    return gantry_mul(s, rest, n->scale);
}

static void rule_layer_norm(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *dy = c->dy[0];
    normalised_t n;
    over_trailing(c, &n);
    centre(c, c->x[0], &n);
    if (c->wants[0]) c->dx[0] = layer_slope(c, &n, gantry_mul(s, dy, c->x[1]));
    if (c->wants[1]) c->dx[1] = gantry__rule_sum_to(c, gantry_mul(s, dy, n.value), c->x[1]);
    if (c->wants[2]) c->dx[2] = gantry__rule_sum_to(c, dy, c->x[2]);
}

/* The mean square has no mean taken off: dx = (g - value mean(g value)) / root */
static void rule_rms_norm(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = c->x[0], *dy = c->dy[0];
    normalised_t n;
    over_trailing(c, &n);
    tensor *mean = gantry_mean(s, gantry_square(s, x), &n.over);
    set_scale(c, &n, mean);
    n.value = gantry_mul(s, x, n.scale);
    if (c->wants[0]) {
        tensor *g = gantry_mul(s, dy, c->x[1]);
        tensor *along = gantry_mean(s, gantry_mul(s, g, n.value), &n.over);
        c->dx[0] = gantry_mul(s, gantry_sub(s, g, gantry_mul(s, n.value, along)), n.scale);
    }
    if (c->wants[1]) c->dx[1] = gantry__rule_sum_to(c, gantry_mul(s, dy, n.value), c->x[1]);
}

/* ---- GroupNorm, InstanceNorm ---- */

/* x as [batch, groups, members, points], or [batch, points, groups, members]. */
typedef struct rule_groups_t {
    gantry__rule_size_t all[4], channels[2];
    bool is_last;
    int32_t axes[2];
    gantry_reduce_options_t over;
} rule_groups_t;

static void read_groups(gantry__rule_call_t *c, bool is_instance, rule_groups_t *g) {
    tensor *x = c->x[0];
    const int32_t rank = gantry_tensor_shape(x)->rank;
    g->is_last = strcmp(gantry__rule_attr(c, "data_format")->s, "NHWC") == 0;
    const int32_t at = g->is_last ? rank - 1 : 1;
    const gantry__rule_size_t channels = gantry__rule_sizes(c, x, at, at + 1), one = {.known = 1};
    const gantry__rule_size_t points =
        g->is_last ? gantry__rule_sizes(c, x, 1, rank - 1) : gantry__rule_sizes(c, x, 2, rank);
    gantry__rule_size_t groups = channels, members = one;
    if (!is_instance) {
        groups = (gantry__rule_size_t){.known = gantry__rule_attr_int(c, "num_groups")};
        members = (gantry__rule_size_t){.known = -1};
        if (channels.known >= 0)
            members.known = channels.known / groups.known;
        else
            members.open = gantry_floor_div(c->scope, channels.open,
                                            gantry_scalar_i64(c->scope, groups.known));
    }
    g->all[0] = gantry__rule_sizes(c, x, 0, 1);
    g->all[1] = g->is_last ? points : groups;
    g->all[2] = g->is_last ? groups : members;
    g->all[3] = g->is_last ? members : points;
    g->channels[0] = groups;
    g->channels[1] = members;
    g->axes[0] = g->is_last ? 1 : 2;
    g->axes[1] = 3;
    g->over = (gantry_reduce_options_t){.axes = g->axes, .axis_count = 2, .keep_dims = true};
}

/* Numbers per channel in the form of x; and back, from sums over the rest of x. */
static tensor *by_channel(gantry__rule_call_t *c, const rule_groups_t *g, tensor *numbers) {
    tensor *y = gantry__rule_reshape_by(c, numbers, g->channels, 2);
    return g->is_last ? y : gantry_expand_dims(c->scope, y, -1);
}

static tensor *sum_by_channel(gantry__rule_call_t *c, const rule_groups_t *g, tensor *x,
                              tensor *like) {
    const int32_t axes[] = {0, g->is_last ? 1 : 3};
    const gantry_reduce_options_t over = {.axes = axes, .axis_count = 2};
    return gantry__rule_reshape_like(c, gantry_sum(c->scope, x, &over), like);
}

static void normalise_groups_back(gantry__rule_call_t *c, bool is_instance) {
    gantry_scope_t *s = c->scope;
    rule_groups_t g;
    normalised_t n;
    read_groups(c, is_instance, &g);
    n.over = g.over;
    tensor *x = gantry__rule_reshape_by(c, c->x[0], g.all, 4),
           *dy = gantry__rule_reshape_by(c, c->dy[0], g.all, 4);
    centre(c, x, &n);
    if (c->wants[0]) {
        tensor *slope = gantry_mul(s, dy, by_channel(c, &g, c->x[1]));
        c->dx[0] = gantry__rule_reshape_like(c, layer_slope(c, &n, slope), c->x[0]);
    }
    if (c->wants[1]) c->dx[1] = sum_by_channel(c, &g, gantry_mul(s, dy, n.value), c->x[1]);
    if (c->wants[2]) c->dx[2] = sum_by_channel(c, &g, dy, c->x[2]);
}

static void rule_group_norm(gantry__rule_call_t *c) { normalise_groups_back(c, false); }
static void rule_instance_norm(gantry__rule_call_t *c) { normalise_groups_back(c, true); }

/* The statistics of the forward pass are its outputs 3 to 5. */
static void rule_fused_batch_norm(gantry__rule_call_t *c) {
    tensor *inputs[] = {c->dy[0], c->x[0], c->x[1], c->y[3], c->y[4], c->y[5]}, *outputs[5];
    gantry_attr_value_t attrs[8];
    size_t attr_count = 0, output_count = 5;
    const char *const names[] = {"epsilon", "data_format", "is_training"};
    if (!c->dy[0]) return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        attrs[attr_count++] = *gantry__rule_attr(c, names[i]);
    (void)gantry_op_call(c->scope, "FusedBatchNormGrad", inputs, 6, attrs, attr_count, outputs,
                         &output_count);
    for (size_t i = 0; i < 3 && output_count >= 3; ++i) c->dx[i] = outputs[i];
}

const gantry__rule_t gantry__rules_norm[] = {
    {"FusedBatchNorm", rule_fused_batch_norm},
    {"GroupNorm", rule_group_norm},
    {"InstanceNorm", rule_instance_norm},
    {"LayerNorm", rule_layer_norm},
    {"LogSoftmax", rule_log_softmax},
    {"RMSNorm", rule_rms_norm},
    {"Softmax", rule_softmax},
    {"SoftmaxCrossEntropyWithLogits", rule_cross_entropy},
    {"SparseSoftmaxCrossEntropyWithLogits", rule_sparse_cross_entropy},
    {NULL, NULL}};
