/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The allocator keeps its invariants in long random sequences: no two chunks overlap, the
 * limit holds at each driver call, and all memory is returned.
 *
 * The driver refuses at random. The test charges and trims the allocator, and keeps its own list of
 * chunks. Traces of programs test the bound on growth. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/failure.h"
#include "locked_heap.h"
#include "memory/allocator.h"
#include "test.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define MOST_LIVE 400

typedef struct machine_t {
    locked_heap_t heap;
    gantry__allocator_t allocator;
    uint64_t limit, capacity;
    unsigned refuse_one_in; /* 0: never */
    atomic_uint_fast64_t held, charged, idle, random;
    atomic_uint_fast64_t largest_region;
    atomic_int regions, takes, gives, over_limit;
} machine_t;

static uint64_t next_random(uint64_t *random) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random >> 11;
}

/* Regions are taken outside the allocator's lock. */
static void note_largest_region(machine_t *machine, uint64_t size_bytes) {
    uint64_t largest = atomic_load(&machine->largest_region);
    while (size_bytes > largest &&
           !atomic_compare_exchange_weak(&machine->largest_region, &largest, size_bytes)) {
    }
}

/* The allocator never counts less than the test knows to be taken. */
static gantry_status_t take(void *user, uint64_t size_bytes, uint64_t *out_handle) {
    machine_t *machine = user;
    uint64_t held = atomic_fetch_add(&machine->held, size_bytes) + size_bytes;
    if (held + atomic_load(&machine->charged) > machine->limit)
        atomic_fetch_add(&machine->over_limit, 1);
    uint64_t chance = atomic_fetch_add(&machine->random, 1) * UINT64_C(0x9e3779b97f4a7c15) >> 33;
    if (held > machine->capacity ||
        (machine->refuse_one_in && chance % machine->refuse_one_in == 0)) {
        atomic_fetch_sub(&machine->held, size_bytes);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "the driver does not want to");
    }
    *out_handle = (uint64_t)atomic_fetch_add(&machine->takes, 1) + 1;
    atomic_fetch_add(&machine->regions, 1);
    note_largest_region(machine, size_bytes);
    return GANTRY_OK;
}

static void give_back(void *user, uint64_t handle, uint64_t size_bytes) {
    machine_t *machine = user;
    (void)handle;
    atomic_fetch_sub(&machine->held, size_bytes);
    atomic_fetch_sub(&machine->regions, 1);
    atomic_fetch_add(&machine->gives, 1);
}

static void wait_for_work(void *user) { (void)user; }

static uint64_t release_idle(void *user) {
    machine_t *machine = user;
    uint64_t bytes = atomic_exchange(&machine->idle, 0);
    atomic_fetch_sub(&machine->charged, bytes);
    if (bytes > 0) gantry__allocator_discharge(&machine->allocator, bytes);
    return bytes;
}

static void open_machine(machine_t *machine, gantry__allocator_options_t options,
                         unsigned refuse_one_in) {
    memset(machine, 0, sizeof *machine);
    locked_heap_init(&machine->heap, -1);
    machine->limit = options.bfc.limit_bytes;
    machine->capacity = UINT64_MAX;
    machine->refuse_one_in = refuse_one_in;
    gantry__region_source_t source = {.user = machine,
                                      .take = take,
                                      .give_back = give_back,
                                      .wait = wait_for_work,
                                      .release_idle = release_idle};
    assert_int_equal(gantry__allocator_init(&machine->allocator, &machine->heap.heap, &options,
                                            &source, "model"),
                     GANTRY_OK);
}

static void close_machine(machine_t *machine) {
    assert_int_equal(atomic_load(&machine->over_limit), 0);
    gantry__allocator_deinit(&machine->allocator);
    assert_int_equal(atomic_load(&machine->held), 0);
    assert_int_equal(atomic_load(&machine->regions), 0);
    assert_int_equal(machine->heap.inner.live_blocks, 0);
    assert_false(machine->heap.inner.wrong_size);
    locked_heap_deinit(&machine->heap);
}

/* ---- one thread, beside a list of live chunks ---- */

typedef struct model_t {
    machine_t machine;
    gantry__bfc_chunk_t *live[MOST_LIVE];
    size_t count;
    uint64_t in_use, requested, temporaries;
    uint64_t random;
    uint64_t hits, refusals, charges, trims;
} model_t;

static uint64_t draw(model_t *model) { return next_random(&model->random); }

static void expect_no_overlap(const model_t *model, const gantry__bfc_chunk_t *chunk) {
    for (size_t i = 0; i < model->count; ++i) {
        const gantry__bfc_chunk_t *other = model->live[i];
        if (other->region->handle != chunk->region->handle) continue;
        assert_true(other->offset + other->bytes <= chunk->offset ||
                    chunk->offset + chunk->bytes <= other->offset);
    }
    assert_true(chunk->offset + chunk->bytes <= chunk->region->bytes);
}

static void allocate_one(model_t *model, uint64_t most) {
    gantry__bfc_chunk_t *chunk;
    const gantry__allocation_t request = {.bytes = 1 + draw(model) % (most >> draw(model) % 12),
                                          .owner = "Model",
                                          .temporary = draw(model) % 4 == 0,
                                          .held = (uint32_t)model->temporaries};
    gantry_status_t status =
        gantry__allocator_allocate(&model->machine.allocator, &request, &chunk);
    if (status != GANTRY_OK) {
        assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_null(chunk);
        ++model->refusals;
        return;
    }
    assert_true(chunk->in_use && chunk->bytes >= request.bytes);
    expect_no_overlap(model, chunk);
    model->live[model->count++] = chunk;
    model->in_use += chunk->bytes;
    model->requested += request.bytes;
    model->temporaries += request.temporary;
    ++model->hits;
}

static void free_one(model_t *model, size_t index) {
    gantry__bfc_chunk_t *chunk = model->live[index];
    model->live[index] = model->live[--model->count];
    model->in_use -= chunk->bytes;
    model->requested -= chunk->requested_bytes;
    model->temporaries -= chunk->temporary;
    gantry__allocator_free(&model->machine.allocator, chunk);
}

static void charge_or_discharge(model_t *model) {
    machine_t *machine = &model->machine;
    uint64_t idle = atomic_load(&machine->idle), bytes = 1 + draw(model) % (2 * MIB);
    if (idle >= bytes) {
        atomic_fetch_sub(&machine->idle, bytes);
        atomic_fetch_sub(&machine->charged, bytes);
        gantry__allocator_discharge(&machine->allocator, bytes);
    } else if (gantry__allocator_charge(&machine->allocator, bytes)) {
        atomic_fetch_add(&machine->charged, bytes);
        atomic_fetch_add(&machine->idle, bytes);
        ++model->charges;
    }
}

static void trim(model_t *model) {
    uint64_t target = draw(model) % model->machine.limit, pool;
    gantry__bfc_stats_t before, after;
    gantry__allocator_stats(&model->machine.allocator, &before);
    gantry__allocator_trim(&model->machine.allocator, target, &pool);
    gantry__allocator_stats(&model->machine.allocator, &after);
    assert_int_equal(pool, after.pool_bytes);
    assert_true(pool <= before.pool_bytes && pool >= model->in_use);
    if (before.pool_bytes <= target) assert_int_equal(pool, before.pool_bytes);
    if (model->count == 0) assert_true(pool <= target);
    ++model->trims;
}

static void expect_books_agree(model_t *model) {
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&model->machine.allocator, &stats);
    assert_int_equal(stats.bytes_in_use, model->in_use);
    assert_int_equal(stats.requested_bytes_in_use, model->requested);
    assert_int_equal(stats.pool_bytes, atomic_load(&model->machine.held));
    assert_int_equal(stats.charged_bytes, atomic_load(&model->machine.charged));
    assert_int_equal(stats.region_count, atomic_load(&model->machine.regions));
    assert_int_equal(stats.pending_bytes, 0);
    assert_true(stats.pool_bytes + stats.charged_bytes <= model->machine.limit);
    assert_int_equal(model->machine.allocator.temporaries, model->temporaries);
}

static void run_model(gantry__allocator_options_t options, unsigned refuse_one_in, uint64_t most,
                      uint64_t seed) {
    model_t *model = calloc(1, sizeof *model);
    assert_non_null(model);
    open_machine(&model->machine, options, refuse_one_in);
    model->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int i = 0; i < 60000; ++i) {
        uint64_t what = draw(model) % 1000;
        bool filling = i / 3000 % 2 == 0;
        if (what < 8) {
            charge_or_discharge(model);
        } else if (what < 10) {
            trim(model);
        } else if (model->count > 0 &&
                   (model->count == MOST_LIVE || what % 100 < (filling ? 35u : 65u))) {
            free_one(model, draw(model) % model->count);
        } else {
            allocate_one(model, most);
        }
        if (i % 64 == 0) expect_books_agree(model);
    }
    assert_true(model->hits > 5000 && model->refusals > 0 && model->trims > 0);
    gantry__ladder_counts_t counts;
    gantry__allocator_counts(&model->machine.allocator, &counts);
    assert_int_equal(counts.out_of_memory, model->refusals);
    assert_true(counts.extended > 0);
    while (model->count > 0) free_one(model, model->count - 1);
    (void)release_idle(&model->machine);
    trim(model);
    expect_books_agree(model);
    close_machine(&model->machine);
    free(model);
}

TEST(random_sequence_with_growth_keeps_every_promise) {
    run_model((gantry__allocator_options_t){.bfc = {.limit_bytes = 64 * MIB, .growth = true},
                                            .garbage_collection = true,
                                            .retry_ms = 3600000},
              5, 16 * MIB, 1);
}

TEST(random_sequence_with_small_steps_keeps_every_promise) {
    run_model((gantry__allocator_options_t){.bfc = {.limit_bytes = 32 * MIB + 77,
                                                    .alignment = 4096,
                                                    .max_step_bytes = MIB,
                                                    .max_region_bytes = 5 * MIB,
                                                    .split_bytes = 4096,
                                                    .growth = true},
                                            .garbage_collection = true},
              3, 8 * MIB, 2);
}

TEST(random_sequence_without_growth_or_collection_keeps_every_promise) {
    run_model((gantry__allocator_options_t){.bfc = {.limit_bytes = 32 * MIB,
                                                    .max_region_bytes = 9 * MIB}},
              4, 8 * MIB, 3);
}

/* ---- threads ---- */

typedef struct worker_t {
    machine_t *machine;
    uint64_t random;
    uint64_t done, refused;
    int overlaps;
} worker_t;

static gantry__bfc_chunk_t *get_signed(worker_t *self, uint64_t bytes, bool temporary,
                                       uint32_t held) {
    gantry__bfc_chunk_t *chunk;
    const gantry__allocation_t request = {
        .bytes = bytes, .owner = "Work", .temporary = temporary, .held = held};
    if (gantry__allocator_allocate(&self->machine->allocator, &request, &chunk) != GANTRY_OK)
        return NULL;
    chunk->last_use[0] = (uint64_t)(uintptr_t)self;
    return chunk;
}

static void put_signed(worker_t *self, gantry__bfc_chunk_t *chunk) {
    if (!chunk) return;
    self->overlaps += chunk->last_use[0] != (uint64_t)(uintptr_t)self;
    gantry__allocator_free(&self->machine->allocator, chunk);
}

/* Each op has two temporaries and a result that stays for a while. */
static void *work(void *user) {
    worker_t *self = user;
    gantry__bfc_chunk_t *results[8] = {NULL};
    for (int i = 0; i < 3000; ++i) {
        size_t slot = next_random(&self->random) % 8;
        put_signed(self, results[slot]);
        results[slot] = NULL;
        gantry__bfc_chunk_t *first =
            get_signed(self, 1 + next_random(&self->random) % MIB, true, 0);
        gantry__bfc_chunk_t *second =
            first ? get_signed(self, 1 + next_random(&self->random) % (256 * KIB), true, 1) : NULL;
        if (second)
            results[slot] = get_signed(self, 1 + next_random(&self->random) % MIB, false, 2);
        if (results[slot]) ++self->done;
        if (!results[slot]) ++self->refused;
        put_signed(self, second);
        put_signed(self, first);
        if (i % 97 == 0 && gantry__allocator_charge(&self->machine->allocator, 64 * KIB)) {
            atomic_fetch_add(&self->machine->charged, 64 * KIB);
            atomic_fetch_sub(&self->machine->charged, 64 * KIB);
            gantry__allocator_discharge(&self->machine->allocator, 64 * KIB);
        }
        if (i % 211 == 0) gantry__allocator_trim(&self->machine->allocator, 0, NULL);
    }
    for (size_t slot = 0; slot < 8; ++slot) put_signed(self, results[slot]);
    return NULL;
}

TEST(threads_that_run_out_of_memory_keep_every_promise) {
    static machine_t machine;
    open_machine(&machine,
                 (gantry__allocator_options_t){
                     .bfc = {.limit_bytes = 12 * MIB, .split_bytes = 64 * KIB, .growth = true},
                     .garbage_collection = true,
                     .retry_ms = 60000},
                 7);
    worker_t workers[4];
    pthread_t threads[4];
    for (size_t i = 0; i < 4; ++i) {
        workers[i] = (worker_t){.machine = &machine, .random = UINT64_C(88172645463325252) + i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    uint64_t refused = 0;
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].overlaps, 0);
        assert_true(workers[i].done > 0);
        refused += workers[i].refused;
    }
    gantry__bfc_stats_t stats;
    gantry__ladder_counts_t counts;
    gantry__allocator_stats(&machine.allocator, &stats);
    gantry__allocator_counts(&machine.allocator, &counts);
    assert_int_equal(stats.bytes_in_use + stats.pending_bytes + stats.charged_bytes, 0);
    assert_int_equal(stats.pool_bytes, atomic_load(&machine.held));
    assert_int_equal(counts.out_of_memory, refused);
    assert_int_equal(
        machine.allocator.temporaries + machine.allocator.waiters + machine.allocator.waiters_held,
        0);
    close_machine(&machine);
}

/* ---- growth against its bound ---- */

typedef struct trace_t {
    machine_t machine;
    gantry__bfc_chunk_t *live[4096];
    size_t count;
    uint64_t in_use, peak, random;
} trace_t;

static void add(trace_t *trace, uint64_t bytes) {
    const gantry__allocation_t request = {.bytes = bytes, .owner = "Trace"};
    gantry__bfc_chunk_t *chunk;
    assert_int_equal(gantry__allocator_allocate(&trace->machine.allocator, &request, &chunk),
                     GANTRY_OK);
    trace->live[trace->count++] = chunk;
    trace->in_use += chunk->bytes;
    if (trace->in_use > trace->peak) trace->peak = trace->in_use;
    assert_true(atomic_load(&trace->machine.held) <=
                2 * trace->peak + atomic_load(&trace->machine.largest_region));
}

static void drop(trace_t *trace, size_t index) {
    gantry__bfc_chunk_t *chunk = trace->live[index];
    trace->live[index] = trace->live[--trace->count];
    trace->in_use -= chunk->bytes;
    gantry__allocator_free(&trace->machine.allocator, chunk);
}

static trace_t *open_trace(void) {
    trace_t *trace = calloc(1, sizeof *trace);
    assert_non_null(trace);
    trace->random = UINT64_C(88172645463325252);
    open_machine(
        &trace->machine,
        (gantry__allocator_options_t){.bfc = {.limit_bytes = UINT64_C(1) << 40, .growth = true},
                                      .garbage_collection = true},
        0);
    return trace;
}

static void close_trace(trace_t *trace) {
    while (trace->count > 0) drop(trace, trace->count - 1);
    close_machine(&trace->machine);
    free(trace);
}

TEST(training_steps_hold_at_most_twice_the_peak_and_a_region) {
    trace_t *trace = open_trace();
    uint64_t weights[60];
    for (int i = 0; i < 60; ++i) {
        weights[i] = KIB + next_random(&trace->random) % (8 * MIB);
        add(trace, weights[i]);
        add(trace, weights[i]);
    }
    for (int step = 0; step < 40; ++step) {
        uint64_t batch = 16 + next_random(&trace->random) % 112;
        for (int i = 0; i < 60; ++i) {
            add(trace, batch * (256 + weights[i] % 70000));
            add(trace, batch * 1000 + next_random(&trace->random) % 100000);
            if (i % 7 != 0) drop(trace, trace->count - 1); /* scratch */
        }
        for (int i = 59; i >= 0; --i) {
            add(trace, weights[i]); /* a gradient */
            drop(trace, trace->count - 1);
        }
        while (trace->count > 120) drop(trace, trace->count - 1);
    }
    close_trace(trace);
}

TEST(random_sizes_hold_at_most_twice_the_peak_and_a_region) {
    trace_t *trace = open_trace();
    for (int i = 0; i < 40000; ++i) {
        uint64_t chance = next_random(&trace->random) % 100;
        if (trace->count > 0 && (trace->count >= 500 || chance < (i / 5000 % 2 ? 60u : 40u))) {
            drop(trace, next_random(&trace->random) % trace->count);
        } else {
            add(trace,
                1 + next_random(&trace->random) % (256 * MIB >> next_random(&trace->random) % 16));
        }
    }
    close_trace(trace);
}

TEST(sawtooth_holds_at_most_twice_the_peak_and_a_region) {
    trace_t *trace = open_trace();
    for (uint64_t tooth = 1; tooth <= 20; ++tooth) {
        for (uint64_t i = 0; i < 1000; ++i) add(trace, 1000 + tooth * (i % 100) * 977);
        while (trace->count > 0) drop(trace, next_random(&trace->random) % trace->count);
    }
    close_trace(trace);
}

int main(void) { return test_main(); }
