/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Observers of scopes see ops, parts, reads, blocks and calls in their order, and may
 * fail. */
#define _XOPEN_SOURCE 700

#include "device/buffer.h"
#include "runtime_fixture.h"
#include "test.h"

#include "run/scope_state.h"

#define MOST_TEXT 1024

static runtime_fixture_t fixture;
static gantry_scope_t *scope;

/* An observer that writes down the names that it is told: "Add Mul ". */
typedef struct listener_t {
    gantry_observer_t observer;
    char told[MOST_TEXT];
    const char *mark;    /* in front of each name */
    const char *whole;   /* a composed op that is told as a whole */
    const char *refused; /* an op whose telling fails */
    gantry_observation_t last;
    size_t deepest; /* body */
    const gantry_tensor_t *inputs[4], *outputs[4];
    struct listener_t *next; /* is told after this one */
    bool was_first;
} listener_t;

static gantry_status_t listen(gantry_scope_t *where, const gantry_observation_t *observation,
                              void *user) {
    listener_t *l = user;
    assert_non_null(where);
    assert_int_equal(observation->struct_size, sizeof *observation);
    if (l->refused && strcmp(observation->op, l->refused) == 0)
        return gantry_fail(GANTRY_DATA_LOSS, "the listener hears no such op");
    (void)strncat(l->told, l->mark, sizeof l->told - strlen(l->told) - 1);
    (void)strncat(l->told, observation->op, sizeof l->told - strlen(l->told) - 1);
    (void)strncat(l->told, " ", sizeof l->told - strlen(l->told) - 1);
    l->was_first = l->next && l->next->told[0] == '\0';
    l->last = *observation;
    if (gantry_scope_body_depth(where) > l->deepest) l->deepest = gantry_scope_body_depth(where);
    for (size_t i = 0; i < observation->input_count && i < 4; ++i)
        l->inputs[i] = observation->inputs[i];
    for (size_t i = 0; i < observation->output_count && i < 4; ++i)
        l->outputs[i] = observation->outputs[i];
    return GANTRY_OK;
}

static bool takes_whole(const char *op, void *user) {
    const listener_t *l = user;
    return l->whole && strcmp(l->whole, op) == 0;
}

static void note_end(gantry_scope_t *where, void *user) {
    listener_t *l = user;
    assert_non_null(where);
    (void)strncat(l->told, "end ", sizeof l->told - strlen(l->told) - 1);
}

static void listener_init(listener_t *l, const char *mark) {
    *l = (listener_t){.mark = mark};
    l->observer = (gantry_observer_t){.observe = listen, .whole = takes_whole, .user = l};
}

static void expect_told(listener_t *l, const char *names) {
    assert_string_equal(l->told, names);
    l->told[0] = '\0';
}

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    runtime_fixture_open(&fixture, 1);
    scope = runtime_fixture_scope(&fixture, "CPU:0");
    return 0;
}

static int tear_down(void **state) {
    if (gantry_scope_status(scope) != GANTRY_OK) gantry_scope_clear(scope);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&fixture);
    return runtime_fixture_tear_down(state);
}

/* Twice in a list, it would lead back to itself. */
TEST(observer_is_added_once) {
    listener_t l;
    listener_init(&l, "");
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_scope_message(scope), "the scope has this observer"));
    gantry_scope_clear(scope);
    (void)gantry_neg(scope, F32(scope, 1, 2));
    expect_told(&l, "Neg ");
    gantry_scope_unobserve(scope, &l.observer);
    assert_false(gantry_scope_is_observed(scope));
}

/* ---- which ops are told ---- */

TEST(observer_is_told_each_op) {
    listener_t l;
    listener_init(&l, "");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_false(gantry_scope_is_observed(scope));
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    assert_true(gantry_scope_is_observed(scope));
    const gantry_tensor_t *sum = gantry_add(scope, x, x);
    expect_told(&l, "Add ");
    assert_int_equal(l.last.input_count, 2);
    assert_ptr_equal(l.inputs[0], x);
    assert_ptr_equal(l.inputs[1], x);
    assert_int_equal(l.last.output_count, 1);
    assert_ptr_equal(l.outputs[0], sum);
    assert_null(l.last.variable);
    assert_null(l.last.function);
    (void)gantry_exp(scope, gantry_neg(scope, sum));
    expect_told(&l, "Neg Exp ");
    gantry_scope_unobserve(scope, &l.observer);
    assert_false(gantry_scope_is_observed(scope));
    (void)gantry_add(scope, x, x);
    expect_told(&l, "");
}

/* All attributes, those with a default value too. */
typedef struct attrs_t {
    gantry_observer_t observer;
    int64_t transpose_a, transpose_b;
    size_t count;
} attrs_t;

static gantry_status_t read_attrs(gantry_scope_t *where, const gantry_observation_t *observation,
                                  void *user) {
    attrs_t *a = user;
    (void)where;
    a->count = observation->attr_count;
    for (size_t i = 0; i < observation->attr_count; ++i) {
        const gantry_attr_value_t *attr = &observation->attrs[i];
        if (strcmp(attr->name, "transpose_a") == 0) a->transpose_a = attr->i;
        if (strcmp(attr->name, "transpose_b") == 0) a->transpose_b = attr->i;
    }
    return GANTRY_OK;
}

TEST(observer_is_told_all_attributes) {
    attrs_t a = {.transpose_a = -1, .transpose_b = -1};
    a.observer = (gantry_observer_t){.observe = read_attrs, .user = &a};
    const gantry_tensor_t *x = gantry_reshape(scope, F32(scope, 1, 2), GANTRY_SHAPE(1, 2));
    assert_int_equal(gantry_scope_observe(scope, &a.observer), GANTRY_OK);
    assert_non_null(gantry_matmul(scope, x, x, &(gantry_matmul_options_t){.transpose_b = true}));
    assert_int_equal(a.transpose_a, 0);
    assert_int_equal(a.transpose_b, 1);
    assert_true(a.count >= 3); /* the type as well */
    gantry_scope_unobserve(scope, &a.observer);
}

TEST(failed_op_is_not_told) {
    listener_t l;
    listener_init(&l, "");
    const gantry_tensor_t *x = F32(scope, 1, 2), *y = F32(scope, 1, 2, 3);
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    assert_null(gantry_add(scope, x, y));
    expect_told(&l, "");
    gantry_scope_clear(scope);
    gantry_scope_unobserve(scope, &l.observer);
}

TEST(composed_op_is_told_by_parts_or_whole) {
    listener_t l;
    listener_init(&l, "");
    const gantry_tensor_t *x = F32(scope, 1, 2), *parts[2];
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    assert_int_equal(gantry_split(scope, x, 0, parts, 2), GANTRY_OK);
    expect_told(&l, "Slice Slice ");
    l.whole = "Split";
    assert_int_equal(gantry_split(scope, x, 0, parts, 2), GANTRY_OK);
    expect_told(&l, "Split ");
    assert_int_equal(l.last.output_count, 2);
    assert_ptr_equal(l.outputs[1], parts[1]);
    l.observer.whole = NULL; /* no op is */
    assert_int_equal(gantry_split(scope, x, 0, parts, 2), GANTRY_OK);
    assert_null(strstr(l.told, "Split"));
    gantry_scope_unobserve(scope, &l.observer);
}

TEST(variable_is_told_where_it_is_read) {
    listener_t l;
    listener_init(&l, "");
    gantry_variable_t *v = gantry_variable_create(scope, F32(scope, 1, 2), "v");
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    const gantry_tensor_t *value = gantry_variable_read(scope, v);
    expect_told(&l, "ReadVariableOp ");
    assert_ptr_equal(l.last.variable, v);
    assert_int_equal(l.last.input_count, 0);
    assert_ptr_equal(l.outputs[0], value);
    gantry_scope_unobserve(scope, &l.observer);
    gantry_variable_release(v);
}

/* ---- several observers, several scopes ---- */

TEST(inner_observer_is_told_first) {
    listener_t outer, inner;
    listener_init(&outer, "outer:");
    listener_init(&inner, "inner:");
    inner.next = &outer;
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_scope_observe(scope, &outer.observer), GANTRY_OK);
    assert_int_equal(gantry_scope_observe(scope, &inner.observer), GANTRY_OK);
    assert_ptr_equal(inner.observer.outer, &outer.observer);
    (void)gantry_neg(scope, x);
    expect_told(&outer, "outer:Neg ");
    expect_told(&inner, "inner:Neg ");
    assert_true(inner.was_first);
    gantry_scope_unobserve(scope, &inner.observer);
    (void)gantry_neg(scope, x);
    expect_told(&outer, "outer:Neg ");
    gantry_scope_unobserve(scope, &outer.observer);
}

TEST(innermost_observer_decides_on_parts) {
    listener_t outer, inner;
    listener_init(&outer, "");
    listener_init(&inner, "");
    inner.whole = "Split";
    const gantry_tensor_t *x = F32(scope, 1, 2), *parts[2];
    assert_int_equal(gantry_scope_observe(scope, &outer.observer), GANTRY_OK);
    assert_int_equal(gantry_scope_observe(scope, &inner.observer), GANTRY_OK);
    assert_int_equal(gantry_split(scope, x, 0, parts, 2), GANTRY_OK);
    expect_told(&inner, "Split ");
    expect_told(&outer, "Split ");
    gantry_scope_unobserve(scope, &outer.observer); /* in another order */
    assert_int_equal(gantry_split(scope, x, 0, parts, 2), GANTRY_OK);
    expect_told(&inner, "Split ");
    expect_told(&outer, "");
    gantry_scope_unobserve(scope, &inner.observer);
}

TEST(scopes_begun_before_are_not_observed) {
    listener_t l;
    listener_init(&l, "");
    gantry_scope_t *before = gantry_scope_begin_in(scope, NULL);
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    gantry_scope_t *after = gantry_scope_begin_in(scope, NULL);
    (void)gantry_neg(before, F32(before, 1));
    expect_told(&l, "");
    const gantry_tensor_t *x = F32(after, 1);
    l.told[0] = '\0';
    (void)gantry_neg(after, x);
    expect_told(&l, "Neg ");
    assert_int_equal(gantry_scope_end(after), GANTRY_OK);
    assert_int_equal(gantry_scope_end(before), GANTRY_OK);
    gantry_scope_unobserve(scope, &l.observer);
}

TEST(unobserving_reaches_open_children) {
    listener_t first, second;
    listener_init(&first, "");
    listener_init(&second, "");
    assert_int_equal(gantry_scope_observe(scope, &first.observer), GANTRY_OK);
    gantry_scope_t *children[3], *grandchild;
    for (int i = 0; i < 3; ++i) children[i] = gantry_scope_begin_in(scope, NULL);
    grandchild = gantry_scope_begin_in(children[1], NULL);
    assert_int_equal(gantry_scope_observe(grandchild, &second.observer), GANTRY_OK);
    gantry_scope_unobserve(scope, &first.observer);
    for (int i = 0; i < 3; ++i) assert_false(gantry_scope_is_observed(children[i]));
    const gantry_tensor_t *x = F32(grandchild, 1);
    second.told[0] = '\0';
    (void)gantry_neg(grandchild, x);
    expect_told(&second, "Neg ");
    expect_told(&first, "");
    gantry_scope_unobserve(grandchild, &second.observer);
    assert_false(gantry_scope_is_observed(grandchild));
    assert_int_equal(gantry_scope_end(grandchild), GANTRY_OK);
    for (int i = 0; i < 3; ++i) assert_int_equal(gantry_scope_end(children[i]), GANTRY_OK);
}

TEST(unobserved_scope_tells_what_its_caller_says) {
    listener_t l;
    listener_init(&l, "");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    gantry_scope_t *inner = gantry_scope_begin_unobserved(scope);
    assert_false(gantry_scope_is_observed(inner));
    const gantry_tensor_t *y = gantry_scope_keep(inner, gantry_neg(inner, x));
    assert_int_equal(gantry_scope_end(inner), GANTRY_OK);
    expect_told(&l, "");
    const gantry_observation_t told = {.struct_size = sizeof told,
                                       .op = "Mine",
                                       .inputs = &x,
                                       .input_count = 1,
                                       .outputs = &y,
                                       .output_count = 1,
                                       .user = &l};
    assert_int_equal(gantry_scope_tell(scope, &told), GANTRY_OK);
    expect_told(&l, "Mine ");
    assert_ptr_equal(l.outputs[0], y);
    assert_ptr_equal(l.last.user, &l);
    gantry_scope_unobserve(scope, &l.observer);
}

/* ---- functions and control flow ---- */

static void negate(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_neg(s, inputs[0]);
}

static void take_exp(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_exp(s, inputs[0]);
}

static const gantry_input_spec_t pair = {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}};

TEST(function_is_told_as_one_op) {
    listener_t l;
    gantry_function_t *function;
    listener_init(&l, "");
    const gantry_tensor_t *x = F32(scope, 1, 2), *y;
    assert_int_equal(gantry_function_trace(fixture.runtime, "negate", negate, NULL, &pair, 1, 1,
                                           NULL, &function),
                     GANTRY_OK);
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_OK);
    expect_told(&l, "PartitionedCall ");
    assert_ptr_equal(l.last.function, function);
    assert_ptr_equal(l.inputs[0], x);
    assert_ptr_equal(l.outputs[0], y);
    gantry_scope_unobserve(scope, &l.observer);
    gantry_function_release(function);
}

/* A body that observes its own scope while it calls a function, and branches. */
typedef struct body_t {
    listener_t l;
    gantry_function_t *function;
} body_t;

static void call_in_a_trace(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    body_t *b = user;
    assert_int_equal(gantry_scope_observe(s, &b->l.observer), GANTRY_OK);
    (void)gantry_function_call(s, b->function, inputs, 1, outputs, 1);
    gantry_scope_unobserve(s, &b->l.observer);
}

TEST(function_in_a_trace_is_told_by_its_ops) {
    body_t b;
    gantry_function_t *outer;
    listener_init(&b.l, "");
    assert_int_equal(gantry_function_trace(fixture.runtime, "negate", negate, NULL, &pair, 1, 1,
                                           NULL, &b.function),
                     GANTRY_OK);
    if (gantry_function_trace(fixture.runtime, "outer", call_in_a_trace, &b, &pair, 1, 1, NULL,
                              &outer) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_non_null(strstr(b.l.told, "Neg "));
    assert_null(strstr(b.l.told, "PartitionedCall"));
    gantry_function_release(outer);
    gantry_function_release(b.function);
}

static void branch(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    body_t *b = user;
    assert_int_equal(gantry_scope_observe(s, &b->l.observer), GANTRY_OK);
    const gantry_tensor_t *is_positive =
        gantry_greater(s, gantry_sum(s, inputs[0], NULL), gantry_scalar_f32(s, 0));
    b->l.told[0] = '\0';
    (void)gantry_cond(s, is_positive, negate, take_exp, b, inputs, 1, outputs, 1);
    gantry_scope_unobserve(s, &b->l.observer);
}

TEST(branch_in_a_trace_is_told_behind_its_bodies) {
    body_t b;
    gantry_function_t *function;
    listener_init(&b.l, "");
    if (gantry_function_trace(fixture.runtime, "branch", branch, &b, &pair, 1, 1, NULL,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    expect_told(&b.l, "Neg _Retval Exp _Retval If ");
    assert_int_equal(b.l.deepest, 1);
    assert_null(b.l.last.effect);
    assert_int_equal(b.l.last.body_count, 2);
    assert_ptr_equal(b.l.last.user, &b);
    assert_int_equal(b.l.last.input_count, 2); /* the predicate first */
    gantry_function_release(function);
}

static void add_noise(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] =
        gantry_add(s, inputs[0], gantry_random_uniform(s, GANTRY_SHAPE(2), GANTRY_FLOAT32, NULL));
}

static void branch_with_noise(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                              const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *is_positive =
        gantry_greater(s, gantry_sum(s, inputs[0], NULL), gantry_scalar_f32(s, 0));
    (void)gantry_cond(s, is_positive, negate, add_noise, user, inputs, 1, outputs, 1);
}

static void branch_twice(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    body_t *b = user;
    assert_int_equal(gantry_scope_observe(s, &b->l.observer), GANTRY_OK);
    const gantry_tensor_t *is_positive =
        gantry_greater(s, gantry_sum(s, inputs[0], NULL), gantry_scalar_f32(s, 0));
    (void)gantry_cond(s, is_positive, branch_with_noise, negate, NULL, inputs, 1, outputs, 1);
    gantry_scope_unobserve(s, &b->l.observer);
}

/* Two bodies deep, and in a function that is called. */
TEST(op_with_an_effect_is_named) {
    body_t b;
    listener_t caller;
    gantry_function_t *function;
    const gantry_tensor_t *x = F32(scope, 1, 2), *y;
    listener_init(&b.l, "");
    if (gantry_function_trace(fixture.runtime, "twice", branch_twice, &b, &pair, 1, 1, NULL,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_string_equal(b.l.last.op, "If");
    assert_string_equal(b.l.last.effect, "RandomUniform");
    assert_int_equal(b.l.deepest, 2);
    listener_init(&caller, "");
    assert_int_equal(gantry_scope_observe(scope, &caller.observer), GANTRY_OK);
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_OK);
    assert_string_equal(caller.last.op, "PartitionedCall");
    assert_string_equal(caller.last.effect, "RandomUniform");
    assert_int_equal(caller.deepest, 0);
    gantry_scope_unobserve(scope, &caller.observer);
    gantry_function_release(function);
    assert_int_equal(gantry_scope_body_depth(NULL), 0);
}

TEST(branch_elsewhere_is_told_by_its_ops) {
    listener_t l;
    listener_init(&l, "");
    const gantry_tensor_t *x = F32(scope, 1, 2), *y;
    const uint8_t no = 0;
    const gantry_tensor_t *predicate =
        gantry_constant(scope, GANTRY_BOOL, GANTRY_SCALAR, &no, sizeof no);
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    assert_int_equal(gantry_cond(scope, predicate, negate, take_exp, NULL, &x, 1, &y, 1),
                     GANTRY_OK);
    assert_non_null(strstr(l.told, "Exp "));
    assert_null(strstr(l.told, "If"));
    assert_null(strstr(l.told, "Neg"));
    gantry_scope_unobserve(scope, &l.observer);
}

/* ---- failures ---- */

TEST(failing_observer_fails_the_scope) {
    listener_t l;
    listener_init(&l, "");
    l.refused = "Exp";
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    assert_non_null(gantry_neg(scope, x));
    assert_null(gantry_exp(scope, x));
    expect_scope_failure(scope, GANTRY_DATA_LOSS, "the listener hears no such op");
    assert_non_null(gantry_neg(scope, x));
    const gantry_observation_t mine = {.struct_size = sizeof mine, .op = "Mine"};
    l.refused = "Mine";
    assert_int_equal(gantry_scope_tell(scope, &mine), GANTRY_DATA_LOSS);
    expect_scope_failure(scope, GANTRY_DATA_LOSS, "the listener hears no such op");
    gantry_scope_unobserve(scope, &l.observer);
}

TEST(bad_observers_are_refused) {
    gantry_observer_t empty = {.observe = NULL};
    const gantry_observation_t nameless = {.struct_size = sizeof nameless};
    listener_t l;
    listener_init(&l, "");
    assert_int_equal(gantry_scope_observe(scope, &empty), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "its function is NULL");
    assert_int_equal(gantry_scope_tell(scope, &nameless), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "op is NULL");
    const gantry_observation_t large = {.struct_size = sizeof large + 8, .op = "Mine"};
    assert_int_equal(gantry_scope_tell(scope, &large), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "observation: struct_size is");
    gantry_scope_unobserve(scope, &l.observer); /* it was not added */
    gantry_scope_unobserve(scope, NULL);
    gantry_scope_unobserve(NULL, &l.observer);
    assert_false(gantry_scope_is_observed(NULL));
    assert_false(gantry_scope_is_observed(scope));
}

/* The fields behind struct_size are garbage, which nobody reads. */
TEST(observations_of_older_versions_are_told) {
    listener_t l;
    listener_init(&l, "");
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    for (uint32_t size = 0; size <= sizeof(gantry_observation_t) + 8; size += 8) {
        gantry_observation_t told;
        memset(&told, 0x5a, sizeof told);
        told.struct_size = size;
        told.op = "Mine";
        const bool has_op = size > offsetof(gantry_observation_t, op);
        if (size > offsetof(gantry_observation_t, inputs)) told.inputs = NULL;
        if (size > offsetof(gantry_observation_t, input_count)) told.input_count = 0;
        if (size > offsetof(gantry_observation_t, outputs)) told.outputs = NULL;
        if (size > offsetof(gantry_observation_t, output_count)) told.output_count = 0;
        const bool fits = has_op && size <= sizeof told;
        assert_int_equal(gantry_scope_tell(scope, &told),
                         fits ? GANTRY_OK : GANTRY_INVALID_ARGUMENT);
        expect_told(&l, fits ? "Mine " : "");
        gantry_scope_clear(scope);
    }
    gantry_scope_unobserve(scope, &l.observer);
}

/* ---- memory ---- */

static uint64_t place_of(const gantry_tensor_t *tensor) {
    assert_non_null(tensor);
    assert_non_null(tensor->buffer);
    return tensor->buffer->span.region + tensor->buffer->span.offset_bytes + tensor->offset_bytes;
}

TEST(donated_memory_is_not_reused_where_ops_are_observed) {
    enum { COUNT = 1024 }; /* more than a tensor's object can hold */
    listener_t l;
    listener_init(&l, "");
    const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT));
    const uint64_t place = place_of(x);
    assert_int_equal(gantry_scope_observe(scope, &l.observer), GANTRY_OK);
    const gantry_tensor_t *y = gantry_neg(scope, gantry_tensor_donate(scope, x));
    assert_true(place_of(y) != place);
    gantry_scope_unobserve(scope, &l.observer);
    const uint64_t next = place_of(y);
    assert_true(place_of(gantry_neg(scope, gantry_tensor_donate(scope, y))) == next);
}

/* Of an observer in an outer scope, the end of an inner one says nothing. */
TEST(an_observer_is_told_the_end_of_its_scope) {
    listener_t a, b;
    listener_init(&a, "");
    listener_init(&b, "");
    a.observer.end = b.observer.end = note_end;
    gantry_scope_t *outer = gantry_scope_begin_in(scope, NULL);
    assert_int_equal(gantry_scope_observe(outer, &a.observer), GANTRY_OK);
    gantry_scope_t *inner = gantry_scope_begin_in(outer, NULL);
    assert_int_equal(gantry_scope_observe(inner, &b.observer), GANTRY_OK);
    assert_int_equal(gantry_scope_end(inner), GANTRY_OK);
    expect_told(&b, "end ");
    expect_told(&a, "");
    assert_int_equal(gantry_scope_end(outer), GANTRY_OK);
    expect_told(&a, "end ");
    /* who was removed is not told */
    outer = gantry_scope_begin_in(scope, NULL);
    assert_int_equal(gantry_scope_observe(outer, &a.observer), GANTRY_OK);
    gantry_scope_unobserve(outer, &a.observer);
    assert_int_equal(gantry_scope_end(outer), GANTRY_OK);
    expect_told(&a, "");
}

int main(void) { return test_main_each(set_up, tear_down); }
