/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of ops/types.def as functions of an element type that is known at run time, and the question whether a
 * type is of a set of that file.
 *
 * Not here: what programs may ask (gantry/types.h), and types that the preprocessor knows (kernels/common/types.cl).
 * Owner: none, all functions are static inline and have no state. Threads: thread-safe. */
#ifndef GANTRY_OPS_TYPE_ROWS_H
#define GANTRY_OPS_TYPE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/abi_types.h>

#include "host/bits.h"

#include "ops/type_sets.inc"

static inline bool gantry__type_is_among(int32_t dtype, uint64_t mask) {
    return (uint32_t)dtype < 64 && (mask >> dtype & 1) != 0;
}

/* GANTRY__TYPE_IS(dtype, FLOATING): whether the type is of a GANTRY_TYPE_SET. */
#define GANTRY__TYPE_IS(dtype, set) gantry__type_is_among(dtype, GANTRY_MASK_##set)

/* gantry__type_<column>(dtype); `otherwise` for a number that is no type. */
#define GANTRY__TYPE_COLUMN(type, column, CASES, otherwise)   \
    static inline type gantry__type_##column(int32_t dtype) { \
        switch (dtype) { CASES }                              \
        return otherwise;                                     \
    }
GANTRY__TYPE_COLUMN(uint32_t, bytes, GANTRY_CASES_BYTES, 0)
GANTRY__TYPE_COLUMN(int32_t, exponent_bits, GANTRY_CASES_EXPONENT, 0)
GANTRY__TYPE_COLUMN(const char *, name, GANTRY_CASES_NAME, NULL)
GANTRY__TYPE_COLUMN(const char *, alias, GANTRY_CASES_ALIAS, NULL)
GANTRY__TYPE_COLUMN(const char *, npy, GANTRY_CASES_NPY, NULL)
GANTRY__TYPE_COLUMN(const char *, safetensors, GANTRY_CASES_SAFETENSORS, NULL)
GANTRY__TYPE_COLUMN(int32_t, dlpack, GANTRY_CASES_DLPACK, -1)
GANTRY__TYPE_COLUMN(uint64_t, one, GANTRY_CASES_ONE, 0)
GANTRY__TYPE_COLUMN(uint64_t, lowest, GANTRY_CASES_LOWEST, 0)
GANTRY__TYPE_COLUMN(uint64_t, greatest, GANTRY_CASES_GREATEST, 0)
GANTRY__TYPE_COLUMN(uint64_t, infinity, GANTRY_CASES_INFINITY, 0)
GANTRY__TYPE_COLUMN(uint64_t, nan, GANTRY_CASES_NAN, 0)

/* A uint64_t whose memory begins with a 1 of the type, whose imaginary part, if it has one, is 0. */
static inline uint64_t gantry__type_placed_one(int32_t dtype) {
    const uint32_t bytes = gantry__type_bytes(dtype);
    return gantry__bits_placed(gantry__type_one(dtype),
                               GANTRY__TYPE_IS(dtype, COMPLEXES) ? bytes / 2 : bytes);
}

/* The second operand of ReducePrecision, a number that each floating type represents: 16 times the
 * bits of the fraction that are kept, plus those of the exponent; 0 in their place keeps all, and 15
 * keeps those of float16, whose denormals a float32 represents otherwise. */
static inline int32_t gantry__precision_code(int32_t dtype, int64_t exponent_bits,
                                             int64_t mantissa_bits) {
    const int32_t exponent = gantry__type_exponent_bits(dtype);
    const int32_t mantissa = 8 * (int32_t)gantry__type_bytes(dtype) - 1 - exponent;
    const int32_t all = dtype == GANTRY_FLOAT16 ? 15 : 0;
    return 16 * (mantissa_bits < mantissa ? (int32_t)mantissa_bits : mantissa) +
           (exponent_bits < exponent ? (int32_t)exponent_bits : all);
}

#endif
