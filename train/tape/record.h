/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded op: its tensors, its attributes, and its rule.
 *
 * Each tensor that a tape tracks has a number, its place among the tape's tensors. The inputs of a
 * branch, a loop or a function are those that it was given, and after them what its bodies use in
 * addition: tensors, and variables that they read, which have a number and no tensor. Owner: the
 * tape has its records, which hold references to their tensors. Threads: externally synchronised,
 * as the tape. */
#ifndef GANTRY_TRAIN_RECORD_H
#define GANTRY_TRAIN_RECORD_H

#include <gantry_train/tape.h>

#define GANTRY__NOT_TRACKED UINT32_MAX

struct gantry__rule_t;
struct gantry__gradient_block_t;

/* What a body uses in addition to its inputs: a tensor or a variable. */
typedef struct gantry__use_t {
    const gantry_tensor_t *tensor;
    gantry_variable_t *variable;
    uint32_t number;
    uint64_t assignments; /* of the variable, so far */
} gantry__use_t;

typedef struct gantry__record_t {
    const char *op;                    /* the library's text */
    const struct gantry__rule_t *rule; /* NULL: the op has none */
    const gantry_tensor_t **tensors;   /* inputs, then outputs; references of the record's own */
    uint32_t *numbers;                 /* of these tensors, or GANTRY__NOT_TRACKED */
    size_t input_count, output_count;
    size_t given_count;            /* inputs that the op was given; the others are uses */
    gantry_variable_t **variables; /* of each use; NULL: a tensor */
    uint64_t *assignments;         /* of each use: of the variable, when it was read */
    gantry_attr_value_t *attrs;    /* with lists and texts of their own */
    size_t attr_count;
    /* of control flow and custom gradients */
    gantry_function_body_fn *bodies;
    size_t body_count;
    void *user;
    gantry_function_t *function;
    const struct gantry__origin_t *origin; /* with references to function and its origins */
    gantry_shape_t *shapes; /* of a function, in its trace: of given_count inputs, then outputs */
    uint64_t most_steps;
    char *effect;                           /* an op that must not run twice, or NULL */
    struct gantry__gradient_block_t *block; /* user, if a gradient made the bodies: block.h */
    bool has_uses;                          /* of a function: they were added */
} gantry__record_t;

#endif
