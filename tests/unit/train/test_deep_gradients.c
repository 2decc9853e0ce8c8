/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Gradients of tensors of 8 dimensions, also of a loop's variable, have the bits of those
 * of the same elements in fewer dimensions.
 * Promise: Einsum broadcasts as many dimensions as there are in a trace of a gradient, too, where a
 * size depends on data. */
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

/* ---- products whose batch broadcasts, with a size that depends on data ---- */

typedef struct open_case_t {
    const char *equation;
    int32_t open; /* the dimension of which a mask takes some */
    gantry_shape_t a, b;
} open_case_t;

static tensor *einsum_of_taken(gantry_scope_t *s, const open_case_t *c, tensor *const *inputs) {
    const gantry_attr_value_t attr = {
        .kind = GANTRY_ATTR_STRING, .name = "equation", .s = c->equation};
    tensor *taken[] = {gantry_boolean_mask(s, inputs[0], inputs[2], c->open),
                       gantry_boolean_mask(s, inputs[1], inputs[2], c->open)},
           *made = NULL;
    size_t count = 1;
    (void)gantry_op_call(s, "Einsum", taken, 2, &attr, 1, &made, &count);
    return made;
}

static void differentiate_einsum(gantry_scope_t *s, tensor *const *inputs, tensor **outputs,
                                 void *user) {
    const gantry_source_t sources[] = {{.tensor = inputs[0]}, {.tensor = inputs[1]}};
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    for (size_t i = 0; i < 2; ++i) (void)gantry_tape_watch(tape, inputs[i]);
    outputs[0] = einsum_of_taken(s, user, inputs);
    (void)gantry_tape_gradient(tape, outputs[0], NULL, sources, 2, NULL, &outputs[1]);
    gantry_tape_end(tape);
}

static tensor *steps_in(gantry_scope_t *s, gantry_shape_t shape) {
    float values[256];
    const int64_t count = gantry_shape_elements(&shape);
    for (int64_t i = 0; i < count; ++i) values[i] = (float)(i % 11) - 4;
    return gantry_constant(s, GANTRY_FLOAT32, shape, values, (size_t)count * sizeof *values);
}

static void expect_same_values(tensor *got, tensor *wanted) {
    float a[1024], b[1024];
    const size_t bytes = gantry_tensor_bytes(wanted);
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), gantry_tensor_shape(wanted)));
    assert_in_range(bytes, 1, sizeof a);
    assert_int_equal(gantry_tensor_read(got, a, bytes), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(wanted, b, bytes), GANTRY_OK);
    for (size_t i = 0; i < bytes / sizeof *a; ++i) assert_true(a[i] == b[i]); /* small integers */
}

TEST(einsum_broadcasts_many_dimensions_with_an_open_size) {
    static const bool taken[] = {true, false, true};
    open_case_t cases[] = {{"...a,...a->...a", 6, GANTRY_SHAPE(2, 1, 2, 1, 2, 1, 3),
                            GANTRY_SHAPE(1, 2, 1, 2, 1, 2, 3)},
                           {"a...k,a...k->...a", 0, GANTRY_SHAPE(3, 2, 1, 2, 1, 2, 1, 3),
                            GANTRY_SHAPE(3, 1, 2, 1, 2, 1, 2, 3)}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        open_case_t *c = &cases[i];
        const gantry_input_spec_t inputs[] = {{"a", GANTRY_FLOAT32, c->a},
                                              {"b", GANTRY_FLOAT32, c->b},
                                              {"mask", GANTRY_BOOL, GANTRY_SHAPE(3)}};
        gantry_function_t *function;
        if (gantry_function_trace(fixture.runtime, "f", differentiate_einsum, c, inputs, 3, 3, NULL,
                                  &function) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, "/CPU:0");
        tensor *given[] = {
            steps_in(scope, c->a), steps_in(scope, c->b),
            gantry_constant(scope, GANTRY_BOOL, GANTRY_SHAPE(3), taken, sizeof taken)};
        tensor *made[3], *wanted[3];
        differentiate_einsum(scope, given, wanted, c);
        if (gantry_function_call(scope, function, given, 3, made, 3) != GANTRY_OK)
            fail_msg("%s", gantry_scope_message(scope));
        for (size_t k = 0; k < 3; ++k) expect_same_values(made[k], wanted[k]);
        gantry_function_release(function);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
