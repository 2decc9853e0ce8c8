/* SPDX-License-Identifier: Apache-2.0 */
/* Products of numbers that DequantizeLinear made of bytes:
 *
 *     (a - a_zero) a_scale  (b - b_zero) b_scale = ((a - a_zero) (b - b_zero)) (a_scale b_scale)
 *
 * The product on the right is one of integers, which is exact and takes a quarter of the time. Its
 * factor is a number, or one for each column of b, so that a_scale is one number. The rounding
 * after it stays with QuantizeLinear, which joins the factor's kernel. */
#include <string.h>

#include <gantry/ops.h>

#include "onnx/lower/lower_quantize.h"
#include "onnx/lower/parts.h"
#include "onnx/lower/run.h"
#include "onnx/lower/window.h"

/* Sums of so many products of bytes are below 2^31. */
#define MOST_SUMMED INT64_C(32768)
/* Keys of prepared operands; others prepare filters. */
#define INTEGER_OPERAND 16
#define INTEGER_OPERAND_TURNED 17

/* What an input was made of. */
typedef struct origin_t {
    const gantry_tensor_t *x, *scale, *zero; /* zero NULL: 0. */
    int64_t axis;                            /* Of scale, if it has several elements. */
} origin_t;

/* The DequantizeLinear that made input i; NULL: another node did. */
static const gantry__onnx_node_t *find_dequantizer(const gantry__onnx_call_t *call, size_t i) {
    if (i >= call->input_count || i >= call->node->input_count) return NULL;
    const gantry__onnx_value_t value = call->node->inputs[i];
    if (value == GANTRY__ONNX_NO_VALUE) return NULL;
    const gantry__onnx_value_info_t *info = &call->run->constants->plan.model->values[value];
    if (info->source != GANTRY__ONNX_FROM_NODE) return NULL;
    const gantry__onnx_node_t *node = &info->graph->nodes[info->node];
    if (strcmp(node->op, "DequantizeLinear") != 0 || node->input_count < 2) return NULL;
    if (gantry__onnx_find_attr(node, "block_size") || gantry__onnx_find_attr(node, "output_dtype"))
        return NULL;
    return node;
}

/* The tensor of a value, which is there because DequantizeLinear has read it; NULL: left out. */
static const gantry_tensor_t *tensor_of(const gantry__onnx_call_t *call,
                                        const gantry__onnx_node_t *node, size_t i) {
    if (i >= node->input_count || node->inputs[i] == GANTRY__ONNX_NO_VALUE) return NULL;
    return gantry__onnx_run_get(call->run, node->inputs[i]);
}

/* Whether input i was made of bytes by numbers of float32. */
static bool find_origin(const gantry__onnx_call_t *call, size_t i, origin_t *out) {
    const gantry__onnx_node_t *node = find_dequantizer(call, i);
    if (!node) return false;
    const gantry__onnx_attr_t *axis = gantry__onnx_find_attr(node, "axis");
    *out = (origin_t){tensor_of(call, node, 0), tensor_of(call, node, 1), tensor_of(call, node, 2),
                      axis && axis->count ? axis->ints[0] : 1};
    if (!out->x || !out->scale || gantry_tensor_dtype(out->scale) != GANTRY_FLOAT32) return false;
    if (node->input_count > 2 && node->inputs[2] != GANTRY__ONNX_NO_VALUE && !out->zero)
        return false;
    const gantry_dtype_t dtype = gantry_tensor_dtype(out->x);
    const int32_t rank = gantry_tensor_shape(out->x)->rank;
    if (out->axis < 0) out->axis += rank;
    return dtype == GANTRY_UINT8 || dtype == GANTRY_INT8;
}

static bool has_one_scale(const origin_t *origin) {
    return gantry_tensor_elements(origin->scale) == 1;
}

/* The bytes of input i, as they are in the file. */
static const gantry_tensor_t *bytes_of_input(gantry__onnx_call_t *call, size_t i) {
    const gantry__onnx_node_t *node = find_dequantizer(call, i);
    return node ? tensor_of(call, node, 0) : NULL;
}

static const gantry_tensor_t *make_left(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                        const gantry_tensor_t *input) {
    (void)input;
    return gantry_identity(scope, bytes_of_input(call, 0));
}

static const gantry_tensor_t *make_right(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                         const gantry_tensor_t *input) {
    (void)input;
    return gantry_identity(scope, bytes_of_input(call, 1));
}

static const gantry_tensor_t *make_right_turned(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *input) {
    (void)input;
    return gantry_matrix_transpose(scope, bytes_of_input(call, 1));
}

static const gantry_tensor_t *make_bytes_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *input) {
    (void)input;
    return gantry__onnx_turn_filter(call, scope, bytes_of_input(call, 1));
}

/* An operand: one of the file is kept as bytes, and its numbers are given back. */
static const gantry_tensor_t *integer_operand(gantry__onnx_call_t *call, size_t i,
                                              const gantry_tensor_t *x, bool is_turned) {
    if (!gantry__onnx_constants_has(call->run->constants, call->node->inputs[i]))
        return is_turned ? gantry_matrix_transpose(call->scope, x) : x;
    if (is_turned) return gantry__onnx_prepared(call, i, INTEGER_OPERAND_TURNED, make_right_turned);
    return gantry__onnx_prepared(call, i, INTEGER_OPERAND, i == 0 ? make_left : make_right);
}

/* The sum times the factor, and the bias. */
static gantry_status_t give_sum(gantry__onnx_call_t *call, const gantry_tensor_t *sum,
                                const gantry_tensor_t *a_scale, const gantry_tensor_t *b_scale,
                                const gantry_tensor_t *bias) {
    const gantry_tensor_t *one = gantry__onnx_make_scalar(call, GANTRY_FLOAT32, 1);
    const gantry_tensor_t *factor = gantry__onnx_product_factor(call, a_scale, b_scale, one);
    const gantry_tensor_t *y = gantry_cast(call->scope, sum, GANTRY_FLOAT32);
    y = gantry_mul(call->scope, y, factor);
    GANTRY__TRY(gantry__onnx_need_fit(call, "the bias", bias, y));
    if (bias) y = gantry_add(call->scope, y, bias);
    return gantry__onnx_give(call, y);
}

/* Whether scales of the right operand are one for each column; columns are along this axis. */
static bool scales_columns(const origin_t *b, int64_t axis) {
    if (has_one_scale(b)) return true;
    return gantry_tensor_shape(b->x)->rank == 2 && b->axis == axis;
}

/* Whether the factors and the bias of a Gemm are those of a plain product. */
static bool is_plain_gemm(const gantry__onnx_call_t *call) {
    return gantry__onnx_attr_float(call, "alpha", 1) == 1 &&
           !gantry__onnx_attr_int(call, "transA", 0) &&
           (!gantry__onnx_input(call, 2) || gantry__onnx_attr_float(call, "beta", 1) == 1);
}

static gantry_status_t join_matmul(gantry__onnx_call_t *call, bool is_gemm, bool *out_done) {
    origin_t a, b;
    const bool is_turned = is_gemm && gantry__onnx_attr_int(call, "transB", 0) != 0;
    if (!find_origin(call, 0, &a) || !find_origin(call, 1, &b)) return GANTRY_OK;
    const gantry_shape_t *rows = gantry_tensor_shape(a.x), *columns = gantry_tensor_shape(b.x);
    if (rows->rank < 2 || columns->rank < 2 || !has_one_scale(&a)) return GANTRY_OK;
    if (is_gemm && (rows->rank != 2 || columns->rank != 2 || !is_plain_gemm(call)))
        return GANTRY_OK;
    const int64_t summed = rows->dims[rows->rank - 1];
    if (summed < 1 || summed > MOST_SUMMED || !scales_columns(&b, is_turned ? 0 : 1))
        return GANTRY_OK;
    *out_done = true;
    const gantry_tensor_t *sum =
        gantry__onnx_integer_product(call, integer_operand(call, 0, a.x, false),
                                     integer_operand(call, 1, b.x, is_turned), a.zero, b.zero);
    return give_sum(call, sum, a.scale, b.scale, is_gemm ? gantry__onnx_input(call, 2) : NULL);
}

static gantry_status_t join_conv(gantry__onnx_call_t *call, bool *out_done) {
    origin_t x, filter;
    const int64_t group = gantry__onnx_attr_int(call, "group", 1);
    if (!find_origin(call, 0, &x) || !find_origin(call, 1, &filter)) return GANTRY_OK;
    if (!has_one_scale(&x) ||
        !gantry__onnx_constants_has(call->run->constants, call->node->inputs[1]))
        return GANTRY_OK;
    const gantry_shape_t *shape = gantry_tensor_shape(filter.x);
    if ((shape->rank != 3 && shape->rank != 4) || (!has_one_scale(&filter) && filter.axis != 0))
        return GANTRY_OK;
    if (group != 1 && !gantry__onnx_has_channel_groups(call, shape, group)) return GANTRY_OK;
    if (gantry_tensor_elements(filter.x) / (shape->dims[0] ? shape->dims[0] : 1) > MOST_SUMMED)
        return GANTRY_OK;
    *out_done = true;
    const gantry_tensor_t *sum = NULL;
    GANTRY__TRY(gantry__onnx_check_bias(call, 2, shape->dims[0]));
    GANTRY__TRY(
        gantry__onnx_convolve_integers(call, x.x, 1, make_bytes_filter, x.zero, filter.zero, &sum));
    return give_sum(call, sum, x.scale,
                    gantry__onnx_channel_column(call, filter.scale, shape->rank),
                    gantry__onnx_channel_column(call, gantry__onnx_input(call, 2), shape->rank));
}

gantry_status_t gantry__onnx_join_quantized(gantry__onnx_call_t *call, gantry__onnx_joined_t kind,
                                            bool *out_done) {
    *out_done = false;
    if (kind == GANTRY__ONNX_JOINED_CONV) return join_conv(call, out_done);
    return join_matmul(call, kind == GANTRY__ONNX_JOINED_GEMM, out_done);
}
