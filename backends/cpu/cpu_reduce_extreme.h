/* Max or Min of every type: included by cpu_reduce_extreme_simd.c once for each, without a guard. Needs
 * EXTREME_NAME(x), EXTREME_OP(a, b), EXTREME_INT_OP(a, b) for integers, and EXTREME_FLOAT and EXTREME_INT(TYPE), the
 * identities; undefines them. */

#define BODY_NAME(x) EXTREME_NAME(x##_f32)
#define BODY_IN float
#define BODY_ACC float
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_OP(a, b)
#define BODY_IDENTITY EXTREME_FLOAT
#define BODY_PUT put_f32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_f64)
#define BODY_IN double
#define BODY_ACC double
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_OP(a, b)
#define BODY_IDENTITY EXTREME_FLOAT
#define BODY_PUT put_f64
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_f16)
#define BODY_IN uint16_t
#define BODY_ACC float
#define BODY_LOAD(x) gantry_f16_to_f32(x)
#define BODY_OP(a, b) EXTREME_OP(a, b)
#define BODY_IDENTITY EXTREME_FLOAT
#define BODY_PUT put_f32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_bf16)
#define BODY_IN uint16_t
#define BODY_ACC float
#define BODY_LOAD(x) gantry_bf16_to_f32(x)
#define BODY_OP(a, b) EXTREME_OP(a, b)
#define BODY_IDENTITY EXTREME_FLOAT
#define BODY_PUT put_f32
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_i8)
#define BODY_IN int8_t
#define BODY_ACC int8_t
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(INT8)
#define BODY_PUT put_as_it_is
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_i16)
#define BODY_IN int16_t
#define BODY_ACC int16_t
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(INT16)
#define BODY_PUT put_as_it_is
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_i32)
#define BODY_IN int32_t
#define BODY_ACC int32_t
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(INT32)
#define BODY_PUT put_as_it_is
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_i64)
#define BODY_IN int64_t
#define BODY_ACC int64_t
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(INT64)
#define BODY_PUT put_as_it_is
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_u8)
#define BODY_IN uint8_t
#define BODY_ACC uint8_t
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(UINT8)
#define BODY_PUT put_as_it_is
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_u16)
#define BODY_IN uint16_t
#define BODY_ACC uint16_t
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(UINT16)
#define BODY_PUT put_as_it_is
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_u32)
#define BODY_IN uint32_t
#define BODY_ACC uint32_t
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(UINT32)
#define BODY_PUT put_as_it_is
#include "cpu/cpu_reduce_body.h"

#define BODY_NAME(x) EXTREME_NAME(x##_u64)
#define BODY_IN uint64_t
#define BODY_ACC uint64_t
#define BODY_LOAD(x) (x)
#define BODY_OP(a, b) EXTREME_INT_OP(a, b)
#define BODY_IDENTITY EXTREME_INT(UINT64)
#define BODY_PUT put_as_it_is
#include "cpu/cpu_reduce_body.h"

static gantry__cpu_reduce_fn EXTREME_NAME(find)(int32_t dtype)
{
    switch (dtype) {
    case GANTRY_K_FLOAT32: return EXTREME_NAME(run_f32);
    case GANTRY_K_FLOAT64: return EXTREME_NAME(run_f64);
    case GANTRY_K_FLOAT16: return EXTREME_NAME(run_f16);
    case GANTRY_K_BFLOAT16: return EXTREME_NAME(run_bf16);
    case GANTRY_K_INT8: return EXTREME_NAME(run_i8);
    case GANTRY_K_INT16: return EXTREME_NAME(run_i16);
    case GANTRY_K_INT32: return EXTREME_NAME(run_i32);
    case GANTRY_K_INT64: return EXTREME_NAME(run_i64);
    case GANTRY_K_UINT8: return EXTREME_NAME(run_u8);
    case GANTRY_K_UINT16: return EXTREME_NAME(run_u16);
    case GANTRY_K_UINT32: return EXTREME_NAME(run_u32);
    case GANTRY_K_UINT64: return EXTREME_NAME(run_u64);
    default: return NULL;
    }
}

#undef EXTREME_NAME
#undef EXTREME_OP
#undef EXTREME_INT_OP
#undef EXTREME_FLOAT
#undef EXTREME_INT
