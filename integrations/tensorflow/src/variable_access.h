/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow's variables, which live in TensorFlow as C++ objects: a mutex and a tensor.
 *
 * There are three ways to them, of which the first that exists is taken:
 *
 *     the variables file    libgantry_tensorflow_variables-VERSION.so, compiled by
 *                           `python -m gantry_tensorflow build-variables` for one TensorFlow
 *     TensorFlow's own      functions of kernels_experimental.h: 2.18, and releases after 2.21
 *     none                  each kernel that updates a variable fails with the remedy
 *
 * TensorFlow's own kernels read a variable as a whole and assign it: they share or replace the
 * memory of a tensor and look at no element.
 *
 * Owner: variables_end gives back what variables_begin took. Threads: thread-safe; a variables_t
 * belongs to the call's thread. */
#ifndef GANTRY_TENSORFLOW_VARIABLE_ACCESS_H
#define GANTRY_TENSORFLOW_VARIABLE_ACCESS_H

#include "bridge.h"

/* The most variables that one op updates. */
#define VARIABLES_MOST 4

/* The variables of a kernel's first inputs, whose mutexes are held. */
typedef struct variables_t {
    bridge_call_t *call;
    void *lock; /* NULL: none is held */
    bool is_update;
    int count;
    TF_Tensor *tensors[VARIABLES_MOST];
    /* The present values. The caller of an update may replace each by a tensor of its type and
     * shape; nothing else holds them. */
    gantry_tensor_t *values[VARIABLES_MOST];
} variables_t;

/* Locks the variables of inputs 0 to count - 1, in the order of addresses, and takes their values.
 * An update locks them exclusively; TensorFlow gives tensors that were read a copy of their own.
 * After an error, values are NULL and the call has failed. variables_end must follow in either
 * case. */
void variables_begin(variables_t *variables, bridge_call_t *call, int count, bool is_update);
/* Gives the values back to the variables and unlocks them. */
void variables_end(variables_t *variables);

/* Assigns input 1 to the variable of TensorFlow 1 to which input 0 refers; both then name one
 * tensor, and no element moves. */
void variables_assign_reference(bridge_call_t *call, bool validate_shape);

/* The type for arithmetic: elements of complex numbers, which Gantry only moves, are pairs of this
 * type; others have their own. */
gantry_dtype_t variables_arithmetic_type(gantry_dtype_t dtype);

#endif
