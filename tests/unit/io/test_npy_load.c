/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_load_npy holds no second copy of the file in host memory. */
#define _XOPEN_SOURCE 700

#include "host/bits.h"
#include "runtime_fixture.h"
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#define ELEMENTS (10 << 20) /* int32: 40 MiB of a fake GPU's 64 */

static char path[] = "/tmp/gantry_test_npy_load.XXXXXX";

/* Zeros, which take no space on the disk, and 7 at the end. */
static void make_file(const char *order) {
    const int32_t last = 7;
    char header[118];
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    memset(header, ' ', sizeof header);
    int length = snprintf(header, sizeof header,
                          "{'descr': '%ci4', 'fortran_order': %s, 'shape': (1024, %d), }",
                          GANTRY__IS_BIG_ENDIAN ? '>' : '<', order, ELEMENTS / 1024);
    header[length] = ' ';
    header[sizeof header - 1] = '\n';
    assert_int_equal(fwrite("\x93NUMPY\x01\x00v\x00", 1, 10, file), 10);
    assert_int_equal(fwrite(header, 1, sizeof header, file), sizeof header);
    assert_int_equal(fseek(file, (long)(ELEMENTS - 1) * 4, SEEK_CUR), 0);
    assert_int_equal(fwrite(&last, sizeof last, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void expect_loaded(gantry_scope_t *scope) {
    int32_t *got = calloc(ELEMENTS, sizeof *got);
    assert_non_null(got);
    const gantry_tensor_t *loaded = gantry_load_npy(scope, path);
    if (!loaded) fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_tensor_read(loaded, got, (size_t)ELEMENTS * sizeof *got), GANTRY_OK);
    assert_int_equal(got[ELEMENTS - 1], 7);
    for (int32_t i = 0; i < ELEMENTS - 1; ++i)
        if (got[i] != 0) fail_msg("element %d is %d", (int)i, (int)got[i]);
    free(got);
}

/* The heap refuses requests beyond a block of the file; the tensors' memory is elsewhere. */
TEST(load_takes_no_second_copy_of_the_file) {
    static const struct {
        const char *device, *order;
        size_t most_bytes;
    } cases[] = {
        {"CPU:0", "False", 64 << 10}, {"CPU:0", "True", 1 << 20}, {"GPU:0", "False", 4 << 20}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        runtime_fixture_t f;
        make_file(cases[i].order);
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, cases[i].device);
        EXPECT_F32(F32(scope, 1, 2), 1, 2); /* one-time allocations are done */
        f.heap.inner.most_bytes = cases[i].most_bytes;
        expect_loaded(scope);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

TEST(failed_load_leaves_nothing) {
    runtime_fixture_t f;
    make_file("False");
    runtime_fixture_open(&f, 1);
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t i = 0; i < 2; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[i]);
        EXPECT_F32(F32(scope, 1, 2), 1, 2);
        f.heap.inner.most_bytes = 16; /* too little even for a header */
        assert_null(gantry_load_npy(scope, path));
        expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED, path);
        f.heap.inner.most_bytes = 0;
        assert_int_equal(truncate(path, 128 + 16), 0);
        assert_null(gantry_load_npy(scope, path));
        expect_scope_failure(scope, GANTRY_DATA_LOSS, "has 16: it is truncated");
        make_file("False");
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

static int make_path(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    return test_main_with(make_path, remove_path, runtime_fixture_set_up,
                          runtime_fixture_tear_down);
}
