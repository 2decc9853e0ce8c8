/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: With batch_invariant, a row of each op's result has the same bits by itself and in
 * batches of 2 to 257 on an OpenCL device (PoCL), by the products for processors and by the
 * portable ones.
 * Promise: With batch_invariant, an op that finds no memory on its device does not move to the
 * CPU. */
#define _XOPEN_SOURCE 700

#include "batch_case.h"
#include "need_opencl.h"
#include "test.h"

static gantry_runtime_t *open_runtime(const char *matmul, bool moves) {
    const char *const extra[] = {matmul, "GANTRY_MEMORY_LIMIT=GPU:0=256M", NULL};
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .backends = "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .oom_fallback = moves ? GANTRY_ON : GANTRY_OFF,
                                              .kernel_cache = "",
                                              .extra = extra};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

TEST(rows_of_each_op_keep_their_bits) {
    static const int64_t batches[] = {2, 33, 257};
    gantry_runtime_t *runtime = open_runtime("GANTRY_OPENCL_MATMUL=auto", false);
    const batch_caller_t caller = {runtime, "GPU:0", GANTRY_ON};
    batch_check_all(&caller, batches, 3, 0);
    gantry_runtime_release(runtime);
}

/* Products for processors in each type, portable ones in float32. */
TEST(rows_of_products_keep_their_bits) {
    static const int64_t batches[] = {3, 7, 100};
    for (int portable = 0; portable < 2; ++portable) {
        gantry_runtime_t *runtime = open_runtime(
            portable ? "GANTRY_OPENCL_MATMUL=portable" : "GANTRY_OPENCL_MATMUL=auto", false);
        const batch_caller_t caller = {runtime, "GPU:0", GANTRY_ON};
        batch_check_all(&caller, batches, 3, BATCH_PRODUCTS | (portable ? 0 : BATCH_EACH_TYPE));
        gantry_runtime_release(runtime);
    }
}

TEST(an_op_without_memory_does_not_move) {
    for (int keeps = 0; keeps < 2; ++keeps) {
        gantry_runtime_t *runtime = open_runtime("GANTRY_OPENCL_MATMUL=auto", true);
        const batch_caller_t caller = {runtime, "GPU:0", keeps ? GANTRY_ON : GANTRY_OFF};
        gantry_scope_t *scope = batch_scope(&caller);
        const gantry_tensor_t *x =
            gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(40 * 1024 * 1024));
        const gantry_tensor_t *sum = gantry_add(scope, x, x);
        assert_int_equal(sum == NULL, keeps);
        assert_int_equal(gantry_scope_end(scope), keeps ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK);
        gantry_runtime_release(runtime);
    }
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
