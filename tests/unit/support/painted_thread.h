/* SPDX-License-Identifier: Apache-2.0 */
/* A thread on a small painted stack: the paint shows afterwards how much of the stack was used. A
 * guard page lies below the stack.
 *
 * One thread at a time; the memory is kept for the next one. Header only. */
#ifndef TESTS_PAINTED_THREAD_H
#define TESTS_PAINTED_THREAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define PAINTED_GUARD ((size_t)64 << 10) /* a multiple of every system's page */
#define PAINTED_BYTE 0xA5

typedef struct painted_thread_t {
    unsigned char *stack;
    size_t bytes; /* of the stack */
    size_t used;  /* used by the last body and its calls */
    /* the same, plus the thread's variables, which the system keeps at the stack's end */
    size_t taken;
    void (*body)(void *data);
    void *data;
    const unsigned char *begin;
} painted_thread_t;

static inline void painted_thread_init(painted_thread_t *thread, size_t bytes) {
    void *memory = mmap(NULL, PAINTED_GUARD + bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory, PAINTED_GUARD, PROT_NONE), 0);
    thread->stack = (unsigned char *)memory + PAINTED_GUARD;
    thread->bytes = bytes;
    memset(thread->stack, PAINTED_BYTE, bytes);
}

static inline void painted_thread_deinit(painted_thread_t *thread) {
    (void)munmap(thread->stack - PAINTED_GUARD, PAINTED_GUARD + thread->bytes);
}

static inline void *painted_thread_start(void *data) {
    painted_thread_t *thread = data;
    unsigned char here = 0;
    thread->begin = &here;
    thread->body(thread->data);
    return NULL;
}

/* Runs the body on the painted stack and waits for it; thread->used is then the stack it needed. */
static inline void painted_thread_run(painted_thread_t *thread, void (*body)(void *data),
                                      void *data) {
    pthread_attr_t attributes;
    pthread_t id;
    thread->body = body;
    thread->data = data;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, thread->stack, thread->bytes), 0);
    assert_int_equal(pthread_create(&id, &attributes, painted_thread_start, thread), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
    size_t clean = 0;
    while (clean < thread->bytes && thread->stack[clean] == PAINTED_BYTE) ++clean;
    thread->taken = thread->bytes - clean;
    thread->used = (size_t)(thread->begin - (thread->stack + clean));
    memset(thread->stack + clean, PAINTED_BYTE, thread->taken);
}

#endif
