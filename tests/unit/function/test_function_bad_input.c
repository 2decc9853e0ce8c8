/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Wrong use of a function is an error that names the object, its value and what is
 * accepted; nothing leaks, and the function stays usable. */
#define _DEFAULT_SOURCE

#include <unistd.h>

#include "fork_child.h"
#include "function_fixture.h"
#include "test.h"

/* ---- signatures and options ---- */

TEST(impossible_signatures_are_refused) {
    static const struct {
        gantry_input_spec_t input;
        const char *text;
    } cases[] = {
        {{NULL, (gantry_dtype_t)99, {.rank = 1, .dims = {2}}},
         "gantry_function_trace: input 0 has type 99; a gantry_dtype_t is accepted"},
        {{NULL, GANTRY_FLOAT32, {.rank = -1}}, "input 0 has a shape of rank -1"},
        {{NULL, GANTRY_FLOAT32, {.rank = GANTRY_MAX_RANK + 1}}, "rank 0 to "},
        {{NULL, GANTRY_FLOAT32, {.rank = 1, .dims = {-3}}}, "-1 or GANTRY_OPEN_SIZE for any"},
        {{NULL, GANTRY_FLOAT32, {.rank = 3, .dims = {INT64_MAX, -1, 4}}}, "at most 2**63 - 1"},
    };
    gantry_function_options_t options = {.struct_size = sizeof options + 1};
    gantry_function_t *function;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        expect_refusal(gantry_function_trace(f.runtime, "f", negating, NULL, &cases[i].input, 1, 1,
                                             NULL, &function),
                       GANTRY_INVALID_ARGUMENT, cases[i].text);
    expect_refusal(gantry_function_trace(f.runtime, "f", negating, NULL, &cases[0].input, 65537, 1,
                                         NULL, &function),
                   GANTRY_INVALID_ARGUMENT, "65537 inputs and 1 outputs; at most 65536 of each");
    expect_refusal(gantry_function_trace(f.runtime, "f", negating, NULL, &cases[0].input, 1, 65537,
                                         NULL, &function),
                   GANTRY_INVALID_ARGUMENT, "1 inputs and 65537 outputs; at most 65536 of each");
    expect_refusal(gantry_function_trace(f.runtime, "f", NULL, NULL, NULL, 0, 1, NULL, &function),
                   GANTRY_INVALID_ARGUMENT, "body is NULL; a function is accepted");
    expect_refusal(
        gantry_function_trace(f.runtime, "f", negating, NULL, NULL, 0, 1, &options, &function),
        GANTRY_INVALID_ARGUMENT, "gantry_function_trace: options: struct_size is ");
    assert_null(function);
    runtime_fixture_close(&f);
}

/* ---- bodies ---- */

/* A scope that has failed computes nothing, and tells its error at its end. */
static const gantry_tensor_t *end_failed(gantry_scope_t *scope, const gantry_tensor_t *input,
                                         const char *text) {
    assert_non_null(scope);
    assert_null(gantry_neg(scope, input));
    if (!strstr(gantry_scope_message(scope), text)) fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_INVALID_ARGUMENT);
    return input;
}

static void using_a_scope_from_outside(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                       const gantry_tensor_t **outputs, void *user) {
    (void)scope;
    outputs[0] = gantry_neg(user, inputs[0]);
    gantry_scope_clear(user);
}

/* An op fails between others, inside a scope that stays open. */
static void failing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const float three[] = {1, 2, 3};
    gantry_scope_t *inner = gantry_scope_begin_in(scope, "/CPU:0");
    const gantry_tensor_t *square = gantry_square(scope, inputs[0]);
    (void)gantry_variable_assign_add(scope, user, square);
    outputs[0] = gantry_add(scope, square, make_f32(inner, 3, three));
    outputs[0] = gantry_neg(scope, outputs[0]);
}

static void creating(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = inputs[0];
    assert_null(gantry_variable_create(scope, F32(scope, 1), "w"));
}

static void naming_badly(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    outputs[0] = inputs[0];
    (void)gantry_scope_name_next(scope, user);
}

static void ending_its_scope(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = inputs[0];
    assert_int_equal(gantry_scope_end(scope), GANTRY_FAILED_PRECONDITION);
}

static void waiting_for_null(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *const tensors[] = {inputs[0], NULL};
    (void)user;
    outputs[0] = end_failed(gantry_scope_begin_after(scope, tensors, 2), inputs[0],
                            "gantry_scope_begin_after: tensor 1 is NULL");
}

TEST(bodies_that_cannot_be_recorded_are_refused) {
    char long_name[80];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_variable_t *v = gantry_variable_create(scope, F32(scope, 5, 6), "v");
    const struct {
        gantry_function_body_fn body;
        void *user;
        gantry_status_t code;
        const char *text;
    } cases[] = {
        {setting_nothing, NULL, GANTRY_INVALID_ARGUMENT,
         "function f: the body does not set output 0; a tensor of its scope is accepted"},
        {using_a_scope_from_outside, scope, GANTRY_INVALID_ARGUMENT,
         "function f: the body does not set output 0; a tensor of its scope is accepted; a call in "
         "it failed: op Neg: input 0 is the symbolic tensor "},
        {failing, v, GANTRY_INVALID_ARGUMENT, "function f: "},
        {creating, NULL, GANTRY_FAILED_PRECONDITION,
         "variable w is created while a function is traced; create variables before"},
        {naming_badly, NULL, GANTRY_INVALID_ARGUMENT, "gantry_scope_name_next: the name is NULL"},
        {ending_its_scope, NULL, GANTRY_FAILED_PRECONDITION,
         "function f: a body ends a scope that it did not begin"},
        {naming_badly, "", GANTRY_INVALID_ARGUMENT, "the name is empty; 1 to 63 bytes"},
        {naming_badly, long_name, GANTRY_INVALID_ARGUMENT, "the name is too long; 1 to 63 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        expect_refusal(function_fixture_try(&f, cases[i].body, cases[i].user), cases[i].code,
                       cases[i].text);
    EXPECT_F32(gantry_variable_read(scope, v), 5, 6); /* tracing has assigned nothing */
    assert_int_equal(function_fixture_try(&f, waiting_for_null, NULL), GANTRY_OK);
    assert_int_equal(function_fixture_try(&f, negating, NULL), GANTRY_OK);
    gantry_variable_release(v);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- symbolic tensors ---- */

typedef struct symbols_t {
    gantry_runtime_t *runtime;
    gantry_tensor_t *kept; /* a symbolic tensor that outlives its trace */
} symbols_t;

static void keeping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    symbols_t *symbols = user;
    const gantry_tensor_t *factor = gantry_scalar_f32(scope, 0.5f);
    (void)gantry_scope_name_next(scope, "half");
    outputs[0] = gantry_mul(scope, inputs[0], factor);
    symbols->kept = gantry_tensor_retain(outputs[0]);
}

static void returning_kept(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    const symbols_t *symbols = user;
    (void)scope, (void)inputs;
    outputs[0] = symbols->kept;
}

static void using_kept(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const symbols_t *symbols = user;
    outputs[0] = gantry_add(scope, inputs[0], symbols->kept);
}

static void after_kept(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const symbols_t *symbols = user;
    const gantry_tensor_t *const tensors[] = {symbols->kept};
    outputs[0] =
        end_failed(gantry_scope_begin_after(scope, tensors, 1), inputs[0],
                   "gantry_scope_begin_after: tensor 0 is the symbolic tensor half of another");
}

static void reading(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    float values[2];
    char text[64];
    symbols_t *symbols = user;
    const gantry_tensor_t *factor = gantry_scalar_f32(scope, 0.5f);
    (void)gantry_scope_name_next(scope, "half");
    outputs[0] = gantry_mul(scope, inputs[0], factor);
    expect_refusal(gantry_tensor_read(outputs[0], values, sizeof values),
                   GANTRY_FAILED_PRECONDITION,
                   "tensor half is symbolic: a function that is traced made it");
    expect_refusal(gantry_tensor_wait(outputs[0]), GANTRY_FAILED_PRECONDITION, "tensor half is ");
    expect_refusal(gantry_tensor_format(outputs[0], NULL, text, sizeof text, NULL),
                   GANTRY_FAILED_PRECONDITION, "tensor half is symbolic");
    assert_null(gantry_tensor_device(outputs[0]));
    assert_int_equal(gantry_tensor_elements(outputs[0]), 2);
    /* an op that computes now cannot take it */
    gantry_scope_t *eager = gantry_scope_begin(symbols->runtime, NULL);
    assert_null(gantry_neg(eager, outputs[0]));
    expect_scope_failure(eager, GANTRY_INVALID_ARGUMENT,
                         "op Neg: input 0 is the symbolic tensor half of a function that is");
    assert_null(gantry_variable_create(eager, outputs[0], "w"));
    expect_scope_failure(eager, GANTRY_FAILED_PRECONDITION, "tensor half is symbolic");
    (void)gantry_scope_end(eager);
}

/* Numbers of a type that no shape function reads. */
static void ranging(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *limit = gantry_cast(scope, inputs[0], GANTRY_BFLOAT16);
    (void)user;
    outputs[0] = gantry_range(scope, limit, limit, limit);
}

TEST(symbolic_tensors_stay_in_their_trace) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    symbols_t symbols = {.runtime = f.runtime};
    assert_int_equal(function_fixture_try(&f, keeping, &symbols), GANTRY_OK);
    expect_refusal(function_fixture_try(&f, returning_kept, &symbols), GANTRY_INVALID_ARGUMENT,
                   "function f: the body sets output 0 to the symbolic tensor half of another");
    expect_refusal(function_fixture_try(&f, using_kept, &symbols), GANTRY_INVALID_ARGUMENT,
                   "op Add: input 1 is the symbolic tensor half of another function");
    assert_int_equal(function_fixture_try(&f, after_kept, &symbols), GANTRY_OK);
    assert_int_equal(function_fixture_try(&f, reading, &symbols), GANTRY_OK);
    const gantry_input_spec_t scalar = {"n", GANTRY_FLOAT32, GANTRY_SCALAR};
    gantry_function_t *function;
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", ranging, NULL, &scalar, 1, 1, NULL, &function),
        GANTRY_OK);
    gantry_function_release(function);
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", negating, NULL, &scalar, 1, 1, NULL, &function),
        GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = symbols.kept, *got;
    (void)gantry_function_call(scope, function, &given, 1, &got, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "function f: input 0 is the symbolic tensor half of another function");
    gantry_function_release(function);
    expect_ended_well(scope);
    gantry_tensor_release(symbols.kept);
    runtime_fixture_close(&f);
}

/* ---- another runtime ---- */

static void adding_user(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_add(scope, inputs[0], user);
}

static void returning_user(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    (void)scope, (void)inputs;
    outputs[0] = user;
}

static void reading_user(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)inputs;
    outputs[0] = gantry_variable_read(scope, user);
}

TEST(other_runtimes_are_refused) {
    const gantry_input_spec_t input = SPEC(GANTRY_FLOAT32, 2);
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    gantry_runtime_t *second;
    gantry_function_t *function;
    const gantry_tensor_t *got;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_runtime_create(&options, &second), GANTRY_OK);
    gantry_scope_t *there = gantry_scope_begin(second, NULL);
    gantry_scope_t *here = runtime_fixture_scope(&f, NULL);
    gantry_tensor_t *theirs = gantry_tensor_retain(F32(there, 1, 2));
    gantry_variable_t *v = gantry_variable_create(there, theirs, "theirs");
    expect_refusal(function_fixture_try(&f, adding_user, theirs), GANTRY_INVALID_ARGUMENT,
                   "runtime");
    expect_refusal(function_fixture_try(&f, returning_user, theirs), GANTRY_INVALID_ARGUMENT,
                   "function f: the body sets output 0 to a tensor of another runtime");
    expect_refusal(function_fixture_try(&f, reading_user, v), GANTRY_INVALID_ARGUMENT,
                   "variable theirs belongs to another runtime");
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", negating, NULL, &input, 1, 1, NULL, &function),
        GANTRY_OK);
    const gantry_tensor_t *ours = F32(here, 3, 4), *given = theirs;
    (void)gantry_function_call(here, function, &given, 1, &got, 1);
    expect_scope_failure(here, GANTRY_INVALID_ARGUMENT,
                         "function f: input 0 is of another runtime; a tensor of its runtime");
    (void)gantry_function_call(there, function, &given, 1, &got, 1);
    expect_scope_failure(there, GANTRY_INVALID_ARGUMENT,
                         "function f belongs to another runtime than the scope");
    assert_null(got);
    gantry_scope_t *after = gantry_scope_begin_after(here, &given, 1);
    expect_scope_failure(after, GANTRY_INVALID_ARGUMENT,
                         "gantry_scope_begin_after: tensor 0 is of another runtime");
    expect_ended_well(after);
    (void)gantry_function_call(here, function, &ours, 1, &got, 1);
    EXPECT_F32(got, -3, -4);
    gantry_function_release(function);
    gantry_variable_release(v);
    gantry_tensor_release(theirs);
    expect_ended_well(there);
    expect_ended_well(here);
    gantry_runtime_release(second);
    runtime_fixture_close(&f);
}

/* ---- calls ---- */

TEST(wrong_calls_are_refused) {
    const gantry_input_spec_t input = SPEC(GANTRY_FLOAT32, -1, 2);
    gantry_function_t *function;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", negating, NULL, &input, 1, 1, NULL, &function),
        GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *right = gantry_reshape(scope, F32(scope, 1, 2), GANTRY_SHAPE(1, 2)),
                          *flat = F32(scope, 1, 2), *whole = I32(scope, 1, 2), *none = NULL, *got;
    whole = gantry_reshape(scope, whole, GANTRY_SHAPE(1, 2));
    const struct {
        const gantry_tensor_t *const *inputs;
        size_t input_count, output_count;
        const char *text;
    } cases[] = {
        {&flat, 1, 1, "function f: input 0 is float32[2]; its signature accepts float32[-1,2]"},
        {&whole, 1, 1, "function f: input 0 is int32[1,2]; its signature accepts float32[-1,2]"},
        {&none, 1, 1, "function f: input 0 is NULL; a tensor of its runtime is accepted"},
        {&right, 0, 1, "function f is called with 0 inputs and 1 outputs; 1 and 1 are accepted"},
        {&right, 1, 0, "function f is called with 1 inputs and 0 outputs; 1 and 1 are accepted"},
        {NULL, 1, 1, "function f: the array of inputs is NULL; an array of 1 is accepted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        got = right;
        assert_int_equal(gantry_function_call(scope, function, cases[i].inputs,
                                              cases[i].input_count, &got, cases[i].output_count),
                         GANTRY_INVALID_ARGUMENT);
        assert_ptr_equal(got, cases[i].output_count == 1 ? NULL : right);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, cases[i].text);
    }
    (void)gantry_function_call(scope, function, &right, 1, NULL, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "function f: the array of outputs is NULL; an array of 1 is accepted");
    (void)gantry_function_call(scope, NULL, &right, 1, &got, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the function is NULL; one from ");
    assert_int_equal(gantry_function_call(scope, function, &right, 1, &got, 1), GANTRY_OK);
    EXPECT_F32(got, -1, -2);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- calls that fail ---- */

static void gathering(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *twice = gantry_add(scope, inputs[0], inputs[0]);
    (void)gantry_scope_name_next(scope, "pick");
    outputs[0] = gantry_neg(scope, gantry_gather(scope, twice, inputs[1], 0));
}

TEST(failed_call_names_the_node_and_the_next_succeeds) {
    const gantry_input_spec_t inputs[] = {SPEC(GANTRY_FLOAT32, 2), SPEC(GANTRY_INT32, 2)};
    gantry_function_t *function;
    const gantry_tensor_t *got;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", gathering, NULL, inputs, 2, 1, NULL, &function),
        GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    for (int k = 0; k < 3; ++k) {
        const gantry_tensor_t *bad[] = {F32(scope, 1, 2), I32(scope, 0, 9)};
        assert_int_equal(gantry_function_call(scope, function, bad, 2, &got, 1),
                         GANTRY_INVALID_ARGUMENT);
        assert_null(got);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                             "function f: node pick (Gather) of float32[2], int32[2], int32[] on "
                             "/device:CPU:0: indices[1] = 9 is not in [0, 2)");
        const gantry_tensor_t *good[] = {F32(scope, 1, 2), I32(scope, 1, 0)};
        assert_int_equal(gantry_function_call(scope, function, good, 2, &got, 1), GANTRY_OK);
        EXPECT_F32(got, -4, -2);
    }
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Rows whose number depends on data: each call compares them when it joins them. */
static void joining(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *zero = gantry_scalar_f32(scope, 0), *rows[20];
    (void)user;
    for (int i = 0; i < 20; ++i) {
        const gantry_tensor_t *column = gantry_reshape(scope, inputs[i % 2], GANTRY_SHAPE(3, 1));
        rows[i] =
            i < 2 ? gantry_boolean_mask(scope, column, gantry_less(scope, zero, inputs[i % 2]), 0)
                  : rows[i % 2];
    }
    outputs[0] = gantry_concat(scope, rows, 20, 1);
}

TEST(shapes_in_errors_are_those_of_the_call_and_bounded) {
    static const char beginning[] =
        "function f: node Concat (Concat) of float32[2,1], float32[3,1], float32[2,1], "
        "float32[3,1], float32[2,1], float32[3,1], float32[2,1], float32[3,1], float32[2,1], ... "
        "on /device:CPU:0: ";
    const gantry_input_spec_t inputs[] = {SPEC_F32(3), SPEC_F32(3)};
    gantry_function_t *function;
    const gantry_tensor_t *got;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    if (gantry_function_trace(f.runtime, "f", joining, NULL, inputs, 2, 1, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    for (int k = 0; k < 2; ++k) {
        const gantry_tensor_t *bad[] = {F32(scope, 1, -1, 3), F32(scope, 1, 2, 3)};
        assert_int_equal(gantry_function_call(scope, function, bad, 2, &got, 1),
                         GANTRY_INVALID_ARGUMENT);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, beginning);
        const gantry_tensor_t *good[] = {F32(scope, 1, 0, 3), F32(scope, 7, -1, 9)};
        assert_int_equal(gantry_function_call(scope, function, good, 2, &got, 1), GANTRY_OK);
        assert_int_equal(gantry_tensor_elements(got), 40);
    }
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* A body that fails for some sizes: the function stays usable for others. */
static void splitting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_reshape(scope, inputs[0], GANTRY_SHAPE(2, -1));
}

TEST(failed_trace_leaves_the_function_usable) {
    const gantry_input_spec_t input = SPEC(GANTRY_FLOAT32, -1);
    gantry_function_t *function;
    const gantry_tensor_t *got;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", splitting, NULL, &input, 1, 1, NULL, &function),
        GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    for (int k = 0; k < 3; ++k) {
        const gantry_tensor_t *odd = F32(scope, 1, 2, 3), *even = F32(scope, 1, 2, 3, 4);
        assert_int_equal(gantry_function_call(scope, function, &odd, 1, &got, 1),
                         GANTRY_INVALID_ARGUMENT);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "function f: ");
        assert_int_equal(gantry_function_call(scope, function, &even, 1, &got, 1), GANTRY_OK);
        EXPECT_F32(got, 1, 2, 3, 4);
    }
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- functions that call themselves, and functions that end while they run ---- */

typedef struct recursion_t {
    gantry_function_t *function;
    gantry_runtime_t *runtime; /* not NULL: the inner call is outside the trace */
    char message[256];
} recursion_t;

static void recurring(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    recursion_t *recursion = user;
    outputs[0] = inputs[0];
    if (!recursion->runtime) {
        (void)gantry_function_call(scope, recursion->function, inputs, 1, outputs, 1);
        return;
    }
    gantry_scope_t *eager = gantry_scope_begin(recursion->runtime, NULL);
    const gantry_tensor_t *given = F32(eager, 1, 2, 3), *got;
    (void)gantry_function_call(eager, recursion->function, &given, 1, &got, 1);
    (void)snprintf(recursion->message, sizeof recursion->message, "%s",
                   gantry_scope_message(eager));
    gantry_scope_clear(eager);
    (void)gantry_scope_end(eager);
}

TEST(recursion_is_refused) {
    const gantry_input_spec_t input = SPEC(GANTRY_FLOAT32, -1);
    const gantry_function_options_t eager = {.struct_size = sizeof eager, .runs_eagerly = true};
    const gantry_function_options_t *const options[] = {NULL, &eager};
    recursion_t recursion = {NULL, NULL, ""};
    const gantry_tensor_t *got;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = F32(scope, 1, 2);
    for (size_t i = 0; i < 2; ++i) {
        assert_int_equal(gantry_function_trace(f.runtime, "f", recurring, &recursion, &input, 1, 1,
                                               options[i], &recursion.function),
                         GANTRY_OK);
        (void)gantry_function_call(scope, recursion.function, &given, 1, &got, 1);
        expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION,
                             "function f: it begins inside 16 bodies, the most that are accepted");
        gantry_function_release(recursion.function);
    }
    recursion.runtime = f.runtime;
    assert_int_equal(gantry_function_trace(f.runtime, "f", recurring, &recursion, &input, 1, 1,
                                           NULL, &recursion.function),
                     GANTRY_OK);
    assert_int_equal(gantry_function_call(scope, recursion.function, &given, 1, &got, 1),
                     GANTRY_OK);
    assert_non_null(strstr(recursion.message, "function f is called while its body is traced"));
    EXPECT_F32(got, 1, 2);
    gantry_function_release(recursion.function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* A node that draws, and for which the device function has a bad text. */
static const char *refusing_draws(const gantry_device_choice_t *choice, void *user) {
    (void)user;
    return strcmp(choice->op, "RngReadAndSkip") == 0 ? "/GPU:x" : NULL;
}

static void drawing_nowhere(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    gantry_scope_t *chosen = gantry_scope_begin_choosing(scope, refusing_draws, NULL);
    outputs[0] = inputs[0];
    assert_null(gantry_generator_uniform(chosen, user, GANTRY_SHAPE(2), GANTRY_FLOAT32));
    (void)gantry_scope_fail(scope, gantry_scope_status(chosen), gantry_scope_message(chosen));
    gantry_scope_clear(chosen);
    (void)gantry_scope_end(chosen);
}

TEST(draw_without_a_device_leaves_nothing) {
    runtime_fixture_t f;
    gantry_generator_t *generator;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_generator_from_seed(f.runtime, 7, GANTRY_RANDOM_PHILOX, &generator),
                     GANTRY_OK);
    expect_refusal(function_fixture_try(&f, drawing_nowhere, generator), GANTRY_INVALID_ARGUMENT,
                   "op RngReadAndSkip: its device function returned a text: Malformed device");
    gantry_generator_release(generator);
    runtime_fixture_close(&f);
}

static void releasing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    gantry_function_t **function = user;
    gantry_function_release(*function);
    *function = NULL;
    outputs[0] = gantry_neg(scope, inputs[0]);
}

/* As a release in another thread may do. */
TEST(running_call_outlives_its_function) {
    const gantry_input_spec_t input = SPEC(GANTRY_FLOAT32, -1);
    const gantry_function_options_t eager = {.struct_size = sizeof eager, .runs_eagerly = true};
    const gantry_function_options_t *const options[] = {NULL, &eager};
    gantry_function_t *function;
    const gantry_tensor_t *got;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = F32(scope, 1, 2);
    for (size_t i = 0; i < 2; ++i) {
        assert_int_equal(gantry_function_trace(f.runtime, "f", releasing, &function, &input, 1, 1,
                                               options[i], &function),
                         GANTRY_OK);
        assert_int_equal(gantry_function_call(scope, function, &given, 1, &got, 1), GANTRY_OK);
        EXPECT_F32(got, -1, -2);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- devices and processes ---- */

static void doubling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
}

TEST(lost_device_is_named_and_others_go_on) {
    const gantry_input_spec_t input = SPEC(GANTRY_FLOAT32, 2);
    gantry_function_t *function;
    const gantry_tensor_t *got;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", doubling, NULL, &input, 1, 1, NULL, &function),
        GANTRY_OK);
    gantry_scope_t *gpu = runtime_fixture_scope(&f, "GPU:0"),
                   *cpu = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *given = F32(cpu, 1, 2);
    assert_int_equal(gantry_function_call(gpu, function, &given, 1, &got, 1), GANTRY_OK);
    fake->set_lost(0, 1);
    assert_true(gantry_function_call(gpu, function, &given, 1, &got, 1) != GANTRY_OK);
    assert_non_null(strstr(gantry_scope_message(gpu), "GPU:0"));
    gantry_scope_clear(gpu);
    assert_int_equal(gantry_function_call(cpu, function, &given, 1, &got, 1), GANTRY_OK);
    EXPECT_F32(got, 2, 4);
    gantry_function_release(function);
    (void)gantry_scope_end(gpu);
    expect_ended_well(cpu);
    fake->set_lost(0, 0);
    runtime_fixture_close(&f);
}

TEST(child_of_fork_cannot_use_the_function) {
    const gantry_input_spec_t input = SPEC(GANTRY_FLOAT32, 2);
    gantry_function_t *function, *made;
    const gantry_tensor_t *got;
    size_t count;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", negating, NULL, &input, 1, 1, NULL, &function),
        GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = F32(scope, 1, 2);
    wait_until_threads_sleep();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(HANG_SECONDS);
        CHECK(gantry_function_call(scope, function, &given, 1, &got, 1) ==
              GANTRY_FAILED_PRECONDITION);
        CHECK(strstr(gantry_last_message(), "a child of fork must create its own"));
        CHECK(gantry_function_trace(f.runtime, "f", negating, NULL, &input, 1, 1, NULL, &made) ==
              GANTRY_FAILED_PRECONDITION);
        CHECK(gantry_function_get_memory(function, 0, NULL, &count) == GANTRY_FAILED_PRECONDITION);
        gantry_function_release(function);
        _exit(0);
    }
    fork_child_expect_success(child);
    assert_int_equal(gantry_function_call(scope, function, &given, 1, &got, 1), GANTRY_OK);
    EXPECT_F32(got, -1, -2);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
