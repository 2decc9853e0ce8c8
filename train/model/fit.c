/* SPDX-License-Identifier: Apache-2.0 */
/* Training: epochs of steps, validation, callbacks, and the text of their progress.
 *
 * A training with a backup goes on where an interrupted one was. Its first epoch begins as all do,
 * then its state is set, and the steps that were done are left out: the shuffles give the same
 * order, since their counts were kept when the epoch began. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/metric/metric_state.h"
#include "train/model/backup.h"
#include "train/model/batch.h"
#include "train/model/fit_progress.h"
#include "train/model/step.h"
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
    gantry_dataset_iterator_t *iterator; /* NULL: the next epoch begins one */
    gantry__class_weights_t class_weights;
    gantry__worker_wishes_t agreed; /* by all processes, at the newest step */
    gantry__position_t position;
    gantry_checkpoint_t *resumed; /* the backup, until its state is set */
    int64_t taken;                /* steps of this call */
    bool stops;                   /* a callback ends the training */
    bool is_resumed;              /* until the state of the backup is set */
    bool is_interrupted, has_backup;
} fit_t;

/* ---- logs ---- */

static gantry_status_t name_values(fit_t *fit) {
    const size_t count = fit->model->program.metric_count;
    enum { ROOM = 128 };
    fit->names = gantry__alloc(2 * count, sizeof *fit->names);
    fit->values = gantry__alloc(2 * count, sizeof *fit->values);
    fit->val_names = gantry__alloc(count, ROOM);
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

static gantry_status_t told(gantry_status_t status, size_t index, const char *function) {
    return gantry__train_told(status, "gantry_model_fit: %s of callback %zu", function, index);
}

/* Calls a function of a callback, or does nothing if the callback does not have it. */
typedef gantry_status_t (*call_fn)(fit_t *fit, const gantry_callback_t *callback, int64_t number);

static gantry_status_t call_each(fit_t *fit, call_fn call, int64_t number, const char *function) {
    for (size_t i = 0; i < fit->options.callback_count; ++i) {
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        gantry__train_expect_text();
        GANTRY__TRY(told(call(fit, fit->options.callbacks[i], number), i, function));
    }
    return GANTRY_OK;
}

static gantry_status_t begin_one_epoch(fit_t *fit, const gantry_callback_t *c, int64_t epoch) {
    return c->epoch_begin ? c->epoch_begin(fit->model, epoch, c->user) : GANTRY_OK;
}

static gantry_status_t end_one_epoch(fit_t *fit, const gantry_callback_t *c, int64_t epoch) {
    const gantry_logs_t logs = {fit->names, fit->values, fit->value_count};
    return c->epoch_end ? c->epoch_end(fit->model, epoch, &logs, &fit->stops, c->user) : GANTRY_OK;
}

static gantry_status_t end_one_step(fit_t *fit, const gantry_callback_t *c, int64_t step) {
    return c->step_end ? c->step_end(fit->model, step, &fit->stops, c->user) : GANTRY_OK;
}

/* Members from train_begin on were added later, and then those from test_begin on. */
#define FIRST_CALLBACK_BYTES offsetof(gantry_callback_t, train_begin)
#define SECOND_CALLBACK_BYTES offsetof(gantry_callback_t, test_begin)

/* Calls the begin or the end of all callbacks. All ends must be called, after a failure, too, whose
 * status and text stay. */
static gantry_status_t call_test(const fit_t *fit, bool begins, gantry_status_t status) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    for (size_t i = 0; i < fit->options.callback_count; ++i) {
        const gantry_callback_t *callback = fit->options.callbacks[i];
        if (callback->struct_size < sizeof *callback) continue;
        gantry_status_t (*call)(gantry_model_t *, void *) =
            begins ? callback->test_begin : callback->test_end;
        if (!call || (begins && status != GANTRY_OK)) continue;
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        (void)snprintf(text, sizeof text, "%s", gantry_last_message());
        gantry__train_expect_text();
        const gantry_status_t own =
            told(call(fit->model, callback->user), i, begins ? "test_begin" : "test_end");
        if (status != GANTRY_OK)
            (void)gantry__train_fail(status, "%s", text);
        else
            status = own;
    }
    return status;
}

static gantry_status_t begin_training(fit_t *fit, const gantry_callback_t *c, int64_t number) {
    (void)number;
    const bool has_begin = c->struct_size >= SECOND_CALLBACK_BYTES && c->train_begin;
    return has_begin ? c->train_begin(fit->model, c->user) : GANTRY_OK;
}

static gantry_status_t end_training(fit_t *fit, const gantry_callback_t *c, int64_t number) {
    (void)number;
    const bool has_end = c->struct_size >= SECOND_CALLBACK_BYTES && c->train_end;
    return has_end ? c->train_end(fit->model, c->user) : GANTRY_OK;
}

/* ---- preparing ---- */

/* Takes a batch in, and prepares the first step. All variables must be made here, because none can
 * be made while a function is traced. */
static gantry_status_t fit_prepare(fit_t *fit, const gantry_array_t **batch, size_t *count) {
    gantry_model_t *model = fit->model;
    const bool was_built = model->net.is_built;
    GANTRY__TRY(gantry__batch_accept(model, GANTRY__STEP_TRAIN, "gantry_model_fit",
                                     &fit->class_weights, batch, count));
    if (model->program.steps[GANTRY__STEP_TRAIN]) return GANTRY_OK;
    if (!was_built) GANTRY__TRY(gantry__worker_compare_model(model, &fit->options));
    return gantry__model_build_optimizer(model);
}

/* ---- steps ---- */

/* All processes agree on what is shown, and whether a callback of one has stopped the training. */
static gantry_status_t take_shared_step(fit_t *fit, const gantry_array_t *batch, size_t count) {
    fit->agreed =
        (gantry__worker_wishes_t){.stops = fit->stops,
                                  .shows = gantry__fit_progress_is_due(&fit->progress),
                                  .interrupts = gantry__run_is_stopped(&fit->model->state)};
    return gantry__worker_train(fit->model, batch, count, &fit->agreed);
}

static gantry_status_t say_step(const fit_t *fit, gantry_status_t status) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    return gantry__train_fail(status, "epoch %lld, step %lld: %s",
                              (long long)fit->position.epoch + 1, (long long)fit->position.step + 1,
                              text);
}

static gantry_status_t take_own_step(fit_t *fit, const gantry_array_t *batch, size_t count) {
    gantry_scope_t *scope = gantry__model_scope(fit->model, NULL, 0);
    if (!scope) return gantry__train_no_scope(fit->model->runtime);
    const gantry_status_t status =
        gantry__model_step(fit->model, GANTRY__STEP_TRAIN, scope, batch, count, NULL);
    return gantry__train_close(scope, status);
}

static gantry_status_t take_step(fit_t *fit, const gantry_array_t *batch, size_t count) {
    gantry_status_t status = fit_prepare(fit, &batch, &count);
    if (fit->model->replicas.worker)
        return status == GANTRY_OK ? take_shared_step(fit, batch, count) : status;
    if (status == GANTRY_OK) status = take_own_step(fit, batch, count);
    return status == GANTRY_OK || !fit->model->program.checks_numerics ? status
                                                                       : say_step(fit, status);
}

static gantry_status_t show_step(fit_t *fit) {
    const bool is_due = fit->model->replicas.worker ? fit->agreed.shows
                                                    : gantry__fit_progress_is_due(&fit->progress);
    if (!is_due) return GANTRY_OK;
    GANTRY__TRY(gantry__model_read_metrics(fit->model, fit->values));
    gantry__fit_progress_show(&fit->progress, fit->names, fit->values,
                              fit->model->program.metric_count, false);
    return GANTRY_OK;
}

static gantry_status_t save_backup(fit_t *fit) {
    GANTRY__TRY(gantry__backup_save(fit->model, &fit->options, &fit->position));
    fit->has_backup = true;
    return GANTRY_OK;
}

/* Reading all weights in each step would cost as much as the step's own exchange. */
#define STEPS_BETWEEN_COMPARISONS 64

static gantry_status_t compare_weights(fit_t *fit) {
    const int64_t step = fit->taken++;
    if (step > 0 && (step + 1) % STEPS_BETWEEN_COMPARISONS != 0) return GANTRY_OK;
    return gantry__worker_compare_weights(fit->model);
}

static gantry_status_t finish_step(fit_t *fit, int64_t step) {
    const gantry_fit_options_t *o = &fit->options;
    ++fit->progress.step;
    fit->position.step = step + 1;
    GANTRY__TRY(call_each(fit, end_one_step, step, "step_end"));
    GANTRY__TRY(compare_weights(fit));
    if (o->backup && o->backup_steps > 0 && (step + 1) % o->backup_steps == 0)
        GANTRY__TRY(save_backup(fit));
    return show_step(fit);
}

/* Checks a data set that ends at this step. */
static gantry_status_t fit_check_end(const fit_t *fit, int64_t step, int64_t done) {
    if (step < done)
        return gantry__train_refuse(
            NULL,
            "gantry_model_fit: the data set has %lld batches; %s is of a training with %lld and more",
            (long long)step, fit->options.backup, (long long)done);
    if (step > 0) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "gantry_model_fit: the data set is empty; one with batches is accepted");
}

static void end_iteration(fit_t *fit) {
    gantry_dataset_iterator_release(fit->iterator);
    fit->iterator = NULL;
}

/* An epoch of a number of steps may begin where the data set has ended, which then begins anew. */
static gantry_status_t next_batch(fit_t *fit, int64_t step, const gantry_array_t **batch,
                                  size_t *count, bool *end) {
    const bool goes_on = fit->iterator != NULL && step == 0;
    if (!fit->iterator) GANTRY__TRY(gantry_dataset_iterator_create(fit->batches, &fit->iterator));
    GANTRY__TRY(gantry_dataset_iterator_next(fit->iterator, batch, count, end));
    if (!*end) return GANTRY_OK;
    end_iteration(fit);
    return goes_on ? next_batch(fit, step, batch, count, end) : GANTRY_OK;
}

/* Runs the steps of an epoch, of which the first `done` were taken before. */
static gantry_status_t fit_run_steps(fit_t *fit, int64_t done) {
    const gantry_array_t *batch;
    const int64_t most = fit->options.steps_per_epoch;
    size_t count;
    bool end = false;
    /* with other processes, a process goes on until all have agreed to stop */
    for (int64_t step = 0;
         (!fit->stops || fit->model->replicas.worker) && (most == 0 || step < most); ++step) {
        fit->is_interrupted =
            !fit->model->replicas.worker && gantry__run_is_stopped(&fit->model->state);
        if (fit->is_interrupted) return GANTRY_OK;
        GANTRY__TRY(next_batch(fit, step, &batch, &count, &end));
        if (end) return fit_check_end(fit, step, done);
        if (step < done) continue;
        GANTRY__TRY(take_step(fit, batch, count));
        fit->is_interrupted = fit->agreed.interrupts;
        if (fit->agreed.stops || fit->is_interrupted) return GANTRY_OK;
        GANTRY__TRY(finish_step(fit, step));
    }
    return GANTRY_OK;
}

/* ---- backups ---- */

/* The first batch, for models that are not built. */
static gantry_status_t prepare_ahead(fit_t *fit) {
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *batch;
    size_t count;
    bool end = false;
    GANTRY__TRY(gantry_dataset_iterator_create(fit->batches, &iterator));
    gantry_status_t status = gantry_dataset_iterator_next(iterator, &batch, &count, &end);
    if (status == GANTRY_OK)
        status = end ? fit_check_end(fit, 0, 0) : fit_prepare(fit, &batch, &count);
    gantry_dataset_iterator_release(iterator);
    return status;
}

static gantry_status_t fit_restore(fit_t *fit) {
    gantry_status_t status =
        gantry__backup_restore(fit->model, &fit->options, &fit->position, fit->resumed);
    gantry_checkpoint_release(fit->resumed);
    fit->resumed = NULL;
    fit->is_resumed = false;
    return status;
}

/* Makes all ready to go on from a backup, if there is one. */
static gantry_status_t begin_resumed(fit_t *fit) {
    if (!fit->options.backup) return GANTRY_OK;
    GANTRY__TRY(gantry__backup_open(fit->model, &fit->options, &fit->position, &fit->resumed,
                                    &fit->is_resumed));
    if (!fit->is_resumed) return GANTRY_OK;
    fit->has_backup = true;
    fit->options.initial_epoch = fit->position.epoch;
    GANTRY__TRY(prepare_ahead(fit));
    GANTRY__TRY(gantry__backup_set_iterations(&fit->position, fit->batches, &fit->options));
    return fit->position.step > 0 ? GANTRY_OK : fit_restore(fit);
}

static int64_t count_steps(const fit_t *fit) {
    const int64_t all = gantry_dataset_cardinality(fit->batches),
                  most = fit->options.steps_per_epoch;
    return most > 0 && (all < 0 || all > most) ? most : all;
}

/* Begins an epoch. The callbacks of its begin were called before the backup, too, so the backup's
 * state must be set after them. */
static gantry_status_t begin_epoch(fit_t *fit, int64_t epoch) {
    if (!fit->is_resumed) fit->position.step = 0;
    fit->position.epoch = epoch;
    if (fit->options.backup)
        GANTRY__TRY(gantry__position_take(&fit->position, fit->batches, fit->options.validation));
    gantry__fit_progress_begin(&fit->progress, epoch, fit->options.epochs, count_steps(fit));
    fit->progress.step = fit->position.step;
    GANTRY__TRY(call_each(fit, begin_one_epoch, epoch, "epoch_begin"));
    GANTRY__TRY(gantry__model_reset_metrics(fit->model));
    return fit->is_resumed ? fit_restore(fit) : GANTRY_OK;
}

static gantry_status_t end_interrupted(fit_t *fit) {
    const char *backup = fit->options.backup;
    if (fit->progress.write && fit->options.is_terminal) {
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        fit->options.write("\n", fit->options.write_user);
    }
    if (backup && fit->position.step > 0) GANTRY__TRY(save_backup(fit));
    return gantry__train_fail(
        GANTRY_CANCELLED,
        "gantry_model_fit: model %s was stopped in epoch %lld of %lld after step %lld; %s%s",
        fit->model->name, (long long)fit->position.epoch + 1, (long long)fit->options.epochs,
        (long long)fit->position.step, fit->has_backup ? backup : "",
        fit->has_backup ? " has its state" : "there is no backup");
}

/* ---- epochs ---- */

static gantry_status_t test_model(fit_t *fit) {
    gantry_model_t *model = fit->model;
    const size_t count = model->program.metric_count;
    model->state.is_validated = !model->replicas.worker; /* processes end a validation together */
    gantry_status_t status =
        gantry_model_evaluate(model, fit->options.validation, fit->values + count, count);
    model->state.is_validated = false;
    fit->is_interrupted = status == GANTRY_CANCELLED && gantry__run_is_stopped(&model->state);
    return fit->is_interrupted ? GANTRY_OK : status;
}

static gantry_status_t run_validation(fit_t *fit) {
    gantry_status_t status = call_test(fit, true, GANTRY_OK);
    if (status == GANTRY_OK) status = test_model(fit);
    return call_test(fit, false, status);
}

/* Returns a metric's variable; NULL after the last one. */
static gantry_variable_t *metric_variable(const gantry_model_t *model, size_t index) {
    for (size_t i = 0; i < model->program.metric_count; ++i) {
        const size_t count = gantry_metric_variable_count(model->program.metrics[i].metric);
        if (index < count) return gantry_metric_variable(model->program.metrics[i].metric, index);
        index -= count;
    }
    return NULL;
}

/* Validates. An interrupted validation leaves the metrics of the epoch, because the backup keeps
 * them. */
static gantry_status_t validate_between(fit_t *fit, gantry_scope_t *scope,
                                        const gantry_tensor_t **kept, size_t count) {
    for (size_t i = 0; i < count; ++i)
        kept[i] = gantry_variable_read(scope, metric_variable(fit->model, i));
    GANTRY__TRY(gantry_scope_status(scope));
    GANTRY__TRY(run_validation(fit));
    for (size_t i = 0; fit->is_interrupted && i < count; ++i)
        (void)gantry_variable_assign(scope, metric_variable(fit->model, i), kept[i]);
    return gantry_scope_status(scope);
}

static gantry_status_t validate(fit_t *fit) {
    if (!fit->options.backup) return run_validation(fit);
    gantry_scope_t *scope = gantry__model_scope(fit->model, NULL, 0);
    if (!scope) return gantry__train_no_scope(fit->model->runtime);
    size_t count = 0;
    while (metric_variable(fit->model, count)) ++count;
    const gantry_tensor_t **kept = gantry__alloc(count, sizeof *kept);
    gantry_status_t status =
        kept ? validate_between(fit, scope, kept, count) : GANTRY_RESOURCE_EXHAUSTED;
    gantry__free((void *)kept);
    return gantry__train_close(scope, status);
}

/* Agrees with the other processes whether any of them stops. */
static gantry_status_t agree_on_end(fit_t *fit, int64_t epoch, gantry_status_t status) {
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_EPOCH,
                                  .values = {(uint64_t)epoch},
                                  .sums = {fit->stops},
                                  .status = status};
    GANTRY__TRY(gantry__worker_agree(fit->model->replicas.worker, &call));
    fit->stops = call.sums[0] > 0;
    return GANTRY_OK;
}

static gantry_status_t end_epoch(fit_t *fit, int64_t epoch) {
    fit->value_count = fit->model->program.metric_count;
    GANTRY__TRY(gantry__model_read_metrics(fit->model, fit->values));
    if (fit->options.validation && (epoch + 1) % fit->options.validation_freq == 0) {
        GANTRY__TRY(validate(fit));
        fit->value_count = 2 * fit->model->program.metric_count;
    }
    if (fit->is_interrupted) return GANTRY_OK;
    gantry__fit_progress_show(&fit->progress, fit->names, fit->values, fit->value_count, true);
    gantry_status_t status = call_each(fit, end_one_epoch, epoch, "epoch_end");
    if (fit->model->replicas.worker) status = agree_on_end(fit, epoch, status);
    GANTRY__TRY(status);
    GANTRY__TRY(gantry__worker_compare_weights(fit->model));
    if (!fit->options.backup || fit->stops || epoch + 1 == fit->options.epochs) return GANTRY_OK;
    fit->position.epoch = epoch + 1;
    fit->position.step = 0;
    GANTRY__TRY(gantry__position_take(&fit->position, fit->batches, fit->options.validation));
    return save_backup(fit);
}

static gantry_status_t run_epoch(fit_t *fit, int64_t epoch) {
    GANTRY__TRY(begin_epoch(fit, epoch));
    gantry_status_t status = fit_run_steps(fit, fit->position.step);
    if (fit->options.steps_per_epoch == 0) end_iteration(fit);
    return status != GANTRY_OK || fit->is_interrupted ? status : end_epoch(fit, epoch);
}

static gantry_status_t run_epochs(fit_t *fit) {
    GANTRY__TRY(gantry__model_hold_averages(fit->model, false)); /* a training failed */
    GANTRY__TRY(call_each(fit, begin_training, 0, "train_begin"));
    GANTRY__TRY(begin_resumed(fit));
    fit->position.epoch = fit->options.initial_epoch;
    for (int64_t epoch = fit->options.initial_epoch; epoch < fit->options.epochs && !fit->stops;
         ++epoch) {
        GANTRY__TRY(run_epoch(fit, epoch));
        if (fit->is_interrupted) return end_interrupted(fit);
    }
    GANTRY__TRY(gantry__model_finalize(fit->model));
    GANTRY__TRY(call_each(fit, end_training, 0, "train_end"));
    if (fit->has_backup && gantry__worker_writes(fit->model->replicas.worker))
        (void)remove(fit->options.backup);
    return GANTRY_OK;
}

/* ---- several processes ---- */

static gantry_status_t agree_on_fit(const fit_t *fit) {
    const gantry_fit_options_t *o = &fit->options;
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_FIT};
    if (!fit->model->replicas.worker) return GANTRY_OK;
    call.values[0] = (uint64_t)o->epochs;
    call.values[1] = (uint64_t)o->initial_epoch;
    call.values[2] = (uint64_t)gantry_dataset_cardinality(fit->batches);
    call.values[3] = (uint64_t)(o->validation ? gantry_dataset_cardinality(o->validation) : 0);
    GANTRY__TRY(gantry__worker_agree(fit->model->replicas.worker, &call));
    return gantry__worker_compare_model(fit->model, o);
}

static gantry_status_t check_steps(const gantry_dataset_t *batches, const gantry_fit_options_t *o) {
    const bool is_endless = gantry_dataset_cardinality(batches) == GANTRY_INFINITE_CARDINALITY;
    if (o->steps_per_epoch < 0 || o->validation_freq < 0)
        return gantry__train_refuse(
            NULL,
            "gantry_model_fit: %lld steps_per_epoch and validation_freq %lld; 0 and more are accepted",
            (long long)o->steps_per_epoch, (long long)o->validation_freq);
    if (is_endless && o->steps_per_epoch == 0)
        return gantry__train_refuse(
            NULL,
            "gantry_model_fit: the data set never ends; steps_per_epoch or gantry_dataset_take is accepted");
    if (o->backup && o->steps_per_epoch > 0)
        return gantry__train_refuse(
            NULL,
            "gantry_model_fit: steps_per_epoch %lld with a backup; gantry_dataset_take is accepted",
            (long long)o->steps_per_epoch);
    if (o->columns < 0)
        return gantry__train_refuse(
            NULL, "gantry_model_fit: columns is %d; 0, to ask the terminal, and more are accepted",
            (int)o->columns);
    if ((o->class_weights != NULL) != (o->class_weight_count > 0))
        return gantry__train_refuse(
            NULL,
            "gantry_model_fit: %zu class_weights %s; an array of 1 and more, or NULL and 0, are accepted",
            o->class_weight_count, o->class_weights ? "in an array" : "at NULL");
    return GANTRY_OK;
}

static gantry_status_t check_fit(const gantry_model_t *model, const gantry_dataset_t *batches,
                                 const gantry_fit_options_t *o) {
    GANTRY__TRY(gantry__model_check_compiled(model, "gantry_model_fit"));
    if (!batches) return gantry__train_fail_null(NULL, "gantry_model_fit", "data set", "one");
    if (o->epochs < 0 || o->initial_epoch < 0)
        return gantry__train_refuse(
            NULL, "gantry_model_fit: %lld epochs, from %lld on; 0 and more are accepted",
            (long long)o->epochs, (long long)o->initial_epoch);
    if ((o->backup && !*o->backup) || o->backup_steps < 0)
        return gantry__train_refuse(
            NULL,
            "gantry_model_fit: backup is \"%s\", after %lld steps; NULL or the name of a file, and 0 and more, are accepted",
            o->backup ? o->backup : "", (long long)o->backup_steps);
    GANTRY__TRY(check_steps(batches, o));
    if (o->callback_count > 0 && !o->callbacks)
        return gantry__train_refuse(
            NULL, "gantry_model_fit: callbacks is NULL; an array of %zu is accepted",
            o->callback_count);
    for (size_t i = 0; i < o->callback_count; ++i) {
        if (!o->callbacks[i])
            return gantry__train_refuse(NULL,
                                        "gantry_model_fit: callback %zu is NULL; one is accepted%s",
                                        i, gantry__train_before().text);
        if (o->callbacks[i]->struct_size < FIRST_CALLBACK_BYTES ||
            o->callbacks[i]->struct_size > sizeof *o->callbacks[i])
            return gantry__train_refuse(
                NULL, "gantry_model_fit: callback %zu: struct_size is %u; %zu is accepted", i,
                o->callbacks[i]->struct_size, sizeof *o->callbacks[i]);
    }
    return GANTRY_OK;
}

static gantry_status_t run_fit(fit_t *fit, const gantry_fit_options_t *options) {
    GANTRY__TRY(gantry__struct_read(options, sizeof fit->options, &fit->options,
                                    sizeof fit->options, "gantry_model_fit: options"));
    GANTRY__TRY(check_fit(fit->model, fit->batches, &fit->options));
    if (fit->options.epochs == 0) fit->options.epochs = 1;
    if (fit->options.validation_freq == 0) fit->options.validation_freq = 1;
    fit->class_weights = (gantry__class_weights_t){.weights = fit->options.class_weights,
                                                   .count = fit->options.class_weight_count};
    fit->model->state.validates = fit->options.validation != NULL;
    gantry__fit_progress_init(
        &fit->progress,
        gantry__worker_writes(fit->model->replicas.worker) ? fit->options.write : NULL,
        &fit->options);
    GANTRY__TRY(name_values(fit));
    GANTRY__TRY(agree_on_fit(fit));
    return run_epochs(fit);
}

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a handler of signals may write only such atomics");

void gantry_model_stop(gantry_model_t *model) {
    if (model) atomic_store_explicit(&model->state.is_stopped, true, memory_order_relaxed);
}

gantry_status_t gantry_model_fit(gantry_model_t *model, gantry_dataset_t *batches,
                                 const gantry_fit_options_t *options) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    fit_t fit = {.model = model, .batches = batches};
    GANTRY__TRY(gantry__model_begin(model, "gantry_model_fit"));
    const bool was_in_fit = model->state.is_in_fit;
    model->state.is_in_fit = true;
    const gantry_status_t status =
        gantry__worker_end(model->replicas.worker, run_fit(&fit, options));
    model->state.is_in_fit = was_in_fit;
    atomic_store_explicit(&model->state.is_stopped, false, memory_order_relaxed);
    gantry_checkpoint_release(fit.resumed);
    gantry_dataset_iterator_release(fit.iterator);
    gantry__class_weights_deinit(&fit.class_weights);
    gantry__free((void *)fit.names);
    gantry__free(fit.values);
    gantry__free(fit.val_names);
    return status;
}
