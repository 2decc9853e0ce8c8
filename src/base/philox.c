/* SPDX-License-Identifier: Apache-2.0 */
/* Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011. */
#include "base/philox.h"

enum { ROUNDS = 10 };

gantry__philox_t gantry__philox_skip(gantry__philox_t place, uint64_t blocks) {
    place.counter[0] += blocks;
    place.counter[1] += place.counter[0] < blocks;
    return place;
}

void gantry__philox_words(gantry__philox_t place, uint32_t out_words[4]) {
    uint32_t w[4] = {(uint32_t)place.counter[0], (uint32_t)(place.counter[0] >> 32),
                     (uint32_t)place.counter[1], (uint32_t)(place.counter[1] >> 32)};
    uint32_t key0 = (uint32_t)place.key, key1 = (uint32_t)(place.key >> 32);
    for (int round = 0; round < ROUNDS; ++round) {
        const uint64_t first = (uint64_t)w[0] * UINT32_C(0xd2511f53),
                       second = (uint64_t)w[2] * UINT32_C(0xcd9e8d57);
        w[0] = (uint32_t)(second >> 32) ^ w[1] ^ key0;
        w[1] = (uint32_t)second;
        w[2] = (uint32_t)(first >> 32) ^ w[3] ^ key1;
        w[3] = (uint32_t)first;
        key0 += UINT32_C(0x9e3779b9);
        key1 += UINT32_C(0xbb67ae85);
    }
    for (int i = 0; i < 4; ++i) out_words[i] = w[i];
}

/* One block with a fixed key and the seed as counter, so that seeds with few set bits are as good
 * as any. */
gantry__philox_t gantry__philox_of_seed(int64_t seed0, int64_t seed1) {
    uint32_t w[4];
    gantry__philox_words(
        (gantry__philox_t){{(uint64_t)seed0, (uint64_t)seed1}, UINT64_C(0x02461e293ec8f720)}, w);
    return (gantry__philox_t){{0, (uint64_t)w[3] << 32 | w[2]}, (uint64_t)w[1] << 32 | w[0]};
}
