/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation as a drawing, in the language of Graphviz' dot:
 *
 *     colours   devices, named in a box of their own; white: wherever the value is used
 *     shapes    arguments, constants, variables, ops, results
 *     edges     thin: a value stays on its device; bold: a copy, with its bytes; dotted: only order
 *
 * A copy that several nodes share is one bold edge, to a point that theirs begin at. */
#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"
#include "device/logical_device.h"
#include "function/explain.h"

typedef gantry__explained_t explained_t;

/* Light enough for black text; told apart by all common kinds of colour blindness in this order. */
static const char *const colours[] = {"#cfe3f7", "#fbdcb5", "#cdeac0", "#f6cfe0",
                                      "#fdf3b0", "#d9d2f0", "#c9ece9", "#e3d5c5"};

/* ---- pieces ---- */

/* A text inside quotes of dot; malformed bytes become question marks. */
static void write_escaped(const char *text, gantry__text_t *out) {
    while (*text) {
        const size_t length = gantry__utf8_bytes(text);
        if (length == 0 || (unsigned char)*text < 0x20 || *text == 0x7f) {
            gantry__text_append_bytes(out, "?", 1);
        } else {
            if (*text == '"' || *text == '\\') gantry__text_append_bytes(out, "\\", 1);
            gantry__text_append_bytes(out, text, length);
        }
        text += length > 0 ? length : 1;
    }
}

static const char *colour_of(const explained_t *explained, const gantry_logical_device_t *device) {
    if (!device) return "white";
    return colours[gantry__explained_device(explained, device) %
                   (sizeof colours / sizeof colours[0])];
}

/* ---- nodes ---- */

static const char *shape_of(gantry__node_kind_t kind) {
    switch (kind) {
        case GANTRY__NODE_INPUT: return "invhouse";
        case GANTRY__NODE_CONST: return "note";
        case GANTRY__NODE_READ:
        case GANTRY__NODE_ASSIGN: return "cylinder";
        default: return "box";
    }
}

static void write_label(const explained_t *explained, const gantry__node_t *node,
                        gantry__text_t *out) {
    gantry__text_append(out, "label=\"");
    write_escaped(node->name, out);
    if (node->kind == GANTRY__NODE_OP && strcmp(node->name, node->op->name) != 0)
        gantry__text_append(out, "\\n%s", node->op->name);
    if (node->part_of) gantry__text_append(out, " of %s", node->part_of->name);
    if (node->output_count > 0) {
        const gantry__value_t *value = &explained->graph->values[node->first_output];
        char shape[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(&value->shape, shape, sizeof shape);
        gantry__text_append(out, "\\n%s%s", gantry_dtype_name(value->dtype), shape);
    }
    gantry__text_append(out, "\"");
}

static void explain_graphviz_write_node(const explained_t *explained, size_t index,
                                        gantry__text_t *out) {
    const gantry__node_t *node = &explained->graph->nodes[index];
    const gantry__node_place_t *place = &explained->schedule->places[index];
    const bool is_box = node->kind == GANTRY__NODE_OP;
    gantry__text_append(out, "  n%zu [shape=%s, style=\"filled%s\", fillcolor=\"%s\", ", index,
                        shape_of(node->kind), is_box ? ",rounded" : "",
                        colour_of(explained, place->device));
    write_label(explained, node, out);
    gantry__text_append(out, ", tooltip=\"%s\"];\n", gantry_placement_reason_text(place->reason));
}

static void explain_graphviz_write_results(const explained_t *explained, gantry__text_t *out) {
    const gantry__graph_t *graph = explained->graph;
    for (uint32_t i = 0; i < graph->output_count; ++i) {
        gantry__text_append(out, "  r%u [shape=house, label=\"result %u\"];\n", i, i);
        gantry__text_append(out, "  n%u -> r%u;\n", graph->values[graph->outputs[i]].node, i);
    }
}

/* ---- edges ---- */

/* The copy's bold edge, and the point at its end. */
static void explain_graphviz_write_copy(const explained_t *explained, size_t index,
                                        gantry__text_t *out) {
    const gantry__explained_copy_t *copy = &explained->copies[index];
    const gantry__value_t *value = &explained->graph->values[copy->value];
    gantry__text_append(out, "  c%zu [shape=point, color=\"#b3261e\"];\n", index);
    gantry__text_append(out,
                        "  n%u -> c%zu [style=bold, penwidth=3, color=\"#b3261e\", "
                        "arrowhead=none, label=\" %" PRIu64 " bytes to %s%s\"];\n",
                        value->node, index, value->bytes,
                        copy->to ? gantry__explained_short(copy->to) : "host memory",
                        copy->is_constant ? ", once" : "");
}

/* Whether an edge leads from the first node to the second anyway. */
static bool gives_value(const gantry__graph_t *graph, uint32_t from, const gantry__node_t *to) {
    for (uint32_t i = 0; i < to->input_count; ++i) {
        if (graph->values[to->inputs[i]].node == from) return true;
    }
    return false;
}

static void write_edges(const explained_t *explained, uint32_t index, gantry__text_t *out) {
    const gantry__graph_t *graph = explained->graph;
    const gantry__node_t *node = &graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const gantry__explained_copy_t *copy = gantry__explained_copy_of(explained, index, i);
        if (copy) {
            gantry__text_append(out, "  c%zu -> n%u [penwidth=3, color=\"#b3261e\"];\n",
                                (size_t)(copy - explained->copies), index);
        } else {
            gantry__text_append(out, "  n%u -> n%u;\n", graph->values[node->inputs[i]].node, index);
        }
    }
    for (uint32_t i = 0; i < node->control_count; ++i) {
        if (!gives_value(graph, node->controls[i], node) && explained->is_used[node->controls[i]])
            gantry__text_append(out, "  n%u -> n%u [style=dotted];\n", node->controls[i], index);
    }
}

/* ---- the whole ---- */

static void write_devices(const explained_t *explained, gantry__text_t *out) {
    gantry__text_append(out, "  subgraph cluster_devices {\n    label=\"devices\"; rank=same;\n");
    for (size_t i = 0; i < explained->device_count; ++i) {
        const gantry__explained_device_t *at = &explained->devices[i];
        gantry__text_append(out,
                            "    d%zu [shape=box, style=filled, fillcolor=\"%s\", label=\"%s\\n"
                            "%" PRIu64 " bytes planned\"];\n",
                            i, colour_of(explained, at->device),
                            gantry__explained_short(at->device), at->planned_bytes);
        if (i > 0) gantry__text_append(out, "    d%zu -> d%zu [style=invis];\n", i - 1, i);
    }
    gantry__text_append(out, "  }\n");
}

void gantry__explain_as_graphviz(const explained_t *explained, gantry__text_t *out) {
    const size_t count = explained->graph->node_count;
    gantry__text_append(out, "digraph \"");
    write_escaped(explained->name, out);
    gantry__text_append(out,
                        "\" {\n  node [fontname=\"Helvetica\", fontsize=11];\n"
                        "  edge [fontname=\"Helvetica\", fontsize=10];\n");
    write_devices(explained, out);
    for (size_t i = 0; i < count; ++i) {
        if (explained->is_used[i]) explain_graphviz_write_node(explained, i, out);
    }
    for (size_t i = 0; i < explained->copy_count; ++i)
        explain_graphviz_write_copy(explained, i, out);
    for (size_t i = 0; i < count; ++i) {
        if (explained->is_used[i]) write_edges(explained, (uint32_t)i, out);
    }
    explain_graphviz_write_results(explained, out);
    gantry__text_append(out, "}\n");
}
