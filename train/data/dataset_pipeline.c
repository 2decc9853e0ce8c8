/* SPDX-License-Identifier: Apache-2.0 */
/* Map and prefetch: elements that threads make ahead, in the input's order.
 *
 * A ring of slots holds the elements ahead. An element's ticket is its number in the input, and its
 * slot is ticket modulo slots. A thread takes the next ticket, pulls its element, calls the map
 * function without a lock, and marks the slot; the consumer waits for the slot of its own next
 * ticket and exchanges elements with it.
 *
 *     tickets   ... 41 | 42     43       44     45     | 46 ...
 *                given | ready  working  ready  pulled | a thread waits for a slot
 *
 * A thread that found all slots taken is woken when half of them are free, not for each, because a
 * change of threads costs more than many elements.
 *
 * A thread pulls under `input_lock`, because an input belongs to one thread at a time, and because
 * tickets must follow the input's order. `lock` guards the rest, and is held for moments.
 * input_lock must be taken first. The first failure by ticket wins: elements before it are given as
 * they are, and after it no more are pulled. Prefetch is the same with one thread and no
 * function. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "shared/memory.h"
#include "train/data/dataset_thread.h"
#include "train/data/stage.h"

#define MOST_CALLS 1024
#define MOST_AHEAD ((int64_t)1 << 20)
#define AUTOMATIC_AHEAD 2
#define SLOTS_PER_THREAD 2 /* of map: one is worked on, and one is ready */
#define SLOTS_OF_ROWS 64   /* at least, of a map of rows, which are small */

typedef struct pipeline_t {
    gantry_dataset_t base;
    gantry_dataset_map_fn map; /* NULL: prefetch */
    void *user;
    size_t threads;
    size_t slots;
} pipeline_t;

typedef enum slot_state_t { SLOT_OPEN, SLOT_READY, SLOT_END, SLOT_FAILED } slot_state_t;

typedef struct slot_t {
    slot_state_t state; /* locked */
    gantry_element_t input, output;
} slot_t;

typedef struct pipeline_stage_t {
    gantry__train_stage_t base;
    gantry__mutex_t input_lock, lock;
    gantry__condition_t slot_changed, slot_given;
    slot_t *slots;
    gantry__thread_t *threads;
    size_t running; /* threads to join */
    /* ---- locked ---- */
    uint64_t taken; /* tickets that threads took; changed under both locks */
    uint64_t given; /* tickets that the consumer got */
    bool stops;     /* no more tickets */
    /* the failure with the lowest ticket */
    uint64_t failed_ticket;
    gantry_status_t failure;
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
} pipeline_stage_t;

static const pipeline_t *pipeline_of(const pipeline_stage_t *self) {
    return (const pipeline_t *)self->base.dataset;
}

static slot_t *slot_of(const pipeline_stage_t *self, uint64_t ticket) {
    return &self->slots[ticket % pipeline_of(self)->slots];
}

/* ---- threads ---- */

static void mark_slot(pipeline_stage_t *self, uint64_t ticket, slot_state_t state) {
    gantry__mutex_lock(&self->lock);
    slot_of(self, ticket)->state = state;
    if (state != SLOT_READY) self->stops = true;
    gantry__condition_wake_all(&self->slot_changed);
    gantry__mutex_unlock(&self->lock);
}

/* Marks a failure, whose text must be the thread's last message. */
static void mark_failed(pipeline_stage_t *self, uint64_t ticket, gantry_status_t status) {
    gantry__mutex_lock(&self->lock);
    if (self->failure == GANTRY_OK || ticket < self->failed_ticket) {
        self->failure = status;
        self->failed_ticket = ticket;
        (void)snprintf(self->text, sizeof self->text, "%s", gantry_last_message());
    }
    gantry__mutex_unlock(&self->lock);
    mark_slot(self, ticket, SLOT_FAILED);
}

/* Waits until the next ticket's slot is free. It returns false if the threads must stop. */
static bool take_ticket(pipeline_stage_t *self, uint64_t *out_ticket) {
    gantry__mutex_lock(&self->lock);
    while (!self->stops && self->taken - self->given == pipeline_of(self)->slots)
        gantry__condition_await(&self->slot_given, &self->lock);
    const bool goes_on = !self->stops;
    if (goes_on) *out_ticket = self->taken++;
    gantry__mutex_unlock(&self->lock);
    return goes_on;
}

/* Takes a ticket and pulls its element. It returns false if the thread must end. */
static bool pull_ticket(pipeline_stage_t *self, uint64_t *out_ticket) {
    bool input_ends = false;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&self->input_lock);
    const bool is_taken = take_ticket(self, out_ticket);
    if (is_taken) {
        slot_t *slot = slot_of(self, *out_ticket);
        gantry_element_t *target = pipeline_of(self)->map ? &slot->input : &slot->output;
        status = gantry__train_stage_element(self->base.input, target, &input_ends);
        /* under input_lock, because no thread may pull after the end or a failure */
        if (status != GANTRY_OK)
            mark_failed(self, *out_ticket, status);
        else if (input_ends)
            mark_slot(self, *out_ticket, SLOT_END);
    }
    gantry__mutex_unlock(&self->input_lock);
    return is_taken && status == GANTRY_OK && !input_ends;
}

static gantry_status_t call_map(pipeline_stage_t *self, uint64_t ticket) {
    const pipeline_t *dataset = pipeline_of(self);
    slot_t *slot = slot_of(self, ticket);
    gantry__train_problem_t problem;
    gantry__train_element_begin(&slot->output, &problem);
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    const gantry_status_t status =
        dataset->map(dataset->user, slot->input.components, slot->input.count, &slot->output);
    return gantry__train_element_end(&slot->output, status, "gantry_dataset_map: the function",
                                     ticket);
}

/* The thread has the program's floating-point mode, because it calls functions of the program. */
static void *pipeline_work(void *argument) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    pipeline_stage_t *self = argument;
    uint64_t ticket;
    while (pull_ticket(self, &ticket)) {
        const gantry_status_t status = pipeline_of(self)->map ? call_map(self, ticket) : GANTRY_OK;
        if (status == GANTRY_OK)
            mark_slot(self, ticket, SLOT_READY);
        else
            mark_failed(self, ticket, status);
    }
    return NULL;
}

static gantry_status_t start_threads(pipeline_stage_t *self) {
    const size_t count = pipeline_of(self)->threads;
    for (; self->running < count; ++self->running) {
        const int error =
            gantry__train_thread_start(&self->threads[self->running], pipeline_work, self);
        if (error == 0) continue;
        return gantry__train_fail(
            GANTRY_RESOURCE_EXHAUSTED, "gantry_dataset_%s: thread %zu of %zu does not start: %s",
            self->base.dataset->kind->name, self->running + 1, count, strerror(error));
    }
    return GANTRY_OK;
}

/* ---- the stage ---- */

static gantry_status_t pipeline_open(gantry__train_stage_t *stage) {
    pipeline_stage_t *self = (pipeline_stage_t *)stage;
    (void)gantry__mutex_init(&self->input_lock);
    (void)gantry__mutex_init(&self->lock);
    (void)gantry__condition_init(&self->slot_changed);
    (void)gantry__condition_init(&self->slot_given);
    self->slots = gantry__alloc(pipeline_of(self)->slots, sizeof self->slots[0]);
    self->threads = gantry__alloc(pipeline_of(self)->threads, sizeof self->threads[0]);
    return self->slots && self->threads ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* Threads start with the first element, so that an iterator that requests none costs none. */
static gantry_status_t pipeline_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                     bool *out_end) {
    pipeline_stage_t *self = (pipeline_stage_t *)stage;
    if (self->running == 0) GANTRY__TRY(start_threads(self));
    gantry__mutex_lock(&self->lock);
    slot_t *slot = slot_of(self, self->given);
    while (slot->state == SLOT_OPEN) gantry__condition_await(&self->slot_changed, &self->lock);
    const slot_state_t state = slot->state;
    if (state == SLOT_READY) {
        gantry__train_element_exchange(&slot->output, item->element);
        slot->state = SLOT_OPEN;
        ++self->given;
        /* a thread waits only while all slots are taken, so that the count passes this number */
        if (self->taken - self->given == pipeline_of(self)->slots / 2)
            gantry__condition_wake_all(&self->slot_given);
    }
    gantry__mutex_unlock(&self->lock);
    *out_end = state == SLOT_END;
    /* The threads are done with the text, because no lower ticket is left. */
    return state == SLOT_FAILED ? gantry_fail(self->failure, self->text) : GANTRY_OK;
}

static void pipeline_close(gantry__train_stage_t *stage) {
    pipeline_stage_t *self = (pipeline_stage_t *)stage;
    gantry__mutex_lock(&self->lock);
    self->stops = true;
    gantry__condition_wake_all(&self->slot_given);
    gantry__mutex_unlock(&self->lock);
    for (size_t i = 0; i < self->running; ++i) gantry__thread_join(self->threads[i]);
    for (size_t i = 0; self->slots && i < pipeline_of(self)->slots; ++i) {
        gantry__train_element_deinit(&self->slots[i].input);
        gantry__train_element_deinit(&self->slots[i].output);
    }
    gantry__free(self->slots);
    gantry__free(self->threads);
    gantry__condition_deinit(&self->slot_given);
    gantry__condition_deinit(&self->slot_changed);
    gantry__mutex_deinit(&self->lock);
    gantry__mutex_deinit(&self->input_lock);
}

/* ---- the data sets ---- */

static const gantry__train_kind_t map_kind = {.name = "map",
                                              .stage_bytes = sizeof(pipeline_stage_t),
                                              .open = pipeline_open,
                                              .next = pipeline_next,
                                              .close = pipeline_close};

static const gantry__train_kind_t prefetch_kind = {.name = "prefetch",
                                                   .stage_bytes = sizeof(pipeline_stage_t),
                                                   .open = pipeline_open,
                                                   .next = pipeline_next,
                                                   .close = pipeline_close};

static gantry_dataset_t *pipeline_make(const gantry__train_kind_t *kind, gantry_dataset_t *input,
                                       size_t threads, size_t slots) {
    pipeline_t *self =
        gantry__train_dataset_make(kind, sizeof *self, input, gantry_dataset_cardinality(input));
    if (!self) return NULL;
    self->threads = threads;
    self->slots = slots;
    return &self->base;
}

gantry_dataset_t *gantry_dataset_map(gantry_dataset_t *input, gantry_dataset_map_fn map, void *user,
                                     int32_t parallel_calls) {
    if (!input) return NULL;
    if (!map) {
        (void)gantry__train_refuse(NULL, "gantry_dataset_map: the function is NULL");
        return gantry__train_dataset_refuse(input);
    }
    if (parallel_calls != GANTRY_AUTOTUNE && (parallel_calls < 1 || parallel_calls > MOST_CALLS)) {
        (void)gantry__train_refuse(
            NULL,
            "gantry_dataset_map: parallel_calls is %d; 1 to %d are accepted, and GANTRY_AUTOTUNE",
            (int)parallel_calls, MOST_CALLS);
        return gantry__train_dataset_refuse(input);
    }
    size_t threads = parallel_calls > 0 ? (size_t)parallel_calls : gantry__os_usable_cores();
    if (threads > MOST_CALLS) threads = MOST_CALLS;
    size_t slots = threads * SLOTS_PER_THREAD;
    if (input->rows && slots < SLOTS_OF_ROWS) slots = SLOTS_OF_ROWS;
    pipeline_t *self = (pipeline_t *)pipeline_make(&map_kind, input, threads, slots);
    if (!self) return NULL;
    self->map = map;
    self->user = user;
    return &self->base;
}

gantry_dataset_t *gantry_dataset_prefetch(gantry_dataset_t *input, int64_t elements) {
    if (!input) return NULL;
    if (elements != GANTRY_AUTOTUNE && (elements < 1 || elements > MOST_AHEAD)) {
        (void)gantry__train_refuse(NULL,
                                   "gantry_dataset_prefetch: elements is %" PRId64 "; 1 to %" PRId64
                                   " are accepted, and GANTRY_AUTOTUNE",
                                   elements, MOST_AHEAD);
        return gantry__train_dataset_refuse(input);
    }
    return pipeline_make(&prefetch_kind, input, 1,
                         elements > 0 ? (size_t)elements : AUTOMATIC_AHEAD);
}
