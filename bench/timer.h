/* SPDX-License-Identifier: Apache-2.0 */
/* Time, and measuring several contenders side by side.
 *
 * Contenders must run in turn, round after round, because machines drift; a ratio compares
 * neighbours in time. Only seconds per call are kept. Owner: the caller has the contenders and
 * their subjects. Threads: externally synchronised. */
#ifndef GANTRY_BENCH_TIMER_H
#define GANTRY_BENCH_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_MAX_ROUNDS 64
/* The pause before each contender's turn. Idle threads of a pool spin for up to about 20 ms, and
 * would occupy a core. */
#define BENCH_PAUSE_MS 40

/* Returns the nanoseconds of a monotonic clock. */
uint64_t bench_now_ns(void);
void bench_pause_ms(unsigned milliseconds);

typedef struct bench_contender_t {
    const char *name; /* a device's alias or a library's name */
    /* It must make `calls` calls and must wait for all results. After false the contender is not
     * run again. */
    bool (*run)(void *subject, int calls);
    void *subject;
    bool failed;
    int rounds;
    double seconds[BENCH_MAX_ROUNDS]; /* per call, one entry per round */
} bench_contender_t;

/* Each round has a pause, in which other threads go to sleep, some ms to warm up, and then `calls`
 * timed calls. */
void bench_interleave(bench_contender_t *contenders, size_t count, int rounds, int calls);

/* From now on each contender runs its calls, and then once more in bench_counted, whose
 * instructions bench/instructions counts. Nothing is timed. */
void bench_count_only(void);
bool bench_counts_only(void);
bool bench_counted(const bench_contender_t *contender, int calls);

/* So many calls that a round of the fastest contender takes this long, at most `most`; calls
 * each at least twice. */
int bench_calls_for(const bench_contender_t *contenders, size_t count, unsigned milliseconds,
                    int most);

/* Return the seconds per call: the median and the least. */
double bench_median_seconds(const bench_contender_t *contender);
double bench_best_seconds(const bench_contender_t *contender);
/* Returns how many times as fast as reference it is: the median of the rounds' quotients. */
double bench_median_speedup(const bench_contender_t *contender, const bench_contender_t *reference);

/* Sorts values. */
double bench_median(double *values, size_t count);
/* The value at `count / 2` of nanoseconds; sorts them. */
double bench_median_ns(uint32_t *nanoseconds, size_t count);

#endif
