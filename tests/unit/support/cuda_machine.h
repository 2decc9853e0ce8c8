/* SPDX-License-Identifier: Apache-2.0 */
/* Machines with the stand-in for NVIDIA's driver, seen through the public API. Each machine is a
 * process of its own, because the stand-in reads its settings once. Header only. */
#ifndef GANTRY_CUDA_MACHINE_H
#define GANTRY_CUDA_MACHINE_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#include "cuda/stand_in_control.h"
#include "log_lines.h"
#include "need_opencl.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define STAND_IN(library) GANTRY_TEST_MODULES "/cuda/standin_" library ".so"

/* ---- one machine ---- */

typedef struct machine_t {
    gantry_runtime_options_t options;
    const char *extra[8];
    gantry_runtime_t *runtime;
    gantry_backend_status_t cuda; /* the CUDA backend's state */
    char folder[64];              /* the folder of the test's files */
} machine_t;

static log_lines_t lines;
static int wrong; /* the body, run in the child */

#define EXPECT(condition, ...)                             \
    do {                                                   \
        if (!(condition)) {                                \
            wrong = 1;                                     \
            printf("line %d: %s: ", __LINE__, #condition); \
            printf(__VA_ARGS__);                           \
            printf("\n");                                  \
        }                                                  \
    } while (0)
#define EXPECT_TEXT(text, part) EXPECT(strstr(text, part), "\"%s\" is not in \"%s\"", part, text)

static inline void machine_init(machine_t *m) {
    static const char *const libraries[] = {
        "GANTRY_CUDA_LIBRARY=" STAND_IN("libcuda"), "GANTRY_CUDA_NVRTC=" STAND_IN("libnvrtc"),
        "GANTRY_CUDA_CUBLAS=" STAND_IN("libcublas"), "GANTRY_CUDA_NVML=" STAND_IN("libnvml"),
        "GANTRY_CUDA_CUDNN=" STAND_IN("libcudnn")};
    memset(m, 0, sizeof *m);
    memcpy(m->extra, libraries, sizeof libraries);
    log_lines_init(&lines);
    m->options = (gantry_runtime_options_t){.struct_size = sizeof m->options,
                                            .log = log_lines_write,
                                            .log_user = &lines,
                                            .backend_path = MODULES,
                                            .backends = "cpu,cuda",
                                            .soft_placement = GANTRY_OFF,
                                            .kernel_cache = "",
                                            .extra = m->extra};
}

static inline void machine_open(machine_t *m) {
    EXPECT(gantry_runtime_create(&m->options, &m->runtime) == GANTRY_OK, "%s",
           gantry_last_message());
    if (!m->runtime) _exit(1);
    m->cuda = (gantry_backend_status_t){.struct_size = sizeof m->cuda};
    for (size_t i = 0; i < gantry_backend_status_count(m->runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        EXPECT(gantry_backend_status(m->runtime, i, &status) == GANTRY_OK, "%s",
               gantry_last_message());
        if (strstr(status.name, "cuda")) m->cuda = status;
    }
    EXPECT(m->cuda.name, "no CUDA backend among %zu", gantry_backend_status_count(m->runtime));
    if (!m->cuda.name) _exit(1);
}

static inline void machine_close(machine_t *m) {
    gantry_runtime_release(m->runtime);
    m->runtime = NULL;
}

/* On 2 x 2 elements, the sum of (x + x) * x is 60; a matrix product before it adds 15 to each
 * element. */
static inline gantry_status_t compute(const machine_t *m, const char *device) {
    static const float values[] = {1, 2, 3, 4};
    float got = 0;
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, device);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), values, sizeof values);
    const gantry_tensor_t *sum =
        gantry_sum(scope, gantry_mul(scope, gantry_add(scope, x, x), x), NULL);
    gantry_status_t status =
        sum ? gantry_tensor_read(sum, &got, sizeof got) : gantry_scope_status(scope);
    EXPECT(status != GANTRY_OK || (int)got == 60, "%s computed %g", device, (double)got);
    gantry_status_t ended = scope ? gantry_scope_end(scope) : GANTRY_UNKNOWN;
    return status != GANTRY_OK ? status : ended;
}

static inline void expect_computes(const machine_t *m, const char *device) {
    gantry_status_t status = compute(m, device);
    EXPECT(status == GANTRY_OK, "%s: %s: %s", device, gantry_status_name(status),
           gantry_last_message());
}

static inline void expect_refuses(const machine_t *m, const char *device, gantry_status_t wanted,
                                  const char *part) {
    gantry_status_t status = compute(m, device);
    EXPECT(status == wanted, "%s: %s: %s", device, gantry_status_name(status),
           gantry_last_message());
    EXPECT_TEXT(gantry_last_message(), part);
}

static inline const stand_in_control_t *control(void) {
    void *library = dlopen(STAND_IN("libcuda"), RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "stand_in_control") : NULL;
    stand_in_control_fn get = NULL;
    memcpy(&get, &symbol, sizeof get);
    EXPECT(get, "no stand-in: %s", dlerror());
    if (!get) _exit(1);
    return get();
}

static inline void set(const char *settings) {
    EXPECT(control()->set(settings) == 0, "%s", settings);
}

/* ---- processes ---- */

static inline void on_machine(const char *settings, void (*body)(machine_t *m)) {
    int result = -1;
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        machine_t m;
        (void)setenv("GANTRY_STAND_IN_CUDA", settings, 1);
        machine_init(&m);
        body(&m);
        machine_close(&m);
        (void)fflush(stdout);
        _exit(wrong);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    if (result != 0)
        fail_msg("on a machine with \"%s\": %s %d", settings,
                 WIFSIGNALED(result) ? "signal" : "exit code",
                 WIFSIGNALED(result) ? WTERMSIG(result) : WEXITSTATUS(result));
}

static inline void just_compute(machine_t *m) {
    machine_open(m);
    if (m->cuda.state != GANTRY_BACKEND_USABLE || compute(m, "GPU:0") != GANTRY_OK) wrong = 1;
}

static inline int set_up(void **state) {
    (void)state;
    fflush(stdout);
    pid_t child = fork();
    int result = -1;
    if (child == 0) {
        machine_t m;
        (void)setenv("GANTRY_STAND_IN_CUDA", "devices=1", 1);
        machine_init(&m);
        just_compute(&m);
        _exit(wrong);
    }
    if (waitpid(child, &result, 0) == child && result == 0) return 0;
    const int code = skip_without_pocl();
    if (code != 0) exit(code);
    return -1;
}

#endif
