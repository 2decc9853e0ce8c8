/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry/types.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/shape_limit.h"

#include "ops/type_rows.h"

const char *gantry_dtype_name(gantry_dtype_t dtype) {
    const char *name = gantry__type_name((int32_t)dtype);
    return name ? name : "invalid";
}

size_t gantry_dtype_size(gantry_dtype_t dtype) { return gantry__type_bytes((int32_t)dtype); }

gantry_dtype_t gantry_dtype_from_name(const char *name) {
#define DTYPE(short) GANTRY_ID_##short,
    static const int32_t dtypes[] = {GANTRY_ELEMENT_TYPES(DTYPE)};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0] && name; ++i) {
        const char *alias = gantry__type_alias(dtypes[i]);
        if (strcmp(gantry__type_name(dtypes[i]), name) == 0 || (alias && strcmp(alias, name) == 0))
            return (gantry_dtype_t)dtypes[i];
    }
    return GANTRY_DTYPE_NONE;
}

int64_t gantry_shape_elements(const gantry_shape_t *shape) {
    return shape ? gantry__shape_elements(shape) : -1;
}

bool gantry_shape_equal(const gantry_shape_t *a, const gantry_shape_t *b) {
    if (!a || !b || a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; ++i) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

size_t gantry_shape_format(const gantry_shape_t *shape, char *out, size_t out_bytes) {
    char text[GANTRY_MAX_RANK * 21 + 3];
    size_t used = 0;
    if (!out) out_bytes = 0;
    if (out_bytes > 0) out[0] = '\0';
    if (!shape) return 0;
    text[used++] = '[';
    for (int32_t i = 0; i < shape->rank && i < GANTRY_MAX_RANK; ++i) {
        used += (size_t)snprintf(text + used, sizeof text - used, i ? ",%" PRId64 : "%" PRId64,
                                 shape->dims[i]);
    }
    text[used++] = ']';
    text[used] = '\0';
    if (out_bytes > 0) {
        size_t copied = used < out_bytes - 1 ? used : out_bytes - 1;
        memcpy(out, text, copied);
        out[copied] = '\0';
    }
    return used;
}
