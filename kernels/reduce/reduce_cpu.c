/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on the CPU: shapes, levels of the tree, threads. reduce_cpu_units.c has the units of a
 * level, reduce_cpu_simd.c and reduce_cpu_extreme_simd.c have the loops.
 *
 * Each level replaces sequences by the sequences of their chunks' sums; the last one writes the
 * output. Only the shape decides how a sequence is cut, so the result does not depend on the number
 * of threads or on the instruction set. */
#include "kernels/reduce/reduce_cpu.h"

#include <string.h>

#include "kernels/common/host_processor.h"

/* So many elements pay for another thread. */
#define PARALLEL_ELEMENTS 32768

typedef struct {
    const gantry__cpu_reduce_plan_t *plan;
    gantry__cpu_reduce_loops_t loops;
} level_t;

static void run_units(void *context, int64_t begin, int64_t end) {
    const level_t *level = context;
    gantry__cpu_reduce_units(&level->loops, level->plan, begin, end);
}

/* Cuts wide rows into blocks that fit the loops' stack, and into smaller ones if there would be few
 * units. */
static void reduce_cpu_plan_blocks(gantry__cpu_reduce_plan_t *plan, int64_t size_bytes) {
    int64_t columns = plan->shape.columns;
    int64_t sequences = plan->shape.outer * plan->chunks;
    plan->block = columns;
    if (columns * size_bytes > GANTRY_CPU_REDUCE_NARROW_BYTES) {
        int64_t most = GANTRY_CPU_REDUCE_ROW_BYTES / size_bytes;
        int64_t wanted = sequences < 8 ? (columns * sequences / 8 + 63) / 64 * 64 : columns;
        plan->block = wanted < 64 ? 64 : wanted > most ? most : wanted;
    }
    plan->blocks = (columns + plan->block - 1) / plan->block;
    plan->units = sequences * plan->blocks;
}

bool gantry__cpu_reduce_find(int level, const gantry__reduce_way_t *way,
                             gantry__cpu_reduce_loops_t *out) {
    return way->tree == GANTRY_TREE_MAX || way->tree == GANTRY_TREE_MIN
               ? GANTRY_CPU_PICK(level, reduce_find_extreme)(way->tree, way->in, out)
               : GANTRY_CPU_PICK(level, reduce_find)(way->tree, way->in, out);
}

static int32_t run_level(gantry_op_call_t *call, const gantry__cpu_reduce_plan_t *plan,
                         const gantry__reduce_way_t *way) {
    level_t level = {.plan = plan};
    int64_t rows =
        plan->shape.length < GANTRY_REDUCE_CHUNK ? plan->shape.length : GANTRY_REDUCE_CHUNK;
    int64_t grain = PARALLEL_ELEMENTS / (rows * plan->block);
    if (!gantry__cpu_reduce_find(gantry__cpu_simd_level(call->device), way, &level.loops)) {
        return call->services->fail(call, GANTRY_INTERNAL,
                                    "the CPU backend has no such reduction for this type");
    }
    gantry__cpu_parallel_for(call->device, plan->units, grain < 1 ? 1 : grain, run_units, &level);
    return GANTRY_OK;
}

static void plan_last_level(gantry__cpu_reduce_plan_t *plan, const gantry__reduce_way_t *way,
                            void *out) {
    plan->out = out;
    plan->out_dtype = way->out;
    plan->finish = way->finish;
    plan->divisor = way->divisor;
}

/* Reduces `in` of `shape` to `out`. */
static int32_t run_tree(gantry_op_call_t *call, const gantry__reduce_shape_t *shape,
                        gantry__reduce_way_t way, const void *in, void *out) {
    const int64_t size = gantry__k_size(way.acc);
    gantry__cpu_reduce_plan_t plan = {
        .shape = *shape, .in = in, .out_dtype = way.acc, .reads_ahead = gantry__host_reads_ahead()};
    for (;;) {
        plan.chunks = gantry__reduce_chunks(plan.shape.length);
        reduce_cpu_plan_blocks(&plan, size);
        if (plan.chunks > 1) {
            gantry_span_t span;
            uint64_t bytes = (uint64_t)(plan.shape.outer * plan.chunks * plan.shape.columns * size);
            GANTRY__TRY(call->services->scratch(call, bytes, &span));
            plan.out = (void *)(uintptr_t)(span.region + span.offset_bytes);
        } else {
            plan_last_level(&plan, &way, out);
        }
        GANTRY__TRY(run_level(call, &plan, &way));
        if (plan.chunks == 1) return GANTRY_OK;
        plan.in = plan.out;
        gantry__reduce_shape_plain(plan.shape.outer, plan.chunks, plan.shape.columns, &plan.shape);
        gantry__reduce_next_level(&way);
    }
}

/* ---- entry ---- */

static void fill_identity(const gantry_arg_t *output, int32_t operation) {
    unsigned char value[8];
    size_t size = gantry__reduce_empty(operation, output->dtype, value);
    for (int64_t i = 0; i < output->element_count; ++i) {
        memcpy((unsigned char *)output->data + (size_t)i * size, value, size);
    }
}

static int32_t cpu_compute_reduction(gantry_op_call_t *call) {
    const gantry_arg_t *input = call->inputs[0];
    gantry_arg_t *output = call->outputs[0];
    int32_t operation = *(const int32_t *)call->kernel->data;
    gantry__reduce_shape_t shape;
    gantry__reduce_shape_of(input->rank, input->dims, gantry__reduce_axes_mask(call), &shape);
    if (shape.length == 0) {
        fill_identity(output, operation);
        return 0;
    }
    if (shape.length == 1 && gantry__reduce_copies_one(operation)) {
        memcpy(output->data, input->data,
               (size_t)input->element_count * gantry__k_size(input->dtype));
        return 0;
    }
    return run_tree(call, &shape, gantry__reduce_way(operation, input->dtype, shape.length),
                    input->data, output->data);
}

#define GANTRY_REDUCTION GANTRY_K_REDUCTION_KERNEL
#include "ops/reduce.def"
#undef GANTRY_REDUCTION

const gantry_kernel_def_t *const gantry__cpu_reduce_kernels[] = {
#define GANTRY_REDUCTION GANTRY_K_REDUCTION_POINTER
#include "ops/reduce.def"
#undef GANTRY_REDUCTION
    GANTRY_ARGMAX_OPS(GANTRY_K_CPU_KERNEL_POINTER) GANTRY_SOFTMAX_OPS(GANTRY_K_CPU_KERNEL_POINTER)
        GANTRY_LAYER_NORM_OPS(GANTRY_K_CPU_KERNEL_POINTER)};
const uint32_t gantry__cpu_reduce_kernel_count = GANTRY_K_COUNT_OF(gantry__cpu_reduce_kernels);
