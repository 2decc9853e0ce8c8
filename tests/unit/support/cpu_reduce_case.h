/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the tests of reductions and of Softmax on the CPU: random tensors, their
 * elements as numbers, and the kernels. Everything is static; include it once per test program. */
#ifndef GANTRY_TESTS_CPU_REDUCE_CASE_H
#define GANTRY_TESTS_CPU_REDUCE_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu_kernel_call.h"

#include "kernels/reduce/reduce_cpu.h"

#include "kernels/common/dialect.cl"

#include "kernels/common/half.cl"

#define F32 GANTRY_FLOAT32
#define F64 GANTRY_FLOAT64
#define I32 GANTRY_INT32
#define I64 GANTRY_INT64
#define F16 GANTRY_FLOAT16
#define BF16 GANTRY_BFLOAT16

static uint64_t random_state = 1;

static inline uint32_t random_bits(void) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 32);
}

static inline void randomize(gantry_arg_t *arg) {
    for (int64_t i = 0; i < arg->element_count; ++i) {
        double value = (double)random_bits() / 4294967296.0 - 0.5;
        value = ldexp(value, (int)(random_bits() % 12));
        switch (arg->dtype) {
            case F32: ((float *)arg->data)[i] = (float)value; break;
            case F64: ((double *)arg->data)[i] = value; break;
            case F16: ((uint16_t *)arg->data)[i] = gantry__f32_to_f16((float)value); break;
            case BF16: ((uint16_t *)arg->data)[i] = gantry__f32_to_bf16((float)value); break;
            case I32: ((uint32_t *)arg->data)[i] = random_bits(); break;
            case I64:
                ((uint64_t *)arg->data)[i] = (uint64_t)random_bits() << 32 | random_bits();
                break;
            default: ((uint8_t *)arg->data)[i] = random_bits() & 1u; break;
        }
    }
}

static inline const gantry_kernel_def_t *kernel_of(const char *op) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_reduce_kernels, gantry__cpu_reduce_kernel_count, op);
    assert_non_null(kernel);
    return kernel;
}

static inline double element(const gantry_arg_t *arg, int64_t i) {
    switch (arg->dtype) {
        case F32: return (double)((float *)arg->data)[i];
        case F64: return ((double *)arg->data)[i];
        case I32: return ((int32_t *)arg->data)[i];
        case I64: return (double)((int64_t *)arg->data)[i];
        default: return ((uint8_t *)arg->data)[i];
    }
}

#endif
