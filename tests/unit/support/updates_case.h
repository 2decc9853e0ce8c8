/* SPDX-License-Identifier: Apache-2.0 */
/* Random functions that update variables of many shapes by few programs, with what keeps updates
 * apart in between. Each runs with all passes, without joined updates, and without passes, and the
 * variables and results are compared bit by bit. Header only; one thread. */
#ifndef TESTS_UPDATES_CASE_H
#define TESTS_UPDATES_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#include "function/call/function.h"
#include "planned.h"

enum { UPDATES_MOST = 40, UPDATES_CALLS = 3, UPDATES_LONGEST = 20000 };

typedef struct updates_case_t {
    uint64_t seed, random;
    const char *device;
    uint32_t count;
    bool is_plain; /* nothing keeps the updates apart */
    gantry_shape_t shapes[UPDATES_MOST];
    gantry_variable_t *weights[UPDATES_MOST], *moments[UPDATES_MOST];
    const gantry_tensor_t *gradients[UPDATES_MOST];
} updates_case_t;

static inline uint64_t updates_random(updates_case_t *c, uint64_t below) {
    c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (c->random >> 33) % below;
}

static inline const gantry_tensor_t *updates_numbers(gantry_scope_t *scope, updates_case_t *c,
                                                     const gantry_shape_t *shape) {
    static float values[UPDATES_LONGEST];
    const int64_t count = gantry_shape_elements(shape);
    for (int64_t i = 0; i < count; ++i)
        values[i] = (float)((int64_t)updates_random(c, 4001) - 2000) / 512;
    return gantry_constant(scope, GANTRY_FLOAT32, *shape, values, (size_t)count * sizeof *values);
}

/* Few sizes, so that some variables have the size of others. */
static inline gantry_shape_t updates_shape(updates_case_t *c) {
    static const int64_t rows[] = {1, 1, 3, 17, 100, 101};
    switch (updates_random(c, 4)) {
        case 0: return GANTRY_SHAPE(rows[updates_random(c, 6)]);
        case 1: return GANTRY_SHAPE(rows[updates_random(c, 6)], 64);
        case 2: return GANTRY_SHAPE(rows[updates_random(c, 6)], 11, 17);
        default: return GANTRY_SHAPE(1024 + (int64_t)updates_random(c, 2) * 3333);
    }
}

static inline void updates_init(updates_case_t *c, gantry_scope_t *scope, const char *device,
                                uint64_t seed, uint32_t count) {
    *c = (updates_case_t){.seed = seed, .random = seed * 2 + 1, .device = device, .count = count};
    for (uint32_t i = 0; i < count; ++i) {
        c->shapes[i] = updates_shape(c);
        c->gradients[i] = updates_numbers(scope, c, &c->shapes[i]);
        c->weights[i] =
            gantry_variable_create(scope, updates_numbers(scope, c, &c->shapes[i]), "w");
        c->moments[i] =
            gantry_variable_create(scope, updates_numbers(scope, c, &c->shapes[i]), "m");
        assert_non_null(c->moments[i]);
    }
}

static inline void updates_deinit(updates_case_t *c) {
    for (uint32_t i = 0; i < c->count; ++i) {
        gantry_variable_release(c->weights[i]);
        gantry_variable_release(c->moments[i]);
    }
}

/* What may stand behind the update of variable i. */
static inline void updates_disturb(gantry_scope_t *scope, updates_case_t *c, uint32_t i,
                                   const gantry_tensor_t *updated, const gantry_tensor_t **sum) {
    const uint32_t second = (uint32_t)updates_random(c, c->count);
    gantry_variable_t *variable = c->weights[second];
    switch (updates_random(c, 12)) {
        case 0: /* a variable that an update assigns, or will */
            *sum = gantry_add(scope, *sum,
                              gantry_sum(scope, gantry_variable_read(scope, variable), NULL));
            break;
        case 1: /* assigned twice */
            (void)gantry_variable_assign(
                scope, c->weights[i],
                gantry_mul(scope, gantry_variable_read(scope, c->weights[i]), *sum));
            break;
        case 2: *sum = gantry_add(scope, *sum, gantry_sum(scope, updated, NULL)); break;
        case 3: (void)gantry_variable_assign_add(scope, variable, c->gradients[second]); break;
        case 4: /* the value of one variable is another's, too */
            if (gantry_shape_equal(&c->shapes[i], &c->shapes[second]))
                (void)gantry_variable_assign(scope, variable, updated);
            break;
        default: break;
    }
}

/* m = m * 0.9 + g * x; w = w - m * 0.25, or another program. The gradient may be the weights of
 * another variable. */
static inline void updates_one(gantry_scope_t *scope, updates_case_t *c, uint32_t i,
                               const gantry_tensor_t *x, const gantry_tensor_t **sum) {
    const uint32_t second = (uint32_t)updates_random(c, c->count);
    const gantry_tensor_t *g = c->gradients[i], *w = gantry_variable_read(scope, c->weights[i]),
                          *m = gantry_variable_read(scope, c->moments[i]);
    if (!c->is_plain && gantry_shape_equal(&c->shapes[i], &c->shapes[second]))
        g = gantry_variable_read(scope, c->weights[second]);
    m = gantry_add(scope, gantry_mul(scope, m, gantry_scalar_f32(scope, 0.875f)),
                   gantry_mul(scope, g, x));
    if (!c->is_plain && updates_random(c, 4) == 0) {
        w = gantry_maximum(scope, w, gantry_tanh(scope, m));
    } else {
        const float rate = updates_random(c, 3) == 0 && !c->is_plain ? 0.5f : 0.25f;
        w = gantry_sub(scope, w, gantry_mul(scope, m, gantry_scalar_f32(scope, rate)));
    }
    (void)gantry_variable_assign(scope, c->moments[i], m);
    (void)gantry_variable_assign(scope, c->weights[i], w);
    if (!c->is_plain) updates_disturb(scope, c, i, w, sum);
}

static inline void updates_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                const gantry_tensor_t **outputs, void *user) {
    updates_case_t *c = user;
    const gantry_tensor_t *sum = inputs[0];
    gantry_scope_t *in = gantry_scope_begin_in(scope, c->device);
    c->random = c->seed * 2 + 7;
    for (uint32_t i = 0; i < c->count; ++i) updates_one(in, c, i, inputs[0], &sum);
    outputs[0] = gantry_scope_keep(in, gantry_identity(in, sum));
    assert_int_equal(gantry_scope_end(in), GANTRY_OK);
}

static inline gantry_function_t *updates_trace(gantry_runtime_t *runtime, updates_case_t *c,
                                               uint32_t passes_off, int32_t threads) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SCALAR};
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .passes_off = passes_off, .inter_op_threads = threads};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "updates", updates_body, c, &input, 1, 1, &options,
                              &function) != GANTRY_OK)
        fail_msg("seed %u: %s", (unsigned)c->seed, gantry_last_message());
    return function;
}

static inline uint32_t updates_count(gantry_function_t *function, gantry__op_id_t op) {
    const gantry__graph_t *graph = &planned(function)->graph;
    uint32_t count = 0;
    for (size_t i = 0; i < graph->node_count; ++i)
        count += graph->nodes[i].kind == GANTRY__NODE_OP && graph->nodes[i].op->id == op;
    return count;
}

/* ---- running ---- */

static inline uint64_t updates_hash(const gantry_tensor_t *tensor) {
    static unsigned char bytes[UPDATES_LONGEST * sizeof(float)];
    const size_t count = gantry_tensor_bytes(tensor);
    uint64_t hash = UINT64_C(14695981039346656037);
    if (gantry_tensor_read(tensor, bytes, count) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Calls the function some times on variables that begin anew. hashes: of the variables, then of the
 * results of the calls. */
static inline void updates_run(gantry_runtime_t *runtime, updates_case_t *c,
                               gantry_function_t *function, uint64_t *hashes) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->device);
    c->random = c->seed * 2 + 5;
    for (uint32_t i = 0; i < c->count; ++i) {
        (void)gantry_variable_assign(scope, c->weights[i],
                                     updates_numbers(scope, c, &c->shapes[i]));
        (void)gantry_variable_assign(scope, c->moments[i],
                                     updates_numbers(scope, c, &c->shapes[i]));
    }
    for (uint32_t k = 0; k < UPDATES_CALLS; ++k) {
        const gantry_tensor_t *x = gantry_scalar_f32(scope, 0.5f + (float)k), *out;
        if (gantry_function_call(scope, function, &x, 1, &out, 1) != GANTRY_OK)
            fail_msg("seed %u: %s", (unsigned)c->seed, gantry_last_message());
        hashes[2 * c->count + k] = updates_hash(out);
    }
    for (uint32_t i = 0; i < c->count; ++i) {
        hashes[2 * i] = updates_hash(gantry_variable_read(scope, c->weights[i]));
        hashes[2 * i + 1] = updates_hash(gantry_variable_read(scope, c->moments[i]));
    }
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* Returns how many updates the joined ones stand for. */
static inline uint32_t updates_check(gantry_runtime_t *runtime, const char *device, uint64_t seed,
                                     uint32_t count) {
    static const uint32_t off[] = {GANTRY_PASS_ALL, GANTRY_PASS_JOINED_UPDATES, 0, 0};
    static const int32_t threads[] = {0, 0, 3, 0};
    static uint64_t want[2 * UPDATES_MOST + UPDATES_CALLS], got[2 * UPDATES_MOST + UPDATES_CALLS];
    static updates_case_t c; /* large */
    uint32_t apart = 0, joined = 0;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    updates_init(&c, scope, device, seed, count);
    for (size_t k = 0; k < sizeof off / sizeof *off; ++k) {
        gantry_function_t *function = updates_trace(runtime, &c, off[k], threads[k]);
        updates_run(runtime, &c, function, k == 0 ? want : got);
        for (uint32_t i = 0; k > 0 && i < 2 * count + UPDATES_CALLS; ++i) {
            if (got[i] != want[i])
                fail_msg("seed %u, passes_off 0x%x: variable or result %u has other bits",
                         (unsigned)seed, off[k], i);
        }
        if (off[k] == GANTRY_PASS_JOINED_UPDATES)
            apart = updates_count(function, GANTRY__OP_ID__FusedElementwise);
        joined = updates_count(function, GANTRY__OP_ID__FusedElementwise);
        gantry_function_release(function);
    }
    updates_deinit(&c);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return apart - joined;
}

#endif
