/* SPDX-License-Identifier: Apache-2.0 */
#include "function/schedule/replay.h"

#include <stdio.h>

#include "device/logical_device.h"
#include "kernel/capture.h"

enum { REFUSAL_NONE = 0, REFUSAL_WRITTEN = 1, REFUSAL_THERE = 2 };

/* ---- actions ---- */

/* Whether the action only binds a tensor, or copies one to its device; both may come earlier. */
static bool may_come_first(const gantry__action_t *action) {
    return action->kind == GANTRY__ACTION_ARGUMENT || action->kind == GANTRY__ACTION_READ;
}

/* A constant has the same value in each call, wherever a kernel reads it. */
static bool reads_call_on_host(const gantry__schedule_t *schedule, const gantry__action_t *action) {
    for (uint32_t i = 0; i < action->input_count; ++i) {
        const gantry__slot_t *slot = &schedule->slots[action->inputs[i]];
        if (slot->kind == GANTRY__SLOT_HOST &&
            schedule->slots[slot->root].kind != GANTRY__SLOT_CONSTANT)
            return true;
    }
    return false;
}

gantry__replay_why_t gantry__replay_ask_device(const gantry__schedule_t *schedule,
                                               const gantry_logical_device_t *device) {
    if (!gantry__capture_is_possible(device)) return GANTRY__REPLAY_NO_GRAPHS;
    if (schedule->graph->is_never_replayed) return GANTRY__REPLAY_OFF;
    return schedule->lane_count > 1 ? GANTRY__REPLAY_LANES : GANTRY__REPLAYS;
}

static gantry__replay_why_t ask_action(const gantry__schedule_t *schedule, uint32_t index) {
    const gantry__action_t *action = &schedule->actions[index];
    if (action->kind != GANTRY__ACTION_CALL) return GANTRY__REPLAY_NO_LAUNCH;
    const gantry__replay_why_t device = gantry__replay_ask_device(schedule, action->device);
    if (device != GANTRY__REPLAYS) return device;
    if (reads_call_on_host(schedule, action)) return GANTRY__REPLAY_HOST;
    if (schedule->graph->nodes[action->node].op->id == GANTRY__OP_ID_NcclAllReduce)
        return GANTRY__REPLAY_READS;
    const unsigned why =
        schedule->notes
            ? atomic_load_explicit(&schedule->notes->actions[index].why, memory_order_acquire)
            : GANTRY__REPLAYS;
    return why == GANTRY__REPLAY_FAULT || why == GANTRY__REPLAY_READS ? (gantry__replay_why_t)why
                                                                      : GANTRY__REPLAYS;
}

/* ---- runs ---- */

static void extend_run(const gantry__schedule_t *schedule, gantry__run_t *run) {
    for (uint32_t i = run->end; i < schedule->action_count; ++i) {
        const gantry__action_t *action = &schedule->actions[i];
        if (may_come_first(action)) continue;
        if (action->device != run->device || ask_action(schedule, i) != GANTRY__REPLAYS) return;
        run->end = i + 1;
        ++run->kernels;
    }
}

static gantry__replay_why_t why_of_run(const gantry__schedule_t *schedule,
                                       const gantry__run_t *run) {
    if (run->kernels < GANTRY__LEAST_REPLAYED) return GANTRY__REPLAY_FEW;
    return schedule->notes ? (gantry__replay_why_t)atomic_load_explicit(
                                 &schedule->notes->actions[run->first].why, memory_order_acquire)
                           : GANTRY__REPLAYS;
}

bool gantry__replay_next_run(const gantry__schedule_t *schedule, uint32_t from,
                             gantry__run_t *out_run) {
    while (from < schedule->action_count && schedule->actions[from].kind != GANTRY__ACTION_CALL)
        ++from;
    if (from == schedule->action_count) return false;
    *out_run = (gantry__run_t){.first = from,
                               .end = from + 1,
                               .kernels = 1,
                               .device = schedule->actions[from].device,
                               .why = ask_action(schedule, from)};
    if (out_run->why != GANTRY__REPLAYS) return true;
    extend_run(schedule, out_run);
    out_run->why = why_of_run(schedule, out_run);
    return true;
}

/* ---- notes ---- */

static bool may_replay(const gantry__schedule_t *schedule) {
    for (size_t i = 0; i < schedule->action_count; ++i) {
        const gantry__action_t *action = &schedule->actions[i];
        if (action->kind == GANTRY__ACTION_CALL &&
            gantry__replay_ask_device(schedule, action->device) == GANTRY__REPLAYS)
            return true;
    }
    return false;
}

gantry_status_t gantry__schedule_make_notes(gantry__schedule_t *schedule) {
    if (!may_replay(schedule)) return GANTRY_OK;
    schedule->notes = gantry__arena_zalloc(
        &schedule->memory, 1,
        sizeof *schedule->notes + schedule->action_count * sizeof schedule->notes->actions[0]);
    return schedule->notes ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__replay_note_action(const gantry__schedule_t *schedule, const gantry__action_t *action,
                                gantry__replay_why_t why) {
    gantry__replay_notes_t *notes = schedule->notes;
    if (!notes) return;
    gantry__replay_note_t *note = &notes->actions[action - schedule->actions];
    if (atomic_exchange_explicit(&note->why, (unsigned)why, memory_order_acq_rel) != (unsigned)why)
        atomic_fetch_add_explicit(&notes->found, 1, memory_order_release);
}

void gantry__replay_note_refusal(const gantry__schedule_t *schedule, const gantry__run_t *run) {
    gantry__replay_notes_t *notes = schedule->notes;
    unsigned none = REFUSAL_NONE;
    if (atomic_compare_exchange_strong(&notes->refusal_state, &none, REFUSAL_WRITTEN)) {
        (void)snprintf(notes->refusal, sizeof notes->refusal, "%s", gantry__message());
        atomic_store_explicit(&notes->refusal_state, REFUSAL_THERE, memory_order_release);
    }
    atomic_store_explicit(&notes->actions[run->first].why, GANTRY__REPLAY_REFUSED,
                          memory_order_release);
}

const char *gantry__replay_refusal(const gantry__schedule_t *schedule) {
    const gantry__replay_notes_t *notes = schedule->notes;
    return notes && atomic_load_explicit(&notes->refusal_state, memory_order_acquire) ==
                        REFUSAL_THERE
               ? notes->refusal
               : "";
}

/* ---- words ---- */

const char *gantry__replay_word(gantry__replay_why_t why) {
    switch (why) {
        case GANTRY__REPLAY_OFF: return "device_graphs is off";
        case GANTRY__REPLAY_NO_GRAPHS: return "no graphs";
        case GANTRY__REPLAY_LANES: return "threads";
        case GANTRY__REPLAY_NO_LAUNCH: return "no launch";
        case GANTRY__REPLAY_HOST: return "host input";
        case GANTRY__REPLAY_FAULT: return "error slot";
        case GANTRY__REPLAY_READS: return "waits";
        case GANTRY__REPLAY_FEW: return "few";
        case GANTRY__REPLAY_REFUSED: return "refused";
        case GANTRY__REPLAY_MOVES: return "addresses";
        default: return "";
    }
}

const char *gantry__replay_text(gantry__replay_why_t why) {
    switch (why) {
        case GANTRY__REPLAY_OFF: return "the option device_graphs is off";
        case GANTRY__REPLAY_NO_GRAPHS: return "the backend makes no graphs";
        case GANTRY__REPLAY_LANES: return "several threads run parts of a call";
        case GANTRY__REPLAY_NO_LAUNCH: return "the step does more than launch kernels";
        case GANTRY__REPLAY_HOST: return "the kernel reads values of the call on the host";
        case GANTRY__REPLAY_FAULT: return "the kernel may report an error in its data";
        case GANTRY__REPLAY_READS: return "the kernel waits for its device, or for others";
        case GANTRY__REPLAY_FEW: return "too few kernels follow each other";
        case GANTRY__REPLAY_REFUSED: return "the device refused to record them";
        case GANTRY__REPLAY_MOVES: return "arguments or results move from call to call";
        default: return "";
    }
}
