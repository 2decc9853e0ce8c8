/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of ops that make tensors from few numbers: Fill, Range, constants and variables. */
#include "op/op_infer.h"

#include <math.h>

#include "base/decimal.h"

#include "ops/type_rows.h"

gantry_status_t gantry__infer_fill(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_dims(call, 0, true, &call->out_shapes[0]));
    if (call->shapes[1]->rank == 0) return GANTRY_OK;
    return gantry__refuse("value must represent a scalar, got shape %s",
                          gantry__shape_text(call->shapes[1]).text);
}

/* ---- Range ---- */

static gantry_status_t fail_range_size(void) {
    return gantry__refuse("Requires ((limit - start) / delta) <= 9223372036854775807");
}

/* Counts steps in unsigned numbers, where limit - start cannot overflow. */
static gantry_status_t count_ints(const int64_t v[3], int64_t *out_count) {
    int64_t start = v[0], limit = v[1], delta = v[2];
    if (delta == 0) return gantry__refuse("Requires delta != 0: 0");
    if (delta > 0 ? start > limit : start < limit) {
        return gantry__refuse("Requires start %s limit when delta %s 0: %lld/%lld",
                              delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", (long long)start,
                              (long long)limit);
    }
    uint64_t range =
        delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t count = range / step + (range % step != 0);
    if (count > (uint64_t)INT64_MAX) return fail_range_size();
    *out_count = (int64_t)count;
    return GANTRY_OK;
}

static gantry_status_t count_floats(const double v[3], double quotient, int64_t *out_count) {
    double start = v[0], limit = v[1], delta = v[2];
    if (delta == 0) return gantry__refuse("Requires delta != 0: 0");
    if (!(delta > 0 ? start <= limit : start >= limit)) { /* true for NaN, too */
        return gantry__refuse("Requires start %s limit when delta %s 0: %g/%g",
                              delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
    }
    double count = ceil(fabs(quotient));
    if (!(count < 0x1p63)) return fail_range_size();
    *out_count = (int64_t)count;
    return GANTRY_OK;
}

/* uint64 does not fit count_ints' numbers, but its differences do. */
static gantry_status_t count_uint64(const uint64_t v[3], int64_t *out_count) {
    if (v[2] == 0) return gantry__refuse("Requires delta != 0: 0");
    if (v[0] > v[1]) {
        return gantry__refuse("Requires start <= limit when delta > 0: %llu/%llu",
                              (unsigned long long)v[0], (unsigned long long)v[1]);
    }
    uint64_t count = (v[1] - v[0]) / v[2] + ((v[1] - v[0]) % v[2] != 0);
    if (count > (uint64_t)INT64_MAX) return fail_range_size();
    *out_count = (int64_t)count;
    return GANTRY_OK;
}

/* Rounds x to a fraction of this many bits, to the nearest, ties to even. */
static double round_to_bits(double x, int bits) {
    int exponent;
    if (!isfinite(x)) return x;
    (void)frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(x, bits - exponent)), exponent - bits);
}

/* Difference and quotient have the type of the arguments, as in TensorFlow: rounding decides the
 * number of elements. */
static gantry_status_t count_floating(gantry_dtype_t dtype, const double v[3], int64_t *out_count) {
    double quotient = (v[1] - v[0]) / v[2];
    if (dtype == GANTRY_FLOAT32) {
        const float difference = (float)v[1] - (float)v[0];
        quotient = (double)(difference / (float)v[2]);
    } else if (dtype != GANTRY_FLOAT64) {
        const int bits = 16 - gantry__type_exponent_bits((int32_t)dtype);
        quotient = round_to_bits(round_to_bits(v[1] - v[0], bits) / v[2], bits);
        if (dtype == GANTRY_FLOAT16 && fabs(quotient) > 65504) quotient = INFINITY;
    }
    return count_floats(v, quotient, out_count);
}

static double read_float(gantry_dtype_t dtype, const void *data) {
    const gantry__real_t real = gantry__real_read(dtype, data);
    const double magnitude = gantry__real_magnitude(&real);
    return real.negative ? -magnitude : magnitude;
}

static gantry_status_t count_range(gantry_dtype_t dtype, const void *const data[3],
                                   int64_t *out_count) {
    const bool is_floating = GANTRY__TYPE_IS(dtype, FLOATING);
    int64_t ints[3];
    double floats[3];
    for (int i = 0; i < 3; ++i) {
        ints[i] = is_floating ? 0 : gantry__integer_read(dtype, data[i]);
        floats[i] = read_float(dtype, data[i]);
    }
    if (is_floating) return count_floating(dtype, floats, out_count);
    if (dtype == GANTRY_UINT64) {
        return count_uint64(
            (const uint64_t[]){(uint64_t)ints[0], (uint64_t)ints[1], (uint64_t)ints[2]}, out_count);
    }
    return count_ints(ints, out_count);
}

gantry_status_t gantry__infer_range(gantry__infer_t *call) {
    const void *data[3];
    bool is_open = false;
    call->out_shapes[0] = gantry__shape_open(1);
    for (uint32_t i = 0; i < 3; ++i) {
        if (call->shapes[i]->rank > 1 ||
            !gantry__sizes_fit(gantry_shape_elements(call->shapes[i]), 1)) {
            return gantry__refuse("%s must be a scalar, not shape %s", call->op->inputs[i].name,
                                  gantry__shape_text(call->shapes[i]).text);
        }
        if (gantry__infer_is_open(call, i)) {
            is_open = true;
        } else {
            GANTRY__TRY(gantry__infer_host_data(call, i, &data[i]));
        }
    }
    if (is_open) return GANTRY_OK;
    return count_range(call->dtypes[0], data, &call->out_shapes[0].dims[0]);
}

/* ---- constants and variables ---- */

gantry_status_t gantry__infer_const(gantry__infer_t *call) {
    (void)call;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "a constant is made with its bytes (gantry_constant), not called by name");
}

gantry_status_t gantry__infer_var_handle(gantry__infer_t *call) {
    const gantry_attr_t *shape = gantry__infer_attr(call, "shape");
    call->out_shapes[0].rank = (int32_t)shape->i;
    for (int32_t i = 0; i < call->out_shapes[0].rank; ++i)
        call->out_shapes[0].dims[i] = shape->list[i];
    return GANTRY_OK;
}
