/* A tree over every type in which results wrap or are rounded: included by cpu_reduce_simd.c once per tree, without a
 * guard. Needs WRAPPING_NAME(x), WRAPPING_LOAD(type, x), an element in the type of partial results as it enters its lane,
 * WRAPPING_OP(a, b) and WRAPPING_IDENTITY; undefines them. */

#define BODY_NAME(x) WRAPPING_NAME(x##_f32)
#define BODY_IN float
#define BODY_ACC float
#define BODY_LOAD(x) WRAPPING_LOAD(float, x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_PUT put_f32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_f64)
#define BODY_IN double
#define BODY_ACC double
#define BODY_LOAD(x) WRAPPING_LOAD(double, x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_PUT put_f64
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_f16)
#define BODY_IN uint16_t
#define BODY_ACC float
#define BODY_LOAD(x) WRAPPING_LOAD(float, gantry_f16_to_f32(x))
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_PUT put_f32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_bf16)
#define BODY_IN uint16_t
#define BODY_ACC float
#define BODY_LOAD(x) WRAPPING_LOAD(float, gantry_bf16_to_f32(x))
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_PUT put_f32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_u8)
#define BODY_IN uint8_t
#define BODY_ACC uint32_t
#define BODY_LOAD(x) WRAPPING_LOAD(uint32_t, (uint32_t)x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_PUT put_u32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_u16)
#define BODY_IN uint16_t
#define BODY_ACC uint32_t
#define BODY_LOAD(x) WRAPPING_LOAD(uint32_t, (uint32_t)x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_PUT put_u32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_i32)
#define BODY_IN uint32_t
#define BODY_ACC uint32_t
#define BODY_LOAD(x) WRAPPING_LOAD(uint32_t, x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_PUT put_u32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) WRAPPING_NAME(x##_i64)
#define BODY_IN uint64_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) WRAPPING_LOAD(uint64_t, x)
#define BODY_OP(a, b) WRAPPING_OP(a, b)
#define BODY_IDENTITY WRAPPING_IDENTITY
#define BODY_PUT put_u64
#include "cpu/cpu_reduce_body.h"

/* In the order of type_place. */
static const gantry__cpu_reduce_fn WRAPPING_NAME(all)[] = {
    WRAPPING_NAME(run_f32), WRAPPING_NAME(run_f64), WRAPPING_NAME(run_f16), WRAPPING_NAME(run_bf16),
    WRAPPING_NAME(run_u8),  WRAPPING_NAME(run_u16), WRAPPING_NAME(run_i32), WRAPPING_NAME(run_i64)};

#undef WRAPPING_NAME
#undef WRAPPING_LOAD
#undef WRAPPING_OP
#undef WRAPPING_IDENTITY
