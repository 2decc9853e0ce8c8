/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The saved function that Gantry 0.1 wrote, as the format's description says it, loads and
 * computes what it did: tests/golden/make_saved_function.py.
 * Promise: So does one of format 2, with a node whose elements a body joins.
 * Promise: A file of format 1 with such a node is refused, and one whose metadata and graph are of
 * unlike formats. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "saved_file.h"
#include "test.h"

#define JOINED GANTRY_TEST_SOURCE_DIR "/tests/golden/saved_joined_0_1.safetensors"

static void call_golden(gantry_scope_t *scope, gantry_function_t *function, float factor,
                        const gantry_tensor_t **outputs) {
    const float numbers[] = {factor, factor, factor, factor, factor, factor};
    const gantry_tensor_t *inputs[] = {
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), numbers, sizeof numbers),
        F32(scope, 1, 2, 3)};
    function_fixture_call(scope, function, inputs, 2, outputs, 3);
    EXPECT_F32(outputs[1], 2, 3, 4);
}

/* The numbers at a place of the stream with key 7. */
static void expect_drawn(gantry_scope_t *scope, const gantry_tensor_t *drawn, uint64_t counter) {
    const uint64_t key = 7, place[] = {counter, 0};
    const gantry_tensor_t *inputs[] = {
        I32(scope, 2), gantry_constant(scope, GANTRY_UINT64, GANTRY_SHAPE(1), &key, sizeof key),
        gantry_constant(scope, GANTRY_UINT64, GANTRY_SHAPE(2), place, sizeof place),
        gantry_scalar_i32(scope, 1)};
    const gantry_tensor_t *wanted;
    size_t count = 1;
    float numbers[2];
    assert_int_equal(
        gantry_op_call(scope, "StatelessRandomUniformV2", inputs, 4, NULL, 0, &wanted, &count),
        GANTRY_OK);
    assert_int_equal(gantry_tensor_read(wanted, numbers, sizeof numbers), GANTRY_OK);
    EXPECT_F32(drawn, numbers[0], numbers[1]);
}

static void check_golden(uint32_t gpus, const char *device) {
    runtime_fixture_t f;
    gantry_function_t *function;
    gantry_function_value_t value = {.struct_size = sizeof value};
    const gantry_function_load_options_t options = {.struct_size = sizeof options,
                                                    .device = device};
    const gantry_tensor_t *outputs[3];
    runtime_fixture_open(&f, gpus);
    gantry_scope_t *scope = runtime_fixture_scope(&f, device);
    if (gantry_function_load(f.runtime,
                             GANTRY_TEST_SOURCE_DIR "/tests/golden/saved_function_0_1.safetensors",
                             &options, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_string_equal(gantry_function_name(function), "golden");
    assert_int_equal(gantry_function_get_input(function, 1, &value), GANTRY_OK);
    assert_string_equal(value.name, "y");
    assert_int_equal(value.shape.dims[0], GANTRY_OPEN_SIZE);
    call_golden(scope, function, 1, outputs); /* relu gives 2 0 0 0.5, the first step subtracts */
    EXPECT_F32(outputs[0], 2, -0.25f, -0.5f, -0.25f, 0.75f, -1.5f, -1.75f, -1.5f);
    expect_drawn(scope, outputs[2], 517);
    call_golden(scope, function, 7, outputs); /* 8 0 0 0.5, halved once; later steps add */
    EXPECT_F32(outputs[0], 4, 0.25f, 0.5f, 1, 5.25f, 1.5f, 1.75f, 2.25f);
    expect_drawn(scope, outputs[2], 517 + 512);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(golden_file_loads_on_the_cpu) { check_golden(0, NULL); }

TEST(golden_file_loads_onto_a_gpu) { check_golden(1, "GPU:0"); }

TEST(joined_golden_file_loads) {
    runtime_fixture_t f;
    gantry_function_t *function;
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    if (gantry_function_load(f.runtime, JOINED, NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    const gantry_tensor_t *inputs[] = {
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), numbers, sizeof numbers),
        gantry_scalar_f32(scope, 0.5f)};
    const gantry_tensor_t *outputs[1];
    function_fixture_call(scope, function, inputs, 2, outputs, 1);
    EXPECT_F32(outputs[0], 3, 60);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Loads the golden file with these formats of its metadata and of its graph. */
static gantry_status_t load_formats(gantry_runtime_t *runtime, char metadata, unsigned char graph) {
    saved_file_t file, golden = {.path = JOINED};
    gantry_function_t *function = NULL;
    saved_file_init(&file);
    saved_file_read(&golden);
    golden.bytes[saved_file_find(&golden, "gantry_format\":\"2", 17) + 16] =
        (unsigned char)metadata;
    golden.bytes[saved_file_find(&golden, "GTRYGRPH\2", 9) + 8] = graph;
    saved_file_write(&file, golden.bytes, golden.size);
    const gantry_status_t status = gantry_function_load(runtime, file.path, NULL, &function);
    gantry_function_release(function);
    saved_file_deinit(&file);
    free(golden.bytes);
    return status;
}

TEST(joins_need_format_2) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    expect_refusal(load_formats(f.runtime, '1', 2), GANTRY_DATA_LOSS,
                   "the format of its graph is 2, and that of its metadata 1");
    expect_refusal(load_formats(f.runtime, '2', 1), GANTRY_DATA_LOSS,
                   "the format of its graph is 1, and that of its metadata 2");
    expect_refusal(load_formats(f.runtime, '1', 1), GANTRY_DATA_LOSS,
                   "a graph of format 2 has such nodes, and this one is of format 1");
    assert_int_equal(load_formats(f.runtime, '2', 2), GANTRY_OK);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
