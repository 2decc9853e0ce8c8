/* SPDX-License-Identifier: Apache-2.0 */
/* Generators: a position in a stream under a lock. A draw takes its part of the stream and runs the
 * op by key and counter.
 *
 * In this order: create and release; reading and setting the state; draws; split. Kernels make the
 * numbers (kernels/random). */
#include <gantry/random.h>

#include <string.h>

#include "api/api.h"
#include "base/entropy.h"
#include "base/fp_mode.h"
#include "run/call_op.h"
#include "run/random_inputs.h"

struct gantry_generator_t {
    gantry_runtime_t *runtime;
    gantry__draws_t *draws;
};

enum { THREEFRY = 2 };

static gantry__philox_t place_of_state(const uint64_t state[GANTRY_RANDOM_STATE_WORDS]) {
    return (gantry__philox_t){.counter = {state[0], state[1]}, .key = state[2]};
}

/* The seed's two's complement is as long as the state. */
static gantry__philox_t place_of_seed(int64_t seed) {
    const uint64_t sign = seed < 0 ? UINT64_MAX : 0;
    return (gantry__philox_t){.counter = {(uint64_t)seed, sign}, .key = sign};
}

/* ---- create and release ---- */

static gantry_status_t check_create(const gantry_runtime_t *runtime,
                                    gantry_random_algorithm_t algorithm,
                                    gantry_generator_t **out_generator) {
    if (!out_generator) return gantry__refuse("generator: out_generator is NULL");
    *out_generator = NULL;
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (algorithm == GANTRY_RANDOM_PHILOX || algorithm == GANTRY_RANDOM_AUTO) return GANTRY_OK;
    return gantry__fail(
        (int)algorithm == THREEFRY ? GANTRY_UNIMPLEMENTED : GANTRY_INVALID_ARGUMENT,
        "generator: algorithm %d; 1 (Philox) and 3 (automatic: Philox) are accepted",
        (int)algorithm);
}

static gantry_status_t generator_create(gantry_runtime_t *runtime, gantry__philox_t place,
                                        gantry_generator_t **out_generator) {
    gantry_generator_t *generator = gantry__heap_zalloc(&runtime->heap, sizeof *generator);
    if (!generator) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__draws_create(&runtime->heap, place, NULL, &generator->draws);
    if (status != GANTRY_OK) {
        gantry__heap_free(&runtime->heap, generator, sizeof *generator);
        return status;
    }
    generator->runtime = gantry__runtime_retain(runtime, 1);
    *out_generator = generator;
    return GANTRY_OK;
}

gantry_status_t gantry_generator_from_seed(gantry_runtime_t *runtime, int64_t seed,
                                           gantry_random_algorithm_t algorithm,
                                           gantry_generator_t **out_generator) {
    GANTRY__TRY(check_create(runtime, algorithm, out_generator));
    return generator_create(runtime, place_of_seed(seed), out_generator);
}

gantry_status_t gantry_generator_from_state(gantry_runtime_t *runtime,
                                            const uint64_t state[GANTRY_RANDOM_STATE_WORDS],
                                            gantry_random_algorithm_t algorithm,
                                            gantry_generator_t **out_generator) {
    GANTRY__TRY(check_create(runtime, algorithm, out_generator));
    if (!state) return gantry__refuse("generator: the state is NULL; three numbers are accepted");
    return generator_create(runtime, place_of_state(state), out_generator);
}

gantry_status_t gantry_generator_from_entropy(gantry_runtime_t *runtime,
                                              gantry_random_algorithm_t algorithm,
                                              gantry_generator_t **out_generator) {
    uint64_t state[GANTRY_RANDOM_STATE_WORDS];
    GANTRY__TRY(check_create(runtime, algorithm, out_generator));
    GANTRY__TRY(gantry__entropy(state, sizeof state));
    return generator_create(runtime, place_of_state(state), out_generator);
}

void gantry_generator_release(gantry_generator_t *generator) {
    if (!generator || !gantry__fork_guard_ask(&generator->runtime->fork)) return;
    gantry_runtime_t *runtime = generator->runtime;
    gantry__draws_release(generator->draws);
    gantry__heap_free(&runtime->heap, generator, sizeof *generator);
    gantry__runtime_drop(runtime, 1);
}

/* ---- the state ---- */

static gantry_status_t generator_check(const gantry_generator_t *generator) {
    if (!generator) return gantry__refuse("the generator is NULL");
    return gantry__runtime_check(generator->runtime);
}

/* Returns the position of the next `values` values, and advances the generator to after them. */
static gantry__philox_t generator_take(const gantry_generator_t *generator, uint64_t values) {
    return gantry__draws_take(generator->draws, gantry__random_blocks((int64_t)values));
}

gantry_status_t gantry_generator_get_state(gantry_generator_t *generator,
                                           uint64_t out_state[GANTRY_RANDOM_STATE_WORDS]) {
    GANTRY__TRY(generator_check(generator));
    if (!out_state) return gantry__refuse("generator: out_state is NULL");
    const gantry__philox_t place = generator_take(generator, 0);
    memcpy(out_state, place.counter, sizeof place.counter);
    out_state[2] = place.key;
    return GANTRY_OK;
}

gantry_status_t gantry_generator_set_state(gantry_generator_t *generator,
                                           const uint64_t state[GANTRY_RANDOM_STATE_WORDS]) {
    GANTRY__TRY(generator_check(generator));
    if (!state) return gantry__refuse("generator: the state is NULL; three numbers are accepted");
    gantry__draws_put(generator->draws, place_of_state(state));
    return GANTRY_OK;
}

gantry_status_t gantry_generator_reset_from_seed(gantry_generator_t *generator, int64_t seed) {
    GANTRY__TRY(generator_check(generator));
    gantry__draws_put(generator->draws, place_of_seed(seed));
    return GANTRY_OK;
}

gantry_status_t gantry_generator_key(gantry_generator_t *generator, uint64_t *out_key) {
    GANTRY__TRY(generator_check(generator));
    if (!out_key) return gantry__refuse("generator: out_key is NULL");
    *out_key = generator_take(generator, 0).key;
    return GANTRY_OK;
}

gantry_status_t gantry_generator_skip(gantry_generator_t *generator, uint64_t count) {
    GANTRY__TRY(generator_check(generator));
    (void)generator_take(generator, count);
    return GANTRY_OK;
}

/* Whether scope and generator are of one runtime; else the scope has failed. */
static bool check_in(gantry_scope_t *scope, const gantry_generator_t *generator) {
    if (gantry__scope_check(scope) != GANTRY_OK) return false;
    gantry_status_t status = generator_check(generator);
    if (status == GANTRY_OK && generator->runtime != scope->runtime)
        status = gantry__refuse("the generator belongs to another runtime than the scope");
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return status == GANTRY_OK;
}

const gantry_tensor_t *gantry_generator_read_state(gantry_scope_t *scope,
                                                   gantry_generator_t *generator) {
    gantry__extras_t extras = {.count = 0};
    uint64_t state[GANTRY_RANDOM_STATE_WORDS];
    if (!check_in(scope, generator) || gantry_generator_get_state(generator, state) != GANTRY_OK)
        return NULL;
    const gantry_tensor_t *tensor = gantry__add_host(
        &extras, scope, GANTRY_INT64, GANTRY_SHAPE(GANTRY_RANDOM_STATE_WORDS), state);
    if (tensor) gantry__scope_adopt(scope, extras.tensors[0]);
    return tensor;
}

static gantry_status_t assign_state(gantry_generator_t *generator, const gantry_tensor_t *state) {
    const void *data;
    void *owned;
    if (!state || (state->dtype != GANTRY_INT64 && state->dtype != GANTRY_UINT64) ||
        state->shape.rank != 1 || state->shape.dims[0] != GANTRY_RANDOM_STATE_WORDS) {
        return gantry__refuse(
            "generator: the state is %s; int64[3] or uint64[3] is accepted",
            !state ? "NULL"
            : state->shape.rank != 1 || state->shape.dims[0] != GANTRY_RANDOM_STATE_WORDS
                ? "of another shape"
                : gantry_dtype_name(state->dtype));
    }
    GANTRY__TRY(gantry__tensor_host_data(state, &data, &owned));
    gantry__draws_put(generator->draws, place_of_state(data));
    gantry__heap_free(&generator->runtime->heap, owned, owned ? state->size_bytes : 0);
    return GANTRY_OK;
}

gantry_status_t gantry_generator_assign_state(gantry_scope_t *scope, gantry_generator_t *generator,
                                              const gantry_tensor_t *state) {
    GANTRY__OWN_FP_MODE(fp);
    if (!check_in(scope, generator)) return scope ? scope->status : GANTRY_INVALID_ARGUMENT;
    gantry_status_t status = assign_state(generator, state);
    return status == GANTRY_OK ? GANTRY_OK : gantry__scope_fail(scope, status);
}

/* ---- draws ---- */

/* A negative number of values, which the op will refuse, takes nothing. */
static gantry__draw_t draw_of(const gantry_generator_t *generator, int64_t values) {
    return (gantry__draw_t){.draws = generator->draws,
                            .blocks = gantry__random_blocks(values > 0 ? values : 0)};
}

static const gantry_tensor_t *generator_draw(gantry_scope_t *scope, gantry_generator_t *generator,
                                             gantry__op_id_t id, const gantry_shape_t *shape,
                                             const gantry_tensor_t *const bounds[2],
                                             const gantry_attr_value_t *attr) {
    gantry__extras_t extras = {.count = 0};
    if (!check_in(scope, generator)) return NULL;
    const gantry_tensor_t *inputs[] = {gantry__add_given_shape(&extras, scope, id, shape),
                                       bounds ? bounds[0] : NULL, bounds ? bounds[1] : NULL};
    if (!inputs[0]) return NULL;
    const gantry__draw_t draw = draw_of(generator, gantry_shape_elements(shape));
    const gantry_tensor_t *output =
        gantry__draw_from(scope, id, &draw, inputs, bounds ? 3 : 1, 1, attr);
    gantry_tensor_release(extras.tensors[0]);
    return output;
}

#define DEFINE_DRAW(what, op)                                                                    \
    const gantry_tensor_t *gantry_generator_##what(gantry_scope_t *scope,                        \
                                                   gantry_generator_t *generator,                \
                                                   gantry_shape_t shape, gantry_dtype_t dtype) { \
        const gantry_attr_value_t attr = gantry__attr_type("dtype", dtype);                      \
        return generator_draw(scope, generator, GANTRY__OP_ID_##op, &shape, NULL, &attr);        \
    }
DEFINE_DRAW(uniform, StatelessRandomUniformV2)
DEFINE_DRAW(normal, StatelessRandomNormalV2)
DEFINE_DRAW(truncated_normal, StatelessTruncatedNormalV2)
DEFINE_DRAW(uniform_full_int, StatelessRandomUniformFullIntV2)

const gantry_tensor_t *gantry_generator_uniform_range(gantry_scope_t *scope,
                                                      gantry_generator_t *generator,
                                                      gantry_shape_t shape,
                                                      const gantry_tensor_t *minval,
                                                      const gantry_tensor_t *maxval) {
    if (!gantry__range_fits(scope, "gantry_generator_uniform_range", &shape, minval, maxval))
        return NULL;
    return gantry__range_of(scope, gantry_generator_uniform(scope, generator, shape, minval->dtype),
                            minval, maxval);
}

const gantry_tensor_t *gantry_generator_uniform_int(gantry_scope_t *scope,
                                                    gantry_generator_t *generator,
                                                    gantry_shape_t shape,
                                                    const gantry_tensor_t *minval,
                                                    const gantry_tensor_t *maxval) {
    const gantry_tensor_t *bounds[] = {minval, maxval};
    return generator_draw(scope, generator, GANTRY__OP_ID_StatelessRandomUniformIntV2, &shape,
                          bounds, NULL);
}

const gantry_tensor_t *gantry_generator_categorical(gantry_scope_t *scope,
                                                    gantry_generator_t *generator,
                                                    const gantry_tensor_t *logits,
                                                    int32_t num_samples, gantry_dtype_t dtype) {
    gantry__extras_t extras = {.count = 0};
    const gantry_attr_value_t attr = gantry__attr_type("output_dtype", dtype);
    if (!check_in(scope, generator)) return NULL;
    const gantry_tensor_t *inputs[] = {logits, gantry__add_host_i32(&extras, scope, num_samples)};
    if (!inputs[1]) return NULL;
    const uint64_t rows = logits && logits->shape.rank == 2 ? (uint64_t)logits->shape.dims[0] : 0;
    const gantry__draw_t draw = draw_of(generator, (int64_t)(rows * (uint64_t)num_samples));
    const gantry_tensor_t *output =
        gantry__draw_from(scope, GANTRY__OP_ID_StatelessMultinomialV2, &draw, inputs, 2, 2, &attr);
    gantry_tensor_release(extras.tensors[0]);
    return output;
}

const gantry_tensor_t *gantry_generator_shuffle(gantry_scope_t *scope,
                                                gantry_generator_t *generator,
                                                const gantry_tensor_t *value) {
    if (!check_in(scope, generator)) return NULL;
    const int64_t rows = value && value->shape.rank > 0 ? value->shape.dims[0] : 0;
    const gantry__draw_t draw = draw_of(generator, rows);
    return gantry__draw_from(scope, GANTRY__OP_ID_StatelessShuffle, &draw, &value, 1, 1, NULL);
}

/* ---- split ---- */

/* Keys are 64-bit integers of the stream: two per block. */
static gantry_status_t create_all(gantry_runtime_t *runtime, gantry__philox_t place, size_t count,
                                  gantry_generator_t **out_generators) {
    for (size_t i = 0; i < count; ++i) {
        uint32_t words[4];
        gantry__philox_words(gantry__philox_skip(place, i / 2), words);
        const gantry__philox_t own = {.key =
                                          (uint64_t)words[i % 2 * 2 + 1] << 32 | words[i % 2 * 2]};
        gantry_status_t status = generator_create(runtime, own, &out_generators[i]);
        if (status != GANTRY_OK) return status;
    }
    return GANTRY_OK;
}

gantry_status_t gantry_generator_split(gantry_generator_t *generator, size_t count,
                                       gantry_generator_t **out_generators) {
    if (!out_generators && count > 0) return gantry__refuse("generator: out_generators is NULL");
    for (size_t i = 0; i < count; ++i) out_generators[i] = NULL;
    GANTRY__TRY(generator_check(generator));
    gantry_status_t status =
        create_all(generator->runtime, generator_take(generator, count), count, out_generators);
    for (size_t i = 0; status != GANTRY_OK && i < count; ++i) {
        gantry_generator_release(out_generators[i]);
        out_generators[i] = NULL;
    }
    return status;
}
