/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Scopes own tensors, keep their first error, combine the devices of nested scopes, and
 * survive their runtime's release.
 * Promise: The objects of tensors that a scope drops, or ends with, serve later results without an
 * allocation. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

/* ---- ownership ---- */

TEST(ending_a_scope_releases_what_was_made_in_it) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3);
    EXPECT_F32(gantry_add(scope, x, x), 2, 4, 6);
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_true(info.current_bytes > 0);
    expect_ended_well(scope);
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_int_equal(info.current_bytes, 0);
    runtime_fixture_close(&f);
}

static void add_and_drop(gantry_scope_t *scope, size_t kept, size_t dropped) {
    const gantry_tensor_t *x = F32(scope, 1, 2);
    for (size_t i = 0; i < kept; ++i) EXPECT_F32(gantry_add(scope, x, x), 2, 4);
    for (size_t i = 0; i < dropped; ++i) {
        const gantry_tensor_t *y = gantry_add(scope, x, x), *z = gantry_add(scope, y, x);
        EXPECT_F32(z, 3, 6);
        gantry_tensor_drop(scope, y);
        gantry_tensor_drop(scope, z);
    }
}

/* More tensors than a scope keeps spare objects for; a composed op works in a scope of parts. */
TEST(spare_objects_serve_without_an_allocation) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    add_and_drop(scope, 100, 1);
    (void)gantry_shape(scope, F32(scope, 1, 2), GANTRY_INT32);
    expect_ended_well(scope);
    scope = runtime_fixture_scope(&f, "CPU:0");
    f.heap.inner.calls = 0;
    add_and_drop(scope, 50, 50);
    const gantry_tensor_t *shape = gantry_shape(scope, F32(scope, 1, 2), GANTRY_INT32);
    int32_t size = 0;
    assert_int_equal(gantry_tensor_read(shape, &size, sizeof size), GANTRY_OK);
    assert_int_equal(size, 2);
    assert_int_equal(f.heap.inner.calls, 0);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(kept_tensor_belongs_to_the_parent) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, "GPU:0"),
                   *inner = gantry_scope_begin_in(outer, NULL);
    const gantry_tensor_t *x = F32(inner, 5, 6);
    assert_ptr_equal(gantry_scope_keep(inner, x), x);
    assert_null(gantry_scope_keep(inner, x)); /* the inner scope does not own it any more */
    expect_scope_failure(outer, GANTRY_INVALID_ARGUMENT, "the tensor belongs to another owner");
    expect_ended_well(inner);
    EXPECT_F32(gantry_add(outer, x, x), 10, 12);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

TEST(tensor_kept_from_a_root_scope_belongs_to_the_caller) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_tensor_t *x = gantry_scope_keep(scope, F32(scope, 5, 6));
    expect_ended_well(scope);
    EXPECT_F32(x, 5, 6);
    gantry_tensor_release(x);
    runtime_fixture_close(&f);
}

TEST(keeping_nothing_fails_the_parent) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, NULL),
                   *inner = gantry_scope_begin_in(outer, NULL);
    assert_null(gantry_scope_keep(inner, NULL));
    expect_scope_failure(outer, GANTRY_INVALID_ARGUMENT, "gantry_scope_keep: the tensor is NULL");
    /* the inner scope's own error moves to the outer one */
    assert_null(gantry_scope_keep(inner, gantry_add(inner, NULL, NULL)));
    expect_scope_failure(outer, GANTRY_INVALID_ARGUMENT, "op Add: input 0 (x) is NULL");
    assert_int_equal(gantry_scope_end(inner), GANTRY_INVALID_ARGUMENT);
    assert_null(gantry_scope_keep(outer, NULL));
    expect_scope_failure(outer, GANTRY_INVALID_ARGUMENT, "the tensor is NULL");
    assert_null(gantry_scope_keep(NULL, NULL));
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

TEST(dropping_takes_only_what_the_scope_owns) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, "GPU:0"),
                   *inner = gantry_scope_begin_in(outer, NULL);
    const gantry_tensor_t *x = F32(outer, 1, 2), *y = F32(outer, 3, 4), *z = F32(outer, 5, 6);
    gantry_tensor_drop(inner, x);
    gantry_tensor_drop(outer, NULL);
    gantry_tensor_drop(NULL, x);
    EXPECT_F32(x, 1, 2);
    gantry_tensor_t *retained = gantry_tensor_retain(y);
    gantry_tensor_drop(outer, y);
    gantry_tensor_drop(outer, y); /* the scope does not own it any more */
    EXPECT_F32(retained, 3, 4);
    gantry_tensor_drop(outer, x); /* first, middle and last of the list */
    gantry_tensor_drop(outer, z);
    gantry_tensor_release(retained);
    expect_ended_well(inner);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

/* ---- errors ---- */

TEST(first_error_sticks_and_later_ops_do_nothing) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    const gantry_tensor_t *bad = gantry_matmul(scope, x, x, NULL);
    assert_null(bad);
    char first[512];
    (void)snprintf(first, sizeof first, "%s", gantry_scope_message(scope));
    assert_non_null(strstr(first, "MatMul"));
    uint64_t computed = fake->calls("compute");
    assert_null(gantry_add(scope, bad, x));
    assert_null(gantry_add(scope, x, x));
    assert_null(gantry_gather(scope, NULL, NULL, 0));
    assert_null(gantry_scalar_f32(scope, 1));
    assert_null(gantry_constant(scope, (gantry_dtype_t)99, GANTRY_SCALAR, NULL, 0));
    assert_null(gantry_variable_create(scope, x, NULL));
    assert_null(gantry_load_npy(scope, "/nowhere"));
    assert_int_equal(fake->calls("compute"), computed);
    assert_string_equal(gantry_scope_message(scope), first);
    EXPECT_F32(x, 1, 2); /* earlier tensors still exist */
    assert_int_equal(gantry_scope_end(scope), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry_last_message(), first);
    runtime_fixture_close(&f);
}

TEST(cleared_scope_goes_on) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    assert_string_equal(gantry_scope_message(scope), "");
    assert_null(gantry_add(scope, NULL, NULL));
    gantry_scope_clear(scope);
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK);
    assert_string_equal(gantry_scope_message(scope), "");
    EXPECT_F32(F32(scope, 1), 1);
    gantry_scope_clear(NULL);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(error_of_a_child_stays_in_it) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, NULL),
                   *inner = gantry_scope_begin_in(outer, NULL);
    assert_null(gantry_add(inner, NULL, NULL));
    assert_int_equal(gantry_scope_status(outer), GANTRY_OK);
    assert_int_equal(gantry_scope_end(inner), GANTRY_INVALID_ARGUMENT);
    EXPECT_F32(F32(outer, 1), 1);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

TEST(child_of_a_failed_scope_does_nothing_either) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, NULL);
    assert_null(gantry_add(outer, NULL, NULL));
    gantry_scope_t *inner = gantry_scope_begin_in(outer, "GPU:0");
    assert_non_null(inner);
    assert_null(gantry_scalar_f32(inner, 1));
    assert_string_equal(gantry_scope_message(inner), gantry_scope_message(outer));
    assert_int_equal(gantry_scope_end(inner), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_scope_end(outer), GANTRY_INVALID_ARGUMENT);
    runtime_fixture_close(&f);
}

TEST(bad_device_text_gives_a_failed_scope) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    static const char *const texts[] = {"/GPU:x", "GPU:0 ",          "/device:GPU:0/device:GPU:1",
                                        "/job:",  "GPU:99999999999", "no such thing"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(f.runtime, texts[i]);
        assert_non_null(scope);
        assert_int_equal(gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT);
        assert_non_null(strstr(gantry_scope_message(scope), "Malformed device specification"));
        assert_non_null(strstr(gantry_scope_message(scope), "at column"));
        assert_null(gantry_scalar_f32(scope, 1));
        assert_int_equal(gantry_scope_end(scope), GANTRY_INVALID_ARGUMENT);
        gantry_scope_t *outer = runtime_fixture_scope(&f, NULL);
        gantry_scope_t *inner = gantry_scope_begin_in(outer, texts[i]);
        assert_int_equal(gantry_scope_end(inner), GANTRY_INVALID_ARGUMENT);
        expect_ended_well(outer);
    }
    runtime_fixture_close(&f);
}

TEST(nothing_in_place_of_a_scope_is_refused) {
    assert_null(gantry_scope_begin(NULL, NULL));
    assert_non_null(strstr(gantry_last_message(), "the runtime is NULL"));
    assert_null(gantry_scope_begin_in(NULL, NULL));
    expect_failure(gantry_scope_end(NULL), GANTRY_INVALID_ARGUMENT, "the scope is NULL");
    expect_failure(gantry_scope_status(NULL), GANTRY_INVALID_ARGUMENT, "the scope is NULL");
    assert_string_equal(gantry_scope_message(NULL), "");
    assert_null(gantry_scope_runtime(NULL));
    assert_null(gantry_add(NULL, NULL, NULL));
    assert_null(gantry_matmul(NULL, NULL, NULL, NULL));
    assert_null(gantry_scalar_f32(NULL, 1));
    assert_null(gantry_zeros(NULL, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    assert_null(gantry_variable_create(NULL, NULL, NULL));
    assert_int_equal(gantry_variable_assign(NULL, NULL, NULL), GANTRY_INVALID_ARGUMENT);
    assert_null(gantry_load_npy(NULL, "x.npy"));
}

/* ---- devices of nested scopes ---- */

static void expect_nested(runtime_fixture_t *f, const char *outer_device, const char *inner_device,
                          const char *device) {
    gantry_scope_t *outer = runtime_fixture_scope(f, outer_device);
    gantry_scope_t *inner = gantry_scope_begin_in(outer, inner_device);
    const gantry_tensor_t *x = F32(inner, 1, 2);
    const gantry_tensor_t *y = gantry_add(inner, x, x);
    if (!y) fail_msg("%s in %s: %s", inner_device, outer_device, gantry_scope_message(inner));
    const char *name = gantry_logical_device_name(gantry_tensor_device(y));
    if (strcmp(name, device) != 0)
        fail_msg("%s in %s: %s", inner_device ? inner_device : "NULL",
                 outer_device ? outer_device : "NULL", name);
    expect_ended_well(inner);
    expect_ended_well(outer);
}

TEST(inner_device_replaces_the_outer_one_field_by_field) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 3);
    expect_nested(&f, "GPU:1", NULL, "/device:GPU:1");
    expect_nested(&f, "GPU:1", "GPU:2", "/device:GPU:2");
    expect_nested(&f, "GPU:1", "CPU:0", "/device:CPU:0");
    expect_nested(&f, "GPU:2", "CPU", "/device:CPU:0");   /* a new type clears the index */
    expect_nested(&f, "GPU:2", "GPU:*", "/device:GPU:2"); /* a wildcard clears nothing */
    expect_nested(&f, "GPU:2", "/job:localhost", "/device:GPU:2");
    expect_nested(&f, "/task:0", "GPU:1", "/device:GPU:1");
    expect_nested(&f, "GPU:1", "", "/device:GPU:1");
    /* no device is requested: a GPU is preferred */
    expect_nested(&f, "GPU:1", GANTRY_DEVICE_NONE, "/device:GPU:0");
    expect_nested(&f, "CPU:0", GANTRY_DEVICE_NONE, "/device:GPU:0");
    expect_nested(&f, GANTRY_DEVICE_NONE, NULL, "/device:GPU:0");
    expect_nested(&f, GANTRY_DEVICE_NONE, "GPU:1", "/device:GPU:1");
    expect_nested(&f, NULL, "CPU:0", "/device:CPU:0");
    expect_nested(&f, "GPU:1", "fake:2", "/device:GPU:2");
    expect_nested(&f, "fake:2", NULL, "/device:GPU:2");
    expect_nested(&f, "fake:2", "GPU:1", "/device:GPU:1");
    expect_nested(&f, "fake:2", "/task:0", "/device:GPU:2");
    runtime_fixture_close(&f);
}

TEST(device_of_another_task_is_unknown) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, "/job:worker/task:1"),
                   *inner = gantry_scope_begin_in(outer, "GPU:0");
    assert_null(gantry_scalar_f32(inner, 1));
    expect_scope_failure(inner, GANTRY_INVALID_ARGUMENT,
                         "/job:worker/replica:0/task:1/device:GPU:0 unknown device.");
    expect_ended_well(inner);
    inner = gantry_scope_begin_in(outer, "/job:localhost/task:0/GPU:0");
    EXPECT_F32(gantry_scalar_f32(inner, 1), 1);
    expect_ended_well(inner);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

/* ---- order of ends ---- */

TEST(ending_a_parent_first_ends_its_children_and_is_an_error) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, NULL);
    for (int i = 0; i < 3; ++i) {
        gantry_scope_t *inner = gantry_scope_begin_in(outer, "GPU:0");
        (void)F32(inner, 1, 2);
        (void)F32(gantry_scope_begin_in(inner, "CPU:0"), 1, 2);
    }
    expect_failure(gantry_scope_end(outer), GANTRY_FAILED_PRECONDITION,
                   "an inner scope is still open");
    runtime_fixture_close(&f);
}

TEST(siblings_end_in_any_order) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, NULL), *inner[3];
    for (int i = 0; i < 3; ++i) inner[i] = gantry_scope_begin_in(outer, NULL);
    expect_ended_well(inner[1]);
    expect_ended_well(inner[2]);
    expect_ended_well(inner[0]);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

TEST(scopes_nest_as_deep_as_memory_goes) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, NULL), *scope = outer;
    for (int i = 0; i < 100000; ++i) scope = gantry_scope_begin_in(scope, NULL);
    assert_non_null(scope);
    assert_int_equal(gantry_scope_end(outer), GANTRY_FAILED_PRECONDITION);
    runtime_fixture_close(&f);
}

/* ---- a released runtime ---- */

TEST(scope_of_a_released_runtime_is_refused_and_can_be_ended) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2);
    gantry_variable_t *variable = gantry_variable_create(scope, x, NULL);
    gantry_runtime_t *runtime = f.runtime;
    assert_ptr_equal(gantry_scope_runtime(scope), runtime);
    f.runtime = NULL;
    gantry_runtime_release(runtime);
    assert_null(gantry_add(inner, x, x));
    expect_scope_failure(inner, GANTRY_FAILED_PRECONDITION, "the runtime was released");
    assert_null(gantry_variable_read(inner, variable));
    expect_scope_failure(inner, GANTRY_FAILED_PRECONDITION, "the runtime was released");
    assert_int_equal(gantry_variable_assign(inner, variable, x), GANTRY_FAILED_PRECONDITION);
    float values[2];
    expect_failure(gantry_tensor_read(x, values, sizeof values), GANTRY_FAILED_PRECONDITION,
                   "the runtime was released");
    assert_int_equal(gantry_tensor_wait(x), GANTRY_FAILED_PRECONDITION);
    assert_null(gantry_scope_begin(runtime, NULL));
    assert_int_equal(gantry_scope_end(inner), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_variable_release(variable); /* the last object frees the runtime */
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

TEST(scope_that_memory_is_short_for_is_no_scope) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    for (long n = 0; n < 3; ++n) {
        runtime_fixture_starve(&f, n);
        gantry_scope_t *starved = gantry_scope_begin_in(scope, "GPU:0");
        f.heap.inner.fail_at = -1;
        if (n == 0) assert_null(starved);
        if (starved)
            assert_true(gantry_scope_end(starved) ==
                        (n == 1 ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK));
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Every allocation fails until fail_at is -1 again. */
static void starve(runtime_fixture_t *f) {
    f->heap.inner.calls = 0;
    f->heap.inner.fail_at = 0;
}

TEST(error_keeps_its_text_when_memory_is_short) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    starve(&f);
    assert_null(gantry_scope_keep(scope, NULL));
    assert_non_null(strstr(gantry_last_message(), "gantry_scope_keep: the tensor is NULL"));
    f.heap.inner.fail_at = -1;
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL); /* it inherits the error */
    expect_scope_failure(inner, GANTRY_INVALID_ARGUMENT, "gantry_scope_keep: the tensor is NULL");
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_scope_keep: the tensor is NULL");
    expect_ended_well(inner);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(refusal_keeps_its_text_when_memory_is_short) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    starve(&f); /* the refusal's plan cannot be cached */
    assert_null(gantry_exp(scope, x));
    f.heap.inner.fail_at = -1;
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Could not satisfy device specification");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
