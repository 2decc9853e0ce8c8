/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and shapes: the two plain values every other header speaks of. No ownership;
 * thread-safe. */
#ifndef GANTRY_TYPES_H
#define GANTRY_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/abi_types.h>
#include <gantry/export.h>
#include <gantry/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NumPy's name ("float32", "bool"); "invalid" for no type. */
GANTRY_API const char *gantry_dtype_name(gantry_dtype_t dtype);
/* Bytes of one element; 0 for no type. */
GANTRY_API size_t gantry_dtype_size(gantry_dtype_t dtype);
/* The type named by NumPy's or TensorFlow's name ("float", "float32", "double"...);
 * GANTRY_DTYPE_NONE when unknown. */
GANTRY_API gantry_dtype_t gantry_dtype_from_name(const char *name);

/* Row-major. rank 0 is a scalar; a dimension of 0 makes the tensor empty. */
typedef struct gantry_shape_t {
    int32_t rank;
    int64_t dims[GANTRY_MAX_RANK];
} gantry_shape_t;

/* GANTRY_SHAPE(2, 3): a shape by value. C has compound literals for it, C++ (from C++11 on) a
 * function. */
#ifdef __cplusplus
extern "C++" {
template <typename... Dims>
constexpr gantry_shape_t gantry_shape_of_dims(Dims... dims) {
    return gantry_shape_t{static_cast<int32_t>(sizeof...(Dims)), {static_cast<int64_t>(dims)...}};
}
}
#define GANTRY_SHAPE(...) (gantry_shape_of_dims(__VA_ARGS__))
#define GANTRY_SCALAR (gantry_shape_of_dims())
#else
#define GANTRY_SHAPE(...)                                                                    \
    ((gantry_shape_t){.rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                      .dims = {__VA_ARGS__}})
#define GANTRY_SCALAR ((gantry_shape_t){.rank = 0})
#endif

/* Number of elements; -1 when a dimension is negative, rank is out of range, the product
 * overflows int64, or shape is NULL. */
GANTRY_API int64_t gantry_shape_elements(const gantry_shape_t *shape);
/* A NULL equals nothing. */
GANTRY_API bool gantry_shape_equal(const gantry_shape_t *a, const gantry_shape_t *b);
/* Writes "[2,3]" and returns the length it needs (as snprintf): "" and 0 for NULL. out NULL: the
 * length only. */
GANTRY_API size_t gantry_shape_format(const gantry_shape_t *shape, char *out, size_t out_bytes);

#ifdef __cplusplus
}
#endif
#endif
