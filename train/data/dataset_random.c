/* SPDX-License-Identifier: Apache-2.0 */
/* Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011. */
#include "train/data/dataset_random.h"

enum { PHILOX_ROUNDS = 10 };

static void philox_block(uint64_t key, uint64_t low, uint64_t high, uint64_t out[2]) {
    uint32_t w[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; ++round) {
        const uint64_t first = (uint64_t)w[0] * UINT32_C(0xd2511f53),
                       second = (uint64_t)w[2] * UINT32_C(0xcd9e8d57);
        w[0] = (uint32_t)(second >> 32) ^ w[1] ^ key0;
        w[1] = (uint32_t)second;
        w[2] = (uint32_t)(first >> 32) ^ w[3] ^ key1;
        w[3] = (uint32_t)first;
        key0 += UINT32_C(0x9e3779b9);
        key1 += UINT32_C(0xbb67ae85);
    }
    out[0] = (uint64_t)w[1] << 32 | w[0];
    out[1] = (uint64_t)w[3] << 32 | w[2];
}

void gantry__train_random_init(gantry__train_random_t *random, uint64_t seed, uint64_t iteration) {
    *random = (gantry__train_random_t){.seed = seed, .iteration = iteration};
}

uint64_t gantry__train_random_next(gantry__train_random_t *random) {
    if (random->has_spare) {
        random->has_spare = false;
        return random->spare;
    }
    uint64_t numbers[2];
    philox_block(random->seed, random->block++, random->iteration, numbers);
    random->spare = numbers[1];
    random->has_spare = true;
    return numbers[0];
}

/* Draws as many bits as bound - 1 has, until the number is below bound: on average less than two
 * draws, without a product of 128 bits. */
uint64_t gantry__train_random_below(gantry__train_random_t *random, uint64_t bound) {
    uint64_t mask = bound - 1;
    for (unsigned shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
    for (;;) {
        const uint64_t number = gantry__train_random_next(random) & mask;
        if (number < bound) return number;
    }
}
