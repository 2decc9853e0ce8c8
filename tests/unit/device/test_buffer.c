/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Device memory that is freed is used again only after the former owner's work, on the
 * same stream and on another one; the fake backend reports every use out of order. */
#define _XOPEN_SOURCE 700

#include "device_fixture.h"
#include "test.h"

#include "device/buffer.h"

#define COMPUTE GANTRY_STREAM_COMPUTE
#define TO_DEVICE GANTRY_STREAM_TO_DEVICE
#define TO_HOST GANTRY_STREAM_TO_HOST
#define BYTES 4096u

static gantry__buffer_t *create(gantry_logical_device_t *device, uint64_t bytes,
                                uint32_t first_stream) {
    gantry__buffer_t *buffer;
    if (gantry__buffer_create(device, bytes, first_stream, "Test", &buffer) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    return buffer;
}

/* Work on the stream that writes the whole buffer. */
static gantry__point_t fill(gantry__buffer_t *buffer, uint32_t stream, uint32_t value) {
    gantry__stream_t *self = &buffer->device->streams[stream];
    gantry__stream_begin(self);
    assert_int_equal(
        buffer->device->backend->transfer->fill(self->handle, &buffer->span, &value, sizeof value),
        0);
    uint64_t count = gantry__stream_end(self);
    gantry__buffer_mark_use(buffer, stream, count);
    return (gantry__point_t){self, count};
}

TEST(buffer_names_its_memory) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__buffer_t *buffer = create(device, 1000, COMPUTE);
    assert_int_equal(buffer->span.size_bytes, 1000);
    assert_int_equal(buffer->chunk->bytes, 1024);
    assert_null(buffer->data);
    gantry__buffer_release(gantry__buffer_retain(buffer));
    assert_true(buffer->chunk->in_use);
    gantry__buffer_release(buffer);
    gantry__buffer_release(NULL);
    device_fixture_close(&f);
}

TEST(buffer_of_addressable_device_has_an_address) {
    device_fixture_t f;
    device_fixture_set_gpu(fake, 0, "", "",
                           GANTRY_DEVICE_HOST_ADDRESSABLE | GANTRY_DEVICE_SYNCHRONOUS);
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__buffer_t *a = create(device, BYTES, COMPUTE), *b = create(device, BYTES, COMPUTE);
    assert_ptr_equal(b->data, (unsigned char *)(uintptr_t)b->span.region + b->span.offset_bytes);
    (void)fill(b, COMPUTE, 7);
    assert_int_equal(((const uint32_t *)b->data)[BYTES / 4 - 1], 7);
    gantry__buffer_release(a);
    gantry__buffer_release(b);
    device_fixture_close(&f);
}

TEST(memory_that_nobody_waits_for_is_preferred) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__buffer_t *busy = create(device, BYTES, COMPUTE),
                     *between = create(device, BYTES, COMPUTE);
    gantry__buffer_t *done = create(device, BYTES, COMPUTE),
                     *behind = create(device, BYTES, COMPUTE);
    uint64_t first = busy->span.offset_bytes, second = done->span.offset_bytes;
    assert_true(first < second);
    assert_int_equal(gantry__point_wait(fill(done, COMPUTE, 1)), GANTRY_OK);
    fake->close_gate(0, 1u << COMPUTE);
    (void)fill(busy, COMPUTE, 2);
    gantry__buffer_release(busy);
    gantry__buffer_release(done);
    /* not the lower offset: the compute stream still writes there */
    gantry__buffer_t *copied = create(device, BYTES, TO_DEVICE);
    assert_int_equal(copied->span.offset_bytes, second);
    gantry__buffer_t *computed = create(device, BYTES, COMPUTE); /* the same stream needs no wait */
    assert_int_equal(computed->span.offset_bytes, first);
    fake->open_gate(0, UINT32_MAX);
    gantry__buffer_release(copied);
    gantry__buffer_release(computed);
    gantry__buffer_release(between);
    gantry__buffer_release(behind);
    device_fixture_close(&f);
}

TEST(freed_memory_is_reused_without_waiting_on_its_stream) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    fake->close_gate(0, 7);
    gantry__buffer_t *old = create(device, BYTES, COMPUTE);
    uint64_t offset = old->span.offset_bytes;
    (void)fill(old, COMPUTE, 1);
    gantry__buffer_release(old); /* its work has not even started */
    gantry__buffer_t *next = create(device, BYTES, COMPUTE);
    assert_int_equal(next->span.offset_bytes, offset);
    (void)fill(next, COMPUTE, 2);
    assert_int_equal(fake->calls("event_record"), 0); /* the order of one stream is enough */
    gantry__buffer_release(next);
    fake->open_gate(0, 7);
    device_fixture_close(&f);
}

TEST(freed_memory_is_reused_on_another_stream_behind_its_last_use) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    fake->close_gate(0, 1u << COMPUTE);
    gantry__buffer_t *old = create(device, BYTES, COMPUTE);
    uint64_t offset = old->span.offset_bytes;
    (void)fill(old, COMPUTE, 1);
    gantry__buffer_release(old);
    gantry__buffer_t *next = create(device, BYTES, TO_DEVICE);
    assert_int_equal(next->span.offset_bytes, offset);
    gantry__point_t written = fill(next, TO_DEVICE, 2); /* would be a violation without the wait */
    /* the work's own gate is open, but it follows work behind a closed gate */
    assert_false(fake->wait_finished(0, 1, 20));
    fake->open_gate(0, 7);
    assert_int_equal(gantry__point_wait(written), GANTRY_OK);
    assert_int_equal(fake->finished(0), 2);
    gantry__buffer_release(next);
    device_fixture_close(&f);
}

TEST(former_uses_outlive_an_owner_that_did_nothing) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    fake->close_gate(0, 1u << COMPUTE);
    gantry__buffer_t *old = create(device, BYTES, COMPUTE),
                     *neighbour = create(device, BYTES, COMPUTE);
    uint64_t offset = old->span.offset_bytes;
    (void)fill(old, COMPUTE, 1);
    gantry__buffer_release(old);
    /* this buffer is created and released without work */
    gantry__buffer_t *idle = create(device, BYTES, TO_HOST);
    assert_int_equal(idle->span.offset_bytes, offset);
    gantry__buffer_release(idle);
    gantry__buffer_t *next = create(device, BYTES, TO_DEVICE);
    assert_int_equal(next->span.offset_bytes, offset);
    (void)fill(next, TO_DEVICE, 2);
    gantry__buffer_release(next);
    gantry__buffer_release(neighbour);
    fake->open_gate(0, 7);
    device_fixture_close(&f);
}

TEST(merged_memory_remembers_all_its_uses) {
    device_fixture_t f;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    fake->close_gate(0, 7);
    gantry__buffer_t *a = create(device, BYTES, COMPUTE), *b = create(device, BYTES, TO_DEVICE),
                     *c = create(device, BYTES, TO_HOST);
    (void)fill(a, COMPUTE, 1);
    (void)fill(b, TO_DEVICE, 2);
    (void)fill(c, TO_HOST, 3);
    uint64_t offset = a->span.offset_bytes;
    gantry__buffer_release(a);
    gantry__buffer_release(c);
    gantry__buffer_release(b);
    gantry__buffer_t *all = create(device, 3 * BYTES, COMPUTE); /* it covers all three */
    assert_int_equal(all->span.offset_bytes, offset);
    (void)fill(all, COMPUTE, 4);
    gantry__buffer_release(all);
    fake->open_gate(0, 7);
    device_fixture_close(&f);
}

TEST(region_with_work_in_flight_goes_back_after_it) {
    device_fixture_t f;
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .memory_limit_bytes = 4 << 20};
    device_fixture_open(&f, NULL, &options);
    assert_int_equal(gantry__device_table_freeze(&f.table, "this test"), GANTRY_OK);
    gantry_logical_device_t *device = device_fixture_find(&f, "GPU:0", NULL);
    assert_int_equal(gantry__logical_device_open(device), GANTRY_OK);
    fake->set_delay(0, 5);
    gantry__buffer_t *small = create(device, 1 << 20, COMPUTE);
    (void)fill(small, COMPUTE, 1);
    gantry__buffer_release(small);
    /* needs more room than the small one's region has */
    gantry__buffer_t *large = create(device, 4 << 20, COMPUTE);
    assert_int_equal(fake->calls("region_free"), 1);
    gantry__buffer_release(large);
    device_fixture_close(&f);
}

TEST(failing_wait_gives_the_memory_back) {
    device_fixture_t f;
    gantry__buffer_t *buffer;
    gantry_logical_device_t *device = device_fixture_open_gpu(&f);
    gantry__buffer_t *old = create(device, BYTES, COMPUTE);
    (void)fill(old, COMPUTE, 1);
    gantry__buffer_release(old);
    assert_true(fake->fail_calls("stream_wait_event", 1, 1, GANTRY_INTERNAL, "no waits"));
    expect_failure(gantry__buffer_create(device, BYTES, TO_HOST, "Test", &buffer), GANTRY_INTERNAL,
                   "no waits");
    assert_null(buffer);
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&device->allocator, &stats);
    assert_int_equal(stats.bytes_in_use, 0);
    buffer = create(device, BYTES, TO_HOST); /* the former use is still recorded */
    (void)fill(buffer, TO_HOST, 2);
    gantry__buffer_release(buffer);
    device_fixture_close(&f);
}

TEST(memory_running_out_leaks_nothing) {
    for (long at = 0; at < 4; ++at) {
        device_fixture_t f;
        gantry__buffer_t *buffer;
        gantry_logical_device_t *device = device_fixture_open_gpu(&f);
        f.heap.inner.calls = 0;
        f.heap.inner.fail_at = at;
        gantry_status_t status = gantry__buffer_create(device, BYTES, COMPUTE, "Test", &buffer);
        f.heap.inner.fail_at = -1;
        if (status == GANTRY_OK) {
            gantry__buffer_release(buffer);
        } else {
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            assert_null(buffer);
        }
        device_fixture_close(&f);
    }
}

/* ---- a random history ---- */

typedef struct history_t {
    device_fixture_t f;
    gantry_logical_device_t *device;
    uint64_t random;
} history_t;

static uint32_t draw(history_t *h, uint32_t bound) {
    h->random ^= h->random << 13;
    h->random ^= h->random >> 7;
    h->random ^= h->random << 17;
    return (uint32_t)((h->random >> 20) % bound);
}

TEST(random_buffers_on_random_streams_never_collide) {
    history_t h = {.random = UINT64_C(88172645463325252)};
    gantry__buffer_t *buffers[12] = {NULL};
    h.device = device_fixture_open_gpu(&h.f);
    for (int i = 0; i < 3000; ++i) {
        uint32_t slot = draw(&h, 12), stream = draw(&h, GANTRY__STREAMS);
        if (buffers[slot] && draw(&h, 3) == 0) {
            gantry__buffer_release(buffers[slot]);
            buffers[slot] = NULL;
        } else if (!buffers[slot]) {
            buffers[slot] = create(h.device, 256 * (1 + draw(&h, 16)), stream);
            (void)fill(buffers[slot], stream, 1);
        } else { /* another stream takes over and waits for the last use, as for a ready point */
            gantry__point_t uses[GANTRY__STREAMS];
            for (uint32_t k = 0; k < GANTRY__STREAMS; ++k) {
                uses[k] = (gantry__point_t){&h.device->streams[k],
                                            atomic_load(&buffers[slot]->last_use[k])};
            }
            assert_int_equal(
                gantry__stream_wait_for(&h.device->streams[stream], uses, GANTRY__STREAMS),
                GANTRY_OK);
            (void)fill(buffers[slot], stream, 2);
        }
        if (draw(&h, 500) == 0)
            assert_int_equal(gantry__logical_device_synchronize(h.device), GANTRY_OK);
    }
    for (int i = 0; i < 12; ++i) gantry__buffer_release(buffers[i]);
    device_fixture_close(&h.f);
}

int main(void) { return test_main_each(device_fixture_set_up, device_fixture_tear_down); }
