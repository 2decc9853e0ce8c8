/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The C functions of ops_window.h turn their options into the right attributes.
 *
 * Golden files check the ops' results. */
#include <string.h>

#include "cpu_scope.h"
#include "test.h"

/* 1, 2, 3, ... */
static const gantry_tensor_t *counted(const cpu_scope_t *f, gantry_shape_t shape) {
    float values[256];
    const int64_t count = gantry_shape_elements(&shape);
    assert_in_range(count, 0, 256);
    for (int64_t i = 0; i < count; ++i) values[i] = (float)(i + 1);
    return gantry_constant(f->scope, GANTRY_FLOAT32, shape, values, (size_t)count * sizeof *values);
}

static void check(const cpu_scope_t *f, const gantry_tensor_t *got, gantry_shape_t shape,
                  const float *wanted) {
    float values[256];
    if (!got) fail_msg("%s", gantry_scope_message(f->scope));
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), &shape));
    const size_t bytes = gantry_tensor_bytes(got);
    assert_int_equal(gantry_tensor_read(got, values, bytes), GANTRY_OK);
    assert_memory_equal(values, wanted, bytes);
}

TEST(conv2d_without_options_keeps_the_size) {
    const cpu_scope_t *f = *state;
    /* ones over {1..9}: each result sums the 2 x 2 cells to the right and below, cut at the
     * border */
    const float sums[] = {12, 16, 9, 24, 28, 15, 15, 17, 9};
    const float ones[] = {1, 1, 1, 1};
    const gantry_tensor_t *filter =
        gantry_constant(f->scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 1, 1), ones, sizeof ones);
    check(f, gantry_conv2d(f->scope, counted(f, GANTRY_SHAPE(1, 3, 3, 1)), filter, NULL),
          GANTRY_SHAPE(1, 3, 3, 1), sums);
}

TEST(conv2d_with_all_options_does_as_they_say) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t options = {.strides = {2, 1},
                                             .dilations = {1, 2},
                                             .padding = GANTRY_PADDING_EXPLICIT,
                                             .explicit_paddings = {1, 0, 0, 1},
                                             .channels_first = true};
    /* rows -1 + {0, 1} and 1 + {0, 1}; columns c and c + 2 of {1 2 3; 4 5 6; 7 8 9}, followed by
     * one column of 0 */
    const float wanted[] = {4, 2, 26, 13};
    const float ones[] = {1, 1, 1, 1};
    const gantry_tensor_t *filter =
        gantry_constant(f->scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 1, 1), ones, sizeof ones);
    check(f, gantry_conv2d(f->scope, counted(f, GANTRY_SHAPE(1, 1, 3, 3)), filter, &options),
          GANTRY_SHAPE(1, 1, 2, 2), wanted);
}

TEST(depthwise_conv2d_valid_has_outputs_per_channel) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t valid = {.padding = GANTRY_PADDING_VALID};
    const float filter[] = {1, 10, 100, 1000}; /* [1, 1, 2, 2] */
    const float wanted[] = {1, 10, 200, 2000};
    check(f,
          gantry_depthwise_conv2d(f->scope, counted(f, GANTRY_SHAPE(1, 1, 1, 2)),
                                  gantry_constant(f->scope, GANTRY_FLOAT32,
                                                  GANTRY_SHAPE(1, 1, 2, 2), filter, sizeof filter),
                                  &valid),
          GANTRY_SHAPE(1, 1, 1, 4), wanted);
}

TEST(conv2d_transpose_makes_the_larger_image) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t options = {.strides = {2, 2}, .padding = GANTRY_PADDING_VALID};
    const float ones[] = {1, 1, 1, 1};
    const float wanted[] = {1, 1, 2, 2, 1, 1, 2, 2};
    const gantry_tensor_t *filter =
        gantry_constant(f->scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 1, 1), ones, sizeof ones);
    check(f,
          gantry_conv2d_transpose(f->scope, counted(f, GANTRY_SHAPE(1, 1, 2, 1)), filter,
                                  GANTRY_SHAPE(1, 2, 4, 1), &options),
          GANTRY_SHAPE(1, 2, 4, 1), wanted);
}

/* A place adds its number to the 2 x 2 cells that its window has, one row higher. */
TEST(conv2d_transpose_cuts_explicit_padding) {
    const cpu_scope_t *f = *state;
    gantry_window_options_t options = {.padding = GANTRY_PADDING_EXPLICIT,
                                       .explicit_paddings = {1, 0, 0, 1}};
    const float ones[] = {1, 1, 1, 1}, wanted[] = {5, 12, 16, 11, 24, 28, 7, 15, 17};
    const gantry_tensor_t *filter =
        gantry_constant(f->scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 1, 1), ones, sizeof ones);
    const gantry_shape_t last = GANTRY_SHAPE(1, 3, 3, 1), first = GANTRY_SHAPE(1, 1, 3, 3);
    check(f, gantry_conv2d_transpose(f->scope, counted(f, last), filter, last, &options), last,
          wanted);
    options.channels_first = true;
    check(f, gantry_conv2d_transpose(f->scope, counted(f, first), filter, first, &options), first,
          wanted);
    options.explicit_paddings[3] = -1;
    assert_null(gantry_conv2d_transpose(f->scope, counted(f, first), filter, first, &options));
    assert_non_null(strstr(gantry_scope_message(f->scope),
                           "All elements of explicit_paddings must be nonnegative"));
}

TEST(conv1d_takes_the_first_stride_and_dilation) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t options = {
        .strides = {2}, .dilations = {3}, .padding = GANTRY_PADDING_VALID};
    const float ones[] = {1, 1};
    const float wanted[] = {5, 9};
    const gantry_tensor_t *filter =
        gantry_constant(f->scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 1, 1), ones, sizeof ones);
    check(f, gantry_conv1d(f->scope, counted(f, GANTRY_SHAPE(1, 6, 1)), filter, &options),
          GANTRY_SHAPE(1, 2, 1), wanted);
}

TEST(pools_take_windows_and_strides) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t options = {.strides = {1, 2}, .padding = GANTRY_PADDING_VALID};
    const gantry_window_options_t line = {.strides = {2}, .channels_first = true};
    const float most[] = {6, 8}, mean[] = {3.5f, 5.5f}, most_1d[] = {2, 4, 5},
                mean_1d[] = {1.5f, 3.5f, 5};
    const gantry_tensor_t *image = counted(f, GANTRY_SHAPE(1, 2, 4, 1)),
                          *sequence = counted(f, GANTRY_SHAPE(1, 1, 5));
    check(f, gantry_max_pool2d(f->scope, image, 2, 2, &options), GANTRY_SHAPE(1, 1, 2, 1), most);
    check(f, gantry_avg_pool2d(f->scope, image, 2, 2, &options), GANTRY_SHAPE(1, 1, 2, 1), mean);
    check(f, gantry_max_pool1d(f->scope, sequence, 2, &line), GANTRY_SHAPE(1, 1, 3), most_1d);
    check(f, gantry_avg_pool1d(f->scope, sequence, 2, &line), GANTRY_SHAPE(1, 1, 3), mean_1d);
}

TEST(pools_take_onnxs_attributes) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t options = {.struct_size = sizeof options,
                                             .strides = {2, 2},
                                             .dilations = {1, 2},
                                             .padding = GANTRY_PADDING_EXPLICIT,
                                             .explicit_paddings = {1, 0, 0, 1},
                                             .ceil_mode = true,
                                             .count_include_pad = true};
    const gantry_window_options_t line = {.struct_size = sizeof line,
                                          .strides = {2},
                                          .padding = GANTRY_PADDING_EXPLICIT,
                                          .explicit_paddings = {1, 0},
                                          .ceil_mode = true};
    /* rows -1 and 0, then only row 1; columns 0 and 2, then 2 and 4, which is padding */
    const float most[] = {3, 3, 7, 7}, mean[] = {1, 0.75f, 6, 3.5f}, most_1d[] = {1, 3, 4};
    const gantry_tensor_t *image = counted(f, GANTRY_SHAPE(1, 2, 4, 1)),
                          *sequence = counted(f, GANTRY_SHAPE(1, 4, 1));
    check(f, gantry_max_pool2d(f->scope, image, 2, 2, &options), GANTRY_SHAPE(1, 2, 2, 1), most);
    check(f, gantry_avg_pool2d(f->scope, image, 2, 2, &options), GANTRY_SHAPE(1, 2, 2, 1), mean);
    check(f, gantry_max_pool1d(f->scope, sequence, 2, &line), GANTRY_SHAPE(1, 3, 1), most_1d);
}

/* The padding of SAME under a window of 3 with a dilation of 3. */
TEST(padding_may_reach_as_far_as_a_dilated_window) {
    const cpu_scope_t *f = *state;
    gantry_window_options_t options = {.struct_size = sizeof options,
                                       .dilations = {3, 3},
                                       .padding = GANTRY_PADDING_EXPLICIT,
                                       .explicit_paddings = {3, 3, 3, 3}};
    const gantry_tensor_t *image = counted(f, GANTRY_SHAPE(1, 7, 7, 1));
    float explicit_most[49], same_most[49];
    assert_int_equal(gantry_tensor_read(gantry_max_pool2d(f->scope, image, 3, 3, &options),
                                        explicit_most, sizeof explicit_most),
                     GANTRY_OK);
    options.padding = GANTRY_PADDING_SAME;
    assert_int_equal(gantry_tensor_read(gantry_max_pool2d(f->scope, image, 3, 3, &options),
                                        same_most, sizeof same_most),
                     GANTRY_OK);
    assert_memory_equal(explicit_most, same_most, sizeof same_most);
    options.padding = GANTRY_PADDING_EXPLICIT;
    options.explicit_paddings[0] = 7;
    assert_null(gantry_max_pool2d(f->scope, image, 3, 3, &options));
}

TEST(max_pool2d_with_argmax_counts_positions) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t first = {
        .strides = {2, 2}, .padding = GANTRY_PADDING_VALID, .channels_first = true};
    const gantry_tensor_t *outputs[2], *image = counted(f, GANTRY_SHAPE(2, 1, 2, 3));
    const float most[] = {5, 11};
    int64_t at[2];
    assert_int_equal(
        gantry_max_pool2d_with_argmax(f->scope, image, 2, 2, &first, false, false, outputs),
        GANTRY_OK);
    check(f, outputs[0], GANTRY_SHAPE(2, 1, 1, 1), most);
    assert_int_equal(gantry_tensor_read(outputs[1], at, sizeof at), GANTRY_OK);
    assert_true(at[0] == 4 && at[1] == 4);
    assert_int_equal(
        gantry_max_pool2d_with_argmax(f->scope, image, 2, 2, &first, true, true, outputs),
        GANTRY_OK);
    assert_int_equal(gantry_tensor_read(outputs[1], at, sizeof at), GANTRY_OK);
    assert_true(at[0] == 3 && at[1] == 9);
    assert_int_equal(
        gantry_max_pool2d_with_argmax(f->scope, image, 0, 2, &first, false, false, outputs),
        GANTRY_INVALID_ARGUMENT);
    assert_null(outputs[0]);
}

TEST(extract_image_patches_lays_windows_side_by_side) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t valid = {.padding = GANTRY_PADDING_VALID};
    const float wanted[] = {1, 2, 2, 3};
    check(
        f,
        gantry_extract_image_patches(f->scope, counted(f, GANTRY_SHAPE(1, 1, 3, 1)), 1, 2, &valid),
        GANTRY_SHAPE(1, 1, 2, 2), wanted);
}

TEST(a_window_of_no_rows_is_refused) {
    const cpu_scope_t *f = *state;
    assert_null(gantry_max_pool2d(f->scope, counted(f, GANTRY_SHAPE(1, 2, 2, 1)), 0, 2, NULL));
    assert_int_equal(gantry_scope_status(f->scope), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_scope_message(f->scope), "ksize must be positive"));
}

TEST(a_padding_that_does_not_exist_is_refused) {
    const cpu_scope_t *f = *state;
    const gantry_window_options_t options = {.padding = (gantry_padding_t)7};
    const gantry_tensor_t *x = counted(f, GANTRY_SHAPE(1, 2, 2, 1));
    assert_null(gantry_conv2d(f->scope, x, x, &options));
    assert_int_equal(gantry_scope_status(f->scope), GANTRY_INVALID_ARGUMENT);
}

TEST(a_shape_of_too_many_dimensions_is_refused) {
    const cpu_scope_t *f = *state;
    const gantry_tensor_t *x = counted(f, GANTRY_SHAPE(1, 2, 2, 1));
    assert_null(gantry_conv2d_transpose(f->scope, x, x, (gantry_shape_t){.rank = 1000}, NULL));
    assert_non_null(
        strstr(gantry_scope_message(f->scope), "the shape has rank 1000; 0 to 8 is accepted"));
}

int main(void) { return test_main_each(cpu_scope_set_up, cpu_scope_tear_down); }
