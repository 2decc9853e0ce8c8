/* SPDX-License-Identifier: Apache-2.0 */
#include "train/tape/block.h"

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "shared/memory.h"
#include "train/tape/rule_help.h"
#include "train/tape/tape_state.h"

typedef const gantry_tensor_t tensor;

/* ---- life ---- */

gantry__gradient_block_t *gantry__block_of(const gantry_function_body_fn *bodies, void *user) {
    return gantry__is_branch_gradient(bodies[0]) || gantry__is_loop_gradient(bodies[0]) ? user
                                                                                        : NULL;
}

gantry__gradient_block_t *gantry__block_retain(gantry__gradient_block_t *block) {
    if (block) ++block->references;
    return block;
}

static void block_release_all(tensor **tensors, size_t count) {
    for (size_t i = 0; tensors && i < count; ++i)
        gantry_tensor_release((gantry_tensor_t *)tensors[i]);
    gantry__free((void *)tensors);
}

void gantry__block_release(gantry__gradient_block_t *block) {
    if (!block || --block->references > 0) return;
    gantry__block_release(block->below);
    block_release_all(block->tensors, block->source_count);
    block_release_all(block->history, block->input_count);
    block_release_all(block->injected, block->input_count);
    gantry__free((void *)block->bodies);
    gantry__free((void *)block->variables);
    gantry__free(block->inputs);
    gantry__free(block->wants);
    gantry__free(block->has_dy);
    gantry__free(block->gives);
    gantry__free(block->is_saved);
    gantry__free(block->is_sum);
    gantry__free(block);
}

static bool block_allocate(gantry__gradient_block_t *block) {
    const size_t sources = block->source_count, inputs = block->input_count;
    block->bodies = gantry__alloc(block->body_count, sizeof *block->bodies);
    block->tensors = gantry__alloc(sources, sizeof *block->tensors);
    block->variables = gantry__alloc(sources, sizeof *block->variables);
    block->inputs = gantry__alloc(sources, sizeof *block->inputs);
    block->wants = gantry__alloc(sources, sizeof *block->wants);
    block->gives = gantry__alloc(sources, sizeof *block->gives);
    block->has_dy = gantry__alloc(block->output_count, sizeof *block->has_dy);
    block->is_saved = gantry__alloc(inputs, sizeof *block->is_saved);
    block->is_sum = gantry__alloc(inputs, sizeof *block->is_sum);
    block->history = gantry__alloc(inputs, sizeof *block->history);
    block->injected = gantry__alloc(inputs, sizeof *block->injected);
    return block->bodies && block->tensors && block->variables && block->inputs && block->wants &&
           block->gives && block->has_dy && block->is_saved && block->is_sum && block->history &&
           block->injected;
}

static void fill_sources(gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                         size_t first_input) {
    const gantry__record_t *record = c->record;
    size_t source = 0;
    for (; source < block->input_count; ++source) {
        block->inputs[source] = first_input + source;
        block->wants[source] = c->wants[first_input + source];
    }
    for (size_t i = record->given_count; i < record->input_count; ++i) {
        if (!c->wants[i]) continue;
        if (c->x[i]) block->tensors[source] = gantry_tensor_retain(c->x[i]);
        block->variables[source] = record->variables[i - record->given_count];
        block->inputs[source] = i;
        block->wants[source++] = true;
    }
}

gantry__gradient_block_t *gantry__block_make(const gantry__rule_call_t *c,
                                             const gantry__forward_t *forward) {
    gantry__gradient_block_t *block = gantry__alloc(1, sizeof *block);
    if (!block) return NULL;
    *block = (gantry__gradient_block_t){.references = 1,
                                        .body_count = forward->body_count,
                                        .user = forward->user,
                                        .below = gantry__block_retain(forward->below),
                                        .input_count = forward->input_count,
                                        .output_count = forward->output_count,
                                        .source_count = forward->input_count};
    for (size_t i = c->record->given_count; i < c->record->input_count; ++i)
        block->source_count += c->wants[i];
    if (!block_allocate(block)) {
        gantry__block_release(block);
        return NULL;
    }
    for (size_t i = 0; i < forward->body_count; ++i) block->bodies[i] = forward->bodies[i];
    for (size_t i = 0; i < forward->output_count; ++i) block->has_dy[i] = c->dy[i] != NULL;
    fill_sources(block, c, forward->first_input);
    return block;
}

/* ---- running a body ---- */

gantry_status_t gantry__block_call(gantry__gradient_block_t *block, size_t body,
                                   gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                                   size_t output_count) {
    for (size_t i = 0; i < output_count; ++i) outputs[i] = NULL;
    if (block->below) block->below->next_body = body;
    {
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        block->bodies[body](scope, inputs, outputs, block->user);
    }
    GANTRY__TRY(gantry_scope_status(scope));
    for (size_t i = 0; i < output_count; ++i) {
        if (!outputs[i])
            return gantry__train_refuse(
                scope, "body %zu, run for its gradient, does not set output %zu; it sets all %zu",
                body, i, output_count);
    }
    return GANTRY_OK;
}

gantry__body_run_t *gantry__run_make(const gantry__gradient_block_t *block) {
    gantry__body_run_t *run = gantry__alloc(1, sizeof *run);
    if (!run) return NULL;
    run->sources = gantry__alloc(block->source_count, sizeof *run->sources);
    run->gradients = gantry__alloc(block->source_count, sizeof *run->gradients);
    run->dy = gantry__alloc(block->output_count, sizeof *run->dy);
    run->y = gantry__alloc(block->output_count, sizeof *run->y);
    run->depends = gantry__alloc(block->output_count, sizeof *run->depends);
    if (run->sources && run->gradients && run->dy && run->y && run->depends) return run;
    gantry__run_free(run);
    return NULL;
}

void gantry__run_free(gantry__body_run_t *run) {
    if (!run) return;
    gantry__free(run->sources);
    gantry__free((void *)run->gradients);
    gantry__free((void *)run->dy);
    gantry__free((void *)run->y);
    gantry__free(run->depends);
    gantry__free(run);
}

/* Sources that are wanted, without gaps. */
static size_t list_sources(gantry__body_run_t *run, const gantry__gradient_block_t *block,
                           tensor *const *x) {
    size_t count = 0;
    for (size_t i = 0; i < block->source_count; ++i) {
        if (!block->wants[i]) continue;
        tensor *given = i < block->input_count ? x[i] : block->tensors[i];
        run->sources[count++] =
            (gantry_source_t){.tensor = given, .variable = given ? NULL : block->variables[i]};
    }
    return count;
}

static gantry_status_t watch_sources(const gantry__body_run_t *run, size_t count,
                                     gantry_tape_t *tape) {
    for (size_t i = 0; i < count; ++i) {
        const gantry_source_t *source = &run->sources[i];
        GANTRY__TRY(source->tensor ? gantry_tape_watch(tape, source->tensor)
                                   : gantry_tape_watch_variable(tape, source->variable));
    }
    return GANTRY_OK;
}

static void spread_gradients(gantry__body_run_t *run, const gantry__gradient_block_t *block,
                             size_t count) {
    for (size_t i = block->source_count; i-- > 0;)
        run->gradients[i] = block->wants[i] ? run->gradients[--count] : NULL;
}

static gantry_status_t run_under(gantry__body_run_t *run, gantry__gradient_block_t *block,
                                 size_t body, gantry_scope_t *scope, tensor *const *x,
                                 gantry_tape_t *tape) {
    const size_t count = list_sources(run, block, x);
    GANTRY__TRY(watch_sources(run, count, tape));
    GANTRY__TRY(gantry__block_call(block, body, scope, x, run->y, block->output_count));
    for (size_t i = 0; i < block->output_count; ++i) {
        run->depends[i] =
            gantry__pointer_map_find(&tape->numbers, run->y[i]) != GANTRY__POINTER_MAP_NONE;
        if (block->is_probing) run->dy[i] = run->depends[i] ? run->y[i] : NULL;
    }
    GANTRY__TRY(gantry__tape_gradients(tape, run->y, run->dy, block->output_count, run->sources,
                                       count, run->gradients));
    spread_gradients(run, block, count);
    return GANTRY_OK;
}

gantry_status_t gantry__run_body(gantry__body_run_t *run, gantry__gradient_block_t *block,
                                 size_t body, gantry_scope_t *scope, tensor *const *x) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_tape_t *tape =
        gantry_tape_begin(scope, &(gantry_tape_options_t){.watches_named_variables = true});
    if (!tape) return gantry_scope_status(scope);
    gantry_status_t status = run_under(run, block, body, scope, x, tape);
    gantry_tape_end(tape);
    return gantry__train_hand_on(scope, status);
}

/* ---- gradients ---- */

tensor **gantry__block_list(gantry_scope_t *scope, size_t count) {
    tensor **list = gantry__alloc(count + 1, sizeof *list);
    if (!list) (void)gantry__train_hand_on(scope, GANTRY_RESOURCE_EXHAUSTED);
    return list;
}

tensor *gantry__block_zeros(const gantry__gradient_block_t *block, gantry_scope_t *scope,
                            size_t source, tensor *const *x) {
    if (source < block->input_count) return gantry_zeros_like(scope, x[source]);
    if (block->tensors[source]) return gantry_zeros_like(scope, block->tensors[source]);
    const gantry_variable_t *variable = block->variables[source];
    return gantry_zeros(scope, gantry_variable_dtype(variable), *gantry_variable_shape(variable));
}

tensor *gantry__block_settle(gantry_scope_t *scope, tensor *gradient, tensor *like) {
    if (!gradient || !like || gantry__rule_open_sizes(gradient) == 0 ||
        gantry__rule_open_sizes(like) > 0)
        return gradient;
    return gantry_reshape(scope, gradient, gantry__shape(like));
}

size_t gantry__block_count_given(const gantry__gradient_block_t *block) {
    size_t count = 0;
    for (size_t i = 0; i < block->source_count; ++i) count += block->gives[i];
    return count;
}

void gantry__block_hand_out(const gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                            tensor *const *gradients) {
    size_t next = 0;
    for (size_t i = 0; i < block->source_count; ++i) {
        if (block->gives[i]) c->dx[block->inputs[i]] = gradients[next++];
    }
}

/* ---- effects and probes ---- */

gantry_status_t gantry__check_again(const gantry__rule_call_t *c) {
    const gantry__record_t *record = c->record;
    gantry_status_t status = GANTRY_OK;
    if (record->effect)
        status = gantry__train_fail(
            GANTRY_UNIMPLEMENTED,
            "it runs the body again, and %s in it must run once; draw or assign outside of the body",
            record->effect);
    for (size_t i = record->given_count; i < record->input_count && status == GANTRY_OK; ++i) {
        gantry_variable_t *variable = record->variables[i - record->given_count];
        if (variable && c->wants[i] &&
            gantry_variable_assignments(c->scope, variable) !=
                record->assignments[i - record->given_count])
            status = gantry__train_fail(
                GANTRY_FAILED_PRECONDITION,
                "it runs the body again, and variable %s was assigned after the body read it; compute the gradient before",
                gantry_variable_name(variable));
    }
    return gantry__train_hand_on(c->scope, status);
}

void gantry__stop_probe(gantry__gradient_block_t *block, gantry_scope_t *scope) {
    block->is_probed = true;
    (void)gantry_scope_fail(scope, GANTRY_CANCELLED, "a gradient only asks");
}

gantry_status_t gantry__end_probe(gantry__gradient_block_t *block, gantry_scope_t *outer,
                                  gantry_scope_t *probe) {
    if (block->is_probed) {
        gantry_scope_clear(probe);
        (void)gantry_fail(GANTRY_OK, "");
    }
    const gantry_status_t status = gantry_scope_status(probe);
    if (status != GANTRY_OK) (void)gantry_scope_fail(outer, status, gantry_scope_message(probe));
    (void)gantry_scope_end(probe);
    block->is_probing = false;
    return gantry_scope_status(outer);
}
