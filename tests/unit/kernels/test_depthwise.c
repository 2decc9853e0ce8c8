/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A depthwise convolution of any size has the bits of plain loops: rows of a window that
 * stay in registers, places in groups, channels in vectors that overlap, and borders.
 * Promise: So has one whose channels come first, which sums planes, several small ones at once.
 * Promise: A convolution of single pixels in groups of channels equals plain loops. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "runtime_fixture.h"
#include "test.h"

#include <gantry/op.h>

typedef struct depthwise_t {
    int height, width, channels; /* of the image */
    int rows, columns;           /* of the window */
    int step, spread, top, left; /* left is the padding after the columns, too; so is top */
    int step_x, images, depth;   /* of planes; 0: as step, 1, 1 */
    int more;                    /* padding after the columns */
} depthwise_t;

enum { MOST_ELEMENTS = 1 << 18 };

static float image[MOST_ELEMENTS], filter[1 << 14], expected[MOST_ELEMENTS], got[MOST_ELEMENTS];
static float planes[MOST_ELEMENTS]; /* the image with its channels first */

static uint32_t next_number(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void make_numbers(float *values, int count, uint32_t *seed) {
    for (int i = 0; i < count; ++i) values[i] = (float)next_number(seed) / 8388608.0f - 1.0f;
}

static int places_of(int size, int window, int step, int spread, int padding) {
    const int spare = size + 2 * padding - (window - 1) * spread - 1;
    return spare < 0 ? 0 : spare / step + 1;
}

static int step_x_of(const depthwise_t *d) { return d->step_x > 0 ? d->step_x : d->step; }
static int images_of(const depthwise_t *d) { return d->images > 0 ? d->images : 1; }
static int filters_of(const depthwise_t *d) { return d->channels * (d->depth > 0 ? d->depth : 1); }

/* Of filter number `own` of image number `at`. */
static float element_of(const depthwise_t *d, int at, int y, int x, int own) {
    const int filters = filters_of(d), channel = own / (filters / d->channels);
    float sum = 0;
    for (int r = 0; r < d->rows; ++r) {
        const int row = y * d->step - d->top + r * d->spread;
        for (int c = 0; row >= 0 && row < d->height && c < d->columns; ++c) {
            const int column = x * step_x_of(d) - d->left + c * d->spread;
            if (column < 0 || column >= d->width) continue;
            const int pixel = (at * d->height + row) * d->width + column;
            const float product =
                image[pixel * d->channels + channel] * filter[(r * d->columns + c) * filters + own];
            sum += product;
        }
    }
    return sum;
}

static void make_planes(const depthwise_t *d) {
    const int pixels = d->height * d->width, each = pixels * d->channels;
    for (int i = 0; i < images_of(d) * each; ++i) {
        const int pixel = i % each / d->channels, channel = i % d->channels;
        planes[i / each * each + channel * pixels + pixel] = image[i];
    }
}

static void call_depthwise(gantry_scope_t *scope, const depthwise_t *d, bool is_first, int count) {
    const int first = is_first ? 2 : 1, pixels = images_of(d) * d->height * d->width * d->channels;
    int64_t strides[] = {1, 1, 1, 1}, dilations[] = {1, 1, 1, 1}, pads[8] = {0};
    strides[first] = d->step;
    strides[first + 1] = step_x_of(d);
    dilations[first] = dilations[first + 1] = d->spread;
    pads[2 * first] = pads[2 * first + 1] = d->top;
    pads[2 * first + 2] = d->left;
    pads[2 * first + 3] = d->left + d->more;
    const gantry_attr_value_t attrs[] = {
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = strides},
        {.name = "dilations", .kind = GANTRY_ATTR_INTS, .i = 4, .list = dilations},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "EXPLICIT"},
        {.name = "explicit_paddings", .kind = GANTRY_ATTR_INTS, .i = 8, .list = pads},
        {.name = "data_format", .kind = GANTRY_ATTR_STRING, .s = is_first ? "NCHW" : "NHWC"}};
    const gantry_shape_t shape = is_first
                                     ? GANTRY_SHAPE(images_of(d), d->channels, d->height, d->width)
                                     : GANTRY_SHAPE(images_of(d), d->height, d->width, d->channels);
    const gantry_tensor_t *result = NULL;
    const gantry_tensor_t *inputs[] = {
        gantry_constant(scope, GANTRY_FLOAT32, shape, is_first ? planes : image,
                        (size_t)pixels * sizeof *image),
        gantry_constant(scope, GANTRY_FLOAT32,
                        GANTRY_SHAPE(d->rows, d->columns, d->channels, filters_of(d) / d->channels),
                        filter, (size_t)(d->rows * d->columns * filters_of(d)) * sizeof *filter)};
    size_t results = 1;
    if (gantry_op_call(scope, "DepthwiseConv2dNative", inputs, 2, attrs, 5, &result, &results) !=
            GANTRY_OK ||
        gantry_tensor_read(result, got, (size_t)count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_tensor_drop(scope, result);
}

static void check_depthwise(gantry_scope_t *scope, const depthwise_t *d, bool is_first) {
    const int high = places_of(d->height, d->rows, d->step, d->spread, d->top),
              wide = places_of(d->width + d->more, d->columns, step_x_of(d), d->spread, d->left);
    const int filters = filters_of(d), each = high * wide * filters, count = images_of(d) * each;
    if (high < 1 || wide < 1) return;
    assert_true(count <= MOST_ELEMENTS);
    for (int i = 0; i < count; ++i) {
        const int place = is_first ? i % (high * wide) : i % each / filters,
                  own = is_first ? i % each / (high * wide) : i % filters;
        expected[i] = element_of(d, i / each, place / wide, place % wide, own);
    }
    if (is_first) make_planes(d);
    call_depthwise(scope, d, is_first, count);
    for (int i = 0; i < count; ++i) {
        if (memcmp(&got[i], &expected[i], sizeof got[i]) != 0)
            fail_msg(
                "element %d of %d images %dx%dx%d%s, %d filters, window %dx%d, steps %d and %d, "
                "spread %d, padding %d and %d + %d is %g, expected %g",
                i, images_of(d), d->height, d->width, d->channels, is_first ? " in planes" : "",
                filters_of(d), d->rows, d->columns, d->step, step_x_of(d), d->spread, d->top,
                d->left, d->more, (double)got[i], (double)expected[i]);
    }
}

static void check_sizes(bool is_first, uint32_t height, uint32_t width) {
    static const int channels[] = {1, 3, 8, 15, 16, 17, 24, 31, 33, 64, 130, 256};
    runtime_fixture_t f;
    uint32_t seed = 5;
    fake->set_device_count(0);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    for (int i = 0; i < 600; ++i) {
        const int most = 1 + (int)(next_number(&seed) % 3);
        const depthwise_t d = {.height = 1 + (int)(next_number(&seed) % height),
                               .width = 1 + (int)(next_number(&seed) % width),
                               .channels = channels[next_number(&seed) % (is_first ? 4 : 12)],
                               .rows = 1 + (int)(next_number(&seed) % 5),
                               .columns = i % 4 == 0 ? 1 + (int)(next_number(&seed) % 7)
                                                     : 3 + 2 * (int)(next_number(&seed) % 2),
                               .step = most,
                               .spread = next_number(&seed) % 4 == 0 ? 2 : 1,
                               .top = (int)(next_number(&seed) % 3),
                               .left = (int)(next_number(&seed) % 4)};
        make_numbers(image, d.height * d.width * d.channels, &seed);
        make_numbers(filter, d.rows * d.columns * d.channels, &seed);
        if (i % 16 == 5) filter[0] = INFINITY; /* zeros of a padding would make NaN */
        check_depthwise(scope, &d, is_first);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Vectors of 8 and 16 channels, channels that are a multiple of 256, groups of 4 and 8 places. */
TEST(any_size_has_the_bits_of_plain_loops) { check_sizes(false, 9, 31); }

/* Rows and vectors of places that overlap, or are too few. */
TEST(planes_of_any_size_have_the_bits_of_plain_loops) { check_sizes(true, 25, 70); }

static int one_of(uint32_t *seed, int count) { return (int)(next_number(seed) % (uint32_t)count); }

/* Windows of 3 x 3 and 5 x 5 mostly; images narrower than a vector; paddings beyond the windows;
 * planes that a run takes together, with a weight that is not finite among them; tall planes. */
static depthwise_t small_planes(uint32_t *seed, int i) {
    static const int channels[] = {1, 7, 32, 64, 96, 130};
    depthwise_t d = {.height = 1 + one_of(seed, 17),
                     .width = 1 + one_of(seed, i % 5 == 0 ? 40 : 17),
                     .channels = channels[one_of(seed, 6)],
                     .rows = 3 + 2 * one_of(seed, 2),
                     .step = 1 + one_of(seed, 3),
                     .step_x = 1 + one_of(seed, 3),
                     .spread = one_of(seed, 8) == 0 ? 2 : 1,
                     .top = one_of(seed, 7),
                     .left = one_of(seed, i % 3 == 0 ? 7 : 3),
                     .images = 1 + one_of(seed, 2),
                     .depth = 1 + one_of(seed, 2),
                     .more = i % 6 == 0 ? one_of(seed, 30) : one_of(seed, 3)};
    d.columns = one_of(seed, 8) == 0 ? 1 + one_of(seed, 7) : d.rows;
    if (i % 20 == 7) d.height = 300, d.channels = 40, d.width = 5, d.images = d.depth = 1;
    return d;
}

TEST(small_planes_have_the_bits_of_plain_loops) {
    runtime_fixture_t f;
    uint32_t seed = 11;
    fake->set_device_count(0);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    for (int i = 0; i < 400; ++i) {
        const depthwise_t d = small_planes(&seed, i);
        make_numbers(image, images_of(&d) * d.height * d.width * d.channels, &seed);
        make_numbers(filter, d.rows * d.columns * filters_of(&d), &seed);
        if (i % 4 == 1) filter[one_of(&seed, filters_of(&d))] = INFINITY;
        check_depthwise(scope, &d, true);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- pixels in groups ---- */

typedef struct groups_t {
    int pixels, groups, depth, columns; /* channels and outputs of a group */
} groups_t;

static void call_groups(gantry_scope_t *scope, const groups_t *g, gantry_dtype_t dtype) {
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 1, g->pixels, g->groups * g->depth),
                        image, (size_t)(g->pixels * g->groups * g->depth) * sizeof *image);
    const gantry_tensor_t *w =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 1, g->depth, g->groups * g->columns),
                        filter, (size_t)(g->depth * g->groups * g->columns) * sizeof *filter);
    const gantry_tensor_t *y =
        gantry_conv2d(scope, gantry_cast(scope, x, dtype), gantry_cast(scope, w, dtype), NULL);
    y = gantry_cast(scope, y, GANTRY_FLOAT32);
    const size_t bytes = (size_t)(g->pixels * g->groups * g->columns) * sizeof *got;
    if (!y || gantry_tensor_read(y, got, bytes) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
}

/* The numbers are small integers, so that sums are exact in any order. */
static void check_groups(gantry_scope_t *scope, const groups_t *g, uint32_t *seed) {
    const int channels = g->groups * g->depth, outputs = g->groups * g->columns;
    for (int i = 0; i < g->pixels * channels; ++i) image[i] = (float)(next_number(seed) % 9) - 4;
    for (int i = 0; i < g->depth * outputs; ++i) filter[i] = (float)(next_number(seed) % 9) - 4;
    for (int i = 0; i < g->pixels * outputs; ++i) {
        const int pixel = i / outputs, output = i % outputs, group = output / g->columns;
        expected[i] = 0;
        for (int d = 0; d < g->depth; ++d)
            expected[i] +=
                image[pixel * channels + group * g->depth + d] * filter[d * outputs + output];
    }
    static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64};
    for (int t = 0; t < 2; ++t) {
        call_groups(scope, g, types[t]);
        for (int i = 0; i < g->pixels * outputs; ++i) {
            if (got[i] != expected[i])
                fail_msg("%s, %d pixels, %d groups of %d to %d: element %d is %g, expected %g",
                         gantry_dtype_name(types[t]), g->pixels, g->groups, g->depth, g->columns, i,
                         (double)got[i], (double)expected[i]);
        }
    }
}

TEST(pixels_in_groups_equal_plain_loops) {
    static const groups_t cases[] = {{1, 2, 1, 1},  {7, 3, 5, 2},   {50, 4, 8, 16},
                                     {3, 2, 40, 9}, {97, 8, 3, 17}, {200, 2, 64, 33}};
    runtime_fixture_t f;
    uint32_t seed = 7;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) check_groups(scope, &cases[i], &seed);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
