/* SPDX-License-Identifier: Apache-2.0 */
/* MT19937 (Matsumoto and Nishimura: Mersenne Twister; TOMACS 8, 1998), 624 words w with the
 * recurrence
 *
 *     w[i] = w[i + 397] ^ twist(upper bit of w[i], lower 31 bits of w[i + 1])
 *
 * which are tempered on output. Python seeds it with an integer's magnitude, as a list of 32-bit
 * words, lowest first, by the generator's own init_by_array; randint rejects values beyond the
 * range and draws again. */
#include "run/op_seeds.h"

enum { WORDS = GANTRY__MERSENNE_WORDS, MIDDLE = 397 };

static void op_seeds_start(uint32_t *w, uint32_t seed) {
    w[0] = seed;
    for (uint32_t i = 1; i < WORDS; ++i)
        w[i] = UINT32_C(1812433253) * (w[i - 1] ^ w[i - 1] >> 30) + i;
}

/* Mixes word i with the one before it; the last word precedes the first. */
static uint32_t op_seeds_step(uint32_t *w, uint32_t i, uint32_t factor) {
    if (i == 0) {
        w[0] = w[WORDS - 1];
        i = 1;
    }
    w[i] ^= (w[i - 1] ^ w[i - 1] >> 30) * factor;
    return i;
}

void gantry__op_seeds_init(gantry__op_seeds_t *seeds, int64_t seed) {
    const uint64_t magnitude = seed < 0 ? 0 - (uint64_t)seed : (uint64_t)seed;
    const uint32_t key[] = {(uint32_t)magnitude, (uint32_t)(magnitude >> 32)};
    const uint32_t key_words = key[1] ? 2 : 1;
    uint32_t *w = seeds->words, i = 1;
    op_seeds_start(w, 19650218);
    for (uint32_t k = 0; k < WORDS; ++k) {
        i = op_seeds_step(w, i % WORDS, 1664525);
        w[i] += key[k % key_words] + k % key_words;
        ++i;
    }
    for (uint32_t k = 0; k < WORDS - 1; ++k) {
        i = op_seeds_step(w, i % WORDS, 1566083941);
        w[i] -= i;
        ++i;
    }
    w[0] = UINT32_C(0x80000000);
    seeds->next = WORDS;
}

static void refill(gantry__op_seeds_t *seeds) {
    uint32_t *w = seeds->words;
    for (uint32_t i = 0; i < WORDS; ++i) {
        uint32_t y = (w[i] & UINT32_C(0x80000000)) | (w[(i + 1) % WORDS] & UINT32_C(0x7fffffff));
        w[i] = w[(i + MIDDLE) % WORDS] ^ y >> 1 ^ (y & 1 ? UINT32_C(0x9908b0df) : 0);
    }
    seeds->next = 0;
}

int64_t gantry__op_seeds_next(gantry__op_seeds_t *seeds) {
    uint32_t y;
    do {
        if (seeds->next == WORDS) refill(seeds);
        y = seeds->words[seeds->next++];
        y ^= y >> 11;
        y ^= y << 7 & UINT32_C(0x9d2c5680);
        y ^= y << 15 & UINT32_C(0xefc60000);
        y ^= y >> 18;
    } while (y > INT32_MAX);
    return (int64_t)y;
}
