/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax over the last axis on devices. The source is kernels/norm/softmax.cl, and
 * for GPUs kernels/norm/softmax_tile.cl. */
#include <stdbool.h>

#include "kernels/common/device_kernel.h"
#include "kernels/reduce/reduce_device.h"
#include "host/try.h"
#include "kernels/common/work.h"

/* A CPU computes rows of up to this length, so many at a time. */
#define SHORT_LENGTH 64
#define SHORT_ROWS 64
/* Work-groups for each core of a CPU. */
#define GROUPS_PER_UNIT 16
/* The longest row whose tiles' sums are one chunk of the tree. */
#define TILED_LENGTH_MOST ((int64_t)GANTRY_REDUCE_CHUNK * GANTRY_REDUCE_CHUNK)

GANTRY_K_PROGRAM(softmax_source, "portable/softmax", gantry__text_half, gantry__text_math_float32,
                 gantry__text_math_float64, gantry__text_fold_lanes, gantry__text_softmax,
                 gantry__text_row_tile, gantry__text_softmax_tile);

/* lanes must be the width of explicit vectors (GANTRY_MATH_LANES), or 1. */
static int32_t softmax_device_find_kernel(gantry_op_call_t *call, const char *name, uint32_t lanes,
                                          gantry_backend_kernel_t **out_kernel) {
    gantry__k_options_t options = gantry__k_options_of_type(call, call->inputs[0]->dtype);
    gantry__k_define(&options, "SOFTMAX_LOG", call->kernel == &gantry__portable_log_softmax_kernel);
    if (lanes > 1) gantry__k_define(&options, "MATH_LANES", lanes);
    return call->services->kernel(call, &softmax_source, options.text, name, out_kernel);
}

/* 64, or for short rows the smallest power of two that is not below the length. */
static int64_t lanes_of(int64_t length) {
    int64_t lanes = GANTRY_REDUCE_LANES;
    while (lanes / 2 >= length) lanes /= 2;
    return lanes;
}

/* Computes rows of at most 4096 elements by one launch. */
static int32_t submit_short(gantry_op_call_t *call, int64_t rows, int64_t length) {
    bool on_cpu = gantry__k_is_serial(call), is_short = length <= SHORT_LENGTH;
    const char *name = !on_cpu ? "softmax_group" : is_short ? "softmax_transposed" : "softmax_item";
    int64_t lanes = lanes_of(length), each = 1;
    gantry_backend_kernel_t *kernel = NULL;
    GANTRY__TRY(softmax_device_find_kernel(
        call, name, on_cpu && !is_short ? gantry__k_math_lanes(call) : 1, &kernel));
    if (on_cpu) {
        int64_t groups = (int64_t)call->device_info->compute_units * GROUPS_PER_UNIT;
        each = groups > 0 ? (rows + groups - 1) / groups : 1;
        each = is_short ? (each + SHORT_ROWS - 1) / SHORT_ROWS * SHORT_ROWS : each;
    }
    gantry_launch_arg_t args[] = {
        gantry__k_span(call->inputs[0]),          gantry__k_span(call->outputs[0]),
        gantry__k_scalar(&length, sizeof length), gantry__k_scalar(&rows, sizeof rows),
        gantry__k_scalar(&lanes, sizeof lanes),   gantry__k_scalar(&each, sizeof each)};
    if (on_cpu)
        return gantry__k_launch_1d(call, kernel, (uint64_t)((rows + each - 1) / each), 1, args, 6);
    uint64_t items = (uint64_t)(rows * lanes);
    return gantry__k_launch_1d(call, kernel, items, gantry__k_local_for(call, items), args, 5);
}

/* ---- GPUs: softmax_tile.cl ---- */

/* Whether the driver allows a kernel the groups of tiles. If it cannot be built, the launch reports
 * that. */
static bool allows_tiles(gantry_op_call_t *call, const char *name) {
    gantry_backend_kernel_t *kernel = NULL;
    return softmax_device_find_kernel(call, name, 1, &kernel) != GANTRY_OK ||
           gantry__k_group_limit(call, kernel) >= GANTRY_REDUCE_FEW_ITEMS;
}

static bool are_few_rows(gantry_op_call_t *call, int64_t rows, int64_t length) {
    return length <= GANTRY_REDUCE_CHUNK && gantry__reduce_are_few(call, rows, length) &&
           allows_tiles(call, "softmax_few");
}

static bool are_tiled_rows(gantry_op_call_t *call, int64_t length) {
    return length > GANTRY_REDUCE_CHUNK && length <= TILED_LENGTH_MOST &&
           gantry__reduce_has_few_items(call) && allows_tiles(call, "softmax_tile_most") &&
           allows_tiles(call, "softmax_tile_sum") && allows_tiles(call, "softmax_tile_result");
}

static int32_t softmax_launch_tiles(gantry_op_call_t *call, const char *name, uint64_t groups,
                                    const gantry_launch_arg_t *args, uint32_t arg_count) {
    gantry_backend_kernel_t *kernel = NULL;
    GANTRY__TRY(softmax_device_find_kernel(call, name, 1, &kernel));
    return gantry__k_launch_groups(call, kernel, groups, GANTRY_REDUCE_FEW_ITEMS, args, arg_count);
}

static int32_t submit_few(gantry_op_call_t *call, int64_t rows, int64_t length) {
    const gantry_launch_arg_t args[] = {gantry__k_span(call->inputs[0]),
                                        gantry__k_span(call->outputs[0]),
                                        gantry__k_scalar(&length, sizeof length)};
    return softmax_launch_tiles(call, "softmax_few", (uint64_t)rows, args, 3);
}

static int32_t submit_tiles(gantry_op_call_t *call, int64_t rows, int64_t length) {
    const int64_t tiles = gantry__reduce_chunks(length);
    const uint64_t groups = (uint64_t)(rows * tiles);
    const uint64_t size =
        gantry__k_size(gantry__reduce_tree_way(GANTRY_TREE_MAX, call->inputs[0]->dtype).acc);
    gantry_span_t most, sums, largest;
    GANTRY__TRY(call->services->scratch(call, groups * size, &most));
    GANTRY__TRY(call->services->scratch(call, groups * size, &sums));
    GANTRY__TRY(call->services->scratch(call, (uint64_t)rows * size, &largest));
    const gantry_launch_arg_t in = gantry__k_span(call->inputs[0]);
    const gantry_launch_arg_t out = gantry__k_span(call->outputs[0]);
    const gantry_launch_arg_t tile_most = gantry__k_raw_span(most);
    const gantry_launch_arg_t tile_sums = gantry__k_raw_span(sums);
    const gantry_launch_arg_t row_most = gantry__k_raw_span(largest);
    const gantry_launch_arg_t elements = gantry__k_scalar(&length, sizeof length);
    const gantry_launch_arg_t count = gantry__k_scalar(&tiles, sizeof tiles);
    const gantry_launch_arg_t most_args[] = {in, tile_most, elements, count};
    const gantry_launch_arg_t sum_args[] = {in, tile_most, row_most, tile_sums, elements, count};
    const gantry_launch_arg_t result_args[] = {in, row_most, tile_sums, out, elements, count};
    GANTRY__TRY(softmax_launch_tiles(call, "softmax_tile_most", groups, most_args, 4));
    GANTRY__TRY(softmax_launch_tiles(call, "softmax_tile_sum", groups, sum_args, 6));
    return softmax_launch_tiles(call, "softmax_tile_result", groups, result_args, 6);
}

/* Longer rows: reductions compute the largest element and the sum, and two launches, one between
 * them and one after them, compute the elements. */
static int32_t submit_long(gantry_op_call_t *call, int64_t rows, int64_t length) {
    const gantry_arg_t *input = call->inputs[0];
    const gantry_arg_t *output = call->outputs[0];
    gantry__reduce_way_t most = gantry__reduce_tree_way(GANTRY_TREE_MAX, input->dtype);
    gantry__reduce_way_t total = gantry__reduce_tree_way(GANTRY_TREE_SUM, most.out);
    uint64_t size = gantry__k_size(most.out);
    int64_t pieces = gantry__reduce_chunks(length);
    uint32_t local = gantry__k_is_serial(call) ? 1 : gantry__k_local_for(call, UINT64_MAX);
    const uint64_t groups = (uint64_t)(rows * pieces);
    /* the output keeps the terms; those of 16-bit floats are float32 and need scratch */
    gantry_span_t terms = output->span;
    gantry_span_t largest, sum;
    GANTRY__TRY(call->services->scratch(call, (uint64_t)rows * size, &largest));
    GANTRY__TRY(call->services->scratch(call, (uint64_t)rows * size, &sum));
    if (most.out != input->dtype)
        GANTRY__TRY(call->services->scratch(call, (uint64_t)(rows * length) * size, &terms));
    gantry_backend_kernel_t *term_kernel = NULL, *result_kernel = NULL;
    GANTRY__TRY(softmax_device_find_kernel(call, "softmax_terms", 1, &term_kernel));
    GANTRY__TRY(softmax_device_find_kernel(call, "softmax_result", 1, &result_kernel));
    gantry__reduce_shape_t shape;
    gantry__reduce_shape_plain(rows, length, 1, &shape);
    GANTRY__TRY(gantry__portable_reduce(call, &shape, &most, &input->span, &largest));
    const gantry_launch_arg_t row_length = gantry__k_scalar(&length, sizeof length),
                              row_pieces = gantry__k_scalar(&pieces, sizeof pieces);
    gantry_launch_arg_t term_args[] = {gantry__k_span(input), gantry__k_raw_span(largest),
                                       gantry__k_raw_span(terms), row_length, row_pieces};
    GANTRY__TRY(gantry__k_launch_groups(
        call, term_kernel, groups, gantry__k_local_within(call, term_kernel, local), term_args, 5));
    GANTRY__TRY(gantry__portable_reduce(call, &shape, &total, &terms, &sum));
    gantry_launch_arg_t result_args[] = {gantry__k_span(input),
                                         gantry__k_raw_span(largest),
                                         gantry__k_raw_span(sum),
                                         gantry__k_span(output),
                                         row_length,
                                         row_pieces};
    return gantry__k_launch_groups(call, result_kernel, groups,
                                   gantry__k_local_within(call, result_kernel, local), result_args,
                                   6);
}

static int32_t device_compute_softmax(gantry_op_call_t *call) {
    const gantry_arg_t *input = call->inputs[0];
    int64_t length = input->rank > 0 ? input->dims[input->rank - 1] : 1;
    int64_t rows = input->element_count / length;
    if (are_few_rows(call, rows, length)) return submit_few(call, rows, length);
    if (are_tiled_rows(call, length)) return submit_tiles(call, rows, length);
    return length <= GANTRY_REDUCE_CHUNK ? submit_short(call, rows, length)
                                         : submit_long(call, rows, length);
}

GANTRY_SOFTMAX_OPS(GANTRY_K_PORTABLE_KERNEL)
