/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a function: found by the sizes of the inputs, made by running the body, evicted
 * when there are too many. specialization_plan.c plans them. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <gantry/observe.h>

#include "device/logical_device.h"
#include "function/call/function.h"
#include "function/trace/trace.h"

/* ---- life ---- */

/* Destroys the frames with blocks on the device; NULL: all of them. Returns the bytes of the
 * blocks. */
static uint64_t destroy_frames(gantry__frame_t **at, const gantry_logical_device_t *device) {
    uint64_t all = 0;
    while (*at) {
        gantry__frame_t *frame = *at;
        const uint64_t bytes = gantry__frame_bytes(frame, device);
        all += gantry__frame_drop_forms(frame, device);
        if (device && bytes == 0) {
            at = &frame->next;
            continue;
        }
        *at = frame->next;
        all += bytes;
        gantry__frame_destroy(frame);
    }
    return all;
}

static size_t bytes_of_shapes(const gantry_function_t *function) {
    return (function->input_count + function->output_count + (size_t)1) * sizeof(gantry_shape_t);
}

static void specialization_destroy(const gantry_function_t *function,
                                   gantry__specialization_t *specialization) {
    const gantry__heap_t *heap = &function->runtime->heap;
    (void)destroy_frames(&specialization->idle, NULL);
    if (specialization->schedule.graph) gantry__schedule_deinit(&specialization->schedule);
    gantry__graph_deinit(&specialization->graph);
    gantry__trace_draws_deinit(&specialization->draws, heap);
    gantry__heap_free(heap, specialization->shapes, bytes_of_shapes(function));
    gantry__heap_free(heap, specialization, sizeof *specialization);
}

void gantry__function_leave(gantry_function_t *function, gantry__specialization_t *specialization) {
    gantry__mutex_lock(&function->lock);
    const bool was_last = --specialization->references == 0;
    gantry__mutex_unlock(&function->lock);
    if (was_last) specialization_destroy(function, specialization);
}

/* ---- tracing ---- */

static gantry_status_t add_inputs(const gantry_function_t *function, gantry_scope_t *scope,
                                  gantry__specialization_t *specialization,
                                  const gantry_tensor_t **inputs) {
    gantry__graph_t *graph = &specialization->graph;
    graph->inputs =
        gantry__arena_zalloc(&graph->arena, function->input_count, sizeof *graph->inputs);
    if (!graph->inputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < function->input_count; ++i) {
        GANTRY__TRY(gantry__trace_input(scope, function->inputs[i].name, function->inputs[i].dtype,
                                        &specialization->shapes[i], &inputs[i]));
        graph->inputs[i] = inputs[i]->value;
    }
    graph->input_count = function->input_count;
    return GANTRY_OK;
}

static gantry_status_t add_outputs(const gantry_function_t *function, const gantry_scope_t *scope,
                                   gantry__graph_t *graph, const gantry_tensor_t *const *outputs) {
    graph->outputs =
        gantry__arena_zalloc(&graph->arena, function->output_count, sizeof *graph->outputs);
    if (!graph->outputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < function->output_count; ++i)
        GANTRY__TRY(gantry__trace_value(scope, outputs[i], &graph->outputs[i]));
    graph->output_count = function->output_count;
    return GANTRY_OK;
}

static gantry_status_t note_outputs(const gantry_function_t *function,
                                    gantry__specialization_t *specialization) {
    gantry__graph_t *graph = &specialization->graph;
    specialization->output_dtypes = gantry__arena_zalloc(&graph->arena, graph->output_count,
                                                         sizeof *specialization->output_dtypes);
    if (!specialization->output_dtypes) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < graph->output_count; ++i) {
        const gantry__value_t *value = &graph->values[graph->outputs[i]];
        specialization->shapes[function->input_count + i] = value->shape;
        specialization->output_dtypes[i] = value->dtype;
    }
    return GANTRY_OK;
}

/* values: room for inputs and outputs. */
static gantry_status_t record_with(const gantry_function_t *function, gantry_scope_t *scope,
                                   gantry__specialization_t *specialization,
                                   const gantry_tensor_t **values) {
    const gantry_tensor_t **outputs = values + function->input_count;
    GANTRY__TRY(add_inputs(function, scope, specialization, values));
    GANTRY__TRY(gantry__function_run_body(function, scope, values, outputs));
    return add_outputs(function, scope, &specialization->graph, outputs);
}

static gantry_status_t record_body(const gantry_function_t *function, gantry_scope_t *scope,
                                   gantry__specialization_t *specialization) {
    const gantry__heap_t *heap = &function->runtime->heap;
    const size_t bytes =
        (function->input_count + function->output_count + (size_t)1) * sizeof(gantry_tensor_t *);
    const gantry_tensor_t **values = gantry__heap_zalloc(heap, bytes);
    if (!values) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = record_with(function, scope, specialization, values);
    gantry__heap_free(heap, (void *)values, bytes);
    return status;
}

/* observer NULL: none. */
static gantry_status_t record_in_scope(const gantry_function_t *function,
                                       gantry__specialization_t *specialization,
                                       gantry_observer_t *observer) {
    gantry_runtime_t *runtime = function->runtime;
    gantry__trace_t trace;
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__trace_init(&trace, runtime, &specialization->graph, NULL);
    trace.draws = &specialization->draws;
    scope->trace = &trace;
    scope->wish = specialization->request.wish;
    scope->order.batch_invariant = specialization->request.batch_invariant;
    gantry_status_t status = observer ? gantry_scope_observe(scope, observer) : GANTRY_OK;
    if (status == GANTRY_OK) status = record_body(function, scope, specialization);
    status = gantry__scope_end_body(scope, status);
    gantry__trace_deinit(&trace);
    return status;
}

/* An observer sees the calls of a body. */
static gantry_status_t record(const gantry_function_t *function,
                              gantry__specialization_t *specialization,
                              gantry_observer_t *observer) {
    bool is_recorded = false;
    GANTRY__TRY(gantry__runtime_initialize(function->runtime, function->name));
    const gantry__function_origin_t *origin = function->body.origin;
    if (origin && origin->record && gantry__function_body_is_whole(&function->body) && !observer)
        GANTRY__TRY(origin->record(function->body.user, specialization, &is_recorded));
    return is_recorded ? GANTRY_OK : record_in_scope(function, specialization, observer);
}

/* ---- the list ---- */

/* The shape of an input; inputs NULL: as the signature has it. */
static const gantry_shape_t *shape_of_input(const gantry_function_t *function,
                                            const gantry_tensor_t *const *inputs, uint32_t i) {
    return inputs ? &inputs[i]->shape : &function->inputs[i].shape;
}

/* The shape of an input in the trace for these inputs. */
static gantry_shape_t shape_to_trace(const gantry_function_t *function,
                                     const gantry_tensor_t *const *inputs, uint32_t i) {
    const gantry_shape_t *accepted = &function->inputs[i].shape;
    gantry_shape_t shape = *shape_of_input(function, inputs, i);
    for (int32_t d = 0; d < shape.rank; ++d) {
        if (accepted->dims[d] == GANTRY_OPEN_SIZE) shape.dims[d] = -1;
    }
    return shape;
}

/* The ranks are equal. */
static bool shape_fits(const gantry_shape_t *specialization, const gantry_shape_t *given) {
    for (int32_t d = 0; d < specialization->rank; ++d) {
        if (specialization->dims[d] != given->dims[d] && specialization->dims[d] != -1)
            return false;
    }
    return true;
}

static bool specialization_fits(const gantry_function_t *function,
                                const gantry__specialization_t *specialization,
                                const gantry__call_request_t *request,
                                const gantry_tensor_t *const *inputs) {
    if (specialization->request.wish != request->wish ||
        specialization->request.batch_invariant != request->batch_invariant ||
        specialization->losses !=
            atomic_load_explicit(&function->runtime->devices.losses, memory_order_acquire))
        return false;
    for (uint32_t i = 0; i < function->input_count; ++i) {
        if (!shape_fits(&specialization->shapes[i], shape_of_input(function, inputs, i)))
            return false;
    }
    return true;
}

/* Takes a reference, and moves the trace to the front. */
static gantry__specialization_t *look_up(gantry_function_t *function,
                                         const gantry__call_request_t *request,
                                         const gantry_tensor_t *const *inputs) {
    gantry__mutex_lock(&function->lock);
    gantry__specialization_t **at = &function->specialization;
    while (*at && !specialization_fits(function, *at, request, inputs)) at = &(*at)->next;
    gantry__specialization_t *found = *at;
    if (found) {
        *at = found->next;
        found->next = function->specialization;
        function->specialization = found;
        ++found->references;
    }
    gantry__mutex_unlock(&function->lock);
    return found;
}

/* Returns the trace that makes room, or NULL. */
static gantry__specialization_t *put_first(gantry_function_t *function,
                                           gantry__specialization_t *specialization) {
    gantry__specialization_t *evicted = NULL;
    gantry__mutex_lock(&function->lock);
    specialization->next = function->specialization;
    function->specialization = specialization;
    uint32_t count = 1;
    gantry__specialization_t *at = specialization;
    for (; at->next && count < function->most_traces; ++count) at = at->next;
    evicted = at->next;
    if (evicted) at->next = evicted->next;
    gantry__mutex_unlock(&function->lock);
    return evicted;
}

/* NULL: there is no memory. The caller must call specialization_destroy. */
static gantry__specialization_t *new_specialization(const gantry_function_t *function,
                                                    const gantry__call_request_t *request,
                                                    const gantry_tensor_t *const *inputs) {
    const gantry__heap_t *heap = &function->runtime->heap;
    gantry__specialization_t *specialization = gantry__heap_zalloc(heap, sizeof *specialization);
    if (!specialization) return NULL;
    gantry__graph_init(&specialization->graph, heap);
    specialization->request = *request;
    specialization->losses =
        atomic_load_explicit(&function->runtime->devices.losses, memory_order_acquire);
    specialization->shapes = gantry__heap_zalloc(heap, bytes_of_shapes(function));
    if (!specialization->shapes) {
        specialization_destroy(function, specialization);
        return NULL;
    }
    for (uint32_t i = 0; i < function->input_count; ++i)
        specialization->shapes[i] = shape_to_trace(function, inputs, i);
    specialization->graph.passes_off = function->passes_off;
    specialization->graph.is_never_replayed = function->is_never_replayed;
    return specialization;
}

static gantry_status_t record_and_plan(const gantry_function_t *function,
                                       gantry__specialization_t *specialization, bool waits) {
    GANTRY__TRY(record(function, specialization, NULL));
    GANTRY__TRY(note_outputs(function, specialization));
    return waits && gantry__specialization_may_wait(function, specialization)
               ? GANTRY_OK
               : gantry__specialization_plan(function, specialization);
}

/* Replaces a trace that is over the budget, and draws from its streams. After a failure the trace
 * stays; the message is that of the trace that needs fewer bytes. */
GANTRY__COLD static gantry_status_t trace_without_layout(
    const gantry_function_t *function, const gantry_tensor_t *const *inputs,
    gantry__specialization_t **specialization) {
    char text[GANTRY__MESSAGE_BYTES];
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    (void)snprintf(text, sizeof text, "%s", gantry__message());
    gantry__specialization_t *over = *specialization,
                             *made = new_specialization(function, &over->request, inputs);
    if (made) {
        made->graph.passes_off |= GANTRY_PASS_LAYOUT;
        made->draws.is_again = true;
        made->draws.given = &over->draws;
        status = record_and_plan(function, made, false);
        made->draws.given = NULL;
        made->graph.gave_layout_up = true;
    }
    if (status == GANTRY_OK) {
        *specialization = made;
        specialization_destroy(function, over);
        return GANTRY_OK;
    }
    const bool is_nearer =
        made && made->bytes_over_budget > 0 && made->bytes_over_budget < over->bytes_over_budget;
    if (made) specialization_destroy(function, made);
    return is_nearer ? status : gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "%s", text);
}

static gantry_status_t make_specialization(gantry_function_t *function,
                                           const gantry__call_request_t *request,
                                           const gantry_tensor_t *const *inputs, bool waits,
                                           gantry__specialization_t **out_specialization) {
    const uint32_t before = gantry__failures();
    gantry__specialization_t *specialization = new_specialization(function, request, inputs);
    if (!specialization) return gantry__function_fail(function, GANTRY_RESOURCE_EXHAUSTED);
    gantry_status_t status = record_and_plan(function, specialization, waits);
    if (specialization->bytes_over_budget > 0 && specialization->graph.is_laid_out) {
        status = trace_without_layout(function, inputs, &specialization);
        if (status == GANTRY_OK) gantry__forget_since(before);
    }
    if (status != GANTRY_OK) {
        specialization_destroy(function, specialization);
        return gantry__function_fail(function, status);
    }
    specialization->references = 2; /* the list's and the caller's */
    gantry__specialization_t *evicted = put_first(function, specialization);
    if (evicted) gantry__function_leave(function, evicted);
    *out_specialization = specialization;
    return GANTRY_OK;
}

/* A body that calls its own function from outside the trace would wait for itself. */
static gantry_status_t begin_tracing(gantry_function_t *function) {
    gantry__mutex_lock(&function->lock);
    const bool is_own = function->is_tracing && gantry__thread_is_self(function->tracer);
    gantry__mutex_unlock(&function->lock);
    if (is_own)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "function %s is called while its body is traced; a body may call other functions",
            function->name);
    gantry__mutex_lock(&function->tracing);
    gantry__mutex_lock(&function->lock);
    function->is_tracing = true;
    function->tracer = gantry__thread_self();
    gantry__mutex_unlock(&function->lock);
    return GANTRY_OK;
}

static void end_tracing(gantry_function_t *function) {
    gantry__mutex_lock(&function->lock);
    function->is_tracing = false;
    gantry__mutex_unlock(&function->lock);
    gantry__mutex_unlock(&function->tracing);
}

bool gantry__function_is_known(const gantry_function_t *function) {
    for (uint32_t i = 0; i < function->input_count; ++i) {
        const gantry_shape_t *shape = &function->inputs[i].shape;
        for (int32_t d = 0; d < shape->rank; ++d) {
            if (shape->dims[d] == -1) return false;
        }
    }
    return true;
}

/* The request of a trace that no call asks for. */
static gantry__call_request_t without_scope(const gantry_function_t *function) {
    return (gantry__call_request_t){.batch_invariant = gantry__function_keeps_rows(
                                        function, function->runtime->switches.batch_invariant)};
}

gantry_status_t gantry__function_trace_known(gantry_function_t *function) {
    gantry__specialization_t *specialization;
    const gantry__call_request_t request = without_scope(function);
    GANTRY__TRY(begin_tracing(function));
    const gantry_status_t status =
        make_specialization(function, &request, NULL, true, &specialization);
    end_tracing(function);
    if (status == GANTRY_OK) gantry__function_leave(function, specialization);
    return status;
}

static bool is_planned(const gantry__specialization_t *specialization) {
    return atomic_load_explicit(&specialization->is_planned, memory_order_acquire);
}

/* The function forgets a trace whose plan failed: the next call makes it anew. */
static void forget_traced(gantry_function_t *function, gantry__specialization_t *specialization) {
    gantry__mutex_lock(&function->lock);
    gantry__specialization_t **at = &function->specialization;
    while (*at && *at != specialization) at = &(*at)->next;
    const bool is_listed = *at != NULL;
    if (is_listed) *at = specialization->next;
    gantry__mutex_unlock(&function->lock);
    if (is_listed) gantry__function_leave(function, specialization);
}

/* While no body is traced. Ends the caller's reference after a failure. */
static gantry_status_t plan_now(gantry_function_t *function,
                                gantry__specialization_t **specialization) {
    if (is_planned(*specialization)) return GANTRY_OK;
    const gantry_status_t status = gantry__specialization_plan(function, *specialization);
    if (status == GANTRY_OK) return GANTRY_OK;
    forget_traced(function, *specialization);
    gantry__function_leave(function, *specialization);
    *specialization = NULL;
    return gantry__function_fail(function, status);
}

gantry_status_t gantry__function_find(gantry_function_t *function,
                                      const gantry__call_request_t *request,
                                      const gantry_tensor_t *const *inputs,
                                      gantry__specialization_t **out_specialization) {
    *out_specialization = look_up(function, request, inputs);
    if (*out_specialization && is_planned(*out_specialization)) return GANTRY_OK;
    if (*out_specialization) gantry__function_leave(function, *out_specialization);
    GANTRY__TRY(begin_tracing(function));
    *out_specialization = look_up(function, request, inputs); /* another thread may have made it */
    gantry_status_t status = *out_specialization ? plan_now(function, out_specialization)
                                                 : make_specialization(function, request, inputs,
                                                                       false, out_specialization);
    end_tracing(function);
    return status;
}

/* The newest trace, a reference of the caller's own; NULL: none. */
static gantry__specialization_t *retain_newest(gantry_function_t *function) {
    gantry__mutex_lock(&function->lock);
    gantry__specialization_t *newest = function->specialization;
    if (newest) ++newest->references;
    gantry__mutex_unlock(&function->lock);
    return newest;
}

gantry_status_t gantry__function_newest(gantry_function_t *function,
                                        gantry__specialization_t **out_specialization) {
    gantry__specialization_t *newest = *out_specialization = retain_newest(function);
    const gantry__call_request_t request = without_scope(function);
    if (!newest && !function->runs_eagerly && gantry__function_is_known(function))
        return gantry__function_find(function, &request, NULL,
                                     out_specialization); /* its plan failed */
    if (!newest || is_planned(newest)) return GANTRY_OK;
    const gantry_status_t begun = begin_tracing(function);
    if (begun != GANTRY_OK) {
        gantry__function_leave(function, newest);
        return begun;
    }
    const gantry_status_t status = plan_now(function, out_specialization);
    end_tracing(function);
    return status;
}

/* ---- one more trace ---- */

bool gantry__function_newest_keeps_rows(gantry_function_t *function) {
    bool keeps = without_scope(function).batch_invariant;
    gantry__mutex_lock(&function->lock);
    if (function->specialization) keeps = function->specialization->request.batch_invariant;
    gantry__mutex_unlock(&function->lock);
    return keeps;
}

/* newest NULL: there is none. */
static gantry_status_t trace_and_show(
    const gantry_function_t *function, const gantry__specialization_t *newest,
    gantry__specialization_t *specialization, gantry_observer_t *observer,
    gantry_status_t (*show)(const gantry__specialization_t *specialization, void *user),
    void *user) {
    specialization->request.batch_invariant =
        newest ? newest->request.batch_invariant : without_scope(function).batch_invariant;
    specialization->draws.is_again = true;
    specialization->draws.given = newest ? &newest->draws : NULL;
    specialization->shapes =
        gantry__heap_zalloc(&function->runtime->heap, bytes_of_shapes(function));
    if (!specialization->shapes) return GANTRY_RESOURCE_EXHAUSTED;
    if (newest) {
        memcpy(specialization->shapes, newest->shapes, bytes_of_shapes(function));
    } else {
        if (function->runs_eagerly || !gantry__function_is_known(function))
            return gantry__fail(GANTRY_FAILED_PRECONDITION,
                                "it has no trace; one that was called is accepted");
        for (uint32_t i = 0; i < function->input_count; ++i)
            specialization->shapes[i] = shape_to_trace(function, NULL, i);
    }
    GANTRY__TRY(record(function, specialization, observer));
    return show(specialization, user);
}

gantry_status_t gantry__function_trace_again(
    gantry_function_t *function, gantry_observer_t *observer,
    gantry_status_t (*show)(const gantry__specialization_t *specialization, void *user),
    void *user) {
    const gantry__heap_t *heap = &function->runtime->heap;
    GANTRY__TRY(begin_tracing(function));
    gantry__specialization_t *specialization = gantry__heap_zalloc(heap, sizeof *specialization);
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (specialization) {
        gantry__graph_init(&specialization->graph, heap);
        gantry__specialization_t *newest = retain_newest(function);
        status = trace_and_show(function, newest, specialization, observer, show, user);
        if (newest) gantry__function_leave(function, newest);
        specialization_destroy(function, specialization);
    }
    end_tracing(function);
    return status == GANTRY_OK ? GANTRY_OK : gantry__function_fail(function, status);
}

/* ---- idle frames ---- */

/* It holds the lock while it frees, so that no trace ends meanwhile: what a trace holds in addition
 * to its frames may be the program's, which must not end inside an allocation. */
uint64_t gantry__function_give_up(gantry__keeper_t *keeper, const gantry_logical_device_t *device) {
    gantry_function_t *function =
        (gantry_function_t *)((char *)keeper - offsetof(gantry_function_t, keeper));
    uint64_t bytes = 0;
    gantry__mutex_lock(&function->lock);
    for (gantry__specialization_t *at = function->specialization; at; at = at->next)
        bytes += destroy_frames(&at->idle, device);
    gantry__mutex_unlock(&function->lock);
    return bytes;
}
