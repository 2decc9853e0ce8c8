/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The OpenCL backend builds programs, loads binaries and launches kernels, on two PoCL
 * devices.
 * Promise: PoCL's header stays out of Gantry's own programs.
 * Promise: The error of an OpenCL program that does not build has the compiler's log in its
 * text. */
#define _GNU_SOURCE
#include <pthread.h>

#include "opencl/opencl_backend.h"
#include "opencl_fixture.h"
#include "program_case.h"
#include "test.h"

/* ---- programs ---- */

static const char text_begin[] =
    "__kernel void scale(__global const uchar *in_base, const ulong in_offset, __global uchar *out_base,\n"
    "    const ulong out_offset, const int factor, __local int *group)\n{\n";
static const char text_end[] =
    "    const size_t i = get_global_id(0);\n"
    "    group[get_local_id(0)] = in_base == 0 ? FALLBACK : ((__global const int *)(in_base + in_offset))[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    ((__global int *)(out_base + out_offset))[i] = factor * group[get_local_size(0) - 1 - get_local_id(0)];\n"
    "}\n";
static const char *const text_parts[] = {text_begin, text_end};
static const gantry_program_source_t test_source = {.struct_size = sizeof test_source,
                                                    .kinds = GANTRY_PROGRAM_OPENCL_C,
                                                    .label = "test/scale",
                                                    .parts = text_parts,
                                                    .part_count = 2};

static int32_t launch_scale(fixture_t *fixture, gantry_backend_stream_t *stream,
                            gantry_backend_kernel_t *kernel, gantry_span_t in, gantry_span_t out,
                            int32_t factor) {
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = in},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = out},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof factor, .as.value = &factor},
        {.kind = GANTRY_LAUNCH_LOCAL, .size_bytes = GROUP * sizeof(int32_t)},
    };
    gantry_launch_t launch = {sizeof launch, 1, {ITEMS, 1, 1}, {GROUP, 1, 1}, args, 4};

    return fixture->backend->program->launch(stream, kernel, &launch);
}

static int32_t launch_by_base(fixture_t *fixture, gantry_backend_stream_t *stream,
                              gantry_backend_kernel_t *kernel, gantry_span_t in, gantry_span_t out,
                              int32_t factor) {
    return launch_case_by_base(fixture, stream, kernel, in, out, factor, GROUP * sizeof(int32_t));
}

static int32_t expected_scale(const int32_t *in, int i, int32_t factor) {
    return factor * in[i / GROUP * GROUP + GROUP - 1 - i % GROUP];
}

static const program_case_t scale = {&test_source, "-DFALLBACK=100", launch_scale, expected_scale};

TEST(launch_with_span_scalar_and_local_computes) { check_launches(&scale); }

TEST(launch_with_a_base_computes) {
    program_case_t by_base = scale;

    by_base.launch = launch_by_base;
    check_launches(&by_base);
}

TEST(launch_with_wrong_arguments_is_refused) {
    check_wrong_arguments(&scale, "the kernel takes 6", "argument 2 (scalar, 8 bytes)");
}

TEST(kernel_of_unknown_name_is_not_found) {
    check_kernel_is_found_once(&scale, "which has: scale");
}

TEST(build_of_bad_text_shows_the_compilers_log) {
    static const char *const parts[] = {
        "__kernel void broken(__global int *x)\n{\n    x[0] = undeclared_thing;\n}\n"};
    static const gantry_program_source_t source = {.struct_size = sizeof source,
                                                   .kinds = GANTRY_PROGRAM_OPENCL_C,
                                                   .label = "test/broken",
                                                   .parts = parts,
                                                   .part_count = 1};
    static const gantry_program_source_t cuda = {.struct_size = sizeof cuda,
                                                 .kinds = GANTRY_PROGRAM_CUDA_C,
                                                 .label = "test/cuda",
                                                 .parts = parts,
                                                 .part_count = 1};
    gantry_backend_program_t *program = NULL;
    fixture_t fixture;

    fixture_open(&fixture);
    assert_int_equal(
        fixture.backend->program->build(fixture.device[0], &source, "-DSOME=1", &program),
        GANTRY_INVALID_ARGUMENT);
    assert_null(program);
    assert_error_has("\"test/broken\"");
    assert_error_has("-DSOME=1");
    assert_error_has("CL_BUILD_PROGRAM_FAILURE");
    assert_error_has("undeclared_thing");
    assert_int_equal(fixture.backend->program->build(fixture.device[0], &cuda, "", &program),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("not written in OpenCL C");
    fixture_close(&fixture);
}

/* ---- PoCL's header ---- */

/* The value of opencl-c.h's guard: 1 where it was left out. */
#define WITHOUT_HEADER "_OPENCL_H_ + 0 == 1"
#define WITH_HEADER "_OPENCL_H_ + 0 != 1"
#define OWN_TEXT(condition, expression)                                                            \
    "#define GANTRY_OK 0\n#if !(" condition                                                        \
    ")\n#error the other header\n#endif\n"                                                         \
    "__kernel void own(__global float *x) { const size_t i = get_global_id(0); x[i] = " expression \
    "; }\n"

static int32_t build_text(fixture_t *fixture, const char *text) {
    const gantry_program_source_t source = {.struct_size = sizeof source,
                                            .kinds = GANTRY_PROGRAM_OPENCL_C,
                                            .label = "test/own",
                                            .parts = &text,
                                            .part_count = 1};
    gantry_backend_program_t *program = NULL;
    const int32_t status =
        fixture->backend->program->build(fixture->device[0], &source, "", &program);

    if (status == 0) fixture->backend->program->destroy(program);
    return status;
}

TEST(own_text_is_built_without_pocls_header) {
    static const char *const texts[] = {
        OWN_TEXT(WITHOUT_HEADER, "fma(sqrt(x[i]), x[i], floor(x[i]))"),
        OWN_TEXT(WITHOUT_HEADER, "vload4(i, x).s0"),
        OWN_TEXT(WITH_HEADER, "exp10(x[i])")}; /* is not in pocl_builtins.cl */
    fixture_t fixture;
    int32_t status[3];

    fixture_open(&fixture);
    const bool is_pocl = fixture.device[0]->is_pocl;
    for (int i = 0; i < 3 && is_pocl; ++i) status[i] = build_text(&fixture, texts[i]);
    fixture_close(&fixture);
    if (!is_pocl) {
        print_message("SKIP: the device is not PoCL's\n");
        skip();
    }
    for (int i = 0; i < 3; ++i) assert_int_equal(status[i], 0);
}

TEST(build_out_of_memory_gives_all_back) {
    fixture_t fixture;
    int32_t status = GANTRY_RESOURCE_EXHAUSTED;

    fixture_open(&fixture);
    for (int more = 1; status != 0 && more < 20; ++more) {
        gantry_backend_program_t *program = NULL;
        gantry_backend_kernel_t *kernel = NULL;

        atomic_store(&fixture.fail_at, atomic_load(&fixture.allocations) + more);
        status = fixture.backend->program->build(fixture.device[0], &test_source, "-DFALLBACK=100",
                                                 &program);
        if (status == 0) {
            status = fixture.backend->program->kernel_find(program, "scale", &kernel);
            fixture.backend->program->destroy(program);
        }
        assert_true(status == 0 || status == GANTRY_RESOURCE_EXHAUSTED);
    }
    assert_int_equal(status, 0);
    fixture_close(&fixture);
}

TEST(binary_round_trip_needs_no_text) { check_binary_round_trip(&scale, "CL_"); }

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
static void *launch_often(void *argument) {
    worker_t *worker = argument;
    fixture_t *fixture = worker->fixture;
    gantry_backend_stream_t *stream = NULL;
    gantry_span_t region = {0, 0, ROUNDS * 256};
    int32_t *out = malloc(ROUNDS * 256);
    int32_t in[ITEMS];

    worker->is_good =
        out != NULL &&
        fixture->backend->stream->create(fixture->device[0], GANTRY_STREAM_COMPUTE, &stream) == 0 &&
        fixture->backend->memory->region_alloc(fixture->device[0], region.size_bytes,
                                               &region.region) == 0;
    for (int r = 0; r < ROUNDS && worker->is_good; ++r) {
        gantry_span_t target = {region.region, (uint64_t)r * 256, 256};

        worker->is_good = launch_scale(fixture, stream, worker->kernel, worker->in, target,
                                       worker->factor + r) == 0;
    }
    worker->is_good = worker->is_good &&
                      fixture->backend->transfer->to_host(stream, out, &region) == 0 &&
                      fixture->backend->stream->synchronize(stream) == 0;
    for (int i = 0; i < ITEMS; ++i) {
        in[i] = i;
    }
    for (int i = 0; i < ROUNDS * ITEMS && worker->is_good; ++i) {
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

TEST(launches_of_one_kernel_from_two_threads_keep_their_arguments) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel;
    gantry_span_t in;
    int32_t values[ITEMS];
    pthread_t threads[THREADS];
    worker_t workers[THREADS];

    fixture_open(&fixture);
    program = build(&fixture, &scale, 0);
    kernel = find_scale(&fixture, program);
    in = fixture_region(&fixture, 0, sizeof values);
    for (int i = 0; i < ITEMS; ++i) {
        values[i] = i;
    }
    fixture_write(&fixture, 0, in, values);
    for (int t = 0; t < THREADS; ++t) {
        workers[t] = (worker_t){&fixture, kernel, in, t == 0 ? 1000 : -100000, 0};
        assert_int_equal(pthread_create(&threads[t], NULL, launch_often, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; ++t) {
        pthread_join(threads[t], NULL);
        assert_true(workers[t].is_good);
    }
    fixture_region_free(&fixture, 0, in);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

/* ---- arguments that are already set ---- */

static __typeof__(&clSetKernelArg) driver_set_argument;
static int set_arguments;

static cl_int CL_API_CALL count_argument(cl_kernel kernel, cl_uint index, size_t bytes,
                                         const void *value) {
    set_arguments++;
    return driver_set_argument(kernel, index, bytes, value);
}

/* A kernel with its input and room for two outputs. The device's driver is called through the
 * test's functions. */
typedef struct told_t {
    fixture_t fixture;
    gantry__opencl_symbols_t asked;
    const gantry__opencl_symbols_t *driver;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel;
    gantry_span_t in, out;
} told_t;

static void open_told(told_t *told) {
    int32_t values[ITEMS];

    fixture_open(&told->fixture);
    told->driver = told->fixture.device[0]->cl;
    driver_set_argument = told->driver->clSetKernelArg;
    told->asked = *told->driver;
    told->asked.clSetKernelArg = count_argument;
    told->fixture.device[0]->cl = &told->asked;
    told->program = build(&told->fixture, &scale, 0);
    told->kernel = find_scale(&told->fixture, told->program);
    told->in = fixture_region(&told->fixture, 0, sizeof values);
    told->out = fixture_region(&told->fixture, 0, 2 * sizeof values);
    told->out.size_bytes = sizeof values;
    for (int i = 0; i < ITEMS; ++i) {
        values[i] = i;
    }
    fixture_write(&told->fixture, 0, told->in, values);
}

static void close_told(told_t *told) {
    fixture_region_free(&told->fixture, 0, told->in);
    fixture_region_free(&told->fixture, 0, told->out);
    told->fixture.backend->program->destroy(told->program);
    told->fixture.device[0]->cl = told->driver;
    fixture_close(&told->fixture);
}

/* The number of arguments that the driver got for one launch, whose result must be right. */
static int told_of_launch(told_t *told, int32_t factor) {
    int32_t values[ITEMS], result[ITEMS];

    set_arguments = 0;
    assert_ok(launch_scale(&told->fixture, told->fixture.stream[0], told->kernel, told->in,
                           told->out, factor));
    fixture_read(&told->fixture, 0, told->in, values);
    fixture_read(&told->fixture, 0, told->out, result);
    for (int i = 0; i < ITEMS; ++i) {
        assert_int_equal(result[i], expected_scale(values, i, factor));
    }
    return set_arguments;
}

/* In and out count twice, and local memory is always passed. */
TEST(arguments_of_the_last_launch_are_not_told_again) {
    told_t told;

    open_told(&told);
    assert_int_equal(told_of_launch(&told, 3), 6);
    assert_int_equal(told_of_launch(&told, 3), 1);
    assert_int_equal(told_of_launch(&told, 4), 2);
    told.out.offset_bytes = told.out.size_bytes;
    assert_int_equal(told_of_launch(&told, 5), 3);
    told.out.offset_bytes = 0;
    fixture_region_free(&told.fixture, 0, told.out); /* the next region may get the same handle */
    told.out = fixture_region(&told.fixture, 0, told.out.size_bytes);
    assert_int_equal(told_of_launch(&told, 5), 6);
    assert_int_equal(told_of_launch(&told, 5), 1);
    close_told(&told);
}

static cl_int CL_API_CALL refuse_factor(cl_kernel kernel, cl_uint index, size_t bytes,
                                        const void *value) {
    return index == 4 ? CL_OUT_OF_HOST_MEMORY : driver_set_argument(kernel, index, bytes, value);
}

/* An argument that the driver refused counts as not set. */
TEST(an_argument_that_was_refused_is_told_again) {
    told_t told;

    open_told(&told);
    assert_int_equal(told_of_launch(&told, 3), 6);
    told.asked.clSetKernelArg = refuse_factor;
    assert_int_equal(
        launch_scale(&told.fixture, told.fixture.stream[0], told.kernel, told.in, told.out, 4),
        GANTRY_RESOURCE_EXHAUSTED);
    told.asked.clSetKernelArg = count_argument;
    assert_int_equal(told_of_launch(&told, 3), 2);
    close_told(&told);
}

/* ---- a kernel's needs ---- */

static const char *const needs_parts[] = {
    "__kernel void tile(__global int *out, const ulong offset, __local int *more)\n{\n    __local int mine[300];\n"
    "    mine[get_local_id(0)] = more[0] = 1;\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0) + offset] = mine[(get_local_id(0) + 1) % get_local_size(0)];\n}\n"};
static const gantry_program_source_t needs_source = {.struct_size = sizeof needs_source,
                                                     .kinds = GANTRY_PROGRAM_OPENCL_C,
                                                     .label = "test/needs",
                                                     .parts = needs_parts,
                                                     .part_count = 1};

TEST(kernel_info_tells_what_the_text_declares) {
    fixture_t fixture;
    gantry_backend_program_t *program = NULL;
    gantry_backend_kernel_t *kernel = NULL;
    gantry_kernel_info_t info = {.struct_size = sizeof info};
    gantry_kernel_info_t head = {.struct_size = offsetof(gantry_kernel_info_t, local_bytes),
                                 .local_bytes = 77};

    fixture_open(&fixture);
    assert_ok(fixture.backend->program->build(fixture.device[0], &needs_source, "", &program));
    assert_ok(fixture.backend->program->kernel_find(program, "tile", &kernel));
    assert_ok(fixture.backend->program->kernel_info(kernel, &info));
    if (info.local_bytes == 0 && !strstr(fixture.info[0].platform_version, "PoCL 3.")) {
        print_message("%s does not tell how much local memory a kernel declares: taken as 0\n",
                      fixture.info[0].platform_version);
    } else {
        /* without the local memory that an argument requests */
        assert_int_equal(info.local_bytes, 1200);
    }
    assert_in_range(info.max_work_group_size, 1, fixture.info[0].max_work_group_size);
    assert_ok(fixture.backend->program->kernel_info(kernel, &head));
    assert_int_equal(head.max_work_group_size, info.max_work_group_size);
    /* the library writes no byte beyond an older caller's struct */
    assert_int_equal(head.local_bytes, 77);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

/* A hint: if the driver does not know it, the stream is like any other. */
TEST(streams_of_every_priority_work) {
    fixture_t fixture;
    gantry_backend_stream_t *stream;
    uint32_t value = 0;

    fixture_open(&fixture);
    assert_true(fixture.info[0].greatest_priority <= fixture.info[0].least_priority);
    for (int32_t priority = -1; priority <= 1; ++priority) {
        gantry_span_t span = fixture_region(&fixture, 0, 4);
        uint32_t wanted = (uint32_t)(priority + 7);

        assert_ok(fixture.backend->stream->create_with_priority(
            fixture.device[0], GANTRY_STREAM_COMPUTE, priority, &stream));
        assert_ok(fixture.backend->transfer->fill(stream, &span, &wanted, 4));
        assert_ok(fixture.backend->stream->synchronize(stream));
        fixture_read(&fixture, 0, span, &value);
        assert_int_equal(value, wanted);
        fixture.backend->stream->destroy(stream);
        fixture_region_free(&fixture, 0, span);
    }
    fixture_close(&fixture);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main();
}
