/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a profile for an op on the eager path. */
#include "device/device_times.h"
#include "run/eager_state.h"

static bool times_kernels(const gantry__eager_t *eager) {
    return !eager->device->synchronous &&
           gantry__device_profile_mode(&eager->runtime->devices) == GANTRY_PROFILE_WAIT;
}

void gantry__eager_settle_points(const gantry__eager_t *eager) {
    for (uint32_t i = 0; times_kernels(eager) && i < eager->point_count; ++i)
        (void)gantry__point_wait(eager->points[i]);
    if (!eager->device->synchronous)
        (void)gantry__profile_enter(eager->frame, GANTRY__PHASE_LAUNCH);
}

void gantry__eager_settle_kernel(const gantry__eager_t *eager, gantry__point_t point) {
    if (times_kernels(eager)) {
        (void)gantry__profile_enter(eager->frame, GANTRY__PHASE_KERNEL);
        (void)gantry__point_wait(point);
    }
    (void)gantry__profile_enter(eager->frame, GANTRY__PHASE_SCOPE);
}

gantry_status_t gantry__eager_call_recorded(gantry__eager_t *eager) {
    gantry__profile_numbers_t *numbers = &eager->frame->numbers;
    const uint64_t launches = numbers->launches;
    if (eager->device->synchronous) (void)gantry__profile_enter(eager->frame, GANTRY__PHASE_KERNEL);
    gantry__timed_t timed;
    gantry__timed_begin(&timed, eager->device, GANTRY__TIMED_OP, eager->op->name);
    eager->frame->times_launches = timed.timeline && !eager->device->synchronous;
    gantry_status_t status = gantry__eager_call(eager);
    if (numbers->launches == launches) ++numbers->launches;
    for (uint32_t i = 0; i < eager->input_count; ++i)
        numbers->argument_bytes += eager->inputs[i]->size_bytes;
    for (uint32_t i = 0; i < eager->made_count; ++i)
        if (eager->made[i]) numbers->argument_bytes += eager->made[i]->size_bytes;
    if (eager->frame->launched_ns) timed.since_ns = eager->frame->launched_ns;
    gantry__timed_end(&timed, numbers->argument_bytes);
    return status;
}

void gantry__eager_keep_profile(const gantry__eager_t *eager) {
    const gantry__op_def_t *called = eager->scope->called;
    const gantry__plan_t *plan = eager->kept ? &eager->kept->plan : NULL;
    gantry__profile_keep(&eager->runtime->profile, eager->frame,
                         &(gantry__profile_key_t){
                             eager->op->id, called ? called->id : GANTRY__PROFILE_NONE,
                             eager->device, plan, plan ? plan->reason : GANTRY_PLACED_NONE, NULL});
}
