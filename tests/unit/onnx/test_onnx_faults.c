/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: When any allocation of libgantry_onnx fails, loading and running end with
 * ResourceExhausted, nothing leaks, and the next try works.
 * Promise: A filter is in memory once: in the order of axes in which it is used. */
#define _GNU_SOURCE

#include "onnx_net.h"
#include "train_heap.h"

/* ---- memory that runs out ---- */

static gantry_status_t load_and_run(void *user) {
    gantry_onnx_model_t *model = NULL;
    float first, again;
    (void)user;
    gantry_status_t status =
        gantry_onnx_model_load_bytes(onnx_runtime, "net.onnx", net.data, net.size, NULL, &model);
    if (status == GANTRY_OK) status = run_net(model, 1, &first);
    if (status == GANTRY_OK) status = run_net(model, 2, &again);
    gantry_onnx_model_release(model);
    return status;
}

TEST(each_allocation_that_fails_is_told_and_leaks_nothing) {
    assert_int_equal(load_and_run(NULL), GANTRY_OK);
    assert_true(train_heap_fail_each("net", load_and_run, NULL) > 20);
}

/* A model whose run failed is as good as before. */
TEST(a_model_works_after_a_run_without_memory) {
    gantry_onnx_model_t *model = NULL;
    float first = 0, wanted = 0;
    assert_int_equal(
        gantry_onnx_model_load_bytes(onnx_runtime, "net.onnx", net.data, net.size, NULL, &model),
        GANTRY_OK);
    for (long n = 0;; ++n) {
        train_heap_reset(n);
        const gantry_status_t status = run_net(model, 1, &wanted);
        const bool is_whole = train_heap_count() <= n;
        train_heap_reset(-1);
        assert_int_equal(status, is_whole ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED);
        if (is_whole) break;
    }
    assert_int_equal(run_net(model, 1, &first), GANTRY_OK);
    assert_true(first == wanted);
    gantry_onnx_model_release(model);
}

/* ---- memory ---- */

/* A convolution of weights of 2 MiB, whose file is not aligned. */
TEST(a_filter_is_in_memory_once) {
    enum { CHANNELS = 256, BYTES = CHANNELS * CHANNELS * 9 * 4 };
    onnx_wire_t graph = {0};
    float *w = calloc(1, BYTES);
    onnx_put_node(&graph, "Conv", "x w", "y", NULL);
    onnx_put_floats(&graph, "w", (const int64_t[]){CHANNELS, CHANNELS, 3, 3}, 4, w);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "batch,256,h,w");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "batch,256,?,?");
    free(w);
    train_heap_reset(-1);
    onnx_loaded_t m = onnx_begin(&graph);
    for (int64_t size = 3; size < 6; ++size) {
        float *values = calloc((size_t)(CHANNELS * size * size), 4);
        gantry_memory_info_t info = {.struct_size = sizeof info};
        tensor *x = onnx_floats(m.scope, GANTRY_SHAPE(1, CHANNELS, size, size), values);
        (void)onnx_run(&m, &x, 1);
        free(values);
        assert_int_equal(gantry_get_memory_info(onnx_runtime, "CPU:0", &info), GANTRY_OK);
        if (info.foreign_bytes < BYTES || info.foreign_bytes > BYTES + BYTES / 8)
            fail_msg("%llu bytes of constants, wanted %d", (unsigned long long)info.foreign_bytes,
                     BYTES);
    }
    onnx_end(&m);
}

int main(void) { return test_main_with(make_net, free_net, NULL, NULL); }
