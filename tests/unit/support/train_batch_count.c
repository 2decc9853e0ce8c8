/* SPDX-License-Identifier: Apache-2.0 */
#include "train_batch_count.h"

#include <stdatomic.h>

#include "train/model/batch.h"

/* Workers of a test are threads. */
static _Atomic int checks;

gantry_status_t __real_gantry__batch_accept(gantry_model_t *model, gantry__step_mode_t step,
                                            const char *call,
                                            gantry__class_weights_t *class_weights,
                                            const gantry_array_t **batch, size_t *count);
gantry_status_t __wrap_gantry__batch_accept(gantry_model_t *model, gantry__step_mode_t step,
                                            const char *call,
                                            gantry__class_weights_t *class_weights,
                                            const gantry_array_t **batch, size_t *count);

int train_batch_count(void) { return atomic_exchange(&checks, 0); }

gantry_status_t __wrap_gantry__batch_accept(gantry_model_t *model, gantry__step_mode_t step,
                                            const char *call,
                                            gantry__class_weights_t *class_weights,
                                            const gantry_array_t **batch, size_t *count) {
    (void)atomic_fetch_add(&checks, 1);
    return __real_gantry__batch_accept(model, step, call, class_weights, batch, count);
}
