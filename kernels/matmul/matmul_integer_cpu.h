/* SPDX-License-Identifier: Apache-2.0 */
/* Products of small integers of the CPU backend: what the entry point, the loops of each
 * instruction set, and tests share.
 *
 * Elements are packed in words of 32 bits: four bytes, or two numbers of 16 bits, that follow each
 * other along k. A panel has `rows` rows of A (or `columns` columns of B) side by side, and words
 * as the slowest index. A plain panel of A has its rows one after the other. A short panel of B has
 * words of two signed bytes, which the product widens.
 *
 * Owner: the entry point owns packed memory; operands are the call's. Threads: several threads may
 * read a panel at once; each must write a part of C of its own. */
#ifndef GANTRY_KERNELS_MATMUL_INTEGER_CPU_H
#define GANTRY_KERNELS_MATMUL_INTEGER_CPU_H

#include <stdbool.h>

#include "kernels/common/cpu_kernels.h"

/* Lines (rows of A, columns of B) in memory. Strides are in elements. */
typedef struct gantry__integer_lines_t {
    const void *elements;
    int64_t across; /* from a line to the next */
    int64_t along;  /* from an element of a line to the next */
    int32_t dtype;
} gantry__integer_lines_t;

/* The part of C that a panel of A and one of B give. */
typedef struct gantry__integer_part_t {
    int32_t *c;
    int64_t c_row; /* numbers from a row to the next */
    int64_t rows, columns;
    bool add; /* the product is added */
} gantry__integer_part_t;

/* a_row: words from a row of a plain panel to the next. */
typedef void (*gantry__integer_multiply_fn)(const uint32_t *a, int64_t a_row, const void *b,
                                            int64_t words, const gantry__integer_part_t *part);

/* The loops over panels of one width. */
typedef struct gantry__integer_panels_t {
    int64_t rows;    /* lines of an A panel */
    int64_t columns; /* lines of a B panel */
    bool a_is_plain;
    /* Adds to sums the elements of each line of a panel of at least a word. */
    void (*sum_a)(const uint32_t *panel, int64_t words, int32_t *sums);
    void (*sum_b)(const uint32_t *panel, int64_t words, int32_t *sums);
    gantry__integer_multiply_fn multiply;
    gantry__integer_multiply_fn multiply_short; /* of a short panel of B; NULL: there are none */
} gantry__integer_panels_t;

/* The loops for pairs of 8-bit types, or of 16-bit types. */
typedef struct gantry__integer_loops_t {
    int64_t group; /* elements in a word */
    /* With groups of four: whether A's bytes are unsigned. All others are signed. A byte of the
     * other kind is packed with its highest bit inverted, which moves it by 128. */
    bool a_is_unsigned;
    gantry__integer_panels_t panels;
    gantry__integer_panels_t lines; /* panels of one line */
    /* Packs k elements of `count` lines, which may be fewer than the panel's width, as a panel or
     * a plain one. Elements that do not exist are 0. */
    void (*pack)(const gantry__integer_lines_t *lines, int64_t count, int64_t width, bool is_plain,
                 int64_t k, bool inverts, uint32_t *target);
    /* c[j] -= x * a[j] + y * b[j] */
    void (*correct)(int32_t *c, int64_t count, int32_t x, const int32_t *a, int32_t y,
                    const int32_t *b);
} gantry__integer_loops_t;

/* The loops for operands of the size of dtype. has_dots: the processor adds products of four bytes
 * (gantry__cpu_has_dots). */
GANTRY_CPU_DECLARE(const gantry__integer_loops_t *, integer_loops, (int32_t dtype, bool has_dots));

#endif
