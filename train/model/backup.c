/* SPDX-License-Identifier: Apache-2.0 */
#include "train/model/backup.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "shared/memory.h"
#include "train/data/iterations.h"
#include "train/model/worker.h"

enum { KEY_BYTES = 32, NUMBER_BYTES = 24, FIXED_TEXTS = 4 };

/* ---- data sets ---- */

gantry_status_t gantry__position_take(gantry__position_t *position, gantry_dataset_t *batches,
                                      gantry_dataset_t *validation) {
    uint64_t *out = position->iterations;
    size_t count = gantry__train_get_iterations(batches, out, GANTRY__BACKUP_SHUFFLES);
    if (count <= GANTRY__BACKUP_SHUFFLES)
        count +=
            gantry__train_get_iterations(validation, out + count, GANTRY__BACKUP_SHUFFLES - count);
    position->iteration_count = count;
    if (count <= GANTRY__BACKUP_SHUFFLES) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_UNIMPLEMENTED,
        "gantry_model_fit: the data sets have %zu shuffles; a backup keeps the state of %d", count,
        GANTRY__BACKUP_SHUFFLES);
}

gantry_status_t gantry__backup_set_iterations(const gantry__position_t *position,
                                              gantry_dataset_t *batches,
                                              const gantry_fit_options_t *o) {
    uint64_t none[1];
    const size_t first = gantry__train_get_iterations(batches, none, 0),
                 both = first + gantry__train_get_iterations(o->validation, none, 0);
    if (both != position->iteration_count)
        return gantry__train_refuse(
            NULL, "gantry_model_fit: the data sets have %zu shuffles; %s is of a training with %zu",
            both, o->backup, position->iteration_count);
    gantry__train_set_iterations(batches, position->iterations);
    gantry__train_set_iterations(o->validation, position->iterations + first);
    return GANTRY_OK;
}

/* ---- callbacks ---- */

/* A callback of a program that was compiled with a shorter struct has no state. */
static bool has_state(const gantry_callback_t *callback) {
    return callback->struct_size >= offsetof(gantry_callback_t, train_begin) &&
           callback->get_state && callback->set_state;
}

/* ---- saving ---- */

typedef struct texts_t {
    gantry_checkpoint_text_t *list;
    char (*keys)[KEY_BYTES]; /* of callbacks */
    char (*states)[GANTRY_CALLBACK_STATE_BYTES];
    char epoch[NUMBER_BYTES], step[NUMBER_BYTES];
    char iterations[GANTRY__BACKUP_SHUFFLES * NUMBER_BYTES];
    size_t count;
} texts_t;

static void backup_add_text(texts_t *t, const char *key, const char *value) {
    t->list[t->count++] = (gantry_checkpoint_text_t){key, value};
}

static void add_position(texts_t *t, const gantry__position_t *position) {
    size_t used = 0;
    (void)snprintf(t->epoch, sizeof t->epoch, "%" PRId64, position->epoch);
    (void)snprintf(t->step, sizeof t->step, "%" PRId64, position->step);
    for (size_t i = 0; i < position->iteration_count; ++i)
        used += (size_t)snprintf(t->iterations + used, sizeof t->iterations - used, "%s%" PRIu64,
                                 i ? "," : "", position->iterations[i]);
    backup_add_text(t, "format", "gantry");
    backup_add_text(t, "epoch", t->epoch);
    backup_add_text(t, "step", t->step);
    backup_add_text(t, "iterations", t->iterations);
}

static gantry_status_t add_states(texts_t *t, const gantry_fit_options_t *o) {
    for (size_t i = 0; i < o->callback_count; ++i) {
        const gantry_callback_t *callback = o->callbacks[i];
        if (!has_state(callback)) continue;
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        (void)snprintf(t->keys[i], KEY_BYTES, "callback/%zu", i);
        gantry__train_expect_text();
        GANTRY__TRY(gantry__train_told(
            callback->get_state(t->states[i], GANTRY_CALLBACK_STATE_BYTES, callback->user),
            "gantry_model_fit: get_state of callback %zu", i));
        t->states[i][GANTRY_CALLBACK_STATE_BYTES - 1] = '\0';
        backup_add_text(t, t->keys[i], t->states[i]);
    }
    return GANTRY_OK;
}

static gantry_status_t write_backup(gantry_model_t *model, const gantry_fit_options_t *o,
                                    const gantry__position_t *position, texts_t *t) {
    t->list = gantry__alloc(FIXED_TEXTS + o->callback_count, sizeof *t->list);
    t->keys = gantry__alloc(o->callback_count, sizeof *t->keys);
    t->states = gantry__alloc(o->callback_count, sizeof *t->states);
    if (!t->list || !t->keys || !t->states) return GANTRY_RESOURCE_EXHAUSTED;
    add_position(t, position);
    GANTRY__TRY(add_states(t, o));
    return gantry__model_save_with(model, o->backup, position->step > 0, t->list, t->count);
}

static gantry_status_t save_alone(gantry_model_t *model, const gantry_fit_options_t *o,
                                  const gantry__position_t *position) {
    texts_t texts = {.count = 0};
    gantry_status_t status = write_backup(model, o, position, &texts);
    gantry__free(texts.list);
    gantry__free(texts.keys);
    gantry__free(texts.states);
    return status;
}

/* ---- several processes ---- */

static gantry_status_t backup_agree(gantry_model_t *model, const gantry__position_t *position,
                                    gantry_status_t status) {
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_BACKUP, .status = status};
    if (position) call.values[0] = (uint64_t)position->epoch;
    if (position) call.values[1] = (uint64_t)position->step;
    return gantry__worker_agree(model->replicas.worker, &call);
}

static gantry_status_t share_bytes(gantry_model_t *model, void *data, size_t bytes) {
    return gantry__worker_broadcast(model->replicas.worker, data, bytes, "a backup");
}

/* Metrics count only in rank 0, before and after. */
gantry_status_t gantry__backup_save(gantry_model_t *model, const gantry_fit_options_t *o,
                                    const gantry__position_t *position) {
    gantry_status_t status = GANTRY_OK;
    if (!model->replicas.worker) return save_alone(model, o, position);
    if (position->step > 0) GANTRY__TRY(gantry__worker_join_metrics(model));
    if (gantry__worker_writes(model->replicas.worker)) status = save_alone(model, o, position);
    if (position->step > 0 && status == GANTRY_OK) status = gantry__worker_part_metrics(model);
    return backup_agree(model, position, status);
}

/* ---- reading ---- */

static gantry_status_t backup_read_number(const gantry_checkpoint_t *file, const char *path,
                                          const char *key, int64_t *out) {
    const char *text = gantry_checkpoint_text(file, key);
    char *end = NULL;
    *out = text ? strtoll(text, &end, 10) : -1;
    if (text && *text && !*end && *out >= 0) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_model_fit: %s is no backup of a training: its text \"%s\" is %.100s; a number is accepted",
        path, key, text ? text : "missing");
}

static gantry_status_t read_iterations(const gantry_checkpoint_t *file, const char *path,
                                       gantry__position_t *position) {
    const char *text = gantry_checkpoint_text(file, "iterations");
    char *end;
    position->iteration_count = 0;
    while (text && *text && position->iteration_count < GANTRY__BACKUP_SHUFFLES) {
        position->iterations[position->iteration_count++] = strtoull(text, &end, 10);
        if (end == text || (*end && *end != ',')) break;
        text = *end ? end + 1 : end;
    }
    if (text && !*text) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_model_fit: %s is no backup of a training: its text \"iterations\" is %.100s; numbers and commas are accepted",
        path, text ? text : "missing");
}

static gantry_status_t read_position(const gantry_checkpoint_t *file, const char *path,
                                     gantry__position_t *position) {
    GANTRY__TRY(backup_read_number(file, path, "epoch", &position->epoch));
    GANTRY__TRY(backup_read_number(file, path, "step", &position->step));
    return read_iterations(file, path, position);
}

static gantry_status_t open_alone(const gantry_fit_options_t *o, gantry__position_t *position,
                                  gantry_checkpoint_t **out_file) {
    gantry_status_t status = gantry_checkpoint_open(o->backup, out_file);
    if (status == GANTRY_NOT_FOUND) return GANTRY_OK;
    if (status == GANTRY_OK) status = read_position(*out_file, o->backup, position);
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry_checkpoint_release(*out_file);
    *out_file = NULL;
    return status;
}

gantry_status_t gantry__backup_open(gantry_model_t *model, const gantry_fit_options_t *o,
                                    gantry__position_t *position, gantry_checkpoint_t **out_file,
                                    bool *out_exists) {
    gantry_status_t status = GANTRY_OK;
    *out_file = NULL;
    if (gantry__worker_writes(model->replicas.worker)) status = open_alone(o, position, out_file);
    *out_exists = *out_file;
    if (!model->replicas.worker) return status;
    GANTRY__TRY(backup_agree(model, NULL, status));
    GANTRY__TRY(share_bytes(model, out_exists, sizeof *out_exists));
    return share_bytes(model, position, sizeof *position);
}

/* The text of a callback, which rank 0 has read. */
static gantry_status_t backup_read_state(gantry_model_t *model, const gantry_checkpoint_t *file,
                                         size_t i, char out[GANTRY_CALLBACK_STATE_BYTES],
                                         bool *out_exists) {
    char key[KEY_BYTES];
    (void)snprintf(key, sizeof key, "callback/%zu", i);
    const char *text = file ? gantry_checkpoint_text(file, key) : NULL;
    *out_exists = text;
    memset(out, 0, GANTRY_CALLBACK_STATE_BYTES);
    if (text) (void)snprintf(out, GANTRY_CALLBACK_STATE_BYTES, "%s", text);
    if (!model->replicas.worker) return GANTRY_OK;
    GANTRY__TRY(share_bytes(model, out_exists, sizeof *out_exists));
    return share_bytes(model, out, GANTRY_CALLBACK_STATE_BYTES);
}

/* Sets the states of the callbacks. Of several processes, one whose callback fails must still take
 * part, because the others wait for it. */
static gantry_status_t backup_set_states(gantry_model_t *model, const gantry_fit_options_t *o,
                                         const gantry_checkpoint_t *file) {
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < o->callback_count && (status == GANTRY_OK || model->replicas.worker);
         ++i) {
        char text[GANTRY_CALLBACK_STATE_BYTES];
        bool exists;
        GANTRY__TRY(backup_read_state(model, file, i, text, &exists));
        if (!exists || status != GANTRY_OK || !has_state(o->callbacks[i])) continue;
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        gantry__train_expect_text();
        status = gantry__train_told(o->callbacks[i]->set_state(text, o->callbacks[i]->user),
                                    "gantry_model_fit: set_state of callback %zu", i);
    }
    return status;
}

gantry_status_t gantry__backup_restore(gantry_model_t *model, const gantry_fit_options_t *o,
                                       const gantry__position_t *position,
                                       const gantry_checkpoint_t *file) {
    gantry_status_t status = GANTRY_OK;
    model->state.holds_averages = false; /* unless a callback says so */
    if (file) status = gantry__model_load_from(model, o->backup, file, position->step > 0);
    if (!model->replicas.worker)
        return status == GANTRY_OK ? backup_set_states(model, o, file) : status;
    GANTRY__TRY(gantry__worker_share_loaded(model, file, status));
    GANTRY__TRY(gantry__worker_share_draws(model));
    return backup_agree(model, position, backup_set_states(model, o, file));
}
