/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A child of fork whose parent used a driver refuses that driver's backend with the
 * reason, computes on the CPU and does not hang.
 *
 * The driver's threads are missing in the child. OpenCL runs on PoCL, and CUDA on the stand-in,
 * which also runs on PoCL. A process cannot undo the use of a driver, so each test has a process of
 * its own, the parent. That process is forked before any driver is opened. */
#define _DEFAULT_SOURCE

#include "fork_child.h"
#include "need_opencl.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define STAND_IN(name) GANTRY_TEST_MODULES "/cuda/standin_" name ".so"
#define SIDE 192

typedef struct driver_t {
    const char *backend; /* the reason uses this name, too */
    const char *word;
} driver_t;

static const driver_t opencl = {"opencl", "OpenCL"}, cuda = {"cuda", "CUDA"};
static const driver_t *driver; /* the running test's name */

/* ---- runtimes ---- */

static gantry_runtime_t *create(const char *backends) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = backends,
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .cpu_threads = CHILD_THREADS,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    return gantry_runtime_create(&options, &runtime) == GANTRY_OK ? runtime : NULL;
}

static gantry_runtime_t *create_with_driver(void) {
    char backends[32];
    (void)snprintf(backends, sizeof backends, "cpu,%s", driver->backend);
    return create(backends);
}

static gantry_backend_status_t status_of(gantry_runtime_t *runtime) {
    gantry_backend_status_t status = {.struct_size = sizeof status, .reason = ""};
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        if (gantry_backend_status(runtime, i, &status) == GANTRY_OK &&
            strcmp(status.name, driver->backend) == 0)
            break;
    }
    return status;
}

/* Runs a product that several threads share, and a sum; whether both are right and on the named
 * device. */
static bool computes(gantry_runtime_t *runtime, const char *asked, const char *expected) {
    static float got[SIDE * SIDE];
    gantry_scope_t *scope = gantry_scope_begin(runtime, asked);
    const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE));
    const gantry_tensor_t *sum = gantry_add(scope, gantry_matmul(scope, x, x, NULL), x);
    bool is_right = sum && gantry_tensor_read(sum, got, sizeof got) == GANTRY_OK;
    for (size_t i = 0; is_right && i < SIDE * SIDE; ++i) is_right = (int)got[i] == SIDE + 1;
    const char *device = is_right ? gantry_logical_device_name(gantry_tensor_device(sum)) : "none";
    if (!is_right || strcmp(device, expected) != 0)
        (void)fprintf(stderr, "%s: on %s; %s\n", asked, device, gantry_scope_message(scope));
    is_right = is_right && strcmp(device, expected) == 0;
    return gantry_scope_end(scope) == GANTRY_OK && is_right;
}

/* ---- the child ---- */

static bool has_fallback_record(gantry_runtime_t *runtime) {
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    return gantry_get_placements(runtime, 1, &record, &count) == GANTRY_OK && count == 1 &&
           record.reason == GANTRY_PLACED_SOFT_OTHER_TYPE && record.refusal_count > 0 &&
           record.refusals[0].why == GANTRY_REFUSED_NO_SUCH_DEVICE && strstr(record.asked, "GPU:0");
}

static void refused_in_child(void) {
    gantry_runtime_t *runtime = create_with_driver();
    CHECK(runtime != NULL);
    gantry_backend_status_t status = status_of(runtime);
    char reason[96];
    (void)snprintf(reason, sizeof reason,
                   "this process is a child of fork, and its parent had %s open", driver->word);
    CHECK(status.state == GANTRY_BACKEND_UNAVAILABLE && status.device_count == 0);
    CHECK(strstr(status.reason, reason) && strstr(status.reason, "exec"));
    CHECK(computes(runtime, "/GPU:0", "/device:CPU:0"));
    CHECK(has_fallback_record(runtime));
    CHECK(computes(runtime, "/CPU:0", "/device:CPU:0"));
    gantry_runtime_release(runtime);
}

static void run_child(void (*body)(void)) {
    if (IS_SANITIZED) wait_until_threads_sleep();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(HANG_SECONDS);
        body();
        _exit(0);
    }
    fork_child_expect_success(child);
}

static void refused_in_grandchild(void) {
    pid_t child = fork();
    int state = 0;
    CHECK(child >= 0);
    if (child == 0) {
        (void)alarm(HANG_SECONDS);
        refused_in_child();
        _exit(0);
    }
    CHECK(waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0);
}

/* ---- parents ---- */

static void child_of_a_parent_that_computed_runs_on_the_cpu_and_says_why(void **state) {
    (void)state;
    gantry_runtime_t *runtime = create_with_driver();
    if (!runtime) fail_msg("%s", gantry_last_message());
    if (!computes(runtime, "/GPU:0", "/device:GPU:0")) fail_msg("%s", status_of(runtime).reason);
    assert_true(computes(runtime, "/CPU:0", "/device:CPU:0"));
    for (int i = 0; i < 2; ++i) run_child(refused_in_child);
    run_child(refused_in_grandchild);
    assert_true(computes(runtime, "/GPU:0", "/device:GPU:0"));
    gantry_runtime_release(runtime);
}

static void child_of_a_parent_that_released_its_runtime_is_told_the_same(void **state) {
    (void)state;
    gantry_runtime_t *runtime = create_with_driver();
    if (!runtime || status_of(runtime).state != GANTRY_BACKEND_USABLE)
        fail_msg("%s", gantry_last_message());
    gantry_runtime_release(runtime);
    run_child(refused_in_child);
    runtime = create_with_driver();
    if (!runtime || !computes(runtime, "/GPU:0", "/device:GPU:0"))
        fail_msg("%s", gantry_last_message());
    gantry_runtime_release(runtime);
}

/* The process becomes a parent that has the driver open; its child is refused. */
static void first_in_child(void) {
    gantry_runtime_t *runtime = create_with_driver();
    CHECK(runtime != NULL && computes(runtime, "/GPU:0", "/device:GPU:0"));
    if (IS_SANITIZED) wait_until_threads_sleep();
    refused_in_grandchild();
    CHECK(computes(runtime, "/GPU:0", "/device:GPU:0"));
    gantry_runtime_release(runtime);
}

static void child_of_a_parent_without_the_driver_may_open_it(void **state) {
    (void)state;
    gantry_runtime_t *runtime = create("cpu");
    assert_non_null(runtime);
    assert_true(computes(runtime, "/CPU:0", "/device:CPU:0"));
    run_child(first_in_child);
    assert_true(computes(runtime, "/CPU:0", "/device:CPU:0"));
    gantry_runtime_release(runtime);
}

static void without_driver_in_child(void) {
    gantry_runtime_t *runtime = create_with_driver();
    CHECK(runtime != NULL && status_of(runtime).state == GANTRY_BACKEND_UNAVAILABLE);
    CHECK(strstr(status_of(runtime).reason, "fork") == NULL);
    CHECK(strstr(status_of(runtime).reason, "holds no .icd file"));
    gantry_runtime_release(runtime);
}

static void child_of_a_parent_that_found_no_driver_is_told_that(void **state) {
    (void)state;
    char folder[] = "/tmp/gantry_no_icd_XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("OCL_ICD_VENDORS", folder, 1), 0);
    gantry_runtime_t *runtime = create_with_driver();
    assert_non_null(runtime);
    run_child(without_driver_in_child);
    gantry_runtime_release(runtime);
    (void)rmdir(folder);
}

/* ---- processes ---- */

typedef struct case_t {
    const char *name;
    void (*body)(void **state);
    const driver_t *driver;
} case_t;

static void set_machine(void) {
    static const char *const names[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) name,
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unsetenv(names[i]);
    (void)setenv("GANTRY_TUNING_FILE", "", 1);
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    (void)setenv("GANTRY_CUDA_LIBRARY", STAND_IN("libcuda"), 1);
    (void)setenv("GANTRY_CUDA_NVRTC", STAND_IN("libnvrtc"), 1);
    (void)setenv("GANTRY_CUDA_CUBLAS", STAND_IN("libcublas"), 1);
    (void)setenv("GANTRY_CUDA_NVML", STAND_IN("libnvml"), 1);
}

/* The test's exit status. */
static int run_case(const case_t *it) {
    int state = -1;
    (void)fflush(stdout);
    pid_t parent = fork();
    if (parent == 0) {
        const struct CMUnitTest tests[] = {{it->name, it->body, NULL, NULL, NULL}};
        driver = it->driver;
        set_machine();
        exit(cmocka_run_group_tests_name(it->driver->backend, tests, NULL, NULL));
    }
    return parent > 0 && waitpid(parent, &state, 0) == parent && WIFEXITED(state)
               ? WEXITSTATUS(state)
               : 1;
}

int main(void) {
#define TEST(name, driver) \
    { #name, name, driver }
    const case_t cases[] = {
        TEST(child_of_a_parent_that_computed_runs_on_the_cpu_and_says_why, &opencl),
        TEST(child_of_a_parent_that_released_its_runtime_is_told_the_same, &opencl),
        TEST(child_of_a_parent_without_the_driver_may_open_it, &opencl),
        TEST(child_of_a_parent_that_found_no_driver_is_told_that, &opencl),
        TEST(child_of_a_parent_that_computed_runs_on_the_cpu_and_says_why, &cuda),
        TEST(child_of_a_parent_that_released_its_runtime_is_told_the_same, &cuda),
        TEST(child_of_a_parent_without_the_driver_may_open_it, &cuda),
    };
    int failed = 0;
    const int code = skip_without_opencl();
    if (code != 0) return code;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        if (cases[i].driver == &cuda && (access(STAND_IN("libcuda"), R_OK) != 0 ||
                                         access(MODULES "/libgantry_backend_cuda.so", R_OK) != 0)) {
            print_message(
                "skipped: %s on cuda: the stand-in for NVIDIA's driver or the CUDA backend is not built\n",
                cases[i].name);
            continue;
        }
        failed += run_case(&cases[i]) != 0;
    }
    return failed;
}
