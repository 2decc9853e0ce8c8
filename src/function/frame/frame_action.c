/* SPDX-License-Identifier: Apache-2.0 */
/* One action of a call: a kernel with what it waits for, a copy, a read, an assignment. Branches,
 * loops and eager ops have files of their own. */
#include <string.h>

#include "device/loss.h"
#include "function/frame/frame.h"
#include "function/schedule/replay.h"
#include "run/variable_state.h"

/* ---- a kernel ---- */

static gantry_status_t make_results(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry__schedule_t *schedule = frame->schedule;
    const gantry__node_t *node = &schedule->graph->nodes[action->node];
    for (uint32_t i = 0; i < action->output_count; ++i) {
        const gantry__slot_t *slot = &schedule->slots[action->outputs[i]];
        if (slot->kind != GANTRY__SLOT_TENSOR) continue;
        bool is_made = false;
        if (action->overwrite_count > 0)
            GANTRY__TRY(gantry__frame_overwrite(frame, action, i, &is_made));
        if (is_made) continue;
        const gantry__value_t *value = &schedule->graph->values[slot->value];
        const gantry__allocation_t purpose = {.owner = node->op->name, .tag = node->tag};
        gantry_tensor_t *tensor;
        GANTRY__TRY(gantry__tensor_create(schedule->runtime, slot->device, value->dtype,
                                          &value->shape, GANTRY_STREAM_COMPUTE, &purpose, &tensor));
        GANTRY__TRY(gantry__frame_put(frame, action->outputs[i], tensor));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__frame_make_results(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry_status_t status = make_results(frame, action);
    return status == GANTRY_OK ? GANTRY_OK : gantry__frame_end_overwrite(frame, action, status);
}

gantry_status_t gantry__frame_wait_for_inputs(gantry__frame_t *frame,
                                              const gantry__action_t *action) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < action->input_count; ++i) {
        const gantry_tensor_t *tensor = gantry__frame_tensor_of(frame, action->inputs[i]);
        if (tensor && tensor->ready.stream && !gantry__point_is_past(tensor->ready))
            frame->points[action->lane][count++] = tensor->ready;
    }
    if (count == 0) return GANTRY_OK;
    return gantry__stream_wait_for(&action->device->streams[GANTRY_STREAM_COMPUTE],
                                   frame->points[action->lane], count);
}

static void frame_mark_uses(gantry__frame_t *frame, const gantry__action_t *action,
                            gantry__point_t point) {
    if (action->device->synchronous) return;
    for (uint32_t i = 0; i < action->input_count; ++i) {
        const gantry_tensor_t *tensor = gantry__frame_tensor_of(frame, action->inputs[i]);
        if (tensor && tensor->buffer && tensor->device == action->device)
            gantry__buffer_mark_use(tensor->buffer, GANTRY_STREAM_COMPUTE, point.count);
    }
    for (uint32_t i = 0; i < action->output_count; ++i) {
        gantry_tensor_t *tensor = frame->tensors[action->outputs[i]];
        if (!tensor) continue;
        if (tensor->buffer)
            gantry__buffer_mark_use(tensor->buffer, GANTRY_STREAM_COMPUTE, point.count);
        tensor->ready = point;
    }
    for (size_t i = 0; i < frame->schedule->arena_count; ++i) {
        if (frame->arenas[i] && frame->schedule->arenas[i].device == action->device)
            gantry__buffer_mark_use(frame->arenas[i], GANTRY_STREAM_COMPUTE, point.count);
    }
}

static bool is_in_place(const gantry_op_call_t *call) {
    for (uint32_t i = 0; i < call->input_count; ++i) {
        const gantry_span_t *in = &call->inputs[i]->span;
        for (uint32_t k = 0; k < call->output_count; ++k) {
            const gantry_span_t *out = &call->outputs[k]->span;
            if (in->region == out->region && in->offset_bytes == out->offset_bytes) return true;
        }
    }
    return false;
}

/* Does what the eager path does: if the kernel that failed declines the call now, the next kernel
 * of the node's device that takes it computes. */
static GANTRY__COLD gantry_status_t compute_others(const gantry__frame_t *frame,
                                                   const gantry__action_t *action,
                                                   gantry__call_t *call, gantry_status_t status) {
    const gantry__node_place_t *place = &frame->schedule->places[action->node];
    const gantry__plan_t *plan = &place->kept->plan;
    const gantry_kernel_def_t *first = call->abi.kernel;
    const uint32_t before = gantry__failures() - 1;
    for (uint32_t i = place->choice + 1; status != GANTRY_OK && i < plan->kernel_count; ++i) {
        const gantry_kernel_def_t *failed = call->abi.kernel, *next = plan->kernels[i]->def;
        if (is_in_place(&call->abi) || call->fault || !failed->supports ||
            failed->supports(&call->abi))
            break;
        call->abi.kernel = next;
        if (plan->host_inputs[i] != plan->host_inputs[place->choice]) break;
        if (next->supports && !next->supports(&call->abi)) continue;
        status = (gantry_status_t)next->compute(&call->abi);
        if (status == GANTRY_OK) gantry__forget_since(before);
    }
    call->abi.kernel = first;
    return status;
}

/* A kernel with needs that a graph of the device does not meet is launched by itself. */
static void note_needs(const gantry__frame_t *frame, const gantry__action_t *action,
                       gantry__call_t *call) {
    if (call->fault) gantry__replay_note_action(frame->schedule, action, GANTRY__REPLAY_FAULT);
    if (call->has_read) gantry__replay_note_action(frame->schedule, action, GANTRY__REPLAY_READS);
    call->has_read = false;
}

static void end_form(gantry__call_t *call, gantry_status_t status) {
    if (call->makes_form) gantry__form_end(call->form, status == GANTRY_OK);
    call->makes_form = false;
}

/* Ends the call of a kernel, which may have failed. */
static gantry_status_t finish_call(gantry__frame_t *frame, const gantry__action_t *action,
                                   gantry__call_t *call, gantry_status_t status) {
    gantry__point_t point;
    end_form(call, status);
    if (status != GANTRY_OK) status = compute_others(frame, action, call, status);
    end_form(call, status);
    note_needs(frame, action, call);
    if (call->fault) gantry__frame_name_fault(frame, action, call->fault);
    struct gantry__fault_t *fault = gantry__call_finish(call, &point);
    frame_mark_uses(frame, action, point);
    gantry_status_t kept = gantry__frame_keep_fault(frame, fault);
    status = gantry__loss_note(action->device, status);
    return status == GANTRY_OK ? kept : status;
}

static gantry_status_t compute(gantry__frame_t *frame, const gantry__action_t *action) {
    gantry__call_t *call = &frame->calls[action->call];
    GANTRY__TRY(gantry__frame_wait_for_inputs(frame, action));
    if (action->is_empty) return GANTRY_OK;
    return finish_call(frame, action, call, (gantry_status_t)call->abi.kernel->compute(&call->abi));
}

gantry_status_t gantry__frame_compute(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry_status_t status = compute(frame, action);
    return action->overwrite_count == 0 ? status
                                        : gantry__frame_end_overwrite(frame, action, status);
}

static gantry_status_t do_call(gantry__frame_t *frame, const gantry__action_t *action) {
    GANTRY__TRY(gantry__frame_make_results(frame, action));
    return gantry__frame_compute(frame, action);
}

/* Runs nothing but the kernel, because all arguments were bound when the frame was made. */
static inline gantry_status_t do_plain_call(gantry__frame_t *frame,
                                            const gantry__action_t *action) {
    gantry__call_t *call = &frame->calls[action->call];
    gantry_status_t status = (gantry_status_t)call->abi.kernel->compute(&call->abi);
    if (status == GANTRY_OK && call->scratch_count == 0 && !call->fault && !call->makes_form)
        return GANTRY_OK;
    return finish_call(frame, action, call, status);
}

/* ---- the other actions ---- */

static gantry_status_t do_argument(gantry__frame_t *frame, const gantry__action_t *action,
                                   const gantry_tensor_t *argument) {
    gantry_tensor_t *tensor;
    if (!action->device || argument->device == action->device) {
        tensor = gantry_tensor_retain(argument);
    } else {
        const gantry__allocation_t purpose = {.owner = "copy"};
        GANTRY__TRY(gantry__tensor_copy_to(argument, action->device, &purpose, &tensor));
    }
    return gantry__frame_put(frame, action->outputs[0], tensor);
}

static gantry_status_t do_copy(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry__allocation_t purpose = {.owner = "copy"};
    gantry_tensor_t *source, *copy;
    GANTRY__TRY(gantry__frame_view(frame, action->inputs[0], &source));
    gantry_status_t status = gantry__tensor_copy_to(source, action->device, &purpose, &copy);
    gantry_tensor_release(source);
    return status == GANTRY_OK ? gantry__frame_put(frame, action->outputs[0], copy) : status;
}

static gantry_status_t do_host(gantry__frame_t *frame, const gantry__action_t *action) {
    gantry_tensor_t *source;
    const void *data;
    void *owned;
    GANTRY__TRY(gantry__frame_view(frame, action->inputs[0], &source));
    gantry_status_t status = gantry__tensor_host_data(source, &data, &owned);
    gantry_tensor_release(source);
    if (status != GANTRY_OK) return status;
    frame->host_copies[action->outputs[0]] = owned;
    memcpy(&frame->args[action->outputs[0]].data, &data, sizeof data); /* kernels only read it */
    return GANTRY_OK;
}

static gantry_status_t do_read(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry__node_t *node = &frame->schedule->graph->nodes[action->node];
    return gantry__frame_put(frame, action->outputs[0], gantry__variable_take(node->variable));
}

static gantry_status_t do_draw(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry__node_t *node = &frame->schedule->graph->nodes[action->node];
    const gantry__philox_t place = gantry__draws_take(node->draws, node->steps);
    const uint64_t *const data[] = {&place.key, place.counter};
    for (uint32_t i = 0; i < 2; ++i) {
        const gantry_shape_t shape = GANTRY_SHAPE(i + 1);
        gantry_tensor_t *tensor;
        GANTRY__TRY(gantry__tensor_from_host(frame->schedule->runtime, action->device,
                                             GANTRY_UINT64, &shape, data[i], node->tag, &tensor));
        GANTRY__TRY(gantry__frame_put(frame, action->outputs[i], tensor));
    }
    return GANTRY_OK;
}

static gantry_status_t do_assign(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry__node_t *node = &frame->schedule->graph->nodes[action->node];
    gantry_tensor_t *value;
    GANTRY__TRY(gantry__frame_view(frame, action->inputs[0], &value));
    gantry_status_t status = gantry__frame_inherit_faults(frame, value);
    if (status != GANTRY_OK) {
        gantry_tensor_release(value);
        return status;
    }
    if (!node->update) {
        gantry__variable_replace(node->variable, value);
        return GANTRY_OK;
    }
    gantry__mutex_lock(&frame->shared->scope);
    status = gantry__variable_update(frame->scope, node->variable, value, node->update, NULL);
    gantry__mutex_unlock(&frame->shared->scope);
    gantry_tensor_release(value);
    return status;
}

/* ---- any action ---- */

static gantry_status_t do_action(gantry__frame_t *frame, const gantry__action_t *action,
                                 const gantry_tensor_t *const *arguments) {
    switch (action->kind) {
        case GANTRY__ACTION_CALL: return do_call(frame, action);
        case GANTRY__ACTION_COPY: return do_copy(frame, action);
        case GANTRY__ACTION_HOST: return do_host(frame, action);
        case GANTRY__ACTION_READ: return do_read(frame, action);
        case GANTRY__ACTION_ASSIGN: return do_assign(frame, action);
        case GANTRY__ACTION_ARGUMENT: return do_argument(frame, action, arguments[action->call]);
        case GANTRY__ACTION_BLOCK: return gantry__frame_do_block(frame, action);
        case GANTRY__ACTION_DRAW: return do_draw(frame, action);
        case GANTRY__ACTION_EAGER: return gantry__frame_do_eager(frame, action);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__frame_do_silently(gantry__frame_t *frame, const gantry__action_t *action,
                                          const gantry_tensor_t *const *arguments) {
    return action->is_plain ? do_plain_call(frame, action) : do_action(frame, action, arguments);
}

gantry_status_t gantry__frame_do(gantry__frame_t *frame, const gantry__action_t *action,
                                 const gantry_tensor_t *const *arguments) {
    /* the eager path makes its own record */
    const bool records = gantry__profile_is_on(&frame->schedule->runtime->devices) &&
                         action->kind != GANTRY__ACTION_EAGER;
    gantry_status_t status = records ? gantry__frame_do_recorded(frame, action, arguments)
                                     : gantry__frame_do_silently(frame, action, arguments);
    return status == GANTRY_OK ? GANTRY_OK : gantry__frame_fail_at(frame, action, status);
}
