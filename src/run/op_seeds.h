/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds of random ops that have none while a global seed is set: the numbers that TensorFlow's
 * eager mode takes from Python's random.Random(seed).randint(0, 2^31 - 1), so that both draw the
 * same values.
 *
 * Owner: a plain value of the caller. Threads: externally synchronised. */
#ifndef GANTRY_RUN_OP_SEEDS_H
#define GANTRY_RUN_OP_SEEDS_H

#include <stdint.h>

#define GANTRY__MERSENNE_WORDS 624

typedef struct gantry__op_seeds_t {
    uint32_t words[GANTRY__MERSENNE_WORDS];
    uint32_t next; /* the first unused word */
} gantry__op_seeds_t;

void gantry__op_seeds_init(gantry__op_seeds_t *seeds, int64_t seed);
/* The next seed, from 0 to 2^31 - 1. */
int64_t gantry__op_seeds_next(gantry__op_seeds_t *seeds);

#endif
