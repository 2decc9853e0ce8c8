/* SPDX-License-Identifier: Apache-2.0 */
/* Keras's initialisers, checked on a device: called at once and inside functions. Header only. */
#ifndef TESTS_TRAIN_INITIALIZER_CASE_H
#define TESTS_TRAIN_INITIALIZER_CASE_H

#include <gantry_train/initializer.h>

#include "train_case.h"

typedef struct train_initializer_case_t {
    const char *name;
    gantry_initializer_t initializer;
    bool is_exact;
    golden_tensor_t expected;
} train_initializer_case_t;

static inline gantry_init_t train_initializer_named(const char *name) {
    gantry_init_t kind = GANTRY_INIT_ZEROS;
    while (kind < GANTRY_INIT_IDENTITY && strcmp(gantry_initializer_name(kind), name) != 0) ++kind;
    assert_string_equal(gantry_initializer_name(kind), name);
    return kind;
}

static inline train_initializer_case_t train_initializer_read(const golden_case_t *item) {
    static const char *const fans[] = {"fan_in", "fan_out", "fan_avg", NULL};
    static const char *const distributions[] = {"truncated_normal", "untruncated_normal", "uniform",
                                                NULL};
    assert_int_equal(item->output_count, 1);
    return (train_initializer_case_t){
        .name = item->name,
        .initializer = {.struct_size = sizeof(gantry_initializer_t),
                        .kind = train_initializer_named(item->op),
                        .value = train_attr(item, "value"),
                        .minval = train_attr(item, "minval"),
                        .maxval = train_attr(item, "maxval"),
                        .mean = train_attr(item, "mean"),
                        .stddev = train_attr(item, "stddev"),
                        .scale = train_attr(item, "scale"),
                        .gain = train_attr(item, "gain"),
                        .mode = (gantry_fan_t)train_attr_choice(item, "mode", fans),
                        .distribution = (gantry_distribution_t)train_attr_choice(
                            item, "distribution", distributions),
                        .seed = (int64_t)train_attr(item, "seed"),
                        .draw = (int64_t)train_attr(item, "draw")},
        .is_exact = train_attr(item, "is_exact") != 0,
        .expected = item->outputs[0]};
}

static inline const gantry_tensor_t *train_initialize(gantry_scope_t *scope,
                                                      const train_initializer_case_t *c) {
    return gantry_initialize(scope, &c->initializer, c->expected.dtype, c->expected.shape);
}

static inline void train_initializer_expect(const train_initializer_case_t *c, const char *how,
                                            const gantry_tensor_t *got) {
    static const double single = 1e-6, twice = 1e-13;
    char name[128];
    (void)snprintf(name, sizeof name, "%s, %s", c->name, how);
    train_expect(name, got, &c->expected,
                 c->is_exact                           ? NULL
                 : c->expected.dtype == GANTRY_FLOAT32 ? &single
                                                       : &twice);
}

static inline void train_initializer_eager(gantry_scope_t *scope,
                                           const train_initializer_case_t *c) {
    train_initializer_expect(c, "at once", train_initialize(scope, c));
}

static inline void train_initializer_body(gantry_scope_t *scope,
                                          const gantry_tensor_t *const *inputs,
                                          const gantry_tensor_t **outputs, void *user) {
    (void)inputs;
    outputs[0] = train_initialize(scope, user);
}

static inline void train_initializer_captured(gantry_scope_t *scope,
                                              const train_initializer_case_t *c) {
    train_initializer_case_t copy = *c;
    const gantry_tensor_t *got;
    gantry_function_t *function = function_fixture_trace(
        gantry_scope_runtime(scope), train_initializer_body, &copy, NULL, 0, 1, NULL);
    function_fixture_call(scope, function, NULL, 0, &got, 1);
    train_initializer_expect(c, "captured", got);
    gantry_function_release(function);
}

/* Every case whose number is a multiple of `each`. */
static inline void train_initializer_check(gantry_runtime_t *runtime, const char *device,
                                           size_t each,
                                           void (*check)(gantry_scope_t *scope,
                                                         const train_initializer_case_t *c)) {
    golden_file_t file;
    golden_file_open("keras/initializers.json", &file);
    for (size_t i = 0; i < file.case_count; i += each) {
        const train_initializer_case_t c = train_initializer_read(&file.cases[i]);
        gantry_scope_t *scope = gantry_scope_begin(runtime, device);
        assert_non_null(scope);
        check(scope, &c);
        expect_ended_well(scope);
    }
    golden_free(&file);
}

#endif
