/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: When any allocation of libgantry_onnx fails, loading and running end with
 * ResourceExhausted, nothing leaks, and the next try works.
 * Promise: Several threads run one model, with traces of their own sizes, and get the values of
 * their own inputs.
 * Promise: A filter is in memory once: in the order of axes in which it is used. */
#define _GNU_SOURCE

#include <pthread.h>

#include "onnx_fixture.h"
#include "train_heap.h"

static onnx_wire_t net;

/* y = relu(conv(x, w) + b) reshaped by a size of x, with weights that a node makes; w [8,4,3,3]. */
static int make_net(void **state) {
    onnx_wire_t graph = {0}, attrs = {0};
    float w[8 * 4 * 9], b[8];
    for (int i = 0; i < 8 * 4 * 9; ++i) w[i] = (float)(i % 5 - 2);
    for (int i = 0; i < 8; ++i) b[i] = (float)i;
    onnx_put_attr_ints(&attrs, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
    onnx_put_node(&graph, "Neg", "w", "minus", NULL);
    onnx_put_node(&graph, "Conv", "x minus b", "conv", &attrs);
    onnx_put_node(&graph, "Relu", "conv", "relu", NULL);
    onnx_put_node(&graph, "Shape", "x", "shape", NULL);
    onnx_put_node(&graph, "Gather", "shape first", "batch", NULL);
    onnx_put_node(&graph, "Concat", "batch rest", "sizes",
                  (onnx_put_attr_int(&attrs, "axis", 0), &attrs));
    onnx_put_node(&graph, "Reshape", "relu sizes", "y", NULL);
    onnx_put_floats(&graph, "w", (const int64_t[]){8, 4, 3, 3}, 4, w);
    onnx_put_floats(&graph, "b", (const int64_t[]){8}, 1, b);
    onnx_put_ints(&graph, "first", (const int64_t[]){0}, 1);
    onnx_put_ints(&graph, "rest", (const int64_t[]){-1}, 1);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "batch,4,h,w");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "batch,?");
    net = onnx_model(&graph, 17);
    return onnx_open(state);
}

static int free_net(void **state) {
    free(net.data);
    return onnx_close(state);
}

static gantry_status_t run_net(gantry_onnx_model_t *model, int64_t rows, float *out_first) {
    float values[4 * 4 * 4 * 4] = {0};
    float result[4 * 8 * 4 * 4];
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
        values[i] = (float)(i % 7) * (float)rows;
    gantry_scope_t *scope = gantry_scope_begin(onnx_runtime, "/CPU:0");
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    tensor *x = onnx_floats(scope, GANTRY_SHAPE(rows, 4, 4, 4), values), *y = NULL;
    gantry_status_t status = gantry_onnx_model_run(model, scope, &x, 1, &y, 1);
    if (status == GANTRY_OK) status = gantry_tensor_read(y, result, gantry_tensor_bytes(y));
    *out_first = status == GANTRY_OK ? result[7] : 0;
    const gantry_status_t ended = gantry_scope_end(scope);
    return status == GANTRY_OK ? ended : status;
}

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

/* ---- threads ---- */

#define THREADS 4
#define TURNS 20

typedef struct runner_t {
    gantry_onnx_model_t *model;
    int64_t rows;
    float wanted;
    int failures;
} runner_t;

static void *run_often(void *user) {
    runner_t *runner = user;
    for (int i = 0; i < TURNS; ++i) {
        float first = 0;
        if (run_net(runner->model, runner->rows, &first) != GANTRY_OK || first != runner->wanted)
            ++runner->failures;
    }
    return NULL;
}

TEST(threads_share_a_model) {
    runner_t runners[THREADS];
    pthread_t threads[THREADS];
    gantry_onnx_model_t *first = NULL, *model = NULL;
    assert_int_equal(
        gantry_onnx_model_load_bytes(onnx_runtime, "net.onnx", net.data, net.size, NULL, &first),
        GANTRY_OK);
    assert_int_equal(
        gantry_onnx_model_load_bytes(onnx_runtime, "net.onnx", net.data, net.size, NULL, &model),
        GANTRY_OK);
    for (int i = 0; i < THREADS; ++i) {
        runners[i] = (runner_t){.model = model, .rows = 1 + i % 3};
        assert_int_equal(run_net(first, runners[i].rows, &runners[i].wanted), GANTRY_OK);
    }
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &runners[i]), 0);
    for (int i = 0; i < THREADS; ++i) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(runners[i].failures, 0);
    }
    gantry_onnx_model_release(first);
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
