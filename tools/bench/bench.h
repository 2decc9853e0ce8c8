/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry bench`: which device is faster at what size, on this machine.
 *
 * Owner: a bench_t owns its tensors and its host memory. Threads: externally synchronised. */
#ifndef GANTRY_TOOLS_BENCH_H
#define GANTRY_TOOLS_BENCH_H

#include "common/tool.h"

#define BENCH_MOST_SAMPLES 25
#define BENCH_MOST_CELLS 48
#define BENCH_SIDES 2

typedef enum bench_series_t {
    BENCH_LAUNCH,        /* an op of 16 elements: all of it is overhead */
    BENCH_STREAM,        /* a + b: as fast as memory */
    BENCH_TO_DEVICE,     /* host memory becomes a tensor */
    BENCH_FROM_DEVICE,   /* a tensor is read into host memory */
    BENCH_MATMUL,        /* n x n by n x n, on the device before and after */
    BENCH_MATMUL_COPIED, /* the same with both matrices from the host and the result to it */
    BENCH_SERIES
} bench_series_t;

/* A row of the table: the same work on both sides. */
typedef struct bench_cell_t {
    bench_series_t series;
    uint64_t size;   /* elements of a tensor, or n */
    double work;     /* bytes or floating point operations of a run */
    bool is_skipped; /* it would take more than its share of the time */
    double samples[BENCH_SIDES][BENCH_MOST_SAMPLES]; /* seconds of a run */
    size_t counts[BENCH_SIDES];
    const gantry_tensor_t *a[BENCH_SIDES], *b[BENCH_SIDES];
} bench_cell_t;

typedef struct bench_side_t {
    char name[64]; /* "GPU:0"; "" : there is no such device */
    char hardware[256];
    gantry_scope_t *scope;
} bench_side_t;

typedef struct bench_t {
    gantry_runtime_t *runtime;
    bench_side_t sides[BENCH_SIDES]; /* the CPU first */
    bench_cell_t cells[BENCH_MOST_CELLS];
    size_t cell_count;
    float *host, *result; /* each as much as the largest cell needs */
    double seconds, begin;
    size_t rounds;
} bench_t;

/* Returns the median of a side's samples in seconds; 0 if it has none. */
double bench_median(const bench_cell_t *cell, int side);
/* Returns the CPU's time divided by the GPU's: above 1 the GPU is faster. It is 0 if a side has no
 * sample. */
double bench_ratio(const bench_cell_t *cell);
/* Returns a side's value in the series' unit: microseconds, GB/s or GFLOP/s. */
double bench_value(const bench_cell_t *cell, int side);
const char *bench_unit(bench_series_t series);
const char *bench_series_name(bench_series_t series);  /* "matmul_copied" */
const char *bench_series_title(bench_series_t series); /* "matrix product, with copies" */
/* "4.0 MiB" or "512 x 512". Returns out. */
char *bench_size_text(bench_series_t series, double size, char out[GANTRY_TOOL_TEXT_BYTES]);

typedef enum bench_crossing_t {
    BENCH_CROSSING_UNKNOWN, /* nothing was measured */
    BENCH_CROSSING_AT,      /* the GPU is faster from a size on, up to the largest measured one */
    BENCH_CROSSING_ALWAYS,  /* at all measured sizes */
    BENCH_CROSSING_NEVER,   /* at no measured size */
    BENCH_CROSSING_MIXED    /* at some, but not at the largest measured one */
} bench_crossing_t;

/* What the measured sizes of a series say; it says nothing about other sizes. */
typedef struct bench_verdict_t {
    bench_crossing_t crossing;
    uint64_t size;              /* measured: the GPU is faster from it on; 0 unless AT */
    uint64_t smallest, largest; /* measured */
} bench_verdict_t;
bench_verdict_t bench_judge(const bench_t *bench, bench_series_t series);

/* ---- measure.c ---- */

/* Measures all cells until the time is over, and at least once. It returns false after a
 * message. */
bool bench_measure(bench_t *bench);
void bench_release(bench_t *bench);

/* ---- svg.c ---- */

/* Writes the picture. The file is replaced whole or not at all. It returns false after a
 * message. */
bool bench_write_svg(const bench_t *bench, const char *path);

#endif
