/* Copies and staging on two fake cards and the CPU: what is waited for and what is not, and who may touch which
 * memory when. */
#define _XOPEN_SOURCE 700

#include <time.h>

#include "device_fixture.h"

#include "device/transfer.h"
#include "split_card.h"

#define COMPUTE GANTRY_STREAM_COMPUTE
#define TO_DEVICE GANTRY_STREAM_TO_DEVICE
#define TO_HOST GANTRY_STREAM_TO_HOST
#define SMALL 4096u
#define LARGE (3u << 20)

typedef struct fixture_t {
    device_fixture_t f;
    gantry_logical_device_t *gpus[2];
    gantry_logical_device_t *cpu;
} fixture_t;

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    fake->set_device_count(2);
    return 0;
}

static void open_all(fixture_t *t) {
    device_fixture_open(&t->f, NULL, NULL);
    assert_int_equal(gantry__device_table_freeze(&t->f.table, "this test"), GANTRY_OK);
    t->gpus[0] = device_fixture_find(&t->f, "GPU:0", NULL);
    t->gpus[1] = device_fixture_find(&t->f, "GPU:1", NULL);
    t->cpu = device_fixture_find(&t->f, "CPU:0", NULL);
    for (int i = 0; i < 2; ++i) assert_int_equal(gantry__logical_device_open(t->gpus[i]), GANTRY_OK);
    assert_int_equal(gantry__logical_device_open(t->cpu), GANTRY_OK);
}

static gantry__buffer_t *create(gantry_logical_device_t *device, uint64_t bytes) {
    gantry__buffer_t *buffer;
    if (gantry__buffer_create(device, bytes, TO_DEVICE, "Test", &buffer) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    return buffer;
}

static uint32_t *numbers(uint32_t bytes, uint32_t first) {
    uint32_t *values = malloc(bytes);
    assert_non_null(values);
    for (uint32_t i = 0; i < bytes / 4; ++i) values[i] = first + i;
    return values;
}

static void expect_numbers(const uint32_t *values, uint32_t bytes, uint32_t first) {
    for (uint32_t i = 0; i < bytes / 4; ++i) assert_int_equal(values[i], first + i);
}

static void *open_gates_later(void *user) {
    (void)user;
    struct timespec time = {.tv_nsec = 20000000L};
    (void)nanosleep(&time, NULL);
    fake->open_gate(0, 7);
    return NULL;
}

/* ---- host to device and back ---- */

static void small_copy_is_not_waited_for(void **state) {
    (void)state;
    fixture_t t;
    gantry__point_t ready;
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint32_t *values = numbers(SMALL, 5);
    fake->close_gate(0, 7);
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    assert_false(gantry__point_is_past(ready));
    memset(values, 0, SMALL); /* ours again at once */
    fake->open_gate(0, 7);
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
    expect_numbers(values, SMALL, 5);
    free(values);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

static void large_copy_is_waited_for(void **state) {
    (void)state;
    fixture_t t;
    gantry__point_t ready;
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], LARGE);
    uint32_t *values = numbers(LARGE, 9);
    fake->set_delay(0, 5);
    assert_int_equal(gantry__copy_from_host(buffer, values, LARGE, &ready), GANTRY_OK);
    assert_int_equal(fake->waiting(0), 0);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 0); /* straight from the caller's memory */
    memset(values, 0, LARGE);
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, LARGE, ready), GANTRY_OK);
    expect_numbers(values, LARGE, 9);
    free(values);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

static void part_of_a_buffer_is_read(void **state) {
    (void)state;
    fixture_t t;
    gantry__point_t ready;
    uint32_t part[8];
    open_all(&t);
    gantry__buffer_t *before = create(t.gpus[0], SMALL), *buffer = create(t.gpus[0], SMALL);
    uint32_t *values = numbers(SMALL, 100);
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    assert_int_equal(gantry__copy_to_host(part, buffer, 40, sizeof part, ready), GANTRY_OK);
    expect_numbers(part, sizeof part, 110);
    assert_int_equal(gantry__copy_to_host(part, buffer, SMALL, 0, ready), GANTRY_OK); /* nothing, at the end */
    free(values);
    gantry__buffer_release(before);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

static void nothing_is_copied_for_no_bytes(void **state) {
    (void)state;
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

/* ---- staging ---- */

static void staging_blocks_are_used_again(void **state) {
    (void)state;
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

static void staging_is_bounded_and_waits_for_the_oldest(void **state) {
    (void)state;
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
    assert_true(fake->finished(0) >= 1); /* it had to wait for the first block */
    assert_int_equal(pthread_join(opener, NULL), 0);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), GANTRY__STAGING_BLOCKS);
    values[0] = 0;
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
    assert_int_equal(values[0], 4711);
    free(values);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

static void staging_without_pinned_memory_uses_what_it_has(void **state) {
    (void)state;
    fixture_t t;
    gantry__point_t ready;
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint32_t *values = numbers(SMALL, 1);
    assert_true(fake->fail_calls("host_alloc", 1, UINT64_MAX, GANTRY_RESOURCE_EXHAUSTED, "no pinned memory"));
    fake->set_delay(0, 2);
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK); /* from the caller's memory */
    assert_int_equal(fake->waiting(0), 0);
    assert_int_equal(t.f.table.pinned_bytes, 0);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
    fake->reset();
    fake->set_device_count(2);
    open_all(&t);
    buffer = create(t.gpus[0], SMALL);
    assert_true(fake->fail_calls("host_alloc", 2, UINT64_MAX, GANTRY_RESOURCE_EXHAUSTED, "no pinned memory"));
    fake->set_delay(0, 2);
    for (int i = 0; i < 5; ++i) assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
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
    for (int i = 0; i < 2; ++i) assert_int_equal(gantry__logical_device_open(t->gpus[i]), GANTRY_OK);
}

static void expect_books(const gantry_logical_device_t *device) {
    gantry__bfc_stats_t stats;
    gantry_logical_device_t *owner = device->table->logical[device->position];
    gantry__allocator_stats(&owner->allocator, &stats);
    assert_int_equal(stats.charged_bytes, gantry__staging_bytes(device));
    assert_true(stats.pool_bytes + stats.charged_bytes <= stats.bytes_limit);
}

/* Held copies, more than blocks may be made: the rest goes from the caller's memory, one after the other. */
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

static void staging_takes_a_small_part_of_a_small_device(void **state) {
    (void)state;
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
        assert_true(gantry__staging_bytes(t.gpus[0]) <= (cases[i].limit_kib << 10) / 16);
        expect_books(t.gpus[0]);
        gantry__buffer_release(buffer);
        device_fixture_close(&t.f);
    }
}

static void pinned_memory_of_all_devices_has_one_bound(void **state) {
    (void)state;
    fixture_t t;
    open_all(&t);
    t.f.table.policy.pinned_limit_bytes = 3 * GANTRY__STAGING_BLOCK_BYTES;
    gantry__buffer_t *a = create(t.gpus[0], SMALL), *b = create(t.gpus[1], SMALL);
    fake->set_delay(0, 1);
    fake->set_delay(1, 1);
    copy_held_ones(a, 10);
    copy_held_ones(b, 10);
    assert_true(fake->live(GANTRY_FAKE_HOST_BLOCK) <= 3);
    assert_int_equal(t.f.table.pinned_bytes, fake->live(GANTRY_FAKE_HOST_BLOCK) * GANTRY__STAGING_BLOCK_BYTES);
    gantry__buffer_release(a);
    gantry__buffer_release(b);
    device_fixture_close(&t.f);
}

static void idle_staging_is_given_back_and_made_again(void **state) {
    (void)state;
    fixture_t t;
    gantry__point_t ready;
    uint32_t values[SMALL / 4] = {7};
    open_all(&t);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint64_t reserved = gantry__staging_bytes(t.gpus[0]);
    assert_int_equal(reserved, GANTRY__STAGING_BLOCKS / 4 * GANTRY__STAGING_BLOCK_BYTES);
    for (int i = 0; i < 20; ++i) copy_held_ones(buffer, 3);
    fake->close_gate(0, 7);
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK);
    expect_books(t.gpus[0]);
    uint64_t released = gantry__staging_release_idle(t.gpus[0]);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 1); /* work is on its way out of that one */
    assert_int_equal(released, reserved - GANTRY__STAGING_BLOCK_BYTES);
    expect_books(t.gpus[0]);
    fake->open_gate(0, 7);
    values[0] = 0;
    assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
    assert_int_equal(values[0], 7);
    assert_int_equal(gantry__staging_release_idle(t.gpus[0]), GANTRY__STAGING_BLOCK_BYTES);
    assert_int_equal(fake->live(GANTRY_FAKE_HOST_BLOCK), 0);
    assert_int_equal(gantry__staging_bytes(t.gpus[0]) + t.f.table.pinned_bytes, 0);
    copy_held_ones(buffer, 3);
    assert_true(fake->live(GANTRY_FAKE_HOST_BLOCK) > 0);
    expect_books(t.gpus[0]);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

static void take_all_leaves_staging_its_part(void **state) {
    (void)state;
    fixture_t t;
    gantry__point_t ready;
    gantry_runtime_options_t options = {.struct_size = sizeof options, .memory_growth = GANTRY_OFF};
    device_fixture_open(&t.f, NULL, &options);
    assert_int_equal(gantry__device_table_freeze(&t.f.table, "this test"), GANTRY_OK);
    t.gpus[0] = device_fixture_find(&t.f, "GPU:0", NULL);
    assert_int_equal(gantry__logical_device_open(t.gpus[0]), GANTRY_OK);
    gantry__buffer_t *buffer = create(t.gpus[0], SMALL);
    uint32_t values[SMALL / 4] = {7};
    assert_int_equal(gantry__staging_bytes(t.gpus[0]), GANTRY__STAGING_BLOCKS * GANTRY__STAGING_BLOCK_BYTES);
    assert_int_equal(fake->live_bytes(0) + gantry__staging_bytes(t.gpus[0]), t.gpus[0]->limit_bytes);
    fake->close_gate(0, 7);
    assert_int_equal(gantry__copy_from_host(buffer, values, SMALL, &ready), GANTRY_OK); /* not waited for */
    fake->open_gate(0, 7);
    gantry__buffer_release(buffer);
    device_fixture_close(&t.f);
}

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
        self->failures += gantry__copy_from_host(self->buffer, values, sizeof values, &ready) != GANTRY_OK;
        self->failures += gantry__copy_to_host(results, self->buffer, 0, sizeof results, ready) != GANTRY_OK;
        self->failures += memcmp(values, results, sizeof values) != 0;
    }
    return NULL;
}

static void threads_copy_at_the_same_time(void **state) {
    (void)state;
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

static void every_pair_of_devices_is_copied_between(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, SMALL, LARGE};
    fixture_t t;
    open_all(&t);
    gantry_logical_device_t *devices[3] = {t.gpus[0], t.gpus[1], t.cpu};
    for (int from = 0; from < 3; ++from) {
        for (int to = 0; to < 3; ++to) {
            for (int size = 0; size < 3; ++size) {
                gantry__point_t ready, copied;
                uint32_t bytes = sizes[size];
                gantry__buffer_t *source = create(devices[from], 2 * bytes), *target = create(devices[to], bytes);
                uint32_t *values = numbers(2 * bytes, 7), *results = numbers(bytes, 0);
                assert_int_equal(gantry__copy_from_host(source, values, 2 * bytes, &ready), GANTRY_OK);
                assert_int_equal(gantry__copy_across(target, source, bytes, bytes, ready, &copied), GANTRY_OK);
                assert_int_equal(gantry__copy_to_host(results, target, 0, bytes, copied), GANTRY_OK);
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

static void copy_across_waits_for_its_source(void **state) {
    (void)state;
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

/* ---- on the device's side: two parts of the first card (0, 1) and the second card (2) ---- */

typedef struct parts_t {
    device_fixture_t f;
    gantry_logical_device_t *gpus[3];
} parts_t;

static void open_parts(parts_t *t) {
    static const char *const names[] = {"GPU:0", "GPU:1", "GPU:2"};
    device_fixture_open(&t->f, NULL, NULL);
    SPLIT(&t->f.table, "fake:0", {.memory_limit_bytes = 16u << 20}, {.memory_limit_bytes = 16u << 20});
    assert_int_equal(gantry__device_table_freeze(&t->f.table, "this test"), GANTRY_OK);
    for (int i = 0; i < 3; ++i) {
        t->gpus[i] = device_fixture_find(&t->f, names[i], NULL);
        assert_int_equal(gantry__logical_device_open(t->gpus[i]), GANTRY_OK);
    }
}

static gantry__point_t fill(gantry__buffer_t *buffer, uint32_t stream_index, uint32_t value) {
    gantry__stream_t *stream = &buffer->device->streams[stream_index];
    gantry__stream_begin(stream);
    assert_int_equal(buffer->device->backend->transfer->fill(stream->handle, &buffer->span, &value, 4), 0);
    gantry__point_t point = {stream, gantry__stream_end(stream)};
    gantry__buffer_mark_use(buffer, stream_index, point.count);
    return point;
}

static void expect_filled(gantry__buffer_t *buffer, gantry__point_t ready, uint32_t value) {
    uint32_t results[SMALL / 4];
    if (gantry__copy_to_host(results, buffer, 0, SMALL, ready) != GANTRY_OK) fail_msg("%s", gantry__message());
    for (uint32_t i = 0; i < SMALL / 4; ++i) assert_int_equal(results[i], value);
}

/* All streams of both cards are held; the copy is submitted all the same, touches no host memory, and is behind the source's writer. */
static void copies_on_the_device_wait_for_nobody(void **state) {
    (void)state;
    for (int to = 1; to < 3; ++to) {
        parts_t t;
        gantry__point_t copied;
        fake->reset();
        fake->set_device_count(2);
        open_parts(&t);
        gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[to], SMALL);
        fake->close_gate(0, 7);
        fake->close_gate(1, 7);
        gantry__point_t written = fill(source, COMPUTE, 4711);
        assert_int_equal(gantry__copy_across(target, source, 0, SMALL, written, &copied), GANTRY_OK);
        assert_ptr_equal(copied.stream, &t.gpus[to]->streams[TO_DEVICE]);
        assert_false(gantry__point_is_past(copied));
        assert_int_equal(fake->calls(to == 1 ? "copy" : "copy_peer"), 1);
        assert_int_equal(fake->calls("to_host") + fake->calls("to_device") + fake->calls("host_alloc"), 0);
        fake->open_gate(0, 7);
        fake->open_gate(1, 7);
        expect_filled(target, copied, 4711);
        gantry__buffer_release(source);
        gantry__buffer_release(target);
        device_fixture_close(&t.f);
    }
}

/* The source is let go while the copy is held, and its memory belongs to another buffer that the device writes at once. */
static void source_of_a_copy_is_reused_behind_it(void **state) {
    (void)state;
    for (int to = 1; to < 3; ++to) {
        for (uint32_t by = COMPUTE; by <= TO_DEVICE; ++by) {
            parts_t t;
            gantry__point_t copied;
            gantry__buffer_t *next;
            fake->reset();
            fake->set_device_count(2);
            open_parts(&t);
            gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[to], SMALL);
            gantry__point_t written = fill(source, COMPUTE, 1);
            uint64_t place = source->span.offset_bytes;
            fake->close_gate(to == 1 ? 0 : 1, 1u << TO_DEVICE);
            assert_int_equal(gantry__copy_across(target, source, 0, SMALL, written, &copied), GANTRY_OK);
            gantry__buffer_release(source);
            assert_int_equal(gantry__buffer_create(t.gpus[0], SMALL, by, "Test", &next), GANTRY_OK);
            assert_int_equal(next->span.offset_bytes, place);
            (void)fill(next, by, 2);
            fake->open_gate(0, 7);
            fake->open_gate(1, 7);
            expect_filled(target, copied, 1);
            gantry__buffer_release(next);
            gantry__buffer_release(target);
            device_fixture_close(&t.f); /* which counts what nothing ordered */
        }
    }
}

/* The target is let go while the copy into it is held. */
static void target_of_a_copy_is_reused_behind_it(void **state) {
    (void)state;
    for (int to = 1; to < 3; ++to) {
        parts_t t;
        gantry__point_t copied;
        gantry__buffer_t *next;
        fake->reset();
        fake->set_device_count(2);
        open_parts(&t);
        gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[to], SMALL);
        gantry__point_t written = fill(source, COMPUTE, 1);
        uint64_t place = target->span.offset_bytes;
        fake->close_gate(to == 1 ? 0 : 1, 1u << TO_DEVICE);
        assert_int_equal(gantry__copy_across(target, source, 0, SMALL, written, &copied), GANTRY_OK);
        gantry__buffer_release(target);
        assert_int_equal(gantry__buffer_create(t.gpus[to], SMALL, COMPUTE, "Test", &next), GANTRY_OK);
        assert_int_equal(next->span.offset_bytes, place);
        written = fill(next, COMPUTE, 2);
        fake->open_gate(0, 7);
        fake->open_gate(1, 7);
        expect_filled(next, written, 2);
        gantry__buffer_release(next);
        gantry__buffer_release(source);
        device_fixture_close(&t.f);
    }
}

/* The target's bytes were another buffer's, or its own before, with work on them in flight. */
static void target_of_a_copy_is_free_of_former_uses(void **state) {
    (void)state;
    for (int to = 1; to < 3; ++to) {
        for (int is_own = 0; is_own < 2; ++is_own) {
            parts_t t;
            gantry__point_t copied;
            fake->reset();
            fake->set_device_count(2);
            open_parts(&t);
            gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[to], SMALL);
            gantry__point_t written = fill(source, TO_DEVICE, 8);
            fake->close_gate(to == 1 ? 0 : 1, 1u << COMPUTE);
            (void)fill(target, COMPUTE, 9);
            if (!is_own) {
                gantry__buffer_release(target);
                target = create(t.gpus[to], SMALL);
            }
            assert_int_equal(gantry__copy_across(target, source, 0, SMALL, written, &copied), GANTRY_OK);
            fake->open_gate(0, 7);
            fake->open_gate(1, 7);
            expect_filled(target, copied, 8);
            gantry__buffer_release(source);
            gantry__buffer_release(target);
            device_fixture_close(&t.f);
        }
    }
}

static void missing_way_between_cards_is_found_out_once(void **state) {
    (void)state;
    parts_t t;
    gantry__point_t copied;
    open_parts(&t);
    gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[2], SMALL);
    gantry__point_t written = fill(source, COMPUTE, 6);
    assert_true(fake->fail_calls("copy_peer", 1, UINT64_MAX, GANTRY_UNIMPLEMENTED, "no peers here"));
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(gantry__copy_across(target, source, 0, SMALL, written, &copied), GANTRY_OK);
        expect_filled(target, copied, 6);
    }
    assert_int_equal(fake->calls("copy_peer"), 1);
    assert_int_equal(
        log_lines_with(&t.f.log, "from /physical_device:GPU:0 to /physical_device:GPU:1 go through the host",
                       "no peers here"),
        1);
    gantry__buffer_t *back = create(t.gpus[1], SMALL); /* the other direction was not asked about */
    assert_int_equal(gantry__copy_across(back, target, 0, SMALL, copied, &copied), GANTRY_OK);
    assert_int_equal(fake->calls("copy_peer"), 2);
    gantry__buffer_release(back);
    gantry__buffer_release(source);
    gantry__buffer_release(target);
    device_fixture_close(&t.f);
}

static void failing_copy_on_the_device_leaves_no_work_behind(void **state) {
    (void)state;
    static const char *const slots[] = {"copy", "stream_wait_event", "event_create", "event_record", "work"};
    for (size_t i = 0; i < 2 * sizeof slots / sizeof slots[0]; ++i) {
        const char *slot = i < 2 ? (i == 0 ? "copy" : "copy_peer") : slots[i / 2];
        for (uint64_t call = 1; call <= 2; ++call) {
            parts_t t;
            gantry__point_t copied;
            fake->reset();
            fake->set_device_count(2);
            open_parts(&t);
            gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[1 + i % 2], SMALL);
            gantry__point_t written = fill(source, COMPUTE, 5);
            fake->set_delay(0, 3);
            assert_true(fake->fail_calls(slot, call, 1, GANTRY_INTERNAL, "broken slot"));
            gantry_status_t status = gantry__copy_across(target, source, 0, SMALL, written, &copied);
            if (status != GANTRY_OK) assert_string_equal(gantry__message(), "broken slot");
            gantry__buffer_release(source); /* freed and written again at once: nothing of the copy may be left */
            assert_int_equal(gantry__buffer_create(t.gpus[0], SMALL, COMPUTE, "Test", &source), GANTRY_OK);
            written = fill(source, COMPUTE, 6);
            (void)gantry__point_wait(written);
            (void)gantry__logical_device_synchronize(t.gpus[0]); /* where a failure of the work itself is met */
            (void)gantry__logical_device_synchronize(t.gpus[1 + i % 2]);
            written = fill(source, COMPUTE, 6);
            for (uint64_t k = 0; k < 2; ++k)
                (void)gantry__copy_across(target, source, 0, SMALL, written, &copied); /* takes what is planned */
            (void)gantry__logical_device_synchronize(t.gpus[0]);
            (void)gantry__logical_device_synchronize(t.gpus[1 + i % 2]);
            written = fill(source, COMPUTE, 7);
            if (gantry__copy_across(target, source, 0, SMALL, written, &copied) != GANTRY_OK)
                fail_msg("%s: %s", slot, gantry__message());
            expect_filled(target, copied, 7);
            gantry__buffer_release(source);
            gantry__buffer_release(target);
            device_fixture_close(&t.f);
        }
    }
}

static void poisoned_source_is_not_copied(void **state) {
    (void)state;
    parts_t t;
    gantry__point_t copied;
    open_parts(&t);
    gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[1], SMALL);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_DATA_LOSS, "bad kernel"));
    gantry__point_t written = fill(source, COMPUTE, 5);
    assert_int_equal(gantry__point_wait(written), GANTRY_DATA_LOSS);
    expect_failure(gantry__copy_across(target, source, 0, SMALL, written, &copied), GANTRY_DATA_LOSS, "bad kernel");
    assert_int_equal(fake->calls("copy"), 0);
    gantry__buffer_release(source);
    gantry__buffer_release(target);
    device_fixture_close(&t.f);
}

static void parts_of_a_synchronous_card_copy_at_once(void **state) {
    (void)state;
    parts_t t;
    gantry__point_t copied;
    device_fixture_set_gpu(fake, 0, "", "", GANTRY_DEVICE_SYNCHRONOUS);
    open_parts(&t);
    gantry__buffer_t *source = create(t.gpus[0], SMALL), *target = create(t.gpus[1], SMALL);
    gantry__point_t written = fill(source, COMPUTE, 5);
    assert_int_equal(gantry__copy_across(target, source, 0, SMALL, written, &copied), GANTRY_OK);
    assert_int_equal(fake->calls("copy"), 1);
    expect_filled(target, copied, 5);
    gantry__buffer_release(source);
    gantry__buffer_release(target);
    device_fixture_close(&t.f);
}

/* ---- failures ---- */

static void failing_slots_are_reported_and_leave_no_work_behind(void **state) {
    (void)state;
    static const char *const slots[] = {"to_device", "event_create", "event_record", "event_synchronize", "work"};
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
        if (bytes == LARGE)
            assert_int_equal(fake->waiting(0), 0); /* the caller's memory is the caller's again, come what may */
        (void)gantry__point_wait(ready);           /* where a small one meets its failure */
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

static void failing_read_leaves_no_work_behind(void **state) {
    (void)state;
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
        assert_int_equal(fake->waiting(0), 0); /* nobody writes to the caller's memory any more */
        if (status == GANTRY_OK) expect_numbers(values, SMALL, 3);
        assert_int_equal(gantry__copy_to_host(values, buffer, 0, SMALL, ready), GANTRY_OK);
        expect_numbers(values, SMALL, 3);
        free(values);
        gantry__buffer_release(buffer);
        device_fixture_close(&t.f);
    }
}

static void lost_device_fails_its_copies_only(void **state) {
    (void)state;
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

/* ---- between backends ---- */

#define BLOCK (4u << 20) /* of a copy through the host */
#define THREE_BLOCKS (2 * BLOCK + 4096)

/* gpus[0] is the view that serves the card, gpus[1] the other one. */
static void open_views(fixture_t *t) {
    fake->set_device_count(1);
    device_fixture_set_gpu(fake, 0, "0000:af:00.0", "", 0);
    device_fixture_set_gpu(other, 0, "0000:af:00.0", "", 0);
    device_fixture_open(&t->f, FAKE_FOLDER("fake") ":" FAKE_FOLDER("other"), NULL);
    assert_int_equal(gantry__device_table_freeze(&t->f.table, "this test"), GANTRY_OK);
    t->gpus[0] = device_fixture_find(&t->f, "GPU:0", NULL);
    t->gpus[1] = device_fixture_find(&t->f, "GPU:0@fake", NULL);
    assert_ptr_not_equal(t->gpus[0], t->gpus[1]);
    for (int i = 0; i < 2; ++i) assert_int_equal(gantry__logical_device_open(t->gpus[i]), GANTRY_OK);
}

static void two_views_of_a_card_copy_through_the_host_in_blocks(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, SMALL, 65536, 65540, BLOCK, BLOCK + 4, 2 * BLOCK, THREE_BLOCKS};
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
        assert_int_equal(gantry__copy_across(b, a, 64, bytes, ready, &ready), GANTRY_OK); /* from within the source */
        assert_int_equal(other->calls("to_host") - reads, blocks);
        assert_int_equal(fake->calls("to_device") - writes, blocks);
        assert_int_equal(gantry__copy_across(c, b, 0, bytes, ready, &ready), GANTRY_OK); /* and back */
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
    it->status = gantry__copy_across(it->target, it->source, 0, THREE_BLOCKS, it->ready, &it->ready);
    return NULL;
}

/* While the first block's writing is held back, the second one is read; the third must not be: it needs the first one's memory. */
static void next_block_is_read_while_the_last_one_is_written(void **state) {
    (void)state;
    fixture_t t;
    pthread_t thread;
    open_views(&t);
    uint32_t *values = numbers(THREE_BLOCKS, 3);
    crossing_t it = {.target = create(t.gpus[1], THREE_BLOCKS), .source = create(t.gpus[0], THREE_BLOCKS)};
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

static void failure_between_backends_ends_the_copy_and_frees_its_blocks(void **state) {
    (void)state;
    static const struct {
        bool at_source;
        const char *slot;
        uint64_t call;
    } cases[] = {{true, "to_host", 1},    {true, "to_host", 3}, {false, "to_device", 1}, {false, "to_device", 2},
                 {false, "to_device", 3}, {true, "work", 2},    {false, "work", 1},      {false, "work", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture_t t;
        open_views(&t);
        uint32_t *values = numbers(THREE_BLOCKS, 3);
        crossing_t it = {.target = create(t.gpus[1], THREE_BLOCKS), .source = create(t.gpus[0], THREE_BLOCKS)};
        assert_int_equal(gantry__copy_from_host(it.source, values, THREE_BLOCKS, &it.ready), GANTRY_OK);
        const gantry_fake_control_t *control = cases[i].at_source ? other : fake;
        assert_true(control->fail_calls(cases[i].slot, cases[i].call, 1, GANTRY_INTERNAL, "a hiccup"));
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

static void copy_between_backends_without_host_memory_is_refused(void **state) {
    (void)state;
    fixture_t t;
    open_views(&t);
    crossing_t it = {.target = create(t.gpus[1], THREE_BLOCKS), .source = create(t.gpus[0], THREE_BLOCKS)};
    t.f.heap.inner.fail_at = 0;
    (void)cross(&it);
    t.f.heap.inner.fail_at = -1;
    assert_int_equal(it.status, GANTRY_RESOURCE_EXHAUSTED);
    gantry__buffer_release(it.target);
    gantry__buffer_release(it.source);
    device_fixture_close(&t.f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, device_fixture_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(small_copy_is_not_waited_for),
        TEST(large_copy_is_waited_for),
        TEST(part_of_a_buffer_is_read),
        TEST(nothing_is_copied_for_no_bytes),
        TEST(staging_blocks_are_used_again),
        TEST(staging_is_bounded_and_waits_for_the_oldest),
        TEST(staging_without_pinned_memory_uses_what_it_has),
        TEST(staging_takes_a_small_part_of_a_small_device),
        TEST(pinned_memory_of_all_devices_has_one_bound),
        TEST(idle_staging_is_given_back_and_made_again),
        TEST(take_all_leaves_staging_its_part),
        TEST(threads_copy_at_the_same_time),
        TEST(every_pair_of_devices_is_copied_between),
        TEST(copy_across_waits_for_its_source),
        TEST(copies_on_the_device_wait_for_nobody),
        TEST(source_of_a_copy_is_reused_behind_it),
        TEST(target_of_a_copy_is_reused_behind_it),
        TEST(target_of_a_copy_is_free_of_former_uses),
        TEST(missing_way_between_cards_is_found_out_once),
        TEST(failing_copy_on_the_device_leaves_no_work_behind),
        TEST(poisoned_source_is_not_copied),
        TEST(parts_of_a_synchronous_card_copy_at_once),
        TEST(failing_slots_are_reported_and_leave_no_work_behind),
        TEST(failing_read_leaves_no_work_behind),
        TEST(lost_device_fails_its_copies_only),
        TEST(two_views_of_a_card_copy_through_the_host_in_blocks),
        TEST(next_block_is_read_while_the_last_one_is_written),
        TEST(failure_between_backends_ends_the_copy_and_frees_its_blocks),
        TEST(copy_between_backends_without_host_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
