/* SPDX-License-Identifier: Apache-2.0 */
#include "train/model/file_names.h"

#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/optimizer/optimizer_state.h"

/* Of the only number that an optimizer of Keras carries, which has no name there. */
static const char keras_carried[] = "variable";

/* ---- names ---- */

void gantry__name_weight(const gantry_model_t *model, const gantry__file_names_t *names,
                         size_t variable, char *out) {
    if (names->has_keras_weights)
        gantry__model_keras_path(model, variable, out);
    else
        (void)snprintf(out, GANTRY__FILE_NAME_BYTES, "%s", model->net.variables[variable].name);
}

void gantry__name_slot(const gantry_model_t *model, const gantry__file_names_t *names,
                       size_t variable, const char *slot, char *out) {
    char weight[GANTRY__FILE_NAME_BYTES];
    const bool is_keras = names->state == GANTRY__STATE_KERAS;
    gantry__name_weight(model, names, variable, weight);
    for (char *c = weight; is_keras && *c; ++c) {
        if (*c == '/') *c = '_';
    }
    (void)snprintf(out, GANTRY__FILE_NAME_BYTES, "%s/%.511s%s%s",
                   is_keras ? names->optimizer : "optimizer", weight, is_keras ? "_" : "/", slot);
}

void gantry__name_scalar(const gantry__file_names_t *names, const char *what, char *out) {
    (void)snprintf(out, GANTRY__FILE_NAME_BYTES, "%s/%s",
                   names->state == GANTRY__STATE_KERAS ? names->optimizer : "optimizer", what);
}

static const char *keras_name(const gantry_optimizer_t *optimizer) {
    return optimizer->rule->keras_name ? optimizer->rule->keras_name : optimizer->rule->name;
}

gantry__file_names_t gantry__names_to_save(const gantry_model_t *model, bool as_keras) {
    gantry__file_names_t names = {.has_keras_weights = as_keras};
    const gantry_optimizer_t *optimizer = model->program.optimizer;
    if (!optimizer || optimizer->home_count == 0) return names;
    names.state = as_keras ? GANTRY__STATE_KERAS : GANTRY__STATE_OWN;
    (void)snprintf(names.optimizer, sizeof names.optimizer, "%s", keras_name(optimizer));
    (void)snprintf(names.carried, sizeof names.carried, "%s", keras_carried);
    return names;
}

/* Whether slots of two weights have one name: "a/b" and "a_b". */
static bool have_like_slots(const gantry_model_t *model, const gantry__file_names_t *names,
                            const gantry_checkpoint_entry_t *weights, size_t i, size_t k) {
    const gantry__model_variable_t *variables = model->net.variables;
    const char *a = weights[i].name, *b = weights[k].name;
    if (names->state != GANTRY__STATE_KERAS || model->program.optimizer->slot_count == 0 ||
        !variables[i].is_trained || !variables[k].is_trained)
        return false;
    while (*a && (*a == *b || (*a == '/' && *b == '_') || (*a == '_' && *b == '/'))) ++a, ++b;
    return *a == *b;
}

static gantry_status_t check_pair(const gantry_model_t *model, const gantry__file_names_t *names,
                                  const gantry_checkpoint_entry_t *weights, size_t i, size_t k) {
    const gantry__model_variable_t *variables = model->net.variables;
    char slot[GANTRY__FILE_NAME_BYTES];
    if (strcmp(weights[i].name, weights[k].name) == 0)
        return gantry__train_refuse(
            NULL,
            "model %s: weights %s and %s have one path in Keras, '%s', which leaves out names of functional blocks; layers of unlike names are accepted",
            model->name, variables[k].name, variables[i].name, weights[i].name);
    if (!have_like_slots(model, names, weights, i, k)) return GANTRY_OK;
    gantry__name_slot(model, names, i, model->program.optimizer->slots[0].name, slot);
    return gantry__train_refuse(
        NULL,
        "model %s: the optimizer's slots of weights %s and %s have one path in Keras, '%s', which has _ in place of /; layers of unlike names are accepted",
        model->name, variables[k].name, variables[i].name, slot);
}

gantry_status_t gantry__names_check_unlike(const gantry_model_t *model,
                                           const gantry__file_names_t *names,
                                           const gantry_checkpoint_entry_t *weights) {
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        for (size_t k = 0; k < i; ++k) GANTRY__TRY(check_pair(model, names, weights, i, k));
    }
    return GANTRY_OK;
}

/* ---- the names of a file: weights ---- */

static bool file_has(const gantry_checkpoint_t *checkpoint, const char *name) {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    return gantry_checkpoint_find(checkpoint, name, &dtype, &shape) != GANTRY_NOT_FOUND;
}

/* Names a weight that the file has under neither name. */
static gantry_status_t fail_weight(const gantry_model_t *model,
                                   const gantry_checkpoint_t *checkpoint, size_t variable) {
    char path[GANTRY__NETWORK_PATH_BYTES], text[GANTRY__TRAIN_MESSAGE_BYTES];
    const char *name = model->net.variables[variable].name;
    gantry__model_keras_path(model, variable, path);
    if (file_has(checkpoint, name) || strcmp(path, name) == 0) return GANTRY_NOT_FOUND;
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    return gantry__train_fail(GANTRY_NOT_FOUND, "%.500s (and no '%.400s', which is Keras's path)",
                              text, path);
}

/* Keras's paths are chosen where own names miss and all paths are there. */
static gantry_status_t choose_weights(const gantry_model_t *model,
                                      const gantry_checkpoint_t *checkpoint, bool *out_keras) {
    const size_t count = model->net.variable_count;
    size_t own = 0, keras = 0, missing = count;
    for (size_t i = 0; i < count; ++i) {
        char path[GANTRY__NETWORK_PATH_BYTES];
        gantry__model_keras_path(model, i, path);
        const bool has_keras = file_has(checkpoint, path),
                   has_own = file_has(checkpoint, model->net.variables[i].name);
        own += has_own;
        keras += has_keras;
        if (!has_own && !has_keras && missing == count) missing = i;
    }
    *out_keras = own < count && keras == count;
    if (own == count || keras == count) return GANTRY_OK;
    for (size_t i = 0; i < count && missing == count; ++i) {
        if (!file_has(checkpoint, model->net.variables[i].name)) missing = i;
    }
    return fail_weight(model, checkpoint, missing);
}

/* ---- the names of a file: an optimizer of Keras ---- */

static bool is_weight(const gantry_model_t *model, const gantry__file_names_t *names,
                      const char *name) {
    char weight[GANTRY__FILE_NAME_BYTES];
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        gantry__name_weight(model, names, i, weight);
        if (strcmp(weight, name) == 0) return true;
    }
    return false;
}

/* "adam", or "adam_1": Keras counts optimizers without a name. */
static bool is_counted(const char *name, size_t length, const char *stem) {
    const size_t own = strlen(stem);
    if (length < own || strncmp(name, stem, own) != 0) return false;
    return length == own || (length > own + 1 && name[own] == '_' &&
                             strspn(name + own + 1, "0123456789") == length - own - 1);
}

static gantry_status_t refuse_state(const gantry_model_t *model, const char *path, const char *name,
                                    size_t length, const char *wanted) {
    return gantry__train_refuse(
        NULL,
        "%s has the state of optimizer %.*s; model %s accepts that of %s, and without gantry_model_compile only the weights",
        path, (int)(length < 100 ? length : 100), name, model->name, wanted);
}

/* A slot of one name is another number in another optimizer. */
static gantry_status_t check_saved_by(const gantry_model_t *model, const char *path,
                                      const gantry_checkpoint_t *checkpoint) {
    const char *given = gantry_checkpoint_text(checkpoint, GANTRY__OPTIMIZER_TEXT),
               *wanted = model->program.optimizer->rule->name;
    if (!given || strcmp(given, wanted) == 0) return GANTRY_OK;
    return refuse_state(model, path, given, strlen(given), wanted);
}

static gantry_status_t take_optimizer(const gantry_model_t *model, const char *path,
                                      const char *name, size_t length,
                                      gantry__file_names_t *names) {
    const char *wanted = keras_name(model->program.optimizer);
    if (!is_counted(name, length, wanted) || length >= sizeof names->optimizer)
        return refuse_state(model, path, name, length, wanted);
    if (names->state == GANTRY__STATE_KERAS)
        return gantry__train_refuse(
            NULL, "%s has the states of optimizers %s and %.*s; that of one is accepted", path,
            names->optimizer, (int)length, name);
    names->state = GANTRY__STATE_KERAS;
    (void)snprintf(names->optimizer, sizeof names->optimizer, "%.*s", (int)length, name);
    return GANTRY_OK;
}

/* Keras counts variables without a name, too. */
static void find_carried(const gantry_checkpoint_t *checkpoint, gantry__file_names_t *names) {
    const size_t length = strlen(names->optimizer);
    (void)snprintf(names->carried, sizeof names->carried, "%s", keras_carried);
    for (size_t i = 0; i < gantry_checkpoint_count(checkpoint); ++i) {
        const char *name = gantry_checkpoint_name(checkpoint, i);
        if (strncmp(name, names->optimizer, length) == 0 && name[length] == '/' &&
            is_counted(name + length + 1, strlen(name + length + 1), keras_carried))
            (void)snprintf(names->carried, sizeof names->carried, "%.63s", name + length + 1);
    }
}

static gantry_status_t find_keras_state(const gantry_model_t *model, const char *path,
                                        const gantry_checkpoint_t *checkpoint,
                                        gantry__file_names_t *names) {
    for (size_t i = 0; i < gantry_checkpoint_count(checkpoint); ++i) {
        const char *name = gantry_checkpoint_name(checkpoint, i), *end = strchr(name, '/');
        if (end && strcmp(end, "/iteration") == 0 && !is_weight(model, names, name))
            GANTRY__TRY(take_optimizer(model, path, name, (size_t)(end - name), names));
    }
    if (names->state == GANTRY__STATE_KERAS) find_carried(checkpoint, names);
    return GANTRY_OK;
}

gantry_status_t gantry__names_of_file(const gantry_model_t *model, const char *path,
                                      const gantry_checkpoint_t *checkpoint,
                                      gantry__file_names_t *out) {
    *out = (gantry__file_names_t){.state = GANTRY__STATE_NONE};
    GANTRY__TRY(choose_weights(model, checkpoint, &out->has_keras_weights));
    if (!model->program.optimizer) return GANTRY_OK;
    if (file_has(checkpoint, "optimizer/iteration"))
        out->state = GANTRY__STATE_OWN;
    else if (file_has(checkpoint, "optimizer/0"))
        out->state = GANTRY__STATE_NUMBERED;
    else
        return find_keras_state(model, path, checkpoint, out);
    return check_saved_by(model, path, checkpoint);
}
