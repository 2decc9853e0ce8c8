/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Functions: a body of ops that is traced once, placed once, and called many times.
 *
 * A trace runs the body in a recording scope. The same op calls that compute elsewhere become the
 * nodes of a graph there; their results are symbolic tensors, which have a type and a shape, and no
 * elements; a size that depends on data is -1. The graph is placed, with one reason for each node,
 * and its memory is planned before the first call.
 *
 * Tensors and variables from outside that the body uses are captured by reference. Reads and
 * assignments of a variable keep the body's order, and happen in each call.
 *
 * The caller that made a function must release it; the scope of a call owns the outputs. Several
 * threads may call one function at the same time, each with a scope of its own. */
#ifndef GANTRY_FUNCTION_H
#define GANTRY_FUNCTION_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A function. The caller that made it releases it. */
typedef struct gantry_function_t gantry_function_t;

/** The most inputs, and the most outputs, of a function. */
#define GANTRY_MAX_FUNCTION_VALUES 65536

/** A dimension of an input that takes any size in one trace: in the body the size is -1, as one
 * that depends on data. */
#define GANTRY_OPEN_SIZE (-2)

/** An input of a function. The struct does not grow. */
typedef struct gantry_input_spec_t {
    const char *name;     /**< The name of its node; NULL: one is made. */
    gantry_dtype_t dtype; /**< The type of its elements. */
    /** Its shape; a dimension of -1 takes any size, with a trace for each, and one of
     * GANTRY_OPEN_SIZE takes any size, with one trace for all. */
    gantry_shape_t shape;
} gantry_input_spec_t;

/** A text of metadata under a key. The struct does not grow. */
typedef struct gantry_metadata_t {
    const char *key;  /**< Not empty; each key once. */
    const char *text; /**< Its text. */
} gantry_metadata_t;

/** The body of a function: calls ops in scope. It must set every output, to a tensor of the scope
 * or to an input, unless it returns with the scope failed. It is called once for each combination
 * of sizes of the dimensions that the signature leaves open, and for each device and choice of
 * batch_invariant that the scope of a call requests, and once for each gantry_function_get_graph.
 * It must not end the scope: FailedPrecondition. */
typedef void (*gantry_function_body_fn)(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                        const gantry_tensor_t **outputs, void *user);

/** Passes over the graph of a trace. None changes a bit of a result; for cuBLASLt and cuDNN,
 * see GANTRY_PASS_EPILOGUES. */
typedef enum gantry_pass_t {
    /** Nodes on which no result and no variable depends are not placed. They never run. */
    GANTRY_PASS_DEAD_NODES = 1 << 0,
    /** Nodes whose inputs are all constants are computed when the body is traced. */
    GANTRY_PASS_CONSTANT_FOLDING = 1 << 1,
    /** Nodes that compute the same become one. */
    GANTRY_PASS_COMMON_SUBEXPRESSIONS = 1 << 2,
    /** Elementwise ops that follow each other on one device become one pass over memory, also
     * around Sum, Mean, Max and Min over the last axis. */
    GANTRY_PASS_ELEMENTWISE_FUSION = 1 << 3,
    /** A result is in the memory of an input that ends with its node. */
    GANTRY_PASS_IN_PLACE = 1 << 4,
    /** Copies to devices with a queue begin as soon as their source is computed. */
    GANTRY_PASS_EARLY_COPIES = 1 << 5,
    /** The kernel of a matrix product or a convolution also computes the elementwise ops after it:
     * bias and activation; that of the gradient of a max pool also the gradient of the Relu in
     * front of it. cuBLASLt and cuDNN may choose another algorithm for such a product;
     * docs/numerics.md says what may differ. */
    GANTRY_PASS_EPILOGUES = 1 << 6,
    /** Fused elementwise ops that compute new values of variables by the same program become one
     * launch per device, whatever the shapes of the variables. */
    GANTRY_PASS_JOINED_UPDATES = 1 << 7,
    /** Transposes around convolutions and pools cancel: what is between them is computed with the
     * axes in another order. */
    GANTRY_PASS_LAYOUT = 1 << 8,
    GANTRY_PASS_ALL = (1 << 9) - 1 /**< All of them. */
} gantry_pass_t;

/** An input that a function gets once, such as the weights of a layer. Its traces hold the tensor
 * as a constant, which each device gets once for all calls. Calls do not pass it; the other inputs
 * keep their order. The struct does not grow. */
typedef struct gantry_bound_input_t {
    const char *name; /**< The input with this name. NULL: the one at index. */
    uint32_t index;   /**< The input's position in the signature, if name is NULL. */
    /** Its value, of the type and a shape that the signature accepts. The function holds a
     * reference to it. */
    const gantry_tensor_t *tensor;
} gantry_bound_input_t;

/** Options of a function. */
typedef struct gantry_function_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** The most traces that are kept, each for one combination of sizes; the one that was not used
     * for longest makes room. 0: 16. */
    uint32_t most_traces;
    /** Runs the body op by op in each call, without a trace: to look at its values. */
    bool runs_eagerly;
    /** The most threads that run parts of one call at the same time, the caller's included;
     * negative: only the caller's thread. 0: those of trimmed_with, else those of the runtime,
     * gantry_set_inter_op_parallelism_threads. Devices with a queue of their own work at the same
     * time anyway. */
    int32_t inter_op_threads;
    /** The most bytes that a call may take on any device, results included, as
     * gantry_function_get_memory counts them; 0: no limit. If the body's order takes more, nodes
     * without effects run in an order that takes less; if that is not enough, elementwise values
     * that are used late are computed again, and then the layout pass is left out, for which the
     * body runs again; if that is not enough either, tracing fails with ResourceExhausted and the
     * numbers. */
    uint64_t memory_budget_bytes;
    /** GANTRY_PASS_... that are left out, to look at the graph without them; 0: none. */
    uint32_t passes_off;
    /** Whether kernels that follow each other on one device are recorded as a graph of that device
     * (CUDA: a CUDA graph), which later calls launch as one. GANTRY_DEFAULT: yes, where the backend
     * makes graphs. The explanation says which are. Results have the same bits. */
    gantry_choice_t device_graphs;
    /** The function that this one was made for, of the same runtime: gantry_function_trim of that
     * one trims this one, too, as long as both live. NULL: none. */
    const gantry_function_t *trimmed_with;
    /** A row of a result has the same bits by itself and in every batch: the option batch_invariant
     * of the runtime (runtime.h). GANTRY_DEFAULT: that of trimmed_with, or as the scope of each
     * call. */
    gantry_choice_t batch_invariant;
    /** Inputs that are given now and no longer passed: gantry_bound_input_t. NULL: none. */
    const gantry_bound_input_t *bound;
    uint32_t bound_count; /**< Entries of bound. */
    /** The names of its outputs, which gantry_function_get_output returns; NULL: none, and an
     * entry of NULL is none. Of a function from a graph, they take the place of the graph's. */
    const char *const *output_names;
    /** Texts of metadata, which gantry_function_get_metadata returns; of a function from a graph,
     * in addition to the graph's. */
    const gantry_metadata_t *metadata;
    size_t metadata_count; /**< Entries of metadata. */
} gantry_function_options_t;

/** Makes a function of a body. If no dimension of an input is -1, the body is traced now, and its
 * errors are returned, those of placement included; else at the first call with new sizes. Where
 * placement cannot be refused, as under soft placement, the trace is placed, and devices are
 * opened, when it is first called or explained. It is placed now, too, with a memory budget, and
 * where placements are logged, warned of or given to a callback. body and user must live as long as
 * the function. name NULL: "function". options may be NULL.
 *
 * InvalidArgument for a signature that is not possible, or a body that sets no output or a tensor
 * of another trace; else the body's own first error, with the function's name in front. */
GANTRY_API gantry_status_t gantry_function_trace(gantry_runtime_t *runtime, const char *name,
                                                 gantry_function_body_fn body, void *user,
                                                 const gantry_input_spec_t *inputs,
                                                 size_t input_count, size_t output_count,
                                                 const gantry_function_options_t *options,
                                                 gantry_function_t **out_function);
/** Adds a reference, which gantry_function_release ends, and returns the function; NULL for NULL.
 * Body and user must live until the last release. */
GANTRY_API gantry_function_t *gantry_function_retain(gantry_function_t *function);
/** Releases a reference; NULL does no harm. Calls that run, also in other threads, keep what they
 * need. No call may begin after the last release: a program must make sure of that for its other
 * threads. */
GANTRY_API void gantry_function_release(gantry_function_t *function);

/** Calls a function: computes its outputs, which the scope owns. The scope's device is the request
 * of all nodes that have none. Several threads may call one function at a time. In the scope of a
 * trace, the body becomes a part of that trace.
 *
 * Returns the scope's status. A failure names the node, its op and its device; the function stays
 * usable. */
GANTRY_API gantry_status_t gantry_function_call(gantry_scope_t *scope, gantry_function_t *function,
                                                const gantry_tensor_t *const *inputs,
                                                size_t input_count, const gantry_tensor_t **outputs,
                                                size_t output_count);

/** Options of gantry_function_clone. */
typedef struct gantry_clone_options_t {
    uint32_t struct_size;  /**< Its sizeof. */
    bool replaces_devices; /**< The device below is the request of all nodes; see there. */
    /** The clone's name; NULL: that of the function. */
    const char *name;
    /** A device text: the request of the nodes that have none, in front of that of a call's scope,
     * field by field. With replaces_devices, of all nodes: what the body requests, by scopes,
     * blocks of gantry_device_begin, device functions and colocations, is ignored. Uses of a
     * variable stay where it lives. NULL: as the function. */
    const char *device;
    const gantry_bound_input_t *bound; /**< Inputs that are given now; NULL: none. */
    uint32_t bound_count;              /**< Entries of bound. */
} gantry_clone_options_t;

/** Makes a function with the body of another, for another device or with some of its inputs given
 * once. It has the function's options, and traces, memory and attached data of its own. It holds
 * the function: body and user must live until both are released. A clone of a clone keeps what that
 * one has bound; its device goes in front of that one's. It is traced as gantry_function_trace
 * says. options NULL: a clone that differs in nothing.
 *
 * InvalidArgument for an input that does not exist, is bound twice or has a value that the
 * signature does not accept, and for a bad device text; else the body's own first error. */
GANTRY_API gantry_status_t gantry_function_clone(gantry_function_t *function,
                                                 const gantry_clone_options_t *options,
                                                 gantry_function_t **out_clone);

/** A call of a function that its caller does not wait for. Its starter releases it. Thread-safe. */
typedef struct gantry_call_t gantry_call_t;

/** Called once when a call has ended: computed on all devices, or failed. It runs on a thread of
 * the runtime, and may call Gantry: gantry_call_wait gives it the results, into a scope of its own.
 * There, gantry_call_wait of a call that has not ended, and gantry_runtime_release, are refused
 * with FailedPrecondition. While it runs, another call waits for the thread. */
typedef void (*gantry_call_fn)(gantry_call_t *call, void *user);

/** Options of gantry_function_start. */
typedef struct gantry_start_options_t {
    uint32_t struct_size;    /**< Its sizeof. */
    gantry_call_fn callback; /**< Called at the end; NULL: none. */
    void *user;              /**< For callback. */
} gantry_start_options_t;

/** Starts a call of a function and returns without waiting for it: a thread of the runtime computes
 * it on CPU devices, submits it to other devices, and sleeps until they have ended. It takes device
 * request, tag and batch_invariant of the scope, which may end meanwhile. Function and inputs may
 * be released meanwhile, too. It is traced here, if it has no trace that fits.
 *
 * Calls begin in the order in which they were started, and run at the same time as each other and
 * as other work, as calls of several threads do: calls that use one variable need a wait between
 * them. As many run at a time as gantry_set_inter_op_parallelism_threads says, at most 32; 0: 4. If
 * that is 1, each begins when the one before has ended, its callback included. If it is negative,
 * there are no such threads: gantry_function_start runs the call, waits for its end, calls back and
 * returns. A call that was started cannot be cancelled. gantry_runtime_synchronize and
 * gantry_runtime_release wait for all of them.
 *
 * FailedPrecondition in the body of a function that is traced, and in a scope with an observer,
 * such as a tape; ResourceExhausted if there is no thread; else the errors of gantry_function_call
 * that are known before the call runs. Returns the scope's status. options may be NULL. */
GANTRY_API gantry_status_t gantry_function_start(gantry_scope_t *scope, gantry_function_t *function,
                                                 const gantry_tensor_t *const *inputs,
                                                 size_t input_count,
                                                 const gantry_start_options_t *options,
                                                 gantry_call_t **out_call);
/** Says, without waiting, whether gantry_call_wait would return at once. */
GANTRY_API gantry_status_t gantry_call_is_done(const gantry_call_t *call, bool *out_is_done);
/** Waits until the call has ended and its callback has returned; in the callback, it returns at
 * once. The scope owns the outputs, as if it had called the function; each wait gives it tensors
 * over the same memory. With output_count 0 it gives none. Returns the scope's status: an error of
 * the call names the function and the node. scope may be NULL if output_count is 0. */
GANTRY_API gantry_status_t gantry_call_wait(gantry_call_t *call, gantry_scope_t *scope,
                                            const gantry_tensor_t **outputs, size_t output_count);
/** Releases a call; NULL does no harm. A call that has not ended goes on, and calls back. */
GANTRY_API void gantry_call_release(gantry_call_t *call);

/** Frees the memory that the function keeps between calls on all devices: a block for each of its
 * traces, and for each call that ran at the same time. The same holds for functions that were made
 * for it (trimmed_with): those of its gradients are. The next call allocates it again. Calls that
 * run keep theirs. *out_bytes (may be NULL) is how much was freed. gantry_trim_memory gives it back
 * to the driver. A device that runs out of memory frees its blocks of all functions by itself. */
GANTRY_API gantry_status_t gantry_function_trim(gantry_function_t *function, uint64_t *out_bytes);

/** Attaches data to a function under a key, an address of the caller's own: for libraries on top,
 * which keep there what they made for the function. release gets the data when the function ends.
 *
 * Returns the data under the key: if there is some already, that, and data is not taken. data NULL
 * only looks the key up. Returns NULL if there is none, or if memory is out. Thread-safe. */
GANTRY_API void *gantry_function_attach(gantry_function_t *function, const void *key, void *data,
                                        gantry_release_fn release);

/** Its name; the function owns it. */
GANTRY_API const char *gantry_function_name(const gantry_function_t *function);

/** An input or an output of a function. */
typedef struct gantry_function_value_t {
    uint32_t struct_size; /**< Its sizeof. */
    const char *name;     /**< "" without one; the function owns it. */
    /** The type of its elements; of an output GANTRY_DTYPE_NONE before the first trace. */
    gantry_dtype_t dtype;
    /** Of an input, as the signature has it. Of an output, that of the newest trace, with -1 for
     * sizes that depend on data or are open; rank 0 before the first one. */
    gantry_shape_t shape;
} gantry_function_value_t;

/** The number of inputs; 0 for NULL. */
GANTRY_API size_t gantry_function_input_count(const gantry_function_t *function);
/** The number of outputs; 0 for NULL. */
GANTRY_API size_t gantry_function_output_count(const gantry_function_t *function);
/** Reads an input. out_value->struct_size must be set. */
GANTRY_API gantry_status_t gantry_function_get_input(gantry_function_t *function, size_t index,
                                                     gantry_function_value_t *out_value);
/** Reads an output. out_value->struct_size must be set. */
GANTRY_API gantry_status_t gantry_function_get_output(gantry_function_t *function, size_t index,
                                                      gantry_function_value_t *out_value);
/** The number of texts of metadata. */
GANTRY_API size_t gantry_function_metadata_count(const gantry_function_t *function);
/** Reads a text of metadata with its key; the function owns both. */
GANTRY_API gantry_status_t gantry_function_get_metadata(const gantry_function_t *function,
                                                        size_t index,
                                                        gantry_metadata_t *out_metadata);

/** Names the next op of the scope that is recorded: "mul". Ops that run ignore it. */
GANTRY_API gantry_status_t gantry_scope_name_next(gantry_scope_t *scope, const char *name);
/** Says of what the scope's next ops are made: "model.onnx: node 'a' (Gather, opset 17)". Failures
 * of these ops in a call of a function, and those that a device reports later, say it. Scopes begun
 * in this one later inherit it. A trace keeps a copy; where ops run at once the text must live
 * until another one is set, and until the scopes that inherited it have ended. NULL: nothing. */
GANTRY_API gantry_status_t gantry_scope_set_origin(gantry_scope_t *scope, const char *origin);
/** Begins a scope inside another whose ops run after the ops that made the given tensors and those
 * of the outer scopes. Where ops run at once, this holds anyway. Returns a scope that has failed if
 * a tensor is NULL or belongs to another trace. */
GANTRY_API gantry_scope_t *gantry_scope_begin_after(gantry_scope_t *parent,
                                                    const gantry_tensor_t *const *tensors,
                                                    size_t count);

/** Begins a scope inside another whose ops run on the device of the op that made the tensor, as
 * tf.colocate_with does. It has no device request of outer scopes, and may get one of its own. In a
 * trace, all nodes that are colocated share one device on which each of them can run; a variable
 * among them decides. What cannot be is ignored under soft placement, and an error without it. For
 * a tensor with elements, the device is the one that holds it. */
GANTRY_API gantry_scope_t *gantry_scope_begin_with(gantry_scope_t *parent,
                                                   const gantry_tensor_t *tensor);

/** Forms of an explanation. */
typedef enum gantry_explain_form_t {
    GANTRY_EXPLAIN_TEXT = 0,    /**< Lines to read: nodes, copies, memory. */
    GANTRY_EXPLAIN_JSON = 1,    /**< The same for a program. */
    GANTRY_EXPLAIN_GRAPHVIZ = 2 /**< A drawing for dot: devices as colours, copies as bold edges. */
} gantry_explain_form_t;

/** Writes what the function's newest trace became: each node's device with the reason, each copy
 * with its bytes, which kernels are replayed as graphs of a device, and the planned memory of each
 * device. out_needed gets the length without the final zero; out may be NULL if out_bytes is 0.
 * FailedPrecondition before the first trace. */
GANTRY_API gantry_status_t gantry_function_explain(gantry_function_t *function,
                                                   gantry_explain_form_t form, char *out,
                                                   size_t out_bytes, size_t *out_needed);

/** The memory that one call takes on a device. */
typedef struct gantry_function_memory_t {
    uint32_t struct_size;     /**< Its sizeof. */
    char device[128];         /**< The device's full name. */
    uint64_t planned_bytes;   /**< Intermediate values, with the plan. */
    uint64_t unplanned_bytes; /**< The same values side by side. */
    uint64_t constant_bytes;  /**< Constants, once for all calls. */
    /** Results, new values of variables, copies and their sources; none whose size depends on
     * data. */
    uint64_t result_bytes;
} gantry_function_memory_t;

/** The memory that a call of the function's newest trace takes, before anything runs. Writes up to
 * capacity devices and the full count. out_memory[0].struct_size must be set. */
GANTRY_API gantry_status_t gantry_function_get_memory(gantry_function_t *function, size_t capacity,
                                                      gantry_function_memory_t *out_memory,
                                                      size_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
