#include "portable/reduce_shape.h"

#include <math.h>

uint32_t gantry__reduce_axes_mask(const gantry_arg_t *axes, int32_t rank)
{
    uint32_t mask = 0;
    for (int64_t i = 0; i < axes->element_count; i++) {
        int64_t axis = gantry_k_host_int(axes, i);
        axis += axis < 0 ? rank : 0;
        if (axis >= 0 && axis < rank) {
            mask |= UINT32_C(1) << axis;
        }
    }
    return mask;
}

/* Puts an axis in front of the axes found so far, or lets the first of them grow over it. */
static void prepend(gantry__reduce_axes_t *axes, int64_t dim, int64_t stride, int merge)
{
    if (merge) {
        axes->dims[0] *= dim;
        return;
    }
    for (int32_t i = axes->rank; i > 0; i--) {
        axes->dims[i] = axes->dims[i - 1];
        axes->strides[i] = axes->strides[i - 1];
    }
    axes->dims[0] = dim;
    axes->strides[0] = stride;
    axes->rank++;
}

void gantry__reduce_shape_of(int32_t rank, const int64_t *dims, uint32_t mask, gantry__reduce_shape_t *out_shape)
{
    gantry__reduce_shape_t shape = {.length = 1, .outer = 1, .columns = 1};
    int64_t stride = 1;
    int last = -1; /* 1: the axis behind this one is reduced; 0: kept; -1: there is none */
    for (int32_t i = rank - 1; i >= 0; i--) {
        int reduced = (mask >> i & 1u) != 0;
        int64_t dim = dims[i];
        if (reduced) {
            shape.length *= dim;
        }
        if (dim == 1) {
            continue;
        }
        if (reduced) {
            prepend(&shape.reduced, dim, stride, last == 1);
        } else if (shape.reduced.rank == 0) {
            shape.columns *= dim;
        } else {
            shape.outer *= dim;
            prepend(&shape.kept, dim, stride, last == 0);
        }
        last = reduced;
        stride *= dim;
    }
    *out_shape = shape;
}

void gantry__reduce_shape_plain(int64_t outer, int64_t length, int64_t columns, gantry__reduce_shape_t *out_shape)
{
    gantry__reduce_shape_t shape = {.length = length, .outer = outer, .columns = columns};
    shape.kept = (gantry__reduce_axes_t){.rank = 1, .dims = {outer}, .strides = {length * columns}};
    shape.reduced = (gantry__reduce_axes_t){.rank = 1, .dims = {length}, .strides = {columns}};
    *out_shape = shape;
}

size_t gantry__reduce_empty(int32_t operation, int32_t dtype, unsigned char value[8])
{
    /* for Sum, Mean, Max, Min */
    static const float floats[] = {0.0f, NAN, -INFINITY, INFINITY};
    static const int32_t ints[] = {0, 0, INT32_MIN, INT32_MAX};
    static const int64_t longs[] = {0, 0, INT64_MIN, INT64_MAX};
    double wide = floats[operation];
    size_t size = gantry_k_size(dtype);
    const void *source = &floats[operation];
    if (dtype == GANTRY_K_FLOAT64) {
        source = &wide;
    } else if (dtype == GANTRY_K_INT32) {
        source = &ints[operation];
    } else if (dtype == GANTRY_K_INT64) {
        source = &longs[operation];
    }
    memcpy(value, source, size);
    return size;
}
