/* SPDX-License-Identifier: Apache-2.0 */
/* The paths that Keras 3 gives variables, `variable.path`:
 *
 *     a sequential model        sequential/dense/kernel
 *     a functional model        dense/kernel
 *     a block                   as in the block itself, whatever the model
 *     a sequential block        model/block/dense/kernel, where it is not built when a sequential
 *                               model gets it; one that begins with a built block is built
 *     LSTM, GRU, SimpleRNN      lstm/lstm_cell/kernel
 *     Bidirectional             bidirectional/forward_lstm/lstm_cell/kernel
 *     TimeDistributed           time_distributed/dense/kernel
 *
 * Names that the program did not give are counted as in a Keras that made this model first. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/layer/recurrent.h"
#include "train/model/model_state.h"

static void path_add(char *path, const char *format, ...) {
    const size_t used = strlen(path);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(path + used, GANTRY__NETWORK_PATH_BYTES - used, format, list);
    va_end(list);
}

/* ---- the part of a layer ---- */

/* The layers of this kind without a name of their own, from `layer` inwards. */
static size_t count_kind(const gantry_layer_t *layer, const char *kind) {
    size_t count = 0;
    for (; layer; layer = layer->inner)
        count += !layer->has_own_name && strcmp(layer->kind.name, kind) == 0;
    return count;
}

/* Adds the name of a layer of a member: its own, or of one in it. `name` is the member's in its
 * block. Keras counts the layers of a program together, those in others and in blocks, too, which
 * Gantry's own names do not; one in another layer was made before that one. */
static void path_add_layer(char *path, const gantry_model_t *model, const gantry__member_t *member,
                           const char *name, const gantry_layer_t *layer) {
    char stem[96];
    const char *kind = layer->kind.name;
    size_t count = count_kind(layer->inner, kind);
    bool is_recounted = layer != member->layer || count > 0;
    for (size_t i = 0; model->net.members[i] != member; ++i) {
        const gantry__member_t *before = model->net.members[i];
        const size_t inner = count_kind(before->layer->inner, kind),
                     all = count_kind(before->layer, kind);
        count += all;
        is_recounted |= inner > 0 || ((before->nested || member->nested) && all > 0);
    }
    gantry__snake_case(kind, stem, sizeof stem);
    if (layer->has_own_name)
        path_add(path, "%s", layer->name);
    else if (!is_recounted)
        path_add(path, "%s", name);
    else
        path_add(path, count > 0 ? "%s_%zu" : "%s", stem, count);
}

/* Adds the path of a weight in its layer. */
static void path_add_weight(char *path, const gantry_model_t *model, const gantry__member_t *member,
                            const char *weight) {
    const gantry_layer_t *layer = member->layer;
    for (; layer->inner; layer = layer->inner) {
        const char *end = gantry__is_bidirectional(layer) ? strchr(weight, '/') : NULL;
        if (end) path_add(path, "%.*s_", (int)(end - weight), weight);
        if (end) weight = end + 1;
        path_add_layer(path, model, member, NULL, layer->inner);
        path_add(path, "/");
    }
    if (gantry__rnn_of(layer)) {
        char stem[96];
        gantry__snake_case(layer->kind.name, stem, sizeof stem);
        path_add(path, "%s_cell/", stem);
    }
    path_add(path, "%s", weight);
}

/* ---- the parts of models ---- */

/* Adds the names of the models that a member is in, and returns what it is in the innermost one. */
static const gantry__member_t *path_add_models(char *path, const gantry_model_t *model,
                                               const gantry__member_t *member) {
    if (model->net.is_sequential) path_add(path, "%s/", model->name);
    for (; member->nested; member = gantry__model_member(model, member->layer)) {
        const gantry__nested_t *nested = member->nested;
        model = nested->model;
        if (nested->was_built) path[0] = '\0';
        if (model->net.is_sequential) path_add(path, "%s/", nested->name);
    }
    return member;
}

void gantry__model_keras_path(const gantry_model_t *model, size_t variable,
                              char path[GANTRY__NETWORK_PATH_BYTES]) {
    const gantry__member_t *member = model->net.members[0];
    const char *weight = model->net.variables[variable].weight->name;
    for (size_t i = 0; i < model->net.member_count; ++i) {
        const gantry__member_t *other = model->net.members[i];
        if (other->layer->weight_count > 0 && other->first_variable <= variable) member = other;
    }
    path[0] = '\0';
    const gantry__member_t *innermost = path_add_models(path, model, member);
    path_add_layer(path, model, member, gantry__member_name(innermost), member->layer);
    path_add(path, "/");
    path_add_weight(path, model, member, weight);
}
