/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a batch for replicas of unlike speed: given, or from the time that each one takes. */
#include <math.h>
#include <string.h>

#include "base/os/thread.h"
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/batch.h"
#include "train/model/step.h"

typedef const gantry_tensor_t tensor;

#define MOST_GRADIENTS 200 /* of the results of a measured function */
#define ROUNDS 3

/* ---- given weights ---- */

static gantry_status_t replica_weights_check(const gantry_model_t *model, const double *weights,
                                             size_t count) {
    if (count != model->replicas.count)
        return gantry__train_refuse(NULL, "model %s: %zu weights of replicas; it has %zu replicas",
                                    model->name, count, model->replicas.count);
    for (size_t r = 0; r < count; ++r) {
        if (!(weights[r] > 0) || isinf(weights[r]))
            return gantry__train_refuse(
                NULL, "model %s: the weight of replica %zu is %g; numbers above 0 are accepted",
                model->name, r, weights[r]);
    }
    return GANTRY_OK;
}

gantry_status_t gantry_model_set_replica_weights(gantry_model_t *model, const double *weights,
                                                 size_t count) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    double *kept = NULL;
    GANTRY__TRY(gantry__model_check(model, "gantry_model_set_replica_weights"));
    if (weights) {
        GANTRY__TRY(replica_weights_check(model, weights, count));
        kept = gantry__alloc(count, sizeof *kept);
        if (!kept) return GANTRY_RESOURCE_EXHAUSTED;
        memcpy(kept, weights, count * sizeof *kept);
    }
    gantry__free(model->replicas.weights);
    model->replicas.weights = kept;
    gantry__model_forget_steps(model);
    return GANTRY_OK;
}

/* ---- one replica by itself ---- */

typedef struct measured_t {
    gantry_model_t *model;
    size_t replica;
    size_t weight_count; /* components that are weights of samples */
} measured_t;

static size_t count_results(const gantry_model_t *model) {
    size_t count = 0;
    for (size_t i = 0; i < model->net.variable_count; ++i)
        count += model->net.variables[i].is_trained;
    return count < MOST_GRADIENTS ? count : MOST_GRADIENTS;
}

/* The results must be gradients of the first layers, because all other work comes before them. */
static void measured_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                          void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const measured_t *measured = user;
    const gantry__step_body_t body = {.model = measured->model,
                                      .step = GANTRY__STEP_TRAIN,
                                      .weight_count = measured->weight_count};
    gantry__step_call_t c;
    gantry_status_t status = gantry__step_init(&c, &body, scope, inputs);
    if (gantry__train_hand_on(scope, status) == GANTRY_OK) {
        gantry__replica_t *replica = &c.replicas[0];
        gantry__step_take_rows(&c, replica, measured->replica, 0, c.rows);
        gantry__step_begin_replica(&c, replica);
        if (replica->tape && replica->loss)
            (void)gantry_tape_gradient(
                replica->tape, replica->loss, NULL, replica->sources, c.trained_count,
                &(gantry_gradient_options_t){.zeros_where_unconnected = true}, replica->gradients);
        for (size_t i = 0; i < count_results(measured->model) && replica->gradients[i]; ++i)
            outputs[i] = gantry_scope_keep(replica->scope, replica->gradients[i]);
        gantry__step_end_replica(&c, replica);
    }
    gantry__step_deinit(&c);
}

/* ---- time ---- */

static gantry_status_t time_replica_call(gantry_scope_t *scope, gantry_function_t *function,
                                         tensor *const *inputs, size_t count, size_t result_count,
                                         double *out_seconds) {
    tensor *results[MOST_GRADIENTS];
    const double begin = gantry__now_seconds();
    GANTRY__TRY(gantry_function_call(scope, function, inputs, count, results, result_count));
    GANTRY__TRY(gantry_runtime_synchronize(gantry_scope_runtime(scope)));
    *out_seconds = gantry__now_seconds() - begin;
    for (size_t i = 0; i < result_count; ++i) gantry_tensor_drop(scope, results[i]);
    return GANTRY_OK;
}

/* The shortest of some calls; the first one opens devices and compiles. */
static gantry_status_t replica_weights_time_calls(const measured_t *measured, gantry_scope_t *scope,
                                                  gantry_function_t *function,
                                                  const gantry_array_t *batch, size_t count,
                                                  double *out_seconds) {
    const size_t result_count = count_results(measured->model);
    tensor *inputs[GANTRY_MAX_COMPONENTS + 1];
    double seconds;
    for (size_t i = 0; i < count; ++i)
        inputs[i] = gantry__model_make_component(measured->model, scope, &batch[i], i);
    if (measured->model->replicas.worker)
        inputs[count++] = gantry__train_constant(scope, measured->model->dtype, 1); /* its share */
    for (int round = 0; round <= ROUNDS; ++round) {
        GANTRY__TRY(time_replica_call(scope, function, inputs, count, result_count, &seconds));
        if (round == 1 || seconds < *out_seconds) *out_seconds = seconds;
    }
    return GANTRY_OK;
}

static gantry_status_t time_replica(gantry_model_t *model, size_t replica,
                                    const gantry_array_t *batch, size_t count,
                                    double *out_seconds) {
    measured_t measured = {
        .model = model,
        .replica = replica,
        .weight_count = gantry__model_weight_count(model, GANTRY__STEP_TRAIN, count)};
    gantry_input_spec_t specs[GANTRY_MAX_COMPONENTS + 1] = {{.name = NULL}};
    gantry_function_t *function = NULL;
    const size_t results = count_results(model), shares = model->replicas.worker ? 1 : 0;
    for (size_t i = 0; i < count; ++i) {
        specs[i].dtype = gantry__model_component_type(model, i, batch[i].dtype);
        specs[i].shape = batch[i].shape;
        specs[i].shape.dims[0] = -1; /* traced by the call, which has the replica's device */
    }
    if (shares) specs[count].dtype = model->dtype;
    gantry_scope_t *scope = gantry__model_scope(model, NULL, replica);
    if (!scope) return gantry__train_no_scope(model->runtime);
    gantry_status_t status =
        gantry_function_trace(model->runtime, "measured_step", measured_body, &measured, specs,
                              count + shares, results, NULL, &function);
    *out_seconds = 0;
    if (status == GANTRY_OK)
        status = replica_weights_time_calls(&measured, scope, function, batch, count, out_seconds);
    gantry_function_release(function);
    return gantry__train_close(scope, status);
}

/* ---- all replicas ---- */

static gantry_status_t time_all(gantry_model_t *model, const gantry_array_t *batch, size_t count,
                                double *weights) {
    double sum = 0;
    for (size_t r = 0; r < model->replicas.count; ++r) {
        double seconds = 0;
        GANTRY__TRY(time_replica(model, r, batch, count, &seconds));
        weights[r] = 1 / (seconds > 1e-9 ? seconds : 1e-9);
        sum += weights[r];
    }
    for (size_t r = 0; r < model->replicas.count; ++r)
        weights[r] *= (double)model->replicas.count / sum;
    return gantry_model_set_replica_weights(model, weights, model->replicas.count);
}

static gantry_status_t time_first_batch(gantry_model_t *model, gantry_dataset_iterator_t *iterator,
                                        double *weights) {
    const gantry_array_t *batch;
    size_t count;
    bool end;
    GANTRY__TRY(gantry_dataset_iterator_next(iterator, &batch, &count, &end));
    if (end)
        return gantry__train_refuse(
            NULL, "gantry_model_measure_replicas: the data set has no batch; one is measured");
    GANTRY__TRY(gantry__batch_accept(model, GANTRY__STEP_TRAIN, "gantry_model_measure_replicas",
                                     NULL, &batch, &count));
    return time_all(model, batch, count, weights);
}

static gantry_status_t check_measure(const gantry_model_t *model, const double *out_weights,
                                     size_t count) {
    GANTRY__TRY(gantry__model_check(model, "gantry_model_measure_replicas"));
    GANTRY__TRY(gantry__model_check_compiled(model, "gantry_model_measure_replicas"));
    if (out_weights && count != model->replicas.count)
        return gantry__train_refuse(
            NULL, "gantry_model_measure_replicas: room for %zu weights; %zu are accepted", count,
            model->replicas.count);
    return GANTRY_OK;
}

gantry_status_t gantry_model_measure_replicas(gantry_model_t *model, gantry_dataset_t *batches,
                                              double *out_weights, size_t count) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_dataset_iterator_t *iterator;
    GANTRY__TRY(check_measure(model, out_weights, count));
    double *weights = gantry__alloc(model->replicas.count, sizeof *weights);
    if (!weights) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry_dataset_iterator_create(batches, &iterator);
    if (status == GANTRY_OK) {
        status = time_first_batch(model, iterator, weights);
        gantry_dataset_iterator_release(iterator);
    }
    if (status == GANTRY_OK && out_weights)
        memcpy(out_weights, weights, model->replicas.count * sizeof *weights);
    gantry__free(weights);
    return status;
}
