/* SPDX-License-Identifier: Apache-2.0 */
/* The random numbers of shuffles: Philox 4x32-10, so that the order follows from seed and iteration
 * alone, on every machine. Externally synchronised. */
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
/* A number below bound (at least 1), each with equal probability. */
uint64_t gantry__train_random_below(gantry__train_random_t *random, uint64_t bound);

#endif
