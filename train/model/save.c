/* SPDX-License-Identifier: Apache-2.0 */
/* Models as files: weights under their names, and the optimizer's variables of one replica as
 * optimizer/0, optimizer/1 and so on, since those of all replicas are alike. */
#include <stdio.h>

#include <gantry_train/checkpoint.h>

#include "train/base/fail.h"
#include "train/base/memory.h"
#include "train/model/model_state.h"

enum { NAME_BYTES = 32 };

/* The entries of one replica. */
typedef struct entries_t {
    gantry_checkpoint_entry_t *list;
    char *names; /* of the optimizer's */
    gantry_variable_t **state;
    size_t count, state_count; /* state_count: of all replicas */
} entries_t;

static void entries_deinit(entries_t *e) {
    gantry__train_free(e->list);
    gantry__train_free(e->names);
    gantry__train_free((void *)e->state);
}

static gantry_status_t list_state(const gantry_model_t *model, entries_t *e) {
    if (!model->optimizer) return GANTRY_OK;
    GANTRY__TRAIN_TRY(gantry_optimizer_get_variables(model->optimizer, 0, NULL, &e->state_count));
    e->state = gantry__train_alloc(e->state_count, sizeof *e->state);
    if (!e->state) return GANTRY_RESOURCE_EXHAUSTED;
    return gantry_optimizer_get_variables(model->optimizer, e->state_count, e->state,
                                          &e->state_count);
}

static gantry_status_t entries_init(const gantry_model_t *model, size_t replica, bool with_state,
                                    entries_t *e) {
    *e = (entries_t){.count = 0};
    if (with_state) GANTRY__TRAIN_TRY(list_state(model, e));
    const size_t each = e->state_count / model->replica_count;
    e->list = gantry__train_alloc(model->variable_count + each, sizeof *e->list);
    e->names = gantry__train_alloc(each, NAME_BYTES);
    if (!e->list || !e->names) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < model->variable_count; ++i) {
        gantry_variable_t *variable = model->variables[i].copies[replica];
        e->list[e->count++] = (gantry_checkpoint_entry_t){.name = gantry_variable_name(variable),
                                                          .variable = variable};
    }
    for (size_t i = 0; i < each; ++i) {
        char *name = e->names + i * NAME_BYTES;
        (void)snprintf(name, NAME_BYTES, "optimizer/%zu", i);
        e->list[e->count++] =
            (gantry_checkpoint_entry_t){.name = name, .variable = e->state[replica * each + i]};
    }
    return GANTRY_OK;
}

static gantry_status_t check_saved(const gantry_model_t *model, const char *path,
                                   const char *call) {
    GANTRY__TRAIN_TRY(gantry__model_check(model, call));
    if (!path || !*path)
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "%s: the path is %s; the name of a file is accepted", call,
                                  path ? "empty" : "NULL");
    if (model->is_built) return GANTRY_OK;
    return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                              "%s: model %s is not built; gantry_model_build makes its weights",
                              call, model->name);
}

gantry_status_t gantry_model_save(gantry_model_t *model, const char *path) {
    entries_t e;
    GANTRY__TRAIN_TRY(check_saved(model, path, "gantry_model_save"));
    gantry_status_t status = entries_init(model, 0, true, &e);
    gantry_scope_t *scope = status == GANTRY_OK ? gantry__model_scope(model, NULL, 0) : NULL;
    if (scope) {
        const gantry_checkpoint_text_t text = {"format", "gantry"};
        status = gantry_checkpoint_save(scope, path, e.list, e.count, &text, 1);
        if (status != GANTRY_OK) (void)gantry__train_hand_on(scope, status);
        status = gantry_scope_end(scope);
    } else if (status == GANTRY_OK) {
        status = GANTRY_RESOURCE_EXHAUSTED;
    }
    entries_deinit(&e);
    return status;
}

/* ---- load ---- */

static gantry_status_t restore(gantry_model_t *model, const gantry_checkpoint_t *checkpoint,
                               size_t replica, bool with_state) {
    entries_t e;
    gantry_status_t status = entries_init(model, replica, with_state, &e);
    gantry_scope_t *scope = status == GANTRY_OK ? gantry__model_scope(model, NULL, replica) : NULL;
    if (scope) {
        status = gantry_checkpoint_restore(scope, checkpoint, e.list, e.count);
        if (status != GANTRY_OK) (void)gantry__train_hand_on(scope, status);
        status = gantry_scope_end(scope);
    } else if (status == GANTRY_OK) {
        status = GANTRY_RESOURCE_EXHAUSTED;
    }
    entries_deinit(&e);
    return status;
}

static bool has_state(const gantry_checkpoint_t *checkpoint) {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    return gantry_checkpoint_find(checkpoint, "optimizer/0", &dtype, &shape) == GANTRY_OK;
}

static gantry_status_t load_from(gantry_model_t *model, const gantry_checkpoint_t *checkpoint) {
    const bool with_state = model->optimizer && has_state(checkpoint);
    if (with_state) GANTRY__TRAIN_TRY(gantry__model_build_optimizer(model));
    for (size_t r = 0; r < model->replica_count; ++r)
        GANTRY__TRAIN_TRY(restore(model, checkpoint, r, with_state));
    return GANTRY_OK;
}

gantry_status_t gantry_model_load(gantry_model_t *model, const char *path) {
    gantry_checkpoint_t *checkpoint;
    GANTRY__TRAIN_TRY(check_saved(model, path, "gantry_model_load"));
    GANTRY__TRAIN_TRY(gantry_checkpoint_open(path, &checkpoint));
    gantry_status_t status = load_from(model, checkpoint);
    gantry_checkpoint_release(checkpoint);
    return status;
}
