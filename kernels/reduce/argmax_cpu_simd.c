/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of ArgMax and ArgMin. NaN never wins; the first of equal elements does. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/common/dialect.cl"

#include "kernels/common/half.cl"

#include "kernels/reduce/reduce_cpu.h"

#define ARG_REVERSED(x) (-(x))

#define ARG_NAME(x) x##_f32
#define ARG_IN float
#define ARG_INDEX int32_t
#define ARG_LOWEST -INFINITY
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_f64
#define ARG_IN double
#define ARG_INDEX int64_t
#define ARG_LOWEST -INFINITY
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_f16
#define ARG_IN uint16_t
#define ARG_T float
#define ARG_LOAD(x) gantry__f16_to_f32(x)
#define ARG_INDEX int32_t
#define ARG_LOWEST -INFINITY
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_bf16
#define ARG_IN uint16_t
#define ARG_T float
#define ARG_LOAD(x) gantry__bf16_to_f32(x)
#define ARG_INDEX int32_t
#define ARG_LOWEST -INFINITY
#include "kernels/reduce/argmax_cpu_body.h"

#undef ARG_REVERSED
#define ARG_REVERSED(x) ((ARG_T) ~(x))

#define ARG_NAME(x) x##_i8
#define ARG_IN int8_t
#define ARG_INDEX int16_t
#define ARG_LOWEST INT8_MIN
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_u8
#define ARG_IN uint8_t
#define ARG_INDEX int16_t
#define ARG_LOWEST 0
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_i16
#define ARG_IN int16_t
#define ARG_INDEX int16_t
#define ARG_LOWEST INT16_MIN
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_u16
#define ARG_IN uint16_t
#define ARG_INDEX int16_t
#define ARG_LOWEST 0
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_i32
#define ARG_IN int32_t
#define ARG_INDEX int32_t
#define ARG_LOWEST INT32_MIN
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_u32
#define ARG_IN uint32_t
#define ARG_INDEX int32_t
#define ARG_LOWEST 0
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_i64
#define ARG_IN int64_t
#define ARG_INDEX int64_t
#define ARG_LOWEST INT64_MIN
#include "kernels/reduce/argmax_cpu_body.h"

#define ARG_NAME(x) x##_u64
#define ARG_IN uint64_t
#define ARG_INDEX int64_t
#define ARG_LOWEST 0
#include "kernels/reduce/argmax_cpu_body.h"

typedef struct {
    int32_t dtype;
    gantry__cpu_argmax_fn run, join;
} loops_t;

#define LOOPS_ROW(name) {GANTRY_ID_##name, run_##name, join_##name},
/* Returns NULL for a type that has no loops. */
static const loops_t *argmax_cpu_find(int32_t dtype) {
    static const loops_t loops[] = {
        GANTRY_NUMERIC(LOOPS_ROW){GANTRY_BOOL, run_u8, join_u8},
    };
    for (size_t k = 0; k < sizeof loops / sizeof loops[0]; ++k) {
        if (loops[k].dtype == dtype) return &loops[k];
    }
    return NULL;
}

gantry__cpu_argmax_fn GANTRY_CPU_NAME(argmax_find)(int32_t dtype) {
    const loops_t *loops = argmax_cpu_find(dtype);
    return loops ? loops->run : NULL;
}

gantry__cpu_argmax_fn GANTRY_CPU_NAME(argmax_join_find)(int32_t dtype) {
    const loops_t *loops = argmax_cpu_find(dtype);
    return loops ? loops->join : NULL;
}
