/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets of numbers for tests: element i has the components int32 i and float32 [2] {i, -i}.
 * Static; include once. */
#ifndef TESTS_DATASET_CASE_H
#define TESTS_DATASET_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <gantry_train/dataset.h>

#define CASE_MOST 4096

static int32_t case_labels[CASE_MOST];
static float case_features[CASE_MOST][2];

/* The first `count` elements, as rows of arrays. */
static inline gantry_dataset_t *case_rows(int64_t count) {
    for (int32_t i = 0; i < CASE_MOST; ++i) {
        case_labels[i] = i;
        case_features[i][0] = (float)i;
        case_features[i][1] = -(float)i;
    }
    const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(count), case_labels},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(count, 2), case_features}};
    gantry_dataset_t *dataset = gantry_dataset_from_arrays(arrays, 2, false);
    assert_non_null(dataset);
    return dataset;
}

/* The same elements by a callback: user points at their number. */
static inline gantry_status_t case_begin(void *user, void **out_state) {
    int64_t *state = malloc(2 * sizeof *state);
    state[0] = 0;
    state[1] = *(const int64_t *)user;
    *out_state = state;
    return GANTRY_OK;
}

static inline gantry_status_t case_next(void *state, gantry_element_t *element, bool *out_end) {
    int64_t *at = state;
    *out_end = at[0] == at[1];
    if (*out_end) return GANTRY_OK;
    const gantry_shape_t scalar = GANTRY_SCALAR, pair = GANTRY_SHAPE(2);
    int32_t *label = gantry_element_component(element, 0, GANTRY_INT32, &scalar);
    float *features = gantry_element_component(element, 1, GANTRY_FLOAT32, &pair);
    if (!label || !features) return GANTRY_RESOURCE_EXHAUSTED;
    *label = (int32_t)at[0];
    features[0] = (float)at[0];
    features[1] = -(float)at[0];
    ++at[0];
    return GANTRY_OK;
}

static inline void case_end(void *state) { free(state); }

/* count lives as long as the data set. */
static inline gantry_dataset_t *case_elements(int64_t *count) {
    const gantry_dataset_source_t source = {.struct_size = sizeof source,
                                            .begin = case_begin,
                                            .next = case_next,
                                            .end = case_end,
                                            .user = count};
    gantry_dataset_t *dataset = gantry_dataset_from_callback(&source);
    assert_non_null(dataset);
    return dataset;
}

/* Checks that the features belong to the labels, and appends the labels of an element or batch. */
static inline size_t case_labels_of(const gantry_array_t *components, size_t count,
                                    int32_t *labels) {
    assert_int_equal(count, 2);
    assert_int_equal(components[0].dtype, GANTRY_INT32);
    assert_int_equal(components[1].dtype, GANTRY_FLOAT32);
    const int64_t rows = gantry_shape_elements(&components[0].shape);
    assert_int_equal(gantry_shape_elements(&components[1].shape), 2 * rows);
    assert_int_equal(components[1].shape.rank, components[0].shape.rank + 1);
    for (int64_t i = 0; i < rows; ++i) {
        labels[i] = ((const int32_t *)components[0].data)[i];
        assert_true(((const float *)components[1].data)[2 * i] == (float)labels[i]);
        assert_true(((const float *)components[1].data)[2 * i + 1] == -(float)labels[i]);
    }
    return (size_t)rows;
}

/* One pass: all labels, at most CASE_MOST, and the number of elements. Returns the pass's
 * status. */
static inline gantry_status_t case_pass(gantry_dataset_t *dataset, int32_t *labels,
                                        size_t *out_labels, size_t *out_elements) {
    gantry_dataset_iterator_t *iterator = NULL;
    *out_labels = *out_elements = 0;
    gantry_status_t status = gantry_dataset_iterator_create(dataset, &iterator);
    while (status == GANTRY_OK) {
        const gantry_array_t *components;
        size_t count;
        bool ends;
        status = gantry_dataset_iterator_next(iterator, &components, &count, &ends);
        if (status != GANTRY_OK || ends) break;
        assert_true(*out_labels < CASE_MOST);
        *out_labels += case_labels_of(components, count, labels + *out_labels);
        ++*out_elements;
    }
    gantry_dataset_iterator_release(iterator);
    return status;
}

#endif
