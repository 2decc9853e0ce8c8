/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every public struct of libgantry_train that begins with struct_size works with every
 * size, or the call is InvalidArgument.
 *
 * The library reads no byte beyond the size. */

#include <gantry_train/train.h>

#include "struct_size.h"
#include "test.h"

struct world_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
};

static int open_world(void **state) {
    static world_t w;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    assert_int_equal(gantry_runtime_create(&options, &w.runtime), GANTRY_OK);
    w.scope = gantry_scope_begin(w.runtime, NULL);
    *state = &w;
    return 0;
}

static int close_world(void **state) {
    world_t *w = *state;
    (void)gantry_scope_end(w->scope);
    gantry_runtime_release(w->runtime);
    return 0;
}

/* ---- how a size is refused ---- */

/* Zeros are no options of some calls, which then complain of a number: the size was accepted. */
static gantry_status_t of_text(const char *text) {
    return strstr(text, "struct_size is ") ? GANTRY_INVALID_ARGUMENT : GANTRY_OK;
}

static gantry_status_t of_scope(const world_t *w) {
    const gantry_status_t status = of_text(gantry_scope_message(w->scope));
    gantry_scope_clear(w->scope);
    return status;
}

/* Of a constructor. */
#define OF_OBJECT(kind, made)                                \
    do {                                                     \
        gantry_##kind##_t *object_ = (made);                 \
        if (!object_) return of_text(gantry_last_message()); \
        gantry_##kind##_release(object_);                    \
        return GANTRY_OK;                                    \
    } while (0)

#define READS(kind, name, made)                                           \
    static gantry_status_t read_##name(const world_t *w, const void *p) { \
        (void)w;                                                          \
        OF_OBJECT(kind, made);                                            \
    }

/* ---- the structs ---- */

READS(optimizer, adagrad, gantry_adagrad(p))
READS(optimizer, adam, gantry_adam(p))
READS(optimizer, adamax, gantry_adamax(p))
READS(optimizer, adamw, gantry_adamw(p))
READS(optimizer, lion, gantry_lion(p))
READS(optimizer, adadelta, gantry_adadelta(p))
READS(optimizer, ftrl, gantry_ftrl(p))
READS(optimizer, nadam, gantry_nadam(p))
READS(optimizer, rmsprop, gantry_rmsprop(p))
READS(optimizer, sgd, gantry_sgd(p))
READS(schedule, cosine, gantry_cosine_decay(p))
READS(schedule, restarts, gantry_cosine_decay_restarts(p))
READS(schedule, exponential, gantry_exponential_decay(p))
READS(schedule, inverse_time, gantry_inverse_time_decay(p))
READS(schedule, piecewise, gantry_piecewise_constant_decay(p))
READS(schedule, polynomial, gantry_polynomial_decay(p))
READS(layer, attention, gantry_multi_head_attention(1, 1, p))
READS(layer, kernel, gantry_dense(1, GANTRY_LINEAR, p))
READS(layer, initializer, gantry_embedding(2, 2, p, NULL))
READS(layer, norm, gantry_batch_normalization(p))
READS(layer, pool, gantry_max_pool1d_layer(2, p))
READS(layer, recurrent, gantry_lstm(2, p))
READS(metric, metric, gantry_accuracy(p))
READS(metric, loss, gantry_loss_metric(GANTRY_HUBER, p, NULL))
READS(callback, early_stopping, gantry_early_stopping(p))
READS(callback, plateau, gantry_reduce_lr_on_plateau(p))
READS(dataset, source, gantry_dataset_from_callback(p))
READS(strategy, communicator, gantry_multi_worker_strategy(w->runtime, NULL, 0, p))
READS(model, model, gantry_sequential(w->runtime, p))

static gantry_status_t read_regularizer(const world_t *w, const void *p) {
    (void)gantry_regularizer_loss(w->scope, p, gantry_scalar_f32(w->scope, 1));
    return of_scope(w);
}

static gantry_status_t read_constraint(const world_t *w, const void *p) {
    (void)gantry_constrain(w->scope, p, gantry_scalar_f32(w->scope, 1));
    return of_scope(w);
}

static gantry_status_t read_padded_batch(const world_t *w, const void *p) {
    static const float rows[] = {1, 2};
    const gantry_array_t array = {GANTRY_FLOAT32, GANTRY_SHAPE(2), rows};
    (void)w;
    gantry_dataset_t *dataset =
        gantry_dataset_padded_batch(gantry_dataset_from_arrays(&array, 1, false), 2, p);
    gantry_dataset_release(dataset);
    return dataset ? GANTRY_OK : GANTRY_INVALID_ARGUMENT;
}

static gantry_status_t read_pad_sequences(const world_t *w, const void *p) {
    const int32_t number = 1;
    int32_t out[1];
    const gantry_array_t sequence = {GANTRY_INT32, {.rank = 1, .dims = {1}}, &number};
    const gantry_status_t status =
        gantry_pad_sequences(&sequence, 1, 1, GANTRY_INT32, p, out, sizeof out);
    (void)w;
    return status == GANTRY_OK ? status : of_text(gantry_last_message());
}

static gantry_status_t read_tape(const world_t *w, const void *p) {
    gantry_tape_end(gantry_tape_begin(w->scope, p));
    return of_scope(w);
}

static gantry_status_t read_gradient(const world_t *w, const void *p) {
    const gantry_tensor_t *gradient, *x = gantry_scalar_f32(w->scope, 1);
    gantry_tape_t *tape = gantry_tape_begin(w->scope, NULL);
    const gantry_source_t source = {.tensor = x};
    (void)gantry_tape_watch(tape, x);
    (void)gantry_tape_gradient(tape, gantry_square(w->scope, x), NULL, &source, 1, p, &gradient);
    gantry_tape_end(tape);
    return of_scope(w);
}

static gantry_status_t read_compile(const world_t *w, const void *p) {
    gantry_model_t *model = gantry_sequential(w->runtime, NULL);
    (void)gantry_fail(GANTRY_INTERNAL,
                      "");                /* the call's text ends with the thread's last failure */
    (void)gantry_model_compile(model, p); /* without an optimizer */
    const gantry_status_t status = of_text(gantry_last_message());
    gantry_model_release(model);
    return status;
}

static gantry_status_t read_compile_output(const world_t *w, const void *p) {
    return read_compile(w, &(gantry_compile_options_t){.outputs = p, .output_count = 1});
}

static gantry_status_t read_fit(const world_t *w, const void *p) {
    static const float features[2] = {1, 2};
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, {.rank = 2, .dims = {2, 1}}, features},
                                     {GANTRY_FLOAT32, {.rank = 2, .dims = {2, 1}}, features}};
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 2, false);
    gantry_model_t *model = gantry_sequential(w->runtime, NULL);
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    (void)gantry_model_compile(model,
                               &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                           .loss = GANTRY_MEAN_SQUARED_ERROR});
    const gantry_status_t status = gantry_model_fit(model, batches, p);
    const char *text = status == GANTRY_OK ? "" : gantry_last_message();
    const gantry_status_t read = of_text(text);
    gantry_model_release(model);
    gantry_dataset_release(batches);
    return read;
}

static const read_row_t read_rows[] = {
    READ(gantry_adagrad_options_t, true, read_adagrad),
    READ(gantry_adam_options_t, true, read_adam),
    READ(gantry_adamax_options_t, true, read_adamax),
    READ(gantry_adamw_options_t, true, read_adamw),
    READ(gantry_attention_options_t, true, read_attention),
    READ(gantry_communicator_t, true, read_communicator),
    READ(gantry_compile_options_t, true, read_compile),
    READ(gantry_compile_output_t, true, read_compile_output),
    READ(gantry_constraint_t, true, read_constraint),
    READ(gantry_cosine_decay_options_t, true, read_cosine),
    READ(gantry_cosine_decay_restarts_options_t, true, read_restarts),
    READ(gantry_dataset_source_t, true, read_source),
    READ(gantry_early_stopping_options_t, true, read_early_stopping),
    READ(gantry_reduce_lr_on_plateau_options_t, true, read_plateau),
    READ(gantry_exponential_decay_options_t, true, read_exponential),
    READ(gantry_fit_options_t, true, read_fit),
    READ(gantry_gradient_options_t, true, read_gradient),
    READ(gantry_initializer_t, true, read_initializer),
    READ(gantry_inverse_time_decay_options_t, true, read_inverse_time),
    READ(gantry_kernel_options_t, true, read_kernel),
    READ(gantry_lion_options_t, true, read_lion),
    READ(gantry_adadelta_options_t, true, read_adadelta),
    READ(gantry_ftrl_options_t, true, read_ftrl),
    READ(gantry_loss_options_t, true, read_loss),
    READ(gantry_metric_options_t, true, read_metric),
    READ(gantry_model_options_t, true, read_model),
    READ(gantry_nadam_options_t, true, read_nadam),
    READ(gantry_norm_options_t, true, read_norm),
    READ(gantry_pad_sequences_options_t, true, read_pad_sequences),
    READ(gantry_padded_batch_options_t, true, read_padded_batch),
    READ(gantry_piecewise_constant_decay_options_t, true, read_piecewise),
    READ(gantry_polynomial_decay_options_t, true, read_polynomial),
    READ(gantry_pool_options_t, true, read_pool),
    READ(gantry_recurrent_options_t, true, read_recurrent),
    READ(gantry_regularizer_t, true, read_regularizer),
    READ(gantry_rmsprop_options_t, true, read_rmsprop),
    READ(gantry_sgd_options_t, true, read_sgd),
    READ(gantry_tape_options_t, true, read_tape),
};
#define READ_ROWS (sizeof read_rows / sizeof read_rows[0])

TEST(options_are_read_up_to_their_size) { read_with_every_size(*state, read_rows, READ_ROWS); }

/* ---- structs of functions: all of them are called, so the size is the struct's ---- */

static gantry_status_t keep_epoch(gantry_model_t *model, int64_t epoch, void *user) {
    (void)model, (void)epoch, (void)user;
    return GANTRY_OK;
}

static gantry_status_t give_callback(const world_t *w, uint32_t struct_size) {
    const gantry_callback_t callback = {.struct_size = struct_size, .epoch_begin = keep_epoch};
    const gantry_callback_t *const callbacks[] = {&callback};
    return read_fit(w, &(gantry_fit_options_t){.callbacks = callbacks, .callback_count = 1});
}

static const gantry_tensor_t *call_layer(const gantry_layer_call_t *call, void *user) {
    (void)user;
    return call->inputs[0];
}

/* A kind of version 0.1 ends before passes_masks. */
static gantry_status_t give_kind(const world_t *w, uint32_t struct_size) {
    const gantry_layer_kind_t kind = {
        .struct_size = struct_size, .name = "Given", .call = call_layer, .output_count = 7};
    gantry_layer_t *layer = gantry_layer_create(&kind, NULL, NULL);
    (void)w;
    gantry_layer_release(layer);
    return layer ? GANTRY_OK : GANTRY_INVALID_ARGUMENT;
}

static const struct {
    const char *name;
    size_t least, size;
    gantry_status_t (*give)(const world_t *w, uint32_t struct_size);
} given_rows[] = {
    {"gantry_callback_t", offsetof(gantry_callback_t, train_begin), sizeof(gantry_callback_t),
     give_callback},
    {"gantry_layer_kind_t", offsetof(gantry_layer_kind_t, passes_masks),
     sizeof(gantry_layer_kind_t), give_kind},
};
#define GIVEN_ROWS (sizeof given_rows / sizeof given_rows[0])

TEST(structs_of_functions_have_their_size) {
    const world_t *w = *state;
    for (size_t i = 0; i < GIVEN_ROWS; ++i) {
        for (uint32_t size = 0; size <= given_rows[i].size + 8; size += 4) {
            const bool fits = size >= given_rows[i].least && size <= given_rows[i].size;
            const gantry_status_t status = given_rows[i].give(w, size);
            if (status != (fits ? GANTRY_OK : GANTRY_INVALID_ARGUMENT))
                fail_msg("%s with struct_size %u: %s", given_rows[i].name, size,
                         gantry_status_name(status));
        }
    }
}

/* ---- the list of structs ---- */

static bool has_row(const char *name) {
    for (size_t i = 0; i < READ_ROWS; ++i)
        if (strcmp(read_rows[i].name, name) == 0) return true;
    for (size_t i = 0; i < GIVEN_ROWS; ++i)
        if (strcmp(given_rows[i].name, name) == 0) return true;
    return false;
}

TEST(every_struct_has_a_size_or_is_a_plain_value) {
    assert_true(public_struct_count > 30);
    static const char *const plain[] = {"gantry_array_t",
                                        "gantry_checkpoint_entry_t",
                                        "gantry_checkpoint_text_t",
                                        "gantry_layer_call_t",
                                        "gantry_logs_t",
                                        "gantry_gradient_t",
                                        "gantry_source_t"};
    expect_rows_of_all(has_row, plain, sizeof plain / sizeof *plain);
}

int main(void) { return test_main_with(open_world, close_world, NULL, NULL); }
