/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a context, a stream and memory on the first card of the stand-in for NVIDIA's
 * driver, and a runtime over them; for tests on a machine of cuda_machine.h. Header only. */
#ifndef TESTS_CUDA_DOOR_H
#define TESTS_CUDA_DOOR_H

#include <sched.h>
#include <stdatomic.h>

#include "cuda_caller.h"
#include "cuda_machine.h"

#define WORDS 256
#define BYTES (WORDS * sizeof(float))
#define TWO 0x40000000u   /* the bits of 2.0f */
#define THREE 0x40400000u /* of 3.0f */

/* A program with a context on the first card, and a runtime over it. */
typedef struct door_t {
    machine_t *m;
    cuda_caller_t c;
    void *queue;
    gantry_adopted_context_t adopted;
    const gantry_adopted_context_t *list[2];
    const gantry_logical_device_t *gpu;
    gantry_scope_t *scope;
    atomic_int released, gate;
} door_t;

static inline void begin_program(door_t *d, machine_t *m) {
    memset(d, 0, sizeof *d);
    d->m = m;
    cuda_caller_open(&d->c);
    d->c.context = cuda_caller_make_context(&d->c, 0);
    d->queue = cuda_caller_make_stream(&d->c);
    EXPECT(d->c.context && d->queue, "no context or stream");
    d->adopted = (gantry_adopted_context_t){.struct_size = sizeof d->adopted,
                                            .backend = "cuda",
                                            .context = d->c.context,
                                            .queue = d->queue};
    d->list[0] = &d->adopted;
    m->options.adopted = d->list;
    m->options.adopted_count = 1;
}

static inline void open_runtime(door_t *d) {
    machine_open(d->m);
    EXPECT(gantry_find_logical_device(d->m->runtime, "GPU:0", &d->gpu) == GANTRY_OK, "%s",
           gantry_last_message());
    d->scope = gantry_scope_begin(d->m->runtime, "/GPU:0");
}

static inline void open_door(door_t *d, machine_t *m) {
    begin_program(d, m);
    open_runtime(d);
}

/* With another stream of the program, or without one. */
static inline void open_door_with(door_t *d, machine_t *m, void *queue) {
    begin_program(d, m);
    d->adopted.queue = queue;
    open_runtime(d);
}

static inline void close_runtime(door_t *d) {
    char text[256] = "";
    if (d->scope) (void)gantry_scope_end(d->scope);
    d->scope = NULL;
    machine_close(d->m);
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind)
        EXPECT(d->c.control->live(kind) == d->c.control->live_of_program(kind),
               "kind %d: %ld live, %ld of the program", kind, d->c.control->live(kind),
               d->c.control->live_of_program(kind));
    EXPECT(d->c.control->complaints(text, sizeof text) == 0, "%s", text);
}

/* Everything of the program is still there. */
static inline void end_program(door_t *d) {
    EXPECT(cuda_caller_end_stream(&d->c, d->queue) == 0, "the stream is gone");
    EXPECT(cuda_caller_end_context(&d->c, d->c.context) == 0, "the context is gone");
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        EXPECT(d->c.control->live(kind) == 0, "kind %d lives", kind);
        EXPECT(d->c.control->abandoned(kind) == 0, "kind %d ended with its context", kind);
    }
}

static inline void close_door(door_t *d) {
    close_runtime(d);
    end_program(d);
}

static inline void expect_well(const door_t *d) {
    EXPECT(gantry_scope_status(d->scope) == GANTRY_OK, "%s", gantry_scope_message(d->scope));
}

static inline void expect_failure(const door_t *d, gantry_status_t status, const char *part) {
    EXPECT(gantry_scope_status(d->scope) == status, "%s: %s",
           gantry_status_name(gantry_scope_status(d->scope)), gantry_scope_message(d->scope));
    EXPECT_TEXT(gantry_scope_message(d->scope), part);
    gantry_scope_clear(d->scope);
}

static inline void count_release(void *user) { atomic_fetch_add(&((door_t *)user)->released, 1); }

static inline const gantry_tensor_t *adopt(door_t *d, uint64_t memory, void *ready) {
    const gantry_from_device_memory_options_t options = {
        .struct_size = sizeof options, .ready_event = ready, .release = count_release, .user = d};
    return gantry_tensor_from_device_memory(d->scope, d->gpu, GANTRY_FLOAT32, GANTRY_SHAPE(WORDS),
                                            (void *)(uintptr_t)memory, 0, &options);
}

static inline uint64_t address_of(const gantry_tensor_t *tensor) {
    gantry_device_memory_t at = {.struct_size = sizeof at};
    EXPECT(gantry_tensor_get_device_memory(tensor, &at) == GANTRY_OK, "%s", gantry_last_message());
    return (uint64_t)(uintptr_t)at.memory + at.offset_bytes;
}

static inline void wait_for_gate(void *gate) {
    while (!atomic_load((atomic_int *)gate)) (void)sched_yield();
}

/* Later work of the stream waits until the gate is 1. */
static inline void shut_gate(door_t *d, void *stream) {
    int code;
    atomic_store(&d->gate, 0);
    CUDA_CALLER(&d->c, code, d->c.cuLaunchHostFunc(stream, wait_for_gate, &d->gate));
    EXPECT(code == 0, "code %d", code);
}

static inline void lift_gate(door_t *d) { atomic_store(&d->gate, 1); }

static inline void copy(const door_t *d, void *stream, uint64_t to, uint64_t from) {
    int code;
    CUDA_CALLER(&d->c, code, d->c.cuMemcpyDtoDAsync_v2(to, from, BYTES, stream));
    EXPECT(code == 0, "code %d", code);
}

static inline void wait_in(const door_t *d, void *stream, void *event) {
    int code;
    CUDA_CALLER(&d->c, code, d->c.cuStreamWaitEvent(stream, event, 0));
    EXPECT(code == 0, "code %d", code);
}

static inline void expect_content(const door_t *d, void *stream, uint64_t memory, float wanted) {
    float got[WORDS] = {0};
    EXPECT(cuda_caller_read(&d->c, stream, got, memory, BYTES) == 0, "not read");
    EXPECT(got[0] >= wanted && got[0] <= wanted && got[WORDS - 1] >= wanted &&
               got[WORDS - 1] <= wanted,
           "%g ... %g, not %g", (double)got[0], (double)got[WORDS - 1], (double)wanted);
}

static inline void expect_tensor(const gantry_tensor_t *tensor, float wanted) {
    float got[WORDS] = {0};
    EXPECT(tensor && gantry_tensor_read(tensor, got, sizeof got) == GANTRY_OK, "%s",
           gantry_last_message());
    EXPECT(got[0] >= wanted && got[0] <= wanted && got[WORDS - 1] >= wanted &&
               got[WORDS - 1] <= wanted,
           "%g ... %g, not %g", (double)got[0], (double)got[WORDS - 1], (double)wanted);
}

/* Waits of a thread, and copies between host and device, so far. */
static inline uint64_t waits_and_copies(const door_t *d) {
    static const char *const names[] = {"cuStreamSynchronize",  "cuEventSynchronize",
                                        "cuCtxSynchronize",     "cuMemcpyHtoDAsync_v2",
                                        "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2"};
    uint64_t calls = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        calls += d->c.control->calls(names[i]);
    return calls;
}

static inline const gantry_tensor_t *make_full(const door_t *d, float value) {
    return gantry_fill(d->scope, GANTRY_SHAPE(WORDS), gantry_scalar_f32(d->scope, value));
}

/* The kernels are there, so that building them does not count. */
static inline void warm_up(door_t *d) {
    const gantry_tensor_t *x = make_full(d, 1);
    EXPECT(gantry_tensor_wait(gantry_add(d->scope, x, x)) == GANTRY_OK, "%s",
           gantry_last_message());
}

#endif
