/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CUDA backend opens a card over a program's context, which stays the program's.
 * Promise: Work of the CUDA backend and of the program on one stream, or ordered by events, runs in
 * order without a wait of the host for it.
 * Promise: The CUDA backend refuses contexts, streams, memory and events that it cannot share, and
 * says which are accepted.
 * Promise: Whichever driver call fails while the CUDA backend shares with a program, nothing leaks,
 * and nothing of the program is ended. */
#define _GNU_SOURCE
#include <sched.h>

#include "cuda_caller.h"
#include "cuda_fixture.h"
#include "test.h"

#define WORDS 64
#define BYTES (WORDS * sizeof(uint32_t))

/* The program's context on the first card, a stream and memory of it, and the backend over them. */
typedef struct door_t {
    fixture_t fixture;
    cuda_caller_t caller;
    const gantry_interop_ops_t *ops;
    gantry_backend_device_t *device; /* over the caller's context */
    gantry_backend_stream_t *stream; /* over queue */
    void *queue;
    uint64_t memory;
} door_t;

#define code_of(c, expression)             \
    do {                                   \
        int code_;                         \
        CUDA_CALLER(c, code_, expression); \
        assert_int_equal(code_, 0);        \
    } while (0)

static void door_open_program(door_t *d) {
    memset(d, 0, sizeof *d);
    fixture_init(&d->fixture);
    fixture_open_instance(&d->fixture);
    fixture_control()->reset();
    d->ops = d->fixture.backend->interop;
    cuda_caller_open(&d->caller);
    d->caller.context = cuda_caller_make_context(&d->caller, 0);
    assert_non_null(d->caller.context);
    d->queue = cuda_caller_make_stream(&d->caller);
    d->memory = cuda_caller_make_memory(&d->caller, BYTES);
    assert_non_null(d->queue);
    assert_true(d->memory != 0);
}

static void door_open(door_t *d) {
    door_open_program(d);
    assert_ok(d->ops->device_adopt(d->fixture.instance, 0, d->caller.context, &d->device));
    assert_ok(d->ops->stream_adopt(d->device, d->queue, &d->stream));
}

/* Only the program's objects are left, and they are all there. */
static void door_expect_the_program_alone(const door_t *d) {
    const stand_in_control_t *control = d->caller.control;
    char text[256] = "";
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        if (kind != STAND_IN_MONITORS) /* of the instance, which is open */
            assert_int_equal(control->live(kind), control->live_of_program(kind));
    }
    assert_int_equal(control->live(STAND_IN_CONTEXTS), 1);
    assert_int_equal(control->live(STAND_IN_STREAMS), 1);
    assert_int_equal(control->live(STAND_IN_MEMORY), 1);
    if (control->complaints(text, sizeof text) != 0) fail_msg("%s", text);
}

static void door_close_program(door_t *d) {
    assert_int_equal(cuda_caller_free(&d->caller, d->memory), 0);
    assert_int_equal(cuda_caller_end_stream(&d->caller, d->queue), 0);
    assert_int_equal(cuda_caller_end_context(&d->caller, d->caller.context), 0);
    fixture_close(&d->fixture);
}

static void door_close(door_t *d) {
    if (d->stream) d->fixture.backend->stream->destroy(d->stream);
    if (d->device) d->fixture.backend->device_close(d->device);
    door_expect_the_program_alone(d);
    door_close_program(d);
}

static gantry_span_t door_span(const door_t *d, uint64_t memory, uint64_t offset, uint64_t bytes) {
    gantry_span_t span = {0, 0, bytes};
    assert_ok(d->ops->region_adopt(d->device, (void *)(uintptr_t)memory, offset, bytes, 1,
                                   &span.region, &span.offset_bytes));
    return span;
}

/* ---- contexts ---- */

TEST(context_names_its_device) {
    door_t d;
    uint32_t index = 9;
    door_open_program(&d);
    assert_ok(d.ops->context_find(d.fixture.instance, d.caller.context, NULL, &index));
    assert_int_equal(index, 0);
    void *second = cuda_caller_make_context(&d.caller, 1);
    assert_ok(d.ops->context_find(d.fixture.instance, second, NULL, &index));
    assert_int_equal(index, 1);
    assert_int_equal(d.ops->device_adopt(d.fixture.instance, 0, second, &d.device),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("is of device 1, not of device 0");
    assert_int_equal(d.ops->context_find(d.fixture.instance, NULL, NULL, &index),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("context NULL: a CUcontext is accepted");
    assert_int_equal(cuda_caller_end_context(&d.caller, second), 0);
    assert_int_equal(d.ops->context_find(d.fixture.instance, second, NULL, &index),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("CUDA_ERROR_INVALID_CONTEXT (201); a CUcontext that was not destroyed");
    door_close(&d);
}

TEST(device_is_over_the_programs_context) {
    door_t d;
    door_open(&d);
    assert_ptr_equal(d.ops->native_context(d.device), d.caller.context);
    assert_ptr_equal(d.ops->native_device(d.device), NULL); /* number 0 */
    assert_ptr_equal(d.ops->native_queue(d.stream), d.queue);
    assert_int_equal(d.caller.control->calls("cuDevicePrimaryCtxRetain"), 0);
    door_close(&d);
}

TEST(primary_context_is_not_released) {
    door_t d;
    void *primary = NULL;
    gantry_backend_device_t *device = NULL;
    door_open_program(&d);
    d.caller.control->program(1);
    assert_int_equal(d.caller.cuDevicePrimaryCtxRetain(&primary, 0), 0);
    d.caller.control->program(0);
    assert_ok(d.ops->device_adopt(d.fixture.instance, 0, primary, &device));
    assert_int_equal(d.caller.control->live(STAND_IN_CONTEXTS), 2);
    d.fixture.backend->device_close(device);
    assert_int_equal(d.caller.control->live(STAND_IN_CONTEXTS), 2);
    d.caller.control->program(1);
    assert_int_equal(d.caller.cuDevicePrimaryCtxRelease_v2(0), 0);
    d.caller.control->program(0);
    door_close(&d);
}

/* ---- streams ---- */

static void expect_stream_refused(door_t *d, void *queue, int32_t code, const char *part) {
    gantry_backend_stream_t *stream = NULL;
    assert_int_equal(d->ops->stream_adopt(d->device, queue, &stream), code);
    assert_null(stream);
    assert_error_has(part);
    assert_error_has("a stream of the adopted context");
}

TEST(streams_that_cannot_be_shared_are_refused) {
    door_t d;
    void *graph = NULL;
    door_open(&d);
    cuda_caller_t other = d.caller;
    other.context = cuda_caller_make_context(&other, 1);
    void *foreign = cuda_caller_make_stream(&other);
    void *ended = cuda_caller_make_stream(&d.caller);
    assert_int_equal(cuda_caller_end_stream(&d.caller, ended), 0);
    expect_stream_refused(&d, NULL, GANTRY_INVALID_ARGUMENT, "is a stream of each context");
    expect_stream_refused(&d, CU_STREAM_PER_THREAD, GANTRY_INVALID_ARGUMENT,
                          "(CU_STREAM_PER_THREAD) is another stream in each thread");
    expect_stream_refused(&d, foreign, GANTRY_INVALID_ARGUMENT, "is of another context");
    expect_stream_refused(&d, ended, GANTRY_INVALID_ARGUMENT, "is unknown to the driver");
    code_of(&d.caller, d.caller.cuStreamBeginCapture_v2(d.queue, 2));
    expect_stream_refused(&d, d.queue, GANTRY_FAILED_PRECONDITION, "is being captured");
    code_of(&d.caller, d.caller.cuStreamEndCapture(d.queue, &graph));
    code_of(&d.caller, d.caller.cuGraphDestroy(graph));
    assert_int_equal(cuda_caller_end_stream(&other, foreign), 0);
    assert_int_equal(cuda_caller_end_context(&other, other.context), 0);
    door_close(&d);
}

/* Submits the backend's work on a stream over a queue between the program's; all is in order. */
static void chain_on(door_t *d, gantry_backend_stream_t *stream, void *queue) {
    const gantry_span_t whole = door_span(d, d->memory, 0, BYTES);
    const uint32_t seven = 7;
    uint32_t got[WORDS];
    const gantry_span_t half = {whole.region, whole.offset_bytes, BYTES / 2};
    d->caller.control->hold(0);
    assert_int_equal(cuda_caller_fill(&d->caller, queue, d->memory, 5, WORDS), 0);
    assert_ok(d->fixture.backend->transfer->fill(stream, &half, &seven, 4));
    const gantry_span_t rest = {whole.region, whole.offset_bytes + BYTES / 2, BYTES / 2};
    assert_int_equal(cuda_caller_fill(&d->caller, queue, d->memory, 9, 1), 0);
    assert_ok(d->fixture.backend->transfer->copy(stream, &rest, &half));
    assert_int_equal(d->caller.control->calls("cuStreamSynchronize"), 0);
    assert_int_equal(d->caller.control->calls("cuEventSynchronize"), 0);
    assert_int_equal(cuda_caller_read(&d->caller, queue, got, d->memory, BYTES), 0);
    for (int i = 0; i < WORDS; ++i) assert_int_equal(got[i], i % (WORDS / 2) == 0 ? 9 : 7);
    d->ops->region_disown(d->device, whole.region);
}

TEST(one_stream_keeps_the_order) {
    door_t d;
    door_open(&d);
    chain_on(&d, d.stream, d.queue);
    door_close(&d);
}

TEST(legacy_stream_is_shared) {
    door_t d;
    gantry_backend_stream_t *stream = NULL;
    door_open(&d);
    assert_ok(d.ops->stream_adopt(d.device, CU_STREAM_LEGACY, &stream));
    chain_on(&d, stream, CU_STREAM_LEGACY);
    assert_ok(d.fixture.backend->stream->synchronize(stream));
    d.fixture.backend->stream->destroy(stream);
    door_close(&d);
}

TEST(synchronize_waits_by_an_event_and_destroy_not_at_all) {
    door_t d;
    const uint32_t zero = 0;
    door_open(&d);
    const gantry_span_t span = door_span(&d, d.memory, 0, BYTES);
    assert_ok(d.fixture.backend->transfer->fill(d.stream, &span, &zero, 4));
    assert_ok(d.fixture.backend->stream->synchronize(d.stream));
    assert_int_equal(d.caller.control->calls("cuEventSynchronize"), 1);
    d.fixture.backend->stream->destroy(d.stream);
    d.stream = NULL;
    assert_int_equal(d.caller.control->calls("cuStreamSynchronize"), 0);
    assert_int_equal(d.caller.control->calls("cuStreamDestroy_v2"), 0);
    assert_int_equal(cuda_caller_fill(&d.caller, d.queue, d.memory, 1, WORDS), 0);
    door_close(&d);
}

TEST(a_stream_that_the_program_captures_takes_no_work) {
    door_t d;
    void *graph = NULL, *event = NULL;
    const uint32_t zero = 0;
    gantry_backend_event_t *own = NULL;
    gantry_backend_graph_t *none = NULL;
    door_open(&d);
    const gantry_span_t span = door_span(&d, d.memory, 0, BYTES);
    assert_ok(d.fixture.backend->event->create(d.device, &own));
    assert_int_equal(d.fixture.backend->graph->begin_capture(d.stream), GANTRY_UNIMPLEMENTED);
    assert_error_has("is the program's");
    assert_int_equal(d.fixture.backend->graph->end_capture(d.stream, &none),
                     GANTRY_FAILED_PRECONDITION);
    code_of(&d.caller, d.caller.cuStreamBeginCapture_v2(d.queue, 2));
    assert_int_equal(d.fixture.backend->transfer->fill(d.stream, &span, &zero, 4),
                     GANTRY_FAILED_PRECONDITION);
    assert_error_has("is being captured by the program");
    assert_int_equal(d.fixture.backend->event->record(own, d.stream), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(d.fixture.backend->stream->wait_event(d.stream, own),
                     GANTRY_FAILED_PRECONDITION);
    assert_int_equal(d.fixture.backend->stream->synchronize(d.stream), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(d.ops->native_event(d.stream, &event), GANTRY_FAILED_PRECONDITION);
    code_of(&d.caller, d.caller.cuStreamEndCapture(d.queue, &graph)); /* it is not spoilt */
    code_of(&d.caller, d.caller.cuGraphDestroy(graph));
    assert_ok(d.fixture.backend->transfer->fill(d.stream, &span, &zero, 4));
    d.fixture.backend->event->destroy(own);
    door_close(&d);
}

/* ---- memory ---- */

static void expect_memory_refused(door_t *d, uint64_t address, uint64_t offset, uint64_t bytes,
                                  const char *part) {
    uint64_t region = 1, at = 1;
    assert_int_equal(
        d->ops->region_adopt(d->device, (void *)(uintptr_t)address, offset, bytes, 0, &region, &at),
        GANTRY_INVALID_ARGUMENT);
    assert_int_equal(region, 0);
    assert_error_has(part);
}

TEST(memory_that_cannot_be_shared_is_refused) {
    door_t d;
    void *host = NULL;
    door_open(&d);
    cuda_caller_t other = d.caller, second = d.caller;
    other.context = cuda_caller_make_context(&other, 0);
    second.context = cuda_caller_make_context(&second, 1);
    const uint64_t foreign = cuda_caller_make_memory(&other, BYTES);
    const uint64_t far = cuda_caller_make_memory(&second, BYTES);
    const uint64_t freed = cuda_caller_make_memory(&d.caller, BYTES);
    assert_int_equal(cuda_caller_free(&d.caller, freed), 0);
    expect_memory_refused(&d, 0, 0, BYTES, "is no memory that the driver knows");
    expect_memory_refused(&d, freed, 0, BYTES, "is no memory that the driver knows");
    code_of(&d.caller, d.caller.cuMemHostAlloc(&host, BYTES, 0));
    expect_memory_refused(&d, foreign, 0, BYTES, "is memory of another context");
    expect_memory_refused(&d, far, 0, BYTES, "is memory of another device");
    expect_memory_refused(&d, (uint64_t)(uintptr_t)host, 0, BYTES, "is pinned memory of the host");
    expect_memory_refused(&d, d.memory, 0, BYTES + 1, "is too small: 257 bytes at offset 0");
    expect_memory_refused(&d, d.memory, 4, BYTES,
                          "256 bytes at offset 4 are needed, and it has 256");
    expect_memory_refused(&d, d.memory + 8, 0, BYTES, "and it has 248 bytes");
    expect_memory_refused(&d, d.memory, UINT64_MAX, 2, "is too small");
    expect_memory_refused(&d, d.memory, 8, UINT64_MAX, "is too small");
    code_of(&d.caller, d.caller.cuMemFreeHost(host));
    assert_int_equal(cuda_caller_free(&other, foreign), 0);
    assert_int_equal(cuda_caller_free(&second, far), 0);
    assert_int_equal(cuda_caller_end_context(&other, other.context), 0);
    assert_int_equal(cuda_caller_end_context(&second, second.context), 0);
    door_close(&d);
}

/* A region begins where the allocation does, so that offsets say what is aligned. */
TEST(memory_inside_an_allocation_is_an_offset) {
    door_t d;
    uint64_t pool = 0;
    door_open(&d);
    const gantry_span_t span = door_span(&d, d.memory + 12, 8, 4);
    assert_int_equal(span.region, d.memory);
    assert_int_equal(span.offset_bytes, 20);
    assert_ptr_equal(d.ops->native_memory(d.device, span.region), (void *)(uintptr_t)d.memory);
    code_of(&d.caller, d.caller.cuMemAllocAsync(&pool, BYTES, d.queue));
    assert_int_equal(door_span(&d, pool, 0, BYTES).region, pool);
    assert_int_equal(cuda_caller_free(&d.caller, pool), 0);
    door_close(&d);
}

/* ---- events ---- */

static void wait_for_gate(void *gate) {
    while (!atomic_load((atomic_int *)gate)) (void)sched_yield();
}

/* The record that counts is that of the call: the program ends its event. */
TEST(event_of_the_program_is_taken_over) {
    door_t d;
    atomic_int gate = 0;
    gantry_backend_event_t *event = NULL;
    int32_t is_done = 0;
    uint32_t got[WORDS];
    door_open(&d);
    const gantry_span_t first = door_span(&d, d.memory, 0, 4);
    const uint32_t four = 4;
    void *other = cuda_caller_make_stream(&d.caller);
    code_of(&d.caller, d.caller.cuLaunchHostFunc(other, wait_for_gate, &gate));
    assert_int_equal(cuda_caller_fill(&d.caller, other, d.memory, 3, WORDS), 0);
    void *native = cuda_caller_make_event(&d.caller, other);
    assert_ok(d.ops->event_adopt(d.device, native, &event));
    assert_int_equal(cuda_caller_end_event(&d.caller, native), 0);
    assert_ok(d.fixture.backend->stream->wait_event(d.stream, event));
    assert_ok(d.fixture.backend->transfer->fill(d.stream, &first, &four, 4));
    assert_ok(d.fixture.backend->event->query(event, &is_done));
    assert_int_equal(is_done, 0);
    atomic_store(&gate, 1);
    assert_int_equal(cuda_caller_read(&d.caller, d.queue, got, d.memory, BYTES), 0);
    for (int i = 0; i < WORDS; ++i) assert_int_equal(got[i], i == 0 ? 4 : 3);
    assert_ok(d.fixture.backend->event->synchronize(event));
    assert_ok(d.fixture.backend->event->query(event, &is_done));
    assert_int_equal(is_done, 1);
    d.fixture.backend->event->destroy(event);
    assert_int_equal(cuda_caller_end_stream(&d.caller, other), 0);
    door_close(&d);
}

TEST(events_that_cannot_be_shared_are_refused) {
    door_t d;
    gantry_backend_event_t *event = NULL;
    void *graph = NULL;
    int code;
    door_open(&d);
    void *ended = cuda_caller_make_event(&d.caller, d.queue);
    assert_int_equal(cuda_caller_end_event(&d.caller, ended), 0);
    assert_int_equal(d.ops->event_adopt(d.device, NULL, &event), GANTRY_INVALID_ARGUMENT);
    assert_error_has("event NULL: a recorded CUevent is accepted");
    assert_int_equal(d.ops->event_adopt(d.device, ended, &event), GANTRY_INVALID_ARGUMENT);
    assert_error_has("CUDA_ERROR_INVALID_HANDLE (400); a recorded CUevent is accepted");
    assert_null(event);
    void *captured = cuda_caller_make_event(&d.caller, NULL);
    code_of(&d.caller, d.caller.cuStreamBeginCapture_v2(d.queue, 2));
    code_of(&d.caller, d.caller.cuEventRecord(captured, d.queue));
    assert_int_equal(d.ops->event_adopt(d.device, captured, &event), GANTRY_FAILED_PRECONDITION);
    assert_error_has("CUDA_ERROR_CAPTURED_EVENT (907)");
    CUDA_CALLER(&d.caller, code, d.caller.cuStreamEndCapture(d.queue, &graph));
    assert_int_equal(code, 904); /* whoever waits for a captured event is in the capture */
    assert_int_equal(cuda_caller_end_event(&d.caller, captured), 0);
    door_close(&d);
}

/* The program orders work on another stream after the backend's. */
TEST(event_for_the_program_is_its_own) {
    door_t d;
    void *native = NULL;
    const uint32_t six = 6;
    uint32_t got[WORDS];
    gantry_backend_stream_t *own = NULL;
    door_open(&d);
    assert_ok(d.fixture.backend->stream->create(d.device, GANTRY_STREAM_COMPUTE, &own));
    const gantry_span_t span = door_span(&d, d.memory, 0, BYTES);
    assert_ok(d.fixture.backend->transfer->fill(own, &span, &six, 4));
    assert_ok(d.ops->native_event(own, &native));
    code_of(&d.caller, d.caller.cuStreamWaitEvent(d.queue, native, 0));
    assert_int_equal(d.caller.control->calls("cuEventSynchronize"), 0);
    assert_int_equal(cuda_caller_read(&d.caller, d.queue, got, d.memory, BYTES), 0);
    for (int i = 0; i < WORDS; ++i) assert_int_equal(got[i], 6);
    assert_int_equal(d.caller.control->live(STAND_IN_EVENTS), 1);
    assert_int_equal(cuda_caller_end_event(&d.caller, native), 0);
    d.fixture.backend->stream->destroy(own);
    door_close(&d);
}

/* ---- failures ---- */

static int32_t use_door(door_t *d, void *native) {
    gantry_span_t span = {0, 0, BYTES};
    gantry_backend_event_t *event = NULL;
    void *out = NULL;
    const uint32_t one = 1;
    int32_t status = d->ops->device_adopt(d->fixture.instance, 0, d->caller.context, &d->device);
    if (status == 0) status = d->ops->stream_adopt(d->device, d->queue, &d->stream);
    if (status == 0)
        status = d->ops->region_adopt(d->device, (void *)(uintptr_t)d->memory, 0, BYTES, 1,
                                      &span.region, &span.offset_bytes);
    if (status == 0) status = d->ops->event_adopt(d->device, native, &event);
    if (status == 0) status = d->fixture.backend->stream->wait_event(d->stream, event);
    if (status == 0) status = d->fixture.backend->transfer->fill(d->stream, &span, &one, 4);
    if (status == 0) status = d->ops->native_event(d->stream, &out);
    if (status == 0) status = d->fixture.backend->stream->synchronize(d->stream);
    if (event) d->fixture.backend->event->destroy(event);
    if (out) (void)cuda_caller_end_event(&d->caller, out); /* it ends even if that call fails */
    if (d->stream) d->fixture.backend->stream->destroy(d->stream);
    if (d->device) d->fixture.backend->device_close(d->device);
    d->stream = NULL;
    d->device = NULL;
    return status;
}

static long fail_each_call(int32_t code) {
    long failures = 0;
    for (long at = 0;; ++at) {
        door_t d;
        cuda_fault_t fault = {at, code};
        door_open_program(&d);
        void *native = cuda_caller_make_event(&d.caller, d.queue);
        d.caller.control->watch(cuda_fault_at, &fault);
        fixture_error[0] = '\0';
        const int32_t status = use_door(&d, native);
        d.caller.control->watch(NULL, NULL);
        d.caller.control->lose(-1, 0);
        if (status != 0) {
            ++failures;
            assert_true(fixture_error[0] != '\0');
        }
        assert_int_equal(cuda_caller_end_event(&d.caller, native), 0);
        door_close(&d);
        if (fault.left >= 0) break;
    }
    return failures;
}

TEST(whichever_driver_call_fails_nothing_leaks) { assert_true(fail_each_call(2) > 12); }

TEST(whichever_driver_call_loses_the_card_nothing_of_the_program_ends) {
    assert_true(fail_each_call(719) > 12);
}

TEST(without_memory_of_the_host_nothing_leaks) {
    for (int at = 1;; ++at) {
        door_t d;
        door_open_program(&d);
        void *native = cuda_caller_make_event(&d.caller, d.queue);
        const int before = atomic_load(&d.fixture.allocations);
        atomic_store(&d.fixture.fail_at, before + at);
        const int32_t status = use_door(&d, native);
        const int made = atomic_load(&d.fixture.allocations) - before;
        assert_int_equal(status, made >= at ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK);
        assert_int_equal(cuda_caller_end_event(&d.caller, native), 0);
        door_close(&d);
        if (made < at) break;
    }
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main();
}
