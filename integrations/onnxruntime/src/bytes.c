/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of ONNX Runtime as an ONNX file in memory: the messages of onnx.proto, written in one
 * pass. A message's length has a fixed width and is filled in at its end, so that weights are
 * copied once; they begin at multiples of 16, where tensors can use them. */
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define LENGTH_BYTES 10
#define ALIGNMENT 16
#define MOST_RANK 8
#define IR_VERSION 10
#define MOST_DEPTH 32

/* ---- the wire ---- */

void ort_bytes_put(ort_bytes_t *out, const void *data, size_t size) {
    if (out->is_full) return;
    if (size > out->room - out->size) {
        const size_t room = 2 * out->room + size + 1024;
        uint8_t *grown = realloc(out->data, room);
        if (!grown) {
            out->is_full = true;
            return;
        }
        out->data = grown;
        out->room = room;
    }
    if (size > 0) memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void put_varint(ort_bytes_t *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) ort_bytes_put(out, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    ort_bytes_put(out, &(uint8_t){(uint8_t)value}, 1);
}

static void put_int(ort_bytes_t *out, uint32_t field, int64_t value) {
    put_varint(out, field << 3);
    put_varint(out, (uint64_t)value);
}

static void put_span(ort_bytes_t *out, uint32_t field, const void *data, size_t size) {
    put_varint(out, field << 3 | 2);
    put_varint(out, size);
    ort_bytes_put(out, data, size);
}

static void wire_text(ort_bytes_t *out, uint32_t field, const char *text) {
    put_span(out, field, text, strlen(text));
}

static void fill_length(uint8_t *place, uint64_t length) {
    for (int i = 0; i < LENGTH_BYTES; ++i)
        place[i] = (uint8_t)((length >> (7 * i) & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

/* Begins a message; returns where it begins. */
static size_t begin_message(ort_bytes_t *out, uint32_t field) {
    const uint8_t zero[LENGTH_BYTES] = {0};
    put_varint(out, field << 3 | 2);
    ort_bytes_put(out, zero, sizeof zero);
    return out->size;
}

static void end_message(ort_bytes_t *out, size_t begin) {
    if (!out->is_full) fill_length(out->data + begin - LENGTH_BYTES, out->size - begin);
}

/* ---- tensors and values ---- */

static ort_status_t *write_type(const ort_provider_t *provider, const ort_tensor_info_t *info,
                                ort_bytes_t *out) {
    const ort_api_t *api = provider->api;
    int64_t dims[MOST_RANK];
    const char *names[MOST_RANK] = {NULL};
    size_t rank;
    int type;
    ORT_TRY(api->GetTensorElementType(info, &type));
    ORT_TRY(api->GetDimensionsCount(info, &rank));
    const size_t whole = begin_message(out, 2), tensor = begin_message(out, 1);
    put_int(out, 1, type);
    if (api->TensorTypeAndShape_HasShape(info) && rank <= MOST_RANK) {
        ORT_TRY(api->GetDimensions(info, dims, rank));
        ORT_TRY(api->GetSymbolicDimensions(info, names, rank));
        const size_t shape = begin_message(out, 2);
        for (size_t i = 0; i < rank; ++i) {
            const size_t dim = begin_message(out, 1);
            if (dims[i] >= 0)
                put_int(out, 1, dims[i]);
            else if (names[i] && *names[i])
                wire_text(out, 2, names[i]);
            end_message(out, dim);
        }
        end_message(out, shape);
    }
    end_message(out, tensor);
    end_message(out, whole);
    return NULL;
}

static ort_status_t *put_value_info(const ort_provider_t *provider, uint32_t field,
                                    const ort_value_info_t *value, bool has_type,
                                    ort_bytes_t *out) {
    const ort_api_t *api = provider->api;
    const ort_type_info_t *type = NULL;
    const ort_tensor_info_t *info = NULL;
    const char *name;
    ORT_TRY(api->GetValueInfoName(value, &name));
    ORT_TRY(api->GetValueInfoTypeInfo(value, &type));
    if (type && has_type) ORT_TRY(api->CastTypeInfoToTensorInfo(type, &info));
    const size_t message = begin_message(out, field);
    wire_text(out, 1, name);
    if (info) ORT_TRY(write_type(provider, info, out));
    end_message(out, message);
    return NULL;
}

/* raw_data, at a multiple of ALIGNMENT: doc_string fills the bytes before it. */
static void put_raw_data(ort_bytes_t *out, const void *data, size_t size) {
    const uint8_t filler[ALIGNMENT] = {0};
    const size_t ahead = out->size + 2 + 1 + LENGTH_BYTES;
    put_span(out, 12, filler, (ALIGNMENT - ahead % ALIGNMENT) % ALIGNMENT);
    const size_t begin = begin_message(out, 9);
    ort_bytes_put(out, data, size);
    end_message(out, begin);
}

static ort_status_t *write_tensor(const ort_provider_t *provider, uint32_t field, const char *name,
                                  const ort_value_t *value, const ort_tensor_info_t *info,
                                  ort_bytes_t *out) {
    const ort_api_t *api = provider->api;
    int64_t dims[MOST_RANK];
    size_t rank, size;
    const void *data = NULL;
    int type;
    ORT_TRY(api->GetTensorElementType(info, &type));
    ORT_TRY(api->GetDimensionsCount(info, &rank));
    if (rank > MOST_RANK)
        return ort_fail(provider, ORT_NOT_IMPLEMENTED,
                        "the tensor '%s' has %zu dimensions; at most %d are accepted", name, rank,
                        MOST_RANK);
    ORT_TRY(api->GetDimensions(info, dims, rank));
    ORT_TRY(api->GetTensorSizeInBytes(value, &size));
    if (size > out->most_weight_bytes) { /* an empty one */
        rank = 1;
        dims[0] = 0;
        size = 0;
    }
    if (size > 0) ORT_TRY(api->GetTensorData(value, &data));
    const size_t message = begin_message(out, field);
    for (size_t i = 0; i < rank; ++i) put_int(out, 1, dims[i]);
    put_int(out, 2, type);
    wire_text(out, 8, name);
    if (size > 0) put_raw_data(out, data, size);
    end_message(out, message);
    return NULL;
}

static ort_status_t *write_value_as_tensor(const ort_provider_t *provider, uint32_t field,
                                           const char *name, const ort_value_t *value,
                                           ort_bytes_t *out) {
    ort_tensor_info_t *info;
    ORT_TRY(provider->api->GetTensorTypeAndShape(value, &info));
    ort_status_t *failed = write_tensor(provider, field, name, value, info, out);
    provider->api->ReleaseTensorTypeAndShapeInfo(info);
    return failed;
}

/* ---- attributes ---- */

static ort_status_t *put_graph_of(const ort_provider_t *provider, const ort_part_t *part,
                                  uint32_t field, uint32_t depth, ort_bytes_t *out);

/* The number of a kind in ONNX, and the field of its values. */
static const struct {
    uint32_t kind, field;
} onnx_attrs[] = {
    [ORT_ATTR_INT] = {2, 3},    [ORT_ATTR_INTS] = {7, 8},   [ORT_ATTR_FLOAT] = {1, 2},
    [ORT_ATTR_FLOATS] = {6, 7}, [ORT_ATTR_STRING] = {3, 4}, [ORT_ATTR_STRINGS] = {8, 9}};

/* Items of a list of 64 bits one by one; floats packed; texts, each of which ends with a zero. */
static void put_attr_data(ort_bytes_t *out, int type, const char *data, size_t size) {
    const uint32_t field = onnx_attrs[type].field;
    if (type == ORT_ATTR_INT || type == ORT_ATTR_INTS) {
        for (size_t at = 0; at + 8 <= size; at += 8) {
            int64_t value;
            memcpy(&value, data + at, sizeof value);
            put_int(out, field, value);
        }
    } else if (type == ORT_ATTR_FLOAT) {
        put_varint(out, field << 3 | 5);
        ort_bytes_put(out, data, sizeof(float));
    } else if (type == ORT_ATTR_STRINGS) {
        for (size_t at = 0; at < size; at += strlen(data + at) + 1)
            wire_text(out, field, data + at);
    } else {
        put_span(out, field, data, size);
    }
}

/* A value that is longer than a few bytes is read again, with its size. */
static ort_status_t *write_attr_data(const ort_provider_t *provider, const ort_attr_t *attr,
                                     int type, ort_bytes_t *out) {
    size_t size = 0;
    char few[64];
    ort_status_t *failed = provider->api->ReadOpAttr(attr, type, few, sizeof few, &size);
    if (!failed) {
        put_attr_data(out, type, few, size);
        return NULL;
    }
    if (size <= sizeof few) return failed;
    provider->api->ReleaseStatus(failed);
    char *data = calloc(size + 1, 1);
    if (!data) return ort_out_of_memory(provider);
    failed = provider->api->ReadOpAttr(attr, type, data, size, &size);
    if (!failed) put_attr_data(out, type, data, size);
    free(data);
    return failed;
}

static ort_status_t *write_tensor_attr(const ort_provider_t *provider, const ort_attr_t *attr,
                                       ort_bytes_t *out) {
    ort_value_t *value = NULL;
    ORT_TRY(provider->api->OpAttr_GetTensorAttributeAsOrtValue(attr, &value));
    put_int(out, 20, 4);
    ort_status_t *failed = write_value_as_tensor(provider, 5, "", value, out);
    provider->api->ReleaseValue(value);
    return failed;
}

static ort_status_t *write_attr(const ort_provider_t *provider, const ort_attr_t *attr,
                                ort_bytes_t *out) {
    const char *name;
    int type;
    ORT_TRY(provider->api->OpAttr_GetType(attr, &type));
    ORT_TRY(provider->api->OpAttr_GetName(attr, &name));
    if (type == ORT_ATTR_GRAPH) return NULL; /* among the node's subgraphs */
    if (type < ORT_ATTR_INT || type > ORT_ATTR_TENSOR)
        return ort_fail(provider, ORT_NOT_IMPLEMENTED,
                        "the attribute '%s' is of a kind that ONNX Runtime does not give", name);
    const size_t message = begin_message(out, 5);
    wire_text(out, 1, name);
    if (type == ORT_ATTR_TENSOR) {
        ORT_TRY(write_tensor_attr(provider, attr, out));
    } else {
        put_int(out, 20, onnx_attrs[type].kind);
        ORT_TRY(write_attr_data(provider, attr, type, out));
    }
    end_message(out, message);
    return NULL;
}

/* ---- lists of ONNX Runtime ---- */

ort_status_t *ort_write_attrs(const ort_provider_t *provider, const ort_node_t *node,
                              ort_bytes_t *out) {
    const ort_attr_t **attrs;
    size_t count;
    ORT_TRY(provider->api->Node_GetNumAttributes(node, &count));
    ORT_TRY(ort_new_addresses(provider, count, &attrs));
    ort_status_t *failed = provider->api->Node_GetAttributes(node, attrs, count);
    for (size_t i = 0; i < count && !failed; ++i) failed = write_attr(provider, attrs[i], out);
    free(attrs);
    return failed;
}

static ort_status_t *write_subgraph(const ort_provider_t *provider, const ort_graph_t *graph,
                                    const char *name, uint32_t depth, ort_bytes_t *out) {
    const ort_part_t part = {.graph = graph};
    const size_t message = begin_message(out, 5);
    wire_text(out, 1, name);
    put_int(out, 20, 5);
    ORT_TRY(put_graph_of(provider, &part, 6, depth, out));
    end_message(out, message);
    return NULL;
}

static ort_status_t *write_subgraphs(const ort_provider_t *provider, const ort_node_t *node,
                                     uint32_t depth, ort_bytes_t *out) {
    const ort_graph_t **graphs;
    const char **names = NULL;
    size_t count;
    ORT_TRY(provider->api->Node_GetNumSubgraphs(node, &count));
    if (count == 0) return NULL;
    ORT_TRY(ort_new_addresses(provider, count, &graphs));
    ort_status_t *failed = ort_new_addresses(provider, count, &names);
    if (!failed) failed = provider->api->Node_GetSubgraphs(node, graphs, count, names);
    for (size_t i = 0; i < count && !failed; ++i)
        failed = write_subgraph(provider, graphs[i], names[i], depth + 1, out);
    free(graphs);
    free(names);
    return failed;
}

/* ---- nodes ---- */

/* Where names of values go. */
typedef struct names_out_t {
    const ort_provider_t *provider;
    uint32_t field;
    ort_bytes_t *out;
} names_out_t;

static ort_status_t *put_value_name(void *user, const ort_value_info_t *value) {
    const names_out_t *names = user;
    const char *name = "";
    if (value) ORT_TRY(names->provider->api->GetValueInfoName(value, &name));
    wire_text(names->out, names->field, name);
    return NULL;
}

static ort_status_t *write_node_values(const ort_provider_t *provider, const ort_node_t *node,
                                       ort_bytes_t *out) {
    names_out_t names = {provider, 1, out};
    ORT_TRY(ort_each_value(provider, node, ORT_INPUTS, put_value_name, &names));
    names.field = 2;
    return ort_each_value(provider, node, ORT_OUTPUTS, put_value_name, &names);
}

static ort_status_t *write_node(const ort_provider_t *provider, const ort_node_t *node,
                                uint32_t depth, ort_bytes_t *out) {
    const ort_api_t *api = provider->api;
    const char *name, *op, *domain;
    ORT_TRY(api->Node_GetName(node, &name));
    ORT_TRY(api->Node_GetOperatorType(node, &op));
    ORT_TRY(api->Node_GetDomain(node, &domain));
    const size_t message = begin_message(out, 1);
    ORT_TRY(write_node_values(provider, node, out));
    wire_text(out, 3, name);
    wire_text(out, 4, op);
    ORT_TRY(ort_write_attrs(provider, node, out));
    ORT_TRY(write_subgraphs(provider, node, depth, out));
    wire_text(out, 7, domain);
    end_message(out, message);
    return NULL;
}

/* ---- what nodes read from outside ---- */

/* Names that are there: few hundreds of thousands at most, in a table of open addressing. */
typedef struct name_set_t {
    const char **names;
    size_t count, room; /* room: a power of two */
} name_set_t;

static size_t name_place(const name_set_t *set, const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = name; *at; ++at)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    size_t i = (size_t)(hash ^ hash >> 32) & (set->room - 1);
    while (set->names[i] && strcmp(set->names[i], name) != 0) i = (i + 1) & (set->room - 1);
    return i;
}

static bool grow_set(name_set_t *set) {
    name_set_t wider = {.count = set->count, .room = set->room ? 2 * set->room : 64};
    wider.names = calloc(wider.room, sizeof *wider.names);
    if (!wider.names) return false;
    for (size_t i = 0; i < set->room; ++i)
        if (set->names[i]) wider.names[name_place(&wider, set->names[i])] = set->names[i];
    free(set->names);
    *set = wider;
    return true;
}

/* Adds a name; *out_is_new false: it was there. */
static ort_status_t *name_is_new(const ort_provider_t *provider, name_set_t *set, const char *name,
                                 bool *out_is_new) {
    if (2 * (set->count + 1) > set->room && !grow_set(set)) return ort_out_of_memory(provider);
    const size_t i = name_place(set, name);
    *out_is_new = !set->names[i];
    if (*out_is_new) {
        set->names[i] = name;
        ++set->count;
    }
    return NULL;
}

/* A group that is written: names that its inputs and nodes have, and those that are written. */
typedef struct group_out_t {
    const ort_provider_t *provider;
    const ort_part_t *part;
    ort_bytes_t *out;
    name_set_t set;
} group_out_t;

/* Notes the name of a value; *out_is_new false: it was noted, or the value has none. */
static ort_status_t *note_value(group_out_t *group, const ort_value_info_t *value,
                                const char **out_name, bool *out_is_new) {
    *out_is_new = false;
    *out_name = "";
    if (value) ORT_TRY(group->provider->api->GetValueInfoName(value, out_name));
    return **out_name ? name_is_new(group->provider, &group->set, *out_name, out_is_new) : NULL;
}

static ort_status_t *know_value(void *user, const ort_value_info_t *value) {
    const char *name;
    bool is_new;
    return note_value(user, value, &name, &is_new);
}

/* Writes a value that a node reads, once: an initializer with its elements, or an input. */
static ort_status_t *write_read_value(void *user, const ort_value_info_t *value) {
    group_out_t *group = user;
    const ort_api_t *api = group->provider->api;
    const ort_value_t *tensor = NULL;
    const char *name;
    bool is_new, is_constant;
    size_t size = 0;
    ORT_TRY(note_value(group, value, &name, &is_new));
    if (!is_new) return NULL;
    ORT_TRY(api->ValueInfo_IsConstantInitializer(value, &is_constant));
    if (is_constant) ORT_TRY(api->ValueInfo_GetInitializerValue(value, &tensor));
    if (tensor) ORT_TRY(api->GetTensorSizeInBytes(tensor, &size));
    if (tensor && size <= group->out->most_weight_bytes)
        return write_value_as_tensor(group->provider, 5, name, tensor, group->out);
    if (group->part->inputs) return NULL;
    return put_value_info(group->provider, 11, value, true, group->out);
}

/* ---- graphs ---- */

static ort_status_t *write_ends(const ort_provider_t *provider, uint32_t field,
                                const ort_value_info_t *const *values, size_t count, bool has_types,
                                ort_bytes_t *out) {
    for (size_t i = 0; i < count; ++i)
        if (values[i]) ORT_TRY(put_value_info(provider, field, values[i], has_types, out));
    return NULL;
}

/* The nodes of a group, and what they read. Values that the group makes are not read. */
static ort_status_t *put_group(const ort_provider_t *provider, const ort_part_t *part,
                               uint32_t depth, ort_bytes_t *out) {
    group_out_t group = {.provider = provider, .part = part, .out = out};
    ort_status_t *failed = NULL;
    for (size_t i = 0; i < part->input_count && !failed; ++i)
        failed = know_value(&group, part->inputs[i]);
    for (size_t i = 0; i < part->node_count && !failed; ++i)
        failed = ort_each_value(provider, part->nodes[i], ORT_OUTPUTS, know_value, &group);
    for (size_t i = 0; i < part->node_count && !failed; ++i) {
        const ort_node_t *node = part->nodes[i];
        failed = ort_each_value(provider, node, ORT_INPUTS, write_read_value, &group);
        if (!failed)
            failed = ort_each_value(provider, node, ORT_BODY_INPUTS, write_read_value, &group);
        if (!failed) failed = write_node(provider, node, depth, out);
    }
    free(group.set.names);
    return failed;
}

/* A whole graph: of a subgraph also the initializers that it has. */
static ort_status_t *write_whole(const ort_provider_t *provider, const ort_graph_t *graph,
                                 uint32_t depth, ort_bytes_t *out) {
    const ort_api_t *api = provider->api;
    const ort_value_info_t **values = NULL;
    const ort_node_t **nodes = NULL;
    size_t counts[4];
    ORT_TRY(api->Graph_GetNumInitializers(graph, &counts[0]));
    ORT_TRY(api->Graph_GetNumInputs(graph, &counts[1]));
    ORT_TRY(api->Graph_GetNumOutputs(graph, &counts[2]));
    ORT_TRY(api->Graph_GetNumNodes(graph, &counts[3]));
    ORT_TRY(ort_new_addresses(provider, counts[0] + counts[1] + counts[2], &values));
    ort_status_t *failed = ort_new_addresses(provider, counts[3], &nodes);
    const ort_value_info_t **inputs = values + counts[0], **outputs = inputs + counts[1];
    if (!failed) failed = api->Graph_GetInitializers(graph, values, counts[0]);
    if (!failed) failed = api->Graph_GetInputs(graph, inputs, counts[1]);
    if (!failed) failed = api->Graph_GetOutputs(graph, outputs, counts[2]);
    if (!failed) failed = api->Graph_GetNodes(graph, nodes, counts[3]);
    for (size_t i = 0; i < counts[0] && !failed; ++i) {
        const ort_value_t *tensor = NULL;
        const char *name;
        failed = api->GetValueInfoName(values[i], &name);
        if (!failed) failed = api->ValueInfo_GetInitializerValue(values[i], &tensor);
        if (!failed && tensor) failed = write_value_as_tensor(provider, 5, name, tensor, out);
    }
    if (!failed) failed = write_ends(provider, 11, inputs, counts[1], true, out);
    if (!failed) failed = write_ends(provider, 12, outputs, counts[2], true, out);
    for (size_t i = 0; i < counts[3] && !failed; ++i)
        failed = write_node(provider, nodes[i], depth, out);
    free(values);
    free(nodes);
    return failed;
}

static ort_status_t *put_graph_of(const ort_provider_t *provider, const ort_part_t *part,
                                  uint32_t field, uint32_t depth, ort_bytes_t *out) {
    if (depth > MOST_DEPTH)
        return ort_fail(provider, ORT_NOT_IMPLEMENTED,
                        "graphs are nested more than %d deep; %d are accepted", MOST_DEPTH,
                        MOST_DEPTH);
    const size_t message = begin_message(out, field);
    wire_text(out, 2, "graph");
    if (part->nodes) {
        ORT_TRY(write_ends(provider, 11, part->inputs, part->input_count, true, out));
        ORT_TRY(write_ends(provider, 12, part->outputs, part->output_count, true, out));
        ORT_TRY(put_group(provider, part, depth, out));
    } else {
        ORT_TRY(write_whole(provider, part->graph, depth, out));
    }
    end_message(out, message);
    return NULL;
}

/* ---- the model ---- */

static ort_status_t *write_opsets(const ort_provider_t *provider, const ort_graph_t *graph,
                                  ort_bytes_t *out) {
    int64_t versions[128];
    const char *domains[128];
    size_t count;
    ORT_TRY(provider->api->Graph_GetNumOperatorSets(graph, &count));
    if (count > 128) return ort_fail(provider, ORT_NOT_IMPLEMENTED, "%zu operator sets", count);
    ORT_TRY(provider->api->Graph_GetOperatorSets(graph, domains, versions, count));
    for (size_t i = 0; i < count; ++i) {
        const size_t message = begin_message(out, 8);
        wire_text(out, 1, domains[i]);
        put_int(out, 2, versions[i]);
        end_message(out, message);
    }
    return NULL;
}

ort_status_t *ort_write_model(const ort_provider_t *provider, const ort_part_t *part,
                              size_t most_weight_bytes, ort_bytes_t *out) {
    *out = (ort_bytes_t){.most_weight_bytes = most_weight_bytes};
    put_int(out, 1, IR_VERSION);
    ORT_TRY(write_opsets(provider, part->graph, out));
    ORT_TRY(put_graph_of(provider, part, 7, 0, out));
    return out->is_full ? ort_out_of_memory(provider) : NULL;
}
