/* SPDX-License-Identifier: Apache-2.0 */
/* gantry function info: the function's signature, metadata, weights and ops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function/function.h"
#include "shared/printable.h"

#define TYPE_BYTES 256

/* How often an op is there. */
typedef struct op_count_t {
    const char *name;
    uint64_t count;
} op_count_t;

typedef struct contents_t {
    op_count_t *ops;
    size_t op_count;
    uint64_t nodes, constants, constant_bytes;
    bool has_failed; /* memory ran out */
} contents_t;

/* ---- counting ---- */

static void count_op(contents_t *contents, const char *name) {
    size_t at = 0;
    while (at < contents->op_count && strcmp(contents->ops[at].name, name) != 0) ++at;
    if (at == contents->op_count) {
        op_count_t *grown = realloc(contents->ops, (at + 1) * sizeof *grown);
        contents->has_failed |= !grown;
        if (!grown) return;
        contents->ops = grown;
        contents->ops[contents->op_count++] = (op_count_t){name, 0};
    }
    ++contents->ops[at].count;
}

static uint64_t function_info_bytes_of(const gantry_tensor_t *tensor) {
    return (uint64_t)gantry_tensor_elements(tensor) *
           gantry_dtype_size(gantry_tensor_dtype(tensor));
}

static void count_nodes(contents_t *contents, const gantry_graph_t *graph) {
    static const char *const blocks[] = {[GANTRY_GRAPH_CASE] = "branch",
                                         [GANTRY_GRAPH_WHILE] = "loop",
                                         [GANTRY_GRAPH_DRAW] = "draw"};
    for (size_t i = 0; i < gantry_graph_node_count(graph); ++i) {
        gantry_graph_node_info_t info = {.struct_size = sizeof info};
        if (gantry_graph_get_node(graph, i, &info) != GANTRY_OK) continue;
        if (info.tensor) {
            ++contents->constants;
            contents->constant_bytes += function_info_bytes_of(info.tensor);
        }
        const bool is_named = info.kind == GANTRY_GRAPH_OP || info.kind == GANTRY_GRAPH_JOIN;
        if (is_named) count_op(contents, info.node.op);
        if (!is_named && info.kind >= GANTRY_GRAPH_CASE) count_op(contents, blocks[info.kind]);
        contents->nodes += info.kind == GANTRY_GRAPH_OP || info.kind >= GANTRY_GRAPH_CASE;
        for (size_t k = 0; k < info.subgraph_count; ++k) count_nodes(contents, info.subgraphs[k]);
    }
}

static int compare_ops(const void *left, const void *right) {
    const op_count_t *a = left, *b = right;
    return a->count != b->count ? (a->count < b->count ? 1 : -1) : strcmp(a->name, b->name);
}

/* ---- text ---- */

/* The column of names is as wide as the longest name, within these. */
#define LEAST_NAME 20
#define MOST_NAME 48

typedef struct table_t {
    const function_call_t *call;
    size_t width; /* of the column of names, so far */
    bool prints;  /* false: the width is measured */
} table_t;

static size_t characters_of(const char *text) {
    size_t characters = 0;
    for (; *text; ++characters) {
        const size_t bytes = gantry__utf8_bytes(text);
        text += bytes ? bytes : 1;
    }
    return characters;
}

/* A row; a name wider than the column has a line of its own. */
static void info_add_row(table_t *table, const char *what, const char *name, const char *text) {
    const size_t characters = characters_of(name);
    if (!table->prints) {
        if (characters > table->width && characters <= MOST_NAME) table->width = characters;
        return;
    }
    (void)printf("  %-9s ", what);
    function_print_text(name);
    if (characters > table->width)
        (void)printf("\n%*s", (int)(table->width + 13), "");
    else
        (void)printf("%*s", (int)(table->width - characters + 1), "");
    function_print_text(text);
    (void)printf("\n");
}

static void add_value_rows(table_t *table, const char *what, size_t count, function_get_fn *get) {
    for (size_t i = 0; i < count; ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        char type[TYPE_BYTES], number[32];
        if (get(table->call->function, i, &value) != GANTRY_OK) return;
        info_add_row(table, i == 0 ? what : "", function_value_name(&value, i, number),
                     function_type_text(&value, type, sizeof type));
    }
}

static void add_metadata_rows(table_t *table) {
    for (size_t i = 0; i < gantry_function_metadata_count(table->call->function); ++i) {
        gantry_metadata_t metadata;
        if (gantry_function_get_metadata(table->call->function, i, &metadata) != GANTRY_OK) return;
        info_add_row(table, i == 0 ? "metadata" : "", metadata.key, metadata.text);
    }
}

static void add_variable_rows(table_t *table, const gantry_graph_t *graph) {
    for (size_t i = 0; i < gantry_graph_variable_count(graph); ++i) {
        const gantry_variable_t *variable = gantry_graph_get_variable(graph, i);
        const gantry_function_value_t value = {.dtype = gantry_variable_dtype(variable),
                                               .shape = *gantry_variable_shape(variable)};
        char type[TYPE_BYTES];
        info_add_row(table, i == 0 ? "variables" : "", gantry_variable_name(variable),
                     function_type_text(&value, type, sizeof type));
    }
}

static void info_add_rows(table_t *table, const gantry_graph_t *graph) {
    gantry_function_t *function = table->call->function;
    add_value_rows(table, "inputs", gantry_function_input_count(function),
                   gantry_function_get_input);
    add_value_rows(table, "outputs", gantry_function_output_count(function),
                   gantry_function_get_output);
    add_metadata_rows(table);
    add_variable_rows(table, graph);
}

static void print_contents(const contents_t *contents) {
    char size[GANTRY_TOOL_TEXT_BYTES];
    (void)printf("  %-9s %llu, %s\n", "constants", (unsigned long long)contents->constants,
                 gantry_tool_size_text(contents->constant_bytes, size));
    (void)printf("  %-9s %llu:", "nodes", (unsigned long long)contents->nodes);
    for (size_t i = 0; i < contents->op_count; ++i)
        (void)printf("%s %s %llu", i > 0 ? "," : "", contents->ops[i].name,
                     (unsigned long long)contents->ops[i].count);
    (void)printf("\n");
}

static void print_info(const function_call_t *call, const gantry_graph_t *graph,
                       const contents_t *contents) {
    table_t table = {.call = call, .width = LEAST_NAME};
    info_add_rows(&table, graph);
    table.prints = true;
    function_print_text(call->path);
    (void)printf(": function ");
    function_print_text(gantry_function_name(call->function));
    (void)printf("\n");
    info_add_rows(&table, graph);
    print_contents(contents);
}

/* ---- JSON ---- */

static void add_type(gantry_json_t *json, gantry_dtype_t dtype, const gantry_shape_t *shape) {
    gantry_json_text(json, "type", dtype == GANTRY_DTYPE_NONE ? NULL : gantry_dtype_name(dtype));
    gantry_json_array(json, "shape");
    for (int32_t k = 0; k < shape->rank; ++k)
        gantry_json_integer(json, NULL, shape->dims[k] < 0 ? -1 : shape->dims[k]);
    gantry_json_end(json);
}

static void add_values(const function_call_t *call, const char *key, size_t count,
                       function_get_fn *get) {
    gantry_json_array(call->json, key);
    for (size_t i = 0; i < count; ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        if (get(call->function, i, &value) != GANTRY_OK) break;
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "name", value.name);
        add_type(call->json, value.dtype, &value.shape);
        gantry_json_end(call->json);
    }
    gantry_json_end(call->json);
}

static void add_variables(gantry_json_t *json, const gantry_graph_t *graph) {
    gantry_json_array(json, "variables");
    for (size_t i = 0; i < gantry_graph_variable_count(graph); ++i) {
        const gantry_variable_t *variable = gantry_graph_get_variable(graph, i);
        gantry_json_object(json, NULL);
        gantry_json_text(json, "name", gantry_variable_name(variable));
        add_type(json, gantry_variable_dtype(variable), gantry_variable_shape(variable));
        gantry_json_end(json);
    }
    gantry_json_end(json);
}

static void add_metadata(const function_call_t *call) {
    gantry_json_object(call->json, "metadata");
    for (size_t i = 0; i < gantry_function_metadata_count(call->function); ++i) {
        gantry_metadata_t metadata;
        if (gantry_function_get_metadata(call->function, i, &metadata) == GANTRY_OK)
            gantry_json_text(call->json, metadata.key, metadata.text);
    }
    gantry_json_end(call->json);
}

static void add_info(const function_call_t *call, const gantry_graph_t *graph,
                     const contents_t *contents) {
    gantry_json_t *json = call->json;
    gantry_json_object(json, NULL);
    gantry_json_text(json, "file", call->path);
    gantry_json_text(json, "name", gantry_function_name(call->function));
    add_values(call, "inputs", gantry_function_input_count(call->function),
               gantry_function_get_input);
    add_values(call, "outputs", gantry_function_output_count(call->function),
               gantry_function_get_output);
    add_metadata(call);
    add_variables(json, graph);
    gantry_json_unsigned(json, "constants", contents->constants);
    gantry_json_unsigned(json, "constant_bytes", contents->constant_bytes);
    gantry_json_object(json, "nodes");
    for (size_t i = 0; i < contents->op_count; ++i)
        gantry_json_unsigned(json, contents->ops[i].name, contents->ops[i].count);
    gantry_json_end(json);
    gantry_json_end(json);
}

int function_info(const function_call_t *call) {
    gantry_graph_t *graph;
    contents_t contents = {0};
    if (gantry_function_get_graph(call->function, &graph) != GANTRY_OK)
        return gantry_tool_fail_last();
    count_nodes(&contents, graph);
    if (contents.op_count > 1)
        qsort(contents.ops, contents.op_count, sizeof *contents.ops, compare_ops);
    if (contents.has_failed)
        (void)gantry_tool_fail("out of host memory");
    else if (call->json)
        add_info(call, graph, &contents);
    else
        print_info(call, graph, &contents);
    free(contents.ops);
    gantry_graph_release(graph);
    return contents.has_failed ? GANTRY_TOOL_FAILED : GANTRY_TOOL_OK;
}
