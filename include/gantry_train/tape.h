/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Gradients by reverse-mode differentiation, as TensorFlow's GradientTape.
 *
 * A tape records the ops of a scope that depend on what it watches: tensors that were named, and
 * the variables that are read. gantry_tape_gradient then runs the gradient of each recorded op in
 * the tape's scope, from the target backwards. That works where ops run at once, and in the scope
 * of a trace: a training step is one function.
 *
 *     gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
 *     const gantry_tensor_t *loss = ... gantry_variable_read(scope, w) ...;
 *     const gantry_tensor_t *g;
 *     gantry_tape_gradient(tape, loss, NULL, &(gantry_source_t){.variable = w}, 1, NULL, &g);
 *     gantry_tape_end(tape);
 *
 * Branches, loops and functions: where ops run at once, those of the bodies are recorded. A branch
 * or a loop in a trace, and a function that is called, are recorded as one op, and their gradient
 * runs the bodies again:
 *
 *   - The bodies and their user data must live until the gradient is computed. A tape keeps the
 *     tensors of the trace that ops made or took while it recorded, and the functions that it
 *     recorded, whose user data must live as long.
 *   - A body that draws numbers or assigns a variable has no gradient: Unimplemented, with the name
 *     of the op. Nor has one that reads a variable that was assigned since: FailedPrecondition.
 *   - A branch runs its body once more. A loop runs its n steps twice more, and keeps the loop
 *     variables that change: n values of each, in chunks of 16. To keep them copies 16 + n / 32
 *     values for each step. A size of such a variable must not depend on data: Unimplemented.
 *   - A function has a backward function, which runs its body once more. It is traced once for each
 *     combination of shapes, sources and outputs, and kept with the function.
 *
 * Their gradients have gradients in turn. None and zeros are where TensorFlow has them.
 *
 * A tape belongs to the thread of its scope. */
#ifndef GANTRY_TRAIN_TAPE_H
#define GANTRY_TRAIN_TAPE_H

#include <gantry/gantry.h>
#include <gantry_train/gradient.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A tape. The caller that began it must end it. After the end of its scope it computes no
 * gradients: FailedPrecondition. */
typedef struct gantry_tape_t gantry_tape_t;

/** Options of a tape. */
typedef struct gantry_tape_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    /** Whether several gradients may be computed; else the first one ends the recording and frees
     * what was recorded. */
    bool persistent;
    /** Whether variables are watched only if gantry_tape_watch_variable names them. */
    bool watches_named_variables;
} gantry_tape_options_t;

/** Begins to record the ops of a scope, and of scopes begun in it from now on. Tapes may be
 * nested: an outer tape also records the gradients that an inner one computes. No tape records its
 * own. options may be NULL. NULL after a failure, which the scope keeps. */
GANTRY_API gantry_tape_t *gantry_tape_begin(gantry_scope_t *scope,
                                            const gantry_tape_options_t *options);
/** Ends a tape and frees what it recorded; NULL does no harm. In a callback of the tape's own
 * gradient it ends after the gradient. */
GANTRY_API void gantry_tape_end(gantry_tape_t *tape);

/** Stops the recording for now, or goes on with it. */
GANTRY_API void gantry_tape_pause(gantry_tape_t *tape, bool pauses);
/** Watches a tensor of a floating type. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_tape_watch(gantry_tape_t *tape, const gantry_tensor_t *tensor);
/** Watches a variable, for a tape that does not watch all. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_tape_watch_variable(gantry_tape_t *tape,
                                                      gantry_variable_t *variable);

/** What a gradient is computed for: one of both. The struct does not grow. */
typedef struct gantry_source_t {
    const gantry_tensor_t *tensor; /**< A tensor, or NULL. */
    gantry_variable_t *variable;   /**< A variable that was read while the tape recorded. */
} gantry_source_t;

/** Options of a gradient. */
typedef struct gantry_gradient_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    /** Whether a source on which the target does not depend gets zeros; else it gets NULL, which is
     * no error, as TensorFlow's None. */
    bool zeros_where_unconnected;
} gantry_gradient_options_t;

/** Computes the gradient of a target with regard to each source: out_gradients[i] is a tensor of
 * the source's type and shape, which the scope owns, or NULL. target_gradient (may be NULL: ones)
 * is the gradient that reaches the target; it has the target's type and shape. Sizes of either that
 * depend on data are compared in each call of the function. options may be NULL.
 *
 * Unimplemented for a recorded op that has no gradient here; FailedPrecondition for a second
 * gradient of a tape that is not persistent, for one that a callback of the gradient requests, and
 * for a variable that was assigned since a body read it. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_tape_gradient(gantry_tape_t *tape, const gantry_tensor_t *target,
                                                const gantry_tensor_t *target_gradient,
                                                const gantry_source_t *sources, size_t source_count,
                                                const gantry_gradient_options_t *options,
                                                const gantry_tensor_t **out_gradients);

/** Computes gradients as gantry_tape_gradient does, but the gradient of a source from which rows
 * are gathered (Gather along axis 0, EmbeddingLookup) is slices. Slices of several uses are joined.
 * They become dense where another use has a dense gradient, and where the gradient flows on to
 * another source. The scope owns the tensors. */
GANTRY_API gantry_status_t gantry_tape_gradient_slices(
    gantry_tape_t *tape, const gantry_tensor_t *target, const gantry_tensor_t *target_gradient,
    const gantry_source_t *sources, size_t source_count, const gantry_gradient_options_t *options,
    gantry_gradient_t *out_gradients);

/** Computes the Jacobian of a target with regard to each source, as tape.jacobian: out_jacobians[i]
 * has the shape of the target, then that of the source, and the scope owns it; NULL where the
 * target does not depend on the source. Runs the backward pass once for each element of the target,
 * in a trace too: a target of 100 elements costs 100 gradients. The tape counts it as one gradient.
 * options may be NULL.
 *
 * InvalidArgument for more than GANTRY_MAX_RANK dimensions of both together; Unimplemented for
 * sizes that depend on data; else as gantry_tape_gradient. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_tape_jacobian(gantry_tape_t *tape, const gantry_tensor_t *target,
                                                const gantry_source_t *sources, size_t source_count,
                                                const gantry_gradient_options_t *options,
                                                const gantry_tensor_t **out_jacobians);
/** Computes the Jacobian of each sample, as tape.batch_jacobian: target [batch, ...] and source
 * [batch, ...] give [batch, ..., ...]. Sample i of the target must depend on sample i of the source
 * only, which is not checked. Runs the backward pass once for each element of one sample. Zeros
 * where the target does not depend on the source, as TensorFlow. NULL after a failure, which the
 * scope keeps. */
GANTRY_API const gantry_tensor_t *gantry_tape_batch_jacobian(gantry_tape_t *tape,
                                                             const gantry_tensor_t *target,
                                                             const gantry_tensor_t *source);

/** Returns the tensor, through which no gradient flows. */
GANTRY_API const gantry_tensor_t *gantry_stop_gradient(gantry_scope_t *scope,
                                                       const gantry_tensor_t *tensor);

/** Computes gradients of inputs from those of outputs: sets input_gradients[i], to NULL where there
 * is none. The gradient of an output that nothing depends on is NULL. The function must not end the
 * scope: FailedPrecondition. */
typedef void (*gantry_backward_fn)(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                   const gantry_tensor_t *const *outputs,
                                   const gantry_tensor_t *const *output_gradients,
                                   const gantry_tensor_t **input_gradients, void *user);
/** Runs forward, whose own ops no tape records, and gives its outputs the gradient that backward
 * computes. user must live as long as the tapes of the scope. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_custom_gradient(
    gantry_scope_t *scope, gantry_function_body_fn forward, gantry_backward_fn backward, void *user,
    const gantry_tensor_t *const *inputs, size_t input_count, const gantry_tensor_t **outputs,
    size_t output_count);

/** Whether a tape has the gradient of an op: "MatMul". It also has that of a composed op if it has
 * those of its parts. */
GANTRY_API bool gantry_op_is_differentiable(const char *op);

#ifdef __cplusplus
}
#endif
#endif
