/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: After the loss of a device, its pending work, results and variables fail with the cause.
 *
 * Placement avoids it, other devices keep working, and all its memory is freed. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "device/loss.h"
#include "device/transfer.h"
#include "runtime_fixture.h"
#include "test.h"

#define ALL_STREAMS 7u
#define GPU0_LOST \
    "/job:localhost/replica:0/task:0/device:GPU:0 was lost: device 0 of the fake backend "

static void expect_read_fails(const gantry_tensor_t *tensor, const char *text) {
    float values[64];
    char line[64];
    assert_non_null(tensor);
    assert_in_range(gantry_tensor_bytes(tensor), 1, sizeof values);
    expect_failure(gantry_tensor_read(tensor, values, gantry_tensor_bytes(tensor)),
                   GANTRY_UNAVAILABLE, text);
    expect_failure(gantry_tensor_wait(tensor), GANTRY_UNAVAILABLE, text);
    expect_failure(gantry_tensor_format(tensor, NULL, line, sizeof line, NULL), GANTRY_UNAVAILABLE,
                   text);
}

/* Loses GPU:0 and makes the runtime notice. */
static void lose_first(runtime_fixture_t *f) {
    fake->set_lost(0, 1);
    expect_failure(gantry_runtime_synchronize(f->runtime), GANTRY_UNAVAILABLE, GPU0_LOST);
}

static void expect_lost_refusal(const gantry_placement_record_t *record) {
    assert_in_range(record->refusal_count, 1, GANTRY_MAX_REFUSALS);
    assert_string_equal(record->refusals[0].device, "/job:localhost/replica:0/task:0/device:GPU:0");
    assert_int_equal(record->refusals[0].why, GANTRY_REFUSED_DEVICE_LOST);
}

/* ---- existing objects ---- */

TEST(pending_work_and_results_fail_with_the_cause) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *elsewhere = runtime_fixture_scope(&f, "GPU:1");
    gantry_scope_t *host = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2), *y = F32(elsewhere, 5, 6), *h = F32(host, 7, 8);
    const gantry_tensor_t *read = gantry_add(scope, x, x);
    EXPECT_F32(read, 2, 4);
    fake->close_gate(0, ALL_STREAMS);
    const gantry_tensor_t *pending = gantry_add(scope, x, x);
    const gantry_tensor_t *behind = gantry_mul(scope, pending, x);
    /* this op's kernel may report an error of its own */
    const gantry_tensor_t *index = gantry_gather(scope, x, I32(scope, 1), 0);
    fake->set_lost(0, 1);
    expect_read_fails(behind, GPU0_LOST);
    expect_read_fails(pending, GPU0_LOST);
    expect_read_fails(index, GPU0_LOST);
    expect_read_fails(read, GPU0_LOST); /* its memory is gone */
    expect_read_fails(x, GPU0_LOST);
    EXPECT_F32(gantry_add(elsewhere, y, y), 10, 12);
    EXPECT_F32(gantry_add(host, h, h), 14, 16);
    gantry_scope_t *scopes[] = {elsewhere, host, scope};
    for (size_t i = 0; i < 3; ++i) {
        assert_null(gantry_add(scopes[i], x, x));
        expect_scope_failure(scopes[i], GANTRY_UNAVAILABLE, GPU0_LOST);
    }
    EXPECT_F32(gantry_add(scope, y, y), 10, 12); /* the scope works again once it is cleared */
    for (size_t i = 0; i < 3; ++i) expect_ended_well(scopes[i]);
    fake->open_gate(0, ALL_STREAMS);
    runtime_fixture_close(&f);
}

TEST(loss_is_logged_once) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    lose_first(&f);
    f.log.count = 0;
    /* every time */
    expect_failure(gantry_runtime_synchronize(f.runtime), GANTRY_UNAVAILABLE, GPU0_LOST);
    expect_read_fails(x, GPU0_LOST);
    assert_false(log_lines_with(&f.log, "was lost and is not used any more", ""));
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(variables_of_a_lost_device_fail_with_the_cause) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *host = runtime_fixture_scope(&f, "CPU:0");
    gantry_variable_t *variable = gantry_variable_create(scope, F32(scope, 1, 2), "v");
    const gantry_tensor_t *h = F32(host, 1, 1);
    assert_int_equal(gantry_variable_assign_add(scope, variable, h), GANTRY_OK);
    lose_first(&f);
    assert_null(gantry_variable_read(scope, variable));
    expect_scope_failure(scope, GANTRY_UNAVAILABLE, GPU0_LOST);
    assert_int_equal(last_placement(&f).reason, GANTRY_PLACED_REFUSED);
    gantry_placement_record_t record = last_placement(&f);
    expect_lost_refusal(&record);
    assert_int_equal(gantry_variable_assign(host, variable, h), GANTRY_UNAVAILABLE);
    expect_scope_failure(host, GANTRY_UNAVAILABLE, GPU0_LOST);
    assert_int_equal(gantry_variable_assign_sub(host, variable, h), GANTRY_UNAVAILABLE);
    expect_scope_failure(host, GANTRY_UNAVAILABLE, GPU0_LOST);
    /* soft placement finds the CPU */
    gantry_variable_t *fresh = gantry_variable_create(scope, h, "w");
    assert_string_equal(gantry_logical_device_name(gantry_variable_device(fresh)), "/device:CPU:0");
    gantry_variable_release(fresh);
    gantry_variable_release(variable);
    expect_ended_well(scope);
    expect_ended_well(host);
    runtime_fixture_close(&f);
}

TEST(books_still_tell_and_everything_goes_back) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    static const float zeros[1000];
    const gantry_tensor_t *x = make_f32(scope, 1000, zeros);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    lose_first(&f);
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_in_range(info.current_bytes, 4000, 1 << 20);
    assert_int_equal(info.driver_free_bytes, 0);
    gantry_tensor_drop(scope, x);
    gantry_memory_info_t after = {.struct_size = sizeof after};
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &after), GANTRY_OK);
    assert_true(after.current_bytes < info.current_bytes);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- placement after a loss ---- */

TEST(placement_without_a_wish_passes_over_a_lost_device) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL),
                   *host = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *h = F32(host, 1, 2);
    EXPECT_F32(gantry_add(scope, h, h), 2, 4); /* this plan is cached, and must not be used again */
    assert_string_equal(last_placement(&f).device, "/job:localhost/replica:0/task:0/device:GPU:0");
    lose_first(&f);
    for (int i = 0; i < 2; ++i) {
        EXPECT_F32(gantry_add(scope, h, h), 2, 4);
        gantry_placement_record_t record = last_placement(&f);
        assert_string_equal(record.device, "/job:localhost/replica:0/task:0/device:GPU:1");
        assert_int_equal(record.reason, GANTRY_PLACED_GPU_PREFERRED);
        expect_lost_refusal(&record);
    }
    fake->set_lost(1, 1);
    /* the first lost device */
    expect_failure(gantry_runtime_synchronize(f.runtime), GANTRY_UNAVAILABLE, GPU0_LOST);
    EXPECT_F32(gantry_add(scope, h, h), 2, 4);
    assert_string_equal(last_placement(&f).device, "/job:localhost/replica:0/task:0/device:CPU:0");
    assert_int_equal(last_placement(&f).refusal_count, 2);
    expect_ended_well(scope);
    expect_ended_well(host);
    runtime_fixture_close(&f);
}

TEST(wish_for_a_lost_device_falls_back_softly_or_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                   *host = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *h = F32(host, 1, 2);
    EXPECT_F32(gantry_add(scope, h, h), 2, 4);
    lose_first(&f);
    EXPECT_F32(gantry_add(scope, h, h), 2, 4);
    gantry_placement_record_t record = last_placement(&f);
    assert_string_equal(record.device, "/job:localhost/replica:0/task:0/device:GPU:1");
    assert_int_equal(record.reason, GANTRY_PLACED_SOFT_SAME_TYPE);
    expect_lost_refusal(&record);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    for (int i = 0; i < 2; ++i) {
        assert_null(gantry_add(scope, h, h));
        assert_non_null(strstr(gantry_scope_message(scope),
                               "Device /job:localhost/replica:0/task:0/device:GPU:0 was lost: "));
        expect_scope_failure(
            scope, GANTRY_INVALID_ARGUMENT,
            "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'");
        record = last_placement(&f);
        assert_int_equal(record.reason, GANTRY_PLACED_REFUSED);
        expect_lost_refusal(&record);
    }
    expect_ended_well(scope);
    expect_ended_well(host);
    runtime_fixture_close(&f);
}

/* ---- slots that report the loss ---- */

/* Uses GPU:0 as a program does; returns the first failure. */
static gantry_status_t use_device(gantry_runtime_t *runtime) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    assert_non_null(scope);
    float values[2];
    const gantry_tensor_t *x = F32(scope, 1, 2);
    const gantry_tensor_t *taken = gantry_gather(scope, x, I32(scope, 1), 0);
    static const float zeros[100000];
    const gantry_tensor_t *large = make_f32(scope, 100000, zeros);
    const gantry_tensor_t *sum =
        gantry_add(scope,
                   gantry_matmul(scope, gantry_reshape(scope, x, GANTRY_SHAPE(1, 2)),
                                 gantry_reshape(scope, x, GANTRY_SHAPE(2, 1)), NULL),
                   taken);
    (void)large;
    gantry_status_t read = sum ? gantry_tensor_read(sum, values, sizeof *values) : GANTRY_UNKNOWN;
    gantry_status_t ended = gantry_scope_end(scope);
    return ended != GANTRY_OK ? ended : read;
}

/* Submits work that nobody waits for, so that synchronising asks the driver. */
static void leave_work(gantry_logical_device_t *device) {
    unsigned char bytes[64] = {0};
    gantry__buffer_t *buffer;
    gantry__point_t ready;
    assert_int_equal(
        gantry__buffer_create(device, sizeof bytes, GANTRY_STREAM_TO_DEVICE, "Test", &buffer),
        GANTRY_OK);
    assert_int_equal(gantry__copy_from_host(buffer, bytes, sizeof bytes, &ready), GANTRY_OK);
    gantry__buffer_release(buffer);
}

/* Each slot in turn returns Unavailable from its first call on. The core calls a second slot to
 * confirm the loss. */
TEST(every_slot_can_tell_of_the_loss) {
    static const char *const slots[] = {
        "region_alloc", "host_alloc",   "to_device",         "to_host",           "fill",
        "event_create", "event_record", "stream_wait_event", "stream_synchronize"};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; ++i) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        assert_int_equal(gantry_runtime_initialize(f.runtime), GANTRY_OK);
        gantry_logical_device_t *device = f.runtime->devices.logical[1];
        assert_int_equal(gantry__logical_device_open(device), GANTRY_OK);
        assert_true(
            fake->fail_calls(slots[i], 1, UINT64_MAX, GANTRY_UNAVAILABLE, "fell off the bus"));
        bool is_waiting = strcmp(slots[i], "stream_synchronize") == 0;
        if (!is_waiting && use_device(f.runtime) != GANTRY_UNAVAILABLE)
            fail_msg("%s: the op did not fail", slots[i]);
        if (is_waiting) leave_work(device);
        if (is_waiting) assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_UNAVAILABLE);
        if (!gantry__device_is_lost(device)) fail_msg("%s: the device is not lost", slots[i]);
        assert_string_equal(device->card->lost_text, "fell off the bus");
        assert_int_equal(use_device(f.runtime), GANTRY_OK); /* on the CPU */
        runtime_fixture_close(&f);
        fake->reset();
    }
}

TEST(kernel_that_finds_its_device_gone_loses_it) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    fake->set_lost(0, 1);
    assert_null(gantry_add(scope, x, x));
    expect_scope_failure(scope, GANTRY_UNAVAILABLE, GPU0_LOST);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(milder_failures_lose_nothing) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(use_device(f.runtime), GANTRY_OK);
    assert_true(fake->fail_calls("to_device", 1, 1, GANTRY_INTERNAL, "a hiccup"));
    assert_int_equal(use_device(f.runtime), GANTRY_INTERNAL);
    assert_false(gantry__device_is_lost(f.runtime->devices.logical[1]));
    assert_int_equal(use_device(f.runtime), GANTRY_OK);
    runtime_fixture_close(&f);
}

/* ---- other devices ---- */

static gantry_logical_device_t *open_device(device_fixture_t *f, const char *name) {
    assert_int_equal(gantry__device_table_freeze(&f->table, "test"), GANTRY_OK);
    gantry_logical_device_t *device = device_fixture_find(f, name, NULL);
    assert_non_null(device);
    assert_int_equal(gantry__logical_device_open(device), GANTRY_OK);
    return device;
}

TEST(sibling_on_the_same_card_is_lost_with_it) {
    device_fixture_t f;
    unsigned char bytes[256] = {1};
    gantry__point_t ready;
    gantry__buffer_t *buffer, *other_buffer;
    fake->set_device_count(2);
    device_fixture_open(&f, NULL, NULL);
    gantry_logical_device_t *first = open_device(&f, "GPU:0"),
                            *other_card = open_device(&f, "GPU:1");
    /* the second part of the same card */
    gantry_logical_device_t *sibling = calloc(1, sizeof *sibling);
    sibling->table = first->table;
    sibling->physical = first->physical;
    sibling->card = first->card;
    sibling->backend = first->backend;
    (void)snprintf(sibling->full_name, sizeof sibling->full_name, "the other half");
    assert_int_equal(gantry__logical_device_open(sibling), GANTRY_OK);
    assert_int_equal(
        gantry__buffer_create(sibling, sizeof bytes, GANTRY_STREAM_TO_DEVICE, "Test", &buffer),
        GANTRY_OK);
    assert_int_equal(gantry__buffer_create(other_card, sizeof bytes, GANTRY_STREAM_TO_DEVICE,
                                           "Test", &other_buffer),
                     GANTRY_OK);
    assert_int_equal(gantry__copy_from_host(buffer, bytes, sizeof bytes, &ready), GANTRY_OK);
    leave_work(first);
    fake->set_lost(0, 1);
    assert_int_equal(gantry__logical_device_synchronize(first), GANTRY_UNAVAILABLE);
    expect_failure(gantry__copy_from_host(buffer, bytes, sizeof bytes, &ready), GANTRY_UNAVAILABLE,
                   "the other half was lost: device 0");
    expect_failure(gantry__copy_to_host(bytes, buffer, 0, sizeof bytes, ready), GANTRY_UNAVAILABLE,
                   "the other half was lost: device 0");
    expect_failure(gantry__logical_device_synchronize(sibling), GANTRY_UNAVAILABLE,
                   "the other half was lost: device 0");
    assert_int_equal(gantry__copy_from_host(other_buffer, bytes, sizeof bytes, &ready), GANTRY_OK);
    assert_int_equal(gantry__copy_to_host(bytes, other_buffer, 0, sizeof bytes, ready), GANTRY_OK);
    assert_int_equal(atomic_load(&f.table.losses), 1);
    gantry__buffer_release(buffer);
    gantry__buffer_release(other_buffer);
    gantry__logical_device_close(sibling);
    free(sibling);
    device_fixture_close(&f);
}

/* A wait for another device's event reports that device's error once. The waiting device must not
 * count as lost. */
TEST(device_that_waited_for_a_lost_one_lives) {
    device_fixture_t f;
    fake->set_device_count(2);
    device_fixture_open(&f, NULL, NULL);
    gantry_logical_device_t *dying = open_device(&f, "GPU:0"), *living = open_device(&f, "GPU:1");
    gantry__stream_t *there = &dying->streams[GANTRY_STREAM_COMPUTE],
                     *here = &living->streams[GANTRY_STREAM_COMPUTE];
    gantry__buffer_t *buffers[2];
    assert_int_equal(gantry__buffer_create(dying, 64, GANTRY_STREAM_COMPUTE, "Test", &buffers[0]),
                     GANTRY_OK);
    assert_int_equal(gantry__buffer_create(living, 64, GANTRY_STREAM_COMPUTE, "Test", &buffers[1]),
                     GANTRY_OK);
    const uint32_t zero = 0;
    fake->close_gate(0, ALL_STREAMS);
    gantry__stream_begin(there);
    assert_int_equal(dying->backend->transfer->fill(there->handle, &buffers[0]->span, &zero, 4), 0);
    gantry__point_t written = {there, gantry__stream_end(there)};
    gantry__buffer_mark_use(buffers[0], GANTRY_STREAM_COMPUTE, written.count);
    assert_int_equal(gantry__stream_wait_for(here, &written, 1), GANTRY_OK);
    gantry__stream_begin(here);
    assert_int_equal(living->backend->transfer->fill(here->handle, &buffers[1]->span, &zero, 4), 0);
    gantry__point_t behind = {here, gantry__stream_end(here)};
    gantry__buffer_mark_use(buffers[1], GANTRY_STREAM_COMPUTE, behind.count);
    fake->set_lost(0, 1);
    expect_failure(gantry__point_wait(behind), GANTRY_UNAVAILABLE,
                   "device 0 of the fake backend was lost while fill was pending");
    assert_false(gantry__device_is_lost(living));
    /* the core queries that device at once, since the error may be its own */
    assert_true(gantry__device_is_lost(dying));
    expect_failure(gantry__point_wait(written), GANTRY_UNAVAILABLE, GPU0_LOST);
    assert_int_equal(gantry__stream_wait_for(here, &written, 1), GANTRY_UNAVAILABLE);
    /* only the order, not the error */
    assert_int_equal(gantry__stream_follow(here, &written, 1), GANTRY_OK);
    gantry__stream_begin(here);
    assert_int_equal(living->backend->transfer->fill(here->handle, &buffers[1]->span, &zero, 4), 0);
    gantry__point_t later = {here, gantry__stream_end(here)};
    gantry__buffer_mark_use(buffers[1], GANTRY_STREAM_COMPUTE, later.count);
    assert_int_equal(gantry__point_wait(later), GANTRY_OK);
    for (size_t i = 0; i < 2; ++i) gantry__buffer_release(buffers[i]);
    device_fixture_close(&f);
}

/* The waiting device reports the error. The failed device's driver then forgets it, and Gantry
 * keeps it for that device. */
TEST(failure_met_elsewhere_spoils_no_later_work_at_home) {
    device_fixture_t f;
    unsigned char bytes[64] = {1, 2, 3};
    gantry__point_t ready;
    fake->set_device_count(2);
    device_fixture_open(&f, NULL, NULL);
    gantry_logical_device_t *home = open_device(&f, "GPU:0"), *away = open_device(&f, "GPU:1");
    gantry__stream_t *there = &home->streams[GANTRY_STREAM_TO_DEVICE],
                     *here = &away->streams[GANTRY_STREAM_COMPUTE];
    gantry__buffer_t *buffer;
    assert_int_equal(
        gantry__buffer_create(home, sizeof bytes, GANTRY_STREAM_TO_DEVICE, "Test", &buffer),
        GANTRY_OK);
    assert_int_equal(gantry__logical_device_synchronize(home), GANTRY_OK);
    fake->close_gate(0, ALL_STREAMS);
    assert_true(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the bus is cut"));
    assert_int_equal(gantry__copy_from_host(buffer, bytes, sizeof bytes, &ready), GANTRY_OK);
    assert_ptr_equal(ready.stream, there);
    assert_int_equal(gantry__stream_wait_for(here, &ready, 1), GANTRY_OK);
    fake->open_gate(0, ALL_STREAMS);
    expect_failure(gantry__stream_synchronize(here), GANTRY_INTERNAL, "the bus is cut");
    /* Gantry keeps it for the failed device */
    expect_failure(gantry__point_wait(ready), GANTRY_INTERNAL, "the bus is cut");
    assert_int_equal(gantry__copy_from_host(buffer, bytes, sizeof bytes, &ready), GANTRY_OK);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(gantry__copy_to_host(bytes, buffer, 0, sizeof bytes, ready), GANTRY_OK);
    assert_int_equal(bytes[2], 3);
    gantry__buffer_release(buffer);
    device_fixture_close(&f);
}

/* Either card may be lost when the slot that copies from card to card fails. */
TEST(copy_between_cards_loses_the_one_that_is_gone) {
    for (uint32_t gone = 0; gone < 2; ++gone) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 2);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0"),
                       *away = runtime_fixture_scope(&f, "GPU:1");
        const gantry_tensor_t *x = F32(scope, 1, 2), *y = F32(away, 5, 6);
        assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
        fake->set_lost(gone, 1);
        assert_null(gantry_add(away, y, x)); /* x must be copied to GPU:1 */
        expect_scope_failure(away, GANTRY_UNAVAILABLE,
                             gone == 0 ? "device:GPU:0 was lost" : "device:GPU:1 was lost");
        gantry_scope_t *living = gone == 0 ? away : scope;
        const gantry_tensor_t *there = gone == 0 ? y : x;
        EXPECT_F32(gantry_sub(living, there, there), 0, 0);
        assert_string_equal(last_placement(&f).device,
                            gone == 0 ? "/job:localhost/replica:0/task:0/device:GPU:1"
                                      : "/job:localhost/replica:0/task:0/device:GPU:0");
        expect_ended_well(scope);
        expect_ended_well(away);
        runtime_fixture_close(&f);
        fake->reset();
    }
}

/* ---- threads ---- */

typedef struct user_t {
    gantry_runtime_t *runtime;
    atomic_bool *stop;
    int lost_rounds, wrong;
} user_t;

static void *keep_uploading(void *data) {
    user_t *self = data;
    static const float values[16] = {3, 1, 4};
    while (!atomic_load(self->stop) || self->lost_rounds == 0) {
        gantry_scope_t *scope = gantry_scope_begin(self->runtime, "GPU:0");
        for (int i = 0; i < 40; ++i) {
            const gantry_tensor_t *x = make_f32(scope, 16, values);
            const gantry_tensor_t *sum = gantry_add(scope, x, x);
            float got[16];
            gantry_status_t status = gantry_scope_status(scope);
            if (status == GANTRY_OK && i % 8 == 0) {
                status = gantry_tensor_read(sum, got, sizeof got);
                if (status == GANTRY_OK) self->wrong += (int)got[0] != 6 || (int)got[2] != 8;
            }
            if (status != GANTRY_OK) {
                self->wrong += status != GANTRY_UNAVAILABLE;
                ++self->lost_rounds;
                gantry_scope_clear(scope);
            }
        }
        /* the variable lives on the CPU now */
        if (atomic_load(self->stop) && self->lost_rounds == 0) self->lost_rounds = -1;
        (void)gantry_scope_end(scope);
    }
    return NULL;
}

TEST(threads_at_work_on_a_device_hear_of_its_loss) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    atomic_bool stop = false;
    user_t users[4];
    pthread_t threads[4];
    fake->close_gate(0, ALL_STREAMS);
    fake->let_pass(0, 2000); /* then every thread waits: for staging, points or memory */
    for (size_t i = 0; i < 4; ++i) {
        users[i] = (user_t){f.runtime, &stop, 0, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, keep_uploading, &users[i]), 0);
    }
    assert_true(fake->wait_finished(0, 2000, 60000));
    fake->set_lost(0, 1);
    atomic_store(&stop, true);
    int heard = 0;
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(users[i].wrong, 0);
        heard += users[i].lost_rounds > 0;
    }
    assert_true(heard > 0);
    assert_int_equal(use_device(f.runtime), GANTRY_OK);
    fake->open_gate(0, ALL_STREAMS);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
