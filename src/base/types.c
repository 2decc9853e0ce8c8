/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry/types.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/shape_limit.h"

typedef struct dtype_row_t {
    gantry_dtype_t dtype;
    uint8_t bytes;
    const char *name;
    const char *alias; /* TensorFlow's spelling where it differs */
} dtype_row_t;

static const dtype_row_t dtype_rows[] = {
    {GANTRY_FLOAT32, 4, "float32", "float"},  {GANTRY_FLOAT64, 8, "float64", "double"},
    {GANTRY_INT32, 4, "int32", "int"},        {GANTRY_UINT8, 1, "uint8", NULL},
    {GANTRY_INT16, 2, "int16", NULL},         {GANTRY_INT8, 1, "int8", NULL},
    {GANTRY_COMPLEX64, 8, "complex64", NULL}, {GANTRY_INT64, 8, "int64", NULL},
    {GANTRY_BOOL, 1, "bool", NULL},           {GANTRY_BFLOAT16, 2, "bfloat16", NULL},
    {GANTRY_UINT16, 2, "uint16", NULL},       {GANTRY_FLOAT16, 2, "float16", "half"},
    {GANTRY_UINT32, 4, "uint32", NULL},       {GANTRY_UINT64, 8, "uint64", NULL},
};

static const dtype_row_t *types_find_row(gantry_dtype_t dtype) {
    for (size_t i = 0; i < sizeof dtype_rows / sizeof dtype_rows[0]; ++i) {
        if (dtype_rows[i].dtype == dtype) return &dtype_rows[i];
    }
    return NULL;
}

const char *gantry_dtype_name(gantry_dtype_t dtype) {
    const dtype_row_t *row = types_find_row(dtype);
    return row ? row->name : "invalid";
}

size_t gantry_dtype_size(gantry_dtype_t dtype) {
    static const uint8_t sizes[] = {
        [GANTRY_FLOAT32] = 4, [GANTRY_FLOAT64] = 8,  [GANTRY_INT32] = 4,     [GANTRY_UINT8] = 1,
        [GANTRY_INT16] = 2,   [GANTRY_INT8] = 1,     [GANTRY_COMPLEX64] = 8, [GANTRY_INT64] = 8,
        [GANTRY_BOOL] = 1,    [GANTRY_BFLOAT16] = 2, [GANTRY_UINT16] = 2,    [GANTRY_FLOAT16] = 2,
        [GANTRY_UINT32] = 4,  [GANTRY_UINT64] = 8};
    size_t index = (size_t)dtype;
    return index < sizeof sizes ? sizes[index] : 0;
}

gantry_dtype_t gantry_dtype_from_name(const char *name) {
    if (!name) return GANTRY_DTYPE_NONE;
    for (size_t i = 0; i < sizeof dtype_rows / sizeof dtype_rows[0]; ++i) {
        const dtype_row_t *row = &dtype_rows[i];
        if (strcmp(row->name, name) == 0 || (row->alias && strcmp(row->alias, name) == 0))
            return row->dtype;
    }
    return GANTRY_DTYPE_NONE;
}

/* Two numbers of so many bits have a product below the limit. */
#define SMALL_BITS (SIZE_MAX > UINT32_MAX ? 31 : 13)

/* Whether a * b, of numbers > 0, exceeds the limit; divides only if one of them is large. */
static bool overflows(int64_t a, int64_t b) {
    return (a | b) >> SMALL_BITS != 0 && a > GANTRY__MOST_ELEMENTS / b;
}

int64_t gantry_shape_elements(const gantry_shape_t *shape) {
    if (!shape || shape->rank < 0 || shape->rank > GANTRY_MAX_RANK) return -1;
    int64_t product = 1;
    bool empty = false;
    for (int32_t i = 0; i < shape->rank; ++i) {
        int64_t dim = shape->dims[i];
        if (dim < 0) return -1;
        if (dim == 0) {
            empty = true;
        } else if (overflows(product, dim)) {
            return -1;
        } else {
            product *= dim;
        }
    }
    return empty ? 0 : product;
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
