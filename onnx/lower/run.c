/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/run.h"

#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

#include "shared/memory.h"
#include "onnx/lower/chains.h"
#include "shared/printable.h"

/* Results of known inputs are computed on the host up to so many elements. */
#define MOST_KNOWN_ELEMENTS 4096
#define FEW_TENSORS 16

typedef const gantry_tensor_t tensor;

/* ---- values ---- */

gantry_status_t gantry__onnx_run_begin(gantry__onnx_run_t *run, gantry__onnx_constants_t *constants,
                                       gantry_scope_t *scope, bool is_eager) {
    *run = (gantry__onnx_run_t){.constants = constants, .scope = scope, .is_eager = is_eager};
    const size_t count = constants->plan.model->value_count;
    run->values = gantry__alloc(count, sizeof *run->values);
    run->flags = gantry__alloc(count, 1);
    if (!run->values || !run->flags) return GANTRY_RESOURCE_EXHAUSTED;
    run->host = gantry_scope_begin(constants->runtime, "/CPU:0");
    if (!run->host) return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "out of host memory: a scope");
    return gantry_scope_status(run->host);
}

/* The run's own reference goes. */
static void let_go(gantry__onnx_run_t *run, gantry__onnx_value_t value) {
    if (run->flags[value] & GANTRY__ONNX_OWNED)
        gantry_tensor_release((gantry_tensor_t *)run->values[value]);
    run->values[value] = NULL;
    run->flags[value] = 0;
}

void gantry__onnx_run_end(gantry__onnx_run_t *run) {
    if (run->values && run->flags) {
        const size_t count = run->constants->plan.model->value_count;
        for (size_t v = 0; v < count; ++v) let_go(run, (gantry__onnx_value_t)v);
    }
    for (size_t v = 0; run->lists && v < run->constants->plan.model->value_count; ++v)
        gantry__onnx_run_drop_list(run, (gantry__onnx_value_t)v);
    gantry__onnx_scratch_free(run, NULL);
    gantry__free(run->lists);
    gantry__free(run->values);
    gantry__free(run->flags);
    if (run->host) (void)gantry_scope_end(run->host);
    run->host = NULL;
}

void gantry__onnx_run_set(gantry__onnx_run_t *run, gantry__onnx_value_t value, tensor *x,
                          bool is_known) {
    let_go(run, value);
    run->values[value] = x;
    run->flags[value] = is_known ? GANTRY__ONNX_KNOWN : 0;
}

/* Sets a constant, of which the run has this reference. */
static void run_own(gantry__onnx_run_t *run, gantry__onnx_value_t value, gantry_tensor_t *owned) {
    gantry__onnx_run_set(run, value, owned, true);
    run->flags[value] |= GANTRY__ONNX_OWNED;
}

/* ---- one node ---- */

/* Whether the tensor has elements while a body is traced, or was made of numbers. */
static bool run_is_made(const gantry__onnx_call_t *call, tensor *x) {
    const size_t most = sizeof call->made / sizeof *call->made;
    if (!call->run->is_eager) return gantry_tensor_device(x) != NULL;
    for (size_t i = 0; i < call->made_count && i < most; ++i) {
        if (call->made[i] == x) return true;
    }
    return false;
}

static double product_of_ints(tensor *x) {
    int64_t dims[GANTRY_MAX_RANK];
    double product = 1;
    if (!x || gantry_tensor_dtype(x) != GANTRY_INT64 || gantry_tensor_bytes(x) > sizeof dims ||
        gantry_tensor_read(x, dims, gantry_tensor_bytes(x)) != GANTRY_OK)
        return 0; /* the op refuses it */
    for (int64_t i = 0; i < gantry_tensor_elements(x); ++i) product *= (double)dims[i];
    return product;
}

/* The numbers from input 0 to input 1. */
static double elements_between(const gantry__onnx_call_t *call) {
    int64_t ends[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
        if (gantry_tensor_dtype(call->inputs[i]) == GANTRY_INT64)
            (void)gantry_tensor_read(call->inputs[i], &ends[i], sizeof *ends);
    }
    return (double)ends[1] - (double)ends[0];
}

/* Elements of the result, where the row says how many there are. */
static double elements_of_extent(const gantry__onnx_call_t *call) {
    switch (call->row->extent) {
        case GANTRY__ONNX_FILLS: return product_of_ints(call->inputs[0]);
        case GANTRY__ONNX_EXPANDS: return product_of_ints(call->inputs[1]);
        case GANTRY__ONNX_REPEATS:
            return product_of_ints(call->inputs[1]) *
                   (double)gantry_tensor_elements(call->inputs[0]);
        case GANTRY__ONNX_COUNTS: return elements_between(call);
        default: return 0;
    }
}

/* Whether a node of known inputs makes much of little: then the scope of the other nodes has it. */
static bool grows_much(const gantry__onnx_call_t *call) {
    double elements = elements_of_extent(call);
    for (size_t i = 0; i < call->input_count; ++i) {
        if (call->inputs[i] && gantry_tensor_elements(call->inputs[i]) > elements)
            elements = (double)gantry_tensor_elements(call->inputs[i]);
    }
    return elements > MOST_KNOWN_ELEMENTS;
}

static bool has_graphs(const gantry__onnx_node_t *node) {
    for (size_t i = 0; i < node->attr_count; ++i) {
        if (node->attrs[i].kind == GANTRY__ONNX_GRAPH || node->attrs[i].kind == GANTRY__ONNX_GRAPHS)
            return true;
    }
    return false;
}

/* Whether each run computes the node of constants. */
static bool is_left(const gantry__onnx_run_t *run, const gantry__onnx_node_t *node) {
    for (size_t i = 0; i < node->output_count; ++i) {
        const gantry__onnx_value_t value = node->outputs[i];
        if (value != GANTRY__ONNX_NO_VALUE && atomic_load(&run->constants->is_left[value]))
            return true;
    }
    return false;
}

/* Whether the node is computed on the host, at once. */
static bool belongs_to_host(const gantry__onnx_run_t *run, const gantry__onnx_call_t *call) {
    if (run->is_constant_node) return true;
    if (has_graphs(call->node) || gantry__onnx_row_attr(call->row, "seed") ||
        is_left(run, call->node))
        return false;
    for (size_t i = 0; i < call->input_count; ++i) {
        const gantry__onnx_value_t value = call->node->inputs[i];
        if (value != GANTRY__ONNX_NO_VALUE && !(run->flags[value] & GANTRY__ONNX_KNOWN))
            return false;
    }
    return !grows_much(call) && (run->is_eager || gantry__onnx_is_small(call));
}

static gantry_status_t run_name_node(gantry__onnx_run_t *run, const gantry__onnx_node_t *node,
                                     gantry_status_t status) {
    char text[512];
    if (run->is_reported || status == GANTRY_RESOURCE_EXHAUSTED) return status;
    run->is_reported = true;
    gantry__onnx_describe_node(node, text, sizeof text);
    return gantry__fail(status, "%s: %s: %s", run->constants->plan.model->path, text,
                        gantry_last_message());
}

/* An input that is a list stays NULL. */
static gantry_status_t onnx_take_inputs(gantry__onnx_run_t *run, const gantry__onnx_node_t *node,
                                        const gantry__onnx_row_t *row, tensor **inputs) {
    const bool takes_lists = (row->lists & GANTRY__ONNX_LISTS_TAKEN) != 0;
    for (size_t i = 0; i < node->input_count; ++i) {
        inputs[i] = NULL;
        if (node->inputs[i] == GANTRY__ONNX_NO_VALUE) continue;
        if (takes_lists && gantry__onnx_run_list(run, node->inputs[i])) continue;
        inputs[i] = gantry__onnx_run_get(run, node->inputs[i]);
        if (!inputs[i]) return run->status;
    }
    return GANTRY_OK;
}

/* A constant may be its node's input, so that the run needs a reference before that one goes. */
static gantry_status_t run_take_outputs(gantry__onnx_run_t *run, const gantry__onnx_call_t *call,
                                        bool is_known) {
    for (size_t i = 0; i < call->output_count; ++i) {
        const gantry__onnx_value_t value = call->node->outputs[i];
        tensor *x = call->outputs[i];
        if (value == GANTRY__ONNX_NO_VALUE) continue;
        if (!x && gantry__onnx_wants(call, i) && !gantry__onnx_run_list(run, value))
            return gantry__fail(GANTRY_UNIMPLEMENTED,
                                "output %zu is used; this library does not compute it", i);
        if (!x) continue;
        if (run->is_constant_node) {
            gantry_tensor_t *settled;
            GANTRY__TRY(gantry__onnx_constants_settle(run->constants, call->scope, x, &settled));
            run_own(run, value, settled);
        } else {
            gantry__onnx_run_set(run, value, x, is_known || run_is_made(call, x));
        }
    }
    return GANTRY_OK;
}

/* Constants that a node took as they are stay for later traces. Those that it only took in another
 * form go at once if no other node reads them. */
static void settle_constants(gantry__onnx_run_t *run, const gantry__onnx_call_t *call) {
    const gantry__onnx_plan_t *plan = &run->constants->plan;
    for (size_t i = 0; i < call->input_count; ++i) {
        const gantry__onnx_value_t value = call->node->inputs[i];
        if (value == GANTRY__ONNX_NO_VALUE || !gantry__onnx_constants_has(run->constants, value) ||
            !run->values[value])
            continue;
        const bool is_prepared = i < 64 && (call->prepared & UINT64_C(1) << i) != 0;
        if (!is_prepared && !run->is_constant_node) {
            gantry__onnx_constants_keep(run->constants, value, run->values[value]);
        } else if (plan->model->values[value].uses <= 1) {
            let_go(run, value);
        }
    }
}

/* Ops of the host fail while the node is lowered, which names it. */
static gantry_status_t run_lower(gantry__onnx_call_t *call) {
    char origin[768];
    if (call->scope == call->host) return call->row->lower(call);
    const char *path = call->run->constants->plan.model->path;
    const int used = snprintf(origin, sizeof origin, "%s: ", gantry__utf8_end(path, 200));
    gantry__onnx_describe_node(call->node, origin + used, sizeof origin - (size_t)used);
    call->origin = origin;
    GANTRY__TRY(gantry_scope_set_origin(call->scope, origin));
    const gantry_status_t status = call->row->lower(call);
    call->origin = NULL;
    (void)gantry_scope_set_origin(call->scope, NULL); /* the text ends here */
    return status;
}

static gantry_status_t call_row(gantry__onnx_run_t *run, gantry__onnx_call_t *call) {
    struct onnx_scratch_t *since = run->scratch;
    const bool is_known = belongs_to_host(run, call);
    if (is_known) call->scope = call->host;
    gantry_status_t status = run->is_constant_node ? gantry__onnx_check_folding(call) : GANTRY_OK;
    if (status == GANTRY_OK) status = run_lower(call);
    if (run->is_out_of_memory) /* what the function made of it hides the cause */
        status = gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "out of host memory");
    if (status == GANTRY_OK) status = gantry_scope_status(call->scope);
    if (status == GANTRY_OK) status = run_take_outputs(run, call, is_known);
    if (run->watch) run->watch(run->watch_user, call, status);
    gantry__onnx_scratch_free(run, since);
    if (status == GANTRY_OK) settle_constants(run, call);
    return status == GANTRY_OK ? GANTRY_OK : run_name_node(run, call->node, status);
}

/* Names the next op after the node, with as many characters as a name may have. */
static void run_name_next(gantry_scope_t *scope, const char *name) {
    char cut[64]; /* the most that gantry_scope_name_next takes */
    const size_t used = gantry__onnx_cut(name, sizeof cut - 1);
    memcpy(cut, name, used);
    cut[used] = '\0';
    if (used > 0) (void)gantry_scope_name_next(scope, cut);
}

static gantry_status_t run_node(gantry__onnx_run_t *run, gantry_scope_t *scope,
                                const gantry__onnx_node_t *node, const gantry__onnx_row_t *row) {
    tensor *few_inputs[FEW_TENSORS], *few_outputs[FEW_TENSORS] = {NULL};
    tensor **inputs = few_inputs, **outputs = few_outputs;
    gantry_status_t status = GANTRY_OK;
    if (node->input_count > FEW_TENSORS) inputs = gantry__alloc(node->input_count, sizeof *inputs);
    if (node->output_count > FEW_TENSORS)
        outputs = gantry__alloc(node->output_count, sizeof *outputs);
    if (!inputs || !outputs) status = GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) status = onnx_take_inputs(run, node, row, inputs);
    if (status == GANTRY_OK) {
        gantry__onnx_call_t call = {.scope = scope,
                                    .host = run->host,
                                    .node = node,
                                    .row = row,
                                    .input_count = node->input_count,
                                    .output_count = node->output_count,
                                    .inputs = inputs,
                                    .outputs = outputs,
                                    .run = run};
        if (!run->is_eager) run_name_next(scope, node->name);
        status = call_row(run, &call);
    }
    if (inputs != few_inputs) gantry__free(inputs);
    if (outputs != few_outputs) gantry__free(outputs);
    return status;
}

/* ---- constants ---- */

/* Lowers a node of constants that each run computes, whose inputs are there. A run that is within a
 * subgraph begins again, because other graphs may read the results, too. */
static gantry_status_t lower_left(gantry__onnx_run_t *run, const gantry__onnx_node_t *node) {
    if (run->inner_graphs > 0)
        return gantry__fail(GANTRY_ABORTED, "%s: a constant is computed in each run from now on",
                            run->constants->plan.model->path);
    return run_node(run, run->scope, node, run->constants->plan.rows[node->index]);
}

/* Computes a node of constants, whose inputs are there; the run gets references to its results. */
static gantry_status_t compute_constant(gantry__onnx_run_t *run, const gantry__onnx_node_t *node) {
    gantry_scope_t *outer = run->host;
    gantry_scope_t *scope = gantry_scope_begin(run->constants->runtime, "/CPU:0");
    if (!scope) return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "out of host memory: a scope");
    const bool was_constant = run->is_constant_node;
    run->is_constant_node = true;
    run->host = scope;
    gantry_status_t status = run_node(run, scope, node, run->constants->plan.rows[node->index]);
    run->host = outer;
    run->is_constant_node = was_constant;
    char text[GANTRY__MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    (void)gantry_scope_end(scope);
    if (status != GANTRY_OK) return gantry_fail(status, text);
    const gantry__onnx_value_t first = node->outputs[0];
    if (first != GANTRY__ONNX_NO_VALUE && run->values[first])
        gantry__onnx_constants_trim(run->constants->runtime,
                                    gantry_tensor_bytes(run->values[first]));
    return GANTRY_OK;
}

/* Reads a tensor of the file, of which the run then has a reference. */
static gantry_status_t read_constant(gantry__onnx_run_t *run, gantry__onnx_value_t value) {
    tensor *x = NULL;
    GANTRY__TRY(gantry__onnx_constants_read(run->constants, run->host,
                                            run->constants->plan.model->values[value].tensor, &x));
    run_own(run, value, gantry_tensor_retain(x));
    gantry_tensor_drop(run->host, x);
    return GANTRY_OK;
}

/* Makes a constant that needs no other one; *out_node is the node that makes it, if it needs some.
 * A kept one is taken. */
static gantry_status_t take_constant(gantry__onnx_run_t *run, gantry__onnx_value_t value,
                                     const gantry__onnx_node_t **out_node) {
    const gantry__onnx_graph_model_t *model = run->constants->plan.model;
    gantry_tensor_t *kept = gantry__onnx_constants_kept(run->constants, value);
    *out_node = NULL;
    if (kept) {
        run_own(run, value, kept);
    } else if (model->values[value].source == GANTRY__ONNX_FROM_TENSOR) {
        return read_constant(run, value);
    } else {
        *out_node = &model->graph->nodes[model->values[value].node];
    }
    return GANTRY_OK;
}

/* Makes a constant, and those that it is made of. `pending` is a stack of nodes, each of which
 * waits for the next one. */
static gantry_status_t run_make_constant(gantry__onnx_run_t *run, gantry__onnx_value_t value) {
    const gantry__onnx_node_t **pending = NULL, *node = NULL;
    size_t count = 0, capacity = 0;
    gantry_status_t status = take_constant(run, value, &node);
    while (status == GANTRY_OK && (node || count > 0)) {
        if (node && !gantry__grow(&pending, count, &capacity, sizeof *pending)) {
            status = GANTRY_RESOURCE_EXHAUSTED;
            break;
        }
        if (node) pending[count++] = node;
        const gantry__onnx_node_t *top = pending[count - 1];
        node = NULL;
        for (size_t i = 0; status == GANTRY_OK && !node && i < top->input_count; ++i) {
            if (top->inputs[i] != GANTRY__ONNX_NO_VALUE && !run->values[top->inputs[i]])
                status = take_constant(run, top->inputs[i], &node);
        }
        if (node || status != GANTRY_OK) continue;
        --count;
        status = is_left(run, top) ? lower_left(run, top) : compute_constant(run, top);
        if (status == GANTRY_RESOURCE_EXHAUSTED && run->is_too_large &&
            gantry__onnx_constants_leave(run->constants, top)) {
            run->is_too_large = false;
            status = lower_left(run, top);
        }
    }
    gantry__free(pending);
    return status;
}

tensor *gantry__onnx_run_get(gantry__onnx_run_t *run, gantry__onnx_value_t value) {
    const gantry__onnx_plan_t *plan = &run->constants->plan;
    run->status = GANTRY_OK;
    if (!run->values[value] && plan->is_constant[value])
        run->status = run_make_constant(run, value);
    if (run->status == GANTRY_OK && gantry__onnx_run_list(run, value))
        run->status =
            gantry__fail(GANTRY_UNIMPLEMENTED,
                         "%s: value '%.200s' is a sequence or an optional where a tensor is needed",
                         plan->model->path, plan->model->values[value].name);
    else if (run->status == GANTRY_OK && !run->values[value])
        run->status = gantry__fail(GANTRY_INTERNAL, "%s: value '%.200s' was not made",
                                   plan->model->path, plan->model->values[value].name);
    return run->status == GANTRY_OK ? run->values[value] : NULL;
}

/* ---- graphs ---- */

static bool run_is_left_out(const gantry__onnx_run_t *run, const gantry__onnx_node_t *node) {
    const gantry__onnx_plan_t *plan = &run->constants->plan;
    for (size_t i = 0; i < node->output_count; ++i) {
        const gantry__onnx_value_t value = node->outputs[i];
        if (value == GANTRY__ONNX_NO_VALUE) continue;
        if (plan->is_constant[value] && (!is_left(run, node) || run->values[value])) return true;
        if (plan->is_needed[value]) return false;
    }
    return true;
}

static gantry_status_t fail_refused(gantry__onnx_run_t *run, const gantry__onnx_node_t *node,
                                    size_t position) {
    const gantry__onnx_plan_t *plan = &run->constants->plan;
    const gantry__onnx_refusal_t *refusal = gantry__onnx_plan_refusal(plan, position);
    if (!refusal) return gantry__fail(GANTRY_INTERNAL, "%s: a node has no row", plan->model->path);
    (void)gantry_fail(refusal->status, refusal->reason);
    return run_name_node(run, node, refusal->status);
}

/* The result of nodes that are folded into this one is its own. */
static void hand_on_folded(gantry__onnx_run_t *run, size_t position,
                           const gantry__onnx_node_t *node) {
    const gantry__onnx_value_t value = gantry__onnx_chain_result(&run->constants->plan, position);
    if (value == GANTRY__ONNX_NO_VALUE) return;
    tensor *x = run->values[node->outputs[0]];
    const bool is_known = (run->flags[node->outputs[0]] & GANTRY__ONNX_KNOWN) != 0;
    gantry__onnx_run_set(run, value, x, is_known);
}

gantry_status_t gantry__onnx_run_graph(gantry__onnx_run_t *run, gantry_scope_t *scope,
                                       const gantry__onnx_graph_t *graph) {
    const gantry__onnx_plan_t *plan = &run->constants->plan;
    const size_t outer = run->first_node, first = gantry__onnx_plan_first(plan, graph);
    const gantry__onnx_row_t *const *rows = (const gantry__onnx_row_t *const *)plan->rows + first;
    for (size_t n = 0; n < graph->node_count; ++n) {
        const gantry__onnx_node_t *node = &graph->nodes[n];
        if (run_is_left_out(run, node) || plan->is_folded[first + n]) continue;
        if (!rows[n]) return fail_refused(run, node, first + n);
        run->first_node = first;
        GANTRY__TRY(run_node(run, scope, node, rows[n]));
        hand_on_folded(run, first + n, node);
    }
    run->first_node = outer;
    return GANTRY_OK;
}

static void forget_node(gantry__onnx_run_t *run, const gantry__onnx_node_t *node) {
    for (size_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == GANTRY__ONNX_NO_VALUE) continue;
        let_go(run, node->outputs[i]);
        gantry__onnx_run_drop_list(run, node->outputs[i]);
    }
    for (size_t i = 0; i < node->attr_count; ++i) {
        for (size_t g = 0; node->attrs[i].graphs && g < node->attrs[i].count; ++g)
            gantry__onnx_run_forget(run, node->attrs[i].graphs[g]);
    }
}

void gantry__onnx_run_forget(gantry__onnx_run_t *run, const gantry__onnx_graph_t *graph) {
    for (size_t i = 0; i < graph->input_count; ++i) let_go(run, graph->inputs[i]);
    for (size_t i = 0; i < graph->node_count; ++i) forget_node(run, &graph->nodes[i]);
}

gantry_status_t gantry__onnx_lower_subgraph(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                            const gantry__onnx_graph_t *graph,
                                            tensor *const *inputs, tensor **outputs) {
    gantry__onnx_run_t *run = call->run;
    for (size_t i = 0; i < graph->input_count; ++i)
        gantry__onnx_run_set(run, graph->inputs[i], inputs[i], run_is_made(call, inputs[i]));
    ++run->inner_graphs;
    const gantry_status_t status = gantry__onnx_run_graph(run, scope, graph);
    --run->inner_graphs;
    GANTRY__TRY(status);
    GANTRY__TRY(gantry_scope_set_origin(call->scope, call->origin));
    for (size_t i = 0; i < graph->output_count; ++i) {
        outputs[i] = gantry__onnx_run_get(run, graph->outputs[i]);
        if (!outputs[i]) return run->status;
    }
    return GANTRY_OK;
}
