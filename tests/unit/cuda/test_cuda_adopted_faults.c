/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: What a CUDA runtime cannot adopt is refused with its value and what is accepted.
 * Promise: When a CUDA card is lost, or any driver call fails, everything adopted is released once,
 * and nothing of the program has ended.
 *
 * All on the stand-in for NVIDIA's driver, which counts what is the program's. */
#define _GNU_SOURCE
#include "cuda_door.h"
#include "sanitized.h"
#include "test.h"

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
    for (long at = 0;; at += FEWER_FOR_SANITIZERS(1, 7)) {
        door_t d;
        int taken = 0;
        cuda_fault_t fault = {at, code};
        begin_program(&d, m);
        const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
        void *ready = cuda_caller_make_event(&d.c, d.queue);
        d.c.control->watch(cuda_fault_at, &fault);
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
    EXPECT(failures > FEWER_FOR_SANITIZERS(100, 10), "%ld calls", failures);
}

static void each_call_runs_out_of_memory(machine_t *m) { each_call_fails(m, 2); }
static void each_call_loses_the_card(machine_t *m) { each_call_fails(m, 719); }

TEST(whichever_driver_call_fails_all_is_given_back) {
    on_machine("devices=1", each_call_runs_out_of_memory);
    on_machine("devices=1", each_call_loses_the_card);
}

int main(void) { return test_main_with(set_up, NULL, NULL, NULL); }
