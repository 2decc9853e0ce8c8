/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the node that makes channels write them in the order of a shuffle after it:
 *
 *     _GroupedMatMul -> Add b -> Relu -> [.., g, q] -> Transpose -> [.., q, g]
 *     _GroupedMatMul, interleaved -> Add b' -> Relu -> [.., q, g]
 *
 *     Concat of g x [.., q] -> [.., g, q] -> Transpose -> [.., q, g]
 *     Concat of g x [.., q, 1] along the last axis, [.., q, g]
 *
 * The Transpose exchanges the two last axes. Between it and that node are only views, and
 * elementwise ops of one operand whose other operands are scalars or vectors along the channels,
 * which are shuffled themselves: constants are folded, others only if that is less work than the
 * Transpose. Each value between has one use.
 *
 * No bit changes, because each element is computed as before. Linear in the number of nodes: two
 * shuffles look at no node both. It follows the layout pass, after which channels are last. */
#include "function/pass/pass.h"

#include <string.h>

#include "function/pass/layout_forms.h"
#include "function/place/place_parts.h"

#define NONE UINT32_MAX
/* The elements of images whose Transpose takes longer than a launch for a vector. */
#define ELEMENTS_PER_VECTOR (INT64_C(1) << 15)

typedef enum shuffle_part_t {
    SHUFFLE_STAYS,
    SHUFFLE_TURNS,   /* the Transpose, which becomes a view */
    SHUFFLE_BETWEEN, /* an elementwise op */
    SHUFFLE_PRODUCT,
    SHUFFLE_CONCAT
} shuffle_part_t;

typedef struct shuffled_t {
    shuffle_part_t part;
    int64_t groups, columns; /* [groups, columns] become [columns, groups] */
} shuffled_t;

typedef struct shuffle_pass_t {
    gantry__layout_t layout; /* of which only what adds nodes is set */
    gantry__graph_t *graph;
    uint32_t *uses;     /* by value */
    uint32_t *replaced; /* by value: what its user takes instead; 0: itself */
    shuffled_t *parts;  /* by node */
} shuffle_pass_t;

/* ---- which nodes ---- */

static const gantry_shape_t *shuffle_shape(const shuffle_pass_t *pass, uint32_t value) {
    return &pass->graph->values[value].shape;
}

static bool shuffle_is_plain(const shuffle_pass_t *pass, const gantry__node_t *node) {
    return gantry__node_is_pure(node) && node->output_count == 1 && node->control_count == 0 &&
           node->colocated_count == 0 && pass->graph->values[node->first_output].elements > 0;
}

/* Whether the node exchanges its two last axes. */
static bool read_turn(const shuffle_pass_t *pass, const gantry__node_t *node, shuffled_t *out) {
    if (node->kind != GANTRY__NODE_OP || node->op->id != GANTRY__OP_ID_Transpose ||
        !shuffle_is_plain(pass, node) || !gantry__layout_constant(pass->graph, node->inputs[1]))
        return false;
    const gantry_shape_t *shape = shuffle_shape(pass, node->inputs[0]);
    const gantry__order_t by = gantry__layout_perm(pass->graph, node);
    const uint32_t rank = (uint32_t)shape->rank;
    if (rank < 2) return false;
    for (uint32_t k = 0; k < rank; ++k) {
        const uint32_t from = k + 2 < rank ? k : k + 1 == rank ? rank - 2 : rank - 1;
        if (gantry__order_at(by, k) != from) return false;
    }
    *out = (shuffled_t){SHUFFLE_TURNS, shape->dims[rank - 2], shape->dims[rank - 1]};
    return out->groups > 1 && out->columns > 1;
}

/* Whether the shape ends with this axis, but for axes of size 1. */
static bool shuffle_ends_with(const gantry_shape_t *shape, int64_t size) {
    int32_t rank = shape->rank;
    while (rank > 0 && shape->dims[rank - 1] == 1) --rank;
    return rank > 0 && shape->dims[rank - 1] == size;
}

/* Whether the operand is a vector along the channels of the result. */
static bool is_channel_vector(const gantry__axes_op_t *op, const gantry_shape_t *shape,
                              const gantry_shape_t *result, int64_t channels) {
    int32_t after = 0; /* axes of size 1 */
    while (result->dims[result->rank - 1 - after] == 1) ++after;
    if (op->kind != GANTRY__AXES_ALIKE) after = 0;
    return gantry_shape_elements(shape) == channels && shape->rank > after &&
           shape->dims[shape->rank - 1 - after] == channels;
}

static bool is_made_in_calls(const shuffle_pass_t *pass, uint32_t value) {
    return pass->graph->nodes[pass->graph->values[value].node].kind != GANTRY__NODE_CONST;
}

/* The operand that has the result's elements; NONE: the node is no such op, or has other operands.
 * Counts the vectors that each call makes. */
static uint32_t find_shuffled_operand(const shuffle_pass_t *pass, const gantry__node_t *node,
                                      int64_t channels, int64_t *vectors) {
    const gantry__axes_op_t op = gantry__layout_op(pass->graph, node);
    const gantry_shape_t *result = shuffle_shape(pass, node->first_output);
    uint32_t found = NONE;
    if ((op.kind != GANTRY__AXES_ALIKE && op.kind != GANTRY__AXES_BIAS &&
         op.kind != GANTRY__AXES_NORMALIZE) ||
        gantry__layout_is_channels_first(node) || !shuffle_ends_with(result, channels) ||
        (op.kind == GANTRY__AXES_NORMALIZE && result->dims[2] != 1))
        return NONE;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const gantry_shape_t *shape = shuffle_shape(pass, node->inputs[i]);
        if (gantry_shape_equal(shape, result)) {
            if (found != NONE) return NONE;
            found = i;
        } else if (gantry_shape_elements(shape) != 1) {
            if (!is_channel_vector(&op, shape, result, channels)) return NONE;
            *vectors += is_made_in_calls(pass, node->inputs[i]);
        }
    }
    return found;
}

static bool is_concat_of(const shuffle_pass_t *pass, const gantry__node_t *node,
                         const shuffled_t *by) {
    const gantry_tensor_t *axis;
    const int32_t rank = shuffle_shape(pass, node->first_output)->rank;
    if (node->op->id != GANTRY__OP_ID_Concat || node->input_count - 1 != by->groups ||
        rank == GANTRY_MAX_RANK ||
        !(axis = gantry__layout_constant(pass->graph, node->inputs[node->input_count - 1])) ||
        (gantry__layout_number(axis, 0) + rank) % rank != rank - 1)
        return false;
    for (uint32_t i = 0; i + 1 < node->input_count; ++i) {
        if (shuffle_shape(pass, node->inputs[i])->dims[rank - 1] != by->columns) return false;
    }
    return true;
}

/* What makes the channels of this node; SHUFFLE_STAYS: nothing that can shuffle them. */
static shuffle_part_t find_maker_part(const shuffle_pass_t *pass, const gantry__node_t *node,
                                      const shuffled_t *by) {
    const int64_t *dims = shuffle_shape(pass, node->first_output)->dims;
    if (node->op->id == GANTRY__OP_ID__GroupedMatMul)
        return dims[1] == by->groups && dims[2] == by->columns &&
                       !gantry__layout_attr(node, "interleaved")->i
                   ? SHUFFLE_PRODUCT
                   : SHUFFLE_STAYS;
    return is_concat_of(pass, node, by) ? SHUFFLE_CONCAT : SHUFFLE_STAYS;
}

/* Walks from a Transpose to what makes its channels; sets the parts if is_taken. Returns whether
 * there is such a node. */
static bool walk_shuffle(const shuffle_pass_t *pass, uint32_t turn, const shuffled_t *by,
                         bool is_taken) {
    const gantry__graph_t *graph = pass->graph;
    uint32_t value = graph->nodes[turn].inputs[0];
    const int64_t elements = graph->values[value].elements;
    int64_t vectors = 0;
    for (;;) {
        const uint32_t index = graph->values[value].node;
        const gantry__node_t *node = &graph->nodes[index];
        if (!shuffle_is_plain(pass, node) || pass->uses[value] != 1 ||
            node->wish != graph->nodes[turn].wish)
            return false;
        shuffled_t *part = &pass->parts[index];
        uint32_t operand = 0;
        if (!gantry__node_is_reshape(node)) {
            const shuffle_part_t maker = find_maker_part(pass, node, by);
            if (is_taken) *part = *by;
            if (is_taken) part->part = maker == SHUFFLE_STAYS ? SHUFFLE_BETWEEN : maker;
            if (maker != SHUFFLE_STAYS)
                return vectors <= 1 || vectors * ELEMENTS_PER_VECTOR <= elements;
            operand = find_shuffled_operand(pass, node, by->groups * by->columns, &vectors);
        }
        if (operand == NONE) return false;
        value = node->inputs[operand];
    }
}

static bool find_shuffles(const shuffle_pass_t *pass) {
    const gantry__graph_t *graph = pass->graph;
    bool is_found = false;
    gantry__pass_count_uses(graph, pass->uses);
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        shuffled_t by;
        if (!read_turn(pass, &graph->nodes[i], &by) || !walk_shuffle(pass, i, &by, false)) continue;
        (void)walk_shuffle(pass, i, &by, true);
        pass->parts[i] = by;
        is_found = true;
    }
    return is_found;
}

/* ---- the new graph ---- */

static gantry_status_t shuffle_vector(shuffle_pass_t *pass, uint32_t node, const shuffled_t *by,
                                      uint32_t value, uint32_t *out_value) {
    gantry__layout_t *layout = &pass->layout;
    const gantry_shape_t shape = *shuffle_shape(pass, value),
                         apart = GANTRY_SHAPE(by->groups, by->columns);
    GANTRY__TRY(gantry__layout_add_view(layout, node, value, &apart, out_value));
    GANTRY__TRY(gantry__layout_add_matrix_turn(layout, node, *out_value, out_value));
    return gantry__layout_add_view(layout, node, *out_value, &shape, out_value);
}

static gantry_status_t shuffle_between(shuffle_pass_t *pass, uint32_t index, const shuffled_t *by) {
    for (uint32_t i = 0; i < pass->graph->nodes[index].input_count; ++i) {
        uint32_t value = pass->graph->nodes[index].inputs[i];
        if (pass->graph->values[value].elements != by->groups * by->columns ||
            gantry_shape_equal(shuffle_shape(pass, value),
                               shuffle_shape(pass, pass->graph->nodes[index].first_output)))
            continue;
        GANTRY__TRY(shuffle_vector(pass, index, by, value, &value));
        pass->graph->nodes[index].inputs[i] = value;
    }
    return gantry__layout_place(&pass->layout, index);
}

static gantry_status_t shuffle_product(shuffle_pass_t *pass, uint32_t index, const shuffled_t *by) {
    gantry__graph_t *graph = pass->graph;
    gantry__node_t *node = &graph->nodes[index];
    gantry_attr_t *attrs =
        gantry__arena_copy(&graph->arena, node->attrs, node->op->attr_count, sizeof *attrs);
    if (!attrs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < node->op->attr_count; ++i)
        if (strcmp(attrs[i].name, "interleaved") == 0) attrs[i].i = 1;
    node->attrs = attrs;
    gantry_shape_t *shape = &graph->values[node->first_output].shape;
    *shape = GANTRY_SHAPE(shape->dims[0], by->columns, by->groups);
    return gantry__layout_place(&pass->layout, index);
}

static gantry_status_t shuffle_concat(shuffle_pass_t *pass, uint32_t index, const shuffled_t *by) {
    gantry__layout_t *layout = &pass->layout;
    const uint32_t result = pass->graph->nodes[index].first_output,
                   last = pass->graph->nodes[index].input_count - 1;
    const gantry_shape_t joined = *shuffle_shape(pass, result), scalar = {.rank = 0};
    const int64_t axis = joined.rank;
    gantry_shape_t part = joined;
    part.dims[part.rank - 1] = by->columns;
    part.dims[part.rank++] = 1;
    uint32_t inputs[GANTRY__MAX_INPUTS];
    for (uint32_t i = 0; i < last; ++i)
        GANTRY__TRY(gantry__layout_add_view(layout, index, pass->graph->nodes[index].inputs[i],
                                            &part, &inputs[i]));
    GANTRY__TRY(
        gantry__layout_add_numbers(layout, index, GANTRY_INT32, &scalar, &axis, &inputs[last]));
    memcpy(pass->graph->nodes[index].inputs, inputs, (last + 1) * sizeof *inputs);
    part.dims[part.rank - 1] = by->groups;
    pass->graph->values[result].shape = part;
    GANTRY__TRY(gantry__layout_place(layout, index));
    return gantry__layout_add_view(layout, index, result, &joined, &pass->replaced[result]);
}

/* The elements are in the order of the result already. */
static gantry_status_t shuffle_turn(shuffle_pass_t *pass, uint32_t index) {
    gantry__layout_t *layout = &pass->layout;
    const gantry_shape_t result = *shuffle_shape(pass, pass->graph->nodes[index].first_output),
                         length = GANTRY_SHAPE(result.rank);
    uint32_t inputs[2] = {pass->graph->nodes[index].inputs[0], 0};
    bool is_set;
    GANTRY__TRY(
        gantry__layout_add_numbers(layout, index, GANTRY_INT64, &length, result.dims, &inputs[1]));
    GANTRY__TRY(gantry__layout_set(layout, index, GANTRY__OP_ID_Reshape, inputs, 2, NULL, 0,
                                   &result, &is_set));
    if (!is_set) return gantry__fail(GANTRY_INTERNAL, "a shuffle of channels has no view");
    return gantry__layout_place(layout, index);
}

static gantry_status_t shuffle_visit(shuffle_pass_t *pass, uint32_t index) {
    gantry__node_t *node = &pass->graph->nodes[index];
    const shuffled_t by = pass->parts[index];
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const uint32_t value = pass->replaced[node->inputs[i]];
        if (value != 0) node->inputs[i] = value;
    }
    switch (by.part) {
        case SHUFFLE_TURNS: return shuffle_turn(pass, index);
        case SHUFFLE_BETWEEN: return shuffle_between(pass, index, &by);
        case SHUFFLE_PRODUCT: return shuffle_product(pass, index, &by);
        case SHUFFLE_CONCAT: return shuffle_concat(pass, index, &by);
        default: return gantry__layout_place(&pass->layout, index);
    }
}

/* Names the transposes that are gone, for explanations, after those of the layout pass. */
static gantry_status_t note_shuffles(shuffle_pass_t *pass) {
    gantry__graph_t *graph = pass->graph;
    uint32_t count = graph->cancelled_count;
    const char **names =
        gantry__arena_zalloc(&graph->arena, count + pass->layout.node_count, sizeof *names);
    if (!names) return GANTRY_RESOURCE_EXHAUSTED;
    if (count > 0) memcpy(names, graph->cancelled, count * sizeof *names);
    for (size_t i = 0; i < pass->layout.node_count; ++i) {
        if (pass->parts[i].part == SHUFFLE_TURNS && !strstr(graph->nodes[i].name, "/layout"))
            names[count++] = graph->nodes[i].name;
    }
    graph->cancelled = names;
    graph->cancelled_count = count;
    return GANTRY_OK;
}

static gantry_status_t rebuild_shuffled(shuffle_pass_t *pass) {
    GANTRY__TRY(note_shuffles(pass));
    for (uint32_t i = 0; i < pass->layout.node_count; ++i) GANTRY__TRY(shuffle_visit(pass, i));
    return gantry__graph_rebuild(pass->graph, pass->layout.order, pass->layout.order_count);
}

static bool has_turn(const gantry__graph_t *graph) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (graph->nodes[i].kind == GANTRY__NODE_OP &&
            graph->nodes[i].op->id == GANTRY__OP_ID_Transpose)
            return true;
    }
    return false;
}

gantry_status_t gantry__pass_shuffle(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                     bool *out_is_changed) {
    const gantry__heap_t *heap = graph->heap;
    const size_t nodes = graph->node_count, values = graph->value_count;
    *out_is_changed = false;
    if (!has_turn(graph)) return GANTRY_OK;
    shuffle_pass_t pass = {.layout = {.runtime = runtime,
                                      .graph = graph,
                                      .node_count = nodes,
                                      .value_count = values,
                                      .is_placed = gantry__heap_zalloc(heap, nodes),
                                      .named = gantry__heap_zalloc(heap, nodes * sizeof(uint32_t))},
                           .graph = graph,
                           .uses = gantry__heap_zalloc(heap, values * sizeof(uint32_t)),
                           .replaced = gantry__heap_zalloc(heap, values * sizeof(uint32_t)),
                           .parts = gantry__heap_zalloc(heap, nodes * sizeof(shuffled_t))};
    gantry__layout_t *layout = &pass.layout;
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (layout->is_placed && layout->named && pass.uses && pass.replaced && pass.parts) {
        *out_is_changed = find_shuffles(&pass);
        status = *out_is_changed ? rebuild_shuffled(&pass) : GANTRY_OK;
    }
    gantry__heap_free(heap, layout->is_placed, nodes);
    gantry__heap_free(heap, layout->named, nodes * sizeof(uint32_t));
    gantry__heap_free(heap, layout->order, layout->order_capacity * sizeof *layout->order);
    gantry__heap_free(heap, pass.uses, values * sizeof(uint32_t));
    gantry__heap_free(heap, pass.replaced, values * sizeof(uint32_t));
    gantry__heap_free(heap, pass.parts, nodes * sizeof(shuffled_t));
    return status;
}
