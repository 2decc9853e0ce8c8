/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Several threads run one model, with traces of their own sizes, and get the values of
 * their own inputs. */
#define _GNU_SOURCE

#include <pthread.h>

#include "onnx_net.h"

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

int main(void) { return test_main_with(make_net, free_net, NULL, NULL); }
