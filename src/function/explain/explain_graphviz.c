/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation as a drawing, in the language of Graphviz' dot:
 *
 *     colours   devices, named in a box of their own; white: wherever the value is used
 *     shapes    arguments, constants, variables, ops, results
 *     edges     thin: a value stays on its device; bold: a copy, with its bytes; dotted: only order
 *
 * A copy that several nodes share is one bold edge, to a point that theirs begin at. The bodies of
 * branches and loops are boxes of their own, joined to their node by a dashed line. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "device/logical_device.h"
#include "function/explain/explain.h"
#include "shared/printable.h"

typedef gantry__explained_t explained_t;

/* The function, or a body in it, whose identifiers begin with the prefix. */
typedef struct drawing_t {
    const explained_t *explained;
    char prefix[64];
} drawing_t;

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
        case GANTRY__NODE_ASSIGN:
        case GANTRY__NODE_DRAW: return "cylinder";
        case GANTRY__NODE_CASE: return "diamond";
        case GANTRY__NODE_WHILE: return "hexagon";
        default: return "box";
    }
}

static void write_label(const explained_t *explained, const gantry__node_t *node,
                        gantry__text_t *out) {
    gantry__text_append(out, "label=\"");
    write_escaped(node->name, out);
    const bool is_op = node->kind == GANTRY__NODE_OP || node->kind == GANTRY__NODE_EAGER;
    if (is_op && strcmp(node->name, node->op->name) != 0)
        gantry__text_append(out, "\\n%s", node->op->name);
    if (node->part_of) gantry__text_append(out, " of %s", node->part_of->name);
    for (uint32_t i = 0; i < node->fused_count; ++i) {
        gantry__text_append(out, "%s", i > 0 ? ", " : "\\none pass: ");
        write_escaped(node->fused[i], out);
    }
    if (node->output_count > 0) {
        const gantry__value_t *value = &explained->graph->values[node->first_output];
        char shape[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(&value->shape, shape, sizeof shape);
        gantry__text_append(out, "\\n%s%s", gantry_dtype_name(value->dtype), shape);
    }
    gantry__text_append(out, "\"");
}

static void explain_graphviz_write_node(const drawing_t *drawing, size_t index,
                                        gantry__text_t *out) {
    const explained_t *explained = drawing->explained;
    const gantry__node_t *node = &explained->graph->nodes[index];
    const gantry__node_place_t *place = &explained->schedule->places[index];
    const bool is_box = node->kind == GANTRY__NODE_OP;
    gantry__text_append(out, "  %sn%zu [shape=%s, style=\"filled%s\", fillcolor=\"%s\", ",
                        drawing->prefix, index, shape_of(node->kind), is_box ? ",rounded" : "",
                        colour_of(explained, gantry__explained_home(explained, index)));
    write_label(explained, node, out);
    gantry__text_append(out, ", tooltip=\"%s\"];\n", gantry_placement_reason_text(place->reason));
}

static void explain_graphviz_write_results(const drawing_t *drawing, gantry__text_t *out) {
    const gantry__graph_t *graph = drawing->explained->graph;
    const char *prefix = drawing->prefix;
    for (uint32_t i = 0; i < graph->output_count; ++i) {
        gantry__text_append(out, "  %sr%u [shape=house, label=\"result %u\"];\n", prefix, i, i);
        gantry__text_append(out, "  %sn%u -> %sr%u;\n", prefix,
                            graph->values[graph->outputs[i]].node, prefix, i);
    }
}

/* ---- edges ---- */

/* The copy's bold edge, and the point at its end. */
static void explain_graphviz_write_copy(const drawing_t *drawing, size_t index,
                                        gantry__text_t *out) {
    const gantry__explained_copy_t *copy = &drawing->explained->copies[index];
    const gantry__value_t *value = &drawing->explained->graph->values[copy->value];
    const char *prefix = drawing->prefix;
    gantry__text_append(out, "  %sc%zu [shape=point, color=\"#b3261e\"];\n", prefix, index);
    gantry__text_append(out,
                        "  %sn%u -> %sc%zu [style=bold, penwidth=3, color=\"#b3261e\", "
                        "arrowhead=none, label=\" %" PRIu64 " bytes to %s%s\"];\n",
                        prefix, value->node, prefix, index, value->bytes,
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

static void write_value_edges(const drawing_t *drawing, uint32_t index, gantry__text_t *out) {
    const explained_t *explained = drawing->explained;
    const gantry__node_t *node = &explained->graph->nodes[index];
    const char *prefix = drawing->prefix;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const gantry__explained_copy_t *copy = gantry__explained_copy_of(explained, index, i);
        if (copy) {
            gantry__text_append(out, "  %sc%zu -> %sn%u [penwidth=3, color=\"#b3261e\"];\n", prefix,
                                (size_t)(copy - explained->copies), prefix, index);
        } else {
            gantry__text_append(out, "  %sn%u -> %sn%u;\n", prefix,
                                explained->graph->values[node->inputs[i]].node, prefix, index);
        }
    }
}

static void write_edges(const drawing_t *drawing, uint32_t index, gantry__text_t *out) {
    const gantry__graph_t *graph = drawing->explained->graph;
    const gantry__node_t *node = &graph->nodes[index];
    write_value_edges(drawing, index, out);
    for (uint32_t i = 0; i < node->control_count; ++i) {
        if (!gives_value(graph, node->controls[i], node) &&
            drawing->explained->is_used[node->controls[i]])
            gantry__text_append(out, "  %sn%u -> %sn%u [style=dotted];\n", drawing->prefix,
                                node->controls[i], drawing->prefix, index);
    }
}

/* ---- the whole ---- */

static void write_drawing(const drawing_t *drawing, gantry__text_t *out);

static void write_body(const drawing_t *drawing, const gantry__block_t *block, uint32_t index,
                       gantry__text_t *out) {
    const gantry__node_t *node = &drawing->explained->graph->nodes[block->node];
    drawing_t inner;
    explained_t body;
    if (gantry__explained_init_body(&body, drawing->explained, &block->bodies[index]) !=
        GANTRY_OK) {
        out->failed = true;
        return;
    }
    inner.explained = &body;
    (void)snprintf(inner.prefix, sizeof inner.prefix, "%.40sb%u_%u_", drawing->prefix, block->node,
                   index);
    gantry__text_append(out, "  subgraph cluster_%s {\n    label=\"%s of ", inner.prefix,
                        gantry__explained_body(node, index).text);
    write_escaped(node->name, out);
    gantry__text_append(out, "\";\n");
    write_drawing(&inner, out);
    gantry__text_append(out, "  }\n");
    if (body.graph->output_count > 0)
        gantry__text_append(out, "  %sr0 -> %sn%u [style=dashed, arrowhead=none];\n", inner.prefix,
                            drawing->prefix, block->node);
    gantry__explained_deinit(&body);
}

static void write_drawing(const drawing_t *drawing, gantry__text_t *out) {
    const explained_t *explained = drawing->explained;
    const size_t count = explained->graph->node_count;
    for (size_t i = 0; i < count; ++i) {
        if (explained->is_used[i]) explain_graphviz_write_node(drawing, i, out);
    }
    for (size_t i = 0; i < explained->copy_count; ++i) explain_graphviz_write_copy(drawing, i, out);
    for (size_t i = 0; i < count; ++i) {
        if (explained->is_used[i]) write_edges(drawing, (uint32_t)i, out);
    }
    explain_graphviz_write_results(drawing, out);
    for (size_t i = 0; i < explained->schedule->block_count; ++i) {
        const gantry__block_t *block = &explained->schedule->blocks[i];
        for (uint32_t k = 0; k < block->body_count && !out->failed; ++k)
            write_body(drawing, block, k, out);
    }
}

static void write_devices(const explained_t *explained, gantry__text_t *out) {
    gantry__text_append(out, "  subgraph cluster_devices {\n    label=\"devices\";\n");
    for (size_t i = 0; i < explained->device_count; ++i) {
        const gantry__device_bytes_t *at = &explained->devices[i];
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
    const drawing_t drawing = {explained, ""};
    gantry__text_append(out, "digraph \"");
    write_escaped(explained->name, out);
    gantry__text_append(out,
                        "\" {\n  node [fontname=\"Helvetica\", fontsize=11];\n"
                        "  edge [fontname=\"Helvetica\", fontsize=10];\n");
    write_devices(explained, out);
    write_drawing(&drawing, out);
    gantry__text_append(out, "}\n");
}
