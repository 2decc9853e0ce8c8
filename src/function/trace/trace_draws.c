/* SPDX-License-Identifier: Apache-2.0 */
/* Draws of a trace, and their list: draw_list.h. */
#include "function/trace/trace.h"
#include "run/random_state.h"
#include "run/runtime_state.h"
#include "run/trace_hooks.h"

void gantry__trace_draws_deinit(gantry__trace_draws_t *draws, const gantry__heap_t *heap) {
    for (size_t i = 0; i < draws->count; ++i) gantry__draws_release(draws->list[i].draws);
    gantry__heap_free(heap, draws->list, draws->capacity * sizeof *draws->list);
}

/* A new stream would be another one than that of the function's calls. */
static gantry_status_t find_given(const gantry__trace_draws_t *all,
                                  const gantry__trace_draw_t *draw, gantry__draws_t **out_draws) {
    const gantry__trace_draws_t *given = all->given;
    if (given && all->count < given->count) {
        const gantry__trace_draw_t *made = &given->list[all->count];
        if (made->op == draw->op && made->dtype == draw->dtype) {
            *out_draws = gantry__draws_retain(made->draws);
            return GANTRY_OK;
        }
    }
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "op %s: the body draws %s without a seed as draw %zu, which the trace of the function does not; a body that draws the same each time is accepted",
        draw->op->name, gantry_dtype_name(draw->dtype), all->count);
}

static bool draw_is_unseeded(const gantry__infer_t *call) {
    return gantry__infer_attr(call, "seed")->i == 0 && gantry__infer_attr(call, "seed2")->i == 0;
}

gantry_status_t gantry__trace_draws(const gantry_scope_t *scope, const gantry__infer_t *call,
                                    gantry__draws_t **own, gantry__draws_t **out_draws) {
    gantry_runtime_t *runtime = scope->runtime;
    const gantry__trace_t *trace = scope->trace;
    while (trace->outer) trace = trace->outer;
    gantry__trace_draws_t *all = trace->draws;
    gantry__trace_draw_t draw = {.op = call->op, .dtype = call->out_dtypes[0]};
    *out_draws = NULL;
    if (!all || !draw_is_unseeded(call))
        return gantry__random_draws(&runtime->random, call, own, out_draws);
    if (!gantry__heap_grow(&runtime->heap, &all->list, all->count, &all->capacity,
                           sizeof *all->list))
        return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(all->is_again ? find_given(all, &draw, &draw.draws)
                              : gantry__random_draws(&runtime->random, call, own, &draw.draws));
    all->list[all->count++] = draw;
    *out_draws = gantry__draws_retain(draw.draws);
    return GANTRY_OK;
}
