/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that live, by address: a handle is an object's address and counts only while it is
 * listed here. */
#include <stdlib.h>

#include "stand_in_core.h"

#define BUCKETS 1024

static stand_in_object_t *buckets[BUCKETS];
static long live[STAND_IN_KINDS + 1];
static long abandoned[STAND_IN_KINDS + 1];
static long of_program[STAND_IN_KINDS + 1];
static _Thread_local int is_program;

void stand_in__set_program(int wanted) { is_program = wanted; }

static stand_in_object_t **bucket_of(const void *handle) {
    return &buckets[((uintptr_t)handle >> 4) % BUCKETS];
}

void stand_in__list(stand_in_object_t *object) {
    stand_in_object_t **bucket = bucket_of(object);

    stand_in__lock();
    object->next = *bucket;
    *bucket = object;
    object->is_program = is_program;
    live[object->kind]++;
    of_program[object->kind] += is_program;
    stand_in__unlock();
}

void *stand_in__find(const void *handle, int kind) {
    stand_in_object_t *object;

    stand_in__lock();
    for (object = *bucket_of(handle); object != NULL; object = object->next) {
        if (object == handle && object->kind == kind) {
            break;
        }
    }
    stand_in__unlock();
    return object;
}

static int unlist(stand_in_object_t *object) {
    for (stand_in_object_t **at = bucket_of(object); *at != NULL; at = &(*at)->next) {
        if (*at == object) {
            *at = object->next;
            live[object->kind]--;
            of_program[object->kind] -= object->is_program;
            return 1;
        }
    }
    return 0;
}

int stand_in__unlist(stand_in_object_t *object) {
    int was_listed;
    int is_theft;

    stand_in__lock();
    was_listed = unlist(object);
    is_theft = was_listed && object->is_program && !is_program;
    stand_in__unlock();
    if (is_theft) {
        stand_in__complain("an object of kind %d of the program was ended by another",
                           object->kind);
    }
    return was_listed;
}

static stand_in_object_t *take_of_context(const stand_in_context_t *context) {
    for (int i = 0; i < BUCKETS; ++i) {
        for (stand_in_object_t *object = buckets[i]; object != NULL; object = object->next) {
            if (object->context == context && object != &context->object) {
                unlist(object);
                abandoned[object->kind]++;
                return object;
            }
        }
    }
    return NULL;
}

void stand_in__end_context_objects(stand_in_context_t *context) {
    stand_in_object_t *object;

    do {
        stand_in__lock();
        object = take_of_context(context);
        stand_in__unlock();
        if (object != NULL) {
            object->end(object);
        }
    } while (object != NULL);
}

void stand_in__each(int kind, const stand_in_context_t *context,
                    void (*visit)(stand_in_object_t *object, void *self), void *self) {
    stand_in__lock();
    for (int i = 0; i < BUCKETS; ++i) {
        for (stand_in_object_t *object = buckets[i]; object != NULL; object = object->next) {
            if (object->kind == kind && (context == NULL || object->context == context)) {
                visit(object, self);
            }
        }
    }
    stand_in__unlock();
}

static long number_of(const long numbers[], int kind) {
    long number = 0;

    stand_in__lock();
    if (kind >= 0 && kind < STAND_IN_KINDS) {
        number = numbers[kind];
    }
    stand_in__unlock();
    return number;
}

long stand_in__live(int kind) { return number_of(live, kind); }
long stand_in__abandoned(int kind) { return number_of(abandoned, kind); }
long stand_in__live_of_program(int kind) { return number_of(of_program, kind); }

typedef struct search_t {
    uint64_t address;
    uint64_t bytes;
    stand_in_memory_t *found;
} search_t;

static void look_at(stand_in_object_t *object, void *self) {
    stand_in_memory_t *memory = (stand_in_memory_t *)object;
    search_t *search = self;
    uint64_t base = (uint64_t)(uintptr_t)memory->base;

    if (search->address >= base && search->address - base <= memory->bytes &&
        search->bytes <= memory->bytes - (search->address - base)) {
        search->found = memory;
    }
}

stand_in_memory_t *stand_in__memory_at(uint64_t address, uint64_t bytes, int kind) {
    search_t search = {address, bytes, NULL};

    stand_in__each(kind, NULL, look_at, &search);
    return search.found;
}
