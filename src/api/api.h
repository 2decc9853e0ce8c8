/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and look-ups that several files of public calls share.
 *
 * Owner: nothing is handed out but devices, which the runtime owns. Threads: thread-safe. */
#ifndef GANTRY_API_API_H
#define GANTRY_API_API_H

#include "run/call_op.h"
#include "run/runtime_state.h"
#include "shared/struct_size.h"

/* Checks a list of structs to be filled: if its capacity is not 0, the list must not be NULL, and
 * its first struct must have the size of each. what names both in messages: "gantry_get_placements:
 * out_records". */
gantry_status_t gantry__list_check(size_t capacity, const void *list, const size_t *out_count,
                                   size_t known_bytes, const char *what, uint32_t *out_struct_size);

/* Finds the one logical device that a text must name, and initialises the runtime. call is the
 * public call's name in messages. */
gantry_status_t gantry__find_device(gantry_runtime_t *runtime, const char *name, const char *call,
                                    gantry_logical_device_t **out_device);

/* ---- zero points: ops_matrix.c ---- */

/* The number of inputs of an op on [a, b, a's zero point, b's]. Adds a's, 0, if only b has one. */
uint32_t gantry__add_zero_points(gantry__extras_t *extras, gantry_scope_t *scope,
                                 const gantry_tensor_t *inputs[4]);

/* ---- floats of [minval, maxval): ops_random.c ---- */

/* Whether the bounds are floats of one type that broadcast to the shape; false after an error,
 * which the scope keeps. what is the public call's name. A call checks them before it draws, so
 * that a refused one takes nothing of a stream. */
bool gantry__range_fits(gantry_scope_t *scope, const char *what, const gantry_shape_t *shape,
                        const gantry_tensor_t *minval, const gantry_tensor_t *maxval);
/* Takes drawn, numbers of [0, 1) that the scope owns, to [minval, maxval). NULL after a failure,
 * which the scope keeps. */
const gantry_tensor_t *gantry__range_of(gantry_scope_t *scope, const gantry_tensor_t *drawn,
                                        const gantry_tensor_t *minval,
                                        const gantry_tensor_t *maxval);

#endif
