/* SPDX-License-Identifier: Apache-2.0 */
/* All that is refused of a batch, in one pass, before its step. Labels that name no class, and
 * words that an embedding does not have, are refused here, too, because on a device that works on
 * its own the op would fail after the step has given all variables new values, which then could not
 * be read.
 *
 *     rows       all components have the same rows, one and more     before the model is built
 *     weights    of classes become a component                       when it is built
 *     count      inputs, labels, weights of samples
 *     sizes      of inputs
 *     ranges     of words and labels                                 batch_ranges.c
 *     finite     if the model checks numerics
 *     shapes     of inputs: those of the first batch, for which the step was traced */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/model/batch.h"
#include "train/numerics/finite.h"

/* ---- rows, components and sizes ---- */

static gantry_status_t check_batch_rows(const gantry_model_t *model, const gantry_array_t *batch,
                                        size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (batch[i].shape.rank < 1)
            return gantry__train_refuse(
                NULL,
                "model %s: component %zu of an element is a scalar: the element is no batch; gantry_dataset_batch makes batches",
                model->name, i);
        if (batch[i].shape.dims[0] != batch[0].shape.dims[0] || batch[i].shape.dims[0] == 0)
            return gantry__train_refuse(
                NULL,
                "model %s: component %zu of a batch has %lld rows; component 0 has %lld, and 1 and more are accepted",
                model->name, i, (long long)batch[i].shape.dims[0],
                (long long)batch[0].shape.dims[0]);
    }
    return GANTRY_OK;
}

static gantry_status_t check_batch_count(const gantry_model_t *model, gantry__step_mode_t step,
                                         size_t *count) {
    const size_t labels = step == GANTRY__STEP_PREDICT ? 0 : model->program.label_count,
                 weights = gantry__model_weight_count(model, step, *count),
                 plain = model->net.input_count + labels, most = plain + weights, given = *count;
    char text[64] = "";
    if (labels > 1) (void)snprintf(text, sizeof text, ", and labels of %zu outputs,", labels);
    *count = most;
    if (given < plain)
        return gantry__train_refuse(
            NULL, "model %s: a batch has %zu components; %zu inputs%s are accepted", model->name,
            given, model->net.input_count, labels == 1 ? ", and labels," : text);
    if (step != GANTRY__STEP_PREDICT && given > most)
        return gantry__train_refuse(
            NULL,
            "model %s: a batch has %zu components; at most %zu are accepted: inputs, labels, weights of samples",
            model->name, given, most);
    if (weights <= 1 || weights == labels) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "model %s: a batch has %zu components, %zu of them weights of samples; none, 1 for all outputs, or 1 for each of %zu are accepted",
        model->name, given, weights, labels);
}

bool gantry__model_takes_shape(const gantry_model_t *model, size_t input,
                               const gantry_shape_t *given) {
    const gantry_shape_t *accepted = &model->net.values[input].shape;
    bool is_open = false, is_good = given->rank == accepted->rank;
    for (int32_t d = 1; is_good && d < accepted->rank; ++d) is_open |= accepted->dims[d] < 0;
    if (model->net.is_sequential && !is_open) return is_good;
    for (int32_t d = 1; is_good && d < accepted->rank; ++d) {
        const int64_t size = given->dims[d];
        is_good = accepted->dims[d] < 0 ? size != 0 : size < 0 || size == accepted->dims[d];
    }
    return is_good;
}

static gantry_status_t check_batch_sizes(const gantry_model_t *model, const gantry_array_t *batch) {
    char text[256], wanted[256];
    for (size_t i = 0; i < model->net.input_count; ++i) {
        if (gantry__model_takes_shape(model, i, &batch[i].shape)) continue;
        (void)gantry_shape_format(&batch[i].shape, text, sizeof text);
        (void)gantry_shape_format(&model->net.values[i].shape, wanted, sizeof wanted);
        return gantry__train_refuse(
            NULL,
            "model %s: component %zu of a batch has shape %s; %s is accepted, where -1 is any size from 1 on",
            model->name, i, text, wanted);
    }
    return GANTRY_OK;
}

/* ---- numbers, types and shapes ---- */

/* "input 0", "the labels of a", "sample weights". */
static void name_component(const gantry_model_t *model, size_t i, char *out, size_t bytes) {
    const size_t inputs = model->net.input_count;
    const bool is_label = i < inputs + model->program.label_count,
               is_named = i >= inputs && model->program.target_count > 1;
    if (i < inputs)
        (void)snprintf(out, bytes, "input %zu", i);
    else
        (void)snprintf(
            out, bytes, "%s%s%s", is_label ? "the labels" : "sample weights",
            is_named ? " of " : "",
            is_named ? gantry__model_output_name(model, gantry__model_output_of(model, i)) : "");
}

static gantry_status_t check_finite(const gantry_model_t *model, const gantry_array_t *component,
                                    size_t i) {
    char name[160], shape[256];
    const int64_t elements = gantry_shape_elements(&component->shape);
    if (!gantry__train_is_float(component->dtype)) return GANTRY_OK;
    const gantry__finite_t counts =
        gantry__finite_count(component->dtype, component->data, elements);
    if (gantry__finite_others(&counts) == 0) return GANTRY_OK;
    name_component(model, i, name, sizeof name);
    (void)gantry_shape_format(&component->shape, shape, sizeof shape);
    return gantry__train_refuse(
        NULL,
        "model %s: %s of the batch: %lld NaN, %lld +Inf and %lld -Inf among %lld elements, %s %s, the first in row %lld; finite numbers are accepted",
        model->name, name, (long long)counts.nans, (long long)counts.plus, (long long)counts.minus,
        (long long)elements, gantry_dtype_name(component->dtype), shape,
        (long long)(counts.first / (elements / component->shape.dims[0])));
}

static gantry_status_t check_traced_shape(const gantry_model_t *model,
                                          const gantry_input_spec_t *spec,
                                          const gantry_array_t *component, size_t i) {
    char name[160], text[256], wanted[256];
    if (gantry__batch_fits_spec(spec, &component->shape)) return GANTRY_OK;
    name_component(model, i, name, sizeof name);
    (void)gantry_shape_format(&component->shape, text, sizeof text);
    (void)gantry_shape_format(&spec->shape, wanted, sizeof wanted);
    return gantry__train_refuse(
        NULL, "model %s: %s of the batch has shape %s; %s is accepted, as of the first batch",
        model->name, name, text, wanted);
}

/* A step is traced anew for a batch of other types, with other labels or other weights of samples,
 * about which the loss decides. */
static gantry_status_t check_traced_shapes(const gantry_model_t *model, gantry__step_mode_t step,
                                           const gantry_array_t *batch) {
    const gantry__step_body_t *body = &model->program.bodies[step];
    for (size_t i = 0; i < model->net.input_count && model->program.steps[step]; ++i)
        GANTRY__TRY(check_traced_shape(model, &body->specs[i], &batch[i], i));
    return GANTRY_OK;
}

/* ---- the check ---- */

static gantry_status_t check_batch_numbers(gantry_model_t *model, gantry__step_mode_t step,
                                           const gantry_array_t *batch, size_t count) {
    GANTRY__TRY(check_batch_sizes(model, batch));
    GANTRY__TRY(gantry__batch_check_ranges(model, step, batch));
    for (size_t i = 0; i < count && model->program.checks_numerics; ++i)
        GANTRY__TRY(check_finite(model, &batch[i], i));
    return check_traced_shapes(model, step, batch);
}

gantry_status_t gantry__batch_accept(gantry_model_t *model, gantry__step_mode_t step,
                                     const char *call, gantry__class_weights_t *class_weights,
                                     const gantry_array_t **batch, size_t *count) {
    GANTRY__TRY(check_batch_rows(model, *batch, *count));
    GANTRY__TRY(gantry__model_build_for(model, *batch));
    if (step != GANTRY__STEP_PREDICT) GANTRY__TRY(gantry__model_check_compiled(model, call));
    if (class_weights) GANTRY__TRY(gantry__class_weights_add(class_weights, model, batch, count));
    GANTRY__TRY(check_batch_count(model, step, count));
    return check_batch_numbers(model, step, *batch, *count);
}
