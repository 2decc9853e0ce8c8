/* SPDX-License-Identifier: Apache-2.0 */
/* One step of training, testing or predicting, as one function: its inputs are a batch, its effects
 * are new values of variables. On several replicas the body records the work of each on its device,
 * and the functions of libgantry run them at the same time. */
#include "train/model/step.h"

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/base/memory.h"
#include "train/model/worker.h"

typedef const gantry_tensor_t tensor;

/* ---- parts of a batch ---- */

static int64_t step_batch_of(tensor *x) { return gantry_tensor_shape(x)->dims[0]; }

/* Returns the first row of a replica by weights. Each replica must have at least one row. */
static int64_t weighted_row(const gantry__step_call_t *c, size_t replica) {
    const double *weights = c->model->replica_weights;
    const size_t parts = c->model->replica_count;
    double all = 0, before = 0;
    int64_t row = 0;
    for (size_t r = 0; r < parts; ++r) all += weights[r];
    for (size_t r = 0; r < replica; ++r) {
        before += weights[r];
        const int64_t wanted = (int64_t)((double)c->rows * (before / all) + 0.5),
                      most = c->rows - (int64_t)(parts - r - 1);
        row = wanted > row + 1 ? wanted : row + 1;
        if (row > most) row = most;
    }
    return row;
}

/* Returns the first row of a replica's part. The first of equal parts are one row longer. */
static int64_t first_row(const gantry__step_call_t *c, size_t replica) {
    const int64_t rows = c->rows, parts = (int64_t)c->model->replica_count, r = (int64_t)replica;
    if (c->model->replica_weights && rows >= parts) return weighted_row(c, replica);
    return r * (rows / parts) + (r < rows % parts ? r : rows % parts);
}

tensor *gantry__step_part_of(const gantry__step_call_t *c, gantry_scope_t *scope, tensor *x,
                             const gantry__replica_t *replica) {
    int64_t begin[GANTRY_MAX_RANK] = {replica->first}, size[GANTRY_MAX_RANK];
    if (replica->rows == c->rows) return x;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    for (int32_t d = 0; d < shape->rank; ++d) size[d] = shape->dims[d];
    size[0] = replica->rows;
    return gantry_slice(scope, x, begin, size);
}

/* ---- one replica ---- */

static void run_layers(gantry__step_call_t *c, gantry__replica_t *replica) {
    gantry_scope_t *scope = replica->scope;
    gantry__model_run_t *run = &replica->run;
    const size_t count = c->model->input_count;
    for (size_t i = 0; i < count; ++i)
        replica->inputs[i] = gantry__step_part_of(c, scope, c->batch[i], replica);
    run->scope = scope;
    run->inputs = replica->inputs;
    run->training = c->step == GANTRY__STEP_TRAIN;
    run->regularizes = c->step != GANTRY__STEP_PREDICT;
    gantry__numerics_enter(c->model->numerics, "forward");
    gantry__run_read_weights(run);
    if (!gantry__run_layers(run)) return;
    for (size_t i = 0; i < c->model->output_count; ++i) {
        replica->outputs[i] = run->values[c->model->outputs[i]];
        replica->masks[i] = run->masks[c->model->outputs[i]];
    }
}

static void differentiate_to_tensors(gantry__step_call_t *c, gantry__replica_t *replica) {
    (void)gantry_tape_gradient(replica->tape, replica->loss, NULL, replica->sources,
                               c->trained_count, NULL, replica->gradients);
    for (size_t i = 0; i < c->trained_count; ++i) {
        if (replica->gradients[i])
            c->reduced[i] = gantry_scope_keep(replica->scope, replica->gradients[i]);
    }
}

static void step_differentiate(gantry__step_call_t *c, gantry__replica_t *replica) {
    gantry_numerics_t *numerics = c->model->numerics;
    gantry__numerics_set_tape(numerics, replica->tape);
    if (c->uses_slices)
        gantry__step_differentiate_slices(c, replica);
    else
        differentiate_to_tensors(c, replica);
    gantry__numerics_set_tape(numerics, NULL);
}

static void step_keep(gantry_scope_t *scope, tensor **part) {
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
    for (size_t i = 0; i < model->output_count; ++i) {
        const bool is_sum = replica->losses[i] == replica->loss;
        keep_same(scope, &replica->outputs[i]);
        keep_same(scope, &replica->masks[i]);
        if (!is_sum) step_keep(scope, &replica->losses[i]);
    }
    step_keep(scope, &replica->loss);
    for (size_t i = 0; i < model->variable_count; ++i) keep_same(scope, &replica->run.updates[i]);
}

void gantry__step_note(gantry__step_call_t *c, gantry_status_t status) {
    if (status != GANTRY_OK) (void)gantry__train_hand_on(c->scope, status);
}

bool gantry__step_has_failed(const gantry__step_call_t *c) {
    return gantry_scope_status(c->scope) != GANTRY_OK;
}

static bool has_logits(const gantry_model_t *model) {
    for (size_t t = 0; t < model->target_count; ++t) {
        if (gantry__logits_has(model->targets[t].loss)) return true;
    }
    return false;
}

void gantry__step_begin_replica(gantry__step_call_t *c, gantry__replica_t *replica) {
    replica->scope = gantry__model_scope(c->model, c->scope, replica->run.replica);
    if (!replica->scope) {
        (void)gantry__train_no_inner(c->scope);
        return;
    }
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

static void run_replica(gantry__step_call_t *c, gantry__replica_t *replica) {
    gantry__step_begin_replica(c, replica);
    if (replica->tape && replica->loss) step_differentiate(c, replica);
    gantry__step_end_replica(c, replica);
}

/* ---- all replicas together ---- */

static void run_replicas(gantry__step_call_t *c) {
    if (c->step == GANTRY__STEP_TRAIN && c->model->replica_count > 1) {
        gantry__step_train_replicas(c);
        return;
    }
    for (size_t r = 0; r < c->replica_count && !gantry__step_has_failed(c); ++r)
        run_replica(c, &c->replicas[r]);
}

/* Variables that are not trained get the mean of their new values, by rows. */
static void step_assign_updates(gantry__step_call_t *c) {
    const gantry_model_t *model = c->model;
    for (size_t i = 0; i < model->variable_count; ++i) {
        if (!c->replicas[0].run.updates[i]) continue;
        tensor *mean = gantry__step_mean_update(c, i);
        for (size_t r = 0; r < model->replica_count; ++r)
            (void)gantry_variable_assign(c->scope, model->variables[i].copies[r], mean);
    }
}

static void apply_gradients(gantry__step_call_t *c) {
    gantry_model_t *model = c->model;
    /* a call for each replica: a norm of all gradients is that of one replica's */
    for (size_t r = 0; r < model->replica_count && !gantry__step_has_failed(c); ++r) {
        size_t count = 0;
        for (size_t i = 0; i < model->variable_count; ++i) {
            if (model->variables[i].is_trained)
                c->variables[count++] = model->variables[i].copies[r];
        }
        if (c->uses_slices)
            (void)gantry_optimizer_apply_slices(model->optimizer, c->scope, c->variables,
                                                c->replicas[0].slices, count);
        else
            (void)gantry_optimizer_apply(model->optimizer, c->scope, c->variables,
                                         c->reduced + r * c->trained_count, count);
        gantry__model_constrain(model, c->scope, r,
                                c->uses_slices ? NULL : c->reduced + r * c->trained_count);
    }
}

/* Checks the variables after updates of rows, which write to their variable, so that no op shows
 * the new values. */
static void step_check_update(gantry__step_call_t *c) {
    const gantry_model_t *model = c->model;
    if (!model->numerics) return;
    gantry__numerics_enter(model->numerics, "after the update");
    for (size_t i = 0; i < model->variable_count; ++i)
        (void)gantry_variable_read(c->scope, model->variables[i].copies[0]);
}

static void step_finish(gantry__step_call_t *c) {
    gantry_scope_t *scope = gantry__model_scope(c->model, c->scope, 0);
    if (!scope) return;
    gantry__numerics_enter(c->model->numerics, "the metrics");
    for (size_t i = 0; c->step == GANTRY__STEP_PREDICT && i < c->model->output_count; ++i)
        c->results[i] = gantry_scope_keep(
            scope, gantry_identity(scope, gantry__step_join_outputs(c, scope, i)));
    if (c->step != GANTRY__STEP_PREDICT) gantry__step_update_metrics(c, scope);
    gantry_status_t status = gantry_scope_end(scope);
    if (status != GANTRY_OK) (void)gantry__train_hand_on(c->scope, status);
    if (c->step != GANTRY__STEP_TRAIN || gantry__step_has_failed(c)) return;
    if (c->share) {
        c->results[0] = gantry__worker_flatten(c);
        return;
    }
    apply_gradients(c);
    step_assign_updates(c);
    step_check_update(c);
}

/* ---- the body ---- */

static void step_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const gantry__step_body_t *body = user;
    gantry__step_call_t call;
    gantry_model_t *model = body->model;
    model->numerics = model->checks_numerics ? gantry_check_numerics_begin(scope) : NULL;
    gantry_status_t status = gantry__step_init(&call, body, scope, inputs);
    if (gantry__train_hand_on(scope, status) == GANTRY_OK) {
        run_replicas(&call);
        if (!gantry__step_has_failed(&call)) step_finish(&call);
        for (size_t i = 0; i < GANTRY_MAX_COMPONENTS && call.results[i]; ++i)
            outputs[i] = call.results[i];
    }
    gantry__step_deinit(&call);
    gantry_check_numerics_end(model->numerics);
    model->numerics = NULL;
}

/* ---- memory of a body's run ---- */

static gantry_status_t init_replica(gantry__step_call_t *c, size_t r) {
    gantry__replica_t *replica = &c->replicas[r];
    GANTRY__TRY(gantry__run_init(&replica->run, c->model));
    replica->run.replica = r;
    replica->first = first_row(c, r);
    replica->rows = first_row(c, r + 1) - replica->first;
    replica->inputs = gantry__train_alloc(c->model->input_count, sizeof *replica->inputs);
    replica->gradients = gantry__train_alloc(c->trained_count, sizeof *replica->gradients);
    replica->slices = gantry__train_alloc(c->trained_count, sizeof *replica->slices);
    replica->joined = gantry__train_alloc(c->trained_count, sizeof *replica->joined);
    replica->sources = gantry__train_alloc(c->trained_count, sizeof *replica->sources);
    if (!replica->inputs || !replica->gradients || !replica->slices || !replica->joined ||
        !replica->sources)
        return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0, made = 0; i < c->model->variable_count; ++i) {
        if (c->model->variables[i].is_trained)
            replica->sources[made++].variable = c->model->variables[i].copies[r];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__step_init(gantry__step_call_t *c, const gantry__step_body_t *body,
                                  gantry_scope_t *scope, tensor *const *inputs) {
    gantry_model_t *model = body->model;
    const size_t all = model->replica_count, variables = model->variable_count;
    *c = (gantry__step_call_t){.model = model, .step = body->step, .scope = scope, .batch = inputs};
    c->weight_count = body->weight_count;
    if (model->worker && body->step != GANTRY__STEP_PREDICT)
        c->share = inputs[model->input_count + model->label_count + body->weight_count];
    c->rows = step_batch_of(inputs[0]);
    for (size_t i = 0; i < variables; ++i) c->trained_count += model->variables[i].is_trained;
    c->replicas = gantry__train_alloc(all, sizeof *c->replicas);
    c->list = gantry__train_alloc(2 * variables + all + 1, sizeof *c->list);
    c->order = gantry__train_alloc(variables, sizeof *c->order);
    c->bucket_ends = gantry__train_alloc(variables, sizeof *c->bucket_ends);
    c->reduced = gantry__train_alloc(all * variables, sizeof *c->reduced);
    c->variables = gantry__train_alloc(variables, sizeof *c->variables);
    c->slice_use = gantry__train_alloc(variables, sizeof *c->slice_use);
    if (!c->replicas || !c->list || !c->order || !c->bucket_ends || !c->reduced || !c->variables ||
        !c->slice_use)
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__step_choose_slices(c, body->rows);
    /* a replica without rows does nothing */
    for (size_t r = 0; r < all && (r == 0 || first_row(c, r) < c->rows); ++r) {
        c->replica_count = r + 1;
        GANTRY__TRY(init_replica(c, r));
    }
    return GANTRY_OK;
}

void gantry__step_deinit(gantry__step_call_t *c) {
    for (size_t r = 0; c->replicas && r < c->replica_count; ++r) {
        gantry__run_deinit(&c->replicas[r].run);
        gantry__train_free((void *)c->replicas[r].inputs);
        gantry__train_free((void *)c->replicas[r].gradients);
        gantry__train_free((void *)c->replicas[r].joined);
        gantry__train_free(c->replicas[r].sources);
        gantry__train_free(c->replicas[r].slices);
    }
    gantry__train_free(c->replicas);
    gantry__train_free((void *)c->list);
    gantry__train_free(c->order);
    gantry__train_free(c->bucket_ends);
    gantry__train_free((void *)c->reduced);
    gantry__train_free((void *)c->variables);
    gantry__train_free(c->slice_use);
}

/* ---- tracing and calling ---- */

static size_t output_count(const gantry_model_t *model, gantry__step_mode_t step) {
    if (step == GANTRY__STEP_PREDICT) return model->output_count;
    return step == GANTRY__STEP_TRAIN && model->worker ? 1 : 0;
}

/* Rows are open, and what is open in the model: of labels and weights, sizes of their output. */
static gantry_input_spec_t step_spec_of(const gantry_model_t *model, const gantry_array_t *array,
                                        size_t component) {
    const bool is_input = component < model->input_count;
    const gantry__model_value_t *value =
        &model
             ->values[is_input ? component
                               : (size_t)model->outputs[gantry__model_output_of(model, component)]];
    gantry_input_spec_t spec = {
        .dtype = is_input ? gantry__model_input_type(model, component, array->dtype) : array->dtype,
        .shape = array->shape};
    spec.shape.dims[0] = -1;
    for (int32_t d = 1; d < spec.shape.rank && d < value->shape.rank; ++d) {
        if (value->shape.dims[d] < 0) spec.shape.dims[d] = -1;
    }
    return spec;
}

static gantry_status_t trace_step(gantry_model_t *model, gantry__step_mode_t step,
                                  const gantry_array_t *batch, size_t count) {
    static const char *const names[] = {"train_step", "test_step", "predict_step"};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = model->runs_eagerly};
    gantry__step_body_t *body = &model->bodies[step];
    *body = (gantry__step_body_t){.model = model,
                                  .step = step,
                                  .weight_count = gantry__model_weight_count(model, step, count),
                                  .rows = batch[0].shape.dims[0]};
    body->spec_count = count;
    for (size_t i = 0; i < count; ++i) body->specs[i] = step_spec_of(model, &batch[i], i);
    if (model->worker && step != GANTRY__STEP_PREDICT)
        body->specs[count++] = (gantry_input_spec_t){.name = "share", .dtype = model->dtype};
    return gantry_function_trace(model->runtime, names[step], step_body, body, body->specs, count,
                                 output_count(model, step), &options, &model->steps[step]);
}

/* Whether a later batch has the types and shapes of the first one. */
static gantry_status_t check_specs(const gantry_model_t *model, gantry__step_mode_t step,
                                   const gantry_array_t *batch, size_t count) {
    const gantry__step_body_t *body = &model->bodies[step];
    for (size_t i = 0; i < count && i < body->spec_count; ++i) {
        const gantry_input_spec_t *spec = &body->specs[i];
        char name[160], text[256], wanted[256];
        const gantry_dtype_t dtype = i < model->input_count
                                         ? gantry__model_input_type(model, i, batch[i].dtype)
                                         : batch[i].dtype;
        bool fits = dtype == spec->dtype && batch[i].shape.rank == spec->shape.rank;
        for (int32_t d = 0; fits && d < spec->shape.rank; ++d)
            fits = spec->shape.dims[d] < 0 || spec->shape.dims[d] == batch[i].shape.dims[d];
        if (fits) continue;
        gantry__model_name_component(model, i, name, sizeof name);
        (void)gantry_shape_format(&batch[i].shape, text, sizeof text);
        (void)gantry_shape_format(&spec->shape, wanted, sizeof wanted);
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "model %s: %s of the batch: %s%s; %s%s is accepted, as of the first batch", model->name,
            name, gantry_dtype_name(batch[i].dtype), text, gantry_dtype_name(spec->dtype), wanted);
    }
    return GANTRY_OK;
}

bool gantry__model_takes_shape(const gantry_model_t *model, size_t input,
                               const gantry_shape_t *given) {
    const gantry_shape_t *accepted = &model->values[input].shape;
    bool is_open = false, is_good = given->rank == accepted->rank;
    for (int32_t d = 1; is_good && d < accepted->rank; ++d) is_open |= accepted->dims[d] < 0;
    if (model->is_sequential && !is_open) return is_good;
    for (int32_t d = 1; is_good && d < accepted->rank; ++d) {
        const int64_t size = given->dims[d];
        is_good = accepted->dims[d] < 0 ? size != 0 : size < 0 || size == accepted->dims[d];
    }
    return is_good;
}

static gantry_status_t step_check_sizes(const gantry_model_t *model, const gantry_array_t *array,
                                        size_t input) {
    const gantry_shape_t *accepted = &model->values[input].shape, *given = &array->shape;
    char text[256], wanted[256];
    if (gantry__model_takes_shape(model, input, given)) return GANTRY_OK;
    (void)gantry_shape_format(given, text, sizeof text);
    (void)gantry_shape_format(accepted, wanted, sizeof wanted);
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "model %s: component %zu of a batch has shape %s; %s is accepted, where -1 is any size from 1 on",
        model->name, input, text, wanted);
}

gantry_status_t gantry__model_check_batch(const gantry_model_t *model, gantry__step_mode_t step,
                                          const gantry_array_t *batch, size_t count) {
    GANTRY__TRY(gantry__model_check_count(model, step, count));
    for (size_t i = 0; i < count; ++i) {
        if (batch[i].shape.rank < 1)
            return gantry__train_fail(
                GANTRY_INVALID_ARGUMENT,
                "model %s: component %zu of an element is a scalar: the element is no batch; gantry_dataset_batch makes batches",
                model->name, i);
        if (batch[i].shape.dims[0] != batch[0].shape.dims[0] || batch[i].shape.dims[0] == 0)
            return gantry__train_fail(
                GANTRY_INVALID_ARGUMENT,
                "model %s: component %zu of a batch has %lld rows; component 0 has %lld, and 1 and more are accepted",
                model->name, i, (long long)batch[i].shape.dims[0],
                (long long)batch[0].shape.dims[0]);
    }
    for (size_t i = 0; i < model->input_count && model->is_built; ++i)
        GANTRY__TRY(step_check_sizes(model, &batch[i], i));
    return gantry__model_check_ranges(model, step, batch);
}

gantry_dtype_t gantry__model_input_type(const gantry_model_t *model, size_t input,
                                        gantry_dtype_t given) {
    const gantry_dtype_t wanted = model->values[input].dtype;
    const bool is_number = gantry__train_is_number(given) || given == GANTRY_BOOL;
    return is_number && gantry__train_is_float(wanted) ? wanted : given;
}

const gantry_tensor_t *gantry__model_make_component(const gantry_model_t *model,
                                                    gantry_scope_t *scope,
                                                    const gantry_array_t *array, size_t component) {
    tensor *x = gantry_constant(
        scope, array->dtype, array->shape, array->data,
        (size_t)gantry_shape_elements(&array->shape) * gantry_dtype_size(array->dtype));
    if (component >= model->input_count) return x;
    const gantry_dtype_t dtype = gantry__model_input_type(model, component, array->dtype);
    return dtype == array->dtype ? x : gantry_cast(scope, x, dtype);
}

/* The step's inputs, whose number becomes *count: arrays, then this process's share. */
static void step_make_inputs(const gantry_model_t *model, gantry_scope_t *scope,
                             const gantry_array_t *batch, const double *share, size_t *count,
                             tensor **out_inputs) {
    for (size_t i = 0; i < *count; ++i)
        out_inputs[i] = gantry__model_make_component(model, scope, &batch[i], i);
    if (share) out_inputs[(*count)++] = gantry__train_constant(scope, model->dtype, *share);
}

/* Forgets a step, because a first batch that does not fit says nothing about the next one. */
static void forget_step(gantry_model_t *model, gantry__step_mode_t step) {
    gantry_function_release(model->steps[step]);
    model->steps[step] = NULL;
}

gantry_status_t gantry__model_step(gantry_model_t *model, gantry__step_mode_t step,
                                   gantry_scope_t *scope, const gantry_array_t *batch, size_t count,
                                   const gantry_tensor_t **out_results) {
    tensor *inputs[GANTRY_MAX_COMPONENTS + 1];
    gantry_array_t part[GANTRY_MAX_COMPONENTS];
    const bool is_shared = model->worker && step != GANTRY__STEP_PREDICT;
    double share;
    GANTRY__TRY(gantry__model_check_batch(model, step, batch, count));
    count = gantry__model_used_components(model, step, count);
    if (is_shared) {
        if (gantry__worker_take_rows(model->worker, batch, count, part, &share) == 0)
            return GANTRY_OK;
        batch = part;
    }
    if (model->checks_numerics) GANTRY__TRY(gantry__model_check_finite(model, batch, count));
    /* with weights or without: another step */
    if (model->steps[step] && model->bodies[step].spec_count != count) forget_step(model, step);
    const bool is_new = !model->steps[step];
    GANTRY__TRY(is_new ? trace_step(model, step, batch, count)
                       : check_specs(model, step, batch, count));
    step_make_inputs(model, scope, batch, is_shared ? &share : NULL, &count, inputs);
    const gantry_status_t status = gantry_function_call(scope, model->steps[step], inputs, count,
                                                        out_results, output_count(model, step));
    if (status != GANTRY_OK && is_new) forget_step(model, step);
    return status;
}
