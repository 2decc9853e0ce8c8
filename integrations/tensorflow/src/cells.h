/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved addresses, and the cell behind each of them.
 *
 *     base                                                    class c: slots of 256 << c bytes
 *     |  class 0: 256 B      |  class 1: 512 B     |  class 2 ...
 *     |[s0][s1][s2][s3]...   |[ s0  ][ s1  ]...    |
 *
 * Every class owns an equal range of addresses, a power of two. The class and the slot of an
 * address, the middle of an allocation too, are two shifts: no search and no lock. A class keeps
 * its free slots in a list; the newest is used again first, so the cells stay in the cache. Cells
 * lie in blocks of 1024 that never move and are made when their first slot is used.
 *
 * What a cell holds is guarded by one of 64 locks, chosen by the cell. Thread-safe. */
#ifndef GANTRY_TENSORFLOW_CELLS_H
#define GANTRY_TENSORFLOW_CELLS_H

#include <pthread.h>
#include <stdint.h>

#include "memory.h"
#include "parts.h"

#define CELLS_LEAST_BITS 8   /* slots of the smallest class have 256 bytes */
#define CELLS_CLASSES 32     /* those of the largest 512 GiB, if the ranges are as large */
#define CELLS_MOST_BITS 39   /* the range of a class has 512 GiB of addresses, 16 TiB in all, */
#define CELLS_FEWEST_BITS 31 /* or less where the system refuses that, down to 2 GiB */
#define CELLS_SPARE 4096     /* addresses behind the classes: cells_nowhere */
#define CELLS_BLOCK 1024
#define CELLS_BLOCKS 4096 /* of a class: 4 million allocations that live at once */
#define CELLS_LOCKS 64
#define CELLS_DEVICES 64

/* An allocation. */
typedef struct cell_t {
    parts_t parts;      /* what lies there */
    uint64_t bytes;     /* as asked for; 0: the slot is free */
    char *address;      /* where it begins */
    uint32_t device;    /* that it was allocated for */
    uint32_t next_free; /* while it is free: the next free slot + 1 */
} cell_t;

/* Reserves the addresses. */
gantry_status_t cells_create(gantry_runtime_t *runtime, memory_t **out);
/* The runtime of all tensors. */
gantry_runtime_t *cells_runtime(const memory_t *memory);
/* Gives back the addresses and the cells. All cells are free. */
void cells_destroy(memory_t *memory);
/* Takes a slot for so many bytes, above 0; NULL: no address or no host memory is left. */
cell_t *cells_take(memory_t *memory, uint32_t device, uint64_t bytes);
/* Gives a slot back. Nothing lies there any more. */
void cells_give(memory_t *memory, cell_t *cell);
/* The cell of an address and how far behind its beginning the address lies; NULL: none lives. */
cell_t *cells_find(memory_t *memory, const void *address, uint64_t *out_offset);
/* Calls visit with every cell that lives. No other thread uses the memory. */
void cells_visit(memory_t *memory, void (*visit)(memory_t *memory, cell_t *cell));
/* An aligned address behind the classes. */
void *cells_nowhere(const memory_t *memory);
/* Reads the figures of a device. */
void cells_figures(const memory_t *memory, uint32_t device, memory_figures_t *out);
/* The lock of what a cell holds. */
pthread_mutex_t *cells_lock(memory_t *memory, const cell_t *cell);

#endif
