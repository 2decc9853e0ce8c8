/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the processes of a machine share, for sums. Each process writes its numbers to a slot
 * of its own, adds one part of all slots, in the order of the ranks, and reads the whole sum:
 *
 *     slot 0   a a a a
 *     slot 1   b b b b      process 0 adds the left half, process 1 the right one
 *     sum      s s s s
 *
 * A barrier stands before and behind the additions. It is a count of arrivals that only grows. A
 * slot is written again behind the second barrier, and the sum behind the next first one, so two
 * barriers are enough. */
#ifndef GANTRY_TRAIN_MACHINE_H
#define GANTRY_TRAIN_MACHINE_H

#include <stdatomic.h>

#include <gantry/gantry.h>

/* A slot's bytes: calls take their numbers in such chunks. */
#define GANTRY__MACHINE_CHUNK ((size_t)4 << 20)

enum { GANTRY__MACHINE_NAME_BYTES = 64 };

typedef struct gantry__machine_t {
    size_t rank, size; /* of this machine's processes */
    unsigned char *memory;
    uint64_t barriers; /* that this process has begun */
} gantry__machine_t;   /* zeroed: none */

/* Rank 0 of the machine makes the memory, and its name; others open it by the name, and rank 0
 * then removes the name, so that nothing is left when processes are killed. */
gantry_status_t gantry__machine_make(gantry__machine_t *machine, size_t size,
                                     char out_name[GANTRY__MACHINE_NAME_BYTES]);
gantry_status_t gantry__machine_open(gantry__machine_t *machine, size_t rank, size_t size,
                                     const char *name);
void gantry__machine_unlink(const char *name);
void gantry__machine_close(gantry__machine_t *machine);

/* This process's numbers, and the sum. */
void *gantry__machine_slot(const gantry__machine_t *machine);
void *gantry__machine_sum(const gantry__machine_t *machine);
/* Adds this process's part of all slots. */
void gantry__machine_add(const gantry__machine_t *machine, size_t count, gantry_dtype_t dtype);
/* Arrives at the next barrier; then whether all have arrived. */
void gantry__machine_arrive(gantry__machine_t *machine);
bool gantry__machine_is_complete(const gantry__machine_t *machine);

#endif
