/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The portable functions have the same bits on an OpenCL device as in C: one text,
 * compiled both ways, on 1 Mi inputs.
 *
 * The device's own float64 functions are close to the C library's. The division of positions agrees
 * with `/`. test_math_bits --full [function ...] compares float32 functions on all 2^32 inputs
 * instead, with sixteen lanes, and takes some hours for all; C is then the highest instruction
 * set's. The test uses the first CPU device of the first platform that has one (the pthread device
 * of PoCL, if PoCL is installed). Without OpenCL the tests are skipped or fail (need_opencl.h);
 * without a CPU device they are skipped. The text comes from the source tree: from
 * GANTRY_KERNELS_FOLDER, else from kernels in the current folder. */
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

#include "backends/cpu/cpu_backend.h"
#include "math_float32_loops.h"
#include "math_text.h"
#include "need_opencl.h"
#include "sanitized.h"

#ifndef GANTRY_KERNELS_FOLDER
#define GANTRY_KERNELS_FOLDER "kernels"
#endif

enum {
    COUNT = FEWER_FOR_SANITIZERS(1 << 20, 1 << 14),
    LIBRARY_COUNT = FEWER_FOR_SANITIZERS(1 << 17, 1 << 12),
    LOCAL_SIZE = 64,
    LIBRARY_ULP = 4
};

/* Every function tested: the rows of ops/functions.def, and fmod of float64, make the C
 * loops, the kernels and their tables. Functions of two arguments have (x, z), and come last in a
 * table. A library function is the C library's in C, and the device's own on the device. */
#define GANTRY_MATH_PAIR(...) +1
enum {
    PAIRS = 0
#include "ops/functions.def"
    ,
    LIBRARY_PAIRS = PAIRS + 1
};

#define LOOP(name, type, width, ...)                                               \
    static void loop_##name##_##width(void *restrict out, const void *restrict xs, \
                                      const void *restrict zs, size_t count) {     \
        type *restrict y = out;                                                    \
        const type *restrict x = xs;                                               \
        const type *restrict z = zs;                                               \
        (void)z;                                                                   \
        for (size_t i = 0; i < count; ++i) {                                       \
            y[i] = gantry__##name##_##width(__VA_ARGS__);                          \
        }                                                                          \
    }
#define LOOP_F32(name) LOOP(name, float, f32, x[i])
#define LOOP_PAIR_F32(name) LOOP(name, float, f32, x[i], z[i])
#define LOOP_F64(name) LOOP(name, double, f64, x[i])
#define LOOP_PAIR_F64(name) LOOP(name, double, f64, x[i], z[i])
#define LOOP_SAME(name) LOOP_F64(name)
#define LOOP_NEAR(name) LOOP_F64(name)
#define LOOP_PARTLY(name) LOOP_F64(name)
#define LOOP_LIBRARY(name) LOOP_F64(name)
#define LOOP_NONE(name)
#define GANTRY_MATH_FUNCTION(form, op, name, float64, ...) LOOP_F32(name) LOOP_##float64(name)
#define GANTRY_MATH_PAIR(op, name, float64) LOOP_PAIR_F32(name) LOOP_PAIR_F64(name)
#include "ops/functions.def"
LOOP_PAIR_F64(fmod)

typedef struct subject {
    const char *name;
    const char *arguments;
    const char *type;
    size_t size_bytes;
    void (*loop)(void *restrict y, const void *restrict x, const void *restrict z, size_t count);
} subject_t;

#define ROW_F32(name) {#name "_f32", "x[i]", "float", 4, loop_##name##_f32},
#define ROW_PAIR_F32(name) {#name "_f32", "x[i], z[i]", "float", 4, loop_##name##_f32},
#define ROW_F64(name) {#name "_f64", "x[i]", "double", 8, loop_##name##_f64},
#define ROW_PAIR_F64(name) {#name "_f64", "x[i], z[i]", "double", 8, loop_##name##_f64},
#define NO_ROW(name)
#define GANTRY_MATH_FUNCTION(form, op, name, ...) ROW_F32(name)
#define GANTRY_MATH_PAIR(op, name, float64) ROW_PAIR_F32(name)
static const subject_t subjects_f32[] = {
#include "ops/functions.def"
};
#define SAME_SAME ROW_F64
#define SAME_NEAR NO_ROW
#define SAME_PARTLY NO_ROW
#define SAME_LIBRARY NO_ROW
#define SAME_NONE NO_ROW
#define GANTRY_MATH_FUNCTION(form, op, name, float64, ...) SAME_##float64(name)
static const subject_t subjects_f64[] = {
#include "ops/functions.def"
};
#define NEAR_SAME NO_ROW
#define NEAR_NEAR ROW_F64
#define NEAR_PARTLY NO_ROW
#define NEAR_LIBRARY NO_ROW
#define NEAR_NONE NO_ROW
#define GANTRY_MATH_FUNCTION(form, op, name, float64, ...) NEAR_##float64(name)
static const subject_t subjects_near[] = {
#include "ops/functions.def"
};
#define LIBRARY_SAME NO_ROW
#define LIBRARY_NEAR NO_ROW
#define LIBRARY_PARTLY ROW_F64
#define LIBRARY_LIBRARY ROW_F64
#define LIBRARY_NONE NO_ROW
#define GANTRY_MATH_FUNCTION(form, op, name, float64, ...) LIBRARY_##float64(name)
#define GANTRY_MATH_PAIR(op, name, float64) ROW_PAIR_F64(name)
static const subject_t subjects_library[] = {
#include "ops/functions.def"
    ROW_PAIR_F64(fmod)};

/* Inputs of one run. */
typedef struct inputs {
    const void *x;
    const void *z;
    size_t count; /* of each */
} inputs_t;

typedef size_t (*compare_fn)(const subject_t *subject, const inputs_t *inputs, const void *device,
                             const void *host);

typedef struct fixture {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    char build_options[256];
    bool has_float64;
    const char *skip_reason;
} fixture_t;

/* The text's files in order; NULL if one cannot be read. The caller frees the text. */
static char *read_text(const char *const *names, size_t count) {
    char *text = NULL;
    size_t length = 0;
    for (size_t i = 0; i < count; ++i) {
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

static bool find_device(fixture_t *fixture) {
    cl_platform_id platforms[8];
    cl_uint platform_count = 0;
    if (clGetPlatformIDs(8, platforms, &platform_count) != CL_SUCCESS || platform_count == 0) {
        fixture->skip_reason = "no OpenCL platform";
        return false;
    }
    for (cl_uint i = 0; i < platform_count && i < 8; ++i) {
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &fixture->device, NULL) ==
            CL_SUCCESS) {
            return true;
        }
    }
    fixture->skip_reason = "no OpenCL CPU device";
    return false;
}

/* Only the square root needs correctly rounded division for equal bits. */
static bool read_device(fixture_t *fixture) {
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
                  denormals ? "kept" : "flushed",
                  rounded ? "correctly rounded" : "not correctly rounded",
                  fixture->has_float64 ? "yes" : "no");
    if (!rounded || !denormals) {
        fixture->skip_reason =
            "the device does not keep denormals or round divisions and square roots correctly";
    }
    return rounded && denormals;
}

static int open_device(void **state) {
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

static int close_device(void **state) {
    fixture_t *fixture = *state;
    if (fixture->queue != NULL) {
        clReleaseCommandQueue(fixture->queue);
    }
    if (fixture->context != NULL) {
        clReleaseContext(fixture->context);
    }
    return 0;
}

static cl_program build_program(const fixture_t *fixture, const char *text,
                                const subject_t *subjects, size_t count, unsigned lanes) {
    char kernels[8192] = "";
    char options[320];
    char width[12] = "";
    size_t used = 0;
    snprintf(options, sizeof options, "%s", fixture->build_options);
    if (lanes > 1) {
        snprintf(options, sizeof options, "%s -DGANTRY_MATH_LANES=%u", fixture->build_options,
                 lanes);
        snprintf(width, sizeof width, "%u", lanes);
    }
    for (size_t i = 0; i < count; ++i) {
        used += (size_t)snprintf(kernels + used, sizeof kernels - used,
                                 "KERNEL(%s, %s%s, gantry__%s(%s))\n", subjects[i].name,
                                 subjects[i].type, width, subjects[i].name, subjects[i].arguments);
    }
    const char *parts[] = {
        text,
        "#define KERNEL(name, T, value) \\\n"
        "__kernel void run_##name(__global const T *x, __global const T *z, __global T *y) \\\n"
        "{ size_t i = get_global_id(0); y[i] = value; }\n",
        kernels};
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(fixture->context, 3, parts, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    if (clBuildProgram(program, 1, &fixture->device, options, NULL, NULL) != CL_SUCCESS) {
        static char log[16384];
        clGetProgramBuildInfo(program, fixture->device, CL_PROGRAM_BUILD_LOG, sizeof log, log,
                              NULL);
        fail_msg("build with \"%s\" failed:\n%s", options, log);
    }
    return program;
}

static cl_mem input_buffer(const fixture_t *fixture, const void *values, size_t bytes) {
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(fixture->context, CL_MEM_READ_ONLY, bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(
        clEnqueueWriteBuffer(fixture->queue, buffer, CL_TRUE, 0, bytes, values, 0, NULL, NULL),
        CL_SUCCESS);
    return buffer;
}

static void run_on_device(const fixture_t *fixture, cl_program program, const subject_t *subject,
                          unsigned lanes, const inputs_t *inputs, void *y) {
    char name[64];
    size_t bytes = inputs->count * subject->size_bytes;
    size_t global = inputs->count / lanes;
    size_t local = LOCAL_SIZE;
    cl_int code = CL_SUCCESS;
    snprintf(name, sizeof name, "run_%s", subject->name);
    cl_kernel kernel = clCreateKernel(program, name, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem x = input_buffer(fixture, inputs->x, bytes);
    cl_mem z = input_buffer(fixture, inputs->z, bytes);
    cl_mem out = clCreateBuffer(fixture->context, CL_MEM_WRITE_ONLY, bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clSetKernelArg(kernel, 1, sizeof z, &z);
    clSetKernelArg(kernel, 2, sizeof out, &out);
    code = clEnqueueNDRangeKernel(fixture->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueReadBuffer(fixture->queue, out, CL_TRUE, 0, bytes, y, 0, NULL, NULL),
                     CL_SUCCESS);
    clReleaseMemObject(x);
    clReleaseMemObject(z);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
}

static uint64_t bits_at(const void *values, size_t index, size_t size_bytes) {
    uint32_t narrow = 0;
    uint64_t wide = 0;
    if (size_bytes == 4) {
        memcpy(&narrow, (const char *)values + index * 4, 4);
        return narrow;
    }
    memcpy(&wide, (const char *)values + index * 8, 8);
    return wide;
}

/* The distance in units of the last place of wanted or 1, whichever is greater; infinite if a
 * special result differs. An infinity equals a number next to infinity. */
static double distance_in_ulp(double got, double wanted) {
    bool huge =
        fabs(got) > 0x1.ffp1023 && fabs(wanted) > 0x1.ffp1023 && signbit(got) == signbit(wanted);
    if (GANTRY_AS_ULONG(got) == GANTRY_AS_ULONG(wanted) || huge) {
        return 0.0;
    }
    if (!isfinite(got) || !isfinite(wanted)) {
        return HUGE_VAL;
    }
    return ldexp(fabs(got - wanted), 52 - (fabs(wanted) < 1.0 ? 0 : ilogb(wanted)));
}

/* The forms for near arguments promise nothing of distant ones: which NaN these give is the
 * compiler's choice. */
static bool is_any_nan(const subject_t *subject, uint64_t got, uint64_t wanted) {
    const uint64_t most = 0x7f800000, got_size = got & 0x7fffffff,
                   wanted_size = wanted & 0x7fffffff;
    return strstr(subject->name, "_near_f32") && got_size > most && wanted_size > most;
}

/* The number of unequal results; prints the first. */
static size_t compare_bits(const subject_t *subject, const inputs_t *inputs, const void *device,
                           const void *host) {
    size_t unequal = 0;
    for (size_t i = 0; i < inputs->count; ++i) {
        uint64_t got = bits_at(device, i, subject->size_bytes);
        uint64_t wanted = bits_at(host, i, subject->size_bytes);
        if (got != wanted && !is_any_nan(subject, got, wanted) && unequal++ == 0) {
            print_message("%s(%s): x 0x%llx, z 0x%llx give 0x%llx on the device, 0x%llx in C\n",
                          subject->name, subject->arguments,
                          (unsigned long long)bits_at(inputs->x, i, subject->size_bytes),
                          (unsigned long long)bits_at(inputs->z, i, subject->size_bytes),
                          (unsigned long long)got, (unsigned long long)wanted);
        }
    }
    if (unequal != 0) {
        print_message("%s: %zu of %zu results differ\n", subject->name, unequal, inputs->count);
    }
    return unequal;
}

/* 1 if some results differ by more than LIBRARY_ULP; prints the furthest. */
static size_t compare_nearness(const subject_t *subject, const inputs_t *inputs, const void *device,
                               const void *host) {
    const double *x = inputs->x;
    const double *z = inputs->z;
    const double *got = device;
    const double *wanted = host;
    size_t furthest = 0;
    double most = 0.0;
    for (size_t i = 0; i < inputs->count; ++i) {
        double distance = distance_in_ulp(got[i], wanted[i]);
        if (distance > most) {
            most = distance;
            furthest = i;
        }
    }
    print_message("%s(%s): x = %a, z = %a give %.17g on the device, %.17g in C: %.1f ulp\n",
                  subject->name, subject->arguments, x[furthest], z[furthest], got[furthest],
                  wanted[furthest], most);
    return most > LIBRARY_ULP ? 1 : 0;
}

/* Equal bits for near arguments, and close results for the others. */
static size_t compare_near_bits(const subject_t *subject, const inputs_t *inputs,
                                const void *device, const void *host) {
    const double *x = inputs->x;
    size_t unequal = compare_nearness(subject, inputs, device, host);
    for (size_t i = 0; i < inputs->count; ++i) {
        bool is_near = fabs(x[i]) < GANTRY_NEAR_LIMIT_F64;
        unequal += is_near && bits_at(device, i, sizeof *x) != bits_at(host, i, sizeof *x) ? 1 : 0;
    }
    return unequal;
}

/* Runs each function on the device and in C, and passes both results to compare, which must return
 * 0. */
static void compare_all(const fixture_t *fixture, const char *text, const subject_t *subjects,
                        size_t count, unsigned lanes, const inputs_t *inputs, compare_fn compare) {
    cl_program program = build_program(fixture, text, subjects, count, lanes);
    void *device = malloc(inputs->count * 8);
    void *host = malloc(inputs->count * 8);
    assert_non_null(device);
    assert_non_null(host);
    size_t unequal = 0;
    for (size_t i = 0; i < count; ++i) {
        run_on_device(fixture, program, &subjects[i], lanes, inputs, device);
        subjects[i].loop(host, inputs->x, inputs->z, inputs->count);
        unequal += compare(&subjects[i], inputs, device, host);
    }
    free(device);
    free(host);
    clReleaseProgram(program);
    assert_int_equal(unequal, 0);
}

static void skip_with_reason(const fixture_t *fixture) {
    if (fixture->skip_reason != NULL) {
        need_opencl();
        print_message("skipped: %s\n", fixture->skip_reason);
        skip();
    }
}

/* xorshift64*: the test needs repeatable bits, nothing more. */
static uint64_t next_bits(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* In turn: any bits; the range of interesting values; the range of exp and of the two quarter-turn
 * functions. */
static double next_in_range(uint64_t *state, size_t index, double wide) {
    double unit = (double)(next_bits(state) >> 11) * 0x1p-53;
    return index % 4 == 1   ? 20.0 * unit - 10.0
           : index % 4 == 2 ? 2.0 * wide * unit - wide
                            : 12.566 * unit;
}

/* The second arguments: the first ones in another order. In half of the pairs, both are of one
 * kind. */
static void *make_partners(const void *x, size_t count, size_t size_bytes) {
    char *z = malloc(count * size_bytes);
    assert_non_null(z);
    for (size_t i = 0; i < count; ++i) {
        size_t from = (i * 5 + i / 4 % 2) % count;
        memcpy(z + i * size_bytes, (const char *)x + from * size_bytes, size_bytes);
    }
    return z;
}

static void compare_float32(const fixture_t *fixture, unsigned lanes) {
    static const uint32_t specials[] = {
        0x00000000u, 0x80000000u, 0x00000001u, 0x80000001u, 0x007fffffu, 0x807fffffu,
        0x00800000u, 0x80800000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u,
        0x7f800001u, 0xff812345u, 0x7f7fffffu, 0xff7fffffu, 0x3f800000u, 0xbf800000u,
        0x42b17217u, 0x42b17218u, 0xc2aeac50u, 0xc2cff1b4u, 0xc2cff1b5u, 0x3f700000u,
    };
    enum { SPECIALS = sizeof specials / sizeof specials[0] };
    static const char *const files[] = {GANTRY_MATH_FLOAT32_FILES};
    skip_with_reason(fixture);
    char *text = read_text(files, sizeof files / sizeof files[0]);
    float *x = malloc((size_t)COUNT * sizeof *x);
    assert_non_null(text);
    assert_non_null(x);
    uint64_t seed = 88172645463325252u;
    for (size_t i = 0; i < COUNT; ++i) {
        uint32_t bits = i < SPECIALS ? specials[i] : (uint32_t)(next_bits(&seed) >> 32);
        x[i] = i < SPECIALS || i % 4 == 0 ? GANTRY_AS_FLOAT(bits)
                                          : (float)next_in_range(&seed, i, 105.0);
    }
    void *z = make_partners(x, COUNT, sizeof *x);
    const inputs_t inputs = {x, z, COUNT};
    compare_all(fixture, text, subjects_f32, sizeof subjects_f32 / sizeof subjects_f32[0], lanes,
                &inputs, compare_bits);
    free(text);
    free(x);
    free(z);
}

static void compare_float64(const fixture_t *fixture, size_t count, const subject_t *subjects,
                            size_t subject_count, unsigned lanes, compare_fn compare) {
    skip_with_reason(fixture);
    if (!fixture->has_float64) {
        print_message("skipped: the device has no float64\n");
        skip();
    }
    static const char *const files[] = {GANTRY_MATH_FLOAT64_FILES};
    char *text = read_text(files, sizeof files / sizeof files[0]);
    double *x = malloc(count * sizeof *x);
    assert_non_null(text);
    assert_non_null(x);
    uint64_t seed = 362436069u;
    for (size_t i = 0; i < count; ++i) {
        x[i] = i % 4 == 0 ? GANTRY_AS_DOUBLE(next_bits(&seed)) : next_in_range(&seed, i, 750.0);
    }
    void *z = make_partners(x, count, sizeof *x);
    const inputs_t inputs = {x, z, count};
    compare_all(fixture, text, subjects, subject_count, lanes, &inputs, compare);
    free(text);
    free(x);
    free(z);
}

static void compare_own_float64(const fixture_t *fixture, unsigned lanes) {
    size_t count = sizeof subjects_f64 / sizeof subjects_f64[0];
    compare_float64(fixture, COUNT, subjects_f64, count, lanes, compare_bits);
    compare_float64(fixture, LIBRARY_COUNT, subjects_near,
                    sizeof subjects_near / sizeof subjects_near[0], lanes, compare_near_bits);
}

/* Functions of two arguments have no lanes. */
static void compare_library(const fixture_t *fixture, unsigned lanes) {
    size_t count = sizeof subjects_library / sizeof subjects_library[0];
    compare_float64(fixture, LIBRARY_COUNT, subjects_library,
                    lanes > 1 ? count - LIBRARY_PAIRS : count, lanes, compare_nearness);
}

/* C uses plain division. */
static void loop_divide_position(void *restrict out, const void *restrict xs,
                                 const void *restrict zs, size_t count) {
    int64_t *restrict y = out;
    const int64_t *restrict x = xs;
    const int64_t *restrict z = zs;
    for (size_t i = 0; i < count; ++i) {
        y[i] = x[i] / z[i];
    }
}

/* Positions and sizes of every length; half of them are within 4 of a power of two. */
static void positions_opencl_and_c_divide_alike(void **state) {
    static const subject_t subject = {"divide_position", "x[i], z[i]", "long", 8,
                                      loop_divide_position};
    static const char *const files[] = {"common/dialect.cl"};
    static int64_t x[LIBRARY_COUNT], z[LIBRARY_COUNT];
    const fixture_t *fixture = *state;
    skip_with_reason(fixture);
    char *text = read_text(files, 1);
    assert_non_null(text);
    uint64_t seed = 521288629u;
    for (size_t i = 0; i < LIBRARY_COUNT; ++i) {
        uint64_t bits = next_bits(&seed);
        unsigned up = (unsigned)(bits >> 58) % 63, down = (unsigned)(bits >> 52) % 63;
        x[i] = (int64_t)(i % 2 ? (bits >> 1) >> up : (UINT64_C(1) << up) + (bits & 7)) -
               (i % 2 ? 0 : 4);
        z[i] = (int64_t)(i % 4 < 2 ? next_bits(&seed) >> (1 + down)
                                   : (UINT64_C(1) << down) + (bits >> 3 & 7)) -
               4;
        x[i] = x[i] < 0 ? 0 : x[i];
        z[i] = z[i] < 1 ? 1 : z[i];
    }
    const inputs_t inputs = {x, z, LIBRARY_COUNT};
    compare_all(fixture, text, &subject, 1, 1, &inputs, compare_bits);
    free(text);
}

static void float32_functions_opencl_and_c_give_equal_bits(void **state) {
    compare_float32(*state, 1);
}

static void float32_functions_sixteen_lanes_and_c_give_equal_bits(void **state) {
    compare_float32(*state, 16);
}

static void float64_functions_opencl_and_c_give_equal_bits(void **state) {
    compare_own_float64(*state, 1);
}

static void float64_functions_eight_lanes_and_c_give_equal_bits(void **state) {
    compare_own_float64(*state, 8);
}

static void library_functions_opencl_and_c_give_near_results(void **state) {
    compare_library(*state, 1);
}

static void library_functions_eight_lanes_and_c_give_near_results(void **state) {
    compare_library(*state, 8);
}

/* The bits of one function of 1 Mi consecutive inputs, from `first` on. */
static size_t compare_chunk(const fixture_t *fixture, cl_program program, size_t index,
                            uint32_t first) {
    static float x[COUNT], device[COUNT], host[COUNT];
    const inputs_t inputs = {x, x, COUNT};
    for (size_t i = 0; i < COUNT; ++i) {
        x[i] = GANTRY_AS_FLOAT(first + (uint32_t)i);
    }
    run_on_device(fixture, program, &subjects_f32[index], 16, &inputs, device);
    GANTRY_CPU_PICK(gantry__cpu_simd_detect(NULL), math_float32_loops)()[index](host, x, COUNT);
    return compare_bits(&subjects_f32[index], &inputs, device, host);
}

static size_t compare_all_inputs(const fixture_t *fixture, size_t index) {
    static const char *const files[] = {GANTRY_MATH_FLOAT32_FILES};
    char *text = read_text(files, sizeof files / sizeof files[0]);
    size_t unequal = 0;
    assert_non_null(text);
    cl_program program = build_program(fixture, text, &subjects_f32[index], 1, 16);
    for (uint64_t first = 0; first < UINT64_C(1) << 32; first += COUNT) {
        unequal += compare_chunk(fixture, program, index, (uint32_t)first);
    }
    clReleaseProgram(program);
    free(text);
    print_message("%s: %zu of 2^32 results differ\n", subjects_f32[index].name, unequal);
    return unequal;
}

static char **wished; /* names of functions; the last is NULL */

static bool is_wished(const char *name) {
    bool found = *wished == NULL;
    for (char **wish = wished; *wish != NULL; ++wish) {
        size_t length = strlen(*wish);
        found = found || (strncmp(name, *wish, length) == 0 && strcmp(name + length, "_f32") == 0);
    }
    return found;
}

static void all_float32_inputs_opencl_and_c_give_equal_bits(void **state) {
    enum { UNARY = sizeof subjects_f32 / sizeof subjects_f32[0] - PAIRS };
    size_t unequal = 0;
    skip_with_reason(*state);
    for (size_t i = 0; i < UNARY; ++i) {
        unequal += is_wished(subjects_f32[i].name) ? compare_all_inputs(*state, i) : 0;
    }
    assert_int_equal(unequal, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest full[] = {
        cmocka_unit_test(all_float32_inputs_opencl_and_c_give_equal_bits)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_opencl_and_c_divide_alike),
        cmocka_unit_test(float32_functions_opencl_and_c_give_equal_bits),
        cmocka_unit_test(float32_functions_sixteen_lanes_and_c_give_equal_bits),
        cmocka_unit_test(float64_functions_opencl_and_c_give_equal_bits),
        cmocka_unit_test(float64_functions_eight_lanes_and_c_give_equal_bits),
        cmocka_unit_test(library_functions_opencl_and_c_give_near_results),
        cmocka_unit_test(library_functions_eight_lanes_and_c_give_near_results),
    };
    if (argc > 1 && strcmp(argv[1], "--full") == 0) {
        wished = argv + 2;
        return cmocka_run_group_tests(full, open_device, close_device);
    }
    return cmocka_run_group_tests(tests, open_device, close_device);
}
