/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device as kernels see it: its instruction set, its threads, its library for matrix
 * products.
 *
 * Not here: how a device is made (backends/cpu/cpu_backend.h). Owner: the CPU backend, which
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

/* The threads that a loop may use, the caller's included. */
uint32_t gantry__cpu_pool_threads(gantry__cpu_pool_t *pool);

typedef void (*gantry__cpu_range_fn)(void *context, int64_t begin, int64_t end);

/* Calls fn on parts that cover [0, count) once. Parts start at multiples of grain; work of up to
 * `grain` does not pay for a second thread. Returns when all parts have ended, and never waits for
 * a thread that has not started. Makes one call on the caller's thread if count <= grain, if there
 * is one thread only, or if another caller is inside. */
void gantry__cpu_parallel_for(gantry_backend_device_t *device, int64_t count, int64_t grain,
                              gantry__cpu_range_fn fn, void *context);

/* The same, with a grain of 1, for a loop of some microseconds: it does not pay for waking a
 * thread. While all other threads sleep it runs on the caller's; but a series of loops wakes them
 * when it has run for as long as one that pays. */
void gantry__cpu_parallel_for_short(gantry_backend_device_t *device, int64_t count,
                                    gantry__cpu_range_fn fn, void *context);

#endif
