/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions: by a frame of a specialization, or by the body itself, where a function runs
 * eagerly or its caller is traced. A trace runs the body in the same way. */
#include <stdio.h>
#include <string.h>

#include "base/event_clock.h"
#include "base/fp_mode.h"
#include "device/fault.h"
#include "function/call/function.h"
#include "function/trace/control.h"
#include "run/observe.h"
#include "run/trace_hooks.h"
#include "shared/struct_size.h"

typedef const gantry_tensor_t tensor;

/* ---- the body ---- */

static gantry_status_t check_body_output(const gantry_function_t *function,
                                         const gantry_scope_t *scope, tensor *output, uint32_t i,
                                         uint32_t failures) {
    if (!output) return gantry__body_lacks_output(scope, "the body", i, failures);
    if (output->runtime != function->runtime)
        return gantry__refuse("the body sets output %u to a tensor of another runtime", i);
    if (!output->is_symbolic ||
        gantry__trace_check_input(scope, output, function->name, i) == GANTRY_OK)
        return GANTRY_OK;
    return gantry__refuse(
        "the body sets output %u to the symbolic tensor %s of another function; an input, or a tensor that the body makes, is accepted",
        i, (const char *)output->inline_data);
}

gantry_status_t gantry__function_run_body(const gantry_function_t *function, gantry_scope_t *scope,
                                          tensor *const *inputs, tensor **outputs) {
    const uint32_t failures = gantry__failures();
    GANTRY__TRY(gantry__function_call_body(function, scope, inputs, outputs));
    for (uint32_t i = 0; i < function->output_count; ++i)
        GANTRY__TRY(check_body_output(function, scope, outputs[i], i, failures));
    return GANTRY_OK;
}

/* ---- calling ---- */

gantry_status_t gantry__function_fail_fit(const gantry_function_t *function, uint32_t i,
                                          tensor *argument) {
    const gantry_input_spec_t *input = &function->inputs[i];
    char given[GANTRY_MAX_RANK * 21 + 3], accepted[GANTRY_MAX_RANK * 21 + 3];
    gantry_shape_t any = input->shape;
    for (int32_t k = 0; k < any.rank; ++k) any.dims[k] = any.dims[k] < 0 ? -1 : any.dims[k];
    (void)gantry_shape_format(&argument->shape, given, sizeof given);
    (void)gantry_shape_format(&any, accepted, sizeof accepted);
    return gantry__refuse("function %s: input %u is %s%s; its signature accepts %s%s",
                          function->name, i, gantry_dtype_name(argument->dtype), given,
                          gantry_dtype_name(input->dtype), accepted);
}

static gantry_status_t check_argument(const gantry_function_t *function,
                                      const gantry_scope_t *scope, tensor *argument, uint32_t i) {
    if (!argument || argument->runtime != function->runtime)
        return gantry__refuse("function %s: input %u is %s; a tensor of its runtime is accepted",
                              function->name, i, argument ? "of another runtime" : "NULL");
    if (argument->is_symbolic &&
        gantry__trace_check_input(scope, argument, function->name, i) != GANTRY_OK)
        return gantry__refuse(
            "function %s: input %u is the symbolic tensor %s of another function; a tensor with elements, or one of the function that is traced in this scope, is accepted",
            function->name, i, (const char *)argument->inline_data);
    return gantry__function_check_fit(function, i, argument);
}

gantry_status_t gantry__function_check_call(const gantry_scope_t *scope,
                                            const gantry_function_t *function,
                                            tensor *const *inputs, size_t input_count,
                                            size_t output_count) {
    if (function->runtime != scope->runtime)
        return gantry__refuse("function %s belongs to another runtime than the scope",
                              function->name);
    if (input_count != function->input_count || output_count != function->output_count)
        return gantry__refuse(
            "function %s is called with %zu inputs and %zu outputs; %u and %u are accepted",
            function->name, input_count, output_count, function->input_count,
            function->output_count);
    if (!inputs && input_count > 0)
        return gantry__refuse(
            "function %s: the array of inputs is NULL; an array of %zu is accepted", function->name,
            input_count);
    for (uint32_t i = 0; i < function->input_count; ++i)
        GANTRY__TRY(check_argument(function, scope, inputs[i], i));
    return GANTRY_OK;
}

static gantry_status_t function_check(const gantry_scope_t *scope,
                                      const gantry_function_t *function, tensor *const *inputs,
                                      size_t input_count, tensor *const *outputs,
                                      size_t output_count) {
    if (!function)
        return gantry__refuse(
            "gantry_function_call: the function is NULL; one from gantry_function_trace is accepted");
    GANTRY__TRY(gantry__function_check_call(scope, function, inputs, input_count, output_count));
    if (outputs || output_count == 0) return GANTRY_OK;
    return gantry__refuse("function %s: the array of outputs is NULL; an array of %zu is accepted",
                          function->name, output_count);
}

/* An object of the scope's own over the result's memory: the body may return an input. */
static gantry_status_t adopt_result(gantry_scope_t *scope, tensor *result, tensor **out_tensor) {
    gantry_tensor_t *own;
    GANTRY__TRY(gantry__tensor_alias(NULL, result, &result->shape, &own));
    gantry__scope_adopt(scope, own);
    *out_tensor = own;
    GANTRY__TRY(gantry__tensor_inherit_faults(own, result));
    return scope->observer ? gantry__observe_alias(scope, result, own) : GANTRY_OK;
}

/* The place of the ops of a body that runs eagerly. */
typedef struct inline_place_t {
    gantry__fault_place_t place;
    const gantry__fault_place_t *outer;
    const char *function;
} inline_place_t;

static void print_inline_place(const gantry__fault_place_t *place, char *out) {
    const inline_place_t *at = (const inline_place_t *)place;
    *out = '\0';
    if (at->outer) at->outer->print(at->outer, out);
    const size_t used = strlen(out);
    (void)snprintf(out + used, GANTRY__FAULT_PLACE_BYTES - used, "function %s: ", at->function);
}

/* Runs the body in a scope inside the caller's: eagerly, or as a part of the trace there. results:
 * room for the body's outputs, because outputs may be inputs. */
static gantry_status_t call_with(gantry_scope_t *scope, const gantry_function_t *function,
                                 tensor *const *inputs, tensor **results, tensor **outputs) {
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    if (!inner) return GANTRY_RESOURCE_EXHAUSTED;
    const inline_place_t place = {{print_inline_place, false}, scope->place, function->name};
    inner->place = &place.place;
    inner->order.batch_invariant =
        gantry__function_keeps_rows(function, scope->order.batch_invariant);
    inner->order.any = function->runtime->switches.any_order;
    gantry_status_t status = gantry__function_run_body(function, inner, inputs, results);
    for (uint32_t i = 0; status == GANTRY_OK && i < function->output_count; ++i)
        status = adopt_result(scope, results[i], &outputs[i]);
    if (status != GANTRY_OK) status = gantry__function_fail(function, status);
    return gantry__scope_end_body(inner, status);
}

/* Functions call each other: not on the stack. */
static gantry_status_t call_inline(gantry_scope_t *scope, const gantry_function_t *function,
                                   tensor *const *inputs, tensor **outputs) {
    const gantry__heap_t *heap = &function->runtime->heap;
    const size_t bytes = ((size_t)function->output_count + 1) * sizeof *outputs;
    tensor **results = gantry__heap_zalloc(heap, bytes);
    if (!results) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = call_with(scope, function, inputs, results, outputs);
    gantry__heap_free(heap, (void *)results, bytes);
    return status;
}

static gantry_status_t take_frame(gantry_function_t *function,
                                  gantry__specialization_t *specialization,
                                  gantry__frame_t **out_frame) {
    gantry__mutex_lock(&function->lock);
    *out_frame = specialization->idle;
    if (*out_frame) specialization->idle = (*out_frame)->next;
    gantry__mutex_unlock(&function->lock);
    return *out_frame ? GANTRY_OK
                      : gantry__frame_create(&specialization->schedule, function->name, out_frame);
}

static void return_frame(gantry_function_t *function, gantry__specialization_t *specialization,
                         gantry__frame_t *frame) {
    gantry__mutex_lock(&function->lock);
    frame->next = specialization->idle;
    specialization->idle = frame;
    gantry__mutex_unlock(&function->lock);
}

/* Hands the scope what the frame made; outputs may be the array of inputs. */
static gantry_status_t hand_out_results(gantry_scope_t *scope, gantry_function_t *function,
                                        const gantry__specialization_t *specialization,
                                        tensor *const *inputs, gantry_tensor_t *const *made,
                                        tensor **outputs) {
    gantry_status_t status = GANTRY_OK;
    /* The frame has set them. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
    for (uint32_t i = 0; i < function->output_count; ++i) gantry__scope_adopt(scope, made[i]);
    if (scope->observer)
        status = gantry__observe(
            scope, &(gantry_observation_t){
                       .struct_size = sizeof(gantry_observation_t),
                       .op = "PartitionedCall",
                       .inputs = inputs,
                       .input_count = function->input_count,
                       .outputs = (tensor *const *)made,
                       .output_count = function->output_count,
                       .function = function,
                       .effect = gantry__graph_effect(&specialization->graph),
                       .input_shapes = specialization->shapes,
                       .output_shapes = specialization->shapes + function->input_count});
    for (uint32_t i = 0; i < function->output_count; ++i) outputs[i] = made[i];
    return status;
}

static gantry_status_t find_specialization(const gantry_scope_t *scope, gantry_function_t *function,
                                           tensor *const *inputs,
                                           gantry__specialization_t **out_specialization) {
    gantry__call_request_t request;
    GANTRY__TRY(gantry__function_request(scope, function, &request));
    return gantry__function_find(function, &request, inputs, out_specialization);
}

/* Ends the caller's reference to the specialization. */
static gantry_status_t call_specialization(gantry_scope_t *scope, gantry_function_t *function,
                                           gantry__specialization_t *specialization,
                                           tensor *const *inputs, tensor **outputs) {
    gantry__frame_t *frame;
    gantry_status_t status = take_frame(function, specialization, &frame);
    if (status == GANTRY_OK) {
        const uint64_t begun_ns =
            gantry__device_timeline(&function->runtime->devices) ? gantry__event_ns() : 0;
        status = gantry__frame_run(frame, scope, inputs, frame->block_results);
        if (begun_ns)
            gantry__host_times_function(&function->runtime->devices, function->name, begun_ns);
        /* a function may be named inside: an earlier call made a bad argument */
        if (status != GANTRY_OK && !gantry__frame_is_placed(frame))
            (void)gantry__fail_prefix(status, "function %s: ", function->name);
        if (status == GANTRY_OK)
            status = hand_out_results(scope, function, specialization, inputs, frame->block_results,
                                      outputs);
        return_frame(function, specialization, frame);
    } else {
        (void)gantry__function_fail(function, status);
    }
    gantry__function_leave(function, specialization);
    return status;
}

/* The body may know the scope of the call by other ways, and may not end it either. */
gantry_status_t gantry__function_run(gantry_scope_t *scope, gantry_function_t *function,
                                     gantry__specialization_t *specialization,
                                     tensor *const *inputs, tensor **outputs) {
    const bool is_inline = scope->trace || function->runs_eagerly;
    gantry_status_t status = GANTRY_OK;
    ++scope->loans;
    if (is_inline)
        status = call_inline(scope, function, inputs, outputs);
    else if (!specialization)
        status = find_specialization(scope, function, inputs, &specialization);
    if (status == GANTRY_OK && !is_inline)
        status = call_specialization(scope, function, specialization, inputs, outputs);
    gantry__scope_end_loan(scope);
    if (status != GANTRY_OK || scope->status == GANTRY_OK) return status;
    (void)gantry__fail(scope->status, "%s", gantry_scope_message(scope));
    return gantry__function_fail(function, scope->status);
}

gantry_status_t gantry_function_call(gantry_scope_t *scope, gantry_function_t *function,
                                     tensor *const *inputs, size_t input_count, tensor **outputs,
                                     size_t output_count) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t status = gantry__scope_check(scope);
    if (status == GANTRY_OK)
        status = function_check(scope, function, inputs, input_count, outputs, output_count);
    if (status == GANTRY_OK) {
        atomic_fetch_add(&function->references, 1); /* a release meanwhile ends nothing */
        status = gantry__function_run(scope, function, NULL, inputs, outputs);
        /* an op that failed in the scope, for a variable, did not know its node */
        if (status != GANTRY_OK) gantry_scope_clear(scope);
        gantry_function_release(function);
    }
    if (status == GANTRY_OK) return GANTRY_OK;
    for (size_t i = 0; outputs && i < output_count; ++i) outputs[i] = NULL;
    return scope ? gantry__scope_fail(scope, status) : status;
}
