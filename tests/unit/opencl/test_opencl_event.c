/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Events of the OpenCL backend order the streams of one device and of two, which have a
 * context each.
 * Promise: An OpenCL kernel that fails is not reported as a lack of memory. */
#define _GNU_SOURCE
#include "opencl_fixture.h"
#include "test.h"

#include "opencl/opencl_backend.h"

static const char *const slow_parts[] = {
    "__kernel void slow(__global uchar *base, const ulong offset, const ulong steps)\n{\n"
    "    uint x = 1;\n"
    "    for (ulong i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u + (uint)(i >> 7);\n"
    "    ((__global uint *)(base + offset))[get_global_id(0)] = x | 1u;\n"
    "}\n"};
static const gantry_program_source_t slow_source = {.struct_size = sizeof slow_source,
                                                    .kinds = GANTRY_PROGRAM_OPENCL_C,
                                                    .label = "test/slow",
                                                    .parts = slow_parts,
                                                    .part_count = 1};

static gantry_backend_program_t *build_slow(fixture_t *fixture) {
    gantry_backend_program_t *program = NULL;

    assert_ok(fixture->backend->program->build(fixture->device[0], &slow_source, "", &program));
    return program;
}

/* Work of some tens of milliseconds, which ends with the write of a number that is not 0. */
static void launch_slow(fixture_t *fixture, gantry_backend_stream_t *stream,
                        gantry_backend_program_t *program, gantry_span_t target) {
    gantry_backend_kernel_t *kernel = NULL;
    uint64_t steps = 20000000;
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = target},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof steps, .as.value = &steps},
    };
    gantry_launch_t launch = {sizeof launch, 1, {1, 1, 1}, {0, 0, 0}, args, 2};

    assert_ok(fixture->backend->program->kernel_find(program, "slow", &kernel));
    assert_ok(fixture->backend->program->launch(stream, kernel, &launch));
}

TEST(event_unrecorded_is_done) {
    fixture_t fixture;
    gantry_backend_event_t *event = NULL;
    int32_t is_done = 0;

    fixture_open(&fixture);
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    assert_ok(fixture.backend->event->query(event, &is_done));
    assert_int_equal(is_done, 1);
    assert_ok(fixture.backend->event->synchronize(event));
    assert_ok(fixture.backend->stream->wait_event(fixture.stream[0], event));
    fixture.backend->event->destroy(event);
    fixture_close(&fixture);
}

TEST(event_between_streams_orders_their_work) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_stream_t *second = NULL;
    gantry_backend_event_t *event = NULL;
    gantry_span_t region;
    gantry_span_t copy;
    uint32_t value = 0;
    int32_t is_done = 1;

    fixture_open(&fixture);
    program = build_slow(&fixture);
    region = fixture_region(&fixture, 0, 256);
    copy = (gantry_span_t){region.region, 128, 4};
    assert_ok(fixture.backend->stream->create(fixture.device[0], GANTRY_STREAM_TO_HOST, &second));
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    for (int round = 0; round < 3; ++round) { /* the event is reused */
        gantry_span_t first = {region.region, 0, 4};

        assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &region, &(uint32_t){0}, 4));
        launch_slow(&fixture, fixture.stream[0], program, first);
        assert_ok(fixture.backend->event->record(event, fixture.stream[0]));
        assert_ok(fixture.backend->event->query(event, &is_done));
        assert_int_equal(is_done, 0);
        assert_ok(fixture.backend->stream->wait_event(second, event));
        assert_ok(fixture.backend->transfer->copy(second, &copy, &first));
        assert_ok(fixture.backend->transfer->to_host(second, &value, &copy));
        assert_ok(fixture.backend->stream->synchronize(second));
        assert_int_not_equal(value, 0);
        assert_ok(fixture.backend->event->query(event, &is_done));
        assert_int_equal(is_done, 1);
        value = 0;
    }
    fixture.backend->stream->destroy(second);
    fixture.backend->event->destroy(event);
    fixture.backend->program->destroy(program);
    fixture_region_free(&fixture, 0, region);
    fixture_close(&fixture);
}

/* The two devices have a context each: the event crosses from one to the other. */
TEST(event_between_devices_orders_their_work) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_event_t *event = NULL;
    gantry_span_t slow;
    gantry_span_t other;
    uint32_t value = 0;
    int32_t is_done = 0;

    fixture_open(&fixture);
    program = build_slow(&fixture);
    slow = fixture_region(&fixture, 0, 256);
    other = fixture_region(&fixture, 1, 256);
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    launch_slow(&fixture, fixture.stream[0], program, slow);
    assert_ok(fixture.backend->event->record(event, fixture.stream[0]));
    assert_ok(fixture.backend->stream->wait_event(fixture.stream[1], event));
    assert_ok(fixture.backend->transfer->fill(fixture.stream[1], &other, &(uint32_t){42}, 4));
    assert_ok(fixture.backend->stream->flush(fixture.stream[1]));
    assert_ok(fixture.backend->stream->synchronize(fixture.stream[1]));
    assert_ok(fixture.backend->event->query(event, &is_done));
    assert_int_equal(is_done, 1);
    other.size_bytes = 4;
    fixture_read(&fixture, 1, other, &value);
    assert_int_equal(value, 42);
    other.size_bytes = 256;
    /* its work has ended */
    assert_ok(fixture.backend->stream->wait_event(fixture.stream[1], event));
    fixture.backend->event->destroy(event);
    fixture.backend->program->destroy(program);
    fixture_region_free(&fixture, 0, slow);
    fixture_region_free(&fixture, 1, other);
    fixture_close(&fixture);
}

TEST(event_outlives_its_stream) {
    fixture_t fixture;
    gantry_backend_stream_t *stream = NULL;
    gantry_backend_event_t *event = NULL;
    int32_t is_done = 0;

    fixture_open(&fixture);
    assert_ok(fixture.backend->stream->create(fixture.device[0], GANTRY_STREAM_COMPUTE, &stream));
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    assert_ok(fixture.backend->event->record(event, stream));
    fixture.backend->stream->destroy(stream);
    assert_ok(fixture.backend->event->query(event, &is_done));
    assert_int_equal(is_done, 1);
    assert_ok(fixture.backend->stream->wait_event(fixture.stream[0], event));
    assert_ok(fixture.backend->event->synchronize(event));
    fixture.backend->event->destroy(event);
    fixture_close(&fixture);
}

/* ---- failed work, which drivers report at a wait ---- */

static cl_int told; /* the wait itself reports it, or the command's status */

static CL_API_ENTRY cl_int CL_API_CALL wait_tells(cl_uint count, const cl_event *events) {
    (void)count, (void)events;
    return told;
}

static CL_API_ENTRY cl_int CL_API_CALL wait_fails(cl_uint count, const cl_event *events) {
    (void)count, (void)events;
    return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

static CL_API_ENTRY cl_int CL_API_CALL status_tells(cl_event event, cl_event_info name,
                                                    size_t bytes, void *value, size_t *needed) {
    (void)event, (void)name, (void)bytes, (void)needed;
    *(cl_int *)value = told;
    return CL_SUCCESS;
}

static void expect_failed_kernel(int32_t status, const char *text) {
    assert_int_equal(status, GANTRY_INTERNAL);
    assert_error_has("a kernel failed: ");
    assert_error_has(text);
}

TEST(failed_kernel_is_no_lack_of_memory) {
    static const struct {
        cl_int native;
        const char *text;
    } cases[] = {{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES (-5)"},
                 {-9999, "NVIDIA's illegal access (-9999)"}};
    for (size_t i = 0; i < 2; ++i) {
        fixture_t fixture;
        gantry_backend_event_t *event = NULL;
        int32_t is_done = 0;
        fixture_open(&fixture);
        assert_ok(fixture.backend->event->create(fixture.device[0], &event));
        assert_ok(fixture.backend->event->record(event, fixture.stream[0]));
        gantry__opencl_symbols_t *cl = &fixture.instance->cl;
        __typeof__(cl->clWaitForEvents) wait = cl->clWaitForEvents;
        __typeof__(cl->clGetEventInfo) info = cl->clGetEventInfo;
        told = cases[i].native;
        cl->clWaitForEvents = wait_tells;
        expect_failed_kernel(fixture.backend->stream->synchronize(fixture.stream[0]),
                             cases[i].text);
        expect_failed_kernel(fixture.backend->event->synchronize(event), cases[i].text);
        cl->clWaitForEvents = wait_fails;
        cl->clGetEventInfo = status_tells;
        expect_failed_kernel(fixture.backend->stream->synchronize(fixture.stream[0]),
                             cases[i].text);
        expect_failed_kernel(fixture.backend->event->synchronize(event), cases[i].text);
        expect_failed_kernel(fixture.backend->event->query(event, &is_done), cases[i].text);
        expect_failed_kernel(fixture.backend->stream->wait_event(fixture.stream[1], event),
                             cases[i].text);
        cl->clWaitForEvents = wait;
        cl->clGetEventInfo = info;
        fixture.backend->event->destroy(event);
        fixture_close(&fixture);
    }
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main();
}
