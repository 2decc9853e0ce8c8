/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of classes: each sample counts by the weight of its label's class. Owner: the caller has
 * the gantry__class_weights_t, which owns the weights of the samples and must end with deinit;
 * `weights` is the caller's. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_CLASS_WEIGHTS_H
#define GANTRY_TRAIN_CLASS_WEIGHTS_H

#include "train/model/model_state.h"

typedef struct gantry__class_weights_t {
    const double *weights; /* NULL: none */
    size_t count;
    gantry_array_t batch[GANTRY_MAX_COMPONENTS]; /* with the weights of samples */
    void *samples;
    int64_t room; /* of samples */
} gantry__class_weights_t;

/* Replaces *batch by one with weights of samples, which lives until the next call for c. */
gantry_status_t gantry__class_weights_add(gantry__class_weights_t *c, const gantry_model_t *model,
                                          const gantry_array_t **batch, size_t *count);
void gantry__class_weights_deinit(gantry__class_weights_t *c);

#endif
