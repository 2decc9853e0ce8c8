/* SPDX-License-Identifier: Apache-2.0 */
/* What a training gives, in the order in which it comes, to be compared with Keras's. A thread has
 * its own. */
#ifndef GANTRY_TEST_TRAIN_GIVEN_H
#define GANTRY_TEST_TRAIN_GIVEN_H

#include "train_fixture.h"

#include <gantry_train/train.h>

enum { MOST = 256 };

static _Thread_local double given[MOST];
static _Thread_local size_t given_count;

static inline void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static inline void give(double value) {
    assert_true(given_count < MOST);
    given[given_count++] = value;
}

/* The end of an epoch: its losses and metrics. */
static inline gantry_status_t record(gantry_model_t *model, int64_t epoch,
                                     const gantry_logs_t *logs, bool *stop, void *user) {
    (void)model, (void)epoch, (void)stop, (void)user;
    for (size_t i = 0; i < logs->count; ++i) give(logs->values[i]);
    return GANTRY_OK;
}

/* All weights and states of the model, in its order. */
static inline void give_variables(gantry_runtime_t *runtime, gantry_model_t *model) {
    double numbers[MOST];
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, numbers, gantry_tensor_bytes(value)));
        for (int64_t k = 0; k < gantry_tensor_elements(value); ++k) give(numbers[k]);
        must(gantry_scope_end(scope));
    }
}

#endif
