/* Shapes of ops that make tensors from little: Fill, Range, constants and variables. */
#include "op/op_infer.h"

#include <math.h>

gantry_status_t gantry__infer_fill(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_dims(call, 0, true, &call->out_shapes[0]));
    if (call->shapes[1]->rank == 0) return GANTRY_OK;
    return gantry__fail(GANTRY_INVALID_ARGUMENT, "value must represent a scalar, got shape %s",
                        gantry__shape_text(call->shapes[1]).text);
}

/* ---- Range ---- */

static gantry_status_t fail_range_size(void) {
    return gantry__fail(GANTRY_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= 9223372036854775807");
}

/* Steps in unsigned numbers, where limit - start cannot overflow. */
static gantry_status_t count_ints(const int64_t v[3], int64_t *out_count) {
    int64_t start = v[0], limit = v[1], delta = v[2];
    if (delta == 0) return gantry__fail(GANTRY_INVALID_ARGUMENT, "Requires delta != 0: 0");
    if (delta > 0 ? start > limit : start < limit) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "Requires start %s limit when delta %s 0: %lld/%lld",
                            delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", (long long)start, (long long)limit);
    }
    uint64_t range = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t count = range / step + (range % step != 0);
    if (count > (uint64_t)INT64_MAX) return fail_range_size();
    *out_count = (int64_t)count;
    return GANTRY_OK;
}

/* The quotient is float32 for float32 arguments, as in TensorFlow: rounding decides the number of elements. */
static gantry_status_t count_floats(const double v[3], double quotient, int64_t *out_count) {
    double start = v[0], limit = v[1], delta = v[2];
    if (delta == 0) return gantry__fail(GANTRY_INVALID_ARGUMENT, "Requires delta != 0: 0");
    if (!(delta > 0 ? start <= limit : start >= limit)) { /* NaN comes here too */
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "Requires start %s limit when delta %s 0: %g/%g",
                            delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
    }
    double count = ceil(fabs(quotient));
    if (!(count < 0x1p63)) return fail_range_size();
    *out_count = (int64_t)count;
    return GANTRY_OK;
}

static gantry_status_t count_range(gantry_dtype_t dtype, const void *const data[3], int64_t *out_count) {
    int64_t ints[3] = {0};
    double floats[3] = {0};
    float singles[3] = {0};
    for (int i = 0; i < 3; ++i) {
        int32_t narrow;
        switch (dtype) {
        case GANTRY_INT32:
            memcpy(&narrow, data[i], sizeof narrow);
            ints[i] = narrow;
            break;
        case GANTRY_INT64:
            memcpy(&ints[i], data[i], sizeof ints[i]);
            break;
        case GANTRY_FLOAT32:
            memcpy(&singles[i], data[i], sizeof singles[i]);
            floats[i] = singles[i];
            break;
        default:
            memcpy(&floats[i], data[i], sizeof floats[i]);
        }
    }
    if (dtype == GANTRY_INT32 || dtype == GANTRY_INT64) return count_ints(ints, out_count);
    if (dtype == GANTRY_FLOAT64) return count_floats(floats, (floats[1] - floats[0]) / floats[2], out_count);
    float difference = singles[1] - singles[0], quotient = difference / singles[2];
    return count_floats(floats, (double)quotient, out_count);
}

gantry_status_t gantry__infer_range(gantry__infer_t *call) {
    const void *data[3];
    for (uint32_t i = 0; i < 3; ++i) {
        if (call->shapes[i]->rank > 1 || gantry_shape_elements(call->shapes[i]) != 1) {
            return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s must be a scalar, not shape %s", call->op->inputs[i].name,
                                gantry__shape_text(call->shapes[i]).text);
        }
        GANTRY__TRY(gantry__infer_host_data(call, i, &data[i]));
    }
    call->out_shapes[0].rank = 1;
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
    for (int32_t i = 0; i < call->out_shapes[0].rank; ++i) call->out_shapes[0].dims[i] = shape->list[i];
    return GANTRY_OK;
}
