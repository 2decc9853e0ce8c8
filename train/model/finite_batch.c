/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/model/model_state.h"
#include "train/numerics/finite.h"

void gantry__model_name_component(const gantry_model_t *model, size_t i, char *out, size_t bytes) {
    if (i < model->input_count) {
        (void)snprintf(out, bytes, "input %zu", i);
        return;
    }
    const bool is_label = i < model->input_count + model->label_count;
    const bool is_named = model->target_count > 1;
    (void)snprintf(
        out, bytes, "%s%s%s", is_label ? "the labels" : "sample weights", is_named ? " of " : "",
        is_named ? gantry__model_output_name(model, gantry__model_output_of(model, i)) : "");
}

gantry_status_t gantry__model_check_finite(const gantry_model_t *model, const gantry_array_t *batch,
                                           size_t count) {
    for (size_t i = 0; i < count; ++i) {
        char name[160], shape[256];
        const int64_t elements = gantry_shape_elements(&batch[i].shape);
        if (!gantry__train_is_float(batch[i].dtype)) continue;
        const gantry__finite_t counts =
            gantry__finite_count(batch[i].dtype, batch[i].data, elements);
        if (gantry__finite_others(&counts) == 0) continue;
        gantry__model_name_component(model, i, name, sizeof name);
        (void)gantry_shape_format(&batch[i].shape, shape, sizeof shape);
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "model %s: %s of the batch: %lld NaN, %lld +Inf and %lld -Inf among %lld elements, %s %s, the first in row %lld; finite numbers are accepted",
            model->name, name, (long long)counts.nans, (long long)counts.plus,
            (long long)counts.minus, (long long)elements, gantry_dtype_name(batch[i].dtype), shape,
            (long long)(counts.first / (elements / batch[i].shape.dims[0])));
    }
    return GANTRY_OK;
}
