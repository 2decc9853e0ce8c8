/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Losses, metrics and initialisers have Keras's values on a device that builds programs:
 * PoCL, as a GPU. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include "test.h"
#include "train_initializer_case.h"
#include "train_loss_case.h"
#include "train_metric_case.h"

#define DEVICE "GPU:0"

static int set_up(void **state) {
    *state = train_open_gpu();
    return 0;
}

static int tear_down(void **state) {
    gantry_runtime_release(*state);
    return 0;
}

TEST(losses_are_those_of_keras) { train_loss_check(*state, DEVICE, 1, train_loss_eager); }

TEST(gradients_of_losses_are_those_of_keras) {
    train_loss_check(*state, DEVICE, 3, train_loss_gradient);
}

/* Each function has programs of its own. */
TEST(losses_in_functions_are_those_of_keras) {
    train_loss_check(*state, DEVICE, 7, train_loss_captured);
}

TEST(metrics_are_those_of_keras) { train_metric_check(*state, DEVICE, 1, train_update_eager); }

TEST(metrics_in_functions_are_those_of_keras) {
    train_metric_check(*state, DEVICE, 23, train_update_captured);
}

TEST(initializers_are_those_of_keras) {
    train_initializer_check(*state, DEVICE, 1, train_initializer_eager);
}

TEST(initializers_in_functions_are_those_of_keras) {
    train_initializer_check(*state, DEVICE, 11, train_initializer_captured);
}

TEST(results_lie_on_the_device) {
    gantry_scope_t *scope = gantry_scope_begin(*state, DEVICE);
    const gantry_initializer_t from = {.kind = GANTRY_INIT_GLOROT_UNIFORM};
    const gantry_tensor_t *x = gantry_initialize(scope, &from, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3));
    gantry_metric_t *metric = gantry_auc(0, NULL);
    expect_on(x, "/device:GPU:0");
    expect_on(gantry_loss(scope, GANTRY_BINARY_CROSSENTROPY, x, x, NULL), "/device:GPU:0");
    (void)gantry_metric_update(metric, scope, x, x, NULL);
    expect_on(gantry_metric_result(metric, scope), "/device:GPU:0");
    gantry_metric_release(metric);
    expect_ended_well(scope);
}

TEST(labels_out_of_range_are_reported) {
    gantry_scope_t *scope = gantry_scope_begin(*state, DEVICE);
    const gantry_tensor_t *p = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3));
    const gantry_tensor_t *loss =
        gantry_loss(scope, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, I32(scope, 0, 3), p, NULL);
    float value;
    assert_int_equal(gantry_tensor_read(loss, &value, sizeof value), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "Received a label value of 3"));
    expect_ended_well(scope);
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main_each(set_up, tear_down);
}
