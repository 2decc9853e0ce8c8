/* Eager execution on fake GPUs that a test holds, delays and breaks: calls return before the device works, results are right, errors of the
 * device surface where they belong, memory is reused behind its users, and every failure leaves a runtime that goes on. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <time.h>

#include "runtime_fixture.h"

#define COMPUTE (1u << GANTRY_STREAM_COMPUTE)
#define TO_DEVICE (1u << GANTRY_STREAM_TO_DEVICE)

/* Everything submitted to the device so far has ended. */
static void drain(uint32_t device) {
    if (!fake->wait_finished(device, fake->finished(device) + fake->waiting(device), 20000)) fail_msg("device %u does not come to an end", device);
}

/* ---- asynchrony ---- */

static void op_call_returns_while_the_device_is_held(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4), *one = F32(scope, 1, 1, 1, 1);
    drain(0);
    uint64_t finished = fake->finished(0);
    fake->close_gate(0, COMPUTE);
    for (int i = 0; i < 20; ++i) x = gantry_add(scope, x, one);
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK);
    assert_int_equal(fake->waiting(0), 20); /* all calls have returned, and nothing has run */
    assert_int_equal(fake->finished(0), finished);
    fake->open_gate(0, COMPUTE);
    EXPECT_F32(x, 21, 22, 23, 24);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void constant_is_copied_before_its_call_returns(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    fake->close_gate(0, TO_DEVICE);
    float values[] = {1, 2, 3};
    const gantry_tensor_t *x = make_f32(scope, 3, values);
    assert_int_equal(fake->waiting(0), 1);
    values[0] = values[1] = values[2] = -1;
    const gantry_tensor_t *y = gantry_add(scope, x, x); /* behind the upload, on another stream */
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

static void read_waits_for_the_work_that_makes_the_tensor(void **state) {
    (void)state;
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

static void ending_a_scope_does_not_wait(void **state) {
    (void)state;
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

static void devices_work_side_by_side(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *first = runtime_fixture_scope(&f, "GPU:0"), *second = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *x = F32(first, 1, 2), *y = F32(second, 3, 4);
    drain(0);
    fake->close_gate(0, COMPUTE);
    const gantry_tensor_t *held = gantry_add(first, x, x);
    EXPECT_F32(gantry_add(second, y, y), 6, 8); /* does not wait for the other card */
    assert_int_equal(fake->waiting(0), 1);
    fake->open_gate(0, COMPUTE);
    EXPECT_F32(held, 2, 4);
    expect_ended_well(first);
    expect_ended_well(second);
    runtime_fixture_close(&f);
}

/* ---- results ---- */

static void ops_give_right_results_on_both_backends(void **state) {
    (void)state;
    static const char *const devices[] = {"CPU:0", "GPU:0", "GPU:1"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    for (size_t i = 0; i < 3; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[i]);
        const float values[] = {1, 2, 3, 4, 5, 6};
        const gantry_tensor_t *a = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
        const gantry_tensor_t *b = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), values, sizeof values);
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

static void empty_tensors_reach_no_device(void **state) {
    (void)state;
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

static void add_n_takes_as_many_inputs_as_an_op_may_have(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        const gantry_tensor_t *values[65];
        for (int i = 0; i < 65; ++i) values[i] = F32(scope, (float)i, 1);
        EXPECT_F32(gantry_add_n(scope, values, 64), 64 * 63 / 2, 64);
        assert_null(gantry_add_n(scope, values, 65));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "op AddN is given 65 inputs; at most 64 are accepted");
        EXPECT_F32(gantry_add_n(scope, values + 1, 1), 1, 1);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

static void bad_inputs_are_named(void **state) {
    (void)state;
    runtime_fixture_t f, other_world;
    runtime_fixture_open(&f, 1);
    gantry_runtime_options_t options = runtime_fixture_options(&other_world);
    runtime_fixture_open_with(&other_world, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL), *foreign = runtime_fixture_scope(&other_world, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y = F32(foreign, 1, 2);
    assert_null(gantry_add(scope, x, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "op Add: input 1 (y) is NULL");
    assert_null(gantry_add(scope, x, y));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "op Add: input 1 belongs to another runtime");
    assert_null(gantry_add(scope, x, F32(scope, 1, 2, 3)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "[2]");
    assert_null(gantry_add(scope, x, I32(scope, 1, 2)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "int32");
    assert_null(gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2), NULL, 8));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "constant: 8 bytes");
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

static void generic_call_refuses_what_it_cannot_run(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *inputs[] = {x, x, x}, *output = x;
    size_t count = 1;
    assert_int_equal(gantry_op_call(scope, "AddV2", inputs, 2, NULL, 0, &output, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    EXPECT_F32(output, 2, 4);
    assert_int_equal(gantry_op_call(scope, "NoSuchOp", inputs, 2, NULL, 0, &output, &count), GANTRY_NOT_FOUND);
    assert_null(output);
    expect_scope_failure(scope, GANTRY_NOT_FOUND, "Op type not registered 'NoSuchOp'");
    assert_int_equal(gantry_op_call(scope, NULL, inputs, 2, NULL, 0, &output, &count), GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_op_call(scope, "VarHandleOp", NULL, 0, NULL, 0, &output, &count), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "is not called by name");
    assert_int_equal(gantry_op_call(scope, "Add", NULL, 2, NULL, 0, &output, &count), GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_op_call(scope, "Add", inputs, 2, NULL, 1, &output, &count), GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    count = 0;
    assert_int_equal(gantry_op_call(scope, "Add", inputs, 2, NULL, 0, &output, &count), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "op Add has 1 outputs; room for 0 is given");
    count = 1;
    assert_int_equal(gantry_op_call(scope, "Add", inputs, 3, NULL, 0, &output, &count), GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_op_call(NULL, "Add", inputs, 2, NULL, 0, &output, &count), GANTRY_INVALID_ARGUMENT);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* A kernel that does not take these shapes sends the op elsewhere: the fake sums only to one element. */
static void declined_shapes_are_placed_again(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const float values[] = {1, 2, 3, 4, 5, 6};
    const gantry_tensor_t *a = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
    const int32_t axis = 0;
    const gantry_tensor_t *columns = gantry_sum(scope, a, &(gantry_reduce_options_t){.axes = &axis, .axis_count = 1});
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

/* ---- errors found on the device ---- */

#define BAD_INDEX "indices[1] is out of range: op Gather (number "

static void expect_read_fails(const gantry_tensor_t *tensor, gantry_status_t code, const char *text) {
    float values[64];
    assert_non_null(tensor);
    size_t bytes = gantry_tensor_bytes(tensor);
    assert_in_range(bytes, 1, sizeof values);
    expect_failure(gantry_tensor_read(tensor, values, bytes), code, text);
    expect_failure(gantry_tensor_wait(tensor), code, text); /* and again */
    char line[64];
    expect_failure(gantry_tensor_format(tensor, NULL, line, sizeof line, NULL), code, text);
    assert_string_equal(line, "");
}

static void bad_index_surfaces_at_the_read_of_what_depends_on_it(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *rows = F32(scope, 10, 20, 30);
    const gantry_tensor_t *bad = gantry_gather(scope, rows, I32(scope, 0, 3), 0);
    const gantry_tensor_t *good = gantry_gather(scope, rows, I32(scope, 2, 1), 0);
    const gantry_tensor_t *after = gantry_add(scope, good, good);
    const gantry_tensor_t *poisoned = gantry_add(scope, after, bad);
    const gantry_tensor_t *view = gantry_reshape(scope, poisoned, GANTRY_SHAPE(1, 2));
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK); /* all of it was submitted */
    EXPECT_F32(good, 30, 20);
    EXPECT_F32(after, 60, 40);
    expect_read_fails(bad, GANTRY_INVALID_ARGUMENT, BAD_INDEX);
    expect_read_fails(poisoned, GANTRY_INVALID_ARGUMENT, BAD_INDEX);
    expect_read_fails(view, GANTRY_INVALID_ARGUMENT, "on /job:localhost/replica:0/task:0/device:GPU:0, input 1");
    EXPECT_F32(rows, 10, 20, 30);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void bad_index_poisons_across_devices(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *rows = F32(scope, 10, 20, 30);
    const gantry_tensor_t *bad = gantry_gather(scope, rows, I32(scope, 0, -1), 0);
    static const char *const devices[] = {"GPU:1", "CPU:0"};
    for (size_t i = 0; i < 2; ++i) {
        gantry_scope_t *there = gantry_scope_begin_in(scope, devices[i]);
        const gantry_tensor_t *clean = F32(there, 1, 1);
        const gantry_tensor_t *poisoned = gantry_add(there, clean, bad);
        const gantry_tensor_t *further = gantry_mul(there, poisoned, clean);
        EXPECT_F32(gantry_add(there, clean, clean), 2, 2);
        expect_read_fails(poisoned, GANTRY_INVALID_ARGUMENT, BAD_INDEX);
        expect_read_fails(further, GANTRY_INVALID_ARGUMENT, BAD_INDEX);
        expect_read_fails(gantry_identity(there, bad), GANTRY_INVALID_ARGUMENT, BAD_INDEX);
        expect_ended_well(there);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void bad_index_is_found_by_an_op_that_needs_the_value_at_once(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *dims = gantry_gather(scope, I32(scope, 2, 3), I32(scope, 0, 7), 0);
    const gantry_tensor_t *inputs[] = {dims, gantry_scalar_f32(scope, 1)}, *output;
    size_t count = 1;
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK);
    assert_int_equal(gantry_op_call(scope, "Fill", inputs, 2, NULL, 0, &output, &count), GANTRY_INVALID_ARGUMENT);
    assert_null(output);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, BAD_INDEX);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void results_that_may_be_bad_are_bounded_and_come_back(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *rows = F32(scope, 10, 20, 30), *index = I32(scope, 1);
    gantry_scope_t *many = gantry_scope_begin_in(scope, NULL);
    for (int i = 0; i < GANTRY__FAULT_SLOTS; ++i) assert_non_null(gantry_gather(many, rows, index, 0));
    assert_null(gantry_gather(many, rows, index, 0));
    expect_scope_failure(many, GANTRY_RESOURCE_EXHAUSTED, "read or drop some");
    expect_ended_well(many);
    for (int i = 0; i < 3 * GANTRY__FAULT_SLOTS; ++i) {
        const gantry_tensor_t *row = gantry_gather(scope, rows, index, 0);
        if (i % 512 == 0) EXPECT_F32(row, 20);
        gantry_tensor_drop(scope, row);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- work that fails ---- */

static void failed_work_surfaces_in_its_dependants_on_that_stream(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"), *elsewhere = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *x = F32(scope, 1, 2), *y = F32(elsewhere, 5, 6);
    const gantry_tensor_t *before = gantry_add(scope, x, x);
    EXPECT_F32(before, 2, 4);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, COMPUTE);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the card coughed"));
    const gantry_tensor_t *bad = gantry_add(scope, x, x);
    const gantry_tensor_t *worse = gantry_mul(scope, bad, x);
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK);
    fake->open_gate(0, COMPUTE);
    expect_read_fails(worse, GANTRY_INTERNAL, "the card coughed");
    expect_read_fails(bad, GANTRY_INTERNAL, "the card coughed");
    EXPECT_F32(before, 2, 4);
    EXPECT_F32(gantry_add(elsewhere, y, y), 10, 12);
    EXPECT_F32(gantry_add(scope, x, before), 3, 6); /* the device goes on */
    assert_null(gantry_add(scope, bad, x)); /* known by now: the call says so */
    expect_scope_failure(scope, GANTRY_INTERNAL, "the card coughed");
    assert_null(gantry_add(elsewhere, bad, y));
    expect_scope_failure(elsewhere, GANTRY_INTERNAL, "the card coughed");
    expect_ended_well(scope);
    expect_ended_well(elsewhere);
    runtime_fixture_close(&f);
}

/* A dependant that was submitted after an event behind the failed work, and before the failure was known. */
static void failed_work_poisons_what_was_submitted_before_it_was_known(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, COMPUTE);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the card coughed"));
    const gantry_tensor_t *bad = gantry_add(scope, x, x), *gone = gantry_add(scope, x, x);
    gantry_tensor_drop(scope, gone);
    const gantry_tensor_t *reuser = F32(scope, 7, 7); /* its upload waits for an event behind bad and gone */
    const gantry_tensor_t *worse = gantry_mul(scope, bad, x);
    fake->open_gate(0, COMPUTE);
    expect_read_fails(bad, GANTRY_INTERNAL, "the card coughed");
    expect_read_fails(worse, GANTRY_INTERNAL, "the card coughed");
    (void)reuser;
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void failed_upload_poisons_what_is_computed_from_it(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, TO_DEVICE);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the bus is cut"));
    const gantry_tensor_t *lost = F32(scope, 3, 4);
    const gantry_tensor_t *sum = gantry_add(scope, x, lost);
    fake->open_gate(0, TO_DEVICE);
    expect_read_fails(sum, GANTRY_INTERNAL, "the bus is cut");
    expect_read_fails(lost, GANTRY_INTERNAL, "the bus is cut");
    EXPECT_F32(gantry_add(scope, x, x), 2, 4);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void value_that_was_read_stays_good(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    const gantry_tensor_t *read = gantry_add(scope, x, x);
    EXPECT_F32(read, 2, 4);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the card coughed"));
    expect_read_fails(gantry_mul(scope, read, read), GANTRY_INTERNAL, "the card coughed");
    EXPECT_F32(read, 2, 4);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void synchronize_reports_failed_work_once(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the card coughed"));
    const gantry_tensor_t *bad = gantry_add(scope, x, x);
    expect_failure(gantry_runtime_synchronize(f.runtime), GANTRY_INTERNAL, "the card coughed");
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    expect_read_fails(bad, GANTRY_INTERNAL, "the card coughed");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void lost_device_fails_with_the_cause_and_others_go_on(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"), *elsewhere = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *x = F32(scope, 1, 2), *y = F32(elsewhere, 5, 6);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, COMPUTE);
    const gantry_tensor_t *pending = gantry_add(scope, x, x);
    fake->set_lost(0, 1);
    expect_read_fails(pending, GANTRY_UNAVAILABLE, "");
    assert_null(gantry_add(scope, x, x));
    expect_scope_failure(scope, GANTRY_UNAVAILABLE, "");
    EXPECT_F32(gantry_add(elsewhere, y, y), 10, 12);
    fake->set_lost(0, 0);
    fake->open_gate(0, COMPUTE);
    expect_ended_well(scope);
    expect_ended_well(elsewhere);
    runtime_fixture_close(&f);
}

/* ---- device policy ---- */

static void inputs_from_another_device_follow_the_policy(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *cpu = runtime_fixture_scope(&f, "CPU:0"), *gpu = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(cpu, 1, 2, 3), *n = I32(cpu, 4, 5), *y = F32(gpu, 1, 1, 1), *m = I32(gpu, 1, 1);

    EXPECT_F32(gantry_add(gpu, x, y), 2, 3, 4); /* silent is the default */
    assert_int_equal(last_placement(&f).bytes_copied, 12);
    assert_int_equal(log_lines_with(&f.log, "before computing", ""), 0);

    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_WARN), GANTRY_OK);
    EXPECT_F32(gantry_add(gpu, x, y), 2, 3, 4);
    assert_int_equal(log_lines_with(&f.log, "before computing Add input #0 was expected to be on /job:localhost/replica:0/task:0/device:GPU:0 "
                                    "but is actually on /job:localhost/replica:0/task:0/device:CPU:0", "performance bottleneck"), 1);

    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_EXPLICIT), GANTRY_OK);
    assert_null(gantry_add(gpu, y, x));
    expect_scope_failure(gpu, GANTRY_INVALID_ARGUMENT,
                         "Tensors on conflicting devices: cannot compute Add as input #1 was expected to be on "
                         "/job:localhost/replica:0/task:0/device:GPU:0 but is actually on /job:localhost/replica:0/task:0/device:CPU:0 "
                         "(operation running on /job:localhost/replica:0/task:0/device:GPU:0) Tensors can be copied explicitly");
    assert_null(gantry_add(gpu, n, m));
    gantry_scope_clear(gpu);
    EXPECT_F32(gantry_add(gpu, gantry_identity(gpu, x), y), 2, 3, 4); /* Identity is the explicit copy */
    assert_null(gantry_reshape(gpu, x, GANTRY_SHAPE(3, 1)));
    expect_scope_failure(gpu, GANTRY_INVALID_ARGUMENT, "Tensors on conflicting devices: cannot compute Reshape");

    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_SILENT_FOR_INT32), GANTRY_OK);
    EXPECT_I32(gantry_add(gpu, n, m), 5, 6);
    assert_null(gantry_add(gpu, x, y));
    expect_scope_failure(gpu, GANTRY_INVALID_ARGUMENT, "Tensors on conflicting devices: cannot compute Add as input #0");

    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_DEFAULT), GANTRY_OK);
    EXPECT_F32(gantry_add(cpu, x, y), 2, 3, 4);
    expect_on(gantry_add(cpu, x, y), "/device:CPU:0");
    expect_failure(gantry_set_device_policy(f.runtime, (gantry_device_policy_t)9), GANTRY_INVALID_ARGUMENT, "device policy is 9");
    expect_ended_well(cpu);
    expect_ended_well(gpu);
    runtime_fixture_close(&f);
}

static void copies_are_counted_per_op(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *first = runtime_fixture_scope(&f, "GPU:0"), *second = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *x = F32(first, 1, 2, 3, 4), *y = F32(second, 1, 1, 1, 1);
    EXPECT_F32(gantry_add(first, x, x), 2, 4, 6, 8);
    assert_int_equal(last_placement(&f).bytes_copied, 0);
    EXPECT_F32(gantry_add(second, x, y), 2, 3, 4, 5);
    assert_int_equal(last_placement(&f).bytes_copied, 16);
    EXPECT_F32(gantry_add(second, x, x), 2, 4, 6, 8); /* Gantry: each use is a copy of its own */
    assert_int_equal(last_placement(&f).bytes_copied, 32);
    EXPECT_F32(gantry_identity(second, x), 1, 2, 3, 4);
    assert_int_equal(last_placement(&f).bytes_copied, 16);
    EXPECT_F32(gantry_gather(first, x, I32(first, 3), 0), 4); /* the axis lives on the host: not a copy to the device */
    assert_int_equal(last_placement(&f).bytes_copied, 0);
    expect_ended_well(first);
    expect_ended_well(second);
    runtime_fixture_close(&f);
}

/* ---- memory in flight ---- */

#define STRESS_TENSORS 24
#define STRESS_SIZES 4

typedef struct stress_t {
    gantry_scope_t *scopes[3];
    uint64_t random;
    int64_t sizes[STRESS_SIZES];
    struct {
        gantry_scope_t *owner;
        const gantry_tensor_t *tensor;
        uint32_t *values;
        int size;
    } slots[STRESS_TENSORS];
} stress_t;

static uint32_t draw(stress_t *s, uint32_t below) {
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(s->random >> 33) % below;
}

static void stress_make(stress_t *s, int slot, int size) {
    gantry_scope_t *scope = s->scopes[draw(s, 3)];
    s->slots[slot].owner = scope;
    s->slots[slot].size = size;
    for (int64_t i = 0; i < s->sizes[size]; ++i) s->slots[slot].values[i] = draw(s, UINT32_MAX);
    s->slots[slot].tensor = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(s->sizes[size]), s->slots[slot].values,
                                            (size_t)s->sizes[size] * 4);
    if (!s->slots[slot].tensor) fail_msg("%s", gantry_scope_message(scope));
}

static void stress_compute(stress_t *s, int target, int a, int b) {
    gantry_scope_t *scope = s->scopes[draw(s, 3)];
    uint32_t op = draw(s, 3);
    const gantry_tensor_t *x = s->slots[a].tensor, *y = s->slots[b].tensor;
    const gantry_tensor_t *z = op == 0 ? gantry_add(scope, x, y) : op == 1 ? gantry_sub(scope, x, y) : gantry_mul(scope, x, y);
    if (!z) fail_msg("%s", gantry_scope_message(scope));
    for (int64_t i = 0; i < s->sizes[s->slots[a].size]; ++i) {
        uint32_t v = s->slots[a].values[i], w = s->slots[b].values[i];
        s->slots[target].values[i] = op == 0 ? v + w : op == 1 ? v - w : v * w;
    }
    gantry_tensor_drop(s->slots[target].owner, s->slots[target].tensor); /* perhaps with readers in flight */
    s->slots[target].owner = scope;
    s->slots[target].tensor = z;
}

static void stress_check(const stress_t *s, int slot) {
    static uint32_t got[4096];
    size_t bytes = (size_t)s->sizes[s->slots[slot].size] * 4;
    if (gantry_tensor_read(s->slots[slot].tensor, got, bytes) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    assert_memory_equal(got, s->slots[slot].values, bytes);
}

static void begin_stress(stress_t *s, runtime_fixture_t *f, uint64_t seed, const char *const *devices) {
    static uint32_t values[STRESS_TENSORS][4096];
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.memory_limit_bytes = 1 << 20; /* so that memory is reused all the time */
    fake->set_device_count(2);
    runtime_fixture_open_with(f, &options);
    *s = (stress_t){.random = seed, .sizes = {3, 257, 1024, 4096}};
    for (size_t i = 0; i < 3; ++i) s->scopes[i] = runtime_fixture_scope(f, devices[i]);
    for (int i = 0; i < STRESS_TENSORS; ++i) {
        s->slots[i].values = values[i];
        stress_make(s, i, i % STRESS_SIZES);
    }
}

/* Slots of one size are STRESS_SIZES apart. */
static int draw_slot(stress_t *s, int size) { return (int)draw(s, STRESS_TENSORS / STRESS_SIZES) * STRESS_SIZES + size; }

static void end_stress(stress_t *s, runtime_fixture_t *f) {
    for (int i = 0; i < STRESS_TENSORS; ++i) stress_check(s, i);
    for (size_t i = 0; i < 3; ++i) expect_ended_well(s->scopes[i]);
    runtime_fixture_close(f);
}

static void stress_step(stress_t *s) {
    int size = (int)draw(s, STRESS_SIZES), target = draw_slot(s, size);
    uint32_t what = draw(s, 16);
    if (what == 0) {
        stress_check(s, target);
    } else if (what < 3) {
        gantry_tensor_drop(s->slots[target].owner, s->slots[target].tensor);
        stress_make(s, target, size);
    } else {
        stress_compute(s, target, draw_slot(s, size), draw_slot(s, size));
    }
}

/* The fake counts it as a violation when two streams touch the same bytes with nothing to order them. */
static void memory_freed_in_flight_is_reused_safely(void **state) {
    (void)state;
    static const char *const devices[] = {"CPU:0", "GPU:0", "GPU:1"};
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        runtime_fixture_t f;
        stress_t s;
        begin_stress(&s, &f, seed, devices);
        for (int step = 0; step < 1500; ++step) stress_step(&s);
        end_stress(&s, &f);
    }
}

static void memory_freed_behind_a_held_stream_is_reused_safely(void **state) {
    (void)state;
    static const char *const devices[] = {"GPU:1", "GPU:1", "GPU:1"};
    runtime_fixture_t f;
    stress_t s;
    begin_stress(&s, &f, 7, devices);
    for (int burst = 0; burst < 20; ++burst) {
        drain(1);
        fake->close_gate(1, COMPUTE);
        for (int step = 0; step < 40; ++step) {
            int size = (int)draw(&s, STRESS_SIZES);
            stress_compute(&s, draw_slot(&s, size), draw_slot(&s, size), draw_slot(&s, size));
        }
        int size = (int)draw(&s, STRESS_SIZES), target = draw_slot(&s, size);
        gantry_tensor_drop(s.slots[target].owner, s.slots[target].tensor);
        stress_make(&s, target, size); /* into memory that held work may still use */
        assert_true(fake->waiting(1) >= 40);
        fake->open_gate(1, COMPUTE);
        for (int step = 0; step < 10; ++step) stress_step(&s);
    }
    end_stress(&s, &f);
}

static void dropped_tensors_come_back_to_the_pool(void **state) {
    (void)state;
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.memory_limit_bytes = 4 << 20;
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    static const float values[128 * 1024];
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(128 * 1024), values, sizeof values);
    for (int i = 0; i < 40; ++i) { /* 20 MiB pass through 4 */
        const gantry_tensor_t *y = gantry_add(scope, x, x);
        assert_non_null(y);
        gantry_tensor_drop(scope, x);
        x = y;
    }
    const gantry_tensor_t *kept[16] = {x};
    int held = 1;
    while (held < 16 && (kept[held] = gantry_add(scope, x, x)) != NULL) ++held;
    assert_in_range(held, 6, 8);
    expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED, "OOM when allocating tensor with shape[131072] and type float on "
                         "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc: ");
    gantry_tensor_drop(scope, kept[1]);
    assert_non_null(gantry_add(scope, x, x)); /* room again */
    expect_ended_well(scope);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_int_equal(info.current_bytes, 0);
    assert_int_equal(info.limit_bytes, 4 << 20);
    assert_true(info.peak_bytes <= info.limit_bytes);
    runtime_fixture_close(&f);
}

/* ---- whatever fails ---- */

/* A heap that fails at one call only, counted from arm(). */
typedef struct one_failure_t {
    locked_heap_t *heap;
    atomic_long left; /* calls until the one that fails; below 0: past */
    bool keeps_failing;
} one_failure_t;

static void *reallocate_or_fail(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    one_failure_t *self = user;
    if (new_bytes > 0) {
        long left = atomic_fetch_sub(&self->left, 1);
        if (left == 0 || (left < 0 && self->keeps_failing)) return NULL;
    }
    return locked_heap_reallocate(self->heap, ptr, old_bytes, new_bytes);
}

#define ENOUGH_CALLS 1000000

/* A bit of everything on both devices; the first error, or OK with right results. */
static gantry_status_t small_program(gantry_runtime_t *runtime, char *out_message, size_t message_bytes) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    out_message[0] = '\0';
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    if (!scope) return status;
    const float rows[] = {1, 2, 3, 4};
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), rows, sizeof rows);
    const gantry_tensor_t *product = gantry_matmul(scope, x, x, NULL);
    const gantry_tensor_t *taken = gantry_gather(scope, product, I32(scope, 1), 0);
    gantry_variable_t *variable = gantry_variable_create(scope, taken, "small");
    if (variable) (void)gantry_variable_assign_add(scope, variable, taken);
    const gantry_tensor_t *value = variable ? gantry_variable_read(scope, variable) : NULL;
    gantry_scope_t *inner = gantry_scope_begin_in(scope, "CPU:0");
    const gantry_tensor_t *sum = inner ? gantry_sum(inner, gantry_exp(inner, gantry_sub(inner, value, value)), NULL) : NULL;
    if (inner) { /* its error, if any, becomes the outer one's by keeping NULL */
        (void)gantry_scope_keep(inner, sum);
        (void)gantry_scope_end(inner);
    }
    float got[2] = {0, 0}, ones = 0;
    char text[64];
    gantry_status_t read = gantry_scope_status(scope);
    (void)snprintf(out_message, message_bytes, "%s", gantry_scope_message(scope));
    if (read == GANTRY_OK && value && sum) {
        read = gantry_tensor_read(value, got, sizeof got);
        if (read == GANTRY_OK) read = gantry_tensor_read(sum, &ones, sizeof ones);
        if (read == GANTRY_OK) read = gantry_tensor_format(value, NULL, text, sizeof text, NULL);
        if (read != GANTRY_OK) (void)snprintf(out_message, message_bytes, "%s", gantry_last_message());
        if (read == GANTRY_OK) {
            assert_string_equal(text, "[[30. 44.]]");
            assert_int_equal((int)ones, 2);
        }
    } else if (read == GANTRY_OK) { /* an inner scope that memory was short for is no error of this one */
        read = GANTRY_RESOURCE_EXHAUSTED;
    }
    gantry_variable_release(variable);
    status = gantry_scope_end(scope);
    return status != GANTRY_OK ? status : read;
}

static void exhaust_heap(bool keeps_failing) {
    char message[512];
    int failures = 0;
    for (long n = 0;; ++n) {
        runtime_fixture_t f;
        one_failure_t failure = {.keeps_failing = keeps_failing};
        atomic_init(&failure.left, ENOUGH_CALLS);
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        failure.heap = &f.heap;
        options.reallocate = reallocate_or_fail;
        options.reallocate_user = &failure;
        options.intra_op_threads = 1;
        runtime_fixture_open_with(&f, &options);
        atomic_store(&failure.left, n);
        gantry_status_t status = small_program(f.runtime, message, sizeof message);
        bool reached = atomic_load(&failure.left) < 0;
        atomic_store(&failure.left, ENOUGH_CALLS);
        if (status != GANTRY_OK) {
            ++failures;
            if (status != GANTRY_RESOURCE_EXHAUSTED) fail_msg("allocation %ld: status %d, %s", n, (int)status, message);
        }
        status = small_program(f.runtime, message, sizeof message); /* the next one works */
        if (status != GANTRY_OK) fail_msg("after allocation %ld: status %d, %s", n, (int)status, message);
        runtime_fixture_close(&f);
        if (!reached) break;
    }
    assert_true(failures > 40);
}

static void host_memory_short_once_is_an_error_and_no_more(void **state) {
    (void)state;
    exhaust_heap(false);
}

static void host_memory_short_for_good_is_an_error_and_no_more(void **state) {
    (void)state;
    exhaust_heap(true);
}

static void every_slot_of_a_backend_may_fail(void **state) {
    (void)state;
    char message[512];
    int failures = 0;
    for (uint32_t slot = 0; slot < fake->slot_count(); ++slot) {
        if (!fake->slot_can_fail(slot)) continue;
        const char *name = fake->slot_name(slot);
        for (uint64_t n = 1;; ++n) {
            runtime_fixture_t f;
            runtime_fixture_open(&f, 1);
            uint64_t before = fake->calls(name);
            assert_true(fake->fail_calls(name, n, 1, GANTRY_INTERNAL, "injected here"));
            gantry_status_t status = small_program(f.runtime, message, sizeof message);
            bool reached = fake->calls(name) - before >= n;
            if (status != GANTRY_OK) {
                ++failures;
                if (status != GANTRY_INTERNAL && status != GANTRY_RESOURCE_EXHAUSTED) {
                    fail_msg("%s, call %d: status %d, %s", name, (int)n, (int)status, message);
                }
                if (!strstr(message, "injected here")) fail_msg("%s, call %d: the cause is not told: %s", name, (int)n, message);
            }
            /* work that failed is told to those who depend on it, and to who waits for its stream */
            if (strcmp(name, "work") == 0) (void)gantry_runtime_synchronize(f.runtime);
            if (reached) {
                status = small_program(f.runtime, message, sizeof message);
                if (status != GANTRY_OK) fail_msg("after %s, call %d: status %d, %s", name, (int)n, (int)status, message);
            }
            runtime_fixture_close(&f);
            fake->reset();
            if (!reached) break;
        }
    }
    assert_true(failures > 20);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]); /* one alone: what a failed test leaves behind fails the next ones */
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_fixture_set_up, runtime_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(op_call_returns_while_the_device_is_held),
        TEST(constant_is_copied_before_its_call_returns),
        TEST(read_waits_for_the_work_that_makes_the_tensor),
        TEST(ending_a_scope_does_not_wait),
        TEST(devices_work_side_by_side),
        TEST(ops_give_right_results_on_both_backends),
        TEST(empty_tensors_reach_no_device),
        TEST(add_n_takes_as_many_inputs_as_an_op_may_have),
        TEST(bad_inputs_are_named),
        TEST(generic_call_refuses_what_it_cannot_run),
        TEST(declined_shapes_are_placed_again),
        TEST(bad_index_surfaces_at_the_read_of_what_depends_on_it),
        TEST(bad_index_poisons_across_devices),
        TEST(bad_index_is_found_by_an_op_that_needs_the_value_at_once),
        TEST(results_that_may_be_bad_are_bounded_and_come_back),
        TEST(failed_work_surfaces_in_its_dependants_on_that_stream),
        TEST(failed_work_poisons_what_was_submitted_before_it_was_known),
        TEST(failed_upload_poisons_what_is_computed_from_it),
        TEST(value_that_was_read_stays_good),
        TEST(synchronize_reports_failed_work_once),
        TEST(lost_device_fails_with_the_cause_and_others_go_on),
        TEST(inputs_from_another_device_follow_the_policy),
        TEST(copies_are_counted_per_op),
        TEST(memory_freed_in_flight_is_reused_safely),
        TEST(memory_freed_behind_a_held_stream_is_reused_safely),
        TEST(dropped_tensors_come_back_to_the_pool),
        TEST(host_memory_short_once_is_an_error_and_no_more),
        TEST(host_memory_short_for_good_is_an_error_and_no_more),
        TEST(every_slot_of_a_backend_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
