/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Errors that running kernels find reach the calls that depend on them, and the memory
 * that held the error is used again. */
#define _XOPEN_SOURCE 700

#include "device/fault.h"
#include "device_fixture.h"
#include "test.h"

#include "device/buffer.h"
#include "device/transfer.h"

typedef struct slot_t {
    uint32_t code, input;
    int64_t position;
} slot_t;

/* A fault whose kernel writes the error; a transfer stands for the kernel. */
static gantry__fault_t *run_kernel(gantry_logical_device_t *device, const slot_t *found) {
    gantry__fault_t *fault;
    gantry_span_t span;
    if (gantry__fault_create(device, "Gather", 17, &fault, &span) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    assert_int_equal(span.size_bytes, GANTRY__FAULT_BYTES);
    span.size_bytes = sizeof *found;
    gantry__stream_t *compute = &device->streams[GANTRY_STREAM_COMPUTE];
    gantry__stream_begin(compute);
    if (found)
        assert_int_equal(device->backend->transfer->to_device(compute->handle, &span, found), 0);
    fault->point = (gantry__point_t){compute, gantry__stream_end(compute)};
    return fault;
}

TEST(good_work_settles_well) {
    device_fixture_t f;
    gantry__fault_t *fault = run_kernel(device_fixture_open_gpu(&f), NULL);
    for (int i = 0; i < 3; ++i) assert_int_equal(gantry__fault_settle(fault), GANTRY_OK);
    assert_int_equal(fake->calls("to_host"), 1); /* the slot is read once */
    gantry__fault_release(fault);
    gantry__fault_release(NULL);
    device_fixture_close(&f);
}

TEST(bad_data_is_told_with_op_and_position) {
    static const struct {
        slot_t slot;
        const char *text;
    } cases[] = {
        {{GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, 5},
         "an index is out of range: op Gather (number 17) on /job:localhost/replica:0/task:0/device:GPU:0, input 1, element 5"},
        {{GANTRY_FAULT_NEGATIVE_EXPONENT, 1, 7},
         "Integers to negative integer powers are not allowed: op Gather (number 17) on /job:localhost/replica:0/task:0/device:GPU:0, input 1, element 7"},
        {{GANTRY_FAULT_DIVISION_BY_ZERO, 0, 3},
         "Integer division by zero: op Gather (number 17) on /job:localhost/replica:0/task:0/device:GPU:0, input 0, element 3"},
        {{GANTRY_FAULT_BAD_PERMUTATION, 0, 2},
         "an index is not between 0 and the count, or duplicated in the input: op Gather (number 17) on /job:localhost/replica:0/task:0/device:GPU:0, input 0, element 2"},
        {{GANTRY_FAULT_LABEL_OUT_OF_RANGE, 2, 4},
         "Received a label value which is outside the valid range: op Gather (number 17) on /job:localhost/replica:0/task:0/device:GPU:0, input 2, element 4"},
        {{99, 0, -1},
         "error 99: op Gather (number 17) on /job:localhost/replica:0/task:0/device:GPU:0, input 0, element -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        gantry__fault_t *fault = run_kernel(device_fixture_open_gpu(&f), &cases[i].slot);
        for (int k = 0; k < 2; ++k) { /* every dependent result reports it */
            assert_int_equal(gantry__fault_settle(fault), GANTRY_INVALID_ARGUMENT);
            assert_string_equal(gantry__message(), cases[i].text);
        }
        gantry__fault_release(fault);
        device_fixture_close(&f);
    }
}

static void set_words(gantry__fault_t *fault, gantry_fault_words_t words) {
    words.struct_size = sizeof words;
    gantry__fault_set_words(fault, &words);
}

TEST(kernels_words_take_the_place_and_the_accepted) {
    static const struct {
        gantry_fault_words_t words;
        int64_t position;
        const char *text;
    } cases[] = {
        {{.text = "indices@ is not in [0, #)",
          .place_rank = 2,
          .place_dims = {3, 4},
          .accepted_count = 1,
          .accepted = {9}},
         7,
         "indices[1,3] is not in [0, 9): op Gather (number 17) on "},
        {{.text = "x@, shape [#]", .place_rank = 0, .accepted_count = 3, .accepted = {2, 3, 4}},
         0,
         "x, shape [2,3,4]: op"},
        {{.text = "x@ is a sentence.", .place_rank = 1, .place_dims = {4}},
         3,
         "x[3] is a sentence: op Gather (number 17) on "},
        {{.text = "x@ # @", .place_rank = 1, .place_dims = {0}},
         INT64_MAX,
         "x[9223372036854775807]  [92233720368547758"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        slot_t slot = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, cases[i].position};
        gantry__fault_t *fault = run_kernel(device_fixture_open_gpu(&f), &slot);
        set_words(fault, cases[i].words);
        expect_failure(gantry__fault_settle(fault), GANTRY_INVALID_ARGUMENT, cases[i].text);
        gantry__fault_release(fault);
        device_fixture_close(&f);
    }
}

TEST(longest_words_are_cut) {
    char text[1000];
    device_fixture_t f;
    slot_t slot = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, INT64_MAX};
    gantry__fault_t *fault = run_kernel(device_fixture_open_gpu(&f), &slot);
    memset(text, '#', sizeof text);
    text[sizeof text - 1] = '\0';
    gantry_fault_words_t words = {.text = text, .accepted_count = 8};
    for (int i = 0; i < 8; ++i) words.accepted[i] = INT64_MIN;
    set_words(fault, words);
    expect_failure(gantry__fault_settle(fault), GANTRY_INVALID_ARGUMENT,
                   "-9223372036854775808,-9223372036854775808");
    assert_non_null(strstr(gantry__message(), ": op Gather (number 17) on "));
    gantry__fault_release(fault);
    device_fixture_close(&f);
}

TEST(words_beyond_their_bounds_are_not_taken) {
    const gantry_fault_words_t bad[] = {
        {.struct_size = sizeof bad[0], .text = "x@", .place_rank = 9},
        {.struct_size = sizeof bad[0], .text = "x@", .place_rank = -1},
        {.struct_size = sizeof bad[0], .text = "x#", .accepted_count = 9},
        {.struct_size = sizeof bad[0], .text = "x#", .accepted_count = -1},
        {.struct_size = offsetof(gantry_fault_words_t, accepted), .text = "x#"},
    };
    device_fixture_t f;
    slot_t slot = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, 5};
    gantry__fault_t *fault = run_kernel(device_fixture_open_gpu(&f), &slot);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) gantry__fault_set_words(fault, &bad[i]);
    expect_failure(gantry__fault_settle(fault), GANTRY_INVALID_ARGUMENT,
                   "an index is out of range: op Gather");
    gantry__fault_release(fault);
    device_fixture_close(&f);
}

TEST(settling_waits_for_the_launch) {
    device_fixture_t f;
    slot_t slot = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, 5};
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    fake->set_delay(0, 10);
    gantry__fault_t *fault = run_kernel(device, &slot);
    assert_int_equal(gantry__fault_settle(fault), GANTRY_INVALID_ARGUMENT);
    gantry__fault_release(fault);
    device_fixture_close(&f);
}

TEST(released_slot_is_clean_for_the_next) {
    device_fixture_t f;
    slot_t slot = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, 5};
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    for (int i = 0; i < 50; ++i) {
        gantry__fault_t *bad = run_kernel(device, &slot);
        if (i % 2) assert_int_equal(gantry__fault_settle(bad), GANTRY_INVALID_ARGUMENT);
        gantry__fault_release(bad); /* every second one is unread, with its work in flight */
        gantry__fault_t *good = run_kernel(device, NULL);
        assert_int_equal(gantry__fault_settle(good), GANTRY_OK);
        gantry__fault_release(good);
    }
    assert_int_equal(device->faults->free_count, GANTRY__FAULT_SLOTS);
    device_fixture_close(&f);
}

TEST(faults_are_counted) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__fault_t *fault = run_kernel(device, NULL);
    assert_ptr_equal(gantry__fault_retain(fault), fault);
    gantry__fault_release(fault);
    assert_int_equal(device->faults->free_count, GANTRY__FAULT_SLOTS - 1);
    assert_int_equal(gantry__fault_settle(fault), GANTRY_OK);
    gantry__fault_release(fault);
    assert_int_equal(device->faults->free_count, GANTRY__FAULT_SLOTS);
    device_fixture_close(&f);
}

/* ---- submitted faults: the table reads their slots ---- */

static gantry__fault_t *submit_kernel(gantry_logical_device_t *device, const slot_t *found) {
    gantry__fault_t *fault = run_kernel(device, found);
    gantry__fault_submit(fault, fault->point);
    return fault;
}

static void expect_told(gantry_logical_device_t *device, const char *text) {
    gantry__fault_t *first;
    assert_int_equal(gantry__fault_settle_all(device, &first), GANTRY_OK);
    if (!text) {
        assert_null(first);
        return;
    }
    assert_non_null(first);
    expect_failure(gantry__fault_settle(first), GANTRY_INVALID_ARGUMENT, text);
    gantry__fault_release(first);
}

TEST(what_nobody_read_is_told_once_and_first_things_first) {
    device_fixture_t f;
    const slot_t seventh = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, 7},
                 ninth = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, 9};
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    expect_told(device, NULL);
    assert_int_equal(fake->calls("to_host"), 0);
    gantry__fault_release(submit_kernel(device, NULL));
    gantry__fault_release(submit_kernel(device, &seventh)); /* the kernel's result was released */
    gantry__fault_t *held = submit_kernel(device, &ninth);
    assert_int_equal(device->faults->free_count, GANTRY__FAULT_SLOTS - 3);
    expect_told(device, "element 7");
    assert_int_equal(fake->calls("to_host"), 1); /* one read for all slots */
    expect_told(device, NULL);
    assert_int_equal(device->faults->free_count, GANTRY__FAULT_SLOTS);
    for (int k = 0; k < 2; ++k)
        expect_failure(gantry__fault_settle(held), GANTRY_INVALID_ARGUMENT, "element 9");
    gantry__fault_release(held);
    gantry__fault_t *read = submit_kernel(device, &ninth);
    expect_failure(gantry__fault_settle(read), GANTRY_INVALID_ARGUMENT, "element 9");
    expect_told(device, NULL); /* the reader already got the error */
    gantry__fault_release(read);
    gantry__fault_release(submit_kernel(device, &seventh)); /* the device frees it */
    device_fixture_close(&f);
}

TEST(any_number_of_submitted_results_may_be_unread) {
    device_fixture_t f;
    static gantry__fault_t *held[3 * GANTRY__FAULT_SLOTS];
    const slot_t bad = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, 5};
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    for (int i = 0; i < 3 * GANTRY__FAULT_SLOTS; ++i)
        held[i] = submit_kernel(device, i == 2 || i == 2000 ? &bad : NULL);
    /* one read for half of those that are kept */
    const int most_reads = 3 * GANTRY__FAULT_SLOTS / (GANTRY__FAULT_MOST_KEPT / 2);
    assert_in_range(fake->calls("to_host"), most_reads - 2, most_reads);
    for (int i = 0; i < 3 * GANTRY__FAULT_SLOTS; ++i) {
        assert_int_equal(gantry__fault_settle(held[i]),
                         i == 2 || i == 2000 ? GANTRY_INVALID_ARGUMENT : GANTRY_OK);
        gantry__fault_release(held[i]);
    }
    expect_told(device, NULL);
    for (int i = 0; i < 3 * GANTRY__FAULT_SLOTS; ++i)
        gantry__fault_release(submit_kernel(device, i == 2 ? &bad : NULL));
    expect_told(device, "element 5");
    assert_int_equal(device->faults->free_count, GANTRY__FAULT_SLOTS);
    device_fixture_close(&f);
}

TEST(first_of_many_positions_is_told) {
    static const struct {
        uint32_t block, left;
        const char *text;
    } cases[] = {
        {0, UINT32_C(1) << 31, "input 1, element 0"},
        {0, (UINT32_C(1) << 31) - 5, "input 1, element 5"},
        {0, 1, "input 1, element 2147483647"},
        {1, UINT32_C(1) << 31, "input 1, element 2147483648"},
        {GANTRY__FAULT_BLOCKS - 1, 1, "input 1, element 25769803775"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        uint32_t words[GANTRY__FAULT_BYTES / 4] = {GANTRY_FAULT_DIVISION_BY_ZERO, 1};
        gantry_span_t span;
        gantry__fault_t *fault;
        gantry_logical_device_t *device = device_fixture_open_gpu(&f);
        gantry__stream_t *compute = &device->streams[GANTRY_STREAM_COMPUTE];
        words[4 + cases[i].block] = cases[i].left;
        words[4 + GANTRY__FAULT_BLOCKS - 1] |= 1; /* a later fault */
        assert_int_equal(gantry__fault_create(device, "Div", 17, &fault, &span), GANTRY_OK);
        gantry__stream_begin(compute);
        assert_int_equal(device->backend->transfer->to_device(compute->handle, &span, words), 0);
        fault->point = (gantry__point_t){compute, gantry__stream_end(compute)};
        expect_failure(gantry__fault_settle(fault), GANTRY_INVALID_ARGUMENT, cases[i].text);
        gantry__fault_release(fault);
        device_fixture_close(&f);
    }
}

TEST(too_many_unread_results_are_refused) {
    device_fixture_t f;
    static gantry__fault_t *faults[GANTRY__FAULT_SLOTS];
    gantry__fault_t *refused = NULL;
    gantry_span_t span;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    for (int i = 0; i < GANTRY__FAULT_SLOTS; ++i) faults[i] = run_kernel(device, NULL);
    expect_failure(gantry__fault_create(device, "Gather", 1, &refused, &span),
                   GANTRY_RESOURCE_EXHAUSTED, "1024 ops that may find an error");
    gantry__fault_release(faults[7]);
    faults[7] = run_kernel(device, NULL);
    for (int i = 0; i < GANTRY__FAULT_SLOTS; ++i) gantry__fault_release(faults[i]);
    device_fixture_close(&f);
}

/* The slots' memory may belong to a former owner whose work is still in flight. */
TEST(slots_wait_for_the_former_use_of_their_memory) {
    device_fixture_t f;
    gantry__buffer_t *buffer;
    gantry__point_t ready;
    static const uint32_t values[GANTRY__FAULT_SLOTS * GANTRY__FAULT_BYTES / 4];
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    fake->close_gate(0, 1u << GANTRY_STREAM_TO_DEVICE);
    assert_int_equal(
        gantry__buffer_create(device, sizeof values, GANTRY_STREAM_TO_DEVICE, "Test", &buffer),
        GANTRY_OK);
    assert_int_equal(gantry__copy_from_host(buffer, values, sizeof values, &ready), GANTRY_OK);
    gantry__buffer_release(buffer);
    gantry__fault_t *fault = run_kernel(device, NULL);
    fake->open_gate(0, 7);
    assert_int_equal(gantry__fault_settle(fault), GANTRY_OK);
    gantry__fault_release(fault);
    device_fixture_close(&f);
}

TEST(failing_steps_leave_nothing) {
    static const char *const slots[] = {"region_alloc", "fill"};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; ++i) {
        device_fixture_t f;
        gantry__fault_t *fault = NULL;
        gantry_span_t span;
        fake->reset();
        gantry_logical_device_t *device = device_fixture_open_gpu(&f);
        assert_true(fake->fail_calls(slots[i], 1, 100, GANTRY_INTERNAL, "broken slot"));
        expect_failure(gantry__fault_create(device, "Gather", 1, &fault, &span), GANTRY_INTERNAL,
                       "broken slot");
        assert_null(fault);
        assert_true(!device->faults->is_ready || device->faults->free_count == GANTRY__FAULT_SLOTS);
        device_fixture_close(&f);
    }
}

/* A failed settle gives no answer; the next one may. Nothing may write to its memory after it has
 * returned. */
TEST(failing_read_is_not_an_answer) {
    static const char *const slots[] = {"stream_wait_event", "to_host", "event_create",
                                        "event_record", "event_synchronize"};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; ++i) {
        device_fixture_t f;
        slot_t slot = {GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, 5};
        fake->reset();
        gantry_logical_device_t *device = device_fixture_open_gpu(&f);
        gantry__fault_t *fault = run_kernel(device, &slot);
        assert_true(fake->wait_finished(0, 2, 5000));
        fake->set_delay(0, 5);
        assert_true(fake->fail_calls(slots[i], 1, 1, GANTRY_INTERNAL, "broken slot"));
        gantry_status_t status = gantry__fault_settle(fault);
        assert_int_equal(fake->waiting(0), 0);
        assert_true(status == GANTRY_INTERNAL || status == GANTRY_INVALID_ARGUMENT);
        if (i != 4) assert_int_equal(gantry__fault_settle(fault), GANTRY_INVALID_ARGUMENT);
        gantry__fault_release(fault);
        device_fixture_close(&f);
    }
}

typedef struct reader_t {
    pthread_t thread;
    gantry__fault_t *fault;
    gantry_status_t status;
} reader_t;

static void *settle(void *user) {
    reader_t *self = user;
    self->status = gantry__fault_settle(self->fault);
    return NULL;
}

TEST(threads_are_told_the_same) {
    device_fixture_t f;
    slot_t slot = {GANTRY_FAULT_DIVISION_BY_ZERO, 0, 1};
    reader_t readers[4];
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    for (int round = 0; round < 20; ++round) {
        gantry__fault_t *fault = run_kernel(device, round % 2 ? &slot : NULL);
        for (int i = 0; i < 4; ++i) {
            readers[i] = (reader_t){.fault = fault};
            assert_int_equal(pthread_create(&readers[i].thread, NULL, settle, &readers[i]), 0);
        }
        for (int i = 0; i < 4; ++i) {
            assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
            assert_int_equal(readers[i].status, round % 2 ? GANTRY_INVALID_ARGUMENT : GANTRY_OK);
        }
        gantry__fault_release(fault);
    }
    device_fixture_close(&f);
}

int main(void) { return test_main_each(device_fixture_set_up, device_fixture_tear_down); }
