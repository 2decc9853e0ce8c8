/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: made, kept, released. specializations.c has what is traced of them, function_call.c
 * their calls, function_bind.c inputs that they get once, and clones. */
#include "function/call/function.h"

#include <gantry/graph.h>

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/fp_mode.h"
#include "base/shape_limit.h"
#include "shared/struct_size.h"

gantry_status_t gantry__function_check_input(const char *call, const gantry_input_spec_t *input,
                                             size_t i) {
    if (gantry_dtype_size(input->dtype) == 0)
        return gantry__refuse("%s: input %zu has type %d; a gantry_dtype_t is accepted", call, i,
                              (int)input->dtype);
    gantry_shape_t least = input->shape; /* that the input may have */
    bool is_possible = least.rank >= 0 && least.rank <= GANTRY_MAX_RANK;
    for (int32_t k = 0; is_possible && k < least.rank; ++k) {
        is_possible = least.dims[k] >= GANTRY_OPEN_SIZE;
        if (least.dims[k] < 0) least.dims[k] = 0;
    }
    if (is_possible && gantry_shape_elements(&least) >= 0) return GANTRY_OK;
    return gantry__refuse(
        "%s: input %zu has a shape of rank %d that is not possible; rank 0 to %d, sizes of 0 or more, -1 or GANTRY_OPEN_SIZE for any, and at most " GANTRY__MOST_ELEMENTS_TEXT
        " elements are accepted",
        call, i, input->shape.rank, GANTRY_MAX_RANK);
}

static gantry_status_t check_signature(const gantry__function_source_t *source) {
    const size_t inputs = source->input_count, outputs = source->output_count;
    if (!source->body)
        return gantry__refuse("%s: body is NULL; a function is accepted", source->call);
    if (!source->inputs && inputs > 0)
        return gantry__refuse("%s: inputs is NULL; an array of %zu is accepted", source->call,
                              inputs);
    if (inputs > GANTRY_MAX_FUNCTION_VALUES || outputs > GANTRY_MAX_FUNCTION_VALUES)
        return gantry__refuse("%s: %zu inputs and %zu outputs; at most %d of each are accepted",
                              source->call, inputs, outputs, GANTRY_MAX_FUNCTION_VALUES);
    for (size_t i = 0; i < inputs; ++i)
        GANTRY__TRY(gantry__function_check_input(source->call, &source->inputs[i], i));
    return GANTRY_OK;
}

static gantry_status_t check_choice(const char *call, const char *field, gantry_choice_t choice) {
    if (choice == GANTRY_DEFAULT || choice == GANTRY_OFF || choice == GANTRY_ON) return GANTRY_OK;
    return gantry__refuse("%s: %s is %d; GANTRY_DEFAULT, GANTRY_OFF and GANTRY_ON are accepted",
                          call, field, (int)choice);
}

static gantry_status_t check_metadata_option(const char *call,
                                             const gantry_function_options_t *options) {
    if (options->metadata_count > 0 && !options->metadata)
        return gantry__refuse("%s: metadata is NULL; an array of %zu is accepted", call,
                              options->metadata_count);
    for (size_t i = 0; i < options->metadata_count; ++i) {
        const gantry_metadata_t *given = &options->metadata[i];
        if (!given->key || !*given->key || !given->text)
            return gantry__refuse("%s: metadata %zu has %s; a key and a text are accepted", call, i,
                                  given->key && *given->key ? "no text" : "no key");
        if (strlen(given->key) > GANTRY_MAX_GRAPH_TEXT)
            return gantry__refuse(
                "%s: metadata %zu has a key of %zu bytes; 1 to %d bytes are accepted", call, i,
                strlen(given->key), GANTRY_MAX_GRAPH_TEXT);
    }
    return GANTRY_OK;
}

static gantry_status_t check_function_options(const gantry_runtime_t *runtime, const char *call,
                                              const gantry_function_options_t *options) {
    const gantry_function_t *with = options->trimmed_with;
    if (options->passes_off & ~(uint32_t)GANTRY_PASS_ALL)
        return gantry__refuse("%s: passes_off is 0x%x; bits of GANTRY_PASS_ALL, 0x%x, are accepted",
                              call, options->passes_off, (unsigned)GANTRY_PASS_ALL);
    GANTRY__TRY(check_choice(call, "device_graphs", options->device_graphs));
    GANTRY__TRY(check_choice(call, "batch_invariant", options->batch_invariant));
    GANTRY__TRY(check_metadata_option(call, options));
    if (!with || with->runtime == runtime) return GANTRY_OK;
    return gantry__refuse(
        "%s: trimmed_with is function %s of another runtime; one of this runtime is accepted", call,
        with->name);
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

static gantry_status_t copy_function_text(gantry_function_t *function, const char *text,
                                          const char **out_copy) {
    *out_copy = text ? gantry__arena_strdup(&function->texts.arena, text) : "";
    return *out_copy ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t copy_output_names(gantry_function_t *function, const char *const *names) {
    if (!names) return GANTRY_OK;
    function->texts.output_names = gantry__arena_zalloc(
        &function->texts.arena, function->output_count, sizeof *function->texts.output_names);
    if (!function->texts.output_names) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < function->output_count; ++i)
        GANTRY__TRY(copy_function_text(function, names[i], &function->texts.output_names[i]));
    return GANTRY_OK;
}

/* A key that is there already keeps its text. */
static gantry_status_t copy_metadata(gantry_function_t *function, const gantry_metadata_t *given,
                                     size_t count) {
    for (size_t i = 0; i < count; ++i) {
        gantry_metadata_t *to = &function->texts.metadata[function->texts.metadata_count];
        size_t k = 0;
        while (k < function->texts.metadata_count &&
               strcmp(function->texts.metadata[k].key, given[i].key) != 0)
            ++k;
        if (k < function->texts.metadata_count) continue;
        GANTRY__TRY(copy_function_text(function, given[i].key, &to->key));
        GANTRY__TRY(copy_function_text(function, given[i].text, &to->text));
        ++function->texts.metadata_count;
    }
    return GANTRY_OK;
}

static gantry_status_t copy_source_texts(gantry_function_t *function,
                                         const gantry__function_source_t *source,
                                         const gantry_function_options_t *options) {
    const size_t count = options->metadata_count + source->metadata_count;
    GANTRY__TRY(copy_output_names(
        function, options->output_names ? options->output_names : source->output_names));
    if (count == 0) return GANTRY_OK;
    function->texts.metadata =
        gantry__arena_zalloc(&function->texts.arena, count, sizeof *function->texts.metadata);
    if (!function->texts.metadata) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(copy_metadata(function, options->metadata, options->metadata_count));
    return copy_metadata(function, source->metadata, source->metadata_count);
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
    gantry__arena_deinit(&function->texts.arena);
    gantry__mutex_deinit(&function->tracing);
    gantry__mutex_deinit(&function->lock);
    gantry__heap_free(&runtime->heap, function, sizeof *function);
    gantry__runtime_drop(runtime, 1);
}

/* Makes a function; with: the function that it is trimmed with; NULL: none. */
static gantry_status_t function_create(gantry_runtime_t *runtime, const gantry_function_t *with,
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
    gantry__arena_init(&function->texts.arena, &runtime->heap);
    function->keeper.give_up = gantry__function_give_up;
    gantry__keepers_add(&runtime->devices.keepers, &function->keeper, with ? &with->keeper : NULL);
    *out_function = function;
    return GANTRY_OK;
}

static void take_function_options(gantry_function_t *function,
                                  const gantry_function_options_t *chosen) {
    const gantry_function_t *with = chosen->trimmed_with;
    function->most_traces = chosen->most_traces ? chosen->most_traces : 16;
    function->runs_eagerly = chosen->runs_eagerly;
    function->inter_op_threads =
        chosen->inter_op_threads || !with ? chosen->inter_op_threads : with->inter_op_threads;
    function->memory_budget_bytes = chosen->memory_budget_bytes;
    function->passes_off = chosen->passes_off;
    function->is_never_replayed = chosen->device_graphs == GANTRY_OFF;
    function->batch_invariant = chosen->batch_invariant == GANTRY_DEFAULT && with
                                    ? with->batch_invariant
                                    : chosen->batch_invariant;
}

static gantry_status_t fill_function(gantry_function_t *function,
                                     const gantry__function_source_t *source,
                                     const gantry_function_options_t *options) {
    function->body.call = source->body;
    function->body.user = source->user;
    function->body.origin = source->origin;
    take_function_options(function, options);
    GANTRY__TRY(name_function(function, source->name));
    GANTRY__TRY(copy_inputs(function, source->inputs));
    return copy_source_texts(function, source, options);
}

gantry_status_t gantry__function_begin(gantry_runtime_t *runtime,
                                       const gantry__function_source_t *source,
                                       const gantry_function_options_t *options,
                                       gantry_function_t **out_function) {
    gantry_function_t *function = NULL;
    GANTRY__TRY(function_create(runtime, options->trimmed_with, source->input_count,
                                source->output_count, &function));
    const gantry_status_t status = fill_function(function, source, options);
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

gantry_status_t gantry__function_make(gantry_runtime_t *runtime,
                                      const gantry__function_source_t *source,
                                      const gantry_function_options_t *options,
                                      gantry_function_t **out_function) {
    gantry_function_options_t chosen;
    gantry_function_t *function;
    char what[64];
    if (!out_function)
        return gantry__refuse("%s: out_function is NULL; an address is accepted", source->call);
    *out_function = NULL;
    GANTRY__TRY(gantry__runtime_check_well(runtime));
    GANTRY__TRY(check_signature(source));
    (void)snprintf(what, sizeof what, "%s: options", source->call);
    GANTRY__TRY(gantry__struct_read(options, 0, &chosen, sizeof chosen, what));
    GANTRY__TRY(check_function_options(runtime, source->call, &chosen));
    GANTRY__TRY(gantry__function_begin(runtime, source, &chosen, &function));
    GANTRY__TRY(gantry__function_finish(
        function, gantry__function_bind(function, chosen.bound, chosen.bound_count, source->call),
        out_function));
    function->body.release_user = source->release_user;
    return GANTRY_OK;
}

gantry_status_t gantry_function_trace(gantry_runtime_t *runtime, const char *name,
                                      gantry_function_body_fn body, void *user,
                                      const gantry_input_spec_t *inputs, size_t input_count,
                                      size_t output_count, const gantry_function_options_t *options,
                                      gantry_function_t **out_function) {
    GANTRY__OWN_FP_MODE(fp);
    const gantry__function_source_t source = {.call = "gantry_function_trace",
                                              .name = name,
                                              .body = body,
                                              .user = user,
                                              .inputs = inputs,
                                              .input_count = input_count,
                                              .output_count = output_count};
    return gantry__function_make(runtime, &source, options, out_function);
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
