/* SPDX-License-Identifier: Apache-2.0 */
#include "function/pass/layout_node.h"

#include <string.h>

#include "run/tensor_state.h"

#define MOST_CHOICES 8

/* ---- the choice ---- */

typedef struct choices_t {
    const gantry__layout_t *layout;
    const gantry__node_t *node;
    uint32_t index; /* the node's */
    gantry__axes_op_t op;
    gantry_shape_t operand, result;
    gantry__layout_choice_t list[MOST_CHOICES];
    uint32_t count;
} choices_t;

static gantry_shape_t layout_operand_shape(const choices_t *choices) {
    return gantry__layout_shape(choices->layout, choices->node->inputs[0]);
}

static void add_choice(choices_t *choices, gantry__order_t operand, gantry__order_t result) {
    for (uint32_t i = 0; i < choices->count; ++i) {
        if (choices->list[i].operand == operand && choices->list[i].result == result) return;
    }
    if (choices->count < MOST_CHOICES)
        choices->list[choices->count++] = (gantry__layout_choice_t){operand, result};
}

static void add_wanted(choices_t *choices) {
    const gantry__order_t wanted = choices->layout->wanted[choices->node->first_output];
    gantry__order_t operand;
    if (wanted != 0 &&
        gantry__layout_backward(choices->layout->graph, choices->node, &choices->op,
                                &choices->operand, &choices->result, wanted, &operand))
        add_choice(choices, operand, wanted);
}

/* Whether the input is an operand whose axes are those of the first operand. */
static bool has_operands_axes(const choices_t *choices, uint32_t input) {
    const gantry__layout_t *layout = choices->layout;
    const uint32_t value = choices->node->inputs[input];
    if (!gantry__layout_is_operand(choices->node, &choices->op, input)) return false;
    if (choices->op.kind == GANTRY__AXES_RESHAPE || choices->op.kind == GANTRY__AXES_REDUCE)
        return input == 0;
    return gantry__layout_shape(layout, value).rank == choices->result.rank;
}

static void add_given(choices_t *choices, uint32_t input) {
    const gantry__layout_t *layout = choices->layout;
    gantry__order_t result;
    for (uint32_t at = layout->firsts[choices->node->inputs[input]]; at != 0;
         at = layout->forms[at - 1].next) {
        const gantry__order_t order = layout->forms[at - 1].order;
        if (order != GANTRY__ORDER_SAME &&
            gantry__layout_forward(layout->graph, choices->node, &choices->op, &choices->operand,
                                   &choices->result, order, &result))
            add_choice(choices, order, result);
    }
}

/* What the kernel of a window costs in this order more than in the other, as bytes that are
 * moved. */
static uint64_t kernel_cost(const choices_t *choices, gantry__order_t operand) {
    const gantry__value_t *values = choices->layout->graph->values;
    const uint64_t bytes =
        values[choices->node->first_output].bytes + values[choices->node->inputs[0]].bytes;
    const bool is_first = operand == GANTRY__ORDER_SAME;
    if (!gantry__layout_is_window(choices->node)) return 0;
    switch (choices->layout->planes[choices->index]) {
        case GANTRY__PLANES_SLOWER: return is_first ? bytes / 2 : 0;
        case GANTRY__PLANES_ALIKE: return 0;
        case GANTRY__PLANES_FASTER: return is_first ? 0 : bytes / 2;
        default: return is_first ? 2 * bytes : 0;
    }
}

static uint64_t choice_cost(const choices_t *choices, gantry__layout_choice_t choice) {
    const gantry__layout_t *layout = choices->layout;
    const uint32_t result = choices->node->first_output;
    const uint64_t bytes = layout->graph->values[result].bytes;
    const gantry__order_t wanted = layout->wanted[result];
    uint64_t cost = 0;
    for (uint32_t i = 0; i < choices->node->input_count; ++i) {
        if (has_operands_axes(choices, i))
            cost += gantry__layout_cost(layout, choices->node->inputs[i], choice.operand);
    }
    if (layout->is_wanted_same[result] &&
        !gantry__order_is_view(&choices->result, choice.result, GANTRY__ORDER_SAME))
        cost += bytes;
    if (wanted != 0 && !gantry__order_is_view(&choices->result, choice.result, wanted))
        cost += bytes;
    return cost + kernel_cost(choices, choice.operand);
}

gantry__layout_choice_t gantry__layout_choose(const gantry__layout_t *layout, uint32_t index) {
    const gantry__node_t *node = &layout->graph->nodes[index];
    choices_t choices = {.layout = layout,
                         .node = node,
                         .index = index,
                         .op = gantry__layout_op(layout->graph, node),
                         .result = layout->graph->values[node->first_output].shape};
    gantry__layout_choice_t best = {GANTRY__ORDER_SAME, GANTRY__ORDER_SAME};
    uint64_t least = UINT64_MAX;
    choices.operand =
        choices.op.kind == GANTRY__AXES_RESHAPE || choices.op.kind == GANTRY__AXES_REDUCE
            ? layout_operand_shape(&choices)
            : choices.result;
    add_wanted(&choices);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (has_operands_axes(&choices, i)) add_given(&choices, i);
    }
    add_choice(&choices, GANTRY__ORDER_SAME, GANTRY__ORDER_SAME);
    for (uint32_t i = 0; i < choices.count; ++i) {
        const uint64_t cost = choice_cost(&choices, choices.list[i]);
        if (cost >= least) continue;
        least = cost;
        best = choices.list[i];
    }
    return best;
}

/* ---- the node, as the body has it ---- */

gantry_status_t gantry__layout_keep(gantry__layout_t *layout, uint32_t index) {
    for (uint32_t i = 0; i < layout->graph->nodes[index].input_count; ++i) {
        uint32_t stored;
        GANTRY__TRY(gantry__layout_get(layout, index, layout->graph->nodes[index].inputs[i],
                                       GANTRY__ORDER_SAME, &stored));
        layout->graph->nodes[index].inputs[i] = stored;
    }
    GANTRY__TRY(gantry__layout_place(layout, index));
    const gantry__node_t *node = &layout->graph->nodes[index];
    for (uint32_t i = 0; i < node->output_count; ++i)
        GANTRY__TRY(gantry__layout_add_form(layout, node->first_output + i, GANTRY__ORDER_SAME,
                                            node->first_output + i));
    return GANTRY_OK;
}

/* ---- the node for another order ---- */

typedef struct changed_t {
    gantry__layout_t *layout;
    uint32_t index;
    gantry__axes_op_t op;
    gantry__layout_choice_t choice;
    int32_t rank; /* of the operand */
    gantry_shape_t result;
    uint32_t inputs[GANTRY__MAX_INPUTS];
    gantry_attr_t attrs[GANTRY__MAX_ATTRS];
    int64_t lists[GANTRY__MAX_ATTRS][2 * GANTRY_MAX_RANK];
} changed_t;

static const gantry__node_t *changed_node(const changed_t *changed) {
    return &changed->layout->graph->nodes[changed->index];
}

/* A vector, whatever its rank, that broadcasts. */
static bool is_spread(const changed_t *changed, uint32_t value, const gantry_shape_t *shape) {
    int32_t axes = 0;
    for (int32_t k = 0; k < shape->rank; ++k) axes += shape->dims[k] != 1;
    return shape->rank < changed->result.rank || (axes <= 1 &&
                                                  changed->layout->graph->values[value].elements <
                                                      gantry_shape_elements(&changed->result) &&
                                                  (changed->op.kind == GANTRY__AXES_ALIKE));
}

static gantry_status_t change_operand(changed_t *changed, uint32_t input) {
    const uint32_t value = changed_node(changed)->inputs[input];
    const gantry_shape_t shape = gantry__layout_shape(changed->layout, value);
    const bool has_axes =
        changed->op.kind == GANTRY__AXES_RESHAPE || changed->op.kind == GANTRY__AXES_REDUCE;
    if (!has_axes && is_spread(changed, value, &shape))
        return gantry__layout_get_lower(changed->layout, changed->index, value,
                                        changed->result.rank, changed->choice.operand,
                                        &changed->inputs[input]);
    return gantry__layout_get(changed->layout, changed->index, value, changed->choice.operand,
                              &changed->inputs[input]);
}

/* The axis, or the numbers of each axis, in the operands' order. */
static gantry_status_t change_host(changed_t *changed, uint32_t input) {
    gantry__graph_t *graph = changed->layout->graph;
    const uint32_t value = changed_node(changed)->inputs[input];
    const gantry_tensor_t *numbers = gantry__layout_constant(graph, value);
    const gantry_shape_t shape = numbers->shape;
    const int64_t count = numbers->elements, each = changed->op.host == GANTRY__AXES_PAIRS ? 2 : 1;
    int64_t made[2 * GANTRY_MAX_RANK];
    for (int64_t i = 0; i < count; ++i) {
        const int64_t number = gantry__layout_number(numbers, i);
        if (changed->op.host == GANTRY__AXES_NAMES) {
            const uint32_t axis = (uint32_t)(number < 0 ? number + changed->rank : number);
            made[i] = gantry__order_at(changed->choice.operand, axis);
        } else {
            const uint32_t at = gantry__order_at(changed->choice.operand, (uint32_t)(i / each));
            made[at * each + i % each] = number;
        }
    }
    return gantry__layout_add_numbers(changed->layout, changed->index, numbers->dtype, &shape, made,
                                      &changed->inputs[input]);
}

static gantry_status_t change_inputs(changed_t *changed) {
    const uint32_t count = changed_node(changed)->input_count, first = changed->op.first_host,
                   end = first + changed->op.host_count;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t value = changed_node(changed)->inputs[i];
        if (i >= first && i < end) {
            GANTRY__TRY(change_host(changed, i));
        } else if (gantry__layout_is_operand(changed_node(changed), &changed->op, i)) {
            GANTRY__TRY(change_operand(changed, i));
        } else {
            GANTRY__TRY(gantry__layout_get(changed->layout, changed->index, value,
                                           GANTRY__ORDER_SAME, &changed->inputs[i]));
        }
    }
    return GANTRY_OK;
}

/* ---- attributes ---- */

/* A list of one or two numbers for each axis. */
static void change_list(const changed_t *changed, gantry_attr_t *attr, int64_t *list) {
    if (attr->kind != GANTRY_ATTR_INTS || attr->i == 0) return;
    const int64_t each = attr->i / changed->rank; /* a scalar has no list */
    for (int64_t i = 0; i < attr->i; ++i) {
        const uint32_t at = gantry__order_at(changed->choice.operand, (uint32_t)(i / each));
        list[at * each + i % each] = attr->list[i];
    }
    attr->list = list;
}

/* A bit for each axis. */
static void change_mask(const changed_t *changed, gantry_attr_t *attr) {
    int64_t made = 0;
    for (uint32_t k = 0; k < (uint32_t)changed->rank; ++k)
        made |= (attr->i >> k & 1) << gantry__order_at(changed->choice.operand, k);
    attr->i = made;
}

static void change_format(const changed_t *changed, gantry_attr_t *attr) {
    const uint32_t rank = (uint32_t)changed->rank,
                   channel = strcmp(attr->s, "NCHW") == 0 ? 1 : rank - 1,
                   at = gantry__order_at(changed->choice.operand, channel);
    attr->s = at + 1 == rank ? "NHWC" : "NCHW";
}

static void change_attrs(changed_t *changed) {
    const gantry__node_t *node = changed_node(changed);
    for (uint32_t i = 0; i < node->op->attr_count; ++i) {
        gantry_attr_t *attr = &changed->attrs[i];
        *attr = node->attrs[i];
        change_list(changed, attr, changed->lists[i]);
        if (strcmp(attr->name, "data_format") == 0) change_format(changed, attr);
        if (node->op->id == GANTRY__OP_ID_StridedSlice &&
            (strcmp(attr->name, "begin_mask") == 0 || strcmp(attr->name, "end_mask") == 0))
            change_mask(changed, attr);
    }
}

/* ---- kinds ---- */

static gantry_status_t change_reshape(changed_t *changed, bool *out_is_set) {
    const gantry_shape_t length = {.rank = 1, .dims = {changed->result.rank}};
    GANTRY__TRY(gantry__layout_get(changed->layout, changed->index,
                                   changed_node(changed)->inputs[0], changed->choice.operand,
                                   &changed->inputs[0]));
    GANTRY__TRY(gantry__layout_add_numbers(changed->layout, changed->index, GANTRY_INT64, &length,
                                           changed->result.dims, &changed->inputs[1]));
    return gantry__layout_set(changed->layout, changed->index, GANTRY__OP_ID_Reshape,
                              changed->inputs, 2, NULL, 0, &changed->result, out_is_set);
}

/* x of [outer, channels, inner], stored as [outer, inner, channels], as [outer * inner, channels,
 * 1]. */
static gantry_status_t change_normalize(changed_t *changed, uint32_t *out_stored,
                                        bool *out_is_set) {
    gantry__layout_t *layout = changed->layout;
    const int64_t *dims = changed->result.dims;
    const gantry_shape_t lines = GANTRY_SHAPE(dims[0] * dims[1], dims[2], 1);
    GANTRY__TRY(change_inputs(changed));
    GANTRY__TRY(gantry__layout_add_view(layout, changed->index, changed->inputs[0], &lines,
                                        &changed->inputs[0]));
    const gantry__node_t *node = changed_node(changed);
    GANTRY__TRY(gantry__layout_set(layout, changed->index, (gantry__op_id_t)node->op->id,
                                   changed->inputs, node->input_count, node->attrs,
                                   node->op->attr_count, &lines, out_is_set));
    if (!*out_is_set) return GANTRY_OK;
    GANTRY__TRY(gantry__layout_place(layout, changed->index));
    return gantry__layout_add_view(layout, changed->index, *out_stored, &changed->result,
                                   out_stored);
}

static gantry_status_t change_op(changed_t *changed, bool *out_is_set) {
    GANTRY__TRY(change_inputs(changed));
    change_attrs(changed);
    const gantry__node_t *node = changed_node(changed);
    return gantry__layout_set(changed->layout, changed->index, (gantry__op_id_t)node->op->id,
                              changed->inputs, node->input_count, changed->attrs,
                              node->op->attr_count, &changed->result, out_is_set);
}

gantry_status_t gantry__layout_change(gantry__layout_t *layout, uint32_t index,
                                      gantry__layout_choice_t choice) {
    const gantry__node_t *node = &layout->graph->nodes[index];
    const uint32_t value = node->first_output;
    changed_t changed = {
        .layout = layout,
        .index = index,
        .op = gantry__layout_op(layout->graph, node),
        .choice = choice,
        .rank = gantry__layout_shape(layout, node->inputs[0]).rank,
        .result = gantry__order_store(choice.result, &layout->graph->values[value].shape)};
    uint32_t stored = value;
    bool is_set;
    if (changed.op.kind == GANTRY__AXES_RESHAPE) {
        GANTRY__TRY(change_reshape(&changed, &is_set));
    } else if (changed.op.kind == GANTRY__AXES_NORMALIZE) {
        GANTRY__TRY(change_normalize(&changed, &stored, &is_set));
    } else {
        GANTRY__TRY(change_op(&changed, &is_set));
    }
    if (!is_set) return gantry__layout_keep(layout, index);
    if (!layout->is_placed[index]) GANTRY__TRY(gantry__layout_place(layout, index));
    return gantry__layout_add_form(layout, value, choice.result, stored);
}
