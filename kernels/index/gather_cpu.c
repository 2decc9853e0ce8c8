/* SPDX-License-Identifier: Apache-2.0 */
/* Gather and OneHot on the CPU.
 *
 * Gather copies rows of `inner` elements of params. The caller's data names the rows, so each index
 * must be compared with the axis' size before it is used. All rows are tried: a bad index gives
 * zeros, and the first bad position becomes one message. */

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "kernels/common/cpu_copy.h"
#include "kernels/common/cpu_kernels.h"
#include "kernels/common/place_text.h"
#include "kernels/index/gather_shape.h"

#define GRAIN_BYTES 65536 /* of output: as many make a part of a parallel loop */
#define NO_POSITION INT64_MAX
#define LINE_BYTES 64

typedef struct gather_job_t {
    gantry__gather_shape_t shape;
    const gantry_arg_t *indices;
    const char *params;
    char *out;
    size_t row_bytes;
    /* position of the first index out of range, or NO_POSITION */
    _Atomic int64_t bad;
} gather_job_t;

static void note_bad(gather_job_t *job, int64_t position) {
    int64_t known = atomic_load_explicit(&job->bad, memory_order_relaxed);
    while (position < known && !atomic_compare_exchange_weak(&job->bad, &known, position)) {
    }
}

static void copy_row(char *out, const char *in, size_t bytes) {
    switch (bytes) { /* a fixed size avoids the call */
        case 1: *out = *in; break;
        case 2: memcpy(out, in, 2); break;
        case 4: memcpy(out, in, 4); break;
        case 8: memcpy(out, in, 8); break;
        case 16: memcpy(out, in, 16); break;
        case 32: memcpy(out, in, 32); break;
        case 64: memcpy(out, in, 64); break;
        default: gantry__cpu_copy(out, in, bytes); break;
    }
}

/* Copies rows of one element, prefetched PICKS_AHEAD rows ahead. A prefetch never faults, so an
 * index is not checked before it. Returns not 0 if an index is out of range. The function is
 * aligned, because a small loop that begins late in a cache line takes 20 % more time on an AMD
 * EPYC. */
#define PICKS_AHEAD 64
#define PICK_SINGLES(bits, type, index_type)                                                \
    static __attribute__((aligned(64))) int pick_##bits##_##index_type(                     \
        const void *params, const void *indices, void *out, int64_t count, int64_t limit) { \
        const type *from = params;                                                          \
        const index_type *index = indices;                                                  \
        type *to = out;                                                                     \
        int is_bad = 0;                                                                     \
        for (int64_t i = 0; i < count; ++i) {                                               \
            const int64_t ahead = index[i + PICKS_AHEAD < count ? i + PICKS_AHEAD : i];     \
            __builtin_prefetch(                                                             \
                (const void *)((uintptr_t)params + (uintptr_t)ahead * sizeof *from));       \
            const uint64_t place = (uint64_t)(int64_t)index[i];                             \
            const int is_there = place < (uint64_t)limit;                                   \
            const type value = from[is_there ? place : 0];                                  \
            to[i] = is_there ? value : (type){0};                                           \
            is_bad |= !is_there;                                                            \
        }                                                                                   \
        return is_bad;                                                                      \
    }

PICK_SINGLES(8, uint8_t, int32_t)
PICK_SINGLES(16, uint16_t, int32_t)
PICK_SINGLES(32, uint32_t, int32_t)
PICK_SINGLES(64, uint64_t, int32_t)
PICK_SINGLES(128, gantry__k_pair_t, int32_t)
PICK_SINGLES(8, uint8_t, int64_t)
PICK_SINGLES(16, uint16_t, int64_t)
PICK_SINGLES(32, uint32_t, int64_t)
PICK_SINGLES(64, uint64_t, int64_t)
PICK_SINGLES(128, gantry__k_pair_t, int64_t)

/* Copies `run` single elements of one matrix. It searches for a bad index only if the loop has seen
 * one. */
static void gather_singles(gather_job_t *job, const char *params, int64_t position, int64_t run,
                           char *out) {
    static int (*const loops[2][5])(const void *, const void *, void *, int64_t, int64_t) = {
        {pick_8_int32_t, pick_16_int32_t, pick_32_int32_t, pick_64_int32_t, pick_128_int32_t},
        {pick_8_int64_t, pick_16_int64_t, pick_32_int64_t, pick_64_int64_t, pick_128_int64_t}};
    const bool is_long = job->indices->dtype != GANTRY_INT32;
    const char *indices = (const char *)job->indices->data + position * (is_long ? 8 : 4);
    if (loops[is_long][gantry__k_size_row((uint32_t)job->row_bytes)](params, indices, out, run,
                                                                     job->shape.limit) == 0) {
        return;
    }
    for (int64_t i = 0; i < run; ++i) {
        if ((uint64_t)gantry__k_host_int(job->indices, position + i) >=
            (uint64_t)job->shape.limit) {
            note_bad(job, position + i);
            return;
        }
    }
}

/* Prefetches a row. A prefetch never faults, so any index is allowed. */
static void want_row(const gather_job_t *job, const char *params, int64_t index) {
    const uintptr_t from = (uintptr_t)params + (uintptr_t)index * job->row_bytes;
    for (int64_t line = 0; line < job->shape.lines; ++line)
        __builtin_prefetch((const void *)(from + (uintptr_t)line * LINE_BYTES));
}

/* Writes rows [begin, end) of the output, in order. */
static void gather_rows(void *context, int64_t begin, int64_t end) {
    gather_job_t *job = context;
    const gantry__gather_shape_t *shape = &job->shape;
    int64_t pick = begin % shape->picks;
    int64_t matrix = begin / shape->picks; /* (batch, outer) */
    char *out = job->out + (size_t)begin * job->row_bytes;
    while (begin < end) {
        const char *params = job->params + (size_t)(matrix * shape->limit) * job->row_bytes;
        int64_t position = matrix / shape->outer * shape->picks + pick;
        int64_t run = shape->picks - pick < end - begin ? shape->picks - pick : end - begin;
        if (shape->inner == 1 && shape->limit > 0) {
            gather_singles(job, params, position, run, out);
            out += (size_t)run * job->row_bytes;
            begin += run;
            pick = 0;
            ++matrix;
            continue;
        }
        for (int64_t i = 0; i < run; ++i, out += job->row_bytes) {
            int64_t index = gantry__k_host_int(job->indices, position + i);
            if (run - i > shape->ahead)
                want_row(job, params,
                         gantry__k_host_int(job->indices, position + i + shape->ahead));
            if ((uint64_t)index < (uint64_t)shape->limit) {
                copy_row(out, params + (size_t)index * job->row_bytes, job->row_bytes);
            } else {
                memset(out, 0, job->row_bytes);
                note_bad(job, position + i);
            }
        }
        begin += run;
        pick = 0;
        ++matrix;
    }
}

static int32_t fail_index(gantry_op_call_t *call, const gather_job_t *job, int64_t position) {
    char place[GANTRY_K_PLACE_BYTES];
    char text[sizeof place + 96];
    gantry__portable_print_place(job->indices->dims, job->indices->rank, position, place,
                                 sizeof place);
    (void)snprintf(text, sizeof text, "indices%s = %" PRId64 " is not in [0, %" PRId64 ")", place,
                   gantry__k_host_int(job->indices, position), job->shape.limit);
    return call->services->fail(call, GANTRY_INVALID_ARGUMENT, text);
}

static int32_t cpu_compute_gather(gantry_op_call_t *call) {
    gather_job_t job = {
        .indices = call->inputs[1], .params = call->inputs[0]->data, .out = call->outputs[0]->data};
    gantry__gather_shape(call, &job.shape);
    job.row_bytes = (size_t)job.shape.inner * gantry__k_size(call->inputs[0]->dtype);
    atomic_init(&job.bad, NO_POSITION);
    int64_t rows = job.shape.batch * job.shape.outer * job.shape.picks;
    int64_t grain =
        GRAIN_BYTES / (int64_t)(job.row_bytes < GRAIN_BYTES ? job.row_bytes : GRAIN_BYTES);
    gantry__cpu_parallel_for(call->device, rows, grain, gather_rows, &job);
    int64_t bad = atomic_load(&job.bad);
    return bad == NO_POSITION ? GANTRY_OK : fail_index(call, &job, bad);
}

/* ---- OneHot ---- */

typedef struct one_hot_job_t {
    gantry__one_hot_shape_t shape;
    const gantry_arg_t *indices;
    const void *on;
    const void *off;
    void *out;
} one_hot_job_t;

/* Writes rows [begin, end) of [prefix * depth, suffix], or, where suffix is 1, of [prefix,
 * depth]. */
#define ONE_HOT_LOOP(bytes, type)                                                            \
    static void one_hot_rows_##bytes(void *context, int64_t begin, int64_t end) {            \
        const one_hot_job_t *job = context;                                                  \
        const int64_t depth = job->shape.depth, suffix = job->shape.suffix;                  \
        const type on = *(const type *)job->on, off = *(const type *)job->off;               \
        if (suffix == 1) {                                                                   \
            for (int64_t row = begin; row < end; ++row) {                                    \
                type *out = (type *)job->out + row * depth;                                  \
                int64_t index = gantry__k_host_int(job->indices, row);                       \
                for (int64_t i = 0; i < depth; ++i) out[i] = off;                            \
                if ((uint64_t)index < (uint64_t)depth) out[index] = on;                      \
            }                                                                                \
            return;                                                                          \
        }                                                                                    \
        for (int64_t row = begin; row < end; ++row) {                                        \
            type *out = (type *)job->out + row * suffix;                                     \
            int64_t place = row % depth, position = row / depth * suffix;                    \
            for (int64_t i = 0; i < suffix; ++i)                                             \
                out[i] = gantry__k_host_int(job->indices, position + i) == place ? on : off; \
        }                                                                                    \
    }

ONE_HOT_LOOP(1, uint8_t)
ONE_HOT_LOOP(2, uint16_t)
ONE_HOT_LOOP(4, uint32_t)
ONE_HOT_LOOP(8, uint64_t)
ONE_HOT_LOOP(16, gantry__k_pair_t)

static int32_t cpu_compute_one_hot(gantry_op_call_t *call) {
    static const gantry__cpu_range_fn loops[] = {one_hot_rows_1, one_hot_rows_2, one_hot_rows_4,
                                                 one_hot_rows_8, one_hot_rows_16};
    one_hot_job_t job = {.indices = call->inputs[0],
                         .on = call->inputs[2]->data,
                         .off = call->inputs[3]->data,
                         .out = call->outputs[0]->data};
    gantry__one_hot_shape(call, &job.shape);
    uint32_t size = gantry__k_size(call->outputs[0]->dtype);
    int64_t row_bytes = (job.shape.suffix == 1 ? job.shape.depth : job.shape.suffix) * size;
    int64_t rows = call->outputs[0]->element_count * size / row_bytes;
    gantry__cpu_parallel_for(call->device, rows,
                             row_bytes < GRAIN_BYTES ? GRAIN_BYTES / row_bytes : 1,
                             loops[gantry__k_size_row(size)], &job);
    return GANTRY_OK;
}

GANTRY_GATHER_OPS(GANTRY_K_CPU_KERNEL)

const gantry_kernel_def_t *const gantry__cpu_gather_kernels[] = {
    GANTRY_GATHER_OPS(GANTRY_K_CPU_KERNEL_POINTER)};
const uint32_t gantry__cpu_gather_kernel_count = GANTRY_K_COUNT_OF(gantry__cpu_gather_kernels);
