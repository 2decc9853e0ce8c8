/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved addresses in equal ranges, one for each class of sizes, and the blocks of cells
 * (cells.h). */
#define _GNU_SOURCE
#include "cells.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct class_t {
    pthread_mutex_t lock; /* guards the fields below */
    uint32_t used;        /* slots that were ever taken */
    uint32_t first_free;  /* its number + 1; 0: none */
    _Atomic(cell_t *) blocks[CELLS_BLOCKS];
} class_t;

struct memory_t {
    gantry_runtime_t *runtime;
    char *base;
    uint32_t range_bits; /* the range of a class has 1 << range_bits addresses */
    class_t classes[CELLS_CLASSES];
    pthread_mutex_t locks[CELLS_LOCKS];
};

static uint64_t reserved_bytes(uint32_t range_bits) {
    return ((uint64_t)CELLS_CLASSES << range_bits) + CELLS_SPARE;
}

/* Reserves the addresses. ulimit -v, some containers and sanitizers limit address space, so a
 * reservation that fails is tried again with a quarter of it. */
static char *reserve_addresses(uint32_t *out_range_bits) {
    for (uint32_t bits = CELLS_MOST_BITS; bits >= CELLS_FEWEST_BITS; bits -= 2) {
        void *base = mmap(NULL, reserved_bytes(bits), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        *out_range_bits = bits;
        if (base != MAP_FAILED) return base;
    }
    return NULL;
}

gantry_status_t cells_create(gantry_runtime_t *runtime, memory_t **out) {
    *out = NULL;
    memory_t *memory = calloc(1, sizeof *memory);
    if (!memory) return gantry_fail(GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
    memory->base = reserve_addresses(&memory->range_bits);
    if (!memory->base) {
        free(memory);
        return gantry_fail(GANTRY_RESOURCE_EXHAUSTED,
                           "The system refused 64 GiB of addresses, which take no memory; "
                           "accepted is no limit of addresses (ulimit -v unlimited).");
    }
    memory->runtime = runtime;
    for (uint32_t i = 0; i < CELLS_CLASSES; ++i) {
        pthread_mutex_init(&memory->classes[i].lock, NULL);
    }
    for (uint32_t i = 0; i < CELLS_LOCKS; ++i) pthread_mutex_init(&memory->locks[i], NULL);
    *out = memory;
    return GANTRY_OK;
}

void cells_destroy(memory_t *memory) {
    for (uint32_t i = 0; i < CELLS_CLASSES; ++i) {
        class_t *class = &memory->classes[i];
        for (uint32_t k = 0; k < CELLS_BLOCKS; ++k) free(atomic_load(&class->blocks[k]));
        pthread_mutex_destroy(&class->lock);
    }
    for (uint32_t i = 0; i < CELLS_LOCKS; ++i) pthread_mutex_destroy(&memory->locks[i]);
    munmap(memory->base, reserved_bytes(memory->range_bits));
    free(memory);
}

gantry_runtime_t *cells_runtime(const memory_t *memory) { return memory->runtime; }

/* The class whose slots have room for so many bytes; CELLS_CLASSES: none has. */
static uint32_t cells_class_of(uint64_t bytes) {
    uint32_t class = 0;
    while (class < CELLS_CLASSES && bytes > UINT64_C(1) << (CELLS_LEAST_BITS + class)) ++class;
    return class;
}

static uint64_t slots_of(const memory_t *memory, uint32_t class) {
    const uint32_t slot_bits = CELLS_LEAST_BITS + class;
    if (slot_bits > memory->range_bits) return 0;
    const uint64_t by_addresses = UINT64_C(1) << (memory->range_bits - slot_bits);
    const uint64_t by_cells = (uint64_t)CELLS_BLOCK * CELLS_BLOCKS;
    return by_addresses < by_cells ? by_addresses : by_cells;
}

static cell_t *cell_at(class_t *class, uint64_t slot) {
    cell_t *block = atomic_load_explicit(&class->blocks[slot / CELLS_BLOCK], memory_order_acquire);
    return block ? &block[slot % CELLS_BLOCK] : NULL;
}

/* Takes a slot that was never used. The caller must hold the class's lock. */
static cell_t *take_new(memory_t *memory, uint32_t number) {
    class_t *class = &memory->classes[number];
    if (class->used == slots_of(memory, number)) return NULL;
    const uint32_t slot = class->used;
    if (slot % CELLS_BLOCK == 0) {
        cell_t *block = calloc(CELLS_BLOCK, sizeof *block);
        if (!block) return NULL;
        atomic_store_explicit(&class->blocks[slot / CELLS_BLOCK], block, memory_order_release);
    }
    ++class->used;
    cell_t *cell = cell_at(class, slot);
    cell->address = memory->base + ((uint64_t)number << memory->range_bits) +
                    ((uint64_t)slot << (CELLS_LEAST_BITS + number));
    return cell;
}

static cell_t *take_of_class(memory_t *memory, uint32_t number) {
    class_t *class = &memory->classes[number];
    pthread_mutex_lock(&class->lock);
    cell_t *cell = NULL;
    if (class->first_free) {
        cell = cell_at(class, class->first_free - 1);
        class->first_free = cell->next_free;
    } else {
        cell = take_new(memory, number);
    }
    pthread_mutex_unlock(&class->lock);
    return cell;
}

cell_t *cells_take(memory_t *memory, uint32_t device, uint64_t bytes) {
    cell_t *cell = NULL;
    for (uint32_t i = cells_class_of(bytes); i < CELLS_CLASSES && !cell; ++i) {
        cell = take_of_class(memory, i);
    }
    if (!cell) return NULL;
    cell->device = device;
    cell->bytes = bytes;
    return cell;
}

void cells_give(memory_t *memory, cell_t *cell) {
    const uint64_t distance = (uint64_t)(cell->address - memory->base);
    const uint32_t number = (uint32_t)(distance >> memory->range_bits);
    const uint64_t within = distance & ((UINT64_C(1) << memory->range_bits) - 1);
    class_t *class = &memory->classes[number];
    pthread_mutex_lock(&class->lock);
    cell->bytes = 0;
    cell->next_free = class->first_free;
    class->first_free = (uint32_t)(within >> (CELLS_LEAST_BITS + number)) + 1;
    pthread_mutex_unlock(&class->lock);
}

cell_t *cells_find(memory_t *memory, const void *address, uint64_t *out_offset) {
    const uint64_t distance = (uint64_t)(uintptr_t)address - (uint64_t)(uintptr_t)memory->base;
    const uint64_t number = distance >> memory->range_bits;
    if (number >= CELLS_CLASSES) return NULL;
    const uint64_t within = distance & ((UINT64_C(1) << memory->range_bits) - 1);
    const uint64_t slot = within >> (CELLS_LEAST_BITS + number);
    if (slot >= slots_of(memory, (uint32_t)number)) return NULL;
    cell_t *cell = cell_at(&memory->classes[number], slot);
    if (!cell || !cell->bytes) return NULL;
    *out_offset = within & ((UINT64_C(1) << (CELLS_LEAST_BITS + number)) - 1);
    return cell;
}

void cells_visit(memory_t *memory, void (*visit)(memory_t *memory, cell_t *cell)) {
    for (uint32_t i = 0; i < CELLS_CLASSES; ++i) {
        class_t *class = &memory->classes[i];
        for (uint32_t k = 0; k < class->used; ++k) {
            cell_t *cell = cell_at(class, k);
            if (cell->bytes) visit(memory, cell);
        }
    }
}

pthread_mutex_t *cells_lock(memory_t *memory, const cell_t *cell) {
    return &memory->locks[(uint64_t)(uintptr_t)cell / sizeof *cell % CELLS_LOCKS];
}

void *cells_nowhere(const memory_t *memory) {
    return memory->base + ((uint64_t)CELLS_CLASSES << memory->range_bits);
}
