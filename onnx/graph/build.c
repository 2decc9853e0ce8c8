/* SPDX-License-Identifier: Apache-2.0 */
/* From a file's bytes to a model: the messages are read, checked, made a graph and forgotten. */
#include "onnx/graph/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "onnx/base/limits.h"
#include "shared/memory.h"
#include "shared/printable.h"

#define MOST_SHOWN 160 /* bytes of a node's name in a message */

static gantry_status_t check_model(const gantry__onnx_reader_t *reader,
                                   const gantry__onnx_wire_model_t *message) {
    if (!GANTRY__ONNX_HAS(model, message, ir_version) || message->ir_version <= 0)
        return gantry__onnx_bad(
            reader,
            "it has the IR version %" PRId64 "; %d to %d are accepted (is it an ONNX file?)",
            message->ir_version, GANTRY__ONNX_OLDEST_IR, GANTRY__ONNX_NEWEST_IR);
    if (message->ir_version < GANTRY__ONNX_OLDEST_IR ||
        message->ir_version > GANTRY__ONNX_NEWEST_IR)
        return gantry__onnx_lacks(
            reader, "it has the IR version %" PRId64 "; this library reads %d to %d",
            message->ir_version, GANTRY__ONNX_OLDEST_IR, GANTRY__ONNX_NEWEST_IR);
    if (!message->graph) return gantry__onnx_bad(reader, "it has no graph; one is accepted");
    if (message->opset_import.count == 0)
        return gantry__onnx_bad(reader, "it imports no operator set; opset_import must have one");
    return gantry__onnx_check_opsets(reader, message->opset_import.items,
                                     message->opset_import.count);
}

static gantry_status_t make_opsets(gantry__onnx_build_t *build) {
    const gantry__onnx_wire_model_t *message = build->message;
    const size_t count = message->opset_import.count;
    gantry__onnx_opset_t *opsets = gantry__onnx_model_alloc(build->reader, count, sizeof *opsets);
    if (!opsets) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) {
        GANTRY__TRY(gantry__onnx_copy_name(
            build, gantry__onnx_domain(message->opset_import.items[i].domain),
            "the domain of an operator set", &opsets[i].domain));
        opsets[i].version = message->opset_import.items[i].version;
    }
    build->model->opsets = opsets;
    build->model->opset_count = count;
    return GANTRY_OK;
}

/* Keys are entered as names of a scope of their own. */
static gantry_status_t make_properties(gantry__onnx_build_t *build) {
    const gantry__onnx_wire_model_t *message = build->message;
    const size_t count = message->metadata_props.count;
    const uint32_t scope = ++build->scopes;
    gantry__onnx_property_t *properties =
        gantry__onnx_model_alloc(build->reader, count, sizeof *properties);
    if (!properties) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) {
        const gantry__onnx_wire_entry_t *entry = &message->metadata_props.items[i];
        uint32_t number;
        bool found;
        GANTRY__TRY(gantry__onnx_find_name(build->reader, &build->names, scope, entry->key, &number,
                                           &found));
        if (found)
            return gantry__onnx_bad(build->reader,
                                    "the metadata have the key '%.*s' twice; once is accepted",
                                    GANTRY__ONNX_SHOWN(entry->key));
        GANTRY__TRY(gantry__onnx_set_name(build->reader, &build->names, scope, entry->key, 0));
        GANTRY__TRY(
            gantry__onnx_copy_name(build, entry->key, "a key of the metadata", &properties[i].key));
        GANTRY__TRY(gantry__onnx_copy_text(build->reader, entry->value, SIZE_MAX,
                                           "a text of the metadata", &properties[i].text));
    }
    build->model->properties = properties;
    build->model->property_count = count;
    return GANTRY_OK;
}

static gantry_status_t make_texts(gantry__onnx_build_t *build) {
    const gantry__onnx_wire_model_t *message = build->message;
    gantry__onnx_graph_model_t *model = build->model;
    gantry__onnx_reader_t *reader = build->reader;
    const gantry__onnx_bytes_t path = {(const uint8_t *)reader->path, strlen(reader->path)};
    GANTRY__TRY(gantry__onnx_copy_text(reader, path, SIZE_MAX, "the path", &model->path));
    GANTRY__TRY(gantry__onnx_copy_text(reader, message->producer_name, SIZE_MAX,
                                       "the producer's name", &model->producer));
    GANTRY__TRY(gantry__onnx_copy_text(reader, message->producer_version, SIZE_MAX,
                                       "the producer's version", &model->producer_version));
    GANTRY__TRY(gantry__onnx_copy_text(reader, message->domain, SIZE_MAX, "the model's domain",
                                       &model->domain));
    return gantry__onnx_copy_text(reader, message->doc_string, SIZE_MAX, "the model's text",
                                  &model->text);
}

/* The values' list, which grew, becomes the model's. */
static gantry_status_t build_take_values(gantry__onnx_build_t *build) {
    gantry__onnx_value_info_t *values =
        gantry__onnx_model_alloc(build->reader, build->value_count, sizeof *values);
    if (!values) return GANTRY_RESOURCE_EXHAUSTED;
    if (build->value_count > 0) memcpy(values, build->values, build->value_count * sizeof *values);
    build->model->values = values;
    build->model->value_count = build->value_count;
    return GANTRY_OK;
}

static gantry_status_t make_model(gantry__onnx_build_t *build) {
    gantry__onnx_graph_t *graph;
    build->model = gantry__onnx_model_alloc(build->reader, 1, sizeof *build->model);
    if (!build->model) return GANTRY_RESOURCE_EXHAUSTED;
    build->model->ir_version = build->message->ir_version;
    build->model->model_version = build->message->model_version;
    GANTRY__TRY(make_texts(build));
    GANTRY__TRY(make_opsets(build));
    GANTRY__TRY(make_properties(build));
    GANTRY__TRY(gantry__onnx_add_functions(build));
    GANTRY__TRY(gantry__onnx_make_graph(build, build->message->graph, NULL, &graph));
    build->model->graph = graph;
    build->model->graph_count = build->graph_count;
    GANTRY__TRY(gantry__onnx_make_captures(build));
    GANTRY__TRY(build_take_values(build));
    build->model->work = build->reader->work;
    return GANTRY_OK;
}

static gantry_status_t read_and_make(gantry__onnx_build_t *build) {
    const gantry__onnx_part_t part = {build->reader->bytes, NULL};
    gantry__onnx_wire_model_t *message =
        gantry__onnx_message_alloc(build->reader, 1, sizeof *message);
    if (!message) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(
        gantry__onnx_read_message(build->reader, &gantry__onnx_model_message, &part, message));
    build->message = message;
    GANTRY__TRY(check_model(build->reader, message));
    return make_model(build);
}

gantry_status_t gantry__onnx_build_model(gantry__onnx_reader_t *reader,
                                         const gantry__onnx_graph_model_t **out_model,
                                         gantry__onnx_tensor_t ***out_externals,
                                         size_t *out_external_count) {
    gantry__onnx_build_t build = {.reader = reader};
    const gantry_status_t status = read_and_make(&build);
    gantry__onnx_arena_deinit(&reader->messages);
    gantry__onnx_names_deinit(&build.names);
    gantry__onnx_names_deinit(&build.functions);
    gantry__free(build.values);
    gantry__free(build.nodes);
    gantry__free(build.graphs);
    *out_model = build.model;
    *out_externals = build.externals;
    *out_external_count = build.external_count;
    return status;
}

size_t gantry__onnx_cut(const char *text, size_t most) {
    size_t used = 0;
    while (text[used]) {
        const size_t bytes = gantry__utf8_bytes(text + used);
        if (used + (bytes ? bytes : 1) > most) break;
        used += bytes ? bytes : 1;
    }
    return used;
}

void gantry__onnx_describe_node(const gantry__onnx_node_t *node, char *text, size_t size) {
    const char *dot = *node->domain ? "." : "";
    if (*node->name)
        (void)snprintf(text, size, "node '%.*s' (%s%s%s, opset %" PRId64 ")",
                       (int)gantry__onnx_cut(node->name, MOST_SHOWN), node->name, node->domain, dot,
                       node->op, node->version);
    else
        (void)snprintf(text, size, "node %u of the graph (%s%s%s, opset %" PRId64 ")", node->index,
                       node->domain, dot, node->op, node->version);
}
