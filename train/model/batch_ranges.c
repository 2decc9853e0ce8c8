/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses labels that name no class, and words that an embedding does not have, before the step,
 * because on a device that works on its own the op would fail after the step has given all
 * variables new values, which then could not be read.
 *
 *     input ----------------------> Embedding     the words are in the batch
 *     input -> Reshape, Add, ... -> Embedding     built-in layers without weights: computed here
 *     input -> a program's layer -> Embedding     not checked: its function has one call a step
 */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/metric/metric_state.h"
#include "train/model/batch.h"
#include "train/model/run.h"
#include "train/numerics/finite.h"

/* The first number of a component outside [0, limit). */
typedef struct outside_t {
    int64_t index;  /* -1: there is none, or the type has others */
    char value[32]; /* as text */
} outside_t;

#define FIND(wide, number, is_inside, form)                   \
    for (int64_t i = 0; i < count && o.index < 0; ++i) {      \
        const wide value = number;                            \
        if (is_inside) continue;                              \
        o.index = i;                                          \
        (void)snprintf(o.value, sizeof o.value, form, value); \
    }                                                         \
    break;
#define FIND_SIGNED(type) \
    FIND(long long, ((const type *)a->data)[i], value >= 0 && value < limit, "%lld")
#define FIND_UNSIGNED(type) \
    FIND(unsigned long long, ((const type *)a->data)[i], value < (uint64_t)limit, "%llu")

static outside_t find_outside(const gantry_array_t *a, int64_t limit) {
    outside_t o = {.index = -1};
    const int64_t count = gantry_shape_elements(&a->shape);
    switch (a->dtype) {
        case GANTRY_INT8: FIND_SIGNED(int8_t)
        case GANTRY_INT16: FIND_SIGNED(int16_t)
        case GANTRY_INT32: FIND_SIGNED(int32_t)
        case GANTRY_INT64: FIND_SIGNED(int64_t)
        case GANTRY_UINT8: FIND_UNSIGNED(uint8_t)
        case GANTRY_UINT16: FIND_UNSIGNED(uint16_t)
        case GANTRY_UINT32: FIND_UNSIGNED(uint32_t)
        case GANTRY_UINT64: FIND_UNSIGNED(uint64_t)
        case GANTRY_BOOL: FIND(long long, ((const uint8_t *)a->data)[i] != 0, value < limit, "%lld")
        case GANTRY_FLOAT8_E5M2:
        case GANTRY_FLOAT8_E4M3FN:
        case GANTRY_FLOAT16:
        case GANTRY_BFLOAT16:
        case GANTRY_FLOAT32:
        case GANTRY_FLOAT64: /* a fraction is the whole number towards zero; a NaN is outside */
            FIND(double, gantry__finite_number_at(a->dtype, a->data, i),
                 value > -1 && value < (double)limit, "%g")
        default: break;
    }
    return o;
}

/* Whether the loss of a target, or one of its metrics, reads its labels as classes. */
static bool reads_classes(const gantry__model_program_t *program, size_t target) {
    bool reads = program->targets[target].loss == GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY;
    for (size_t i = 0; i < program->metric_count && !reads; ++i) {
        const gantry__model_metric_t *entry = &program->metrics[i];
        reads = !entry->is_loss && entry->target == target &&
                entry->metric->loss == GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY;
    }
    return reads;
}

static gantry_status_t check_labels(const gantry_model_t *model, size_t target,
                                    const gantry_array_t *batch) {
    const gantry_shape_t *output = &model->net.values[model->net.outputs[target]].shape;
    const gantry__target_t *t = &model->program.targets[target];
    const int64_t classes = output->rank > 0 ? output->dims[output->rank - 1] : 0;
    const bool is_named = model->program.target_count > 1;
    if (!reads_classes(&model->program, target) || classes <= 0) return GANTRY_OK;
    const outside_t o = find_outside(&batch[model->net.input_count + t->label], classes);
    if (o.index < 0) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "model %s: %s%slabels[%lld]: Received a label value of %s which is outside the valid range of [0, %lld).",
        model->name, is_named ? gantry__model_output_name(model, target) : "", is_named ? ": " : "",
        (long long)o.index, o.value, (long long)classes);
}

/* "0,5": a place, as TensorFlow writes it. */
static void say_place(const gantry_shape_t *shape, int64_t index, char *out, size_t bytes) {
    size_t used = 0;
    int64_t rest = gantry_shape_elements(shape);
    for (int32_t d = 0; d < shape->rank && used < bytes; ++d) {
        rest /= shape->dims[d];
        used += (size_t)snprintf(out + used, bytes - used, "%s%lld", d ? "," : "",
                                 (long long)(index / rest));
        index %= rest;
    }
}

static gantry_status_t check_words(const gantry_model_t *model, const gantry__model_value_t *value,
                                   const gantry_array_t *words) {
    char place[256];
    const int64_t limit = value->member->layer->weights[0].shape.dims[0];
    const outside_t o = find_outside(words, limit);
    if (o.index < 0) return GANTRY_OK;
    say_place(&words->shape, o.index, place, sizeof place);
    return gantry__train_refuse(NULL, "model %s: layer %s: indices[%s] = %s is not in [0, %lld)",
                                model->name, gantry__member_name(value->member), place, o.value,
                                (long long)limit);
}

/* ---- words that layers moved ---- */

/* Computes a value that follows from the batch by built-in layers without weights, and by nothing
 * else; false for any other value, and after a failure, which the scope keeps. */
static bool compute_moved(gantry__model_run_t *run, const gantry_array_t *batch, size_t v) {
    const gantry__model_value_t *value = &run->model->net.values[v];
    if (run->values[v]) return true;
    if (!value->member) {
        run->values[v] = gantry__model_make_component(run->model, run->scope, &batch[v], v);
        return run->values[v] != NULL;
    }
    const gantry_layer_t *layer = value->member->layer;
    if (!layer->is_built_in || layer->weight_count > 0 || value->input_count == 0) return false;
    for (size_t i = 0; i < value->input_count; ++i) {
        if (!compute_moved(run, batch, (size_t)value->inputs[i])) return false;
    }
    return gantry__run_value(run, v);
}

static gantry_status_t check_moved_words(const gantry_model_t *model,
                                         const gantry__model_value_t *value,
                                         const gantry_tensor_t *moved) {
    const size_t bytes = gantry_tensor_bytes(moved);
    void *data = gantry__alloc(bytes, 1);
    gantry_status_t status =
        data ? gantry_tensor_read(moved, data, bytes) : GANTRY_RESOURCE_EXHAUSTED;
    const gantry_array_t words = {gantry_tensor_dtype(moved), *gantry_tensor_shape(moved), data};
    if (status == GANTRY_OK) status = check_words(model, value, &words);
    gantry__free(data);
    return status;
}

/* The layers between the batch and the embedding run on the host, once more than in the step. */
static gantry_status_t check_words_of(gantry_model_t *model, const gantry__model_value_t *value,
                                      const gantry_array_t *batch) {
    gantry__model_run_t run;
    gantry_scope_t *scope = gantry_scope_begin(model->runtime, "CPU:0");
    if (!scope) return gantry__train_no_scope(model->runtime);
    gantry_status_t status = gantry__run_init(&run, model);
    run.scope = scope;
    if (status == GANTRY_OK && compute_moved(&run, batch, (size_t)value->inputs[0]))
        status = check_moved_words(model, value, run.values[value->inputs[0]]);
    gantry__numerics_set_layer(model->state.numerics, NULL);
    gantry__run_deinit(&run);
    return gantry__train_close(scope, status);
}

static gantry_status_t check_indices(gantry_model_t *model, const gantry__model_value_t *value,
                                     const gantry_array_t *batch) {
    if (value->input_count == 0 || !value->member->layer->takes_indices) return GANTRY_OK;
    if (value->inputs[0] < (int32_t)model->net.input_count)
        return check_words(model, value, &batch[value->inputs[0]]);
    return check_words_of(model, value, batch);
}

gantry_status_t gantry__batch_check_ranges(gantry_model_t *model, gantry__step_mode_t step,
                                           const gantry_array_t *batch) {
    for (size_t v = model->net.input_count; v < model->net.value_count; ++v)
        GANTRY__TRY(check_indices(model, &model->net.values[v], batch));
    for (size_t t = 0; t < model->program.target_count && step != GANTRY__STEP_PREDICT; ++t)
        GANTRY__TRY(check_labels(model, t, batch));
    return GANTRY_OK;
}
