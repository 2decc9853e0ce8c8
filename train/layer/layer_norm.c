/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization and LayerNormalization. */
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/base/keras.h"
#include "train/layer/layer_norm.h"

typedef const gantry_tensor_t tensor;

typedef gantry__norm_t norm_t;

/* ---- made ---- */

static bool take_axes(const char *kind, const gantry_norm_options_t *o, size_t most, norm_t *n) {
    n->axes[0] = -1;
    n->axis_count = 1;
    if (!o->axes && o->axis_count == 0) return true;
    if (!o->axes || o->axis_count == 0 || o->axis_count > most) {
        (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                 "layer %s: %zu axes%s; an array of 1 to %zu is accepted", kind,
                                 o->axis_count, o->axes ? "" : " at NULL", most);
        return false;
    }
    n->axis_count = o->axis_count;
    memcpy(n->axes, o->axes, o->axis_count * sizeof n->axes[0]);
    return true;
}

gantry_layer_t *gantry__norm_layer(const gantry_layer_kind_t *kind, size_t most_axes,
                                   double epsilon, const gantry_norm_options_t *options) {
    gantry_norm_options_t o;
    if (gantry__train_options(options, sizeof o, &o, sizeof o, "gantry_norm_options_t") !=
        GANTRY_OK)
        return NULL;
    norm_t n = {.epsilon = o.epsilon == 0 ? epsilon : o.epsilon,
                .momentum = o.momentum == 0 ? 0.99 : o.momentum,
                .has_scale = !o.no_scale,
                .has_offset = !o.no_center};
    if (!(n.epsilon > 0) || !(n.momentum >= 0 && n.momentum < 1)) {
        (void)gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer %s: epsilon %g and momentum %g; a positive number and [0, 1) are accepted",
            kind->name, o.epsilon, o.momentum);
        return NULL;
    }
    if (!take_axes(kind->name, &o, most_axes, &n)) return NULL;
    gantry_layer_t *layer = gantry__layer_make(kind, sizeof n, o.name);
    if (layer) *(norm_t *)layer->user = n;
    return layer;
}

/* ---- built: weights gamma, beta ---- */

gantry_status_t gantry__norm_find_axes(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t input_count, int32_t most_rank) {
    gantry__norm_t *n = layer->user;
    const char *kind = layer->kind.name;
    GANTRY__TRAIN_TRY(gantry__layer_check_rank(kind, inputs, input_count, 2, most_rank));
    for (size_t i = 0; i < n->axis_count; ++i) {
        const int32_t axis = n->axes[i] < 0 ? n->axes[i] + inputs->rank : n->axes[i],
                      least = i == 0 ? 1 : n->axes[i - 1] + 1;
        if (axis < least || axis >= inputs->rank)
            return gantry__train_fail(
                GANTRY_INVALID_ARGUMENT,
                "layer %s: axis %d of an input of rank %d; ascending ones from 1 to %d are accepted",
                kind, n->axes[i], inputs->rank, inputs->rank - 1);
        n->axes[i] = axis;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__norm_add(gantry_layer_t *layer, const char *name,
                                 const gantry_shape_t *input, gantry_init_t kind, bool trainable) {
    const gantry__norm_t *n = layer->user;
    const gantry_initializer_t initializer = {.struct_size = sizeof initializer, .kind = kind};
    gantry_shape_t shape = {.rank = (int32_t)n->axis_count};
    for (size_t i = 0; i < n->axis_count; ++i) shape.dims[i] = input->dims[n->axes[i]];
    return gantry_layer_add_weight(layer, name, shape, &initializer, trainable);
}

gantry_status_t gantry__norm_add_scale_and_offset(gantry_layer_t *layer,
                                                  const gantry_shape_t *input) {
    const gantry__norm_t *n = layer->user;
    if (n->has_scale)
        GANTRY__TRAIN_TRY(gantry__norm_add(layer, "gamma", input, GANTRY_INIT_ONES, true));
    if (!n->has_offset) return GANTRY_OK;
    return gantry__norm_add(layer, "beta", input, GANTRY_INIT_ZEROS, true);
}

/* ---- called ---- */

const gantry_tensor_t *gantry__norm_spread(gantry_scope_t *s, const gantry__norm_t *n,
                                           const gantry_tensor_t *x, const gantry_tensor_t *value) {
    const gantry_shape_t *from = gantry_tensor_shape(x);
    const int32_t first = n->axes[0];
    gantry_shape_t shape = {.rank = from->rank - first};
    if (!value || (size_t)shape.rank == n->axis_count) return value;
    for (int32_t d = 0; d < shape.rank; ++d) shape.dims[d] = 1;
    for (size_t i = 0; i < n->axis_count; ++i)
        shape.dims[n->axes[i] - first] = gantry_tensor_shape(value)->dims[i];
    return gantry_reshape(s, value, shape);
}

static tensor *same_everywhere(gantry_scope_t *s, const norm_t *n, tensor *x, double value) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    gantry_shape_t shape = {.rank = (int32_t)n->axis_count};
    for (size_t i = 0; i < n->axis_count; ++i)
        shape.dims[i] = gantry_tensor_shape(x)->dims[n->axes[i]];
    return gantry_fill(s, shape, gantry__train_constant(s, dtype, value));
}

const gantry_tensor_t *gantry__norm_scale(const gantry_layer_call_t *call,
                                          const gantry__norm_t *n) {
    return n->has_scale ? call->weights[0] : same_everywhere(call->scope, n, call->inputs[0], 1);
}

const gantry_tensor_t *gantry__norm_offset(const gantry_layer_call_t *call,
                                           const gantry__norm_t *n) {
    return n->has_offset ? call->weights[n->has_scale]
                         : same_everywhere(call->scope, n, call->inputs[0], 0);
}

/* ---- BatchNormalization: then weights moving mean, moving variance ---- */

static gantry_status_t batch_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    (void)user;
    GANTRY__TRAIN_TRY(gantry__norm_find_axes(layer, inputs, input_count, GANTRY_MAX_RANK));
    GANTRY__TRAIN_TRY(gantry__norm_add_scale_and_offset(layer, inputs));
    GANTRY__TRAIN_TRY(gantry__norm_add(layer, "moving_mean", inputs, GANTRY_INIT_ZEROS, false));
    return gantry__norm_add(layer, "moving_variance", inputs, GANTRY_INIT_ONES, false);
}

/* old momentum + new (1 - momentum) */
static tensor *blend(gantry_scope_t *s, tensor *old, tensor *new, double momentum) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(old);
    return gantry_add(s, gantry_mul(s, old, gantry__train_constant(s, dtype, momentum)),
                      gantry_mul(s, new, gantry__train_constant(s, dtype, 1 - momentum)));
}

/* Mean and variance of the places that the mask has. Keras adds its epsilon to their number. */
static void masked_moments(gantry_scope_t *s, const norm_t *n, tensor *x, tensor *mask,
                           const gantry_reduce_options_t *over, tensor **mean, tensor **variance) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    tensor *seen = gantry_expand_dims(s, mask, -1), *zero = gantry__train_constant(s, dtype, 0);
    tensor *counted = gantry_cast(s, seen, dtype);
    if (n->axes[0] != gantry_tensor_shape(x)->rank - 1)
        counted = gantry_mul(s, counted, gantry_ones_like(s, x));
    tensor *count = gantry_add(s, gantry_sum(s, counted, over),
                               gantry__train_constant(s, dtype, GANTRY__KERAS_EPSILON));
    *mean = gantry_div(s, gantry_sum(s, gantry_select(s, seen, x, zero), over), count);
    tensor *distance =
        gantry_select(s, seen, gantry_sub(s, x, gantry__norm_spread(s, n, x, *mean)), zero);
    *variance = gantry_div(s, gantry_sum(s, gantry_square(s, distance), over), count);
}

/* Statistics of the batch, and new moving ones. */
static bool take_statistics(const gantry_layer_call_t *call, const norm_t *n, tensor **mean,
                            tensor **variance) {
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0];
    int32_t axes[GANTRY_MAX_RANK];
    gantry_reduce_options_t over = {.axes = axes};
    const size_t first = call->weight_count - 2;
    for (int32_t d = 0; d < gantry_tensor_shape(x)->rank; ++d) {
        if (d != n->axes[0]) axes[over.axis_count++] = d;
    }
    if (call->masks[0])
        masked_moments(s, n, x, call->masks[0], &over, mean, variance);
    else
        (void)gantry_moments(s, x, &over, mean, variance);
    if (gantry_scope_status(s) != GANTRY_OK) return false;
    call->updates[first] = blend(s, call->weights[first], *mean, n->momentum);
    call->updates[first + 1] = blend(s, call->weights[first + 1], *variance, n->momentum);
    return true;
}

static tensor *batch_call(const gantry_layer_call_t *call, void *user) {
    if (!gantry__layer_has_floats(call, "BatchNormalization")) return NULL;
    const norm_t *n = user;
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0], *mean = call->weights[call->weight_count - 2],
           *variance = call->weights[call->weight_count - 1];
    if (call->training && !call->is_frozen && !take_statistics(call, n, &mean, &variance))
        return NULL;
    return gantry_batch_norm(s, x, gantry__norm_spread(s, n, x, mean),
                             gantry__norm_spread(s, n, x, variance),
                             gantry__norm_spread(s, n, x, gantry__norm_offset(call, n)),
                             gantry__norm_spread(s, n, x, gantry__norm_scale(call, n)), n->epsilon);
}

gantry_layer_t *gantry_batch_normalization(const gantry_norm_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND_OF("BatchNormalization", batch_build, batch_call, true);
    return gantry__norm_layer(&kind, 1, 0.001, options);
}

/* ---- LayerNormalization ---- */

static gantry_status_t layer_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    (void)user;
    GANTRY__TRAIN_TRY(gantry__norm_find_axes(layer, inputs, input_count, GANTRY_MAX_RANK));
    return gantry__norm_add_scale_and_offset(layer, inputs);
}

static tensor *layer_call(const gantry_layer_call_t *call, void *user) {
    if (!gantry__layer_has_floats(call, "LayerNormalization")) return NULL;
    const norm_t *n = user;
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0], *mean, *variance;
    const gantry_reduce_options_t over = {
        .axes = n->axes, .axis_count = n->axis_count, .keep_dims = true};
    const int32_t rank = gantry_tensor_shape(x)->rank;
    if ((size_t)(rank - n->axes[0]) == n->axis_count)
        return gantry_layer_norm(s, x, gantry__norm_scale(call, n), gantry__norm_offset(call, n),
                                 n->axes[0], n->epsilon);
    if (gantry_moments(s, x, &over, &mean, &variance) != GANTRY_OK) return NULL;
    return gantry_batch_norm(s, x, mean, variance,
                             gantry__norm_spread(s, n, x, gantry__norm_offset(call, n)),
                             gantry__norm_spread(s, n, x, gantry__norm_scale(call, n)), n->epsilon);
}

gantry_layer_t *gantry_layer_normalization(const gantry_norm_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND_OF("LayerNormalization", layer_build, layer_call, true);
    return gantry__norm_layer(&kind, GANTRY_MAX_RANK - 1, 0.001, options);
}
