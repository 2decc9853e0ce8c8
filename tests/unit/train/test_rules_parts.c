/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A gradient is right where one input only is watched, where nothing depends on an output,
 * for types of 16 bits, and for tensors without elements.
 * Promise: The gradient of a Pad that adds and cuts more than memory holds takes no more than its
 * operands, and a second gradient of attention is refused with the op. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <math.h>

#include "gradient_case.h"
#include "test.h"
#include "train_heap.h"

typedef gradient_tensor_t tensor;

static runtime_fixture_t fixture;
static golden_file_t file;

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 0);
    gradient_file_load(&file);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    golden_free(&file);
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

/* ---- one input ---- */

static tensor *gradient_of_one(gantry_scope_t *scope, const gradient_case_t *c,
                               tensor *const *inputs, size_t input) {
    tensor *gradient = NULL;
    const gantry_source_t source = {.tensor = inputs[input]};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_int_equal(gantry_tape_watch(tape, inputs[input]), GANTRY_OK);
    tensor *target = gradient_case_target(scope, c, inputs);
    if (gantry_tape_gradient(tape, target, NULL, &source, 1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s: %s", c->golden->name, gantry_scope_message(scope));
    gantry_tape_end(tape);
    return gradient;
}

TEST(one_watched_input_gets_the_same_bits) {
    const golden_tolerance_t exact = {.exact = true};
    size_t checked = 0;
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        if (c.of_count < 2 || c.is_double) continue;
        tensor *inputs[GRADIENT_MOST_VALUES], *all[GRADIENT_MOST_VALUES];
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        gradient_case_inputs(scope, &c, NULL, inputs);
        gradient_case_gradients(scope, &c, inputs, all);
        for (size_t k = 0; k < c.of_count; ++k) {
            const size_t input = (size_t)c.of[k];
            golden_tensor_t expected = gradient_read(all[input]);
            gradient_expect_equal(&c, input, &expected, &exact,
                                  gradient_of_one(scope, &c, inputs, input));
            free(expected.data);
        }
        expect_ended_well(scope);
        ++checked;
    }
    assert_true(checked > 50);
}

/* ---- outputs that nothing depends on ---- */

static tensor *matrix(gantry_scope_t *scope) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 4),
                           (float[]){1, 2, 3, 4, 8, 7, 6, 5}, 32);
}

typedef void (*outputs_fn)(gantry_scope_t *scope, tensor *x, tensor **outputs);

static void run_split(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    (void)gantry_split(scope, x, 1, outputs, 4);
}

static void run_split_v(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    (void)gantry_split_v(scope, x, (int64_t[]){1, 1, 2}, 1, outputs, 3);
}

static void run_unpack(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    (void)gantry_unpack(scope, x, 1, outputs, 4);
}

static void run_top_k(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    outputs[1] = gantry_top_k(scope, x, 1, &outputs[0]);
}

static void run_moments(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    const int32_t axis = 1;
    (void)gantry_moments(scope, x, &(gantry_reduce_options_t){.axes = &axis, .axis_count = 1},
                         &outputs[0], &outputs[1]);
}

/* The gradient of the sum of output 1. */
static void expect_gradient(outputs_fn run, const float *expected) {
    float values[8];
    tensor *outputs[4], *gradient;
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    tensor *x = matrix(scope);
    const gantry_source_t source = {.tensor = x};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    run(scope, x, outputs);
    if (gantry_tape_gradient(tape, outputs[1], NULL, &source, 1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    gantry_tape_end(tape);
    assert_int_equal(gantry_tensor_read(gradient, values, sizeof values), GANTRY_OK);
    for (int i = 0; i < 8; ++i) assert_float_equal(values[i], expected[i], 1e-6);
    expect_ended_well(scope);
}

TEST(unused_outputs_count_as_zeros) {
    const float second[] = {0, 1, 0, 0, 0, 1, 0, 0}, largest[] = {0, 0, 0, 1, 1, 0, 0, 0};
    const float variance[] = {-0.75f, -0.25f, 0.25f, 0.75f, 0.75f, 0.25f, -0.25f, -0.75f};
    expect_gradient(run_split, second);
    expect_gradient(run_split_v, second);
    expect_gradient(run_unpack, second);
    expect_gradient(run_top_k, largest);
    expect_gradient(run_moments, variance);
}

/* ---- a Pad whose uncut result no memory holds ---- */

/* Of 4 elements with 2^40 spaces between two of them, the one at `kept` stays; with `more`, a zero
 * comes before it. */
static void expect_cut(int64_t kept, int64_t more) {
    const int64_t step = (INT64_C(1) << 40) + 1, interior = step - 1;
    const int64_t paddings[] = {more - kept * step, -(3 - kept) * step};
    const gantry_pad_options_t options = {
        .struct_size = sizeof options, .interior = &interior, .crop = true};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    tensor *x = F32(scope, 2, 3, 5, 7), *gradient = NULL;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    tensor *y = gantry_pad(scope, x, paddings, &options);
    if (gantry_tape_gradient(tape, gantry_mul(scope, y, y), NULL, &(gantry_source_t){.tensor = x},
                             1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    gantry_tape_end(tape);
    float expected[4] = {0};
    expected[kept] = 2 * (float[]){2, 3, 5, 7}[kept];
    assert_int_equal(gantry_tensor_elements(y), 1 + more);
    expect_f32(gradient, 4, expected);
    expect_ended_well(scope);
}

TEST(pad_that_cuts_almost_all_has_a_gradient) {
    for (int64_t kept = 0; kept < 4; ++kept) {
        expect_cut(kept, 0);
        expect_cut(kept, 1);
    }
}

/* ---- second gradients ---- */

TEST(second_gradient_of_attention_is_refused_with_the_op) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    tensor *x = gantry_reshape(scope, F32(scope, 1, 2, 3, 4), GANTRY_SHAPE(1, 1, 2, 2));
    tensor *outputs[4], *first = NULL, *second = NULL;
    const gantry_source_t of = {.tensor = x};
    gantry_tape_t *outer = gantry_tape_begin(scope, NULL), *inner = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(outer, x);
    (void)gantry_tape_watch(inner, x);
    (void)gantry_scaled_dot_product_attention(scope, x, x, x, NULL, outputs);
    assert_int_equal(gantry_tape_gradient(inner, outputs[0], NULL, &of, 1, NULL, &first),
                     GANTRY_OK);
    assert_int_equal(gantry_tape_gradient(outer, first, NULL, &of, 1, NULL, &second),
                     GANTRY_UNIMPLEMENTED);
    expect_scope_failure(scope, GANTRY_UNIMPLEMENTED, "ScaledDotProductAttentionGrad");
    gantry_tape_end(inner);
    gantry_tape_end(outer);
    expect_ended_well(scope);
}

/* ---- types of 16 bits: near the gradients of float32 ---- */

/* The values of float inputs in another type. */
static void convert_inputs(gantry_scope_t *scope, gantry_dtype_t dtype, tensor *const *from,
                           size_t count, tensor **out) {
    for (size_t i = 0; i < count; ++i)
        out[i] = gradient_is_floating(from[i]) ? gantry_cast(scope, from[i], dtype) : from[i];
}

static bool takes_halves(const gradient_case_t *c) {
    /* ops whose inputs have several types, and one that draws other numbers for each type */
    static const char *const others[] = {"Cast",
                                         "FusedBatchNorm",
                                         "FusedBatchNormGrad",
                                         "Dropout",
                                         "Resize",
                                         "ResizeBicubicGrad",
                                         "ResizeBilinearGrad",
                                         "ScaleAndTranslateGrad",
                                         "CropAndResizeGradBoxes",
                                         "CropAndResizeGradImage"};
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        if (strcmp(others[i], c->golden->op) == 0) return false;
    }
    return c->is_smooth && !c->is_double;
}

static void check_near(const gradient_case_t *c, tensor *expected, tensor *actual) {
    golden_tensor_t e = gradient_read(expected), a = gradient_read(actual);
    double largest = 1;
    for (size_t k = 0; k < gradient_count(&e); ++k)
        largest = fmax(largest, fabs(golden_number_at(e.dtype, e.data, k)));
    for (size_t k = 0; k < gradient_count(&e); ++k) {
        const double wanted = golden_number_at(e.dtype, e.data, k);
        const double got = golden_number_at(a.dtype, a.data, k);
        if (!(fabs(wanted - got) <= 0.06 * largest))
            fail_msg("%s as %s: %g, of float32 %g", c->golden->name, gantry_dtype_name(a.dtype),
                     got, wanted);
    }
    free(e.data);
    free(a.data);
}

static void check_halves(const gradient_case_t *c, gantry_dtype_t dtype) {
    tensor *inputs[GRADIENT_MOST_VALUES], *halves[GRADIENT_MOST_VALUES];
    tensor *expected[GRADIENT_MOST_VALUES], *target = NULL;
    gantry_source_t sources[GRADIENT_MOST_VALUES];
    tensor *gradients[GRADIENT_MOST_VALUES], *outputs[GANTRY_MAX_OP_OUTPUTS];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gradient_case_inputs(scope, c, NULL, inputs);
    gradient_case_gradients(scope, c, inputs, expected);
    convert_inputs(scope, dtype, inputs, c->golden->input_count, halves);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    for (size_t k = 0; k < c->of_count; ++k) {
        sources[k] = (gantry_source_t){.tensor = halves[c->of[k]]};
        (void)gantry_tape_watch(tape, sources[k].tensor);
    }
    const size_t count = gradient_case_call(scope, c, halves, outputs);
    size_t weight = c->input_count;
    for (size_t i = 0; i < count && weight < c->golden->input_count; ++i) {
        if (gantry_tensor_dtype(outputs[i]) != dtype) continue;
        tensor *part = gantry_sum(scope, gantry_mul(scope, outputs[i], halves[weight++]), NULL);
        target = target ? gantry_add(scope, target, part) : part;
    }
    if (gantry_tape_gradient(tape, target, NULL, sources, c->of_count, NULL, gradients) !=
        GANTRY_OK)
        fail_msg("%s: %s", c->golden->name, gantry_scope_message(scope));
    gantry_tape_end(tape);
    for (size_t k = 0; k < c->of_count; ++k) check_near(c, expected[c->of[k]], gradients[k]);
    expect_ended_well(scope);
}

TEST(halves_have_the_gradients_of_float32) {
    size_t checked = 0;
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        if (c.of_count == 0 || !takes_halves(&c)) continue;
        check_halves(&c, GANTRY_FLOAT16);
        check_halves(&c, GANTRY_BFLOAT16);
        ++checked;
    }
    assert_true(checked > 200);
}

int main(void) { return test_main_each(set_up, tear_down); }
