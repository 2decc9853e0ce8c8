/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The float32 functions have the same bits on an OpenCL device as on the CPU backend, on
 * all 2^32 inputs or on a part of them.
 *
 * Which NaN a device makes of a NaN is not compared.
 *
 *   exhaustive_device_float32 [--parts N] [function ...]
 *
 * --parts N compares the first N of 4096 parts of 2^20 inputs, spread over all of them (default 1);
 * 4096 are all. GANTRY_TEST_BACKENDS names the backends (default cpu,opencl: PoCL
 * as GPU). */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gantry/gantry.h"
#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

/* SPREAD is odd and PARTS a power of two, so k * SPREAD % PARTS is another part for each k. */
enum { PART = 1 << 20, PARTS = 4096, SPREAD = 2531, GROUP = 64, THREADS = 4 };

#define NAME_OP(op) #op,
#define NAME_VARIANT(op)
#define NAME_PART(op)
#define GANTRY_MATH_FUNCTION(form, op, ...) NAME_##form(op)
static const char *const all_functions[] = {
#include "ops/functions.def"
};
static const char *const *functions = all_functions;
static size_t function_count = sizeof all_functions / sizeof all_functions[0];
static uint32_t parts = 1;

typedef struct buffers_t {
    uint32_t *inputs, *on_cpu, *on_gpu; /* GROUP parts each */
    size_t count;                       /* elements in use */
} buffers_t;

static bool is_nan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

/* ---- comparing ---- */

typedef struct span_t {
    const buffers_t *buffers;
    size_t first, end;
    uint64_t different;
    size_t example;
} span_t;

static void *compare_span(void *user) {
    span_t *span = user;
    const uint32_t *a = span->buffers->on_cpu, *b = span->buffers->on_gpu;
    for (size_t i = span->first; i < span->end; ++i) {
        if (a[i] == b[i] || (is_nan(a[i]) && is_nan(b[i]))) continue;
        if (span->different++ == 0) span->example = i;
    }
    return NULL;
}

/* Fails with the first input that differs. */
static void compare(const char *function, const buffers_t *buffers) {
    span_t spans[THREADS];
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; ++t) {
        spans[t] = (span_t){.buffers = buffers,
                            .first = buffers->count * t / THREADS,
                            .end = buffers->count * (t + 1) / THREADS};
        if (pthread_create(&threads[t], NULL, compare_span, &spans[t]) != 0)
            fail_msg("no thread to compare with");
    }
    for (size_t t = 0; t < THREADS; ++t) (void)pthread_join(threads[t], NULL);
    for (size_t t = 0; t < THREADS; ++t) {
        const size_t i = spans[t].example;
        if (spans[t].different > 0)
            fail_msg("%s of %08x: %08x on the CPU, %08x on the GPU; %llu such in this span",
                     function, buffers->inputs[i], buffers->on_cpu[i], buffers->on_gpu[i],
                     (unsigned long long)spans[t].different);
    }
}

/* ---- running ---- */

static gantry_runtime_t *open_runtime(void) {
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = backends ? backends : "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .soft_placement = GANTRY_OFF,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

static void run_on(gantry_runtime_t *runtime, const char *device, const char *function,
                   const buffers_t *buffers, uint32_t *out) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const size_t bytes = buffers->count * sizeof *out;
    const gantry_tensor_t *x = gantry_constant(
        scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)buffers->count), buffers->inputs, bytes);
    const gantry_tensor_t *y = NULL;
    size_t count = 1;
    if (gantry_op_call(scope, function, &x, 1, NULL, 0, &y, &count) != GANTRY_OK ||
        gantry_tensor_read(y, out, bytes) != GANTRY_OK)
        fail_msg("%s on %s: %s", function, device, gantry_last_message());
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static void check_function(gantry_runtime_t *runtime, const char *function, buffers_t *buffers) {
    for (uint32_t first = 0; first < parts; first += GROUP) {
        const uint32_t end = first + GROUP < parts ? first + GROUP : parts;
        buffers->count = (size_t)(end - first) * PART;
        for (size_t i = 0; i < buffers->count; ++i)
            buffers->inputs[i] = (uint32_t)((first + i / PART) * SPREAD % PARTS * PART + i % PART);
        run_on(runtime, "/CPU:0", function, buffers, buffers->on_cpu);
        run_on(runtime, "/GPU:0", function, buffers, buffers->on_gpu);
        compare(function, buffers);
    }
    print_message("%-10s %u of %d parts: the same bits\n", function, parts, PARTS);
}

TEST(functions_have_the_cpus_bits) {
    const size_t bytes = (size_t)(parts < GROUP ? parts : GROUP) * PART * sizeof(uint32_t);
    buffers_t buffers = {.inputs = malloc(bytes), .on_cpu = malloc(bytes), .on_gpu = malloc(bytes)};
    assert_true(buffers.inputs && buffers.on_cpu && buffers.on_gpu);
    gantry_runtime_t *runtime = open_runtime();
    for (size_t i = 0; i < function_count; ++i) check_function(runtime, functions[i], &buffers);
    gantry_runtime_release(runtime);
    free(buffers.inputs);
    free(buffers.on_cpu);
    free(buffers.on_gpu);
}

int main(int argc, char **argv) {
    int at = 1;
    if (argc > 2 && strcmp(argv[1], "--parts") == 0) {
        parts = (uint32_t)strtoul(argv[2], NULL, 10);
        at = 3;
    }
    if (parts == 0 || parts > PARTS) {
        fprintf(stderr, "--parts takes 1 to %d\n", PARTS);
        return 2;
    }
    if (argc > at) {
        functions = (const char *const *)&argv[at];
        function_count = (size_t)(argc - at);
    }
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
