/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of Softmax and LogSoftmax. exp and log are those of every device, and sums follow the
 * tree of kernels/reduce/reduce.cl. */
#include "kernels/common/dialect.cl"

#include "kernels/common/half.cl"
#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float64.cl"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/reduce/reduce_cpu.h"

#define SUM(a, b) ((a) + (b))
#define MAX(a, b) ((b) != (b) ? (b) : ((b) > (a) ? (b) : (a)))

#define TREE_NAME(x) sum_##x##_f32
#define TREE_IN float
#define TREE_OP(a, b) SUM(a, b)
#define TREE_IDENTITY 0
#include "kernels/reduce/reduce_cpu_tree.h"
#define TREE_NAME(x) sum_##x##_f64
#define TREE_IN double
#include "kernels/reduce/reduce_cpu_tree.h"
#define TREE_NAME(x) max_##x##_f32
#define TREE_IN float
#undef TREE_OP
#define TREE_OP(a, b) MAX(a, b)
#undef TREE_IDENTITY
#define TREE_IDENTITY -INFINITY
#include "kernels/reduce/reduce_cpu_tree.h"
#define TREE_NAME(x) max_##x##_f64
#define TREE_IN double
#include "kernels/reduce/reduce_cpu_tree.h"
#define TREE_NAME(x) max_##x##_f16
#define TREE_IN uint16_t
#define TREE_ACC float
#define TREE_LOAD(x) gantry__f16_to_f32(x)
#include "kernels/reduce/reduce_cpu_tree.h"
#define TREE_NAME(x) max_##x##_bf16
#define TREE_IN uint16_t
#define TREE_ACC float
#define TREE_LOAD(x) gantry__bf16_to_f32(x)
#include "kernels/reduce/reduce_cpu_tree.h"

#define SOFT_NAME(x) x##_f32
#define SOFT_IN float
#define SOFT_T float
#define SOFT_LOAD(x) (x)
#define SOFT_STORE(x) (x)
#define SOFT_EXP(x) gantry__exp_f32(x)
#define SOFT_LOG(x) gantry__log_f32(x)
#define SOFT_SUM sum_chunk_f32
#define SOFT_MOST max_chunk_f32
#include "kernels/norm/softmax_cpu_body.h"

#define SOFT_NAME(x) x##_f64
#define SOFT_IN double
#define SOFT_T double
#define SOFT_LOAD(x) (x)
#define SOFT_STORE(x) (x)
#define SOFT_EXP(x) gantry__exp_f64(x)
#define SOFT_LOG(x) gantry__log_f64(x)
#define SOFT_SUM sum_chunk_f64
#define SOFT_MOST max_chunk_f64
#include "kernels/norm/softmax_cpu_body.h"

#define SOFT_NAME(x) x##_f16
#define SOFT_IN uint16_t
#define SOFT_T float
#define SOFT_LOAD(x) gantry__f16_to_f32(x)
#define SOFT_STORE(x) gantry__f32_to_f16(x)
#define SOFT_EXP(x) gantry__exp_f32(x)
#define SOFT_LOG(x) gantry__log_f32(x)
#define SOFT_SUM sum_chunk_f32
#define SOFT_MOST max_chunk_f16
#include "kernels/norm/softmax_cpu_body.h"

#define SOFT_NAME(x) x##_bf16
#define SOFT_IN uint16_t
#define SOFT_T float
#define SOFT_LOAD(x) gantry__bf16_to_f32(x)
#define SOFT_STORE(x) gantry__f32_to_bf16(x)
#define SOFT_EXP(x) gantry__exp_f32(x)
#define SOFT_LOG(x) gantry__log_f32(x)
#define SOFT_SUM sum_chunk_f32
#define SOFT_MOST max_chunk_bf16
#include "kernels/norm/softmax_cpu_body.h"

#define SOFTMAX_CASE(name) \
    case GANTRY_ID_##name: return logarithm ? log_softmax_##name : softmax_##name;

gantry__cpu_softmax_fn GANTRY_CPU_NAME(softmax_find)(int32_t dtype, int logarithm) {
    switch (dtype) {
        GANTRY_FLOATING(SOFTMAX_CASE)
        default: return NULL;
    }
}
