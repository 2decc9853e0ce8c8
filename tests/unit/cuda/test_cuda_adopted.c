/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A runtime over a program's CUDA context and stream computes with the program's memory,
 * and gives its own, without a copy and in order, and no thread waits for it.
 * Promise: The release of adopted CUDA memory comes once, after the last work with it has ended.
 * Promise: A function's CUDA graph has the values of the pointer that each call passes.
 * Promise: What a CUDA runtime cannot adopt is refused with its value and what is accepted.
 * Promise: When the card is lost, or any driver call fails, everything adopted is released once, and
 * nothing of the program has ended.
 *
 * All on the stand-in for NVIDIA's driver, which counts what is the program's. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>

#include "cuda_caller.h"
#include "cuda_machine.h"
#include "test.h"

#define WORDS 256
#define BYTES (WORDS * sizeof(float))
#define TWO 0x40000000u /* bits of 2.0f */
#define THREE 0x40400000u

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

static void begin_program(door_t *d, machine_t *m) {
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

static void open_runtime(door_t *d) {
    machine_open(d->m);
    EXPECT(gantry_find_logical_device(d->m->runtime, "GPU:0", &d->gpu) == GANTRY_OK, "%s",
           gantry_last_message());
    d->scope = gantry_scope_begin(d->m->runtime, "/GPU:0");
}

static void open_door(door_t *d, machine_t *m) {
    begin_program(d, m);
    open_runtime(d);
}

static void close_runtime(door_t *d) {
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
static void end_program(door_t *d) {
    EXPECT(cuda_caller_end_stream(&d->c, d->queue) == 0, "the stream is gone");
    EXPECT(cuda_caller_end_context(&d->c, d->c.context) == 0, "the context is gone");
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        EXPECT(d->c.control->live(kind) == 0, "kind %d lives", kind);
        EXPECT(d->c.control->abandoned(kind) == 0, "kind %d ended with its context", kind);
    }
}

static void close_door(door_t *d) {
    close_runtime(d);
    end_program(d);
}

static void expect_well(const door_t *d) {
    EXPECT(gantry_scope_status(d->scope) == GANTRY_OK, "%s", gantry_scope_message(d->scope));
}

static void expect_failure(const door_t *d, gantry_status_t status, const char *part) {
    EXPECT(gantry_scope_status(d->scope) == status, "%s: %s",
           gantry_status_name(gantry_scope_status(d->scope)), gantry_scope_message(d->scope));
    EXPECT_TEXT(gantry_scope_message(d->scope), part);
    gantry_scope_clear(d->scope);
}

static void count_release(void *user) { atomic_fetch_add(&((door_t *)user)->released, 1); }

static const gantry_tensor_t *adopt(door_t *d, uint64_t memory, void *ready) {
    const gantry_from_device_memory_options_t options = {
        .struct_size = sizeof options, .ready_event = ready, .release = count_release, .user = d};
    return gantry_tensor_from_device_memory(d->scope, d->gpu, GANTRY_FLOAT32, GANTRY_SHAPE(WORDS),
                                            (void *)(uintptr_t)memory, 0, &options);
}

static uint64_t address_of(const gantry_tensor_t *tensor) {
    gantry_device_memory_t at = {.struct_size = sizeof at};
    EXPECT(gantry_tensor_get_device_memory(tensor, &at) == GANTRY_OK, "%s", gantry_last_message());
    return (uint64_t)(uintptr_t)at.memory + at.offset_bytes;
}

static void wait_for_gate(void *gate) {
    while (!atomic_load((atomic_int *)gate)) (void)sched_yield();
}

/* Later work of the stream waits until the gate is 1. */
static void shut_gate(door_t *d, void *stream) {
    int code;
    atomic_store(&d->gate, 0);
    CUDA_CALLER(&d->c, code, d->c.cuLaunchHostFunc(stream, wait_for_gate, &d->gate));
    EXPECT(code == 0, "code %d", code);
}

static void lift_gate(door_t *d) { atomic_store(&d->gate, 1); }

static void copy(const door_t *d, void *stream, uint64_t to, uint64_t from) {
    int code;
    CUDA_CALLER(&d->c, code, d->c.cuMemcpyDtoDAsync_v2(to, from, BYTES, stream));
    EXPECT(code == 0, "code %d", code);
}

static void wait_in(const door_t *d, void *stream, void *event) {
    int code;
    CUDA_CALLER(&d->c, code, d->c.cuStreamWaitEvent(stream, event, 0));
    EXPECT(code == 0, "code %d", code);
}

static void expect_content(const door_t *d, void *stream, uint64_t memory, float wanted) {
    float got[WORDS] = {0};
    EXPECT(cuda_caller_read(&d->c, stream, got, memory, BYTES) == 0, "not read");
    EXPECT(got[0] >= wanted && got[0] <= wanted && got[WORDS - 1] >= wanted &&
               got[WORDS - 1] <= wanted,
           "%g ... %g, not %g", (double)got[0], (double)got[WORDS - 1], (double)wanted);
}

static void expect_tensor(const gantry_tensor_t *tensor, float wanted) {
    float got[WORDS] = {0};
    EXPECT(tensor && gantry_tensor_read(tensor, got, sizeof got) == GANTRY_OK, "%s",
           gantry_last_message());
    EXPECT(got[0] >= wanted && got[0] <= wanted && got[WORDS - 1] >= wanted &&
               got[WORDS - 1] <= wanted,
           "%g ... %g, not %g", (double)got[0], (double)got[WORDS - 1], (double)wanted);
}

/* Waits of a thread, and copies between host and device, so far. */
static uint64_t waits_and_copies(const door_t *d) {
    static const char *const names[] = {"cuStreamSynchronize",  "cuEventSynchronize",
                                        "cuCtxSynchronize",     "cuMemcpyHtoDAsync_v2",
                                        "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2"};
    uint64_t calls = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        calls += d->c.control->calls(names[i]);
    return calls;
}

static const gantry_tensor_t *make_full(const door_t *d, float value) {
    return gantry_fill(d->scope, GANTRY_SHAPE(WORDS), gantry_scalar_f32(d->scope, value));
}

/* The kernels are there, so that building them does not count. */
static void warm_up(door_t *d) {
    const gantry_tensor_t *x = make_full(d, 1);
    EXPECT(gantry_tensor_wait(gantry_add(d->scope, x, x)) == GANTRY_OK, "%s",
           gantry_last_message());
}

/* ---- one stream ---- */

/* The program fills, Gantry adds and multiplies, the program copies the result. */
static void chain_between(door_t *d, void *queue) {
    const uint64_t memory = cuda_caller_make_memory(&d->c, BYTES),
                   out = cuda_caller_make_memory(&d->c, BYTES);
    warm_up(d);
    shut_gate(d, queue);
    EXPECT(cuda_caller_fill(&d->c, queue, memory, TWO, WORDS) == 0, "not filled");
    const uint64_t before = waits_and_copies(d);
    const gantry_tensor_t *x = adopt(d, memory, NULL);
    const gantry_tensor_t *y = gantry_mul(d->scope, gantry_add(d->scope, x, x), x);
    const uint64_t at = address_of(y);
    expect_well(d);
    EXPECT(waits_and_copies(d) == before, "%llu waits and copies",
           (unsigned long long)(waits_and_copies(d) - before));
    EXPECT(address_of(x) == memory, "another address");
    copy(d, queue, out, at);
    EXPECT(cuda_caller_fill(&d->c, queue, memory, THREE, WORDS) == 0, "not filled");
    lift_gate(d);
    expect_content(d, queue, out, 8);
    expect_tensor(x, 3);
    gantry_tensor_drop(d->scope, x);
    EXPECT(gantry_runtime_synchronize(d->m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(atomic_load(&d->released) == 1, "released %d times", atomic_load(&d->released));
    EXPECT(cuda_caller_free(&d->c, memory) == 0 && cuda_caller_free(&d->c, out) == 0, "gone");
}

static void chain_on_a_stream(machine_t *m) {
    door_t d;
    open_door(&d, m);
    chain_between(&d, d.queue);
    close_door(&d);
}

static void chain_on_the_legacy_stream(machine_t *m) {
    door_t d;
    begin_program(&d, m);
    d.adopted.queue = CU_STREAM_LEGACY;
    open_runtime(&d);
    chain_between(&d, CU_STREAM_LEGACY);
    close_door(&d);
}

TEST(work_between_the_programs_work_is_in_order) {
    on_machine("devices=1", chain_on_a_stream);
    on_machine("devices=1", chain_on_the_legacy_stream);
}

static void natives(machine_t *m) {
    door_t d;
    gantry_native_t native = {.struct_size = sizeof native};
    gantry_memory_info_t info = {.struct_size = sizeof info};
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    EXPECT(gantry_device_get_native(d.gpu, &native) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(native.is_adopted && strcmp(native.backend, "cuda") == 0, "not adopted");
    EXPECT(native.context == d.c.context && native.queue == d.queue, "other objects");
    EXPECT(d.c.control->live(STAND_IN_CONTEXTS) == 1, "another context was made");
    const gantry_tensor_t *x = adopt(&d, memory, NULL);
    EXPECT(gantry_get_memory_info(m->runtime, "GPU:0", &info) == GANTRY_OK, "%s",
           gantry_last_message());
    EXPECT(info.foreign_bytes == BYTES, "%llu foreign bytes",
           (unsigned long long)info.foreign_bytes);
    gantry_tensor_drop(d.scope, x);
    EXPECT(gantry_runtime_synchronize(m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(
        gantry_get_memory_info(m->runtime, "GPU:0", &info) == GANTRY_OK && info.foreign_bytes == 0,
        "%llu foreign bytes", (unsigned long long)info.foreign_bytes);
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    close_door(&d);
}

TEST(natives_are_the_programs) { on_machine("devices=1", natives); }

static void primary(machine_t *m) {
    door_t d;
    void *context = NULL;
    begin_program(&d, m);
    d.c.control->program(1);
    EXPECT(d.c.cuDevicePrimaryCtxRetain(&context, 0) == 0, "no primary context");
    d.c.control->program(0);
    d.adopted.context = context;
    d.adopted.queue = NULL;
    open_runtime(&d);
    warm_up(&d);
    close_runtime(&d);
    EXPECT(d.c.control->live(STAND_IN_CONTEXTS) == 2, "the primary context was released");
    d.c.control->program(1);
    EXPECT(d.c.cuDevicePrimaryCtxRelease_v2(0) == 0, "the primary context was released");
    d.c.control->program(0);
    end_program(&d);
}

TEST(primary_context_stays) { on_machine("devices=1", primary); }

/* ---- events ---- */

/* Each on a stream of its own, in order by events alone. */
static void ordered_by_events(machine_t *m) {
    door_t d;
    begin_program(&d, m);
    d.adopted.queue = NULL;
    open_runtime(&d);
    void *after = NULL;
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES),
                   out = cuda_caller_make_memory(&d.c, BYTES);
    warm_up(&d);
    shut_gate(&d, d.queue);
    EXPECT(cuda_caller_fill(&d.c, d.queue, memory, TWO, WORDS) == 0, "not filled");
    void *ready = cuda_caller_make_event(&d.c, d.queue);
    const uint64_t before = waits_and_copies(&d);
    const gantry_tensor_t *x = adopt(&d, memory, ready);
    EXPECT(cuda_caller_end_event(&d.c, ready) == 0, "the event is gone");
    const gantry_tensor_t *y = gantry_add(d.scope, x, x);
    EXPECT(gantry_tensor_get_event(y, &after) == GANTRY_OK, "%s", gantry_last_message());
    void *other = cuda_caller_make_stream(&d.c);
    wait_in(&d, other, after);
    EXPECT(waits_and_copies(&d) == before, "waits");
    copy(&d, other, out, address_of(y));
    EXPECT(cuda_caller_end_event(&d.c, after) == 0, "the event is gone");
    lift_gate(&d);
    expect_content(&d, other, out, 4);
    EXPECT(cuda_caller_end_stream(&d.c, other) == 0, "the stream is gone");
    gantry_tensor_drop(d.scope, x);
    EXPECT(gantry_runtime_synchronize(m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(cuda_caller_free(&d.c, memory) == 0 && cuda_caller_free(&d.c, out) == 0, "gone");
    close_door(&d);
}

TEST(events_order_both_ways) { on_machine("devices=1", ordered_by_events); }

/* A stream of the program reads a tensor that was dropped; nobody writes there before its event. */
static void used_until(machine_t *m) {
    door_t d;
    const gantry_tensor_t *next[8];
    open_door(&d, m);
    const uint64_t out = cuda_caller_make_memory(&d.c, BYTES);
    void *other = cuda_caller_make_stream(&d.c);
    warm_up(&d);
    const gantry_tensor_t *x = make_full(&d, 5);
    EXPECT(gantry_tensor_wait(x) == GANTRY_OK, "%s", gantry_last_message());
    const uint64_t at = address_of(x);
    shut_gate(&d, other);
    copy(&d, other, out, at);
    void *until = cuda_caller_make_event(&d.c, other);
    EXPECT(gantry_tensor_use_until(x, until) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(cuda_caller_end_event(&d.c, until) == 0, "the event is gone");
    gantry_tensor_drop(d.scope, x);
    for (int i = 0; i < 8; ++i) {
        next[i] = make_full(&d, 7);
        EXPECT(address_of(next[i]) != at, "tensor %d has the memory", i);
    }
    expect_well(&d);
    lift_gate(&d);
    expect_content(&d, other, out, 5);
    EXPECT(cuda_caller_end_stream(&d.c, other) == 0, "the stream is gone");
    EXPECT(cuda_caller_free(&d.c, out) == 0, "gone");
    close_door(&d);
}

TEST(memory_stays_until_the_programs_event) { on_machine("devices=1", used_until); }

static void released_late(machine_t *m) {
    door_t d;
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    warm_up(&d);
    shut_gate(&d, d.queue);
    const gantry_tensor_t *x = adopt(&d, memory, NULL);
    const gantry_tensor_t *y = gantry_add(d.scope, x, x);
    gantry_tensor_drop(d.scope, x);
    (void)make_full(&d, 1);
    EXPECT(atomic_load(&d.released) == 0, "released while the card works");
    lift_gate(&d);
    EXPECT(gantry_tensor_wait(y) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(gantry_runtime_synchronize(m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(atomic_load(&d.released) == 1, "released %d times", atomic_load(&d.released));
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    close_door(&d);
    EXPECT(atomic_load(&d.released) == 1, "released %d times", atomic_load(&d.released));
}

TEST(release_comes_after_the_last_work) { on_machine("devices=1", released_late); }

/* ---- devices ---- */

static void expect_sum_on(const door_t *d, const char *device, const gantry_tensor_t *x,
                          float wanted) {
    gantry_scope_t *scope = gantry_scope_begin(d->m->runtime, device);
    expect_tensor(gantry_add(scope, x, x), wanted);
    EXPECT(gantry_scope_end(scope) == GANTRY_OK, "%s", gantry_last_message());
}

static void virtual_devices(machine_t *m) {
    door_t d;
    const gantry_logical_device_t *second = NULL;
    gantry_native_t native = {.struct_size = sizeof native};
    begin_program(&d, m);
    m->options.logical_devices = "GPU:0=64M,64M";
    open_runtime(&d);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    EXPECT(gantry_find_logical_device(m->runtime, "GPU:1", &second) == GANTRY_OK, "%s",
           gantry_last_message());
    EXPECT(gantry_device_get_native(second, &native) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(native.is_adopted && native.context == d.c.context, "another context");
    EXPECT(native.queue && native.queue != d.queue, "the same stream");
    EXPECT(cuda_caller_fill(&d.c, d.queue, memory, TWO, WORDS) == 0, "not filled");
    const gantry_tensor_t *x = adopt(&d, memory, NULL);
    expect_sum_on(&d, "/GPU:1", x, 4);
    expect_well(&d);
    gantry_tensor_drop(d.scope, x);
    close_runtime(&d);
    EXPECT(atomic_load(&d.released) == 1, "released %d times", atomic_load(&d.released));
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    end_program(&d);
}

TEST(virtual_devices_share_the_context) { on_machine("devices=1", virtual_devices); }

/* The second card has the program's context, the first one a context of Gantry's. */
static void second_card(machine_t *m) {
    door_t d;
    begin_program(&d, m);
    EXPECT(cuda_caller_end_stream(&d.c, d.queue) == 0, "the stream is gone");
    EXPECT(cuda_caller_end_context(&d.c, d.c.context) == 0, "the context is gone");
    d.c.context = d.adopted.context = cuda_caller_make_context(&d.c, 1);
    d.queue = d.adopted.queue = cuda_caller_make_stream(&d.c);
    open_runtime(&d);
    EXPECT(gantry_find_logical_device(m->runtime, "GPU:1", &d.gpu) == GANTRY_OK, "%s",
           gantry_last_message());
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    EXPECT(cuda_caller_fill(&d.c, d.queue, memory, TWO, WORDS) == 0, "not filled");
    const gantry_tensor_t *x = adopt(&d, memory, NULL);
    expect_sum_on(&d, "/GPU:0", x, 4);
    gantry_tensor_drop(d.scope, x);
    close_runtime(&d);
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    end_program(&d);
}

TEST(context_of_the_second_card_is_the_second_device) { on_machine("devices=2", second_card); }

/* ---- functions ---- */

static void five_kernels(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *y = inputs[0];
    (void)user;
    for (int i = 0; i < 5; ++i) y = gantry_add(scope, y, inputs[0]);
    outputs[0] = y;
}

static gantry_function_t *trace(const door_t *d) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(WORDS)};
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .passes_off = GANTRY_PASS_ALL, .device_graphs = GANTRY_ON};
    gantry_function_t *function = NULL;
    EXPECT(gantry_function_trace(d->m->runtime, "five", five_kernels, NULL, &input, 1, 1, &options,
                                 &function) == GANTRY_OK,
           "%s", gantry_last_message());
    if (!function) _exit(1);
    return function;
}

/* The pointers alternate, and one of them becomes another allocation's. */
static void graphs(machine_t *m) {
    door_t d;
    uint64_t memory[2];
    const gantry_tensor_t *x[2], *y = NULL;
    open_door(&d, m);
    gantry_function_t *function = trace(&d);
    for (int i = 0; i < 2; ++i) {
        memory[i] = cuda_caller_make_memory(&d.c, BYTES);
        EXPECT(cuda_caller_fill(&d.c, d.queue, memory[i], i ? THREE : TWO, WORDS) == 0, "fill");
        x[i] = adopt(&d, memory[i], NULL);
    }
    for (int call = 0; call < 24; ++call) {
        EXPECT(gantry_function_call(d.scope, function, &x[call % 2], 1, &y, 1) == GANTRY_OK, "%s",
               gantry_last_message());
        expect_tensor(y, call % 2 ? 18 : 12);
        gantry_tensor_drop(d.scope, y);
    }
    EXPECT(d.c.control->calls("cuGraphLaunch") > 0, "no graph was launched");
    gantry_tensor_drop(d.scope, x[1]);
    EXPECT(gantry_runtime_synchronize(m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(cuda_caller_free(&d.c, memory[1]) == 0, "gone");
    memory[1] = cuda_caller_make_memory(&d.c, BYTES);
    EXPECT(cuda_caller_fill(&d.c, d.queue, memory[1], TWO, WORDS) == 0, "fill");
    x[1] = adopt(&d, memory[1], NULL);
    for (int call = 0; call < 6; ++call) {
        EXPECT(gantry_function_call(d.scope, function, &x[1], 1, &y, 1) == GANTRY_OK, "%s",
               gantry_last_message());
        expect_tensor(y, 12);
        gantry_tensor_drop(d.scope, y);
    }
    gantry_function_release(function);
    close_runtime(&d);
    EXPECT(cuda_caller_free(&d.c, memory[0]) == 0 && cuda_caller_free(&d.c, memory[1]) == 0,
           "gone");
    end_program(&d);
}

TEST(graphs_follow_the_pointer_of_each_call) { on_machine("devices=1", graphs); }

/* ---- refusals ---- */

static void expect_no_runtime(door_t *d, gantry_status_t wanted, const char *part) {
    gantry_runtime_t *runtime = NULL;
    const gantry_status_t status = gantry_runtime_create(&d->m->options, &runtime);
    EXPECT(status == wanted, "%s: %s", gantry_status_name(status), gantry_last_message());
    EXPECT_TEXT(gantry_last_message(), part);
    gantry_runtime_release(runtime);
}

static void refused_contexts(machine_t *m) {
    door_t d;
    begin_program(&d, m);
    cuda_caller_t other = d.c, ended = d.c;
    other.context = cuda_caller_make_context(&other, 1);
    ended.context = cuda_caller_make_context(&ended, 0);
    void *queue = cuda_caller_make_stream(&other);
    (void)cuda_caller_end_context(&d.c, ended.context);
    d.adopted.queue = queue;
    expect_no_runtime(&d, GANTRY_INVALID_ARGUMENT,
                      "is of another context: a stream of the adopted");
    d.adopted.queue = CU_STREAM_PER_THREAD;
    expect_no_runtime(&d, GANTRY_INVALID_ARGUMENT, "is another stream in each thread");
    d.adopted.queue = d.queue;
    d.adopted.context = ended.context;
    expect_no_runtime(&d, GANTRY_INVALID_ARGUMENT, "the driver does not know it");
    d.adopted.context = NULL;
    expect_no_runtime(&d, GANTRY_INVALID_ARGUMENT, "context NULL: a CUcontext is accepted");
    d.adopted.context = d.c.context;
    d.list[1] = &d.adopted;
    m->options.adopted_count = 2;
    expect_no_runtime(&d, GANTRY_INVALID_ARGUMENT, "adopted[1]: ");
    m->options.adopted_count = 1;
    m->options.visible_devices = "GPU:1";
    expect_no_runtime(&d, GANTRY_INVALID_ARGUMENT, "visible");
    m->options.visible_devices = NULL;
    (void)cuda_caller_end_stream(&other, queue);
    (void)cuda_caller_end_context(&d.c, other.context);
    end_program(&d);
}

TEST(contexts_and_streams_that_do_not_serve_are_refused) {
    on_machine("devices=2", refused_contexts);
}

static void refused_memory(machine_t *m) {
    door_t d;
    open_door(&d, m);
    cuda_caller_t other = d.c;
    other.context = cuda_caller_make_context(&other, 0);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES),
                   freed = cuda_caller_make_memory(&d.c, BYTES),
                   foreign = cuda_caller_make_memory(&other, BYTES);
    (void)cuda_caller_free(&d.c, freed);
    EXPECT(!adopt(&d, freed, NULL), "freed memory is taken");
    expect_failure(&d, GANTRY_INVALID_ARGUMENT, "is no memory that the driver knows");
    EXPECT(!adopt(&d, foreign, NULL), "memory of another context is taken");
    expect_failure(&d, GANTRY_INVALID_ARGUMENT, "is memory of another context: device memory of");
    EXPECT(!adopt(&d, memory + 4, NULL), "memory that is too small is taken");
    expect_failure(&d, GANTRY_INVALID_ARGUMENT, "is too small: 1024 bytes at offset 0 are needed");
    EXPECT(!gantry_tensor_from_device_memory(d.scope, d.gpu, GANTRY_FLOAT32, GANTRY_SHAPE(4),
                                             (void *)(uintptr_t)(memory + 2), 0, NULL),
           "memory between elements is taken");
    expect_failure(&d, GANTRY_INVALID_ARGUMENT, "a multiple of 4 is accepted");
    EXPECT(!adopt(&d, memory, (void *)(uintptr_t)memory), "memory is taken for an event");
    expect_failure(&d, GANTRY_INVALID_ARGUMENT, "a recorded CUevent is accepted");
    EXPECT(atomic_load(&d.released) == 0, "released what was refused");
    (void)cuda_caller_free(&d.c, memory);
    (void)cuda_caller_free(&other, foreign);
    (void)cuda_caller_end_context(&d.c, other.context);
    close_door(&d);
}

TEST(memory_and_events_that_do_not_serve_are_refused) { on_machine("devices=1", refused_memory); }

/* Kernels take alignment from offsets: bytes from an odd address are gathered as bytes. */
static void odd_address(machine_t *m) {
    static const int32_t rows[] = {1, 0};
    door_t d;
    uint8_t bytes[16], got[8] = {0};
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, sizeof bytes);
    for (int i = 0; i < 16; ++i) bytes[i] = (uint8_t)i;
    EXPECT(cuda_caller_write(&d.c, d.queue, memory, bytes, sizeof bytes) == 0, "not written");
    const gantry_tensor_t *x = gantry_tensor_from_device_memory(
        d.scope, d.gpu, GANTRY_UINT8, GANTRY_SHAPE(2, 4), (void *)(uintptr_t)(memory + 1), 2, NULL);
    const gantry_tensor_t *index =
        gantry_constant(d.scope, GANTRY_INT32, GANTRY_SHAPE(2), rows, sizeof rows);
    const gantry_tensor_t *y = gantry_gather(d.scope, x, index, 0);
    gantry_device_memory_t at = {.struct_size = sizeof at};
    EXPECT(gantry_tensor_get_device_memory(x, &at) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(at.memory == (void *)(uintptr_t)memory && at.offset_bytes == 3, "offset %llu",
           (unsigned long long)at.offset_bytes);
    EXPECT(y && gantry_tensor_read(y, got, sizeof got) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(got[0] == 7 && got[4] == 3 && got[7] == 6, "%d %d %d", got[0], got[4], got[7]);
    gantry_tensor_drop(d.scope, x);
    close_runtime(&d);
    (void)cuda_caller_free(&d.c, memory);
    end_program(&d);
}

TEST(odd_addresses_are_offsets) { on_machine("devices=1", odd_address); }

static void forked(machine_t *m) {
    door_t d;
    int result = -1;
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    const gantry_tensor_t *x = adopt(&d, memory, NULL);
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        gantry_device_memory_t at = {.struct_size = sizeof at};
        gantry_native_t native = {.struct_size = sizeof native};
        void *event = NULL;
        wrong = 0;
        EXPECT(!adopt(&d, memory, NULL), "taken in a child");
        EXPECT(gantry_tensor_get_device_memory(x, &at) != GANTRY_OK, "given in a child");
        EXPECT(gantry_tensor_get_event(x, &event) != GANTRY_OK, "given in a child");
        EXPECT(gantry_tensor_use_until(x, d.queue) != GANTRY_OK, "taken in a child");
        EXPECT(gantry_device_get_native(d.gpu, &native) != GANTRY_OK, "given in a child");
        EXPECT_TEXT(gantry_last_message(), "fork");
        (void)fflush(stdout);
        _exit(wrong);
    }
    EXPECT(waitpid(child, &result, 0) == child && result == 0, "result %d", result);
    gantry_tensor_drop(d.scope, x);
    close_runtime(&d);
    (void)cuda_caller_free(&d.c, memory);
    end_program(&d);
}

TEST(a_child_of_fork_shares_nothing) { on_machine("devices=1", forked); }

/* ---- failures ---- */

static void lost(machine_t *m) {
    door_t d;
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    warm_up(&d);
    const gantry_tensor_t *x = adopt(&d, memory, NULL);
    const gantry_tensor_t *y = gantry_add(d.scope, x, x);
    void *event = NULL;
    d.c.control->lose(0, 719);
    EXPECT(gantry_tensor_wait(y) == GANTRY_UNAVAILABLE, "%s", gantry_last_message());
    EXPECT_TEXT(gantry_last_message(), "CUDA_ERROR_LAUNCH_FAILED (719)");
    gantry_scope_clear(d.scope);
    EXPECT(!adopt(&d, memory, NULL), "taken by a lost device");
    expect_failure(&d, GANTRY_UNAVAILABLE, "CUDA_ERROR_LAUNCH_FAILED");
    EXPECT(gantry_tensor_get_event(x, &event) == GANTRY_UNAVAILABLE && !event, "an event is given");
    EXPECT(gantry_tensor_use_until(x, d.queue) == GANTRY_UNAVAILABLE, "an event is taken");
    gantry_tensor_drop(d.scope, x);
    (void)gantry_scope_end(d.scope);
    d.scope = NULL;
    machine_close(m);
    EXPECT(atomic_load(&d.released) == 1, "released %d times", atomic_load(&d.released));
    d.c.control->lose(0, 0);
    EXPECT(d.c.control->live_of_program(STAND_IN_STREAMS) == 1, "the stream is gone");
    EXPECT(d.c.control->live_of_program(STAND_IN_MEMORY) == 1, "the memory is gone");
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    EXPECT(cuda_caller_end_stream(&d.c, d.queue) == 0, "the stream is gone");
    EXPECT(cuda_caller_end_context(&d.c, d.c.context) == 0, "the context is gone");
}

TEST(a_lost_card_gives_everything_back_once) { on_machine("devices=1", lost); }

/* The program breaks the rule: its context ends before the runtime. */
static void context_ends_too_early(machine_t *m) {
    door_t d;
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    warm_up(&d);
    const gantry_tensor_t *x = adopt(&d, memory, NULL);
    EXPECT(cuda_caller_end_context(&d.c, d.c.context) == 0, "the context is gone");
    const gantry_tensor_t *y = gantry_add(d.scope, x, x);
    EXPECT(!y || gantry_tensor_wait(y) != GANTRY_OK, "computed without a context");
    gantry_scope_clear(d.scope);
    gantry_tensor_drop(d.scope, x);
    (void)gantry_scope_end(d.scope);
    machine_close(m);
    EXPECT(atomic_load(&d.released) == 1, "released %d times", atomic_load(&d.released));
}

TEST(a_context_that_ends_too_early_is_a_lost_device) {
    on_machine("devices=1", context_ends_too_early);
}

typedef struct fault_t {
    long left;
    int32_t code;
} fault_t;

/* Without its context the backend ends no object, and without a pop none is left. */
static int32_t fail_one(void *self, const char *function) {
    fault_t *fault = self;
    if (strcmp(function, "cuCtxPopCurrent_v2") == 0 || strcmp(function, "cuCtxPushCurrent_v2") == 0)
        return 0;
    return fault->left-- == 0 ? fault->code : 0;
}

/* Takes memory in and gives memory and an event out; *out_taken: what release must count. */
static void use_door(door_t *d, uint64_t memory, void *ready, int *out_taken) {
    gantry_device_memory_t at = {.struct_size = sizeof at};
    void *event = NULL;
    float got[WORDS];
    if (gantry_runtime_create(&d->m->options, &d->m->runtime) != GANTRY_OK) return;
    d->scope = gantry_scope_begin(d->m->runtime, "/GPU:0");
    if (gantry_find_logical_device(d->m->runtime, "GPU:0", &d->gpu) != GANTRY_OK) return;
    const gantry_tensor_t *x = adopt(d, memory, ready);
    *out_taken = x != NULL;
    const gantry_tensor_t *y = make_full(d, 1);
    if (x) (void)gantry_tensor_use_until(x, ready);
    if (y && gantry_tensor_get_event(y, &event) == GANTRY_OK) {
        (void)cuda_caller_end_event(&d->c, event);
    }
    if (y) (void)gantry_tensor_get_device_memory(y, &at);
    if (x) (void)gantry_tensor_read(x, got, sizeof got);
}

static void each_call_fails(machine_t *m, int32_t code) {
    long failures = 0;
    for (long at = 0;; ++at) {
        door_t d;
        int taken = 0;
        fault_t fault = {at, code};
        begin_program(&d, m);
        const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
        void *ready = cuda_caller_make_event(&d.c, d.queue);
        d.c.control->watch(fail_one, &fault);
        use_door(&d, memory, ready, &taken);
        if (d.scope) (void)gantry_scope_end(d.scope);
        d.scope = NULL;
        gantry_runtime_release(m->runtime);
        m->runtime = NULL;
        d.c.control->watch(NULL, NULL);
        d.c.control->lose(-1, 0);
        EXPECT(atomic_load(&d.released) == taken, "call %ld: released %d times of %d", at,
               atomic_load(&d.released), taken);
        for (int kind = 0; kind < STAND_IN_KINDS; ++kind)
            EXPECT(d.c.control->live(kind) == d.c.control->live_of_program(kind),
                   "call %ld: kind %d: %ld live, %ld of the program", at, kind,
                   d.c.control->live(kind), d.c.control->live_of_program(kind));
        EXPECT(cuda_caller_end_event(&d.c, ready) == 0, "the event is gone");
        EXPECT(cuda_caller_free(&d.c, memory) == 0, "the memory is gone");
        end_program(&d);
        if (fault.left >= 0 || wrong) break;
        ++failures;
    }
    EXPECT(failures > 30, "%ld calls", failures);
}

static void each_call_runs_out_of_memory(machine_t *m) { each_call_fails(m, 2); }
static void each_call_loses_the_card(machine_t *m) { each_call_fails(m, 719); }

TEST(whichever_driver_call_fails_all_is_given_back) {
    on_machine("devices=1", each_call_runs_out_of_memory);
    on_machine("devices=1", each_call_loses_the_card);
}

int main(void) { return test_main_with(set_up, NULL, NULL, NULL); }
