/* SPDX-License-Identifier: Apache-2.0 */
/* What the bodies of the two directions share. Owner: the scope of the trace owns all tensors.
 * Threads: a body belongs to the thread that traces it. */
#ifndef GANTRY_TENSORFLOW_CUDNN_RNN_BODY_H
#define GANTRY_TENSORFLOW_CUDNN_RNN_BODY_H

#include "cudnn_rnn.h"

/* A segment while its body is traced. */
typedef struct rnn_body_t {
    gantry_scope_t *s;
    const rnn_form_t *form;
    int64_t steps, batch, features, units, width; /* width: gates times units */
    const gantry_tensor_t *x;                     /* [steps * batch, features] */
    const gantry_tensor_t *h, *c, *mask;          /* mask NULL: there is none */
    const gantry_tensor_t *w, *u;                 /* [width, features], [width, units] */
    const gantry_tensor_t *bias_w, *bias_u;       /* [width] */
} rnn_body_t;

/* Takes the inputs that both directions have. */
rnn_body_t rnn_body_begin(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const rnn_form_t *form);
/* Turns a tensor that is laid out as x into [steps, batch, n], and back. */
const gantry_tensor_t *rnn_by_time(const rnn_body_t *b, const gantry_tensor_t *x);
const gantry_tensor_t *rnn_as_given(const rnn_body_t *b, const gantry_tensor_t *x);
/* x W + its bias, [steps * batch, width]. A mode that adds the two products adds both biases. */
const gantry_tensor_t *rnn_project(const rnn_body_t *b);
/* a times the transpose of b. */
const gantry_tensor_t *rnn_times_transposed(gantry_scope_t *s, const gantry_tensor_t *a,
                                            const gantry_tensor_t *b);
/* 1 - x. */
const gantry_tensor_t *rnn_complement(const rnn_body_t *b, const gantry_tensor_t *x);
/* The activation of a mode without gates. */
const gantry_tensor_t *rnn_activate(const rnn_body_t *b, const gantry_tensor_t *x);

#endif
