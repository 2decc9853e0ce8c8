/* SPDX-License-Identifier: Apache-2.0 */
/* Runs branches and loops: each body has a schedule and a frame of its own inside the outer one.
 * Tensors go in and come out; the selector and a loop's condition are read on the host. */
#include <string.h>

#include "base/nesting.h"
#include "function/trace/control.h"
#include "function/frame/frame.h"

typedef struct block_run_t {
    gantry__frame_t *frame;
    const gantry__action_t *action;
    const gantry__node_t *node;
    gantry__frame_t **bodies;
} block_run_t;

/* ---- inputs and results ---- */

static void release_inputs(const block_run_t *run) {
    for (uint32_t i = 0; i < run->action->input_count; ++i) {
        gantry_tensor_release(run->frame->block_inputs[i]);
        run->frame->block_inputs[i] = NULL;
    }
}

/* Takes every input but a branch's selector. */
static gantry_status_t take_inputs(const block_run_t *run) {
    for (uint32_t i = run->node->kind == GANTRY__NODE_CASE ? 1 : 0; i < run->action->input_count;
         ++i)
        GANTRY__TRY(
            gantry__frame_view(run->frame, run->action->inputs[i], &run->frame->block_inputs[i]));
    return GANTRY_OK;
}

/* The frame releases the tensors that the block is the last to use, so that its bodies may write
 * over them. */
static void give_up_ended(const block_run_t *run) {
    gantry__frame_t *frame = run->frame;
    const gantry__schedule_t *schedule = frame->schedule;
    for (uint32_t i = 0; i < run->action->ended_count; ++i) {
        const uint32_t slot = schedule->ended[run->action->ended_first + i];
        const gantry__slot_t *ended = &schedule->slots[slot];
        gantry_tensor_t **tensor = &frame->tensors[slot];
        if (!*tensor || ended->made_by >= (uint32_t)(run->action - schedule->actions)) continue;
        gantry__frame_give_up_argument(frame, slot, run->action);
        gantry_tensor_release(*tensor);
        *tensor = NULL;
    }
}

static gantry_status_t run_block_body(const block_run_t *run, uint32_t body,
                                      gantry_tensor_t **results) {
    const gantry__body_t *made = &run->node->bodies[body];
    const gantry_tensor_t **arguments = run->bodies[body]->block_arguments;
    for (uint32_t i = 0; i < made->graph.input_count; ++i)
        arguments[i] = run->frame->block_inputs[made->sources[i]];
    const bool is_branch = run->node->kind == GANTRY__NODE_CASE;
    const gantry__loop_values_t loop = {
        .values = run->frame->block_inputs,
        .sources = made->sources,
        .count = is_branch ? run->action->input_count : run->action->output_count,
        .is_branch = is_branch};
    run->bodies[body]->shared = run->frame->shared;
    run->bodies[body]->outer = run->frame;
    run->bodies[body]->outer_action = run->action;
    run->bodies[body]->outer_body = body;
    /* a condition leaves the variables as they are */
    run->bodies[body]->loop = is_branch || body == 1 ? &loop : NULL;
    gantry_status_t status =
        gantry__frame_run(run->bodies[body], run->frame->scope, arguments, results);
    run->bodies[body]->loop = NULL;
    run->bodies[body]->has_failed = status != GANTRY_OK;
    if (status == GANTRY_OK || gantry__frame_is_placed(run->frame)) return status;
    return gantry__fail_prefix(status, "%s: ", gantry__body_name(run->node->op, body).text);
}

static gantry_status_t run_body(const block_run_t *run, uint32_t body, gantry_tensor_t **results) {
    GANTRY__TRY(gantry__nesting_enter());
    const gantry_status_t status = run_block_body(run, body, results);
    gantry__nesting_leave();
    return status;
}

static gantry_status_t put_results(const block_run_t *run, gantry_tensor_t **results) {
    gantry_status_t status = GANTRY_OK;
    for (uint32_t i = 0; i < run->action->output_count; ++i) {
        if (status == GANTRY_OK) {
            status = gantry__frame_put_on(run->frame, run->action, i, results[i]);
        } else {
            gantry_tensor_release(results[i]);
        }
    }
    return status;
}

/* ---- branches ---- */

static uint32_t choose_body(const block_run_t *run) {
    const gantry_arg_t *selector = &run->frame->args[run->action->inputs[0]];
    if (selector->dtype == GANTRY_BOOL) return *(const unsigned char *)selector->data ? 0 : 1;
    int32_t index;
    memcpy(&index, selector->data, sizeof index);
    return index >= 0 && (uint32_t)index < run->node->body_count ? (uint32_t)index
                                                                 : run->node->body_count - 1;
}

static gantry_status_t run_branch(const block_run_t *run) {
    const uint32_t body = choose_body(run);
    gantry_tensor_t **results = run->bodies[body]->block_results;
    GANTRY__TRY(run_body(run, body, results));
    return put_results(run, results);
}

/* ---- loops ---- */

static gantry_status_t ask_condition(const block_run_t *run, unsigned char *out_goes_on) {
    gantry_tensor_t *answer;
    GANTRY__TRY(run_body(run, 0, &answer));
    gantry_status_t status = gantry_tensor_read(answer, out_goes_on, 1);
    gantry_tensor_release(answer);
    return status;
}

/* The loop's variables are the first inputs. */
static gantry_status_t run_step(const block_run_t *run) {
    gantry_tensor_t **results = run->bodies[1]->block_results;
    GANTRY__TRY(run_body(run, 1, results));
    for (uint32_t i = 0; i < run->action->output_count; ++i) {
        gantry_tensor_release(run->frame->block_inputs[i]);
        run->frame->block_inputs[i] = results[i];
    }
    return GANTRY_OK;
}

static gantry_status_t run_loop(const block_run_t *run) {
    gantry_tensor_t **results = run->bodies[1]->block_results;
    const uint64_t most = run->node->steps;
    for (uint64_t steps = 0;; ++steps) {
        unsigned char goes_on = 0;
        GANTRY__TRY(ask_condition(run, &goes_on));
        if (!goes_on) break;
        if (most > 0 && steps == most)
            return gantry__fail(GANTRY_OUT_OF_RANGE, "the loop takes more than most_steps, %llu",
                                (unsigned long long)most);
        GANTRY__TRY(run_step(run));
    }
    for (uint32_t i = 0; i < run->action->output_count; ++i)
        results[i] = gantry_tensor_retain(run->frame->block_inputs[i]);
    return put_results(run, results);
}

bool gantry__frame_failed_inside(const gantry__frame_t *frame, const gantry__action_t *action) {
    if (action->kind != GANTRY__ACTION_BLOCK) return false;
    for (uint32_t i = 0; i < frame->schedule->blocks[action->call].body_count; ++i) {
        if (frame->blocks[action->call][i]->has_failed) return true;
    }
    return false;
}

gantry_status_t gantry__frame_do_block(gantry__frame_t *frame, const gantry__action_t *action) {
    const block_run_t run = {.frame = frame,
                             .action = action,
                             .node = &frame->schedule->graph->nodes[action->node],
                             .bodies = frame->blocks[action->call]};
    for (uint32_t i = 0; i < frame->schedule->blocks[action->call].body_count; ++i)
        run.bodies[i]->has_failed = false;
    gantry_status_t status = take_inputs(&run);
    if (status == GANTRY_OK) give_up_ended(&run);
    if (status == GANTRY_OK)
        status = run.node->kind == GANTRY__NODE_CASE ? run_branch(&run) : run_loop(&run);
    release_inputs(&run);
    return status;
}
