/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Regularizers and constraints have the right values, apply to the weights that are named,
 * and refuse bad numbers.
 *
 * Their trainings are in test_fit_options.c. */
#define _XOPEN_SOURCE 700
#include <string.h>

#include <math.h>

#include "test.h"
#include "train_case.h"
#include "train_fixture.h"

#include <gantry_train/train.h>

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- values ---- */

TEST(regularizers_add_sizes) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *w = F32(scope, 1, -2, 0.5F);
    EXPECT_F32(gantry_regularizer_loss(scope, &(gantry_regularizer_t){.l1 = 0.5}, w), 1.75F);
    EXPECT_F32(gantry_regularizer_loss(scope, &(gantry_regularizer_t){.l2 = 2}, w), 10.5F);
    EXPECT_F32(gantry_regularizer_loss(scope, &(gantry_regularizer_t){.l1 = 0.5, .l2 = 2}, w),
               12.25F);
    EXPECT_F32(gantry_regularizer_loss(scope, &(gantry_regularizer_t){.l1 = 0}, w), 0);
    expect_ended_well(scope);
}

/* Rows (3, 4) and (4, 3) have the cosine 24 / 25; so have the columns; rows of zeros have none. */
TEST(orthogonal_rows_cost_nothing) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *w =
        gantry_reshape(scope, F32(scope, 3, 4, 4, 3, 0, 0), GANTRY_SHAPE(3, 2));
    const gantry_regularizer_t rows = {.orthogonal = 3},
                               columns = {.orthogonal = 1, .orthogonal_columns = true};
    float loss;
    must(gantry_tensor_read(gantry_regularizer_loss(scope, &rows, w), &loss, sizeof loss));
    assert_true(fabsf(loss - 0.96F) < 1e-6F);
    must(gantry_tensor_read(gantry_regularizer_loss(scope, &columns, w), &loss, sizeof loss));
    assert_true(fabsf(loss - 0.96F) < 1e-6F);
    assert_null(gantry_regularizer_loss(scope, &rows, F32(scope, 1)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "an orthogonal regularizer takes rank 2; the rank is 1");
    expect_ended_well(scope);
}

TEST(constraints_bound_weights) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *w = F32(scope, 3, -4);
    EXPECT_F32(gantry_constrain(scope, &(gantry_constraint_t){.kind = GANTRY_NON_NEG}, w), 3, 0);
    EXPECT_F32(gantry_constrain(scope, &(gantry_constraint_t){.max_value = 1}, w), 3, -4);
    const gantry_tensor_t *most =
        gantry_constrain(scope, &(gantry_constraint_t){.kind = GANTRY_MAX_NORM}, w);
    float values[2];
    must(gantry_tensor_read(most, values, sizeof values));
    assert_true(fabsf(values[0] - 1.2F) < 1e-6F && fabsf(values[1] + 1.6F) < 1e-6F);
    expect_ended_well(scope);
}

/* ---- weights by their names ---- */

static gantry_status_t build_lstm(const char *weight, const gantry_regularizer_t *regularizer,
                                  const gantry_constraint_t *constraint) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    gantry_layer_t *layer = gantry_lstm(2, NULL);
    if (regularizer) must(gantry_layer_set_regularizer(layer, weight, regularizer));
    if (constraint) must(gantry_layer_set_constraint(layer, weight, constraint));
    (void)gantry_model_add(model, layer);
    const gantry_status_t status = gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(4, 3));
    gantry_model_release(model);
    return status;
}

TEST(names_choose_weights) {
    const gantry_regularizer_t two = {.l2 = 1};
    const gantry_constraint_t beyond = {.kind = GANTRY_MAX_NORM, .axes = {2}, .axis_count = 1};
    assert_int_equal(build_lstm("recurrent_kernel", &two, NULL), GANTRY_OK);
    expect_refusal(build_lstm("kernels", &two, NULL), GANTRY_INVALID_ARGUMENT,
                   "layer lstm has no weight kernels, which has a regularizer or a constraint; its "
                   "first of 3 weights is kernel");
    expect_refusal(build_lstm("kernel", NULL, &beyond), GANTRY_INVALID_ARGUMENT,
                   "layer lstm: the constraint of weight kernel: axis 2 of weights of rank 2; -2 "
                   "to 1 are accepted");
}

/* Both directions of a Bidirectional have what its layer was asked. */
TEST(wrapped_layers_keep_their_regularizers) {
    const gantry_regularizer_t two = {.l2 = 1};
    for (int good = 0; good < 2; ++good) {
        gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
        gantry_layer_t *layer = gantry_lstm(2, NULL);
        must(gantry_layer_set_regularizer(layer, good ? "kernel" : "kernels", &two));
        (void)gantry_model_add(model, gantry_bidirectional(layer, GANTRY_MERGE_SUM, NULL));
        const gantry_status_t status =
            gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(4, 3));
        gantry_model_release(model);
        if (good)
            assert_int_equal(status, GANTRY_OK);
        else
            expect_refusal(status, GANTRY_INVALID_ARGUMENT,
                           "layer bidirectional has no weight forward/kernels");
    }
    gantry_layer_t *layer = gantry_lstm(2, NULL);
    must(gantry_layer_set_activity_regularizer(layer, &two));
    assert_null(gantry_bidirectional(layer, GANTRY_MERGE_SUM, NULL));
    assert_non_null(strstr(gantry_last_message(), "the layer has an activity regularizer; a "));
}

/* ---- outputs ---- */

static gantry_status_t build_with(gantry_layer_t *layer, gantry_dtype_t dtype) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, layer);
    const gantry_status_t status = gantry_model_build(model, dtype, GANTRY_SHAPE(4, 3));
    gantry_model_release(model);
    return status;
}

TEST(outputs_that_do_not_fit_fail_the_build) {
    gantry_layer_t *flatten = gantry_flatten(NULL), *dense = gantry_dense(2, GANTRY_LINEAR, NULL);
    must(gantry_layer_set_activity_regularizer(flatten, &(gantry_regularizer_t){.l1 = 1}));
    expect_refusal(build_with(flatten, GANTRY_INT32), GANTRY_INVALID_ARGUMENT,
                   "layer flatten: gantry_regularizer_loss: weights are int32;");
    must(gantry_layer_set_activity_regularizer(dense, &(gantry_regularizer_t){.orthogonal = 1}));
    expect_refusal(build_with(dense, GANTRY_FLOAT32), GANTRY_INVALID_ARGUMENT,
                   "layer dense: an orthogonal regularizer takes rank 2; the rank is 3");
}

TEST(bad_regularizers_of_outputs_are_refused) {
    static const gantry_regularizer_t negative = {.l2 = -1}, bad = {.orthogonal = -1};
    gantry_layer_t *layer = gantry_dense(2, GANTRY_LINEAR, NULL);
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    expect_refusal(gantry_layer_set_activity_regularizer(NULL, NULL), GANTRY_INVALID_ARGUMENT,
                   "gantry_layer_set_activity_regularizer: the layer is NULL");
    expect_refusal(gantry_layer_set_activity_regularizer(layer, &negative), GANTRY_INVALID_ARGUMENT,
                   "l2 is -1; a number of 0 or more is accepted");
    expect_refusal(gantry_layer_set_activity_regularizer(layer, &bad), GANTRY_INVALID_ARGUMENT,
                   "orthogonal is -1; a number of 0 or more is accepted");
    assert_null(gantry_activity_regularization(-1, 0, NULL));
    assert_non_null(strstr(gantry_last_message(), "layer ActivityRegularization: l1 is -1; a num"));
    (void)gantry_model_add(model, layer);
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3)));
    expect_refusal(gantry_layer_set_activity_regularizer(layer, NULL), GANTRY_FAILED_PRECONDITION,
                   "layer dense is built; a layer before its build is accepted");
    gantry_model_release(model);
}

/* A bias that is not there has no regularizer, as in Keras. */
TEST(missing_bias_is_left_out) {
    const gantry_regularizer_t two = {.l2 = 1};
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_dense(2, GANTRY_LINEAR,
                                               &(gantry_kernel_options_t){
                                                   .struct_size = sizeof(gantry_kernel_options_t),
                                                   .no_bias = true,
                                                   .bias_regularizer = &two}));
    assert_int_equal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3)), GANTRY_OK);
    gantry_model_release(model);
}

/* ---- bad input ---- */

TEST(bad_numbers_are_refused) {
    static const gantry_regularizer_t negative = {.l1 = -1};
    static const struct {
        gantry_constraint_t constraint;
        const char *text;
    } bad[] = {
        {{.kind = 5}, "5 is no kind; GANTRY_CONSTRAINT_NONE to GANTRY_MIN_MAX_NORM are accepted"},
        {{.kind = GANTRY_MAX_NORM, .max_value = -1}, "max_value is -1; a number of 0 or more is"},
        {{.kind = GANTRY_MIN_MAX_NORM, .min_value = 3, .max_value = 2},
         "min_value is 3; a number up to max_value, 2, is accepted"},
        {{.kind = GANTRY_MIN_MAX_NORM, .rate = 2}, "rate is 2; a number up to 1 is accepted"},
        {{.kind = GANTRY_UNIT_NORM, .axis_count = 5}, "axis_count is 5; up to 4 are accepted"}};
    gantry_layer_t *layer = gantry_dense(1, GANTRY_LINEAR, NULL);
    expect_refusal(gantry_layer_set_regularizer(layer, "kernel", &negative),
                   GANTRY_INVALID_ARGUMENT,
                   "gantry_layer_set_regularizer: l1 is -1; a number of 0 or more is accepted");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        expect_refusal(gantry_layer_set_constraint(layer, "kernel", &bad[i].constraint),
                       GANTRY_INVALID_ARGUMENT, bad[i].text);
    gantry_layer_release(layer);
    const gantry_kernel_options_t options = {.struct_size = sizeof options,
                                             .kernel_regularizer = &negative};
    assert_null(gantry_dense(1, GANTRY_LINEAR, &options));
    assert_non_null(strstr(gantry_last_message(),
                           "layer Dense: kernel_regularizer: l1 is -1; a number of 0 or more"));
}

TEST(built_layers_take_no_more) {
    const gantry_regularizer_t two = {.l2 = 1};
    const gantry_constraint_t unit = {.kind = GANTRY_UNIT_NORM};
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    gantry_layer_t *layer = gantry_dense(1, GANTRY_LINEAR, NULL);
    (void)gantry_model_add(model, layer);
    must(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3)));
    expect_refusal(gantry_layer_set_regularizer(layer, "kernel", &two), GANTRY_FAILED_PRECONDITION,
                   "layer dense is built; a layer before its build is accepted");
    expect_refusal(gantry_layer_set_constraint(layer, "", &unit), GANTRY_INVALID_ARGUMENT,
                   "gantry_layer_set_constraint: the weight has no name");
    gantry_model_release(model);
}

TEST(bad_weights_are_refused) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_regularizer_t two = {.l2 = 1};
    const gantry_constraint_t unit = {.kind = GANTRY_UNIT_NORM};
    assert_null(gantry_regularizer_loss(scope, &two, I32(scope, 1)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_regularizer_loss: weights are int32; float16, bfloat16,");
    assert_null(gantry_regularizer_loss(scope, NULL, F32(scope, 1)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the regularizer is NULL");
    assert_null(gantry_constrain(scope, &unit, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the weights are NULL");
    assert_null(gantry_constrain(scope, &unit, gantry_scalar_f32(scope, 1)));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "axis 0 of weights of rank 0");
    expect_ended_well(scope);
}

int main(void) { return test_main_each(set_up, tear_down); }
