/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of a call that overwrites variables (schedule_overwrite.c): the variable has no value
 * from the kernel's results to its end, and readers wait for its update lock. A branch and the body
 * of a loop overwrite their arguments likewise: the branch or the loop gives up its reference. A
 * tensor that the call has made has no other owner.
 *
 * The value must be the one that the call read, and no other owner may hold it; else the result
 * gets memory of its own. */
#include "device/device_open.h"
#include "device/logical_device.h"
#include "function/frame/frame.h"
#include "run/variable_state.h"

/* Takes the loop's reference to a variable, unless there are others. */
static bool take_from_loop(const gantry__loop_values_t *loop, uint32_t argument,
                           gantry_tensor_t *value) {
    if (argument == GANTRY__NO_ARGUMENT) return gantry__tensor_is_sole(value);
    if (!loop || loop->sources[argument] >= loop->count) return false;
    gantry_tensor_t **held = &loop->values[loop->sources[argument]];
    if (*held != value) return false;
    gantry_tensor_release(value); /* the frame holds another reference */
    const bool is_sole = gantry__tensor_is_sole(value);
    *held = is_sole ? NULL : gantry_tensor_retain(value);
    return is_sole;
}

void gantry__frame_give_up_argument(const gantry__frame_t *frame, uint32_t slot,
                                    const gantry__action_t *user) {
    const gantry__loop_values_t *loop = frame->loop;
    const gantry__schedule_t *schedule = frame->schedule;
    const gantry__action_t *taken = &schedule->actions[schedule->slots[slot].made_by];
    if (!loop || taken->kind != GANTRY__ACTION_ARGUMENT ||
        loop->sources[taken->call] >= loop->count)
        return;
    gantry_tensor_t **held = &loop->values[loop->sources[taken->call]];
    const uint32_t at = (uint32_t)(user - schedule->actions);
    if (*held != frame->tensors[slot] || gantry__schedule_takes_after(schedule, at, taken->call))
        return;
    gantry_tensor_release(*held);
    *held = NULL;
}

static bool try_take(const gantry__frame_t *frame, const gantry__overwrite_t *overwrite,
                     gantry_tensor_t *value) {
    if (!overwrite->variable) return take_from_loop(frame->loop, overwrite->argument, value);
    if (!gantry__variable_try_withdraw(overwrite->variable, value)) return false;
    frame->overwritten[overwrite->number] = true;
    return true;
}

gantry_status_t gantry__frame_overwrite(gantry__frame_t *frame, const gantry__action_t *action,
                                        uint32_t output, bool *out_done) {
    uint32_t i = 0;
    gantry_tensor_t *tensor;
    *out_done = false;
    while (i < action->overwrite_count && action->overwrites[i].output != output) ++i;
    if (i == action->overwrite_count) return GANTRY_OK;
    const gantry__schedule_t *schedule = frame->schedule;
    const uint32_t input = action->inputs[action->overwrites[i].input];
    const gantry__value_t *made =
        &schedule->graph->values[schedule->slots[action->outputs[output]].value];
    gantry_tensor_t *old = frame->tensors[schedule->slots[input].root];
    if (!try_take(frame, &action->overwrites[i], old)) return GANTRY_OK;
    *out_done = true;
    GANTRY__TRY(gantry__buffer_follow_other_uses(old->buffer));
    GANTRY__TRY(gantry__tensor_reuse(old, made->dtype, &made->shape, &tensor));
    return gantry__frame_put(frame, action->outputs[output], tensor);
}

gantry_status_t gantry__frame_end_overwrite(gantry__frame_t *frame, const gantry__action_t *action,
                                            gantry_status_t status) {
    for (uint32_t i = 0; i < action->overwrite_count; ++i) {
        const gantry__overwrite_t *overwrite = &action->overwrites[i];
        if (!frame->overwritten[overwrite->number]) continue;
        frame->overwritten[overwrite->number] = false;
        gantry_tensor_t *value = frame->tensors[action->inputs[overwrite->input]];
        if (status == GANTRY_OK) {
            value = frame->tensors[action->outputs[overwrite->output]];
            status = gantry__frame_inherit_faults(frame, value);
        }
        gantry__variable_put(overwrite->variable, gantry_tensor_retain(value));
        gantry__mutex_unlock(&overwrite->variable->update);
    }
    return status;
}
