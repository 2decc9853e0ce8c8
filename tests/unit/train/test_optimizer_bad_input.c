/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Optimizers and schedules refuse bad options, variables and gradients with texts that
 * name them, and change nothing then. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "optimizer_case.h"
#include "test.h"

/* ---- refused: options ---- */

TEST(bad_numbers_of_optimizers_are_refused) {
    EXPECT_REFUSED(gantry_sgd(&(gantry_sgd_options_t){.learning_rate = -1}),
                   "gantry_sgd: learning_rate is -1; a number of 0 or more is accepted");
    EXPECT_REFUSED(gantry_sgd(&(gantry_sgd_options_t){.momentum = 1.5}),
                   "momentum is 1.5; a number from 0 to 1 is accepted");
    EXPECT_REFUSED(gantry_sgd(&(gantry_sgd_options_t){.learning_rate = (double)NAN}),
                   "learning_rate is nan");
    EXPECT_REFUSED(gantry_adam(&(gantry_adam_options_t){.beta_1 = 1}),
                   "gantry_adam: beta_1 is 1; a number from 0 to below 1 is accepted");
    EXPECT_REFUSED(gantry_adam(&(gantry_adam_options_t){.beta_2 = -0.1}), "beta_2 is -0.1");
    EXPECT_REFUSED(gantry_adamw(&(gantry_adamw_options_t){.weight_decay = -1}),
                   "gantry_adamw: weight_decay is -1");
    EXPECT_REFUSED(gantry_nadam(&(gantry_nadam_options_t){.epsilon = -1}), "epsilon is -1");
    EXPECT_REFUSED(gantry_rmsprop(&(gantry_rmsprop_options_t){.rho = 1}), "rho is 1");
    EXPECT_REFUSED(gantry_adagrad(&(gantry_adagrad_options_t){.initial_accumulator_value = -1}),
                   "initial_accumulator_value is -1");
    EXPECT_REFUSED(gantry_adamax(&(gantry_adamax_options_t){.clipnorm = -1}), "clipnorm is -1");
    EXPECT_REFUSED(gantry_lion(&(gantry_lion_options_t){.beta_2 = 2}), "beta_2 is 2");
    EXPECT_REFUSED(gantry_adadelta(&(gantry_adadelta_options_t){.rho = 1}),
                   "gantry_adadelta: rho is 1; a number from 0 to below 1 is accepted");
    EXPECT_REFUSED(gantry_adadelta(&(gantry_adadelta_options_t){.epsilon = -1}), "epsilon is -1");
    EXPECT_REFUSED(gantry_ftrl(&(gantry_ftrl_options_t){.learning_rate_power = 0.5}),
                   "gantry_ftrl: learning_rate_power is 0.5; a number of 0 or less is accepted");
    EXPECT_REFUSED(gantry_ftrl(&(gantry_ftrl_options_t){.learning_rate_power = -(double)INFINITY}),
                   "learning_rate_power is -inf");
    EXPECT_REFUSED(gantry_ftrl(&(gantry_ftrl_options_t){.initial_accumulator_value = -1}),
                   "initial_accumulator_value is -1; a number of 0 or more is accepted");
    EXPECT_REFUSED(gantry_ftrl(&(gantry_ftrl_options_t){.l1_regularization_strength = -1}),
                   "l1_regularization_strength is -1");
    EXPECT_REFUSED(gantry_ftrl(&(gantry_ftrl_options_t){.l2_regularization_strength = -1}),
                   "l2_regularization_strength is -1");
    EXPECT_REFUSED(
        gantry_ftrl(&(gantry_ftrl_options_t){.l2_shrinkage_regularization_strength = -1}),
        "l2_shrinkage_regularization_strength is -1");
    EXPECT_REFUSED(gantry_ftrl(&(gantry_ftrl_options_t){.beta = (double)NAN}), "beta is nan");
    EXPECT_REFUSED(
        gantry_lion(&(gantry_lion_options_t){.clipvalue = 1, .global_clipnorm = 2}),
        "Only one of clipnorm, clipvalue and global_clipnorm can be set. Received: clipnorm=0, clipvalue=1, global_clipnorm=2");
    EXPECT_REFUSED(gantry_adam(&(gantry_adam_options_t){.struct_size = 4096}),
                   "gantry_adam: options: struct_size is 4096");
}

TEST(bad_accumulations_and_averages_are_refused) {
    EXPECT_REFUSED(
        gantry_sgd(&(gantry_sgd_options_t){.gradient_accumulation_steps = 1}),
        "gantry_sgd: gradient_accumulation_steps is 1; 0, for none, or an integer of 2 or more is");
    EXPECT_REFUSED(gantry_lion(&(gantry_lion_options_t){.gradient_accumulation_steps = -2}),
                   "gantry_lion: gradient_accumulation_steps is -2; 0, for none, or an integer of");
    EXPECT_REFUSED(gantry_adam(&(gantry_adam_options_t){.use_ema = true, .ema_momentum = 1.5}),
                   "gantry_adam: ema_momentum is 1.5; a number from 0 to 1 is accepted");
    EXPECT_REFUSED(gantry_nadam(&(gantry_nadam_options_t){.use_ema = true, .ema_momentum = -1}),
                   "gantry_nadam: ema_momentum is -1; a number from 0 to 1 is accepted");
    EXPECT_REFUSED(
        gantry_rmsprop(&(gantry_rmsprop_options_t){.use_ema = true, .ema_overwrite_frequency = -1}),
        "gantry_rmsprop: ema_overwrite_frequency is -1; 0, for never, or an integer of 1 or more");
    gantry_optimizer_t *unused = /* as Keras, which reads them with use_ema alone */
        gantry_adamax(&(gantry_adamax_options_t){.ema_momentum = 2, .ema_overwrite_frequency = -1});
    assert_non_null(unused);
    assert_int_equal(gantry_optimizer_finalize_variable_values(unused, scope), GANTRY_OK);
    gantry_optimizer_release(unused);
}

TEST(averages_that_are_not_there_are_refused) {
    gantry_optimizer_t *sgd = gantry_sgd(&(gantry_sgd_options_t){.use_ema = true});
    (void)gantry_optimizer_finalize_variable_values(NULL, scope);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_optimizer_finalize_variable_values: the optimizer is NULL");
    (void)gantry_optimizer_finalize_variable_values(sgd, scope);
    expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION,
                         "optimizer sgd is not built; gantry_optimizer_build builds it");
    gantry_variable_t *w = make(GANTRY_FLOAT32, 3, 1);
    assert_int_equal(gantry_optimizer_build(sgd, scope, &w, 1), GANTRY_OK);
    assert_int_equal(gantry_optimizer_finalize_variable_values(sgd, scope), GANTRY_OK);
    assert_float_equal(read_first(w), 1, 0); /* no step was taken */
    gantry_variable_release(w);
    gantry_optimizer_release(sgd);
}

TEST(both_a_rate_and_a_schedule_are_refused) {
    gantry_schedule_t *schedule = gantry_cosine_decay(
        &(gantry_cosine_decay_options_t){.initial_learning_rate = 1, .decay_steps = 2});
    EXPECT_REFUSED(gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 1, .schedule = schedule}),
                   "both a schedule and learning_rate 1 are given");
    gantry_schedule_release(schedule);
    gantry_schedule_release(NULL);
    gantry_optimizer_release(NULL);
}

TEST(bad_numbers_of_schedules_are_refused) {
    const int64_t falling[] = {3, 3};
    const double values[] = {1, 1, 1};
    EXPECT_REFUSED(gantry_exponential_decay(NULL),
                   "gantry_exponential_decay: initial_learning_rate is 0; a positive number");
    EXPECT_REFUSED(gantry_exponential_decay(&(gantry_exponential_decay_options_t){
                       .initial_learning_rate = 1, .decay_rate = 1}),
                   "decay_steps is 0");
    EXPECT_REFUSED(gantry_inverse_time_decay(&(gantry_inverse_time_decay_options_t){
                       .initial_learning_rate = 1, .decay_steps = 1}),
                   "decay_rate is 0");
    EXPECT_REFUSED(gantry_polynomial_decay(&(gantry_polynomial_decay_options_t){
                       .initial_learning_rate = 1, .decay_steps = 1, .power = -1}),
                   "power is -1");
    EXPECT_REFUSED(gantry_cosine_decay(&(gantry_cosine_decay_options_t){
                       .initial_learning_rate = 1, .decay_steps = 1, .warmup_steps = 2}),
                   "warmup_steps is 2 and warmup_target is 0");
    EXPECT_REFUSED(gantry_cosine_decay_restarts(&(gantry_cosine_decay_restarts_options_t){
                       .initial_learning_rate = 1, .first_decay_steps = 1, .t_mul = 0.5}),
                   "t_mul is 0.5; a number of 1 or more is accepted");
    EXPECT_REFUSED(gantry_piecewise_constant_decay(NULL), "one boundary or more are accepted");
    EXPECT_REFUSED(gantry_piecewise_constant_decay(&(gantry_piecewise_constant_decay_options_t){
                       .boundaries = falling, .boundary_count = 2, .values = values}),
                   "boundary 1 is 3, after 3; boundaries that increase are accepted");
    EXPECT_REFUSED(gantry_schedule_create(NULL, NULL), "rate is NULL");
}

static tensor *no_rate(gantry_scope_t *in, tensor *step, gantry_dtype_t dtype, void *user) {
    (void)in, (void)dtype;
    return user ? step : NULL;
}

TEST(bad_rates_are_refused) {
    int some = 0;
    gantry_schedule_t *none = gantry_schedule_create(no_rate, NULL),
                      *wrong = gantry_schedule_create(no_rate, &some);
    tensor *step = gantry_scalar_i64(scope, 0);
    assert_null(gantry_schedule_rate(scope, none, step, GANTRY_FLOAT32));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "the schedule gave NULL; it must give a scalar of type float32");
    assert_null(gantry_schedule_rate(scope, wrong, step, GANTRY_FLOAT64));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gave a tensor of another type or shape");
    assert_null(gantry_schedule_rate(scope, NULL, step, GANTRY_FLOAT32));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the schedule is NULL");
    assert_null(gantry_schedule_rate(scope, none, NULL, GANTRY_FLOAT32));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the step is NULL");
    assert_null(gantry_schedule_rate(scope, none, step, GANTRY_INT32));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the type is int32");
    gantry_schedule_release(none);
    gantry_schedule_release(wrong);
}

/* ---- refused: variables and gradients ---- */

TEST(an_optimizer_of_null_is_refused) {
    gantry_variable_t *w = make(GANTRY_FLOAT32, 3, 1);
    tensor *g = numbers(scope, GANTRY_FLOAT32, 3, 1);
    double rate;
    size_t count;
    assert_int_equal(gantry_optimizer_build(NULL, scope, &w, 1), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_optimizer_build: the optimizer is NULL");
    assert_int_equal(gantry_optimizer_apply(NULL, scope, &w, &g, 1), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_optimizer_apply: the optimizer is NULL");
    assert_int_equal(gantry_optimizer_set_learning_rate(NULL, 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_optimizer_get_learning_rate(NULL, &rate), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_optimizer_get_variables(NULL, 0, NULL, &count),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("the optimizer is NULL");
    gantry_variable_release(w);
}

TEST(arguments_of_null_are_refused) {
    gantry_variable_t *w = make(GANTRY_FLOAT32, 3, 1);
    gantry_optimizer_t *sgd = half_sgd();
    assert_int_equal(gantry_optimizer_build(sgd, NULL, &w, 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_optimizer_apply(sgd, scope, &w, NULL, 1), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "a list is NULL and count is 1");
    assert_int_equal(gantry_optimizer_apply(sgd, scope, NULL, NULL, 0), GANTRY_OK);
    assert_int_equal(gantry_optimizer_get_learning_rate(sgd, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_optimizer_get_variables(sgd, 1, NULL, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_optimizer_set_learning_rate(sgd, -1), GANTRY_INVALID_ARGUMENT);
    expect_message("learning_rate is -1; a number of 0 or more is accepted");
    gantry_optimizer_release(sgd);
    gantry_variable_release(w);
}

static void expect_build_refused(gantry_optimizer_t *optimizer, gantry_variable_t *const *variables,
                                 size_t count, const char *text) {
    assert_int_equal(gantry_optimizer_build(optimizer, scope, variables, count),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);
}

TEST(variables_that_cannot_be_trained_are_refused) {
    gantry_variable_t *w = make(GANTRY_FLOAT32, 3, 1), *u = make(GANTRY_FLOAT32, 3, 1),
                      *whole = make(GANTRY_INT64, 3, 1);
    gantry_optimizer_t *adam = gantry_adam(NULL);
    expect_build_refused(adam, (gantry_variable_t *[]){w, NULL}, 2, "variable 1 is NULL");
    expect_build_refused(adam, (gantry_variable_t *[]){whole}, 1,
                         "variable w is of type int64; floating types are accepted");
    expect_build_refused(adam, (gantry_variable_t *[]){w, u, w}, 3,
                         "variable w is given twice, as 0 and 2");
    expect_build_refused(adam, NULL, 0, "count is 0");
    assert_int_equal(gantry_optimizer_build(adam, scope, (gantry_variable_t *[]){w, u}, 2),
                     GANTRY_OK);
    assert_int_equal(gantry_optimizer_build(adam, scope, &w, 1), GANTRY_OK); /* one of them */
    expect_build_refused(adam, &whole, 1, "variable w is of type int64");
    gantry_variable_t *stranger = make(GANTRY_FLOAT32, 3, 1);
    expect_build_refused(adam, (gantry_variable_t *[]){w, stranger}, 2, "Unknown variable: w");
    gantry_optimizer_release(adam);
    gantry_variable_release(stranger);
    gantry_variable_release(w);
    gantry_variable_release(u);
    gantry_variable_release(whole);
}

static void expect_apply_refused(gantry_optimizer_t *optimizer, gantry_variable_t *const *variables,
                                 tensor *const *gradients, size_t count, const char *text) {
    assert_int_equal(gantry_optimizer_apply(optimizer, scope, variables, gradients, count),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);
}

TEST(gradients_that_do_not_fit_are_refused) {
    gantry_variable_t *w[] = {make(GANTRY_FLOAT32, 3, 1), make(GANTRY_FLOAT32, 4, 1)},
                      *stranger = make(GANTRY_FLOAT32, 3, 1);
    tensor *right = numbers(scope, GANTRY_FLOAT32, 3, 1),
           *wide = numbers(scope, GANTRY_FLOAT64, 3, 1);
    gantry_optimizer_t *adam = gantry_adam(NULL);
    (void)gantry_optimizer_build(adam, scope, w, 2);
    expect_apply_refused(
        adam, w, (tensor *[]){right, right}, 2,
        "the gradient of variable w is float32[3]; the variable's type and shape are accepted: float32[4]");
    expect_apply_refused(adam, w, (tensor *[]){wide, NULL}, 2,
                         "is float64[3]; the variable's type and shape are accepted: float32[3]");
    expect_apply_refused(adam, w, (tensor *[]){NULL, NULL}, 2,
                         "No gradients provided for any variable.");
    expect_apply_refused(adam, &stranger, &right, 1, "Unknown variable: w. Optimizer adam");
    expect_apply_refused(adam, (gantry_variable_t *[]){NULL}, &right, 1, "Unknown variable: NULL");
    expect_apply_refused(adam, (gantry_variable_t *[]){w[0], w[0]}, (tensor *[]){right, right}, 2,
                         "variable w is given twice");
    assert_float_equal(read_first(w[0]), 1, 0);
    gantry_optimizer_release(adam);
    gantry_variable_release(stranger);
    gantry_variable_release(w[0]);
    gantry_variable_release(w[1]);
}

TEST(a_trace_needs_a_built_optimizer) {
    training_t training = {half_sgd(), {make(GANTRY_FLOAT32, 3, 1)}, 1};
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(3)};
    gantry_function_t *function;
    assert_int_equal(gantry_function_trace(fixture.runtime, "step", apply_inputs, &training, &input,
                                           1, 1, NULL, &function),
                     GANTRY_FAILED_PRECONDITION);
    expect_message("optimizer sgd is not built; gantry_optimizer_build before the trace builds it");
    tensor *g = numbers(scope, GANTRY_FLOAT32, 3, 1);
    assert_int_equal(gantry_optimizer_apply(training.optimizer, scope, training.weights, &g, 1),
                     GANTRY_OK);
    gantry_variable_release(training.weights[0]);
    gantry_optimizer_release(training.optimizer);
}

int main(void) { return test_main_each(set_up, tear_down); }
