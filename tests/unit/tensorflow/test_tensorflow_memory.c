/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each address that the plug-in gives TensorFlow stands for a tensor, a slice for a view
 * of it, a written part for a part, and freed addresses are used again. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <sys/resource.h>

#include "runtime_fixture.h"
#include "test.h"

#include "cells.h"
#include "memory.h"
#include "run/tensor_state.h"

#define GPU "/device:GPU:0"
#define FLOATS 1024 /* more bytes than those that wait on the host */

typedef struct addresses_t {
    runtime_fixture_t f;
    memory_t *memory;
    gantry_scope_t *scope;
    const gantry_logical_device_t *gpu;
} addresses_t;

static void begin(addresses_t *a) {
    runtime_fixture_open(&a->f, 2);
    assert_int_equal(memory_create(a->f.runtime, &a->memory), GANTRY_OK);
    a->scope = runtime_fixture_scope(&a->f, GPU);
    assert_int_equal(gantry_find_logical_device(a->f.runtime, GPU, &a->gpu), GANTRY_OK);
}

static void end(addresses_t *a) {
    memory_destroy(a->memory);
    assert_int_equal(gantry_scope_end(a->scope), GANTRY_OK);
    runtime_fixture_close(&a->f);
}

static void write_bytes(addresses_t *a, void *to, const void *from, uint64_t bytes) {
    assert_int_equal(memory_write(a->memory, a->gpu, to, from, bytes), GANTRY_OK);
}

/* An allocation of FLOATS elements 0, 1, 2, ... as TensorFlow copies it from the host. */
static char *make_steps(addresses_t *a, uint32_t device) {
    float values[FLOATS];
    for (int i = 0; i < FLOATS; ++i) values[i] = (float)i;
    char *address = memory_allocate(a->memory, device, sizeof values);
    assert_non_null(address);
    write_bytes(a, address, values, sizeof values);
    return address;
}

static void expect_floats(addresses_t *a, const void *address, int64_t count, float first,
                          float step) {
    float got[FLOATS];
    const gantry_status_t status =
        memory_read(a->memory, got, address, (uint64_t)count * sizeof *got);
    if (status) fail_msg("%s", gantry_last_message());
    for (int64_t i = 0; i < count; ++i) {
        const float wanted = first + step * (float)i;
        if (got[i] < wanted || got[i] > wanted) {
            fail_msg("element %d is %g, not %g", (int)i, (double)got[i], (double)wanted);
        }
    }
}

static gantry_tensor_t *tensor_at(addresses_t *a, const void *address, gantry_dtype_t dtype,
                                  gantry_shape_t shape) {
    gantry_tensor_t *tensor = memory_tensor(a->memory, a->scope, address, dtype, &shape);
    if (!tensor) fail_msg("%s", gantry_scope_message(a->scope));
    return tensor;
}

/* ---- addresses ---- */

TEST(addresses_are_aligned_apart_and_used_again) {
    addresses_t a;
    begin(&a);
    static const uint64_t sizes[] = {1, 255, 256, 257, 4096, 1000000, 1u << 30};
    char *first[7], *second[7];
    for (int i = 0; i < 7; ++i) {
        first[i] = memory_allocate(a.memory, 0, sizes[i]);
        second[i] = memory_allocate(a.memory, 1, sizes[i]);
        assert_int_equal((uintptr_t)first[i] % 256, 0);
        assert_true(second[i] >= first[i] + sizes[i] || first[i] >= second[i] + sizes[i]);
        uint32_t device = 9;
        assert_true(memory_device(a.memory, second[i] + sizes[i] - 1, &device));
        assert_int_equal(device, 1);
    }
    for (int i = 0; i < 7; ++i) {
        memory_free(a.memory, first[i]);
        assert_ptr_equal(memory_allocate(a.memory, 0, sizes[i]), first[i]);
    }
    end(&a);
}

/* ulimit -v leaves less than the plug-in likes. Sanitizers take more than this limit themselves,
 * and leave less, so that all other tests are this one. */
TEST(fewer_addresses_serve_too) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("a sanitizer limits the addresses already\n");
    skip();
#endif
    addresses_t a;
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    few = before;
    few.rlim_cur = UINT64_C(8) << 40;
    assert_int_equal(setrlimit(RLIMIT_AS, &few), 0);
    begin(&a);
    char *address = make_steps(&a, 0);
    expect_floats(&a, address + 400, 3, 100, 1);
    end(&a);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(nothing_and_too_much_have_no_address) {
    addresses_t a;
    begin(&a);
    assert_null(memory_allocate(a.memory, 0, 0));
    assert_null(memory_allocate(a.memory, 0, UINT64_MAX));
    memory_free(a.memory, NULL);
    end(&a);
}

TEST(foreign_addresses_are_refused) {
    addresses_t a;
    begin(&a);
    char data[8] = "";
    char *address = memory_allocate(a.memory, 0, 100);
    char *const wrong[] = {data, address + 96, memory_nowhere(a.memory), address + 256};
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(memory_read(a.memory, data, wrong[i], 8), GANTRY_INTERNAL);
        assert_non_null(strstr(gantry_last_message(), "are no device memory of Gantry"));
        assert_int_equal(memory_write(a.memory, a.gpu, wrong[i], data, 8), GANTRY_INTERNAL);
    }
    memory_free(a.memory, address);
    assert_int_equal(memory_read(a.memory, data, address, 8), GANTRY_INTERNAL);
    end(&a);
}

/* ---- tensors ---- */

TEST(bound_tensor_is_found_without_a_copy) {
    addresses_t a;
    begin(&a);
    char *address = memory_allocate(a.memory, 0, 3 * sizeof(float));
    const gantry_tensor_t *x = F32(a.scope, 1, 2, 3);
    assert_int_equal(memory_bind(a.memory, address, x), GANTRY_OK);
    gantry_tensor_t *found = tensor_at(&a, address, GANTRY_FLOAT32, GANTRY_SHAPE(3));
    assert_ptr_equal(found, x);
    gantry_tensor_release(found);
    found = tensor_at(&a, address, GANTRY_FLOAT32, GANTRY_SHAPE(1, 3, 1));
    assert_true(gantry_shape_equal(gantry_tensor_shape(found), &GANTRY_SHAPE(1, 3, 1)));
    gantry_tensor_release(found);
    end(&a);
}

/* A variable's value is overwritten only if nothing else holds it. */
TEST(taken_tensor_is_held_by_nobody_else) {
    addresses_t a;
    begin(&a);
    char *address = make_steps(&a, 0), *second = memory_allocate(a.memory, 0, FLOATS * 4);
    for (int i = 0; i < 2; ++i) { /* as written, then as bound */
        gantry_tensor_t *taken =
            memory_take(a.memory, a.scope, address, GANTRY_FLOAT32, &GANTRY_SHAPE(FLOATS));
        assert_non_null(taken);
        assert_true(gantry__tensor_is_sole(taken));
        expect_floats(&a, address, FLOATS, 0, 0);
        assert_int_equal(memory_bind(a.memory, address, taken), GANTRY_OK);
        gantry_tensor_release(taken);
        expect_floats(&a, address, FLOATS, 0, 1);
    }
    assert_int_equal(memory_copy(a.memory, a.scope, second, address, FLOATS * 4), GANTRY_OK);
    gantry_tensor_t *taken =
        memory_take(a.memory, a.scope, address, GANTRY_FLOAT32, &GANTRY_SHAPE(FLOATS));
    assert_false(gantry__tensor_is_sole(taken));
    gantry_tensor_release(taken);
    expect_floats(&a, second, FLOATS, 0, 1);
    gantry_tensor_t *begins = /* a part leaves the rest where it lies */
        memory_take(a.memory, a.scope, second, GANTRY_FLOAT32, &GANTRY_SHAPE(4));
    EXPECT_F32(begins, 0, 1, 2, 3);
    gantry_tensor_release(begins);
    expect_floats(&a, second, FLOATS, 0, 1);
    end(&a);
}

TEST(bytes_get_their_type_once) {
    addresses_t a;
    begin(&a);
    char *many = make_steps(&a, 0), *few = memory_allocate(a.memory, 0, 8);
    write_bytes(&a, few, (const float[]){5, 6}, 8);
    gantry_tensor_t *x = tensor_at(&a, many, GANTRY_FLOAT32, GANTRY_SHAPE(FLOATS));
    gantry_tensor_t *y = tensor_at(&a, few, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    gantry_tensor_t *x_again = tensor_at(&a, many, GANTRY_FLOAT32, GANTRY_SHAPE(FLOATS));
    gantry_tensor_t *y_again = tensor_at(&a, few, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    assert_ptr_equal(x, x_again);
    assert_ptr_equal(y, y_again);
    EXPECT_F32(y, 5, 6);
    expect_floats(&a, many, FLOATS, 0, 1);
    gantry_tensor_t *const all[] = {x, y, x_again, y_again};
    for (int i = 0; i < 4; ++i) gantry_tensor_release(all[i]);
    end(&a);
}

TEST(bytes_become_bool) {
    addresses_t a;
    begin(&a);
    unsigned char flags[2048], got[2048];
    for (int i = 0; i < 2048; ++i) flags[i] = i % 3 == 0;
    char *address = memory_allocate(a.memory, 0, sizeof flags);
    write_bytes(&a, address, flags, sizeof flags);
    gantry_tensor_t *x = tensor_at(&a, address, GANTRY_BOOL, GANTRY_SHAPE(2048));
    assert_int_equal(gantry_tensor_read(x, got, sizeof got), GANTRY_OK);
    assert_memory_equal(got, flags, sizeof got);
    gantry_tensor_release(x);
    end(&a);
}

TEST(slice_is_a_view) {
    addresses_t a;
    begin(&a);
    char *address = make_steps(&a, 0);
    gantry_tensor_t *slice = tensor_at(&a, address + 400, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3));
    EXPECT_F32(slice, 100, 101, 102, 103, 104, 105);
    gantry_tensor_release(slice);
    expect_floats(&a, address + 800, 50, 200, 1);
    end(&a);
}

/* The first to read a slice of bytes does not cut them. */
TEST(slice_leaves_the_whole) {
    addresses_t a;
    begin(&a);
    char *address = make_steps(&a, 0);
    gantry_tensor_t *slice = tensor_at(&a, address + 400, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    uint64_t offset = 0;
    const cell_t *cell = cells_find(a.memory, address + 400, &offset);
    assert_int_equal(offset, 400);
    assert_int_equal(cell->parts.count, 1);
    gantry_tensor_t *whole = tensor_at(&a, address, GANTRY_FLOAT32, GANTRY_SHAPE(FLOATS));
    gantry_tensor_t *again = tensor_at(&a, address + 404, GANTRY_FLOAT32, GANTRY_SHAPE(1));
    gantry_tensor_t *whole_again = tensor_at(&a, address, GANTRY_FLOAT32, GANTRY_SHAPE(FLOATS));
    EXPECT_F32(slice, 100, 101);
    EXPECT_F32(again, 101);
    assert_ptr_equal(whole, whole_again);
    gantry_tensor_t *const all[] = {slice, whole, again, whole_again};
    for (int i = 0; i < 4; ++i) gantry_tensor_release(all[i]);
    end(&a);
}

TEST(written_part_leaves_the_rest) {
    addresses_t a;
    begin(&a);
    char *address = make_steps(&a, 0);
    const gantry_tensor_t *chunk = F32(a.scope, -1, -2, -3, -4);
    assert_int_equal(memory_bind(a.memory, address + 400, chunk), GANTRY_OK);
    expect_floats(&a, address, 100, 0, 1);
    expect_floats(&a, address + 400, 4, -1, -1);
    expect_floats(&a, address + 416, FLOATS - 104, 104, 1);
    gantry_tensor_t *whole = tensor_at(&a, address, GANTRY_FLOAT32, GANTRY_SHAPE(FLOATS));
    float got[FLOATS];
    assert_int_equal(gantry_tensor_read(whole, got, sizeof got), GANTRY_OK);
    assert_true(got[99] > 98 && got[100] < 0 && got[103] < 0 && got[104] > 103);
    gantry_tensor_release(whole);
    write_bytes(&a, address + 396, (const float[]){7, 7}, 8); /* over the border of two parts */
    expect_floats(&a, address + 396, 2, 7, 0);
    expect_floats(&a, address + 404, 3, -2, -1);
    end(&a);
}

TEST(unwritten_bytes_read_as_zeros) {
    addresses_t a;
    begin(&a);
    char *address = memory_allocate(a.memory, 0, 400);
    expect_floats(&a, address, 100, 0, 0);
    write_bytes(&a, address + 40, (const float[]){1, 1}, 8);
    expect_floats(&a, address, 10, 0, 0);
    expect_floats(&a, address + 40, 2, 1, 0);
    expect_floats(&a, address + 48, 88, 0, 0);
    gantry_tensor_t *x = tensor_at(&a, address + 36, GANTRY_FLOAT32, GANTRY_SHAPE(4));
    EXPECT_F32(x, 0, 1, 1, 0);
    gantry_tensor_release(x);
    end(&a);
}

TEST(fill_repeats_its_pattern) {
    addresses_t a;
    begin(&a);
    char *address = make_steps(&a, 0);
    uint32_t pattern;
    const float value = 2.5f;
    memcpy(&pattern, &value, sizeof pattern);
    assert_int_equal(memory_fill(a.memory, address + 8, pattern, 40), GANTRY_OK);
    expect_floats(&a, address, 2, 0, 1);
    expect_floats(&a, address + 8, 10, 2.5f, 0);
    expect_floats(&a, address + 48, 10, 12, 1);
    end(&a);
}

/* ---- copies ---- */

TEST(copy_on_one_device_shares_the_tensor) {
    addresses_t a;
    begin(&a);
    char *from = memory_allocate(a.memory, 0, 12), *to = memory_allocate(a.memory, 0, 12);
    const gantry_tensor_t *x = F32(a.scope, 1, 2, 3);
    assert_int_equal(memory_bind(a.memory, from, x), GANTRY_OK);
    assert_int_equal(memory_copy(a.memory, a.scope, to, from, 12), GANTRY_OK);
    assert_int_equal(memory_bind(a.memory, from, F32(a.scope, 7, 8, 9)), GANTRY_OK);
    gantry_tensor_t *copy = tensor_at(&a, to, GANTRY_FLOAT32, GANTRY_SHAPE(3));
    assert_ptr_equal(copy, x);
    gantry_tensor_release(copy);
    end(&a);
}

TEST(copy_between_devices_lies_on_the_other) {
    addresses_t a;
    begin(&a);
    char *from = make_steps(&a, 0), *to = memory_allocate(a.memory, 1, FLOATS * sizeof(float));
    gantry_scope_t *second = runtime_fixture_scope(&a.f, "/device:GPU:1");
    assert_int_equal(memory_copy(a.memory, second, to + 4, from + 400, 400), GANTRY_OK);
    assert_int_equal(gantry_scope_end(second), GANTRY_OK);
    expect_floats(&a, to + 4, 100, 100, 1);
    gantry_tensor_t *copy = tensor_at(&a, to + 4, GANTRY_FLOAT32, GANTRY_SHAPE(100));
    assert_string_equal(gantry_logical_device_name(gantry_tensor_device(copy)), "/device:GPU:1");
    gantry_tensor_release(copy);
    end(&a);
}

/* ---- many ---- */

TEST(chunks_in_any_order_make_a_whole) {
    addresses_t a;
    begin(&a);
    char *from = make_steps(&a, 0), *to = memory_allocate(a.memory, 0, FLOATS * sizeof(float));
    for (uint64_t i = 0; i < 64; ++i) {
        const uint64_t chunk = i * 37 % 64 * 64; /* 37 and 64 have no common divisor */
        assert_int_equal(memory_copy(a.memory, a.scope, to + chunk, from + chunk, 64), GANTRY_OK);
    }
    expect_floats(&a, to, FLOATS, 0, 1);
    gantry_tensor_t *whole = tensor_at(&a, to, GANTRY_FLOAT32, GANTRY_SHAPE(FLOATS));
    float got[FLOATS];
    assert_int_equal(gantry_tensor_read(whole, got, sizeof got), GANTRY_OK);
    for (int i = 0; i < FLOATS; ++i) assert_int_equal((int)got[i], i);
    gantry_tensor_release(whole);
    end(&a);
}

static void refuse_cell(memory_t *memory, cell_t *cell) {
    (void)memory;
    fail_msg("an address of %llu bytes was not given back", (unsigned long long)cell->bytes);
}

/* Allocates, binds, copies and frees on a thread of its own, beside others. */
static void *use_addresses(void *argument) {
    addresses_t *a = argument;
    gantry_scope_t *scope = gantry_scope_begin(a->f.runtime, GPU);
    const gantry_tensor_t *x = F32(scope, 1, 2, 3);
    for (int i = 0; i < 2000; ++i) {
        char *from = memory_allocate(a->memory, 0, 12), *to = memory_allocate(a->memory, 0, 300);
        bool is_right =
            !memory_bind(a->memory, from, x) && !memory_copy(a->memory, scope, to + 96, from, 12);
        gantry_tensor_t *copy =
            memory_tensor(a->memory, scope, to + 96, GANTRY_FLOAT32, &GANTRY_SHAPE(3));
        is_right = is_right && copy == x;
        gantry_tensor_release(copy);
        memory_free(a->memory, from);
        memory_free(a->memory, to);
        if (!is_right) return "a thread found another tensor at its address";
    }
    return gantry_scope_end(scope) ? "the scope failed" : NULL;
}

TEST(threads_do_not_meet) {
    addresses_t a;
    begin(&a);
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_addresses, &a), 0);
    }
    for (int i = 0; i < 4; ++i) {
        void *text = NULL;
        assert_int_equal(pthread_join(threads[i], &text), 0);
        if (text) fail_msg("%s", (char *)text);
    }
    cells_visit(a.memory, refuse_cell); /* all addresses were given back */
    end(&a);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
