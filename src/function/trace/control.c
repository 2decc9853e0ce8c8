/* SPDX-License-Identifier: Apache-2.0 */
/* Branches and loops: checked here, recorded by trace_body.c in the scope of a trace, and run here
 * in any other. */
#include "function/trace/control.h"

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "run/observe.h"
#include "run/trace_hooks.h"
#include "shared/struct_size.h"

typedef const gantry_tensor_t tensor;

#define MOST_BODIES 64

/* ---- checks: block_fail_at puts the op in front of the messages ---- */

gantry__body_name_t gantry__body_name(const gantry__op_def_t *op, uint32_t body) {
    gantry__body_name_t name;
    if (op == &gantry__op_if)
        (void)snprintf(name.text, sizeof name.text, "%s", body == 0 ? "then_body" : "else_body");
    else if (op == &gantry__op_while)
        (void)snprintf(name.text, sizeof name.text, "%s", body == 0 ? "condition" : "body");
    else
        (void)snprintf(name.text, sizeof name.text, "bodies[%u]", body);
    return name;
}

gantry_status_t gantry__body_call(gantry_function_body_fn body, void *user, gantry_scope_t *scope,
                                  tensor *const *inputs, tensor **outputs, uint32_t output_count) {
    for (uint32_t i = 0; i < output_count; ++i) outputs[i] = NULL;
    GANTRY__TRY(gantry__scope_lend(scope));
    {
        GANTRY__PROGRAM_FP_MODE(program);
        body(scope, inputs, outputs, user);
    }
    gantry_scope_take_back(scope);
    return scope->status == GANTRY_OK
               ? GANTRY_OK
               : gantry__fail(scope->status, "%s", gantry_scope_message(scope));
}

gantry_status_t gantry__body_lacks_output(const gantry_scope_t *scope, const char *body,
                                          uint32_t output, uint32_t failures) {
    GANTRY__TRY(gantry__scope_ignored(scope));
    char cause[GANTRY__MESSAGE_BYTES] = "";
    if (gantry__failures() != failures)
        (void)snprintf(cause, sizeof cause, "; a call in it failed: %s", gantry__message());
    return gantry__refuse("%s does not set output %u; a tensor of its scope is accepted%s", body,
                          output, cause);
}

gantry_status_t gantry__block_run_body(const gantry__block_call_t *call, uint32_t body,
                                       gantry_scope_t *scope, tensor *const *inputs,
                                       tensor **outputs, uint32_t output_count) {
    const uint32_t failures = gantry__failures();
    GANTRY__TRY(
        gantry__body_call(call->bodies[body], call->user, scope, inputs, outputs, output_count));
    for (uint32_t i = 0; i < output_count; ++i) {
        if (!outputs[i])
            return gantry__body_lacks_output(scope, gantry__body_name(call->op, body).text, i,
                                             failures);
        if (outputs[i]->runtime != scope->runtime)
            return gantry__refuse(
                "%s sets output %u to a tensor of another runtime; a tensor of its scope is accepted",
                gantry__body_name(call->op, body).text, i);
        if (outputs[i]->is_symbolic)
            GANTRY__TRY(gantry__trace_check_input(scope, outputs[i], call->op->name, i));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__block_check_condition(tensor *output) {
    if (output->dtype == GANTRY_BOOL && output->elements == 1) return GANTRY_OK;
    char shape[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(&output->shape, shape, sizeof shape);
    return gantry__refuse("the condition is %s%s; a bool of one element is accepted",
                          gantry_dtype_name(output->dtype), shape);
}

gantry_status_t gantry__block_check_output(const gantry__block_call_t *call, uint32_t body,
                                           uint32_t output, tensor *given, gantry_dtype_t dtype,
                                           const gantry_shape_t *shape) {
    if (given->dtype == dtype && gantry_shape_equal(&given->shape, shape)) return GANTRY_OK;
    char got[GANTRY_MAX_RANK * 21 + 3], accepted[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(&given->shape, got, sizeof got);
    (void)gantry_shape_format(shape, accepted, sizeof accepted);
    return gantry__refuse(
        "%s sets output %u to %s%s; %s%s is accepted, as %s%s",
        gantry__body_name(call->op, body).text, output, gantry_dtype_name(given->dtype), got,
        gantry_dtype_name(dtype), accepted,
        call->selector ? gantry__body_name(call->op, 0).text : "the loop's variable",
        call->selector ? " sets it" : " has");
}

static gantry_status_t check_selector(const gantry_scope_t *scope, const gantry__block_call_t *call,
                                      gantry_dtype_t dtype) {
    tensor *given = call->selector;
    if (!given || given->runtime != scope->runtime)
        return gantry__refuse("the %s is %s; a tensor of the scope's runtime is accepted",
                              dtype == GANTRY_BOOL ? "predicate" : "index",
                              given ? "of another runtime" : "NULL");
    if (given->is_symbolic) GANTRY__TRY(gantry__trace_check_input(scope, given, call->op->name, 0));
    if (given->dtype == dtype && given->elements == 1) return GANTRY_OK;
    return gantry__refuse("the %s has type %s and %lld elements; a %s of one element is accepted",
                          dtype == GANTRY_BOOL ? "predicate" : "index",
                          gantry_dtype_name(given->dtype), (long long)given->elements,
                          gantry_dtype_name(dtype));
}

static gantry_status_t check_lists(const gantry__block_call_t *call) {
    if (call->input_count > GANTRY_MAX_FUNCTION_VALUES ||
        call->output_count > GANTRY_MAX_FUNCTION_VALUES)
        return gantry__refuse("%u inputs and %u outputs; at most %d of each are accepted",
                              call->input_count, call->output_count, GANTRY_MAX_FUNCTION_VALUES);
    if ((!call->inputs && call->input_count > 0) || (!call->outputs && call->output_count > 0))
        return gantry__refuse("the array of %s is NULL", call->inputs ? "outputs" : "inputs");
    if (!call->bodies)
        return gantry__refuse("the array of bodies is NULL; 1 to %d functions are accepted",
                              MOST_BODIES);
    if (call->body_count == 0 || call->body_count > MOST_BODIES)
        return gantry__refuse("%u bodies; 1 to %d are accepted", call->body_count, MOST_BODIES);
    for (uint32_t i = 0; i < call->body_count; ++i) {
        if (!call->bodies[i])
            return gantry__refuse("%s is NULL; a function is accepted",
                                  gantry__body_name(call->op, i).text);
    }
    return GANTRY_OK;
}

static gantry_status_t control_check_inputs(const gantry_scope_t *scope,
                                            const gantry__block_call_t *call) {
    for (uint32_t i = 0; i < call->input_count; ++i) {
        tensor *input = call->inputs[i];
        if (!input || input->runtime != scope->runtime)
            return gantry__refuse("input %u is %s; a tensor of the scope's runtime is accepted", i,
                                  input ? "of another runtime" : "NULL");
        if (input->is_symbolic)
            GANTRY__TRY(gantry__trace_check_input(scope, input, call->op->name, i));
    }
    return GANTRY_OK;
}

/* ---- running at once ---- */

/* A reference of the caller's own to each. */
static void keep_all(tensor *const *tensors, uint32_t count, gantry_tensor_t **out_kept) {
    for (uint32_t i = 0; i < count; ++i) out_kept[i] = gantry_tensor_retain(tensors[i]);
}

static void release_all(gantry_tensor_t **tensors, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) gantry_tensor_release(tensors[i]);
}

/* Lists of tensors are heap memory: bodies run inside each other, on one stack. */
static void *make_list(const gantry_scope_t *scope, size_t count) {
    return gantry__heap_zalloc(&scope->runtime->heap, (count + 1) * sizeof(gantry_tensor_t *));
}

static void free_list(const gantry_scope_t *scope, void *list, size_t count) {
    gantry__heap_free(&scope->runtime->heap, list, (count + 1) * sizeof(gantry_tensor_t *));
}

/* Runs a body in a scope of its own. The caller owns the references in out_results. */
static gantry_status_t run_body_apart(gantry_scope_t *scope, const gantry__block_call_t *call,
                                      uint32_t body, tensor *const *inputs, uint32_t output_count,
                                      gantry_tensor_t **out_results) {
    tensor **results = (tensor **)out_results;
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    if (!inner) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status =
        gantry__block_run_body(call, body, inner, inputs, results, output_count);
    if (status == GANTRY_OK) keep_all(results, output_count, out_results);
    return gantry__scope_end_body(inner, status);
}

/* An object of the scope's own over each result. */
static gantry_status_t hand_over(gantry_scope_t *scope, const gantry__block_call_t *call,
                                 gantry_tensor_t *const *results) {
    for (uint32_t i = 0; i < call->output_count; ++i) {
        gantry_tensor_t *own;
        GANTRY__TRY(gantry__tensor_alias(NULL, results[i], &results[i]->shape, &own));
        gantry__scope_adopt(scope, own);
        call->outputs[i] = own;
        GANTRY__TRY(gantry__tensor_inherit_faults(own, results[i]));
        if (scope->observer) GANTRY__TRY(gantry__observe_alias(scope, results[i], own));
    }
    return GANTRY_OK;
}

static gantry_status_t read_selector(const gantry__block_call_t *call, uint32_t *out_body) {
    if (call->selector->dtype == GANTRY_BOOL) {
        unsigned char is_true;
        GANTRY__TRY(gantry_tensor_read(call->selector, &is_true, sizeof is_true));
        *out_body = is_true ? 0 : 1;
        return GANTRY_OK;
    }
    int32_t index;
    GANTRY__TRY(gantry_tensor_read(call->selector, &index, sizeof index));
    *out_body =
        index >= 0 && (uint32_t)index < call->body_count ? (uint32_t)index : call->body_count - 1;
    return GANTRY_OK;
}

static gantry_status_t control_run_branch(gantry_scope_t *scope, const gantry__block_call_t *call) {
    uint32_t body;
    GANTRY__TRY(read_selector(call, &body));
    gantry_tensor_t **results = make_list(scope, call->output_count);
    if (!results) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status =
        run_body_apart(scope, call, body, call->inputs, call->output_count, results);
    if (status == GANTRY_OK) {
        status = hand_over(scope, call, results);
        release_all(results, call->output_count);
    }
    free_list(scope, results, call->output_count);
    return status;
}

static gantry_status_t control_ask_condition(gantry_scope_t *scope,
                                             const gantry__block_call_t *call,
                                             gantry_tensor_t *const *values,
                                             unsigned char *out_goes_on) {
    gantry_tensor_t *answer;
    GANTRY__TRY(run_body_apart(scope, call, 0, (tensor *const *)values, 1, &answer));
    gantry_status_t status = gantry__block_check_condition(answer);
    if (status == GANTRY_OK) status = gantry_tensor_read(answer, out_goes_on, 1);
    gantry_tensor_release(answer);
    return status;
}

/* The values become those of the next step; next: room for as many. */
static gantry_status_t control_run_step(gantry_scope_t *scope, const gantry__block_call_t *call,
                                        gantry_tensor_t **values, gantry_tensor_t **next) {
    const uint32_t count = call->input_count;
    GANTRY__TRY(run_body_apart(scope, call, 1, (tensor *const *)values, count, next));
    gantry_status_t status = GANTRY_OK;
    for (uint32_t i = 0; i < count && status == GANTRY_OK; ++i)
        status =
            gantry__block_check_output(call, 1, i, next[i], values[i]->dtype, &values[i]->shape);
    if (status != GANTRY_OK) {
        release_all(next, count);
        return status;
    }
    release_all(values, count);
    memcpy(values, next, count * sizeof *values);
    return GANTRY_OK;
}

static gantry_status_t control_run_steps(gantry_scope_t *scope, const gantry__block_call_t *call,
                                         gantry_tensor_t **values, gantry_tensor_t **next) {
    gantry_status_t status;
    for (uint64_t steps = 0;; ++steps) {
        unsigned char goes_on = 0;
        status = control_ask_condition(scope, call, values, &goes_on);
        if (status != GANTRY_OK || !goes_on) break;
        if (call->most_steps > 0 && steps == call->most_steps) {
            status = gantry__fail(GANTRY_OUT_OF_RANGE, "the loop takes more than most_steps, %llu",
                                  (unsigned long long)call->most_steps);
            break;
        }
        status = control_run_step(scope, call, values, next);
        if (status != GANTRY_OK) break;
    }
    return status;
}

static gantry_status_t control_run_loop(gantry_scope_t *scope, const gantry__block_call_t *call) {
    const uint32_t count = call->input_count;
    gantry_tensor_t **values = make_list(scope, 2 * (size_t)count);
    if (!values) return GANTRY_RESOURCE_EXHAUSTED;
    keep_all(call->inputs, count, values);
    gantry_status_t status = control_run_steps(scope, call, values, values + count);
    if (status == GANTRY_OK) status = hand_over(scope, call, values);
    release_all(values, count);
    free_list(scope, values, 2 * (size_t)count);
    return status;
}

/* ---- the public calls ---- */

/* Reports the block to observers; inputs: with the selector of a branch. */
static GANTRY__COLD gantry_status_t observe_block(gantry_scope_t *scope,
                                                  const gantry__block_call_t *call,
                                                  tensor *const *inputs, size_t count) {
    const gantry__graph_t *graph = scope->trace->graph; /* the block is its last node */
    return gantry__observe(
        scope, &(gantry_observation_t){
                   .struct_size = sizeof(gantry_observation_t),
                   .op = call->op->name,
                   .inputs = inputs,
                   .input_count = count,
                   .outputs = call->outputs,
                   .output_count = call->output_count,
                   .bodies = call->bodies,
                   .body_count = call->body_count,
                   .user = call->user,
                   .most_steps = call->most_steps,
                   .effect = gantry__node_effect(&graph->nodes[graph->node_count - 1])});
}

/* Outputs may be written over the inputs, which observers still see. */
static GANTRY__COLD gantry_status_t record_observed(gantry_scope_t *scope,
                                                    const gantry__block_call_t *call) {
    tensor **inputs = make_list(scope, (size_t)call->input_count + 1);
    size_t count = 0;
    if (!inputs) return GANTRY_RESOURCE_EXHAUSTED;
    if (call->selector) inputs[count++] = call->selector;
    for (uint32_t i = 0; i < call->input_count; ++i) inputs[count++] = call->inputs[i];
    gantry_status_t status = gantry__block_record(scope, call);
    if (status == GANTRY_OK) status = observe_block(scope, call, inputs, count);
    free_list(scope, (void *)inputs, (size_t)call->input_count + 1);
    return status;
}

static gantry_status_t block_do(gantry_scope_t *scope, const gantry__block_call_t *call,
                                gantry_dtype_t selector) {
    GANTRY__TRY(check_lists(call));
    if (selector != GANTRY_DTYPE_NONE) GANTRY__TRY(check_selector(scope, call, selector));
    GANTRY__TRY(control_check_inputs(scope, call));
    if (scope->trace)
        return scope->observer ? record_observed(scope, call) : gantry__block_record(scope, call);
    return call->selector ? control_run_branch(scope, call) : control_run_loop(scope, call);
}

/* A program may go on with the outputs: they are NULL. */
static gantry_status_t block_fail(gantry_scope_t *scope, tensor **outputs, size_t count,
                                  gantry_status_t status) {
    for (size_t i = 0; outputs && i < count; ++i) outputs[i] = NULL;
    return scope ? gantry__scope_fail(scope, status) : status;
}

/* A name that the program gave is that of the block. */
static gantry_status_t block_fail_at(const gantry_scope_t *scope, const gantry__block_call_t *call,
                                     gantry_status_t status) {
    if (!scope->trace || scope->composed || !*scope->next_name)
        return gantry__fail_prefix(status, "%s: ", call->op->name);
    return gantry__fail_prefix(status, "node %s (%s): ", scope->next_name, call->op->name);
}

static gantry_status_t block_call(gantry_scope_t *scope, const gantry__block_call_t *call,
                                  gantry_dtype_t selector) {
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return block_fail(scope, call->outputs, call->output_count, status);
    status = block_do(scope, call, selector);
    if (status == GANTRY_OK) return GANTRY_OK;
    status = block_fail_at(scope, call, status);
    return block_fail(scope, call->outputs, call->output_count, status);
}

static uint32_t as_count(size_t count) { return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX; }

gantry_status_t gantry_cond(gantry_scope_t *scope, tensor *predicate,
                            gantry_function_body_fn then_body, gantry_function_body_fn else_body,
                            void *user, tensor *const *inputs, size_t input_count, tensor **outputs,
                            size_t output_count) {
    GANTRY__OWN_FP_MODE(fp);
    const gantry_function_body_fn bodies[] = {then_body, else_body};
    const gantry__block_call_t call = {.op = &gantry__op_if,
                                       .bodies = bodies,
                                       .body_count = 2,
                                       .user = user,
                                       .selector = predicate,
                                       .inputs = inputs,
                                       .outputs = outputs,
                                       .input_count = as_count(input_count),
                                       .output_count = as_count(output_count)};
    return block_call(scope, &call, GANTRY_BOOL);
}

gantry_status_t gantry_case(gantry_scope_t *scope, tensor *index,
                            const gantry_function_body_fn *bodies, size_t body_count, void *user,
                            tensor *const *inputs, size_t input_count, tensor **outputs,
                            size_t output_count) {
    GANTRY__OWN_FP_MODE(fp);
    const gantry__block_call_t call = {.op = &gantry__op_case,
                                       .bodies = bodies,
                                       .body_count = as_count(body_count),
                                       .user = user,
                                       .selector = index,
                                       .inputs = inputs,
                                       .outputs = outputs,
                                       .input_count = as_count(input_count),
                                       .output_count = as_count(output_count)};
    return block_call(scope, &call, GANTRY_INT32);
}

gantry_status_t gantry_while(gantry_scope_t *scope, gantry_function_body_fn condition,
                             gantry_function_body_fn body, void *user, tensor *const *values,
                             size_t count, const gantry_while_options_t *options,
                             tensor **outputs) {
    GANTRY__OWN_FP_MODE(fp);
    const gantry_function_body_fn bodies[] = {condition, body};
    gantry_while_options_t chosen;
    gantry_status_t status = gantry__scope_check(scope);
    if (status == GANTRY_OK)
        status = gantry__struct_read(options, 0, &chosen, sizeof chosen, "gantry_while: options");
    if (status != GANTRY_OK) return block_fail(scope, outputs, count, status);
    const gantry__block_call_t call = {.op = &gantry__op_while,
                                       .bodies = bodies,
                                       .body_count = 2,
                                       .user = user,
                                       .inputs = values,
                                       .outputs = outputs,
                                       .input_count = as_count(count),
                                       .output_count = as_count(count),
                                       .most_steps = chosen.most_steps};
    return block_call(scope, &call, GANTRY_DTYPE_NONE);
}
