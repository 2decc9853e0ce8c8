/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Gradients of tensors of 8 dimensions, also of a loop's variable, have the bits of those
 * of the same elements in fewer dimensions. */
#define _POSIX_C_SOURCE 200809L

#include <gantry_train/tape.h>

#include "test.h"
#include "train_fixture.h"

typedef const gantry_tensor_t tensor;

enum { COUNT = 24 };

#define DEEP GANTRY_SHAPE(1, 2, 1, 3, 1, 2, 1, 2)
#define FLAT GANTRY_SHAPE(2, 3, 4)

typedef tensor *(*deep_fn)(gantry_scope_t *s, tensor *x);

/* ---- functions of x, each element apart from the others ---- */

static void goes_on(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_less(s, in[0], gantry_scalar_i32(s, 20));
}

static void step(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_add(s, in[0], gantry_scalar_i32(s, 1));
    out[1] = gantry_mul(s, gantry_tanh(s, in[1]), in[2]);
    out[2] = in[2];
}

static tensor *looping(gantry_scope_t *s, tensor *x) {
    tensor *from[] = {gantry_scalar_i32(s, 0), x, gantry_add(s, x, gantry_scalar_f32(s, 1))};
    tensor *made[3] = {NULL, NULL, NULL};
    (void)gantry_while(s, goes_on, step, NULL, from, 3, NULL, made);
    return made[1];
}

static tensor *chaining(gantry_scope_t *s, tensor *x) {
    tensor *sum = gantry_add(s, gantry_tanh(s, x), gantry_mul(s, x, x));
    tensor *both[] = {sum, x};
    return gantry_mul(s, gantry_sum(s, gantry_concat(s, both, 2, 0), NULL), gantry_sigmoid(s, sum));
}

static const deep_fn functions[] = {looping, chaining};

/* ---- the gradients ---- */

static void differentiate(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    const deep_fn *function = user;
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    (void)gantry_tape_watch(tape, inputs[0]);
    outputs[0] = (*function)(s, inputs[0]);
    (void)gantry_tape_gradient(tape, outputs[0], NULL, &(gantry_source_t){.tensor = inputs[0]}, 1,
                               NULL, &outputs[1]);
    gantry_tape_end(tape);
}

static void find(gantry_runtime_t *runtime, const deep_fn *function, gantry_shape_t shape, float *y,
                 float *gradient) {
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, shape};
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
    float values[COUNT];
    tensor *outputs[2];
    gantry_function_t *traced;
    for (int i = 0; i < COUNT; ++i) values[i] = (float)(i % 7) * 0.25f - 0.5f;
    if (gantry_function_trace(runtime, "f", differentiate, (void *)(uintptr_t)function, &input, 1,
                              2, NULL, &traced) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    tensor *x = gantry_constant(scope, GANTRY_FLOAT32, shape, values, sizeof values);
    if (gantry_function_call(scope, traced, &x, 1, outputs, 2) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_true(gantry_shape_equal(gantry_tensor_shape(outputs[1]), &shape));
    assert_int_equal(gantry_tensor_read(outputs[0], y, COUNT * sizeof *y), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(outputs[1], gradient, COUNT * sizeof *y), GANTRY_OK);
    gantry_function_release(traced);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(gradients_of_eight_dimensions_have_the_bits_of_fewer) {
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
        float y[2][COUNT], gradient[2][COUNT];
        find(fixture.runtime, &functions[i], DEEP, y[0], gradient[0]);
        find(fixture.runtime, &functions[i], FLAT, y[1], gradient[1]);
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
