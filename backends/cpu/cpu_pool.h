/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of the CPU backend's parallel loop (gantry__cpu_parallel_for).
 *
 * Not here: tasks, futures, nested parallelism (a loop inside a loop runs on its caller's thread).
 * Owner: the pool belongs to the backend's instance; devices borrow it. Threads: thread-safe. */
#ifndef GANTRY_CPU_POOL_H
#define GANTRY_CPU_POOL_H

#include <gantry/backend_abi.h>
#include <stdint.h>

#include "kernels/common/cpu_device.h"

#define GANTRY__CPU_MOST_THREADS 1024

/* Makes a pool of at most `threads` threads, with the caller's own (1: only the caller's). No
 * thread starts before the first loop that needs it. Returns ResourceExhausted when memory runs
 * out. */
int32_t gantry__cpu_pool_create(const gantry_host_t *host, uint32_t threads,
                                gantry__cpu_pool_t **out_pool);
/* Ends the pool's threads; NULL is accepted. The caller must make sure that no loop runs. */
void gantry__cpu_pool_release(gantry__cpu_pool_t *pool);

/* A line for listings, which lives as long as the pool. */
const char *gantry__cpu_pool_description(gantry__cpu_pool_t *pool);

#endif
