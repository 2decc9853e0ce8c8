/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Tensors print as NumPy 2.4 prints them, in all recorded cases.
 * Promise: With as_tensorflow, tensors of all types print as TensorFlow prints them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "failing_heap.h"
#include "golden_file.h"
#include "io/tensor_format.h"
#include "test.h"

/* An array of 0, step, 2 step... */
static void *make_ramp(const golden_tensor_t *like, double step) {
    const size_t count = (size_t)gantry_shape_elements(&like->shape);
    int32_t *ints = malloc(count * sizeof *ints + 1);
    assert_non_null(ints);
    float *floats = (float *)(void *)ints;
    for (size_t i = 0; i < count; ++i) {
        double value = (double)i * step;
        if (like->dtype == GANTRY_INT32) {
            ints[i] = (int32_t)value;
        } else {
            floats[i] = (float)value;
        }
    }
    return ints;
}

/* 0: the default */
static int64_t option_of(const golden_case_t *item, const char *name) {
    const golden_attr_t *attr = golden_find_attr(item, name);
    return attr ? attr->int_value : 0;
}

/* A type without numbers in golden files has them as bytes; complex128 as pairs of float64. */
static void retype(const golden_case_t *item, golden_tensor_t *given) {
    const golden_attr_t *type = golden_find_attr(item, "type");
    if (!type) return;
    given->dtype = type->type_value;
    given->shape.rank -= given->dtype == GANTRY_COMPLEX128;
}

static bool prints_recorded_text(const golden_case_t *item) {
    const golden_tensor_t *given = &item->inputs[0];
    const golden_attr_t *step = golden_find_attr(item, "step");
    const gantry__format_options_t options = {
        .precision = (int32_t)option_of(item, "precision"),
        .threshold = option_of(item, "threshold"),
        .edge_items = (int32_t)option_of(item, "edgeitems"),
        .line_width = (int32_t)option_of(item, "linewidth"),
        .suppress = golden_find_attr(item, "suppress"),
        .as_tensorflow = golden_find_attr(item, "as_tensorflow")};
    void *ramp = step ? make_ramp(given, step->float_value) : NULL;
    gantry__text_t text;
    gantry__text_init(&text, &gantry__heap_default);
    size_t length = gantry__format_array(given->dtype, &given->shape, ramp ? ramp : given->data,
                                         &options, &text);
    free(ramp);
    assert_int_equal(length, text.length);
    const bool is_right = strcmp(gantry__text_get(&text), item->text) == 0;
    if (!is_right)
        print_error("%s %s:\n%s\nshould be\n%s\n", gantry_dtype_name(given->dtype), item->name,
                    gantry__text_get(&text), item->text);
    gantry__text_deinit(&text);
    return is_right;
}

TEST(text_of_every_case_is_the_recorded_one) {
    size_t wrong = 0;
    golden_file_t file;
    golden_file_open("formats.json", &file);
    for (size_t i = 0; i < file.case_count; ++i) {
        retype(&file.cases[i], &file.cases[i].inputs[0]);
        wrong += !prints_recorded_text(&file.cases[i]);
    }
    assert_int_equal(wrong, 0);
    assert_true(file.case_count > 400);
    golden_free(&file);
}

TEST(no_options_means_numpys_defaults) {
    gantry__text_t text;
    gantry__text_init(&text, &gantry__heap_default);
    const float values[4] = {22, 28, 49, 64};
    gantry__text_append(&text, "c = ");
    size_t length = gantry__format_array(GANTRY_FLOAT32, &GANTRY_SHAPE(2, 2), values, NULL, &text);
    assert_string_equal(gantry__text_get(&text), "c = [[22. 28.]\n [49. 64.]]");
    assert_int_equal(length, strlen("[[22. 28.]\n [49. 64.]]"));
    gantry__text_deinit(&text);
}

TEST(bfloat16_prints_its_own_shortest_digits) {
    gantry__text_t text;
    gantry__text_init(&text, &gantry__heap_default);
    const uint16_t values[3] = {0x3f80, 0x3dcd, 0xc049}; /* 1, 0.1 to 8 bits, -3.140625 */
    gantry__format_array(GANTRY_BFLOAT16, &GANTRY_SHAPE(3), values, NULL, &text);
    assert_string_equal(gantry__text_get(&text), "[ 1.    0.1  -3.14]");
    gantry__text_deinit(&text);
}

TEST(bad_type_or_shape_is_said_so) {
    gantry__text_t text;
    gantry__text_init(&text, &gantry__heap_default);
    const float value = 1;
    gantry_shape_t nine = {.rank = 9};
    gantry__format_array(GANTRY_DTYPE_NONE, &GANTRY_SCALAR, &value, NULL, &text);
    gantry__format_array((gantry_dtype_t)99, &GANTRY_SHAPE(1), &value, NULL, &text);
    gantry__format_array(GANTRY_FLOAT32, &nine, &value, NULL, &text);
    gantry__format_array(GANTRY_FLOAT32, &GANTRY_SHAPE(-1), &value, NULL, &text);
    assert_string_equal(gantry__text_get(&text), "<invalid><invalid><invalid><invalid>");
    gantry__text_deinit(&text);
}

TEST(foolish_options_are_survived) {
    gantry__text_t text;
    gantry__text_init(&text, &gantry__heap_default);
    const double values[3] = {1e-300, 0.1, -1.7976931348623157e308};
    const gantry__format_options_t options[] = {{.precision = INT32_MAX, .line_width = 1},
                                                {.precision = -5, .threshold = -1},
                                                {.edge_items = INT32_MAX, .threshold = 1}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
        assert_true(gantry__format_array(GANTRY_FLOAT64, &GANTRY_SHAPE(3), values, &options[i],
                                         &text) > 10);
    }
    gantry__text_deinit(&text);
}

TEST(memory_running_out_is_sticky) {
    failing_heap_t heap;
    for (long at = 0; at < 3; ++at) {
        gantry__text_t text;
        const float values[200] = {0};
        failing_heap_init(&heap, at);
        gantry__text_init(&text, &heap.heap);
        (void)gantry__format_array(GANTRY_FLOAT32, &GANTRY_SHAPE(200), values, NULL, &text);
        assert_int_equal(gantry__text_status(&text), GANTRY_RESOURCE_EXHAUSTED);
        gantry__text_deinit(&text);
        assert_int_equal(heap.live_blocks, 0);
    }
}

int main(void) { return test_main(); }
