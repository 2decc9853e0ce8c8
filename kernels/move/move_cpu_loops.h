/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of the move ops for one element size. move_cpu.c includes this file once for each size,
 * after kernels/common/cpu_lanes.h has defined the size; the file therefore has no include guard.
 * Owner: arrays are the caller's. Threads: thread-safe for ranges that do not overlap. */

/* Copies n elements of a row. A source stride of 0 repeats one value, a stride of 1 copies a
 * run. */
static void LOOP(move_row)(const ELEMENT *in, int64_t in_stride, ELEMENT *out, int64_t out_stride,
                           int64_t n) {
    if (in_stride == 1 && out_stride == 1) {
        gantry__cpu_copy(out, in, (size_t)n * sizeof(ELEMENT));
    } else if (in_stride == 0 && out_stride == 1) {
        ELEMENT value = *in;
        for (int64_t i = 0; i < n; ++i) out[i] = value;
    } else if (out_stride == 1) {
        for (int64_t i = 0; i < n; ++i) out[i] = in[i * in_stride];
    } else {
        for (int64_t i = 0; i < n; ++i) out[i * out_stride] = in[i * in_stride];
    }
}

/* Copies elements [begin, end) of the plan in row-major order. */
static void LOOP(move_range)(void *context, int64_t begin, int64_t end) {
    const move_job_t *job = context;
    const gantry__k_plan_t *plan = &job->copy->plan;
    const ELEMENT *in = (const ELEMENT *)job->in + job->copy->from;
    ELEMENT *out = (ELEMENT *)job->out + job->copy->to;
    const int32_t last = plan->rank - 1;
    int64_t index[GANTRY_MAX_RANK];
    int64_t rest = begin;
    for (int32_t d = last; d >= 0; --d) {
        index[d] = rest % plan->dims[d];
        rest /= plan->dims[d];
        in += index[d] * plan->strides[0][d];
        out += index[d] * plan->strides[1][d];
    }
    while (begin < end) {
        int64_t n = plan->dims[last] - index[last];
        if (n > end - begin) n = end - begin;
        LOOP(move_row)(in, plan->strides[0][last], out, plan->strides[1][last], n);
        begin += n;
        index[last] += n;
        in += n * plan->strides[0][last];
        out += n * plan->strides[1][last];
        for (int32_t d = last; d > 0 && index[d] == plan->dims[d]; --d) {
            in += plan->strides[0][d - 1] - plan->dims[d] * plan->strides[0][d];
            out += plan->strides[1][d - 1] - plan->dims[d] * plan->strides[1][d];
            index[d] = 0;
            ++index[d - 1];
        }
    }
}

#include "kernels/common/cpu_square.h"

/* Transposes tiles [begin, end). Tiles are numbered along the columns of a matrix, then along its
 * rows, then through the matrices. The first one, often the only one, needs no division. */
static void LOOP(move_tiles)(void *context, int64_t begin, int64_t end) {
    const move_job_t *job = context;
    const gantry__move_tiles_t *tiles = job->tiles;
    for (int64_t tile = begin; tile < end; ++tile) {
        int64_t c = 0, r = 0, batch = 0;
        if (tile > 0) {
            c = tile % tiles->across * tiles->tile_columns;
            int64_t rest = tile / tiles->across;
            r = rest % tiles->down * tiles->tile_rows;
            batch = rest / tiles->down;
        }
        int64_t from = job->copy->from + r * tiles->row_stride + c;
        int64_t to = job->copy->to + c * tiles->column_stride + r;
        for (int32_t d = tiles->batch.rank - 1; batch > 0; --d) {
            int64_t i = batch % tiles->batch.dims[d];
            batch /= tiles->batch.dims[d];
            from += i * tiles->batch.strides[0][d];
            to += i * tiles->batch.strides[1][d];
        }
        int64_t rows = tiles->rows - r < tiles->tile_rows ? tiles->rows - r : tiles->tile_rows;
        int64_t columns =
            tiles->columns - c < tiles->tile_columns ? tiles->columns - c : tiles->tile_columns;
        LOOP(cpu_tile)
        ((const ELEMENT *)job->in + from, tiles->row_stride, (ELEMENT *)job->out + to,
         tiles->column_stride, rows, columns);
    }
}
