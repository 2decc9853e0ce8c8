/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of nodes. Whether Gantry has a node follows from its op, its values' types, and its
 * attributes, which are written as a text: nodes with equal texts are alike, and one of them is
 * tried for all. A node with a subgraph is like no other one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/* Texts one after another, and a table of open addressing of the nodes that were the first with
 * theirs. */
typedef struct kinds_t {
    const ort_provider_t *provider;
    ort_bytes_t texts;
    size_t *begins; /* by node, and the end */
    size_t *table;  /* 1 and a node; 0: free */
    size_t room;    /* of the table, a power of two */
} kinds_t;

static void put_kind_text(kinds_t *kinds, const char *text) {
    ort_bytes_put(&kinds->texts, text, strlen(text) + 1);
}

/* The type of a value: the number of its elements' type, or what makes Gantry leave it. */
static ort_status_t *put_kind_value(void *user, const ort_value_info_t *value) {
    kinds_t *kinds = user;
    const ort_api_t *api = kinds->provider->api;
    const ort_type_info_t *type = NULL;
    const ort_tensor_info_t *info = NULL;
    char text[16] = "none";
    size_t rank;
    int element;
    if (value) {
        ORT_TRY(api->GetValueInfoTypeInfo(value, &type));
        if (type) ORT_TRY(api->CastTypeInfoToTensorInfo(type, &info));
        if (info) ORT_TRY(api->GetTensorElementType(info, &element));
        if (info) ORT_TRY(api->GetDimensionsCount(info, &rank));
        (void)snprintf(text, sizeof text, "%d%s", info ? element : -1,
                       info && rank > GANTRY_MAX_RANK ? "+" : "");
    }
    put_kind_text(kinds, text);
    return NULL;
}

static ort_status_t *put_kind_values(kinds_t *kinds, const ort_node_t *node, ort_values_t values) {
    ORT_TRY(ort_each_value(kinds->provider, node, values, put_kind_value, kinds));
    put_kind_text(kinds, ";");
    return NULL;
}

/* Tensors count as their types, because the texts have no bytes for elements. A node with an
 * attribute that cannot be written is refused when it is tried. */
static ort_status_t *put_kind_attrs(kinds_t *kinds, const ort_node_t *node) {
    ort_status_t *failed = ort_write_attrs(kinds->provider, node, &kinds->texts);
    if (!failed || kinds->provider->api->GetErrorCode(failed) != ORT_NOT_IMPLEMENTED) return failed;
    kinds->provider->api->ReleaseStatus(failed);
    return NULL;
}

static ort_status_t *put_node_kind(kinds_t *kinds, const ort_node_t *node, size_t index) {
    const ort_api_t *api = kinds->provider->api;
    const char *op, *domain;
    size_t subgraphs;
    char text[24];
    ORT_TRY(api->Node_GetOperatorType(node, &op));
    ORT_TRY(api->Node_GetDomain(node, &domain));
    ORT_TRY(api->Node_GetNumSubgraphs(node, &subgraphs));
    put_kind_text(kinds, domain);
    put_kind_text(kinds, op);
    if (subgraphs > 0) (void)snprintf(text, sizeof text, "%zu", index);
    if (subgraphs > 0) put_kind_text(kinds, text);
    ORT_TRY(put_kind_values(kinds, node, ORT_INPUTS));
    ORT_TRY(put_kind_values(kinds, node, ORT_OUTPUTS));
    ORT_TRY(put_kind_values(kinds, node, ORT_BODY_INPUTS));
    ORT_TRY(put_kind_attrs(kinds, node));
    return kinds->texts.is_full ? ort_out_of_memory(kinds->provider) : NULL;
}

static bool is_same_kind(const kinds_t *kinds, size_t a, size_t b) {
    const size_t *begins = kinds->begins;
    const size_t bytes = begins[a + 1] - begins[a];
    return bytes == begins[b + 1] - begins[b] &&
           memcmp(kinds->texts.data + begins[a], kinds->texts.data + begins[b], bytes) == 0;
}

/* The first node like this one, which is put into the table if there is none. */
static size_t first_of_kind(kinds_t *kinds, size_t node) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = kinds->begins[node]; i < kinds->begins[node + 1]; ++i)
        hash = (hash ^ kinds->texts.data[i]) * UINT64_C(0x100000001b3);
    size_t i = (size_t)(hash ^ hash >> 32) & (kinds->room - 1);
    while (kinds->table[i] > 0 && !is_same_kind(kinds, kinds->table[i] - 1, node))
        i = (i + 1) & (kinds->room - 1);
    if (kinds->table[i] == 0) kinds->table[i] = node + 1;
    return kinds->table[i] - 1;
}

ort_status_t *ort_find_kinds(const ort_provider_t *provider, const ort_node_t *const *nodes,
                             size_t count, size_t *out_first) {
    kinds_t kinds = {.provider = provider, .room = 64};
    while (kinds.room < 2 * count) kinds.room *= 2;
    kinds.begins = calloc(count + 1, sizeof *kinds.begins);
    kinds.table = calloc(kinds.room, sizeof *kinds.table);
    ort_status_t *failed = kinds.begins && kinds.table ? NULL : ort_out_of_memory(provider);
    for (size_t i = 0; i < count && !failed; ++i) {
        failed = put_node_kind(&kinds, nodes[i], i);
        kinds.begins[i + 1] = kinds.texts.size;
        if (!failed) out_first[i] = first_of_kind(&kinds, i);
    }
    free(kinds.begins);
    free(kinds.table);
    free(kinds.texts.data);
    return failed;
}
