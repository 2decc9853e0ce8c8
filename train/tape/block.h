/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of ops with bodies: If, Case, While, PartitionedCall.
 *
 *     sources of a body:  its inputs, then what it uses besides: tensors and variables
 *
 * A body is run again under a tape of its own, in a body of the gradient:
 *
 *     forward    If(p; x)               -> y              bodies f, g
 *     backward   If(p; x, dy)           -> dx, du         bodies f', g', which run f, g again
 *
 * A block is what the bodies of the backward op get as `user`. Each record of such an op holds a
 * reference, because an outer tape may run these bodies again, too. Owner: references are counted.
 * Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_BLOCK_H
#define GANTRY_TRAIN_BLOCK_H

#include "train/tape/rule.h"

typedef struct gantry__gradient_block_t {
    size_t references;
    /* the forward op */
    gantry_function_body_fn *bodies;
    size_t body_count;
    void *user;
    struct gantry__gradient_block_t
        *below; /* user, if the forward op is itself a gradient; a reference */
    size_t input_count, output_count; /* of a body */
    /* what is differentiated */
    size_t source_count;             /* input_count, and the uses that are wanted */
    const gantry_tensor_t **tensors; /* of each source; NULL: a variable, or an input of a branch or
                                        a function; of a loop the first values; references */
    gantry_variable_t **variables;   /* of each source; NULL: none */
    size_t *inputs;                  /* of each source: its place among the inputs of the record */
    bool *wants;                     /* of each source */
    bool *has_dy;                    /* of each output: a gradient reaches it */
    bool *gives;                     /* of each source: it has a gradient; known after the probe */
    /* the bodies of a branch are traced in their order */
    size_t next_body;
    bool is_probing, is_probed;
    /* of a loop */
    bool *is_saved;                   /* of each input: its values are kept */
    const gantry_tensor_t **history;  /* of each input: its value before each step; references */
    const gantry_tensor_t **injected; /* of each input: the gradient of its history, or NULL */
    bool *is_sum; /* of each input: only added to, so its values do not matter */
} gantry__gradient_block_t;

/* The op that a rule differentiates. */
typedef struct gantry__forward_t {
    const gantry_function_body_fn *bodies;
    size_t body_count;
    void *user;
    gantry__gradient_block_t *below;
    size_t first_input; /* among those of the record */
    size_t input_count, output_count;
} gantry__forward_t;

/* Returns user as a block, if a gradient made these bodies; otherwise NULL. */
gantry__gradient_block_t *gantry__block_of(const gantry_function_body_fn *bodies, void *user);
bool gantry__is_branch_gradient(gantry_function_body_fn body);
bool gantry__is_loop_gradient(gantry_function_body_fn body);

/* Makes a block, with one reference; returns NULL when memory is out. */
gantry__gradient_block_t *gantry__block_make(const gantry__rule_call_t *c,
                                             const gantry__forward_t *forward);
gantry__gradient_block_t *gantry__block_retain(gantry__gradient_block_t *block);
void gantry__block_release(gantry__gradient_block_t *block);

/* One run of a body under a tape. */
typedef struct gantry__body_run_t {
    const gantry_tensor_t **dy; /* of each output, or NULL */
    const gantry_tensor_t **y;
    bool *depends; /* of each output: on a wanted source */
    gantry_source_t *sources;
    const gantry_tensor_t **gradients; /* of each source, or NULL */
} gantry__body_run_t;

gantry__body_run_t *gantry__run_make(const gantry__gradient_block_t *block);
void gantry__run_free(gantry__body_run_t *run);
/* Runs a body with the inputs x and computes the gradients of the wanted sources. A probe takes any
 * gradient for each output, because TensorFlow has zeros where none reaches an output. */
gantry_status_t gantry__run_body(gantry__body_run_t *run, gantry__gradient_block_t *block,
                                 size_t body, gantry_scope_t *scope,
                                 const gantry_tensor_t *const *x);

/* Calls a body of the forward op; fails the scope if an output is not set. */
gantry_status_t gantry__block_call(gantry__gradient_block_t *block, size_t body,
                                   gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                   const gantry_tensor_t **outputs, size_t output_count);
/* Returns zeros for a source; x must be the inputs. */
const gantry_tensor_t *gantry__block_zeros(const gantry__gradient_block_t *block,
                                           gantry_scope_t *scope, size_t source,
                                           const gantry_tensor_t *const *x);
/* Returns the gradient with the sizes that `like` knows. */
const gantry_tensor_t *gantry__block_settle(gantry_scope_t *scope, const gantry_tensor_t *gradient,
                                            const gantry_tensor_t *like);

/* Fails the scope if the op must not run twice, or would now read other values. */
gantry_status_t gantry__check_again(const gantry__rule_call_t *c);
/* Ends a scope in which a block was traced to learn from it. Any failure but that of
 * gantry__stop_probe is handed on to outer. */
gantry_status_t gantry__end_probe(gantry__gradient_block_t *block, gantry_scope_t *outer,
                                  gantry_scope_t *probe);
/* Ends the trace of a probe, by a failure of its scope. */
void gantry__stop_probe(gantry__gradient_block_t *block, gantry_scope_t *scope);

/* The backward body of a branch and of a function. Its inputs must be x, then the gradients of
 * has_dy. */
void gantry__branch_backward(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user);
/* Writes these inputs of the backward body: x, then each dy. It returns their count. out_inputs
 * must have room for input_count and output_count together. */
size_t gantry__branch_inputs(const gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                             size_t first_input, const gantry_tensor_t **out_inputs);
/* Allocates room for so many tensors, which the caller must free by gantry__free: rules run
 * inside each other, so the stack has no room for lists. When memory is out it fails the scope and
 * returns NULL. */
const gantry_tensor_t **gantry__block_list(gantry_scope_t *scope, size_t count);
/* Hands out the gradients of a rule, which must be in the order in which the backward body sets
 * them. */
void gantry__block_hand_out(const gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                            const gantry_tensor_t *const *gradients);
size_t gantry__block_count_given(const gantry__gradient_block_t *block);

void gantry__rule_while(gantry__rule_call_t *c);
void gantry__rule_function(gantry__rule_call_t *c);

/* A function that was called. */
typedef struct gantry__callee_t {
    gantry_function_t *function;
    const gantry_tensor_t *const *inputs;
    const gantry_shape_t *shapes; /* of the inputs in the trace; NULL: the inputs' own */
    size_t input_count, output_count;
} gantry__callee_t;

static inline gantry__callee_t gantry__callee_of(const gantry__record_t *record) {
    return (gantry__callee_t){record->function, record->tensors, record->shapes,
                              record->given_count, record->output_count};
}
/* Finds what the body of a function uses that the tape tracks or watches. The caller must free
 * *out_uses, after a failure, too. */
gantry_status_t gantry__function_find_uses(gantry_tape_t *tape, const gantry__callee_t *callee,
                                           gantry__use_t **out_uses, size_t *out_count);

#endif
