/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A training of which rows and first weights are the program's cl_mem takes the steps of
 * one on Gantry's own memory, bit for bit, and writes nothing into them. */
#define _XOPEN_SOURCE 700
#include "opencl_program.h"

#include <gantry_train/train.h>

enum { ROWS = 128, WIDTH = 8, UNITS = 128, STEPS = 4 }; /* rows and weights have PROGRAM_ITEMS */

typedef struct training_t {
    gantry_optimizer_t *optimizer;
    gantry_variable_t *weights;
} training_t;

/* One step of least squares: the loss is the mean square of x w. */
static void take_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    training_t *training = user;
    const gantry_source_t source = {.variable = training->weights};
    const gantry_tensor_t *gradient = NULL;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    const gantry_tensor_t *rows = gantry_reshape(scope, inputs[0], GANTRY_SHAPE(ROWS, WIDTH)),
                          *weights =
                              gantry_reshape(scope, gantry_variable_read(scope, training->weights),
                                             GANTRY_SHAPE(WIDTH, UNITS)),
                          *product = gantry_matmul(scope, rows, weights, NULL);
    outputs[0] = gantry_mean(scope, gantry_square(scope, product), NULL);
    (void)gantry_tape_gradient(tape, outputs[0], NULL, &source, 1, NULL, &gradient);
    gantry_tape_end(tape);
    (void)gantry_optimizer_apply(training->optimizer, scope, &training->weights, &gradient, 1);
}

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void train(opencl_program_t *p, const gantry_tensor_t *rows, const gantry_tensor_t *first,
                  bool is_captured, float *out) {
    training_t training = {gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.01}),
                           gantry_variable_create(p->scope, first, "weights")};
    const gantry_input_spec_t spec = {"rows", GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS)};
    gantry_function_t *function = NULL;
    const gantry_tensor_t *loss;
    if (!training.weights) fail_msg("%s", gantry_scope_message(p->scope));
    must(gantry_optimizer_build(training.optimizer, p->scope, &training.weights, 1));
    if (is_captured)
        must(gantry_function_trace(p->runtime, "step", take_step, &training, &spec, 1, 1, NULL,
                                   &function));
    for (int i = 0; i < STEPS; ++i) {
        if (function) {
            (void)gantry_function_call(p->scope, function, &rows, 1, &loss, 1);
        } else {
            take_step(p->scope, &rows, &loss, &training);
        }
    }
    program_expect_scope_ok(p);
    must(gantry_tensor_read(gantry_variable_read(p->scope, training.weights), out, PROGRAM_BYTES));
    gantry_function_release(function);
    gantry_optimizer_release(training.optimizer);
    gantry_variable_release(training.weights);
}

static void compare(bool is_captured) {
    static float values[2][PROGRAM_ITEMS], wanted[PROGRAM_ITEMS], got[PROGRAM_ITEMS];
    opencl_program_t p;
    cl_mem memory[2];
    const gantry_tensor_t *own[2], *shared[2];
    program_open(&p);
    for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < PROGRAM_ITEMS; ++i)
            values[k][i] = (float)((i * 37 + k * 11) % 64) / 32 - 1;
        memory[k] =
            program_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, PROGRAM_BYTES, values[k]);
        own[k] = gantry_constant(p.scope, GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS), values[k],
                                 PROGRAM_BYTES);
        shared[k] = program_adopt(&p, memory[k], false);
    }
    train(&p, own[0], own[1], is_captured, wanted);
    train(&p, shared[0], shared[1], is_captured, got);
    assert_memory_equal(got, wanted, sizeof got);
    assert_true(memcmp(got, values[1], sizeof got) != 0); /* steps were taken */
    for (int k = 0; k < 2; ++k) {
        program_read(&p, memory[k], got);
        assert_memory_equal(got, values[k], sizeof got);
    }
    program_close_runtime(&p);
    assert_int_equal(p.released, 2);
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(program_memory_references(memory[k]), 1);
        CL_OK(cl.clReleaseMemObject(memory[k]));
    }
    program_end(&p);
}

TEST(steps_op_by_op_write_nothing_into_the_programs_memory) { compare(false); }

TEST(captured_steps_write_nothing_into_the_programs_memory) { compare(true); }

int main(void) { return test_main(); }
