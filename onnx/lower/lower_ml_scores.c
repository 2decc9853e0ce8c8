/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of classes and targets in ai.onnx.ml: what becomes of them, labels, linear models. */
#include <math.h>
#include <string.h>

#include <gantry/gantry.h>

#include "onnx/lower/lower_trees.h"
#include "onnx/lower/parts.h"

typedef const gantry_tensor_t tensor;

gantry_status_t gantry__onnx_feature_rows(gantry__onnx_call_t *call, tensor **out) {
    tensor *x = gantry__onnx_input(call, 0);
    const int32_t rank = gantry_tensor_shape(x)->rank;
    if (rank != 1 && rank != 2)
        return gantry__onnx_invalid(call, "X has %d dimensions; 1 and 2 are accepted", (int)rank);
    if (rank == 1) x = gantry_expand_dims(call->scope, x, 0);
    if (x && gantry_tensor_dtype(x) != GANTRY_FLOAT64)
        x = gantry__onnx_cast(call, x, GANTRY_FLOAT32);
    *out = x;
    return gantry_scope_status(call->scope);
}

/* ---- what becomes of scores ---- */

gantry_status_t gantry__onnx_read_after(gantry__onnx_call_t *call,
                                        gantry__onnx_after_t *out_after) {
    static const char *const words[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    int64_t after = GANTRY__ONNX_AFTER_NONE;
    if (gantry__onnx_row_attr(call->row, "post_transform") == 'i') {
        after = gantry__onnx_attr_int(call, "post_transform", after);
    } else {
        const char *word = gantry__onnx_attr_text(call, "post_transform", words[0]);
        while (after <= GANTRY__ONNX_AFTER_PROBIT && strcmp(word, words[after]) != 0) ++after;
    }
    if (after < 0 || after > GANTRY__ONNX_AFTER_PROBIT)
        return gantry__onnx_invalid(call,
                                    "post_transform is none of NONE, SOFTMAX, LOGISTIC, "
                                    "SOFTMAX_ZERO and PROBIT");
    *out_after = (gantry__onnx_after_t)after;
    return GANTRY_OK;
}

/* Softmax of the scores that are not 0; the others become next to 0. */
static tensor *softmax_of_some(gantry__onnx_call_t *call, tensor *scores) {
    static const int64_t axis = 1;
    if (!scores) return NULL;
    tensor *is_some =
        gantry__onnx_op_number(call, "Greater", gantry__onnx_op1(call, "Abs", scores), 0.0000001);
    tensor *most = gantry__onnx_reduce(call, "Max", scores, &axis, 1, true);
    tensor *powers = gantry__onnx_op1(call, "Exp", gantry__onnx_op2(call, "Sub", scores, most));
    tensor *rest = gantry__onnx_op2(
        call, "Mul", scores, gantry__onnx_op1(call, "Exp", gantry__onnx_op1(call, "Neg", most)));
    tensor *none = gantry__onnx_make_scalar(call, gantry_tensor_dtype(scores), 0);
    tensor *sum = gantry__onnx_reduce(call, "Sum", gantry__onnx_select(call, is_some, powers, none),
                                      &axis, 1, true);
    return gantry__onnx_op2(call, "Div", gantry__onnx_select(call, is_some, powers, rest), sum);
}

/* The place of a part of the normal distribution. */
static tensor *probit(gantry__onnx_call_t *call, tensor *scores) {
    tensor *places = gantry__onnx_scale(call, scores, 2, -1);
    return gantry__onnx_scale(call, gantry__onnx_op1(call, "Erfinv", places), sqrt(2.0), 0);
}

tensor *gantry__onnx_apply_after(gantry__onnx_call_t *call, tensor *scores,
                                 gantry__onnx_after_t after) {
    switch (after) {
        case GANTRY__ONNX_AFTER_SOFTMAX: return gantry__onnx_op1(call, "Softmax", scores);
        case GANTRY__ONNX_AFTER_LOGISTIC: return gantry__onnx_op1(call, "Sigmoid", scores);
        case GANTRY__ONNX_AFTER_SOFTMAX_ZERO: return softmax_of_some(call, scores);
        case GANTRY__ONNX_AFTER_PROBIT: return probit(call, scores);
        default: return scores;
    }
}

static gantry_status_t refuse_probit(gantry__onnx_call_t *call, gantry__onnx_after_t after) {
    if (after != GANTRY__ONNX_AFTER_PROBIT) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "post_transform PROBIT of one score of two classes");
}

tensor *gantry__onnx_two_scores(gantry__onnx_call_t *call, tensor *score, double of_both,
                                gantry__onnx_after_t after) {
    tensor *first = gantry__onnx_op1(call, "Neg", score), *second = score;
    if (after == GANTRY__ONNX_AFTER_LOGISTIC) {
        first = gantry__onnx_op1(call, "Sigmoid", first);
        second = gantry__onnx_op1(call, "Sigmoid", second);
    } else if (after == GANTRY__ONNX_AFTER_PROBIT) {
        (void)refuse_probit(call, after);
        (void)gantry_scope_fail(call->scope, GANTRY_UNIMPLEMENTED, gantry_last_message());
        return NULL;
    } else {
        first = gantry__onnx_scale(call, first, 1, of_both);
    }
    tensor *const both[] = {first, second};
    return first && second ? gantry__onnx_concat(call, both, 2, 1) : NULL;
}

/* ---- labels ---- */

gantry_status_t gantry__onnx_read_labels(gantry__onnx_call_t *call, const char *name,
                                         const int64_t **out_labels, size_t *out_count) {
    const gantry__onnx_attr_t *texts = gantry__onnx_find_attr(call->node, "classlabels_strings");
    *out_labels = gantry__onnx_attr_ints(call, name, out_count);
    if (!texts || texts->count == 0) {
        if (!gantry__onnx_wants(call, 0)) *out_labels = NULL;
        return GANTRY_OK;
    }
    if (gantry__onnx_wants(call, 0))
        return gantry__onnx_unsupported(call,
                                        "its labels are texts; convert the model with whole "
                                        "numbers as labels, or use only its scores");
    *out_labels = NULL;
    *out_count = texts->count;
    return GANTRY_OK;
}

static gantry_status_t give_label_of(gantry__onnx_call_t *call, tensor *places,
                                     const int64_t *labels, size_t count) {
    tensor *table = gantry__onnx_make_ints(call, GANTRY_INT64, labels, count);
    return gantry__onnx_set(call, 0,
                            places && table ? gantry_gather(call->scope, table, places, 0) : NULL);
}

gantry_status_t gantry__onnx_give_labels(gantry__onnx_call_t *call, tensor *scores,
                                         const int64_t *labels, size_t count) {
    return give_label_of(call, scores ? gantry_argmax(call->scope, scores, 1) : NULL, labels,
                         count);
}

gantry_status_t gantry__onnx_give_label(gantry__onnx_call_t *call, tensor *score, double limit,
                                        const int64_t labels[2]) {
    static const int32_t axis = 1;
    tensor *is_second = gantry__onnx_op_number(call, "Greater", score, limit);
    if (is_second) is_second = gantry_squeeze(call->scope, is_second, &axis, 1);
    return give_label_of(call, gantry__onnx_cast(call, is_second, GANTRY_INT32), labels, 2);
}

/* ---- linear models ---- */

/* Scores [N, count] of rows by coefficients [count, features]; intercepts may be left out. */
static gantry_status_t linear_scores(gantry__onnx_call_t *call, size_t count, tensor **out) {
    size_t coefficient_count, intercept_count;
    const float *coefficients = gantry__onnx_attr_floats(call, "coefficients", &coefficient_count);
    const float *intercepts = gantry__onnx_attr_floats(call, "intercepts", &intercept_count);
    const gantry_matmul_options_t options = {.struct_size = sizeof options, .transpose_b = true};
    tensor *rows = NULL;
    GANTRY__TRY(gantry__onnx_feature_rows(call, &rows));
    const int64_t features = gantry_tensor_shape(rows)->dims[1];
    if (features < 0) return gantry__onnx_need_shape(call, rows);
    if (count == 0 || coefficient_count % count != 0 ||
        (int64_t)(coefficient_count / count) != features)
        return gantry__onnx_invalid(
            call, "%zu coefficients for %zu scores of %lld features; one for each is accepted",
            coefficient_count, count, (long long)features);
    if (intercept_count != 0 && intercept_count != count)
        return gantry__onnx_invalid(call, "%zu intercepts for %zu scores", intercept_count, count);
    tensor *table =
        gantry_constant(call->host, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)count, features),
                        coefficients, coefficient_count * sizeof *coefficients);
    rows = gantry__onnx_cast(call, rows, GANTRY_FLOAT32);
    tensor *scores = rows && table ? gantry_matmul(call->scope, rows, table, &options) : NULL;
    if (intercept_count > 0)
        scores = gantry__onnx_op2(
            call, "Add", scores,
            gantry_constant(call->host, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)count), intercepts,
                            count * sizeof *intercepts));
    *out = scores;
    return gantry_scope_status(call->scope);
}

gantry_status_t gantry__onnx_check_linear_regressor(gantry__onnx_call_t *call) {
    const int64_t targets = gantry__onnx_attr_int(call, "targets", 1);
    gantry__onnx_after_t after;
    if (targets < 1)
        return gantry__onnx_invalid(call, "targets is %lld; 1 or more are accepted",
                                    (long long)targets);
    return gantry__onnx_read_after(call, &after);
}

gantry_status_t gantry__onnx_lower_linear_regressor(gantry__onnx_call_t *call) {
    const int64_t targets = gantry__onnx_attr_int(call, "targets", 1);
    gantry__onnx_after_t after;
    tensor *scores = NULL;
    GANTRY__TRY(gantry__onnx_read_after(call, &after));
    GANTRY__TRY(linear_scores(call, (size_t)targets, &scores));
    return gantry__onnx_give(call, gantry__onnx_apply_after(call, scores, after));
}

size_t gantry__onnx_label_count(const gantry__onnx_call_t *call, const char *name) {
    const gantry__onnx_attr_t *texts = gantry__onnx_find_attr(call->node, "classlabels_strings");
    size_t count;
    (void)gantry__onnx_attr_ints(call, name, &count);
    return texts && texts->count > 0 ? texts->count : count;
}

/* Scores of a LinearClassifier: one for each class, or one of two classes. */
static size_t classifier_scores(const gantry__onnx_call_t *call) {
    size_t count;
    (void)gantry__onnx_attr_floats(call, "intercepts", &count);
    return count > 0 ? count : gantry__onnx_label_count(call, "classlabels_ints");
}

gantry_status_t gantry__onnx_check_linear_classifier(gantry__onnx_call_t *call) {
    const size_t label_count = gantry__onnx_label_count(call, "classlabels_ints"),
                 count = classifier_scores(call);
    gantry__onnx_after_t after;
    GANTRY__TRY(gantry__onnx_read_after(call, &after));
    if (label_count < 2 || (count != 1 && count != label_count))
        return gantry__onnx_invalid(call,
                                    "%zu scores of %zu classes; one for each, or one of two "
                                    "classes, is accepted",
                                    count, label_count);
    if (count == 1 && label_count != 2)
        return gantry__onnx_invalid(call, "one score of %zu classes; two are accepted",
                                    label_count);
    return count == 1 ? refuse_probit(call, after) : GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_linear_classifier(gantry__onnx_call_t *call) {
    const size_t count = classifier_scores(call);
    const int64_t *labels;
    size_t label_count;
    gantry__onnx_after_t after;
    tensor *scores = NULL;
    GANTRY__TRY(gantry__onnx_read_labels(call, "classlabels_ints", &labels, &label_count));
    GANTRY__TRY(gantry__onnx_read_after(call, &after));
    GANTRY__TRY(linear_scores(call, count, &scores));
    if (count == 1) {
        if (labels) GANTRY__TRY(gantry__onnx_give_label(call, scores, 0, labels));
        scores = gantry__onnx_two_scores(call, scores, 1, after);
    } else {
        if (labels) GANTRY__TRY(gantry__onnx_give_labels(call, scores, labels, count));
        scores = gantry__onnx_apply_after(call, scores, after);
    }
    return gantry__onnx_wants(call, 1) ? gantry__onnx_set(call, 1, scores) : GANTRY_OK;
}
