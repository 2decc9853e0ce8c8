/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Gradients of windows have the same bits with any number of threads, and are those of
 * plain loops: MaxPoolGrad exactly, gradients of convolutions to their rounding. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include <gantry/op.h>

#include <math.h>

/* Images of one row: text of 7 numbers a word. */
enum { BATCH = 9, LENGTH = 302, CHANNELS = 7, TAPS = 5, OUTPUTS = 40, PLACES = LENGTH - TAPS + 1 };

static const int64_t one[] = {1, 1, 1, 1};

static float *make_values(int64_t count, uint32_t seed) {
    float *values = calloc((size_t)count, sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 20) / 1024.0f - 2.0f; /* with equal ones */
    }
    return values;
}

static const gantry_tensor_t *put(gantry_scope_t *scope, const float *values,
                                  gantry_shape_t shape) {
    return gantry_constant(scope, GANTRY_FLOAT32, shape, values,
                           (size_t)gantry_shape_elements(&shape) * sizeof *values);
}

static const gantry_tensor_t *put_sizes(gantry_scope_t *scope, const int32_t sizes[4]) {
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(4), sizes, 4 * sizeof *sizes);
}

static void call(gantry_scope_t *scope, const char *op, const gantry_tensor_t *const inputs[3],
                 const int64_t *window, const int64_t *strides, float *out, int64_t count) {
    const gantry_attr_value_t attrs[] = {
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = strides},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "VALID"},
        {.name = "ksize", .kind = GANTRY_ATTR_INTS, .i = 4, .list = window}};
    const gantry_tensor_t *result = NULL;
    size_t results = 1;
    if (gantry_op_call(scope, op, inputs, 3, attrs, window ? 3 : 2, &result, &results) !=
            GANTRY_OK ||
        gantry_tensor_read(result, out, (size_t)count * sizeof *out) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

typedef void (*work_fn)(gantry_scope_t *scope, float *out);

/* Runs the work with several numbers of threads; out has the result of all of them. */
static void run_with_threads(work_fn work, float *out, int64_t count) {
    static const int32_t threads[] = {1, 2, 3, 7};
    float *again = calloc((size_t)count, sizeof *again);
    assert_non_null(again);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; ++i) {
        runtime_fixture_t f;
        fake->set_device_count(0);
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        options.cpu_threads = threads[i];
        runtime_fixture_open_with(&f, &options);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        work(scope, i == 0 ? out : again);
        expect_ended_well(scope);
        if (i > 0) assert_memory_equal(again, out, (size_t)count * sizeof *out);
        runtime_fixture_close(&f);
    }
    free(again);
}

/* ---- pools ---- */

enum { POOL_COUNT = BATCH * LENGTH * OUTPUTS, POOL_PLACES = (LENGTH - 3) / 2 + 1 };

static void pool_grad_in(gantry_scope_t *scope, float *out) {
    static const int64_t window[] = {1, 1, 3, 1}, strides[] = {1, 1, 2, 1};
    const gantry_shape_t places = GANTRY_SHAPE(BATCH, 1, POOL_PLACES, OUTPUTS);
    float *x = make_values(POOL_COUNT, 1), *grad = make_values(gantry_shape_elements(&places), 2);
    const gantry_tensor_t *inputs[] = {put(scope, x, GANTRY_SHAPE(BATCH, 1, LENGTH, OUTPUTS)),
                                       put(scope, grad, places), put(scope, grad, places)};
    call(scope, "MaxPoolGrad", inputs, window, strides, out, POOL_COUNT);
    free(x);
    free(grad);
}

TEST(max_pool_grad_is_that_of_plain_loops) {
    float *out = make_values(POOL_COUNT, 0), *x = make_values(POOL_COUNT, 1),
          *grad = make_values(BATCH * POOL_PLACES * OUTPUTS, 2),
          *expected = make_values(POOL_COUNT, 0);
    memset(expected, 0, POOL_COUNT * sizeof *expected);
    for (int64_t i = 0; i < (int64_t)BATCH * POOL_PLACES * OUTPUTS; ++i) {
        const int64_t place = i / OUTPUTS % POOL_PLACES, image = i / OUTPUTS / POOL_PLACES;
        int64_t taken = (image * LENGTH + 2 * place) * OUTPUTS + i % OUTPUTS;
        const int64_t first = taken;
        for (int64_t e = first + OUTPUTS; e <= first + 2 * OUTPUTS; e += OUTPUTS)
            taken = x[e] > x[taken] ? e : taken;
        expected[taken] += grad[i];
    }
    run_with_threads(pool_grad_in, out, POOL_COUNT);
    assert_memory_equal(out, expected, POOL_COUNT * sizeof *out);
    free(out);
    free(x);
    free(grad);
    free(expected);
}

/* ---- convolutions ---- */

enum { FILTER_COUNT = TAPS * CHANNELS * OUTPUTS, IMAGE_COUNT = BATCH * LENGTH * CHANNELS };

static void filter_grad_in(gantry_scope_t *scope, float *out) {
    static const int32_t sizes[] = {1, TAPS, CHANNELS, OUTPUTS};
    float *x = make_values(IMAGE_COUNT, 3), *grad = make_values(BATCH * PLACES * OUTPUTS, 4);
    const gantry_tensor_t *inputs[] = {put(scope, x, GANTRY_SHAPE(BATCH, 1, LENGTH, CHANNELS)),
                                       put_sizes(scope, sizes),
                                       put(scope, grad, GANTRY_SHAPE(BATCH, 1, PLACES, OUTPUTS))};
    call(scope, "Conv2DBackpropFilter", inputs, NULL, one, out, FILTER_COUNT);
    free(x);
    free(grad);
}

static void image_grad_in(gantry_scope_t *scope, float *out) {
    static const int32_t sizes[] = {BATCH, 1, LENGTH, CHANNELS};
    float *filter = make_values(FILTER_COUNT, 5), *grad = make_values(BATCH * PLACES * OUTPUTS, 4);
    const gantry_tensor_t *inputs[] = {put_sizes(scope, sizes),
                                       put(scope, filter, GANTRY_SHAPE(1, TAPS, CHANNELS, OUTPUTS)),
                                       put(scope, grad, GANTRY_SHAPE(BATCH, 1, PLACES, OUTPUTS))};
    call(scope, "Conv2DBackpropInput", inputs, NULL, one, out, IMAGE_COUNT);
    free(filter);
    free(grad);
}

static void expect_near(const float *out, const double *expected, int64_t count, double bound) {
    for (int64_t i = 0; i < count; ++i) {
        if (fabs(out[i] - expected[i]) > bound)
            fail_msg("element %lld is %g, not %g", (long long)i, (double)out[i], expected[i]);
    }
}

/* Adds the gradient of x (is_image) or of the filter, in float64. */
static void add_gradient(const float *factor, const float *grad, bool is_image, double *out) {
    for (int64_t place = 0; place < (int64_t)BATCH * PLACES; ++place) {
        const int64_t pixel = (place / PLACES * LENGTH + place % PLACES) * CHANNELS;
        for (int64_t e = 0; e < TAPS * CHANNELS; ++e) {
            for (int64_t o = 0; o < OUTPUTS; ++o) {
                const double value = grad[place * OUTPUTS + o];
                if (is_image) {
                    out[pixel + e] += value * factor[e * OUTPUTS + o];
                } else {
                    out[e * OUTPUTS + o] += value * factor[pixel + e];
                }
            }
        }
    }
}

static void check_gradient(work_fn work, int64_t count, int64_t other_count, uint32_t seed,
                           bool is_image) {
    float *out = make_values(count, 0), *factor = make_values(other_count, seed),
          *grad = make_values(BATCH * PLACES * OUTPUTS, 4);
    double *expected = calloc((size_t)count, sizeof *expected);
    assert_non_null(expected);
    add_gradient(factor, grad, is_image, expected);
    run_with_threads(work, out, count);
    expect_near(out, expected, count, 0.02);
    free(out);
    free(factor);
    free(grad);
    free(expected);
}

TEST(conv_filter_gradient_is_that_of_plain_loops) {
    check_gradient(filter_grad_in, FILTER_COUNT, IMAGE_COUNT, 3, false);
}

TEST(conv_image_gradient_of_few_channels_is_that_of_plain_loops) {
    check_gradient(image_grad_in, IMAGE_COUNT, FILTER_COUNT, 5, true);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
