/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's parallel loop.
 *
 * Not here: tasks, futures, nested parallelism (a loop inside a loop runs on its caller's thread).
 * Owner: the pool belongs to the backend's instance; devices borrow it. Threads: thread-safe. */
#ifndef GANTRY_CPU_POOL_H
#define GANTRY_CPU_POOL_H

#include <gantry/backend_abi.h>
#include <stdint.h>

typedef struct gantry__cpu_pool_t gantry__cpu_pool_t;

/* Makes a pool that will use at most `threads` threads (1: never more than the caller's). No thread
 * starts before the first loop that needs it. ResourceExhausted when memory is out. */
int32_t gantry__cpu_pool_create(const gantry_host_t *host, uint32_t threads,
                                gantry__cpu_pool_t **out_pool);
/* Ends its threads. NULL is fine. No loop runs any more. */
void gantry__cpu_pool_release(gantry__cpu_pool_t *pool);

/* Threads a loop may use, its caller's among them. */
uint32_t gantry__cpu_pool_threads(gantry__cpu_pool_t *pool);
/* One line for listings. Valid as long as the pool. */
const char *gantry__cpu_pool_description(gantry__cpu_pool_t *pool);

typedef void (*gantry__cpu_range_fn)(void *context, int64_t begin, int64_t end);

/* Calls fn on parts that together make [0, count) once each; parts begin at multiples of grain,
 * which is what does not pay for a second thread. Returns when all have ended; never waits for a
 * thread that has not begun. Runs as one call on the caller's thread when count <= grain, when
 * there is one thread only, or when another caller is inside. */
void gantry__cpu_parallel_for(gantry_backend_device_t *device, int64_t count, int64_t grain,
                              gantry__cpu_range_fn fn, void *context);

#endif
