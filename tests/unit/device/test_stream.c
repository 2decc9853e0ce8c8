/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Streams, points and events order work on the fake backend, which is linked statically.
 *
 * Gates and delays decide when work ends, and the fake backend reports unordered work. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/stream.h"
#include "fake_host.h"
#include "test.h"

#define COMPUTE GANTRY_STREAM_COMPUTE
#define TO_DEVICE GANTRY_STREAM_TO_DEVICE
#define TO_HOST GANTRY_STREAM_TO_HOST
#define BYTES 1024u

static const gantry_fake_control_t *fake;

typedef struct fixture_t {
    fake_host_t host;
    const gantry_backend_t *backend;
    gantry_backend_instance_t *instance;
    gantry_backend_device_t *devices[2];
    gantry_region_t regions[2];
    gantry__stream_t streams[2][GANTRY__STREAMS];
} fixture_t;

static void open_all(fixture_t *f, uint32_t flags) {
    memset(f, 0, sizeof *f);
    fake_host_init(&f->host);
    fake->reset();
    fake->set_device_count(2);
    for (uint32_t i = 0; i < 2; ++i) {
        gantry_fake_device_t settings;
        fake->get_device(i, &settings);
        settings.flags = flags;
        fake->set_device(i, &settings);
    }
    assert_int_equal(gantry_backend_query_fake(GANTRY_ABI_VERSION, &f->backend), 0);
    assert_int_equal(f->backend->open(&f->host.host, &f->instance), 0);
    for (uint32_t i = 0; i < 2; ++i) {
        assert_int_equal(f->backend->device_open(f->instance, i, &f->devices[i]), 0);
        assert_int_equal(f->backend->memory->region_alloc(f->devices[i], BYTES, &f->regions[i]), 0);
        const gantry__stream_owner_t owner = {.device = f->devices[i]};
        for (uint32_t k = 0; k < GANTRY__STREAMS; ++k) {
            assert_int_equal(gantry__stream_init(&f->streams[i][k], &f->host.heap.heap, f->backend,
                                                 f->devices[i], &owner, k, NULL,
                                                 (flags & GANTRY_DEVICE_SYNCHRONOUS) != 0),
                             GANTRY_OK);
        }
    }
}

static void close_all(fixture_t *f) {
    f->host.heap.inner.fail_at = -1;
    for (uint32_t i = 0; i < 2; ++i) {
        for (uint32_t k = 0; k < GANTRY__STREAMS; ++k) gantry__stream_deinit(&f->streams[i][k]);
        f->backend->memory->region_free(f->devices[i], f->regions[i], BYTES);
        f->backend->device_close(f->devices[i]);
    }
    f->backend->close(f->instance);
    fake_expect_nothing_lives(fake);
    fake_host_deinit(&f->host);
}

/* ---- work ---- */

static gantry_span_t whole(const fixture_t *f, uint32_t device) {
    return (gantry_span_t){f->regions[device], 0, BYTES};
}

/* Fills the device's region with a value; returns the point of that work. */
static gantry__point_t fill(fixture_t *f, uint32_t device, uint32_t stream, uint32_t value) {
    gantry__stream_t *self = &f->streams[device][stream];
    gantry_span_t span = whole(f, device);
    gantry__stream_begin(self);
    assert_int_equal(f->backend->transfer->fill(self->handle, &span, &value, sizeof value), 0);
    return (gantry__point_t){self, gantry__stream_end(self)};
}

static gantry__point_t read_back(fixture_t *f, uint32_t device, uint32_t stream,
                                 uint32_t *out_values) {
    gantry__stream_t *self = &f->streams[device][stream];
    gantry_span_t span = whole(f, device);
    gantry__stream_begin(self);
    assert_int_equal(f->backend->transfer->to_host(self->handle, out_values, &span), 0);
    return (gantry__point_t){self, gantry__stream_end(self)};
}

static void expect_values(const uint32_t *values, uint32_t value) {
    for (uint32_t i = 0; i < BYTES / 4; ++i) assert_int_equal(values[i], value);
}

static void sleep_ms(long ms) {
    struct timespec time = {.tv_nsec = ms * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* Opens all gates of device 0 a little later, from another thread. */
static void *open_later(void *user) {
    (void)user;
    sleep_ms(20);
    fake->open_gate(0, 7);
    return NULL;
}

/* ---- points ---- */

TEST(point_of_nothing_is_past) {
    fixture_t f;
    open_all(&f, 0);
    assert_true(gantry__point_is_past((gantry__point_t){NULL, 7}));
    assert_true(gantry__point_is_past((gantry__point_t){&f.streams[0][COMPUTE], 0}));
    assert_int_equal(gantry__point_wait((gantry__point_t){NULL, 7}), GANTRY_OK);
    assert_int_equal(fake->calls("event_create"), 0);
    close_all(&f);
}

TEST(submissions_are_counted_per_stream) {
    fixture_t f;
    open_all(&f, 0);
    for (uint64_t i = 1; i <= 3; ++i) assert_int_equal(fill(&f, 0, COMPUTE, 1).count, i);
    assert_int_equal(fill(&f, 1, COMPUTE, 1).count, 1);
    assert_int_equal(atomic_load(&f.streams[0][COMPUTE].submitted), 3);
    close_all(&f);
}

TEST(point_passes_when_its_work_ends) {
    fixture_t f;
    open_all(&f, 0);
    fake->close_gate(0, 7);
    gantry__point_t first = fill(&f, 0, COMPUTE, 1), second = fill(&f, 0, COMPUTE, 2);
    assert_false(gantry__point_is_past(first));
    assert_int_equal(fake->finished(0), 0); /* the submission did not wait */
    pthread_t opener;
    assert_int_equal(pthread_create(&opener, NULL, open_later, NULL), 0);
    assert_int_equal(gantry__point_wait(second), GANTRY_OK);
    assert_int_equal(fake->finished(0), 2);
    assert_true(gantry__point_is_past(first) && gantry__point_is_past(second));
    assert_int_equal(pthread_join(opener, NULL), 0);
    close_all(&f);
}

TEST(waiting_twice_asks_the_driver_once) {
    fixture_t f;
    open_all(&f, 0);
    gantry__point_t first = fill(&f, 0, COMPUTE, 1), second = fill(&f, 0, COMPUTE, 2);
    /* the event covers the second one, too */
    assert_int_equal(gantry__point_wait(first), GANTRY_OK);
    assert_int_equal(gantry__point_wait(second), GANTRY_OK);
    assert_int_equal(gantry__point_wait(first), GANTRY_OK);
    assert_int_equal(fake->calls("event_record"), 1);
    assert_int_equal(fake->calls("event_synchronize"), 1);
    close_all(&f);
}

TEST(synchronize_passes_all_points) {
    fixture_t f;
    open_all(&f, 0);
    fake->set_delay(0, 2);
    gantry__point_t points[5];
    for (uint32_t i = 0; i < 5; ++i) points[i] = fill(&f, 0, COMPUTE, i);
    assert_int_equal(gantry__stream_synchronize(&f.streams[0][COMPUTE]), GANTRY_OK);
    for (uint32_t i = 0; i < 5; ++i) assert_true(gantry__point_is_past(points[i]));
    assert_int_equal(fake->finished(0), 5);
    close_all(&f);
}

/* ---- streams that wait for streams ---- */

TEST(sibling_waits_on_the_device) {
    fixture_t f;
    uint32_t values[BYTES / 4];
    open_all(&f, 0);
    fake->close_gate(0, 1u << COMPUTE);
    gantry__point_t written = fill(&f, 0, COMPUTE, 42);
    /* the call returns at once */
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &written, 1), GANTRY_OK);
    gantry__point_t read = read_back(&f, 0, TO_HOST, values);
    /* the reader's gate is open, but its work still waits */
    assert_false(fake->wait_finished(0, 1, 20));
    fake->open_gate(0, 7);
    assert_int_equal(gantry__point_wait(read), GANTRY_OK);
    expect_values(values, 42);
    close_all(&f);
}

TEST(missing_wait_is_found_out) {
    fixture_t f;
    uint32_t values[BYTES / 4];
    gantry_span_t span;
    open_all(&f, 0);
    (void)fill(&f, 0, COMPUTE, 42);
    span = whole(&f, 0);
    assert_int_equal(f.backend->transfer->to_host(f.streams[0][TO_HOST].handle, values, &span),
                     GANTRY_INTERNAL);
    char text[256];
    assert_int_equal(fake->violations(), 1);
    fake->first_violation(text, sizeof text);
    assert_non_null(strstr(text, "nothing orders the two"));
    assert_int_equal(gantry__stream_synchronize(&f.streams[0][COMPUTE]), GANTRY_OK);
    (void)read_back(&f, 0, TO_HOST, values); /* the host has waited: that orders the work */
    assert_int_equal(fake->violations(), 1);
    assert_int_equal(gantry__stream_synchronize(&f.streams[0][TO_HOST]), GANTRY_OK);
    fake->reset();
    close_all(&f);
}

TEST(sibling_that_waited_does_not_wait_again) {
    fixture_t f;
    open_all(&f, 0);
    fake->close_gate(0, 7);
    gantry__point_t first = fill(&f, 0, COMPUTE, 1), second = fill(&f, 0, COMPUTE, 2);
    gantry__point_t both[2] = {second, first};
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], both, 2), GANTRY_OK);
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], both, 2), GANTRY_OK);
    assert_int_equal(fake->calls("event_record"), 1);
    assert_int_equal(fake->calls("stream_wait_event"), 1);
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_DEVICE], both, 2),
                     GANTRY_OK); /* the same event is reused */
    assert_int_equal(fake->calls("event_record"), 1);
    assert_int_equal(fake->calls("stream_wait_event"), 2);
    gantry__point_t third = fill(&f, 0, COMPUTE, 3);
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &third, 1), GANTRY_OK);
    assert_int_equal(fake->calls("event_record"), 2);
    assert_int_equal(fake->calls("stream_wait_event"), 3);
    fake->open_gate(0, 7);
    close_all(&f);
}

TEST(wait_for_itself_or_the_past_costs_nothing) {
    fixture_t f;
    open_all(&f, 0);
    gantry__point_t points[3] = {fill(&f, 0, COMPUTE, 1), {NULL, 9}, fill(&f, 1, COMPUTE, 1)};
    assert_int_equal(gantry__stream_synchronize(&f.streams[1][COMPUTE]), GANTRY_OK);
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][COMPUTE], points, 3), GANTRY_OK);
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][COMPUTE], NULL, 0), GANTRY_OK);
    assert_int_equal(fake->calls("event_record"), 0);
    assert_int_equal(fake->calls("stream_wait_event"), 0);
    close_all(&f);
}

TEST(stream_waits_for_another_device) {
    fixture_t f;
    uint32_t values[BYTES / 4];
    open_all(&f, 0);
    fake->close_gate(0, 7);
    gantry__stream_t *reader = &f.streams[1][COMPUTE];
    gantry__point_t written = fill(&f, 0, COMPUTE, 7);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(gantry__stream_wait_for(reader, &written, 1), GANTRY_OK);
    gantry_span_t target = whole(&f, 1), source = whole(&f, 0);
    gantry__stream_begin(reader);
    assert_int_equal(f.backend->transfer->copy_peer(reader->handle, &target, f.devices[0], &source),
                     0);
    gantry__point_t copied = {reader, gantry__stream_end(reader)};
    assert_false(fake->wait_finished(1, 1, 20));
    fake->open_gate(0, 7);
    assert_int_equal(gantry__stream_wait_for(&f.streams[1][TO_HOST], &copied, 1), GANTRY_OK);
    assert_int_equal(gantry__point_wait(read_back(&f, 1, TO_HOST, values)), GANTRY_OK);
    expect_values(values, 7);
    close_all(&f);
}

TEST(stream_of_another_backend_makes_the_thread_wait) {
    fixture_t f;
    gantry__stream_t foreign;
    open_all(&f, 0);
    gantry_backend_t copy = *f.backend; /* another backend, in the view of streams */
    const gantry__stream_owner_t owner = {.device = f.devices[1]};
    assert_int_equal(gantry__stream_init(&foreign, &f.host.heap.heap, &copy, f.devices[1], &owner,
                                         COMPUTE, NULL, false),
                     GANTRY_OK);
    fake->set_delay(0, 10);
    gantry__point_t written = fill(&f, 0, COMPUTE, 7);
    assert_int_equal(gantry__stream_wait_for(&foreign, &written, 1), GANTRY_OK);
    assert_int_equal(fake->finished(0), 1);
    assert_true(gantry__point_is_past(written));
    assert_int_equal(fake->calls("stream_wait_event"), 0);
    gantry__stream_deinit(&foreign);
    close_all(&f);
}

/* ---- synchronous devices ---- */

TEST(synchronous_stream_needs_no_events) {
    fixture_t f;
    uint32_t values[BYTES / 4];
    open_all(&f, GANTRY_DEVICE_SYNCHRONOUS);
    gantry__point_t written = fill(&f, 0, COMPUTE, 5);
    assert_true(gantry__point_is_past(written));
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &written, 1), GANTRY_OK);
    assert_int_equal(gantry__point_wait(read_back(&f, 0, TO_HOST, values)), GANTRY_OK);
    expect_values(values, 5);
    assert_int_equal(gantry__stream_synchronize(&f.streams[0][COMPUTE]), GANTRY_OK);
    assert_int_equal(fake->calls("event_create") + fake->calls("stream_synchronize"), 0);
    close_all(&f);
}

TEST(synchronous_stream_waits_on_the_thread) {
    fixture_t f;
    gantry__stream_t at_once;
    open_all(&f, 0);
    const gantry__stream_owner_t owner = {.device = f.devices[1]};
    assert_int_equal(gantry__stream_init(&at_once, &f.host.heap.heap, f.backend, f.devices[1],
                                         &owner, COMPUTE, NULL, true),
                     GANTRY_OK);
    fake->set_delay(0, 10);
    gantry__point_t written = fill(&f, 0, COMPUTE, 7);
    assert_int_equal(gantry__stream_wait_for(&at_once, &written, 1), GANTRY_OK);
    assert_int_equal(fake->finished(0), 1);
    gantry__stream_deinit(&at_once);
    close_all(&f);
}

/* ---- reuse of events ---- */

TEST(events_are_reused) {
    fixture_t f;
    open_all(&f, 0);
    for (uint32_t i = 0; i < 200; ++i) {
        gantry__point_t point = fill(&f, 0, COMPUTE, i);
        assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &point, 1), GANTRY_OK);
        point = fill(&f, 0, COMPUTE, i);
        assert_int_equal(gantry__point_wait(point), GANTRY_OK);
    }
    assert_true(fake->calls("event_record") >= 200);
    assert_true(fake->live(GANTRY_FAKE_EVENT) <= 3);
    close_all(&f);
}

TEST(many_waits_in_flight_reuse_events) {
    fixture_t f;
    uint32_t values[BYTES / 4];
    open_all(&f, 0);
    fake->close_gate(0, 7);
    for (uint32_t i = 1; i <= 100;
         /* a wait keeps the record it was given, so the event may be recorded again at once */
         ++i) {
        gantry__point_t written = fill(&f, 0, COMPUTE, i);
        assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &written, 1), GANTRY_OK);
        gantry__point_t read = read_back(&f, 0, TO_HOST, values);
        assert_int_equal(gantry__stream_wait_for(&f.streams[0][COMPUTE], &read, 1), GANTRY_OK);
    }
    assert_true(fake->live(GANTRY_FAKE_EVENT) <= 4);
    fake->open_gate(0, 7);
    assert_int_equal(gantry__stream_synchronize(&f.streams[0][TO_HOST]), GANTRY_OK);
    expect_values(values, 100);
    close_all(&f);
}

/* ---- failures ---- */

TEST(stream_that_cannot_be_made_leaves_nothing) {
    fixture_t f;
    gantry__stream_t stream;
    open_all(&f, 0);
    assert_true(fake->fail_calls("stream_create", 1, 1, GANTRY_UNAVAILABLE, "no more queues"));
    assert_int_equal(gantry__stream_init(&stream, &f.host.heap.heap, f.backend, f.devices[0],
                                         &(gantry__stream_owner_t){0}, COMPUTE, NULL, false),
                     GANTRY_UNAVAILABLE);
    assert_string_equal(gantry__message(), "no more queues");
    gantry__stream_deinit(&stream); /* harmless */
    close_all(&f);
}

/* Without an event, the thread waits for the whole stream: after a wait, no work is in flight. */
TEST(failing_event_slots_leave_no_work_behind) {
    static const struct {
        const char *slot;
        gantry_status_t waited, passed;
    } cases[] = {{"event_create", GANTRY_OK, GANTRY_OK},
                 {"event_record", GANTRY_OK, GANTRY_OK},
                 {"stream_wait_event", GANTRY_INTERNAL, GANTRY_OK},
                 {"event_synchronize", GANTRY_OK, GANTRY_INTERNAL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture_t f;
        open_all(&f, 0);
        fake->set_delay(0, 5);
        gantry__point_t point = fill(&f, 0, COMPUTE, 1);
        assert_true(fake->fail_calls(cases[i].slot, 1, 1, GANTRY_INTERNAL, "broken slot"));
        assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &point, 1),
                         cases[i].waited);
        if (cases[i].waited != GANTRY_OK) assert_string_equal(gantry__message(), "broken slot");
        assert_int_equal(gantry__point_wait(point), cases[i].passed);
        if (cases[i].passed != GANTRY_OK) assert_string_equal(gantry__message(), "broken slot");
        assert_int_equal(fake->waiting(0), 0);
        point = fill(&f, 0, COMPUTE, 2);
        assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &point, 1), GANTRY_OK);
        assert_int_equal(gantry__point_wait(point), GANTRY_OK);
        close_all(&f);
    }
}

TEST(memory_running_out_leaks_nothing) {
    for (long at = 0; at < 6; ++at) {
        fixture_t f;
        open_all(&f, 0);
        gantry__point_t point = fill(&f, 0, COMPUTE, 1);
        f.host.heap.inner.calls = 0;
        f.host.heap.inner.fail_at = at;
        gantry_status_t status = gantry__stream_wait_for(&f.streams[0][TO_HOST], &point, 1);
        if (status != GANTRY_OK) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(gantry__point_wait(point), GANTRY_OK);
        assert_int_equal(fake->finished(0), 1);
        f.host.heap.inner.fail_at = -1;
        assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &point, 1), GANTRY_OK);
        close_all(&f);
    }
}

TEST(failed_work_is_told_to_who_waits) {
    fixture_t f;
    open_all(&f, 0);
    assert_true(fake->fail_calls("work", 2, 1, GANTRY_INTERNAL, "the kernel died"));
    assert_int_equal(gantry__point_wait(fill(&f, 0, COMPUTE, 1)), GANTRY_OK);
    gantry__point_t failed = fill(&f, 0, COMPUTE, 2);
    assert_int_equal(gantry__point_wait(failed), GANTRY_INTERNAL);
    assert_string_equal(gantry__message(), "the kernel died");
    (void)gantry__stream_synchronize(&f.streams[0][COMPUTE]);
    assert_int_equal(gantry__point_wait(fill(&f, 0, COMPUTE, 3)), GANTRY_OK);
    close_all(&f);
}

TEST(failed_work_is_told_to_every_reader) {
    fixture_t f;
    uint32_t values[BYTES / 4];
    open_all(&f, 0);
    assert_true(fake->fail_calls("work", 2, 1, GANTRY_INTERNAL, "the kernel died"));
    gantry__point_t good = fill(&f, 0, COMPUTE, 1);
    assert_int_equal(gantry__point_wait(good), GANTRY_OK);
    gantry__point_t failed = fill(&f, 0, COMPUTE, 2);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(gantry__point_wait(failed), GANTRY_INTERNAL);
        assert_string_equal(gantry__message(), "the kernel died");
        assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &failed, 1),
                         GANTRY_INTERNAL);
    }
    assert_int_equal(gantry__point_wait(good), GANTRY_OK); /* earlier good results stay good */
    gantry__point_t later = fill(&f, 0, COMPUTE, 3);
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &later, 1), GANTRY_OK);
    assert_int_equal(gantry__point_wait(read_back(&f, 0, TO_HOST, values)), GANTRY_OK);
    expect_values(values, 3);
    close_all(&f);
}

/* The numbered pieces of work fail, and each is waited for in turn; points[i] is piece i. */
static void fail_some(fixture_t *f, gantry__point_t *points, uint32_t count, uint32_t every) {
    for (uint32_t i = 0; i < count; ++i) {
        char text[32];
        (void)snprintf(text, sizeof text, "piece %u died", i);
        if (i % every == 0) assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, text));
        points[i] = fill(f, 0, COMPUTE, i);
        assert_int_equal(gantry__point_wait(points[i]),
                         i % every == 0 ? GANTRY_INTERNAL : GANTRY_OK);
    }
}

TEST(results_between_two_failures_stay_good) {
    fixture_t f;
    gantry__point_t points[3 * GANTRY__FAILED_RANGES];
    open_all(&f, 0);
    fail_some(&f, points, 3 * GANTRY__FAILED_RANGES, 3);
    for (uint32_t i = 0; i < 3 * GANTRY__FAILED_RANGES; ++i) {
        char text[32];
        (void)snprintf(text, sizeof text, "piece %u died", i);
        assert_int_equal(gantry__point_wait(points[i]), i % 3 == 0 ? GANTRY_INTERNAL : GANTRY_OK);
        if (i % 3 == 0) assert_string_equal(gantry__message(), text);
    }
    close_all(&f);
}

TEST(more_failures_than_are_kept_apart_join_the_nearest) {
    fixture_t f;
    enum { APART = 3, FIRST = 3 * GANTRY__FAILED_RANGES };
    gantry__point_t points[FIRST], near[4];
    open_all(&f, 0);
    fail_some(&f, points, FIRST, APART);
    /* near[0] and near[2] fail: two ranges too many, with one good result between them */
    fail_some(&f, near, 4, 2);
    for (uint32_t i = 0; i < 4; ++i) {
        gantry_status_t expected = i == 3 ? GANTRY_OK : GANTRY_INTERNAL; /* near[1] may be lost */
        if (i != 1) assert_int_equal(gantry__point_wait(near[i]), expected);
    }
    uint32_t lost = gantry__point_wait(near[1]) != GANTRY_OK;
    for (uint32_t i = 0; i < FIRST; ++i) {
        gantry_status_t status = gantry__point_wait(points[i]);
        if (i % APART == 0) assert_int_equal(status, GANTRY_INTERNAL); /* every failure is kept */
        lost += i % APART != 0 && status != GANTRY_OK;
    }
    assert_in_range(lost, 2, 4); /* the good results of two gaps, and no more */
    close_all(&f);
}

TEST(failed_work_is_told_across_streams) {
    fixture_t f;
    uint32_t values[BYTES / 4];
    open_all(&f, 0);
    fake->close_gate(0, 1u << COMPUTE);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the kernel died"));
    gantry__point_t failed = fill(&f, 0, COMPUTE, 2);
    assert_int_equal(gantry__stream_wait_for(&f.streams[0][TO_HOST], &failed, 1), GANTRY_OK);
    gantry__point_t read = read_back(&f, 0, TO_HOST, values);
    fake->open_gate(0, 7);
    assert_int_equal(gantry__point_wait(read), GANTRY_INTERNAL);
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i)
        (void)gantry__stream_synchronize(&f.streams[0][i]);
    close_all(&f);
}

TEST(lost_device_ends_its_work_and_no_other) {
    fixture_t f;
    open_all(&f, 0);
    fake->close_gate(0, 7);
    gantry__point_t held = fill(&f, 0, COMPUTE, 1);
    fake->set_lost(0, 1);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(gantry__point_wait(held), GANTRY_UNAVAILABLE);
        assert_non_null(strstr(gantry__message(), "device 0 of the fake backend "));
    }
    assert_int_equal(fake->waiting(0), 0);
    assert_int_equal(gantry__point_wait(fill(&f, 1, COMPUTE, 1)), GANTRY_OK);
    close_all(&f);
}

/* ---- end ---- */

TEST(deinit_waits_for_pending_work) {
    fixture_t f;
    open_all(&f, 0);
    fake->set_delay(0, 5);
    for (uint32_t i = 0; i < 4; ++i) (void)fill(&f, 0, COMPUTE, i);
    close_all(&f);
    assert_int_equal(fake->finished(0), 4);
}

/* ---- many threads ---- */

typedef struct crowd_t {
    fixture_t *f;
    uint32_t stream;
    int rounds;
    int failures;
} crowd_t;

/* Each thread owns a quarter of the region, and works on it in turn on its stream and on the next
 * one. */
static void *work_in_turns(void *user) {
    crowd_t *self = user;
    fixture_t *f = self->f;
    for (int i = 0; i < self->rounds; ++i) {
        gantry__stream_t *first = &f->streams[0][self->stream % GANTRY__STREAMS];
        gantry__stream_t *second = &f->streams[0][(self->stream + 1) % GANTRY__STREAMS];
        gantry_span_t span = {f->regions[0], self->stream * (BYTES / 4), BYTES / 4};
        uint32_t value = self->stream * 100000u + (uint32_t)i, values[BYTES / 16];
        gantry__stream_begin(first);
        self->failures +=
            f->backend->transfer->fill(first->handle, &span, &value, sizeof value) != 0;
        gantry__point_t written = {first, gantry__stream_end(first)};
        self->failures += gantry__stream_wait_for(second, &written, 1) != GANTRY_OK;
        gantry__stream_begin(second);
        self->failures += f->backend->transfer->to_host(second->handle, values, &span) != 0;
        gantry__point_t read = {second, gantry__stream_end(second)};
        self->failures += gantry__point_wait(read) != GANTRY_OK;
        for (uint32_t k = 0; k < BYTES / 16; ++k) self->failures += values[k] != value;
    }
    return NULL;
}

TEST(many_threads_share_the_streams) {
    fixture_t f;
    open_all(&f, 0);
    pthread_t threads[4];
    crowd_t crowd[4];
    for (uint32_t i = 0; i < 4; ++i) {
        crowd[i] = (crowd_t){&f, i, 300, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work_in_turns, &crowd[i]), 0);
    }
    for (uint32_t i = 0; i < 4; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(crowd[i].failures, 0);
    }
    assert_int_equal(fake->finished(0), 4 * 300 * 2);
    close_all(&f);
}

int main(void) {
    fake = gantry_fake_control();
    return test_main();
}
