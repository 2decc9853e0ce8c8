/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a graph Gantry takes. A subgraph's own nodes are left: the node that has it is
 * taken whole, or ONNX Runtime runs it. Each node that is left has a reason, in ONNX Runtime's log
 * and in the report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define REASON_BYTES 512
#define MOST_LINES 16 /* of the log, for one graph */

/* The nodes of a graph, and what becomes of them. */
typedef struct claim_t {
    const ort_provider_t *provider;
    const ort_graph_t *graph;
    const ort_logger_t *logger;
    FILE *report;
    size_t count, left, fused, edge_count, edge_room;
    const ort_node_t **nodes;
    size_t *ids, most_id; /* ids: of a node by its number in ONNX Runtime, 1 and its index */
    bool *wanted;
    size_t *first, *edges;
    int32_t *groups, *levels;
} claim_t;

/* ---- the log and the report ---- */

static void log_text(const claim_t *claim, int level, const char *text) {
    ort_status_t *failed =
        claim->provider->api->Logger_LogMessage(claim->logger, level, text, "gantry", 0, "claim");
    if (failed) claim->provider->api->ReleaseStatus(failed);
}

static ort_status_t *fail_report(const ort_provider_t *provider, const char *path) {
    return ort_fail(provider, ORT_INVALID_ARGUMENT,
                    "Gantry: option report: '%.300s' cannot be written: %s", path, strerror(errno));
}

ort_status_t *ort_report_begin(const ort_provider_t *provider, const char *report) {
    FILE *file = fopen(report, "w");
    if (file) (void)fputs("Gantry takes 0 of 0 nodes\n", file);
    return file && fclose(file) == 0 ? NULL : fail_report(provider, report);
}

static ort_status_t *close_report(claim_t *claim, const char *report) {
    if (!claim->report) return NULL;
    const bool is_lost = ferror(claim->report) != 0;
    const bool is_closed = fclose(claim->report) == 0;
    return is_closed && !is_lost ? NULL : fail_report(claim->provider, report);
}

/* ---- nodes ---- */

static ort_status_t *note_left(claim_t *claim, const ort_node_t *node, const char *reason) {
    const ort_api_t *api = claim->provider->api;
    char text[REASON_BYTES + 512];
    const char *name, *op;
    ORT_TRY(api->Node_GetName(node, &name));
    ORT_TRY(api->Node_GetOperatorType(node, &op));
    (void)snprintf(text, sizeof text, "Gantry leaves node '%.200s' (%.60s) to ONNX Runtime: %s",
                   name, op, reason);
    if (claim->report) (void)fprintf(claim->report, "%s\n", text);
    if (++claim->left <= MOST_LINES) log_text(claim, ORT_LOG_WARNING, text);
    return NULL;
}

/* Checks nodes of different kinds, at once if Gantry has them all, as it has of most graphs; else
 * each by itself. reasons: by node, of those that it lacks. */
static ort_status_t *check_kinds(claim_t *claim, const ort_node_t *const *tried,
                                 const size_t *nodes, size_t count, char **reasons) {
    char reason[REASON_BYTES] = "";
    bool has_all;
    ORT_TRY(ort_check_nodes(claim->provider, claim->graph, tried, count, reason, sizeof reason,
                            &has_all));
    for (size_t i = 0; i < count; ++i) {
        bool *has = &claim->wanted[nodes[i]];
        *has = has_all;
        if (!has_all)
            ORT_TRY(ort_check_nodes(claim->provider, claim->graph, &tried[i], 1, reason,
                                    sizeof reason, has));
        if (!*has && !(reasons[nodes[i]] = strdup(reason)))
            return ort_out_of_memory(claim->provider);
    }
    return NULL;
}

/* first: by node the first one of its kind, whose verdict is that of all. */
static ort_status_t *check_claim_in(claim_t *claim, size_t *first, size_t *places,
                                    const ort_node_t **tried, char **reasons) {
    size_t count = 0;
    ORT_TRY(ort_find_kinds(claim->provider, claim->nodes, claim->count, first));
    for (size_t i = 0; i < claim->count; ++i) {
        if (first[i] != i) continue;
        tried[count] = claim->nodes[i];
        places[count++] = i;
    }
    ORT_TRY(check_kinds(claim, tried, places, count, reasons));
    for (size_t i = 0; i < claim->count; ++i) {
        claim->wanted[i] = claim->wanted[first[i]];
        if (!claim->wanted[i]) ORT_TRY(note_left(claim, claim->nodes[i], reasons[first[i]]));
    }
    return NULL;
}

static ort_status_t *check_all(claim_t *claim) {
    size_t *first = calloc(claim->count + 1, sizeof *first);
    size_t *places = calloc(claim->count + 1, sizeof *places);
    const ort_node_t **tried = calloc(claim->count + 1, sizeof *tried);
    char **reasons = calloc(claim->count + 1, sizeof *reasons);
    ort_status_t *failed = first && places && tried && reasons
                               ? check_claim_in(claim, first, places, tried, reasons)
                               : ort_out_of_memory(claim->provider);
    for (size_t i = 0; reasons && i < claim->count; ++i) free(reasons[i]);
    free(first);
    free(places);
    free(tried);
    free(reasons);
    return failed;
}

/* ---- edges ---- */

static ort_status_t *number_nodes(claim_t *claim) {
    const ort_api_t *api = claim->provider->api;
    size_t id;
    for (size_t i = 0; i < claim->count; ++i) {
        ORT_TRY(api->Node_GetId(claim->nodes[i], &id));
        if (id >= claim->most_id) claim->most_id = id + 1;
    }
    claim->ids = calloc(claim->most_id + 1, sizeof *claim->ids);
    if (!claim->ids) return ort_out_of_memory(claim->provider);
    for (size_t i = 0; i < claim->count; ++i) {
        ORT_TRY(api->Node_GetId(claim->nodes[i], &id));
        claim->ids[id] = i + 1;
    }
    return NULL;
}

static bool add_edge(claim_t *claim, size_t from) {
    if (claim->edge_count == claim->edge_room) {
        const size_t room = 2 * claim->edge_room + 64;
        size_t *grown = realloc(claim->edges, room * sizeof *grown);
        if (!grown) return false;
        claim->edges = grown;
        claim->edge_room = room;
    }
    claim->edges[claim->edge_count++] = from;
    return true;
}

/* A node of the graph. */
typedef struct claimed_t {
    claim_t *claim;
    size_t node;
} claimed_t;

/* A value from a graph around this one has a producer of another graph, whose number says nothing
 * here. */
static ort_status_t *add_producer(void *user, const ort_value_info_t *value) {
    const claimed_t *to = user;
    claim_t *claim = to->claim;
    const ort_api_t *api = claim->provider->api;
    const ort_node_t *producer = NULL;
    size_t id, output;
    if (!value) return NULL;
    ORT_TRY(api->ValueInfo_GetValueProducer(value, &producer, &output));
    if (!producer) return NULL;
    ORT_TRY(api->Node_GetId(producer, &id));
    if (id >= claim->most_id || claim->ids[id] == 0 || claim->ids[id] > to->node) return NULL;
    return add_edge(claim, claim->ids[id] - 1) ? NULL : ort_out_of_memory(claim->provider);
}

static ort_status_t *add_all_edges(claim_t *claim) {
    ORT_TRY(number_nodes(claim));
    for (size_t i = 0; i < claim->count; ++i) {
        claim->first[i] = claim->edge_count;
        claimed_t to = {claim, i};
        ORT_TRY(ort_each_value(claim->provider, claim->nodes[i], ORT_INPUTS, add_producer, &to));
        ORT_TRY(
            ort_each_value(claim->provider, claim->nodes[i], ORT_BODY_INPUTS, add_producer, &to));
    }
    claim->first[claim->count] = claim->edge_count;
    return NULL;
}

/* ---- groups ---- */

/* Whether a node is one of a group of this graph; bodies number their nodes anew. */
static ort_status_t *is_member(const claim_t *claim, const ort_node_t *node, int32_t group,
                               bool *out_is) {
    size_t id;
    ORT_TRY(claim->provider->api->Node_GetId(node, &id));
    const size_t i = id < claim->most_id ? claim->ids[id] : 0;
    *out_is = i > 0 && claim->nodes[i - 1] == node && claim->groups[i - 1] == group;
    return NULL;
}

static ort_status_t *find_reader(const claim_t *claim, const ort_value_info_t *value, int32_t group,
                                 const ort_node_t **nodes, int64_t *inputs, size_t count,
                                 bool *out_is) {
    ORT_TRY(claim->provider->api->ValueInfo_GetValueConsumers(value, nodes, inputs, count));
    for (size_t i = 0; i < count && !*out_is; ++i)
        if (inputs[i] >= 0) ORT_TRY(is_member(claim, nodes[i], group, out_is)); /* -1: a body */
    return NULL;
}

/* Whether a value reaches a group: a node of the group makes it or has it as an input, or it is a
 * constant. */
static ort_status_t *reaches_group(const claim_t *claim, const ort_value_info_t *value,
                                   int32_t group, bool *out_is) {
    const ort_api_t *api = claim->provider->api;
    const ort_node_t *producer = NULL;
    size_t count, output;
    ORT_TRY(api->ValueInfo_IsConstantInitializer(value, out_is));
    if (!*out_is) ORT_TRY(api->ValueInfo_GetValueProducer(value, &producer, &output));
    if (producer) ORT_TRY(is_member(claim, producer, group, out_is));
    if (*out_is) return NULL;
    ORT_TRY(api->ValueInfo_GetValueNumConsumers(value, &count));
    const ort_node_t **nodes = calloc(count + 1, sizeof *nodes);
    int64_t *inputs = calloc(count + 1, sizeof *inputs);
    ort_status_t *failed = nodes && inputs
                               ? find_reader(claim, value, group, nodes, inputs, count, out_is)
                               : ort_out_of_memory(claim->provider);
    free(nodes);
    free(inputs);
    return failed;
}

/* Leaves a node whose bodies read a value that does not reach its group. */
static ort_status_t *leave_if_cut(void *user, const ort_value_info_t *value) {
    const claimed_t *to = user;
    claim_t *claim = to->claim;
    char text[REASON_BYTES];
    const char *name;
    bool reaches = true;
    if (!value || !claim->wanted[to->node]) return NULL;
    ORT_TRY(reaches_group(claim, value, claim->groups[to->node], &reaches));
    if (reaches) return NULL;
    ORT_TRY(claim->provider->api->GetValueInfoName(value, &name));
    (void)snprintf(text, sizeof text,
                   "only bodies read '%.200s', which ONNX Runtime gives to providers from 1.%d on",
                   name, ORT_BODY_INPUTS_VERSION);
    claim->wanted[to->node] = false;
    return note_left(claim, claim->nodes[to->node], text);
}

/* Forms the groups, anew after each that leaves nodes, because without them others may be cut. */
static ort_status_t *form_groups(claim_t *claim, int32_t *out_groups) {
    size_t left;
    do {
        left = claim->left;
        *out_groups = ort_partition(claim->count, claim->wanted, claim->first, claim->edges,
                                    claim->groups, claim->levels);
        if (claim->provider->release >= ORT_BODY_INPUTS_VERSION) return NULL;
        for (size_t i = 0; i < claim->count; ++i)
            ORT_TRY(ort_each_value(claim->provider, claim->nodes[i], ORT_BODY_INPUTS, leave_if_cut,
                                   &(claimed_t){claim, i}));
    } while (claim->left > left);
    return NULL;
}

static const ort_fusion_options_t fusion = {.version = ORT_VERSION,
                                            .drop_constant_initializers = true};

static ort_status_t *fuse_group(claim_t *claim, int32_t group, const ort_node_t **members,
                                ort_support_t *support) {
    size_t count = 0;
    for (size_t i = 0; i < claim->count; ++i)
        if (claim->groups[i] == group) members[count++] = claim->nodes[i];
    ++claim->fused;
    return claim->provider->ep_api->AddNodesToFuse(support, members, count, &fusion);
}

static ort_status_t *fuse_groups(claim_t *claim, ort_support_t *support) {
    int32_t groups = 0;
    ORT_TRY(form_groups(claim, &groups));
    const ort_node_t **members = calloc(claim->count + 1, sizeof *members);
    ort_status_t *failed = members ? NULL : ort_out_of_memory(claim->provider);
    for (int32_t group = 0; group < groups && !failed; ++group)
        failed = fuse_group(claim, group, members, support);
    free(members);
    return failed;
}

static void summarize(const claim_t *claim) {
    char text[160];
    (void)snprintf(text, sizeof text, "Gantry takes %zu of %zu nodes", claim->count - claim->left,
                   claim->count);
    log_text(claim, claim->left > 0 ? ORT_LOG_WARNING : ORT_LOG_INFO, text);
    if (claim->report) (void)fprintf(claim->report, "%s\n", text);
}

static ort_status_t *claim_in(claim_t *claim, ort_support_t *support) {
    const size_t count = claim->count;
    claim->nodes = calloc(count + 1, sizeof *claim->nodes);
    claim->wanted = calloc(count + 1, sizeof *claim->wanted);
    claim->first = calloc(count + 1, sizeof *claim->first);
    claim->groups = calloc(count + 1, sizeof *claim->groups);
    claim->levels = calloc(count + 1, sizeof *claim->levels);
    if (!claim->nodes || !claim->wanted || !claim->first || !claim->groups || !claim->levels)
        return ort_out_of_memory(claim->provider);
    ORT_TRY(claim->provider->api->Graph_GetNodes(claim->graph, claim->nodes, count));
    ORT_TRY(check_all(claim));
    ORT_TRY(add_all_edges(claim));
    ORT_TRY(fuse_groups(claim, support));
    summarize(claim);
    return NULL;
}

/* ONNX Runtime asks again about a graph in which it put model functions in place: the last answer
 * holds, and its report. */
static ort_status_t *claim_with_report(claim_t *claim, const char *report, ort_support_t *support) {
    claim->report = report ? fopen(report, "w") : NULL;
    if (report && !claim->report) return fail_report(claim->provider, report);
    ort_status_t *failed = claim_in(claim, support);
    ort_status_t *lost = close_report(claim, report);
    if (!failed) return lost;
    if (lost) claim->provider->api->ReleaseStatus(lost);
    return failed;
}

/* A failed claim takes a node, so that ONNX Runtime goes on to Compile, which fails. */
static void claim_one(claim_t *claim, ort_support_t *support) {
    const ort_api_t *api = claim->provider->api;
    ort_status_t *failed = NULL;
    if (claim->count == 0 || claim->fused > 0) return;
    if (!claim->nodes) claim->nodes = calloc(claim->count, sizeof *claim->nodes);
    if (claim->nodes && !claim->nodes[0])
        failed = api->Graph_GetNodes(claim->graph, claim->nodes, claim->count);
    if (claim->nodes && !failed)
        failed = claim->provider->ep_api->AddNodesToFuse(support, claim->nodes, 1, &fusion);
    if (failed) api->ReleaseStatus(failed);
}

ort_status_t *ort_claim_nodes(const ort_provider_t *provider, const ort_graph_t *graph,
                              const ort_logger_t *logger, const char *report,
                              ort_support_t *support) {
    claim_t claim = {.provider = provider, .graph = graph, .logger = logger};
    const ort_node_t *parent = NULL;
    ORT_TRY(provider->api->Graph_GetParentNode(graph, &parent));
    if (parent) return NULL;
    ORT_TRY(provider->api->Graph_GetNumNodes(graph, &claim.count));
    ort_status_t *failed = claim_with_report(&claim, report, support);
    if (failed) claim_one(&claim, support);
    free(claim.nodes);
    free(claim.ids);
    free(claim.wanted);
    free(claim.first);
    free(claim.edges);
    free(claim.groups);
    free(claim.levels);
    return failed;
}
