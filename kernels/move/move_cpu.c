/* SPDX-License-Identifier: Apache-2.0 */
/* The move ops (Transpose, Slice, Concat, ...) on the CPU: strided copies by element size.
 *
 * A copy takes the first of these forms that fits (kernels/move/move_shape.h):
 *   dense    one run of bytes
 *   tiles    another dimension becomes the fastest: square tiles, transposed in vector registers
 *   strided  rows of the fastest dimension; the others are counted like an odometer
 * Cost: each element is read and written once. A thread gets at least GRAIN_BYTES. */
#include "kernels/common/cpu_copy.h"
#include "kernels/common/cpu_kernels.h"
#include "kernels/move/move_cpu.h"
#include "kernels/move/move_shape.h"

#include <string.h>

#define GRAIN_BYTES 65536 /* bytes of output that are one part of a parallel loop */
/* a tile of 8-byte elements and its target fit the L2 cache, those of smaller ones the L1 cache */
#define TILE_SIDE 64

typedef struct move_job_t {
    const gantry__move_copy_t *copy;
    const gantry__move_tiles_t *tiles;
    const void *in;
    void *out;
} move_job_t;

#define ELEMENT_BYTES 1
#include "kernels/common/cpu_lanes.h"
#include "kernels/move/move_cpu_loops.h"
#define ELEMENT_BYTES 2
#include "kernels/common/cpu_lanes.h"
#include "kernels/move/move_cpu_loops.h"
#define ELEMENT_BYTES 4
#include "kernels/common/cpu_lanes.h"
#include "kernels/move/move_cpu_loops.h"
#define ELEMENT_BYTES 8
#include "kernels/common/cpu_lanes.h"
#include "kernels/move/move_cpu_loops.h"
#define ELEMENT_BYTES 16
#include "kernels/common/cpu_lanes.h"
#include "kernels/move/move_cpu_loops.h"

static void move_cpu_copy_bytes(void *context, int64_t begin, int64_t end) {
    const move_job_t *job = context;
    gantry__cpu_copy((char *)job->out + begin, (const char *)job->in + begin,
                     (size_t)(end - begin));
}

static void run_dense(gantry_backend_device_t *device, move_job_t *job, uint32_t size) {
    job->in = (const char *)job->in + job->copy->from * size;
    job->out = (char *)job->out + job->copy->to * size;
    gantry__cpu_parallel_for(device, job->copy->count * size, GRAIN_BYTES, move_cpu_copy_bytes,
                             job);
}

static void move_cpu_run_tiles(gantry_backend_device_t *device, move_job_t *job, uint32_t size) {
    static const gantry__cpu_range_fn loops[] = {move_tiles_1, move_tiles_2, move_tiles_4,
                                                 move_tiles_8, move_tiles_16};
    const gantry__move_tiles_t *tiles = job->tiles;
    /* a matrix may be smaller than a tile */
    int64_t rows = tiles->rows < tiles->tile_rows ? tiles->rows : tiles->tile_rows;
    int64_t columns = tiles->columns < tiles->tile_columns ? tiles->columns : tiles->tile_columns;
    int64_t grain = GRAIN_BYTES / (rows * columns * size) + 1;
    gantry__cpu_parallel_for(device, tiles->tiles, grain, loops[gantry__k_size_row(size)], job);
}

static void move_cpu_run_copy(gantry_backend_device_t *device, uint32_t size,
                              const gantry__move_copy_t *copy, const void *in, void *out) {
    static const gantry__cpu_range_fn loops[] = {move_range_1, move_range_2, move_range_4,
                                                 move_range_8, move_range_16};
    gantry__move_tiles_t tiles;
    move_job_t job = {.copy = copy, .in = in, .out = out};
    if (gantry__move_is_dense(copy)) {
        run_dense(device, &job, size);
    } else if (gantry__move_tiles(copy, TILE_SIDE, &tiles)) {
        job.tiles = &tiles;
        move_cpu_run_tiles(device, &job, size);
    } else {
        gantry__cpu_parallel_for(device, copy->count, GRAIN_BYTES / size,
                                 loops[gantry__k_size_row(size)], &job);
    }
}

void gantry__cpu_turn(gantry_backend_device_t *device, uint32_t size, const int64_t dims[3],
                      const void *from, void *to) {
    const int64_t area = dims[1] * dims[2];
    gantry__move_copy_t copy = {.count = dims[0] * area,
                                .plan = {.rank = 3,
                                         .operands = 2,
                                         .dims = {dims[0], dims[2], dims[1]},
                                         .strides = {{area, 1, dims[2]}, {area, dims[1], 1}}}};
    if (copy.count == 0) return;
    gantry__k_plan_collapse(&copy.plan);
    move_cpu_run_copy(device, size, &copy, from, to);
}

static int32_t cpu_compute_one(gantry_op_call_t *call) {
    const gantry__move_op_t *op = call->kernel->data;
    gantry__move_copy_t copy;
    op->plan(call, &copy);
    move_cpu_run_copy(call->device, gantry__k_size(call->outputs[0]->dtype), &copy,
                      call->inputs[0]->data, call->outputs[0]->data);
    return GANTRY_OK;
}

static int32_t cpu_compute_concat(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    for (uint32_t i = 0; i + 1 < call->input_count; ++i) {
        gantry__move_copy_t copy;
        if (call->inputs[i]->element_count == 0) continue;
        gantry__move_concat(call, i, &copy);
        move_cpu_run_copy(call->device, gantry__k_size(out->dtype), &copy, call->inputs[i]->data,
                          out->data);
    }
    return GANTRY_OK;
}

GANTRY_MOVE_KERNELS

const gantry_kernel_def_t *const gantry__cpu_move_kernels[] = {GANTRY_MOVE_POINTERS};
const uint32_t gantry__cpu_move_kernel_count = GANTRY_K_COUNT_OF(gantry__cpu_move_kernels);
