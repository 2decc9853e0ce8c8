/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of sums of small integers in 64 bits, for their mean, over the tree of
 * kernels/reduce/reduce.cl. Widening takes most of their time, so that the longer code of
 * reduce_cpu_simd.c (GANTRY_SIMD_PEELED in gantry_simd.cmake) would gain nothing here. */
#include <stdint.h>
#include <string.h>

#include "kernels/reduce/reduce_cpu.h"
#include "kernels/reduce/reduce_cpu_finish.h"

#define SUM(a, b) ((a) + (b))

typedef void (*make_loops_fn)(gantry__cpu_reduce_loops_t *loops);

#define JOIN_NAME(x) sums_##x##_u64
#define JOIN_ACC uint64_t
#define JOIN_OP(a, b) SUM(a, b)
#define JOIN_IDENTITY 0
#define JOIN_PUT put_u64
#include "kernels/reduce/reduce_cpu_join.h"

#define BODY_NAME(x) x##_wide_i8
#define BODY_IN int8_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) (uint64_t)(x)
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#define BODY_JOIN(x) sums_##x##_u64
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) x##_wide_u8
#define BODY_IN uint8_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) (uint64_t)(x)
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#define BODY_JOIN(x) sums_##x##_u64
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) x##_wide_i16
#define BODY_IN int16_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) (uint64_t)(x)
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#define BODY_JOIN(x) sums_##x##_u64
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) x##_wide_u16
#define BODY_IN uint16_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) (uint64_t)(x)
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#define BODY_JOIN(x) sums_##x##_u64
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) x##_wide_i32
#define BODY_IN int32_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) (uint64_t)(x)
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#define BODY_JOIN(x) sums_##x##_u64
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) x##_wide_u32
#define BODY_IN uint32_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) (uint64_t)(x)
#define BODY_OP(a, b) SUM(a, b)
#define BODY_IDENTITY 0
#define BODY_JOIN(x) sums_##x##_u64
#include "kernels/reduce/reduce_cpu_body.h"

static make_loops_fn reduce_wide_of(int32_t dtype) {
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

bool GANTRY_CPU_NAME(reduce_find_wide)(int32_t dtype, gantry__cpu_reduce_loops_t *out_loops) {
    const make_loops_fn make = reduce_wide_of(dtype);
    if (make) {
        make(out_loops);
    }
    return make != NULL;
}
