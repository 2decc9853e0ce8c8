/* SPDX-License-Identifier: Apache-2.0 */
/* The module's settings, and the values that a test reads. */
#define _POSIX_C_SOURCE 200809L
#include "fake_control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifndef GANTRY_FAKE_RANK
#define GANTRY_FAKE_RANK 50
#endif

fake_state_t gantry__fake = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER};

/* ---- defaults ---- */

static void reset_card(fake_card_t *card, uint32_t index) {
    uint64_t used = card->used_bytes; /* live objects stay */
    *card = (fake_card_t){.capacity_bytes = UINT64_MAX, .used_bytes = used};
    gantry_fake_device_t *device = &card->settings;
    device->type = GANTRY_DEVICE_TYPE_GPU;
    device->total_bytes = UINT64_C(64) << 20;
    device->alignment_bytes = 256;
    device->dtype_mask = UINT64_MAX;
    device->compute_units = 4;
    device->least_priority = 1;
    device->greatest_priority = -1;
    (void)snprintf(device->hardware_name, sizeof device->hardware_name, "Fake Device %u", index);
    (void)snprintf(device->vendor, sizeof device->vendor, "Fake Vendor");
    (void)snprintf(device->platform_name, sizeof device->platform_name, "Fake Platform");
}

static void reset_locked(void) {
    fake_state_t *fake = &gantry__fake;
    fake->ready = true;
    fake->device_count = 1;
    fake->with_kernels = true;
    fake->rank = GANTRY_FAKE_RANK;
    fake->abi_version = GANTRY_ABI_VERSION;
    fake->open_status = GANTRY_OK;
    fake->open_text[0] = '\0';
    for (uint32_t i = 0; i < GANTRY_FAKE_DEVICES; ++i) reset_card(&fake->cards[i], i);
    memset(fake->plans, 0, sizeof fake->plans);
    memset(fake->calls, 0, sizeof fake->calls);
    fake->violations = 0;
    fake->misaligned = 0;
    fake->violation[0] = '\0';
    (void)pthread_cond_broadcast(&fake->changed);
}

void gantry__fake_lock(void) {
    (void)pthread_mutex_lock(&gantry__fake.lock);
    if (!gantry__fake.ready) reset_locked();
}

void gantry__fake_unlock(void) { (void)pthread_mutex_unlock(&gantry__fake.lock); }

static void reset(void) {
    gantry__fake_lock();
    reset_locked();
    gantry__fake_unlock();
}

/* ---- settings ---- */

static void set_device_count(uint32_t count) {
    gantry__fake_lock();
    gantry__fake.device_count = count < GANTRY_FAKE_DEVICES ? count : GANTRY_FAKE_DEVICES;
    gantry__fake_unlock();
}

static void get_device(uint32_t device, gantry_fake_device_t *out_settings) {
    gantry__fake_lock();
    *out_settings = gantry__fake.cards[device % GANTRY_FAKE_DEVICES].settings;
    gantry__fake_unlock();
}

static void set_device(uint32_t device, const gantry_fake_device_t *settings) {
    gantry__fake_lock();
    gantry__fake.cards[device % GANTRY_FAKE_DEVICES].settings = *settings;
    gantry__fake_unlock();
}

static void set_kernels(int32_t enabled) {
    gantry__fake_lock();
    gantry__fake.with_kernels = enabled != 0;
    gantry__fake_unlock();
}

static void set_rank(int32_t rank) {
    gantry__fake_lock();
    gantry__fake.rank = rank;
    gantry__fake_unlock();
}

static void set_abi_version(uint32_t version) {
    gantry__fake_lock();
    gantry__fake.abi_version = version;
    gantry__fake_unlock();
}

static void set_open_result(int32_t status, const char *text) {
    gantry__fake_lock();
    gantry__fake.open_status = status;
    (void)snprintf(gantry__fake.open_text, sizeof gantry__fake.open_text, "%s", text ? text : "");
    gantry__fake_unlock();
}

/* ---- at any time ---- */

static fake_card_t *begin_card(uint32_t device) {
    gantry__fake_lock();
    return &gantry__fake.cards[device % GANTRY_FAKE_DEVICES];
}

static void end_card(void) {
    (void)pthread_cond_broadcast(&gantry__fake.changed);
    gantry__fake_unlock();
}

static void set_capacity(uint32_t device, uint64_t bytes) {
    begin_card(device)->capacity_bytes = bytes;
    end_card();
}

static void set_delay(uint32_t device, uint32_t delay_ms) {
    begin_card(device)->delay_ms = delay_ms;
    end_card();
}

static void close_gate(uint32_t device, uint32_t purposes) {
    begin_card(device)->closed_gates |= purposes;
    end_card();
}

static void open_gate(uint32_t device, uint32_t purposes) {
    begin_card(device)->closed_gates &= ~purposes;
    end_card();
}

static void let_pass(uint32_t device, uint32_t pieces) {
    begin_card(device)->permits += pieces;
    end_card();
}

static void set_lost(uint32_t device, int32_t lost) {
    begin_card(device)->lost = lost != 0;
    end_card();
}

static void set_wrong(uint32_t device, int32_t wrong) {
    begin_card(device)->wrong = wrong != 0;
    end_card();
}

/* ---- counters ---- */

static uint64_t live(gantry_fake_kind_t kind) {
    gantry__fake_lock();
    uint64_t count = (unsigned)kind < GANTRY_FAKE_KINDS ? gantry__fake.live[kind] : 0;
    gantry__fake_unlock();
    return count;
}

static uint64_t live_bytes(uint32_t device) {
    uint64_t bytes = begin_card(device)->used_bytes;
    gantry__fake_unlock();
    return bytes;
}

static uint64_t finished(uint32_t device) {
    uint64_t pieces = begin_card(device)->finished;
    gantry__fake_unlock();
    return pieces;
}

static uint64_t waiting(uint32_t device) {
    const fake_card_t *card = begin_card(device);
    uint64_t pieces = card->submitted - card->finished;
    gantry__fake_unlock();
    return pieces;
}

struct timespec gantry__fake_deadline(uint32_t ms) {
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_nsec -= 1000000000L;
        ++at.tv_sec;
    }
    return at;
}

static int32_t wait_finished(uint32_t device, uint64_t pieces, uint32_t timeout_ms) {
    struct timespec deadline = gantry__fake_deadline(timeout_ms);
    const fake_card_t *card = begin_card(device);
    int result = 0;
    while (card->finished < pieces && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&gantry__fake.changed, &gantry__fake.lock, &deadline);
    }
    int32_t reached = card->finished >= pieces;
    gantry__fake_unlock();
    return reached;
}

static uint64_t violations(void) {
    gantry__fake_lock();
    uint64_t count = gantry__fake.violations;
    gantry__fake_unlock();
    return count;
}

static void first_violation(char *out_text, uint64_t text_bytes) {
    gantry__fake_lock();
    (void)snprintf(out_text, (size_t)text_bytes, "%s", gantry__fake.violation);
    gantry__fake_unlock();
}

static uint64_t streams_with_priority(uint32_t device, int32_t priority) {
    const fake_card_t *card = begin_card(device);
    int32_t place = priority + FAKE_PRIORITIES / 2;
    uint64_t count = place >= 0 && place < FAKE_PRIORITIES ? card->prioritised[place] : 0;
    gantry__fake_unlock();
    return count;
}

static uint64_t misaligned(void) {
    gantry__fake_lock();
    uint64_t count = gantry__fake.misaligned;
    gantry__fake_unlock();
    return count;
}

static void set_watch(gantry_fake_watch_fn watch) {
    gantry__fake_lock();
    gantry__fake.watch = watch;
    gantry__fake_unlock();
}

static const gantry_fake_control_t control = {
    .struct_size = sizeof control,
    .reset = reset,
    .set_device_count = set_device_count,
    .get_device = get_device,
    .set_device = set_device,
    .set_kernels = set_kernels,
    .set_rank = set_rank,
    .set_abi_version = set_abi_version,
    .set_open_result = set_open_result,
    .set_capacity = set_capacity,
    .set_delay = set_delay,
    .close_gate = close_gate,
    .open_gate = open_gate,
    .let_pass = let_pass,
    .set_lost = set_lost,
    .set_wrong = set_wrong,
    .fail_calls = gantry__fake_fail_calls,
    .slot_count = gantry__fake_slot_count,
    .slot_name = gantry__fake_slot_name,
    .slot_can_fail = gantry__fake_slot_can_fail,
    .calls = gantry__fake_calls,
    .live = live,
    .live_bytes = live_bytes,
    .finished = finished,
    .waiting = waiting,
    .wait_finished = wait_finished,
    .violations = violations,
    .first_violation = first_violation,
    .streams_with_priority = streams_with_priority,
    .misaligned = misaligned,
    .set_watch = set_watch,
};

GANTRY_BACKEND_EXPORT const gantry_fake_control_t *gantry_fake_control(void) { return &control; }
