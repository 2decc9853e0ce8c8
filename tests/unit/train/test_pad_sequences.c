/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_pad_sequences gives Keras's numbers, and refuses what its types do not hold.
 * Promise: Sequences from row splits are the rows of a vector, and splits that are none are
 * refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>
#include <gantry_train/dataset.h>

#include "golden_file.h"
#include "test.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static void expect_message(const char *part) {
    if (!strstr(gantry_last_message(), part))
        fail_msg("the message is '%s'; '%s' is expected in it", gantry_last_message(), part);
}

static gantry_sequence_end_t end_of(const golden_case_t *item, const char *name) {
    return strcmp(golden_find_attr(item, name)->string_value, "pre") == 0 ? GANTRY_PRE
                                                                          : GANTRY_POST;
}

enum { MOST_SEQUENCES = 8 };

static void expect_padded(const golden_case_t *item) {
    unsigned char out[256];
    gantry_array_t sequences[MOST_SEQUENCES];
    const golden_tensor_t *wanted = &item->outputs[0];
    const golden_attr_t *given = golden_find_attr(item, "maxlen");
    const gantry_pad_sequences_options_t options = {
        .struct_size = sizeof options,
        .padding = end_of(item, "padding"),
        .truncating = end_of(item, "truncating"),
        .value = golden_find_attr(item, "value")->float_value};
    assert_in_range(item->input_count, 0, MOST_SEQUENCES);
    for (size_t i = 0; i < item->input_count; ++i) {
        const golden_tensor_t *t = &item->inputs[i];
        sequences[i] = (gantry_array_t){t->dtype, t->shape, t->bytes ? t->data : NULL};
    }
    const int64_t maxlen =
        given ? given->int_value : gantry_longest_sequence(sequences, item->input_count);
    assert_int_equal(maxlen, wanted->shape.dims[1]);
    assert_true(wanted->bytes <= sizeof out);
    memset(out, 0xa5, sizeof out);
    assert_int_equal(gantry_pad_sequences(sequences, item->input_count, maxlen, wanted->dtype,
                                          &options, wanted->bytes ? out : NULL, wanted->bytes),
                     GANTRY_OK);
    const unsigned char *bytes = wanted->data;
    for (size_t j = 0; j < wanted->bytes; ++j) {
        if (out[j] != bytes[j])
            fail_msg("%s: %02x in byte %zu; Keras has %02x", item->name, out[j], j, bytes[j]);
    }
    for (size_t j = wanted->bytes; j < COUNT(out); ++j) assert_int_equal(out[j], 0xa5);
}

TEST(padded_sequences_are_those_of_keras) {
    golden_file_t file;
    golden_file_open("keras/pads.json", &file);
    assert_true(file.case_count >= 100);
    for (size_t i = 0; i < file.case_count; ++i) expect_padded(&file.cases[i]);
    golden_free(&file);
}

TEST(defaults_are_those_of_keras) {
    const int32_t numbers[] = {1, 2, 3, 4};
    const gantry_array_t sequences[] = {{GANTRY_INT32, GANTRY_SHAPE(1), numbers},
                                        {GANTRY_INT32, GANTRY_SHAPE(4), numbers}};
    int32_t out[6];
    const int32_t wanted[] = {0, 0, 1, 2, 3, 4};
    assert_int_equal(gantry_pad_sequences(sequences, 2, 3, GANTRY_INT32, NULL, out, sizeof out),
                     GANTRY_OK);
    assert_memory_equal(out, wanted, sizeof out);
    const gantry_pad_sequences_options_t zeros = {0};
    assert_int_equal(gantry_pad_sequences(sequences, 2, 3, GANTRY_INT32, &zeros, out, sizeof out),
                     GANTRY_OK);
    assert_memory_equal(out, wanted, sizeof out);
    assert_int_equal(gantry_pad_sequences(NULL, 0, 3, GANTRY_INT32, NULL, NULL, 0), GANTRY_OK);
    assert_int_equal(gantry_longest_sequence(NULL, 0), 0);
}

TEST(wrong_arguments_are_refused) {
    const int32_t numbers[] = {1, 2, 3, 4};
    gantry_array_t sequence = {GANTRY_INT32, GANTRY_SHAPE(4), numbers};
    int32_t out[3];
#define PAD(maxlen, dtype, options) \
    gantry_pad_sequences(&sequence, 1, maxlen, dtype, options, out, sizeof out)
    assert_int_equal(PAD(-1, GANTRY_INT32, NULL), GANTRY_INVALID_ARGUMENT);
    expect_message("maxlen is -1; 0 and more are accepted");
    assert_int_equal(PAD(4, GANTRY_INT32, NULL), GANTRY_INVALID_ARGUMENT);
    expect_message("out_bytes is 12; the bytes of 1 x 4 elements of 4 each are accepted");
    assert_int_equal(PAD(INT64_MAX, GANTRY_INT32, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(PAD(3, GANTRY_UINT64, NULL), GANTRY_INVALID_ARGUMENT);
    expect_message("dtype is uint64; int8, int16, int32, int64, uint8,");
    assert_int_equal(PAD(3, GANTRY_INT32, &(gantry_pad_sequences_options_t){.value = NAN}),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("value is nan; a number that int32 holds is accepted");
    assert_int_equal(PAD(3, GANTRY_INT32, &(gantry_pad_sequences_options_t){.value = 2147483648.0}),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(PAD(3, GANTRY_INT32,
                         &(gantry_pad_sequences_options_t){.padding = (gantry_sequence_end_t)2}),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("padding is 2; GANTRY_PRE and GANTRY_POST are accepted");
    assert_int_equal(PAD(3, GANTRY_INT32,
                         &(gantry_pad_sequences_options_t){.truncating = (gantry_sequence_end_t)7}),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("truncating is 7");
    assert_int_equal(PAD(3, GANTRY_INT32, &(gantry_pad_sequences_options_t){.struct_size = 400}),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("struct_size is 400");
    sequence.shape = GANTRY_SHAPE(2, 2);
    assert_int_equal(PAD(3, GANTRY_INT32, NULL), GANTRY_INVALID_ARGUMENT);
    expect_message("sequence 0 is int32 [2,2]; a vector of int8, int16");
    sequence = (gantry_array_t){GANTRY_BOOL, GANTRY_SHAPE(2), numbers};
    assert_int_equal(PAD(3, GANTRY_INT32, NULL), GANTRY_INVALID_ARGUMENT);
    sequence = (gantry_array_t){GANTRY_INT32, GANTRY_SHAPE(2), NULL};
    assert_int_equal(PAD(3, GANTRY_INT32, NULL), GANTRY_INVALID_ARGUMENT);
    expect_message("the data of sequence 0 is NULL");
#undef PAD
    assert_int_equal(gantry_pad_sequences(NULL, 1, 3, GANTRY_INT32, NULL, out, sizeof out),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("1 sequences are given at NULL");
    assert_int_equal(gantry_pad_sequences(&sequence, 1, 3, GANTRY_INT32, NULL, NULL, sizeof out),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("out is NULL");
}

TEST(numbers_that_do_not_fit_are_named) {
    const int64_t longs[] = {5, 1LL << 31, 7};
    const float floats[] = {1, 2, 3e9f};
    int32_t out[6];
    const gantry_array_t sequences[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(2), floats},
                                        {GANTRY_INT64, GANTRY_SHAPE(3), longs}};
    assert_int_equal(gantry_pad_sequences(sequences, 2, 3, GANTRY_INT32, NULL, out, sizeof out),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("element 1 of sequence 1 is 2147483648; numbers that int32 holds");
    const gantry_array_t large = {GANTRY_FLOAT32, GANTRY_SHAPE(3), floats};
    assert_int_equal(gantry_pad_sequences(&large, 1, 2, GANTRY_INT32, NULL, out, 8),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("element 2 of sequence 0 is 3000000000");
    /* cut off, it is not converted */
    assert_int_equal(
        gantry_pad_sequences(&large, 1, 2, GANTRY_INT32,
                             &(gantry_pad_sequences_options_t){.truncating = GANTRY_POST}, out, 8),
        GANTRY_OK);
}

/* The last numbers that a type holds, and the first that it does not. */
TEST(ends_of_types_are_exact) {
    static const struct {
        gantry_dtype_t dtype;
        double least, most; /* with a fraction that is cut */
    } rows[] = {{GANTRY_INT8, -128.5, 127.5},
                {GANTRY_UINT8, -0.5, 255.5},
                {GANTRY_INT16, -32768.5, 32767.5},
                {GANTRY_UINT16, -0.5, 65535.5},
                {GANTRY_INT32, -2147483648.5, 2147483647.5},
                {GANTRY_UINT32, -0.5, 4294967295.5},
                {GANTRY_INT64, -9223372036854775808.0, 9223372036854774784.0}};
    for (size_t i = 0; i < COUNT(rows); ++i) {
        double number;
        int64_t out;
        const gantry_array_t sequence = {GANTRY_FLOAT64, GANTRY_SHAPE(1), &number};
        const double beyond[] = {rows[i].least * 2 - 1, rows[i].most * 1.25, NAN, INFINITY};
        const size_t bytes = gantry_dtype_size(rows[i].dtype);
        for (int end = 0; end < 2; ++end) {
            number = end ? rows[i].most : rows[i].least;
            assert_int_equal(
                gantry_pad_sequences(&sequence, 1, 1, rows[i].dtype, NULL, &out, bytes), GANTRY_OK);
        }
        for (size_t k = 0; k < COUNT(beyond); ++k) {
            number = beyond[k];
            assert_int_equal(
                gantry_pad_sequences(&sequence, 1, 1, rows[i].dtype, NULL, &out, bytes),
                GANTRY_INVALID_ARGUMENT);
        }
    }
}

/* ---- row splits ---- */

TEST(rows_of_a_vector_are_sequences) {
    const int32_t numbers[] = {1, 5, 9, 7, 8}, narrow[] = {0, 3, 3, 5};
    const int64_t wide[] = {0, 3, 3, 5};
    const gantry_array_t values = {GANTRY_INT32, GANTRY_SHAPE(5), numbers};
    const gantry_array_t splits[] = {{GANTRY_INT32, GANTRY_SHAPE(4), narrow},
                                     {GANTRY_INT64, GANTRY_SHAPE(4), wide}};
    const int32_t wanted[] = {5, 9, 0, 0, 7, 8};
    for (size_t i = 0; i < COUNT(splits); ++i) {
        gantry_array_t sequences[3];
        int32_t out[6];
        assert_int_equal(gantry_sequences_from_row_splits(&values, &splits[i], sequences, 3),
                         GANTRY_OK);
        assert_int_equal(gantry_longest_sequence(sequences, 3), 3);
        assert_int_equal(gantry_pad_sequences(sequences, 3, 2, GANTRY_INT32, NULL, out, sizeof out),
                         GANTRY_OK);
        assert_memory_equal(out, wanted, sizeof out);
    }
    const gantry_array_t none = {GANTRY_INT8, GANTRY_SHAPE(0), NULL},
                         one_split = {GANTRY_INT64, GANTRY_SHAPE(1), wide};
    assert_int_equal(gantry_sequences_from_row_splits(&none, &one_split, NULL, 0), GANTRY_OK);
}

TEST(row_splits_that_are_none_are_refused) {
    const double numbers[5] = {0};
    const gantry_array_t values = {GANTRY_FLOAT64, GANTRY_SHAPE(5), numbers};
    gantry_array_t sequences[3];
    static const struct {
        int64_t splits[4];
        const char *text;
    } rows[] = {{{1, 3, 4, 5}, "row_splits[0] is 1; 0 to 0 is accepted"},
                {{0, 3, 2, 5}, "row_splits[2] is 2; 3 to 5 is accepted"},
                {{0, 6, 6, 5}, "row_splits[1] is 6; 0 to 5 is accepted"},
                {{0, -1, 2, 5}, "row_splits[1] is -1; 0 to 5 is accepted"},
                {{0, 3, 4, 4}, "row_splits[3] is 4; 5 to 5 is accepted"},
                {{0, 3, 4, INT64_MAX}, "row_splits[3] is 9223372036854775807; 5 to 5"}};
    for (size_t i = 0; i < COUNT(rows); ++i) {
        const gantry_array_t splits = {GANTRY_INT64, GANTRY_SHAPE(4), rows[i].splits};
        assert_int_equal(gantry_sequences_from_row_splits(&values, &splits, sequences, 3),
                         GANTRY_INVALID_ARGUMENT);
        expect_message(rows[i].text);
    }
    const gantry_array_t good = {GANTRY_INT64, GANTRY_SHAPE(4), rows[1].splits};
    const struct {
        const gantry_array_t *values, splits;
        gantry_array_t *out;
        size_t count;
        const char *text;
    } calls[] = {
        {NULL, good, sequences, 3, "values is NULL"},
        {&values,
         {GANTRY_INT64, GANTRY_SHAPE(4), NULL},
         sequences,
         3,
         "data of row_splits is NULL"},
        {&values,
         {GANTRY_INT64, GANTRY_SHAPE(2, 2), numbers},
         sequences,
         3,
         "a vector is accepted"},
        {&values, {GANTRY_UINT32, GANTRY_SHAPE(4), numbers}, sequences, 3, "is uint32 [4]; int32"},
        {&values, good, sequences, 2, "the number of sequences, 2, and one more"},
        {&values, {GANTRY_INT64, GANTRY_SHAPE(0), NULL}, sequences, SIZE_MAX, "is int64 [0]"},
        {&values, good, NULL, 3, "out_sequences is NULL, but count is 3"}};
    for (size_t i = 0; i < COUNT(calls); ++i) {
        assert_int_equal(gantry_sequences_from_row_splits(calls[i].values, &calls[i].splits,
                                                          calls[i].out, calls[i].count),
                         GANTRY_INVALID_ARGUMENT);
        expect_message(calls[i].text);
    }
}

int main(void) { return test_main(); }
