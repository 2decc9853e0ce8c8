/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An object of another library becomes a tensor, and a tensor its object, by the library's
 * table of DLPack.
 * Promise: Of a chain of tables the one of major version 1 is used; tables without it, or without a
 * function, are refused.
 * Promise: When a table or Gantry refuses a tensor, nothing leaks and no deleter is called twice.
 */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include "api/dlpack_abi.h"
#include "run/tensor_state.h"

typedef struct DLManagedTensorVersioned versioned_t;
typedef struct DLPackExchangeAPI table_t;

/* An object of the other library: three numbers, and what its table did. */
typedef struct object_t {
    versioned_t managed;
    int64_t shape[1];
    _Alignas(16) float floats[3];
    int given, deleted;
} object_t;

static void delete_object(versioned_t *self) { ++((object_t *)self->manager_ctx)->deleted; }

static object_t make_object(void) {
    object_t object = {.shape = {3}, .floats = {1, 2, 3}};
    object.managed.version = (gantry__dl_version_t){1, 3};
    return object;
}

static int give_object(void *given, versioned_t **out) {
    object_t *object = given;
    ++object->given;
    object->managed.manager_ctx = object;
    object->managed.deleter = delete_object;
    object->managed.dl_tensor = (gantry__dl_tensor_t){.data = object->floats,
                                                      .device_type = GANTRY__DL_CPU,
                                                      .ndim = 1,
                                                      .dtype = {2, 32, 1},
                                                      .shape = object->shape};
    *out = &object->managed;
    return 0;
}
static int give_nothing(void *given, versioned_t **out) {
    (void)given, (void)out;
    return -1;
}

/* The object is the struct. */
static int take_tensor(versioned_t *managed, void **out_object) {
    *out_object = managed;
    return 0;
}
static int refuse_tensor(versioned_t *managed, void **out_object) {
    (void)managed, (void)out_object;
    return -1;
}
static int delete_and_refuse_tensor(versioned_t *managed, void **out_object) {
    managed->deleter(managed);
    return refuse_tensor(managed, out_object);
}
static int no_stream(int32_t device_type, int32_t device_id, void **out_stream) {
    (void)device_type, (void)device_id;
    *out_stream = NULL;
    return 0;
}

static table_t make_table(uint32_t major, uint32_t minor) {
    return (table_t){.header = {.version = {major, minor}},
                     .managed_tensor_from_py_object_no_sync = give_object,
                     .managed_tensor_to_py_object_no_sync = take_tensor,
                     .current_work_stream = no_stream};
}

TEST(objects_become_tensors_and_tensors_become_objects) {
    const table_t table = make_table(1, 3);
    object_t object = make_object();
    runtime_fixture_t f;
    void *made = NULL;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = gantry_tensor_from_exchange(scope, &table, &object, NULL);
    if (!x) fail_msg("%s", gantry_scope_message(scope));
    assert_ptr_equal(x->data, object.floats);
    assert_int_equal(gantry_tensor_to_exchange(x, &table, NULL, &made), GANTRY_OK);
    versioned_t *managed = made;
    assert_ptr_equal(managed->dl_tensor.data, object.floats);
    expect_ended_well(scope);
    assert_int_equal(object.deleted, 0);
    managed->deleter(managed);
    assert_int_equal(object.given, 1);
    assert_int_equal(object.deleted, 1);
    runtime_fixture_close(&f);
}

TEST(copies_of_every_device_become_objects) {
    const table_t table = make_table(1, 2);
    const gantry_to_dlpack_options_t copies = {.struct_size = sizeof copies, .copies = true};
    runtime_fixture_t f;
    void *made = NULL;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 4, 5, 6, 7);
    assert_int_equal(gantry_tensor_to_exchange(x, &table, &copies, &made), GANTRY_OK);
    versioned_t *managed = made;
    assert_true(managed->flags == GANTRY__DL_IS_COPIED);
    assert_memory_equal(managed->dl_tensor.data, ((const float[]){4, 5, 6, 7}), 16);
    expect_ended_well(scope);
    managed->deleter(managed);
    runtime_fixture_close(&f);
}

TEST(older_table_of_a_chain_is_used) {
    table_t old = make_table(1, 2), newer = make_table(2, 0), newest = make_table(3, 0);
    object_t object = make_object();
    runtime_fixture_t f;
    newest.header.prev_api = &newer.header;
    newer.header.prev_api = &old.header;
    newer.managed_tensor_from_py_object_no_sync = newest.managed_tensor_from_py_object_no_sync =
        give_nothing;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    EXPECT_F32(gantry_tensor_from_exchange(scope, &newest, &object, NULL), 1, 2, 3);
    /* a circle, and a chain that ends above version 1 */
    newer.header.prev_api = &newest.header;
    assert_null(gantry_tensor_from_exchange(scope, &newest, &object, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "the table is of DLPack 3.0 and has no older one of version 1");
    newer.header.prev_api = NULL;
    assert_null(gantry_tensor_from_exchange(scope, &newest, &object, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "has no older one of version 1");
    expect_ended_well(scope);
    assert_int_equal(object.given, 1);
    assert_int_equal(object.deleted, 1);
    runtime_fixture_close(&f);
}

TEST(tables_without_a_function_are_refused) {
    object_t object = make_object();
    runtime_fixture_t f;
    void *made = &f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1);
    for (int i = 0; i < 3; ++i) {
        table_t table = make_table(1, 3);
        if (i == 0) table.managed_tensor_from_py_object_no_sync = NULL;
        if (i == 1) table.managed_tensor_to_py_object_no_sync = NULL;
        if (i == 2) table.current_work_stream = NULL;
        assert_null(gantry_tensor_from_exchange(scope, &table, &object, NULL));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "a function of the table is NULL");
        assert_int_equal(gantry_tensor_to_exchange(x, &table, NULL, &made),
                         GANTRY_INVALID_ARGUMENT);
        assert_null(made);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(refused_objects_are_deleted_once) {
    table_t table = make_table(1, 3);
    object_t object = make_object();
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    object.shape[0] = -3;
    assert_null(gantry_tensor_from_exchange(scope, &table, &object, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_tensor_from_exchange: shape [-3] of rank 1 is not possible");
    assert_int_equal(object.deleted, 1);
    object.managed.version.major = 2;
    assert_null(gantry_tensor_from_exchange(scope, &table, &object, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "a tensor of DLPack 2.3; version 1");
    assert_int_equal(object.deleted, 2);
    table.managed_tensor_from_py_object_no_sync = give_nothing;
    assert_null(gantry_tensor_from_exchange(scope, &table, &object, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "managed_tensor_from_py_object_no_sync returned -1");
    assert_int_equal(object.deleted, 2);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(refused_tensors_are_freed_whether_the_table_deleted_them_or_not) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    for (int deletes = 0; deletes < 2; ++deletes) {
        table_t table = make_table(1, 3);
        void *made = &f;
        table.managed_tensor_to_py_object_no_sync =
            deletes ? delete_and_refuse_tensor : refuse_tensor;
        assert_int_equal(gantry_tensor_to_exchange(x, &table, NULL, &made),
                         GANTRY_INVALID_ARGUMENT);
        assert_null(made);
        assert_non_null(
            strstr(gantry_last_message(), "managed_tensor_to_py_object_no_sync returned -1"));
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static gantry_status_t exchange_both_ways(gantry_scope_t *scope) {
    static object_t object; /* the scope ends later */
    const table_t table = make_table(1, 3);
    void *made;
    object = make_object();
    const gantry_tensor_t *x = gantry_tensor_from_exchange(scope, &table, &object, NULL);
    if (!x) {
        assert_int_equal(object.deleted, object.given);
        return gantry_scope_status(scope);
    }
    gantry_status_t status = gantry_tensor_to_exchange(x, &table, NULL, &made);
    if (status == GANTRY_OK) delete_and_refuse_tensor(made, &made);
    return status;
}

TEST(memory_runs_out_anywhere_without_a_leak) {
    runtime_fixture_starve_each(0, "CPU:0", exchange_both_ways);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
