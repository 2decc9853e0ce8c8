/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a call takes on each device, from its schedule. */
#include "device/logical_device.h"
#include "function/schedule/schedule.h"

static void schedule_add_results(const gantry__schedule_t *schedule, const gantry__action_t *action,
                                 gantry__device_bytes_t *all) {
    const gantry__graph_t *graph = schedule->graph;
    const bool makes = action->kind == GANTRY__ACTION_CALL || action->kind == GANTRY__ACTION_COPY ||
                       action->kind == GANTRY__ACTION_EAGER;
    for (uint32_t i = 0; makes && i < action->output_count; ++i) {
        const gantry__slot_t *slot = &schedule->slots[action->outputs[i]];
        if (slot->kind == GANTRY__SLOT_TENSOR)
            all[slot->device->position].result_bytes += graph->values[slot->value].bytes;
    }
    if (action->kind == GANTRY__ACTION_ASSIGN && graph->nodes[action->node].update)
        all[action->device->position].result_bytes +=
            graph->values[graph->nodes[action->node].inputs[0]].bytes;
}

static bool takes_over(const gantry__action_t *action, uint32_t root) {
    for (uint32_t i = 0; i < action->overwrite_count; ++i) {
        if (action->outputs[action->overwrites[i].output] == root) return true;
    }
    return false;
}

/* An action makes the next value of a loop's variable while it holds the former one, unless its
 * kernel overwrites that. */
static void add_former_values(const gantry__schedule_t *body, gantry__device_bytes_t *all) {
    for (uint32_t i = 0; i < body->graph->output_count; ++i) {
        const uint32_t root = body->slots[body->outputs[i]].root;
        const gantry__slot_t *slot = &body->slots[root];
        if (slot->kind != GANTRY__SLOT_TENSOR || slot->made_by == UINT32_MAX) continue;
        const gantry__action_t *action = &body->actions[slot->made_by];
        if (action->kind != GANTRY__ACTION_ARGUMENT && action->kind != GANTRY__ACTION_READ &&
            !takes_over(action, root))
            all[slot->device->position].result_bytes += body->graph->values[slot->value].bytes;
    }
}

void gantry__schedule_sum_bytes(const gantry__schedule_t *schedule, gantry__device_bytes_t *all) {
    for (size_t i = 0; i < schedule->slot_count; ++i) {
        const gantry__slot_t *slot = &schedule->slots[i];
        if (!slot->device) continue;
        gantry__device_bytes_t *at = &all[slot->device->position];
        at->device = slot->device;
        if (slot->kind == GANTRY__SLOT_CONSTANT)
            at->constant_bytes += schedule->graph->values[slot->value].bytes;
    }
    for (size_t i = 0; i < schedule->action_count; ++i)
        schedule_add_results(schedule, &schedule->actions[i], all);
    for (size_t i = 0; i < schedule->arena_count; ++i) {
        gantry__device_bytes_t *at = &all[schedule->arenas[i].device->position];
        at->planned_bytes += schedule->arenas[i].bytes;
        at->unplanned_bytes += schedule->arenas[i].unplanned_bytes;
    }
    for (size_t i = 0; i < schedule->block_count; ++i) {
        for (uint32_t k = 0; k < schedule->blocks[i].body_count; ++k)
            gantry__schedule_sum_bytes(&schedule->blocks[i].bodies[k], all);
        if (schedule->graph->nodes[schedule->blocks[i].node].kind == GANTRY__NODE_WHILE)
            add_former_values(&schedule->blocks[i].bodies[1], all);
    }
}

/* The device that needs most, and its bytes for one call: planned ones and results. */
static const gantry_logical_device_t *find_most(const gantry__device_bytes_t *all, size_t count,
                                                uint64_t *out_bytes) {
    const gantry_logical_device_t *device = NULL;
    *out_bytes = 0;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t bytes = all[i].planned_bytes + all[i].result_bytes;
        if (!all[i].device || bytes < *out_bytes) continue;
        device = all[i].device;
        *out_bytes = bytes;
    }
    return device;
}

gantry_status_t gantry__schedule_most_bytes(const gantry__schedule_t *schedule, uint64_t *out_bytes,
                                            const gantry_logical_device_t **out_device) {
    const gantry__heap_t *heap = schedule->graph->heap;
    const size_t count = schedule->runtime->devices.logical_count;
    gantry__device_bytes_t *all = gantry__heap_zalloc(heap, count * sizeof *all);
    if (!all) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__schedule_sum_bytes(schedule, all);
    *out_device = find_most(all, count, out_bytes);
    gantry__heap_free(heap, all, count * sizeof *all);
    return GANTRY_OK;
}
