/* SPDX-License-Identifier: Apache-2.0 */
/* Rows become the graph of a trace at once: no scope, no symbolic tensors, no description. Types
 * and shapes of all results are inferred, as for a trace. A row that needs more is left to the body
 * of the function, which makes the description, and reports what is wrong with it: whatever is not
 * plain here is no error.
 *
 *     names, lists    of the rows, in the graph's own copy of them
 *     order           a use of a variable follows the one before it
 *     host inputs     constants in host memory, as a trace leaves them, where a shape needs them
 *
 * Cost: some 0.1 us a node, a quarter of what an op takes to be traced. */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "function/saved/saved_format.h"
#include "function/trace/graph.h"
#include "run/runtime_state.h"
#include "run/scope_state.h"
#include "run/tensor_state.h"
#include "run/trace_hooks.h"
#include "run/variable_state.h"

typedef struct recorder_t {
    gantry__saved_t *saved;
    gantry__graph_t *graph;
    gantry__saved_cursor_t cursor; /* over the graph's copy of the rows; lists in its arena */
    const gantry__wish_t *wish;    /* of the trace */
    const char *device;            /* the text of the last request of a node, and what it is */
    const gantry__wish_t *device_wish;
    size_t cleared;     /* nodes whose places are filled */
    uint32_t *last_use; /* by weight: the last node of the variable + 1 */
    uint32_t *inputs;   /* of the node; the lists of all nodes follow each other */
    uint32_t input_count;
    gantry__infer_t call;
    const gantry_shape_t *shapes[GANTRY__MAX_INPUTS];
    gantry_dtype_t dtypes[GANTRY__MAX_INPUTS], out_dtypes[GANTRY__MAX_OUTPUTS];
    gantry_shape_t out_shapes[GANTRY__MAX_OUTPUTS];
} recorder_t;

/* Places that are filled with zeros at once: a file could claim many more than it has. */
#define NODES_AT_ONCE 8

/* The status of what is left to the body. */
#define NOT_PLAIN GANTRY_UNIMPLEMENTED

/* ---- adding ---- */

/* Takes the inputs of a node, whose list has room, and describes them to the inference. Numbers
 * that it would need and that are no constants make the results open. */
static gantry_status_t saved_record_take_inputs(recorder_t *recorder) {
    gantry__saved_cursor_t *cursor = &recorder->cursor;
    gantry__infer_t *call = &recorder->call;
    const gantry__graph_t *graph = recorder->graph;
    uint32_t count = 0, *inputs = recorder->inputs + recorder->input_count;
    GANTRY__TRY(gantry__saved_take_u32(cursor, &count));
    if (count > GANTRY__MAX_INPUTS || count * sizeof *inputs > gantry__saved_left(cursor))
        return NOT_PLAIN;
    call->symbolic = 0;
    for (uint32_t i = 0; i < count; ++i) {
        GANTRY__TRY(gantry__saved_take_u32(cursor, &inputs[i]));
        if (inputs[i] >= graph->value_count) return NOT_PLAIN;
        const gantry__value_t *value = &graph->values[inputs[i]];
        call->symbolic |= (uint64_t)!graph->nodes[value->node].tensor << i;
        call->shapes[i] = &value->shape;
        call->dtypes[i] = value->dtype;
    }
    recorder->inputs = inputs;
    recorder->input_count = count;
    return GANTRY_OK;
}

/* ---- ops ---- */

static const gantry__node_t *saved_record_node_of(const recorder_t *recorder, uint32_t input) {
    const gantry__graph_t *graph = recorder->graph;
    return &graph->nodes[graph->values[recorder->inputs[input]].node];
}

/* A constant that inference may read, as it is in a trace. */
static bool is_readable(const gantry_runtime_t *runtime, const gantry_tensor_t *tensor) {
    return tensor && tensor->device == runtime->host && tensor->data && tensor->fault_count == 0;
}

static const void *constant_of(void *caller, uint32_t input) {
    const recorder_t *recorder = caller;
    const gantry_tensor_t *tensor = saved_record_node_of(recorder, input)->tensor;
    if (is_readable(recorder->saved->runtime, tensor)) return tensor->data;
    (void)gantry__refuse("the elements of input %u are not on the host", (unsigned)input);
    return NULL;
}

static gantry_status_t infer_plainly(recorder_t *recorder, const gantry__saved_op_t *op) {
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    gantry__infer_t *call = &recorder->call;
    uint32_t count = 0;
    call->op = op->op;
    call->input_count = recorder->input_count;
    GANTRY__TRY(gantry__saved_take_u8(&recorder->cursor, &count));
    if (count > GANTRY__MAX_ATTRS || op->op->flags & GANTRY__OP_COMPOSED) return NOT_PLAIN;
    call->is_open = false;
    for (uint32_t i = 0; i < count; ++i)
        GANTRY__TRY(gantry__saved_take_attr(&recorder->cursor, op, &attrs[i]));
    GANTRY__TRY(gantry__op_infer(call, attrs, count));
    /* no other op has results of open sizes then */
    const bool may_be_whole = call->is_open || call->op->flags & GANTRY__OP_DATA_SHAPE;
    return call->known_bool >= 0 || (may_be_whole && gantry__trace_is_whole(call)) ? NOT_PLAIN
                                                                                   : GANTRY_OK;
}

static gantry_status_t record_op(recorder_t *recorder, gantry__node_t *node) {
    const gantry__infer_t *call = &recorder->call;
    uint32_t number = 0, index;
    GANTRY__TRY(gantry__saved_pick(&recorder->cursor, recorder->saved->op_count, "", &number));
    GANTRY__TRY(saved_record_take_inputs(recorder));
    GANTRY__TRY(infer_plainly(recorder, &recorder->saved->ops[number]));
    node->kind = GANTRY__NODE_OP;
    node->op = call->op;
    node->inputs = recorder->inputs;
    node->input_count = recorder->input_count;
    node->output_count = call->output_count;
    node->piece_first = call->piece_first;
    gantry_attr_t *attrs =
        gantry__arena_alloc(&recorder->graph->arena, call->op->attr_count, sizeof *attrs);
    if (!attrs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < call->op->attr_count; ++i) attrs[i] = call->attrs[i];
    node->attrs = attrs;
    return gantry__graph_take_next(recorder->graph, call->out_dtypes, call->out_shapes, &index);
}

/* ---- other nodes ---- */

static gantry_status_t record_constant(recorder_t *recorder, uint32_t flags, gantry__node_t *node) {
    uint32_t index;
    GANTRY__TRY(
        gantry__saved_take_constant(&recorder->cursor, recorder->saved, flags, &node->tensor));
    const gantry_tensor_t *tensor = node->tensor;
    node->kind = GANTRY__NODE_CONST;
    node->op = gantry__op_get(GANTRY__OP_ID_Const);
    node->output_count = 1;
    return gantry__graph_take_next(recorder->graph, &tensor->dtype, &tensor->shape, &index);
}

/* Takes the variable of a node, which comes after the last use of it. */
static gantry_status_t saved_record_take_variable(recorder_t *recorder, gantry__node_t *node,
                                                  uint32_t *out_weight) {
    const gantry__saved_t *saved = recorder->saved;
    GANTRY__TRY(gantry__saved_pick(&recorder->cursor, saved->weight_count, "", out_weight));
    gantry_variable_t *variable = saved->weights[*out_weight].variable;
    const uint32_t last = recorder->last_use[*out_weight];
    if (!variable) return NOT_PLAIN;
    if (last > 0) {
        const uint32_t before = last - 1;
        node->controls = gantry__arena_copy(&recorder->graph->arena, &before, 1, sizeof before);
        node->control_count = 1;
        if (!node->controls) return GANTRY_RESOURCE_EXHAUSTED;
    }
    node->home = gantry__variable_home(variable);
    node->variable = variable; /* a reference is taken when all is checked */
    return GANTRY_OK;
}

static gantry_status_t record_variable(recorder_t *recorder, gantry__node_t *node, uint32_t weight,
                                       const gantry_dtype_t *dtype, const gantry_shape_t *shape) {
    uint32_t index = 0;
    (void)gantry__variable_retain(node->variable);
    GANTRY__TRY(gantry__graph_take_next(recorder->graph, dtype, shape, &index));
    recorder->last_use[weight] = index + 1;
    return GANTRY_OK;
}

static gantry_status_t record_read(recorder_t *recorder, gantry__node_t *node) {
    uint32_t weight = 0;
    GANTRY__TRY(saved_record_take_variable(recorder, node, &weight));
    node->kind = GANTRY__NODE_READ;
    node->op = gantry__op_get(GANTRY__OP_ID_ReadVariableOp);
    node->output_count = 1;
    return record_variable(recorder, node, weight, &node->variable->dtype, &node->variable->shape);
}

static gantry_status_t record_assign(recorder_t *recorder, gantry__node_t *node) {
    static const struct {
        gantry__op_id_t op, update;
    } modes[] = {[GANTRY_ASSIGN_SET] = {GANTRY__OP_ID_AssignVariableOp, GANTRY__OP_COUNT},
                 [GANTRY_ASSIGN_ADD] = {GANTRY__OP_ID_AssignAddVariableOp, GANTRY__OP_ID_Add},
                 [GANTRY_ASSIGN_SUB] = {GANTRY__OP_ID_AssignSubVariableOp, GANTRY__OP_ID_Sub}};
    const gantry__graph_t *graph = recorder->graph;
    uint32_t weight = 0, mode = 0, value = 0;
    GANTRY__TRY(saved_record_take_variable(recorder, node, &weight));
    GANTRY__TRY(gantry__saved_take_u8(&recorder->cursor, &mode));
    GANTRY__TRY(gantry__saved_take_u32(&recorder->cursor, &value));
    if (mode > GANTRY_ASSIGN_SUB || value >= graph->value_count ||
        graph->values[value].dtype != node->variable->dtype ||
        !gantry_shape_equal(&graph->values[value].shape, &node->variable->shape))
        return NOT_PLAIN;
    node->kind = GANTRY__NODE_ASSIGN;
    node->op = gantry__op_get(modes[mode].op);
    node->update = gantry__op_get(modes[mode].update);
    node->inputs = gantry__arena_copy(&recorder->graph->arena, &value, 1, sizeof value);
    node->input_count = 1;
    if (!node->inputs) return GANTRY_RESOURCE_EXHAUSTED;
    return record_variable(recorder, node, weight, NULL, NULL);
}

static gantry_status_t record_draw(recorder_t *recorder, gantry__node_t *node) {
    static const gantry_dtype_t dtypes[] = {GANTRY_UINT64, GANTRY_UINT64};
    const gantry_shape_t shapes[] = {GANTRY_SHAPE(1), GANTRY_SHAPE(2)};
    const gantry__saved_t *saved = recorder->saved;
    uint32_t number = 0, index;
    GANTRY__TRY(gantry__saved_pick(&recorder->cursor, saved->stream_count, "", &number));
    GANTRY__TRY(gantry__saved_take_u64(&recorder->cursor, &node->steps));
    node->kind = GANTRY__NODE_DRAW;
    node->op = &gantry__op_draw;
    node->output_count = 2;
    node->home = saved->runtime->host;
    node->draws = gantry__draws_retain(saved->streams[number]);
    return gantry__graph_take_next(recorder->graph, dtypes, shapes, &index);
}

/* ---- rows ---- */

/* Whether one of 8 characters is a control character: below 0x20, or 0x7f. */
static inline bool has_control(uint64_t characters) {
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
    const uint64_t low = characters & ~tops;
    return ((~(low + ones * 0x60) | (low + ones)) & ~characters & tops) != 0;
}

static inline uint64_t load_4_characters(const char *at) {
    uint32_t characters;
    memcpy(&characters, at, sizeof characters);
    return characters;
}

static inline uint64_t load_8_characters(const char *at) {
    uint64_t characters;
    memcpy(&characters, at, sizeof characters);
    return characters;
}

/* The last characters of a name are looked at with some before them. */
static bool saved_record_is_name(const char *name, size_t length) {
    if (length == 0 || length >= GANTRY__NODE_NAME_BYTES) return false;
    if (length < 4) {
        for (size_t i = 0; i < length; ++i) {
            if (gantry__ascii_is_control(name[i])) return false;
        }
        return true;
    }
    if (length < 8)
        return !has_control(load_4_characters(name) << 32 | load_4_characters(name + length - 4));
    for (size_t i = 0; i + 8 < length; i += 8) {
        if (has_control(load_8_characters(name + i))) return false;
    }
    return !has_control(load_8_characters(name + length - 8));
}

/* A zero is a control character, too. */
static gantry_status_t saved_record_take_name(gantry__saved_cursor_t *cursor, const char **out) {
    uint16_t length = 0;
    GANTRY__TRY(gantry__saved_take(cursor, &length, sizeof length));
    *out = (const char *)cursor->at;
    if (gantry__saved_left(cursor) <= length || cursor->at[length] != '\0' ||
        !saved_record_is_name(*out, length))
        return NOT_PLAIN;
    cursor->at += length + (size_t)1;
    return GANTRY_OK;
}

/* Nodes that follow each other most often have one request. */
static gantry_status_t take_request(recorder_t *recorder, const gantry__wish_t **out_wish) {
    const char *device = "";
    GANTRY__TRY(gantry__saved_take_text(&recorder->cursor, &device));
    if (!*device) device = GANTRY_DEVICE_NONE;
    if (!recorder->device || strcmp(recorder->device, device) != 0) {
        GANTRY__TRY(gantry__request_within(recorder->saved->runtime, recorder->wish, device,
                                           &recorder->device_wish));
        recorder->device = device;
    }
    *out_wish = recorder->device_wish;
    return GANTRY_OK;
}

/* The place of the next node, filled with zeros. */
static gantry__node_t *clear_next_node(recorder_t *recorder) {
    const gantry__graph_t *graph = recorder->graph;
    if (graph->node_count == recorder->cleared) {
        const size_t left = graph->node_capacity - graph->node_count,
                     count = left < NODES_AT_ONCE ? left : NODES_AT_ONCE;
        memset(&graph->nodes[graph->node_count], 0, count * sizeof *graph->nodes);
        recorder->cleared += count;
    }
    return &graph->nodes[graph->node_count];
}

static gantry_status_t record_row(recorder_t *recorder) {
    gantry__node_t *node = clear_next_node(recorder);
    uint32_t kind = 0, flags = 0;
    node->wish = recorder->wish;
    GANTRY__TRY(gantry__saved_take_u8(&recorder->cursor, &kind));
    GANTRY__TRY(gantry__saved_take_u8(&recorder->cursor, &flags));
    GANTRY__TRY(saved_record_take_name(&recorder->cursor, &node->name));
    if (flags & (GANTRY__SAVED_HAS_CONTROLS | GANTRY__SAVED_HAS_COLOCATED) ||
        flags >= 2 * GANTRY__SAVED_ANY_ORDER)
        return NOT_PLAIN;
    node->marks.any_order =
        flags & GANTRY__SAVED_ANY_ORDER || recorder->saved->runtime->switches.any_order;
    if (flags & GANTRY__SAVED_HAS_DEVICE) GANTRY__TRY(take_request(recorder, &node->wish));
    switch (kind) {
        case GANTRY_GRAPH_CONSTANT: return record_constant(recorder, flags, node);
        case GANTRY_GRAPH_OP: return record_op(recorder, node);
        case GANTRY_GRAPH_READ: return record_read(recorder, node);
        case GANTRY_GRAPH_ASSIGN: return record_assign(recorder, node);
        case GANTRY_GRAPH_DRAW: return record_draw(recorder, node);
        default: return NOT_PLAIN;
    }
}

/* An input without a name has that of its op, as in a trace. */
static const char *name_input(const char *given, uint32_t *unnamed,
                              char text[GANTRY__NODE_NAME_BYTES]) {
    if (*given) return given;
    if (*unnamed == 0) (void)snprintf(text, GANTRY__NODE_NAME_BYTES, "Placeholder");
    if (*unnamed > 0)
        (void)snprintf(text, GANTRY__NODE_NAME_BYTES, "Placeholder_%u", (unsigned)*unnamed);
    ++*unnamed;
    return text;
}

static gantry_status_t record_inputs(recorder_t *recorder, const gantry_shape_t *shapes) {
    const gantry__saved_body_t *body = &recorder->saved->body;
    gantry__graph_t *graph = recorder->graph;
    uint32_t unnamed = 0, index = 0;
    char text[GANTRY__NODE_NAME_BYTES];
    graph->inputs = gantry__arena_zalloc(&graph->arena, body->input_count, sizeof *graph->inputs);
    if (!graph->inputs) return GANTRY_RESOURCE_EXHAUSTED;
    graph->input_count = body->input_count;
    for (uint32_t i = 0; i < body->input_count; ++i) {
        const gantry__node_t node = {.kind = GANTRY__NODE_INPUT,
                                     .op = &gantry__op_placeholder,
                                     .name = name_input(body->inputs[i].name, &unnamed, text),
                                     .output_count = 1};
        if (!saved_record_is_name(node.name, strlen(node.name)) ||
            gantry__shape_is_open(&shapes[i]))
            return NOT_PLAIN;
        GANTRY__TRY(gantry__graph_add(graph, &node, &body->inputs[i].dtype, &shapes[i], &index));
        graph->inputs[i] = i;
    }
    return GANTRY_OK;
}

static gantry_status_t record_outputs(recorder_t *recorder) {
    const gantry__saved_body_t *body = &recorder->saved->body;
    gantry__graph_t *graph = recorder->graph;
    graph->outputs = gantry__arena_copy(&graph->arena, body->outputs, body->output_count,
                                        sizeof *graph->outputs);
    if (!graph->outputs) return GANTRY_RESOURCE_EXHAUSTED;
    graph->output_count = body->output_count;
    for (uint32_t i = 0; i < body->output_count; ++i) {
        if (graph->outputs[i] >= graph->value_count) return NOT_PLAIN;
    }
    return recorder->cursor.at == recorder->cursor.end ? GANTRY_OK : NOT_PLAIN;
}

/* Most nodes have one value. */
static bool record_make_room(gantry__graph_t *graph, size_t count) {
    graph->nodes = gantry__heap_alloc(graph->heap, count * sizeof *graph->nodes);
    graph->node_capacity = graph->nodes ? count : 0;
    graph->values = gantry__heap_alloc(graph->heap, count * sizeof *graph->values);
    graph->value_capacity = graph->values ? count : 0;
    return graph->nodes && graph->values;
}

static gantry_status_t record_rows(recorder_t *recorder, const gantry_shape_t *shapes) {
    gantry__saved_t *saved = recorder->saved;
    gantry__arena_t *arena = &recorder->graph->arena;
    const size_t size = (size_t)(saved->bytes + saved->size - saved->nodes);
    const unsigned char *rows = gantry__arena_copy(arena, saved->nodes, size, 1);
    recorder->last_use =
        gantry__arena_zalloc(arena, saved->weight_count, sizeof *recorder->last_use);
    recorder->inputs =
        gantry__arena_alloc(arena, size / sizeof *recorder->inputs, sizeof *recorder->inputs);
    recorder->input_count = 0;
    const size_t count = (size_t)saved->body.input_count + saved->body.node_count + 1;
    if (!rows || !recorder->last_use || !recorder->inputs ||
        !record_make_room(recorder->graph, count))
        return GANTRY_RESOURCE_EXHAUSTED;
    recorder->cursor = (gantry__saved_cursor_t){rows, rows, rows + size, arena};
    recorder->call.shapes = recorder->shapes;
    recorder->call.dtypes = recorder->dtypes;
    recorder->call.out_shapes = recorder->out_shapes;
    recorder->call.out_dtypes = recorder->out_dtypes;
    recorder->call.host_value = constant_of;
    recorder->call.known_number = NULL;
    recorder->call.caller = recorder;
    GANTRY__TRY(record_inputs(recorder, shapes));
    recorder->cleared = recorder->graph->node_count;
    for (uint32_t i = 0; i < saved->body.node_count; ++i) GANTRY__TRY(record_row(recorder));
    return record_outputs(recorder);
}

gantry_status_t gantry__saved_record(gantry__saved_t *saved,
                                     gantry__specialization_t *specialization,
                                     bool *out_is_recorded) {
    const uint32_t failures = gantry__failures();
    const gantry__graph_t *given = &specialization->graph;
    gantry__graph_t graph;
    recorder_t *recorder = gantry__heap_alloc(given->heap, sizeof *recorder);
    if (!recorder) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__graph_init(&graph, given->heap);
    graph.passes_off = given->passes_off;
    graph.is_never_replayed = given->is_never_replayed;
    graph.is_batch_invariant = specialization->request.batch_invariant ||
                               saved->body.flags & GANTRY__SAVED_BATCH_INVARIANT;
    recorder->saved = saved;
    recorder->graph = &graph;
    recorder->wish = specialization->request.wish;
    recorder->device = NULL;
    const gantry_status_t status = record_rows(recorder, specialization->shapes);
    gantry__heap_free(given->heap, recorder, sizeof *recorder);
    *out_is_recorded = status == GANTRY_OK;
    if (status == GANTRY_OK) {
        gantry__graph_deinit(&specialization->graph);
        specialization->graph = graph;
        return GANTRY_OK;
    }
    gantry__graph_deinit(&graph);
    if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
    gantry__forget_since(failures); /* the body has the error */
    return GANTRY_OK;
}
