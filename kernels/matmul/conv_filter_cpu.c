/* SPDX-License-Identifier: Apache-2.0 */
/* _ImagesFilterGradient of the CPU backend, the gradient of a convolution's filter, float32 and
 * float64: conv_filter.cl with the panels and the loops of matmul_cpu_simd.c. */
#include <string.h>

#include "host/try.h"
#include "kernels/matmul/conv_filter_shape.h"
#include "kernels/matmul/matmul_cpu.h"

#define LANES_PER_THREAD 4
#define FILTER_WORK (INT64_C(1) << 18) /* so many multiplications pay for a thread */

typedef struct filter_t {
    gantry__filter_t shape; /* must be first, because the text knows this struct by it */
    const gantry__cpu_gemm_loops_t *loops;
    const void *images, *grad;
    void *memory, *parts, *out;
    bool is_double;
} filter_t;

static const gantry__cpu_gemm_loops_t *filter_loops_of(const gantry__filter_t *shape) {
    return ((const filter_t *)(const void *)shape)->loops;
}

static void pack_filter_grad(const gantry__filter_t *shape, const void *grad, int64_t columns,
                             int64_t places, void *to) {
    const gantry__cpu_gemm_t gemm = {.b = grad, .b_row = shape->n, .b_column = 1};
    filter_loops_of(shape)->pack_b(&gemm, 0, columns, 0, places, to);
}

#define GANTRY_FILTER_SPACE
#define GANTRY_FILTER_PACK(q, grad, columns, places, to) \
    pack_filter_grad(q, grad, columns, places, to)
#define GANTRY_FILTER_MULTIPLY(q, a, a_step, b, b_panel, places, c, rows, columns) \
    filter_loops_of(q)->multiply_steps(a, a_step, b, b_panel, places, c, (q)->n, rows, columns)

#define GANTRY_FILTER_T float
#define GANTRY_FILTER_NAME(name) name##_of_float
#include "kernels/matmul/conv_filter.cl"
#undef GANTRY_FILTER_T
#undef GANTRY_FILTER_NAME
#define GANTRY_FILTER_T double
#define GANTRY_FILTER_NAME(name) name##_of_double
#include "kernels/matmul/conv_filter.cl"

static void sum_lanes(void *context, int64_t begin, int64_t end) {
    const filter_t *filter = context;
    const gantry__filter_t *shape = &filter->shape;
    const int64_t units = shape->tiles * shape->chunks, at = begin * shape->lane_elements;
    for (int64_t unit = units * begin / shape->lanes; unit < units * end / shape->lanes; ++unit) {
        if (filter->is_double) {
            sum_filter_unit_of_double(shape, filter->images, filter->grad, filter->parts, unit,
                                      (double *)filter->memory + at);
        } else {
            sum_filter_unit_of_float(shape, filter->images, filter->grad, filter->parts, unit,
                                     (float *)filter->memory + at);
        }
    }
}

static void add_filter_chunks(void *context, int64_t begin, int64_t end) {
    const filter_t *filter = context;
    if (filter->is_double) {
        add_filter_chunks_of_double(&filter->shape, filter->parts, filter->out, begin, end);
    } else {
        add_filter_chunks_of_float(&filter->shape, filter->parts, filter->out, begin, end);
    }
}

static int32_t take_filter_memory(gantry_op_call_t *call, filter_t *filter) {
    const uint64_t size = gantry__k_size(call->outputs[0]->dtype),
                   lanes = (uint64_t)gantry__filter_lane_memory(&filter->shape) * size,
                   parts = (uint64_t)gantry__filter_part_memory(&filter->shape) * size;
    gantry_span_t span;
    GANTRY__TRY(call->services->scratch(call, lanes + parts, &span));
    filter->memory = (char *)(uintptr_t)(span.region + span.offset_bytes);
    filter->parts = parts > 0 ? (char *)filter->memory + lanes : filter->out;
    return GANTRY_OK;
}

static int32_t conv_filter_compute(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    filter_t filter = {
        .loops = GANTRY_CPU_PICK(gantry__cpu_simd_level(call->device), gemm_loops)(out->dtype),
        .images = call->inputs[0]->data,
        .grad = call->inputs[2]->data,
        .out = out->data,
        .is_double = out->dtype == GANTRY_FLOAT64};
    if (call->inputs[2]->element_count == 0) {
        memset(out->data, 0, (size_t)out->element_count * gantry__k_size(out->dtype));
        return GANTRY_OK;
    }
    gantry__filter_t *shape = &filter.shape;
    gantry__filter_fill(call, filter.loops->rows, filter.loops->columns,
                        LANES_PER_THREAD * gantry__k_units(call), shape);
    GANTRY__TRY(take_filter_memory(call, &filter));
    gantry__cpu_parallel_for(call->device, shape->lanes,
                             FILTER_WORK * shape->lanes / (shape->m * shape->n * shape->k) + 1,
                             sum_lanes, &filter);
    if (shape->chunks > 1)
        gantry__cpu_parallel_for(call->device, shape->m * shape->n, FILTER_WORK / shape->chunks,
                                 add_filter_chunks, &filter);
    return GANTRY_OK;
}

static const gantry_type_constraint_t types[] = {{"T", GANTRY_DTYPES_FLOATS}};
static const char *const hosts[] = {"filter_sizes"};
const gantry_kernel_def_t gantry__cpu_conv_filter_kernel =
    GANTRY_K_DEFINITION("_ImagesFilterGradient", types, 1, hosts, 1,
                        .supports = gantry__filter_is_whole, .compute = conv_filter_compute);
