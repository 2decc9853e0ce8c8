/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedParts on the CPU: one parallel loop over the elements of all parts, one part after
 * another.
 *
 *     part 0 of 1500 elements    0 .......... 1499 (to 2047: nothing)
 *     part 1 of 4000             2048 .................. 6047
 *
 * All parts run the steps of one job. Parts begin at multiples of the least grain, so that a share
 * of a thread begins at a whole block. */
#include "kernels/elementwise/fused_cpu.h"

typedef struct parts_job_t {
    gantry__cpu_fused_job_t job; /* made for the largest part */
    uint32_t count;
    int64_t begins[GANTRY_K_FUSED_MOST_PARTS];
    gantry_op_call_t calls[GANTRY_K_FUSED_MOST_PARTS];
    const gantry_arg_t *inputs[GANTRY_K_FUSED_MOST_PARTS][GANTRY_K_FUSED_MOST_INPUTS];
} parts_job_t;

static void cpu_run_parts(void *context, int64_t begin, int64_t end) {
    const parts_job_t *parts = context;

    for (uint32_t i = 0; i < parts->count; ++i) {
        const int64_t first = parts->begins[i];
        const int64_t count = parts->calls[i].outputs[0]->element_count;
        const int64_t from = begin > first ? begin - first : 0;
        const int64_t to = end - first < count ? end - first : count;

        if (from < to) gantry__cpu_fused_part_of(&parts->job, &parts->calls[i], from, to);
    }
}

static int32_t cpu_compute_parts(gantry_op_call_t *call) {
    const gantry__k_parts_t parts = gantry__k_parts(call);
    const int64_t unit = GANTRY__CPU_FUSED_LEAST_GRAIN;
    int64_t all = 0;
    parts_job_t all_parts;

    if (gantry__k_part_elements(&parts, call, parts.largest) == 0) return GANTRY_OK;
    all_parts.count = parts.count;
    for (uint32_t i = 0; i < parts.count; ++i) {
        all_parts.calls[i] = gantry__k_part_call(&parts, call, i, all_parts.inputs[i]);
        all_parts.begins[i] = all;
        all += (gantry__k_part_elements(&parts, call, i) + unit - 1) / unit * unit;
    }
    gantry__cpu_fused_prepare(&all_parts.job, &all_parts.calls[parts.largest], &parts.program,
                              gantry__cpu_fused_shares(call));
    gantry__cpu_fused_choose_chains(&all_parts.job);
    gantry__cpu_parallel_for(call->device, all, gantry__cpu_fused_grain(&all_parts.job),
                             cpu_run_parts, &all_parts);
    return GANTRY_OK;
}

const gantry_kernel_def_t gantry__cpu_fused_parts_kernel =
    GANTRY_K_DEFINITION(GANTRY_K_FUSED_PARTS_OP, NULL, 0, NULL, 0, .compute = cpu_compute_parts);
