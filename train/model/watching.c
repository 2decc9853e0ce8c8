/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks that watch a value of each epoch: EarlyStopping, ReduceLROnPlateau. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/c_locale.h"
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/model_state.h"
#include "train/model/own_callback.h"

/* ---- what a backup keeps ---- */

static gantry_status_t get_state(char *out, size_t bytes, void *user) {
    const gantry__own_callback_t *own = user;
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    (void)snprintf(out, bytes, "%d %a %lld %lld", own->has_best ? 1 : 0, own->best,
                   (long long)own->waited, (long long)own->cooling);
    gantry__c_locale_end(&locale);
    return GANTRY_OK;
}

static gantry_status_t set_state(const char *text, void *user) {
    gantry__own_callback_t *own = user;
    char *end;
    const bool has_best = strtol(text, &end, 10) != 0;
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    const double best = strtod(end, &end);
    gantry__c_locale_end(&locale);
    const int64_t waited = strtoll(end, &end, 10), cooling = strtoll(end, &end, 10);
    if (*end || waited < 0 || cooling < 0)
        return gantry__train_refuse(
            NULL, "a callback's state is \"%.100s\"; one of a callback that watches %s is accepted",
            text, own->monitor);
    own->has_best = has_best;
    own->best = best;
    own->waited = waited;
    own->cooling = cooling;
    return GANTRY_OK;
}

void gantry__callback_keep_state(gantry__own_callback_t *own) {
    own->is_better_high = strstr(own->monitor, "acc") || strstr(own->monitor, "auc");
    own->callback.get_state = get_state;
    own->callback.set_state = set_state;
}

/* ---- values ---- */

gantry_status_t gantry__callback_find_value(const gantry__own_callback_t *own,
                                            const gantry_model_t *model, const gantry_logs_t *logs,
                                            double *out_value, bool *out_found) {
    *out_found = true;
    for (size_t i = 0; i < logs->count; ++i) {
        if (strcmp(logs->names[i], own->monitor) != 0) continue;
        *out_value = logs->values[i];
        return GANTRY_OK;
    }
    *out_found = false;
    if (model->state.validates && logs->count == model->program.metric_count &&
        strncmp(own->monitor, "val_", 4) == 0)
        return GANTRY_OK;
    char names[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < logs->count && length < sizeof names; ++i)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                                   logs->names[i]);
    return gantry__train_refuse(
        NULL, "a callback watches %s; the training has no value of this name; it has %s%s",
        own->monitor, names,
        strncmp(own->monitor, "val_", 4) == 0 && !model->state.validates
            ? ", and no validation in gantry_fit_options_t"
            : "");
}

static bool is_better(const gantry__own_callback_t *own, double value, double than) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    return (own->is_better_high ? value - than : than - value) > own->min_delta;
}

bool gantry__callback_improves(gantry__own_callback_t *own, double value) {
    if (isnan(value) || (own->has_best && !is_better(own, value, own->best))) return false;
    own->has_best = true;
    own->best = value;
    return true;
}

/* Each training begins anew. */
static gantry_status_t begin_watching(gantry_model_t *model, void *user) {
    gantry__own_callback_t *own = user;
    (void)model;
    own->has_best = false;
    own->waited = own->cooling = 0;
    gantry__callback_forget_weights(own);
    return GANTRY_OK;
}

/* ---- the best weights ---- */

void gantry__callback_forget_weights(gantry__own_callback_t *own) {
    for (size_t i = 0; i < own->best_weight_count; ++i) gantry_tensor_release(own->best_weights[i]);
    gantry__free((void *)own->best_weights);
    own->best_weights = NULL;
    own->best_weight_count = 0;
}

static gantry_status_t keep_weights(gantry_model_t *model, gantry__own_callback_t *own) {
    gantry__callback_forget_weights(own);
    own->best_weights = gantry__alloc(model->net.variable_count, sizeof *own->best_weights);
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!own->best_weights || !scope) {
        (void)gantry_scope_end(scope);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    own->best_weight_count = model->net.variable_count;
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        if (value) own->best_weights[i] = gantry_tensor_retain(value);
    }
    return gantry_scope_end(scope);
}

static gantry_status_t restore_weights(gantry_model_t *model, void *user) {
    gantry__own_callback_t *own = user;
    if (!own->best_weights) return GANTRY_OK;
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    for (size_t i = 0; i < own->best_weight_count; ++i) {
        for (size_t r = 0; r < model->replicas.count; ++r)
            (void)gantry_variable_assign(scope, model->net.variables[i].copies[r],
                                         own->best_weights[i]);
    }
    gantry__callback_forget_weights(own);
    return gantry_scope_end(scope);
}

/* ---- early stopping ---- */

static gantry_status_t stop_early(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                  bool *stop, void *user) {
    gantry__own_callback_t *own = user;
    double value = 0;
    bool found;
    if (epoch < own->first_epoch) return GANTRY_OK;
    GANTRY__TRY(gantry__callback_find_value(own, model, logs, &value, &found));
    if (!found) return GANTRY_OK;
    const bool is_best = gantry__callback_improves(own, value);
    if (own->restores && (is_best || !own->best_weights)) GANTRY__TRY(keep_weights(model, own));
    ++own->waited;
    if (is_best && (!own->has_baseline || is_better(own, value, own->baseline))) own->waited = 0;
    if (!is_best && own->waited >= own->patience && epoch > 0) *stop = true;
    return GANTRY_OK;
}

gantry_callback_t *gantry_early_stopping(const gantry_early_stopping_options_t *options) {
    gantry_early_stopping_options_t o;
    if (gantry__struct_read(options, sizeof o, &o, sizeof o, "gantry_early_stopping: options") !=
        GANTRY_OK)
        return NULL;
    if (!(o.min_delta >= 0) || o.patience < 0 || o.start_from_epoch < 0) {
        (void)gantry__train_refuse(
            NULL,
            "gantry_early_stopping: min_delta %g, patience %lld and start_from_epoch %lld; 0 and more are accepted",
            o.min_delta, (long long)o.patience, (long long)o.start_from_epoch);
        return NULL;
    }
    gantry__own_callback_t *own = gantry__callback_make(NULL, o.monitor ? o.monitor : "val_loss");
    if (!own) return NULL;
    own->is_better_high = own->is_better_high || o.is_better_high;
    own->min_delta = o.min_delta;
    own->patience = o.patience ? o.patience : 1;
    own->has_baseline = o.baseline != NULL;
    own->baseline = o.baseline ? *o.baseline : 0;
    own->first_epoch = o.start_from_epoch;
    own->restores = o.restore_best_weights;
    own->callback.train_begin = begin_watching;
    own->callback.epoch_end = stop_early;
    own->callback.train_end = restore_weights;
    return &own->callback;
}

/* ---- a smaller rate on a plateau ---- */

static gantry_status_t lower_rate(gantry_model_t *model, gantry__own_callback_t *own) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    double rate;
    GANTRY__TRY(gantry_optimizer_get_learning_rate(model->program.optimizer, &rate));
    if (!(rate > own->least_rate)) return GANTRY_OK;
    own->cooling = own->cooldown;
    own->waited = 0;
    return gantry_optimizer_set_learning_rate(model->program.optimizer,
                                              fmax(rate * own->factor, own->least_rate));
}

static gantry_status_t lower_on_plateau(gantry_model_t *model, int64_t epoch,
                                        const gantry_logs_t *logs, bool *stop, void *user) {
    gantry__own_callback_t *own = user;
    double value = 0;
    bool found;
    (void)epoch;
    (void)stop;
    GANTRY__TRY(gantry__callback_find_value(own, model, logs, &value, &found));
    if (!found) return GANTRY_OK;
    if (own->cooling > 0) {
        --own->cooling;
        own->waited = 0;
    }
    if (gantry__callback_improves(own, value))
        own->waited = 0;
    else if (own->cooling == 0 && ++own->waited >= own->patience)
        return lower_rate(model, own);
    return GANTRY_OK;
}

gantry_callback_t *gantry_reduce_lr_on_plateau(
    const gantry_reduce_lr_on_plateau_options_t *options) {
    gantry_reduce_lr_on_plateau_options_t o;
    if (gantry__struct_read(options, sizeof o, &o, sizeof o,
                            "gantry_reduce_lr_on_plateau: options") != GANTRY_OK)
        return NULL;
    if (!(o.factor >= 0 && o.factor < 1) || !(o.min_delta >= 0) || !(o.min_learning_rate >= 0) ||
        o.patience < 0 || o.cooldown < 0) {
        (void)gantry__train_refuse(
            NULL,
            "gantry_reduce_lr_on_plateau: factor %g, patience %lld, min_delta %g, cooldown %lld, min_learning_rate %g; a factor below 1, and 0 and more, are accepted",
            o.factor, (long long)o.patience, o.min_delta, (long long)o.cooldown,
            o.min_learning_rate);
        return NULL;
    }
    gantry__own_callback_t *own = gantry__callback_make(NULL, o.monitor ? o.monitor : "val_loss");
    if (!own) return NULL;
    own->is_better_high = own->is_better_high || o.is_better_high;
    own->min_delta = o.min_delta == 0 ? 1e-4 : o.min_delta;
    own->patience = o.patience ? o.patience : 10;
    own->factor = o.factor == 0 ? 0.1 : o.factor;
    own->cooldown = o.cooldown;
    own->least_rate = o.min_learning_rate;
    own->callback.train_begin = begin_watching;
    own->callback.epoch_end = lower_on_plateau;
    return &own->callback;
}
