/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The BFC allocator chooses the chunks of a model that scans arrays, in long random
 * sequences and also where the driver refuses memory. */
#include "bfc_pool.h"
#include "sanitized.h"
#include "test.h"

#include <string.h>

#define STEPS FEWER_FOR_SANITIZERS(100000, 25000)
#define CHECK_EVERY 1000
#define MOST_REGIONS 64
#define MOST_CHUNKS 4096
#define MOST_LIVE 2500

typedef struct model_chunk_t {
    uint64_t offset, bytes;
    uint64_t last_use[GANTRY__BFC_STREAMS];
    bool in_use;
} model_chunk_t;

typedef struct model_region_t {
    const gantry__bfc_region_t *real;
    size_t count;
    model_chunk_t chunks[MOST_CHUNKS];
} model_region_t;

typedef struct model_t {
    pool_t pool;
    size_t region_count;
    model_region_t *regions[MOST_REGIONS];
    gantry__bfc_chunk_t *live[MOST_LIVE];
    size_t live_count;
    uint64_t clock;
    uint64_t largest_request;
    uint64_t hits, extensions, collections, refusals, ready_changes;
} model_t;

typedef struct place_t {
    size_t region, chunk;
    bool found;
} place_t;

static model_chunk_t *at(const model_t *model, place_t place) {
    return &model->regions[place.region]->chunks[place.chunk];
}

static bool is_ready(const model_chunk_t *chunk, const uint64_t *completed) {
    for (int i = 0; i < GANTRY__BFC_STREAMS; ++i) {
        if (chunk->last_use[i] > completed[i]) return false;
    }
    return true;
}

static place_t choose(const model_t *model, uint64_t rounded) {
    place_t best = {0};
    for (size_t r = 0; r < model->region_count; ++r) {
        for (size_t c = 0; c < model->regions[r]->count; ++c) {
            const model_chunk_t *chunk = &model->regions[r]->chunks[c];
            if (chunk->in_use || chunk->bytes < rounded) continue;
            if (!best.found || chunk->bytes < at(model, best)->bytes) best = (place_t){r, c, true};
        }
    }
    return best;
}

/* The first chunk without pending work among the first eight of the chosen size. */
static place_t choose_ready(const model_t *model, uint64_t rounded, const uint64_t *completed) {
    place_t best = choose(model, rounded);
    int probes = 0;
    for (size_t r = 0; best.found && r < model->region_count; ++r) {
        for (size_t c = 0; c < model->regions[r]->count; ++c) {
            const model_chunk_t *chunk = &model->regions[r]->chunks[c];
            if (chunk->in_use || chunk->bytes != at(model, best)->bytes) continue;
            if (++probes > 8) return best;
            if (is_ready(chunk, completed)) return (place_t){r, c, true};
        }
    }
    return best;
}

static void take(model_t *model, place_t place, uint64_t rounded) {
    model_region_t *region = model->regions[place.region];
    model_chunk_t *chunk = at(model, place);
    uint64_t rest = chunk->bytes - rounded;
    if (rest >= rounded || (rest > 0 && rest >= model->pool.bfc.options.split_bytes)) {
        assert_true(region->count < MOST_CHUNKS);
        memmove(chunk + 1, chunk, (region->count++ - place.chunk) * sizeof *chunk);
        chunk->bytes = rounded;
        chunk[1].offset += rounded;
        chunk[1].bytes = rest;
    }
    chunk->in_use = true;
}

/* Joins chunks c and c + 1 if both are free. */
static void merge(model_region_t *region, size_t c) {
    if (c + 1 >= region->count) return;
    model_chunk_t *a = &region->chunks[c], *b = a + 1;
    if (a->in_use || b->in_use) return;
    a->bytes += b->bytes;
    for (int i = 0; i < GANTRY__BFC_STREAMS; ++i) {
        a->last_use[i] = a->last_use[i] > b->last_use[i] ? a->last_use[i] : b->last_use[i];
    }
    memmove(b, b + 1, (region->count - c - 2) * sizeof *b);
    region->count--;
}

static place_t locate(const model_t *model, const gantry__bfc_chunk_t *real) {
    for (size_t r = 0; r < model->region_count; ++r) {
        if (model->regions[r]->real != real->region) continue;
        for (size_t c = 0; c < model->regions[r]->count; ++c) {
            if (model->regions[r]->chunks[c].offset == real->offset) return (place_t){r, c, true};
        }
    }
    fail_msg("chunk at offset %llu is not in the model", (unsigned long long)real->offset);
    return (place_t){0};
}

static void expect_same(const model_chunk_t *chunk, const gantry__bfc_chunk_t *real) {
    assert_int_equal(real->offset, chunk->offset);
    assert_int_equal(real->bytes, chunk->bytes);
    assert_int_equal(real->in_use, chunk->in_use);
    assert_memory_equal(real->last_use, chunk->last_use, sizeof chunk->last_use);
}

static void expect_same_pool(const model_t *model) {
    check_pool(&model->pool.bfc);
    const gantry__bfc_region_t *region = gantry__bfc_first_region(&model->pool.bfc);
    for (size_t r = 0; r < model->region_count; r++, region = region->next) {
        assert_ptr_equal(region, model->regions[r]->real);
        const gantry__bfc_chunk_t *real = &region->first;
        for (size_t c = 0; c < model->regions[r]->count; c++, real = real->next) {
            assert_non_null(real);
            expect_same(&model->regions[r]->chunks[c], real);
        }
        assert_null(real);
    }
    assert_null(region);
}

static void extend_both(model_t *model, uint64_t bytes) {
    gantry__bfc_region_t *real;
    assert_int_equal(try_extend(&model->pool, bytes, &real), GANTRY_OK);
    if (!real) return;
    assert_true(model->region_count < MOST_REGIONS);
    model_region_t *region = calloc(1, sizeof *region);
    assert_non_null(region);
    region->real = real;
    region->count = 1;
    region->chunks[0].bytes = real->bytes;
    model->regions[model->region_count++] = region;
    model->extensions++;
}

static void collect_both(model_t *model) {
    size_t kept = 0;
    uint64_t bytes = 0;
    for (size_t r = 0; r < model->region_count; ++r) {
        model_region_t *region = model->regions[r];
        if (region->count == 1 && !region->chunks[0].in_use) {
            bytes += region->chunks[0].bytes;
            free(region);
        } else {
            model->regions[kept++] = region;
        }
    }
    model->region_count = kept;
    assert_int_equal(gantry__bfc_empty_region_bytes(&model->pool.bfc), bytes);
    (void)collect(&model->pool, 0);
    model->collections += bytes > 0;
}

/* One allocation on both sides; false if nothing fits. */
static bool allocate_both(model_t *model, uint64_t bytes) {
    gantry__bfc_t *bfc = &model->pool.bfc;
    gantry__bfc_chunk_t *real;
    uint64_t rounded = gantry__bfc_round(bfc, bytes);
    place_t place;
    if (draw(&model->pool) % 4 == 0) {
        uint64_t completed[GANTRY__BFC_STREAMS];
        for (int i = 0; i < GANTRY__BFC_STREAMS; ++i) {
            uint64_t behind = draw(&model->pool) % 500;
            completed[i] = model->clock > behind ? model->clock - behind : 0;
        }
        place_t plain = choose(model, rounded);
        place = choose_ready(model, rounded, completed);
        model->ready_changes += plain.region != place.region || plain.chunk != place.chunk;
        assert_int_equal(gantry__bfc_allocate_ready(bfc, bytes, completed, &real), GANTRY_OK);
    } else {
        place = choose(model, rounded);
        assert_int_equal(gantry__bfc_allocate(bfc, bytes, &real), GANTRY_OK);
    }
    assert_int_equal(real != NULL, place.found);
    if (!real) return false;
    take(model, place, rounded);
    assert_ptr_equal(real->region, model->regions[place.region]->real);
    expect_same(at(model, place), real);
    assert_int_equal(real->requested_bytes, bytes);
    model->live[model->live_count++] = real;
    model->hits++;
    return true;
}

static void free_both(model_t *model, size_t index) {
    gantry__bfc_chunk_t *real = model->live[index];
    model->live[index] = model->live[--model->live_count];
    place_t place = locate(model, real);
    model_chunk_t *chunk = at(model, place);
    size_t stream = draw(&model->pool) % GANTRY__BFC_STREAMS;
    real->last_use[stream] = chunk->last_use[stream] = ++model->clock;
    chunk->in_use = false;
    merge(model->regions[place.region], place.chunk);
    if (place.chunk > 0) merge(model->regions[place.region], place.chunk - 1);
    gantry__bfc_free(&model->pool.bfc, real);
}

/* Half of the sizes come from a few repeated ones, as in training; the others have all
 * magnitudes. */
static uint64_t draw_size(model_t *model) {
    uint64_t random = draw(&model->pool);
    if (random % 2 == 0) return 1000 * (1 + random / 2 % 5);
    uint64_t size = model->largest_request >> random / 2 % 16;
    return 1 + draw(&model->pool) % (size ? size : 1);
}

static void step(model_t *model, bool filling) {
    uint64_t random = draw(&model->pool) % 100;
    if (draw(&model->pool) % 400 == 0) collect_both(model);
    if (model->live_count > 0 &&
        (model->live_count == MOST_LIVE || random < (filling ? 35u : 65u))) {
        free_both(model, draw(&model->pool) % model->live_count);
        return;
    }
    uint64_t bytes = draw_size(model);
    if (allocate_both(model, bytes)) return;
    extend_both(model, bytes);
    if (allocate_both(model, bytes)) return;
    if (random % 2) collect_both(model);
    extend_both(model, bytes);
    if (!allocate_both(model, bytes)) model->refusals++;
}

static void run_model(gantry__bfc_options_t options, uint64_t driver_limit,
                      uint64_t largest_request, uint64_t seed) {
    model_t *model = calloc(1, sizeof *model);
    assert_non_null(model);
    open_pool(&model->pool, options);
    model->pool.driver_limit = driver_limit;
    model->pool.random ^= seed * 0x9e3779b97f4a7c15u;
    model->largest_request = largest_request;
    for (int i = 0; i < STEPS; ++i) {
        step(model, i / 7000 % 2 == 0);
        if (i % CHECK_EVERY == 0) expect_same_pool(model);
    }
    assert_true(model->hits > STEPS / 4 && model->extensions > 0 && model->refusals > 0 &&
                model->ready_changes > 0);
    assert_true(!options.growth || model->collections > 0);
    expect_same_pool(model);
    while (model->live_count > 0) free_both(model, model->live_count - 1);
    expect_same_pool(model);
    assert_int_equal(gantry__bfc_empty_region_bytes(&model->pool.bfc), model->pool.driver_bytes);
    collect_both(model);
    assert_int_equal(model->pool.driver_bytes, 0);
    close_pool(&model->pool);
    free(model);
}

TEST(random_sequence_with_growth_matches_the_model) {
    run_model((gantry__bfc_options_t){.limit_bytes = 64 * MIB, .growth = true}, UINT64_MAX, 8 * MIB,
              1);
}

TEST(random_sequence_with_one_region_matches_the_model) {
    run_model((gantry__bfc_options_t){.limit_bytes = 24 * MIB}, UINT64_MAX, MIB / 2, 2);
}

TEST(random_sequence_with_always_splitting_matches_the_model) {
    run_model(
        (gantry__bfc_options_t){
            .limit_bytes = 64 * MIB, .alignment = 4096, .split_bytes = 4096, .growth = true},
        UINT64_MAX, 8 * MIB, 3);
}

TEST(random_sequence_with_refusing_driver_matches_the_model) {
    run_model((gantry__bfc_options_t){.limit_bytes = 64 * MIB,
                                      .max_region_bytes = 5 * MIB,
                                      .split_bytes = MIB,
                                      .initial_region_bytes = 100000,
                                      .growth = true},
              27 * MIB + 1, 6 * MIB, 4);
}

int main(void) { return test_main(); }
