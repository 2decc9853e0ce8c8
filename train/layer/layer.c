/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/layer/layer_state.h"

/* Members from passes_masks on were added later. */
#define FIRST_KIND_BYTES offsetof(gantry_layer_kind_t, passes_masks)

static gantry_status_t layer_check_kind(const gantry_layer_kind_t *kind) {
    if (!kind || kind->struct_size < FIRST_KIND_BYTES || kind->struct_size > sizeof *kind)
        return gantry__train_refuse(
            NULL, "gantry_layer_create: the kind is %s; one with struct_size %zu is accepted",
            kind ? "of another struct_size" : "NULL", sizeof *kind);
    if (!kind->name || !*kind->name || !kind->call)
        return gantry__train_refuse(NULL, "gantry_layer_create: the kind has no %s",
                                    kind->call ? "name" : "call");
    return GANTRY_OK;
}

gantry_layer_t *gantry_layer_create(const gantry_layer_kind_t *kind, void *user, const char *name) {
    if (layer_check_kind(kind) != GANTRY_OK) return NULL;
    gantry_layer_t *layer = gantry__alloc(1, sizeof *layer);
    if (!layer) return NULL;
    if (name && !(layer->name = gantry__strdup(name))) {
        gantry__free(layer);
        return NULL;
    }
    memcpy(&layer->kind, kind, kind->struct_size);
    layer->user = user;
    layer->references = 1;
    layer->has_own_name = name != NULL;
    return layer;
}

const gantry_tensor_t *gantry__layer_call(const gantry_layer_t *layer,
                                          const gantry_layer_call_t *call) {
    if (gantry_scope_lend(call->scope) != GANTRY_OK) return NULL;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    const gantry_tensor_t *output = layer->kind.call(call, layer->user);
    gantry_scope_take_back(call->scope);
    return output;
}

static void forget_weights(gantry_layer_t *layer) {
    for (size_t i = 0; i < layer->weight_count; ++i) gantry__free(layer->weights[i].name);
    layer->weight_count = 0;
    layer->states.count = 0;
    layer->is_built = false;
}

void gantry__layer_forget(gantry_layer_t *layer) {
    if (!layer->runtime) forget_weights(layer);
}

void gantry__layer_release_variables(gantry_layer_t *layer) {
    for (size_t i = 0; layer->variables && i < layer->weight_count * layer->replica_count; ++i)
        gantry_variable_release(layer->variables[i]);
    gantry__free((void *)layer->variables);
    layer->variables = NULL;
}

/* ---- states ---- */

void gantry__layer_release_states(gantry_layer_t *layer) {
    for (size_t i = 0; layer->states.variables && i < layer->states.count; ++i)
        gantry_variable_release(layer->states.variables[i]);
    gantry__free((void *)layer->states.variables);
    layer->states.variables = NULL;
}

static gantry_status_t reset_states(const gantry_layer_t *layer) {
    gantry_scope_t *scope = gantry_scope_begin(layer->runtime, NULL);
    if (!scope) return gantry__train_no_scope(layer->runtime);
    for (size_t i = 0; i < layer->states.count; ++i) {
        gantry_variable_t *state = layer->states.variables[i];
        (void)gantry_variable_assign(
            scope, state,
            gantry_zeros(scope, gantry_variable_dtype(state), *gantry_variable_shape(state)));
    }
    return gantry_scope_end(scope);
}

gantry_status_t gantry_layer_reset_states(gantry_layer_t *layer) {
    if (!layer) return gantry__train_fail_null(NULL, "gantry_layer_reset_states", "layer", "one");
    return layer->states.variables ? reset_states(layer) : GANTRY_OK;
}

/* ---- the model that calls ---- */

gantry_variable_t *const *gantry__layer_states(const gantry_layer_call_t *call) {
    return call->run ? call->run->states : NULL;
}

gantry_observer_t *gantry__layer_observer(const gantry_layer_call_t *call, gantry_observer_t *out) {
    if (!call->run || !call->run->observer.observe) return NULL;
    *out = call->run->observer;
    return out;
}

gantry_dtype_t gantry__layer_dtype(const gantry_layer_call_t *call) {
    return call->run ? call->run->dtype : GANTRY_FLOAT32;
}

gantry_generator_t *gantry_layer_generator(const gantry_layer_call_t *call) {
    return call && call->run ? call->run->generator(call) : NULL;
}

/* ---- the end of a layer ---- */

void gantry__layer_unref(gantry_layer_t *layer) {
    if (!layer || --layer->references > 0) return;
    if (layer->kind.release) {
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        layer->kind.release(layer->user);
    }
    gantry__layer_unref(layer->inner);
    gantry__layer_release_states(layer);
    gantry__layer_release_variables(layer);
    forget_weights(layer);
    gantry__layer_release_rules(layer);
    gantry__free(layer->weights);
    gantry__free(layer->name);
    gantry__free(layer);
}

void gantry_layer_release(gantry_layer_t *layer) {
    if (layer && !layer->is_taken) gantry__layer_unref(layer);
}

const char *gantry_layer_name(const gantry_layer_t *layer) {
    return layer && layer->name ? layer->name : "";
}

size_t gantry__layer_outputs(const gantry_layer_t *layer) {
    return layer->kind.output_count ? layer->kind.output_count : 1;
}

static gantry_status_t refuse_shape(const char *name, const gantry_shape_t *shape) {
    char text[256];
    (void)gantry_shape_format(shape, text, sizeof text);
    return gantry__train_refuse(
        NULL, "gantry_layer_add_weight: weight %s has shape %s, in which a dimension is not known",
        name, text);
}

gantry_status_t gantry_layer_add_weight(gantry_layer_t *layer, const char *name,
                                        gantry_shape_t shape,
                                        const gantry_initializer_t *initializer, bool trainable) {
    if (!layer) return gantry__train_fail_null(NULL, "gantry_layer_add_weight", "layer", "one");
    if (!name || !*name)
        return gantry__train_refuse(NULL,
                                    "gantry_layer_add_weight: the name is %s; a text is accepted",
                                    name ? "empty" : "NULL");
    if (gantry_shape_elements(&shape) < 0) return refuse_shape(name, &shape);
    if (layer->is_built)
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                                  "layer %s: weight %s is added after build",
                                  gantry_layer_name(layer), name);
    gantry__weight_t weight = {.shape = shape,
                               .has_seed = initializer && initializer->seed != 0,
                               .is_trainable = trainable};
    if (!gantry__layer_initializer(initializer, GANTRY_INIT_GLOROT_UNIFORM, &weight.initializer))
        return GANTRY_INVALID_ARGUMENT;
    GANTRY__TRY(gantry__layer_rule_weight(layer, &weight, name));
    if (!gantry__grow(&layer->weights, layer->weight_count, &layer->weight_capacity,
                      sizeof *layer->weights))
        return GANTRY_RESOURCE_EXHAUSTED;
    weight.name = gantry__strdup(name);
    if (!weight.name) return GANTRY_RESOURCE_EXHAUSTED;
    layer->weights[layer->weight_count++] = weight;
    return GANTRY_OK;
}

gantry_status_t gantry_layer_set_trainable(gantry_layer_t *layer, bool trainable) {
    if (!layer) return gantry__train_fail_null(NULL, "gantry_layer_set_trainable", "layer", "one");
    layer->is_frozen = !trainable;
    return GANTRY_OK;
}

/* ---- for constructors ---- */

void gantry__layer_free_user(void *user) { gantry__free(user); }

gantry_layer_t *gantry__layer_make(const gantry_layer_kind_t *kind, size_t bytes,
                                   const char *name) {
    void *user = gantry__alloc(1, bytes);
    if (!user) return NULL;
    gantry_layer_t *layer = gantry_layer_create(kind, user, name);
    if (layer)
        layer->is_built_in = true;
    else
        gantry__free(user);
    return layer;
}

bool gantry__layer_initializer(const gantry_initializer_t *given, gantry_init_t otherwise,
                               gantry_initializer_t *out) {
    *out = (gantry_initializer_t){.struct_size = sizeof *out, .kind = otherwise};
    return !given ||
           gantry__struct_read(given, sizeof *out, out, sizeof *out, "initializer") == GANTRY_OK;
}

bool gantry__layer_takes_seed(const gantry__weight_t *weight) {
    const gantry_init_t kind = weight->initializer.kind;
    return !weight->has_seed && kind >= GANTRY_INIT_RANDOM_UNIFORM && kind < GANTRY_INIT_IDENTITY;
}

bool gantry__layer_check_activation(const char *kind, gantry_activation_t activation) {
    if (*gantry_activation_name(activation)) return true;
    return gantry__train_refuse_bool(
        NULL, "layer %s: the activation is %d; GANTRY_LINEAR and those after it are accepted", kind,
        (int)activation);
}

bool gantry__layer_check_unused(const char *kind, const char *option, int64_t given,
                                int64_t no_effect) {
    if (given == 0 || given == no_effect) return true;
    return gantry__train_refuse_bool(
        NULL, "layer %s: %s is %lld, but a layer of this kind has no use for it; %s accepted", kind,
        option, (long long)given, no_effect ? "0 and 1 are" : "0 is");
}

gantry_status_t gantry__layer_check_rank(const char *kind, const gantry_shape_t *inputs,
                                         size_t input_count, int32_t least, int32_t most) {
    if (input_count != 1)
        return gantry__train_refuse(NULL, "layer %s has %zu inputs; 1 is accepted", kind,
                                    input_count);
    if (inputs[0].rank >= least && inputs[0].rank <= most) return GANTRY_OK;
    char text[256];
    (void)gantry_shape_format(&inputs[0], text, sizeof text);
    if (least == most)
        return gantry__train_refuse(NULL, "layer %s: the input has shape %s; rank %d is accepted",
                                    kind, text, least);
    return gantry__train_refuse(NULL, "layer %s: the input has shape %s; rank %d to %d is accepted",
                                kind, text, least, most);
}

gantry_status_t gantry__layer_build_any(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                        size_t input_count, void *user) {
    (void)user;
    return gantry__layer_check_rank(layer->kind.name, inputs, input_count, 1, GANTRY_MAX_RANK);
}

gantry_status_t gantry__layer_check_window(const char *kind, const gantry_shape_t *input,
                                           int32_t rank, const int64_t *spread) {
    for (int32_t d = 0; d < rank; ++d) {
        const int64_t size = input->dims[d + 1];
        if (size >= 0 && spread[d] > size)
            return gantry__train_refuse(
                NULL,
                "layer %s: the window is %lld wide, the input %lld; \"valid\" padding accepts an input at least as wide",
                kind, (long long)spread[d], (long long)size);
    }
    return GANTRY_OK;
}

bool gantry__layer_grow(const char *kind, int64_t times, int64_t more, int64_t *size) {
    if (*size > (INT64_MAX - (more > 0 ? more : 0)) / times)
        return gantry__train_refuse_bool(
            NULL,
            "layer %s: a dimension of %lld would be %lld times as large; one of up to 2**63 - 1 is accepted",
            kind, (long long)*size, (long long)times);
    *size = *size * times + more;
    return true;
}

bool gantry__layer_has_floats(const gantry_layer_call_t *call, const char *kind) {
    for (size_t i = 0; i < call->input_count; ++i) {
        const gantry_dtype_t dtype = gantry_tensor_dtype(call->inputs[i]);
        if (gantry__train_is_float(dtype)) continue;
        return gantry__train_refuse_bool(call->scope,
                                         "layer %s: the input is %s; floats are accepted", kind,
                                         gantry_dtype_name(dtype));
    }
    return true;
}
