/* SPDX-License-Identifier: Apache-2.0 */
/* The clock for the times of events.
 *
 * Where the kernel's clock is the processor's time-stamp counter, a thread reads the counter, and
 * the clock itself once a millisecond:
 *
 *     clock     |--------- 1 ms ---------|------------------------|
 *     pairs     (ticks, ns)              (ticks, ns)              (ticks, ns)
 *     reading                            ns + (counter - ticks) * rate of the last two pairs
 *
 * So the reading follows a clock that is adjusted. The ticks of a pair are read after its ns, and
 * the rate is rounded down: a reading is late, by some 50 ns at most, and does not go backwards
 * when the next pair is read. */
#include "base/event_clock.h"
#include "base/os/clock.h"

#if defined(__x86_64__)

#include <stdbool.h>
#include <x86intrin.h>

enum {
    PAIR_NS = 1000000,
    PAIR_TRIES = 4,
    EXACT_TICKS = 64, /* some 20 ns, which change the rate by less than it is rounded */
    RATE_BITS = 32
};

typedef struct clock_pairs_t {
    uint64_t ticks, ns;  /* the last pair; ns 0: none */
    uint64_t span_ticks; /* readings of the counter so far after the pair are good; 0: none */
    uint64_t rate;       /* ns a tick, in 2^-RATE_BITS; 0: unknown */
    uint64_t pair_ticks; /* the ticks that the reading of a pair takes; 0: unknown */
    bool is_asked, is_counter;
} clock_pairs_t;

/* The pair whose reading took the fewest ticks. False: the thread was interrupted each time, and
 * the rate would not be exact. */
static bool read_pair(clock_pairs_t *pairs, uint64_t *out_ticks, uint64_t *out_ns) {
    uint64_t fewest = UINT64_MAX;
    for (int i = 0; i < PAIR_TRIES; ++i) {
        const uint64_t before = __rdtsc(), ns = gantry__now_ns();
        _mm_lfence(); /* the counter is not read before the clock */
        const uint64_t ticks = __rdtsc();
        if (ticks - before >= fewest) continue;
        fewest = ticks - before;
        *out_ticks = ticks;
        *out_ns = ns;
    }
    const bool is_exact = pairs->pair_ticks == 0 || fewest <= pairs->pair_ticks + EXACT_TICKS;
    if (pairs->pair_ticks == 0 || fewest < pairs->pair_ticks) pairs->pair_ticks = fewest;
    if (!is_exact) pairs->pair_ticks += pairs->pair_ticks / 16 + 1;
    return is_exact;
}

/* A rate far from the last one is not used: the machine slept, or moved. */
static void add_pair(clock_pairs_t *pairs, uint64_t ticks, uint64_t ns) {
    const uint64_t passed_ns = ns - pairs->ns, passed_ticks = ticks - pairs->ticks,
                   last = pairs->rate;
    const bool is_first = pairs->ns == 0;
    pairs->ticks = ticks;
    pairs->ns = ns;
    pairs->span_ticks = 0;
    pairs->rate = 0;
    /* beyond a quarter of an hour of idleness, or with a counter that was reset, a rate is guessed
     * again from the next pair */
    if (is_first || passed_ns >> 40 || passed_ticks >> 44 || passed_ticks == 0) return;
    const double rate = (double)passed_ns / (double)passed_ticks * (1 - 0x1p-15);
    if (rate < 0x1p-8 || rate > 0x1p8) return;
    pairs->rate = (uint64_t)(rate * 0x1p32);
    if (last > 0 && (pairs->rate > last + last / 1024 || pairs->rate < last - last / 1024)) return;
    pairs->span_ticks = (uint64_t)(PAIR_NS / rate);
}

static __attribute__((noinline)) uint64_t event_ns_slowly(clock_pairs_t *pairs) {
    if (!pairs->is_asked) {
        pairs->is_asked = true;
        pairs->is_counter = gantry__os_clock_is_counter();
    }
    uint64_t ticks = 0, ns = gantry__now_ns();
    if (pairs->is_counter && ns - pairs->ns >= PAIR_NS && read_pair(pairs, &ticks, &ns))
        add_pair(pairs, ticks, ns);
    return ns;
}

uint64_t gantry__event_ns(void) {
    static _Thread_local clock_pairs_t of_thread;
    clock_pairs_t *pairs = &of_thread;
    const uint64_t passed = __rdtsc() - pairs->ticks;
    if (passed < pairs->span_ticks) return pairs->ns + (passed * pairs->rate >> RATE_BITS);
    return event_ns_slowly(pairs);
}

#else

uint64_t gantry__event_ns(void) { return gantry__now_ns(); }

#endif
