/* SPDX-License-Identifier: Apache-2.0 */
/* A tree over every type in which results wrap or are rounded. It has no guard, because
 * reduce_cpu_simd.c includes it once per tree. The includer must define the operation
 * (reduce_cpu_tree.h), and these, which the file undefines: WRAPPING_NAME(x), WRAPPING_LOAD(type,
 * x), an element in the type of partial results as it enters its lane, and WRAPPING_JOIN(x), the
 * names that reduce_cpu_join.h made for the operation and the types of partial results (f32, f64,
 * u32, u64). Owner: constant tables. Threads: thread-safe. */

#define TREE_NAME(x) WRAPPING_NAME(x##_f32)
#define TREE_HAS_FEW
#define TREE_HAS_PAIR
#define TREE_IN float
#define TREE_LOAD(x) WRAPPING_LOAD(float, x)
#define TREE_JOIN(x) WRAPPING_JOIN(x##_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define TREE_NAME(x) WRAPPING_NAME(x##_f64)
#define TREE_HAS_FEW
#define TREE_HAS_PAIR
#define TREE_IN double
#define TREE_LOAD(x) WRAPPING_LOAD(double, x)
#define TREE_JOIN(x) WRAPPING_JOIN(x##_f64)
#include "kernels/reduce/reduce_cpu_body.h"

#define TREE_NAME(x) WRAPPING_NAME(x##_f16)
#define TREE_ROLLS
#define TREE_HAS_FEW
#define TREE_IN uint16_t
#define TREE_ACC float
#define TREE_LOAD(x) WRAPPING_LOAD(float, gantry__f16_to_f32(x))
#define TREE_JOIN(x) WRAPPING_JOIN(x##_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define TREE_NAME(x) WRAPPING_NAME(x##_bf16)
#define TREE_HAS_FEW
#define TREE_IN uint16_t
#define TREE_ACC float
#define TREE_LOAD(x) WRAPPING_LOAD(float, gantry__bf16_to_f32(x))
#define TREE_JOIN(x) WRAPPING_JOIN(x##_f32)
#include "kernels/reduce/reduce_cpu_body.h"

#define TREE_NAME(x) WRAPPING_NAME(x##_u8)
#define TREE_IN uint8_t
#define TREE_ACC uint32_t
#define TREE_LOAD(x) WRAPPING_LOAD(uint32_t, (uint32_t)x)
#define TREE_JOIN(x) WRAPPING_JOIN(x##_u32)
#include "kernels/reduce/reduce_cpu_body.h"

#define TREE_NAME(x) WRAPPING_NAME(x##_u16)
#define TREE_IN uint16_t
#define TREE_ACC uint32_t
#define TREE_LOAD(x) WRAPPING_LOAD(uint32_t, (uint32_t)x)
#define TREE_JOIN(x) WRAPPING_JOIN(x##_u32)
#include "kernels/reduce/reduce_cpu_body.h"

#define TREE_NAME(x) WRAPPING_NAME(x##_i32)
#define TREE_HAS_FEW
#define TREE_HAS_PAIR
#define TREE_IN uint32_t
#define TREE_LOAD(x) WRAPPING_LOAD(uint32_t, x)
#define TREE_JOIN(x) WRAPPING_JOIN(x##_u32)
#include "kernels/reduce/reduce_cpu_body.h"

#define TREE_NAME(x) WRAPPING_NAME(x##_i64)
#define TREE_HAS_FEW
#define TREE_HAS_PAIR
#define TREE_IN uint64_t
#define TREE_LOAD(x) WRAPPING_LOAD(uint64_t, x)
#define TREE_JOIN(x) WRAPPING_JOIN(x##_u64)
#include "kernels/reduce/reduce_cpu_body.h"

/* Must be in the order of type_place. */
static const make_loops_fn WRAPPING_NAME(all)[] = {
    WRAPPING_NAME(loops_f32),  WRAPPING_NAME(loops_f64), WRAPPING_NAME(loops_f16),
    WRAPPING_NAME(loops_bf16), WRAPPING_NAME(loops_u8),  WRAPPING_NAME(loops_u16),
    WRAPPING_NAME(loops_i32),  WRAPPING_NAME(loops_i64)};

#undef WRAPPING_NAME
#undef WRAPPING_JOIN
#undef WRAPPING_LOAD
