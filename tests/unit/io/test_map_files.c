/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tensor of a CPU device over a mapped .npy file or part of a file takes no memory for
 * its elements, and the mapping ends with the last use of the tensor.
 * Promise: Elements that a file has in another form than a tensor are copied, and a query says so.
 * Promise: Another device gets the elements of a mapped file without a copy in host memory.
 * Promise: No call writes into a mapped file, and a file that was replaced or removed does not
 * change a tensor.
 * Promise: A mapped file keeps no descriptor, and what cannot be mapped is refused with its
 * reason. */
#define _XOPEN_SOURCE 700

#include "fork_child.h"
#include "function_fixture.h"
#include "test.h"

#include <fcntl.h>

#define ELEMENTS (5 << 20) /* int32: 20 MiB of a fake GPU's 64 */
#define BYTES ((size_t)ELEMENTS * sizeof(int32_t))

static char path[] = "/tmp/gantry_map_files.XXXXXX";
static int file = -1;
static runtime_fixture_t fixture;

static void write_text(const void *text, size_t bytes) {
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(pwrite(file, text, bytes, 0), (ssize_t)bytes);
}

/* An .npy file: a header of 128 bytes with this type, order and shape, and elements. */
static void write_npy(const char *entries, const void *elements, size_t bytes) {
    char front[129];
    (void)memcpy(front, "\x93NUMPY\x01\x00v\x00", 10);
    (void)snprintf(front + 10, sizeof front - 10, "{%-116s}\n", entries);
    write_text(front, 128);
    assert_int_equal(pwrite(file, elements, bytes, 128), (ssize_t)bytes);
}

/* Zeros, which take no space on the disk, and 7 at the end. */
static void write_large(void) {
    const int32_t last = 7;
    char entries[100];
    (void)snprintf(entries, sizeof entries,
                   "'descr': '<i4', 'fortran_order': False, 'shape': (%d,), ", ELEMENTS);
    write_npy(entries, "", 0);
    assert_int_equal(pwrite(file, &last, sizeof last, (off_t)(128 + BYTES - sizeof last)),
                     sizeof last);
}

static gantry_tensor_memory_t memory_of(const gantry_tensor_t *tensor) {
    gantry_tensor_memory_t memory = {.struct_size = sizeof memory};
    assert_int_equal(gantry_get_tensor_memory(tensor, &memory), GANTRY_OK);
    return memory;
}

static gantry_memory_info_t info_of(const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(fixture.runtime, device, &info), GANTRY_OK);
    return info;
}

/* Mappings of the file that the system knows. */
static int mappings(void) {
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) count += strstr(line, "gantry_map_files.") != NULL;
    (void)fclose(maps);
    return count;
}

static int descriptors(void) {
    int count = 0;
    for (int i = 0; i < 256; ++i) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void expect_large(const gantry_tensor_t *tensor) {
    const void *data;
    assert_int_equal(gantry_tensor_map(tensor, &data), GANTRY_OK);
    const int32_t *elements = data;
    assert_int_equal(elements[ELEMENTS - 1], 7);
    for (int32_t i = 0; i < ELEMENTS - 1; ++i)
        if (elements[i] != 0) fail_msg("element %d is %d", (int)i, (int)elements[i]);
    assert_int_equal(gantry_tensor_unmap(tensor), GANTRY_OK);
}

static const gantry_tensor_t *map_large(gantry_scope_t *scope, bool npy) {
    const gantry_tensor_t *tensor =
        npy ? gantry_map_npy(scope, path)
            : gantry_map_elements(scope, file, path, 128, GANTRY_INT32, GANTRY_SHAPE(ELEMENTS));
    if (!tensor) fail_msg("%s", gantry_scope_message(scope));
    return tensor;
}

/* ---- in place ---- */

TEST(elements_stay_in_the_file) {
    write_large();
    for (int npy = 0; npy < 2; ++npy) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
        EXPECT_F32(F32(scope, 1, 2), 1, 2); /* one-time allocations are done */
        const int before = descriptors();
        const uint64_t pool = info_of("CPU:0").peak_bytes;
        fixture.heap.inner.most_bytes = 64 << 10;
        const gantry_tensor_t *mapped = map_large(scope, npy);
        assert_int_equal(descriptors(), before);
        assert_true(memory_of(mapped).is_foreign);
        assert_false(memory_of(mapped).is_writable);
        assert_true(info_of("CPU:0").foreign_bytes == BYTES);
        expect_large(mapped);
        assert_true(info_of("CPU:0").peak_bytes == pool);
        fixture.heap.inner.most_bytes = 0;
        gantry_tensor_t *kept = gantry_tensor_retain(mapped);
        expect_ended_well(scope);
        assert_int_equal(mappings(), 1);
        gantry_tensor_release(kept);
        assert_int_equal(mappings(), 0);
        assert_true(info_of("CPU:0").foreign_bytes == 0);
    }
}

TEST(another_device_gets_the_elements_without_a_copy) {
    write_large();
    for (int npy = 0; npy < 2; ++npy) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, "GPU:0");
        EXPECT_F32(F32(scope, 1, 2), 1, 2);
        const uint64_t pool = info_of("CPU:0").peak_bytes;
        fixture.heap.inner.most_bytes = 64 << 10;
        const gantry_tensor_t *copied = map_large(scope, npy);
        expect_on(copied, "/device:GPU:0");
        assert_int_equal(mappings(), 0);
        assert_true(info_of("CPU:0").peak_bytes == pool);
        fixture.heap.inner.most_bytes = 0;
        int32_t *got = calloc(ELEMENTS, sizeof *got);
        assert_int_equal(gantry_tensor_read(copied, got, BYTES), GANTRY_OK);
        assert_int_equal(got[ELEMENTS - 1], 7);
        free(got);
        expect_ended_well(scope);
    }
}

/* ---- copies ---- */

static const struct {
    const char *entries, *elements;
    size_t bytes;
    float values[4];
    bool is_mapped;
} arrays[] = {
    {"'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), ",
     "\0\0\x80?\0\0\0@\0\0@@\0\0\x80@",
     16,
     {1, 2, 3, 4},
     true},
    {"'descr': '<f4', 'fortran_order': True, 'shape': (4,), ",
     "\0\0\x80?\0\0\0@\0\0@@\0\0\x80@",
     16,
     {1, 2, 3, 4},
     true},
    {"'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), ",
     "\0\0\x80?\0\0\0@\0\0@@\0\0\x80@",
     16,
     {1, 3, 2, 4},
     false},
    {"'descr': '>f4', 'fortran_order': False, 'shape': (4,), ",
     "?\x80\0\0@\0\0\0@@\0\0@\x80\0\0",
     16,
     {1, 2, 3, 4},
     false},
    {"'descr': '|b1', 'fortran_order': False, 'shape': (4,), ", "\0\1\1\0", 4, {0, 1, 1, 0}, true},
    {"'descr': '|b1', 'fortran_order': False, 'shape': (4,), ",
     "\0\1\7\377",
     4,
     {0, 1, 1, 1},
     false},
    {"'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), ", "", 0, {0}, false},
};

TEST(other_forms_are_copied) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, devices[d]);
        for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
            write_npy(arrays[i].entries, arrays[i].elements, arrays[i].bytes);
            const gantry_tensor_t *x = gantry_map_npy(scope, path);
            if (!x) fail_msg("%s", gantry_scope_message(scope));
            if (memory_of(x).is_foreign != (arrays[i].is_mapped && d == 0))
                fail_msg("array %zu on %s", i, devices[d]);
            if (arrays[i].bytes > 0)
                expect_f32(
                    gantry_reshape(scope, gantry_cast(scope, x, GANTRY_FLOAT32), GANTRY_SHAPE(4)),
                    4, arrays[i].values);
            gantry_tensor_drop(scope, x);
        }
        expect_ended_well(scope);
        assert_int_equal(mappings(), 0);
    }
}

TEST(elements_at_any_byte_are_read_right) {
    const float numbers[] = {0, 1, 2, 3};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    for (int64_t offset = 0; offset < 9; ++offset) {
        write_text("123456789", 9);
        assert_int_equal(pwrite(file, numbers, sizeof numbers, offset), sizeof numbers);
        const gantry_tensor_t *x =
            gantry_map_elements(scope, file, path, offset, GANTRY_FLOAT32, GANTRY_SHAPE(4));
        assert_int_equal(memory_of(x).is_foreign, offset % 4 == 0);
        EXPECT_F32(x, 0, 1, 2, 3);
        gantry_tensor_drop(scope, x);
    }
    expect_ended_well(scope);
    assert_int_equal(mappings(), 0);
}

/* ---- life ---- */

static void mapping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *numbers =
        gantry_map_elements(scope, file, path, 4, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    outputs[0] = gantry_add(scope, inputs[0], numbers);
}

TEST(a_function_holds_what_its_body_maps) {
    const float numbers[] = {1, 2, 3};
    write_text(numbers, sizeof numbers);
    const gantry_input_spec_t input = SPEC_F32(2);
    gantry_function_t *function =
        function_fixture_trace(fixture.runtime, mapping, NULL, &input, 1, 1, NULL);
    assert_int_not_equal(mappings(), 0);
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *x = F32(scope, 10, 20), *y = NULL;
    function_fixture_call(scope, function, &x, 1, &y, 1);
    EXPECT_F32(y, 12, 23);
    expect_ended_well(scope);
    gantry_function_release(function);
    assert_int_equal(mappings(), 0);
}

TEST(no_op_writes_into_the_file_and_a_variable_leaves_it) {
    const float numbers[] = {1, 2, 3, 4};
    float after[4] = {0};
    write_text(numbers, sizeof numbers);
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_tensor_t *x =
        gantry_map_elements(scope, file, path, 0, GANTRY_FLOAT32, GANTRY_SHAPE(4));
    gantry_variable_t *variable = gantry_variable_create(scope, F32(scope, 0, 0, 0, 0), "v");
    assert_int_equal(gantry_variable_assign(scope, variable, x), GANTRY_OK);
    EXPECT_F32(gantry_neg(scope, gantry_tensor_donate(scope, x)), -1, -2, -3, -4);
    assert_int_equal(mappings(), 1);
    assert_int_equal(gantry_variable_assign_add(scope, variable, F32(scope, 1, 1, 1, 1)),
                     GANTRY_OK);
    assert_int_equal(mappings(), 0);
    EXPECT_F32(gantry_variable_read(scope, variable), 2, 3, 4, 5);
    gantry_variable_release(variable);
    expect_ended_well(scope);
    assert_int_equal(pread(file, after, sizeof after, 0), sizeof after);
    assert_memory_equal(after, numbers, sizeof numbers);
}

TEST(a_replaced_and_removed_file_changes_nothing) {
    const float numbers[] = {1, 2, 3, 4};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    write_npy(arrays[0].entries, numbers, sizeof numbers);
    const gantry_tensor_t *x = gantry_map_npy(scope, path);
    assert_int_equal(gantry_save_npy(scope, F32(scope, 5), path), GANTRY_OK);
    EXPECT_F32(gantry_map_npy(scope, path), 5);
    assert_int_equal(unlink(path), 0);
    EXPECT_F32(gantry_reshape(scope, x, GANTRY_SHAPE(4)), 1, 2, 3, 4);
    expect_ended_well(scope);
    (void)close(file);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
}

TEST(a_child_of_fork_leaves_the_parents_mapping) {
    const float numbers[] = {1, 2, 3, 4};
    write_text(numbers, sizeof numbers);
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_tensor_t *x =
        gantry_map_elements(scope, file, path, 0, GANTRY_FLOAT32, GANTRY_SHAPE(4));
    wait_until_threads_sleep();
    const pid_t child = fork();
    if (child == 0) {
        CHECK(!gantry_map_elements(scope, file, path, 0, GANTRY_FLOAT32, GANTRY_SHAPE(4)));
        CHECK(gantry_tensor_wait(x) != GANTRY_OK);
        gantry_tensor_drop(scope, x);
        _exit(0);
    }
    fork_child_expect_success(child);
    EXPECT_F32(x, 1, 2, 3, 4);
    expect_ended_well(scope);
    assert_int_equal(mappings(), 0);
}

/* ---- bad input ---- */

TEST(wrong_places_are_refused) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    write_text("0123456789abcdef", 16);
    const int unreadable = open(path, O_WRONLY | O_CLOEXEC);
    const struct {
        int file;
        int64_t offset;
        gantry_dtype_t dtype;
        int64_t count;
        gantry_status_t status;
        const char *text;
    } cases[] = {
        {file, -1, GANTRY_FLOAT32, 2, GANTRY_INVALID_ARGUMENT,
         "gantry_map_elements: the offset is -1; 0 and more are accepted"},
        {file, 12, GANTRY_FLOAT32, 2, GANTRY_DATA_LOSS, "it ends at byte 16, 4 bytes too early"},
        {file, INT64_MAX, GANTRY_FLOAT32, 2, GANTRY_DATA_LOSS, "it ends at byte 16"},
        {file, 0, GANTRY_FLOAT32, -1, GANTRY_INVALID_ARGUMENT,
         "gantry_map_elements: shape [-1] of rank 1 is not possible"},
        {file, 0, (gantry_dtype_t)99, 1, GANTRY_INVALID_ARGUMENT, "gantry_map_elements: type 99"},
        {ends[0], 0, GANTRY_FLOAT32, 2, GANTRY_INVALID_ARGUMENT, "no open plain file"},
        {-1, 0, GANTRY_FLOAT32, 2, GANTRY_INVALID_ARGUMENT, "the descriptor -1"},
        {unreadable, 0, GANTRY_FLOAT32, 2, GANTRY_PERMISSION_DENIED, "cannot map '/tmp/gantry_map"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, i % 2 ? "GPU:0" : "CPU:0");
        assert_null(gantry_map_elements(scope, cases[i].file, path, cases[i].offset, cases[i].dtype,
                                        GANTRY_SHAPE(cases[i].count)));
        expect_scope_failure(scope, cases[i].status, cases[i].text);
        assert_null(gantry_map_npy(scope, path));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "does not begin with");
        assert_null(gantry_map_npy(scope, NULL));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_map_npy: the path is NULL");
        expect_ended_well(scope);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(unreadable);
}

TEST(a_file_that_lacks_elements_is_refused) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, devices[d]);
        write_npy(arrays[0].entries, arrays[0].elements, 15);
        const int before = descriptors();
        assert_null(gantry_map_npy(scope, path));
        expect_scope_failure(scope, GANTRY_DATA_LOSS, "truncated");
        assert_int_equal(descriptors(), before);
        expect_ended_well(scope);
    }
}

/* Each allocation fails in turn: no mapping and no descriptor is left. */
TEST(failed_allocations_leave_nothing) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    write_large();
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, devices[d]);
        (void)F32(scope, 1, 2);
        const int before = descriptors();
        for (long fail_at = 0;; ++fail_at) {
            assert_in_range(fail_at, 0, 40);
            runtime_fixture_starve(&fixture, fail_at);
            const gantry_tensor_t *x = gantry_map_npy(scope, path);
            (void)runtime_fixture_feed(&fixture);
            assert_int_equal(mappings(), x && d == 0);
            assert_int_equal(descriptors(), before);
            if (x) break;
            expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED, "");
        }
        expect_ended_well(scope);
    }
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

static int open_fixture(void **state) {
    (void)runtime_fixture_set_up(state);
    runtime_fixture_open(&fixture, 1);
    return 0;
}

static int close_fixture(void **state) {
    runtime_fixture_close(&fixture);
    return runtime_fixture_tear_down(state);
}

int main(void) { return test_main_with(make_path, remove_path, open_fixture, close_fixture); }
