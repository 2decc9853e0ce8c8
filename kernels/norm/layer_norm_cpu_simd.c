/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of LayerNormRows. Sums follow the tree of kernels/reduce/reduce.cl, and all operations
 * the order of kernels/norm/layer_norm.cl. The output holds x - mean in between. */
#include "kernels/common/dialect.cl"

#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float64.cl"

#include "kernels/reduce/reduce_cpu.h"

#define TREE_NAME(x) sum_##x##_f32
#define TREE_IN float
#define TREE_OP(a, b) ((a) + (b))
#define TREE_IDENTITY 0
#include "kernels/reduce/reduce_cpu_tree.h"
#define TREE_NAME(x) squares_##x##_f32
#define TREE_IN float
#define TREE_LOAD(x) ((x) * (x))
#include "kernels/reduce/reduce_cpu_tree.h"
#define TREE_NAME(x) sum_##x##_f64
#define TREE_IN double
#include "kernels/reduce/reduce_cpu_tree.h"
#define TREE_NAME(x) squares_##x##_f64
#define TREE_IN double
#define TREE_LOAD(x) ((x) * (x))
#include "kernels/reduce/reduce_cpu_tree.h"

#define CENTER_BLOCK 64 /* elements */
#define LAYER_NORM(suffix, type)                                                                  \
    /* Prefetches the next row meanwhile. */                                                      \
    static void center_##suffix(const type *x, type *y, int64_t length, type mean) {              \
        int64_t i = 0;                                                                            \
        for (; i + CENTER_BLOCK <= length; i += CENTER_BLOCK) {                                   \
            gantry__cpu_prefetch((uintptr_t)(x + i) + (uintptr_t)length * sizeof *x,              \
                                 CENTER_BLOCK * sizeof *x);                                       \
            gantry__cpu_prefetch_for_write((uintptr_t)(y + i) + (uintptr_t)length * sizeof *y,    \
                                           CENTER_BLOCK * sizeof *y);                             \
            for (int64_t k = i; k < i + CENTER_BLOCK; ++k) {                                      \
                y[k] = x[k] - mean;                                                               \
            }                                                                                     \
        }                                                                                         \
        for (; i < length; ++i) {                                                                 \
            y[i] = x[i] - mean;                                                                   \
        }                                                                                         \
    }                                                                                             \
    static void scale_##suffix(type *restrict y, const type *restrict scale,                      \
                               const type *restrict offset, int64_t length, type scaling) {       \
        for (int64_t i = 0; i < length; ++i) {                                                    \
            y[i] = (y[i] * scaling) * scale[i] + offset[i];                                       \
        }                                                                                         \
    }                                                                                             \
    void GANTRY_CPU_NAME(layer_norm_##suffix)(const gantry__cpu_layer_norm_plan_t *plan,          \
                                              int64_t begin, int64_t end) {                       \
        const int64_t length = plan->length;                                                      \
        for (int64_t row = begin; row < end; ++row) {                                             \
            const type *x = (const type *)plan->in + row * length;                                \
            type *y = (type *)plan->out + row * length;                                           \
            center_##suffix(x, y, length, sum_chunk_##suffix(x, length) / (type)length);          \
            const type variance = squares_chunk_##suffix(y, length) / (type)length;               \
            const type scaling = (type)1 / gantry__sqrt_##suffix(variance + (type)plan->epsilon); \
            scale_##suffix(y, plan->scale, plan->offset, length, scaling);                        \
        }                                                                                         \
    }

LAYER_NORM(f32, float)
LAYER_NORM(f64, double)
