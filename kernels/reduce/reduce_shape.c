/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the axes of a reduction, and finds its way through the tree (reduce_shape.h). */
#include "kernels/reduce/reduce_shape.h"

uint32_t gantry__reduce_axes_mask(const gantry_op_call_t *call) {
    const int32_t rank = call->inputs[0]->rank;
    uint32_t mask = 0;
    if (call->input_count == 1) return (UINT32_C(1) << rank) - 1;
    const gantry_arg_t *axes = call->inputs[1];
    for (int64_t i = 0; i < axes->element_count; ++i) {
        int64_t axis = gantry__k_host_int(axes, i);
        axis += axis < 0 ? rank : 0;
        if (axis >= 0 && axis < rank) {
            mask |= UINT32_C(1) << axis;
        }
    }
    return mask;
}

gantry__reduce_middle_t gantry__reduce_middle_of(const gantry_op_call_t *call) {
    const gantry_arg_t *input = call->inputs[0];
    int64_t axis = gantry__k_host_int(call->inputs[1], 0);
    gantry__reduce_middle_t middle = {.outer = 1, .columns = 1};
    axis += axis < 0 ? input->rank : 0;
    middle.length = input->dims[axis];
    for (int32_t i = 0; i < input->rank; ++i) {
        middle.outer *= i < axis ? input->dims[i] : 1;
        middle.columns *= i > axis ? input->dims[i] : 1;
    }
    return middle;
}

/* Puts an axis in front of the axes found so far, or merges it with the first of them. */
static void prepend(gantry__reduce_axes_t *axes, int64_t dim, int64_t stride, bool merge) {
    if (merge) {
        axes->dims[0] *= dim;
        return;
    }
    for (int32_t i = axes->rank; i > 0; --i) {
        axes->dims[i] = axes->dims[i - 1];
        axes->strides[i] = axes->strides[i - 1];
    }
    axes->dims[0] = dim;
    axes->strides[0] = stride;
    axes->rank++;
}

void gantry__reduce_shape_of(int32_t rank, const int64_t *dims, uint32_t mask,
                             gantry__reduce_shape_t *out_shape) {
    gantry__reduce_shape_t shape = {.length = 1, .outer = 1, .columns = 1};
    int64_t stride = 1;
    int last = -1; /* 1: the axis after this one is reduced; 0: it is kept; -1: there is none */
    for (int32_t i = rank - 1; i >= 0; --i) {
        int reduced = (mask >> i & 1u) != 0;
        int64_t dim = dims[i];
        if (reduced) {
            shape.length *= dim;
        }
        if (dim == 1) continue;
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
    if (shape.length == 1) { /* nothing is reduced: one row of columns */
        gantry__reduce_shape_plain(1, 1, shape.outer * shape.columns, &shape);
    }
    *out_shape = shape;
}

void gantry__reduce_shape_plain(int64_t outer, int64_t length, int64_t columns,
                                gantry__reduce_shape_t *out_shape) {
    gantry__reduce_shape_t shape = {.length = length, .outer = outer, .columns = columns};
    shape.kept = (gantry__reduce_axes_t){.rank = 1, .dims = {outer}, .strides = {length * columns}};
    shape.reduced = (gantry__reduce_axes_t){.rank = 1, .dims = {length}, .strides = {columns}};
    *out_shape = shape;
}

/* ---- operations ---- */

/* The bits of -infinity or infinity, of the least or the greatest integer. */
static uint64_t extreme_bits(int32_t dtype, bool is_greatest) {
    const uint64_t sign = UINT64_C(1) << (8 * gantry__k_size(dtype) - 1),
                   infinity = gantry__type_infinity(dtype);

    if (infinity != 0) return is_greatest ? infinity : infinity | sign;
    return is_greatest ? gantry__type_greatest(dtype) : gantry__type_lowest(dtype);
}

enum { EMPTY_ZERO, EMPTY_ONE, EMPTY_NOT_A_NUMBER, EMPTY_LEAST, EMPTY_GREATEST };
enum { ROW_NONE, ROW_MEAN, ROW_HALF, ROW_ROOT };

static const struct {
    int8_t tree, finish, empty;
} rows[GANTRY_REDUCE_ROWS] = {
#define GANTRY_REDUCTION(name, function, summary, form, types, tree, finish, empty) \
    {GANTRY_TREE_##tree, ROW_##finish, EMPTY_##empty},
#include "ops/reduce.def"
#undef GANTRY_REDUCTION
};

bool gantry__reduce_copies_one(int32_t operation) {
    return rows[operation].tree != GANTRY_TREE_SQUARES;
}

static uint64_t empty_bits(int32_t operation, int32_t dtype) {
    switch (rows[operation].empty) {
        case EMPTY_NOT_A_NUMBER: return gantry__type_nan(dtype);
        case EMPTY_LEAST: return extreme_bits(dtype, 0);
        case EMPTY_GREATEST: return extreme_bits(dtype, 1);
        case EMPTY_ONE: return gantry__type_one(dtype);
        default: return 0;
    }
}

size_t gantry__reduce_empty(int32_t operation, int32_t dtype, unsigned char value[8]) {
    const uint64_t bits = empty_bits(operation, dtype);
    const size_t size = gantry__k_size(dtype);

    gantry__bits_write(bits, value, size);
    return size;
}

/* ---- ways through the tree ---- */

/* The type that represents all types whose sums wrap like this one's. */
static int32_t wrapping_type(int32_t dtype) {
    if (!GANTRY__TYPE_IS(dtype, INTEGERS)) return dtype;
    switch (gantry__k_size(dtype)) {
        case 1: return GANTRY_UINT8;
        case 2: return GANTRY_UINT16;
        case 4: return GANTRY_INT32;
        default: return GANTRY_INT64;
    }
}

gantry__reduce_way_t gantry__reduce_tree_way(int32_t tree, int32_t dtype) {
    const bool is_extreme = tree == GANTRY_TREE_MAX || tree == GANTRY_TREE_MIN;
    gantry__reduce_way_t way = {.tree = tree, .in = dtype};

    if (!is_extreme && tree != GANTRY_TREE_WIDE_SUM) {
        way.in = wrapping_type(dtype);
    }
    if (gantry__k_is_half(dtype)) {
        way.acc = GANTRY_FLOAT32;
    } else if (tree == GANTRY_TREE_WIDE_SUM) {
        way.acc = GANTRY_INT64;
    } else {
        way.acc = !is_extreme && gantry__k_size(dtype) < 4 ? GANTRY_INT32 : way.in;
    }
    way.out = way.acc;
    return way;
}

gantry__reduce_way_t gantry__reduce_way(int32_t operation, int32_t dtype, int64_t length) {
    const bool is_integer = GANTRY__TYPE_IS(dtype, INTEGERS);
    const int finish = rows[operation].finish;
    int32_t tree = rows[operation].tree;

    if (finish == ROW_MEAN && is_integer && gantry__k_size(dtype) < 8) {
        tree = GANTRY_TREE_WIDE_SUM;
    }
    gantry__reduce_way_t way =
        gantry__reduce_tree_way(tree, dtype == GANTRY_BOOL ? GANTRY_UINT8 : dtype);
    way.out = dtype;
    if (finish == ROW_MEAN || finish == ROW_HALF) {
        way.finish = GANTRY_FINISH_QUOTIENT;
        way.divisor = finish == ROW_MEAN ? length : 2;
    } else if (finish == ROW_ROOT) {
        way.finish = GANTRY_FINISH_ROOT;
    }
    return way;
}

void gantry__reduce_next_level(gantry__reduce_way_t *way) {
    way->in = way->acc;
    if (way->tree == GANTRY_TREE_WIDE_SUM || way->tree == GANTRY_TREE_SQUARES) {
        way->tree = GANTRY_TREE_SUM;
    }
}
