/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define OPTION_PREFIX "ep.gantryexecutionprovider."

/* A session. ONNX Runtime makes it in one thread; any thread runs it. */
typedef struct session_t {
    ort_ep_t base; /* must be first */
    ort_provider_t *provider;
    const ort_logger_t *logger;
    char *device, *report, *memory_limit, *placement, *timeline;
    const gantry_logical_device_t *logical;
    bool is_begun; /* it has a graph */
    int failure;   /* of a claim: the code of its text; 0: there was none */
    char failure_text[ORT_TEXT_BYTES];
} session_t;

static const char *session_name(const ort_ep_t *self) {
    (void)self;
    return ORT_PROVIDER_NAME;
}

/* ONNX Runtime answers a failure here by running the graph itself, with a line in its log. So the
 * failure is kept: Compile has it for the node that was claimed nevertheless, else each run. */
static ort_status_t *session_claim(ort_ep_t *self, const ort_graph_t *graph,
                                   ort_support_t *support) {
    session_t *session = (session_t *)self;
    const ort_api_t *api = session->provider->api;
    session->is_begun = true;
    ort_status_t *failed =
        ort_claim_nodes(session->provider, graph, session->logger, session->report, support);
    if (!failed) return NULL;
    session->failure = api->GetErrorCode(failed);
    (void)snprintf(session->failure_text, sizeof session->failure_text, "%s",
                   api->GetErrorMessage(failed));
    api->ReleaseStatus(failed);
    return NULL;
}

static ort_status_t *claim_failure(const session_t *session) {
    if (session->failure == 0) return NULL;
    return session->provider->api->CreateStatus(session->failure, session->failure_text);
}

static void session_forget(ort_ep_t *self, ort_compute_t **computes, size_t count) {
    (void)self;
    for (size_t i = 0; i < count; ++i) ort_compute_release(computes[i]);
}

static ort_status_t *session_compile(ort_ep_t *self, const ort_graph_t **graphs,
                                     const ort_node_t **fused, size_t count,
                                     ort_compute_t **out_computes, ort_node_t **out_contexts) {
    const session_t *session = (session_t *)self;
    (void)out_contexts;
    ORT_TRY(claim_failure(session));
    for (size_t i = 0; i < count; ++i) {
        ort_status_t *failed = ort_compute_create(session->provider, session->device, graphs[i],
                                                  fused[i], &out_computes[i]);
        if (!failed) continue;
        session_forget(self, out_computes, i);
        memset(out_computes, 0, count * sizeof *out_computes);
        return failed;
    }
    return NULL;
}

static ort_status_t *session_is_concurrent(ort_ep_t *self, bool *out_is) {
    (void)self;
    *out_is = true;
    return NULL;
}

/* Memory of the session's runtime and device. */
static ort_status_t *session_allocator(ort_ep_t *self, const ort_memory_info_t *memory,
                                       ort_allocator_t **out_allocator) {
    const session_t *session = (const session_t *)self;
    return ort_allocator_create(session->provider, session->device, memory, out_allocator);
}

/* ---- runs ---- */

/* A lost device is an error of each run: under soft placement the next one would go elsewhere. */
static ort_status_t *session_begin_run(ort_ep_t *self, const ort_run_options_t *options) {
    const session_t *session = (const session_t *)self;
    (void)options;
    ORT_TRY(claim_failure(session));
    return ort_check_device(session->provider, session->logical);
}

static ort_status_t *session_stream(ort_ep_t *self, const ort_memory_device_t *device,
                                    ort_stream_impl_t **out_stream) {
    const session_t *session = (const session_t *)self;
    (void)device;
    return ort_stream_create(session->provider, session->logical, true, out_stream);
}

static ort_status_t *session_wait(ort_ep_t *self) {
    const session_t *session = (const session_t *)self;
    return ort_wait_for_device(session->provider, session->logical);
}

/* ---- options ---- */

static ort_status_t *keep_text(const session_t *session, char **place, const char *text) {
    char *copy = strdup(text);
    if (!copy) return ort_out_of_memory(session->provider);
    free(*place);
    *place = copy;
    return NULL;
}

static ort_status_t *take_option(session_t *session, const char *name, const char *value) {
    const struct {
        const char *name;
        char **place;
    } options[] = {{"device", &session->device},
                   {"report", &session->report},
                   {"memory_limit", &session->memory_limit},
                   {"placement", &session->placement},
                   {"timeline", &session->timeline}};
    char **place = NULL;
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i)
        if (strcmp(name, options[i].name) == 0) place = options[i].place;
    if (!place)
        return ort_fail(session->provider, ORT_INVALID_ARGUMENT,
                        "Gantry's provider has no option '%s'; device, report, memory_limit, "
                        "placement and timeline are accepted",
                        name);
    return keep_text(session, place, value);
}

static ort_status_t *read_ep_options(session_t *session, const ort_session_options_t *options) {
    const ort_api_t *api = session->provider->api;
    const size_t prefix = strlen(OPTION_PREFIX);
    const char *const *keys, *const *values;
    ort_pairs_t *pairs = NULL;
    ort_status_t *failed = NULL;
    size_t count;
    ORT_TRY(api->GetSessionOptionsConfigEntries(options, &pairs));
    api->GetKeyValuePairs(pairs, &keys, &values, &count);
    for (size_t i = 0; i < count && !failed; ++i) {
        if (strncmp(keys[i], OPTION_PREFIX, prefix) == 0)
            failed = take_option(session, keys[i] + prefix, values[i]);
    }
    api->ReleaseKeyValuePairs(pairs);
    return failed;
}

/* "NAME=VALUE"; NULL: there is no memory. */
static char *setting_text(const char *name, const char *value) {
    const size_t bytes = strlen(name) + strlen(value) + 2;
    char *text = malloc(bytes);
    if (text) (void)snprintf(text, bytes, "%s=%s", name, value);
    return text;
}

/* A runtime of the session's own, because those of other sessions have other settings, or because
 * only this session's work belongs into its timeline. */
static ort_status_t *take_own_runtime(session_t *session) {
    const char *const values[] = {session->memory_limit, session->placement,
                                  session->timeline ? "" : NULL};
    static const char *const names[] = {"GANTRY_MEMORY_LIMIT", "GANTRY_PLACEMENT", "GANTRY_TRACE"};
    char *settings[4] = {NULL};
    ort_provider_t *own = NULL;
    ort_status_t *failed = NULL;
    size_t count = 0;
    for (size_t i = 0; i < 3 && !failed; ++i) {
        if (!values[i]) continue;
        settings[count] = setting_text(names[i], values[i]);
        if (!settings[count++]) failed = ort_out_of_memory(session->provider);
    }
    if (count > 0 && !failed)
        failed = ort_provider_create(session->provider->api, session->provider->release, false,
                                     (const char *const *)settings, &own);
    for (size_t i = 0; i < count; ++i) free(settings[i]);
    if (count == 0 || failed) return failed;
    ort_provider_release(session->provider);
    session->provider = own;
    return NULL;
}

static ort_status_t *start_timeline(const session_t *session) {
    if (!session->timeline) return NULL;
    const ort_provider_t *own = session->provider;
    const gantry_status_t status = gantry_trace_start(own->runtime, session->timeline);
    return status == GANTRY_OK ? NULL : ort_fail_as(own, status, gantry_last_message());
}

/* A device that is not there is refused now: under soft placement a run would go elsewhere. */
static ort_status_t *find_ort_device(session_t *session) {
    ORT_TRY(ort_find_device(session->provider, session->device, &session->logical));
    return keep_text(session, &session->device, gantry_logical_device_name(session->logical));
}

/* ---- timelines ---- */

ort_status_t *ort_ep_begin_timeline(ort_ep_t *ep, const char *path) {
    session_t *session = (session_t *)ep;
    if (session->is_begun)
        return ort_fail(session->provider, ORT_NOT_IMPLEMENTED,
                        "Gantry: nodes within a group are in the profile of a session "
                        "(enable_profiling of SessionOptions), not in that of one run");
    if (!path) return NULL;
    ORT_TRY(keep_text(session, &session->timeline, path));
    ORT_TRY(take_own_runtime(session));
    ORT_TRY(start_timeline(session));
    return find_ort_device(session);
}

const char *ort_ep_timeline(const ort_ep_t *ep) { return ((const session_t *)ep)->timeline; }

ort_status_t *ort_ep_end_timeline(ort_ep_t *ep) {
    session_t *session = (session_t *)ep;
    (void)pthread_rwlock_wrlock(&session->provider->work);
    const gantry_status_t status = gantry_trace_stop(session->provider->runtime);
    (void)pthread_rwlock_unlock(&session->provider->work);
    return status == GANTRY_OK ? NULL
                               : ort_fail_as(session->provider, status, gantry_last_message());
}

static ort_status_t *session_profiler(ort_ep_t *self, ort_profiler_t **out_profiler) {
    return ort_profiler_create(((const session_t *)self)->provider, self, out_profiler);
}

ort_status_t *ort_ep_create(ort_provider_t *provider, const char *device,
                            const ort_session_options_t *options, const ort_logger_t *logger,
                            ort_ep_t **out_ep) {
    session_t *session = calloc(1, sizeof *session);
    if (!session) return ort_out_of_memory(provider);
    const bool has_profiles = provider->release >= ORT_PROFILER_VERSION;
    session->base = (ort_ep_t){.version = has_profiles ? ORT_PROFILER_VERSION : ORT_VERSION,
                               .GetName = session_name,
                               .GetCapability = session_claim,
                               .Compile = session_compile,
                               .ReleaseNodeComputeInfos = session_forget,
                               .OnRunStart = session_begin_run,
                               .CreateAllocator = session_allocator,
                               .CreateSyncStreamForDevice = session_stream,
                               .IsConcurrentRunSupported = session_is_concurrent,
                               .Sync = session_wait,
                               .CreateProfiler = session_profiler};
    session->provider = ort_provider_retain(provider);
    session->logger = logger;
    ort_status_t *failed = take_option(session, "device", device);
    if (!failed) failed = read_ep_options(session, options);
    if (!failed) failed = take_own_runtime(session);
    if (!failed) failed = start_timeline(session);
    if (!failed) failed = find_ort_device(session);
    if (!failed && session->report) failed = ort_report_begin(session->provider, session->report);
    if (failed)
        ort_ep_release(&session->base);
    else
        *out_ep = &session->base;
    return failed;
}

void ort_ep_release(ort_ep_t *ep) {
    session_t *session = (session_t *)ep;
    if (!session) return;
    free(session->device);
    free(session->memory_limit);
    free(session->placement);
    free(session->report);
    free(session->timeline);
    ort_provider_release(session->provider);
    free(session);
}
