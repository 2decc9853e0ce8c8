/* SPDX-License-Identifier: Apache-2.0 */
/* If, Loop and Scan. A condition that is known takes one branch; another one becomes a branch of
 * the function. lower_steps.h runs bodies. */

#include <gantry/control.h>
#include <gantry/ops.h>

#include "onnx/lower/lower_recurrent.h"
#include "onnx/lower/lower_steps.h"

/* The largest batch of Scan of operator set 8, whose elements run one by one. */
#define MOST_SCAN_BATCH 1024

/* ---- If ---- */

/* The two branches of an If whose condition is not known. */
typedef struct branches_t {
    gantry__onnx_call_t *call;
    const gantry__onnx_graph_t *graphs[2];
    size_t count; /* Outputs. */
} branches_t;

/* Lowers a branch. Outputs that it takes from outside become its own. */
static void run_if_branch(branches_t *branches, size_t which, gantry_scope_t *scope,
                          const gantry_tensor_t **outputs) {
    const gantry_status_t status =
        gantry__onnx_lower_subgraph(branches->call, scope, branches->graphs[which], NULL, outputs);
    if (status != GANTRY_OK) gantry_scope_fail(scope, status, gantry_last_message());
    for (size_t i = 0; status == GANTRY_OK && i < branches->count; ++i)
        outputs[i] = gantry_identity(scope, outputs[i]);
}

static void run_then(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)inputs;
    run_if_branch(user, 0, scope, outputs);
}

static void run_else(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)inputs;
    run_if_branch(user, 1, scope, outputs);
}

/* An If whose condition is not known. Where a branch fails, as one does that does not fit the
 * inputs and is never taken, or both set different shapes, the condition's value is needed. */
static gantry_status_t lower_both(gantry__onnx_call_t *call, branches_t *branches) {
    const size_t count = branches->count;
    const gantry_tensor_t **outputs = gantry__onnx_scratch(call, count, sizeof *outputs);
    if (!outputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < 2; ++i)
        if (branches->graphs[i]->output_count != count)
            return gantry__onnx_need_values(call, "cond, because outputs are left out,");
    const gantry_tensor_t *condition =
        gantry_reshape(call->scope, gantry__onnx_input(call, 0), GANTRY_SCALAR);
    GANTRY__TRY(gantry_scope_status(call->scope));
    if (gantry_cond(call->scope, condition, run_then, run_else, branches, NULL, 0, outputs,
                    count) != GANTRY_OK) {
        gantry_scope_clear(call->scope);
        int64_t ignored = 0;
        GANTRY__TRY(gantry__onnx_get_int(call, 0, "cond", 0, &ignored));
    }
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(gantry__onnx_set(call, i, outputs[i]));
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_if(gantry__onnx_call_t *call) {
    branches_t branches = {.call = call, .count = call->output_count};
    static const char *const names[2] = {"then_branch", "else_branch"};
    for (size_t i = 0; i < 2; ++i) {
        branches.graphs[i] = gantry__onnx_attr_graph(call, names[i]);
        if (branches.graphs[i]->output_count != call->output_count)
            return gantry__onnx_invalid(call, "%s has %zu outputs, the node %zu", names[i],
                                        branches.graphs[i]->output_count, call->output_count);
    }
    if (!gantry__onnx_is_known(call, gantry__onnx_input(call, 0)))
        return lower_both(call, &branches);
    int64_t condition = 0;
    GANTRY__TRY(gantry__onnx_get_int(call, 0, "cond", 0, &condition));
    const gantry__onnx_graph_t *graph = branches.graphs[condition ? 0 : 1];
    const gantry_tensor_t **outputs =
        gantry__onnx_scratch(call, graph->output_count, sizeof *outputs);
    if (!outputs) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(gantry__onnx_lower_subgraph(call, call->scope, graph, NULL, outputs));
    for (size_t i = 0; i < call->output_count; ++i)
        GANTRY__TRY(gantry__onnx_set(call, i, outputs[i]));
    return GANTRY_OK;
}

/* ---- Loop and Scan ---- */

/* The body, which has so many inputs, so many outputs that are handed on, and those of the node. */
static gantry_status_t find_body(gantry__onnx_steps_t *steps, size_t inputs, size_t outputs) {
    gantry__onnx_call_t *call = steps->call;
    steps->body = gantry__onnx_attr_graph(call, "body");
    const size_t all = call->output_count + steps->is_loop;
    if (steps->body->input_count != inputs || steps->body->output_count != all || all < outputs)
        return gantry__onnx_invalid(
            call, "body has %zu inputs and %zu outputs; the node needs %zu and %zu",
            steps->body->input_count, steps->body->output_count, inputs,
            all < outputs ? outputs : all);
    steps->output_count = steps->body->output_count - outputs;
    return GANTRY_OK;
}

/* Places for carried values, which begin as input `first`, and for outputs. */
static gantry_status_t reserve_steps(gantry__onnx_steps_t *steps, size_t first) {
    gantry__onnx_call_t *call = steps->call;
    steps->carried = gantry__onnx_scratch(call, steps->carried_count + 1, sizeof *steps->carried);
    steps->outputs = gantry__onnx_scratch(call, steps->output_count + 1, sizeof *steps->outputs);
    if (!steps->carried || !steps->outputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < steps->carried_count; ++i) {
        steps->carried[i] = gantry__onnx_input(call, first + i);
        if (!steps->carried[i])
            return gantry__onnx_invalid(call, "input %zu, a value of the loop, is missing",
                                        first + i);
    }
    for (size_t i = 0; i < steps->output_count; ++i) steps->outputs[i] = NULL;
    return GANTRY_OK;
}

static gantry_status_t set_step_results(const gantry__onnx_steps_t *steps) {
    for (size_t i = 0; i < steps->carried_count; ++i)
        GANTRY__TRY(gantry__onnx_set(steps->call, i, steps->carried[i]));
    for (size_t i = 0; i < steps->output_count; ++i)
        if (gantry__onnx_wants(steps->call, steps->carried_count + i))
            GANTRY__TRY(gantry__onnx_set(steps->call, steps->carried_count + i, steps->outputs[i]));
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_loop(gantry__onnx_call_t *call) {
    const size_t carried = call->input_count > 2 ? call->input_count - 2 : 0;
    gantry__onnx_steps_t steps = {.call = call, .is_loop = true, .carried_count = carried};
    GANTRY__TRY(find_body(&steps, carried + 2, carried + 1));
    GANTRY__TRY(reserve_steps(&steps, 2));
    const gantry_tensor_t *most = gantry__onnx_input(call, 0);
    steps.count = INT64_MAX;
    if (most && gantry__onnx_is_known(call, most)) {
        GANTRY__TRY(gantry__onnx_get_int(call, 0, "M", 0, &steps.count));
        if (steps.count < 0) steps.count = 0;
    } else if (most) {
        steps.count = -1;
        steps.most = gantry_cast(call->scope, gantry_reshape(call->scope, most, GANTRY_SCALAR),
                                 GANTRY_INT64);
    }
    if (gantry__onnx_input(call, 1))
        GANTRY__TRY(
            gantry__onnx_take_condition(call, gantry__onnx_input(call, 1), &steps.condition));
    GANTRY__TRY(gantry__onnx_run_steps(&steps));
    return set_step_results(&steps);
}

/* A list of one number for each of count inputs or outputs; NULL: not given. */
static gantry_status_t read_scan_list(gantry__onnx_call_t *call, const char *name, size_t count,
                                      const int64_t **out_list) {
    size_t length = 0;
    *out_list = gantry__onnx_attr_ints(call, name, &length);
    if (*out_list && length != count)
        return gantry__onnx_invalid(call, "%s has %zu numbers, not %zu", name, length, count);
    return GANTRY_OK;
}

/* Axes from 0 on, and the number of steps, which all inputs have. */
static gantry_status_t measure_scan(gantry__onnx_steps_t *steps) {
    gantry__onnx_call_t *call = steps->call;
    int64_t *axes = gantry__onnx_scratch(call, steps->input_count + 1, sizeof *axes);
    if (!axes) return GANTRY_RESOURCE_EXHAUSTED;
    steps->count = -1;
    for (size_t i = 0; i < steps->input_count; ++i) {
        const gantry_tensor_t *input = steps->inputs[i];
        if (!input) return gantry__onnx_invalid(call, "scan input %zu is missing", i);
        GANTRY__TRY(gantry__onnx_need_shape(call, input));
        const gantry_shape_t *shape = gantry_tensor_shape(input);
        GANTRY__TRY(gantry__onnx_axis(call, steps->input_axes ? steps->input_axes[i] : 0,
                                      (uint32_t)shape->rank, &axes[i]));
        if (steps->count >= 0 && shape->dims[axes[i]] != steps->count)
            return gantry__onnx_invalid(call, "scan input %zu has %lld steps, others %lld", i,
                                        (long long)shape->dims[axes[i]], (long long)steps->count);
        steps->count = shape->dims[axes[i]];
    }
    steps->input_axes = axes;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_scan(gantry__onnx_call_t *call) {
    const int64_t inputs = gantry__onnx_attr_int(call, "num_scan_inputs", 0);
    if (inputs < 1 || (uint64_t)inputs > call->input_count)
        return gantry__onnx_invalid(call, "num_scan_inputs is %lld of %zu inputs",
                                    (long long)inputs, call->input_count);
    gantry__onnx_steps_t steps = {.call = call, .input_count = (size_t)inputs};
    steps.carried_count = call->input_count - steps.input_count;
    GANTRY__TRY(find_body(&steps, call->input_count, steps.carried_count));
    GANTRY__TRY(reserve_steps(&steps, 0));
    steps.inputs = call->inputs + steps.carried_count;
    GANTRY__TRY(read_scan_list(call, "scan_input_axes", steps.input_count, &steps.input_axes));
    GANTRY__TRY(
        read_scan_list(call, "scan_input_directions", steps.input_count, &steps.input_reversed));
    GANTRY__TRY(read_scan_list(call, "scan_output_axes", steps.output_count, &steps.output_axes));
    GANTRY__TRY(
        read_scan_list(call, "scan_output_directions", steps.output_count, &steps.output_reversed));
    GANTRY__TRY(measure_scan(&steps));
    GANTRY__TRY(gantry__onnx_run_steps(&steps));
    return set_step_results(&steps);
}

/* ---- Scan of operator set 8: each element of a batch by itself ---- */

/* Lengths that some elements do not have need a mask, which Scan 8 does not have here. */
static gantry_status_t check_scan_lengths(gantry__onnx_call_t *call, int64_t count) {
    const int64_t *lengths = NULL;
    size_t given = 0;
    GANTRY__TRY(gantry__onnx_get_ints(call, 0, "sequence_lens", &lengths, &given));
    for (size_t i = 0; i < given; ++i)
        if (lengths[i] != count)
            return gantry__onnx_unsupported(call, "sequences of different lengths");
    return GANTRY_OK;
}

/* Steps of one element of the batch; its results go to column `element` of results. */
static gantry_status_t scan_element(const gantry__onnx_steps_t *whole, int64_t element,
                                    int64_t batch, const gantry_tensor_t **results) {
    gantry__onnx_call_t *call = whole->call;
    gantry__onnx_steps_t steps = *whole;
    const size_t inputs = steps.carried_count + steps.input_count;
    const gantry_tensor_t **rows = gantry__onnx_scratch(call, inputs + 1, sizeof *rows);
    if (!rows) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < inputs; ++i)
        rows[i] = gantry__onnx_row_of(call->scope, gantry__onnx_input(call, i + 1), element);
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(reserve_steps(&steps, 1));
    for (size_t i = 0; i < steps.carried_count; ++i) steps.carried[i] = rows[i];
    steps.inputs = rows + steps.carried_count;
    GANTRY__TRY(measure_scan(&steps));
    GANTRY__TRY(check_scan_lengths(call, steps.count));
    GANTRY__TRY(gantry__onnx_run_steps(&steps));
    for (size_t i = 0; i < steps.carried_count; ++i)
        results[(int64_t)i * batch + element] = steps.carried[i];
    for (size_t i = 0; i < steps.output_count; ++i)
        results[(int64_t)(steps.carried_count + i) * batch + element] = steps.outputs[i];
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_scan_batch(gantry__onnx_call_t *call) {
    const int64_t inputs = gantry__onnx_attr_int(call, "num_scan_inputs", 0);
    if (inputs < 1 || (uint64_t)inputs + 1 > call->input_count)
        return gantry__onnx_invalid(call, "num_scan_inputs is %lld of %zu inputs",
                                    (long long)inputs, call->input_count);
    gantry__onnx_steps_t steps = {.call = call, .input_count = (size_t)inputs};
    steps.carried_count = call->input_count - 1 - steps.input_count;
    GANTRY__TRY(find_body(&steps, call->input_count - 1, steps.carried_count));
    GANTRY__TRY(read_scan_list(call, "directions", steps.input_count, &steps.input_reversed));
    for (size_t i = 1; i < call->input_count; ++i) {
        const gantry_tensor_t *x = gantry__onnx_input(call, i);
        if (!x || gantry_tensor_shape(x)->rank == 0)
            return gantry__onnx_invalid(call, "input %zu has no batch", i);
        GANTRY__TRY(gantry__onnx_need_shape(call, x));
    }
    const int64_t batch = gantry_tensor_shape(gantry__onnx_input(call, 1))->dims[0];
    if (batch < 1 || batch > MOST_SCAN_BATCH)
        return gantry__onnx_unsupported(call, "a batch of %lld elements; 1 to %d are there",
                                        (long long)batch, MOST_SCAN_BATCH);
    const size_t count = steps.carried_count + steps.output_count;
    const gantry_tensor_t **results =
        gantry__onnx_scratch(call, count * (size_t)batch + 1, sizeof *results);
    if (!results) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < batch; ++i) GANTRY__TRY(scan_element(&steps, i, batch, results));
    for (size_t i = 0; i < count; ++i)
        if (gantry__onnx_wants(call, i))
            GANTRY__TRY(gantry__onnx_set(
                call, i,
                gantry__onnx_stack(call, results + i * (size_t)batch, (size_t)batch, 0, false)));
    return GANTRY_OK;
}
