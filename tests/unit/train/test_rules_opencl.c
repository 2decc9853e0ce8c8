/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Gradients on a real driver (PoCL as GPU:0) have the CPU's bits.
 *
 * GANTRY_TEST_BACKENDS names others, for a card. Functions of the transcendental kind in float64
 * use each device's own last bits: they are compared within a bound. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>

#include "gradient_case.h"
#include "test.h"
#include "train_heap.h"
#include "module_runtime.h"

static bool is_card(void) { return getenv("GANTRY_TEST_BACKENDS") != NULL; }

static void compute(gantry_runtime_t *runtime, const char *device, const gradient_case_t *c,
                    golden_tensor_t *out) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    assert_non_null(scope);
    gradient_case_inputs(scope, c, NULL, inputs);
    gradient_case_gradients(scope, c, inputs, gradients);
    for (size_t k = 0; k < c->of_count; ++k) out[k] = gradient_read(gradients[c->of[k]]);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static void check_case(gantry_runtime_t *runtime, const gradient_case_t *c) {
    const golden_tolerance_t exact = {.exact = true};
    /* attention's blocks have another size */
    const bool is_near = c->is_double || strcmp(c->golden->op, "ScaledDotProductAttention") == 0;
    golden_tensor_t expected[GRADIENT_MOST_VALUES], actual[GRADIENT_MOST_VALUES];
    char why[512];
    compute(runtime, "/CPU:0", c, expected);
    compute(runtime, "/GPU:0", c, actual);
    for (size_t k = 0; k < c->of_count; ++k) {
        if (golden_compare(&expected[k], is_near ? &c->golden->tolerance : &exact, actual[k].data,
                           why, sizeof why))
            fail_msg("%s: the gradient of input %d: %s", c->golden->name, (int)c->of[k], why);
        free(expected[k].data);
        free(actual[k].data);
    }
}

static void check_all(bool is_double) {
    golden_file_t file;
    gantry_runtime_t *runtime = module_runtime_open();
    gradient_file_load(&file);
    train_heap_reset(-1);
    const char *op = ""; /* the first case of each: the driver compiles for minutes */
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        if (c.is_double != is_double || (strcmp(c.golden->op, op) == 0 && !is_card())) continue;
        check_case(runtime, &c);
        op = c.golden->op;
    }
    golden_free(&file);
    gantry_runtime_release(runtime);
    assert_int_equal(train_heap_live(), 0);
}

TEST(float32_has_the_processors_bits) { check_all(false); }

TEST(float64_is_the_processors) { check_all(true); }

/* A few: each function compiles programs of its own. */
TEST(functions_have_the_bits_of_their_ops) {
    static const char *const names[] = {
        "BiasAdd_1_float32", "Gather_1_float32",      "LayerNorm_1_float32", "MatMul_1_float32",
        "Max_1_float32",     "Mean_2_float32",        "Mul_2_float32",       "Relu_1_float32",
        "Softmax_1_float32", "StridedSlice_1_float32"};
    const size_t name_count = sizeof names / sizeof *names;
    golden_file_t file;
    size_t found = 0;
    gantry_runtime_t *runtime = module_runtime_open();
    gradient_file_load(&file);
    for (size_t i = 0; i < file.case_count; ++i) {
        for (size_t k = 0; k < name_count; ++k) {
            if (strcmp(file.cases[i].name, names[k]) != 0) continue;
            const gradient_case_t c = gradient_case_read(&file.cases[i]);
            gradient_expect_traced(runtime, "/GPU:0", &c);
            ++found;
        }
    }
    golden_free(&file);
    gantry_runtime_release(runtime);
    assert_int_equal(found, name_count);
}

int main(void) { return test_main(); }
