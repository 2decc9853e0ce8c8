/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse-mode differentiation over what a tape recorded.
 *
 *   need        forwards: which tensors a source leads to
 *   seed        the target's gradient
 *   backwards   each record whose outputs have a gradient runs its rule in a scope of its own; what
 *               it computes is added to the gradients of its inputs
 *   hand over   the sources' gradients become the scope's
 *
 * Gradients are references of this file's own: the scope of a rule frees what is in between.
 *
 * A source may have slices if the gradient does not flow on from it: they are kept apart, in the
 * order in which the rules give them, and joined when they are handed over. */
#include "train/tape/backprop.h"

#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/base/join_vectors.h"
#include "shared/memory.h"
#include "train/tape/block.h"
#include "train/tape/record_make.h"
#include "train/tape/rule.h"
#include "train/tape/tape_state.h"

typedef const gantry_tensor_t tensor;

/* Slices that a rule gave. */
typedef struct part_t {
    uint32_t number; /* of the tensor */
    gantry_tensor_t *values, *indices;
} part_t;

/* Where gradients go: one of both. */
typedef struct results_t {
    tensor **dense;
    gantry_gradient_t *any;
} results_t;

/* The gradient that is requested. */
typedef struct goal_t {
    tensor *const *targets;
    tensor *const *target_gradients;
    size_t target_count;
    bool is_ones; /* the gradient of a target where none is given; else nothing comes from it */
    const gantry_source_t *sources;
    size_t source_count;
    bool is_zeros; /* the gradient of a source that is not connected; else NULL */
    results_t out;
} goal_t;

typedef struct backprop_t {
    gantry_tape_t *tape;
    size_t tensor_count;         /* of the tape, at first: a callback may watch more */
    gantry_tensor_t **gradients; /* by number of the tensor; NULL: none */
    bool *needed;
    bool *takes_slices; /* NULL: no tensor does */
    part_t *parts;
    size_t part_count, part_capacity;
    tensor **dy, **dx; /* for one rule */
    bool *wants;
    gantry__rule_slices_t *slices;
    size_t most_inputs, most_outputs;
} backprop_t;

/* ---- memory ---- */

static void backprop_deinit(backprop_t *b) {
    for (size_t i = 0; b->gradients && i < b->tensor_count; ++i)
        gantry_tensor_release(b->gradients[i]);
    for (size_t i = 0; i < b->part_count; ++i) {
        gantry_tensor_release(b->parts[i].values);
        gantry_tensor_release(b->parts[i].indices);
    }
    gantry__free(b->gradients);
    gantry__free(b->needed);
    gantry__free(b->takes_slices);
    gantry__free(b->parts);
    gantry__free(b->slices);
    gantry__free((void *)b->dy);
    gantry__free((void *)b->dx);
    gantry__free(b->wants);
}

static gantry_status_t backprop_init(backprop_t *b, gantry_tape_t *tape, bool gives_slices) {
    *b = (backprop_t){.tape = tape, .tensor_count = tape->tensor_count};
    for (size_t i = 0; i < tape->record_count; ++i) {
        const gantry__record_t *record = &tape->records[i];
        if (record->input_count > b->most_inputs) b->most_inputs = record->input_count;
        if (record->output_count > b->most_outputs) b->most_outputs = record->output_count;
    }
    b->gradients = gantry__alloc(tape->tensor_count, sizeof *b->gradients);
    b->needed = gantry__alloc(tape->tensor_count, sizeof *b->needed);
    b->dy = gantry__alloc(b->most_outputs, sizeof *b->dy);
    b->dx = gantry__alloc(b->most_inputs, sizeof *b->dx);
    b->wants = gantry__alloc(b->most_inputs, sizeof *b->wants);
    b->slices = gantry__alloc(b->most_inputs, sizeof *b->slices);
    if (!b->gradients || !b->needed || !b->dy || !b->dx || !b->wants || !b->slices)
        return GANTRY_RESOURCE_EXHAUSTED;
    if (!gives_slices) return GANTRY_OK;
    b->takes_slices = gantry__alloc(tape->tensor_count, sizeof *b->takes_slices);
    return b->takes_slices ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* ---- need ---- */

static void need_tensor(backprop_t *b, uint32_t number) {
    b->needed[number] = true;
    if (b->takes_slices) b->takes_slices[number] = true;
}

static void need_source(backprop_t *b, const gantry_source_t *source) {
    const gantry_tape_t *tape = b->tape;
    const uint32_t number = source->tensor
                                ? gantry__pointer_map_find(&tape->numbers, source->tensor)
                                : GANTRY__NOT_TRACKED;
    if (number != GANTRY__NOT_TRACKED) need_tensor(b, number);
    for (size_t i = 0; source->variable && i < tape->read_count; ++i) {
        if (tape->reads[i].variable == source->variable) need_tensor(b, tape->reads[i].number);
    }
}

static bool is_needed(const backprop_t *b, uint32_t number) {
    return number != GANTRY__NOT_TRACKED && b->needed[number];
}

static void need_all(backprop_t *b) {
    for (size_t i = 0; i < b->tape->record_count; ++i) {
        const gantry__record_t *record = &b->tape->records[i];
        bool needs = false;
        for (size_t k = 0; k < record->input_count; ++k) needs |= is_needed(b, record->numbers[k]);
        for (size_t k = 0; needs && k < record->output_count; ++k) {
            const uint32_t number = record->numbers[record->input_count + k];
            if (number == GANTRY__NOT_TRACKED) continue;
            b->needed[number] = true;
            if (b->takes_slices) b->takes_slices[number] = false;
        }
    }
}

/* ---- backwards ---- */

/* Adds a gradient that a rule computed to that of a tensor. */
static gantry_status_t add_gradient(backprop_t *b, gantry_scope_t *scope, uint32_t number,
                                    tensor *gradient) {
    gantry_tensor_t **sum = &b->gradients[number];
    if (*sum) gradient = gantry_add(scope, *sum, gradient);
    if (!gradient) return gantry_scope_status(scope);
    gantry_tensor_release(*sum);
    *sum = gantry_tensor_retain(gradient);
    return GANTRY_OK;
}

/* Describes an input of a record. A variable that a body reads has no tensor. */
static void describe_input(const gantry__record_t *record, size_t input, gantry_dtype_t *out_dtype,
                           const gantry_shape_t **out_shape) {
    tensor *x = record->tensors[input];
    const gantry_variable_t *variable = x ? NULL : record->variables[input - record->given_count];
    *out_dtype = x ? gantry_tensor_dtype(x) : gantry_variable_dtype(variable);
    *out_shape = x ? gantry_tensor_shape(x) : gantry_variable_shape(variable);
}

/* Returns whether two shapes may be the same; sizes that depend on data may be any. */
static bool may_be_alike(const gantry_shape_t *a, const gantry_shape_t *b) {
    bool may = a->rank == b->rank;
    for (int32_t d = 0; may && d < a->rank; ++d)
        may = a->dims[d] == b->dims[d] || a->dims[d] < 0 || b->dims[d] < 0;
    return may;
}

static gantry_status_t backprop_check_gradient(const gantry__record_t *record, size_t input,
                                               tensor *gradient) {
    const gantry_shape_t *given = gantry_tensor_shape(gradient), *shape;
    gantry_dtype_t dtype;
    describe_input(record, input, &dtype, &shape);
    if (gantry_tensor_dtype(gradient) == dtype && may_be_alike(given, shape)) return GANTRY_OK;
    char got[256], accepted[256];
    (void)gantry_shape_format(given, got, sizeof got);
    (void)gantry_shape_format(shape, accepted, sizeof accepted);
    return gantry__train_refuse(
        NULL, "the gradient of op %s for input %zu is %s%s; %s%s is accepted", record->op, input,
        gantry_dtype_name(gantry_tensor_dtype(gradient)), got, gantry_dtype_name(dtype), accepted);
}

static gantry_status_t keep_slices(backprop_t *b, uint32_t number,
                                   const gantry__rule_slices_t *slices) {
    if (!gantry__grow(&b->parts, b->part_count, &b->part_capacity, sizeof *b->parts))
        return GANTRY_RESOURCE_EXHAUSTED;
    b->parts[b->part_count++] = (part_t){.number = number,
                                         .values = gantry_tensor_retain(slices->values),
                                         .indices = gantry_tensor_retain(slices->indices)};
    return GANTRY_OK;
}

static gantry_status_t take_gradients(backprop_t *b, gantry_scope_t *scope,
                                      const gantry__record_t *record) {
    for (size_t i = 0; i < record->input_count; ++i) {
        if (b->slices[i].values) GANTRY__TRY(keep_slices(b, record->numbers[i], &b->slices[i]));
        if (!b->wants[i] || !b->dx[i]) continue;
        GANTRY__TRY(backprop_check_gradient(record, i, b->dx[i]));
        GANTRY__TRY(add_gradient(b, scope, record->numbers[i], b->dx[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t fail_without_rule(const char *op) {
    if (gantry_op_is_differentiable(op))
        return gantry__train_fail(
            GANTRY_UNIMPLEMENTED,
            "op %s has no gradient where its sizes depend on data; it has one of known sizes", op);
    /* a hidden part is called by what the program knows */
    const char *whole = op[0] == '_' ? gantry__rule_whole_of(op) : NULL;
    return gantry__train_fail(GANTRY_UNIMPLEMENTED,
                              "op %s has no gradient; docs/ops.md lists the ops that have one",
                              whole ? whole : op);
}

/* A gradient in that of the same op is named once: the text of a deep nest keeps its cause. */
static gantry_status_t fail_rule(const gantry_scope_t *scope, const char *op) {
    char prefix[128];
    const char *why = gantry_scope_message(scope);
    const gantry_status_t status = gantry_scope_status(scope);
    (void)snprintf(prefix, sizeof prefix, "the gradient of op %s: ", op);
    const bool is_there = strncmp(why, prefix, strlen(prefix)) == 0;
    return gantry__train_fail(status, "%s%s", is_there ? "" : prefix, why);
}

static gantry_status_t backprop_run_rule(backprop_t *b, gantry_scope_t *scope,
                                         const gantry__record_t *record) {
    gantry__rule_call_t call = {.scope = scope,
                                .record = record,
                                .x = record->tensors,
                                .y = record->tensors + record->input_count,
                                .dy = b->dy,
                                .dx = b->dx,
                                .wants = b->wants,
                                .slices = b->slices};
    const gantry__rule_t *rule = record->rule ? record->rule : gantry__rule_find_open(record->op);
    if (!rule) return fail_without_rule(record->op);
    rule->run(&call);
    if (gantry_scope_status(scope) != GANTRY_OK) return fail_rule(scope, record->op);
    return take_gradients(b, scope, record);
}

/* Whether the record is on a way from the target to a source; fills in what its rule gets. */
static bool backprop_prepare(backprop_t *b, const gantry__record_t *record) {
    bool has_gradient = false, is_wanted = false;
    for (size_t k = 0; k < record->output_count; ++k) {
        const uint32_t number = record->numbers[record->input_count + k];
        b->dy[k] = number == GANTRY__NOT_TRACKED ? NULL : b->gradients[number];
        has_gradient |= b->dy[k] != NULL;
    }
    for (size_t k = 0; k < record->input_count; ++k) {
        b->dx[k] = NULL;
        b->wants[k] = is_needed(b, record->numbers[k]);
        b->slices[k] = (gantry__rule_slices_t){.is_accepted = b->wants[k] && b->takes_slices &&
                                                              b->takes_slices[record->numbers[k]]};
        is_wanted |= b->wants[k];
    }
    return has_gradient && is_wanted;
}

/* Ends the scope of a rule, and keeps its message. */
static gantry_status_t end_rule(gantry_scope_t *inner, gantry_status_t status) {
    char why[GANTRY__TRAIN_MESSAGE_BYTES];
    if (status != GANTRY_OK) {
        (void)strncpy(why, gantry_last_message(), sizeof why - 1);
        why[sizeof why - 1] = '\0';
    }
    gantry_scope_clear(inner);
    (void)gantry_scope_end(inner);
    return status == GANTRY_OK ? GANTRY_OK : gantry__train_fail(status, "%s", why);
}

static gantry_status_t backprop_step_back(backprop_t *b, const gantry__record_t *record) {
    if (!backprop_prepare(b, record)) return GANTRY_OK;
    gantry_scope_t *inner = gantry_scope_begin_in(b->tape->scope, NULL);
    if (!inner) return gantry__train_no_inner(b->tape->scope);
    b->tape->running = record;
    gantry_status_t status = backprop_run_rule(b, inner, record);
    b->tape->running = NULL;
    return end_rule(inner, status);
}

/* ---- the target and the sources ---- */

static gantry_status_t seed(backprop_t *b, tensor *target, tensor *gradient, bool is_ones) {
    gantry_scope_t *scope = b->tape->scope;
    const uint32_t number = gantry__pointer_map_find(&b->tape->numbers, target);
    if (number == GANTRY__POINTER_MAP_NONE) return GANTRY_OK; /* it depends on no source */
    if (!gradient && !is_ones) return GANTRY_OK;
    if (!gradient) gradient = gantry_ones_like(scope, target);
    if (!gradient) return gantry_scope_status(scope);
    return add_gradient(b, scope, number, gradient);
}

/* The sum over all reads of a variable. */
static tensor *sum_reads(backprop_t *b, const gantry_variable_t *variable) {
    tensor *sum = NULL;
    for (size_t i = 0; i < b->tape->read_count; ++i) {
        const gantry__read_t *read = &b->tape->reads[i];
        tensor *gradient = b->gradients[read->number];
        if (read->variable != variable || !gradient) continue;
        sum = sum ? gantry_add(b->tape->scope, sum, gradient) : gradient;
    }
    return sum;
}

static tensor *backprop_make_zeros(gantry_scope_t *scope, const gantry_source_t *source) {
    if (source->tensor) return gantry_zeros_like(scope, source->tensor);
    return gantry_zeros(scope, gantry_variable_dtype(source->variable),
                        *gantry_variable_shape(source->variable));
}

static tensor *dense_of(backprop_t *b, const gantry_source_t *source) {
    if (!source->tensor) return sum_reads(b, source->variable);
    const uint32_t number = gantry__pointer_map_find(&b->tape->numbers, source->tensor);
    return number == GANTRY__POINTER_MAP_NONE ? NULL : b->gradients[number];
}

static tensor *backprop_hand_out(gantry_scope_t *scope, tensor *gradient,
                                 const gantry_source_t *source, bool zeros) {
    if (gradient) return gantry_identity(scope, gradient);
    return zeros ? backprop_make_zeros(scope, source) : NULL;
}

/* ---- slices ---- */

static bool is_of_source(const backprop_t *b, uint32_t number, const gantry_source_t *source) {
    if (source->tensor) return b->tape->tensors[number] == source->tensor;
    for (size_t i = 0; i < b->tape->read_count; ++i) {
        const gantry__read_t *read = &b->tape->reads[i];
        if (read->number == number && read->variable == source->variable) return true;
    }
    return false;
}

/* Joins the source's parts; list must have room for two tensors of each part. */
static void backprop_join_parts(backprop_t *b, const gantry_source_t *source, tensor **list,
                                gantry_gradient_t *out) {
    gantry_scope_t *scope = b->tape->scope;
    tensor **values = list, **indices = list + b->part_count;
    size_t count = 0;
    bool is_wide = false;
    for (size_t i = 0; i < b->part_count; ++i) {
        if (!is_of_source(b, b->parts[i].number, source)) continue;
        values[count] = b->parts[i].values;
        indices[count++] = b->parts[i].indices;
        is_wide |= gantry_tensor_dtype(b->parts[i].indices) == GANTRY_INT64;
    }
    if (count == 0) return;
    for (size_t i = 0; is_wide && i < count; ++i)
        indices[i] = gantry__train_cast(scope, indices[i], GANTRY_INT64);
    out->values = gantry_identity(scope, gantry__join_vectors(scope, values, count));
    out->indices = gantry_identity(scope, gantry__join_vectors(scope, indices, count));
}

static gantry_status_t hand_over_any(backprop_t *b, const gantry_source_t *source, bool zeros,
                                     gantry_gradient_t *out) {
    gantry_scope_t *scope = b->tape->scope;
    tensor *dense = dense_of(b, source), **list = gantry__alloc(2 * b->part_count, sizeof *list);
    if (!list) return GANTRY_RESOURCE_EXHAUSTED;
    out->shape = source->tensor ? *gantry_tensor_shape(source->tensor)
                                : *gantry_variable_shape(source->variable);
    backprop_join_parts(b, source, list, out);
    gantry__free((void *)list);
    if (!out->values) {
        out->dense = backprop_hand_out(scope, dense, source, zeros);
    } else if (dense) {
        out->dense = gantry_add(scope, dense, gantry_gradient_to_dense(scope, out));
        out->values = out->indices = NULL;
    }
    return gantry_scope_status(scope);
}

static gantry_status_t backprop_hand_over(backprop_t *b, const gantry_source_t *sources,
                                          size_t count, bool zeros, const results_t *out) {
    gantry_scope_t *scope = b->tape->scope;
    for (size_t i = 0; i < count; ++i) {
        if (out->any)
            GANTRY__TRY(hand_over_any(b, &sources[i], zeros, &out->any[i]));
        else
            out->dense[i] = backprop_hand_out(scope, dense_of(b, &sources[i]), &sources[i], zeros);
    }
    return gantry_scope_status(scope);
}

static gantry_status_t backprop_run(backprop_t *b, const goal_t *goal) {
    for (size_t i = 0; i < goal->source_count; ++i) need_source(b, &goal->sources[i]);
    need_all(b);
    for (size_t i = 0; i < goal->target_count; ++i)
        GANTRY__TRY(seed(b, goal->targets[i], goal->target_gradients[i], goal->is_ones));
    const size_t recorded = b->tape->record_count;
    for (size_t i = recorded; i-- > 0;) GANTRY__TRY(backprop_step_back(b, &b->tape->records[i]));
    return backprop_hand_over(b, goal->sources, goal->source_count, goal->is_zeros, &goal->out);
}

static gantry_status_t add_uses(gantry_tape_t *tape, gantry__record_t *record) {
    const gantry__callee_t callee = gantry__callee_of(record);
    gantry__use_t *uses;
    size_t count;
    gantry_status_t status = gantry__function_find_uses(tape, &callee, &uses, &count);
    if (status == GANTRY_OK) status = gantry__record_add_uses(record, uses, count);
    record->has_uses = status == GANTRY_OK;
    gantry__free(uses);
    return status;
}

/* Functions whose uses could not be found when they were recorded. */
static gantry_status_t backprop_find_uses(gantry_tape_t *tape) {
    for (size_t i = 0; i < tape->record_count; ++i) {
        gantry__record_t *record = &tape->records[i];
        if (record->function && !record->has_uses) GANTRY__TRY(add_uses(tape, record));
    }
    return GANTRY_OK;
}

/* A tape that is not persistent does not record its own gradient, and ends with it. */
static gantry_status_t backprop_compute(gantry_tape_t *tape, const goal_t *goal) {
    backprop_t b;
    tape->is_computing = true;
    gantry_status_t status = backprop_find_uses(tape);
    if (status == GANTRY_OK) {
        status = backprop_init(&b, tape, goal->out.any != NULL);
        if (status == GANTRY_OK) status = backprop_run(&b, goal);
        backprop_deinit(&b);
    }
    tape->is_computing = false;
    if (!tape->is_persistent) gantry__tape_spend(tape);
    return status;
}

gantry_status_t gantry__tape_gradients(gantry_tape_t *tape, tensor *const *targets,
                                       tensor *const *target_gradients, size_t target_count,
                                       const gantry_source_t *sources, size_t source_count,
                                       tensor **out_gradients) {
    const goal_t goal = {.targets = targets,
                         .target_gradients = target_gradients,
                         .target_count = target_count,
                         .sources = sources,
                         .source_count = source_count,
                         .out.dense = out_gradients};
    for (size_t i = 0; i < source_count; ++i) out_gradients[i] = NULL;
    return gantry__train_hand_on(tape->scope, backprop_compute(tape, &goal));
}

/* ---- the public calls ---- */

static gantry_status_t check_target(const gantry_tape_t *tape, tensor *target, tensor *gradient,
                                    const char *call) {
    if (!target)
        return gantry__train_refuse(tape->scope, "%s: the target is NULL; a tensor is accepted",
                                    call);
    if (gradient && (gantry_tensor_dtype(gradient) != gantry_tensor_dtype(target) ||
                     !may_be_alike(gantry_tensor_shape(gradient), gantry_tensor_shape(target)))) {
        char got[256], accepted[256];
        (void)gantry_shape_format(gantry_tensor_shape(gradient), got, sizeof got);
        (void)gantry_shape_format(gantry_tensor_shape(target), accepted, sizeof accepted);
        return gantry__train_refuse(
            tape->scope, "%s: target_gradient is %s%s; %s%s is accepted, as the target is", call,
            gantry_dtype_name(gantry_tensor_dtype(gradient)), got,
            gantry_dtype_name(gantry_tensor_dtype(target)), accepted);
    }
    return GANTRY_OK;
}

/* Compares sizes in a trace, where those of the target or of its gradient depend on data: each call
 * must compare them, as AddN does, before it uses the gradient. */
static tensor *match_target(const gantry_tape_t *tape, tensor *target, tensor *gradient) {
    if (!gradient || (gantry_tensor_elements(target) >= 0 && gantry_tensor_elements(gradient) >= 0))
        return gradient;
    tensor *both[] = {gantry_zeros_like(tape->scope, gradient),
                      gantry_zeros_like(tape->scope, target)};
    tensor *check = gantry_add_n(tape->scope, both, 2);
    gantry_scope_t *after = check ? gantry_scope_begin_after(tape->scope, &check, 1) : NULL;
    if (!after) {
        if (check) (void)gantry__train_no_inner(tape->scope);
        return NULL;
    }
    tensor *kept = gantry_scope_keep(after, gantry_identity(after, gradient));
    (void)gantry__train_hand_on(tape->scope, gantry_scope_end(after));
    return kept;
}

static gantry_status_t check_sources(const gantry_tape_t *tape, const gantry_source_t *sources,
                                     size_t count, const void *out_gradients, const char *call) {
    if (count > 0 && (!sources || !out_gradients))
        return gantry__train_refuse(tape->scope, "%s: %s is NULL; an array of %zu is accepted",
                                    call, sources ? "out_gradients" : "sources", count);
    for (size_t i = 0; i < count; ++i) {
        if (!sources[i].tensor == !sources[i].variable)
            return gantry__train_refuse(
                tape->scope, "%s: source %zu has %s; a tensor or a variable is accepted", call, i,
                sources[i].tensor ? "both a tensor and a variable" : "neither tensor nor variable");
    }
    return GANTRY_OK;
}

gantry_status_t gantry__tape_check(const gantry_tape_t *tape, const char *call) {
    GANTRY__TRY(gantry__tape_check_scope(tape, call));
    if (tape->is_computing)
        return gantry__train_hand_on(
            tape->scope,
            gantry__train_fail(
                GANTRY_FAILED_PRECONDITION,
                "%s: the tape computes a gradient, which runs this callback; a call after it is accepted",
                call));
    if (!tape->is_spent) return GANTRY_OK;
    return gantry__train_hand_on(
        tape->scope,
        gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                           "%s: the tape computed its gradient; a persistent tape computes several",
                           call));
}

static gantry_status_t check_and_compute(gantry_tape_t *tape, tensor *target,
                                         tensor *target_gradient, const gantry_source_t *sources,
                                         size_t source_count,
                                         const gantry_gradient_options_t *options,
                                         const results_t *out, const char *call) {
    gantry_gradient_options_t chosen;
    char what[64];
    GANTRY__TRY(gantry__tape_check(tape, call));
    GANTRY__TRY(check_target(tape, target, target_gradient, call));
    GANTRY__TRY(check_sources(tape, sources, source_count,
                              out->any ? (const void *)out->any : (const void *)out->dense, call));
    (void)snprintf(what, sizeof what, "%s: options", call);
    gantry_scope_t *scope = tape->scope;
    gantry_status_t status =
        gantry__struct_read(options, sizeof chosen, &chosen, sizeof chosen, what);
    gantry__tape_enter(tape);
    if (status == GANTRY_OK) {
        target_gradient = match_target(tape, target, target_gradient);
        status = gantry_scope_status(tape->scope);
    }
    if (status == GANTRY_OK)
        status = backprop_compute(tape, &(goal_t){.targets = &target,
                                                  .target_gradients = &target_gradient,
                                                  .target_count = 1,
                                                  .is_ones = true,
                                                  .sources = sources,
                                                  .source_count = source_count,
                                                  .is_zeros = chosen.zeros_where_unconnected,
                                                  .out = *out});
    gantry__tape_leave(tape);
    return gantry__train_hand_on(scope, status);
}

gantry_status_t gantry_tape_gradient(gantry_tape_t *tape, tensor *target, tensor *target_gradient,
                                     const gantry_source_t *sources, size_t source_count,
                                     const gantry_gradient_options_t *options,
                                     tensor **out_gradients) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    return gantry__tape_gradient_as(tape, target, target_gradient, sources, source_count, options,
                                    out_gradients, "gantry_tape_gradient");
}

gantry_status_t gantry__tape_gradient_as(gantry_tape_t *tape, tensor *target,
                                         tensor *target_gradient, const gantry_source_t *sources,
                                         size_t source_count,
                                         const gantry_gradient_options_t *options,
                                         tensor **out_gradients, const char *call) {
    for (size_t i = 0; out_gradients && i < source_count; ++i) out_gradients[i] = NULL;
    return check_and_compute(tape, target, target_gradient, sources, source_count, options,
                             &(results_t){.dense = out_gradients}, call);
}

gantry_status_t gantry_tape_gradient_slices(gantry_tape_t *tape, tensor *target,
                                            tensor *target_gradient, const gantry_source_t *sources,
                                            size_t source_count,
                                            const gantry_gradient_options_t *options,
                                            gantry_gradient_t *out_gradients) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    for (size_t i = 0; out_gradients && i < source_count; ++i)
        out_gradients[i] = (gantry_gradient_t){.dense = NULL};
    return check_and_compute(tape, target, target_gradient, sources, source_count, options,
                             &(results_t){.any = out_gradients}, "gantry_tape_gradient_slices");
}

/* ---- in steps ---- */

struct gantry__backprop_t {
    gantry_tape_t *tape;
    backprop_t pass;
    const gantry_source_t *sources;
    size_t count;
    size_t *ready_at; /* of each source: the record after which its gradient is complete */
    size_t done;      /* records from here on have run */
};

/* By number of a tensor: the first record that takes it. The pass comes to that one last. */
static void find_first_uses(const gantry_tape_t *tape, size_t *first_uses) {
    for (size_t i = 0; i < tape->tensor_count; ++i) first_uses[i] = tape->record_count;
    for (size_t i = tape->record_count; i-- > 0;) {
        const gantry__record_t *record = &tape->records[i];
        for (size_t k = 0; k < record->input_count; ++k) {
            if (record->numbers[k] != GANTRY__NOT_TRACKED) first_uses[record->numbers[k]] = i;
        }
    }
}

static gantry_status_t find_ready(gantry__backprop_t *steps, const gantry_tape_t *tape) {
    size_t *first_uses = gantry__alloc(tape->tensor_count, sizeof *first_uses);
    if (!first_uses) return GANTRY_RESOURCE_EXHAUSTED;
    find_first_uses(tape, first_uses);
    for (size_t i = 0; i < steps->count; ++i) {
        steps->ready_at[i] = tape->record_count;
        for (size_t k = 0; k < tape->read_count; ++k) {
            const size_t use = first_uses[tape->reads[k].number];
            if (tape->reads[k].variable == steps->sources[i].variable && use < steps->ready_at[i])
                steps->ready_at[i] = use;
        }
    }
    gantry__free(first_uses);
    return GANTRY_OK;
}

static gantry_status_t steps_init(gantry__backprop_t *steps, gantry_tape_t *tape, tensor *target) {
    GANTRY__TRY(backprop_find_uses(tape));
    GANTRY__TRY(backprop_init(&steps->pass, tape, false));
    steps->ready_at = gantry__alloc(steps->count, sizeof *steps->ready_at);
    if (!steps->ready_at) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(find_ready(steps, tape));
    for (size_t i = 0; i < steps->count; ++i) need_source(&steps->pass, &steps->sources[i]);
    need_all(&steps->pass);
    steps->done = tape->record_count;
    return seed(&steps->pass, target, NULL, true);
}

gantry_status_t gantry__backprop_begin(gantry_tape_t *tape, tensor *target,
                                       const gantry_source_t *sources, size_t count,
                                       gantry__backprop_t **out_backprop) {
    gantry__backprop_t *steps = gantry__alloc(1, sizeof *steps);
    *out_backprop = NULL;
    if (!steps) return GANTRY_RESOURCE_EXHAUSTED;
    tape->is_computing = true;
    steps->tape = tape;
    steps->sources = sources;
    steps->count = count;
    gantry_status_t status = steps_init(steps, tape, target);
    if (status == GANTRY_OK)
        *out_backprop = steps;
    else
        gantry__backprop_end(steps);
    return status;
}

void gantry__backprop_end(gantry__backprop_t *backprop) {
    if (!backprop) return;
    if (backprop->pass.tape) backprop_deinit(&backprop->pass);
    backprop->tape->is_computing = false;
    gantry__tape_spend(backprop->tape);
    gantry__free(backprop->ready_at);
    gantry__free(backprop);
}

/* Of sources that are complete at once, the last one first: so did the layers use them. */
void gantry__backprop_order(const gantry__backprop_t *backprop, size_t *out_order) {
    for (size_t i = 0; i < backprop->count; ++i) {
        size_t at = i;
        for (; at > 0 && backprop->ready_at[out_order[at - 1]] <= backprop->ready_at[i]; --at)
            out_order[at] = out_order[at - 1];
        out_order[at] = i;
    }
}

gantry_status_t gantry__backprop_until(gantry__backprop_t *backprop, size_t source,
                                       tensor **out_gradient) {
    backprop_t *pass = &backprop->pass;
    *out_gradient = NULL;
    while (backprop->done > backprop->ready_at[source])
        GANTRY__TRY(backprop_step_back(pass, &pass->tape->records[--backprop->done]));
    return backprop_hand_over(pass, &backprop->sources[source], 1, false,
                              &(results_t){.dense = out_gradient});
}
