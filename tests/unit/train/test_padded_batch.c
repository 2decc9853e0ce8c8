/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Batches of elements of different sizes are TensorFlow's padded_batch; elements and
 * options that do not fit are refused. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <gantry/gantry.h>
#include <gantry_train/train.h>

#include "test.h"
#include "train_heap.h"

/* ---- elements: words of i + 1 numbers, and a table of i + 1 rows and 3 - i columns ---- */

typedef struct source_t {
    int64_t count, next, odd; /* odd: an element with something else; -1: none */
    gantry_dtype_t dtype;     /* of words */
} source_t;

static gantry_status_t begin(void *user, void **out_state) {
    ((source_t *)user)->next = 0;
    *out_state = user;
    return GANTRY_OK;
}

static gantry_status_t next(void *state, gantry_element_t *element, bool *out_end) {
    source_t *s = state;
    const int64_t i = s->next++, rows = i % 3 + 1, columns = 3 - i % 3;
    const gantry_shape_t length = GANTRY_SHAPE(rows), table = GANTRY_SHAPE(rows, columns);
    *out_end = i == s->count;
    if (*out_end) return GANTRY_OK;
    const gantry_dtype_t dtype = i == s->odd ? GANTRY_UINT8 : s->dtype;
    void *words = gantry_element_component(element, 0, dtype, &length);
    float *cells = gantry_element_component(element, 1, GANTRY_FLOAT32, &table);
    if (!words || !cells) return GANTRY_RESOURCE_EXHAUSTED;
    memset(words, 1, (size_t)rows * gantry_dtype_size(dtype));
    for (int64_t k = 0; dtype == GANTRY_INT32 && k < rows; ++k)
        ((int32_t *)words)[k] = (int32_t)(10 * i + k + 1);
    for (int64_t k = 0; k < rows * columns; ++k) cells[k] = (float)(10 * i + k + 1);
    return GANTRY_OK;
}

static gantry_dataset_t *elements_of(source_t *source) {
    return gantry_dataset_from_callback(
        &(gantry_dataset_source_t){.struct_size = sizeof(gantry_dataset_source_t),
                                   .begin = begin,
                                   .next = next,
                                   .user = source,
                                   .count = source->count});
}

/* ---- batches ---- */

static void expect_array(const gantry_array_t *array, gantry_dtype_t dtype, gantry_shape_t shape,
                         const void *data) {
    assert_int_equal(array->dtype, dtype);
    assert_true(gantry_shape_equal(&array->shape, &shape));
    assert_memory_equal(array->data, data, (size_t)gantry_shape_elements(&shape) * 4);
}

static void expect_next(gantry_dataset_iterator_t *iterator, const gantry_array_t **out) {
    size_t count;
    bool ends;
    if (gantry_dataset_iterator_next(iterator, out, &count, &ends) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_false(ends);
    assert_int_equal(count, 2);
}

static void expect_end(gantry_dataset_iterator_t *iterator) {
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    assert_true(ends);
    gantry_dataset_iterator_release(iterator);
}

static gantry_dataset_iterator_t *iterate(gantry_dataset_t *dataset) {
    gantry_dataset_iterator_t *iterator;
    if (gantry_dataset_iterator_create(dataset, &iterator) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_dataset_release(dataset);
    return iterator;
}

/* The numbers of tf.data.Dataset.padded_batch(2) for the same elements. */
TEST(a_batch_has_the_largest_sizes) {
    source_t source = {.count = 3, .odd = -1, .dtype = GANTRY_INT32};
    const gantry_array_t *batch;
    gantry_dataset_t *dataset = gantry_dataset_padded_batch(elements_of(&source), 2, NULL);
    assert_int_equal(gantry_dataset_cardinality(dataset), 2);
    gantry_dataset_iterator_t *iterator = iterate(dataset);
    expect_next(iterator, &batch);
    expect_array(&batch[0], GANTRY_INT32, GANTRY_SHAPE(2, 2), (int32_t[]){1, 0, 11, 12});
    expect_array(&batch[1], GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 3),
                 (float[]){1, 2, 3, 0, 0, 0, 11, 12, 0, 13, 14, 0});
    expect_next(iterator, &batch);
    expect_array(&batch[0], GANTRY_INT32, GANTRY_SHAPE(1, 3), (int32_t[]){21, 22, 23});
    expect_array(&batch[1], GANTRY_FLOAT32, GANTRY_SHAPE(1, 3, 1), (float[]){21, 22, 23});
    expect_end(iterator);
}

TEST(shapes_and_values_are_the_options) {
    source_t source = {.count = 3, .odd = -1, .dtype = GANTRY_INT32};
    const gantry_shape_t shapes[] = {GANTRY_SHAPE(4), GANTRY_SHAPE(-1, 3)};
    const double values[] = {-1, 0.5};
    const gantry_padded_batch_options_t options = {
        .drop_remainder = true, .shapes = shapes, .values = values, .count = 2};
    const gantry_array_t *batch;
    gantry_dataset_t *dataset = gantry_dataset_padded_batch(elements_of(&source), 2, &options);
    assert_int_equal(gantry_dataset_cardinality(dataset), 1);
    gantry_dataset_iterator_t *iterator = iterate(dataset);
    expect_next(iterator, &batch);
    expect_array(&batch[0], GANTRY_INT32, GANTRY_SHAPE(2, 4),
                 (int32_t[]){1, -1, -1, -1, 11, 12, -1, -1});
    expect_array(&batch[1], GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 3),
                 (float[]){1, 2, 3, 0.5, 0.5, 0.5, 11, 12, 0.5, 13, 14, 0.5});
    expect_end(iterator);
}

/* Rows of arrays have one size, and the batches are those of gantry_dataset_batch. */
TEST(rows_of_arrays_are_padded_to_a_shape) {
    const int32_t rows[] = {1, 2, 3, 4, 5, 6};
    const gantry_array_t array = {GANTRY_INT32, GANTRY_SHAPE(3, 2), rows};
    const gantry_shape_t shape = GANTRY_SHAPE(3);
    const gantry_padded_batch_options_t options = {.shapes = &shape, .count = 1};
    const gantry_array_t *batch;
    size_t count;
    bool ends;
    gantry_dataset_iterator_t *iterator = iterate(gantry_dataset_padded_batch(
        gantry_dataset_skip(gantry_dataset_from_arrays(&array, 1, false), 1), 2, &options));
    assert_int_equal(gantry_dataset_iterator_next(iterator, &batch, &count, &ends), GANTRY_OK);
    expect_array(batch, GANTRY_INT32, GANTRY_SHAPE(2, 3), (int32_t[]){3, 4, 0, 5, 6, 0});
    expect_end(iterator);
}

/* ---- bad input ---- */

static void expect_no_batch(source_t source, const gantry_padded_batch_options_t *options,
                            const char *text) {
    const gantry_array_t *components;
    size_t count;
    bool ends;
    gantry_dataset_iterator_t *iterator =
        iterate(gantry_dataset_padded_batch(elements_of(&source), 2, options));
    gantry_status_t status = GANTRY_OK;
    for (ends = false; status == GANTRY_OK && !ends;)
        status = gantry_dataset_iterator_next(iterator, &components, &count, &ends);
    assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), text);
    gantry_dataset_iterator_release(iterator);
}

TEST(elements_that_do_not_fit_are_refused) {
    const source_t good = {.count = 4, .odd = -1, .dtype = GANTRY_INT32},
                   odd = {.count = 4, .odd = 3, .dtype = GANTRY_INT32},
                   bytes = {.count = 4, .odd = -1, .dtype = GANTRY_UINT8},
                   halves = {.count = 4, .odd = -1, .dtype = GANTRY_FLOAT16};
    const gantry_shape_t small[] = {GANTRY_SHAPE(2), GANTRY_SHAPE(-1, -1)},
                         flat[] = {GANTRY_SHAPE(-1), GANTRY_SHAPE(-1)};
    const double values[] = {0.5, 0}, large[] = {256, 0};
    gantry_padded_batch_options_t o = {.shapes = small, .count = 2};
    expect_no_batch(odd, NULL,
                    "component 0 of element 3 is uint8 [1]; the type and the rank of int32 [3]");
    expect_no_batch(good, &o,
                    "component 0 of element 2 is int32 [3]; the type and the rank of "
                    "int32 [2] are accepted, and no larger size");
    o.shapes = flat;
    expect_no_batch(good, &o, "component 1 of element 0 is float32 [1,3]; the type and the rank");
    o.count = 1;
    expect_no_batch(good, &o, "the options have 1 entries; 2 are accepted");
    o = (gantry_padded_batch_options_t){.values = values, .count = 2};
    expect_no_batch(good, &o, "component 0 has type int32 and the padding value 0.5;");
    expect_no_batch(halves, &o, "component 0 has type float16 and the padding value 0.5;");
    o.values = large;
    expect_no_batch(bytes, &o, "component 0 has type uint8 and the padding value 256;");
}

static void expect_refused(int64_t size, const gantry_padded_batch_options_t *options,
                           const char *text) {
    source_t source = {.count = 4, .odd = -1, .dtype = GANTRY_INT32};
    assert_null(gantry_dataset_padded_batch(elements_of(&source), size, options));
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), text);
}

TEST(options_are_checked) {
    const gantry_shape_t shape = {.rank = GANTRY_MAX_RANK};
    gantry_padded_batch_options_t o = {.shapes = &shape};
    expect_refused(0, NULL, "gantry_dataset_padded_batch: batch_size is 0; 1 and more");
    expect_refused(2, &o, "gantry_dataset_padded_batch: count is 0; the number of components");
    o.count = 17;
    expect_refused(2, &o, "count is 17; the number of components, 1 to 16, is accepted");
    o.count = 1;
    expect_refused(2, &o, "shape 0 has rank 8; 0 to 7 are accepted");
    o.struct_size = 4096;
    expect_refused(2, &o, "gantry_dataset_padded_batch: options: struct_size is 4096");
    assert_null(gantry_dataset_padded_batch(NULL, 2, NULL));
}

static gantry_status_t run_once(void *user) {
    source_t source = {.count = 20, .odd = -1, .dtype = GANTRY_INT32};
    const gantry_array_t *components;
    size_t count;
    bool ends = false;
    gantry_dataset_iterator_t *iterator;
    (void)user;
    gantry_dataset_t *dataset = gantry_dataset_padded_batch(elements_of(&source), 9, NULL);
    if (!dataset) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry_dataset_iterator_create(dataset, &iterator);
    while (status == GANTRY_OK && !ends)
        status = gantry_dataset_iterator_next(iterator, &components, &count, &ends);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
    return status;
}

TEST(batches_without_memory_leak_nothing) {
    assert_true(train_heap_fail_each("padded", run_once, NULL) > 20);
}

static int set_up(void **state) {
    (void)state;
    train_heap_reset(-1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

int main(void) { return test_main_each(set_up, tear_down); }
