/* SPDX-License-Identifier: Apache-2.0 */
#include "function/pass/layout_forms.h"

#include <stdio.h>
#include <string.h>

#include "device/logical_device.h"
#include "function/pass/pass.h"
#include "run/scope_state.h"
#include "run/tensor_state.h"

/* ---- forms ---- */

gantry_shape_t gantry__layout_shape(const gantry__layout_t *layout, uint32_t value) {
    if (layout->firsts[value] == 0) return layout->graph->values[value].shape;
    const gantry__layout_form_t *form = &layout->forms[layout->firsts[value] - 1];
    return gantry__order_restore(form->order, &layout->graph->values[form->value].shape);
}

const gantry__layout_form_t *gantry__layout_find(const gantry__layout_t *layout, uint32_t value,
                                                 gantry__order_t order) {
    for (uint32_t at = layout->firsts[value]; at != 0; at = layout->forms[at - 1].next) {
        if (layout->forms[at - 1].order == order) return &layout->forms[at - 1];
    }
    return NULL;
}

/* The form of which this order is a view; else the first one. */
static const gantry__layout_form_t *find_form_source(const gantry__layout_t *layout, uint32_t value,
                                                     gantry__order_t order, bool *out_is_view) {
    const gantry_shape_t shape = gantry__layout_shape(layout, value);
    *out_is_view = true;
    for (uint32_t at = layout->firsts[value]; at != 0; at = layout->forms[at - 1].next) {
        if (gantry__order_is_view(&shape, layout->forms[at - 1].order, order))
            return &layout->forms[at - 1];
    }
    *out_is_view = false;
    return &layout->forms[layout->firsts[value] - 1];
}

uint64_t gantry__layout_cost(const gantry__layout_t *layout, uint32_t value,
                             gantry__order_t order) {
    bool is_view;
    const gantry__value_t *given = &layout->graph->values[value];
    if (layout->graph->nodes[given->node].kind == GANTRY__NODE_CONST ||
        layout->needed[value] == order ||
        (layout->is_needed_same[value] && order == GANTRY__ORDER_SAME))
        return 0;
    (void)find_form_source(layout, value, order, &is_view);
    return is_view ? 0 : given->bytes;
}

gantry_status_t gantry__layout_add_form(gantry__layout_t *layout, uint32_t value,
                                        gantry__order_t order, uint32_t stored) {
    if (!gantry__heap_grow(layout->graph->heap, &layout->forms, layout->form_count,
                           &layout->form_capacity, sizeof *layout->forms))
        return GANTRY_RESOURCE_EXHAUSTED;
    uint32_t *at = &layout->firsts[value];
    while (*at != 0) at = &layout->forms[*at - 1].next;
    *at = (uint32_t)layout->form_count + 1;
    layout->forms[layout->form_count++] = (gantry__layout_form_t){.order = order, .value = stored};
    return GANTRY_OK;
}

gantry_status_t gantry__layout_place(gantry__layout_t *layout, uint32_t node) {
    if (!gantry__heap_grow(layout->graph->heap, &layout->order, layout->order_count,
                           &layout->order_capacity, sizeof *layout->order))
        return GANTRY_RESOURCE_EXHAUSTED;
    layout->order[layout->order_count++] = node;
    if (node < layout->node_count) layout->is_placed[node] = true;
    return GANTRY_OK;
}

/* ---- calls of ops ---- */

typedef struct layout_caller_t {
    const gantry__graph_t *graph;
    const uint32_t *inputs;
} layout_caller_t;

static const void *layout_host_value(void *caller, uint32_t input) {
    const layout_caller_t *of = caller;
    const gantry__node_t *node = &of->graph->nodes[of->graph->values[of->inputs[input]].node];
    const gantry_tensor_t *tensor = node->kind == GANTRY__NODE_CONST ? node->tensor : NULL;
    if (tensor && tensor->data && tensor->device && tensor->device->synchronous)
        return tensor->data;
    (void)gantry__fail(GANTRY_UNKNOWN, "input %u of %s is not known", input, node->name);
    return NULL;
}

/* Infers a call of the op. */
static gantry_status_t layout_infer(const gantry__layout_t *layout, gantry__op_id_t op,
                                    const uint32_t *inputs, uint32_t input_count,
                                    const gantry_attr_t *attrs, uint32_t attr_count,
                                    gantry__asked_call_t *call) {
    layout_caller_t caller = {layout->graph, inputs};
    gantry_attr_value_t given[GANTRY__MAX_ATTRS];
    gantry__asked_init(call, op, input_count);
    call->infer.host_value = layout_host_value;
    call->infer.caller = &caller;
    for (uint32_t i = 0; i < input_count; ++i) {
        call->shapes[i] = &layout->graph->values[inputs[i]].shape;
        call->dtypes[i] = layout->graph->values[inputs[i]].dtype;
    }
    for (uint32_t i = 0; i < attr_count; ++i)
        given[i] = (gantry_attr_value_t){.name = attrs[i].name,
                                         .kind = (gantry_attr_kind_t)attrs[i].kind,
                                         .i = attrs[i].i,
                                         .f = attrs[i].f,
                                         .s = attrs[i].s,
                                         .list = attrs[i].list};
    return gantry__op_infer(&call->infer, given, attr_count);
}

/* Copies the attributes with what they point to. */
static gantry_attr_t *layout_keep_attrs(gantry__layout_t *layout, const gantry__infer_t *infer) {
    gantry__arena_t *arena = &layout->graph->arena;
    gantry_attr_t *attrs =
        gantry__arena_copy(arena, infer->attrs, infer->op->attr_count, sizeof *attrs);
    for (uint32_t i = 0; attrs && i < infer->op->attr_count; ++i) {
        gantry_attr_t *attr = &attrs[i];
        if (attr->s && !(attr->s = gantry__arena_strdup(arena, attr->s))) return NULL;
        if (!attr->list || attr->i <= 0) continue;
        attr->list = gantry__arena_copy(arena, attr->list, (size_t)attr->i, sizeof *attr->list);
        if (!attr->list) return NULL;
    }
    return attrs;
}

gantry_status_t gantry__layout_set(gantry__layout_t *layout, uint32_t node, gantry__op_id_t op,
                                   const uint32_t *inputs, uint32_t input_count,
                                   const gantry_attr_t *attrs, uint32_t attr_count,
                                   const gantry_shape_t *result, bool *out_is_set) {
    const uint32_t before = gantry__failures();
    gantry__graph_t *graph = layout->graph;
    gantry__asked_call_t call;
    const gantry_status_t status =
        layout_infer(layout, op, inputs, input_count, attrs, attr_count, &call);
    *out_is_set = status == GANTRY_OK && gantry_shape_equal(&call.out_shapes[0], result);
    if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
    gantry__forget_since(before);
    if (!*out_is_set) return GANTRY_OK;
    const gantry_attr_t *kept = layout_keep_attrs(layout, &call.infer);
    uint32_t *list = gantry__arena_copy(&graph->arena, inputs, input_count, sizeof *list);
    if (!kept || !list) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__node_t *made = &graph->nodes[node];
    made->op = call.infer.op;
    made->inputs = list;
    made->input_count = input_count;
    made->attrs = kept;
    made->piece_first = call.infer.piece_first;
    graph->values[made->first_output].shape = *result;
    return GANTRY_OK;
}

static void name_added(const gantry__layout_t *layout, uint32_t like, const char *what,
                       char name[GANTRY__NODE_NAME_BYTES]) {
    const char *of = layout->graph->nodes[like].name;
    const uint32_t number = layout->named[like]++;
    if (number == 0) {
        (void)snprintf(name, GANTRY__NODE_NAME_BYTES, "%.100s/%s", of, what);
    } else {
        (void)snprintf(name, GANTRY__NODE_NAME_BYTES, "%.100s/%s_%u", of, what, number);
    }
}

/* Adds a node of one result after the present ones, with what `like` requests. */
static gantry_status_t layout_add(gantry__layout_t *layout, gantry__op_id_t op,
                                  const uint32_t *inputs, uint32_t input_count, uint32_t like,
                                  const char *what, uint32_t *out_value) {
    gantry__graph_t *graph = layout->graph;
    gantry__asked_call_t call;
    char name[GANTRY__NODE_NAME_BYTES];
    uint32_t index;
    GANTRY__TRY(
        layout_infer(layout, op, (uint32_t[]){inputs[0], inputs[1]}, input_count, NULL, 0, &call));
    name_added(layout, like, what, name);
    uint32_t own[2] = {inputs[0], inputs[1]};
    const gantry__node_t node = {.kind = GANTRY__NODE_OP,
                                 .op = call.infer.op,
                                 .name = name,
                                 .part_of = graph->nodes[like].part_of,
                                 .wish = graph->nodes[like].wish,
                                 .tag = graph->nodes[like].tag,
                                 .origin = graph->nodes[like].origin,
                                 .inputs = own,
                                 .input_count = input_count,
                                 .attrs = call.infer.attrs,
                                 .output_count = 1,
                                 .piece_first = call.infer.piece_first};
    GANTRY__TRY(gantry__graph_add(graph, &node, call.out_dtypes, call.out_shapes, &index));
    *out_value = graph->nodes[index].first_output;
    return gantry__layout_place(layout, index);
}

/* Whether the constant has these numbers, for nodes that request the same as `user`. */
static bool has_numbers(const gantry__layout_t *layout, uint32_t value, const gantry__node_t *user,
                        gantry_dtype_t dtype, const gantry_shape_t *shape, const int64_t *numbers) {
    const gantry__node_t *node = &layout->graph->nodes[layout->graph->values[value].node];
    if (node->wish != user->wish || node->tag != user->tag || node->tensor->dtype != dtype ||
        !gantry_shape_equal(&node->tensor->shape, shape))
        return false;
    for (int64_t i = 0; i < node->tensor->elements; ++i) {
        if (gantry__layout_number(node->tensor, i) != numbers[i]) return false;
    }
    return true;
}

static bool find_numbers(const gantry__layout_t *layout, const gantry__node_t *user,
                         gantry_dtype_t dtype, const gantry_shape_t *shape, const int64_t *numbers,
                         uint32_t *out_value) {
    for (uint32_t i = 0; i < layout->numbers_count && i < GANTRY__LAYOUT_NUMBERS; ++i) {
        *out_value = layout->numbers[i];
        if (has_numbers(layout, *out_value, user, dtype, shape, numbers)) return true;
    }
    return false;
}

gantry_status_t gantry__layout_add_numbers(gantry__layout_t *layout, uint32_t node,
                                           gantry_dtype_t dtype, const gantry_shape_t *shape,
                                           const int64_t *numbers, uint32_t *out_value) {
    int32_t narrow[2 * GANTRY_MAX_RANK];
    const gantry__node_t *user = &layout->graph->nodes[node];
    char name[GANTRY__NODE_NAME_BYTES];
    if (find_numbers(layout, user, dtype, shape, numbers, out_value)) return GANTRY_OK;
    const int64_t count = gantry_shape_elements(shape);
    for (int64_t i = 0; i < count && i < 2 * GANTRY_MAX_RANK; ++i) narrow[i] = (int32_t)numbers[i];
    name_added(layout, node, "axes", name);
    GANTRY__TRY(gantry__pass_add_constant(layout->runtime, layout->graph, user, name, dtype, shape,
                                          dtype == GANTRY_INT32 ? (const void *)narrow : numbers,
                                          out_value));
    layout->numbers[layout->numbers_count++ % GANTRY__LAYOUT_NUMBERS] = *out_value;
    return gantry__layout_place(layout, layout->graph->values[*out_value].node);
}

gantry_status_t gantry__layout_add_view(gantry__layout_t *layout, uint32_t node, uint32_t stored,
                                        const gantry_shape_t *shape, uint32_t *out_value) {
    uint32_t inputs[2] = {stored, 0};
    const gantry_shape_t length = {.rank = 1, .dims = {shape->rank}};
    GANTRY__TRY(
        gantry__layout_add_numbers(layout, node, GANTRY_INT64, &length, shape->dims, &inputs[1]));
    return layout_add(layout, GANTRY__OP_ID_Reshape, inputs, 2, node, "view", out_value);
}

/* ---- other orders ---- */

/* The permutation that makes a value stored in `from` one that is stored in `to`. */
static gantry_status_t add_perm(gantry__layout_t *layout, uint32_t node, int32_t rank,
                                gantry__order_t from, gantry__order_t to, uint32_t *out_value) {
    const gantry__order_t by = gantry__order_transpose(from, gantry__order_invert(to));
    const gantry_shape_t length = {.rank = 1, .dims = {rank}};
    int64_t numbers[GANTRY_MAX_RANK];
    for (int32_t k = 0; k < rank; ++k) numbers[k] = gantry__order_at(by, (uint32_t)k);
    return gantry__layout_add_numbers(layout, node, GANTRY_INT32, &length, numbers, out_value);
}

gantry_status_t gantry__layout_add_matrix_turn(gantry__layout_t *layout, uint32_t node,
                                               uint32_t stored, uint32_t *out_value) {
    uint32_t inputs[2] = {stored, 0};
    GANTRY__TRY(add_perm(layout, node, 2, GANTRY__ORDER_SAME, GANTRY__ORDER_TURNED, &inputs[1]));
    return layout_add(layout, GANTRY__OP_ID_Transpose, inputs, 2, node, "layout", out_value);
}

/* The body's own Transpose that made the value and was left out; UINT32_MAX: there is none. */
static uint32_t find_own_transpose(const gantry__layout_t *layout, uint32_t value,
                                   gantry__order_t order) {
    const uint32_t index = layout->graph->values[value].node;
    return order == GANTRY__ORDER_SAME && !layout->is_placed[index] &&
                   layout->graph->nodes[index].op->id == GANTRY__OP_ID_Transpose
               ? index
               : UINT32_MAX;
}

/* Puts it back, of another form of its operand. */
static gantry_status_t put_transpose_back(gantry__layout_t *layout, uint32_t index, uint32_t value,
                                          gantry__layout_form_t source, bool *out_is_set) {
    gantry__node_t *node = &layout->graph->nodes[index];
    const gantry_shape_t shape = gantry__layout_shape(layout, value);
    const gantry__order_t back = gantry__order_invert(gantry__layout_perm(layout->graph, node));
    const uint32_t operand = node->inputs[0];
    *out_is_set = true;
    if (source.order == gantry__layout_perm(layout->graph, node)) {
        node->inputs[0] = source.value;
    } else {
        uint32_t inputs[2] = {source.value, 0};
        GANTRY__TRY(
            add_perm(layout, index, shape.rank, source.order, GANTRY__ORDER_SAME, &inputs[1]));
        GANTRY__TRY(gantry__layout_set(layout, index, GANTRY__OP_ID_Transpose, inputs, 2, NULL, 0,
                                       &shape, out_is_set));
    }
    if (!*out_is_set) return GANTRY_OK;
    GANTRY__TRY(gantry__layout_place(layout, index));
    return gantry__layout_add_form(layout, operand, back, value); /* the operand is there so, too */
}

/* The node whose requests a node has that makes the value in another order for a user. */
static uint32_t layout_like(const gantry__layout_t *layout, uint32_t value, uint32_t user) {
    const uint32_t maker = layout->graph->values[value].node;
    return layout->graph->nodes[maker].kind == GANTRY__NODE_OP ? maker : user;
}

gantry_status_t gantry__layout_get(gantry__layout_t *layout, uint32_t user, uint32_t value,
                                   gantry__order_t order, uint32_t *out_stored) {
    const gantry__layout_form_t *found = gantry__layout_find(layout, value, order);
    if (found) {
        *out_stored = found->value;
        return GANTRY_OK;
    }
    bool is_view, is_set = false;
    const uint32_t like = layout_like(layout, value, user),
                   own = find_own_transpose(layout, value, order);
    const gantry__layout_form_t source = *find_form_source(layout, value, order, &is_view);
    const gantry_shape_t shape = gantry__layout_shape(layout, value),
                         stored = gantry__order_store(order, &shape);
    if (is_view) {
        GANTRY__TRY(gantry__layout_add_view(layout, like, source.value, &stored, out_stored));
    } else if (own != UINT32_MAX) {
        GANTRY__TRY(put_transpose_back(layout, own, value, source, &is_set));
        *out_stored = value;
    }
    if (!is_view && !is_set) {
        uint32_t inputs[2] = {source.value, 0};
        GANTRY__TRY(add_perm(layout, like, shape.rank, source.order, order, &inputs[1]));
        GANTRY__TRY(
            layout_add(layout, GANTRY__OP_ID_Transpose, inputs, 2, like, "layout", out_stored));
    }
    return gantry__layout_add_form(layout, value, order, *out_stored);
}

gantry_status_t gantry__layout_get_lower(gantry__layout_t *layout, uint32_t user, uint32_t value,
                                         int32_t rank, gantry__order_t order,
                                         uint32_t *out_stored) {
    const gantry_shape_t shape = gantry__layout_shape(layout, value);
    const uint32_t like = layout_like(layout, value, user);
    gantry_shape_t full = {.rank = rank}, view = {.rank = 0};
    bool is_view = false;
    for (int32_t k = 0; k < rank; ++k)
        full.dims[k] = k < rank - shape.rank ? 1 : shape.dims[k - (rank - shape.rank)];
    const gantry_shape_t stored = gantry__order_store(order, &full);
    if (shape.rank == rank) *out_stored = find_form_source(layout, value, order, &is_view)->value;
    if (!is_view)
        GANTRY__TRY(gantry__layout_get(layout, user, value, GANTRY__ORDER_SAME, out_stored));
    if (layout->graph->values[value].elements == 1) return GANTRY_OK;
    if (!is_view && !gantry__order_is_view(&full, GANTRY__ORDER_SAME, order)) {
        uint32_t inputs[2];
        GANTRY__TRY(gantry__layout_add_view(layout, like, *out_stored, &full, &inputs[0]));
        GANTRY__TRY(add_perm(layout, like, rank, GANTRY__ORDER_SAME, order, &inputs[1]));
        return layout_add(layout, GANTRY__OP_ID_Transpose, inputs, 2, like, "layout", out_stored);
    }
    for (int32_t k = 0; k < rank; ++k) { /* without axes of size 1 in front */
        if (view.rank > 0 || stored.dims[k] != 1) view.dims[view.rank++] = stored.dims[k];
    }
    return gantry_shape_equal(&view, &layout->graph->values[*out_stored].shape)
               ? GANTRY_OK
               : gantry__layout_add_view(layout, like, *out_stored, &view, out_stored);
}
