/* SPDX-License-Identifier: Apache-2.0 */
/* One point of a curve: an op with inputs of so many bytes, made anew for each size. Public API
 * only. Externally synchronised. */
#ifndef GANTRY_BENCH_CURVES_H
#define GANTRY_BENCH_CURVES_H

#include <gantry/gantry.h>

typedef struct curve_point_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *x, *y; /* the op's inputs, waited for; NULL where it has none */
    float *host;                  /* of the transfers; NULL elsewhere */
    /* of all inputs: as asked for or, where shapes do not allow that, below */
    int64_t bytes;
    /* of one call, in the case's unit times seconds: bytes, floating point operations, elements */
    double work;
} curve_point_t;

typedef struct curve_case_t {
    const char *name, *what;
    const char *unit;   /* GB/s, GFLOP/s, Gel/s */
    int64_t most_bytes; /* 0: no bound of its own */
    /* Fills the point for bytes (16 or more); false when the size is too small for the op (bytes
     * 0) or a call failed. */
    bool (*make)(curve_point_t *point, int64_t bytes);
    /* One call, its result waited for and dropped; false when it failed. */
    bool (*call)(const curve_point_t *point);
} curve_case_t;

extern const curve_case_t curve_cases[];
extern const size_t curve_case_count;

void curve_point_release(curve_point_t *point);

#endif
