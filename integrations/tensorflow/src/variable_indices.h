/* SPDX-License-Identifier: Apache-2.0 */
/* Indices into variables, read on the host before a variable is touched, so that a wrong one is an
 * error of the op, as on TensorFlow's CPU, and the variable keeps its value. Indices that the
 * program made on the host are read without a wait.
 *
 * Owner: indices_free releases the list. Threads: an indices_t belongs to the call's thread. */
#ifndef GANTRY_TENSORFLOW_VARIABLE_INDICES_H
#define GANTRY_TENSORFLOW_VARIABLE_INDICES_H

#include "bridge.h"

/* The int32 or int64 of the op, as int64. */
typedef struct indices_t {
    gantry_shape_t shape;
    int64_t count; /* how many numbers */
    int64_t *list; /* NULL after an error */
} indices_t;

/* Reads an input. Returns false after an error. indices_free must follow in either case. */
bool indices_read(indices_t *indices, bridge_call_t *call, int input);
/* Frees the list. */
void indices_free(indices_t *indices);
/* Whether every number names a row, from 0 to limit - 1. If not, the call fails. is_sparse: with
 * the text of an optimizer's step. */
bool indices_check(const indices_t *indices, bridge_call_t *call, int64_t limit, bool is_sparse);
/* Whether every vector of the last dimension names a place in the shape. If not, the call fails. */
bool indices_check_vectors(const indices_t *indices, bridge_call_t *call,
                           const gantry_shape_t *shape);

#endif
