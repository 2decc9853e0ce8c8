/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of sharing on this machine.
 *
 * A cache line that threads on two cores write in turn: threads hand data to each other at this
 * speed. The cores of a virtual machine may be near each other or far apart, and this may change.
 *
 * Integer steps that only need a core's decoder: if another machine uses the core's other hardware
 * thread, the median is far above the best, although this machine's CPU time shows nothing. Loops
 * of few instructions suffer least. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "bench.h"

#define CORES_CALLS 100000

typedef struct line_t {
    _Alignas(64) atomic_int turn; /* odd: the other thread's turn */
    _Alignas(64) int calls;
    int core; /* of the other thread */
} line_t;

typedef struct cores_t {
    int first, second;
} cores_t;

static bool stay_on(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

static void *answer(void *argument) {
    line_t *line = argument;
    (void)stay_on(line->core); /* a failure makes it slow, not wrong */
    for (int i = 0; i < line->calls; ++i) {
        while (atomic_load(&line->turn) != 2 * i + 1) continue;
        atomic_store(&line->turn, 2 * i + 2);
    }
    return NULL;
}

static bool pass_line(void *argument, int calls) {
    const cores_t *cores = argument;
    line_t line = {.calls = calls, .core = cores->second};
    cpu_set_t before;
    pthread_t other;
    if (sched_getaffinity(0, sizeof before, &before) != 0 || !stay_on(cores->first)) return false;
    bool made = pthread_create(&other, NULL, answer, &line) == 0;
    for (int i = 0; made && i < calls; ++i) {
        atomic_store(&line.turn, 2 * i + 1);
        while (atomic_load(&line.turn) != 2 * i + 2) continue;
    }
    if (made) (void)pthread_join(other, NULL);
    return sched_setaffinity(0, sizeof before, &before) == 0 && made;
}

#if defined(__GNUC__)
#define KEEP_APART(x) __asm__("" : "+r"(x)) /* keeps x in a register of its own, not in a vector */
#else
#define KEEP_APART(x) (void)(x)
#endif
#define STEP(x)   \
    x ^= x << 13; \
    x ^= x >> 7;  \
    x ^= x << 17; \
    KEEP_APART(x);

static bool step_on(void *argument, int calls) {
    volatile uint64_t *result = argument;
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (int i = 0; i < calls; ++i) {
        STEP(a) STEP(b) STEP(c) STEP(d)
    }
    *result = a ^ b ^ c ^ d;
    return true;
}

static void measure_one_core(bench_t *bench) {
    uint64_t result;
    bench_contender_t contenders[] = {{.name = "one core", .run = step_on, .subject = &result}};
    const bench_measure_t shown = {"cores", "24 steps of integers", "ns", 0, 1e9, NULL, 0, 0,
                                   false};
    bench_interleave(contenders, 1, bench->rounds, CORES_CALLS);
    bench_report_contenders(&bench->report, &shown, contenders, 1, 0);
}

/* The first two cores that this process may use. */
static bool find_cores(cores_t *out) {
    cpu_set_t set;
    int found = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return false;
    for (int core = 0; core < CPU_SETSIZE && found < 2; ++core) {
        if (!CPU_ISSET((size_t)core, &set)) continue;
        *(found++ == 0 ? &out->first : &out->second) = core;
    }
    return found == 2;
}

void bench_cores(bench_t *bench) {
    cores_t cores;
    measure_one_core(bench);
    if (!find_cores(&cores)) {
        bench_report_note(&bench->report, "cores: fewer than two");
        return;
    }
    bench_contender_t contenders[] = {{.name = "two cores", .run = pass_line, .subject = &cores}};
    const bench_measure_t shown = {"cores", "cache line there and back", "ns", 0, 1e9, NULL, 0, 0,
                                   false};
    bench_interleave(contenders, 1, bench->rounds, CORES_CALLS);
    bench_report_contenders(&bench->report, &shown, contenders, 1, 0);
}
