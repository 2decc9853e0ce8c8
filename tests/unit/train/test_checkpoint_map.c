/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tensor of each element type that gantry_checkpoint_save writes, of any number of
 * elements and among any others, is mapped without a copy on a CPU device.
 * Promise: A mapped tensor holds the file's elements after the checkpoint's release, is the value
 * of a variable, and is copied to another device without a copy in host memory. */
#define _XOPEN_SOURCE 700

#define TRAIN_FIXTURE_GPUS 1
#include "train_fixture.h"
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include <gantry_train/checkpoint.h>

static char path[] = "/tmp/gantry_checkpoint_map.XXXXXX";

enum { TYPES = 17, LARGE = 12 << 20 };

static bool is_foreign(const gantry_tensor_t *tensor) {
    gantry_tensor_memory_t memory = {.struct_size = sizeof memory};
    assert_int_equal(gantry_get_tensor_memory(tensor, &memory), GANTRY_OK);
    return memory.is_foreign;
}

static gantry_checkpoint_t *open_checkpoint(void) {
    gantry_checkpoint_t *checkpoint = NULL;
    if (gantry_checkpoint_open(path, &checkpoint) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return checkpoint;
}

static void save(const gantry_checkpoint_entry_t *entries, size_t count) {
    const gantry_checkpoint_text_t text = {"a text of an odd length", "abc"};
    if (gantry_checkpoint_save(NULL, path, entries, count, &text, 1) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static void expect_mapped(gantry_scope_t *scope, const gantry_checkpoint_t *checkpoint,
                          const gantry_checkpoint_entry_t *entry) {
    const gantry_tensor_t *mapped = gantry_checkpoint_map(scope, checkpoint, entry->name);
    const void *data;
    if (!mapped) fail_msg("%s", gantry_scope_message(scope));
    if (!is_foreign(mapped)) fail_msg("%s is a copy", entry->name);
    assert_int_equal(gantry_tensor_dtype(mapped), entry->array.dtype);
    assert_int_equal(gantry_tensor_map(mapped, &data), GANTRY_OK);
    assert_memory_equal(data, entry->array.data, gantry_tensor_bytes(mapped));
    assert_int_equal(gantry_tensor_unmap(mapped), GANTRY_OK);
}

TEST(each_type_is_mapped_at_any_place) {
    static char names[TYPES][16];
    static unsigned char bytes[16 * 7];
    gantry_checkpoint_entry_t entries[TYPES];
    for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (unsigned char)(i & 1);
    for (int64_t elements = 1; elements <= 7; ++elements) {
        size_t count = 0;
        for (int type = 1; type < 64; ++type) {
            const gantry_dtype_t dtype = (gantry_dtype_t)type;
            if (gantry_dtype_size(dtype) == 0 || dtype == GANTRY_COMPLEX128) continue;
            assert_in_range(count, 0, TYPES - 1);
            (void)snprintf(names[count], sizeof names[count], "%s", gantry_dtype_name(dtype));
            entries[count] = (gantry_checkpoint_entry_t){
                .name = names[count], .array = {dtype, GANTRY_SHAPE(elements), bytes}};
            ++count;
        }
        assert_int_equal(count, TYPES - 1);
        save(entries, count);
        gantry_checkpoint_t *checkpoint = open_checkpoint();
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
        for (size_t i = 0; i < count; ++i) expect_mapped(scope, checkpoint, &entries[i]);
        gantry_checkpoint_release(checkpoint);
        expect_ended_well(scope);
    }
}

TEST(a_mapped_tensor_is_a_variables_value) {
    const float numbers[] = {1, 2, 3, 4};
    const gantry_checkpoint_entry_t entry = {.name = "w",
                                             .array = {GANTRY_FLOAT32, GANTRY_SHAPE(4), numbers}};
    save(&entry, 1);
    gantry_checkpoint_t *checkpoint = open_checkpoint();
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, "CPU:0");
    gantry_variable_t *variable = gantry_variable_create(scope, F32(scope, 0, 0, 0, 0), "v");
    const gantry_tensor_t *mapped = gantry_checkpoint_map(scope, checkpoint, "w");
    assert_null(gantry_checkpoint_map(scope, checkpoint, "x"));
    expect_scope_failure(scope, GANTRY_NOT_FOUND, "has no tensor 'x'");
    gantry_checkpoint_release(checkpoint);
    assert_int_equal(gantry_variable_assign(scope, variable, mapped), GANTRY_OK);
    assert_int_equal(unlink(path), 0);
    expect_ended_well(scope);
    scope = runtime_fixture_scope(&fixture, "CPU:0");
    assert_true(is_foreign(gantry_variable_read(scope, variable)));
    EXPECT_F32(gantry_variable_read(scope, variable), 1, 2, 3, 4);
    assert_int_equal(gantry_variable_assign_add(scope, variable, F32(scope, 1, 1, 1, 1)),
                     GANTRY_OK);
    assert_false(is_foreign(gantry_variable_read(scope, variable)));
    gantry_variable_release(variable);
    expect_ended_well(scope);
    save(&entry, 1); /* the path is there again */
}

TEST(a_large_tensor_takes_no_host_memory) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    static unsigned char zeros[LARGE];
    zeros[LARGE - 1] = 5;
    const gantry_checkpoint_entry_t entry = {.name = "w",
                                             .array = {GANTRY_UINT8, GANTRY_SHAPE(LARGE), zeros}};
    save(&entry, 1);
    for (size_t i = 0; i < 2; ++i) {
        gantry_memory_info_t info = {.struct_size = sizeof info};
        gantry_checkpoint_t *checkpoint = open_checkpoint();
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, devices[i]);
        (void)F32(scope, 1, 2); /* one-time allocations are done */
        fixture.heap.inner.most_bytes = 64 << 10;
        const gantry_tensor_t *mapped = gantry_checkpoint_map(scope, checkpoint, "w");
        if (!mapped) fail_msg("%s", gantry_scope_message(scope));
        assert_int_equal(gantry_get_memory_info(fixture.runtime, "CPU:0", &info), GANTRY_OK);
        assert_true(info.peak_bytes < 64 << 10);
        assert_true(info.foreign_bytes == (i == 0 ? LARGE : 0));
        fixture.heap.inner.most_bytes = 0;
        unsigned char *got = malloc(LARGE);
        assert_non_null(got);
        assert_int_equal(gantry_tensor_read(mapped, got, LARGE), GANTRY_OK);
        assert_memory_equal(got, zeros, LARGE);
        free(got);
        gantry_checkpoint_release(checkpoint);
        expect_ended_well(scope);
    }
}

static int make_path(void **state) {
    (void)state;
    const int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) { return test_main_with(make_path, remove_path, set_up, tear_down); }
