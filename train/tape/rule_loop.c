/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a loop of n steps, in three passes over its body:
 *
 *     forward    v0 -> v1 -> ... -> vn          the program's loop
 *     history    v0, v1, ... v(n-1)             the same steps again; what changes is kept
 *     backward   g(n) -> ... -> g1 -> g0        step i runs the body on vi under a tape
 *
 * The history of a variable is one tensor [at least n, ...]. It grows by CHUNK steps at a time,
 * because each step copies a chunk and each chunk copies the history: CHUNK / 2 + n / (2 CHUNK)
 * copies of a value for each step.
 *
 * A probe, a trace that fails at its end, finds out which variables change, which lead from a
 * source to an output, and which sources have a gradient.
 *
 * An outer tape records the loops of the history and of the backward pass like others. The gradient
 * of the history is again a loop backwards, which takes up the gradient of vi at step i. Sums of
 * gradients are variables of the backward pass whose values no gradient needs: not kept. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/tape/block.h"
#include "train/tape/rule_help.h"

#define CHUNK 16

typedef const gantry_tensor_t tensor;

/* ---- the history ---- */

/* Inputs and outputs of its loops: the variables, a tensor for each that is saved, a count. */
static size_t count_saved(const gantry__gradient_block_t *block) {
    size_t count = 0;
    for (size_t i = 0; i < block->input_count; ++i) count += block->is_saved[i];
    return count;
}

static bool loop_is_deep(tensor *value) {
    return gantry_tensor_shape(value)->rank == GANTRY_MAX_RANK;
}

/* A value of the most dimensions has its first two as one, because rows have one more. */
static gantry_shape_t shape_of_rows(tensor *value, int64_t rows) {
    const gantry_shape_t *shape = gantry_tensor_shape(value);
    gantry_shape_t all = {.rank = 1, .dims = {rows}};
    for (int32_t d = 0; d < shape->rank; ++d) {
        if (d == 1 && loop_is_deep(value))
            all.dims[1] *= shape->dims[1];
        else
            all.dims[all.rank++] = shape->dims[d];
    }
    return all;
}

static tensor *loop_as_row(gantry_scope_t *scope, tensor *value) {
    return value && loop_is_deep(value) ? gantry_reshape(scope, value, shape_of_rows(value, 1))
                                        : gantry_expand_dims(scope, value, 0);
}

/* A row of rows, which has the shape of like. */
static tensor *loop_take_row(gantry_scope_t *scope, tensor *rows, tensor *row, tensor *like) {
    tensor *value = gantry_gather(scope, rows, row, 0);
    return loop_is_deep(like) ? gantry_reshape(scope, value, *gantry_tensor_shape(like)) : value;
}

static void chunk_goes_on(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                          void *user) {
    gantry__gradient_block_t *block = user;
    tensor *row = inputs[block->input_count + count_saved(block)], *goes_on;
    if (gantry__block_call(block, 0, scope, inputs, &goes_on, 1) != GANTRY_OK) return;
    outputs[0] = gantry_logical_and(scope, gantry_less(scope, row, gantry_scalar_i32(scope, CHUNK)),
                                    goes_on);
}

/* rows, with value in the row whose number is `row`. */
static tensor *rule_loop_put_row(gantry_scope_t *scope, tensor *rows, tensor *row, tensor *value) {
    gantry_shape_t column = {.rank = gantry_tensor_shape(rows)->rank, .dims = {CHUNK}};
    for (int32_t d = 1; d < column.rank; ++d) column.dims[d] = 1;
    tensor *numbers = gantry_range(scope, gantry_scalar_i32(scope, 0),
                                   gantry_scalar_i32(scope, CHUNK), gantry_scalar_i32(scope, 1));
    tensor *is_row = gantry_reshape(scope, gantry_equal(scope, numbers, row), column);
    return gantry_select(scope, is_row, loop_as_row(scope, value), rows);
}

static void chunk_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    gantry__gradient_block_t *block = user;
    const size_t count = block->input_count, last = count + count_saved(block);
    if (gantry__block_call(block, 1, scope, inputs, outputs, count) != GANTRY_OK) return;
    for (size_t i = 0, at = count; i < count; ++i) {
        if (!block->is_saved[i]) continue;
        outputs[at] = rule_loop_put_row(scope, inputs[at], inputs[last], inputs[i]);
        ++at;
    }
    outputs[last] = gantry_add(scope, inputs[last], gantry_scalar_i32(scope, 1));
}

static void history_goes_on(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                            void *user) {
    (void)gantry__block_call(user, 0, scope, inputs, outputs, 1);
}

/* Runs up to CHUNK steps, after which `values` are those after the last one. */
static gantry_status_t run_chunk(gantry__gradient_block_t *block, gantry_scope_t *scope,
                                 tensor *const *inputs, tensor **values) {
    const size_t count = block->input_count, last = count + count_saved(block);
    for (size_t i = 0, at = count; i < count; ++i) {
        values[i] = inputs[i];
        if (block->is_saved[i])
            values[at++] = gantry_zeros(scope, gantry_tensor_dtype(inputs[i]),
                                        shape_of_rows(inputs[i], CHUNK));
    }
    values[last] = gantry_scalar_i32(scope, 0);
    return gantry_while(scope, chunk_goes_on, chunk_step, block, values, last + 1, NULL, values);
}

static void history_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                         void *user) {
    gantry__gradient_block_t *block = user;
    const size_t count = block->input_count, last = count + count_saved(block);
    if (run_chunk(block, scope, inputs, outputs) != GANTRY_OK) return;
    for (size_t at = count; at < last; ++at)
        outputs[at] = gantry_concat(scope, (tensor *[]){inputs[at], outputs[at]}, 2, 0);
    outputs[last] = gantry_add(scope, inputs[last], outputs[last]);
}

/* No rows, of which the loop may make any number: a result of Where has a size that depends on
 * data, whatever its input, and here it finds no place. */
static tensor *make_no_rows(gantry_scope_t *scope, tensor *value) {
    tensor *rows = gantry_zeros(scope, gantry_tensor_dtype(value), shape_of_rows(value, 1));
    tensor *is_row = gantry_zeros(scope, GANTRY_BOOL, GANTRY_SHAPE(1));
    tensor *none = gantry_reshape(scope, gantry_where(scope, is_row), GANTRY_SHAPE(-1));
    return rows && none ? gantry_gather(scope, rows, none, 0) : NULL;
}

static gantry_status_t rule_loop_check_saved(const gantry__gradient_block_t *block,
                                             const gantry__rule_call_t *c) {
    for (size_t i = 0; i < block->input_count; ++i) {
        if (!block->is_saved[i] || gantry__rule_open_sizes(block->tensors[i]) == 0) continue;
        char shape[256];
        (void)gantry_shape_format(gantry_tensor_shape(block->tensors[i]), shape, sizeof shape);
        return gantry__train_hand_on(
            c->scope,
            gantry__train_fail(
                GANTRY_UNIMPLEMENTED,
                "loop variable %zu changes and has shape %s, of which a size depends on data; a variable of known shape is accepted",
                i, shape));
    }
    if (block->input_count + count_saved(block) < GANTRY_MAX_FUNCTION_VALUES) return GANTRY_OK;
    return gantry__train_refuse(
        c->scope, "%zu loop variables, of which %zu change; %d together are accepted",
        block->input_count, count_saved(block), GANTRY_MAX_FUNCTION_VALUES - 1);
}

static void rule_loop_keep(tensor **place, tensor *given) {
    *place = given ? gantry_tensor_retain(given) : NULL;
}

/* Takes the outputs of the history's loop. */
static void take_history(gantry__gradient_block_t *block, tensor *const *outputs,
                         tensor *const *dy) {
    for (size_t i = 0, at = block->input_count; i < block->input_count; ++i) {
        if (!block->is_saved[i]) continue;
        rule_loop_keep(&block->history[i], outputs[at]);
        if (dy) rule_loop_keep(&block->injected[i], dy[at]);
        ++at;
    }
}

static tensor *run_history_in(gantry__gradient_block_t *block, gantry_scope_t *scope,
                              tensor **values) {
    const size_t count = block->input_count, last = count + count_saved(block);
    for (size_t i = 0, at = count; i < count; ++i) {
        values[i] = block->tensors[i];
        if (block->is_saved[i]) values[at++] = make_no_rows(scope, values[i]);
    }
    values[last] = gantry_scalar_i32(scope, 0);
    if (gantry_while(scope, history_goes_on, history_step, block, values, last + 1, NULL, values) !=
        GANTRY_OK)
        return NULL;
    take_history(block, values, NULL);
    return values[last];
}

/* Runs the history; the number of its steps, or NULL. */
static tensor *run_history(gantry__gradient_block_t *block, const gantry__rule_call_t *c) {
    if (rule_loop_check_saved(block, c) != GANTRY_OK) return NULL;
    tensor **values = gantry__block_list(c->scope, block->input_count + count_saved(block) + 1);
    tensor *steps = values ? run_history_in(block, c->scope, values) : NULL;
    gantry__free((void *)values);
    return steps;
}

/* ---- the backward pass ---- */

/* Inputs and outputs of its loop: the number of the step, the gradients of the variables that are
 * wanted, the sums for other sources. */

static void backward_goes_on(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                             void *user) {
    (void)user;
    outputs[0] = gantry_greater_equal(scope, inputs[0], gantry_scalar_i32(scope, 0));
}

/* The values before the step. Each is an object of its own: one tensor may be the value of several
 * variables, or be used by the body besides, and each of these uses has a gradient of its own. */
static void find_values(const gantry__gradient_block_t *block, gantry_scope_t *scope, tensor *step,
                        tensor **values) {
    for (size_t i = 0; i < block->input_count; ++i) {
        values[i] = block->tensors[i];
        if (block->is_saved[i])
            values[i] = loop_take_row(scope, block->history[i], step, block->tensors[i]);
        else if (block->wants[i])
            values[i] = gantry_identity(scope, block->tensors[i]);
    }
}

static tensor *add_if(gantry_scope_t *scope, tensor *sum, tensor *part) {
    return sum && part ? gantry_add(scope, sum, part) : sum ? sum : part;
}

/* The gradient of a variable before the step. */
static tensor *gradient_before(const gantry__gradient_block_t *block, const gantry__body_run_t *run,
                               gantry_scope_t *scope, size_t i, tensor *step) {
    tensor *gradient = run->gradients[i];
    if (block->injected[i])
        gradient = add_if(scope, gradient,
                          loop_take_row(scope, block->injected[i], step, block->tensors[i]));
    return gradient ? gantry__block_settle(scope, gradient, block->tensors[i])
                    : gantry_zeros_like(scope, block->tensors[i]);
}

static void set_step(const gantry__gradient_block_t *block, const gantry__body_run_t *run,
                     gantry_scope_t *scope, tensor *const *inputs, tensor **outputs) {
    size_t at = 0;
    outputs[at++] = gantry_sub(scope, inputs[0], gantry_scalar_i32(scope, 1));
    for (size_t i = 0; i < block->input_count; ++i) {
        if (block->wants[i]) outputs[at++] = gradient_before(block, run, scope, i, inputs[0]);
    }
    for (size_t i = block->input_count; i < block->source_count; ++i, ++at) {
        if (!block->gives[i])
            --at;
        else
            outputs[at] = gantry__block_settle(scope, add_if(scope, inputs[at], run->gradients[i]),
                                               block->tensors[i]);
    }
}

static void rule_loop_run_step(gantry__gradient_block_t *block, gantry__body_run_t *run,
                               gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                               tensor **values) {
    size_t at = 1;
    find_values(block, scope, inputs[0], values);
    for (size_t i = 0; i < block->input_count; ++i)
        run->dy[i] = block->wants[i] ? inputs[at++] : NULL;
    if (gantry_scope_status(scope) == GANTRY_OK &&
        gantry__run_body(run, block, 1, scope, values) == GANTRY_OK)
        set_step(block, run, scope, inputs, outputs);
}

static void rule_loop_backward_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                                    void *user) {
    gantry__gradient_block_t *block = user;
    gantry__body_run_t *run = gantry__run_make(block);
    tensor **values = gantry__block_list(scope, block->input_count);
    if (run && values)
        rule_loop_run_step(block, run, scope, inputs, outputs, values);
    else
        (void)gantry__train_hand_on(scope, GANTRY_RESOURCE_EXHAUSTED);
    gantry__free((void *)values);
    gantry__run_free(run);
}

bool gantry__is_loop_gradient(gantry_function_body_fn body) {
    return body == history_goes_on || body == chunk_goes_on || body == backward_goes_on;
}

/* The gradient that reaches a variable's last value, of the shape that its gradient keeps. */
static tensor *last_gradient(const gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                             size_t i) {
    return c->dy[i] ? gantry__block_settle(c->scope, c->dy[i], block->tensors[i])
                    : gantry_zeros_like(c->scope, block->tensors[i]);
}

static void run_backward_in(gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                            tensor *steps, tensor **values) {
    gantry_scope_t *scope = c->scope;
    size_t count = 0;
    values[count++] = gantry_sub(scope, steps, gantry_scalar_i32(scope, 1));
    for (size_t i = 0; i < block->input_count; ++i) {
        if (block->wants[i]) values[count++] = last_gradient(block, c, i);
    }
    for (size_t i = block->input_count; i < block->source_count; ++i) {
        if (block->gives[i]) values[count++] = gantry__block_zeros(block, scope, i, NULL);
    }
    if (gantry_while(scope, backward_goes_on, rule_loop_backward_step, block, values, count, NULL,
                     values) != GANTRY_OK)
        return;
    for (size_t i = 0, at = 1; i < block->source_count; ++i) {
        const bool is_input = i < block->input_count;
        if (is_input && !block->wants[i]) continue;
        tensor *gradient =
            is_input || block->gives[i] ? values[at++] : gantry__block_zeros(block, scope, i, NULL);
        if (c->wants[block->inputs[i]]) c->dx[block->inputs[i]] = gradient;
    }
}

static void rule_loop_run_backward(gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                                   tensor *steps) {
    if (1 + block->source_count > GANTRY_MAX_FUNCTION_VALUES) {
        (void)gantry__train_refuse(
            c->scope, "gradients of %zu loop variables, tensors and variables; %d are accepted",
            block->source_count, GANTRY_MAX_FUNCTION_VALUES - 1);
        return;
    }
    tensor **values = gantry__block_list(c->scope, 1 + block->source_count);
    if (values) run_backward_in(block, c, steps, values);
    gantry__free((void *)values);
}

/* ---- the probe ---- */

/* A variable leads from a source to an output if it depends on one that does. */
static gantry_status_t find_ways(gantry__gradient_block_t *block, gantry__body_run_t *run,
                                 gantry_scope_t *scope, tensor *const *inputs) {
    for (bool is_known = false; !is_known;) {
        is_known = true;
        GANTRY__TRY(gantry__run_body(run, block, 1, scope, inputs));
        for (size_t i = 0; i < block->input_count; ++i) {
            if (!run->depends[i] || block->wants[i]) continue;
            block->wants[i] = true;
            is_known = false;
        }
    }
    return GANTRY_OK;
}

static void probe_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    gantry__gradient_block_t *block = user;
    (void)outputs;
    gantry__body_run_t *run = gantry__run_make(block);
    if (!run) {
        (void)gantry__train_hand_on(scope, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    gantry_status_t status = find_ways(block, run, scope, inputs);
    for (size_t i = 0; i < block->input_count; ++i)
        block->is_saved[i] = run->y[i] != inputs[i] && !block->is_sum[i];
    for (size_t i = block->input_count; i < block->source_count && status == GANTRY_OK; ++i)
        block->gives[i] = run->gradients[i] != NULL;
    if (status == GANTRY_OK) gantry__stop_probe(block, scope);
    gantry__run_free(run);
}

static gantry_status_t probe_loop(gantry__gradient_block_t *block, const gantry__rule_call_t *c) {
    const gantry_function_body_fn body = probe_step;
    gantry_scope_t *probe = gantry_scope_begin_unobserved(c->scope);
    block->is_probing = true;
    if (!probe) return gantry__train_no_inner(c->scope);
    (void)gantry_case(probe, gantry_scalar_i32(probe, 0), &body, 1, block, block->tensors,
                      block->input_count, NULL, 0);
    return gantry__end_probe(block, c->scope, probe);
}

/* ---- the rule ---- */

/* The loop whose steps are differentiated: of a history the one whose history it is. */
static gantry__forward_t find_forward(const gantry__record_t *record) {
    const gantry__gradient_block_t *block = record->block;
    if (block && record->bodies[0] == history_goes_on)
        return (gantry__forward_t){.bodies = block->bodies,
                                   .body_count = block->body_count,
                                   .user = block->user,
                                   .below = block->below,
                                   .input_count = block->input_count,
                                   .output_count = block->input_count};
    return (gantry__forward_t){.bodies = record->bodies,
                               .body_count = record->body_count,
                               .user = record->user,
                               .below = record->block,
                               .input_count = record->given_count,
                               .output_count = record->output_count};
}

/* Marks the sums of a backward pass: the gradients of variables that do not change, or are sums
 * themselves, and the sums for other sources. */
static void mark_sums(gantry__gradient_block_t *block) {
    const gantry__gradient_block_t *below = block->below;
    size_t at = 1;
    if (block->bodies[0] != backward_goes_on) return;
    for (size_t i = 0; i < below->input_count; ++i) {
        if (below->wants[i]) block->is_sum[at++] = !below->is_saved[i];
    }
    while (at < block->input_count) block->is_sum[at++] = true;
}

static void rule_loop_differentiate(gantry__gradient_block_t *block, const gantry__rule_call_t *c) {
    const bool is_history = c->record->bodies[0] == history_goes_on;
    tensor *steps;
    for (size_t i = 0; i < block->input_count; ++i) rule_loop_keep(&block->tensors[i], c->x[i]);
    if (probe_loop(block, c) != GANTRY_OK) return;
    if (is_history) {
        take_history(block, c->y, c->dy);
        steps = c->y[block->input_count + count_saved(block)];
    } else {
        steps = run_history(block, c);
    }
    if (steps) rule_loop_run_backward(block, c, steps);
}

void gantry__rule_while(gantry__rule_call_t *c) {
    const gantry__forward_t forward = find_forward(c->record);
    if (gantry__check_again(c) != GANTRY_OK) return;
    gantry__gradient_block_t *block = gantry__block_make(c, &forward);
    if (!block) {
        (void)gantry__train_hand_on(c->scope, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    mark_sums(block);
    rule_loop_differentiate(block, c);
    gantry__block_release(block);
}
