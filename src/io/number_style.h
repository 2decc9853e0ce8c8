/* SPDX-License-Identifier: Apache-2.0 */
/* The format of the numbers of one array in columns: NumPy's rules, element by element. It knows no
 * brackets and lines (tensor_format.h does).
 *
 * The caller must call the functions in this order: init, then look at every element that will be
 * shown, then fit, then measure every element again, then finish; after that it may write any of
 * them.
 *
 * Owner: a plain value of the caller. Threads: externally synchronised. */
#ifndef GANTRY_IO_NUMBER_STYLE_H
#define GANTRY_IO_NUMBER_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/types.h>

#include "base/decimal.h"

/* Longest text of one element, terminator included. */
#define GANTRY__NUMBER_CHARS 256

/* A column of real numbers. */
typedef struct gantry__float_style_t {
    gantry_dtype_t dtype;
    bool plus;       /* a '+' before numbers that are not negative */
    bool scientific; /* 1.5e+10 */
    bool suppress;   /* small numbers make none scientific */
    bool any_finite, any_nan, any_infinite, any_negative_infinite;
    /* magnitudes of the finite numbers other than zero; 0 while there are none */
    double largest, smallest;
    int32_t precision; /* the most digits after the point */
    int32_t left;      /* characters before the point, sign included */
    int32_t right;     /* characters after the point */
    int32_t exponent_digits;
} gantry__float_style_t;

typedef struct gantry__number_style_t {
    gantry_dtype_t dtype;
    int32_t width; /* integers */
    gantry__float_style_t real, imaginary;
} gantry__number_style_t;

/* precision: the most digits after the point, 0 to 32. suppress: NumPy's option of this name. */
void gantry__number_style_init(gantry__number_style_t *style, gantry_dtype_t dtype,
                               int32_t precision, bool suppress);
void gantry__number_style_look(gantry__number_style_t *style, const void *element);
void gantry__number_style_fit(gantry__number_style_t *style);
void gantry__number_style_measure(gantry__number_style_t *style, const void *element);
void gantry__number_style_finish(gantry__number_style_t *style);
/* Returns the length. */
size_t gantry__number_style_write(const gantry__number_style_t *style, const void *element,
                                  char out[GANTRY__NUMBER_CHARS]);

/* Writes one number by itself, as Python's str() writes NumPy's scalar. Returns the length. */
size_t gantry__number_write_scalar(gantry_dtype_t dtype, const void *element,
                                   char out[GANTRY__NUMBER_CHARS]);
/* Writes one number of bfloat16 or a float8 as ml_dtypes does, whose types NumPy and TensorFlow
 * print: %.6g of C. Returns the length. */
size_t gantry__number_write_general(gantry_dtype_t dtype, const void *element,
                                    char out[GANTRY__NUMBER_CHARS]);

#endif
