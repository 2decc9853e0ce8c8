/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the gradients of each group and clips them:
 *
 *     clipnorm          g clip / max(|g|, clip), each by itself, before it is joined
 *     clipvalue         to [-clip, clip], in the pass of the update
 *     global_clipnorm   g clip min(1 / n, 1 / clip), where n is the norm of all of them. The norm
 *                       is known before the updates; each of them multiplies in its pass. A norm
 *                       that is not finite makes all weights NaN, as in Keras
 *
 * Slices are clipped before those of one row are added, and each counts in a norm by itself, as in
 * Keras on TensorFlow.
 *
 * Norms are computed in float32, or in float64 for float64. Zeros between places add nothing. */
#include "train/optimizer/optimizer_state.h"

typedef const gantry_tensor_t tensor;

/* ---- one vector of many ---- */

tensor *gantry__train_join(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                           const gantry__train_group_t *group, gantry_dtype_t dtype,
                           gantry__train_of_member_fn of_member) {
    tensor *parts[2 * GANTRY__TRAIN_MOST_MEMBERS];
    size_t count = 0;
    for (uint32_t i = 0; i < group->member_count; ++i) {
        gantry__train_member_t *member = &optimizer->members[group->first_member + i];
        tensor *part = of_member(scope, optimizer, member);
        const int64_t zeros = member->room - (part ? member->elements : 0);
        if (part) parts[count++] = gantry_reshape(scope, part, GANTRY_SHAPE(member->elements));
        if (zeros > 0) parts[count++] = gantry_zeros(scope, dtype, GANTRY_SHAPE(zeros));
    }
    return gantry_concat(scope, parts, count, 0);
}

/* ---- norms ---- */

static tensor *squares(gantry_scope_t *scope, tensor *gradient, gantry_dtype_t dtype) {
    const gantry_dtype_t wide = gantry__train_scalar_dtype(dtype);
    if (wide != dtype) gradient = gantry_cast(scope, gradient, wide);
    return gantry_sum(scope, gantry_square(scope, gradient), NULL);
}

static tensor *clip_norm(gantry_scope_t *scope, tensor *gradient, double most) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(gradient),
                         wide = gantry__train_scalar_dtype(dtype);
    tensor *clip = gantry__train_number(scope, wide, most);
    tensor *norm = gantry_sqrt(scope, squares(scope, gradient, dtype));
    tensor *scale = gantry_div(scope, clip, gantry_maximum(scope, norm, clip));
    if (wide != dtype) scale = gantry_cast(scope, scale, dtype);
    return gantry_mul(scope, gradient, scale);
}

static tensor *gradient_of(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                           gantry__train_member_t *member) {
    const double most = optimizer->settings.clipnorm;
    if (!member->gradient || most <= 0) return member->gradient;
    return clip_norm(scope, member->gradient, most);
}

/* ---- the norm of all ---- */

/* The sum of all squares, on the first used home's device and of its type. */
static tensor *group_squares(const gantry_optimizer_t *optimizer,
                             const gantry__train_group_t *group) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    if (!group->is_sparse) return squares(home->update.scope, group->gradient, home->dtype);
    tensor *sum = NULL;
    for (uint32_t k = 0; k < group->member_count; ++k) {
        const gantry__train_member_t *member = &optimizer->members[group->first_member + k];
        if (!gantry__train_has_gradient(member)) continue;
        tensor *own = squares(home->update.scope,
                              member->values ? member->values : member->gradient, home->dtype);
        sum = sum ? gantry_add(home->update.scope, sum, own) : own;
    }
    return sum;
}

static tensor *all_squares(const gantry_optimizer_t *optimizer) {
    const gantry__train_home_t *first = gantry__train_first_home(optimizer);
    tensor *sum = NULL;
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        const gantry__train_group_t *group = &optimizer->groups[i];
        const gantry__train_home_t *home = &optimizer->homes[group->home];
        if (!group->has_gradient) continue;
        tensor *own = group_squares(optimizer, group);
        if (home->update.scalar_dtype != first->update.scalar_dtype)
            own = gantry_cast(first->update.scope, own, first->update.scalar_dtype);
        sum = sum ? gantry_add(first->update.scope, sum, own) : own;
    }
    return sum;
}

static void set_scales(gantry_optimizer_t *optimizer) {
    const gantry__update_t *update = &gantry__train_first_home(optimizer)->update;
    const double most = optimizer->settings.global_clipnorm;
    tensor *norm = gantry_sqrt(update->scope, all_squares(optimizer));
    tensor *inverse = gantry_minimum(update->scope, gantry_reciprocal(update->scope, norm),
                                     gantry__train_scalar(update, 1 / most));
    tensor *scale = gantry_add(
        update->scope, gantry_mul(update->scope, inverse, gantry__train_scalar(update, most)),
        gantry_sub(update->scope, norm, norm));
    for (size_t i = 0; i < optimizer->home_count; ++i) {
        gantry__train_home_t *home = &optimizer->homes[i];
        if (!home->is_used) continue;
        home->scale = home->dtype == update->scalar_dtype
                          ? gantry_identity(home->update.scope, scale)
                          : gantry_cast(home->update.scope, scale, home->dtype);
    }
}

/* ---- gathering ---- */

tensor *gantry__train_clip(gantry_scope_t *scope, const gantry__train_home_t *home,
                           tensor *gradient) {
    if (home->scale) return gantry_mul(scope, gradient, home->scale);
    if (!home->clip[0]) return gradient;
    return gantry_clip_by_value(scope, gradient, home->clip[0], home->clip[1]);
}

static void look_at_group(const gantry_optimizer_t *optimizer, gantry__train_group_t *group) {
    const bool changes_all = optimizer->slot_count > optimizer->rule_slot_count;
    group->has_gradient = group->is_sparse = false;
    for (uint32_t k = 0; k < group->member_count; ++k) {
        const gantry__train_member_t *member = &optimizer->members[group->first_member + k];
        group->has_gradient |= gantry__train_has_gradient(member);
        group->is_sparse |= member->values && !gantry__train_accumulates(optimizer);
    }
    group->is_updated =
        group->has_gradient || (changes_all && optimizer->homes[group->home].is_used);
}

static tensor *gradients_gather(const gantry_optimizer_t *optimizer,
                                const gantry__train_group_t *group,
                                gantry__train_of_member_fn of_member) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    return gantry__train_is_joined(group)
               ? gantry__train_join(home->update.scope, optimizer, group, home->dtype, of_member)
               : of_member(home->update.scope, optimizer, &optimizer->members[group->first_member]);
}

/* Makes the means the members' gradients, of which each is clipped by itself. */
static void give_means(const gantry_optimizer_t *optimizer, const gantry__train_group_t *group) {
    gantry_scope_t *scope = optimizer->homes[group->home].update.scope;
    for (uint32_t k = 0; k < group->member_count; ++k) {
        gantry__train_member_t *member = &optimizer->members[group->first_member + k];
        if (gantry__train_has_gradient(member))
            member->gradient = gantry__train_part_of(scope, group, member, group->gradient);
        member->values = member->indices = NULL;
    }
}

static void gradients_gather_group(const gantry_optimizer_t *optimizer,
                                   gantry__train_group_t *group) {
    group->gradient = group->sum = NULL;
    if (!group->has_gradient || group->is_sparse) return;
    if (!gantry__train_accumulates(optimizer)) {
        group->gradient = gradients_gather(optimizer, group, gradient_of);
        return;
    }
    group->gradient = gantry__train_accumulate(
        optimizer, group, gradients_gather(optimizer, group, gantry__train_dense_of));
    if (optimizer->settings.clipnorm <= 0) return;
    give_means(optimizer, group);
    group->gradient = gradients_gather(optimizer, group, gradient_of);
}

/* Members of a sparse group are clipped before slices of one row are added. */
static void clip_members(const gantry_optimizer_t *optimizer, const gantry__train_group_t *group,
                         bool by_own_norm) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    const double most = optimizer->settings.clipnorm;
    for (uint32_t k = 0; k < group->member_count; ++k) {
        gantry__train_member_t *member = &optimizer->members[group->first_member + k];
        tensor **gradient = member->values ? &member->values : &member->gradient;
        if (!*gradient) continue;
        if (!by_own_norm)
            *gradient = gantry__train_clip(home->update.scope, home, *gradient);
        else if (most > 0)
            *gradient = clip_norm(home->update.scope, *gradient, most);
    }
}

void gantry__train_gather_gradients(gantry_optimizer_t *optimizer) {
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        gantry__train_group_t *group = &optimizer->groups[i];
        look_at_group(optimizer, group);
        gradients_gather_group(optimizer, group);
        if (group->is_sparse) clip_members(optimizer, group, true);
    }
    if (optimizer->settings.global_clipnorm > 0) set_scales(optimizer);
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        if (optimizer->groups[i].is_sparse) clip_members(optimizer, &optimizer->groups[i], false);
    }
}
