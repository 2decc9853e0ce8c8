/* SPDX-License-Identifier: Apache-2.0 */
/* Who multiplies float32 matrices of a size class, as it was measured on this machine and kept in
 * the tuning file.
 *
 * A record is "use=onednn own=41.5 onednn=48.0 openblas=44.1": who serves, and GFLOP/s of all that
 * were measured. Owner: nothing is owned. Threads: thread-safe. */
#ifndef GANTRY_CPU_TUNED_H
#define GANTRY_CPU_TUNED_H

#include <gantry/backend_abi.h>

#include "kernels/matmul/cpu_product.h"

typedef struct gantry__cpu_tuned_t {
    int use;           /* GANTRY_CPU_BLAS_...; -1: nothing was measured */
    char measured[12]; /* "2026-11-22" */
    char figures[80];  /* "own 41.5, oneDNN 48.0" */
} gantry__cpu_tuned_t;

/* 0 with the reason when these are not a record's values. */
int gantry__cpu_tuned_read(const char *values, gantry__cpu_tuned_t *out, char *reason,
                           size_t reason_bytes);

/* The record of a class, measured with so many threads; out->use is -1 without one. A wrong one
 * is warned of. */
void gantry__cpu_tuned_find(const gantry_host_t *host, const gantry_device_info_t *info,
                            uint32_t threads, int product_class, gantry__cpu_tuned_t *out);

/* "thin", "small", "middle", "large" */
const char *gantry__cpu_product_name(int product_class);
/* "own", "oneDNN", "OpenBLAS" */
const char *gantry__cpu_blas_name(int serving);

#endif
