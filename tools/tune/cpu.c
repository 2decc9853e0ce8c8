/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the library for float32 products on the CPU backend: our own loops, oneDNN or OpenBLAS.
 * For each size class they are measured in turn, round after round, so that a busy machine slows
 * down all of them alike. */
#include <stdio.h>
#include <string.h>

#include "tune/tune.h"

enum { SERVERS = 3, CLASSES = 4, MOST_ROUNDS = 10 };

static const struct {
    const char *word, *setting;
} servers[SERVERS] = {{"own", "GANTRY_CPU_MATMUL=own"},
                      {"onednn", "GANTRY_CPU_MATMUL=onednn"},
                      {"openblas", "GANTRY_CPU_MATMUL=openblas"}};

/* The CPU backend's size classes. */
static const struct {
    const char *name;
    size_t count;
    tune_shape_t shapes[TUNE_MOST_SHAPES];
} classes[CLASSES] = {
    {"small", 4, {{64, 64, 64}, {96, 96, 96}, {128, 128, 128}, {192, 192, 192}}},
    {"middle", 4, {{256, 256, 256}, {384, 384, 384}, {512, 512, 512}, {768, 768, 768}}},
    {"large", 3, {{1024, 1024, 1024}, {1536, 1536, 1536}, {1024, 3072, 1024}}},
    {"thin", 3, {{8, 1024, 1024}, {16, 512, 2048}, {1024, 16, 1024}}},
};

typedef struct contest_t {
    tune_t *tune;
    tune_try_t tries[SERVERS];
    bool takes_part[SERVERS];
    tune_product_t products[SERVERS][TUNE_MOST_SHAPES];
} contest_t;

/* Runs one of the smallest products that a library serves: the backend opens its library only on
 * first need. */
static bool has_library(const tune_try_t *tried) {
    tune_shape_t shape = {64, 64, 64};
    tune_matrices_t matrices;
    tune_product_t product;
    if (!tune_matrices_init(&matrices, &shape, 1)) return false;
    bool has_run = tune_product_open(&product, tried, shape, &matrices, true);
    if (has_run) tune_product_close(&product);
    tune_matrices_deinit(&matrices);
    return has_run;
}

static bool open_contest(contest_t *contest, tune_t *tune) {
    *contest = (contest_t){.tune = tune};
    for (int i = 0; i < SERVERS; ++i) {
        const char *settings[] = {servers[i].setting, NULL};
        if (!tune_try_open(&contest->tries[i], tune, "cpu", settings, NULL)) continue;
        contest->takes_part[i] = has_library(&contest->tries[i]);
        const char *libraries =
            strstr(tune_try_libraries(&contest->tries[i], "cpu"), "matrix products: ");
        if (i > 0 && libraries && strncmp(libraries, "matrix products: own", 20) == 0) {
            contest->takes_part[i] = false;
            printf("  %s is not measured: %s\n", servers[i].word, libraries + 17);
        }
    }
    return contest->takes_part[0];
}

static void close_contest(contest_t *contest) {
    for (int i = 0; i < SERVERS; ++i) tune_try_close(&contest->tries[i]);
}

/* ---- one class ---- */

/* Opens the products shape by shape, because results of one shape are compared with each other. */
static void open_all(contest_t *contest, int class, tune_matrices_t *matrices,
                     bool is_in[SERVERS]) {
    memset(contest->products, 0, sizeof contest->products);
    for (int i = 0; i < SERVERS; ++i) is_in[i] = contest->takes_part[i];
    for (size_t s = 0; s < classes[class].count; ++s) {
        bool is_first = true;
        for (int i = 0; i < SERVERS; ++i) {
            if (!is_in[i]) continue;
            is_in[i] = tune_product_open(&contest->products[i][s], &contest->tries[i],
                                         classes[class].shapes[s], matrices, is_first);
            contest->tune->failed += !is_in[i];
            is_first = is_first && !is_in[i];
        }
    }
}

static void tune_cpu_run_round(contest_t *contest, int class, bool is_in[SERVERS], int round) {
    for (size_t s = 0; s < classes[class].count; ++s) {
        for (int turn = 0; turn < SERVERS; ++turn) {
            int i = (turn + round) % SERVERS;
            if (!is_in[i] || gantry__os_is_asked_to_end()) continue;
            tune_pause();
            is_in[i] = tune_product_run(&contest->products[i][s]);
        }
    }
}

/* The order is oneDNN, our own loops, OpenBLAS. A later one wins only if it gains enough. */
static int tune_cpu_find_winner(const double gflops[SERVERS]) {
    static const int order[SERVERS] = {1, 0, 2};
    int best = -1;
    for (int i = 0; i < SERVERS; ++i) {
        double figure = gflops[order[i]];
        if (figure > 0 && (best < 0 || figure > gflops[best] * TUNE_LEAST_GAIN)) best = order[i];
    }
    return best;
}

static void conclude(contest_t *contest, int class, const bool is_in[SERVERS], const char *what) {
    double gflops[SERVERS] = {0};
    char values[256];
    for (int i = 0; i < SERVERS; ++i)
        gflops[i] = is_in[i] ? tune_mean_gflops(contest->products[i], classes[class].count) : 0;
    int winner = tune_cpu_find_winner(gflops);
    if (winner < 0) {
        printf("  %s: not measured: time is up\n", what);
        return;
    }
    int used = snprintf(values, sizeof values, "use=%s", servers[winner].word);
    for (int i = 0; i < SERVERS; ++i) {
        if (gflops[i] > 0)
            used += snprintf(values + used, sizeof values - (size_t)used, " %s=%.1f",
                             servers[i].word, gflops[i]);
    }
    tune_save(contest->tune, what, values);
}

static void measure_class(contest_t *contest, int class, const char *what) {
    tune_matrices_t matrices;
    bool is_in[SERVERS];
    if (!tune_matrices_init(&matrices, classes[class].shapes, classes[class].count)) {
        ++contest->tune->failed;
        return;
    }
    open_all(contest, class, &matrices, is_in);
    for (int round = 0; round < MOST_ROUNDS && (round == 0 || !tune_is_over(contest->tune));
         ++round)
        tune_cpu_run_round(contest, class, is_in, round);
    if (!gantry__os_is_asked_to_end()) conclude(contest, class, is_in, what);
    for (int i = 0; i < SERVERS; ++i) {
        for (size_t s = 0; s < TUNE_MOST_SHAPES; ++s) {
            if (contest->products[i][s].tried) tune_product_close(&contest->products[i][s]);
        }
    }
    tune_matrices_deinit(&matrices);
}

void tune_cpu_products(tune_t *tune) {
    const uint64_t deadline = tune->deadline_ns;
    contest_t contest;
    int32_t asked = gantry_get_intra_op_parallelism_threads(tune->runtime);
    unsigned threads = asked > 0 ? (unsigned)asked : tune->details.compute_units;
    bool is_first = true; /* the first class is measured even if the time is too short */
    if (!open_contest(&contest, tune)) ++tune->failed;
    for (int i = 0; contest.takes_part[0] && i < CLASSES && !gantry__os_is_asked_to_end(); ++i) {
        char what[64];
        (void)snprintf(what, sizeof what, "cpu.matmul.float32.%s.%u_threads", classes[i].name,
                       threads);
        if (!tune_begins_class(tune, what, deadline, CLASSES - i, &is_first)) continue;
        measure_class(&contest, i, what);
    }
    tune->deadline_ns = deadline;
    close_contest(&contest);
}
