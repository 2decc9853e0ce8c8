/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that have attributes, or take several of Gantry's ops. */
#include <string.h>

#include "onnx/lower/parts.h"

/* The attribute alpha as the double of its float. */
static double alpha_or(const gantry__onnx_call_t *call, float fallback) {
    return (double)gantry__onnx_attr_float(call, "alpha", fallback);
}

gantry_status_t gantry__onnx_lower_leaky_relu(gantry__onnx_call_t *call) {
    const gantry_attr_value_t alpha = GANTRY__ONNX_FLOAT_OF("alpha", alpha_or(call, 0.01f));
    return gantry__onnx_give(
        call, gantry__onnx_op_attr(call, "LeakyRelu", gantry__onnx_input(call, 0), NULL, alpha));
}

/* x where it is not negative, else negative. */
static const gantry_tensor_t *where_negative(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                             const gantry_tensor_t *negative) {
    return gantry__onnx_select(call, gantry__onnx_op_number(call, "Less", x, 0), negative, x);
}

/* x, and alpha (exp(x) - 1) where x is negative. */
static const gantry_tensor_t *scaled_elu(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         double alpha) {
    const gantry_tensor_t *elu = gantry__onnx_op1(call, "Elu", x);
    if (alpha == 1) return elu;
    return where_negative(call, x, gantry__onnx_scale(call, elu, alpha, 0));
}

gantry_status_t gantry__onnx_lower_elu(gantry__onnx_call_t *call) {
    return gantry__onnx_give(call,
                             scaled_elu(call, gantry__onnx_input(call, 0), alpha_or(call, 1)));
}

gantry_status_t gantry__onnx_lower_selu(gantry__onnx_call_t *call) {
    const float usual_alpha = 1.67326319217681884765625f, usual_gamma = 1.05070102214813232421875f;
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const float alpha = gantry__onnx_attr_float(call, "alpha", usual_alpha),
                gamma = gantry__onnx_attr_float(call, "gamma", usual_gamma);
    if (alpha == usual_alpha && gamma == usual_gamma)
        return gantry__onnx_give(call, gantry__onnx_op1(call, "Selu", x));
    return gantry__onnx_give(
        call, gantry__onnx_scale(call, scaled_elu(call, x, (double)alpha), (double)gamma, 0));
}

/* x, and alpha (exp(x / alpha) - 1) where x is negative, for alpha of either sign. */
gantry_status_t gantry__onnx_lower_celu(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const double alpha = alpha_or(call, 1);
    if (alpha == 0) return gantry__onnx_invalid(call, "alpha is 0, by which x is divided");
    if (alpha == 1) return gantry__onnx_give(call, gantry__onnx_op1(call, "Elu", x));
    const gantry_tensor_t *y =
        gantry__onnx_op1(call, "Expm1", gantry__onnx_op_number(call, "Div", x, alpha));
    return gantry__onnx_give(call, where_negative(call, x, gantry__onnx_scale(call, y, alpha, 0)));
}

gantry_status_t gantry__onnx_lower_gelu(gantry__onnx_call_t *call) {
    const char *form = gantry__onnx_attr_text(call, "approximate", "none");
    const bool is_tanh = strcmp(form, "tanh") == 0;
    if (!is_tanh && strcmp(form, "none") != 0)
        return gantry__onnx_invalid(call, "approximate is %s; it is none or tanh", form);
    return gantry__onnx_give(call,
                             gantry__onnx_op_attr(call, "Gelu", gantry__onnx_input(call, 0), NULL,
                                                  GANTRY__ONNX_BOOL_OF("approximate", is_tanh)));
}

gantry_status_t gantry__onnx_lower_mish(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_tensor_t *tanh =
        gantry__onnx_op1(call, "Tanh", gantry__onnx_op1(call, "Softplus", x));
    return gantry__onnx_give(call, gantry__onnx_op2(call, "Mul", x, tanh));
}

/* factor x + offset within [0, 1]; NaN stays. */
static const gantry_tensor_t *hard_sigmoid_of(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                              double factor, double offset) {
    const gantry_tensor_t *line = gantry__onnx_scale(call, x, factor, offset);
    return gantry__onnx_op_number(call, "Minimum", gantry__onnx_op_number(call, "Maximum", line, 0),
                                  1);
}

gantry_status_t gantry__onnx_lower_hard_sigmoid(gantry__onnx_call_t *call) {
    const double beta = (double)gantry__onnx_attr_float(call, "beta", 0.5f);
    return gantry__onnx_give(
        call, hard_sigmoid_of(call, gantry__onnx_input(call, 0), alpha_or(call, 0.2f), beta));
}

gantry_status_t gantry__onnx_lower_hard_swish(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    return gantry__onnx_give(
        call, gantry__onnx_op2(call, "Mul", x, hard_sigmoid_of(call, x, 1.0 / 6.0, 0.5)));
}

/* A slope of one known number is LeakyRelu's alpha. */
gantry_status_t gantry__onnx_lower_prelu(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *slope = gantry__onnx_input(call, 1);
    GANTRY__TRY(gantry__onnx_need_fit(call, "slope", slope, x));
    if (gantry__onnx_is_unsigned(gantry_tensor_dtype(x))) return gantry__onnx_give(call, x);
    if (gantry_tensor_elements(slope) == 1 && gantry__onnx_is_floating(gantry_tensor_dtype(x)) &&
        gantry__onnx_is_known(call, slope)) {
        double alpha = 0;
        GANTRY__TRY(gantry__onnx_get_double(call, 1, "slope", 0, &alpha));
        return gantry__onnx_give(call, gantry__onnx_op_attr(call, "LeakyRelu", x, NULL,
                                                            GANTRY__ONNX_FLOAT_OF("alpha", alpha)));
    }
    return gantry__onnx_give(call,
                             where_negative(call, x, gantry__onnx_op2(call, "Mul", slope, x)));
}

gantry_status_t gantry__onnx_lower_thresholded_relu(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_tensor_t *is_above = gantry__onnx_op_number(call, "Greater", x, alpha_or(call, 1)),
                          *zero = gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), 0);
    return gantry__onnx_give(call, gantry__onnx_select(call, is_above, x, zero));
}

/* Integers are computed in float64, and truncated. */
gantry_status_t gantry__onnx_lower_shrink(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x),
                         work = gantry__onnx_is_floating(dtype) ? dtype : GANTRY_FLOAT64;
    const double lambd = (double)gantry__onnx_attr_float(call, "lambd", 0.5f),
                 bias = (double)gantry__onnx_attr_float(call, "bias", 0);
    x = gantry__onnx_cast(call, x, work);
    const gantry_tensor_t *zero = gantry__onnx_make_scalar(call, work, 0);
    const gantry_tensor_t *above =
        gantry__onnx_select(call, gantry__onnx_op_number(call, "Greater", x, lambd),
                            gantry__onnx_scale(call, x, 1, -bias), zero);
    const gantry_tensor_t *y =
        gantry__onnx_select(call, gantry__onnx_op_number(call, "Less", x, -lambd),
                            gantry__onnx_scale(call, x, 1, bias), above);
    return gantry__onnx_give(call, gantry__onnx_cast(call, y, dtype));
}

/* x sigmoid(alpha x) */
static const gantry_tensor_t *swish_of(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const double alpha = alpha_or(call, 1);
    if (alpha == 1) return gantry__onnx_op1(call, "Silu", x);
    return gantry__onnx_op2(
        call, "Mul", x, gantry__onnx_op1(call, "Sigmoid", gantry__onnx_scale(call, x, alpha, 0)));
}

gantry_status_t gantry__onnx_lower_swish(gantry__onnx_call_t *call) {
    return gantry__onnx_give(call, swish_of(call));
}

gantry_status_t gantry__onnx_lower_swiglu(gantry__onnx_call_t *call) {
    const gantry_tensor_t *a = gantry__onnx_input(call, 0), *b = gantry__onnx_input(call, 1);
    if (gantry_tensor_elements(a) >= 0 && gantry_tensor_elements(b) >= 0 &&
        !gantry_shape_equal(gantry_tensor_shape(a), gantry_tensor_shape(b)))
        return gantry__onnx_invalid(call, "A and B have unlike shapes");
    return gantry__onnx_give(call, gantry__onnx_op2(call, "Mul", swish_of(call), b));
}
