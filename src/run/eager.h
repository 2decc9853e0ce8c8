/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one op now: infers and places it, brings its inputs there, allocates results, calls the
 * kernel.
 *
 * The one path of every op except constants and variables. Owner: the scope owns the
 * results. Threads: the scope belongs to the calling thread. */
#ifndef GANTRY_RUN_EAGER_H
#define GANTRY_RUN_EAGER_H

#include "run/op_request.h"
#include "run/scope_state.h"

/* Writes all of outputs: the op's tensors, which belong to the scope, then NULLs. *out_count is the
 * number of tensors, 0 after a failure, which the scope keeps; out_count may be NULL. */
gantry_status_t gantry__run_op(gantry_scope_t *scope, const gantry__op_request_t *request,
                               size_t *out_count);

#endif
