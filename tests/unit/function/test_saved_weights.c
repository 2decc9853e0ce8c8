/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The weights of a saved function are read right from any place of its file: from its
 * first 16 KiB, which are read at once, from what follows, and across.
 * Promise: They are read in any order, neighbours by one read.
 * Promise: Weights without elements are loaded, read or mapped.
 * Promise: Weights that are mapped share one mapping, which ends with the last tensor over it. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "saved_file.h"
#include "test.h"

/* the others are of two types, in turn; the header of many is longer than the front */
enum { PLACES = 200, FEW = 20, UNLIKE = 5 };

typedef struct places_t {
    int count;
    const gantry_tensor_t *values[PLACES];
    gantry_dtype_t dtypes[PLACES];
    int64_t counts[PLACES];
} places_t;

static void give_places(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const places_t *places = user;
    (void)inputs;
    for (int i = 0; i < places->count; ++i) outputs[i] = gantry_identity(scope, places->values[i]);
}

/* Makes numbers that differ from place to place, and from element to element. */
static const gantry_tensor_t *make_place(gantry_scope_t *scope, const places_t *places, int i) {
    static unsigned char bytes[1 << 18];
    const size_t size = (size_t)places->counts[i] * gantry_dtype_size(places->dtypes[i]);
    assert_true(size <= sizeof bytes);
    for (size_t at = 0; at < size; ++at)
        bytes[at] =
            (unsigned char)(places->dtypes[i] == GANTRY_BOOL ? at % 3 == 0 : at % 251 + (size_t)i);
    return gantry_constant(scope, places->dtypes[i], GANTRY_SHAPE(places->counts[i]), bytes, size);
}

static void places_make(gantry_scope_t *scope, int count, places_t *places) {
    *places = (places_t){
        .count = count,
        .dtypes = {GANTRY_INT32, GANTRY_BOOL, GANTRY_UINT8, GANTRY_INT16, GANTRY_FLOAT8_E5M2},
        .counts = {5000, 1000, 70001, 60000, 333}};
    for (int i = UNLIKE; i < count; ++i) {
        places->dtypes[i] = i < count / 2 || i % 2 ? GANTRY_UINT32 : GANTRY_INT64;
        places->counts[i] = 100 + i;
    }
    for (int i = 0; i < count; ++i) places->values[i] = make_place(scope, places, i);
}

static void places_save(gantry_runtime_t *runtime, places_t *places, const saved_file_t *file) {
    gantry_function_t *function =
        function_fixture_trace(runtime, give_places, places, NULL, 0, (size_t)places->count, NULL);
    saved_file_save(function, file);
    gantry_function_release(function);
}

/* The outputs of the loaded function are the values that were saved. */
static void places_expect(gantry_scope_t *scope, gantry_function_t *function,
                          const places_t *places) {
    const gantry_tensor_t *outputs[PLACES];
    function_fixture_call(scope, function, NULL, 0, outputs, (size_t)places->count);
    for (int i = 0; i < places->count; ++i) {
        const void *expected, *got;
        assert_int_equal(gantry_tensor_map(places->values[i], &expected), GANTRY_OK);
        assert_int_equal(gantry_tensor_map(outputs[i], &got), GANTRY_OK);
        assert_memory_equal(expected, got,
                            (size_t)places->counts[i] * gantry_dtype_size(places->dtypes[i]));
        assert_int_equal(gantry_tensor_unmap(places->values[i]), GANTRY_OK);
        assert_int_equal(gantry_tensor_unmap(outputs[i]), GANTRY_OK);
    }
}

static void expect_places_to_be_read(int count) {
    runtime_fixture_t f;
    saved_file_t file;
    places_t places;
    runtime_fixture_open(&f, 0);
    saved_file_init(&file);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    places_make(scope, count, &places);
    places_save(f.runtime, &places, &file);
    gantry_function_t *function = saved_file_load(f.runtime, &file, NULL);
    places_expect(scope, function, &places);
    expect_ended_well(scope);
    gantry_function_release(function);
    saved_file_deinit(&file);
    runtime_fixture_close(&f);
}

/* The first 16 KiB of a file are read at once; tensors are in them, across their end, after it. */
TEST(weights_of_any_place_are_read) { expect_places_to_be_read(FEW); }

/* The header is longer than these bytes. */
TEST(weights_after_a_long_header_are_read) { expect_places_to_be_read(PLACES); }

/* ---- weights without elements ---- */

static void give_variable(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)inputs;
    outputs[0] = gantry_identity(scope, gantry_variable_read(scope, user));
}

static void expect_empty_weight(gantry_runtime_t *runtime, const saved_file_t *file, bool maps) {
    const gantry_function_load_options_t options = {
        .struct_size = sizeof options, .device = "CPU:0", .maps = maps};
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    gantry_function_t *function = saved_file_load(runtime, file, &options);
    const gantry_tensor_t *value;
    function_fixture_call(scope, function, NULL, 0, &value, 1);
    assert_true(gantry_shape_equal(gantry_tensor_shape(value), &GANTRY_SHAPE(0, 7)));
    expect_ended_well(scope);
    gantry_function_release(function);
}

TEST(weights_without_elements_are_loaded) {
    runtime_fixture_t f;
    saved_file_t file;
    runtime_fixture_open(&f, 0);
    saved_file_init(&file);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_variable_t *empty = gantry_variable_create(
        scope, gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 7), NULL, 0), "empty");
    assert_non_null(empty);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, give_variable, empty, NULL, 0, 1, NULL);
    saved_file_save(function, &file);
    gantry_function_release(function);
    gantry_variable_release(empty);
    expect_empty_weight(f.runtime, &file, false);
    expect_empty_weight(f.runtime, &file, true);
    expect_ended_well(scope);
    saved_file_deinit(&file);
    runtime_fixture_close(&f);
}

/* How many mappings of the file the process has. */
static int count_mappings(const saved_file_t *file) {
    char line[1024];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) count += strstr(line, file->path) != NULL;
    assert_int_equal(fclose(maps), 0);
    return count;
}

TEST(mapped_weights_share_a_mapping) {
    const gantry_function_load_options_t options = {
        .struct_size = sizeof options, .device = "CPU:0", .maps = true};
    runtime_fixture_t f;
    saved_file_t file;
    places_t places;
    runtime_fixture_open(&f, 0);
    saved_file_init(&file);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    places_make(scope, PLACES, &places);
    places_save(f.runtime, &places, &file);
    gantry_function_t *function = saved_file_load(f.runtime, &file, &options);
    assert_int_equal(count_mappings(&file), 1);
    places_expect(scope, function, &places);
    gantry_function_release(function);
    assert_int_equal(count_mappings(&file), 1); /* outputs are constants over it */
    expect_ended_well(scope);
    assert_int_equal(count_mappings(&file), 0);
    saved_file_deinit(&file);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
