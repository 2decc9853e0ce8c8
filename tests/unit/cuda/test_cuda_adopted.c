/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A runtime over a program's CUDA context and stream computes with the program's memory,
 * and gives its own, without a copy and in order, and no thread waits for it.
 * Promise: CUDA memory comes in by one question to the driver.
 * Promise: Nothing is written to adopted CUDA memory that was not given as writable.
 * Promise: The release of adopted CUDA memory comes once, after the last work with it has ended.
 * Promise: What a call asks the driver does not grow with the memory that waits for its release.
 * Promise: Threads share CUDA memory while the program submits to the adopted stream.
 * Promise: A function's CUDA graph has the values of the pointer that each call passes.
 *
 * All on the stand-in for NVIDIA's driver, which counts what is the program's. */
#define _GNU_SOURCE
#include <pthread.h>

#include "cuda_door.h"
#include "test.h"

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
    open_door_with(&d, m, CU_STREAM_LEGACY);
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

/* One question about the address, and nothing at the end, when no work used it. */
static void few_calls(machine_t *m) {
    door_t d;
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    gantry_tensor_drop(d.scope, adopt(&d, memory, NULL));
    const uint64_t before = d.c.control->calls(NULL);
    for (int i = 0; i < 10; ++i) gantry_tensor_drop(d.scope, adopt(&d, memory, NULL));
    EXPECT(d.c.control->calls(NULL) - before == 40, "%llu calls",
           (unsigned long long)(d.c.control->calls(NULL) - before));
    EXPECT(d.c.control->calls("cuPointerGetAttributes") == 11, "other calls");
    EXPECT(atomic_load(&d.released) == 11, "released %d times", atomic_load(&d.released));
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    close_door(&d);
}

TEST(memory_comes_in_by_one_question) { on_machine("devices=1", few_calls); }

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

/* Each on a stream of its own, in order only by events. */
static void ordered_by_events(machine_t *m) {
    door_t d;
    open_door_with(&d, m, NULL);
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

/* Each of many tensors is given back while the card works, and all are released in the end. */
static void many_wait(machine_t *m) {
    enum { COUNT = 400, MOST_QUERIES = 12 };
    door_t d;
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    warm_up(&d);
    shut_gate(&d, d.queue);
    const gantry_tensor_t *y = NULL;
    const uint64_t before = d.c.control->calls("cuEventQuery");
    for (int i = 0; i < COUNT; ++i) {
        const gantry_tensor_t *x = adopt(&d, memory, NULL);
        if (y) gantry_tensor_drop(d.scope, y);
        y = gantry_add(d.scope, x, x);
        gantry_tensor_drop(d.scope, x);
    }
    const uint64_t asked = d.c.control->calls("cuEventQuery") - before;
    EXPECT(asked <= MOST_QUERIES * COUNT, "%llu questions", (unsigned long long)asked);
    EXPECT(atomic_load(&d.released) == 0, "released while the card works");
    lift_gate(&d);
    EXPECT(gantry_tensor_wait(y) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(gantry_runtime_synchronize(m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(atomic_load(&d.released) == COUNT, "released %d times", atomic_load(&d.released));
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    close_door(&d);
}

TEST(a_long_list_of_waiting_memory_costs_nothing) { on_machine("devices=1", many_wait); }

/* A donated tensor's result is written to memory that was given as writable, and only there. */
static void expect_donated(door_t *d, bool is_writable, uint64_t memory, bool is_in_place) {
    const gantry_from_device_memory_options_t options = {.struct_size = sizeof options,
                                                         .is_writable = is_writable};
    EXPECT(cuda_caller_fill(&d->c, d->queue, memory, TWO, WORDS) == 0, "not filled");
    const gantry_tensor_t *x =
        gantry_tensor_from_device_memory(d->scope, d->gpu, GANTRY_FLOAT32, GANTRY_SHAPE(WORDS),
                                         (void *)(uintptr_t)memory, 0, &options);
    const gantry_tensor_t *y = gantry_neg(d->scope, gantry_tensor_donate(d->scope, x));
    expect_well(d);
    EXPECT((address_of(y) == memory) == is_in_place, "writable %d, in place %d", is_writable,
           !is_in_place);
    expect_content(d, d->queue, memory, is_in_place ? -2 : 2);
    expect_tensor(y, -2);
    gantry_tensor_drop(d->scope, y);
}

/* Also a variable that begins with the program's memory, and is assigned. */
static void written(machine_t *m) {
    door_t d;
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, 2 * BYTES);
    expect_donated(&d, true, memory, true);
    expect_donated(&d, false, memory, false);
    expect_donated(&d, true, memory + 4, false); /* a result begins aligned */
    EXPECT(cuda_caller_fill(&d.c, d.queue, memory, TWO, WORDS) == 0, "not filled");
    const gantry_tensor_t *x = adopt(&d, memory, NULL);
    gantry_variable_t *variable = gantry_variable_create(d.scope, x, "v");
    EXPECT(gantry_variable_assign_add(d.scope, variable, x) == GANTRY_OK, "%s",
           gantry_last_message());
    expect_tensor(gantry_variable_read(d.scope, variable), 4);
    expect_content(&d, d.queue, memory, 2);
    gantry_tensor_drop(d.scope, x);
    gantry_variable_release(variable);
    close_runtime(&d);
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    end_program(&d);
}

TEST(only_writable_memory_is_written) { on_machine("devices=1", written); }

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

/* ---- threads ---- */

#define ROUNDS 40

typedef struct worker_t {
    door_t *door;
    void *stream; /* the program's */
    bool is_program;
} worker_t;

/* Takes memory in that another stream fills, each time after an event. */
static void share_often(worker_t *w) {
    door_t own = *w->door;
    own.scope = gantry_scope_begin(own.m->runtime, "/GPU:0");
    const uint64_t memory = cuda_caller_make_memory(&own.c, BYTES);
    for (int i = 0; i < ROUNDS; ++i) {
        EXPECT(cuda_caller_fill(&own.c, w->stream, memory, i % 2 ? TWO : THREE, WORDS) == 0,
               "fill");
        void *ready = cuda_caller_make_event(&own.c, w->stream);
        const gantry_tensor_t *x = adopt(&own, memory, ready);
        (void)cuda_caller_end_event(&own.c, ready);
        expect_tensor(gantry_add(own.scope, x, x), i % 2 ? 4 : 6);
        gantry_tensor_drop(own.scope, x);
    }
    EXPECT(gantry_scope_end(own.scope) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(gantry_runtime_synchronize(own.m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(cuda_caller_free(&own.c, memory) == 0, "gone");
}

/* Submits to the adopted stream meanwhile. */
static void submit_often(worker_t *w) {
    const uint64_t memory = cuda_caller_make_memory(&w->door->c, BYTES);
    for (int i = 0; i < ROUNDS; ++i)
        EXPECT(cuda_caller_fill(&w->door->c, w->stream, memory, TWO, WORDS) == 0, "fill");
    expect_content(w->door, w->stream, memory, 2);
    EXPECT(cuda_caller_free(&w->door->c, memory) == 0, "gone");
}

static void *work(void *worker) {
    worker_t *w = worker;
    if (w->is_program) {
        submit_often(w);
    } else {
        share_often(w);
    }
    return NULL;
}

static void threads_share(machine_t *m) {
    door_t d;
    pthread_t threads[3];
    worker_t workers[3];
    open_door(&d, m);
    warm_up(&d);
    for (int i = 0; i < 3; ++i) {
        workers[i] = (worker_t){.door = &d,
                                .stream = i == 2 ? d.queue : cuda_caller_make_stream(&d.c),
                                .is_program = i == 2};
        EXPECT(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "no thread");
    }
    for (int i = 0; i < 3; ++i) EXPECT(pthread_join(threads[i], NULL) == 0, "no thread");
    for (int i = 0; i < 2; ++i)
        EXPECT(cuda_caller_end_stream(&d.c, workers[i].stream) == 0, "gone");
    close_door(&d);
}

TEST(threads_share_while_the_program_submits) { on_machine("devices=1", threads_share); }

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

int main(void) { return test_main_with(set_up, NULL, NULL, NULL); }
