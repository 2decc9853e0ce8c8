/* SPDX-License-Identifier: Apache-2.0 */
/* What a model does at the moment. Owner: the model owns it. Threads: externally synchronised, as
 * the model; only is_stopped may be set from another thread, or by a handler of signals. */
#ifndef GANTRY_TRAIN_RUN_STATE_H
#define GANTRY_TRAIN_RUN_STATE_H

#include <stdatomic.h>

#include "train/numerics/numerics.h"

typedef struct gantry__run_state_t {
    atomic_bool is_stopped;      /* gantry_model_stop requests the end of a training */
    bool is_validated;           /* a training tests the model, which a stop ends, too */
    bool is_in_fit;              /* whose callbacks must not compile it */
    bool validates;              /* the training has a validation, in some epochs */
    bool holds_averages;         /* the weights and their averages have changed places */
    gantry_numerics_t *numerics; /* of the step that runs; NULL: it is not checked */
} gantry__run_state_t;

static inline bool gantry__run_is_stopped(const gantry__run_state_t *state) {
    return atomic_load_explicit(&state->is_stopped, memory_order_relaxed);
}

#endif
