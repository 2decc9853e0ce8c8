/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients that are slices. Where an update changes every row, slices become one dense vector, and
 * their sizes (squares, absolute values) another one: Keras's formulas, where a square of slices is
 * slices of squares. Else the update touches the rows that slices name, in the variables' memory.
 *
 * A clip by the norm of all gradients adds slices of one row before they are squared, as in
 * Keras on TensorFlow, whose IndexedSlices become dense when they are multiplied by the scale. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/optimizer/optimizer_slices.h"
#include "train/optimizer/optimizer_state.h"
#include "train/tape/slices.h"

typedef const gantry_tensor_t tensor;

/* ---- dense vectors ---- */

tensor *gantry__train_dense_of(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                               gantry__train_member_t *member) {
    (void)optimizer;
    if (!member->values) return member->gradient;
    return gantry__slices_add_rows(scope, member->values, member->indices,
                                   gantry_variable_shape(member->variable));
}

static tensor *optimizer_slices_sizes_of(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                                         gantry__train_member_t *member) {
    const gantry__train_rule_t *rule = optimizer->rule;
    if (!member->values) return member->gradient ? rule->size_of(scope, member->gradient) : NULL;
    return gantry__slices_add_rows(scope, rule->size_of(scope, member->values), member->indices,
                                   gantry_variable_shape(member->variable));
}

static tensor *whole(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                     const gantry__train_group_t *group, gantry__train_of_member_fn of_member) {
    return gantry__train_is_joined(group)
               ? gantry__train_join(scope, optimizer, group, optimizer->homes[group->home].dtype,
                                    of_member)
               : of_member(scope, optimizer, &optimizer->members[group->first_member]);
}

void gantry__train_make_dense(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                              const gantry__train_group_t *group, gantry__train_now_t *now) {
    now->gradient = whole(scope, optimizer, group, gantry__train_dense_of);
    if (!optimizer->rule->size_of) return;
    now->sizes = optimizer->settings.global_clipnorm > 0
                     ? optimizer->rule->size_of(scope, now->gradient)
                     : whole(scope, optimizer, group, optimizer_slices_sizes_of);
}

/* ---- rows ---- */

bool gantry__train_updates_rows(const gantry_optimizer_t *optimizer,
                                const gantry__train_group_t *group) {
    return group->is_sparse && !gantry__train_is_joined(group) &&
           gantry__train_can_update_rows(optimizer);
}

static void update_rows(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                        const gantry__train_group_t *group) {
    const gantry__train_member_t *member = &optimizer->members[group->first_member];
    gantry_gradient_t slices = {.values = member->values,
                                .indices = member->indices,
                                .shape = *gantry_variable_shape(member->variable)};
    if (optimizer->settings.global_clipnorm > 0 && optimizer->rule->size_of &&
        gantry_gradient_sum_rows(scope, &slices, &slices) != GANTRY_OK)
        return;
    const gantry__update_rows_t rows = {.weights = member->variable,
                                        .slots = group->slots,
                                        .values = slices.values,
                                        .indices = slices.indices};
    optimizer->rule->update_rows(scope, &optimizer->homes[group->home].update, &rows);
}

void gantry__train_update_rows(const gantry_optimizer_t *optimizer,
                               const gantry__train_group_t *group) {
    gantry_scope_t *outer = optimizer->homes[group->home].update.scope;
    gantry_scope_t *scope = gantry__train_begin_on(outer, NULL);
    if (!scope) return;
    update_rows(scope, optimizer, group);
    (void)gantry__train_hand_on(outer, gantry_scope_end(scope));
}

static bool is_lone(const gantry_optimizer_t *optimizer, const gantry__train_member_t *member) {
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        const gantry__train_group_t *group = &optimizer->groups[i];
        if (&optimizer->members[group->first_member] == member)
            return !gantry__train_is_joined(group);
    }
    return false;
}

gantry__slice_use_t gantry__train_use_of_slices(const gantry_optimizer_t *optimizer,
                                                const gantry_variable_t *variable, int64_t slices) {
    const gantry__train_member_t *member = gantry__train_find_member(optimizer, variable);
    if (!member || member->elements < GANTRY__TRAIN_LEAST_SPARSE ||
        !gantry__train_can_update_rows(optimizer) || !is_lone(optimizer, member))
        return GANTRY__SLICES_DENSE;
    const int64_t most =
        gantry_variable_shape(variable)->dims[0] / GANTRY__TRAIN_LEAST_SPARSE_TIMES;
    if (slices <= 0 || slices > most) return GANTRY__SLICES_DENSE;
    return optimizer->rule->size_of ? GANTRY__SLICES_ADDED : GANTRY__SLICES_APART;
}
