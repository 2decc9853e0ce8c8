/* SPDX-License-Identifier: Apache-2.0 */
/* The library's callbacks: each object begins with what a training calls. */
#include <gantry_train/callback.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/memory.h"
#include "train/model/worker.h"

typedef struct own_callback_t {
    gantry_callback_t callback; /* first: the caller's pointer */
    char *text;                 /* a path, or NULL */
    char *monitor;              /* or NULL */
    bool is_better_high, has_best;
    double best, min_delta;
    int64_t patience, waited, epoch;
    gantry_learning_rate_fn rate;
    void *rate_user;
} own_callback_t;

/* ---- the state of those that watch a value ---- */

static gantry_status_t get_state(char *out, size_t bytes, void *user) {
    const own_callback_t *own = user;
    (void)snprintf(out, bytes, "%d %a %lld", own->has_best ? 1 : 0, own->best,
                   (long long)own->waited);
    return GANTRY_OK;
}

static gantry_status_t set_state(const char *text, void *user) {
    own_callback_t *own = user;
    char *end;
    const bool has_best = strtol(text, &end, 10) != 0;
    const double best = strtod(end, &end);
    const int64_t waited = strtoll(end, &end, 10);
    if (*end || waited < 0)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "a callback's state is \"%.100s\"; one of a callback that watches %s is accepted", text,
            own->monitor);
    own->has_best = has_best;
    own->best = best;
    own->waited = waited;
    return GANTRY_OK;
}

/* ---- made and released ---- */

static own_callback_t *make(const char *text, const char *monitor) {
    own_callback_t *own = gantry__train_alloc(1, sizeof *own);
    if (!own) return NULL;
    own->callback.struct_size = sizeof own->callback;
    own->callback.user = own;
    own->callback.get_state = monitor ? get_state : NULL;
    own->callback.set_state = monitor ? set_state : NULL;
    if ((text && !(own->text = gantry__train_strdup(text))) ||
        (monitor && !(own->monitor = gantry__train_strdup(monitor)))) {
        gantry_callback_release(&own->callback);
        return NULL;
    }
    return own;
}

void gantry_callback_release(gantry_callback_t *callback) {
    if (!callback) return;
    own_callback_t *own = callback->user;
    gantry__train_free(own->text);
    gantry__train_free(own->monitor);
    gantry__train_free(own);
}

/* ---- watched values ---- */

static gantry_status_t find_value(const own_callback_t *own, const gantry_logs_t *logs,
                                  double *out_value) {
    for (size_t i = 0; i < logs->count; ++i) {
        if (strcmp(logs->names[i], own->monitor) != 0) continue;
        *out_value = logs->values[i];
        return GANTRY_OK;
    }
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "a callback watches %s; the training has no value of this name, but %s and %zu others",
        own->monitor, logs->count > 0 ? logs->names[0] : "none", logs->count ? logs->count - 1 : 0);
}

/* Keeps the value if it is better than the best so far. */
static bool improves(own_callback_t *own, double value) {
    const double gain = own->is_better_high ? value - own->best : own->best - value;
    if (own->has_best && !(gain > own->min_delta)) return false;
    if (isnan(value)) return false;
    own->has_best = true;
    own->best = value;
    return true;
}

/* ---- early stopping ---- */

static gantry_status_t stop_early(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                  bool *stop, void *user) {
    own_callback_t *own = user;
    double value = 0;
    (void)model;
    (void)epoch;
    GANTRY__TRAIN_TRY(find_value(own, logs, &value));
    own->waited = improves(own, value) ? 0 : own->waited + 1;
    if (own->waited >= own->patience) *stop = true;
    return GANTRY_OK;
}

gantry_callback_t *gantry_early_stopping(const gantry_early_stopping_options_t *options) {
    gantry_early_stopping_options_t o;
    if (gantry__train_options(options, sizeof o, &o, sizeof o, "gantry_early_stopping: options") !=
        GANTRY_OK)
        return NULL;
    if (!(o.min_delta >= 0) || o.patience < 0) {
        (void)gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_early_stopping: min_delta %g and patience %lld; 0 and more are accepted",
            o.min_delta, (long long)o.patience);
        return NULL;
    }
    own_callback_t *own = make(NULL, o.monitor ? o.monitor : "val_loss");
    if (!own) return NULL;
    own->is_better_high = o.is_better_high;
    own->min_delta = o.min_delta;
    own->patience = o.patience ? o.patience : 1;
    own->callback.epoch_end = stop_early;
    return &own->callback;
}

/* ---- checkpoints ---- */

static gantry_status_t save_epoch(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                  bool *stop, void *user) {
    own_callback_t *own = user;
    double value = 0;
    (void)epoch;
    (void)stop;
    if (own->monitor) {
        GANTRY__TRAIN_TRY(find_value(own, logs, &value));
        if (!improves(own, value)) return GANTRY_OK;
    }
    return gantry_model_save(model, own->text);
}

static bool refuse_path(const char *call, const char *path) {
    if (path && *path) return false;
    (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                             "%s: the path is %s; the name of a file is accepted", call,
                             path ? "empty" : "NULL");
    return true;
}

gantry_callback_t *gantry_model_checkpoint(const char *path, const char *monitor) {
    if (refuse_path("gantry_model_checkpoint", path)) return NULL;
    own_callback_t *own = make(path, monitor);
    if (!own) return NULL;
    own->is_better_high = monitor && (strstr(monitor, "acc") || strstr(monitor, "auc"));
    own->callback.epoch_end = save_epoch;
    return &own->callback;
}

/* ---- a table of epochs ---- */

static void write_line(FILE *file, bool is_new, int64_t epoch, const gantry_logs_t *logs) {
    if (is_new) {
        (void)fputs("epoch", file);
        for (size_t i = 0; i < logs->count; ++i) (void)fprintf(file, ",%s", logs->names[i]);
        (void)fputc('\n', file);
    }
    (void)fprintf(file, "%lld", (long long)epoch);
    for (size_t i = 0; i < logs->count; ++i) (void)fprintf(file, ",%.17g", logs->values[i]);
    (void)fputc('\n', file);
}

static gantry_status_t log_epoch(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                 bool *stop, void *user) {
    const own_callback_t *own = user;
    (void)stop;
    if (!gantry__worker_writes(model->worker)) return GANTRY_OK;
    FILE *file = fopen(own->text, "a");
    if (!file)
        return gantry__train_fail(GANTRY_NOT_FOUND, "gantry_csv_logger: %s cannot be opened: %s",
                                  own->text, strerror(errno));
    (void)fseek(file, 0, SEEK_END);
    write_line(file, ftell(file) == 0, epoch, logs);
    const bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed) return GANTRY_OK;
    return gantry__train_fail(GANTRY_RESOURCE_EXHAUSTED,
                              "gantry_csv_logger: %s cannot be written: %s", own->text,
                              strerror(errno));
}

gantry_callback_t *gantry_csv_logger(const char *path) {
    if (refuse_path("gantry_csv_logger", path)) return NULL;
    own_callback_t *own = make(path, NULL);
    if (!own) return NULL;
    own->callback.epoch_end = log_epoch;
    return &own->callback;
}

/* ---- losses that are no numbers ---- */

static gantry_status_t note_epoch(gantry_model_t *model, int64_t epoch, void *user) {
    own_callback_t *own = user;
    (void)model;
    own->epoch = epoch;
    return GANTRY_OK;
}

static gantry_status_t check_loss(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    const own_callback_t *own = user;
    double loss = 0;
    (void)stop;
    GANTRY__TRAIN_TRY(gantry__model_read_loss(model, &loss));
    if (isfinite(loss)) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "gantry_terminate_on_nan: the loss of model %s is %g after epoch %lld, step %lld; a finite one is accepted",
        model->name, loss, (long long)own->epoch + 1, (long long)step + 1);
}

gantry_callback_t *gantry_terminate_on_nan(void) {
    own_callback_t *own = make(NULL, NULL);
    if (!own) return NULL;
    own->callback.epoch_begin = note_epoch;
    own->callback.step_end = check_loss;
    return &own->callback;
}

/* ---- learning rates ---- */

static gantry_status_t set_rate(gantry_model_t *model, int64_t epoch, void *user) {
    const own_callback_t *own = user;
    double rate;
    GANTRY__TRAIN_TRY(gantry_optimizer_get_learning_rate(model->optimizer, &rate));
    return gantry_optimizer_set_learning_rate(model->optimizer,
                                              own->rate(epoch, rate, own->rate_user));
}

gantry_callback_t *gantry_learning_rate_scheduler(gantry_learning_rate_fn rate, void *user) {
    if (!rate) {
        (void)gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_learning_rate_scheduler: rate is NULL; a function is accepted");
        return NULL;
    }
    own_callback_t *own = make(NULL, NULL);
    if (!own) return NULL;
    own->rate = rate;
    own->rate_user = user;
    own->callback.epoch_begin = set_rate;
    return &own->callback;
}
