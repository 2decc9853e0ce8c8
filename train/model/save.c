/* SPDX-License-Identifier: Apache-2.0 */
/* Models as files: weights under their names, the optimizer's variables of one replica as
 * optimizer/0, optimizer/1 and so on, since those of all replicas are alike, the states of
 * generators, and in the middle of an epoch the metrics' variables as metrics/0 and so on. */
#include <stdio.h>
#include <string.h>

#include <gantry_train/checkpoint.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/base/memory.h"
#include "train/model/backup.h"
#include "train/model/draws.h"
#include "train/model/worker.h"
#include "train/optimizer/optimizer_state.h"

enum { NAME_BYTES = 32 };

/* Texts of a file: how many processes trained the model, and whose state it has. */
static const char processes_name[] = "processes", optimizer_name[] = "optimizer";

/* What the entries have in addition to weights. */
typedef struct parts_t {
    bool with_state, with_metrics;
} parts_t;

/* The entries of one replica. */
typedef struct entries_t {
    gantry_checkpoint_entry_t *list;
    char *names; /* of the optimizer's and the metrics' */
    gantry_variable_t **state;
    int64_t *draws;
    gantry_checkpoint_text_t *texts;
    char processes[NAME_BYTES];
    size_t count, state_count; /* state_count: of all replicas */
} entries_t;

static void entries_deinit(entries_t *e) {
    gantry__train_free(e->list);
    gantry__train_free(e->names);
    gantry__train_free((void *)e->state);
    gantry__train_free(e->draws);
    gantry__train_free(e->texts);
}

static gantry_status_t list_state(const gantry_model_t *model, entries_t *e) {
    if (!model->program.optimizer) return GANTRY_OK;
    GANTRY__TRY(gantry_optimizer_get_variables(model->program.optimizer, 0, NULL, &e->state_count));
    e->state = gantry__train_alloc(e->state_count, sizeof *e->state);
    if (!e->state) return GANTRY_RESOURCE_EXHAUSTED;
    return gantry_optimizer_get_variables(model->program.optimizer, e->state_count, e->state,
                                          &e->state_count);
}

/* Adds a variable as prefix/number. */
static void add_numbered(entries_t *e, char *name, const char *prefix, size_t number,
                         gantry_variable_t *variable) {
    (void)snprintf(name, NAME_BYTES, "%s/%zu", prefix, number);
    e->list[e->count++] = (gantry_checkpoint_entry_t){.name = name, .variable = variable};
}

static size_t count_metric_variables(const gantry_model_t *model) {
    size_t count = 0;
    for (size_t i = 0; i < model->program.metric_count; ++i)
        count += gantry_metric_variable_count(model->program.metrics[i].metric);
    return count;
}

static void save_add_metrics(const gantry_model_t *model, entries_t *e, char *names) {
    for (size_t i = 0, number = 0; i < model->program.metric_count; ++i) {
        for (size_t k = 0; k < gantry_metric_variable_count(model->program.metrics[i].metric);
             ++k, ++number)
            add_numbered(e, names + number * NAME_BYTES, "metrics", number,
                         gantry_metric_variable(model->program.metrics[i].metric, k));
    }
}

static gantry_status_t entries_init(const gantry_model_t *model, size_t replica, parts_t parts,
                                    entries_t *e) {
    *e = (entries_t){.count = 0};
    if (parts.with_state) GANTRY__TRY(list_state(model, e));
    const size_t each = e->state_count / model->replicas.count;
    /* metrics are on the first device */
    const size_t metrics = parts.with_metrics && replica == 0 ? count_metric_variables(model) : 0;
    e->list = gantry__train_alloc(model->net.variable_count + each + metrics + 1, sizeof *e->list);
    e->names = gantry__train_alloc(each + metrics, NAME_BYTES);
    if (!e->list || !e->names) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        const gantry__model_variable_t *variable = &model->net.variables[i];
        e->list[e->count++] = (gantry_checkpoint_entry_t){.name = variable->name,
                                                          .variable = variable->copies[replica]};
    }
    for (size_t i = 0; i < each; ++i)
        add_numbered(e, e->names + i * NAME_BYTES, "optimizer", i, e->state[replica * each + i]);
    if (metrics > 0) save_add_metrics(model, e, e->names + each * NAME_BYTES);
    return GANTRY_OK;
}

/* Adds the generators' states; there is room for one entry more. */
static gantry_status_t add_draws(const gantry_model_t *model, entries_t *e) {
    gantry_array_t rows;
    GANTRY__TRY(gantry__model_get_draws(model, &rows, &e->draws));
    if (rows.shape.dims[0] > 0)
        e->list[e->count++] =
            (gantry_checkpoint_entry_t){.name = GANTRY__DRAWS_NAME, .array = rows};
    return GANTRY_OK;
}

/* Copies the caller's texts, and adds the number of processes and the optimizer's name. */
static gantry_status_t save_list_texts(const gantry_model_t *model, entries_t *e,
                                       const gantry_checkpoint_text_t *texts, size_t *count) {
    e->texts = gantry__train_alloc(*count + 2, sizeof *e->texts);
    if (!e->texts) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(e->texts, texts, *count * sizeof *texts);
    if (model->replicas.worker) {
        (void)snprintf(e->processes, sizeof e->processes, "%zu",
                       model->replicas.worker->communicator.size);
        e->texts[(*count)++] = (gantry_checkpoint_text_t){processes_name, e->processes};
    }
    if (e->state_count > 0)
        e->texts[(*count)++] =
            (gantry_checkpoint_text_t){optimizer_name, model->program.optimizer->rule->name};
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

gantry_status_t gantry__model_save_with(gantry_model_t *model, const char *path, bool with_metrics,
                                        const gantry_checkpoint_text_t *texts, size_t text_count) {
    entries_t e;
    gantry_status_t status = entries_init(model, 0, (parts_t){true, with_metrics}, &e);
    if (status == GANTRY_OK) status = add_draws(model, &e);
    if (status == GANTRY_OK) status = save_list_texts(model, &e, texts, &text_count);
    gantry_scope_t *scope = status == GANTRY_OK ? gantry__model_scope(model, NULL, 0) : NULL;
    if (status == GANTRY_OK && !scope) status = gantry__train_no_scope(model->runtime);
    if (scope)
        status = gantry__train_close(
            scope, gantry_checkpoint_save(scope, path, e.list, e.count, e.texts, text_count));
    entries_deinit(&e);
    return status;
}

static gantry_status_t save_to(gantry_model_t *model, const char *path) {
    const gantry_checkpoint_text_t text = {"format", "gantry"};
    return gantry__model_save_with(model, path, false, &text, 1);
}

gantry_status_t gantry_model_save(gantry_model_t *model, const char *path) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__model_begin(model, "gantry_model_save"));
    gantry_status_t status = check_saved(model, path, "gantry_model_save");
    if (status == GANTRY_OK && gantry__worker_writes(model->replicas.worker))
        status = save_to(model, path);
    return gantry__worker_end(model->replicas.worker, status);
}

/* ---- load ---- */

static gantry_status_t save_restore(gantry_model_t *model, const gantry_checkpoint_t *checkpoint,
                                    size_t replica, parts_t parts) {
    entries_t e;
    gantry_status_t status = entries_init(model, replica, parts, &e);
    gantry_scope_t *scope = status == GANTRY_OK ? gantry__model_scope(model, NULL, replica) : NULL;
    if (status == GANTRY_OK && !scope) status = gantry__train_no_scope(model->runtime);
    if (scope)
        status = gantry__train_close(scope,
                                     gantry_checkpoint_restore(scope, checkpoint, e.list, e.count));
    entries_deinit(&e);
    return status;
}

static bool save_has_state(const gantry_checkpoint_t *checkpoint) {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    return gantry_checkpoint_find(checkpoint, "optimizer/0", &dtype, &shape) == GANTRY_OK;
}

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

/* The variables of optimizers have numbers, so that only a name distinguishes them. */
static gantry_status_t check_optimizer(const gantry_model_t *model, const char *path,
                                       const gantry_checkpoint_t *checkpoint) {
    const char *given = gantry_checkpoint_text(checkpoint, optimizer_name),
               *wanted = model->program.optimizer->rule->name;
    if (!given || strcmp(given, wanted) == 0) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "%s has the state of optimizer %.100s; model %s accepts that of %s, and without gantry_model_compile only the weights",
        path, given, model->name, wanted);
}

gantry_status_t gantry__model_load_from(gantry_model_t *model, const char *path,
                                        const gantry_checkpoint_t *checkpoint, bool with_metrics) {
    const parts_t parts = {model->program.optimizer && save_has_state(checkpoint), with_metrics};
    GANTRY__TRY(check_processes(model, path, checkpoint));
    if (parts.with_state) GANTRY__TRY(check_optimizer(model, path, checkpoint));
    if (parts.with_state) GANTRY__TRY(gantry__model_build_optimizer(model));
    for (size_t r = 0; r < model->replicas.count; ++r)
        GANTRY__TRY(save_restore(model, checkpoint, r, parts));
    return gantry__model_load_draws(model, checkpoint);
}

static gantry_status_t save_load_file(gantry_model_t *model, const char *path,
                                      bool *out_with_state) {
    gantry_checkpoint_t *checkpoint;
    GANTRY__TRY(gantry_checkpoint_open(path, &checkpoint));
    *out_with_state = model->program.optimizer && save_has_state(checkpoint);
    gantry_status_t status = gantry__model_load_from(model, path, checkpoint, false);
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
