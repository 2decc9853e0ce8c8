/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a model. Models may have a layer together, each with a reference of its own:
 *
 *     program     layer = gantry_dense(...)         one reference, the program's
 *     model a     gantry_model_apply(a, layer, ..)  takes that reference over
 *     model b     gantry_model_apply(b, layer, ..)  adds one
 *
 * A model that fails before it has the layer as a member keeps the reference, in a list that needs
 * no memory, because the program may name the layer again, and gets the failure by the status. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/model/model_state.h"

gantry__member_t *gantry__model_member(const gantry_model_t *model, const gantry_layer_t *layer) {
    for (size_t i = 0; i < model->net.member_count; ++i) {
        if (model->net.members[i]->layer == layer) return model->net.members[i];
    }
    return NULL;
}

/* ---- names ---- */

const char *gantry__member_name(const gantry__member_t *member) {
    return member->name ? member->name : gantry_layer_name(member->layer);
}

bool gantry__model_is_name_taken(const gantry_model_t *model, const char *name) {
    for (size_t i = 0; i < model->net.nested_count; ++i) {
        if (strcmp(model->net.nested[i]->name, name) == 0) return true;
    }
    for (size_t i = 0; i < model->net.member_count; ++i) {
        if (strcmp(gantry__member_name(model->net.members[i]), name) == 0) return true;
    }
    return false;
}

/* The names of a kind that models gave: all numbers below this one are taken. */
static size_t count_given_names(const gantry_model_t *model, const char *kind) {
    size_t count = 0;
    for (size_t i = 0; i < model->net.member_count; ++i) {
        const gantry__member_t *member = model->net.members[i];
        count += !member->nested && !member->layer->has_own_name &&
                 strcmp(member->layer->kind.name, kind) == 0;
    }
    return count;
}

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static bool is_big(char c) { return c >= 'A' && c <= 'Z'; }
static bool members_is_small(char c) { return c >= 'a' && c <= 'z'; }

void gantry__snake_case(const char *name, char *out, size_t room) {
    size_t used = 0;
    for (size_t i = 0; name[i] && used + 2 < room; ++i) {
        if (i > 0 && is_big(name[i]) &&
            (members_is_small(name[i + 1]) || members_is_small(name[i - 1])))
            out[used++] = '_';
        out[used++] = small(name[i]);
    }
    out[used] = '\0';
}

/* "dense", or with the first number from `number` on that is free, "dense_1". */
static void find_name(const gantry_model_t *model, const char *stem, size_t number, char *out) {
    do {
        if (number == 0)
            (void)snprintf(out, GANTRY__NETWORK_NAME_BYTES, "%s", stem);
        else
            (void)snprintf(out, GANTRY__NETWORK_NAME_BYTES, "%.200s_%zu", stem, number);
        ++number;
    } while (gantry__model_is_name_taken(model, out));
}

/* The name of a layer that came with no block: its own, or that of another model, else one that
 * follows from its kind. */
static gantry_status_t name_alone(const gantry_model_t *model, const gantry_layer_t *layer,
                                  char *out) {
    char stem[96];
    const bool is_free = layer->name && !gantry__model_is_name_taken(model, layer->name);
    if (is_free) (void)snprintf(out, GANTRY__NETWORK_NAME_BYTES, "%s", layer->name);
    if (is_free) return GANTRY_OK;
    if (layer->has_own_name)
        return gantry__train_refuse(NULL,
                                    "model %s has two layers of the name %s; each has its own",
                                    model->name, layer->name);
    gantry__snake_case(layer->kind.name, stem, sizeof stem);
    find_name(model, stem, count_given_names(model, layer->kind.name), out);
    return GANTRY_OK;
}

static void name_part(const gantry_model_t *model, const gantry__nested_t *nested, const char *part,
                      char *out) {
    char stem[GANTRY__NETWORK_NAME_BYTES];
    (void)snprintf(stem, sizeof stem, "%.100s/%.100s", nested->name, part);
    find_name(model, stem, 0, out);
}

/* ---- taking over ---- */

static gantry__member_t *make_member(gantry_layer_t *layer, const char *name) {
    gantry__member_t *member = gantry__alloc(1, sizeof *member);
    if (!member) return NULL;
    *member = (gantry__member_t){.layer = layer, .is_frozen = layer->is_frozen};
    char **place = layer->name ? &member->name : &layer->name;
    const bool is_named = layer->name && strcmp(layer->name, name) == 0;
    if (is_named || (*place = gantry__strdup(name))) return member;
    gantry__free(member);
    return NULL;
}

gantry_status_t gantry__model_take_layer(gantry_model_t *model, gantry_layer_t *layer,
                                         const gantry__nested_t *nested, const char *part) {
    char name[GANTRY__NETWORK_NAME_BYTES];
    if (nested)
        name_part(model, nested, part, name);
    else
        GANTRY__TRY(name_alone(model, layer, name));
    if (!gantry__grow(&model->net.members, model->net.member_count, &model->net.member_capacity,
                      sizeof *model->net.members))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__member_t *member = make_member(layer, name);
    if (!member) return GANTRY_RESOURCE_EXHAUSTED;
    member->nested = nested;
    if (layer->is_taken) ++layer->references;
    layer->is_taken = true;
    model->net.members[model->net.member_count++] = member;
    return GANTRY_OK;
}

void gantry__model_refuse_layer(gantry_model_t *model, gantry_layer_t *layer) {
    if (!layer || layer->is_taken) return;
    layer->is_taken = true;
    layer->next_refused = model->net.refused;
    model->net.refused = layer;
}

gantry_status_t gantry__model_own_layer(gantry_model_t *model, gantry_layer_t *layer,
                                        gantry__member_t **out_member) {
    gantry_status_t status = GANTRY_OK;
    if (!gantry__model_member(model, layer))
        status = gantry__model_take_layer(model, layer, NULL, NULL);
    if (status != GANTRY_OK) gantry__model_refuse_layer(model, layer);
    *out_member = gantry__model_member(model, layer);
    return status;
}

void gantry__model_release_members(gantry_model_t *model) {
    for (size_t i = 0; i < model->net.member_count; ++i) {
        gantry__layer_unref(model->net.members[i]->layer);
        gantry__free(model->net.members[i]->name);
        gantry__free(model->net.members[i]);
    }
    gantry__free((void *)model->net.members);
    while (model->net.refused) {
        gantry_layer_t *layer = model->net.refused;
        model->net.refused = layer->next_refused;
        gantry__layer_unref(layer);
    }
}

/* ---- what is trained ---- */

bool gantry__member_trains(const gantry__member_t *member, size_t weight) {
    return !member->is_frozen && member->layer->weights[weight].is_trainable;
}

void gantry__model_settle_trainable(gantry_model_t *model) {
    for (size_t i = 0; i < model->net.member_count; ++i) {
        gantry__member_t *member = model->net.members[i];
        member->is_frozen = member->layer->is_frozen;
        /* before a build there are no variables */
        for (size_t w = 0; model->net.variable_count > 0 && w < member->layer->weight_count; ++w)
            model->net.variables[member->first_variable + w].is_trained =
                gantry__member_trains(member, w);
    }
}

gantry_status_t gantry_model_set_trainable(gantry_model_t *model, bool trainable) {
    GANTRY__TRY(gantry__model_check(model, "gantry_model_set_trainable"));
    for (size_t i = 0; i < model->net.member_count; ++i)
        GANTRY__TRY(gantry_layer_set_trainable(model->net.members[i]->layer, trainable));
    return GANTRY_OK;
}
