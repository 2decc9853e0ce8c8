/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack's structs that tensors use.
 *
 * Who takes a struct owns it until the deleter was called, so Gantry puts a mark into it: a deleter
 * and a manager_ctx of its own. By the mark a struct that is given twice is found, and a program
 * that deletes a struct early, for example by a capsule that it did not rename, frees nothing that
 * a tensor uses. Before the producer's deleter is called, the struct is as the producer made it. */
#include "api/dlpack.h"
#include "base/log.h"
#include "run/runtime_state.h"

struct gantry__dl_held_t {
    gantry_runtime_t *runtime;
    gantry__dl_taken_t taken;
    /* the producer's */
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    void (*old_deleter)(struct DLManagedTensor *self);
};

static void note_early(const gantry__dl_held_t *held, const void *managed) {
    if (!gantry__runtime_is_ours(held->runtime)) return;
    gantry__log(
        &held->runtime->log, GANTRY_LEVEL_ERROR,
        "the deleter of DLPack's struct at %p was called while a tensor of %s uses it, and the call is left out: Gantry calls it once, after the last use",
        managed, held->taken.call);
}

static void delete_early(struct DLManagedTensorVersioned *self) {
    note_early(self->manager_ctx, self);
}
static void delete_old_early(struct DLManagedTensor *self) { note_early(self->manager_ctx, self); }

gantry_status_t gantry__dlpack_hold(gantry_runtime_t *runtime, const gantry__dl_taken_t *taken,
                                    gantry__dl_held_t **out_held) {
    struct DLManagedTensorVersioned *versioned = taken->versioned;
    struct DLManagedTensor *old = taken->old;
    if (versioned ? versioned->deleter == delete_early : old->deleter == delete_old_early)
        return gantry__refuse(
            "%s: the struct at %p was taken before, and a tensor uses it; each struct is accepted once",
            taken->call, versioned ? (void *)versioned : (void *)old);
    gantry__dl_held_t *held = gantry__heap_alloc(&runtime->heap, sizeof *held);
    *out_held = held;
    if (!held) return GANTRY_RESOURCE_EXHAUSTED;
    *held = (gantry__dl_held_t){.runtime = runtime, .taken = *taken};
    if (versioned) {
        held->manager_ctx = versioned->manager_ctx;
        held->deleter = versioned->deleter;
        versioned->manager_ctx = held;
        versioned->deleter = delete_early;
    } else {
        held->manager_ctx = old->manager_ctx;
        held->old_deleter = old->deleter;
        old->manager_ctx = held;
        old->deleter = delete_old_early;
    }
    return GANTRY_OK;
}

void gantry__dlpack_unhold(gantry__dl_held_t *held) {
    if (held->taken.versioned) {
        held->taken.versioned->manager_ctx = held->manager_ctx;
        held->taken.versioned->deleter = held->deleter;
    } else {
        held->taken.old->manager_ctx = held->manager_ctx;
        held->taken.old->deleter = held->old_deleter;
    }
    gantry__heap_free(&held->runtime->heap, held, sizeof *held);
}

void gantry__dlpack_release(void *held) {
    const gantry__dl_taken_t taken = ((gantry__dl_held_t *)held)->taken;
    gantry__dlpack_unhold(held);
    if (taken.versioned && taken.versioned->deleter) taken.versioned->deleter(taken.versioned);
    if (taken.old && taken.old->deleter) taken.old->deleter(taken.old);
}
