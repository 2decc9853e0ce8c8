/* SPDX-License-Identifier: Apache-2.0 */
/* A graph becomes bytes, in two walks over it and its subgraphs: the first one fills the tables of
 * ops, weights and streams, the second one writes the rows. Variables come before constants, so
 * that their names stay what they are. */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "function/saved/saved_format.h"
#include "run/runtime_state.h"
#include "run/scope_state.h"
#include "run/tensor_state.h"
#include "run/variable_state.h"
#include "shared/printable.h"

/* Bytes of a weight's name, before its number. */
#define MOST_NAME 65000

typedef struct saved_writer_t {
    gantry__saved_graph_t *out;
    const gantry__heap_t *heap;
    bool has_failed;             /* memory ran out */
    gantry__id_map_t names;      /* of weights, by hash: how often */
    gantry__id_map_t node_names; /* of the body that is written */
    gantry__id_map_t weights;    /* by address of the tensor or variable: weight + 1 */
    gantry__id_map_t streams;    /* by address: stream + 1 */
    gantry__draws_t **draws;     /* of the graph */
    size_t stream_count, stream_capacity;
    uint16_t op_numbers[GANTRY__OP_COUNT]; /* by id: the number in the file + 1 */
    uint16_t ops[GANTRY__OP_COUNT];        /* ids, by that number */
    uint32_t op_count;
    bool keeps_rows;   /* the function is batch-invariant, whatever its graph says */
    uint32_t *numbers; /* by value of the graph: that of the file */
    uint32_t next_value;
} saved_writer_t;

/* ---- bytes ---- */

static void put(saved_writer_t *writer, const void *bytes, size_t size) {
    gantry__saved_graph_t *out = writer->out;
    if (writer->has_failed || size == 0) return;
    if (out->capacity - out->size < size) {
        const size_t wanted = 2 * out->capacity + size + 4096;
        unsigned char *grown =
            gantry__heap_resize(writer->heap, out->bytes, out->capacity, wanted, 1);
        writer->has_failed = !grown;
        if (!grown) return;
        out->bytes = grown;
        out->capacity = wanted;
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_u8(saved_writer_t *writer, size_t number) {
    const uint8_t byte = (uint8_t)number;
    put(writer, &byte, sizeof byte);
}

static void put_u32(saved_writer_t *writer, size_t number) {
    const uint32_t word = (uint32_t)number;
    put(writer, &word, sizeof word);
}

static void put_u64(saved_writer_t *writer, uint64_t number) {
    put(writer, &number, sizeof number);
}

/* Texts of a graph have at most GANTRY_MAX_GRAPH_TEXT bytes. */
static void saved_write_put_text(saved_writer_t *writer, const char *text) {
    const uint16_t length = (uint16_t)strlen(text);
    put(writer, &length, sizeof length);
    put(writer, text, length + (size_t)1);
}

static void saved_write_put_type(saved_writer_t *writer, gantry_dtype_t dtype,
                                 const gantry_shape_t *shape) {
    put_u8(writer, (size_t)dtype);
    put_u8(writer, (size_t)shape->rank);
    put(writer, shape->dims, (size_t)shape->rank * sizeof shape->dims[0]);
}

static void number_values(saved_writer_t *writer, const gantry__graph_item_t *item) {
    for (uint32_t i = 0; i < item->output_count; ++i)
        writer->numbers[item->first_output + i] = writer->next_value++;
}

static void saved_write_put_values(saved_writer_t *writer, const gantry_graph_value_t *values,
                                   size_t count) {
    put_u32(writer, count);
    for (size_t i = 0; i < count; ++i) put_u32(writer, writer->numbers[values[i]]);
}

/* ---- tables ---- */

/* A name of its own, fit for the header of the file. */
static gantry_status_t name_weight(saved_writer_t *writer, const char *given, const char *base,
                                   const char **out_name) {
    const char *name = *given ? given : base;
    const size_t bytes = strlen(name), room = (bytes < MOST_NAME ? bytes : MOST_NAME) + 16;
    char *text = gantry__arena_zalloc(&writer->out->arena, room, 1);
    if (!text) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(text, name, room - 16);
    gantry__make_printable(text, 0);
    const size_t length = strlen(text);
    uint32_t taken = 1;
    for (uint32_t number = 0; taken > 0; ++number) {
        uint32_t *count =
            gantry__id_map_at(&writer->names, gantry__hash64(text, strlen(text), 0) | 1);
        if (!count) return GANTRY_RESOURCE_EXHAUSTED;
        taken = (*count)++;
        if (number < taken) number = taken;
        if (taken > 0) (void)snprintf(text + length, 16, "_%u", (unsigned)number);
    }
    *out_name = text;
    return GANTRY_OK;
}

/* Takes over the reference to the tensor. */
static gantry_status_t add_weight(saved_writer_t *writer, const gantry__graph_item_t *item,
                                  gantry_tensor_t *tensor) {
    gantry__saved_graph_t *out = writer->out;
    const char *base = item->variable ? "variable" : "constant";
    const char *given = item->variable ? gantry_variable_name(item->variable) : item->node.name;
    gantry__saved_weight_t weight = {.tensor = tensor,
                                     .variable = item->variable,
                                     .dtype = tensor->dtype,
                                     .shape = tensor->shape};
    gantry_status_t status = name_weight(writer, given, base, &weight.name);
    if (status == GANTRY_OK && !gantry__heap_grow(writer->heap, &out->weights, out->weight_count,
                                                  &out->weight_capacity, sizeof weight))
        status = GANTRY_RESOURCE_EXHAUSTED;
    if (status != GANTRY_OK) {
        gantry_tensor_release(tensor);
        return status;
    }
    if (item->variable) weight.flags |= GANTRY__SAVED_IS_VARIABLE;
    if (strcmp(tensor->device->physical->type, "CPU") == 0 && tensor->data)
        weight.flags |= GANTRY__SAVED_ON_HOST;
    out->weights[out->weight_count++] = weight;
    return GANTRY_OK;
}

static gantry_status_t note_weight(saved_writer_t *writer, const gantry__graph_item_t *item) {
    const void *key = item->variable ? (const void *)item->variable : (const void *)item->tensor;
    uint32_t *number = gantry__id_map_at(&writer->weights, (uint64_t)(uintptr_t)key);
    if (!number) return GANTRY_RESOURCE_EXHAUSTED;
    if (*number > 0) return GANTRY_OK;
    *number = (uint32_t)writer->out->weight_count + 1;
    return add_weight(writer, item,
                      item->variable ? gantry__variable_take(item->variable)
                                     : gantry_tensor_retain(item->tensor));
}

static gantry_status_t note_stream(saved_writer_t *writer, gantry__draws_t *draws) {
    uint32_t *number = gantry__id_map_at(&writer->streams, (uint64_t)(uintptr_t)draws);
    if (!number) return GANTRY_RESOURCE_EXHAUSTED;
    if (*number > 0) return GANTRY_OK;
    *number = (uint32_t)writer->stream_count + 1;
    if (!gantry__heap_grow(writer->heap, &writer->draws, writer->stream_count,
                           &writer->stream_capacity, sizeof *writer->draws))
        return GANTRY_RESOURCE_EXHAUSTED;
    writer->draws[writer->stream_count++] = draws;
    return GANTRY_OK;
}

static void saved_write_note_op(saved_writer_t *writer, const gantry__op_def_t *op) {
    if (writer->op_numbers[op->id] > 0) return;
    writer->ops[writer->op_count++] = op->id;
    writer->op_numbers[op->id] = (uint16_t)writer->op_count;
}

static bool is_inline(const gantry__graph_item_t *item) {
    return item->tensor->size_bytes <= GANTRY__SAVED_INLINE_BYTES;
}

/* Whether an op draws from a stream that is not in the graph. */
static bool has_stream(const gantry__op_def_t *op) {
    for (uint32_t i = 0; i < op->attr_count; ++i) {
        if (strcmp(op->attrs[i].name, "seed2") == 0) return true;
    }
    return false;
}

static gantry_status_t note_op_item(saved_writer_t *writer, const gantry__graph_item_t *item) {
    if (has_stream(item->op))
        return gantry__fail(
            GANTRY_UNIMPLEMENTED,
            "node \"%s\" (%s) draws from a stream that its graph does not have; a stateless op, such as StatelessRandomUniformV2, and a function that was traced from a body are accepted",
            gantry__graph_label(item->node.name).text, item->op->name);
    saved_write_note_op(writer, item->op);
    return GANTRY_OK;
}

static gantry_status_t note_item(saved_writer_t *writer, const gantry__graph_item_t *item,
                                 bool of_variables) {
    if (of_variables) return item->variable ? note_weight(writer, item) : GANTRY_OK;
    if (item->kind == GANTRY_GRAPH_OP) return note_op_item(writer, item);
    if (item->draws) return note_stream(writer, item->draws);
    return item->tensor && !is_inline(item) ? note_weight(writer, item) : GANTRY_OK;
}

static gantry_status_t note_all(saved_writer_t *writer, const gantry_graph_t *graph,
                                bool of_variables) {
    for (size_t i = 0; i < graph->item_count; ++i) {
        const gantry__graph_item_t *item = &graph->items[i];
        GANTRY__TRY(note_item(writer, item, of_variables));
        if (item->kind == GANTRY_GRAPH_JOIN) writer->out->format = 2;
        for (uint32_t k = 0; k < item->subgraph_count; ++k)
            GANTRY__TRY(note_all(writer, item->subgraphs[k], of_variables));
    }
    return GANTRY_OK;
}

static void put_ops(saved_writer_t *writer) {
    put_u32(writer, writer->op_count);
    for (uint32_t i = 0; i < writer->op_count; ++i) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)writer->ops[i]);
        saved_write_put_text(writer, op->name);
        put_u32(writer, gantry__op_version(op));
        put_u8(writer, op->attr_count);
        for (uint32_t k = 0; k < op->attr_count; ++k)
            saved_write_put_text(writer, op->attrs[k].name);
    }
}

static void put_weights(saved_writer_t *writer) {
    const gantry__saved_graph_t *out = writer->out;
    put_u32(writer, out->weight_count);
    for (size_t i = 0; i < out->weight_count; ++i) {
        saved_write_put_text(writer, out->weights[i].name);
        put_u8(writer, out->weights[i].flags);
        saved_write_put_type(writer, out->weights[i].dtype, &out->weights[i].shape);
    }
}

static void put_place(saved_writer_t *writer, const gantry__philox_t *place) {
    put_u64(writer, place->counter[0]);
    put_u64(writer, place->counter[1]);
    put_u64(writer, place->key);
}

static void put_streams(saved_writer_t *writer) {
    put_u32(writer, writer->stream_count);
    for (size_t i = 0; i < writer->stream_count; ++i) {
        const gantry__draws_state_t state = gantry__draws_state(writer->draws[i]);
        put_place(writer, &state.begin);
        put_place(writer, &state.place);
        put_u8(writer, state.restarts ? GANTRY__SAVED_RESTARTS : 0);
    }
}

/* ---- rows ---- */

static gantry_status_t saved_write_put_body(saved_writer_t *writer, const gantry_graph_t *graph);

/* How often a name was taken in its body before; as in a trace, case makes no difference. */
static uint32_t count_name(saved_writer_t *writer, const char *name) {
    char key[GANTRY__NODE_NAME_BYTES];
    size_t length = 0;
    for (; name[length] && length < sizeof key; ++length)
        key[length] = gantry__ascii_lower(name[length]);
    uint32_t *count = gantry__id_map_at(&writer->node_names, gantry__hash64(key, length, 0) | 1);
    writer->has_failed |= !count;
    return count ? (*count)++ : 0;
}

static void put_attr_value(saved_writer_t *writer, const gantry_attr_value_t *attr) {
    put_u8(writer, (size_t)attr->kind);
    switch (attr->kind) {
        case GANTRY_ATTR_FLOAT: put(writer, &attr->f, sizeof attr->f); return;
        case GANTRY_ATTR_STRING: saved_write_put_text(writer, attr->s); return;
        case GANTRY_ATTR_INTS:
        case GANTRY_ATTR_SHAPE:
            put_u32(writer, (size_t)attr->i);
            put(writer, attr->list, (size_t)attr->i * sizeof *attr->list);
            return;
        default: put_u64(writer, (uint64_t)attr->i);
    }
}

static void put_attr(saved_writer_t *writer, const gantry__op_def_t *op,
                     const gantry_attr_value_t *attr) {
    uint32_t number = 0;
    while (strcmp(op->attrs[number].name, attr->name) != 0) ++number;
    put_u8(writer, number);
    put_attr_value(writer, attr);
}

/* A type that follows from an input is not written. */
static bool follows(const gantry__graph_item_t *item, const gantry_attr_value_t *attr) {
    const gantry__op_def_t *op = item->op;
    const uint32_t count = (uint32_t)item->node.input_count;
    bool is_found = false;
    for (uint32_t i = 0; attr->kind == GANTRY_ATTR_TYPE && i < count && !is_found; ++i) {
        const gantry__op_arg_t *arg = gantry__op_input_arg(op, count, i);
        is_found = arg->type >= 0 && strcmp(op->attrs[arg->type].name, attr->name) == 0;
    }
    return is_found;
}

static void put_op(saved_writer_t *writer, const gantry__graph_item_t *item) {
    const gantry_graph_node_t *node = &item->node;
    size_t count = 0;
    for (size_t i = 0; i < node->attr_count; ++i) count += !follows(item, &node->attrs[i]);
    put_u32(writer, writer->op_numbers[item->op->id] - (size_t)1);
    saved_write_put_values(writer, node->inputs, node->input_count);
    put_u8(writer, count);
    for (size_t i = 0; i < node->attr_count; ++i) {
        if (!follows(item, &node->attrs[i])) put_attr(writer, item->op, &node->attrs[i]);
    }
}

static gantry_status_t saved_write_put_constant(saved_writer_t *writer,
                                                const gantry__graph_item_t *item) {
    unsigned char elements[GANTRY__SAVED_INLINE_BYTES];
    const gantry_tensor_t *tensor = item->tensor;
    if (!is_inline(item)) {
        const uint32_t *number =
            gantry__id_map_at(&writer->weights, (uint64_t)(uintptr_t)item->tensor);
        if (!number) return GANTRY_RESOURCE_EXHAUSTED;
        put_u32(writer, *number - (size_t)1);
        return GANTRY_OK;
    }
    const gantry_status_t status = gantry_tensor_read(tensor, elements, tensor->size_bytes);
    if (status != GANTRY_OK)
        return gantry__fail_prefix(status,
                                   "constant \"%s\": ", gantry__graph_label(item->node.name).text);
    saved_write_put_type(writer, tensor->dtype, &tensor->shape);
    put(writer, elements, tensor->size_bytes);
    return GANTRY_OK;
}

static gantry_status_t put_variable(saved_writer_t *writer, const gantry__graph_item_t *item) {
    const uint32_t *number =
        gantry__id_map_at(&writer->weights, (uint64_t)(uintptr_t)item->variable);
    if (!number) return GANTRY_RESOURCE_EXHAUSTED;
    put_u32(writer, *number - (size_t)1);
    if (item->kind == GANTRY_GRAPH_READ) return GANTRY_OK;
    put_u8(writer, (size_t)item->mode);
    put_u32(writer, writer->numbers[item->node.inputs[0]]);
    return GANTRY_OK;
}

static gantry_status_t put_block(saved_writer_t *writer, const gantry__graph_item_t *item) {
    saved_write_put_values(writer, item->node.inputs, item->node.input_count);
    if (item->kind == GANTRY_GRAPH_CASE)
        put_u8(writer, item->subgraph_count);
    else
        put_u64(writer, item->most_steps);
    for (uint32_t i = 0; i < item->subgraph_count; ++i)
        GANTRY__TRY(saved_write_put_body(writer, item->subgraphs[i]));
    return GANTRY_OK;
}

static gantry_status_t put_join(saved_writer_t *writer, const gantry__graph_item_t *item) {
    const gantry_graph_node_t *node = &item->node;
    saved_write_put_text(writer, node->op);
    saved_write_put_values(writer, node->inputs, node->input_count);
    put_u8(writer, node->attr_count);
    for (size_t i = 0; i < node->attr_count; ++i) {
        saved_write_put_text(writer, node->attrs[i].name);
        put_attr_value(writer, &node->attrs[i]);
    }
    return saved_write_put_body(writer, item->subgraphs[0]);
}

static gantry_status_t put_kind(saved_writer_t *writer, const gantry__graph_item_t *item) {
    switch (item->kind) {
        case GANTRY_GRAPH_INPUT: return GANTRY_OK;
        case GANTRY_GRAPH_CONSTANT: return saved_write_put_constant(writer, item);
        case GANTRY_GRAPH_OP: put_op(writer, item); return GANTRY_OK;
        case GANTRY_GRAPH_READ:
        case GANTRY_GRAPH_ASSIGN: return put_variable(writer, item);
        case GANTRY_GRAPH_CASE:
        case GANTRY_GRAPH_WHILE: return put_block(writer, item);
        case GANTRY_GRAPH_JOIN: return put_join(writer, item);
        case GANTRY_GRAPH_DRAW: break;
    }
    const uint32_t *number = gantry__id_map_at(&writer->streams, (uint64_t)(uintptr_t)item->draws);
    if (!number) return GANTRY_RESOURCE_EXHAUSTED;
    put_u32(writer, *number - (size_t)1);
    put_u64(writer, item->blocks);
    return GANTRY_OK;
}

/* A name of the node's own, as a trace makes one: the base, base_1 and so on. */
static void saved_write_name_node(saved_writer_t *writer, const char *given, const char *base,
                                  char text[GANTRY__NODE_NAME_BYTES]) {
    const gantry__graph_label_t label = gantry__graph_label(*given ? given : base);
    (void)snprintf(text, GANTRY__NODE_NAME_BYTES, "%s", label.text);
    uint32_t taken = count_name(writer, text);
    for (uint32_t number = taken; taken > 0; ++number) {
        (void)snprintf(text, GANTRY__NODE_NAME_BYTES, "%s_%u", label.text, (unsigned)number);
        taken = count_name(writer, text);
    }
}

static void saved_write_put_name(saved_writer_t *writer, const gantry__graph_item_t *item) {
    char text[GANTRY__NODE_NAME_BYTES];
    const char *op = item->kind == GANTRY_GRAPH_CONSTANT ? "Const" : gantry__graph_item_op(item);
    saved_write_name_node(writer, item->node.name, op, text);
    saved_write_put_text(writer, text);
}

static gantry_status_t put_node(saved_writer_t *writer, const gantry__graph_item_t *item) {
    const gantry_graph_node_t *node = &item->node;
    const bool is_constant = item->kind == GANTRY_GRAPH_CONSTANT && is_inline(item);
    put_u8(writer, (size_t)item->kind);
    put_u8(writer, (node->device ? GANTRY__SAVED_HAS_DEVICE : 0) |
                       (node->control_count > 0 ? GANTRY__SAVED_HAS_CONTROLS : 0) |
                       (node->colocated_count > 0 ? GANTRY__SAVED_HAS_COLOCATED : 0) |
                       (is_constant ? GANTRY__SAVED_IS_INLINE : 0) |
                       (node->refuses_gradient ? GANTRY__SAVED_REFUSES_GRADIENT : 0) |
                       (node->any_order ? GANTRY__SAVED_ANY_ORDER : 0));
    saved_write_put_name(writer, item);
    if (node->device) saved_write_put_text(writer, node->device);
    if (node->control_count > 0)
        saved_write_put_values(writer, node->controls, node->control_count);
    if (node->colocated_count > 0)
        saved_write_put_values(writer, node->colocated, node->colocated_count);
    GANTRY__TRY(put_kind(writer, item));
    number_values(writer, item);
    return GANTRY_OK;
}

/* An input keeps its name, as programs know it; in a trace it has one of its own. */
static void saved_write_put_inputs(saved_writer_t *writer, const gantry_graph_t *graph) {
    char name[GANTRY__NODE_NAME_BYTES];
    put_u32(writer, graph->input_count);
    for (size_t i = 0; i < graph->input_count; ++i) {
        const gantry__graph_item_t *item = &graph->items[graph->inputs[i]];
        saved_write_name_node(writer, item->node.name, "Placeholder", name);
        saved_write_put_text(writer, item->node.name);
        saved_write_put_type(writer, item->dtype, &item->shape);
        number_values(writer, item);
    }
}

/* The numbers of the outputs' values are written over, once they are known. */
static size_t put_outputs(saved_writer_t *writer, const gantry_graph_t *graph) {
    const size_t place = writer->out->size;
    put_u32(writer, graph->output_count);
    for (size_t i = 0; i < graph->output_count; ++i) {
        saved_write_put_text(writer, graph->outputs[i].name);
        put_u32(writer, 0);
    }
    return place;
}

static void saved_write_set_outputs(const saved_writer_t *writer, const gantry_graph_t *graph,
                                    size_t place) {
    unsigned char *at = writer->out->bytes + place + sizeof(uint32_t);
    for (size_t i = 0; !writer->has_failed && i < graph->output_count; ++i) {
        const uint32_t value = writer->numbers[graph->outputs[i].value];
        at += sizeof(uint16_t) + strlen(graph->outputs[i].name) + 1;
        memcpy(at, &value, sizeof value);
        at += sizeof value;
    }
}

static gantry_status_t saved_write_put_body(saved_writer_t *writer, const gantry_graph_t *graph) {
    gantry__id_map_t outer = writer->node_names;
    gantry_status_t status = GANTRY_OK;
    gantry__id_map_init(&writer->node_names, writer->heap);
    saved_write_put_text(writer, graph->name);
    put_u8(writer,
           graph->is_batch_invariant || writer->keeps_rows ? GANTRY__SAVED_BATCH_INVARIANT : 0);
    saved_write_put_inputs(writer, graph);
    const size_t place = put_outputs(writer, graph);
    put_u32(writer, graph->item_count - graph->input_count);
    for (size_t i = 0; i < graph->item_count && status == GANTRY_OK; ++i) {
        if (graph->items[i].kind != GANTRY_GRAPH_INPUT) status = put_node(writer, &graph->items[i]);
    }
    saved_write_set_outputs(writer, graph, place);
    gantry__id_map_deinit(&writer->node_names);
    writer->node_names = outer;
    return status;
}

/* ---- all ---- */

static gantry_status_t saved_write_all(saved_writer_t *writer, const gantry_graph_t *graph) {
    /* the graph's own tensor, and what safetensors has for itself */
    static const char *const taken[] = {GANTRY__SAVED_TENSOR, "__metadata__"};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; ++i) {
        uint32_t *count =
            gantry__id_map_at(&writer->names, gantry__hash64(taken[i], strlen(taken[i]), 0) | 1);
        if (!count) return GANTRY_RESOURCE_EXHAUSTED;
        ++*count;
    }
    GANTRY__TRY(note_all(writer, graph, true));
    GANTRY__TRY(note_all(writer, graph, false));
    put(writer, GANTRY__SAVED_MAGIC, sizeof GANTRY__SAVED_MAGIC - 1);
    put_u32(writer, writer->out->format);
    put_ops(writer);
    put_weights(writer);
    put_streams(writer);
    GANTRY__TRY(saved_write_put_body(writer, graph));
    return writer->has_failed ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK;
}

gantry_status_t gantry__saved_write(const gantry_graph_t *graph, bool keeps_rows,
                                    gantry__saved_graph_t *out) {
    const gantry__heap_t *heap = &graph->root->runtime->heap;
    const size_t bytes = (graph->root->value_count + 1) * sizeof(uint32_t);
    *out = (gantry__saved_graph_t){.heap = heap, .format = 1};
    gantry__arena_init(&out->arena, heap);
    saved_writer_t *writer = gantry__heap_zalloc(heap, sizeof *writer);
    if (!writer) return GANTRY_RESOURCE_EXHAUSTED;
    writer->out = out;
    writer->heap = heap;
    writer->keeps_rows = keeps_rows;
    gantry__id_map_init(&writer->names, heap);
    gantry__id_map_init(&writer->weights, heap);
    gantry__id_map_init(&writer->streams, heap);
    writer->numbers = gantry__heap_zalloc(heap, bytes);
    const gantry_status_t status =
        writer->numbers ? saved_write_all(writer, graph) : GANTRY_RESOURCE_EXHAUSTED;
    gantry__id_map_deinit(&writer->names);
    gantry__id_map_deinit(&writer->weights);
    gantry__id_map_deinit(&writer->streams);
    gantry__heap_free(heap, writer->numbers, bytes);
    gantry__heap_free(heap, writer->draws, writer->stream_capacity * sizeof *writer->draws);
    gantry__heap_free(heap, writer, sizeof *writer);
    return status;
}

void gantry__saved_graph_deinit(gantry__saved_graph_t *saved) {
    for (size_t i = 0; i < saved->weight_count; ++i)
        gantry_tensor_release(saved->weights[i].tensor);
    gantry__heap_free(saved->heap, saved->weights, saved->weight_capacity * sizeof *saved->weights);
    gantry__heap_free(saved->heap, saved->bytes, saved->capacity);
    gantry__arena_deinit(&saved->arena);
}
