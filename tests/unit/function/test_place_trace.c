/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The nodes of a traced function go where device functions, colocation and requests say,
 * with TensorFlow's log lines and a record for each.
 * Promise: A device that a constant requests and that does not exist is refused without soft
 * placement and under require, whatever passes would compute the constant away. */
#define _XOPEN_SOURCE 700

#include "planned.h"
#include "runtime_fixture.h"
#include "test.h"

#define LOCAL(device) "/job:localhost/replica:0/task:0/device:" device
#define GPU "/device:GPU:0"
#define CPU "/device:CPU:0"

static const gantry_input_spec_t two_floats = {NULL, GANTRY_FLOAT32, {.rank = 1, .dims = {2}}};

static gantry_status_t try_trace(const runtime_fixture_t *f, gantry_function_body_fn body,
                                 void *user, gantry_function_t **out_function) {
    return gantry_function_trace(f->runtime, "f", body, user, &two_floats, 1, 1, NULL,
                                 out_function);
}

static gantry_function_t *trace(const runtime_fixture_t *f, gantry_function_body_fn body,
                                void *user) {
    gantry_function_t *function;
    if (try_trace(f, body, user, &function) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    return function;
}

static const gantry_tensor_t *call(gantry_scope_t *scope, gantry_function_t *function,
                                   const gantry_tensor_t *input) {
    const gantry_tensor_t *output;
    if (gantry_function_call(scope, function, &input, 1, &output, 1) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    return output;
}

static void expect_trace_failure(const runtime_fixture_t *f, gantry_function_body_fn body,
                                 void *user, const char *text) {
    gantry_function_t *function = NULL;
    assert_int_not_equal(try_trace(f, body, user, &function), GANTRY_OK);
    assert_null(function);
    if (!strstr(gantry_last_message(), text))
        fail_msg("the message is \"%s\", which has no \"%s\"", gantry_last_message(), text);
}

static int logged(const runtime_fixture_t *f, const char *line) {
    return log_lines_with(&f->log, line, "");
}

/* ---- the program of the guide ---- */

static const char *variables_on_cpu(const gantry_device_choice_t *choice, void *user) {
    uint32_t *asked = user;
    ++*asked;
    return strcmp(choice->op, "VarHandleOp") == 0 ? "/cpu:0" : "/gpu:0";
}

typedef struct guide_t {
    gantry_variable_t *a;
    bool chooses; /* with tf.device(variables_on_cpu); else with tf.device("/cpu:0") for b */
    uint32_t asked;
} guide_t;

/* c = a * b */
static void multiply(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    guide_t *guide = user;
    gantry_scope_t *of_b = guide->chooses
                               ? gantry_scope_begin_choosing(scope, variables_on_cpu, &guide->asked)
                               : gantry_scope_begin_in(scope, "/cpu:0");
    gantry_scope_t *of_c = guide->chooses ? of_b : scope;
    (void)gantry_scope_name_next(of_b, "b");
    const gantry_tensor_t *b = gantry_scalar_f32(of_b, 4);
    const gantry_tensor_t *a = gantry_variable_read(of_b, guide->a);
    (void)gantry_scope_name_next(of_c, "mul");
    const gantry_tensor_t *c = gantry_mul(of_c, a, b);
    if (guide->chooses) c = gantry_scope_keep(of_b, c);
    (void)gantry_scope_end(of_b);
    outputs[0] = gantry_add(scope, c, inputs[0]);
}

static void run_guide(bool chooses, const char *b_line) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    guide_t guide = {.chooses = chooses};
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_scope_t *of_a = chooses
                               ? gantry_scope_begin_choosing(scope, variables_on_cpu, &guide.asked)
                               : gantry_scope_begin_in(scope, "/cpu:0");
    guide.a = gantry_variable_create(of_a, gantry_scalar_f32(of_a, 3), "a");
    assert_string_equal(gantry_logical_device_name(gantry_variable_device(guide.a)), CPU);
    expect_ended_well(of_a);
    assert_int_equal(guide.asked, chooses ? 2 : 0); /* the constant and the variable */
    assert_int_equal(gantry_set_log_device_placement(f.runtime, true), GANTRY_OK);
    gantry_function_t *function = trace(&f, multiply, &guide);
    assert_int_equal(guide.asked, chooses ? 5 : 0); /* and b, a/read, mul */
    assert_int_equal(logged(&f, "a/read: (ReadVariableOp): " LOCAL("CPU:0")), 1);
    assert_int_equal(logged(&f, b_line), 1);
    assert_int_equal(logged(&f, "mul: (Mul): " LOCAL("GPU:0")), 1);
    assert_int_equal(logged(&f, "Placeholder: (_Arg): " LOCAL("GPU:0")), 1);
    const gantry_tensor_t *got = call(scope, function, F32(scope, 1, 2));
    EXPECT_F32(got, 13, 14);
    expect_on(got, GPU);
    assert_int_equal(logged(&f, "mul: (Mul): "), 1);
    gantry_function_release(function);
    gantry_variable_release(guide.a);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(guides_device_scope_places_and_logs_as_it_says) {
    run_guide(false, "b: (Const): " LOCAL("CPU:0"));
}

TEST(guides_device_function_places_and_logs_as_it_says) {
    run_guide(true, "b: (Const): " LOCAL("GPU:0"));
}

/* ---- device functions ---- */

/* Answers with the user's text, and notes what it was asked. */
typedef struct answer_t {
    const char *text;
    uint32_t asked;
    char last_op[48], last_node[128];
    gantry_dtype_t last_dtype;
    size_t last_outputs;
} answer_t;

static const char *give_answer(const gantry_device_choice_t *choice, void *user) {
    answer_t *answer = user;
    ++answer->asked;
    (void)snprintf(answer->last_op, sizeof answer->last_op, "%s", choice->op);
    (void)snprintf(answer->last_node, sizeof answer->last_node, "%s", choice->node);
    answer->last_dtype = choice->dtype;
    answer->last_outputs = choice->output_count;
    return answer->text;
}

/* A device (or "fn:" and the answer) for each nested scope, outermost first. */
typedef struct nesting_t {
    const char *scopes[3];
    const char *device;
} nesting_t;

static const nesting_t nestings[] = {
    {{"fn:/gpu:0"}, GPU},
    {{"fn:/gpu:0", "/cpu:0"}, CPU},     /* an inner request wins */
    {{"/cpu:0", "fn:/gpu:0"}, GPU},     /* the function is the inner one */
    {{"/cpu:0", "fn:"}, CPU},           /* no answer: the outer request */
    {{"fn:/cpu:0", "fn:/gpu:0"}, GPU},  /* the inner function */
    {{"fn:/cpu:0", "fn:"}, CPU},        /* the inner one does not care */
    {{"fn:/cpu:0", "fn:/task:0"}, CPU}, /* field by field */
    {{"fn:/device:CPU:0", "/job:localhost"}, CPU},
    {{"/cpu:0", "fn:none"}, GPU}, /* none cuts the outer request off */
    {{"fn:/cpu:0", "none"}, GPU}, /* a scope of none cuts the function off */
    {{"/cpu:0", "fn:", "/device:CPU:*"}, CPU},
    {{"fn:/cpu:0", "/task:0", "fn:/replica:0"}, CPU},
};

/* x + x in the nested scopes. */
static const gantry_tensor_t *add_nested(gantry_scope_t *scope, const gantry_tensor_t *x,
                                         const nesting_t *nesting, answer_t *answers) {
    gantry_scope_t *inner[4] = {scope};
    size_t depth = 0;
    for (; depth < 3 && nesting->scopes[depth]; ++depth) {
        const char *text = nesting->scopes[depth];
        const bool is_function = strncmp(text, "fn:", 3) == 0;
        if (is_function) text += 3;
        answers[depth].text = strcmp(text, "none") == 0 ? GANTRY_DEVICE_NONE : *text ? text : NULL;
        inner[depth + 1] =
            is_function ? gantry_scope_begin_choosing(inner[depth], give_answer, &answers[depth])
                        : gantry_scope_begin_in(inner[depth], answers[depth].text);
    }
    const gantry_tensor_t *sum = gantry_add(inner[depth], x, x);
    for (; depth > 0; --depth) {
        sum = gantry_scope_keep(inner[depth], sum);
        (void)gantry_scope_end(inner[depth]);
    }
    return sum;
}

typedef struct nested_t {
    const nesting_t *nesting;
    answer_t answers[3];
} nested_t;

static void add_in_nested_scopes(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, void *user) {
    nested_t *nested = user;
    outputs[0] = add_nested(scope, inputs[0], nested->nesting, nested->answers);
}

TEST(device_functions_and_scopes_merge_field_by_field) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2);
    for (size_t i = 0; i < sizeof nestings / sizeof nestings[0]; ++i) {
        nested_t nested = {.nesting = &nestings[i]};
        print_message("%s, %s, %s\n", nestings[i].scopes[0],
                      nestings[i].scopes[1] ? nestings[i].scopes[1] : "-",
                      nestings[i].scopes[2] ? nestings[i].scopes[2] : "-");
        expect_on(add_nested(scope, x, &nestings[i], nested.answers), nestings[i].device);
        gantry_function_t *function = trace(&f, add_in_nested_scopes, &nested);
        expect_on(call(scope, function, x), nestings[i].device);
        gantry_function_release(function);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(device_function_hears_of_op_node_and_type) {
    static const nesting_t nesting = {{"fn:"}, GPU};
    nested_t nested = {.nesting = &nesting};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function = trace(&f, add_in_nested_scopes, &nested);
    assert_int_equal(nested.answers[0].asked, 1);
    assert_string_equal(nested.answers[0].last_op, "Add");
    assert_string_equal(nested.answers[0].last_node, "Add");
    assert_int_equal(nested.answers[0].last_dtype, GANTRY_FLOAT32);
    assert_int_equal(nested.answers[0].last_outputs, 1);
    /* a call asks once; the answer is the request of nodes that have none */
    answer_t answer = {.text = "/cpu:0"};
    gantry_scope_t *inner = gantry_scope_begin_choosing(scope, give_answer, &answer);
    expect_on(call(inner, function, F32(scope, 1, 2)), CPU);
    assert_int_equal(answer.asked, 1);
    assert_string_equal(answer.last_op, "PartitionedCall");
    assert_string_equal(answer.last_node, "f");
    /* the parts of a composed op */
    answer.asked = 0;
    (void)gantry_var(inner, F32(scope, 1, 2), NULL);
    assert_in_range(answer.asked, 2, 16);
    expect_ended_well(inner);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(wrong_answer_of_a_device_function_fails_the_op) {
    static const nesting_t nesting = {{"fn:/foo:bar"}, NULL};
    nested_t nested = {.nesting = &nesting};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2);
    gantry_scope_t *inner = gantry_scope_begin_choosing(scope, give_answer, &nested.answers[0]);
    nested.answers[0].text = "/foo:bar";
    assert_null(gantry_add(inner, x, x));
    expect_scope_failure(inner, GANTRY_INVALID_ARGUMENT, "op Add: its device function returned");
    assert_null(gantry_scalar_f32(inner, 1));
    expect_scope_failure(inner, GANTRY_INVALID_ARGUMENT,
                         "Malformed device specification '/foo:bar'");
    expect_ended_well(inner);
    expect_trace_failure(&f, add_in_nested_scopes, &nested,
                         "function f: op Add: its device function returned a text: Malformed");
    gantry_scope_t *without = gantry_scope_begin_choosing(scope, NULL, NULL);
    expect_scope_failure(without, GANTRY_INVALID_ARGUMENT, "choose is NULL");
    expect_ended_well(without);
    assert_null(gantry_scope_begin_choosing(NULL, give_answer, NULL));
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- colocation ---- */

typedef struct with_t {
    gantry_variable_t *v;
    const char *request; /* of the colocated op's own */
    bool needs_cpu;      /* the colocated op has no kernel on the GPU */
} with_t;

/* An op with v's value, or, without v, one with the result of an op on the GPU. */
static void add_with(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const with_t *with = user;
    const gantry_tensor_t *first =
        with->v ? gantry_variable_read(scope, with->v) : gantry_add(scope, inputs[0], inputs[0]);
    gantry_scope_t *same = gantry_scope_begin_with(scope, first);
    gantry_scope_t *own = gantry_scope_begin_in(same, with->request);
    (void)gantry_scope_name_next(own, "mate");
    const gantry_tensor_t *mate =
        with->needs_cpu ? gantry_exp(own, inputs[0]) : gantry_add(own, inputs[0], inputs[0]);
    mate = gantry_scope_keep(same, gantry_scope_keep(own, mate));
    (void)gantry_scope_end(own);
    (void)gantry_scope_end(same);
    outputs[0] = mate;
}

static uint64_t count_of(const runtime_fixture_t *f, const char *op,
                         gantry_placement_reason_t reason) {
    gantry_placement_count_t counts[32] = {{.struct_size = sizeof counts[0]}};
    size_t count = 0;
    uint64_t found = 0;
    assert_int_equal(gantry_get_placement_counts(f->runtime, 32, counts, &count), GANTRY_OK);
    for (size_t i = 0; i < count && i < 32; ++i)
        found += strcmp(counts[i].op, op) == 0 && counts[i].reason == reason ? counts[i].count : 0;
    return found;
}

TEST(op_runs_with_the_variable_that_it_is_colocated_with) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL), *cpu = runtime_fixture_scope(&f, CPU);
    const gantry_tensor_t *x = F32(scope, 1, 2);
    with_t with = {.v = gantry_variable_create(cpu, F32(cpu, 1, 2), "v")};
    gantry_function_t *function = trace(&f, add_with, &with);
    expect_on(call(scope, function, x), CPU);
    assert_int_equal(count_of(&f, "Add", GANTRY_PLACED_COLOCATED), 1);
    gantry_function_release(function);
    /* where ops run at once: with the tensor's device, whatever outer scopes request */
    gantry_scope_t *gpu = gantry_scope_begin_in(scope, "/gpu:0");
    gantry_scope_t *same = gantry_scope_begin_with(gpu, gantry_variable_read(gpu, with.v));
    expect_on(gantry_add(same, x, x), CPU);
    expect_ended_well(same);
    expect_ended_well(gpu);
    gantry_variable_release(with.v);
    expect_ended_well(cpu);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(colocated_ops_go_where_all_can_run) {
    with_t with = {.needs_cpu = true};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function = trace(&f, add_with, &with);
    expect_on(call(scope, function, F32(scope, 1, 2)), CPU);
    gantry_placement_record_t records[8] = {{.struct_size = sizeof records[0]}};
    size_t count, found = 0;
    assert_int_equal(gantry_get_placements(f.runtime, 8, records, &count), GANTRY_OK);
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(records[i].op, "Add") != 0) continue;
        ++found;
        assert_string_equal(records[i].device, LOCAL("CPU:0"));
        assert_int_equal(records[i].refusal_count, 1);
        assert_int_equal(records[i].refusals[0].why, GANTRY_REFUSED_COLOCATED);
    }
    assert_int_equal(found, 1);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(colocation_that_cannot_be_names_both_nodes) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *gpu = runtime_fixture_scope(&f, GPU);
    with_t with = {.v = gantry_variable_create(gpu, F32(gpu, 1, 2), "v"), .needs_cpu = true};
    assert_int_equal(gantry_set_log_device_placement(f.runtime, true), GANTRY_OK);
    gantry_function_t *function = trace(&f, add_with, &with); /* soft placement drops it */
    assert_int_equal(logged(&f,
                            "Ignoring a colocation: Cannot colocate nodes "
                            "{{colocation_node mate}} and {{colocation_node v/read}}"),
                     1);
    expect_on(call(gpu, function, F32(gpu, 1, 2)), CPU);
    gantry_function_release(function);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    expect_trace_failure(
        &f, add_with, &with,
        "function f: Cannot colocate nodes {{colocation_node mate}} and {{colocation_node v/read}} "
        "because no device type supports both of those nodes");
    with.needs_cpu = false;
    with.request = CPU;
    expect_trace_failure(&f, add_with, &with, "Cannot merge devices with incompatible types");
    gantry_variable_release(with.v);
    expect_ended_well(gpu);
    runtime_fixture_close(&f);
}

TEST(colocating_scope_refuses_what_is_no_tensor_of_its_own) {
    runtime_fixture_t f, second;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.backends = "cpu";
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_scope_t *inner = gantry_scope_begin_with(scope, NULL);
    expect_scope_failure(inner, GANTRY_INVALID_ARGUMENT, "the tensor is NULL");
    expect_ended_well(inner);
    assert_null(gantry_scope_begin_with(NULL, NULL));
    runtime_fixture_open(&second, 1);
    gantry_scope_t *there = runtime_fixture_scope(&second, NULL);
    inner = gantry_scope_begin_with(scope, F32(there, 1));
    expect_scope_failure(inner, GANTRY_INVALID_ARGUMENT, "of another runtime");
    expect_ended_well(inner);
    expect_ended_well(there);
    expect_ended_well(scope);
    runtime_fixture_close(&second);
    runtime_fixture_close(&f);
}

/* ---- constants on a device that does not exist ---- */

typedef enum missing_use_t {
    USE_FOLDED, /* by an op of constants alone */
    USE_CHAIN,  /* by a chain of such ops */
    USE_FUSED,  /* by elementwise ops that become one program */
    USE_BRANCH, /* in a branch */
    USE_RESULT, /* as the result */
    USE_COUNT,
    USE_NONE = USE_COUNT /* by nothing */
} missing_use_t;

static const gantry_tensor_t *on_missing(gantry_scope_t *scope) {
    gantry_scope_t *missing = gantry_scope_begin_in(scope, "/device:GPU:2");
    (void)gantry_scope_name_next(missing, "lost");
    const gantry_tensor_t *given = gantry_scope_keep(missing, F32(missing, 3, 4));
    (void)gantry_scope_end(missing);
    return given;
}

static void double_missing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    (void)inputs, (void)user;
    const gantry_tensor_t *given = on_missing(scope);
    outputs[0] = gantry_add(scope, given, given);
}

static void use_missing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const missing_use_t use = *(const missing_use_t *)user;
    if (use == USE_BRANCH) {
        const gantry_tensor_t *is_less =
            gantry_less(scope, gantry_sum(scope, inputs[0], NULL), gantry_scalar_f32(scope, 2));
        (void)gantry_cond(scope, is_less, double_missing, double_missing, NULL, inputs, 1, outputs,
                          1);
        return;
    }
    const gantry_tensor_t *given = on_missing(scope);
    switch (use) {
        case USE_FOLDED: outputs[0] = gantry_add(scope, given, given); break;
        case USE_CHAIN:
            given = gantry_add(scope, given, gantry_add(scope, given, given));
            outputs[0] = gantry_add(scope, inputs[0], given);
            break;
        case USE_FUSED:
            outputs[0] = gantry_add(scope, gantry_add(scope, inputs[0], given), given);
            break;
        case USE_RESULT: outputs[0] = given; break;
        default: outputs[0] = gantry_add(scope, inputs[0], inputs[0]); break;
    }
}

static void check_missing(runtime_fixture_t *f, bool is_refused) {
    for (missing_use_t use = 0; use < USE_COUNT; ++use) {
        if (is_refused) {
            expect_trace_failure(f, use_missing, &use, "Cannot assign a device for operation ");
            if (!strstr(gantry_last_message(), "lost") ||
                !strstr(gantry_last_message(), "/device:GPU:2"))
                fail_msg("use %d: %s", (int)use, gantry_last_message());
        } else {
            gantry_function_release(trace(f, use_missing, &use));
        }
    }
    missing_use_t none = USE_NONE;
    gantry_function_release(trace(f, use_missing, &none));
}

TEST(constant_on_a_device_that_does_not_exist_is_not_hidden) {
    for (uint32_t gpus = 0; gpus < 2; ++gpus) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, gpus);
        check_missing(&f, false); /* soft placement finds another */
        assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
        check_missing(&f, true);
        assert_int_equal(gantry_set_soft_device_placement(f.runtime, true), GANTRY_OK);
        if (gpus > 0) { /* without a GPU, require refuses ops that request nothing, too */
            assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_REQUIRE),
                             GANTRY_OK);
            check_missing(&f, true);
        }
        runtime_fixture_close(&f);
    }
}

/* ---- branches ---- */

static void add_once(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *const *captured = user;
    gantry_scope_t *same = gantry_scope_begin_with(scope, *captured);
    outputs[0] = gantry_scope_keep(same, gantry_add(same, inputs[0], *captured));
    (void)gantry_scope_end(same);
}

/* A branch in a scope that colocates and chooses. */
static void branch(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *first = gantry_add(scope, inputs[0], inputs[0]),
                          *is_less = gantry_less(scope, gantry_scalar_f32(scope, 1),
                                                 gantry_scalar_f32(scope, 2));
    gantry_scope_t *chosen = gantry_scope_begin_choosing(scope, give_answer, user);
    gantry_scope_t *same = gantry_scope_begin_with(scope, first);
    (void)gantry_cond(chosen, is_less, add_once, add_once, &first, inputs, 1, &outputs[0], 1);
    outputs[0] = gantry_scope_keep(chosen, outputs[0]);
    const gantry_tensor_t *sum;
    (void)gantry_cond(same, is_less, add_once, add_once, &first, inputs, 1, &sum, 1);
    outputs[0] = gantry_add(scope, outputs[0], gantry_scope_keep(same, sum));
    (void)gantry_scope_end(same);
    (void)gantry_scope_end(chosen);
}

TEST(bodies_of_branches_are_placed_and_recorded) {
    answer_t answer = {.text = "/cpu:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function = trace(&f, branch, &answer);
    assert_in_range(answer.asked, 1, 8);
    const gantry_tensor_t *got = call(scope, function, F32(scope, 1, 2));
    EXPECT_F32(got, 6, 12);
    assert_true(count_of(&f, "Add", GANTRY_PLACED_GPU_PREFERRED) >= 4);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- records ---- */

TEST(every_node_is_recorded_once) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL), *cpu = runtime_fixture_scope(&f, CPU);
    guide_t guide = {.a = gantry_variable_create(cpu, gantry_scalar_f32(cpu, 3), "a")};
    const gantry_tensor_t *x = F32(scope, 1, 2);
    const uint64_t before = last_placement(&f).sequence;
    gantry_function_t *function = trace(&f, multiply, &guide);
    assert_int_equal(last_placement(&f).sequence, before); /* it waits for its first use */
    (void)planned(function);
    assert_int_equal(last_placement(&f).sequence - before, 4); /* b, a/read, mul, Add */
    assert_string_equal(last_placement(&f).op, "Add");
    assert_int_equal(last_placement(&f).reason, GANTRY_PLACED_GPU_PREFERRED);
    assert_int_equal(count_of(&f, "ReadVariableOp", GANTRY_PLACED_WITH_VARIABLE), 1);
    assert_int_equal(count_of(&f, "Const", GANTRY_PLACED_EXPLICIT), 2);
    for (int i = 0; i < 3; ++i) (void)call(scope, function, x);
    assert_int_equal(last_placement(&f).sequence - before, 4);
    assert_int_equal(count_of(&f, "Mul", GANTRY_PLACED_GPU_PREFERRED), 1);
    gantry_function_release(function);
    gantry_variable_release(guide.a);
    expect_ended_well(cpu);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- bad input ---- */

static void exp_on(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    gantry_scope_t *inner = gantry_scope_begin_in(scope, user);
    (void)gantry_scope_name_next(inner, "curve");
    outputs[0] = gantry_scope_keep(inner, gantry_exp(inner, inputs[0]));
    if (gantry_scope_status(inner) == GANTRY_OK) {
        (void)gantry_scope_end(inner);
        return;
    }
    outputs[0] = NULL;
    (void)gantry_scope_end(inner);
}

TEST(unplaceable_nodes_are_named_with_the_cause) {
    static char gpu[] = "/gpu:0", missing[] = "/gpu:5", malformed[] = "/foo:bar";
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    expect_trace_failure(
        &f, exp_on, gpu,
        "function f: Cannot assign a device for operation curve: Could not satisfy explicit device "
        "specification '" LOCAL(
            "GPU:0") "' because no supported kernel for GPU devices is available.");
    assert_non_null(strstr(gantry_last_message(), LOCAL("GPU:0") ": no kernel for the op"));
    expect_trace_failure(
        &f, exp_on, missing,
        "Cannot assign a device for operation curve: {{node curve}} was explicitly "
        "assigned to " LOCAL("GPU:5") " but available devices are [ ");
    gantry_function_t *function = NULL;
    assert_int_not_equal(try_trace(&f, exp_on, malformed, &function), GANTRY_OK);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, true), GANTRY_OK);
    assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_REQUIRE), GANTRY_OK);
    expect_trace_failure(&f, exp_on, gpu,
                         "operation curve: Could not satisfy device specification");
    assert_non_null(strstr(gantry_last_message(), "GANTRY_PLACEMENT=require"));
    runtime_fixture_close(&f);
}

static gantry_function_t *itself;

static void call_itself(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
    if (itself) (void)gantry_function_call(scope, itself, inputs, 1, outputs, 1);
}

TEST(function_that_calls_itself_is_refused) {
    const gantry_input_spec_t open = {NULL, GANTRY_FLOAT32, {.rank = 1, .dims = {-1}}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    itself = NULL;
    gantry_function_t *function;
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", call_itself, NULL, &open, 1, 1, NULL, &function),
        GANTRY_OK);
    itself = function;
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *output;
    assert_int_not_equal(gantry_function_call(scope, function, &x, 1, &output, 1), GANTRY_OK);
    expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION,
                         "a function that calls itself never ends");
    itself = NULL;
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- memory that runs out ---- */

static gantry_status_t trace_guides(runtime_fixture_t *f, guide_t *guide, with_t *with) {
    gantry_function_t *function;
    GANTRY__TRY(try_trace(f, multiply, guide, &function));
    gantry_function_release(function);
    GANTRY__TRY(try_trace(f, add_with, with, &function));
    gantry_function_release(function);
    return GANTRY_OK;
}

TEST(nothing_leaks_when_memory_runs_out) {
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *cpu = runtime_fixture_scope(&f, CPU);
        guide_t guide = {.a = gantry_variable_create(cpu, F32(cpu, 1, 2), "a"), .chooses = true};
        with_t with = {.v = guide.a, .request = "/task:0"};
        runtime_fixture_starve(&f, n);
        const gantry_status_t status = trace_guides(&f, &guide, &with);
        has_failed = runtime_fixture_feed(&f);
        /* a body that goes on after its scope failed may end with the error of a NULL input */
        if (status != GANTRY_OK && !has_failed)
            fail_msg("allocation %ld: %d, %s", n, (int)status, gantry_last_message());
        gantry_variable_release(guide.a);
        expect_ended_well(cpu);
        runtime_fixture_close(&f);
        assert_in_range(n, 0, 2000);
    }
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
