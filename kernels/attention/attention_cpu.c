/* SPDX-License-Identifier: Apache-2.0 */
/* _Attention and _AttentionGrad of the CPU backend: plans, scratch, threads. The loops are in
 * attention_cpu_simd.c.
 *
 * Threads share the items, which a unit of scratch serves one after the other. What an item
 * computes depends on the shapes only, so results are the same from run to run, whatever the
 * threads. */
#include "kernels/attention/attention_cpu.h"

#include <string.h>

#include "host/try.h"

#define QUERIES GANTRY_CPU_ATTENTION_QUERIES
#define KEYS GANTRY_CPU_ATTENTION_KEYS
#define MOST_UNITS 64

static int64_t at_multiple(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

/* The elements of packed panels: `count` rows of a left operand, or columns of a right one. */
static int64_t left_size(const gantry__cpu_attention_t *plan, int64_t count, int64_t depth) {
    return at_multiple(count, plan->loops->rows) * depth;
}

static int64_t right_size(const gantry__cpu_attention_t *plan, int64_t count, int64_t depth) {
    return at_multiple(count, plan->loops->columns) * depth;
}

static void size_forward(const gantry__cpu_attention_t *plan, int64_t *sizes) {
    const gantry__attention_t *a = &plan->shape;
    sizes[GANTRY_CPU_AT_WIDE] = KEYS * greatest(a->dim, a->value_dim);
    sizes[GANTRY_CPU_AT_PACKED_A] = left_size(plan, QUERIES, KEYS);
    sizes[GANTRY_CPU_AT_PACKED_KEYS] = left_size(plan, KEYS, a->dim);
    sizes[GANTRY_CPU_AT_PACKED_VALUES] = right_size(plan, a->value_dim, KEYS);
    sizes[GANTRY_CPU_AT_PACKED_OTHER] =
        GANTRY_CPU_ATTENTION_ITEM / QUERIES * right_size(plan, QUERIES, a->dim);
    sizes[GANTRY_CPU_AT_ROWS] = 3 * GANTRY_CPU_ATTENTION_ITEM;
    sizes[GANTRY_CPU_AT_OUT] = GANTRY_CPU_ATTENTION_ITEM * a->value_dim;
}

static void size_backward(const gantry__cpu_attention_t *plan, int64_t *sizes) {
    const gantry__attention_t *a = &plan->shape;
    const int64_t widest = greatest(a->dim, a->value_dim);
    const bool is_narrow = plan->dtype != gantry__attention_sum_type(plan->dtype);
    sizes[GANTRY_CPU_AT_WIDE] = 2 * KEYS * widest;
    sizes[GANTRY_CPU_AT_PACKED_A] =
        greatest(left_size(plan, QUERIES, greatest(widest, KEYS)), left_size(plan, KEYS, QUERIES));
    sizes[GANTRY_CPU_AT_PACKED_KEYS] = right_size(plan, KEYS, a->dim);
    sizes[GANTRY_CPU_AT_PACKED_VALUES] = right_size(plan, KEYS, a->value_dim);
    sizes[GANTRY_CPU_AT_PACKED_OTHER] = right_size(plan, widest, KEYS);
    sizes[GANTRY_CPU_AT_SLOPES] = QUERIES * KEYS;
    sizes[GANTRY_CPU_AT_CAPS] = plan->softcap > 0 ? QUERIES * KEYS : 0;
    sizes[GANTRY_CPU_AT_ROWS] = a->queries;
    sizes[GANTRY_CPU_AT_OUT] =
        is_narrow ? a->keys * (a->dim + a->value_dim) + a->queries * a->dim : 0;
}

/* Sets the places of the parts of a unit's scratch. */
static void place_parts(gantry__cpu_attention_t *plan, bool is_gradient) {
    int64_t sizes[GANTRY_CPU_AT_COUNT] = {0};
    sizes[GANTRY_CPU_AT_SCORES] = QUERIES * KEYS;
    if (is_gradient)
        size_backward(plan, sizes);
    else
        size_forward(plan, sizes);
    plan->unit_elements = 0;
    for (int i = 0; i < GANTRY_CPU_AT_COUNT; ++i) {
        plan->places[i] = plan->unit_elements;
        plan->unit_elements += at_multiple(sizes[i], 16);
    }
}

static int64_t units_of(const gantry_op_call_t *call, int64_t items) {
    gantry__cpu_pool_t *pool = call->device->pool;
    const int64_t threads = pool ? (int64_t)gantry__cpu_pool_threads(pool) : 1;
    return gantry__least(items, gantry__least(threads, MOST_UNITS));
}

typedef struct attention_units_t {
    const gantry__cpu_attention_t *plan;
    gantry__cpu_attention_fn run;
} attention_units_t;

static void run_attention_units(void *context, int64_t begin, int64_t end) {
    const attention_units_t *units = context;
    for (int64_t unit = begin; unit < end; ++unit) units->run(units->plan, unit);
}

static int32_t run_attention(gantry_op_call_t *call, gantry__cpu_attention_t *plan,
                             bool is_gradient) {
    const int level = gantry__cpu_simd_level(call->device);
    const int32_t sum_type = gantry__attention_sum_type(plan->dtype);
    plan->loops = GANTRY_CPU_PICK(level, gemm_loops)(sum_type);
    plan->units = units_of(call, plan->items);
    place_parts(plan, is_gradient);
    gantry_span_t span;
    const uint64_t bytes = (uint64_t)(plan->units * plan->unit_elements) * gantry__k_size(sum_type);
    GANTRY__TRY(call->services->scratch(call, bytes, &span));
    plan->scratch = (char *)(uintptr_t)(span.region + span.offset_bytes);
    attention_units_t units = {plan,
                               GANTRY_CPU_PICK(level, attention_find)(plan->dtype, is_gradient)};
    gantry__cpu_parallel_for(call->device, plan->units, 1, run_attention_units, &units);
    return GANTRY_OK;
}

static gantry__cpu_attention_t attention_plan_of(const gantry_op_call_t *call) {
    return (gantry__cpu_attention_t){.shape = gantry__attention_of(call),
                                     .dtype = call->inputs[0]->dtype,
                                     .scale = gantry__k_attr(call, "scale")->f,
                                     .softcap = gantry__k_attr(call, "softcap")->f,
                                     .query = call->inputs[0]->data,
                                     .key = call->inputs[1]->data,
                                     .value = call->inputs[2]->data,
                                     .mask = call->inputs[3]->data};
}

static int32_t cpu_compute_attention(gantry_op_call_t *call) {
    gantry__cpu_attention_t plan = attention_plan_of(call);
    const gantry__attention_t *a = &plan.shape;
    plan.out = call->outputs[0]->data;
    plan.sums = call->outputs[1]->data;
    plan.items = a->batch * a->heads *
                 ((a->queries + GANTRY_CPU_ATTENTION_ITEM - 1) / GANTRY_CPU_ATTENTION_ITEM);
    return plan.items == 0 ? GANTRY_OK : run_attention(call, &plan, false);
}

static int32_t cpu_compute_attention_grad(gantry_op_call_t *call) {
    gantry__cpu_attention_t plan = attention_plan_of(call);
    plan.result = call->inputs[4]->data;
    plan.result_sums = call->inputs[5]->data;
    plan.result_slope = call->inputs[6]->data;
    for (int i = 0; i < 3; ++i) {
        const gantry_arg_t *out = call->outputs[i];
        plan.slopes[i] = out->data;
        if (out->element_count > 0)
            memset(out->data, 0, (size_t)out->element_count * gantry__k_size(out->dtype));
    }
    plan.items = plan.shape.batch * plan.shape.key_heads;
    if (plan.items == 0 || plan.shape.queries == 0 || plan.shape.keys == 0) return GANTRY_OK;
    return run_attention(call, &plan, true);
}

GANTRY_ATTENTION_OPS(GANTRY_K_CPU_KERNEL)

const gantry_kernel_def_t *const gantry__cpu_attention_kernels[] = {
    GANTRY_ATTENTION_OPS(GANTRY_K_CPU_KERNEL_POINTER)};
const uint32_t gantry__cpu_attention_kernel_count =
    GANTRY_K_COUNT_OF(gantry__cpu_attention_kernels);
