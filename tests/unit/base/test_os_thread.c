/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A thread that Gantry starts has the stack that was wanted and receives no signals, and
 * the thread that starts it keeps its own signals.
 * Promise: Where the system refuses a thread, its stack or its attributes, the start returns the
 * system's number and keeps nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/os/thread.h"
#include "test.h"

/* The requests to the system, which refuses one of them if a test says so. */
typedef enum refusal_t { NONE, ATTRIBUTES, STACK, THREAD } refusal_t;

static refusal_t refused;
static atomic_int live_attributes;

static int init_attributes(pthread_attr_t *attributes) {
    const int code = refused == ATTRIBUTES ? ENOMEM : pthread_attr_init(attributes);
    if (code == 0) ++live_attributes;
    return code;
}

static int end_attributes(pthread_attr_t *attributes) {
    --live_attributes;
    return pthread_attr_destroy(attributes);
}

static int set_stack(pthread_attr_t *attributes, size_t bytes) {
    return refused == STACK ? EINVAL : pthread_attr_setstacksize(attributes, bytes);
}

static int create_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                         void *argument) {
    return refused == THREAD ? EAGAIN : pthread_create(thread, attributes, body, argument);
}

#define pthread_attr_init init_attributes
#define pthread_attr_destroy end_attributes
#define pthread_attr_setstacksize set_stack
#define pthread_create create_thread
#include "base/os/posix/thread.c" /* with the requests above */
#undef pthread_attr_init
#undef pthread_attr_destroy
#undef pthread_attr_setstacksize
#undef pthread_create

/* What a thread sees of itself. */
typedef struct seen_t {
    bool has_run;
    sigset_t blocked;
    size_t stack_bytes;
} seen_t;

static void *look(void *argument) {
    seen_t *seen = argument;
    pthread_attr_t own;
    seen->has_run = true;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    if (pthread_getattr_np(pthread_self(), &own) == 0) {
        (void)pthread_attr_getstacksize(&own, &seen->stack_bytes);
        (void)pthread_attr_destroy(&own);
    }
    return NULL;
}

/* This thread blocks SIGUSR2 and no other signal of these. */
static void block_one(void) {
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGUSR2);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &one, NULL), 0);
}

static void expect_one_blocked(void) {
    sigset_t now;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    assert_int_equal(sigismember(&now, SIGUSR2), 1);
    assert_int_equal(sigismember(&now, SIGUSR1), 0);
    assert_int_equal(sigismember(&now, SIGINT), 0);
}

TEST(thread_has_its_stack_and_no_signals) {
    static const int signals[] = {SIGINT, SIGTERM, SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2};
    static const size_t stacks[] = {0, (size_t)16 << 20}; /* more than systems choose */
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; ++i) {
        seen_t seen = {.has_run = false};
        gantry__thread_t thread;
        block_one();
        assert_int_equal(gantry__thread_start(&thread, stacks[i], look, &seen), 0);
        expect_one_blocked();
        gantry__thread_join(thread);
        assert_true(seen.has_run);
        for (size_t k = 0; k < sizeof signals / sizeof signals[0]; ++k)
            assert_int_equal(sigismember(&seen.blocked, signals[k]), 1);
        assert_true(seen.stack_bytes >= stacks[i]);
        assert_int_equal(live_attributes, 0);
    }
}

TEST(refused_thread_returns_the_number_and_keeps_nothing) {
    static const struct {
        refusal_t refused;
        int code;
    } cases[] = {{ATTRIBUTES, ENOMEM}, {STACK, EINVAL}, {THREAD, EAGAIN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        seen_t seen = {.has_run = false};
        gantry__thread_t thread;
        block_one();
        refused = cases[i].refused;
        const int code = gantry__thread_start(&thread, (size_t)1 << 20, look, &seen);
        refused = NONE;
        assert_int_equal(code, cases[i].code);
        assert_false(seen.has_run);
        assert_int_equal(live_attributes, 0);
        expect_one_blocked();
    }
}

int main(void) { return test_main(); }
