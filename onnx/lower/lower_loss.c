/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: the negative logarithm of the probability of each place's label. Scores are [N, C, ...],
 * labels [N, ...]. */
#include <string.h>

#include "onnx/lower/parts.h"

/* The labels of a call. Those that are ignored name class 0, so that they can be looked up. */
typedef struct labels_t {
    const gantry_tensor_t *classes;
    const gantry_tensor_t *are_ignored; /* bool; NULL: none is. */
} labels_t;

static labels_t labels_of_loss(gantry__onnx_call_t *call) {
    labels_t labels = {.classes = gantry__onnx_input(call, 1)};
    if (!gantry__onnx_find_attr(call->node, "ignore_index")) return labels;
    const gantry_dtype_t dtype = gantry_tensor_dtype(labels.classes);
    const int64_t ignored = gantry__onnx_attr_int(call, "ignore_index", 0);
    const gantry_tensor_t *number = gantry__onnx_ints_of(call, dtype, &ignored, GANTRY_SCALAR);
    labels.are_ignored = gantry__onnx_op2(call, "Equal", labels.classes, number);
    labels.classes = gantry__onnx_select(call, labels.are_ignored,
                                         gantry__onnx_make_scalar(call, dtype, 0), labels.classes);
    return labels;
}

/* The logarithm of the probability of each place's label. */
static const gantry_tensor_t *loss_of_labels(gantry__onnx_call_t *call, const gantry_tensor_t *logs,
                                             const gantry_tensor_t *classes) {
    const int32_t axis = 1;
    if (!logs || !classes) return NULL;
    const gantry_tensor_t *places = gantry_expand_dims(call->scope, classes, axis);
    if (!places) return NULL;
    const gantry_tensor_t *found = gantry_gather_elements(call->scope, logs, places, axis);
    return found ? gantry_squeeze(call->scope, found, &axis, 1) : NULL;
}

static const gantry_tensor_t *zero_where(gantry__onnx_call_t *call,
                                         const gantry_tensor_t *condition,
                                         const gantry_tensor_t *x) {
    if (!condition || !x) return x;
    return gantry__onnx_select(call, condition,
                               gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), 0), x);
}

/* The weight of each place; NULL: all are 1. */
static const gantry_tensor_t *loss_weights(gantry__onnx_call_t *call, const labels_t *labels,
                                           gantry_dtype_t dtype) {
    const gantry_tensor_t *weights = gantry__onnx_input(call, 2);
    if (weights && labels->classes)
        weights = gantry_gather(call->scope, weights, labels->classes, 0);
    else if (labels->are_ignored)
        return gantry__onnx_cast(call, gantry__onnx_op1(call, "LogicalNot", labels->are_ignored),
                                 dtype);
    return zero_where(call, labels->are_ignored, weights);
}

/* The sum of all elements, or their mean. */
static const gantry_tensor_t *loss_over_all(gantry__onnx_call_t *call, const char *op,
                                            const gantry_tensor_t *x) {
    static const int64_t axes[GANTRY_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (!x) return NULL;
    return gantry__onnx_reduce(call, op, x, axes, (size_t)gantry_tensor_shape(x)->rank, false);
}

static gantry_status_t give_loss(gantry__onnx_call_t *call, const gantry_tensor_t *logs) {
    const char *reduction = gantry__onnx_attr_text(call, "reduction", "mean");
    const bool is_mean = strcmp(reduction, "mean") == 0, is_sum = strcmp(reduction, "sum") == 0;
    if (!is_mean && !is_sum && strcmp(reduction, "none") != 0)
        return gantry__onnx_invalid(call, "reduction is %s; it is mean, sum or none", reduction);
    const labels_t labels = labels_of_loss(call);
    const gantry_tensor_t *weights =
        loss_weights(call, &labels, gantry_tensor_dtype(gantry__onnx_input(call, 0)));
    const gantry_tensor_t *loss =
        gantry__onnx_op1(call, "Neg", loss_of_labels(call, logs, labels.classes));
    if (gantry__onnx_input(call, 2)) loss = gantry__onnx_op2(call, "Mul", loss, weights);
    loss = zero_where(call, labels.are_ignored, loss);
    if (is_mean && weights)
        loss = gantry__onnx_op2(call, "Div", loss_over_all(call, "Sum", loss),
                                loss_over_all(call, "Sum", weights));
    else if (is_mean || is_sum)
        loss = loss_over_all(call, is_mean ? "Mean" : "Sum", loss);
    return gantry__onnx_give(call, loss);
}

/* Whether both are open or have the same size. */
static bool loss_size_fits(int64_t size, int64_t other) {
    return size < 0 || other < 0 || size == other;
}

/* Labels have the sizes of the scores without that of the classes, which is that of the weights. */
static gantry_status_t loss_check(gantry__onnx_call_t *call) {
    const gantry_tensor_t *weights = gantry__onnx_input(call, 2);
    const gantry_shape_t *scores = gantry_tensor_shape(gantry__onnx_input(call, 0)),
                         *labels = gantry_tensor_shape(gantry__onnx_input(call, 1));
    bool fits = scores->rank >= 2 && labels->rank == scores->rank - 1;
    for (int32_t i = 0; fits && i < labels->rank; ++i)
        fits = loss_size_fits(labels->dims[i], scores->dims[i == 0 ? 0 : i + 1]);
    if (fits && weights)
        fits = gantry_tensor_shape(weights)->rank == 1 &&
               loss_size_fits(gantry_tensor_shape(weights)->dims[0], scores->dims[1]);
    if (fits) return GANTRY_OK;
    char texts[2][160];
    (void)gantry_shape_format(scores, texts[0], sizeof texts[0]);
    (void)gantry_shape_format(labels, texts[1], sizeof texts[1]);
    return gantry__onnx_invalid(
        call, "scores are %s and labels %s; they are [N, C, ...] and [N, ...], and weights [C]",
        texts[0], texts[1]);
}

gantry_status_t gantry__onnx_lower_negative_log_likelihood_loss(gantry__onnx_call_t *call) {
    GANTRY__TRY(loss_check(call));
    return give_loss(call, gantry__onnx_input(call, 0));
}

gantry_status_t gantry__onnx_lower_softmax_cross_entropy_loss(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    GANTRY__TRY(loss_check(call));
    const int32_t last = gantry_tensor_shape(x)->rank - 1;
    x = gantry__onnx_op1(call, "LogSoftmax", gantry__onnx_exchange(call, x, 1, last));
    x = gantry__onnx_exchange(call, x, 1, last);
    GANTRY__TRY(give_loss(call, x));
    return gantry__onnx_set(call, 1, x);
}
