/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: a stream's work, kept by the driver and launched as one.
 *
 * A capture ends as the driver's graph, which is made executable at once and not needed after that.
 *
 *     cuStreamBeginCapture   ...   cuStreamEndCapture -> graph
 *     cuGraphInstantiate(graph) -> exec
 *     cuGraphLaunch(exec)
 *
 * Captures are relaxed. The driver's other modes forbid calls that a capture cannot keep, such as
 * cuMemAlloc: the global mode to every thread of the process, of which many may know nothing of us;
 * the thread-local mode to the thread that captures, which must then also be the one that ends it.
 * The core may take memory and load programs for the very work that it captures, on whatever
 * thread, and those calls must take effect at once. A stream of the program is not captured,
 * because what its threads submit meanwhile would be kept, too. */
#include "cuda/cuda_backend.h"

static int32_t wrong_state(const gantry_backend_device_t *device, const char *what) {
    return gantry__driver_fail(device->host, GANTRY_FAILED_PRECONDITION, 0, "%s of \"%.200s\"",
                               what, device->record->hardware_name);
}

static int32_t begin_capture(gantry_backend_stream_t *stream) {
    gantry_backend_device_t *device = stream->device;
    if (stream->is_capturing)
        return wrong_state(device, "begin_capture: a capture has already begun on this stream");
    if (stream->is_adopted)
        return gantry__driver_fail(device->host, GANTRY_UNIMPLEMENTED, 0,
                                   "begin_capture: the stream of \"%.200s\" is the program's",
                                   device->record->hardware_name);
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(
        device, native,
        device->cu->cuStreamBeginCapture_v2(stream->handle, GANTRY__CU_CAPTURE_RELAXED));
    stream->is_capturing = native == GANTRY__CU_SUCCESS;
    if (stream->is_capturing) atomic_fetch_add(&device->captures, 1);
    return gantry__driver_check(device->host, native,
                                "beginning a capture on a stream of \"%.200s\"",
                                device->record->hardware_name);
}

/* Ends the capture: whatever is returned, the stream captures no more. out_exec may be NULL if
 * nothing is wanted. */
static gantry__cu_result_t cuda_graph_finish(gantry_backend_stream_t *stream,
                                             gantry__cu_graph_exec_t *out_exec) {
    const gantry__cuda_symbols_t *cu = stream->device->cu;
    gantry__cu_graph_t captured = NULL;
    gantry__cu_result_t native = cu->cuStreamEndCapture(stream->handle, &captured);
    stream->is_capturing = false;
    atomic_fetch_sub(&stream->device->captures, 1);
    if (native == GANTRY__CU_SUCCESS && out_exec)
        native = cu->cuGraphInstantiateWithFlags(out_exec, captured, 0);
    if (captured) cu->cuGraphDestroy(captured);
    return native;
}

void gantry__cuda_capture_abandon(gantry_backend_stream_t *stream) {
    (void)cuda_graph_finish(stream, NULL);
}

/* Ends the capture, even if there is no memory for the graph's record. */
static int32_t end_capture(gantry_backend_stream_t *stream, gantry_backend_graph_t **out_graph) {
    gantry_backend_device_t *device = stream->device;
    *out_graph = NULL;
    if (!stream->is_capturing)
        return wrong_state(device, "end_capture: no capture has begun on this stream");
    gantry_backend_graph_t *graph = gantry__driver_alloc(device->host, sizeof *graph);
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, cuda_graph_finish(stream, graph ? &graph->exec : NULL));
    if (!graph) return GANTRY_RESOURCE_EXHAUSTED;
    if (native != GANTRY__CU_SUCCESS) {
        gantry__host_free(device->host, graph, sizeof *graph);
        return gantry__driver_check(device->host, native,
                                    "ending a capture on a stream of \"%.200s\"",
                                    device->record->hardware_name);
    }
    graph->device = device;
    *out_graph = graph;
    return GANTRY_OK;
}

/* Whether an address is pinned memory, which the driver knows; any other address of the host is an
 * invalid value for it. */
static gantry__cu_result_t ask_pinned(const gantry__cuda_symbols_t *cu, const void *address,
                                      bool *is_pinned) {
    unsigned int type = 0;
    const gantry__cu_result_t native = cu->cuPointerGetAttribute(
        &type, GANTRY__CU_POINTER_MEMORY_TYPE, (gantry__cu_address_t)(uintptr_t)address);
    *is_pinned = *is_pinned && native == GANTRY__CU_SUCCESS && type == GANTRY__CU_MEMORY_HOST;
    return native == GANTRY__CU_INVALID_VALUE ? GANTRY__CU_SUCCESS : native;
}

static gantry__cu_result_t ask_refusal(const gantry_backend_stream_t *stream, const void *memory,
                                       uint64_t size_bytes, bool *out_is_refused) {
    const gantry__cuda_symbols_t *cu = stream->device->cu;
    unsigned int state = GANTRY__CU_CAPTURE_NONE;
    bool is_pinned = true;
    gantry__cu_result_t native = cu->cuStreamIsCapturing(stream->handle, &state);
    if (native == GANTRY__CU_SUCCESS && state != GANTRY__CU_CAPTURE_NONE && size_bytes > 0) {
        native = ask_pinned(cu, memory, &is_pinned);
        if (native == GANTRY__CU_SUCCESS)
            native = ask_pinned(cu, (const char *)memory + size_bytes - 1, &is_pinned);
    }
    *out_is_refused = native == GANTRY__CU_SUCCESS && !is_pinned;
    return native;
}

/* Whether a driver captures a copy of pageable memory, and what the graph then copies, differs from
 * driver to driver. A refusal of ours does not spoil the capture. */
int32_t gantry__cuda_capture_check(const gantry_backend_stream_t *stream, const void *memory,
                                   uint64_t size_bytes) {
    const gantry_backend_device_t *device = stream->device;
    if (atomic_load(&device->captures) == 0) return GANTRY_OK;
    bool is_refused = false;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, ask_refusal(stream, memory, size_bytes, &is_refused));
    if (!is_refused)
        return gantry__driver_check(device->host, native, "asking a stream of \"%.200s\"",
                                    device->record->hardware_name);
    return gantry__driver_fail(
        device->host, GANTRY_FAILED_PRECONDITION, 0,
        "copy of %llu bytes of pageable host memory on \"%.200s\": a capture accepts only host memory of host_alloc",
        (unsigned long long)size_bytes, device->record->hardware_name);
}

/* Launches unless the stream is captured. Only the driver knows that, because a branch of a capture
 * does not. It would make the graph a part of the one that is being captured; the interface has no
 * such graphs. */
static gantry__cu_result_t launch_outside(gantry_backend_stream_t *stream,
                                          gantry__cu_graph_exec_t exec, unsigned int *out_state) {
    const gantry__cuda_symbols_t *cu = stream->device->cu;
    gantry__cu_result_t native = cu->cuStreamIsCapturing(stream->handle, out_state);
    return native == GANTRY__CU_SUCCESS && *out_state == GANTRY__CU_CAPTURE_NONE
               ? cu->cuGraphLaunch(exec, stream->handle)
               : native;
}

static int32_t cuda_graph_launch(gantry_backend_stream_t *stream, gantry_backend_graph_t *graph) {
    gantry_backend_device_t *device = stream->device;
    unsigned int state = GANTRY__CU_CAPTURE_NONE;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, launch_outside(stream, graph->exec, &state));
    if (native == GANTRY__CU_SUCCESS && state != GANTRY__CU_CAPTURE_NONE)
        return wrong_state(device, "launch of a graph: a capture has begun on this stream");
    return gantry__driver_check(device->host, native, "launching a graph on \"%.200s\"",
                                device->record->hardware_name);
}

static void cuda_graph_destroy(gantry_backend_graph_t *graph) {
    gantry_backend_device_t *device = graph->device;
    const bool is_inside = gantry__cuda_enter(device) == GANTRY__CU_SUCCESS;
    device->cu->cuGraphExecDestroy(graph->exec); /* this needs no context */
    if (is_inside) gantry__cuda_leave(device);
    gantry__host_free(device->host, graph, sizeof *graph);
}

const gantry_graph_ops_t gantry__cuda_graph_ops = {
    .struct_size = sizeof gantry__cuda_graph_ops,
    .begin_capture = begin_capture,
    .end_capture = end_capture,
    .launch = cuda_graph_launch,
    .destroy = cuda_graph_destroy,
};
