/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations, but for that of a batch. Gantry computes halves in float32 and rounds once, so
 * stash_type changes the work of its ops only where it is float64. */
#include <string.h>

#include "onnx/lower/parts.h"

static double epsilon_of(const gantry__onnx_call_t *call) {
    return (double)gantry__onnx_attr_float(call, "epsilon", 1e-5f);
}

/* The types of the statistics, and of the work. */
static gantry_status_t norm_types(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                                  gantry_dtype_t *out_stash, gantry_dtype_t *out_work) {
    GANTRY__TRY(gantry__onnx_attr_dtype(call, "stash_type", GANTRY_FLOAT32, out_stash));
    if (!gantry__onnx_is_floating(*out_stash))
        return gantry__onnx_invalid(call, "stash_type is %s; it is a type of floats",
                                    gantry_dtype_name(*out_stash));
    *out_work = *out_stash == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : dtype;
    return GANTRY_OK;
}

/* ---- over the last dimensions ---- */

/* The shape of the dimensions from axis on. */
static gantry_shape_t shape_from(const gantry_tensor_t *x, int64_t axis) {
    const gantry_shape_t *all = gantry_tensor_shape(x);
    gantry_shape_t shape = {.rank = all->rank - (int32_t)axis};
    memcpy(shape.dims, all->dims + axis, (size_t)shape.rank * sizeof *shape.dims);
    return shape;
}

static bool has_shape(const gantry_tensor_t *x, const gantry_shape_t *shape) {
    return !x || gantry_shape_equal(gantry_tensor_shape(x), shape);
}

static const gantry_tensor_t *norm_filled(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                                          gantry_shape_t shape, double value) {
    const gantry_tensor_t *number = gantry__onnx_make_scalar(call, dtype, value);
    return number ? gantry_fill(call->scope, shape, number) : NULL;
}

static gantry_status_t norm_axis(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                 int64_t *out_axis) {
    return gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", -1),
                             (uint32_t)gantry_tensor_shape(x)->rank, out_axis);
}

/* The first of the normalised dimensions, whose sizes must be known; scale and offset, which may be
 * NULL, must broadcast to x. */
static gantry_status_t norm_begin(gantry__onnx_call_t *call, const gantry_tensor_t *offset,
                                  int64_t *out_axis) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    GANTRY__TRY(norm_axis(call, x, out_axis));
    GANTRY__TRY(gantry__onnx_need_fit(call, "scale", gantry__onnx_input(call, 1), x));
    GANTRY__TRY(gantry__onnx_need_fit(call, "B", offset, x));
    if (gantry__onnx_product(shape, (int32_t)*out_axis, shape->rank) >= 0) return GANTRY_OK;
    return gantry__onnx_need_shape(call, x);
}

/* A scale and an offset of other shapes than that of the normalised dimensions broadcast after an
 * op with ones and zeros. */
static const gantry_tensor_t *layer_norm_of(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                            const gantry_tensor_t *scale,
                                            const gantry_tensor_t *offset, int64_t axis) {
    if (!x) return NULL;
    const gantry_shape_t shape = shape_from(x, axis);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    const bool fits = has_shape(scale, &shape) && has_shape(offset, &shape);
    const gantry_tensor_t *ones = fits ? scale : norm_filled(call, dtype, shape, 1),
                          *zeros = fits && offset ? offset : norm_filled(call, dtype, shape, 0);
    if (!ones || !zeros) return NULL;
    const gantry_tensor_t *y =
        gantry_layer_norm(call->scope, x, ones, zeros, (int32_t)axis, epsilon_of(call));
    if (!fits) y = gantry__onnx_op2(call, "Mul", y, scale);
    if (!fits && offset) y = gantry__onnx_op2(call, "Add", y, offset);
    return y;
}

/* The outputs Mean and InvStdDev, of stash_type. */
static gantry_status_t layer_norm_statistics(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                             int64_t axis, gantry_dtype_t stash) {
    int32_t axes[GANTRY_MAX_RANK];
    gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = axes, .keep_dims = true};
    const gantry_tensor_t *mean = NULL, *variance = NULL;
    if (x && gantry__onnx_is_half(gantry_tensor_dtype(x)))
        x = gantry__onnx_cast(call, x, GANTRY_FLOAT32);
    if (!x) return gantry__onnx_give(call, NULL);
    for (int64_t i = axis; i < gantry_tensor_shape(x)->rank; ++i)
        axes[options.axis_count++] = (int32_t)i;
    GANTRY__TRY(gantry_moments(call->scope, x, &options, &mean, &variance));
    const gantry_tensor_t *inverse =
        gantry__onnx_op1(call, "Rsqrt", gantry__onnx_scale(call, variance, 1, epsilon_of(call)));
    GANTRY__TRY(gantry__onnx_set(call, 1, gantry__onnx_cast(call, mean, stash)));
    return gantry__onnx_set(call, 2, gantry__onnx_cast(call, inverse, stash));
}

gantry_status_t gantry__onnx_lower_layer_normalization(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    gantry_dtype_t stash, work;
    int64_t axis;
    GANTRY__TRY(norm_types(call, dtype, &stash, &work));
    GANTRY__TRY(norm_begin(call, gantry__onnx_input(call, 2), &axis));
    x = gantry__onnx_cast(call, x, work);
    const gantry_tensor_t *y =
        layer_norm_of(call, x, gantry__onnx_cast(call, gantry__onnx_input(call, 1), work),
                      gantry__onnx_cast(call, gantry__onnx_input(call, 2), work), axis);
    GANTRY__TRY(gantry__onnx_give(call, gantry__onnx_cast(call, y, dtype)));
    if (!gantry__onnx_wants(call, 1) && !gantry__onnx_wants(call, 2)) return GANTRY_OK;
    return layer_norm_statistics(call, x, axis, stash);
}

/* The result has the type of scale. */
gantry_status_t gantry__onnx_lower_rms_normalization(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *scale = gantry__onnx_input(call, 1);
    const gantry_dtype_t result = gantry_tensor_dtype(scale);
    gantry_dtype_t stash, work;
    int64_t axis;
    GANTRY__TRY(norm_types(call, gantry_tensor_dtype(x), &stash, &work));
    GANTRY__TRY(norm_begin(call, NULL, &axis));
    x = gantry__onnx_cast(call, x, work);
    if (!x) return gantry__onnx_give(call, NULL);
    const gantry_shape_t shape = shape_from(x, axis);
    const bool fits = has_shape(scale, &shape);
    scale = gantry__onnx_cast(call, scale, work);
    const gantry_tensor_t *ones = fits ? scale : norm_filled(call, work, shape, 1);
    const gantry_tensor_t *y =
        ones ? gantry_rms_norm(call->scope, x, ones, (int32_t)axis, epsilon_of(call)) : NULL;
    if (!fits) y = gantry__onnx_op2(call, "Mul", y, scale);
    return gantry__onnx_give(call, gantry__onnx_cast(call, y, result));
}

/* ---- over channels of each element of the batch ---- */

gantry_status_t gantry__onnx_lower_instance_normalization(gantry__onnx_call_t *call) {
    return gantry__onnx_give(
        call,
        gantry_instance_norm(call->scope, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1),
                             gantry__onnx_input(call, 2), epsilon_of(call), true));
}

/* Below operator set 21, scale and bias have an element for each group: each is repeated for the
 * channels of its group. */
static const gantry_tensor_t *group_parameter(gantry__onnx_call_t *call, size_t i, int64_t groups,
                                              int64_t channels) {
    const gantry_tensor_t *x = gantry__onnx_input(call, i);
    if (gantry__onnx_version(call) >= 21 || channels == groups) return x;
    x = gantry__onnx_reshape(call, x, GANTRY_SHAPE(groups, 1));
    x = gantry__onnx_broadcast(call, x, GANTRY_SHAPE(groups, channels / groups));
    return gantry__onnx_reshape(call, x, GANTRY_SHAPE(channels));
}

static gantry_status_t group_check(gantry__onnx_call_t *call, size_t i, int64_t groups,
                                   int64_t channels) {
    const bool is_by_group = gantry__onnx_version(call) < 21;
    const gantry_shape_t *shape = gantry_tensor_shape(gantry__onnx_input(call, i));
    if (shape->rank == 1 && shape->dims[0] == (is_by_group ? groups : channels)) return GANTRY_OK;
    return gantry__onnx_invalid(call, "%s must be a vector of an element for each of %lld %s",
                                i == 1 ? "scale" : "bias",
                                (long long)(is_by_group ? groups : channels),
                                is_by_group ? "groups (below operator set 21)" : "channels");
}

gantry_status_t gantry__onnx_lower_group_normalization(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    const int64_t groups = gantry__onnx_attr_int(call, "num_groups", 0);
    gantry_dtype_t stash, work;
    GANTRY__TRY(norm_types(call, dtype, &stash, &work));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const int64_t channels = gantry_tensor_shape(x)->rank > 1 ? gantry_tensor_shape(x)->dims[1] : 0;
    if (groups < 1 || channels % groups != 0)
        return gantry__onnx_invalid(call, "num_groups is %lld, of %lld channels", (long long)groups,
                                    (long long)channels);
    GANTRY__TRY(group_check(call, 1, groups, channels));
    GANTRY__TRY(group_check(call, 2, groups, channels));
    const gantry_tensor_t *in[3] = {x, group_parameter(call, 1, groups, channels),
                                    group_parameter(call, 2, groups, channels)};
    for (int i = 0; i < 3; ++i) {
        in[i] = gantry__onnx_cast(call, in[i], work);
        if (!in[i]) return gantry__onnx_give(call, NULL);
    }
    const gantry_tensor_t *y =
        gantry_group_norm(call->scope, in[0], in[1], in[2], groups, epsilon_of(call), true);
    return gantry__onnx_give(call, gantry__onnx_cast(call, y, dtype));
}

/* ---- others ---- */

/* A row whose norm is 0 gives zeros. */
gantry_status_t gantry__onnx_lower_lp_normalization(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const int64_t p = gantry__onnx_attr_int(call, "p", 2);
    int64_t axis;
    GANTRY__TRY(norm_axis(call, x, &axis));
    if (p != 1 && p != 2)
        return gantry__onnx_invalid(call, "p is %lld; it is 1 or 2", (long long)p);
    const gantry_tensor_t *norm =
        p == 2 ? gantry__onnx_reduce(call, "EuclideanNorm", x, &axis, 1, true)
               : gantry__onnx_reduce(call, "Sum", gantry__onnx_op1(call, "Abs", x), &axis, 1, true);
    return gantry__onnx_give(call, gantry__onnx_op2(call, "DivNoNan", x, norm));
}

/* (x - mean) / (deviation + 1e-9) */
gantry_status_t gantry__onnx_lower_mean_variance_normalization(gantry__onnx_call_t *call) {
    static const int64_t usual[] = {0, 2, 3};
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const int64_t *axes;
    size_t count;
    bool is_given;
    GANTRY__TRY(gantry__onnx_axes(call, INT64_MAX, 0, (uint32_t)gantry_tensor_shape(x)->rank, &axes,
                                  &count, &is_given));
    if (!is_given) {
        axes = usual;
        count = 3;
    }
    const gantry_tensor_t *apart =
        gantry__onnx_op2(call, "Sub", x, gantry__onnx_reduce(call, "Mean", x, axes, count, true));
    const gantry_tensor_t *variance = gantry__onnx_reduce(
        call, "Mean", gantry__onnx_op1(call, "Square", apart), axes, count, true);
    const gantry_tensor_t *deviation =
        gantry__onnx_scale(call, gantry__onnx_op1(call, "Sqrt", variance), 1, 1e-9);
    return gantry__onnx_give(call, gantry__onnx_op2(call, "Div", apart, deviation));
}

/* The mean of the squares of `size` channels around each one, where channels outside are 0: AvgPool
 * of one-channel images whose rows are the channels. */
static const gantry_tensor_t *lrn_mean(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                       int64_t size) {
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    const gantry_shape_t images =
        GANTRY_SHAPE(shape.dims[0], shape.dims[1], gantry__onnx_product(&shape, 2, shape.rank), 1);
    const int64_t window[] = {1, size, 1, 1}, steps[] = {1, 1, 1, 1},
                  pads[] = {0, 0, (size - 1) / 2, size / 2, 0, 0, 0, 0};
    const gantry_attr_value_t attrs[] = {GANTRY__ONNX_INTS_OF("ksize", window, 4),
                                         GANTRY__ONNX_INTS_OF("strides", steps, 4),
                                         GANTRY__ONNX_TEXT_OF("padding", "EXPLICIT"),
                                         GANTRY__ONNX_INTS_OF("explicit_paddings", pads, 8),
                                         GANTRY__ONNX_BOOL_OF("count_include_pad", true)};
    const gantry_tensor_t *squares =
        gantry__onnx_reshape(call, gantry__onnx_op1(call, "Square", x), images);
    if (!squares) return NULL;
    return gantry__onnx_reshape(call, gantry__onnx_op(call, "AvgPool", &squares, 1, attrs, 5),
                                shape);
}

/* x / (bias + alpha mean)^beta */
gantry_status_t gantry__onnx_lower_lrn(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const int64_t size = gantry__onnx_attr_int(call, "size", 0);
    if (size < 1)
        return gantry__onnx_invalid(call, "size is %lld; it is 1 or more", (long long)size);
    if (gantry_tensor_shape(x)->rank < 2)
        return gantry__onnx_invalid(call, "X has no channels, which are its second dimension");
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const gantry_tensor_t *base = gantry__onnx_scale(
        call, lrn_mean(call, x, size), (double)gantry__onnx_attr_float(call, "alpha", 1e-4f),
        (double)gantry__onnx_attr_float(call, "bias", 1));
    const double beta = (double)gantry__onnx_attr_float(call, "beta", 0.75f);
    const gantry_tensor_t *power = gantry__onnx_op_number(call, "Pow", base, beta);
    return gantry__onnx_give(call, gantry__onnx_op2(call, "Div", x, power));
}
