/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The gradient of a convolution's filter is that of plain loops on the CPU backend and on
 * a processor through OpenCL (PoCL).
 *
 * The values are small integers, so every order of sums is exact. Neither device makes patches. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>
#include <gantry/op.h>

#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

typedef struct filter_case_t {
    const char *name;
    int64_t batch, height, width, channels; /* of the images */
    int64_t rows, columns, outputs;
    int64_t step, spread;
    int64_t top, left; /* padding on all sides */
} filter_case_t;

static const filter_case_t cases[] = {
    {"texts", 9, 1, 302, 7, 1, 5, 64, 1, 1, 0, 0},
    {"texts of many channels", 6, 1, 148, 64, 1, 3, 32, 1, 1, 0, 0},
    {"borders", 3, 17, 19, 5, 3, 3, 40, 1, 1, 1, 1},
    {"steps", 2, 33, 31, 3, 5, 5, 20, 2, 1, 2, 2},
    {"dilation", 2, 14, 15, 6, 3, 3, 24, 1, 2, 2, 2},
    {"one pixel", 4, 12, 12, 20, 1, 1, 33, 1, 1, 0, 0},
    {"more outputs than are packed at once", 1, 9, 9, 4, 3, 3, 200, 1, 1, 1, 1},
    {"one place", 1, 3, 3, 2, 3, 3, 5, 1, 1, 0, 0},
    {"windows larger than the image", 2, 2, 2, 3, 3, 3, 8, 1, 1, 1, 1},
};

static int64_t places_of(int64_t size, int64_t window, const filter_case_t *c, int64_t padding) {
    return (size + 2 * padding - ((window - 1) * c->spread + 1)) / c->step + 1;
}

static double *make_integers(int64_t count, uint32_t seed) {
    double *values = calloc((size_t)count, sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (double)(seed >> 16 & 3) - 1;
    }
    return values;
}

/* out += the gradient at place (y, x) of an image. */
static void add_place(const filter_case_t *c, const double *image, const double *grad, int64_t y,
                      int64_t x, double *out) {
    for (int64_t r = 0; r < c->rows; ++r) {
        for (int64_t s = 0; s < c->columns; ++s) {
            const int64_t at_y = y * c->step - c->top + r * c->spread,
                          at_x = x * c->step - c->left + s * c->spread;
            if (at_y < 0 || at_y >= c->height || at_x < 0 || at_x >= c->width) continue;
            const double *pixel = image + (at_y * c->width + at_x) * c->channels;
            for (int64_t e = 0; e < c->channels; ++e) {
                double *to = out + ((r * c->columns + s) * c->channels + e) * c->outputs;
                for (int64_t o = 0; o < c->outputs; ++o) to[o] += pixel[e] * grad[o];
            }
        }
    }
}

static void add_plainly(const filter_case_t *c, const double *images, const double *grad,
                        double *out) {
    const int64_t height = places_of(c->height, c->rows, c, c->top),
                  width = places_of(c->width, c->columns, c, c->left);
    for (int64_t place = 0; place < c->batch * height * width; ++place) {
        const int64_t image = place / width / height;
        add_place(c, images + image * c->height * c->width * c->channels, grad + place * c->outputs,
                  place / width % height, place % width, out);
    }
}

static const gantry_tensor_t *put_numbers(gantry_scope_t *scope, const double *values,
                                          gantry_shape_t shape, gantry_dtype_t dtype) {
    return gantry_cast(scope,
                       gantry_constant(scope, GANTRY_FLOAT64, shape, values,
                                       (size_t)gantry_shape_elements(&shape) * sizeof *values),
                       dtype);
}

static void compute(gantry_scope_t *scope, const filter_case_t *c, gantry_dtype_t dtype,
                    const double *images, const double *grad, double *out, size_t bytes) {
    const int32_t sizes[] = {(int32_t)c->rows, (int32_t)c->columns, (int32_t)c->channels,
                             (int32_t)c->outputs};
    const int64_t strides[] = {1, c->step, c->step, 1}, dilations[] = {1, c->spread, c->spread, 1},
                  paddings[] = {0, 0, c->top, c->top, c->left, c->left, 0, 0};
    const gantry_attr_value_t attrs[] = {
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = strides},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "EXPLICIT"},
        {.name = "explicit_paddings", .kind = GANTRY_ATTR_INTS, .i = 8, .list = paddings},
        {.name = "dilations", .kind = GANTRY_ATTR_INTS, .i = 4, .list = dilations}};
    const gantry_tensor_t *inputs[] = {
        put_numbers(scope, images, GANTRY_SHAPE(c->batch, c->height, c->width, c->channels), dtype),
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(4), sizes, sizeof sizes),
        put_numbers(scope, grad,
                    GANTRY_SHAPE(c->batch, places_of(c->height, c->rows, c, c->top),
                                 places_of(c->width, c->columns, c, c->left), c->outputs),
                    dtype)};
    const gantry_tensor_t *result = NULL;
    size_t results = 1;
    if (gantry_op_call(scope, "Conv2DBackpropFilter", inputs, 3, attrs, 4, &result, &results) !=
            GANTRY_OK ||
        gantry_tensor_read(gantry_cast(scope, result, GANTRY_FLOAT64), out, bytes) != GANTRY_OK)
        fail_msg("%s: %s", c->name, gantry_last_message());
}

static void check_case(gantry_runtime_t *runtime, const char *device, const filter_case_t *c,
                       gantry_dtype_t dtype) {
    const int64_t images = c->batch * c->height * c->width * c->channels,
                  places = c->batch * places_of(c->height, c->rows, c, c->top) *
                           places_of(c->width, c->columns, c, c->left),
                  count = c->rows * c->columns * c->channels * c->outputs;
    double *x = make_integers(images, 1), *grad = make_integers(places * c->outputs, 2),
           *out = make_integers(count, 3), *expected = calloc((size_t)count, sizeof *expected);
    assert_non_null(expected);
    add_plainly(c, x, grad, expected);
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    compute(scope, c, dtype, x, grad, out, (size_t)count * sizeof *out);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    for (int64_t i = 0; i < count; ++i) {
        if (out[i] != expected[i])
            fail_msg("%s on %s: element %lld is %g, not %g", c->name, device, (long long)i, out[i],
                     expected[i]);
    }
    free(x);
    free(grad);
    free(out);
    free(expected);
}

static uint64_t calls_of(gantry_runtime_t *runtime, const char *op) {
    uint64_t calls = 0;
    for (size_t i = 0; i < gantry_profile_row_count(runtime); ++i) {
        gantry_profile_row_t row = {.struct_size = sizeof row};
        assert_int_equal(gantry_profile_read(runtime, i, &row), GANTRY_OK);
        if (strcmp(row.op, op) == 0) calls += row.calls;
    }
    return calls;
}

/* With the backends of that list, on that device. */
static void check_all(const char *backends, const char *device, int32_t threads) {
    const size_t count = sizeof cases / sizeof cases[0];
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .backend_path = MODULES,
                                        .backends = backends,
                                        .opencl_cpu_as_gpu = GANTRY_ON,
                                        .soft_placement = GANTRY_OFF,
                                        .cpu_threads = threads,
                                        .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_profile_start(runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    for (size_t i = 0; i < count; ++i) {
        check_case(runtime, device, &cases[i], GANTRY_FLOAT32);
        check_case(runtime, device, &cases[i], GANTRY_FLOAT64);
    }
    assert_int_equal(calls_of(runtime, "_ImagesFilterGradient"), 2 * count);
    assert_int_equal(calls_of(runtime, "ExtractImagePatches"), 0);
    gantry_runtime_release(runtime);
}

TEST(filter_gradients_are_exact_on_the_cpu) {
    check_all("cpu", "/CPU:0", 1);
    check_all("cpu", "/CPU:0", 3);
}

TEST(filter_gradients_are_exact_on_processors_behind_opencl) {
    need_opencl();
    check_all("cpu,opencl", "/GPU:0", 0);
}

int main(void) { return test_main(); }
