/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of branches, and of ops whose gradient the program gives. rule_loop.c has loops,
 * rule_function.c functions.
 *
 * The gradient of a branch is a branch that runs the chosen body again. A probe finds out first
 * which sources have a gradient in any body: the others get none, and where a body has none for
 * one of these, it gives zeros. The probe is a trace that fails at its end, so nothing of it is
 * left. */
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/tape/block.h"

typedef const gantry_tensor_t tensor;

static void rule_custom(gantry__rule_call_t *c) {
    const gantry_backward_fn backward = (gantry_backward_fn)(void (*)(void))c->record->bodies[0];
    if (gantry_scope_lend(c->scope) != GANTRY_OK) return;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    backward(c->scope, c->x, c->y, c->dy, c->dx, c->record->user);
    gantry_scope_take_back(c->scope);
}

/* A node of a graph (gantry/graph.h) whose gradient is none that the graph has. */
static void rule_prevent(gantry__rule_call_t *c) {
    const char *node = gantry__rule_attr(c, "node")->s;
    const gantry_status_t status = gantry__train_fail(
        GANTRY_UNIMPLEMENTED,
        "node \"%s\" refuses a gradient: that of its body was the program's own (gantry_custom_gradient); a graph whose nodes have refuses_gradient false is accepted",
        node);
    (void)gantry__train_hand_on(c->scope, status);
}

/* ---- the backward body ---- */

bool gantry__is_branch_gradient(gantry_function_body_fn body) {
    return body == gantry__branch_backward;
}

size_t gantry__branch_inputs(const gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                             size_t first_input, tensor **out_inputs) {
    size_t count = 0;
    for (size_t i = 0; i < block->input_count; ++i) out_inputs[count++] = c->x[first_input + i];
    for (size_t i = 0; i < block->output_count; ++i) {
        if (block->has_dy[i]) out_inputs[count++] = c->dy[i];
    }
    return count;
}

static void set_gradients(const gantry__gradient_block_t *block, const gantry__body_run_t *run,
                          gantry_scope_t *scope, tensor *const *x, tensor **outputs) {
    size_t next = 0;
    for (size_t i = 0; i < block->source_count; ++i) {
        if (!block->gives[i]) continue;
        tensor *like = i < block->input_count ? x[i] : block->tensors[i];
        outputs[next++] = run->gradients[i] ? gantry__block_settle(scope, run->gradients[i], like)
                                            : gantry__block_zeros(block, scope, i, x);
    }
}

static void learn_gradients(gantry__gradient_block_t *block, const gantry__body_run_t *run,
                            size_t body, gantry_scope_t *scope) {
    for (size_t i = 0; i < block->source_count; ++i) block->gives[i] |= run->gradients[i] != NULL;
    if (body + 1 == block->body_count) gantry__stop_probe(block, scope);
}

void gantry__branch_backward(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                             void *user) {
    gantry__gradient_block_t *block = user;
    const size_t body = block->next_body;
    size_t next = block->input_count;
    block->next_body = (body + 1) % block->body_count;
    gantry__body_run_t *run = gantry__run_make(block);
    if (!run) {
        (void)gantry__train_hand_on(scope, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    for (size_t i = 0; i < block->output_count; ++i)
        run->dy[i] = block->has_dy[i] ? inputs[next++] : NULL;
    if (gantry__run_body(run, block, body, scope, inputs) == GANTRY_OK) {
        if (block->is_probing)
            learn_gradients(block, run, body, scope);
        else
            set_gradients(block, run, scope, inputs, outputs);
    }
    gantry__run_free(run);
}

/* ---- branches ---- */

/* All bodies in their order, each as branch_backward. */
static void run_with(gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                     gantry_scope_t *scope, gantry_function_body_fn *bodies, tensor **inputs,
                     tensor **gradients) {
    const size_t input_count = gantry__branch_inputs(block, c, 1, inputs),
                 count = block->is_probing ? 0 : gantry__block_count_given(block);
    block->next_body = 0;
    for (size_t i = 0; i < block->body_count; ++i) bodies[i] = gantry__branch_backward;
    if (gantry_tensor_dtype(c->x[0]) == GANTRY_BOOL)
        (void)gantry_cond(scope, c->x[0], bodies[0], bodies[1], block, inputs, input_count,
                          gradients, count);
    else
        (void)gantry_case(scope, c->x[0], bodies, block->body_count, block, inputs, input_count,
                          gradients, count);
}

static void rule_control_run_branch(gantry__gradient_block_t *block, const gantry__rule_call_t *c,
                                    gantry_scope_t *scope, tensor **gradients) {
    gantry_function_body_fn *bodies = gantry__alloc(block->body_count, sizeof *bodies);
    tensor **inputs = gantry__block_list(scope, block->input_count + block->output_count);
    if (bodies && inputs)
        run_with(block, c, scope, bodies, inputs, gradients);
    else
        (void)gantry__train_hand_on(scope, GANTRY_RESOURCE_EXHAUSTED);
    gantry__free((void *)bodies);
    gantry__free((void *)inputs);
}

static gantry_status_t probe_branch(gantry__gradient_block_t *block, const gantry__rule_call_t *c) {
    gantry_scope_t *probe = gantry_scope_begin_unobserved(c->scope);
    if (!probe) return gantry__train_no_inner(c->scope);
    block->is_probing = true;
    rule_control_run_branch(block, c, probe, NULL);
    return gantry__end_probe(block, c->scope, probe);
}

static gantry_status_t differentiate_branch(gantry__gradient_block_t *block,
                                            const gantry__rule_call_t *c) {
    GANTRY__TRY(probe_branch(block, c));
    const size_t count = gantry__block_count_given(block);
    if (count == 0) return GANTRY_OK;
    if (count > GANTRY_MAX_FUNCTION_VALUES)
        return gantry__train_refuse(c->scope,
                                    "gradients of %zu tensors and variables; %d are accepted",
                                    count, GANTRY_MAX_FUNCTION_VALUES);
    tensor **gradients = gantry__block_list(c->scope, count);
    if (!gradients) return GANTRY_RESOURCE_EXHAUSTED;
    rule_control_run_branch(block, c, c->scope, gradients);
    if (gantry_scope_status(c->scope) == GANTRY_OK) gantry__block_hand_out(block, c, gradients);
    gantry__free((void *)gradients);
    return gantry_scope_status(c->scope);
}

static void rule_branch(gantry__rule_call_t *c) {
    const gantry__record_t *record = c->record;
    const gantry__forward_t forward = {.bodies = record->bodies,
                                       .body_count = record->body_count,
                                       .user = record->user,
                                       .below = record->block,
                                       .first_input = 1,
                                       .input_count = record->given_count - 1,
                                       .output_count = record->output_count};
    if (gantry__check_again(c) != GANTRY_OK) return;
    gantry__gradient_block_t *block = gantry__block_make(c, &forward);
    if (!block) {
        (void)gantry__train_hand_on(c->scope, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    (void)differentiate_branch(block, c);
    gantry__block_release(block);
}

const gantry__rule_t gantry__rules_control[] = {
    {"Case", rule_branch},
    {"CustomGradient", rule_custom},
    {"If", rule_branch},
    {"PartitionedCall", gantry__rule_function},
    {"PreventGradient", rule_prevent},
    {"While", gantry__rule_while},
    {NULL, NULL},
};
