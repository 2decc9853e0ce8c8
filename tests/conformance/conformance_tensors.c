/* SPDX-License-Identifier: Apache-2.0 */
/* Checks tensors on the device: constants of all types and shapes, reading, printing, aliases,
 * files. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance.h"

static const gantry_dtype_t all_dtypes[] = {
    GANTRY_FLOAT32, GANTRY_FLOAT64,   GANTRY_INT32,  GANTRY_UINT8,  GANTRY_INT16,
    GANTRY_INT8,    GANTRY_COMPLEX64, GANTRY_INT64,  GANTRY_BOOL,   GANTRY_BFLOAT16,
    GANTRY_UINT16,  GANTRY_FLOAT16,   GANTRY_UINT32, GANTRY_UINT64, GANTRY_COMPLEX128};

/* A byte pattern that differs from place to place; only 0 and 1 for booleans. */
static unsigned char *make_bytes(gantry_dtype_t dtype, size_t bytes) {
    unsigned char *data = malloc(bytes ? bytes : 1);
    if (!data) exit(2);
    for (size_t i = 0; i < bytes; ++i)
        data[i] =
            dtype == GANTRY_BOOL ? (unsigned char)(i % 3 == 0) : (unsigned char)(i * 31 + i / 251);
    return data;
}

static void check_round_trip(conformance_t *c, gantry_dtype_t dtype, gantry_shape_t shape) {
    size_t bytes = (size_t)gantry_shape_elements(&shape) * gantry_dtype_size(dtype);
    unsigned char *data = make_bytes(dtype, bytes);
    char text[96];
    gantry_shape_format(&shape, text, sizeof text);
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *tensor = gantry_constant(scope, dtype, shape, data, bytes);
    if (!tensor) {
        conformance_fail(c, "no constant of %s%s: %s", gantry_dtype_name(dtype), text,
                         gantry_scope_message(scope));
    } else {
        golden_tensor_t got;
        gantry_status_t status = conformance_read(tensor, &got);
        CHECK(c, status == GANTRY_OK, "%s%s: %s", gantry_dtype_name(dtype), text,
              conformance_last_error(status));
        CHECK(c, got.dtype == dtype && gantry_shape_equal(&got.shape, &shape) && got.bytes == bytes,
              "%s%s came back as another type or shape", gantry_dtype_name(dtype), text);
        CHECK(c, status != GANTRY_OK || got.bytes != bytes || memcmp(got.data, data, bytes) == 0,
              "%s%s came back changed", gantry_dtype_name(dtype), text);
        CHECK(c, gantry_tensor_elements(tensor) == gantry_shape_elements(&shape),
              "the number of elements is wrong");
        CHECK(c, gantry_tensor_device(tensor) == c->device, "a constant lies on another device");
        conformance_free_outputs(&got, 1);
    }
    free(data);
    conformance_end_scope(c, scope, tensor ? GANTRY_OK : gantry_scope_status(scope));
}

static void constants_of_all_types_come_back(conformance_t *c) {
    for (size_t i = 0; i < sizeof all_dtypes / sizeof all_dtypes[0]; ++i) {
        check_round_trip(c, all_dtypes[i], GANTRY_SCALAR);
        check_round_trip(c, all_dtypes[i], GANTRY_SHAPE(0));
        check_round_trip(c, all_dtypes[i], GANTRY_SHAPE(7));
        check_round_trip(c, all_dtypes[i], GANTRY_SHAPE(2, 0, 3));
        check_round_trip(c, all_dtypes[i], GANTRY_SHAPE(1, 2, 1, 3, 1, 2, 1, 5));
    }
}

/* Sizes around those of staging blocks. */
static void constants_of_many_sizes_come_back(conformance_t *c) {
    static const int64_t sizes[] = {1,     63,    64,    65,      1023,   16383,
                                    16384, 16385, 65536, 1048577, 3000001};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        check_round_trip(c, GANTRY_FLOAT32, GANTRY_SHAPE(sizes[i]));
    check_round_trip(c, GANTRY_UINT8, GANTRY_SHAPE(65535));
    check_round_trip(c, GANTRY_UINT8, GANTRY_SHAPE(65537));
}

static void constant_copies_before_it_returns(conformance_t *c) {
    const int64_t n = 2000000;
    size_t bytes = (size_t)n * sizeof(float);
    float *values = malloc(bytes), *got = malloc(bytes);
    if (!values || !got) exit(2);
    for (int64_t i = 0; i < n; ++i) values[i] = (float)i;
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *tensor =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(n), values, bytes);
    memset(values, 0xff, bytes);
    CHECK(c, tensor && gantry_tensor_read(tensor, got, bytes) == GANTRY_OK, "%s",
          gantry_last_message());
    for (int64_t i = 0; i < n && c->reasons == 0; ++i) {
        CHECK(c, got[i] == (float)i,
              "element %" PRId64 " is %g: memory of the caller was used after the call", i,
              (double)got[i]);
    }
    gantry_scope_end(scope);
    free(values);
    free(got);
}

static void refuse_constant(conformance_t *c, const char *what, gantry_dtype_t dtype,
                            gantry_shape_t shape, const void *data, size_t bytes) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *tensor = gantry_constant(scope, dtype, shape, data, bytes);
    CHECK(c, !tensor, "%s was accepted", what);
    gantry_status_t status = gantry_scope_status(scope);
    conformance_check_status(c, what, status, GANTRY_INVALID_ARGUMENT, gantry_scope_message(scope),
                             "");
    CHECK(c, *gantry_scope_message(scope), "%s: there is no message", what);
    gantry_scope_end(scope);
}

/* The constant of these bytes, read and summed. */
static void check_bools(conformance_t *c, const unsigned char *data, size_t count,
                        unsigned char *got) {
    size_t wrong = 0;
    int64_t trues = 0, sum = -1;
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *t =
        gantry_constant(scope, GANTRY_BOOL, GANTRY_SHAPE((int64_t)count), data, count);
    const gantry_tensor_t *number = gantry_sum(scope, gantry_cast(scope, t, GANTRY_INT64), NULL);
    gantry_status_t status = gantry_tensor_read(t, got, count);
    if (status == GANTRY_OK) status = gantry_tensor_read(number, &sum, sizeof sum);
    CHECK(c, status == GANTRY_OK, "%zu: %s", count, conformance_last_error(status));
    for (size_t i = 0; i < count; ++i) {
        trues += data[i] != 0;
        wrong += got[i] != (data[i] != 0);
    }
    CHECK(c, wrong == 0 && sum == trues,
          "%zu: %zu bytes differ, the sum is %" PRId64 " and not %" PRId64, count, wrong, sum,
          trues);
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* Any byte other than 0 is true, and true is 1 as a number: many such bytes, and a single one at
 * either end or in the middle. */
static void odd_bools_become_true(conformance_t *c) {
    enum { MOST = 1200001 };
    static const size_t sizes[] = {1, 2, 5, 64, 65, 5000, 300000, MOST};
    static unsigned char odd[MOST], one[MOST], got[MOST];
    for (size_t i = 0; i < MOST; ++i) odd[i] = i % 3 ? (unsigned char)(i % 255) : 0;
    odd[0] = 2;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
        const size_t count = sizes[k], places[] = {0, (count - 1) / 2, count / 2, count - 1};
        check_bools(c, odd, count, got);
        for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
            one[places[i]] = 200;
            check_bools(c, one, count, got);
            one[places[i]] = 0;
        }
    }
}

static void wrong_constants_are_refused(conformance_t *c) {
    const float v[4] = {1, 2, 3, 4};
    refuse_constant(c, "too few bytes", GANTRY_FLOAT32, GANTRY_SHAPE(4), v, 12);
    refuse_constant(c, "too many bytes", GANTRY_FLOAT32, GANTRY_SHAPE(3), v, sizeof v);
    refuse_constant(c, "a negative dimension", GANTRY_FLOAT32, GANTRY_SHAPE(-1), v, 0);
    refuse_constant(c, "no data", GANTRY_FLOAT32, GANTRY_SHAPE(4), NULL, sizeof v);
    refuse_constant(c, "no type", GANTRY_DTYPE_NONE, GANTRY_SHAPE(4), v, sizeof v);
    refuse_constant(c, "an unknown type", (gantry_dtype_t)99, GANTRY_SHAPE(4), v, sizeof v);
    refuse_constant(c, "rank 9", GANTRY_FLOAT32, (gantry_shape_t){.rank = 9}, v, sizeof v);
    refuse_constant(c, "a negative rank", GANTRY_FLOAT32, (gantry_shape_t){.rank = -1}, v,
                    sizeof v);
    refuse_constant(c, "an overflowing shape", GANTRY_FLOAT32, GANTRY_SHAPE(INT64_MAX, INT64_MAX),
                    v, sizeof v);
    refuse_constant(c, "overflowing bytes", GANTRY_FLOAT64, GANTRY_SHAPE(INT64_MAX / 4), v,
                    sizeof v);
}

static void wrong_reads_are_refused(conformance_t *c) {
    float out[8];
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *t = conformance_iota(scope, 4);
    gantry_status_t status = gantry_tensor_read(t, out, 12);
    conformance_check_status(c, "too few bytes", status, GANTRY_INVALID_ARGUMENT,
                             gantry_last_message(), "16");
    status = gantry_tensor_read(t, out, sizeof out);
    conformance_check_status(c, "too many bytes", status, GANTRY_INVALID_ARGUMENT,
                             gantry_last_message(), "16");
    status = gantry_tensor_read(t, NULL, 16);
    conformance_check_status(c, "no place", status, GANTRY_INVALID_ARGUMENT, gantry_last_message(),
                             "");
    status = gantry_tensor_read(NULL, out, 16);
    conformance_check_status(c, "no tensor", status, GANTRY_INVALID_ARGUMENT, gantry_last_message(),
                             "");
    CHECK(c, gantry_tensor_wait(t) == GANTRY_OK, "waiting failed: %s", gantry_last_message());
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* ---- printing ---- */

static void check_text(conformance_t *c, const gantry_tensor_t *tensor,
                       const gantry_format_options_t *options, const char *wanted) {
    char text[4096] = "";
    size_t needed = 0;
    gantry_status_t status = gantry_tensor_format(tensor, options, text, sizeof text, &needed);
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    CHECK(c, strcmp(text, wanted) == 0, "printed \"%s\" instead of \"%s\"", text, wanted);
    CHECK(c, needed == strlen(wanted), "%zu bytes are said to be needed instead of %zu", needed,
          strlen(wanted));
}

static void tensors_print_as_numpy_does(conformance_t *c) {
    const float v[] = {1, 2, 3, 4, 5, 6};
    const unsigned char b[] = {1, 0, 0, 1};
    const int64_t i[] = {-1, 20, 300};
    const double d[] = {0.5, 1e-3, 12345.678};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), v, sizeof v);
    const gantry_tensor_t *y =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), v, sizeof v);
    check_text(c, gantry_matmul(scope, x, y, NULL), NULL, "[[22. 28.]\n [49. 64.]]");
    check_text(c, gantry_constant(scope, GANTRY_BOOL, GANTRY_SHAPE(4), b, sizeof b), NULL,
               "[ True False False  True]");
    check_text(c, gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(3), i, sizeof i), NULL,
               "[ -1  20 300]");
    check_text(c, gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(3), d, sizeof d), NULL,
               "[5.0000000e-01 1.0000000e-03 1.2345678e+04]");
    check_text(c, gantry_scalar_f32(scope, 3.5f), NULL, "3.5");
    check_text(c, gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0), v, 0), NULL, "[]");
    const gantry_format_options_t two_digits = {.struct_size = sizeof two_digits, .precision = 2};
    check_text(c, gantry_scalar_f32(scope, 2.0f), &two_digits, "2.0");
    const gantry_format_options_t as_tensorflow = {.struct_size = sizeof as_tensorflow,
                                                   .as_tensorflow = true};
    check_text(c, gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(3), i, sizeof i),
               &as_tensorflow, "tf.Tensor([ -1  20 300], shape=(3,), dtype=int64)");
    const gantry_tensor_t *many =
        gantry_range(scope, gantry_scalar_i32(scope, 0), gantry_scalar_i32(scope, 2001),
                     gantry_scalar_i32(scope, 1));
    check_text(c, many, NULL, "[   0    1    2 ... 1998 1999 2000]");
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void text_that_does_not_fit_is_cut(conformance_t *c) {
    char text[8];
    size_t needed = 0;
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *t = conformance_iota(scope, 4); /* [0. 1. 2. 3.] */
    memset(text, 'x', sizeof text);
    CHECK(c, gantry_tensor_format(t, NULL, text, 6, &needed) == GANTRY_OK, "%s",
          gantry_last_message());
    CHECK(c, memcmp(text, "[0. 1\0xx", 8) == 0, "6 bytes hold \"%.8s\"", text);
    CHECK(c, needed == 13, "%zu bytes are said to be needed instead of 13", needed);
    CHECK(c, gantry_tensor_format(t, NULL, NULL, 0, &needed) == GANTRY_OK && needed == 13,
          "asking for the length failed");
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* ---- aliases ---- */

static int64_t bytes_in_use(conformance_t *c) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    CHECK(c, gantry_get_memory_info(c->runtime, c->options.device, &info) == GANTRY_OK, "%s",
          gantry_last_message());
    return (int64_t)info.current_bytes;
}

/* This allocation would take and overwrite memory that was freed too early. */
static void make_noise(conformance_t *c, gantry_scope_t *scope, int64_t elements) {
    CHECK(c, gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(elements)), "%s",
          gantry_scope_message(scope));
}

static void aliases_share_memory_and_outlive_their_source(conformance_t *c) {
    const int64_t n = 1 << 20;
    const float first[] = {0, 1, 2, 3};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = conformance_iota(scope, n);
    const int64_t before = bytes_in_use(c);
    const gantry_tensor_t *same = gantry_identity(scope, x);
    const gantry_tensor_t *square = gantry_reshape(scope, same, GANTRY_SHAPE(1024, -1));
    const gantry_tensor_t *more = gantry_expand_dims(scope, square, 0);
    const gantry_tensor_t *less = gantry_squeeze(scope, more, NULL, 0);
    const int64_t taken = bytes_in_use(c) - before;
    CHECK(c, taken < 1 << 20, "aliases took %" PRId64 " bytes", taken);
    gantry_tensor_drop(scope, x);
    gantry_tensor_drop(scope, same);
    gantry_tensor_drop(scope, square);
    gantry_tensor_drop(scope, more);
    make_noise(c, scope, n);
    const int64_t begin[] = {0, 0}, size[] = {1, 4};
    conformance_check_floats(c, "the last alias", gantry_slice(scope, less, begin, size), first, 4);
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* Takes rows of a matrix, and rows of these rows: Slice, StridedSlice, Unpack, Split. Then frees
 * the matrix. */
static void pieces_share_memory_and_outlive_their_source(conformance_t *c) {
    const int64_t begin[] = {3, 0}, size[] = {8, -1}, from[] = {-4}, to[] = {INT32_MAX},
                  front[] = {0}, four[] = {4};
    /* of row 3 + 4 + 1 */
    const float first[] = {8 * 131072, 8 * 131072 + 1, 8 * 131072 + 2, 8 * 131072 + 3};
    const gantry_tensor_t *rows[4] = {NULL}, *halves[2] = {NULL};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *flat = conformance_iota(scope, 16 * 131072);
    const gantry_tensor_t *x = gantry_reshape(scope, flat, GANTRY_SHAPE(16, -1));
    const int64_t before = bytes_in_use(c);
    const gantry_tensor_t *middle = gantry_slice(scope, x, begin, size);
    if (middle && gantry_tensor_device(middle) != c->device) { /* another one copies x first */
        conformance_skip(c, "this device does not slice");
        gantry_scope_end(scope);
        return;
    }
    const gantry_tensor_t *last = gantry_strided_slice(scope, middle, from, to, NULL, 1, NULL);
    (void)gantry_unpack(scope, last, 0, rows, 4);
    (void)gantry_split(scope, rows[1], 0, halves, 2);
    const int64_t taken = bytes_in_use(c) - before;
    CHECK(c, taken < 1 << 18, "pieces took %" PRId64 " bytes", taken);
    gantry_tensor_drop(scope, flat);
    gantry_tensor_drop(scope, x);
    gantry_tensor_drop(scope, middle);
    gantry_tensor_drop(scope, last);
    make_noise(c, scope, 16 * 131072);
    conformance_check_floats(c, "the last piece", gantry_slice(scope, halves[0], front, four),
                             first, 4);
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* ---- files ---- */

static void npy_files_come_back(conformance_t *c) {
    char path[] = "/tmp/gantry_conformance_XXXXXX";
    const float wanted[] = {0, 1, 2, 3, 4, 5};
    int descriptor = mkstemp(path);
    if (descriptor < 0) {
        conformance_skip(c, "no temporary file can be made");
        return;
    }
    close(descriptor);
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *t =
        gantry_reshape(scope, conformance_iota(scope, 6), GANTRY_SHAPE(2, 3));
    gantry_status_t status = gantry_save_npy(scope, t, path);
    CHECK(c, status == GANTRY_OK, "saving: %s", conformance_last_error(status));
    const gantry_tensor_t *back = gantry_load_npy(scope, path);
    conformance_check_floats(c, "loaded", back, wanted, 6);
    if (back) {
        CHECK(c, gantry_tensor_shape(back)->rank == 2 && gantry_tensor_shape(back)->dims[1] == 3,
              "loaded with another shape");
        CHECK(c, gantry_tensor_device(back) == c->device, "loaded to another device");
    }
    remove(path);
    CHECK(c, !gantry_load_npy(scope, path), "a deleted file was loaded");
    conformance_check_status(c, "loading nothing", gantry_scope_status(scope), GANTRY_NOT_FOUND,
                             gantry_scope_message(scope), path);
    gantry_scope_end(scope);
}

/* rows x columns numbers that count from 0 in C order, stored in C or Fortran order. */
static void write_counting_file(const char *path, bool fortran, int32_t rows, int32_t columns) {
    FILE *file = fopen(path, "wb");
    char header[128];
    int length =
        snprintf(header, sizeof header,
                 "{'descr': '=i4', 'fortran_order': %s, 'shape': (%" PRId32 ", %" PRId32 ")}\n",
                 fortran ? "True" : "False", rows, columns);
    (void)fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    (void)fputc(length, file);
    (void)fputc(0, file);
    (void)fwrite(header, 1, (size_t)length, file);
    const int32_t count = rows * columns;
    int32_t *numbers = malloc((size_t)count * sizeof *numbers);
    if (!numbers) exit(2);
    for (int32_t i = 0; i < count; ++i) numbers[i] = fortran ? i % rows * columns + i / rows : i;
    (void)fwrite(numbers, sizeof *numbers, (size_t)count, file);
    (void)fclose(file);
    free(numbers);
}

/* Larger than one block of reading. */
static void large_npy_files_are_loaded(conformance_t *c) {
    enum { ROWS = 1201, COLUMNS = 1103 };
    static int32_t got[ROWS * COLUMNS];
    for (int fortran = 0; fortran < 2; ++fortran) {
        char path[] = "/tmp/gantry_conformance_XXXXXX";
        int descriptor = mkstemp(path);
        if (descriptor < 0) {
            conformance_skip(c, "no temporary file can be made");
            return;
        }
        close(descriptor);
        write_counting_file(path, fortran, ROWS, COLUMNS);
        gantry_scope_t *scope = conformance_scope(c);
        gantry_status_t status = gantry_tensor_read(gantry_load_npy(scope, path), got, sizeof got);
        int32_t wrong = 0;
        for (int32_t i = 0; i < ROWS * COLUMNS; ++i) wrong += got[i] != i;
        CHECK(c, status == GANTRY_OK && wrong == 0, "%" PRId32 " numbers differ: %s", wrong,
              gantry_scope_message(scope));
        memset(got, 0, sizeof got);
        remove(path);
        conformance_end_scope(c, scope, GANTRY_OK);
    }
}

static void what_is_no_npy_file_is_refused(conformance_t *c) {
    static const char *const paths[] = {"/dev/zero", "/dev/null", "/tmp"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
        gantry_scope_t *scope = conformance_scope(c);
        CHECK(c, !gantry_load_npy(scope, paths[i]), "%s was loaded", paths[i]);
        conformance_check_status(c, paths[i], gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT,
                                 gantry_scope_message(scope), "a plain file is accepted");
        gantry_scope_end(scope);
    }
}

void conformance_run_tensors(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"constants_of_all_types_come_back", constants_of_all_types_come_back},
        {"constants_of_many_sizes_come_back", constants_of_many_sizes_come_back},
        {"constant_copies_before_it_returns", constant_copies_before_it_returns},
        {"odd_bools_become_true", odd_bools_become_true},
        {"wrong_constants_are_refused", wrong_constants_are_refused},
        {"wrong_reads_are_refused", wrong_reads_are_refused},
        {"tensors_print_as_numpy_does", tensors_print_as_numpy_does},
        {"text_that_does_not_fit_is_cut", text_that_does_not_fit_is_cut},
        {"aliases_share_memory_and_outlive_their_source",
         aliases_share_memory_and_outlive_their_source},
        {"pieces_share_memory_and_outlive_their_source",
         pieces_share_memory_and_outlive_their_source},
        {"npy_files_come_back", npy_files_come_back},
        {"large_npy_files_are_loaded", large_npy_files_are_loaded},
        {"what_is_no_npy_file_is_refused", what_is_no_npy_file_is_refused},
    };
    conformance_run_checks(c, "tensor", checks, sizeof checks / sizeof checks[0]);
}
