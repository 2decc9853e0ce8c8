/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Ops of ONNX that draw have the range, the moments and the type that attributes say.
 * Promise: A node that draws draws other numbers in each run, also where its inputs are constants;
 * with a seed it draws the same ones in each new runtime.
 * Promise: Dropout in training drops the share that its ratio says, scales the rest, and its mask
 * says which. */
#define _GNU_SOURCE

#include <math.h>

#include "onnx_fixture.h"

#define COUNT 10000

/* A model of one node, of COUNT elements p = 0.25 (an initializer), and its outputs. */
static onnx_wire_t drawing(const char *op, const char *inputs, const char *outputs,
                           onnx_wire_t *attrs) {
    static float values[COUNT];
    onnx_wire_t graph = {0};
    for (size_t i = 0; i < COUNT; ++i) values[i] = 0.25f;
    onnx_put_node(&graph, op, inputs, outputs, attrs);
    onnx_put_floats(&graph, "p", (const int64_t[]){100, 100}, 2, values);
    onnx_put_floats(&graph, "ratio", NULL, 0, (const float[]){0.75f});
    onnx_put_tensor(&graph, ONNX_TENSOR, "trains", ONNX_BOOL, NULL, 0, &(uint8_t){1}, 1);
    onnx_put_floats(&graph, "logs", (const int64_t[]){1, 3}, 2,
                    (const float[]){0, logf(2), logf(5)});
    onnx_put_value(&graph, ONNX_OUTPUT, "y", 0, NULL);
    if (strchr(outputs, ' ')) onnx_put_value(&graph, ONNX_OUTPUT, "mask", 0, NULL);
    return onnx_model(&graph, 22);
}

static gantry_onnx_model_t *load(const onnx_wire_t *wire) {
    gantry_onnx_model_t *model = NULL;
    if (gantry_onnx_model_load_bytes(onnx_runtime, "drawn.onnx", wire->data, wire->size, NULL,
                                     &model) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return model;
}

/* Runs the model, and reads its outputs as float32. */
static void draw(gantry_onnx_model_t *model, gantry_dtype_t dtype, float *numbers, float *mask) {
    gantry_scope_t *scope = gantry_scope_begin(onnx_runtime, NULL);
    tensor *outputs[2] = {NULL};
    const size_t count = gantry_onnx_model_output_count(model);
    if (gantry_onnx_model_run(model, scope, NULL, 0, outputs, count) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_tensor_dtype(outputs[0]), dtype);
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(gantry_tensor_elements(outputs[i]), COUNT);
        tensor *read = gantry_cast(scope, outputs[i], GANTRY_FLOAT32);
        assert_int_equal(gantry_tensor_read(read, i ? mask : numbers, COUNT * sizeof *numbers),
                         GANTRY_OK);
    }
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static double mean_of(const float *numbers) {
    double sum = 0;
    for (size_t i = 0; i < COUNT; ++i) sum += (double)numbers[i];
    return sum / COUNT;
}

static double deviation_of(const float *numbers) {
    const double mean = mean_of(numbers);
    double sum = 0;
    for (size_t i = 0; i < COUNT; ++i)
        sum += ((double)numbers[i] - mean) * ((double)numbers[i] - mean);
    return sqrt(sum / COUNT);
}

static float first[COUNT], second[COUNT], mask[COUNT];

/* Draws twice, which must differ. */
static void draw_twice(const char *op, const char *inputs, onnx_wire_t *attrs,
                       gantry_dtype_t dtype) {
    onnx_wire_t wire = drawing(op, inputs, "y", attrs);
    gantry_onnx_model_t *model = load(&wire);
    draw(model, dtype, first, NULL);
    draw(model, dtype, second, NULL);
    assert_memory_not_equal(first, second, sizeof first);
    gantry_onnx_model_release(model);
    free(wire.data);
}

static void expect_near(double value, double wanted, double most) {
    if (!(fabs(value - wanted) <= most)) fail_msg("%g, wanted %g", value, wanted);
}

TEST(normal_numbers_have_mean_and_scale) {
    for (int form = 0; form < 3; ++form) {
        onnx_wire_t attrs = {0};
        onnx_put_attr_float(&attrs, "mean", 3);
        onnx_put_attr_float(&attrs, "scale", 2);
        if (form > 0) onnx_put_attr_int(&attrs, "dtype", form == 1 ? 10 : 11);
        if (form < 2) onnx_put_attr_ints(&attrs, "shape", (const int64_t[]){100, 100}, 2);
        draw_twice(form < 2 ? "RandomNormal" : "RandomNormalLike", form < 2 ? "" : "p", &attrs,
                   form == 0   ? GANTRY_FLOAT32
                   : form == 1 ? GANTRY_FLOAT16
                               : GANTRY_FLOAT64);
        expect_near(mean_of(first), 3, 0.1);
        expect_near(deviation_of(first), 2, 0.1);
    }
}

TEST(uniform_numbers_are_between_low_and_high) {
    for (int form = 0; form < 2; ++form) {
        onnx_wire_t attrs = {0};
        onnx_put_attr_float(&attrs, "low", -2);
        onnx_put_attr_float(&attrs, "high", 4);
        if (form == 0) onnx_put_attr_ints(&attrs, "shape", (const int64_t[]){COUNT}, 1);
        draw_twice(form == 0 ? "RandomUniform" : "RandomUniformLike", form == 0 ? "" : "p", &attrs,
                   GANTRY_FLOAT32);
        expect_near(mean_of(first), 1, 0.1);
        expect_near(deviation_of(first), sqrt(3), 0.1);
        for (size_t i = 0; i < COUNT; ++i) assert_true(first[i] >= -2 && first[i] <= 4);
    }
}

TEST(bernoulli_numbers_are_one_with_the_probability) {
    onnx_wire_t attrs = {0};
    onnx_put_attr_int(&attrs, "dtype", ONNX_INT32);
    draw_twice("Bernoulli", "p", &attrs, GANTRY_INT32);
    expect_near(mean_of(first), 0.25, 0.03);
    for (size_t i = 0; i < COUNT; ++i) assert_true(first[i] == 0 || first[i] == 1);
}

TEST(multinomial_classes_have_the_weights_of_their_logarithms) {
    size_t counts[3] = {0};
    onnx_wire_t attrs = {0};
    onnx_put_attr_int(&attrs, "sample_size", COUNT);
    onnx_put_attr_int(&attrs, "dtype", ONNX_INT64);
    draw_twice("Multinomial", "logs", &attrs, GANTRY_INT64);
    for (size_t i = 0; i < COUNT; ++i) ++counts[(size_t)first[i]];
    expect_near((double)counts[0] / COUNT, 1.0 / 8, 0.02);
    expect_near((double)counts[1] / COUNT, 2.0 / 8, 0.02);
    expect_near((double)counts[2] / COUNT, 5.0 / 8, 0.02);
}

TEST(a_seed_begins_the_same_numbers_in_each_runtime) {
    gantry_runtime_t *const before = onnx_runtime;
    onnx_wire_t attrs = {0};
    onnx_put_attr_float(&attrs, "seed", 1.5f);
    onnx_put_attr_ints(&attrs, "shape", (const int64_t[]){COUNT}, 1);
    onnx_wire_t wire = drawing("RandomNormal", "", "y", &attrs);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(gantry_runtime_create(NULL, &onnx_runtime), GANTRY_OK);
        gantry_onnx_model_t *model = load(&wire);
        draw(model, GANTRY_FLOAT32, i == 0 ? first : second, NULL);
        draw(model, GANTRY_FLOAT32, mask, NULL);
        assert_memory_not_equal(second, mask, sizeof mask);
        gantry_onnx_model_release(model);
        gantry_runtime_release(onnx_runtime);
    }
    onnx_runtime = before;
    assert_memory_equal(first, second, sizeof first);
    free(wire.data);
}

TEST(dropout_that_trains_drops_and_scales) {
    onnx_wire_t attrs = {0};
    onnx_put_attr_int(&attrs, "seed", 3);
    onnx_wire_t wire = drawing("Dropout", "p ratio trains", "y mask", &attrs);
    gantry_onnx_model_t *model = load(&wire);
    draw(model, GANTRY_FLOAT32, first, mask);
    expect_near(mean_of(mask), 0.25, 0.03);
    for (size_t i = 0; i < COUNT; ++i) assert_true(first[i] == mask[i]); /* 0.25 / (1 - 0.75) */
    draw(model, GANTRY_FLOAT32, second, mask);
    assert_memory_not_equal(first, second, sizeof first);
    gantry_onnx_model_release(model);
    free(wire.data);
}

int main(void) { return test_main_with(onnx_open, onnx_close, NULL, NULL); }
