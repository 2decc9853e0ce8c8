/* SPDX-License-Identifier: Apache-2.0 */
#include "train/loss/mask.h"

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/loss/fit.h"

typedef const gantry_tensor_t tensor;

/* All places divided by those that the mask has; 0 if it has none. */
static tensor *mask_scale(gantry_scope_t *scope, tensor *parts) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(parts);
    const int64_t count = gantry_tensor_elements(parts);
    tensor *all = count >= 0 ? gantry__train_constant(scope, dtype, (double)count)
                             : gantry_cast(scope, gantry_size(scope, parts, GANTRY_INT64), dtype);
    return gantry_div_no_nan(scope, all, gantry_sum(scope, parts, NULL));
}

tensor *gantry__train_apply_mask(gantry_scope_t *scope, tensor *weights, tensor *mask,
                                 gantry_dtype_t dtype, bool scales) {
    tensor *parts = gantry_cast(scope, mask, dtype);
    if (parts && scales) parts = gantry_mul(scope, parts, mask_scale(scope, parts));
    if (!weights || !parts) return parts;
    weights = gantry__train_cast(scope, weights, dtype);
    if (!weights) return NULL;
    gantry__train_fit_ranks(scope, &parts, &weights, true);
    if (!parts || !weights) return NULL;
    if (gantry__train_broadcasts(parts, weights)) return gantry_mul(scope, weights, parts);
    return gantry__train_refuse_pointer(
        scope,
        "sample weights of shape %s do not fit a mask of shape %s; a shape that broadcasts is accepted",
        gantry__train_shape_text(weights).text, gantry__train_shape_text(parts).text);
}
