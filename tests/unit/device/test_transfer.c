/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Copies between the host, two fake cards and the CPU wait only if they must, and a failed
 * copy leaves usable devices. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "transfer_fixture.h"

/* ---- host to device and back ---- */

TEST(small_copy_is_not_waited_for) {
    fixture_t t;
    gantry__point_t ready;
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint32_t *values = numbers(SMALL, 5);
    fake->close_gate(0, 7);
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    assert_false(gantry__point_is_past(ready));
    memset(values, 0, SMALL); /* the caller may write at once */
    fake->open_gate(0, 7);
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
    expect_numbers(values, SMALL, 5);
    free(values);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

TEST(large_copy_is_waited_for) {
    fixture_t t;
    gantry__point_t ready;
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], LARGE);
    uint32_t *values = numbers(LARGE, 9);
    fake->set_delay(0, 5);
    assert_int_equal(gantry__copy_from_host(buffer, values, LARGE, &ready), GANTRY_OK);
    assert_int_equal(fake->waiting(0), 0);
    /* copied straight from the caller's memory */
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 0);
    memset(values, 0, LARGE);
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, LARGE, ready), GANTRY_OK);
    expect_numbers(values, LARGE, 9);
    free(values);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

TEST(part_of_a_buffer_is_read) {
    fixture_t t;
    gantry__point_t ready;
    uint32_t part[8];
    open_all(&t);
    gantry__buffer_t *before = create(t.gpus[0], SMALL), *buffer = create(t.gpus[0], SMALL);
    uint32_t *values = numbers(SMALL, 100);
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    assert_int_equal(gantry__copy_to_host(part, buffer, 40, sizeof part, ready), GANTRY_OK);
    expect_numbers(part, sizeof part, 110);
    /* an empty copy, at the buffer's end */
    assert_int_equal(gantry__copy_to_host(part, buffer, SMALL, 0, ready), GANTRY_OK);
    free(values);
    gantry__buffer_release(before);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

TEST(nothing_is_copied_for_no_bytes) {
    fixture_t t;
    gantry__point_t ready = {NULL, 77};
    open_all(&t);
    gantry__buffer_t *a = create(t.gpus[0], SMALL), *b = create(t.gpus[1], SMALL);
    assert_int_equal(gantry__copy_from_host(a, NULL, 0, &ready), GANTRY_OK);
    assert_true(gantry__point_is_past(ready));
    assert_int_equal(gantry__copy_across(b, a, 0, 0, ready, &ready), GANTRY_OK);
    assert_int_equal(fake->calls("to_device") + fake->calls("to_host"), 0);
    gantry__buffer_release(a);
    gantry__buffer_release(b);
    device_fixture_close(&t.f);
}

/* ---- several threads ---- */

typedef struct copier_t {
    pthread_t thread;
    gantry__buffer_t *buffer;
    uint32_t number;
    int failures;
} copier_t;

static void *copy_many(void *user) {
    copier_t *self = user;
    uint32_t values[256], results[256];
    for (uint32_t i = 0; i < 200; ++i) {
        gantry__point_t ready;
        for (uint32_t k = 0; k < 256; ++k) values[k] = self->number * 1000000u + i * 1000u + k;
        self->failures +=
            gantry__copy_from_host(self->buffer, values, sizeof values, &ready) != GANTRY_OK;
        self->failures +=
            gantry__copy_to_host(results, self->buffer, 0, sizeof results, ready) != GANTRY_OK;
        self->failures += memcmp(values, results, sizeof values) != 0;
    }
    return NULL;
}

TEST(threads_copy_at_the_same_time) {
    fixture_t t;
    copier_t copiers[4];
    open_all(&t);
    for (uint32_t i = 0; i < 4; ++i) {
        copiers[i] = (copier_t){.buffer = create(t.gpus[i % 2], 1024), .number = i};
        assert_int_equal(pthread_create(&copiers[i].thread, NULL, copy_many, &copiers[i]), 0);
    }
    for (uint32_t i = 0; i < 4; ++i) {
        assert_int_equal(pthread_join(copiers[i].thread, NULL), 0);
        assert_int_equal(copiers[i].failures, 0);
        gantry__buffer_release(copiers[i].buffer);
    }
    device_fixture_close(&t.f);
}

/* ---- device to device ---- */

TEST(every_pair_of_devices_is_copied_between) {
    static const uint32_t sizes[] = {4, SMALL, LARGE};
    fixture_t t;
    open_all(&t);
    gantry_logical_device_t *devices[3] = {t.gpus[0], t.gpus[1], t.cpu};
    for (int from = 0; from < 3; ++from) {
        for (int to = 0; to < 3; ++to) {
            for (int size = 0; size < 3; ++size) {
                gantry__point_t ready, copied;
                uint32_t bytes = sizes[size];
                gantry__buffer_t *source = create(devices[from], 2 * bytes),
                                 *target = create(devices[to], bytes);
                uint32_t *values = numbers(2 * bytes, 7), *results = numbers(bytes, 0);
                assert_int_equal(gantry__copy_from_host(source, values, 2 * bytes, &ready),
                                 GANTRY_OK);
                assert_int_equal(gantry__copy_across(target, source, bytes, bytes, ready, &copied),
                                 GANTRY_OK);
                assert_int_equal(gantry__copy_to_host(results, target, 0, bytes, copied),
                                 GANTRY_OK);
                expect_numbers(results, bytes, 7 + bytes / 4);
                free(values);
                free(results);
                gantry__buffer_release(source);
                gantry__buffer_release(target);
            }
        }
    }
    device_fixture_close(&t.f);
}

TEST(copy_across_waits_for_its_source) {
    fixture_t t;
    gantry__point_t ready, copied;
    pthread_t opener;
    uint32_t results[SMALL / 4];
    open_all(&t);
    gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[1], SMALL);
    uint32_t *values = numbers(SMALL, 3);
    fake->close_gate(0, 7);
    assert_int_equal(gantry__copy_from_host(source, values, SMALL, &ready), GANTRY_OK);
    assert_int_equal(pthread_create(&opener, NULL, open_gates_later, NULL), 0);
    assert_int_equal(gantry__copy_across(target, source, 0, SMALL, ready, &copied), GANTRY_OK);
    assert_int_equal(gantry__copy_to_host(results, target, 0, SMALL, copied), GANTRY_OK);
    expect_numbers(results, SMALL, 3);
    assert_int_equal(pthread_join(opener, NULL), 0);
    free(values);
    gantry__buffer_release(source);
    gantry__buffer_release(target);
    device_fixture_close(&t.f);
}

/* ---- failures ---- */

TEST(failing_slots_are_reported_and_leave_no_work_behind) {
    static const char *const slots[] = {"to_device", "event_create", "event_record",
                                        "event_synchronize", "work"};
    for (size_t i = 0; i < 2 * sizeof slots / sizeof slots[0]; ++i) {
        fixture_t t;
        gantry__point_t ready;
        uint32_t bytes = i % 2 ? LARGE : SMALL;
        fake->reset();
        fake->set_device_count(2);
        open_all(&t);
        gantry__buffer_t *buffer = create(t.gpus[0], bytes);
        uint32_t *values = numbers(bytes, 3);
        fake->set_delay(0, 5);
        assert_true(fake->fail_calls(slots[i / 2], 1, 1, GANTRY_INTERNAL, "broken slot"));
        gantry_status_t status = gantry__copy_from_host(buffer, values, bytes, &ready);
        if (status != GANTRY_OK) assert_string_equal(gantry__message(), "broken slot");
        if (i / 2 == 0) assert_int_equal(status, GANTRY_INTERNAL);
        if (bytes == LARGE) /* after any outcome, nothing reads the caller's memory */
            assert_int_equal(fake->waiting(0), 0);
        (void)gantry__point_wait(ready); /* a small copy reports its failure here */
        fake->set_delay(0, 0);
        assert_int_equal(gantry__copy_from_host(buffer, values, bytes, &ready), GANTRY_OK);
        memset(values, 0, bytes);
        assert_int_equal(gantry__copy_to_host(values, buffer, 0, bytes, ready), GANTRY_OK);
        expect_numbers(values, bytes, 3);
        free(values);
        gantry__buffer_release(buffer);
        device_fixture_close(&t.f);
    }
}

TEST(failing_read_leaves_no_work_behind) {
    static const char *const slots[] = {"to_host",      "stream_wait_event", "event_create",
                                        "event_record", "event_synchronize", "work"};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; ++i) {
        fixture_t t;
        gantry__point_t ready;
        fake->reset();
        fake->set_device_count(2);
        open_all(&t);
        gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
        uint32_t *values = numbers(SMALL, 3);
        assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
        assert_true(fake->wait_finished(0, 1, 5000));
        fake->set_delay(0, 5);
        assert_true(fake->fail_calls(slots[i], 1, 1, GANTRY_INTERNAL, "broken slot"));
        gantry_status_t status = gantry__copy_to_host(values, buffer, 0, SMALL, ready);
        assert_int_equal(fake->waiting(0), 0); /* nothing writes to the caller's memory any more */
        if (status == GANTRY_OK) expect_numbers(values, SMALL, 3);
        assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
        expect_numbers(values, SMALL, 3);
        free(values);
        gantry__buffer_release(buffer);
        device_fixture_close(&t.f);
    }
}

TEST(lost_device_fails_its_copies_only) {
    fixture_t t;
    gantry__point_t ready;
    open_all(&t);
    gantry__buffer_t *lost = create(t.gpus[0], SMALL), *good = create(t.gpus[1], SMALL);
    uint32_t *values = numbers(SMALL, 3);
    fake->set_lost(0, 1);
    assert_int_equal(gantry__copy_from_host(lost, values, SMALL, &ready), GANTRY_UNAVAILABLE);
    assert_int_equal(gantry__copy_from_host(good, values, SMALL, &ready), GANTRY_OK);
    assert_int_equal(gantry__copy_to_host(values, good, 0, SMALL, ready), GANTRY_OK);
    assert_int_equal(gantry__copy_to_host(values, lost, 0, SMALL, ready), GANTRY_UNAVAILABLE);
    free(values);
    gantry__buffer_release(lost);
    gantry__buffer_release(good);
    device_fixture_close(&t.f);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
