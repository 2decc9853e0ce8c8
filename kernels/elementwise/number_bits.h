/* SPDX-License-Identifier: Apache-2.0 */
/* A number of an attribute as an element of a tensor's type.
 *
 * Not here: conversion of tensors (Cast). Owner: nothing, there is no state. Threads:
 * thread-safe. */
#ifndef GANTRY_KERNELS_NUMBER_BITS_H
#define GANTRY_KERNELS_NUMBER_BITS_H

#include "kernels/common/kernel_types.h"

#include "kernels/common/dialect.cl"

#include "kernels/common/half.cl"

#include "ops/type_rows.h"

/* The bits of `value` in dtype, which must be a floating type. As in TensorFlow, the value is
 * rounded to a float32 first. */
static inline uint64_t gantry__k_number_bits(int32_t dtype, double value) {
    const float single = (float)value;
    const double wide = (double)single;
    uint64_t bits = 0;

    switch (dtype) {
        case GANTRY_FLOAT64: memcpy(&bits, &wide, sizeof wide); return bits;
        case GANTRY_FLOAT16: return gantry__f32_to_f16(single);
        case GANTRY_BFLOAT16: return gantry__f32_to_bf16(single);
        default: return gantry__bits_read(&single, sizeof single);
    }
}

/* The bits of the second operand of an op whose operand is made from attributes: alpha, or
 * exponent_bits and mantissa_bits; 0 for a call that has none of them. */
static inline uint64_t gantry__k_value_bits(const gantry_op_call_t *call) {
    const int32_t dtype = call->inputs[0]->dtype;
    const gantry_attr_t *alpha = gantry__k_attr(call, "alpha");
    const int64_t exponent = gantry__k_attr_int(call, "exponent_bits", 0);
    const int64_t mantissa = gantry__k_attr_int(call, "mantissa_bits", 0);

    if (alpha) return gantry__k_number_bits(dtype, alpha->f);
    return gantry__k_number_bits(dtype, gantry__precision_code(dtype, exponent, mantissa));
}

#endif
