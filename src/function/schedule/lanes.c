/* SPDX-License-Identifier: Apache-2.0 */
/* Spreads the actions of a schedule over lanes. A lane runs its actions in program order, on a
 * thread of its own; before an action it waits until the actions of other lanes that the action
 * needs have ended. Program order is a topological order, so the lanes never wait in a circle.
 *
 *     one lane         the caller's thread; nothing waits. Devices with a queue work at the same
 *                      time as each other and as the caller
 *     automatic        one lane for each synchronous device (a CPU device, or a part of one), if
 *                      the second of them has work worth waking a thread
 *     on request       up to N lanes: each action goes to the lane where it begins first by the
 * costs
 *
 * Costs are rough: bytes moved, multiplications of matrix products, ops of fused nodes. */
#include "function/schedule/schedule.h"

#include <math.h>
#include <string.h>

#include "base/id_map.h"
#include "device/logical_device.h"

/* A second thread costs the caller some ten microseconds. */
#define WORTH_A_LANE_NS 30000.0
#define CALL_NS 100.0
#define BYTES_PER_NS 8.0
#define PRODUCTS_PER_NS 16.0
#define FUSED_PER_NS 8.0 /* elements of one of a fused node's ops */

/* ---- costs ---- */

static double elements_of(const gantry__schedule_t *schedule, uint32_t slot) {
    const int64_t elements = schedule->graph->values[schedule->slots[slot].value].elements;
    return elements > 0 ? (double)elements : 0; /* -1: depends on data */
}

static double bytes_of(const gantry__schedule_t *schedule, const gantry__action_t *action) {
    double bytes = 0;
    for (uint32_t i = 0; i < action->input_count; ++i)
        bytes += (double)schedule->graph->values[schedule->slots[action->inputs[i]].value].bytes;
    for (uint32_t i = 0; i < action->output_count; ++i)
        bytes += (double)schedule->graph->values[schedule->slots[action->outputs[i]].value].bytes;
    return bytes;
}

/* The products: M * N * K of a product, whose three tensors have M * K, K * N and M * N elements; a
 * convolution is one with patches. */
static double products_of(const gantry__schedule_t *schedule, const gantry__action_t *action) {
    const char *op = schedule->graph->nodes[action->node].op->name;
    if (action->input_count < 2 || action->output_count != 1 ||
        (!strstr(op, "MatMul") && !strstr(op, "Conv")))
        return 0;
    return sqrt(elements_of(schedule, action->inputs[0]) *
                elements_of(schedule, action->inputs[1]) *
                elements_of(schedule, action->outputs[0]));
}

/* Elements times ops of a fused node, whose values stay in the cache. */
static double fused_of(const gantry__schedule_t *schedule, const gantry__action_t *action) {
    const uint32_t ops = schedule->graph->nodes[action->node].fused_count;
    return action->kind == GANTRY__ACTION_CALL && ops > 0
               ? elements_of(schedule, action->outputs[0]) * (double)ops
               : 0;
}

/* The cost of the action in nanoseconds of the lane's thread: a device with a queue only takes a
 * submission. */
static double cost_of(const gantry__schedule_t *schedule, const gantry__action_t *action) {
    if (action->device && !action->device->synchronous) return CALL_NS;
    return CALL_NS + bytes_of(schedule, action) / BYTES_PER_NS +
           products_of(schedule, action) / PRODUCTS_PER_NS +
           fused_of(schedule, action) / FUSED_PER_NS;
}

/* ---- lanes ---- */

typedef struct spread_t {
    gantry__schedule_t *schedule;
    uint32_t limit; /* the most lanes */
    bool by_device;
    uint32_t lane_count;
    const gantry_logical_device_t *devices[GANTRY__MOST_LANES]; /* by_device: of each lane */
    double ends[GANTRY__MOST_LANES];                            /* when each lane is free */
    double work[GANTRY__MOST_LANES];
    double *action_ends;
} spread_t;

/* The action that makes a slot's elements; UINT32_MAX: they are there before the call. */
static uint32_t maker_of(const gantry__schedule_t *schedule, uint32_t slot) {
    const gantry__slot_t *used = &schedule->slots[slot];
    return used->kind == GANTRY__SLOT_HOST && used->made_by != UINT32_MAX
               ? used->made_by
               : schedule->slots[used->root].made_by;
}

static uint32_t lane_of_device(spread_t *spread, const gantry_logical_device_t *device) {
    for (uint32_t i = 0; i < spread->lane_count; ++i) {
        if (spread->devices[i] == device) return i;
    }
    if (spread->lane_count == spread->limit) return 0;
    spread->devices[spread->lane_count] = device;
    return spread->lane_count++;
}

static double begin_after_inputs(const spread_t *spread, const gantry__action_t *action,
                                 uint32_t *out_lane) {
    double begin = 0;
    *out_lane = 0;
    for (uint32_t i = 0; i < action->input_count; ++i) {
        const uint32_t maker = maker_of(spread->schedule, action->inputs[i]);
        if (maker == UINT32_MAX || spread->action_ends[maker] < begin) continue;
        begin = spread->action_ends[maker];
        *out_lane = spread->schedule->actions[maker].lane;
    }
    return begin;
}

/* Returns the lane in which the action begins first; of equals, the lane of its last input. */
static uint32_t choose_lane(spread_t *spread, const gantry__action_t *action, double ready,
                            uint32_t near) {
    if (spread->by_device) {
        const bool runs_here = action->device && action->device->synchronous;
        return runs_here ? lane_of_device(spread, action->device) : near;
    }
    uint32_t best = near;
    for (uint32_t i = 0; i < spread->limit; ++i) {
        const double best_begin = spread->ends[best] > ready ? spread->ends[best] : ready,
                     begin = spread->ends[i] > ready ? spread->ends[i] : ready;
        if (begin + CALL_NS < best_begin) best = i;
    }
    if (best >= spread->lane_count) spread->lane_count = best + 1;
    return best;
}

static void assign_lanes(spread_t *spread) {
    gantry__schedule_t *schedule = spread->schedule;
    spread->lane_count = spread->by_device ? 0 : 1;
    for (size_t i = 0; i < schedule->action_count; ++i) {
        gantry__action_t *action = &schedule->actions[i];
        uint32_t near;
        double begin = begin_after_inputs(spread, action, &near);
        const double cost = cost_of(schedule, action);
        action->lane = choose_lane(spread, action, begin, near);
        if (spread->ends[action->lane] > begin) begin = spread->ends[action->lane];
        spread->ends[action->lane] = spread->action_ends[i] = begin + cost;
        spread->work[action->lane] += cost;
    }
    if (spread->lane_count == 0) spread->lane_count = 1;
}

/* Whether a lane other than the busiest has work worth a thread. */
static bool is_worth_it(const spread_t *spread) {
    uint32_t busy = 0;
    for (uint32_t i = 0; i < spread->lane_count; ++i) busy += spread->work[i] >= WORTH_A_LANE_NS;
    return busy >= 2;
}

/* ---- waits ---- */

typedef struct wait_list_t {
    uint32_t counts[GANTRY__MOST_LANES]; /* the number of ended actions of each lane; 0: none */
} wait_list_t;

static void wait_for(const gantry__schedule_t *schedule, const gantry__action_t *action,
                     uint32_t first, wait_list_t *list) {
    if (first == UINT32_MAX) return;
    const gantry__action_t *before = &schedule->actions[first];
    if (before->lane != action->lane && before->position + 1 > list->counts[before->lane])
        list->counts[before->lane] = before->position + 1;
}

/* The last actions so far, in program order; UINT32_MAX: none. */
typedef struct effects_t {
    gantry__id_map_t variables;         /* the last use of each, plus 1 */
    uint32_t lasts[GANTRY__MOST_LANES]; /* the last action with an effect of each lane */
    uint32_t draw, block;
} effects_t;

static bool action_has_effect(const gantry__action_t *action) {
    return action->kind == GANTRY__ACTION_READ || action->kind == GANTRY__ACTION_ASSIGN ||
           action->kind == GANTRY__ACTION_BLOCK || action->kind == GANTRY__ACTION_DRAW;
}

/* Uses of one variable keep their order, and draws keep theirs. The bodies of a block may use any
 * variable, and draw. So replicas update their own variables at the same time. */
static gantry_status_t wait_for_effects(const gantry__schedule_t *schedule, uint32_t index,
                                        effects_t *effects, wait_list_t *list) {
    const gantry__action_t *action = &schedule->actions[index];
    const gantry_variable_t *variable = schedule->graph->nodes[action->node].variable;
    if (!action_has_effect(action)) return GANTRY_OK;
    wait_for(schedule, action, effects->block, list);
    if (action->kind == GANTRY__ACTION_BLOCK) {
        for (uint32_t i = 0; i < schedule->lane_count; ++i)
            wait_for(schedule, action, effects->lasts[i], list);
        effects->block = index;
    } else if (action->kind == GANTRY__ACTION_DRAW) {
        wait_for(schedule, action, effects->draw, list);
        effects->draw = index;
    } else {
        uint32_t *last = gantry__id_map_at(&effects->variables, (uint64_t)(uintptr_t)variable);
        if (!last) return GANTRY_RESOURCE_EXHAUSTED;
        wait_for(schedule, action, *last > 0 ? *last - 1 : UINT32_MAX, list);
        *last = index + 1;
    }
    effects->lasts[action->lane] = index;
    return GANTRY_OK;
}

static gantry_status_t keep_waits(gantry__schedule_t *schedule, gantry__action_t *action,
                                  const wait_list_t *list) {
    gantry__lane_wait_t waits[GANTRY__MOST_LANES];
    for (uint32_t i = 0; i < schedule->lane_count; ++i) {
        if (list->counts[i] > 0)
            waits[action->wait_count++] = (gantry__lane_wait_t){i, list->counts[i]};
    }
    action->waits =
        gantry__arena_copy(&schedule->memory, waits, action->wait_count, sizeof waits[0]);
    return action->waits ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* A view has no action: what makes its elements counts. */
static uint32_t action_of_control(const gantry__schedule_t *schedule, const uint32_t *node_actions,
                                  uint32_t index) {
    const gantry__graph_t *graph = schedule->graph;
    while (node_actions[index] == UINT32_MAX && graph->nodes[index].kind == GANTRY__NODE_OP &&
           graph->nodes[index].input_count > 0)
        index = graph->values[graph->nodes[index].inputs[0]].node;
    return node_actions[index];
}

/* An action follows what its inputs and control inputs name, and effects before its own. */
static gantry_status_t find_waits(gantry__schedule_t *schedule, uint32_t *node_actions,
                                  effects_t *effects) {
    for (uint32_t i = 0; i < schedule->action_count; ++i) {
        gantry__action_t *action = &schedule->actions[i];
        const gantry__node_t *node = &schedule->graph->nodes[action->node];
        wait_list_t list = {{0}};
        for (uint32_t k = 0; k < action->input_count; ++k)
            wait_for(schedule, action, maker_of(schedule, action->inputs[k]), &list);
        for (uint32_t k = 0; k < node->control_count; ++k)
            wait_for(schedule, action, action_of_control(schedule, node_actions, node->controls[k]),
                     &list);
        GANTRY__TRY(wait_for_effects(schedule, i, effects, &list));
        node_actions[action->node] = i;
        GANTRY__TRY(keep_waits(schedule, action, &list));
    }
    return GANTRY_OK;
}

/* ---- what follows from the lanes ---- */

static void use_slot(gantry__schedule_t *schedule, uint32_t slot, uint32_t lane) {
    gantry__slot_t *root = &schedule->slots[schedule->slots[slot].root];
    if (root->lane != lane) root->lane = root->is_used ? GANTRY__NO_LANE : lane;
    root->is_used = true;
}

static gantry_status_t lanes_fill(gantry__schedule_t *schedule) {
    gantry__arena_t *memory = &schedule->memory;
    const uint32_t lanes = schedule->lane_count;
    schedule->lane_sizes = gantry__arena_zalloc(memory, lanes, sizeof *schedule->lane_sizes);
    schedule->lanes = gantry__arena_zalloc(memory, lanes, sizeof(uint32_t *));
    if (!schedule->lane_sizes || !schedule->lanes) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < schedule->action_count; ++i) {
        gantry__action_t *action = &schedule->actions[i];
        action->position = schedule->lane_sizes[action->lane]++;
        for (uint32_t k = 0; k < action->input_count; ++k)
            use_slot(schedule, action->inputs[k], action->lane);
        for (uint32_t k = 0; k < action->output_count; ++k)
            use_slot(schedule, action->outputs[k], action->lane);
    }
    if (lanes == 1) return GANTRY_OK;
    for (uint32_t i = 0; i < lanes; ++i) {
        schedule->lanes[i] =
            gantry__arena_zalloc(memory, schedule->lane_sizes[i], sizeof **schedule->lanes);
        if (!schedule->lanes[i]) return GANTRY_RESOURCE_EXHAUSTED;
    }
    for (uint32_t i = 0; i < schedule->action_count; ++i)
        schedule->lanes[schedule->actions[i].lane][schedule->actions[i].position] = i;
    return GANTRY_OK;
}

static gantry_status_t use_lanes(gantry__schedule_t *schedule) {
    const gantry__heap_t *heap = schedule->graph->heap;
    GANTRY__TRY(lanes_fill(schedule));
    if (schedule->lane_count == 1) return GANTRY_OK;
    const size_t nodes = schedule->graph->node_count;
    uint32_t *node_actions = gantry__heap_alloc(heap, (nodes + 1) * sizeof *node_actions);
    if (!node_actions) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < nodes; ++i) node_actions[i] = UINT32_MAX;
    effects_t effects = {.draw = UINT32_MAX, .block = UINT32_MAX};
    for (uint32_t i = 0; i < GANTRY__MOST_LANES; ++i) effects.lasts[i] = UINT32_MAX;
    gantry__id_map_init(&effects.variables, heap);
    gantry_status_t status = find_waits(schedule, node_actions, &effects);
    gantry__id_map_deinit(&effects.variables);
    gantry__heap_free(heap, node_actions, (nodes + 1) * sizeof *node_actions);
    return status;
}

gantry_status_t gantry__schedule_spread(gantry__schedule_t *schedule, int32_t threads) {
    const gantry__heap_t *heap = schedule->graph->heap;
    spread_t spread = {.schedule = schedule,
                       .limit = threads > 0 && (uint32_t)threads < GANTRY__MOST_LANES
                                    ? (uint32_t)threads
                                    : GANTRY__MOST_LANES,
                       .by_device = threads == 0};
    schedule->lane_count = 1;
    if (threads < 0 || threads == 1) return use_lanes(schedule);
    const size_t bytes = (schedule->action_count + 1) * sizeof *spread.action_ends;
    spread.action_ends = gantry__heap_zalloc(heap, bytes);
    if (!spread.action_ends) return GANTRY_RESOURCE_EXHAUSTED;
    assign_lanes(&spread);
    gantry__heap_free(heap, spread.action_ends, bytes);
    if (is_worth_it(&spread)) {
        schedule->lane_count = spread.lane_count;
    } else {
        for (size_t i = 0; i < schedule->action_count; ++i) schedule->actions[i].lane = 0;
    }
    return use_lanes(schedule);
}
