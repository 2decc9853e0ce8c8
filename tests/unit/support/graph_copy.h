/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a graph, node by node, by the public calls: what a reader sees is what a builder needs.
 * Only draws, which no public call adds, are added by the library's own. Header only. */
#ifndef TESTS_GRAPH_COPY_H
#define TESTS_GRAPH_COPY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "function/build/graph_description.h"

typedef struct graph_copy_t {
    gantry_graph_value_t *values; /* by the values of the graph that is copied */
} graph_copy_t;

static inline void graph_expect_ok(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static inline gantry_graph_value_t *graph_copy_list(const graph_copy_t *copy,
                                                    const gantry_graph_value_t *values,
                                                    size_t count) {
    gantry_graph_value_t *list = malloc((count + 1) * sizeof *list);
    assert_non_null(list);
    for (size_t i = 0; i < count; ++i) list[i] = copy->values[values[i]];
    return list;
}

static inline void graph_copy_nodes(graph_copy_t *copy, const gantry_graph_t *from,
                                    gantry_graph_t *to);

static inline void graph_copy_block(graph_copy_t *copy, const gantry_graph_node_info_t *info,
                                    const gantry_graph_node_t *node, gantry_graph_t *to,
                                    gantry_graph_value_t *outputs) {
    gantry_graph_t *subgraphs[GANTRY_MAX_GRAPH_BRANCHES];
    for (size_t i = 0; i < info->subgraph_count; ++i) {
        graph_expect_ok(
            gantry_graph_add_subgraph(to, gantry_graph_name(info->subgraphs[i]), &subgraphs[i]));
        graph_copy_nodes(copy, info->subgraphs[i], subgraphs[i]);
    }
    if (info->kind == GANTRY_GRAPH_JOIN) {
        graph_expect_ok(gantry_graph_add_join(to, node, subgraphs[0], outputs));
        return;
    }
    graph_expect_ok(info->kind == GANTRY_GRAPH_WHILE
                        ? gantry_graph_add_while(to, node, subgraphs[0], subgraphs[1],
                                                 info->most_steps, outputs)
                        : gantry_graph_add_case(to, node, subgraphs, info->subgraph_count, outputs,
                                                info->output_count));
}

static inline void graph_copy_draw(const gantry_graph_t *from, size_t index, gantry_graph_t *to,
                                   gantry_graph_value_t *outputs) {
    const gantry__graph_item_t item = {.kind = GANTRY_GRAPH_DRAW,
                                       .node.name = from->items[index].node.name,
                                       .draws = from->items[index].draws,
                                       .blocks = from->items[index].blocks},
                               *added;
    graph_expect_ok(gantry__graph_add_item(to, "test", &item, &added));
    outputs[0] = added->first_output;
    outputs[1] = added->first_output + 1;
}

static inline void graph_copy_node(graph_copy_t *copy, const gantry_graph_t *from, size_t index,
                                   gantry_graph_t *to) {
    gantry_graph_node_info_t info = {.struct_size = sizeof info};
    graph_expect_ok(gantry_graph_get_node(from, index, &info));
    gantry_graph_value_t *outputs = &copy->values[info.first_output];
    gantry_graph_node_t node = info.node;
    gantry_graph_value_t *inputs = graph_copy_list(copy, node.inputs, node.input_count);
    gantry_graph_value_t *controls = graph_copy_list(copy, node.controls, node.control_count);
    gantry_graph_value_t *colocated = graph_copy_list(copy, node.colocated, node.colocated_count);
    size_t count = info.output_count;
    node.inputs = inputs;
    node.controls = controls;
    node.colocated = colocated;
    if (info.kind != GANTRY_GRAPH_OP && info.kind != GANTRY_GRAPH_JOIN) node.op = NULL;
    switch (info.kind) {
        case GANTRY_GRAPH_INPUT:
            graph_expect_ok(gantry_graph_add_input(
                to, &(gantry_input_spec_t){node.name, info.dtype, info.shape}, outputs));
            break;
        case GANTRY_GRAPH_CONSTANT:
            graph_expect_ok(gantry_graph_add_constant(to, node.name, info.tensor, outputs));
            break;
        case GANTRY_GRAPH_READ:
            graph_expect_ok(gantry_graph_add_read(to, node.name, info.variable, outputs));
            break;
        case GANTRY_GRAPH_ASSIGN:
            graph_expect_ok(
                gantry_graph_add_assign(to, node.name, info.variable, info.mode, inputs[0]));
            break;
        case GANTRY_GRAPH_OP:
            graph_expect_ok(gantry_graph_add_node(to, &node, outputs, &count));
            assert_int_equal(count, info.output_count);
            break;
        case GANTRY_GRAPH_DRAW: graph_copy_draw(from, index, to, outputs); break;
        default: graph_copy_block(copy, &info, &node, to, outputs);
    }
    free(inputs);
    free(controls);
    free(colocated);
}

static inline void graph_copy_nodes(graph_copy_t *copy, const gantry_graph_t *from,
                                    gantry_graph_t *to) {
    const char *name;
    gantry_graph_value_t value;
    for (size_t i = 0; i < gantry_graph_node_count(from); ++i) graph_copy_node(copy, from, i, to);
    for (size_t i = 0; i < gantry_graph_output_count(from); ++i) {
        graph_expect_ok(gantry_graph_get_output(from, i, &name, &value));
        graph_expect_ok(gantry_graph_add_output(to, name, copy->values[value]));
    }
}

/* The caller releases the copy. */
static inline gantry_graph_t *graph_copy(gantry_runtime_t *runtime, const gantry_graph_t *from) {
    gantry_graph_t *to;
    graph_copy_t copy = {calloc(from->root->value_count + 1, sizeof *copy.values)};
    assert_non_null(copy.values);
    graph_expect_ok(gantry_graph_create(runtime, gantry_graph_name(from), &to));
    graph_copy_nodes(&copy, from, to);
    for (size_t i = 0; i < gantry_graph_metadata_count(from); ++i) {
        const char *key, *text;
        graph_expect_ok(gantry_graph_get_metadata(from, i, &key, &text));
        graph_expect_ok(gantry_graph_set_metadata(to, key, text));
    }
    free(copy.values);
    return to;
}

#endif
