/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device as kernels see it: its instruction set, its threads, its library for matrix
 * products.
 *
 * Not here: how a device is made (backends/cpu/cpu_backend.h). Owner: the CPU backend, which
 * implements these functions. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_DEVICE_H
#define GANTRY_KERNELS_CPU_DEVICE_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct gantry__cpu_pool_t gantry__cpu_pool_t;
typedef struct gantry__cpu_blas_t gantry__cpu_blas_t;

struct gantry_backend_device_t {
    const gantry_host_t *host;
    gantry__cpu_pool_t *pool;
    gantry__cpu_blas_t *blas; /* NULL: only our own loops are used */
    int simd_level;
    bool has_dots;
};

/* The device's instruction set: 0 base, 1 AVX2 with FMA and BMI2, 2 AVX-512 (F, BW, DQ, VL). */
static inline int gantry__cpu_simd_level(const gantry_backend_device_t *device) {
    return device->simd_level;
}

/* Whether the processor adds products of four bytes, in the loops of its instruction set: AVX-512
 * VNNI, AVX-VNNI, Arm's dot product. */
static inline bool gantry__cpu_has_dots(const gantry_backend_device_t *device) {
    return device->has_dots;
}

/* The number of threads that a loop may use, with the caller's own. */
uint32_t gantry__cpu_pool_threads(gantry__cpu_pool_t *pool);

typedef void (*gantry__cpu_range_fn)(void *context, int64_t begin, int64_t end);

/* Calls fn on parts that together cover [0, count) once. Parts start at multiples of grain (below 1
 * it counts as 1); work of up to `grain` does not pay for a second thread. The call returns when
 * all parts have ended, and never waits for a thread that has not started. It calls fn once, on the
 * caller's thread, if count <= grain, if there is only one thread, or if another caller uses the
 * pool. fn must accept parts in any order, and from several threads at once. */
void gantry__cpu_parallel_for(gantry_backend_device_t *device, int64_t count, int64_t grain,
                              gantry__cpu_range_fn fn, void *context);

/* The same, with a grain of 1, for a loop of some microseconds, which does not pay for waking a
 * thread. While all other threads sleep, the loop runs on the caller's thread; a series of such
 * loops wakes them when it has run for as long as one loop that pays. */
void gantry__cpu_parallel_for_short(gantry_backend_device_t *device, int64_t count,
                                    gantry__cpu_range_fn fn, void *context);

#endif
