/* SPDX-License-Identifier: Apache-2.0 */
/* Captures and graphs; see the header. A captured stream counts its work; a place records how much
 * of each branch precedes it.
 *
 *     stream a, branch 0:   work (a1)   record e                        wait f {a1,b1}   end
 *     stream b, branch 1:                   {a1}  wait e   work (b1)   record f {a1,b1}
 *
 * At the end of a, all of b must precede it. */
#include <stdlib.h>
#include <string.h>

#include "stand_in_graph.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED };

/* State shared by graphs and their executable forms. */
typedef struct plan_t {
    int uses; /* under the lock */
    stand_in_node_t *first;
    stand_in_node_t **last;
} plan_t;

typedef struct stand_in_capture_t {
    struct stand_in_capture_t *next; /* of active branches */
    uint64_t number;
    int mode;
    pthread_t thread;
    int is_spoilt;
    plan_t *plan;
    int branches;
    /* the first: where the capture began; NULL: gone */
    stand_in_stream_t *stream[STAND_IN_BRANCHES];
    stand_in_place_t place[STAND_IN_BRANCHES];
} capture_t;

typedef struct graph_t {
    stand_in_object_t object;
    int is_executable;
    plan_t *plan;
    cl_event last; /* the end of the last launch; NULL: none */
} graph_t;

static capture_t *captures;
static uint64_t last_number;

/* ---- plans ---- */

static plan_t *make_plan(void) {
    plan_t *plan = calloc(1, sizeof *plan);

    if (plan != NULL) {
        plan->uses = 1;
        plan->last = &plan->first;
    }
    return plan;
}

static void drop_plan(plan_t *plan) {
    int uses;

    stand_in__lock();
    uses = --plan->uses;
    stand_in__unlock();
    if (uses > 0) return;
    for (stand_in_node_t *node = plan->first; node != NULL;) {
        stand_in_node_t *next = node->next;

        free(node);
        node = next;
    }
    free(plan);
}

/* ---- captures: functions here expect the lock; functions of the header take it ---- */

int stand_in__is_captured(const stand_in_stream_t *stream) {
    int is_captured;

    stand_in__lock();
    is_captured = stream->capture != NULL;
    stand_in__unlock();
    return is_captured;
}

static capture_t *find_capture(const stand_in_place_t *place) {
    capture_t *capture = captures;

    while (capture != NULL && capture->number != place->capture) {
        capture = capture->next;
    }
    return capture;
}

static int branch_of(const capture_t *capture, const stand_in_stream_t *stream) {
    int branch = 0;

    while (capture->stream[branch] != stream) {
        branch++;
    }
    return branch;
}

/* Advances the stream's branch by one step. */
static void advance(stand_in_stream_t *stream) {
    int branch = branch_of(stream->capture, stream);

    stream->capture->place[branch].behind[branch]++;
}

int stand_in__keep(stand_in_stream_t *stream, stand_in_submit_fn submit,
                   void (*work)(void *arguments), const void *arguments, size_t bytes) {
    stand_in_node_t *node = malloc(sizeof *node + bytes);
    int code = CUDA_OK;

    if (node == NULL) return CUDA_OUT_OF_MEMORY;
    node->next = NULL;
    node->submit = submit;
    node->work = work;
    node->bytes = bytes;
    memcpy(node->arguments, arguments, bytes);
    stand_in__lock();
    if (stream->capture->is_spoilt) {
        code = CUDA_CAPTURE_INVALIDATED;
    } else {
        *stream->capture->plan->last = node;
        stream->capture->plan->last = &node->next;
        advance(stream);
    }
    stand_in__unlock();
    if (code != CUDA_OK) {
        free(node);
    }
    return code;
}

typedef struct range_t {
    uint64_t address;
    uint64_t bytes;
    int kind;
} range_t;

static int submit_range(stand_in_stream_t *stream, const stand_in_node_t *node) {
    range_t range;

    memcpy(&range, node->arguments, sizeof range);
    if (stand_in__memory_at(range.address, range.bytes, range.kind) == NULL) {
        stand_in__fail_context(stream->object.context, CUDA_ILLEGAL_ADDRESS,
                               "a graph reaches %llu bytes at %#llx, which are no memory any more",
                               (unsigned long long)range.bytes, (unsigned long long)range.address);
        return CUDA_ILLEGAL_ADDRESS;
    }
    return CUDA_OK;
}

int stand_in__keep_memory(stand_in_stream_t *stream, uint64_t address, uint64_t bytes, int kind) {
    const range_t range = {address, bytes, kind};

    return stand_in__keep(stream, submit_range, NULL, &range, sizeof range);
}

int stand_in__spoil(stand_in_stream_t *stream, int code) {
    stand_in__lock();
    if (stream->capture != NULL) {
        stream->capture->is_spoilt = 1;
    }
    stand_in__unlock();
    return code;
}

int stand_in__check_unsafe(void) {
    int code = CUDA_OK;

    stand_in__lock();
    for (capture_t *capture = captures; capture != NULL; capture = capture->next) {
        if (capture->mode == GLOBAL ||
            (capture->mode == THREAD_LOCAL && pthread_equal(capture->thread, pthread_self()))) {
            capture->is_spoilt = 1;
            code = CUDA_CAPTURE_UNSUPPORTED;
        }
    }
    stand_in__unlock();
    return code;
}

/* ---- branches ---- */

int stand_in__place_of(stand_in_stream_t *stream, stand_in_place_t *out_place) {
    int code = CUDA_OK;

    stand_in__lock();
    if (stream->capture->is_spoilt) {
        code = CUDA_CAPTURE_INVALIDATED;
    } else {
        *out_place = stream->capture->place[branch_of(stream->capture, stream)];
    }
    stand_in__unlock();
    return code;
}

static void join(stand_in_place_t *place, const stand_in_place_t *other) {
    for (int i = 0; i < STAND_IN_BRANCHES; ++i) {
        place->behind[i] =
            place->behind[i] > other->behind[i] ? place->behind[i] : other->behind[i];
    }
}

/* A branch must be joined even without work, so it begins with a step. */
static int enter_locked(capture_t *capture, stand_in_stream_t *stream,
                        const stand_in_place_t *place) {
    int branch = capture->branches;

    if (branch == STAND_IN_BRANCHES ||
        stream->object.context != capture->stream[0]->object.context) {
        capture->is_spoilt = 1;
        /* a real driver accepts more streams, and streams of other cards */
        return CUDA_NOT_SUPPORTED;
    }
    capture->branches++;
    capture->stream[branch] = stream;
    capture->place[branch] = *place;
    stream->capture = capture;
    advance(stream);
    return CUDA_OK;
}

static int wait_locked(stand_in_stream_t *stream, const stand_in_place_t *place) {
    capture_t *capture = find_capture(place);

    if (capture == NULL) {
        if (stream->capture == NULL) return CUDA_CAPTURED_EVENT;
        stream->capture->is_spoilt = 1;
        return CUDA_CAPTURE_ISOLATION;
    }
    if (stream->capture != NULL && stream->capture != capture) {
        stream->capture->is_spoilt = 1;
        capture->is_spoilt = 1;
        return CUDA_CAPTURE_MERGE;
    }
    if (capture->is_spoilt) return CUDA_CAPTURE_INVALIDATED;
    if (stream->capture == NULL) return enter_locked(capture, stream, place);
    join(&capture->place[branch_of(capture, stream)], place);
    return CUDA_OK;
}

int stand_in__wait_for_place(stand_in_stream_t *stream, const stand_in_place_t *place) {
    int code;

    stand_in__lock();
    code = wait_locked(stream, place);
    stand_in__unlock();
    return code;
}

int stand_in__refuse_place(const stand_in_place_t *place) {
    capture_t *capture;

    stand_in__lock();
    capture = find_capture(place);
    if (capture != NULL) {
        capture->is_spoilt = 1;
    }
    stand_in__unlock();
    return CUDA_CAPTURED_EVENT;
}

static int is_joined(const capture_t *capture) {
    for (int i = 1; i < capture->branches; ++i) {
        if (capture->place[0].behind[i] < capture->place[i].behind[i]) return 0;
    }
    return 1;
}

/* ---- begin and end ---- */

STAND_IN_API int cuStreamBeginCapture_v2(void *handle, unsigned mode);
int cuStreamBeginCapture_v2(void *handle, unsigned mode) {
    stand_in_stream_t *stream;
    capture_t *capture;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (mode > RELAXED) return CUDA_INVALID_VALUE;
    code = stand_in__stream_of(handle, &stream);
    if (code != CUDA_OK) return code;
    if (stand_in__is_legacy(handle)) return CUDA_CAPTURE_UNSUPPORTED;
    if (stand_in__is_captured(stream)) return CUDA_ILLEGAL_STATE;
    capture = calloc(1, sizeof *capture);
    if (capture == NULL || (capture->plan = make_plan()) == NULL) {
        free(capture);
        return CUDA_OUT_OF_MEMORY;
    }
    capture->mode = (int)mode;
    capture->thread = pthread_self();
    capture->branches = 1;
    capture->stream[0] = stream;
    stand_in__lock();
    capture->number = ++last_number;
    capture->place[0].capture = capture->number;
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
    stand_in__unlock();
    return CUDA_OK;
}

/* Releases the capture's streams; the caller owns the plan. */
static plan_t *end_capture(capture_t *capture) {
    plan_t *plan = capture->plan;
    capture_t **at = &captures;

    stand_in__lock();
    while (*at != capture) {
        at = &(*at)->next;
    }
    *at = capture->next;
    for (int i = 0; i < capture->branches; ++i) {
        if (capture->stream[i] != NULL) {
            capture->stream[i]->capture = NULL;
        }
    }
    stand_in__unlock();
    free(capture);
    return plan;
}

void stand_in__leave_capture(stand_in_stream_t *stream) {
    capture_t *capture = stream->capture;

    if (capture == NULL) return;
    stand_in__complain("a stream was destroyed while it was captured");
    if (stream == capture->stream[0]) {
        drop_plan(end_capture(capture));
        return;
    }
    stand_in__lock();
    capture->is_spoilt = 1;
    capture->stream[branch_of(capture, stream)] = NULL;
    stand_in__unlock();
}

/* ---- graphs ---- */

static void end_graph(stand_in_object_t *object) {
    graph_t *graph = (graph_t *)object;

    if (graph->last != NULL) {
        stand_in__pocl()->clReleaseEvent(graph->last);
    }
    drop_plan(graph->plan);
    free(graph);
}

/* Takes a reference to the plan. */
static int make_graph(plan_t *plan, int is_executable, void **out_graph) {
    graph_t *graph = calloc(1, sizeof *graph);

    if (graph == NULL) {
        drop_plan(plan);
        return CUDA_OUT_OF_MEMORY;
    }
    graph->object.kind = STAND_IN_GRAPHS;
    graph->object.end = end_graph;
    graph->is_executable = is_executable;
    graph->plan = plan;
    stand_in__list(&graph->object);
    *out_graph = graph;
    return CUDA_OK;
}

static graph_t *find_graph(const void *handle, int is_executable) {
    graph_t *graph = stand_in__find(handle, STAND_IN_GRAPHS);

    return graph != NULL && graph->is_executable == is_executable ? graph : NULL;
}

/* Ends the capture and returns its status. */
static int judge(stand_in_stream_t *stream, plan_t **out_plan) {
    capture_t *capture = stream->capture;
    int code = CUDA_OK;

    if (capture == NULL) return CUDA_ILLEGAL_STATE;
    if (stream != capture->stream[0]) return stand_in__spoil(stream, CUDA_CAPTURE_UNMATCHED);
    if (capture->mode != RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return CUDA_CAPTURE_WRONG_THREAD;
    stand_in__lock();
    code = capture->is_spoilt   ? CUDA_CAPTURE_INVALIDATED
           : is_joined(capture) ? CUDA_OK
                                : CUDA_CAPTURE_UNJOINED;
    stand_in__unlock();
    *out_plan = end_capture(capture);
    return code;
}

STAND_IN_API int cuStreamIsCapturing(void *handle, unsigned *out_state);
int cuStreamIsCapturing(void *handle, unsigned *out_state) {
    stand_in_stream_t *stream;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (out_state == NULL) return CUDA_INVALID_VALUE;
    code = stand_in__stream_of(handle, &stream);
    if (code != CUDA_OK) return code;
    stand_in__lock();
    *out_state = stream->capture == NULL ? 0 : stream->capture->is_spoilt ? 2 : 1;
    stand_in__unlock();
    return CUDA_OK;
}

/* Like calls that end an object: a failing call ends the capture too. */
STAND_IN_API int cuStreamEndCapture(void *handle, void **out_graph);
int cuStreamEndCapture(void *handle, void **out_graph) {
    int ordered = stand_in__enter(__func__, STAND_IN_NEEDS_ANY_CONTEXT);
    stand_in_stream_t *stream;
    plan_t *plan = NULL;
    int code;

    if (!stand_in__may_end(ordered)) return ordered;
    if (out_graph == NULL) return CUDA_INVALID_VALUE;
    *out_graph = NULL;
    code = stand_in__stream_of(handle, &stream);
    if (code != CUDA_OK) return code;
    code = judge(stream, &plan);
    if (plan == NULL) return code;
    if (code != CUDA_OK || ordered != CUDA_OK) {
        drop_plan(plan);
        return code != CUDA_OK ? code : ordered;
    }
    return make_graph(plan, 0, out_graph);
}

STAND_IN_API int cuGraphInstantiateWithFlags(void **out_exec, void *handle,
                                             unsigned long long flags);
int cuGraphInstantiateWithFlags(void **out_exec, void *handle, unsigned long long flags) {
    graph_t *graph;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    graph = find_graph(handle, 0);
    if (graph == NULL || out_exec == NULL || flags != 0) return CUDA_INVALID_VALUE;
    stand_in__lock();
    graph->plan->uses++;
    stand_in__unlock();
    return make_graph(graph->plan, 1, out_exec);
}

/* Launches of one graph run one after another, even on different streams. */
static int follow_last(graph_t *graph, stand_in_stream_t *stream) {
    const stand_in_pocl_t *cl = stand_in__pocl();

    return graph->last == NULL || cl->clEnqueueBarrierWithWaitList(stream->queue, 1, &graph->last,
                                                                   NULL) == CL_SUCCESS
               ? CUDA_OK
               : CUDA_UNKNOWN;
}

static int mark_last(graph_t *graph, stand_in_stream_t *stream) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    cl_event marker;

    if (cl->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &marker) != CL_SUCCESS)
        return CUDA_UNKNOWN;
    cl->clFlush(stream->queue);
    if (graph->last != NULL) {
        cl->clReleaseEvent(graph->last);
    }
    graph->last = marker;
    return CUDA_OK;
}

STAND_IN_API int cuGraphLaunch(void *handle, void *stream_handle);
int cuGraphLaunch(void *handle, void *stream_handle) {
    graph_t *graph;
    stand_in_stream_t *stream;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    graph = find_graph(handle, 1);
    if (graph == NULL) return CUDA_INVALID_VALUE;
    code = stand_in__stream_of(stream_handle, &stream);
    if (code != CUDA_OK) return code;
    if (stand_in__is_captured(stream)) {
        stand_in__complain(
            "a graph was launched on a captured stream: a driver makes it a part of the other graph");
        return CUDA_NOT_SUPPORTED;
    }
    code = follow_last(graph, stream);
    for (const stand_in_node_t *node = graph->plan->first; node != NULL && code == CUDA_OK;
         node = node->next) {
        code = node->submit(stream, node);
    }
    return code != CUDA_OK ? code : mark_last(graph, stream);
}

static int destroy_graph(int code, void *handle, int is_executable) {
    graph_t *graph;

    if (!stand_in__may_end(code)) return code;
    graph = find_graph(handle, is_executable);
    if (graph == NULL || !stand_in__unlist(&graph->object)) return CUDA_INVALID_VALUE;
    end_graph(&graph->object);
    return code;
}

STAND_IN_API int cuGraphExecDestroy(void *handle);
int cuGraphExecDestroy(void *handle) {
    return destroy_graph(stand_in__enter(__func__, STAND_IN_NEEDS_INIT), handle, 1);
}

STAND_IN_API int cuGraphDestroy(void *handle);
int cuGraphDestroy(void *handle) {
    return destroy_graph(stand_in__enter(__func__, STAND_IN_NEEDS_INIT), handle, 0);
}
