/* SPDX-License-Identifier: Apache-2.0 */
/* Measures both sides in turn: round after round, each with one sample of each cell and side, so
 * that a busy moment meets both. A sample is the mean of as many runs as fit into 2 ms, and the
 * table has the median of samples. Every run waits for its result.
 *
 * The first run of a cell builds kernels and is no sample. The second one shows what the cell will
 * cost: a cell that would take more than its share of the time is skipped, and so are the larger
 * ones of its series. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "base/os/thread.h"

#define SAMPLE_SECONDS 2e-3
#define MOST_RUNS 1000
#define LEAST_ROUNDS 5.0 /* that a cell must allow */
#define PREPARE_SHARE 0.5
#define CELL_SHARE 0.2

static double elapsed(const bench_t *bench) { return gantry__now_seconds() - bench->begin; }

/* ---- cells ---- */

static void add_cell(bench_t *bench, bench_series_t series, uint64_t size, double work) {
    if (bench->cell_count < BENCH_MOST_CELLS)
        bench->cells[bench->cell_count++] =
            (bench_cell_t){.series = series, .size = size, .work = work};
}

static void add_cells(bench_t *bench) {
    add_cell(bench, BENCH_LAUNCH, 16, 0);
    for (uint64_t size = UINT64_C(1) << 12; size <= UINT64_C(1) << 24; size *= 4)
        add_cell(bench, BENCH_STREAM, size, 3.0 * sizeof(float) * (double)size);
    for (bench_series_t series = BENCH_TO_DEVICE; series <= BENCH_FROM_DEVICE; ++series) {
        for (uint64_t size = UINT64_C(1) << 14; size <= UINT64_C(1) << 24; size *= 8)
            add_cell(bench, series, size, sizeof(float) * (double)size);
    }
    for (bench_series_t series = BENCH_MATMUL; series <= BENCH_MATMUL_COPIED; ++series) {
        for (uint64_t n = 64; n <= 2048; n *= 2)
            add_cell(bench, series, n, 2.0 * (double)n * (double)n * (double)n);
    }
}

static bool is_product(bench_series_t series) {
    return series == BENCH_MATMUL || series == BENCH_MATMUL_COPIED;
}

static size_t bench_measure_elements_of(const bench_cell_t *cell) {
    return (size_t)(is_product(cell->series) ? cell->size * cell->size : cell->size);
}

static gantry_shape_t bench_measure_shape_of(const bench_cell_t *cell) {
    const int64_t size = (int64_t)cell->size;
    return is_product(cell->series) ? GANTRY_SHAPE(size, size) : GANTRY_SHAPE(size);
}

static bool bench_measure_make_host(bench_t *bench) {
    size_t most = 0;
    for (size_t i = 0; i < bench->cell_count; ++i) {
        const size_t elements = bench_measure_elements_of(&bench->cells[i]);
        if (elements > most) most = elements;
    }
    bench->host = malloc(most * sizeof *bench->host);
    bench->result = calloc(most, sizeof *bench->result);
    for (size_t i = 0; bench->host && i < most; ++i)
        bench->host[i] = (float)(i * 7919 % 2003) * 1e-3f - 1;
    const bool good = bench->host && bench->result;
    if (!good) (void)gantry_tool_fail("there is no memory for %zu elements", most);
    return good;
}

/* ---- a run ---- */

static const gantry_tensor_t *from_host(const bench_t *bench, const bench_cell_t *cell, int side) {
    return gantry_constant(bench->sides[side].scope, GANTRY_FLOAT32, bench_measure_shape_of(cell),
                           bench->host, bench_measure_elements_of(cell) * sizeof(float));
}

static bool bench_measure_take_result(gantry_scope_t *scope, const gantry_tensor_t *result) {
    const bool good = result && gantry_tensor_wait(result) == GANTRY_OK;
    gantry_tensor_drop(scope, result);
    return good;
}

static bool run_copied(const bench_t *bench, const bench_cell_t *cell, int side) {
    gantry_scope_t *scope = bench->sides[side].scope;
    const size_t bytes = bench_measure_elements_of(cell) * sizeof(float);
    const gantry_tensor_t *a = from_host(bench, cell, side), *b = from_host(bench, cell, side),
                          *c = gantry_matmul(scope, a, b, NULL);
    const bool good = c && gantry_tensor_read(c, bench->result, bytes) == GANTRY_OK;
    gantry_tensor_drop(scope, c);
    gantry_tensor_drop(scope, b);
    gantry_tensor_drop(scope, a);
    return good;
}

static bool run_cell(const bench_t *bench, const bench_cell_t *cell, int side) {
    gantry_scope_t *scope = bench->sides[side].scope;
    const gantry_tensor_t *a = cell->a[side], *b = cell->b[side];
    switch (cell->series) {
        case BENCH_TO_DEVICE: return bench_measure_take_result(scope, from_host(bench, cell, side));
        case BENCH_FROM_DEVICE:
            return gantry_tensor_read(a, bench->result,
                                      bench_measure_elements_of(cell) * sizeof(float)) == GANTRY_OK;
        case BENCH_MATMUL:
            return bench_measure_take_result(scope, gantry_matmul(scope, a, b, NULL));
        case BENCH_MATMUL_COPIED: return run_copied(bench, cell, side);
        default: return bench_measure_take_result(scope, gantry_add(scope, a, b));
    }
}

static bool fail_cell(const bench_t *bench, const bench_cell_t *cell, int side) {
    char size[GANTRY_TOOL_TEXT_BYTES];
    (void)gantry_tool_fail("%s of %s on %s: %s", bench_series_title(cell->series),
                           bench_size_text(cell->series, (double)cell->size, size),
                           bench->sides[side].name, gantry_last_message());
    return false;
}

static bool sample(const bench_t *bench, bench_cell_t *cell, int side) {
    const double begin = gantry__now_seconds();
    double end = begin;
    int runs = 0;
    do {
        if (!run_cell(bench, cell, side)) return fail_cell(bench, cell, side);
        end = gantry__now_seconds();
        ++runs;
    } while (end - begin < SAMPLE_SECONDS && runs < MOST_RUNS);
    if (cell->counts[side] < BENCH_MOST_SAMPLES)
        cell->samples[side][cell->counts[side]++] = (end - begin) / runs;
    return true;
}

/* ---- preparing ---- */

static bool make_inputs(const bench_t *bench, bench_cell_t *cell, int side) {
    if (cell->series == BENCH_TO_DEVICE || cell->series == BENCH_MATMUL_COPIED) return true;
    const bool has_two = cell->series != BENCH_FROM_DEVICE;
    cell->a[side] = from_host(bench, cell, side);
    if (has_two) cell->b[side] = from_host(bench, cell, side);
    return (cell->a[side] && (cell->b[side] || !has_two)) || fail_cell(bench, cell, side);
}

static void drop_inputs(const bench_t *bench, bench_cell_t *cell) {
    for (int side = 0; side < BENCH_SIDES; ++side) {
        if (cell->a[side]) gantry_tensor_drop(bench->sides[side].scope, cell->a[side]);
        if (cell->b[side]) gantry_tensor_drop(bench->sides[side].scope, cell->b[side]);
        cell->a[side] = cell->b[side] = NULL;
    }
}

/* Builds kernels by a first run, and takes a first sample. */
static bool prepare_cell(bench_t *bench, bench_cell_t *cell, double *out_seconds) {
    *out_seconds = 0;
    for (int side = 0; side < BENCH_SIDES; ++side) {
        if (!*bench->sides[side].name) continue;
        if (!make_inputs(bench, cell, side)) return false;
        if (!run_cell(bench, cell, side)) return fail_cell(bench, cell, side);
        if (!sample(bench, cell, side)) return false;
        *out_seconds += cell->samples[side][0];
    }
    return true;
}

/* How much more the next cell of the series costs. */
static double growth(const bench_cell_t *cell, const bench_cell_t *next) {
    return cell->work > 0 ? next->work / cell->work : 1;
}

/* Each series has its part of the time, so that the last ones get theirs. */
static double prepare_end(const bench_t *bench, bench_series_t series) {
    return PREPARE_SHARE * bench->seconds * (series + 1) / BENCH_SERIES;
}

static bool bench_measure_prepare(bench_t *bench) {
    double expected = 0;
    for (size_t i = 0; i < bench->cell_count; ++i) {
        bench_cell_t *cell = &bench->cells[i];
        const bool is_first = i == 0 || cell->series != bench->cells[i - 1].series;
        if (is_first) expected = 0;
        if (!is_first) expected *= growth(&bench->cells[i - 1], cell);
        cell->is_skipped = !is_first && (expected * LEAST_ROUNDS > CELL_SHARE * bench->seconds ||
                                         elapsed(bench) > prepare_end(bench, cell->series));
        if (!cell->is_skipped && !prepare_cell(bench, cell, &expected)) return false;
    }
    return true;
}

/* ---- rounds ---- */

static bool bench_measure_run_round(bench_t *bench) {
    for (size_t i = 0; i < bench->cell_count; ++i) {
        for (int side = 0; side < BENCH_SIDES; ++side) {
            if (bench->cells[i].is_skipped || !*bench->sides[side].name) continue;
            if (elapsed(bench) > bench->seconds) return true;
            if (!sample(bench, &bench->cells[i], side)) return false;
        }
    }
    ++bench->rounds;
    return true;
}

bool bench_measure(bench_t *bench) {
    bench->begin = gantry__now_seconds();
    add_cells(bench);
    bool good = bench_measure_make_host(bench) && bench_measure_prepare(bench);
    while (good && elapsed(bench) < bench->seconds && bench->rounds < BENCH_MOST_SAMPLES - 1)
        good = bench_measure_run_round(bench);
    return good;
}

void bench_release(bench_t *bench) {
    for (size_t i = 0; i < bench->cell_count; ++i) drop_inputs(bench, &bench->cells[i]);
    for (int side = 0; side < BENCH_SIDES; ++side) {
        if (bench->sides[side].scope) (void)gantry_scope_end(bench->sides[side].scope);
    }
    free(bench->host);
    free(bench->result);
    if (bench->runtime) gantry_runtime_release(bench->runtime);
}
