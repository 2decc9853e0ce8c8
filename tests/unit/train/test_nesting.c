/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Bodies of any kind nest up to GANTRY_MAX_NESTING levels on a thread of 128 KiB of stack,
 * and are refused beyond with FailedPrecondition.
 * Promise: A function that traces itself is refused with FailedPrecondition at GANTRY_MAX_NESTING
 * levels. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

#include <gantry_train/train.h>

#include "test.h"
#include "train_fixture.h"

typedef const gantry_tensor_t tensor;

enum { SMALL_BYTES = 128 << 10, MOST_LEVELS = GANTRY_MAX_NESTING + 2 };

typedef struct nest_t nest_t;
typedef void (*deepen_fn)(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in,
                          tensor **out);

/* User data of the bodies of one level. */
typedef struct level_t {
    nest_t *nest;
    int number;
} level_t;

/* One kind of body inside the other, `levels` of them; the innermost one has an op. */
struct nest_t {
    const char *name;
    deepen_fn deepen; /* runs a body of the next level */
    int levels;
    bool is_traced; /* in a function, which is a level, too */
    bool has_gradient, runs_eagerly;
    gantry_scope_t *scope;
    level_t at[MOST_LEVELS + 1];
    gantry_function_t *functions[MOST_LEVELS + 1];
    gantry_strategy_t *strategy;
    tensor *given; /* of a replica */
    gantry_status_t status;
    char message[1024];
    const char *stack; /* where the thread began */
    size_t most_stack;
};

static void note_stack(nest_t *nest) {
    const char here = 0;
    const size_t used = (size_t)(nest->stack - &here);
    if (used > nest->most_stack) nest->most_stack = used;
}

/* ---- bodies ---- */

static tensor *number(gantry_scope_t *s, float value) { return gantry_scalar_f32(s, value); }

static void forward(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_relu(s, in[0]);
}

/* The first gradient that gets here is at the bottom: to go on would take 2^levels bodies. */
static void stop_here(gantry_scope_t *s, tensor *const *in, tensor *const *out, tensor *const *dy,
                      tensor **dx, void *user) {
    (void)in;
    (void)out;
    dx[0] = gantry_mul(s, dy[0], number(s, 2));
    note_stack(user);
    (void)gantry_scope_fail(s, GANTRY_CANCELLED, "the bottom");
}

static void body(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const level_t *level = user;
    nest_t *nest = level->nest;
    note_stack(nest);
    if (level->number < nest->levels)
        nest->deepen(s, nest, level->number + 1, in, out);
    else if (nest->has_gradient)
        (void)gantry_custom_gradient(s, forward, stop_here, nest, in, 1, out, 1);
    else
        out[0] = gantry_relu(s, in[0]);
}

static void negative(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_neg(s, in[0]);
}

/* ---- one more level ---- */

static void by_cond(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in, tensor **out) {
    tensor *predicate = gantry_greater(s, gantry_sum(s, in[0], NULL), number(s, -1));
    (void)gantry_cond(s, predicate, body, negative, &nest->at[level], in, 1, out, 1);
}

static void by_case(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in, tensor **out) {
    static const gantry_function_body_fn bodies[] = {negative, body};
    tensor *index = gantry_cast(s, gantry_sum(s, in[0], NULL), GANTRY_INT32);
    (void)gantry_case(s, index, bodies, 2, &nest->at[level], in, 1, out, 1);
}

static void once(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_less(s, in[1], gantry_scalar_i32(s, 1));
}

static void step(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    out[1] = gantry_add(s, in[1], gantry_scalar_i32(s, 1));
    body(s, in, out, user);
}

static void by_while(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in, tensor **out) {
    tensor *values[] = {in[0], gantry_scalar_i32(s, 0)};
    (void)gantry_while(s, once, step, &nest->at[level], values, 2, NULL, values);
    out[0] = values[0];
}

static void by_call(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in, tensor **out) {
    (void)gantry_function_call(s, nest->functions[level], in, 1, out, 1);
}

/* A function of its own, in a scope of its own: no scope knows that it is inside. */
static void by_trace(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in, tensor **out) {
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(2)};
    gantry_function_t *function = NULL;
    const gantry_status_t status = gantry_function_trace(
        gantry_scope_runtime(s), "inner", body, &nest->at[level], &spec, 1, 1, NULL, &function);
    if (status != GANTRY_OK) (void)gantry_scope_fail(s, status, gantry_last_message());
    gantry_function_release(function);
    out[0] = in[0];
}

static void same(gantry_scope_t *s, tensor *const *in, tensor *const *out, tensor *const *dy,
                 tensor **dx, void *user) {
    (void)s;
    (void)in;
    (void)out;
    (void)user;
    dx[0] = dy[0];
}

static void by_forward(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in,
                       tensor **out) {
    (void)gantry_custom_gradient(s, body, same, &nest->at[level], in, 1, out, 1);
}

/* A gradient in the gradient of the level before. */
static void by_backward(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in,
                        tensor **out);

static void backward(gantry_scope_t *s, tensor *const *in, tensor *const *out, tensor *const *dy,
                     tensor **dx, void *user) {
    const level_t *level = user;
    (void)in;
    (void)out;
    note_stack(level->nest);
    dx[0] = dy[0];
    if (level->number < level->nest->levels) by_backward(s, level->nest, level->number + 1, dy, dx);
}

static void by_backward(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in,
                        tensor **out) {
    tensor *y = NULL;
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    (void)gantry_tape_watch(tape, in[0]);
    (void)gantry_custom_gradient(s, forward, backward, &nest->at[level], in, 1, &y, 1);
    (void)gantry_tape_gradient(tape, y, NULL, &(gantry_source_t){.tensor = in[0]}, 1, NULL, out);
    gantry_tape_end(tape);
}

static void replica(gantry_scope_t *s, size_t number_of_it, void *user) {
    level_t *level = user;
    tensor *out[1] = {NULL};
    (void)number_of_it;
    body(s, &level->nest->given, out, user);
}

static void by_replica(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in,
                       tensor **out) {
    (void)gantry_strategy_run(nest->strategy, s, replica, &nest->at[level]);
    out[0] = in[0];
}

/* All in turn. */
static void by_all(gantry_scope_t *s, nest_t *nest, int level, tensor *const *in, tensor **out) {
    static const deepen_fn all[] = {by_cond, by_while, by_case, by_call, by_forward};
    all[(size_t)level % (sizeof all / sizeof all[0])](s, nest, level, in, out);
}

/* ---- a nest on a small thread ---- */

static void outermost(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    nest_t *nest = user;
    gantry_tape_t *tape = nest->has_gradient ? gantry_tape_begin(s, NULL) : NULL;
    if (tape) (void)gantry_tape_watch(tape, in[0]);
    nest->deepen(s, nest, 1, in, out);
    if (tape && gantry_scope_status(s) == GANTRY_OK)
        (void)gantry_tape_gradient(tape, out[0], NULL, &(gantry_source_t){.tensor = in[0]}, 1, NULL,
                                   out);
    gantry_tape_end(tape);
}

static void call_and_explain(nest_t *nest, gantry_scope_t *s, gantry_function_t *function) {
    static const gantry_explain_form_t forms[] = {GANTRY_EXPLAIN_TEXT, GANTRY_EXPLAIN_JSON,
                                                  GANTRY_EXPLAIN_GRAPHVIZ};
    static char text[1 << 20];
    tensor *out[1] = {NULL};
    (void)gantry_function_call(s, function, &nest->given, 1, out, 1);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; ++i) {
        size_t needed;
        const gantry_status_t status =
            gantry_function_explain(function, forms[i], text, sizeof text, &needed);
        if (status != GANTRY_OK) (void)gantry_scope_fail(s, status, gantry_last_message());
    }
}

static void run_nest(nest_t *nest, gantry_scope_t *s) {
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(2)};
    const float elements[] = {0.5f, 0.75f};
    tensor *out[1] = {NULL};
    gantry_function_t *function = NULL;
    nest->given = gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(2), elements, sizeof elements);
    if (!nest->is_traced) {
        outermost(s, &nest->given, out, nest);
        return;
    }
    const gantry_status_t status = gantry_function_trace(fixture.runtime, "nest", outermost, nest,
                                                         &spec, 1, 1, NULL, &function);
    if (status == GANTRY_OK)
        call_and_explain(nest, s, function);
    else
        (void)gantry_scope_fail(s, status, gantry_last_message());
    gantry_function_release(function);
}

static void *on_thread(void *data) {
    nest_t *nest = data;
    const char here = 0;
    nest->stack = &here;
    gantry_scope_t *s = gantry_scope_begin(fixture.runtime, NULL);
    run_nest(nest, s);
    (void)snprintf(nest->message, sizeof nest->message, "%s", gantry_scope_message(s));
    nest->status = gantry_scope_end(s);
    return NULL;
}

/* Outside: each inlines the next one, which is there. */
static void trace_functions(nest_t *nest) {
    const gantry_input_spec_t open = {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {-1}}};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = nest->runs_eagerly};
    for (int i = 0; i <= MOST_LEVELS; ++i) {
        nest->at[i] = (level_t){nest, i};
        assert_int_equal(gantry_function_trace(fixture.runtime, "level", body, &nest->at[i], &open,
                                               1, 1, &options, &nest->functions[i]),
                         GANTRY_OK);
    }
}

static void run_on_small_thread(nest_t *nest, int levels) {
    pthread_attr_t attributes;
    pthread_t thread;
    nest->levels = levels;
    nest->strategy = gantry_mirrored_strategy(fixture.runtime, NULL, 0);
    trace_functions(nest);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, on_thread, nest), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attributes);
    for (int i = 0; i <= MOST_LEVELS; ++i) gantry_function_release(nest->functions[i]);
    gantry_strategy_release(nest->strategy);
}

/* own: levels that are taken besides those of the nest. expected: with as many as fit. */
static void check_nest(const nest_t *kind, int own, gantry_status_t expected) {
    nest_t nest = *kind;
    run_on_small_thread(&nest, GANTRY_MAX_NESTING - own);
    print_message("%s: %zu bytes of stack\n", nest.name, nest.most_stack);
    if (nest.status != expected)
        fail_msg("%s: %s: %s", nest.name, gantry_status_name(nest.status), nest.message);
    nest = *kind;
    run_on_small_thread(&nest, GANTRY_MAX_NESTING - own + 1);
    if (nest.status != GANTRY_FAILED_PRECONDITION || !strstr(nest.message, "GANTRY_MAX_NESTING"))
        fail_msg("%s, a level more: %s: %s", nest.name, gantry_status_name(nest.status),
                 nest.message);
}

TEST(bodies_where_ops_run) {
    static const nest_t kinds[] = {
        {.name = "cond", .deepen = by_cond},
        {.name = "case", .deepen = by_case},
        {.name = "while", .deepen = by_while},
        {.name = "traced", .deepen = by_trace},
        {.name = "forward", .deepen = by_forward},
        {.name = "replica", .deepen = by_replica},
        {.name = "backward", .deepen = by_backward},
        {.name = "all", .deepen = by_all},
        {.name = "eager functions", .deepen = by_call, .runs_eagerly = true}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) check_nest(&kinds[i], 0, GANTRY_OK);
}

TEST(bodies_in_a_function) {
    static const nest_t kinds[] = {
        {.name = "cond in a function", .deepen = by_cond, .is_traced = true},
        {.name = "case in a function", .deepen = by_case, .is_traced = true},
        {.name = "while in a function", .deepen = by_while, .is_traced = true},
        {.name = "functions in a function", .deepen = by_call, .is_traced = true},
        {.name = "traced in a function", .deepen = by_trace, .is_traced = true},
        {.name = "forward in a function", .deepen = by_forward, .is_traced = true},
        {.name = "all in a function", .deepen = by_all, .is_traced = true}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) check_nest(&kinds[i], 1, GANTRY_OK);
}

/* The gradients of a nest: a rule runs the body again, and in it the rule of the next level. */
TEST(gradients_of_bodies) {
    static const nest_t kinds[] = {{.name = "gradient of cond", .deepen = by_cond},
                                   {.name = "gradient of case", .deepen = by_case},
                                   {.name = "gradient of while", .deepen = by_while}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        nest_t nest = kinds[i];
        nest.is_traced = nest.has_gradient = true;
        check_nest(&nest, 2, GANTRY_CANCELLED);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
