/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: the values of sequences and optionals, which are no tensors. A list is known while a model
 * is lowered: which tensors it has, not what they contain. So the ops that make lists and take
 * tensors out of them leave no trace in a function. Lists do not go into or out of a model, a
 * branch or a loop.
 *
 * Owner: the run, until it ends. Threads: as the call. */
#ifndef GANTRY_ONNX_LIST_H
#define GANTRY_ONNX_LIST_H

#include "onnx/lower/lower.h"

/* A list. */
typedef struct gantry__onnx_list_t {
    bool is_absent; /* An optional without a value. */
    size_t count;
    const gantry_tensor_t *items[]; /* The run's scopes own them. */
} gantry__onnx_list_t;

/* The list that input i is; NULL: it is a tensor, or left out. */
const gantry__onnx_list_t *gantry__onnx_input_list(const gantry__onnx_call_t *call, size_t i);
/* Input i as a list; InvalidArgument for a tensor. */
gantry_status_t gantry__onnx_need_list(gantry__onnx_call_t *call, size_t i,
                                       const gantry__onnx_list_t **out_list);
/* Sets output i, if it is wanted, to a list of these items, which are copied; none NULL. */
gantry_status_t gantry__onnx_set_list(gantry__onnx_call_t *call, size_t i,
                                      const gantry_tensor_t *const *items, size_t count,
                                      bool is_absent);

#endif
