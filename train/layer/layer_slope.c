/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that map each element: LeakyReLU, PReLU, Rescaling. */
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

/* ---- LeakyReLU ---- */

static tensor *leaky_call(const gantry_layer_call_t *call, void *user) {
    if (!gantry__layer_has_floats(call, "LeakyReLU")) return NULL;
    return gantry_leaky_relu(call->scope, call->inputs[0], *(const float *)user);
}

gantry_layer_t *gantry_leaky_relu_layer(double negative_slope, const char *name) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND_OF("LeakyReLU", gantry__layer_build_any, leaky_call, true);
    if (!(negative_slope >= 0)) {
        (void)gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer LeakyReLU: the negative slope is %g; numbers from 0 on are accepted",
            negative_slope);
        return NULL;
    }
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof(float), name);
    if (layer) *(float *)layer->user = (float)negative_slope;
    return layer;
}

/* ---- PReLU ---- */

typedef struct prelu_t {
    gantry_initializer_t initializer;
    bool is_shared[GANTRY_MAX_RANK]; /* by dimension */
    int32_t last_shared;
} prelu_t;

static gantry_status_t prelu_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    const prelu_t *p = user;
    GANTRY__TRAIN_TRY(gantry__layer_check_rank("PReLU", inputs, input_count, 2, GANTRY_MAX_RANK));
    gantry_shape_t shape = {.rank = inputs[0].rank - 1};
    if (p->last_shared > shape.rank)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer PReLU: axis %d of an input of rank %d is shared; 1 to %d are accepted",
            p->last_shared, inputs[0].rank, shape.rank);
    for (int32_t d = 0; d < shape.rank; ++d)
        shape.dims[d] = p->is_shared[d + 1] ? 1 : inputs[0].dims[d + 1];
    return gantry_layer_add_weight(layer, "alpha", shape, &p->initializer, true);
}

static tensor *prelu_call(const gantry_layer_call_t *call, void *user) {
    gantry_scope_t *s = call->scope;
    (void)user;
    if (!gantry__layer_has_floats(call, "PReLU")) return NULL;
    tensor *x = call->inputs[0], *below = gantry_relu(s, gantry_neg(s, x));
    return gantry_sub(s, gantry_relu(s, x), gantry_mul(s, call->weights[0], below));
}

static gantry_status_t take_shared(const int32_t *axes, size_t count, prelu_t *p) {
    if (!axes && count > 0)
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "layer PReLU: %zu shared axes at NULL; an array is accepted",
                                  count);
    for (size_t i = 0; i < count; ++i) {
        if (axes[i] < 1 || axes[i] >= GANTRY_MAX_RANK)
            return gantry__train_fail(
                GANTRY_INVALID_ARGUMENT,
                "layer PReLU: shared axis %d; numbers from 1 to %d are accepted", axes[i],
                GANTRY_MAX_RANK - 1);
        p->is_shared[axes[i]] = true;
        if (axes[i] > p->last_shared) p->last_shared = axes[i];
    }
    return GANTRY_OK;
}

gantry_layer_t *gantry_prelu_layer(const gantry_initializer_t *initializer,
                                   const int32_t *shared_axes, size_t axis_count,
                                   const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND_OF("PReLU", prelu_build, prelu_call, true);
    prelu_t p = {.last_shared = 0};
    if (take_shared(shared_axes, axis_count, &p) != GANTRY_OK ||
        !gantry__layer_initializer(initializer, GANTRY_INIT_ZEROS, &p.initializer))
        return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof p, name);
    if (layer) *(prelu_t *)layer->user = p;
    return layer;
}

/* ---- Rescaling ---- */

typedef struct rescaling_t {
    double scale, offset;
} rescaling_t;

static tensor *rescaling_call(const gantry_layer_call_t *call, void *user) {
    const rescaling_t *r = user;
    gantry_scope_t *s = call->scope;
    const gantry_dtype_t given = gantry_tensor_dtype(call->inputs[0]),
                         dtype = gantry__train_is_float(given) ? given : gantry__layer_dtype(call);
    tensor *x = gantry__train_cast(s, call->inputs[0], dtype);
    return gantry_add(s, gantry_mul(s, x, gantry__train_constant(s, dtype, r->scale)),
                      gantry__train_constant(s, dtype, r->offset));
}

gantry_layer_t *gantry_rescaling_layer(double scale, double offset, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND_OF("Rescaling", gantry__layer_build_any, rescaling_call, true);
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof(rescaling_t), name);
    if (layer) *(rescaling_t *)layer->user = (rescaling_t){scale, offset};
    return layer;
}
