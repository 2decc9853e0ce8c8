/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin on the CPU: shapes and threads. argmax_cpu_simd.c has the loops. */
#include "kernels/reduce/reduce_cpu.h"

#define PARALLEL_ELEMENTS 32768
/* Rows longer than this are shared by several threads. */
#define PIECE_ELEMENTS (16 * GANTRY_REDUCE_CHUNK)

typedef struct {
    const gantry__cpu_argmax_plan_t *plan;
    gantry__cpu_argmax_fn run;
} pass_t;

static void run_pass(void *context, int64_t begin, int64_t end) {
    const pass_t *pass = context;
    pass->run(pass->plan, begin, end);
}

static int32_t cpu_compute_argmax(gantry_op_call_t *call) {
    const gantry_arg_t *input = call->inputs[0];
    gantry_arg_t *output = call->outputs[0];
    const gantry__reduce_middle_t shape = gantry__reduce_middle_of(call);
    const int64_t outer = shape.outer;
    gantry__cpu_argmax_plan_t plan = {.in = input->data,
                                      .out = output->data,
                                      .length = shape.length,
                                      .columns = shape.columns,
                                      .out_dtype = output->dtype,
                                      .reverses = call->kernel == &gantry__cpu_argmin_kernel};
    int level = gantry__cpu_simd_level(call->device);
    if (plan.length == 0) {
        return call->services->fail(call, GANTRY_INVALID_ARGUMENT,
                                    "the reduced dimension has no elements");
    }
    int64_t unit_elements = plan.length * GANTRY_CPU_ARGMAX_BLOCK;
    plan.parts = (plan.columns + GANTRY_CPU_ARGMAX_BLOCK - 1) / GANTRY_CPU_ARGMAX_BLOCK;
    if (plan.columns == 1) {
        plan.piece = outer < 16 && plan.length > PIECE_ELEMENTS ? PIECE_ELEMENTS : plan.length;
        plan.parts = (plan.length + plan.piece - 1) / plan.piece;
        unit_elements = plan.piece;
    } else if (plan.columns < GANTRY_CPU_ARGMAX_BLOCK) {
        unit_elements = plan.length * plan.columns;
    }
    if (plan.columns == 1 && plan.parts > 1) {
        gantry_span_t span;
        GANTRY__TRY(
            call->services->scratch(call, (uint64_t)(outer * plan.parts) * sizeof(int64_t), &span));
        plan.partial = (int64_t *)(uintptr_t)(span.region + span.offset_bytes);
    }
    pass_t pass = {&plan, GANTRY_CPU_PICK(level, argmax_find)(input->dtype)};
    int64_t grain = PARALLEL_ELEMENTS / unit_elements;
    gantry__cpu_parallel_for(call->device, outer * plan.parts, grain < 1 ? 1 : grain, run_pass,
                             &pass);
    if (plan.partial) {
        GANTRY_CPU_PICK(level, argmax_join_find)(input->dtype)(&plan, 0, outer);
    }
    return 0;
}

GANTRY_ARGMAX_OPS(GANTRY_K_CPU_KERNEL)
