/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A step of an optimizer changes the right variables on the right devices at the stated
 * rate, or none where memory runs out.
 *
 * Keras's numbers are in test_optimizer_trajectories.c. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "optimizer_case.h"
#include "test.h"

/* ---- which variables ---- */

/* As in Keras: the average of the squares stays infinite, so that the steps are 0. */
TEST_WITH(adadelta_survives_a_gradient_whose_square_is_infinite, set_up, tear_down) {
    gantry_variable_t *w = make(GANTRY_FLOAT32, 3, 1);
    tensor *large = numbers(scope, GANTRY_FLOAT32, 3, 1e20),
           *one = numbers(scope, GANTRY_FLOAT32, 3, 1);
    gantry_optimizer_t *adadelta = gantry_adadelta(NULL);
    assert_int_equal(gantry_optimizer_apply(adadelta, scope, &w, &large, 1), GANTRY_OK);
    assert_int_equal(gantry_optimizer_apply(adadelta, scope, &w, &one, 1), GANTRY_OK);
    assert_float_equal(read_first(w), 1, 0);
    gantry_optimizer_release(adadelta);
    gantry_variable_release(w);
}

TEST_WITH(a_step_builds_and_updates_all, set_up, tear_down) {
    gantry_variable_t *w[] = {make(GANTRY_FLOAT32, 3, 1), make(GANTRY_FLOAT32, 9000, 2)};
    tensor *g[] = {numbers(scope, GANTRY_FLOAT32, 3, 1), numbers(scope, GANTRY_FLOAT32, 9000, 1)};
    gantry_optimizer_t *sgd = half_sgd();
    assert_int_equal(gantry_optimizer_apply(sgd, scope, w, g, 2), GANTRY_OK);
    assert_float_equal(read_first(w[0]), 0.5, 0);
    assert_float_equal(read_first(w[1]), 1.5, 0);
    gantry_optimizer_release(sgd);
    gantry_variable_release(w[0]);
    gantry_variable_release(w[1]);
}

/* Of three joined variables one has no gradient, and one is not given. */
TEST_WITH(variables_without_gradient_stay, set_up, tear_down) {
    gantry_variable_t *w[] = {make(GANTRY_FLOAT32, 3, 1), make(GANTRY_FLOAT32, 4, 2),
                              make(GANTRY_FLOAT32, 5, 3)};
    tensor *g[] = {NULL, numbers(scope, GANTRY_FLOAT32, 4, 1)};
    gantry_optimizer_t *sgd = gantry_sgd(&(gantry_sgd_options_t){.momentum = 0.5});
    assert_int_equal(gantry_optimizer_build(sgd, scope, w, 3), GANTRY_OK);
    assert_int_equal(gantry_optimizer_apply(sgd, scope, w, g, 2), GANTRY_OK);
    assert_float_equal(read_first(w[0]), 1, 0);
    assert_float_equal(read_first(w[1]), 1.99, 1e-6);
    assert_float_equal(read_first(w[2]), 3, 0);
    for (size_t i = 0; i < 3; ++i) gantry_variable_release(w[i]);
    gantry_optimizer_release(sgd);
}

/* 70 variables are three groups; one in each has 0 elements and one is a scalar. */
TEST_WITH(many_small_variables_are_updated, set_up, tear_down) {
    enum { COUNT = 70 };
    gantry_variable_t *w[COUNT];
    tensor *g[COUNT];
    for (int64_t i = 0; i < COUNT; ++i) {
        w[i] = make(GANTRY_FLOAT32, i, (double)i);
        g[i] = numbers(scope, GANTRY_FLOAT32, i, 1);
    }
    gantry_optimizer_t *sgd = half_sgd();
    for (int k = 0; k < 2; ++k)
        assert_int_equal(gantry_optimizer_apply(sgd, scope, w, g, COUNT), GANTRY_OK);
    for (int64_t i = 1; i < COUNT; ++i) {
        float values[COUNT];
        read_all(w[i], i, values);
        for (int64_t k = 0; k < i; ++k) assert_float_equal(values[k], i - 1, 1e-5);
    }
    for (size_t i = 0; i < COUNT; ++i) gantry_variable_release(w[i]);
    gantry_optimizer_release(sgd);
}

/* A variable that is updated alone, and its beginning, which is joined with another variable. */
TEST_WITH(joined_variables_have_the_bits_of_lone_ones, set_up, tear_down) {
    gantry_optimizer_t *const all[] = {
        gantry_sgd(&(gantry_sgd_options_t){.momentum = 0.9, .nesterov = true}),
        gantry_adam(&(gantry_adam_options_t){.amsgrad = true}),
        gantry_adamw(NULL),
        gantry_nadam(NULL),
        gantry_rmsprop(&(gantry_rmsprop_options_t){.momentum = 0.5, .centered = true}),
        gantry_adagrad(NULL),
        gantry_adamax(&(gantry_adamax_options_t){.clipvalue = 0.5}),
        gantry_lion(NULL),
        gantry_adadelta(NULL),
        gantry_ftrl(&(gantry_ftrl_options_t){.l1_regularization_strength = 0.5})};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        static float whole[9000];
        float beginning[90];
        gantry_variable_t *w[] = {make(GANTRY_FLOAT32, 90, 1), make(GANTRY_FLOAT32, 9000, 1),
                                  make(GANTRY_FLOAT32, 7, 1)};
        for (int t = 0; t < 3; ++t) {
            tensor *g[] = {numbers(scope, GANTRY_FLOAT32, 90, t - 1.0),
                           numbers(scope, GANTRY_FLOAT32, 9000, t - 1.0),
                           numbers(scope, GANTRY_FLOAT32, 7, 1)};
            assert_int_equal(gantry_optimizer_apply(all[k], scope, w, g, 3), GANTRY_OK);
        }
        read_all(w[0], 90, beginning);
        read_all(w[1], 9000, whole);
        assert_memory_equal(beginning, whole, sizeof beginning);
        for (size_t i = 0; i < 3; ++i) gantry_variable_release(w[i]);
        gantry_optimizer_release(all[k]);
    }
}

/* ---- devices and types ---- */

TEST_WITH(each_device_and_type_is_updated_where_it_lives, set_up, tear_down) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
                                            GANTRY_BFLOAT16, GANTRY_FLOAT32};
    gantry_scope_t *gpu = runtime_fixture_scope(&fixture, "GPU:0");
    gantry_variable_t *w[5], *own[32];
    tensor *g[5];
    size_t count = 0, on_gpu = 0;
    for (size_t i = 0; i < 5; ++i) {
        gantry_scope_t *in = i == 4 ? gpu : scope;
        w[i] = gantry_variable_create(in, numbers(in, dtypes[i], 4, 2), "w");
        g[i] = numbers(in, dtypes[i], 4, 1);
    }
    /* all gradients: 5 times 1, 9/8, 10/8, 11/8; |g|^2 = 5 * 5.71875 */
    gantry_optimizer_t *sgd =
        gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5, .global_clipnorm = 1});
    assert_int_equal(gantry_optimizer_apply(sgd, scope, w, g, 5), GANTRY_OK);
    for (size_t i = 0; i < 5; ++i) {
        static const float tolerances[] = {1e-6f, 1e-6f, 2e-3f, 2e-2f, 1e-6f};
        const double want = 2 - 0.5 / sqrt(5 * 5.71875);
        assert_float_equal(read_first(w[i]), want, tolerances[i]);
    }
    assert_int_equal(gantry_optimizer_get_variables(sgd, 32, own, &count), GANTRY_OK);
    assert_int_equal(count, 10); /* five homes with a step and a rate each */
    for (size_t i = 0; i < count; ++i)
        on_gpu += gantry_variable_device(own[i]) == gantry_variable_device(w[4]);
    assert_int_equal(on_gpu, 2);
    for (size_t i = 0; i < 5; ++i) gantry_variable_release(w[i]);
    gantry_optimizer_release(sgd);
    expect_ended_well(gpu);
}

/* A strategy updates the variables of each replica by a call of its own. */
TEST_WITH(each_device_counts_its_own_steps, set_up, tear_down) {
    gantry_scope_t *gpu = runtime_fixture_scope(&fixture, "GPU:0");
    gantry_scope_t *const in[] = {scope, gpu};
    gantry_variable_t *w[2], *own[32];
    tensor *g[2];
    size_t count = 0, counters = 0;
    for (size_t i = 0; i < 2; ++i) {
        w[i] = gantry_variable_create(in[i], numbers(in[i], GANTRY_FLOAT32, 4, 2), "w");
        g[i] = numbers(in[i], GANTRY_FLOAT32, 4, 1);
    }
    gantry_optimizer_t *nadam =
        gantry_nadam(&(gantry_nadam_options_t){.learning_rate = 0.5, .global_clipnorm = 1});
    assert_int_equal(gantry_optimizer_build(nadam, scope, w, 2), GANTRY_OK);
    for (size_t step = 0; step < 3; ++step) {
        assert_int_equal(gantry_optimizer_apply(nadam, scope, &w[0], &g[0], 1), GANTRY_OK);
        assert_int_equal(gantry_optimizer_apply(nadam, scope, &w[1], &g[1], 1), GANTRY_OK);
    }
    assert_float_equal(read_first(w[0]), read_first(w[1]), 1e-6);
    assert_int_equal(gantry_optimizer_get_variables(nadam, 32, own, &count), GANTRY_OK);
    for (size_t i = 0; i < count; ++i) {
        if (gantry_variable_dtype(own[i]) != GANTRY_INT64) continue;
        assert_float_equal(read_first(own[i]), 3, 0);
        ++counters;
    }
    assert_int_equal(counters, 2);
    for (size_t i = 0; i < 2; ++i) gantry_variable_release(w[i]);
    gantry_optimizer_release(nadam);
    expect_ended_well(gpu);
}

/* A step of a loop on two replicas, by the rule of a strategy: a call for each of them. The
 * gradients are 1: two of them take 0.5 off. */
TEST_WITH(replicas_accumulate_and_average_alike, set_up, tear_down) {
    static const float weights[] = {2, 1.5F, 1.5F, 1}, averages[] = {2, 1.5F, 1.5F, 1.25F};
    static const char *const names[] = {"sgd/iteration", "sgd/learning_rate",
                                        "sgd/gradient_accumulator", "sgd/average"};
    gantry_scope_t *gpu = runtime_fixture_scope(&fixture, "GPU:0");
    gantry_scope_t *const in[] = {scope, gpu};
    gantry_variable_t *w[2], *own[8];
    tensor *g[2];
    size_t count = 0;
    for (size_t i = 0; i < 2; ++i) {
        w[i] = gantry_variable_create(in[i], numbers(in[i], GANTRY_FLOAT32, 4, 2), "w");
        g[i] = numbers(in[i], GANTRY_FLOAT32, 4, 1);
    }
    gantry_optimizer_t *sgd = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5,
                                                                 .gradient_accumulation_steps = 2,
                                                                 .use_ema = true,
                                                                 .ema_momentum = 0.5});
    assert_int_equal(gantry_optimizer_build(sgd, scope, w, 2), GANTRY_OK);
    assert_int_equal(gantry_optimizer_get_variables(sgd, 8, own, &count), GANTRY_OK);
    assert_int_equal(count, 8);
    for (size_t i = 0; i < count; ++i)
        assert_string_equal(gantry_variable_name(own[i]), names[i % 4]);
    for (size_t step = 0; step < 4; ++step) {
        for (size_t i = 0; i < 2; ++i) {
            assert_int_equal(gantry_optimizer_apply(sgd, scope, &w[i], &g[i], 1), GANTRY_OK);
            assert_float_equal(read_first(w[i]), weights[step], 0);
            assert_float_equal(read_first(own[4 * i + 3]), averages[step], 0);
        }
    }
    assert_int_equal(gantry_optimizer_finalize_variable_values(sgd, scope), GANTRY_OK);
    for (size_t i = 0; i < 2; ++i) {
        assert_float_equal(read_first(w[i]), 1.25, 0);
        gantry_variable_release(w[i]);
    }
    gantry_optimizer_release(sgd);
    expect_ended_well(gpu);
}

/* Slices of one row are added before all else. */
TEST_WITH(accumulated_slices_are_dense, set_up, tear_down) {
    static const int32_t rows[] = {1, 0, 1};
    float values[2][6];
    for (int sparse = 0; sparse < 2; ++sparse) {
        tensor *start =
                   gantry_reshape(scope, numbers(scope, GANTRY_FLOAT32, 6, 1), GANTRY_SHAPE(3, 2)),
               *parts = gantry_reshape(scope, numbers(scope, GANTRY_FLOAT32, 6, 0.25),
                                       GANTRY_SHAPE(3, 2)),
               *indices = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(3), rows, sizeof rows);
        gantry_variable_t *w = gantry_variable_create(scope, start, "w");
        gantry_optimizer_t *adagrad = gantry_adagrad(&(gantry_adagrad_options_t){
            .learning_rate = 0.5, .clipnorm = 0.5, .gradient_accumulation_steps = 2});
        gantry_gradient_t gradient = {
            .values = parts, .indices = indices, .shape = GANTRY_SHAPE(3, 2)};
        if (!sparse) {
            const gantry_gradient_t slices = gradient;
            gradient = (gantry_gradient_t){.dense = gantry_gradient_to_dense(scope, &slices),
                                           .shape = slices.shape};
        }
        for (int step = 0; step < 2; ++step)
            assert_int_equal(gantry_optimizer_apply_slices(adagrad, scope, &w, &gradient, 1),
                             GANTRY_OK);
        read_all(w, 6, values[sparse]);
        gantry_variable_release(w);
        gantry_optimizer_release(adagrad);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_true(values[0][0] < 1);
}

TEST_WITH(state_is_listed, set_up, tear_down) {
    static const char *const names[] = {"nadam/iteration", "nadam/learning_rate",
                                        "nadam/momentum_product", "nadam/momentum",
                                        "nadam/velocity"};
    gantry_variable_t *w = make(GANTRY_FLOAT32, 3, 1), *own[8];
    gantry_optimizer_t *nadam = gantry_nadam(NULL);
    size_t count = 1;
    assert_int_equal(gantry_optimizer_get_variables(nadam, 0, NULL, &count), GANTRY_OK);
    assert_int_equal(count, 0);
    assert_int_equal(gantry_optimizer_build(nadam, scope, &w, 1), GANTRY_OK);
    assert_int_equal(gantry_optimizer_build(nadam, scope, &w, 1), GANTRY_OK);
    assert_int_equal(gantry_optimizer_get_variables(nadam, 8, own, &count), GANTRY_OK);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; ++i) assert_string_equal(gantry_variable_name(own[i]), names[i]);
    gantry_variable_release(w);
    gantry_optimizer_release(nadam);
}
/* ---- captured ---- */

static gantry_function_t *trace(training_t *training) {
    gantry_input_spec_t inputs[4];
    gantry_function_t *function;
    for (size_t i = 0; i < training->count; ++i)
        inputs[i] = (gantry_input_spec_t){NULL, GANTRY_FLOAT32,
                                          *gantry_variable_shape(training->weights[i])};
    if (gantry_function_trace(fixture.runtime, "step", apply_inputs, training, inputs,
                              training->count, 1, NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

TEST_WITH(a_captured_step_follows_the_rate_that_is_set, set_up, tear_down) {
    training_t training = {half_sgd(), {make(GANTRY_FLOAT32, 3, 4)}, 1};
    tensor *g = numbers(scope, GANTRY_FLOAT32, 3, 1), *output;
    double rate = 0;
    assert_int_equal(gantry_optimizer_get_learning_rate(training.optimizer, &rate), GANTRY_OK);
    assert_float_equal(rate, 0.5, 0);
    assert_int_equal(gantry_optimizer_set_learning_rate(training.optimizer, 1), GANTRY_OK);
    (void)gantry_optimizer_build(training.optimizer, scope, training.weights, 1);
    gantry_function_t *step = trace(&training);
    assert_int_equal(gantry_function_call(scope, step, &g, 1, &output, 1), GANTRY_OK);
    assert_float_equal(read_first(training.weights[0]), 3, 0);
    assert_int_equal(gantry_optimizer_set_learning_rate(training.optimizer, 0.25), GANTRY_OK);
    assert_int_equal(gantry_optimizer_get_learning_rate(training.optimizer, &rate), GANTRY_OK);
    assert_float_equal(rate, 0.25, 0);
    assert_int_equal(gantry_function_call(scope, step, &g, 1, &output, 1), GANTRY_OK);
    assert_float_equal(read_first(training.weights[0]), 2.75, 0);
    gantry_function_release(step);
    gantry_variable_release(training.weights[0]);
    gantry_optimizer_release(training.optimizer);
}

/* 1, then 1/2 from step 1 on */
static tensor *halving(gantry_scope_t *in, tensor *step, gantry_dtype_t dtype, void *user) {
    ++*(int *)user;
    tensor *is_first = gantry_equal(in, step, gantry_scalar_i64(in, 0));
    return gantry_cast(
        in, gantry_select(in, is_first, gantry_scalar_f32(in, 1), gantry_scalar_f32(in, 0.5)),
        dtype);
}

TEST_WITH(a_schedule_of_the_callers_own_gives_the_rates, set_up, tear_down) {
    int calls = 0;
    double rate = 0;
    gantry_schedule_t *schedule = gantry_schedule_create(halving, &calls);
    training_t training = {
        gantry_sgd(&(gantry_sgd_options_t){.schedule = schedule}), {make(GANTRY_FLOAT32, 3, 4)}, 1};
    gantry_schedule_release(schedule); /* the optimizer has a reference */
    tensor *g = numbers(scope, GANTRY_FLOAT32, 3, 1), *output;
    assert_int_equal(gantry_optimizer_get_learning_rate(training.optimizer, &rate),
                     GANTRY_FAILED_PRECONDITION);
    expect_message("gantry_optimizer_build builds it");
    (void)gantry_optimizer_build(training.optimizer, scope, training.weights, 1);
    gantry_function_t *step = trace(&training);
    assert_int_equal(calls, 1);
    for (int k = 0; k < 3; ++k) {
        assert_int_equal(gantry_optimizer_get_learning_rate(training.optimizer, &rate), GANTRY_OK);
        assert_float_equal(rate, k == 0 ? 1 : 0.5, 0);
        assert_int_equal(gantry_function_call(scope, step, &g, 1, &output, 1), GANTRY_OK);
    }
    assert_float_equal(read_first(training.weights[0]), 2, 0);
    assert_int_equal(gantry_optimizer_set_learning_rate(training.optimizer, 1),
                     GANTRY_FAILED_PRECONDITION);
    expect_message("optimizer sgd has a schedule");
    gantry_function_release(step);
    gantry_variable_release(training.weights[0]);
    gantry_optimizer_release(training.optimizer);
}

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (text = strstr(text, word); text; text = strstr(text + 1, word)) ++count;
    return count;
}

/* Decay, clips, missing gradients and slots are parts of one pass, whatever the optimizer. */
TEST_WITH(joined_weights_are_updated_in_one_pass, set_up, tear_down) {
    static char text[1 << 16];
    static const size_t slot_counts[] = {1, 3, 2, 3, 1, 2, 1, 2, 2};
    gantry_optimizer_t *const all[] = {
        gantry_sgd(&(gantry_sgd_options_t){.momentum = 0.9, .nesterov = true, .weight_decay = 1}),
        gantry_adam(&(gantry_adam_options_t){.amsgrad = true, .clipvalue = 1, .weight_decay = 1}),
        gantry_nadam(&(gantry_nadam_options_t){.clipvalue = 1, .weight_decay = 1}),
        gantry_rmsprop(&(gantry_rmsprop_options_t){
            .momentum = 0.5, .centered = true, .clipvalue = 1, .weight_decay = 1}),
        gantry_adagrad(&(gantry_adagrad_options_t){.clipvalue = 1, .weight_decay = 1}),
        gantry_adamax(&(gantry_adamax_options_t){.clipvalue = 1, .weight_decay = 1}),
        gantry_lion(&(gantry_lion_options_t){.clipvalue = 1, .weight_decay = 1}),
        gantry_adadelta(&(gantry_adadelta_options_t){.clipvalue = 1, .weight_decay = 1}),
        gantry_ftrl(&(gantry_ftrl_options_t){
            .learning_rate_power = -0.75, .clipvalue = 1, .weight_decay = 1})};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        training_t training = {
            all[k],
            {make(GANTRY_FLOAT32, 3, 4), make(GANTRY_FLOAT32, 200, 4), make(GANTRY_FLOAT32, 5, 4)},
            3};
        (void)gantry_optimizer_build(all[k], scope, training.weights, 3);
        gantry_function_t *step = trace(&training);
        assert_int_equal(
            gantry_function_explain(step, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
        /* Places of 128, 256 and 5 elements. Besides the pass there are two Concats, and a read
         * and an assignment of each slot. */
        if (count_of(text, "_FusedElementwise  float32[389]") != 1 ||
            count_of(text, "float32[389]") != 3 + 2 * slot_counts[k])
            fail_msg("%zu: %s", k, text);
        gantry_function_release(step);
        for (size_t i = 0; i < 3; ++i) gantry_variable_release(training.weights[i]);
        gantry_optimizer_release(all[k]);
    }
}

/* The tape and the optimizer in one function: w goes to 3. */
static void descend(gantry_scope_t *in, tensor *const *inputs, tensor **outputs, void *user) {
    training_t *training = user;
    gantry_tape_t *tape = gantry_tape_begin(in, NULL);
    tensor *away = gantry_sub(in, gantry_variable_read(in, training->weights[0]), inputs[0]);
    const gantry_source_t source = {.variable = training->weights[0]};
    tensor *gradient = NULL;
    outputs[0] = gantry_sum(in, gantry_square(in, away), NULL);
    (void)gantry_tape_gradient(tape, outputs[0], NULL, &source, 1, NULL, &gradient);
    (void)gantry_optimizer_apply(training->optimizer, in, training->weights, &gradient, 1);
    gantry_tape_end(tape);
}

TEST_WITH(a_training_step_is_one_function, set_up, tear_down) {
    training_t training = {gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.1}),
                           {make(GANTRY_FLOAT32, 9, 0)},
                           1};
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(9)};
    tensor *target = numbers(scope, GANTRY_FLOAT32, 9, 3), *loss;
    gantry_function_t *step;
    float value = 0;
    (void)gantry_optimizer_build(training.optimizer, scope, training.weights, 1);
    assert_int_equal(gantry_function_trace(fixture.runtime, "step", descend, &training, &input, 1,
                                           1, NULL, &step),
                     GANTRY_OK);
    for (int k = 0; k < 300; ++k)
        assert_int_equal(gantry_function_call(scope, step, &target, 1, &loss, 1), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(loss, &value, sizeof value), GANTRY_OK);
    assert_float_equal(value, 0, 1e-3);
    gantry_function_release(step);
    gantry_variable_release(training.weights[0]);
    gantry_optimizer_release(training.optimizer);
}
/* Counts up to inputs[0]; each step of the loop is a training step. */
static void goes_on(gantry_scope_t *in, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(in, inputs[0], gantry_scalar_i32(in, 5));
}

static void loop_step(gantry_scope_t *in, tensor *const *inputs, tensor **outputs, void *user) {
    const training_t *training = user;
    (void)gantry_optimizer_apply(training->optimizer, in, training->weights, &inputs[1], 1);
    outputs[0] = gantry_add(in, inputs[0], gantry_scalar_i32(in, 1));
    outputs[1] = gantry_identity(in, inputs[1]);
}

static void five_steps(gantry_scope_t *in, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *values[] = {gantry_scalar_i32(in, 0), inputs[0]};
    (void)gantry_while(in, goes_on, loop_step, user, values, 2, NULL, values);
    outputs[0] = values[1];
}

TEST_WITH(a_loop_of_steps_is_one_call, set_up, tear_down) {
    float values[2][3];
    for (int k = 0; k < 2; ++k) {
        training_t training = {gantry_nadam(NULL), {make(GANTRY_FLOAT32, 3, 1)}, 1};
        const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(3)};
        tensor *g = numbers(scope, GANTRY_FLOAT32, 3, -1), *output;
        gantry_function_t *steps = NULL;
        (void)gantry_optimizer_build(training.optimizer, scope, training.weights, 1);
        if (k == 0) {
            assert_int_equal(gantry_function_trace(fixture.runtime, "steps", five_steps, &training,
                                                   &input, 1, 1, NULL, &steps),
                             GANTRY_OK);
            assert_int_equal(gantry_function_call(scope, steps, &g, 1, &output, 1), GANTRY_OK);
        }
        for (int t = 0; t < 5 && k == 1; ++t)
            (void)gantry_optimizer_apply(training.optimizer, scope, training.weights, &g, 1);
        read_all(training.weights[0], 3, values[k]);
        gantry_function_release(steps);
        gantry_variable_release(training.weights[0]);
        gantry_optimizer_release(training.optimizer);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_float_equal(values[0][0], 1.00395978, 1e-6);
}

/* ---- memory runs out ---- */

/* Two steps of an optimizer with all that a step can have; returns the scope's status. A step that
 * fails changes no variable. */
static gantry_status_t train(gantry_scope_t *in) {
    gantry_variable_t *w[3] = {NULL, NULL, NULL};
    tensor *g[3];
    for (int64_t i = 0; i < 3; ++i) {
        g[i] = numbers(in, GANTRY_FLOAT32, 3 + i, 1);
        w[i] = gantry_variable_create(in, g[i], "w");
    }
    gantry_optimizer_t *adam =
        gantry_adam(&(gantry_adam_options_t){.amsgrad = true,
                                             .global_clipnorm = 1,
                                             .gradient_accumulation_steps = 2,
                                             .use_ema = true,
                                             .ema_overwrite_frequency = 1});
    if (!adam) (void)gantry_scope_fail(in, GANTRY_RESOURCE_EXHAUSTED, gantry_last_message());
    if (gantry_scope_status(in) == GANTRY_OK) {
        (void)gantry_optimizer_apply(adam, in, w, g, 3);
        (void)gantry_optimizer_apply(adam, in, w, (tensor *[]){g[0], NULL, g[2]}, 3);
        (void)gantry_optimizer_finalize_variable_values(adam, in);
    }
    for (size_t i = 0; i < 3; ++i) gantry_variable_release(w[i]);
    gantry_optimizer_release(adam);
    return gantry_scope_status(in);
}

TEST_WITH(without_memory_nothing_leaks, runtime_fixture_set_up, NULL) {
    train_heap_reset(-1);
    runtime_fixture_starve_each(1, "GPU:0", train);
    assert_int_equal(train_heap_live(), 0);
}

/* All variables have their old values, or all their new ones. */
TEST_WITH(a_step_without_memory_changes_nothing, set_up, tear_down) {
    gantry_variable_t *w[] = {make(GANTRY_FLOAT32, 3, 1), make(GANTRY_FLOAT32, 9000, 1)}, *own[8];
    tensor *g[] = {numbers(scope, GANTRY_FLOAT32, 3, 1), numbers(scope, GANTRY_FLOAT32, 9000, 1)};
    gantry_optimizer_t *sgd = gantry_sgd(&(gantry_sgd_options_t){.momentum = 0.5});
    size_t count, failures = 0;
    assert_int_equal(gantry_optimizer_build(sgd, scope, w, 2), GANTRY_OK);
    assert_int_equal(gantry_optimizer_get_variables(sgd, 8, own, &count), GANTRY_OK);
    for (long n = 0;; ++n) {
        runtime_fixture_starve(&fixture, n);
        gantry_status_t status = gantry_optimizer_apply(sgd, scope, w, g, 2);
        (void)runtime_fixture_feed(&fixture);
        if (status == GANTRY_OK) break;
        ++failures;
        gantry_scope_clear(scope);
        assert_float_equal(read_first(w[0]), 1, 0);
        assert_float_equal(read_first(w[1]), 1, 0);
        for (size_t i = 0; i < count; ++i)
            assert_float_equal(read_first(own[i]), i == 1 ? 0.01f : 0, 0);
    }
    assert_true(failures > 10);
    assert_float_equal(read_first(w[0]), 0.99, 1e-6);
    gantry_variable_release(w[0]);
    gantry_variable_release(w[1]);
    gantry_optimizer_release(sgd);
}

static gantry_status_t train_in_scope(void *user) {
    gantry_scope_t *in = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_status_t status = train(in);
    (void)user;
    (void)gantry_scope_end(in);
    return status;
}

TEST_WITH(without_memory_of_its_own_nothing_leaks, set_up, tear_down) {
    assert_true(train_heap_fail_each("optimizers", train_in_scope, NULL) > 2);
    const int64_t boundaries[] = {1};
    const double values[] = {1, 1};
    const gantry_piecewise_constant_decay_options_t pieces = {
        .boundaries = boundaries, .boundary_count = 1, .values = values};
    for (long k = 0; k < 3; ++k) {
        train_heap_reset(k);
        EXPECT_REFUSED(gantry_piecewise_constant_decay(&pieces), "out of host memory");
        assert_int_equal(train_heap_live(), 0);
    }
    train_heap_reset(-1);
}

int main(void) { return test_main(); }
