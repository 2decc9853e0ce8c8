/* SPDX-License-Identifier: Apache-2.0 */
#include "train/layer/layer_kernel.h"

#include "train/base/fail.h"

static bool take_number(const char *kind, const char *what, int64_t given, int64_t otherwise,
                        int64_t *out) {
    *out = given ? given : otherwise;
    if (*out > 0 && *out <= INT32_MAX) return true; /* products of two fit */
    return gantry__train_refuse_bool(NULL, "layer %s: %s is %lld; a positive number%s is accepted",
                                     kind, what, (long long)given, *out > 0 ? " below 2**31" : "");
}

static bool take_padding(const char *kind, unsigned uses, const gantry__kernel_t *k) {
    if (!k->is_causal || (!k->is_same && (uses & GANTRY__KERNEL_CAUSAL))) return true;
    return gantry__train_refuse_bool(
        NULL, "layer %s has causal_padding%s; only Conv1D accepts it, without same_padding", kind,
        k->is_same ? " and same_padding" : "");
}

/* With same_padding, a window over an even number leaves a place fewer, unless the output is
 * padded. */
static bool take_output_padding(const char *kind, unsigned uses, const int64_t *given,
                                gantry__kernel_t *k) {
    k->has_output_padding = given != NULL;
    if (!given) return true;
    if (!(uses & GANTRY__KERNEL_OUTPUT_PADDING))
        return gantry__train_refuse_bool(
            NULL, "layer %s has output_padding; only Conv1DTranspose and Conv2DTranspose accept it",
            kind);
    for (size_t i = 0; i < (uses & GANTRY__KERNEL_COLUMNS ? 2 : 1); ++i) {
        const int least = k->is_same && (k->sizes[i] - 1) * k->dilations[i] % 2 != 0;
        k->output_padding[i] = given[i];
        if (given[i] >= least && given[i] < k->strides[i]) continue;
        return gantry__train_refuse_bool(
            NULL,
            "layer %s: output_padding[%zu] is %lld; a number from %d on, below the stride %lld, is accepted",
            kind, i, (long long)given[i], least, (long long)k->strides[i]);
    }
    return true;
}

static bool check_groups(const char *kind, unsigned uses, const gantry__kernel_t *k) {
    enum { MOST = GANTRY_MAX_OP_INPUTS - 1 }; /* which an op joins */
    if (k->groups == 1 ||
        ((uses & GANTRY__KERNEL_GROUPS) && k->groups <= MOST && k->units % k->groups == 0))
        return true;
    return gantry__train_refuse_bool(
        NULL,
        "layer %s: %lld filters in %lld groups; Conv1D and Conv2D accept up to %d groups, whose number divides the filters",
        kind, (long long)k->units, (long long)k->groups, MOST);
}

/* One dimension may have the strides and dilations of two. */
static bool check_unused(const char *kind, unsigned uses, const gantry_kernel_options_t *o) {
    const struct {
        gantry__kernel_use_t use;
        const char *name;
        int64_t given, no_effect;
    } rows[] = {{GANTRY__KERNEL_WINDOW, "strides[0]", o->strides[0], 1},
                {GANTRY__KERNEL_WINDOW, "dilations[0]", o->dilations[0], 1},
                {GANTRY__KERNEL_WINDOW, "same_padding", o->same_padding, 0},
                {GANTRY__KERNEL_COLUMNS, "kernel_columns", o->kernel_columns, 1},
                {GANTRY__KERNEL_MULTIPLIER, "depth_multiplier", o->depth_multiplier, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (!(uses & rows[i].use) &&
            !gantry__layer_check_unused(kind, rows[i].name, rows[i].given, rows[i].no_effect))
            return false;
    }
    return true;
}

static bool take_options(const char *kind, unsigned uses, const gantry_kernel_options_t *options,
                         gantry__kernel_t *k, gantry_kernel_options_t *out) {
    gantry_kernel_options_t o;
    if (gantry__struct_read(options, sizeof o, &o, sizeof o, "gantry_kernel_options_t") !=
        GANTRY_OK)
        return false;
    if (!check_unused(kind, uses, &o)) return false;
    *out = o;
    k->has_bias = !o.no_bias;
    k->is_same = o.same_padding;
    k->is_causal = o.causal_padding;
    for (size_t i = 0; i < 2; ++i) {
        if (!take_number(kind, "a stride", o.strides[i], 1, &k->strides[i]) ||
            !take_number(kind, "a dilation", o.dilations[i], 1, &k->dilations[i]))
            return false;
    }
    return take_padding(kind, uses, k) &&
           take_number(kind, "kernel_columns", o.kernel_columns, k->sizes[0], &k->sizes[1]) &&
           take_output_padding(kind, uses, o.output_padding, k) &&
           take_number(kind, "depth_multiplier", o.depth_multiplier, 1, &k->multiplier) &&
           take_number(kind, "groups", o.groups, 1, &k->groups) && check_groups(kind, uses, k) &&
           gantry__layer_initializer(o.kernel_initializer, GANTRY_INIT_GLOROT_UNIFORM,
                                     &k->kernel) &&
           gantry__layer_initializer(o.bias_initializer, GANTRY_INIT_ZEROS, &k->bias);
}

static gantry_layer_t *with_kernel_rules(gantry_layer_t *layer, bool has_pointwise,
                                         const gantry_kernel_options_t *o) {
    layer = gantry__layer_with_rules(layer, has_pointwise ? "depthwise_kernel" : "kernel",
                                     o->kernel_regularizer, o->kernel_constraint);
    if (!has_pointwise) return layer;
    return gantry__layer_with_rules(layer, "pointwise_kernel", o->kernel_regularizer,
                                    o->kernel_constraint);
}

gantry_layer_t *gantry__kernel_layer(const gantry_layer_kind_t *kind, unsigned uses, int64_t units,
                                     int64_t size, gantry_activation_t activation,
                                     const gantry_kernel_options_t *options) {
    gantry__kernel_t k = {.activation = activation};
    gantry_kernel_options_t o;
    if (!take_number(kind->name, "the number of outputs", units, 0, &k.units) ||
        !take_number(kind->name, "the kernel's size", size, 0, &k.sizes[0]) ||
        !gantry__layer_check_activation(kind->name, activation) ||
        !take_options(kind->name, uses, options, &k, &o))
        return NULL;
    gantry_layer_t *layer = gantry__layer_make(kind, sizeof k, o.name);
    if (layer) *(gantry__kernel_t *)layer->user = k;
    layer = with_kernel_rules(layer, uses & GANTRY__KERNEL_POINTWISE, &o);
    if (!k.has_bias) return layer;
    return gantry__layer_with_rules(layer, "bias", o.bias_regularizer, o.bias_constraint);
}

gantry_status_t gantry__kernel_add_weights(gantry_layer_t *layer, const gantry__kernel_t *k,
                                           gantry_shape_t kernel, int64_t bias) {
    GANTRY__TRY(gantry_layer_add_weight(layer, "kernel", kernel, &k->kernel, true));
    if (!k->has_bias) return GANTRY_OK;
    return gantry_layer_add_weight(layer, "bias", GANTRY_SHAPE(bias), &k->bias, true);
}

gantry_status_t gantry__kernel_check_window(const char *kind, const gantry__kernel_t *k,
                                            const gantry_shape_t *input, int32_t rank) {
    const int64_t spread[] = {(k->sizes[0] - 1) * k->dilations[0] + 1,
                              (k->sizes[1] - 1) * k->dilations[1] + 1};
    return k->is_same || k->is_causal ? GANTRY_OK
                                      : gantry__layer_check_window(kind, input, rank, spread);
}

const gantry_tensor_t *gantry__kernel_finish(const gantry_layer_call_t *call,
                                             const gantry__kernel_t *k, const gantry_tensor_t *y) {
    if (k->has_bias) y = gantry_bias_add(call->scope, y, call->weights[call->weight_count - 1]);
    return gantry_activate(call->scope, k->activation, y);
}

gantry_window_options_t gantry__kernel_image_window(const gantry__kernel_t *k, int32_t rank) {
    gantry_window_options_t window = {
        .strides = {k->strides[0], k->strides[1]},
        .dilations = {k->dilations[0], k->dilations[1]},
        .padding = k->is_same ? GANTRY_PADDING_SAME : GANTRY_PADDING_VALID};
    if (rank == 2) return window;
    window.strides[0] = window.dilations[0] = 1;
    window.strides[1] = k->strides[0];
    window.dilations[1] = k->dilations[0];
    return window;
}

const gantry_tensor_t *gantry__kernel_image(gantry_scope_t *scope, const gantry_tensor_t *x,
                                            int32_t rank, int32_t axis) {
    return rank == 1 ? gantry_expand_dims(scope, x, axis) : x;
}

const gantry_tensor_t *gantry__kernel_sequence(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               int32_t rank) {
    static const int32_t rows = 1;
    return rank == 1 && x ? gantry_squeeze(scope, x, &rows, 1) : x;
}
