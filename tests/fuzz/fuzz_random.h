/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a fuzz program: the same ones for the same state. Header only. */
#ifndef GANTRY_TESTS_FUZZ_RANDOM_H
#define GANTRY_TESTS_FUZZ_RANDOM_H

#include <stdint.h>

typedef struct fuzz_random_t {
    uint64_t state;
} fuzz_random_t;

/* SplitMix64. */
static inline uint64_t fuzz_random(fuzz_random_t *random) {
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number in [0, bound); bound is at least 1. */
static inline uint64_t fuzz_below(fuzz_random_t *random, uint64_t bound) {
    return fuzz_random(random) % bound;
}

/* The state with which attempt `number` of a seed begins. */
static inline fuzz_random_t fuzz_random_of(uint64_t seed, uint64_t number) {
    return (fuzz_random_t){seed * UINT64_C(0x100000001b3) + number * UINT64_C(0x9e3779b97f4a7c15)};
}

#endif
