/* SPDX-License-Identifier: Apache-2.0 */
/* The work of one replica in a step: its part of the batch, the forward pass with its losses, and
 * what of it outlives the replica's scope. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/batch.h"
#include "train/model/step.h"

typedef const gantry_tensor_t tensor;

tensor *gantry__step_part_of(const gantry__step_call_t *c, gantry_scope_t *scope, tensor *x,
                             const gantry__replica_t *replica) {
    int64_t begin[GANTRY_MAX_RANK] = {replica->first}, size[GANTRY_MAX_RANK];
    if (replica->rows == c->rows) return x;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    for (int32_t d = 0; d < shape->rank; ++d) size[d] = shape->dims[d];
    size[0] = replica->rows;
    return gantry_slice(scope, x, begin, size);
}

static void run_layers(gantry__step_call_t *c, gantry__replica_t *replica) {
    gantry_scope_t *scope = replica->scope;
    gantry__model_run_t *run = &replica->run;
    const size_t count = c->model->net.input_count;
    for (size_t i = 0; i < count; ++i)
        replica->inputs[i] = gantry__step_part_of(c, scope, c->batch[i], replica);
    run->scope = scope;
    run->inputs = replica->inputs;
    run->training = c->step == GANTRY__STEP_TRAIN;
    run->regularizes = c->step != GANTRY__STEP_PREDICT;
    gantry__numerics_enter(c->model->state.numerics, "forward");
    gantry__run_read_weights(run);
    if (!gantry__run_layers(run)) return;
    for (size_t i = 0; i < c->model->net.output_count; ++i) {
        replica->outputs[i] = run->values[c->model->net.outputs[i]];
        replica->masks[i] = run->masks[c->model->net.outputs[i]];
    }
}

void gantry__step_keep(gantry_scope_t *scope, tensor **part) {
    if (*part) *part = gantry_scope_keep(scope, *part);
}

/* A tensor that may be the caller's. */
static void keep_same(gantry_scope_t *scope, tensor **part) {
    if (*part) *part = gantry_scope_keep(scope, gantry_identity(scope, *part));
}

/* Moves what must outlive the replica's scope to the step's. */
static void keep_results(gantry__step_call_t *c, gantry__replica_t *replica) {
    gantry_scope_t *scope = replica->scope;
    const gantry_model_t *model = c->model;
    for (size_t i = 0; i < model->net.output_count; ++i) {
        const bool is_sum = replica->losses[i] == replica->loss;
        keep_same(scope, &replica->outputs[i]);
        keep_same(scope, &replica->masks[i]);
        if (!is_sum) gantry__step_keep(scope, &replica->losses[i]);
    }
    gantry__step_keep(scope, &replica->loss);
    for (size_t i = 0; i < model->net.variable_count; ++i)
        keep_same(scope, &replica->run.updates[i]);
}

void gantry__step_note(gantry__step_call_t *c, gantry_status_t status) {
    if (status != GANTRY_OK) (void)gantry__train_hand_on(c->scope, status);
}

bool gantry__step_has_failed(const gantry__step_call_t *c) {
    return gantry_scope_status(c->scope) != GANTRY_OK;
}

static bool has_logits(const gantry_model_t *model) {
    for (size_t t = 0; t < model->program.target_count; ++t) {
        if (gantry__logits_has(model->program.targets[t].loss)) return true;
    }
    return false;
}

void gantry__step_begin_replica(gantry__step_call_t *c, gantry__replica_t *replica) {
    replica->scope = gantry__model_scope(c->model, c->scope, replica->run.replica);
    if (!replica->scope) return;
    if (c->step != GANTRY__STEP_PREDICT && has_logits(c->model))
        gantry__logits_watch(&replica->logits, replica->scope);
    if (c->step == GANTRY__STEP_TRAIN) replica->tape = gantry_tape_begin(replica->scope, NULL);
    run_layers(c, replica);
    if (c->step != GANTRY__STEP_PREDICT && replica->outputs[0])
        gantry__step_compute_losses(c, replica);
}

void gantry__step_end_replica(gantry__step_call_t *c, gantry__replica_t *replica) {
    gantry__backprop_end(replica->backprop);
    gantry_tape_end(replica->tape);
    gantry__logits_deinit(&replica->logits);
    replica->backprop = NULL;
    replica->tape = NULL;
    if (!replica->scope) return;
    if (gantry_scope_status(replica->scope) == GANTRY_OK) keep_results(c, replica);
    gantry__step_note(c, gantry_scope_end(replica->scope));
    replica->scope = NULL;
}

/* ---- memory of a call ---- */

void gantry__step_take_rows(gantry__step_call_t *c, gantry__replica_t *replica, size_t number,
                            int64_t first, int64_t rows) {
    const gantry__network_t *net = &c->model->net;
    replica->run.replica = number;
    replica->first = first;
    replica->rows = rows;
    for (size_t i = 0, made = 0; i < net->variable_count; ++i) {
        if (net->variables[i].is_trained)
            replica->sources[made++].variable = net->variables[i].copies[number];
    }
}

static gantry_status_t init_replica(gantry__step_call_t *c, size_t r, int64_t first) {
    gantry__replica_t *replica = &c->replicas[r];
    const size_t inputs = c->model->net.input_count, trained = c->trained_count;
    GANTRY__TRY(gantry__run_init(&replica->run, c->model));
    replica->inputs = gantry__alloc(inputs + 2 * trained, sizeof *replica->inputs);
    replica->slices = gantry__alloc(trained, sizeof *replica->slices);
    replica->sources = gantry__alloc(trained, sizeof *replica->sources);
    if (!replica->inputs || !replica->slices || !replica->sources) return GANTRY_RESOURCE_EXHAUSTED;
    replica->gradients = replica->inputs + inputs;
    replica->joined = replica->gradients + trained;
    const int64_t end = gantry__replica_first_row(&c->model->replicas, c->rows, r + 1);
    gantry__step_take_rows(c, replica, r, first, end - first);
    return GANTRY_OK;
}

static gantry_status_t init_replicas(gantry__step_call_t *c) {
    const gantry__replicas_t *replicas = &c->model->replicas;
    for (size_t r = 0; r < replicas->count; ++r) {
        const int64_t first = gantry__replica_first_row(replicas, c->rows, r);
        if (r > 0 && first >= c->rows) break; /* a replica without rows does nothing */
        c->replica_count = r + 1;
        GANTRY__TRY(init_replica(c, r, first));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__step_init(gantry__step_call_t *c, const gantry__step_body_t *body,
                                  gantry_scope_t *scope, tensor *const *inputs) {
    gantry_model_t *model = body->model;
    const size_t all = model->replicas.count, variables = model->net.variable_count;
    *c = (gantry__step_call_t){.model = model, .step = body->step, .scope = scope, .batch = inputs};
    c->weight_count = body->weight_count;
    if (model->replicas.worker && body->step != GANTRY__STEP_PREDICT)
        c->share = inputs[model->net.input_count + model->program.label_count + body->weight_count];
    c->rows = gantry_tensor_shape(inputs[0])->dims[0];
    for (size_t i = 0; i < variables; ++i) c->trained_count += model->net.variables[i].is_trained;
    c->replicas = gantry__alloc(all, sizeof *c->replicas);
    c->list = gantry__alloc((2 + all) * variables + all + 1, sizeof *c->list);
    c->order = gantry__alloc(2 * variables, sizeof *c->order);
    c->variables = gantry__alloc(variables, sizeof *c->variables);
    c->slice_use = gantry__alloc(variables, sizeof *c->slice_use);
    if (!c->replicas || !c->list || !c->order || !c->variables || !c->slice_use)
        return GANTRY_RESOURCE_EXHAUSTED;
    c->reduced = c->list + 2 * variables + all + 1;
    c->bucket_ends = c->order + variables;
    gantry__step_choose_slices(c, body->rows);
    return init_replicas(c);
}

void gantry__step_deinit(gantry__step_call_t *c) {
    for (size_t r = 0; c->replicas && r < c->replica_count; ++r) {
        gantry__run_deinit(&c->replicas[r].run);
        gantry__free((void *)c->replicas[r].inputs);
        gantry__free(c->replicas[r].sources);
        gantry__free(c->replicas[r].slices);
    }
    gantry__free(c->replicas);
    gantry__free((void *)c->list);
    gantry__free(c->order);
    gantry__free((void *)c->variables);
    gantry__free(c->slice_use);
}
