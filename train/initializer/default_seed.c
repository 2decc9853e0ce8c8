/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds that Keras draws itself: random.randint(1, 10**9) of Python's module random, whose
 * generator is MT19937 (Matsumoto and Nishimura, Mersenne Twister, 1998; initialised by an array
 * of words, 2002). randint takes 30 bits of a word and draws again from 10**9 on. */
#include <gantry_train/initializer.h>

enum { MT_WORDS = 624, MT_MIDDLE = 397 };

typedef struct twister_t {
    uint32_t words[MT_WORDS];
    size_t next;
} twister_t;

static void twister_init_by_word(twister_t *t, uint32_t seed) {
    t->words[0] = seed;
    for (uint32_t i = 1; i < MT_WORDS; ++i)
        t->words[i] = UINT32_C(1812433253) * (t->words[i - 1] ^ (t->words[i - 1] >> 30)) + i;
    t->next = MT_WORDS;
}

/* Step 1 (factor 1664525) and step 2 of the initialisation by an array change word i by the one
 * before it; word 0 is a copy of the last one. */
static void twister_mix(twister_t *t, size_t *i, uint32_t factor, uint32_t add) {
    uint32_t *w = t->words;
    w[*i] = (w[*i] ^ ((w[*i - 1] ^ (w[*i - 1] >> 30)) * factor)) + add;
    if (++*i < MT_WORDS) return;
    w[0] = w[MT_WORDS - 1];
    *i = 1;
}

/* Python's random.seed of an integer: its magnitude, in words from the lowest on. */
static void twister_init(twister_t *t, int64_t seed) {
    const uint64_t magnitude = seed < 0 ? 0 - (uint64_t)seed : (uint64_t)seed;
    const uint32_t key[2] = {(uint32_t)magnitude, (uint32_t)(magnitude >> 32)};
    const uint32_t count = key[1] ? 2 : 1;
    size_t i = 1;
    twister_init_by_word(t, UINT32_C(19650218));
    for (uint32_t k = 0; k < MT_WORDS; ++k)
        twister_mix(t, &i, UINT32_C(1664525), key[k % count] + k % count);
    for (uint32_t k = 1; k < MT_WORDS; ++k)
        twister_mix(t, &i, UINT32_C(1566083941), 0 - (uint32_t)i);
    t->words[0] = UINT32_C(0x80000000);
}

static void twister_refill(twister_t *t) {
    uint32_t *w = t->words;
    for (size_t i = 0; i < MT_WORDS; ++i) {
        const uint32_t y =
            (w[i] & UINT32_C(0x80000000)) | (w[(i + 1) % MT_WORDS] & UINT32_C(0x7fffffff));
        w[i] = w[(i + MT_MIDDLE) % MT_WORDS] ^ (y >> 1) ^ (y & 1 ? UINT32_C(0x9908b0df) : 0);
    }
    t->next = 0;
}

static uint32_t twister_draw(twister_t *t) {
    if (t->next == MT_WORDS) twister_refill(t);
    uint32_t y = t->words[t->next++];
    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9d2c5680);
    y ^= (y << 15) & UINT32_C(0xefc60000);
    return y ^ (y >> 18);
}

static int64_t draw_seed(twister_t *t) {
    uint32_t bits;
    do {
        bits = twister_draw(t) >> 2;
    } while (bits >= UINT32_C(1000000000));
    return 1 + (int64_t)bits;
}

int64_t gantry_default_seed(int64_t seed, size_t index) {
    twister_t twister;
    int64_t drawn = 0;
    twister_init(&twister, seed);
    for (size_t i = 0; i <= index; ++i) drawn = draw_seed(&twister);
    return drawn;
}
