/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization and LayerNormalization over the last dimension. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

typedef struct norm_t {
    double epsilon, momentum;
} norm_t;

static gantry_layer_t *make_norm(const gantry_layer_kind_t *kind,
                                 const gantry_norm_options_t *options) {
    gantry_norm_options_t o;
    if (gantry__train_options(options, sizeof o, &o, sizeof o, "gantry_norm_options_t") !=
        GANTRY_OK)
        return NULL;
    const norm_t n = {.epsilon = o.epsilon == 0 ? 0.001 : o.epsilon,
                      .momentum = o.momentum == 0 ? 0.99 : o.momentum};
    if (!(n.epsilon > 0) || !(n.momentum >= 0 && n.momentum < 1)) {
        (void)gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer %s: epsilon %g and momentum %g; a positive number and [0, 1) are accepted",
            kind->name, o.epsilon, o.momentum);
        return NULL;
    }
    gantry_layer_t *layer = gantry__layer_make(kind, sizeof n, o.name);
    if (layer) *(norm_t *)layer->user = n;
    return layer;
}

static gantry_status_t add_vector(gantry_layer_t *layer, const char *name, int64_t size,
                                  gantry_init_t kind, bool trainable) {
    const gantry_initializer_t initializer = {.struct_size = sizeof initializer, .kind = kind};
    return gantry_layer_add_weight(layer, name, GANTRY_SHAPE(size), &initializer, trainable);
}

static gantry_status_t add_scale_and_offset(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                            size_t input_count, int64_t *out_size) {
    GANTRY__TRAIN_TRY(
        gantry__layer_check_rank(layer->kind.name, inputs, input_count, 2, GANTRY_MAX_RANK));
    *out_size = inputs[0].dims[inputs[0].rank - 1];
    GANTRY__TRAIN_TRY(add_vector(layer, "gamma", *out_size, GANTRY_INIT_ONES, true));
    return add_vector(layer, "beta", *out_size, GANTRY_INIT_ZEROS, true);
}

/* ---- BatchNormalization: weights gamma, beta, moving mean, moving variance ---- */

static gantry_status_t batch_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    int64_t size;
    (void)user;
    GANTRY__TRAIN_TRY(add_scale_and_offset(layer, inputs, input_count, &size));
    GANTRY__TRAIN_TRY(add_vector(layer, "moving_mean", size, GANTRY_INIT_ZEROS, false));
    return add_vector(layer, "moving_variance", size, GANTRY_INIT_ONES, false);
}

/* old momentum + new (1 - momentum) */
static tensor *blend(gantry_scope_t *s, tensor *old, tensor *new, double momentum) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(old);
    return gantry_add(s, gantry_mul(s, old, gantry__train_constant(s, dtype, momentum)),
                      gantry_mul(s, new, gantry__train_constant(s, dtype, 1 - momentum)));
}

/* Mean and variance of the places that the mask has. Keras adds its epsilon to their number. */
static void masked_moments(gantry_scope_t *s, tensor *x, tensor *mask,
                           const gantry_reduce_options_t *over, tensor **mean, tensor **variance) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    tensor *seen = gantry_expand_dims(s, mask, -1), *zero = gantry__train_constant(s, dtype, 0);
    tensor *count = gantry_add(s, gantry_sum(s, gantry_cast(s, seen, dtype), over),
                               gantry__train_constant(s, dtype, 1e-7));
    *mean = gantry_div(s, gantry_sum(s, gantry_select(s, seen, x, zero), over), count);
    tensor *distance = gantry_select(s, seen, gantry_sub(s, x, *mean), zero);
    *variance = gantry_div(s, gantry_sum(s, gantry_square(s, distance), over), count);
}

static tensor *batch_call(const gantry_layer_call_t *call, void *user) {
    const norm_t *n = user;
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0], *mean = call->weights[2], *variance = call->weights[3];
    if (call->training) {
        static const int32_t axes[GANTRY_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
        const gantry_reduce_options_t over = {
            .axes = axes, .axis_count = (size_t)gantry_tensor_shape(x)->rank - 1};
        if (call->masks[0])
            masked_moments(s, x, call->masks[0], &over, &mean, &variance);
        else
            (void)gantry_moments(s, x, &over, &mean, &variance);
        if (gantry_scope_status(s) != GANTRY_OK) return NULL;
        call->updates[2] = blend(s, call->weights[2], mean, n->momentum);
        call->updates[3] = blend(s, call->weights[3], variance, n->momentum);
    }
    return gantry_batch_norm(s, x, mean, variance, call->weights[1], call->weights[0], n->epsilon);
}

gantry_layer_t *gantry_batch_normalization(const gantry_norm_options_t *options) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "BatchNormalization",
                                             .build = batch_build,
                                             .call = batch_call,
                                             .passes_masks = true,
                                             .release = gantry__layer_free_user};
    return make_norm(&kind, options);
}

/* ---- LayerNormalization ---- */

static gantry_status_t layer_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    int64_t size;
    (void)user;
    return add_scale_and_offset(layer, inputs, input_count, &size);
}

static tensor *layer_call(const gantry_layer_call_t *call, void *user) {
    const norm_t *n = user;
    return gantry_layer_norm(call->scope, call->inputs[0], call->weights[0], call->weights[1], -1,
                             n->epsilon);
}

gantry_layer_t *gantry_layer_normalization(const gantry_norm_options_t *options) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "LayerNormalization",
                                             .build = layer_build,
                                             .call = layer_call,
                                             .passes_masks = true,
                                             .release = gantry__layer_free_user};
    return make_norm(&kind, options);
}
