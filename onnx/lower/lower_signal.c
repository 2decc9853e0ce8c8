/* SPDX-License-Identifier: Apache-2.0 */
/* DFT and STFT as products with a matrix of cosines and sines, whose rows are the numbers of a
 * signal (real, or real and imaginary) and whose columns those of the result. Its size is bounded,
 * because it grows with the square of the length. */
#include <math.h>
#include <string.h>

#include <gantry/ops.h>

#include "onnx/lower/lower.h"

/* The most elements of a matrix. */
#define MOST_MATRIX_ELEMENTS (INT64_C(1) << 24)
#define FULL_TURN 6.283185307179586476925286766559

/* A transform along one dimension. */
typedef struct transform_t {
    gantry__onnx_call_t *call;
    int64_t length;  /* The N of the formula. */
    int64_t inputs;  /* Numbers of the signal that count. */
    int64_t outputs; /* Numbers of the result. */
    int64_t parts;   /* Of a number of the signal: 1 real, 2 complex. */
    bool inverse;
    bool gives_real;      /* A result of real numbers, from one half of a spectrum. */
    const double *window; /* A factor for each number of the signal; NULL: 1. */
    gantry_dtype_t dtype;
} transform_t;

/* Writes the two columns of result k in the row of number i. */
static void write_parts(const transform_t *transform, double *matrix, int64_t i, int64_t k,
                        double c, double s) {
    const int64_t columns = transform->outputs * (transform->gives_real ? 1 : 2);
    double *row = matrix + i * transform->parts * columns;
    if (!transform->inverse) s = -s;
    if (transform->gives_real) {
        row[k] = c;
        row[columns + k] = -s;
        return;
    }
    row[2 * k] = c;
    row[2 * k + 1] = s;
    if (transform->parts == 1) return;
    row[columns + 2 * k] = -s;
    row[columns + 2 * k + 1] = c;
}

/* Cosine and sine of each part of a turn by the length; NULL after a failure. */
static const double *make_circle(const transform_t *transform) {
    const int64_t length = transform->length;
    double *circle = gantry__onnx_scratch(transform->call, 2 * (size_t)length, sizeof *circle);
    for (int64_t i = 0; circle && i < length; ++i) {
        const double angle = FULL_TURN * (double)i / (double)length;
        circle[2 * i] = cos(angle);
        circle[2 * i + 1] = sin(angle);
    }
    return circle;
}

/* The matrix [inputs * parts, outputs * 2], or with outputs columns of real numbers. */
static const gantry_tensor_t *make_transform_matrix(const transform_t *transform) {
    gantry__onnx_call_t *call = transform->call;
    const int64_t rows = transform->inputs * transform->parts;
    const int64_t columns = transform->outputs * (transform->gives_real ? 1 : 2);
    const size_t count = (size_t)(rows * columns);
    double *matrix = gantry__onnx_scratch(call, count + 1, sizeof *matrix);
    const double *circle = make_circle(transform);
    if (!matrix || !circle) return NULL;
    const int64_t length = transform->length;
    for (int64_t i = 0; i < transform->inputs; ++i) {
        double factor = transform->inverse ? 1 / (double)length : 1;
        if (transform->window) factor *= transform->window[i];
        /* The other half of a spectrum has the same real parts. */
        if (transform->gives_real && i > 0 && 2 * i != length) factor *= 2;
        int64_t part = 0; /* i * k % length */
        for (int64_t k = 0; k < transform->outputs; ++k) {
            write_parts(transform, matrix, i, k, factor * circle[2 * part],
                        factor * circle[2 * part + 1]);
            part += i;
            if (part >= length) part -= length;
        }
    }
    const gantry_tensor_t *x = gantry_constant(
        call->host, GANTRY_FLOAT64, GANTRY_SHAPE(rows, columns), matrix, count * sizeof *matrix);
    return transform->dtype == GANTRY_FLOAT64 ? x : gantry_cast(call->host, x, transform->dtype);
}

/* Lengths are from 1 on, and the matrix is not too large. */
static gantry_status_t check_transform(const transform_t *transform) {
    if (transform->length < 1 || transform->inputs < 1)
        return gantry__onnx_invalid(transform->call, "a transform of length %lld",
                                    (long long)transform->length);
    if (transform->length > INT32_MAX / 4 ||
        transform->inputs * transform->parts > MOST_MATRIX_ELEMENTS / (2 * transform->outputs))
        return gantry__onnx_unsupported(transform->call,
                                        "a transform of length %lld, whose matrix would have more "
                                        "than %lld elements",
                                        (long long)transform->length,
                                        (long long)MOST_MATRIX_ELEMENTS);
    return GANTRY_OK;
}

/* Values [..., inputs, parts], with dims before these two, as [..., outputs, 2 or 1]. */
static const gantry_tensor_t *apply_matrix(const transform_t *transform, const gantry_tensor_t *x) {
    gantry_scope_t *scope = transform->call->scope;
    if (!x) return NULL;
    gantry_shape_t shape = *gantry_tensor_shape(x);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    const int64_t rows = transform->inputs * transform->parts;
    if (dtype != transform->dtype) x = gantry_cast(scope, x, transform->dtype);
    const gantry_tensor_t *flat =
        gantry_reshape(scope, x, GANTRY_SHAPE(gantry_tensor_elements(x) / rows, rows));
    const gantry_tensor_t *y = gantry_matmul(scope, flat, make_transform_matrix(transform), NULL);
    shape.dims[shape.rank - 2] = transform->outputs;
    shape.dims[shape.rank - 1] = transform->gives_real ? 1 : 2;
    y = gantry_reshape(scope, y, shape);
    return dtype != transform->dtype ? gantry_cast(scope, y, dtype) : y;
}

static gantry_dtype_t transform_type(const gantry_tensor_t *x) {
    return gantry_tensor_dtype(x) == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
}

/* The axis cut, or filled with zeros, to a length. */
static const gantry_tensor_t *fit_axis(gantry_scope_t *scope, const gantry_tensor_t *x,
                                       int64_t axis, int64_t length) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    int64_t begin[GANTRY_MAX_RANK] = {0}, size[GANTRY_MAX_RANK];
    int64_t paddings[2 * GANTRY_MAX_RANK] = {0};
    if (shape->dims[axis] == length) return x;
    if (shape->dims[axis] < length) {
        paddings[2 * axis + 1] = length - shape->dims[axis];
        return gantry_pad(scope, x, paddings, NULL);
    }
    for (int32_t i = 0; i < shape->rank; ++i) size[i] = i == axis ? length : shape->dims[i];
    return gantry_slice(scope, x, begin, size);
}

/* Lengths of a DFT along an axis of size numbers. */
static gantry_status_t read_dft(transform_t *transform, const gantry_tensor_t *x, int64_t axis) {
    gantry__onnx_call_t *call = transform->call;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const bool onesided = gantry__onnx_attr_int(call, "onesided", 0) != 0;
    transform->dtype = transform_type(x);
    transform->parts = shape->dims[shape->rank - 1];
    transform->inverse = gantry__onnx_attr_int(call, "inverse", 0) != 0;
    transform->gives_real = onesided && transform->inverse;
    if (transform->parts != 1 && transform->parts != 2)
        return gantry__onnx_invalid(call, "the last dimension is %lld; accepted are 1 and 2",
                                    (long long)transform->parts);
    if (transform->gives_real && transform->parts != 2)
        return gantry__onnx_invalid(call, "inverse and onesided need complex numbers");
    if (onesided && !transform->inverse && transform->parts != 1)
        return gantry__onnx_invalid(call, "onesided needs real numbers");
    const int64_t size = shape->dims[axis];
    GANTRY__TRY(gantry__onnx_get_int(
        call, 1, "dft_length", transform->gives_real ? 2 * (size - 1) : size, &transform->length));
    const int64_t half = transform->length / 2 + 1;
    transform->inputs = transform->gives_real ? half : transform->length;
    transform->outputs = onesided && !transform->inverse ? half : transform->length;
    return check_transform(transform);
}

gantry_status_t gantry__onnx_lower_dft(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const int32_t rank = gantry_tensor_shape(x)->rank;
    int64_t axis = -2;
    if (gantry__onnx_version(call) >= 20)
        GANTRY__TRY(gantry__onnx_get_int(call, 2, "axis", -2, &axis));
    else
        axis = gantry__onnx_attr_int(call, "axis", 1);
    GANTRY__TRY(gantry__onnx_axis(call, axis, (uint32_t)rank, &axis));
    if (axis == rank - 1)
        return gantry__onnx_invalid(call, "axis %lld is that of real and imaginary parts",
                                    (long long)axis);
    transform_t transform = {.call = call};
    GANTRY__TRY(read_dft(&transform, x, axis));
    x = fit_axis(scope, x, axis, transform.inputs);
    int32_t order[GANTRY_MAX_RANK];
    for (int32_t i = 0; i < rank; ++i) order[i] = i;
    order[axis] = rank - 2;
    order[rank - 2] = (int32_t)axis;
    const bool is_moved = axis != rank - 2;
    if (is_moved) x = gantry_transpose(scope, x, order);
    const gantry_tensor_t *y = apply_matrix(&transform, x);
    return gantry__onnx_give(call, is_moved ? gantry_transpose(scope, y, order) : y);
}

/* ---- STFT ---- */

/* The frames of a signal [batch, length, parts]: [batch, frames, frame length, parts]. */
static const gantry_tensor_t *cut_frames(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         int64_t frames, int64_t step, int64_t length) {
    const size_t count = (size_t)(frames * length);
    int32_t *places = gantry__onnx_scratch(call, count + 1, sizeof *places);
    if (!places) return NULL;
    for (int64_t i = 0; i < frames; ++i)
        for (int64_t k = 0; k < length; ++k) places[i * length + k] = (int32_t)(i * step + k);
    const gantry_tensor_t *indices = gantry_constant(
        call->host, GANTRY_INT32, GANTRY_SHAPE(frames, length), places, count * sizeof *places);
    return gantry_gather(call->scope, x, indices, 1);
}

/* The frame's length and the window; one that is not known multiplies the frames. */
static gantry_status_t read_frame(transform_t *transform, int64_t signal) {
    gantry__onnx_call_t *call = transform->call;
    const gantry_tensor_t *window = gantry__onnx_input(call, 2);
    const int64_t fallback = window ? gantry_tensor_elements(window) : signal;
    GANTRY__TRY(gantry__onnx_get_int(call, 3, "frame_length", fallback, &transform->length));
    if (window && (gantry_tensor_shape(window)->rank != 1 ||
                   gantry_tensor_elements(window) != transform->length))
        return gantry__onnx_invalid(call, "a window of %lld elements for frames of %lld",
                                    (long long)gantry_tensor_elements(window),
                                    (long long)transform->length);
    size_t count = 0;
    if (window && gantry__onnx_is_known(call, window))
        GANTRY__TRY(gantry__onnx_get_doubles(call, 2, "window", &transform->window, &count));
    transform->inputs = transform->length;
    transform->outputs = transform->length;
    if (gantry__onnx_attr_int(call, "onesided", 1)) {
        if (transform->parts != 1)
            return gantry__onnx_invalid(call, "onesided needs a signal of real numbers");
        transform->outputs = transform->length / 2 + 1;
    }
    return check_transform(transform);
}

gantry_status_t gantry__onnx_lower_stft(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *window = gantry__onnx_input(call, 2);
    transform_t transform = {.call = call};
    int64_t step = 0;
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    if (gantry_tensor_shape(x)->rank == 2) x = gantry_expand_dims(scope, x, 2);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if (shape->rank != 3 || shape->dims[2] < 1 || shape->dims[2] > 2)
        return gantry__onnx_invalid(call, "signal must have the shape [batch, length, 1 or 2]");
    GANTRY__TRY(gantry__onnx_get_int(call, 1, "frame_step", 0, &step));
    if (step < 1) return gantry__onnx_invalid(call, "frame_step is %lld", (long long)step);
    transform.parts = shape->dims[2];
    transform.dtype = transform_type(x);
    GANTRY__TRY(read_frame(&transform, shape->dims[1]));
    const int64_t length = transform.length;
    if (length > shape->dims[1] || shape->dims[1] > INT32_MAX)
        return gantry__onnx_invalid(call, "frames of %lld of a signal of %lld", (long long)length,
                                    (long long)shape->dims[1]);
    const int64_t frames = (shape->dims[1] - length) / step + 1;
    const gantry_tensor_t *parts = cut_frames(call, x, frames, step, length);
    if (window && !transform.window)
        parts = gantry_mul(scope, parts, gantry_reshape(scope, window, GANTRY_SHAPE(length, 1)));
    if (!parts) return gantry_scope_status(scope);
    return gantry__onnx_give(call, apply_matrix(&transform, parts));
}
