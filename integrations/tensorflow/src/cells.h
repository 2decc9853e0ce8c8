/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved addresses, and the cell of each of them.
 *
 *     base                                                    class c: slots of 256 << c bytes
 *     |  class 0: 256 B      |  class 1: 512 B     |  class 2 ...
 *     |[s0][s1][s2][s3]...   |[ s0  ][ s1  ]...    |
 *
 * Every class owns an equal range of addresses, a power of two. Two shifts give the class and the
 * slot of an address, also of one in the middle of an allocation, without a search or a lock. A
 * class keeps its free slots in a list; the newest is used again first, so the cells stay in the
 * cache. Cells are in blocks of 1024 that never move and are made when their first slot is used.
 *
 * Owner: memory_t owns all cells. Threads: thread-safe, but whoever reads or changes what a cell
 * holds must hold its lock, one of 64 (cells_lock). */
#ifndef GANTRY_TENSORFLOW_CELLS_H
#define GANTRY_TENSORFLOW_CELLS_H

#include <pthread.h>
#include <stdint.h>

#include <gantry/gantry.h>

#include "memory_state.h"
#include "parts.h"

#define CELLS_LEAST_BITS 8   /* slots of the smallest class have 256 bytes */
#define CELLS_CLASSES 32     /* those of the largest 512 GiB, if the ranges are as large */
#define CELLS_MOST_BITS 39   /* the range of a class has 512 GiB of addresses, 16 TiB in all, */
#define CELLS_FEWEST_BITS 31 /* or less where the system refuses that, down to 2 GiB */
#define CELLS_SPARE 4096     /* addresses after the classes: cells_nowhere */
#define CELLS_BLOCK 1024
#define CELLS_BLOCKS 4096 /* blocks of a class: 4 million allocations that live at once */
#define CELLS_LOCKS 64

/* An allocation. */
typedef struct cell_t {
    parts_t parts;      /* the tensors in the allocation */
    uint64_t bytes;     /* as requested; 0: the slot is free */
    char *address;      /* where the allocation begins */
    uint32_t device;    /* the device that it was allocated for */
    uint32_t next_free; /* while it is free: the next free slot + 1 */
} cell_t;

/* Reserves the addresses. */
gantry_status_t cells_create(gantry_runtime_t *runtime, memory_t **out);
/* The runtime of all tensors. */
gantry_runtime_t *cells_runtime(const memory_t *memory);
/* Gives back the addresses and the cells. All cells must be free. */
void cells_destroy(memory_t *memory);
/* Takes a slot for so many bytes, which must be above 0. NULL: no address or no host memory is
 * left. */
cell_t *cells_take(memory_t *memory, uint32_t device, uint64_t bytes);
/* Gives a slot back. The caller must have released what the cell held. */
void cells_give(memory_t *memory, cell_t *cell);
/* The cell of an address, and how far after the cell's beginning the address is; NULL: no live cell
 * has it. */
cell_t *cells_find(memory_t *memory, const void *address, uint64_t *out_offset);
/* Calls visit with every live cell. No other thread may use the memory. */
void cells_visit(memory_t *memory, void (*visit)(memory_t *memory, cell_t *cell));
/* An aligned address after the classes. */
void *cells_nowhere(const memory_t *memory);
/* The lock of what a cell holds. */
pthread_mutex_t *cells_lock(memory_t *memory, const cell_t *cell);

#endif
