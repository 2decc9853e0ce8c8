/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Layers have Keras's outputs, gradients and moving statistics on a device that builds
 * programs: PoCL, as a GPU. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "train_recurrent_case.h"

#include "train_layer_case.h"

#define DEVICE "GPU:0"

static int set_up(void **state) {
    *state = train_open_gpu();
    return 0;
}

static int tear_down(void **state) {
    gantry_runtime_release(*state);
    return 0;
}

TEST(layers_are_those_of_keras) {
    train_layer_check_by_turns(*state, DEVICE, 1, train_layer_eager);
}

/* A few, for each function has programs of its own; test_layers runs all on the CPU. */
TEST(layers_in_functions_are_those_of_keras) {
    train_layer_check_by_turns(*state, DEVICE, 14, train_layer_captured);
}

/* A few, for each function has programs of its own. */
TEST(loops_are_those_of_keras) {
    size_t count = 0;
    chosen_unroll = GANTRY_OFF;
    for (size_t i = 0; i < TRAIN_LAYER_CASES; ++i) {
        const char *name = train_layer_cases[i].name;
        if (!strstr(name, "masked LSTM") && !strstr(name, "masked GRU")) continue;
        if (++count % 5 == 1)
            train_layer_check_one(*state, DEVICE, i, GANTRY_FLOAT32, train_layer_captured);
    }
    chosen_unroll = GANTRY_DEFAULT;
    assert_in_range(count, 10, 40);
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main_each(set_up, tear_down);
}
