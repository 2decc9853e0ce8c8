/* SPDX-License-Identifier: Apache-2.0 */
/* Reports to a scope's observers what ran. Except for gantry__observes_parts and
 * gantry__observe_end, these functions must only be called for a scope that has observers.
 *
 * Owner: observers are the program's. Threads: a call belongs to the thread of its scope. */
#ifndef GANTRY_RUN_OBSERVE_H
#define GANTRY_RUN_OBSERVE_H

#include <gantry/observe.h>

#include "run/eager_state.h"

/* Reports an observation to all observers of the scope. */
GANTRY__COLD gantry_status_t gantry__observe(gantry_scope_t *scope,
                                             const gantry_observation_t *observation);
/* Reports an op of the eager path, unless its parts were reported. */
GANTRY__COLD gantry_status_t gantry__observe_op(const gantry__eager_t *eager);
/* Whether the parts of a composed op are reported instead of the op. */
GANTRY__COLD bool gantry__observes_parts(const gantry_scope_t *scope, const gantry__op_def_t *op);
/* Reports that the tensor `output` is another object over the elements of `input`. */
GANTRY__COLD gantry_status_t gantry__observe_alias(gantry_scope_t *scope,
                                                   const gantry_tensor_t *input,
                                                   const gantry_tensor_t *output);
/* Reports to the observers that were added to the scope that it ends. */
GANTRY__COLD void gantry__observe_end(gantry_scope_t *scope);
GANTRY__COLD gantry_status_t gantry__observe_read(gantry_scope_t *scope,
                                                  gantry_variable_t *variable,
                                                  const gantry_tensor_t *value);

#endif
