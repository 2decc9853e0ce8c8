/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each launch of a CUDA graph runs the captured work as if it were submitted, on two cards
 * of the stand-in.
 * Promise: Whichever driver call fails while the CUDA backend records a graph, nothing leaks.
 * Promise: While it records a graph, the CUDA backend refuses copies of pageable memory with a
 * reason, and the recording continues.
 *
 * A failed capture leaves a usable stream. */
#define _GNU_SOURCE
#include <pthread.h>

#include "cuda_fixture.h"
#include "test.h"

#define WORDS 64
#define BYTES (WORDS * sizeof(int32_t))

static const char text[] =
    "__kernel void scale(__global const uchar *in_base, const ulong in_offset,\n"
    "    __global uchar *out_base, const ulong out_offset, const int factor)\n{\n"
    "    const size_t i = get_global_id(0);\n"
    "    ((__global int *)(out_base + out_offset))[i] =\n"
    "        factor * ((__global const int *)(in_base + in_offset))[i];\n"
    "}\n";
static const char *const parts[] = {text};
static const gantry_program_source_t source = {
    .struct_size = sizeof source,
    .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
    .label = "test/scale",
    .parts = parts,
    .part_count = 1};

/* A region in four pieces: input, scaled, copied, filled; and pinned memory at both ends. */
typedef struct bench_t {
    fixture_t fixture;
    const gantry_stream_ops_t *streams;
    const gantry_event_ops_t *events;
    const gantry_graph_ops_t *graphs;
    gantry_backend_stream_t *stream; /* the fixture's device, on the first card */
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel;
    gantry_span_t all;
    int32_t *in;
    int32_t *out; /* as large as the region */
} bench_t;

static gantry_span_t piece(const bench_t *b, uint64_t number) {
    return (gantry_span_t){b->all.region, number * BYTES, BYTES};
}

static void bench_open(bench_t *b) {
    memset(b, 0, sizeof *b);
    fixture_open(&b->fixture);
    b->streams = b->fixture.backend->stream;
    b->events = b->fixture.backend->event;
    b->graphs = b->fixture.backend->graph;
    b->stream = b->fixture.stream[0];
    b->all = fixture_region(&b->fixture, 0, 4 * BYTES);
    assert_ok(b->fixture.backend->program->build(b->fixture.device[0], &source, "", &b->program));
    assert_ok(b->fixture.backend->program->kernel_find(b->program, "scale", &b->kernel));
    assert_ok(b->fixture.backend->memory->host_alloc(b->fixture.device[0], BYTES, (void **)&b->in));
    assert_ok(
        b->fixture.backend->memory->host_alloc(b->fixture.device[0], 4 * BYTES, (void **)&b->out));
}

static void bench_close(bench_t *b) {
    b->fixture.backend->memory->host_free(b->fixture.device[0], b->in, BYTES);
    b->fixture.backend->memory->host_free(b->fixture.device[0], b->out, 4 * BYTES);
    b->fixture.backend->program->destroy(b->program);
    if (b->all.region != 0) {
        fixture_region_free(&b->fixture, 0, b->all);
    }
    fixture_close(&b->fixture);
}

static int32_t scale(const bench_t *b, gantry_backend_stream_t *stream, uint64_t from, uint64_t to,
                     int32_t factor) {
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = piece(b, from)},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = piece(b, to)},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof factor, .as.value = &factor},
    };
    gantry_launch_t launch = {sizeof launch, 1, {WORDS, 1, 1}, {16, 1, 1}, args, 3};
    int32_t status = b->fixture.backend->program->launch(stream, b->kernel, &launch);

    factor = 0; /* the capture has copied it */
    return status;
}

/* in -> scaled twice -> copied, and a fill: every kind of work on one card. */
static int32_t submit_chain(const bench_t *b) {
    const gantry_transfer_ops_t *transfer = b->fixture.backend->transfer;
    const gantry_span_t pieces[4] = {piece(b, 0), piece(b, 1), piece(b, 2), piece(b, 3)};
    unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int32_t status = transfer->to_device(b->stream, &pieces[0], b->in);

    if (status == 0) status = scale(b, b->stream, 0, 1, 3);
    if (status == 0) status = scale(b, b->stream, 1, 1, -7);
    if (status == 0) status = transfer->copy(b->stream, &pieces[2], &pieces[1]);
    if (status == 0) status = transfer->fill(b->stream, &pieces[3], pattern, sizeof pattern);
    memset(pattern, 0, sizeof pattern); /* the capture has copied it */
    if (status == 0) status = transfer->to_host(b->stream, b->out, &b->all);
    return status;
}

static void set_in(const bench_t *b, int32_t seed) {
    for (int32_t i = 0; i < WORDS; ++i) {
        b->in[i] = seed * i + 1;
    }
}

/* The chain's results from the input, submitted call by call. */
static void run_directly(const bench_t *b, int32_t expected[4 * WORDS]) {
    assert_ok(submit_chain(b));
    assert_ok(b->streams->synchronize(b->stream));
    memcpy(expected, b->out, 4 * BYTES);
    for (int32_t i = 0; i < WORDS; ++i) {
        assert_int_equal(expected[2 * WORDS + i], -21 * b->in[i]);
    }
}

static void spoil(const bench_t *b) {
    const gantry_span_t all = b->all;
    const unsigned char byte = 0x5a;

    assert_ok(b->fixture.backend->transfer->fill(b->stream, &all, &byte, 1));
    assert_ok(b->streams->synchronize(b->stream));
    memset(b->out, 0x5a, 4 * BYTES);
}

/* The stream accepts work as before the capture. */
static void check_usable(const bench_t *b) {
    int32_t expected[4 * WORDS];

    set_in(b, 11);
    spoil(b);
    run_directly(b, expected);
}

static gantry_backend_graph_t *capture_chain(const bench_t *b) {
    gantry_backend_graph_t *graph = NULL;

    assert_ok(b->graphs->begin_capture(b->stream));
    assert_ok(submit_chain(b));
    assert_ok(b->graphs->end_capture(b->stream, &graph));
    assert_non_null(graph);
    return graph;
}

/* ---- launches ---- */

TEST(captured_chain_gives_the_bytes_of_direct_submission) {
    bench_t b;
    gantry_backend_graph_t *graph;
    gantry_backend_stream_t *other = NULL;
    int32_t expected[4 * WORDS];

    bench_open(&b);
    graph = capture_chain(&b);
    assert_ok(b.streams->create(b.fixture.device[0], GANTRY_STREAM_COMPUTE, &other));
    for (int32_t run = 0; run < 3; ++run) { /* each launch reads host memory again */
        gantry_backend_stream_t *stream = run == 1 ? other : b.stream;

        set_in(&b, 5 + run);
        run_directly(&b, expected);
        spoil(&b);
        assert_ok(b.graphs->launch(stream, graph));
        assert_ok(b.streams->synchronize(stream));
        assert_memory_equal(b.out, expected, 4 * BYTES);
    }
    b.streams->destroy(other);
    b.graphs->destroy(graph);
    bench_close(&b);
}

TEST(captured_work_waits_for_a_launch) {
    bench_t b;
    gantry_backend_graph_t *graph;
    unsigned char spoilt[4 * BYTES];

    bench_open(&b);
    memset(spoilt, 0x5a, sizeof spoilt);
    set_in(&b, 2);
    spoil(&b);
    graph = capture_chain(&b);
    assert_ok(b.streams->synchronize(b.stream));
    assert_memory_equal(b.out, spoilt, sizeof spoilt);
    fixture_read(&b.fixture, 0, b.all, b.out);
    assert_memory_equal(b.out, spoilt, sizeof spoilt);
    b.graphs->destroy(graph);
    bench_close(&b);
}

TEST(capture_of_nothing_is_a_graph) {
    bench_t b;
    gantry_backend_graph_t *graph = NULL;

    bench_open(&b);
    assert_ok(b.graphs->begin_capture(b.stream));
    assert_ok(b.graphs->end_capture(b.stream, &graph));
    assert_ok(b.graphs->launch(b.stream, graph));
    assert_ok(b.streams->synchronize(b.stream));
    b.graphs->destroy(graph);
    bench_close(&b);
}

/* Two launches of one graph on two streams do not run at the same time: each adds its share. */
TEST(launches_of_one_graph_follow_each_other) {
    bench_t b;
    gantry_backend_graph_t *graph = NULL;
    gantry_backend_stream_t *other = NULL;

    bench_open(&b);
    set_in(&b, 1);
    fixture_write(&b.fixture, 0, piece(&b, 0), b.in);
    assert_ok(b.streams->create(b.fixture.device[0], GANTRY_STREAM_COMPUTE, &other));
    assert_ok(b.graphs->begin_capture(b.stream));
    assert_ok(scale(&b, b.stream, 0, 1, -1));
    assert_ok(scale(&b, b.stream, 1, 0, 2));
    assert_ok(b.graphs->end_capture(b.stream, &graph));
    for (int i = 0; i < 8; ++i) {
        assert_ok(b.graphs->launch(i % 2 == 0 ? b.stream : other, graph));
    }
    assert_ok(b.streams->synchronize(b.stream));
    assert_ok(b.streams->synchronize(other));
    fixture_read(&b.fixture, 0, piece(&b, 0), b.out);
    for (int32_t i = 0; i < WORDS; ++i) {
        assert_int_equal(b.out[i], 256 * b.in[i]);
    }
    b.graphs->destroy(graph);
    b.streams->destroy(other);
    bench_close(&b);
}

TEST(graph_outlives_the_stream_it_was_captured_on) {
    bench_t b;
    gantry_backend_graph_t *graph;
    int32_t expected[4 * WORDS];

    bench_open(&b);
    set_in(&b, 9);
    run_directly(&b, expected);
    graph = capture_chain(&b);
    b.streams->destroy(b.stream);
    assert_ok(b.streams->create(b.fixture.device[0], GANTRY_STREAM_COMPUTE, &b.stream));
    b.fixture.stream[0] = b.stream;
    spoil(&b);
    assert_ok(b.graphs->launch(b.stream, graph));
    assert_ok(b.streams->synchronize(b.stream));
    assert_memory_equal(b.out, expected, sizeof expected);
    b.graphs->destroy(graph);
    bench_close(&b);
}

/* ---- events and branches ---- */

typedef struct branch_t {
    bench_t b;
    gantry_backend_stream_t *other;
    gantry_backend_event_t *fork;
    gantry_backend_event_t *join;
} branch_t;

static void branch_open(branch_t *r) {
    memset(r, 0, sizeof *r);
    bench_open(&r->b);
    assert_ok(r->b.streams->create(r->b.fixture.device[0], GANTRY_STREAM_COMPUTE, &r->other));
    assert_ok(r->b.events->create(r->b.fixture.device[0], &r->fork));
    assert_ok(r->b.events->create(r->b.fixture.device[0], &r->join));
    set_in(&r->b, 4);
    fixture_write(&r->b.fixture, 0, piece(&r->b, 0), r->b.in);
}

static void branch_close(branch_t *r) {
    r->b.events->destroy(r->fork);
    r->b.events->destroy(r->join);
    r->b.streams->destroy(r->other);
    bench_close(&r->b);
}

/* Piece 1 on the branch, piece 2 beside it, piece 3 of the branch's. */
static void submit_branch(branch_t *r, int has_join) {
    bench_t *b = &r->b;

    assert_ok(b->events->record(r->fork, b->stream));
    assert_ok(b->streams->wait_event(r->other, r->fork));
    assert_ok(scale(b, r->other, 0, 1, 2));
    assert_ok(scale(b, b->stream, 0, 2, 3));
    assert_ok(b->events->record(r->join, r->other));
    if (has_join) {
        assert_ok(b->streams->wait_event(b->stream, r->join));
        assert_ok(scale(b, b->stream, 1, 3, 5));
    }
}

TEST(branch_that_is_joined_is_part_of_the_graph) {
    branch_t r;
    gantry_backend_graph_t *graph = NULL;

    branch_open(&r);
    assert_ok(r.b.graphs->begin_capture(r.b.stream));
    submit_branch(&r, 1);
    assert_ok(r.b.graphs->end_capture(r.b.stream, &graph));
    for (int i = 0; i < 2; ++i) {
        assert_ok(r.b.graphs->launch(r.b.stream, graph));
    }
    fixture_read(&r.b.fixture, 0, r.b.all, r.b.out);
    for (int32_t i = 0; i < WORDS; ++i) {
        assert_int_equal(r.b.out[WORDS + i], 2 * r.b.in[i]);
        assert_int_equal(r.b.out[2 * WORDS + i], 3 * r.b.in[i]);
        assert_int_equal(r.b.out[3 * WORDS + i], 10 * r.b.in[i]);
    }
    assert_ok(r.b.streams->synchronize(r.other)); /* the branch has ended */
    r.b.graphs->destroy(graph);
    branch_close(&r);
}

TEST(branch_that_is_not_joined_fails_the_end) {
    branch_t r;
    gantry_backend_graph_t *graph = (gantry_backend_graph_t *)&r;

    branch_open(&r);
    assert_ok(r.b.graphs->begin_capture(r.b.stream));
    submit_branch(&r, 0);
    assert_int_equal(r.b.graphs->end_capture(r.b.stream, &graph), GANTRY_FAILED_PRECONDITION);
    assert_error_has("CUDA_ERROR_STREAM_CAPTURE_UNJOINED (904)");
    assert_null(graph);
    assert_ok(r.b.streams->synchronize(r.other));
    check_usable(&r.b);
    branch_close(&r);
}

TEST(captured_event_has_no_use_outside_until_recorded_again) {
    branch_t r;
    gantry_backend_graph_t *graph = NULL;
    int32_t is_done = 0;

    branch_open(&r);
    assert_ok(r.b.graphs->begin_capture(r.b.stream));
    submit_branch(&r, 1);
    assert_ok(r.b.graphs->end_capture(r.b.stream, &graph));
    assert_ok(r.b.graphs->launch(r.b.stream, graph));
    assert_ok(r.b.streams->synchronize(r.b.stream));
    assert_int_equal(r.b.events->query(r.join, &is_done), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(r.b.events->synchronize(r.join), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(r.b.streams->wait_event(r.other, r.join), GANTRY_FAILED_PRECONDITION);
    assert_ok(r.b.events->record(r.join, r.b.stream));
    assert_ok(r.b.streams->wait_event(r.other, r.join));
    assert_ok(r.b.events->synchronize(r.join));
    assert_ok(r.b.events->query(r.join, &is_done));
    assert_int_equal(is_done, 1);
    r.b.graphs->destroy(graph);
    branch_close(&r);
}

TEST(launch_on_a_branch_is_refused_and_spoils_nothing) {
    const stand_in_control_t *control = fixture_control();
    branch_t r;
    gantry_backend_graph_t *graph;
    gantry_backend_graph_t *none = NULL;
    char why[256] = "";

    branch_open(&r);
    graph = capture_chain(&r.b);
    assert_ok(r.b.graphs->begin_capture(r.b.stream));
    assert_ok(r.b.events->record(r.fork, r.b.stream));
    assert_ok(r.b.streams->wait_event(r.other, r.fork));
    assert_int_equal(r.b.graphs->launch(r.other, graph), GANTRY_FAILED_PRECONDITION);
    assert_error_has("a capture has begun on this stream of \"");
    if (control->complaints(why, sizeof why) != 0) fail_msg("%s", why);
    assert_ok(r.b.events->record(r.join, r.other));
    assert_ok(r.b.streams->wait_event(r.b.stream, r.join));
    assert_ok(r.b.graphs->end_capture(r.b.stream, &none));
    r.b.graphs->destroy(none);
    assert_ok(r.b.graphs->launch(r.other, graph)); /* the branch has ended */
    assert_ok(r.b.streams->synchronize(r.other));
    r.b.graphs->destroy(graph);
    branch_close(&r);
}

TEST(wait_for_an_event_of_outside_spoils_the_capture) {
    branch_t r;
    gantry_backend_graph_t *graph = NULL;

    branch_open(&r);
    assert_ok(r.b.events->record(r.fork, r.other));
    assert_ok(r.b.graphs->begin_capture(r.b.stream));
    assert_int_equal(r.b.streams->wait_event(r.b.stream, r.fork), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(r.b.graphs->end_capture(r.b.stream, &graph), GANTRY_FAILED_PRECONDITION);
    assert_error_has("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)");
    assert_null(graph);
    check_usable(&r.b);
    branch_close(&r);
}

/* ---- refused and allowed calls ---- */

TEST(calls_out_of_turn_are_refused) {
    bench_t b;
    gantry_backend_graph_t *graph;
    gantry_backend_graph_t *none = NULL;

    bench_open(&b);
    graph = capture_chain(&b);
    assert_int_equal(b.graphs->end_capture(b.stream, &none), GANTRY_FAILED_PRECONDITION);
    assert_error_has("no capture has begun on this stream of \"");
    assert_ok(b.graphs->begin_capture(b.stream));
    assert_int_equal(b.graphs->begin_capture(b.stream), GANTRY_FAILED_PRECONDITION);
    assert_error_has("a capture has already begun");
    assert_int_equal(b.graphs->launch(b.stream, graph), GANTRY_FAILED_PRECONDITION);
    /* the refusals did not invalidate the capture */
    assert_ok(b.graphs->end_capture(b.stream, &none));
    b.graphs->destroy(none);
    b.graphs->destroy(graph);
    check_usable(&b);
    bench_close(&b);
}

TEST(synchronize_of_a_captured_stream_is_refused_and_the_stream_usable) {
    bench_t b;
    gantry_backend_graph_t *graph = NULL;

    bench_open(&b);
    assert_ok(b.graphs->begin_capture(b.stream));
    assert_ok(submit_chain(&b));
    assert_int_equal(b.streams->synchronize(b.stream), GANTRY_FAILED_PRECONDITION);
    assert_error_has("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)");
    assert_int_equal(b.graphs->end_capture(b.stream, &graph), GANTRY_FAILED_PRECONDITION);
    assert_null(graph);
    check_usable(&b);
    bench_close(&b);
}

/* Both directions, on the stream of the capture and on a branch. The capture goes on without. */
TEST(copies_of_pageable_memory_are_refused_and_spoil_nothing) {
    branch_t r;
    gantry_backend_graph_t *graph = NULL;
    int32_t pageable[WORDS];

    branch_open(&r);
    const gantry_transfer_ops_t *transfer = r.b.fixture.backend->transfer;
    const gantry_span_t first = piece(&r.b, 0);
    memset(pageable, 0, sizeof pageable);
    assert_ok(transfer->to_device(r.b.stream, &first, pageable)); /* no capture yet */
    assert_ok(r.b.graphs->begin_capture(r.b.stream));
    assert_int_equal(transfer->to_device(r.b.stream, &first, pageable), GANTRY_FAILED_PRECONDITION);
    assert_error_has("copy of 256 bytes of pageable host memory on \"");
    assert_error_has("a capture accepts only host memory of host_alloc");
    assert_int_equal(transfer->to_host(r.b.stream, pageable, &first), GANTRY_FAILED_PRECONDITION);
    assert_ok(r.b.events->record(r.fork, r.b.stream));
    assert_ok(r.b.streams->wait_event(r.other, r.fork));
    assert_int_equal(transfer->to_device(r.other, &first, pageable), GANTRY_FAILED_PRECONDITION);
    assert_ok(r.b.events->record(r.join, r.other));
    assert_ok(r.b.streams->wait_event(r.b.stream, r.join));
    assert_ok(submit_chain(&r.b)); /* pinned memory */
    assert_ok(r.b.graphs->end_capture(r.b.stream, &graph));
    assert_ok(r.b.graphs->launch(r.b.stream, graph));
    assert_ok(r.b.streams->synchronize(r.b.stream));
    r.b.graphs->destroy(graph);
    assert_ok(transfer->to_host(r.b.stream, pageable, &first)); /* no capture any more */
    check_usable(&r.b);
    branch_close(&r);
}

/* Allocates and frees objects that the capture does not use; NULL if a call was refused. */
static void *take_memory_and_programs(void *self) {
    const fixture_t *fixture = self;
    const gantry_backend_t *backend = fixture->backend;
    gantry_backend_program_t *program = NULL;
    gantry_region_t region = 0;
    void *host = NULL;

    if (backend->memory->region_alloc(fixture->device[0], 4096, &region) != 0) return NULL;
    backend->memory->region_free(fixture->device[0], region, 4096);
    if (backend->memory->host_alloc(fixture->device[0], 4096, &host) != 0) return NULL;
    backend->memory->host_free(fixture->device[0], host, 4096);
    if (backend->program->build(fixture->device[0], &source, "", &program) != 0) return NULL;
    backend->program->destroy(program);
    return self;
}

typedef struct end_t {
    bench_t *b;
    gantry_backend_graph_t *graph;
    int32_t status;
} end_t;

static void *end_elsewhere(void *self) {
    end_t *end = self;

    end->status = end->b->graphs->end_capture(end->b->stream, &end->graph);
    return self;
}

static void run_on_a_thread(void *(*body)(void *), void *self) {
    pthread_t thread;
    void *result = NULL;

    assert_int_equal(pthread_create(&thread, NULL, body, self), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, self);
}

TEST(memory_and_programs_are_taken_during_a_capture_by_any_thread) {
    bench_t b;
    end_t end = {&b, NULL, -1};

    bench_open(&b);
    set_in(&b, 3);
    assert_ok(b.graphs->begin_capture(b.stream));
    assert_non_null(take_memory_and_programs(&b.fixture));
    assert_ok(submit_chain(&b));
    run_on_a_thread(take_memory_and_programs, &b.fixture);
    run_on_a_thread(end_elsewhere, &end);
    assert_int_equal(end.status, 0);
    assert_ok(b.graphs->launch(b.stream, end.graph));
    assert_ok(b.streams->synchronize(b.stream));
    assert_int_equal(b.out[2 * WORDS + 2], -21 * b.in[2]);
    b.graphs->destroy(end.graph);
    bench_close(&b);
}

/* ---- failures ---- */

typedef struct fault_t {
    int left; /* calls until one fails */
} fault_t;

/* All functions but those of contexts: Gantry cannot recover from a driver that cannot push a
 * context. */
static int32_t fail_one(void *self, const char *function) {
    fault_t *fault = self;

    return strncmp(function, "cuCtx", 5) != 0 && fault->left-- == 0 ? 2 : 0;
}

/* Captures, launches, destroys the graph; returns the first status that is not 0. */
static int32_t whole_life(const bench_t *b, gantry_backend_event_t *event) {
    gantry_backend_graph_t *graph = NULL;
    int32_t status = b->graphs->begin_capture(b->stream);
    int32_t ended;

    if (status != 0) return status;
    status = submit_chain(b);
    if (status == 0) status = b->events->record(event, b->stream);
    if (status == 0) status = b->streams->wait_event(b->stream, event);
    ended = b->graphs->end_capture(b->stream, &graph);
    assert_true((graph != NULL) == (ended == 0));
    if (status == 0) status = ended;
    if (graph != NULL) {
        if (status == 0) status = b->graphs->launch(b->stream, graph);
        b->graphs->destroy(graph);
    }
    return status;
}

TEST(every_driver_call_that_fails_leaks_nothing) {
    const stand_in_control_t *control = fixture_control();
    int32_t status = GANTRY_RESOURCE_EXHAUSTED;
    int failures = 0;

    for (int at = 0; at < 100; ++at) {
        bench_t b;
        fault_t fault = {at};
        gantry_backend_event_t *event = NULL;

        bench_open(&b);
        assert_ok(b.events->create(b.fixture.device[0], &event));
        set_in(&b, 1);
        control->watch(fail_one, &fault);
        status = whole_life(&b, event);
        control->watch(NULL, NULL);
        assert_ok(b.streams->synchronize(b.stream));
        assert_int_equal(control->live(STAND_IN_GRAPHS), 0);
        check_usable(&b);
        b.events->destroy(event);
        bench_close(&b);
        if (fault.left >= 0) break; /* no call failed */
        /* functions that free objects cannot return an error */
        assert_true(status == GANTRY_RESOURCE_EXHAUSTED || status == 0);
        failures += status != 0;
    }
    assert_int_equal(status, 0);
    assert_true(failures >= 10);
    print_message("  %d driver calls failed in turn\n", failures);
}

TEST(host_memory_running_out_at_the_end_ends_the_capture) {
    bench_t b;
    gantry_backend_graph_t *graph = NULL;

    bench_open(&b);
    assert_ok(b.graphs->begin_capture(b.stream));
    assert_ok(submit_chain(&b));
    atomic_store(&b.fixture.fail_at, atomic_load(&b.fixture.allocations) + 1);
    assert_int_equal(b.graphs->end_capture(b.stream, &graph), GANTRY_RESOURCE_EXHAUSTED);
    assert_null(graph);
    assert_int_equal(fixture_control()->live(STAND_IN_GRAPHS), 0);
    check_usable(&b);
    bench_close(&b);
}

TEST(lost_card_is_unavailable_in_every_slot) {
    const stand_in_control_t *control = fixture_control();
    bench_t b;
    gantry_backend_graph_t *graph;
    gantry_backend_graph_t *none = NULL;

    bench_open(&b);
    graph = capture_chain(&b);
    assert_ok(b.graphs->begin_capture(b.stream));
    control->lose(0, 719);
    assert_int_equal(submit_chain(&b), GANTRY_UNAVAILABLE);
    assert_int_equal(b.graphs->end_capture(b.stream, &none), GANTRY_UNAVAILABLE);
    assert_error_has("CUDA_ERROR_LAUNCH_FAILED (719)");
    assert_null(none);
    assert_int_equal(b.graphs->begin_capture(b.stream), GANTRY_UNAVAILABLE);
    assert_int_equal(b.graphs->launch(b.stream, graph), GANTRY_UNAVAILABLE);
    b.graphs->destroy(graph);
    bench_close(&b);
    control->reset();
}

TEST(stream_destroyed_during_a_capture_ends_it) {
    bench_t b;

    bench_open(&b);
    assert_ok(b.graphs->begin_capture(b.stream));
    assert_ok(submit_chain(&b));
    b.streams->destroy(b.stream);
    b.fixture.stream[0] = NULL;
    /* no capture is left open in the driver */
    assert_int_equal(fixture_control()->complaints(NULL, 0), 0);
    bench_close(&b);
}

/* The stand-in reports the caller that frees a region which a graph still names. */
TEST(region_freed_under_a_graph_is_found_out) {
    const stand_in_control_t *control = fixture_control();
    bench_t b;
    gantry_backend_graph_t *graph;

    bench_open(&b);
    graph = capture_chain(&b);
    fixture_region_free(&b.fixture, 0, b.all);
    b.all.region = 0;
    assert_int_equal(b.graphs->launch(b.stream, graph), GANTRY_UNAVAILABLE);
    assert_true(control->complaints(NULL, 0) > 0);
    b.graphs->destroy(graph);
    bench_close(&b);
    control->reset();
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M;cc=9.0", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main();
}
