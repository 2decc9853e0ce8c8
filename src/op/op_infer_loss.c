/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of losses. */
#include "op/op_infer.h"

/* Sets loss [rows] and backprop [rows, classes]. */
static gantry_status_t set_results(gantry__infer_t *call, const gantry_shape_t *matrix) {
    call->out_shapes[0] = GANTRY_SHAPE(matrix->dims[0]);
    call->out_shapes[1] = *matrix;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_softmax_cross_entropy(gantry__infer_t *call) {
    const gantry_shape_t *features = call->shapes[0], *labels = call->shapes[1];
    gantry_shape_t both;
    if (!gantry__broadcast_shapes(features, labels, &both)) {
        return gantry__refuse(
            "logits and labels must be broadcastable: logits_size=%s labels_size=%s",
            gantry__shape_text(features).text, gantry__shape_text(labels).text);
    }
    if (both.rank != 2) {
        return gantry__refuse(
            "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
    }
    return set_results(call, &both);
}

static gantry_status_t check_sparse(const gantry_shape_t *logits, const gantry_shape_t *labels) {
    if (logits->rank != 2) {
        return gantry__refuse("logits must be 2-D, but got shape %s",
                              gantry__shape_text(logits).text);
    }
    if (labels->rank != 1) {
        return gantry__refuse("labels must be 1-D, but got shape %s",
                              gantry__shape_text(labels).text);
    }
    if (!gantry__sizes_fit(logits->dims[0], labels->dims[0])) {
        return gantry__refuse(
            "logits and labels must have the same first dimension, got logits shape %s and labels shape %s",
            gantry__shape_text(logits).text, gantry__shape_text(labels).text);
    }
    if (logits->dims[1] == 0) {
        return gantry__refuse("Must have at least one class, but got logits shape %s",
                              gantry__shape_text(logits).text);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_sparse_cross_entropy(gantry__infer_t *call) {
    gantry_shape_t rows = *call->shapes[0];
    GANTRY__TRY(check_sparse(&rows, call->shapes[1]));
    (void)gantry__merge_sizes(&rows.dims[0], call->shapes[1]->dims[0]);
    return set_results(call, &rows);
}

gantry_status_t gantry__infer_sparse_rows(gantry__infer_t *call) {
    const gantry_shape_t *rows = call->shapes[0], *softmax = call->shapes[1];
    gantry_shape_t both = *rows;
    GANTRY__TRY(check_sparse(rows, call->shapes[2]));
    if (!gantry__merge_shapes(&both, softmax)) {
        return gantry__refuse("log_softmax and softmax must have one shape, got %s and %s",
                              gantry__shape_text(rows).text, gantry__shape_text(softmax).text);
    }
    (void)gantry__merge_sizes(&both.dims[0], call->shapes[2]->dims[0]);
    return set_results(call, &both);
}
