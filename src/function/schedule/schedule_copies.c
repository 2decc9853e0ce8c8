/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between devices begin early: the action of a copy moves to directly after the action that
 * makes its source, and those of arguments move to the front, so that a transfer runs while the
 * devices compute.
 *
 *     before   x on CPU   y on CPU   z on CPU   copy x   use x
 *     after    x on CPU   copy x     y on CPU   z on CPU use x
 *
 * A copy lives longer by that. Copies to synchronous devices, and all other actions, keep their
 * order. The pass is linear, because copies are in a list of the action that they follow. */
#include "device/logical_device.h"
#include "function/schedule/schedule.h"

#include <string.h>

#define NONE UINT32_MAX

typedef struct early_t {
    gantry__schedule_t *schedule;
    uint32_t *makers; /* by root slot: the action that writes it first; NONE */
    uint32_t *first;  /* by action + 1: the first copy after it, 0 for arguments; NONE */
    uint32_t *last;
    uint32_t *next; /* by copy */
    gantry__action_t *actions;
    size_t count;
} early_t;

/* The action's place: after the action with the number result - 1; 0: at the front. */
static uint32_t find_place(const early_t *early, uint32_t index) {
    const gantry__schedule_t *schedule = early->schedule;
    const gantry__action_t *action = &schedule->actions[index];
    if (action->kind == GANTRY__ACTION_ARGUMENT) return 0;
    const uint32_t maker = early->makers[schedule->slots[action->inputs[0]].root];
    return maker == NONE ? 0 : maker + 1;
}

static void find_makers(const early_t *early) {
    const gantry__schedule_t *schedule = early->schedule;
    for (size_t i = 0; i < schedule->slot_count; ++i) early->makers[i] = NONE;
    for (uint32_t i = 0; i < schedule->action_count; ++i) {
        const gantry__action_t *action = &schedule->actions[i];
        for (uint32_t k = 0; k < action->output_count; ++k) {
            uint32_t *maker = &early->makers[schedule->slots[action->outputs[k]].root];
            if (*maker == NONE) *maker = i;
        }
    }
}

static void hang(const early_t *early, uint32_t place, uint32_t copy) {
    early->next[copy] = NONE;
    if (early->first[place] == NONE) {
        early->first[place] = copy;
    } else {
        early->next[early->last[place]] = copy;
    }
    early->last[place] = copy;
}

/* Appends the action and the copies that follow it; a copy may follow a copy. */
static void take(early_t *early, uint32_t index) {
    early->actions[early->count++] = early->schedule->actions[index];
    for (uint32_t at = early->first[index + 1]; at != NONE; at = early->next[at]) take(early, at);
}

/* A synchronous device waits for what it copies: an early copy would hold up its other work. */
static bool moves(const gantry__action_t *action) {
    return action->kind == GANTRY__ACTION_ARGUMENT ||
           (action->kind == GANTRY__ACTION_COPY && !action->device->synchronous);
}

static void reorder(early_t *early) {
    const gantry__schedule_t *schedule = early->schedule;
    const uint32_t count = (uint32_t)schedule->action_count;
    for (uint32_t i = 0; i <= count; ++i) early->first[i] = NONE;
    find_makers(early);
    for (uint32_t i = 0; i < count; ++i) {
        if (moves(&schedule->actions[i])) hang(early, find_place(early, i), i);
    }
    for (uint32_t at = early->first[0]; at != NONE; at = early->next[at]) take(early, at);
    for (uint32_t i = 0; i < count; ++i) {
        if (!moves(&schedule->actions[i])) take(early, i);
    }
    if (count > 0) memcpy(schedule->actions, early->actions, count * sizeof *early->actions);
}

static void note_uses(gantry__schedule_t *schedule, const uint32_t *slots, uint32_t count,
                      uint32_t action) {
    for (uint32_t i = 0; i < count; ++i) {
        gantry__slot_t *root = &schedule->slots[schedule->slots[slots[i]].root];
        if (root->last_step != UINT32_MAX) root->last_step = action;
    }
}

static void renumber(gantry__schedule_t *schedule) {
    for (size_t i = 0; i < schedule->slot_count; ++i) schedule->slots[i].made_by = UINT32_MAX;
    for (uint32_t i = 0; i < schedule->action_count; ++i) {
        const gantry__action_t *action = &schedule->actions[i];
        note_uses(schedule, action->inputs, action->input_count, i);
        note_uses(schedule, action->outputs, action->output_count, i);
        for (uint32_t k = 0; k < action->output_count; ++k)
            schedule->slots[action->outputs[k]].made_by = i;
    }
}

gantry_status_t gantry__schedule_move_copies(gantry__schedule_t *schedule) {
    const gantry__heap_t *heap = schedule->graph->heap;
    const size_t count = schedule->action_count + 1, slots = schedule->slot_count + 1;
    uint32_t *numbers = gantry__heap_zalloc(heap, (slots + 3 * count) * sizeof *numbers);
    gantry__action_t *actions = gantry__heap_zalloc(heap, count * sizeof *actions);
    early_t early = {.schedule = schedule, .makers = numbers, .actions = actions};
    if (numbers && actions) {
        early.first = numbers + slots;
        early.last = early.first + count;
        early.next = early.last + count;
        reorder(&early);
        renumber(schedule);
    }
    gantry__heap_free(heap, numbers, (slots + 3 * count) * sizeof *numbers);
    gantry__heap_free(heap, actions, count * sizeof *actions);
    return numbers && actions ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}
