/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that constants decide, while a body is traced: the axes, shapes and limits of later ops.
 *
 *     Sub(3, 1)      recorded as a node, like any op
 *     Pack(Sub, 3)   recorded
 *     Reshape(x, Pack)   asks: Sub and Pack are computed at once, and Reshape gets a constant
 *
 * The nodes stay as they are; those that nothing else needs fall away. The walk goes from the
 * requested value to constants with a stack of its own, because a chain may be as long as the body.
 * What is found, and what is not, is kept, so that each node is visited once.
 *
 * Of a vector that is not known, single numbers may be: in Slice(x, begin, Pack(n, 3)) the 3. Such
 * an element is followed back through the nodes that only move it (Concat, Slice, views), to a
 * value that is known, or to a known size in a Shape. */
#include "function/trace/trace.h"
#include "run/eager.h"
#include "run/trace_hooks.h"

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

/* The mark of a value; NULL if memory is out. */
static uint32_t *mark_of(gantry__trace_t *trace, uint32_t value) {
    return gantry__id_map_at(&trace->knowable, (uint64_t)value + 1);
}

/* The known tensor of a value; NULL: the value was not visited, or is not known. */
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

const gantry_tensor_t *gantry__node_compute(gantry_scope_t *scope, const gantry__node_t *node,
                                            const gantry_tensor_t *const *inputs) {
    const gantry_tensor_t *output;
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    for (uint32_t i = 0; i < node->op->attr_count; ++i) {
        const gantry_attr_t *attr = &node->attrs[i];
        attrs[i] = (gantry_attr_value_t){.name = attr->name,
                                         .kind = (gantry_attr_kind_t)attr->kind,
                                         .i = attr->i,
                                         .f = attr->f,
                                         .s = attr->s,
                                         .list = attr->list};
    }
    scope->wish = node->wish;
    scope->tag = node->tag;
    scope->order.any = node->marks.any_order;
    const gantry__op_request_t request = {.op = node->op,
                                          .inputs = inputs,
                                          .input_count = node->input_count,
                                          .attrs = attrs,
                                          .attr_count = node->op->attr_count,
                                          .outputs = &output,
                                          .room = 1};
    if (gantry__run_op(scope, &request, NULL) != GANTRY_OK) return NULL;
    /* an error that a device would report later must not hide in a constant */
    return output->fault_count == 0 ? output : NULL;
}

static bool walk_compute(known_walk_t *walk, uint32_t value) {
    gantry__trace_t *trace = walk->trace;
    const gantry__node_t *node = node_of_value(trace, value);
    const gantry_tensor_t *inputs[GANTRY__MAX_INPUTS];
    for (uint32_t i = 0; i < node->input_count; ++i) inputs[i] = find_known(trace, node->inputs[i]);
    const gantry_tensor_t *made = gantry__node_compute(walk->scope, node, inputs);
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

static const gantry_tensor_t *know(gantry__trace_t *trace, uint32_t value) {
    const uint32_t before = gantry__failures();
    const gantry_tensor_t *known = find_known(trace, value);
    if (!known && may_compute(trace, value)) {
        find_out(trace, value);
        known = find_known(trace, value);
    }
    gantry__forget_since(before);
    return known;
}

static gantry__trace_t *trace_of(const gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    gantry__trace_t *trace = scope->trace;
    while (trace && trace->id != tensor->trace) trace = trace->outer;
    return trace;
}

const gantry_tensor_t *gantry__trace_known(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    gantry__trace_t *trace = trace_of(scope, tensor);
    return trace ? know(trace, tensor->value) : NULL;
}

/* ---- single numbers ---- */

/* An element of a value. */
typedef struct number_t {
    gantry__trace_t *trace;
    uint32_t value;
    int64_t position;
    bool is_narrow; /* it was int32 on the way */
} number_t;

static bool read_known(const gantry_tensor_t *known, int64_t position, int64_t *out) {
    const void *data;
    void *owned;
    const uint32_t before = gantry__failures();
    const bool is_narrow = known->dtype == GANTRY_INT32;
    if ((!is_narrow && known->dtype != GANTRY_INT64) || position >= known->elements ||
        known->size_bytes > MOST_KNOWN_BYTES ||
        gantry__tensor_host_data(known, &data, &owned) != GANTRY_OK) {
        gantry__forget_since(before);
        return false;
    }
    *out = is_narrow ? ((const int32_t *)data)[position] : ((const int64_t *)data)[position];
    if (owned) gantry__heap_free(&known->runtime->heap, owned, known->size_bytes);
    return true;
}

static bool runs_op(const gantry__node_t *node, gantry__op_id_t id) {
    return (node->kind == GANTRY__NODE_OP || node->kind == GANTRY__NODE_EAGER) &&
           node->op->id == id;
}

/* Steps to the input of the Concat from which the element comes. */
static bool step_joined(number_t *at, const gantry__node_t *node) {
    const gantry__value_t *values = at->trace->graph->values;
    const gantry_shape_t *shape = &values[at->value].shape;
    const gantry_tensor_t *along = know(at->trace, node->inputs[node->input_count - 1]);
    int64_t axis, after = 1;
    if (!along || values[at->value].elements < 0 || !read_known(along, 0, &axis)) return false;
    axis += axis < 0 ? shape->rank : 0;
    for (int32_t d = (int32_t)axis + 1; d < shape->rank; ++d) after *= shape->dims[d];
    const int64_t inner = at->position % after, row = at->position / after;
    int64_t place = row % shape->dims[axis], outer = row / shape->dims[axis];
    for (uint32_t i = 0; i + 1 < node->input_count; ++i) {
        const int64_t size = values[node->inputs[i]].shape.dims[axis];
        if (place < size) {
            at->value = node->inputs[i];
            at->position = (outer * size + place) * after + inner;
            return true;
        }
        place -= size;
    }
    return false;
}

/* Steps to the value outside of the body that an input of the body has. */
static bool step_outside(number_t *at) {
    const gantry__trace_t *trace = at->trace;
    for (size_t i = 0; i < trace->capture_count; ++i) {
        if (trace->captures[i].inner != at->value) continue;
        at->value = trace->captures[i].outer;
        at->trace = trace->outer;
        return true;
    }
    return false;
}

/* Steps back to where the element comes from. */
static bool step_back(number_t *at) {
    const gantry__node_t *node = node_of_value(at->trace, at->value);
    if (node->kind == GANTRY__NODE_INPUT) return step_outside(at);
    if (runs_op(node, GANTRY__OP_ID_Concat)) return step_joined(at, node);
    const bool is_piece =
        runs_op(node, GANTRY__OP_ID_Slice) || runs_op(node, GANTRY__OP_ID_StridedSlice);
    const bool is_same = runs_op(node, GANTRY__OP_ID_Cast) ||
                         (runs_op(node, node->op->id) && node->op->flags & GANTRY__OP_ALIAS &&
                          node->op->id != GANTRY__OP_ID_Bitcast);
    if (!is_same && !(is_piece && node->piece_first >= 0)) return false;
    if (is_piece) at->position += node->piece_first;
    at->value = node->inputs[0];
    return true;
}

/* A size that a Shape returns. */
static bool read_size(const number_t *at, int64_t *out) {
    const gantry__node_t *node = node_of_value(at->trace, at->value);
    if (!runs_op(node, GANTRY__OP_ID_Shape)) return false;
    *out = at->trace->graph->values[node->inputs[0]].shape.dims[at->position];
    return *out >= 0;
}

bool gantry__trace_number(gantry_scope_t *scope, const gantry_tensor_t *tensor, int64_t position,
                          int64_t *out) {
    number_t at = {.trace = trace_of(scope, tensor), .value = tensor->value, .position = position};
    while (at.trace) {
        const gantry_tensor_t *known = know(at.trace, at.value);
        const gantry_dtype_t dtype = at.trace->graph->values[at.value].dtype;
        if (dtype != GANTRY_INT32 && dtype != GANTRY_INT64) return false;
        at.is_narrow |= dtype == GANTRY_INT32;
        if (known ? read_known(known, at.position, out) : read_size(&at, out))
            return !at.is_narrow || (*out >= INT32_MIN && *out <= INT32_MAX);
        if (known || !step_back(&at)) return false;
    }
    return false;
}
