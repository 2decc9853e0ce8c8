/* SPDX-License-Identifier: Apache-2.0 */
/* Records the bodies of a branch or a loop as graphs of a node.
 *
 * Each body is traced with a trace of its own inside the outer one. Its inputs are those that the
 * call gives, and after them the values of outer traces that it uses. The node's inputs are the
 * selector, the given inputs, and the captures of each body in turn. */
#include "function/trace/control.h"
#include "run/observe.h"

/* The parts of a node while its bodies are recorded. */
typedef struct block_record_t {
    gantry_scope_t *scope;
    const gantry__block_call_t *call;
    gantry__body_t *bodies; /* in the outer graph's arena */
    uint32_t done;          /* bodies whose graph exists */
    uint32_t *inputs;       /* values of the outer trace; heap memory */
    size_t input_count, input_capacity;
    uint32_t output_count;
    /* of outputs; this and the next three are in the outer graph's arena */
    gantry_dtype_t *dtypes;
    gantry_shape_t *shapes;
    const gantry_tensor_t **given, **made; /* of the body that is traced */
    bool has_state;
} block_record_t;

static gantry_status_t add_node_input(block_record_t *record, uint32_t value) {
    if (!gantry__heap_grow(&record->scope->runtime->heap, &record->inputs, record->input_count,
                           &record->input_capacity, sizeof *record->inputs))
        return GANTRY_RESOURCE_EXHAUSTED;
    record->inputs[record->input_count++] = value;
    return GANTRY_OK;
}

static gantry_status_t add_given_inputs(block_record_t *record) {
    const gantry__block_call_t *call = record->call;
    uint32_t value;
    if (call->selector) {
        GANTRY__TRY(gantry__trace_value(record->scope, call->selector, &value));
        GANTRY__TRY(add_node_input(record, value));
    }
    for (uint32_t i = 0; i < call->input_count; ++i) {
        GANTRY__TRY(gantry__trace_value(record->scope, call->inputs[i], &value));
        GANTRY__TRY(add_node_input(record, value));
    }
    return GANTRY_OK;
}

/* The body's inputs: the given ones, whose values are the graph's first, then its captures. */
static gantry_status_t connect_inputs(block_record_t *record, const gantry__trace_t *trace,
                                      gantry__body_t *body) {
    gantry__graph_t *graph = &body->graph;
    const uint32_t given = record->call->input_count, first = record->call->selector ? 1 : 0;
    const size_t count = given + trace->capture_count;
    graph->inputs = gantry__arena_zalloc(&graph->arena, count, sizeof *graph->inputs);
    body->sources = gantry__arena_zalloc(&graph->arena, count, sizeof *body->sources);
    if (!graph->inputs || !body->sources) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < given; ++i) {
        graph->inputs[i] = i; /* the tensor may be gone: the body may drop it */
        body->sources[i] = first + i;
    }
    for (size_t i = 0; i < trace->capture_count; ++i) {
        graph->inputs[given + i] = trace->captures[i].inner;
        body->sources[given + i] = (uint32_t)record->input_count;
        GANTRY__TRY(add_node_input(record, trace->captures[i].outer));
    }
    graph->input_count = (uint32_t)count;
    return GANTRY_OK;
}

/* Whether the shapes differ only in sizes that depend on data in one of them. A branch's result has
 * such a size then; a loop's variable must have had it. */
static bool merge_open(const gantry__block_call_t *call, const gantry_tensor_t *given,
                       gantry_dtype_t dtype, gantry_shape_t *shape) {
    gantry_shape_t merged = *shape;
    bool fits = given->dtype == dtype && given->shape.rank == shape->rank;
    for (int32_t d = 0; fits && d < shape->rank; ++d) {
        if (shape->dims[d] == given->shape.dims[d]) continue;
        fits = shape->dims[d] < 0 || (given->shape.dims[d] < 0 && call->selector);
        merged.dims[d] = -1;
    }
    if (fits) *shape = merged;
    return fits;
}

static gantry_status_t check_outputs(block_record_t *record, uint32_t body,
                                     const gantry_tensor_t *const *outputs) {
    const gantry__block_call_t *call = record->call;
    if (!call->selector && body == 0) return gantry__block_check_condition(outputs[0]);
    for (uint32_t i = 0; i < call->output_count; ++i) {
        if (call->selector && body == 0) {
            record->dtypes[i] = outputs[i]->dtype;
            record->shapes[i] = outputs[i]->shape;
        }
        if (merge_open(call, outputs[i], record->dtypes[i], &record->shapes[i])) continue;
        GANTRY__TRY(gantry__block_check_output(call, body, i, outputs[i], record->dtypes[i],
                                               &record->shapes[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t record_in(block_record_t *record, uint32_t index, gantry_scope_t *inner,
                                 gantry__body_t *body) {
    const gantry__block_call_t *call = record->call;
    const gantry_tensor_t **inputs = record->given, **outputs = record->made;
    const uint32_t output_count = !call->selector && index == 0 ? 1 : call->output_count;
    gantry__graph_t *graph = &body->graph;
    for (uint32_t i = 0; i < call->input_count; ++i)
        GANTRY__TRY(gantry__trace_input(inner, "", call->inputs[i]->dtype, &call->inputs[i]->shape,
                                        &inputs[i]));
    GANTRY__TRY(gantry__block_run_body(call, index, inner, inputs, outputs, output_count));
    GANTRY__TRY(check_outputs(record, index, outputs));
    if (inner->observer)
        GANTRY__TRY(gantry__observe(
            inner, &(gantry_observation_t){.struct_size = sizeof(gantry_observation_t),
                                           .op = "_Retval",
                                           .inputs = outputs,
                                           .input_count = output_count}));
    graph->outputs = gantry__arena_zalloc(&graph->arena, output_count, sizeof *graph->outputs);
    if (!graph->outputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < output_count; ++i)
        GANTRY__TRY(gantry__trace_value(inner, outputs[i], &graph->outputs[i]));
    graph->output_count = output_count;
    record->has_state |= gantry__graph_effect(graph) != NULL;
    return connect_inputs(record, inner->trace, body);
}

static gantry_status_t trace_record_body(block_record_t *record, uint32_t index) {
    gantry_scope_t *scope = record->scope;
    gantry__body_t *body = &record->bodies[index];
    gantry__trace_t trace;
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    if (!inner) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__graph_init(&body->graph, &scope->runtime->heap);
    ++record->done;
    gantry__trace_init(&trace, scope->runtime, &body->graph, scope->trace);
    inner->trace = &trace;
    inner->related.controls = inner->related.colocated =
        NULL; /* they are nodes of the outer graph */
    gantry_status_t status = gantry__scope_end_body(inner, record_in(record, index, inner, body));
    gantry__trace_deinit(&trace);
    return status;
}

static gantry_status_t make_lists(block_record_t *record) {
    const gantry__block_call_t *call = record->call;
    gantry__arena_t *arena = &record->scope->trace->graph->arena;
    const uint32_t outputs = call->output_count > 0 ? call->output_count : 1; /* a condition's */
    record->bodies = gantry__arena_zalloc(arena, call->body_count, sizeof *record->bodies);
    record->dtypes = gantry__arena_zalloc(arena, outputs, sizeof *record->dtypes);
    record->shapes = gantry__arena_zalloc(arena, outputs, sizeof *record->shapes);
    record->given = gantry__arena_zalloc(arena, call->input_count, sizeof(gantry_tensor_t *));
    record->made = gantry__arena_zalloc(arena, outputs, sizeof(gantry_tensor_t *));
    return record->bodies && record->dtypes && record->shapes && record->given && record->made
               ? GANTRY_OK
               : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t record_all(block_record_t *record) {
    const gantry__block_call_t *call = record->call;
    GANTRY__TRY(make_lists(record));
    for (uint32_t i = 0; !call->selector && i < call->input_count; ++i) {
        record->dtypes[i] = call->inputs[i]->dtype;
        record->shapes[i] = call->inputs[i]->shape;
    }
    GANTRY__TRY(add_given_inputs(record));
    for (uint32_t i = 0; i < call->body_count; ++i) GANTRY__TRY(trace_record_body(record, i));
    gantry__node_t node = {
        .kind = call->selector ? GANTRY__NODE_CASE : GANTRY__NODE_WHILE,
        .op = call->op,
        .inputs = record->inputs,
        .input_count = (uint32_t)record->input_count,
        .output_count = call->output_count,
        .bodies = record->bodies,
        .body_count = call->body_count,
        .steps = call->most_steps,
        .marks = {.has_state = record->has_state},
    };
    gantry_status_t status =
        gantry__trace_block(record->scope, &node, record->dtypes, record->shapes, call->outputs);
    if (node.body_count == 0) record->done = 0; /* the graph's now */
    return status;
}

gantry_status_t gantry__block_record(gantry_scope_t *scope, const gantry__block_call_t *call) {
    const gantry__heap_t *heap = &scope->runtime->heap;
    block_record_t *record = gantry__heap_zalloc(heap, sizeof *record);
    if (!record) return GANTRY_RESOURCE_EXHAUSTED;
    record->scope = scope;
    record->call = call;
    gantry_status_t status = record_all(record);
    for (uint32_t i = 0; i < record->done; ++i) gantry__graph_deinit(&record->bodies[i].graph);
    gantry__heap_free(heap, record->inputs, record->input_capacity * sizeof *record->inputs);
    gantry__heap_free(heap, record, sizeof *record);
    return status;
}
