/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The core waits before it calls a driver that waits in copies of pageable memory, so the
 * stream's lock is free meanwhile.
 *
 * Other cards keep their order by events only. A fake card plays that driver. */
#define _XOPEN_SOURCE 700
#include <pthread.h>

#include "test.h"
#include "transfer_fixture.h"

#define PATIENCE_MS 100000 /* longer than any machine needs */

typedef struct copy_t {
    gantry__buffer_t *buffer;
    gantry__point_t ready;
    uint32_t *values;
    bool is_upload;
    gantry_status_t status;
} copy_t;

static void *run_copy(void *user) {
    copy_t *copy = user;
    if (copy->is_upload) {
        copy->status = gantry__copy_from_host(copy->buffer, copy->values, LARGE, &copy->ready);
    } else {
        copy->status = gantry__copy_to_host(copy->values, copy->buffer, 0, SMALL, copy->ready);
    }
    return NULL;
}

/* Waits until the slot was called once more. */
static void await_call(const char *slot, uint64_t before) {
    const struct timespec pause = {.tv_nsec = 1000000L};
    for (int ms = 0; ms < PATIENCE_MS && fake->calls(slot) == before; ++ms)
        (void)nanosleep(&pause, NULL);
}

/* How often the driver was called for the copy while earlier work was still running. */
static uint64_t asked_meanwhile(uint32_t flags, bool is_upload) {
    fixture_t t;
    pthread_t thread;
    const uint32_t five = 5;
    const char *slot = is_upload ? "to_device" : "to_host";
    device_fixture_set_gpu(fake, 0, "", "", flags);
    open_all(&t);
    gantry__buffer_t *former = create(t.gpus[0], LARGE);
    copy_t copy = {.buffer = former, .values = numbers(LARGE, 1), .is_upload = is_upload};
    fake->close_gate(0, 1u << COMPUTE);
    assert_int_equal(gantry__fill_from_host(former, &five, sizeof five, &copy.ready), GANTRY_OK);
    if (is_upload) {
        gantry__buffer_release(former); /* the next buffer gets its memory, which is still in use */
        copy.buffer = create(t.gpus[0], LARGE);
    }
    uint64_t asked = fake->calls(slot), waited = fake->calls("event_synchronize");
    assert_int_equal(pthread_create(&thread, NULL, run_copy, &copy), 0);
    await_call("event_synchronize", waited);
    asked = fake->calls(slot) - asked;
    fake->open_gate(0, 7);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(copy.status, GANTRY_OK);
    if (!is_upload) assert_int_equal(copy.values[0], 5);
    free(copy.values);
    gantry__buffer_release(copy.buffer);
    device_fixture_close(&t.f);
    return asked;
}

TEST(read_is_asked_for_when_its_data_is_ready) {
    assert_int_equal(asked_meanwhile(GANTRY_DEVICE_WAITS_FOR_PAGEABLE, false), 0);
}

TEST(large_upload_is_asked_for_when_its_memory_is_free) {
    assert_int_equal(asked_meanwhile(GANTRY_DEVICE_WAITS_FOR_PAGEABLE, true), 0);
}

TEST(other_cards_are_asked_at_once) {
    assert_int_equal(asked_meanwhile(0, false), 1);
    assert_int_equal(asked_meanwhile(0, true), 1);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
