/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Eager calls return before the device works, results are right, and inputs follow the
 * device policy, on fake GPUs whose work a test can hold.
 * Promise: An input on another device is copied or refused as the device policy says, and copies
 * are counted for each op.
 *
 * test_eager_faults.c tests failures, test_eager_memory.c memory. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <time.h>

#include "runtime_fixture.h"
#include "test.h"

#define COMPUTE (1u << GANTRY_STREAM_COMPUTE)
#define TO_DEVICE (1u << GANTRY_STREAM_TO_DEVICE)

/* Waits until all work submitted to the device has ended. */
static void drain(uint32_t device) {
    if (!fake->wait_finished(device, fake->finished(device) + fake->waiting(device), 20000))
        fail_msg("device %u does not come to an end", device);
}

/* ---- asynchrony ---- */

TEST(op_call_returns_while_the_device_is_held) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4), *one = F32(scope, 1, 1, 1, 1);
    drain(0);
    uint64_t finished = fake->finished(0);
    fake->close_gate(0, COMPUTE);
    for (int i = 0; i < 20; ++i) x = gantry_add(scope, x, one);
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK);
    assert_int_equal(fake->waiting(0), 20); /* all calls have returned, and no work has run */
    assert_int_equal(fake->finished(0), finished);
    fake->open_gate(0, COMPUTE);
    EXPECT_F32(x, 21, 22, 23, 24);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(ending_a_scope_hands_its_work_to_the_device_once) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4);
    (void)gantry_add(scope, x, x);
    uint64_t before = fake->calls("stream_flush");
    expect_ended_well(scope);
    uint64_t after = fake->calls("stream_flush");
    assert_true(after >= before + 2); /* the upload's stream and the kernel's */
    expect_ended_well(runtime_fixture_scope(&f, "GPU:0"));
    assert_int_equal(fake->calls("stream_flush"), after); /* no new work to flush */
    runtime_fixture_close(&f);
}

TEST(constant_is_copied_before_its_call_returns) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    fake->close_gate(0, TO_DEVICE);
    float values[] = {1, 2, 3};
    const gantry_tensor_t *x = make_f32(scope, 3, values);
    assert_int_equal(fake->waiting(0), 1);
    values[0] = values[1] = values[2] = -1;
    const gantry_tensor_t *y = gantry_add(scope, x, x); /* after the upload, on another stream */
    fake->open_gate(0, TO_DEVICE);
    EXPECT_F32(y, 2, 4, 6);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

typedef struct reader_t {
    const gantry_tensor_t *tensor;
    gantry_status_t status;
    float value;
    atomic_bool done;
} reader_t;

static void *read_one(void *user) {
    reader_t *reader = user;
    reader->status = gantry_tensor_read(reader->tensor, &reader->value, sizeof reader->value);
    atomic_store(&reader->done, true);
    return NULL;
}

TEST(read_waits_for_the_work_that_makes_the_tensor) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 20);
    drain(0);
    fake->close_gate(0, COMPUTE);
    reader_t reader = {.tensor = gantry_add(scope, x, x)};
    atomic_init(&reader.done, false);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_one, &reader), 0);
    (void)nanosleep(&(struct timespec){0, 20000000}, NULL);
    assert_false(atomic_load(&reader.done));
    fake->open_gate(0, COMPUTE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(reader.status, GANTRY_OK);
    assert_int_equal((int)reader.value, 40);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(ending_a_scope_does_not_wait) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 2);
    drain(0);
    fake->close_gate(0, COMPUTE);
    (void)gantry_mul(scope, x, x);
    expect_ended_well(scope);
    assert_int_equal(fake->waiting(0), 1);
    fake->open_gate(0, COMPUTE);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    assert_int_equal(fake->waiting(0), 0);
    runtime_fixture_close(&f);
}

TEST(devices_work_side_by_side) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *first = runtime_fixture_scope(&f, "GPU:0"),
                   *second = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *x = F32(first, 1, 2), *y = F32(second, 3, 4);
    drain(0);
    fake->close_gate(0, COMPUTE);
    const gantry_tensor_t *held = gantry_add(first, x, x);
    EXPECT_F32(gantry_add(second, y, y), 6, 8); /* it does not wait for the other card */
    assert_int_equal(fake->waiting(0), 1);
    fake->open_gate(0, COMPUTE);
    EXPECT_F32(held, 2, 4);
    expect_ended_well(first);
    expect_ended_well(second);
    runtime_fixture_close(&f);
}

/* ---- results ---- */

TEST(ops_give_right_results_on_both_backends) {
    static const char *const devices[] = {"CPU:0", "GPU:0", "GPU:1"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    for (size_t i = 0; i < 3; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[i]);
        const float values[] = {1, 2, 3, 4, 5, 6};
        const gantry_tensor_t *a =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
        const gantry_tensor_t *b =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), values, sizeof values);
        const gantry_tensor_t *c = gantry_matmul(scope, a, b, NULL);
        EXPECT_F32(c, 22, 28, 49, 64);
        EXPECT_F32(gantry_sum(scope, c, NULL), 163);
        EXPECT_F32(gantry_reshape(scope, c, GANTRY_SHAPE(4)), 22, 28, 49, 64);
        EXPECT_F32(gantry_mul(scope, a, gantry_scalar_f32(scope, 2)), 2, 4, 6, 8, 10, 12);
        EXPECT_F32(gantry_gather(scope, b, I32(scope, 2, 0), 0), 5, 6, 1, 2);
        EXPECT_I32(gantry_cast(scope, a, GANTRY_INT32), 1, 2, 3, 4, 5, 6);
        expect_on(c, i == 0 ? "/device:CPU:0" : i == 1 ? "/device:GPU:0" : "/device:GPU:1");
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

TEST(empty_tensors_reach_no_device) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3), NULL, 0);
    const gantry_tensor_t *y = gantry_add(scope, x, x);
    assert_int_equal(gantry_tensor_bytes(y), 0);
    assert_int_equal(gantry_tensor_read(y, NULL, 0), GANTRY_OK);
    char text[16];
    assert_int_equal(gantry_tensor_format(y, NULL, text, sizeof text, NULL), GANTRY_OK);
    assert_string_equal(text, "[]");
    assert_int_equal(fake->calls("compute"), 0);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(add_n_takes_as_many_inputs_as_an_op_may_have) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        const gantry_tensor_t *values[65];
        for (int i = 0; i < 65; ++i) values[i] = F32(scope, (float)i, 1);
        EXPECT_F32(gantry_add_n(scope, values, 64), 64 * 63 / 2, 64);
        assert_null(gantry_add_n(scope, values, 65));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                             "op AddN is given 65 inputs; at most 64 are accepted");
        EXPECT_F32(gantry_add_n(scope, values + 1, 1), 1, 1);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

TEST(bad_inputs_are_named) {
    runtime_fixture_t f, other_world;
    runtime_fixture_open(&f, 1);
    gantry_runtime_options_t options = runtime_fixture_options(&other_world);
    runtime_fixture_open_with(&other_world, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL),
                   *foreign = runtime_fixture_scope(&other_world, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y = F32(foreign, 1, 2);
    assert_null(gantry_add(scope, x, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "op Add: input 1 (y) is NULL");
    assert_null(gantry_add(scope, x, y));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "op Add: input 1 belongs to another runtime");
    assert_null(gantry_add(scope, x, F32(scope, 1, 2, 3)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "[2]");
    assert_null(gantry_add(scope, x, I32(scope, 1, 2)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "int32");
    assert_null(gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2), NULL, 8));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "constant: data is NULL; the address of 8 bytes is accepted");
    assert_null(gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(INT64_MAX / 2, 8), "", 8));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "constant: shape");
    assert_null(gantry_constant(scope, GANTRY_FLOAT32, (gantry_shape_t){.rank = 9}, "", 8));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "rank 9");
    assert_null(gantry_constant(scope, (gantry_dtype_t)77, GANTRY_SHAPE(2), "", 8));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "type 77");
    expect_ended_well(scope);
    expect_ended_well(foreign);
    gantry_runtime_release(other_world.runtime);
    assert_int_equal(other_world.heap.inner.live_blocks, 0);
    runtime_fixture_close(&f);
}

TEST(generic_call_refuses_what_it_cannot_run) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *inputs[] = {x, x, x}, *output = x;
    size_t count = 1;
    assert_int_equal(gantry_op_call(scope, "AddV2", inputs, 2, NULL, 0, &output, &count),
                     GANTRY_OK);
    assert_int_equal(count, 1);
    EXPECT_F32(output, 2, 4);
    assert_int_equal(gantry_op_call(scope, "NoSuchOp", inputs, 2, NULL, 0, &output, &count),
                     GANTRY_NOT_FOUND);
    assert_null(output);
    expect_scope_failure(scope, GANTRY_NOT_FOUND, "Op type not registered 'NoSuchOp'");
    assert_int_equal(gantry_op_call(scope, NULL, inputs, 2, NULL, 0, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_op_call(scope, "VarHandleOp", NULL, 0, NULL, 0, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "is not called by name");
    assert_int_equal(gantry_op_call(scope, "Add", NULL, 2, NULL, 0, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_op_call(scope, "Add", inputs, 2, NULL, 1, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    count = 0;
    assert_int_equal(gantry_op_call(scope, "Add", inputs, 2, NULL, 0, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "op Add has 1 outputs; room for 0 is given");
    count = 1;
    assert_int_equal(gantry_op_call(scope, "Add", inputs, 3, NULL, 0, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_op_call(NULL, "Add", inputs, 2, NULL, 0, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* If a kernel does not accept these shapes, the op runs elsewhere: the fake backend sums only to
 * one element. */
TEST(declined_shapes_are_placed_again) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const float values[] = {1, 2, 3, 4, 5, 6};
    const gantry_tensor_t *a =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
    const int32_t axis = 0;
    const gantry_tensor_t *columns =
        gantry_sum(scope, a, &(gantry_reduce_options_t){.axes = &axis, .axis_count = 1});
    expect_on(columns, "/device:CPU:0");
    gantry_placement_record_t record = last_placement(&f);
    assert_int_equal(record.reason, GANTRY_PLACED_SOFT_OTHER_TYPE);
    assert_int_equal(record.refusal_count, 1);
    assert_int_equal(record.refusals[0].why, GANTRY_REFUSED_KERNEL_DECLINED);
    assert_string_equal(record.refusals[0].device, "/job:localhost/replica:0/task:0/device:GPU:0");
    assert_int_equal(record.bytes_copied, sizeof values);
    EXPECT_F32(columns, 5, 7, 9);
    const gantry_tensor_t *all = gantry_sum(scope, a, NULL);
    expect_on(all, "/device:GPU:0");
    EXPECT_F32(all, 21);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    assert_null(gantry_sum(scope, a, &(gantry_reduce_options_t){.axes = &axis, .axis_count = 1}));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Could not satisfy device specification");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- device policy ---- */

TEST(inputs_from_another_device_follow_the_policy) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *cpu = runtime_fixture_scope(&f, "CPU:0"),
                   *gpu = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(cpu, 1, 2, 3), *n = I32(cpu, 4, 5), *y = F32(gpu, 1, 1, 1),
                          *m = I32(gpu, 1, 1);

    EXPECT_F32(gantry_add(gpu, x, y), 2, 3, 4); /* silent is the default */
    assert_int_equal(last_placement(&f).bytes_copied, 12);
    assert_int_equal(log_lines_with(&f.log, "before computing", ""), 0);

    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_WARN), GANTRY_OK);
    EXPECT_F32(gantry_add(gpu, x, y), 2, 3, 4);
    assert_int_equal(
        log_lines_with(
            &f.log,
            "before computing Add input #0 was expected to be on /job:localhost/replica:0/task:0/device:GPU:0 but is actually on /job:localhost/replica:0/task:0/device:CPU:0",
            "performance bottleneck"),
        1);

    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_EXPLICIT), GANTRY_OK);
    assert_null(gantry_add(gpu, y, x));
    expect_scope_failure(
        gpu, GANTRY_INVALID_ARGUMENT,
        "Tensors on conflicting devices: cannot compute Add as input #1 was expected to be on /job:localhost/replica:0/task:0/device:GPU:0 but is actually on /job:localhost/replica:0/task:0/device:CPU:0 (operation running on /job:localhost/replica:0/task:0/device:GPU:0) Tensors can be copied explicitly");
    assert_null(gantry_add(gpu, n, m));
    gantry_scope_clear(gpu);
    /* Identity is the explicit copy */
    EXPECT_F32(gantry_add(gpu, gantry_identity(gpu, x), y), 2, 3, 4);
    assert_null(gantry_reshape(gpu, x, GANTRY_SHAPE(3, 1)));
    expect_scope_failure(gpu, GANTRY_INVALID_ARGUMENT,
                         "Tensors on conflicting devices: cannot compute Reshape");

    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_SILENT_FOR_INT32),
                     GANTRY_OK);
    EXPECT_I32(gantry_add(gpu, n, m), 5, 6);
    assert_null(gantry_add(gpu, x, y));
    expect_scope_failure(gpu, GANTRY_INVALID_ARGUMENT,
                         "Tensors on conflicting devices: cannot compute Add as input #0");

    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_DEFAULT), GANTRY_OK);
    EXPECT_F32(gantry_add(cpu, x, y), 2, 3, 4);
    expect_on(gantry_add(cpu, x, y), "/device:CPU:0");
    expect_failure(gantry_set_device_policy(f.runtime, (gantry_device_policy_t)9),
                   GANTRY_INVALID_ARGUMENT, "device policy is 9");
    expect_ended_well(cpu);
    expect_ended_well(gpu);
    runtime_fixture_close(&f);
}

TEST(copies_are_counted_per_op) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *first = runtime_fixture_scope(&f, "GPU:0"),
                   *second = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *x = F32(first, 1, 2, 3, 4), *y = F32(second, 1, 1, 1, 1);
    EXPECT_F32(gantry_add(first, x, x), 2, 4, 6, 8);
    assert_int_equal(last_placement(&f).bytes_copied, 0);
    EXPECT_F32(gantry_add(second, x, y), 2, 3, 4, 5);
    assert_int_equal(last_placement(&f).bytes_copied, 16);
    EXPECT_F32(gantry_add(second, x, x), 2, 4, 6, 8); /* Gantry: each use makes a copy of its own */
    assert_int_equal(last_placement(&f).bytes_copied, 32);
    EXPECT_F32(gantry_identity(second, x), 1, 2, 3, 4);
    assert_int_equal(last_placement(&f).bytes_copied, 16);
    /* the axis is a host argument: no copy to the device */
    EXPECT_F32(gantry_gather(first, x, I32(first, 3), 0), 4);
    assert_int_equal(last_placement(&f).bytes_copied, 0);
    expect_ended_well(first);
    expect_ended_well(second);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
