/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: made, kept, released. specializations.c has what is traced of them, function_call.c
 * their calls, function_bind.c inputs that they get once, and clones. */
#include "function/call/function.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/fp_mode.h"
#include "base/shape_limit.h"
#include "shared/struct_size.h"

static gantry_status_t check_input(const gantry_input_spec_t *input, size_t i) {
    if (gantry_dtype_size(input->dtype) == 0)
        return gantry__refuse(
            "gantry_function_trace: input %zu has type %d; a gantry_dtype_t is accepted", i,
            (int)input->dtype);
    gantry_shape_t least = input->shape; /* that the input may have */
    bool is_possible = least.rank >= 0 && least.rank <= GANTRY_MAX_RANK;
    for (int32_t k = 0; is_possible && k < least.rank; ++k) {
        is_possible = least.dims[k] >= GANTRY_OPEN_SIZE;
        if (least.dims[k] < 0) least.dims[k] = 0;
    }
    if (is_possible && gantry_shape_elements(&least) >= 0) return GANTRY_OK;
    return gantry__refuse(
        "gantry_function_trace: input %zu has a shape of rank %d that is not possible; rank 0 to %d, sizes of 0 or more, -1 or GANTRY_OPEN_SIZE for any, and at most " GANTRY__MOST_ELEMENTS_TEXT
        " elements are accepted",
        i, input->shape.rank, GANTRY_MAX_RANK);
}

static gantry_status_t check_signature(gantry_function_body_fn body,
                                       const gantry_input_spec_t *inputs, size_t input_count,
                                       size_t output_count) {
    if (!body) return gantry__refuse("gantry_function_trace: body is NULL; a function is accepted");
    if (!inputs && input_count > 0)
        return gantry__refuse("gantry_function_trace: inputs is NULL; an array of %zu is accepted",
                              input_count);
    if (input_count > GANTRY_MAX_FUNCTION_VALUES || output_count > GANTRY_MAX_FUNCTION_VALUES)
        return gantry__refuse(
            "gantry_function_trace: %zu inputs and %zu outputs; at most %d of each are accepted",
            input_count, output_count, GANTRY_MAX_FUNCTION_VALUES);
    for (size_t i = 0; i < input_count; ++i) GANTRY__TRY(check_input(&inputs[i], i));
    return GANTRY_OK;
}

static gantry_status_t check_passes(uint32_t off) {
    if (!(off & ~(uint32_t)GANTRY_PASS_ALL)) return GANTRY_OK;
    return gantry__refuse(
        "gantry_function_trace: passes_off is 0x%x; bits of GANTRY_PASS_ALL, 0x%x, are accepted",
        off, (unsigned)GANTRY_PASS_ALL);
}

static gantry_status_t check_choice(const char *field, gantry_choice_t choice) {
    if (choice == GANTRY_DEFAULT || choice == GANTRY_OFF || choice == GANTRY_ON) return GANTRY_OK;
    return gantry__refuse(
        "gantry_function_trace: %s is %d; GANTRY_DEFAULT, GANTRY_OFF and GANTRY_ON are accepted",
        field, (int)choice);
}

static gantry_status_t check_trimmed_with(const gantry_runtime_t *runtime,
                                          const gantry_function_t *function) {
    if (!function || function->runtime == runtime) return GANTRY_OK;
    return gantry__refuse(
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
    gantry__function_free_body(function);
    gantry__mutex_deinit(&function->tracing);
    gantry__mutex_deinit(&function->lock);
    gantry__heap_free(&runtime->heap, function, sizeof *function);
    gantry__runtime_drop(runtime, 1);
}

static gantry_status_t function_allocate(gantry_runtime_t *runtime, const gantry_function_t *with,
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

gantry_status_t gantry__function_make(gantry_runtime_t *runtime, const char *name,
                                      const gantry_function_t *with,
                                      const gantry_input_spec_t *inputs, size_t input_count,
                                      size_t output_count, gantry_function_t **out_function) {
    gantry_function_t *function = NULL;
    GANTRY__TRY(function_allocate(runtime, with, input_count, output_count, &function));
    gantry_status_t status = name_function(function, name);
    if (status == GANTRY_OK) status = copy_inputs(function, inputs);
    if (status == GANTRY_OK)
        *out_function = function;
    else
        function_destroy(function);
    return status;
}

gantry_status_t gantry__function_finish(gantry_function_t *function, gantry_status_t status,
                                        gantry_function_t **out_function) {
    if (status == GANTRY_OK && !function->runs_eagerly && gantry__function_is_known(function))
        status = gantry__function_trace_known(function);
    if (status == GANTRY_OK)
        *out_function = function;
    else
        function_destroy(function);
    return status;
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
        return gantry__refuse(
            "gantry_function_trace: out_function is NULL; an address is accepted");
    *out_function = NULL;
    GANTRY__TRY(gantry__runtime_check_well(runtime));
    GANTRY__TRY(check_signature(body, inputs, input_count, output_count));
    GANTRY__TRY(
        gantry__struct_read(options, 0, &chosen, sizeof chosen, "gantry_function_trace: options"));
    GANTRY__TRY(check_passes(chosen.passes_off));
    GANTRY__TRY(check_choice("device_graphs", chosen.device_graphs));
    GANTRY__TRY(check_choice("batch_invariant", chosen.batch_invariant));
    GANTRY__TRY(check_trimmed_with(runtime, chosen.trimmed_with));
    GANTRY__TRY(gantry__function_make(runtime, name, chosen.trimmed_with, inputs, input_count,
                                      output_count, &function));
    function->body.call = body;
    function->body.user = user;
    function->most_traces = chosen.most_traces ? chosen.most_traces : 16;
    function->runs_eagerly = chosen.runs_eagerly;
    function->inter_op_threads = chosen.inter_op_threads || !chosen.trimmed_with
                                     ? chosen.inter_op_threads
                                     : chosen.trimmed_with->inter_op_threads;
    function->memory_budget_bytes = chosen.memory_budget_bytes;
    function->passes_off = chosen.passes_off;
    function->is_never_replayed = chosen.device_graphs == GANTRY_OFF;
    function->batch_invariant = chosen.batch_invariant == GANTRY_DEFAULT && chosen.trimmed_with
                                    ? chosen.trimmed_with->batch_invariant
                                    : chosen.batch_invariant;
    return gantry__function_finish(
        function,
        gantry__function_bind(function, chosen.bound, chosen.bound_count, "gantry_function_trace"),
        out_function);
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
        return gantry__refuse(
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
