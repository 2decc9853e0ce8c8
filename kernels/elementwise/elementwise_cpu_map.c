/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a loop over tensors in one of three ways, chosen by shape:
 *
 *   dense   operands as large as the output, or scalars: one call per part of the parallel loop.
 *           Outputs that exceed the caches go through a block in the first-level cache and leave
 *           it by streaming stores, which saves reading what will be overwritten (a quarter of
 *           the traffic of a + b).
 *   rows    broadcasting with long innermost runs: one call per run. A y that only repeats along x
 *           (a bias) with a short run is first copied several times into a small buffer, so that
 *           runs become long.
 *   blocks  broadcasting with short innermost runs: operands are gathered into dense buffers, some
 *           hundred elements at a time. Types that only have the dense loop always go this way, and
 *           so do halves, which are widened to float32 and narrowed again block by block.
 *
 *     x [1000, 3]  + y [3]        pattern y y y y ...        rows of many times 3
 *     x [1000, 3]  + y [1000, 1]  blocks of gathered y       0 0 0 1 1 1 2 2 2
 *
 * An element depends only on its own operands, so all ways and all splits give the same bits. */
#include <stdatomic.h>
#include <string.h>

#include "kernels/common/cpu_copy.h"
#include "kernels/elementwise/elementwise_cpu.h"

#define PATTERN_BYTES 8192 /* bytes of a repeated y */
#define GATHER_ELEMENTS 512

typedef struct map_job_t {
    const gantry__cpu_map_t *map;
    atomic_int bad;
} map_job_t;

static void elementwise_cpu_map_note(map_job_t *job, int32_t bad) {
    if (bad != 0) {
        atomic_store_explicit(&job->bad, 1, memory_order_relaxed);
    }
}

static int32_t elementwise_cpu_map_run(gantry_backend_device_t *device,
                                       const gantry__cpu_map_t *map, gantry__cpu_range_fn part,
                                       int64_t count, int64_t grain) {
    map_job_t job = {.map = map};

    atomic_init(&job.bad, 0);
    gantry__cpu_parallel_for(device, count, grain, part, &job);
    return atomic_load_explicit(&job.bad, memory_order_relaxed);
}

/* ---- dense ---- */

static void dense_part(void *context, int64_t begin, int64_t end) {
    map_job_t *job = context;
    const gantry__cpu_map_t *map = job->map;

    elementwise_cpu_map_note(job,
                             map->loop(map->x + begin * map->x_bytes, map->y + begin * map->y_bytes,
                                       map->out + begin * map->out_bytes, end - begin));
}

static void stream_part(void *context, int64_t begin, int64_t end) {
    map_job_t *job = context;
    const gantry__cpu_map_t *map = job->map;

    elementwise_cpu_map_note(
        job,
        GANTRY_CPU_PICK(map->simd_level, stream_loop)(
            map->loop, map->x + begin * map->x_bytes, map->x_bytes, map->y + begin * map->y_bytes,
            map->y_bytes, map->out + begin * map->out_bytes, map->out_bytes, end - begin));
}

int32_t gantry__cpu_map_dense(gantry_backend_device_t *device, gantry__cpu_map_t *map,
                              int64_t count, int64_t grain) {
    bool in_place = map->out == map->x || map->out == map->y;

    if (count * map->out_bytes < GANTRY_CPU_STREAM_BYTES || in_place) {
        return elementwise_cpu_map_run(device, map, dense_part, count, grain);
    }
    return elementwise_cpu_map_run(device, map, stream_part, count, grain);
}

/* ---- a position in a plan ---- */

typedef struct cursor_t {
    int64_t at[GANTRY_MAX_RANK]; /* the coordinates of all dimensions but the innermost one */
    /* elements from each operand's start to the row's start */
    int64_t offset[GANTRY_K_MAX_OPERANDS];
    int64_t within; /* the coordinate of the innermost dimension */
} cursor_t;

static void cursor_seek(cursor_t *cursor, const gantry__k_plan_t *plan, int64_t position) {
    const int32_t inner = plan->rank - 1;

    cursor->within = position % plan->dims[inner];
    position /= plan->dims[inner];
    memset(cursor->offset, 0, sizeof cursor->offset);
    for (int32_t d = inner - 1; d >= 0; --d) {
        cursor->at[d] = position % plan->dims[d];
        position /= plan->dims[d];
        for (int32_t k = 0; k < plan->operands; ++k) {
            cursor->offset[k] += cursor->at[d] * plan->strides[k][d];
        }
    }
}

static void cursor_next_row(cursor_t *cursor, const gantry__k_plan_t *plan) {
    cursor->within = 0;
    for (int32_t d = plan->rank - 2; d >= 0; --d) {
        cursor->at[d]++;
        for (int32_t k = 0; k < plan->operands; ++k) {
            cursor->offset[k] += plan->strides[k][d];
        }
        if (cursor->at[d] < plan->dims[d]) return;
        for (int32_t k = 0; k < plan->operands; ++k) {
            cursor->offset[k] -= plan->dims[d] * plan->strides[k][d];
        }
        cursor->at[d] = 0;
    }
}

static int64_t at_most(int64_t value, int64_t bound) { return value < bound ? value : bound; }

/* ---- rows ---- */

static gantry__cpu_loop_fn row_loop(const gantry__cpu_map_t *map, int64_t x_step, int64_t y_step) {
    if (x_step == y_step) return map->loops->dense;
    return y_step == 0 ? map->loops->y_scalar : map->loops->x_scalar;
}

static void rows_part(void *context, int64_t begin, int64_t end) {
    map_job_t *job = context;
    const gantry__cpu_map_t *map = job->map;
    const gantry__k_plan_t *plan = map->plan;
    const int32_t inner = plan->rank - 1;
    const int64_t x_step = plan->strides[0][inner];
    const int64_t y_step = plan->strides[1][inner];
    const gantry__cpu_loop_fn loop = row_loop(map, x_step, y_step);
    cursor_t cursor;

    cursor_seek(&cursor, plan, begin);
    while (begin < end) {
        const int64_t length = at_most(plan->dims[inner] - cursor.within, end - begin);
        const int64_t x = cursor.offset[0] + cursor.within * x_step;
        const int64_t y = cursor.offset[1] + cursor.within * y_step;

        elementwise_cpu_map_note(job, loop(map->x + x * map->x_bytes, map->y + y * map->y_bytes,
                                           map->out + begin * map->out_bytes, length));
        begin += length;
        cursor_next_row(&cursor, plan);
    }
}

/* ---- a y that repeats ---- */

/* The length of y if y repeats along x: [N, C] + [C]; else 0. */
static int64_t repeated_length(const gantry__k_plan_t *plan) {
    if (plan->rank == 2 && plan->strides[0][1] == 1 && plan->strides[0][0] == plan->dims[1] &&
        plan->strides[1][1] == 1 && plan->strides[1][0] == 0) {
        return plan->dims[1];
    }
    return 0;
}

static void pattern_part(void *context, int64_t begin, int64_t end) {
    map_job_t *job = context;
    const gantry__cpu_map_t *map = job->map;
    const int64_t period = map->pattern;
    const int64_t copies = PATTERN_BYTES / (period * map->y_bytes);
    const int64_t within = begin % period;
    /* leaves room to start anywhere in the first copy */
    const int64_t step = (copies - 1) * period;
    _Alignas(64) char pattern[PATTERN_BYTES];

    for (int64_t c = 0; c < copies; ++c) {
        memcpy(pattern + c * period * map->y_bytes, map->y, (size_t)(period * map->y_bytes));
    }
    for (; begin < end; begin += step) {
        elementwise_cpu_map_note(
            job, map->loops->dense(map->x + begin * map->x_bytes, pattern + within * map->y_bytes,
                                   map->out + begin * map->out_bytes, at_most(step, end - begin)));
    }
}

/* ---- blocks ---- */

/* Copies elements [begin, begin + count) if they are adjacent (a step of 1), or one element count
 * times (a step of 0). */
static void copy_or_fill(char *target, const char *source, uint32_t bytes, int64_t step,
                         int64_t begin, int64_t count) {
    if (step == 0) {
        GANTRY_CPU_PICK(GANTRY_CPU_BASE, fill_loop)(bytes, source, target, count, 0);
    } else {
        gantry__cpu_copy(target, source + begin * bytes, (size_t)(count * bytes));
    }
}

/* Gathers short runs by copies of fixed size, which the compiler turns into single moves. */
#define GATHER(B)                                                                         \
    static void gather_##B(const gantry__k_plan_t *plan, int32_t k, const B *source,      \
                           int64_t begin, int64_t count, B *target) {                     \
        const int32_t inner = plan->rank - 1;                                             \
        const int64_t step = plan->strides[k][inner];                                     \
        cursor_t cursor;                                                                  \
        cursor_seek(&cursor, plan, begin);                                                \
        for (int64_t i = 0; i < count;) {                                                 \
            const int64_t length = at_most(plan->dims[inner] - cursor.within, count - i); \
            const B *from = source + cursor.offset[k] + cursor.within * step;             \
            B *to = target + i;                                                           \
            if (step == 0) { /* separate loops become vector code */                      \
                const B value = *from;                                                    \
                for (int64_t e = 0; e < length; ++e) to[e] = value;                       \
            } else if (step == 1) {                                                       \
                for (int64_t e = 0; e < length; ++e) to[e] = from[e];                     \
            } else {                                                                      \
                for (int64_t e = 0; e < length; ++e) to[e] = from[e * step];              \
            }                                                                             \
            i += length;                                                                  \
            cursor_next_row(&cursor, plan);                                               \
        }                                                                                 \
    }

GATHER(uint8_t)
GATHER(uint16_t)
GATHER(uint32_t)
GATHER(uint64_t)
GATHER(gantry__k_pair_t)

void gantry__cpu_gather(const gantry__k_plan_t *plan, int32_t k, const char *source, uint32_t bytes,
                        int64_t begin, int64_t count, char *target) {
    if (plan->rank == 1) {
        copy_or_fill(target, source, bytes, plan->strides[k][0], begin, count);
    } else if (bytes == 1) {
        gather_uint8_t(plan, k, (const void *)source, begin, count, (void *)target);
    } else if (bytes == 2) {
        gather_uint16_t(plan, k, (const void *)source, begin, count, (void *)target);
    } else if (bytes == 4) {
        gather_uint32_t(plan, k, (const void *)source, begin, count, (void *)target);
    } else if (bytes == 8) {
        gather_uint64_t(plan, k, (const void *)source, begin, count, (void *)target);
    } else {
        gather_gantry__k_pair_t(plan, k, (const void *)source, begin, count, (void *)target);
    }
}

static bool is_dense(const gantry__k_plan_t *plan, int32_t k) {
    int64_t stride = 1;

    for (int32_t d = plan->rank - 1; d >= 0; --d) {
        if (plan->strides[k][d] != stride) return false;
        stride *= plan->dims[d];
    }
    return true;
}

/* Room for an operand that a loop cannot read in place. */
typedef struct block_t {
    _Alignas(64) char gathered[GATHER_ELEMENTS * 8];
    _Alignas(64) char wide[GATHER_ELEMENTS * 4];
} block_t;

/* Returns elements [begin, begin + count) of operand k, as the output sees them and in the type of
 * the loop. */
static const char *operand_of(const gantry__cpu_map_t *map, int32_t k, int64_t begin, int64_t count,
                              bool dense, block_t *block) {
    const uint32_t bytes = k == 0 ? map->x_bytes : map->y_bytes;
    const char *found = (k == 0 ? map->x : map->y);

    if (dense) {
        found += begin * bytes;
    } else {
        gantry__cpu_gather(map->plan, k, found, bytes, begin, count, block->gathered);
        found = block->gathered;
    }
    if (map->widen) {
        map->widen(found, NULL, block->wide, count);
        found = block->wide;
    }
    return found;
}

static void blocks_part(void *context, int64_t begin, int64_t end) {
    map_job_t *job = context;
    const gantry__cpu_map_t *map = job->map;
    const bool binary = map->plan->operands == 2;
    const bool x_dense = is_dense(map->plan, 0);
    const bool y_dense = binary && is_dense(map->plan, 1);
    _Alignas(64) char result[GATHER_ELEMENTS * 4];
    block_t blocks[2];

    for (; begin < end; begin += GATHER_ELEMENTS) {
        const int64_t length = at_most(GATHER_ELEMENTS, end - begin);
        const char *x = operand_of(map, 0, begin, length, x_dense, &blocks[0]);
        const char *y = binary ? operand_of(map, 1, begin, length, y_dense, &blocks[1]) : NULL;
        char *out = map->out + begin * map->out_bytes;

        elementwise_cpu_map_note(job, map->loop(x, y, map->narrow ? result : out, length));
        if (map->narrow) {
            map->narrow(result, NULL, out, length);
        }
    }
}

int32_t gantry__cpu_map_broadcast(gantry_backend_device_t *device, gantry__cpu_map_t *map,
                                  const gantry__k_plan_t *plan, int64_t count, int64_t grain) {
    const int64_t row = plan->dims[plan->rank - 1];
    const int64_t repeated = repeated_length(plan);

    map->plan = plan;
    if (!map->loops) return elementwise_cpu_map_run(device, map, blocks_part, count, grain);
    if (repeated > 0 && repeated * map->y_bytes * 4 <= PATTERN_BYTES) {
        map->pattern = repeated;
        return elementwise_cpu_map_run(device, map, pattern_part, count, grain);
    }
    return elementwise_cpu_map_run(
        device, map, row >= GANTRY_CPU_SHORT_ROW || count < 2 * row ? rows_part : blocks_part,
        count, grain);
}
