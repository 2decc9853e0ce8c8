/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: When any allocation of libgantry_onnx fails, loading and running end with
 * ResourceExhausted, nothing leaks, and the next try works.
 * Promise: A filter is in memory once: in the order of axes in which it is used; traces for a
 * device other than the host share it. */
#define _GNU_SOURCE

#include <stdatomic.h>

#include "need_opencl.h"
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

/* ---- the runtime's memory ---- */

static atomic_long runtime_left; /* Allocations until all fail; below 0: none fails. */

static void *count_down(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)user, (void)old_bytes;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    if (atomic_load(&runtime_left) >= 0 && atomic_fetch_sub(&runtime_left, 1) <= 0) {
        atomic_store(&runtime_left, 0);
        return NULL;
    }
    return realloc(ptr, new_bytes);
}

/* From some allocation on, all of the runtime's fail; the model is then released, and another one
 * runs. */
TEST(a_runtime_without_memory_fails_runs_and_goes_on) {
    gantry_runtime_t *outer = onnx_runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu",
                                              .cpu_threads = 2,
                                              .kernel_cache = "",
                                              .reallocate = count_down};
    atomic_store(&runtime_left, -1);
    assert_int_equal(gantry_runtime_create(&options, &onnx_runtime), GANTRY_OK);
    assert_int_equal(load_and_run(NULL), GANTRY_OK);
    long failures = 0;
    for (long n = 0; n < 4000; n += 1 + n / 16) {
        atomic_store(&runtime_left, n);
        const gantry_status_t status = load_and_run(NULL);
        const bool is_short = atomic_load(&runtime_left) == 0;
        atomic_store(&runtime_left, -1);
        failures += status != GANTRY_OK;
        if (status != GANTRY_OK && (!is_short || status != GANTRY_RESOURCE_EXHAUSTED))
            fail_msg("allocation %ld: %s: %s", n, gantry_status_name(status),
                     gantry_last_message());
        assert_int_equal(load_and_run(NULL), GANTRY_OK);
    }
    assert_true(failures > 20);
    gantry_runtime_release(onnx_runtime);
    onnx_runtime = outer;
}

/* ---- constants ---- */

#define CHANNELS 256
#define FILTER_BYTES (CHANNELS * CHANNELS * 9 * 4)

/* A convolution of weights of 2.25 MiB, whose file is not aligned, of images of several sizes. */
static onnx_loaded_t begin_large(const char *device) {
    onnx_wire_t graph = {0};
    float *w = calloc(1, FILTER_BYTES);
    onnx_put_node(&graph, "Conv", "x w", "y", NULL);
    onnx_put_floats(&graph, "w", (const int64_t[]){CHANNELS, CHANNELS, 3, 3}, 4, w);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "batch,256,h,w");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "batch,256,?,?");
    free(w);
    return onnx_begin_with(&graph, NULL, device);
}

static gantry_memory_info_t run_large(onnx_loaded_t *m, int64_t size, const char *device) {
    float *values = calloc((size_t)(CHANNELS * size * size), 4);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    tensor *x = onnx_floats(m->scope, GANTRY_SHAPE(1, CHANNELS, size, size), values);
    (void)onnx_run(m, &x, 1);
    free(values);
    assert_int_equal(gantry_get_memory_info(onnx_runtime, device, &info), GANTRY_OK);
    return info;
}

TEST(a_filter_is_in_memory_once) {
    onnx_loaded_t m = begin_large("/CPU:0");
    for (int64_t size = 3; size < 6; ++size) {
        const uint64_t bytes = run_large(&m, size, "CPU:0").foreign_bytes;
        if (bytes < FILTER_BYTES || bytes > FILTER_BYTES + FILTER_BYTES / 8)
            fail_msg("%llu bytes of constants, wanted %d", (unsigned long long)bytes, FILTER_BYTES);
    }
    onnx_end(&m);
}

/* The first trace has a copy of its own. */
TEST(traces_for_a_device_share_their_constants) {
    need_opencl();
    onnx_loaded_t m = begin_large("/GPU:0");
    uint64_t bytes = 0;
    for (int64_t size = 3; size < 9; ++size) bytes = run_large(&m, size, "GPU:0").current_bytes;
    if (bytes > 3 * FILTER_BYTES)
        fail_msg("%llu bytes for 6 traces of %d", (unsigned long long)bytes, FILTER_BYTES);
    onnx_end(&m);
}

int main(void) {
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    (void)setenv("POCL_DEVICES", "pthread", 1);
    return test_main_with(make_net, free_net, NULL, NULL);
}
