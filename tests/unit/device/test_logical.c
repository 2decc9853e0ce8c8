/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Logical devices are opened and closed, and get regions from the driver, on the fake
 * backend.
 * Promise: gantry_runtime_synchronize asks no driver where all work is known to have ended.
 * Promise: A backend's failure without a text does not show the text of another failure. */
#define _XOPEN_SOURCE 700

#include "device_fixture.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    fake->set_device_count(2);
    return 0;
}

static gantry_logical_device_t *open_table(device_fixture_t *f) {
    device_fixture_open(f, NULL, NULL);
    assert_int_equal(gantry__device_table_freeze(&f->table, "this test"), GANTRY_OK);
    return device_fixture_find(f, "GPU:0", NULL);
}

static gantry_status_t allocate(gantry_logical_device_t *device, uint64_t bytes,
                                gantry__bfc_chunk_t **out_chunk) {
    const gantry__allocation_t request = {.bytes = bytes, .owner = "Test"};
    return gantry__allocator_allocate(&device->allocator, &request, out_chunk);
}

static gantry__bfc_chunk_t *get(gantry_logical_device_t *device, uint64_t bytes) {
    gantry__bfc_chunk_t *chunk;
    if (allocate(device, bytes, &chunk) != GANTRY_OK) fail_msg("%s", gantry__message());
    return chunk;
}

static void change_first(uint32_t flags, uint64_t largest, uint64_t alignment) {
    gantry_fake_device_t settings;
    fake->get_device(0, &settings);
    settings.flags = flags;
    settings.largest_allocation_bytes = largest;
    settings.alignment_bytes = alignment;
    fake->set_device(0, &settings);
}

/* ---- opening ---- */

TEST(device_is_opened_on_first_need_only) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    assert_int_equal(gantry__logical_device_open(device), GANTRY_OK);
    assert_int_equal(fake->calls("device_open"), 1);
    assert_int_equal(fake->calls("stream_create"), GANTRY__STREAMS);
    /* the first request takes memory */
    assert_int_equal(fake->live(GANTRY_FAKE_REGION), 0);
    assert_string_equal(device->allocator.name, "GPU_0_bfc");
    assert_int_equal(
        log_lines_with(
            &f.log, "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 64 MB memory",
            "device: fake:0, name: Fake Device 0, pci bus id: none"),
        1);
    device_fixture_close(&f);
    assert_int_equal(fake->calls("device_close"), 1);
}

TEST(failing_step_of_opening_leaves_nothing) {
    static const struct {
        const char *slot;
        uint64_t call;
    } cases[] = {
        {"device_open", 1}, {"stream_create", 1}, {"stream_create", 2}, {"stream_create", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        fake->reset();
        gantry_logical_device_t *device = open_table(&f);
        assert_true(fake->fail_calls(cases[i].slot, cases[i].call, 1, GANTRY_UNAVAILABLE,
                                     "the driver says no"));
        expect_failure(gantry__logical_device_open(device), GANTRY_UNAVAILABLE,
                       "the driver says no");
        if (i == 0)
            assert_string_equal(gantry__message(),
                                "/device:GPU:0 (fake:0) cannot be opened: the driver says no");
        assert_int_equal(fake->live(GANTRY_FAKE_DEVICE), 0);
        assert_int_equal(fake->live(GANTRY_FAKE_STREAM), 0);
        assert_int_equal(gantry__logical_device_open(device), GANTRY_OK); /* the next try works */
        device_fixture_close(&f);
    }
}

/* Each of these slots fails without a text, after another failure. */
TEST(failure_without_a_text_does_not_show_another) {
    static const char *const slots[] = {"device_open", "stream_create"};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; ++i) {
        device_fixture_t f;
        fake->reset();
        gantry_logical_device_t *device = open_table(&f);
        (void)gantry__fail(GANTRY_INTERNAL, "an older failure");
        assert_true(fake->fail_calls(slots[i], 1, 1, GANTRY_UNAVAILABLE, ""));
        expect_failure(gantry__logical_device_open(device), GANTRY_UNAVAILABLE,
                       "the backend gave no reason");
        device_fixture_close(&f);
    }
}

TEST(host_memory_running_out_while_opening_leaves_nothing) {
    for (long at = 0; at < 8; ++at) {
        device_fixture_t f;
        gantry_logical_device_t *device = open_table(&f);
        f.heap.inner.calls = 0;
        f.heap.inner.fail_at = at;
        gantry_status_t status = gantry__logical_device_open(device);
        f.heap.inner.fail_at = -1;
        if (status != GANTRY_OK) {
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            assert_int_equal(fake->live(GANTRY_FAKE_DEVICE) + fake->live(GANTRY_FAKE_STREAM), 0);
        }
        assert_int_equal(gantry__logical_device_open(device), GANTRY_OK);
        device_fixture_close(&f);
    }
}

TEST(threads_open_a_device_once) {
    device_fixture_t f;
    gantry_logical_device_t *device = open_table(&f);
    device_fixture_open_at_once(&device, 1);
    assert_int_equal(fake->calls("device_open"), 1);
    device_fixture_close(&f);
}

TEST(unlisted_view_works_by_alias) {
    device_fixture_t f;
    device_fixture_set_type(fake, 1, GANTRY_DEVICE_TYPE_CPU);
    (void)open_table(&f);
    gantry_logical_device_t *view = device_fixture_find(&f, "fake:1", NULL);
    assert_int_equal(gantry__logical_device_open(view), GANTRY_OK);
    assert_string_equal(view->allocator.name, "fake:1_bfc");
    gantry__allocator_free(&view->allocator, get(view, 1000));
    device_fixture_close(&f);
}

/* ---- regions ---- */

TEST(regions_come_from_the_driver_and_go_back) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__bfc_chunk_t *chunk = get(device, 1000);
    assert_int_equal(fake->live_bytes(0), 2 * MIB);
    assert_int_equal(fake->live_bytes(1), 0);
    gantry__allocator_free(&device->allocator, chunk);
    assert_int_equal(fake->live(GANTRY_FAKE_REGION), 1);
    device_fixture_close(&f);
}

TEST(pool_is_bounded_by_the_card) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__bfc_chunk_t *chunk;
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&device->allocator, &stats);
    assert_int_equal(stats.bytes_limit, 64 * MIB);
    expect_failure(allocate(device, 65 * MIB, &chunk), GANTRY_RESOURCE_EXHAUSTED,
                   "Allocator (GPU_0_bfc) ran out of memory");
    device_fixture_close(&f);
}

TEST(driver_with_less_than_it_said_is_tried_smaller) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    fake->set_capacity(0, 3 * MIB / 2); /* another process uses the rest */
    gantry__allocator_free(&device->allocator, get(device, MIB));
    assert_true(fake->live_bytes(0) >= MIB && fake->live_bytes(0) <= 3 * MIB / 2);
    device_fixture_close(&f);
}

TEST(largest_allocation_is_respected) {
    device_fixture_t f;
    change_first(0, 3 * MIB, 256);
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__bfc_chunk_t *chunks[8], *refused;
    for (int i = 0; i < 8; ++i) chunks[i] = get(device, 2 * MIB);
    expect_failure(allocate(device, 4 * MIB, &refused), GANTRY_RESOURCE_EXHAUSTED,
                   "ran out of memory");
    for (int i = 0; i < 8; ++i) gantry__allocator_free(&device->allocator, chunks[i]);
    device_fixture_close(&f); /* a larger region would have been a violation */
}

TEST(alignment_of_the_device_is_kept) {
    device_fixture_t f;
    change_first(0, 0, 4096);
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__bfc_chunk_t *chunks[8];
    for (int i = 0; i < 8; ++i) {
        chunks[i] = get(device, 100);
        assert_int_equal(chunks[i]->offset % 4096, 0);
    }
    for (int i = 0; i < 8; ++i) gantry__allocator_free(&device->allocator, chunks[i]);
    device_fixture_close(&f);
}

TEST(lazy_memory_is_touched_before_it_counts) {
    device_fixture_t f;
    change_first(GANTRY_DEVICE_LAZY_COMMIT, 0, 256);
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__bfc_chunk_t *chunk = get(device, 1000);
    assert_int_equal(fake->calls("fill"), 1);
    assert_int_equal(fake->finished(0), 1);
    gantry__allocator_free(&device->allocator, chunk);
    device_fixture_close(&f);
}

TEST(failing_touch_is_a_lack_of_memory) {
    static const char *const slots[] = {"fill", "work", "event_synchronize", "event_record"};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; ++i) {
        device_fixture_t f;
        gantry__bfc_chunk_t *chunk = NULL;
        fake->reset();
        change_first(GANTRY_DEVICE_LAZY_COMMIT, 0, 256);
        gantry_logical_device_t *device = device_fixture_open_gpu(&f);
        assert_true(fake->fail_calls(slots[i], 1, 100, GANTRY_INTERNAL, "no pages"));
        gantry_status_t status = allocate(device, MIB, &chunk);
        assert_int_equal(status, i == 3 ? GANTRY_OK
                                        /* without an event, the wait covers the whole stream */
                                        : GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(fake->waiting(0), 0);
        assert_int_equal(fake->live(GANTRY_FAKE_REGION), i == 3);
        if (chunk) gantry__allocator_free(&device->allocator, chunk);
        device_fixture_close(&f);
        fake_expect_nothing_lives(fake);
    }
}

TEST(host_backed_memory_asks_the_machine_first) {
    device_fixture_t f;
    gantry__bfc_chunk_t *chunk;
    change_first(GANTRY_DEVICE_HOST_BACKED, 0, 256);
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    fake->set_capacity(0, 5 * MIB);
    uint64_t asked = fake->calls("region_alloc");
    expect_failure(allocate(device, 8 * MIB, &chunk), GANTRY_RESOURCE_EXHAUSTED,
                   "ran out of memory");
    assert_int_equal(fake->calls("region_alloc"),
                     /* an allocation would succeed, and then the system would kill the process */
                     asked);
    gantry__allocator_free(&device->allocator, get(device, 2 * MIB));
    assert_true(fake->calls("memory_info") > 0);
    device_fixture_close(&f);
}

/* ---- synchronisation and loss ---- */

TEST(synchronize_tells_the_first_failure) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    assert_int_equal(gantry__logical_device_synchronize(device), GANTRY_OK);
    (void)gantry__stream_count(&device->streams[GANTRY_STREAM_COMPUTE]); /* work */
    fake->set_lost(0, 1);
    expect_failure(gantry__logical_device_synchronize(device), GANTRY_UNAVAILABLE,
                   "device 0 of the fake backend is lost");
    device_fixture_close(&f); /* a lost device is closed like any other */
}

TEST(synchronize_asks_for_outstanding_work_only) {
    device_fixture_t f;
    fake->set_device_count(2);
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_table_freeze(&f.table, "test"), GANTRY_OK);
    gantry_logical_device_t *device = device_fixture_find(&f, "GPU:0", NULL),
                            *second = device_fixture_find(&f, "GPU:1", NULL);
    assert_int_equal(gantry__logical_device_open(device), GANTRY_OK);
    assert_int_equal(gantry__logical_device_open(second), GANTRY_OK);
    gantry__stream_t *compute = &device->streams[GANTRY_STREAM_COMPUTE];
    const unsigned before = (unsigned)fake->calls("stream_synchronize");
#define EXPECT_CALLS(count)                                                  \
    assert_int_equal(gantry__logical_device_synchronize(device), GANTRY_OK); \
    assert_int_equal(fake->calls("stream_synchronize") - before, (unsigned)count)
    EXPECT_CALLS(0);
    (void)gantry__stream_count(compute); /* work on one of the streams */
    EXPECT_CALLS(1);
    EXPECT_CALLS(1);
    const gantry__point_t point = {compute, gantry__stream_count(compute)};
    assert_int_equal(gantry__point_wait(point), GANTRY_OK); /* known to have ended */
    EXPECT_CALLS(1);
    /* the failure of other work comes with its event */
    const gantry__point_t there = {&second->streams[0], gantry__stream_count(&second->streams[0])};
    assert_int_equal(gantry__stream_wait_for(compute, &there, 1), GANTRY_OK);
    EXPECT_CALLS(2);
    EXPECT_CALLS(2);
#undef EXPECT_CALLS
    device_fixture_close(&f);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
