/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Map and prefetch on threads keep the order of elements, report the first failure in that
 * order, may end at any element, and serve several iterators at once.
 *
 * The thread sanitizer runs this file. */
#define _POSIX_C_SOURCE 200809L

#include "dataset_case.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gantry/gantry.h>

#include "train_heap.h"
#include "train_system.h"

static int32_t labels[CASE_MOST];

static void expect_message(const char *part) {
    if (!strstr(gantry_last_message(), part))
        fail_msg("the message is '%s'; '%s' is expected in it", gantry_last_message(), part);
}

static void pause_us(long microseconds) {
    (void)nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

/* ---- map ---- */

/* What a map function does, and what it saw. */
typedef struct map_user_t {
    int32_t fails_from, fails_every; /* labels; 0: none */
    bool pauses;                     /* longer for some labels, so that calls overtake each other */
    atomic_long calls, running, most_running;
} map_user_t;

static gantry_status_t map_double(void *user, const gantry_array_t *input, size_t count,
                                  gantry_element_t *output) {
    map_user_t *self = user;
    if (count != 2) return GANTRY_INTERNAL;
    const int32_t label = *(const int32_t *)input[0].data;
    const float *in = input[1].data;
    const long running = atomic_fetch_add(&self->running, 1) + 1;
    long most = atomic_load(&self->most_running);
    while (running > most && !atomic_compare_exchange_weak(&self->most_running, &most, running)) {
    }
    atomic_fetch_add(&self->calls, 1);
    if (self->pauses) pause_us(label % 7 == 0 ? 400 : 20);
    gantry_status_t status = GANTRY_OK;
    int32_t *out_label = gantry_element_component(output, 0, GANTRY_INT32, &input[0].shape);
    float *out = gantry_element_component(output, 1, GANTRY_FLOAT32, &input[1].shape);
    if (!out_label || !out) {
        status = GANTRY_RESOURCE_EXHAUSTED;
    } else {
        *out_label = 2 * label;
        out[0] = 2 * in[0];
        out[1] = 2 * in[1];
    }
    if (self->fails_every && label >= self->fails_from && label % self->fails_every == 0) {
        char text[40];
        (void)snprintf(text, sizeof text, "label %d is bad", label);
        status = gantry_element_fail(output, GANTRY_DATA_LOSS, text);
    }
    atomic_fetch_sub(&self->running, 1);
    return status;
}

TEST(map_keeps_the_order_on_any_number_of_threads) {
    static const int32_t threads[] = {1, 2, 3, 8, 40, GANTRY_AUTOTUNE};
    int64_t hundred = 100;
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; ++i) {
        map_user_t user = {.pauses = true};
        gantry_dataset_t *dataset = gantry_dataset_map(
            i % 2 ? case_elements(&hundred) : case_rows(100), map_double, &user, threads[i]);
        assert_int_equal(gantry_dataset_cardinality(dataset), i % 2 ? -2 : 100);
        for (int pass = 0; pass < 2; ++pass) {
            size_t count, elements;
            assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_OK);
            assert_int_equal(count, 100);
            for (int32_t k = 0; k < 100; ++k) assert_int_equal(labels[k], 2 * k);
        }
        assert_int_equal(atomic_load(&user.calls), 200);
        if (threads[i] > 0) assert_true(atomic_load(&user.most_running) <= threads[i]);
        gantry_dataset_release(dataset);
    }
}

/* Labels from 60 on that 6 divides fail: of the threads' failures, the first in order wins. */
TEST(a_failing_map_ends_the_iteration_at_its_element) {
    for (int round = 0; round < 20; ++round) {
        map_user_t user = {.fails_from = 55, .fails_every = 6, .pauses = round % 2};
        gantry_dataset_t *dataset = gantry_dataset_prefetch(
            gantry_dataset_map(case_rows(1000), map_double, &user, 1 + round % 8), 3);
        size_t count, elements;
        assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_DATA_LOSS);
        assert_int_equal(count, 60);
        expect_message(
            "gantry_dataset_map: the function failed for element 60 with DataLoss: label 60 is bad");
        assert_int_equal(atomic_load(&user.running), 0);
        assert_true(atomic_load(&user.calls) <= 60 + 64);
        gantry_dataset_release(dataset);
    }
}

/* Element 1 fails first, and element 0 later. */
static gantry_status_t map_late_first(void *user, const gantry_array_t *input, size_t count,
                                      gantry_element_t *output) {
    atomic_bool *second_failed = user;
    const bool is_first = count == 2 && *(const int32_t *)input[0].data == 0;
    while (is_first && !atomic_load(second_failed)) pause_us(50);
    if (is_first) pause_us(2000); /* the thread of element 1 has kept its failure by then */
    atomic_store(second_failed, true);
    return gantry_element_fail(output, is_first ? GANTRY_DATA_LOSS : GANTRY_ABORTED,
                               is_first ? "the first" : "the second");
}

TEST(the_first_failure_in_order_wins) {
    atomic_bool second_failed = false;
    gantry_dataset_t *dataset =
        gantry_dataset_map(case_rows(10), map_late_first, &second_failed, 2);
    size_t count, elements;
    assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_DATA_LOSS);
    expect_message("for element 0 with DataLoss: the first");
    gantry_dataset_release(dataset);
}

static gantry_status_t fail_at_fifth(void *state, gantry_element_t *element, bool *out_end) {
    atomic_long *asked = state;
    const gantry_shape_t scalar = GANTRY_SCALAR, pair = GANTRY_SHAPE(2);
    (void)out_end;
    const long index = atomic_fetch_add(asked, 1);
    int32_t *label = gantry_element_component(element, 0, GANTRY_INT32, &scalar);
    float *features = gantry_element_component(element, 1, GANTRY_FLOAT32, &pair);
    if (!label || !features) return GANTRY_RESOURCE_EXHAUSTED;
    *label = (int32_t)index;
    features[0] = (float)index;
    features[1] = -(float)index;
    return index < 5 ? GANTRY_OK : gantry_element_fail(element, GANTRY_UNAVAILABLE, "no more");
}

TEST(a_source_is_not_asked_behind_its_failure) {
    for (int round = 0; round < 10; ++round) {
        map_user_t user = {.pauses = true};
        atomic_long asked = 0;
        gantry_dataset_t *dataset =
            gantry_dataset_map(gantry_dataset_from_callback(&(gantry_dataset_source_t){
                                   .struct_size = sizeof(gantry_dataset_source_t),
                                   .next = fail_at_fifth,
                                   .user = &asked}),
                               map_double, &user, 4);
        size_t count, elements;
        assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_UNAVAILABLE);
        assert_int_equal(count, 5);
        assert_int_equal(atomic_load(&asked), 6);
        gantry_dataset_release(dataset);
    }
}

static gantry_status_t map_wrongly(void *user, const gantry_array_t *input, size_t count,
                                   gantry_element_t *output) {
    (void)user, (void)input, (void)count, (void)output;
    return GANTRY_OK;
}

TEST(a_map_that_gives_nothing_is_an_error) {
    gantry_dataset_t *dataset = gantry_dataset_map(case_rows(3), map_wrongly, NULL, 2);
    size_t count, elements;
    assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_INVALID_ARGUMENT);
    expect_message("gantry_dataset_map: the function gave element 0 no component; 1 to 16");
    gantry_dataset_release(dataset);
}

TEST(a_failing_source_behind_threads_is_reported_in_order) {
    map_user_t user = {.pauses = true};
    int64_t thirty = 30;
    gantry_dataset_source_t source = {.struct_size = sizeof source,
                                      .begin = case_begin,
                                      .next = case_next,
                                      .end = case_end,
                                      .user = &thirty,
                                      .count = 25};
    gantry_dataset_t *dataset = gantry_dataset_prefetch(
        gantry_dataset_map(gantry_dataset_prefetch(gantry_dataset_from_callback(&source), 4),
                           map_double, &user, 4),
        2);
    size_t count, elements;
    assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(count, 25);
    expect_message("next gave more than 25 elements");
    gantry_dataset_release(dataset);
}

TEST(threads_that_do_not_start_are_an_error) {
    for (long left = 0; left < 4; ++left) {
        map_user_t user = {.pauses = false};
        gantry_dataset_t *dataset = gantry_dataset_map(case_rows(50), map_double, &user, 4);
        size_t count, elements;
        atomic_store(&train_starts_left, left);
        assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_RESOURCE_EXHAUSTED);
        atomic_store(&train_starts_left, -1);
        char part[40];
        (void)snprintf(part, sizeof part, "thread %ld of 4 does not start", left + 1);
        expect_message(part);
        assert_int_equal(count, 0);
        assert_int_equal(case_pass(dataset, labels, &count, &elements), GANTRY_OK);
        assert_int_equal(count, 50);
        gantry_dataset_release(dataset);
    }
}

/* ---- early ends ---- */

TEST(an_iterator_may_end_at_any_element) {
    for (int taken = 0; taken < 24; ++taken) {
        map_user_t user = {.pauses = taken % 2};
        gantry_dataset_t *dataset = gantry_dataset_prefetch(
            gantry_dataset_batch(
                gantry_dataset_map(
                    gantry_dataset_repeat(gantry_dataset_shuffle(case_rows(50), 9, 1, true), -1),
                    map_double, &user, 4),
                3, false),
            5);
        gantry_dataset_iterator_t *iterator;
        assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
        for (int i = 0; i < taken; ++i) {
            const gantry_array_t *components;
            size_t count;
            bool ends;
            assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                             GANTRY_OK);
            assert_false(ends);
        }
        gantry_dataset_iterator_release(iterator);
        assert_int_equal(atomic_load(&user.running), 0);
        const long calls = atomic_load(&user.calls);
        pause_us(100);
        assert_int_equal(atomic_load(&user.calls), calls);
        gantry_dataset_release(dataset);
    }
}

/* The first repetition has one element, and the second has no end. */
static gantry_status_t endless_begin(void *user, void **out_state) {
    int *begun = user;
    *out_state = ++*begun == 1 ? user : NULL;
    return GANTRY_OK;
}

static gantry_status_t endless_next(void *state, gantry_element_t *element, bool *out_end) {
    int *begun = state;
    *out_end = begun && ++*begun > 2;
    const gantry_shape_t nothing = GANTRY_SHAPE(0);
    (void)gantry_element_component(element, 0, GANTRY_FLOAT32, &nothing);
    return GANTRY_OK;
}

TEST(release_stops_a_batch_that_never_ends) {
    int begun = 0;
    gantry_dataset_t *dataset = gantry_dataset_prefetch(
        gantry_dataset_repeat(
            gantry_dataset_batch(gantry_dataset_from_callback(&(gantry_dataset_source_t){
                                     .struct_size = sizeof(gantry_dataset_source_t),
                                     .begin = endless_begin,
                                     .next = endless_next,
                                     .user = &begun}),
                                 INT64_MAX, false),
            -1),
        2);
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    assert_int_equal(components[0].shape.dims[0], 1);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
}

/* ---- prefetch ---- */

typedef struct counter_t {
    atomic_long made;
    pthread_t thread;
} counter_t;

static gantry_status_t count_next(void *state, gantry_element_t *element, bool *out_end) {
    counter_t *self = state;
    const gantry_shape_t scalar = GANTRY_SCALAR;
    int32_t *label = gantry_element_component(element, 0, GANTRY_INT32, &scalar);
    (void)out_end;
    if (!label) return GANTRY_RESOURCE_EXHAUSTED;
    self->thread = pthread_self();
    *label = (int32_t)atomic_fetch_add(&self->made, 1);
    return GANTRY_OK;
}

TEST(prefetch_makes_its_elements_ahead_and_no_more) {
    counter_t counter = {.made = 0};
    gantry_dataset_t *dataset = gantry_dataset_prefetch(
        gantry_dataset_from_callback(&(gantry_dataset_source_t){
            .struct_size = sizeof(gantry_dataset_source_t), .next = count_next, .user = &counter}),
        4);
    gantry_dataset_iterator_t *iterator;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    for (long given = 1; given <= 20; ++given) {
        const gantry_array_t *components;
        size_t count;
        bool ends;
        assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends),
                         GANTRY_OK);
        assert_int_equal(*(const int32_t *)components[0].data, given - 1);
        assert_true(atomic_load(&counter.made) <= given + 4);
        /* while the consumer works, the thread fills the buffer; it sleeps until half is free */
        while (atomic_load(&counter.made) < given + 3) pause_us(20);
        pause_us(100);
        assert_true(atomic_load(&counter.made) <= given + 4);
        assert_int_equal(*(const int32_t *)components[0].data, given - 1);
    }
    gantry_dataset_iterator_release(iterator);
    assert_false(pthread_equal(counter.thread, pthread_self()));
    gantry_dataset_release(dataset);
}

/* ---- several iterators ---- */

typedef struct reader_t {
    gantry_dataset_t *dataset;
    gantry_status_t status;
    int32_t labels[CASE_MOST];
    size_t count, elements;
} reader_t;

static void *read_on_thread(void *argument) {
    reader_t *self = argument;
    for (int pass = 0; pass < 3; ++pass) {
        gantry_dataset_t *dataset = gantry_dataset_retain(self->dataset);
        self->status = case_pass(dataset, self->labels, &self->count, &self->elements);
        gantry_dataset_release(dataset);
    }
    return NULL;
}

TEST(threads_iterate_one_data_set_at_the_same_time) {
    enum { READERS = 4 };
    static reader_t readers[READERS];
    pthread_t threads[READERS];
    map_user_t user = {.pauses = false};
    gantry_dataset_t *dataset = gantry_dataset_prefetch(
        gantry_dataset_cache(gantry_dataset_batch(
            gantry_dataset_map(gantry_dataset_shuffle(case_rows(200), 64, 11, true), map_double,
                               &user, 3),
            8, false)),
        2);
    for (int i = 0; i < READERS; ++i) {
        readers[i].dataset = dataset;
        assert_int_equal(pthread_create(&threads[i], NULL, read_on_thread, &readers[i]), 0);
    }
    for (int i = 0; i < READERS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < READERS; ++i) {
        assert_int_equal(readers[i].status, GANTRY_OK);
        assert_int_equal(readers[i].count, 200);
        assert_int_equal(readers[i].elements, 25);
        /* the last pass is the cache's */
        assert_memory_equal(readers[i].labels, readers[0].labels, 200 * sizeof(int32_t));
    }
    gantry_dataset_release(dataset);
}

/* ---- fork ---- */

TEST(a_child_of_fork_cannot_use_an_iterator) {
    gantry_dataset_t *dataset = gantry_dataset_prefetch(case_rows(100), 3);
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *components;
    size_t count;
    bool ends;
    assert_int_equal(gantry_dataset_iterator_create(dataset, &iterator), GANTRY_OK);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    const pid_t child = fork();
    if (child == 0) {
        const bool refuses = gantry_dataset_iterator_next(iterator, &components, &count, &ends) ==
                                 GANTRY_FAILED_PRECONDITION &&
                             strstr(gantry_last_message(), "before fork");
        gantry_dataset_iterator_release(iterator);
        _exit(refuses ? 0 : 1);
    }
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(gantry_dataset_iterator_next(iterator, &components, &count, &ends), GANTRY_OK);
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(dataset);
}

/* ---- failing allocations ---- */

/* All kinds of data sets; NULL when memory is out. */
static gantry_dataset_t *every_kind(map_user_t *user, int64_t *count, bool copies) {
    const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(*count), case_labels},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(*count, 2), case_features}};
    gantry_dataset_source_t source = {.struct_size = sizeof source,
                                      .begin = case_begin,
                                      .next = case_next,
                                      .end = case_end,
                                      .user = count};
    gantry_dataset_t *dataset = copies ? gantry_dataset_from_arrays(arrays, 2, true)
                                       : gantry_dataset_from_callback(&source);
    dataset = gantry_dataset_shuffle(gantry_dataset_repeat(dataset, 2), 5, 3, true);
    dataset = gantry_dataset_skip(gantry_dataset_take(dataset, 19), 1);
    if (!copies) dataset = gantry_dataset_map(dataset, map_double, user, 2);
    dataset = gantry_dataset_cache(gantry_dataset_batch(dataset, 4, false));
    return gantry_dataset_prefetch(dataset, 2);
}

TEST(failing_allocations_leave_nothing) {
    int64_t ten = 10;
    gantry_dataset_release(case_rows(10)); /* fills the arrays */
    for (int copies = 0; copies < 2; ++copies) {
        int failures = 0;
        for (long fail_at = 0;; ++fail_at) {
            map_user_t user = {.pauses = false};
            size_t count = 0, elements;
            train_heap_reset(fail_at);
            gantry_dataset_t *dataset = every_kind(&user, &ten, copies);
            gantry_status_t status = dataset ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
            for (int pass = 0; status == GANTRY_OK && pass < 2; ++pass)
                status = case_pass(dataset, labels, &count, &elements);
            gantry_dataset_release(dataset);
            assert_int_equal(train_heap_live(), 0);
            if (status == GANTRY_OK) {
                assert_int_equal(count, 18);
                if (train_heap_count() <= fail_at) break;
                continue; /* the failure came too late to matter */
            }
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            assert_true(strlen(gantry_last_message()) > 0);
            ++failures;
        }
        train_heap_reset(-1);
        assert_true(failures >= 30);
    }
}

int main(void) { return test_main(); }
