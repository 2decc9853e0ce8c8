/* SPDX-License-Identifier: Apache-2.0 */
/* Dot: products of two inputs, summed over a dimension of each. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/base/keras.h"
#include "train/layer/layer_norm.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

typedef struct dot_t {
    int32_t axes[2]; /* as given */
    bool normalizes;
} dot_t;

static int32_t dot_axis(const dot_t *d, size_t i, int32_t rank) {
    return d->axes[i] < 0 ? d->axes[i] + rank : d->axes[i];
}

static gantry_status_t dot_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                 size_t input_count, void *user) {
    const dot_t *d = user;
    int64_t sizes[2];
    (void)layer;
    if (input_count != 2)
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "layer Dot has %zu inputs; 2 are accepted", input_count);
    for (size_t i = 0; i < 2; ++i) {
        const int32_t axis = dot_axis(d, i, inputs[i].rank);
        if (axis < 1 || axis >= inputs[i].rank)
            return gantry__train_fail(
                GANTRY_INVALID_ARGUMENT,
                "layer Dot: axis %d of an input of rank %d; 1 to %d, or from the end, are accepted",
                d->axes[i], inputs[i].rank, inputs[i].rank - 1);
        sizes[i] = inputs[i].dims[axis];
    }
    if (inputs[0].rank + inputs[1].rank - 3 > GANTRY_MAX_RANK)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer Dot: inputs of rank %d and %d give rank %d; up to %d is accepted",
            inputs[0].rank, inputs[1].rank, inputs[0].rank + inputs[1].rank - 3, GANTRY_MAX_RANK);
    if (sizes[0] == sizes[1] || sizes[0] < 0 || sizes[1] < 0) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "layer Dot: the axes have sizes %lld and %lld; equal ones are accepted",
        (long long)sizes[0], (long long)sizes[1]);
}

/* "abc,adb->acd": 'a' is the batch, 'z' the dimension that is summed. */
static void dot_equation(const dot_t *d, const int32_t *ranks, char *out) {
    char rest[2 * GANTRY_MAX_RANK], letter = 'b', *at = out;
    size_t kept = 0;
    for (size_t i = 0; i < 2; ++i) {
        const int32_t axis = dot_axis(d, i, ranks[i]);
        *at++ = 'a';
        for (int32_t k = 1; k < ranks[i]; ++k) {
            *at++ = k == axis ? 'z' : letter;
            if (k != axis) rest[kept++] = letter++;
        }
        if (i == 0) *at++ = ',';
    }
    *at++ = '-', *at++ = '>', *at++ = 'a';
    for (size_t i = 0; i < kept; ++i) *at++ = rest[i];
    *at = '\0';
}

static tensor *dot_call(const gantry_layer_call_t *call, void *user) {
    const dot_t *d = user;
    gantry_scope_t *s = call->scope;
    char equation[4 * GANTRY_MAX_RANK + 4];
    tensor *inputs[2];
    int32_t ranks[2];
    if (!gantry__layer_has_floats(call, "Dot")) return NULL;
    for (size_t i = 0; i < 2; ++i) {
        const int32_t axis = d->axes[i];
        inputs[i] = call->inputs[i];
        ranks[i] = gantry_tensor_shape(inputs[i])->rank;
        if (d->normalizes)
            inputs[i] = gantry__layer_unit(s, inputs[i], &axis, 1, GANTRY__KERAS_EPSILON);
    }
    dot_equation(d, ranks, equation);
    tensor *y = gantry_einsum(s, equation, inputs, 2);
    return ranks[0] == 2 && ranks[1] == 2 && y ? gantry_expand_dims(s, y, -1) : y;
}

gantry_layer_t *gantry_dot_layer(int32_t first_axis, int32_t second_axis, bool normalize,
                                 const char *name) {
    static const gantry_layer_kind_t kind = GANTRY__LAYER_KIND("Dot", dot);
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof(dot_t), name);
    if (layer)
        *(dot_t *)layer->user = (dot_t){.axes = {first_axis, second_axis}, .normalizes = normalize};
    return layer;
}
