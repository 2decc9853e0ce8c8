/* SPDX-License-Identifier: Apache-2.0 */
/* Layers without weights: Flatten, Reshape, Dropout, Activation, Add, Concatenate. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

/* For layers that take any shape. */
static gantry_status_t build_with_one(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                      size_t input_count, void *user) {
    (void)user;
    return gantry__layer_check_rank(layer->kind.name, inputs, input_count, 1, GANTRY_MAX_RANK);
}

static gantry_status_t build_with_several(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                          size_t input_count, void *user) {
    (void)inputs, (void)user;
    if (input_count > 1) return GANTRY_OK;
    return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                              "layer %s has %zu inputs; 2 or more are accepted", layer->kind.name,
                              input_count);
}

/* ---- Flatten ---- */

static tensor *flatten_call(const gantry_layer_call_t *call, void *user) {
    const gantry_shape_t *shape = gantry_tensor_shape(call->inputs[0]);
    int64_t elements = 1;
    (void)user;
    for (int32_t d = 1; d < shape->rank; ++d) elements *= shape->dims[d];
    return gantry_reshape(call->scope, call->inputs[0], GANTRY_SHAPE(shape->dims[0], elements));
}

gantry_layer_t *gantry_flatten(const char *name) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "Flatten",
                                             .build = build_with_one,
                                             .call = flatten_call};
    return gantry_layer_create(&kind, NULL, name);
}

/* ---- Reshape ---- */

static tensor *reshape_call(const gantry_layer_call_t *call, void *user) {
    const gantry_shape_t *sample = user;
    gantry_shape_t shape = {.rank = sample->rank + 1,
                            .dims = {gantry_tensor_shape(call->inputs[0])->dims[0]}};
    for (int32_t d = 0; d < sample->rank; ++d) shape.dims[d + 1] = sample->dims[d];
    return gantry_reshape(call->scope, call->inputs[0], shape);
}

gantry_layer_t *gantry_reshape_layer(gantry_shape_t shape, const char *name) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "Reshape",
                                             .build = build_with_one,
                                             .call = reshape_call,
                                             .release = gantry__layer_free_user};
    if (shape.rank < 0 || shape.rank >= GANTRY_MAX_RANK) {
        (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                 "gantry_reshape_layer: the rank is %d; 0 to %d are accepted",
                                 shape.rank, GANTRY_MAX_RANK - 1);
        return NULL;
    }
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof shape, name);
    if (layer) *(gantry_shape_t *)layer->user = shape;
    return layer;
}

/* ---- Dropout ---- */

/* Draws anew in each call, also of a function; outside a model, from the runtime's state. */
const gantry_tensor_t *gantry__layer_dropout(const gantry_layer_call_t *call,
                                             const gantry_tensor_t *x, double rate) {
    gantry_scope_t *s = call->scope;
    if (!call->training || rate == 0 || !x) return x;
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    gantry_generator_t *generator = gantry_layer_generator(call);
    tensor *drawn = generator ? gantry_generator_uniform(s, generator, shape, GANTRY_FLOAT32)
                              : gantry_random_uniform(s, shape, GANTRY_FLOAT32, NULL);
    tensor *keeps = gantry_greater_equal(s, drawn, gantry_scalar_f32(s, (float)rate));
    tensor *scaled =
        gantry_mul(s, x, gantry__train_constant(s, gantry_tensor_dtype(x), 1 / (1 - rate)));
    return gantry_select(s, keeps, scaled, gantry_zeros_like(s, x));
}

static tensor *dropout_call(const gantry_layer_call_t *call, void *user) {
    return gantry__layer_dropout(call, call->inputs[0], *(const double *)user);
}

gantry_layer_t *gantry_dropout_layer(double rate, const char *name) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "Dropout",
                                             .build = build_with_one,
                                             .call = dropout_call,
                                             .release = gantry__layer_free_user};
    if (!(rate >= 0 && rate < 1)) {
        (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                 "gantry_dropout_layer: the rate is %g; [0, 1) is accepted", rate);
        return NULL;
    }
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof rate, name);
    if (!layer) return NULL;
    *(double *)layer->user = rate;
    layer->seeds_after = rate > 0 ? 1 : 0;
    return layer;
}

/* ---- Activation ---- */

static tensor *activation_call(const gantry_layer_call_t *call, void *user) {
    return gantry_activate(call->scope, *(const gantry_activation_t *)user, call->inputs[0]);
}

gantry_layer_t *gantry_activation_layer(gantry_activation_t activation, const char *name) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "Activation",
                                             .build = build_with_one,
                                             .call = activation_call,
                                             .release = gantry__layer_free_user};
    if (!gantry__layer_check_activation("Activation", activation)) return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof activation, name);
    if (layer) *(gantry_activation_t *)layer->user = activation;
    return layer;
}

/* ---- several inputs ---- */

static tensor *add_call(const gantry_layer_call_t *call, void *user) {
    tensor *sum = call->inputs[0];
    (void)user;
    for (size_t i = 1; i < call->input_count; ++i)
        sum = gantry_add(call->scope, sum, call->inputs[i]);
    return sum;
}

gantry_layer_t *gantry_add_layer(const char *name) {
    static const gantry_layer_kind_t kind = {
        .struct_size = sizeof kind, .name = "Add", .build = build_with_several, .call = add_call};
    return gantry_layer_create(&kind, NULL, name);
}

static tensor *concatenate_call(const gantry_layer_call_t *call, void *user) {
    return gantry_concat(call->scope, call->inputs, call->input_count, *(const int32_t *)user);
}

gantry_layer_t *gantry_concatenate_layer(int32_t axis, const char *name) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "Concatenate",
                                             .build = build_with_several,
                                             .call = concatenate_call,
                                             .release = gantry__layer_free_user};
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof axis, name);
    if (layer) *(int32_t *)layer->user = axis;
    return layer;
}
