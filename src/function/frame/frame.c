/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: made with every kernel call ready, and run. frame_action.c runs one action. */
#include "function/frame/frame.h"

#include "device/device_open.h"
#include "device/fault.h"

/* ---- arguments of kernels ---- */

static void describe_arg(const gantry__schedule_t *schedule, const gantry__slot_t *slot,
                         gantry_arg_t *arg) {
    const gantry__value_t *value = &schedule->graph->values[slot->value];
    *arg = (gantry_arg_t){.struct_size = sizeof *arg,
                          .dtype = (int32_t)value->dtype,
                          .rank = value->shape.rank,
                          .in_host_memory = slot->kind == GANTRY__SLOT_HOST,
                          .dims = value->shape.dims,
                          .element_count = value->elements,
                          .span = {.size_bytes = value->bytes}};
}

static void bind_to_buffer(const gantry__buffer_t *buffer, uint64_t offset, gantry_arg_t *arg) {
    arg->span.region = buffer->span.region;
    arg->span.offset_bytes = buffer->span.offset_bytes + offset;
    arg->data = buffer->data ? (unsigned char *)buffer->data + offset : NULL;
}

static void bind_to_tensor(const gantry_tensor_t *tensor, uint64_t offset, gantry_arg_t *arg) {
    if (tensor->buffer) {
        arg->span.region = tensor->buffer->span.region;
        arg->span.offset_bytes = tensor->buffer->span.offset_bytes + tensor->offset_bytes + offset;
    } else {
        arg->span.region = (uint64_t)(uintptr_t)tensor->data;
        arg->span.offset_bytes = offset;
    }
    arg->data = tensor->data ? (unsigned char *)tensor->data + offset : NULL;
}

static void bind_prebound(gantry__frame_t *frame, uint32_t index) {
    const gantry__schedule_t *schedule = frame->schedule;
    const gantry__slot_t *slot = &schedule->slots[index], *root = &schedule->slots[slot->root];
    const uint64_t offset = slot == root ? 0 : slot->offset;
    gantry_arg_t *arg = &frame->args[index];
    describe_arg(schedule, slot, arg);
    if (root->kind == GANTRY__SLOT_CONSTANT) {
        bind_to_tensor(root->constant, offset, arg);
    } else if (root->kind == GANTRY__SLOT_ARENA && arg->span.size_bytes > 0) {
        bind_to_buffer(frame->arenas[root->arena], root->offset + offset, arg);
    }
}

/* ---- kernel calls ---- */

/* What the call's pointers point to. */
typedef struct call_lists_t {
    const gantry_arg_t *inputs[GANTRY__MAX_INPUTS];
    gantry_arg_t *outputs[GANTRY__MAX_OUTPUTS];
    const gantry_attr_t *attrs[GANTRY__MAX_ATTRS];
} call_lists_t;

/* The inputs that are constants, as bits. The smallest have no memory of the device. */
static uint32_t frame_find_constants(const gantry__schedule_t *schedule,
                                     const gantry__action_t *action) {
    uint32_t constants = 0;
    for (uint32_t i = 0; i < action->input_count && i < 32; ++i) {
        const gantry_tensor_t *tensor =
            schedule->slots[schedule->slots[action->inputs[i]].root].constant;
        if (tensor && tensor->buffer) constants |= UINT32_C(1) << i;
    }
    return constants;
}

static gantry_status_t fill_call(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry__schedule_t *schedule = frame->schedule;
    const gantry__node_t *node = &schedule->graph->nodes[action->node];
    const gantry__node_place_t *place = &schedule->places[action->node];
    gantry__call_t *call = &frame->calls[action->call];
    gantry__program_cache_t *programs;
    call_lists_t lists;
    GANTRY__TRY(gantry__runtime_programs(schedule->runtime, action->device, &programs));
    gantry__call_init(call, action->device, programs, 0);
    for (uint32_t i = 0; i < action->input_count; ++i)
        lists.inputs[i] = &frame->args[action->inputs[i]];
    for (uint32_t i = 0; i < action->output_count; ++i)
        lists.outputs[i] = &frame->args[action->outputs[i]];
    for (uint32_t i = 0; i < node->op->attr_count; ++i) lists.attrs[i] = &node->attrs[i];
    call->abi.inputs = gantry__arena_copy(&frame->memory, lists.inputs, action->input_count,
                                          sizeof lists.inputs[0]);
    call->abi.outputs = gantry__arena_copy(&frame->memory, lists.outputs, action->output_count,
                                           sizeof lists.outputs[0]);
    call->abi.attrs = gantry__arena_copy(&frame->memory, lists.attrs, node->op->attr_count,
                                         sizeof lists.attrs[0]);
    if (!call->abi.inputs || !call->abi.outputs || !call->abi.attrs)
        return GANTRY_RESOURCE_EXHAUSTED;
    call->abi.input_count = action->input_count;
    call->abi.output_count = action->output_count;
    call->abi.attr_count = node->op->attr_count;
    call->abi.op = node->op->name;
    call->abi.kernel = place->kept->plan.kernels[place->choice]->def;
    call->abi.flags = gantry__plan_call_flags(&place->kept->plan);
    const uint32_t constants = frame_find_constants(schedule, action);
    if (constants != 0 && action->device->synchronous) gantry__call_offer_forms(call, constants);
    call->tag = node->tag;
    call->part_of = node->part_of ? node->part_of->name : NULL;
    return GANTRY_OK;
}

/* ---- life ---- */

static gantry_status_t frame_make_arrays(gantry__frame_t *frame) {
    const gantry__schedule_t *schedule = frame->schedule;
    gantry__arena_t *memory = &frame->memory;
    const size_t slots = schedule->slot_count;
    frame->arenas = gantry__arena_zalloc(memory, schedule->arena_count, sizeof *frame->arenas);
    frame->args = gantry__arena_zalloc(memory, slots, sizeof *frame->args);
    frame->tensors = gantry__arena_zalloc(memory, slots, sizeof(gantry_tensor_t *));
    frame->host_copies = gantry__arena_zalloc(memory, slots, sizeof(void *));
    frame->calls = gantry__arena_zalloc(memory, schedule->call_count, sizeof *frame->calls);
    frame->places = gantry__arena_zalloc(memory, schedule->call_count, sizeof *frame->places);
    for (uint32_t i = 0; i < schedule->lane_count; ++i) {
        frame->points[i] =
            gantry__arena_zalloc(memory, schedule->most_inputs + 1, sizeof *frame->points[i]);
        if (!frame->points[i]) return GANTRY_RESOURCE_EXHAUSTED;
    }
    frame->block_inputs =
        gantry__arena_zalloc(memory, schedule->most_inputs, sizeof(gantry_tensor_t *));
    frame->block_arguments =
        gantry__arena_zalloc(memory, schedule->graph->input_count, sizeof(gantry_tensor_t *));
    frame->block_results =
        gantry__arena_zalloc(memory, schedule->graph->output_count, sizeof(gantry_tensor_t *));
    frame->overwritten =
        gantry__arena_zalloc(memory, schedule->overwrite_count, sizeof *frame->overwritten);
    frame->blocks = gantry__arena_zalloc(memory, schedule->block_count, sizeof *frame->blocks);
    return frame->block_inputs && frame->block_arguments && frame->block_results &&
                   frame->overwritten && frame->blocks && frame->arenas && frame->args &&
                   frame->tensors && frame->host_copies && frame->calls && frame->places
               ? GANTRY_OK
               : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t make_blocks(gantry__frame_t *frame, const char *owner) {
    const gantry__schedule_t *schedule = frame->schedule;
    for (size_t i = 0; i < schedule->block_count; ++i) {
        const gantry__block_t *block = &schedule->blocks[i];
        frame->blocks[i] =
            gantry__arena_zalloc(&frame->memory, block->body_count, sizeof **frame->blocks);
        if (!frame->blocks[i]) return GANTRY_RESOURCE_EXHAUSTED;
        for (uint32_t k = 0; k < block->body_count; ++k)
            GANTRY__TRY(gantry__frame_create(&block->bodies[k], owner, &frame->blocks[i][k]));
    }
    return GANTRY_OK;
}

static gantry_status_t frame_fill(gantry__frame_t *frame, const char *owner) {
    const gantry__schedule_t *schedule = frame->schedule;
    GANTRY__TRY(frame_make_arrays(frame));
    for (size_t i = 0; i < schedule->arena_count; ++i) {
        const gantry__schedule_arena_t *arena = &schedule->arenas[i];
        if (arena->bytes > 0)
            GANTRY__TRY(gantry__buffer_create(arena->device, arena->bytes, GANTRY_STREAM_COMPUTE,
                                              owner, &frame->arenas[i]));
    }
    for (uint32_t i = 0; i < schedule->slot_count; ++i) bind_prebound(frame, i);
    for (size_t i = 0; i < schedule->action_count; ++i) {
        if (schedule->actions[i].kind == GANTRY__ACTION_CALL)
            GANTRY__TRY(fill_call(frame, &schedule->actions[i]));
    }
    return make_blocks(frame, owner);
}

static bool frame_init_locks(gantry__frame_locks_t *locks) {
    if (gantry__mutex_init(&locks->scope) != 0) return false;
    if (gantry__mutex_init(&locks->faults) == 0) return true;
    gantry__mutex_deinit(&locks->scope);
    return false;
}

gantry_status_t gantry__frame_create(const gantry__schedule_t *schedule, const char *owner,
                                     gantry__frame_t **out_frame) {
    const gantry__heap_t *heap = schedule->graph->heap;
    gantry__frame_t *frame = gantry__heap_zalloc(heap, sizeof *frame);
    *out_frame = frame;
    if (!frame) return GANTRY_RESOURCE_EXHAUSTED;
    if (!frame_init_locks(&frame->locks)) {
        gantry__heap_free(heap, frame, sizeof *frame);
        *out_frame = NULL;
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    frame->shared = &frame->locks;
    frame->schedule = schedule;
    frame->owner = owner;
    gantry__arena_init(&frame->memory, heap);
    gantry_status_t status = frame_fill(frame, owner);
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry__frame_destroy(frame);
    *out_frame = NULL;
    return status;
}

void gantry__frame_destroy(gantry__frame_t *frame) {
    if (!frame) return;
    const gantry__heap_t *heap = frame->memory.heap;
    gantry__frame_drop_replay(frame);
    gantry__frame_drop_places(frame);
    (void)gantry__frame_drop_forms(frame, NULL);
    for (size_t i = 0; frame->arenas && i < frame->schedule->arena_count; ++i)
        gantry__buffer_release(frame->arenas[i]);
    for (size_t i = 0; frame->blocks && i < frame->schedule->block_count; ++i) {
        for (uint32_t k = 0; frame->blocks[i] && k < frame->schedule->blocks[i].body_count; ++k)
            gantry__frame_destroy(frame->blocks[i][k]);
    }
    gantry__heap_free(heap, frame->faults, frame->fault_capacity * sizeof *frame->faults);
    gantry__arena_deinit(&frame->memory);
    gantry__mutex_deinit(&frame->locks.faults);
    gantry__mutex_deinit(&frame->locks.scope);
    gantry__heap_free(heap, frame, sizeof *frame);
}

uint64_t gantry__frame_drop_forms(gantry__frame_t *frame, const gantry_logical_device_t *device) {
    const gantry__schedule_t *schedule = frame->schedule;
    uint64_t bytes = 0;
    for (uint32_t i = 0; frame->calls && i < schedule->call_count; ++i) {
        gantry__call_t *call = &frame->calls[i];
        if (device && call->device != device) continue;
        bytes += gantry__form_release(call->form);
        call->form = NULL;
    }
    for (size_t i = 0; frame->blocks && i < schedule->block_count; ++i) {
        for (uint32_t k = 0; frame->blocks[i] && k < schedule->blocks[i].body_count; ++k) {
            if (frame->blocks[i][k]) bytes += gantry__frame_drop_forms(frame->blocks[i][k], device);
        }
    }
    return bytes;
}

uint64_t gantry__frame_bytes(const gantry__frame_t *frame, const gantry_logical_device_t *device) {
    const gantry__schedule_t *schedule = frame->schedule;
    uint64_t bytes = 0;
    for (size_t i = 0; i < schedule->arena_count; ++i) {
        if (!device || schedule->arenas[i].device == device) bytes += schedule->arenas[i].bytes;
    }
    for (size_t i = 0; i < schedule->block_count; ++i) {
        for (uint32_t k = 0; k < schedule->blocks[i].body_count; ++k)
            bytes += gantry__frame_bytes(frame->blocks[i][k], device);
    }
    return bytes;
}

/* ---- one call ---- */

static void bind_tensor(gantry__frame_t *frame, uint32_t index) {
    const gantry__schedule_t *schedule = frame->schedule;
    const gantry_tensor_t *tensor = frame->tensors[index];
    bind_to_tensor(tensor, 0, &frame->args[index]);
    for (uint32_t at = schedule->slots[index].next_alias; at != GANTRY__NO_SLOT;
         at = schedule->slots[at].next_alias)
        bind_to_tensor(tensor, schedule->slots[at].offset, &frame->args[at]);
}

gantry_status_t gantry__frame_view(const gantry__frame_t *frame, uint32_t index,
                                   gantry_tensor_t **out_tensor) {
    const gantry__slot_t *slot = &frame->schedule->slots[index];
    const gantry__value_t *value = &frame->schedule->graph->values[slot->value];
    const gantry_tensor_t *tensor = gantry__frame_tensor_of(frame, index);
    const gantry_shape_t *shape = value->elements >= 0 ? &value->shape : &tensor->shape;
    const uint64_t offset = slot->root == index ? 0 : slot->offset;
    /* inline: the whole of it, or a piece */
    GANTRY__TRY(tensor->buffer ? gantry__tensor_view(tensor, offset, shape, out_tensor)
                               : gantry__tensor_alias(NULL, tensor, shape, out_tensor));
    if (value->dtype != tensor->dtype) gantry__tensor_retype(*out_tensor, value->dtype);
    return gantry__tensor_inherit_faults(*out_tensor, tensor);
}

/* Results of the call inherit what its arguments, variables and constants may still fail with. */
static gantry_status_t keep_faults_of(gantry__frame_t *frame, const gantry_tensor_t *tensor) {
    for (uint32_t i = 0; i < tensor->fault_count; ++i) {
        if (!gantry__fault_is_good(tensor->faults[i]))
            GANTRY__TRY(gantry__frame_keep_fault(frame, gantry__fault_retain(tensor->faults[i])));
    }
    return GANTRY_OK;
}

static gantry_status_t keep_faults_of_constants(gantry__frame_t *frame) {
    const gantry__schedule_t *schedule = frame->schedule;
    for (size_t i = 0; i < schedule->slot_count && schedule->has_faulty_constants; ++i) {
        if (schedule->slots[i].constant)
            GANTRY__TRY(keep_faults_of(frame, schedule->slots[i].constant));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__frame_put(gantry__frame_t *frame, uint32_t slot, gantry_tensor_t *tensor) {
    const gantry__allocation_t purpose = {.owner = "Bitcast"};
    frame->tensors[slot] = tensor;
    GANTRY__TRY(gantry__tensor_align(&frame->tensors[slot], frame->schedule->slots[slot].alignment,
                                     &purpose));
    bind_tensor(frame, slot);
    return keep_faults_of(frame, frame->tensors[slot]);
}

gantry_status_t gantry__frame_put_on(gantry__frame_t *frame, const gantry__action_t *action,
                                     uint32_t i, gantry_tensor_t *result) {
    const gantry__allocation_t purpose = {.owner = "copy"};
    gantry_tensor_t *copy;
    if (result->device == action->device)
        return gantry__frame_put(frame, action->outputs[i], result);
    gantry_status_t status = gantry__logical_device_open(action->device);
    if (status == GANTRY_OK)
        status = gantry__tensor_copy_to(result, action->device, &purpose, &copy);
    gantry_tensor_release(result);
    return status == GANTRY_OK ? gantry__frame_put(frame, action->outputs[i], copy) : status;
}

/* ---- all actions ---- */

static void release_tensor(gantry__frame_t *frame, uint32_t slot) {
    gantry_tensor_release(frame->tensors[slot]);
    frame->tensors[slot] = NULL;
}

static void frame_clean_up(gantry__frame_t *frame) {
    const gantry__schedule_t *schedule = frame->schedule;
    for (uint32_t i = 0; i < schedule->slot_count; ++i) {
        if (frame->tensors[i]) release_tensor(frame, i);
        if (!frame->host_copies[i]) continue;
        gantry__heap_free(frame->memory.heap, frame->host_copies[i],
                          (size_t)schedule->graph->values[schedule->slots[i].value].bytes);
        frame->host_copies[i] = NULL;
    }
    for (size_t i = 0; i < frame->fault_count; ++i) gantry__fault_release(frame->faults[i]);
    frame->fault_count = 0;
}

void gantry__frame_end_action(gantry__frame_t *frame, const gantry__action_t *action) {
    for (uint32_t i = 0; i < action->ended_count; ++i)
        release_tensor(frame, frame->schedule->ended[action->ended_first + i]);
}

static gantry_status_t run_actions(gantry__frame_t *frame,
                                   const gantry_tensor_t *const *arguments) {
    const gantry__schedule_t *schedule = frame->schedule;
    gantry_status_t status;
    if (schedule->lane_count > 1 && gantry__frame_run_lanes(frame, arguments, &status))
        return status;
    /* a profile gets each kernel by itself */
    if (schedule->notes && !gantry__profile_is_on(&schedule->runtime->devices))
        return gantry__frame_run_replaying(frame, arguments);
    for (size_t i = 0; i < schedule->action_count; ++i) {
        const gantry__action_t *action = &schedule->actions[i];
        GANTRY__TRY(gantry__frame_do(frame, action, arguments));
        gantry__frame_end_action(frame, action);
    }
    return GANTRY_OK;
}

/* Notes on the streams of the schedule's devices whose work the call submits: for failures that are
 * reported later. The bodies' work is the outermost frame's. */
static gantry_status_t run_noted(gantry__frame_t *frame, const gantry_tensor_t *const *arguments) {
    const gantry__schedule_t *schedule = frame->schedule;
    uint64_t before[GANTRY__MOST_QUEUED];
    const uint32_t count = frame->outer ? 0 : schedule->queued_count;
    for (uint32_t i = 0; i < count; ++i)
        before[i] = atomic_load(&schedule->queued[i]->streams[GANTRY_STREAM_COMPUTE].submitted);
    const gantry_status_t status = run_actions(frame, arguments);
    for (uint32_t i = 0; i < count; ++i)
        gantry__stream_note_use(&schedule->queued[i]->streams[GANTRY_STREAM_COMPUTE], before[i],
                                frame->owner);
    return status;
}

static gantry_status_t take_outputs(gantry__frame_t *frame, gantry_tensor_t **outputs) {
    for (uint32_t i = 0; i < frame->schedule->graph->output_count; ++i) {
        GANTRY__TRY(gantry__frame_view(frame, frame->schedule->outputs[i], &outputs[i]));
        GANTRY__TRY(gantry__frame_inherit_faults(frame, outputs[i]));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__frame_run(gantry__frame_t *frame, gantry_scope_t *scope,
                                  const gantry_tensor_t *const *arguments,
                                  gantry_tensor_t **outputs) {
    frame->scope = scope;
    const uint32_t count = frame->schedule->graph->output_count;
    for (uint32_t i = 0; i < count; ++i) outputs[i] = NULL;
    gantry_status_t status = keep_faults_of_constants(frame);
    if (status == GANTRY_OK) status = run_noted(frame, arguments);
    if (status == GANTRY_OK) status = take_outputs(frame, outputs);
    if (status != GANTRY_OK) status = gantry__frame_find_cause(frame, status);
    frame_clean_up(frame);
    for (uint32_t i = 0; status != GANTRY_OK && i < count; ++i) {
        gantry_tensor_release(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}
