/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A function gives the values of its body run op by op, on every device, call after call;
 * variables keep their order; and nothing is lost where memory runs out.
 * Promise: A function is traced once for each combination of its open sizes, and keeps a bounded
 * number of traces.
 * Promise: gantry_set_seed restarts all draws of functions, as TensorFlow 2.21 does.
 * Promise: A function has a trace for each requested device, whichever way the request is spelled.
 * Promise: A function with a memory budget meets it by another order or by computing again, with
 * the same bits, or is refused with the numbers.
 * Promise: Whichever host allocation of tracing, planning or calling a function fails, the error is
 * ResourceExhausted and nothing leaks. */
#define _XOPEN_SOURCE 700

#include "function/call/function.h"
#include "function_fixture.h"

/* ---- values ---- */

/* (x + y) * 2 - x, and x + y. */
static void arithmetic(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[1] = gantry_add(scope, inputs[0], inputs[1]);
    const gantry_tensor_t *twice = gantry_mul(scope, outputs[1], gantry_scalar_f32(scope, 2));
    outputs[0] = gantry_sub(scope, twice, inputs[0]);
}

static void call_gives_the_values_of_the_body(void **state) {
    (void)state;
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    const gantry_input_spec_t inputs[] = {SPEC_F32(3), SPEC_F32(3)};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, arithmetic, NULL, inputs, 2, 2, NULL);
    assert_string_equal(gantry_function_name(function), "f");
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        for (float k = 0; k < 3; ++k) {
            const gantry_tensor_t *given[] = {F32(scope, k, 2, 3), F32(scope, 10, 20, 30)}, *got[2];
            function_fixture_call(scope, function, given, 2, got, 2);
            EXPECT_F32(got[0], k + 20, 42, 63);
            EXPECT_F32(got[1], k + 10, 22, 33);
            assert_string_equal(gantry_logical_device_name(gantry_tensor_device(got[0])),
                                d ? "/device:GPU:0" : "/device:CPU:0");
        }
        expect_ended_well(scope);
    }
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* An input, a captured tensor and a constant as results; a reshape of each. */
static void passing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *captured = user;
    outputs[0] = inputs[0];
    outputs[1] = captured;
    outputs[2] = gantry_reshape(scope, inputs[0], GANTRY_SHAPE(2, 1));
    outputs[3] = gantry_reshape(scope, gantry_add(scope, inputs[0], captured), GANTRY_SHAPE(1, 2));
    outputs[4] = outputs[3];
}

static void results_may_be_inputs_captures_and_views(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(2);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *captured = F32(outer, 5, 6);
    gantry_tensor_t *kept = gantry_tensor_retain(captured);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, passing, kept, &input, 1, 5, NULL);
    expect_ended_well(outer);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *given = F32(scope, 1, 2), *got[5];
    function_fixture_call(scope, function, &given, 1, got, 5);
    gantry_function_release(function);
    gantry_tensor_release(kept);
    EXPECT_F32(got[0], 1, 2);
    EXPECT_F32(got[1], 5, 6);
    EXPECT_F32(got[2], 1, 2);
    EXPECT_F32(got[3], 6, 8);
    EXPECT_F32(got[4], 6, 8);
    assert_int_equal(gantry_tensor_shape(got[2])->rank, 2);
    assert_int_equal(gantry_tensor_shape(got[3])->dims[1], 2);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* A kernel is not called for a result without elements, also where all its values lie in the
 * function's own memory. */
static void pad_nothing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const int64_t paddings[] = {0, 0, 0, 0};
    const gantry_tensor_t *padded = gantry_pad(scope, gantry_neg(scope, inputs[0]), paddings, NULL);
    outputs[0] = gantry_sum(scope, gantry_sin(scope, padded), NULL);
}

static void results_without_elements_run_no_kernel(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(0, 3);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, pad_nothing, NULL, &input, 1, 1, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *given = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3)), *got;
    function_fixture_call(scope, function, &given, 1, &got, 1);
    EXPECT_F32(got, 0);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- devices ---- */

/* Parts of the body ask for devices: the values cross between them. */
static void crossing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_t *gpu = gantry_scope_begin_in(scope, "GPU:0");
    const gantry_tensor_t *sum = gantry_add(gpu, inputs[0], inputs[0]);
    gantry_scope_t *cpu = gantry_scope_begin_in(gpu, "CPU:0");
    const gantry_tensor_t *product = gantry_mul(cpu, sum, inputs[0]);
    outputs[1] = gantry_scope_keep(gpu, gantry_scope_keep(cpu, product));
    (void)gantry_scope_end(cpu);
    outputs[0] = gantry_scope_keep(gpu, gantry_add(gpu, outputs[1], sum));
    (void)gantry_scope_end(gpu);
}

static void nodes_run_where_their_scopes_ask(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(2);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, crossing, NULL, &input, 1, 2, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    for (int k = 0; k < 3; ++k) {
        const gantry_tensor_t *given = F32(scope, 1, 2), *got[2];
        function_fixture_call(scope, function, &given, 1, got, 2);
        EXPECT_F32(got[0], 4, 12);
        EXPECT_F32(got[1], 2, 8);
        assert_string_equal(gantry_logical_device_name(gantry_tensor_device(got[0])),
                            "/device:GPU:0");
        assert_string_equal(gantry_logical_device_name(gantry_tensor_device(got[1])),
                            "/device:CPU:0");
    }
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- variables ---- */

/* Reads before and after an assignment, an addition and a subtraction. */
static void counting(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    gantry_variable_t *variable = user;
    outputs[0] = gantry_variable_read(scope, variable);
    (void)gantry_variable_assign_add(scope, variable, inputs[0]);
    outputs[1] = gantry_variable_read(scope, variable);
    (void)gantry_variable_assign(scope, variable, gantry_mul(scope, outputs[1], outputs[1]));
    (void)gantry_variable_assign_sub(scope, variable, inputs[0]);
}

static void variables_change_in_program_order(void **state) {
    (void)state;
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    const gantry_input_spec_t input = SPEC_F32(1);
    for (size_t d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        gantry_variable_t *v = gantry_variable_create(scope, F32(scope, 1), "v");
        gantry_function_t *function =
            function_fixture_trace(f.runtime, counting, v, &input, 1, 2, NULL);
        EXPECT_F32(gantry_variable_read(scope, v), 1); /* tracing runs nothing */
        const gantry_tensor_t *given = F32(scope, 2), *first[2], *second[2];
        function_fixture_call(scope, function, &given, 1, first, 2);
        EXPECT_F32(gantry_variable_read(scope, v), 7);
        function_fixture_call(scope, function, &given, 1, second, 2);
        EXPECT_F32(first[0], 1);
        EXPECT_F32(first[1], 3);
        EXPECT_F32(second[0], 7);
        EXPECT_F32(second[1], 9);
        EXPECT_F32(gantry_variable_read(scope, v), 79);
        gantry_variable_release(v); /* the function holds it */
        function_fixture_call(scope, function, &given, 1, second, 2);
        EXPECT_F32(second[0], 79);
        gantry_function_release(function);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* ---- sizes, functions in functions, bodies run eagerly ---- */

static uint32_t bodies_run;

static void doubling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    ++bodies_run;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
}

static void open_sizes_are_traced_once_each(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(-1);
    const gantry_function_options_t options = {.struct_size = sizeof options, .most_traces = 2};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function;
    bodies_run = 0;
    assert_int_equal(gantry_function_trace(f.runtime, "double", doubling, NULL, &input, 1, 1,
                                           &options, &function),
                     GANTRY_OK);
    assert_int_equal(bodies_run, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *one = F32(scope, 1), *two = F32(scope, 1, 2),
                          *three = F32(scope, 1, 2, 3), *got;
    const gantry_tensor_t *const order[] = {one, two, one, two, three, two, one};
    const uint32_t runs[] = {1, 2, 2, 2, 3, 3, 4}; /* three evicts one */
    for (size_t i = 0; i < 7; ++i) {
        function_fixture_call(scope, function, &order[i], 1, &got, 1);
        assert_int_equal(bodies_run, runs[i]);
        assert_int_equal(gantry_tensor_elements(got), gantry_tensor_elements(order[i]));
    }
    EXPECT_F32(got, 2);
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* Each request of a calling scope has a trace of its own, whatever its spelling, and all share the
 * bound. */
static void requests_are_traced_within_the_bound(void **state) {
    (void)state;
    static const char *const devices[] = {
        "CPU:0", "GPU:0", "/device:CPU:0", "/gpu:0",
        NULL,    "GPU:1", "GPU:0",         "/job:localhost/device:CPU:0",
        NULL,    "GPU:1", "cpu:0"};
    static const uint32_t runs[] = {1, 2, 2, 2, 3, 4, 4, 5, 6, 7, 7}; /* the bound is 3 */
    const gantry_input_spec_t input = SPEC_F32(-1);
    const gantry_function_options_t options = {.struct_size = sizeof options, .most_traces = 3};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_function_t *function;
    bodies_run = 0;
    assert_int_equal(gantry_function_trace(f.runtime, "double", doubling, NULL, &input, 1, 1,
                                           &options, &function),
                     GANTRY_OK);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[i]);
        const gantry_tensor_t *given = F32(scope, 1, 2), *got;
        function_fixture_call(scope, function, &given, 1, &got, 1);
        EXPECT_F32(got, 2, 4);
        assert_int_equal(bodies_run, runs[i]);
        uint32_t kept = 0;
        for (gantry__specialization_t *at = function->specialization; at; at = at->next) ++kept;
        assert_in_range(kept, 1, 3);
        expect_ended_well(scope);
    }
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- memory between calls ---- */

/* Two intermediate values of the input's size, also in a branch. */
static void in_between(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *sum = gantry_add(scope, inputs[0], inputs[0]);
    outputs[0] = gantry_sum(scope, gantry_mul(scope, sum, gantry_add(scope, sum, sum)), NULL);
}

static void branching(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    in_between(scope, inputs, outputs, user);
    const gantry_tensor_t *is_large =
        gantry_greater(scope, outputs[0], gantry_scalar_f32(scope, 1000));
    (void)gantry_cond(scope, is_large, in_between, in_between, NULL, inputs, 1, outputs, 1);
}

static uint64_t bytes_in_use(runtime_fixture_t *f) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f->runtime, "CPU:0", &info), GANTRY_OK);
    return info.requested_bytes;
}

static void idle_memory_is_given_back(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(-1);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION};
    float values[2048] = {1};
    uint64_t freed = 7;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, branching, NULL, &input, 1, 1, &options);
    assert_int_equal(gantry_function_trim(function, &freed), GANTRY_OK);
    assert_int_equal(freed, 0); /* no call was there yet */
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *large = make_f32(scope, 2048, values),
                          *small = make_f32(scope, 1024, values);
    for (int round = 0; round < 2; ++round) {
        const gantry_tensor_t *got[2];
        const uint64_t before = bytes_in_use(&f);
        function_fixture_call(scope, function, &large, 1, &got[0], 1);
        function_fixture_call(scope, function, &small, 1, &got[1], 1);
        EXPECT_F32(got[0], 8);
        EXPECT_F32(got[1], 8);
        gantry_tensor_drop(scope, got[0]);
        gantry_tensor_drop(scope, got[1]);
        const uint64_t after = bytes_in_use(&f);
        assert_true(after >= before + 3 * 2048 * sizeof(float));
        assert_int_equal(gantry_function_trim(function, &freed), GANTRY_OK);
        assert_int_equal(bytes_in_use(&f), before);
        assert_in_range(freed, 3 * 2048 * sizeof(float), after - before);
        assert_int_equal(gantry_function_trim(function, &freed), GANTRY_OK);
        assert_int_equal(freed, 0);
    }
    expect_refusal(gantry_function_trim(NULL, &freed), GANTRY_INVALID_ARGUMENT,
                   "gantry_function_trim: the function is NULL");
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void count_down(void *data) { --*(int *)data; }

/* One thing under a key, freed with the function. */
static void data_lives_as_long_as_the_function(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(2);
    int first = 1, second = 1, third = 1;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, branching, NULL, &input, 1, 1, NULL);
    assert_null(gantry_function_attach(function, &first, NULL, NULL));
    assert_ptr_equal(gantry_function_attach(function, &first, &first, count_down), &first);
    assert_ptr_equal(gantry_function_attach(function, &first, &second, count_down), &first);
    assert_ptr_equal(gantry_function_attach(function, &first, NULL, NULL), &first);
    assert_ptr_equal(gantry_function_attach(function, &third, &third, count_down), &third);
    assert_null(gantry_function_attach(function, &second, &second, NULL)); /* nothing frees it */
    assert_int_equal(first, 1);
    gantry_function_release(function);
    assert_int_equal(first, 0);
    assert_int_equal(second, 1); /* it was not taken */
    assert_int_equal(third, 0);
    runtime_fixture_close(&f);
}

static void calling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *twice;
    (void)gantry_function_call(scope, user, inputs, 1, &twice, 1);
    (void)gantry_function_call(scope, user, &twice, 1, &outputs[0], 1);
}

static void functions_inside_functions_are_inlined(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(2);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *inner =
        function_fixture_trace(f.runtime, doubling, NULL, &input, 1, 1, NULL);
    gantry_function_t *outer =
        function_fixture_trace(f.runtime, calling, inner, &input, 1, 1, NULL);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = F32(scope, 1, 2), *got;
    function_fixture_call(scope, outer, &given, 1, &got, 1);
    EXPECT_F32(got, 4, 8);
    expect_ended_well(scope);
    gantry_function_release(outer);
    gantry_function_release(inner);
    runtime_fixture_close(&f);
}

static void eager_bodies_run_in_each_call(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(2);
    const gantry_function_options_t options = {.struct_size = sizeof options, .runs_eagerly = true};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function;
    bodies_run = 0;
    assert_int_equal(
        gantry_function_trace(f.runtime, NULL, doubling, NULL, &input, 1, 1, &options, &function),
        GANTRY_OK);
    assert_string_equal(gantry_function_name(function), "function");
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = F32(scope, 1, 2), *got;
    function_fixture_call(scope, function, &given, 1, &got, 1);
    function_fixture_call(scope, function, &got, 1, &got, 1);
    EXPECT_F32(got, 4, 8);
    assert_int_equal(bodies_run, 2);
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- a profile ---- */

static uint64_t calls_of(gantry_runtime_t *runtime, const char *op, const char *device) {
    gantry_profile_row_t row = {.struct_size = sizeof row};
    uint64_t calls = 0;
    for (size_t i = 0; i < gantry_profile_row_count(runtime); ++i) {
        assert_int_equal(gantry_profile_read(runtime, i, &row), GANTRY_OK);
        if (strcmp(row.op, op) == 0 && strstr(row.device, device)) calls += row.calls;
    }
    return calls;
}

static void profile_has_the_steps_of_each_call(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(2);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ALL};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_function_t *function;
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", crossing, NULL, &input, 1, 2, &options, &function),
        GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = F32(scope, 1, 2), *got[2];
    assert_int_equal(gantry_profile_start(f.runtime, GANTRY_PROFILE_WAIT), GANTRY_OK);
    for (int k = 0; k < 3; ++k) function_fixture_call(scope, function, &given, 1, got, 2);
    assert_int_equal(gantry_profile_stop(f.runtime), GANTRY_OK);
    assert_int_equal(calls_of(f.runtime, "Add", "GPU:0"), 6);
    assert_int_equal(calls_of(f.runtime, "Mul", "CPU:0"), 3);
    EXPECT_F32(got[0], 4, 12);
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- a memory budget ---- */

enum { WIDE = 8, WIDE_ELEMENTS = 65536 };

/* All powers first, then their sums: WIDE values of 256 KiB live at a time in this order. */
static void powers(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *wide[WIDE];
    (void)user;
    for (int i = 0; i < WIDE; ++i)
        wide[i] = gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, (float)i));
    outputs[0] = gantry_scalar_f32(scope, 0);
    for (int i = 0; i < WIDE; ++i)
        outputs[0] = gantry_add(scope, outputs[0], gantry_sum(scope, wide[i], NULL));
}

static uint64_t planned_bytes(gantry_function_t *function) {
    gantry_function_memory_t memory = {.struct_size = sizeof memory};
    size_t count;
    assert_int_equal(gantry_function_get_memory(function, 1, &memory, &count), GANTRY_OK);
    return memory.planned_bytes + memory.result_bytes;
}

static void budget_is_met_by_another_order_or_refused(void **state) {
    (void)state;
    const gantry_input_spec_t input = SPEC_F32(WIDE_ELEMENTS);
    const uint64_t one = WIDE_ELEMENTS * sizeof(float);
    gantry_function_options_t options = {.struct_size = sizeof options,
                                         .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *free_order =
        function_fixture_trace(f.runtime, powers, NULL, &input, 1, 1, &options);
    assert_in_range(planned_bytes(free_order), WIDE * one, (WIDE + 1) * one);
    options.memory_budget_bytes = 2 * one;
    gantry_function_t *function =
        function_fixture_trace(f.runtime, powers, NULL, &input, 1, 1, &options);
    assert_in_range(planned_bytes(function), one, 2 * one);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(WIDE_ELEMENTS)),
                          *first, *second;
    function_fixture_call(scope, free_order, &given, 1, &first, 1);
    function_fixture_call(scope, function, &given, 1, &second, 1);
    EXPECT_F32(first, 28.0f * WIDE_ELEMENTS);
    EXPECT_F32(second, 28.0f * WIDE_ELEMENTS);
    options.memory_budget_bytes = one / 2;
    gantry_function_t *none;
    expect_refusal(
        gantry_function_trace(f.runtime, "f", powers, NULL, &input, 1, 1, &options, &none),
        GANTRY_RESOURCE_EXHAUSTED,
        "in the best order that was found; memory_budget_bytes is 131072");
    expect_ended_well(scope);
    gantry_function_release(function);
    gantry_function_release(free_order);
    runtime_fixture_close(&f);
}

/* ---- random numbers ---- */

static void drawing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)inputs;
    outputs[0] = gantry_generator_uniform(scope, user, GANTRY_SHAPE(4), GANTRY_FLOAT32);
    outputs[1] = gantry_random_uniform(scope, GANTRY_SHAPE(4), GANTRY_FLOAT32, NULL);
}

static void each_call_draws_the_next_numbers(void **state) {
    (void)state;
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_generator_t *generator, *same;
        assert_int_equal(gantry_generator_from_seed(f.runtime, 7, GANTRY_RANDOM_PHILOX, &generator),
                         GANTRY_OK);
        assert_int_equal(gantry_generator_from_seed(f.runtime, 7, GANTRY_RANDOM_PHILOX, &same),
                         GANTRY_OK);
        gantry_function_t *function =
            function_fixture_trace(f.runtime, drawing, generator, NULL, 0, 2, NULL);
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        float before[4] = {0}, values[4];
        for (int round = 0; round < 3; ++round) {
            const gantry_tensor_t *got[2];
            function_fixture_call(scope, function, NULL, 0, got, 2);
            if (round == 0) gantry_generator_release(generator); /* its trace holds the stream */
            assert_int_equal(gantry_tensor_read(gantry_generator_uniform(
                                                    scope, same, GANTRY_SHAPE(4), GANTRY_FLOAT32),
                                                values, sizeof values),
                             GANTRY_OK);
            expect_f32(got[0], 4, values);
            assert_int_equal(gantry_tensor_read(got[1], values, sizeof values), GANTRY_OK);
            assert_memory_not_equal(values, before, sizeof values);
            memcpy(before, values, sizeof values);
        }
        expect_ended_well(scope);
        gantry_function_release(function);
        gantry_generator_release(same);
        runtime_fixture_close(&f);
    }
}

static const gantry_tensor_t *draw_seeded(gantry_scope_t *scope) {
    const int64_t seed = 3;
    return gantry_random_uniform(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, &seed);
}

static void drawing_twice(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)inputs, (void)user;
    outputs[0] = draw_seeded(scope);
    outputs[1] = draw_seeded(scope);
}

/* Nothing is drawn while the body is traced, and no number twice. */
static void draws_with_a_seed_continue_its_sequence(void **state) {
    (void)state;
    float expected[5][2], values[2];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    assert_int_equal(gantry_set_seed(f.runtime, 99), GANTRY_OK);
    for (int i = 0; i < 5; ++i)
        assert_int_equal(gantry_tensor_read(draw_seeded(scope), expected[i], sizeof expected[i]),
                         GANTRY_OK);
    gantry_function_t *function = NULL;
    for (int begin = 0; begin < 2; ++begin) { /* a seed restarts functions that are there, too */
        const gantry_tensor_t *got[4];
        assert_int_equal(gantry_set_seed(f.runtime, 99), GANTRY_OK);
        if (begin == 0)
            function = function_fixture_trace(f.runtime, drawing_twice, NULL, NULL, 0, 2, NULL);
        function_fixture_call(scope, function, NULL, 0, got, 2);
        function_fixture_call(scope, function, NULL, 0, got + 2, 2);
        for (int i = 0; i < 4; ++i) expect_f32(got[i], 2, expected[i]);
        assert_int_equal(gantry_tensor_read(draw_seeded(scope), values, sizeof values), GANTRY_OK);
        assert_memory_equal(values, expected[4], sizeof values);
    }
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* A prepared op's draw, one without a seed, and one with a seed. */
static void drawing_all_ways(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    (void)inputs;
    const gantry_tensor_t *shape = I32(scope, 2);
    size_t count = 1;
    (void)gantry_op_call_prepared(scope, user, &shape, 1, &outputs[0], &count);
    outputs[1] = gantry_random_uniform(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, NULL);
    outputs[2] = draw_seeded(scope);
}

/* As TensorFlow's: each draw begins again with the seeds that it had when the body was traced. */
static void set_seed_restarts_all_draws_of_functions(void **state) {
    (void)state;
    const gantry_attr_value_t attrs[] = {
        {.name = "dtype", .kind = GANTRY_ATTR_TYPE, .i = GANTRY_FLOAT32},
        {.name = "seed", .kind = GANTRY_ATTR_INT, .i = 3},
        {.name = "seed2", .kind = GANTRY_ATTR_INT, .i = 5}};
    for (int has_seed = 0; has_seed < 2; ++has_seed) {
        float first[2][3][2];
        runtime_fixture_t f;
        gantry_prepared_op_t *op;
        runtime_fixture_open(&f, 0);
        if (has_seed) assert_int_equal(gantry_set_seed(f.runtime, 7), GANTRY_OK);
        assert_int_equal(gantry_op_prepare(f.runtime, "RandomUniform", attrs, 3, &op), GANTRY_OK);
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        gantry_function_t *function =
            function_fixture_trace(f.runtime, drawing_all_ways, op, NULL, 0, 3, NULL);
        for (int round = 0; round < 6; ++round) {
            const gantry_tensor_t *got[3];
            if (round % 2 == 0 && round > 0)
                assert_int_equal(gantry_set_seed(f.runtime, 7 + round), GANTRY_OK);
            function_fixture_call(scope, function, NULL, 0, got, 3);
            for (int i = 0; i < 3; ++i) {
                float *values = first[round % 2][i];
                if (round >= 2)
                    expect_f32(got[i], 2, values);
                else
                    assert_int_equal(gantry_tensor_read(got[i], values, sizeof first[0][0]),
                                     GANTRY_OK);
            }
        }
        assert_memory_not_equal(first[0], first[1], sizeof first[0]);
        expect_ended_well(scope);
        gantry_function_release(function);
        gantry_prepared_op_release(op);
        runtime_fixture_close(&f);
    }
}

/* ---- memory that runs out ---- */

static gantry_status_t trace_and_call(gantry_runtime_t *runtime, const gantry_tensor_t *given,
                                      gantry_variable_t *v) {
    const gantry_input_spec_t input = SPEC_F32(1);
    gantry_function_t *function;
    const gantry_tensor_t *got[2];
    GANTRY__TRY(gantry_function_trace(runtime, "f", counting, v, &input, 1, 2, NULL, &function));
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    gantry_status_t status = scope ? gantry_function_call(scope, function, &given, 1, got, 2)
                                   : GANTRY_RESOURCE_EXHAUSTED;
    if (scope) (void)gantry_scope_end(scope);
    gantry_function_release(function);
    return status;
}

static void nothing_leaks_when_memory_runs_out(void **state) {
    (void)state;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *given = F32(scope, 2);
    gantry_variable_t *v = gantry_variable_create(scope, F32(scope, 1), "v");
    long failed = 0;
    for (long n = 0;; ++n) {
        runtime_fixture_starve(&f, n);
        gantry_status_t status = trace_and_call(f.runtime, given, v);
        f.heap.inner.fail_at = -1;
        if (status == GANTRY_OK) break;
        assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_in_range(++failed, 1, 2000);
    }
    assert_in_range(failed, 10, 2000);
    gantry_variable_release(v);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, runtime_fixture_set_up, runtime_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(call_gives_the_values_of_the_body),
        TEST(results_may_be_inputs_captures_and_views),
        TEST(results_without_elements_run_no_kernel),
        TEST(nodes_run_where_their_scopes_ask),
        TEST(variables_change_in_program_order),
        TEST(requests_are_traced_within_the_bound),
        TEST(idle_memory_is_given_back),
        TEST(requests_are_traced_within_the_bound),
        TEST(data_lives_as_long_as_the_function),
        TEST(open_sizes_are_traced_once_each),
        TEST(functions_inside_functions_are_inlined),
        TEST(eager_bodies_run_in_each_call),
        TEST(budget_is_met_by_another_order_or_refused),
        TEST(profile_has_the_steps_of_each_call),
        TEST(each_call_draws_the_next_numbers),
        TEST(draws_with_a_seed_continue_its_sequence),
        TEST(set_seed_restarts_all_draws_of_functions),
        TEST(nothing_leaks_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
