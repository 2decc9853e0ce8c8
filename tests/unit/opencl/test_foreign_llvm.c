/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: PoCL runs an op in a program that exports another LLVM.
 * Promise: The OpenCL backend opens in a program that exports another LLVM, and where the program
 * has another malloc as well it is refused with the names of both.
 * Promise (test_foreign_llvm.fixed): PoCL runs an op next to another LLVM in a program at a fixed
 * address, such as Debian's python3.
 *
 * The loader could bind the driver's initialisers to that LLVM and so end the process. If the
 * driver cannot be isolated, the backend says so. Libraries stay loaded in a process, so each test
 * is a process of its own: this program with the test's number. */
#define _DEFAULT_SOURCE

#include "fork_child.h"
#include "icd_folder.h"
#include "need_opencl.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define STAND_INS GANTRY_TEST_MODULES "/foreign"

static gantry_backend_status_t status; /* an OpenCL backend */

static gantry_runtime_t *open_opencl(void) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    CHECK(gantry_runtime_create(&options, &runtime) == GANTRY_OK);
    status = (gantry_backend_status_t){.struct_size = sizeof status};
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        CHECK(gantry_backend_status(runtime, i, &status) == GANTRY_OK);
        if (strcmp(status.name, "opencl") == 0) break;
    }
    return runtime;
}

/* A product on /GPU:0, with a program from the driver's compiler. */
static void compute(gantry_runtime_t *runtime, const char *expected) {
    static const float values[] = {1, 2, 3, 4, 5, 6};
    float got[4];
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    const gantry_tensor_t *a =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
    const gantry_tensor_t *b =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), values, sizeof values);
    const gantry_tensor_t *product = gantry_matmul(scope, a, b, NULL);
    CHECK(product && gantry_tensor_read(product, got, sizeof got) == GANTRY_OK);
    CHECK((int)got[0] == 22 && (int)got[1] == 28 && (int)got[2] == 49 && (int)got[3] == 64);
    CHECK(strcmp(gantry_logical_device_name(gantry_tensor_device(product)), expected) == 0);
    CHECK(gantry_scope_end(scope) == GANTRY_OK);
}

static void export_llvm(void) {
    CHECK(dlopen(STAND_INS "/libforeign_llvm.so", RTLD_NOW | RTLD_GLOBAL) != NULL);
}

static void expect_refused(void) {
    gantry_runtime_t *runtime = open_opencl();
    CHECK(status.state == GANTRY_BACKEND_UNAVAILABLE);
    if (!strstr(status.reason, "this process exports another LLVM (") ||
        !strstr(status.reason, "libforeign_llvm.so") ||
        !strstr(status.reason, "its malloc is not the C library's"))
        (void)fprintf(stderr, "%s\n", status.reason);
    CHECK(strstr(status.reason, "this process exports another LLVM (") &&
          strstr(status.reason, "libforeign_llvm.so"));
    CHECK(strstr(status.reason, "its malloc is not the C library's"));
    compute(runtime, "/device:CPU:0");
    gantry_runtime_release(runtime);
}

/* ---- the tests, each in its process ---- */

static void op_runs_beside_another_llvm(void) {
    export_llvm();
    /* a sanitizer replaces malloc, and ends a process that uses RTLD_DEEPBIND */
    if (IS_SANITIZED) {
        expect_refused();
        return;
    }
    gantry_runtime_t *runtime = open_opencl();
    if (status.state != GANTRY_BACKEND_USABLE) (void)fprintf(stderr, "%s\n", status.reason);
    compute(runtime, "/device:GPU:0");
    gantry_runtime_release(runtime);
}

/* The driver lacks a loader's functions, which is the only error. */
static void driver_named_as_the_library_is_refused_and_ends_nobody(void) {
    export_llvm();
    (void)setenv("GANTRY_OPENCL_LIBRARY", getenv("OCL_ICD_VENDORS"), 1);
    if (IS_SANITIZED) {
        expect_refused();
        return;
    }
    gantry_runtime_t *runtime = open_opencl();
    CHECK(status.state == GANTRY_BACKEND_UNAVAILABLE &&
          strstr(status.reason, "it is a driver that a loader opens"));
    gantry_runtime_release(runtime);
}

static void another_malloc_and_another_llvm_are_refused(void) {
    export_llvm();
    expect_refused();
}

static void another_malloc_alone_is_none_of_our_business(void) {
    gantry_runtime_t *runtime = open_opencl();
    compute(runtime, "/device:GPU:0");
    gantry_runtime_release(runtime);
}

/* A program that is not position-independent and takes malloc's address has a stub there, which is
 * malloc's address for everybody: test_foreign_llvm.fixed is such a program. */
static bool takes_address_of_malloc(void) {
    void *(*volatile taken)(size_t) = malloc;
    return taken != NULL;
}

typedef struct case_t {
    const char *name;
    void (*body)(void);
    const char *preload; /* a library of the folder of stand-ins */
} case_t;

static const case_t cases[] = {
    {"op_runs_beside_another_llvm", op_runs_beside_another_llvm, NULL},
    {"driver_named_as_the_library_is_refused_and_ends_nobody",
     driver_named_as_the_library_is_refused_and_ends_nobody, NULL},
    {"another_malloc_and_another_llvm_are_refused", another_malloc_and_another_llvm_are_refused,
     "libforeign_malloc.so"},
    {"another_malloc_alone_is_none_of_our_business", another_malloc_alone_is_none_of_our_business,
     "libforeign_malloc.so"},
};

/* ---- processes ---- */

static bool run_case(size_t number) {
    const case_t *it = &cases[number];
    char digit[] = {(char)('0' + number), '\0'};
    int state = -1;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        /* LD_PRELOAD is split at spaces, so the folder is named apart. */
        if (it->preload) (void)setenv("LD_LIBRARY_PATH", STAND_INS, 1);
        if (it->preload) (void)setenv("LD_PRELOAD", it->preload, 1);
        (void)execl("/proc/self/exe", "test_foreign_llvm", digit, (char *)NULL);
        _exit(1);
    }
    bool passed = child > 0 && waitpid(child, &state, 0) == child && state == 0;
    if (passed) {
        print_message("[       OK ] %s\n", it->name);
    } else {
        print_message("[  FAILED  ] %s: %s %d\n", it->name, WIFSIGNALED(state) ? "signal" : "exit",
                      WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
    }
    return passed;
}

int main(int count, char **arguments) {
    char pocl[256];
    int failed = 0;
    if (count > 1) {
        CHECK(takes_address_of_malloc());
        (void)alarm(HANG_SECONDS);
        cases[(size_t)(arguments[1][0] - '0') % (sizeof cases / sizeof cases[0])].body();
        return 0;
    }
    if (!icd_folder_find_pocl(pocl, sizeof pocl))
        return without_opencl("PoCL in /etc/OpenCL/vendors/pocl.icd");
    (void)setenv("POCL_DEVICES", "pthread", 1);
    (void)setenv("OCL_ICD_VENDORS", pocl, 1);
    (void)setenv("GANTRY_TUNING_FILE", "", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        if (IS_SANITIZED && cases[i].preload) {
            print_message("skipped: %s: the sanitizer's malloc is another one already\n",
                          cases[i].name);
        } else {
            failed += !run_case(i);
        }
    }
    return failed;
}
