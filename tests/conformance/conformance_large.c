/* SPDX-License-Identifier: Apache-2.0 */
/* Checks outputs larger than the caches, which processors write with streaming stores, in blocks.
 * An op over all elements must have the same bits as the op over pieces, which are too small for
 * streaming stores. Sizes are odd, so that every loop has a remainder. Large sums must have the
 * bits of their chunks' sums, and scans of many rows the bits of scans of a few rows. */
#include "conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* of 4 bytes: 26 MB, above both backends' thresholds for streaming */
#define ELEMENTS INT64_C(6500003)
#define NARROW_ELEMENTS INT64_C(25500001) /* of one byte */
#define PIECE INT64_C(500000)

/* One of them: an op of two operands, or of one. */
typedef struct large_op_t {
    const gantry_tensor_t *(*of_two)(gantry_scope_t *scope, const gantry_tensor_t *x,
                                     const gantry_tensor_t *y);
    const gantry_tensor_t *(*of_one)(gantry_scope_t *scope, const gantry_tensor_t *x);
} large_op_t;

static const gantry_tensor_t *call(const large_op_t *op, gantry_scope_t *scope,
                                   const gantry_tensor_t *x, const gantry_tensor_t *y) {
    return op->of_two ? op->of_two(scope, x, y) : op->of_one(scope, x);
}

static const gantry_tensor_t *times_scalar(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_mul(scope, x, gantry_scalar_f32(scope, 1.7f));
}

static const gantry_tensor_t *scalar_minus(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_sub(scope, gantry_scalar_f32(scope, 1.7f), x);
}

static const gantry_tensor_t *to_float(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_cast(scope, x, GANTRY_FLOAT32);
}

static const gantry_tensor_t *to_int(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_cast(scope, x, GANTRY_INT64);
}

static void *numbers(gantry_dtype_t dtype, int64_t n, uint32_t seed) {
    uint32_t state = seed;
    char *data = malloc((size_t)n * gantry_dtype_size(dtype));
    for (int64_t i = 0; data && i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        if (dtype == GANTRY_FLOAT32) {
            ((float *)(void *)data)[i] = (float)(int32_t)(state >> 8) / 1048576 - 8;
        } else {
            data[i] = (char)(state >> 24);
        }
    }
    return data;
}

static void check_pieces(conformance_t *c, gantry_scope_t *scope, const large_op_t *op,
                         const gantry_tensor_t *x, const gantry_tensor_t *y,
                         const golden_tensor_t *whole) {
    const int64_t n = gantry_tensor_shape(x)->dims[0];
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t count = n - at < PIECE ? n - at : PIECE, begin[] = {at}, size[] = {count};
        golden_tensor_t part = {0};
        const gantry_tensor_t *of_x = gantry_slice(scope, x, begin, size),
                              *of_y = gantry_slice(scope, y, begin, size);
        const gantry_tensor_t *result = call(op, scope, of_x, of_y);
        const gantry_status_t status = conformance_read(result, &part);
        const size_t each = result ? gantry_dtype_size(gantry_tensor_dtype(result)) : 0;
        CHECK(c, status == GANTRY_OK, "a piece: %s", conformance_last_error(status));
        CHECK(
            c,
            status != GANTRY_OK || memcmp(part.data, (const char *)whole->data + (size_t)at * each,
                                          (size_t)count * each) == 0,
            "elements from %lld on differ from those of a piece", (long long)at);
        conformance_free_outputs(&part, 1);
        gantry_tensor_drop(scope, result);
        gantry_tensor_drop(scope, of_x);
        gantry_tensor_drop(scope, of_y);
    }
}

static void check_op(conformance_t *c, large_op_t op, gantry_dtype_t dtype, int64_t n) {
    gantry_scope_t *scope = conformance_scope(c);
    const size_t bytes = (size_t)n * gantry_dtype_size(dtype);
    void *a = numbers(dtype, n, 1), *b = numbers(dtype, n, 2);
    const gantry_tensor_t *x = gantry_constant(scope, dtype, GANTRY_SHAPE(n), a, bytes);
    const gantry_tensor_t *y = gantry_constant(scope, dtype, GANTRY_SHAPE(n), b, bytes);
    const gantry_tensor_t *result = call(&op, scope, x, y);
    golden_tensor_t whole = {0};
    const gantry_status_t status = conformance_read(result, &whole);
    CHECK(c, status == GANTRY_OK, "all of it: %s", conformance_last_error(status));
    if (status == GANTRY_OK) check_pieces(c, scope, &op, x, y, &whole);
    conformance_free_outputs(&whole, 1);
    free(a);
    free(b);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void sums_have_the_bits_of_pieces(conformance_t *c) {
    check_op(c, (large_op_t){.of_two = gantry_add}, GANTRY_FLOAT32, ELEMENTS);
}

static void scalars_have_the_bits_of_pieces(conformance_t *c) {
    check_op(c, (large_op_t){.of_one = times_scalar}, GANTRY_FLOAT32, ELEMENTS);
    check_op(c, (large_op_t){.of_one = scalar_minus}, GANTRY_FLOAT32, ELEMENTS);
}

static void functions_have_the_bits_of_pieces(conformance_t *c) {
    check_op(c, (large_op_t){.of_one = gantry_neg}, GANTRY_FLOAT32, ELEMENTS);
    check_op(c, (large_op_t){.of_one = gantry_tanh}, GANTRY_FLOAT32, ELEMENTS);
}

static void comparisons_have_the_bits_of_pieces(conformance_t *c) {
    check_op(c, (large_op_t){.of_two = gantry_less}, GANTRY_INT8, NARROW_ELEMENTS);
    check_op(c, (large_op_t){.of_one = gantry_is_nan}, GANTRY_FLOAT32, ELEMENTS);
}

static void fills_have_the_bits_of_pieces(conformance_t *c) {
    check_op(c, (large_op_t){.of_one = gantry_ones_like}, GANTRY_INT8, NARROW_ELEMENTS);
    check_op(c, (large_op_t){.of_one = gantry_ones_like}, GANTRY_FLOAT32, ELEMENTS);
    check_op(c, (large_op_t){.of_one = gantry_zeros_like}, GANTRY_FLOAT32, ELEMENTS);
}

static void casts_have_the_bits_of_pieces(conformance_t *c) {
    check_op(c, (large_op_t){.of_one = to_float}, GANTRY_INT8, ELEMENTS);
    check_op(c, (large_op_t){.of_one = to_int}, GANTRY_FLOAT32, ELEMENTS);
}

/* The tree of a sum (kernels/reduce/reduce.cl) cuts a sequence into chunks of 4096, so rows of 4096
 * are its chunks. Many chunks are taken in pairs, a row is one alone. */
static void sums_follow_the_tree(conformance_t *c) {
    enum { CHUNK = 4096, CHUNKS = 1601 };
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_INT32};
    const gantry_reduce_options_t last = {.axes = (int32_t[]){1}, .axis_count = 1};
    gantry_scope_t *scope = conformance_scope(c);
    const size_t bytes = (size_t)CHUNK * CHUNKS * sizeof(float);
    float *data = numbers(GANTRY_FLOAT32, (int64_t)CHUNK * CHUNKS, 3);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(CHUNKS, CHUNK), data, bytes);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; ++i) {
        const gantry_tensor_t *values = gantry_cast(scope, x, dtypes[i]);
        golden_tensor_t results[4] = {{0}};
        const gantry_tensor_t *tensors[4] = {
            gantry_sum(scope, values, NULL),
            gantry_sum(scope, gantry_sum(scope, values, &last), NULL),
            gantry_max(scope, values, NULL),
            gantry_max(scope, gantry_max(scope, values, &last), NULL)};
        for (int k = 0; k < 4; ++k) {
            const gantry_status_t status = conformance_read(tensors[k], &results[k]);
            CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
        }
        for (int k = 0; k < 4; k += 2)
            conformance_check_same(c, "in two steps", &results[k + 1], &results[k]);
        conformance_free_outputs(results, 4);
    }
    free(data);
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* Compares rows of a whole scan with the same rows scanned a few at a time. */
static void check_scan(conformance_t *c, gantry_scope_t *scope, const gantry_tensor_t *x,
                       gantry_scan_options_t options) {
    const int64_t rows = gantry_tensor_shape(x)->dims[0], length = gantry_tensor_shape(x)->dims[1];
    const size_t bytes = (size_t)length * gantry_dtype_size(gantry_tensor_dtype(x));
    const gantry_tensor_t *result = gantry_cumsum(scope, x, 1, &options);
    golden_tensor_t whole = {0};
    gantry_status_t status = conformance_read(result, &whole);
    CHECK(c, status == GANTRY_OK, "all of it: %s", conformance_last_error(status));
    for (int64_t at = 0; whole.data && at < rows; at += PIECE / length) {
        const int64_t count = rows - at < PIECE / length ? rows - at : PIECE / length;
        const int64_t begin[] = {at, 0}, size[] = {count, length};
        golden_tensor_t part = {0};
        const gantry_tensor_t *some = gantry_slice(scope, x, begin, size),
                              *scanned = gantry_cumsum(scope, some, 1, &options);
        status = conformance_read(scanned, &part);
        CHECK(c, status == GANTRY_OK, "some rows: %s", conformance_last_error(status));
        CHECK(
            c,
            status != GANTRY_OK || memcmp(part.data, (const char *)whole.data + (size_t)at * bytes,
                                          (size_t)count * bytes) == 0,
            "%s, length %lld, exclusive %d, reverse %d: rows from %lld on differ from those of a few",
            gantry_dtype_name(gantry_tensor_dtype(x)), (long long)length, options.exclusive,
            options.reverse, (long long)at);
        conformance_free_outputs(&part, 1);
        gantry_tensor_drop(scope, scanned);
        gantry_tensor_drop(scope, some);
    }
    conformance_free_outputs(&whole, 1);
    gantry_tensor_drop(scope, result);
}

/* Halves are scanned as floats, and each result is rounded once. */
static void check_scan_of_halves(conformance_t *c, gantry_scope_t *scope, const gantry_tensor_t *x,
                                 gantry_scan_options_t options) {
    golden_tensor_t halves = {0}, rounded = {0};
    const gantry_tensor_t *result = gantry_cumsum(scope, x, 1, &options),
                          *floats = gantry_cast(scope, x, GANTRY_FLOAT32);
    const gantry_tensor_t *sums = gantry_cumsum(scope, floats, 1, &options);
    const gantry_tensor_t *expected = gantry_cast(scope, sums, gantry_tensor_dtype(x));
    gantry_status_t status = conformance_read(result, &halves);
    if (status == GANTRY_OK) status = conformance_read(expected, &rounded);
    CHECK(c, status == GANTRY_OK, "halves and floats: %s", conformance_last_error(status));
    CHECK(c,
          status != GANTRY_OK ||
              memcmp(halves.data, rounded.data, (size_t)gantry_tensor_elements(x) * 2) == 0,
          "%s, exclusive %d, reverse %d: other bits than those of floats, rounded",
          gantry_dtype_name(gantry_tensor_dtype(x)), options.exclusive, options.reverse);
    conformance_free_outputs(&rounded, 1);
    conformance_free_outputs(&halves, 1);
    gantry_tensor_drop(scope, expected);
    gantry_tensor_drop(scope, sums);
    gantry_tensor_drop(scope, floats);
    gantry_tensor_drop(scope, result);
}

#define SPECIAL_ROWS 48
#define SPECIAL_LENGTH 1504

/* Rows with a NaN, an infinity, denormals of float16, sums beyond a half's range, and others. */
static void scans_of_halves_are_those_of_floats_rounded(conformance_t *c) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16};
    static const float scales[] = {1, 1, 1e-6f, 7000, 4e37f, 1};
    float *data = numbers(GANTRY_FLOAT32, (int64_t)SPECIAL_ROWS * SPECIAL_LENGTH, 5);
    for (int i = 0; data && i < SPECIAL_ROWS * SPECIAL_LENGTH; ++i) {
        const int kind = i / SPECIAL_LENGTH % 6;
        data[i] = i % SPECIAL_LENGTH != 700 || kind > 1 ? data[i] * scales[kind]
                  : kind == 0                           ? NAN
                                                        : INFINITY;
    }
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SPECIAL_ROWS, SPECIAL_LENGTH), data,
                        sizeof(float) * SPECIAL_ROWS * SPECIAL_LENGTH);
    for (int way = 0; way < 8; ++way) {
        const gantry_tensor_t *halves = gantry_cast(scope, x, dtypes[way >> 2]);
        check_scan_of_halves(
            c, scope, halves,
            (gantry_scan_options_t){.exclusive = way & 1, .reverse = way >> 1 & 1});
        gantry_tensor_drop(scope, halves);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
    free(data);
}

/* Of the 60 scans of millions of elements, every seventh are of each type, way and length. */
static void scans_have_the_bits_of_a_few_rows(conformance_t *c) {
    const int step = FEWER_FOR_SANITIZERS(1, 7);
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_INT32, GANTRY_INT64,
                                            GANTRY_FLOAT16, GANTRY_BFLOAT16};
    static const int64_t lengths[] = {4096, 1504, 1500};
    void *data = numbers(GANTRY_FLOAT32, ELEMENTS, 4);
    int number = 0;
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; ++l) {
        gantry_scope_t *scope = conformance_scope(c);
        const int64_t rows = ELEMENTS / lengths[l];
        const gantry_tensor_t *x =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, lengths[l]), data,
                            (size_t)(rows * lengths[l]) * sizeof(float));
        for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; ++t) {
            const gantry_tensor_t *values = gantry_cast(scope, x, dtypes[t]);
            for (int way = 0; way < 4; ++way) {
                if (number++ % step != 0) continue;
                const gantry_scan_options_t options = {.exclusive = way & 1, .reverse = way >> 1};
                check_scan(c, scope, values, options);
                if (gantry_dtype_size(dtypes[t]) == 2)
                    check_scan_of_halves(c, scope, values, options);
            }
            gantry_tensor_drop(scope, values);
        }
        conformance_end_scope(c, scope, GANTRY_OK);
    }
    free(data);
}

static void ranges_and_fills_are_whole(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const int32_t limits[] = {5, 5 + 3 * (int32_t)ELEMENTS, 3};
    const gantry_tensor_t *scalars[3];
    golden_tensor_t range = {0}, filled = {0}, spaced = {0};
    for (int i = 0; i < 3; ++i)
        scalars[i] =
            gantry_constant(scope, GANTRY_INT32, GANTRY_SCALAR, &limits[i], sizeof limits[i]);
    const gantry_tensor_t *all = gantry_range(scope, scalars[0], scalars[1], scalars[2]);
    const gantry_tensor_t *same = gantry_fill(scope, GANTRY_SHAPE(ELEMENTS), scalars[0]);
    const gantry_tensor_t *places =
        gantry_lin_space(scope, gantry_scalar_f32(scope, 0),
                         gantry_scalar_f32(scope, (float)(ELEMENTS - 1)), ELEMENTS);
    CHECK(c,
          conformance_read(all, &range) == GANTRY_OK &&
              conformance_read(same, &filled) == GANTRY_OK &&
              conformance_read(places, &spaced) == GANTRY_OK,
          "%s", gantry_scope_message(scope));
    for (int64_t i = 0; range.data && filled.data && spaced.data && i < ELEMENTS; ++i) {
        const int32_t number = ((const int32_t *)(const void *)range.data)[i],
                      value = ((const int32_t *)(const void *)filled.data)[i];
        const float place = ((const float *)(const void *)spaced.data)[i];
        if (number != 5 + 3 * (int32_t)i || value != 5 || place != (float)i) {
            conformance_fail(c, "element %lld: the range has %d, the fill %d, even steps %g",
                             (long long)i, (int)number, (int)value, (double)place);
            break;
        }
    }
    conformance_free_outputs(&spaced, 1);
    conformance_free_outputs(&range, 1);
    conformance_free_outputs(&filled, 1);
    conformance_end_scope(c, scope, GANTRY_OK);
}

void conformance_run_large(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"sums_have_the_bits_of_pieces", sums_have_the_bits_of_pieces},
        {"scalars_have_the_bits_of_pieces", scalars_have_the_bits_of_pieces},
        {"functions_have_the_bits_of_pieces", functions_have_the_bits_of_pieces},
        {"comparisons_have_the_bits_of_pieces", comparisons_have_the_bits_of_pieces},
        {"casts_have_the_bits_of_pieces", casts_have_the_bits_of_pieces},
        {"fills_have_the_bits_of_pieces", fills_have_the_bits_of_pieces},
        {"sums_follow_the_tree", sums_follow_the_tree},
        {"scans_have_the_bits_of_a_few_rows", scans_have_the_bits_of_a_few_rows},
        {"scans_of_halves_are_those_of_floats_rounded",
         scans_of_halves_are_those_of_floats_rounded},
        {"ranges_and_fills_are_whole", ranges_and_fills_are_whole},
    };
    conformance_run_checks(c, "large", checks, sizeof checks / sizeof checks[0]);
}
