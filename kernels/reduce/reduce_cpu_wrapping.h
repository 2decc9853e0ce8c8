/* SPDX-License-Identifier: Apache-2.0 */
/* A tree over every type in which results wrap or are rounded. It has no guard, because
 * reduce_cpu_simd.c includes it once per tree. The includer must define WRAPPING_NAME(x),
 * WRAPPING_LOAD(type, x), an element in the type of partial results as it enters its lane,
 * WRAPPING_OP(a, b), WRAPPING_IDENTITY and WRAPPING_JOIN(x), the names that reduce_cpu_join.h made
 * for the operation and the types of partial results (f32, f64, u32, u64). The file undefines them.
 * Owner: constant tables. Threads: thread-safe. */

#define BODY_NAME(x) WRAPPING_NAME(x##_f32)
#define BODY_HAS_FEW
#define BODY_HAS_PAIR
#define BODY_IN float
#define BODY_ACC float
#define BODY_LOAD(x) WRAPPING_LOAD(float, x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_JOIN(x) WRAPPING_JOIN(x##_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_f64)
#define BODY_HAS_FEW
#define BODY_HAS_PAIR
#define BODY_IN double
#define BODY_ACC double
#define BODY_LOAD(x) WRAPPING_LOAD(double, x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_JOIN(x) WRAPPING_JOIN(x##_f64)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_f16)
#define BODY_ROLLS
#define BODY_HAS_FEW
#define BODY_IN uint16_t
#define BODY_ACC float
#define BODY_LOAD(x) WRAPPING_LOAD(float, gantry__f16_to_f32(x))
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_JOIN(x) WRAPPING_JOIN(x##_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_bf16)
#define BODY_HAS_FEW
#define BODY_IN uint16_t
#define BODY_ACC float
#define BODY_LOAD(x) WRAPPING_LOAD(float, gantry__bf16_to_f32(x))
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_JOIN(x) WRAPPING_JOIN(x##_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_u8)
#define BODY_IN uint8_t
#define BODY_ACC uint32_t
#define BODY_LOAD(x) WRAPPING_LOAD(uint32_t, (uint32_t)x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_JOIN(x) WRAPPING_JOIN(x##_u32)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_u16)
#define BODY_IN uint16_t
#define BODY_ACC uint32_t
#define BODY_LOAD(x) WRAPPING_LOAD(uint32_t, (uint32_t)x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_JOIN(x) WRAPPING_JOIN(x##_u32)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_i32)
#define BODY_HAS_FEW
#define BODY_HAS_PAIR
#define BODY_IN uint32_t
#define BODY_ACC uint32_t
#define BODY_LOAD(x) WRAPPING_LOAD(uint32_t, x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_JOIN(x) WRAPPING_JOIN(x##_u32)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_i64)
#define BODY_HAS_FEW
#define BODY_HAS_PAIR
#define BODY_IN uint64_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) WRAPPING_LOAD(uint64_t, x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_JOIN(x) WRAPPING_JOIN(x##_u64)
#include "kernels/reduce/reduce_cpu_body.h"

/* Must be in the order of type_place. */
static const make_loops_fn WRAPPING_NAME(all)[] = {
    WRAPPING_NAME(loops_f32),  WRAPPING_NAME(loops_f64), WRAPPING_NAME(loops_f16),
    WRAPPING_NAME(loops_bf16), WRAPPING_NAME(loops_u8),  WRAPPING_NAME(loops_u16),
    WRAPPING_NAME(loops_i32),  WRAPPING_NAME(loops_i64)};

#undef WRAPPING_NAME
#undef WRAPPING_JOIN
#undef WRAPPING_LOAD
#undef WRAPPING_OP
#undef WRAPPING_IDENTITY
