/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a call: the node's place in front of a failure, and faults, which kernels find after
 * the call has returned. Both name function, node, op and device in the same words. */
#include <stdio.h>
#include <string.h>

#include "device/fault.h"
#include "device/logical_device.h"
#include "function/trace/control.h"
#include "function/frame/frame.h"
#include "op/operands_text.h"
#include "shared/printable.h"

/* ---- what a node takes ---- */

static const gantry__node_t *node_of(const gantry__frame_t *frame, const gantry__action_t *action) {
    return &frame->schedule->graph->nodes[action->node];
}

/* A shape that depends on data is that of the tensor in this call, if the action has one. */
static void add_operand(const gantry__frame_t *frame, const gantry__action_t *action,
                        uint32_t number, gantry__operands_text_t *operands) {
    const gantry__value_t *value = &frame->schedule->graph->values[number];
    const gantry_shape_t *shape = &value->shape;
    for (uint32_t i = 0; value->elements < 0 && i < action->input_count; ++i) {
        if (frame->schedule->slots[action->inputs[i]].value != number) continue;
        const gantry_tensor_t *tensor = gantry__frame_tensor_of(frame, action->inputs[i]);
        if (tensor) shape = &tensor->shape;
    }
    gantry__operands_add(operands, value->dtype, shape);
}

/* A copy takes its node's result, and an argument is given. A branch or a loop in which a node
 * failed says nothing: the words of that node follow. */
static gantry__operands_text_t print_operands(const gantry__frame_t *frame,
                                              const gantry__action_t *action) {
    const gantry__node_t *node = node_of(frame, action);
    gantry__operands_text_t operands = {.text = ""};
    if (action->kind == GANTRY__ACTION_COPY) {
        add_operand(frame, action, frame->schedule->slots[action->inputs[0]].value, &operands);
    } else if (action->kind == GANTRY__ACTION_ARGUMENT) {
        add_operand(frame, action, node->first_output, &operands);
    } else if (!gantry__frame_failed_inside(frame, action)) {
        for (uint32_t i = 0; i < node->input_count; ++i)
            add_operand(frame, action, node->inputs[i], &operands);
    }
    return operands;
}

/* ---- places ---- */

/* What one action adds to a place. */
#define ACT_FORMAT "%s%snode %s (%s%s)%s on %s: "
#define ACT_WORDS(node, action, operands)                                                      \
    (node)->origin ? (node)->origin : "", (node)->origin ? ": " : "", (node)->name,            \
        (node)->op->name, (action)->kind == GANTRY__ACTION_COPY ? ", a copy" : "", (operands), \
        (action)->device ? (action)->device->name : "its own device"

/* Each of these prints at `used` and returns the length so far, which may exceed the room. */
static size_t print_action(const gantry__frame_t *frame, const gantry__action_t *action,
                           const char *operands, char *out, size_t out_bytes, size_t used) {
    const size_t at = used < out_bytes ? used : out_bytes;
    return used + (size_t)snprintf(out + at, out_bytes - at, ACT_FORMAT,
                                   ACT_WORDS(node_of(frame, action), action, operands));
}

static size_t print_frame(const gantry__frame_t *frame, char *out, size_t out_bytes) {
    if (!frame->outer) return (size_t)snprintf(out, out_bytes, "function %s: ", frame->owner);
    size_t used = print_frame(frame->outer, out, out_bytes);
    used = print_action(frame->outer, frame->outer_action, "", out, out_bytes, used);
    const size_t at = used < out_bytes ? used : out_bytes;
    return used + (size_t)snprintf(out + at, out_bytes - at, "%s: ",
                                   gantry__body_name(node_of(frame->outer, frame->outer_action)->op,
                                                     frame->outer_body)
                                       .text);
}

static void print_place(const gantry__frame_t *frame, const gantry__action_t *action,
                        const char *operands, char *out, size_t out_bytes) {
    size_t used = print_frame(frame, out, out_bytes);
    used = print_action(frame, action, operands, out, out_bytes, used);
    if (used < out_bytes) return;
    const gantry__node_t *node = node_of(frame, action); /* long names, or many blocks between */
    const char *origin = node->origin ? gantry__utf8_end(node->origin, 200) : "";
    (void)snprintf(out, out_bytes,
                   "function %.100s: ...: %s%snode %.100s (%.80s)%s on %.80s: ", frame->owner,
                   origin, *origin ? ": " : "", node->name, node->op->name, operands,
                   action->device ? action->device->name : "its own device");
}

void gantry__frame_print_place(const gantry__frame_t *frame, const gantry__action_t *action,
                               char *out, size_t out_bytes) {
    print_place(frame, action, print_operands(frame, action).text, out, out_bytes);
}

bool gantry__frame_is_placed(const gantry__frame_t *frame) {
    char beginning[GANTRY__FAULT_PLACE_BYTES];
    const int length = snprintf(beginning, sizeof beginning, "function %s: ", frame->owner);
    return strncmp(gantry__message(), beginning,
                   (size_t)length < sizeof beginning ? (size_t)length : sizeof beginning - 1) == 0;
}

/* A fault of a node in a body of the action names the action without operands. */
static bool begins_at(const gantry__frame_t *frame, const gantry__action_t *action,
                      const char *operands) {
    char place[GANTRY__FAULT_PLACE_BYTES];
    print_place(frame, action, operands, place, sizeof place);
    return strncmp(gantry__message(), place, strlen(place)) == 0;
}

gantry_status_t gantry__frame_fail_at(const gantry__frame_t *frame, const gantry__action_t *action,
                                      gantry_status_t status) {
    const gantry__operands_text_t operands = print_operands(frame, action);
    if (begins_at(frame, action, operands.text) || begins_at(frame, action, "")) return status;
    return gantry__fail_prefix(status, ACT_FORMAT,
                               ACT_WORDS(node_of(frame, action), action, operands.text));
}

/* ---- faults ---- */

/* Variables, values of a loop and intermediate values are overwritten by later steps and calls. */
static const gantry_tensor_t *find_lasting(const gantry__frame_t *frame,
                                           const gantry__action_t *action, int32_t input,
                                           uint64_t *out_offset) {
    const gantry__schedule_t *schedule = frame->schedule;
    if (input < 0 || (uint32_t)input >= action->input_count ||
        (frame->loop && !frame->loop->is_branch))
        return NULL;
    const gantry__slot_t *slot = &schedule->slots[action->inputs[input]],
                         *root = &schedule->slots[slot->root];
    const bool is_argument = root->kind == GANTRY__SLOT_TENSOR && root->made_by != UINT32_MAX &&
                             schedule->actions[root->made_by].kind == GANTRY__ACTION_ARGUMENT;
    if (slot->kind == GANTRY__SLOT_HOST || (root->kind != GANTRY__SLOT_CONSTANT && !is_argument))
        return NULL;
    *out_offset = slot == root ? 0 : slot->offset;
    return gantry__frame_tensor_of(frame, action->inputs[input]);
}

/* Keeps the text of the place. It is printed when the action's kernel makes its first fault; later
 * ones copy it. */
static GANTRY__COLD const char *keep_place(gantry__frame_t *frame, const gantry__action_t *action) {
    char place[GANTRY__FAULT_PLACE_BYTES];
    gantry__frame_print_place(frame, action, place, sizeof place);
    char *kept = gantry__heap_alloc(frame->memory.heap, strlen(place) + 1);
    if (kept) memcpy(kept, place, strlen(place) + 1);
    return frame->places[action->call] = kept;
}

void gantry__frame_drop_places(gantry__frame_t *frame) {
    for (uint32_t i = 0; frame->places && i < frame->schedule->call_count; ++i) {
        if (frame->places[i])
            gantry__heap_free(frame->memory.heap, frame->places[i], strlen(frame->places[i]) + 1);
    }
}

void gantry__frame_name_fault(gantry__frame_t *frame, const gantry__action_t *action,
                              gantry__fault_t *fault) {
    uint64_t offset = 0;
    const char *place = frame->places[action->call];
    if (!place) place = keep_place(frame, action);
    if (place) {
        memcpy(fault->text, place, strlen(place) + 1);
    } else { /* no memory: the next one tries again */
        gantry__frame_print_place(frame, action, fault->text, GANTRY__FAULT_PLACE_BYTES);
    }
    if (!fault->words.value_text) return;
    const gantry_tensor_t *input = find_lasting(frame, action, fault->words.value_input, &offset);
    if (input && input->buffer && input->device == action->device)
        gantry__fault_keep_values(fault, input->buffer, input->offset_bytes + offset,
                                  (int32_t)input->dtype);
}

static gantry_status_t frame_add_fault(gantry__frame_t *frame, gantry__fault_t *fault) {
    for (size_t i = 0; i < frame->fault_count; ++i) {
        if (frame->faults[i] != fault) continue;
        gantry__fault_release(fault);
        return GANTRY_OK;
    }
    if (!gantry__heap_grow(frame->memory.heap, &frame->faults, frame->fault_count,
                           &frame->fault_capacity, sizeof(gantry__fault_t *))) {
        gantry__fault_release(fault);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    frame->faults[frame->fault_count++] = fault;
    return GANTRY_OK;
}

gantry_status_t gantry__frame_keep_fault(gantry__frame_t *frame, gantry__fault_t *fault) {
    if (!fault) return GANTRY_OK;
    gantry__mutex_lock(&frame->shared->faults);
    gantry_status_t status = frame_add_fault(frame, fault);
    gantry__mutex_unlock(&frame->shared->faults);
    return status;
}

gantry_status_t gantry__frame_inherit_faults(gantry__frame_t *frame, gantry_tensor_t *tensor) {
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&frame->shared->faults);
    for (size_t i = 0; i < frame->fault_count && status == GANTRY_OK; ++i)
        status = gantry__tensor_add_fault(tensor, gantry__fault_retain(frame->faults[i]));
    gantry__mutex_unlock(&frame->shared->faults);
    return status;
}

gantry_status_t gantry__frame_find_cause(const gantry__frame_t *frame, gantry_status_t status) {
    char message[GANTRY__MESSAGE_BYTES];
    (void)snprintf(message, sizeof message, "%s", gantry__message());
    for (size_t i = 0; i < frame->fault_count; ++i) {
        const gantry_status_t found = gantry__fault_settle(frame->faults[i]);
        if (atomic_load(&frame->faults[i]->settled) == 2) return found;
    }
    return gantry__fail(status, "%s", message);
}
