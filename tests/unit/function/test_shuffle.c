/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nets of 16 units like those of ShuffleNet, of both versions, take at most four
 * transposes a call, and have the bits of the same nets without the layout pass.
 * Promise: A shuffle of channels after a product of groups or a concat is none of its own, whatever
 * the product's size, with the bias and the activation in the product's node.
 * Promise: A shuffle stays a transpose if its channels have another use, are joined with other
 * images before, or come from groups of another size. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "shuffle_nets.h"
#include "test.h"

/* Returns how many products of groups have a program. */
static uint32_t expect_transposes(shuffle_body_fn *body, gantry_shape_t shape, uint32_t expected) {
    runtime_fixture_t f;
    shuffle_case_t of = {.body = body, .shape = shape};
    runtime_fixture_open(&f, 0);
    shuffle_check(f.runtime, &of);
    const uint32_t is = shuffle_count(&of, "Transpose"),
                   programs = shuffle_count(&of, "_FusedGroupedMatMul");
    if (is != expected) fail_msg("%u transposes, not %u", is, expected);
    shuffle_end_case(&of);
    runtime_fixture_close(&f);
    return programs;
}

TEST(nets_of_both_versions_are_four_transposes_at_most) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    shuffle_check_net(f.runtime, NULL, shuffle_net_1);
    shuffle_check_net(f.runtime, NULL, shuffle_net_2);
    runtime_fixture_close(&f);
}

/* ---- products of groups ---- */

static int64_t groups, columns;
static bool has_program;

/* Images, channels last, whose pixels are multiplied in groups and shuffled. */
static const gantry_tensor_t *shuffle_last(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    const gantry_window_options_t options = {.struct_size = sizeof options};
    const gantry_tensor_t *filter =
        images_numbers(net, GANTRY_SHAPE(1, 1, d[3] / groups, groups * columns));
    x = gantry_conv2d(net->scope, x, filter, &options);
    if (has_program) {
        x = gantry_add(net->scope, x, images_numbers(net, GANTRY_SHAPE(groups * columns)));
        x = gantry_relu(net->scope, x);
    }
    x = gantry_reshape(net->scope, x, GANTRY_SHAPE(d[0], d[1], d[2], groups, columns));
    x = gantry_transpose(net->scope, x, (const int32_t[]){0, 1, 2, 4, 3});
    return gantry_reshape(net->scope, x, GANTRY_SHAPE(d[0] * d[1] * d[2], columns * groups));
}

/* Few and many rows, long sums, narrow groups: each algorithm of the CPU's products. */
TEST(products_of_any_size_are_interleaved) {
    static const int64_t cases[][4] = {/* pixels, groups, depth, columns */
                                       {2, 2, 2, 2},     {3, 3, 5, 7},   {40, 2, 9, 6},
                                       {40, 5, 33, 8},   {9, 4, 300, 9}, {200, 3, 8, 4},
                                       {13, 2, 520, 70}, {64, 7, 1, 3}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; ++i) {
        const int64_t *c = cases[i / 2];
        has_program = i % 2;
        groups = c[1];
        columns = c[3];
        assert_int_equal(expect_transposes(shuffle_last, GANTRY_SHAPE(1, c[0], 1, c[1] * c[2]), 0),
                         has_program);
    }
}

/* ---- what stays ---- */

static const gantry_tensor_t *shuffle_of(images_net_t *net, const gantry_tensor_t *x,
                                         int64_t parts) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    const gantry_tensor_t *apart =
        gantry_reshape(net->scope, x, GANTRY_SHAPE(d[0], d[1], d[2], parts, d[3] / parts));
    return gantry_reshape(net->scope,
                          gantry_transpose(net->scope, apart, (const int32_t[]){0, 1, 2, 4, 3}),
                          *gantry_tensor_shape(x));
}

static const gantry_tensor_t *multiply_groups_of(images_net_t *net, const gantry_tensor_t *x,
                                                 int64_t parts) {
    const gantry_window_options_t options = {.struct_size = sizeof options};
    const int64_t channels = gantry_tensor_shape(x)->dims[3];
    return gantry_conv2d(net->scope, x,
                         images_numbers(net, GANTRY_SHAPE(1, 1, channels / parts, channels)),
                         &options);
}

static const gantry_tensor_t *used_twice(images_net_t *net, const gantry_tensor_t *x) {
    x = gantry_relu(net->scope, multiply_groups_of(net, x, 2));
    return gantry_sub(net->scope, shuffle_of(net, x, 2), x);
}

static const gantry_tensor_t *joined_before(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_tensor_t *y = gantry_add(net->scope, multiply_groups_of(net, x, 2), x);
    return shuffle_of(net, y, 2);
}

static const gantry_tensor_t *of_other_groups(images_net_t *net, const gantry_tensor_t *x) {
    return shuffle_of(net, multiply_groups_of(net, x, 2), 3);
}

/* Numbers along the width of the image are no vector along channels, although as many. */
static const gantry_tensor_t *of_other_vector(images_net_t *net, const gantry_tensor_t *x) {
    x = multiply_groups_of(net, x, 2);
    x = gantry_add(net->scope, x, images_numbers(net, GANTRY_SHAPE(6, 1)));
    return shuffle_of(net, x, 2);
}

static const gantry_tensor_t *of_three_parts(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_tensor_t *parts[] = {x, gantry_neg(net->scope, x), gantry_exp(net->scope, x)};
    return shuffle_of(net, gantry_concat(net->scope, parts, 3, -1), 2);
}

/* Nor are those along the channels of images whose planes have as many elements. */
static const gantry_tensor_t *of_planes(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims, planes = d[0] * d[1] * d[2] / d[3];
    const gantry_tensor_t *inputs[4], *y;
    size_t count = 1;
    x = multiply_groups_of(net, x, 2);
    inputs[0] = gantry_reshape(net->scope, x, GANTRY_SHAPE(planes, d[3], d[3]));
    for (int i = 1; i < 4; ++i) inputs[i] = images_numbers(net, GANTRY_SHAPE(d[3]));
    if (gantry_op_call(net->scope, "NormalizeChannels", inputs, 4, NULL, 0, &y, &count) !=
        GANTRY_OK)
        return NULL;
    return shuffle_of(net, gantry_reshape(net->scope, y, *gantry_tensor_shape(x)), 2);
}

TEST(shuffles_of_other_channels_stay) {
    static shuffle_body_fn *const bodies[] = {used_twice,      joined_before,  of_other_groups,
                                              of_other_vector, of_three_parts, of_planes};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; ++i)
        (void)expect_transposes(bodies[i], GANTRY_SHAPE(2, 3, 6, 6), 1);
}

/* ---- concats ---- */

static const gantry_tensor_t *of_concat(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_tensor_t *parts[] = {x, gantry_neg(net->scope, x), gantry_exp(net->scope, x)};
    x = shuffle_of(net, gantry_concat(net->scope, parts, 3, -1), 3);
    return gantry_mul(net->scope, images_numbers(net, GANTRY_SHAPE(18)), x);
}

static const gantry_tensor_t *of_concat_and_program(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_tensor_t *parts[] = {x, gantry_neg(net->scope, x)};
    x = gantry_concat(net->scope, parts, 2, 3);
    x = gantry_mul(net->scope, images_numbers(net, GANTRY_SHAPE(1, 1, 12)), x);
    x = gantry_maximum(net->scope, gantry_scalar_f32(net->scope, -1), x);
    return shuffle_of(net, x, 2);
}

TEST(concats_are_interleaved) {
    (void)expect_transposes(of_concat, GANTRY_SHAPE(2, 3, 5, 6), 0);
    (void)expect_transposes(of_concat_and_program, GANTRY_SHAPE(2, 3, 5, 6), 0);
}

/* ---- vectors that no trace knows ---- */

static const gantry_tensor_t *of_argument(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t begin[] = {0, 0, 0, 0}, sizes[] = {1, 1, 1, 6};
    const gantry_tensor_t *bias = gantry_slice(net->scope, x, begin, sizes);
    return shuffle_of(net, gantry_add(net->scope, bias, multiply_groups_of(net, x, 2)), 2);
}

/* Its bias is shuffled in each call. */
TEST(a_bias_that_is_no_constant_is_shuffled) {
    (void)expect_transposes(of_argument, GANTRY_SHAPE(2, 3, 5, 6), 1);
}

static const gantry_tensor_t *of_two_arguments(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t begin[] = {0, 0, 0, 0}, sizes[] = {1, 1, 1, 6};
    const gantry_tensor_t *bias = gantry_slice(net->scope, x, begin, sizes), *y;
    y = gantry_mul(net->scope, multiply_groups_of(net, x, 2), gantry_exp(net->scope, bias));
    return shuffle_of(net, gantry_add(net->scope, y, bias), 2);
}

/* Two launches take longer than the transpose of a small image. */
TEST(two_vectors_that_are_no_constants_are_shuffled_for_large_images) {
    (void)expect_transposes(of_two_arguments, GANTRY_SHAPE(2, 3, 5, 6), 1);
    (void)expect_transposes(of_two_arguments, GANTRY_SHAPE(1, 110, 100, 6), 2);
}

/* ---- explanations, memory that runs out ---- */

TEST(the_explanation_names_shuffles) {
    static char text[1 << 14];
    runtime_fixture_t f;
    shuffle_case_t of = {.body = of_concat, .shape = GANTRY_SHAPE(2, 3, 5, 6)};
    runtime_fixture_open(&f, 0);
    shuffle_check(f.runtime, &of);
    assert_int_equal(
        gantry_function_explain(of.functions[0], GANTRY_EXPLAIN_JSON, text, sizeof text, NULL),
        GANTRY_OK);
    assert_non_null(strstr(text, "\"cancelled\":[\"Transpose\"]"));
    shuffle_end_case(&of);
    runtime_fixture_close(&f);
}

/* Its ops do not ask for shapes, because a result may be missing. */
static void starving(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const gantry_window_options_t options = {.struct_size = sizeof options};
    const gantry_tensor_t *filter = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 1, 2, 4)),
                          *vector = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4));
    (void)user;
    const gantry_tensor_t *x = gantry_conv2d(scope, inputs[0], filter, &options), *parts[2];
    x = gantry_relu(scope, gantry_add(scope, x, vector));
    x = gantry_reshape(scope, x, GANTRY_SHAPE(1, 3, 3, 2, 2));
    x = gantry_transpose(scope, x, (const int32_t[]){0, 1, 2, 4, 3});
    parts[0] = parts[1] = gantry_reshape(scope, x, GANTRY_SHAPE(9, 4));
    x = gantry_reshape(scope, gantry_concat(scope, parts, 2, 1), GANTRY_SHAPE(9, 2, 4));
    outputs[0] = gantry_transpose(scope, x, (const int32_t[]){0, 2, 1});
}

static gantry_status_t trace_starving(gantry_scope_t *scope) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(1, 3, 3, 4)};
    gantry_function_t *function;
    const gantry_status_t status =
        gantry_function_trace(scope->runtime, "f", starving, NULL, &input, 1, 1, NULL, &function);
    if (status == GANTRY_OK) gantry_function_release(function);
    return status;
}

TEST(nothing_leaks_when_memory_runs_out_in_the_pass) {
    runtime_fixture_starve_each(0, NULL, trace_starving);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
