/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that make one value of several: Add, Subtract, Multiply, Average, Maximum, Minimum,
 * Concatenate. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

static gantry_status_t merge_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    (void)inputs, (void)user;
    if (input_count > 1) return GANTRY_OK;
    return gantry__train_refuse(NULL, "layer %s has %zu inputs; 2 or more are accepted",
                                layer->kind.name, input_count);
}

/* ---- inputs of several ranks: as in Keras, dimensions of 1 follow the batch ---- */

static tensor *raised(const gantry_layer_call_t *call, size_t i, tensor *x) {
    int32_t most = 0;
    for (size_t k = 0; k < call->input_count; ++k) {
        const int32_t rank = gantry_tensor_shape(call->inputs[k])->rank;
        most = rank > most ? rank : most;
    }
    for (int32_t rank = gantry_tensor_shape(call->inputs[i])->rank; rank < most && x; ++rank)
        x = gantry_expand_dims(call->scope, x, 1);
    return x;
}

static tensor *merge_input(const gantry_layer_call_t *call, size_t i) {
    return raised(call, i, call->inputs[i]);
}

static tensor *merge_mask(const gantry_layer_call_t *call, size_t i) {
    return raised(call, i, call->masks[i]);
}

/* The mask of a sum has a place if one of the inputs' masks has it. An input without a mask has all
 * places, but then Keras gives no mask. */
static tensor *join_masks(const gantry_layer_call_t *call) {
    tensor *mask = merge_mask(call, 0);
    for (size_t i = 1; i < call->input_count && mask; ++i)
        mask = call->masks[i] ? gantry_logical_or(call->scope, mask, merge_mask(call, i)) : NULL;
    return mask;
}

/* ---- by elements ---- */

static tensor *merge_fold(const gantry_layer_call_t *call,
                          tensor *(*op)(gantry_scope_t *scope, tensor *x, tensor *y)) {
    tensor *y = merge_input(call, 0);
    *call->mask = join_masks(call);
    for (size_t i = 1; i < call->input_count; ++i) y = op(call->scope, y, merge_input(call, i));
    return y;
}

static tensor *merge_add_call(const gantry_layer_call_t *call, void *user) {
    (void)user;
    return merge_fold(call, gantry_add);
}

static tensor *subtract_call(const gantry_layer_call_t *call, void *user) {
    (void)user;
    return merge_fold(call, gantry_sub);
}

static tensor *average_call(const gantry_layer_call_t *call, void *user) {
    const double count = (double)call->input_count;
    if (!gantry__layer_has_floats(call, "Average")) return NULL;
    tensor *sum = merge_add_call(call, user);
    if (!sum) return NULL;
    return gantry_div(call->scope, sum,
                      gantry__train_constant(call->scope, gantry_tensor_dtype(sum), count));
}

/* x, or y where a mask leaves a step of x out. */
static tensor *where_masked(gantry_scope_t *s, tensor *mask, tensor *x, tensor *y) {
    return mask ? gantry_select(s, gantry_expand_dims(s, mask, -1), x, y) : x;
}

/* A step that the mask of one side leaves out is that of the other side. */
static tensor *merge_extremes(const gantry_layer_call_t *call,
                              tensor *(*op)(gantry_scope_t *scope, tensor *x, tensor *y)) {
    gantry_scope_t *s = call->scope;
    tensor *y = merge_input(call, 0), *mask = merge_mask(call, 0);
    for (size_t i = 1; i < call->input_count; ++i) {
        tensor *other = merge_mask(call, i), *x = where_masked(s, other, merge_input(call, i), y);
        y = op(s, where_masked(s, mask, y, x), x);
        mask = mask && other ? gantry_logical_or(s, mask, other) : NULL;
    }
    *call->mask = mask;
    return y;
}

static tensor *maximum_call(const gantry_layer_call_t *call, void *user) {
    (void)user;
    return merge_extremes(call, gantry_maximum);
}

static tensor *minimum_call(const gantry_layer_call_t *call, void *user) {
    (void)user;
    return merge_extremes(call, gantry_minimum);
}

static tensor *fill_masked(gantry_scope_t *s, tensor *x, tensor *mask, double number) {
    if (!x || !mask) return x;
    return where_masked(s, mask, x, gantry__train_constant(s, gantry_tensor_dtype(x), number));
}

static tensor *multiply_call(const gantry_layer_call_t *call, void *user) {
    gantry_scope_t *s = call->scope;
    tensor *product = NULL;
    (void)user;
    *call->mask = join_masks(call);
    for (size_t i = 0; i < call->input_count; ++i) {
        tensor *x = fill_masked(s, merge_input(call, i), merge_mask(call, i), 1);
        product = i == 0 ? x : gantry_mul(s, product, x);
    }
    return fill_masked(s, product, *call->mask, 0);
}

static gantry_status_t subtract_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                      size_t input_count, void *user) {
    (void)layer, (void)inputs, (void)user;
    if (input_count == 2) return GANTRY_OK;
    return gantry__train_refuse(NULL, "layer Subtract has %zu inputs; 2 are accepted", input_count);
}

static gantry_layer_t *merge_layer(const char *kind_name,
                                   gantry_status_t (*build)(gantry_layer_t *layer,
                                                            const gantry_shape_t *inputs,
                                                            size_t input_count, void *user),
                                   tensor *(*call)(const gantry_layer_call_t *call, void *user),
                                   const char *name) {
    const gantry_layer_kind_t kind = GANTRY__LAYER_KIND(kind_name, build, call);
    return gantry__layer_make(&kind, 0, name);
}

gantry_layer_t *gantry_add_layer(const char *name) {
    return merge_layer("Add", merge_build, merge_add_call, name);
}

gantry_layer_t *gantry_subtract_layer(const char *name) {
    return merge_layer("Subtract", subtract_build, subtract_call, name);
}

gantry_layer_t *gantry_multiply_layer(const char *name) {
    return merge_layer("Multiply", merge_build, multiply_call, name);
}

gantry_layer_t *gantry_average_layer(const char *name) {
    return merge_layer("Average", merge_build, average_call, name);
}

gantry_layer_t *gantry_maximum_layer(const char *name) {
    return merge_layer("Maximum", merge_build, maximum_call, name);
}

gantry_layer_t *gantry_minimum_layer(const char *name) {
    return merge_layer("Minimum", merge_build, minimum_call, name);
}

/* ---- Concatenate ---- */

/* The mask of an input as large as the input; without a mask, all of it. */
static tensor *spread_mask(const gantry_layer_call_t *call, size_t i) {
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[i], *mask = call->masks[i];
    tensor *all = gantry_cast(s, gantry_ones_like(s, x), GANTRY_BOOL);
    if (!mask) return all;
    const bool is_smaller = gantry_tensor_shape(mask)->rank < gantry_tensor_shape(x)->rank;
    return is_smaller ? gantry_logical_and(s, gantry_expand_dims(s, mask, -1), all) : mask;
}

/* Makes Keras's mask: the masks are joined as the inputs are, then those of a place by or. */
static tensor *concatenate_masks(const gantry_layer_call_t *call, int32_t axis) {
    static const int32_t last = -1;
    static const gantry_reduce_options_t over_last = {.axes = &last, .axis_count = 1};
    bool has_mask = false;
    for (size_t i = 0; i < call->input_count; ++i) has_mask = has_mask || call->masks[i];
    if (!has_mask) return NULL;
    tensor **masks = gantry__alloc(call->input_count, sizeof *masks), *joined = NULL;
    if (!masks) {
        (void)gantry__train_hand_on(call->scope, GANTRY_RESOURCE_EXHAUSTED);
        return NULL;
    }
    for (size_t i = 0; i < call->input_count; ++i) masks[i] = spread_mask(call, i);
    joined = gantry_concat(call->scope, masks, call->input_count, axis);
    gantry__free((void *)masks);
    return gantry_any(call->scope, joined, &over_last);
}

static tensor *concatenate_call(const gantry_layer_call_t *call, void *user) {
    *call->mask = concatenate_masks(call, *(const int32_t *)user);
    return gantry_concat(call->scope, call->inputs, call->input_count, *(const int32_t *)user);
}

gantry_layer_t *gantry_concatenate_layer(int32_t axis, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Concatenate", merge_build, concatenate_call);
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof axis, name);
    if (layer) *(int32_t *)layer->user = axis;
    return layer;
}
