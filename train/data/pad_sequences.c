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

/* ---- conversions: the index of the first element that does not fit, or count ---- */

static size_t put_int32(const int32_t *in, size_t count, gantry_dtype_t dtype, void *out) {
    if (dtype == GANTRY_INT32) {
        if (count > 0) memcpy(out, in, count * sizeof *in);
        return count;
    }
    float *floats = out;
    for (size_t i = 0; i < count; ++i) floats[i] = (float)in[i];
    return count;
}

static size_t put_int64(const int64_t *in, size_t count, gantry_dtype_t dtype, void *out) {
    int32_t *ints = out;
    float *floats = out;
    for (size_t i = 0; i < count; ++i) {
        if (dtype == GANTRY_FLOAT32) {
            floats[i] = (float)in[i];
        } else if (in[i] < INT32_MIN || in[i] > INT32_MAX) {
            return i;
        } else {
            ints[i] = (int32_t)in[i];
        }
    }
    return count;
}

static bool fits_int32(double value) { return value > -2147483649.0 && value < 2147483648.0; }

static size_t put_float32(const float *in, size_t count, gantry_dtype_t dtype, void *out) {
    if (dtype == GANTRY_FLOAT32) {
        if (count > 0) memcpy(out, in, count * sizeof *in);
        return count;
    }
    int32_t *ints = out;
    for (size_t i = 0; i < count; ++i) {
        if (!fits_int32((double)in[i])) return i;
        ints[i] = (int32_t)in[i];
    }
    return count;
}

static size_t pad_sequences_put_elements(const gantry_array_t *sequence, size_t from, size_t count,
                                         gantry_dtype_t dtype, void *out) {
    if (count == 0) return 0;
    switch (sequence->dtype) {
        case GANTRY_INT32:
            return put_int32((const int32_t *)sequence->data + from, count, dtype, out);
        case GANTRY_INT64:
            return put_int64((const int64_t *)sequence->data + from, count, dtype, out);
        default: return put_float32((const float *)sequence->data + from, count, dtype, out);
    }
}

static void put_value(const padding_t *padding, size_t count, void *out) {
    int32_t *ints = out;
    float *floats = out;
    for (size_t i = 0; i < count; ++i) {
        if (padding->dtype == GANTRY_INT32)
            ints[i] = (int32_t)padding->options.value;
        else
            floats[i] = (float)padding->options.value;
    }
}

/* ---- checks ---- */

static gantry_status_t check_end(gantry_sequence_end_t end, const char *what) {
    if (end == GANTRY_PRE || end == GANTRY_POST) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "gantry_pad_sequences: %s is %d; GANTRY_PRE and GANTRY_POST are accepted", what,
        (int)end);
}

static gantry_status_t check_padding(const padding_t *padding) {
    GANTRY__TRAIN_TRY(check_end(padding->options.padding, "padding"));
    GANTRY__TRAIN_TRY(check_end(padding->options.truncating, "truncating"));
    if (padding->dtype != GANTRY_INT32 && padding->dtype != GANTRY_FLOAT32) {
        return gantry__train_refuse(
            NULL, "gantry_pad_sequences: dtype is %s; int32 and float32 are accepted",
            gantry_dtype_name(padding->dtype));
    }
    if (padding->dtype == GANTRY_FLOAT32 || fits_int32(padding->options.value)) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_pad_sequences: value is %g; an int32 is accepted",
                                padding->options.value);
}

static gantry_status_t check_out(size_t count, int64_t maxlen, const void *out, size_t out_bytes) {
    if (maxlen < 0) {
        return gantry__train_refuse(
            NULL, "gantry_pad_sequences: maxlen is %" PRId64 "; 0 and more are accepted", maxlen);
    }
    const size_t item = sizeof(int32_t);
    const bool fits = maxlen == 0 || count <= SIZE_MAX / item / (uint64_t)maxlen;
    if (!fits || out_bytes != count * (size_t)maxlen * item) {
        return gantry__train_refuse(
            NULL,
            "gantry_pad_sequences: out_bytes is %zu; 4 bytes for each of %zu x %" PRId64
            " elements are accepted",
            out_bytes, count, maxlen);
    }
    if (out || out_bytes == 0) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_pad_sequences: out is NULL");
}

static gantry_status_t check_sequence(const gantry_array_t *sequence, size_t index) {
    const bool is_known = sequence->dtype == GANTRY_INT32 || sequence->dtype == GANTRY_INT64 ||
                          sequence->dtype == GANTRY_FLOAT32;
    if (!is_known || sequence->shape.rank != 1 || sequence->shape.dims[0] < 0) {
        return gantry__train_refuse(
            NULL,
            "gantry_pad_sequences: sequence %zu is %s; a vector of int32, int64 or float32 is accepted",
            index, gantry__train_array_text(sequence->dtype, &sequence->shape).text);
    }
    if (sequence->data || sequence->shape.dims[0] == 0) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_pad_sequences: the data of sequence %zu is NULL",
                                index);
}

static gantry_status_t fail_element(const padding_t *padding, const gantry_array_t *sequence,
                                    size_t index, size_t element) {
    const double value = sequence->dtype == GANTRY_INT64
                             ? (double)((const int64_t *)sequence->data)[element]
                             : (double)((const float *)sequence->data)[element];
    return gantry__train_refuse(
        NULL,
        "gantry_pad_sequences: element %zu of sequence %zu is %.17g; numbers that %s holds are accepted",
        element, index, value, gantry_dtype_name(padding->dtype));
}

/* ---- the public calls ---- */

static gantry_status_t pad_one(const padding_t *padding, const gantry_array_t *sequence,
                               size_t index, unsigned char *row) {
    const size_t item = sizeof(int32_t);
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
    GANTRY__TRAIN_TRY(gantry__struct_read(options, sizeof padding.options, &padding.options,
                                          sizeof padding.options, "gantry_pad_sequences: options"));
    GANTRY__TRAIN_TRY(check_padding(&padding));
    GANTRY__TRAIN_TRY(check_out(count, maxlen, out, out_bytes));
    if (!sequences && count > 0)
        return gantry__train_refuse(NULL, "gantry_pad_sequences: %zu sequences are given at NULL",
                                    count);
    for (size_t i = 0; i < count; ++i) GANTRY__TRAIN_TRY(check_sequence(&sequences[i], i));
    const size_t row_bytes = padding.maxlen * sizeof(int32_t);
    if (row_bytes == 0) return GANTRY_OK; /* out may be NULL */
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRAIN_TRY(
            pad_one(&padding, &sequences[i], i, (unsigned char *)out + i * row_bytes));
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
