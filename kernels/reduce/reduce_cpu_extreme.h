/* SPDX-License-Identifier: Apache-2.0 */
/* Max or Min of every type. It has no guard, because reduce_cpu_extreme_simd.c includes it once
 * for each of the two. The includer must define EXTREME_NAME(x), EXTREME_OP(a, b),
 * EXTREME_INT_OP(a, b) for integers, and EXTREME_FLOAT and EXTREME_INT(TYPE), the identities; the
 * file undefines them. An element and the identity must give the element. Owner: constant tables.
 * Threads: thread-safe. */

#define JOIN_NAME(x) EXTREME_NAME(x##_join_f32)
#define JOIN_ACC float
#define JOIN_OP(a, b) EXTREME_OP(a, b)
#define JOIN_IDENTITY EXTREME_FLOAT
#define JOIN_PUT put_f32
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_f32)
#define BODY_HAS_PAIR
#define BODY_IN float
#define BODY_ACC float
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_OP(a, b)
#define BODY_IDENTITY EXTREME_FLOAT
#define BODY_JOIN(x) EXTREME_NAME(x##_join_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_f64)
#define JOIN_ACC double
#define JOIN_OP(a, b) EXTREME_OP(a, b)
#define JOIN_IDENTITY EXTREME_FLOAT
#define JOIN_PUT put_f64
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_f64)
#define BODY_HAS_PAIR
#define BODY_IN double
#define BODY_ACC double
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_OP(a, b)
#define BODY_IDENTITY EXTREME_FLOAT
#define BODY_JOIN(x) EXTREME_NAME(x##_join_f64)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_f16)
#define BODY_IN uint16_t
#define BODY_ACC float
#define BODY_LOAD(x) gantry__f16_to_f32(x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_OP(a, b)
#define BODY_IDENTITY EXTREME_FLOAT
#define BODY_JOIN(x) EXTREME_NAME(x##_join_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_bf16)
#define BODY_IN uint16_t
#define BODY_ACC float
#define BODY_LOAD(x) gantry__bf16_to_f32(x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_OP(a, b)
#define BODY_IDENTITY EXTREME_FLOAT
#define BODY_JOIN(x) EXTREME_NAME(x##_join_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_i8)
#define JOIN_ACC int8_t
#define JOIN_OP(a, b) EXTREME_INT_OP(a, b)
#define JOIN_IDENTITY EXTREME_INT(INT8)
#define JOIN_PUT put_as_it_is
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_i8)
#define BODY_IN int8_t
#define BODY_ACC int8_t
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(INT8)
#define BODY_JOIN(x) EXTREME_NAME(x##_join_i8)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_i16)
#define JOIN_ACC int16_t
#define JOIN_OP(a, b) EXTREME_INT_OP(a, b)
#define JOIN_IDENTITY EXTREME_INT(INT16)
#define JOIN_PUT put_as_it_is
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_i16)
#define BODY_IN int16_t
#define BODY_ACC int16_t
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(INT16)
#define BODY_JOIN(x) EXTREME_NAME(x##_join_i16)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_i32)
#define JOIN_ACC int32_t
#define JOIN_OP(a, b) EXTREME_INT_OP(a, b)
#define JOIN_IDENTITY EXTREME_INT(INT32)
#define JOIN_PUT put_as_it_is
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_i32)
#define BODY_HAS_FEW
#define BODY_HAS_PAIR
#define BODY_IN int32_t
#define BODY_ACC int32_t
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(INT32)
#define BODY_JOIN(x) EXTREME_NAME(x##_join_i32)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_i64)
#define JOIN_ACC int64_t
#define JOIN_OP(a, b) EXTREME_INT_OP(a, b)
#define JOIN_IDENTITY EXTREME_INT(INT64)
#define JOIN_PUT put_as_it_is
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_i64)
#define BODY_HAS_FEW
#define BODY_HAS_PAIR
#define BODY_IN int64_t
#define BODY_ACC int64_t
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(INT64)
#define BODY_JOIN(x) EXTREME_NAME(x##_join_i64)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_u8)
#define JOIN_ACC uint8_t
#define JOIN_OP(a, b) EXTREME_INT_OP(a, b)
#define JOIN_IDENTITY EXTREME_INT(UINT8)
#define JOIN_PUT put_as_it_is
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_u8)
#define BODY_IN uint8_t
#define BODY_ACC uint8_t
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(UINT8)
#define BODY_JOIN(x) EXTREME_NAME(x##_join_u8)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_u16)
#define JOIN_ACC uint16_t
#define JOIN_OP(a, b) EXTREME_INT_OP(a, b)
#define JOIN_IDENTITY EXTREME_INT(UINT16)
#define JOIN_PUT put_as_it_is
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_u16)
#define BODY_IN uint16_t
#define BODY_ACC uint16_t
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(UINT16)
#define BODY_JOIN(x) EXTREME_NAME(x##_join_u16)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_u32)
#define JOIN_ACC uint32_t
#define JOIN_OP(a, b) EXTREME_INT_OP(a, b)
#define JOIN_IDENTITY EXTREME_INT(UINT32)
#define JOIN_PUT put_as_it_is
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_u32)
#define BODY_IN uint32_t
#define BODY_ACC uint32_t
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(UINT32)
#define BODY_JOIN(x) EXTREME_NAME(x##_join_u32)
#include "kernels/reduce/reduce_cpu_body.h"

#define JOIN_NAME(x) EXTREME_NAME(x##_join_u64)
#define JOIN_ACC uint64_t
#define JOIN_OP(a, b) EXTREME_INT_OP(a, b)
#define JOIN_IDENTITY EXTREME_INT(UINT64)
#define JOIN_PUT put_as_it_is
#include "kernels/reduce/reduce_cpu_join.h"
#define BODY_NAME(x) EXTREME_NAME(x##_u64)
#define BODY_IN uint64_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) (x)
#define BODY_FIRST(x) BODY_LOAD(x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(UINT64)
#define BODY_JOIN(x) EXTREME_NAME(x##_join_u64)
#include "kernels/reduce/reduce_cpu_body.h"

static make_loops_fn EXTREME_NAME(find)(int32_t dtype) {
#define EXTREME_CASE(name) \
    case GANTRY_ID_##name: return EXTREME_NAME(loops_##name);
    switch (dtype) {
        GANTRY_NUMERIC(EXTREME_CASE)
        default: return NULL;
    }
}

#undef EXTREME_CASE
#undef EXTREME_NAME
#undef EXTREME_OP
#undef EXTREME_INT_OP
#undef EXTREME_FLOAT
#undef EXTREME_INT
