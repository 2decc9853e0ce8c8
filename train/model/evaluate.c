/* SPDX-License-Identifier: Apache-2.0 */
/* Testing and predicting, and the metrics of a model. */
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/batch.h"
#include "train/model/step.h"
#include "train/model/worker.h"

/* ---- metrics ---- */

static gantry_status_t reset_in(const gantry_model_t *model, gantry_scope_t *scope) {
    for (size_t i = 0; i < model->program.metric_count; ++i) {
        (void)gantry_metric_build(model->program.metrics[i].metric, scope);
        (void)gantry_metric_reset(model->program.metrics[i].metric, scope);
    }
    return gantry_scope_status(scope);
}

gantry_status_t gantry__model_reset_metrics(gantry_model_t *model) {
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    if (model->replicas.worker)
        model->replicas.worker->tested_batches = model->replicas.worker->tested_rows = 0;
    (void)reset_in(model, scope);
    return gantry_scope_end(scope);
}

static gantry_status_t evaluate_read_one(gantry_metric_t *metric, gantry_scope_t *scope,
                                         double *out) {
    const gantry_tensor_t *result =
        gantry_cast(scope, gantry_metric_result(metric, scope), GANTRY_FLOAT64);
    return result ? gantry_tensor_read(result, out, sizeof *out) : gantry_scope_status(scope);
}

static gantry_status_t read_metrics(gantry_model_t *model, double *out_values, size_t count) {
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < count && status == GANTRY_OK; ++i)
        status = evaluate_read_one(model->program.metrics[i].metric, scope, &out_values[i]);
    return gantry__train_close(scope, status);
}

static gantry_status_t read_joined(gantry_model_t *model, double *out_values, size_t count) {
    if (!model->replicas.worker) return read_metrics(model, out_values, count);
    GANTRY__TRY(gantry__worker_join_metrics(model));
    GANTRY__TRY(read_metrics(model, out_values, count));
    return gantry__worker_part_metrics(model);
}

gantry_status_t gantry__model_read_metrics(gantry_model_t *model, double *out_values) {
    return read_joined(model, out_values, model->program.metric_count);
}

gantry_status_t gantry__model_read_loss(gantry_model_t *model, double *out_value) {
    return read_joined(model, out_value, 1);
}

const char *gantry_model_value_name(const gantry_model_t *model, size_t index) {
    return model && index < model->program.metric_count ? model->program.metrics[index].name : NULL;
}

/* ---- batches ---- */

/* Takes a batch's results; scope owns them. */
typedef gantry_status_t (*take_fn)(const gantry_tensor_t *const *results, void *user);

static gantry_status_t step_on(gantry_model_t *model, gantry__step_mode_t step,
                               const gantry_array_t *batch, size_t count, take_fn take,
                               void *user) {
    const gantry_tensor_t *results[GANTRY_MAX_COMPONENTS] = {NULL};
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    gantry_status_t status = gantry__model_step(model, step, scope, batch, count, results);
    if (status == GANTRY_OK && take) status = take(results, user);
    return gantry__train_close(scope, status);
}

static const char *name_call(gantry__step_mode_t step) {
    return step == GANTRY__STEP_PREDICT ? "gantry_model_predict" : "gantry_model_evaluate";
}

static gantry_status_t step_all(gantry_model_t *model, gantry__step_mode_t step,
                                gantry_dataset_iterator_t *iterator, take_fn take, void *user) {
    const gantry_array_t *batch;
    size_t count;
    bool end = false;
    for (bool is_first = true;; is_first = false) {
        GANTRY__TRY(gantry_dataset_iterator_next(iterator, &batch, &count, &end));
        if (end && is_first)
            return gantry__train_refuse(
                NULL, "%s: the data set is empty; one with batches is accepted", name_call(step));
        if (end) return GANTRY_OK;
        if (model->state.is_validated && gantry__run_is_stopped(&model->state))
            return gantry__train_fail(GANTRY_CANCELLED, "the validation of model %s was stopped",
                                      model->name);
        GANTRY__TRY(gantry__batch_accept(model, step, name_call(step), NULL, &batch, &count));
        GANTRY__TRY(step_on(model, step, batch, count, take, user));
        if (model->replicas.worker) {
            ++model->replicas.worker->tested_batches;
            model->replicas.worker->tested_rows += (uint64_t)batch[0].shape.dims[0];
        }
    }
}

static gantry_status_t run_over(gantry_model_t *model, gantry__step_mode_t step,
                                gantry_dataset_t *batches, take_fn take, void *user) {
    gantry_dataset_iterator_t *iterator;
    if (!batches) return gantry__train_fail_null(NULL, name_call(step), "data set", "one");
    if (gantry_dataset_cardinality(batches) == GANTRY_INFINITE_CARDINALITY)
        return gantry__train_refuse(
            NULL, "%s: the data set never ends; gantry_dataset_take is accepted", name_call(step));
    GANTRY__TRY(gantry_dataset_iterator_create(batches, &iterator));
    gantry_status_t status = step_all(model, step, iterator, take, user);
    gantry_dataset_iterator_release(iterator);
    return status;
}

/* ---- evaluate ---- */

static gantry_status_t model_evaluate(gantry_model_t *model, gantry_dataset_t *batches,
                                      double *out_values, size_t capacity) {
    GANTRY__TRY(gantry__model_check_compiled(model, "gantry_model_evaluate"));
    if (!out_values || capacity < model->program.metric_count)
        return gantry__train_refuse(
            NULL,
            "gantry_model_evaluate: %s room for %zu values; %zu are accepted, the loss and the metrics",
            out_values ? "out_values has" : "out_values is NULL, with", capacity,
            model->program.metric_count);
    if (!model->state.is_in_fit) GANTRY__TRY(gantry__worker_compare_model(model, NULL));
    GANTRY__TRY(gantry__model_reset_metrics(model));
    GANTRY__TRY(run_over(model, GANTRY__STEP_TEST, batches, NULL, NULL));
    return gantry__model_read_metrics(model, out_values);
}

gantry_status_t gantry_model_evaluate(gantry_model_t *model, gantry_dataset_t *batches,
                                      double *out_values, size_t capacity) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__model_begin(model, "gantry_model_evaluate"));
    return gantry__worker_end(model->replicas.worker,
                              model_evaluate(model, batches, out_values, capacity));
}

/* ---- predict ---- */

typedef struct predicted_t {
    unsigned char *out;
    size_t room, needed;
} predicted_t;

typedef struct predictions_t {
    predicted_t *outputs;
    size_t count;
} predictions_t;

static gantry_status_t evaluate_take_output(predicted_t *output, const gantry_tensor_t *result) {
    const size_t bytes = gantry_tensor_bytes(result), at = output->needed;
    output->needed += bytes;
    if (output->needed > output->room) return GANTRY_OK;
    return gantry_tensor_read(result, output->out + at, bytes);
}

static gantry_status_t evaluate_take_outputs(const gantry_tensor_t *const *results, void *user) {
    const predictions_t *p = user;
    for (size_t i = 0; i < p->count; ++i)
        GANTRY__TRY(evaluate_take_output(&p->outputs[i], results[i]));
    return GANTRY_OK;
}

static gantry_status_t check_output_count(const gantry_model_t *model, size_t count,
                                          const char *call) {
    const size_t has = model->net.output_count > 0 ? model->net.output_count : 1;
    if (count == has) return GANTRY_OK;
    return gantry__train_refuse(NULL,
                                "%s: room for %zu output%s, and model %s has %zu; that is accepted",
                                call, count, count == 1 ? "" : "s", model->name, has);
}

static gantry_status_t predict(gantry_model_t *model, gantry_dataset_t *batches,
                               predicted_t *outputs, size_t count, size_t *out_needed,
                               const char *call) {
    predictions_t predictions = {.outputs = outputs, .count = count};
    GANTRY__TRY(check_output_count(model, count, call));
    GANTRY__TRY(
        run_over(model, GANTRY__STEP_PREDICT, batches, evaluate_take_outputs, &predictions));
    for (size_t i = 0; i < count && out_needed; ++i) out_needed[i] = outputs[i].needed;
    for (size_t i = 0; i < count; ++i) {
        if (outputs[i].out && outputs[i].needed > outputs[i].room)
            return gantry__train_refuse(
                NULL, "%s: the values of output %zu take %zu bytes; room for %zu is given", call, i,
                outputs[i].needed, outputs[i].room);
    }
    return GANTRY_OK;
}

gantry_status_t gantry_model_predict(gantry_model_t *model, gantry_dataset_t *batches, void *out,
                                     size_t out_bytes, size_t *out_needed) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    predicted_t output = {.out = out, .room = out ? out_bytes : 0};
    GANTRY__TRY(gantry__model_check(model, "gantry_model_predict"));
    return predict(model, batches, &output, 1, out_needed, "gantry_model_predict");
}

gantry_status_t gantry_model_predict_outputs(gantry_model_t *model, gantry_dataset_t *batches,
                                             void *const *outs, const size_t *out_bytes,
                                             size_t output_count, size_t *out_needed) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    static const char call[] = "gantry_model_predict_outputs";
    predicted_t outputs[GANTRY_MAX_COMPONENTS] = {{.out = NULL}};
    GANTRY__TRY(gantry__model_check(model, call));
    if (!batches) return gantry__train_fail_null(NULL, call, "data set", "one");
    if (outs && !out_bytes)
        return gantry__train_refuse(
            NULL, "%s: out_bytes is NULL; a size for each output is accepted", call);
    GANTRY__TRY(check_output_count(model, output_count, call));
    for (size_t i = 0; i < output_count && outs; ++i)
        outputs[i] = (predicted_t){.out = outs[i], .room = outs[i] ? out_bytes[i] : 0};
    return predict(model, batches, outputs, output_count, out_needed, call);
}
