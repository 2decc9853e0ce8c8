/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax of the CPU backend, over the last axis: gives each thread a share of the
 * rows. The loops are in softmax_cpu_simd.c. */
#include <stdbool.h>

#include "kernels/reduce/reduce_cpu.h"

#define PARALLEL_ELEMENTS 8192

typedef struct {
    const gantry__cpu_softmax_plan_t *plan;
    gantry__cpu_softmax_fn run;
} pass_t;

static void run_rows(void *context, int64_t begin, int64_t end) {
    const pass_t *pass = context;
    pass->run(pass->plan, begin, end);
}

static int32_t cpu_compute_softmax(gantry_op_call_t *call) {
    const gantry_arg_t *input = call->inputs[0];
    bool logarithm = call->kernel == &gantry__cpu_log_softmax_kernel;
    int level = gantry__cpu_simd_level(call->device);
    int64_t length = input->rank > 0 ? input->dims[input->rank - 1] : 1;
    gantry__cpu_softmax_plan_t plan = {
        .in = input->data, .out = call->outputs[0]->data, .length = length};
    pass_t pass = {&plan, GANTRY_CPU_PICK(level, softmax_find)(input->dtype, logarithm)};
    int64_t grain = PARALLEL_ELEMENTS / length / 64 * 64;
    if (grain < 64)
        grain = length <= 64 ? 64 : length < PARALLEL_ELEMENTS ? PARALLEL_ELEMENTS / length : 1;
    gantry__cpu_parallel_for(call->device, input->element_count / length, grain, run_rows, &pass);
    return GANTRY_OK;
}

GANTRY_SOFTMAX_OPS(GANTRY_K_CPU_KERNEL)
