/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Tensors print as NumPy 2.4 prints them, in all recorded cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/failure.h"
#include "failing_heap.h"
#include "io/tensor_format.h"

/* An array and NumPy's text for it. Its elements are `bits`, or 0, step, 2 step... if that is
 * NULL. */
typedef struct format_case_t {
    const char *name;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    const void *bits;
    double step;
    gantry__format_options_t options;
    const char *text;
} format_case_t;

#include "format_cases.inc"

static void *make_ramp(const format_case_t *row, size_t count) {
    int32_t *ints = malloc(count * sizeof *ints + 1);
    assert_non_null(ints);
    float *floats = (float *)(void *)ints;
    for (size_t i = 0; i < count; ++i) {
        double value = (double)i * row->step;
        if (row->dtype == GANTRY_INT32) {
            ints[i] = (int32_t)value;
        } else {
            floats[i] = (float)value;
        }
    }
    return ints;
}

static void text_of_every_case_is_numpys(void **state) {
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof format_cases / sizeof format_cases[0]; ++i) {
        const format_case_t *row = &format_cases[i];
        gantry__text_t text;
        gantry__text_init(&text, &gantry__heap_default);
        void *ramp = row->bits ? NULL : make_ramp(row, (size_t)gantry_shape_elements(&row->shape));
        size_t length = gantry__format_array(row->dtype, &row->shape, row->bits ? row->bits : ramp,
                                             &row->options, &text);
        free(ramp);
        assert_int_equal(length, text.length);
        if (strcmp(gantry__text_get(&text), row->text) != 0) {
            print_error("%s %s:\n%s\nshould be\n%s\n", gantry_dtype_name(row->dtype), row->name,
                        gantry__text_get(&text), row->text);
            ++wrong;
        }
        gantry__text_deinit(&text);
    }
    assert_int_equal(wrong, 0);
}

static void no_options_means_numpys_defaults(void **state) {
    (void)state;
    gantry__text_t text;
    gantry__text_init(&text, &gantry__heap_default);
    const float values[4] = {22, 28, 49, 64};
    gantry__text_append(&text, "c = ");
    size_t length = gantry__format_array(GANTRY_FLOAT32, &GANTRY_SHAPE(2, 2), values, NULL, &text);
    assert_string_equal(gantry__text_get(&text), "c = [[22. 28.]\n [49. 64.]]");
    assert_int_equal(length, strlen("[[22. 28.]\n [49. 64.]]"));
    gantry__text_deinit(&text);
}

static void bfloat16_prints_its_own_shortest_digits(void **state) {
    (void)state;
    gantry__text_t text;
    gantry__text_init(&text, &gantry__heap_default);
    const uint16_t values[3] = {0x3f80, 0x3dcd, 0xc049}; /* 1, 0.1 to 8 bits, -3.140625 */
    gantry__format_array(GANTRY_BFLOAT16, &GANTRY_SHAPE(3), values, NULL, &text);
    assert_string_equal(gantry__text_get(&text), "[ 1.    0.1  -3.14]");
    gantry__text_deinit(&text);
}

static void bad_type_or_shape_is_said_so(void **state) {
    (void)state;
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

static void foolish_options_are_survived(void **state) {
    (void)state;
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

static void memory_running_out_is_sticky(void **state) {
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_every_case_is_numpys),
        cmocka_unit_test(no_options_means_numpys_defaults),
        cmocka_unit_test(bfloat16_prints_its_own_shortest_digits),
        cmocka_unit_test(bad_type_or_shape_is_said_so),
        cmocka_unit_test(foolish_options_are_survived),
        cmocka_unit_test(memory_running_out_is_sticky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
