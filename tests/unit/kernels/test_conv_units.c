/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: On the CPU a convolution whose filter does not fit a cache, which is cut into units, has
 * the bits of the convolutions with parts of its filter, which are not.
 * Promise: It has them with any padding, however large images with their padding would be.
 * Promise: In a function, with a bias and a Relu and with its channels first, it has the bits of
 * the ops one by one.
 *
 * Arguments: how many convolutions. */
#define _XOPEN_SOURCE 700

#include "random_images.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

enum { PART = 32, MOST_PARTS = 6 }; /* outputs of a part */

static uint32_t count = FEWER_FOR_SANITIZERS(60, 12);

typedef struct units_case_t {
    int64_t images, height, width, channels, outputs;
    int64_t rows, columns; /* of the window */
    gantry_window_options_t options;
} units_case_t;

/* A part's filter has at most 225 KiB, and a whole one at least 256. */
static units_case_t draw(images_net_t *net) {
    units_case_t c = {.options.struct_size = sizeof c.options};
    const bool is_pixel = images_below(net, 4) == 0;
    c.rows = is_pixel ? 1 : 3;
    c.columns = is_pixel ? 1 : 2 + images_below(net, 2);
    c.channels = is_pixel ? 700 + images_below(net, 900) : 120 + images_below(net, 80);
    c.outputs = PART * (4 + images_below(net, MOST_PARTS - 3)) - images_below(net, 8);
    c.images = 1 + images_below(net, 2);
    c.height = 3 + images_below(net, 12);
    c.width = 3 + images_below(net, 12);
    c.options.strides[0] = 1 + images_below(net, 2);
    c.options.strides[1] = is_pixel ? 2 : 1 + images_below(net, 2);
    c.options.dilations[0] = is_pixel ? 1 : 1 + images_below(net, 3) / 2;
    c.options.padding =
        c.height < 5 || images_below(net, 3) ? GANTRY_PADDING_SAME : GANTRY_PADDING_VALID;
    return c;
}

static const gantry_tensor_t *draw_images(images_net_t *net, const units_case_t *c,
                                          uint32_t index) {
    const gantry_shape_t shape = GANTRY_SHAPE(c->images, c->height, c->width, c->channels);
    const gantry_tensor_t *x = images_numbers(net, shape);
    if (index % 4 != 1) return x;
    /* an infinity wherever the number is one of 4001 */
    return gantry_div(net->scope, x, gantry_abs(net->scope, x));
}

static const gantry_tensor_t *by_parts(images_net_t *net, const units_case_t *c,
                                       const gantry_tensor_t *x, const gantry_tensor_t *filter) {
    const gantry_tensor_t *parts[MOST_PARTS];
    const int64_t count_of_parts = (c->outputs + PART - 1) / PART;
    for (int64_t i = 0; i < count_of_parts; ++i) {
        const int64_t begin[] = {0, 0, 0, i * PART}, left = c->outputs - i * PART;
        const int64_t size[] = {c->rows, c->columns, c->channels, left < PART ? left : PART};
        parts[i] = gantry_conv2d(net->scope, x, gantry_slice(net->scope, filter, begin, size),
                                 &c->options);
    }
    return gantry_concat(net->scope, parts, (size_t)count_of_parts, 3);
}

/* NaN at the same places, and equal bits elsewhere. */
static void expect_same(images_net_t *net, const units_case_t *c, const gantry_tensor_t *x,
                        const gantry_tensor_t *y) {
    const size_t bytes = x ? gantry_tensor_bytes(x) : 0;
    if (!x || !y) fail_msg("%s", gantry_scope_message(net->scope));
    float *a = malloc(bytes), *b = malloc(bytes);
    assert_true(a && b);
    assert_int_equal(gantry_tensor_read(x, a, bytes), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(y, b, bytes), GANTRY_OK);
    for (size_t i = 0; i < bytes / sizeof *a; ++i) {
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(isnan(a[i]) && isnan(b[i])))
            fail_msg("%d x %d x %d x %d, window %d x %d to %d: element %zu is %a, expected %a",
                     (int)c->images, (int)c->height, (int)c->width, (int)c->channels, (int)c->rows,
                     (int)c->columns, (int)c->outputs, i, (double)a[i], (double)b[i]);
    }
    free(a);
    free(b);
}

TEST(units_have_the_bits_of_parts_of_the_filter) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (uint32_t i = 0; i < count; ++i) {
        images_net_t net = {.state = 7 + i, .scope = gantry_scope_begin(f.runtime, "cpu:0")};
        const units_case_t c = draw(&net);
        if (i % 3 == 0)
            assert_int_equal(gantry_scope_set_batch_invariant(net.scope, GANTRY_ON), GANTRY_OK);
        const gantry_tensor_t *x = draw_images(&net, &c, i),
                              *filter = images_numbers(
                                  &net, GANTRY_SHAPE(c.rows, c.columns, c.channels, c.outputs));
        expect_same(&net, &c, gantry_conv2d(net.scope, x, filter, &c.options),
                    by_parts(&net, &c, x, filter));
        expect_ended_well(net.scope);
    }
    runtime_fixture_close(&f);
}

/* The bytes of the padded images are 2^64, or more than 2^63. */
TEST(units_do_not_copy_images_with_a_huge_padding) {
    static const int64_t cases[][2] = {{(INT64_C(1) << 26) - 1, 4}, {62000000, 3}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const int64_t step = cases[i][0], rows = cases[i][1], before = 2 * step,
                      after = 2 * step + rows - 4;
        images_net_t net = {.state = 5, .scope = gantry_scope_begin(f.runtime, "cpu:0")};
        const units_case_t c = {.images = 1,
                                .height = 4,
                                .width = 4,
                                .channels = 64,
                                .outputs = 4 * PART,
                                .rows = rows,
                                .columns = rows,
                                .options = {.struct_size = sizeof c.options,
                                            .strides = {step, step},
                                            .padding = GANTRY_PADDING_EXPLICIT,
                                            .explicit_paddings = {before, after, before, after}}};
        const gantry_tensor_t *x = draw_images(&net, &c, 0),
                              *filter =
                                  images_numbers(&net, GANTRY_SHAPE(rows, rows, 64, 4 * PART));
        expect_same(&net, &c, gantry_conv2d(net.scope, x, filter, &c.options),
                    by_parts(&net, &c, x, filter));
        expect_ended_well(net.scope);
    }
    runtime_fixture_close(&f);
}

/* ---- in a function ---- */

static void body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    const units_case_t *c = user;
    images_net_t net = {.state = 3, .scope = scope};
    const gantry_tensor_t *filter = images_numbers(
                              &net, GANTRY_SHAPE(c->rows, c->columns, c->channels, c->outputs)),
                          *bias = images_numbers(&net, GANTRY_SHAPE(c->outputs, 1, 1));
    outputs[0] = gantry_relu(
        scope, gantry_add(scope, gantry_conv2d(scope, inputs[0], filter, &c->options), bias));
}

TEST(units_in_a_function_have_the_bits_of_the_ops) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (uint32_t i = 0; i < count / 2; ++i) {
        images_net_t net = {.state = 9 + i, .scope = gantry_scope_begin(f.runtime, "cpu:0")};
        units_case_t c = draw(&net);
        c.options.channels_first = true;
        const gantry_shape_t shape = GANTRY_SHAPE(c.images, c.channels, c.height, c.width);
        const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, shape};
        const gantry_function_options_t options = {.struct_size = sizeof options};
        const gantry_tensor_t *x = images_numbers(&net, shape), *y[2];
        gantry_function_t *function;
        if (gantry_function_trace(f.runtime, "f", body, &c, &spec, 1, 1, &options, &function) !=
                GANTRY_OK ||
            gantry_function_call(net.scope, function, &x, 1, y, 1) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        body(net.scope, &x, &y[1], &c);
        expect_same(&net, &c, y[0], y[1]);
        gantry_function_release(function);
        expect_ended_well(net.scope);
    }
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) count = (uint32_t)strtoul(argv[1], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
