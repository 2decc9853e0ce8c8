/* The ops of elementwise.def on the CPU: from a call to the loop that serves it. Small calls take the shortest way: one
 * look at the element counts tells a dense or scalar form, and the loop runs at once. */
#include "cpu/cpu_elementwise.h"

#define SMALL_COUNT 4096 /* elements that are not worth splitting for any op */

typedef struct element_op_t {
    uint32_t row;   /* GANTRY_CPU_OP_... */
    int32_t costly; /* several dozen instructions per element */
} element_op_t;

static const gantry__cpu_loops_t *find_loops(const gantry_op_call_t *call, const element_op_t *op)
{
    const gantry__cpu_loops_t *table = GANTRY_CPU_PICK(call->device->simd_level, element_loops)();

    return &table[op->row * GANTRY_CPU_TYPES + gantry__cpu_type_column(call->inputs[0]->dtype)];
}

static int32_t finish(gantry_op_call_t *call, int32_t bad)
{
    if (bad == 0) {
        return GANTRY_K_OK;
    }
    return call->services->fail(call, GANTRY_K_INVALID_ARGUMENT, "Integer division by zero");
}

static int32_t compute_unary(gantry_op_call_t *call)
{
    const element_op_t *op = call->kernel->data;
    const gantry_arg_t *x = call->inputs[0];
    const gantry_arg_t *out = call->outputs[0];
    const int64_t count = out->element_count;
    const gantry__cpu_loop_fn loop = find_loops(call, op)->dense;
    const int64_t grain = op->costly ? GANTRY_CPU_COSTLY_GRAIN : GANTRY_CPU_CHEAP_GRAIN;

    if (count <= SMALL_COUNT) {
        return finish(call, loop(x->data, NULL, out->data, count));
    }
    gantry__cpu_map_t map = {.loop = loop,
                             .x = x->data,
                             .y = x->data,
                             .out = out->data,
                             .x_bytes = gantry_k_size(x->dtype),
                             .y_bytes = 0,
                             .out_bytes = gantry_k_size(out->dtype),
                             .simd_level = call->device->simd_level};
    return finish(call, gantry__cpu_map_dense(call->device, &map, count, grain));
}

/* The loop for operands that are as large as the output or scalars, NULL when one is broadcast otherwise. */
static gantry__cpu_loop_fn dense_form(const gantry__cpu_loops_t *loops, int64_t x_count, int64_t y_count, int64_t count)
{
    if (x_count == count) {
        return y_count == count ? loops->dense : y_count == 1 ? loops->y_scalar : NULL;
    }
    return x_count == 1 && y_count == count ? loops->x_scalar : NULL;
}

static int32_t compute_binary(gantry_op_call_t *call)
{
    const element_op_t *op = call->kernel->data;
    const gantry_arg_t *x = call->inputs[0];
    const gantry_arg_t *y = call->inputs[1];
    const gantry_arg_t *out = call->outputs[0];
    const int64_t count = out->element_count;
    const gantry__cpu_loops_t *loops = find_loops(call, op);
    const gantry__cpu_loop_fn loop = dense_form(loops, x->element_count, y->element_count, count);
    gantry_k_plan_t plan;

    if (loop != NULL && count <= SMALL_COUNT) {
        return finish(call, loop(x->data, y->data, out->data, count));
    }
    gantry__cpu_map_t map = {.loop = loop,
                             .loops = loops,
                             .x = x->data,
                             .y = y->data,
                             .out = out->data,
                             .x_bytes = gantry_k_size(x->dtype),
                             .y_bytes = gantry_k_size(y->dtype),
                             .out_bytes = gantry_k_size(out->dtype),
                             .simd_level = call->device->simd_level};
    if (loop != NULL) {
        map.x_bytes *= x->element_count == count;
        map.y_bytes *= y->element_count == count;
        return finish(call, gantry__cpu_map_dense(call->device, &map, count, GANTRY_CPU_CHEAP_GRAIN));
    }
    gantry_k_plan_broadcast(&plan, out, call->inputs, 2);
    return finish(call, gantry__cpu_map_broadcast(call->device, &map, &plan, count, GANTRY_CPU_CHEAP_GRAIN));
}

/* ---- definitions, one per line of elementwise.def ---- */

static const gantry_type_constraint_t types_NUMBERS[] = {{"T", GANTRY_K_NUMBERS}};
static const gantry_type_constraint_t types_FLOATS[] = {{"T", GANTRY_K_FLOATS}};
static const gantry_type_constraint_t types_ALL[] = {{"T", GANTRY_K_ALL}};

#define CONSTRAINTS_NUMBERS .types = types_NUMBERS, .type_count = 1
#define CONSTRAINTS_FLOATS .types = types_FLOATS, .type_count = 1
#define CONSTRAINTS_ALL .types = types_ALL, .type_count = 1
#define CONSTRAINTS_BOOLS .types = NULL, .type_count = 0 /* the op itself takes bool alone */
#define COSTLY_NUMBERS 0
#define COSTLY_FLOATS 1
#define COSTLY_ALL 0
#define COSTLY_BOOLS 0
#define COMPUTE_1 compute_unary
#define COMPUTE_2 compute_binary

#define GANTRY_ELEMENTWISE(name, arity, types_, result, check, expression)         \
    static const element_op_t op_##name = {GANTRY_CPU_OP_##name, COSTLY_##types_}; \
    static const gantry_kernel_def_t kernel_##name = {                             \
        .struct_size = sizeof(gantry_kernel_def_t),                                \
        .op = #name,                                                               \
        CONSTRAINTS_##types_,                                                      \
        .compute = COMPUTE_##arity,                                                \
        .data = &op_##name,                                                        \
    };
#include "portable/elementwise.def"
#undef GANTRY_ELEMENTWISE

const gantry_kernel_def_t *const gantry__cpu_elementwise_kernels[] = {
#define GANTRY_ELEMENTWISE(name, arity, types, result, check, expression) &kernel_##name,
#include "portable/elementwise.def"
#undef GANTRY_ELEMENTWISE
    &gantry__cpu_cast_kernel,       &gantry__cpu_select_kernel,    &gantry__cpu_fill_kernel,
    &gantry__cpu_zeros_like_kernel, &gantry__cpu_ones_like_kernel, &gantry__cpu_range_kernel,
    &gantry__cpu_add_n_kernel,      &gantry__cpu_bias_add_kernel,
};
const uint32_t gantry__cpu_elementwise_kernel_count =
    sizeof gantry__cpu_elementwise_kernels / sizeof gantry__cpu_elementwise_kernels[0];
