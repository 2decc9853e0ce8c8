/* SPDX-License-Identifier: Apache-2.0 */
/* Training: epochs of steps, validation, callbacks, and the text of their progress. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/memory.h"
#include "train/model/fit_progress.h"
#include "train/model/worker.h"

typedef struct fit_t {
    gantry_model_t *model;
    gantry_dataset_t *batches;
    gantry_fit_options_t options;
    gantry__fit_progress_t progress;
    const char **names; /* of values: metrics, then those of the validation */
    char *val_names;    /* their texts */
    double *values;
    size_t value_count;
    bool stops;
    gantry__worker_wishes_t agreed; /* by all processes, at the newest step */
} fit_t;

/* ---- logs ---- */

static gantry_status_t name_values(fit_t *fit) {
    const size_t count = fit->model->metric_count;
    enum { ROOM = 128 };
    fit->value_count = fit->options.validation ? 2 * count : count;
    fit->names = gantry__train_alloc(fit->value_count, sizeof *fit->names);
    fit->values = gantry__train_alloc(fit->value_count, sizeof *fit->values);
    fit->val_names = gantry__train_alloc(count, ROOM);
    if (!fit->names || !fit->values || !fit->val_names) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) {
        char *text = fit->val_names + i * ROOM;
        (void)snprintf(text, ROOM, "val_%s", gantry_model_value_name(fit->model, i));
        fit->names[i] = gantry_model_value_name(fit->model, i);
        if (fit->options.validation) fit->names[count + i] = text;
    }
    return GANTRY_OK;
}

/* ---- callbacks ---- */

static gantry_status_t call_epoch_begin(fit_t *fit, int64_t epoch) {
    for (size_t i = 0; i < fit->options.callback_count; ++i) {
        const gantry_callback_t *callback = fit->options.callbacks[i];
        if (callback->epoch_begin)
            GANTRY__TRAIN_TRY(callback->epoch_begin(fit->model, epoch, callback->user));
    }
    return GANTRY_OK;
}

static gantry_status_t call_epoch_end(fit_t *fit, int64_t epoch) {
    const gantry_logs_t logs = {fit->names, fit->values, fit->value_count};
    for (size_t i = 0; i < fit->options.callback_count; ++i) {
        const gantry_callback_t *callback = fit->options.callbacks[i];
        if (callback->epoch_end)
            GANTRY__TRAIN_TRY(
                callback->epoch_end(fit->model, epoch, &logs, &fit->stops, callback->user));
    }
    return GANTRY_OK;
}

static gantry_status_t call_step_end(fit_t *fit, int64_t step) {
    for (size_t i = 0; i < fit->options.callback_count; ++i) {
        const gantry_callback_t *callback = fit->options.callbacks[i];
        if (callback->step_end)
            GANTRY__TRAIN_TRY(callback->step_end(fit->model, step, &fit->stops, callback->user));
    }
    return GANTRY_OK;
}

/* ---- preparing ---- */

/* Before the first step: variables cannot be made while a function is traced. */
static gantry_status_t prepare(fit_t *fit, const gantry_array_t *batch, size_t count) {
    gantry_model_t *model = fit->model;
    if (model->steps[GANTRY__STEP_TRAIN]) return GANTRY_OK;
    const size_t inputs = model->is_sequential ? 1 : model->input_count;
    GANTRY__TRAIN_TRY(gantry__model_build_for(model, batch, count < inputs ? count : inputs));
    return gantry__model_build_optimizer(model);
}

/* ---- steps ---- */

/* All processes agree on what is shown, and whether a callback of one has stopped the training. */
static gantry_status_t take_shared_step(fit_t *fit, const gantry_array_t *batch, size_t count) {
    fit->agreed = (gantry__worker_wishes_t){.stops = fit->stops,
                                            .shows = gantry__fit_progress_is_due(&fit->progress)};
    return gantry__worker_train(fit->model, batch, count, &fit->agreed);
}

static gantry_status_t take_step(fit_t *fit, const gantry_array_t *batch, size_t count) {
    if (fit->model->worker) return take_shared_step(fit, batch, count);
    gantry_scope_t *scope = gantry__model_scope(fit->model, NULL, 0);
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status =
        gantry__model_step(fit->model, GANTRY__STEP_TRAIN, scope, batch, count, NULL);
    if (status != GANTRY_OK) (void)gantry__train_hand_on(scope, status);
    return gantry_scope_end(scope);
}

static gantry_status_t show_step(fit_t *fit) {
    const bool is_due =
        fit->model->worker ? fit->agreed.shows : gantry__fit_progress_is_due(&fit->progress);
    if (!is_due) return GANTRY_OK;
    GANTRY__TRAIN_TRY(gantry__model_read_metrics(fit->model, fit->values));
    gantry__fit_progress_show(&fit->progress, fit->names, fit->values, fit->model->metric_count,
                              false);
    return GANTRY_OK;
}

static gantry_status_t run_steps(fit_t *fit, gantry_dataset_iterator_t *iterator) {
    const gantry_array_t *batch;
    size_t count;
    bool end = false;
    /* with other processes, a process goes on until all have agreed to stop */
    for (int64_t step = 0; !fit->stops || fit->model->worker; ++step) {
        GANTRY__TRAIN_TRY(gantry_dataset_iterator_next(iterator, &batch, &count, &end));
        if (end) {
            if (step > 0) return GANTRY_OK;
            return gantry__train_fail(
                GANTRY_INVALID_ARGUMENT,
                "gantry_model_fit: the data set is empty; one with batches is accepted");
        }
        GANTRY__TRAIN_TRY(prepare(fit, batch, count));
        GANTRY__TRAIN_TRY(take_step(fit, batch, count));
        if (fit->agreed.stops) return GANTRY_OK;
        ++fit->progress.step;
        GANTRY__TRAIN_TRY(call_step_end(fit, step));
        GANTRY__TRAIN_TRY(show_step(fit));
    }
    return GANTRY_OK;
}

/* ---- epochs ---- */

static gantry_status_t validate(fit_t *fit) {
    const size_t count = fit->model->metric_count;
    if (!fit->options.validation) return GANTRY_OK;
    return gantry_model_evaluate(fit->model, fit->options.validation, fit->values + count, count);
}

/* Whether any process stops. */
static gantry_status_t agree_on_end(fit_t *fit, int64_t epoch, gantry_status_t status) {
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_EPOCH,
                                  .values = {(uint64_t)epoch},
                                  .sums = {fit->stops},
                                  .status = status};
    GANTRY__TRAIN_TRY(gantry__worker_agree(fit->model->worker, &call));
    fit->stops = call.sums[0] > 0;
    return GANTRY_OK;
}

static gantry_status_t run_epoch(fit_t *fit, int64_t epoch) {
    gantry_dataset_iterator_t *iterator;
    gantry__fit_progress_begin(&fit->progress, epoch, fit->options.epochs,
                               gantry_dataset_cardinality(fit->batches));
    GANTRY__TRAIN_TRY(call_epoch_begin(fit, epoch));
    GANTRY__TRAIN_TRY(gantry__model_reset_metrics(fit->model));
    GANTRY__TRAIN_TRY(gantry_dataset_iterator_create(fit->batches, &iterator));
    gantry_status_t status = run_steps(fit, iterator);
    gantry_dataset_iterator_release(iterator);
    GANTRY__TRAIN_TRY(status);
    GANTRY__TRAIN_TRY(gantry__model_read_metrics(fit->model, fit->values));
    GANTRY__TRAIN_TRY(validate(fit));
    gantry__fit_progress_show(&fit->progress, fit->names, fit->values, fit->value_count, true);
    status = call_epoch_end(fit, epoch);
    return fit->model->worker ? agree_on_end(fit, epoch, status) : status;
}

/* ---- several processes ---- */

static gantry_status_t agree_on_fit(const fit_t *fit) {
    const gantry_fit_options_t *o = &fit->options;
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_FIT};
    if (!fit->model->worker) return GANTRY_OK;
    call.values[0] = (uint64_t)o->epochs;
    call.values[1] = (uint64_t)o->initial_epoch;
    call.values[2] = (uint64_t)gantry_dataset_cardinality(fit->batches);
    call.values[3] = (uint64_t)(o->validation ? gantry_dataset_cardinality(o->validation) : 0);
    return gantry__worker_agree(fit->model->worker, &call);
}

static gantry_status_t check_fit(const gantry_model_t *model, const gantry_dataset_t *batches,
                                 const gantry_fit_options_t *o) {
    if (!model->is_compiled)
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                                  "gantry_model_fit: model %s is not compiled", model->name);
    if (!batches)
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "gantry_model_fit: the data set is NULL; one is accepted");
    if (o->epochs < 0 || o->initial_epoch < 0)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_model_fit: %lld epochs, from %lld on; 0 and more are accepted",
            (long long)o->epochs, (long long)o->initial_epoch);
    if (o->callback_count > 0 && !o->callbacks)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_model_fit: callbacks is NULL; an array of %zu is accepted", o->callback_count);
    for (size_t i = 0; i < o->callback_count; ++i) {
        if (!o->callbacks[i])
            return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                      "gantry_model_fit: callback %zu is NULL; one is accepted", i);
    }
    return GANTRY_OK;
}

static gantry_status_t run_fit(fit_t *fit, const gantry_fit_options_t *options) {
    GANTRY__TRAIN_TRY(gantry__train_options(options, sizeof fit->options, &fit->options,
                                            sizeof fit->options, "gantry_model_fit: options"));
    GANTRY__TRAIN_TRY(check_fit(fit->model, fit->batches, &fit->options));
    if (fit->options.epochs == 0) fit->options.epochs = 1;
    gantry__fit_progress_init(&fit->progress,
                              gantry__worker_writes(fit->model->worker) ? fit->options.write : NULL,
                              fit->options.write_user, fit->options.is_terminal);
    GANTRY__TRAIN_TRY(name_values(fit));
    GANTRY__TRAIN_TRY(agree_on_fit(fit));
    for (int64_t epoch = fit->options.initial_epoch; epoch < fit->options.epochs && !fit->stops;
         ++epoch)
        GANTRY__TRAIN_TRY(run_epoch(fit, epoch));
    return GANTRY_OK;
}

gantry_status_t gantry_model_fit(gantry_model_t *model, gantry_dataset_t *batches,
                                 const gantry_fit_options_t *options) {
    fit_t fit = {.model = model, .batches = batches};
    GANTRY__TRAIN_TRY(gantry__model_check(model, "gantry_model_fit"));
    gantry__worker_begin(model->worker);
    const gantry_status_t status = gantry__worker_end(model->worker, run_fit(&fit, options));
    gantry__train_free((void *)fit.names);
    gantry__train_free(fit.values);
    gantry__train_free(fit.val_names);
    return status;
}
