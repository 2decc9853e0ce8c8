/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: a captured stream's submissions, kept as work that never runs; each launch submits a copy
 * of every piece.
 *
 * A launch of a graph with a region that was freed is a violation. The host memory of a kept piece
 * must be pinned at every launch. A capture has one stream: a second stream that waits for an event
 * of the capture is a violation here, although the interface allows it. */
#include "fake_internal.h"

#include <string.h>

struct fake_graph_t {
    fake_object_t object;
    fake_device_t *device;
    bool spoilt;
    fake_work_t *first, *last;
    fake_mark_t *launched; /* the end of the last launch; NULL: none */
};

static void count_kept(fake_work_t *work, bool is_kept) {
    for (uint32_t i = 0; i < work->operand_count; ++i) {
        fake_region_t *region = work->operands[i].region;
        if (region) region->kept += is_kept ? 1u : UINT32_MAX;
    }
}

void gantry__fake_keep(fake_call_t *call, fake_stream_t *stream, fake_work_t *work) {
    fake_graph_t *graph = stream->graph;
    if (call->error.code != GANTRY_OK) {
        graph->spoilt = true;
        if (work) gantry__fake_work_drop(stream->object.instance, work);
        return;
    }
    if (graph->last) {
        graph->last->next = work;
    } else {
        graph->first = work;
    }
    if (work) count_kept(work, true);
    graph->last = work;
}

uint64_t gantry__fake_capture(const fake_stream_t *stream) {
    return stream->graph ? stream->graph->object.number : 0;
}

void gantry__fake_refuse_captured(fake_call_t *call, const fake_stream_t *stream,
                                  const char *what) {
    if (!stream || !stream->graph) return;
    stream->graph->spoilt = true;
    gantry__fake_refuse(call, GANTRY_FAILED_PRECONDITION, "%s on a captured stream", what);
}

bool gantry__fake_is_of_capture(fake_call_t *call, const fake_stream_t *stream,
                                const fake_mark_t *mark) {
    if (mark->graph == gantry__fake_capture(stream)) return true;
    if (stream->graph) stream->graph->spoilt = true;
    gantry__fake_refuse(call, GANTRY_FAILED_PRECONDITION,
                        "the event was not recorded in the stream's capture");
    return false;
}

static void release_graph(fake_graph_t *graph) {
    while (graph->first) {
        fake_work_t *next = graph->first->next;
        count_kept(graph->first, false);
        gantry__fake_work_drop(graph->object.instance, graph->first);
        graph->first = next;
    }
    gantry__fake_mark_release(graph->launched);
    --graph->device->live_objects;
    gantry__fake_forget(&graph->object);
    gantry__fake_release(&graph->object);
}

void gantry__fake_abandon(fake_stream_t *stream) {
    if (stream->graph) release_graph(stream->graph);
    stream->graph = NULL;
}

/* ---- slots ---- */

static int32_t begin_capture(gantry_backend_stream_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_begin_capture);
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    if (stream && stream->graph)
        gantry__fake_refuse(&call, GANTRY_FAILED_PRECONDITION, "a capture has already begun");
    if (stream && call.error.code == GANTRY_OK) {
        fake_graph_t *graph = gantry__fake_create(&call, stream->object.instance, GANTRY_FAKE_GRAPH,
                                                  0, sizeof *graph);
        if (graph) {
            graph->device = stream->device;
            ++graph->device->live_objects;
            stream->graph = graph;
        }
    }
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

static int32_t end_capture(gantry_backend_stream_t *handle, gantry_backend_graph_t **out_graph) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_end_capture);
    *out_graph = NULL;
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    if (stream && !stream->graph) {
        gantry__fake_refuse(&call, GANTRY_FAILED_PRECONDITION, "no capture has begun");
    } else if (stream) {
        if (stream->graph->spoilt)
            gantry__fake_refuse(&call, GANTRY_FAILED_PRECONDITION, "the capture was spoilt");
        if (call.error.code == GANTRY_OK) {
            *out_graph = (gantry_backend_graph_t *)(uintptr_t)stream->graph->object.number;
            stream->graph = NULL;
        }
        gantry__fake_abandon(stream);
    }
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

static void submit_copy(fake_call_t *call, fake_stream_t *stream, const fake_work_t *kept) {
    size_t head = sizeof *kept + kept->operand_count * sizeof(fake_operand_t);
    fake_work_t *work = gantry__fake_work_create(call, stream, kept->what, kept->run,
                                                 kept->operand_count, kept->bytes - head);
    if (!work) return;
    void *params = work->params;
    memcpy(work, kept, kept->bytes);
    work->next = NULL;
    work->params = params;
    work->is_captured = true;
    for (uint32_t i = 0; i < work->operand_count; ++i) {
        fake_region_t *region = work->operands[i].region;
        if (!region) continue;
        ++region->pending;
        if (region->dead) gantry__fake_violate(call, "a graph names a region that was freed");
    }
    gantry__fake_submit(call, stream, work);
}

/* Runs after the last launch on any stream, and marks its own end. */
static void submit_graph(fake_call_t *call, fake_stream_t *stream, fake_graph_t *graph) {
    if (graph->launched) gantry__fake_submit_wait(call, stream, graph->launched);
    for (const fake_work_t *kept = graph->first; kept; kept = kept->next)
        submit_copy(call, stream, kept);
    gantry__fake_submit_record(call, stream, &graph->launched);
}

static int32_t launch_graph(gantry_backend_stream_t *handle, gantry_backend_graph_t *graph_handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_graph_launch);
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    fake_graph_t *graph =
        gantry__fake_find(&call, GANTRY_FAKE_GRAPH, gantry__fake_number(graph_handle));
    if (stream && stream->graph)
        gantry__fake_refuse(&call, GANTRY_FAILED_PRECONDITION, "a capture has begun here");
    if (stream && graph && graph->device != stream->device)
        gantry__fake_violate(&call, "the graph is another device's");
    if (stream && graph) submit_graph(&call, stream, graph);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

static void destroy_graph(gantry_backend_graph_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_graph_destroy);
    fake_graph_t *graph = gantry__fake_find(&call, GANTRY_FAKE_GRAPH, gantry__fake_number(handle));
    if (graph) {
        if (graph->launched && !graph->launched->done)
            gantry__fake_violate(&call, "the graph is destroyed before its launch has ended");
        release_graph(graph);
    }
    (void)gantry__fake_end(&call);
}

const gantry_graph_ops_t gantry__fake_graph_ops = {
    .struct_size = sizeof gantry__fake_graph_ops,
    .begin_capture = begin_capture,
    .end_capture = end_capture,
    .launch = launch_graph,
    .destroy = destroy_graph,
};
