/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedMatMul with "places" on the CPU: results whose channels come first, of rows [images *
 * places, channels] or of images whose channels come first, too.
 *
 * Such images need no move: of each, the filter, transposed, times its planes is the result.
 *
 *     y [outputs, places] = w^T [outputs, channels] x [channels, places]
 *
 * Its elements have the bits of a product of rows where both are computed by packed panels, which
 * add along the channels. Elsewhere rows are moved to scratch memory, and from there. */
#include "host/try.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/matmul/matmul_epilogue.h"
#include "kernels/matmul/matmul_shape.h"
#include "kernels/move/move_cpu.h"

#define FEWEST_PLACES 64 /* of an image: fewer do not fill panels */

/* The products of all images, if their bits are those of rows. */
static bool matmul_cpu_find_images(const gantry_op_call_t *call, gantry__cpu_groups_t *out) {
    const gantry_arg_t *x = call->inputs[0], *w = call->inputs[1], *y = call->outputs[0];
    const int64_t channels = w->dims[0], outputs = w->dims[1], area = y->dims[2] * y->dims[3];
    const bool keeps_rows = gantry__k_keeps_rows(call) && GANTRY__TYPE_IS(y->dtype, FLOATS);
    const gantry__cpu_gemm_t rows = {.m = y->dims[0] * area,
                                     .n = outputs,
                                     .k = channels,
                                     .a_row = channels,
                                     .a_column = 1,
                                     .b_row = outputs,
                                     .b_column = 1,
                                     .keeps_rows = keeps_rows};
    *out = (gantry__cpu_groups_t){
        .gemm = {.m = outputs,
                 .n = area,
                 .k = channels,
                 .a = w->data,
                 .a_row = 1,
                 .a_column = outputs,
                 .b = x->data,
                 .b_row = area,
                 .b_column = 1,
                 .c = y->data,
                 .c_row = area,
                 .c_column = 1,
                 .keeps_rows = keeps_rows},
        .loops = GANTRY_CPU_PICK(gantry__cpu_simd_level(call->device), gemm_loops)(y->dtype),
        .count = y->dims[0],
        .b_step = channels * area,
        .c_step = outputs * area};
    return x->rank == 4 && gantry__k_attr(call, "program")->i == 0 &&
           !gantry__k_attr_int(call, "transpose_b", 0) && gantry__k_size(y->dtype) > 2 &&
           area >= FEWEST_PLACES && channels > 0 &&
           gantry__cpu_is_blocked(call->device, &rows, y->dtype) &&
           gantry__cpu_is_blocked(call->device, &out->gemm, y->dtype);
}

/* The call with rows in scratch memory: of its result, and of images. */
typedef struct rows_call_t {
    gantry_op_call_t call;
    gantry_arg_t x, y, *outputs[1];
    const gantry_arg_t *inputs[GANTRY_K_FUSED_MOST_INPUTS + 1];
    int64_t x_dims[2], y_dims[2];
} rows_call_t;

static void matmul_cpu_place_rows(gantry_arg_t *arg, int64_t dims[2], int64_t rows, int64_t columns,
                                  gantry_span_t *scratch) {
    const uint64_t bytes = (uint64_t)(rows * columns) * gantry__k_size(arg->dtype);
    dims[0] = rows;
    dims[1] = columns;
    arg->rank = 2;
    arg->dims = dims;
    arg->span = *scratch;
    arg->data = (void *)(uintptr_t)(scratch->region + scratch->offset_bytes);
    scratch->offset_bytes += (bytes + 63) / 64 * 64;
}

static int32_t matmul_cpu_make_rows(gantry_op_call_t *call, rows_call_t *rows) {
    const gantry_arg_t *x = call->inputs[0], *y = call->outputs[0];
    const int64_t area = y->dims[2] * y->dims[3];
    const uint32_t size = gantry__k_size(y->dtype);
    const bool is_planar = x->rank == 4;
    gantry_span_t scratch;
    rows->call = *call;
    rows->x = *x;
    rows->y = *y;
    GANTRY__TRY(call->services->scratch(
        call,
        (uint64_t)((is_planar ? x->element_count : 0) + y->element_count) * size + 2 * (uint64_t)64,
        &scratch));
    matmul_cpu_place_rows(&rows->y, rows->y_dims, y->dims[0] * area, y->dims[1], &scratch);
    rows->outputs[0] = &rows->y;
    rows->call.outputs = rows->outputs;
    if (!is_planar) return GANTRY_OK;
    const int64_t dims[] = {x->dims[0], x->dims[1], area};
    matmul_cpu_place_rows(&rows->x, rows->x_dims, x->dims[0] * area, x->dims[1], &scratch);
    for (uint32_t i = 0; i < call->input_count; ++i) rows->inputs[i] = call->inputs[i];
    rows->inputs[0] = &rows->x;
    rows->call.inputs = rows->inputs;
    gantry__cpu_turn(call->device, size, dims, x->data, rows->x.data);
    return GANTRY_OK;
}

int32_t gantry__cpu_matmul_planes(gantry_op_call_t *call) {
    const gantry_arg_t *y = call->outputs[0];
    const int64_t dims[] = {y->dims[0], y->dims[2] * y->dims[3], y->dims[1]};
    gantry__cpu_groups_t images;
    rows_call_t rows;
    if (matmul_cpu_find_images(call, &images)) return gantry__cpu_multiply_groups(call, &images);
    GANTRY__TRY(matmul_cpu_make_rows(call, &rows));
    GANTRY__TRY(gantry__cpu_matmul_rows(&rows.call));
    gantry__cpu_turn(call->device, gantry__k_size(y->dtype), dims, rows.y.data, y->data);
    return GANTRY_OK;
}
