/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define OPTION_PREFIX "ep.gantryexecutionprovider."

/* A session. ONNX Runtime calls it in the thread that makes the session. */
typedef struct session_t {
    ort_ep_t base; /* must be first */
    ort_provider_t *provider;
    const ort_logger_t *logger;
    char *device, *report, *memory_limit, *placement;
} session_t;

static const char *session_name(const ort_ep_t *self) {
    (void)self;
    return ORT_PROVIDER_NAME;
}

static ort_status_t *session_claim(ort_ep_t *self, const ort_graph_t *graph,
                                   ort_support_t *support) {
    const session_t *session = (const session_t *)self;
    return ort_claim_nodes(session->provider, graph, session->logger, session->report, support);
}

static void session_forget(ort_ep_t *self, ort_compute_t **computes, size_t count) {
    (void)self;
    for (size_t i = 0; i < count; ++i) ort_compute_release(computes[i]);
}

static ort_status_t *session_compile(ort_ep_t *self, const ort_graph_t **graphs,
                                     const ort_node_t **fused, size_t count,
                                     ort_compute_t **out_computes, ort_node_t **out_contexts) {
    const session_t *session = (const session_t *)self;
    (void)out_contexts;
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
                   {"placement", &session->placement}};
    char **place = NULL;
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i)
        if (strcmp(name, options[i].name) == 0) place = options[i].place;
    if (!place)
        return ort_fail(session->provider, ORT_INVALID_ARGUMENT,
                        "Gantry's provider has no option '%s'; device, report, memory_limit and "
                        "placement are accepted",
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

/* A runtime of the session's own, because those of other sessions have other settings. */
static ort_status_t *take_own_runtime(session_t *session) {
    const char *const values[] = {session->memory_limit, session->placement};
    static const char *const names[] = {"GANTRY_MEMORY_LIMIT", "GANTRY_PLACEMENT"};
    char texts[2][256];
    const char *settings[3] = {NULL};
    ort_provider_t *own;
    size_t count = 0;
    for (size_t i = 0; i < 2; ++i) {
        if (!values[i]) continue;
        if (snprintf(texts[i], sizeof texts[i], "%s=%s", names[i], values[i]) >= 256)
            return ort_fail(session->provider, ORT_INVALID_ARGUMENT,
                            "Gantry: %s: '%s' is too long; at most 200 bytes are accepted",
                            names[i], values[i]);
        settings[count++] = texts[i];
    }
    if (count == 0) return NULL;
    ORT_TRY(ort_provider_create(session->provider->api, false, settings, &own));
    ort_provider_release(session->provider);
    session->provider = own;
    return NULL;
}

/* A device that is not there is refused now: under soft placement a run would go elsewhere. */
static ort_status_t *find_ort_device(session_t *session) {
    const gantry_logical_device_t *device;
    ORT_TRY(ort_find_device(session->provider, session->device, &device));
    return keep_text(session, &session->device, gantry_logical_device_name(device));
}

ort_status_t *ort_ep_create(ort_provider_t *provider, const char *device,
                            const ort_session_options_t *options, const ort_logger_t *logger,
                            ort_ep_t **out_ep) {
    session_t *session = calloc(1, sizeof *session);
    if (!session) return ort_out_of_memory(provider);
    session->base = (ort_ep_t){.version = ORT_VERSION,
                               .GetName = session_name,
                               .GetCapability = session_claim,
                               .Compile = session_compile,
                               .ReleaseNodeComputeInfos = session_forget,
                               .CreateAllocator = session_allocator,
                               .IsConcurrentRunSupported = session_is_concurrent};
    session->provider = ort_provider_retain(provider);
    session->logger = logger;
    ort_status_t *failed = take_option(session, "device", device);
    if (!failed) failed = read_ep_options(session, options);
    if (!failed) failed = take_own_runtime(session);
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
    ort_provider_release(session->provider);
    free(session);
}
