/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the calls of libgantry_train that null_calls.awk makes, beside those of
 * null_calls.h. Objects are made anew for each call, since a call may take one over. */
#ifndef GANTRY_TEST_TRAIN_NULL_CALLS_H
#define GANTRY_TEST_TRAIN_NULL_CALLS_H

#include <stdio.h>
#include <unistd.h>

#include <gantry_train/train.h>

#include "null_calls.h"

/* ---- results ---- */

#define RESULT_gantry_callback_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_dataset_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_layer_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_metric_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_mirrored_variable_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_model_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_numerics_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_optimizer_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_schedule_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_strategy_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_tape_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_numerics_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_generator_t_p(call) ((void)(call))
#define RESULT_void_p(call) ((void)(call))

/* ---- a value by type ---- */

/* `given_TYPE_p(c, name)` as a function, where the generated calls name it. */
#define GIVEN(type, mangled, expression)                                        \
    static inline type given_##mangled(null_call_t *c, const char *given_for) { \
        (void)c, (void)given_for;                                               \
        return expression;                                                      \
    }
/* Options, all zero: those of version 0.1. */
#define GIVEN_OPTIONS(type)                                                              \
    static inline const type *given_const_##type##_p(null_call_t *c, const char *for_) { \
        static const type zeros;                                                         \
        (void)c, (void)for_;                                                             \
        return &zeros;                                                                   \
    }

GIVEN_OPTIONS(gantry_adagrad_options_t)
GIVEN_OPTIONS(gantry_adam_options_t)
GIVEN_OPTIONS(gantry_adamax_options_t)
GIVEN_OPTIONS(gantry_adamw_options_t)
GIVEN_OPTIONS(gantry_attention_options_t)
GIVEN_OPTIONS(gantry_cosine_decay_options_t)
GIVEN_OPTIONS(gantry_cosine_decay_restarts_options_t)
GIVEN_OPTIONS(gantry_early_stopping_options_t)
GIVEN_OPTIONS(gantry_exponential_decay_options_t)
GIVEN_OPTIONS(gantry_fit_options_t)
GIVEN_OPTIONS(gantry_gradient_options_t)
GIVEN_OPTIONS(gantry_constraint_t)
GIVEN_OPTIONS(gantry_initializer_t)
GIVEN_OPTIONS(gantry_inverse_time_decay_options_t)
GIVEN_OPTIONS(gantry_kernel_options_t)
GIVEN_OPTIONS(gantry_lion_options_t)
GIVEN_OPTIONS(gantry_adadelta_options_t)
GIVEN_OPTIONS(gantry_ftrl_options_t)
GIVEN_OPTIONS(gantry_loss_options_t)
GIVEN_OPTIONS(gantry_metric_options_t)
GIVEN_OPTIONS(gantry_regularizer_t)
GIVEN_OPTIONS(gantry_model_options_t)
GIVEN_OPTIONS(gantry_nadam_options_t)
GIVEN_OPTIONS(gantry_norm_options_t)
GIVEN_OPTIONS(gantry_pad_sequences_options_t)
GIVEN_OPTIONS(gantry_padded_batch_options_t)
GIVEN_OPTIONS(gantry_piecewise_constant_decay_options_t)
GIVEN_OPTIONS(gantry_polynomial_decay_options_t)
GIVEN_OPTIONS(gantry_pool_options_t)
GIVEN_OPTIONS(gantry_recurrent_options_t)
GIVEN_OPTIONS(gantry_reduce_lr_on_plateau_options_t)
GIVEN_OPTIONS(gantry_rmsprop_options_t)
GIVEN_OPTIONS(gantry_sgd_options_t)
GIVEN_OPTIONS(gantry_tape_options_t)

/* Batches of two rows: two features, one label. */
static inline gantry_dataset_t *given_batches(void) {
    static const float features[] = {1, 2, 3, 4}, labels[] = {1, 2};
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, {.rank = 2, .dims = {2, 2}}, features},
                                     {GANTRY_FLOAT32, {.rank = 2, .dims = {2, 1}}, labels}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 2, false);
}

static inline const gantry_compile_options_t *given_compile_options(void) {
    static gantry_compile_options_t options;
    options = (gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                         .loss = GANTRY_MEAN_SQUARED_ERROR};
    return &options;
}

/* A trained model; where the call puts one together, a new one. */
static inline gantry_model_t *given_model(null_call_t *c) {
    const gantry_shape_t sample = {.rank = 1, .dims = {2}};
    const char *name = c->function->name;
    const bool is_functional =
        strcmp(name, "gantry_model_apply") == 0 ||
        strncmp(name, "gantry_model_set_output", strlen("gantry_model_set_output")) == 0;
    gantry_model_t *model = is_functional || strcmp(name, "gantry_model_input") == 0
                                ? gantry_functional(given_runtime(c), NULL)
                                : gantry_sequential(given_runtime(c), NULL);
    if (is_functional) (void)gantry_model_input(model, GANTRY_FLOAT32, sample);
    if (is_functional || strcmp(name, "gantry_model_input") == 0 ||
        strcmp(name, "gantry_model_add") == 0)
        return model;
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    if (strcmp(name, "gantry_model_build") == 0) return model;
    (void)gantry_model_compile(model, given_compile_options());
    if (gantry_model_build(model, GANTRY_FLOAT32, sample) != GANTRY_OK) abort();
    return model;
}

static inline gantry_tape_t *given_tape(null_call_t *c) {
    gantry_tape_t *tape = gantry_tape_begin(given_scope(c), NULL);
    if (gantry_tape_watch(tape, given_tensor(c)) != GANTRY_OK) abort();
    return tape;
}

static inline gantry_strategy_t *given_strategy(null_call_t *c) {
    const char *const devices[] = {"CPU:0"};
    return gantry_mirrored_strategy(given_runtime(c), devices, 1);
}

static inline gantry_dataset_iterator_t *given_iterator(void) {
    gantry_dataset_iterator_t *iterator = NULL;
    if (gantry_dataset_iterator_create(given_batches(), &iterator) != GANTRY_OK) abort();
    return iterator;
}

static gantry_array_t split_arrays[2];
static int32_t out_numbers[64];
static const gantry_array_t given_arrays[2] = {
    {GANTRY_FLOAT32, {.rank = 1, .dims = {2}}, given_floats},
    {GANTRY_FLOAT32, {.rank = 1, .dims = {2}}, given_floats}};

static const gantry_checkpoint_entry_t given_entries[2] = {
    {.name = "AddN", .array = {GANTRY_FLOAT32, {.rank = 1, .dims = {2}}, given_floats}},
    {.name = "Add", .array = {GANTRY_FLOAT32, {.rank = 1, .dims = {2}}, given_floats}}};
static const gantry_checkpoint_text_t given_texts[2] = {{"AddN", "text"}, {"Add", "text"}};

static inline gantry_checkpoint_t *given_checkpoint(void) {
    gantry_checkpoint_t *checkpoint = NULL;
    char path[] = "/tmp/gantry_nulls_XXXXXX";
    (void)close(mkstemp(path));
    if (gantry_checkpoint_save(NULL, path, given_entries, 2, given_texts, 2) != GANTRY_OK ||
        gantry_checkpoint_open(path, &checkpoint) != GANTRY_OK)
        abort();
    (void)unlink(path);
    return checkpoint;
}

static inline gantry_mirrored_variable_t *given_mirrored(null_call_t *c) {
    return gantry_mirrored_variable(given_strategy(c), given_scope(c), given_tensor(c), NULL,
                                    GANTRY_AGGREGATION_MEAN);
}

static inline const gantry_source_t *given_source(null_call_t *c) {
    static gantry_source_t sources[2];
    sources[0] = sources[1] = (gantry_source_t){.tensor = given_tensor(c)};
    return sources;
}

static inline gantry_gradient_t *given_gradients(null_call_t *c) {
    static gantry_gradient_t gradients[2];
    gradients[0] = gradients[1] = (gantry_gradient_t){.dense = given_tensor(c)};
    return gradients;
}

/* ---- functions that calls take ---- */

static inline double given_rate(int64_t epoch, double rate, void *user) {
    (void)epoch, (void)user;
    return rate;
}
static inline const gantry_tensor_t *given_schedule_rate(gantry_scope_t *scope,
                                                         const gantry_tensor_t *step,
                                                         gantry_dtype_t dtype, void *user) {
    (void)user;
    return gantry_cast(scope, step, dtype);
}
/* Data sets, which a call takes over. */
static inline gantry_dataset_t *const *given_datasets(void) {
    static gantry_dataset_t *list[2];
    list[0] = given_batches();
    list[1] = given_batches();
    return list;
}
static inline gantry_status_t given_filter(void *user, const gantry_array_t *input, size_t count,
                                           bool *out_keep) {
    (void)user, (void)input, (void)count, (void)out_keep;
    return GANTRY_UNIMPLEMENTED;
}
static inline gantry_status_t given_map(void *user, const gantry_array_t *input, size_t count,
                                        gantry_element_t *output) {
    (void)user, (void)input, (void)count, (void)output;
    return GANTRY_UNIMPLEMENTED;
}
static inline gantry_status_t given_next(void *state, gantry_element_t *element, bool *out_end) {
    (void)state, (void)element;
    *out_end = true;
    return GANTRY_OK;
}
static inline void given_backward(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                  const gantry_tensor_t *const *outputs,
                                  const gantry_tensor_t *const *output_gradients,
                                  const gantry_tensor_t **input_gradients, void *user) {
    (void)scope, (void)inputs, (void)outputs, (void)output_gradients, (void)user;
    input_gradients[0] = NULL;
}
static inline void given_run(gantry_scope_t *scope, size_t replica, void *user) {
    (void)scope, (void)replica, (void)user;
}
static inline const gantry_tensor_t *given_layer_call(const gantry_layer_call_t *call, void *user) {
    (void)user;
    return call->inputs[0];
}
static inline gantry_status_t given_all_reduce(void *user, void *elements, size_t count,
                                               gantry_dtype_t dtype, const char *what) {
    (void)user, (void)elements, (void)count, (void)dtype, (void)what;
    return GANTRY_OK;
}
static inline gantry_status_t given_broadcast(void *user, void *data, size_t bytes, size_t root,
                                              const char *what) {
    (void)user, (void)data, (void)bytes, (void)root, (void)what;
    return GANTRY_OK;
}

static const gantry_layer_kind_t given_kind = {
    .struct_size = sizeof given_kind, .name = "Given", .call = given_layer_call};
static const gantry_dataset_source_t given_dataset_source = {
    .struct_size = sizeof given_dataset_source, .next = given_next};
static const gantry_communicator_t given_communicator = {.struct_size = sizeof given_communicator,
                                                         .size = 1,
                                                         .all_reduce = given_all_reduce,
                                                         .broadcast = given_broadcast};
static const gantry_layer_call_t given_layer_argument;
static const char *const given_devices[2] = {"CPU:0", "CPU:0"};

/* Sizes that a call checks before it reads. */
static inline size_t given_train_size(const null_call_t *c, const char *name) {
    const char *function = c->function->name;
    if (strcmp(name, "out_bytes") == 0 && (strcmp(function, "gantry_pad_sequences") == 0 ||
                                           strcmp(function, "gantry_checkpoint_read") == 0))
        return 8;
    if (strcmp(function, "gantry_model_measure_replicas") == 0) return 1;
    return given_size(name);
}

#undef given_size_t
#define given_size_t(c, name) given_train_size(c, name)

/* ---- the types ---- */

GIVEN(gantry_model_t *, gantry_model_t_p, given_model(c))
GIVEN(const gantry_model_t *, const_gantry_model_t_p, given_model(c))
GIVEN(gantry_layer_t *, gantry_layer_t_p, gantry_dense(1, GANTRY_LINEAR, NULL))
GIVEN(const gantry_layer_t *, const_gantry_layer_t_p, gantry_dense(1, GANTRY_LINEAR, NULL))
GIVEN(const gantry_layer_kind_t *, const_gantry_layer_kind_t_p, &given_kind)
GIVEN(gantry_dataset_t *, gantry_dataset_t_p, given_batches())
GIVEN(gantry_dataset_t *const *, gantry_dataset_t_p_const_p, given_datasets())
GIVEN(const gantry_dataset_t *, const_gantry_dataset_t_p, given_batches())
GIVEN(gantry_dataset_iterator_t *, gantry_dataset_iterator_t_p, given_iterator())
GIVEN(const gantry_dataset_source_t *, const_gantry_dataset_source_t_p, &given_dataset_source)
/* An element lives in a callback alone. */
GIVEN(gantry_element_t *, gantry_element_t_p, NULL)
GIVEN(const gantry_array_t *, const_gantry_array_t_p, given_arrays)
GIVEN(int32_t *, int32_t_p, out_numbers)
GIVEN(gantry_array_t *, gantry_array_t_p, split_arrays)
GIVEN(const gantry_array_t **, const_gantry_array_t_p_p, (const gantry_array_t **)given_pointers())
GIVEN(gantry_metric_t *, gantry_metric_t_p, gantry_binary_accuracy(0.5, NULL))
GIVEN(const gantry_metric_t *, const_gantry_metric_t_p, gantry_binary_accuracy(0.5, NULL))
GIVEN(gantry_optimizer_t *, gantry_optimizer_t_p, gantry_sgd(NULL))
GIVEN(gantry_schedule_t *, gantry_schedule_t_p, gantry_schedule_create(given_schedule_rate, NULL))
GIVEN(const gantry_schedule_t *, const_gantry_schedule_t_p,
      gantry_schedule_create(given_schedule_rate, NULL))
GIVEN(gantry_strategy_t *, gantry_strategy_t_p, given_strategy(c))
GIVEN(const gantry_strategy_t *, const_gantry_strategy_t_p, given_strategy(c))
GIVEN(gantry_mirrored_variable_t *, gantry_mirrored_variable_t_p, given_mirrored(c))
GIVEN(const gantry_mirrored_variable_t *, const_gantry_mirrored_variable_t_p, given_mirrored(c))
GIVEN(const gantry_communicator_t *, const_gantry_communicator_t_p, &given_communicator)
GIVEN(gantry_tape_t *, gantry_tape_t_p, given_tape(c))
GIVEN(const gantry_source_t *, const_gantry_source_t_p, given_source(c))
GIVEN(gantry_gradient_t *, gantry_gradient_t_p, given_gradients(c))
GIVEN(const gantry_gradient_t *, const_gantry_gradient_t_p, given_gradients(c))
GIVEN(gantry_numerics_t *, gantry_numerics_t_p, gantry_check_numerics_begin(given_scope(c)))
GIVEN(gantry_callback_t *, gantry_callback_t_p, gantry_early_stopping(NULL))
GIVEN(gantry_checkpoint_t *, gantry_checkpoint_t_p, given_checkpoint())
GIVEN(const gantry_checkpoint_t *, const_gantry_checkpoint_t_p, given_checkpoint())
GIVEN(gantry_checkpoint_t **, gantry_checkpoint_t_p_p, (gantry_checkpoint_t **)given_pointers())
GIVEN(gantry_dataset_iterator_t **, gantry_dataset_iterator_t_p_p,
      (gantry_dataset_iterator_t **)given_pointers())
GIVEN(gantry_variable_t **, gantry_variable_t_p_p, (gantry_variable_t **)given_pointers())
GIVEN(const gantry_checkpoint_entry_t *, const_gantry_checkpoint_entry_t_p, given_entries)
GIVEN(const gantry_checkpoint_text_t *, const_gantry_checkpoint_text_t_p, given_texts)
GIVEN(const gantry_compile_options_t *, const_gantry_compile_options_t_p, given_compile_options())
GIVEN(const gantry_layer_call_t *, const_gantry_layer_call_t_p, &given_layer_argument)
GIVEN(const char *const *, const_char_p_const_p, given_devices)

static inline double *given_double_p(null_call_t *c, const char *name) {
    static double places[4];
    (void)c, (void)name;
    return places;
}
static inline const double *given_const_double_p(null_call_t *c, const char *name) {
    static const double weights[] = {1, 1};
    (void)c, (void)name;
    return weights;
}

#define given_gantry_schedule_fn(c, name) given_schedule_rate
#define given_gantry_learning_rate_fn(c, name) given_rate
#define given_gantry_dataset_filter_fn(c, name) given_filter
#define given_gantry_dataset_map_fn(c, name) given_map
#define given_gantry_backward_fn(c, name) given_backward
#define given_gantry_replica_fn(c, name) given_run
#define given_gantry_activation_t(c, name) GANTRY_TANH
#define given_gantry_average_t(c, name) GANTRY_AVERAGE_MACRO
#define given_gantry_loss_t(c, name) GANTRY_MEAN_SQUARED_ERROR
#define given_gantry_init_t(c, name) GANTRY_INIT_ONES
#define given_gantry_merge_t(c, name) GANTRY_MERGE_SUM
#define given_gantry_reduce_op_t(c, name) GANTRY_REDUCE_SUM
#define given_gantry_aggregation_t(c, name) GANTRY_AGGREGATION_MEAN

#endif
