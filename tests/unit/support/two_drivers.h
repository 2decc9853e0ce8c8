/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of tests with one card behind two real drivers. The module cuda runs on the
 * stand-in for NVIDIA's driver, opencl on PoCL, which stand_ins/opencl/nvidia_layer.c presents as
 * the same cards. Header only.
 *
 * Drivers read their machine once per process, so each test is a process of its own, forked before
 * any driver is opened. The test's row describes the machine. A test uses the public API; at its
 * end nothing may live in either driver. */
#ifndef TESTS_TWO_DRIVERS_H
#define TESTS_TWO_DRIVERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>

#include <gantry/gantry.h>

#include "cuda/stand_in_control.h"
#include "locked_heap.h"
#include "log_lines.h"
#include "need_opencl.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define STAND_IN(name) GANTRY_TEST_MODULES "/cuda/standin_" name ".so"
#define MIB (UINT64_C(1) << 20)
#define CARD_0 "0000:17:00.0"
#define CARD_1 "0000:1f:00.0"

typedef struct two_drivers_t {
    locked_heap_t heap;
    log_lines_t log;
    gantry_runtime_t *runtime;
} two_drivers_t;

/* One test and its machine. */
typedef struct two_drivers_case_t {
    const char *name;
    void (*body)(void **state);
    const char *stand_in; /* GANTRY_STAND_IN_CUDA */
    const char *visible;  /* CUDA_VISIBLE_DEVICES; NULL: not set */
    const char *nvrtc;    /* the library's file; NULL: the stand-in's */
    const char *nvml;     /* likewise */
} two_drivers_case_t;

/* ---- processes ---- */

static inline void two_drivers_set(const char *name, const char *value) {
    if (value) {
        (void)setenv(name, value, 1);
    } else {
        (void)unsetenv(name);
    }
}

static inline void two_drivers_set_machine(const two_drivers_case_t *it) {
    static const char *const names[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) name,
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) two_drivers_set(names[i], NULL);
    two_drivers_set("GANTRY_STAND_IN_CUDA", it->stand_in);
    two_drivers_set("CUDA_VISIBLE_DEVICES", it->visible);
    two_drivers_set("GANTRY_CUDA_LIBRARY", STAND_IN("libcuda"));
    two_drivers_set("GANTRY_CUDA_NVRTC", it->nvrtc ? it->nvrtc : STAND_IN("libnvrtc"));
    two_drivers_set("GANTRY_CUDA_CUBLAS", STAND_IN("libcublas"));
    two_drivers_set("GANTRY_CUDA_NVML", it->nvml ? it->nvml : STAND_IN("libnvml"));
    two_drivers_set("OPENCL_LAYERS", STAND_IN("opencl"));
    /* CLBlast would use NVIDIA's assembler for these cards */
    two_drivers_set("GANTRY_OPENCL_MATMUL", "portable");
    two_drivers_set("POCL_DEVICES", "pthread pthread pthread");
}

/* Starts a process that runs the body on the machine. */
static inline pid_t two_drivers_start(const two_drivers_case_t *it) {
    (void)fflush(stdout);
    pid_t child = fork();
    if (child != 0) return child;
    const struct CMUnitTest tests[] = {{it->name, it->body, NULL, NULL, NULL}};
    two_drivers_set_machine(it);
    exit(cmocka_run_group_tests_name(it->name, tests, NULL, NULL));
}

static inline int two_drivers_end(pid_t child) {
    int result = -1;
    if (child < 0 || waitpid(child, &result, 0) != child) return 1;
    return WIFEXITED(result) ? WEXITSTATUS(result) : 1;
}

/* ---- a runtime ---- */

static inline const stand_in_control_t *two_drivers_control(void) {
    void *library = dlopen(STAND_IN("libcuda"), RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, "stand_in_control") : NULL;
    stand_in_control_fn get;
    if (!address) fail_msg("no stand-in: %s", dlerror());
    memcpy(&get, &address, sizeof get);
    return get();
}

static inline gantry_runtime_options_t two_drivers_options(two_drivers_t *t) {
    locked_heap_init(&t->heap, -1);
    log_lines_init(&t->log);
    t->runtime = NULL;
    return (gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t),
                                      .log = log_lines_write,
                                      .log_user = &t->log,
                                      .reallocate = locked_heap_reallocate,
                                      .reallocate_user = &t->heap,
                                      .backend_path = MODULES,
                                      .backends = "cpu,cuda,opencl",
                                      .cpu_threads = 2,
                                      .soft_placement = GANTRY_OFF,
                                      .kernel_cache = ""};
}

static inline void two_drivers_open_with(two_drivers_t *t,
                                         const gantry_runtime_options_t *options) {
    if (gantry_runtime_create(options, &t->runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

/* extra: variables for this runtime alone, up to a NULL; may be NULL. */
static inline void two_drivers_open(two_drivers_t *t, const char *const *extra) {
    gantry_runtime_options_t options = two_drivers_options(t);
    options.extra = extra;
    two_drivers_open_with(t, &options);
}

/* OpenCL's memory of a card is returned when PoCL is done with it, which may be a moment after its
 * release. */
static inline uint64_t two_drivers_used_in_the_end(int card) {
    const struct timespec moment = {.tv_nsec = 1000000L};
    const stand_in_control_t *control = two_drivers_control();
    for (int i = 0; i < 5000 && control->used_bytes(card) != 0; ++i) (void)nanosleep(&moment, NULL);
    return control->used_bytes(card);
}

static inline void two_drivers_expect_nothing_lives(void) {
    const stand_in_control_t *control = two_drivers_control();
    char text[256];
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        if (control->live(kind) != 0)
            fail_msg("%ld objects of kind %d live", control->live(kind), kind);
        if (control->abandoned(kind) != 0)
            fail_msg("%ld objects of kind %d ended with their context", control->abandoned(kind),
                     kind);
    }
    /* including OpenCL's */
    for (int card = 0; card < 3; ++card) assert_int_equal(two_drivers_used_in_the_end(card), 0);
    if (control->complaints(text, sizeof text) != 0) fail_msg("the stand-in complains: %s", text);
}

static inline void two_drivers_close(two_drivers_t *t) {
    gantry_runtime_release(t->runtime);
    assert_int_equal(t->heap.inner.live_blocks, 0);
    assert_false(t->heap.inner.wrong_size);
    locked_heap_deinit(&t->heap);
    two_drivers_expect_nothing_lives();
}

/* ---- helpers ---- */

static inline gantry_scope_t *two_drivers_scope(two_drivers_t *t, const char *device) {
    gantry_scope_t *scope = gantry_scope_begin(t->runtime, device);
    if (!scope || gantry_scope_status(scope) != GANTRY_OK)
        fail_msg("%s: %s", device, gantry_last_message());
    return scope;
}

static inline void two_drivers_end_scope(gantry_scope_t *scope) {
    if (gantry_scope_status(scope) != GANTRY_OK) fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static inline const gantry_tensor_t *two_drivers_floats(gantry_scope_t *scope, int64_t rows,
                                                        int64_t columns, int seed) {
    size_t count = (size_t)(rows * columns);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) values[i] = (float)((int)(i * 7 + (size_t)seed) % 11 - 5);
    const gantry_tensor_t *tensor = gantry_constant(
        scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, columns), values, count * sizeof *values);
    free(values);
    return tensor;
}

/* Runs a product of small whole numbers on the device: every order of addition gives the same.
 * shown_on: the device that the result must name. */
static inline void two_drivers_expect_product(two_drivers_t *t, const char *device,
                                              const char *shown_on) {
    enum { ROWS = 37, INNER = 65, COLUMNS = 29 };
    static float got[ROWS * COLUMNS];
    gantry_scope_t *scope = two_drivers_scope(t, device);
    const gantry_tensor_t *a = two_drivers_floats(scope, ROWS, INNER, 1),
                          *b = two_drivers_floats(scope, INNER, COLUMNS, 2);
    const gantry_tensor_t *product = gantry_matmul(scope, a, b, NULL);
    if (!product) fail_msg("%s: %s", device, gantry_scope_message(scope));
    assert_string_equal(gantry_logical_device_name(gantry_tensor_device(product)), shown_on);
    if (gantry_tensor_read(product, got, sizeof got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        int sum = 0;
        for (int k = 0; k < INNER; ++k) {
            int left = (i / COLUMNS * INNER + k) * 7 + 1,
                right = (k * COLUMNS + i % COLUMNS) * 7 + 2;
            sum += (left % 11 - 5) * (right % 11 - 5);
        }
        if ((int)got[i] != sum)
            fail_msg("%s: element %d is %g, not %d", device, i, (double)got[i], sum);
    }
    two_drivers_end_scope(scope);
}

/* The record of the device that the alias names now. */
static inline const gantry_physical_device_t *two_drivers_record(two_drivers_t *t,
                                                                 const char *alias,
                                                                 gantry_device_details_t *out) {
    const gantry_physical_device_t *devices[16];
    size_t count = 0;
    assert_int_equal(gantry_list_device_views(t->runtime, 16, devices, &count), GANTRY_OK);
    for (size_t i = 0; i < count && i < 16; ++i) {
        *out = (gantry_device_details_t){.struct_size = sizeof *out};
        assert_int_equal(gantry_get_device_details(t->runtime, devices[i], out), GANTRY_OK);
        if (strcmp(out->alias, alias) == 0) return devices[i];
    }
    fail_msg("no view is %s", alias);
    return NULL;
}

/* Checks that alias serves the card `name`, and that its note has all the reasons (up to a
 * NULL). */
static inline void two_drivers_expect_served(two_drivers_t *t, const char *name, const char *alias,
                                             const char *const *reasons) {
    gantry_device_details_t details;
    (void)two_drivers_record(t, alias, &details);
    assert_string_equal(details.name, name);
    assert_true(details.listed && details.visible);
    for (; *reasons; ++reasons) {
        if (!strstr(details.note, *reasons))
            fail_msg("\"%s\" is not in the note: %s", *reasons, details.note);
    }
}

#define REASONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline gantry_memory_info_t two_drivers_memory(two_drivers_t *t, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (gantry_get_memory_info(t->runtime, device, &info) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return info;
}

/* ---- main ---- */

static inline void two_drivers_both_are_there(void **state) {
    two_drivers_t t;
    gantry_device_details_t details;
    (void)state;
    two_drivers_open(&t, NULL);
    (void)two_drivers_record(&t, "cuda:0", &details);
    (void)two_drivers_record(&t, "opencl:0", &details);
    two_drivers_close(&t);
}

/* 77 if PoCL is missing and may be missing. */
static inline int two_drivers_run(const two_drivers_case_t *cases, size_t count) {
    const two_drivers_case_t first = {
        "two_drivers_both_are_there", two_drivers_both_are_there, "memory=64M", NULL, NULL, NULL};
    const int code = skip_without_pocl();
    if (code != 0) return code;
    int failed = two_drivers_end(two_drivers_start(&first));
    if (failed) {
        printf("failed: CUDA and OpenCL are not both there\n");
        return 1;
    }
    for (size_t i = 0; i < count; ++i) failed += two_drivers_end(two_drivers_start(&cases[i])) != 0;
    printf("%d of %zu failed\n", failed, count);
    return failed > 0;
}

#endif
