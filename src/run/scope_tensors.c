/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a scope: adopted, kept, dropped, donated, and released at its end.
 *
 * The list is linked through the tensors (run/tensor_state.h), so that dropping one is O(1). */
#include <string.h>

#include "run/scope_state.h"

static void unlink_tensor(gantry_scope_t *scope, gantry_tensor_t *tensor) {
    scope->donated_count -= tensor->is_donated;
    tensor->is_donated = false;
    if (tensor->previous) {
        tensor->previous->next = tensor->next;
    } else {
        scope->tensors = tensor->next;
    }
    if (tensor->next) tensor->next->previous = tensor->previous;
    tensor->scope = NULL;
    tensor->next = tensor->previous = NULL;
}

static gantry_tensor_t *as_owned(const gantry_tensor_t *tensor) {
    gantry_tensor_t *owned;
    /* the scope owns an object that its users see as const */
    memcpy(&owned, &tensor, sizeof owned);
    return owned;
}

gantry_tensor_t *gantry_scope_keep(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    if (!scope) {
        (void)gantry__refuse("the scope is NULL; one from gantry_scope_begin is accepted");
        return NULL;
    }
    if (!gantry__runtime_is_ours(scope->runtime)) {
        (void)gantry__fork_guard_fail(&scope->runtime->fork);
        return NULL;
    }
    gantry_scope_t *target = scope->parent ? scope->parent : scope;
    if (!tensor || tensor->scope != scope) {
        if (scope->status == GANTRY_OK) {
            (void)gantry__scope_fail(
                target, gantry__refuse(
                            "gantry_scope_keep: %s; a tensor that this scope owns is accepted",
                            tensor ? "the tensor belongs to another owner" : "the tensor is NULL"));
        } else {
            (void)gantry__fail(scope->status, "%s", gantry_scope_message(scope));
            (void)gantry__scope_fail(target, scope->status);
        }
        return NULL;
    }
    gantry_tensor_t *owned = as_owned(tensor);
    unlink_tensor(scope, owned);
    if (scope->parent) gantry__scope_adopt(scope->parent, owned);
    return owned;
}

void gantry__scope_discard(gantry_scope_t *scope, gantry_tensor_t *tensor) {
    if (scope->spares.count == GANTRY__SCOPE_SPARES || !gantry__runtime_is_ours(scope->runtime) ||
        !gantry__tensor_empty(tensor)) {
        gantry_tensor_release(tensor);
        return;
    }
    tensor->next = scope->spares.first;
    scope->spares.first = tensor;
    ++scope->spares.count;
}

static void drop(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    gantry_tensor_t *owned = as_owned(tensor);
    unlink_tensor(scope, owned);
    gantry__scope_discard(scope, owned);
}

void gantry__scope_drop_all(gantry_scope_t *scope) {
    while (scope->tensors) drop(scope, scope->tensors);
}

static GANTRY__RECORDING void drop_recorded(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__PROFILE_SCOPE, NULL);
    drop(scope, tensor);
}

/* Ends nearly every op: the frame's memory is only used while a profile is recorded. A timeline
 * does not show it: the event would take longer than the drop. */
void gantry_tensor_drop(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    if (!scope || !tensor || tensor->scope != scope || !gantry__runtime_is_ours(scope->runtime))
        return;
    if (gantry__device_profile_mode(&scope->runtime->devices) != GANTRY_PROFILE_DEFAULT) {
        drop_recorded(scope, tensor);
    } else {
        drop(scope, tensor);
    }
}

const gantry_tensor_t *gantry_tensor_donate(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    if (!scope || !tensor || tensor->scope != scope || !gantry__runtime_is_ours(scope->runtime))
        return tensor;
    scope->donated_count += !tensor->is_donated;
    as_owned(tensor)->is_donated = true;
    return tensor;
}

void gantry__scope_end_donated(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               size_t input_count) {
    for (size_t i = 0; i < input_count && scope->donated_count > 0; ++i) {
        if (inputs[i] && gantry__scope_is_donated(scope, inputs[i])) drop(scope, inputs[i]);
    }
}

gantry_tensor_t *gantry__scope_take(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    gantry_tensor_t *owned = as_owned(tensor);
    unlink_tensor(scope, owned);
    return owned;
}

/* Empty objects go back together, so that the runtime's lock is taken once. */
void gantry__scope_release_tensors(gantry_scope_t *scope) {
    gantry_tensor_t *empty = scope->spares.first;
    if (!gantry__runtime_is_ours(scope->runtime)) return;
    while (scope->tensors) {
        gantry_tensor_t *tensor = scope->tensors;
        unlink_tensor(scope, tensor);
        if (gantry__tensor_empty(tensor)) {
            tensor->next = empty;
            empty = tensor;
        } else {
            gantry_tensor_release(tensor);
        }
    }
    gantry__tensor_return_all(scope->runtime, empty);
}
