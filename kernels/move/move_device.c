/* SPDX-License-Identifier: Apache-2.0 */
/* The move ops (Transpose, Slice, Concat, ...) on every device that builds programs: copies in the
 * three forms of move_shape.h. A dense copy uses the device's own copy if both sides have its
 * alignment. Programs are built for each element size. */
#include "kernels/common/device_kernel.h"
#include "host/try.h"
#include "kernels/common/work.h"

#include "kernels/move/move_shape.h"

#define TILE_SIDE 32     /* must equal GANTRY_SIDE of move.cl */
#define TILE_LOCAL 128u  /* work-items of a group that transposes one tile */
#define THINNEST_TILE 16 /* in a thinner matrix most work-items of a square tile would be idle */

/* Must have the same fields as gantry__move_t and gantry__tiles_t of move.cl. */
typedef struct device_move_t {
    gantry__k_device_plan_t plan;
    int64_t from, to;
} device_move_t;

typedef struct device_tiles_t {
    int64_t from, to;
    int64_t rows, columns;
    int64_t row_stride, column_stride;
    int64_t tile_rows, tile_columns;
    int64_t across, down, tiles;
    int64_t run;
    int64_t batch_rank;
    int64_t batch_dims[GANTRY_MAX_RANK];
    int64_t batch_strides[2][GANTRY_MAX_RANK];
} device_tiles_t;

GANTRY_K_PROGRAM(source, "portable/move", gantry__text_work, gantry__text_move);

static int32_t move_device_find_kernel(gantry_op_call_t *call, const char *name,
                                       gantry_backend_kernel_t **out_kernel) {
    const gantry__k_options_t options =
        gantry__k_size_options(call, gantry__k_size(call->outputs[0]->dtype), 0);
    return call->services->kernel(call, &source, options.text, name, out_kernel);
}

static int32_t run_strided(gantry_op_call_t *call, const gantry__move_copy_t *copy,
                           const gantry_arg_t *in) {
    const gantry_arg_t *out = call->outputs[0];
    const gantry__k_work_t work = gantry__k_work(call, copy->count, gantry__k_size(out->dtype), 0);
    const device_move_t move = {
        .plan = gantry__k_device_plan(&copy->plan, &work), .from = copy->from, .to = copy->to};
    const gantry_launch_arg_t args[] = {gantry__k_span(in), gantry__k_span(out),
                                        gantry__k_scalar(&move, sizeof move)};
    gantry_backend_kernel_t *kernel;
    GANTRY__TRY(move_device_find_kernel(call, "strided", &kernel));
    return gantry__k_launch_work(call, kernel, &work, args, 3);
}

/* Cuts the matrices into squares, each of which a work-group transposes at once. */
static void cut_squares(device_tiles_t *tiles, int64_t batches) {
    tiles->tile_rows = tiles->tile_columns = TILE_SIDE;
    tiles->across = (tiles->columns + TILE_SIDE - 1) / TILE_SIDE;
    tiles->down = (tiles->rows + TILE_SIDE - 1) / TILE_SIDE;
    tiles->tiles = tiles->across * tiles->down * batches;
}

/* The number of tiles of a work-item on a processor: as many elements as a run of
 * gantry__k_work. */
static int64_t run_of_tiles(const gantry_op_call_t *call, const gantry__move_copy_t *copy) {
    int64_t run = gantry__k_work(call, copy->count, gantry__k_size(call->outputs[0]->dtype), 0).run;
    return run / (TILE_SIDE * TILE_SIDE) > 0 ? run / (TILE_SIDE * TILE_SIDE) : 1;
}

static int32_t move_device_run_tiles(gantry_op_call_t *call, const gantry__move_copy_t *copy,
                                     const gantry__move_tiles_t *shape, const gantry_arg_t *in) {
    const bool is_serial = gantry__k_is_serial(call);
    device_tiles_t tiles = {.from = copy->from,
                            .to = copy->to,
                            .rows = shape->rows,
                            .columns = shape->columns,
                            .row_stride = shape->row_stride,
                            .column_stride = shape->column_stride,
                            .tile_rows = shape->tile_rows,
                            .tile_columns = shape->tile_columns,
                            .across = shape->across,
                            .down = shape->down,
                            .tiles = shape->tiles,
                            .run = run_of_tiles(call, copy),
                            .batch_rank = shape->batch.rank};
    for (int32_t d = 0; d < shape->batch.rank; ++d) {
        tiles.batch_dims[d] = shape->batch.dims[d];
        tiles.batch_strides[0][d] = shape->batch.strides[0][d];
        tiles.batch_strides[1][d] = shape->batch.strides[1][d];
    }
    if (!is_serial) cut_squares(&tiles, shape->batches);
    const gantry_launch_arg_t args[] = {gantry__k_span(in), gantry__k_span(call->outputs[0]),
                                        gantry__k_scalar(&tiles, sizeof tiles)};
    gantry_backend_kernel_t *kernel;
    GANTRY__TRY(move_device_find_kernel(call, "tiles", &kernel));
    if (is_serial) {
        return gantry__k_launch_1d(
            call, kernel, (uint64_t)((tiles.tiles + tiles.run - 1) / tiles.run), 1, args, 3);
    }
    return gantry__k_launch_groups(call, kernel, (uint64_t)tiles.tiles,
                                   gantry__k_local_within(call, kernel, TILE_LOCAL), args, 3);
}

/* The part of span that begins at byte `offset` and has `bytes` bytes. */
static gantry_span_t move_device_part_of(const gantry_span_t *span, int64_t offset, int64_t bytes) {
    return (gantry_span_t){span->region, span->offset_bytes + (uint64_t)offset, (uint64_t)bytes};
}

static int32_t move_device_run_copy(gantry_op_call_t *call, const gantry__move_copy_t *copy,
                                    const gantry_arg_t *in) {
    const gantry_arg_t *out = call->outputs[0];
    const int64_t size = gantry__k_size(out->dtype);
    const uint64_t alignment = call->device_info->base_alignment_bytes;
    if (gantry__move_is_dense(copy)) {
        gantry_span_t from = move_device_part_of(&in->span, copy->from * size, copy->count * size);
        gantry_span_t to = move_device_part_of(&out->span, copy->to * size, copy->count * size);
        bool is_aligned =
            alignment <= 1 || ((from.offset_bytes | to.offset_bytes) & (alignment - 1)) == 0;
        if (is_aligned) return call->services->copy(call, &to, &from);
    }
    gantry__move_tiles_t tiles;
    if (gantry__move_tiles(copy, TILE_SIDE, &tiles)) {
        bool is_thin = tiles.rows < THINNEST_TILE || tiles.columns < THINNEST_TILE;
        bool fits = !is_thin && call->device_info->max_work_group_size >= GANTRY_K_LOCAL;
        if (gantry__k_is_serial(call) || fits) return move_device_run_tiles(call, copy, &tiles, in);
    }
    return run_strided(call, copy, in);
}

static int32_t device_compute_one(gantry_op_call_t *call) {
    const gantry__move_op_t *op = call->kernel->data;
    gantry__move_copy_t copy;
    op->plan(call, &copy);
    return move_device_run_copy(call, &copy, call->inputs[0]);
}

static int32_t device_compute_concat(gantry_op_call_t *call) {
    for (uint32_t i = 0; i + 1 < call->input_count; ++i) {
        gantry__move_copy_t copy;
        if (call->inputs[i]->element_count == 0) continue;
        gantry__move_concat(call, i, &copy);
        GANTRY__TRY(move_device_run_copy(call, &copy, call->inputs[i]));
    }
    return GANTRY_OK;
}

GANTRY_MOVE_KERNELS

static const gantry_kernel_def_t *const kernels[] = {GANTRY_MOVE_POINTERS};
GANTRY_K_PACK(move, "move", kernels);
