/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: steps each of which reads the result of the one before it. A loop for each step would
 * load and store each result in the first-level cache. A chain carries the result in registers,
 * tile by tile:
 *
 *     steps    Mul  x, y    -> slot 0        links    load  x
 *              Add  slot 0, x -> slot 1               mul   y
 *              Mul  slot 1, y -> slot 0               add   x
 *              ...                                    mul   y
 *                                                     ...
 *                                                     store output 0
 *
 * For each tile of 128 elements (AVX-512) all links run, which a switch distinguishes. Links are
 * the cheap ops of float32. A result that a later step needs, too, is stored as well. The elements
 * after the last whole tile of a block take the steps, which give the same bits. */
#include "kernels/elementwise/fused_cpu.h"

typedef gantry__cpu_fused_step_t step_t;

/* Fewer steps do not pay for the switch. Memory is read at full speed only with the wider blocks of
 * the loops, so there a chain needs more steps. */
enum { LEAST_STEPS = 4, LEAST_STEPS_FROM_MEMORY = 5 };

/* The links of a row, by the operand that is the carried value; 0: the row is in no chain. */
typedef struct row_links_t {
    uint8_t as_x, as_y;
} row_links_t;

static const row_links_t row_links[GANTRY_K_ROWS] = {
    [GANTRY_K_ROW_Add] = {GANTRY__CPU_LINK_add, GANTRY__CPU_LINK_add},
    [GANTRY_K_ROW_Sub] = {GANTRY__CPU_LINK_sub, GANTRY__CPU_LINK_sub_from},
    [GANTRY_K_ROW_Mul] = {GANTRY__CPU_LINK_mul, GANTRY__CPU_LINK_mul},
    [GANTRY_K_ROW_Div] = {GANTRY__CPU_LINK_div, GANTRY__CPU_LINK_div_of},
    [GANTRY_K_ROW_SquaredDifference] = {GANTRY__CPU_LINK_difference, GANTRY__CPU_LINK_difference},
    [GANTRY_K_ROW_Maximum] = {GANTRY__CPU_LINK_maximum, GANTRY__CPU_LINK_maximum_of},
    [GANTRY_K_ROW_Minimum] = {GANTRY__CPU_LINK_minimum, GANTRY__CPU_LINK_minimum_of},
    [GANTRY_K_ROW_Neg] = {GANTRY__CPU_LINK_neg, 0},
    [GANTRY_K_ROW_Abs] = {GANTRY__CPU_LINK_abs, 0},
    [GANTRY_K_ROW_Square] = {GANTRY__CPU_LINK_square, 0},
    [GANTRY_K_ROW_Relu] = {GANTRY__CPU_LINK_relu, 0},
};

/* ---- finding ---- */

static bool may_chain(const step_t *step) {
    return (step->form & GANTRY__CPU_FUSED_MAY_CHAIN) != 0 && row_links[step->row].as_x != 0;
}

static bool is_unary(const step_t *step) { return row_links[step->row].as_y == 0; }

/* Whether the operand is the result of the step before it. */
static bool carries_x(const step_t *step, uint8_t place) {
    return step->x == place && (step->form & GANTRY__CPU_FUSED_X_SINGLE) == 0;
}

static bool carries_y(const step_t *step, uint8_t place) {
    return !is_unary(step) && step->y == place && (step->form & GANTRY__CPU_FUSED_Y_SINGLE) == 0;
}

static bool continues(const step_t *step) {
    const uint8_t place = step[-1].out;

    return may_chain(step) && (carries_x(step, place) || carries_y(step, place));
}

static void add_link(gantry__cpu_fused_job_t *job, gantry__cpu_fused_chain_t *chain, int code,
                     uint8_t place) {
    job->links[chain->end_link++] = (gantry__cpu_fused_link_t){(uint8_t)code, place};
}

static void add_operation(gantry__cpu_fused_job_t *job, gantry__cpu_fused_chain_t *chain,
                          const step_t *step, bool as_x) {
    const row_links_t *links = &row_links[step->row];
    const int single = as_x ? GANTRY__CPU_FUSED_Y_SINGLE : GANTRY__CPU_FUSED_X_SINGLE;

    if (is_unary(step)) {
        add_link(job, chain, links->as_x, 0);
    } else {
        add_link(job, chain,
                 (as_x ? links->as_x : links->as_y) + ((step->form & single) != 0 ? 1 : 0),
                 as_x ? step->y : step->x);
    }
}

/* Adds the links of a step after the first one, whose result is at `place`. */
static void add_next(gantry__cpu_fused_job_t *job, gantry__cpu_fused_chain_t *chain,
                     const step_t *step) {
    const uint8_t place = step[-1].out;
    const bool as_x = carries_x(step, place), is_both = as_x && carries_y(step, place);

    if (is_both || (step[-1].form & GANTRY__CPU_FUSED_IS_KEPT) != 0) {
        add_link(job, chain, GANTRY__CPU_LINK_STORE, place);
    }
    add_operation(job, chain, step, as_x);
}

static void add_chain(gantry__cpu_fused_job_t *job, uint32_t first, uint32_t end,
                      uint16_t first_link) {
    gantry__cpu_fused_chain_t *chain = &job->chains[job->chain_count++];
    const step_t *step = &job->steps[first];

    *chain = (gantry__cpu_fused_chain_t){(uint16_t)first, (uint16_t)end, first_link, first_link};
    add_link(job, chain,
             (step->form & GANTRY__CPU_FUSED_X_SINGLE) != 0 ? GANTRY__CPU_LINK_LOAD_SINGLE
                                                            : GANTRY__CPU_LINK_LOAD,
             step->x);
    add_operation(job, chain, step, true);
    for (uint32_t k = first + 1; k < end; ++k) add_next(job, chain, &job->steps[k]);
    add_link(job, chain, GANTRY__CPU_LINK_STORE, job->steps[end - 1].out);
}

void gantry__cpu_fused_find_chains(gantry__cpu_fused_job_t *job) {
    const uint32_t least = job->streams ? LEAST_STEPS_FROM_MEMORY : LEAST_STEPS;
    uint16_t links = 0;

    for (uint32_t first = 0, end; first < job->step_count; first = end) {
        end = first + 1;
        if (!may_chain(&job->steps[first])) continue;
        while (end < job->step_count && continues(&job->steps[end])) ++end;
        if (end - first < least) continue;
        add_chain(job, first, end, links);
        links = job->chains[job->chain_count - 1].end_link;
    }
}

/* ---- running ---- */

static const char *behind(const char *from, bool is_single, int64_t elements) {
    return is_single ? from : from + elements * (int64_t)sizeof(float);
}

void gantry__cpu_fused_run_chain(const gantry__cpu_fused_job_t *job,
                                 const gantry__cpu_fused_chain_t *chain, char *const *at,
                                 int64_t count) {
    const int64_t done = GANTRY_CPU_PICK(job->level, run_links)(
        job->links + chain->first_link, job->links + chain->end_link, at, count);

    for (uint32_t k = chain->first_step; done < count && k < chain->end_step; ++k) {
        const step_t *step = &job->steps[k];

        (void)step->as.loop(
            behind(at[step->x], (step->form & GANTRY__CPU_FUSED_X_SINGLE) != 0, done),
            behind(at[step->y], (step->form & GANTRY__CPU_FUSED_Y_SINGLE) != 0, done),
            at[step->out] + done * (int64_t)sizeof(float), count - done);
    }
}
