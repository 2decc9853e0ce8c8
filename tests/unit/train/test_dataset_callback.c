/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An element of a wrong form, or a failure, of a callback that makes elements ends the
 * iteration with the callback's text, and the callback is not asked again. */
#include "dataset_case.h"
#include "test.h"

#include <string.h>

#include <gantry/gantry.h>

static int32_t labels[CASE_MOST];

static void expect_message(const char *part) {
    if (!strstr(gantry_last_message(), part))
        fail_msg("the message is '%s'; '%s' is expected in it", gantry_last_message(), part);
}

typedef enum odd_t {
    ODD_SHAPE,
    ODD_TYPE,
    ODD_COUNT,
    ODD_GAP,
    ODD_NOTHING,
    ODD_STATUS,
    ODD_CALL,
    ODD_TEXT,
    ODD_INDEX,
    ODD_RANK
} odd_t;

/* Two elements as usual; the third has something odd. */
typedef struct odd_source_t {
    odd_t odd;
    int made;
} odd_source_t;

static gantry_status_t odd_next(void *state, gantry_element_t *element, bool *out_end) {
    odd_source_t *self = state;
    (void)out_end;
    gantry_shape_t shape = GANTRY_SHAPE(2);
    gantry_dtype_t dtype = GANTRY_FLOAT32;
    size_t index = 0;
    if (self->made++ == 2) {
        switch (self->odd) {
            case ODD_SHAPE: shape = GANTRY_SHAPE(3); break;
            case ODD_TYPE: dtype = GANTRY_INT32; break;
            case ODD_COUNT: (void)gantry_element_component(element, 1, dtype, &shape); break;
            case ODD_GAP: index = 1; break;
            case ODD_NOTHING: return GANTRY_OK;
            case ODD_STATUS: return GANTRY_DATA_LOSS;
            case ODD_CALL: return gantry_pad_sequences(NULL, 0, -1, GANTRY_INT32, NULL, NULL, 0);
            case ODD_TEXT:
                return gantry_element_fail(element, GANTRY_NOT_FOUND, "the image is not there");
            case ODD_INDEX: index = 16; break;
            case ODD_RANK: shape.dims[1] = -4, shape.rank = 2; break;
        }
    }
    float *data = gantry_element_component(element, index, dtype, &shape);
    if (data) memset(data, 0, 8);
    return GANTRY_OK; /* a component that was refused fails the element all the same */
}

TEST(odd_elements_of_callbacks_end_the_iteration) {
    static const struct {
        odd_t odd;
        gantry_status_t status;
        const char *message;
    } rows[] = {
        {ODD_SHAPE, GANTRY_INVALID_ARGUMENT,
         "component 0 of element 2 is float32 [3], and in the first element of its batch it is float32 [2]"},
        {ODD_TYPE, GANTRY_INVALID_ARGUMENT, "is int32 [2]"},
        {ODD_COUNT, GANTRY_INVALID_ARGUMENT, "element 2 has 2 components"},
        {ODD_GAP, GANTRY_INVALID_ARGUMENT, "gave element 2 no component 0"},
        {ODD_NOTHING, GANTRY_INVALID_ARGUMENT, "gave element 2 no component; 1 to 16"},
        {ODD_STATUS, GANTRY_DATA_LOSS,
         "next failed for element 2 with DataLoss: it gave no text to gantry_element_fail"},
        {ODD_CALL, GANTRY_INVALID_ARGUMENT,
         "next failed for element 2 with InvalidArgument: gantry_pad_sequences: maxlen is -1"},
        {ODD_TEXT, GANTRY_NOT_FOUND, "failed for element 2 with NotFound: the image is not there"},
        {ODD_INDEX, GANTRY_INVALID_ARGUMENT, "index is 16; 0 to 15 are accepted"},
        {ODD_RANK, GANTRY_INVALID_ARGUMENT, "component 0 is float32 [2,-4]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        odd_source_t source = {.odd = rows[i].odd};
        gantry_dataset_t *dataset = gantry_dataset_batch(
            gantry_dataset_from_callback(&(gantry_dataset_source_t){
                .struct_size = sizeof(gantry_dataset_source_t), .next = odd_next, .user = &source}),
            10, false);
        size_t count, elements;
        (void)gantry_fail(GANTRY_INTERNAL, "an older text");
        assert_int_equal(case_pass(dataset, labels, &count, &elements), rows[i].status);
        expect_message(rows[i].message);
        gantry_dataset_release(dataset);
    }
}

TEST(a_failure_ends_the_iterator_for_good) {
    odd_source_t source = {.odd = ODD_TEXT};
    gantry_dataset_t *dataset = gantry_dataset_from_callback(&(gantry_dataset_source_t){
        .struct_size = sizeof(gantry_dataset_source_t), .next = odd_next, .user = &source});
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         GANTRY_OK);
    for (int i = 0; i < 2; ++i) {
        (void)gantry_fail(GANTRY_INTERNAL, "another text");
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         GANTRY_NOT_FOUND);
        expect_message("the image is not there");
        assert_false(ends);
        assert_null(components);
    }
    assert_int_equal(source.made, 3);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
}

/* Ends after 7 elements, once. */
static gantry_status_t end_once(void *state, gantry_element_t *element, bool *out_end) {
    int *asked = state;
    const gantry_shape_t scalar = GANTRY_SCALAR;
    *out_end = ++*asked == 8;
    float *number = gantry_element_component(element, 0, GANTRY_FLOAT32, &scalar);
    if (number) *number = (float)*asked;
    return GANTRY_OK;
}

TEST(a_callback_is_not_asked_behind_its_end) {
    int asked = 0;
    gantry_dataset_t *dataset = gantry_dataset_batch(
        gantry_dataset_batch(
            gantry_dataset_from_callback(&(gantry_dataset_source_t){
                .struct_size = sizeof(gantry_dataset_source_t), .next = end_once, .user = &asked}),
            3, true),
        4, false);
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    assert_true(gantry_shape_equal(&components[0].shape, &GANTRY_SHAPE(2, 3)));
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         GANTRY_OK);
        assert_true(ends);
    }
    assert_int_equal(asked, 8);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
}

static gantry_status_t begin_failing(void *user, void **out_state) {
    (void)user;
    *out_state = NULL;
    return GANTRY_UNAVAILABLE;
}

TEST(wrong_sources_are_refused) {
    int64_t five = 5;
    gantry_dataset_source_t source = {.struct_size = sizeof source,
                                      .begin = case_begin,
                                      .next = case_next,
                                      .end = case_end,
                                      .user = &five,
                                      .count = 4};
    size_t count, elements;
    gantry_dataset_t *dataset = gantry_dataset_from_callback(&source);
    assert_int_equal(gantry_dataset_cardinality(dataset), 4);
    assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_INVALID_ARGUMENT);
    expect_message("next gave more than 4 elements; the source's count is 4");
    gantry_dataset_release(dataset);
    source.count = 6;
    dataset = gantry_dataset_from_callback(&source);
    assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_INVALID_ARGUMENT);
    expect_message("next ended after 5 elements; the source's count is 6");
    gantry_dataset_release(dataset);
    source.count = -1;
    assert_null(gantry_dataset_from_callback(&source));
    expect_message("count is -1");
    source.struct_size = sizeof source + 8;
    assert_null(gantry_dataset_from_callback(&source));
    expect_message("struct_size is");
    assert_null(gantry_dataset_from_callback(
        &(gantry_dataset_source_t){.struct_size = sizeof source, .user = &five}));
    expect_message("next is NULL");
    dataset = gantry_dataset_from_callback(&(gantry_dataset_source_t){
        .struct_size = sizeof source, .begin = begin_failing, .next = case_next, .end = case_end});
    assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_UNAVAILABLE);
    expect_message("begin failed with Unavailable");
    gantry_dataset_release(dataset);
}

int main(void) { return test_main(); }
