/* SPDX-License-Identifier: Apache-2.0 */
#include "api/elements_check.h"

#include <stdint.h>

gantry_status_t gantry__check_elements(const char *what, gantry_dtype_t dtype,
                                       const gantry_shape_t *shape, const void *data,
                                       size_t bytes) {
    size_t element_bytes = gantry_dtype_size(dtype);
    int64_t elements = gantry_shape_elements(shape);
    if (element_bytes == 0)
        return gantry__refuse("%s: type %d is none of gantry_dtype_t", what, (int)dtype);
    if (elements < 0 || (uint64_t)elements > SIZE_MAX / element_bytes) {
        char text[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(shape, text, sizeof text);
        return gantry__refuse(
            "%s: shape %s of rank %d is not possible; rank 0 to %d, no negative dimension and a size that fits into memory are accepted",
            what, text, shape->rank, GANTRY_MAX_RANK);
    }
    const size_t accepted = (size_t)elements * element_bytes;
    if (!data && accepted > 0)
        return gantry__refuse("%s: data is NULL; the address of %zu bytes is accepted", what,
                              accepted);
    if (bytes != accepted) {
        return gantry__refuse(
            "%s: %zu bytes are given; %zu bytes are accepted for this shape and type", what, bytes,
            accepted);
    }
    return GANTRY_OK;
}
