/* SPDX-License-Identifier: Apache-2.0 */
#include "train/model/draws.h"

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/model/run.h"
#include "train/model/worker.h"

enum { ROW = 2 + GANTRY_RANDOM_STATE_WORDS };

/* A number advances the counter by 256: a step has room for 2^32 of them. */
#define STEP_BITS 40

static gantry_status_t draws_make_list(gantry_model_t *model) {
    if (model->net.generators) return GANTRY_OK;
    model->net.generators = gantry__alloc(model->net.value_count * model->replicas.count,
                                          sizeof *model->net.generators);
    return model->net.generators ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

static size_t place_count(const gantry_model_t *model) {
    return model->net.generators ? model->net.value_count * model->replicas.count : 0;
}

/* ---- drawing ---- */

/* Makes a generator. The streams have one key and begin 2^64 numbers apart, in other processes,
 * too. */
static gantry_status_t make_generator(gantry_model_t *model, size_t index,
                                      gantry_generator_t **out_generator) {
    const uint64_t rank = model->replicas.worker ? model->replicas.worker->communicator.rank : 0,
                   steps = model->replicas.worker ? model->replicas.worker->drawn_steps : 0;
    const uint64_t state[GANTRY_RANDOM_STATE_WORDS] = {steps << STEP_BITS, index + (rank << 40),
                                                       (uint64_t)model->seed};
    return gantry_generator_from_state(model->runtime, state, GANTRY_RANDOM_PHILOX, out_generator);
}

gantry_generator_t *gantry__run_generator(const gantry_layer_call_t *call) {
    const gantry__model_run_t *run = (const gantry__model_run_t *)call->run;
    gantry_model_t *model = run->model;
    const size_t index = run->value * model->replicas.count + run->replica;
    gantry_status_t status = draws_make_list(model);
    if (status == GANTRY_OK && !model->net.generators[index])
        status = make_generator(model, index, &model->net.generators[index]);
    return gantry__train_hand_on(call->scope, status) == GANTRY_OK ? model->net.generators[index]
                                                                   : NULL;
}

void gantry__model_release_draws(gantry_model_t *model) {
    for (size_t i = 0; i < place_count(model); ++i)
        gantry_generator_release(model->net.generators[i]);
    gantry__free((void *)model->net.generators);
    model->net.generators = NULL;
}

/* ---- several processes ---- */

static gantry_status_t set_counter(gantry_generator_t *generator, uint64_t counter) {
    uint64_t state[GANTRY_RANDOM_STATE_WORDS];
    GANTRY__TRY(gantry_generator_get_state(generator, state));
    state[0] = counter;
    return gantry_generator_set_state(generator, state);
}

gantry_status_t gantry__model_begin_draws(gantry_model_t *model) {
    const uint64_t counter = ++model->replicas.worker->drawn_steps << STEP_BITS;
    for (size_t i = 0; i < place_count(model); ++i) {
        if (model->net.generators[i]) GANTRY__TRY(set_counter(model->net.generators[i], counter));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__model_drawn_steps(const gantry_model_t *model, uint64_t *out_steps) {
    *out_steps = 0;
    for (size_t i = 0; i < place_count(model); ++i) {
        uint64_t state[GANTRY_RANDOM_STATE_WORDS];
        if (!model->net.generators[i]) continue;
        GANTRY__TRY(gantry_generator_get_state(model->net.generators[i], state));
        if (state[0] >> STEP_BITS > *out_steps) *out_steps = state[0] >> STEP_BITS;
    }
    return GANTRY_OK;
}

/* ---- files ---- */

gantry_status_t gantry__model_get_draws(const gantry_model_t *model, gantry_array_t *out_rows,
                                        int64_t **out_data) {
    int64_t rows = 0;
    *out_data = gantry__alloc(place_count(model) * ROW, sizeof **out_data);
    if (!*out_data) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < place_count(model); ++i) {
        uint64_t state[GANTRY_RANDOM_STATE_WORDS];
        int64_t *row = *out_data + rows * ROW;
        if (!model->net.generators[i]) continue;
        GANTRY__TRY(gantry_generator_get_state(model->net.generators[i], state));
        row[0] = (int64_t)(i / model->replicas.count);
        row[1] = (int64_t)(i % model->replicas.count);
        for (size_t k = 0; k < GANTRY_RANDOM_STATE_WORDS; ++k) row[2 + k] = (int64_t)state[k];
        ++rows;
    }
    *out_rows = (gantry_array_t){GANTRY_INT64, GANTRY_SHAPE(rows, ROW), *out_data};
    return GANTRY_OK;
}

static gantry_status_t draws_set_row(gantry_model_t *model, const int64_t *row) {
    uint64_t state[GANTRY_RANDOM_STATE_WORDS];
    if (row[0] < 0 || (uint64_t)row[0] >= model->net.value_count || row[1] < 0 ||
        (uint64_t)row[1] >= model->replicas.count)
        return GANTRY_OK;
    const size_t index = (size_t)row[0] * model->replicas.count + (size_t)row[1];
    for (size_t k = 0; k < GANTRY_RANDOM_STATE_WORDS; ++k) state[k] = (uint64_t)row[2 + k];
    if (model->net.generators[index])
        return gantry_generator_set_state(model->net.generators[index], state);
    return gantry_generator_from_state(model->runtime, state, GANTRY_RANDOM_PHILOX,
                                       &model->net.generators[index]);
}

static gantry_status_t set_rows(gantry_model_t *model, const int64_t *rows, int64_t count) {
    for (int64_t i = 0; i < count; ++i) GANTRY__TRY(draws_set_row(model, rows + i * ROW));
    return GANTRY_OK;
}

static bool has_rows(const gantry_checkpoint_t *checkpoint, gantry_shape_t *out_shape) {
    gantry_dtype_t dtype;
    return gantry_checkpoint_find(checkpoint, GANTRY__DRAWS_NAME, &dtype, out_shape) == GANTRY_OK;
}

gantry_status_t gantry__model_load_draws(gantry_model_t *model,
                                         const gantry_checkpoint_t *checkpoint) {
    gantry_shape_t shape;
    if (!has_rows(checkpoint, &shape)) return GANTRY_OK;
    const int64_t count = shape.rank == 2 ? shape.dims[0] : 0;
    const size_t bytes = (size_t)count * ROW * sizeof(int64_t);
    const gantry_shape_t accepted = GANTRY_SHAPE(count, ROW);
    GANTRY__TRY(draws_make_list(model));
    int64_t *rows = gantry__alloc((size_t)count * ROW, sizeof *rows);
    if (!rows) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry_checkpoint_read(checkpoint, GANTRY__DRAWS_NAME, GANTRY_INT64,
                                                    &accepted, rows, bytes);
    if (status == GANTRY_OK) status = set_rows(model, rows, count);
    gantry__free(rows);
    return status;
}
