/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft: MoE and QMoE. Each token goes to a few experts, which are pairs of products. Few
 * tokens take their experts' weights; more are computed by all experts, and the weight of those
 * that a token did not choose is 0. */
#include <math.h>
#include <string.h>

#include <gantry/ops.h>

#include "onnx/lower/lower_contrib.h"
#include "onnx/lower/parts.h"

typedef const gantry_tensor_t tensor;

/* A node. */
typedef struct experts_t {
    gantry__onnx_call_t *call;
    int64_t tokens, size, count, chosen;
    tensor *x;                    /* [tokens, size] */
    tensor *weights[3], *bias[3]; /* [experts, outputs, inputs], [experts, outputs] or NULL. */
    tensor *choices, *shares;     /* [tokens, chosen]: experts, and their weights. */
} experts_t;

/* ---- weights of few bits ---- */

static int64_t expert_bits(const gantry__onnx_call_t *call, size_t which) {
    static const char *const names[3] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                         "fc3_expert_weight_bits"};
    return gantry__onnx_attr_int(call, names[which],
                                 gantry__onnx_attr_int(call, "expert_weight_bits", 4));
}

/* The numbers of weights [experts, outputs, bytes]. */
static tensor *expert_numbers(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *packed,
                              size_t which) {
    const int64_t bits = expert_bits(call, which), begin[3] = {0};
    tensor *scale = gantry__onnx_input(call, 3 + 3 * which);
    tensor *zero = gantry__onnx_input(call, 11 + which);
    gantry_shape_t blocks = *gantry_tensor_shape(scale);
    const gantry_dtype_t dtype = gantry_tensor_dtype(scale);
    tensor *x = gantry__onnx_unpack_bits(call, scope, packed, bits);
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    if (zero) {
        zero = gantry__onnx_unpack_bits(call, scope, zero, bits);
        zero = gantry_cast(scope, gantry_slice(scope, zero, begin, blocks.dims), dtype);
    } else {
        zero = gantry__onnx_make_scalar(call, dtype, (double)(1 << (bits - 1)));
    }
    if (blocks.rank == 2) blocks.dims[blocks.rank++] = 1;
    const int64_t count = blocks.dims[2] > 0 ? blocks.dims[2] : 1;
    const gantry_shape_t apart =
        GANTRY_SHAPE(shape.dims[0], shape.dims[1], count, shape.dims[2] / count);
    blocks.dims[blocks.rank++] = 1;
    if (gantry_tensor_shape(zero)->rank) zero = gantry_reshape(scope, zero, blocks);
    x = gantry_cast(scope, gantry_reshape(scope, x, apart), dtype);
    x = gantry_mul(scope, gantry_sub(scope, x, zero), gantry_reshape(scope, scale, blocks));
    return gantry_reshape(scope, x, shape);
}

static tensor *first_expert_weights(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *x) {
    return expert_numbers(call, scope, x, 0);
}

static tensor *second_expert_weights(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *x) {
    return expert_numbers(call, scope, x, 1);
}

static tensor *third_expert_weights(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *x) {
    return expert_numbers(call, scope, x, 2);
}

/* Weights, which become numbers once for a model where they are constant. */
static gantry_status_t read_few_bits(experts_t *node, size_t which) {
    static const gantry__onnx_make_fn make[3] = {first_expert_weights, second_expert_weights,
                                                 third_expert_weights};
    gantry__onnx_call_t *call = node->call;
    const size_t i = 2 + 3 * which;
    tensor *all[3] = {gantry__onnx_input(call, i), gantry__onnx_input(call, i + 1),
                      gantry__onnx_input(call, 11 + which)};
    const int64_t bits = expert_bits(call, which);
    if (!all[0]) return GANTRY_OK;
    if (!all[1]) return gantry__onnx_invalid(call, "weights without scales");
    const gantry_shape_t *shape = gantry_tensor_shape(all[0]);
    const gantry_shape_t *scales = gantry_tensor_shape(all[1]);
    if (shape->rank != 3 || gantry_tensor_dtype(all[0]) != GANTRY_UINT8 || scales->rank < 2 ||
        scales->rank > 3 || scales->dims[0] != shape->dims[0] ||
        scales->dims[1] != shape->dims[1] ||
        (scales->rank == 3 &&
         (scales->dims[2] < 1 || shape->dims[2] * (8 / bits) % scales->dims[2] != 0)))
        return gantry__onnx_invalid(call, "input %zu, weights, does not fit its scales", i);
    if (all[2] && gantry_tensor_shape(all[2])->rank != scales->rank)
        return gantry__onnx_invalid(call, "zero points of rank %d for scales of rank %d",
                                    gantry_tensor_shape(all[2])->rank, scales->rank);
    bool all_known = true;
    for (size_t k = 0; k < 3; ++k)
        all_known = all_known && (!all[k] || gantry__onnx_is_known(call, all[k]));
    tensor *numbers = all_known ? gantry__onnx_prepared(call, i, 0, make[which])
                                : expert_numbers(call, call->scope, all[0], which);
    node->weights[which] = gantry__onnx_cast(call, numbers, gantry_tensor_dtype(node->x));
    node->bias[which] = gantry__onnx_input(call, i + 2);
    return gantry_scope_status(call->scope);
}

/* ---- which experts ---- */

static gantry_status_t choose_experts(experts_t *node, tensor *aggregated) {
    gantry__onnx_call_t *call = node->call;
    gantry_scope_t *scope = call->scope;
    tensor *scores = gantry__onnx_input(call, 1);
    GANTRY__TRY(gantry__onnx_need_shape(call, scores));
    const gantry_shape_t *shape = gantry_tensor_shape(scores);
    node->chosen = gantry__onnx_attr_int(call, "k", 1);
    node->count = shape->rank == 2 ? shape->dims[1] : 0;
    if (shape->rank != 2 || shape->dims[0] != node->tokens || node->chosen < 1 ||
        node->chosen > node->count)
        return gantry__onnx_invalid(call,
                                    "%lld of %lld experts for %lld tokens; a row of scores for "
                                    "each token, and k from 1 to the experts are accepted",
                                    (long long)node->chosen, (long long)node->count,
                                    (long long)node->tokens);
    tensor *weights = gantry_softmax(scope, gantry__onnx_cast(call, scores, GANTRY_FLOAT32));
    node->shares = gantry_top_k(scope, weights, (int32_t)node->chosen, &node->choices);
    if (aggregated)
        node->shares = gantry_gather_elements(
            scope, gantry__onnx_cast(call, aggregated, GANTRY_FLOAT32), node->choices, 1);
    if (gantry__onnx_attr_int(call, "normalize_routing_weights", 0)) {
        const int32_t last = -1;
        const gantry_reduce_options_t options = {
            .struct_size = sizeof options, .axes = &last, .axis_count = 1, .keep_dims = true};
        node->shares = gantry_div(scope, node->shares, gantry_sum(scope, node->shares, &options));
    }
    node->shares = gantry__onnx_cast(call, node->shares, gantry_tensor_dtype(node->x));
    return gantry_scope_status(scope);
}

/* ---- an expert ---- */

/* x [n, rows, inputs] times weights [n or experts, outputs, inputs], and the bias. */
static tensor *multiply_experts(const experts_t *node, tensor *x, size_t which, tensor *chosen) {
    gantry_scope_t *scope = node->call->scope;
    tensor *weights = node->weights[which], *bias = node->bias[which];
    const gantry_matmul_options_t options = {.struct_size = sizeof options, .transpose_b = true};
    if (chosen) weights = gantry_gather(scope, weights, chosen, 0);
    x = gantry_matmul(scope, x, weights, &options);
    if (!bias) return x;
    if (chosen) bias = gantry_gather(scope, bias, chosen, 0);
    return gantry_add(scope, x, gantry_expand_dims(scope, bias, 1));
}

/* gate sigmoid(alpha gate) (x + beta) within the limit. */
static tensor *gate_experts(gantry__onnx_call_t *call, tensor *gate, tensor *x) {
    gantry_scope_t *scope = call->scope;
    const double limit = (double)gantry__onnx_attr_float(call, "swiglu_limit", HUGE_VALF);
    if (limit < HUGE_VAL) {
        gate = gantry__onnx_op_number(call, "Minimum", gate, limit);
        x = gantry__onnx_op_number(call, "Minimum", x, limit);
        x = gantry__onnx_op_number(call, "Maximum", x, -limit);
    }
    tensor *scaled = gantry__onnx_scale(
        call, gate, (double)gantry__onnx_attr_float(call, "activation_alpha", 1), 0);
    x = gantry__onnx_scale(call, x, 1, (double)gantry__onnx_attr_float(call, "activation_beta", 0));
    return gantry_mul(scope, gantry_mul(scope, gate, gantry_sigmoid(scope, scaled)), x);
}

/* Both halves of [n, rows, 2 outputs], which alternate or follow each other. */
static tensor *gate_of_pairs(gantry__onnx_call_t *call, tensor *x, bool alternates) {
    gantry_shape_t half = *gantry_tensor_shape(x);
    half.dims[2] /= 2;
    const gantry_shape_t apart = alternates
                                     ? GANTRY_SHAPE(half.dims[0], half.dims[1], half.dims[2], 2)
                                     : GANTRY_SHAPE(half.dims[0], half.dims[1], 2, half.dims[2]);
    const int32_t axis = alternates ? 3 : 2;
    x = gantry_reshape(call->scope, x, apart);
    tensor *gate = gantry_reshape(call->scope, gantry__onnx_part(call, x, axis, 0, 1), half);
    return gate_experts(call, gate,
                        gantry_reshape(call->scope, gantry__onnx_part(call, x, axis, 1, 1), half));
}

static gantry_status_t activate_experts(const experts_t *node, tensor *x, tensor *third,
                                        tensor **out) {
    gantry__onnx_call_t *call = node->call;
    const char *kind = gantry__onnx_attr_text(call, "activation_type", "relu");
    const int64_t fusion = gantry__onnx_attr_int(call, "swiglu_fusion", 0);
    GANTRY__TRY(gantry_scope_status(call->scope));
    if (strcmp(kind, "swiglu") == 0) {
        if (fusion < (third ? 0 : 1) || fusion > 2)
            return gantry__onnx_invalid(call, "swiglu_fusion %lld %s fc3; %d to 2 are accepted",
                                        (long long)fusion, third ? "with" : "without",
                                        third ? 0 : 1);
        *out = fusion ? gate_of_pairs(call, x, fusion == 1) : gate_experts(call, x, third);
        return gantry_scope_status(call->scope);
    }
    if (strcmp(kind, "relu") == 0)
        x = gantry_relu(call->scope, x);
    else if (strcmp(kind, "gelu") == 0)
        x = gantry_gelu(call->scope, x, true);
    else if (strcmp(kind, "silu") == 0)
        x = gantry_silu(call->scope, x);
    *out = third ? gantry_mul(call->scope, x, third) : x;
    return gantry_scope_status(call->scope);
}

/* The results [n, rows, size] of x [n, rows, size]. chosen: an expert for each n; NULL: all. */
static gantry_status_t ask_experts(const experts_t *node, tensor *x, tensor *chosen, tensor **out) {
    tensor *third = node->weights[2] ? multiply_experts(node, x, 2, chosen) : NULL, *y = NULL;
    GANTRY__TRY(activate_experts(node, multiply_experts(node, x, 0, chosen), third, &y));
    *out = multiply_experts(node, y, 1, chosen);
    return gantry_scope_status(node->call->scope);
}

static tensor *sum_along(gantry_scope_t *scope, tensor *x, int32_t axis) {
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &axis, .axis_count = 1};
    return gantry_sum(scope, x, &options);
}

/* Each token with the weights of its experts. */
static gantry_status_t ask_chosen(const experts_t *node, tensor **out) {
    gantry_scope_t *scope = node->call->scope;
    const int64_t pairs = node->tokens * node->chosen;
    tensor *chosen = gantry_reshape(scope, node->choices, GANTRY_SHAPE(pairs));
    tensor *x = gantry_broadcast_to(scope, gantry_expand_dims(scope, node->x, 1),
                                    GANTRY_SHAPE(node->tokens, node->chosen, node->size));
    x = gantry_reshape(scope, x, GANTRY_SHAPE(pairs, 1, node->size));
    GANTRY__TRY(ask_experts(node, x, chosen, &x));
    x = gantry_reshape(scope, x, GANTRY_SHAPE(node->tokens, node->chosen, node->size));
    *out = sum_along(scope, gantry_mul(scope, x, gantry_expand_dims(scope, node->shares, 2)), 1);
    return gantry_scope_status(scope);
}

/* All experts with all tokens. */
static gantry_status_t ask_all(const experts_t *node, tensor **out) {
    gantry_scope_t *scope = node->call->scope;
    tensor *x =
        gantry_broadcast_to(scope, node->x, GANTRY_SHAPE(node->count, node->tokens, node->size));
    GANTRY__TRY(ask_experts(node, x, NULL, &x));
    int64_t *numbers = gantry__onnx_scratch(node->call, (size_t)node->count, sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < node->count; ++i) numbers[i] = i;
    tensor *experts =
        gantry__onnx_ints_of(node->call, GANTRY_INT32, numbers, GANTRY_SHAPE(node->count, 1, 1));
    tensor *is_chosen = gantry_equal(scope, experts, node->choices); /* [experts, tokens, chosen] */
    tensor *zero = gantry__onnx_like(node->call, x, 0);
    tensor *shares = sum_along(scope, gantry_select(scope, is_chosen, node->shares, zero), 2);
    const int32_t last = 2;
    const gantry_reduce_options_t any = {
        .struct_size = sizeof any, .axes = &last, .axis_count = 1, .keep_dims = true};
    x = gantry_mul(scope, x, gantry_expand_dims(scope, shares, 2));
    x = gantry_select(scope, gantry_any(scope, is_chosen, &any), x, zero);
    *out = sum_along(scope, x, 0);
    return gantry_scope_status(scope);
}

/* ---- rows ---- */

static gantry_status_t begin_experts(experts_t *node) {
    gantry__onnx_call_t *call = node->call;
    tensor *x = gantry__onnx_input(call, 0);
    for (size_t i = 0; i < call->input_count; ++i)
        if (gantry__onnx_input(call, i))
            GANTRY__TRY(gantry__onnx_need_shape(call, gantry__onnx_input(call, i)));
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if ((shape->rank != 2 && shape->rank != 3) || gantry_tensor_elements(x) == 0)
        return gantry__onnx_invalid(call, "an input of rank %d and %lld elements", shape->rank,
                                    (long long)gantry_tensor_elements(x));
    node->size = shape->dims[shape->rank - 1];
    node->tokens = gantry_tensor_elements(x) / node->size;
    node->x = gantry_reshape(call->scope, x, GANTRY_SHAPE(node->tokens, node->size));
    return gantry_scope_status(call->scope);
}

static gantry_status_t run_experts(experts_t *node) {
    gantry__onnx_call_t *call = node->call;
    tensor *y = NULL;
    for (size_t i = 0; i < 3; ++i) {
        if (i == 2 && !node->weights[i]) break;
        const gantry_shape_t *shape = gantry_tensor_shape(node->weights[i]);
        if (!node->weights[i] || shape->rank != 3 || shape->dims[0] != node->count)
            return gantry__onnx_invalid(call, "weights of fc%zu are not of %lld experts", i + 1,
                                        (long long)node->count);
    }
    if (node->tokens * node->chosen < node->count)
        GANTRY__TRY(ask_chosen(node, &y));
    else
        GANTRY__TRY(ask_all(node, &y));
    return gantry__onnx_give(
        call, gantry_reshape(call->scope, y, *gantry_tensor_shape(gantry__onnx_input(call, 0))));
}

gantry_status_t gantry__onnx_check_moe(gantry__onnx_call_t *call) {
    static const char *const kinds[] = {"relu", "gelu", "silu", "identity", "swiglu"};
    const char *kind = gantry__onnx_attr_text(call, "activation_type", kinds[0]);
    size_t found = 0;
    while (found < 5 && strcmp(kind, kinds[found]) != 0) ++found;
    if (found == 5) return gantry__onnx_unsupported(call, "activation_type '%s'", kind);
    GANTRY__TRY(gantry__onnx_need_attr(call, "swiglu_limit_after_activation", 0));
    if (gantry__onnx_attr_int(call, "use_sparse_mixer", 0))
        return gantry__onnx_unsupported(call, "use_sparse_mixer");
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_moe(gantry__onnx_call_t *call) {
    experts_t node = {.call = call};
    GANTRY__TRY(begin_experts(&node));
    GANTRY__TRY(choose_experts(&node, NULL));
    for (size_t i = 0; i < 3; ++i) {
        node.weights[i] = gantry__onnx_input(call, 2 + 2 * i);
        node.bias[i] = gantry__onnx_input(call, 3 + 2 * i);
    }
    return run_experts(&node);
}

gantry_status_t gantry__onnx_check_qmoe(gantry__onnx_call_t *call) {
    const char *kind = gantry__onnx_attr_text(call, "quant_type", "int");
    if (strcmp(kind, "int") != 0) return gantry__onnx_unsupported(call, "quant_type '%s'", kind);
    for (size_t i = 15; i < 21; ++i)
        if (gantry__onnx_has_input(call, i))
            return gantry__onnx_unsupported(call, "input %zu, a scale of another quant_type", i);
    if (gantry__onnx_attr_int(call, "weights_prepacked", 0) > 0)
        return gantry__onnx_unsupported(call, "weights in the order of another library's kernels");
    for (size_t which = 0; which < 3; ++which) {
        const int64_t bits = expert_bits(call, which);
        if (gantry__onnx_has_input(call, 2 + 3 * which) && bits != 2 && bits != 4 && bits != 8)
            return gantry__onnx_unsupported(call, "%lld bits; 2, 4 and 8 are there",
                                            (long long)bits);
    }
    return gantry__onnx_check_moe(call);
}

gantry_status_t gantry__onnx_lower_qmoe(gantry__onnx_call_t *call) {
    experts_t node = {.call = call};
    GANTRY__TRY(begin_experts(&node));
    GANTRY__TRY(choose_experts(&node, gantry__onnx_input(call, 14)));
    for (size_t i = 0; i < 3; ++i) GANTRY__TRY(read_few_bits(&node, i));
    return run_experts(&node);
}
