/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/fold.h"

#include <string.h>

#include <gantry/gantry.h>

#include "onnx/base/memory.h"
#include "onnx/lower/run.h"

typedef const gantry_tensor_t tensor;

/* The key of a prepared bias; those of filters are less. */
#define FOLDED_BIAS 64
#define ONNX_FLOAT32 1

/* ---- chains ---- */

/* A graph of the plan, and who reads a value: 1 and the place of the last such node of the graph. */
typedef struct fold_search_t {
    gantry__onnx_plan_t *plan;
    const onnx_plan_graph_t *place;
    uint32_t *readers; /* By value. */
} fold_search_t;

static bool fold_is_op(const gantry__onnx_node_t *node, const char *op) {
    return *node->domain == '\0' && strcmp(node->op, op) == 0;
}

static int64_t fold_attr_int(const gantry__onnx_node_t *node, const char *name, int64_t fallback) {
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(node, name);
    return attr && attr->count > 0 && attr->ints ? attr->ints[0] : fallback;
}

/* The filter of a convolution that can take a chain; NULL: it cannot. *out_axis is that of its
 * outputs. */
static const gantry__onnx_tensor_t *fold_filter(const gantry__onnx_plan_t *plan,
                                                const gantry__onnx_node_t *node, size_t *out_axis) {
    const bool is_transposed = fold_is_op(node, "ConvTranspose");
    *out_axis = is_transposed;
    if ((!is_transposed && !fold_is_op(node, "Conv")) ||
        (is_transposed && fold_attr_int(node, "group", 1) != 1))
        return NULL;
    if (plan->is_constant[node->inputs[0]] || !plan->is_constant[node->inputs[1]]) return NULL;
    if (node->input_count > 2 && node->inputs[2] != GANTRY__ONNX_NO_VALUE &&
        !plan->is_constant[node->inputs[2]])
        return NULL;
    const gantry__onnx_tensor_t *w = plan->model->values[node->inputs[1]].tensor;
    return w && w->type == ONNX_FLOAT32 && w->rank >= 3 ? w : NULL;
}

/* Whether a constant has one element, or one for each output of the filter, in the place of the
 * channels. */
static bool fold_fits(const gantry__onnx_tensor_t *constant, const gantry__onnx_tensor_t *filter,
                      size_t axis) {
    if (!constant || constant->type != filter->type || constant->rank > filter->rank) return false;
    const uint32_t channels = constant->rank + 1 - filter->rank; /* wraps if it has none */
    for (uint32_t i = 0; i < constant->rank; ++i) {
        const int64_t size = constant->dims[i];
        if (size != 1 && (i != channels || size != filter->dims[axis])) return false;
    }
    return true;
}

static bool fold_norm_fits(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node) {
    if (fold_attr_int(node, "training_mode", 0) != 0 || fold_attr_int(node, "spatial", 1) == 0)
        return false;
    for (size_t i = 1; i < node->output_count; ++i)
        if (node->outputs[i] != GANTRY__ONNX_NO_VALUE) return false;
    for (size_t i = 1; i < 5; ++i)
        if (!plan->is_constant[node->inputs[i]]) return false;
    return true;
}

/* Whether the node's only inputs are value and what can be folded. */
static bool can_fold(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node,
                     gantry__onnx_value_t value, const gantry__onnx_tensor_t *filter, size_t axis) {
    if (fold_is_op(node, "BatchNormalization"))
        return node->inputs[0] == value && fold_norm_fits(plan, node);
    if (!fold_is_op(node, "Mul") && !fold_is_op(node, "Add")) return false;
    const gantry__onnx_value_t other = node->inputs[node->inputs[0] == value];
    return other != value && plan->is_constant[other] &&
           fold_fits(plan->model->values[other].tensor, filter, axis);
}

/* Follows the only readers of the convolution's result, as far as they can be folded. */
static void find_chain(const fold_search_t *search, size_t n) {
    gantry__onnx_plan_t *plan = search->plan;
    const gantry__onnx_node_t *nodes = search->place->graph->nodes, *node = &nodes[n];
    const size_t first = search->place->first_node;
    size_t axis, last = n;
    const gantry__onnx_tensor_t *filter = fold_filter(plan, node, &axis);
    while (filter) {
        const gantry__onnx_value_t value = nodes[last].outputs[0];
        if (value == GANTRY__ONNX_NO_VALUE || plan->model->values[value].uses != 1) return;
        const size_t next = search->readers[value];
        if (next == 0 || !plan->rows[first + next - 1] ||
            !can_fold(plan, &nodes[next - 1], value, filter, axis))
            return;
        plan->next_folded[first + last] = (uint32_t)(first + next);
        plan->is_folded[first + next - 1] = 1;
        last = next - 1;
    }
}

static void find_chains_of_graph(fold_search_t *search) {
    const gantry__onnx_graph_t *graph = search->place->graph;
    for (size_t n = 0; n < graph->node_count; ++n) {
        const gantry__onnx_node_t *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] != GANTRY__ONNX_NO_VALUE)
                search->readers[node->inputs[i]] = (uint32_t)n + 1;
        }
    }
    for (size_t n = 0; n < graph->node_count; ++n) {
        if (search->plan->rows[search->place->first_node + n]) find_chain(search, n);
    }
    /* A value that this graph reads is none that only another one reads. */
    for (size_t n = 0; n < graph->node_count; ++n) {
        const gantry__onnx_node_t *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] != GANTRY__ONNX_NO_VALUE) search->readers[node->inputs[i]] = 0;
        }
    }
}

gantry_status_t gantry__onnx_find_folds(gantry__onnx_plan_t *plan) {
    fold_search_t search = {.plan = plan};
    plan->next_folded = gantry__onnx_alloc(plan->node_count, sizeof *plan->next_folded);
    plan->is_folded = gantry__onnx_alloc(plan->node_count, 1);
    search.readers = gantry__onnx_alloc(plan->model->value_count, sizeof *search.readers);
    if (!plan->next_folded || !plan->is_folded || !search.readers) {
        gantry__onnx_free(search.readers);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    for (size_t g = 0; g < plan->graph_count; ++g) {
        search.place = &plan->graphs[g];
        find_chains_of_graph(&search);
    }
    gantry__onnx_free(search.readers);
    return GANTRY_OK;
}

/* A node by its position in the plan. */
static const gantry__onnx_node_t *node_at(const gantry__onnx_plan_t *plan, size_t position) {
    size_t g = plan->graph_count;
    while (plan->graphs[--g].first_node > position) continue;
    return &plan->graphs[g].graph->nodes[position - plan->graphs[g].first_node];
}

gantry__onnx_value_t gantry__onnx_fold_result(const gantry__onnx_plan_t *plan, size_t position) {
    size_t last = position;
    while (plan->next_folded[last] != 0) last = plan->next_folded[last] - 1;
    return last == position ? GANTRY__ONNX_NO_VALUE : node_at(plan, last)->outputs[0];
}

/* ---- folded constants ---- */

/* What a chain does to each output of a convolution: y * scale + offset. NULL: by 1, with 0. */
typedef struct folded_t {
    gantry__onnx_call_t *call;
    gantry_scope_t *scope;
    tensor *scale, *offset;
} folded_t;

static size_t position_of(const gantry__onnx_call_t *call) {
    return call->run->first_node + call->node->index;
}

/* A constant as a float64 scalar or vector of channels. */
static tensor *fold_read(folded_t *folded, gantry__onnx_value_t value) {
    tensor *x = gantry__onnx_run_get(folded->call->run, value);
    if (!x) {
        (void)gantry_scope_fail(folded->scope, folded->call->run->status, gantry_last_message());
        return NULL;
    }
    const int64_t count = gantry_tensor_elements(x);
    x = gantry_cast(folded->scope, x, GANTRY_FLOAT64);
    return gantry_reshape(folded->scope, x, count == 1 ? GANTRY_SCALAR : GANTRY_SHAPE(count));
}

static void fold_multiply(folded_t *folded, tensor *factor) {
    gantry_scope_t *s = folded->scope;
    folded->scale = folded->scale ? gantry_mul(s, folded->scale, factor) : factor;
    if (folded->offset) folded->offset = gantry_mul(s, folded->offset, factor);
}

static void fold_add(folded_t *folded, tensor *term) {
    folded->offset = folded->offset ? gantry_add(folded->scope, folded->offset, term) : term;
}

static void fold_norm(folded_t *folded, const gantry__onnx_node_t *node) {
    gantry_scope_t *s = folded->scope;
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(node, "epsilon");
    const double epsilon = (double)(attr ? attr->floats[0] : 1e-5f);
    tensor *in[5];
    for (size_t i = 1; i < 5; ++i) in[i] = fold_read(folded, node->inputs[i]);
    tensor *small = gantry_constant(s, GANTRY_FLOAT64, GANTRY_SCALAR, &epsilon, sizeof epsilon);
    tensor *factor = gantry_div(s, in[1], gantry_sqrt(s, gantry_add(s, in[4], small)));
    fold_add(folded, gantry_neg(s, in[3]));
    fold_multiply(folded, factor);
    fold_add(folded, in[2]);
}

/* Joins the chain of the call; with_bias: what it does to the convolution's bias. */
static void fold_chain(folded_t *folded, bool with_bias) {
    const gantry__onnx_plan_t *plan = &folded->call->run->constants->plan;
    const gantry__onnx_node_t *conv = folded->call->node;
    if (with_bias && conv->input_count > 2 && conv->inputs[2] != GANTRY__ONNX_NO_VALUE)
        fold_add(folded, fold_read(folded, conv->inputs[2]));
    for (size_t at = position_of(folded->call); plan->next_folded[at] != 0;) {
        at = plan->next_folded[at] - 1;
        const gantry__onnx_node_t *node = node_at(plan, at);
        if (fold_is_op(node, "BatchNormalization")) {
            fold_norm(folded, node);
            continue;
        }
        tensor *constant = fold_read(folded, node->inputs[!plan->is_constant[node->inputs[0]]]);
        if (fold_is_op(node, "Mul"))
            fold_multiply(folded, constant);
        else
            fold_add(folded, constant);
    }
}

static bool has_chain(const gantry__onnx_call_t *call) {
    return call->run->constants->plan.next_folded[position_of(call)] != 0;
}

tensor *gantry__onnx_folded_filter(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w,
                                   int32_t axis) {
    folded_t folded = {.call = call, .scope = scope};
    if (!has_chain(call)) return w;
    fold_chain(&folded, false);
    if (!folded.scale) return w;
    gantry_shape_t shape = {.rank = gantry_tensor_shape(w)->rank - axis,
                            .dims = {gantry_tensor_elements(folded.scale), 1, 1, 1, 1}};
    tensor *scale = gantry_cast(scope, folded.scale, gantry_tensor_dtype(w));
    return gantry_mul(scope, w, gantry_reshape(scope, scale, shape));
}

/* [outputs] of a filter's type, for a filter of any form. */
static tensor *make_folded_bias(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w) {
    const bool is_transposed = fold_is_op(call->node, "ConvTranspose");
    folded_t folded = {.call = call, .scope = scope};
    fold_chain(&folded, true);
    tensor *bias =
        folded.offset ? folded.offset : gantry_zeros(scope, GANTRY_FLOAT64, GANTRY_SCALAR);
    return gantry_broadcast_to(scope, gantry_cast(scope, bias, gantry_tensor_dtype(w)),
                               GANTRY_SHAPE(gantry_tensor_shape(w)->dims[is_transposed]));
}

tensor *gantry__onnx_folded_bias(gantry__onnx_call_t *call) {
    if (!has_chain(call)) return gantry__onnx_input(call, 2);
    return gantry__onnx_prepared(call, 1, FOLDED_BIAS, make_folded_bias);
}
