/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of a reduction on the CPU, one function per type of partial results: it finishes
 * `count` of them as the plan says, and writes them to the plan's output from element `at` on.
 * The files that make loops of reduce_cpu_body.h, which are compiled once for each instruction
 * set, include this.
 *
 * Owner: arrays are the caller's; acc is overwritten. Threads: thread-safe for places that
 * differ. */
#ifndef GANTRY_KERNELS_REDUCE_CPU_FINISH_H
#define GANTRY_KERNELS_REDUCE_CPU_FINISH_H

#include "kernels/common/dialect.cl"

#include "kernels/common/types.cl"

#include "kernels/common/half.cl"

#include "kernels/reduce/reduce_finish.cl"

#include "kernels/reduce/reduce_cpu.h"

#define FINISH_FLOATS(name, type, root)                                                \
    static inline void name(const gantry__cpu_reduce_plan_t *plan, type *restrict acc, \
                            int64_t count) {                                           \
        const type divisor = (type)plan->divisor;                                      \
        if (plan->finish == GANTRY_FINISH_QUOTIENT) {                                  \
            for (int64_t i = 0; i < count; ++i) {                                      \
                acc[i] = acc[i] / divisor;                                             \
            }                                                                          \
        } else if (plan->finish == GANTRY_FINISH_ROOT) {                               \
            for (int64_t i = 0; i < count; ++i) {                                      \
                acc[i] = root(acc[i]);                                                 \
            }                                                                          \
        }                                                                              \
    }
FINISH_FLOATS(finish_floats, float, sqrtf)
FINISH_FLOATS(finish_doubles, double, sqrt)

#define STORE_ALL(type, convert)                     \
    {                                                \
        type *restrict out = (type *)plan->out + at; \
        for (int64_t i = 0; i < count; ++i) {        \
            out[i] = (type)convert(acc[i]);          \
        }                                            \
    }

static inline void put_f32(const gantry__cpu_reduce_plan_t *plan, float *restrict acc,
                           int64_t count, int64_t at) {
    finish_floats(plan, acc, count);
    if (plan->out_dtype == GANTRY_FLOAT16) {
        STORE_ALL(uint16_t, gantry__f32_to_f16)
    } else if (plan->out_dtype == GANTRY_BFLOAT16) {
        STORE_ALL(uint16_t, gantry__f32_to_bf16)
    } else {
        memcpy((float *)plan->out + at, acc, (size_t)count * sizeof *acc);
    }
}

static inline void put_f64(const gantry__cpu_reduce_plan_t *plan, double *restrict acc,
                           int64_t count, int64_t at) {
    finish_doubles(plan, acc, count);
    memcpy((double *)plan->out + at, acc, (size_t)count * sizeof *acc);
}

/* Cuts partial results that wrap, in 32 or 64 bits, to the output's size. */
#define PUT_INTEGERS(name, type)                                                                 \
    static inline void name(const gantry__cpu_reduce_plan_t *plan, type *restrict acc,           \
                            int64_t count, int64_t at) {                                         \
        if (plan->finish == GANTRY_FINISH_QUOTIENT) {                                            \
            for (int64_t i = 0; i < count; ++i) {                                                \
                acc[i] = (type)gantry__integer_quotient(acc[i], plan->divisor, plan->out_dtype); \
            }                                                                                    \
        } else if (plan->finish == GANTRY_FINISH_ROOT) {                                         \
            for (int64_t i = 0; i < count; ++i) {                                                \
                acc[i] = (type)gantry__integer_root(acc[i], plan->out_dtype);                    \
            }                                                                                    \
        }                                                                                        \
        switch (gantry__k_size(plan->out_dtype)) {                                               \
            case 1: STORE_ALL(uint8_t, ) break;                                                  \
            case 2: STORE_ALL(uint16_t, ) break;                                                 \
            case 4: STORE_ALL(uint32_t, ) break;                                                 \
            default: STORE_ALL(uint64_t, ) break;                                                \
        }                                                                                        \
    }
PUT_INTEGERS(put_u32, uint32_t)
PUT_INTEGERS(put_u64, uint64_t)

/* The largest and the least of integers are stored as they are. */
#define put_as_it_is(plan, acc, count, at)                                   \
    memcpy((unsigned char *)(plan)->out + (size_t)(at) * sizeof *(acc), acc, \
           (size_t)(count) * sizeof *(acc))

#endif
