/* SPDX-License-Identifier: Apache-2.0 */
/* What a tape records: an observer of its scope keeps each op with an input that is tracked, and
 * tracks its outputs. */
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/tape/block.h"
#include "train/tape/record_make.h"
#include "train/tape/rule.h"
#include "train/tape/tape_state.h"

/* ---- tracked tensors ---- */

static gantry_status_t track(gantry_tape_t *tape, const gantry_tensor_t *tensor,
                             uint32_t *out_number) {
    *out_number = gantry__pointer_map_find(&tape->numbers, tensor);
    if (*out_number != GANTRY__POINTER_MAP_NONE) return GANTRY_OK;
    const uint32_t number = (uint32_t)tape->tensor_count;
    if (!gantry__grow(&tape->tensors, tape->tensor_count, &tape->tensor_capacity,
                      sizeof *tape->tensors) ||
        !gantry__pointer_map_add(&tape->numbers, tensor, number))
        return GANTRY_RESOURCE_EXHAUSTED;
    tape->tensors[tape->tensor_count++] = gantry_tensor_retain(tensor);
    *out_number = number;
    return GANTRY_OK;
}

static bool is_any_tracked(const gantry_tape_t *tape, const gantry_observation_t *observation) {
    for (size_t i = 0; i < observation->input_count; ++i) {
        if (gantry__pointer_map_find(&tape->numbers, observation->inputs[i]) !=
            GANTRY__POINTER_MAP_NONE)
            return true;
    }
    return false;
}

static bool is_any_floating(const gantry_observation_t *observation) {
    for (size_t i = 0; i < observation->output_count; ++i) {
        if (gantry__train_is_float(gantry_tensor_dtype(observation->outputs[i]))) return true;
    }
    return false;
}

/* ---- the observer ---- */

static gantry_status_t number_tensors(gantry_tape_t *tape, gantry__record_t *record) {
    for (size_t i = 0; i < record->input_count + record->output_count; ++i) {
        const gantry_tensor_t *tensor = record->tensors[i];
        record->numbers[i] = GANTRY__NOT_TRACKED;
        if (i < record->input_count)
            record->numbers[i] = gantry__pointer_map_find(&tape->numbers, tensor);
        else if (gantry__train_is_float(gantry_tensor_dtype(tensor)))
            GANTRY__TRY(track(tape, tensor, &record->numbers[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t keep_record(gantry_tape_t *tape, const gantry_observation_t *observation,
                                   const gantry__rule_t *rule) {
    if (!gantry__grow(&tape->records, tape->record_count, &tape->record_capacity,
                      sizeof *tape->records))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__record_t *record = &tape->records[tape->record_count];
    GANTRY__TRY(gantry__record_init(record, observation));
    record->rule = rule;
    ++tape->record_count;
    return number_tensors(tape, record);
}

bool gantry__tape_is_watched(const gantry_tape_t *tape, const gantry_variable_t *variable) {
    if (!gantry__train_is_float(gantry_variable_dtype(variable))) return false;
    for (size_t i = 0; i < tape->watched.count; ++i) {
        if (tape->watched.variables[i] == variable) return true;
    }
    return !tape->watches_named;
}

static gantry_status_t tape_add_read(gantry_tape_t *tape, gantry_variable_t *variable,
                                     uint32_t number) {
    if (!gantry__grow(&tape->reads, tape->read_count, &tape->read_capacity, sizeof *tape->reads))
        return GANTRY_RESOURCE_EXHAUSTED;
    tape->reads[tape->read_count++] = (gantry__read_t){variable, number};
    return GANTRY_OK;
}

static gantry_status_t keep_read(gantry_tape_t *tape, const gantry_observation_t *observation) {
    uint32_t number;
    if (!gantry__tape_is_watched(tape, observation->variable)) return GANTRY_OK;
    GANTRY__TRY(track(tape, observation->outputs[0], &number));
    return tape_add_read(tape, observation->variable, number);
}

/* ---- bodies ---- */

gantry_status_t gantry__tape_number_variable(gantry_tape_t *tape, gantry_variable_t *variable,
                                             uint32_t *out_number) {
    for (size_t i = 0; i < tape->read_count; ++i) {
        *out_number = tape->reads[i].number;
        if (tape->reads[i].variable == variable && !tape->tensors[*out_number]) return GANTRY_OK;
    }
    if (!gantry__grow(&tape->tensors, tape->tensor_count, &tape->tensor_capacity,
                      sizeof *tape->tensors))
        return GANTRY_RESOURCE_EXHAUSTED;
    *out_number = (uint32_t)tape->tensor_count;
    GANTRY__TRY(tape_add_read(tape, variable, *out_number));
    tape->tensors[tape->tensor_count++] = NULL;
    return GANTRY_OK;
}

static gantry_status_t tape_note_use(gantry_tape_t *tape, gantry__use_t use) {
    for (size_t i = 0; i < tape->inside.count; ++i) {
        if (tape->inside.uses[i].number == use.number) return GANTRY_OK;
    }
    if (!gantry__grow(&tape->inside.uses, tape->inside.count, &tape->inside.capacity,
                      sizeof *tape->inside.uses))
        return GANTRY_RESOURCE_EXHAUSTED;
    if (use.variable) use.assignments = gantry_variable_assignments(tape->scope, use.variable);
    tape->inside.uses[tape->inside.count++] = use;
    return GANTRY_OK;
}

/* An op of a body that is traced: which tracked tensors and which variables it uses. */
static gantry_status_t note_inside(gantry_tape_t *tape, const gantry_observation_t *observation) {
    gantry__use_t use = {.variable = observation->variable};
    if (use.variable) {
        if (!gantry__tape_is_watched(tape, use.variable)) return GANTRY_OK;
        GANTRY__TRY(gantry__tape_number_variable(tape, use.variable, &use.number));
        return tape_note_use(tape, use);
    }
    if (strcmp(observation->op, "StopGradient") == 0) return GANTRY_OK;
    for (size_t i = 0; i < observation->input_count; ++i) {
        use.tensor = observation->inputs[i];
        use.number = gantry__pointer_map_find(&tape->numbers, use.tensor);
        if (use.number != GANTRY__POINTER_MAP_NONE) GANTRY__TRY(tape_note_use(tape, use));
    }
    return GANTRY_OK;
}

/* A branch or a loop, with what its bodies use. */
static gantry_status_t keep_block(gantry_tape_t *tape, const gantry_observation_t *observation) {
    const size_t count = tape->inside.count;
    tape->inside.count = 0;
    if ((count == 0 && !is_any_tracked(tape, observation)) || !is_any_floating(observation))
        return GANTRY_OK;
    GANTRY__TRY(keep_record(tape, observation, gantry__rule_recall(&tape->rules, observation->op)));
    return gantry__record_add_uses(&tape->records[tape->record_count - 1], tape->inside.uses,
                                   count);
}

static gantry_status_t keep_call(gantry_tape_t *tape, const gantry_observation_t *observation,
                                 const gantry__use_t *uses, size_t count, bool is_found) {
    GANTRY__TRY(keep_record(tape, observation, gantry__rule_recall(&tape->rules, observation->op)));
    gantry__record_t *record = &tape->records[tape->record_count - 1];
    record->has_uses = is_found;
    return gantry__record_add_uses(record, uses, count);
}

/* Keeps a function, with what a trace finds that it uses. If the trace fails, the gradient tries
 * again, and fails. */
static gantry_status_t keep_function(gantry_tape_t *tape, const gantry_observation_t *observation) {
    const gantry__callee_t callee = {observation->function, observation->inputs,
                                     observation->input_shapes, observation->input_count,
                                     observation->output_count};
    gantry__use_t *uses;
    size_t count;
    gantry_status_t status = gantry__function_find_uses(tape, &callee, &uses, &count);
    const bool is_found = status == GANTRY_OK;
    if (!is_found) status = gantry_fail(GANTRY_OK, "");
    if (!is_found || count > 0 || is_any_tracked(tape, observation))
        status = keep_call(tape, observation, uses, is_found ? count : 0, is_found);
    gantry__free(uses);
    return status;
}

static bool is_block(const gantry_observation_t *observation) {
    return observation->bodies && strcmp(observation->op, "CustomGradient") != 0;
}

static gantry_status_t tape_hold(gantry_tape_t *tape, const gantry_tensor_t *const *tensors,
                                 size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (!gantry__grow(&tape->held.tensors, tape->held.count, &tape->held.capacity,
                          sizeof *tape->held.tensors))
            return GANTRY_RESOURCE_EXHAUSTED;
        tape->held.tensors[tape->held.count++] = gantry_tensor_retain(tensors[i]);
    }
    return GANTRY_OK;
}

/* Holds the symbolic tensors of an op of a trace, whose results have no device. */
static gantry_status_t hold_symbolic(gantry_tape_t *tape, const gantry_observation_t *observation,
                                     bool is_inside) {
    const bool is_traced =
        observation->output_count > 0 && !gantry_tensor_device(observation->outputs[0]);
    if (!is_inside && !is_traced) return GANTRY_OK;
    GANTRY__TRY(tape_hold(tape, observation->inputs, observation->input_count));
    return tape_hold(tape, observation->outputs, observation->output_count);
}

static gantry_status_t tape_observe(gantry_scope_t *scope, const gantry_observation_t *observation,
                                    void *user) {
    gantry_tape_t *tape = user;
    if (tape->is_paused || tape->is_spent || tape->is_computing) return GANTRY_OK;
    const bool is_inside = gantry_scope_body_depth(scope) > tape->inside.depth;
    GANTRY__TRY(hold_symbolic(tape, observation, is_inside));
    if (is_inside) return note_inside(tape, observation);
    if (observation->variable) return keep_read(tape, observation);
    if (is_block(observation)) return keep_block(tape, observation);
    if (observation->function && is_any_floating(observation))
        return keep_function(tape, observation);
    if (!is_any_tracked(tape, observation) || !is_any_floating(observation)) return GANTRY_OK;
    const gantry__rule_t *rule = gantry__rule_recall(&tape->rules, observation->op);
    if (rule && !rule->run) return GANTRY_OK; /* no gradient flows */
    return keep_record(tape, observation, rule);
}

static void tape_leave(gantry_scope_t *scope, void *user) {
    (void)scope;
    ((gantry_tape_t *)user)->scope = NULL;
}

static bool tape_takes_whole(const char *op, void *user) {
    gantry_tape_t *tape = user;
    return gantry__rule_recall(&tape->rules, op) != NULL;
}

/* ---- the public calls ---- */

static gantry_status_t tape_make(gantry_scope_t *scope, const gantry_tape_options_t *options,
                                 gantry_tape_t **out_tape) {
    gantry_tape_options_t chosen;
    GANTRY__TRY(gantry__struct_read(options, sizeof chosen, &chosen, sizeof chosen,
                                    "gantry_tape_begin: options"));
    gantry_tape_t *tape = gantry__alloc(1, sizeof *tape);
    if (!tape) return GANTRY_RESOURCE_EXHAUSTED;
    tape->scope = scope;
    tape->inside.depth = gantry_scope_body_depth(scope);
    tape->is_persistent = chosen.persistent;
    tape->watches_named = chosen.watches_named_variables;
    tape->observer = (gantry_observer_t){
        .observe = tape_observe, .whole = tape_takes_whole, .user = tape, .end = tape_leave};
    gantry_status_t status = gantry_scope_observe(scope, &tape->observer);
    if (status != GANTRY_OK) {
        gantry__free(tape);
        return status;
    }
    *out_tape = tape;
    return GANTRY_OK;
}

gantry_tape_t *gantry_tape_begin(gantry_scope_t *scope, const gantry_tape_options_t *options) {
    gantry_tape_t *tape = NULL;
    if (gantry__train_check_scope(scope) != GANTRY_OK) return NULL;
    (void)gantry__train_hand_on(scope, tape_make(scope, options, &tape));
    return tape;
}

void gantry__tape_clear(gantry_tape_t *tape) {
    for (size_t i = 0; i < tape->record_count; ++i) gantry__record_deinit(&tape->records[i]);
    for (size_t i = 0; i < tape->tensor_count; ++i) gantry_tensor_release(tape->tensors[i]);
    for (size_t i = 0; i < tape->held.count; ++i) gantry_tensor_release(tape->held.tensors[i]);
    gantry__pointer_map_deinit(&tape->numbers);
    tape->held.count = 0;
    tape->record_count = tape->tensor_count = tape->read_count = tape->inside.count = 0;
}

void gantry__tape_spend(gantry_tape_t *tape) {
    tape->is_spent = true;
    gantry__tape_clear(tape);
}

void gantry__tape_enter(gantry_tape_t *tape) { ++tape->users; }

void gantry__tape_leave(gantry_tape_t *tape) {
    if (--tape->users == 0 && tape->is_ended) gantry_tape_end(tape);
}

void gantry_tape_end(gantry_tape_t *tape) {
    if (!tape) return;
    tape->is_ended = true;
    if (tape->users > 0) return;
    gantry_scope_unobserve(tape->scope, &tape->observer);
    gantry__tape_clear(tape);
    gantry__free(tape->records);
    gantry__free(tape->tensors);
    gantry__free(tape->held.tensors);
    gantry__free(tape->reads);
    gantry__free(tape->watched.variables);
    gantry__free(tape->inside.uses);
    gantry__free(tape);
}

void gantry_tape_pause(gantry_tape_t *tape, bool pauses) {
    if (tape) tape->is_paused = pauses;
}

gantry_status_t gantry__tape_check_scope(const gantry_tape_t *tape, const char *call) {
    if (!tape) return gantry__train_fail_null(NULL, call, "tape", "one from gantry_tape_begin");
    if (tape->scope) return gantry__train_check_scope(tape->scope);
    return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                              "%s: the tape's scope has ended; a tape of an open scope is accepted",
                              call);
}

gantry_status_t gantry_tape_watch(gantry_tape_t *tape, const gantry_tensor_t *tensor) {
    uint32_t number;
    GANTRY__TRY(gantry__tape_check_scope(tape, "gantry_tape_watch"));
    if (!tensor || !gantry__train_is_float(gantry_tensor_dtype(tensor)))
        return gantry__train_refuse(
            tape->scope, "gantry_tape_watch: the tensor is %s; one of a floating type is accepted",
            tensor ? gantry_dtype_name(gantry_tensor_dtype(tensor)) : "NULL");
    return gantry__train_hand_on(tape->scope, track(tape, tensor, &number));
}

gantry_status_t gantry_tape_watch_variable(gantry_tape_t *tape, gantry_variable_t *variable) {
    GANTRY__TRY(gantry__tape_check_scope(tape, "gantry_tape_watch_variable"));
    if (!variable || !gantry__train_is_float(gantry_variable_dtype(variable)))
        return gantry__train_refuse(
            tape->scope,
            "gantry_tape_watch_variable: the variable is %s; one of a floating type is accepted",
            variable ? gantry_dtype_name(gantry_variable_dtype(variable)) : "NULL");
    if (!gantry__grow(&tape->watched.variables, tape->watched.count, &tape->watched.capacity,
                      sizeof *tape->watched.variables))
        return gantry__train_hand_on(tape->scope, GANTRY_RESOURCE_EXHAUSTED);
    tape->watched.variables[tape->watched.count++] = variable;
    return GANTRY_OK;
}
