/* SPDX-License-Identifier: Apache-2.0 */
#include "base/profile_frame.h"

#include "base/event_clock.h"
#include "base/os/thread.h"

static _Thread_local gantry__profile_frame_t *innermost;

gantry__profile_frame_t *gantry__profile_current(void) { return innermost; }

static void profile_charge(gantry__profile_frame_t *frame, uint64_t now_ns) {
    frame->numbers.ns[frame->phase] += now_ns - frame->since_ns;
    frame->since_ns = now_ns;
}

void gantry__profile_open(gantry__profile_frame_t *frame, bool has_phases) {
    uint64_t now_ns = gantry__event_ns();
    if (innermost) profile_charge(innermost, now_ns);
    *frame = (gantry__profile_frame_t){.outer = innermost,
                                       .phase = GANTRY__PHASE_SCOPE,
                                       .has_phases = has_phases,
                                       .since_ns = now_ns,
                                       .begun_ns = now_ns,
                                       .numbers = {.calls = 1}};
    innermost = frame;
}

void gantry__profile_close(gantry__profile_frame_t *frame) {
    uint64_t now_ns = gantry__event_ns();
    profile_charge(frame, now_ns);
    innermost = frame->outer;
    if (innermost) innermost->since_ns = now_ns;
}

void gantry__profile_count_launch(gantry__profile_frame_t *frame) {
    if (frame->times_launches && frame->launched_ns == 0) frame->launched_ns = gantry__event_ns();
    ++frame->numbers.launches;
}

gantry__phase_t gantry__profile_switch(gantry__profile_frame_t *frame, gantry__phase_t phase) {
    gantry__phase_t before = frame->phase;
    bool is_part = phase == GANTRY__PHASE_WAIT &&
                   (before == GANTRY__PHASE_KERNEL || before == GANTRY__PHASE_ALLOCATION);
    if (before == phase || is_part) return before;
    profile_charge(frame, gantry__event_ns());
    frame->phase = phase;
    return before;
}

void gantry__profile_add(gantry__profile_numbers_t *sum, const gantry__profile_numbers_t *numbers) {
    sum->calls += numbers->calls;
    sum->launches += numbers->launches;
    sum->bytes_moved += numbers->bytes_moved;
    sum->argument_bytes += numbers->argument_bytes;
    sum->allocations += numbers->allocations;
    sum->allocated_bytes += numbers->allocated_bytes;
    sum->driver_allocations += numbers->driver_allocations;
    for (int i = 0; i < GANTRY__PHASES; ++i) sum->ns[i] += numbers->ns[i];
}
