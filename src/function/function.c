/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: made, called, released. Traces are in specializations.c. */
#include "function/function.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/fp_mode.h"
#include "base/shape_limit.h"
#include "base/struct_size.h"
#include "device/fault.h"
#include "function/trace.h"
#include "run/observe.h"
#include "run/trace_hooks.h"

/* ---- making ---- */

static gantry_status_t check_input(const gantry_input_spec_t *input, size_t i) {
    if (gantry_dtype_size(input->dtype) == 0)
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_function_trace: input %zu has type %d; a gantry_dtype_t is accepted", i,
            (int)input->dtype);
    gantry_shape_t least = input->shape; /* that the input may have */
    bool is_possible = least.rank >= 0 && least.rank <= GANTRY_MAX_RANK;
    for (int32_t k = 0; is_possible && k < least.rank; ++k) {
        is_possible = least.dims[k] >= GANTRY_OPEN_SIZE;
        if (least.dims[k] < 0) least.dims[k] = 0;
    }
    if (is_possible && gantry_shape_elements(&least) >= 0) return GANTRY_OK;
    return gantry__fail(
        GANTRY_INVALID_ARGUMENT,
        "gantry_function_trace: input %zu has a shape of rank %d that is not possible; rank 0 to %d, sizes of 0 or more, -1 or GANTRY_OPEN_SIZE for any, and at most " GANTRY__MOST_ELEMENTS_TEXT
        " elements are accepted",
        i, input->shape.rank, GANTRY_MAX_RANK);
}

static gantry_status_t check_signature(gantry_function_body_fn body,
                                       const gantry_input_spec_t *inputs, size_t input_count,
                                       size_t output_count) {
    if (!body)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "gantry_function_trace: body is NULL; a function is accepted");
    if (!inputs && input_count > 0)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "gantry_function_trace: inputs is NULL; an array of %zu is accepted",
                            input_count);
    if (input_count > GANTRY_MAX_FUNCTION_VALUES || output_count > GANTRY_MAX_FUNCTION_VALUES)
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_function_trace: %zu inputs and %zu outputs; at most %d of each are accepted",
            input_count, output_count, GANTRY_MAX_FUNCTION_VALUES);
    for (size_t i = 0; i < input_count; ++i) GANTRY__TRY(check_input(&inputs[i], i));
    return GANTRY_OK;
}

static gantry_status_t check_passes(uint32_t off) {
    if (!(off & ~(uint32_t)GANTRY_PASS_ALL)) return GANTRY_OK;
    return gantry__fail(
        GANTRY_INVALID_ARGUMENT,
        "gantry_function_trace: passes_off is 0x%x; bits of GANTRY_PASS_ALL, 0x%x, are accepted",
        off, (unsigned)GANTRY_PASS_ALL);
}

static gantry_status_t check_device_graphs(gantry_choice_t choice) {
    if (choice == GANTRY_DEFAULT || choice == GANTRY_OFF || choice == GANTRY_ON) return GANTRY_OK;
    return gantry__fail(
        GANTRY_INVALID_ARGUMENT,
        "gantry_function_trace: device_graphs is %d; GANTRY_DEFAULT, GANTRY_OFF and GANTRY_ON are accepted",
        (int)choice);
}

static gantry_status_t check_trimmed_with(const gantry_runtime_t *runtime,
                                          const gantry_function_t *function) {
    if (!function || function->runtime == runtime) return GANTRY_OK;
    return gantry__fail(
        GANTRY_INVALID_ARGUMENT,
        "gantry_function_trace: trimmed_with is function %s of another runtime; one of this runtime is accepted",
        function->name);
}

/* The texts of names become the runtime's. */
static gantry_status_t copy_inputs(gantry_function_t *function, const gantry_input_spec_t *inputs) {
    const size_t count = function->input_count;
    function->inputs =
        gantry__heap_zalloc(&function->runtime->heap, (count + 1) * sizeof *function->inputs);
    if (!function->inputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) {
        function->inputs[i] = inputs[i];
        function->inputs[i].name = "";
        if (inputs[i].name)
            GANTRY__TRY(
                gantry__runtime_word(function->runtime, inputs[i].name, &function->inputs[i].name));
    }
    return GANTRY_OK;
}

/* The name is written into lines of explanations and logs. */
static gantry_status_t name_function(gantry_function_t *function, const char *given) {
    gantry_runtime_t *runtime = function->runtime;
    char *line = gantry__heap_strdup(&runtime->heap, given && *given ? given : "function");
    if (!line) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__ascii_one_line(line);
    gantry_status_t status = gantry__runtime_word(runtime, line, &function->name);
    gantry__heap_free_text(&runtime->heap, line);
    return status;
}

static void function_destroy(gantry_function_t *function) {
    gantry_runtime_t *runtime = function->runtime;
    gantry__keepers_remove(&runtime->devices.keepers, &function->keeper);
    while (function->attached) {
        gantry__attached_t *attached = function->attached;
        function->attached = attached->next;
        {
            GANTRY__PROGRAM_FP_MODE(program);
            attached->release(attached->data);
        }
        gantry__heap_free(&runtime->heap, attached, sizeof *attached);
    }
    while (function->specialization) {
        gantry__specialization_t *specialization = function->specialization;
        function->specialization = specialization->next;
        gantry__function_leave(function, specialization);
    }
    gantry__heap_free(&runtime->heap, function->inputs,
                      (function->input_count + 1) * sizeof *function->inputs);
    gantry__mutex_deinit(&function->tracing);
    gantry__mutex_deinit(&function->lock);
    gantry__heap_free(&runtime->heap, function, sizeof *function);
    gantry__runtime_drop(runtime, 1);
}

/* Makes a function; with: the function that it is trimmed with; NULL: none. */
static gantry_status_t function_make(gantry_runtime_t *runtime, const gantry_function_t *with,
                                     size_t input_count, size_t output_count,
                                     gantry_function_t **out_function) {
    gantry_function_t *function = gantry__heap_zalloc(&runtime->heap, sizeof *function);
    if (!function) return GANTRY_RESOURCE_EXHAUSTED;
    if (gantry__mutex_init(&function->tracing) != 0) {
        gantry__heap_free(&runtime->heap, function, sizeof *function);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    if (gantry__mutex_init(&function->lock) != 0) {
        gantry__mutex_deinit(&function->tracing);
        gantry__heap_free(&runtime->heap, function, sizeof *function);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    atomic_init(&function->references, 1);
    function->runtime = gantry__runtime_retain(runtime, 1);
    function->input_count = (uint32_t)input_count;
    function->output_count = (uint32_t)output_count;
    function->keeper.give_up = gantry__function_give_up;
    gantry__keepers_add(&runtime->devices.keepers, &function->keeper, with ? &with->keeper : NULL);
    *out_function = function;
    return GANTRY_OK;
}

gantry_status_t gantry_function_trace(gantry_runtime_t *runtime, const char *name,
                                      gantry_function_body_fn body, void *user,
                                      const gantry_input_spec_t *inputs, size_t input_count,
                                      size_t output_count, const gantry_function_options_t *options,
                                      gantry_function_t **out_function) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_function_options_t chosen;
    gantry_function_t *function = NULL;
    if (!out_function)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "gantry_function_trace: out_function is NULL; an address is accepted");
    *out_function = NULL;
    GANTRY__TRY(gantry__runtime_check_well(runtime));
    GANTRY__TRY(check_signature(body, inputs, input_count, output_count));
    GANTRY__TRY(
        gantry__struct_read(options, 0, &chosen, sizeof chosen, "gantry_function_trace: options"));
    GANTRY__TRY(check_passes(chosen.passes_off));
    GANTRY__TRY(check_device_graphs(chosen.device_graphs));
    GANTRY__TRY(check_trimmed_with(runtime, chosen.trimmed_with));
    GANTRY__TRY(function_make(runtime, chosen.trimmed_with, input_count, output_count, &function));
    function->body = body;
    function->user = user;
    function->most_traces = chosen.most_traces ? chosen.most_traces : 16;
    function->runs_eagerly = chosen.runs_eagerly;
    function->inter_op_threads = chosen.inter_op_threads;
    function->memory_budget_bytes = chosen.memory_budget_bytes;
    function->passes_off = chosen.passes_off;
    function->is_never_replayed = chosen.device_graphs == GANTRY_OFF;
    gantry_status_t status = name_function(function, name);
    if (status == GANTRY_OK) status = copy_inputs(function, inputs);
    if (status == GANTRY_OK && !function->runs_eagerly && gantry__function_is_known(function))
        status = gantry__function_trace_known(function);
    if (status == GANTRY_OK) {
        *out_function = function;
    } else {
        function_destroy(function);
    }
    return status;
}

gantry_function_t *gantry_function_retain(gantry_function_t *function) {
    if (function) atomic_fetch_add(&function->references, 1);
    return function;
}

void gantry_function_release(gantry_function_t *function) {
    if (!function || !gantry__fork_guard_ask(&function->runtime->fork)) return;
    if (atomic_fetch_sub(&function->references, 1) == 1) function_destroy(function);
}

gantry_status_t gantry_function_trim(gantry_function_t *function, uint64_t *out_bytes) {
    GANTRY__OWN_FP_MODE(fp);
    if (out_bytes) *out_bytes = 0;
    if (!function)
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_function_trim: the function is NULL; one from gantry_function_trace is accepted");
    GANTRY__TRY(gantry__runtime_check(function->runtime));
    const uint64_t bytes =
        gantry__keepers_ask(&function->runtime->devices.keepers, &function->keeper);
    if (out_bytes) *out_bytes = bytes;
    return GANTRY_OK;
}

void *gantry_function_attach(gantry_function_t *function, const void *key, void *data,
                             gantry_release_fn release) {
    if (!function || !key || (data && !release)) return NULL;
    gantry__mutex_lock(&function->lock);
    gantry__attached_t *at = function->attached;
    while (at && at->key != key) at = at->next;
    if (!at && data) {
        at = gantry__heap_zalloc(&function->runtime->heap, sizeof *at);
        if (at) {
            *at = (gantry__attached_t){function->attached, key, data, release};
            function->attached = at;
        }
    }
    void *found = at ? at->data : NULL;
    gantry__mutex_unlock(&function->lock);
    return found;
}

const char *gantry_function_name(const gantry_function_t *function) {
    return function ? function->name : "";
}

gantry_status_t gantry__function_fail(const gantry_function_t *function, gantry_status_t status) {
    char prefix[GANTRY__MESSAGE_BYTES];
    (void)snprintf(prefix, sizeof prefix, "function %s: ", function->name);
    if (strstr(gantry__message(), prefix)) return status;
    return gantry__fail_prefix(status, "%s", prefix);
}

/* ---- the body ---- */

gantry_status_t gantry__body_lacks_output(const char *body, uint32_t output, uint32_t failures) {
    char cause[GANTRY__MESSAGE_BYTES] = "";
    if (gantry__failures() != failures)
        (void)snprintf(cause, sizeof cause, "; a call in it failed: %s", gantry__message());
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "%s does not set output %u; a tensor of its scope is accepted%s", body,
                        output, cause);
}

static gantry_status_t check_body_output(const gantry_function_t *function,
                                         const gantry_scope_t *scope, const gantry_tensor_t *output,
                                         uint32_t i, uint32_t failures) {
    if (!output) {
        GANTRY__TRY(gantry__scope_ignored(scope));
        return gantry__body_lacks_output("the body", i, failures);
    }
    if (output->runtime != function->runtime)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "the body sets output %u to a tensor of another runtime", i);
    if (!output->is_symbolic ||
        gantry__trace_check_input(scope, output, function->name, i) == GANTRY_OK)
        return GANTRY_OK;
    return gantry__fail(
        GANTRY_INVALID_ARGUMENT,
        "the body sets output %u to the symbolic tensor %s of another function; an input, or a tensor that the body makes, is accepted",
        i, (const char *)output->inline_data);
}

gantry_status_t gantry__function_run_body(const gantry_function_t *function, gantry_scope_t *scope,
                                          const gantry_tensor_t *const *inputs,
                                          const gantry_tensor_t **outputs) {
    const uint32_t failures = gantry__failures();
    for (uint32_t i = 0; i < function->output_count; ++i) outputs[i] = NULL;
    GANTRY__TRY(gantry__scope_lend(scope));
    {
        GANTRY__PROGRAM_FP_MODE(program);
        function->body(scope, inputs, outputs, function->user);
    }
    gantry_scope_take_back(scope);
    if (scope->status != GANTRY_OK)
        return gantry__fail(scope->status, "%s", gantry_scope_message(scope));
    for (uint32_t i = 0; i < function->output_count; ++i)
        GANTRY__TRY(check_body_output(function, scope, outputs[i], i, failures));
    return GANTRY_OK;
}

/* ---- calling ---- */

static gantry_status_t check_argument(const gantry_function_t *function,
                                      const gantry_scope_t *scope, const gantry_tensor_t *argument,
                                      uint32_t i) {
    const gantry_input_spec_t *input = &function->inputs[i];
    if (!argument || argument->runtime != function->runtime)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "function %s: input %u is %s; a tensor of its runtime is accepted",
                            function->name, i, argument ? "of another runtime" : "NULL");
    if (argument->is_symbolic &&
        gantry__trace_check_input(scope, argument, function->name, i) != GANTRY_OK)
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "function %s: input %u is the symbolic tensor %s of another function; a tensor with elements, or one of the function that is traced in this scope, is accepted",
            function->name, i, (const char *)argument->inline_data);
    bool fits = argument->dtype == input->dtype && argument->shape.rank == input->shape.rank;
    for (int32_t k = 0; fits && k < input->shape.rank; ++k)
        fits = input->shape.dims[k] < 0 || input->shape.dims[k] == argument->shape.dims[k];
    if (fits) return GANTRY_OK;
    char given[GANTRY_MAX_RANK * 21 + 3], accepted[GANTRY_MAX_RANK * 21 + 3];
    gantry_shape_t any = input->shape;
    for (int32_t k = 0; k < any.rank; ++k) any.dims[k] = any.dims[k] < 0 ? -1 : any.dims[k];
    (void)gantry_shape_format(&argument->shape, given, sizeof given);
    (void)gantry_shape_format(&any, accepted, sizeof accepted);
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "function %s: input %u is %s%s; its signature accepts %s%s", function->name,
                        i, gantry_dtype_name(argument->dtype), given,
                        gantry_dtype_name(input->dtype), accepted);
}

static gantry_status_t function_check_call(const gantry_scope_t *scope,
                                           const gantry_function_t *function,
                                           const gantry_tensor_t *const *inputs, size_t input_count,
                                           const gantry_tensor_t *const *outputs,
                                           size_t output_count) {
    if (!function)
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_function_call: the function is NULL; one from gantry_function_trace is accepted");
    if (function->runtime != scope->runtime)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "function %s belongs to another runtime than the scope",
                            function->name);
    if (input_count != function->input_count || output_count != function->output_count)
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "function %s is called with %zu inputs and %zu outputs; %u and %u are accepted",
            function->name, input_count, output_count, function->input_count,
            function->output_count);
    if ((!inputs && input_count > 0) || (!outputs && output_count > 0))
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "function %s: the array of %s is NULL; an array of %zu is accepted",
                            function->name, inputs ? "outputs" : "inputs",
                            inputs ? output_count : input_count);
    for (uint32_t i = 0; i < function->input_count; ++i)
        GANTRY__TRY(check_argument(function, scope, inputs[i], i));
    return GANTRY_OK;
}

/* An object of the scope's own over the result's memory: the body may return an input. */
static gantry_status_t adopt_result(gantry_scope_t *scope, const gantry_tensor_t *result,
                                    const gantry_tensor_t **out_tensor) {
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
                                 const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **results, const gantry_tensor_t **outputs) {
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    if (!inner) return GANTRY_RESOURCE_EXHAUSTED;
    const inline_place_t place = {{print_inline_place, false}, scope->place, function->name};
    inner->place = &place.place;
    gantry_status_t status = gantry__function_run_body(function, inner, inputs, results);
    for (uint32_t i = 0; status == GANTRY_OK && i < function->output_count; ++i)
        status = adopt_result(scope, results[i], &outputs[i]);
    if (status != GANTRY_OK) status = gantry__function_fail(function, status);
    return gantry__scope_end_body(inner, status);
}

/* Functions call each other: not on the stack. */
static gantry_status_t call_inline(gantry_scope_t *scope, const gantry_function_t *function,
                                   const gantry_tensor_t *const *inputs,
                                   const gantry_tensor_t **outputs) {
    const gantry__heap_t *heap = &function->runtime->heap;
    const size_t bytes = ((size_t)function->output_count + 1) * sizeof *outputs;
    const gantry_tensor_t **results = gantry__heap_zalloc(heap, bytes);
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

static gantry_status_t call_specialization(gantry_scope_t *scope, gantry_function_t *function,
                                           const gantry_tensor_t *const *inputs,
                                           const gantry_tensor_t **outputs) {
    gantry_tensor_t *made[GANTRY_MAX_FUNCTION_VALUES];
    gantry__specialization_t *specialization;
    gantry__frame_t *frame;
    const gantry__wish_t *wish;
    const gantry_device_choice_t choice = {
        .op = "PartitionedCall", .node = function->name, .output_count = function->output_count};
    GANTRY__TRY(gantry__scope_wish(scope, &choice, &wish));
    GANTRY__TRY(gantry__function_find(function, wish, inputs, &specialization));
    gantry_status_t status = take_frame(function, specialization, &frame);
    if (status == GANTRY_OK) {
        const uint64_t begun_ns =
            gantry__device_timeline(&function->runtime->devices) ? gantry__event_ns() : 0;
        status = gantry__frame_run(frame, scope, inputs, made);
        if (begun_ns)
            gantry__host_times_function(&function->runtime->devices, function->name, begun_ns);
        /* a function may be named inside: an earlier call made a bad argument */
        if (status != GANTRY_OK && !gantry__frame_is_placed(frame))
            (void)gantry__fail_prefix(status, "function %s: ", function->name);
        return_frame(function, specialization, frame);
    } else {
        (void)gantry__function_fail(function, status);
    }
    for (uint32_t i = 0; status == GANTRY_OK && i < function->output_count; ++i) {
        /* The frame has set it. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
        gantry__scope_adopt(scope, made[i]);
        outputs[i] = made[i];
    }
    if (status == GANTRY_OK && scope->observer)
        status = gantry__observe(
            scope, &(gantry_observation_t){
                       .struct_size = sizeof(gantry_observation_t),
                       .op = "PartitionedCall",
                       .inputs = inputs,
                       .input_count = function->input_count,
                       .outputs = outputs,
                       .output_count = function->output_count,
                       .function = function,
                       .effect = gantry__graph_effect(&specialization->graph),
                       .input_shapes = specialization->shapes,
                       .output_shapes = specialization->shapes + function->input_count});
    gantry__function_leave(function, specialization);
    return status;
}

/* The body may know the scope of the call by other ways, and may not end it either. */
static gantry_status_t call_lent(gantry_scope_t *scope, gantry_function_t *function,
                                 const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs) {
    ++scope->loans;
    gantry_status_t status = scope->trace || function->runs_eagerly
                                 ? call_inline(scope, function, inputs, outputs)
                                 : call_specialization(scope, function, inputs, outputs);
    --scope->loans;
    if (status != GANTRY_OK || scope->status == GANTRY_OK) return status;
    (void)gantry__fail(scope->status, "%s", gantry_scope_message(scope));
    return gantry__function_fail(function, scope->status);
}

gantry_status_t gantry_function_call(gantry_scope_t *scope, gantry_function_t *function,
                                     const gantry_tensor_t *const *inputs, size_t input_count,
                                     const gantry_tensor_t **outputs, size_t output_count) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t status = gantry__scope_check(scope);
    if (status == GANTRY_OK)
        status = function_check_call(scope, function, inputs, input_count, outputs, output_count);
    if (status == GANTRY_OK) {
        atomic_fetch_add(&function->references, 1); /* a release meanwhile ends nothing */
        status = call_lent(scope, function, inputs, outputs);
        /* an op that failed in the scope, for a variable, did not know its node */
        if (status != GANTRY_OK) gantry_scope_clear(scope);
        gantry_function_release(function);
    }
    if (status == GANTRY_OK) return GANTRY_OK;
    for (size_t i = 0; outputs && i < output_count; ++i) outputs[i] = NULL;
    return scope ? gantry__scope_fail(scope, status) : status;
}
