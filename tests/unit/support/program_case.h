/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for a backend's programs, tested with a program of the backend: a kernel "scale" that
 * reads and writes counted numbers through spans.
 *
 * The test includes its backend's fixture before this file. */
#ifndef GANTRY_PROGRAM_CASE_H
#define GANTRY_PROGRAM_CASE_H

#include "backend_fixture.h"

#define ITEMS 64
#define GROUP 16

/* The kernel's first three arguments are a span to read, whose base may be null, a span to write
 * and an int. */
typedef struct program_case_t {
    const gantry_program_source_t *source; /* "test/scale" */
    /* with them, the kernel reads 100 everywhere from a null base */
    const char *options;
    int32_t (*launch)(fixture_t *fixture, gantry_backend_stream_t *stream,
                      gantry_backend_kernel_t *kernel, gantry_span_t in, gantry_span_t out,
                      int32_t factor);
    int32_t (*expected)(const int32_t *in, int i, int32_t factor);
} program_case_t;

static inline gantry_backend_program_t *build(fixture_t *fixture, const program_case_t *c, int d) {
    gantry_backend_program_t *program = NULL;

    assert_ok(
        fixture->backend->program->build(fixture->device[d], c->source, c->options, &program));
    return program;
}

static inline gantry_backend_kernel_t *find_scale(fixture_t *fixture,
                                                  gantry_backend_program_t *program) {
    gantry_backend_kernel_t *kernel = NULL;

    assert_ok(fixture->backend->program->kernel_find(program, "scale", &kernel));
    return kernel;
}

static inline void check_scale(fixture_t *fixture, const program_case_t *c,
                               gantry_backend_program_t *program, int d) {
    gantry_backend_kernel_t *kernel = find_scale(fixture, program);
    int32_t in[ITEMS];
    int32_t out[ITEMS];
    gantry_span_t region = fixture_region(fixture, d, 4096);
    gantry_span_t from = {region.region, 512, sizeof in};
    gantry_span_t to = {region.region, 2048, sizeof out};

    for (int i = 0; i < ITEMS; ++i) {
        in[i] = i * i - 7;
    }
    fixture_write(fixture, d, from, in);
    assert_ok(c->launch(fixture, fixture->stream[d], kernel, from, to, -3));
    fixture_read(fixture, d, to, out);
    for (int i = 0; i < ITEMS; ++i) {
        assert_int_equal(out[i], c->expected(in, i, -3));
    }
    /* a null base */
    assert_ok(c->launch(fixture, fixture->stream[d], kernel, (gantry_span_t){0, 0, 0}, to, 2));
    fixture_read(fixture, d, to, out);
    for (int i = 0; i < ITEMS; ++i) {
        assert_int_equal(out[i], 200);
    }
    fixture_region_free(fixture, d, region);
}

/* A case's launch with the same arguments, except that the result's offset is an ordinary scalar.
 * local_bytes: 0 for a kernel without work-group memory. */
static inline int32_t launch_case_by_base(fixture_t *fixture, gantry_backend_stream_t *stream,
                                          gantry_backend_kernel_t *kernel, gantry_span_t in,
                                          gantry_span_t out, int32_t factor, uint32_t local_bytes) {
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = in},
        {.kind = GANTRY_LAUNCH_BASE, .as.span = out},
        {.kind = GANTRY_LAUNCH_SCALAR,
         .size_bytes = sizeof out.offset_bytes,
         .as.value = &out.offset_bytes},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof factor, .as.value = &factor},
        {.kind = GANTRY_LAUNCH_LOCAL, .size_bytes = local_bytes},
    };
    gantry_launch_t launch = {sizeof launch, 1,    {ITEMS, 1, 1},
                              {GROUP, 1, 1}, args, local_bytes != 0 ? 5 : 4};

    return fixture->backend->program->launch(stream, kernel, &launch);
}

static inline void check_launches(const program_case_t *c) {
    fixture_t fixture;

    fixture_open(&fixture);
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        gantry_backend_program_t *program = build(&fixture, c, d);

        check_scale(&fixture, c, program, d);
        fixture.backend->program->destroy(program);
    }
    fixture_close(&fixture);
}

/* Launches that do not fit the kernel; takes and scalar are parts of the expected messages. */
static inline void check_wrong_arguments(const program_case_t *c, const char *takes,
                                         const char *scalar) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel;
    int64_t value = 1;
    gantry_span_t region;

    fixture_open(&fixture);
    program = build(&fixture, c, 0);
    kernel = find_scale(&fixture, program);
    region = fixture_region(&fixture, 0, 4096);
    /* it may leave arguments behind */
    assert_ok(c->launch(&fixture, fixture.stream[0], kernel, region, region, 1));

    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = region},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = region},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof value, .as.value = &value},
    };
    gantry_launch_t launch = {sizeof launch, 1, {ITEMS, 1, 1}, {GROUP, 1, 1}, args, 2};

    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("4 arguments");
    assert_error_has(takes);
    launch.arg_count = 3; /* the kernel expects an int */
    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has(scalar);
    args[2].kind = 77;
    assert_int_equal(fixture.backend->program->launch(fixture.stream[0], kernel, &launch),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("\"scale\" of \"test/scale\"");
    assert_ok(fixture.backend->stream->synchronize(fixture.stream[0]));
    fixture_region_free(&fixture, 0, region);
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

/* refusal is a part of the message about an unknown name. */
static inline void check_kernel_is_found_once(const program_case_t *c, const char *refusal) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_kernel_t *kernel = (gantry_backend_kernel_t *)&fixture;

    fixture_open(&fixture);
    program = build(&fixture, c, 0);
    assert_int_equal(fixture.backend->program->kernel_find(program, "scala", &kernel),
                     GANTRY_NOT_FOUND);
    assert_null(kernel);
    assert_error_has("kernel \"scala\" of program \"test/scale\"");
    assert_error_has(refusal);
    kernel = find_scale(&fixture, program);
    assert_ptr_equal(kernel, find_scale(&fixture, program));
    fixture.backend->program->destroy(program);
    fixture_close(&fixture);
}

/* Equal build hashes: one binary serves both devices. refusal is a part of the message about a
 * damaged binary. */
static inline void check_binary_round_trip(const program_case_t *c, const char *refusal) {
    fixture_t fixture;
    gantry_backend_program_t *program;
    gantry_backend_program_t *loaded = NULL;
    uint64_t size = 0;
    uint64_t too_few;
    unsigned char *bytes;

    fixture_open(&fixture);
    program = build(&fixture, c, 0);
    assert_ok(fixture.backend->program->binary(program, NULL, &size));
    assert_true(size > 0);
    bytes = malloc((size_t)size);
    assert_non_null(bytes);
    too_few = size - 1;
    assert_int_equal(fixture.backend->program->binary(program, bytes, &too_few),
                     GANTRY_OUT_OF_RANGE);
    assert_true(too_few == size); /* the needed size */
    assert_ok(fixture.backend->program->binary(program, bytes, &size));
    fixture.backend->program->destroy(program);
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        uint64_t again = 0;

        assert_ok(fixture.backend->program->load_binary(fixture.device[d], bytes, size,
                                                        "test/scale", &loaded));
        check_scale(&fixture, c, loaded, d);
        assert_ok(fixture.backend->program->binary(loaded, NULL, &again));
        assert_true(again > 0);
        fixture.backend->program->destroy(loaded);
    }
    assert_int_equal(
        fixture.backend->program->load_binary(fixture.device[0], bytes, 0, "test/empty", &loaded),
        GANTRY_INVALID_ARGUMENT);
    memset(bytes, 'x', (size_t)size);
    assert_int_not_equal(fixture.backend->program->load_binary(fixture.device[0], bytes, size,
                                                               "test/spoilt", &loaded),
                         0);
    assert_null(loaded);
    assert_error_has("\"test/spoilt\"");
    assert_error_has(refusal);
    free(bytes);
    fixture_close(&fixture);
}

#endif
