/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Errors that a device finds reach the eager calls that depend on them, and the runtime
 * survives each failing allocation and call of a backend.
 * Promise: An index out of range that a kernel finds is reported with its place and its value.
 * Promise: gantry_runtime_synchronize returns what a kernel found once, and any number of results
 * with such an error may be unread.
 * Promise: The results of a long chain of ops carry a bounded number of possible errors. */
#define _XOPEN_SOURCE 700

#include "device/fault.h"
#include "run/tensor_state.h"
#include "runtime_fixture.h"
#include "test.h"

#define COMPUTE (1u << GANTRY_STREAM_COMPUTE)
#define TO_DEVICE (1u << GANTRY_STREAM_TO_DEVICE)

/* ---- errors found on the device ---- */

#define BAD_INDEX " is not in [0, 3): op Gather (number "

static void expect_read_fails(const gantry_tensor_t *tensor, gantry_status_t code,
                              const char *text) {
    float values[64];
    assert_non_null(tensor);
    size_t bytes = gantry_tensor_bytes(tensor);
    assert_in_range(bytes, 1, sizeof values);
    expect_failure(gantry_tensor_read(tensor, values, bytes), code, text);
    expect_failure(gantry_tensor_wait(tensor), code, text); /* and once more */
    char line[64];
    expect_failure(gantry_tensor_format(tensor, NULL, line, sizeof line, NULL), code, text);
    assert_string_equal(line, "");
}

TEST(bad_index_surfaces_at_the_read_of_what_depends_on_it) {
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
    expect_read_fails(view, GANTRY_INVALID_ARGUMENT,
                      "on /job:localhost/replica:0/task:0/device:GPU:0, input 1");
    EXPECT_F32(rows, 10, 20, 30);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(bad_index_poisons_across_devices) {
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

TEST(bad_index_is_found_by_an_op_that_needs_the_value_at_once) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *dims = gantry_gather(scope, I32(scope, 2, 3), I32(scope, 0, 7), 0);
    const gantry_tensor_t *inputs[] = {dims, gantry_scalar_f32(scope, 1)}, *output;
    size_t count = 1;
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK);
    assert_int_equal(gantry_op_call(scope, "Fill", inputs, 2, NULL, 0, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    assert_null(output);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "indices[1] = 7 is not in [0, 2): op Gather (number ");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(results_that_may_be_bad_may_be_many) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *rows = F32(scope, 10, 20, 30), *index = I32(scope, 1);
    gantry_scope_t *many = gantry_scope_begin_in(scope, NULL);
    for (int i = 0; i < 2 * GANTRY__FAULT_SLOTS; ++i)
        assert_non_null(gantry_gather(many, rows, index, 0));
    expect_ended_well(many);
    for (int i = 0; i < 3 * GANTRY__FAULT_SLOTS; ++i) {
        const gantry_tensor_t *row = gantry_gather(scope, rows, index, 0);
        if (i % 512 == 0) EXPECT_F32(row, 20);
        gantry_tensor_drop(scope, row);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Weights are such a chain: each step's depend on all steps before. */
TEST(results_of_a_long_chain_carry_few_faults) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *rows = F32(scope, 10, 20, 30), *order = I32(scope, 1, 2, 0);
    for (int i = 0; i < 10 * GANTRY__FAULT_MOST_KEPT; ++i) {
        rows = gantry_gather(scope, rows, order, 0);
        assert_non_null(rows);
        assert_in_range(rows->fault_count, 1, GANTRY__FAULT_MOST_KEPT);
    }
    EXPECT_F32(rows, 30, 10, 20);
    const gantry_tensor_t *bad = gantry_gather(scope, rows, I32(scope, 0, 3), 0);
    for (int i = 0; i < 2 * GANTRY__FAULT_MOST_KEPT; ++i)
        bad = gantry_gather(scope, bad, I32(scope, 1, 0), 0);
    expect_read_fails(bad, GANTRY_INVALID_ARGUMENT, BAD_INDEX);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(synchronize_tells_what_a_kernel_found_once) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *elsewhere = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *rows = F32(scope, 10, 20, 30);
    const gantry_tensor_t *bad = gantry_gather(scope, rows, I32(scope, 0, 3), 0);
    (void)gantry_gather(elsewhere, F32(elsewhere, 1, 2), I32(elsewhere, 5), 0); /* a later op */
    expect_failure(gantry_runtime_synchronize(f.runtime), GANTRY_INVALID_ARGUMENT, BAD_INDEX);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    /* a dependent result reports it, too */
    expect_read_fails(bad, GANTRY_INVALID_ARGUMENT, BAD_INDEX);
    EXPECT_F32(gantry_gather(scope, rows, I32(scope, 2, 1), 0), 30, 20);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    const gantry_tensor_t *again = gantry_gather(scope, rows, I32(scope, 0, 4), 0);
    expect_read_fails(again, GANTRY_INVALID_ARGUMENT, BAD_INDEX);
    /* the reader already got the error */
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    expect_ended_well(elsewhere);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(synchronize_tells_of_results_that_are_gone) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    (void)gantry_gather(scope, F32(scope, 10, 20, 30), I32(scope, 0, 3), 0);
    expect_ended_well(scope);
    expect_failure(gantry_runtime_synchronize(f.runtime), GANTRY_INVALID_ARGUMENT, BAD_INDEX);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    runtime_fixture_close(&f);
}

static uint64_t bytes_in_use(runtime_fixture_t *f) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f->runtime, "GPU:0", &info), GANTRY_OK);
    return info.requested_bytes;
}

/* The message has the value, as on the CPU, although the indices' memory may have a new owner. The
 * indices are kept only while a result can report the error. */
TEST(bad_index_is_told_with_its_value) {
    runtime_fixture_t f;
    int32_t many[1024] = {0};
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *rows = F32(scope, 10, 20, 30);
    many[1000] = -7;
    const gantry_tensor_t *indices = make_i32(scope, 1024, many);
    const gantry_tensor_t *bad = gantry_gather(scope, rows, indices, 0);
    gantry_tensor_drop(scope, indices);
    (void)gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(1024)); /* it would reuse the memory */
    float got[1024];
    expect_failure(gantry_tensor_read(bad, got, sizeof got), GANTRY_INVALID_ARGUMENT,
                   "indices[1000] = -7 is not in [0, 3): op Gather (number ");
    expect_ended_well(scope);
    scope = runtime_fixture_scope(&f, "GPU:0");
    rows = F32(scope, 10, 20, 30);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    uint64_t before = bytes_in_use(&f);
    for (int is_good = 0; is_good < 2; ++is_good) {
        many[1000] = is_good ? 2 : -7;
        indices = make_i32(scope, 1024, many);
        const gantry_tensor_t *row = gantry_gather(scope, rows, indices, 0);
        gantry_tensor_drop(scope, indices);
        assert_true(bytes_in_use(&f) >= before + 2 * sizeof many);
        if (is_good) { /* the result is known to be good and still exists */
            assert_int_equal(gantry_tensor_wait(row), GANTRY_OK);
            assert_true(bytes_in_use(&f) < before + 2 * sizeof many);
        }
        /* only synchronize can report the error now, without the value */
        gantry_tensor_drop(scope, row);
        assert_int_equal(bytes_in_use(&f), before);
        gantry_status_t status = gantry_runtime_synchronize(f.runtime);
        assert_int_equal(status, is_good ? GANTRY_OK : GANTRY_INVALID_ARGUMENT);
        if (!is_good)
            assert_non_null(
                strstr(gantry_last_message(), "indices[1000] is not in [0, 3): op Gather"));
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The kernel never ran, so its slot is not read. The failed work is reported once. */
TEST(synchronize_tells_failed_work_and_no_fault_of_it) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *rows = F32(scope, 10, 20, 30), *index = I32(scope, 0, 3);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, COMPUTE);
    assert_true(fake->fail_calls("work", 1, 2, GANTRY_INTERNAL, "the card coughed"));
    (void)gantry_gather(scope, rows, index, 0);
    fake->open_gate(0, COMPUTE);
    expect_failure(gantry_runtime_synchronize(f.runtime), GANTRY_INTERNAL, "the card coughed");
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- failed work ---- */

TEST(failed_work_surfaces_in_its_dependants_on_that_stream) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *elsewhere = runtime_fixture_scope(&f, "GPU:1");
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
    EXPECT_F32(gantry_add(scope, x, before), 3, 6); /* the device keeps working */
    /* the failure is known now: the call reports it */
    assert_null(gantry_add(scope, bad, x));
    expect_scope_failure(scope, GANTRY_INTERNAL, "the card coughed");
    assert_null(gantry_add(elsewhere, bad, y));
    expect_scope_failure(elsewhere, GANTRY_INTERNAL, "the card coughed");
    expect_ended_well(scope);
    expect_ended_well(elsewhere);
    runtime_fixture_close(&f);
}

/* A dependent result, submitted after an event behind the failed work and before the failure was
 * known. */
TEST(failed_work_poisons_what_was_submitted_before_it_was_known) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, COMPUTE);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the card coughed"));
    const gantry_tensor_t *bad = gantry_add(scope, x, x), *gone = gantry_add(scope, x, x);
    gantry_tensor_drop(scope, gone);
    /* its upload waits for an event that follows bad and gone */
    const gantry_tensor_t *reuser = F32(scope, 7, 7);
    const gantry_tensor_t *worse = gantry_mul(scope, bad, x);
    fake->open_gate(0, COMPUTE);
    expect_read_fails(bad, GANTRY_INTERNAL, "the card coughed");
    expect_read_fails(worse, GANTRY_INTERNAL, "the card coughed");
    (void)reuser;
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(failed_upload_poisons_what_is_computed_from_it) {
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

TEST(failed_upload_spoils_no_later_one) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    for (int round = 0; round < 3; ++round) {
        assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
        fake->close_gate(0, TO_DEVICE);
        assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the bus is cut"));
        const gantry_tensor_t *bad = F32(scope, 3, 4);
        const gantry_tensor_t *sum =
            /* the compute stream waits for the upload and inherits the error */
            gantry_add(scope, x, bad);
        fake->open_gate(0, TO_DEVICE);
        float got[2];
        expect_failure(gantry_tensor_read(round == 1 ? bad : sum, got, sizeof got), GANTRY_INTERNAL,
                       "the bus is cut");
        const gantry_tensor_t *good = F32(scope, 5, 6); /* no call has synchronised */
        EXPECT_F32(good, 5, 6);
        EXPECT_F32(gantry_add(scope, good, x), 6, 8);
        expect_read_fails(round == 1 ? sum : bad, GANTRY_INTERNAL, "the bus is cut");
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(value_that_was_read_stays_good) {
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

TEST(synchronize_reports_failed_work_once) {
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

TEST(lost_device_fails_with_the_cause_and_others_go_on) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *elsewhere = runtime_fixture_scope(&f, "GPU:1");
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

/* ---- every call fails once ---- */

/* A heap that fails at one call only; calls count from arm(). */
typedef struct one_failure_t {
    locked_heap_t *heap;
    atomic_long left; /* calls until one fails; below 0: it has failed */
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

/* Various ops on both devices; returns the first error, or OK with right results. */
static gantry_status_t small_program(gantry_runtime_t *runtime, char *out_message,
                                     size_t message_bytes) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    out_message[0] = '\0';
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    if (!scope) return status;
    const float rows[] = {1, 2, 3, 4};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), rows, sizeof rows);
    const gantry_tensor_t *product = gantry_matmul(scope, x, x, NULL);
    const gantry_tensor_t *taken = gantry_gather(scope, product, I32(scope, 1), 0);
    gantry_variable_t *variable = gantry_variable_create(scope, taken, "small");
    if (variable) (void)gantry_variable_assign_add(scope, variable, taken);
    const gantry_tensor_t *value = variable ? gantry_variable_read(scope, variable) : NULL;
    gantry_scope_t *inner = gantry_scope_begin_in(scope, "CPU:0");
    const gantry_tensor_t *sum =
        inner ? gantry_sum(inner, gantry_exp(inner, gantry_sub(inner, value, value)), NULL) : NULL;
    if (inner) { /* keeping NULL passes the inner scope's error to the outer one */
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
        if (read != GANTRY_OK)
            (void)snprintf(out_message, message_bytes, "%s", gantry_last_message());
        if (read == GANTRY_OK) {
            assert_string_equal(text, "[[30. 44.]]");
            assert_int_equal((int)ones, 2);
        }
        /* without memory for the inner scope, this scope has no error */
    } else if (read == GANTRY_OK) {
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
        options.cpu_threads = 1;
        runtime_fixture_open_with(&f, &options);
        atomic_store(&failure.left, n);
        gantry_status_t status = small_program(f.runtime, message, sizeof message);
        bool reached = atomic_load(&failure.left) < 0;
        atomic_store(&failure.left, ENOUGH_CALLS);
        if (status != GANTRY_OK) {
            ++failures;
            if (status != GANTRY_RESOURCE_EXHAUSTED)
                fail_msg("allocation %ld: status %d, %s", n, (int)status, message);
        }
        status = small_program(f.runtime, message, sizeof message); /* the next one works */
        if (status != GANTRY_OK)
            fail_msg("after allocation %ld: status %d, %s", n, (int)status, message);
        runtime_fixture_close(&f);
        if (!reached) break;
    }
    assert_true(failures > 40);
}

TEST(host_memory_short_once_is_an_error_and_no_more) { exhaust_heap(false); }

TEST(host_memory_short_for_good_is_an_error_and_no_more) { exhaust_heap(true); }

TEST(every_slot_of_a_backend_may_fail) {
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
                if (!strstr(message, "injected here"))
                    fail_msg("%s, call %d: the cause is not told: %s", name, (int)n, message);
            }
            /* dependent results and a wait for the stream report failed work */
            if (strcmp(name, "work") == 0) (void)gantry_runtime_synchronize(f.runtime);
            if (reached) {
                status = small_program(f.runtime, message, sizeof message);
                if (status != GANTRY_OK)
                    fail_msg("after %s, call %d: status %d, %s", name, (int)n, (int)status,
                             message);
            }
            runtime_fixture_close(&f);
            fake->reset();
            if (!reached) break;
        }
    }
    assert_true(failures > 20);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
