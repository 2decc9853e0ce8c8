/* SPDX-License-Identifier: Apache-2.0 */
#include "train/loss/fit.h"

#include "train/base/fail.h"

typedef const gantry_tensor_t tensor;

gantry__train_shape_text_t gantry__train_shape_text(tensor *x) {
    gantry__train_shape_text_t out;
    (void)gantry_shape_format(gantry_tensor_shape(x), out.text, sizeof out.text);
    return out;
}

static int32_t rank_of(tensor *x) { return gantry_tensor_shape(x)->rank; }

int64_t gantry__train_last_dim(tensor *x) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    return shape->rank ? shape->dims[shape->rank - 1] : 0;
}

/* `large` has one dimension more than `small`. */
static void fit_larger(gantry_scope_t *scope, tensor **small, tensor **large, bool expands) {
    const int32_t last = -1;
    if (gantry__train_last_dim(*large) != 1) return;
    if (rank_of(*small) == 1 && expands) {
        *small = gantry_expand_dims(scope, *small, -1);
    } else {
        *large = gantry_squeeze(scope, *large, &last, 1);
    }
}

void gantry__train_fit_ranks(gantry_scope_t *scope, tensor **a, tensor **b, bool expands) {
    if (rank_of(*a) == rank_of(*b) + 1) {
        fit_larger(scope, b, a, expands);
    } else if (rank_of(*b) == rank_of(*a) + 1) {
        fit_larger(scope, a, b, expands);
    }
}

static bool dim_fits(int64_t a, int64_t b) { return a == b || a < 0 || b < 0; }

bool gantry__train_dims_fit(tensor *a, tensor *b, int32_t rank) {
    const gantry_shape_t *x = gantry_tensor_shape(a), *y = gantry_tensor_shape(b);
    if (x->rank < rank || y->rank < rank) return false;
    for (int32_t d = 0; d < rank; ++d) {
        if (!dim_fits(x->dims[d], y->dims[d])) return false;
    }
    return true;
}

bool gantry__train_shapes_fit(tensor *a, tensor *b) {
    return rank_of(a) == rank_of(b) && gantry__train_dims_fit(a, b, rank_of(a));
}

bool gantry__train_broadcasts(tensor *a, tensor *b) {
    const gantry_shape_t *x = gantry_tensor_shape(a), *y = gantry_tensor_shape(b);
    for (int32_t d = 1; d <= x->rank && d <= y->rank; ++d) {
        const int64_t m = x->dims[x->rank - d], n = y->dims[y->rank - d];
        if (!dim_fits(m, n) && m != 1 && n != 1) return false;
    }
    return true;
}

tensor *gantry__train_spread(gantry_scope_t *scope, tensor *x, tensor *like) {
    if (gantry_tensor_elements(like) < 0) /* BroadcastTo takes no open sizes */
        return gantry_mul(
            scope, x, gantry_cast(scope, gantry_ones_like(scope, like), gantry_tensor_dtype(x)));
    if (gantry_shape_equal(gantry_tensor_shape(x), gantry_tensor_shape(like))) return x;
    return gantry_broadcast_to(scope, x, *gantry_tensor_shape(like));
}

tensor *gantry__train_rows(gantry_scope_t *scope, tensor *x) {
    const int64_t columns = gantry__train_last_dim(x), count = gantry_tensor_elements(x);
    if (rank_of(x) == 2) return x;
    /* Without elements or with open sizes the number of rows is not known, or is left to the
     * reshape: -1. */
    int64_t rows = count < 0 || columns < 1 ? -1 : count / columns;
    return gantry_reshape(scope, x, GANTRY_SHAPE(rows, columns));
}

bool gantry__train_is_given(gantry_scope_t *scope, const char *call, const char *what, tensor *x) {
    if (!x) (void)gantry__train_refuse(scope, "%s: the %s are NULL", call, what);
    return x;
}

bool gantry__train_same_shape(gantry_scope_t *scope, const char *call, tensor *labels,
                              tensor *predictions) {
    if (!labels || !predictions) return false;
    if (gantry__train_shapes_fit(labels, predictions)) return true;
    return gantry__train_refuse_bool(
        scope, "%s: labels of shape %s do not fit predictions of shape %s; that shape is accepted",
        call, gantry__train_shape_text(labels).text, gantry__train_shape_text(predictions).text);
}

tensor *gantry__train_row_labels(gantry_scope_t *scope, const char *call, tensor *labels,
                                 tensor *predictions) {
    const int32_t rank = rank_of(predictions), last = -1;
    if (rank > 0 && rank_of(labels) == rank && gantry__train_last_dim(labels) == 1 &&
        gantry__train_dims_fit(labels, predictions, rank - 1))
        return gantry_squeeze(scope, labels, &last, 1);
    if (rank > 0 && rank_of(labels) == rank - 1 &&
        gantry__train_dims_fit(labels, predictions, rank - 1))
        return labels;
    return gantry__train_refuse_pointer(
        scope,
        "%s: labels of shape %s do not fit predictions of shape %s; the shape without the classes, or with 1 in their place, is accepted",
        call, gantry__train_shape_text(labels).text, gantry__train_shape_text(predictions).text);
}
