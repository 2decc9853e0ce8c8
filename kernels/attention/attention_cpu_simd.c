/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of attention. Products are those of matmul_cpu_simd.c, exp and tanh those of every
 * device. */
#include "kernels/attention/attention_cpu.h"

#include "kernels/common/half.cl"
#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float64.cl"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define QUERIES GANTRY_CPU_ATTENTION_QUERIES
#define KEYS GANTRY_CPU_ATTENTION_KEYS
#define ITEM GANTRY_CPU_ATTENTION_ITEM

/* A NaN is the greatest of all. */
#define GREATER(a, b) ((b) != (b) || (b) > (a) ? (b) : (a))

#define AT_NAME(x) x##_f32
#define AT_T float
#define AT_HAS_HALVES 1
#define AT_EXP(x) gantry__exp_f32(x)
#define AT_LOG(x) gantry__log_f32(x)
#define AT_TANH(x) gantry__tanh_f32(x)
#include "kernels/attention/attention_cpu_body.h"

#define AT_NAME(x) x##_f64
#define AT_T double
#define AT_HAS_HALVES 0
#define AT_EXP(x) gantry__exp_f64(x)
#define AT_LOG(x) gantry__log_f64(x)
#define AT_TANH(x) gantry__tanh_f64(x)
#include "kernels/attention/attention_cpu_body.h"

gantry__cpu_attention_fn GANTRY_CPU_NAME(attention_find)(int32_t dtype, int is_gradient) {
    if (dtype == GANTRY_FLOAT64)
        return is_gradient ? attention_backward_f64 : attention_forward_f64;
    return is_gradient ? attention_backward_f32 : attention_forward_f32;
}
