/* SPDX-License-Identifier: Apache-2.0 */
/* The regularizers and constraints that a program sets for a layer's weights by their names, before
 * the layer is built. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/layer/layer_state.h"

static gantry__weight_rule_t *find_rule(const gantry_layer_t *layer, const char *weight) {
    for (size_t i = 0; i < layer->rule_count; ++i) {
        if (strcmp(layer->rules[i].weight, weight) == 0) return &layer->rules[i];
    }
    return NULL;
}

static gantry_status_t add_rule(gantry_layer_t *layer, const char *weight,
                                gantry__weight_rule_t **out) {
    *out = find_rule(layer, weight);
    if (*out) return GANTRY_OK;
    if (!gantry__grow(&layer->rules, layer->rule_count, &layer->rule_capacity,
                      sizeof *layer->rules))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__weight_rule_t rule = {.weight = gantry__strdup(weight)};
    if (!rule.weight) return GANTRY_RESOURCE_EXHAUSTED;
    *out = &layer->rules[layer->rule_count++];
    **out = rule;
    return GANTRY_OK;
}

static gantry_status_t check_not_built(const gantry_layer_t *layer, const char *call) {
    if (!layer->is_built) return GANTRY_OK;
    return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                              "%s: layer %s is built; a layer before its build is accepted", call,
                              gantry_layer_name(layer));
}

static gantry_status_t check_call(const gantry_layer_t *layer, const char *weight,
                                  const char *call) {
    if (!layer) return gantry__train_fail_null(NULL, call, "layer", "one");
    if (!weight || !*weight)
        return gantry__train_refuse(NULL, "%s: the weight %s", call,
                                    weight ? "has no name" : "is NULL");
    return check_not_built(layer, call);
}

static gantry_status_t set_regularizer(gantry_layer_t *layer, const char *weight,
                                       const gantry_regularizer_t *given, const char *what) {
    gantry_regularizer_t read;
    gantry__weight_rule_t *rule;
    GANTRY__TRY(gantry__regularizer_read(given, what, &read));
    GANTRY__TRY(add_rule(layer, weight, &rule));
    rule->regularizer = read;
    return GANTRY_OK;
}

static gantry_status_t set_constraint(gantry_layer_t *layer, const char *weight,
                                      const gantry_constraint_t *given, const char *what) {
    gantry_constraint_t read;
    gantry__weight_rule_t *rule;
    GANTRY__TRY(gantry__constraint_read(given, what, &read));
    GANTRY__TRY(add_rule(layer, weight, &rule));
    rule->constraint = read;
    return GANTRY_OK;
}

gantry_status_t gantry_layer_set_regularizer(gantry_layer_t *layer, const char *weight,
                                             const gantry_regularizer_t *regularizer) {
    static const char call[] = "gantry_layer_set_regularizer";
    GANTRY__TRY(check_call(layer, weight, call));
    return set_regularizer(layer, weight, regularizer, call);
}

gantry_status_t gantry_layer_set_constraint(gantry_layer_t *layer, const char *weight,
                                            const gantry_constraint_t *constraint) {
    static const char call[] = "gantry_layer_set_constraint";
    GANTRY__TRY(check_call(layer, weight, call));
    return set_constraint(layer, weight, constraint, call);
}

gantry_status_t gantry_layer_set_activity_regularizer(gantry_layer_t *layer,
                                                      const gantry_regularizer_t *regularizer) {
    static const char call[] = "gantry_layer_set_activity_regularizer";
    gantry_regularizer_t read;
    if (!layer) return gantry__train_fail_null(NULL, call, "layer", "one");
    GANTRY__TRY(check_not_built(layer, call));
    GANTRY__TRY(gantry__regularizer_read(regularizer, call, &read));
    layer->activity = read;
    return GANTRY_OK;
}

gantry_status_t gantry__layer_copy_rules(gantry_layer_t *layer, const gantry_layer_t *from,
                                         const char *prefix) {
    char name[256];
    gantry__weight_rule_t *rule;
    for (size_t i = 0; i < from->rule_count; ++i) {
        (void)snprintf(name, sizeof name, "%s%s", prefix, from->rules[i].weight);
        GANTRY__TRY(add_rule(layer, name, &rule));
        rule->regularizer = from->rules[i].regularizer;
        rule->constraint = from->rules[i].constraint;
    }
    return GANTRY_OK;
}

gantry_layer_t *gantry__layer_with_rules(gantry_layer_t *layer, const char *weight,
                                         const gantry_regularizer_t *regularizer,
                                         const gantry_constraint_t *constraint) {
    char what[128];
    gantry_status_t status = GANTRY_OK;
    if (!layer) return NULL;
    (void)snprintf(what, sizeof what, "layer %s: %s_regularizer", layer->kind.name, weight);
    if (regularizer) status = set_regularizer(layer, weight, regularizer, what);
    (void)snprintf(what, sizeof what, "layer %s: %s_constraint", layer->kind.name, weight);
    if (constraint && status == GANTRY_OK) status = set_constraint(layer, weight, constraint, what);
    if (status == GANTRY_OK) return layer;
    gantry_layer_release(layer);
    return NULL;
}

gantry_status_t gantry__layer_rule_weight(const gantry_layer_t *layer, gantry__weight_t *weight,
                                          const char *name) {
    char what[256];
    const gantry__weight_rule_t *rule = find_rule(layer, name);
    if (!rule) return GANTRY_OK;
    (void)snprintf(what, sizeof what, "layer %s: the constraint of weight %s",
                   gantry_layer_name(layer), name);
    GANTRY__TRY(gantry__constraint_fits(&rule->constraint, weight->shape.rank, what));
    weight->regularizer = rule->regularizer;
    weight->constraint = rule->constraint;
    return GANTRY_OK;
}

static bool has_weight(const gantry_layer_t *layer, const char *name) {
    for (size_t i = 0; i < layer->weight_count; ++i) {
        if (strcmp(layer->weights[i].name, name) == 0) return true;
    }
    return false;
}

gantry_status_t gantry__layer_check_rules(const gantry_layer_t *layer) {
    for (size_t i = 0; i < layer->rule_count; ++i) {
        if (!has_weight(layer, layer->rules[i].weight))
            return gantry__train_refuse(
                NULL,
                "layer %s has no weight %s, which has a regularizer or a constraint; its first of %zu weights is %s",
                gantry_layer_name(layer), layer->rules[i].weight, layer->weight_count,
                layer->weight_count > 0 ? layer->weights[0].name : "none");
    }
    return GANTRY_OK;
}

void gantry__layer_release_rules(gantry_layer_t *layer) {
    for (size_t i = 0; i < layer->rule_count; ++i) gantry__free(layer->rules[i].weight);
    gantry__free(layer->rules);
}
