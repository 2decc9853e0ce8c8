/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Results have the same bits whatever floating-point mode the program chose: denormals
 * flushed, another rounding, exceptions that trap.
 * Promise: A call leaves the floating-point mode of its thread as it was.
 * Promise: A callback of the program runs in the program's floating-point mode, and a change of
 * mode that it leaves ends with it.
 * Promise: No thread of the library or of a driver starts in the program's floating-point mode.
 *
 * pthread_create of this program counts the threads that others start. The first program on each
 * device runs in a mode of its own, because a driver keeps its threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "fp_modes.h"
#include "need_opencl.h"
#include "sanitized.h"
#include "test.h"

/* ---- threads ---- */

static atomic_int threads_started, threads_in_another_mode;

#if !IS_SANITIZED
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &found, sizeof create);
    ++threads_started;
    threads_in_another_mode += !gantry__fp_equal(gantry__fp_read(), GANTRY__FP_OWN);
    return create(thread, attributes, start, argument);
}
#endif

/* ---- what a program does ---- */

enum { LONG = 1 << 20, MOST_BYTES = 1 << 16 };

typedef struct bits_t {
    unsigned char bytes[MOST_BYTES];
    size_t count;
} bits_t;

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void add_bytes(bits_t *bits, const void *bytes, size_t count) {
    assert_true(bits->count + count <= MOST_BYTES);
    memcpy(bits->bytes + bits->count, bytes, count);
    bits->count += count;
}

/* NULL, of an op that the scope refuses, fails the test. */
static void add_tensor(bits_t *bits, gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    static unsigned char bytes[LONG * 4];
    must(gantry_scope_status(scope));
    const size_t count = gantry_tensor_bytes(tensor);
    must(gantry_tensor_read(tensor, bytes, count));
    uint32_t sum = 0;
    for (size_t i = 0; i < count; ++i) sum = sum * 31 + bytes[i];
    add_bytes(bits, count > 4096 ? (void *)&sum : bytes, count > 4096 ? sizeof sum : count);
}

static const gantry_tensor_t *random_f32(gantry_scope_t *scope, int64_t rows, int64_t columns,
                                         uint32_t seed) {
    static float values[LONG];
    for (int64_t i = 0; i < rows * columns; ++i) {
        seed = seed * 1664525 + 1013904223;
        values[i] = (float)((int32_t)seed >> 8) * 0x1p-22f; /* exact */
    }
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, columns), values,
                           (size_t)(rows * columns) * sizeof *values);
}

static void flushed_and_rounded(gantry_scope_t *scope, bits_t *bits) {
    const float small[] = {1e-38f, 1e-40f, -3e-39f, 1.17549435e-38f};
    const double small_wide[] = {1e-308, 3e-310, 1.0 / 3, 1e-46};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), small, sizeof small);
    const gantry_tensor_t *w =
        gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(4), small_wide, sizeof small_wide);
    const gantry_tensor_t *third = gantry_scalar_f32(scope, 1.0f / 3);
    add_tensor(bits, scope, gantry_mul(scope, x, gantry_scalar_f32(scope, 0.01f)));
    add_tensor(bits, scope, gantry_add(scope, x, x));
    add_tensor(bits, scope, gantry_cast(scope, w, GANTRY_FLOAT32));
    add_tensor(bits, scope, gantry_cast(scope, x, GANTRY_FLOAT16));
    add_tensor(bits, scope, gantry_exp(scope, gantry_mul(scope, x, third)));
    add_tensor(bits, scope, gantry_div(scope, third, gantry_scalar_f32(scope, 0)));
    add_tensor(bits, scope, gantry_log(scope, gantry_scalar_f32(scope, -1)));
    add_tensor(bits, scope, gantry_cumsum(scope, x, 0, NULL));
    add_tensor(bits, scope, gantry_fill(scope, GANTRY_SHAPE(3), gantry_scalar_f32(scope, 1e-40f)));
    add_tensor(bits, scope, gantry_cast(scope, gantry_pow(scope, w, w), GANTRY_FLOAT32));
}

static void large(gantry_scope_t *scope, bits_t *bits) {
    const gantry_tensor_t *x = random_f32(scope, 1024, 1024, 1), *y = random_f32(scope, 96, 80, 2);
    add_tensor(bits, scope, gantry_sum(scope, x, NULL));
    add_tensor(bits, scope, gantry_mul(scope, gantry_sin(scope, x), x));
    add_tensor(bits, scope, gantry_softmax(scope, y));
    add_tensor(
        bits, scope,
        gantry_matmul(scope, y, y,
                      &(gantry_matmul_options_t){.struct_size = sizeof(gantry_matmul_options_t),
                                                 .transpose_b = true}));
}

/* Its constants fold, and its elementwise ops are one kernel. */
static void body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *folded =
        gantry_mul(scope, gantry_scalar_f32(scope, 1e-38f), gantry_scalar_f32(scope, 0.01f));
    outputs[0] = gantry_add(
        scope, gantry_mul(scope, gantry_div(scope, inputs[0], inputs[1]), inputs[1]), folded);
}

static void function(gantry_scope_t *scope, bits_t *bits) {
    const gantry_input_spec_t specs[2] = {{NULL, GANTRY_FLOAT32, GANTRY_SHAPE(64, 64)},
                                          {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(64, 64)}};
    const gantry_tensor_t *inputs[] = {random_f32(scope, 64, 64, 3), random_f32(scope, 64, 64, 4)};
    const gantry_tensor_t *output;
    gantry_function_t *f;
    must(
        gantry_function_trace(gantry_scope_runtime(scope), "f", body, NULL, specs, 2, 1, NULL, &f));
    must(gantry_function_call(scope, f, inputs, 2, &output, 1));
    add_tensor(bits, scope, output);
    gantry_function_release(f);
}

static void variables(gantry_scope_t *scope, bits_t *bits) {
    const gantry_tensor_t *small = gantry_scalar_f32(scope, 1e-40f);
    gantry_variable_t *v = gantry_variable_create(scope, small, "v");
    (void)gantry_variable_assign_add(scope, v, gantry_scalar_f32(scope, 3e-41f));
    add_tensor(bits, scope, gantry_variable_read(scope, v));
    gantry_variable_release(v);
}

static void numbers_as_text(gantry_scope_t *scope, bits_t *bits) {
    char text[4096];
    const float values[] = {1e-40f, 0.1f, 2.5f, 3.5f, 1.0f / 3};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(5), values, sizeof values);
    must(gantry_tensor_format(x, NULL, text, sizeof text, NULL));
    add_bytes(bits, text, strlen(text));
    (void)gantry_range(scope, gantry_scalar_f32(scope, 0.3f), gantry_scalar_f32(scope, 0.1f),
                       gantry_scalar_f32(scope, 0.7f)); /* refused, with the numbers */
    add_bytes(bits, gantry_scope_message(scope), strlen(gantry_scope_message(scope)));
    gantry_scope_clear(scope);
}

/* In a runtime of its own, so that settings are parsed and drivers opened here. */
static void run_program(const char *device, bits_t *bits) {
    gantry_runtime_t *runtime;
    bits->count = 0;
    must(gantry_runtime_create(
        &(gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t),
                                    .backends = strcmp(device, "CPU:0") ? "cpu,opencl" : "cpu",
                                    .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                    .opencl_cpu_as_gpu = GANTRY_ON,
                                    .cpu_threads = 3,
                                    .memory_fraction = 0.7,
                                    .kernel_cache = ""},
        &runtime));
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    flushed_and_rounded(scope, bits);
    large(scope, bits);
    function(scope, bits);
    variables(scope, bits);
    numbers_as_text(scope, bits);
    must(gantry_scope_end(scope));
    gantry_runtime_release(runtime);
}

/* ---- results ---- */

static void check_bits(const char *device) {
    static bits_t usual, got;
    for (size_t m = 0; m < FP_MODES; ++m) {
        const gantry__fp_mode_t before = fp_mode_set(&fp_modes[m]), own = gantry__fp_read();
        run_program(device, &got);
        const gantry__fp_mode_t after = gantry__fp_read();
        gantry__fp_write(before);
        assert_same_mode(after, own);
        if (m == 0) run_program(device, &usual);
        if (got.count != usual.count || memcmp(got.bytes, usual.bytes, got.count) != 0)
            fail_msg("%s: other bits on %s", fp_modes[m].name, device);
    }
    if (!IS_SANITIZED) assert_true(threads_started > 0);
    assert_int_equal(threads_in_another_mode, 0);
}

TEST(bits_on_the_cpu_are_those_of_any_mode) { check_bits("CPU:0"); }

TEST(bits_on_opencl_are_those_of_any_mode) {
    need_opencl();
    check_bits("GPU:0");
}

/* ---- callbacks ---- */

typedef struct calls_t {
    gantry__fp_mode_t mode; /* the program's */
    int log, heap, placement, choice, body, observed;
} calls_t;

static void check_mode(calls_t *calls, int *count) {
    assert_same_mode(gantry__fp_read(), calls->mode);
    ++*count;
}

static void on_log(void *user, gantry_log_level_t level, const char *text) {
    calls_t *calls = user;
    (void)level, (void)text;
    check_mode(calls, &calls->log);
}

static void *on_heap(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    calls_t *calls = user;
    (void)old_bytes;
    check_mode(calls, &calls->heap);
    if (new_bytes > 0) return realloc(ptr, new_bytes);
    free(ptr);
    return NULL;
}

static void on_placement(void *user, const gantry_placement_record_t *record) {
    calls_t *calls = user;
    (void)record;
    check_mode(calls, &calls->placement);
}

static const char *on_choice(const gantry_device_choice_t *choice, void *user) {
    calls_t *calls = user;
    (void)choice;
    check_mode(calls, &calls->choice);
    return NULL;
}

static gantry_status_t on_op(gantry_scope_t *scope, const gantry_observation_t *observation,
                             void *user) {
    calls_t *calls = user;
    (void)scope, (void)observation;
    check_mode(calls, &calls->observed);
    return GANTRY_OK;
}

/* Its ops are calls of the program, too. It leaves another mode. */
static void on_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    calls_t *calls = user;
    check_mode(calls, &calls->body);
    outputs[0] = gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, 0.1f));
    check_mode(calls, &calls->body);
    (void)fesetround(FE_DOWNWARD);
}

static void on_condition(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    calls_t *calls = user;
    check_mode(calls, &calls->body);
    outputs[0] = gantry_greater(scope, inputs[0], gantry_scalar_f32(scope, 0.5f));
}

static void call_all(gantry_runtime_t *runtime, calls_t *calls) {
    gantry_observer_t observer = {.observe = on_op, .user = calls};
    gantry_scope_t *outer = gantry_scope_begin(runtime, NULL);
    gantry_scope_t *scope = gantry_scope_begin_choosing(outer, on_choice, calls);
    must(gantry_scope_observe(scope, &observer));
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 1), *y;
    const gantry_input_spec_t spec = {NULL, GANTRY_FLOAT32, GANTRY_SCALAR};
    gantry_function_t *f;
    must(gantry_cond(scope, gantry_greater(scope, x, x), on_body, on_body, calls, &x, 1, &y, 1));
    must(gantry_while(scope, on_condition, on_body, calls, &x, 1, NULL, &y));
    must(gantry_function_trace(runtime, "f", on_body, calls, &spec, 1, 1, NULL, &f));
    must(gantry_function_call(scope, f, &x, 1, &y, 1));
    gantry_function_release(f);
    must(gantry_runtime_log(runtime, GANTRY_LEVEL_WARNING, "from the program"));
    must(gantry_scope_end(scope));
    must(gantry_scope_end(outer));
}

TEST(callbacks_run_in_the_mode_of_the_program) {
    for (size_t m = 0; m < FP_MODES; ++m) {
        gantry_runtime_t *runtime;
        const gantry__fp_mode_t before = fp_mode_set(&fp_modes[m]);
        calls_t calls = {.mode = gantry__fp_read()};
        must(gantry_runtime_create(
            &(gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t),
                                        .backends = "cpu",
                                        .log_level = GANTRY_LEVEL_DEBUG,
                                        .log = on_log,
                                        .log_user = &calls,
                                        .reallocate = on_heap,
                                        .reallocate_user = &calls},
            &runtime));
        must(gantry_set_placement_callback(runtime, on_placement, &calls));
        call_all(runtime, &calls);
        gantry_runtime_release(runtime);
        assert_same_mode(gantry__fp_read(), calls.mode);
        gantry__fp_write(before);
        assert_true(calls.log > 0 && calls.heap > 0 && calls.placement > 0 && calls.choice > 0);
        assert_true(calls.body > 4 && calls.observed > 0);
    }
}

int main(void) { return test_main(); }
