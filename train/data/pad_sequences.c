/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <gantry_train/dataset.h>
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/data/element.h"

typedef struct padding_t {
    gantry_pad_sequences_options_t options;
    gantry_dtype_t dtype;
    size_t maxlen;
} padding_t;

/* Where a sequence's kept elements come from and go to. */
typedef struct window_t {
    size_t from, to, count;
} window_t;

static window_t window_of(const padding_t *padding, size_t length) {
    const size_t maxlen = padding->maxlen, count = length < maxlen ? length : maxlen;
    return (window_t){.from = padding->options.truncating == GANTRY_PRE ? length - count : 0,
                      .to = padding->options.padding == GANTRY_PRE ? maxlen - count : 0,
                      .count = count};
}

/* ---- numbers ---- */

/* An integer type's numbers are exact in both, but for those above 2^53 in `real`. */
typedef struct number_t {
    bool is_real;
    double real;
    int64_t integer;
} number_t;

static number_t number_of_integer(int64_t value) {
    return (number_t){.real = (double)value, .integer = value};
}

static number_t number_of_real(double value) { return (number_t){.is_real = true, .real = value}; }

/* Every type that is accepted: CASE(constant, the type in C, what reads one). */
#define EACH_TYPE(CASE)                       \
    CASE(INT8, int8_t, number_of_integer)     \
    CASE(UINT8, uint8_t, number_of_integer)   \
    CASE(INT16, int16_t, number_of_integer)   \
    CASE(UINT16, uint16_t, number_of_integer) \
    CASE(INT32, int32_t, number_of_integer)   \
    CASE(UINT32, uint32_t, number_of_integer) \
    CASE(INT64, int64_t, number_of_integer)   \
    CASE(FLOAT32, float, number_of_real)      \
    CASE(FLOAT64, double, number_of_real)
#define ACCEPTED "int8, int16, int32, int64, uint8, uint16, uint32, float32 or float64"

static bool is_accepted(gantry_dtype_t dtype) {
#define IS_CASE(constant, type, number_of) dtype == GANTRY_##constant ||
    return EACH_TYPE(IS_CASE) false;
}

static number_t get_number(gantry_dtype_t dtype, const void *data, size_t index) {
#define GET_CASE(constant, type, number_of) \
    case GANTRY_##constant: return number_of(((const type *)data)[index]);
    switch (dtype) {
        EACH_TYPE(GET_CASE)
        default: return number_of_integer(0); /* never: is_accepted */
    }
}

/* Whether the number, without its fraction, is one of the integer type of these bytes. */
static bool fits_integer(number_t number, size_t bytes, bool is_unsigned) {
    const int bits = (int)bytes * 8 - !is_unsigned;
    const double end = ldexp(1, bits);
    if (number.is_real)
        return number.real < end &&
               (is_unsigned ? number.real > -1 : number.real > -end - 1 || number.real == -end);
    const int64_t most = bits >= 63 ? INT64_MAX : (INT64_C(1) << bits) - 1;
    return number.integer <= most && number.integer >= (is_unsigned ? 0 : -most - 1);
}

static bool fits_type(number_t number, gantry_dtype_t dtype) {
    if (dtype == GANTRY_FLOAT32 || dtype == GANTRY_FLOAT64) return true;
    return fits_integer(number, gantry_dtype_size(dtype),
                        dtype == GANTRY_UINT8 || dtype == GANTRY_UINT16 || dtype == GANTRY_UINT32);
}

/* The number fits. */
static void pad_sequences_set(gantry_dtype_t dtype, void *data, size_t index, number_t number) {
#define SET_CASE(constant, type, number_of)                                                \
    case GANTRY_##constant:                                                                \
        ((type *)data)[index] = number.is_real ? (type)number.real : (type)number.integer; \
        return;
    switch (dtype) {
        EACH_TYPE(SET_CASE)
        default: return; /* never: is_accepted */
    }
}

/* Returns the index of the first element that does not fit, or count. */
static size_t pad_sequences_put_elements(const gantry_array_t *sequence, size_t from, size_t count,
                                         gantry_dtype_t dtype, void *out) {
    if (count == 0) return 0;
    if (sequence->dtype == dtype) {
        const size_t item = gantry_dtype_size(dtype);
        memcpy(out, (const unsigned char *)sequence->data + from * item, count * item);
        return count;
    }
    for (size_t i = 0; i < count; ++i) {
        const number_t number = get_number(sequence->dtype, sequence->data, from + i);
        if (!fits_type(number, dtype)) return i;
        pad_sequences_set(dtype, out, i, number);
    }
    return count;
}

static void put_value(const padding_t *padding, size_t count, void *out) {
    const number_t number = number_of_real(padding->options.value);
    for (size_t i = 0; i < count; ++i) pad_sequences_set(padding->dtype, out, i, number);
}

/* ---- checks ---- */

static gantry_status_t check_end(gantry_sequence_end_t end, const char *what) {
    if (end == GANTRY_PRE || end == GANTRY_POST) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "gantry_pad_sequences: %s is %d; GANTRY_PRE and GANTRY_POST are accepted", what,
        (int)end);
}

static gantry_status_t check_padding(const padding_t *padding) {
    GANTRY__TRY(check_end(padding->options.padding, "padding"));
    GANTRY__TRY(check_end(padding->options.truncating, "truncating"));
    if (!is_accepted(padding->dtype)) {
        return gantry__train_refuse(NULL,
                                    "gantry_pad_sequences: dtype is %s; " ACCEPTED " is accepted",
                                    gantry_dtype_name(padding->dtype));
    }
    if (fits_type(number_of_real(padding->options.value), padding->dtype)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "gantry_pad_sequences: value is %g; a number that %s holds is accepted",
        padding->options.value, gantry_dtype_name(padding->dtype));
}

static gantry_status_t check_out(size_t count, int64_t maxlen, size_t item, const void *out,
                                 size_t out_bytes) {
    if (maxlen < 0) {
        return gantry__train_refuse(
            NULL, "gantry_pad_sequences: maxlen is %" PRId64 "; 0 and more are accepted", maxlen);
    }
    const bool is_possible = maxlen == 0 || count <= SIZE_MAX / item / (uint64_t)maxlen;
    if (!is_possible || out_bytes != count * (size_t)maxlen * item) {
        return gantry__train_refuse(
            NULL,
            "gantry_pad_sequences: out_bytes is %zu; the bytes of %zu x %" PRId64
            " elements of %zu each are accepted",
            out_bytes, count, maxlen, item);
    }
    if (out || out_bytes == 0) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_pad_sequences: out is NULL");
}

static gantry_status_t check_sequence(const gantry_array_t *sequence, size_t index) {
    if (!is_accepted(sequence->dtype) || sequence->shape.rank != 1 || sequence->shape.dims[0] < 0) {
        return gantry__train_refuse(
            NULL, "gantry_pad_sequences: sequence %zu is %s; a vector of " ACCEPTED " is accepted",
            index, gantry__train_array_text(sequence->dtype, &sequence->shape).text);
    }
    if (sequence->data || sequence->shape.dims[0] == 0) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_pad_sequences: the data of sequence %zu is NULL",
                                index);
}

static gantry_status_t fail_element(const padding_t *padding, const gantry_array_t *sequence,
                                    size_t index, size_t element) {
    const double value = get_number(sequence->dtype, sequence->data, element).real;
    return gantry__train_refuse(
        NULL,
        "gantry_pad_sequences: element %zu of sequence %zu is %.17g; numbers that %s holds are accepted",
        element, index, value, gantry_dtype_name(padding->dtype));
}

/* ---- the public calls ---- */

static gantry_status_t pad_one(const padding_t *padding, const gantry_array_t *sequence,
                               size_t index, unsigned char *row) {
    const size_t item = gantry_dtype_size(padding->dtype);
    const window_t window = window_of(padding, (size_t)sequence->shape.dims[0]);
    const size_t behind = window.to + window.count;
    put_value(padding, window.to, row);
    const size_t done = pad_sequences_put_elements(sequence, window.from, window.count,
                                                   padding->dtype, row + window.to * item);
    if (done < window.count) return fail_element(padding, sequence, index, window.from + done);
    put_value(padding, padding->maxlen - behind, row + behind * item);
    return GANTRY_OK;
}

gantry_status_t gantry_pad_sequences(const gantry_array_t *sequences, size_t count, int64_t maxlen,
                                     gantry_dtype_t dtype,
                                     const gantry_pad_sequences_options_t *options, void *out,
                                     size_t out_bytes) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    padding_t padding = {.dtype = dtype, .maxlen = (size_t)maxlen};
    GANTRY__TRY(gantry__struct_read(options, sizeof padding.options, &padding.options,
                                    sizeof padding.options, "gantry_pad_sequences: options"));
    GANTRY__TRY(check_padding(&padding));
    const size_t item = gantry_dtype_size(dtype);
    GANTRY__TRY(check_out(count, maxlen, item, out, out_bytes));
    if (!sequences && count > 0)
        return gantry__train_refuse(NULL, "gantry_pad_sequences: %zu sequences are given at NULL",
                                    count);
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(check_sequence(&sequences[i], i));
    const size_t row_bytes = padding.maxlen * item;
    if (row_bytes == 0) return GANTRY_OK; /* out may be NULL */
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRY(pad_one(&padding, &sequences[i], i, (unsigned char *)out + i * row_bytes));
    return GANTRY_OK;
}

int64_t gantry_longest_sequence(const gantry_array_t *sequences, size_t count) {
    int64_t longest = 0;
    for (size_t i = 0; sequences && i < count; ++i) {
        const gantry_shape_t *shape = &sequences[i].shape;
        if (shape->rank == 1 && shape->dims[0] > longest) longest = shape->dims[0];
    }
    return longest;
}
