/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: With batch_invariant, products and convolutions on CUDA are Gantry's own, not
 * cuBLASLt's, and a row has the same bits by itself and in a batch; records name cuBLASLt (on the
 * stand-in). */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "test.h"

#include "batch_case.h"

static gantry_placement_record_t newest(gantry_runtime_t *runtime) {
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count;
    assert_int_equal(gantry_get_placements(runtime, 1, &record, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    return record;
}

static uint64_t products_of_library(gantry_runtime_t *runtime, gantry_choice_t choice) {
    const batch_case_t c = {"MatMul", BATCH_F32, "B,300 300,130", "", "0", NULL};
    const batch_caller_t caller = {runtime, "GPU:0", choice};
    const uint64_t before = fixture_control()->calls("cublasLtMatmul");
    batch_result_t result;
    batch_run(&caller, &c, GANTRY_FLOAT32, 33, 0, &result);
    batch_free(&result);
    const gantry_placement_record_t record = newest(runtime);
    assert_string_equal(record.kernel, choice == GANTRY_ON ? "portable/matmul" : "cuda");
    assert_string_equal(record.left_library, choice == GANTRY_ON ? "cuBLASLt" : "");
    return fixture_control()->calls("cublasLtMatmul") - before;
}

TEST(own_products_take_the_place_of_the_library) {
    gantry_runtime_t *runtime = fixture_runtime(GANTRY_DEFAULT);
    assert_true(products_of_library(runtime, GANTRY_OFF) > 0);
    assert_int_equal(products_of_library(runtime, GANTRY_ON), 0);
    gantry_runtime_release(runtime);
}

TEST(rows_of_products_keep_their_bits) {
    static const int64_t batches[] = {33};
    gantry_runtime_t *runtime = fixture_runtime(GANTRY_DEFAULT);
    const batch_caller_t caller = {runtime, "GPU:0", GANTRY_ON};
    batch_check_all(&caller, batches, 1, BATCH_PRODUCTS);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
