/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that repeat elements, put zeros around them, leave some out or move dimensions:
 * RepeatVector, UpSampling, ZeroPadding, Cropping, Permute. */
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

/* ---- repeated elements ---- */

/* How often each dimension is repeated: times[d], which is 1 for the batch and the channels. */
typedef struct repeat_t {
    int32_t rank; /* of the input */
    int64_t times[4];
} repeat_t;

static gantry_status_t repeat_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                    size_t input_count, void *user) {
    const repeat_t *r = user;
    return gantry__layer_check_rank(layer->kind.name, inputs, input_count, r->rank, r->rank);
}

/* A vector in host memory. */
static tensor *resize_numbers(gantry_scope_t *s, gantry_dtype_t dtype, size_t count,
                              const void *numbers) {
    gantry_scope_t *host = gantry__train_begin_on(s, "/CPU:0");
    tensor *made = gantry_constant(host, dtype, GANTRY_SHAPE((int64_t)count), numbers,
                                   count * gantry_dtype_size(dtype));
    return gantry__train_end(s, host, made);
}

/* Resizes x by whole factors: each element is repeated. */
static tensor *resize_repeat(gantry_scope_t *s, tensor *x, const repeat_t *r) {
    const gantry_attr_value_t attrs[] = {
        {.name = "coordinate_transformation", .kind = GANTRY_ATTR_STRING, .s = "ASYMMETRIC"},
        {.name = "nearest_mode", .kind = GANTRY_ATTR_STRING, .s = "FLOOR"}};
    gantry_shape_t to = *gantry_tensor_shape(x);
    float scales[4];
    bool is_open = false;
    for (int32_t d = 0; d < to.rank; ++d) {
        scales[d] = (float)r->times[d];
        is_open = is_open || to.dims[d] < 0;
        if (gantry__layer_grow(r->rank == 3 ? "UpSampling1D" : "UpSampling2D", r->times[d], 0,
                               &to.dims[d]))
            continue;
        (void)gantry__train_hand_on(s, GANTRY_INVALID_ARGUMENT);
        return NULL;
    }
    const size_t rank = (size_t)to.rank;
    tensor *inputs[] = {x, resize_numbers(s, GANTRY_INT64, is_open ? 0 : rank, to.dims),
                        resize_numbers(s, GANTRY_FLOAT32, is_open ? rank : 0, scales)};
    tensor *y = NULL;
    size_t outputs = 1;
    (void)gantry_op_call(s, "Resize", inputs, 3, attrs, 2, &y, &outputs);
    return y;
}

static tensor *repeat_call(const gantry_layer_call_t *call, void *user) {
    return resize_repeat(call->scope, call->inputs[0], user);
}

static tensor *repeat_vector_call(const gantry_layer_call_t *call, void *user) {
    const int64_t times = ((const repeat_t *)user)->times[1];
    tensor *x = call->inputs[0];
    const gantry_shape_t *from = gantry_tensor_shape(x);
    return gantry_broadcast_to(call->scope, gantry_expand_dims(call->scope, x, 1),
                               GANTRY_SHAPE(from->dims[0], times, from->dims[1]));
}

static gantry_layer_t *repeat_layer(const gantry_layer_kind_t *kind, repeat_t r, const char *name) {
    for (size_t d = 1; d < 4; ++d) {
        if (r.times[d] > 0) continue;
        return gantry__train_refuse_pointer(NULL,
                                            "layer %s: %lld times; a positive number is accepted",
                                            kind->name, (long long)r.times[d]);
    }
    gantry_layer_t *layer = gantry__layer_make(kind, sizeof r, name);
    if (layer) *(repeat_t *)layer->user = r;
    return layer;
}

gantry_layer_t *gantry_repeat_vector_layer(int64_t times, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("RepeatVector", repeat_build, repeat_vector_call);
    return repeat_layer(&kind, (repeat_t){2, {1, times, 1, 1}}, name);
}

gantry_layer_t *gantry_up_sampling1d_layer(int64_t size, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("UpSampling1D", repeat_build, repeat_call);
    return repeat_layer(&kind, (repeat_t){3, {1, size, 1, 1}}, name);
}

gantry_layer_t *gantry_up_sampling2d_layer(int64_t rows, int64_t columns, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("UpSampling2D", repeat_build, repeat_call);
    return repeat_layer(&kind, (repeat_t){4, {1, rows, columns, 1}}, name);
}

/* ---- edges: zeros around, or elements left out ---- */

typedef struct edges_t {
    int32_t rank;       /* of the input */
    int64_t amounts[8]; /* before and after, by dimension */
} edges_t;

static gantry_status_t padding_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                     size_t input_count, void *user) {
    const edges_t *e = user;
    return gantry__layer_check_rank(layer->kind.name, inputs, input_count, e->rank, e->rank);
}

/* Checks the amounts in each call, because an open size may be too small for them. */
static gantry_status_t check_cropping(const edges_t *e, const char *kind,
                                      const gantry_shape_t *input) {
    for (int32_t d = 0; d < e->rank; ++d) {
        const int64_t size = input->dims[d], before = e->amounts[(size_t)d * 2],
                      after = e->amounts[(size_t)d * 2 + 1];
        if (size < 0 || (before < size && after < size - before) || (before == 0 && after == 0))
            continue;
        return gantry__train_refuse(
            NULL,
            "layer %s: %lld and %lld of the %lld elements of dimension %d are cropped; fewer are accepted",
            kind, (long long)before, (long long)after, (long long)size, d);
    }
    return GANTRY_OK;
}

static gantry_status_t cropping_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                      size_t input_count, void *user) {
    GANTRY__TRY(padding_build(layer, inputs, input_count, user));
    return check_cropping(user, layer->kind.name, inputs);
}

static tensor *padding_call(const gantry_layer_call_t *call, void *user) {
    return gantry_pad(call->scope, call->inputs[0], ((const edges_t *)user)->amounts, NULL);
}

static tensor *cropping_call(const gantry_layer_call_t *call, void *user) {
    const edges_t *e = user;
    const gantry_shape_t *from = gantry_tensor_shape(call->inputs[0]);
    const gantry_status_t status =
        check_cropping(e, e->rank == 3 ? "Cropping1D" : "Cropping2D", from);
    int64_t begin[4], size[4];
    if (gantry__train_hand_on(call->scope, status) != GANTRY_OK) return NULL;
    for (int32_t d = 0; d < e->rank; ++d) {
        begin[d] = e->amounts[(size_t)d * 2];
        size[d] = from->dims[d] - begin[d] - e->amounts[(size_t)d * 2 + 1];
    }
    return gantry_slice(call->scope, call->inputs[0], begin, size);
}

/* amounts must have two numbers for each dimension between the batch and the channels. */
static gantry_layer_t *edges_layer(const gantry_layer_kind_t *kind, int32_t rank,
                                   const int64_t *amounts, const char *name) {
    const size_t count = (size_t)(rank - 2) * 2;
    for (size_t i = 0; amounts && i < count; ++i) {
        if (amounts[i] >= 0) continue;
        return gantry__train_refuse_pointer(
            NULL, "layer %s: an amount is %lld; numbers from 0 on are accepted", kind->name,
            (long long)amounts[i]);
    }
    if (!amounts)
        return gantry__train_refuse_pointer(
            NULL, "layer %s: the amounts are NULL; %zu numbers are accepted", kind->name, count);
    edges_t edges = {.rank = rank};
    memcpy(edges.amounts + 2, amounts, count * sizeof amounts[0]);
    gantry_layer_t *layer = gantry__layer_make(kind, sizeof edges, name);
    if (layer) *(edges_t *)layer->user = edges;
    return layer;
}

gantry_layer_t *gantry_zero_padding1d_layer(int64_t before, int64_t after, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("ZeroPadding1D", padding_build, padding_call);
    return edges_layer(&kind, 3, (int64_t[]){before, after}, name);
}

gantry_layer_t *gantry_zero_padding2d_layer(const int64_t *amounts, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("ZeroPadding2D", padding_build, padding_call);
    return edges_layer(&kind, 4, amounts, name);
}

gantry_layer_t *gantry_cropping1d_layer(int64_t before, int64_t after, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Cropping1D", cropping_build, cropping_call);
    return edges_layer(&kind, 3, (int64_t[]){before, after}, name);
}

gantry_layer_t *gantry_cropping2d_layer(const int64_t *amounts, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Cropping2D", cropping_build, cropping_call);
    return edges_layer(&kind, 4, amounts, name);
}

/* ---- Permute ---- */

typedef struct permute_t {
    int32_t rank; /* of the input */
    int32_t perm[GANTRY_MAX_RANK];
} permute_t;

static gantry_status_t permute_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                     size_t input_count, void *user) {
    const permute_t *p = user;
    return gantry__layer_check_rank(layer->kind.name, inputs, input_count, p->rank, p->rank);
}

static tensor *permute_call(const gantry_layer_call_t *call, void *user) {
    return gantry_transpose(call->scope, call->inputs[0], ((const permute_t *)user)->perm);
}

static gantry_status_t take_dims(const int32_t *dims, size_t count, permute_t *p) {
    bool seen[GANTRY_MAX_RANK] = {true}; /* the batch stays */
    if (!dims || count < 1 || count >= GANTRY_MAX_RANK)
        return gantry__train_refuse(NULL,
                                    "layer Permute: %zu dims%s; an array of 1 to %d is accepted",
                                    count, dims ? "" : " at NULL", GANTRY_MAX_RANK - 1);
    p->rank = (int32_t)count + 1;
    for (size_t i = 0; i < count; ++i) {
        if (dims[i] < 1 || dims[i] >= p->rank || seen[dims[i]])
            return gantry__train_refuse(
                NULL,
                "layer Permute: dims[%zu] is %d; each of the numbers from 1 to %zu, once, is accepted",
                i, dims[i], count);
        p->perm[i + 1] = dims[i];
        seen[dims[i]] = true;
    }
    return GANTRY_OK;
}

gantry_layer_t *gantry_permute_layer(const int32_t *dims, size_t count, const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("Permute", permute_build, permute_call);
    permute_t p = {.rank = 0};
    if (take_dims(dims, count, &p) != GANTRY_OK) return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof p, name);
    if (layer) *(permute_t *)layer->user = p;
    return layer;
}
