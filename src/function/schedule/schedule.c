/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a schedule: places the nodes, then walks over those that are needed, in program order, and
 * appends the actions of each.
 *
 * A value gets a slot on each device that needs it (slot_on). The first request from another device
 * appends a copy, which later ones share. At first every result of a kernel is in its device's
 * arena. It becomes a tensor of its own if its memory outlives the actions that use it: a result of
 * the function, a variable's new value, the source of a copy that may still be pending (escape).
 * Memory is planned last, when the last action of each slot is known. */
#include "function/schedule/schedule.h"

#include <gantry/function.h>

#include "device/device_open.h"
#include "device/device_table.h"
#include "device/logical_device.h"
#include "function/place/place_parts.h"
#include "run/variable_state.h"

/* ---- growing ---- */

/* An argument may begin where its own elements may, but those of its Bitcast may not. */
static void note_alignment(const gantry__schedule_t *schedule, gantry__slot_t *root,
                           uint32_t value) {
    const gantry_dtype_t dtype = schedule->graph->values[value].dtype;
    const uint32_t size = (uint32_t)gantry_dtype_size(dtype);
    if (dtype != schedule->graph->values[root->value].dtype && size > root->alignment)
        root->alignment = size;
}

static gantry_status_t schedule_add_slot(gantry__schedule_t *schedule, const gantry__slot_t *slot,
                                         uint32_t *out_slot) {
    if (!gantry__heap_grow(schedule->graph->heap, &schedule->slots, schedule->slot_count,
                           &schedule->slot_capacity, sizeof *schedule->slots)) {
        gantry_tensor_release(slot->constant);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    const uint32_t index = (uint32_t)schedule->slot_count++;
    gantry__slot_t *added = &schedule->slots[index];
    *added = *slot;
    added->next_alias = GANTRY__NO_SLOT;
    added->made_by = UINT32_MAX;
    if (slot->kind != GANTRY__SLOT_ALIAS && slot->kind != GANTRY__SLOT_HOST) {
        added->root = index;
    } else {
        gantry__slot_t *root = &schedule->slots[slot->root];
        added->next_alias = root->next_alias;
        root->next_alias = index;
        note_alignment(schedule, root, slot->value);
    }
    if (slot->kind != GANTRY__SLOT_HOST) {
        added->next_of_value = schedule->first_slots[slot->value];
        schedule->first_slots[slot->value] = index;
    }
    *out_slot = index;
    return GANTRY_OK;
}

static gantry_status_t add_action(gantry__schedule_t *schedule, const gantry__action_t *action,
                                  const uint32_t *inputs, const uint32_t *outputs) {
    gantry__arena_t *memory = &schedule->memory;
    gantry__action_t kept = *action;
    kept.inputs = gantry__arena_copy(memory, inputs, action->input_count, sizeof *inputs);
    kept.outputs = gantry__arena_copy(memory, outputs, action->output_count, sizeof *outputs);
    if (!kept.inputs || !kept.outputs ||
        !gantry__heap_grow(schedule->graph->heap, &schedule->actions, schedule->action_count,
                           &schedule->action_capacity, sizeof *schedule->actions))
        return GANTRY_RESOURCE_EXHAUSTED;
    const uint32_t index = (uint32_t)schedule->action_count++;
    for (uint32_t i = 0; i < kept.input_count; ++i)
        schedule->slots[schedule->slots[kept.inputs[i]].root].last_step = index;
    for (uint32_t i = 0; i < kept.output_count; ++i) {
        gantry__slot_t *made = &schedule->slots[kept.outputs[i]];
        made->made_by = index; /* also of a HOST slot, which is no root */
        schedule->slots[made->root].last_step = index;
    }
    if (kept.input_count > schedule->most_inputs) schedule->most_inputs = kept.input_count;
    schedule->actions[index] = kept;
    return GANTRY_OK;
}

/* The root's memory outlives the actions that use it. */
static void escape(gantry__schedule_t *schedule, uint32_t slot) {
    gantry__slot_t *root = &schedule->slots[schedule->slots[slot].root];
    if (root->kind == GANTRY__SLOT_ARENA) root->kind = GANTRY__SLOT_TENSOR;
}

/* ---- a value on a device ---- */

static uint32_t schedule_find_slot(const gantry__schedule_t *schedule, uint32_t value,
                                   const gantry_logical_device_t *device) {
    uint32_t at = schedule->first_slots[value];
    while (at != GANTRY__NO_SLOT && schedule->slots[at].device != device)
        at = schedule->slots[at].next_of_value;
    return at;
}

static gantry_status_t add_argument(gantry__schedule_t *schedule, uint32_t value,
                                    gantry_logical_device_t *device, uint32_t *out_slot) {
    const gantry__slot_t slot = {.kind = GANTRY__SLOT_TENSOR, .value = value, .device = device};
    gantry__action_t action = {.kind = GANTRY__ACTION_ARGUMENT,
                               .node = schedule->graph->values[value].node,
                               .device = device,
                               .output_count = 1};
    while (schedule->graph->inputs[action.call] != value) ++action.call;
    GANTRY__TRY(schedule_add_slot(schedule, &slot, out_slot));
    return add_action(schedule, &action, NULL, out_slot);
}

/* Gives a constant its slot on the device. On a device other than its own, the constant is copied
 * now, once for all calls. */
static gantry_status_t add_constant(gantry__schedule_t *schedule, uint32_t value,
                                    gantry_logical_device_t *device, uint32_t *out_slot) {
    const gantry__node_t *node = &schedule->graph->nodes[schedule->graph->values[value].node];
    gantry__slot_t slot = {.kind = GANTRY__SLOT_CONSTANT, .value = value, .device = device};
    if (node->tensor->device == device) {
        slot.constant = gantry_tensor_retain(node->tensor);
    } else {
        const gantry__allocation_t purpose = {.owner = "Const", .tag = node->tag};
        GANTRY__TRY(gantry__logical_device_open(device));
        GANTRY__TRY(gantry__tensor_copy_to(node->tensor, device, &purpose, &slot.constant));
    }
    return schedule_add_slot(schedule, &slot, out_slot);
}

static gantry_status_t add_copy(gantry__schedule_t *schedule, uint32_t value, uint32_t source,
                                gantry_logical_device_t *device, uint32_t *out_slot) {
    const gantry__slot_t slot = {.kind = GANTRY__SLOT_TENSOR, .value = value, .device = device};
    const gantry__action_t action = {.kind = GANTRY__ACTION_COPY,
                                     .node = schedule->graph->values[value].node,
                                     .device = device,
                                     .input_count = 1,
                                     .output_count = 1};
    GANTRY__TRY(gantry__logical_device_open(device));
    escape(schedule, source);
    schedule->copied_bytes += schedule->graph->values[value].bytes;
    GANTRY__TRY(schedule_add_slot(schedule, &slot, out_slot));
    return add_action(schedule, &action, &source, out_slot);
}

/* The value's slot on the device; device NULL: wherever the program's tensor is. */
static gantry_status_t slot_on(gantry__schedule_t *schedule, uint32_t value,
                               gantry_logical_device_t *device, uint32_t *out_slot);

static gantry_status_t add_alias(gantry__schedule_t *schedule, uint32_t value, uint32_t source,
                                 uint64_t offset, uint32_t *out_slot) {
    const gantry__slot_t *of = &schedule->slots[source];
    const gantry__slot_t slot = {.kind = GANTRY__SLOT_ALIAS,
                                 .value = value,
                                 .device = of->device,
                                 .root = of->root,
                                 .offset = of->offset * (of->kind == GANTRY__SLOT_ALIAS) + offset};
    return schedule_add_slot(schedule, &slot, out_slot);
}

static gantry_status_t slot_of_source(gantry__schedule_t *schedule, uint32_t value,
                                      gantry_logical_device_t *device, uint32_t *out_slot) {
    const gantry__node_t *node = &schedule->graph->nodes[schedule->graph->values[value].node];
    uint32_t source;
    if (node->kind == GANTRY__NODE_INPUT) return add_argument(schedule, value, device, out_slot);
    if (node->kind == GANTRY__NODE_CONST)
        return add_constant(schedule, value, device ? device : node->tensor->device, out_slot);
    GANTRY__TRY(slot_on(schedule, node->inputs[0], device, &source));
    return add_alias(schedule, value, source, 0, out_slot);
}

static gantry_status_t slot_on(gantry__schedule_t *schedule, uint32_t value,
                               gantry_logical_device_t *device, uint32_t *out_slot) {
    *out_slot = schedule_find_slot(schedule, value, device);
    if (*out_slot != GANTRY__NO_SLOT) return GANTRY_OK;
    gantry_logical_device_t *home = schedule->places[schedule->graph->values[value].node].device;
    if (!home) return slot_of_source(schedule, value, device, out_slot);
    const uint32_t source = schedule_find_slot(schedule, value, home);
    if (!device) {
        *out_slot = source;
        return GANTRY_OK;
    }
    return add_copy(schedule, value, source, device, out_slot);
}

static bool is_host_memory(const gantry_logical_device_t *device) {
    return device->synchronous && device->host_addressable;
}

/* The value in host memory, for an input that a kernel reads there. */
static gantry_status_t slot_on_host(gantry__schedule_t *schedule, uint32_t value,
                                    uint32_t *out_slot) {
    const uint32_t node = schedule->graph->values[value].node;
    gantry_logical_device_t *home = schedule->places[node].device;
    uint32_t source;
    GANTRY__TRY(slot_on(schedule, value, home ? home : schedule->runtime->host, &source));
    gantry__slot_t slot = schedule->slots[source];
    const bool is_there = is_host_memory(slot.device);
    slot.offset = slot.kind == GANTRY__SLOT_ALIAS ? slot.offset : 0;
    slot.kind = GANTRY__SLOT_HOST;
    slot.constant = NULL; /* the root's */
    GANTRY__TRY(schedule_add_slot(schedule, &slot, out_slot));
    if (is_there) return GANTRY_OK;
    const gantry__action_t action = {.kind = GANTRY__ACTION_HOST,
                                     .node = node,
                                     .device = slot.device,
                                     .input_count = 1,
                                     .output_count = 1};
    escape(schedule, source);
    return add_action(schedule, &action, &source, out_slot);
}

/* ---- the actions of a node ---- */

/* The device on which a kernel of this device reads the value: parts of one device over host memory
 * read each other's. */
static gantry_logical_device_t *read_on(const gantry__schedule_t *schedule, uint32_t value,
                                        gantry_logical_device_t *device) {
    gantry_logical_device_t *home = schedule->places[schedule->graph->values[value].node].device;
    return home && is_host_memory(device) && gantry__logical_device_is_sibling(device, home)
               ? home
               : device;
}

/* The definition that flat input i belongs to. */
static uint32_t schedule_definition_of(const gantry__node_t *node, uint32_t i) {
    if (node->op->input_count == node->input_count) return i;
    return (uint32_t)(gantry__op_input_arg(node->op, node->input_count, i) - node->op->inputs);
}

static gantry_status_t add_call(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    const gantry__node_place_t *place = &schedule->places[index];
    const uint64_t host_inputs = place->kept->plan.host_inputs[place->choice];
    uint32_t inputs[GANTRY__MAX_INPUTS], outputs[GANTRY__MAX_OUTPUTS];
    gantry__action_t action = {.kind = GANTRY__ACTION_CALL,
                               .is_empty = true,
                               .node = index,
                               .call = schedule->call_count,
                               .device = place->device,
                               .input_count = node->input_count,
                               .output_count = node->output_count};
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const bool on_host = host_inputs >> schedule_definition_of(node, i) & 1;
        GANTRY__TRY(on_host
                        ? slot_on_host(schedule, node->inputs[i], &inputs[i])
                        : slot_on(schedule, node->inputs[i],
                                  read_on(schedule, node->inputs[i], place->device), &inputs[i]));
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        const gantry__slot_t slot = {
            .kind = GANTRY__SLOT_ARENA, .value = node->first_output + i, .device = place->device};
        GANTRY__TRY(schedule_add_slot(schedule, &slot, &outputs[i]));
        action.is_empty &= schedule->graph->values[slot.value].bytes == 0;
    }
    ++schedule->call_count;
    return add_action(schedule, &action, inputs, outputs);
}

/* An alias with a device of its own brings its input there. */
static gantry_status_t add_placed_alias(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    uint32_t source, slot;
    GANTRY__TRY(slot_on(schedule, node->inputs[0], schedule->places[index].device, &source));
    return add_alias(schedule, node->first_output, source, 0, &slot);
}

/* A result that is one piece of its input needs no kernel, where it begins as kernels expect it. */
static bool schedule_is_piece(const gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    const gantry__value_t *source = &schedule->graph->values[node->inputs[0]];
    if (node->piece_first < 0 || schedule->graph->values[node->first_output].bytes == 0)
        return false;
    const gantry_logical_device_t *device = schedule->places[index].device;
    const uint64_t base = device->info.base_alignment_bytes, least = 64,
                   first = (uint64_t)node->piece_first * gantry_dtype_size(source->dtype);
    return schedule->places[source->node].device == device &&
           first % (base > least ? base : least) == 0;
}

static gantry_status_t add_piece(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    const gantry__value_t *value = &schedule->graph->values[node->inputs[0]];
    uint32_t source, slot;
    GANTRY__TRY(slot_on(schedule, node->inputs[0], schedule->places[index].device, &source));
    return add_alias(schedule, node->first_output, source,
                     (uint64_t)node->piece_first * gantry_dtype_size(value->dtype), &slot);
}

static gantry_status_t add_read(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    const gantry__slot_t slot = {.kind = GANTRY__SLOT_TENSOR,
                                 .value = node->first_output,
                                 .device = schedule->places[index].device};
    const gantry__action_t action = {
        .kind = GANTRY__ACTION_READ, .node = index, .device = slot.device, .output_count = 1};
    uint32_t output;
    GANTRY__TRY(gantry__logical_device_open(slot.device));
    GANTRY__TRY(schedule_add_slot(schedule, &slot, &output));
    return add_action(schedule, &action, NULL, &output);
}

static gantry_status_t add_assign(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    const gantry__action_t action = {.kind = GANTRY__ACTION_ASSIGN,
                                     .node = index,
                                     .device = schedule->places[index].device,
                                     .input_count = 1};
    uint32_t input;
    GANTRY__TRY(gantry__logical_device_open(action.device));
    GANTRY__TRY(slot_on(schedule, node->inputs[0], action.device, &input));
    escape(schedule, input);
    return add_action(schedule, &action, &input, NULL);
}

static gantry_status_t add_draw(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    const gantry__action_t action = {.kind = GANTRY__ACTION_DRAW,
                                     .node = index,
                                     .device = schedule->places[index].device,
                                     .output_count = 2};
    uint32_t outputs[2];
    for (uint32_t i = 0; i < 2; ++i) {
        const gantry__slot_t slot = {
            .kind = GANTRY__SLOT_TENSOR, .value = node->first_output + i, .device = action.device};
        GANTRY__TRY(schedule_add_slot(schedule, &slot, &outputs[i]));
    }
    return add_action(schedule, &action, NULL, outputs);
}

/* Blocks are in the order of their nodes. */
static uint32_t block_of(const gantry__schedule_t *schedule, uint32_t node) {
    uint32_t low = 0, high = (uint32_t)schedule->block_count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (schedule->blocks[middle].node <= node) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Its inputs and results are tensors, which the bodies' own schedules take and make. A selector is
 * read on the host. */
static gantry_status_t schedule_add_block(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__graph_t *graph = schedule->graph;
    const gantry__node_t *node = &graph->nodes[index];
    const uint32_t first = node->kind == GANTRY__NODE_CASE ? 1 : 0;
    gantry__action_t action = {.kind = GANTRY__ACTION_BLOCK,
                               .node = index,
                               .device = schedule->places[index].device,
                               .input_count = node->input_count,
                               .output_count = node->output_count};
    uint32_t *inputs = gantry__arena_zalloc(&schedule->memory, node->input_count, sizeof *inputs),
             *outputs =
                 gantry__arena_zalloc(&schedule->memory, node->output_count, sizeof *outputs);
    if (!inputs || !outputs) return GANTRY_RESOURCE_EXHAUSTED;
    action.call = block_of(schedule, index);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const uint32_t value = node->inputs[i];
        gantry_logical_device_t *home = schedule->places[graph->values[value].node].device;
        GANTRY__TRY(i < first ? slot_on_host(schedule, value, &inputs[i])
                              : slot_on(schedule, value, home, &inputs[i]));
        if (i >= first) escape(schedule, inputs[i]);
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        const gantry__slot_t slot = {
            .kind = GANTRY__SLOT_TENSOR, .value = node->first_output + i, .device = action.device};
        GANTRY__TRY(schedule_add_slot(schedule, &slot, &outputs[i]));
    }
    return add_action(schedule, &action, inputs, outputs);
}

/* Its inputs and results are tensors, as those of the eager path. The results are on the node's
 * device. */
static gantry_status_t schedule_add_eager(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__graph_t *graph = schedule->graph;
    const gantry__node_t *node = &graph->nodes[index];
    const gantry__node_place_t *place = &schedule->places[index];
    uint32_t inputs[GANTRY__MAX_INPUTS], outputs[GANTRY__MAX_OUTPUTS];
    gantry__action_t action = {.kind = GANTRY__ACTION_EAGER,
                               .node = index,
                               .device = place->device,
                               .wish = node->wish,
                               .input_count = node->input_count,
                               .output_count = node->output_count};
    gantry__device_reference_t reference;
    if (place->decided_by > 0) {
        GANTRY__TRY(gantry__device_reference_from_user(&schedule->runtime->devices,
                                                       action.device->full_name, &reference));
        GANTRY__TRY(gantry__runtime_wish(schedule->runtime, &reference, &action.wish));
    }
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const uint32_t value = node->inputs[i];
        gantry_logical_device_t *home = schedule->places[graph->values[value].node].device;
        GANTRY__TRY(slot_on(schedule, value, home, &inputs[i]));
        escape(schedule, inputs[i]);
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        const gantry__slot_t slot = {
            .kind = GANTRY__SLOT_TENSOR, .value = node->first_output + i, .device = action.device};
        GANTRY__TRY(schedule_add_slot(schedule, &slot, &outputs[i]));
    }
    return add_action(schedule, &action, inputs, outputs);
}

static gantry_status_t add_node(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    switch (node->kind) {
        case GANTRY__NODE_READ: return add_read(schedule, index);
        case GANTRY__NODE_ASSIGN: return add_assign(schedule, index);
        case GANTRY__NODE_DRAW: return add_draw(schedule, index);
        case GANTRY__NODE_CASE:
        case GANTRY__NODE_WHILE: return schedule_add_block(schedule, index);
        case GANTRY__NODE_EAGER: return schedule_add_eager(schedule, index);
        case GANTRY__NODE_OP: break;
        default: return GANTRY_OK; /* a slot is made where it is used */
    }
    if (gantry__node_is_alias(node))
        return schedule->places[index].device ? add_placed_alias(schedule, index) : GANTRY_OK;
    return schedule_is_piece(schedule, index) ? add_piece(schedule, index)
                                              : add_call(schedule, index);
}

static gantry_status_t schedule_add_outputs(gantry__schedule_t *schedule) {
    const gantry__graph_t *graph = schedule->graph;
    schedule->outputs =
        gantry__arena_zalloc(&schedule->memory, graph->output_count, sizeof *schedule->outputs);
    if (!schedule->outputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < graph->output_count; ++i) {
        const uint32_t value = graph->outputs[i];
        gantry_logical_device_t *home = schedule->places[graph->values[value].node].device;
        GANTRY__TRY(slot_on(schedule, value, home, &schedule->outputs[i]));
        escape(schedule, schedule->outputs[i]);
        schedule->slots[schedule->slots[schedule->outputs[i]].root].last_step = UINT32_MAX;
    }
    return GANTRY_OK;
}

/* ---- all actions ---- */

static gantry_status_t add_nodes(gantry__schedule_t *schedule) {
    const gantry__graph_t *graph = schedule->graph;
    bool *is_needed = gantry__heap_zalloc(graph->heap, graph->node_count + 1);
    if (!is_needed) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__graph_find_needed(graph, is_needed);
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < graph->node_count && status == GANTRY_OK; ++i) {
        if (is_needed[i]) status = add_node(schedule, (uint32_t)i);
    }
    gantry__heap_free(graph->heap, is_needed, graph->node_count + 1);
    return status == GANTRY_OK ? schedule_add_outputs(schedule) : status;
}

/* ---- what follows from all actions ---- */

static bool is_prebound(const gantry__schedule_t *schedule, uint32_t slot) {
    const gantry__slot_kind_t kind = schedule->slots[schedule->slots[slot].root].kind;
    return kind == GANTRY__SLOT_ARENA || kind == GANTRY__SLOT_CONSTANT;
}

static void find_plain(const gantry__schedule_t *schedule, gantry__action_t *action) {
    action->is_plain = action->kind == GANTRY__ACTION_CALL && !action->is_empty &&
                       action->device->synchronous && action->ended_count == 0;
    for (uint32_t i = 0; i < action->input_count && action->is_plain; ++i)
        action->is_plain = is_prebound(schedule, action->inputs[i]);
    for (uint32_t i = 0; i < action->output_count && action->is_plain; ++i)
        action->is_plain = is_prebound(schedule, action->outputs[i]);
}

static gantry_status_t end_slot(gantry__schedule_t *schedule, uint32_t slot, uint32_t action) {
    const uint32_t root = schedule->slots[slot].root;
    const gantry__slot_t *ended = &schedule->slots[root];
    if (ended->last_step != action || ended->kind != GANTRY__SLOT_TENSOR) return GANTRY_OK;
    for (size_t i = schedule->actions[action].ended_first; i < schedule->ended_count; ++i) {
        if (schedule->ended[i] == root) return GANTRY_OK;
    }
    if (!gantry__heap_grow(schedule->graph->heap, &schedule->ended, schedule->ended_count,
                           &schedule->ended_capacity, sizeof *schedule->ended))
        return GANTRY_RESOURCE_EXHAUSTED;
    schedule->ended[schedule->ended_count++] = root;
    return GANTRY_OK;
}

/* Finds which tensors an action is the last to use. Where lanes run at the same time, no action is
 * the last for certain: the tensors end with the call. */
static gantry_status_t find_ended(gantry__schedule_t *schedule) {
    for (uint32_t i = 0; i < schedule->action_count; ++i) {
        gantry__action_t *action = &schedule->actions[i];
        action->ended_first = (uint32_t)schedule->ended_count;
        for (uint32_t k = 0; schedule->lane_count == 1 && k < action->input_count; ++k)
            GANTRY__TRY(end_slot(schedule, action->inputs[k], i));
        for (uint32_t k = 0; schedule->lane_count == 1 && k < action->output_count; ++k)
            GANTRY__TRY(end_slot(schedule, action->outputs[k], i));
        action->ended_count = (uint32_t)schedule->ended_count - action->ended_first;
        find_plain(schedule, action);
    }
    return GANTRY_OK;
}

/* A constant serves all calls, so it must be there for certain: work of a queue may fail later. */
static gantry_status_t wait_for_constants(gantry__schedule_t *schedule) {
    const gantry__allocation_t purpose = {.owner = "Bitcast"};
    for (size_t i = 0; i < schedule->slot_count; ++i) {
        gantry__slot_t *slot = &schedule->slots[i];
        if (!slot->constant) continue;
        GANTRY__TRY(gantry__tensor_align(&slot->constant, slot->alignment, &purpose));
        if (slot->constant->fault_count > 0) schedule->has_faulty_constants = true;
        gantry_status_t status = gantry__point_wait(slot->constant->ready);
        if (status == GANTRY_OK) continue;
        const gantry__graph_t *graph = schedule->graph;
        return gantry__fail_prefix(
            status, "constant %s on %s: ", graph->nodes[graph->values[slot->value].node].name,
            slot->device->name);
    }
    return GANTRY_OK;
}

static void list_queued(gantry__schedule_t *schedule) {
    for (size_t i = 0; i < schedule->action_count; ++i) {
        gantry_logical_device_t *device = schedule->actions[i].device;
        uint32_t at = 0;
        if (!device || device->synchronous || schedule->actions[i].kind == GANTRY__ACTION_EAGER)
            continue;
        while (at < schedule->queued_count && schedule->queued[at] != device) ++at;
        if (at == schedule->queued_count && at < GANTRY__MOST_QUEUED)
            schedule->queued[schedule->queued_count++] = device;
    }
}

static gantry_status_t build(gantry__schedule_t *schedule, int32_t threads) {
    const gantry__graph_t *graph = schedule->graph;
    gantry__arena_t *memory = &schedule->memory;
    schedule->places = gantry__arena_zalloc(memory, graph->node_count, sizeof *schedule->places);
    schedule->first_slots =
        gantry__arena_zalloc(memory, graph->value_count, sizeof *schedule->first_slots);
    if (!schedule->places || !schedule->first_slots) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < graph->value_count; ++i) schedule->first_slots[i] = GANTRY__NO_SLOT;
    GANTRY__TRY(gantry__schedule_place(schedule));
    GANTRY__TRY(add_nodes(schedule));
    if (!(graph->passes_off & GANTRY_PASS_EARLY_COPIES))
        GANTRY__TRY(gantry__schedule_move_copies(schedule));
    GANTRY__TRY(gantry__schedule_spread(schedule, threads));
    gantry__schedule_pass_memory_on(schedule);
    GANTRY__TRY(find_ended(schedule));
    GANTRY__TRY(gantry__schedule_make_notes(schedule));
    GANTRY__TRY(gantry__schedule_find_overwrites(schedule));
    GANTRY__TRY(gantry__schedule_plan_memory(schedule));
    list_queued(schedule);
    return wait_for_constants(schedule);
}

gantry_status_t gantry__schedule_init(gantry__schedule_t *schedule, gantry_runtime_t *runtime,
                                      const gantry__graph_t *graph, int32_t threads) {
    *schedule = (gantry__schedule_t){.graph = graph, .runtime = runtime};
    gantry__arena_init(&schedule->memory, graph->heap);
    gantry_status_t status = build(schedule, threads);
    if (status != GANTRY_OK) gantry__schedule_deinit(schedule);
    return status;
}

void gantry__schedule_deinit(gantry__schedule_t *schedule) {
    const gantry__heap_t *heap = schedule->memory.heap;
    for (size_t i = 0; i < schedule->slot_count; ++i)
        gantry_tensor_release(schedule->slots[i].constant);
    for (size_t i = 0; i < schedule->block_count; ++i) {
        for (uint32_t k = 0; k < schedule->blocks[i].body_count; ++k)
            gantry__schedule_deinit(&schedule->blocks[i].bodies[k]);
    }
    gantry__heap_free(heap, schedule->blocks, schedule->block_capacity * sizeof *schedule->blocks);
    gantry__heap_free(heap, schedule->slots, schedule->slot_capacity * sizeof *schedule->slots);
    gantry__heap_free(heap, schedule->actions,
                      schedule->action_capacity * sizeof *schedule->actions);
    gantry__heap_free(heap, schedule->ended, schedule->ended_capacity * sizeof *schedule->ended);
    gantry__heap_free(heap, schedule->arenas, schedule->arena_capacity * sizeof *schedule->arenas);
    gantry__arena_deinit(&schedule->memory);
    *schedule = (gantry__schedule_t){0};
}
