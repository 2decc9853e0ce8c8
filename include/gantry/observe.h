/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Observers: code on top of the library that sees each op of a scope, such as the tape of
 * gantry_train, which records ops to compute gradients. Also the floating-point mode of the
 * program, for such code that computes in a mode of its own.
 *
 * A scope's observers belong to its thread. In a scope with an observer, ops do not reuse the
 * memory of a donated tensor. */
#ifndef GANTRY_OBSERVE_H
#define GANTRY_OBSERVE_H

#include <gantry/control.h>
#include <gantry/op.h>
#include <gantry/variable.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An op that succeeded. Pointers are valid during the call that gets it. */
typedef struct gantry_observation_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Its name: "MatMul"; "ReadVariableOp" of a variable; "PartitionedCall" of a function that is
     * called outside a trace; "If", "Case" and "While" in a trace, after the ops of their bodies
     * (elsewhere only these ops are observed); "_Retval" at the end of such a body, with its
     * outputs as inputs; "Identity" where a tensor gets another object. */
    const char *op;
    const gantry_tensor_t *const *inputs;  /**< Its inputs; of If and Case the selector first. */
    size_t input_count;                    /**< Entries of inputs. */
    const gantry_tensor_t *const *outputs; /**< Its outputs. */
    size_t output_count;                   /**< Entries of outputs. */
    const gantry_attr_value_t *attrs;      /**< Its attributes, all of them. */
    size_t attr_count;                     /**< Entries of attrs. */
    gantry_variable_t *variable;           /**< Of ReadVariableOp; else NULL. */
    gantry_function_t *function;           /**< Of PartitionedCall; else NULL. */
    const gantry_function_body_fn *bodies; /**< Of If, Case and While; else NULL. */
    size_t body_count;                     /**< Entries of bodies. */
    void *user;                            /**< What bodies get; of gantry_scope_tell its own. */
    uint64_t most_steps;                   /**< Of While; 0: no limit. */
    /** For PartitionedCall, If, Case and While, an op in it that draws numbers, or the name of a
     * node in it that assigns a variable; NULL: none. */
    const char *effect;
    /** For PartitionedCall, the shapes of its inputs, and of its outputs, in the trace that ran,
     * with -1 for sizes that depend on data; else NULL. */
    const gantry_shape_t *input_shapes;
    const gantry_shape_t *output_shapes; /**< See input_shapes. */
} gantry_observation_t;

/** Sees an op. It must not call ops or end the scope: FailedPrecondition. An error,
 * whose text it sets by gantry_fail, fails the
 * scope. */
typedef gantry_status_t (*gantry_observe_fn)(gantry_scope_t *scope,
                                             const gantry_observation_t *observation, void *user);
/** Whether a composed op is observed as a whole; else its parts are. */
typedef bool (*gantry_observe_whole_fn)(const char *op, void *user);

/** Called when the scope to which the observer was added ends with the observer in it. */
typedef void (*gantry_observe_end_fn)(gantry_scope_t *scope, void *user);

/** An observer of a scope. The struct does not grow. It lives as long as the scope has it. */
typedef struct gantry_observer_t {
    gantry_observe_fn observe;     /**< Called for each op. */
    gantry_observe_whole_fn whole; /**< NULL: no op. The innermost observer decides. */
    void *user;                    /**< The last argument of the functions. */
    gantry_observe_end_fn end;     /**< Called at the scope's end; NULL: no call. */
    /** The library's own: the next outer observer. */
    struct gantry_observer_t *outer;
    gantry_scope_t *scope; /**< The library's own: the scope to which it was added. */
} gantry_observer_t;

/** Adds an observer to a scope: it sees the ops of the scope and of scopes begun in it from now
 * on, before the observers that the scope has. FailedPrecondition for an observer that the scope
 * has. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_scope_observe(gantry_scope_t *scope, gantry_observer_t *observer);
/** Removes an observer from a scope and from the scopes in it. An observer that the scope does not
 * have does no harm. */
GANTRY_API void gantry_scope_unobserve(gantry_scope_t *scope, gantry_observer_t *observer);
/** Begins a scope inside another, on its devices, whose ops no observer sees. */
GANTRY_API gantry_scope_t *gantry_scope_begin_unobserved(gantry_scope_t *parent);
/** Reports an op of the caller's own to the scope's observers, in place of the ops that ran in an
 * unobserved scope. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_scope_tell(gantry_scope_t *scope,
                                             const gantry_observation_t *observation);
/** As gantry_op_call, for a composed op of a trace whose sizes depend on data: records its parts,
 * which observers see, where gantry_op_call records one node. For code on top of the
 * library that observed the whole op: the parts do not check what the op checks. Unimplemented if
 * the parts need sizes that are not known. Elsewhere it is gantry_op_call. */
GANTRY_API gantry_status_t gantry_op_call_parts(gantry_scope_t *scope, const char *name,
                                                const gantry_tensor_t *const *inputs,
                                                size_t input_count,
                                                const gantry_attr_value_t *attrs, size_t attr_count,
                                                const gantry_tensor_t **outputs,
                                                size_t *output_count);
/** The number of bodies of branches and loops of a trace in which the scope is: an observer sees
 * their ops when they are traced, once for each body. 0 outside a trace. */
GANTRY_API size_t gantry_scope_body_depth(const gantry_scope_t *scope);
/** Whether the scope has an observer. */
GANTRY_API bool gantry_scope_is_observed(const gantry_scope_t *scope);

/** A floating-point mode. Its struct is defined in host/fp_mode.h of the sources, and is that of
 * the library's version. */
typedef struct gantry__fp_mode_t gantry_fp_mode_t;
/** Where the calling thread keeps the floating-point mode of the program whose call it is in; NULL
 * there: the mode that the thread has. Callbacks of the program run in it. For code on top of the
 * library that takes a mode of its own during its calls, as gantry_train does: it puts the mode of
 * its caller there, and at the end of its call what was there before. */
GANTRY_API const gantry_fp_mode_t **gantry_program_fp_mode(void);

#ifdef __cplusplus
}
#endif
#endif
