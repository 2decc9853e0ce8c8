/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Tensors are read and formatted, many threads may own one, and an alias shares its
 * source's memory. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "run/tensor_state.h"
#include "runtime_fixture.h"
#include "test.h"

static uint64_t bytes_in_use(const runtime_fixture_t *f, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (gantry_get_memory_info(f->runtime, device, &info) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return info.current_bytes;
}

/* ---- properties ---- */

TEST(tensor_tells_what_it_is) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const double values[6] = {0};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(2, 3), values, sizeof values);
    assert_int_equal(gantry_tensor_dtype(x), GANTRY_FLOAT64);
    assert_int_equal(gantry_tensor_elements(x), 6);
    assert_int_equal(gantry_tensor_bytes(x), 48);
    assert_true(gantry_shape_equal(gantry_tensor_shape(x), &GANTRY_SHAPE(2, 3)));
    expect_on(x, "/device:GPU:0");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(questions_about_no_tensor_have_plain_answers) {
    assert_int_equal(gantry_tensor_dtype(NULL), GANTRY_DTYPE_NONE);
    assert_int_equal(gantry_tensor_elements(NULL), 0);
    assert_int_equal(gantry_tensor_bytes(NULL), 0);
    assert_int_equal(gantry_tensor_shape(NULL)->rank, 0);
    assert_null(gantry_tensor_device(NULL));
    assert_null(gantry_tensor_retain(NULL));
    gantry_tensor_release(NULL);
    char text[8] = "x";
    expect_failure(gantry_tensor_read(NULL, text, 1), GANTRY_INVALID_ARGUMENT,
                   "the tensor is NULL");
    expect_failure(gantry_tensor_wait(NULL), GANTRY_INVALID_ARGUMENT, "the tensor is NULL");
    expect_failure(gantry_tensor_format(NULL, NULL, text, sizeof text, NULL),
                   GANTRY_INVALID_ARGUMENT, "the tensor is NULL");
    assert_string_equal(text, "");
}

/* ---- reading ---- */

TEST(only_its_own_size_is_read) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        const gantry_tensor_t *x = F32(scope, 1, 2, 3);
        float values[4] = {9, 9, 9, 9};
        expect_failure(gantry_tensor_read(x, values, 8), GANTRY_INVALID_ARGUMENT,
                       "reading a tensor of 12 bytes into 8 bytes");
        expect_failure(gantry_tensor_read(x, values, 16), GANTRY_INVALID_ARGUMENT,
                       "reading a tensor of 12 bytes into 16 bytes");
        expect_failure(gantry_tensor_read(x, values, 0), GANTRY_INVALID_ARGUMENT,
                       "reading a tensor of 12 bytes into 0 bytes");
        expect_failure(gantry_tensor_read(x, NULL, 12), GANTRY_INVALID_ARGUMENT, "out is NULL");
        assert_null(gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3), NULL, 12));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                             "constant: data is NULL; the address of 12 bytes");
        for (int i = 0; i < 4; ++i) assert_int_equal((int)values[i], 9);
        assert_int_equal(gantry_tensor_read(x, values, 12), GANTRY_OK);
        assert_int_equal((int)values[2], 3);
        assert_int_equal((int)values[3], 9);
        assert_int_equal(gantry_tensor_wait(x), GANTRY_OK);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* Inline tensors, tensors that go through staging blocks, and tensors copied straight from the
 * caller's memory. */
TEST(tensors_of_all_sizes_come_back_as_they_went) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    static const int64_t sizes[] = {1, 15, 16, 17, 1000, 65536, 1 << 18, (1 << 18) + 1, 3 << 18};
    static int32_t values[3 << 18], got[3 << 18];
    for (int32_t i = 0; i < 3 << 18; ++i) values[i] = i * 7 - 3;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]),
                       *back = runtime_fixture_scope(&f, devices[1 - d]);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
            size_t bytes = (size_t)sizes[s] * 4;
            const gantry_tensor_t *x =
                gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(sizes[s]), values, bytes);
            const gantry_tensor_t *copy = gantry_identity(back, x);
            memset(got, 0, bytes);
            assert_int_equal(gantry_tensor_read(x, got, bytes), GANTRY_OK);
            assert_memory_equal(got, values, bytes);
            memset(got, 0, bytes);
            assert_int_equal(gantry_tensor_read(copy, got, bytes), GANTRY_OK);
            assert_memory_equal(got, values, bytes);
            expect_on(copy, d ? "/device:CPU:0" : "/device:GPU:0");
        }
        expect_ended_well(scope);
        expect_ended_well(back);
    }
    runtime_fixture_close(&f);
}

/* One element of up to 8 bytes is filled on the ops' stream; all other data is copied on the stream
 * of transfers. */
TEST(single_elements_are_made_on_the_stream_of_the_ops) {
    static const struct {
        gantry_dtype_t dtype;
        int64_t elements;
        uint32_t stream;
    } cases[] = {
        {GANTRY_UINT8, 1, GANTRY_STREAM_COMPUTE},     {GANTRY_FLOAT16, 1, GANTRY_STREAM_COMPUTE},
        {GANTRY_FLOAT32, 1, GANTRY_STREAM_COMPUTE},   {GANTRY_INT64, 1, GANTRY_STREAM_COMPUTE},
        {GANTRY_FLOAT32, 2, GANTRY_STREAM_TO_DEVICE}, {GANTRY_UINT8, 3, GANTRY_STREAM_TO_DEVICE}};
    static const unsigned char bytes[] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        unsigned char got[sizeof bytes] = {0};
        size_t size = (size_t)cases[i].elements * gantry_dtype_size(cases[i].dtype);
        const gantry_tensor_t *x =
            gantry_constant(scope, cases[i].dtype, GANTRY_SHAPE(cases[i].elements), bytes, size);
        assert_non_null(x);
        assert_int_equal(x->ready.stream->index, cases[i].stream);
        assert_int_equal(gantry_tensor_read(x, got, size), GANTRY_OK);
        assert_memory_equal(got, bytes, size);
    }
    EXPECT_F32(gantry_mul(scope, F32(scope, 1, 2, 3), gantry_scalar_f32(scope, 2)), 2, 4, 6);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(formatting_cuts_to_fit_and_tells_the_whole_length) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const float values[] = {22, 28, 49, 64};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), values, sizeof values);
    char text[64];
    size_t needed = 0;
    assert_int_equal(gantry_tensor_format(x, NULL, text, sizeof text, &needed), GANTRY_OK);
    assert_string_equal(text, "[[22. 28.]\n [49. 64.]]");
    assert_int_equal(needed, strlen(text));
    assert_int_equal(gantry_tensor_format(x, NULL, text, 6, &needed), GANTRY_OK);
    assert_string_equal(text, "[[22.");
    assert_int_equal(needed, 22);
    assert_int_equal(gantry_tensor_format(x, NULL, NULL, 0, &needed), GANTRY_OK);
    assert_int_equal(needed, 22);
    assert_int_equal(gantry_tensor_format(x, NULL, text, 1, NULL), GANTRY_OK);
    assert_string_equal(text, "");
    const gantry_tensor_t *y = F32(scope, 1.0F / 3, 1);
    gantry_format_options_t options = {
        .struct_size = sizeof options, .precision = 3, .line_width = 4};
    assert_int_equal(gantry_tensor_format(y, &options, text, sizeof text, NULL), GANTRY_OK);
    assert_string_equal(text, "[0.333\n 1.   ]");
    /* a program that was built before that field */
    options.struct_size = offsetof(gantry_format_options_t, line_width);
    assert_int_equal(gantry_tensor_format(y, &options, text, sizeof text, NULL), GANTRY_OK);
    assert_string_equal(text, "[0.333 1.   ]");
    options.struct_size = 0;
    expect_failure(gantry_tensor_format(y, &options, text, sizeof text, NULL),
                   GANTRY_INVALID_ARGUMENT, "struct_size is 0");
    options.struct_size = sizeof options + 4;
    expect_failure(gantry_tensor_format(y, &options, text, sizeof text, NULL),
                   GANTRY_INVALID_ARGUMENT, "struct_size is 28");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- references ---- */

typedef struct owner_t {
    const gantry_tensor_t *tensor;
    gantry_status_t status;
} owner_t;

static void *retain_and_release(void *user) {
    owner_t *owner = user;
    float value = 0;
    for (int i = 0; i < 2000; ++i) {
        gantry_tensor_t *mine = gantry_tensor_retain(owner->tensor);
        if (i % 200 == 0 && owner->status == GANTRY_OK)
            owner->status = gantry_tensor_read(mine, &value, sizeof value);
        if (i % 200 == 0 && (int)value != 7) owner->status = GANTRY_DATA_LOSS;
        gantry_tensor_release(mine);
    }
    return NULL;
}

TEST(many_threads_own_one_tensor) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        owner_t owners[4];
        pthread_t threads[4];
        const gantry_tensor_t *x = gantry_scalar_f32(scope, 7);
        for (int i = 0; i < 4; ++i) {
            owners[i] = (owner_t){x, GANTRY_OK};
            assert_int_equal(pthread_create(&threads[i], NULL, retain_and_release, &owners[i]), 0);
        }
        for (int i = 0; i < 4; ++i) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(owners[i].status, GANTRY_OK);
        }
        EXPECT_F32(x, 7);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

static void *release_here(void *user) {
    gantry_tensor_release(user);
    return NULL;
}

TEST(retained_tensor_outlives_scope_and_runtime) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_tensor_t *x = gantry_tensor_retain(F32(scope, 1, 2));
    expect_ended_well(scope);
    EXPECT_F32(x, 1, 2);
    gantry_runtime_release(f.runtime);
    float values[2];
    expect_failure(gantry_tensor_read(x, values, sizeof values), GANTRY_FAILED_PRECONDITION,
                   "the runtime was released");
    assert_true(fake->live(GANTRY_FAKE_REGION) > 0);
    pthread_t thread; /* the last release frees the runtime */
    assert_int_equal(pthread_create(&thread, NULL, release_here, x), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

/* ---- aliases ---- */

TEST(reshaped_tensor_shares_memory_and_outlives_its_source) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const float values[] = {1, 2, 3, 4, 5, 6};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
    EXPECT_F32(x, 1, 2, 3, 4, 5, 6);
    uint64_t before = bytes_in_use(&f, "GPU:0"), computed = fake->calls("compute");
    const gantry_tensor_t *y = gantry_reshape(scope, x, GANTRY_SHAPE(3, -1));
    const gantry_tensor_t *z = gantry_expand_dims(scope, gantry_identity(scope, y), 0);
    assert_int_equal(bytes_in_use(&f, "GPU:0"), before);
    assert_int_equal(fake->calls("compute"), computed);
    assert_true(gantry_shape_equal(gantry_tensor_shape(z), &GANTRY_SHAPE(1, 3, 2)));
    gantry_tensor_drop(scope, x);
    gantry_tensor_drop(scope, y);
    const gantry_tensor_t *fresh = F32(scope, 9, 9, 9, 9, 9, 9);
    EXPECT_F32(fresh, 9, 9, 9, 9, 9, 9);
    EXPECT_F32(z, 1, 2, 3, 4, 5, 6);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(small_host_tensors_are_aliased_by_value) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4);
    const gantry_tensor_t *y = gantry_reshape(scope, x, GANTRY_SHAPE(2, 2));
    gantry_tensor_drop(scope, x);
    const gantry_tensor_t *fresh = F32(scope, 9, 9, 9, 9); /* in the object that x had */
    EXPECT_F32(y, 1, 2, 3, 4);
    EXPECT_F32(fresh, 9, 9, 9, 9);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(reading_with_no_host_memory_is_an_error_and_no_more) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    int failures = 0;
    for (long n = 0; n < 20; ++n) {
        float values[2] = {0, 0};
        char text[32];
        runtime_fixture_starve(&f, n);
        gantry_status_t read = gantry_tensor_read(x, values, sizeof values);
        gantry_status_t formatted = gantry_tensor_format(x, NULL, text, sizeof text, NULL);
        f.heap.inner.fail_at = -1;
        if (read == GANTRY_OK) assert_int_equal((int)values[1], 2);
        if (formatted == GANTRY_OK) assert_string_equal(text, "[1. 2.]");
        if (read != GANTRY_OK) assert_int_equal(read, GANTRY_RESOURCE_EXHAUSTED);
        if (formatted != GANTRY_OK) assert_int_equal(formatted, GANTRY_RESOURCE_EXHAUSTED);
        failures += read != GANTRY_OK || formatted != GANTRY_OK;
        EXPECT_F32(x, 1, 2);
    }
    assert_in_range(failures, 1, 19);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
