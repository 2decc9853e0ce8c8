/* SPDX-License-Identifier: Apache-2.0 */
/* Regularizers and constraints of weights, read from what the program gave, and checked. Owner:
 * plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_TRAIN_REGULARIZER_STATE_H
#define GANTRY_TRAIN_REGULARIZER_STATE_H

#include <gantry_train/regularizer.h>

/* Reads and checks what a program gave, with defaults filled in; NULL means that there is none. An
 * error is the thread's last message, which begins with `what`: "layer dense: the regularizer of
 * weight kernel". */
gantry_status_t gantry__regularizer_read(const gantry_regularizer_t *given, const char *what,
                                         gantry_regularizer_t *out);
gantry_status_t gantry__constraint_read(const gantry_constraint_t *given, const char *what,
                                        gantry_constraint_t *out);
/* Refuses axes that weights of this rank do not have. */
gantry_status_t gantry__constraint_fits(const gantry_constraint_t *constraint, int32_t rank,
                                        const char *what);

static inline bool gantry__regularizes(const gantry_regularizer_t *regularizer) {
    return regularizer->l1 > 0 || regularizer->l2 > 0 || regularizer->orthogonal > 0;
}

#endif
