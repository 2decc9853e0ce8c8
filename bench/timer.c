/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "timer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WARM_UP_NS 5000000u

uint64_t bench_now_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void bench_pause_ms(unsigned milliseconds) {
    struct timespec time = {.tv_sec = (time_t)(milliseconds / 1000),
                            .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Runs calls until the threads are awake and spread over the cores, and the caches are filled. */
static bool warm_up(const bench_contender_t *contender) {
    uint64_t start = bench_now_ns();
    do {
        if (!contender->run(contender->subject, 1)) return false;
    } while (bench_now_ns() - start < WARM_UP_NS);
    return true;
}

static bool counts_only;

void bench_count_only(void) { counts_only = true; }

bool bench_counts_only(void) { return counts_only; }

/* callgrind finds only a function that is called. */
__attribute__((noinline)) bool bench_counted(const bench_contender_t *contender, int calls) {
    return contender->run(contender->subject, calls);
}

/* The number of calls takes the place of a time. */
static void count_round(bench_contender_t *contender, int calls) {
    contender->failed =
        !contender->run(contender->subject, calls) || !bench_counted(contender, calls);
    if (!contender->failed) contender->seconds[contender->rounds++] = calls;
}

static void run_round(bench_contender_t *contender, int calls) {
    bench_pause_ms(BENCH_PAUSE_MS);
    if (!warm_up(contender)) {
        contender->failed = true;
        return;
    }
    uint64_t start = bench_now_ns();
    contender->failed = !contender->run(contender->subject, calls);
    uint64_t end = bench_now_ns();
    if (!contender->failed)
        contender->seconds[contender->rounds++] = (double)(end - start) * 1e-9 / calls;
}

void bench_interleave(bench_contender_t *contenders, size_t count, int rounds, int calls) {
    if (rounds > BENCH_MAX_ROUNDS) rounds = BENCH_MAX_ROUNDS;
    for (size_t i = 0; i < count; ++i) {
        contenders[i].rounds = 0;
        /* programs are built here */
        contenders[i].failed = !contenders[i].run(contenders[i].subject, 1);
    }
    for (size_t i = 0; counts_only && i < count; ++i) {
        if (!contenders[i].failed) count_round(&contenders[i], calls);
    }
    if (counts_only) return;
    for (int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < count; ++i) {
            if (!contenders[i].failed) run_round(&contenders[i], calls);
        }
    }
}

/* The time per call. One wait costs much for few calls, so their number is doubled until its share
 * is small. Returns 0 if the contender fails. */
static double seconds_per_call(const bench_contender_t *contender, int most) {
    uint64_t took;
    int calls = 1;
    if (!contender->run(contender->subject, 1)) return 0;
    for (;; calls *= 2) {
        uint64_t start = bench_now_ns();
        if (!contender->run(contender->subject, calls)) return 0;
        took = bench_now_ns() - start;
        if (took >= WARM_UP_NS || calls > most / 2) break;
    }
    return (double)took * 1e-9 / calls;
}

int bench_calls_for(const bench_contender_t *contenders, size_t count, unsigned milliseconds,
                    int most) {
    double least = 0, calls;
    if (counts_only) return 2;
    for (size_t i = 0; i < count; ++i) {
        double seconds = seconds_per_call(&contenders[i], most);
        if (seconds > 0 && (least <= 0 || seconds < least)) least = seconds;
    }
    if (least <= 0) return 1;
    calls = milliseconds * 1e-3 / least;
    return calls < 1 ? 1 : calls > most ? most : (int)calls;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_nanoseconds(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count) {
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double bench_median_ns(uint32_t *nanoseconds, size_t count) {
    if (count == 0) return 0;
    qsort(nanoseconds, count, sizeof *nanoseconds, compare_nanoseconds);
    return (double)nanoseconds[count / 2];
}

double bench_median_seconds(const bench_contender_t *contender) {
    double values[BENCH_MAX_ROUNDS];
    memcpy(values, contender->seconds, sizeof values);
    return bench_median(values, (size_t)contender->rounds);
}

double bench_best_seconds(const bench_contender_t *contender) {
    double best = contender->rounds > 0 ? contender->seconds[0] : 0;
    for (int i = 1; i < contender->rounds; ++i) {
        if (contender->seconds[i] < best) best = contender->seconds[i];
    }
    return best;
}

double bench_median_speedup(const bench_contender_t *contender,
                            const bench_contender_t *reference) {
    double values[BENCH_MAX_ROUNDS];
    int rounds = contender->rounds < reference->rounds ? contender->rounds : reference->rounds;
    for (int i = 0; i < rounds; ++i) values[i] = reference->seconds[i] / contender->seconds[i];
    return bench_median(values, (size_t)rounds);
}
