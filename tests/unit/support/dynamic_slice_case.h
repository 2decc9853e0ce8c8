/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of boxes in loops, branches and functions: what they give, and how much memory the call
 * takes for it. An update that is not in place takes memory for the whole. Header only. */
#ifndef TESTS_DYNAMIC_SLICE_CASE_H
#define TESTS_DYNAMIC_SLICE_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gantry/gantry.h>

#define BOX_ROWS 512
#define BOX_COLUMNS 64
#define BOX_STEPS 32
#define BOX_WHOLE_BYTES ((uint64_t)BOX_ROWS * BOX_COLUMNS * sizeof(float))

typedef const gantry_tensor_t tensor;

static inline tensor *box_i32(gantry_scope_t *s, int32_t value) {
    return gantry_scalar_i32(s, value);
}

/* Where row `step` begins. */
static inline tensor *box_start(gantry_scope_t *s, tensor *step) {
    return gantry_pack(s, (tensor *[]){step, box_i32(s, 0)}, 2, 0);
}

/* Row `step` of the whole becomes step + 1 + what is added. */
static inline tensor *box_update(gantry_scope_t *s, tensor *whole, tensor *step, tensor *added) {
    tensor *value =
        gantry_add(s, gantry_cast(s, gantry_add(s, step, box_i32(s, 1)), GANTRY_FLOAT32), added);
    tensor *row = gantry_broadcast_to(s, value, GANTRY_SHAPE(1, BOX_COLUMNS));
    return gantry_dynamic_update_slice(s, whole, row, box_start(s, step));
}

static inline tensor *box_zero(gantry_scope_t *s) { return gantry_scalar_f32(s, 0); }

/* ---- bodies of loops: a counter and the whole ---- */

#define BOX_BODY(name) \
    static void box_##name(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user)

BOX_BODY(goes_on) { outputs[0] = gantry_less(s, inputs[0], box_i32(s, *(const int32_t *)user)); }

BOX_BODY(one) {
    (void)user;
    outputs[0] = gantry_add(s, inputs[0], box_i32(s, 1));
    outputs[1] = box_update(s, inputs[1], inputs[0], box_zero(s));
}

/* The row is written, read back, and written again, in another shape in between. */
BOX_BODY(two) {
    (void)user;
    const int64_t row[] = {1, BOX_COLUMNS};
    tensor *first = box_update(s, inputs[1], inputs[0], gantry_scalar_f32(s, -5));
    tensor *flat = gantry_reshape(s, first, GANTRY_SHAPE(BOX_ROWS * BOX_COLUMNS));
    tensor *back = gantry_reshape(s, flat, GANTRY_SHAPE(BOX_ROWS, BOX_COLUMNS));
    tensor *read = gantry_dynamic_slice(s, back, box_start(s, inputs[0]), row);
    tensor *sum = gantry_add(s, read, gantry_scalar_f32(s, 5));
    outputs[0] = gantry_add(s, inputs[0], box_i32(s, 1));
    outputs[1] = gantry_dynamic_update_slice(s, back, sum, box_start(s, inputs[0]));
}

BOX_BODY(keep) {
    (void)s, (void)user;
    outputs[0] = inputs[1];
}

BOX_BODY(write) {
    (void)user;
    outputs[0] = box_update(s, inputs[1], inputs[0], box_zero(s));
}

/* The row is written in a branch. */
BOX_BODY(branching) {
    tensor *always = gantry_less(s, inputs[0], box_i32(s, BOX_ROWS));
    outputs[0] = gantry_add(s, inputs[0], box_i32(s, 1));
    (void)gantry_cond(s, always, box_write, box_keep, user, inputs, 2, outputs + 1, 1);
}

/* A loop of the rows up to twice the counter, in a loop. */
BOX_BODY(inner_goes_on) {
    (void)user;
    outputs[0] = gantry_less(s, inputs[0], inputs[2]);
}

BOX_BODY(inner) {
    box_one(s, inputs, outputs, user);
    outputs[2] = inputs[2];
}

BOX_BODY(nesting) {
    tensor *next = gantry_add(s, inputs[0], box_i32(s, 1));
    tensor *from[] = {inputs[0], inputs[1], next}, *made[3];
    (void)gantry_while(s, box_inner_goes_on, box_inner, user, from, 3, NULL, made);
    outputs[0] = next;
    outputs[1] = made[1];
}

/* The old whole is read after the update: the update must not be in place. */
BOX_BODY(reading_old) {
    (void)user;
    const int64_t row[] = {1, BOX_COLUMNS};
    tensor *made = box_update(s, inputs[1], inputs[0], box_zero(s));
    tensor *old = gantry_dynamic_slice(s, inputs[1], box_start(s, inputs[0]), row);
    tensor *sum = gantry_add(s, gantry_mul(s, old, old),
                             gantry_dynamic_slice(s, made, box_start(s, inputs[0]), row));
    outputs[0] = gantry_add(s, inputs[0], box_i32(s, 1));
    outputs[1] = gantry_dynamic_update_slice(s, made, sum, box_start(s, inputs[0]));
}

/* ---- functions ---- */

typedef struct box_loop_t {
    gantry_function_body_fn body;
    bool is_given; /* the loop begins with the argument; else with a tensor of the function's own */
    int32_t steps;
} box_loop_t;

static void box_looping(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    box_loop_t *loop = user;
    tensor *begin = loop->is_given ? inputs[0] : gantry_mul(s, inputs[0], box_zero(s));
    tensor *from[] = {box_i32(s, 0), begin}, *made[2] = {NULL, NULL};
    (void)gantry_while(s, box_goes_on, loop->body, &loop->steps, from, 2, NULL, made);
    outputs[0] = made[1];
}

/* Without a loop: the function's own whole is updated several times, and is the result. */
static void box_straight(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    const box_loop_t *loop = user;
    tensor *whole = gantry_mul(s, inputs[0], box_zero(s));
    for (int32_t i = 0; i < loop->steps; ++i)
        whole = box_update(s, whole, box_i32(s, i), box_zero(s));
    outputs[0] = whole;
}

typedef struct box_case_t {
    const char *name;
    gantry_function_body_fn function;
    box_loop_t loop;
    uint64_t most_wholes; /* memory of so many wholes is allocated in a call, and a little more */
} box_case_t;

static const box_case_t box_cases[] = {
    {"one update a step", box_looping, {box_one, false, BOX_STEPS}, 1},
    {"a begin that the caller holds", box_looping, {box_one, true, BOX_STEPS}, 1},
    {"two updates a step", box_looping, {box_two, false, BOX_STEPS}, 1},
    {"a branch", box_looping, {box_branching, false, BOX_STEPS}, 1},
    {"a loop in a loop", box_looping, {box_nesting, false, BOX_STEPS}, 1},
    {"the old value is read", box_looping, {box_reading_old, false, BOX_STEPS}, BOX_STEPS + 1},
    {"no loop", box_straight, {NULL, false, 6}, 1}};

static float box_values[BOX_ROWS * BOX_COLUMNS];

static inline void box_expect(tensor *whole, int32_t steps, float rest) {
    if (gantry_tensor_read(whole, box_values, sizeof box_values) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int32_t i = 0; i < BOX_ROWS * BOX_COLUMNS; ++i) {
        const int32_t row = i / BOX_COLUMNS;
        const float wanted = row < steps ? (float)(row + 1) : rest;
        if (box_values[i] < wanted || box_values[i] > wanted)
            fail_msg("element %d is %g, not %g", i, (double)box_values[i], (double)wanted);
    }
}

/* The bytes that the profile saw allocated. */
static inline uint64_t box_allocated(gantry_runtime_t *runtime) {
    gantry_profile_row_t sum = {.struct_size = sizeof sum};
    assert_int_equal(gantry_profile_stop(runtime), GANTRY_OK);
    assert_int_equal(gantry_profile_read(runtime, GANTRY_PROFILE_TOTAL, &sum), GANTRY_OK);
    return sum.allocated_bytes;
}

/* A whole of one value. */
static inline tensor *box_whole(gantry_scope_t *s, float value) {
    return gantry_fill(s, GANTRY_SHAPE(BOX_ROWS, BOX_COLUMNS), gantry_scalar_f32(s, value));
}

/* No whole is planned in an arena, from which an update for a result would be a copy. */
static inline void box_expect_plan(gantry_function_t *function, const char *name) {
    gantry_function_memory_t memory[2] = {{.struct_size = sizeof *memory}};
    size_t count;
    assert_int_equal(gantry_function_get_memory(function, 2, memory, &count), GANTRY_OK);
    for (size_t i = 0; i < count && i < 2; ++i) {
        if (memory[i].planned_bytes >= BOX_WHOLE_BYTES)
            fail_msg("%s: %g wholes are planned", name,
                     (double)memory[i].planned_bytes / (double)BOX_WHOLE_BYTES);
    }
}

static inline void box_check(gantry_runtime_t *runtime, const char *device, const box_case_t *c,
                             uint32_t passes_off) {
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(BOX_ROWS, BOX_COLUMNS)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    const float rest = c->loop.is_given ? 7 : 0;
    box_loop_t loop = c->loop;
    gantry_function_t *function;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    if (gantry_function_trace(runtime, "box", c->function, &loop, &input, 1, 1, &options,
                              &function) != GANTRY_OK)
        fail_msg("%s: %s", c->name, gantry_last_message());
    tensor *given = box_whole(scope, 7), *made;
    if (passes_off == 0) box_expect_plan(function, c->name);
    for (int call = 0; call < 2; ++call) {
        assert_int_equal(gantry_profile_start(runtime, GANTRY_PROFILE_ON), GANTRY_OK);
        if (gantry_function_call(scope, function, &given, 1, &made, 1) != GANTRY_OK)
            fail_msg("%s: %s", c->name, gantry_scope_message(scope));
        box_expect(made, loop.steps, rest);
        const uint64_t bytes = box_allocated(runtime);
        if (call == 1 && passes_off == 0 && bytes > (c->most_wholes + 1) * BOX_WHOLE_BYTES)
            fail_msg("%s: a call allocates %g wholes", c->name,
                     (double)bytes / (double)BOX_WHOLE_BYTES);
        box_expect(given, 0, 7);
        gantry_tensor_drop(scope, made);
    }
    gantry_function_release(function);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static inline void box_check_all(gantry_runtime_t *runtime, const char *device) {
    for (size_t i = 0; i < sizeof box_cases / sizeof box_cases[0]; ++i) {
        box_check(runtime, device, &box_cases[i], 0);
        box_check(runtime, device, &box_cases[i], GANTRY_PASS_ALL);
    }
}

/* ---- eager ---- */

static inline void box_check_donated(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    tensor *whole = box_whole(scope, 7);
    assert_int_equal(gantry_profile_start(runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    for (int32_t i = 0; i < 8; ++i)
        whole = box_update(scope, gantry_tensor_donate(scope, whole), box_i32(scope, i),
                           box_zero(scope));
    box_expect(whole, 8, 7);
    assert_true(box_allocated(runtime) < BOX_WHOLE_BYTES);
    tensor *next = box_update(scope, whole, box_i32(scope, 8), box_zero(scope));
    box_expect(whole, 8, 7);
    box_expect(next, 9, 7);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

#endif
