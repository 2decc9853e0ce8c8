/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of elementwise ops: NumPy's broadcasting.
 *
 * Shapes are compared from the last dimension on; a missing dimension counts as 1, and 1 stretches
 * to the other size, even to 0. Where the other size is known and not 1, an open size must be equal
 * to it, or 1. The common case, equal shapes, takes one comparison and one copy. */
#include <inttypes.h>

#include "op/op_infer.h"

bool gantry__broadcast_shapes(const gantry_shape_t *a, const gantry_shape_t *b,
                              gantry_shape_t *out) {
    const gantry_shape_t *longer = a->rank >= b->rank ? a : b;
    const gantry_shape_t *shorter = a->rank >= b->rank ? b : a;
    int32_t shift = longer->rank - shorter->rank;
    gantry_shape_t result = *longer;
    for (int32_t i = 0; i < shorter->rank; ++i) {
        int64_t dim = shorter->dims[i];
        int64_t *target = &result.dims[i + shift];
        if (*target == 1) {
            *target = dim;
        } else if (dim != 1 && !gantry__merge_sizes(target, dim)) {
            return false;
        }
    }
    *out = result;
    return true;
}

static inline bool same_shape(const gantry_shape_t *a, const gantry_shape_t *b) {
    if (a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; ++i) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

gantry_status_t gantry__infer_same(gantry__infer_t *call) {
    call->out_shapes[0] = *call->shapes[0];
    return GANTRY_OK;
}

gantry_status_t gantry__infer_population_count(gantry__infer_t *call) {
    const gantry_dtype_t dtype = (gantry_dtype_t)gantry__infer_attr(call, "output_type")->i;
    call->out_shapes[0] = *call->shapes[0];
    if (dtype == GANTRY_UINT8 || dtype == call->dtypes[0]) return GANTRY_OK;
    return gantry__refuse("output_type is %s; accepted are uint8 and the type of x, %s",
                          gantry_dtype_name(dtype), gantry_dtype_name(call->dtypes[0]));
}

gantry_status_t gantry__infer_reduce_precision(gantry__infer_t *call) {
    const int64_t exponent = gantry__infer_attr(call, "exponent_bits")->i,
                  mantissa = gantry__infer_attr(call, "mantissa_bits")->i;
    call->out_shapes[0] = *call->shapes[0];
    if (exponent < 1)
        return gantry__refuse("exponent_bits is %" PRId64 "; accepted is 1 and more", exponent);
    if (mantissa < 0)
        return gantry__refuse("mantissa_bits is %" PRId64 "; accepted is 0 and more", mantissa);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_binary(gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0], *y = call->shapes[1];
    if (same_shape(x, y)) {
        call->out_shapes[0] = *x;
        return GANTRY_OK;
    }
    if (gantry__broadcast_shapes(x, y, &call->out_shapes[0])) return GANTRY_OK;
    return gantry__refuse("Incompatible shapes: %s vs. %s", gantry__shape_text(x).text,
                          gantry__shape_text(y).text);
}

/* Whether the shapes of inputs 0 and 1 broadcast for some sizes in place of the open ones only. */
static bool may_not_fit(const gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0], *y = call->shapes[1];
    for (int32_t k = 1; k <= x->rank && k <= y->rank; ++k) {
        const int64_t a = x->dims[x->rank - k], b = y->dims[y->rank - k];
        if ((a < 0 || b < 0) && a != 1 && b != 1) return true;
    }
    return false;
}

/* If incompatible_shape_error is false, shapes that do not fit give one bool. */
gantry_status_t gantry__infer_equal(gantry__infer_t *call) {
    const bool refuses = gantry__infer_attr(call, "incompatible_shape_error")->i != 0;
    if (refuses) return gantry__infer_binary(call);
    if (gantry__broadcast_shapes(call->shapes[0], call->shapes[1], &call->out_shapes[0]))
        return may_not_fit(call) ? gantry__fail_open_rank(call, 1) : GANTRY_OK;
    call->out_shapes[0] = GANTRY_SCALAR;
    call->known_bool = call->op->id == GANTRY__OP_ID_NotEqual;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_select(gantry__infer_t *call) {
    const gantry_shape_t *condition = call->shapes[0], *then = call->shapes[1],
                         *otherwise = call->shapes[2];
    gantry_shape_t *out = &call->out_shapes[0];
    bool fits = gantry__broadcast_shapes(then, otherwise, out) &&
                gantry__broadcast_shapes(condition, out, out);
    if (fits) return GANTRY_OK;
    return gantry__refuse("condition %s, then %s, and else %s must be broadcastable",
                          gantry__shape_text(condition).text, gantry__shape_text(then).text,
                          gantry__shape_text(otherwise).text);
}

gantry_status_t gantry__infer_alike(gantry__infer_t *call) {
    const gantry_shape_t *first = call->shapes[0];
    call->out_shapes[0] = *first;
    for (uint32_t i = 1; i < call->input_count; ++i) {
        if (gantry__merge_shapes(&call->out_shapes[0], call->shapes[i])) continue;
        return gantry__refuse(
            "Inputs must have the same size and shape.  Input 0: %s != input %u: %s",
            gantry__shape_text(first).text, (unsigned)i, gantry__shape_text(call->shapes[i]).text);
    }
    return GANTRY_OK;
}

/* Infers the shape as TensorFlow's elementwise gradients of a result do: y's shape; dy must have as
 * many elements. */
gantry_status_t gantry__infer_same_count(gantry__infer_t *call) {
    const int64_t first = gantry_shape_elements(call->shapes[0]),
                  second = gantry_shape_elements(call->shapes[1]);
    if (!gantry__sizes_fit(first, second)) {
        return gantry__refuse(
            "The two arguments to a cwise op must have same number of elements, got %lld and %lld",
            (long long)first, (long long)second);
    }
    return gantry__infer_same(call);
}

/* Bounds with the tensor's own shape or scalars, as in TensorFlow, or with any shape that
 * broadcasts to it. */
gantry_status_t gantry__infer_clip(gantry__infer_t *call) {
    const gantry_shape_t *t = call->shapes[0];
    call->out_shapes[0] = *t;
    for (uint32_t i = 1; i < 3; ++i) {
        gantry_shape_t both;
        if (gantry__broadcast_shapes(t, call->shapes[i], &both) &&
            gantry__merge_shapes(&call->out_shapes[0], &both))
            continue;
        return gantry__refuse(
            "clip_value_min and clip_value_max must be either of the same shape as input, or broadcast to it. input shape: %s, %s shape: %s",
            gantry__shape_text(t).text, call->op->inputs[i].name,
            gantry__shape_text(call->shapes[i]).text);
    }
    return GANTRY_OK;
}

/* The dimension of the channels of BiasAdd's value. */
static gantry_status_t read_channel(const gantry__infer_t *call, int32_t *out_channel) {
    const gantry_shape_t *value = call->shapes[0];
    const char *format = gantry__infer_attr(call, "data_format")->s;
    bool channels_first = strcmp(format, "NCHW") == 0;
    if (!channels_first && strcmp(format, "NHWC") != 0) {
        return gantry__refuse(
            "value for attr 'data_format' of \"%s\" is not in the list of allowed values: \"NHWC\", \"NCHW\"",
            format);
    }
    if (value->rank < 2) {
        return gantry__refuse("Input tensor must be at least 2D: %s",
                              gantry__shape_text(value).text);
    }
    *out_channel = channels_first ? 1 : value->rank - 1;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_bias_add(gantry__infer_t *call) {
    const gantry_shape_t *value = call->shapes[0], *bias = call->shapes[1];
    int32_t channel;
    GANTRY__TRY(read_channel(call, &channel));
    if (bias->rank != 1) {
        return gantry__refuse("Biases must be 1D: %s", gantry__shape_text(bias).text);
    }
    call->out_shapes[0] = *value;
    if (!gantry__merge_sizes(&call->out_shapes[0].dims[channel], bias->dims[0])) {
        return gantry__refuse(
            "Must provide as many biases as dimension %d of the input tensor (data_format %s): %s vs. %s",
            (int)channel, gantry__infer_attr(call, "data_format")->s, gantry__shape_text(bias).text,
            gantry__shape_text(value).text);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_bias_add_grad(gantry__infer_t *call) {
    int32_t channel;
    GANTRY__TRY(read_channel(call, &channel));
    call->out_shapes[0] = GANTRY_SHAPE(call->shapes[0]->dims[channel]);
    return GANTRY_OK;
}
