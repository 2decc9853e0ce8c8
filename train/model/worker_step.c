/* SPDX-License-Identifier: Apache-2.0 */
/* A step of training in several processes. One function computes a vector of all that the processes
 * add: gradients, and new values of variables that are not trained, weighted by this process's part
 * of the batch's rows. The processes add the vectors, and a second function applies the sum. A
 * process without rows adds zeros. */
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/draws.h"
#include "train/model/step.h"
#include "train/model/worker.h"
#include "train/strategy/all_reduce.h"

typedef const gantry_tensor_t tensor;

static bool is_trained(const gantry_model_t *model, size_t variable) {
    return model->net.variables[variable].is_trained;
}

static int64_t worker_step_elements_of(const gantry_model_t *model, size_t variable) {
    return gantry_shape_elements(gantry_variable_shape(model->net.variables[variable].copies[0]));
}

/* ---- marks in the vector ---- */

static bool get_flat(const gantry_model_t *model, int64_t at) {
    const void *flat = model->replicas.worker->flat;
    return model->dtype == GANTRY_FLOAT64 ? ((const double *)flat)[at] > 0
                                          : ((const float *)flat)[at] > 0;
}

static void set_flat(const gantry_model_t *model, int64_t at, bool mark) {
    void *flat = model->replicas.worker->flat;
    if (model->dtype == GANTRY_FLOAT64)
        ((double *)flat)[at] = mark;
    else
        ((float *)flat)[at] = mark;
}

/* ---- rows ---- */

/* Returns the first row of a process. The first processes have one row more. */
static int64_t worker_step_first_row(int64_t rows, size_t rank, size_t size) {
    const int64_t each = rows / (int64_t)size, more = rows % (int64_t)size, r = (int64_t)rank;
    return r * each + (r < more ? r : more);
}

int64_t gantry__worker_take_rows(const gantry__worker_t *worker, const gantry_array_t *batch,
                                 size_t count, gantry_array_t *out_part, double *out_share) {
    const gantry_communicator_t *c = &worker->communicator;
    const int64_t rows = batch[0].shape.dims[0],
                  first = worker_step_first_row(rows, c->rank, c->size);
    const int64_t taken = worker_step_first_row(rows, c->rank + 1, c->size) - first;
    for (size_t i = 0; i < count; ++i) {
        const size_t row_bytes = (size_t)(gantry_shape_elements(&batch[i].shape) / rows) *
                                 gantry_dtype_size(batch[i].dtype);
        out_part[i] = batch[i];
        out_part[i].shape.dims[0] = taken;
        out_part[i].data = (const unsigned char *)batch[i].data + (size_t)first * row_bytes;
    }
    *out_share = (double)taken / (double)rows;
    return taken;
}

/* ---- the vector, computed ---- */

/* What a variable adds; NULL: nothing. */
static tensor *addend(gantry__step_call_t *c, gantry_scope_t *scope, size_t variable,
                      size_t *trained) {
    if (is_trained(c->model, variable)) return c->reduced[(*trained)++];
    if (!c->replicas[0].run.updates[variable]) return NULL;
    return gantry_mul(scope, gantry__step_mean_update(c, variable), c->share);
}

/* The marks are written to the host's vector, which is free while a step is traced. */
static tensor *join_addends(gantry__step_call_t *c, gantry_scope_t *scope) {
    const gantry_model_t *model = c->model;
    const size_t count = model->net.variable_count, each = gantry_dtype_size(model->dtype);
    const int64_t marks = model->replicas.worker->flat_elements - 1 - (int64_t)count;
    size_t trained = 0;
    for (size_t i = 0; i < count; ++i) {
        const gantry_shape_t shape = GANTRY_SHAPE(worker_step_elements_of(model, i));
        tensor *value = addend(c, scope, i, &trained);
        set_flat(model, marks + (int64_t)i, value != NULL);
        c->list[i] =
            value ? gantry_reshape(scope, value, shape) : gantry_zeros(scope, model->dtype, shape);
    }
    const void *written =
        (const unsigned char *)model->replicas.worker->flat + (size_t)marks * each;
    c->list[count] =
        gantry_constant(scope, model->dtype, GANTRY_SHAPE((int64_t)count), written, count * each);
    return gantry__join_vectors(scope, c->list, count + 1);
}

tensor *gantry__worker_flatten(gantry__step_call_t *c) {
    gantry_scope_t *scope = gantry__model_scope(c->model, c->scope, 0);
    if (!scope) return NULL;
    return gantry__train_end(c->scope, scope, gantry_identity(scope, join_addends(c, scope)));
}

/* ---- the vector, applied ---- */

static void apply_to(gantry_model_t *model, gantry_scope_t *scope, tensor *flat, size_t replica) {
    gantry__worker_t *worker = model->replicas.worker;
    int64_t begin = 0;
    size_t trained = 0;
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        gantry_variable_t *variable = model->net.variables[i].copies[replica];
        const int64_t size = worker_step_elements_of(model, i);
        tensor *value = worker->has_value[i]
                            ? gantry_reshape(scope, gantry_slice(scope, flat, &begin, &size),
                                             *gantry_variable_shape(variable))
                            : NULL;
        begin += size;
        if (is_trained(model, i)) {
            worker->variables[trained] = variable;
            worker->gradients[trained++] = value;
        } else if (value) {
            (void)gantry_variable_assign(scope, variable, value);
        }
    }
    (void)gantry_optimizer_apply(model->program.optimizer, scope, worker->variables,
                                 worker->gradients, trained);
    gantry__model_constrain(model, scope, replica, worker->gradients);
}

static void apply_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_model_t *model = user;
    (void)outputs;
    for (size_t r = 0; r < model->replicas.count; ++r) {
        gantry_scope_t *inner = gantry__model_scope(model, scope, r);
        if (!inner) return;
        apply_to(model, inner, inputs[0], r);
        const gantry_status_t status = gantry_scope_end(inner);
        if (status != GANTRY_OK) (void)gantry__train_hand_on(scope, status);
    }
}

/* Which variables have values is a property of the layers, so it is traced once. */
static gantry_status_t trace_apply(gantry_model_t *model) {
    gantry__worker_t *worker = model->replicas.worker;
    const size_t count = model->net.variable_count;
    const int64_t marks = worker->flat_elements - 1 - (int64_t)count;
    bool changed = !worker->apply;
    for (size_t i = 0; i < count; ++i) {
        const bool has_value = get_flat(model, marks + (int64_t)i);
        changed = changed || has_value != worker->has_value[i];
        worker->has_value[i] = has_value;
    }
    if (!changed) return GANTRY_OK;
    gantry__worker_forget(worker);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = model->program.runs_eagerly};
    /* of any size: traced by the call, which has this process's device */
    const gantry_input_spec_t spec = {.dtype = model->dtype, .shape = GANTRY_SHAPE(-1)};
    return gantry_function_trace(model->runtime, "apply_step", apply_body, model, &spec, 1, 0,
                                 &options, &worker->apply);
}

static gantry_status_t apply_flat(gantry_model_t *model) {
    gantry__worker_t *worker = model->replicas.worker;
    GANTRY__TRY(trace_apply(model));
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    tensor *flat =
        gantry_constant(scope, model->dtype, GANTRY_SHAPE(worker->flat_elements), worker->flat,
                        (size_t)worker->flat_elements * gantry_dtype_size(model->dtype));
    (void)gantry_function_call(scope, worker->apply, &flat, 1, NULL, 0);
    return gantry_scope_end(scope);
}

/* ---- one step ---- */

static gantry_status_t worker_step_allocate(gantry_model_t *model) {
    gantry__worker_t *worker = model->replicas.worker;
    const size_t count = model->net.variable_count;
    if (worker->variables) return GANTRY_OK;
    worker->flat_elements = (int64_t)count + 1;
    for (size_t i = 0; i < count; ++i) worker->flat_elements += worker_step_elements_of(model, i);
    gantry__free(worker->flat); /* of a call that failed here */
    gantry__free(worker->has_value);
    gantry__free((void *)worker->gradients);
    worker->flat = gantry__alloc((size_t)worker->flat_elements, gantry_dtype_size(model->dtype));
    worker->has_value = gantry__alloc(count, sizeof *worker->has_value);
    worker->gradients = gantry__alloc(count, sizeof *worker->gradients);
    worker->variables = gantry__alloc(count, sizeof *worker->variables);
    return worker->flat && worker->has_value && worker->gradients && worker->variables
               ? GANTRY_OK
               : GANTRY_RESOURCE_EXHAUSTED;
}

/* Computes a number from the first bytes of each array, which is another one for other data most of
 * the time. It must be small, because agreement squares it. */
static uint64_t checksum(const gantry_array_t *arrays, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t bytes =
            (size_t)gantry_shape_elements(&arrays[i].shape) * gantry_dtype_size(arrays[i].dtype);
        sum = gantry__bytes_checksum(sum, arrays[i].data, bytes < 4096 ? bytes : 4096);
    }
    return sum >> 33;
}

static gantry_status_t agree_on_step(gantry_model_t *model, const gantry_array_t *batch,
                                     size_t count, gantry__worker_wishes_t *wishes) {
    gantry__worker_t *worker = model->replicas.worker;
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_STEP,
                                  .sums = {wishes->stops, wishes->shows, wishes->interrupts}};
    call.values[0] = ++worker->step;
    call.status = worker_step_allocate(model);
    if (call.status == GANTRY_OK) {
        call.values[1] = (uint64_t)batch[0].shape.dims[0];
        const size_t inputs = model->net.input_count;
        call.values[2] = checksum(batch, inputs);
        call.values[3] = checksum(batch + inputs, count > inputs ? count - inputs : 0);
    }
    GANTRY__TRY(gantry__worker_agree(worker, &call));
    wishes->stops = call.sums[0] > 0;
    wishes->shows = call.sums[1] > 0;
    wishes->interrupts = call.sums[2] > 0;
    return GANTRY_OK;
}

static gantry_status_t compute_flat(gantry_model_t *model, const gantry_array_t *batch,
                                    size_t count) {
    const size_t bytes =
        (size_t)(model->replicas.worker->flat_elements - 1) * gantry_dtype_size(model->dtype);
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    tensor *flat = NULL;
    if (!scope) return gantry__train_no_scope(model->runtime);
    gantry_status_t status =
        gantry__model_step(model, GANTRY__STEP_TRAIN, scope, batch, count, &flat);
    if (status == GANTRY_OK && flat)
        status = gantry_tensor_read(flat, model->replicas.worker->flat, bytes);
    return gantry__train_close(scope, status);
}

gantry_status_t gantry__worker_train(gantry_model_t *model, const gantry_array_t *batch,
                                     size_t count, gantry__worker_wishes_t *wishes) {
    gantry__worker_t *worker = model->replicas.worker;
    GANTRY__TRY(agree_on_step(model, batch, count, wishes));
    if (wishes->stops || wishes->interrupts) return GANTRY_OK;
    const size_t elements = (size_t)worker->flat_elements;
    memset(worker->flat, 0, elements * gantry_dtype_size(model->dtype));
    gantry_status_t status = gantry__model_begin_draws(model);
    if (status == GANTRY_OK) status = compute_flat(model, batch, count);
    gantry__worker_keep_text(worker, status);
    set_flat(model, worker->flat_elements - 1, status != GANTRY_OK);
    GANTRY__TRY(gantry__worker_all_reduce(worker, worker->flat, elements, model->dtype,
                                          gantry__worker_say(worker, GANTRY__WORKER_STEP).text));
    if (get_flat(model, worker->flat_elements - 1)) return gantry__worker_tell(worker, status);
    return apply_flat(model);
}
