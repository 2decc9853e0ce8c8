/* SPDX-License-Identifier: Apache-2.0 */
/* Layers without weights: Flatten, Reshape, Dropout, Activation, ActivityRegularization,
 * Masking. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

static gantry_status_t masking_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                     size_t input_count, void *user) {
    (void)user;
    return gantry__layer_check_rank(layer->kind.name, inputs, input_count, 2, GANTRY_MAX_RANK);
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
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Flatten", gantry__layer_build_any, flatten_call);
    return gantry__layer_make(&kind, 0, name);
}

/* ---- Reshape ---- */

static tensor *reshape_call(const gantry_layer_call_t *call, void *user) {
    const gantry_shape_t *sample = user;
    gantry_shape_t shape = {.rank = sample->rank + 1,
                            .dims = {gantry_tensor_shape(call->inputs[0])->dims[0]}};
    for (int32_t d = 0; d < sample->rank; ++d) shape.dims[d + 1] = sample->dims[d];
    return gantry_reshape(call->scope, call->inputs[0], shape);
}

static bool has_open_size(const gantry_shape_t *shape, int32_t first) {
    for (int32_t d = first; d < shape->rank; ++d) {
        if (shape->dims[d] < 0) return true;
    }
    return false;
}

/* Whether a sample of the input, whose sizes are known, has as many elements as the shape. */
static bool can_reshape(const gantry_shape_t *input, const gantry_shape_t *sample) {
    gantry_shape_t known = *sample, given = *input;
    bool is_open = false;
    for (int32_t d = 0; d < known.rank; ++d) {
        if (known.dims[d] >= 0) continue;
        if (is_open) return true; /* the op says that one may be open */
        is_open = true;
        known.dims[d] = 1;
    }
    given.dims[0] = 1;
    const int64_t elements = gantry_shape_elements(&given), parts = gantry_shape_elements(&known);
    return is_open ? parts > 0 && elements % parts == 0 : elements == parts;
}

static gantry_status_t reshape_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                     size_t input_count, void *user) {
    char text[256], wanted[256];
    GANTRY__TRY(gantry__layer_build_any(layer, inputs, input_count, user));
    if (!has_open_size(&inputs[0], 1)) {
        if (can_reshape(&inputs[0], user)) return GANTRY_OK;
        (void)gantry_shape_format(&inputs[0], text, sizeof text);
        (void)gantry_shape_format(user, wanted, sizeof wanted);
        return gantry__train_refuse(
            NULL,
            "layer Reshape: the input has shape %s, whose samples do not fit %s; a shape with as many elements is accepted",
            text, wanted);
    }
    if (has_open_size(user, 0)) return GANTRY_OK;
    (void)gantry_shape_format(&inputs[0], text, sizeof text);
    return gantry__train_refuse(
        NULL,
        "layer Reshape: the input has shape %s, whose elements are not known; a shape with a size of -1 is accepted",
        text);
}

gantry_layer_t *gantry_reshape_layer(gantry_shape_t shape, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Reshape", reshape_build, reshape_call);
    if (shape.rank < 0 || shape.rank >= GANTRY_MAX_RANK)
        return gantry__train_refuse_pointer(
            NULL, "gantry_reshape_layer: the rank is %d; 0 to %d are accepted", shape.rank,
            GANTRY_MAX_RANK - 1);
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof shape, name);
    if (layer) *(gantry_shape_t *)layer->user = shape;
    return layer;
}

/* ---- Dropout ---- */

/* Whether a call drops elements: of floats only, because the others are scaled to numbers between
 * those that an integer has. */
static bool drops(const gantry_layer_call_t *call, double rate) {
    return call->training && rate > 0 && gantry__layer_has_floats(call, "Dropout");
}

static tensor *dropout_call(const gantry_layer_call_t *call, void *user) {
    const double rate = *(const double *)user;
    if (drops(call, rate)) return gantry__layer_dropout(call, call->inputs[0], rate);
    return gantry_scope_status(call->scope) == GANTRY_OK ? call->inputs[0] : NULL;
}

static bool check_rate(const char *call, double rate) {
    if (rate >= 0 && rate < 1) return true;
    return gantry__train_refuse_bool(NULL, "%s: the rate is %g; [0, 1) is accepted", call, rate);
}

gantry_layer_t *gantry_dropout_layer(double rate, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Dropout", gantry__layer_build_any, dropout_call, .passes_masks = true);
    if (!check_rate("gantry_dropout_layer", rate)) return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof rate, name);
    if (!layer) return NULL;
    *(double *)layer->user = rate;
    layer->seeds_after = rate > 0 ? 1 : 0;
    return layer;
}

/* ---- Dropout with a noise shape ---- */

typedef struct shaped_dropout_t {
    double rate;
    gantry_shape_t noise;
} shaped_dropout_t;

static gantry_status_t check_noise(const shaped_dropout_t *d, const gantry_shape_t *input) {
    bool fits = d->noise.rank == input->rank;
    char text[256], wanted[256];
    for (int32_t k = 0; fits && k < input->rank; ++k) {
        const int64_t size = d->noise.dims[k];
        fits = size == -1 || size == 1 || size == input->dims[k] || input->dims[k] < 0;
    }
    if (fits) return GANTRY_OK;
    (void)gantry_shape_format(&d->noise, text, sizeof text);
    (void)gantry_shape_format(input, wanted, sizeof wanted);
    return gantry__train_refuse(
        NULL,
        "layer Dropout: noise_shape is %s, the input has shape %s; that rank, and 1, -1 or the input's size are accepted",
        text, wanted);
}

static gantry_status_t shaped_dropout_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                            size_t input_count, void *user) {
    GANTRY__TRY(gantry__layer_build_any(layer, inputs, input_count, user));
    return check_noise(user, inputs);
}

/* One factor for the elements that share a draw: 0, or 1 / (1 - rate). */
static tensor *shaped_dropout_call(const gantry_layer_call_t *call, void *user) {
    const shaped_dropout_t *d = user;
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0];
    gantry_shape_t noise = *gantry_tensor_shape(x);
    if (!drops(call, d->rate)) return gantry_scope_status(s) == GANTRY_OK ? x : NULL;
    for (int32_t k = 0; k < noise.rank; ++k) {
        if (d->noise.dims[k] >= 0 && d->noise.dims[k] != noise.dims[k]) noise.dims[k] = 1;
    }
    tensor *ones = gantry_ones(s, gantry_tensor_dtype(x), noise);
    return gantry_mul(s, x, gantry__layer_dropout(call, ones, d->rate));
}

gantry_layer_t *gantry_shaped_dropout_layer(double rate, gantry_shape_t noise_shape,
                                            const char *name) {
    static const gantry_layer_kind_t kind = GANTRY__LAYER_KIND(
        "Dropout", shaped_dropout_build, shaped_dropout_call, .passes_masks = true);
    if (!check_rate("gantry_shaped_dropout_layer", rate)) return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof(shaped_dropout_t), name);
    if (!layer) return NULL;
    *(shaped_dropout_t *)layer->user = (shaped_dropout_t){.rate = rate, .noise = noise_shape};
    layer->seeds_after = rate > 0 ? 1 : 0;
    return layer;
}

/* ---- Activation ---- */

static tensor *activation_call(const gantry_layer_call_t *call, void *user) {
    return gantry_activate(call->scope, *(const gantry_activation_t *)user, call->inputs[0]);
}

static const gantry_tensor_t *same_call(const gantry_layer_call_t *call, void *user) {
    (void)user;
    return gantry_identity(call->scope, call->inputs[0]);
}

gantry_layer_t *gantry_activity_regularization(double l1, double l2, const char *name) {
    static const gantry_layer_kind_t kind = GANTRY__LAYER_KIND(
        "ActivityRegularization", gantry__layer_build_any, same_call, .passes_masks = true);
    gantry_layer_t *layer = gantry__layer_make(&kind, 0, name);
    if (!layer) return NULL;
    const gantry_regularizer_t regularizer = {.l1 = l1, .l2 = l2};
    if (gantry__regularizer_read(&regularizer, "layer ActivityRegularization", &layer->activity) ==
        GANTRY_OK)
        return layer;
    gantry_layer_release(layer);
    return NULL;
}

gantry_layer_t *gantry_activation_layer(gantry_activation_t activation, const char *name) {
    static const gantry_layer_kind_t kind = GANTRY__LAYER_KIND(
        "Activation", gantry__layer_build_any, activation_call, .passes_masks = true);
    if (!gantry__layer_check_activation("Activation", activation)) return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof activation, name);
    if (layer) *(gantry_activation_t *)layer->user = activation;
    return layer;
}

/* ---- Masking ---- */

static tensor *masking_call(const gantry_layer_call_t *call, void *user) {
    static const int32_t last = -1;
    static const gantry_reduce_options_t over_last = {.axes = &last, .axis_count = 1};
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0];
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    tensor *differs =
        gantry_not_equal(s, x, gantry__train_constant(s, dtype, *(const double *)user));
    *call->mask = gantry_any(s, differs, &over_last);
    return gantry_select(s, gantry_expand_dims(s, *call->mask, -1), x,
                         gantry__train_constant(s, dtype, 0));
}

gantry_layer_t *gantry_masking_layer(double mask_value, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Masking", masking_build, masking_call);
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof mask_value, name);
    if (layer) *(double *)layer->user = mask_value;
    return layer;
}
