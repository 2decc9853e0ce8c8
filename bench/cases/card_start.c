/* SPDX-License-Identifier: Apache-2.0 */
/* The time from the start of a process to its first product on the host, and the memory of the card
 * that this takes. Compares Gantry (all backends, or only CUDA; with programs on disk, or without)
 * with driver and cuBLASLt called directly. */
#define _XOPEN_SOURCE 700
#include "card.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "cuda_product.h"

#define MOST_MS 50.0
#define ROUNDS 9
#define SIDE 256
#define ELEMENTS ((size_t)SIDE * SIDE)

/* ---- in the child ---- */

static bool is_right(const float *c) { return c[0] == 2 * SIDE && c[ELEMENTS - 1] == 2 * SIDE; }

/* It must free nothing, because the caller queries the card's memory afterwards. */
static bool start_gantry(const char *backends, const char *kernel_cache, const float *a,
                         const float *b, float *c) {
    gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = backends, .kernel_cache = kernel_cache};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return false;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "cuda:0");
    if (!scope) return false;
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE), a, ELEMENTS * sizeof *a);
    const gantry_tensor_t *y =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE), b, ELEMENTS * sizeof *b);
    const gantry_tensor_t *z = gantry_matmul(scope, x, y, NULL);
    return z && gantry_tensor_read(z, c, ELEMENTS * sizeof *c) == GANTRY_OK;
}

static bool start_raw(const float *a, const float *b, float *c) {
    static bench_card_t card;
    static bench_product_t product;
    return bench_card_open(&card, NULL) &&
           bench_product_open_first(&product, &card, BENCH_PRODUCT_FLOAT32, SIDE, a, b) &&
           bench_product_run(&product, 0, 1) && bench_product_read(&product, c);
}

int bench_card_start_child(const char *what, const char *uuid, const char *kernel_cache) {
    float *a = malloc(ELEMENTS * sizeof *a), *b = malloc(ELEMENTS * sizeof *b),
          *c = calloc(ELEMENTS, sizeof *c);
    int64_t after;
    bool ok = a && b && c;
    for (size_t i = 0; ok && i < ELEMENTS; ++i) {
        a[i] = 1;
        b[i] = 2;
    }
    uint64_t start = bench_now_ns();
    if (ok && strcmp(what, "raw") == 0) {
        ok = start_raw(a, b, c);
    } else if (ok) {
        ok = start_gantry(strcmp(what, "all") == 0 ? NULL : what, kernel_cache, a, b, c);
    }
    uint64_t took = bench_now_ns() - start;
    after = bench_card_used_bytes(uuid);
    ok = ok && is_right(c);
    if (!ok) (void)fprintf(stderr, "the start of %s: %s\n", what, gantry_last_message());
    (void)printf("%llu %lld\n", (unsigned long long)took, (long long)after);
    (void)fflush(stdout);
    _exit(ok ? 0 : 1); /* the system frees all the rest */
}

/* ---- in the parent ---- */

enum { RAW, WARM, COLD, WARM_CUDA, SERIES };

static const struct {
    const char *what, *on;
    bool is_cold;
} series[SERIES] = {{"raw", "driver, cuBLASLt", false},
                    {"all", "cuda:0", false},
                    {"all", "cuda:0, no cache", true},
                    {"cuda", "cuda:0, CUDA alone", false}};

typedef struct samples_t {
    double ms[ROUNDS], mib[ROUNDS], beyond_ms[ROUNDS]; /* beyond: the difference to the raw one */
    size_t count, mib_count;
} samples_t;

static void add_row(bench_t *bench, const char *work, const char *on, const char *unit,
                    double *values, size_t count, double most) {
    bench_row_t row = {.subject = "card_start", .reached = -1};
    if (count == 0) return;
    (void)snprintf(row.work, sizeof row.work, "%s", work);
    (void)snprintf(row.on, sizeof row.on, "%s", on);
    (void)snprintf(row.unit, sizeof row.unit, "%s", unit);
    row.median = bench_median(values, count); /* sorts */
    row.best = values[0];
    if (most > 0) {
        (void)snprintf(row.target, sizeof row.target, "<= %g %s", most, unit);
        row.reached = row.median <= most;
    }
    bench_report_add(&bench->report, &row);
}

static void run_round(const bench_t *bench, const char *uuid, const char *kernel_cache,
                      samples_t *samples) {
    double raw_ms = 0;
    for (int i = 0; i < SERIES; ++i) {
        /* The parent must query this, because in the child the query would start the library before
         * its clock. */
        int64_t before = bench_card_used_bytes(uuid);
        double numbers[2];
        const char *const arguments[] = {"--start-child", series[i].what, uuid,
                                         series[i].is_cold ? "" : kernel_cache, NULL};
        if (!bench_child_run(bench->program, arguments, numbers, 2)) continue;
        double ms = numbers[0] * 1e-6;
        if (i == RAW) raw_ms = ms;
        if (i != RAW && raw_ms <= 0) continue;
        samples[i].beyond_ms[samples[i].count] = ms - raw_ms;
        samples[i].ms[samples[i].count++] = ms;
        if (before >= 0 && numbers[1] >= (double)before)
            samples[i].mib[samples[i].mib_count++] = (numbers[1] - (double)before) / 1048576;
    }
}

static void report(bench_t *bench, samples_t *samples) {
    for (int i = 0; i < SERIES; ++i)
        add_row(bench, "start to first product read", series[i].on, "ms", samples[i].ms,
                samples[i].count, 0);
    for (int i = WARM; i < SERIES; ++i)
        add_row(bench, "beyond driver and cuBLASLt", series[i].on, "ms", samples[i].beyond_ms,
                samples[i].count, i == WARM && !bench->is_stand_in ? MOST_MS : 0);
    for (int i = 0; i < SERIES; ++i)
        add_row(bench, "memory of the card", series[i].on, "MiB", samples[i].mib,
                samples[i].mib_count, 0);
    for (int i = 0; i < SERIES; ++i) {
        if (samples[i].count == 0)
            bench_report_note(&bench->report, "card_start, %s: the child failed", series[i].on);
    }
}

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *place) {
    (void)what;
    (void)kind;
    (void)place;
    return remove(path);
}

/* A first run fills the folder of programs for the others. */
static void run_case(bench_t *bench, const bench_device_t *device, const bench_card_t *card) {
    char folder[] = "/tmp/gantry_bench_XXXXXX";
    samples_t samples[SERIES] = {{.count = 0}};
    int rounds = bench->is_stand_in ? 1 : bench->quick ? 5 : ROUNDS;
    (void)card;
    if (strcmp(device->alias, "cuda:0") != 0) return;
    if (!mkdtemp(folder)) {
        bench_report_note(&bench->report, "card_start: left out, no folder can be made in /tmp");
        return;
    }
    for (int i = bench->is_stand_in ? 0 : -1; i < rounds; ++i) {
        if (i <= 0) memset(samples, 0, sizeof samples);
        run_round(bench, device->uuid, folder, samples);
    }
    report(bench, samples);
    if (nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
        (void)fprintf(stderr, "%s is left behind\n", folder);
}

void bench_card_start(bench_t *bench) { bench_each_card(bench, "card_start", run_case); }
