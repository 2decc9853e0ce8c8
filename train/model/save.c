/* SPDX-License-Identifier: Apache-2.0 */
/* Models as files, whose tensors file_entries.c lists, with the states of generators. */
#include <stdio.h>
#include <string.h>

#include <gantry_train/checkpoint.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/backup.h"
#include "train/model/draws.h"
#include "train/model/file_entries.h"
#include "train/model/worker.h"
#include "train/optimizer/optimizer_state.h"

/* A text of a file: how many processes trained the model. */
static const char processes_name[] = "processes";

/* What a file has in addition to its entries. */
typedef struct more_t {
    int64_t *draws;
    gantry_checkpoint_text_t *texts;
    size_t text_count;
    char processes[32];
} more_t;

/* Adds the generators' states; there is room for one entry more. */
static gantry_status_t add_draws(const gantry_model_t *model, gantry__entries_t *e, more_t *more) {
    gantry_array_t rows;
    GANTRY__TRY(gantry__model_get_draws(model, &rows, &more->draws));
    if (rows.shape.dims[0] > 0)
        e->list[e->count++] =
            (gantry_checkpoint_entry_t){.name = GANTRY__DRAWS_NAME, .array = rows};
    return GANTRY_OK;
}

/* Copies the caller's texts, and adds the number of processes and the optimizer's name. */
static gantry_status_t save_list_texts(const gantry_model_t *model,
                                       const gantry__file_names_t *names,
                                       const gantry_checkpoint_text_t *texts, more_t *more) {
    size_t *count = &more->text_count;
    more->texts = gantry__alloc(*count + 2, sizeof *more->texts);
    if (!more->texts) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(more->texts, texts, *count * sizeof *texts);
    if (model->replicas.worker) {
        (void)snprintf(more->processes, sizeof more->processes, "%zu",
                       model->replicas.worker->communicator.size);
        more->texts[(*count)++] = (gantry_checkpoint_text_t){processes_name, more->processes};
    }
    if (names->state != GANTRY__STATE_NONE)
        more->texts[(*count)++] = (gantry_checkpoint_text_t){GANTRY__OPTIMIZER_TEXT,
                                                             model->program.optimizer->rule->name};
    return GANTRY_OK;
}

static gantry_status_t check_saved(const gantry_model_t *model, const char *path,
                                   const char *call) {
    GANTRY__TRY(gantry__model_check(model, call));
    if (!path || !*path)
        return gantry__train_refuse(NULL, "%s: the path is %s; the name of a file is accepted",
                                    call, path ? "empty" : "NULL");
    if (model->net.is_built) return GANTRY_OK;
    return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                              "%s: model %s is not built; gantry_model_build makes its weights",
                              call, model->name);
}

static gantry_status_t save_as(gantry_model_t *model, const char *path,
                               const gantry__file_names_t *names,
                               const gantry_checkpoint_text_t *texts, size_t text_count) {
    gantry__entries_t e;
    more_t more = {.text_count = text_count};
    gantry_status_t status = gantry__entries_init(model, 0, names, &e);
    if (status == GANTRY_OK) status = add_draws(model, &e, &more);
    if (status == GANTRY_OK) status = save_list_texts(model, names, texts, &more);
    gantry_scope_t *scope = status == GANTRY_OK ? gantry__model_scope(model, NULL, 0) : NULL;
    if (status == GANTRY_OK && !scope) status = gantry__train_no_scope(model->runtime);
    if (scope)
        status = gantry__train_close(scope, gantry_checkpoint_save(scope, path, e.list, e.count,
                                                                   more.texts, more.text_count));
    gantry__entries_deinit(&e);
    gantry__free(more.draws);
    gantry__free(more.texts);
    return status;
}

gantry_status_t gantry__model_save_with(gantry_model_t *model, const char *path, bool with_metrics,
                                        const gantry_checkpoint_text_t *texts, size_t text_count) {
    gantry__file_names_t names = gantry__names_to_save(model, false);
    names.with_metrics = with_metrics;
    return save_as(model, path, &names, texts, text_count);
}

static gantry_status_t save_model(gantry_model_t *model, const char *path, const char *call,
                                  bool as_keras) {
    const gantry_checkpoint_text_t text = {"format", "gantry"};
    GANTRY__TRY(gantry__model_begin(model, call));
    gantry_status_t status = check_saved(model, path, call);
    if (status == GANTRY_OK && gantry__worker_writes(model->replicas.worker)) {
        const gantry__file_names_t names = gantry__names_to_save(model, as_keras);
        status = save_as(model, path, &names, &text, 1);
    }
    return gantry__worker_end(model->replicas.worker, status);
}

gantry_status_t gantry_model_save(gantry_model_t *model, const char *path) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    return save_model(model, path, "gantry_model_save", false);
}

gantry_status_t gantry_model_save_keras(gantry_model_t *model, const char *path) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    return save_model(model, path, "gantry_model_save_keras", true);
}

/* ---- load ---- */

/* Refuses another number of processes, because it adds in another order and would not take the same
 * steps. */
static gantry_status_t check_processes(const gantry_model_t *model, const char *path,
                                       const gantry_checkpoint_t *checkpoint) {
    char wanted[32];
    const char *given = gantry_checkpoint_text(checkpoint, processes_name);
    if (!model->replicas.worker || !given) return GANTRY_OK;
    (void)snprintf(wanted, sizeof wanted, "%zu", model->replicas.worker->communicator.size);
    if (strcmp(given, wanted) == 0) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_FAILED_PRECONDITION,
        "gantry_model_load: %s was saved by a training in %s processes, and this one has %s; the same number is accepted (a model without a communicator loads it, too, and saves it for any number)",
        path, given, wanted);
}

/* Only their number shows whether numbered variables are those of an optimizer of other options. */
static gantry_status_t check_numbered(const gantry_model_t *model, const char *path,
                                      const gantry_checkpoint_t *checkpoint) {
    char name[32];
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    size_t count;
    GANTRY__TRY(gantry_optimizer_get_variables(model->program.optimizer, 0, NULL, &count));
    (void)snprintf(name, sizeof name, "optimizer/%zu", count / model->replicas.count);
    if (gantry_checkpoint_find(checkpoint, name, &dtype, &shape) == GANTRY_NOT_FOUND)
        return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "%s has '%s': it was saved by an optimizer of other options than that of model %s, which has %zu variables",
        path, name, model->name, count / model->replicas.count);
}

static gantry_status_t load_as(gantry_model_t *model, const char *path,
                               const gantry_checkpoint_t *checkpoint,
                               const gantry__file_names_t *names) {
    GANTRY__TRY(check_processes(model, path, checkpoint));
    if (names->state != GANTRY__STATE_NONE) GANTRY__TRY(gantry__model_build_optimizer(model));
    if (names->state == GANTRY__STATE_NUMBERED)
        GANTRY__TRY(check_numbered(model, path, checkpoint));
    for (size_t r = 0; r < model->replicas.count; ++r)
        GANTRY__TRY(gantry__entries_restore(model, r, checkpoint, names));
    return gantry__model_load_draws(model, checkpoint);
}

gantry_status_t gantry__model_load_from(gantry_model_t *model, const char *path,
                                        const gantry_checkpoint_t *checkpoint, bool with_metrics) {
    gantry__file_names_t names;
    GANTRY__TRY(gantry__names_of_file(model, path, checkpoint, &names));
    names.with_metrics = with_metrics;
    return load_as(model, path, checkpoint, &names);
}

static gantry_status_t save_load_file(gantry_model_t *model, const char *path,
                                      bool *out_with_state) {
    gantry_checkpoint_t *checkpoint;
    gantry__file_names_t names;
    GANTRY__TRY(gantry_checkpoint_open(path, &checkpoint));
    gantry_status_t status = gantry__names_of_file(model, path, checkpoint, &names);
    *out_with_state = names.state != GANTRY__STATE_NONE;
    if (status == GANTRY_OK) status = load_as(model, path, checkpoint, &names);
    gantry_checkpoint_release(checkpoint);
    return status;
}

gantry_status_t gantry_model_load(gantry_model_t *model, const char *path) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    bool with_state = false;
    GANTRY__TRY(gantry__model_begin(model, "gantry_model_load"));
    gantry_status_t status = check_saved(model, path, "gantry_model_load");
    if (status == GANTRY_OK && gantry__worker_writes(model->replicas.worker))
        status = save_load_file(model, path, &with_state);
    if (model->replicas.worker) status = gantry__worker_share_loaded(model, with_state, status);
    if (model->replicas.worker && status == GANTRY_OK) status = gantry__worker_share_draws(model);
    if (status == GANTRY_OK) model->state.holds_averages = false;
    return gantry__worker_end(model->replicas.worker, status);
}
