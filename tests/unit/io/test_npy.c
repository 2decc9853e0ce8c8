/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The parser of .npy files refuses every broken header, reads and writes every type of
 * element, and survives mutated files. */
#define _XOPEN_SOURCE 700

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/new_file.h"
#include "failing_heap.h"
#include "host/bits.h"
#include "io/npy.h"
#include "test.h"

/* ---- files made by hand ---- */

typedef struct file_t {
    unsigned char bytes[4096];
    size_t size;
} file_t;

/* A file of format major.0 with this header text and these elements. */
static file_t make_file(unsigned major, const char *header, const void *data, size_t data_bytes) {
    file_t file = {.bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)major, 0}};
    size_t length = strlen(header);
    file.bytes[8] = (unsigned char)(length & 0xff);
    file.bytes[9] = (unsigned char)(length >> 8);
    file.size = major == 1 ? 10 : 12;
    memcpy(file.bytes + file.size, header, length);
    file.size += length;
    if (data_bytes > 0) memcpy(file.bytes + file.size, data, data_bytes);
    file.size += data_bytes;
    return file;
}

/* The machine's order of bytes, which files have that are made of its numbers. */
#if GANTRY__IS_BIG_ENDIAN
#define OWN ">"
#else
#define OWN "<"
#endif

static const float six_floats[6] = {1, 2, 3, 4, 5, 6};

/* Parses a block of exactly the file's size, so that the sanitizer sees a read past its end. */
static gantry_status_t parse_exact(const file_t *file, size_t size) {
    unsigned char *block = malloc(size ? size : 1);
    assert_non_null(block);
    memcpy(block, file->bytes, size);
    gantry__npy_view_t view;
    gantry_status_t status = gantry__npy_parse(block, size, &view);
    if (status == GANTRY_OK) {
        assert_int_equal(view.data_offset + view.data_bytes, size);
        assert_ptr_equal(view.data, block + view.data_offset);
        char *target = malloc(view.data_bytes + 1);
        assert_non_null(target);
        target[view.data_bytes] = 77;
        gantry__npy_copy(&view, target);
        assert_int_equal(target[view.data_bytes], 77);
        free(target);
    }
    free(block);
    return status;
}

typedef struct header_row_t {
    const char *header;
    gantry_status_t status;
    const char *message; /* a part of the message */
} header_row_t;

/* 24 bytes of elements follow each header. */
static const header_row_t header_rows[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n", GANTRY_OK, NULL},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", GANTRY_OK, NULL},
    {"{\"shape\":(6,),\"fortran_order\":True,\"descr\":\"f4\"}", GANTRY_OK, NULL},
    {" { 'descr' : '>f8' ,\n'fortran_order' :False,'shape':( 3L , 1L , ) , } \n", GANTRY_OK, NULL},
    {"{'descr': '=i4', 'fortran_order': False, 'shape': (6,), }", GANTRY_OK, NULL},
    {"{'descr': '<i1', 'fortran_order': False, 'shape': (24,), }", GANTRY_OK, NULL},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (24,), }", GANTRY_OK, NULL},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (24,), }", GANTRY_OK, NULL},
    {"{'descr': '<c8', 'fortran_order': True, 'shape': (3, 1), }", GANTRY_OK, NULL},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 2, 1, 3, 2, 1, 1), }", GANTRY_OK,
     NULL},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 2, 1, 3, 2, 1, 1, 1), }",
     GANTRY_UNIMPLEMENTED, "8 dimensions"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", GANTRY_DATA_LOSS,
     "20 bytes of elements and has 24"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", GANTRY_DATA_LOSS,
     "followed by something else"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", GANTRY_DATA_LOSS,
     "0 bytes of elements"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", GANTRY_DATA_LOSS, "truncated"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }", GANTRY_DATA_LOSS,
     "truncated"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
     GANTRY_INVALID_ARGUMENT, "too large"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }",
     GANTRY_INVALID_ARGUMENT, "too large"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }",
     GANTRY_INVALID_ARGUMENT, "too large"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,), }",
     GANTRY_INVALID_ARGUMENT, "below 2^63"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
     GANTRY_INVALID_ARGUMENT, "below 2^63"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -3), }", GANTRY_INVALID_ARGUMENT,
     "never negative"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6), }", GANTRY_INVALID_ARGUMENT, "','"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': 6, }", GANTRY_INVALID_ARGUMENT, "tuple"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': [6], }", GANTRY_INVALID_ARGUMENT, "tuple"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", GANTRY_INVALID_ARGUMENT,
     "a dimension"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,,3), }", GANTRY_INVALID_ARGUMENT,
     "a dimension"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", GANTRY_INVALID_ARGUMENT, "','"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6.0,), }", GANTRY_INVALID_ARGUMENT,
     "'.0,), }'"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (6,), }", GANTRY_INVALID_ARGUMENT,
     "True or False"},
    {"{'descr': '<f4', 'fortran_order': 'False', 'shape': (6,), }", GANTRY_INVALID_ARGUMENT,
     "True or False"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", GANTRY_UNIMPLEMENTED,
     "Python objects"},
    {"{'descr': 'O8', 'fortran_order': False, 'shape': (3,), }", GANTRY_UNIMPLEMENTED,
     "Python objects"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }", GANTRY_UNIMPLEMENTED,
     "records"},
    {"{'descr': '<U6', 'fortran_order': False, 'shape': (1,), }", GANTRY_UNIMPLEMENTED, "'<U6'"},
    {"{'descr': '|S24', 'fortran_order': False, 'shape': (1,), }", GANTRY_UNIMPLEMENTED, "'|S24'"},
    {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }", GANTRY_UNIMPLEMENTED,
     "'<M8[ns]'"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }", GANTRY_UNIMPLEMENTED, "'<f16'"},
    {"{'descr': '<c32', 'fortran_order': False, 'shape': (1,), }", GANTRY_UNIMPLEMENTED, "'<c32'"},
    {"{'descr': '|f4', 'fortran_order': False, 'shape': (6,), }", GANTRY_UNIMPLEMENTED, "'|f4'"},
    {"{'descr': '', 'fortran_order': False, 'shape': (6,), }", GANTRY_UNIMPLEMENTED, "''"},
    {"{'descr': '<', 'fortran_order': False, 'shape': (6,), }", GANTRY_UNIMPLEMENTED, "'<'"},
    {"{'descr': '\x01\x7f\x80zz', 'fortran_order': False, 'shape': (6,), }", GANTRY_UNIMPLEMENTED,
     "'\?\?\?zz'"},
    {"{'descr': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'fortran_order': False}",
     GANTRY_UNIMPLEMENTED, "aaa...'"},
    {"{'descr': None, 'fortran_order': False, 'shape': (6,), }", GANTRY_INVALID_ARGUMENT,
     "('descr')"},
    {"{'descr': '<f4, 'fortran_order': False, 'shape': (6,), }", GANTRY_UNIMPLEMENTED, "'<f4, '"},
    {"{'descr': '<f4', 'fortran_order': False, }", GANTRY_INVALID_ARGUMENT,
     "lacks the key 'shape'"},
    {"{'fortran_order': False, 'shape': (6,)}", GANTRY_INVALID_ARGUMENT, "lacks the key 'descr'"},
    {"{'descr': '<f4', 'shape': (6,)}", GANTRY_INVALID_ARGUMENT, "lacks the key 'fortran_order'"},
    {"{}", GANTRY_INVALID_ARGUMENT, "lacks the key"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}", GANTRY_INVALID_ARGUMENT,
     "unknown key 'more'"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}",
     GANTRY_INVALID_ARGUMENT, "second key 'descr'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} + 1", GANTRY_INVALID_ARGUMENT,
     "nothing more"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)", GANTRY_INVALID_ARGUMENT,
     "ends where"},
    {"{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}", GANTRY_INVALID_ARGUMENT,
     "',' or '}'"},
    {"{'descr' '<f4', 'fortran_order': False, 'shape': (6,)}", GANTRY_INVALID_ARGUMENT, "':'"},
    {"{, }", GANTRY_INVALID_ARGUMENT, "a key"},
    {"{'de\\x73cr': '<f4'}", GANTRY_INVALID_ARGUMENT, "a key"},
    {"[]", GANTRY_INVALID_ARGUMENT, "'{'"},
    {"", GANTRY_INVALID_ARGUMENT, "ends where '{'"},
};

TEST(header_table_gives_status_and_message) {
    for (size_t i = 0; i < sizeof header_rows / sizeof header_rows[0]; ++i) {
        const header_row_t *row = &header_rows[i];
        for (unsigned major = 1; major <= 3; ++major) {
            file_t file = make_file(major, row->header, six_floats, sizeof six_floats);
            gantry_status_t status = parse_exact(&file, file.size);
            if (status != row->status)
                fail_msg("%s: %s, %s", row->header, gantry_status_name(status), gantry__message());
            if (row->message && !strstr(gantry__message(), row->message))
                fail_msg("%s: %s", row->header, gantry__message());
        }
    }
}

TEST(every_truncation_is_refused) {
    for (unsigned major = 1; major <= 3; ++major) {
        file_t file = make_file(major, header_rows[0].header, six_floats, sizeof six_floats);
        for (size_t size = 0; size < file.size; ++size) {
            gantry_status_t status = parse_exact(&file, size);
            assert_int_equal(status, size < 6 ? GANTRY_INVALID_ARGUMENT : GANTRY_DATA_LOSS);
        }
        assert_int_equal(parse_exact(&file, file.size), GANTRY_OK);
    }
}

TEST(foreign_beginning_or_version_is_refused) {
    file_t file = make_file(1, header_rows[0].header, six_floats, sizeof six_floats);
    file_t other = file;
    other.bytes[0] = 'P';
    assert_int_equal(parse_exact(&other, other.size), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "not an .npy file"));
    other = file;
    other.bytes[6] = 4;
    assert_int_equal(parse_exact(&other, other.size), GANTRY_UNIMPLEMENTED);
    assert_non_null(strstr(gantry__message(), "version 4.0"));
    other.bytes[6] = 0;
    assert_int_equal(parse_exact(&other, other.size), GANTRY_UNIMPLEMENTED);
    other.bytes[6] = 1;
    other.bytes[7] = 1;
    assert_int_equal(parse_exact(&other, other.size), GANTRY_UNIMPLEMENTED);
}

TEST(huge_header_length_is_refused) {
    file_t file = make_file(2, header_rows[0].header, six_floats, sizeof six_floats);
    memset(file.bytes + 8, 0xff, 4);
    assert_int_equal(parse_exact(&file, file.size), GANTRY_DATA_LOSS);
    assert_non_null(strstr(gantry__message(), "4294967295"));
}

/* ---- elements ---- */

TEST(big_endian_is_converted) {
    const unsigned char ints[] = {0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe};
    const unsigned char doubles[] = {0x3f, 0xf8, 0, 0, 0, 0, 0, 0};
    const unsigned char complexes[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
    const unsigned char shorts[] = {0x01, 0x02};
    gantry__npy_view_t view;
    file_t file = make_file(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", ints,
                            sizeof ints);
    int32_t int_values[2];
    assert_int_equal(gantry__npy_parse(file.bytes, file.size, &view), GANTRY_OK);
    gantry__npy_copy(&view, int_values);
    assert_int_equal(int_values[0], 258);
    assert_int_equal(int_values[1], -2);
    file = make_file(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (), }", doubles,
                     sizeof doubles);
    double double_value;
    assert_int_equal(gantry__npy_parse(file.bytes, file.size, &view), GANTRY_OK);
    gantry__npy_copy(&view, &double_value);
    assert_true(double_value == 1.5);
    file = make_file(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }", complexes,
                     sizeof complexes);
    float complex_value[2];
    assert_int_equal(gantry__npy_parse(file.bytes, file.size, &view), GANTRY_OK);
    gantry__npy_copy(&view, complex_value);
    assert_true(complex_value[0] == 1.0f && complex_value[1] == 2.0f);
    file = make_file(1, "{'descr': '>u2', 'fortran_order': False, 'shape': (1,), }", shorts,
                     sizeof shorts);
    uint16_t short_value;
    assert_int_equal(gantry__npy_parse(file.bytes, file.size, &view), GANTRY_OK);
    gantry__npy_copy(&view, &short_value);
    assert_int_equal(short_value, 258);
}

TEST(fortran_order_is_turned_to_rows) {
    gantry__npy_view_t view;
    file_t file = make_file(1, "{'descr': '" OWN "f4', 'fortran_order': True, 'shape': (2, 3), }",
                            six_floats, sizeof six_floats);
    assert_int_equal(gantry__npy_parse(file.bytes, file.size, &view), GANTRY_OK);
    assert_true(view.fortran_order);
    float rows[6];
    gantry__npy_copy(&view, rows);
    const float expected[6] = {1, 3, 5, 2, 4, 6};
    assert_memory_equal(rows, expected, sizeof expected);
    /* rank 4: the element at (i, j, k, l) is stored at i + 2 (j + 3 (k + 2 l)) */
    unsigned char bytes[24], out[24];
    for (unsigned i = 0; i < 24; ++i) bytes[i] = (unsigned char)i;
    file = make_file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2, 2), }", bytes,
                     sizeof bytes);
    assert_int_equal(gantry__npy_parse(file.bytes, file.size, &view), GANTRY_OK);
    gantry__npy_copy(&view, out);
    for (unsigned i = 0; i < 2; ++i)
        for (unsigned j = 0; j < 3; ++j)
            for (unsigned k = 0; k < 2; ++k)
                for (unsigned l = 0; l < 2; ++l)
                    assert_int_equal(out[((i * 3 + j) * 2 + k) * 2 + l],
                                     i + 2 * (j + 3 * (k + 2 * l)));
}

TEST(bool_bytes_become_zero_or_one) {
    const unsigned char bytes[4] = {0, 1, 2, 255};
    gantry__npy_view_t view;
    unsigned char out[4];
    file_t file = make_file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", bytes,
                            sizeof bytes);
    assert_int_equal(gantry__npy_parse(file.bytes, file.size, &view), GANTRY_OK);
    gantry__npy_copy(&view, out);
    const unsigned char expected[4] = {0, 1, 1, 1};
    assert_memory_equal(out, expected, 4);
}

/* ---- writing ---- */

typedef struct written_row_t {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    const char *dict; /* as NumPy 2.4 writes it, without the padding */
} written_row_t;

static const written_row_t written_rows[] = {
    {GANTRY_FLOAT32, {0, {0}}, "{'descr': '" OWN "f4', 'fortran_order': False, 'shape': (), }"},
    {GANTRY_INT64, {1, {3}}, "{'descr': '" OWN "i8', 'fortran_order': False, 'shape': (3,), }"},
    {GANTRY_BOOL, {3, {2, 0, 5}}, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 0, 5), }"},
    {GANTRY_FLOAT64,
     {8, {1, 2, 3, 4, 5, 6, 7, 8}},
     "{'descr': '" OWN "f8', 'fortran_order': False, 'shape': (1, 2, 3, 4, 5, 6, 7, 8), }"},
    {GANTRY_UINT8,
     {2, {1234567, 1}},
     "{'descr': '|u1', 'fortran_order': False, 'shape': (1234567, 1), }"},
    {GANTRY_COMPLEX64, {1, {2}}, "{'descr': '" OWN "c8', 'fortran_order': False, 'shape': (2,), }"},
    {GANTRY_COMPLEX128,
     {1, {2}},
     "{'descr': '" OWN "c16', 'fortran_order': False, 'shape': (2,), }"},
};

TEST(header_written_is_numpys) {
    for (size_t i = 0; i < sizeof written_rows / sizeof written_rows[0]; ++i) {
        char expected[128], header[GANTRY__NPY_HEADER_BYTES];
        size_t bytes;
        memset(expected, ' ', sizeof expected);
        memcpy(expected, "\x93NUMPY\x01\x00v\x00", 10);
        memcpy(expected + 10, written_rows[i].dict, strlen(written_rows[i].dict));
        expected[127] = '\n';
        assert_int_equal(
            gantry__npy_header(written_rows[i].dtype, &written_rows[i].shape, header, &bytes),
            GANTRY_OK);
        assert_int_equal(bytes, sizeof expected);
        assert_memory_equal(header, expected, sizeof expected);
    }
}

TEST(longest_header_fits) {
    char header[GANTRY__NPY_HEADER_BYTES];
    size_t bytes;
    gantry_shape_t shape = {.rank = 8, .dims = {INT64_MAX / 8, 1, 1, 1, 1, 1, 1, 1}};
    assert_int_equal(gantry__npy_header(GANTRY_UINT8, &shape, header, &bytes), GANTRY_OK);
    for (int i = 1; i < 8; ++i) shape.dims[i] = 0;
    assert_int_equal(gantry__npy_header(GANTRY_UINT8, &shape, header, &bytes), GANTRY_OK);
    assert_int_equal(bytes % 64, 0);
    assert_int_equal(header[bytes - 1], '\n');
}

TEST(unwritable_types_and_shapes_are_refused) {
    char header[GANTRY__NPY_HEADER_BYTES];
    size_t bytes;
    assert_int_equal(gantry__npy_header(GANTRY_BFLOAT16, &GANTRY_SHAPE(2), header, &bytes),
                     GANTRY_UNIMPLEMENTED);
    assert_non_null(strstr(gantry__message(), "bfloat16"));
    assert_int_equal(gantry__npy_header(GANTRY_FLOAT32, &GANTRY_SHAPE(-2), header, &bytes),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "[-2]"));
    gantry_shape_t nine = {.rank = 9};
    assert_int_equal(gantry__npy_header(GANTRY_FLOAT32, &nine, header, &bytes),
                     GANTRY_INVALID_ARGUMENT);
}

/* ---- files ---- */

static char file_path[PATH_MAX];

static int make_path(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(file_path, sizeof file_path, "%s/gantry_test_npy.XXXXXX",
                   base && base[0] ? base : "/tmp");
    int fd = mkstemp(file_path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state) {
    (void)state;
    return unlink(file_path);
}

static void put_file(const file_t *file) {
    gantry__file_piece_t piece = {file->bytes, file->size};
    assert_int_equal(gantry__file_write(file_path, &piece, 1, 0), GANTRY_OK);
}

typedef struct loaded_t {
    gantry__npy_view_t array;
    unsigned char data[4096];
} loaded_t;

static gantry_status_t load_from(const gantry__heap_t *heap, const char *path, size_t max_bytes,
                                 loaded_t *out) {
    gantry__npy_file_t file;
    gantry_status_t status = gantry__npy_open(heap, path, max_bytes, &file);
    out->array = file.array;
    if (status == GANTRY_OK) {
        assert_in_range(file.array.data_bytes, 0, sizeof out->data);
        status = gantry__npy_read(heap, &file, out->data, file.array.data_bytes);
    }
    gantry__npy_close(&file);
    return status;
}

static gantry_status_t load(loaded_t *out) {
    return load_from(&gantry__heap_default, file_path, SIZE_MAX, out);
}

static void save(gantry_dtype_t dtype, const gantry_shape_t *shape, const void *data,
                 size_t bytes) {
    char header[GANTRY__NPY_HEADER_BYTES];
    size_t header_bytes;
    assert_int_equal(gantry__npy_header(dtype, shape, header, &header_bytes), GANTRY_OK);
    const gantry__file_piece_t pieces[] = {{header, header_bytes}, {data, bytes}};
    assert_int_equal(gantry__file_write(file_path, pieces, 2, 0), GANTRY_OK);
}

TEST_WITH(saved_array_loads_back, make_path, remove_path) {
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    static loaded_t loaded;
    save(GANTRY_FLOAT32, &GANTRY_SHAPE(3, 2), six_floats, sizeof six_floats);
    assert_int_equal(load_from(&heap.heap, file_path, SIZE_MAX, &loaded), GANTRY_OK);
    assert_int_equal(loaded.array.dtype, GANTRY_FLOAT32);
    assert_true(gantry_shape_equal(&loaded.array.shape, &GANTRY_SHAPE(3, 2)));
    assert_int_equal(loaded.array.data_bytes, sizeof six_floats);
    assert_memory_equal(loaded.data, six_floats, sizeof six_floats);
    save(GANTRY_INT64, &GANTRY_SHAPE(0, 2), NULL, 0);
    assert_int_equal(load_from(&heap.heap, file_path, SIZE_MAX, &loaded), GANTRY_OK);
    assert_int_equal(loaded.array.data_bytes, 0);
    assert_true(gantry_shape_equal(&loaded.array.shape, &GANTRY_SHAPE(0, 2)));
    assert_int_equal(heap.live_bytes, 0);
    assert_false(heap.wrong_size);
}

TEST_WITH(elements_are_loaded_from_any_offset, make_path, remove_path) {
    static loaded_t loaded;
    const double values[2] = {1.5, -2.5};
    for (int blanks = 0; blanks < 16; ++blanks) {
        char header[128];
        (void)snprintf(header, sizeof header,
                       "{'descr': '" OWN "f8', 'fortran_order': False, 'shape': (2,)}%*s\n", blanks,
                       "");
        for (unsigned major = 1; major <= 3; ++major) {
            file_t file = make_file(major, header, values, sizeof values);
            put_file(&file);
            assert_int_equal(load(&loaded), GANTRY_OK);
            assert_memory_equal(loaded.data, values, sizeof values);
        }
    }
}

/* Expects the result of gantry__npy_parse and gantry__npy_copy for the same bytes; other tests
 * check those functions. */
TEST_WITH(file_is_loaded_as_its_bytes_are_parsed, make_path, remove_path) {
    static loaded_t loaded;
    for (size_t i = 0; i < sizeof header_rows / sizeof header_rows[0]; ++i) {
        for (unsigned major = 1; major <= 3; ++major) {
            unsigned char data[24];
            for (unsigned k = 0; k < sizeof data; ++k) data[k] = (unsigned char)(k * 37 % 5);
            file_t file = make_file(major, header_rows[i].header, data, sizeof data);
            gantry__npy_view_t view;
            unsigned char copied[24];
            char message[GANTRY__MESSAGE_BYTES] = "";
            put_file(&file);
            gantry_status_t parsed = gantry__npy_parse(file.bytes, file.size, &view);
            if (parsed == GANTRY_OK) gantry__npy_copy(&view, copied);
            (void)snprintf(message, sizeof message, "%s", gantry__message());
            assert_int_equal(load(&loaded), parsed);
            if (parsed == GANTRY_OK) {
                assert_memory_equal(loaded.data, copied, sizeof data);
            } else if (!strstr(gantry__message(), message)) {
                fail_msg("%s: %s", gantry__message(), message);
            }
        }
    }
}

TEST_WITH(load_failures_name_the_file, make_path, remove_path) {
    static loaded_t loaded;
    file_t file = make_file(1, header_rows[0].header, six_floats, sizeof six_floats - 1);
    put_file(&file);
    assert_int_equal(load(&loaded), GANTRY_DATA_LOSS);
    assert_non_null(strstr(gantry__message(), file_path));
    assert_non_null(strstr(gantry__message(), "24 bytes of elements and has 23: it is truncated"));
    assert_int_equal(load_from(&gantry__heap_default, file_path, 50, &loaded), GANTRY_OUT_OF_RANGE);
    assert_int_equal(load_from(&gantry__heap_default, "/nowhere/a.npy", 50, &loaded),
                     GANTRY_NOT_FOUND);
    assert_non_null(strstr(gantry__message(), "/nowhere/a.npy"));
}

/* Opening a pipe would wait for a writer, and /dev/zero never ends. */
TEST_WITH(what_is_no_plain_file_is_named_and_not_read, make_path, remove_path) {
    static loaded_t loaded;
    failing_heap_t heap;
    char path[PATH_MAX];
    failing_heap_init(&heap, 0); /* the load must not allocate */
    (void)snprintf(path, sizeof path, "%.*s.pipe", PATH_MAX - 8, file_path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const struct {
        const char *path, *kind;
    } cases[] = {{"/dev/zero", "a device"}, {"/dev", "a directory"}, {path, "a pipe"}};
    (void)alarm(60); /* SIGALRM ends a test that waits for a pipe */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(load_from(&heap.heap, cases[i].path, SIZE_MAX, &loaded),
                         GANTRY_INVALID_ARGUMENT);
        assert_non_null(strstr(gantry__message(), cases[i].path));
        assert_non_null(strstr(gantry__message(), cases[i].kind));
    }
    (void)alarm(0);
    assert_int_equal(unlink(path), 0);
}

/* A file of `size` bytes that begins with these; a hole follows. */
static void put_sparse_file(const file_t *file, long size) {
    put_file(file);
    assert_int_equal(truncate(file_path, size), 0);
}

/* Each file is refused after its first bytes, without an allocation for the rest. */
TEST_WITH(large_file_that_is_none_costs_no_memory, make_path, remove_path) {
    static loaded_t loaded;
    failing_heap_t heap;
    file_t zeros = {.size = 64},
           array = make_file(1, header_rows[0].header, six_floats, sizeof six_floats);
    file_t header = make_file(3, header_rows[0].header, six_floats, sizeof six_floats);
    failing_heap_init(&heap, -1);
    heap.most_bytes = 4096;
    put_sparse_file(&zeros, 1L << 33);
    assert_int_equal(load_from(&heap.heap, file_path, SIZE_MAX, &loaded), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "does not begin with"));
    put_sparse_file(&array, 1L << 33);
    assert_int_equal(load_from(&heap.heap, file_path, SIZE_MAX, &loaded), GANTRY_DATA_LOSS);
    assert_non_null(strstr(gantry__message(), "followed by something else"));
    header.bytes[11] = 0x10; /* a header of more than 256 MiB */
    put_sparse_file(&header, 1L << 33);
    assert_int_equal(load_from(&heap.heap, file_path, SIZE_MAX, &loaded), GANTRY_UNIMPLEMENTED);
    assert_non_null(strstr(gantry__message(), "at most 65535 are accepted"));
}

/* The file changes after it was opened and before it is read. */
TEST_WITH(file_that_changes_its_length_is_refused, make_path, remove_path) {
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"};
    static const struct {
        long change;
        const char *text;
    } cases[] = {{-1, "24 bytes of elements and has 23: it is truncated"},
                 {+1, "followed by something else"}};
    for (size_t i = 0; i < 4; ++i) {
        float target[6];
        gantry__npy_file_t opened;
        file_t file = make_file(1, headers[i / 2], six_floats, sizeof six_floats);
        put_file(&file);
        assert_int_equal(gantry__npy_open(&gantry__heap_default, file_path, SIZE_MAX, &opened),
                         GANTRY_OK);
        assert_int_equal(truncate(file_path, (long)file.size + cases[i % 2].change), 0);
        assert_int_equal(gantry__npy_read(&gantry__heap_default, &opened, target, sizeof target),
                         GANTRY_DATA_LOSS);
        assert_non_null(strstr(gantry__message(), cases[i % 2].text));
        assert_non_null(strstr(gantry__message(), file_path));
        gantry__npy_close(&opened);
    }
}

TEST_WITH(memory_running_out_leaks_nothing, make_path, remove_path) {
    static loaded_t loaded;
    file_t file = make_file(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                            six_floats, sizeof six_floats);
    put_file(&file);
    for (long at = 0; at < 3; ++at) {
        failing_heap_t heap;
        failing_heap_init(&heap, at);
        gantry_status_t status = load_from(&heap.heap, file_path, SIZE_MAX, &loaded);
        assert_int_equal(status, at < 2 ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK);
        assert_int_equal(heap.live_blocks, 0);
        assert_false(heap.wrong_size);
    }
}

/* More elements than one block of the conversion. */
TEST_WITH(large_fortran_order_is_turned_block_by_block, make_path, remove_path) {
    enum { ROWS = 700, COLUMNS = 1100 };
    int32_t *columns = malloc(ROWS * COLUMNS * sizeof *columns),
            *rows = malloc(ROWS * COLUMNS * sizeof *rows);
    assert_non_null(columns);
    assert_non_null(rows);
    for (int32_t i = 0; i < ROWS * COLUMNS; ++i) columns[i] = i;
    file_t file = make_file(
        1, "{'descr': '" OWN "i4', 'fortran_order': True, 'shape': (700, 1100), }", NULL, 0);
    const gantry__file_piece_t pieces[] = {{file.bytes, file.size},
                                           {columns, ROWS * COLUMNS * sizeof *columns}};
    assert_int_equal(gantry__file_write(file_path, pieces, 2, 0), GANTRY_OK);
    gantry__npy_file_t opened;
    assert_int_equal(gantry__npy_open(&gantry__heap_default, file_path, SIZE_MAX, &opened),
                     GANTRY_OK);
    assert_int_equal(
        gantry__npy_read(&gantry__heap_default, &opened, rows, ROWS * COLUMNS * sizeof *rows),
        GANTRY_OK);
    gantry__npy_close(&opened);
    for (int32_t i = 0; i < ROWS; ++i)
        for (int32_t j = 0; j < COLUMNS; ++j) assert_int_equal(rows[i * COLUMNS + j], i + j * ROWS);
    free(rows);
    free(columns);
}

/* ---- hostile bytes ---- */

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void mutate(file_t *file, uint64_t *seed) {
    static const char tokens[] = "{}()[]',:\"<>|=-0123456789LTrueFalsedescrshapefortran_order \n\\";
    for (uint64_t changes = 1 + next_random(seed) % 4; changes > 0; --changes) {
        size_t at = next_random(seed) % file->size;
        switch (next_random(seed) % 5) {
            case 0: file->bytes[at] = (unsigned char)next_random(seed); break;
            case 1:
                file->bytes[at] = (unsigned char)tokens[next_random(seed) % (sizeof tokens - 1)];
                break;
            case 2: file->bytes[at] ^= (unsigned char)(1u << (next_random(seed) % 8)); break;
            case 3: /* removes a byte */
                memmove(file->bytes + at, file->bytes + at + 1, file->size - at - 1);
                if (file->size > 1) --file->size;
                break;
            default: /* inserts a byte */
                if (file->size == sizeof file->bytes) break;
                memmove(file->bytes + at + 1, file->bytes + at, file->size - at);
                ++file->size;
                break;
        }
    }
}

TEST(mutated_files_never_break_the_parser) {
    uint64_t seed = 20240229;
    long accepted = 0;
    const size_t rows = sizeof header_rows / sizeof header_rows[0];
    for (int i = 0; i < 400000; ++i) {
        file_t file = make_file(1 + (unsigned)(i % 3), header_rows[(size_t)i % rows].header,
                                six_floats, sizeof six_floats);
        mutate(&file, &seed);
        if (parse_exact(&file, file.size) == GANTRY_OK) ++accepted;
    }
    assert_in_range(accepted, 100, 399000); /* some mutated files parse, and some are refused */
}

int main(void) { return test_main(); }
