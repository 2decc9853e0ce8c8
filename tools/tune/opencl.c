/* SPDX-License-Identifier: Apache-2.0 */
/* Tunes the block sizes of Gantry's own matrix product for OpenCL devices of type CPU. It changes
 * one size after the other, and keeps a change that gains. Each candidate is measured in turn with
 * the best one so far. */
#include <stdio.h>
#include <string.h>

#include "tune/tune.h"

#define WHAT "opencl.cpu_matmul.float32"
enum { SIZES = 4, MOST_CANDIDATES = 5, ROUNDS = 3, SHAPES = 4 };

typedef struct blocks_t {
    int sizes[SIZES];
} blocks_t;

/* The backend's default comes first; the other candidates follow. */
static const struct {
    const char *name;
    int candidates[MOST_CANDIDATES]; /* ended by 0, which may also be the first one */
} sizes[SIZES] = {{"depth", {512, 256, 384, 768, 1024}},
                  {"rows", {120, 60, 180, 240}},
                  {"columns", {1024, 512, 2048, 4096}},
                  {"direct", {24, 12, 48, 96}}};

static const tune_shape_t shapes[SHAPES] = {
    {192, 192, 192}, {512, 512, 512}, {1024, 1024, 1024}, {64, 1024, 1024}};

/* One set of sizes, opened and checked. */
typedef struct candidate_t {
    tune_try_t tried;
    tune_product_t products[SHAPES];
    blocks_t blocks;
} candidate_t;

static void tune_opencl_write_values(const blocks_t *blocks, char *out, size_t bytes) {
    int used = 0;
    for (int i = 0; i < SIZES; ++i)
        used += snprintf(out + used, bytes - (size_t)used, "%s%s=%d", i ? " " : "", sizes[i].name,
                         blocks->sizes[i]);
}

static void close_candidate(candidate_t *self) {
    for (size_t s = 0; s < SHAPES; ++s) {
        if (self->products[s].tried) tune_product_close(&self->products[s]);
    }
    tune_try_close(&self->tried);
}

static bool open_candidate(candidate_t *self, tune_t *tune, const blocks_t *blocks,
                           tune_matrices_t *matrices) {
    char values[96];
    const char *const settings[] = {"GANTRY_OPENCL_MATMUL=cpu", NULL};
    const tune_record_t records[] = {{WHAT, values}, {NULL, NULL}};
    memset(self, 0, sizeof *self);
    self->blocks = *blocks;
    tune_opencl_write_values(blocks, values, sizeof values);
    bool is_good = tune_try_open(&self->tried, tune, "opencl", settings, records);
    for (size_t s = 0; is_good && s < SHAPES; ++s)
        is_good = tune_product_open(&self->products[s], &self->tried, shapes[s], matrices, true);
    if (is_good) return true;
    ++tune->failed;
    close_candidate(self);
    return false;
}

static bool run_in_turn(candidate_t *const *candidates, size_t count) {
    for (int round = 0; round < ROUNDS && !gantry__os_is_asked_to_end(); ++round) {
        for (size_t i = 0; i < count * SHAPES; ++i) {
            candidate_t *candidate = candidates[i % count];
            tune_pause();
            if (!tune_product_run(&candidate->products[i / count])) return false;
        }
    }
    return !gantry__os_is_asked_to_end();
}

static void tune_opencl_show(const candidate_t *candidate, const char *note) {
    char values[96];
    tune_opencl_write_values(&candidate->blocks, values, sizeof values);
    printf("%10.1f GFLOP/s  %s%s\n", tune_mean_gflops(candidate->products, SHAPES), values, note);
    (void)fflush(stdout);
}

/* Measures both, and returns the speed of other relative to best; 0 if a measurement fails. */
static double tune_opencl_compare(candidate_t *best, candidate_t *other) {
    candidate_t *const both[] = {best, other};
    for (size_t s = 0; s < SHAPES; ++s) best->products[s].seconds = other->products[s].seconds = -1;
    if (!run_in_turn(both, 2)) return 0;
    return tune_mean_gflops(other->products, SHAPES) / tune_mean_gflops(best->products, SHAPES);
}

/* Measures the sizes against the best ones. Returns true if they win, and so become the best; a
 * gain must show twice. */
static bool try_sizes(tune_t *tune, candidate_t *best, const blocks_t *blocks,
                      tune_matrices_t *matrices) {
    candidate_t other;
    char note[48];
    if (!open_candidate(&other, tune, blocks, matrices)) return false;
    double gain = tune_opencl_compare(best, &other);
    bool wins = gain > TUNE_LEAST_GAIN && tune_opencl_compare(best, &other) > TUNE_LEAST_GAIN;
    (void)snprintf(note, sizeof note, ", %.2f times the best before", gain);
    if (gain > 0) tune_opencl_show(&other, note);
    if (!wins) {
        close_candidate(&other);
        return false;
    }
    close_candidate(best);
    *best = other;
    for (size_t s = 0; s < SHAPES; ++s) best->products[s].tried = &best->tried;
    return true;
}

static void tune_opencl_save(tune_t *tune, const candidate_t *best) {
    char values[96];
    tune_opencl_write_values(&best->blocks, values, sizeof values);
    tune_save(tune, WHAT, values);
}

static void search(tune_t *tune, candidate_t *best, tune_matrices_t *matrices) {
    bool is_saved = false, ended = false;
    for (int size = 0; size < SIZES && !ended; ++size) {
        for (int i = 1; i < MOST_CANDIDATES && sizes[size].candidates[i] > 0 && !ended; ++i) {
            blocks_t blocks = best->blocks;
            blocks.sizes[size] = sizes[size].candidates[i];
            ended = tune_is_over(tune);
            if (ended || !try_sizes(tune, best, &blocks, matrices)) continue;
            tune_opencl_save(tune, best);
            is_saved = true;
        }
    }
    if (ended && !gantry__os_is_asked_to_end()) printf("  time is up: not all sizes were tried\n");
    if (!is_saved && !gantry__os_is_asked_to_end()) tune_opencl_save(tune, best);
}

void tune_opencl_blocks(tune_t *tune) {
    tune_matrices_t matrices;
    candidate_t best;
    blocks_t blocks;
    if (!tune_wants(tune, WHAT)) return;
    for (int i = 0; i < SIZES; ++i) blocks.sizes[i] = sizes[i].candidates[0];
    if (!tune_matrices_init(&matrices, shapes, SHAPES)) {
        ++tune->failed;
        return;
    }
    if (open_candidate(&best, tune, &blocks, &matrices)) {
        candidate_t *const alone[] = {&best};
        if (run_in_turn(alone, 1)) {
            tune_opencl_show(&best, ", default");
            search(tune, &best, &matrices);
        }
        close_candidate(&best);
    }
    tune_matrices_deinit(&matrices);
}
