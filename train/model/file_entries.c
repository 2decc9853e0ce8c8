/* SPDX-License-Identifier: Apache-2.0 */
#include "train/model/file_entries.h"

#include <math.h>
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/checkpoint/checkpoint_file.h"
#include "train/model/run.h"
#include "train/numerics/finite.h"
#include "train/optimizer/optimizer_state.h"

/* What lists the entries. */
typedef struct listing_t {
    gantry_model_t *model;
    size_t replica;
    const gantry__file_names_t *names;
    gantry__entries_t *out;
} listing_t;

void gantry__entries_deinit(gantry__entries_t *entries) {
    for (size_t i = 0; i < entries->joined_count; ++i) gantry__free(entries->joined[i].data);
    gantry__free(entries->joined);
    gantry__free(entries->list);
    gantry__free(entries->names);
}

/* Adds an entry, and returns the place of its name. */
static char *entries_add(const listing_t *l, gantry_variable_t *variable) {
    char *name = l->out->names + l->out->count * GANTRY__FILE_NAME_BYTES;
    l->out->list[l->out->count++] = (gantry_checkpoint_entry_t){.name = name, .variable = variable};
    return name;
}

static void entries_add_weights(const listing_t *l) {
    for (size_t i = 0; i < l->model->net.variable_count; ++i)
        gantry__name_weight(l->model, l->names, i,
                            entries_add(l, l->model->net.variables[i].copies[l->replica]));
}

static void entries_add_numbered(const listing_t *l, const char *prefix, size_t number,
                                 gantry_variable_t *variable) {
    (void)snprintf(entries_add(l, variable), GANTRY__FILE_NAME_BYTES, "%s/%zu", prefix, number);
}

static size_t count_metric_variables(const gantry_model_t *model) {
    size_t count = 0;
    for (size_t i = 0; i < model->program.metric_count; ++i)
        count += gantry_metric_variable_count(model->program.metrics[i].metric);
    return count;
}

static void entries_add_metrics(const listing_t *l) {
    size_t number = 0;
    for (size_t i = 0; i < l->model->program.metric_count; ++i) {
        gantry_metric_t *metric = l->model->program.metrics[i].metric;
        for (size_t k = 0; k < gantry_metric_variable_count(metric); ++k)
            entries_add_numbered(l, "metrics", number++, gantry_metric_variable(metric, k));
    }
}

/* ---- the optimizer's state ---- */

static gantry_status_t add_all_numbered(const listing_t *l) {
    gantry_optimizer_t *optimizer = l->model->program.optimizer;
    size_t count;
    GANTRY__TRY(gantry_optimizer_get_variables(optimizer, 0, NULL, &count));
    gantry_variable_t **all = gantry__alloc(count, sizeof *all);
    if (!all) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry_optimizer_get_variables(optimizer, count, all, &count);
    const size_t each = count / l->model->replicas.count;
    for (size_t i = 0; i < each && status == GANTRY_OK; ++i)
        entries_add_numbered(l, "optimizer", i, all[l->replica * each + i]);
    gantry__free((void *)all);
    return status;
}

/* Returns the index of a weight of the replica; the number of weights for another variable. */
static size_t find_weight(const listing_t *l, const gantry_variable_t *variable) {
    size_t i = 0;
    while (i < l->model->net.variable_count &&
           l->model->net.variables[i].copies[l->replica] != variable)
        ++i;
    return i;
}

/* Reads a joined slot, whose gaps between weights a restore leaves as they are. */
static gantry_status_t read_joined_slot(const listing_t *l, gantry_variable_t *slot,
                                        gantry__joined_slot_t *out) {
    const gantry_shape_t *shape = gantry_variable_shape(slot);
    out->slot = slot;
    out->bytes =
        (size_t)gantry_shape_elements(shape) * gantry_dtype_size(gantry_variable_dtype(slot));
    out->data = gantry__alloc(out->bytes, 1);
    if (!out->data) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_scope_t *scope = gantry__model_scope(l->model, NULL, l->replica);
    if (!scope) return gantry__train_no_scope(l->model->runtime);
    const gantry_tensor_t *value = gantry_variable_read(scope, slot);
    return gantry__train_close(scope, value ? gantry_tensor_read(value, out->data, out->bytes)
                                            : gantry_scope_status(scope));
}

static void add_slot_of_weight(const listing_t *l, const gantry__train_member_t *member,
                               size_t weight, const char *slot, const gantry__joined_slot_t *joined,
                               gantry_variable_t *variable) {
    gantry__name_slot(l->model, l->names, weight, slot, entries_add(l, variable));
    if (!joined) return;
    const gantry_dtype_t dtype = gantry_variable_dtype(member->variable);
    l->out->list[l->out->count - 1].array =
        (gantry_array_t){dtype, *gantry_variable_shape(member->variable),
                         joined->data + (size_t)member->first * gantry_dtype_size(dtype)};
}

/* Whether a group has a weight of the replica: it may have those of others, and variables of the
 * program, whose state no file of the model has. */
static bool group_has_weight(const listing_t *l, const gantry__train_group_t *group) {
    const gantry_optimizer_t *optimizer = l->model->program.optimizer;
    for (uint32_t k = 0; k < group->member_count; ++k) {
        if (find_weight(l, optimizer->members[group->first_member + k].variable) <
            l->model->net.variable_count)
            return true;
    }
    return false;
}

/* Adds the slots of a group. */
static gantry_status_t add_slots_of_group(const listing_t *l, const gantry__train_group_t *group) {
    const gantry_optimizer_t *optimizer = l->model->program.optimizer;
    const gantry__train_member_t *members = &optimizer->members[group->first_member];
    for (size_t s = 0; s < optimizer->slot_count; ++s) {
        gantry__joined_slot_t *joined = NULL;
        if (gantry__train_is_joined(group)) {
            joined = &l->out->joined[l->out->joined_count++];
            GANTRY__TRY(read_joined_slot(l, group->slots[s], joined));
        }
        for (uint32_t k = 0; k < group->member_count; ++k) {
            const size_t weight = find_weight(l, members[k].variable);
            if (weight < l->model->net.variable_count)
                add_slot_of_weight(l, &members[k], weight, optimizer->slots[s].name, joined,
                                   joined ? NULL : group->slots[s]);
        }
    }
    return GANTRY_OK;
}

static gantry_status_t add_groups(const listing_t *l, bool are_joined) {
    const gantry_optimizer_t *optimizer = l->model->program.optimizer;
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        const gantry__train_group_t *group = &optimizer->groups[i];
        if (gantry__train_is_joined(group) == are_joined && group_has_weight(l, group))
            GANTRY__TRY(add_slots_of_group(l, group));
    }
    return GANTRY_OK;
}

static gantry_status_t add_scalar(const listing_t *l, const char *what,
                                  gantry_variable_t *variable) {
    const bool is_keras = l->names->state == GANTRY__STATE_KERAS;
    gantry__name_scalar(l->names, what, entries_add(l, is_keras ? NULL : variable));
    if (!is_keras) return GANTRY_OK;
    gantry__joined_slot_t *scalar = &l->out->joined[l->out->joined_count++];
    GANTRY__TRY(read_joined_slot(l, variable, scalar));
    l->out->list[l->out->count - 1].array =
        (gantry_array_t){gantry_variable_dtype(variable), GANTRY_SCALAR, scalar->data};
    ++l->out->scalar_count;
    return GANTRY_OK;
}

/* Adds the scalars of the replica's home: its weights have one type. */
static gantry_status_t add_scalars(const listing_t *l) {
    const gantry_optimizer_t *optimizer = l->model->program.optimizer;
    size_t i = 0;
    while (i < optimizer->group_count && !group_has_weight(l, &optimizer->groups[i])) ++i;
    if (i == optimizer->group_count) return GANTRY_OK;
    const gantry__train_home_t *home = &optimizer->homes[optimizer->groups[i].home];
    const bool is_keras = l->names->state == GANTRY__STATE_KERAS;
    GANTRY__TRY(add_scalar(l, "iteration", home->iteration));
    if (home->rate) GANTRY__TRY(add_scalar(l, "learning_rate", home->rate));
    if (!home->carried) return GANTRY_OK;
    return add_scalar(l, is_keras ? l->names->carried : optimizer->rule->carried, home->carried);
}

/* ---- all entries ---- */

static gantry_status_t alloc_entries(const listing_t *l) {
    const gantry_optimizer_t *optimizer = l->model->program.optimizer;
    size_t count = l->model->net.variable_count + 1 + count_metric_variables(l->model);
    if (l->names->state != GANTRY__STATE_NONE) {
        const size_t slots = optimizer->slot_count;
        count += 3 * optimizer->home_count + slots * optimizer->member_count;
        l->out->joined = gantry__alloc(3 + slots * optimizer->group_count, sizeof *l->out->joined);
        if (!l->out->joined) return GANTRY_RESOURCE_EXHAUSTED;
    }
    l->out->list = gantry__alloc(count, sizeof *l->out->list);
    l->out->names = gantry__alloc(count, GANTRY__FILE_NAME_BYTES);
    return l->out->list && l->out->names ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

gantry_status_t gantry__entries_init(gantry_model_t *model, size_t replica,
                                     const gantry__file_names_t *names, gantry__entries_t *out) {
    const listing_t l = {model, replica, names, out};
    const bool has_slots = names->state == GANTRY__STATE_OWN || names->state == GANTRY__STATE_KERAS;
    *out = (gantry__entries_t){.count = 0};
    GANTRY__TRY(alloc_entries(&l));
    entries_add_weights(&l);
    if (names->has_keras_weights || names->state == GANTRY__STATE_KERAS)
        GANTRY__TRY(gantry__names_check_unlike(model, names, out->list));
    if (names->state == GANTRY__STATE_NUMBERED) GANTRY__TRY(add_all_numbered(&l));
    if (names->state == GANTRY__STATE_OWN) GANTRY__TRY(add_scalars(&l));
    if (has_slots) GANTRY__TRY(add_groups(&l, false));
    if (names->with_metrics && replica == 0)
        entries_add_metrics(&l); /* they are on the first device */
    out->variable_count = out->count;
    if (names->state == GANTRY__STATE_KERAS) GANTRY__TRY(add_scalars(&l));
    return has_slots ? add_groups(&l, true) : GANTRY_OK;
}

/* ---- restoring ---- */

static gantry_status_t read_array(const gantry_checkpoint_t *checkpoint,
                                  const gantry_checkpoint_entry_t *entry) {
    const gantry_array_t *part = &entry->array;
    return gantry_checkpoint_read(
        checkpoint, entry->name, part->dtype, &part->shape, (void *)part->data,
        (size_t)gantry_shape_elements(&part->shape) * gantry_dtype_size(part->dtype));
}

static gantry_status_t refuse_rounding(const gantry_checkpoint_entry_t *entry, gantry_dtype_t given,
                                       double number) {
    return gantry__train_refuse(
        NULL, "tensor '%.200s' is %s %.17g, which %s does not have; a number of %s is accepted",
        entry->name, gantry_dtype_name(given), number, gantry_dtype_name(entry->array.dtype),
        gantry_dtype_name(entry->array.dtype));
}

/* Reads a scalar of Keras as the variable's type, int64, float32 or float64. */
static gantry_status_t read_keras_scalar(const gantry_checkpoint_t *checkpoint,
                                         const gantry_checkpoint_entry_t *entry) {
    const gantry_dtype_t wanted = entry->array.dtype;
    void *out = (void *)entry->array.data;
    gantry_dtype_t given;
    gantry_shape_t shape;
    union {
        int32_t integer;
        double widest;
    } raw;
    GANTRY__TRY(gantry_checkpoint_find(checkpoint, entry->name, &given, &shape));
    const bool is_converted =
        wanted == GANTRY_INT64 ? given == GANTRY_INT32 : gantry__train_is_float(given);
    if (!is_converted || given == wanted || shape.rank > 0) return read_array(checkpoint, entry);
    GANTRY__TRY(gantry_checkpoint_read(checkpoint, entry->name, given, &shape, &raw,
                                       gantry_dtype_size(given)));
    if (wanted == GANTRY_INT64) {
        *(int64_t *)out = raw.integer;
        return GANTRY_OK;
    }
    const double number = gantry__finite_number_at(given, &raw, 0);
    if (wanted == GANTRY_FLOAT64)
        *(double *)out = number;
    else
        *(float *)out = (float)number;
    const bool is_kept = isnan(number) || gantry__finite_number_at(wanted, out, 0) == number;
    return is_kept ? GANTRY_OK : refuse_rounding(entry, given, number);
}

static gantry_status_t read_all_arrays(const gantry_checkpoint_t *checkpoint,
                                       const gantry__entries_t *e) {
    for (size_t i = e->variable_count; i < e->count; ++i) {
        const bool is_scalar = i < e->variable_count + e->scalar_count;
        GANTRY__TRY(is_scalar ? read_keras_scalar(checkpoint, &e->list[i])
                              : read_array(checkpoint, &e->list[i]));
    }
    return GANTRY_OK;
}

/* Makes the values of joined slots on their devices; the scope owns them. */
static void make_joined(gantry_scope_t *scope, gantry__entries_t *e) {
    for (size_t i = 0; i < e->joined_count; ++i) {
        gantry__joined_slot_t *joined = &e->joined[i];
        gantry_scope_t *there = gantry__train_begin_on(
            scope, gantry_logical_device_name(gantry_variable_device(joined->slot)));
        if (!there) return;
        const gantry_tensor_t *value =
            gantry_constant(there, gantry_variable_dtype(joined->slot),
                            *gantry_variable_shape(joined->slot), joined->data, joined->bytes);
        joined->value = gantry__train_end(scope, there, value);
    }
}

static gantry_status_t restore(gantry_scope_t *scope, const gantry_checkpoint_t *checkpoint,
                               gantry__entries_t *e) {
    GANTRY__TRY(gantry__checkpoint_check(checkpoint, e->list, e->variable_count));
    GANTRY__TRY(read_all_arrays(checkpoint, e));
    make_joined(scope, e);
    GANTRY__TRY(gantry_checkpoint_restore(scope, checkpoint, e->list, e->variable_count));
    for (size_t i = 0; i < e->joined_count; ++i)
        GANTRY__TRY(gantry_variable_assign(scope, e->joined[i].slot, e->joined[i].value));
    return GANTRY_OK;
}

gantry_status_t gantry__entries_restore(gantry_model_t *model, size_t replica,
                                        const gantry_checkpoint_t *checkpoint,
                                        const gantry__file_names_t *names) {
    gantry__entries_t e;
    gantry_status_t status = gantry__entries_init(model, replica, names, &e);
    gantry_scope_t *scope = status == GANTRY_OK ? gantry__model_scope(model, NULL, replica) : NULL;
    if (status == GANTRY_OK && !scope) status = gantry__train_no_scope(model->runtime);
    if (scope) status = gantry__train_close(scope, restore(scope, checkpoint, &e));
    gantry__entries_deinit(&e);
    return status;
}
