/*
 * The portable functions have the same bits on an OpenCL device as in C: one text, compiled both ways, on 4 Mi inputs.
 *
 * Uses the first CPU device of the first platform that has one (the pthread device of PoCL where PoCL is installed).
 * Without a platform or device the tests are skipped with the reason printed. Reads the text from the source tree:
 * GANTRY_KERNELS_FOLDER, else backends/portable/kernels below the current folder.
 */
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 120

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>
#include <cmocka.h>

#include "math_float32_text.h"

#include "../../backends/portable/kernels/math_float64.cl"

#ifndef GANTRY_KERNELS_FOLDER
#define GANTRY_KERNELS_FOLDER "backends/portable/kernels"
#endif

enum { COUNT = 4 << 20, LOCAL_SIZE = 64 };

/* Every function tested, by width: C loops, kernels and their table all come from this list and math_float32_functions.def. */
#define FUNCTIONS_F64(X) X(exp) X(log) X(tanh) X(sigmoid) X(sqrt) X(sin_4pi) X(cos_4pi)

#define C_LOOP(name, type, width)                                                                                      \
    static void loop_##name##_##width(void *restrict out, const void *restrict in, size_t count)                      \
    {                                                                                                                  \
        type *restrict y = out;                                                                                        \
        const type *restrict x = in;                                                                                   \
        for (size_t i = 0; i < count; i++) {                                                                           \
            y[i] = gantry_##name##_##width(x[i]);                                                                      \
        }                                                                                                              \
    }
#define C_LOOP_F32(name) C_LOOP(name, float, f32)
#define C_LOOP_F64(name) C_LOOP(name, double, f64)
#define MATH_FUNCTION(name, reference, bound_ulp, domain) C_LOOP_F32(name)
#include "math_float32_functions.def"
#undef MATH_FUNCTION
FUNCTIONS_F64(C_LOOP_F64)

typedef struct subject {
    const char *name;
    const char *type;
    size_t size_bytes;
    void (*loop)(void *restrict y, const void *restrict x, size_t count);
} subject_t;

#define SUBJECT_F64(name) {#name "_f64", "double", 8, loop_##name##_f64},
static const subject_t subjects_f32[] = {
#define MATH_FUNCTION(name, reference, bound_ulp, domain) {#name "_f32", "float", 4, loop_##name##_f32},
#include "math_float32_functions.def"
#undef MATH_FUNCTION
};
static const subject_t subjects_f64[] = {FUNCTIONS_F64(SUBJECT_F64)};

typedef struct fixture {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    char build_options[256];
    bool has_float64;
    const char *skip_reason;
} fixture_t;

/* The files of the text, one after the other; NULL when one cannot be read. The caller frees it. */
static char *read_text(const char *const *names, size_t count)
{
    char *text = NULL;
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", GANTRY_KERNELS_FOLDER, names[i]);
        FILE *file = fopen(path, "rb");
        char *grown = file == NULL ? NULL : realloc(text, length + (64u << 10) + 1);
        if (grown == NULL) {
            print_message("cannot read %s\n", path);
            if (file != NULL) {
                fclose(file);
            }
            free(text);
            return NULL;
        }
        text = grown;
        length += fread(text + length, 1, 64u << 10, file);
        text[length] = '\0';
        fclose(file);
    }
    return text;
}

static bool find_device(fixture_t *fixture)
{
    cl_platform_id platforms[8];
    cl_uint platform_count = 0;
    if (clGetPlatformIDs(8, platforms, &platform_count) != CL_SUCCESS || platform_count == 0) {
        fixture->skip_reason = "no OpenCL platform";
        return false;
    }
    for (cl_uint i = 0; i < platform_count && i < 8; i++) {
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &fixture->device, NULL) == CL_SUCCESS) {
            return true;
        }
    }
    fixture->skip_reason = "no OpenCL CPU device";
    return false;
}

/* Division need not be correctly rounded for equal bits of these functions except the square root. */
static bool read_device(fixture_t *fixture)
{
    char name[256] = "";
    cl_device_fp_config single = 0;
    cl_device_fp_config wide = 0;
    clGetDeviceInfo(fixture->device, CL_DEVICE_NAME, sizeof name, name, NULL);
    clGetDeviceInfo(fixture->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
    clGetDeviceInfo(fixture->device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof wide, &wide, NULL);
    bool rounded = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    bool denormals = (single & CL_FP_DENORM) != 0;
    fixture->has_float64 = wide != 0;
    snprintf(fixture->build_options, sizeof fixture->build_options, "-cl-std=CL1.2%s",
             rounded ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    print_message("device %s: float32 denormals %s, divide and square root %s, float64 %s\n", name,
                  denormals ? "kept" : "flushed", rounded ? "correctly rounded" : "not correctly rounded",
                  fixture->has_float64 ? "yes" : "no");
    if (!rounded || !denormals) {
        fixture->skip_reason = "the device does not keep denormals or round divisions and square roots correctly";
    }
    return rounded && denormals;
}

static int open_device(void **state)
{
    static fixture_t fixture;
    *state = &fixture;
    setenv("POCL_DEVICES", "pthread", 1);
    if (!find_device(&fixture) || !read_device(&fixture)) {
        return 0;
    }
    cl_int code = CL_SUCCESS;
    fixture.context = clCreateContext(NULL, 1, &fixture.device, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        return -1;
    }
    fixture.queue = clCreateCommandQueue(fixture.context, fixture.device, 0, &code);
    return code == CL_SUCCESS ? 0 : -1;
}

static int close_device(void **state)
{
    fixture_t *fixture = *state;
    if (fixture->queue != NULL) {
        clReleaseCommandQueue(fixture->queue);
    }
    if (fixture->context != NULL) {
        clReleaseContext(fixture->context);
    }
    return 0;
}

static cl_program build_program(const fixture_t *fixture, const char *text, const subject_t *subjects, size_t count,
                                unsigned lanes)
{
    char kernels[8192] = "";
    char options[320];
    char width[12] = "";
    size_t used = 0;
    snprintf(options, sizeof options, "%s", fixture->build_options);
    if (lanes > 1) {
        snprintf(options, sizeof options, "%s -DGANTRY_MATH_LANES=%u", fixture->build_options, lanes);
        snprintf(width, sizeof width, "%u", lanes);
    }
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(kernels + used, sizeof kernels - used,
                                 "__kernel void run_%s(__global const %s%s *x, __global %s%s *y)\n"
                                 "{ size_t i = get_global_id(0); y[i] = gantry_%s(x[i]); }\n",
                                 subjects[i].name, subjects[i].type, width, subjects[i].type, width,
                                 subjects[i].name);
    }
    const char *parts[] = {text, kernels};
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(fixture->context, 2, parts, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    if (clBuildProgram(program, 1, &fixture->device, options, NULL, NULL) != CL_SUCCESS) {
        static char log[16384];
        clGetProgramBuildInfo(program, fixture->device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fail_msg("build with \"%s\" failed:\n%s", options, log);
    }
    return program;
}

static void run_on_device(const fixture_t *fixture, cl_program program, const subject_t *subject, unsigned lanes,
                          const void *x, void *y)
{
    char name[64];
    size_t bytes = (size_t)COUNT * subject->size_bytes;
    size_t global = COUNT / lanes;
    size_t local = LOCAL_SIZE;
    cl_int code = CL_SUCCESS;
    snprintf(name, sizeof name, "run_%s", subject->name);
    cl_kernel kernel = clCreateKernel(program, name, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem in = clCreateBuffer(fixture->context, CL_MEM_READ_ONLY, bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem out = clCreateBuffer(fixture->context, CL_MEM_WRITE_ONLY, bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueWriteBuffer(fixture->queue, in, CL_TRUE, 0, bytes, x, 0, NULL, NULL), CL_SUCCESS);
    clSetKernelArg(kernel, 0, sizeof in, &in);
    clSetKernelArg(kernel, 1, sizeof out, &out);
    code = clEnqueueNDRangeKernel(fixture->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueReadBuffer(fixture->queue, out, CL_TRUE, 0, bytes, y, 0, NULL, NULL), CL_SUCCESS);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
}

static uint64_t bits_at(const void *values, size_t index, size_t size_bytes)
{
    uint32_t narrow = 0;
    uint64_t wide = 0;
    if (size_bytes == 4) {
        memcpy(&narrow, (const char *)values + index * 4, 4);
        return narrow;
    }
    memcpy(&wide, (const char *)values + index * 8, 8);
    return wide;
}

/* Number of unequal results; the first is printed. */
static size_t compare(const subject_t *subject, const void *x, const void *device, const void *host)
{
    size_t unequal = 0;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t got = bits_at(device, i, subject->size_bytes);
        uint64_t wanted = bits_at(host, i, subject->size_bytes);
        if (got != wanted && unequal++ == 0) {
            print_message("%s: input 0x%llx gives 0x%llx on the device, 0x%llx in C\n", subject->name,
                          (unsigned long long)bits_at(x, i, subject->size_bytes), (unsigned long long)got,
                          (unsigned long long)wanted);
        }
    }
    if (unequal != 0) {
        print_message("%s: %zu of %d results differ\n", subject->name, unequal, COUNT);
    }
    return unequal;
}

static void compare_all(const fixture_t *fixture, const char *text, const subject_t *subjects, size_t count,
                        unsigned lanes, const void *x)
{
    cl_program program = build_program(fixture, text, subjects, count, lanes);
    void *device = malloc((size_t)COUNT * 8);
    void *host = malloc((size_t)COUNT * 8);
    assert_non_null(device);
    assert_non_null(host);
    size_t unequal = 0;
    for (size_t i = 0; i < count; i++) {
        run_on_device(fixture, program, &subjects[i], lanes, x, device);
        subjects[i].loop(host, x, COUNT);
        unequal += compare(&subjects[i], x, device, host);
    }
    free(device);
    free(host);
    clReleaseProgram(program);
    assert_int_equal(unequal, 0);
}

static void skip_with_reason(const fixture_t *fixture)
{
    if (fixture->skip_reason != NULL) {
        print_message("skipped: %s\n", fixture->skip_reason);
        skip();
    }
}

/* xorshift64*: the test needs repeatable bits, nothing more. */
static uint64_t next_bits(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* In turn: any bits; the range where the functions bend; the range of exp and of the two quarter-turn functions. */
static double next_in_range(uint64_t *state, size_t index, double wide)
{
    double unit = (double)(next_bits(state) >> 11) * 0x1p-53;
    return index % 4 == 1 ? 20.0 * unit - 10.0 : index % 4 == 2 ? 2.0 * wide * unit - wide : 12.566 * unit;
}

static void compare_float32(const fixture_t *fixture, unsigned lanes)
{
    static const uint32_t specials[] = {
        0x00000000u, 0x80000000u, 0x00000001u, 0x80000001u, 0x007fffffu, 0x807fffffu, 0x00800000u, 0x80800000u,
        0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff812345u, 0x7f7fffffu, 0xff7fffffu,
        0x3f800000u, 0xbf800000u, 0x42b17217u, 0x42b17218u, 0xc2aeac50u, 0xc2cff1b4u, 0xc2cff1b5u, 0x3f700000u,
    };
    enum { SPECIALS = sizeof specials / sizeof specials[0] };
    static const char *const files[] = {GANTRY_MATH_FLOAT32_FILES};
    skip_with_reason(fixture);
    char *text = read_text(files, sizeof files / sizeof files[0]);
    float *x = malloc((size_t)COUNT * sizeof *x);
    assert_non_null(text);
    assert_non_null(x);
    uint64_t seed = 88172645463325252u;
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t bits = i < SPECIALS ? specials[i] : (uint32_t)(next_bits(&seed) >> 32);
        x[i] = i < SPECIALS || i % 4 == 0 ? GANTRY_AS_FLOAT(bits) : (float)next_in_range(&seed, i, 105.0);
    }
    compare_all(fixture, text, subjects_f32, sizeof subjects_f32 / sizeof subjects_f32[0], lanes, x);
    free(text);
    free(x);
}

static void compare_float64(const fixture_t *fixture, unsigned lanes)
{
    skip_with_reason(fixture);
    if (!fixture->has_float64) {
        print_message("skipped: the device has no float64\n");
        skip();
    }
    static const char *const files[] = {"dialect.cl", "math_float64.cl"};
    char *text = read_text(files, sizeof files / sizeof files[0]);
    double *x = malloc((size_t)COUNT * sizeof *x);
    assert_non_null(text);
    assert_non_null(x);
    uint64_t seed = 362436069u;
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = i % 4 == 0 ? GANTRY_AS_DOUBLE(next_bits(&seed)) : next_in_range(&seed, i, 750.0);
    }
    compare_all(fixture, text, subjects_f64, sizeof subjects_f64 / sizeof subjects_f64[0], lanes, x);
    free(text);
    free(x);
}

static void float32_functions_opencl_and_c_give_equal_bits(void **state)
{
    compare_float32(*state, 1);
}

static void float32_functions_sixteen_lanes_and_c_give_equal_bits(void **state)
{
    compare_float32(*state, 16);
}

static void float64_functions_opencl_and_c_give_equal_bits(void **state)
{
    compare_float64(*state, 1);
}

static void float64_functions_eight_lanes_and_c_give_equal_bits(void **state)
{
    compare_float64(*state, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32_functions_opencl_and_c_give_equal_bits),
        cmocka_unit_test(float32_functions_sixteen_lanes_and_c_give_equal_bits),
        cmocka_unit_test(float64_functions_opencl_and_c_give_equal_bits),
        cmocka_unit_test(float64_functions_eight_lanes_and_c_give_equal_bits),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
