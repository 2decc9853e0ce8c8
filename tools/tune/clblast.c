/* SPDX-License-Identifier: Apache-2.0 */
/* Tunes CLBlast's parameters: first the parameter set of its tiled kernel, and then the smallest
 * product for which that kernel, with the best set, beats the direct one. CLBlast itself is tuned
 * only for the cards in its database. */
#include <stdio.h>
#include <string.h>

#include "base/os/thread.h"
#include "tune/tune.h"

#define XGEMM "clblast.xgemm.float32"
#define ROUTINE "clblast.gemm_routine.float32"
enum { LEAST_SIDE = 256, MOST_SIDE = 2048, ROUNDS = 3, ALWAYS_DIRECT = 65536 };
#define LONGEST_SECONDS 0.05 /* of one product */

static const char *const sets[] = {
#define TUNE_SET(text) text,
#include "tune/sets.def"
#undef TUNE_SET
};
#define SETS (sizeof sets / sizeof sets[0])

typedef struct search_t {
    tune_t *tune;
    int side; /* of the products that compare the sets */
    tune_matrices_t matrices;
    bool has_first; /* a result that later ones are compared with */
} search_t;

/* The GFLOP/s of products of n x n with these parameters (NULL: the defaults); 0 if they fail. */
static double tune_clblast_measure(search_t *search, const char *set, int least_indirect, int n) {
    static const char *const settings[] = {"GANTRY_OPENCL_MATMUL=clblast",
                                           "GANTRY_OPENCL_CLBLAST_PARAMETERS=", NULL};
    char routine[48];
    const tune_record_t records[] = {{XGEMM, set}, {ROUTINE, routine}, {NULL, NULL}};
    tune_try_t tried;
    tune_product_t product;
    double gflops = 0;
    (void)snprintf(routine, sizeof routine, "XGEMM_MIN_INDIRECT_SIZE=%d", least_indirect);
    if (!tune_try_open(&tried, search->tune, "opencl", settings, set ? records : NULL)) return 0;
    tune_shape_t shape = {n, n, n};
    if (tune_product_open(&product, &tried, shape, &search->matrices,
                          !(search->has_first && n == search->side))) {
        search->has_first = search->has_first || n == search->side;
        bool is_good = true;
        for (int round = 0;
             round < ROUNDS && is_good && (round == 0 || !tune_is_over(search->tune)); ++round)
            is_good = tune_product_run(&product);
        gflops = is_good ? tune_product_gflops(&product) : 0;
        tune_product_close(&product);
    }
    tune_try_close(&tried);
    return gflops;
}

/* The largest side within LONGEST_SECONDS; 0 if no product works. */
static int find_side(search_t *search) {
    double gflops = tune_clblast_measure(search, NULL, 0, LEAST_SIDE);
    int side = LEAST_SIDE;
    if (!(gflops > 0)) return 0;
    while (side < MOST_SIDE && 16e-9 * side * side * side / gflops < LONGEST_SECONDS) side *= 2;
    return side;
}

/* Measures all sets and keeps the best one so far as soon as it is known. Returns its index, or -1
 * if all failed or none is better than the default. */
static int tune_clblast_try_all(search_t *search) {
    int best = -1;
    double best_gflops = tune_clblast_measure(search, NULL, 0, search->side);
    if (best_gflops > 0) printf("%10.1f GFLOP/s  default, n %d\n", best_gflops, search->side);
    for (size_t i = 0; i < SETS && !gantry__os_is_asked_to_end(); ++i) {
        if (tune_is_over(search->tune)) {
            printf("  time is up: %zu of %zu sets were tried\n", i, SETS);
            break;
        }
        double gflops = tune_clblast_measure(search, sets[i], 1, search->side);
        if (gantry__os_is_asked_to_end()) break;
        if (gflops > 0) printf("%10.1f GFLOP/s  %s\n", gflops, sets[i]);
        if (!(gflops > 0)) printf("    failed          %s\n", sets[i]);
        (void)fflush(stdout);
        if (!(gflops > best_gflops * TUNE_LEAST_GAIN)) continue;
        best = (int)i;
        best_gflops = gflops;
        tune_save(search->tune, XGEMM, sets[i]);
    }
    if (best < 0 && !gantry__os_is_asked_to_end()) printf("  nothing is kept: no set is better\n");
    search->tune->failed += !(best_gflops > 0) && !gantry__os_is_asked_to_end();
    return best;
}

/* Finds the smallest n, a power of two, for which the tiled kernel is better. CLBlast uses that
 * kernel if m * n * k is at least the third power of this number. */
static void find_least_indirect(search_t *search, const char *set) {
    char values[48];
    int n = LEAST_SIDE / 2;
    while (n < search->side && !tune_is_over(search->tune)) {
        double tiled = tune_clblast_measure(search, set, 1, n),
               direct = tune_clblast_measure(search, set, ALWAYS_DIRECT, n);
        printf("  n %d: tiled %.1f, direct %.1f GFLOP/s\n", n, tiled, direct);
        if (tiled > direct) {
            (void)snprintf(values, sizeof values, "XGEMM_MIN_INDIRECT_SIZE=%d", n);
            if (!gantry__os_is_asked_to_end()) tune_save(search->tune, ROUTINE, values);
            return;
        }
        n *= 2;
    }
    if (!gantry__os_is_asked_to_end())
        printf("  " ROUTINE ": nothing is kept: %s\n",
               n < search->side ? "time is up" : "the direct kernel is better");
}

/* Without CLBlast, the backend uses other kernels. */
static bool has_clblast(const tune_t *tune) {
    const char *libraries = "";
    for (size_t i = 0; i < gantry_backend_status_count(tune->runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        if (gantry_backend_status(tune->runtime, i, &status) == GANTRY_OK &&
            strcmp(status.name, "opencl") == 0 && status.state == GANTRY_BACKEND_USABLE)
            libraries = status.libraries;
    }
    if (strstr(libraries, "CLBlast") && !strstr(libraries, "CLBlast missing")) return true;
    printf("  nothing to tune: %s\n", libraries);
    return false;
}

void tune_clblast(tune_t *tune) {
    search_t search = {.tune = tune};
    const tune_shape_t shape = {MOST_SIDE, MOST_SIDE, MOST_SIDE};
    if (!has_clblast(tune)) return;
    if (!tune_matrices_init(&search.matrices, &shape, 1)) {
        ++tune->failed;
        return;
    }
    const uint64_t deadline = tune->deadline_ns, now = gantry__now_ns();
    /* the rest of the time is for find_least_indirect */
    if (now < deadline) tune->deadline_ns = now + (deadline - now) / 4 * 3;
    search.side = find_side(&search);
    int best = search.side > 0 ? tune_clblast_try_all(&search) : -1;
    tune->failed += search.side == 0 && !gantry__os_is_asked_to_end();
    tune->deadline_ns = deadline;
    if (best >= 0 && !gantry__os_is_asked_to_end()) find_least_indirect(&search, sets[best]);
    tune_matrices_deinit(&search.matrices);
}
