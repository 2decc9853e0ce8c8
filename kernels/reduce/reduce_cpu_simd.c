/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of sums, products and sums of squares over the tree of kernels/reduce/reduce.cl.
 * Integers are computed as unsigned ones, which wrap. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/reduce/reduce_cpu.h"
#include "kernels/reduce/reduce_cpu_finish.h"

typedef void (*make_loops_fn)(gantry__cpu_reduce_loops_t *loops);

/* ---- products ---- */

#define TREE_OP(a, b) ((a) * (b))
#define TREE_IDENTITY 1

#define TREE_NAME(x) products_##x##_f32
#define TREE_ACC float
#define TREE_PUT put_f32
#include "kernels/reduce/reduce_cpu_join.h"

#define TREE_NAME(x) products_##x##_f64
#define TREE_ACC double
#define TREE_PUT put_f64
#include "kernels/reduce/reduce_cpu_join.h"

#define TREE_NAME(x) products_##x##_u32
#define TREE_ACC uint32_t
#define TREE_PUT put_u32
#include "kernels/reduce/reduce_cpu_join.h"

#define TREE_NAME(x) products_##x##_u64
#define TREE_ACC uint64_t
#define TREE_PUT put_u64
#include "kernels/reduce/reduce_cpu_join.h"

#define WRAPPING_NAME(x) x##_product
#define WRAPPING_JOIN(x) products_##x
#define WRAPPING_LOAD(type, x) ((type)(x))
#include "kernels/reduce/reduce_cpu_wrapping.h"

#undef TREE_OP
#undef TREE_IDENTITY

/* ---- sums ---- */

#define TREE_OP(a, b) ((a) + (b))
#define TREE_IDENTITY 0

#define TREE_NAME(x) sums_##x##_f32
#define TREE_ACC float
#define TREE_PUT put_f32
#include "kernels/reduce/reduce_cpu_join.h"

#define TREE_NAME(x) sums_##x##_f64
#define TREE_ACC double
#define TREE_PUT put_f64
#include "kernels/reduce/reduce_cpu_join.h"

#define TREE_NAME(x) sums_##x##_u32
#define TREE_ACC uint32_t
#define TREE_PUT put_u32
#include "kernels/reduce/reduce_cpu_join.h"

#define TREE_NAME(x) sums_##x##_u64
#define TREE_ACC uint64_t
#define TREE_PUT put_u64
#include "kernels/reduce/reduce_cpu_join.h"

#define WRAPPING_NAME(x) x##_sum
#define WRAPPING_JOIN(x) sums_##x
#define WRAPPING_LOAD(type, x) ((type)(x))
#include "kernels/reduce/reduce_cpu_wrapping.h"

#define SQUARE(type) \
    static inline type square_of_##type(type x) { return x * x; }
SQUARE(float)
SQUARE(double)
SQUARE(uint32_t)
SQUARE(uint64_t)

#define WRAPPING_NAME(x) x##_squares
#define WRAPPING_JOIN(x) sums_##x
#define WRAPPING_LOAD(type, x) square_of_##type(x)
#include "kernels/reduce/reduce_cpu_wrapping.h"

/* Sums of small integers in 64 bits, for their mean. */
#define TREE_NAME(x) x##_wide_i8
#define TREE_IN int8_t
#include "kernels/reduce/reduce_cpu_wide.h"

#define TREE_NAME(x) x##_wide_u8
#define TREE_IN uint8_t
#include "kernels/reduce/reduce_cpu_wide.h"

#define TREE_NAME(x) x##_wide_i16
#define TREE_IN int16_t
#include "kernels/reduce/reduce_cpu_wide.h"

#define TREE_NAME(x) x##_wide_u16
#define TREE_IN uint16_t
#include "kernels/reduce/reduce_cpu_wide.h"

#define TREE_NAME(x) x##_wide_i32
#define TREE_IN int32_t
#include "kernels/reduce/reduce_cpu_wide.h"

#define TREE_NAME(x) x##_wide_u32
#define TREE_IN uint32_t
#include "kernels/reduce/reduce_cpu_wide.h"

enum { WRAPPING_TYPES = 8 };

static int type_place(int32_t dtype) {
    static const int32_t dtypes[WRAPPING_TYPES] = {GANTRY_FLOAT32,  GANTRY_FLOAT64, GANTRY_FLOAT16,
                                                   GANTRY_BFLOAT16, GANTRY_UINT8,   GANTRY_UINT16,
                                                   GANTRY_INT32,    GANTRY_INT64};
    int place = 0;
    while (place < WRAPPING_TYPES && dtypes[place] != dtype) {
        place++;
    }
    return place;
}

static make_loops_fn find_wide(int32_t dtype) {
    switch (dtype) {
        case GANTRY_INT8: return loops_wide_i8;
        case GANTRY_UINT8: return loops_wide_u8;
        case GANTRY_INT16: return loops_wide_i16;
        case GANTRY_UINT16: return loops_wide_u16;
        case GANTRY_INT32: return loops_wide_i32;
        case GANTRY_UINT32: return loops_wide_u32;
        default: return NULL;
    }
}

static make_loops_fn reduce_cpu_find(int32_t tree, int32_t dtype) {
    const int place = type_place(dtype);
    if (tree == GANTRY_TREE_WIDE_SUM) return find_wide(dtype);
    if (place == WRAPPING_TYPES) return NULL;
    switch (tree) {
        case GANTRY_TREE_SUM: return all_sum[place];
        case GANTRY_TREE_PRODUCT: return all_product[place];
        case GANTRY_TREE_SQUARES: return all_squares[place];
        default: return NULL;
    }
}

bool GANTRY_CPU_NAME(reduce_find)(int32_t tree, int32_t dtype,
                                  gantry__cpu_reduce_loops_t *out_loops) {
    const make_loops_fn make = reduce_cpu_find(tree, dtype);
    if (make) {
        make(out_loops);
    }
    return make != NULL;
}
