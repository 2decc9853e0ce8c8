/* SPDX-License-Identifier: Apache-2.0 */
/* The host's part of a timeline: calls of ops with the reason for their device, and calls of
 * functions. */
#include <string.h>

#include "device/device_times.h"
#include "run/profile.h"

/* The beginning and end of scopes are written from this length on: most are shorter than the time
 * that their events would take. */
#define LEAST_SCOPE_NS 2000

static const char *wish_text(const gantry__plan_t *plan) {
    return plan && plan->wish ? plan->wish->text : "";
}

/* The first device that was passed over. */
static const char *refused_name(const gantry__plan_t *plan) {
    if (!plan || plan->refusal_count == 0) return "";
    return plan->refusals[0].device ? plan->refusals[0].device->name : wish_text(plan);
}

/* The levels of all devices whose timeline has begun. */
static void write_levels(gantry__timeline_t *timeline, const gantry__device_table_t *devices,
                         uint64_t now_ns) {
    for (size_t i = 0; i < devices->logical_count; ++i) {
        gantry_logical_device_t *device = devices->logical[i];
        if (atomic_load(&device->is_open) && atomic_load(&device->times))
            gantry__device_times_level(device, timeline, now_ns);
    }
}

void gantry__host_times_write(gantry__timeline_t *timeline, const gantry__device_table_t *devices,
                              const gantry__profile_frame_t *frame,
                              const gantry__profile_key_t *key) {
    const gantry__profile_numbers_t *numbers = &frame->numbers;
    const gantry__plan_t *plan = key->plan;
    const bool is_scope = key->subject == GANTRY__PROFILE_SCOPE;
    const bool is_op = key->subject < GANTRY__OP_COUNT;
    gantry__timeline_tell(timeline);
    if (is_scope && frame->since_ns < frame->begun_ns + LEAST_SCOPE_NS) return;
    const gantry__timeline_arg_t args[] = {
        {"node", key->node ? key->node : "", 0},
        {"part_of", gantry__profile_subject_name(key->part_of), 0},
        {"device", key->device ? key->device->name : "", 0},
        {"requested", key->reason == GANTRY_PLACED_EXPLICIT ? "" : wish_text(plan), 0},
        {"reason", key->reason ? gantry_placement_reason_text(key->reason) : "", 0},
        {"refused", refused_name(plan), 0},
        {"refusal",
         plan && plan->refusal_count > 0 ? gantry_refusal_text(plan->refusals[0].why) : "", 0},
        {"bytes_moved", NULL, numbers->bytes_moved},
        {"launches", NULL, numbers->launches},
        {"placement_ns", NULL, numbers->ns[GANTRY__STEP_PLACEMENT]},
        {"copy_ns", NULL, numbers->ns[GANTRY__STEP_COPY]},
        {"allocation_ns", NULL, numbers->ns[GANTRY__STEP_ALLOCATION]},
        {"program_ns", NULL, numbers->ns[GANTRY__STEP_PROGRAM]},
        {"launch_ns", NULL, numbers->ns[GANTRY__STEP_LAUNCH]},
        {"kernel_ns", NULL, numbers->ns[GANTRY__STEP_KERNEL]},
        {"wait_ns", NULL, numbers->ns[GANTRY__STEP_WAIT]}};
    enum { MOST_ARGS = sizeof args / sizeof args[0] };
    gantry__timeline_write(
        timeline, &(gantry__timeline_event_t){.phase = 'X',
                                              .process = GANTRY__TIMELINE_HOST,
                                              .category = is_op ? "op" : "call",
                                              .name = gantry__profile_subject_name(key->subject),
                                              .begin_ns = frame->begun_ns,
                                              .end_ns = frame->since_ns,
                                              .args = args,
                                              .arg_count = frame->has_steps ? MOST_ARGS : 9});
    if (is_scope || numbers->allocations > 0) write_levels(timeline, devices, frame->since_ns);
}

void gantry__host_times_function(const gantry__device_table_t *devices, const char *name,
                                 uint64_t begun_ns) {
    gantry__timeline_t *timeline = gantry__device_timeline(devices);
    if (!timeline) return;
    const uint64_t now_ns = gantry__now_ns();
    gantry__timeline_write(timeline, &(gantry__timeline_event_t){.phase = 'X',
                                                                 .process = GANTRY__TIMELINE_HOST,
                                                                 .category = "function",
                                                                 .name = name,
                                                                 .begin_ns = begun_ns,
                                                                 .end_ns = now_ns});
    write_levels(timeline, devices, now_ns);
}

void gantry__host_times_program(const gantry__device_table_t *devices, const char *name,
                                const char *detail, uint64_t begin_ns, uint64_t end_ns) {
    gantry__timeline_t *timeline = gantry__device_timeline(devices);
    if (!timeline) return;
    const gantry__timeline_arg_t args[] = {{"detail", detail ? detail : "", 0}};
    gantry__timeline_write(timeline, &(gantry__timeline_event_t){.phase = 'X',
                                                                 .process = GANTRY__TIMELINE_HOST,
                                                                 .category = "program",
                                                                 .name = name,
                                                                 .begin_ns = begin_ns,
                                                                 .end_ns = end_ns,
                                                                 .args = args,
                                                                 .arg_count = 1});
}
