/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the tuning file for float32 matrix products on the CPU: which library serves a size
 * class, as `gantry tune` measured it on this machine.
 *
 * A record is "use=onednn own=41.5 onednn=48.0 openblas=44.1": the library to use, and the GFLOP/s
 * of each one that was measured. Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_CPU_TUNED_H
#define GANTRY_CPU_TUNED_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

#include "kernels/matmul/cpu_product.h"

typedef struct gantry__cpu_tuned_t {
    int use;           /* GANTRY_CPU_BLAS_...; -1: no record */
    char measured[12]; /* such as "2026-11-22" */
    char figures[80];  /* such as "own 41.5, oneDNN 48.0" */
} gantry__cpu_tuned_t;

/* Reads the values of a record. Returns false and writes the reason if they are malformed. */
bool gantry__cpu_tuned_read(const char *values, gantry__cpu_tuned_t *out, char *reason,
                            size_t reason_bytes);

/* The record of a class that was measured with this number of threads; out->use is -1 without one.
 * A malformed record is logged as a warning. */
void gantry__cpu_tuned_find(const gantry_host_t *host, const gantry_device_info_t *info,
                            uint32_t threads, int product_class, gantry__cpu_tuned_t *out);

/* The name of a class: "thin", "small", "middle", "large". */
const char *gantry__cpu_product_name(int product_class);
/* The name of a library: "own", "oneDNN", "OpenBLAS". */
const char *gantry__cpu_blas_name(int serving);

#endif
