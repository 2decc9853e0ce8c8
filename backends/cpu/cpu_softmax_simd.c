/* The loops of Softmax and LogSoftmax: exp and log are the ones of every device, sums follow the tree of
 * kernels/reduce.cl. */
#include "portable/kernels/dialect.cl"
#include "portable/kernels/math_float32.cl"
#include "portable/kernels/math_float64.cl"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cpu/cpu_reduce.h"

#define SUM(a, b) ((a) + (b))
#define MAX(a, b) ((b) != (b) ? (b) : ((b) > (a) ? (b) : (a)))

#define TREE_NAME(x) sum_##x##_f32
#define TREE_IN float
#define TREE_ACC float
#define TREE_OP(a, b) SUM(a, b)
#define TREE_IDENTITY 0.0f
#include "cpu/cpu_reduce_tree.h"
#define TREE_NAME(x) max_##x##_f32
#define TREE_IN float
#define TREE_ACC float
#define TREE_OP(a, b) MAX(a, b)
#define TREE_IDENTITY -INFINITY
#include "cpu/cpu_reduce_tree.h"
#define TREE_NAME(x) sum_##x##_f64
#define TREE_IN double
#define TREE_ACC double
#define TREE_OP(a, b) SUM(a, b)
#define TREE_IDENTITY 0.0
#include "cpu/cpu_reduce_tree.h"
#define TREE_NAME(x) max_##x##_f64
#define TREE_IN double
#define TREE_ACC double
#define TREE_OP(a, b) MAX(a, b)
#define TREE_IDENTITY -INFINITY
#include "cpu/cpu_reduce_tree.h"

#define SOFT_NAME(x) x##_f32
#define SOFT_T float
#define SOFT_EXP(x) gantry_exp_f32(x)
#define SOFT_LOG(x) gantry_log_f32(x)
#include "cpu/cpu_softmax_body.h"

#define SOFT_NAME(x) x##_f64
#define SOFT_T double
#define SOFT_EXP(x) gantry_exp_f64(x)
#define SOFT_LOG(x) gantry_log_f64(x)
#include "cpu/cpu_softmax_body.h"

gantry__cpu_softmax_fn GANTRY_CPU_NAME(softmax_find)(int32_t dtype, int logarithm)
{
    if (dtype == GANTRY_K_FLOAT32) {
        return logarithm ? log_softmax_f32 : softmax_f32;
    }
    if (dtype == GANTRY_K_FLOAT64) {
        return logarithm ? log_softmax_f64 : softmax_f64;
    }
    return NULL;
}
