/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The float32 functions of the portable text are within their bounds of double precision
 * over all 2^32 inputs or a part of them, with the same bits on each instruction set.
 *
 * The full run takes about a minute a function and is not the default. The program prints each
 * function's largest error in units of the exact result's last place, with its input. The exit code
 * is 1 if an error exceeds its bound, a special case is wrong, or two sets differ.
 *
 *   exhaustive_math_float32 [--full | --stride N] [--sets N] [--threads N] [function ...]
 *
 * The highest set gives the results. The other sets compute every N-th block of 1024 inputs
 * (--sets, default 8). The base set of x86-64 emulates fused multiply-add and is slow. The
 * reference is the C library's double function. That function's own error (below 1 ulp of double)
 * adds 2e-9 ulp at most, also near a zero of sine and cosine: the C library reduces its argument
 * exactly. */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu_backend.h"
#include "float32_error.h"
#include "math_float32_loops.h"
#include "math_text.h"
#include "math_reference.h"
#include "sanitized.h"

enum { BLOCK = 1024, MOST_THREADS = 64, DEFAULT_STRIDE = FEWER_FOR_SANITIZERS(1009, 100003) };

#define INPUTS (UINT64_C(1) << 32)

typedef struct subject {
    const char *name;
    double (*reference)(double x);
    double bound_ulp;
    /* inputs of larger magnitude are skipped, except infinities; 0: none are skipped */
    float domain;
} subject_t;

typedef struct finding {
    double error_ulp; /* infinite if a special result is wrong */
    float input;
    float result;
    double wanted;
    uint64_t compared;
    uint64_t rounded_right;
    uint64_t unequal; /* results of other instruction sets */
} finding_t;

typedef struct task {
    const subject_t *subject;
    uint64_t first, end, stride;
    uint64_t sets_every; /* blocks */
    uint64_t blocks;
    finding_t worst;
} task_t;

static const subject_t subjects[] = {
#define GANTRY_MATH_FUNCTION(form, op, name, float64, reference, ulp, domain, ...) \
    {#name, reference, ulp, domain},
#include "ops/functions.def"
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static void compare_block(task_t *task, const float *x, const float *y, int count) {
    for (int i = 0; i < count; ++i) {
        double wanted = task->subject->reference((double)x[i]);
        float nearest = (float)wanted;
        task->worst.compared++;
        uint32_t best = isnan(wanted) ? FLOAT32_NAN_BITS : GANTRY_AS_UINT(nearest);
        if (best == GANTRY_AS_UINT(y[i])) {
            task->worst.rounded_right++;
            if (task->worst.error_ulp >= 0.5) {
                continue;
            }
        }
        double error = float32_error_ulp(y[i], wanted);
        if (error > task->worst.error_ulp) {
            task->worst.error_ulp = error;
            task->worst.input = x[i];
            task->worst.result = y[i];
            task->worst.wanted = wanted;
        }
    }
}

static math_float32_loop_t loop_of(const subject_t *subject, int32_t level) {
    return GANTRY_CPU_PICK(level, math_float32_loops)()[subject - subjects];
}

/* Compares the bits of the lower instruction sets with y. */
static void compare_sets(task_t *task, const float *x, const float *y, int count, int32_t best) {
    float other[BLOCK];
    for (int32_t level = 0; level < best; ++level) {
        loop_of(task->subject, level)(other, x, count);
        for (int i = 0; i < count; ++i) {
            if (GANTRY_AS_UINT(other[i]) != GANTRY_AS_UINT(y[i]) && task->worst.unequal++ == 0) {
                printf("%s(%.9g): 0x%08" PRIx32 " with instruction set %d, 0x%08" PRIx32
                       " with %d\n",
                       task->subject->name, (double)x[i], GANTRY_AS_UINT(other[i]), level,
                       GANTRY_AS_UINT(y[i]), best);
            }
        }
    }
}

static void run_block(task_t *task, const float *x, int count) {
    float y[BLOCK];
    int32_t best = gantry__cpu_simd_detect(NULL);
    loop_of(task->subject, best)(y, x, count);
    compare_block(task, x, y, count);
    if (task->blocks++ % task->sets_every == 0) {
        compare_sets(task, x, y, count, best);
    }
}

static void *run_task(void *argument) {
    task_t *task = argument;
    float x[BLOCK] = {0.0f};
    float domain = task->subject->domain;
    int count = 0;
    for (uint64_t bits = task->first; bits < task->end; bits += task->stride) {
        float input = GANTRY_AS_FLOAT((uint32_t)bits);
        if (domain == 0.0f || fabsf(input) <= domain || isnan(input) || isinf(input)) {
            x[count++] = input;
        }
        if (count == BLOCK) {
            run_block(task, x, count);
            count = 0;
        }
    }
    run_block(task, x, count);
    return NULL;
}

/* Inputs that a stride could skip: zeros, denormals, infinities, NaNs, and the ends of each
 * function's range. */
static void run_specials(task_t *task) {
    static const uint32_t specials[] = {
        0x00000000u, 0x80000000u, 0x00000001u, 0x80000001u, 0x007fffffu, 0x807fffffu, 0x00800000u,
        0x80800000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff812345u,
        0x7f7fffffu, 0xff7fffffu, 0x3f800000u, 0xbf800000u, 0x3f7fffffu, 0x3f800001u, 0x42b17217u,
        0x42b17218u, 0xc2aeac4fu, 0xc2aeac50u, 0xc2cff1b4u, 0xc2cff1b5u, 0xc2d00000u, 0x42b20000u,
        0x3f100000u, 0x3f0fffffu, 0x41200000u, 0x41102cb3u, 0x3f3504f3u, 0x3f3504f2u, 0x3fb504f3u,
        0x3fb504f4u, 0x3fc90fdbu, 0x40490fdbu, 0x40c90fdbu, 0x41490fdbu, 0x3f000000u, 0x3effffffu,
        0xbf000001u, 0x3f490fdbu, 0x44800000u, 0xc47fffffu, 0x45800000u, 0x457fffffu, 0x42b2d4fcu,
        0x42b2d4fdu, 0x6f79be45u, 0xef79be45u, 0x4e800000u, 0x4e800001u, 0xbf7fffffu, 0xbf800001u,
    };
    float x[BLOCK];
    int count = 0;
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; ++i) {
        float input = GANTRY_AS_FLOAT(specials[i]);
        float domain = task->subject->domain;
        if (domain == 0.0f || fabsf(input) <= domain || isnan(input) || isinf(input)) {
            x[count++] = input;
        }
    }
    run_block(task, x, count);
}

static void merge(finding_t *into, const finding_t *from) {
    uint64_t compared = into->compared + from->compared;
    uint64_t rounded_right = into->rounded_right + from->rounded_right;
    uint64_t unequal = into->unequal + from->unequal;
    if (from->error_ulp > into->error_ulp) {
        *into = *from;
    }
    into->compared = compared;
    into->rounded_right = rounded_right;
    into->unequal = unequal;
}

/* Returns whether the function keeps its bound. */
static bool run_subject(const subject_t *subject, uint64_t stride, uint64_t sets_every,
                        int threads) {
    task_t tasks[MOST_THREADS];
    pthread_t ids[MOST_THREADS];
    bool started[MOST_THREADS] = {false};
    task_t specials = {.subject = subject, .sets_every = 1};
    run_specials(&specials);
    finding_t worst = specials.worst;
    for (int i = 0; i < threads; ++i) {
        /* Thread i takes its own range, which starts at a multiple of the stride. */
        uint64_t steps = (INPUTS + stride - 1) / stride;
        tasks[i] = (task_t){.subject = subject, .stride = stride, .sets_every = sets_every};
        tasks[i].first = steps * (uint64_t)i / (uint64_t)threads * stride;
        tasks[i].end =
            i + 1 == threads ? INPUTS : steps * (uint64_t)(i + 1) / (uint64_t)threads * stride;
        started[i] = pthread_create(&ids[i], NULL, run_task, &tasks[i]) == 0;
        if (!started[i]) {
            run_task(&tasks[i]);
        }
    }
    for (int i = 0; i < threads; ++i) {
        if (started[i]) {
            pthread_join(ids[i], NULL);
        }
        merge(&worst, &tasks[i].worst);
    }
    bool kept = worst.error_ulp <= subject->bound_ulp && worst.unequal == 0;
    printf("%-8s largest error %.4f ulp at %.9g (0x%08" PRIx32
           "): got %.9g, exact %.12g; bound %.4g; %" PRIu64
           " inputs, %.2f %% correctly rounded, %" PRIu64 " unequal between sets: %s\n",
           subject->name, worst.error_ulp, (double)worst.input, GANTRY_AS_UINT(worst.input),
           (double)worst.result, worst.wanted, subject->bound_ulp, worst.compared,
           100.0 * (double)worst.rounded_right / (double)worst.compared, worst.unequal,
           kept ? "ok" : "FAILED");
    fflush(stdout);
    return kept;
}

static int usage(const char *program) {
    fprintf(stderr,
            "usage: %s [--full | --stride N] [--sets N] [--threads N] [function ...]\nfunctions:",
            program);
    for (int i = 0; i < SUBJECTS; ++i) {
        fprintf(stderr, " %s", subjects[i].name);
    }
    fputc('\n', stderr);
    return 2;
}

static bool read_number(const char *text, uint64_t most, uint64_t *out_value) {
    char *end = NULL;
    unsigned long long value = text == NULL ? 0 : strtoull(text, &end, 10);
    if (value == 0 || value > most || *end != '\0') {
        return false;
    }
    *out_value = value;
    return true;
}

static bool select_subject(const char *name, bool *selected) {
    for (int i = 0; i < SUBJECTS; ++i) {
        if (strcmp(name, subjects[i].name) == 0) {
            selected[i] = true;
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv) {
    uint64_t stride = DEFAULT_STRIDE;
    uint64_t sets_every = 8;
    uint64_t threads = 2;
    bool selected[SUBJECTS] = {false};
    bool any = false;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--full") == 0) {
            stride = 1;
        } else if (strcmp(argv[i], "--stride") == 0 && read_number(argv[i + 1], INPUTS, &stride)) {
            i++;
        } else if (strcmp(argv[i], "--sets") == 0 &&
                   read_number(argv[i + 1], INPUTS, &sets_every)) {
            i++;
        } else if (strcmp(argv[i], "--threads") == 0 &&
                   read_number(argv[i + 1], MOST_THREADS, &threads)) {
            i++;
        } else if (select_subject(argv[i], selected)) {
            any = true;
        } else {
            return usage(argv[0]);
        }
    }
    bool kept = true;
    for (int i = 0; i < SUBJECTS; ++i) {
        if (!any || selected[i]) {
            kept = run_subject(&subjects[i], stride, sets_every, (int)threads) && kept;
        }
    }
    return kept ? 0 : 1;
}
