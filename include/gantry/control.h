/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Branches and loops whose course depends on values: what C's if, switch and while are to known
 * numbers.
 *
 * In the scope of a trace (gantry/function.h), each body is recorded once, in their order, and
 * becomes a part of the function; elsewhere the bodies run at once. A body may use tensors and
 * variables from outside, and may contain branches and loops, up to GANTRY_MAX_NESTING levels; the
 * gradient of loops takes more levels than the loops, as stated there. In a trace, bodies and user
 * must live until the outermost traced body has returned, because a gradient that is taken there
 * calls bodies again.
 *
 * The scope owns the outputs. A scope belongs to one thread, on which the bodies run. */
#ifndef GANTRY_CONTROL_H
#define GANTRY_CONTROL_H

#include <gantry/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Runs then_body if predicate, a bool of one element, is true, else else_body. Both get the
 * inputs, and must set outputs of the same types and shapes. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_cond(gantry_scope_t *scope, const gantry_tensor_t *predicate,
                                       gantry_function_body_fn then_body,
                                       gantry_function_body_fn else_body, void *user,
                                       const gantry_tensor_t *const *inputs, size_t input_count,
                                       const gantry_tensor_t **outputs, size_t output_count);

/** Runs the body whose number is index, an int32 of one element; the last one if there is no such
 * body, as in TensorFlow. All bodies must set outputs of the same types and shapes. Returns the
 * scope's status. */
GANTRY_API gantry_status_t gantry_case(gantry_scope_t *scope, const gantry_tensor_t *index,
                                       const gantry_function_body_fn *bodies, size_t body_count,
                                       void *user, const gantry_tensor_t *const *inputs,
                                       size_t input_count, const gantry_tensor_t **outputs,
                                       size_t output_count);

/** Options of a loop. */
typedef struct gantry_while_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** A loop of more steps fails with OutOfRange; 0: no limit. */
    uint64_t most_steps;
} gantry_while_options_t;

/** Runs body as long as condition sets its one output, a bool of one element, to true. Both get the
 * loop's variables, `count` of them: at first values, then what body set. body must keep their
 * types and shapes. outputs gets the last ones; it may be values. options may be NULL. Returns the
 * scope's status. */
GANTRY_API gantry_status_t gantry_while(gantry_scope_t *scope, gantry_function_body_fn condition,
                                        gantry_function_body_fn body, void *user,
                                        const gantry_tensor_t *const *values, size_t count,
                                        const gantry_while_options_t *options,
                                        const gantry_tensor_t **outputs);

#ifdef __cplusplus
}
#endif
#endif
