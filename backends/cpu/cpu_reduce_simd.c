/* The loops of Sum, Mean, Max and Min. The tree they follow is told in backends/portable/kernels/reduce.cl.
 *
 * Integers are added as unsigned ones, which wrap. A Mean of integers is divided by the caller. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cpu/cpu_reduce.h"

#define SUM(a, b) ((a) + (b))
/* NaN stays once met; of zeros of two signs the earlier stays. Written in the form that becomes vector code. */
#define MAX(a, b) ((b) != (b) ? (b) : ((b) > (a) ? (b) : (a)))
#define MIN(a, b) ((b) != (b) ? (b) : ((b) < (a) ? (b) : (a)))
#define MAX_INT(a, b) ((a) > (b) ? (a) : (b))
#define MIN_INT(a, b) ((a) < (b) ? (a) : (b))

#define BODY_NAME(x) x##_sum_f32
#define BODY_IN float
#define BODY_ACC float
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0.0f
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_sum_f64
#define BODY_IN double
#define BODY_ACC double
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0.0
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_sum_i32
#define BODY_IN uint32_t
#define BODY_ACC uint32_t
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_sum_i64
#define BODY_IN uint64_t
#define BODY_ACC uint64_t
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_sum_wide
#define BODY_IN int32_t
#define BODY_ACC uint64_t
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_max_f32
#define BODY_IN float
#define BODY_ACC float
#define BODY_OP(a, b) MAX(a, b)
#define BODY_IDENTITY -INFINITY
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_max_f64
#define BODY_IN double
#define BODY_ACC double
#define BODY_OP(a, b) MAX(a, b)
#define BODY_IDENTITY -INFINITY
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_max_i32
#define BODY_IN int32_t
#define BODY_ACC int32_t
#define BODY_OP(a, b) MAX_INT(a, b)
#define BODY_IDENTITY INT32_MIN
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_max_i64
#define BODY_IN int64_t
#define BODY_ACC int64_t
#define BODY_OP(a, b) MAX_INT(a, b)
#define BODY_IDENTITY INT64_MIN
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_min_f32
#define BODY_IN float
#define BODY_ACC float
#define BODY_OP(a, b) MIN(a, b)
#define BODY_IDENTITY INFINITY
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_min_f64
#define BODY_IN double
#define BODY_ACC double
#define BODY_OP(a, b) MIN(a, b)
#define BODY_IDENTITY INFINITY
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_min_i32
#define BODY_IN int32_t
#define BODY_ACC int32_t
#define BODY_OP(a, b) MIN_INT(a, b)
#define BODY_IDENTITY INT32_MAX
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) x##_min_i64
#define BODY_IN int64_t
#define BODY_ACC int64_t
#define BODY_OP(a, b) MIN_INT(a, b)
#define BODY_IDENTITY INT64_MAX
#include "cpu/cpu_reduce_body.h"

gantry__cpu_reduce_fn GANTRY_CPU_NAME(reduce_find)(int operation, int32_t dtype)
{
    static const gantry__cpu_reduce_fn floats[3][2] = {
        {run_sum_f32, run_sum_f64}, {run_max_f32, run_max_f64}, {run_min_f32, run_min_f64}};
    static const gantry__cpu_reduce_fn ints[3][2] = {
        {run_sum_i32, run_sum_i64}, {run_max_i32, run_max_i64}, {run_min_i32, run_min_i64}};
    if (operation == GANTRY_CPU_SUM_WIDE) {
        return dtype == GANTRY_K_INT32 ? run_sum_wide : NULL;
    }
    if (operation < GANTRY_CPU_SUM || operation > GANTRY_CPU_MIN) {
        return NULL;
    }
    switch (dtype) {
    case GANTRY_K_FLOAT32:
        return floats[operation][0];
    case GANTRY_K_FLOAT64:
        return floats[operation][1];
    case GANTRY_K_INT32:
        return ints[operation][0];
    case GANTRY_K_INT64:
        return ints[operation][1];
    default:
        return NULL;
    }
}
