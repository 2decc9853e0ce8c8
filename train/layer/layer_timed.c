/* SPDX-License-Identifier: Apache-2.0 */
/* TimeDistributed: a layer applied to each step, which is here one sample of a larger batch. */
#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/layer/recurrent.h"

typedef const gantry_tensor_t tensor;

/* The inner layer's build adds its weights to a copy of the outer layer, which has the rules and
 * the name, so that they become the outer layer's. */
static gantry_status_t timed_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                   size_t input_count, void *user) {
    const gantry_layer_t *inner = *(gantry_layer_t *const *)user;
    gantry_layer_t whole = *layer;
    GANTRY__TRY(
        gantry__layer_check_rank("TimeDistributed", inputs, input_count, 3, GANTRY_MAX_RANK));
    gantry_shape_t step = {.rank = inputs[0].rank - 1, .dims = {-1}};
    for (int32_t d = 1; d < step.rank; ++d) step.dims[d] = inputs[0].dims[d + 1];
    if (!inner->kind.build) return GANTRY_OK;
    whole.kind = inner->kind;
    whole.user = inner->user;
    const gantry_status_t status = inner->kind.build(&whole, &step, 1, inner->user);
    layer->weights = whole.weights;
    layer->weight_count = whole.weight_count;
    layer->weight_capacity = whole.weight_capacity;
    layer->seeds_after = whole.seeds_after;
    return status;
}

static tensor *timed_call(const gantry_layer_call_t *call, void *user) {
    const gantry_layer_t *inner = *(gantry_layer_t *const *)user;
    const gantry_shape_t *from = gantry_tensor_shape(call->inputs[0]);
    gantry_shape_t apart = {.rank = from->rank - 1, .dims = {from->dims[0] * from->dims[1]}};
    for (int32_t d = 1; d < apart.rank; ++d) apart.dims[d] = from->dims[d + 1];
    tensor *steps = gantry_reshape(call->scope, call->inputs[0], apart), *no_mask = NULL, *mask;
    if (!steps) return NULL;
    gantry_layer_call_t each = *call;
    each.inputs = &steps;
    each.masks = &no_mask;
    each.mask = &mask;
    tensor *y = gantry__layer_call(inner, &each);
    if (!y) return NULL;
    const gantry_shape_t *got = gantry_tensor_shape(y);
    if (got->rank < 1 || got->rank == GANTRY_MAX_RANK || got->dims[0] != apart.dims[0]) {
        char text[256];
        (void)gantry_shape_format(got, text, sizeof text);
        return gantry__train_refuse_pointer(
            call->scope,
            "layer TimeDistributed: the layer %s gives the shape %s for %lld steps of all samples; a first dimension of these, and a rank below %d are accepted",
            inner->kind.name, text, (long long)apart.dims[0], GANTRY_MAX_RANK);
    }
    gantry_shape_t joined = {.rank = got->rank + 1, .dims = {from->dims[0], from->dims[1]}};
    for (int32_t d = 1; d < got->rank; ++d) joined.dims[d + 1] = got->dims[d];
    return gantry_reshape(call->scope, y, joined);
}

static bool check_inner(const gantry_layer_t *layer) {
    const gantry__recurrent_t *recurrent = layer ? gantry__rnn_of(layer) : NULL;
    const char *has = NULL;
    if (!layer) return false; /* its constructor left a text */
    if (layer->is_taken) has = "belongs to a model";
    if (gantry__layer_outputs(layer) > 1) has = "has several outputs";
    if (recurrent && recurrent->is_stateful) has = "is stateful";
    if (gantry__regularizes(&layer->activity))
        has =
            "has an activity regularizer, which a TimeDistributed takes by gantry_layer_set_activity_regularizer";
    if (!has) return true;
    return gantry__train_refuse_bool(
        NULL,
        "gantry_time_distributed: the %s %s; a new layer of one input and one output is accepted",
        layer->kind.name, has);
}

gantry_layer_t *gantry_time_distributed(gantry_layer_t *layer, const char *name) {
    static const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                             .name = "TimeDistributed",
                                             .build = timed_build,
                                             .call = timed_call,
                                             .passes_masks = true,
                                             .release = gantry__layer_free_user};
    gantry_layer_t *made =
        check_inner(layer) ? gantry__layer_make(&kind, sizeof(gantry_layer_t *), name) : NULL;
    if (!made) {
        gantry_layer_release(layer);
        return NULL;
    }
    *(gantry_layer_t **)made->user = made->inner = layer;
    made->is_frozen = layer->is_frozen;
    made->takes_indices = layer->takes_indices;
    made->is_built_in = layer->is_built_in;
    made->seeds_after = layer->seeds_after;
    if (gantry__layer_copy_rules(made, layer, "") == GANTRY_OK) return made;
    gantry_layer_release(made);
    return NULL;
}
