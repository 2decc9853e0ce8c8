/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Small copies pass through blocks of pinned memory (staging), which are limited in number
 * and used again.
 * Promise: Staging memory of all devices has a limit of its own, and a device's staging counts
 * against the device's limit. */
#define _XOPEN_SOURCE 700

#include "device/staging.h"
#include "test.h"
#include "transfer_fixture.h"

TEST(staging_blocks_are_used_again) {
    fixture_t t;
    gantry__point_t ready;
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint32_t *values = numbers(SMALL, 1);
    for (int i = 0; i < 300; ++i) {
        assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
        assert_int_equal(gantry__point_wait(ready), GANTRY_OK);
    }
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 1);
    free(values);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

TEST(staging_is_bounded_and_waits_for_the_oldest) {
    fixture_t t;
    gantry__point_t ready;
    pthread_t opener;
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint32_t *values = numbers(SMALL, 1);
    fake->close_gate(0, 7);
    for (int i = 0; i < GANTRY__STAGING_BLOCKS; ++i) {
        values[0] = (uint32_t)i;
        assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    }
    assert_int_equal(fake->finished(0), 0);
    assert_int_equal(pthread_create(&opener, NULL, open_gates_later, NULL), 0);
    values[0] = 4711;
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    assert_true(fake->finished(0) >= 1); /* it waited for the first block */
    assert_int_equal(pthread_join(opener, NULL), 0);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), GANTRY__STAGING_BLOCKS);
    values[0] = 0;
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
    assert_int_equal(values[0], 4711);
    free(values);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

TEST(staging_without_pinned_memory_uses_what_it_has) {
    fixture_t t;
    gantry__point_t ready;
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint32_t *values = numbers(SMALL, 1);
    assert_true(fake->fail_calls("host_alloc", 1, UINT64_MAX, GANTRY_RESOURCE_EXHAUSTED,
                                 "no pinned memory"));
    fake->set_delay(0, 2);
    /* copied straight from the caller's memory */
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    assert_int_equal(fake->waiting(0), 0);
    assert_int_equal(t.f.table.pinned_bytes, 0);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
    fake->reset();
    fake->set_device_count(2);
    open_all(&t);
    buffer = create(t.gpus[0], SMALL);
    assert_true(fake->fail_calls("host_alloc", 2, UINT64_MAX, GANTRY_RESOURCE_EXHAUSTED,
                                 "no pinned memory"));
    fake->set_delay(0, 2);
    for (int i = 0; i < 5; ++i)
        assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 1);
    free(values);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

static void open_limited(fixture_t *t, uint64_t limit_bytes) {
    device_fixture_open(&t->f, NULL, NULL);
    SPLIT(&t->f.table, "fake:0", {.memory_limit_bytes = limit_bytes});
    assert_int_equal(gantry__device_table_freeze(&t->f.table, "this test"), GANTRY_OK);
    t->gpus[0] = device_fixture_find(&t->f, "GPU:0", NULL);
    t->gpus[1] = device_fixture_find(&t->f, "GPU:1", NULL);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(gantry__logical_device_open(t->gpus[i]), GANTRY_OK);
}

static uint64_t staging_bytes(const gantry_logical_device_t *device) {
    return atomic_load(&device->staging->charged_bytes);
}

static void expect_books(const gantry_logical_device_t *device) {
    gantry__bfc_stats_t stats;
    gantry_logical_device_t *owner = device->table->logical[device->position];
    gantry__allocator_stats(&owner->allocator, &stats);
    assert_int_equal(stats.charged_bytes, staging_bytes(device));
    assert_true(stats.pool_bytes + stats.charged_bytes <= stats.bytes_limit);
}

/* More held copies than there may be blocks: the others read the caller's memory, one after the
 * other. */
static void copy_held_ones(gantry__buffer_t *buffer, int count) {
    gantry__point_t ready;
    uint32_t values[SMALL / 4] = {0};
    for (int i = 0; i < count; ++i) {
        values[0] = (uint32_t)i;
        assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    }
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
    assert_int_equal(values[0], count - 1);
}

TEST(staging_takes_a_small_part_of_a_small_device) {
    static const struct {
        uint64_t limit_kib;
        uint64_t blocks;
    } cases[] = {{512, 0}, {1024, 1}, {2048, 2}, {8192, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture_t t;
        fake->reset();
        fake->set_device_count(2);
        open_limited(&t, cases[i].limit_kib << 10);
        gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
        fake->set_delay(0, 1);
        copy_held_ones(buffer, 20);
        assert_true(fake->live(GANTRY_FAKE_HOST_BLOCK) <= cases[i].blocks);
        assert_true(staging_bytes(t.gpus[0]) <= (cases[i].limit_kib << 10) / 16);
        expect_books(t.gpus[0]);
        gantry__buffer_release(buffer);
        device_fixture_close(&t.f);
    }
}

TEST(pinned_memory_of_all_devices_has_one_bound) {
    fixture_t t;
    open_all(&t);
    t.f.table.policy.pinned_limit_bytes = 3 * GANTRY__STAGING_BLOCK_BYTES;
    gantry__buffer_t *a = create(t.gpus[0], SMALL), *b = create(t.gpus[1], SMALL);
    fake->set_delay(0, 1);
    fake->set_delay(1, 1);
    copy_held_ones(a, 10);
    copy_held_ones(b, 10);
    assert_true(fake->live(GANTRY_FAKE_HOST_BLOCK) <= 3);
    assert_int_equal(t.f.table.pinned_bytes,
                     fake->live(GANTRY_FAKE_HOST_BLOCK) * GANTRY__STAGING_BLOCK_BYTES);
    gantry__buffer_release(a);
    gantry__buffer_release(b);
    device_fixture_close(&t.f);
}

TEST(idle_staging_is_given_back_and_made_again) {
    fixture_t t;
    gantry__point_t ready;
    uint32_t values[SMALL / 4] = {7};
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint64_t reserved = staging_bytes(t.gpus[0]);
    assert_int_equal(reserved, GANTRY__STAGING_BLOCKS / 4 * GANTRY__STAGING_BLOCK_BYTES);
    for (int i = 0; i < 20; ++i) copy_held_ones(buffer, 3);
    fake->close_gate(0, 7);
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    expect_books(t.gpus[0]);
    uint64_t released = gantry__staging_release_idle(t.gpus[0]);
    /* a copy still reads that block */
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 1);
    assert_int_equal(released, reserved - GANTRY__STAGING_BLOCK_BYTES);
    expect_books(t.gpus[0]);
    fake->open_gate(0, 7);
    values[0] = 0;
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
    assert_int_equal(values[0], 7);
    assert_int_equal(gantry__staging_release_idle(t.gpus[0]), GANTRY__STAGING_BLOCK_BYTES);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 0);
    assert_int_equal(staging_bytes(t.gpus[0]) + t.f.table.pinned_bytes, 0);
    copy_held_ones(buffer, 3);
    assert_true(fake->live(GANTRY_FAKE_HOST_BLOCK) > 0);
    expect_books(t.gpus[0]);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

TEST(take_all_leaves_staging_its_part) {
    fixture_t t;
    gantry__point_t ready;
    gantry_runtime_options_t options = {.struct_size = sizeof options, .memory_growth = GANTRY_OFF};
    device_fixture_open(&t.f, NULL, &options);
    assert_int_equal(gantry__device_table_freeze(&t.f.table, "this test"), GANTRY_OK);
    t.gpus[0] = device_fixture_find(&t.f, "GPU:0", NULL);
    assert_int_equal(gantry__logical_device_open(t.gpus[0]), GANTRY_OK);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint32_t values[SMALL / 4] = {7};
    assert_int_equal(staging_bytes(t.gpus[0]),
                     GANTRY__STAGING_BLOCKS * GANTRY__STAGING_BLOCK_BYTES);
    assert_int_equal(fake->live_bytes(0) + staging_bytes(t.gpus[0]), t.gpus[0]->limit_bytes);
    fake->close_gate(0, 7);
    /* the call does not wait */
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    fake->open_gate(0, 7);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
