/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tensor over the program's memory uses it in place, and release is called once, when no
 * tensor, function or variable uses it any more.
 * Promise: Nothing writes into memory that was not given as writable: a page that cannot be written
 * goes through ops, donation, variables and functions.
 * Promise: Memory that cannot be used in place is copied, or refused with the reason where a copy
 * is not wanted, and a query says which it was.
 * Promise: A tensor of a CPU device is read in place while it is mapped, and nothing changes it. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "function_fixture.h"
#include "test.h"

#include <sys/mman.h>

#include "run/tensor_state.h"

#define COUNT 1024 /* floats of a page: more than a tensor's object can hold */
#define BYTES (COUNT * sizeof(float))

typedef struct page_t {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    float *floats;
    int released, bodies;
} page_t;

static void count_release(void *user) {
    page_t *page = user;
    ++page->released;
}

static void begin(page_t *page, const char *device) {
    runtime_fixture_open(&page->f, 1);
    page->scope = runtime_fixture_scope(&page->f, device);
    page->released = page->bodies = 0;
    page->floats = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page->floats, MAP_FAILED);
    for (int i = 0; i < COUNT; ++i) page->floats[i] = (float)i;
}

static void end(page_t *page) {
    expect_ended_well(page->scope);
    runtime_fixture_close(&page->f);
    assert_int_equal(munmap(page->floats, BYTES), 0);
}

static gantry_from_memory_options_t options_of(page_t *page) {
    return (gantry_from_memory_options_t){.struct_size = sizeof(gantry_from_memory_options_t),
                                          .requires_no_copy = true,
                                          .release = count_release,
                                          .user = page};
}

static const gantry_tensor_t *adopt(page_t *page, bool is_writable) {
    gantry_from_memory_options_t options = options_of(page);
    options.is_writable = is_writable;
    const gantry_tensor_t *tensor = gantry_tensor_from_memory(
        page->scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), page->floats, BYTES, &options);
    if (!tensor) fail_msg("%s", gantry_scope_message(page->scope));
    return tensor;
}

/* A page that no code can write. */
static const gantry_tensor_t *adopt_locked(page_t *page) {
    assert_int_equal(mprotect(page->floats, BYTES, PROT_READ), 0);
    return adopt(page, false);
}

static gantry_tensor_memory_t memory_of(const gantry_tensor_t *tensor) {
    gantry_tensor_memory_t memory = {.struct_size = sizeof memory};
    assert_int_equal(gantry_get_tensor_memory(tensor, &memory), GANTRY_OK);
    return memory;
}

static uint64_t foreign_bytes(const page_t *page) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(page->f.runtime, "CPU:0", &info), GANTRY_OK);
    return info.foreign_bytes;
}

static void expect_steps(const gantry_tensor_t *tensor, float step) {
    static float got[COUNT];
    if (gantry_tensor_read(tensor, got, sizeof got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int i = 0; i < COUNT; ++i) {
        if (got[i] < (float)i * step || got[i] > (float)i * step)
            fail_msg("element %d is %g, not %g", i, (double)got[i], (double)((float)i * step));
    }
}

/* ---- life ---- */

TEST(memory_is_used_in_place_and_released_once) {
    page_t page;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = adopt_locked(&page);
    assert_ptr_equal(x->data, page.floats);
    assert_true(memory_of(x).is_foreign);
    assert_false(memory_of(x).is_writable);
    assert_true(foreign_bytes(&page) == BYTES);
    const gantry_tensor_t *part =
        gantry_tensor_view(page.scope, x, 0, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT / 2, 2));
    gantry_tensor_t *kept = gantry_tensor_retain(part);
    expect_ended_well(page.scope);
    assert_int_equal(page.released, 0);
    gantry_tensor_release(kept);
    assert_int_equal(page.released, 1);
    assert_true(foreign_bytes(&page) == 0);
    page.scope = runtime_fixture_scope(&page.f, "CPU:0");
    end(&page);
    assert_int_equal(page.released, 1);
}

TEST(release_may_be_missing) {
    page_t page;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = gantry_tensor_from_memory(
        page.scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), page.floats, BYTES, NULL);
    assert_ptr_equal(x->data, page.floats);
    end(&page);
}

/* ---- nobody writes ---- */

TEST(locked_page_goes_through_ops) {
    page_t page;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = adopt_locked(&page);
    expect_steps(gantry_add(page.scope, x, x), 2);
    const gantry_tensor_t *alias = gantry_reshape(page.scope, x, GANTRY_SHAPE(COUNT / 4, 4));
    const int64_t from[] = {0, 0}, size[] = {COUNT / 8, 4};
    const gantry_tensor_t *half = gantry_slice(page.scope, alias, from, size);
    (void)gantry_neg(page.scope, gantry_tensor_donate(page.scope, half));
    gantry_tensor_drop(page.scope, alias);
    const gantry_tensor_t *negated = gantry_neg(page.scope, gantry_tensor_donate(page.scope, x));
    expect_steps(negated, -1);
    end(&page);
    assert_int_equal(page.released, 1);
}

TEST(locked_page_is_a_variables_value) {
    page_t page;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = adopt_locked(&page);
    gantry_variable_t *variable = gantry_variable_create(page.scope, x, "v");
    gantry_tensor_drop(page.scope, x);
    const gantry_tensor_t *y = gantry_variable_read(page.scope, variable);
    assert_int_equal(gantry_variable_assign_add(page.scope, variable, y), GANTRY_OK);
    expect_steps(gantry_variable_read(page.scope, variable), 2);
    gantry_variable_release(variable);
    end(&page);
    assert_int_equal(page.released, 1);
}

static void add_memory(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    gantry_from_memory_options_t options = options_of(user);
    page_t *page = user;
    ++page->bodies;
    const gantry_tensor_t *x = gantry_tensor_from_memory(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT),
                                                         page->floats, BYTES, &options);
    outputs[0] = gantry_neg(scope, gantry_add(scope, inputs[0], x));
}

TEST(locked_page_is_input_and_constant_of_a_function) {
    page_t page;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = adopt_locked(&page);
    const gantry_input_spec_t input = SPEC_F32(COUNT);
    gantry_function_t *function =
        function_fixture_trace(page.f.runtime, add_memory, &page, &input, 1, 1, NULL);
    for (int call = 0; call < 3; ++call) {
        const gantry_tensor_t *sum;
        if (gantry_function_call(page.scope, function, &x, 1, &sum, 1) != GANTRY_OK)
            fail_msg("%s", gantry_scope_message(page.scope));
        expect_steps(sum, -2);
    }
    expect_ended_well(page.scope);
    assert_int_equal(page.released, 1); /* the input */
    gantry_function_release(function);
    assert_int_equal(page.released, 1 + page.bodies); /* each trace's constant */
    page.scope = runtime_fixture_scope(&page.f, "CPU:0");
    end(&page);
}

TEST(kernel_of_a_gpu_reads_a_copy) {
    page_t page;
    begin(&page, "GPU:0");
    const gantry_tensor_t *x = adopt_locked(&page);
    expect_on(x, "/device:CPU:0");
    const gantry_tensor_t *sum = gantry_add(page.scope, x, x);
    expect_on(sum, "/device:GPU:0");
    expect_steps(sum, 2);
    end(&page);
    assert_int_equal(page.released, 1);
}

TEST(writable_memory_takes_a_result) {
    page_t page;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = adopt(&page, true);
    assert_true(memory_of(x).is_writable);
    const gantry_tensor_t *negated = gantry_neg(page.scope, gantry_tensor_donate(page.scope, x));
    assert_ptr_equal(negated->data, page.floats);
    assert_int_equal(page.released, 0);
    expect_steps(negated, -1);
    end(&page);
    assert_int_equal(page.released, 1);
}

/* ---- copies ---- */

static const struct {
    gantry_dtype_t dtype;
    int64_t count;
    size_t first_byte;
    const char *why;
} copied[] = {
    {GANTRY_FLOAT32, 8, 2, "is not aligned for float32; a multiple of 4 is accepted"},
    {GANTRY_COMPLEX64, 4, 4, "is not aligned for complex64; a multiple of 8 is accepted"},
    {GANTRY_BOOL, 4, 8, "bool 2 is 7; 0 and 1 are accepted"},
    {GANTRY_INT32, 0, 0, "the tensor has no elements; one element and more is accepted"},
};

TEST(memory_that_does_not_suit_is_copied_or_refused) {
    page_t page;
    begin(&page, "CPU:0");
    unsigned char *bytes = (unsigned char *)page.floats;
    memset(bytes, 0, 64);
    bytes[10] = 7;
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; ++i) {
        gantry_from_memory_options_t options = options_of(&page);
        const gantry_shape_t shape = GANTRY_SHAPE(copied[i].count);
        const size_t size = (size_t)copied[i].count * gantry_dtype_size(copied[i].dtype);
        void *data = bytes + copied[i].first_byte;
        page.released = 0;
        assert_null(
            gantry_tensor_from_memory(page.scope, copied[i].dtype, shape, data, size, &options));
        expect_scope_failure(page.scope, GANTRY_FAILED_PRECONDITION, copied[i].why);
        assert_int_equal(page.released, 0);
        options.requires_no_copy = false;
        const gantry_tensor_t *x =
            gantry_tensor_from_memory(page.scope, copied[i].dtype, shape, data, size, &options);
        assert_int_equal(page.released, 1);
        assert_false(memory_of(x).is_foreign);
        assert_true(memory_of(x).is_writable);
    }
    end(&page);
}

/* ---- in place ---- */

TEST(mapped_tensor_is_not_overwritten) {
    page_t page;
    const void *first, *second;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = gantry_add(page.scope, adopt(&page, false), F32(page.scope, 0));
    assert_int_equal(gantry_tensor_map(x, &first), GANTRY_OK);
    assert_int_equal(gantry_tensor_map(x, &second), GANTRY_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(memory_of(x).map_count, 2);
    expect_steps(gantry_neg(page.scope, gantry_tensor_donate(page.scope, x)), -1);
    assert_memory_equal(first, page.floats, BYTES);
    assert_int_equal(gantry_tensor_unmap(x), GANTRY_OK);
    assert_memory_equal(first, page.floats, BYTES);
    assert_int_equal(gantry_tensor_unmap(x), GANTRY_OK); /* the last reference */
    end(&page);
}

TEST(map_is_undone_after_the_runtimes_release) {
    page_t page;
    const void *data;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = adopt(&page, false);
    assert_int_equal(gantry_tensor_map(x, &data), GANTRY_OK);
    expect_ended_well(page.scope);
    gantry_runtime_release(page.f.runtime);
    assert_int_equal(page.released, 0);
    assert_int_equal(gantry_tensor_unmap(x), GANTRY_OK);
    assert_int_equal(page.released, 1);
    runtime_fixture_expect_no_leak(&page.f);
    locked_heap_deinit(&page.f.heap);
    assert_int_equal(munmap(page.floats, BYTES), 0);
}

TEST(small_and_empty_tensors_are_mapped) {
    page_t page;
    const void *data;
    begin(&page, "CPU:0");
    const gantry_tensor_t *x = F32(page.scope, 3, 4);
    const gantry_tensor_t *empty =
        gantry_constant(page.scope, GANTRY_FLOAT32, GANTRY_SHAPE(0), NULL, 0);
    assert_int_equal(gantry_tensor_map(x, &data), GANTRY_OK);
    assert_memory_equal(data, ((const float[]){3, 4}), 2 * sizeof(float));
    assert_int_equal(gantry_tensor_unmap(x), GANTRY_OK);
    assert_int_equal(gantry_tensor_map(empty, &data), GANTRY_OK);
    assert_non_null(data);
    assert_int_equal(gantry_tensor_unmap(empty), GANTRY_OK);
    end(&page);
}

/* ---- bad input ---- */

TEST(bad_input_is_refused) {
    page_t page;
    const void *data = &page;
    begin(&page, "GPU:0");
    gantry_from_memory_options_t options = options_of(&page);
    options.struct_size = 1000;
    assert_null(gantry_tensor_from_memory(page.scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), page.floats,
                                          16, &options));
    expect_scope_failure(page.scope, GANTRY_INVALID_ARGUMENT, "gantry_tensor_from_memory: options");
    assert_null(
        gantry_tensor_from_memory(page.scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), NULL, 16, NULL));
    expect_scope_failure(page.scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_tensor_from_memory: data is NULL");
    assert_null(gantry_tensor_from_memory(page.scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), page.floats,
                                          15, NULL));
    expect_scope_failure(page.scope, GANTRY_INVALID_ARGUMENT,
                         "15 bytes are given; 16 bytes are accepted");
    const gantry_tensor_t *x = gantry_scalar_f32(page.scope, 1);
    expect_refusal(gantry_tensor_map(x, &data), GANTRY_FAILED_PRECONDITION,
                   "GPU:0 is not the host's");
    assert_null(data);
    assert_false(memory_of(x).is_mappable);
    expect_refusal(gantry_tensor_unmap(x), GANTRY_FAILED_PRECONDITION, "the tensor is not mapped");
    expect_refusal(gantry_tensor_map(NULL, &data), GANTRY_INVALID_ARGUMENT, "the tensor is NULL");
    expect_refusal(gantry_tensor_map(x, NULL), GANTRY_INVALID_ARGUMENT, "out_data is NULL");
    end(&page);
    assert_int_equal(page.released, 0);
}

/* Each allocation fails in turn: the memory stays the program's. */
TEST(failed_allocations_do_not_release) {
    page_t page;
    begin(&page, "CPU:0");
    gantry_from_memory_options_t options = options_of(&page);
    (void)gantry_tensor_from_memory(page.scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), page.floats,
                                    BYTES, NULL);
    for (long fail_at = 0;; ++fail_at) {
        assert_in_range(fail_at, 0, 20);
        page.f.heap.inner.calls = 0;
        page.f.heap.inner.fail_at = fail_at;
        const gantry_tensor_t *x = gantry_tensor_from_memory(
            page.scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), page.floats, BYTES, &options);
        page.f.heap.inner.fail_at = -1;
        assert_int_equal(page.released, 0);
        if (x) break;
        gantry_scope_clear(page.scope);
    }
    end(&page);
    assert_int_equal(page.released, 1);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
