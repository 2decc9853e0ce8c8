/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of Loop and Scan: a body that is lowered step by step where its course is known, and as
 * a loop of the library from then on.
 *
 * Owner: the call's scope has all tensors. Threads: a call belongs to one thread. */
#ifndef GANTRY_ONNX_LOWER_STEPS_H
#define GANTRY_ONNX_LOWER_STEPS_H

#include "onnx/lower/lower.h"

/* The steps of a node. */
typedef struct gantry__onnx_steps_t {
    gantry__onnx_call_t *call;
    const gantry__onnx_graph_t *body;
    /* A Loop: the body begins with the step's number and a condition, and sets one first. */
    bool is_loop;
    size_t carried_count; /* Values that each step gets from the one before. */
    size_t input_count;   /* Inputs of which each step gets a slice. */
    size_t output_count;  /* Outputs to which each step adds a slice. */
    int64_t count;        /* Steps; INT64_MAX: only the condition ends them; -1: most has it. */
    const gantry_tensor_t *most;                     /* A scalar of int64. */
    const gantry_tensor_t *condition;                /* NULL: true. */
    const gantry_tensor_t *const *inputs;            /* Those with slices. */
    const int64_t *input_axes, *output_axes;         /* NULL: 0. */
    const int64_t *input_reversed, *output_reversed; /* NULL: 0. */
    const gantry_tensor_t **carried; /* The first values; after the run the last ones. */
    const gantry_tensor_t **outputs; /* Set by the run. */
} gantry__onnx_steps_t;

/* Runs the steps. */
gantry_status_t gantry__onnx_run_steps(gantry__onnx_steps_t *steps);

/* A condition as a scalar; one that is known stays so. */
gantry_status_t gantry__onnx_take_condition(gantry__onnx_call_t *call, const gantry_tensor_t *given,
                                            const gantry_tensor_t **out_condition);

/* Joins slices along a new axis, the last one first if reversed. NULL after a failure. */
const gantry_tensor_t *gantry__onnx_stack(gantry__onnx_call_t *call,
                                          const gantry_tensor_t *const *slices, size_t count,
                                          int64_t axis, bool reversed);

#endif
