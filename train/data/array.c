/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in host memory, to and from tensors. */
#include <gantry_train/dataset.h>

#include "train/base/fail.h"
#include "train/data/element.h"

const gantry_tensor_t *gantry_tensor_from_array(gantry_scope_t *scope,
                                                const gantry_array_t *array) {
    size_t bytes;
    if (!scope) {
        (void)gantry__train_fail_null(NULL, "gantry_tensor_from_array", "scope",
                                      "one from gantry_scope_begin");
        return NULL;
    }
    if (!array)
        return gantry__train_refuse_pointer(scope, "gantry_tensor_from_array: the array is NULL");
    (void)gantry__train_array_bytes(array->dtype, &array->shape, &bytes);
    return gantry_constant(scope, array->dtype, array->shape, array->data, bytes);
}

gantry_status_t gantry_tensor_to_array(const gantry_tensor_t *tensor, void *out, size_t bytes,
                                       gantry_array_t *out_array) {
    if (!out_array) return gantry__train_refuse(NULL, "gantry_tensor_to_array: out_array is NULL");
    *out_array = (gantry_array_t){.dtype = GANTRY_DTYPE_NONE};
    GANTRY__TRY(gantry_tensor_read(tensor, out, bytes));
    *out_array = (gantry_array_t){gantry_tensor_dtype(tensor), *gantry_tensor_shape(tensor), out};
    return GANTRY_OK;
}
