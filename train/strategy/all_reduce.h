/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of a vector over replicas, on every replica, by copies between devices that libgantry
 * makes. Owner: the scope has the sums. Threads: externally synchronised, as the scope. */
#ifndef GANTRY_TRAIN_ALL_REDUCE_H
#define GANTRY_TRAIN_ALL_REDUCE_H

#include <gantry/gantry.h>

#include "train/base/join_vectors.h"

typedef struct gantry__all_reduce_t {
    gantry_scope_t *scope; /* owns the sums */
    char *const *devices;  /* of each replica; an entry may be NULL: no request */
    size_t value_count;    /* replicas that have a vector: the first ones */
    size_t sum_count;      /* replicas that get the sum: these, and perhaps more */
    bool has_nccl;         /* NcclAllReduce runs on all of these devices, which are cards apart */
} gantry__all_reduce_t;

/* Adds vectors, which must have one type and size; values[r] must be on replica r. It writes
 * sum_count tensors, or NULLs after a failure, which the scope keeps. The additions are in the
 * order of the replicas, so the bits depend only on the values; NCCL chooses an order of its own,
 * by the cards and the size. */
void gantry__all_reduce(const gantry__all_reduce_t *call, const gantry_tensor_t *const *values,
                        const gantry_tensor_t **sums);

#endif
