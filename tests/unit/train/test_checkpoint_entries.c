/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tensor of a type or a rank that Gantry does not have hides no other tensor of its
 * checkpoint; what asks for it is refused by its name.
 * Promise: gantry_checkpoint_load and gantry_checkpoint_restore bring elements to a device with a
 * few MiB of host memory, whatever the tensor's size.
 * Promise: Float8 tensors have the bytes of Python's safetensors.
 * Promise: A tensor of a type that safetensors has no name for is refused by both names, and no
 * file is written.
 * Promise: A Git LFS pointer and an HTML page are named as such in place of a checkpoint.
 * Promise: An error message of a site and a file of another format are named as such in place of a
 * checkpoint. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include <stdatomic.h>
#include <unistd.h>

#include <gantry_train/checkpoint.h>

#include "foreign_texts.h"
#include "train_heap.h"

#define MEBI ((long)1 << 20)
#define LARGE (24 * MEBI) /* bytes of one tensor; a fake GPU has 64 MiB */

static char path[] = "/tmp/gantry_entries_XXXXXX";

static void write_file(const char *header, uint64_t data_bytes) {
    FILE *file = fopen(path, "wb");
    const uint64_t length = strlen(header);
    assert_non_null(file);
    assert_int_equal(fwrite(&length, sizeof length, 1, file), 1);
    assert_int_equal(fwrite(header, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path, (off_t)(sizeof length + length + data_bytes)), 0);
}

static gantry_checkpoint_t *open_checkpoint(void) {
    gantry_checkpoint_t *checkpoint = NULL;
    if (gantry_checkpoint_open(path, &checkpoint) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return checkpoint;
}

/* ---- tensors that Gantry cannot read ---- */

TEST(foreign_tensors_hide_no_others) {
    write_file(
        "{\"f8\":{\"dtype\":\"F8_E8M0\",\"shape\":[2,3],\"data_offsets\":[0,6]},"
        "\"good\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[6,8]},"
        "\"f4\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[8,10]},"
        "\"deep\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[10,11]}}",
        11);
    gantry_checkpoint_t *checkpoint = open_checkpoint();
    static const char *const names[] = {"deep", "f4", "f8", "good"};
    assert_int_equal(gantry_checkpoint_count(checkpoint), 4);
    for (size_t i = 0; i < 4; ++i)
        assert_string_equal(gantry_checkpoint_name(checkpoint, i), names[i]);
    gantry_dtype_t dtype;
    gantry_shape_t shape, two = GANTRY_SHAPE(2);
    unsigned char bytes[2] = {9, 9};
    expect_failure(gantry_checkpoint_find(checkpoint, "f8", &dtype, &shape), GANTRY_UNIMPLEMENTED,
                   "the dtype of tensor 'f8' is F8_E8M0");
    assert_non_null(strstr(gantry_last_message(), path));
    expect_failure(gantry_checkpoint_read(checkpoint, "f4", GANTRY_UINT8, &two, bytes, 2),
                   GANTRY_UNIMPLEMENTED, "the dtype of tensor 'f4' is F4");
    expect_failure(gantry_checkpoint_find(checkpoint, "deep", &dtype, &shape), GANTRY_UNIMPLEMENTED,
                   "tensor 'deep' has 9 dimensions, more than the 8 dimensions accepted");
    assert_int_equal(gantry_checkpoint_find(checkpoint, "good", &dtype, &shape), GANTRY_OK);
    assert_int_equal(gantry_checkpoint_read(checkpoint, "good", GANTRY_UINT8, &two, bytes, 2),
                     GANTRY_OK);
    assert_memory_equal(bytes, "\0\0", 2);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    assert_non_null(gantry_checkpoint_load(scope, checkpoint, "good"));
    assert_null(gantry_checkpoint_load(scope, checkpoint, "f8"));
    expect_scope_failure(scope, GANTRY_UNIMPLEMENTED, "F8_E8M0");
    gantry_scope_end(scope);
    runtime_fixture_close(&f);
    gantry_checkpoint_release(checkpoint);
    assert_int_equal(train_heap_live(), 0);
}

/* The offsets of a foreign tensor are trusted in nothing, either. */
TEST(offsets_of_foreign_tensors_are_checked) {
    static const char *const headers[] = {
        "{\"w\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[6,4]}}",
        "{\"w\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[0,9]}}",
        "{\"w\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[1,6]}}",
        "{\"w\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[0,4]},"
        "\"v\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[3,6]}}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; ++i) {
        gantry_checkpoint_t *checkpoint;
        write_file(headers[i], 6);
        assert_int_equal(gantry_checkpoint_open(path, &checkpoint), GANTRY_DATA_LOSS);
        assert_null(checkpoint);
    }
    assert_int_equal(train_heap_live(), 0);
}

/* ---- the host's memory ---- */

static atomic_long live_bytes, peak_bytes;

static void *count_bytes(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)user;
    void *result = NULL;
    if (new_bytes == 0) free(ptr);
    if (new_bytes > 0) result = realloc(ptr, new_bytes);
    if (new_bytes > 0 && !result) return NULL;
    const long change = (long)new_bytes - (ptr ? (long)old_bytes : 0);
    const long now = atomic_fetch_add(&live_bytes, change) + change;
    long before = atomic_load(&peak_bytes);
    while (now > before && !atomic_compare_exchange_weak(&peak_bytes, &before, now)) continue;
    return result;
}

/* What both heaps had at most since this call began, beyond what they had then. */
static void begin_counting(void) {
    train_heap_reset(-1);
    atomic_store(&peak_bytes, atomic_load(&live_bytes));
}

static long peak_since(long before) {
    return atomic_load(&peak_bytes) - before + train_heap_peak_bytes();
}

static void expect_end(const gantry_tensor_t *tensor) {
    static unsigned char bytes[LARGE];
    assert_non_null(tensor);
    assert_int_equal(gantry_tensor_read(tensor, bytes, sizeof bytes), GANTRY_OK);
    assert_int_equal(bytes[LARGE - 2], 0);
    assert_int_equal(bytes[LARGE - 1], 5);
}

TEST(a_device_is_loaded_with_a_few_mib_of_host_memory) {
    char header[128];
    (void)snprintf(header, sizeof header,
                   "{\"w\":{\"dtype\":\"U8\",\"shape\":[%ld],\"data_offsets\":[0,%ld]}}", LARGE,
                   LARGE);
    write_file(header, LARGE - 1);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fputc(5, file), 5);
    assert_int_equal(fclose(file), 0);
    static const char *const devices[] = {"/CPU:0", "/GPU:0"};
    for (size_t i = 0; i < 2; ++i) {
        fake->set_device_count(1);
        runtime_fixture_t f;
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        options.reallocate = count_bytes;
        runtime_fixture_open_with(&f, &options);
        gantry_checkpoint_t *checkpoint = open_checkpoint();
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[i]);
        EXPECT_F32(F32(scope, 1, 2), 1, 2); /* one-time allocations are done */
        long before = atomic_load(&live_bytes);
        begin_counting();
        const gantry_tensor_t *loaded = gantry_checkpoint_load(scope, checkpoint, "w");
        if (!loaded) fail_msg("%s", gantry_scope_message(scope));
        const long loading = peak_since(before);
        if (loading > 5 * MEBI) fail_msg("%s: %ld bytes of host memory", devices[i], loading);
        expect_end(loaded);
        gantry_tensor_drop(scope, loaded);
        const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_UINT8, GANTRY_SHAPE(LARGE));
        gantry_variable_t *variable = gantry_variable_create(scope, zeros, NULL);
        assert_non_null(variable);
        gantry_tensor_drop(scope, zeros);
        before = atomic_load(&live_bytes);
        begin_counting();
        const gantry_checkpoint_entry_t entry = {.name = "w", .variable = variable};
        assert_int_equal(gantry_checkpoint_restore(scope, checkpoint, &entry, 1), GANTRY_OK);
        const long restoring = peak_since(before);
        if (restoring > 5 * MEBI) fail_msg("%s: %ld bytes of host memory", devices[i], restoring);
        expect_end(gantry_variable_read(scope, variable));
        gantry_variable_release(variable);
        gantry_checkpoint_release(checkpoint);
        gantry_scope_end(scope);
        gantry_runtime_release(f.runtime);
        locked_heap_deinit(&f.heap);
        assert_int_equal(atomic_load(&live_bytes), 0);
    }
}

/* ---- other files ---- */

static void expect_named(const char *text, const char *kind) {
    gantry_checkpoint_t *checkpoint;
    char wanted[256];
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(wanted, sizeof wanted, "it is no safetensors file: %s", kind);
    expect_failure(gantry_checkpoint_open(path, &checkpoint), GANTRY_INVALID_ARGUMENT, wanted);
    assert_non_null(strstr(gantry_last_message(), path));
}

TEST(pointers_and_pages_are_named) {
    for (size_t i = 0; i < FOREIGN_TEXTS; ++i)
        if (foreign_texts[i].kind) expect_named(foreign_texts[i].text, foreign_texts[i].kind);
    expect_named("<html", "it is an HTML page");
    expect_named("{\"error\":\"Repository not found\"}", "it is a JSON error message");
    expect_named("\x93NUMPY\1", "it is an .npy file");
    expect_named("\x80\2\x8a", "it is a Python pickle");
}

TEST(a_type_without_a_name_is_refused) {
    const double x[] = {1, 2};
    const gantry_checkpoint_entry_t entries[] = {
        {.name = "u", .array = {GANTRY_UINT8, GANTRY_SHAPE(1), "\x01"}},
        {.name = "psi", .array = {GANTRY_COMPLEX128, GANTRY_SHAPE(1), x}}};
    (void)unlink(path);
    expect_failure(gantry_checkpoint_save(NULL, path, entries, 2, NULL, 0), GANTRY_UNIMPLEMENTED,
                   "entry 'psi' is complex128, which has no name in safetensors");
    assert_int_not_equal(access(path, F_OK), 0);
}

/* By safetensors.serialize of safetensors 0.8. */
TEST(float8_bytes_are_those_of_python) {
    static const char wanted[] =
        "\xe8\0\0\0\0\0\0\0"
        "{\"h\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]},"
        "\"e4m3\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[2,5]},"
        "\"e5m2\":{\"dtype\":\"F8_E5M2\",\"shape\":[3],\"data_offsets\":[5,8]},"
        "\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]}}      "
        "\0<8~\x7f<{|\x01";
    const gantry_checkpoint_entry_t entries[] = {
        {.name = "u", .array = {GANTRY_UINT8, GANTRY_SHAPE(1), "\x01"}},
        {.name = "e5m2", .array = {GANTRY_FLOAT8_E5M2, GANTRY_SHAPE(3), "<{|"}},
        {.name = "h", .array = {GANTRY_FLOAT16, GANTRY_SHAPE(1), "\0<"}},
        {.name = "e4m3", .array = {GANTRY_FLOAT8_E4M3FN, GANTRY_SHAPE(3), "8~\x7f"}}};
    char got[sizeof wanted];
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    assert_int_equal(gantry_checkpoint_save(NULL, path, entries, 4, NULL, 0), GANTRY_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(got, 1, sizeof got, file), sizeof wanted - 1);
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(got, wanted, sizeof wanted - 1);
    gantry_checkpoint_t *checkpoint = open_checkpoint();
    assert_int_equal(gantry_checkpoint_find(checkpoint, "e4m3", &dtype, &shape), GANTRY_OK);
    assert_int_equal(dtype, GANTRY_FLOAT8_E4M3FN);
    assert_int_equal(gantry_checkpoint_find(checkpoint, "e5m2", &dtype, &shape), GANTRY_OK);
    assert_int_equal(dtype, GANTRY_FLOAT8_E5M2);
    gantry_checkpoint_release(checkpoint);
}

int main(void) {
    const int file = mkstemp(path);
    if (file < 0 || close(file) != 0) return 1;
    train_heap_reset(-1);
    const int failed = test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
    (void)unlink(path);
    return failed;
}
