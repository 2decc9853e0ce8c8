/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_load_elements reads elements from any place of an open file, without a second
 * copy in host memory, or with 4 MiB of host memory for another device.
 * Promise: A Git LFS pointer and an HTML page are named as such in place of an .npy file.
 * Promise: An error message of a site and a file of another format are named as such in place of an
 * .npy file.
 * Promise: Type, shape and place of the elements of an .npy file are known from its header,
 * whatever the size of the array. */
#define _XOPEN_SOURCE 700

#include "foreign_texts.h"
#include "function_fixture.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ELEMENTS (5 << 20) /* int32: 20 MiB of a fake GPU's 64 */
#define OFFSET 12345

static char path[] = "/tmp/gantry_load_elements.XXXXXX";
static int file = -1;

/* Zeros, which take no space on the disk, and 7 at the end. */
static void make_elements(void) {
    const int32_t last = 7;
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(
        pwrite(file, &last, sizeof last, OFFSET + ((off_t)ELEMENTS - 1) * (off_t)sizeof last),
        sizeof last);
}

static void write_text(const void *text, size_t bytes) {
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(pwrite(file, text, bytes, 0), (ssize_t)bytes);
}

TEST(the_host_holds_no_second_copy) {
    static const struct {
        const char *device;
        size_t most_bytes;
    } cases[] = {{"CPU:0", 64 << 10}, {"GPU:0", 4 << 20}};
    make_elements();
    for (size_t i = 0; i < 2; ++i) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, cases[i].device);
        EXPECT_F32(F32(scope, 1, 2), 1, 2); /* one-time allocations are done */
        assert_int_equal(lseek(file, 17, SEEK_SET), 17);
        f.heap.inner.most_bytes = cases[i].most_bytes;
        const gantry_tensor_t *loaded =
            gantry_load_elements(scope, file, path, OFFSET, GANTRY_INT32, GANTRY_SHAPE(ELEMENTS));
        if (!loaded) fail_msg("%s", gantry_scope_message(scope));
        f.heap.inner.most_bytes = 0;
        int32_t *got = calloc(ELEMENTS, sizeof *got);
        assert_non_null(got);
        assert_int_equal(gantry_tensor_read(loaded, got, (size_t)ELEMENTS * sizeof *got),
                         GANTRY_OK);
        assert_int_equal(got[ELEMENTS - 1], 7);
        for (int32_t n = 0; n < ELEMENTS - 1; ++n)
            if (got[n] != 0) fail_msg("element %d is %d", (int)n, (int)got[n]);
        free(got);
        assert_int_equal(lseek(file, 0, SEEK_CUR), 17);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

TEST(bools_and_empty_shapes_are_as_in_a_constant) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    write_text("\0\1\2\377", 4);
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t i = 0; i < 2; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[i]);
        const gantry_tensor_t *flags =
            gantry_load_elements(scope, file, path, 0, GANTRY_BOOL, GANTRY_SHAPE(4));
        unsigned char got[4];
        assert_int_equal(gantry_tensor_read(flags, got, 4), GANTRY_OK);
        assert_memory_equal(got, "\0\1\1\1", 4);
        assert_non_null(
            gantry_load_elements(scope, file, path, 4, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3)));
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

static void loading(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *loaded =
        gantry_load_elements(scope, file, path, 4, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    outputs[0] = gantry_add(scope, inputs[0], loaded);
}

TEST(a_function_keeps_what_its_body_loads) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    const float numbers[] = {1, 2, 3};
    write_text(numbers, sizeof numbers);
    const gantry_input_spec_t input = SPEC_F32(2);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, loading, NULL, &input, 1, 1, NULL);
    write_text("", 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 10, 20), *y = NULL;
    function_fixture_call(scope, function, &x, 1, &y, 1);
    EXPECT_F32(y, 12, 23);
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(wrong_places_are_refused) {
    runtime_fixture_t f;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    runtime_fixture_open(&f, 1);
    write_text("0123456789abcdef", 16);
    const struct {
        int file;
        int64_t offset;
        gantry_dtype_t dtype;
        gantry_shape_t shape;
        gantry_status_t status;
        const char *text;
    } cases[] = {
        {file, -1, GANTRY_FLOAT32, GANTRY_SHAPE(2), GANTRY_INVALID_ARGUMENT, "the offset is -1"},
        {file, 12, GANTRY_FLOAT32, GANTRY_SHAPE(2), GANTRY_DATA_LOSS,
         "it ends at byte 16, 4 bytes too early"},
        {file, INT64_MAX, GANTRY_FLOAT32, GANTRY_SHAPE(2), GANTRY_DATA_LOSS, "it ends at byte 16"},
        {file, 0, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 30, 1 << 30), GANTRY_DATA_LOSS,
         "it ends at byte 16"},
        {file, 0, GANTRY_FLOAT32, GANTRY_SHAPE(-1), GANTRY_INVALID_ARGUMENT, "is not possible"},
        {file, 0, (gantry_dtype_t)99, GANTRY_SHAPE(1), GANTRY_INVALID_ARGUMENT, "type 99"},
        {ends[0], 0, GANTRY_FLOAT32, GANTRY_SHAPE(2), GANTRY_INVALID_ARGUMENT,
         "no open plain file"},
        {-1, 0, GANTRY_FLOAT32, GANTRY_SHAPE(2), GANTRY_INVALID_ARGUMENT, "no open plain file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, i % 2 ? "GPU:0" : "CPU:0");
        assert_null(gantry_load_elements(scope, cases[i].file, path, cases[i].offset,
                                         cases[i].dtype, cases[i].shape));
        expect_scope_failure(scope, cases[i].status, cases[i].text);
        (void)gantry_scope_end(scope);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    runtime_fixture_close(&f);
}

TEST(pointers_and_pages_are_named) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t i = 0; i < FOREIGN_TEXTS; ++i) {
        const char *text = foreign_texts[i].text, *wanted = foreign_texts[i].kind;
        const char *kind = gantry_recognize_file(text, strlen(text));
        if (wanted) assert_non_null(kind);
        if (wanted) assert_ptr_equal(strstr(kind, wanted), kind);
        if (!wanted) assert_null(kind);
        write_text(text, strlen(text));
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        assert_null(gantry_load_npy(scope, path));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                             wanted ? wanted : "does not begin with");
        (void)gantry_scope_end(scope);
    }
    assert_null(gantry_recognize_file(NULL, 0));
    runtime_fixture_close(&f);
}

/* A file of 5 GB, of which 128 bytes are there. */
TEST(a_header_tells_of_an_array_of_any_size) {
    char header[GANTRY_NPY_HEADER_BYTES];
    const gantry_shape_t wanted = GANTRY_SHAPE(5, 1000000000);
    size_t bytes = 0;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    uint64_t offset = 0;
    assert_int_equal(gantry_format_npy_header(GANTRY_UINT8, &wanted, header, &bytes), GANTRY_OK);
    const uint64_t all = bytes + UINT64_C(5000000000);
    assert_int_equal(gantry_parse_npy_header(header, bytes, all, &dtype, &shape, &offset),
                     GANTRY_OK);
    assert_int_equal(dtype, GANTRY_UINT8);
    assert_true(gantry_shape_equal(&shape, &wanted));
    assert_int_equal(offset, bytes);
    assert_int_equal(gantry_parse_npy_header(header, bytes, all - 1, &dtype, &shape, &offset),
                     GANTRY_DATA_LOSS);
    for (size_t front = 0; front < bytes; ++front)
        assert_int_not_equal(gantry_parse_npy_header(header, front, all, &dtype, &shape, &offset),
                             GANTRY_OK);
    expect_failure(gantry_parse_npy_header(header, 50, all, &dtype, &shape, &offset),
                   GANTRY_INVALID_ARGUMENT, "50 bytes of the .npy file are given; its header ends");
}

static int make_path(void **state) {
    (void)state;
    file = mkstemp(path);
    return file < 0 ? -1 : 0;
}

static int remove_path(void **state) {
    (void)state;
    (void)close(file);
    return unlink(path);
}

int main(void) {
    return test_main_with(make_path, remove_path, runtime_fixture_set_up,
                          runtime_fixture_tear_down);
}
