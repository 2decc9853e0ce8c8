/* SPDX-License-Identifier: Apache-2.0 */
/* The struct of a function: a body and what was traced of it. A trace is kept for each (sizes of
 * the inputs, request of the calling scope). It holds the graph, its schedule, and the frames that
 * no call runs at the moment.
 *
 * Owner: traces are counted; the function's list holds one reference, each call another. Threads:
 * thread-safe; the lock is held for look-ups, and while a body is traced. */
#ifndef GANTRY_FUNCTION_FUNCTION_H
#define GANTRY_FUNCTION_FUNCTION_H

#include <gantry/function.h>

#include "base/arena.h"
#include "device/keeper.h"
#include "function/frame/frame.h"
#include "function/trace/draw_list.h"
#include "base/os/thread.h"

/* What the scope of a call requests. */
typedef struct gantry__call_request_t {
    const gantry__wish_t *wish; /* NULL: none */
    bool batch_invariant;
} gantry__call_request_t;

typedef struct gantry__specialization_t {
    struct gantry__specialization_t *next; /* newest use first */
    uint32_t references;                   /* under the function's lock */
    gantry__call_request_t request;
    uint32_t losses;        /* the device table's count of losses when it was placed */
    gantry_shape_t *shapes; /* those of the inputs, then of the outputs; -1: open in the trace */
    gantry_dtype_t *output_dtypes; /* in the graph's arena */
    gantry__graph_t graph;
    gantry__trace_draws_t draws;
    gantry__schedule_t schedule;
    uint64_t bytes_over_budget; /* of the best plan if it exceeds the memory budget; else 0 */
    /* The graph went through the passes and is placed. A trace of gantry_function_trace waits for
     * its first use, where nothing can be refused: it opens no device that no call needs. */
    atomic_bool is_planned;
    gantry__frame_t *idle; /* under the function's lock */
} gantry__specialization_t;

/* What a library on top keeps with a function. */
typedef struct gantry__attached_t {
    struct gantry__attached_t *next;
    const void *key;
    void *data;
    gantry_release_fn release;
} gantry__attached_t;

/* What a function of a graph knows without running its body. */
typedef struct gantry__function_origin_t {
    /* Records a trace from user; *out_is_recorded false: the body must run. NULL: it does. */
    gantry_status_t (*record)(void *user, gantry__specialization_t *specialization,
                              bool *out_is_recorded);
    /* The graph that the function was made of, which user owns. */
    gantry_status_t (*describe)(void *user, struct gantry_graph_t **out_graph);
} gantry__function_origin_t;

/* A body, and what it gets in addition to the inputs of a call. */
typedef struct gantry__function_body_t {
    gantry_function_body_fn call;
    void *user;
    gantry_release_fn release_user;          /* gets user at the end; NULL: the program's */
    const gantry__function_origin_t *origin; /* NULL: it was traced from a body */
    gantry_function_t *owner; /* of a clone, whose body it is; a reference; else NULL */
    /* its own inputs, and for each its value, a reference, or NULL where it is the next input of
     * the function; NULL: its inputs are those of the function */
    gantry_input_spec_t *inputs;
    gantry_tensor_t **bound;
    uint32_t input_count;       /* of inputs and bound */
    const gantry__wish_t *wish; /* goes before that of a call; NULL: none */
    bool replaces_devices;      /* what the body requests is ignored */
} gantry__function_body_t;

/* Whether the function computes what its body says: no input is bound, and no device is given. */
static inline bool gantry__function_body_is_whole(const gantry__function_body_t *body) {
    return !body->bound && !body->wish && !body->replaces_devices;
}

/* The names of outputs and the metadata of a function. */
typedef struct gantry__function_texts_t {
    gantry__arena_t arena;     /* what the others point to */
    const char **output_names; /* NULL: none */
    gantry_metadata_t *metadata;
    size_t metadata_count;
} gantry__function_texts_t;

struct gantry_function_t {
    atomic_uint references;
    gantry_runtime_t *runtime;
    gantry__keeper_t keeper; /* keeps the idle frames */
    const char *name;        /* the runtime's copy */
    gantry__function_body_t body;
    gantry_input_spec_t *inputs;
    gantry__function_texts_t texts;
    uint32_t input_count, output_count, most_traces;
    bool runs_eagerly;
    int32_t inter_op_threads;
    uint64_t memory_budget_bytes;    /* 0: none */
    uint32_t passes_off;             /* GANTRY_PASS_... */
    bool is_never_replayed;          /* device_graphs is off */
    gantry_choice_t batch_invariant; /* GANTRY_DEFAULT: as the caller's scope */
    gantry__mutex_t tracing;         /* one body at a time */
    gantry__mutex_t lock;            /* the list, its references and its frames */
    gantry__specialization_t *specialization;
    struct gantry__attached_t *attached; /* under lock */
    bool is_tracing;                     /* under lock, as the next one */
    gantry__thread_t tracer;             /* the thread that runs the body, while is_tracing */
};

/* ---- making: function.c, function_bind.c ---- */

/* What a function is made of. */
typedef struct gantry__function_source_t {
    const char *call; /* the public call, in front of messages */
    const char *name; /* NULL: "function" */
    gantry_function_body_fn body;
    void *user;
    gantry_release_fn release_user; /* NULL: none; not called if the function is not made */
    const gantry__function_origin_t *origin; /* NULL: a body */
    const gantry_input_spec_t *inputs;
    size_t input_count, output_count;
    const char *const *output_names; /* NULL: none */
    const gantry_metadata_t *metadata;
    size_t metadata_count;
} gantry__function_source_t;

/* Makes a function, as gantry_function_trace. The options' names and texts of metadata go before
 * those of the source. */
gantry_status_t gantry__function_make(gantry_runtime_t *runtime,
                                      const gantry__function_source_t *source,
                                      const gantry_function_options_t *options,
                                      gantry_function_t **out_function);

/* InvalidArgument, with `call` in front, for an input, number i, that is not possible. */
gantry_status_t gantry__function_check_input(const char *call, const gantry_input_spec_t *input,
                                             size_t i);
/* Makes a function of the source, without a trace. */
gantry_status_t gantry__function_begin(gantry_runtime_t *runtime,
                                       const gantry__function_source_t *source,
                                       const gantry_function_options_t *options,
                                       gantry_function_t **out_function);
/* Traces the function if it can be traced now. A failure, which may be that of the steps before,
 * ends it; *out_function is NULL then. */
gantry_status_t gantry__function_finish(gantry_function_t *function, gantry_status_t status,
                                        gantry_function_t **out_function);
/* Gives the function's body these inputs, and takes them from its signature. by: the public
 * call. */
gantry_status_t gantry__function_bind(gantry_function_t *function,
                                      const gantry_bound_input_t *bound, size_t count,
                                      const char *by);
/* Gives a clone what the body of the other function has. */
gantry_status_t gantry__function_copy_body(gantry_function_t *clone, gantry_function_t *function);
void gantry__function_free_body(gantry_function_t *function);
/* Calls the body in a scope that is only for it. */
gantry_status_t gantry__function_call_body(const gantry_function_t *function, gantry_scope_t *scope,
                                           const gantry_tensor_t *const *inputs,
                                           const gantry_tensor_t **outputs);
/* Refuses a tensor that does not fit the input. */
gantry_status_t gantry__function_fail_fit(const gantry_function_t *function, uint32_t input,
                                          const gantry_tensor_t *tensor);
/* Whether a tensor has type and shape of the input. */
static inline gantry_status_t gantry__function_check_fit(const gantry_function_t *function,
                                                         uint32_t i,
                                                         const gantry_tensor_t *tensor) {
    const gantry_input_spec_t *input = &function->inputs[i];
    bool fits = tensor->dtype == input->dtype && tensor->shape.rank == input->shape.rank;
    for (int32_t k = 0; fits && k < input->shape.rank; ++k)
        fits = input->shape.dims[k] < 0 || input->shape.dims[k] == tensor->shape.dims[k];
    return fits ? GANTRY_OK : gantry__function_fail_fit(function, i, tensor);
}

/* Whether rows of the function's results do not depend on the batch, in a scope of this kind. */
static inline bool gantry__function_keeps_rows(const gantry_function_t *function, bool of_scope) {
    return function->batch_invariant == GANTRY_DEFAULT ? of_scope
                                                       : function->batch_invariant == GANTRY_ON;
}
/* ---- traces ---- */

/* Whether the signature leaves no size open. */
bool gantry__function_is_known(const gantry_function_t *function);
/* Makes the trace for the shapes of the signature, which are known. */
gantry_status_t gantry__function_trace_known(gantry_function_t *function);
/* The planned trace for these inputs in this scope, made when there is none; a reference of the
 * caller's own. inputs NULL: for the shapes of the signature, which are known. */
gantry_status_t gantry__function_find(gantry_function_t *function,
                                      const gantry__call_request_t *request,
                                      const gantry_tensor_t *const *inputs,
                                      gantry__specialization_t **out_specialization);
/* The newest trace, planned; NULL: none. */
gantry_status_t gantry__function_newest(gantry_function_t *function,
                                        gantry__specialization_t **out_specialization);
void gantry__function_leave(gantry_function_t *function, gantry__specialization_t *specialization);
/* Runs the passes and makes the schedule. */
gantry_status_t gantry__specialization_plan(const gantry_function_t *function,
                                            gantry__specialization_t *specialization);
/* Whether the plan of a new trace may wait for the first use: where soft placement gives each node
 * a device by the registry of kernels, and there is no budget, planning refuses nothing. A program
 * that logs placements, is warned of them or has a callback for them gets them with the trace. */
bool gantry__specialization_may_wait(const gantry_function_t *function,
                                     const gantry__specialization_t *specialization);
/* Whether rows of the results of the newest trace do not depend on the batch; without a trace, of
 * one that no call asks for. */
bool gantry__function_newest_keeps_rows(gantry_function_t *function);
/* Traces the body once more, for the sizes of the newest trace and without a request of a device,
 * under an observer, and shows the graph before any pass, which ends with the call. It keeps rows
 * as the newest trace, and draws from the same streams. FailedPrecondition without a trace, and for
 * a draw without a seed that the newest trace has not. */
gantry_status_t gantry__function_trace_again(
    gantry_function_t *function, struct gantry_observer_t *observer,
    gantry_status_t (*show)(const gantry__specialization_t *specialization, void *user),
    void *user);
/* The keeper's function destroys its frames with blocks on the device that no call runs. */
uint64_t gantry__function_give_up(gantry__keeper_t *keeper, const gantry_logical_device_t *device);

/* Puts the function's name in front of the failure, unless it is there: a function that calls
 * itself is named once. Returns status. */
gantry_status_t gantry__function_fail(const gantry_function_t *function, gantry_status_t status);

/* ---- calls: function_call.c ---- */

/* Whether the function may be called in the scope with these inputs and so many outputs. */
gantry_status_t gantry__function_check_call(const gantry_scope_t *scope,
                                            const gantry_function_t *function,
                                            const gantry_tensor_t *const *inputs,
                                            size_t input_count, size_t output_count);
/* What a call in the scope requests. */
static inline gantry_status_t gantry__function_request(const gantry_scope_t *scope,
                                                       const gantry_function_t *function,
                                                       gantry__call_request_t *out_request) {
    const gantry_device_choice_t choice = {
        .op = "PartitionedCall", .node = function->name, .output_count = function->output_count};
    out_request->batch_invariant =
        gantry__function_keeps_rows(function, scope->order.batch_invariant);
    return gantry__scope_wish(scope, &choice, &out_request->wish);
}
/* Runs the function in the scope, which owns the outputs. specialization: the one that serves,
 * whose reference the call ends; NULL: the call finds it. */
gantry_status_t gantry__function_run(gantry_scope_t *scope, gantry_function_t *function,
                                     gantry__specialization_t *specialization,
                                     const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs);
/* Runs the body in a scope and checks the tensors that it sets. */
gantry_status_t gantry__function_run_body(const gantry_function_t *function, gantry_scope_t *scope,
                                          const gantry_tensor_t *const *inputs,
                                          const gantry_tensor_t **outputs);

#endif
