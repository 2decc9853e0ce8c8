/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device as kernels see it: its instruction set, its threads, its library for products.
 *
 * Not here: how a device comes to be (backends/cpu/cpu_backend.h). Owner: the CPU backend, which
 * implements these functions. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_DEVICE_H
#define GANTRY_KERNELS_CPU_DEVICE_H

#include <gantry/backend_abi.h>
#include <stdint.h>

typedef struct gantry__cpu_pool_t gantry__cpu_pool_t;
typedef struct gantry__cpu_blas_t gantry__cpu_blas_t;

struct gantry_backend_device_t {
    const gantry_host_t *host;
    gantry__cpu_pool_t *pool;
    gantry__cpu_blas_t *blas; /* NULL: our own loops only */
    int simd_level;
};

/* 0 base, 1 AVX2 with FMA and BMI2, 2 AVX-512 (F, BW, DQ, VL). */
static inline int gantry__cpu_simd_level(const gantry_backend_device_t *device) {
    return device->simd_level;
}

/* Threads a loop may use, its caller's among them. */
uint32_t gantry__cpu_pool_threads(gantry__cpu_pool_t *pool);

typedef void (*gantry__cpu_range_fn)(void *context, int64_t begin, int64_t end);

/* Calls fn on parts that together make [0, count) once each; parts begin at multiples of grain,
 * which is what does not pay for a second thread. Returns when all have ended; never waits for a
 * thread that has not begun. Runs as one call on the caller's thread when count <= grain, when
 * there is one thread only, or when another caller is inside. */
void gantry__cpu_parallel_for(gantry_backend_device_t *device, int64_t count, int64_t grain,
                              gantry__cpu_range_fn fn, void *context);

#endif
