/* SPDX-License-Identifier: Apache-2.0 */
/* What a model is trained for. */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/memory.h"
#include "train/model/worker.h"

void gantry__model_forget_steps(gantry_model_t *model) {
    for (size_t i = 0; i < sizeof model->steps / sizeof model->steps[0]; ++i) {
        gantry_function_release(model->steps[i]);
        model->steps[i] = NULL;
    }
    gantry__worker_forget(model->worker);
}

static gantry_status_t check_metrics(const char *name, gantry_metric_t *const *metrics,
                                     size_t count) {
    if (!metrics && count > 0)
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "gantry_model_compile: %s is NULL; an array of %zu is accepted",
                                  name, count);
    for (size_t i = 0; i < count; ++i) {
        if (!metrics[i])
            return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                      "gantry_model_compile: %s[%zu] is NULL; a metric is accepted",
                                      name, i);
    }
    return GANTRY_OK;
}

static gantry_status_t check_options(const gantry_compile_options_t *o) {
    if (!o->optimizer)
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "gantry_model_compile: the optimizer is NULL; one from "
                                  "gantry_sgd or another constructor is accepted");
    if (!*gantry_loss_name(o->loss))
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_model_compile: the loss is %d; one of gantry_loss_t is accepted", (int)o->loss);
    GANTRY__TRAIN_TRY(check_metrics("metrics", o->metrics, o->metric_count));
    return check_metrics("weighted_metrics", o->weighted_metrics, o->weighted_metric_count);
}

/* A step has one loss, and its weights of samples come with each batch. */
static gantry_status_t read_loss_options(const gantry_compile_options_t *o,
                                         gantry_loss_options_t *out) {
    GANTRY__TRAIN_TRY(gantry__train_options(o->loss_options, sizeof *out, out, sizeof *out,
                                            "gantry_model_compile: loss_options"));
    if (out->reduction == GANTRY_REDUCTION_NONE || out->sample_weights)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_model_compile: loss_options have %s; a reduction to one loss, and weights as a component of each batch, are accepted",
            out->sample_weights ? "sample_weights" : "GANTRY_REDUCTION_NONE");
    return GANTRY_OK;
}

/* The mean of the loss comes first. */
static gantry_status_t take_metrics(gantry_model_t *model, const gantry_compile_options_t *o) {
    const size_t weighted = o->metric_count + 1, count = weighted + o->weighted_metric_count;
    gantry_metric_t **metrics = gantry__train_alloc(count, sizeof *metrics);
    if (!metrics) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_metric_options_t options = {
        .struct_size = sizeof options, .name = "loss", .dtype = model->dtype};
    metrics[0] = gantry_mean_metric(&options);
    if (!metrics[0]) {
        gantry__train_free((void *)metrics);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < model->metric_count; ++i) gantry_metric_release(model->metrics[i]);
    gantry__train_free((void *)model->metrics);
    for (size_t i = 0; i < o->metric_count; ++i) metrics[i + 1] = o->metrics[i];
    model->metrics = metrics;
    for (size_t i = weighted; i < count; ++i) metrics[i] = o->weighted_metrics[i - weighted];
    model->metric_count = count;
    model->first_weighted = weighted;
    return GANTRY_OK;
}

static void release_given(const gantry_compile_options_t *o) {
    gantry_optimizer_release(o->optimizer);
    for (size_t i = 0; o->metrics && i < o->metric_count; ++i) gantry_metric_release(o->metrics[i]);
    for (size_t i = 0; o->weighted_metrics && i < o->weighted_metric_count; ++i)
        gantry_metric_release(o->weighted_metrics[i]);
}

static gantry_status_t model_compile(gantry_model_t *model, const gantry_compile_options_t *o) {
    GANTRY__TRAIN_TRY(gantry__model_check(model, "gantry_model_compile"));
    GANTRY__TRAIN_TRY(check_options(o));
    gantry_loss_options_t loss_options;
    GANTRY__TRAIN_TRY(read_loss_options(o, &loss_options));
    GANTRY__TRAIN_TRY(take_metrics(model, o));
    gantry_optimizer_release(model->optimizer);
    model->optimizer = o->optimizer;
    model->loss = o->loss;
    model->loss_options = loss_options;
    model->runs_eagerly = o->runs_eagerly || o->check_numerics;
    model->checks_numerics = o->check_numerics;
    model->is_compiled = true;
    for (size_t i = 0; i < model->layer_count; ++i)
        gantry__layer_settle_trainable(model->layers[i]);
    gantry__model_forget_steps(model);
    return GANTRY_OK;
}

gantry_status_t gantry_model_compile(gantry_model_t *model,
                                     const gantry_compile_options_t *options) {
    gantry_compile_options_t o;
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    GANTRY__TRAIN_TRY(
        gantry__train_options(options, sizeof o, &o, sizeof o, "gantry_model_compile: options"));
    gantry_status_t status = model_compile(model, &o);
    if (status == GANTRY_OK) return GANTRY_OK;
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    release_given(&o);
    status = gantry_fail(status, text);
    return model ? gantry__model_fail(model, status) : status;
}
