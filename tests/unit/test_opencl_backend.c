/* The OpenCL backend through its plug-in interface, on two PoCL devices. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opencl_fixture.h"

/* ---- query and open ---- */

static void query_older_core_is_refused(void **state)
{
    const gantry_backend_t *backend = NULL;

    (void)state;
    assert_int_equal(gantry_backend_query_opencl(0, &backend), FAILED_PRECONDITION);
    assert_null(backend);
}

static void open_with_option(fixture_t *fixture, const char *name, const char *value, int32_t expected)
{
    fixture_init(fixture);
    fixture->option_names[0] = name;
    fixture->option_values[0] = value;
    assert_int_equal(fixture->backend->open(&fixture->host, &fixture->instance), expected);
    if (expected != 0) {
        assert_null(fixture->instance);
        assert_int_equal(atomic_load(&fixture->bytes), 0);
    }
}

static void open_missing_library_is_unavailable(void **state)
{
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so", UNAVAILABLE);
    assert_error_has("GANTRY_OPENCL_LIBRARY");
    assert_error_has("/nonexistent/libOpenCL.so");
    assert_error_has("No such file");
}

static void open_library_without_opencl_is_unavailable(void **state)
{
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_OPENCL_LIBRARY", "libm.so.6", UNAVAILABLE);
    assert_error_has("libm.so.6");
    assert_error_has("clGetPlatformIDs");
}

static void open_unknown_matmul_is_invalid(void **state)
{
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_OPENCL_MATMUL", "fastest", INVALID_ARGUMENT);
    assert_error_has("fastest");
    assert_error_has("auto, clblast, cpu and portable");
}

/* A driver reads its environment once per process, so other environments need processes of their own: made before this one opens
 * OpenCL. The child prints what went wrong. */
static void check_open_fails_in_child(const char *variable, const char *value, const char *part)
{
    int result = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fixture_t fixture;
        int32_t status;

        fixture_init(&fixture);
        setenv(variable, value, 1);
        status = fixture.backend->open(&fixture.host, &fixture.instance);
        if (status != UNAVAILABLE || strstr(fixture_error, part) == NULL || atomic_load(&fixture.bytes) != 0) {
            printf("status %d, %lld bytes held: %s\n", status, atomic_load(&fixture.bytes), fixture_error);
            fflush(stdout);
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

static int has_opencl(void)
{
    fixture_t fixture;
    pid_t child;
    int result = -1;

    fixture_init(&fixture);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        _exit(fixture.backend->open(&fixture.host, &fixture.instance) == 0 ? 0 : 1);
    }
    return waitpid(child, &result, 0) == child && result == 0;
}

static void skip_without_opencl(void)
{
    if (!has_opencl() && getenv("GANTRY_TEST_ALLOW_NO_OPENCL") != NULL) {
        print_message("skipped: no OpenCL here\n");
        skip();
    }
}

static void open_without_platforms_says_what_to_install(void **state)
{
    (void)state;
    skip_without_opencl();
    check_open_fails_in_child("OCL_ICD_VENDORS", "/nonexistent", "install pocl-opencl-icd");
}

static void open_platform_without_devices_names_it(void **state)
{
    (void)state;
    skip_without_opencl();
    check_open_fails_in_child("POCL_DEVICES", "none-such", "Portable Computing Language");
}

/* Every allocation of open, device_open and the first stream fails once. */
static void open_out_of_memory_gives_all_back(void **state)
{
    (void)state;
    for (int fail_at = 1; fail_at < 300; fail_at++) {
        fixture_t fixture;
        int32_t status;

        fixture_init(&fixture);
        if (fail_at == 1) {
            fixture_open_instance(&fixture); /* skips without OpenCL */
            fixture_close(&fixture);
            fixture_init(&fixture);
        }
        atomic_store(&fixture.fail_at, fail_at);
        status = fixture.backend->open(&fixture.host, &fixture.instance);
        if (status == 0) {
            status = fixture.backend->device_open(fixture.instance, 0, &fixture.device[0]);
        }
        if (status == 0) {
            status = fixture.backend->stream->create(fixture.device[0], GANTRY_STREAM_COMPUTE, &fixture.stream[0]);
        }
        fixture_close(&fixture);
        if (status == 0) {
            assert_true(fail_at > 5);
            return;
        }
        assert_int_equal(status, RESOURCE_EXHAUSTED);
    }
    fail_msg("still failing after 300 allocations");
}

/* ---- devices ---- */

static void devices_two_of_pocl_are_found(void **state)
{
    fixture_t fixture;

    (void)state;
    fixture_open(&fixture);
    for (int d = 0; d < FIXTURE_DEVICES; d++) {
        const gantry_device_info_t *info = &fixture.info[d];

        assert_int_equal(info->type, GANTRY_DEVICE_TYPE_CPU);
        assert_int_equal(info->flags, GANTRY_DEVICE_HOST_BACKED | GANTRY_DEVICE_LAZY_COMMIT);
        assert_true(info->compute_units > 0 && info->total_bytes > 0 && info->largest_allocation_bytes > 0);
        assert_true(info->largest_allocation_bytes <= info->total_bytes);
        assert_true(info->base_alignment_bytes >= 128 && (info->base_alignment_bytes & (info->base_alignment_bytes - 1)) == 0);
        assert_true(info->base_alignment_bytes <= 4096);
        assert_true(info->local_memory_bytes > 0 && info->max_work_group_size > 0 && info->parameter_bytes >= 256);
        assert_true(info->native_vector_width >= 1);
        assert_int_equal(info->program_kinds, GANTRY_PROGRAM_OPENCL_C);
        assert_true((info->dtype_mask & (1u << 1)) != 0 && (info->dtype_mask & (1u << 2)) != 0 && (info->dtype_mask & (1u << 10)) != 0);
        assert_true(info->hardware_name[0] != '\0' && info->driver_version[0] != '\0' && info->vendor[0] != '\0');
        assert_string_equal(info->pci_address, "");
        assert_string_equal(info->uuid, "");
        assert_string_equal(info->compute_capability, "");
        assert_int_equal(strlen(info->build_hash), 16);
    }
    assert_string_equal(fixture.info[0].build_hash, fixture.info[1].build_hash);
    fixture_close(&fixture);
}

static void device_info_small_struct_is_not_written_beyond(void **state)
{
    fixture_t fixture;
    gantry_device_info_t info;

    (void)state;
    fixture_open(&fixture);
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(gantry_device_info_t, hardware_name);
    assert_ok(fixture.backend->device_info(fixture.instance, 0, &info));
    assert_int_equal(info.struct_size, offsetof(gantry_device_info_t, hardware_name));
    for (size_t i = offsetof(gantry_device_info_t, hardware_name); i < sizeof info; i++) {
        assert_int_equal(((unsigned char *)&info)[i], 0x5a);
    }
    info.struct_size = sizeof info;
    assert_int_equal(fixture.backend->device_info(fixture.instance, 1000, &info), INVALID_ARGUMENT);
    assert_error_has("1000");
    fixture_close(&fixture);
}

static void libraries_line_names_loader_and_clblast(void **state)
{
    fixture_t fixture;
    const char *line;

    (void)state;
    fixture_open(&fixture);
    line = fixture.backend->libraries(fixture.instance);
    printf("  %s\n", line);
    assert_non_null(strstr(line, "libOpenCL.so"));
    assert_non_null(strstr(line, "CLBlast"));
    assert_true(strstr(line, "missing (") != NULL || strstr(line, ".") != NULL);
    assert_ptr_equal(line, fixture.backend->libraries(fixture.instance));
    fixture_close(&fixture);
}

/* ---- memory and transfers ---- */

static void region_of_wrong_size_is_refused(void **state)
{
    fixture_t fixture;
    gantry_region_t region = 1;

    (void)state;
    fixture_open(&fixture);
    assert_int_equal(fixture.backend->memory->region_alloc(fixture.device[0], 0, &region), INVALID_ARGUMENT);
    assert_true(region == 0);
    assert_int_equal(fixture.backend->memory->region_alloc(fixture.device[0], fixture.info[0].largest_allocation_bytes + 1, &region),
                     RESOURCE_EXHAUSTED);
    assert_error_has("are accepted");
    assert_true(region == 0);
    fixture_close(&fixture);
}

static void host_memory_is_given_and_taken_back(void **state)
{
    fixture_t fixture;
    unsigned char *ptr = NULL;
    uint64_t free_bytes;
    uint64_t total_bytes;
    void *unused;

    (void)state;
    fixture_open(&fixture);
    assert_ok(fixture.backend->memory->host_alloc(fixture.device[0], 100000, (void **)&ptr));
    memset(ptr, 7, 100000);
    fixture.backend->memory->host_free(fixture.device[0], ptr, 100000);
    atomic_store(&fixture.fail_at, atomic_load(&fixture.allocations) + 1);
    assert_int_equal(fixture.backend->memory->host_alloc(fixture.device[0], 100000, &unused), RESOURCE_EXHAUSTED);
    assert_null(unused);
    assert_int_equal(fixture.backend->memory->memory_info(fixture.device[0], &free_bytes, &total_bytes), UNIMPLEMENTED);
    assert_error_has("free memory");
    fixture_close(&fixture);
}

static void transfers_with_offsets_hit_their_bytes_only(void **state)
{
    fixture_t fixture;
    unsigned char in[1000];
    unsigned char out[1000];
    gantry_span_t all;
    gantry_span_t part;
    gantry_span_t other;

    (void)state;
    fixture_open(&fixture);
    for (int i = 0; i < 1000; i++) {
        in[i] = (unsigned char)(i * 7 + 1);
    }
    all = fixture_region(&fixture, 0, 1000);
    fixture_write(&fixture, 0, all, in);
    part = (gantry_span_t){all.region, 100, 50};
    fixture_write(&fixture, 0, part, in);
    memcpy(in + 100, in, 50);
    other = (gantry_span_t){all.region, 900, 50};
    part = (gantry_span_t){all.region, 200, 50};
    assert_ok(fixture.backend->transfer->copy(fixture.stream[0], &other, &part));
    memcpy(in + 900, in + 200, 50);
    fixture_read(&fixture, 0, all, out);
    assert_memory_equal(in, out, 1000);
    part = (gantry_span_t){all.region, 333, 3};
    fixture_read(&fixture, 0, part, out);
    assert_memory_equal(in + 333, out, 3);
    part.size_bytes = 0; /* nothing to do is no error */
    fixture_read(&fixture, 0, part, out);
    assert_ok(fixture.backend->transfer->copy(fixture.stream[0], &part, &part));
    assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &part, in, 1));
    assert_int_equal(fixture.backend->transfer->copy(fixture.stream[0], &other, &part), INVALID_ARGUMENT);
    part.size_bytes = 5000; /* beyond the region */
    assert_int_not_equal(fixture.backend->transfer->to_host(fixture.stream[0], out, &part), 0);
    assert_error_has("5000 bytes at offset 333");
    fixture_region_free(&fixture, 0, all);
    fixture_close(&fixture);
}

static void fill_of_each_pattern_size_repeats_it(void **state)
{
    static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    fixture_t fixture;
    unsigned char out[256];
    gantry_span_t all;

    (void)state;
    fixture_open(&fixture);
    all = fixture_region(&fixture, 0, 256);
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        gantry_span_t span = {all.region, 40, 160};
        unsigned char zero = 0;

        assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &all, &zero, 1));
        assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &span, pattern, bytes));
        fixture_read(&fixture, 0, all, out);
        for (uint32_t i = 0; i < 256; i++) {
            assert_int_equal(out[i], i >= 40 && i < 200 ? pattern[(i - 40) % bytes] : 0);
        }
    }
    assert_int_equal(fixture.backend->transfer->fill(fixture.stream[0], &all, pattern, 3), INVALID_ARGUMENT);
    assert_error_has("3 bytes");
    fixture_region_free(&fixture, 0, all);
    fixture_close(&fixture);
}

/* ---- programs ---- */

static const char text_begin[] = "__kernel void scale(__global const uchar *in_base, const ulong in_offset, __global uchar *out_base,\n"
                                 "    const ulong out_offset, const int factor, __local int *group)\n{\n";
static const char text_end[] = "    const size_t i = get_global_id(0);\n"
                               "    group[get_local_id(0)] = in_base == 0 ? FALLBACK : ((__global const int *)(in_base + in_offset))[i];\n"
                               "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                               "    ((__global int *)(out_base + out_offset))[i] = factor * group[get_local_size(0) - 1 - get_local_id(0)];\n"
                               "}\n"
                               "__kernel void slow(__global uchar *base, const ulong offset, const ulong steps)\n{\n"
                               "    uint x = 1;\n"
                               "    for (ulong i = 0; i < steps; i++) x = x * 1664525u + 1013904223u + (uint)(i >> 7);\n"
                               "    ((__global uint *)(base + offset))[get_global_id(0)] = x | 1u;\n"
                               "}\n";
static const char *const text_parts[] = {text_begin, text_end};
static const gantry_program_source_t test_source = {sizeof test_source, GANTRY_PROGRAM_OPENCL_C, "test/scale", text_parts, 2};

static gantry_backend_program_t *build_test(fixture_t *fixture, int d)
{
    gantry_backend_program_t *program = NULL;

    assert_ok(fixture->backend->program->build(fixture->device[d], &test_source, "-DFALLBACK=100", &program));
    return program;
}

#define ITEMS 64
#define GROUP 16

static int32_t launch_scale(fixture_t *fixture, gantry_backend_stream_t *stream, gantry_backend_kernel_t *kernel, gantry_span_t in,
                            gantry_span_t out, int32_t factor)
{
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = in},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = out},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof factor, .as.value = &factor},
        {.kind = GANTRY_LAUNCH_LOCAL, .size_bytes = GROUP * sizeof(int32_t)},
    };
    gantry_launch_t launch = {sizeof launch, 1, {ITEMS, 1, 1}, {GROUP, 1, 1}, args, 4};

    return fixture->backend->program->launch(stream, kernel, &launch);
}

static int32_t expected_scale(const int32_t *in, int i, int32_t factor)
{
    return factor * in[i / GROUP * GROUP + GROUP - 1 - i % GROUP];
}

static void check_scale(fixture_t *fixture, gantry_backend_program_t *program, int d)
{
    gantry_backend_kernel_t *kernel = NULL;
    int32_t in[ITEMS];
    int32_t out[ITEMS];
    gantry_span_t region = fixture_region(fixture, d, 4096);
    gantry_span_t source = {region.region, 512, sizeof in};
    gantry_span_t target = {region.region, 2048, sizeof out};

    assert_ok(fixture->backend->program->kernel_find(program, "scale", &kernel));
    for (int i = 0; i < ITEMS; i++) {
        in[i] = i * i - 7;
    }
    fixture_write(fixture, d, source, in);
    assert_ok(launch_scale(fixture, fixture->stream[d], kernel, source, target, -3));
    fixture_read(fixture, d, target, out);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(out[i], expected_scale(in, i, -3));
    }
    assert_ok(launch_scale(fixture, fixture->stream[d], kernel, (gantry_span_t){0, 0, 0}, target, 2)); /* a null base */
    fixture_read(fixture, d, target, out);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(out[i], 200);
    }
    fixture_region_free(fixture, d, region);
}

static void launch_with_span_scalar_and_local_computes(void **state)
{
    fixture_t fixture;

    (void)state;
    fixture_open(&fixture);
    for (int d = 0; d < FIXTURE_DEVICES; d++) {
        gantry_backend_program_t *program = build_test(&fixture, d);

        check_scale(&fixture, program, d);
        fixture.backend->program->destroy(program);
    }
    fixture_close(&fixture);
}

static void launch_with_wrong_arguments_is_refused(void **state)
{
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel = NULL;
    int64_t value = 1;
    gantry_span_t region;

    (void)state;
    fixture_open(&fixture);
    program = build_test(&fixture, 0);
    region = fixture_region(&fixture, 0, 4096);
    assert_ok(fixture.backend->program->kernel_find(program, "scale", &kernel));
    assert_ok(launch_scale(&fixture, fixture.stream[0], kernel, region, region, 1)); /* leaves a full set of arguments behind */

    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = region},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = region},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof value, .as.value = &value},
    };
    gantry_launch_t launch = {sizeof launch, 1, {ITEMS, 1, 1}, {GROUP, 1, 1}, args, 2};

    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch), INVALID_ARGUMENT);
    assert_error_has("4 arguments");
    assert_error_has("the kernel takes 6");
    launch.arg_count = 3; /* an int is wanted */
    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch), INVALID_ARGUMENT);
    assert_error_has("argument 2 (scalar, 8 bytes)");
    args[2].kind = 77;
    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch), INVALID_ARGUMENT);
    assert_error_has("\"scale\" of \"test/scale\"");
    assert_ok(fixture.backend->stream->synchronize(fixture.stream[0]));
    fixture_region_free(&fixture, 0, region);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

static void kernel_of_unknown_name_is_not_found(void **state)
{
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel = NULL;
    gantry_backend_kernel_t *again = NULL;

    (void)state;
    fixture_open(&fixture);
    program = build_test(&fixture, 0);
    assert_int_equal(fixture.backend->program->kernel_find(program, "scala", &kernel), NOT_FOUND);
    assert_null(kernel);
    assert_error_has("\"scala\"");
    assert_error_has("slow");
    assert_ok(fixture.backend->program->kernel_find(program, "scale", &kernel));
    assert_ok(fixture.backend->program->kernel_find(program, "scale", &again));
    assert_ptr_equal(kernel, again);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

static void build_of_bad_text_shows_the_compilers_log(void **state)
{
    static const char *const parts[] = {"__kernel void broken(__global int *x)\n{\n    x[0] = undeclared_thing;\n}\n"};
    static const gantry_program_source_t source = {sizeof source, GANTRY_PROGRAM_OPENCL_C, "test/broken", parts, 1};
    static const gantry_program_source_t cuda = {sizeof cuda, GANTRY_PROGRAM_CUDA_C, "test/cuda", parts, 1};
    gantry_backend_program_t *program = NULL;
    fixture_t fixture;

    (void)state;
    fixture_open(&fixture);
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &source, "-DSOME=1", &program), INVALID_ARGUMENT);
    assert_null(program);
    assert_error_has("\"test/broken\"");
    assert_error_has("-DSOME=1");
    assert_error_has("CL_BUILD_PROGRAM_FAILURE");
    assert_error_has("undeclared_thing");
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &cuda, "", &program), INVALID_ARGUMENT);
    assert_error_has("not written in OpenCL C");
    fixture_close(&fixture);
}

static void build_out_of_memory_gives_all_back(void **state)
{
    fixture_t fixture;
    int32_t status = RESOURCE_EXHAUSTED;

    (void)state;
    fixture_open(&fixture);
    for (int more = 1; status != 0 && more < 20; more++) {
        gantry_backend_program_t *program = NULL;
        gantry_backend_kernel_t *kernel = NULL;

        atomic_store(&fixture.fail_at, atomic_load(&fixture.allocations) + more);
        status = fixture.backend->program->build(fixture.device[0], &test_source, "-DFALLBACK=100", &program);
        if (status == 0) {
            status = fixture.backend->program->kernel_find(program, "scale", &kernel);
            fixture.backend->program->destroy(program);
        }
        assert_true(status == 0 || status == RESOURCE_EXHAUSTED);
    }
    assert_int_equal(status, 0);
    fixture_close(&fixture);
}

static void binary_round_trip_needs_no_text(void **state)
{
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_program_t *loaded = NULL;
    uint64_t bytes = 0;
    uint64_t too_few;
    unsigned char *binary;

    (void)state;
    fixture_open(&fixture);
    program = build_test(&fixture, 0);
    check_scale(&fixture, program, 0);
    assert_ok(fixture.backend->program->binary(program, NULL, &bytes));
    assert_true(bytes > 0);
    binary = malloc(bytes);
    assert_non_null(binary);
    too_few = bytes - 1;
    assert_int_equal(fixture.backend->program->binary(program, binary, &too_few), OUT_OF_RANGE);
    assert_ok(fixture.backend->program->binary(program, binary, &bytes));
    fixture.backend->program->destroy(program);
    for (int d = 0; d < FIXTURE_DEVICES; d++) { /* equal build hash: one binary serves both */
        assert_ok(fixture.backend->program->load_binary(fixture.device[d], binary, bytes, "test/scale", &loaded));
        check_scale(&fixture, loaded, d);
        fixture.backend->program->destroy(loaded);
    }
    memset(binary, 0x41, bytes);
    assert_int_not_equal(fixture.backend->program->load_binary(fixture.device[0], binary, bytes, "test/bad", &loaded), 0);
    assert_null(loaded);
    assert_error_has("test/bad");
    assert_int_equal(fixture.backend->program->load_binary(fixture.device[0], binary, 0, "test/empty", &loaded), INVALID_ARGUMENT);
    free(binary);
    fixture_close(&fixture);
}

/* ---- several threads ---- */

#define THREADS 2
#define ROUNDS 300

typedef struct worker_t {
    fixture_t *fixture;
    gantry_backend_kernel_t *kernel;
    gantry_span_t in;
    int32_t factor;
    int is_good;
} worker_t;

/* Launches with its own factor and, each time, another target. */
static void *launch_often(void *argument)
{
    worker_t *worker = argument;
    fixture_t *fixture = worker->fixture;
    gantry_backend_stream_t *stream = NULL;
    gantry_span_t region = {0, 0, ROUNDS * 256};
    int32_t *out = malloc(ROUNDS * 256);
    int32_t in[ITEMS];

    worker->is_good = out != NULL &&
                      fixture->backend->stream->create(fixture->device[0], GANTRY_STREAM_COMPUTE, &stream) == 0 &&
                      fixture->backend->memory->region_alloc(fixture->device[0], region.size_bytes, &region.region) == 0;
    for (int r = 0; r < ROUNDS && worker->is_good; r++) {
        gantry_span_t target = {region.region, (uint64_t)r * 256, 256};

        worker->is_good = launch_scale(fixture, stream, worker->kernel, worker->in, target, worker->factor + r) == 0;
    }
    worker->is_good = worker->is_good && fixture->backend->transfer->to_host(stream, out, &region) == 0 &&
                      fixture->backend->stream->synchronize(stream) == 0;
    for (int i = 0; i < ITEMS; i++) {
        in[i] = i;
    }
    for (int i = 0; i < ROUNDS * ITEMS && worker->is_good; i++) {
        worker->is_good = out[i] == expected_scale(in, i % ITEMS, worker->factor + i / ITEMS);
    }
    if (stream != NULL) {
        fixture->backend->stream->destroy(stream);
    }
    if (region.region != 0) {
        fixture->backend->memory->region_free(fixture->device[0], region.region, region.size_bytes);
    }
    free(out);
    return NULL;
}

static void launches_of_one_kernel_from_two_threads_keep_their_arguments(void **state)
{
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel = NULL;
    gantry_span_t in;
    int32_t values[ITEMS];
    pthread_t threads[THREADS];
    worker_t workers[THREADS];

    (void)state;
    fixture_open(&fixture);
    program = build_test(&fixture, 0);
    assert_ok(fixture.backend->program->kernel_find(program, "scale", &kernel));
    in = fixture_region(&fixture, 0, sizeof values);
    for (int i = 0; i < ITEMS; i++) {
        values[i] = i;
    }
    fixture_write(&fixture, 0, in, values);
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker_t){&fixture, kernel, in, t == 0 ? 1000 : -100000, 0};
        assert_int_equal(pthread_create(&threads[t], NULL, launch_often, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_true(workers[t].is_good);
    }
    fixture_region_free(&fixture, 0, in);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

/* ---- events ---- */

/* Some tens of milliseconds of work that ends by writing a number that is not 0. */
static void launch_slow(fixture_t *fixture, gantry_backend_stream_t *stream, gantry_backend_program_t *program, gantry_span_t target)
{
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

static void event_unrecorded_is_done(void **state)
{
    fixture_t fixture;
    gantry_backend_event_t *event = NULL;
    int32_t is_done = 0;

    (void)state;
    fixture_open(&fixture);
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    assert_ok(fixture.backend->event->query(event, &is_done));
    assert_int_equal(is_done, 1);
    assert_ok(fixture.backend->event->synchronize(event));
    assert_ok(fixture.backend->stream->wait_event(fixture.stream[0], event));
    fixture.backend->event->destroy(event);
    fixture_close(&fixture);
}

static void event_between_streams_orders_their_work(void **state)
{
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_stream_t *second = NULL;
    gantry_backend_event_t *event = NULL;
    gantry_span_t region;
    gantry_span_t copy;
    uint32_t value = 0;
    int32_t is_done = 1;

    (void)state;
    fixture_open(&fixture);
    program = build_test(&fixture, 0);
    region = fixture_region(&fixture, 0, 256);
    copy = (gantry_span_t){region.region, 128, 4};
    assert_ok(fixture.backend->stream->create(fixture.device[0], GANTRY_STREAM_TO_HOST, &second));
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    for (int round = 0; round < 3; round++) { /* an event serves again */
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
static void event_between_devices_orders_their_work(void **state)
{
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_event_t *event = NULL;
    gantry_span_t slow;
    gantry_span_t other;
    uint32_t value = 0;
    int32_t is_done = 0;

    (void)state;
    fixture_open(&fixture);
    program = build_test(&fixture, 0);
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
    assert_ok(fixture.backend->stream->wait_event(fixture.stream[1], event)); /* already over */
    fixture.backend->event->destroy(event);
    fixture.backend->program->destroy(program);
    fixture_region_free(&fixture, 0, slow);
    fixture_region_free(&fixture, 1, other);
    fixture_close(&fixture);
}

static void event_outlives_its_stream(void **state)
{
    fixture_t fixture;
    gantry_backend_stream_t *stream = NULL;
    gantry_backend_event_t *event = NULL;
    int32_t is_done = 0;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_older_core_is_refused),
        cmocka_unit_test(open_without_platforms_says_what_to_install), /* these two fork: before OpenCL is opened here */
        cmocka_unit_test(open_platform_without_devices_names_it),
        cmocka_unit_test(open_missing_library_is_unavailable),
        cmocka_unit_test(open_library_without_opencl_is_unavailable),
        cmocka_unit_test(open_unknown_matmul_is_invalid),
        cmocka_unit_test(open_out_of_memory_gives_all_back),
        cmocka_unit_test(devices_two_of_pocl_are_found),
        cmocka_unit_test(device_info_small_struct_is_not_written_beyond),
        cmocka_unit_test(libraries_line_names_loader_and_clblast),
        cmocka_unit_test(region_of_wrong_size_is_refused),
        cmocka_unit_test(host_memory_is_given_and_taken_back),
        cmocka_unit_test(transfers_with_offsets_hit_their_bytes_only),
        cmocka_unit_test(fill_of_each_pattern_size_repeats_it),
        cmocka_unit_test(launch_with_span_scalar_and_local_computes),
        cmocka_unit_test(launch_with_wrong_arguments_is_refused),
        cmocka_unit_test(kernel_of_unknown_name_is_not_found),
        cmocka_unit_test(build_of_bad_text_shows_the_compilers_log),
        cmocka_unit_test(build_out_of_memory_gives_all_back),
        cmocka_unit_test(binary_round_trip_needs_no_text),
        cmocka_unit_test(launches_of_one_kernel_from_two_threads_keep_their_arguments),
        cmocka_unit_test(event_unrecorded_is_done),
        cmocka_unit_test(event_between_streams_orders_their_work),
        cmocka_unit_test(event_between_devices_orders_their_work),
        cmocka_unit_test(event_outlives_its_stream),
    };

    setenv("POCL_DEVICES", "pthread pthread", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
