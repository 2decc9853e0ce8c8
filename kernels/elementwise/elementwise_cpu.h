/* SPDX-License-Identifier: Apache-2.0 */
/* The vector loops of the elementwise family, and how they run over tensors. The files
 * elementwise_cpu_* share this header.
 *
 * Not here: the ops' meaning (ops/elementwise.def). Owner: constant data and values of the caller.
 * Threads: thread-safe. */
#ifndef GANTRY_KERNELS_ELEMENTWISE_CPU_H
#define GANTRY_KERNELS_ELEMENTWISE_CPU_H

#include "kernels/common/cpu_kernels.h"
#include "kernels/elementwise/elementwise_kernels.h"
#include "kernels/common/kernel_shape.h"

/* Computes out[i] = f(x[i], y[i]) for i < count. Returns not 0 if an element was bad, whose result
 * is a defined value. x or y may be out itself, but must not overlap it otherwise. A unary loop
 * ignores y; a scalar form reads only the first element of one of the two. */
typedef int32_t (*gantry__cpu_loop_fn)(const void *x, const void *y, void *out, int64_t count);

typedef struct gantry__cpu_loops_t {
    gantry__cpu_loop_fn dense;    /* x[i], y[i]; NULL: the op does not have this type */
    gantry__cpu_loop_fn y_scalar; /* x[i], y[0]; NULL for unary ops */
    gantry__cpu_loop_fn x_scalar; /* x[0], y[i] */
} gantry__cpu_loops_t;

/* The columns of the loop tables: first the types that have loops of all forms, then those that
 * have only the dense form, then those that are computed in float32's loops. */
#define GANTRY_CPU_COLUMN(type) GANTRY_CPU_COLUMN_##type,
enum {
    GANTRY_NUMBERS_BOOL(GANTRY_CPU_COLUMN) GANTRY_CPU_TYPES,
    GANTRY_CPU_COLUMN_BEFORE_RARE = GANTRY_CPU_TYPES - 1,
    GANTRY_RARE(GANTRY_CPU_COLUMN) GANTRY_CPU_RARE_END,
    GANTRY_CPU_COLUMN_BEFORE_NARROW = GANTRY_CPU_RARE_END - 1,
    GANTRY_NARROW_FLOATS(GANTRY_CPU_COLUMN) GANTRY_CPU_ALL_TYPES
};

static inline uint32_t gantry__cpu_type_column(int32_t dtype) {
#define GANTRY_CPU_COLUMN_CASE(type) \
    case GANTRY_ID_##type: return GANTRY_CPU_COLUMN_##type;
    switch (dtype) {
        GANTRY_COMPUTED(GANTRY_CPU_COLUMN_CASE)
        default: return GANTRY_CPU_COLUMN_b8;
    }
}

/* The loops of every op of ops/elementwise.def for the type of a column, which must be below
 * GANTRY_CPU_TYPES. */
GANTRY_CPU_DECLARE(const gantry__cpu_loops_t *, element_loops, (uint32_t column));
/* The dense loop for a rare type, by its column; NULL: the op does not have this type. */
GANTRY_CPU_DECLARE(gantry__cpu_loop_fn, dense_loop, (uint32_t row, uint32_t column));
/* The loop that converts x of type `from` to out of type `to`, both columns;
 * kernels/elementwise/cast.cl explains truncate. NULL: the conversion goes through another type
 * (gantry__cpu_convert). */
GANTRY_CPU_DECLARE(gantry__cpu_loop_fn, convert_loop, (uint32_t from, uint32_t to, bool truncate));
/* The second half of a conversion from a float through int64 to a narrower integer: the nearest
 * value of that type. */
GANTRY_CPU_DECLARE(gantry__cpu_loop_fn, clamp_loop, (uint32_t to));
/* Writes out[i] = start + (begin + i) * delta; start and delta must point to one element of out's
 * type. */
GANTRY_CPU_DECLARE(void, range_loop,
                   (uint32_t column, const void *start, const void *delta, int64_t begin, void *out,
                    int64_t count));
/* Writes out[i] = condition[i] ? x[i] : y[i] for elements of 1, 2, 4 or 8 bytes. */
GANTRY_CPU_DECLARE(void, select_loop,
                   (uint32_t bytes, const uint8_t *condition, const void *x, const void *y,
                    void *out, int64_t count));
/* Runs `loop` block by block in the first-level cache, and writes the results by streaming stores,
 * for outputs that exceed the caches. x_bytes and y_bytes are the sizes of elements, and must be 0
 * for a scalar operand. */
GANTRY_CPU_DECLARE(int32_t, stream_loop,
                   (gantry__cpu_loop_fn loop, const char *x, uint32_t x_bytes, const char *y,
                    uint32_t y_bytes, char *out, uint32_t out_bytes, int64_t count));
/* Fills `count` elements of 1, 2, 4 or 8 bytes with the one at value; if `stream`, by streaming
 * stores. */
GANTRY_CPU_DECLARE(void, fill_loop,
                   (uint32_t bytes, const void *value, char *out, int64_t count, bool stream));

/* Outputs of this size and more are written by streaming stores. */
#define GANTRY_CPU_STREAM_BYTES (INT64_C(24) << 20)
/* So many elements pay for a second thread: the first number is for an op of a few instructions per
 * element, the second for a costly one. */
#define GANTRY_CPU_CHEAP_GRAIN INT64_C(32768)
#define GANTRY_CPU_COSTLY_GRAIN INT64_C(4096)

/* The number of elements of a row below which a call for each row costs more than gathering. */
#define GANTRY_CPU_SHORT_ROW 48

/* One elementwise map over an output of `count` elements: all that the parts of a parallel loop
 * need. */
typedef struct gantry__cpu_map_t {
    gantry__cpu_loop_fn loop; /* the one for the dense run */
    /* NULL for a type without scalar forms, which always goes by blocks */
    const gantry__cpu_loops_t *loops;
    /* converts a block of a half's type to float32 and back; NULL for other types */
    gantry__cpu_loop_fn widen;
    gantry__cpu_loop_fn narrow; /* NULL also if the result is no half */
    const char *x;
    const char *y;
    char *out;
    uint32_t x_bytes; /* bytes of an element; 0 for a scalar operand in a dense run */
    uint32_t y_bytes;
    uint32_t out_bytes;
    int simd_level;
    const gantry__k_plan_t *plan; /* only for a run over rows */
    int64_t pattern;              /* length of a repeated y (elementwise_cpu_map.c) */
} gantry__cpu_map_t;

/* Finds the loops, conversions, sizes and level of a map for op `row` (GANTRY_K_ROW_...) and x's
 * type; map->loop becomes the dense loop. */
void gantry__cpu_map_find(gantry__cpu_map_t *map, const gantry_op_call_t *call, uint32_t row);
/* Runs map->loop over [0, count); returns not 0 if an element was bad. */
int32_t gantry__cpu_map_dense(gantry_backend_device_t *device, gantry__cpu_map_t *map,
                              int64_t count, int64_t grain);
/* The same with x and, unless the plan has one operand, y broadcast as the plan says. */
int32_t gantry__cpu_map_broadcast(gantry_backend_device_t *device, gantry__cpu_map_t *map,
                                  const gantry__k_plan_t *plan, int64_t count, int64_t grain);
/* Copies elements [begin, begin + count) of operand `k` of the plan, as the output sees it, to a
 * dense buffer. */
void gantry__cpu_gather(const gantry__k_plan_t *plan, int32_t k, const char *source, uint32_t bytes,
                        int64_t begin, int64_t count, char *target);

/* Converts x to another type, on all threads: for Cast, and matrix products of halves. */
void gantry__cpu_convert(gantry_backend_device_t *device, int32_t from, const void *x, int32_t to,
                         void *out, int64_t count, bool truncate);

/* Writes the two loops of a Cast; *out_second is NULL if one is enough. */
void gantry__cpu_cast_loops(int level, int32_t from, int32_t to, bool truncate,
                            gantry__cpu_loop_fn *out_first, gantry__cpu_loop_fn *out_second);

/* The kernels of ops that have no line in ops/elementwise.def. */
GANTRY_K_ELEMENTWISE_OTHERS(GANTRY_K_CPU_KERNEL_DECLARATION)

#endif
