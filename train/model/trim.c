/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a model's functions keep between steps. */
#include "train/base/fail.h"
#include "train/model/worker.h"

static gantry_status_t trim_function(gantry_function_t *function, uint64_t *bytes) {
    uint64_t freed = 0;
    if (!function) return GANTRY_OK;
    GANTRY__TRAIN_TRY(gantry_function_trim(function, &freed));
    *bytes += freed;
    return GANTRY_OK;
}

gantry_status_t gantry_model_trim(gantry_model_t *model, uint64_t *out_bytes) {
    uint64_t bytes = 0;
    if (out_bytes) *out_bytes = 0;
    GANTRY__TRAIN_TRY(gantry__model_check(model, "gantry_model_trim"));
    for (size_t i = 0; i < GANTRY__STEP_MODES; ++i)
        GANTRY__TRAIN_TRY(trim_function(model->program.steps[i], &bytes));
    if (model->replicas.worker)
        GANTRY__TRAIN_TRY(trim_function(model->replicas.worker->apply, &bytes));
    if (out_bytes) *out_bytes = bytes;
    return GANTRY_OK;
}
