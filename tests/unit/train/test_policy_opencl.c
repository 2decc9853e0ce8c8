/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Under the strictest device policy, work whose inputs are on one GPU runs there, because
 * what the library itself puts into an op is no input of the program.
 *
 * On PoCL. */
#define _XOPEN_SOURCE 700

#include <gantry_train/train.h>

#include "test.h"
#include "train_case.h"

#define GPU "/GPU:0"

static gantry_runtime_t *open_runtime(gantry_device_policy_t policy) {
    gantry_runtime_t *runtime = train_open_gpu();
    assert_int_equal(gantry_set_device_policy(runtime, policy), GANTRY_OK);
    return runtime;
}

static void expect_sum(gantry_scope_t *scope, const gantry_tensor_t *x, float wanted) {
    float sum = -1;
    if (gantry_tensor_read(gantry_sum(scope, x, NULL), &sum, sizeof sum) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal((int)sum, (int)wanted);
}

TEST(ops_take_what_the_library_puts_in) {
    static const gantry_device_policy_t policies[] = {GANTRY_POLICY_EXPLICIT,
                                                      GANTRY_POLICY_SILENT_FOR_INT32};
    static const float values[] = {1, 2, 3, 4};
    for (size_t i = 0; i < 2; ++i) {
        gantry_runtime_t *runtime = open_runtime(policies[i]);
        gantry_scope_t *scope = gantry_scope_begin(runtime, GPU),
                       *cpu = gantry_scope_begin(runtime, "/CPU:0");
        const gantry_tensor_t *x =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), values, sizeof values);
        expect_sum(scope, gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(5)), 5);
        expect_sum(scope, gantry_eye(scope, 3, 3, GANTRY_FLOAT32), 3);
        expect_sum(scope, gantry_random_shuffle(scope, x, NULL), 10);
        expect_sum(scope, gantry_einsum(scope, "ii->i", &x, 1), 5);
        /* a value of the program's own is one of its inputs */
        assert_null(gantry_fill(scope, GANTRY_SHAPE(2), gantry_scalar_f32(cpu, 1)));
        assert_non_null(strstr(gantry_scope_message(scope), "cannot compute Fill as input #1"));
        gantry_scope_clear(scope);
        assert_int_equal(gantry_scope_end(cpu), GANTRY_OK);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
        gantry_runtime_release(runtime);
    }
}

TEST(a_model_trains) {
    static const float x[] = {0, 0, 0, 1, 1, 0, 1, 1};
    static const int32_t y[] = {0, 1, 1, 0};
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(4, 2), x},
                                     {GANTRY_INT32, GANTRY_SHAPE(4), y}};
    gantry_runtime_t *runtime = open_runtime(GANTRY_POLICY_EXPLICIT);
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.device = GPU});
    (void)gantry_model_add(model, gantry_dense(3, GANTRY_RELU, NULL));
    (void)gantry_model_add(model, gantry_batch_normalization(NULL));
    (void)gantry_model_add(model, gantry_dropout_layer(0.5, NULL));
    (void)gantry_model_add(model, gantry_dense(2, GANTRY_SOFTMAX, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_adam(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY});
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, true), 2, false);
    if (gantry_model_fit(model, batches, &(gantry_fit_options_t){.epochs = 2}) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_dataset_release(batches);
    gantry_model_release(model);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
