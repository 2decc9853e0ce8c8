/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that their caller does not wait for: jobs of the runtime (run/jobs.h).
 *
 *     start     checks the inputs and finds the trace; the body runs in the starter's thread
 *     run       the frame, in a scope of the call's own; then sleeps until the streams to which the
 *               call submitted have come so far, and settles what its kernels may have found
 *     notify    the callback
 *     wait      gives the outputs to a scope
 *
 * A call holds its function, its inputs until it has run, and its outputs. The job holds a
 * reference to the call until it has ended. */
#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "device/stream.h"
#include "function/call/function.h"
#include "run/observe.h"
#include "shared/struct_size.h"

struct gantry_call_t {
    gantry__job_t job; /* first */
    atomic_uint references;
    gantry_function_t *function; /* a reference */
    /* that runs, a reference until then; NULL: the function runs eagerly */
    gantry__specialization_t *specialization;
    gantry__call_request_t request;
    const char *tag;
    gantry_call_fn callback;
    void *user;
    gantry__fp_mode_t mode; /* of callbacks */
    gantry_status_t status; /* once the job is over, as the next two */
    char *message;          /* heap text of a failure; NULL: none, or no memory for it */
    gantry_tensor_t **outputs;
    uint64_t *submitted;       /* for each stream of each device, its count before the call */
    gantry_tensor_t *values[]; /* the inputs, then the outputs; references */
};

static size_t bytes_of_call(const gantry_function_t *function) {
    return sizeof(gantry_call_t) +
           ((size_t)function->input_count + function->output_count) * sizeof(gantry_tensor_t *);
}

static size_t stream_count(const gantry_runtime_t *runtime) {
    return runtime->devices.logical_count * GANTRY__STREAMS;
}

/* ---- life ---- */

static void release_values(gantry_tensor_t **tensors, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        gantry_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

static void call_destroy(gantry_call_t *call) {
    gantry_function_t *function = call->function;
    const gantry__heap_t *heap = &function->runtime->heap;
    release_values(call->values, function->input_count + function->output_count);
    if (call->specialization) gantry__function_leave(function, call->specialization);
    gantry__heap_free(heap, call->submitted,
                      (stream_count(function->runtime) + 1) * sizeof *call->submitted);
    gantry__heap_free_text(heap, call->message);
    gantry__heap_free(heap, call, bytes_of_call(function));
    gantry_function_release(function);
}

static void call_drop(gantry_call_t *call) {
    if (atomic_fetch_sub(&call->references, 1) == 1) call_destroy(call);
}

void gantry_call_release(gantry_call_t *call) {
    GANTRY__OWN_FP_MODE(fp);
    if (call && gantry__fork_guard_ask(&call->function->runtime->fork)) call_drop(call);
}

/* ---- running: on a thread of the runtime ---- */

/* The n-th stream of all devices; NULL: its device is not open, or computes at once. */
static gantry__stream_t *stream_at(const gantry_runtime_t *runtime, size_t n) {
    gantry_logical_device_t *device = runtime->devices.logical[n / GANTRY__STREAMS];
    if (!atomic_load(&device->is_open) || device->synchronous) return NULL;
    return &device->streams[n % GANTRY__STREAMS];
}

static void note_submitted(gantry_call_t *call) {
    const gantry_runtime_t *runtime = call->function->runtime;
    for (size_t i = 0; i < stream_count(runtime); ++i) {
        gantry__stream_t *stream = stream_at(runtime, i);
        call->submitted[i] = stream ? atomic_load(&stream->submitted) : 0;
    }
}

/* Keeps the first failure, with the thread's last message. */
static void keep_call_failure(gantry_call_t *call, gantry_status_t status) {
    if (call->status != GANTRY_OK || status == GANTRY_OK) return;
    call->status = status;
    call->message = gantry__heap_strdup(&call->function->runtime->heap, gantry__message());
}

/* Sleeps until all that was submitted meanwhile has ended. Work of others may be among it: whether
 * the call failed is said by its outputs, if it has some. */
static void wait_for_streams(gantry_call_t *call) {
    const gantry_runtime_t *runtime = call->function->runtime;
    for (size_t i = 0; i < stream_count(runtime); ++i) {
        gantry__stream_t *stream = stream_at(runtime, i);
        const uint64_t now = stream ? atomic_load(&stream->submitted) : 0;
        if (!stream || now <= call->submitted[i]) continue;
        const gantry_status_t status = gantry__point_wait((gantry__point_t){stream, now});
        if (call->function->output_count == 0) keep_call_failure(call, status);
    }
}

static gantry_status_t settle_outputs(const gantry_call_t *call) {
    for (uint32_t i = 0; i < call->function->output_count; ++i) {
        GANTRY__TRY(gantry__point_wait(call->outputs[i]->ready));
        GANTRY__TRY(gantry__tensor_settle(call->outputs[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t started_run_in(gantry_call_t *call, gantry_scope_t *scope) {
    gantry_function_t *function = call->function;
    gantry__specialization_t *specialization = call->specialization;
    const gantry_tensor_t **outputs = (const gantry_tensor_t **)call->outputs;
    scope->wish = call->request.wish;
    scope->order.batch_invariant = call->request.batch_invariant;
    scope->tag = call->tag;
    call->specialization = NULL;
    const gantry_status_t status = gantry__function_run(
        scope, function, specialization, (const gantry_tensor_t *const *)call->values, outputs);
    for (uint32_t i = 0; i < function->output_count; ++i)
        call->outputs[i] = status == GANTRY_OK ? gantry__scope_take(scope, call->outputs[i]) : NULL;
    return status;
}

static gantry_status_t compute_call(gantry_call_t *call) {
    gantry_scope_t *scope = gantry_scope_begin(call->function->runtime, NULL);
    if (!scope) return gantry__function_fail(call->function, GANTRY_RESOURCE_EXHAUSTED);
    GANTRY__TRY(gantry__scope_end_body(scope, started_run_in(call, scope)));
    const gantry_status_t status = settle_outputs(call);
    return status == GANTRY_OK ? GANTRY_OK : gantry__function_fail(call->function, status);
}

/* Callbacks of the job's program, which memory also may be, have its floating-point mode. */
static void run_started(gantry__job_t *job) {
    gantry_call_t *call = (gantry_call_t *)job;
    const gantry__fp_program_t outer = *gantry__fp_slot();
    *gantry__fp_slot() = &call->mode;
    const uint32_t before = gantry__failures();
    note_submitted(call);
    keep_call_failure(call, compute_call(call));
    wait_for_streams(call);
    if (call->status != GANTRY_OK) release_values(call->outputs, call->function->output_count);
    gantry__forget_since(before);
    release_values(call->values, call->function->input_count);
    *gantry__fp_slot() = outer;
}

static void notify_call(gantry__job_t *job) {
    gantry_call_t *call = (gantry_call_t *)job;
    const gantry__fp_program_t outer = *gantry__fp_slot();
    if (!call->callback) return;
    *gantry__fp_slot() = &call->mode;
    {
        GANTRY__PROGRAM_FP_MODE(program);
        call->callback(call, call->user);
    }
    *gantry__fp_slot() = outer;
}

/* The call may end here. */
static void drop_call(gantry__job_t *job) {
    gantry_call_t *call = (gantry_call_t *)job;
    const gantry__fp_program_t outer = *gantry__fp_slot();
    const gantry__fp_mode_t mode = call->mode;
    *gantry__fp_slot() = &mode;
    call_drop(call);
    *gantry__fp_slot() = outer;
}

/* ---- starting ---- */

static gantry_status_t check_start(const gantry_scope_t *scope, const gantry_function_t *function,
                                   const gantry_tensor_t *const *inputs, size_t input_count) {
    if (!function)
        return gantry__refuse(
            "gantry_function_start: the function is NULL; one from gantry_function_trace is accepted");
    if (scope->trace)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "function %s is started in the body of a function that is traced; gantry_function_call is accepted there",
            function->name);
    if (scope->observer)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "function %s is started in a scope with an observer, such as a tape, which would not see the call; gantry_function_call, and a scope without one, are accepted",
            function->name);
    return gantry__function_check_call(scope, function, inputs, input_count,
                                       function->output_count);
}

static gantry_status_t make_call(const gantry_scope_t *scope, gantry_function_t *function,
                                 const gantry_start_options_t *options, gantry_call_t **out_call) {
    const gantry__heap_t *heap = &function->runtime->heap;
    const gantry__fp_program_t program = *gantry__fp_slot();
    gantry_call_t *call = gantry__heap_zalloc(heap, bytes_of_call(function));
    if (!call) return GANTRY_RESOURCE_EXHAUSTED;
    call->job.run = run_started;
    call->job.notify = notify_call;
    call->job.drop = drop_call;
    atomic_init(&call->references, 1);
    call->function = gantry_function_retain(function);
    call->tag = scope->tag;
    call->callback = options->callback;
    call->user = options->user;
    call->mode = program ? *program : GANTRY__FP_OWN;
    call->outputs = call->values + function->input_count;
    *out_call = call;
    call->submitted =
        gantry__heap_zalloc(heap, (stream_count(function->runtime) + 1) * sizeof *call->submitted);
    return call->submitted ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* The scope must not end while bodies and device functions of the start run. */
static gantry_status_t find_trace(gantry_call_t *call, gantry_scope_t *scope,
                                  const gantry_tensor_t *const *inputs) {
    gantry_function_t *function = call->function;
    gantry_status_t status;
    ++scope->loans;
    status = gantry__function_request(scope, function, &call->request);
    if (status == GANTRY_OK && !function->runs_eagerly)
        status = gantry__function_find(function, &call->request, inputs, &call->specialization);
    gantry__scope_end_loan(scope);
    return status == GANTRY_OK ? scope->status : status;
}

static gantry_status_t start_call(gantry_call_t *call, gantry_scope_t *scope,
                                  const gantry_tensor_t *const *inputs) {
    gantry_runtime_t *runtime = call->function->runtime;
    GANTRY__TRY(find_trace(call, scope, inputs));
    for (uint32_t i = 0; i < call->function->input_count; ++i)
        call->values[i] = gantry_tensor_retain(inputs[i]);
    atomic_fetch_add(&call->references, 1); /* the job's */
    const gantry_status_t status =
        gantry__jobs_post(&runtime->jobs, &call->job, atomic_load(&runtime->threads.between_ops));
    if (status != GANTRY_OK) call_drop(call);
    return status;
}

static gantry_status_t function_start(gantry_scope_t *scope, gantry_function_t *function,
                                      const gantry_tensor_t *const *inputs, size_t input_count,
                                      const gantry_start_options_t *given,
                                      gantry_call_t **out_call) {
    gantry_start_options_t options;
    gantry_call_t *call = NULL;
    GANTRY__TRY(check_start(scope, function, inputs, input_count));
    GANTRY__TRY(
        gantry__struct_read(given, 0, &options, sizeof options, "gantry_function_start: options"));
    GANTRY__TRY(gantry__runtime_initialize(function->runtime, function->name));
    gantry_status_t status = make_call(scope, function, &options, &call);
    if (status == GANTRY_OK) status = start_call(call, scope, inputs);
    if (status == GANTRY_OK)
        *out_call = call;
    else if (call)
        call_drop(call);
    return status;
}

gantry_status_t gantry_function_start(gantry_scope_t *scope, gantry_function_t *function,
                                      const gantry_tensor_t *const *inputs, size_t input_count,
                                      const gantry_start_options_t *options,
                                      gantry_call_t **out_call) {
    GANTRY__OWN_FP_MODE(fp);
    if (out_call) *out_call = NULL;
    gantry_status_t status = gantry__scope_check(scope);
    if (status == GANTRY_OK && !out_call)
        status = gantry__refuse("gantry_function_start: out_call is NULL; an address is accepted");
    if (status == GANTRY_OK)
        status = function_start(scope, function, inputs, input_count, options, out_call);
    return scope ? gantry__scope_fail(scope, status) : status;
}

/* ---- asking and waiting ---- */

static gantry_status_t check_is_call(const gantry_call_t *call) {
    if (!call)
        return gantry__refuse("the call is NULL; one from gantry_function_start is accepted");
    return gantry__runtime_check_well(call->function->runtime);
}

gantry_status_t gantry_call_is_done(const gantry_call_t *call, bool *out_is_done) {
    if (out_is_done) *out_is_done = false;
    GANTRY__TRY(check_is_call(call));
    if (!out_is_done)
        return gantry__refuse("gantry_call_is_done: out_is_done is NULL; an address is accepted");
    *out_is_done = gantry__job_is_over(&call->function->runtime->jobs, &call->job);
    return GANTRY_OK;
}

static gantry_status_t check_wait(const gantry_call_t *call, const gantry_scope_t *scope,
                                  const gantry_tensor_t *const *outputs, size_t output_count) {
    GANTRY__TRY(check_is_call(call));
    const gantry_function_t *function = call->function;
    if (!scope && output_count == 0) return GANTRY_OK;
    if (!scope)
        return gantry__refuse(
            "gantry_call_wait: the scope is NULL; one that gets the %zu outputs is accepted, and NULL for none",
            output_count);
    if (scope->runtime != function->runtime)
        return gantry__refuse("function %s belongs to another runtime than the scope",
                              function->name);
    if (output_count != 0 && output_count != function->output_count)
        return gantry__refuse(
            "function %s: gantry_call_wait gets room for %zu outputs; %u and 0 are accepted",
            function->name, output_count, function->output_count);
    if (outputs || output_count == 0) return GANTRY_OK;
    return gantry__refuse("function %s: the array of outputs is NULL; an array of %zu is accepted",
                          function->name, output_count);
}

/* A scope that records gets a tensor from outside, as it gets any other. */
static gantry_status_t started_give_outputs(const gantry_call_t *call, gantry_scope_t *scope,
                                            const gantry_tensor_t **outputs, size_t output_count) {
    for (size_t i = 0; i < output_count; ++i) {
        gantry_tensor_t *own;
        GANTRY__TRY(gantry__tensor_alias(scope, call->outputs[i], &call->outputs[i]->shape, &own));
        gantry__scope_adopt(scope, own);
        outputs[i] = own;
    }
    return GANTRY_OK;
}

/* The call has ended. */
static gantry_status_t give_results(const gantry_call_t *call, gantry_scope_t *scope,
                                    const gantry_tensor_t **outputs, size_t output_count) {
    if (scope) GANTRY__TRY(gantry__scope_check(scope));
    if (call->status != GANTRY_OK)
        return gantry__fail(call->status, "%s",
                            call->message ? call->message : "memory is out for the error's text");
    return scope ? started_give_outputs(call, scope, outputs, output_count) : GANTRY_OK;
}

gantry_status_t gantry_call_wait(gantry_call_t *call, gantry_scope_t *scope,
                                 const gantry_tensor_t **outputs, size_t output_count) {
    GANTRY__OWN_FP_MODE(fp);
    for (size_t i = 0; outputs && i < output_count; ++i) outputs[i] = NULL;
    gantry_status_t status = check_wait(call, scope, outputs, output_count);
    if (status == GANTRY_OK) {
        status = gantry__job_wait(&call->function->runtime->jobs, &call->job);
        if (status != GANTRY_OK) status = gantry__function_fail(call->function, status);
    }
    if (status == GANTRY_OK) status = give_results(call, scope, outputs, output_count);
    if (status == GANTRY_OK) return GANTRY_OK;
    for (size_t i = 0; outputs && i < output_count; ++i) outputs[i] = NULL;
    return scope ? gantry__scope_fail(scope, status) : status;
}
