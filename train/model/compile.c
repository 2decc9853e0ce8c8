/* SPDX-License-Identifier: Apache-2.0 */
/* What a model is trained for: a loss of each output, and metrics. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "shared/memory.h"
#include "train/loss/loss_formula.h"
#include "train/metric/metric_state.h"
#include "train/model/worker.h"
#include "train/optimizer/optimizer_state.h"

/* What the program requests: each output's part, and the number of outputs that the model has. */
typedef struct wanted_t {
    gantry_compile_options_t options;
    gantry_compile_output_t outputs[GANTRY_MAX_COMPONENTS];
    size_t output_count;
    bool is_listed; /* the options have a list of outputs */
} wanted_t;

void gantry__model_forget_steps(gantry_model_t *model) {
    for (size_t i = 0; i < GANTRY__STEP_MODES; ++i) {
        gantry_function_release(model->program.steps[i]);
        model->program.steps[i] = NULL;
    }
    gantry__worker_forget(model->replicas.worker);
}

gantry_status_t gantry__model_check_compiled(const gantry_model_t *model, const char *call) {
    const size_t wanted = model->program.target_count, has = model->net.output_count;
    if (model->program.refusal)
        return gantry__train_fail(model->program.refusal_status, "%s", model->program.refusal);
    if (!model->program.is_compiled)
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION, "%s: model %s is not compiled", call,
                                  model->name);
    if (has == 0 || has == wanted) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_FAILED_PRECONDITION,
        "%s: model %s is compiled for %zu outputs, and has %zu; gantry_model_set_outputs comes before gantry_model_compile",
        call, model->name, wanted, has);
}

/* ---- reading the options ---- */

static gantry_compile_output_t common_part(const gantry_compile_options_t *o) {
    return (gantry_compile_output_t){.loss = o->loss,
                                     .loss_options = o->loss_options,
                                     .metrics = o->metrics,
                                     .metric_count = o->metric_count,
                                     .weighted_metrics = o->weighted_metrics,
                                     .weighted_metric_count = o->weighted_metric_count};
}

/* The size of the first struct of the list must be that of all. */
static gantry_status_t compile_read_list(wanted_t *w) {
    const gantry_compile_options_t *o = &w->options;
    const uint32_t given = o->outputs->struct_size,
                   size = given ? given : (uint32_t)sizeof *o->outputs;
    if (o->output_count == 0 || o->output_count > GANTRY_MAX_COMPONENTS)
        return gantry__train_refuse(NULL, "gantry_model_compile: %zu outputs; 1 to %d are accepted",
                                    o->output_count, GANTRY_MAX_COMPONENTS);
    GANTRY__TRY(gantry__struct_read(o->outputs, sizeof w->outputs[0], &w->outputs[0],
                                    sizeof w->outputs[0], "gantry_model_compile: outputs"));
    for (size_t i = 1; i < o->output_count; ++i)
        memcpy(&w->outputs[i], (const char *)o->outputs + i * size, size);
    w->output_count = o->output_count;
    w->is_listed = true;
    if (o->loss == 0 && !o->loss_options && o->metric_count == 0 && o->weighted_metric_count == 0)
        return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_model_compile: a loss or metrics are given together with outputs; they are accepted in the entries of outputs");
}

static gantry_status_t read_wanted(const gantry_model_t *model, wanted_t *w) {
    if (w->options.outputs) return compile_read_list(w);
    w->output_count = model && model->net.output_count > 0 ? model->net.output_count : 1;
    for (size_t i = 0; i < w->output_count; ++i)
        w->outputs[i] = (gantry_compile_output_t){.loss = w->options.loss,
                                                  .loss_options = w->options.loss_options};
    w->outputs[0] = common_part(&w->options);
    return GANTRY_OK;
}

/* ---- checks ---- */

static gantry_status_t check_metrics(const char *name, gantry_metric_t *const *metrics,
                                     size_t count) {
    if (!metrics && count > 0)
        return gantry__train_refuse(
            NULL, "gantry_model_compile: %s is NULL; an array of %zu is accepted", name, count);
    for (size_t i = 0; i < count; ++i) {
        if (!metrics[i])
            return gantry__train_refuse(
                NULL, "gantry_model_compile: %s[%zu] is NULL; a metric is accepted%s", name, i,
                gantry__train_before().text);
    }
    return GANTRY_OK;
}

static bool has_metrics(const gantry_compile_output_t *output) {
    return output->metric_count + output->weighted_metric_count > 0;
}

static gantry_status_t compile_check_outputs(const gantry_model_t *model, const wanted_t *w) {
    const size_t has = model->net.output_count > 0 ? model->net.output_count : 1;
    bool has_loss = false;
    if (w->output_count != has)
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_model_compile: %zu outputs are given, and model %s has %zu; gantry_model_set_outputs comes before",
            w->output_count, model->name, has);
    if (!w->is_listed && w->output_count > 1 && has_metrics(&w->outputs[0]))
        return gantry__train_refuse(
            NULL,
            "gantry_model_compile: model %s has %zu outputs, and metrics name none; they are accepted in the entries of outputs",
            model->name, has);
    for (size_t i = 0; i < w->output_count; ++i) {
        const gantry_loss_t loss = w->outputs[i].loss;
        has_loss = has_loss || loss != 0;
        if (!*gantry_loss_name(loss) && (loss != 0 || !w->is_listed))
            return gantry__train_refuse(
                NULL, "gantry_model_compile: the loss is %d; one of gantry_loss_t is accepted",
                (int)loss);
        GANTRY__TRY(check_metrics("metrics", w->outputs[i].metrics, w->outputs[i].metric_count));
        GANTRY__TRY(check_metrics("weighted_metrics", w->outputs[i].weighted_metrics,
                                  w->outputs[i].weighted_metric_count));
    }
    if (has_loss) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "gantry_model_compile: no output has a loss; one of gantry_loss_t is accepted");
}

static gantry_status_t check_weights(const gantry_compile_options_t *o, size_t outputs) {
    if (!o->loss_weights && o->loss_weight_count == 0) return GANTRY_OK;
    if (!o->loss_weights || o->loss_weight_count != outputs)
        return gantry__train_refuse(
            NULL,
            "gantry_model_compile: %zu loss_weights%s; one for each of %zu outputs is accepted",
            o->loss_weight_count, o->loss_weights ? "" : " at NULL", outputs);
    for (size_t i = 0; i < outputs; ++i) {
        if (!isfinite(o->loss_weights[i]))
            return gantry__train_refuse(
                NULL, "gantry_model_compile: loss_weights[%zu] is %g; a finite number is accepted",
                i, o->loss_weights[i]);
    }
    return GANTRY_OK;
}

static gantry_status_t check_wanted(const gantry_model_t *model, const wanted_t *w) {
    if (model->state.is_in_fit)
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_model_compile: model %s is in gantry_model_fit; a call before or after it is accepted",
            model->name);
    if (!w->options.optimizer)
        return gantry__train_fail_null(NULL, "gantry_model_compile", "optimizer",
                                       "one from gantry_sgd or another constructor");
    if (w->options.optimizer->owner && w->options.optimizer->owner != model)
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_model_compile: the optimizer is that of another model; one of its own is accepted for model %s",
            model->name);
    GANTRY__TRY(compile_check_outputs(model, w));
    return check_weights(&w->options, w->output_count);
}

/* ---- targets ---- */

/* A step has one number of each loss, and its weights of samples come with each batch. */
static gantry_status_t read_loss_options(const gantry_compile_output_t *o,
                                         gantry_loss_options_t *out) {
    GANTRY__TRY(gantry__struct_read(o->loss_options, sizeof *out, out, sizeof *out,
                                    "gantry_model_compile: loss_options"));
    if (out->reduction == GANTRY_REDUCTION_NONE || out->sample_weights)
        return gantry__train_refuse(
            NULL,
            "gantry_model_compile: loss_options have %s; a reduction to one loss, and weights as a component of each batch, are accepted",
            out->sample_weights ? "sample_weights" : "GANTRY_REDUCTION_NONE");
    return o->loss == 0 ? GANTRY_OK : gantry__train_loss_function(o->loss, out);
}

static gantry_status_t make_targets(const wanted_t *w, gantry__target_t **out_targets) {
    gantry__target_t *targets = gantry__alloc(w->output_count, sizeof *targets);
    size_t labels = 0;
    *out_targets = targets;
    if (!targets) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < w->output_count; ++i) {
        targets[i].loss = w->outputs[i].loss;
        targets[i].loss_weight = w->options.loss_weights ? w->options.loss_weights[i] : 1;
        targets[i].has_labels = targets[i].loss != 0 || has_metrics(&w->outputs[i]);
        targets[i].label = targets[i].has_labels ? labels++ : 0;
        GANTRY__TRY(read_loss_options(&w->outputs[i], &targets[i].loss_options));
    }
    return GANTRY_OK;
}

/* ---- metrics ---- */

/* A list that grows; its room is enough for all. */
typedef struct metrics_t {
    const gantry_model_t *model;
    gantry__model_metric_t *list;
    size_t count;
    bool has_outputs; /* names of metrics begin with those of their outputs */
} metrics_t;

static bool is_metric_named(const metrics_t *m, const char *name) {
    for (size_t i = 0; i < m->count; ++i) {
        if (strcmp(m->list[i].name, name) == 0) return true;
    }
    return false;
}

/* Names a metric as Keras does: a second one of a name gets a number, or, if it is weighted,
 * "weighted_" in front. */
static gantry_status_t name_metric(metrics_t *m, gantry__model_metric_t *entry) {
    char stem[256], name[288];
    const char *plain = gantry_metric_name(entry->metric);
    const char *output = m->has_outputs ? gantry__model_output_name(m->model, entry->target) : "";
    const char *line = *output ? "_" : "";
    (void)snprintf(stem, sizeof stem, "%s%s%s", output, line, plain);
    if (entry->is_weighted && is_metric_named(m, stem))
        (void)snprintf(stem, sizeof stem, "%s%sweighted_%s", output, line, plain);
    (void)snprintf(name, sizeof name, "%s", stem);
    for (int number = 1; is_metric_named(m, name); ++number)
        (void)snprintf(name, sizeof name, "%s_%d", stem, number);
    entry->name = gantry__strdup(name);
    return entry->name ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* The mean of a loss. */
static gantry_status_t compile_add_loss(metrics_t *m, bool is_of_target, size_t target) {
    const gantry_metric_options_t options = {
        .struct_size = sizeof options, .name = "loss", .dtype = m->model->dtype};
    metrics_t named = *m;
    gantry__model_metric_t entry = {.metric = gantry_mean_metric(&options),
                                    .target = target,
                                    .is_loss = true,
                                    .is_of_target = is_of_target};
    if (!entry.metric) return GANTRY_RESOURCE_EXHAUSTED;
    named.has_outputs = is_of_target;
    const gantry_status_t status = name_metric(&named, &entry);
    if (status == GANTRY_OK)
        m->list[m->count++] = entry;
    else
        gantry_metric_release(entry.metric);
    return status;
}

static gantry_status_t add_losses(metrics_t *m, const gantry__target_t *targets, size_t count) {
    size_t losses = 0;
    GANTRY__TRY(compile_add_loss(m, false, 0));
    for (size_t i = 0; i < count; ++i) losses += targets[i].loss != 0;
    for (size_t i = 0; i < count && losses > 1; ++i) {
        if (targets[i].loss != 0) GANTRY__TRY(compile_add_loss(m, true, i));
    }
    return GANTRY_OK;
}

static gantry_status_t add_metrics(metrics_t *m, gantry_metric_t *const *metrics, size_t count,
                                   size_t target, bool is_weighted) {
    for (size_t i = 0; i < count; ++i) {
        gantry__model_metric_t entry = {
            .metric = metrics[i], .target = target, .is_weighted = is_weighted};
        for (size_t k = 0; k < m->count; ++k) {
            if (m->list[k].metric == metrics[i])
                return gantry__train_refuse(
                    NULL,
                    "gantry_model_compile: metric %s is given twice; it would count each batch twice",
                    gantry_metric_name(metrics[i]));
        }
        if (metrics[i]->has_vector)
            return gantry__train_refuse(
                NULL,
                "gantry_model_compile: metric %s has a number for each class or threshold; one with an average, or one threshold, is accepted",
                gantry_metric_name(metrics[i]));
        GANTRY__TRY(name_metric(m, &entry));
        m->list[m->count++] = entry;
    }
    return GANTRY_OK;
}

static size_t count_all_metrics(const wanted_t *w) {
    size_t count = 1 + w->output_count;
    for (size_t i = 0; i < w->output_count; ++i)
        count += w->outputs[i].metric_count + w->outputs[i].weighted_metric_count;
    return count;
}

static gantry_status_t add_all_metrics(metrics_t *m, const wanted_t *w,
                                       const gantry__target_t *targets) {
    GANTRY__TRY(add_losses(m, targets, w->output_count));
    for (size_t i = 0; i < w->output_count; ++i)
        GANTRY__TRY(add_metrics(m, w->outputs[i].metrics, w->outputs[i].metric_count, i, false));
    for (size_t i = 0; i < w->output_count; ++i)
        GANTRY__TRY(add_metrics(m, w->outputs[i].weighted_metrics,
                                w->outputs[i].weighted_metric_count, i, true));
    return GANTRY_OK;
}

/* After a failure the program's metrics are released with what was given. */
static void drop_metrics(metrics_t *m) {
    for (size_t i = 0; m->list && i < m->count; ++i) {
        if (m->list[i].is_loss) gantry_metric_release(m->list[i].metric);
        gantry__free(m->list[i].name);
    }
    gantry__free(m->list);
}

static gantry_status_t make_metrics(metrics_t *m, const wanted_t *w,
                                    const gantry__target_t *targets) {
    m->list = gantry__alloc(count_all_metrics(w), sizeof *m->list);
    if (!m->list) return GANTRY_RESOURCE_EXHAUSTED;
    return add_all_metrics(m, w, targets);
}

/* ---- the call ---- */

void gantry__model_release_targets(gantry_model_t *model) {
    for (size_t i = 0; i < model->program.metric_count; ++i) {
        gantry__metric_disown(model->program.metrics[i].metric);
        gantry__free(model->program.metrics[i].name);
    }
    gantry__free(model->program.metrics);
    gantry__free(model->program.targets);
}

static void set_targets(gantry_model_t *model, const wanted_t *w, const metrics_t *m,
                        gantry__target_t *targets) {
    for (size_t i = 0; i < m->count; ++i) gantry__metric_own(m->list[i].metric);
    gantry__model_release_targets(model); /* which may have some of these metrics */
    model->program.metrics = m->list;
    model->program.metric_count = m->count;
    model->program.targets = targets;
    model->program.target_count = w->output_count;
    model->program.label_count = 0;
    for (size_t i = 0; i < w->output_count; ++i)
        model->program.label_count += targets[i].has_labels;
}

static gantry_status_t take_targets(gantry_model_t *model, const wanted_t *w) {
    metrics_t m = {.model = model, .has_outputs = w->output_count > 1};
    gantry__target_t *targets = NULL;
    gantry_status_t status = make_targets(w, &targets);
    if (status == GANTRY_OK) status = make_metrics(&m, w, targets);
    if (status == GANTRY_OK) {
        set_targets(model, w, &m, targets);
        return GANTRY_OK;
    }
    drop_metrics(&m);
    gantry__free(targets);
    return status;
}

static void visit_metrics(const gantry_compile_output_t *o, void (*visit)(gantry_metric_t *)) {
    for (size_t i = 0; o->metrics && i < o->metric_count; ++i) {
        if (o->metrics[i]) visit(o->metrics[i]);
    }
    for (size_t i = 0; o->weighted_metrics && i < o->weighted_metric_count; ++i) {
        if (o->weighted_metrics[i]) visit(o->weighted_metrics[i]);
    }
}

static void visit_given(const wanted_t *w, void (*visit)(gantry_metric_t *)) {
    const gantry_compile_output_t common = common_part(&w->options);
    visit_metrics(&common, visit);
    for (size_t i = 0; w->is_listed && i < w->output_count; ++i)
        visit_metrics(&w->outputs[i], visit);
}

/* Releases what no model has. A metric that is given twice is owned twice, so that it is released
 * once. */
static void release_given(const wanted_t *w) {
    gantry_optimizer_release(w->options.optimizer);
    visit_given(w, gantry__metric_own);
    visit_given(w, gantry__metric_disown);
}

void gantry__model_set_optimizer(gantry_model_t *model, gantry_optimizer_t *optimizer) {
    gantry_optimizer_t *before = model->program.optimizer;
    if (before == optimizer) return;
    if (optimizer) optimizer->owner = model;
    if (before) before->owner = NULL;
    gantry_optimizer_release(before);
    model->program.optimizer = optimizer;
}

/* Notes a refusal until the next call, which may have all that this one lacks. A built model keeps
 * its weights, and what it was compiled for. */
static void compile_note_refusal(gantry_model_t *model, gantry_status_t status) {
    gantry__free(model->program.refusal);
    model->program.refusal = NULL;
    if (status == GANTRY_OK || model->net.is_built) return;
    model->program.refusal_status = status;
    model->program.refusal = gantry__strdup(gantry_last_message());
}

static gantry_status_t model_compile(gantry_model_t *model, wanted_t *w) {
    const gantry_compile_options_t *o = &w->options;
    GANTRY__TRY(read_wanted(model, w));
    GANTRY__TRY(gantry__model_check(model, "gantry_model_compile"));
    GANTRY__TRY(check_wanted(model, w));
    GANTRY__TRY(take_targets(model, w));
    gantry__model_set_optimizer(model, o->optimizer);
    model->program.runs_eagerly = o->runs_eagerly || o->check_numerics;
    model->program.checks_numerics = o->check_numerics;
    if (model->program.optimizer) model->program.optimizer->checks_numerics = o->check_numerics;
    model->program.is_compiled = true;
    gantry__model_settle_trainable(model);
    gantry__model_forget_steps(model);
    return GANTRY_OK;
}

gantry_status_t gantry_model_compile(gantry_model_t *model,
                                     const gantry_compile_options_t *options) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    wanted_t w = {.output_count = 0};
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    GANTRY__TRY(gantry__struct_read(options, sizeof w.options, &w.options, sizeof w.options,
                                    "gantry_model_compile: options"));
    const gantry_status_t status = model_compile(model, &w);
    if (model) compile_note_refusal(model, status);
    if (status == GANTRY_OK) return GANTRY_OK;
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    release_given(&w);
    return gantry_fail(status, text);
}
