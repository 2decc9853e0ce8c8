/* SPDX-License-Identifier: Apache-2.0 */
/* One point of a curve: an op and its inputs, made anew for each size. It uses only the public API.
 * Owner: a point has its scope, its tensors and its host memory. Threads: externally
 * synchronised. */
#ifndef GANTRY_BENCH_CURVES_H
#define GANTRY_BENCH_CURVES_H

#include <gantry/gantry.h>

typedef struct curve_point_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *x, *y; /* the op's inputs, ready; NULL if it has none */
    float *host;                  /* of the transfers; NULL elsewhere */
    /* of all inputs: the requested size, or the largest below it that the shapes allow */
    int64_t bytes;
    /* of one call: bytes, floating point operations or elements, by the case's unit */
    double work;
} curve_point_t;

typedef struct curve_case_t {
    const char *name, *what;
    const char *unit;   /* GB/s, GFLOP/s, Gel/s */
    int64_t most_bytes; /* 0: no limit of its own */
    /* Fills the point for bytes (16 or more). Returns false if a call fails, or if the size is too
     * small for the op (the point's bytes are 0). */
    bool (*make)(curve_point_t *point, int64_t bytes);
    /* Makes one call, waits for its result and drops it. Returns false if it fails. */
    bool (*call)(const curve_point_t *point);
} curve_case_t;

extern const curve_case_t curve_cases[];
extern const size_t curve_case_count;

void curve_point_release(curve_point_t *point);

#endif
