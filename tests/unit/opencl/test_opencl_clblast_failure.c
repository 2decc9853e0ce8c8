/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: After a failure of CLBlast the portable kernels compute the product, and a lack of
 * memory stays a lack of memory.
 *
 * Such products are not passed to CLBlast again, and a program can read the reason. The fake
 * CLBlast always fails (stand_ins/opencl/fake_clblast.c). */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <gantry/gantry.h>

#include "fake_clblast_open.h"
#include "log_lines.h"
#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

typedef struct run_t {
    log_lines_t log;
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
} run_t;

static void open_run(run_t *run) {
    log_lines_init(&run->log);
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log = log_lines_write,
                                              .log_user = &run->log,
                                              .backend_path = MODULES,
                                              .backends = "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    assert_int_equal(setenv("GANTRY_OPENCL_MATMUL", "clblast", 1), 0);
    if (gantry_runtime_create(&options, &run->runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    run->scope = gantry_scope_begin(run->runtime, "GPU:0");
    assert_non_null(run->scope);
}

static void close_run(run_t *run) {
    (void)gantry_scope_end(run->scope);
    gantry_runtime_release(run->runtime);
}

static const gantry_tensor_t *ones(run_t *run, int64_t batches, int64_t rows, int64_t columns) {
    const float value = 1.0f;
    const gantry_tensor_t *one =
        gantry_constant(run->scope, GANTRY_FLOAT32, GANTRY_SCALAR, &value, sizeof value);
    return batches > 0 ? gantry_broadcast_to(run->scope, one, GANTRY_SHAPE(batches, rows, columns))
                       : gantry_broadcast_to(run->scope, one, GANTRY_SHAPE(rows, columns));
}

/* Each element is the number of terms. */
static void expect_product(run_t *run, int64_t batches, int64_t side) {
    const gantry_tensor_t *x = ones(run, batches, side, side),
                          *y = gantry_matmul(run->scope, x, x, NULL);
    if (!y) fail_msg("%s", gantry_scope_message(run->scope));
    size_t count = (size_t)((batches > 0 ? batches : 1) * side * side);
    float *got = malloc(count * sizeof *got);
    assert_non_null(got);
    if (gantry_tensor_read(y, got, count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) assert_true(got[i] == (float)side);
    free(got);
}

static void expect_libraries(run_t *run, const char *part) {
    gantry_backend_status_t status = {.struct_size = sizeof status};
    for (size_t i = 0; i < gantry_backend_status_count(run->runtime); ++i) {
        assert_int_equal(gantry_backend_status(run->runtime, i, &status), GANTRY_OK);
        if (strcmp(status.name, "opencl") != 0) continue;
        if (!strstr(status.libraries, part))
            fail_msg("\"%s\" is not in: %s", part, status.libraries);
    }
}

TEST(failed_product_is_retried_and_not_tried_again) {
    static const struct {
        int code;
        const char *text;
    } cases[] = {{CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE (-54)"},
                 {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE (-11)"},
                 {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES (-5)"},
                 {-2046, "CLBlast's own error (-2046)"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        run_t run;
        (void)fake_clblast_reset(NULL);
        open_run(&run);
        fake->code = cases[i].code;
        expect_product(&run, 0, 32);
        assert_int_equal(fake->call_count, 1);
        expect_product(&run, 0, 32);
        expect_product(&run, 0, 33); /* of about that size */
        assert_int_equal(fake->call_count, 1);
        expect_product(&run, 3, 32); /* batches use other kernels */
        assert_int_equal(fake->call_count, 2);
        expect_product(&run, 3, 32);
        assert_int_equal(fake->call_count, 2);
        assert_string_equal(gantry_scope_message(run.scope), "");
        expect_libraries(&run, cases[i].text);
        expect_libraries(&run, "portable kernels");
        assert_int_equal(log_lines_with(&run.log, "portable kernels", cases[i].text), 2);
        close_run(&run);
    }
}

TEST(lack_of_memory_stays_a_lack_of_memory) {
    run_t run;
    open_run(&run);
    fake->code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    const gantry_tensor_t *x = ones(&run, 0, 32, 32);
    assert_null(gantry_matmul(run.scope, x, x, NULL));
    assert_int_equal(gantry_scope_status(run.scope), GANTRY_RESOURCE_EXHAUSTED);
    assert_int_equal(fake->call_count, 1);
    close_run(&run);
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main_each(fake_clblast_reset, NULL);
}
