/* SPDX-License-Identifier: Apache-2.0 */
/* Values of variables that processes share: weights of rank 0, and sums of metrics. A process that
 * fails on the way must still take part, because the others wait for it; the call's end reports the
 * failure to them. */
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/draws.h"
#include "train/model/worker.h"

/* ---- all variables of a replica ---- */

typedef struct listed_t {
    gantry_variable_t **state; /* of the optimizer, of all replicas; NULL: none */
    size_t each;               /* of one replica */
} listed_t;

static gantry_status_t worker_values_list_state(const gantry_model_t *model, listed_t *out) {
    size_t count;
    GANTRY__TRY(gantry_optimizer_get_variables(model->program.optimizer, 0, NULL, &count));
    out->state = gantry__alloc(count, sizeof *out->state);
    if (!out->state) return GANTRY_RESOURCE_EXHAUSTED;
    out->each = count / model->replicas.count;
    return gantry_optimizer_get_variables(model->program.optimizer, count, out->state, &count);
}

static gantry_variable_t *variable_at(const gantry_model_t *model, const listed_t *listed,
                                      size_t index, size_t replica) {
    if (index < model->net.variable_count) return model->net.variables[index].copies[replica];
    return listed->state[replica * listed->each + index - model->net.variable_count];
}

static size_t worker_values_bytes_of(const gantry_variable_t *variable) {
    return (size_t)gantry_shape_elements(gantry_variable_shape(variable)) *
           gantry_dtype_size(gantry_variable_dtype(variable));
}

/* ---- broadcast ---- */

static gantry_status_t read_variable(const gantry_model_t *model, gantry_variable_t *variable,
                                     void *out, size_t bytes) {
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    const gantry_tensor_t *value = gantry_variable_read(scope, variable);
    if (value) (void)gantry__train_hand_on(scope, gantry_tensor_read(value, out, bytes));
    return gantry_scope_end(scope);
}

static gantry_status_t write_variable(const gantry_model_t *model, size_t replica,
                                      gantry_variable_t *variable, const void *data, size_t bytes) {
    gantry_scope_t *scope = gantry__model_scope(model, NULL, replica);
    if (!scope) return gantry__train_no_scope(model->runtime);
    const gantry_tensor_t *value = gantry_constant(scope, gantry_variable_dtype(variable),
                                                   *gantry_variable_shape(variable), data, bytes);
    (void)gantry_variable_assign(scope, variable, value);
    return gantry_scope_end(scope);
}

/* Rank 0's value on all replicas of the others; data has room for it. */
static gantry_status_t share_one(gantry_model_t *model, const listed_t *listed, size_t index,
                                 void *data, const char *what) {
    gantry__worker_t *worker = model->replicas.worker;
    gantry_variable_t *first = variable_at(model, listed, index, 0);
    const size_t bytes = worker_values_bytes_of(first);
    const bool is_source = worker->communicator.rank == 0;
    gantry_status_t status = is_source ? read_variable(model, first, data, bytes) : GANTRY_OK;
    gantry__worker_keep_text(worker, status);
    GANTRY__TRY(gantry__worker_broadcast(worker, data, bytes, what));
    for (size_t r = 0; r < model->replicas.count && !is_source && status == GANTRY_OK; ++r)
        status = write_variable(model, r, variable_at(model, listed, index, r), data, bytes);
    if (status != GANTRY_OK && is_source) return gantry_fail(status, worker->own);
    return status;
}

static gantry_status_t share_all(gantry_model_t *model, const listed_t *listed, size_t count,
                                 void *data, const char *what) {
    gantry__worker_t *worker = model->replicas.worker;
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < count; ++i) {
        const gantry_status_t one = share_one(model, listed, i, data, what);
        if (one != GANTRY_OK && worker->is_told) return one;
        if (one == GANTRY_OK || status != GANTRY_OK) continue;
        status = one;
        gantry__worker_keep_text(worker, one);
    }
    return status == GANTRY_OK ? GANTRY_OK : gantry_fail(status, worker->own);
}

/* Agrees, and then shares all variables. */
static gantry_status_t worker_values_share(gantry_model_t *model, gantry__worker_call_t *call,
                                           const listed_t *listed) {
    gantry__worker_t *worker = model->replicas.worker;
    const size_t count = model->net.variable_count + listed->each;
    size_t most = 0;
    for (size_t i = 0; i < count && call->status == GANTRY_OK; ++i) {
        const size_t bytes = worker_values_bytes_of(variable_at(model, listed, i, 0));
        if (bytes > most) most = bytes;
    }
    void *data = call->status == GANTRY_OK ? gantry__alloc(most, 1) : NULL;
    if (call->status == GANTRY_OK && !data) call->status = GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__worker_agree(worker, call);
    if (status == GANTRY_OK)
        status = share_all(model, listed, count, data, gantry__worker_say(worker, call->kind).text);
    gantry__free(data);
    return status;
}

/* ---- weights ---- */

static uint32_t add_bytes(uint32_t sum, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        sum = (sum ^ ((const unsigned char *)data)[i]) * 16777619u; /* FNV-1a */
    return sum;
}

static void describe_weights(const gantry_model_t *model, uint64_t values[]) {
    uint32_t sum = 2166136261u;
    values[0] = model->net.variable_count;
    values[2] = (uint64_t)model->dtype;
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        const gantry_variable_t *variable = model->net.variables[i].copies[0];
        const gantry_shape_t *shape = gantry_variable_shape(variable);
        const char *name = model->net.variables[i].name;
        values[1] += (uint64_t)gantry_shape_elements(shape);
        sum = add_bytes(sum, name, strlen(name));
        sum = add_bytes(sum, shape->dims, (size_t)shape->rank * sizeof shape->dims[0]);
    }
    values[3] = sum >> 1;
}

gantry_status_t gantry__worker_share_weights(gantry_model_t *model, gantry_status_t status) {
    const listed_t listed = {.state = NULL};
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_BUILD, .status = status};
    if (status == GANTRY_OK) describe_weights(model, call.values);
    return worker_values_share(model, &call, &listed);
}

static gantry_status_t list_loaded(gantry_model_t *model, bool with_state, listed_t *out) {
    if (!with_state) return GANTRY_OK;
    if (!model->program.optimizer)
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_model_load: rank 0 has an optimizer, and the model of this process has none; all processes compile the same model");
    GANTRY__TRY(gantry__model_build_optimizer(model));
    return worker_values_list_state(model, out);
}

gantry_status_t gantry__worker_share_loaded(gantry_model_t *model, bool with_state,
                                            gantry_status_t status) {
    listed_t listed = {.state = NULL};
    gantry__worker_call_t found = {
        .kind = GANTRY__WORKER_LOAD, .sums = {with_state}, .status = status};
    GANTRY__TRY(gantry__worker_agree(model->replicas.worker, &found));
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_LOAD};
    call.status = list_loaded(model, found.sums[0] > 0, &listed);
    if (call.status == GANTRY_OK) call.values[0] = model->net.variable_count + listed.each;
    status = worker_values_share(model, &call, &listed);
    gantry__free((void *)listed.state);
    return status;
}

/* ---- random numbers ---- */

gantry_status_t gantry__worker_share_draws(gantry_model_t *model) {
    gantry__worker_t *worker = model->replicas.worker;
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_LOAD};
    call.status = gantry__model_drawn_steps(model, &worker->drawn_steps);
    GANTRY__TRY(gantry__worker_agree(worker, &call));
    return gantry__worker_broadcast(worker, &worker->drawn_steps, sizeof worker->drawn_steps,
                                    gantry__worker_say(worker, call.kind).text);
}

/* ---- metrics ---- */

static int64_t metric_elements(const gantry_model_t *model) {
    int64_t elements = 0;
    for (size_t m = 0; m < model->program.metric_count; ++m) {
        for (size_t i = 0; i < gantry_metric_variable_count(model->program.metrics[m].metric); ++i)
            elements += gantry_shape_elements(
                gantry_variable_shape(gantry_metric_variable(model->program.metrics[m].metric, i)));
    }
    return elements;
}

/* Does something with each variable of the metrics and its place in `numbers`. */
typedef void (*metric_fn)(gantry_scope_t *scope, gantry_variable_t *variable, double *numbers,
                          int64_t elements);

static void read_metric(gantry_scope_t *scope, gantry_variable_t *variable, double *numbers,
                        int64_t elements) {
    const gantry_tensor_t *value =
        gantry_cast(scope, gantry_variable_read(scope, variable), GANTRY_FLOAT64);
    if (value)
        (void)gantry__train_hand_on(
            scope, gantry_tensor_read(value, numbers, (size_t)elements * sizeof *numbers));
}

static void write_metric(gantry_scope_t *scope, gantry_variable_t *variable, double *numbers,
                         int64_t elements) {
    const gantry_tensor_t *value =
        gantry_constant(scope, GANTRY_FLOAT64, *gantry_variable_shape(variable), numbers,
                        (size_t)elements * sizeof *numbers);
    (void)gantry_variable_assign(scope, variable,
                                 gantry_cast(scope, value, gantry_variable_dtype(variable)));
}

static gantry_status_t for_metrics(gantry_model_t *model, double *numbers, metric_fn call) {
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    for (size_t m = 0; m < model->program.metric_count; ++m) {
        for (size_t i = 0; i < gantry_metric_variable_count(model->program.metrics[m].metric);
             ++i) {
            gantry_variable_t *variable =
                gantry_metric_variable(model->program.metrics[m].metric, i);
            const int64_t elements = gantry_shape_elements(gantry_variable_shape(variable));
            call(scope, variable, numbers, elements);
            numbers += elements;
        }
    }
    return gantry_scope_end(scope);
}

gantry_status_t gantry__worker_join_metrics(gantry_model_t *model) {
    gantry__worker_t *worker = model->replicas.worker;
    const int64_t elements = metric_elements(model);
    gantry__worker_call_t call = {
        .kind = GANTRY__WORKER_METRICS,
        .values = {(uint64_t)elements, worker->tested_batches, worker->tested_rows}};
    double *numbers = gantry__alloc((size_t)elements, sizeof *numbers);
    call.status = numbers ? for_metrics(model, numbers, read_metric) : GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__worker_agree(worker, &call);
    if (status == GANTRY_OK)
        status = gantry__worker_all_reduce(worker, numbers, (size_t)elements, GANTRY_FLOAT64,
                                           gantry__worker_say(worker, call.kind).text);
    if (status == GANTRY_OK) status = for_metrics(model, numbers, write_metric);
    gantry__free(numbers);
    return status;
}

gantry_status_t gantry__worker_part_metrics(gantry_model_t *model) {
    if (model->replicas.worker->communicator.rank == 0) return GANTRY_OK;
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    for (size_t i = 0; i < model->program.metric_count; ++i)
        (void)gantry_metric_reset(model->program.metrics[i].metric, scope);
    return gantry_scope_end(scope);
}
