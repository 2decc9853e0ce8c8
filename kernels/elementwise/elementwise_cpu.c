/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of ops/elementwise.def on the CPU: from a call to its loop. Small calls take the shortest
 * way: the numbers of elements show whether the form is dense or has a scalar, and the loop runs at
 * once. */
#include "kernels/elementwise/elementwise_cpu.h"
#include "kernels/elementwise/number_bits.h"

#define SMALL_COUNT 4096 /* so few elements are never split between threads */

typedef struct element_op_t {
    uint32_t row;        /* GANTRY_K_ROW_... */
    bool costly;         /* several dozen instructions per element */
    const char *failure; /* the message for a bad element */
} element_op_t;

static const gantry__cpu_loops_t *elementwise_cpu_find_loops(const gantry_op_call_t *call,
                                                             uint32_t row, uint32_t column) {
    return &GANTRY_CPU_PICK(call->device->simd_level, element_loops)(column)[row];
}

void gantry__cpu_map_find(gantry__cpu_map_t *map, const gantry_op_call_t *call, uint32_t row) {
    const int level = call->device->simd_level;
    const int32_t dtype = call->inputs[0]->dtype, out_dtype = call->outputs[0]->dtype;
    const uint32_t column = gantry__cpu_type_column(dtype);

    map->simd_level = level;
    map->x_bytes = map->y_bytes = gantry__k_size(dtype);
    map->out_bytes = gantry__k_size(out_dtype);
    if (column < GANTRY_CPU_TYPES) {
        map->loops = elementwise_cpu_find_loops(call, row, column);
        map->loop = map->loops->dense;
    } else if (column < GANTRY_CPU_RARE_END) {
        map->loop = GANTRY_CPU_PICK(level, dense_loop)(row, column);
    } else {
        map->loop = elementwise_cpu_find_loops(call, row, GANTRY_CPU_COLUMN_f32)->dense;
        map->widen = GANTRY_CPU_PICK(level, convert_loop)(column, GANTRY_CPU_COLUMN_f32, 0);
        map->narrow = out_dtype != dtype
                          ? NULL
                          : GANTRY_CPU_PICK(level, convert_loop)(GANTRY_CPU_COLUMN_f32, column, 0);
    }
}

static int64_t elementwise_cpu_grain_of(const element_op_t *op) {
    return op->costly ? GANTRY_CPU_COSTLY_GRAIN : GANTRY_CPU_CHEAP_GRAIN;
}

static int32_t elementwise_cpu_finish(gantry_op_call_t *call, const element_op_t *op, int32_t bad) {
    return bad == 0 ? GANTRY_OK : call->services->fail(call, GANTRY_INVALID_ARGUMENT, op->failure);
}

/* Computes one or two operands of a type that does not have loops of all forms. */
static int32_t compute_by_blocks(gantry_op_call_t *call, const element_op_t *op,
                                 const gantry_arg_t *const *operands, int32_t count) {
    const gantry_arg_t *out = call->outputs[0];
    gantry__cpu_map_t map = {
        .x = operands[0]->data, .y = operands[count - 1]->data, .out = out->data};
    gantry__k_plan_t plan;

    gantry__cpu_map_find(&map, call, op->row);
    gantry__k_plan_broadcast(&plan, out, operands, count);
    return elementwise_cpu_finish(
        call, op,
        gantry__cpu_map_broadcast(call->device, &map, &plan, out->element_count,
                                  elementwise_cpu_grain_of(op)));
}

static int32_t run_unary(gantry_op_call_t *call, const element_op_t *op) {
    const gantry_arg_t *x = call->inputs[0];
    const gantry_arg_t *out = call->outputs[0];
    const int64_t count = out->element_count;
    const uint32_t column = gantry__cpu_type_column(x->dtype);

    if (column >= GANTRY_CPU_TYPES) return compute_by_blocks(call, op, call->inputs, 1);
    const gantry__cpu_loop_fn loop = elementwise_cpu_find_loops(call, op->row, column)->dense;
    if (count <= SMALL_COUNT) {
        return elementwise_cpu_finish(call, op, loop(x->data, NULL, out->data, count));
    }
    gantry__cpu_map_t map = {.loop = loop,
                             .x = x->data,
                             .y = x->data,
                             .out = out->data,
                             .x_bytes = gantry__k_size(x->dtype),
                             .y_bytes = 0,
                             .out_bytes = gantry__k_size(out->dtype),
                             .simd_level = call->device->simd_level};
    return elementwise_cpu_finish(
        call, op, gantry__cpu_map_dense(call->device, &map, count, elementwise_cpu_grain_of(op)));
}

static int32_t cpu_compute_unary(gantry_op_call_t *call) {
    return run_unary(call, call->kernel->data);
}

static int32_t cpu_compute_choice(gantry_op_call_t *call) {
    const element_op_t *op = call->kernel->data;

    return run_unary(call, op + gantry__k_variant(call));
}

/* The loop for operands that are as large as the output, or scalars; NULL if one of them is
 * broadcast in another way. */
static gantry__cpu_loop_fn dense_form(const gantry__cpu_loops_t *loops, int64_t x_count,
                                      int64_t y_count, int64_t count) {
    if (x_count == count) {
        return y_count == count ? loops->dense : y_count == 1 ? loops->y_scalar : NULL;
    }
    return x_count == 1 && y_count == count ? loops->x_scalar : NULL;
}

static int32_t run_binary(gantry_op_call_t *call, const element_op_t *op, const gantry_arg_t *x,
                          const gantry_arg_t *y) {
    const gantry_arg_t *const operands[2] = {x, y};
    const gantry_arg_t *out = call->outputs[0];
    const int64_t count = out->element_count;
    const uint32_t column = gantry__cpu_type_column(x->dtype);
    gantry__k_plan_t plan;

    if (column >= GANTRY_CPU_TYPES) return compute_by_blocks(call, op, operands, 2);
    const gantry__cpu_loops_t *loops = elementwise_cpu_find_loops(call, op->row, column);
    const gantry__cpu_loop_fn loop = dense_form(loops, x->element_count, y->element_count, count);
    if (loop && count <= SMALL_COUNT) {
        return elementwise_cpu_finish(call, op, loop(x->data, y->data, out->data, count));
    }
    gantry__cpu_map_t map = {.loop = loop ? loop : loops->dense,
                             .loops = loops,
                             .x = x->data,
                             .y = y->data,
                             .out = out->data,
                             .x_bytes = gantry__k_size(x->dtype),
                             .y_bytes = gantry__k_size(y->dtype),
                             .out_bytes = gantry__k_size(out->dtype),
                             .simd_level = call->device->simd_level};
    if (loop) {
        map.x_bytes *= x->element_count == count;
        map.y_bytes *= y->element_count == count;
        return elementwise_cpu_finish(
            call, op,
            gantry__cpu_map_dense(call->device, &map, count, elementwise_cpu_grain_of(op)));
    }
    gantry__k_plan_broadcast(&plan, out, operands, 2);
    return elementwise_cpu_finish(
        call, op,
        gantry__cpu_map_broadcast(call->device, &map, &plan, count, elementwise_cpu_grain_of(op)));
}

static int32_t cpu_compute_binary(gantry_op_call_t *call) {
    return run_binary(call, call->kernel->data, call->inputs[0], call->inputs[1]);
}

static int32_t cpu_compute_binary_choice(gantry_op_call_t *call) {
    const element_op_t *op = call->kernel->data;

    return run_binary(call, op + gantry__k_variant(call), call->inputs[0], call->inputs[1]);
}

/* Computes an op whose y is made from attributes. */
static int32_t cpu_compute_value(gantry_op_call_t *call) {
    const int32_t dtype = call->inputs[0]->dtype;
    uint64_t bits = gantry__bits_placed(gantry__k_value_bits(call), gantry__k_size(dtype));
    const gantry_arg_t y = {
        .struct_size = sizeof y, .dtype = dtype, .element_count = 1, .data = &bits};

    return run_binary(call, call->kernel->data, call->inputs[0], &y);
}

/* ---- definitions, one per line of ops/elementwise.def ---- */

#define FAILURE_NEVER NULL
#define FAILURE_ZERO_DIVISOR "Integer division by zero"
#define FAILURE_NEGATIVE_EXPONENT "Integers to negative integer powers are not allowed"

static const element_op_t ops[] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    {GANTRY_K_ROW_##name, GANTRY_K_COSTLY_##math, FAILURE_##check},
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
};

#define GANTRY_ELEMENTWISE GANTRY_K_ELEMENTWISE_KERNEL
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE

const gantry_kernel_def_t *const gantry__cpu_elementwise_kernels[] = {
#define GANTRY_ELEMENTWISE GANTRY_K_ELEMENTWISE_POINTER
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
    GANTRY_K_ELEMENTWISE_OTHERS(GANTRY_K_CPU_KERNEL_POINTER)};
const uint32_t gantry__cpu_elementwise_kernel_count =
    GANTRY_K_COUNT_OF(gantry__cpu_elementwise_kernels);
