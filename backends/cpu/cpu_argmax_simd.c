/* The loops of ArgMax. NaN never wins; the first of equal elements does. */
#include <math.h>
#include <stdint.h>

#include "cpu/cpu_reduce.h"

#define ARG_NAME(x) x##_f32
#define ARG_T float
#define ARG_INDEX int32_t
#define ARG_LOWEST -INFINITY
#include "cpu/cpu_argmax_body.h"

#define ARG_NAME(x) x##_f64
#define ARG_T double
#define ARG_INDEX int64_t
#define ARG_LOWEST -INFINITY
#include "cpu/cpu_argmax_body.h"

#define ARG_NAME(x) x##_i32
#define ARG_T int32_t
#define ARG_INDEX int32_t
#define ARG_LOWEST INT32_MIN
#include "cpu/cpu_argmax_body.h"

#define ARG_NAME(x) x##_i64
#define ARG_T int64_t
#define ARG_INDEX int64_t
#define ARG_LOWEST INT64_MIN
#include "cpu/cpu_argmax_body.h"

#define ARG_NAME(x) x##_bool
#define ARG_T uint8_t
#define ARG_INDEX int32_t
#define ARG_LOWEST 0
#include "cpu/cpu_argmax_body.h"

static gantry__cpu_argmax_fn pick(int32_t dtype, const gantry__cpu_argmax_fn functions[5])
{
    switch (dtype) {
    case GANTRY_K_FLOAT32:
        return functions[0];
    case GANTRY_K_FLOAT64:
        return functions[1];
    case GANTRY_K_INT32:
        return functions[2];
    case GANTRY_K_INT64:
        return functions[3];
    case GANTRY_K_BOOL:
        return functions[4];
    default:
        return NULL;
    }
}

gantry__cpu_argmax_fn GANTRY_CPU_NAME(argmax_find)(int32_t dtype)
{
    static const gantry__cpu_argmax_fn functions[5] = {run_f32, run_f64, run_i32, run_i64, run_bool};
    return pick(dtype, functions);
}

gantry__cpu_argmax_fn GANTRY_CPU_NAME(argmax_join_find)(int32_t dtype)
{
    static const gantry__cpu_argmax_fn functions[5] = {join_f32, join_f64, join_i32, join_i64, join_bool};
    return pick(dtype, functions);
}
