/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The gradient of a function whose result has a size that depends on data is traced once
 * for all sizes, takes the same memory for each, and has the right values.
 * Promise: The gradient of a function with a branch is right where one body gives an open size and
 * another a known one.
 * Promise: Of the sizes with which a function is called, a gradient keeps what it made for the
 * newest 16, and makes the others again with the same values. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "control_program.h"
#include "test.h"
#include "train_heap.h"

typedef control_tensor_t tensor;

enum { ELEMENTS = 100, MOST_KEPT = 16 };

static runtime_fixture_t fixture;
static gantry_runtime_t *runtime;

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 0);
    runtime = fixture.runtime;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

/* ---- values ---- */

static tensor *vector(gantry_scope_t *s, const double *values, int64_t count) {
    return gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(count), values,
                           (size_t)count * sizeof *values);
}

/* i / 10 for each element, shifted. */
static tensor *ramp(gantry_scope_t *s, int64_t count, double shift) {
    double values[ELEMENTS];
    for (int64_t i = 0; i < count; ++i) values[i] = (double)i / 10 + shift;
    return vector(s, values, count);
}

static void read_all(tensor *given, double *values, int64_t count) {
    assert_non_null(given);
    assert_int_equal(gantry_tensor_elements(given), count);
    assert_int_equal(gantry_tensor_read(given, values, (size_t)count * sizeof *values), GANTRY_OK);
}

/* A function of x and a limit, and how often its body ran. */
typedef struct kept_t {
    gantry_function_t *function;
    int64_t count; /* elements of x */
    int runs;
} kept_t;

static double sum_of(gantry_scope_t *s, const kept_t *kept, const double *x, double limit) {
    double sum;
    tensor *y = NULL, *inputs[] = {vector(s, x, kept->count), control_number(s, limit)};
    (void)gantry_function_call(s, kept->function, inputs, 2, &y, 1);
    assert_int_equal(gantry_tensor_read(gantry_sum(s, y, NULL), &sum, sizeof sum), GANTRY_OK);
    return sum;
}

/* Compares with central differences. */
static void expect_differences(gantry_scope_t *s, const kept_t *kept, tensor *x, double limit,
                               tensor *gradient) {
    const double step = 1e-5;
    double at[ELEMENTS], found[ELEMENTS];
    read_all(x, at, kept->count);
    read_all(gradient, found, kept->count);
    for (int64_t i = 0; i < kept->count; ++i) {
        const double here = at[i];
        at[i] = here + step;
        const double above = sum_of(s, kept, at, limit);
        at[i] = here - step;
        const double below = sum_of(s, kept, at, limit);
        at[i] = here;
        const double expected = (above - below) / (2 * step);
        if (fabs(found[i] - expected) > 1e-5)
            fail_msg("element %d: %.17g, not %.17g", (int)i, found[i], expected);
    }
}

/* The gradient of the sum of f with regard to x. */
static tensor *differentiate(gantry_scope_t *s, const kept_t *kept, tensor *x, double limit) {
    tensor *y = NULL, *dx = NULL, *inputs[] = {x, control_number(s, limit)};
    const gantry_source_t source = {.tensor = x};
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    assert_int_equal(gantry_tape_watch(tape, x), GANTRY_OK);
    (void)gantry_function_call(s, kept->function, inputs, 2, &y, 1);
    if (gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &dx) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
    gantry_tape_end(tape);
    return dx;
}

static gantry_function_t *trace(gantry_function_body_fn body, void *user, int64_t count) {
    const gantry_input_spec_t specs[] = {
        {"x", GANTRY_FLOAT64, {.rank = 1, .dims = {count}}},
        {"limit", GANTRY_FLOAT64, {.rank = 0}},
    };
    gantry_function_t *function = NULL;
    if (gantry_function_trace(runtime, "f", body, user, specs, 2, 1, NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

/* ---- an output of an open size ---- */

/* The cubes of the elements below the limit. */
static void cubes_below(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    kept_t *kept = user;
    ++kept->runs;
    tensor *rows = gantry_boolean_mask(s, in[0], gantry_less(s, in[0], in[1]), 0);
    out[0] = gantry_mul(s, gantry_mul(s, rows, rows), rows);
}

/* A limit for `size` elements of the ramp. */
static double limit_for(int size) { return (double)size / 10 - 0.05; }

static void expect_cubes(tensor *gradient, int64_t size, int64_t count) {
    double found[ELEMENTS];
    read_all(gradient, found, count);
    for (int64_t i = 0; i < count; ++i) {
        const double x = (double)i / 10, expected = i < size ? 3 * x * x : 0;
        if (fabs(found[i] - expected) > 1e-12)
            fail_msg("size %d, element %d: %.17g, not %.17g", (int)size, (int)i, found[i],
                     expected);
    }
}

TEST(all_sizes_share_one_backward_function) {
    kept_t kept = {.count = ELEMENTS};
    long live = 0;
    int runs = 0;
    kept.function = trace(cubes_below, &kept, ELEMENTS);
    for (int size = 0; size <= ELEMENTS; ++size) {
        gantry_scope_t *s = gantry_scope_begin(runtime, NULL);
        tensor *x = ramp(s, ELEMENTS, 0);
        tensor *dx = differentiate(s, &kept, x, limit_for(size));
        expect_cubes(dx, size, ELEMENTS);
        if (size == 0) runs = kept.runs;
        assert_int_equal(kept.runs, runs);
        if (size % 33 == 1) expect_differences(s, &kept, x, limit_for(size), dx);
        assert_int_equal(gantry_scope_end(s), GANTRY_OK);
        if (size == 0) live = train_heap_live();
        assert_int_equal(train_heap_live(), live);
    }
    gantry_function_release(kept.function);
}

/* d/dx of the sum of squares of 3 x^2: 36 x^3. */
TEST(the_second_order_shares_one_too) {
    kept_t kept = {.count = 8};
    int runs = 0;
    kept.function = trace(cubes_below, &kept, 8);
    for (int size = 0; size <= 8; ++size) {
        gantry_scope_t *s = gantry_scope_begin(runtime, NULL);
        tensor *x = ramp(s, 8, 0), *second = NULL;
        const gantry_source_t source = {.tensor = x};
        gantry_tape_t *outer = gantry_tape_begin(s, NULL);
        assert_int_equal(gantry_tape_watch(outer, x), GANTRY_OK);
        tensor *first = differentiate(s, &kept, x, limit_for(size));
        tensor *target = gantry_mul(s, first, first);
        if (gantry_tape_gradient(outer, target, NULL, &source, 1, NULL, &second) != GANTRY_OK)
            fail_msg("%s", gantry_scope_message(s));
        gantry_tape_end(outer);
        double found[8];
        read_all(second, found, 8);
        for (int i = 0; i < 8; ++i) {
            const double at = (double)i / 10, expected = i < size ? 36 * at * at * at : 0;
            assert_true(fabs(found[i] - expected) < 1e-12);
        }
        if (size == 0) runs = kept.runs;
        assert_int_equal(kept.runs, runs);
        assert_int_equal(gantry_scope_end(s), GANTRY_OK);
    }
    gantry_function_release(kept.function);
}

/* ---- a branch with an open and a known size ---- */

static void keep_small(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    tensor *rows = gantry_boolean_mask(s, in[0], gantry_less(s, in[0], in[1]), 0);
    out[0] = gantry_mul(s, rows, rows);
}

static void keep_all(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_mul(s, gantry_mul(s, in[0], in[0]), in[0]);
}

static void by_cond(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    tensor *is_first = gantry_less(s, in[1], control_number(s, 1));
    ++((kept_t *)user)->runs;
    (void)gantry_cond(s, is_first, keep_small, keep_all, NULL, in, 2, out, 1);
}

static void by_cond_the_other_way(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    tensor *is_first = gantry_less(s, in[1], control_number(s, 1));
    ++((kept_t *)user)->runs;
    (void)gantry_cond(s, is_first, keep_all, keep_small, NULL, in, 2, out, 1);
}

static void by_case(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    static const gantry_function_body_fn bodies[] = {keep_small, keep_all, keep_small};
    ++((kept_t *)user)->runs;
    (void)gantry_case(s, gantry_cast(s, in[1], GANTRY_INT32), bodies, 3, NULL, in, 2, out, 1);
}

TEST(branches_may_give_open_and_known_sizes) {
    static const gantry_function_body_fn bodies[] = {by_cond, by_cond_the_other_way, by_case};
    for (size_t k = 0; k < sizeof bodies / sizeof bodies[0]; ++k) {
        kept_t kept = {.count = 8};
        int runs = 0;
        kept.function = trace(bodies[k], &kept, 8);
        for (int i = 0; i < 5; ++i) {
            const double limit = 0.27 + 0.55 * i; /* 0, 0, 1, 1, 2 as numbers of bodies */
            gantry_scope_t *s = gantry_scope_begin(runtime, NULL);
            tensor *x = ramp(s, 8, 0.11), *dx = differentiate(s, &kept, x, limit);
            expect_differences(s, &kept, x, limit, dx);
            if (i == 0) runs = kept.runs;
            assert_int_equal(kept.runs, runs);
            assert_int_equal(gantry_scope_end(s), GANTRY_OK);
        }
        gantry_function_release(kept.function);
    }
}

/* ---- inputs of many sizes ---- */

static void check_size(kept_t *kept, int64_t count) {
    gantry_scope_t *s = gantry_scope_begin(runtime, NULL);
    expect_cubes(differentiate(s, kept, ramp(s, count, 0), limit_for(3)), 3, count);
    assert_int_equal(gantry_scope_end(s), GANTRY_OK);
}

TEST(the_newest_sizes_are_kept) {
    kept_t kept = {.count = -1};
    kept.function = trace(cubes_below, &kept, -1);
    for (int64_t count = 1; count <= MOST_KEPT; ++count) check_size(&kept, count);
    const long full = train_heap_live();
    for (int64_t count = MOST_KEPT + 1; count <= ELEMENTS; ++count) check_size(&kept, count);
    assert_int_equal(train_heap_live(), full);
    const int runs = kept.runs;
    for (int64_t count = ELEMENTS - MOST_KEPT + 1; count <= ELEMENTS; ++count)
        check_size(&kept, count);
    assert_int_equal(kept.runs, runs);
    check_size(&kept, 4);
    assert_true(kept.runs > runs);
    gantry_function_release(kept.function);
}

/* ---- an outer tape holds what made room ---- */

TEST(tapes_hold_functions_that_made_room) {
    kept_t kept = {.count = -1};
    tensor *second = NULL;
    double found[4];
    kept.function = trace(cubes_below, &kept, -1);
    gantry_scope_t *s = gantry_scope_begin(runtime, NULL);
    tensor *x = ramp(s, 4, 1);
    const gantry_source_t source = {.tensor = x};
    gantry_tape_t *outer = gantry_tape_begin(s, NULL);
    assert_int_equal(gantry_tape_watch(outer, x), GANTRY_OK);
    tensor *first = differentiate(s, &kept, x, 9);
    gantry_tape_pause(outer, true);
    for (int64_t count = 10; count <= 10 + MOST_KEPT; ++count) check_size(&kept, count);
    gantry_tape_pause(outer, false);
    gantry_function_release(kept.function);
    if (gantry_tape_gradient(outer, first, NULL, &source, 1, NULL, &second) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
    read_all(second, found, 4);
    for (int i = 0; i < 4; ++i) assert_true(fabs(found[i] - 6 * ((double)i / 10 + 1)) < 1e-12);
    gantry_tape_end(outer);
    assert_int_equal(gantry_scope_end(s), GANTRY_OK);
}

/* The outer tape saw the gradient, and not the call. */
TEST(tapes_hold_the_function_of_a_gradient) {
    kept_t kept = {.count = 4};
    tensor *y = NULL, *first = NULL, *second = NULL;
    double found[4];
    kept.function = trace(cubes_below, &kept, 4);
    gantry_scope_t *s = gantry_scope_begin(runtime, NULL);
    tensor *x = ramp(s, 4, 1), *inputs[] = {x, control_number(s, 9)}, *dy = ramp(s, 4, 2);
    const gantry_source_t of_x = {.tensor = x}, of_dy = {.tensor = dy};
    gantry_tape_t *inner = gantry_tape_begin(s, NULL);
    assert_int_equal(gantry_tape_watch(inner, x), GANTRY_OK);
    assert_int_equal(gantry_function_call(s, kept.function, inputs, 2, &y, 1), GANTRY_OK);
    gantry_tape_t *outer = gantry_tape_begin(s, NULL);
    assert_int_equal(gantry_tape_watch(outer, dy), GANTRY_OK);
    assert_int_equal(gantry_tape_gradient(inner, y, dy, &of_x, 1, NULL, &first), GANTRY_OK);
    gantry_tape_end(inner);
    gantry_function_release(kept.function);
    if (gantry_tape_gradient(outer, first, NULL, &of_dy, 1, NULL, &second) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
    read_all(second, found, 4);
    for (int i = 0; i < 4; ++i) {
        const double at = (double)i / 10 + 1;
        assert_true(fabs(found[i] - 3 * at * at) < 1e-12);
    }
    gantry_tape_end(outer);
    assert_int_equal(gantry_scope_end(s), GANTRY_OK);
}

/* ---- memory ---- */

static gantry_status_t compute_once(void *unused) {
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT64, {.rank = 1, .dims = {4}}},
                                         {"limit", GANTRY_FLOAT64, {.rank = 0}}};
    kept_t kept = {.count = 4};
    (void)unused;
    if (gantry_function_trace(runtime, "f", cubes_below, &kept, specs, 2, 1, NULL,
                              &kept.function) != GANTRY_OK)
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry_scope_t *s = gantry_scope_begin(runtime, NULL);
    tensor *x = ramp(s, 4, 0), *inputs[] = {x, control_number(s, 9)};
    tensor *y = NULL, *first = NULL, *second = NULL;
    const gantry_source_t source = {.tensor = x};
    gantry_tape_t *outer = gantry_tape_begin(s, NULL), *tape = gantry_tape_begin(s, NULL);
    if (outer) (void)gantry_tape_watch(outer, x);
    if (tape) (void)gantry_tape_watch(tape, x);
    if (gantry_function_call(s, kept.function, inputs, 2, &y, 1) == GANTRY_OK)
        (void)gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &first);
    if (first) (void)gantry_tape_gradient(outer, first, NULL, &source, 1, NULL, &second);
    gantry_tape_end(tape);
    gantry_tape_end(outer);
    const gantry_status_t status = gantry_scope_end(s);
    gantry_function_release(kept.function);
    return status;
}

/* A trace for uses that fails is made again for the gradient: then the work succeeds. */
TEST(failing_allocations_leak_nothing) {
    assert_int_equal(compute_once(NULL), GANTRY_OK);
    const long count = train_heap_count();
    for (long i = 0; i < count; ++i) {
        train_heap_reset(i);
        const gantry_status_t status = compute_once(NULL);
        if (status != GANTRY_OK) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(train_heap_live(), 0);
    }
    train_heap_reset(-1);
}

int main(void) { return test_main_each(set_up, tear_down); }
