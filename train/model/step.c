/* SPDX-License-Identifier: Apache-2.0 */
/* One step of training, testing or predicting, as one function: its inputs are a batch, its effects
 * are new values of variables. On several replicas the body records the work of each on its device,
 * and the functions of libgantry run them at the same time. */
#include "train/model/step.h"

#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"

typedef const gantry_tensor_t tensor;

/* ---- one replica ---- */

static void differentiate_to_tensors(gantry__step_call_t *c, gantry__replica_t *replica) {
    (void)gantry_tape_gradient(replica->tape, replica->loss, NULL, replica->sources,
                               c->trained_count, NULL, replica->gradients);
    for (size_t i = 0; i < c->trained_count; ++i) {
        if (replica->gradients[i])
            c->reduced[i] = gantry_scope_keep(replica->scope, replica->gradients[i]);
    }
}

static void step_differentiate(gantry__step_call_t *c, gantry__replica_t *replica) {
    gantry_numerics_t *numerics = c->model->state.numerics;
    gantry__numerics_set_tape(numerics, replica->tape);
    if (c->uses_slices)
        gantry__step_differentiate_slices(c, replica);
    else
        differentiate_to_tensors(c, replica);
    gantry__numerics_set_tape(numerics, NULL);
}

static void run_replica(gantry__step_call_t *c, gantry__replica_t *replica) {
    gantry__step_begin_replica(c, replica);
    if (replica->tape && replica->loss) step_differentiate(c, replica);
    gantry__step_end_replica(c, replica);
}

/* ---- all replicas together ---- */

static void run_replicas(gantry__step_call_t *c) {
    if (c->step == GANTRY__STEP_TRAIN && c->model->replicas.count > 1) {
        gantry__step_train_replicas(c);
        return;
    }
    for (size_t r = 0; r < c->replica_count && !gantry__step_has_failed(c); ++r)
        run_replica(c, &c->replicas[r]);
}

/* Variables that are not trained get the mean of their new values, by rows. */
static void step_assign_updates(gantry__step_call_t *c) {
    const gantry_model_t *model = c->model;
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        if (!c->replicas[0].run.updates[i]) continue;
        tensor *mean = gantry__step_mean_update(c, i);
        for (size_t r = 0; r < model->replicas.count; ++r)
            (void)gantry_variable_assign(c->scope, model->net.variables[i].copies[r], mean);
    }
}

static void apply_gradients(gantry__step_call_t *c) {
    gantry_model_t *model = c->model;
    /* a call for each replica: a norm of all gradients is that of one replica's */
    for (size_t r = 0; r < model->replicas.count && !gantry__step_has_failed(c); ++r) {
        size_t count = 0;
        for (size_t i = 0; i < model->net.variable_count; ++i) {
            if (model->net.variables[i].is_trained)
                c->variables[count++] = model->net.variables[i].copies[r];
        }
        if (c->uses_slices)
            (void)gantry_optimizer_apply_slices(model->program.optimizer, c->scope, c->variables,
                                                c->replicas[0].slices, count);
        else
            (void)gantry_optimizer_apply(model->program.optimizer, c->scope, c->variables,
                                         c->reduced + r * c->trained_count, count);
        gantry__model_constrain(model, c->scope, r,
                                c->uses_slices ? NULL : c->reduced + r * c->trained_count);
    }
}

/* Checks the variables after updates of rows, which write to their variable, so that no op shows
 * the new values. */
static void step_check_update(gantry__step_call_t *c) {
    const gantry_model_t *model = c->model;
    if (!model->state.numerics) return;
    gantry__numerics_enter(model->state.numerics, "after the update");
    for (size_t i = 0; i < model->net.variable_count; ++i)
        (void)gantry_variable_read(c->scope, model->net.variables[i].copies[0]);
}

static void step_finish(gantry__step_call_t *c) {
    gantry_scope_t *scope = gantry__model_scope(c->model, c->scope, 0);
    if (!scope) return;
    gantry__numerics_enter(c->model->state.numerics, "the metrics");
    for (size_t i = 0; c->step == GANTRY__STEP_PREDICT && i < c->model->net.output_count; ++i)
        c->results[i] = gantry_scope_keep(
            scope, gantry_identity(scope, gantry__step_join_outputs(c, scope, i)));
    if (c->step != GANTRY__STEP_PREDICT) gantry__step_update_metrics(c, scope);
    gantry__step_note(c, gantry_scope_end(scope));
    if (c->step != GANTRY__STEP_TRAIN || gantry__step_has_failed(c)) return;
    if (c->share) {
        c->results[0] = gantry__worker_flatten(c);
        return;
    }
    apply_gradients(c);
    step_assign_updates(c);
    step_check_update(c);
}

/* ---- failures ---- */

/* A failure on a part of the batch names the part's shapes. The same work on all rows names those
 * that the program knows, if it fails, too. */
static void say_whole(gantry__step_call_t *c, const gantry__step_body_t *body) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    gantry_scope_t *scope = c->scope;
    const gantry_status_t failed = gantry_scope_status(scope);
    if (failed != GANTRY_INVALID_ARGUMENT || c->replicas[0].rows == c->rows) return;
    (void)snprintf(text, sizeof text, "%s", gantry_scope_message(scope));
    gantry_scope_clear(scope);
    gantry__step_deinit(c);
    if (gantry__step_init(c, body, scope, c->batch) == GANTRY_OK) {
        gantry__step_take_rows(c, &c->replicas[0], 0, 0, c->rows);
        gantry__step_begin_replica(c, &c->replicas[0]);
        gantry__step_end_replica(c, &c->replicas[0]);
    }
    if (gantry_scope_status(scope) == failed) return;
    gantry_scope_clear(scope);
    (void)gantry_scope_fail(scope, failed, text);
}

/* ---- the body ---- */

void gantry__step_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const gantry__step_body_t *body = user;
    gantry__step_call_t call;
    gantry_model_t *model = body->model;
    model->state.numerics =
        model->program.checks_numerics ? gantry_check_numerics_begin(scope) : NULL;
    gantry_status_t status = gantry__step_init(&call, body, scope, inputs);
    if (gantry__train_hand_on(scope, status) == GANTRY_OK) {
        run_replicas(&call);
        if (!gantry__step_has_failed(&call))
            step_finish(&call);
        else
            say_whole(&call, body);
        for (size_t i = 0; i < GANTRY_MAX_COMPONENTS && call.results[i]; ++i)
            outputs[i] = call.results[i];
    }
    gantry__step_deinit(&call);
    gantry_check_numerics_end(model->state.numerics);
    model->state.numerics = NULL;
}
