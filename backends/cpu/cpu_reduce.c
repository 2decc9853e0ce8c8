/* Sum, Mean, Max and Min of the CPU backend: shapes, levels of the tree, threads. The loops are in cpu_reduce_simd.c.
 *
 * Each level turns sequences into the sequences of their chunks' sums, the last one into the output. Only the shape
 * decides how a sequence is cut, so neither the number of threads nor the instruction set shows in the result. */
#include "cpu/cpu_reduce.h"

#include <string.h>

/* Elements a thread should have to do before another one is worth waking. */
#define PARALLEL_ELEMENTS 32768

typedef struct {
    const gantry__cpu_reduce_plan_t *plan;
    gantry__cpu_reduce_fn run;
} level_t;

static void run_units(void *context, int64_t begin, int64_t end)
{
    const level_t *level = context;
    level->run(level->plan, begin, end);
}

/* Cuts wide rows into blocks that fit the loops' stack, smaller ones when there would be few units. */
static void plan_blocks(gantry__cpu_reduce_plan_t *plan, int64_t size_bytes)
{
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

static void run_level(gantry_op_call_t *call, const gantry__cpu_reduce_plan_t *plan, gantry__cpu_reduce_fn run)
{
    level_t level = {plan, run};
    int64_t rows = plan->shape.length < GANTRY_REDUCE_CHUNK ? plan->shape.length : GANTRY_REDUCE_CHUNK;
    int64_t grain = PARALLEL_ELEMENTS / (rows * plan->block);
    gantry__cpu_parallel_for(call->device, plan->units, grain < 1 ? 1 : grain, run_units, &level);
}

/* Reduces `in` of `shape` to `out` by the operation; element sizes as the operation has them. */
static int32_t run_tree(gantry_op_call_t *call, const gantry__reduce_shape_t *shape, int operation, int32_t dtype,
                        const void *in, void *out, int64_t divisor)
{
    int level = gantry__cpu_simd_level(call->device);
    int32_t sum_dtype = operation == GANTRY_CPU_SUM_WIDE ? GANTRY_K_INT64 : dtype;
    int64_t size = gantry_k_size(sum_dtype);
    gantry__cpu_reduce_plan_t plan = {.shape = *shape, .in = in};
    for (;;) {
        plan.chunks = gantry__reduce_chunks(plan.shape.length);
        plan_blocks(&plan, size);
        plan.out = out;
        plan.divisor = plan.chunks == 1 ? divisor : 0;
        if (plan.chunks > 1) {
            gantry_span_t span;
            uint64_t bytes = (uint64_t)(plan.shape.outer * plan.chunks * plan.shape.columns * size);
            int32_t status = call->services->scratch(call, bytes, &span);
            if (status != 0) {
                return status;
            }
            plan.out = (void *)(uintptr_t)(span.region + span.offset_bytes);
        }
        run_level(call, &plan, GANTRY_CPU_PICK(level, reduce_find)(operation, dtype));
        if (plan.chunks == 1) {
            return 0;
        }
        plan.in = plan.out;
        gantry__reduce_shape_plain(plan.shape.outer, plan.chunks, plan.shape.columns, &plan.shape);
        dtype = sum_dtype;
        operation = operation == GANTRY_CPU_SUM_WIDE ? GANTRY_CPU_SUM : operation;
    }
}

/* ---- Mean of integers: summed in 64 bits, divided with truncation ---- */

typedef struct {
    const int64_t *sums;
    int32_t *out32; /* one of the two is set */
    int64_t *out64;
    int64_t divisor;
} quotients_t;

static void divide(void *context, int64_t begin, int64_t end)
{
    const quotients_t *q = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t quotient = q->sums[i] / q->divisor;
        if (q->out32 != NULL) {
            q->out32[i] = (int32_t)quotient;
        } else {
            q->out64[i] = quotient;
        }
    }
}

static int32_t integer_mean(gantry_op_call_t *call, const gantry__reduce_shape_t *shape)
{
    const gantry_arg_t *input = call->inputs[0];
    gantry_arg_t *output = call->outputs[0];
    quotients_t q = {.divisor = shape->length};
    int32_t status;
    if (input->dtype == GANTRY_K_INT32) {
        gantry_span_t span;
        status = call->services->scratch(call, (uint64_t)output->element_count * sizeof(int64_t), &span);
        if (status != 0) {
            return status;
        }
        int64_t *sums = (int64_t *)(uintptr_t)(span.region + span.offset_bytes);
        status = run_tree(call, shape, GANTRY_CPU_SUM_WIDE, GANTRY_K_INT32, input->data, sums, 0);
        q.sums = sums;
        q.out32 = output->data;
    } else {
        status = run_tree(call, shape, GANTRY_CPU_SUM, GANTRY_K_INT64, input->data, output->data, 0);
        q.sums = output->data;
        q.out64 = output->data;
    }
    if (status == 0) {
        gantry__cpu_parallel_for(call->device, output->element_count, PARALLEL_ELEMENTS, divide, &q);
    }
    return status;
}

/* ---- entry ---- */

static void fill_identity(const gantry_arg_t *output, int32_t operation)
{
    unsigned char value[8];
    size_t size = gantry__reduce_empty(operation, output->dtype, value);
    for (int64_t i = 0; i < output->element_count; i++) {
        memcpy((unsigned char *)output->data + (size_t)i * size, value, size);
    }
}

static int32_t compute_reduction(gantry_op_call_t *call)
{
    const gantry_arg_t *input = call->inputs[0];
    gantry_arg_t *output = call->outputs[0];
    int32_t operation = *(const int32_t *)call->kernel->data;
    gantry__reduce_shape_t shape;
    gantry__reduce_shape_of(input->rank, input->dims, gantry__reduce_axes_mask(call->inputs[1], input->rank), &shape);
    if (shape.length == 0) {
        fill_identity(output, operation);
        return 0;
    }
    if (shape.length == 1) {
        memcpy(output->data, input->data, (size_t)input->element_count * gantry_k_size(input->dtype));
        return 0;
    }
    switch (operation) {
    case GANTRY_REDUCE_MEAN:
        if (!gantry_k_is_float(input->dtype)) {
            return integer_mean(call, &shape);
        }
        return run_tree(call, &shape, GANTRY_CPU_SUM, input->dtype, input->data, output->data, shape.length);
    case GANTRY_REDUCE_MAX:
        return run_tree(call, &shape, GANTRY_CPU_MAX, input->dtype, input->data, output->data, 0);
    case GANTRY_REDUCE_MIN:
        return run_tree(call, &shape, GANTRY_CPU_MIN, input->dtype, input->data, output->data, 0);
    default:
        return run_tree(call, &shape, GANTRY_CPU_SUM, input->dtype, input->data, output->data, 0);
    }
}

static const gantry_type_constraint_t number_types[] = {{"T", GANTRY_K_NUMBERS}};
static const char *const host_axes[] = {"reduction_indices"};
static const int32_t operations[] = {GANTRY_REDUCE_SUM, GANTRY_REDUCE_MEAN, GANTRY_REDUCE_MAX, GANTRY_REDUCE_MIN};

#define REDUCTION(name, index) \
    static const gantry_kernel_def_t name##_kernel = {.struct_size = sizeof(gantry_kernel_def_t), \
                                                      .priority = 10, \
                                                      .op = #name, \
                                                      .types = number_types, \
                                                      .type_count = 1, \
                                                      .host_args = host_axes, \
                                                      .host_arg_count = 1, \
                                                      .compute = compute_reduction, \
                                                      .data = &operations[index]}
REDUCTION(Sum, 0);
REDUCTION(Mean, 1);
REDUCTION(Max, 2);
REDUCTION(Min, 3);

const gantry_kernel_def_t *const gantry__cpu_reduce_kernels[] = {&Sum_kernel,
                                                                 &Mean_kernel,
                                                                 &Max_kernel,
                                                                 &Min_kernel,
                                                                 &gantry__cpu_argmax_kernel,
                                                                 &gantry__cpu_softmax_kernel,
                                                                 &gantry__cpu_log_softmax_kernel};
const uint32_t gantry__cpu_reduce_kernel_count =
    sizeof gantry__cpu_reduce_kernels / sizeof gantry__cpu_reduce_kernels[0];
