/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A DLPack tensor of host memory becomes a tensor, in place if it is row-major, and its
 * deleter is called once.
 * Promise: A tensor becomes a DLPack tensor that outlives its scope; without copies it is the
 * tensor's memory and says that it is read-only.
 * Promise: The elements of a copy, and of a tensor of up to 64 bytes, are given at a multiple of
 * 256 bytes, as DLPack demands.
 * Promise: DLPack tensors of another version, device, type or form are refused with the value and
 * what is accepted, and stay the caller's.
 * Promise: Shapes, strides and offsets that lead out of the numbers of addresses are refused.
 * Promise: A DLPack struct that a tensor uses is not taken again, and a call of its deleter frees
 * nothing.
 * Promise: Results are written to memory of DLPack only if it is marked as copied and not as
 * read-only. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include "api/dlpack_abi.h"
#include "run/tensor_state.h"

typedef struct DLManagedTensorVersioned versioned_t;
typedef struct DLManagedTensor unversioned_t;

/* Twelve numbers as a producer gives them. */
typedef struct producer_t {
    versioned_t managed;
    unversioned_t old;
    int64_t shape[GANTRY_MAX_RANK + 1], strides[GANTRY_MAX_RANK + 1];
    _Alignas(16) float floats[12];
    int deleted;
} producer_t;

static void count_deleted(versioned_t *self) { ++((producer_t *)self->manager_ctx)->deleted; }
static void count_old_deleted(unversioned_t *self) { ++((producer_t *)self->manager_ctx)->deleted; }

/* shape [3, 4], row-major */
static void produce(producer_t *p) {
    *p = (producer_t){.shape = {3, 4}, .strides = {4, 1}};
    for (int i = 0; i < 12; ++i) p->floats[i] = (float)i;
    p->managed.version.major = 1;
    p->managed.manager_ctx = p;
    p->managed.deleter = count_deleted;
    p->managed.dl_tensor = (gantry__dl_tensor_t){.data = p->floats,
                                                 .device_type = GANTRY__DL_CPU,
                                                 .ndim = 2,
                                                 .dtype = {2, 32, 1},
                                                 .shape = p->shape,
                                                 .strides = p->strides};
    p->old = (unversioned_t){p->managed.dl_tensor, p, count_old_deleted};
}

static const gantry_from_dlpack_options_t in_place = {.struct_size = sizeof in_place,
                                                      .requires_no_copy = true};

/* ---- taking ---- */

TEST(row_major_memory_is_used_in_place) {
    runtime_fixture_t f;
    producer_t p;
    runtime_fixture_open(&f, 1);
    for (int old = 0; old < 2; ++old) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        produce(&p);
        p.old.dl_tensor.strides = NULL;
        p.old.dl_tensor.byte_offset = 16;
        p.shape[0] = 2;
        const gantry_tensor_t *x =
            old ? gantry_tensor_from_dlpack_unversioned(scope, &p.old, &in_place)
                : gantry_tensor_from_dlpack(scope, &p.managed, &in_place);
        if (!x) fail_msg("%s", gantry_scope_message(scope));
        assert_ptr_equal(x->data, p.floats + (old ? 4 : 0));
        assert_true(gantry_shape_equal(gantry_tensor_shape(x), &GANTRY_SHAPE(2, 4)));
        assert_int_equal(p.deleted, 0);
        expect_ended_well(scope);
        assert_int_equal(p.deleted, 1);
    }
    runtime_fixture_close(&f);
}

TEST(other_strides_are_copied_or_refused) {
    runtime_fixture_t f;
    producer_t p;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    produce(&p);
    /* the transpose, read from the last row on */
    p.shape[0] = 4, p.shape[1] = 3;
    p.strides[0] = 1, p.strides[1] = -4;
    p.managed.dl_tensor.byte_offset = 8 * sizeof(float);
    assert_null(gantry_tensor_from_dlpack(scope, &p.managed, &in_place));
    expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION, "strides are not those of row-major");
    assert_int_equal(p.deleted, 0);
    const gantry_tensor_t *x = gantry_tensor_from_dlpack(scope, &p.managed, NULL);
    assert_int_equal(p.deleted, 1);
    EXPECT_F32(x, 8, 4, 0, 9, 5, 1, 10, 6, 2, 11, 7, 3);
    /* a broadcast row, and strides of dimensions of one element, which say nothing */
    produce(&p);
    p.strides[0] = 0;
    EXPECT_F32(gantry_tensor_from_dlpack(scope, &p.managed, NULL), 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2,
               3);
    produce(&p);
    p.shape[0] = 1, p.strides[0] = INT64_MIN;
    x = gantry_tensor_from_dlpack(scope, &p.managed, &in_place);
    assert_non_null(x);
    assert_ptr_equal(x->data, p.floats);
    /* nor do strides without elements */
    produce(&p);
    p.shape[0] = INT64_MAX, p.shape[1] = 0;
    assert_non_null(gantry_tensor_from_dlpack(scope, &p.managed, NULL));
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static const struct {
    const char *field;
    gantry_status_t code;
    const char *text;
} refused[] = {
    {"version", GANTRY_INVALID_ARGUMENT, "a tensor of DLPack 2.0; version 1 of any minor"},
    {"device", GANTRY_INVALID_ARGUMENT,
     "device 3 of opencl is none of this runtime's; of this backend it has: none"},
    {"kind", GANTRY_INVALID_ARGUMENT,
     "of DLPack's device type 8, device 3; accepted are kDLCPU (1)"},
    {"code", GANTRY_INVALID_ARGUMENT, "type of code 17, 32 bits and 1 lanes is none of"},
    {"bits", GANTRY_INVALID_ARGUMENT, "type of code 2, 24 bits and 1 lanes is none of"},
    {"lanes", GANTRY_INVALID_ARGUMENT, "type of code 2, 32 bits and 4 lanes is none of"},
    {"rank", GANTRY_INVALID_ARGUMENT, "9 dimensions; 0 to 8 dimensions"},
    {"ones", GANTRY_INVALID_ARGUMENT, "9 dimensions; 0 to 8 dimensions"},
    {"shape", GANTRY_INVALID_ARGUMENT, "shape [-3,4] of rank 2 is not possible"},
    {"sizes", GANTRY_INVALID_ARGUMENT, "2 dimensions without sizes"},
    {"data", GANTRY_INVALID_ARGUMENT, "data is NULL; the address of 48 bytes"},
    {"stride", GANTRY_INVALID_ARGUMENT, "stride 9223372036854775807 of dimension 0; -"},
    {"size", GANTRY_INVALID_ARGUMENT, "shape [1152921504606846976,4] of rank 2 is not possible"},
    {"end", GANTRY_INVALID_ARGUMENT, "0 bytes before and 48 bytes from 0x"},
    {"offset", GANTRY_INVALID_ARGUMENT, "with byte_offset 18446744073709551600 on are no memory"},
    {"begin", GANTRY_INVALID_ARGUMENT, "32 bytes before and 16 bytes from 0x10 with byte_offset 0"},
};

static void spoil(producer_t *p, const char *field) {
    static int64_t ones[] = {1, 1, 1, 1, 1, 1, 1, 2, 3};
    gantry__dl_tensor_t *tensor = &p->managed.dl_tensor;
    if (strcmp(field, "version") == 0) p->managed.version.major = 2;
    if (strcmp(field, "device") == 0) tensor->device_type = 4, tensor->device_id = 3;
    if (strcmp(field, "kind") == 0) tensor->device_type = 8, tensor->device_id = 3;
    if (strcmp(field, "code") == 0) tensor->dtype.code = 17;
    if (strcmp(field, "bits") == 0) tensor->dtype.bits = 24;
    if (strcmp(field, "lanes") == 0) tensor->dtype.lanes = 4;
    if (strcmp(field, "rank") == 0) tensor->ndim = 9;
    if (strcmp(field, "ones") == 0) tensor->ndim = 9, tensor->shape = ones, tensor->strides = NULL;
    if (strcmp(field, "shape") == 0) p->shape[0] = -3;
    if (strcmp(field, "sizes") == 0) tensor->shape = NULL;
    if (strcmp(field, "data") == 0) tensor->data = NULL;
    if (strcmp(field, "stride") == 0) p->strides[0] = INT64_MAX;
    if (strcmp(field, "size") == 0)
        p->shape[0] = INT64_C(1) << 60, tensor->dtype.code = 5, tensor->dtype.bits = 128;
    if (strcmp(field, "end") == 0) tensor->data = (void *)(UINTPTR_MAX - 40);
    if (strcmp(field, "offset") == 0) tensor->byte_offset = UINT64_MAX - 15;
    if (strcmp(field, "begin") == 0) tensor->data = (void *)16, p->strides[0] = -4;
}

TEST(bad_structs_are_refused_and_stay_the_callers) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
        producer_t p;
        produce(&p);
        spoil(&p, refused[i].field);
        assert_null(gantry_tensor_from_dlpack(scope, &p.managed, NULL));
        expect_scope_failure(scope, refused[i].code, refused[i].text);
        assert_int_equal(p.deleted, 0);
        assert_ptr_equal(p.managed.manager_ctx, &p);
        assert_ptr_equal(p.managed.deleter, count_deleted);
    }
    assert_null(gantry_tensor_from_dlpack(scope, NULL, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "managed is NULL");
    assert_null(gantry_tensor_from_dlpack_unversioned(scope, NULL, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "managed is NULL");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(rows_are_copied_with_what_is_between_them_left_out) {
    runtime_fixture_t f;
    producer_t p;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    /* [2, 1, 3], rows of 5 */
    produce(&p);
    p.managed.dl_tensor.ndim = 3;
    p.shape[0] = 2, p.shape[1] = 1, p.shape[2] = 3;
    p.strides[0] = 5, p.strides[1] = 77, p.strides[2] = 1;
    EXPECT_F32(gantry_tensor_from_dlpack(scope, &p.managed, NULL), 0, 1, 2, 5, 6, 7);
    /* a scalar, and one element that is repeated */
    produce(&p);
    p.managed.dl_tensor.ndim = 0;
    p.managed.dl_tensor.shape = NULL;
    p.managed.dl_tensor.byte_offset = 8;
    EXPECT_F32(gantry_tensor_from_dlpack(scope, &p.managed, &in_place), 2);
    produce(&p);
    p.strides[0] = p.strides[1] = 0;
    EXPECT_F32(gantry_tensor_from_dlpack(scope, &p.managed, NULL), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
               0);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(struct_in_use_is_not_taken_again_and_not_deleted_early) {
    runtime_fixture_t f;
    producer_t p;
    runtime_fixture_open(&f, 1);
    for (int old = 0; old < 2; ++old) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        produce(&p);
        const gantry_tensor_t *x =
            old ? gantry_tensor_from_dlpack_unversioned(scope, &p.old, &in_place)
                : gantry_tensor_from_dlpack(scope, &p.managed, &in_place);
        assert_non_null(x);
        assert_null(old ? gantry_tensor_from_dlpack_unversioned(scope, &p.old, NULL)
                        : gantry_tensor_from_dlpack(scope, &p.managed, NULL));
        expect_scope_failure(
            scope, GANTRY_INVALID_ARGUMENT,
            "was taken before, and a tensor uses it; each struct is accepted once");
        if (old)
            p.old.deleter(&p.old);
        else
            p.managed.deleter(&p.managed);
        assert_int_equal(p.deleted, 0);
        assert_int_equal(log_lines_with(&f.log, "the deleter of DLPack's struct at",
                                        "was called while a tensor of gantry_tensor_from_dlpack"),
                         old + 1);
        EXPECT_F32(x, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
        expect_ended_well(scope);
        assert_int_equal(p.deleted, 1);
        assert_ptr_equal(old ? p.old.manager_ctx : p.managed.manager_ctx, &p);
    }
    runtime_fixture_close(&f);
}

TEST(only_memory_marked_as_copied_is_written) {
    static const struct {
        uint64_t flags;
        bool is_writable;
    } cases[] = {{0, false},
                 {GANTRY__DL_READ_ONLY, false},
                 {GANTRY__DL_IS_COPIED, true},
                 {GANTRY__DL_IS_COPIED | GANTRY__DL_READ_ONLY, false}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        gantry_tensor_memory_t memory = {.struct_size = sizeof memory};
        producer_t p;
        produce(&p);
        p.managed.flags = cases[i].flags;
        const gantry_tensor_t *x = gantry_tensor_from_dlpack(scope, &p.managed, &in_place);
        assert_int_equal(gantry_get_tensor_memory(x, &memory), GANTRY_OK);
        assert_true(memory.is_foreign);
        assert_int_equal(memory.is_writable, cases[i].is_writable);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

static gantry_status_t take_and_give(gantry_scope_t *scope) {
    static producer_t p; /* the scope ends later */
    versioned_t *managed;
    produce(&p);
    const gantry_tensor_t *x = gantry_tensor_from_dlpack(scope, &p.managed, NULL);
    if (!x) {
        assert_int_equal(p.deleted, 0);
        assert_ptr_equal(p.managed.manager_ctx, &p);
        return gantry_scope_status(scope);
    }
    gantry_status_t status = gantry_tensor_to_dlpack(x, NULL, &managed);
    if (status == GANTRY_OK) managed->deleter(managed);
    return status;
}

TEST(memory_runs_out_anywhere_without_a_leak) {
    runtime_fixture_starve_each(0, "CPU:0", take_and_give);
}

/* ---- giving ---- */

TEST(given_tensor_outlives_its_scope) {
    runtime_fixture_t f;
    versioned_t *managed;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x =
        gantry_reshape(scope, F32(scope, 1, 2, 3, 4, 5, 6), GANTRY_SHAPE(2, 3));
    assert_int_equal(gantry_tensor_to_dlpack(x, NULL, &managed), GANTRY_OK);
    assert_true(managed->flags == GANTRY__DL_READ_ONLY);
    assert_int_equal(managed->dl_tensor.strides[0], 3);
    assert_int_equal(managed->dl_tensor.strides[1], 1);
    expect_ended_well(scope);
    scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *again = gantry_tensor_from_dlpack(scope, managed, &in_place);
    EXPECT_F32(again, 1, 2, 3, 4, 5, 6);
    expect_ended_well(scope); /* calls the deleter */
    runtime_fixture_close(&f);
}

TEST(copies_of_every_device_are_given) {
    runtime_fixture_t f;
    const gantry_to_dlpack_options_t copies = {.struct_size = sizeof copies, .copies = true};
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3);
    versioned_t *managed = NULL;
    unversioned_t *old = NULL;
    assert_int_equal(gantry_tensor_to_dlpack(x, NULL, &managed), GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "GPU:0 is not the host's"));
    assert_null(managed);
    assert_int_equal(gantry_tensor_to_dlpack_unversioned(x, NULL, &old),
                     GANTRY_FAILED_PRECONDITION);
    assert_int_equal(gantry_tensor_to_dlpack(x, &copies, &managed), GANTRY_OK);
    assert_int_equal(gantry_tensor_to_dlpack_unversioned(x, &copies, &old), GANTRY_OK);
    assert_true(managed->flags == GANTRY__DL_IS_COPIED);
    assert_memory_equal(managed->dl_tensor.data, ((const float[]){1, 2, 3}), 12);
    assert_memory_equal(old->dl_tensor.data, managed->dl_tensor.data, 12);
    expect_ended_well(scope);
    managed->deleter(managed);
    old->deleter(old);
    runtime_fixture_close(&f);
}

/* The tensor's own memory is used where a buffer has it. */
TEST(given_elements_are_aligned) {
    runtime_fixture_t f;
    const gantry_to_dlpack_options_t copies = {.struct_size = sizeof copies, .copies = true};
    versioned_t *managed;
    unversioned_t *old;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    for (int64_t count = 1; count < 5000; count += count < 20 ? 1 : 997) {
        const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(count));
        const bool is_small = count <= GANTRY__INLINE_BYTES / 4;
        for (int with_copy = 0; with_copy < 2; ++with_copy) {
            assert_int_equal(gantry_tensor_to_dlpack(x, with_copy ? &copies : NULL, &managed),
                             GANTRY_OK);
            void *data = managed->dl_tensor.data;
            if (is_small || with_copy) {
                assert_int_equal((uintptr_t)data % 256, 0);
            } else {
                assert_ptr_equal(data, x->data);
            }
            assert_memory_equal(data, x->data, x->size_bytes);
            managed->deleter(managed);
        }
        assert_int_equal(gantry_tensor_to_dlpack_unversioned(x, &copies, &old), GANTRY_OK);
        assert_int_equal((uintptr_t)old->dl_tensor.data % 256, 0);
        old->deleter(old);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
