/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of intermediate values: one pass over the actions, which takes a block for each result
 * and gives it back after its last use.
 *
 *     best fit    the smallest free block that holds the value; neighbours merge; else the arena
 *                 grows at its end
 *     packing     where gaps made the arena larger than all that lives at a time, the blocks are
 *                 placed again, the largest first (pack_blocks.h); the smaller arena is taken
 *     in place    a kernel that may work in place writes over an input that ends with it
 *
 * Actions of one lane follow each other, and so does their work on a device's compute stream: a
 * block that only their values use has one owner at a time without waiting. Each lane has free
 * blocks of its own. The block of a value that several lanes use is not given back within the
 * call. */
#include <gantry/function.h>

#include "device/logical_device.h"
#include "function/schedule/free_blocks.h"
#include "function/schedule/pack_blocks.h"
#include "function/schedule/schedule.h"

#define LEAST_ALIGNMENT 64
#define MOST_PACKED 500u /* blocks: some milliseconds at most */

/* Bytes of values that live at a time. */
typedef struct living_t {
    uint64_t now, most;
} living_t;

typedef struct planner_t {
    gantry__schedule_t *schedule;
    gantry__free_blocks_t *lists; /* the free blocks of each arena and each lane */
    size_t list_capacity;
    living_t *living; /* one for each of lists */
    size_t living_capacity;
    gantry__packed_t *blocks; /* those of all arenas; number: an arena, until they are packed */
    size_t block_count, block_capacity;
    uint32_t *slot_blocks; /* the blocks of ARENA slots with bytes */
} planner_t;

static uint64_t padded(const gantry_logical_device_t *device, uint64_t bytes) {
    const uint64_t base = device->info.base_alignment_bytes,
                   unit = base > LEAST_ALIGNMENT ? base : LEAST_ALIGNMENT;
    return (bytes + unit - 1) / unit * unit;
}

/* ---- arenas ---- */

static bool grow_lists(planner_t *planner, size_t count) {
    const gantry__heap_t *heap = planner->schedule->graph->heap;
    gantry__free_blocks_t *lists =
        gantry__heap_resize(heap, planner->lists, planner->list_capacity, count, sizeof *lists);
    if (!lists) return false;
    for (size_t i = planner->list_capacity; i < count; ++i)
        gantry__free_blocks_init(&lists[i], heap);
    planner->lists = lists;
    planner->list_capacity = count;
    living_t *living =
        gantry__heap_resize(heap, planner->living, planner->living_capacity, count, sizeof *living);
    if (!living) return false;
    for (size_t i = planner->living_capacity; i < count; ++i) living[i] = (living_t){0, 0};
    planner->living = living;
    planner->living_capacity = count;
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

/* The position of a lane's list; arena: as find_arena gives it. */
static size_t list_number(const planner_t *planner, uint32_t arena, uint32_t lane) {
    return arena * planner->schedule->lane_count + lane;
}

static gantry__free_blocks_t *list_of(const planner_t *planner, uint32_t arena, uint32_t lane) {
    return &planner->lists[list_number(planner, arena, lane)];
}

/* A new block of the slot, which lives from the action on. */
static gantry_status_t plan_add_block(planner_t *planner, uint32_t slot, uint32_t lane,
                                      uint32_t step, uint64_t bytes) {
    const gantry__slot_t *owner = &planner->schedule->slots[slot];
    living_t *living = &planner->living[list_number(planner, owner->arena, lane)];
    if (!gantry__heap_grow(planner->schedule->graph->heap, &planner->blocks, planner->block_count,
                           &planner->block_capacity, sizeof *planner->blocks))
        return GANTRY_RESOURCE_EXHAUSTED;
    const bool is_shared = owner->lane == GANTRY__NO_LANE;
    planner->slot_blocks[slot] = (uint32_t)planner->block_count;
    planner->blocks[planner->block_count++] = (gantry__packed_t){.bytes = bytes,
                                                                 .first = is_shared ? 0 : step,
                                                                 .last = UINT32_MAX,
                                                                 .lane = owner->lane,
                                                                 .number = owner->arena};
    living->now += bytes;
    if (living->now > living->most) living->most = living->now;
    return GANTRY_OK;
}

static void plan_end_block(planner_t *planner, uint32_t slot, uint32_t step, uint64_t bytes) {
    const gantry__slot_t *owner = &planner->schedule->slots[slot];
    planner->blocks[planner->slot_blocks[slot]].last = step;
    planner->living[list_number(planner, owner->arena, owner->lane)].now -= bytes;
}

/* A free block at the arena's end makes the growth smaller. */
static gantry_status_t take_memory(const planner_t *planner, uint32_t index, uint32_t lane,
                                   uint64_t bytes, uint64_t *out_offset) {
    gantry__schedule_arena_t *arena = &planner->schedule->arenas[index];
    gantry__free_blocks_t *list = list_of(planner, index, lane);
    bool is_found;
    GANTRY__TRY(gantry__free_blocks_take(list, bytes, &is_found, out_offset));
    if (is_found) return GANTRY_OK;
    GANTRY__TRY(gantry__free_blocks_take_last(list, arena->bytes, out_offset));
    arena->bytes = *out_offset + bytes;
    return GANTRY_OK;
}

static uint64_t slot_bytes(const gantry__schedule_t *schedule, const gantry__slot_t *slot) {
    return padded(slot->device, schedule->graph->values[slot->value].bytes);
}

/* Attributes of _FusedParts. Its kernels have no flag: the eager path does not know parts. */
enum { PARTS_ATTR = 2, SHARED_ATTR = 3 };

static bool has_parts(const gantry__schedule_t *schedule, const gantry__action_t *action) {
    return schedule->graph->nodes[action->node].op->id == GANTRY__OP_ID__FusedParts;
}

uint32_t gantry__schedule_donor_end(const gantry__schedule_t *schedule,
                                    const gantry__action_t *action) {
    const gantry__node_place_t *place = &schedule->places[action->node];
    if (schedule->graph->passes_off & GANTRY_PASS_IN_PLACE || action->kind != GANTRY__ACTION_CALL ||
        !place->kept)
        return 0;
    const uint32_t flags = place->kept->plan.kernels[place->choice]->def->flags;
    if (flags & GANTRY_KERNEL_IN_PLACE || has_parts(schedule, action)) return action->input_count;
    if (!(flags & GANTRY_KERNEL_IN_PLACE_FIRST)) return 0;
    const uint32_t first = schedule->slots[action->inputs[0]].root;
    for (uint32_t i = 1; i < action->input_count; ++i) {
        if (schedule->slots[action->inputs[i]].root == first) return 0;
    }
    return 1;
}

bool gantry__schedule_is_read_in_part(const gantry__schedule_t *schedule,
                                      const gantry__action_t *action, uint32_t input) {
    const gantry__value_t *values = schedule->graph->values;
    const uint32_t root = schedule->slots[action->inputs[input]].root;
    const gantry__value_t *whole = &values[schedule->slots[root].value];
    for (uint32_t i = 0; i < action->input_count; ++i) {
        const gantry__slot_t *slot = &schedule->slots[action->inputs[i]];
        const gantry__value_t *value = &values[slot->value];
        if (slot->root == root &&
            (value->elements != whole->elements || value->bytes != whole->bytes))
            return true;
    }
    return false;
}

bool gantry__schedule_may_lie_over(const gantry__schedule_t *schedule,
                                   const gantry__action_t *action, uint32_t output,
                                   uint32_t input) {
    const gantry__node_t *node = &schedule->graph->nodes[action->node];
    if (!has_parts(schedule, action)) return true;
    const uint32_t parts = (uint32_t)node->attrs[PARTS_ATTR].i,
                   shared = (uint32_t)node->attrs[SHARED_ATTR].i,
                   own = (action->input_count - shared) / parts,
                   part = output / (action->output_count / parts),
                   root = schedule->slots[action->inputs[input]].root;
    if (input < shared || (input - shared) / own != part) return false;
    for (uint32_t i = 0; i < action->input_count; ++i) {
        const bool is_elsewhere = i < shared || (i - shared) / own != part;
        if (is_elsewhere && schedule->slots[action->inputs[i]].root == root) return false;
    }
    return true;
}

/* An input, or that of which it is a view, of equally many bytes and elements whose block ends with
 * the action: it is the result's. */
static const gantry__slot_t *find_memory_donor(const gantry__schedule_t *schedule,
                                               const gantry__action_t *action, uint32_t step) {
    const gantry__value_t *result =
        &schedule->graph->values[schedule->slots[action->outputs[0]].value];
    const uint32_t end = gantry__schedule_donor_end(schedule, action);
    for (uint32_t i = 0; i < end; ++i) {
        const gantry__slot_t *input = &schedule->slots[action->inputs[i]],
                             *slot = &schedule->slots[input->root];
        if (slot->kind == GANTRY__SLOT_ARENA && slot->last_step == step &&
            slot->device == action->device && slot->lane == action->lane &&
            schedule->graph->values[slot->value].bytes == result->bytes &&
            schedule->graph->values[input->value].elements == result->elements &&
            !gantry__schedule_is_read_in_part(schedule, action, i) &&
            gantry__schedule_may_lie_over(schedule, action, 0, i))
            return slot;
    }
    return NULL;
}

static gantry_status_t take_output(planner_t *planner, const gantry__action_t *action,
                                   uint32_t step, uint32_t output) {
    gantry__schedule_t *schedule = planner->schedule;
    gantry__slot_t *slot = &schedule->slots[action->outputs[output]];
    if (slot->kind != GANTRY__SLOT_ARENA) return GANTRY_OK;
    GANTRY__TRY(find_arena(planner, slot->device, &slot->arena));
    gantry__schedule_arena_t *arena = &schedule->arenas[slot->arena];
    const uint64_t bytes = slot_bytes(schedule, slot);
    if (bytes == 0) return GANTRY_OK;
    arena->unplanned_bytes += bytes;
    const gantry__slot_t *donor = output == 0 ? find_memory_donor(schedule, action, step) : NULL;
    if (donor) {
        slot->offset = donor->offset;
        planner->slot_blocks[action->outputs[output]] =
            planner->slot_blocks[donor - schedule->slots];
        return GANTRY_OK;
    }
    GANTRY__TRY(plan_add_block(planner, action->outputs[output], action->lane, step, bytes));
    return take_memory(planner, slot->arena, action->lane, bytes, &slot->offset);
}

/* A donor's block is the result's now. */
static gantry_status_t give_ended(planner_t *planner, uint32_t step, uint32_t index,
                                  const gantry__slot_t *donor) {
    const gantry__schedule_t *schedule = planner->schedule;
    gantry__slot_t *slot = &planner->schedule->slots[schedule->slots[index].root];
    if (slot->kind != GANTRY__SLOT_ARENA || slot->last_step != step || slot == donor ||
        slot->is_ended || slot->lane == GANTRY__NO_LANE)
        return GANTRY_OK;
    const uint64_t bytes = slot_bytes(schedule, slot);
    slot->is_ended = true; /* an input may be listed twice */
    if (bytes == 0) return GANTRY_OK;
    plan_end_block(planner, schedule->slots[index].root, step, bytes);
    return gantry__free_blocks_give(list_of(planner, slot->arena, slot->lane), slot->offset, bytes);
}

static gantry_status_t plan_action(planner_t *planner, uint32_t step) {
    gantry__schedule_t *schedule = planner->schedule;
    const gantry__action_t *action = &schedule->actions[step];
    const gantry__slot_t *donor =
        action->output_count > 0 && schedule->slots[action->outputs[0]].kind == GANTRY__SLOT_ARENA
            ? find_memory_donor(schedule, action, step)
            : NULL;
    for (uint32_t i = 0; i < action->output_count; ++i)
        GANTRY__TRY(take_output(planner, action, step, i));
    for (uint32_t i = 0; i < action->input_count; ++i)
        GANTRY__TRY(give_ended(planner, step, action->inputs[i], donor));
    for (uint32_t i = 0; i < action->output_count; ++i)
        GANTRY__TRY(give_ended(planner, step, action->outputs[i], NULL));
    return GANTRY_OK;
}

/* ---- packing ---- */

static uint64_t living_bytes(const planner_t *planner, uint32_t arena) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < planner->schedule->lane_count; ++i)
        bytes += planner->living[list_number(planner, arena, i)].most;
    return bytes;
}

/* Copies the arena's blocks; their numbers are positions among the planner's. */
static size_t copy_blocks(const planner_t *planner, uint32_t arena, gantry__packed_t *out) {
    size_t count = 0;
    for (uint32_t i = 0; i < planner->block_count; ++i) {
        if (planner->blocks[i].number != arena) continue;
        out[count] = planner->blocks[i];
        out[count++].number = i;
    }
    return count;
}

static void move_slots(const planner_t *planner, uint32_t arena) {
    const gantry__schedule_t *schedule = planner->schedule;
    for (size_t i = 0; i < schedule->slot_count; ++i) {
        gantry__slot_t *slot = &schedule->slots[i];
        if (slot->kind == GANTRY__SLOT_ARENA && slot->arena == arena &&
            planner->slot_blocks[i] != GANTRY__NO_SLOT)
            slot->offset = planner->blocks[planner->slot_blocks[i]].offset;
    }
}

static gantry_status_t pack_arena(planner_t *planner, uint32_t index, gantry__packed_t *blocks) {
    gantry__schedule_arena_t *arena = &planner->schedule->arenas[index];
    const size_t count = copy_blocks(planner, index, blocks);
    uint64_t bytes;
    GANTRY__TRY(gantry__pack_blocks(planner->schedule->graph->heap, blocks, count,
                                    living_bytes(planner, index), &bytes));
    if (bytes >= arena->bytes) return GANTRY_OK;
    for (size_t i = 0; i < count; ++i) planner->blocks[blocks[i].number].offset = blocks[i].offset;
    move_slots(planner, index);
    arena->bytes = bytes;
    return GANTRY_OK;
}

static gantry_status_t pack_arenas(planner_t *planner) {
    const gantry__schedule_t *schedule = planner->schedule;
    const size_t bytes = planner->block_count * sizeof(gantry__packed_t);
    gantry__packed_t *blocks = NULL;
    gantry_status_t status = GANTRY_OK;
    if (planner->block_count > MOST_PACKED) return GANTRY_OK;
    for (uint32_t i = 0; i < schedule->arena_count && status == GANTRY_OK; ++i) {
        if (schedule->arenas[i].bytes <= living_bytes(planner, i)) continue;
        if (!blocks) blocks = gantry__heap_alloc(schedule->graph->heap, bytes);
        status = blocks ? pack_arena(planner, i, blocks) : GANTRY_RESOURCE_EXHAUSTED;
    }
    gantry__heap_free(schedule->graph->heap, blocks, bytes);
    return status;
}

/* ---- all ---- */

static void planner_deinit(planner_t *planner) {
    const gantry__heap_t *heap = planner->schedule->graph->heap;
    for (size_t i = 0; i < planner->list_capacity; ++i)
        gantry__free_blocks_deinit(&planner->lists[i]);
    gantry__heap_free(heap, planner->lists, planner->list_capacity * sizeof *planner->lists);
    gantry__heap_free(heap, planner->living, planner->living_capacity * sizeof *planner->living);
    gantry__heap_free(heap, planner->blocks, planner->block_capacity * sizeof *planner->blocks);
    gantry__heap_free(heap, planner->slot_blocks,
                      (planner->schedule->slot_count + 1) * sizeof *planner->slot_blocks);
}

static gantry_status_t plan_actions(planner_t *planner) {
    const gantry__schedule_t *schedule = planner->schedule;
    planner->slot_blocks = gantry__heap_alloc(
        schedule->graph->heap, (schedule->slot_count + 1) * sizeof *planner->slot_blocks);
    if (!planner->slot_blocks) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < schedule->slot_count; ++i) planner->slot_blocks[i] = GANTRY__NO_SLOT;
    for (uint32_t i = 0; i < schedule->action_count; ++i) GANTRY__TRY(plan_action(planner, i));
    return pack_arenas(planner);
}

gantry_status_t gantry__schedule_plan_memory(gantry__schedule_t *schedule) {
    planner_t planner = {.schedule = schedule};
    gantry_status_t status = plan_actions(&planner);
    planner_deinit(&planner);
    return status;
}
