/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that move complex128, on one device.
 *
 * The real and the imaginary parts, as int64, take the same way apart, so the expected elements
 * come from kernels for 8 bytes. Owner: the caller, of the runtime. Threads: one. */
#ifndef GANTRY_TEST_COMPLEX128_CASE_H
#define GANTRY_TEST_COMPLEX128_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <gantry/gantry.h>

enum {
    COMPLEX128_ROWS = 37,
    COMPLEX128_COLUMNS = 41,
    COMPLEX128_COUNT = COMPLEX128_ROWS * COMPLEX128_COLUMNS,
    COMPLEX128_OUTPUTS = 40,
    COMPLEX128_MOST = 4096 /* elements of an output */
};

typedef uint64_t complex128_words_t[2 * COMPLEX128_MOST];

/* Which words of an element a run takes: both as complex128, or one as int64. */
typedef enum complex128_part_t { BOTH_PARTS, REAL_PART, IMAGINARY_PART } complex128_part_t;

static inline void complex128_end(gantry_scope_t *scope) {
    if (gantry_scope_end(scope) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* A constant of elements first, first + 1, ... whose words are all different. */
static inline const gantry_tensor_t *complex128_numbers(gantry_scope_t *s, complex128_part_t part,
                                                        gantry_shape_t shape, uint64_t first) {
    static complex128_words_t words;
    const size_t count = (size_t)gantry_shape_elements(&shape), each = part == BOTH_PARTS ? 2 : 1;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t number = (first + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        if (part != IMAGINARY_PART) words[each * i] = number;
        if (part != REAL_PART) words[each * i + each - 1] = ~number;
    }
    return gantry_constant(s, part == BOTH_PARTS ? GANTRY_COMPLEX128 : GANTRY_INT64, shape, words,
                           count * each * sizeof words[0]);
}

static inline const gantry_tensor_t *complex128_ints(gantry_scope_t *s, gantry_shape_t shape,
                                                     const int32_t *data) {
    return gantry_constant(s, GANTRY_INT32, shape, data,
                           (size_t)gantry_shape_elements(&shape) * sizeof *data);
}

/* ---- the ops ---- */

static inline size_t complex128_copies(gantry_scope_t *s, const gantry_tensor_t *x,
                                       const gantry_tensor_t **out) {
    static const int32_t axis[] = {1};
    static const int64_t begin[] = {36, 40}, end[] = {1, 2}, steps[] = {-2, -3};
    const gantry_tensor_t *two[] = {x, gantry_reverse(s, x, axis, 1)};
    size_t n = 0;
    out[n++] = gantry_identity(s, x);
    out[n++] = gantry_reshape(s, x, GANTRY_SHAPE(COMPLEX128_COLUMNS, COMPLEX128_ROWS));
    out[n++] = gantry_transpose(s, x, NULL);
    out[n++] = two[1];
    out[n++] = gantry_slice(s, x, (int64_t[]){2, 1}, (int64_t[]){33, 35});
    out[n++] = gantry_slice(s, x, (int64_t[]){3, 0}, (int64_t[]){5, -1});
    out[n++] = gantry_strided_slice(s, x, begin, end, steps, 2, NULL);
    out[n++] = gantry_concat(s, two, 2, 1);
    out[n++] = gantry_pack(s, two, 2, 1);
    out[n++] = gantry_broadcast_to(s, gantry_slice(s, x, (int64_t[]){4, 0}, (int64_t[]){1, 41}),
                                   GANTRY_SHAPE(50, COMPLEX128_COLUMNS));
    out[n++] = gantry_roll(s, x, (int64_t[]){5}, axis, 1);
    (void)gantry_split(s, gantry_slice(s, x, (int64_t[]){0, 0}, (int64_t[]){37, 40}), 1, out + n,
                       2);
    n += 2;
    return n;
}

/* Ops with a value for the places that x does not fill, and ops with indices. */
static inline size_t complex128_fills(gantry_scope_t *s, complex128_part_t part,
                                      const gantry_tensor_t *x, const gantry_tensor_t **out) {
    static const unsigned char flags[COMPLEX128_COLUMNS] = {1, 0, 1, 1, 0, 0, 1, 0, 1};
    const gantry_tensor_t *value = complex128_numbers(s, part, GANTRY_SCALAR, 9000);
    const gantry_tensor_t *other =
        complex128_numbers(s, part, GANTRY_SHAPE(COMPLEX128_ROWS, COMPLEX128_COLUMNS), 5000);
    const gantry_tensor_t *small = gantry_slice(s, x, (int64_t[]){1, 2}, (int64_t[]){6, 8});
    const gantry_tensor_t *mask =
        gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(COMPLEX128_COLUMNS), flags, sizeof flags);
    const gantry_pad_options_t with = {.value = value}, mirrored = {.mode = GANTRY_PAD_REFLECT};
    const gantry_diagonal_options_t band = {.lower = -1, .upper = 1, .padding = value};
    size_t n = 0;
    out[n++] = gantry_pad(s, x, (int64_t[]){1, 2, 3, 4}, &with);
    out[n++] = gantry_pad(s, x, (int64_t[]){1, 2, 3, 4}, &mirrored);
    out[n++] = gantry_tile(s, small, (int64_t[]){3, 2});
    out[n++] = gantry_select(s, mask, x, other);
    out[n++] = gantry_select(s, gantry_broadcast_to(s, mask, GANTRY_SHAPE(37, 41)), x, other);
    out[n++] = gantry_zeros_like(s, x);
    out[n++] = gantry_fill(s, GANTRY_SHAPE(3, 7), value);
    out[n++] = gantry_matrix_diag(s, small, NULL);
    out[n++] = gantry_matrix_diag_part(s, x, &band);
    out[n++] = gantry_matrix_band_part(s, x, 2, 3);
    out[n++] = gantry_matrix_set_diag(
        s, x, complex128_numbers(s, part, GANTRY_SHAPE(COMPLEX128_ROWS), 3000), NULL);
    out[n++] = gantry_boolean_mask(s, x, mask, 1);
    const gantry_tensor_t *image = gantry_reshape(s, small, GANTRY_SHAPE(1, 6, 8, 1));
    out[n++] = gantry_space_to_depth(s, image, 2, NULL);
    out[n++] = gantry_space_to_batch(s, image, (int64_t[]){2, 3}, 2, (int64_t[]){1, 1, 0, 1});
    out[n++] = gantry_extract_image_patches(s, image, 3, 3, NULL);
    return n;
}

static inline size_t complex128_picks(gantry_scope_t *s, complex128_part_t part,
                                      const gantry_tensor_t *x, const gantry_tensor_t **out) {
    static const int32_t places[] = {15, 3, 3, 0}, pairs[] = {36, 40, 0, 7};
    const gantry_tensor_t *at = complex128_ints(s, GANTRY_SHAPE(4), places);
    const gantry_tensor_t *rows =
        complex128_numbers(s, part, GANTRY_SHAPE(4, COMPLEX128_COLUMNS), 7000);
    const gantry_tensor_t *on = complex128_numbers(s, part, GANTRY_SCALAR, 1),
                          *off = complex128_numbers(s, part, GANTRY_SCALAR, 2);
    size_t n = 0;
    out[n++] = gantry_gather(s, x, at, 0);
    out[n++] = gantry_gather(s, x, at, 1);
    out[n++] = gantry_gather_nd(s, x, complex128_ints(s, GANTRY_SHAPE(2, 2), pairs));
    out[n++] = gantry_tensor_scatter_update(s, x, gantry_reshape(s, at, GANTRY_SHAPE(4, 1)), rows);
    out[n++] = gantry_one_hot(s, at, 17, on, off, -1);
    out[n++] = gantry_embedding_lookup(s, x, at);
    out[n++] = gantry_stateless_shuffle(s, x, 3, 4);
    return n;
}

/* ---- the comparison ---- */

static inline size_t complex128_run(gantry_runtime_t *runtime, const char *device,
                                    complex128_part_t part, complex128_words_t *out,
                                    size_t *counts) {
    const gantry_tensor_t *made[COMPLEX128_OUTPUTS];
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *x =
        complex128_numbers(s, part, GANTRY_SHAPE(COMPLEX128_ROWS, COMPLEX128_COLUMNS), 0);
    size_t n = complex128_copies(s, x, made);
    n += complex128_fills(s, part, x, made + n);
    n += complex128_picks(s, part, x, made + n);
    for (size_t i = 0; i < n; ++i) {
        if (!made[i]) fail_msg("output %d: %s", (int)i, gantry_scope_message(s));
        const size_t bytes = gantry_tensor_bytes(made[i]);
        assert_true(bytes <= sizeof out[i]);
        counts[i] = (size_t)gantry_shape_elements(gantry_tensor_shape(made[i]));
        assert_int_equal(gantry_tensor_dtype(made[i]),
                         part == BOTH_PARTS ? GANTRY_COMPLEX128 : GANTRY_INT64);
        if (gantry_tensor_read(made[i], out[i], bytes) != GANTRY_OK)
            fail_msg("output %d: %s", (int)i, gantry_last_message());
    }
    complex128_end(s);
    return n;
}

static inline void complex128_moves(gantry_runtime_t *runtime, const char *device) {
    static complex128_words_t both[COMPLEX128_OUTPUTS], real[COMPLEX128_OUTPUTS],
        imaginary[COMPLEX128_OUTPUTS];
    size_t counts[COMPLEX128_OUTPUTS], others[COMPLEX128_OUTPUTS];
    const size_t n = complex128_run(runtime, device, BOTH_PARTS, both, counts);
    (void)complex128_run(runtime, device, REAL_PART, real, others);
    assert_int_equal(complex128_run(runtime, device, IMAGINARY_PART, imaginary, others), n);
    for (size_t i = 0; i < n; ++i) {
        assert_int_equal(counts[i], others[i]);
        for (size_t e = 0; e < counts[i]; ++e) {
            if (both[i][2 * e] != real[i][e] || both[i][2 * e + 1] != imaginary[i][e])
                fail_msg("output %d, element %d", (int)i, (int)e);
        }
    }
}

/* ---- ones, Where, another device, and refusals ---- */

static inline void complex128_makes_ones(gantry_runtime_t *runtime, const char *device) {
    static double got[2 * 5000];
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *large = gantry_zeros(s, GANTRY_COMPLEX128, GANTRY_SHAPE(5000));
    const gantry_tensor_t *ones[] = {gantry_ones_like(s, large),
                                     gantry_ones(s, GANTRY_COMPLEX128, GANTRY_SCALAR)};
    for (int t = 0; t < 2; ++t) {
        const int count = t == 0 ? 5000 : 1;
        if (gantry_tensor_read(ones[t], got, (size_t)count * 16) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        for (int i = 0; i < count; ++i)
            assert_memory_equal(got + 2 * i, ((double[]){1, 0}), 2 * sizeof got[0]);
    }
    complex128_end(s);
}

static inline void complex128_is_true(gantry_runtime_t *runtime, const char *device) {
    static const double x[] = {0, 0, -0.0, 0, 0, -0.0, 0, 1, -1, 0, 0, -5e-324, -0.0, -0.0};
    int64_t got[3];
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *t =
        gantry_where(s, gantry_constant(s, GANTRY_COMPLEX128, GANTRY_SHAPE(7), x, sizeof x));
    if (!t || gantry_tensor_bytes(t) != sizeof got ||
        gantry_tensor_read(t, got, sizeof got) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
    assert_memory_equal(got, ((int64_t[]){3, 4, 5}), sizeof got);
    complex128_end(s);
}

/* To the device and back, and to the CPU. */
static inline void complex128_goes(gantry_runtime_t *runtime, const char *device) {
    static const double x[] = {1, -2, 3.5, 1e300};
    double got[4];
    gantry_scope_t *s = gantry_scope_begin(runtime, device), *host;
    const gantry_tensor_t *t = gantry_constant(s, GANTRY_COMPLEX128, GANTRY_SHAPE(2), x, sizeof x);
    host = gantry_scope_begin(runtime, "/CPU:0");
    const gantry_tensor_t *there = gantry_reverse(host, t, (int32_t[]){0}, 1);
    if (!there || gantry_tensor_read(there, got, sizeof got) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(host));
    assert_memory_equal(got, ((double[]){3.5, 1e300, 1, -2}), sizeof got);
    complex128_end(host);
    complex128_end(s);
}

/* Nothing computes with the type: a sum and a cast name it, as for complex64. */
static inline void complex128_is_not_computed(gantry_runtime_t *runtime, const char *device) {
    static const double x[] = {1, 2};
    for (int op = 0; op < 2; ++op) {
        gantry_scope_t *s = gantry_scope_begin(runtime, device);
        const gantry_tensor_t *t =
            gantry_constant(s, GANTRY_COMPLEX128, GANTRY_SCALAR, x, sizeof x);
        assert_null(op == 0 ? gantry_add(s, t, t) : gantry_cast(s, t, GANTRY_FLOAT32));
        assert_non_null(strstr(gantry_scope_message(s), "complex128"));
        assert_int_equal(gantry_scope_end(s), GANTRY_INVALID_ARGUMENT);
    }
}

static inline void complex128_check(gantry_runtime_t *runtime, const char *device) {
    complex128_moves(runtime, device);
    complex128_makes_ones(runtime, device);
    complex128_is_true(runtime, device);
    complex128_goes(runtime, device);
    complex128_is_not_computed(runtime, device);
}

#endif
