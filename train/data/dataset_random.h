/* SPDX-License-Identifier: Apache-2.0 */
/* The random numbers of shuffles: Philox 4x32-10, so that the order follows only from the seed and
 * the iteration, on every machine. Owner: a stream is a plain value of the caller. Threads:
 * externally synchronised. */
#ifndef GANTRY_TRAIN_DATASET_RANDOM_H
#define GANTRY_TRAIN_DATASET_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* A stream: key = seed, counter = (block, iteration). A block gives two numbers of 64 bits, the low
 * word first. */
typedef struct gantry__train_random_t {
    uint64_t seed;
    uint64_t iteration;
    uint64_t block; /* the next one */
    uint64_t spare;
    bool has_spare;
} gantry__train_random_t;

void gantry__train_random_init(gantry__train_random_t *random, uint64_t seed, uint64_t iteration);
/* The next number of the stream. */
uint64_t gantry__train_random_next(gantry__train_random_t *random);
/* Returns a number below bound, each with equal probability. bound must be at least 1. */
uint64_t gantry__train_random_below(gantry__train_random_t *random, uint64_t bound);

#endif
