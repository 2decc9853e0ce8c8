/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the C functions of the ops that move elements. */
#include <string.h>

#include "conformance.h"

/* A result's elements and their count. */
#define EXPECT(what, tensor, ...)                                           \
    conformance_check_floats(c, what, tensor, (const float[]){__VA_ARGS__}, \
                             sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

static const gantry_tensor_t *six(gantry_scope_t *scope) {
    return gantry_reshape(scope, conformance_iota(scope, 6), GANTRY_SHAPE(2, 3));
}

static void slices_follow_their_masks(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = six(scope);
    const int64_t begin[] = {1, 0}, end[] = {2, 3}, strides[] = {1, 2}, back[] = {-1, -1};
    const gantry_strided_slice_options_t row = {.shrink_axis_mask = 1},
                                         all = {.begin_mask = 3, .end_mask = 3};
    const gantry_strided_slice_options_t column = {.ellipsis_mask = 1, .shrink_axis_mask = 2};
    const gantry_strided_slice_options_t added = {
        .new_axis_mask = 1, .begin_mask = 2, .end_mask = 2};
    EXPECT("x[1:2, 0:3:2]", gantry_strided_slice(scope, x, begin, end, strides, 2, NULL), 3, 5);
    EXPECT("x[1]", gantry_strided_slice(scope, x, begin, end, NULL, 1, &row), 3, 4, 5);
    EXPECT("x[::-1, ::-1]", gantry_strided_slice(scope, x, NULL, NULL, back, 2, &all), 5, 4, 3, 2,
           1, 0);
    EXPECT("x[..., 0]", gantry_strided_slice(scope, x, begin, end, NULL, 2, &column), 0, 3);
    const gantry_tensor_t *y = gantry_strided_slice(scope, x, NULL, NULL, NULL, 2, &added);
    const gantry_shape_t wanted = GANTRY_SHAPE(1, 2, 3);
    CHECK(c, y && gantry_shape_equal(gantry_tensor_shape(y), &wanted),
          "x[None, :] has another shape than [1,2,3]");
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void borders_follow_their_mode(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const int64_t paddings[] = {0, 1, 2, 0};
    const gantry_tensor_t *x = six(scope);
    const gantry_pad_options_t value = {.value = gantry_scalar_f32(scope, 9)};
    const gantry_pad_options_t reflect = {.mode = GANTRY_PAD_REFLECT},
                               symmetric = {.mode = GANTRY_PAD_SYMMETRIC};
    EXPECT("zeros", gantry_pad(scope, x, paddings, NULL), 0, 0, 0, 1, 2, 0, 0, 3, 4, 5, 0, 0, 0, 0,
           0);
    EXPECT("nines", gantry_pad(scope, x, paddings, &value), 9, 9, 0, 1, 2, 9, 9, 3, 4, 5, 9, 9, 9,
           9, 9);
    EXPECT("reflect", gantry_pad(scope, x, paddings, &reflect), 2, 1, 0, 1, 2, 5, 4, 3, 4, 5, 2, 1,
           0, 1, 2);
    EXPECT("symmetric", gantry_pad(scope, x, paddings, &symmetric), 1, 0, 0, 1, 2, 4, 3, 3, 4, 5, 4,
           3, 3, 4, 5);
    EXPECT("no paddings", gantry_pad(scope, x, NULL, NULL), 0, 1, 2, 3, 4, 5);
    const gantry_pad_options_t unknown = {.mode = (gantry_pad_mode_t)7};
    CHECK(c, !gantry_pad(scope, x, paddings, &unknown), "a mode of 7 was accepted");
    conformance_end_scope(c, scope, GANTRY_INVALID_ARGUMENT);
}

static void whole_dimensions_are_moved(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = six(scope);
    const int64_t twice[] = {1, 2}, shifts[] = {1, -1};
    const int32_t both[] = {0, 1}, last = -1;
    EXPECT("tile", gantry_tile(scope, x, twice), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
    EXPECT("reverse", gantry_reverse(scope, x, &last, 1), 2, 1, 0, 5, 4, 3);
    EXPECT("roll", gantry_roll(scope, x, shifts, both, 2), 4, 5, 3, 1, 2, 0);
    const gantry_tensor_t *image =
        gantry_reshape(scope, conformance_iota(scope, 8), GANTRY_SHAPE(1, 2, 4, 1));
    const gantry_tensor_t *deep = gantry_space_to_depth(scope, image, 2, NULL);
    EXPECT("space_to_depth", deep, 0, 1, 4, 5, 2, 3, 6, 7);
    EXPECT("depth_to_space", gantry_depth_to_space(scope, deep, 2, "NHWC"), 0, 1, 2, 3, 4, 5, 6, 7);
    const int64_t block[] = {2, 2}, around[] = {0, 0, 1, 1};
    const gantry_tensor_t *many = gantry_space_to_batch(scope, image, block, 2, around);
    EXPECT("space_to_batch", many, 0, 1, 3, 0, 2, 0, 0, 5, 7, 4, 6, 0);
    EXPECT("batch_to_space", gantry_batch_to_space(scope, many, block, 2, around), 0, 1, 2, 3, 4, 5,
           6, 7);
    EXPECT("batch_to_space, whole", gantry_batch_to_space(scope, many, block, 2, NULL), 0, 0, 1, 2,
           3, 0, 0, 4, 5, 6, 7, 0);
    const int32_t order[] = {2, 0, 1};
    const gantry_tensor_t *p =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(3), order, sizeof order);
    EXPECT("invert_permutation",
           gantry_cast(scope, gantry_invert_permutation(scope, p), GANTRY_FLOAT32), 1, 2, 0);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void matrices_have_diagonals(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = six(scope), *two = conformance_iota(scope, 2);
    const gantry_diagonal_options_t wide = {.columns = 3, .padding = gantry_scalar_f32(scope, 7)};
    const gantry_diagonal_options_t band = {.lower = -1, .upper = 1, .align = "LEFT_LEFT"};
    const gantry_diagonal_options_t second = {.lower = 1, .upper = 1};
    EXPECT("transpose", gantry_matrix_transpose(scope, x), 0, 3, 1, 4, 2, 5);
    EXPECT("band_part", gantry_matrix_band_part(scope, x, 0, 1), 0, 1, 0, 0, 4, 5);
    EXPECT("diag", gantry_matrix_diag(scope, two, NULL), 0, 0, 0, 1);
    EXPECT("wide diag", gantry_matrix_diag(scope, two, &wide), 0, 7, 7, 7, 1, 7);
    EXPECT("diag_part", gantry_matrix_diag_part(scope, x, NULL), 0, 4);
    EXPECT("band", gantry_matrix_diag_part(scope, x, &band), 1, 5, 0, 4, 3, 0);
    EXPECT("set_diag", gantry_matrix_set_diag(scope, x, gantry_neg(scope, two), &second), 0, 0, 2,
           3, 4, -1);
    CHECK(c, !gantry_matrix_transpose(scope, two), "the transpose of a vector was accepted");
    conformance_end_scope(c, scope, GANTRY_INVALID_ARGUMENT);
}

/* A duplicate leaves a hole in the result; the hole must not show the memory's old contents. */
static void no_permutation_is_found_out(conformance_t *c) {
    const int64_t wrong[][3] = {{0, 2, 2}, {0, 3, 1}, {0, -1, 1}, {INT64_MAX, INT64_MIN, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        gantry_scope_t *scope = conformance_scope(c);
        const gantry_tensor_t *x =
            gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(3), wrong[i], sizeof wrong[i]);
        const gantry_tensor_t *y = gantry_invert_permutation(scope, x);
        int64_t got[3];
        const gantry_status_t status =
            y ? gantry_tensor_read(y, got, sizeof got) : gantry_scope_status(scope);
        conformance_check_status(c, "the inverse", status, GANTRY_INVALID_ARGUMENT,
                                 y ? gantry_last_message() : gantry_scope_message(scope),
                                 i ? "not between 0 and" : "duplicated");
        gantry_scope_end(scope);
    }
}

void conformance_run_calls_shape(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"slices_follow_their_masks", slices_follow_their_masks},
        {"borders_follow_their_mode", borders_follow_their_mode},
        {"whole_dimensions_are_moved", whole_dimensions_are_moved},
        {"matrices_have_diagonals", matrices_have_diagonals},
        {"no_permutation_is_found_out", no_permutation_is_found_out},
    };
    conformance_run_checks(c, "shape", checks, sizeof checks / sizeof checks[0]);
}
