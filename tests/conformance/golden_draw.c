/* SPDX-License-Identifier: Apache-2.0 */
/* The Mersenne Twister (MT19937) with the state and the conversions of NumPy's RandomState, whose
 * streams NumPy keeps for good. */
#include "golden_draw.h"

#include <string.h>

#include "golden.h"

enum { WORDS = 624, MIDDLE = 397 };

typedef struct twister_t {
    uint32_t words[WORDS];
    int used;
} twister_t;

static void seed_words(twister_t *t, uint32_t seed) {
    t->words[0] = seed;
    for (uint32_t i = 1; i < WORDS; ++i) {
        uint32_t last = t->words[i - 1];
        t->words[i] = UINT32_C(1812433253) * (last ^ last >> 30) + i;
    }
    t->used = WORDS;
}

static void next_words(twister_t *t) {
    for (int i = 0; i < WORDS; ++i) {
        uint32_t joined = (t->words[i] & UINT32_C(0x80000000)) |
                          (t->words[(i + 1) % WORDS] & UINT32_C(0x7fffffff));
        t->words[i] =
            t->words[(i + MIDDLE) % WORDS] ^ joined >> 1 ^ (joined & 1 ? UINT32_C(0x9908b0df) : 0);
    }
    t->used = 0;
}

static uint32_t next_word(twister_t *t) {
    if (t->used == WORDS) next_words(t);
    uint32_t y = t->words[t->used++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

/* A float64 in [0, 1) of 53 bits. */
static double next_fraction(twister_t *t) {
    uint32_t high = next_word(t) >> 5, low = next_word(t) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

/* A number from 0 to limit, which has the bits of mask at most. */
static uint32_t next_below(twister_t *t, uint32_t limit, uint32_t mask) {
    uint32_t value;
    do value = next_word(t) & mask;
    while (value > limit);
    return value;
}

bool golden_is_big_endian(void) {
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 0;
}

/* Turns the bytes of each number around on a big-endian machine. */
static void turn_numbers(unsigned char *data, size_t bytes, size_t size) {
    if (!golden_is_big_endian()) return;
    for (size_t at = 0; at + size <= bytes; at += size) {
        for (size_t i = 0; i < size / 2; ++i) {
            unsigned char kept = data[at + i];
            data[at + i] = data[at + size - 1 - i];
            data[at + size - 1 - i] = kept;
        }
    }
}

void golden_store_bits(void *data, size_t size, size_t index, uint64_t bits) {
    unsigned char *at = (unsigned char *)data + index * size;
    for (size_t i = 0; i < size; ++i) at[i] = (unsigned char)(bits >> 8 * i);
    turn_numbers(at, size, size);
}

uint64_t golden_load_bits(const void *number, size_t size) {
    unsigned char bytes[8];
    uint64_t bits = 0;
    memcpy(bytes, number, size);
    turn_numbers(bytes, size, size);
    for (size_t i = 0; i < size; ++i) bits |= (uint64_t)bytes[i] << 8 * i;
    return bits;
}

void golden_to_host_order(unsigned char *data, size_t bytes, gantry_dtype_t dtype) {
    const bool is_complex = GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_COMPLEXES;
    turn_numbers(data, bytes, gantry_dtype_size(dtype) / (is_complex ? 2 : 1));
}

int golden_draw(uint32_t seed, gantry_dtype_t dtype, void *out, size_t count) {
    twister_t t;
    size_t size = gantry_dtype_size(dtype);
    if (GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_COMPLEXES) return -1;
    seed_words(&t, seed);
    for (size_t i = 0; i < count; ++i) {
        if (golden_is_float(dtype))
            golden_store_number(dtype, out, i, -4 + 8 * next_fraction(&t));
        else if (dtype == GANTRY_BOOL)
            golden_store_bits(out, size, i, next_below(&t, 1, 1));
        else
            golden_store_bits(out, size, i, (uint64_t)next_below(&t, 2000, 2047) - 1000);
    }
    return 0;
}
