/* SPDX-License-Identifier: Apache-2.0 */
/* Checks random draws with a state, and generators: TensorFlow's sequences, and the promises of a
 * state. */
#include <gantry/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* ---- recorded sequences ---- */

static const gantry_tensor_t *make_logits(gantry_scope_t *scope) {
    const float values[] = {0.5f, -1.0f, 2.0f, 0.0f, 3.0f, -INFINITY, 1.0f, 2.5f};
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 4), values, sizeof values);
}

static const gantry_tensor_t *make_rows(gantry_scope_t *scope) {
    int32_t values[12];
    for (int32_t i = 0; i < 12; ++i) values[i] = i;
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(6, 2), values, sizeof values);
}

/* A tensor of a floating type, rounded from float64. */
static const gantry_tensor_t *make_bound(gantry_scope_t *scope, gantry_dtype_t dtype,
                                         gantry_shape_t shape, const double *values) {
    return gantry_cast(scope,
                       gantry_constant(scope, GANTRY_FLOAT64, shape, values,
                                       (size_t)gantry_shape_elements(&shape) * sizeof *values),
                       dtype);
}

/* text: a tensor in the form of golden files. */
static void check_draw(conformance_t *c, const char *what, const gantry_tensor_t *drawn,
                       int64_t ulp, const char *text) {
    const golden_tolerance_t tolerance = {.exact = ulp == 0, .ulp = ulp};
    golden_tensor_t got, expected;
    char why[256] = "another type or shape";
    if (!drawn || conformance_read(drawn, &got) != GANTRY_OK) {
        conformance_fail(c, "%.120s: %s", what, gantry_last_message());
        return;
    }
    bool fits = golden_read_tensor(text, &expected, why, sizeof why) == 0 &&
                got.dtype == expected.dtype && gantry_shape_equal(&got.shape, &expected.shape);
    CHECK(c, fits && golden_compare(&expected, &tolerance, got.data, why, sizeof why) == 0,
          "%.120s: %s", what, why);
    free(expected.data);
    free(got.data);
}

#define LOGITS(scope) make_logits(scope)
#define ROWS(scope) make_rows(scope)
#define BOUND(scope, dtype, shape, ...) \
    make_bound(scope, dtype, shape, (const double[]){__VA_ARGS__})
#define DRAW(expression, ulp, text) check_draw(c, #expression, expression, ulp, text);
#define SET_SEED(seed) \
    CHECK(c, gantry_set_seed(c->runtime, seed) == GANTRY_OK, "set_seed: %s", gantry_last_message());
#define GENERATOR(seed)                                                                           \
    gantry_generator_release(g);                                                                  \
    CHECK(c, gantry_generator_from_seed(c->runtime, seed, GANTRY_RANDOM_PHILOX, &g) == GANTRY_OK, \
          "from_seed");

static void sequences_are_tensorflows(conformance_t *c) {
    gantry_scope_t *s = conformance_scope(c);
    gantry_generator_t *g = NULL;
#include "draw_sequences.inc"
    gantry_generator_release(g);
    conformance_end_scope(c, s, GANTRY_OK);
}

/* ---- promises of a state ---- */

/* Writes 20 draws of 100 numbers to data; ops with a seed and ops without one alternate. */
static void draw_some(conformance_t *c, float data[2000]) {
    gantry_scope_t *scope = conformance_scope(c);
    const int64_t seed = 5;
    for (int i = 0; i < 20; ++i) {
        const gantry_tensor_t *t =
            gantry_random_uniform(scope, GANTRY_SHAPE(100), GANTRY_FLOAT32, i % 2 ? &seed : NULL);
        CHECK(c, t && gantry_tensor_read(t, data + (size_t)i * 100, 400) == GANTRY_OK, "%s",
              gantry_last_message());
    }
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void the_same_seed_gives_the_same_draws(conformance_t *c) {
    static float first[2000], second[2000];
    gantry_set_seed(c->runtime, 77);
    draw_some(c, first);
    gantry_set_seed(c->runtime, 77);
    draw_some(c, second);
    CHECK(c, memcmp(first, second, sizeof first) == 0, "two runs with one seed differ");
    draw_some(c, second);
    for (int i = 0; i < 20; ++i) {
        size_t at = (size_t)i * 100;
        CHECK(c, memcmp(first + at, second + at, 400) != 0, "draw %d repeats an earlier draw", i);
    }
}

static void a_saved_state_goes_on_where_it_was_saved(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    gantry_generator_t *g = NULL, *other = NULL;
    float first[3] = {0}, second[3] = {0};
    gantry_generator_from_entropy(c->runtime, GANTRY_RANDOM_AUTO, &g);
    gantry_generator_from_seed(c->runtime, 1, GANTRY_RANDOM_PHILOX, &other);
    const gantry_tensor_t *saved = gantry_generator_read_state(scope, g);
    const gantry_tensor_t *drawn =
        gantry_generator_uniform(scope, g, GANTRY_SHAPE(3), GANTRY_FLOAT32);
    CHECK(c, gantry_generator_assign_state(scope, other, saved) == GANTRY_OK, "%s",
          gantry_scope_message(scope));
    const gantry_tensor_t *again =
        gantry_generator_uniform(scope, other, GANTRY_SHAPE(3), GANTRY_FLOAT32);
    CHECK(c, drawn && gantry_tensor_read(drawn, first, sizeof first) == GANTRY_OK, "%s",
          gantry_scope_message(scope));
    CHECK(c, again && gantry_tensor_read(again, second, sizeof second) == GANTRY_OK, "%s",
          gantry_scope_message(scope));
    CHECK(c, memcmp(first, second, sizeof first) == 0, "the numbers differ");
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_generator_release(g);
    gantry_generator_release(other);
}

static void a_generators_shuffle_and_classes_are_its_own(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    gantry_generator_t *g = NULL;
    int32_t rows[12] = {0}, sum = 0;
    int64_t classes[6] = {-1};
    uint64_t state[3];
    gantry_generator_from_seed(c->runtime, 8, GANTRY_RANDOM_PHILOX, &g);
    const gantry_tensor_t *shuffled = gantry_generator_shuffle(scope, g, make_rows(scope));
    const gantry_tensor_t *drawn =
        gantry_generator_categorical(scope, g, make_logits(scope), 3, GANTRY_INT64);
    CHECK(c, shuffled && gantry_tensor_read(shuffled, rows, sizeof rows) == GANTRY_OK, "%s",
          gantry_scope_message(scope));
    CHECK(c, drawn && gantry_tensor_read(drawn, classes, sizeof classes) == GANTRY_OK, "%s",
          gantry_scope_message(scope));
    for (int i = 0; i < 12; i += 2) {
        CHECK(c, rows[i] % 2 == 0 && rows[i + 1] == rows[i] + 1, "a row was torn apart");
        sum += rows[i];
    }
    CHECK(c, sum == 30, "a row is missing");
    for (int i = 0; i < 6; ++i)
        CHECK(c, classes[i] >= 0 && classes[i] < 4, "class %d", (int)classes[i]);
    for (int i = 3; i < 6; ++i) CHECK(c, classes[i] != 1, "a class of no weight was drawn");
    gantry_generator_get_state(g, state);
    CHECK(c, state[0] == 8 + 256 * (6 + 6) && state[1] == 0 && state[2] == 0, "the counter is %llu",
          (unsigned long long)state[0]);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_generator_release(g);
}

void conformance_run_draws(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"sequences_are_tensorflows", sequences_are_tensorflows},
        {"the_same_seed_gives_the_same_draws", the_same_seed_gives_the_same_draws},
        {"a_saved_state_goes_on_where_it_was_saved", a_saved_state_goes_on_where_it_was_saved},
        {"a_generators_shuffle_and_classes_are_its_own",
         a_generators_shuffle_and_classes_are_its_own},
    };
    conformance_run_checks(c, "draw", checks, sizeof checks / sizeof checks[0]);
}
