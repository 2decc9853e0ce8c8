/* SPDX-License-Identifier: Apache-2.0 */
/* Max or Min of every type. It has no guard, because reduce_cpu_extreme_simd.c includes it once
 * for each of the two. The includer must define EXTREME_NAME(x), EXTREME_OP(a, b),
 * EXTREME_INT_OP(a, b) for integers, and EXTREME_FLOAT and EXTREME_INT(TYPE), the identities; the
 * file undefines them. An element and the identity must give the element. Owner: constant tables.
 * Threads: thread-safe. */

#define EXTREME_PASTED(x, tag) EXTREME_NAME(x##_##tag)
#define EXTREME_TAGGED(x, tag) EXTREME_PASTED(x, tag)

/* ---- floats ---- */

#define TREE_OP(a, b) EXTREME_OP(a, b)
#define TREE_IDENTITY EXTREME_FLOAT

#define TREE_HAS_PAIR
#define EXTREME_TAG f32
#define EXTREME_TYPE float
#define EXTREME_PUT put_f32
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define TREE_HAS_PAIR
#define EXTREME_TAG f64
#define EXTREME_TYPE double
#define EXTREME_PUT put_f64
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define TREE_NAME(x) EXTREME_NAME(x##_f16)
#define TREE_IN uint16_t
#define TREE_ACC float
#define TREE_LOAD(x) gantry__f16_to_f32(x)
#define TREE_FIRST(x) TREE_LOAD(x)
#define TREE_JOIN(x) EXTREME_NAME(x##_join_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define TREE_NAME(x) EXTREME_NAME(x##_bf16)
#define TREE_IN uint16_t
#define TREE_ACC float
#define TREE_LOAD(x) gantry__bf16_to_f32(x)
#define TREE_FIRST(x) TREE_LOAD(x)
#define TREE_JOIN(x) EXTREME_NAME(x##_join_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#undef TREE_OP
#undef TREE_IDENTITY

/* ---- integers ---- */

#define TREE_OP(a, b) EXTREME_INT_OP(a, b)
#define TREE_IDENTITY EXTREME_IDENTITY

#define EXTREME_TAG i8
#define EXTREME_TYPE int8_t
#define EXTREME_IDENTITY EXTREME_INT(INT8)
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define EXTREME_TAG i16
#define EXTREME_TYPE int16_t
#define EXTREME_IDENTITY EXTREME_INT(INT16)
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define TREE_HAS_FEW
#define TREE_HAS_PAIR
#define EXTREME_TAG i32
#define EXTREME_TYPE int32_t
#define EXTREME_IDENTITY EXTREME_INT(INT32)
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define TREE_HAS_FEW
#define TREE_HAS_PAIR
#define EXTREME_TAG i64
#define EXTREME_TYPE int64_t
#define EXTREME_IDENTITY EXTREME_INT(INT64)
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define EXTREME_TAG u8
#define EXTREME_TYPE uint8_t
#define EXTREME_IDENTITY EXTREME_INT(UINT8)
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define EXTREME_TAG u16
#define EXTREME_TYPE uint16_t
#define EXTREME_IDENTITY EXTREME_INT(UINT16)
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define EXTREME_TAG u32
#define EXTREME_TYPE uint32_t
#define EXTREME_IDENTITY EXTREME_INT(UINT32)
#include "kernels/reduce/reduce_cpu_extreme_type.h"

#define EXTREME_TAG u64
#define EXTREME_TYPE uint64_t
#define EXTREME_IDENTITY EXTREME_INT(UINT64)
#include "kernels/reduce/reduce_cpu_extreme_type.h"

static make_loops_fn EXTREME_NAME(find)(int32_t dtype) {
#define EXTREME_CASE(name) \
    case GANTRY_ID_##name: return EXTREME_NAME(loops_##name);
    switch (dtype) {
        GANTRY_NUMERIC(EXTREME_CASE)
        default: return NULL;
    }
}

#undef TREE_OP
#undef TREE_IDENTITY
#undef EXTREME_PASTED
#undef EXTREME_TAGGED
#undef EXTREME_CASE
#undef EXTREME_NAME
#undef EXTREME_OP
#undef EXTREME_INT_OP
#undef EXTREME_FLOAT
#undef EXTREME_INT
