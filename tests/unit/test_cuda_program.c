/* Programs, binaries, kernels and launches of the CUDA backend, on two cards of the stand-in. The text is OpenCL C,
 * since that is what the stand-in runs; the portable texts are both. */
#define _GNU_SOURCE
#include "cuda_fixture.h"

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
static const gantry_program_source_t source = {sizeof source, GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
                                               "test/scale", parts, 2};

#define ITEMS 64

static gantry_backend_program_t *build(fixture_t *fixture, int d) {
    gantry_backend_program_t *program = NULL;

    assert_ok(fixture->backend->program->build(fixture->device[d], &source, "-DFALLBACK=100 -DUNIT=0", &program));
    return program;
}

static int32_t launch_scale(fixture_t *fixture, int d, gantry_backend_kernel_t *kernel, gantry_span_t in,
                            gantry_span_t out, int32_t factor, uint64_t items, uint64_t group) {
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = in},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = out},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof factor, .as.value = &factor},
    };
    gantry_launch_t launch = {sizeof launch, 1, {items, 1, 1}, {group, 1, 1}, args, 3};

    if (group == 0) {
        memset(launch.local_size, 0, sizeof launch.local_size);
    }
    return fixture->backend->program->launch(fixture->stream[d], kernel, &launch);
}

static void check_scale(fixture_t *fixture, gantry_backend_program_t *program, int d) {
    gantry_backend_kernel_t *kernel = NULL;
    int32_t in[ITEMS];
    int32_t out[ITEMS];
    gantry_span_t region = fixture_region(fixture, d, 4096);
    gantry_span_t from = {region.region, 512, sizeof in};
    gantry_span_t to = {region.region, 2048, sizeof out};

    assert_ok(fixture->backend->program->kernel_find(program, "scale", &kernel));
    for (int i = 0; i < ITEMS; i++) {
        in[i] = i * i - 7;
    }
    fixture_write(fixture, d, from, in);
    for (uint64_t group = 0; group <= 16; group += 16) {
        assert_ok(launch_scale(fixture, d, kernel, from, to, -3, ITEMS, group));
        fixture_read(fixture, d, to, out);
        for (int i = 0; i < ITEMS; i++) {
            assert_int_equal(out[i], -3 * in[i]);
        }
    }
    assert_ok(launch_scale(fixture, d, kernel, (gantry_span_t){0, 0, 0}, to, 2, ITEMS, 16)); /* a null base */
    fixture_read(fixture, d, to, out);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(out[i], 200);
    }
    fixture_region_free(fixture, d, region);
}

static void launch_with_spans_and_a_scalar_computes(void **state) {
    fixture_t fixture;

    (void)state;
    fixture_open(&fixture);
    for (int d = 0; d < FIXTURE_DEVICES; d++) {
        gantry_backend_program_t *program = build(&fixture, d);

        check_scale(&fixture, program, d);
        fixture.backend->program->destroy(program);
    }
    fixture_close(&fixture);
}

static void launch_that_does_not_fit_the_kernel_is_refused(void **state) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel = NULL;
    int64_t value = 1;
    gantry_span_t region;

    (void)state;
    fixture_open(&fixture);
    program = build(&fixture, 0);
    region = fixture_region(&fixture, 0, 4096);
    assert_ok(fixture.backend->program->kernel_find(program, "scale", &kernel));

    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = region},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = region},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof value, .as.value = &value},
    };
    gantry_launch_t launch = {sizeof launch, 1, {ITEMS, 1, 1}, {16, 1, 1}, args, 2};

    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch), INVALID_ARGUMENT);
    assert_error_has("4 arguments");
    assert_error_has("the kernel takes 5");
    launch.arg_count = 3; /* an int is wanted */
    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch), INVALID_ARGUMENT);
    assert_error_has("a scalar of the wrong size as argument 2");
    args[2].kind = 77;
    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch), INVALID_ARGUMENT);
    assert_error_has("\"scale\" of \"test/scale\"");
    assert_int_equal(launch_scale(&fixture, 0, kernel, region, region, 1, 65, 16), INVALID_ARGUMENT);
    assert_error_has("65 work-items in groups of 16");
    assert_int_equal(launch_scale(&fixture, 0, kernel, region, region, 1, 0, 0), INVALID_ARGUMENT);
    assert_ok(fixture.backend->stream->synchronize(fixture.stream[0]));
    fixture_region_free(&fixture, 0, region);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

static void kernel_is_found_once_and_described(void **state) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel = NULL;
    gantry_backend_kernel_t *again = NULL;
    gantry_kernel_info_t info = {.struct_size = sizeof info};

    (void)state;
    fixture_open(&fixture);
    program = build(&fixture, 0);
    assert_int_equal(fixture.backend->program->kernel_find(program, "scala", &kernel), NOT_FOUND);
    assert_null(kernel);
    assert_error_has("\"scala\" of program \"test/scale\"");
    assert_ok(fixture.backend->program->kernel_find(program, "scale", &kernel));
    assert_ok(fixture.backend->program->kernel_find(program, "scale", &again));
    assert_ptr_equal(kernel, again);
    assert_ok(fixture.backend->program->kernel_info(kernel, &info));
    assert_true(info.max_work_group_size >= 64);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

static void program_with_a_mistake_carries_the_compilers_words(void **state) {
    static const char *const wrong[] = {"__kernel void broken(__global int *out) { out[0] = not_there; }\n"};
    static const gantry_program_source_t bad = {sizeof bad, GANTRY_PROGRAM_CUDA_C, "test/broken", wrong, 1};
    static const gantry_program_source_t foreign = {sizeof foreign, GANTRY_PROGRAM_OPENCL_C, "test/foreign", wrong, 1};
    fixture_t fixture;
    gantry_backend_program_t *program = NULL;
    char options[2048] = "";

    (void)state;
    fixture_open(&fixture);
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &bad, "-DA=1", &program), INVALID_ARGUMENT);
    assert_null(program);
    assert_error_has("building \"test/broken\" with \"-DA=1\"");
    assert_error_has("NVRTC_ERROR_COMPILATION (6)");
    assert_error_has("not_there");
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &foreign, "", &program), INVALID_ARGUMENT);
    assert_error_has("is not written in CUDA C");
    memset(options, 'x', sizeof options - 1);
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &bad, options, &program), INVALID_ARGUMENT);
    assert_error_has("take 2047 bytes");
    for (int i = 0; i < 100; i++) {
        memcpy(options + (size_t)i * 5, "-DA  ", 6);
    }
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &bad, options, &program), INVALID_ARGUMENT);
    assert_error_has("build options");
    fixture_close(&fixture);
}

static void binary_is_loaded_again(void **state) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_program_t *loaded = NULL;
    uint64_t size = 0;
    uint64_t room = 4;
    uint64_t again = 0;
    unsigned char *bytes;

    (void)state;
    fixture_open(&fixture);
    program = build(&fixture, 0);
    assert_ok(fixture.backend->program->binary(program, NULL, &size));
    assert_true(size > 16);
    bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_int_equal(fixture.backend->program->binary(program, bytes, &room), OUT_OF_RANGE);
    assert_ok(fixture.backend->program->binary(program, bytes, &size));
    assert_ok(fixture.backend->program->load_binary(fixture.device[1], bytes, size, "test/loaded", &loaded));
    check_scale(&fixture, loaded, 1);
    assert_ok(fixture.backend->program->binary(loaded, NULL, &again));
    assert_true(again == size);
    fixture.backend->program->destroy(loaded);
    fixture.backend->program->destroy(program);
    assert_int_equal(fixture.backend->program->load_binary(fixture.device[0], bytes, 0, "test/empty", &loaded),
                     INVALID_ARGUMENT);
    memset(bytes, 'x', (size_t)size);
    assert_int_equal(fixture.backend->program->load_binary(fixture.device[0], bytes, size, "test/spoilt", &loaded),
                     INVALID_ARGUMENT);
    assert_error_has("loading program \"test/spoilt\"");
    assert_error_has("CUDA_ERROR_");
    free(bytes);
    fixture_close(&fixture);
}

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

/* A life of everything, up to the first refusal; all is given back. */
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
    if (status == 0) status = b->stream->create(fixture->device[0], GANTRY_STREAM_COMPUTE, &fixture->stream[0]);
    if (status == 0) status = b->event->create(fixture->device[0], &event);
    if (status == 0) status = b->memory->region_alloc(fixture->device[0], 4096, &span.region);
    if (status == 0) status = b->memory->host_alloc(fixture->device[0], 4096, &host);
    if (status == 0) status = b->program->build(fixture->device[0], &source, "-DFALLBACK=1 -DUNIT=0", &program);
    if (status == 0) status = b->program->kernel_find(program, "scale", &kernel);
    if (status == 0) status = b->transfer->fill(fixture->stream[0], &span, &pattern, 8);
    if (status == 0) status = launch_scale(fixture, 0, kernel, span, span, 2, ITEMS, 16);
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

static void each_failing_call_is_an_error_that_leaves_nothing_behind(void **state) {
    const stand_in_control_t *control = fixture_control();
    int failed = 0;
    int wanted = 0;

    (void)state;
    for (wanted = 1; wanted < 400; wanted++) {
        fixture_t fixture;
        nth_t nth = {wanted, 0};
        int32_t status;

        fixture_init(&fixture);
        if (wanted == 1) { /* skips where the stand-in does not run */
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_with_spans_and_a_scalar_computes),
        cmocka_unit_test(launch_that_does_not_fit_the_kernel_is_refused),
        cmocka_unit_test(kernel_is_found_once_and_described),
        cmocka_unit_test(program_with_a_mistake_carries_the_compilers_words),
        cmocka_unit_test(binary_is_loaded_again),
        cmocka_unit_test(each_failing_call_is_an_error_that_leaves_nothing_behind),
    };

    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
