/* SPDX-License-Identifier: Apache-2.0 */
/* The library's callbacks. Each object begins with the gantry_callback_t that a training calls. */

#include <gantry/file.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "shared/c_locale.h"
#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/model/own_callback.h"
#include "train/model/worker.h"

/* ---- made and released ---- */

gantry__own_callback_t *gantry__callback_make(const char *text, const char *monitor) {
    gantry__own_callback_t *own = gantry__alloc(1, sizeof *own);
    if (!own) return NULL;
    own->callback.struct_size = sizeof own->callback;
    own->callback.user = own;
    if ((text && !(own->text = gantry__strdup(text))) ||
        (monitor && !(own->monitor = gantry__strdup(monitor)))) {
        gantry_callback_release(&own->callback);
        return NULL;
    }
    if (monitor) gantry__callback_keep_state(own);
    return own;
}

void gantry_callback_release(gantry_callback_t *callback) {
    if (!callback) return;
    gantry__own_callback_t *own = callback->user;
    gantry__free(own->text);
    gantry__free(own->monitor);
    gantry__callback_forget_weights(own);
    gantry__free(own);
}

/* ---- checkpoints ---- */

static gantry_status_t save_epoch(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                  bool *stop, void *user) {
    gantry__own_callback_t *own = user;
    double value = 0;
    bool found;
    (void)epoch;
    (void)stop;
    if (own->monitor) {
        GANTRY__TRY(gantry__callback_find_value(own, model, logs, &value, &found));
        if (!found || !gantry__callback_improves(own, value)) return GANTRY_OK;
    }
    return gantry_model_save(model, own->text);
}

static bool refuse_path(const char *call, const char *path) {
    if (path && *path) return false;
    (void)gantry__train_refuse(NULL, "%s: the path is %s; the name of a file is accepted", call,
                               path ? "empty" : "NULL");
    return true;
}

gantry_callback_t *gantry_model_checkpoint(const char *path, const char *monitor) {
    if (refuse_path("gantry_model_checkpoint", path)) return NULL;
    gantry__own_callback_t *own = gantry__callback_make(path, monitor);
    if (!own) return NULL;
    own->callback.epoch_end = save_epoch;
    return &own->callback;
}

/* ---- a table of epochs ---- */

/* Lines of a table that are written at once. */
typedef struct csv_t {
    char *text;
    size_t used, room;
} csv_t;

static void csv_put(csv_t *csv, const char *format, ...) GANTRY__PRINTF(2, 3);

static void csv_put(csv_t *csv, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(csv->text + csv->used, csv->room - csv->used, format, arguments);
    va_end(arguments);
    if (length > 0) csv->used += (size_t)length;
}

/* Enough for each name, with "val_", and each value twice. */
static size_t csv_room(const gantry_model_t *model, const gantry_logs_t *logs) {
    size_t room = 64 + 64 * model->program.metric_count;
    for (size_t i = 0; i < logs->count; ++i) room += 2 * strlen(logs->names[i]) + 64;
    return room;
}

/* Values of a validation that an epoch leaves out are "NA". */
static void put_lines(csv_t *csv, bool is_new, int64_t epoch, const gantry_model_t *model,
                      const gantry_logs_t *logs) {
    const size_t missing =
        model->state.validates ? 2 * model->program.metric_count - logs->count : 0;
    if (is_new) {
        csv_put(csv, "epoch");
        for (size_t i = 0; i < logs->count; ++i) csv_put(csv, ",%s", logs->names[i]);
        for (size_t i = 0; i < missing; ++i) csv_put(csv, ",val_%s", logs->names[i]);
        csv_put(csv, "\n");
    }
    csv_put(csv, "%lld", (long long)epoch);
    for (size_t i = 0; i < logs->count; ++i) csv_put(csv, ",%.17g", logs->values[i]);
    for (size_t i = 0; i < missing; ++i) csv_put(csv, ",NA");
    csv_put(csv, "\n");
}

static gantry_status_t log_epoch(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                 bool *stop, void *user) {
    const gantry__own_callback_t *own = user;
    gantry__os_info_t info;
    (void)stop;
    if (!gantry__worker_writes(model->replicas.worker)) return GANTRY_OK;
    csv_t csv = {.room = csv_room(model, logs)};
    csv.text = gantry__alloc(csv.room, 1);
    if (!csv.text) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    const bool is_new = gantry__os_path_info(own->text, &info) != 0 ||
                        (info.kind == GANTRY__OS_PLAIN && info.size == 0);
    put_lines(&csv, is_new, epoch, model, logs);
    gantry__c_locale_end(&locale);
    const gantry_status_t status = gantry_file_append(own->text, csv.text, csv.used);
    gantry__free(csv.text);
    if (status == GANTRY_OK) return GANTRY_OK;
    char reason[1024];
    (void)snprintf(reason, sizeof reason, "%s", gantry_last_message());
    return gantry__train_fail(status, "gantry_csv_logger: %s", reason);
}

gantry_callback_t *gantry_csv_logger(const char *path) {
    if (refuse_path("gantry_csv_logger", path)) return NULL;
    gantry__own_callback_t *own = gantry__callback_make(path, NULL);
    if (!own) return NULL;
    own->callback.epoch_end = log_epoch;
    return &own->callback;
}

/* ---- losses that are no numbers ---- */

static gantry_status_t note_epoch(gantry_model_t *model, int64_t epoch, void *user) {
    gantry__own_callback_t *own = user;
    (void)model;
    own->epoch = epoch;
    return GANTRY_OK;
}

static gantry_status_t check_loss(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    const gantry__own_callback_t *own = user;
    double loss = 0;
    (void)stop;
    GANTRY__TRY(gantry__model_read_loss(model, &loss));
    if (isfinite(loss)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_terminate_on_nan: the loss of model %s is %g after epoch %lld, step %lld; a finite one is accepted",
        model->name, loss, (long long)own->epoch + 1, (long long)step + 1);
}

gantry_callback_t *gantry_terminate_on_nan(void) {
    gantry__own_callback_t *own = gantry__callback_make(NULL, NULL);
    if (!own) return NULL;
    own->callback.epoch_begin = note_epoch;
    own->callback.step_end = check_loss;
    return &own->callback;
}

/* ---- learning rates ---- */

static gantry_status_t set_rate(gantry_model_t *model, int64_t epoch, void *user) {
    const gantry__own_callback_t *own = user;
    double rate;
    GANTRY__TRY(gantry_optimizer_get_learning_rate(model->program.optimizer, &rate));
    return gantry_optimizer_set_learning_rate(model->program.optimizer,
                                              own->rate(epoch, rate, own->rate_user));
}

gantry_callback_t *gantry_learning_rate_scheduler(gantry_learning_rate_fn rate, void *user) {
    if (!rate) {
        (void)gantry__train_refuse(
            NULL, "gantry_learning_rate_scheduler: rate is NULL; a function is accepted");
        return NULL;
    }
    gantry__own_callback_t *own = gantry__callback_make(NULL, NULL);
    if (!own) return NULL;
    own->rate = rate;
    own->rate_user = user;
    own->callback.epoch_begin = set_rate;
    return &own->callback;
}
