/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a model: a trace with weights of zeros finds all shapes, and the layers add their weights
 * on the way; then each weight becomes a variable on each replica. The trace returns its input, so
 * that all of its nodes are dead: none is placed, and no device is opened for a shape.
 *
 * Inputs may have open sizes, Keras's None. The trace then runs each layer twice, on inputs of two
 * sizes; a size of an output that differs is open, too:
 *
 *     input [?,?,8]   Conv1D(16, 5)      MaxPooling1D(2)    GlobalMaxPooling1D
 *     [2,960,8]   ->  [2,956,16]     ->  [2,478,16]     ->  [2,16]
 *     [2,1920,8]  ->  [2,1916,16]    ->  [2,958,16]     ->  [2,16]
 *     shape           [?,?,16]           [?,?,16]           [?,16]
 *
 * A layer needs no rule for open sizes that way, one of a program's own included. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/run.h"
#include "train/model/worker.h"
#include "train/optimizer/optimizer_state.h"

#define BUILD_BATCH 2

/* ---- sizes that represent open ones ---- */

enum { OPEN_TRIES = 2 };

/* The sizes must be divisible by what pools and Reshape divide by. The second try is for windows
 * that are wide. */
static const int64_t open_lines[OPEN_TRIES] = {960, 61440}, open_images[OPEN_TRIES] = {240, 3840};

static int count_open(const gantry_shape_t *shape) {
    int count = 0;
    for (int32_t d = 1; d < shape->rank; ++d) count += shape->dims[d] < 0;
    return count;
}

/* NULL: no input has open sizes. */
static const int64_t *find_open_sizes(const gantry_model_t *model) {
    int most = 0;
    for (size_t i = 0; i < model->net.input_count; ++i) {
        const int count = count_open(&model->net.values[i].shape);
        if (count > most) most = count;
    }
    return most == 0 ? NULL : most == 1 ? open_lines : open_images;
}

static gantry_shape_t build_shape(gantry_shape_t shape, int64_t open) {
    shape.dims[0] = BUILD_BATCH;
    for (int32_t d = 1; d < shape.rank; ++d) {
        if (shape.dims[d] < 0) shape.dims[d] = open;
    }
    return shape;
}

/* ---- shapes ---- */

/* Notes the ops that a layer calls, because layers of unlike options call unlike ops, which
 * processes compare. */
static gantry_status_t note_op(gantry_scope_t *scope, const gantry_observation_t *told,
                               void *user) {
    const gantry__model_run_t *run = user;
    gantry__model_value_t *value = &run->model->net.values[run->value];
    uint64_t sum = gantry__bytes_checksum(value->ops, told->op, strlen(told->op));
    (void)scope;
    for (size_t i = 0; i < told->attr_count; ++i) {
        const gantry_attr_value_t *a = &told->attrs[i];
        sum = gantry__bytes_checksum(sum, a->name, strlen(a->name));
        sum = gantry__bytes_checksum(sum, &a->i, sizeof a->i);
        sum = gantry__bytes_checksum(sum, &a->f, sizeof a->f);
        if (a->s) sum = gantry__bytes_checksum(sum, a->s, strlen(a->s));
        if (a->list && a->i > 0)
            sum = gantry__bytes_checksum(sum, a->list, (size_t)a->i * sizeof *a->list);
    }
    value->ops = sum;
    return GANTRY_OK;
}

/* Takes composed ops whole, because their parts may depend on the device, which differs from
 * process to process. */
static bool note_whole(const char *op, void *user) {
    (void)op, (void)user;
    return true;
}

/* Traces in a scope on the model's device, because nodes that a layer's own op leaves alive are
 * placed there. */
static void trace_shapes(gantry_scope_t *outer, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry__model_run_t *run = user;
    gantry_observer_t observer = {.observe = note_op, .whole = note_whole, .user = run};
    gantry_scope_t *scope = gantry__model_scope(run->model, outer, 0);
    outputs[0] = inputs[0];
    if (!scope) return;
    if (run->model->replicas.worker) (void)gantry_scope_observe(scope, &observer);
    run->scope = scope;
    run->inputs = inputs;
    if (run->twin) run->twin->scope = scope;
    if (run->twin) run->twin->inputs = inputs + run->model->net.input_count;
    (void)gantry__run_layers(run);
    gantry_scope_unobserve(scope, &observer);
    (void)gantry__train_end(outer, scope, NULL);
}

/* `open` is a size that represents open ones; the twin's is twice as large. */
static gantry_status_t trace_with(gantry_model_t *model, gantry__model_run_t *run, int64_t open) {
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .passes_off = GANTRY_PASS_ALL & ~GANTRY_PASS_DEAD_NODES};
    gantry_function_t *function = NULL;
    const size_t inputs = model->net.input_count, count = run->twin ? 2 * inputs : inputs;
    gantry_input_spec_t *specs = gantry__alloc(count, sizeof *specs);
    if (!specs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) {
        const gantry__model_value_t *value = &model->net.values[i < inputs ? i : i - inputs];
        specs[i] =
            (gantry_input_spec_t){.dtype = value->dtype,
                                  .shape = build_shape(value->shape, i < inputs ? open : 2 * open)};
    }
    run->builds = true;
    gantry_status_t status = gantry_function_trace(model->runtime, model->name, trace_shapes, run,
                                                   specs, count, 1, &options, &function);
    gantry_function_release(function);
    gantry__free(specs);
    return status;
}

static gantry_status_t find_shapes_with(gantry_model_t *model, gantry__model_run_t *twin,
                                        int64_t open) {
    gantry__model_run_t run;
    gantry_status_t status = gantry__run_init(&run, model);
    run.twin = twin;
    if (status == GANTRY_OK) status = trace_with(model, &run, open);
    gantry__run_deinit(&run);
    return status;
}

static gantry_status_t find_open_shapes(gantry_model_t *model, int64_t open) {
    gantry__model_run_t twin;
    gantry_status_t status = gantry__run_init(&twin, model);
    twin.builds = true;
    if (status == GANTRY_OK) status = find_shapes_with(model, &twin, open);
    gantry__run_deinit(&twin);
    return status;
}

static void forget_layers(const gantry_model_t *model) {
    for (size_t i = 0; i < model->net.member_count; ++i)
        gantry__layer_forget(model->net.members[i]->layer);
}

static gantry_status_t find_shapes(gantry_model_t *model) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    const int64_t *open = find_open_sizes(model);
    if (!open) return find_shapes_with(model, NULL, 0);
    const gantry_status_t first = find_open_shapes(model, open[0]);
    if (first != GANTRY_INVALID_ARGUMENT) return first;
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    forget_layers(model);
    if (find_open_shapes(model, open[1]) == GANTRY_OK) return GANTRY_OK;
    return gantry__train_fail(first, "%s", text);
}

/* ---- variables ---- */

/* An initialiser that draws numbers and has no seed gets one: that which Keras chooses after
 * keras.utils.set_random_seed(model->seed), as the seed after those of the layers before. A model
 * without a seed counts seeds, too. */
static gantry_initializer_t initializer_of(const gantry_model_t *model,
                                           const gantry__weight_t *weight, size_t *seeds) {
    gantry_initializer_t initializer = weight->initializer;
    *seeds += weight->seeds_before;
    if (!gantry__layer_takes_seed(weight)) return initializer;
    initializer.seed = model->seed ? gantry_default_seed(model->seed, *seeds) : (int64_t)*seeds + 1;
    ++*seeds;
    return initializer;
}

static const gantry_tensor_t *first_value(gantry_scope_t *scope, const gantry_model_t *model,
                                          const gantry__weight_t *weight, size_t *seeds) {
    const gantry_initializer_t initializer = initializer_of(model, weight, seeds);
    return weight->make ? weight->make(scope, &initializer, model->dtype, &weight->shape)
                        : gantry_initialize(scope, &initializer, model->dtype, weight->shape);
}

static gantry_status_t make_copies(const gantry_model_t *model, const gantry__weight_t *weight,
                                   const char *name, size_t *seeds, gantry_variable_t **copies) {
    gantry_scope_t *first = gantry__model_scope(model, NULL, 0);
    if (!first) return gantry__train_no_scope(model->runtime);
    const gantry_tensor_t *value = first_value(first, model, weight, seeds);
    for (size_t r = 0; r < model->replicas.count && value; ++r) {
        gantry_scope_t *scope = gantry__model_scope(model, first, r);
        if (!scope) break;
        copies[r] = gantry_variable_create(scope, value, name);
        (void)gantry__train_hand_on(first, gantry_scope_end(scope));
    }
    GANTRY__TRY(gantry_scope_end(first));
    return copies[model->replicas.count - 1] ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* The weights of another model's layer are those of this one, too, if they live where its own do.
 * Those of one device may live on another one than the model's. */
static gantry_status_t check_variables(const gantry_model_t *model,
                                       const gantry__member_t *member) {
    const gantry_layer_t *layer = member->layer;
    const char *what = NULL;
    if (layer->runtime != model->runtime)
        what = "runtime";
    else if (layer->weight_count > 0 && layer->replica_count != model->replicas.count)
        what = "number of devices";
    else if (layer->weight_count > 0 && gantry_variable_dtype(layer->variables[0]) != model->dtype)
        what = "type";
    for (size_t r = 0; !what && layer->weight_count > 0 && r < model->replicas.count; ++r) {
        const gantry_logical_device_t *device = gantry_variable_device(layer->variables[r]);
        if (model->replicas.count > 1 &&
            (gantry_find_logical_device(model->runtime, model->replicas.devices[r], &device) !=
                 GANTRY_OK ||
             device != gantry_variable_device(layer->variables[r])))
            what = "order of devices";
    }
    if (!what) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_FAILED_PRECONDITION,
        "model %s: layer %s has the weights of another model, which has another %s; one runtime, type and strategy is accepted for models that share layers",
        model->name, gantry__member_name(member), what);
}

static gantry_status_t make_layer_variables(const gantry_model_t *model,
                                            const gantry__member_t *member, size_t *seeds) {
    char name[256];
    gantry_layer_t *layer = member->layer;
    layer->replica_count = model->replicas.count;
    layer->variables =
        gantry__alloc(layer->weight_count * layer->replica_count, sizeof *layer->variables);
    if (!layer->variables) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t w = 0; w < layer->weight_count; ++w) {
        (void)snprintf(name, sizeof name, "%s/%s", gantry__member_name(member),
                       layer->weights[w].name);
        GANTRY__TRY(make_copies(model, &layer->weights[w], name, seeds,
                                layer->variables + w * layer->replica_count));
    }
    return GANTRY_OK;
}

/* Makes a layer's variables, unless another model did; seeds are counted in either case. */
static gantry_status_t complete_layer(const gantry_model_t *model, const gantry__member_t *member,
                                      size_t *seeds) {
    gantry_layer_t *layer = member->layer;
    if (layer->runtime) {
        for (size_t w = 0; w < layer->weight_count; ++w)
            (void)initializer_of(model, &layer->weights[w], seeds);
        return check_variables(model, member);
    }
    const gantry_status_t status = make_layer_variables(model, member, seeds);
    if (status != GANTRY_OK) gantry__layer_release_variables(layer);
    if (status == GANTRY_OK) layer->runtime = model->runtime;
    return status;
}

/* Adds a layer's variables to the model's. */
static gantry_status_t list_variables(gantry_model_t *model, gantry__member_t *member) {
    char name[256];
    const gantry_layer_t *layer = member->layer;
    member->first_variable = model->net.variable_count;
    for (size_t w = 0; w < layer->weight_count; ++w) {
        gantry__model_variable_t *variable = &model->net.variables[model->net.variable_count];
        (void)snprintf(name, sizeof name, "%s/%s", gantry__member_name(member),
                       layer->weights[w].name);
        *variable = (gantry__model_variable_t){
            .weight = &layer->weights[w],
            .copies = layer->variables + w * layer->replica_count,
            .name = gantry__strdup(name),
            .is_trained = gantry__member_trains(member, w),
        };
        if (!variable->name) return GANTRY_RESOURCE_EXHAUSTED;
        ++model->net.variable_count;
    }
    return GANTRY_OK;
}

static gantry_status_t make_variables(gantry_model_t *model) {
    size_t count = 0, seeds = 0;
    for (size_t i = 0; i < model->net.member_count; ++i)
        count += model->net.members[i]->layer->weight_count;
    model->net.variables = gantry__alloc(count, sizeof *model->net.variables);
    if (!model->net.variables) return GANTRY_RESOURCE_EXHAUSTED;
    if (!model->program.is_compiled) gantry__model_settle_trainable(model);
    for (size_t i = 0; i < model->net.member_count; ++i) {
        GANTRY__TRY(complete_layer(model, model->net.members[i], &seeds));
        GANTRY__TRY(list_variables(model, model->net.members[i]));
        seeds += model->net.members[i]->layer->seeds_after;
    }
    return GANTRY_OK;
}

/* ---- build ---- */

static gantry_status_t build_alone(gantry_model_t *model, gantry_dtype_t dtype,
                                   const gantry_shape_t *sample) {
    if (model->net.is_sequential) GANTRY__TRY(gantry__model_chain(model, dtype, sample));
    if (model->net.value_count == model->net.input_count)
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                                  "model %s has no layers; it is built when it has some",
                                  model->name);
    gantry__model_choose_output(model);
    gantry_status_t status = find_shapes(model);
    if (status == GANTRY_OK) status = make_variables(model);
    if (status != GANTRY_OK) forget_layers(model); /* those that no model was built with */
    return status == GANTRY_OK ? gantry__model_make_states(model) : status;
}

static gantry_status_t model_build(gantry_model_t *model, gantry_dtype_t dtype,
                                   const gantry_shape_t *sample) {
    gantry_status_t status = build_alone(model, dtype, sample);
    if (model->replicas.worker) {
        gantry__worker_begin(model->replicas.worker);
        status = gantry__worker_share_weights(model, status);
        status = gantry__worker_end(model->replicas.worker, status);
    }
    model->net.is_built = status == GANTRY_OK;
    return status;
}

gantry_status_t gantry_model_build(gantry_model_t *model, gantry_dtype_t dtype,
                                   gantry_shape_t sample) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__model_begin(model, "gantry_model_build"));
    if (model->net.is_built)
        return gantry__worker_end(
            model->replicas.worker,
            gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                               "gantry_model_build: model %s is built already", model->name));
    return gantry__model_fail(model, model_build(model, dtype, &sample));
}

/* Floats become the model's type. Other numbers may be words of an Embedding. */
static gantry_status_t build_for_type(gantry_model_t *model, gantry_dtype_t given,
                                      const gantry_shape_t *sample) {
    const bool is_float = gantry__train_is_float(given);
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    const gantry_status_t status = model_build(model, is_float ? model->dtype : given, sample);
    if (status != GANTRY_INVALID_ARGUMENT || is_float || !model->net.is_sequential) return status;
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    return gantry__train_fail(
        status,
        "%s (the first batch has %s; after gantry_model_build for %s, batches are converted)", text,
        gantry_dtype_name(given), gantry_dtype_name(model->dtype));
}

gantry_status_t gantry__model_build_for(gantry_model_t *model, const gantry_array_t *batch) {
    if (model->net.is_built) return GANTRY_OK;
    gantry_shape_t sample = {.rank = batch[0].shape.rank - 1};
    for (int32_t d = 0; d < sample.rank; ++d) sample.dims[d] = batch[0].shape.dims[d + 1];
    const int64_t batch_size = model->net.batch_size;
    if (model->net.is_sequential && batch_size == 0) model->net.batch_size = batch[0].shape.dims[0];
    const gantry_status_t status = build_for_type(model, batch[0].dtype, &sample);
    if (status == GANTRY_OK || !model->net.is_sequential || model->net.variables)
        return gantry__model_fail(model, status);
    gantry__model_unchain(model); /* the data did not fit, and others may */
    model->net.batch_size = batch_size;
    return status;
}

/* ---- the optimizer's variables ---- */

static gantry_status_t build_optimizer(gantry_model_t *model, gantry_scope_t *scope) {
    size_t count = 0;
    gantry_variable_t **variables =
        gantry__alloc(model->net.variable_count * model->replicas.count, sizeof *variables);
    if (!variables) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t r = 0; r < model->replicas.count; ++r) {
        for (size_t i = 0; i < model->net.variable_count; ++i) {
            if (model->net.variables[i].is_trained)
                variables[count++] = model->net.variables[i].copies[r];
        }
    }
    gantry_status_t status =
        count > 0
            ? gantry_optimizer_build(model->program.optimizer, scope, variables, count)
            : gantry__train_fail(
                  GANTRY_FAILED_PRECONDITION,
                  "model %s has no weight that is trained; layers that are not frozen when gantry_model_compile is called are accepted",
                  model->name);
    gantry__free((void *)variables);
    return status;
}

gantry_status_t gantry__model_build_optimizer(gantry_model_t *model) {
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    gantry_status_t status = build_optimizer(model, scope);
    return gantry__train_close(scope, status);
}

gantry_status_t gantry__model_hold_averages(gantry_model_t *model, bool holds) {
    gantry_scope_t *scope;
    if (model->state.holds_averages == holds) return GANTRY_OK;
    if (!(scope = gantry__model_scope(model, NULL, 0))) return GANTRY_RESOURCE_EXHAUSTED;
    (void)gantry__optimizer_swap_averages(model->program.optimizer, scope);
    GANTRY__TRY(gantry_scope_end(scope));
    model->state.holds_averages = holds;
    return GANTRY_OK;
}

gantry_status_t gantry__model_finalize(gantry_model_t *model) {
    gantry_scope_t *scope;
    size_t built = 0;
    GANTRY__TRY(gantry__model_hold_averages(model, false));
    GANTRY__TRY(gantry_optimizer_get_variables(model->program.optimizer, 0, NULL, &built));
    if (built == 0) return GANTRY_OK;
    if (!(scope = gantry__model_scope(model, NULL, 0))) return GANTRY_RESOURCE_EXHAUSTED;
    (void)gantry_optimizer_finalize_variable_values(model->program.optimizer, scope);
    return gantry_scope_end(scope);
}

/* ---- looking at variables ---- */

size_t gantry_model_variable_count(const gantry_model_t *model) {
    return model ? model->net.variable_count : 0;
}

gantry_variable_t *gantry_model_variable(const gantry_model_t *model, size_t index,
                                         bool *out_trainable) {
    if (!model || index >= model->net.variable_count) return NULL;
    if (out_trainable) *out_trainable = model->net.variables[index].is_trained;
    return model->net.variables[index].copies[0];
}

gantry_status_t gantry_model_set_variable(gantry_model_t *model, size_t index, const void *data,
                                          size_t bytes) {
    GANTRY__TRY(gantry__model_check(model, "gantry_model_set_variable"));
    if (index >= model->net.variable_count)
        return gantry__train_refuse(
            NULL, "gantry_model_set_variable: model %s has %zu variables, not %zu", model->name,
            model->net.variable_count, index + 1);
    for (size_t r = 0; r < model->replicas.count; ++r) {
        gantry_variable_t *variable = model->net.variables[index].copies[r];
        gantry_scope_t *scope = gantry__model_scope(model, NULL, r);
        if (!scope) return gantry__train_no_scope(model->runtime);
        const gantry_tensor_t *value =
            gantry_constant(scope, model->dtype, *gantry_variable_shape(variable), data, bytes);
        (void)gantry_variable_assign(scope, variable, value);
        GANTRY__TRY(gantry_scope_end(scope));
    }
    return GANTRY_OK;
}
