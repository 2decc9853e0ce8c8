/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of a call that overwrites variables (pass_overwrite.c): the variable has no value from
 * the kernel's results to its end, and readers wait for its update lock.
 *
 * The value must be the one that the call read, and no other owner may hold it; else the result
 * gets memory of its own. */
#include "device/device_open.h"
#include "device/logical_device.h"
#include "function/frame.h"
#include "run/variable_state.h"

static gantry_status_t wait_for_others(const gantry__act_t *act, const gantry_tensor_t *old) {
    gantry__point_t points[GANTRY__STREAMS - 1];
    if (act->device->synchronous) return GANTRY_OK;
    const uint32_t count = gantry__buffer_other_uses(old->buffer, GANTRY_STREAM_COMPUTE, points);
    if (count == 0) return GANTRY_OK;
    return gantry__stream_wait_for(&act->device->streams[GANTRY_STREAM_COMPUTE], points, count);
}

gantry_status_t gantry__frame_overwrite(gantry__frame_t *frame, const gantry__act_t *act,
                                        uint32_t output, bool *out_done) {
    uint32_t i = 0;
    gantry_tensor_t *tensor;
    *out_done = false;
    while (i < act->overwrite_count && act->overwrites[i].output != output) ++i;
    if (i == act->overwrite_count) return GANTRY_OK;
    gantry_tensor_t *old = frame->tensors[act->inputs[act->overwrites[i].input]];
    if (!gantry__variable_try_withdraw(act->overwrites[i].variable, old)) return GANTRY_OK;
    frame->overwritten[act->overwrites[i].number] = true;
    *out_done = true;
    GANTRY__TRY(wait_for_others(act, old));
    GANTRY__TRY(gantry__tensor_reuse(old, old->dtype, &old->shape, &tensor));
    return gantry__frame_put(frame, act->outputs[output], tensor);
}

gantry_status_t gantry__frame_end_overwrite(gantry__frame_t *frame, const gantry__act_t *act,
                                            gantry_status_t status) {
    for (uint32_t i = 0; i < act->overwrite_count; ++i) {
        const gantry__overwrite_t *overwrite = &act->overwrites[i];
        if (!frame->overwritten[overwrite->number]) continue;
        frame->overwritten[overwrite->number] = false;
        gantry_tensor_t *value = frame->tensors[act->inputs[overwrite->input]];
        if (status == GANTRY_OK) {
            value = frame->tensors[act->outputs[overwrite->output]];
            status = gantry__frame_inherit_faults(frame, value);
        }
        gantry__variable_put(overwrite->variable, gantry_tensor_retain(value));
        gantry__mutex_unlock(&overwrite->variable->update);
    }
    return status;
}
