/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: With the option any_order, of the runtime, a scope, one op or a node, sums of float32
 * updates on a GPU are atomic additions in two launches; without it their bits are the CPU's.
 * Promise: Each placement record says what became of the option; where it is not used, launches
 * and bits are those without it.
 * Promise: A traced, saved and loaded function keeps the option of each op, also of one whose
 * inputs are constants. */
#define _XOPEN_SOURCE 700

#include <unistd.h>

#include "hostile_gpu.h"
#include "test.h"

enum { UPDATES = 5000, SLICES = 37 };

/* Small whole numbers: their sums are exact in any order. */
static const gantry_tensor_t *whole_data(gantry_scope_t *scope, gantry_dtype_t dtype) {
    static float values[UPDATES];
    for (int i = 0; i < UPDATES; ++i) values[i] = (float)(i % 17) - 5.0f;
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(UPDATES), values, sizeof values);
    return dtype == GANTRY_FLOAT32 ? x : gantry_cast(scope, x, dtype);
}

static const gantry_tensor_t *slice_numbers(gantry_scope_t *scope, gantry_shape_t shape) {
    static int32_t ids[UPDATES];
    for (int i = 0; i < UPDATES; ++i) ids[i] = i * 7919 % SLICES;
    return gantry_constant(scope, GANTRY_INT32, shape, ids, sizeof ids);
}

static gantry_placement_record_t newest_record(gantry_runtime_t *runtime) {
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    assert_int_equal(gantry_get_placements(runtime, 1, &record, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    return record;
}

enum { SCATTER_ND, ADD, SUB, ELEMENTS, SEGMENT_SUM, COUNT, OPS };

static const gantry_tensor_t *sum_up(gantry_scope_t *scope, int op, gantry_dtype_t dtype) {
    const gantry_tensor_t *data = whole_data(scope, dtype),
                          *ids = slice_numbers(scope, GANTRY_SHAPE(UPDATES)),
                          *rows = slice_numbers(scope, GANTRY_SHAPE(UPDATES, 1)),
                          *old = gantry_ones(scope, dtype, GANTRY_SHAPE(SLICES));
    hostile_take_launches((char[1 << 12]){0}, 1 << 12);
    switch (op) {
        case SCATTER_ND: return gantry_scatter_nd(scope, rows, data, GANTRY_SHAPE(SLICES));
        case ADD: return gantry_tensor_scatter_add(scope, old, rows, data);
        case SUB: return gantry_tensor_scatter_sub(scope, old, rows, data);
        case ELEMENTS: return gantry_scatter_elements(scope, old, ids, data, 0, "ADD");
        case SEGMENT_SUM: return gantry_unsorted_segment_sum(scope, data, ids, SLICES);
        default: return gantry_bincount(scope, ids, SLICES, data);
    }
}

static gantry_runtime_t *open_with(gantry_choice_t any_order, gantry_choice_t batch_invariant) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = HOSTILE_MODULES,
                                              .backends = "cpu,opencl",
                                              .soft_placement = GANTRY_OFF,
                                              .kernel_cache = "",
                                              .any_order = any_order,
                                              .batch_invariant = batch_invariant};
    gantry_runtime_t *runtime;
    hostile_set("gpu=1;units=48;log=1");
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

/* Computes with the scope's choice; compares the sums with the CPU's and what became of it. */
static void check(gantry_runtime_t *runtime, const char *device, gantry_choice_t choice, int op,
                  gantry_dtype_t dtype, gantry_any_order_t outcome) {
    static char launches[1 << 12];
    unsigned char out[2][SLICES * 8];
    size_t bytes = 0;
    for (int is_tried = 0; is_tried < 2; ++is_tried) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, is_tried ? device : "/CPU:0");
        assert_int_equal(gantry_scope_set_any_order(scope, is_tried ? choice : GANTRY_OFF),
                         GANTRY_OK);
        const gantry_tensor_t *sums = sum_up(scope, op, dtype);
        if (!sums) fail_msg("%s", gantry_scope_message(scope));
        hostile_take_launches(launches, sizeof launches);
        const gantry_placement_record_t record = newest_record(runtime);
        if (is_tried && record.any_order != outcome)
            fail_msg("op %d of %s on %s: %s", op, gantry_dtype_name(dtype), device,
                     gantry_any_order_text(record.any_order));
        bytes = gantry_tensor_bytes(sums);
        assert_int_equal(gantry_tensor_read(sums, out[is_tried], bytes), GANTRY_OK);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    if (memcmp(out[0], out[1], bytes) != 0) fail_msg("op %d: not the sums\n%s", op, launches);
    if ((strstr(launches, "unsorted") != NULL) != (outcome == GANTRY_ANY_ORDER_USED))
        fail_msg("op %d:\n%s", op, launches);
}

TEST(a_scope_allows_any_order) {
    gantry_runtime_t *runtime = open_with(GANTRY_DEFAULT, GANTRY_DEFAULT);
    for (int op = 0; op < OPS; ++op) {
        check(runtime, "/GPU:0", GANTRY_ON, op, GANTRY_FLOAT32, GANTRY_ANY_ORDER_USED);
        check(runtime, "/GPU:0", GANTRY_DEFAULT, op, GANTRY_FLOAT32, GANTRY_ANY_ORDER_OFF);
        check(runtime, "/GPU:0", GANTRY_ON, op, GANTRY_FLOAT64, GANTRY_ANY_ORDER_NOT_OF_TYPE);
        check(runtime, "/CPU:0", GANTRY_ON, op, GANTRY_FLOAT32, GANTRY_ANY_ORDER_NO_ATOMICS);
    }
    gantry_runtime_release(runtime);
}

TEST(a_runtime_allows_any_order_and_a_scope_takes_it_back) {
    gantry_runtime_t *runtime = open_with(GANTRY_ON, GANTRY_DEFAULT);
    check(runtime, "/GPU:0", GANTRY_DEFAULT, ADD, GANTRY_FLOAT32, GANTRY_ANY_ORDER_USED);
    check(runtime, "/GPU:0", GANTRY_OFF, ADD, GANTRY_FLOAT32, GANTRY_ANY_ORDER_OFF);
    gantry_runtime_release(runtime);
}

/* From the third call on, a call takes what an equal one found. */
TEST(a_call_that_repeats_keeps_its_choice) {
    gantry_runtime_t *runtime = open_with(GANTRY_DEFAULT, GANTRY_DEFAULT);
    for (int k = 0; k < 8; ++k) {
        const bool is_on = k % 2 == 1;
        check(runtime, "/GPU:0", is_on ? GANTRY_ON : GANTRY_OFF, ADD, GANTRY_FLOAT32,
              is_on ? GANTRY_ANY_ORDER_USED : GANTRY_ANY_ORDER_OFF);
    }
    gantry_runtime_release(runtime);
}

TEST(batch_invariance_goes_before_any_order) {
    gantry_runtime_t *runtime = open_with(GANTRY_ON, GANTRY_ON);
    check(runtime, "/GPU:0", GANTRY_DEFAULT, ADD, GANTRY_FLOAT32, GANTRY_ANY_ORDER_BATCH_INVARIANT);
    gantry_runtime_release(runtime);
}

TEST(an_op_with_one_order_says_so) {
    gantry_runtime_t *runtime = open_with(GANTRY_ON, GANTRY_DEFAULT);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    const gantry_tensor_t *data = whole_data(scope, GANTRY_FLOAT32);
    assert_non_null(gantry_add(scope, data, data));
    const gantry_any_order_t outcome = newest_record(runtime).any_order;
    assert_int_equal(outcome, GANTRY_ANY_ORDER_NOT_OF_OP);
    assert_string_equal(gantry_any_order_text(outcome), "the op has one order");
    assert_int_equal(gantry_scope_set_any_order(scope, (gantry_choice_t)7),
                     GANTRY_INVALID_ARGUMENT);
    (void)gantry_scope_end(scope);
    gantry_runtime_release(runtime);
}

/* ---- functions ---- */

/* Allows any order for the first of two ops. */
static void sum_twice(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    (void)gantry_scope_set_any_order(scope, GANTRY_ON);
    outputs[0] = gantry_unsorted_segment_sum(scope, inputs[0], inputs[1], SLICES);
    (void)gantry_scope_set_any_order(scope, GANTRY_DEFAULT);
    outputs[1] = gantry_unsorted_segment_sum(scope, inputs[0], inputs[1], SLICES);
}

/* Calls the function in a scope of another choice: one of two sums is unsorted, and both are equal.
 */
static void call_twice(gantry_runtime_t *runtime, gantry_function_t *function) {
    static char launches[1 << 12];
    float out[2][SLICES];
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    assert_int_equal(gantry_scope_set_any_order(scope, GANTRY_ON), GANTRY_OK);
    const gantry_tensor_t *inputs[] = {whole_data(scope, GANTRY_FLOAT32),
                                       slice_numbers(scope, GANTRY_SHAPE(UPDATES))};
    const gantry_tensor_t *outputs[2];
    hostile_take_launches(launches, sizeof launches);
    if (gantry_function_call(scope, function, inputs, 2, outputs, 2) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    for (int k = 0; k < 2; ++k)
        assert_int_equal(gantry_tensor_read(outputs[k], out[k], sizeof out[k]), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    hostile_take_launches(launches, sizeof launches);
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    const char *first = strstr(launches, "unsorted"), *ordered = strstr(launches, "combine_sum");
    if (!first || strstr(first + 1, "unsorted") || !ordered) fail_msg("%s", launches);
}

TEST(a_function_keeps_the_choice_of_each_op) {
    char path[] = "/tmp/gantry_any_order_XXXXXX";
    gantry_runtime_t *runtime = open_with(GANTRY_DEFAULT, GANTRY_DEFAULT);
    const gantry_input_spec_t inputs[] = {{"data", GANTRY_FLOAT32, GANTRY_SHAPE(UPDATES)},
                                          {"ids", GANTRY_INT32, GANTRY_SHAPE(UPDATES)}};
    gantry_function_t *function, *loaded;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    (void)close(file);
    assert_int_equal(
        gantry_function_trace(runtime, "twice", sum_twice, NULL, inputs, 2, 2, NULL, &function),
        GANTRY_OK);
    call_twice(runtime, function);
    if (gantry_function_save(function, path, NULL) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_function_release(function);
    if (gantry_function_load(runtime, path, NULL, &loaded) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    call_twice(runtime, loaded);
    gantry_function_release(loaded);
    gantry_runtime_release(runtime);
    (void)remove(path);
}

/* Takes the option back for a sum of constants, which is made once, while the body is traced. */
static void sum_constants(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)inputs, (void)user;
    (void)gantry_scope_set_any_order(scope, GANTRY_OFF);
    outputs[0] = gantry_unsorted_segment_sum(scope, whole_data(scope, GANTRY_FLOAT32),
                                             slice_numbers(scope, GANTRY_SHAPE(UPDATES)), SLICES);
}

TEST(a_sum_of_constants_keeps_its_choice) {
    static char launches[1 << 12];
    gantry_runtime_t *runtime = open_with(GANTRY_ON, GANTRY_DEFAULT);
    gantry_function_t *function;
    const gantry_tensor_t *output;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    hostile_take_launches(launches, sizeof launches);
    assert_int_equal(gantry_function_trace(runtime, "constants", sum_constants, NULL, NULL, 0, 1,
                                           NULL, &function),
                     GANTRY_OK);
    if (gantry_function_call(scope, function, NULL, 0, &output, 1) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    hostile_take_launches(launches, sizeof launches);
    if (strstr(launches, "unsorted") || !strstr(launches, "combine_sum")) fail_msg("%s", launches);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_function_release(function);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
