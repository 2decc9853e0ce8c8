/* SPDX-License-Identifier: Apache-2.0 */
#include "train/numerics/numerics.h"

#include <stdio.h>
#include <string.h>

#include "shared/c_locale.h"
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/loss/fit.h"
#include "train/numerics/finite.h"
#include "train/tape/tape_state.h"

/* The layer that made a tensor. It holds no reference, so only the newest entry of an address
 * counts. */
typedef struct made_t {
    const gantry_tensor_t *tensor;
    const char *layer;
} made_t;

struct gantry_numerics_t {
    gantry_observer_t observer;
    gantry_scope_t *scope;
    const char *part, *layer;
    const gantry_tape_t *tape;
    made_t *made;
    size_t made_count, made_capacity;
};

/* ---- parts and layers ---- */

void gantry__numerics_enter(gantry_numerics_t *numerics, const char *part) {
    if (numerics) numerics->part = part;
}

void gantry__numerics_set_layer(gantry_numerics_t *numerics, const char *layer) {
    if (numerics) numerics->layer = layer;
}

void gantry__numerics_set_tape(gantry_numerics_t *numerics, const gantry_tape_t *tape) {
    if (!numerics) return;
    numerics->tape = tape;
    numerics->part = tape ? "backward" : "the sum of gradients";
}

static gantry_status_t note_layer(gantry_numerics_t *numerics, const gantry_observation_t *o) {
    for (size_t i = 0; numerics->layer && i < o->output_count; ++i) {
        if (!gantry__grow(&numerics->made, numerics->made_count, &numerics->made_capacity,
                          sizeof *numerics->made))
            return GANTRY_RESOURCE_EXHAUSTED;
        numerics->made[numerics->made_count++] = (made_t){o->outputs[i], numerics->layer};
    }
    return GANTRY_OK;
}

/* The layer of the op whose gradient is computed, or NULL. */
static const char *layer_of_gradient(const gantry_numerics_t *numerics) {
    const gantry__record_t *record = numerics->tape ? numerics->tape->running : NULL;
    if (!record) return NULL;
    for (size_t i = numerics->made_count; i-- > 0;) {
        if (numerics->made[i].tensor == record->tensors[record->input_count])
            return numerics->made[i].layer;
    }
    return NULL;
}

/* ---- texts ---- */

enum { WHERE_BYTES = 160, INPUTS_BYTES = 512, MOST_INPUTS = 6 };

/* "backward, layer dense: ", or "". A layer that runs forward names itself. */
static void say_where(const gantry_numerics_t *numerics, char *out) {
    const char *layer = layer_of_gradient(numerics);
    out[0] = '\0';
    if (numerics->part)
        (void)snprintf(out, WHERE_BYTES, "%s%s%s: ", numerics->part, layer ? ", layer " : "",
                       layer ? layer : "");
}

static int say_range(const gantry_tensor_t *input, char *out, size_t bytes) {
    const char *type = gantry_dtype_name(gantry_tensor_dtype(input));
    const gantry__train_shape_text_t shape = gantry__train_shape_text(input);
    gantry__finite_t counts;
    gantry_status_t status;
    if (!gantry__finite_count_tensor(input, &counts, &status) || counts.elements == 0)
        return snprintf(out, bytes, "%s %s", type, shape.text);
    const int64_t others = gantry__finite_others(&counts);
    if (others == counts.elements)
        return snprintf(out, bytes, "%s %s without a finite number", type, shape.text);
    if (others > 0)
        return snprintf(out, bytes, "%s %s in [%g, %g] and %lld that are not finite", type,
                        shape.text, counts.low, counts.high, (long long)others);
    return snprintf(out, bytes, "%s %s in [%g, %g]", type, shape.text, counts.low, counts.high);
}

static void say_inputs(const gantry_observation_t *o, char *out) {
    size_t used = 0;
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    (void)snprintf(out, INPUTS_BYTES, o->input_count ? "" : "none");
    for (size_t i = 0; i < o->input_count && i < MOST_INPUTS && used + 2 < INPUTS_BYTES; ++i) {
        if (i > 0) used += (size_t)snprintf(out + used, INPUTS_BYTES - used, ", ");
        if (used < INPUTS_BYTES)
            used += (size_t)say_range(o->inputs[i], out + used, INPUTS_BYTES - used);
    }
    gantry__c_locale_end(&locale);
}

static gantry_status_t say_op(const gantry_numerics_t *numerics, const gantry_observation_t *o,
                              size_t output, const gantry__finite_t *counts) {
    char where[WHERE_BYTES], inputs[INPUTS_BYTES];
    const gantry_tensor_t *x = o->outputs[output];
    say_where(numerics, where);
    say_inputs(o, inputs);
    return gantry__train_refuse(
        NULL,
        "%sop %s made %lld NaN, %lld +Inf and %lld -Inf among the %lld elements of output %zu, %s %s; its inputs: %s",
        where, o->function ? gantry_function_name(o->function) : o->op, (long long)counts->nans,
        (long long)counts->plus, (long long)counts->minus, (long long)counts->elements, output,
        gantry_dtype_name(gantry_tensor_dtype(x)), gantry__train_shape_text(x).text, inputs);
}

static gantry_status_t say_variable(const gantry_numerics_t *numerics,
                                    const gantry_observation_t *o, const gantry__finite_t *counts) {
    char where[WHERE_BYTES];
    const gantry_tensor_t *x = o->outputs[0];
    say_where(numerics, where);
    return gantry__train_refuse(
        NULL,
        "%svariable %s has %lld NaN, %lld +Inf and %lld -Inf among its %lld elements, %s %s; finite numbers are accepted",
        where, gantry_variable_name(o->variable), (long long)counts->nans, (long long)counts->plus,
        (long long)counts->minus, (long long)counts->elements,
        gantry_dtype_name(gantry_tensor_dtype(x)), gantry__train_shape_text(x).text);
}

/* ---- the observer ---- */

/* The log_sum_exp of attention is -infinity, by its meaning, where a query sees no key. */
static bool may_be_infinite(const gantry_observation_t *o, size_t output,
                            const gantry__finite_t *counts) {
    return output == 3 && counts->nans == 0 && counts->plus == 0 && !o->function && o->op &&
           strcmp(o->op, "ScaledDotProductAttention") == 0;
}

static gantry_status_t numerics_observe(gantry_scope_t *scope, const gantry_observation_t *o,
                                        void *user) {
    gantry_numerics_t *numerics = user;
    (void)scope;
    for (size_t i = 0; i < o->output_count; ++i) {
        gantry__finite_t counts;
        gantry_status_t status;
        const bool is_counted = gantry__finite_count_tensor(o->outputs[i], &counts, &status);
        if (status != GANTRY_OK) return status;
        if (!is_counted || gantry__finite_others(&counts) == 0) continue;
        if (may_be_infinite(o, i, &counts)) continue;
        return o->variable ? say_variable(numerics, o, &counts) : say_op(numerics, o, i, &counts);
    }
    return note_layer(numerics, o);
}

/* Composed ops are named as the program calls them. */
static bool takes_whole(const char *op, void *user) {
    (void)op, (void)user;
    return true;
}

static void numerics_leave(gantry_scope_t *scope, void *user) {
    (void)scope;
    ((gantry_numerics_t *)user)->scope = NULL;
}

static gantry_status_t numerics_make(gantry_scope_t *scope, gantry_numerics_t **out_numerics) {
    gantry_numerics_t *numerics = gantry__alloc(1, sizeof *numerics);
    if (!numerics) return GANTRY_RESOURCE_EXHAUSTED;
    numerics->scope = scope;
    numerics->observer = (gantry_observer_t){
        .observe = numerics_observe, .whole = takes_whole, .user = numerics, .end = numerics_leave};
    gantry_status_t status = gantry_scope_observe(scope, &numerics->observer);
    if (status == GANTRY_OK)
        *out_numerics = numerics;
    else
        gantry__free(numerics);
    return status;
}

gantry_observer_t *gantry__numerics_observer(gantry_numerics_t *numerics, gantry_observer_t *out) {
    if (!numerics) return NULL;
    *out = (gantry_observer_t){.observe = numerics_observe, .whole = takes_whole, .user = numerics};
    return out;
}

gantry_numerics_t *gantry_check_numerics_begin(gantry_scope_t *scope) {
    gantry_numerics_t *numerics = NULL;
    if (!scope) {
        (void)gantry__train_fail_null(NULL, "gantry_check_numerics_begin", "scope",
                                      "one from gantry_scope_begin");
        return NULL;
    }
    if (gantry__train_check_scope(scope) != GANTRY_OK) return NULL;
    (void)gantry__train_hand_on(scope, numerics_make(scope, &numerics));
    return numerics;
}

void gantry_check_numerics_end(gantry_numerics_t *numerics) {
    if (!numerics) return;
    gantry_scope_unobserve(numerics->scope, &numerics->observer);
    gantry__free(numerics->made);
    gantry__free(numerics);
}
