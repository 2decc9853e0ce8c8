/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of intermediate values: one pass over the acts, which takes a block for each result and
 * gives it back after its last use.
 *
 *     best fit    the smallest free block that holds the value; neighbours merge; else the arena
 *                 grows at its end
 *     in place    a kernel that may work in place writes over an input that ends with it
 *
 * Acts of one lane follow each other, and so does their work on a device's compute stream: a block
 * of their values alone has one owner at a time without waiting. Each lane has free blocks of its
 * own. The block of a value that several lanes use is not given back within the call. */
#include <gantry/function.h>

#include <string.h>

#include "device/logical_device.h"
#include "function/schedule.h"

#define LEAST_ALIGNMENT 64

typedef struct free_block_t {
    uint64_t offset, bytes;
} free_block_t;

/* Free blocks of an arena, by offset; no two touch. */
typedef struct free_list_t {
    free_block_t *blocks;
    size_t count, capacity;
} free_list_t;

typedef struct planner_t {
    gantry__schedule_t *schedule;
    free_list_t *lists; /* of each arena, of each lane */
    size_t list_capacity;
} planner_t;

static uint64_t padded(const gantry_logical_device_t *device, uint64_t bytes) {
    const uint64_t base = device->info.base_alignment_bytes,
                   unit = base > LEAST_ALIGNMENT ? base : LEAST_ALIGNMENT;
    return (bytes + unit - 1) / unit * unit;
}

/* ---- free blocks ---- */

static bool take_block(free_list_t *list, uint64_t bytes, uint64_t *out_offset) {
    size_t best = list->count;
    for (size_t i = 0; i < list->count; ++i) {
        if (list->blocks[i].bytes >= bytes &&
            (best == list->count || list->blocks[i].bytes < list->blocks[best].bytes))
            best = i;
    }
    if (best == list->count) return false;
    free_block_t *block = &list->blocks[best];
    *out_offset = block->offset;
    block->offset += bytes;
    block->bytes -= bytes;
    if (block->bytes == 0) memmove(block, block + 1, (--list->count - best) * sizeof *block);
    return true;
}

/* A free block at the arena's end makes the growth smaller. */
static uint64_t grow_arena(gantry__schedule_arena_t *arena, free_list_t *list, uint64_t bytes) {
    const free_block_t *last = list->count > 0 ? &list->blocks[list->count - 1] : NULL;
    uint64_t offset = arena->bytes;
    if (last && last->offset + last->bytes == arena->bytes) {
        offset = last->offset;
        --list->count;
    }
    arena->bytes = offset + bytes;
    return offset;
}

static gantry_status_t give_block(const gantry__heap_t *heap, free_list_t *list, uint64_t offset,
                                  uint64_t bytes) {
    size_t at = 0;
    while (at < list->count && list->blocks[at].offset < offset) ++at;
    free_block_t *blocks = list->blocks;
    const bool joins_left = at > 0 && blocks[at - 1].offset + blocks[at - 1].bytes == offset,
               joins_right = at < list->count && offset + bytes == blocks[at].offset;
    if (joins_left) {
        blocks[at - 1].bytes += bytes;
        if (!joins_right) return GANTRY_OK;
        blocks[at - 1].bytes += blocks[at].bytes;
        memmove(&blocks[at], &blocks[at + 1], (--list->count - at) * sizeof *blocks);
        return GANTRY_OK;
    }
    if (joins_right) {
        blocks[at].offset = offset;
        blocks[at].bytes += bytes;
        return GANTRY_OK;
    }
    if (!gantry__heap_grow(heap, &list->blocks, list->count, &list->capacity, sizeof *blocks))
        return GANTRY_RESOURCE_EXHAUSTED;
    memmove(&list->blocks[at + 1], &list->blocks[at], (list->count++ - at) * sizeof *blocks);
    list->blocks[at] = (free_block_t){offset, bytes};
    return GANTRY_OK;
}

/* ---- arenas ---- */

static bool grow_lists(planner_t *planner, size_t count) {
    free_list_t *lists = gantry__heap_resize(planner->schedule->graph->heap, planner->lists,
                                             planner->list_capacity, count, sizeof *lists);
    if (!lists) return false;
    for (size_t i = planner->list_capacity; i < count; ++i) lists[i] = (free_list_t){0};
    planner->lists = lists;
    planner->list_capacity = count;
    return true;
}

static gantry_status_t find_arena(planner_t *planner, gantry_logical_device_t *device,
                                  uint32_t *out_arena) {
    gantry__schedule_t *schedule = planner->schedule;
    const gantry__heap_t *heap = schedule->graph->heap;
    for (*out_arena = 0; *out_arena < schedule->arena_count; ++*out_arena) {
        if (schedule->arenas[*out_arena].device == device) return GANTRY_OK;
    }
    if (!gantry__heap_grow(heap, &schedule->arenas, schedule->arena_count,
                           &schedule->arena_capacity, sizeof *schedule->arenas) ||
        !grow_lists(planner, (schedule->arena_count + 1) * schedule->lane_count))
        return GANTRY_RESOURCE_EXHAUSTED;
    schedule->arenas[schedule->arena_count++] = (gantry__schedule_arena_t){.device = device};
    return GANTRY_OK;
}

/* The free blocks of an act's lane; arena: as find_arena gives it. */
static free_list_t *list_of(const planner_t *planner, uint32_t arena, uint32_t lane) {
    return &planner->lists[arena * planner->schedule->lane_count + lane];
}

static uint64_t bytes_of(const gantry__schedule_t *schedule, const gantry__slot_t *slot) {
    return padded(slot->device, schedule->graph->values[slot->value].bytes);
}

static bool may_write_in_place(const gantry__schedule_t *schedule, const gantry__act_t *act) {
    const gantry__node_place_t *place = &schedule->places[act->node];
    return !(schedule->graph->passes_off & GANTRY_PASS_IN_PLACE) && act->kind == GANTRY__DO_CALL &&
           place->kept &&
           place->kept->plan.kernels[place->choice]->def->flags & GANTRY_KERNEL_IN_PLACE;
}

/* An input of equally many bytes and elements whose block ends with the act: it is the result's. */
static const gantry__slot_t *find_donor(const gantry__schedule_t *schedule,
                                        const gantry__act_t *act, uint32_t step) {
    const gantry__value_t *result =
        &schedule->graph->values[schedule->slots[act->outputs[0]].value];
    if (!may_write_in_place(schedule, act)) return NULL;
    for (uint32_t i = 0; i < act->input_count; ++i) {
        const gantry__slot_t *slot = &schedule->slots[act->inputs[i]];
        const gantry__value_t *value = &schedule->graph->values[slot->value];
        if (slot->kind == GANTRY__SLOT_ARENA && slot->last_step == step &&
            slot->lane == act->lane && value->bytes == result->bytes &&
            value->elements == result->elements)
            return slot;
    }
    return NULL;
}

static gantry_status_t take_output(planner_t *planner, const gantry__act_t *act, uint32_t step,
                                   uint32_t output) {
    gantry__schedule_t *schedule = planner->schedule;
    gantry__slot_t *slot = &schedule->slots[act->outputs[output]];
    if (slot->kind != GANTRY__SLOT_ARENA) return GANTRY_OK;
    GANTRY__TRY(find_arena(planner, slot->device, &slot->arena));
    gantry__schedule_arena_t *arena = &schedule->arenas[slot->arena];
    const uint64_t bytes = bytes_of(schedule, slot);
    if (bytes == 0) return GANTRY_OK;
    arena->unplanned_bytes += bytes;
    const gantry__slot_t *donor = output == 0 ? find_donor(schedule, act, step) : NULL;
    if (donor) {
        slot->offset = donor->offset;
    } else if (!take_block(list_of(planner, slot->arena, act->lane), bytes, &slot->offset)) {
        slot->offset = grow_arena(arena, list_of(planner, slot->arena, act->lane), bytes);
    }
    return GANTRY_OK;
}

/* A donor's block is the result's now. */
static gantry_status_t give_ended(planner_t *planner, uint32_t step, uint32_t index,
                                  const gantry__slot_t *donor) {
    const gantry__schedule_t *schedule = planner->schedule;
    gantry__slot_t *slot = &planner->schedule->slots[schedule->slots[index].root];
    if (slot->kind != GANTRY__SLOT_ARENA || slot->last_step != step || slot == donor ||
        slot->is_ended || slot->lane == GANTRY__NO_LANE)
        return GANTRY_OK;
    const uint64_t bytes = bytes_of(schedule, slot);
    slot->is_ended = true; /* an input may stand twice */
    return bytes == 0 ? GANTRY_OK
                      : give_block(schedule->graph->heap, list_of(planner, slot->arena, slot->lane),
                                   slot->offset, bytes);
}

static gantry_status_t plan_act(planner_t *planner, uint32_t step) {
    gantry__schedule_t *schedule = planner->schedule;
    const gantry__act_t *act = &schedule->acts[step];
    const gantry__slot_t *donor =
        act->output_count > 0 && schedule->slots[act->outputs[0]].kind == GANTRY__SLOT_ARENA
            ? find_donor(schedule, act, step)
            : NULL;
    for (uint32_t i = 0; i < act->output_count; ++i)
        GANTRY__TRY(take_output(planner, act, step, i));
    for (uint32_t i = 0; i < act->input_count; ++i)
        GANTRY__TRY(give_ended(planner, step, act->inputs[i], donor));
    for (uint32_t i = 0; i < act->output_count; ++i)
        GANTRY__TRY(give_ended(planner, step, act->outputs[i], NULL));
    return GANTRY_OK;
}

gantry_status_t gantry__schedule_plan_memory(gantry__schedule_t *schedule) {
    planner_t planner = {.schedule = schedule};
    gantry_status_t status = GANTRY_OK;
    for (uint32_t i = 0; i < schedule->act_count && status == GANTRY_OK; ++i)
        status = plan_act(&planner, i);
    const gantry__heap_t *heap = schedule->graph->heap;
    for (size_t i = 0; i < planner.list_capacity; ++i)
        gantry__heap_free(heap, planner.lists[i].blocks,
                          planner.lists[i].capacity * sizeof *planner.lists[i].blocks);
    gantry__heap_free(heap, planner.lists, planner.list_capacity * sizeof *planner.lists);
    return status;
}
