/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that a function gets once, and clones.
 *
 *     the body's inputs      x    w1   b1   y
 *     bound                  -    w1   b1   -         w1 and b1: constants of each trace
 *     the function's inputs  x              y         what a call passes
 *
 * A clone has the body of another function, its own list of what is bound, and a device of its own.
 * The body of a clone of a clone is that of the first function: no clone calls another. */
#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "device/device_table.h"
#include "function/call/function.h"
#include "function/trace/control.h"
#include "function/trace/trace.h"
#include "run/trace_hooks.h"
#include "shared/struct_size.h"

/* ---- the list of a body ---- */

void gantry__function_free_body(gantry_function_t *function) {
    const gantry__heap_t *heap = &function->runtime->heap;
    gantry__function_body_t *body = &function->body;
    for (uint32_t i = 0; body->bound && i < body->input_count; ++i)
        gantry_tensor_release(body->bound[i]);
    gantry__heap_free(heap, (void *)body->bound, (body->input_count + 1) * sizeof *body->bound);
    gantry__heap_free(heap, body->inputs, (body->input_count + 1) * sizeof *body->inputs);
    if (body->release_user) body->release_user(body->user);
    gantry_function_release(body->owner);
}

/* Makes a list without values for a body with these inputs. */
static gantry_status_t make_bound_list(gantry_function_t *function,
                                       const gantry_input_spec_t *inputs, uint32_t count) {
    const gantry__heap_t *heap = &function->runtime->heap;
    gantry__function_body_t *body = &function->body;
    body->input_count = count;
    body->inputs = gantry__heap_zalloc(heap, (count + 1) * sizeof *body->inputs);
    body->bound = gantry__heap_zalloc(heap, (count + 1) * sizeof *body->bound);
    if (!body->inputs || !body->bound) return GANTRY_RESOURCE_EXHAUSTED;
    if (count > 0) memcpy(body->inputs, inputs, count * sizeof *inputs);
    return GANTRY_OK;
}

gantry_status_t gantry__function_copy_body(gantry_function_t *clone, gantry_function_t *function) {
    const gantry__function_body_t *from = &function->body;
    clone->body = *from;
    clone->body.inputs = NULL;
    clone->body.bound = NULL;
    clone->body.release_user = NULL;
    clone->body.owner = gantry_function_retain(from->owner ? from->owner : function);
    if (!from->bound) return GANTRY_OK;
    GANTRY__TRY(make_bound_list(clone, from->inputs, from->input_count));
    for (uint32_t i = 0; i < from->input_count; ++i)
        clone->body.bound[i] = gantry_tensor_retain(from->bound[i]);
    return GANTRY_OK;
}

/* ---- binding ---- */

static gantry_status_t find_input(const gantry_function_t *function, const char *by, size_t entry,
                                  const gantry_bound_input_t *bound, uint32_t *out_input) {
    uint32_t at = bound->index;
    if (bound->name)
        for (at = 0; at < function->input_count; ++at)
            if (*bound->name && strcmp(function->inputs[at].name, bound->name) == 0) break;
    *out_input = at;
    if (at < function->input_count) return GANTRY_OK;
    if (bound->name)
        return gantry__refuse(
            "%s: bound[%zu] has the name %s; the name of one of the %u inputs of function %s is accepted",
            by, entry, bound->name, function->input_count, function->name);
    return gantry__refuse(
        "%s: bound[%zu] has the index %u; function %s has %u inputs, and a smaller index is accepted",
        by, entry, bound->index, function->name, function->input_count);
}

static gantry_status_t check_bound_value(const gantry_function_t *function, const char *by,
                                         size_t entry, uint32_t input,
                                         const gantry_tensor_t *tensor) {
    if (!tensor || tensor->runtime != function->runtime || tensor->is_symbolic)
        return gantry__refuse(
            "%s: bound[%zu].tensor is %s; a tensor of the runtime with elements is accepted", by,
            entry,
            !tensor               ? "NULL"
            : tensor->is_symbolic ? (const char *)tensor->inline_data
                                  : "of another runtime");
    const gantry_status_t status = gantry__function_check_fit(function, input, tensor);
    return status == GANTRY_OK ? GANTRY_OK
                               : gantry__fail_prefix(status, "%s: bound[%zu]: ", by, entry);
}

/* places: for each input of the function, its position among those of the body. */
static gantry_status_t bind_one(gantry_function_t *function, const char *by, size_t entry,
                                const gantry_bound_input_t *bound, const uint32_t *places) {
    uint32_t input;
    GANTRY__TRY(find_input(function, by, entry, bound, &input));
    GANTRY__TRY(check_bound_value(function, by, entry, input, bound->tensor));
    gantry_tensor_t **value = &function->body.bound[places[input]];
    if (*value)
        return gantry__refuse(
            "%s: bound[%zu] is input %u of function %s, which another entry binds, too; one entry for an input is accepted",
            by, entry, input, function->name);
    *value = gantry_tensor_retain(bound->tensor);
    return GANTRY_OK;
}

/* The inputs of the function that are left. */
static gantry_status_t keep_unbound(gantry_function_t *function) {
    const gantry__heap_t *heap = &function->runtime->heap;
    const gantry__function_body_t *body = &function->body;
    uint32_t left = 0;
    for (uint32_t i = 0; i < body->input_count; ++i) left += !body->bound[i];
    gantry_input_spec_t *inputs = gantry__heap_zalloc(heap, (left + 1) * sizeof *inputs);
    if (!inputs) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__heap_free(heap, function->inputs,
                      (function->input_count + 1) * sizeof *function->inputs);
    function->inputs = inputs;
    function->input_count = left;
    for (uint32_t i = 0; i < body->input_count; ++i)
        if (!body->bound[i]) *inputs++ = body->inputs[i];
    return GANTRY_OK;
}

static gantry_status_t bind_all(gantry_function_t *function, const gantry_bound_input_t *bound,
                                size_t count, const char *by, uint32_t *places) {
    uint32_t unbound = 0;
    for (uint32_t i = 0; i < function->body.input_count; ++i)
        if (!function->body.bound[i]) places[unbound++] = i;
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(bind_one(function, by, i, &bound[i], places));
    return keep_unbound(function);
}

gantry_status_t gantry__function_bind(gantry_function_t *function,
                                      const gantry_bound_input_t *bound, size_t count,
                                      const char *by) {
    const gantry__heap_t *heap = &function->runtime->heap;
    if (count == 0) return GANTRY_OK;
    if (!bound) return gantry__refuse("%s: bound is NULL; an array of %zu is accepted", by, count);
    if (!function->body.bound)
        GANTRY__TRY(make_bound_list(function, function->inputs, function->input_count));
    const size_t bytes = (function->body.input_count + (size_t)1) * sizeof(uint32_t);
    uint32_t *places = gantry__heap_zalloc(heap, bytes);
    if (!places) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_status_t status = bind_all(function, bound, count, by, places);
    gantry__heap_free(heap, places, bytes);
    return status;
}

/* ---- calling the body ---- */

/* The values of bound inputs are constants with the inputs' names. */
static gantry_status_t name_constants(const gantry__function_body_t *body, gantry_scope_t *scope) {
    for (uint32_t i = 0; scope->trace && i < body->input_count; ++i) {
        if (!body->bound[i]) continue;
        (void)snprintf(scope->next_name, sizeof scope->next_name, "%.*s",
                       GANTRY__NODE_NAME_BYTES / 2 - 1, body->inputs[i].name);
        GANTRY__TRY(gantry__trace_constant(scope, body->bound[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t call_with_bound(const gantry_function_t *function, gantry_scope_t *scope,
                                       const gantry_tensor_t *const *inputs,
                                       const gantry_tensor_t **outputs) {
    const gantry__heap_t *heap = &function->runtime->heap;
    const gantry__function_body_t *body = &function->body;
    const size_t bytes = (body->input_count + (size_t)1) * sizeof *outputs;
    GANTRY__TRY(name_constants(body, scope));
    const gantry_tensor_t **all = gantry__heap_zalloc(heap, bytes);
    if (!all) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < body->input_count; ++i)
        all[i] = body->bound[i] ? body->bound[i] : *inputs++;
    const gantry_status_t status =
        gantry__body_call(body->call, body->user, scope, all, outputs, function->output_count);
    gantry__heap_free(heap, (void *)all, bytes);
    return status;
}

gantry_status_t gantry__function_call_body(const gantry_function_t *function, gantry_scope_t *scope,
                                           const gantry_tensor_t *const *inputs,
                                           const gantry_tensor_t **outputs) {
    const gantry__function_body_t *body = &function->body;
    if (body->wish) GANTRY__TRY(gantry__scope_wish_inside(scope, body->wish));
    if (body->replaces_devices) gantry__scope_fix_wish(scope);
    return body->bound ? call_with_bound(function, scope, inputs, outputs)
                       : gantry__body_call(body->call, body->user, scope, inputs, outputs,
                                           function->output_count);
}

/* ---- clones ---- */

static void copy_options(gantry_function_t *clone, const gantry_function_t *function) {
    clone->most_traces = function->most_traces;
    clone->runs_eagerly = function->runs_eagerly;
    clone->inter_op_threads = function->inter_op_threads;
    clone->memory_budget_bytes = function->memory_budget_bytes;
    clone->passes_off = function->passes_off;
    clone->is_never_replayed = function->is_never_replayed;
    clone->batch_invariant = function->batch_invariant;
}

static gantry_status_t read_clone_device(gantry_function_t *clone,
                                         const gantry_clone_options_t *options) {
    gantry_runtime_t *runtime = clone->runtime;
    gantry__device_reference_t reference, inner;
    clone->body.replaces_devices |= options->replaces_devices;
    if (!options->device) return GANTRY_OK;
    const gantry_status_t status =
        gantry__device_reference_from_user(&runtime->devices, options->device, &reference);
    if (status != GANTRY_OK) return gantry__fail_prefix(status, "gantry_function_clone: ");
    if (clone->body.wish) {
        inner = reference;
        gantry__device_reference_merge_scope(&clone->body.wish->reference, &inner, &reference);
    }
    return gantry__runtime_wish(runtime, &reference, &clone->body.wish);
}

static gantry_status_t clone_fill(gantry_function_t *clone, gantry_function_t *function,
                                  const gantry_clone_options_t *options) {
    copy_options(clone, function);
    GANTRY__TRY(gantry__function_copy_body(clone, function));
    GANTRY__TRY(read_clone_device(clone, options));
    return gantry__function_bind(clone, options->bound, options->bound_count,
                                 "gantry_function_clone");
}

gantry_status_t gantry_function_clone(gantry_function_t *function,
                                      const gantry_clone_options_t *options,
                                      gantry_function_t **out_clone) {
    GANTRY__OWN_FP_MODE(fp);
    static const gantry_function_options_t none = {.struct_size = sizeof none};
    gantry_clone_options_t chosen;
    gantry_function_t *clone;
    if (!out_clone)
        return gantry__refuse("gantry_function_clone: out_clone is NULL; an address is accepted");
    *out_clone = NULL;
    if (!function)
        return gantry__refuse(
            "gantry_function_clone: the function is NULL; one from gantry_function_trace is accepted");
    GANTRY__TRY(gantry__runtime_check_well(function->runtime));
    GANTRY__TRY(
        gantry__struct_read(options, 0, &chosen, sizeof chosen, "gantry_function_clone: options"));
    const gantry__function_source_t source = {.name = chosen.name ? chosen.name : function->name,
                                              .inputs = function->inputs,
                                              .input_count = function->input_count,
                                              .output_count = function->output_count,
                                              .output_names = function->texts.output_names,
                                              .metadata = function->texts.metadata,
                                              .metadata_count = function->texts.metadata_count};
    GANTRY__TRY(gantry__function_begin(function->runtime, &source, &none, &clone));
    return gantry__function_finish(clone, clone_fill(clone, function, &chosen), out_clone);
}
