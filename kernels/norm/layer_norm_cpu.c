/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormRows of the CPU backend: gives each thread a share of the rows. The loops are in
 * layer_norm_cpu_simd.c. */
#include "kernels/reduce/reduce_cpu.h"

#define PARALLEL_ELEMENTS 8192

static void run_f32(void *context, int64_t begin, int64_t end) {
    const gantry__cpu_layer_norm_plan_t *plan = context;
    GANTRY_CPU_PICK(plan->level, layer_norm_f32)(plan, begin, end);
}

static void run_f64(void *context, int64_t begin, int64_t end) {
    const gantry__cpu_layer_norm_plan_t *plan = context;
    GANTRY_CPU_PICK(plan->level, layer_norm_f64)(plan, begin, end);
}

static int32_t cpu_compute_layer_norm(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0];
    gantry__cpu_layer_norm_plan_t plan = {.in = x->data,
                                          .scale = call->inputs[1]->data,
                                          .offset = call->inputs[2]->data,
                                          .out = call->outputs[0]->data,
                                          .length = call->inputs[1]->element_count,
                                          .epsilon = gantry__k_attr(call, "epsilon")->f,
                                          .level = gantry__cpu_simd_level(call->device)};
    const int64_t grain = plan.length < PARALLEL_ELEMENTS ? PARALLEL_ELEMENTS / plan.length : 1;
    gantry__cpu_parallel_for(call->device, x->element_count / plan.length, grain,
                             x->dtype == GANTRY_FLOAT64 ? run_f64 : run_f32, &plan);
    return GANTRY_OK;
}

GANTRY_LAYER_NORM_OPS(GANTRY_K_CPU_KERNEL)
