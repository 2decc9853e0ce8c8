/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A copy between two backends' views of one card goes through the host, block by block.
 *
 * Two backends serve the views. */
#define _XOPEN_SOURCE 700

#include "device/staging.h"
#include "test.h"
#include "transfer_fixture.h"

#define BLOCK (4u << 20) /* the pair of blocks of a copy through the host */
#define THREE_BLOCKS (2 * BLOCK + 4096)

/* gpus[0] is the view that serves the card, gpus[1] the other view. */
static void open_views(fixture_t *t) {
    fake->set_device_count(1);
    device_fixture_set_gpu(fake, 0, "0000:af:00.0", "", 0);
    device_fixture_set_gpu(other, 0, "0000:af:00.0", "", 0);
    device_fixture_open(&t->f, FAKE_FOLDER("fake") ":" FAKE_FOLDER("other"), NULL);
    assert_int_equal(gantry__device_table_freeze(&t->f.table, "this test"), GANTRY_OK);
    t->gpus[0] = device_fixture_find(&t->f, "GPU:0", NULL);
    t->gpus[1] = device_fixture_find(&t->f, "GPU:0@fake", NULL);
    assert_ptr_not_equal(t->gpus[0], t->gpus[1]);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(gantry__logical_device_open(t->gpus[i]), GANTRY_OK);
}

TEST(two_views_of_a_card_copy_through_the_host_in_blocks) {
    static const uint32_t sizes[] = {4,     SMALL,     65536,     65540,
                                     BLOCK, BLOCK + 4, 2 * BLOCK, THREE_BLOCKS};
    fixture_t t;
    open_views(&t);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        gantry__point_t ready;
        uint32_t bytes = sizes[i], blocks = (bytes + BLOCK - 1) / BLOCK;
        uint32_t *values = numbers(bytes + 64, 7);
        gantry__buffer_t *a = create(t.gpus[0], bytes + 64), *b = create(t.gpus[1], bytes),
                         *c = create(t.gpus[0], bytes);
        assert_int_equal(gantry__copy_from_host(a, values, bytes + 64, &ready), GANTRY_OK);
        uint64_t reads = other->calls("to_host"), writes = fake->calls("to_device");
        /* from the middle of the source */
        assert_int_equal(gantry__copy_across(b, a, 64, bytes, ready, &ready), GANTRY_OK);
        assert_int_equal(other->calls("to_host") - reads, blocks);
        assert_int_equal(fake->calls("to_device") - writes, blocks);
        /* and back */
        assert_int_equal(gantry__copy_across(c, b, 0, bytes, ready, &ready), GANTRY_OK);
        memset(values, 0, bytes);
        assert_int_equal(gantry__copy_to_host(values, c, 0, bytes, ready), GANTRY_OK);
        expect_numbers(values, bytes, 7 + 16);
        free(values);
        gantry__buffer_release(a);
        gantry__buffer_release(b);
        gantry__buffer_release(c);
    }
    assert_int_equal(fake->calls("copy_peer") + other->calls("copy_peer"), 0);
    device_fixture_close(&t.f);
}

typedef struct crossing_t {
    gantry__buffer_t *target, *source;
    gantry__point_t ready;
    gantry_status_t status;
} crossing_t;

static void *cross(void *user) {
    crossing_t *it = user;
    it->status =
        gantry__copy_across(it->target, it->source, 0, THREE_BLOCKS, it->ready, &it->ready);
    return NULL;
}

static void expect_arrival(crossing_t *it, uint32_t first) {
    uint32_t *values = numbers(THREE_BLOCKS, 0);
    if (it->status != GANTRY_OK) fail_msg("%s", gantry__message());
    assert_int_equal(gantry__copy_to_host(values, it->target, 0, THREE_BLOCKS, it->ready),
                     GANTRY_OK);
    expect_numbers(values, THREE_BLOCKS, first);
    free(values);
}

static crossing_t make_crossing(fixture_t *t, uint32_t first) {
    uint32_t *values = numbers(THREE_BLOCKS, first);
    crossing_t it = {.target = create(t->gpus[1], THREE_BLOCKS),
                     .source = create(t->gpus[0], THREE_BLOCKS)};
    assert_int_equal(gantry__copy_from_host(it.source, values, THREE_BLOCKS, &it.ready), GANTRY_OK);
    free(values);
    return it;
}

static void end_crossing(crossing_t *it) {
    gantry__buffer_release(it->target);
    gantry__buffer_release(it->source);
}

TEST(large_copy_pins_two_blocks_and_keeps_them) {
    fixture_t t;
    open_views(&t);
    crossing_t it = make_crossing(&t, 3);
    for (int i = 0; i < 3; ++i) {
        t.f.heap.inner.most_bytes = BLOCK - 1; /* no other memory is allocated */
        (void)cross(&it);
        t.f.heap.inner.most_bytes = 0;
        expect_arrival(&it, 3);
        assert_int_equal(fake->calls("host_alloc"), 1);
        assert_int_equal(t.f.table.pinned_bytes, 2 * BLOCK);
    }
    (void)gantry__staging_release_idle(t.gpus[1]);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 0);
    assert_int_equal(t.f.table.pinned_bytes, 0);
    (void)cross(&it);
    expect_arrival(&it, 3);
    assert_int_equal(fake->calls("host_alloc"), 2);
    end_crossing(&it);
    /* the device frees the cached blocks: the fake backend would report a leak */
    device_fixture_close(&t.f);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 0);
}

TEST(large_copy_without_pinned_memory_takes_what_there_is) {
    fixture_t t;
    open_views(&t);
    crossing_t it = make_crossing(&t, 5);
    t.f.table.policy.pinned_limit_bytes = 2 * BLOCK - 1;
    (void)cross(&it);
    expect_arrival(&it, 5);
    assert_int_equal(fake->calls("host_alloc"), 0);
    t.f.table.policy.pinned_limit_bytes = UINT64_C(1) << 30;
    assert_true(
        fake->fail_calls("host_alloc", 1, 1, GANTRY_RESOURCE_EXHAUSTED, "no pinned memory"));
    (void)cross(&it);
    expect_arrival(&it, 5);
    assert_int_equal(t.f.table.pinned_bytes, 0);
    (void)cross(&it); /* the next copy tries again */
    expect_arrival(&it, 5);
    assert_int_equal(t.f.table.pinned_bytes, 2 * BLOCK);
    end_crossing(&it);
    device_fixture_close(&t.f);
}

/* The first copy is held and owns the pair of blocks; no other copy may use or free it. */
TEST(pair_belongs_to_one_copy_at_a_time) {
    fixture_t t;
    pthread_t first, second;
    open_views(&t);
    crossing_t a = make_crossing(&t, 7), b = make_crossing(&t, 1000007);
    uint64_t before = other->finished(0);
    fake->close_gate(0, 1u << TO_DEVICE);
    assert_int_equal(pthread_create(&first, NULL, cross, &a), 0);
    assert_int_equal(other->wait_finished(0, before + 2, 20000), 1);
    assert_int_equal(pthread_create(&second, NULL, cross, &b), 0);
    assert_int_equal(other->wait_finished(0, before + 4, 20000), 1);
    (void)gantry__staging_release_idle(t.gpus[1]);
    assert_int_equal(t.f.table.pinned_bytes, 2 * BLOCK);
    fake->open_gate(0, 7);
    assert_int_equal(pthread_join(first, NULL), 0);
    assert_int_equal(pthread_join(second, NULL), 0);
    expect_arrival(&a, 7);
    expect_arrival(&b, 1000007);
    assert_int_equal(fake->calls("host_alloc"), 1);
    end_crossing(&a);
    end_crossing(&b);
    device_fixture_close(&t.f);
}

TEST(small_copy_passes_through_staging_and_is_not_waited_for) {
    fixture_t t;
    gantry__point_t ready;
    open_views(&t);
    uint32_t *values = numbers(SMALL, 9);
    gantry__buffer_t *a = create(t.gpus[0], SMALL), *b = create(t.gpus[1], SMALL);
    assert_int_equal(gantry__copy_from_host(a, values, SMALL, &ready), GANTRY_OK);
    fake->close_gate(0, 1u << TO_DEVICE);
    t.f.heap.inner.most_bytes = SMALL - 1;
    assert_int_equal(gantry__copy_across(b, a, 0, SMALL, ready, &ready), GANTRY_OK);
    t.f.heap.inner.most_bytes = 0;
    assert_true(fake->waiting(0) >= 1);
    /* one block on each device */
    assert_int_equal(t.f.table.pinned_bytes, 2 * GANTRY__STAGING_BLOCK_BYTES);
    fake->open_gate(0, 7);
    memset(values, 0, SMALL);
    assert_int_equal(gantry__copy_to_host(values, b, 0, SMALL, ready), GANTRY_OK);
    expect_numbers(values, SMALL, 9);
    free(values);
    gantry__buffer_release(a);
    gantry__buffer_release(b);
    device_fixture_close(&t.f);
}

/* The first block's write is held, and the second block is read meanwhile. The third must wait: it
 * needs the first one's memory. */
TEST(next_block_is_read_while_the_last_one_is_written) {
    fixture_t t;
    pthread_t thread;
    open_views(&t);
    uint32_t *values = numbers(THREE_BLOCKS, 3);
    crossing_t it = {.target = create(t.gpus[1], THREE_BLOCKS),
                     .source = create(t.gpus[0], THREE_BLOCKS)};
    assert_int_equal(gantry__copy_from_host(it.source, values, THREE_BLOCKS, &it.ready), GANTRY_OK);
    uint64_t before = other->finished(0), reads = other->calls("to_host");
    fake->close_gate(0, 1u << TO_DEVICE);
    assert_int_equal(pthread_create(&thread, NULL, cross, &it), 0);
    assert_int_equal(other->wait_finished(0, before + 2, 20000), 1);
    assert_int_equal(other->calls("to_host") - reads, 2);
    assert_true(fake->waiting(0) >= 1);
    fake->open_gate(0, 7);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(it.status, GANTRY_OK);
    memset(values, 0, THREE_BLOCKS);
    assert_int_equal(gantry__copy_to_host(values, it.target, 0, THREE_BLOCKS, it.ready), GANTRY_OK);
    expect_numbers(values, THREE_BLOCKS, 3);
    free(values);
    gantry__buffer_release(it.target);
    gantry__buffer_release(it.source);
    device_fixture_close(&t.f);
}

TEST(failure_between_backends_ends_the_copy_and_frees_its_blocks) {
    static const struct {
        bool at_source;
        const char *slot;
        uint64_t call;
    } cases[] = {{true, "to_host", 1},    {true, "to_host", 3},    {false, "to_device", 1},
                 {false, "to_device", 2}, {false, "to_device", 3}, {true, "work", 2},
                 {false, "work", 1},      {false, "work", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture_t t;
        open_views(&t);
        uint32_t *values = numbers(THREE_BLOCKS, 3);
        crossing_t it = {.target = create(t.gpus[1], THREE_BLOCKS),
                         .source = create(t.gpus[0], THREE_BLOCKS)};
        assert_int_equal(gantry__copy_from_host(it.source, values, THREE_BLOCKS, &it.ready),
                         GANTRY_OK);
        const gantry_fake_control_t *control = cases[i].at_source ? other : fake;
        assert_true(
            control->fail_calls(cases[i].slot, cases[i].call, 1, GANTRY_INTERNAL, "a hiccup"));
        (void)cross(&it);
        if (it.status != GANTRY_INTERNAL || !strstr(gantry__message(), "a hiccup"))
            fail_msg("case %zu: %d: %s", i, (int)it.status, gantry__message());
        assert_int_equal(fake->waiting(0), 0); /* nothing reads the blocks any more */
        free(values);
        gantry__buffer_release(it.target);
        gantry__buffer_release(it.source);
        device_fixture_close(&t.f);
        fake->reset(), other->reset();
    }
}

TEST(copy_between_backends_without_host_memory_is_refused) {
    fixture_t t;
    open_views(&t);
    crossing_t it = {.target = create(t.gpus[1], THREE_BLOCKS),
                     .source = create(t.gpus[0], THREE_BLOCKS)};
    assert_true(fake->fail_calls("host_alloc", 1, UINT64_MAX, GANTRY_RESOURCE_EXHAUSTED,
                                 "no pinned memory"));
    t.f.heap.inner.fail_at = 0;
    (void)cross(&it);
    t.f.heap.inner.fail_at = -1;
    assert_int_equal(it.status, GANTRY_RESOURCE_EXHAUSTED);
    gantry__buffer_release(it.target);
    gantry__buffer_release(it.source);
    device_fixture_close(&t.f);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
