/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels may overwrite the value of a variable, or, in a branch or the body of a loop, an
 * argument, or a tensor of the call's own:
 *
 *     w/read    ->  kernel  ->  w/Assign    the new value takes the memory of the one that was read
 *     argument  ->  kernel  ->  result
 *     argument  ->  kernel  ->  tensor  ->  kernel  ->  result
 *
 * A kernel that changes a part of its first input takes the time of that part so, however large the
 * rest is. What it changes is a tensor, and not in the arena, if its result is one.
 *
 * The kernel is the last to use what was read. Nothing between the read and the assignment uses the
 * variable, and no later action takes the argument, for a result or another device. Whether another
 * owner holds the value is known in each call only (frame_overwrite.c). Where lanes run at the same
 * time, one lane has all actions that use the value and the result: their order is that of the
 * program. */
#include <gantry/function.h>

#include "function/schedule/schedule.h"
#include "place/plan_cache.h"

#define MOST_OVERWRITTEN GANTRY__MAX_OUTPUTS

/* Blocks may use any variable. */
static bool is_untouched(const gantry__schedule_t *schedule, const gantry_variable_t *variable,
                         uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
        const gantry__action_t *action = &schedule->actions[i];
        if (action->kind == GANTRY__ACTION_BLOCK) return false;
        if (action->kind != GANTRY__ACTION_READ && action->kind != GANTRY__ACTION_ASSIGN) continue;
        if (schedule->graph->nodes[action->node].variable == variable) return false;
    }
    return true;
}

bool gantry__schedule_takes_after(const gantry__schedule_t *schedule, uint32_t action,
                                  uint32_t argument) {
    const uint32_t value = schedule->graph->inputs[argument];
    for (uint32_t i = schedule->first_slots[value]; i != GANTRY__NO_SLOT;
         i = schedule->slots[i].next_of_value) {
        const uint32_t taken = schedule->slots[i].made_by;
        if (taken != UINT32_MAX && taken > action &&
            schedule->actions[taken].kind == GANTRY__ACTION_ARGUMENT)
            return true;
    }
    return false;
}

/* The slot with the memory of input k of the action that makes the result, if it has the result's
 * size and ends there; else NULL. */
static gantry__slot_t *find_ending(const gantry__schedule_t *schedule, uint32_t call, uint32_t k,
                                   const gantry__slot_t *result) {
    const gantry__action_t *action = &schedule->actions[call];
    const gantry__slot_t *input = &schedule->slots[action->inputs[k]];
    gantry__slot_t *slot = &schedule->slots[input->root];
    const gantry__value_t *values = schedule->graph->values, *made = &values[result->value];
    return slot->last_step == call && slot->made_by != UINT32_MAX &&
                   slot->device == action->device && slot->lane == action->lane &&
                   result->lane == action->lane && made->bytes > 0 &&
                   values[slot->value].bytes == made->bytes &&
                   values[input->value].elements == made->elements &&
                   !gantry__schedule_is_read_in_part(schedule, action, k)
               ? slot
               : NULL;
}

/* Whether input k of the kernel's action is a value of the variable that ends there; assign
 * UINT32_MAX: an argument, or a tensor of the call's own. */
static bool is_own_value(const gantry__schedule_t *schedule, uint32_t call, uint32_t k,
                         const gantry__slot_t *result, uint32_t assign) {
    const gantry__slot_t *slot = find_ending(schedule, call, k, result);
    if (!slot || slot->kind != GANTRY__SLOT_TENSOR) return false;
    const gantry__action_t *read = &schedule->actions[slot->made_by];
    if (assign == UINT32_MAX)
        return read->kind == GANTRY__ACTION_ARGUMENT
                   ? !gantry__schedule_takes_after(schedule, call, read->call)
                   : read->kind != GANTRY__ACTION_READ;
    const gantry_variable_t *variable =
        schedule->graph->nodes[schedule->actions[assign].node].variable;
    return &schedule->slots[schedule->actions[call].inputs[k]] == slot &&
           schedule->graph->values[slot->value].dtype ==
               schedule->graph->values[result->value].dtype &&
           read->kind == GANTRY__ACTION_READ &&
           schedule->graph->nodes[read->node].variable == variable &&
           is_untouched(schedule, variable, slot->made_by + 1, assign);
}

static gantry_status_t add_overwrite(gantry__schedule_t *schedule, gantry__action_t *action,
                                     const gantry__overwrite_t *added) {
    gantry__overwrite_t all[MOST_OVERWRITTEN];
    if (action->overwrite_count == MOST_OVERWRITTEN) return GANTRY_OK;
    for (uint32_t i = 0; i < action->overwrite_count; ++i) {
        all[i] = action->overwrites[i];
        if (all[i].output == added->output || all[i].input == added->input) return GANTRY_OK;
    }
    all[action->overwrite_count] = *added;
    all[action->overwrite_count].number = schedule->overwrite_count;
    const gantry__overwrite_t *kept =
        gantry__arena_copy(&schedule->memory, all, action->overwrite_count + 1, sizeof *all);
    if (!kept) return GANTRY_RESOURCE_EXHAUSTED;
    action->overwrites = kept;
    ++action->overwrite_count;
    ++schedule->overwrite_count;
    return GANTRY_OK;
}

/* Only a fused program may write several outputs over inputs. */
static bool may_write_several(const gantry__schedule_t *schedule, const gantry__action_t *action) {
    const gantry__op_id_t id = (gantry__op_id_t)schedule->graph->nodes[action->node].op->id;
    return id == GANTRY__OP_ID__FusedElementwise || id == GANTRY__OP_ID__FusedParts;
}

/* The kernel that makes the tensor, or the assigned value. */
static gantry_status_t visit_result(gantry__schedule_t *schedule, uint32_t number, uint32_t assign,
                                    gantry_variable_t *variable) {
    const gantry__slot_t *slot = &schedule->slots[number];
    if (slot->root != number || slot->kind != GANTRY__SLOT_TENSOR || slot->made_by == UINT32_MAX)
        return GANTRY_OK;
    gantry__action_t *action = &schedule->actions[slot->made_by];
    if (action->kind != GANTRY__ACTION_CALL) return GANTRY_OK;
    gantry__overwrite_t found = {.variable = variable, .argument = GANTRY__NO_ARGUMENT};
    while (action->outputs[found.output] != number) ++found.output;
    if (found.output > 0 && !may_write_several(schedule, action)) return GANTRY_OK;
    const uint32_t end = gantry__schedule_donor_end(schedule, action);
    while (found.input < end &&
           (!gantry__schedule_may_lie_over(schedule, action, found.output, found.input) ||
            !is_own_value(schedule, slot->made_by, found.input, slot, assign)))
        ++found.input;
    if (found.input >= end) return GANTRY_OK;
    const gantry__slot_t *root =
        &schedule->slots[schedule->slots[action->inputs[found.input]].root];
    if (schedule->actions[root->made_by].kind == GANTRY__ACTION_ARGUMENT)
        found.argument = schedule->actions[root->made_by].call;
    return add_overwrite(schedule, action, &found);
}

static gantry_status_t visit_assign(gantry__schedule_t *schedule, uint32_t assign) {
    const gantry__action_t *action = &schedule->actions[assign];
    const gantry__node_t *node = &schedule->graph->nodes[action->node];
    return node->update ? GANTRY_OK
                        : visit_result(schedule, action->inputs[0], assign, node->variable);
}

gantry_status_t gantry__schedule_find_overwrites(gantry__schedule_t *schedule) {
    for (uint32_t i = 0; i < schedule->action_count; ++i) {
        if (schedule->actions[i].kind == GANTRY__ACTION_ASSIGN)
            GANTRY__TRY(visit_assign(schedule, i));
    }
    for (uint32_t i = 0; schedule->lane_count == 1 && i < schedule->slot_count; ++i) {
        if (schedule->slots[i].kind == GANTRY__SLOT_TENSOR)
            GANTRY__TRY(visit_result(schedule, i, UINT32_MAX, NULL));
    }
    return GANTRY_OK;
}

/* Whether the kernel changes a part of its first input. */
static bool changes_a_part(const gantry__schedule_t *schedule, const gantry__action_t *action) {
    const gantry__node_place_t *place = &schedule->places[action->node];
    return gantry__schedule_donor_end(schedule, action) == 1 &&
           place->kept->plan.kernels[place->choice]->def->flags & GANTRY_KERNEL_IN_PLACE_FIRST;
}

void gantry__schedule_pass_memory_on(const gantry__schedule_t *schedule) {
    for (uint32_t i = (uint32_t)schedule->action_count; schedule->lane_count == 1 && i-- > 0;) {
        const gantry__action_t *action = &schedule->actions[i];
        if (action->kind != GANTRY__ACTION_CALL ||
            schedule->slots[action->outputs[0]].kind != GANTRY__SLOT_TENSOR ||
            !changes_a_part(schedule, action))
            continue;
        gantry__slot_t *slot = find_ending(schedule, i, 0, &schedule->slots[action->outputs[0]]);
        if (slot && slot->kind == GANTRY__SLOT_ARENA) slot->kind = GANTRY__SLOT_TENSOR;
    }
}
