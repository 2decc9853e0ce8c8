/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The gradient of order n of L loops inside each other takes L + min(n, L) levels of
 * GANTRY_MAX_NESTING; branches take one each, in every order; one level less is refused. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include <gantry_train/train.h>

#include "test.h"
#include "train_fixture.h"

typedef const gantry_tensor_t tensor;

enum { MOST_LEVELS = 6 };

/* Branches and loops inside each other, the outermost first: "wb" is a branch in a loop. */
typedef struct nest_t {
    const char *kinds;
    int order; /* of the gradient; 0: none */
} nest_t;

typedef struct level_t {
    const nest_t *nest;
    int number;
} level_t;

/* Functions inside each other, which take the levels that are left over. */
typedef struct outer_t {
    const nest_t *nest;
    gantry_function_t *inner; /* NULL: the nest begins */
} outer_t;

/* ---- the nest ---- */

static void run_level(gantry_scope_t *s, const nest_t *nest, int number, tensor *const *in,
                      tensor **out);

static void once(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_less(s, in[1], gantry_scalar_i32(s, 1));
}

static void negative(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_neg(s, in[0]);
}

static void next_level(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const level_t *level = user;
    run_level(s, level->nest, level->number + 1, in, out);
}

static void step(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    out[1] = gantry_add(s, in[1], gantry_scalar_i32(s, 1));
    next_level(s, in, out, user);
}

static void run_level(gantry_scope_t *s, const nest_t *nest, int number, tensor *const *in,
                      tensor **out) {
    static level_t levels[MOST_LEVELS + 1];
    levels[number] = (level_t){nest, number};
    if (nest->kinds[number] == 'w') {
        tensor *values[] = {in[0], gantry_scalar_i32(s, 0)};
        (void)gantry_while(s, once, step, &levels[number], values, 2, NULL, values);
        out[0] = values[0];
    } else if (nest->kinds[number] == 'b') {
        tensor *yes = gantry_greater(s, gantry_sum(s, in[0], NULL), gantry_scalar_f32(s, -1));
        (void)gantry_cond(s, yes, next_level, negative, &levels[number], in, 1, out, 1);
    } else {
        out[0] = gantry_exp(s, in[0]);
    }
}

/* The gradient of that order of the nest, with regard to x. */
static tensor *differentiate(gantry_scope_t *s, const nest_t *nest, int order, tensor *x) {
    tensor *y = NULL, *dx = NULL;
    gantry_tape_t *tape = order > 0 ? gantry_tape_begin(s, NULL) : NULL;
    if (tape) (void)gantry_tape_watch(tape, x);
    if (order > 1)
        y = differentiate(s, nest, order - 1, x);
    else
        run_level(s, nest, 0, &x, &y);
    if (!tape) return y;
    if (y) (void)gantry_tape_gradient(tape, y, NULL, &(gantry_source_t){.tensor = x}, 1, NULL, &dx);
    gantry_tape_end(tape);
    return dx;
}

static void body(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const outer_t *outer = user;
    if (outer->inner)
        (void)gantry_function_call(s, outer->inner, in, 1, out, 1);
    else
        out[0] = differentiate(s, outer->nest, outer->nest->order, in[0]);
}

/* ---- levels ---- */

/* In `around` functions inside each other. */
static gantry_status_t try_inside(const nest_t *nest, int around, float *out) {
    const gantry_input_spec_t any = {"x", GANTRY_FLOAT32, {.rank = 0}};
    const gantry_function_options_t late = {.struct_size = sizeof late, .runs_eagerly = true};
    outer_t outers[GANTRY_MAX_NESTING];
    gantry_function_t *functions[GANTRY_MAX_NESTING] = {NULL};
    gantry_status_t status = GANTRY_OK;
    for (int i = around - 1; i >= 0 && status == GANTRY_OK; --i) {
        outers[i] = (outer_t){nest, i + 1 < around ? functions[i + 1] : NULL};
        status = gantry_function_trace(fixture.runtime, "f", body, &outers[i], &any, 1, 1,
                                       i > 0 ? &late : NULL, &functions[i]);
    }
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    tensor *x = gantry_scalar_f32(s, 0.5f), *y = NULL;
    if (status == GANTRY_OK) {
        assert_int_equal(gantry_function_call(s, functions[0], &x, 1, &y, 1), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(y, out, sizeof *out), GANTRY_OK);
    }
    for (int i = 0; i < around; ++i) gantry_function_release(functions[i]);
    expect_ended_well(s);
    return status;
}

static void check(const nest_t *nest, int levels) {
    const float expected = 1.6487213f; /* each derivative of exp at 0.5 */
    float found = 0;
    if (try_inside(nest, GANTRY_MAX_NESTING - levels, &found) != GANTRY_OK)
        fail_msg("%s, order %d: %s", nest->kinds, nest->order, gantry_last_message());
    if (!(found > expected - 1e-5f && found < expected + 1e-5f))
        fail_msg("%s, order %d: %g", nest->kinds, nest->order, (double)found);
    if (try_inside(nest, GANTRY_MAX_NESTING - levels + 1, &found) != GANTRY_FAILED_PRECONDITION ||
        !strstr(gantry_last_message(), "GANTRY_MAX_NESTING"))
        fail_msg("%s, order %d, takes fewer than %d levels", nest->kinds, nest->order, levels);
}

TEST(gradients_take_the_levels_that_are_stated) {
    static const char *const kinds[] = {"w",  "ww", "www", "wwww", "b",   "bb",
                                        "bw", "wb", "bwb", "wbw",  "bbww"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        int loops = 0;
        for (const char *at = kinds[i]; *at; ++at) loops += *at == 'w';
        for (int order = 0; order <= 2; ++order) {
            const nest_t nest = {kinds[i], order};
            check(&nest, (int)strlen(kinds[i]) + (order < loops ? order : loops));
        }
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
