/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a schedule with graphs of devices in place of single kernels; schedule/replay.h says which
 * actions make a run.
 *
 * A graph keeps the addresses that its kernels were given. Arenas and constants keep theirs. Those
 * of arguments, variables and results are the callers'. So a run has a graph for each of the last
 * few sets of addresses:
 *
 *     addresses   A      B      A            A         C      B             B
 *     does        runs   runs   records A,   launches  runs   records B,    launches
 *                               launches it  A                launches it   B
 *
 * Recording costs about as much as running, so it pays only for addresses that come again: a set is
 * recorded when it is met a second time. A run whose graphs are thrown away unused stops recording.
 * Freed regions may come back as others with the same numbers, so all graphs end then. */
#include <stdio.h>
#include <string.h>

#include "device/logical_device.h"
#include "device/loss.h"
#include "function/frame/frame.h"
#include "function/schedule/replay.h"

#define MOST_GRAPHS 4u /* of a run */
#define MOST_SEEN 8u   /* sets of addresses that a run remembers */
#define MOST_WASTED 8u /* graphs that were thrown away after fewer than LEAST_REPLAYS launches */
#define LEAST_REPLAYS 2u
#define MANY_MISSES 16u /* calls after each other without a graph: the explanation says why */

/* The place where the memory of a slot begins. */
typedef struct place_t {
    uint64_t region, offset;
} place_t;

typedef struct replay_graph_t {
    gantry_backend_graph_t *handle; /* NULL: none */
    place_t *places;                /* of the run's outer slots */
    uint64_t launches;              /* the number of kernels' launches */
    uint64_t replays, last_call;
    gantry__point_t last; /* launch */
} replay_graph_t;

typedef struct replay_run_t {
    gantry__run_t run;
    uint32_t *outer; /* roots that kernels of the run use and that are in no arena */
    uint32_t outer_count;
    place_t *places; /* of this call */
    gantry__capture_t *capture;
    replay_graph_t graphs[MOST_GRAPHS];
    uint64_t seen[MOST_SEEN]; /* hashes of places; 0: none */
    uint64_t calls, freed_regions;
    uint32_t misses, wasted;
    bool is_off; /* nothing is recorded any more */
} replay_run_t;

struct gantry__replay_t {
    gantry__arena_t memory;
    replay_run_t *runs;
    size_t run_count, capture_count;
    gantry__capture_t *captures; /* one for each device */
    unsigned found;              /* the count of the notes when the runs were found */
};

/* ---- graphs ---- */

/* Waits for the last launch of a graph, because a graph with a pending launch must not be
 * destroyed, and destroys it. */
static void replay_drop_graph(const replay_run_t *run, replay_graph_t *graph) {
    if (!graph->handle) return;
    const uint32_t before = gantry__failures();
    (void)gantry__point_wait(graph->last);
    gantry__forget_since(before);
    run->run.device->backend->graph->destroy(graph->handle);
    graph->handle = NULL;
    graph->replays = 0;
    graph->last = (gantry__point_t){NULL, 0};
}

static void drop_graphs(replay_run_t *run) {
    for (uint32_t i = 0; i < MOST_GRAPHS; ++i) replay_drop_graph(run, &run->graphs[i]);
}

/* ---- runs of a frame ---- */

static void add_outer(const gantry__frame_t *frame, replay_run_t *run, uint32_t slot,
                      bool *is_outer) {
    const gantry__schedule_t *schedule = frame->schedule;
    const uint32_t root = schedule->slots[slot].root;
    const gantry__slot_kind_t kind = schedule->slots[root].kind;
    if (schedule->slots[slot].kind == GANTRY__SLOT_HOST || is_outer[root] ||
        (kind != GANTRY__SLOT_TENSOR && kind != GANTRY__SLOT_CONSTANT))
        return;
    is_outer[root] = true;
    run->outer[run->outer_count++] = root;
}

static void find_outer(const gantry__frame_t *frame, replay_run_t *run, bool *is_outer) {
    const gantry__schedule_t *schedule = frame->schedule;
    for (uint32_t i = run->run.first; i < run->run.end; ++i) {
        const gantry__action_t *action = &schedule->actions[i];
        if (action->kind != GANTRY__ACTION_CALL) continue;
        for (uint32_t k = 0; k < action->input_count; ++k)
            add_outer(frame, run, action->inputs[k], is_outer);
        for (uint32_t k = 0; k < action->output_count; ++k)
            add_outer(frame, run, action->outputs[k], is_outer);
    }
    for (uint32_t i = 0; i < run->outer_count; ++i) is_outer[run->outer[i]] = false;
}

static uint32_t count_slots(const gantry__schedule_t *schedule, const gantry__run_t *run) {
    uint32_t count = 0;
    for (uint32_t i = run->first; i < run->end; ++i)
        count += schedule->actions[i].input_count + schedule->actions[i].output_count;
    return count;
}

static gantry__capture_t *capture_of(gantry__replay_t *replay, gantry_logical_device_t *device) {
    size_t i = 0;
    while (i < replay->capture_count && replay->captures[i].device != device) ++i;
    if (i == replay->capture_count) {
        gantry__capture_init(&replay->captures[i], device);
        ++replay->capture_count;
    }
    return &replay->captures[i];
}

static gantry_status_t replay_add_run(const gantry__frame_t *frame, gantry__replay_t *replay,
                                      const gantry__run_t *found, bool *is_outer) {
    replay_run_t *run = &replay->runs[replay->run_count];
    const uint32_t most = count_slots(frame->schedule, found);
    run->run = *found;
    run->outer = gantry__arena_zalloc(&replay->memory, most, sizeof *run->outer);
    if (!run->outer) return GANTRY_RESOURCE_EXHAUSTED;
    find_outer(frame, run, is_outer);
    run->places = gantry__arena_zalloc(&replay->memory, run->outer_count, sizeof *run->places);
    for (uint32_t i = 0; i < MOST_GRAPHS; ++i) {
        run->graphs[i].places =
            gantry__arena_zalloc(&replay->memory, run->outer_count, sizeof *run->places);
        if (!run->graphs[i].places) return GANTRY_RESOURCE_EXHAUSTED;
    }
    if (!run->places) return GANTRY_RESOURCE_EXHAUSTED;
    run->capture = capture_of(replay, found->device);
    run->freed_regions = atomic_load(&found->device->freed_regions);
    ++replay->run_count;
    return GANTRY_OK;
}

static bool may_be_replayed(const gantry__run_t *run) {
    return run->why == GANTRY__REPLAYS || run->why == GANTRY__REPLAY_MOVES;
}

static gantry_status_t replay_fill(const gantry__frame_t *frame, gantry__replay_t *replay) {
    const gantry__schedule_t *schedule = frame->schedule;
    gantry__run_t run;
    size_t count = 0;
    for (uint32_t from = 0; gantry__replay_next_run(schedule, from, &run); from = run.end)
        count += may_be_replayed(&run);
    bool *is_outer = gantry__arena_zalloc(&replay->memory, schedule->slot_count, sizeof *is_outer);
    replay->runs = gantry__arena_zalloc(&replay->memory, count, sizeof *replay->runs);
    replay->captures = gantry__arena_zalloc(&replay->memory, count, sizeof *replay->captures);
    if (!is_outer || !replay->runs || !replay->captures) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t from = 0; gantry__replay_next_run(schedule, from, &run) &&
                            replay->run_count < count; /* another frame may note more meanwhile */
         from = run.end) {
        if (may_be_replayed(&run)) GANTRY__TRY(replay_add_run(frame, replay, &run, is_outer));
    }
    return GANTRY_OK;
}

void gantry__frame_drop_replay(gantry__frame_t *frame) {
    gantry__replay_t *replay = frame->replay;
    if (!replay) return;
    for (size_t i = 0; i < replay->run_count; ++i) drop_graphs(&replay->runs[i]);
    for (size_t i = 0; i < replay->capture_count; ++i) gantry__capture_deinit(&replay->captures[i]);
    gantry__arena_deinit(&replay->memory);
    gantry__heap_free(frame->memory.heap, replay, sizeof *replay);
    frame->replay = NULL;
}

/* Returns what replays the frame's runs. Without memory for the runs, or before any is found, the
 * call launches kernel by kernel. */
static gantry__replay_t *ready_replay(gantry__frame_t *frame) {
    const unsigned found =
        atomic_load_explicit(&frame->schedule->notes->found, memory_order_acquire);
    if (frame->replay && frame->replay->found == found) return frame->replay;
    const uint32_t before = gantry__failures();
    gantry__frame_drop_replay(frame);
    frame->replay = gantry__heap_zalloc(frame->memory.heap, sizeof *frame->replay);
    if (frame->replay) {
        frame->replay->found = found;
        gantry__arena_init(&frame->replay->memory, frame->memory.heap);
        if (replay_fill(frame, frame->replay) != GANTRY_OK) gantry__frame_drop_replay(frame);
    }
    gantry__forget_since(before);
    return frame->replay;
}

/* ---- addresses ---- */

static void read_places(const gantry__frame_t *frame, replay_run_t *run) {
    for (uint32_t i = 0; i < run->outer_count; ++i) {
        const gantry_span_t *span = &frame->args[run->outer[i]].span;
        run->places[i] = (place_t){span->region, span->offset_bytes};
    }
}

static uint64_t hash_places(const replay_run_t *run) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < run->outer_count; ++i) {
        hash = (hash ^ run->places[i].region) * UINT64_C(0x100000001b3);
        hash = (hash ^ run->places[i].offset) * UINT64_C(0x100000001b3);
    }
    return hash | 1;
}

/* Whether a call had these addresses before; this one counts for the next. */
static bool were_seen(replay_run_t *run) {
    const uint64_t hash = hash_places(run);
    for (uint32_t i = 0; i < MOST_SEEN; ++i) {
        if (run->seen[i] == hash) return true;
    }
    run->seen[run->calls % MOST_SEEN] = hash;
    return false;
}

/* Launches of a graph run one after the other, so a failed one fails the next, too. */
static replay_graph_t *find_graph(replay_run_t *run) {
    for (uint32_t i = 0; i < MOST_GRAPHS; ++i) {
        replay_graph_t *graph = &run->graphs[i];
        if (!graph->handle ||
            memcmp(graph->places, run->places, run->outer_count * sizeof *run->places) != 0)
            continue;
        if (!gantry__point_has_failed(graph->last)) return graph;
        replay_drop_graph(run, graph);
    }
    return NULL;
}

static void check_regions(replay_run_t *run) {
    const uint64_t freed = atomic_load(&run->run.device->freed_regions);
    if (freed == run->freed_regions) return;
    drop_graphs(run);
    memset(run->seen, 0, sizeof run->seen);
    run->freed_regions = freed;
}

/* ---- recording ---- */

static gantry__replay_note_t *note_of(const gantry__frame_t *frame, const replay_run_t *run) {
    return &frame->schedule->notes->actions[run->run.first];
}

static gantry_status_t capture_kernel(gantry__frame_t *frame, const replay_run_t *run,
                                      const gantry__action_t *action) {
    gantry__call_t *call = &frame->calls[action->call];
    gantry_backend_stream_t *stream = call->abi.stream;
    call->capture = run->capture;
    call->abi.stream = run->capture->stream;
    gantry_status_t status = (gantry_status_t)call->abi.kernel->compute(&call->abi);
    call->abi.stream = stream;
    call->capture = NULL;
    gantry__capture_end_call(run->capture);
    return status;
}

static gantry_status_t capture_kernels(gantry__frame_t *frame, const replay_run_t *run) {
    for (uint32_t i = run->run.first; i < run->run.end; ++i) {
        const gantry__action_t *action = &frame->schedule->actions[i];
        if (action->kind == GANTRY__ACTION_CALL && !action->is_empty)
            GANTRY__TRY(capture_kernel(frame, run, action));
    }
    return GANTRY_OK;
}

/* The oldest makes room. NULL: too many were thrown away unused. */
static replay_graph_t *make_room(replay_run_t *run) {
    replay_graph_t *oldest = &run->graphs[0];
    for (uint32_t i = 1; i < MOST_GRAPHS && oldest->handle; ++i) {
        if (!run->graphs[i].handle || run->graphs[i].last_call < oldest->last_call)
            oldest = &run->graphs[i];
    }
    if (oldest->handle && oldest->replays < LEAST_REPLAYS) ++run->wasted;
    run->is_off = run->wasted >= MOST_WASTED;
    if (run->is_off) return NULL;
    replay_drop_graph(run, oldest);
    return oldest;
}

static gantry_status_t capture_graph(gantry__frame_t *frame, const replay_run_t *run,
                                     replay_graph_t *graph) {
    gantry_backend_graph_t *handle;
    GANTRY__TRY(gantry__capture_begin(run->capture));
    gantry_status_t status = capture_kernels(frame, run);
    if (status != GANTRY_OK) gantry__replay_note_refusal(frame->schedule, &run->run);
    const gantry_status_t ended = gantry__capture_end(run->capture, &handle);
    if (status != GANTRY_OK || ended != GANTRY_OK) {
        if (handle) run->run.device->backend->graph->destroy(handle);
        return status != GANTRY_OK ? status : ended;
    }
    graph->handle = handle;
    graph->launches = run->capture->launches;
    memcpy(graph->places, run->places, run->outer_count * sizeof *run->places);
    return GANTRY_OK;
}

/* A refused recording is no failure of the call: its kernels are launched one by one. */
static replay_graph_t *record_graph(gantry__frame_t *frame, replay_run_t *run) {
    const uint32_t before = gantry__failures();
    replay_graph_t *graph = make_room(run);
    if (!graph) return NULL;
    if (capture_graph(frame, run, graph) == GANTRY_OK) {
        atomic_fetch_add_explicit(&note_of(frame, run)->captures, 1, memory_order_relaxed);
        return graph;
    }
    gantry__replay_note_refusal(frame->schedule, &run->run);
    gantry__forget_since(before);
    run->is_off = true;
    return NULL;
}

/* The graph for the addresses of this call; NULL: there is none. */
static replay_graph_t *choose_graph(gantry__frame_t *frame, replay_run_t *run) {
    check_regions(run);
    read_places(frame, run);
    ++run->calls;
    replay_graph_t *graph = find_graph(run);
    if (!graph && !run->is_off && were_seen(run)) graph = record_graph(frame, run);
    atomic_uint *why = &note_of(frame, run)->why;
    unsigned moves = GANTRY__REPLAY_MOVES, none = GANTRY__REPLAYS;
    if (graph) {
        graph->last_call = run->calls;
        if (run->misses >= MANY_MISSES)
            (void)atomic_compare_exchange_strong(why, &moves, GANTRY__REPLAYS);
        run->misses = 0;
    } else if (++run->misses == MANY_MISSES || run->is_off) {
        (void)atomic_compare_exchange_strong(why, &none, GANTRY__REPLAY_MOVES);
    }
    return graph;
}

/* ---- one run ---- */

/* Binds all tensors that the run's kernels use. */
static gantry_status_t bind_run(gantry__frame_t *frame, const replay_run_t *run,
                                const gantry_tensor_t *const *arguments) {
    for (uint32_t i = run->run.first; i < run->run.end; ++i) {
        const gantry__action_t *action = &frame->schedule->actions[i];
        gantry_status_t status = action->kind == GANTRY__ACTION_CALL
                                     ? gantry__frame_make_results(frame, action)
                                     : gantry__frame_do_silently(frame, action, arguments);
        if (status != GANTRY_OK) return gantry__frame_fail_at(frame, action, status);
    }
    return GANTRY_OK;
}

static gantry_status_t run_kernels(gantry__frame_t *frame, const replay_run_t *run) {
    for (uint32_t i = run->run.first; i < run->run.end; ++i) {
        const gantry__action_t *action = &frame->schedule->actions[i];
        if (action->kind != GANTRY__ACTION_CALL) continue;
        gantry_status_t status = gantry__frame_compute(frame, action);
        if (status != GANTRY_OK) return gantry__frame_fail_at(frame, action, status);
    }
    return GANTRY_OK;
}

static gantry_status_t wait_for_tensors(gantry__frame_t *frame, const replay_run_t *run) {
    for (uint32_t i = run->run.first; i < run->run.end; ++i) {
        const gantry__action_t *action = &frame->schedule->actions[i];
        if (action->kind != GANTRY__ACTION_CALL) continue;
        gantry_status_t status = gantry__frame_wait_for_inputs(frame, action);
        if (status != GANTRY_OK) return gantry__frame_fail_at(frame, action, status);
    }
    return GANTRY_OK;
}

static void replay_mark_uses(gantry__frame_t *frame, const replay_run_t *run,
                             gantry__point_t point) {
    const gantry__schedule_t *schedule = frame->schedule;
    for (uint32_t i = 0; i < run->outer_count; ++i) {
        const uint32_t root = run->outer[i], maker = schedule->slots[root].made_by;
        gantry_tensor_t *constant = schedule->slots[root].constant,
                        *tensor = constant ? constant : frame->tensors[root];
        if (!tensor) continue;
        if (tensor->buffer && tensor->device == run->run.device)
            gantry__buffer_mark_use(tensor->buffer, GANTRY_STREAM_COMPUTE, point.count);
        if (maker >= run->run.first && maker < run->run.end &&
            schedule->actions[maker].kind == GANTRY__ACTION_CALL)
            tensor->ready = point;
    }
    for (size_t i = 0; i < schedule->arena_count; ++i) {
        if (frame->arenas[i] && schedule->arenas[i].device == run->run.device)
            gantry__buffer_mark_use(frame->arenas[i], GANTRY_STREAM_COMPUTE, point.count);
    }
    gantry__capture_mark_use(run->capture, point);
}

static gantry_status_t fail_launch(const gantry__frame_t *frame, replay_run_t *run,
                                   replay_graph_t *graph, gantry_status_t status) {
    const gantry__schedule_t *schedule = frame->schedule;
    const gantry__node_t *nodes = schedule->graph->nodes;
    status = gantry__fail_prefix(status, "nodes %s to %s (%u kernels as one graph) on %s: ",
                                 nodes[schedule->actions[run->run.first].node].name,
                                 nodes[schedule->actions[run->run.end - 1].node].name,
                                 run->run.kernels, run->run.device->name);
    gantry__replay_note_refusal(schedule, &run->run);
    run->is_off = true;
    char message[GANTRY__MESSAGE_BYTES]; /* to drop the graph of a lost device fails, too */
    (void)snprintf(message, sizeof message, "%s", gantry__message());
    replay_drop_graph(run, graph);
    return gantry__fail(status, "%s", message);
}

static gantry_status_t launch_graph(gantry__frame_t *frame, replay_run_t *run,
                                    replay_graph_t *graph) {
    gantry_logical_device_t *device = run->run.device;
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_COMPUTE];
    GANTRY__TRY(wait_for_tensors(frame, run));
    gantry__stream_begin(stream);
    const int32_t code = device->backend->graph->launch(stream->handle, graph->handle);
    const gantry__point_t point = {stream, gantry__stream_end(stream)};
    gantry__stream_flush(stream);
    graph->last = point;
    replay_mark_uses(frame, run, point);
    gantry_status_t status = gantry__loss_note(device, (gantry_status_t)code);
    if (status != GANTRY_OK) return fail_launch(frame, run, graph, status);
    ++graph->replays;
    atomic_fetch_add_explicit(&note_of(frame, run)->replays, 1, memory_order_relaxed);
    const gantry__program_cache_t *programs =
        frame->calls[frame->schedule->actions[run->run.first].call].programs;
    if (programs)
        atomic_fetch_add_explicit(&programs->counters->launches, graph->launches,
                                  memory_order_relaxed);
    return GANTRY_OK;
}

static gantry_status_t launch_run(gantry__frame_t *frame, replay_run_t *run,
                                  const gantry_tensor_t *const *arguments) {
    GANTRY__TRY(bind_run(frame, run, arguments));
    replay_graph_t *graph = choose_graph(frame, run);
    return graph ? launch_graph(frame, run, graph) : run_kernels(frame, run);
}

/* Variables whose values the run's kernels overwrite have none until all are launched. */
static gantry_status_t end_overwrites(gantry__frame_t *frame, const replay_run_t *run,
                                      gantry_status_t status) {
    for (uint32_t i = run->run.first; i < run->run.end; ++i)
        status = gantry__frame_end_overwrite(frame, &frame->schedule->actions[i], status);
    return status;
}

static gantry_status_t do_run(gantry__frame_t *frame, replay_run_t *run,
                              const gantry_tensor_t *const *arguments) {
    GANTRY__TRY(end_overwrites(frame, run, launch_run(frame, run, arguments)));
    for (uint32_t i = run->run.first; i < run->run.end; ++i)
        gantry__frame_end_action(frame, &frame->schedule->actions[i]);
    return GANTRY_OK;
}

gantry_status_t gantry__frame_run_replaying(gantry__frame_t *frame,
                                            const gantry_tensor_t *const *arguments) {
    const gantry__schedule_t *schedule = frame->schedule;
    gantry__replay_t *replay = ready_replay(frame);
    size_t next = 0;
    for (uint32_t i = 0; i < schedule->action_count;) {
        const gantry__action_t *action = &schedule->actions[i];
        if (replay && next < replay->run_count && replay->runs[next].run.first == i) {
            GANTRY__TRY(do_run(frame, &replay->runs[next], arguments));
            i = replay->runs[next++].run.end;
            continue;
        }
        GANTRY__TRY(gantry__frame_do(frame, action, arguments));
        gantry__frame_end_action(frame, action);
        ++i;
    }
    return GANTRY_OK;
}
