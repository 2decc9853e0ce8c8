/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the processes of a machine share, for sums. Each process writes its numbers to a slot
 * of its own, adds one part of all slots, in the order of the ranks, and reads the whole sum:
 *
 *     slot 0   a a a a
 *     slot 1   b b b b      process 0 adds the left half, process 1 the right one
 *     sum      s s s s
 *
 * There is a barrier before and after the additions. It is a count of arrivals that only grows. Two
 * barriers are enough, because a slot is written again only after the second one, and the sum only
 * after the next first one. Owner: the caller has the gantry__machine_t, and must close it; the
 * memory ends with the last process that has it open. Threads: externally synchronised in a
 * process; processes must make the same calls in the same order. */
#ifndef GANTRY_TRAIN_MACHINE_H
#define GANTRY_TRAIN_MACHINE_H

#include <stdatomic.h>

#include <gantry/gantry.h>

#include "base/os/shared_memory.h"

/* The bytes of a slot, in chunks of which calls take their numbers. */
#define GANTRY__MACHINE_CHUNK ((size_t)4 << 20)

typedef struct gantry__machine_t {
    size_t rank, size; /* of this machine's processes */
    unsigned char *memory;
    uint64_t barriers; /* that this process has begun */
} gantry__machine_t;   /* zeroed: none */

/* Rank 0 of the machine must make the memory and its name; the others open it by that name. Rank 0
 * must remove the name then, so that nothing is left when processes are killed. */
gantry_status_t gantry__machine_make(gantry__machine_t *machine, size_t size,
                                     char out_name[GANTRY__OS_SHARED_NAME_BYTES]);
gantry_status_t gantry__machine_open(gantry__machine_t *machine, size_t rank, size_t size,
                                     const char *name);
void gantry__machine_unlink(const char *name);
void gantry__machine_close(gantry__machine_t *machine);

/* Return the place of this process's numbers, and that of the sum. */
void *gantry__machine_slot(const gantry__machine_t *machine);
void *gantry__machine_sum(const gantry__machine_t *machine);
/* Adds this process's part of all slots. */
void gantry__machine_add(const gantry__machine_t *machine, size_t count, gantry_dtype_t dtype);
/* arrive arrives at the next barrier, and is_complete returns whether all processes have arrived
 * there. */
void gantry__machine_arrive(gantry__machine_t *machine);
bool gantry__machine_is_complete(const gantry__machine_t *machine);

#endif
