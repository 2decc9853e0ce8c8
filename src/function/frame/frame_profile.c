/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a profile for the actions of a function: each has the row of its node's op, as if it
 * ran by itself. */
#include "device/device_times.h"
#include "function/frame/frame.h"

static void count_arguments(const gantry__frame_t *frame, const gantry__action_t *action,
                            gantry__profile_numbers_t *numbers) {
    const gantry__schedule_t *schedule = frame->schedule;
    for (uint32_t i = 0; i < action->input_count; ++i)
        numbers->argument_bytes +=
            schedule->graph->values[schedule->slots[action->inputs[i]].value].bytes;
    for (uint32_t i = 0; i < action->output_count; ++i)
        numbers->argument_bytes +=
            schedule->graph->values[schedule->slots[action->outputs[i]].value].bytes;
}

/* Waits, in a profile that times kernels, for all that the device's stream has. A failure stays
 * with its point. */
static void settle_kernel(const gantry__action_t *action, gantry__profile_frame_t *record,
                          int mode) {
    if (action->device->synchronous || mode != GANTRY_PROFILE_WAIT) return;
    gantry__stream_t *stream = &action->device->streams[GANTRY_STREAM_COMPUTE];
    gantry__stream_begin(stream);
    const gantry__point_t submitted = {stream, gantry__stream_end(stream)};
    (void)gantry__profile_enter(record, GANTRY__PHASE_KERNEL);
    (void)gantry__point_wait(submitted);
}

static gantry_status_t call_recorded(gantry__frame_t *frame, const gantry__action_t *action,
                                     const gantry_tensor_t *const *arguments,
                                     gantry__profile_frame_t *record, int mode) {
    gantry__call_t *call = &frame->calls[action->call];
    call->frame = record;
    (void)gantry__profile_enter(
        record, action->device->synchronous ? GANTRY__PHASE_KERNEL : GANTRY__PHASE_LAUNCH);
    gantry__timed_t timed;
    gantry__timed_begin(&timed, action->device, GANTRY__TIMED_OP,
                        frame->schedule->graph->nodes[action->node].op->name);
    record->times_launches = timed.timeline && !action->device->synchronous;
    gantry_status_t status = gantry__frame_do_silently(frame, action, arguments);
    call->frame = NULL;
    count_arguments(frame, action, &record->numbers);
    if (record->launched_ns) timed.since_ns = record->launched_ns;
    gantry__timed_end(&timed, record->numbers.argument_bytes);
    settle_kernel(action, record, mode);
    if (record->numbers.launches == 0) record->numbers.launches = 1;
    return status;
}

gantry_status_t gantry__frame_do_recorded(gantry__frame_t *frame, const gantry__action_t *action,
                                          const gantry_tensor_t *const *arguments) {
    gantry_runtime_t *runtime = frame->schedule->runtime;
    const gantry__node_t *node = &frame->schedule->graph->nodes[action->node];
    const gantry__node_place_t *place = &frame->schedule->places[action->node];
    const int mode = (int)gantry__device_profile_mode(&runtime->devices);
    gantry__profile_frame_t record;
    gantry__profile_open(&record, mode != GANTRY_PROFILE_DEFAULT);
    gantry_status_t status = action->kind == GANTRY__ACTION_CALL
                                 ? call_recorded(frame, action, arguments, &record, mode)
                                 : gantry__frame_do_silently(frame, action, arguments);
    gantry__profile_keep(
        &runtime->profile, &record,
        &(gantry__profile_key_t){
            node->op->id, node->part_of ? node->part_of->id : GANTRY__PROFILE_NONE, action->device,
            place->kept ? &place->kept->plan : NULL, place->reason, node->name});
    return status;
}
