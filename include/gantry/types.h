/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Element types and shapes, the two plain values that all other headers use. No ownership;
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

/** NumPy's name of a type: "float32", "bool"; "invalid" for no type. */
GANTRY_API const char *gantry_dtype_name(gantry_dtype_t dtype);
/** Bytes of one element; 0 for no type. */
GANTRY_API size_t gantry_dtype_size(gantry_dtype_t dtype);
/** The type with this name, NumPy's or TensorFlow's: "float", "float32", "double";
 * GANTRY_DTYPE_NONE if unknown. */
GANTRY_API gantry_dtype_t gantry_dtype_from_name(const char *name);

/** A shape, row-major. Rank 0 is a scalar; a dimension of 0 makes the tensor empty. The struct
 * does not grow. */
typedef struct gantry_shape_t {
    int32_t rank;                  /**< The number of dimensions. */
    int64_t dims[GANTRY_MAX_RANK]; /**< The dimensions, the slowest first. */
} gantry_shape_t;

/** @def GANTRY_SCALAR
 * The shape of a scalar, by value: rank 0, one element. GANTRY_SHAPE takes a dimension or more. */
/** @def GANTRY_SHAPE
 * A shape by value: GANTRY_SHAPE(2, 3). C uses a compound literal, C++ (from C++11 on) a
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

/** The number of elements; -1 when a dimension is negative, rank is out of range, the product
 * overflows int64 (where pointers have 32 bits: is 2^27 or more), or shape is NULL. */
GANTRY_API int64_t gantry_shape_elements(const gantry_shape_t *shape);
/** Compares two shapes; NULL equals nothing. */
GANTRY_API bool gantry_shape_equal(const gantry_shape_t *a, const gantry_shape_t *b);
/** Writes "[2,3]" and returns its length without the terminator, as snprintf; "" and 0 for NULL.
 * out may be NULL. */
GANTRY_API size_t gantry_shape_format(const gantry_shape_t *shape, char *out, size_t out_bytes);

/** Frees, or takes back, what a program gave to the library; data is the program's own. */
typedef void (*gantry_release_fn)(void *data);

#ifdef __cplusplus
}
#endif
#endif
