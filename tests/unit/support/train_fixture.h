/* SPDX-License-Identifier: Apache-2.0 */
/* What a test of gantry_train has: a runtime, and a heap that has nothing of the library
 * when the test ends. */
#ifndef GANTRY_TEST_TRAIN_FIXTURE_H
#define GANTRY_TEST_TRAIN_FIXTURE_H

#include "runtime_fixture.h"
#include "train_heap.h"

/* A test that needs fake GPUs defines how many. */
#ifndef TRAIN_FIXTURE_GPUS
#define TRAIN_FIXTURE_GPUS 0
#endif

static runtime_fixture_t fixture;

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, TRAIN_FIXTURE_GPUS);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

#endif
