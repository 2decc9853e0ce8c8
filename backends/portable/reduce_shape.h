/* The shape of a reduction in its shortest form, for the reduction kernels of every backend.
 *
 * Axes of size 1 vanish and neighbours that are both kept or both reduced become one, so that kept and reduced axes
 * alternate: at most four of each. A kept axis that comes last is `columns`, whose elements lie side by side.
 * Owner: plain values, nothing allocated. Threads: thread-safe. */
#ifndef GANTRY_REDUCE_SHAPE_H
#define GANTRY_REDUCE_SHAPE_H

#include "portable/kernel_types.h"

#define GANTRY_REDUCE_AXES 4

/* Elements one leaf of the reduction tree holds, and its lanes: see kernels/reduce.cl. */
#define GANTRY_REDUCE_CHUNK 4096
#define GANTRY_REDUCE_LANES 64

/* The operations, in the order of their kernels. */
enum { GANTRY_REDUCE_SUM = 0, GANTRY_REDUCE_MEAN = 1, GANTRY_REDUCE_MAX = 2, GANTRY_REDUCE_MIN = 3 };

/* Sizes and strides (in elements) of some axes, the slowest first. */
typedef struct gantry__reduce_axes_t {
    int32_t rank;
    int64_t dims[GANTRY_REDUCE_AXES];
    int64_t strides[GANTRY_REDUCE_AXES];
} gantry__reduce_axes_t;

typedef struct gantry__reduce_shape_t {
    int64_t length;  /* elements that become one; 0 for an empty input */
    int64_t outer;   /* outputs = outer * columns */
    int64_t columns; /* at least 1 */
    gantry__reduce_axes_t kept; /* without columns */
    gantry__reduce_axes_t reduced;
} gantry__reduce_shape_t;

/* Bit a of the result is set when axis a is among the elements of `axes` (int32 or int64, negative ones count from the
 * end). */
uint32_t gantry__reduce_axes_mask(const gantry_arg_t *axes, int32_t rank);

/* The shape of reducing the axes of `mask` in a tensor of these sizes. */
void gantry__reduce_shape_of(int32_t rank, const int64_t *dims, uint32_t mask, gantry__reduce_shape_t *out_shape);

/* The shape of reducing the middle axis of [outer, length, columns]. */
void gantry__reduce_shape_plain(int64_t outer, int64_t length, int64_t columns, gantry__reduce_shape_t *out_shape);

/* The result of reducing no element, as TensorFlow has it, into value; returns its size in bytes. Sum 0; Mean NaN, 0
 * for integers; Max and Min the least and the greatest value of the type, infinities included. */
size_t gantry__reduce_empty(int32_t operation, int32_t dtype, unsigned char value[8]);

/* Chunks that a sequence of `length` elements is cut into; at least 1. */
static inline int64_t gantry__reduce_chunks(int64_t length)
{
    return length <= GANTRY_REDUCE_CHUNK ? 1 : (length + GANTRY_REDUCE_CHUNK - 1) / GANTRY_REDUCE_CHUNK;
}

/* The element's distance from the first one, for the index in row-major order over the axes. */
static inline int64_t gantry__reduce_offset(const gantry__reduce_axes_t *axes, int64_t index)
{
    if (axes->rank == 1) {
        return index * axes->strides[0];
    }
    int64_t offset = 0;
    for (int32_t i = axes->rank - 1; i >= 0; i--) {
        offset += index % axes->dims[i] * axes->strides[i];
        index /= axes->dims[i];
    }
    return offset;
}

#endif
