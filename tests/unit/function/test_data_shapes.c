/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Where shapes depend on data, a function gives the bits of its body run op by op, and
 * what cannot be recorded is refused by name.
 * Promise: In a function, no kernel runs whose result has no elements.
 * Promise: A shuffle in a function draws what the op run by itself draws, call after call.
 * Promise: Shapes, limits and axes that depend on data give a function the bits of ops run one by
 * one, also in branches, in loops and across devices. */
#define _XOPEN_SOURCE 700

#include "data_shapes.h"
#include "function_fixture.h"
#include "test.h"

TEST(functions_give_the_eager_bits) {
    static const uint32_t passes[] = {0, GANTRY_PASS_ALL};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t i = 0; i < 2; ++i) {
        data_shapes_check(f.runtime, NULL, "CPU:0", passes[i], 0);
        data_shapes_check(f.runtime, NULL, "CPU:0", passes[i], 4);
        data_shapes_check(f.runtime, NULL, NULL, passes[i],
                          -1); /* the fake GPU, which has few kernels */
    }
    runtime_fixture_close(&f);
}

/* ---- no elements ---- */

/* Each kernel but the last one has nothing to do. */
static void emptying(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *one = gantry_max(scope, inputs[0], NULL),
                          *wide = gantry_broadcast_to(scope, one, GANTRY_SHAPE(0, 3)),
                          *turned = gantry_transpose(scope, wide, (int32_t[]){1, 0}),
                          *tiled = gantry_tile(scope, turned, (int64_t[]){2, 1}),
                          *softened = gantry_softmax(scope, gantry_add(scope, tiled, one));
    const gantry_reduce_options_t middle = {sizeof middle, (int32_t[]){1}, 1, false};
    outputs[0] = gantry_sum(scope, softened, &middle);
    outputs[1] = tiled;
}

TEST(kernels_without_elements_do_not_run) {
    static const uint32_t passes[] = {0, GANTRY_PASS_ALL};
    const gantry_input_spec_t input = SPEC_F32(2);
    const float zeros[6] = {0};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < 2; ++i) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .passes_off = passes[i]};
        gantry_function_t *function =
            function_fixture_trace(f.runtime, emptying, NULL, &input, 1, 2, &options);
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        const gantry_tensor_t *given = F32(scope, 1, 2), *got[2];
        function_fixture_call(scope, function, &given, 1, got, 2);
        expect_f32(got[0], 6, zeros);
        assert_true(gantry_shape_equal(gantry_tensor_shape(got[1]), &GANTRY_SHAPE(6, 0)));
        expect_ended_well(scope);
        gantry_function_release(function);
    }
    runtime_fixture_close(&f);
}

/* ---- draws ---- */

static void shuffling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_random_shuffle(scope, inputs[0], user);
}

/* Each call takes the next part of the op's stream, as the op run by itself does. */
TEST(random_shuffle_continues_its_stream) {
    int64_t seed = 5;
    const gantry_input_spec_t input = SPEC_I32(7);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *rows = I32(scope, 0, 1, 2, 3, 4, 5, 6), *got;
    int32_t expected[4][7];
    assert_int_equal(gantry_set_seed(f.runtime, 3), GANTRY_OK);
    for (int i = 0; i < 4; ++i)
        assert_int_equal(gantry_tensor_read(gantry_random_shuffle(scope, rows, &seed), expected[i],
                                            sizeof expected[i]),
                         GANTRY_OK);
    assert_memory_not_equal(expected[0], expected[1], sizeof expected[0]);
    assert_int_equal(gantry_set_seed(f.runtime, 3), GANTRY_OK);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, shuffling, &seed, &input, 1, 1, NULL);
    for (int i = 0; i < 4; ++i) {
        function_fixture_call(scope, function, &rows, 1, &got, 1);
        expect_i32(got, 7, expected[i]);
    }
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- what the body sees ---- */

static void looking(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *is_positive =
        gantry_greater(scope, inputs[0], gantry_scalar_f32(scope, 0));
    const gantry_tensor_t *at = gantry_where(scope, is_positive);
    assert_int_equal(gantry_tensor_shape(at)->rank, 2);
    assert_int_equal(gantry_tensor_shape(at)->dims[0], -1);
    assert_int_equal(gantry_tensor_shape(at)->dims[1], 1);
    assert_int_equal(gantry_tensor_elements(at), -1);
    assert_int_equal(gantry_tensor_bytes(at), 0);
    const gantry_tensor_t *padded = gantry_concat(
        scope, (const gantry_tensor_t *const[]){at, at, gantry_zeros_like(scope, at)}, 3, 1);
    assert_int_equal(gantry_tensor_shape(padded)->dims[0], -1);
    assert_int_equal(gantry_tensor_shape(padded)->dims[1], 3);
    /* clipped to what is there: no size is known */
    const gantry_tensor_t *first =
        gantry_strided_slice(scope, at, (const int64_t[]){0}, (const int64_t[]){10}, NULL, 1, NULL);
    assert_int_equal(gantry_tensor_shape(first)->dims[0], -1);
    /* a known size decides */
    const gantry_tensor_t *sum = gantry_add(scope, gantry_reshape(scope, at, GANTRY_SHAPE(-1)),
                                            gantry_cast(scope, inputs[0], GANTRY_INT64));
    assert_int_equal(gantry_tensor_shape(sum)->dims[0], 3);
    outputs[0] = gantry_sum(scope, padded, NULL);
    outputs[1] = sum;
    assert_int_equal(gantry_tensor_elements(outputs[0]), 1);
}

TEST(bodies_see_the_sizes_that_are_known) {
    const gantry_input_spec_t input = SPEC_F32(3);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, looking, NULL, &input, 1, 2, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *given = F32(scope, 1, 2, 3), *got[2];
    int64_t values[3];
    function_fixture_call(scope, function, &given, 1, got, 2);
    assert_int_equal(gantry_tensor_read(got[1], values, sizeof values), GANTRY_OK);
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], 3);
    assert_int_equal(values[2], 5);
    /* one position is added to each; two fit neither, and the call says so */
    given = F32(scope, -1, 2, -3);
    function_fixture_call(scope, function, &given, 1, got, 2);
    assert_int_equal(gantry_tensor_read(got[1], values, sizeof values), GANTRY_OK);
    assert_int_equal(values[0], 0);
    given = F32(scope, -1, 2, 3);
    (void)gantry_function_call(scope, function, &given, 1, got, 2);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "function f: node Add (Add) of int64[2], int64[3] on ");
    assert_null(got[0]);
    given = F32(scope, 1, 2, 3);
    function_fixture_call(scope, function, &given, 1, got, 2); /* it stays usable */
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The explanation has the open shapes, and the memory of what is known. */
TEST(explanations_have_open_shapes) {
    char text[8192];
    size_t count;
    gantry_function_memory_t memory[4] = {{.struct_size = sizeof memory[0]}};
    const gantry_input_spec_t input = SPEC_F32(3);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, looking, NULL, &input, 1, 2, NULL);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text, "int64[-1,1]"));
    assert_non_null(strstr(text, "int64[-1,3]"));
    assert_non_null(strstr(text, "runs at once in each call"));
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text, "\"kind\":\"eager\""));
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_GRAPHVIZ, text, sizeof text, NULL),
        GANTRY_OK);
    assert_int_equal(gantry_function_get_memory(function, 4, memory, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    assert_in_range(memory[0].result_bytes, 8 + 24, 512);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

static const gantry_tensor_t *chosen_of(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_boolean_mask(scope, x, gantry_greater(scope, x, gantry_scalar_f32(scope, 0)), 0);
}

/* ---- branches and loops ---- */

static void keep_positive(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = chosen_of(scope, inputs[0]);
}

static void keep_all(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)scope, (void)user;
    outputs[0] = inputs[0];
}

static void is_any(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, gantry_scalar_i32(scope, 0),
                             gantry_size(scope, inputs[1], GANTRY_INT32));
}

/* Counts a step, and keeps what is still above 0 after 1 is taken away. */
static void shrink(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 1));
    outputs[1] = chosen_of(scope, gantry_sub(scope, inputs[1], gantry_scalar_f32(scope, 1)));
}

/* One body leaves a size open, the other does not; then a loop over that. */
static void either_then_loop(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *is_large =
        gantry_greater(scope, gantry_sum(scope, inputs[0], NULL), gantry_scalar_f32(scope, 4));
    const gantry_tensor_t *values[2] = {gantry_scalar_i32(scope, 0), NULL}, *results[2];
    (void)gantry_cond(scope, is_large, keep_all, keep_positive, NULL, inputs, 1, &values[1], 1);
    assert_int_equal(gantry_tensor_elements(values[1]), -1);
    (void)gantry_while(scope, is_any, shrink, NULL, values, 2, NULL, results);
    outputs[0] = values[1];
    outputs[1] = results[0];
}

/* The loop's variable has a known size. */
static void growing_open(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *values[2] = {gantry_scalar_i32(scope, 0), inputs[0]}, *results[2];
    (void)gantry_while(scope, is_any, shrink, NULL, values, 2, NULL, results);
    outputs[0] = results[1];
}

TEST(branches_and_loops_take_open_sizes) {
    const gantry_input_spec_t input = SPEC_F32(4);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, either_then_loop, NULL, &input, 1, 2, NULL);
    for (int d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, d ? "GPU:0" : "CPU:0");
        const gantry_tensor_t *large = F32(scope, 4, -1, 3, 1), *small = F32(scope, 2, -3, 3, -4),
                              *got[2];
        function_fixture_call(scope, function, &large, 1, got, 2);
        EXPECT_F32(got[0], 4, -1, 3, 1);
        EXPECT_I32(got[1], 4);
        function_fixture_call(scope, function, &small, 1, got, 2);
        assert_int_equal(gantry_tensor_elements(got[0]), 2);
        EXPECT_F32(got[0], 2, 3);
        EXPECT_I32(got[1], 3);
        expect_ended_well(scope);
    }
    gantry_function_release(function);
    expect_refusal(function_fixture_try(&f, growing_open, NULL), GANTRY_INVALID_ARGUMENT,
                   "body sets output 1 to float32[-1]; float32[2] is accepted, as the loop's");
    runtime_fixture_close(&f);
}

/* ---- devices ---- */

/* Chosen on the CPU, doubled on the GPU, added on the CPU. */
static void crossing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "/CPU:0"),
                   *gpu = gantry_scope_begin_in(scope, "/GPU:0");
    const gantry_tensor_t *is_positive = gantry_greater(cpu, inputs[0], gantry_scalar_f32(cpu, 0));
    const gantry_tensor_t *chosen = gantry_boolean_mask(cpu, inputs[0], is_positive, 0);
    outputs[0] = gantry_scope_keep(gpu, gantry_add(gpu, chosen, chosen));
    outputs[1] = gantry_scope_keep(cpu, gantry_add(cpu, outputs[0], chosen));
    /* Where has no kernel on the fake GPU */
    gantry_scope_t *with = gantry_scope_begin_with(cpu, outputs[0]);
    outputs[2] = gantry_where(with, is_positive);
    outputs[3] = gantry_neg(with, outputs[0]);
    outputs[2] = gantry_scope_keep(cpu, gantry_scope_keep(with, outputs[2]));
    outputs[3] = gantry_scope_keep(cpu, gantry_scope_keep(with, outputs[3]));
    (void)gantry_scope_end(with);
    (void)gantry_scope_end(gpu);
    (void)gantry_scope_end(cpu);
}

TEST(values_of_open_sizes_cross_devices) {
    const gantry_input_spec_t input = SPEC_F32(4);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (int32_t threads = -1; threads < 2; ++threads) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .inter_op_threads = threads};
        gantry_function_t *function =
            function_fixture_trace(f.runtime, crossing, NULL, &input, 1, 4, &options);
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        const gantry_tensor_t *given = F32(scope, 1, -2, 3, -4), *got[4];
        function_fixture_call(scope, function, &given, 1, got, 4);
        expect_on(got[0], "/device:GPU:0");
        expect_on(got[1], "/device:CPU:0");
        EXPECT_F32(got[0], 2, 6);
        EXPECT_F32(got[1], 3, 9);
        EXPECT_F32(got[3], -2, -6);
        assert_int_equal(gantry_tensor_elements(got[2]), 2);
        given = F32(scope, 1, 2, 3, -4);
        function_fixture_call(scope, function, &given, 1, got, 4);
        EXPECT_F32(got[1], 3, 6, 9);
        gantry_function_release(function);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* ---- refusals ---- */

static void squeezing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_squeeze(scope, chosen_of(scope, inputs[0]), NULL, 0);
}

static void shuffling_open(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_random_shuffle(scope, chosen_of(scope, inputs[0]), NULL);
}

static void shuffling_open_by_generator(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                        const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_generator_shuffle(scope, user, chosen_of(scope, inputs[0]));
}

static void assigning(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    outputs[0] = inputs[0];
    (void)gantry_variable_assign(scope, user, chosen_of(scope, inputs[0]));
}

/* One bool if the sizes do not fit, else a tensor. */
static void comparing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const gantry_attr_value_t fits = {.name = "incompatible_shape_error", .kind = GANTRY_ATTR_BOOL};
    const gantry_tensor_t *both[] = {inputs[0], chosen_of(scope, inputs[0])};
    size_t count = 1;
    (void)user;
    (void)gantry_op_call(scope, "Equal", both, 2, &fits, 1, outputs, &count);
}

static void multiplying(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_matmul(scope, inputs[0], chosen_of(scope, inputs[0]), NULL);
}

static void reading(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    float value;
    (void)user;
    outputs[0] = chosen_of(scope, inputs[0]);
    expect_refusal(gantry_tensor_read(outputs[0], &value, sizeof value), GANTRY_FAILED_PRECONDITION,
                   "tensor BooleanMask is symbolic");
}

TEST(what_depends_on_data_too_much_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_variable_t *v = gantry_variable_create(scope, F32(scope, 5, 6), "v");
    gantry_generator_t *generator;
    assert_int_equal(gantry_generator_from_seed(f.runtime, 7, GANTRY_RANDOM_PHILOX, &generator),
                     GANTRY_OK);
    const struct {
        gantry_function_body_fn body;
        void *user;
        gantry_status_t code;
        const char *text;
    } cases[] = {
        {comparing, NULL, GANTRY_UNIMPLEMENTED,
         "Equal: the number or the rank of its results depends on data"},
        {squeezing, NULL, GANTRY_UNIMPLEMENTED,
         "Squeeze: the number or the rank of its results depends on data"},
        {shuffling_open, NULL, GANTRY_UNIMPLEMENTED,
         "op RandomShuffle: how many numbers it draws depends on data"},
        {shuffling_open_by_generator, generator, GANTRY_UNIMPLEMENTED,
         "op StatelessShuffle: how many numbers it draws depends on data"},
        {assigning, v, GANTRY_INVALID_ARGUMENT, "[-1]"},
        {multiplying, NULL, GANTRY_INVALID_ARGUMENT,
         "MatMul: In[0] and In[1] ndims must be == 2: 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        expect_refusal(function_fixture_try(&f, cases[i].body, cases[i].user), cases[i].code,
                       cases[i].text);
    assert_int_equal(function_fixture_try(&f, reading, NULL), GANTRY_OK);
    gantry_generator_release(generator);
    gantry_variable_release(v);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- memory that runs out ---- */

static void choosing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_neg(scope, chosen_of(scope, gantry_random_shuffle(scope, inputs[0], user)));
}

static gantry_status_t trace_and_call(gantry_runtime_t *runtime, const gantry_tensor_t *given) {
    const gantry_input_spec_t input = SPEC_F32(4);
    gantry_function_t *function;
    const gantry_tensor_t *got;
    GANTRY__TRY(gantry_function_trace(runtime, "f", choosing, NULL, &input, 1, 1, NULL, &function));
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    gantry_status_t status = scope ? gantry_function_call(scope, function, &given, 1, &got, 1)
                                   : GANTRY_RESOURCE_EXHAUSTED;
    if (scope) (void)gantry_scope_end(scope);
    gantry_function_release(function);
    return status;
}

TEST(nothing_leaks_when_memory_runs_out) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *given = F32(scope, 2, -1, 3, 4);
    long failed = 0;
    for (long n = 0;; ++n) {
        runtime_fixture_starve(&f, n);
        gantry_status_t status = trace_and_call(f.runtime, given);
        f.heap.inner.fail_at = -1;
        if (status == GANTRY_OK) break;
        assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_in_range(++failed, 1, 2000);
    }
    assert_in_range(failed, 10, 2000);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
