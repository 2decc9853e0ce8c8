/* SPDX-License-Identifier: Apache-2.0 */
/* What a process trains, and what it has then, as lines that the processes compare. Ranks that
 * differ in a setting must be refused, because they would add gradients, and then go apart in
 * silence. */
#include <inttypes.h>
#include <stdio.h>

#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/metric/metric_state.h"
#include "train/model/worker.h"
#include "train/strategy/compare_optimizer.h"

/* ---- the model ---- */

static void worker_alike_add_loss(gantry__lines_t *lines, const char *name, gantry_loss_t loss,
                                  const gantry_loss_options_t *o) {
    gantry__lines_add(lines, "loss %s of %s", loss ? gantry_loss_name(loss) : "none", name);
    gantry__lines_add(lines,
                      "loss options of %s: reduction %d, from_logits %d, label_smoothing %.17g, "
                      "delta %.17g, gamma %.17g, alpha %.17g, balances_classes %d, axes %zu",
                      name, (int)o->reduction, o->from_logits, o->label_smoothing, o->delta,
                      o->gamma, o->alpha, o->balances_classes, o->axis_count);
    for (size_t i = 0; i < o->axis_count; ++i)
        gantry__lines_add(lines, "axis %zu of the loss of %s: %" PRId32, i, name, o->axes[i]);
}

static void worker_alike_add_metric(gantry__lines_t *lines, const gantry__model_metric_t *entry) {
    const gantry_metric_t *m = entry->metric;
    gantry__lines_add(lines, "metric %s of output %zu%s", entry->name, entry->target,
                      entry->is_weighted ? ", weighted" : "");
    gantry__lines_add(lines,
                      "options of metric %s: type %s, size %" PRId64
                      ", threshold %.17g, class %d %" PRId32 ", k %" PRId32 ", thresholds %" PRId32
                      ", from_logits %d, curve %d, beta %.17g, "
                      "classes %" PRId64 ", average %d",
                      entry->name, gantry_dtype_name(m->dtype), m->size, m->threshold, m->has_class,
                      m->class_id, m->k, m->thresholds, m->from_logits, (int)m->curve, m->beta,
                      m->classes, (int)m->average);
    for (int64_t i = 0; m->levels && i < m->size; ++i)
        gantry__lines_add(lines, "threshold %.17g in metric %s", m->levels[i], entry->name);
    gantry__lines_add(lines,
                      "classes of metric %s: ignored %d %" PRId32
                      ", dense labels %d, dense predictions %d, binary %d",
                      entry->name, m->iou.has_ignored, m->iou.ignored, m->iou.dense_labels,
                      m->iou.dense_predictions, m->iou.is_binary);
    for (size_t i = 0; i < m->iou.target_count; ++i)
        gantry__lines_add(lines, "target class %" PRId32 " in metric %s", m->iou.targets[i],
                          entry->name);
    if (m->loss) worker_alike_add_loss(lines, entry->name, m->loss, &m->loss_options);
}

static void add_goals(gantry__lines_t *lines, const gantry_model_t *model) {
    for (size_t i = 0; i < model->program.target_count; ++i) {
        const gantry__target_t *target = &model->program.targets[i];
        char name[32];
        (void)snprintf(name, sizeof name, "output %zu", i);
        worker_alike_add_loss(lines, name, target->loss, &target->loss_options);
        gantry__lines_add(lines, "loss weight %s of output %zu",
                          gantry__number_text(target->loss_weight).text, i);
    }
    for (size_t i = 0; i < model->program.metric_count; ++i)
        worker_alike_add_metric(lines, &model->program.metrics[i]);
    gantry__lines_add(lines, "check_numerics %d", model->program.checks_numerics);
    gantry__lines_add_optimizer(lines, model->program.optimizer);
}

static void add_rules(gantry__lines_t *lines, const char *name, const gantry_regularizer_t *r,
                      const gantry_constraint_t *c) {
    if (gantry__regularizes(r))
        gantry__lines_add(lines, "a regularizer of %s: l1 %.17g, l2 %.17g, orthogonal %.17g %d",
                          name, r->l1, r->l2, r->orthogonal, r->orthogonal_columns);
    if (!c || c->kind == GANTRY_CONSTRAINT_NONE) return;
    gantry__lines_add(lines,
                      "a constraint of %s: kind %d, from %.17g to %.17g, rate %.17g, %zu axes",
                      name, (int)c->kind, c->min_value, c->max_value, c->rate, c->axis_count);
    for (size_t i = 0; i < c->axis_count; ++i)
        gantry__lines_add(lines, "a constraint of %s over axis %" PRId32, name, c->axes[i]);
}

static void worker_alike_add_layer(gantry__lines_t *lines, const gantry__member_t *member) {
    const char *name = gantry__member_name(member);
    const gantry_layer_t *layer = member->layer;
    gantry__lines_add(lines, "layer %s of class %s", name, layer->kind.name);
    gantry__lines_add(lines, "layer %s %s", name, member->is_frozen ? "frozen" : "trained");
    add_rules(lines, name, &layer->activity, NULL);
}

static void add_variable(gantry__lines_t *lines, const gantry__model_variable_t *variable) {
    char shape[160];
    (void)gantry_shape_format(gantry_variable_shape(variable->copies[0]), shape, sizeof shape);
    gantry__lines_add(lines, "weight %s of %s%s, %s", variable->name,
                      gantry_dtype_name(gantry_variable_dtype(variable->copies[0])), shape,
                      variable->is_trained ? "trained" : "not trained");
    add_rules(lines, variable->name, &variable->weight->regularizer, &variable->weight->constraint);
}

static void add_model(gantry__lines_t *lines, const gantry_model_t *model) {
    add_goals(lines, model);
    for (size_t i = 0; i < model->net.member_count; ++i)
        worker_alike_add_layer(lines, model->net.members[i]);
    for (size_t i = 0; i < model->net.value_count; ++i) {
        const gantry__model_value_t *value = &model->net.values[i];
        for (size_t k = 0; k < value->input_count; ++k)
            gantry__lines_add(lines, "value %" PRId32 " as input %zu of value %zu",
                              value->inputs[k], k, i);
        if (value->ops && value->member)
            gantry__lines_add(lines, "ops of the checksum %016" PRIx64 " in layer %s", value->ops,
                              gantry__member_name(value->member));
    }
    for (size_t i = 0; i < model->net.output_count; ++i)
        gantry__lines_add(lines, "value %" PRId32 " as output %zu", model->net.outputs[i], i);
    for (size_t i = 0; i < model->net.variable_count; ++i)
        add_variable(lines, &model->net.variables[i]);
}

/* ---- the training ---- */

static void add_fit(gantry__lines_t *lines, const gantry_fit_options_t *o) {
    gantry__lines_add(lines, "steps_per_epoch %" PRId64, o->steps_per_epoch);
    gantry__lines_add(lines, "validation_freq %" PRId64, o->validation_freq);
    gantry__lines_add(lines, "%s", o->validation ? "a validation" : "no validation");
    gantry__lines_add(lines, "backup_steps %" PRId64, o->backup_steps);
    for (size_t i = 0; i < o->class_weight_count; ++i)
        gantry__lines_add(lines, "weight %s of class %zu",
                          gantry__number_text(o->class_weights[i]).text, i);
}

static gantry_status_t worker_alike_compare(gantry_model_t *model, gantry__lines_t *lines,
                                            gantry__worker_kind_t kind) {
    gantry__worker_t *worker = model->replicas.worker;
    gantry__worker_call_t call = {.kind = kind, .status = lines->status};
    if (lines->status != GANTRY_OK) (void)gantry_fail(lines->status, lines->message);
    gantry_status_t status = gantry__worker_agree(worker, &call);
    if (status == GANTRY_OK)
        status = gantry__worker_compare(worker, lines, gantry__worker_say(worker, kind).text);
    gantry__lines_deinit(lines);
    return status;
}

gantry_status_t gantry__worker_compare_model(gantry_model_t *model,
                                             const gantry_fit_options_t *options) {
    gantry__lines_t lines = {.text = NULL};
    if (!model->replicas.worker) return GANTRY_OK;
    if (options) add_fit(&lines, options);
    add_model(&lines, model);
    return worker_alike_compare(model, &lines,
                                options ? GANTRY__WORKER_SETTINGS : GANTRY__WORKER_TEST);
}

/* ---- what it has ---- */

static void add_weights(gantry__lines_t *lines, const gantry_model_t *model) {
    for (size_t i = 0; i < model->net.variable_count && lines->status == GANTRY_OK; ++i) {
        uint64_t sum = 0;
        gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
        if (scope) {
            (void)gantry__train_hand_on(
                scope, gantry__variable_checksum(scope, model->net.variables[i].copies[0], &sum));
            gantry__lines_fail(lines, gantry_scope_end(scope));
        } else {
            gantry__lines_fail(lines, gantry__train_no_scope(model->runtime));
        }
        gantry__lines_add(lines, "weight %s with the checksum %016" PRIx64 " after step %" PRIu64,
                          model->net.variables[i].name, sum, model->replicas.worker->step);
    }
}

gantry_status_t gantry__worker_compare_weights(gantry_model_t *model) {
    gantry__lines_t lines = {.text = NULL};
    if (!model->replicas.worker) return GANTRY_OK;
    gantry__lines_add_progress(&lines, model->program.optimizer);
    add_weights(&lines, model);
    return worker_alike_compare(model, &lines, GANTRY__WORKER_WEIGHTS);
}
