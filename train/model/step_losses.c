/* SPDX-License-Identifier: Apache-2.0 */
/* What a step computes from the outputs: their losses, weighted and added to the one that is
 * trained, and the metrics. */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/loss/mask.h"
#include "train/metric/metric_state.h"
#include "train/model/batch.h"
#include "train/model/step.h"

typedef const gantry_tensor_t tensor;

/* Lets a failure name the output whose labels or weights do not fit, if there are several. */
static void say_output(const gantry_model_t *model, gantry_scope_t *scope, size_t target) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    const gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK || model->program.target_count == 1) return;
    (void)snprintf(text, sizeof text, "output %s: %s", gantry__model_output_name(model, target),
                   gantry_scope_message(scope));
    gantry_scope_clear(scope);
    (void)gantry_scope_fail(scope, status, text);
}

/* ---- losses of one replica ---- */

static tensor *labels_of(const gantry__step_call_t *c, size_t target) {
    return c->batch[c->model->net.input_count + c->model->program.targets[target].label];
}

/* Returns the weights of a target's samples; NULL if there are none. */
static tensor *weights_of(const gantry__step_call_t *c, size_t target) {
    const size_t component = gantry__model_weights_of(c->model, target, c->weight_count);
    return component > 0 ? c->batch[component] : NULL;
}

/* The part's share of the batch's loss: parts of unlike sizes count by their rows. A mask counts in
 * its part. */
static tensor *target_loss(gantry__step_call_t *c, gantry__replica_t *replica, size_t t) {
    gantry_scope_t *scope = replica->scope;
    const gantry__target_t *target = &c->model->program.targets[t];
    gantry_loss_options_t options = target->loss_options;
    tensor *output = replica->outputs[t], *weights = weights_of(c, t);
    tensor *labels = gantry__step_part_of(c, scope, labels_of(c, t), replica);
    tensor *logits = gantry__logits_find(&replica->logits, target->loss, output, labels);
    options.struct_size = sizeof options;
    if (logits) options.from_logits = true;
    if (weights) options.sample_weights = gantry__step_part_of(c, scope, weights, replica);
    if (replica->masks[t])
        options.sample_weights = gantry__train_apply_mask(
            scope, options.sample_weights, replica->masks[t], gantry_tensor_dtype(output),
            options.reduction == GANTRY_REDUCTION_SUM_OVER_BATCH_SIZE);
    tensor *loss = gantry_loss(scope, target->loss, labels, logits ? logits : output, &options);
    if (loss && replica->rows != c->rows && options.reduction != GANTRY_REDUCTION_SUM)
        loss = gantry_mul(scope, loss,
                          gantry__train_constant(scope, gantry_tensor_dtype(loss),
                                                 (double)replica->rows / (double)c->rows));
    if (loss && c->share && options.reduction != GANTRY_REDUCTION_SUM)
        loss = gantry_mul(scope, loss, c->share);
    return loss;
}

static tensor *weigh_loss(gantry_scope_t *scope, tensor *loss, double weight) {
    const bool is_one = weight >= 1 && weight <= 1;
    if (!loss || is_one) return loss;
    return gantry_mul(scope, loss,
                      gantry__train_constant(scope, gantry_tensor_dtype(loss), weight));
}

/* The part's share of the losses of its layers' outputs, and of those of trained weights, which all
 * replicas have alike; NULL: there are none. */
static tensor *regularizers_loss(const gantry__step_call_t *c, const gantry__replica_t *replica) {
    const gantry_model_t *model = c->model;
    gantry_scope_t *scope = replica->scope;
    tensor *sum = replica->run.activity_loss;
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        const gantry__weight_t *weight = model->net.variables[i].weight;
        if (!model->net.variables[i].is_trained || !gantry__regularizes(&weight->regularizer))
            continue;
        tensor *loss =
            gantry_regularizer_loss(scope, &weight->regularizer, replica->run.weights[i]);
        sum = sum ? gantry_add(scope, sum, loss) : loss;
    }
    if (sum && replica->rows != c->rows)
        sum = gantry_mul(scope, sum,
                         gantry__train_constant(scope, gantry_tensor_dtype(sum),
                                                (double)replica->rows / (double)c->rows));
    return sum && c->share ? gantry_mul(scope, sum, c->share) : sum;
}

void gantry__step_compute_losses(gantry__step_call_t *c, gantry__replica_t *replica) {
    const gantry_model_t *model = c->model;
    tensor *sum = NULL, *more;
    gantry__numerics_enter(model->state.numerics, "the loss");
    gantry__logits_end_watch(&replica->logits);
    for (size_t t = 0; t < model->program.target_count; ++t) {
        if (model->program.targets[t].loss == 0) continue;
        tensor *loss = replica->losses[t] = target_loss(c, replica, t);
        if (!loss) say_output(model, replica->scope, t);
        loss = weigh_loss(replica->scope, loss, model->program.targets[t].loss_weight);
        if (!loss) return;
        sum = sum ? gantry_add(replica->scope, sum, loss) : loss;
    }
    more = regularizers_loss(c, replica);
    replica->loss = more && sum ? gantry_add(replica->scope, sum, more) : sum;
}

/* ---- all replicas together ---- */

tensor *gantry__step_join_outputs(gantry__step_call_t *c, gantry_scope_t *scope, size_t output) {
    if (c->replica_count == 1) return c->replicas[0].outputs[output];
    for (size_t r = 0; r < c->replica_count; ++r) c->list[r] = c->replicas[r].outputs[output];
    return gantry_concat(scope, c->list, c->replica_count, 0);
}

static tensor *step_losses_join_masks(gantry__step_call_t *c, gantry_scope_t *scope,
                                      size_t output) {
    if (c->replica_count == 1) return c->replicas[0].masks[output];
    for (size_t r = 0; r < c->replica_count; ++r) {
        if (!c->replicas[r].masks[output]) return NULL;
        c->list[r] = c->replicas[r].masks[output];
    }
    return gantry_concat(scope, c->list, c->replica_count, 0);
}

static tensor *loss_of(const gantry__replica_t *replica, const gantry__model_metric_t *entry) {
    return entry->is_of_target ? replica->losses[entry->target] : replica->loss;
}

/* Updates the mean of the loss, in which processes count by their rows, too. */
static void update_mean_loss(gantry__step_call_t *c, gantry_scope_t *scope,
                             const gantry__model_metric_t *entry) {
    tensor *sum = loss_of(&c->replicas[0], entry);
    for (size_t r = 1; r < c->replica_count; ++r)
        sum = gantry_add(scope, sum, loss_of(&c->replicas[r], entry));
    if (c->share) sum = gantry_div(scope, sum, c->share);
    (void)gantry_metric_update(entry->metric, scope, NULL, sum,
                               gantry__train_constant(scope, GANTRY_FLOAT32, (double)c->rows));
}

void gantry__step_update_metrics(gantry__step_call_t *c, gantry_scope_t *scope) {
    const gantry_model_t *model = c->model;
    tensor *outputs[GANTRY_MAX_COMPONENTS] = {NULL}, *masks[GANTRY_MAX_COMPONENTS] = {NULL};
    for (size_t i = 0; i < model->program.metric_count; ++i) {
        const gantry__model_metric_t *entry = &model->program.metrics[i];
        const size_t t = entry->target;
        if (entry->is_loss) {
            update_mean_loss(c, scope, entry);
            continue;
        }
        if (!outputs[t]) {
            outputs[t] = gantry__step_join_outputs(c, scope, t);
            masks[t] = step_losses_join_masks(c, scope, t);
        }
        gantry__train_metric_update_masked(entry->metric, scope, labels_of(c, t), outputs[t],
                                           entry->is_weighted ? weights_of(c, t) : NULL, masks[t]);
        if (gantry_scope_status(scope) != GANTRY_OK) {
            say_output(model, scope, t);
            return;
        }
    }
}
