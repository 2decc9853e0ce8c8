/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The fake backend of the tests reports its caller's mistakes, runs its kernels and
 * compiles their programs. */
#define _XOPEN_SOURCE 700

#include "fake_host.h"
#include "test.h"

#define BYTES 4096u
#define FAILED (GANTRY_INTERNAL)

static const gantry_fake_control_t *fake;

typedef struct fixture_t {
    fake_host_t host;
    const gantry_backend_t *backend;
    gantry_backend_instance_t *instance;
    gantry_backend_device_t *devices[2];
    gantry_backend_stream_t *streams[2]; /* of the first device */
    gantry_region_t regions[2];          /* one on each device */
} fixture_t;

static void open_all(fixture_t *f) {
    gantry_fake_device_t settings;
    fake_host_init(&f->host);
    fake->reset();
    fake->set_device_count(2);
    fake->get_device(0, &settings);
    settings.program_kinds = GANTRY_FAKE_PROGRAMS;
    settings.largest_allocation_bytes = 1 << 20;
    fake->set_device(0, &settings);
    assert_int_equal(gantry_backend_query_fake(GANTRY_ABI_VERSION, &f->backend), 0);
    assert_int_equal(f->backend->open(&f->host.host, &f->instance), 0);
    for (uint32_t i = 0; i < 2; ++i) {
        assert_int_equal(f->backend->device_open(f->instance, i, &f->devices[i]), 0);
        assert_int_equal(f->backend->memory->region_alloc(f->devices[i], BYTES, &f->regions[i]), 0);
    }
    for (int32_t i = 0; i < 2; ++i)
        assert_int_equal(f->backend->stream->create(f->devices[0], i, &f->streams[i]), 0);
}

static void close_all(fixture_t *f) {
    for (int i = 0; i < 2; ++i) f->backend->stream->destroy(f->streams[i]);
    for (int i = 0; i < 2; ++i) {
        f->backend->memory->region_free(f->devices[i], f->regions[i], BYTES);
        f->backend->device_close(f->devices[i]);
    }
    f->backend->close(f->instance);
    fake_expect_nothing_lives(fake);
    fake_host_deinit(&f->host);
}

/* Expects one violation that contains the word, and resets the count. */
static void expect_violation(const char *word) {
    char text[256];
    fake->first_violation(text, sizeof text);
    if (fake->violations() == 0 || !strstr(text, word))
        fail_msg("\"%s\" was not found out: \"%s\"", word, text);
    fake->reset();
}

static gantry_span_t span(gantry_region_t region, uint64_t offset, uint64_t size) {
    return (gantry_span_t){region, offset, size};
}

static int32_t fill(const fixture_t *f, gantry_span_t target, uint32_t pattern_bytes) {
    const uint64_t zero = 0;
    return f->backend->transfer->fill(f->streams[0], &target, &zero, pattern_bytes);
}

/* ---- misuse ---- */

TEST(handles_past_their_end_are_found_out) {
    fixture_t f;
    gantry_backend_event_t *event;
    gantry_backend_stream_t *stream;
    int32_t done;
    open_all(&f);
    assert_int_equal(f.backend->event->create(f.devices[0], &event), 0);
    assert_int_equal(f.backend->event->record(event, f.streams[0]), 0);
    f.backend->event->destroy(event);
    assert_int_equal(f.backend->event->synchronize(event), FAILED);
    expect_violation("event_synchronize: event");
    assert_int_equal(f.backend->event->query(event, &done), FAILED);
    expect_violation("does not live");
    f.backend->event->destroy(event);
    expect_violation("event_destroy: event");
    assert_int_equal(f.backend->stream->create(f.devices[0], 0, &stream), 0);
    f.backend->stream->destroy(stream);
    assert_int_equal(f.backend->stream->synchronize(stream), FAILED);
    expect_violation("stream_synchronize: stream");
    gantry_region_t region;
    assert_int_equal(f.backend->memory->region_alloc(f.devices[0], 512, &region), 0);
    f.backend->memory->region_free(f.devices[0], region, 512);
    f.backend->memory->region_free(f.devices[0], region, 512);
    expect_violation("region_free: region");
    assert_int_equal(fill(&f, span(region, 0, 512), 4), FAILED);
    expect_violation("fill: region");
    assert_int_equal(fill(&f, span(0, 0, 4), 4), FAILED);
    expect_violation("does not live");
    close_all(&f);
}

TEST(spans_outside_are_found_out) {
    fixture_t f;
    open_all(&f);
    const gantry_span_t bad[] = {span(f.regions[0], 0, BYTES + 4), span(f.regions[0], BYTES, 4),
                                 span(f.regions[0], UINT64_MAX - 3, 8),
                                 span(f.regions[0], 4, UINT64_MAX - 3)};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        assert_int_equal(fill(&f, bad[i], 4), FAILED);
        expect_violation("outside of region");
    }
    assert_int_equal(fill(&f, span(f.regions[1], 0, 4), 4), FAILED);
    expect_violation("lies on another device");
    assert_int_equal(fill(&f, span(f.regions[0], 0, 0), 4), FAILED);
    expect_violation("0 bytes");
    assert_int_equal(fill(&f, span(f.regions[0], 2, 4), 4), FAILED);
    expect_violation("does not divide");
    assert_int_equal(fill(&f, span(f.regions[0], 0, 4), 3), FAILED);
    expect_violation("a pattern of 3 bytes");
    gantry_span_t a = span(f.regions[0], 0, 64), b = span(f.regions[0], 60, 64);
    assert_int_equal(f.backend->transfer->copy(f.streams[0], &a, &b), FAILED);
    expect_violation("overlap");
    assert_int_equal(fill(&f, span(f.regions[0], 4, 8), 4), 0); /* allowed, but counted */
    assert_int_equal(fake->misaligned(), 1);
    close_all(&f);
}

TEST(wrong_sizes_are_found_out) {
    fixture_t f;
    gantry_region_t region;
    open_all(&f);
    assert_int_equal(f.backend->memory->region_alloc(f.devices[0], (1 << 20) + 1, &region), FAILED);
    expect_violation("largest allocation");
    assert_int_equal(f.backend->memory->region_alloc(f.devices[0], 0, &region), FAILED);
    expect_violation("0 bytes");
    assert_int_equal(f.backend->memory->region_alloc(f.devices[0], 512, &region), 0);
    f.backend->memory->region_free(f.devices[0], region, 256);
    expect_violation("has 512 bytes, not 256");
    fake->set_capacity(0, 8192);
    assert_int_equal(f.backend->memory->region_alloc(f.devices[0], 8192, &region),
                     GANTRY_RESOURCE_EXHAUSTED);
    assert_int_equal(fake->violations(), 0); /* a too large request is no violation */
    close_all(&f);
}

TEST(freeing_under_pending_work_is_found_out) {
    fixture_t f;
    gantry_region_t region;
    open_all(&f);
    fake->close_gate(0, 7);
    assert_int_equal(f.backend->memory->region_alloc(f.devices[0], 512, &region), 0);
    assert_int_equal(fill(&f, span(region, 0, 512), 4), 0);
    f.backend->memory->region_free(f.devices[0], region, 512);
    assert_int_equal(fake->violations(), 1);
    fake->open_gate(0, 7);
    assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    assert_int_equal(fake->violations(), 2); /* and when the work ran, its memory was gone */
    expect_violation("freed before the host has waited");
    assert_int_equal(f.backend->memory->region_alloc(f.devices[0], 512, &region), 0);
    assert_int_equal(fill(&f, span(region, 0, 512), 4), 0);
    /* the work has ended, but the host cannot know it */
    assert_true(fake->wait_finished(0, 1, 5000));
    f.backend->memory->region_free(f.devices[0], region, 512);
    expect_violation("freed before the host has waited");
    close_all(&f);
}

TEST(changed_source_is_found_out) {
    fixture_t f;
    unsigned char bytes[64] = {1};
    open_all(&f);
    gantry_span_t target = span(f.regions[0], 0, sizeof bytes);
    fake->close_gate(0, 7);
    assert_int_equal(f.backend->transfer->to_device(f.streams[0], &target, bytes), 0);
    bytes[63] = 2;
    fake->open_gate(0, 7);
    assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    expect_violation("the source was written to");
    close_all(&f);
}

TEST(unordered_work_is_found_out) {
    fixture_t f;
    gantry_backend_event_t *event;
    open_all(&f);
    gantry_span_t first = span(f.regions[0], 0, 64), second = span(f.regions[0], 64, 64),
                  target = span(f.regions[0], 256, 64);
    assert_int_equal(fill(&f, first, 4), 0);
    /* other bytes */
    assert_int_equal(f.backend->transfer->copy(f.streams[1], &target, &second), 0);
    assert_int_equal(f.backend->event->create(f.devices[0], &event), 0);
    assert_int_equal(f.backend->event->record(event, f.streams[0]), 0);
    assert_int_equal(f.backend->stream->wait_event(f.streams[1], event), 0);
    assert_int_equal(f.backend->transfer->copy(f.streams[1], &target, &first), 0); /* in order */
    /* the first copy reads it */
    assert_int_equal(fill(&f, second, 4), FAILED);
    f.backend->event->destroy(event);
    for (int i = 0; i < 2; ++i) assert_int_equal(f.backend->stream->synchronize(f.streams[i]), 0);
    /* nothing is in flight: this call resets the counts */
    expect_violation("writes bytes 64 to 128");
    assert_int_equal(fill(&f, second, 4), 0); /* the host has waited */
    assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    close_all(&f);
}

/* ---- requested failures ---- */

TEST(every_slot_that_can_fail_fails_on_order) {
    uint32_t can_fail = 0;
    for (uint32_t slot = 0; slot < fake->slot_count(); ++slot) {
        const char *name = fake->slot_name(slot);
        int32_t planned = fake->fail_calls(name, 1, 1, GANTRY_UNAVAILABLE, "x");
        assert_int_equal(planned, fake->slot_can_fail(slot));
        can_fail += planned != 0;
        fake->reset();
    }
    assert_true(can_fail > 20);
    assert_false(fake->fail_calls("no_such_slot", 1, 1, GANTRY_UNAVAILABLE, "x"));
    assert_true(fake->calls("no_such_slot") == UINT64_MAX);
}

TEST(planned_failures_hit_the_call_that_was_meant) {
    fixture_t f;
    open_all(&f);
    gantry_span_t target = span(f.regions[0], 0, 64);
    uint64_t free_bytes, total_bytes;
    assert_true(fake->fail_calls(NULL, 3, 1, GANTRY_INTERNAL, "any"));
    assert_int_equal(f.backend->stream->flush(f.streams[0]), 0);
    assert_int_equal(f.backend->memory->memory_info(f.devices[0], &free_bytes, &total_bytes), 0);
    assert_int_equal(f.backend->stream->flush(f.streams[0]), GANTRY_INTERNAL);
    assert_int_equal(f.backend->stream->flush(f.streams[0]), 0);
    assert_int_equal(free_bytes, total_bytes - BYTES);
    fake->reset();
    assert_true(fake->fail_calls("fill", 2, 2, GANTRY_UNAVAILABLE, "planned"));
    static const int32_t fills[] = {0, GANTRY_UNAVAILABLE, GANTRY_UNAVAILABLE, 0};
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(fill(&f, target, 4), fills[i]);
        if (fills[i]) assert_string_equal(gantry__message(), "planned");
    }
    assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    close_all(&f);
}

/* ---- programs ---- */

static int32_t build(const fixture_t *f, const char *text, gantry_backend_program_t **out_program) {
    const char *parts[] = {"/* head */\n", text};
    gantry_program_source_t source = {.struct_size = sizeof source,
                                      .kinds = GANTRY_FAKE_PROGRAMS,
                                      .label = "test/program",
                                      .parts = parts,
                                      .part_count = 2};
    return f->backend->program->build(f->devices[0], &source, "-DX=1", out_program);
}

TEST(programs_are_built_loaded_and_run) {
    fixture_t f;
    gantry_backend_program_t *program, *loaded;
    gantry_backend_kernel_t *kernel;
    open_all(&f);
    const gantry_program_ops_t *ops = f.backend->program;
    assert_int_equal(build(&f, "kernel fill_words(x)\n#error no such thing\n", &program),
                     GANTRY_INVALID_ARGUMENT);
    assert_null(program);
    assert_string_equal(gantry__message(),
                        "test/program cannot be built with \"-DX=1\": #error no such thing");
    assert_int_equal(build(&f, "kernel fill_words(x)\nkernel other\n", &program), 0);
    char binary[256];
    uint64_t size = 0;
    assert_int_equal(ops->binary(program, NULL, &size), 0);
    assert_true(size > 0 && size <= sizeof binary);
    assert_int_equal(ops->binary(program, binary, &size), 0);
    ops->destroy(program);
    assert_int_equal(ops->load_binary(f.devices[0], "rubbish", 7, "test/program", &loaded),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(ops->load_binary(f.devices[0], binary, size, "test/program", &loaded), 0);
    /* a name's prefix names nothing */
    assert_int_equal(ops->kernel_find(loaded, "fill", &kernel), GANTRY_NOT_FOUND);
    assert_int_equal(ops->kernel_find(loaded, "fill_words", &kernel), 0);
    uint32_t value = 77, results[4];
    gantry_launch_arg_t args[2] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = span(f.regions[0], 0, 16)},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = 4, .as.value = &value}};
    gantry_launch_t launch = {.struct_size = sizeof launch,
                              .dimensions = 1,
                              .global_size = {4},
                              .args = args,
                              .arg_count = 2};
    assert_int_equal(ops->launch(f.streams[0], kernel, &launch), 0);
    gantry_span_t source = span(f.regions[0], 0, 16);
    assert_int_equal(f.backend->transfer->to_host(f.streams[0], results, &source), 0);
    assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    for (int i = 0; i < 4; ++i) assert_int_equal(results[i], 77);
    launch.local_size[0] = 3;
    assert_int_equal(ops->launch(f.streams[0], kernel, &launch), FAILED);
    expect_violation("global size 4, local size 3");
    launch.local_size[0] = 0;
    ops->destroy(loaded); /* with its kernel */
    assert_int_equal(ops->launch(f.streams[0], kernel, &launch), FAILED);
    expect_violation("launch: kernel 0x");
    close_all(&f);
}

/* ---- graphs ---- */

/* Writes the pattern of pinned memory into the first region and reads it back. */
static gantry_backend_graph_t *capture(const fixture_t *f, const void *in, void *out) {
    const gantry_span_t there = span(f->regions[0], 0, 64);
    gantry_backend_graph_t *graph = NULL;
    assert_int_equal(f->backend->graph->begin_capture(f->streams[0]), 0);
    assert_int_equal(f->backend->transfer->to_device(f->streams[0], &there, in), 0);
    assert_int_equal(f->backend->transfer->to_host(f->streams[0], out, &there), 0);
    assert_int_equal(f->backend->graph->end_capture(f->streams[0], &graph), 0);
    return graph;
}

TEST(graph_runs_at_each_launch_and_behind_gates) {
    fixture_t f;
    unsigned char *host;
    open_all(&f);
    assert_int_equal(f.backend->memory->host_alloc(f.devices[0], 128, (void **)&host), 0);
    memset(host, 1, 128);
    gantry_backend_graph_t *graph = capture(&f, host, host + 64);
    assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    assert_int_equal(host[64], 1); /* a transfer during a capture damages its target */
    assert_int_equal(fake->finished(0), 0);
    for (int run = 0; run < 4; ++run) {
        gantry_backend_stream_t *stream = f.streams[run % 2];
        memset(host, 10 + run, 64);
        fake->close_gate(0, 7);
        assert_int_equal(f.backend->graph->launch(stream, graph), 0);
        assert_int_not_equal(host[64], 10 + run);
        assert_int_equal(fake->waiting(0), 2);
        fake->open_gate(0, 7);
        assert_int_equal(f.backend->stream->synchronize(stream), 0);
        assert_int_equal(host[64], 10 + run);
    }
    f.backend->graph->destroy(graph);
    f.backend->memory->host_free(f.devices[0], host, 128);
    assert_int_equal(fake->violations(), 0);
    close_all(&f);
}

TEST(graph_that_loses_what_it_names_is_found_out) {
    fixture_t f;
    unsigned char *host, plain[128] = {0};
    gantry_region_t spare;
    open_all(&f);
    assert_int_equal(f.backend->memory->host_alloc(f.devices[0], 128, (void **)&host), 0);
    gantry_backend_graph_t *graph = capture(&f, plain, plain + 64);
    assert_int_equal(f.backend->graph->launch(f.streams[0], graph), FAILED);
    expect_violation("not of host_alloc");
    f.backend->graph->destroy(graph);
    graph = capture(&f, host, host + 64);
    fake->close_gate(0, 7);
    assert_int_equal(f.backend->graph->launch(f.streams[0], graph), 0);
    f.backend->graph->destroy(graph);
    expect_violation("destroyed before its launch has ended");
    assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    assert_int_equal(f.backend->memory->region_alloc(f.devices[0], BYTES, &spare), 0);
    graph = capture(&f, host, host + 64);
    f.backend->memory->region_free(f.devices[0], f.regions[0], BYTES);
    assert_int_equal(fake->violations(), 0); /* a graph that is not launched any more */
    assert_int_equal(f.backend->graph->launch(f.streams[0], graph), FAILED);
    expect_violation("a graph names a region that was freed");
    assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    f.backend->graph->destroy(graph);
    f.regions[0] = spare;
    f.backend->memory->host_free(f.devices[0], host, 128);
    close_all(&f);
}

TEST(capture_that_is_spoilt_gives_no_graph) {
    fixture_t f;
    gantry_backend_event_t *event;
    gantry_backend_graph_t *graph;
    int32_t done;
    open_all(&f);
    assert_int_equal(f.backend->event->create(f.devices[0], &event), 0);
    assert_int_equal(f.backend->graph->end_capture(f.streams[0], &graph),
                     GANTRY_FAILED_PRECONDITION);
    for (int cause = 0; cause < 3; ++cause) {
        assert_int_equal(f.backend->event->record(event, f.streams[0]), 0);
        assert_int_equal(f.backend->graph->begin_capture(f.streams[0]), 0);
        assert_int_equal(f.backend->graph->begin_capture(f.streams[0]), GANTRY_FAILED_PRECONDITION);
        if (cause == 0) {
            assert_int_equal(f.backend->stream->synchronize(f.streams[0]),
                             GANTRY_FAILED_PRECONDITION);
        } else if (cause == 1) {
            assert_int_equal(f.backend->stream->wait_event(f.streams[0], event),
                             GANTRY_FAILED_PRECONDITION);
        } else {
            assert_true(fake->fail_calls("fill", 1, 1, GANTRY_RESOURCE_EXHAUSTED, "x"));
            assert_int_equal(fill(&f, span(f.regions[0], 0, 64), 4), GANTRY_RESOURCE_EXHAUSTED);
        }
        assert_int_equal(f.backend->graph->end_capture(f.streams[0], &graph),
                         GANTRY_FAILED_PRECONDITION);
        assert_int_equal(f.backend->stream->synchronize(f.streams[0]), 0);
    }
    assert_int_equal(f.backend->graph->begin_capture(f.streams[0]), 0);
    assert_int_equal(f.backend->event->record(event, f.streams[0]), 0);
    assert_int_equal(f.backend->stream->wait_event(f.streams[0], event), 0);
    assert_int_equal(f.backend->event->query(event, &done), GANTRY_FAILED_PRECONDITION);
    /* close_all ends the graph with its stream */
    assert_int_equal(fake->live(GANTRY_FAKE_GRAPH), 1);
    f.backend->event->destroy(event);
    assert_int_equal(fake->violations(), 0);
    close_all(&f);
}

/* The last one: what it leaves is found in each later test. */
TEST(unbalanced_objects_are_found_out) {
    fixture_t f;
    gantry_backend_device_t *device;
    gantry_backend_instance_t *instance;
    gantry_region_t region;
    open_all(&f);
    assert_int_equal(f.backend->open(&f.host.host, &instance), 0);
    assert_int_equal(f.backend->device_open(instance, 0, &device), 0);
    assert_int_equal(f.backend->memory->region_alloc(device, 512, &region), 0);
    assert_int_equal(fake->live(GANTRY_FAKE_REGION), 3);
    f.backend->device_close(device);
    expect_violation("device 0 is closed with 1 objects alive");
    f.backend->close(instance);
    expect_violation("closed with 1 objects alive");
    assert_int_equal(fake->live_bytes(0), BYTES + 512);
    /* The leaked objects cannot be freed any more, so the test ends without close_all. */
}

int main(void) {
    fake = gantry_fake_control();
    return test_main();
}
