/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A view shares a part of a tensor's memory under another type and shape: ops take it,
 * nobody writes into it, and a view that does not fit is refused with numbers.
 * Promise: A view of the program's memory is aligned by its address.
 * Promise: The parts that Slice, StridedSlice, Split, SplitV and Unpack give share memory with the
 * whole where they are contiguous, aligned and longer than 64 bytes, and are copies elsewhere. */
#define _XOPEN_SOURCE 700

#include "device/buffer.h"
#include "runtime_fixture.h"
#include "test.h"

#include "run/scope_state.h"

#define COUNT 1024 /* elements: more than a tensor's object can hold */
#define ROW 128    /* elements: a row begins where a device's memory is aligned */

static const char *const devices[] = {"CPU:0", "GPU:0"};

static uint64_t place_of(const gantry_tensor_t *tensor) {
    assert_non_null(tensor);
    assert_non_null(tensor->buffer);
    return tensor->buffer->span.region + tensor->buffer->span.offset_bytes + tensor->offset_bytes;
}

static const gantry_tensor_t *make_steps(gantry_scope_t *scope) {
    int32_t values[COUNT];
    for (int i = 0; i < COUNT; ++i) values[i] = i;
    const gantry_tensor_t *tensor = make_i32(scope, COUNT, values);
    if (!tensor) fail_msg("%s", gantry_scope_message(scope));
    return tensor;
}

/* Opens a runtime with a GPU, a scope on the device, and a tensor 0, 1, 2, ... of int32. */
static const gantry_tensor_t *begin(runtime_fixture_t *f, const char *device,
                                    gantry_scope_t **out_scope) {
    runtime_fixture_open(f, 1);
    *out_scope = runtime_fixture_scope(f, device);
    return make_steps(*out_scope);
}

static void end(runtime_fixture_t *f, gantry_scope_t *scope) {
    expect_ended_well(scope);
    runtime_fixture_close(f);
}

/* ---- the memory ---- */

TEST(view_lies_in_its_parents_memory) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        const gantry_tensor_t *view =
            gantry_tensor_view(scope, x, 12, GANTRY_INT32, GANTRY_SHAPE(2, 3));
        assert_true(place_of(view) == place_of(x) + 12);
        assert_int_equal(gantry_tensor_bytes(view), 24);
        assert_true(gantry_shape_equal(gantry_tensor_shape(view), &GANTRY_SHAPE(2, 3)));
        assert_ptr_equal(gantry_tensor_device(view), gantry_tensor_device(x));
        EXPECT_I32(view, 3, 4, 5, 6, 7, 8);
        const gantry_tensor_t *inner =
            gantry_tensor_view(scope, view, 8, GANTRY_INT32, GANTRY_SHAPE(2));
        assert_true(place_of(inner) == place_of(x) + 20);
        EXPECT_I32(inner, 5, 6);
        end(&f, scope);
    }
}

static void expect_row(const gantry_tensor_t *part, const gantry_tensor_t *whole, int row) {
    assert_true(place_of(part) == place_of(whole) + (uint64_t)row * ROW * sizeof(int32_t));
}

/* On the CPU backend: the fake one has no kernels for these ops. */
TEST(contiguous_parts_share_memory) {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    const gantry_tensor_t *parts[COUNT / ROW];
    const gantry_tensor_t *steps = begin(&f, "CPU:0", &scope);
    const gantry_tensor_t *x = gantry_reshape(scope, steps, GANTRY_SHAPE(COUNT / ROW, ROW));
    const int64_t from[] = {2, 0}, rows[] = {3, ROW}, end_of[] = {6, ROW};
    expect_row(gantry_slice(scope, x, from, rows), x, 2);
    expect_row(gantry_strided_slice(scope, x, from, end_of, NULL, 1, NULL), x, 2);
    gantry_split(scope, x, 0, parts, 2);
    expect_row(parts[1], x, COUNT / ROW / 2);
    gantry_split_v(scope, x, (const int64_t[]){3, -1}, 0, parts, 2);
    expect_row(parts[1], x, 3);
    gantry_unpack(scope, x, 0, parts, COUNT / ROW);
    expect_row(parts[5], x, 5);
    const int64_t first[] = {0, 0}, columns[] = {COUNT / ROW, ROW / 2}, few[] = {1, 16};
    assert_true(gantry_slice(scope, x, first, columns)->buffer != x->buffer);
    assert_true(gantry_slice(scope, x, first, few)->buffer != x->buffer);
    const int64_t second[] = {1}, many[] = {100}; /* not aligned */
    assert_true(gantry_slice(scope, steps, second, many)->buffer != x->buffer);
    end(&f, scope);
}

TEST(view_of_another_type_reads_the_same_bytes) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        int64_t pairs[2];
        uint8_t bytes[3];
        const gantry_tensor_t *wide =
            gantry_tensor_view(scope, x, 8, GANTRY_INT64, GANTRY_SHAPE(2));
        assert_int_equal(gantry_tensor_read(wide, pairs, sizeof pairs), GANTRY_OK);
        assert_true(pairs[0] == 2 + (INT64_C(3) << 32) && pairs[1] == 4 + (INT64_C(5) << 32));
        const gantry_tensor_t *narrow =
            gantry_tensor_view(scope, x, 19, GANTRY_UINT8, GANTRY_SHAPE(3));
        assert_int_equal(gantry_tensor_read(narrow, bytes, sizeof bytes), GANTRY_OK);
        assert_true(bytes[0] == 0 && bytes[1] == 5 && bytes[2] == 0);
        end(&f, scope);
    }
}

/* Elements inside the tensor's object are copied. */
TEST(view_of_a_small_tensor_has_its_elements) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = I32(scope, 1, 2, 3, 4);
    assert_null(x->buffer);
    const gantry_tensor_t *view = gantry_tensor_view(scope, x, 4, GANTRY_INT32, GANTRY_SHAPE(3));
    gantry_tensor_drop(scope, x);
    EXPECT_I32(view, 2, 3, 4);
    EXPECT_I32(gantry_reshape(scope, view, GANTRY_SHAPE(3, 1)), 2, 3, 4);
    EXPECT_I32(gantry_tensor_view(scope, view, 4, GANTRY_INT32, GANTRY_SCALAR), 3);
    EXPECT_I32(gantry_add(scope, view, view), 4, 6, 8);
    end(&f, scope);
}

TEST(view_outlives_its_parent) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        const gantry_tensor_t *view =
            gantry_tensor_view(scope, x, 40, GANTRY_INT32, GANTRY_SHAPE(2));
        gantry_tensor_drop(scope, x);
        (void)make_steps(scope); /* would take the memory if it were free */
        EXPECT_I32(view, 10, 11);
        end(&f, scope);
    }
}

TEST(view_without_elements_holds_no_memory) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        const gantry_tensor_t *view =
            gantry_tensor_view(scope, x, COUNT * 4, GANTRY_INT64, GANTRY_SHAPE(0, 3));
        assert_non_null(view);
        assert_null(view->buffer);
        assert_int_equal(gantry_tensor_bytes(view), 0);
        assert_int_equal(gantry_tensor_read(view, NULL, 0), GANTRY_OK);
        assert_non_null(gantry_add(scope, view, view));
        end(&f, scope);
    }
}

/* ---- ops ---- */

TEST(ops_take_a_view_that_is_aligned_for_its_elements_only) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        const gantry_tensor_t *view =
            gantry_tensor_view(scope, x, 4, GANTRY_INT32, GANTRY_SHAPE(COUNT - 1));
        const gantry_tensor_t *sum = gantry_add(scope, view, view);
        int32_t got[COUNT - 1];
        assert_int_equal(gantry_tensor_read(sum, got, sizeof got), GANTRY_OK);
        for (int i = 0; i < COUNT - 1; ++i) assert_int_equal(got[i], 2 * (i + 1));
        end(&f, scope);
    }
}

TEST(donated_tensor_with_a_view_keeps_its_elements) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        const uint64_t place = place_of(x);
        const gantry_tensor_t *view =
            gantry_tensor_view(scope, x, 8, GANTRY_INT32, GANTRY_SHAPE(2));
        const gantry_tensor_t *sum = gantry_add(scope, gantry_tensor_donate(scope, x), x);
        assert_true(place_of(sum) != place);
        EXPECT_I32(view, 2, 3);
        end(&f, scope);
    }
}

/* Kernels write whole lines: the last owner's memory serves only if a result may begin there. */
TEST(donated_view_serves_if_a_result_may_begin_there) {
    static const uint64_t firsts[] = {4, 1024};
    for (int i = 0; i < 4; ++i) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[i / 2], &scope);
        const gantry_tensor_t *view =
            gantry_tensor_view(scope, x, firsts[i % 2], GANTRY_INT32, GANTRY_SHAPE(100));
        const uint64_t place = place_of(view);
        gantry_tensor_drop(scope, x);
        const gantry_tensor_t *sum = gantry_add(scope, gantry_tensor_donate(scope, view), view);
        assert_int_equal(place_of(sum) == place, i % 2);
        int32_t got[100];
        assert_int_equal(gantry_tensor_read(sum, got, sizeof got), GANTRY_OK);
        assert_int_equal(got[99], 2 * ((int32_t)firsts[i % 2] / 4 + 99));
        end(&f, scope);
    }
}

TEST(variable_that_holds_a_view_is_updated) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        const gantry_tensor_t *view =
            gantry_tensor_view(scope, x, 4, GANTRY_INT32, GANTRY_SHAPE(100));
        const gantry_tensor_t *step = gantry_identity(scope, view);
        gantry_variable_t *variable = gantry_variable_create(scope, view, "held");
        assert_non_null(variable);
        assert_int_equal(gantry_variable_assign_add(scope, variable, step), GANTRY_OK);
        int32_t got[100];
        assert_int_equal(gantry_tensor_read(gantry_variable_read(scope, variable), got, sizeof got),
                         GANTRY_OK);
        for (int i = 0; i < 100; ++i) assert_int_equal(got[i], 2 * (i + 1));
        EXPECT_I32(gantry_tensor_view(scope, x, 4, GANTRY_INT32, GANTRY_SHAPE(2)), 1, 2);
        gantry_variable_release(variable);
        end(&f, scope);
    }
}

/* ---- what is refused ---- */

TEST(view_that_does_not_fit_is_refused_with_numbers) {
    static const struct {
        uint64_t first_byte;
        gantry_dtype_t dtype;
        gantry_shape_t shape;
        const char *message;
    } rows[] = {
        {4097, GANTRY_UINT8, {1, {0}}, "first_byte 4097 is beyond the tensor's 4096 bytes; 0 to"},
        {4088, GANTRY_INT32, {1, {3}}, "3 elements of int32 from byte 4088 on lie beyond the"},
        {4088, GANTRY_INT32, {1, {3}}, "tensor's 4096 bytes; at most 2 are accepted there"},
        {0, GANTRY_INT64, {2, {1 << 30, 1 << 30}}, "1152921504606846976 elements of int64"},
        {UINT64_MAX, GANTRY_INT8, {0, {0}}, "first_byte 18446744073709551615 is beyond"},
        {6, GANTRY_INT32, {1, {1}}, "first_byte 6 is not aligned for int32; 0 and every 4 bytes"},
        {4, GANTRY_FLOAT64, {1, {1}}, "first_byte 4 is not aligned for float64; 0 and every 8"},
        {0, GANTRY_INT32, {1, {-1}}, "shape [-1] of rank 1 has no size"},
        {0, GANTRY_INT32, {9, {1, 1, 1, 1, 1, 1, 1, 1}}, "of rank 9 has no size; ranks 0 to 8"},
        {0, GANTRY_INT32, {2, {INT64_MAX, 2}}, "and a product of at most 2**63 - 1 are accepted"},
        {0, GANTRY_DTYPE_NONE, {1, {1}}, "dtype 0 is no element type"},
        {0, (gantry_dtype_t)99, {1, {1}}, "dtype 99 is no element type"},
        {0, GANTRY_BOOL, {1, {1}}, "a view of int32 as bool is refused"},
    };
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
            assert_null(
                gantry_tensor_view(scope, x, rows[i].first_byte, rows[i].dtype, rows[i].shape));
            expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, rows[i].message);
        }
        end(&f, scope);
    }
}

/* The parent begins at an odd byte: its own first byte suits no int32. */
TEST(view_of_a_view_is_aligned_by_its_place_in_memory) {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    const gantry_tensor_t *x = begin(&f, "GPU:0", &scope);
    const gantry_tensor_t *odd = gantry_tensor_view(scope, x, 5, GANTRY_UINT8, GANTRY_SHAPE(20));
    assert_null(gantry_tensor_view(scope, odd, 0, GANTRY_INT32, GANTRY_SHAPE(1)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "first_byte 0 is not aligned for int32; 3 and every 4 bytes");
    EXPECT_I32(gantry_tensor_view(scope, odd, 3, GANTRY_INT32, GANTRY_SHAPE(2)), 2, 3);
    end(&f, scope);
}

/* Memory of the program at an odd address: the address counts, not the place in the memory. */
TEST(view_of_the_programs_memory_is_aligned_by_its_address) {
    static _Alignas(64) const unsigned char bytes[256];
    const gantry_from_memory_options_t in_place = {.struct_size = sizeof in_place,
                                                   .requires_no_copy = true};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *odd = gantry_tensor_from_memory(
        scope, GANTRY_UINT8, GANTRY_SHAPE(200), (void *)(uintptr_t)(bytes + 3), 200, &in_place);
    assert_null(gantry_tensor_view(scope, odd, 0, GANTRY_FLOAT64, GANTRY_SHAPE(4)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "first_byte 0 is not aligned for float64; 5 and every 8 bytes");
    const gantry_tensor_t *view =
        gantry_tensor_view(scope, odd, 5, GANTRY_FLOAT64, GANTRY_SHAPE(4));
    assert_non_null(view);
    assert_ptr_equal(view->data, bytes + 8);
    end(&f, scope);
}

TEST(view_of_another_runtimes_tensor_is_refused) {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    gantry_runtime_t *second;
    (void)begin(&f, "CPU:0", &scope);
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    assert_int_equal(gantry_runtime_create(&options, &second), GANTRY_OK);
    gantry_scope_t *there = gantry_scope_begin(second, NULL);
    const gantry_tensor_t *x = make_steps(there);
    assert_null(gantry_tensor_view(scope, x, 0, GANTRY_INT32, GANTRY_SHAPE(1)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the tensor belongs to another runtime");
    assert_int_equal(gantry_scope_end(there), GANTRY_OK);
    gantry_runtime_release(second);
    end(&f, scope);
}

TEST(failed_scope_makes_no_view) {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    const gantry_tensor_t *x = begin(&f, "CPU:0", &scope);
    (void)gantry_scope_fail(scope, GANTRY_ABORTED, "an earlier error");
    assert_null(gantry_tensor_view(scope, x, 0, GANTRY_INT32, GANTRY_SHAPE(1)));
    expect_scope_failure(scope, GANTRY_ABORTED, "an earlier error");
    end(&f, scope);
}

/* ---- functions ---- */

static void view_symbolic(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *const *constant = user;
    assert_null(gantry_tensor_view(scope, inputs[0], 0, GANTRY_INT32, GANTRY_SHAPE(2)));
    expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION, "is symbolic");
    outputs[0] = gantry_add(scope, inputs[0],
                            gantry_tensor_view(scope, *constant, 4, GANTRY_INT32, GANTRY_SHAPE(2)));
}

/* A function takes a view as an argument and as a constant; a value of its trace has no memory. */
TEST(functions_take_views_but_not_of_symbolic_tensors) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        gantry_scope_t *scope;
        const gantry_tensor_t *x = begin(&f, devices[d], &scope);
        gantry_function_t *function = NULL;
        const gantry_tensor_t *view =
            gantry_tensor_view(scope, x, 12, GANTRY_INT32, GANTRY_SHAPE(2));
        const gantry_tensor_t *result = NULL;
        const gantry_input_spec_t input = {NULL, GANTRY_INT32, {1, {2}}};
        assert_int_equal(
            gantry_function_trace(f.runtime, "f", view_symbolic, &x, &input, 1, 1, NULL, &function),
            GANTRY_OK);
        assert_int_equal(gantry_function_call(scope, function, &view, 1, &result, 1), GANTRY_OK);
        EXPECT_I32(result, 4, 6);
        gantry_function_release(function);
        end(&f, scope);
    }
}

/* ---- memory and faults ---- */

static gantry_status_t view_program(gantry_scope_t *scope) {
    const float values[32] = {1};
    const gantry_tensor_t *x = make_f32(scope, 32, values);
    const gantry_tensor_t *view = gantry_tensor_view(scope, x, 64, GANTRY_FLOAT32, GANTRY_SHAPE(4));
    (void)gantry_add(scope, view, view);
    return gantry_scope_status(scope);
}

TEST(view_without_host_memory_fails_and_leaks_nothing) {
    runtime_fixture_starve_each(1, "GPU:0", view_program);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
