/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (onnxruntime.*): A claim that fails is an error of the session, or of each run, and does
 * not leave the graph to ONNX Runtime's CPU.
 * Promise (onnxruntime.*): The profile of a session has the nodes within its groups, with times of
 * the device; the option timeline writes a file of them.
 */
#define _DEFAULT_SOURCE

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "stand_in.h"

static void expect_failure(ort_status_t *status, int code, const char *text) {
    MUST(status && status->code == code && strstr(last_text, text));
    drop_status(status);
}

/* ---- claims ---- */

static ort_status_t *compiles(ort_ep_t *ep) {
    const ort_graph_t *graphs[] = {&group};
    const ort_node_t *fused_nodes[] = {&fused};
    ort_compute_t *compute = NULL;
    ort_node_t *contexts = NULL;
    ort_status_t *status = ep->Compile(ep, graphs, fused_nodes, 1, &compute, &contexts);
    if (!status) ep->ReleaseNodeComputeInfos(ep, &compute, 1);
    return status;
}

/* A report in a folder that goes away, and a list of nodes that ONNX Runtime does not have. */
void claims_loudly(ort_factory_t *factory, const ort_ep_device_t *device) {
    char folder[] = "/tmp/gantry_ort_XXXXXX", report[64];
    ort_support_t support = {0};
    ort_ep_t *ep;
    MUST(mkdtemp(folder));
    (void)snprintf(report, sizeof report, "%s/report", folder);
    session_option = "ep.gantryexecutionprovider.report", session_value = report;
    MUST(!begin_session(factory, device, &ep));
    session_option = NULL;
    MUST(unlink(report) == 0 && rmdir(folder) == 0);
    MUST(!ep->GetCapability(ep, &whole, &support));
    MUST(support.groups == 1 && support.nodes == 1);
    expect_failure(compiles(ep), ORT_INVALID_ARGUMENT, "cannot be written");
    expect_failure(ep->OnRunStart(ep, NULL), ORT_INVALID_ARGUMENT, "cannot be written");
    factory->ReleaseEp(factory, ep);

    MUST(!begin_session(factory, device, &ep));
    loses_nodes = true;
    support = (ort_support_t){0};
    MUST(!ep->GetCapability(ep, &whole, &support) && support.groups == 0);
    loses_nodes = false;
    expect_failure(ep->OnRunStart(ep, NULL), ORT_FAIL, "the nodes were lost");
    factory->ReleaseEp(factory, ep);
}

/* ---- profiles ---- */

struct ort_event_t {
    char name[64], device[80];
};
struct ort_events_t {
    size_t count, named;
    char device[80]; /* of the newest one with the name of a node */
};

ort_status_t *make_event(int category, int32_t process, int32_t thread, const char *name,
                         int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                         const char *const *values, size_t count, ort_event_t **out_event) {
    (void)process, (void)thread;
    MUST(category == ORT_EVENT_KERNEL && timestamp_us >= 0 && duration_us >= 0);
    *out_event = calloc(1, sizeof **out_event);
    if (!*out_event) abort();
    (void)snprintf((*out_event)->name, sizeof(*out_event)->name, "%s", name);
    for (size_t i = 0; i < count; ++i)
        if (strcmp(keys[i], "device") == 0)
            (void)snprintf((*out_event)->device, sizeof(*out_event)->device, "%s", values[i]);
    return NULL;
}

void drop_event(ort_event_t *event) { free(event); }

ort_status_t *add_events(ort_events_t *events, const ort_event_t *const *list, size_t count) {
    events->count += count;
    for (size_t i = 0; i < count; ++i) {
        const char *name = list[i]->name;
        if (strncmp(name, "relu", 4) && strncmp(name, "add", 3) && strncmp(name, "neg", 3))
            continue;
        ++events->named;
        (void)snprintf(events->device, sizeof events->device, "%s", list[i]->device);
    }
    return NULL;
}

static bool has_text(const char *path, const char *text) {
    static char content[1 << 20];
    FILE *file = fopen(path, "r");
    MUST(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    (void)fclose(file);
    return strstr(content, text) != NULL;
}

/* timeline: the option, or NULL. */
static void profiles_with(ort_factory_t *factory, const ort_ep_device_t *device,
                          const char *timeline) {
    ort_support_t support = {0};
    ort_events_t events = {0};
    ort_profiler_t *profiler, *late;
    ort_ep_t *ep;
    session_option = timeline ? "ep.gantryexecutionprovider.timeline" : NULL;
    session_value = timeline;
    MUST(!begin_session(factory, device, &ep));
    session_option = NULL;
    MUST(ep->version == ORT_PROFILER_VERSION);
    MUST(!ep->CreateProfiler(ep, &profiler) && profiler->version == ORT_PROFILER_VERSION);
    MUST(!profiler->StartProfiling(profiler, 1000));
    MUST(!ep->GetCapability(ep, &whole, &support));
    MUST(!ep->OnRunStart(ep, NULL));
    runs_a_group(ep);
    MUST(!profiler->EndProfiling(profiler, &events));
    MUST(events.named >= 3 && strstr(events.device, "/device:"));
    MUST(!ep->CreateProfiler(ep, &late)); /* of one run */
    expect_failure(late->StartProfiling(late, 0), ORT_NOT_IMPLEMENTED, "enable_profiling");
    late->Release(late);
    factory->ReleaseEp(factory, ep);
    profiler->Release(profiler);
    if (timeline) MUST(has_text(timeline, "\"cat\":\"kernel\""));
}

static void writes_a_timeline(ort_factory_t *factory, const ort_ep_device_t *device,
                              const char *path) {
    ort_support_t support = {0};
    ort_ep_t *ep;
    session_option = "ep.gantryexecutionprovider.timeline", session_value = path;
    MUST(!begin_session(factory, device, &ep));
    session_option = NULL;
    MUST(!ep->GetCapability(ep, &whole, &support));
    runs_a_group(ep);
    factory->ReleaseEp(factory, ep);
    MUST(has_text(path, "\"cat\":\"kernel\"") && has_text(path, "\"node\":\""));
}

void profiles_a_session(ort_factory_t *factory, const ort_ep_device_t *device) {
    char path[] = "/tmp/gantry_ort_XXXXXX";
    const int file = mkstemp(path);
    MUST(file >= 0 && close(file) == 0);
    profiles_with(factory, device, NULL);
    profiles_with(factory, device, path);
    writes_a_timeline(factory, device, path);
    MUST(unlink(path) == 0);
}

/* ---- lost devices ---- */

/* The driver's answer from now on; 0: it works. */
static int32_t answer;
static int32_t lose_launches(const char *function) {
    return strcmp(function, "clEnqueueNDRangeKernel") == 0 ? answer : 0;
}

static void watch_launches(const char *layer) {
    void (*set_watch)(int32_t(*watch)(const char *function));
    void *library = dlopen(layer, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "gantry_faults_layer_set_watch") : NULL;
    MUST(symbol);
    memcpy(&set_watch, &symbol, sizeof set_watch);
    set_watch(lose_launches);
}

static ort_compute_t *begin_group(ort_ep_t *ep) {
    const ort_graph_t *graphs[] = {&group};
    const ort_node_t *fused_nodes[] = {&fused};
    ort_compute_t *compute = NULL;
    ort_node_t *contexts = NULL;
    ort_support_t support = {0};
    MUST(!ep->GetCapability(ep, &whole, &support));
    MUST(!ep->Compile(ep, graphs, fused_nodes, 1, &compute, &contexts));
    return compute;
}

/* A run as ONNX Runtime makes it. */
static ort_status_t *run_once(ort_ep_t *ep, ort_compute_t *compute) {
    ort_kernel_context_t context = {.input = {{1, 2, {1, 3}}, {-1, 1, 2}}};
    void *state;
    ort_status_t *status = ep->OnRunStart(ep, NULL);
    if (status) return status;
    MUST(!compute->CreateState(compute, NULL, &state));
    status = compute->Compute(compute, state, &context);
    compute->ReleaseState(compute, state);
    if (!status) MUST(context.output.data[0] == -1 && context.output.data[2] == -5);
    return status;
}

/* A stream of a lost device reports it at each end of work; no other one is made. */
static void loses_streams(ort_factory_t *factory, const ort_memory_device_t *memory,
                          ort_stream_impl_t *stream, ort_ep_t *ep) {
    ort_stream_impl_t *late;
    for (size_t i = 0; i < 2; ++i) {
        expect_failure(stream->Flush(stream), ORT_RUNTIME_EXCEPTION, "was lost");
        expect_failure(ep->Sync(ep), ORT_RUNTIME_EXCEPTION, "was lost");
    }
    expect_failure(factory->CreateSyncStreamForDevice(factory, memory, NULL, &late),
                   ORT_RUNTIME_EXCEPTION, "was lost");
    stream->Release(stream);
}

/* The first two devices are cards of the layer, the third one is /CPU:0 or another card. */
void loses_a_device(ort_factory_t *factory, ort_ep_device_t *const devices[3], const char *layer) {
    enum { DEVICE_NOT_AVAILABLE = -2, SESSIONS = 4 };
    static const size_t device_of[SESSIONS] = {0, 0, 1, 2};
    ort_ep_t *eps[SESSIONS], *late;
    ort_compute_t *computes[SESSIONS];
    ort_stream_impl_t *stream;
    const ort_memory_device_t *memory = memory_of_device(devices[0]);
    watch_launches(layer);
    MUST(!factory->CreateSyncStreamForDevice(factory, memory, NULL, &stream));
    for (size_t i = 0; i < SESSIONS; ++i) {
        MUST(!begin_session(factory, devices[device_of[i]], &eps[i]));
        computes[i] = begin_group(eps[i]);
        MUST(!run_once(eps[i], computes[i]));
    }
    answer = DEVICE_NOT_AVAILABLE;
    expect_failure(run_once(eps[0], computes[0]), ORT_RUNTIME_EXCEPTION, "was lost");
    answer = 0;
    for (size_t i = 0; i < 4; ++i)
        expect_failure(run_once(eps[i % 2], computes[i % 2]), ORT_RUNTIME_EXCEPTION, "was lost");
    for (size_t i = 2; i < SESSIONS; ++i) MUST(!run_once(eps[i], computes[i]));
    loses_streams(factory, memory, stream, eps[0]);
    MUST(!begin_session(factory, devices[0], &late));
    expect_failure(late->OnRunStart(late, NULL), ORT_RUNTIME_EXCEPTION, "was lost");
    factory->ReleaseEp(factory, late);
    for (size_t i = 0; i < SESSIONS; ++i) {
        eps[i]->ReleaseNodeComputeInfos(eps[i], &computes[i], 1);
        factory->ReleaseEp(factory, eps[i]);
    }
}
