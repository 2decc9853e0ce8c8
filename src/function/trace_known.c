/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that constants decide, while a body is traced: the axes, shapes and limits of later ops.
 *
 *     Sub(3, 1)      recorded as a node, like any op
 *     Pack(Sub, 3)   recorded
 *     Reshape(x, Pack)   asks: Sub and Pack are computed at once, and Reshape gets a constant
 *
 * The nodes stay as they are; those that nothing else needs fall away. The walk goes from the asked
 * value to constants with a stack of its own, since a chain may be as long as the body. What is
 * found, and what is not, is kept, so that each node is visited once. */
#include "function/pass.h"
#include "function/trace.h"
#include "run/traced.h"

#define MOST_KNOWN_BYTES UINT64_C(65536) /* of one result: numbers, not data */

enum { NOT_VISITED = 0, NOT_KNOWN = 1, FIRST_KNOWN = 2 };

typedef struct known_walk_t {
    gantry__trace_t *trace;
    gantry_scope_t *scope; /* where nodes run */
    uint32_t *stack;       /* values; each needs the one above it */
    size_t count, capacity;
} known_walk_t;

void gantry__trace_forget_known(gantry__trace_t *trace) {
    for (size_t i = 0; i < trace->known_count; ++i) gantry_tensor_release(trace->known[i]);
    gantry__heap_free(&trace->runtime->heap, trace->known,
                      trace->known_capacity * sizeof *trace->known);
    gantry__id_map_deinit(&trace->knowable);
}

static const gantry__node_t *node_of_value(const gantry__trace_t *trace, uint32_t value) {
    return &trace->graph->nodes[trace->graph->values[value].node];
}

/* NULL if memory is out. */
static uint32_t *mark_of(gantry__trace_t *trace, uint32_t value) {
    return gantry__id_map_at(&trace->knowable, (uint64_t)value + 1);
}

/* NULL: not visited, or not known. */
static const gantry_tensor_t *find_known(gantry__trace_t *trace, uint32_t value) {
    const gantry__node_t *node = node_of_value(trace, value);
    if (node->kind == GANTRY__NODE_CONST) return node->tensor;
    const uint32_t *mark = mark_of(trace, value);
    return mark && *mark >= FIRST_KNOWN ? trace->known[*mark - FIRST_KNOWN] : NULL;
}

/* Whether a node may be computed here, once its inputs are known. */
static bool may_compute(gantry__trace_t *trace, uint32_t value) {
    const gantry__node_t *node = node_of_value(trace, value);
    const gantry__value_t *made = &trace->graph->values[value];
    const uint32_t *mark = mark_of(trace, value);
    return mark && *mark == NOT_VISITED && gantry__node_is_pure(node) && node->output_count == 1 &&
           node->input_count > 0 && made->elements >= 0 && made->bytes <= MOST_KNOWN_BYTES;
}

static bool walk_push(known_walk_t *walk, uint32_t value) {
    const gantry__heap_t *heap = &walk->trace->runtime->heap;
    if (!gantry__heap_grow(heap, &walk->stack, walk->count, &walk->capacity, sizeof *walk->stack))
        return false;
    walk->stack[walk->count++] = value;
    return true;
}

static bool walk_compute(known_walk_t *walk, uint32_t value) {
    gantry__trace_t *trace = walk->trace;
    const gantry__node_t *node = node_of_value(trace, value);
    const gantry_tensor_t *inputs[GANTRY__MAX_INPUTS];
    for (uint32_t i = 0; i < node->input_count; ++i) inputs[i] = find_known(trace, node->inputs[i]);
    const gantry_tensor_t *made = gantry__fold_compute(walk->scope, node, inputs);
    uint32_t *mark = mark_of(trace, value);
    if (!made || !mark ||
        !gantry__heap_grow(&trace->runtime->heap, &trace->known, trace->known_count,
                           &trace->known_capacity, sizeof *trace->known))
        return false;
    trace->known[trace->known_count++] = gantry__scope_take(walk->scope, made);
    *mark = FIRST_KNOWN + (uint32_t)trace->known_count - 1;
    return true;
}

/* The first input that is not known; the node's own value: none. */
static uint32_t first_unknown(gantry__trace_t *trace, uint32_t value) {
    const gantry__node_t *node = node_of_value(trace, value);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (!find_known(trace, node->inputs[i])) return node->inputs[i];
    }
    return value;
}

static bool walk_run(known_walk_t *walk) {
    while (walk->count > 0) {
        const uint32_t value = walk->stack[walk->count - 1];
        if (!may_compute(walk->trace, value)) return false;
        const uint32_t next = first_unknown(walk->trace, value);
        if (next != value) {
            if (!walk_push(walk, next)) return false;
        } else {
            if (!walk_compute(walk, value)) return false;
            --walk->count;
        }
    }
    return true;
}

static void find_out(gantry__trace_t *trace, uint32_t value) {
    known_walk_t walk = {.trace = trace, .scope = gantry_scope_begin(trace->runtime, NULL)};
    if (walk.scope && walk_push(&walk, value)) (void)walk_run(&walk);
    for (size_t i = 0; i < walk.count; ++i) { /* of a walk that did not end */
        uint32_t *mark = mark_of(trace, walk.stack[i]);
        if (mark) *mark = NOT_KNOWN;
    }
    gantry__heap_free(&trace->runtime->heap, walk.stack, walk.capacity * sizeof *walk.stack);
    gantry_scope_clear(walk.scope);
    (void)gantry_scope_end(walk.scope);
}

const gantry_tensor_t *gantry__trace_known(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    gantry__trace_t *trace = scope->trace;
    while (trace && trace->id != tensor->trace) trace = trace->outer;
    if (!trace) return NULL;
    const uint32_t before = gantry__failures();
    const gantry_tensor_t *known = find_known(trace, tensor->value);
    if (!known && may_compute(trace, tensor->value)) {
        find_out(trace, tensor->value);
        known = find_known(trace, tensor->value);
    }
    gantry__forget_since(before);
    return known;
}
