/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft: ops of ai.onnx with what follows them, and activations. */
#include "onnx/lower/lower_contrib.h"

#include <string.h>

#include <gantry/ops.h>

#include "onnx/lower/lower_recurrent.h"
#include "onnx/lower/move.h"

const gantry_tensor_t *gantry__onnx_like(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         double value) {
    return gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), value);
}

gantry_status_t gantry__onnx_lower_inner(gantry__onnx_call_t *call, gantry__onnx_lower_fn lower,
                                         const gantry_tensor_t *const *inputs, size_t input_count,
                                         const gantry_tensor_t **out) {
    gantry__onnx_call_t inner = *call;
    *out = NULL;
    inner.inputs = inputs;
    inner.input_count = input_count;
    inner.outputs = out;
    inner.output_count = 1;
    GANTRY__TRY(lower(&inner));
    call->prepared = inner.prepared;
    return GANTRY_OK;
}

const gantry_tensor_t *gantry__onnx_move_channels(gantry__onnx_call_t *call,
                                                  const gantry_tensor_t *x, bool to_front) {
    const int32_t rank = gantry_tensor_shape(x)->rank;
    int32_t order[GANTRY_MAX_RANK] = {0};
    for (int32_t i = 1; i < rank; ++i) {
        if (to_front)
            order[i] = i == 1 ? rank - 1 : i - 1;
        else
            order[i] = i == rank - 1 ? 1 : i + 1;
    }
    return gantry_transpose(call->scope, x, order);
}

/* ---- activations after a product ---- */

/* Numbers of an activation after another op. */
typedef struct fused_activation_t {
    const char *name; /* "": none. */
    const float *numbers;
    size_t count;
} fused_activation_t;

/* Whether an activation is one of those of a recurrent op. */
static bool find_fused_activation(const char *name, gantry__onnx_activation_t *out) {
    const gantry__onnx_bytes_t bytes = {(const uint8_t *)name, strlen(name)};
    return gantry__onnx_find_activation(bytes, out);
}

gantry_status_t gantry__onnx_check_fused_activation(gantry__onnx_call_t *call) {
    const char *name = gantry__onnx_attr_text(call, "activation", "");
    gantry__onnx_activation_t activation;
    if (!*name || strcmp(name, "Clip") == 0 || find_fused_activation(name, &activation))
        return GANTRY_OK;
    return gantry__onnx_unsupported(call, "activation \"%s\"", name);
}

static gantry_status_t activate_fused(gantry__onnx_call_t *call, fused_activation_t fused,
                                      const gantry_tensor_t *x, const gantry_tensor_t **out) {
    *out = x;
    if (!*fused.name) return GANTRY_OK;
    const size_t count = fused.count;
    if (strcmp(fused.name, "Clip") == 0) {
        if (count > 0)
            x = gantry_maximum(call->scope, x,
                               gantry__onnx_like(call, x, (double)fused.numbers[0]));
        if (count > 1)
            x = gantry_minimum(call->scope, x,
                               gantry__onnx_like(call, x, (double)fused.numbers[1]));
        *out = x;
        return gantry_scope_status(call->scope);
    }
    gantry__onnx_activation_t activation;
    (void)find_fused_activation(fused.name, &activation);
    if (gantry__onnx_takes_alpha(&activation) && count > 0)
        activation.alpha = (double)fused.numbers[0];
    if (gantry__onnx_takes_beta(&activation) && count > 1)
        activation.beta = (double)fused.numbers[1];
    *out = gantry__onnx_activate(call, call->scope, &activation, x);
    return gantry_scope_status(call->scope);
}

gantry_status_t gantry__onnx_lower_fused_conv(gantry__onnx_call_t *call) {
    const gantry_tensor_t *y = NULL, *added = gantry__onnx_input(call, 3);
    fused_activation_t fused = {.name = gantry__onnx_attr_text(call, "activation", "")};
    fused.numbers = gantry__onnx_attr_floats(call, "activation_params", &fused.count);
    const size_t count = call->input_count < 3 ? call->input_count : 3;
    GANTRY__TRY(gantry__onnx_lower_inner(call, gantry__onnx_lower_conv, call->inputs, count, &y));
    if (added) y = gantry_add(call->scope, y, added);
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(activate_fused(call, fused, y, &y));
    return gantry__onnx_give(call, y);
}

/* Another row's function for images with channels last, which are inputs 0 and `added`. */
static gantry_status_t lower_channels_last(gantry__onnx_call_t *call, gantry__onnx_lower_fn lower,
                                           size_t added) {
    const gantry_tensor_t *inputs[9] = {NULL}, *y = NULL;
    for (size_t i = 0; i < call->input_count; ++i) {
        const gantry_tensor_t *x = gantry__onnx_input(call, i);
        inputs[i] = x && (i == 0 || i == added) ? gantry__onnx_move_channels(call, x, true) : x;
    }
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(gantry__onnx_lower_inner(call, lower, inputs, call->input_count, &y));
    return gantry__onnx_give(call, gantry__onnx_move_channels(call, y, false));
}

gantry_status_t gantry__onnx_lower_nhwc_conv(gantry__onnx_call_t *call) {
    return lower_channels_last(call, gantry__onnx_lower_fused_conv, 3);
}

gantry_status_t gantry__onnx_lower_nhwc_max_pool(gantry__onnx_call_t *call) {
    return lower_channels_last(call, gantry__onnx_lower_max_pool, 0);
}

gantry_status_t gantry__onnx_lower_contrib_qlinear_conv(gantry__onnx_call_t *call) {
    if (!gantry__onnx_attr_int(call, "channels_last", 0))
        return gantry__onnx_lower_qlinear_conv(call);
    return lower_channels_last(call, gantry__onnx_lower_qlinear_conv, 0);
}

gantry_status_t gantry__onnx_lower_fused_gemm(gantry__onnx_call_t *call) {
    const gantry_tensor_t *y = NULL;
    const float numbers[2] = {gantry__onnx_attr_float(call, "activation_alpha", 0),
                              gantry__onnx_attr_float(call, "activation_beta", 0)};
    size_t count = 0;
    if (gantry__onnx_find_attr(call->node, "activation_alpha")) count = 1;
    if (gantry__onnx_find_attr(call->node, "activation_beta")) count = 2;
    const fused_activation_t fused = {gantry__onnx_attr_text(call, "activation", ""), numbers,
                                      count};
    GANTRY__TRY(gantry__onnx_lower_inner(call, gantry__onnx_lower_gemm, call->inputs,
                                         call->input_count, &y));
    GANTRY__TRY(activate_fused(call, fused, y, &y));
    return gantry__onnx_give(call, y);
}

/* ---- FusedMatMul ---- */

/* An operand whose first dimension becomes the last but one, if the attribute says so. */
static const gantry_tensor_t *turn_batch(gantry__onnx_call_t *call, size_t i, const char *name) {
    const gantry_tensor_t *x = gantry__onnx_input(call, i);
    const int32_t rank = gantry_tensor_shape(x)->rank;
    if (!gantry__onnx_attr_int(call, name, 0) || rank < 3) return x;
    int32_t order[GANTRY_MAX_RANK];
    for (int32_t k = 0; k < rank - 2; ++k) order[k] = k + 1;
    order[rank - 2] = 0;
    order[rank - 1] = rank - 1;
    return gantry_transpose(call->scope, x, order);
}

gantry_status_t gantry__onnx_lower_fused_matmul(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *a = turn_batch(call, 0, "transBatchA");
    const gantry_tensor_t *b = turn_batch(call, 1, "transBatchB");
    const bool is_row = gantry_tensor_shape(a)->rank == 1;
    const bool is_column = gantry_tensor_shape(b)->rank == 1;
    const gantry_matmul_options_t options = {
        .struct_size = sizeof options,
        .transpose_a = !is_row && gantry__onnx_attr_int(call, "transA", 0) != 0,
        .transpose_b = !is_column && gantry__onnx_attr_int(call, "transB", 0) != 0};
    if (is_row) a = gantry_expand_dims(scope, a, 0);
    if (is_column) b = gantry_expand_dims(scope, b, 1);
    const gantry_tensor_t *y = gantry_matmul(scope, a, b, &options);
    const int32_t axes[2] = {is_row ? -2 : -1, -1};
    if (is_row || is_column) y = gantry_squeeze(scope, y, axes, (size_t)(is_row + is_column));
    const double alpha = (double)gantry__onnx_attr_float(call, "alpha", 1);
    if (alpha != 1) y = gantry_mul(scope, y, gantry__onnx_like(call, y, alpha));
    return gantry__onnx_give(call, y);
}

/* ---- Gelu and its kin ---- */

gantry_status_t gantry__onnx_lower_quick_gelu(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const double alpha = (double)gantry__onnx_attr_float(call, "alpha", 1.702f);
    const gantry_tensor_t *gate =
        gantry_sigmoid(call->scope, gantry_mul(call->scope, x, gantry__onnx_like(call, x, alpha)));
    return gantry__onnx_give(call, gantry_mul(call->scope, x, gate));
}

/* Gelu of the input, or of its sum with a second one. */
static gantry_status_t lower_biased_gelu(gantry__onnx_call_t *call, bool is_approximate) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *bias = gantry__onnx_input(call, 1);
    if (bias) x = gantry_add(call->scope, x, bias);
    return gantry__onnx_give(call, gantry_gelu(call->scope, x, is_approximate));
}

gantry_status_t gantry__onnx_lower_bias_gelu(gantry__onnx_call_t *call) {
    return lower_biased_gelu(call, false);
}

gantry_status_t gantry__onnx_lower_fast_gelu(gantry__onnx_call_t *call) {
    return lower_biased_gelu(call, true);
}

gantry_status_t gantry__onnx_lower_bias_add(gantry__onnx_call_t *call) {
    const gantry_tensor_t *y =
        gantry_add(call->scope, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1));
    return gantry__onnx_give(call, gantry_add(call->scope, y, gantry__onnx_input(call, 2)));
}

gantry_status_t gantry__onnx_lower_bias_split_gelu(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *x =
        gantry_add(scope, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1));
    GANTRY__TRY(gantry_scope_status(scope));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if (shape->rank == 0) return gantry__onnx_invalid(call, "X has no dimensions");
    int64_t begin[GANTRY_MAX_RANK] = {0}, size[GANTRY_MAX_RANK];
    for (int32_t i = 0; i < shape->rank; ++i) size[i] = shape->dims[i];
    size[shape->rank - 1] /= 2;
    const gantry_tensor_t *value = gantry_slice(scope, x, begin, size);
    begin[shape->rank - 1] = size[shape->rank - 1];
    const gantry_tensor_t *gate = gantry_gelu(scope, gantry_slice(scope, x, begin, size), false);
    return gantry__onnx_give(call, gantry_mul(scope, value, gate));
}

/* ---- normalisation ---- */

/* The sum of input, skip and bias, which becomes output 3. */
static gantry_status_t add_skip(gantry__onnx_call_t *call, size_t bias,
                                const gantry_tensor_t **out) {
    const gantry_tensor_t *x =
        gantry_add(call->scope, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1));
    if (gantry__onnx_input(call, bias))
        x = gantry_add(call->scope, x, gantry__onnx_input(call, bias));
    *out = x;
    return gantry__onnx_set(call, 3, x);
}

/* The mean of x over its last dimension, which stays. */
static const gantry_tensor_t *mean_of_rows(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const int32_t last = -1;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &last, .axis_count = 1, .keep_dims = true};
    return gantry_mean(scope, x, &options);
}

/* 1 / sqrt(mean square + epsilon). */
static const gantry_tensor_t *inverse_root(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                           double epsilon) {
    const gantry_tensor_t *square = mean_of_rows(call->scope, gantry_square(call->scope, x));
    return gantry_rsqrt(call->scope,
                        gantry_add(call->scope, square, gantry__onnx_like(call, x, epsilon)));
}

gantry_status_t gantry__onnx_lower_skip_layer_norm(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *x = NULL, *scale = gantry__onnx_input(call, 2);
    const gantry_tensor_t *offset = gantry__onnx_input(call, 3);
    const double epsilon = (double)gantry__onnx_attr_float(call, "epsilon", 1e-12f);
    GANTRY__TRY(add_skip(call, 4, &x));
    if (!offset) offset = gantry_zeros_like(scope, scale);
    GANTRY__TRY(gantry__onnx_set(call, 0, gantry_layer_norm(scope, x, scale, offset, -1, epsilon)));
    if (!gantry__onnx_wants(call, 1) && !gantry__onnx_wants(call, 2)) return GANTRY_OK;
    const gantry_tensor_t *mean = mean_of_rows(scope, x);
    GANTRY__TRY(gantry__onnx_set(call, 1, mean));
    return gantry__onnx_set(call, 2, inverse_root(call, gantry_sub(scope, x, mean), epsilon));
}

/* Rows of a table of embeddings that indices name. */
static const gantry_tensor_t *look_up_rows(gantry__onnx_call_t *call, size_t table,
                                           size_t indices) {
    return gantry_gather(call->scope, gantry__onnx_input(call, table),
                         gantry__onnx_input(call, indices), 0);
}

gantry_status_t gantry__onnx_lower_embed_layer_norm(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *words = gantry__onnx_input(call, 0), *mask = gantry__onnx_input(call, 7);
    const gantry_tensor_t *places = gantry__onnx_input(call, 3);
    if (!gantry__onnx_input(call, 2) || !places || !gantry__onnx_input(call, 5) ||
        !gantry__onnx_input(call, 6))
        return gantry__onnx_invalid(call, "a table, gamma or beta is missing");
    GANTRY__TRY(gantry__onnx_need_shape(call, words));
    GANTRY__TRY(gantry__onnx_need_shape(call, places));
    const gantry_shape_t *shape = gantry_tensor_shape(words), *table = gantry_tensor_shape(places);
    if (shape->rank != 2 || table->rank != 2 ||
        (!gantry__onnx_input(call, 8) && table->dims[0] < shape->dims[1]))
        return gantry__onnx_invalid(call,
                                    "input_ids of rank %d for %lld positions; rank 2, and at most "
                                    "as many columns are accepted",
                                    shape->rank, (long long)table->dims[0]);
    const int64_t begin[2] = {0}, size[2] = {shape->dims[1], table->dims[1]};
    places = gantry__onnx_input(call, 8) ? look_up_rows(call, 3, 8)
                                         : gantry_slice(scope, places, begin, size);
    const gantry_tensor_t *x = gantry_add(scope, look_up_rows(call, 2, 0), places);
    if (gantry__onnx_input(call, 1) && gantry__onnx_input(call, 4))
        x = gantry_add(scope, x, look_up_rows(call, 4, 1));
    GANTRY__TRY(gantry__onnx_set(call, 2, x));
    GANTRY__TRY(gantry__onnx_set(
        call, 0,
        gantry_layer_norm(scope, x, gantry__onnx_input(call, 5), gantry__onnx_input(call, 6), -1,
                          (double)gantry__onnx_attr_float(call, "epsilon", 1e-12f))));
    if (!gantry__onnx_wants(call, 1)) return GANTRY_OK;
    if (!mask)
        return gantry__onnx_set(call, 1,
                                gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(shape->dims[0])));
    const int32_t last = 1;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &last, .axis_count = 1};
    const gantry_tensor_t *one = gantry__onnx_like(call, mask, 1);
    mask = gantry_cast(scope, gantry_equal(scope, mask, one), GANTRY_INT32);
    return gantry__onnx_set(call, 1, gantry_sum(scope, mask, &options));
}

/* RMSNorm of x from axis on; root_output is that of the inverse root. */
static gantry_status_t normalise_root(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                      const gantry_tensor_t *scale, int64_t axis, double epsilon,
                                      size_t root_output) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(scale);
    if (gantry_tensor_dtype(x) != dtype) x = gantry_cast(call->scope, x, dtype);
    GANTRY__TRY(
        gantry__onnx_set(call, 0, gantry_rms_norm(call->scope, x, scale, (int32_t)axis, epsilon)));
    if (!gantry__onnx_wants(call, root_output)) return GANTRY_OK;
    const int32_t rank = gantry_tensor_shape(x)->rank;
    if (axis != -1 && axis != rank - 1)
        return gantry__onnx_unsupported(call, "inv_std_var over more than the last dimension");
    return gantry__onnx_set(call, root_output, inverse_root(call, x, epsilon));
}

gantry_status_t gantry__onnx_lower_simplified_layer_norm(gantry__onnx_call_t *call) {
    return normalise_root(call, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1),
                          gantry__onnx_attr_int(call, "axis", -1),
                          (double)gantry__onnx_attr_float(call, "epsilon", 1e-5f), 1);
}

gantry_status_t gantry__onnx_lower_skip_simplified_layer_norm(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = NULL;
    GANTRY__TRY(add_skip(call, 3, &x));
    return normalise_root(call, x, gantry__onnx_input(call, 2), -1,
                          (double)gantry__onnx_attr_float(call, "epsilon", 1e-12f), 2);
}

gantry_status_t gantry__onnx_check_gated_rms_norm(gantry__onnx_call_t *call) {
    const char *gate = gantry__onnx_attr_text(call, "activation", "silu");
    if (strcmp(gate, "sigmoid") == 0 || strcmp(gate, "silu") == 0 || strcmp(gate, "swish") == 0)
        return GANTRY_OK;
    return gantry__onnx_invalid(call, "activation \"%s\"; accepted are silu, swish and sigmoid",
                                gate);
}

gantry_status_t gantry__onnx_lower_gated_rms_norm(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *scale = gantry__onnx_input(call, 1);
    const char *gate = gantry__onnx_attr_text(call, "activation", "silu");
    const bool is_sigmoid = strcmp(gate, "sigmoid") == 0;
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_need_shape(call, scale));
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    const int64_t size = gantry_tensor_elements(scale),
                  last = shape.rank > 0 ? shape.dims[shape.rank - 1] : 0;
    if (shape.rank == 0 || shape.rank == GANTRY_MAX_RANK || size < 1 || last % size != 0)
        return gantry__onnx_invalid(
            call,
            "a scale of %lld elements for %d dimensions, the last one of %lld; "
            "1 to %d dimensions, and a divisor of the last one are accepted",
            (long long)size, shape.rank, (long long)last, GANTRY_MAX_RANK - 1);
    gantry_shape_t apart = shape;
    apart.dims[shape.rank - 1] = last / size;
    apart.dims[apart.rank++] = size;
    const gantry_tensor_t *y = gantry__onnx_cast(call, x, GANTRY_FLOAT32);
    y = gantry_rms_norm(scope, gantry_reshape(scope, y, apart),
                        gantry__onnx_cast(call, scale, GANTRY_FLOAT32), -1,
                        (double)gantry__onnx_attr_float(call, "epsilon", 1e-5f));
    const gantry_tensor_t *z = gantry__onnx_cast(call, gantry__onnx_input(call, 2), GANTRY_FLOAT32);
    z = is_sigmoid ? gantry_sigmoid(scope, z) : gantry_silu(scope, z);
    y = gantry_mul(scope, gantry_reshape(scope, y, shape), z);
    return gantry__onnx_give(call, gantry__onnx_cast(call, y, gantry_tensor_dtype(x)));
}

/* ---- GroupNorm ---- */

/* Groups of channels of x, [batch, ..., channels] or channels first, normalised; then, with
 * activation 1, times its Sigmoid. */
static gantry_status_t give_groups(gantry__onnx_call_t *call, const gantry_tensor_t *x) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *scale = gantry__onnx_input(call, 1),
                          *offset = gantry__onnx_input(call, 2);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    const int64_t activation = gantry__onnx_attr_int(call, "activation", 0);
    if (gantry_tensor_dtype(scale) != dtype) scale = gantry_cast(scope, scale, dtype);
    if (gantry_tensor_dtype(offset) != dtype) offset = gantry_cast(scope, offset, dtype);
    const gantry_tensor_t *y =
        gantry_group_norm(scope, x, scale, offset, gantry__onnx_attr_int(call, "groups", 1),
                          (double)gantry__onnx_attr_float(call, "epsilon", 1e-5f),
                          gantry__onnx_attr_int(call, "channels_last", 1) == 0);
    return gantry__onnx_set(call, 0, activation ? gantry_silu(scope, y) : y);
}

gantry_status_t gantry__onnx_check_contrib_group_norm(gantry__onnx_call_t *call) {
    const int64_t activation = gantry__onnx_attr_int(call, "activation", 0);
    if (activation == 0 || activation == 1) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "activation %lld", (long long)activation);
}

gantry_status_t gantry__onnx_lower_contrib_group_norm(gantry__onnx_call_t *call) {
    return give_groups(call, gantry__onnx_input(call, 0));
}

/* [channels], or [batch, channels], as an addend of channels of x. */
static const gantry_tensor_t *spread_channels(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                              const gantry_tensor_t *vector) {
    const gantry_shape_t *shape = gantry_tensor_shape(x), *own = gantry_tensor_shape(vector);
    const bool is_last = gantry__onnx_attr_int(call, "channels_last", 1) != 0;
    if (own->rank > 2 || own->rank == 0) return vector;
    gantry_shape_t wide = {.rank = shape->rank};
    for (int32_t i = 0; i < shape->rank; ++i) wide.dims[i] = 1;
    wide.dims[is_last ? shape->rank - 1 : 1] = own->dims[own->rank - 1];
    if (own->rank == 2) wide.dims[0] = own->dims[0];
    return gantry_reshape(call->scope, vector, wide);
}

gantry_status_t gantry__onnx_lower_skip_group_norm(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *bias = gantry__onnx_input(call, 4);
    if (gantry_tensor_shape(x)->rank < 3)
        return gantry__onnx_invalid(call, "X has rank %d", gantry_tensor_shape(x)->rank);
    const gantry_tensor_t *sum =
        gantry_add(call->scope, x, spread_channels(call, x, gantry__onnx_input(call, 3)));
    if (bias) sum = gantry_add(call->scope, sum, spread_channels(call, x, bias));
    GANTRY__TRY(gantry__onnx_set(call, 1, sum));
    return give_groups(call, sum);
}

gantry_status_t gantry__onnx_check_bias_softmax(gantry__onnx_call_t *call) {
    if (gantry__onnx_attr_int(call, "is_inner_broadcast", 0)) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "a bias that is not for the last dimension");
}

gantry_status_t gantry__onnx_lower_bias_softmax(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x =
        gantry_add(call->scope, gantry__onnx_input(call, 0), gantry__onnx_input(call, 1));
    int64_t axis = 0;
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", 1),
                                  (uint32_t)gantry_tensor_shape(x)->rank, &axis));
    if (axis != gantry_tensor_shape(x)->rank - 1)
        return gantry__onnx_unsupported(call, "a bias that is not for the last dimension");
    return gantry__onnx_give(call, gantry_softmax(call->scope, x));
}
