/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A thread waits for an OpenCL device by the calls of its policy, and a driver that uses a
 * core meanwhile is found out. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gantry/runtime.h>

#include "driver/wait_policy.h"
#include "opencl/opencl_backend.h"
#include "opencl_fixture.h"
#include "test.h"

_Static_assert((int)GANTRY_WAIT_AUTO == GANTRY__WAIT_AUTO &&
                   (int)GANTRY_WAIT_SPIN == GANTRY__WAIT_SPIN &&
                   (int)GANTRY_WAIT_YIELD == GANTRY__WAIT_YIELD &&
                   (int)GANTRY_WAIT_BLOCK == GANTRY__WAIT_BLOCK &&
                   (int)GANTRY_WAIT_ADAPTIVE == GANTRY__WAIT_ADAPTIVE,
               "policies have the same numbers for programs and backends");

/* ---- a driver of the test's own ---- */

static struct {
    int waits, questions;
    int left;       /* questions until the event ends */
    cl_int status;  /* of the ended event */
    cl_int refusal; /* of clGetEventInfo */
    bool burns;     /* clWaitForEvents uses the core */
} driver;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec time;
    assert_int_equal(clock_gettime(clock, &time), 0);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events) {
    assert_int_equal(count, 1);
    assert_non_null(events);
    ++driver.waits;
    const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const struct timespec nap = {.tv_nsec = 3000000};
    while (driver.burns && clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin < UINT64_C(3000000)) {
    }
    if (!driver.burns) (void)nanosleep(&nap, NULL);
    return driver.status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info what, size_t bytes,
                                         void *out, size_t *out_bytes) {
    assert_non_null(event);
    assert_int_equal(what, CL_EVENT_COMMAND_EXECUTION_STATUS);
    assert_int_equal(bytes, sizeof(cl_int));
    assert_null(out_bytes);
    ++driver.questions;
    *(cl_int *)out = driver.left-- > 0 ? CL_RUNNING : driver.status;
    return driver.refusal;
}

static const gantry__opencl_symbols_t symbols = {.clWaitForEvents = wait_for_events,
                                                 .clGetEventInfo = get_event_info};

static cl_int wait_once(gantry__opencl_wait_t *wait, int left) {
    static int event;
    driver.waits = driver.questions = 0;
    driver.left = left;
    return gantry__opencl_wait(&symbols, wait, (cl_event)(void *)&event);
}

static void set_policy(gantry__opencl_wait_t *wait, int policy) {
    memset(wait, 0, sizeof *wait);
    memset(&driver, 0, sizeof driver);
    atomic_store(&wait->policy, policy);
}

/* ---- which calls a policy makes ---- */

TEST(auto_leaves_the_wait_to_the_driver) {
    gantry__opencl_wait_t wait;
    for (int policy = 0; policy <= GANTRY__WAIT_AUTO; ++policy) {
        set_policy(&wait, policy);
        assert_int_equal(wait_once(&wait, 5), CL_SUCCESS);
        assert_int_equal(driver.waits, 1);
        assert_int_equal(driver.questions, 0);
    }
}

TEST(spin_and_yield_only_ask) {
    gantry__opencl_wait_t wait;
    for (int policy = GANTRY__WAIT_SPIN; policy <= GANTRY__WAIT_YIELD; ++policy) {
        set_policy(&wait, policy);
        assert_int_equal(wait_once(&wait, 1000), CL_SUCCESS);
        assert_int_equal(driver.waits, 0);
        assert_int_equal(driver.questions, 1001);
    }
}

TEST(block_leaves_the_wait_to_a_driver_that_sleeps) {
    gantry__opencl_wait_t wait;
    set_policy(&wait, GANTRY__WAIT_BLOCK);
    for (int i = 0; i < 5; ++i) {
        assert_int_equal(wait_once(&wait, 5), CL_SUCCESS);
        assert_int_equal(driver.waits, 1);
        assert_int_equal(driver.questions, 0);
    }
    assert_false(atomic_load(&wait.is_burning));
}

/* On a busy machine a wait may have less than half of a core: more than one may be needed. */
TEST(block_naps_where_the_driver_uses_a_core) {
    gantry__opencl_wait_t wait;
    set_policy(&wait, GANTRY__WAIT_BLOCK);
    driver.burns = true;
    for (int i = 0; i < 300 && !atomic_load(&wait.is_burning); ++i)
        assert_int_equal(wait_once(&wait, 5), CL_SUCCESS);
    assert_true(atomic_load(&wait.is_burning));
    const uint64_t used = clock_ns(CLOCK_THREAD_CPUTIME_ID), begin = clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(wait_once(&wait, 40), CL_SUCCESS);
    assert_int_equal(driver.waits, 0);
    assert_int_equal(driver.questions, 41);
    /* 40 naps of at least 20 us */
    assert_true(clock_ns(CLOCK_MONOTONIC) - begin >= UINT64_C(800000));
    assert_true(clock_ns(CLOCK_THREAD_CPUTIME_ID) - used < clock_ns(CLOCK_MONOTONIC) - begin);
}

TEST(adaptive_asks_shortly_and_then_blocks) {
    gantry__opencl_wait_t wait;
    set_policy(&wait, GANTRY__WAIT_ADAPTIVE);
    assert_int_equal(wait_once(&wait, 0), CL_SUCCESS);
    assert_int_equal(driver.waits, 0);
    assert_int_equal(driver.questions, 1);
    assert_int_equal(wait_once(&wait, INT32_MAX), CL_SUCCESS);
    assert_int_equal(driver.waits, 1);
    assert_true(driver.questions > 0);
    /* a typical wait is now far too long to spin for */
    assert_true(atomic_load(&wait.typical_ns) >= 500000);
    atomic_store(&wait.typical_ns, 1000000000);
    assert_int_equal(wait_once(&wait, INT32_MAX), CL_SUCCESS);
    assert_int_equal(driver.waits, 1);
    assert_true(atomic_load(&wait.typical_ns) < 1000000000); /* it learns again */
}

TEST(failures_of_work_and_of_the_driver_are_told) {
    gantry__opencl_wait_t wait;
    for (int policy = 0; policy <= GANTRY__WAIT_ADAPTIVE; ++policy) {
        set_policy(&wait, policy);
        driver.status = CL_OUT_OF_RESOURCES;
        const cl_int failed = wait_once(&wait, 3);
        assert_true(failed == CL_OUT_OF_RESOURCES ||
                    failed == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        set_policy(&wait, policy);
        driver.refusal = CL_INVALID_EVENT;
        const bool asks = policy >= GANTRY__WAIT_SPIN && policy != GANTRY__WAIT_BLOCK;
        assert_int_equal(wait_once(&wait, 3), asks ? CL_INVALID_EVENT : CL_SUCCESS);
    }
}

/* ---- PoCL ---- */

TEST(pocl_devices_take_a_policy_each) {
    fixture_t fixture;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    assert_ok(
        fixture.backend->set_wait_policy(fixture.instance, fixture.index[0], GANTRY__WAIT_SPIN));
    assert_ok(fixture.backend->set_wait_policy(fixture.instance, fixture.index[1],
                                               GANTRY__WAIT_ADAPTIVE));
    assert_int_equal(fixture.backend->set_wait_policy(fixture.instance, UINT32_MAX, 1),
                     GANTRY_INVALID_ARGUMENT);
    fixture_open_devices(&fixture);
    assert_int_equal(atomic_load(&fixture.device[0]->wait.policy), GANTRY__WAIT_SPIN);
    assert_int_equal(atomic_load(&fixture.device[1]->wait.policy), GANTRY__WAIT_ADAPTIVE);
    for (int device = 0; device < 2; ++device) {
        gantry_backend_event_t *event;
        assert_ok(fixture.backend->event->create(fixture.device[device], &event));
        assert_ok(fixture.backend->event->record(event, fixture.stream[device]));
        assert_ok(fixture.backend->event->synchronize(event));
        assert_ok(fixture.backend->stream->synchronize(fixture.stream[device]));
        fixture.backend->event->destroy(event);
    }
    fixture_close(&fixture);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main();
}
