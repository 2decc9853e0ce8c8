/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the fastest of cuBLASLt's first eight choices on a card, for each size class. The library
 * orders them by a heuristic. Each choice is measured through a record, in turn, round after
 * round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"

enum { CHOICES = 8, CLASSES = 4, MOST_ROUNDS = 10 };

/* The CUDA backend's size classes. */
static const struct {
    const char *name;
    size_t count;
    tune_shape_t shapes[TUNE_MOST_SHAPES];
} classes[CLASSES] = {
    {"small", 3, {{128, 128, 128}, {256, 256, 256}, {512, 512, 512}}},
    {"middle", 3, {{1024, 1024, 1024}, {1024, 4096, 1024}, {2048, 2048, 2048}}},
    {"large", 2, {{4096, 4096, 4096}, {4096, 8192, 2048}}},
    {"thin", 3, {{8, 1024, 1024}, {16, 512, 2048}, {1024, 16, 1024}}},
};

typedef struct race_t {
    tune_t *tune;
    const char *what;
    size_t shapes;
    tune_try_t tries[CHOICES];
    bool is_in[CHOICES];
    tune_product_t products[CHOICES][TUNE_MOST_SHAPES];
} race_t;

/* The version of the library in "/a/libcublasLt.so.12 (12.9.1)", as cuBLASLt counts it: 120901. 0
 * if it is unknown. */
static unsigned library_version(const char *libraries) {
    unsigned major = 0, minor = 0, patch = 0;
    const char *at = libraries;
    while ((at = strstr(at, "cublas"))) {
        at += strlen("cublas");
        const char *rest = at + strcspn(at, "(,");
        if (sscanf(rest, "(%u.%u.%u)", &major, &minor, &patch) == 3)
            return 10000 * major + 100 * minor + patch;
    }
    return 0;
}

static void open_race(race_t *race, int class, tune_matrices_t *matrices) {
    const char *settings[] = {"GANTRY_CUDA_MATMUL_PRECISION=float32", NULL};
    for (int i = 0; i < CHOICES; ++i) {
        char values[16];
        (void)snprintf(values, sizeof values, "use=%d", i);
        const tune_record_t records[] = {{race->what, values}, {NULL, NULL}};
        race->is_in[i] = tune_try_open(&race->tries[i], race->tune, "cuda", settings, records);
    }
    for (size_t s = 0; s < race->shapes; ++s) {
        bool is_first = true;
        for (int i = 0; i < CHOICES; ++i) {
            if (!race->is_in[i]) continue;
            race->is_in[i] = tune_product_open(&race->products[i][s], &race->tries[i],
                                               classes[class].shapes[s], matrices, is_first);
            race->tune->failed += !race->is_in[i];
            is_first = is_first && !race->is_in[i];
        }
    }
}

static void run_race(race_t *race) {
    for (int round = 0; round < MOST_ROUNDS && (round == 0 || !tune_is_over(race->tune)); ++round) {
        for (size_t s = 0; s < race->shapes; ++s) {
            for (int turn = 0; turn < CHOICES; ++turn) {
                int i = (turn + round) % CHOICES;
                if (race->is_in[i] && !gantry__os_is_asked_to_end())
                    race->is_in[i] = tune_product_run(&race->products[i][s]);
            }
        }
    }
}

/* The first choice, unless another one gains enough. */
static void conclude_race(race_t *race) {
    double gflops[CHOICES];
    int best = 0;
    for (int i = 0; i < CHOICES; ++i) {
        gflops[i] = race->is_in[i] ? tune_mean_gflops(race->products[i], race->shapes) : 0;
        if (gflops[i] > gflops[best] * (best == 0 ? TUNE_LEAST_GAIN : 1)) best = i;
    }
    if (!(gflops[best] > 0)) {
        printf("  %s: not measured: time is up\n", race->what);
        return;
    }
    char values[128];
    (void)snprintf(values, sizeof values, "use=%d version=%u gflops=%.1f first=%.1f", best,
                   library_version(tune_try_libraries(&race->tries[best], "cuda")), gflops[best],
                   gflops[0]);
    tune_save(race->tune, race->what, values);
}

static void close_race(race_t *race) {
    for (int i = 0; i < CHOICES; ++i) {
        for (size_t s = 0; s < race->shapes; ++s) {
            if (race->products[i][s].tried) tune_product_close(&race->products[i][s]);
        }
        tune_try_close(&race->tries[i]);
    }
}

static void tune_class(tune_t *tune, int class, const char *what) {
    tune_matrices_t matrices;
    race_t *race = calloc(1, sizeof *race);
    if (!race || !tune_matrices_init(&matrices, classes[class].shapes, classes[class].count)) {
        ++tune->failed;
        free(race);
        return;
    }
    race->tune = tune;
    race->what = what;
    race->shapes = classes[class].count;
    open_race(race, class, &matrices);
    run_race(race);
    if (!gantry__os_is_asked_to_end()) conclude_race(race);
    close_race(race);
    tune_matrices_deinit(&matrices);
    free(race);
}

/* Returns whether the card has the library, without which every choice would be the portable
 * kernels. */
static bool has_cublas(tune_t *tune) {
    const char *none[] = {NULL};
    tune_try_t probe;
    if (!tune_try_open(&probe, tune, "cuda", none, NULL)) return false;
    const char *libraries = tune_try_libraries(&probe, "cuda");
    bool has = !strstr(libraries, "cuBLASLt missing") && library_version(libraries) != 0;
    if (!has) printf("  there is nothing to tune here: cuBLASLt is missing\n");
    tune_try_close(&probe);
    return has;
}

void tune_cublas(tune_t *tune) {
    const uint64_t deadline = tune->deadline_ns;
    bool is_first = true;
    if (!has_cublas(tune)) return;
    for (int i = 0; i < CLASSES && !gantry__os_is_asked_to_end(); ++i) {
        char what[64];
        (void)snprintf(what, sizeof what, "cublaslt.matmul.float32.%s", classes[i].name);
        if (!tune_begins_class(tune, what, deadline, CLASSES - i, &is_first)) continue;
        tune_class(tune, i, what);
    }
    tune->deadline_ns = deadline;
}
