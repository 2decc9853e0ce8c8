/* SPDX-License-Identifier: Apache-2.0 */
#include "device/keeper.h"

#include "base/failure.h"

gantry_status_t gantry__keepers_init(gantry__keepers_t *keepers) {
    keepers->first = NULL;
    keepers->forms.first = NULL;
    atomic_init(&keepers->forms.made, 0);
    if (gantry__mutex_init(&keepers->lock) == 0) {
        if (gantry__mutex_init(&keepers->forms.lock) == 0) return GANTRY_OK;
        gantry__mutex_deinit(&keepers->lock);
    }
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
}

void gantry__keepers_deinit(gantry__keepers_t *keepers) {
    gantry__mutex_deinit(&keepers->forms.lock);
    gantry__mutex_deinit(&keepers->lock);
}

void gantry__keepers_add(gantry__keepers_t *keepers, gantry__keeper_t *keeper,
                         const gantry__keeper_t *with) {
    gantry__mutex_lock(&keepers->lock);
    keeper->with = with;
    keeper->previous = NULL;
    keeper->next = keepers->first;
    if (keeper->next) keeper->next->previous = keeper;
    keepers->first = keeper;
    gantry__mutex_unlock(&keepers->lock);
}

void gantry__keepers_remove(gantry__keepers_t *keepers, gantry__keeper_t *keeper) {
    gantry__mutex_lock(&keepers->lock);
    for (gantry__keeper_t *at = keepers->first; at; at = at->next) {
        if (at->with == keeper) at->with = NULL;
    }
    if (keeper->next) keeper->next->previous = keeper->previous;
    *(keeper->previous ? &keeper->previous->next : &keepers->first) = keeper->next;
    gantry__mutex_unlock(&keepers->lock);
}

uint64_t gantry__keepers_ask_all(gantry__keepers_t *keepers,
                                 const gantry_logical_device_t *device) {
    uint64_t bytes = 0;
    gantry__mutex_lock(&keepers->lock);
    for (gantry__keeper_t *at = keepers->first; at; at = at->next) bytes += at->give_up(at, device);
    gantry__mutex_unlock(&keepers->lock);
    return bytes;
}

static bool was_made_for(const gantry__keeper_t *at, const gantry__keeper_t *keeper) {
    while (at && at != keeper) at = at->with;
    return at;
}

uint64_t gantry__keepers_ask(gantry__keepers_t *keepers, const gantry__keeper_t *keeper) {
    uint64_t bytes = 0;
    gantry__mutex_lock(&keepers->lock);
    for (gantry__keeper_t *at = keepers->first; at; at = at->next) {
        if (was_made_for(at, keeper)) bytes += at->give_up(at, NULL);
    }
    gantry__mutex_unlock(&keepers->lock);
    return bytes;
}
