/* SPDX-License-Identifier: Apache-2.0 */
#include "run/random_state.h"

#include <stdatomic.h>
#include <string.h>

#include "base/entropy.h"
#include "base/hash.h"
#include "op/op_infer.h"

#define MOST_SEED INT64_C(0x7fffffff)
/* used with an op's own seed when there is no global one; it is TensorFlow's */
#define SEED_WITHOUT_GLOBAL INT64_C(87654321)

typedef struct stream_key_t {
    uint64_t op;    /* its number */
    uint64_t types; /* its type attributes, a byte each */
    int64_t seeds[2];
} stream_key_t;

typedef struct gantry__random_stream_t {
    struct gantry__random_stream_t *next;
    stream_key_t key;
    gantry__draws_t *draws;
} stream_t;

gantry_status_t gantry__random_state_init(gantry__random_state_t *state,
                                          const gantry__heap_t *heap) {
    state->heap = heap;
    state->has_seed = false;
    atomic_init(&state->seeds_set, 0);
    memset(state->streams, 0, sizeof state->streams);
    if (gantry__mutex_init(&state->lock) == 0) return GANTRY_OK;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
}

static gantry__philox_t begin_of(const int64_t seeds[2]) {
    return (gantry__philox_t){.counter = {0, (uint64_t)seeds[1]}, .key = (uint64_t)seeds[0]};
}

/* A stream from which a function draws stays. */
static void restart_bucket(const gantry__random_state_t *state, stream_t **at, bool forgets_all) {
    while (*at) {
        stream_t *stream = *at;
        if (!forgets_all && gantry__draws_is_shared(stream->draws)) {
            at = &stream->next;
            continue;
        }
        *at = stream->next;
        gantry__draws_release(stream->draws);
        gantry__heap_free(state->heap, stream, sizeof *stream);
    }
}

static void restart_streams(gantry__random_state_t *state, bool forgets_all) {
    for (size_t i = 0; i < GANTRY__RANDOM_BUCKETS; ++i)
        restart_bucket(state, &state->streams[i], forgets_all);
}

void gantry__random_state_deinit(gantry__random_state_t *state) {
    restart_streams(state, true);
    gantry__mutex_deinit(&state->lock);
}

void gantry__random_set_seed(gantry__random_state_t *state, int64_t seed) {
    gantry__mutex_lock(&state->lock);
    restart_streams(state, false);
    state->has_seed = true;
    atomic_fetch_add(&state->seeds_set, 1); /* all draws that remain begin again */
    state->seed = seed;
    gantry__op_seeds_init(&state->op_seeds, seed);
    gantry__mutex_unlock(&state->lock);
}

/* The seed modulo 2^31 - 1, never negative. */
static int64_t truncated(int64_t seed) {
    seed %= MOST_SEED;
    return seed < 0 ? seed + MOST_SEED : seed;
}

/* Joins two seeds. Two zeros would mean that there is no seed. */
static void join_seeds(int64_t global, int64_t op_seed, int64_t out_seeds[2]) {
    out_seeds[0] = truncated(global);
    out_seeds[1] = truncated(op_seed);
    if (out_seeds[0] == 0 && out_seeds[1] == 0) out_seeds[1] = MOST_SEED;
}

void gantry__random_op_seeds(gantry__random_state_t *state, int64_t op_seed, int64_t out_seeds[2]) {
    gantry__mutex_lock(&state->lock);
    join_seeds(state->has_seed ? state->seed : SEED_WITHOUT_GLOBAL, op_seed, out_seeds);
    gantry__mutex_unlock(&state->lock);
}

static gantry_status_t take_unseeded(gantry__random_state_t *state, gantry__philox_t *out_place) {
    int64_t seeds[2];
    gantry__mutex_lock(&state->lock);
    bool has_seed = state->has_seed;
    if (has_seed) join_seeds(state->seed, gantry__op_seeds_next(&state->op_seeds), seeds);
    gantry__mutex_unlock(&state->lock);
    if (!has_seed) GANTRY__TRY(gantry__entropy(seeds, sizeof seeds));
    *out_place = begin_of(seeds);
    return GANTRY_OK;
}

static gantry_status_t make_draws(const gantry__random_state_t *state, gantry__philox_t place,
                                  gantry__draws_t **out_draws) {
    return gantry__draws_create(state->heap, place, &state->seeds_set, out_draws);
}

static stream_t *make_stream(const gantry__random_state_t *state, const stream_key_t *key) {
    stream_t *made = gantry__heap_alloc(state->heap, sizeof *made);
    if (!made) return NULL;
    *made = (stream_t){.key = *key};
    if (make_draws(state, begin_of(key->seeds), &made->draws) == GANTRY_OK) return made;
    gantry__heap_free(state->heap, made, sizeof *made);
    return NULL;
}

/* The draws of this key's stream, created if needed; NULL when memory is out. The caller must hold
 * the lock. */
static gantry__draws_t *find_shared(gantry__random_state_t *state, const stream_key_t *key) {
    stream_t **bucket =
        &state->streams[gantry__hash64(key, sizeof *key, 0) % GANTRY__RANDOM_BUCKETS];
    for (stream_t *stream = *bucket; stream; stream = stream->next) {
        if (memcmp(&stream->key, key, sizeof *key) == 0) return stream->draws;
    }
    stream_t *made = make_stream(state, key);
    if (!made) return NULL;
    made->next = *bucket;
    *bucket = made;
    return made->draws;
}

/* Finds the draws of a prepared op in the same way. */
static gantry__draws_t *find_own(const gantry__random_state_t *state, gantry__draws_t **own,
                                 const stream_key_t *key) {
    if (!*own) (void)make_draws(state, begin_of(key->seeds), own);
    return *own;
}

static stream_key_t stream_key_of(const gantry__infer_t *call) {
    stream_key_t key = {
        .op = call->op->id,
        .seeds = {gantry__infer_attr(call, "seed")->i, gantry__infer_attr(call, "seed2")->i}};
    for (uint32_t i = 0; i < call->op->attr_count; ++i) {
        if (call->attrs[i].kind == GANTRY_ATTR_TYPE)
            key.types = key.types << 8 | (uint64_t)call->attrs[i].i;
    }
    return key;
}

static bool is_unseeded(const stream_key_t *key) {
    return key->seeds[0] == 0 && key->seeds[1] == 0;
}

static gantry__draws_t *find_draws(gantry__random_state_t *state, gantry__draws_t **own,
                                   const stream_key_t *key) {
    return own ? find_own(state, own, key) : find_shared(state, key);
}

gantry_status_t gantry__random_take(gantry__random_state_t *state, const gantry__infer_t *call,
                                    gantry__draws_t **own, uint64_t blocks,
                                    gantry__philox_t *out_place) {
    const stream_key_t key = stream_key_of(call);
    if (is_unseeded(&key)) return take_unseeded(state, out_place);
    gantry__mutex_lock(&state->lock);
    gantry__draws_t *draws = find_draws(state, own, &key);
    if (draws) *out_place = gantry__draws_take(draws, blocks);
    gantry__mutex_unlock(&state->lock);
    return draws ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

gantry_status_t gantry__random_draws(gantry__random_state_t *state, const gantry__infer_t *call,
                                     gantry__draws_t **own, gantry__draws_t **out_draws) {
    const stream_key_t key = stream_key_of(call);
    gantry__philox_t place;
    *out_draws = NULL;
    if (is_unseeded(&key)) {
        GANTRY__TRY(take_unseeded(state, &place));
        return make_draws(state, place, out_draws);
    }
    gantry__mutex_lock(&state->lock);
    gantry__draws_t *draws = find_draws(state, own, &key);
    if (draws) *out_draws = gantry__draws_retain(draws);
    gantry__mutex_unlock(&state->lock);
    return draws ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}
