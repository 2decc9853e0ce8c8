/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the tests of copies and staging: two fake cards and the CPU, all open, and
 * buffers of counted numbers. Header only. */
#ifndef TESTS_TRANSFER_FIXTURE_H
#define TESTS_TRANSFER_FIXTURE_H

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

static inline int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    fake->set_device_count(2);
    return 0;
}

static inline void open_all(fixture_t *t) {
    device_fixture_open(&t->f, NULL, NULL);
    assert_int_equal(gantry__device_table_freeze(&t->f.table, "this test"), GANTRY_OK);
    t->gpus[0] = device_fixture_find(&t->f, "GPU:0", NULL);
    t->gpus[1] = device_fixture_find(&t->f, "GPU:1", NULL);
    t->cpu = device_fixture_find(&t->f, "CPU:0", NULL);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(gantry__logical_device_open(t->gpus[i]), GANTRY_OK);
    assert_int_equal(gantry__logical_device_open(t->cpu), GANTRY_OK);
}

static inline gantry__buffer_t *create(gantry_logical_device_t *device, uint64_t bytes) {
    gantry__buffer_t *buffer;
    if (gantry__buffer_create(device, bytes, TO_DEVICE, "Test", &buffer) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    return buffer;
}

static inline uint32_t *numbers(uint32_t bytes, uint32_t first) {
    uint32_t *values = malloc(bytes);
    assert_non_null(values);
    for (uint32_t i = 0; i < bytes / 4; ++i) values[i] = first + i;
    return values;
}

static inline void expect_numbers(const uint32_t *values, uint32_t bytes, uint32_t first) {
    for (uint32_t i = 0; i < bytes / 4; ++i) assert_int_equal(values[i], first + i);
}

static inline void *open_gates_later(void *user) {
    (void)user;
    struct timespec time = {.tv_nsec = 20000000L};
    (void)nanosleep(&time, NULL);
    fake->open_gate(0, 7);
    return NULL;
}

#endif
