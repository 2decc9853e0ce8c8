/* SPDX-License-Identifier: Apache-2.0 */
#include "train_batch_count.h"

#include "train/model/batch.h"

static int checks;

gantry_status_t __real_gantry__batch_accept(gantry_model_t *model, gantry__step_mode_t step,
                                            const char *call,
                                            gantry__class_weights_t *class_weights,
                                            const gantry_array_t **batch, size_t *count);
gantry_status_t __wrap_gantry__batch_accept(gantry_model_t *model, gantry__step_mode_t step,
                                            const char *call,
                                            gantry__class_weights_t *class_weights,
                                            const gantry_array_t **batch, size_t *count);

int train_batch_count(void) {
    const int count = checks;
    checks = 0;
    return count;
}

gantry_status_t __wrap_gantry__batch_accept(gantry_model_t *model, gantry__step_mode_t step,
                                            const char *call,
                                            gantry__class_weights_t *class_weights,
                                            const gantry_array_t **batch, size_t *count) {
    ++checks;
    return __real_gantry__batch_accept(model, step, call, class_weights, batch, count);
}
