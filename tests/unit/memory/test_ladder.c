/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An allocation for which nothing fits waits, returns idle regions, frees what is kept and
 * only then is refused with a report of what was tried.
 * Promise: Chunks that are only kept between calls are freed before a request that they could serve
 * is refused.
 *
 * Tests without a wait use an allocator that would wait for an hour. */
#define _XOPEN_SOURCE 700

#include "allocator_fixture.h"
#include "test.h"

#include <sched.h>

#define HOUR_MS 3600000u

static void open_for(fixture_t *f, uint64_t limit_bytes, uint32_t retry_ms, bool explicit_retry) {
    open_with(f, (gantry__allocator_options_t){
                     .bfc = {.limit_bytes = limit_bytes, .split_bytes = 256, .growth = true},
                     .garbage_collection = true,
                     .explicit_retry = explicit_retry,
                     .retry_ms = retry_ms});
}

static gantry__bfc_chunk_t *get_temporary(fixture_t *f, uint64_t bytes) {
    gantry__bfc_chunk_t *chunk;
    const gantry__allocation_t request = {.bytes = bytes, .owner = "Scratch", .temporary = true};
    if (gantry__allocator_allocate(&f->allocator, &request, &chunk) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    return chunk;
}

static gantry__ladder_counts_t counts_of(fixture_t *f) {
    gantry__ladder_counts_t counts;
    gantry__allocator_counts(&f->allocator, &counts);
    return counts;
}

/* An allocation in another thread. */
typedef struct asker_t {
    fixture_t *f;
    gantry__allocation_t request;
    pthread_t thread;
    gantry_status_t status;
    gantry__bfc_chunk_t *chunk;
} asker_t;

static void *ask(void *user) {
    asker_t *asker = user;
    asker->status =
        gantry__allocator_allocate(&asker->f->allocator, &asker->request, &asker->chunk);
    return NULL;
}

static void begin_to_ask(asker_t *asker, fixture_t *f, gantry__allocation_t request) {
    *asker = (asker_t){.f = f, .request = request};
    /* another thread may hold the lock */
    if (f->driver.must_be_unlocked) f->driver.must_be_unlocked = NULL;
    assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

static void expect_served(asker_t *asker) {
    assert_int_equal(pthread_join(asker->thread, NULL), 0);
    assert_int_equal(asker->status, GANTRY_OK);
    assert_non_null(asker->chunk);
    gantry__allocator_free(&asker->f->allocator, asker->chunk);
}

static void until_waiting(fixture_t *f, uint32_t waiters) {
    for (;;) {
        gantry__mutex_lock(&f->allocator.lock);
        uint32_t present = f->allocator.waiters;
        gantry__mutex_unlock(&f->allocator.lock);
        if (present == waiters) return;
        (void)sched_yield();
    }
}

/* ---- waiting for other threads' ops ---- */

TEST(temporary_memory_of_another_op_is_waited_for) {
    fixture_t f;
    asker_t asker;
    open_for(&f, 8 * MIB, HOUR_MS, false);
    gantry__bfc_chunk_t *temporary = get_temporary(&f, 6 * MIB);
    begin_to_ask(&asker, &f, (gantry__allocation_t){.bytes = 4 * MIB, .owner = "Test"});
    until_waiting(&f, 1);
    put(&f, temporary);
    expect_served(&asker);
    assert_int_equal(counts_of(&f).waited, 1);
    assert_int_equal(counts_of(&f).out_of_memory, 0);
    close_all(&f);
}

TEST(own_temporary_memory_is_not_waited_for) {
    fixture_t f;
    gantry__bfc_chunk_t *chunk;
    open_for(&f, 8 * MIB, HOUR_MS, false);
    gantry__bfc_chunk_t *temporary = get_temporary(&f, 6 * MIB);
    const gantry__allocation_t request = {.bytes = 4 * MIB, .owner = "Test", .held = 1};
    assert_int_equal(gantry__allocator_allocate(&f.allocator, &request, &chunk),
                     GANTRY_RESOURCE_EXHAUSTED);
    assert_null(strstr(gantry__message(), "wait"));
    put(&f, temporary);
    close_all(&f);
}

TEST(second_of_two_ops_that_would_wait_for_each_other_serves_the_first) {
    fixture_t f;
    asker_t first;
    gantry__bfc_chunk_t *chunk;
    open_for(&f, 8 * MIB, HOUR_MS, false);
    gantry__bfc_chunk_t *of_first = get_temporary(&f, 2 * MIB),
                        *of_second = get_temporary(&f, 4 * MIB);
    const gantry__allocation_t request = {.bytes = 4 * MIB, .owner = "Test", .held = 1};
    begin_to_ask(&first, &f, request);
    until_waiting(&f, 1);
    assert_int_equal(gantry__allocator_allocate(&f.allocator, &request, &chunk),
                     GANTRY_RESOURCE_EXHAUSTED);
    put(&f, of_second); /* its op has failed and ends */
    expect_served(&first);
    put(&f, of_first);
    assert_int_equal(counts_of(&f).waited, 1);
    assert_int_equal(counts_of(&f).out_of_memory, 1);
    close_all(&f);
}

TEST(request_that_no_temporary_makes_room_for_is_refused_at_once) {
    fixture_t f;
    open_for(&f, 8 * MIB, HOUR_MS, false);
    gantry__bfc_chunk_t *stays = get(&f, 5 * MIB), *temporary = get_temporary(&f, 2 * MIB);
    expect_refusal(&f, 4 * MIB, "tried: reuse, extend; ");
    put(&f, temporary);
    put(&f, stays);
    close_all(&f);
}

TEST(without_retry_nothing_is_waited_for) {
    fixture_t f;
    open_for(&f, 8 * MIB, 0, false);
    gantry__bfc_chunk_t *temporary = get_temporary(&f, 6 * MIB);
    expect_refusal(&f, 4 * MIB, "tried: reuse, extend; ");
    put(&f, temporary);
    close_all(&f);
}

TEST(region_on_its_way_to_another_thread_is_waited_for) {
    fixture_t f;
    asker_t taker, waiter;
    open_with(&f,
              (gantry__allocator_options_t){.bfc = {.limit_bytes = 8 * MIB}, .retry_ms = HOUR_MS});
    (void)pthread_mutex_lock(&f.driver.lock); /* the driver is slow */
    begin_to_ask(&taker, &f, (gantry__allocation_t){.bytes = MIB, .owner = "Test"});
    while (stats_of(&f).pending_bytes == 0) (void)sched_yield();
    begin_to_ask(&waiter, &f, (gantry__allocation_t){.bytes = MIB, .owner = "Test"});
    until_waiting(&f, 1);
    (void)pthread_mutex_unlock(&f.driver.lock);
    expect_served(&taker);
    expect_served(&waiter);
    assert_int_equal(f.driver.takes, 1);
    close_all(&f);
}

/* ---- waiting on the user's request ---- */

TEST(explicit_retry_waits_for_any_free) {
    fixture_t f;
    asker_t asker;
    open_for(&f, 8 * MIB, HOUR_MS, true);
    assert_true(gantry__allocator_charge(&f.allocator, MIB));
    gantry__bfc_chunk_t *large = get(&f, 6 * MIB);
    begin_to_ask(&asker, &f, (gantry__allocation_t){.bytes = 4 * MIB, .owner = "Test"});
    until_waiting(&f, 1);
    gantry__allocator_discharge(&f.allocator, MIB); /* too little */
    put(&f, large);
    expect_served(&asker);
    assert_int_equal(counts_of(&f).waited, 1);
    close_all(&f);
}

TEST(discharge_makes_room_for_who_waits) {
    fixture_t f;
    asker_t asker;
    open_for(&f, 8 * MIB, HOUR_MS, true);
    assert_true(gantry__allocator_charge(&f.allocator, 6 * MIB));
    begin_to_ask(&asker, &f, (gantry__allocation_t){.bytes = 4 * MIB, .owner = "Test"});
    until_waiting(&f, 1);
    gantry__allocator_discharge(&f.allocator, 6 * MIB);
    expect_served(&asker);
    close_all(&f);
}

TEST(explicit_retry_ends_with_a_refusal) {
    fixture_t f;
    open_for(&f, 8 * MIB, 5, true);
    gantry__bfc_chunk_t *large = get(&f, 6 * MIB);
    expect_refusal(&f, 4 * MIB, "tried: reuse, extend, wait; ");
    expect_refusal(&f, 9 * MIB, "tried: reuse, extend; "); /* no free can make it fit */
    put(&f, large);
    close_all(&f);
}

/* ---- returning regions ---- */

TEST(giving_back_does_not_wait_long_for_ops_elsewhere) {
    fixture_t f;
    open_for(&f, 16 * MIB, HOUR_MS, false);
    gantry__bfc_chunk_t *temporary = get_temporary(&f, 2 * MIB);
    gantry__bfc_chunk_t *middle = get(&f, 4 * MIB), *large = get(&f, 8 * MIB);
    put(&f, middle);
    put(&f, large);
    put(&f, get(&f, 12 * MIB)); /* although the temporary's op never ends */
    assert_int_equal(f.driver.gives, 2);
    assert_int_equal(counts_of(&f).collected, 1);
    put(&f, temporary);
    close_all(&f);
}

TEST(collection_off_keeps_empty_regions) {
    fixture_t f;
    open_with(&f, (gantry__allocator_options_t){.bfc = {.limit_bytes = 8 * MIB, .growth = true}});
    put(&f, get(&f, 2 * MIB));
    put(&f, get(&f, 4 * MIB));
    expect_refusal(&f, 8 * MIB, "tried: reuse, extend; ");
    assert_false(gantry__allocator_charge(&f.allocator, 6 * MIB));
    assert_int_equal(f.driver.gives, 0);
    close_all(&f);
}

TEST(idle_staging_goes_back_before_memory_is_refused) {
    fixture_t f;
    open_for(&f, 8 * MIB, HOUR_MS, false);
    assert_true(gantry__allocator_charge(&f.allocator, 4 * MIB));
    f.driver.idle_bytes = 3 * MIB;
    put(&f, get(&f, 6 * MIB));
    assert_int_equal(f.driver.releases, 1);
    assert_int_equal(stats_of(&f).charged_bytes, MIB);
    assert_int_equal(counts_of(&f).collected, 1);
    gantry__allocator_discharge(&f.allocator, MIB);
    close_all(&f);
}

TEST(pool_beyond_twice_the_peak_loses_empty_regions_before_it_grows) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){
                     .limit_bytes = 1024 * MIB, .max_step_bytes = 2 * MIB, .growth = true});
    gantry__bfc_chunk_t *chunks[10];
    for (size_t i = 0; i < 10; ++i) chunks[i] = get(&f, 2 * MIB);
    for (size_t i = 1; i < 10; ++i) put(&f, chunks[i]);
    f.allocator.bfc.stats.peak_bytes_in_use = 2 * MIB; /* the rest then counts as waste */
    put(&f, get(&f, 3 * MIB));
    assert_int_equal(f.driver.gives, 5);
    /* twice the 2 + 3 in use, plus one region */
    assert_int_equal(f.driver.held, 10 * MIB + 3 * MIB);
    assert_int_equal(counts_of(&f).collected, 0); /* growth returned the regions, not a shortage */
    put(&f, chunks[0]);
    close_all(&f);
}

/* ---- memory that is kept between calls ---- */

TEST(kept_chunks_are_freed_before_memory_is_refused) {
    fixture_t f;
    open_for(&f, 8 * MIB, HOUR_MS, false);
    gantry__bfc_chunk_t *stays = get(&f, 2 * MIB);
    f.driver.kept[f.driver.kept_count++] = get(&f, 2 * MIB);
    f.driver.kept[f.driver.kept_count++] = get(&f, 2 * MIB);
    put(&f, get(&f, 4 * MIB)); /* of two regions, so that they are given back */
    assert_int_equal(f.driver.kept_asked, 1);
    assert_int_equal(counts_of(&f).collected, 1);
    assert_int_equal(counts_of(&f).out_of_memory, 0);
    expect_refusal(&f, 9 * MIB, "tried: reuse, extend; "); /* could never fit */
    assert_int_equal(f.driver.kept_asked, 1);
    f.driver.kept[f.driver.kept_count++] = get(&f, MIB);
    expect_refusal(&f, 8 * MIB, "free idle blocks of functions; ");
    assert_int_equal(f.driver.kept_asked, 2);
    put(&f, stays);
    close_all(&f);
}

/* ---- charges ---- */

TEST(charge_counts_against_the_limit_and_empties_the_pool) {
    fixture_t f;
    open_for(&f, 8 * MIB, HOUR_MS, false);
    assert_false(gantry__allocator_charge(&f.allocator, 8 * MIB + 1));
    assert_true(gantry__allocator_charge(&f.allocator, 3 * MIB));
    gantry__bfc_chunk_t *small = get(&f, 2 * MIB);
    put(&f, get(&f, 3 * MIB));
    assert_int_equal(f.driver.held, 5 * MIB);
    /* not even after returning regions */
    assert_false(gantry__allocator_charge(&f.allocator, 3 * MIB + 1));
    assert_int_equal(f.driver.gives, 0);
    assert_true(gantry__allocator_charge(&f.allocator, 3 * MIB));
    assert_int_equal(f.driver.gives, 1);
    expect_refusal(&f, 256, "limit 8388608");
    gantry__allocator_discharge(&f.allocator, 6 * MIB);
    put(&f, get(&f, 6 * MIB));
    put(&f, small);
    close_all(&f);
}

/* ---- trim ---- */

TEST(trim_gives_the_largest_empty_regions_back_down_to_the_target) {
    fixture_t f;
    uint64_t pool = 0;
    open_for(&f, 64 * MIB, HOUR_MS, false);
    gantry__bfc_chunk_t *chunks[4];
    for (size_t i = 0; i < 4; ++i) chunks[i] = get(&f, (2 * MIB) << i); /* 2, 4, 8, 16 */
    gantry__allocator_trim(&f.allocator, 0, &pool);
    assert_int_equal(pool, 30 * MIB); /* all in use */
    for (size_t i = 1; i < 4; ++i) put(&f, chunks[i]);
    int waits = f.driver.waits;
    gantry__allocator_trim(&f.allocator, 30 * MIB, &pool);
    assert_int_equal(pool, 30 * MIB);
    assert_int_equal(f.driver.gives, 0);
    gantry__allocator_trim(&f.allocator, 14 * MIB, &pool);
    assert_int_equal(pool, 14 * MIB);
    assert_int_equal(f.driver.gives, 1);
    assert_true(f.driver.waits > waits);
    gantry__allocator_trim(&f.allocator, 5 * MIB, &pool);
    assert_int_equal(pool, 2 * MIB); /* 8 and 4 were returned */
    assert_int_equal(f.driver.held, 2 * MIB);
    assert_true(gantry__allocator_charge(&f.allocator, MIB));
    f.driver.idle_bytes = MIB;
    gantry__allocator_trim(&f.allocator, 0, NULL);
    assert_int_equal(stats_of(&f).charged_bytes, 0);
    put(&f, chunks[0]);
    gantry__allocator_trim(&f.allocator, 0, &pool);
    assert_int_equal(pool, 0);
    close_all(&f);
}

/* ---- taking all memory ---- */

TEST(without_growth_the_limit_is_taken_in_pieces_where_it_must_be) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .max_region_bytes = 24 * MIB});
    put(&f, get(&f, 1));
    assert_int_equal(f.driver.takes, 3);
    assert_int_equal(f.driver.asked[0], 24 * MIB);
    assert_int_equal(f.driver.asked[1], 24 * MIB);
    assert_int_equal(f.driver.asked[2], 16 * MIB);
    assert_int_equal(stats_of(&f).region_count, 3);
    close_all(&f);
}

TEST(taking_all_ends_where_the_driver_has_no_more) {
    fixture_t f;
    open_all(&f, (gantry__bfc_options_t){.limit_bytes = 64 * MIB, .max_region_bytes = 24 * MIB});
    f.driver.capacity = 40 * MIB;
    put(&f, get(&f, 1));
    assert_true(f.driver.held > 36 * MIB && f.driver.held <= 40 * MIB);
    assert_int_equal(stats_of(&f).pending_bytes, 0);
    int takes = f.driver.takes;
    put(&f, get(&f, 1));
    assert_int_equal(f.driver.takes, takes);
    close_all(&f);
}

/* ---- the report of a refusal ---- */

static gantry__memory_report_t *must_have_report(fixture_t *f) {
    gantry__memory_report_t *report;
    if (gantry__allocator_oom_report(&f->allocator, &report) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    return report;
}

static void free_report(fixture_t *f, gantry__memory_report_t *report) {
    gantry__heap_free(&f->heap.heap, report, sizeof *report);
}

TEST(refusal_keeps_what_was_asked_and_tried) {
    fixture_t f;
    gantry__memory_report_t *report;
    char owner[] = "MatMul", tag[] = "encoder";
    open_for(&f, 8 * MIB, HOUR_MS, false);
    f.driver.capacity = 7 * MIB;
    assert_int_equal(gantry__allocator_oom_report(&f.allocator, &report), GANTRY_NOT_FOUND);
    gantry__bfc_chunk_t *small = get(&f, 2 * MIB), *other, *none;
    const gantry__allocation_t tagged = {.bytes = 3 * MIB, .owner = owner, .tag = tag};
    assert_int_equal(gantry__allocator_allocate(&f.allocator, &tagged, &other), GANTRY_OK);
    put(&f, small);
    const gantry__allocation_t hopeless = {
        .bytes = 4 * MIB - 1, .owner = "Conv2D", .tag = "decoder"};
    assert_int_equal(gantry__allocator_allocate(&f.allocator, &hopeless, &none),
                     GANTRY_RESOURCE_EXHAUSTED);
    const char *const parts[] = {"tried: reuse, extend, give back empty regions, extend",
                                 "biggest owner MatMul [encoder] with 3145728",
                                 "driver: the driver has no more", "gantry_get_oom_report"};
    for (size_t i = 0; i < 4; ++i) {
        if (!strstr(gantry__message(), parts[i]))
            fail_msg("%s not in: %s", parts[i], gantry__message());
    }
    put(&f, other);
    owner[0] = tag[0] = '?'; /* the texts may be freed before the report is read */
    report = must_have_report(&f);
    assert_true(report->out_of_memory);
    assert_int_equal(report->asked_bytes, 4 * MIB - 1);
    assert_int_equal(report->rounded_bytes, 4 * MIB);
    assert_string_equal(report->op, "Conv2D");
    assert_string_equal(report->tag, "decoder");
    assert_int_equal(report->rung_count, 4);
    assert_int_equal(report->rungs[0].kind, GANTRY__RUNG_REUSE);
    assert_int_equal(report->rungs[0].bytes, 2 * MIB);
    assert_int_equal(report->rungs[1].kind, GANTRY__RUNG_EXTEND);
    assert_int_equal(report->rungs[1].bytes, 0); /* 2 MiB left under the limit */
    assert_int_equal(report->rungs[1].other, 2 * MIB);
    assert_int_equal(report->rungs[2].kind, GANTRY__RUNG_GIVE_BACK);
    assert_int_equal(report->rungs[2].bytes, 2 * MIB);
    assert_int_equal(report->rungs[2].count, 1);
    assert_int_equal(report->rungs[3].bytes, 4 * MIB);
    assert_int_equal(report->rungs[3].count, 1);
    assert_string_equal(report->driver_text, "the driver has no more");
    assert_int_equal(report->counts.out_of_memory, 1);
    assert_string_equal(report->names[report->owners[0]].op, "MatMul");
    assert_string_equal(report->names[report->owners[0]].tag, "encoder");
    assert_int_equal(report->stats.bytes_in_use, 3 * MIB);
    free_report(&f, report);
    expect_refusal(&f, UINT64_MAX, "ran out of memory"); /* the next report replaces it */
    report = must_have_report(&f);
    assert_int_equal(report->rounded_bytes, UINT64_MAX);
    assert_int_equal(report->counts.out_of_memory, 2);
    free_report(&f, report);
    close_all(&f);
}

TEST(refusal_without_host_memory_is_still_a_refusal) {
    fixture_t f;
    gantry__memory_report_t *report;
    open_for(&f, 8 * MIB, HOUR_MS, false);
    gantry__bfc_chunk_t *chunk = get(&f, 8 * MIB);
    f.heap.inner.fail_at = 0;
    expect_refusal(&f, MIB, "in use, 8388608 held from the driver");
    assert_non_null(strstr(gantry__message(), "no host memory to keep a report"));
    f.heap.inner.fail_at = -1;
    assert_int_equal(gantry__allocator_oom_report(&f.allocator, &report),
                     GANTRY_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(gantry__message(), "could not be kept"));
    expect_refusal(&f, MIB, "gantry_get_oom_report");
    free_report(&f, must_have_report(&f));
    put(&f, chunk);
    close_all(&f);
}

int main(void) { return test_main(); }
