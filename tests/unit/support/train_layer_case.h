/* SPDX-License-Identifier: Apache-2.0 */
/* Keras's layers, checked on a device: outputs, gradients and moving statistics, at once and inside
 * functions. Header only. */
#ifndef TESTS_TRAIN_LAYER_CASE_H
#define TESTS_TRAIN_LAYER_CASE_H

#include <gantry_train/train.h>

#include "train_case.h"
#include "train_dropout.h"

enum {
    TRAIN_LAYER_INPUTS = 3,
    TRAIN_LAYER_SOURCES = 16,
    TRAIN_LAYER_TABLE = 7,
    TRAIN_LAYER_DROPS = 0x5EED,
    TRAIN_LAYER_PAD_EVERY = 3
};

/* numbers: those of keras/layers.json; make_layer_cases.py says which. */
typedef struct train_layer_case_t {
    const char *name;
    uint32_t seed;
    gantry_dtype_t dtype; /* of inputs: int64 or float64 */
    bool training;
    bool has_pad; /* some steps of inputs of rank 3 are padded with pad */
    double pad;
    size_t input_count, number_count;
    gantry_shape_t shapes[TRAIN_LAYER_INPUTS];
    const double *numbers;
} train_layer_case_t;

#define LAYER_LIST(...) \
    { __VA_ARGS__ }
#define LAYER_CASE(index, label, seed_, layer, dtype_, training_, count, shapes_) \
    [index] = {.name = label,                                                     \
               .seed = seed_,                                                     \
               .dtype = dtype_,                                                   \
               .training = training_,                                             \
               .input_count = count,                                              \
               .shapes = shapes_},
#define MODEL_CASE(index, label, seed_, value, dtype_, training_, has_pad_, pad_, count, shapes_) \
    [index] = {.name = label,                                                                     \
               .seed = seed_,                                                                     \
               .dtype = dtype_,                                                                   \
               .training = training_,                                                             \
               .has_pad = has_pad_,                                                               \
               .pad = pad_,                                                                       \
               .input_count = count,                                                              \
               .shapes = shapes_},
static const train_layer_case_t train_layer_cases[] = {
#include "train_layer_cases.inc"
#include "train_layer_model_cases.inc"
};
#undef LAYER_CASE
#undef MODEL_CASE

enum { TRAIN_LAYER_CASES = sizeof train_layer_cases / sizeof train_layer_cases[0] };

/* Applies the layers of a case to inputs, and returns the value of the output. */
static inline int32_t train_layer_apply(size_t index, gantry_model_t *model,
                                        const int32_t *inputs) {
    int32_t a = -1; /* for expressions */
    (void)a;
    switch (index) {
#define X0 inputs[0]
#define X1 inputs[1]
#define X2 inputs[2]
#define OF(layer, ...)                                         \
    gantry_model_apply(model, layer, (int32_t[]){__VA_ARGS__}, \
                       sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))
#define LAYER_CASE(index, label, seed_, layer, ...) \
    case index:                                     \
        return gantry_model_apply(model, layer, inputs, train_layer_cases[index].input_count);
#define MODEL_CASE(index, label, seed_, value, ...) \
    case index:                                     \
        return value;
#include "train_layer_cases.inc"
#include "train_layer_model_cases.inc"
#undef LAYER_CASE
#undef MODEL_CASE
#undef OF
#undef X0
#undef X1
#undef X2
        default: return -1;
    }
}

/* ---- numbers: the generator of make_layer_cases.py ---- */

static inline uint32_t train_layer_draw(uint32_t *state, uint32_t limit) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

static inline size_t train_layer_fill(uint32_t *state, gantry_dtype_t dtype, gantry_shape_t shape,
                                      double scale, void *out) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    assert_in_range(count * 8, 0, TRAIN_MOST_BYTES);
    for (size_t i = 0; i < count; ++i) {
        if (dtype == GANTRY_INT64) {
            ((int64_t *)out)[i] = train_layer_draw(state, TRAIN_LAYER_TABLE);
            continue;
        }
        const double value = ((double)train_layer_draw(state, 4096) - 2048) / scale;
        if (dtype == GANTRY_FLOAT64) ((double *)out)[i] = value;
        if (dtype == GANTRY_FLOAT32) ((float *)out)[i] = (float)value;
    }
    return count * gantry_dtype_size(dtype);
}

static inline const gantry_tensor_t *train_layer_tensor(gantry_scope_t *scope, uint32_t *state,
                                                        gantry_dtype_t dtype, gantry_shape_t shape,
                                                        double scale) {
    static _Alignas(8) unsigned char bytes[TRAIN_MOST_BYTES];
    const size_t count = train_layer_fill(state, dtype, shape, scale, bytes);
    return gantry_constant(scope, dtype, shape, bytes, count);
}

/* The steps that make_layer_cases.py pads. */
static inline bool train_layer_is_padded(int64_t sample, int64_t step, int64_t steps) {
    return (step + 2 * sample) % TRAIN_LAYER_PAD_EVERY == 0 || (sample == 0 && step == steps - 1);
}

/* x with padded steps, if the case has some. */
static inline const gantry_tensor_t *train_layer_pad(gantry_scope_t *scope,
                                                     const train_layer_case_t *c,
                                                     const gantry_tensor_t *x) {
    static bool keeps[TRAIN_MOST_BYTES];
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if (!c->has_pad || shape->rank != 3) return x;
    const int64_t batch = shape->dims[0], steps = shape->dims[1];
    for (int64_t i = 0; i < batch * steps; ++i)
        keeps[i] = !train_layer_is_padded(i / steps, i % steps, steps);
    const gantry_tensor_t *mask = gantry_constant(scope, GANTRY_BOOL, GANTRY_SHAPE(batch, steps, 1),
                                                  keeps, (size_t)(batch * steps));
    const gantry_tensor_t *pad =
        gantry_cast(scope, gantry_scalar_f32(scope, (float)c->pad), gantry_tensor_dtype(x));
    return gantry_select(scope, mask, x, pad);
}

/* ---- one case ---- */

typedef struct train_layer_run_t {
    const train_layer_case_t *c;
    gantry_model_t *model;
    gantry_dtype_t dtype; /* of weights and floating inputs */
    uint32_t state;
    size_t output_count; /* output and gradients */
} train_layer_run_t;

static inline gantry_dtype_t train_layer_input_dtype(const train_layer_run_t *run) {
    return run->c->dtype == GANTRY_INT64 ? GANTRY_INT64 : run->dtype;
}

static inline void train_layer_build(train_layer_run_t *run, gantry_runtime_t *runtime,
                                     const char *device, size_t index) {
    int32_t values[TRAIN_LAYER_INPUTS];
    const gantry_model_options_t options = {
        .struct_size = sizeof options, .device = device, .dtype = run->dtype};
    run->model = gantry_functional(runtime, &options);
    for (size_t i = 0; i < run->c->input_count; ++i) {
        gantry_shape_t sample = {.rank = run->c->shapes[i].rank - 1};
        for (int32_t d = 0; d < sample.rank; ++d) sample.dims[d] = run->c->shapes[i].dims[d + 1];
        values[i] = gantry_model_input(run->model, train_layer_input_dtype(run), sample);
    }
    const int32_t output = train_layer_apply(index, run->model, values);
    if (gantry_model_set_output(run->model, output) != GANTRY_OK ||
        gantry_model_build(run->model, GANTRY_DTYPE_NONE, GANTRY_SCALAR) != GANTRY_OK)
        fail_msg("%s: %s", run->c->name, gantry_last_message());
}

/* Weights that are not trained are 0.5 or more: variances are among them. */
static inline void train_layer_set_weights(train_layer_run_t *run) {
    static _Alignas(8) unsigned char bytes[TRAIN_MOST_BYTES];
    for (size_t i = 0; i < gantry_model_variable_count(run->model); ++i) {
        bool trained;
        gantry_variable_t *variable = gantry_model_variable(run->model, i, &trained);
        const gantry_shape_t shape = *gantry_variable_shape(variable);
        const size_t count = train_layer_fill(&run->state, run->dtype, shape, 4096, bytes);
        for (size_t k = 0; !trained && k < count / gantry_dtype_size(run->dtype); ++k) {
            if (run->dtype == GANTRY_FLOAT64)
                ((double *)bytes)[k] = fabs(((double *)bytes)[k]) + 0.5;
            else
                ((float *)bytes)[k] = fabsf(((float *)bytes)[k]) + 0.5f;
        }
        assert_int_equal(gantry_model_set_variable(run->model, i, bytes, count), GANTRY_OK);
    }
}

/* For functions, too: outputs are the layer's output, then gradients. */
static inline void train_layer_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                    const gantry_tensor_t **outputs, void *user) {
    train_layer_run_t *run = user;
    gantry_source_t sources[TRAIN_LAYER_SOURCES];
    size_t count = 0;
    uint32_t state = run->state;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    for (size_t i = 0; i < run->c->input_count && run->c->dtype != GANTRY_INT64; ++i) {
        (void)gantry_tape_watch(tape, inputs[i]);
        sources[count++] = (gantry_source_t){.tensor = inputs[i]};
    }
    for (size_t i = 0; i < gantry_model_variable_count(run->model); ++i) {
        bool trained;
        gantry_variable_t *variable = gantry_model_variable(run->model, i, &trained);
        if (trained) sources[count++] = (gantry_source_t){.variable = variable};
    }
    train_dropout_begin(run->c->seed ^ TRAIN_LAYER_DROPS);
    outputs[0] =
        gantry_model_call(run->model, scope, inputs, run->c->input_count, run->c->training);
    train_dropout_end();
    if (outputs[0]) {
        const gantry_tensor_t *factors =
            train_layer_tensor(scope, &state, run->dtype, *gantry_tensor_shape(outputs[0]), 4096);
        const gantry_tensor_t *sum =
            gantry_sum(scope, gantry_mul(scope, outputs[0], factors), NULL);
        (void)gantry_tape_gradient(tape, sum, NULL, sources, count, NULL, outputs + 1);
    }
    gantry_tape_end(tape);
    run->output_count = 1 + count;
}

/* Compares a tensor's elements with the next numbers. */
static inline size_t train_layer_expect(const train_layer_run_t *run, const char *how,
                                        const gantry_tensor_t *got, size_t from) {
    static _Alignas(8) unsigned char bytes[TRAIN_MOST_BYTES];
    const double bound = run->dtype == GANTRY_FLOAT64 ? 1e-10 : 1e-5;
    if (!got) fail_msg("%s, %s: a tensor is NULL at number %zu", run->c->name, how, from);
    const size_t count = (size_t)gantry_tensor_elements(got);
    if (from + count > run->c->number_count)
        fail_msg("%s, %s: more than %zu numbers", run->c->name, how, run->c->number_count);
    if (gantry_tensor_read(got, bytes, gantry_tensor_bytes(got)) != GANTRY_OK)
        fail_msg("%s, %s: %s", run->c->name, how, gantry_last_message());
    for (size_t i = 0; i < count; ++i) {
        const double a = train_number(bytes, run->dtype, i), b = run->c->numbers[from + i];
        if (!(fabs(a - b) <= bound * (1 + fabs(b))))
            fail_msg("%s, %s: number %zu is %.17g; Keras has %.17g", run->c->name, how, from + i, a,
                     b);
    }
    return from + count;
}

static inline void train_layer_expect_all(const train_layer_run_t *run, gantry_scope_t *scope,
                                          const char *how, const gantry_tensor_t *const *outputs) {
    size_t at = 0;
    if (gantry_scope_status(scope) != GANTRY_OK)
        fail_msg("%s, %s: %s", run->c->name, how, gantry_scope_message(scope));
    for (size_t i = 0; i < run->output_count; ++i)
        at = train_layer_expect(run, how, outputs[i], at);
    for (size_t i = 0; run->c->training && i < gantry_model_variable_count(run->model); ++i) {
        bool trained;
        gantry_variable_t *variable = gantry_model_variable(run->model, i, &trained);
        if (!trained) at = train_layer_expect(run, how, gantry_variable_read(scope, variable), at);
    }
    assert_int_equal(at, run->c->number_count);
}

typedef void (*train_layer_how_t)(gantry_scope_t *scope, train_layer_run_t *run,
                                  const gantry_tensor_t *const *inputs,
                                  const gantry_tensor_t **outputs);

static inline void train_layer_eager(gantry_scope_t *scope, train_layer_run_t *run,
                                     const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs) {
    train_layer_body(scope, inputs, outputs, run);
    train_layer_expect_all(run, scope, "at once", outputs);
}

static inline void train_layer_captured(gantry_scope_t *scope, train_layer_run_t *run,
                                        const gantry_tensor_t *const *inputs,
                                        const gantry_tensor_t **outputs) {
    gantry_input_spec_t specs[TRAIN_LAYER_INPUTS];
    size_t count = 1 + (run->c->dtype == GANTRY_INT64 ? 0 : run->c->input_count);
    for (size_t i = 0; i < run->c->input_count; ++i)
        specs[i] = (gantry_input_spec_t){NULL, train_layer_input_dtype(run), run->c->shapes[i]};
    for (size_t i = 0; i < gantry_model_variable_count(run->model); ++i) {
        bool trained;
        (void)gantry_model_variable(run->model, i, &trained);
        if (trained) ++count;
    }
    gantry_function_t *function =
        function_fixture_trace(gantry_scope_runtime(scope), train_layer_body, run, specs,
                               run->c->input_count, count, NULL);
    function_fixture_call(scope, function, inputs, run->c->input_count, outputs, count);
    train_layer_expect_all(run, scope, "captured", outputs);
    gantry_function_release(function);
}

static inline void train_layer_check_one(gantry_runtime_t *runtime, const char *device,
                                         size_t index, gantry_dtype_t dtype,
                                         train_layer_how_t how) {
    const gantry_tensor_t *inputs[TRAIN_LAYER_INPUTS], *outputs[1 + TRAIN_LAYER_SOURCES];
    static golden_file_t file;
    train_layer_case_t numbered = train_layer_cases[index], *c = &numbered;
    const golden_tensor_t *numbers = train_numbers(&file, "keras/layers.json", index, c->name);
    c->numbers = numbers->data;
    c->number_count = numbers->bytes / sizeof(double);
    train_layer_run_t run = {.c = c, .dtype = dtype, .state = c->seed};
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    assert_non_null(scope);
    for (size_t i = 0; i < c->input_count; ++i)
        inputs[i] =
            train_layer_pad(scope, c,
                            train_layer_tensor(scope, &run.state, train_layer_input_dtype(&run),
                                               c->shapes[i], 1024));
    train_layer_build(&run, runtime, device, index);
    train_layer_set_weights(&run);
    how(scope, &run, inputs, outputs);
    expect_ended_well(scope);
    gantry_model_release(run.model);
}

/* Every case whose number is a multiple of `each`, in one type after the other. */
static inline void train_layer_check_by_turns(gantry_runtime_t *runtime, const char *device,
                                              size_t each, train_layer_how_t how) {
    for (size_t i = 0; i < TRAIN_LAYER_CASES; i += each)
        train_layer_check_one(runtime, device, i,
                              i / each % 2 == 0 ? GANTRY_FLOAT64 : GANTRY_FLOAT32, how);
}

/* The same, in both types. */
static inline void train_layer_check(gantry_runtime_t *runtime, const char *device, size_t each,
                                     train_layer_how_t how) {
    for (size_t i = 0; i < TRAIN_LAYER_CASES; i += each) {
        train_layer_check_one(runtime, device, i, GANTRY_FLOAT64, how);
        train_layer_check_one(runtime, device, i, GANTRY_FLOAT32, how);
    }
}

#endif
