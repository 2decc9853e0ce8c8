/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a function that is called outside a trace: its backward function, which runs the
 * body again under a tape and returns the gradients.
 *
 * What is made for a function is kept with it, and freed with it:
 *
 *     uses        tensors and variables that the body uses besides its inputs, for inputs of these
 *                 types and shapes; found by a trace that fails at its end
 *     backward    a function for each combination of inputs' types and shapes, sources and outputs
 *
 * Shapes are those of the function's trace. A size that is open there is open in the backward
 * function, too, so that it fits every size. Of shapes, the MOST_KEPT that were used last are kept,
 * as a function keeps traces.
 *
 * Thread-safe. */
#include <stdio.h>
#include <string.h>

#include "base/os/thread.h"
#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/tape/origin.h"
#include "train/tape/signature.h"
#include "train/tape/tape_state.h"

typedef const gantry_tensor_t tensor;

#define MOST_KEPT 16

typedef struct uses_t {
    struct uses_t *next;
    gantry__signature_t signature;
    gantry__use_t *uses; /* with references to the tensors; no numbers */
    size_t count, capacity;
} uses_t;

typedef struct backward_t {
    struct backward_t *next;
    gantry__signature_t signature;
    gantry__gradient_block_t *block;
    gantry_function_t *function; /* NULL: no source has a gradient */
} backward_t;

/* What is kept with a function. */
typedef struct kept_t {
    gantry_function_t *function; /* its owner */
    size_t input_count, output_count;
    gantry__mutex_t lock;
    uses_t *uses;
    backward_t *backwards;
} kept_t;

static const char kept_key;

/* ---- life ---- */

static void uses_destroy(uses_t *uses) {
    for (size_t i = 0; i < uses->count; ++i)
        gantry_tensor_release((gantry_tensor_t *)uses->uses[i].tensor);
    gantry__free(uses->uses);
    gantry__free(uses->signature.inputs);
    gantry__free(uses);
}

/* The block of a function ends with that. */
static void backward_destroy(backward_t *backward) {
    if (!backward) return;
    if (!backward->function) gantry__block_release(backward->block);
    gantry_function_release(backward->function);
    gantry__free(backward->signature.inputs);
    gantry__free(backward);
}

static void kept_destroy(void *data) {
    kept_t *kept = data;
    while (kept->uses) {
        uses_t *uses = kept->uses;
        kept->uses = uses->next;
        uses_destroy(uses);
    }
    while (kept->backwards) {
        backward_t *backward = kept->backwards;
        kept->backwards = backward->next;
        backward_destroy(backward);
    }
    gantry__mutex_deinit(&kept->lock);
    gantry__free(kept);
}

/* NULL when memory is out. */
static kept_t *find_kept(const gantry__callee_t *callee) {
    kept_t *kept = gantry_function_attach(callee->function, &kept_key, NULL, NULL);
    if (kept) return kept;
    kept = gantry__alloc(1, sizeof *kept);
    if (!kept) return NULL;
    *kept = (kept_t){.function = callee->function,
                     .input_count = callee->input_count,
                     .output_count = callee->output_count};
    (void)gantry__mutex_init(&kept->lock);
    kept_t *attached = gantry_function_attach(callee->function, &kept_key, kept, kept_destroy);
    if (attached != kept) kept_destroy(kept); /* another thread was first, or memory is out */
    return attached;
}

/* ---- uses ---- */

typedef struct uses_probe_t {
    kept_t *kept;
    uses_t *uses;
    bool is_done;
} uses_probe_t;

static gantry_status_t add_use(uses_t *uses, const gantry__use_t *use) {
    for (size_t i = 0; i < uses->count; ++i) {
        if (uses->uses[i].tensor == use->tensor && uses->uses[i].variable == use->variable)
            return GANTRY_OK;
    }
    if (!gantry__grow(&uses->uses, uses->count, &uses->capacity, sizeof *uses->uses))
        return GANTRY_RESOURCE_EXHAUSTED;
    uses->uses[uses->count++] = *use;
    if (use->tensor) (void)gantry_tensor_retain(use->tensor);
    return GANTRY_OK;
}

/* A tensor with elements was there before the trace, or is a constant; it has a device. */
static gantry_status_t rule_function_note_uses(gantry_scope_t *scope,
                                               const gantry_observation_t *observation,
                                               void *user) {
    uses_t *uses = ((uses_probe_t *)user)->uses;
    (void)scope;
    if (observation->variable)
        return add_use(uses, &(gantry__use_t){.variable = observation->variable});
    for (size_t i = 0; i < observation->input_count; ++i) {
        if (gantry_tensor_device(observation->inputs[i]))
            GANTRY__TRY(add_use(uses, &(gantry__use_t){.tensor = observation->inputs[i]}));
    }
    return GANTRY_OK;
}

static void trace_for_uses(gantry_scope_t *scope, tensor *const *inputs, tensor **unused,
                           void *user) {
    uses_probe_t *probe = user;
    const kept_t *kept = probe->kept;
    gantry_observer_t observer = {.observe = rule_function_note_uses, .user = probe};
    tensor **outputs = gantry__block_list(scope, kept->output_count);
    (void)unused;
    if (outputs && gantry_scope_observe(scope, &observer) == GANTRY_OK &&
        gantry_function_call(scope, kept->function, inputs, kept->input_count, outputs,
                             kept->output_count) == GANTRY_OK) {
        probe->is_done = true;
        (void)gantry_scope_fail(scope, GANTRY_CANCELLED, "a gradient only asks");
    }
    gantry_scope_unobserve(scope, &observer);
    gantry__free((void *)outputs);
}

static gantry_status_t trace_uses(kept_t *kept, gantry_runtime_t *runtime, uses_t *uses) {
    uses_probe_t probe = {.kept = kept, .uses = uses};
    gantry_function_t *none = NULL;
    gantry_status_t status =
        gantry_function_trace(runtime, gantry_function_name(kept->function), trace_for_uses, &probe,
                              uses->signature.inputs, uses->signature.count, 0, NULL, &none);
    return probe.is_done ? gantry_fail(GANTRY_OK, "") : status;
}

static void put_uses_first(kept_t *kept, uses_t *uses) {
    uses->next = kept->uses;
    kept->uses = uses;
    uses_t *last = uses;
    for (int count = 1; last && count < MOST_KEPT; ++count) last = last->next;
    if (!last || !last->next) return;
    uses_destroy(last->next); /* one was added: it is the last */
    last->next = NULL;
}

static uses_t *take_uses(kept_t *kept, const gantry__signature_t *signature) {
    uses_t **at = &kept->uses;
    while (*at && !gantry__signature_equal(&(*at)->signature, signature)) at = &(*at)->next;
    uses_t *uses = *at;
    if (uses) *at = uses->next;
    return uses;
}

/* Takes the signature. */
static gantry_status_t make_uses(kept_t *kept, gantry_runtime_t *runtime,
                                 gantry__signature_t *signature, uses_t **out_uses) {
    uses_t *uses = gantry__alloc(1, sizeof *uses);
    if (!uses) return GANTRY_RESOURCE_EXHAUSTED;
    uses->signature = *signature;
    *signature = (gantry__signature_t){.count = 0};
    const gantry_status_t status = trace_uses(kept, runtime, uses);
    if (status == GANTRY_OK)
        *out_uses = uses;
    else
        uses_destroy(uses);
    return status;
}

/* The caller must hold the lock. */
static gantry_status_t rule_function_find_uses(kept_t *kept, gantry_runtime_t *runtime,
                                               const gantry__callee_t *callee,
                                               const uses_t **out_uses) {
    gantry__signature_t signature;
    gantry_status_t status = gantry__signature_of_call(&signature, callee);
    uses_t *uses = status == GANTRY_OK ? take_uses(kept, &signature) : NULL;
    if (status == GANTRY_OK && !uses) status = make_uses(kept, runtime, &signature, &uses);
    gantry__free(signature.inputs);
    if (status != GANTRY_OK) return status;
    put_uses_first(kept, uses);
    *out_uses = uses;
    return GANTRY_OK;
}

/* Those that the tape watches or tracks. */
static gantry_status_t number_uses(gantry_tape_t *tape, const uses_t *all, gantry__use_t *out,
                                   size_t *out_count) {
    *out_count = 0;
    for (size_t i = 0; i < all->count; ++i) {
        gantry__use_t use = all->uses[i];
        if (use.variable) {
            if (!gantry__tape_is_watched(tape, use.variable)) continue;
            GANTRY__TRY(gantry__tape_number_variable(tape, use.variable, &use.number));
            use.assignments = gantry_variable_assignments(tape->scope, use.variable);
        } else {
            use.number = gantry__pointer_map_find(&tape->numbers, use.tensor);
            if (use.number == GANTRY__POINTER_MAP_NONE) continue;
        }
        out[(*out_count)++] = use;
    }
    return GANTRY_OK;
}

/* The caller must hold the lock, because another thread may find others. */
static gantry_status_t copy_uses(kept_t *kept, gantry_tape_t *tape, const gantry__callee_t *callee,
                                 gantry__use_t **out_uses, size_t *out_count) {
    const uses_t *all;
    GANTRY__TRY(rule_function_find_uses(kept, gantry_scope_runtime(tape->scope), callee, &all));
    *out_uses = gantry__alloc(all->count, sizeof **out_uses);
    return *out_uses ? number_uses(tape, all, *out_uses, out_count) : GANTRY_RESOURCE_EXHAUSTED;
}

gantry_status_t gantry__function_find_uses(gantry_tape_t *tape, const gantry__callee_t *callee,
                                           gantry__use_t **out_uses, size_t *out_count) {
    *out_uses = NULL;
    *out_count = 0;
    kept_t *kept = find_kept(callee);
    if (!kept) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__mutex_lock(&kept->lock);
    gantry_status_t status = copy_uses(kept, tape, callee, out_uses, out_count);
    gantry__mutex_unlock(&kept->lock);
    return status;
}

/* ---- the backward function ---- */

static void call_function(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                          void *user) {
    const kept_t *kept = user;
    (void)gantry_function_call(scope, kept->function, inputs, kept->input_count, outputs,
                               kept->output_count);
}

static bool rule_function_is_same(const gantry__gradient_block_t *a,
                                  const gantry__gradient_block_t *b) {
    bool same = a->source_count == b->source_count;
    for (size_t i = 0; same && i < a->source_count; ++i)
        same = a->wants[i] == b->wants[i] && a->tensors[i] == b->tensors[i] &&
               a->variables[i] == b->variables[i];
    for (size_t i = 0; same && i < a->output_count; ++i) same = a->has_dy[i] == b->has_dy[i];
    return same;
}

/* Traces, with a failure at the end, to find out which sources have a gradient. */
static gantry_status_t trace_backward(backward_t *backward, gantry_runtime_t *runtime,
                                      gantry_function_t *function) {
    gantry__gradient_block_t *block = backward->block;
    char name[128];
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .trimmed_with = function};
    (void)snprintf(name, sizeof name, "%.100s_gradient", gantry_function_name(function));
    block->is_probing = true;
    gantry_status_t status = gantry_function_trace(
        runtime, name, gantry__branch_backward, block, backward->signature.inputs,
        backward->signature.count, 0, NULL, &backward->function);
    block->is_probing = false;
    if (!block->is_probed) return status;
    (void)gantry_fail(GANTRY_OK, "");
    const size_t count = gantry__block_count_given(block);
    if (count == 0) return GANTRY_OK;
    GANTRY__TRY(gantry_function_trace(runtime, name, gantry__branch_backward, block,
                                      backward->signature.inputs, backward->signature.count, count,
                                      &options, &backward->function));
    if (gantry__origin_keep(backward->function, function, block) == GANTRY_OK) return GANTRY_OK;
    gantry_function_release(backward->function);
    backward->function = NULL;
    return GANTRY_RESOURCE_EXHAUSTED;
}

static backward_t *take_backward(kept_t *kept, const gantry__gradient_block_t *block,
                                 const gantry__signature_t *signature) {
    backward_t **at = &kept->backwards;
    while (*at && !(rule_function_is_same((*at)->block, block) &&
                    gantry__signature_equal(&(*at)->signature, signature)))
        at = &(*at)->next;
    backward_t *backward = *at;
    if (backward) *at = backward->next;
    return backward;
}

/* Returns the one that makes room, or NULL. */
static backward_t *rule_function_put_first(kept_t *kept, backward_t *backward) {
    size_t count = 0;
    backward->next = kept->backwards;
    kept->backwards = backward;
    for (backward_t **at = &kept->backwards; *at; at = &(*at)->next) {
        backward_t *oldest = *at;
        if (!rule_function_is_same(oldest->block, backward->block) || ++count <= MOST_KEPT)
            continue;
        *at = oldest->next;
        return oldest;
    }
    return NULL;
}

/* Takes the reference to block, and the signature. */
static gantry_status_t make_backward(kept_t *kept, gantry_runtime_t *runtime,
                                     gantry__gradient_block_t *block,
                                     gantry__signature_t *signature, backward_t **out_backward) {
    backward_t *backward = gantry__alloc(1, sizeof *backward);
    if (!backward) {
        gantry__block_release(block);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    backward->block = block;
    backward->signature = *signature;
    *signature = (gantry__signature_t){.count = 0};
    const gantry_status_t status = trace_backward(backward, runtime, kept->function);
    if (status == GANTRY_OK)
        *out_backward = backward;
    else
        backward_destroy(backward);
    return status;
}

/* A function with a reference of the caller's own, which also holds the block; NULL: no source has
 * a gradient. */
typedef struct found_t {
    gantry_function_t *function;
    const gantry__gradient_block_t *block;
} found_t;

/* The caller must hold the lock. The call takes the reference to block, and the signature. */
static gantry_status_t find_backward(kept_t *kept, gantry_runtime_t *runtime,
                                     gantry__gradient_block_t *block,
                                     gantry__signature_t *signature, found_t *out_found,
                                     backward_t **out_oldest) {
    backward_t *backward = take_backward(kept, block, signature);
    if (backward)
        gantry__block_release(block);
    else
        GANTRY__TRY(make_backward(kept, runtime, block, signature, &backward));
    *out_oldest = rule_function_put_first(kept, backward);
    *out_found = (found_t){gantry_function_retain(backward->function), backward->block};
    return GANTRY_OK;
}

/* inputs must be those of the backward body, and gradients must have room for one of each source.
 * The call takes the reference to block. */
static gantry_status_t call_backward(kept_t *kept, gantry__rule_call_t *c,
                                     gantry__gradient_block_t *block, tensor *const *inputs,
                                     size_t count, tensor **gradients) {
    found_t found = {NULL, NULL};
    backward_t *oldest = NULL;
    gantry__signature_t signature;
    gantry_status_t status =
        gantry__signature_of_backward(&signature, block, c->record, inputs, count);
    if (status != GANTRY_OK) {
        gantry__block_release(block);
        return status;
    }
    gantry__mutex_lock(&kept->lock);
    status =
        find_backward(kept, gantry_scope_runtime(c->scope), block, &signature, &found, &oldest);
    gantry__mutex_unlock(&kept->lock);
    gantry__free(signature.inputs);
    backward_destroy(oldest);
    if (!found.function) return status;
    status = gantry_function_call(c->scope, found.function, inputs, count, gradients,
                                  gantry__block_count_given(found.block));
    if (status == GANTRY_OK) gantry__block_hand_out(found.block, c, gradients);
    gantry_function_release(found.function);
    return status;
}

/* Takes the reference to block. */
static gantry_status_t rule_function_differentiate(kept_t *kept, gantry__rule_call_t *c,
                                                   gantry__gradient_block_t *block) {
    const size_t most_inputs = block->input_count + block->output_count;
    tensor **lists = gantry__block_list(c->scope, most_inputs + block->source_count);
    if (!lists) {
        gantry__block_release(block);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    const size_t count = gantry__branch_inputs(block, c, 0, lists);
    const gantry_status_t status = call_backward(kept, c, block, lists, count, lists + most_inputs);
    gantry__free((void *)lists);
    return status;
}

void gantry__rule_function(gantry__rule_call_t *c) {
    const gantry_function_body_fn body = call_function;
    if (gantry__check_again(c) != GANTRY_OK) return;
    const gantry__callee_t callee = gantry__callee_of(c->record);
    kept_t *kept = find_kept(&callee);
    gantry__gradient_block_t *block =
        kept ? gantry__block_make(c, &(gantry__forward_t){.bodies = &body,
                                                          .body_count = 1,
                                                          .user = kept,
                                                          .input_count = c->record->given_count,
                                                          .output_count = c->record->output_count})
             : NULL;
    const gantry_status_t status =
        block ? rule_function_differentiate(kept, c, block) : GANTRY_RESOURCE_EXHAUSTED;
    (void)gantry__train_hand_on(c->scope, status);
}
