/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/scalar.h"

const gantry_tensor_t *gantry__train_scalar(gantry_scope_t *scope, const gantry_tensor_t *like,
                                            double value) {
    if (!like) return NULL;
    const gantry_dtype_t dtype = gantry_tensor_dtype(like);
    if (dtype == GANTRY_FLOAT64)
        return gantry_constant(scope, dtype, GANTRY_SCALAR, &value, sizeof value);
    const gantry_tensor_t *scalar = gantry_scalar_f32(scope, (float)value);
    return dtype == GANTRY_FLOAT32 ? scalar : gantry_cast(scope, scalar, dtype);
}
