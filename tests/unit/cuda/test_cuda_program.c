/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CUDA backend builds programs, loads binaries and launches kernels, on two cards of
 * the stand-in.
 *
 * The stand-in runs OpenCL C, so these texts are OpenCL C; portable texts are both. */
#define _GNU_SOURCE
#include "cuda_fixture.h"
#include "test.h"

#include "program_case.h"

static const char text_begin[] =
    "__kernel void scale(__global const uchar *in_base, const ulong in_offset, __global uchar *out_base,\n"
    "    const ulong out_offset, const int factor)\n{\n";
static const char text_end[] =
    "    const size_t i = get_global_id(0);\n"
    "    const int x = in_base == 0 ? FALLBACK : ((__global const int *)(in_base + in_offset))[i];\n"
    "    ((__global int *)(out_base + out_offset))[i] = factor * x + (int)(get_local_size(0) * UNIT);\n"
    "}\n"
    "__kernel void nothing(__global uchar *out_base, const ulong out_offset) { (out_base + out_offset)[0] = 7; }\n";
static const char *const parts[] = {text_begin, text_end};
static const gantry_program_source_t source = {
    .struct_size = sizeof source,
    .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
    .label = "test/scale",
    .parts = parts,
    .part_count = 2};

static int32_t launch_groups(fixture_t *fixture, gantry_backend_stream_t *stream,
                             gantry_backend_kernel_t *kernel, gantry_span_t in, gantry_span_t out,
                             int32_t factor, uint64_t items, uint64_t group) {
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = in},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = out},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof factor, .as.value = &factor},
    };
    gantry_launch_t launch = {sizeof launch, 1, {items, 1, 1}, {group, 1, 1}, args, 3};

    if (group == 0) {
        memset(launch.local_size, 0, sizeof launch.local_size);
    }
    return fixture->backend->program->launch(stream, kernel, &launch);
}

static int32_t launch_scale(fixture_t *fixture, gantry_backend_stream_t *stream,
                            gantry_backend_kernel_t *kernel, gantry_span_t in, gantry_span_t out,
                            int32_t factor) {
    return launch_groups(fixture, stream, kernel, in, out, factor, ITEMS, GROUP);
}

static int32_t launch_with_any_group(fixture_t *fixture, gantry_backend_stream_t *stream,
                                     gantry_backend_kernel_t *kernel, gantry_span_t in,
                                     gantry_span_t out, int32_t factor) {
    return launch_groups(fixture, stream, kernel, in, out, factor, ITEMS, 0);
}

static int32_t launch_by_base(fixture_t *fixture, gantry_backend_stream_t *stream,
                              gantry_backend_kernel_t *kernel, gantry_span_t in, gantry_span_t out,
                              int32_t factor) {
    return launch_case_by_base(fixture, stream, kernel, in, out, factor, 0);
}

static int32_t expected_scale(const int32_t *in, int i, int32_t factor) { return factor * in[i]; }

static const program_case_t scale = {&source, "-DFALLBACK=100 -DUNIT=0", launch_scale,
                                     expected_scale};

TEST(launch_with_spans_and_a_scalar_computes) { check_launches(&scale); }

TEST(launch_with_a_base_computes) {
    program_case_t by_base = scale;

    by_base.launch = launch_by_base;
    check_launches(&by_base);
}

TEST(launch_without_a_group_size_computes) {
    program_case_t any_group = scale;

    any_group.launch = launch_with_any_group;
    check_launches(&any_group);
}

TEST(launch_that_does_not_fit_the_kernel_is_refused) {
    check_wrong_arguments(&scale, "the kernel takes 5", "a scalar of the wrong size as argument 2");
}

TEST(launch_of_no_whole_groups_is_refused) {
    fixture_t fixture;
    gantry_backend_stream_t *stream;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel;
    gantry_span_t region;

    fixture_open(&fixture);
    stream = fixture.stream[0];
    program = build(&fixture, &scale, 0);
    kernel = find_scale(&fixture, program);
    region = fixture_region(&fixture, 0, 4096);
    assert_int_equal(launch_groups(&fixture, stream, kernel, region, region, 1, 65, 16),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("65 work-items in groups of 16");
    assert_int_equal(launch_groups(&fixture, stream, kernel, region, region, 1, 0, 0),
                     GANTRY_INVALID_ARGUMENT);
    fixture_region_free(&fixture, 0, region);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

TEST(kernel_is_found_once) { check_kernel_is_found_once(&scale, "CUDA_ERROR_NOT_FOUND (500)"); }

TEST(kernel_info_tells_the_largest_group) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_kernel_info_t info = {.struct_size = sizeof info};

    fixture_open(&fixture);
    program = build(&fixture, &scale, 0);
    assert_ok(fixture.backend->program->kernel_info(find_scale(&fixture, program), &info));
    assert_true(info.max_work_group_size >= 64);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

TEST(program_with_a_mistake_carries_the_compilers_words) {
    static const char *const wrong[] = {
        "__kernel void broken(__global int *out) { out[0] = not_there; }\n"};
    static const gantry_program_source_t bad = {.struct_size = sizeof bad,
                                                .kinds = GANTRY_PROGRAM_CUDA_C,
                                                .label = "test/broken",
                                                .parts = wrong,
                                                .part_count = 1};
    static const gantry_program_source_t foreign = {.struct_size = sizeof foreign,
                                                    .kinds = GANTRY_PROGRAM_OPENCL_C,
                                                    .label = "test/foreign",
                                                    .parts = wrong,
                                                    .part_count = 1};
    fixture_t fixture;
    gantry_backend_program_t *program = NULL;
    char options[2048] = "";

    fixture_open(&fixture);
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &bad, "-DA=1", &program),
                     GANTRY_INVALID_ARGUMENT);
    assert_null(program);
    assert_error_has("building \"test/broken\" with \"-DA=1\"");
    assert_error_has("NVRTC_ERROR_COMPILATION (6)");
    assert_error_has("not_there");
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &foreign, "", &program),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("is not written in CUDA C");
    memset(options, 'x', sizeof options - 1);
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &bad, options, &program),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("take 2047 bytes");
    for (int i = 0; i < 100; ++i) {
        memcpy(options + (size_t)i * 5, "-DA  ", 6);
    }
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &bad, options, &program),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("build options");
    fixture_close(&fixture);
}

TEST(binary_is_loaded_again) { check_binary_round_trip(&scale, "CUDA_ERROR_"); }

/* ---- one failure at a time ---- */

typedef struct nth_t {
    int wanted;
    int made;
} nth_t;

static int32_t fail_nth(void *self, const char *function) {
    nth_t *nth = self;

    (void)function;
    return ++nth->made == nth->wanted ? 1 : 0;
}

/* Creates, uses and frees every kind of object up to the first refusal. */
static int32_t live_once(fixture_t *fixture) {
    const gantry_backend_t *b = fixture->backend;
    gantry_backend_program_t *program = NULL;
    gantry_backend_kernel_t *kernel = NULL;
    gantry_backend_event_t *event = NULL;
    gantry_span_t span = {0, 0, 4096};
    uint64_t pattern = 0x0102030405060708;
    void *host = NULL;
    int32_t is_done = 0;
    int32_t status = b->open(&fixture->host, &fixture->instance);

    if (status == 0) status = b->device_open(fixture->instance, 0, &fixture->device[0]);
    if (status == 0)
        status = b->stream->create(fixture->device[0], GANTRY_STREAM_COMPUTE, &fixture->stream[0]);
    if (status == 0) status = b->event->create(fixture->device[0], &event);
    if (status == 0) status = b->memory->region_alloc(fixture->device[0], 4096, &span.region);
    if (status == 0) status = b->memory->host_alloc(fixture->device[0], 4096, &host);
    if (status == 0)
        status = b->program->build(fixture->device[0], &source, "-DFALLBACK=1 -DUNIT=0", &program);
    if (status == 0) status = b->program->kernel_find(program, "scale", &kernel);
    if (status == 0) status = b->transfer->fill(fixture->stream[0], &span, &pattern, 8);
    if (status == 0) status = launch_scale(fixture, fixture->stream[0], kernel, span, span, 2);
    if (status == 0) status = b->transfer->to_host(fixture->stream[0], host, &span);
    if (status == 0) status = b->event->record(event, fixture->stream[0]);
    if (status == 0) status = b->stream->wait_event(fixture->stream[0], event);
    if (status == 0) status = b->event->query(event, &is_done);
    if (status == 0) status = b->event->synchronize(event);
    if (status == 0) status = b->stream->synchronize(fixture->stream[0]);
    if (fixture->stream[0] != NULL) b->stream->synchronize(fixture->stream[0]);
    if (program != NULL) b->program->destroy(program);
    if (host != NULL) b->memory->host_free(fixture->device[0], host, 4096);
    if (span.region != 0) b->memory->region_free(fixture->device[0], span.region, 4096);
    if (event != NULL) b->event->destroy(event);
    return status;
}

TEST(each_failing_call_is_an_error_that_leaves_nothing_behind) {
    const stand_in_control_t *control = fixture_control();
    int failed = 0;
    int wanted = 0;

    for (wanted = 1; wanted < 400; ++wanted) {
        fixture_t fixture;
        nth_t nth = {wanted, 0};
        int32_t status;

        fixture_init(&fixture);
        if (wanted == 1) { /* skips the test if the stand-in does not run */
            fixture_open_instance(&fixture);
            fixture_close(&fixture);
            fixture_init(&fixture);
        }
        control->watch(fail_nth, &nth);
        status = live_once(&fixture);
        control->watch(NULL, NULL);
        if (status != 0) {
            failed++;
            assert_true(fixture_error[0] != '\0');
        }
        fixture_close(&fixture);
        control->reset();
        if (nth.made < wanted) {
            assert_int_equal(status, 0);
            break;
        }
    }
    printf("  %d calls, %d of them needed\n", wanted - 1, failed);
    assert_true(wanted < 400 && failed > 40);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main();
}
