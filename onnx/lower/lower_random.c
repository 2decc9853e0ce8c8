/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that draw. A node with a seed continues the runtime's sequence of this seed; without one it
 * draws other numbers in each process. They are not those of other libraries. Numbers are drawn in
 * float32, or float64, and rounded. */
#include <string.h>

#include "onnx/lower/parts.h"

/* The seed of a call as an integer: its bits, since it is a float. NULL: it has none. */
static const int64_t *random_seed(const gantry__onnx_call_t *call, int64_t *place) {
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(call->node, "seed");
    if (!attr) return NULL;
    if (attr->kind == GANTRY__ONNX_INT) {
        *place = gantry__onnx_attr_int(call, "seed", 0);
    } else {
        const float seed = gantry__onnx_attr_float(call, "seed", 0);
        uint32_t bits;
        memcpy(&bits, &seed, sizeof bits);
        *place = (int64_t)bits;
    }
    return place;
}

/* Uniform numbers in [0, 1), or standard normal ones. */
static const gantry_tensor_t *random_numbers(gantry__onnx_call_t *call, bool is_normal,
                                             gantry_shape_t shape, gantry_dtype_t dtype) {
    int64_t place;
    const int64_t *seed = random_seed(call, &place);
    const gantry_dtype_t work = dtype == GANTRY_FLOAT64 ? dtype : GANTRY_FLOAT32;
    return is_normal ? gantry_random_standard_normal(call->scope, shape, work, seed)
                     : gantry_random_uniform(call->scope, shape, work, seed);
}

/* Gives numbers of this shape, scaled as the attributes say. */
static gantry_status_t give_random(gantry__onnx_call_t *call, bool is_normal, gantry_shape_t shape,
                                   gantry_dtype_t fallback) {
    gantry_dtype_t dtype;
    GANTRY__TRY(gantry__onnx_attr_dtype(call, "dtype", fallback, &dtype));
    if (!gantry__onnx_is_floating(dtype))
        return gantry__onnx_invalid(call, "dtype is %s; it is a type of floats",
                                    gantry_dtype_name(dtype));
    double factor, offset;
    if (is_normal) {
        factor = (double)gantry__onnx_attr_float(call, "scale", 1);
        offset = (double)gantry__onnx_attr_float(call, "mean", 0);
    } else {
        offset = (double)gantry__onnx_attr_float(call, "low", 0);
        factor = (double)gantry__onnx_attr_float(call, "high", 1) - offset;
    }
    const gantry_tensor_t *numbers =
        gantry__onnx_scale(call, random_numbers(call, is_normal, shape, dtype), factor, offset);
    return gantry__onnx_give(call, gantry__onnx_cast(call, numbers, dtype));
}

static gantry_status_t random_of_shape(gantry__onnx_call_t *call, bool is_normal) {
    gantry_shape_t shape = GANTRY_SCALAR;
    size_t rank = 0;
    const int64_t *sizes = gantry__onnx_attr_ints(call, "shape", &rank);
    if (!gantry__onnx_find_attr(call->node, "shape"))
        return gantry__onnx_invalid(call, "shape is not given");
    if (rank > GANTRY_MAX_RANK)
        return gantry__onnx_unsupported(call, "a shape of %zu dimensions; Gantry has %d at most",
                                        rank, GANTRY_MAX_RANK);
    for (size_t i = 0; i < rank; ++i) shape.dims[i] = sizes[i];
    shape.rank = (int32_t)rank;
    if (gantry_shape_elements(&shape) < 0)
        return gantry__onnx_invalid(call, "shape has a size that is negative or too large");
    return give_random(call, is_normal, shape, GANTRY_FLOAT32);
}

static gantry_status_t random_like(gantry__onnx_call_t *call, bool is_normal) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    return give_random(call, is_normal, *gantry_tensor_shape(x), gantry_tensor_dtype(x));
}

gantry_status_t gantry__onnx_lower_random_normal(gantry__onnx_call_t *call) {
    return random_of_shape(call, true);
}

gantry_status_t gantry__onnx_lower_random_uniform(gantry__onnx_call_t *call) {
    return random_of_shape(call, false);
}

gantry_status_t gantry__onnx_lower_random_normal_like(gantry__onnx_call_t *call) {
    return random_like(call, true);
}

gantry_status_t gantry__onnx_lower_random_uniform_like(gantry__onnx_call_t *call) {
    return random_like(call, false);
}

gantry_status_t gantry__onnx_lower_multinomial(gantry__onnx_call_t *call) {
    const int64_t count = gantry__onnx_attr_int(call, "sample_size", 1);
    int64_t place;
    gantry_dtype_t dtype;
    GANTRY__TRY(gantry__onnx_attr_dtype(call, "dtype", GANTRY_INT32, &dtype));
    if (count < 1 || count > INT32_MAX)
        return gantry__onnx_invalid(call, "sample_size is %lld; it is 1 or more", (long long)count);
    return gantry__onnx_give(
        call, gantry_multinomial(call->scope, gantry__onnx_input(call, 0), (int32_t)count, dtype,
                                 random_seed(call, &place)));
}

/* 1 where a uniform number is below the probability. */
gantry_status_t gantry__onnx_lower_bernoulli(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    gantry_dtype_t dtype;
    GANTRY__TRY(gantry__onnx_attr_dtype(call, "dtype", gantry_tensor_dtype(x), &dtype));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const gantry_tensor_t *numbers =
        random_numbers(call, false, *gantry_tensor_shape(x), gantry_tensor_dtype(x));
    if (numbers) x = gantry__onnx_cast(call, x, gantry_tensor_dtype(numbers));
    return gantry__onnx_give(
        call, gantry__onnx_cast(call, gantry__onnx_op2(call, "Less", numbers, x), dtype));
}

/* ---- Dropout ---- */

/* x itself, and a mask of ones: bools, or below operator set 10 numbers of x's type. */
static gantry_status_t dropout_nothing(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    GANTRY__TRY(gantry__onnx_give(call, x));
    if (!gantry__onnx_wants(call, 1)) return GANTRY_OK;
    const gantry_tensor_t *ones = gantry__onnx_op1(call, "OnesLike", x);
    if (gantry__onnx_version(call) >= 10) ones = gantry__onnx_cast(call, ones, GANTRY_BOOL);
    return gantry__onnx_set(call, 1, ones);
}

/* Of BatchNormalization, too. */
gantry_status_t gantry__onnx_check_inference(gantry__onnx_call_t *call) {
    if (gantry__onnx_version(call) >= 7 || gantry__onnx_attr_int(call, "is_test", 0))
        return GANTRY_OK;
    return gantry__onnx_unsupported(call, "training, which is_test 0 is below operator set 7");
}

gantry_status_t gantry__onnx_lower_dropout(gantry__onnx_call_t *call) {
    return dropout_nothing(call);
}

gantry_status_t gantry__onnx_lower_dropout_by_mode(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    double ratio;
    int64_t trains;
    GANTRY__TRY(gantry__onnx_get_int(call, 2, "training_mode", 0, &trains));
    if (!trains) return dropout_nothing(call);
    GANTRY__TRY(gantry__onnx_get_double(call, 1, "ratio", 0.5, &ratio));
    if (!(ratio >= 0 && ratio < 1))
        return gantry__onnx_invalid(call, "ratio is %g; it is in [0, 1)", ratio);
    if (ratio == 0) return dropout_nothing(call);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const gantry_tensor_t *numbers =
        random_numbers(call, false, *gantry_tensor_shape(x), GANTRY_FLOAT32);
    const gantry_tensor_t *mask = gantry__onnx_op_number(call, "GreaterEqual", numbers, ratio);
    const gantry_tensor_t *zero = gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), 0);
    GANTRY__TRY(gantry__onnx_give(
        call,
        gantry__onnx_select(call, mask, gantry__onnx_scale(call, x, 1 / (1 - ratio), 0), zero)));
    return gantry__onnx_set(call, 1, mask);
}
