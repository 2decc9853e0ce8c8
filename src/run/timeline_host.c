/* SPDX-License-Identifier: Apache-2.0 */
/* The host's part of a timeline: calls of ops with the reason for their device, and calls of
 * functions. */
#include <string.h>

#include "device/device_times.h"
#include "run/profile.h"
#include "base/event_clock.h"

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

typedef struct host_args_t {
    gantry__timeline_arg_t list[GANTRY__TIMELINE_ARGS];
    uint32_t count;
} host_args_t;

static void put_host_text(host_args_t *args, const char *name, const char *text) {
    if (*text) args->list[args->count++] = (gantry__timeline_arg_t){name, text, 0};
}

static void put_host_number(host_args_t *args, const char *name, uint64_t number) {
    if (number > 0) args->list[args->count++] = (gantry__timeline_arg_t){name, NULL, number};
}

static void put_host_place(host_args_t *args, const gantry__profile_key_t *key) {
    const gantry__plan_t *plan = key->plan;
    if (key->device) put_host_text(args, "device", key->device->name);
    if (key->reason != GANTRY_PLACED_EXPLICIT) put_host_text(args, "requested", wish_text(plan));
    if (key->reason) put_host_text(args, "reason", gantry_placement_reason_text(key->reason));
    if (!plan || plan->refusal_count == 0) return;
    put_host_text(args, "refused", refused_name(plan));
    put_host_text(args, "refusal", gantry_refusal_text(plan->refusals[0].why));
}

static void put_host_steps(host_args_t *args, const uint64_t *ns) {
    put_host_number(args, "placement_ns", ns[GANTRY__PHASE_PLACEMENT]);
    put_host_number(args, "copy_ns", ns[GANTRY__PHASE_COPY]);
    put_host_number(args, "allocation_ns", ns[GANTRY__PHASE_ALLOCATION]);
    put_host_number(args, "program_ns", ns[GANTRY__PHASE_PROGRAM]);
    put_host_number(args, "launch_ns", ns[GANTRY__PHASE_LAUNCH]);
    put_host_number(args, "kernel_ns", ns[GANTRY__PHASE_KERNEL]);
    put_host_number(args, "wait_ns", ns[GANTRY__PHASE_WAIT]);
}

/* Names of ops and devices, and reasons, are; wishes and nodes may end before the timeline. */
static bool are_constant(const gantry__profile_key_t *key) {
    const gantry__plan_t *plan = key->plan;
    if (key->node || (plan && plan->refusal_count > 0)) return false;
    return key->reason == GANTRY_PLACED_EXPLICIT || !plan || !plan->wish;
}

void gantry__host_times_write(gantry__timeline_t *timeline, const gantry__device_table_t *devices,
                              const gantry__profile_frame_t *frame,
                              const gantry__profile_key_t *key) {
    const gantry__profile_numbers_t *numbers = &frame->numbers;
    const bool is_scope = key->subject == GANTRY__PROFILE_SCOPE;
    gantry__timeline_tell(timeline);
    if (is_scope && frame->since_ns < frame->begun_ns + LEAST_SCOPE_NS) return;
    host_args_t args;
    args.count = 0;
    if (key->node) put_host_text(&args, "node", key->node);
    if (key->part_of != GANTRY__PROFILE_NONE)
        put_host_text(&args, "part_of", gantry__profile_subject_name(key->part_of));
    put_host_place(&args, key);
    put_host_number(&args, "bytes_moved", numbers->bytes_moved);
    if (numbers->launches > 1) put_host_number(&args, "launches", numbers->launches);
    if (frame->has_phases) put_host_steps(&args, numbers->ns);
    gantry__timeline_write(
        timeline,
        &(gantry__timeline_event_t){.phase = 'X',
                                    .process = GANTRY__TIMELINE_HOST,
                                    .category = key->subject < GANTRY__OP_COUNT ? "op" : "call",
                                    .name = gantry__profile_subject_name(key->subject),
                                    .begin_ns = frame->begun_ns,
                                    .end_ns = frame->since_ns,
                                    .args = args.list,
                                    .arg_count = args.count,
                                    .has_constant_texts = are_constant(key)});
    if (is_scope || numbers->allocations > 0) write_levels(timeline, devices, frame->since_ns);
}

void gantry__host_times_function(const gantry__device_table_t *devices, const char *name,
                                 uint64_t begun_ns) {
    gantry__timeline_t *timeline = gantry__device_timeline(devices);
    if (!timeline) return;
    const uint64_t now_ns = gantry__event_ns();
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
