/* SPDX-License-Identifier: Apache-2.0 */
/* Checks operands that are parts of a tensor, other shapes of it, or the same tensor twice. A part
 * is a copy or shares elements; another shape always shares them. Results must not depend on
 * sharing. */
#include "conformance.h"

#include <string.h>

/* A result's elements and their count. */
#define EXPECT(what, tensor, ...)                                           \
    conformance_check_floats(c, what, tensor, (const float[]){__VA_ARGS__}, \
                             sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

/* x[i, j, k] = 12 i + 4 j + k */
static const gantry_tensor_t *cube(gantry_scope_t *scope) {
    return gantry_reshape(scope, conformance_iota(scope, 24), GANTRY_SHAPE(2, 3, 4));
}

static void parts_along_the_last_dimension_are_operands(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *halves[2];
    const int32_t middle = 1;
    const gantry_reduce_options_t over_middle = {.axes = &middle, .axis_count = 1};
    gantry_split(scope, cube(scope), 2, halves, 2);
    EXPECT("b - a", gantry_sub(scope, halves[1], halves[0]), 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2);
    EXPECT("sum of a", gantry_sum(scope, halves[0], &over_middle), 12, 15, 48, 51);
    EXPECT("a, reversed", gantry_transpose(scope, halves[0], NULL), 0, 12, 4, 16, 8, 20, 1, 13, 5,
           17, 9, 21);
    EXPECT("b, a", gantry_concat(scope, (const gantry_tensor_t *[]){halves[1], halves[0]}, 2, 2), 2,
           3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 18, 19, 16, 17, 22, 23, 20, 21);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void parts_along_a_middle_dimension_are_operands(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *rows[3];
    const gantry_matmul_options_t by_transposed = {.transpose_b = true};
    gantry_unpack(scope, cube(scope), 1, rows, 3);
    EXPECT("last less first", gantry_sub(scope, rows[2], rows[0]), 8, 8, 8, 8, 8, 8, 8, 8);
    EXPECT("by itself", gantry_matmul(scope, rows[0], rows[0], &by_transposed), 14, 86, 86, 734);
    EXPECT("by its transpose",
           gantry_matmul(scope, rows[0], gantry_transpose(scope, rows[0], NULL), NULL), 14, 86, 86,
           734);
    const gantry_tensor_t *pair[] = {rows[0], rows[0]};
    EXPECT("as Einsum", gantry_einsum(scope, "ik,jk->ij", pair, 2), 14, 86, 86, 734);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void slices_broadcast(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = cube(scope);
    const gantry_tensor_t *box =
        gantry_slice(scope, x, (const int64_t[]){1, 1, 1}, (const int64_t[]){1, 2, 2});
    const gantry_tensor_t *row =
        gantry_slice(scope, x, (const int64_t[]){0, 0, 1}, (const int64_t[]){1, 1, 2});
    const gantry_tensor_t *column =
        gantry_slice(scope, x, (const int64_t[]){0, 1, 0}, (const int64_t[]){1, 2, 1});
    EXPECT("row below", gantry_add(scope, box, row), 18, 20, 22, 24);
    EXPECT("row above", gantry_sub(scope, row, box), -16, -16, -20, -20);
    EXPECT("column right", gantry_add(scope, box, column), 21, 22, 29, 30);
    EXPECT("column left", gantry_sub(scope, column, box), -13, -14, -13, -14);
    EXPECT("row by column", gantry_mul(scope, row, column), 4, 8, 8, 16);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void one_tensor_is_every_operand(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_reshape(scope, conformance_iota(scope, 4), GANTRY_SHAPE(2, 2));
    EXPECT("x + x", gantry_add(scope, x, x), 0, 2, 4, 6);
    EXPECT("x x", gantry_matmul(scope, x, x, NULL), 2, 3, 6, 11);
    EXPECT("x or x", gantry_select(scope, gantry_less(scope, x, x), x, x), 0, 1, 2, 3);
    EXPECT("x, x, x", gantry_concat(scope, (const gantry_tensor_t *[]){x, x, x}, 3, 1), 0, 1, 0, 1,
           0, 1, 2, 3, 2, 3, 2, 3);
    EXPECT("x", x, 0, 1, 2, 3);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void other_shapes_of_a_tensor_leave_it_alone(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_reshape(scope, conformance_iota(scope, 6), GANTRY_SHAPE(2, 3));
    const gantry_tensor_t *flat = gantry_reshape(scope, x, GANTRY_SHAPE(6));
    const gantry_tensor_t *thin = gantry_expand_dims(scope, x, 1);
    const gantry_tensor_t *back = gantry_squeeze(scope, thin, (const int32_t[]){-2}, 1);
    EXPECT("negated", gantry_neg(scope, flat), 0, -1, -2, -3, -4, -5);
    EXPECT("every pair of rows", gantry_sub(scope, thin, back), 0, 0, 0, -3, -3, -3, 3, 3, 3, 0, 0,
           0);
    EXPECT("by its other shape",
           gantry_matmul(scope, x, gantry_reshape(scope, flat, GANTRY_SHAPE(3, 2)), NULL), 10, 13,
           28, 40);
    EXPECT("x", x, 0, 1, 2, 3, 4, 5);
    EXPECT("flat", flat, 0, 1, 2, 3, 4, 5);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void squeeze_refuses_more_axes_than_a_tensor_can_have(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const int32_t axes[GANTRY_MAX_RANK + 1] = {0};
    const gantry_tensor_t *none =
        gantry_squeeze(scope, conformance_iota(scope, 1), axes, GANTRY_MAX_RANK + 1);
    CHECK(c, !none && strstr(gantry_scope_message(scope), "axis_count is 9; at most 8 axes"), "%s",
          gantry_scope_message(scope));
    conformance_end_scope(c, scope, GANTRY_INVALID_ARGUMENT);
}

void conformance_run_views(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"parts_along_the_last_dimension_are_operands",
         parts_along_the_last_dimension_are_operands},
        {"parts_along_a_middle_dimension_are_operands",
         parts_along_a_middle_dimension_are_operands},
        {"slices_broadcast", slices_broadcast},
        {"one_tensor_is_every_operand", one_tensor_is_every_operand},
        {"other_shapes_of_a_tensor_leave_it_alone", other_shapes_of_a_tensor_leave_it_alone},
        {"squeeze_refuses_more_axes_than_a_tensor_can_have",
         squeeze_refuses_more_axes_than_a_tensor_can_have},
    };
    conformance_run_checks(c, "view", checks, sizeof checks / sizeof checks[0]);
}
