/* SPDX-License-Identifier: Apache-2.0 */
/* Moments, BatchNorm, FusedBatchNorm and its gradients, LayerNorm, Dropout. float16 and bfloat16
 * are computed in float32 and rounded once, at the end.
 *
 * A variance is the mean of the squared distances from the mean: two passes, and no difference of
 * large numbers. */
#include <string.h>

#include <gantry/ops.h>

#include "op/op_infer.h"
#include "run/call_op.h"
#include "compose/compose.h"

typedef const gantry_tensor_t tensor;

/* ---- parts that several share ---- */

typedef struct moments_t {
    tensor *mean, *variance; /* they keep the axes with size 1 */
} moments_t;

static tensor *mean_over(const gantry__compose_t *c, tensor *x, tensor *axes) {
    tensor *inputs[] = {x, axes};
    const gantry_attr_value_t keep = gantry__attr_bool("keep_dims", true);
    return gantry__call_op(c->scope, GANTRY__OP_ID_Mean, inputs, 2, &keep, 1, NULL);
}

static moments_t moments(const gantry__compose_t *c, tensor *x, tensor *axes) {
    moments_t m = {.mean = mean_over(c, x, axes)};
    m.variance = mean_over(
        c, gantry_tensor_donate(c->scope, gantry_squared_difference(c->scope, x, m.mean)), axes);
    return m;
}

/* Computes scale / sqrt(variance + epsilon). */
static tensor *factor(const gantry__compose_t *c, tensor *scale, tensor *variance, double epsilon) {
    const gantry_dtype_t dtype = variance ? variance->dtype : GANTRY_FLOAT32;
    tensor *sum = gantry_add(c->scope, variance, gantry__compose_scalar(c, dtype, epsilon));
    return gantry_div(c->scope, scale, gantry_sqrt(c->scope, sum));
}

static double float_attr(const gantry__compose_t *c, const char *name) {
    return gantry__infer_attr(c->call, name)->f;
}

/* ---- Moments, BatchNorm ---- */

void gantry__compose_moments(const gantry__compose_t *c) {
    const moments_t m = moments(c, gantry__compose_widen(c, c->inputs[0]), c->inputs[1]);
    tensor *kept[] = {m.mean, m.variance};
    for (int i = 0; i < 2; ++i) {
        tensor *value = gantry_reshape(c->scope, kept[i], c->call->out_shapes[i]);
        c->outputs[i] = gantry__compose_narrow(c, value, c->call->out_dtypes[i]);
    }
}

/* Computes as tf.nn.batch_normalization does: x * factor + (offset - mean * factor), so that x is
 * read twice, not three times. */
void gantry__compose_batch_norm(const gantry__compose_t *c) {
    gantry_scope_t *scope = c->scope;
    tensor *in[5];
    for (int i = 0; i < 5; ++i) in[i] = gantry__compose_widen(c, c->inputs[i]);
    tensor *scaling = factor(c, in[4], in[2], float_attr(c, "variance_epsilon"));
    tensor *shift = gantry_sub(scope, in[3], gantry_mul(scope, in[1], scaling));
    tensor *y =
        gantry_add(scope, gantry_tensor_donate(scope, gantry_mul(scope, in[0], scaling)), shift);
    c->outputs[0] = gantry__compose_narrow(c, y, c->call->out_dtypes[0]);
}

/* ---- FusedBatchNorm ---- */

typedef struct fused_t {
    tensor *x;
    gantry_shape_t channels;   /* as a vector */
    gantry_shape_t by_channel; /* x as NormalizeChannels takes it */
    tensor *axes;              /* all but the channels */
    int64_t rest;              /* elements of one channel */
} fused_t;

static fused_t read_fused(const gantry__compose_t *c) {
    const bool is_nchw = strcmp(gantry__infer_attr(c->call, "data_format")->s, "NCHW") == 0;
    const gantry_shape_t *shape = &c->inputs[0]->shape;
    const int64_t channels = shape->dims[is_nchw ? 1 : 3];
    static const int32_t without_last[] = {0, 1, 2}, without_second[] = {0, 2, 3};
    return (fused_t){
        .x = gantry__compose_narrow(c, c->inputs[0], c->call->dtypes[1]),
        .channels = GANTRY_SHAPE(channels),
        .by_channel =
            is_nchw ? GANTRY_SHAPE(shape->dims[0], channels, shape->dims[2] * shape->dims[3])
                    : GANTRY_SHAPE(shape->dims[0] * shape->dims[1] * shape->dims[2], channels, 1),
        .axes = gantry__compose_host(c, GANTRY_INT32, &GANTRY_SHAPE(3),
                                     is_nchw ? without_second : without_last),
        .rest = channels > 0 ? c->inputs[0]->elements / channels : 0,
    };
}

/* Gives y = (x - mean) * factor + offset; mean and variance are vectors. */
static void give_normalised(const gantry__compose_t *c, const fused_t *f, tensor *mean,
                            tensor *variance) {
    gantry_scope_t *scope = c->scope;
    tensor *scaling = factor(c, c->inputs[1], variance, float_attr(c, "epsilon"));
    tensor *inputs[] = {gantry_reshape(scope, f->x, f->by_channel), mean, scaling, c->inputs[2]};
    tensor *y = gantry__call_op(scope, GANTRY__OP_ID_NormalizeChannels, inputs, 4, NULL, 0, NULL);
    c->outputs[0] = gantry__compose_narrow(c, gantry_reshape(scope, y, c->inputs[0]->shape),
                                           c->call->out_dtypes[0]);
}

/* Computes (1 - exponential_avg_factor) * former + exponential_avg_factor * present. */
static tensor *average(const gantry__compose_t *c, tensor *former, tensor *present) {
    const double share = float_attr(c, "exponential_avg_factor");
    if (!(share < 1.0 || share > 1.0)) return present;
    const gantry_dtype_t dtype = c->call->out_dtypes[1];
    return gantry_add(c->scope,
                      gantry_mul(c->scope, gantry__compose_scalar(c, dtype, 1.0 - share), former),
                      gantry_mul(c->scope, gantry__compose_scalar(c, dtype, share), present));
}

static void train(const gantry__compose_t *c, const fused_t *f) {
    const moments_t m = moments(c, f->x, f->axes);
    tensor *mean = gantry_reshape(c->scope, m.mean, f->channels);
    tensor *variance = gantry_reshape(c->scope, m.variance, f->channels);
    give_normalised(c, f, mean, variance);
    /* the variance that is returned for later use is unbiased */
    const double unbias = (double)f->rest / (double)(f->rest > 1 ? f->rest - 1 : 1);
    tensor *unbiased =
        gantry_mul(c->scope, variance, gantry__compose_scalar(c, c->call->out_dtypes[1], unbias));
    c->outputs[1] = average(c, c->inputs[3], mean);
    c->outputs[2] = average(c, c->inputs[4], unbiased);
    c->outputs[3] =
        f->rest > 0 ? mean : gantry_zeros(c->scope, c->call->out_dtypes[3], f->channels);
    c->outputs[4] =
        f->rest > 0 ? variance : gantry_zeros(c->scope, c->call->out_dtypes[4], f->channels);
}

static void compose_norm_apply(const gantry__compose_t *c, const fused_t *f) {
    give_normalised(c, f, c->inputs[3], c->inputs[4]);
    for (int i = 0; i < 4; ++i) c->outputs[1 + i] = c->inputs[3 + i % 2];
}

/* An empty x has no statistics: the result is NaN, even if other statistics are given. */
void gantry__compose_fused_batch_norm(const gantry__compose_t *c) {
    const fused_t f = read_fused(c);
    if (gantry__infer_attr(c->call, "is_training")->i != 0 || c->inputs[0]->elements == 0) {
        train(c, &f);
    } else {
        compose_norm_apply(c, &f);
    }
    c->outputs[5] = gantry_zeros(c->scope, c->call->out_dtypes[5], GANTRY_SHAPE(0));
}

/* ---- FusedBatchNormGrad ---- */

typedef struct norm_grad_t {
    tensor *dy, *x;                  /* in a form with a dimension of channels */
    tensor *scale, *mean, *variance; /* as that dimension of it */
    gantry_shape_t all;
    tensor *axes;
} norm_grad_t;

/* The product of the sizes; -1 if a size is open. */
static int64_t product_of(const int64_t *sizes, int32_t count) {
    int64_t product = 1;
    for (int32_t i = 0; i < count; ++i)
        product = product < 0 || sizes[i] < 0 ? -1 : product * sizes[i];
    return product;
}

/* Reads the inputs: NHWC as [rows, channels], NCHW as [images, channels, points]. */
static norm_grad_t read_norm_grad(const gantry__compose_t *c) {
    const bool is_nchw = strcmp(gantry__infer_attr(c->call, "data_format")->s, "NCHW") == 0;
    const gantry_shape_t *shape = &c->call->out_shapes[0];
    const int64_t channels = shape->dims[is_nchw ? 1 : 3], *dims = shape->dims;
    static const int32_t axes[] = {0, 2};
    const gantry_shape_t own = is_nchw ? GANTRY_SHAPE(1, channels, 1) : GANTRY_SHAPE(1, channels);
    norm_grad_t g = {
        .all = is_nchw ? GANTRY_SHAPE(dims[0], channels, product_of(dims + 2, 2))
                       : GANTRY_SHAPE(product_of(dims, 3), channels),
        .axes = gantry__compose_host(c, GANTRY_INT32, &GANTRY_SHAPE(is_nchw ? 2 : 1), axes)};
    tensor *parts[5];
    for (uint32_t i = 0; i < 5; ++i) {
        parts[i] = gantry_reshape(c->scope, c->inputs[i], i < 2 ? g.all : own);
        parts[i] = gantry__compose_narrow(c, parts[i], c->call->dtypes[2]);
    }
    g.dy = parts[0];
    g.x = parts[1];
    g.scale = parts[2];
    g.mean = parts[3];
    g.variance = parts[4];
    return g;
}

/* The elements of one channel. */
static tensor *count_rest(const gantry__compose_t *c) {
    const gantry_dtype_t dtype = c->call->dtypes[2];
    const int64_t all = gantry_shape_elements(&c->call->out_shapes[0]),
                  channels = c->call->out_shapes[1].dims[0];
    if (all >= 0)
        return gantry__compose_scalar(c, dtype, (double)(channels > 0 ? all / channels : 0));
    tensor *size = gantry_size(c->scope, c->inputs[1], GANTRY_INT64);
    return gantry_cast(
        c->scope, gantry_floor_div(c->scope, size, gantry_scalar_i64(c->scope, channels)), dtype);
}

static tensor *sum_channels(const gantry__compose_t *c, const norm_grad_t *g, tensor *x) {
    tensor *inputs[] = {x, g->axes};
    const gantry_attr_value_t keep = gantry__attr_bool("keep_dims", true);
    return gantry__call_op(c->scope, GANTRY__OP_ID_Sum, inputs, 2, &keep, 1, NULL);
}

/* Computes scale * r * (dy - sum(dy) / n - (x - mean) * sum(dy * (x - mean)) / n * r * r). */
static tensor *train_grad(const gantry__compose_t *c, const norm_grad_t *g, tensor *centred,
                          tensor *r, tensor *sum, tensor *product) {
    gantry_scope_t *s = c->scope;
    tensor *count = count_rest(c);
    tensor *slope = gantry_mul(s, gantry_div(s, product, count), gantry_mul(s, r, r));
    tensor *along = gantry_mul(s, centred, slope);
    tensor *rest = gantry_sub(s, gantry_sub(s, g->dy, gantry_div(s, sum, count)), along);
    return gantry_mul(s, gantry_tensor_donate(s, rest), gantry_mul(s, g->scale, r));
}

/* r = 1 / sqrt(variance + epsilon). Gradients of scale and offset are sums over the channel. */
void gantry__compose_fused_batch_norm_grad(const gantry__compose_t *c) {
    gantry_scope_t *s = c->scope;
    const norm_grad_t g = read_norm_grad(c);
    const gantry_dtype_t dtype = c->call->dtypes[2];
    tensor *epsilon = gantry__compose_scalar(c, dtype, float_attr(c, "epsilon"));
    tensor *r = gantry_rsqrt(s, gantry_add(s, g.variance, epsilon));
    tensor *centred = gantry_sub(s, g.x, g.mean);
    tensor *sum = sum_channels(c, &g, g.dy);
    tensor *product = sum_channels(c, &g, gantry_tensor_donate(s, gantry_mul(s, g.dy, centred)));
    tensor *dx = gantry__infer_attr(c->call, "is_training")->i != 0
                     ? train_grad(c, &g, centred, r, sum, product)
                     : gantry_mul(s, g.dy, gantry_mul(s, g.scale, r));
    dx = gantry__compose_narrow(c, dx, c->call->out_dtypes[0]);
    c->outputs[0] = gantry_reshape(s, dx, c->call->out_shapes[0]);
    c->outputs[1] = gantry_reshape(s, gantry_mul(s, product, r), c->call->out_shapes[1]);
    c->outputs[2] = gantry_reshape(s, sum, c->call->out_shapes[2]);
    for (uint32_t i = 3; i < 5; ++i) c->outputs[i] = gantry_zeros(s, dtype, GANTRY_SHAPE(0));
}

/* ---- LayerNorm ---- */

/* Normalises rows that are one chunk of the tree of sums: the same operations in the same order,
 * and so the same bits. */
static tensor *layer_norm_rows(const gantry__compose_t *c) {
    tensor *inputs[3];
    for (int i = 0; i < 3; ++i) inputs[i] = gantry__compose_widen(c, c->inputs[i]);
    const gantry_attr_value_t attrs[] = {
        gantry__attr_int("axis", gantry__infer_attr(c->call, "axis")->i),
        gantry__attr_float("epsilon", float_attr(c, "epsilon"))};
    return gantry__call_op(c->scope, GANTRY__OP_ID_LayerNormRows, inputs, 3, attrs, 2, NULL);
}

void gantry__compose_layer_norm(const gantry__compose_t *c) {
    gantry_scope_t *scope = c->scope;
    const int64_t length = c->inputs[1]->elements;
    if (length > 1 && length <= GANTRY__LAYER_NORM_ROWS_MOST) {
        c->outputs[0] = gantry__compose_narrow(c, layer_norm_rows(c), c->call->out_dtypes[0]);
        return;
    }
    int32_t axes[GANTRY_MAX_RANK];
    const int32_t rank = c->inputs[0]->shape.rank, count = c->inputs[1]->shape.rank;
    for (int32_t i = 0; i < count; ++i) axes[i] = rank - count + i;
    tensor *x = gantry__compose_widen(c, c->inputs[0]);
    const moments_t m =
        moments(c, x, gantry__compose_host(c, GANTRY_INT32, &GANTRY_SHAPE(count), axes));
    const gantry_dtype_t dtype = x ? x->dtype : GANTRY_FLOAT32;
    tensor *scaling =
        factor(c, gantry__compose_scalar(c, dtype, 1.0), m.variance, float_attr(c, "epsilon"));
    tensor *y =
        gantry_mul(scope, gantry_tensor_donate(scope, gantry_sub(scope, x, m.mean)), scaling);
    y = gantry_mul(scope, gantry_tensor_donate(scope, y), gantry__compose_widen(c, c->inputs[1]));
    y = gantry_add(scope, gantry_tensor_donate(scope, y), gantry__compose_widen(c, c->inputs[2]));
    c->outputs[0] = gantry__compose_narrow(c, y, c->call->out_dtypes[0]);
}

/* ---- Dropout ---- */

void gantry__compose_dropout(const gantry__compose_t *c) {
    gantry_scope_t *scope = c->scope;
    const gantry_attr_t *noise = gantry__infer_attr(c->call, "noise_shape");
    const gantry_dtype_t dtype = c->call->out_dtypes[0];
    const double rate = float_attr(c, "rate");
    if (!(rate > 0)) {
        c->outputs[0] = c->inputs[0];
        return;
    }
    gantry__extras_t extras = {.count = 0};
    gantry_shape_t shape = c->inputs[0]->shape;
    if (noise->i > 0) {
        shape.rank = (int32_t)noise->i;
        memcpy(shape.dims, noise->list, (size_t)noise->i * sizeof *noise->list);
    }
    tensor *inputs[] = {gantry__add_host_shape(&extras, scope, &shape), c->inputs[1]};
    const gantry_attr_value_t type = gantry__attr_type("dtype", dtype);
    tensor *drawn =
        gantry__call_op(scope, GANTRY__OP_ID_StatelessRandomUniform, inputs, 2, &type, 1, &extras);
    tensor *kept = gantry_greater_equal(scope, drawn, gantry__compose_scalar(c, dtype, rate));
    tensor *scaled =
        gantry_mul(scope, c->inputs[0], gantry__compose_scalar(c, dtype, 1.0 / (1.0 - rate)));
    c->outputs[0] = gantry_select(scope, kept, scaled, gantry__compose_scalar(c, dtype, 0.0));
}
