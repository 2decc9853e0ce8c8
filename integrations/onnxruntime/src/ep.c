/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
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
    char *device, *report;
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

/* ---- options ---- */

static ort_status_t *take_option(session_t *session, const char *name, const char *value) {
    char **place = strcmp(name, "device") == 0   ? &session->device
                   : strcmp(name, "report") == 0 ? &session->report
                                                 : NULL;
    if (!place)
        return ort_fail(session->provider, ORT_INVALID_ARGUMENT,
                        "Gantry's provider has no option '%s'; device and report are accepted",
                        name);
    char *copy = strdup(value);
    if (!copy) return ort_out_of_memory(session->provider);
    free(*place);
    *place = copy;
    return NULL;
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

/* A device that is not there is refused now, not by the first run. */
static ort_status_t *try_ort_device(const session_t *session) {
    gantry_scope_t *scope = gantry_scope_begin(session->provider->runtime, session->device);
    const gantry_status_t status = scope ? gantry_scope_status(scope) : GANTRY_RESOURCE_EXHAUSTED;
    ort_status_t *failed = status == GANTRY_OK ? NULL
                                               : ort_fail_as(session->provider, status,
                                                             scope ? gantry_scope_message(scope)
                                                                   : gantry_last_message());
    if (scope) (void)gantry_scope_end(scope);
    return failed;
}

/* Now, because ONNX Runtime makes a session on its CPU if the claim of nodes fails. */
static ort_status_t *try_report(const session_t *session) {
    if (!session->report) return NULL;
    FILE *file = fopen(session->report, "a");
    if (!file)
        return ort_fail(session->provider, ORT_INVALID_ARGUMENT,
                        "Gantry: the report '%s' cannot be opened: %s", session->report,
                        strerror(errno));
    (void)fclose(file);
    return NULL;
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
                               .IsConcurrentRunSupported = session_is_concurrent};
    session->provider = ort_provider_retain(provider);
    session->logger = logger;
    ort_status_t *failed = take_option(session, "device", device);
    if (!failed) failed = read_ep_options(session, options);
    if (!failed) failed = try_ort_device(session);
    if (!failed) failed = try_report(session);
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
    free(session->report);
    ort_provider_release(session->provider);
    free(session);
}
