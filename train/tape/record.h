/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded op: its tensors, its attributes, and its rule.
 *
 * Each tensor that a tape tracks has a number, its place among the tape's tensors. */
#ifndef GANTRY_TRAIN_RECORD_H
#define GANTRY_TRAIN_RECORD_H

#include <gantry_train/tape.h>

#define GANTRY__NOT_TRACKED UINT32_MAX

struct gantry__rule_t;

typedef struct gantry__record_t {
    const char *op;                    /* the library's text */
    const struct gantry__rule_t *rule; /* NULL: the op has none */
    const gantry_tensor_t **tensors;   /* inputs, then outputs; references of the record's own */
    uint32_t *numbers;                 /* of these tensors, or GANTRY__NOT_TRACKED */
    size_t input_count, output_count;
    gantry_attr_value_t *attrs; /* with lists and texts of their own */
    size_t attr_count;
    /* of control flow and custom gradients */
    gantry_function_body_fn *bodies;
    size_t body_count;
    void *user;
    gantry_function_t *function;
    uint64_t most_steps;
} gantry__record_t;

/* Copies an observation; the numbers are not set. After a failure nothing is left. */
gantry_status_t gantry__record_init(gantry__record_t *record,
                                    const gantry_observation_t *observation);
void gantry__record_deinit(gantry__record_t *record);

#endif
