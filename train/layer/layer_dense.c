/* SPDX-License-Identifier: Apache-2.0 */
/* Dense and Embedding. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_kernel.h"

typedef const gantry_tensor_t tensor;

/* ---- Dense ---- */

static gantry_status_t dense_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    const gantry__kernel_t *k = user;
    GANTRY__TRAIN_TRY(gantry__layer_check_rank("Dense", inputs, input_count, 2, GANTRY_MAX_RANK));
    const int64_t from = inputs[0].dims[inputs[0].rank - 1];
    return gantry__kernel_add_weights(layer, k, GANTRY_SHAPE(from, k->units), k->units);
}

/* More than two dimensions are rows of one matrix. A softmax and a sigmoid must come after the
 * reshape, because a loss finds the logits of an output only there. */
static tensor *dense_call(const gantry_layer_call_t *call, void *user) {
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0];
    gantry_shape_t shape = *gantry_tensor_shape(x);
    gantry__kernel_t k = *(const gantry__kernel_t *)user;
    gantry_activation_t late = GANTRY_LINEAR;
    const int64_t from = shape.dims[shape.rank - 1];
    if (shape.rank > 2 && (k.activation == GANTRY_SOFTMAX || k.activation == GANTRY_SIGMOID)) {
        late = k.activation;
        k.activation = GANTRY_LINEAR;
    }
    tensor *rows = shape.rank > 2 ? gantry_reshape(s, x, GANTRY_SHAPE(-1, from)) : x;
    tensor *y = gantry__kernel_finish(call, &k, gantry_matmul(s, rows, call->weights[0], NULL));
    if (shape.rank == 2) return y;
    shape.dims[shape.rank - 1] = k.units;
    return gantry_activate(s, late, gantry_reshape(s, y, shape));
}

gantry_layer_t *gantry_dense(int64_t units, gantry_activation_t activation,
                             const gantry_kernel_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND_OF("Dense", dense_build, dense_call, true);
    return gantry__kernel_layer(&kind, 0, units, 1, activation, options);
}

/* ---- Embedding, with its mask or without ---- */

typedef struct embedding_t {
    int64_t input_dim, output_dim;
    bool masks_zero;
    gantry_initializer_t initializer;
} embedding_t;

static gantry_status_t embedding_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t input_count, void *user) {
    const embedding_t *e = user;
    GANTRY__TRAIN_TRY(
        gantry__layer_check_rank("Embedding", inputs, input_count, 1, GANTRY_MAX_RANK - 1));
    return gantry_layer_add_weight(layer, "embeddings", GANTRY_SHAPE(e->input_dim, e->output_dim),
                                   &e->initializer, true);
}

static tensor *embedding_call(const gantry_layer_call_t *call, void *user) {
    const embedding_t *e = user;
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0];
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    if (dtype != GANTRY_INT32 && dtype != GANTRY_INT64) {
        (void)gantry__train_refuse(s, "the input is %s; int32 and int64 are accepted",
                                   gantry_dtype_name(dtype));
        return NULL;
    }
    if (e->masks_zero)
        *call->mask = gantry_not_equal(s, x, gantry__train_constant(s, gantry_tensor_dtype(x), 0));
    return gantry_gather(s, call->weights[0], x, 0);
}

static gantry_layer_t *make_embedding(const char *constructor, int64_t input_dim,
                                      int64_t output_dim, bool masks_zero,
                                      const gantry_initializer_t *initializer, const char *name) {
    static const gantry_layer_kind_t kind = GANTRY__LAYER_KIND("Embedding", embedding);
    embedding_t e = {.input_dim = input_dim, .output_dim = output_dim, .masks_zero = masks_zero};
    if (input_dim <= 0 || output_dim <= 0) {
        (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                 "%s: %lld to %lld; positive numbers are accepted", constructor,
                                 (long long)input_dim, (long long)output_dim);
        return NULL;
    }
    if (!gantry__layer_initializer(initializer, GANTRY_INIT_RANDOM_UNIFORM, &e.initializer))
        return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof e, name);
    if (!layer) return NULL;
    *(embedding_t *)layer->user = e;
    layer->takes_indices = true;
    return layer;
}

gantry_layer_t *gantry_embedding(int64_t input_dim, int64_t output_dim,
                                 const gantry_initializer_t *initializer, const char *name) {
    return make_embedding("gantry_embedding", input_dim, output_dim, false, initializer, name);
}

gantry_layer_t *gantry_masked_embedding(int64_t input_dim, int64_t output_dim,
                                        const gantry_initializer_t *initializer, const char *name) {
    return make_embedding("gantry_masked_embedding", input_dim, output_dim, true, initializer,
                          name);
}
