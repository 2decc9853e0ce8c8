/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Copies between devices make no thread wait, and respect the order of memory use.
 * Promise: Copies between parts of one card stay on the card.
 *
 * Devices 0 and 1 are parts of the first fake card, 2 is the second card. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "transfer_fixture.h"

typedef struct parts_t {
    device_fixture_t f;
    gantry_logical_device_t *gpus[3];
    gantry__buffer_t *source, *target;
} parts_t;

static void open_parts(parts_t *t) {
    static const char *const names[] = {"GPU:0", "GPU:1", "GPU:2"};
    device_fixture_open(&t->f, NULL, NULL);
    SPLIT(&t->f.table, "fake:0", {.memory_limit_bytes = 16u << 20},
          {.memory_limit_bytes = 16u << 20});
    assert_int_equal(gantry__device_table_freeze(&t->f.table, "this test"), GANTRY_OK);
    for (int i = 0; i < 3; ++i) {
        t->gpus[i] = device_fixture_find(&t->f, names[i], NULL);
        assert_int_equal(gantry__logical_device_open(t->gpus[i]), GANTRY_OK);
    }
}

/* A source on the first part, a target on gpus[to]. */
static void open_copy(parts_t *t, int to) {
    open_parts(t);
    t->source = create(t->gpus[0], SMALL);
    t->target = create(t->gpus[to], SMALL);
}

/* For loops: each round starts with new cards. */
static void open_copy_again(parts_t *t, int to) {
    fake->reset();
    fake->set_device_count(2);
    open_copy(t, to);
}

static void close_copy(parts_t *t) {
    gantry__buffer_release(t->source);
    gantry__buffer_release(t->target);
    device_fixture_close(&t->f);
}

static gantry__point_t fill(gantry__buffer_t *buffer, uint32_t stream_index, uint32_t value) {
    gantry__stream_t *stream = &buffer->device->streams[stream_index];
    gantry__stream_begin(stream);
    assert_int_equal(
        buffer->device->backend->transfer->fill(stream->handle, &buffer->span, &value, 4), 0);
    gantry__point_t point = {stream, gantry__stream_end(stream)};
    gantry__buffer_mark_use(buffer, stream_index, point.count);
    return point;
}

static void expect_filled(gantry__buffer_t *buffer, gantry__point_t ready, uint32_t value) {
    uint32_t results[SMALL / 4];
    if (gantry__copy_to_host(results, buffer, 0, SMALL, ready) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    for (uint32_t i = 0; i < SMALL / 4; ++i) assert_int_equal(results[i], value);
}

/* All streams of both cards are held. The copy is still submitted, uses no host memory, and follows
 * the source's writer. */
TEST(copies_on_the_device_wait_for_nobody) {
    for (int to = 1; to < 3; ++to) {
        parts_t t;
        gantry__point_t copied;
        open_copy_again(&t, to);
        fake->close_gate(0, 7);
        fake->close_gate(1, 7);
        gantry__point_t written = fill(t.source, COMPUTE, 4711);
        assert_int_equal(gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied),
                         GANTRY_OK);
        assert_ptr_equal(copied.stream, &t.gpus[to]->streams[TO_DEVICE]);
        assert_false(gantry__point_is_past(copied));
        assert_int_equal(fake->calls(to == 1 ? "copy" : "copy_peer"), 1);
        assert_int_equal(
            fake->calls("to_host") + fake->calls("to_device") + fake->calls("host_alloc"), 0);
        fake->open_gate(0, 7);
        fake->open_gate(1, 7);
        expect_filled(t.target, copied, 4711);
        close_copy(&t);
    }
}

/* The source is released during the held copy. Its memory passes to another buffer, which the
 * device writes at once. */
TEST(source_of_a_copy_is_reused_behind_it) {
    for (int to = 1; to < 3; ++to) {
        for (uint32_t by = COMPUTE; by <= TO_DEVICE; ++by) {
            parts_t t;
            gantry__point_t copied;
            open_copy_again(&t, to);
            gantry__point_t written = fill(t.source, COMPUTE, 1);
            uint64_t place = t.source->span.offset_bytes;
            fake->close_gate(to == 1 ? 0 : 1, 1u << TO_DEVICE);
            assert_int_equal(gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied),
                             GANTRY_OK);
            gantry__buffer_release(t.source);
            assert_int_equal(gantry__buffer_create(t.gpus[0], SMALL, by, "Test", &t.source),
                             GANTRY_OK);
            assert_int_equal(t.source->span.offset_bytes, place);
            (void)fill(t.source, by, 2);
            fake->open_gate(0, 7);
            fake->open_gate(1, 7);
            expect_filled(t.target, copied, 1);
            close_copy(&t); /* the fake backend counts unordered accesses */
        }
    }
}

/* The target is released during the held copy into it. */
TEST(target_of_a_copy_is_reused_behind_it) {
    for (int to = 1; to < 3; ++to) {
        parts_t t;
        gantry__point_t copied;
        open_copy_again(&t, to);
        gantry__point_t written = fill(t.source, COMPUTE, 1);
        uint64_t place = t.target->span.offset_bytes;
        fake->close_gate(to == 1 ? 0 : 1, 1u << TO_DEVICE);
        assert_int_equal(gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied),
                         GANTRY_OK);
        gantry__buffer_release(t.target);
        assert_int_equal(gantry__buffer_create(t.gpus[to], SMALL, COMPUTE, "Test", &t.target),
                         GANTRY_OK);
        assert_int_equal(t.target->span.offset_bytes, place);
        written = fill(t.target, COMPUTE, 2);
        fake->open_gate(0, 7);
        fake->open_gate(1, 7);
        expect_filled(t.target, written, 2);
        close_copy(&t);
    }
}

/* The target's memory has pending work of another buffer, or of its own earlier use. */
TEST(target_of_a_copy_is_free_of_former_uses) {
    for (int to = 1; to < 3; ++to) {
        for (int is_own = 0; is_own < 2; ++is_own) {
            parts_t t;
            gantry__point_t copied;
            open_copy_again(&t, to);
            gantry__point_t written = fill(t.source, TO_DEVICE, 8);
            fake->close_gate(to == 1 ? 0 : 1, 1u << COMPUTE);
            (void)fill(t.target, COMPUTE, 9);
            if (!is_own) {
                gantry__buffer_release(t.target);
                t.target = create(t.gpus[to], SMALL);
            }
            assert_int_equal(gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied),
                             GANTRY_OK);
            fake->open_gate(0, 7);
            fake->open_gate(1, 7);
            expect_filled(t.target, copied, 8);
            close_copy(&t);
        }
    }
}

TEST(missing_way_between_cards_is_found_out_once) {
    parts_t t;
    gantry__point_t copied;
    open_copy(&t, 2);
    gantry__point_t written = fill(t.source, COMPUTE, 6);
    assert_true(
        fake->fail_calls("copy_peer", 1, UINT64_MAX, GANTRY_UNIMPLEMENTED, "no peers here"));
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied),
                         GANTRY_OK);
        expect_filled(t.target, copied, 6);
    }
    assert_int_equal(fake->calls("copy_peer"), 1);
    assert_int_equal(
        log_lines_with(&t.f.log,
                       "from /physical_device:GPU:0 to /physical_device:GPU:1 go through the host",
                       "no peers here"),
        1);
    gantry__buffer_t *back = create(t.gpus[1], SMALL); /* the other direction was not queried */
    assert_int_equal(gantry__copy_across(back, t.target, 0, SMALL, copied, &copied), GANTRY_OK);
    assert_int_equal(fake->calls("copy_peer"), 2);
    gantry__buffer_release(back);
    close_copy(&t);
}

TEST(failing_copy_on_the_device_leaves_no_work_behind) {
    static const char *const slots[] = {"copy", "stream_wait_event", "event_create", "event_record",
                                        "work"};
    for (size_t i = 0; i < 2 * sizeof slots / sizeof slots[0]; ++i) {
        const char *slot = i < 2 ? (i == 0 ? "copy" : "copy_peer") : slots[i / 2];
        for (uint64_t call = 1; call <= 2; ++call) {
            parts_t t;
            gantry__point_t copied;
            open_copy_again(&t, 1 + i % 2);
            gantry__point_t written = fill(t.source, COMPUTE, 5);
            fake->set_delay(0, 3);
            assert_true(fake->fail_calls(slot, call, 1, GANTRY_INTERNAL, "broken slot"));
            gantry_status_t status =
                gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied);
            if (status != GANTRY_OK) assert_string_equal(gantry__message(), "broken slot");
            /* memory is freed and written at once: nothing of the copy may be left */
            gantry__buffer_release(t.source);
            assert_int_equal(gantry__buffer_create(t.gpus[0], SMALL, COMPUTE, "Test", &t.source),
                             GANTRY_OK);
            written = fill(t.source, COMPUTE, 6);
            (void)gantry__point_wait(written);
            /* a failure of the work itself shows here */
            (void)gantry__logical_device_synchronize(t.gpus[0]);
            (void)gantry__logical_device_synchronize(t.gpus[1 + i % 2]);
            written = fill(t.source, COMPUTE, 6);
            for (uint64_t k = 0; k < 2; ++k) /* uses up the planned failures */
                (void)gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied);
            (void)gantry__logical_device_synchronize(t.gpus[0]);
            (void)gantry__logical_device_synchronize(t.gpus[1 + i % 2]);
            written = fill(t.source, COMPUTE, 7);
            if (gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied) != GANTRY_OK)
                fail_msg("%s: %s", slot, gantry__message());
            expect_filled(t.target, copied, 7);
            close_copy(&t);
        }
    }
}

TEST(poisoned_source_is_not_copied) {
    parts_t t;
    gantry__point_t copied;
    open_copy(&t, 1);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_DATA_LOSS, "bad kernel"));
    gantry__point_t written = fill(t.source, COMPUTE, 5);
    assert_int_equal(gantry__point_wait(written), GANTRY_DATA_LOSS);
    expect_failure(gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied),
                   GANTRY_DATA_LOSS, "bad kernel");
    assert_int_equal(fake->calls("copy"), 0);
    close_copy(&t);
}

TEST(parts_of_a_synchronous_card_copy_at_once) {
    parts_t t;
    gantry__point_t copied;
    device_fixture_set_gpu(fake, 0, "", "", GANTRY_DEVICE_SYNCHRONOUS);
    open_copy(&t, 1);
    gantry__point_t written = fill(t.source, COMPUTE, 5);
    assert_int_equal(gantry__copy_across(t.target, t.source, 0, SMALL, written, &copied),
                     GANTRY_OK);
    assert_int_equal(fake->calls("copy"), 1);
    expect_filled(t.target, copied, 5);
    close_copy(&t);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
