/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of one open physical device: built once, found again by (text, options), kept on disk
 * between processes.
 *
 * Owner: the runtime, one per physical device. Programs and kernels live as long as the cache.
 * Thread-safe; no lock is held while a program is built, so that two threads may build the same
 * one; the second result is dropped. */
#ifndef GANTRY_KERNEL_PROGRAM_CACHE_H
#define GANTRY_KERNEL_PROGRAM_CACHE_H

#include <stdatomic.h>

#include <gantry/backend_abi.h>

#include "kernel/binary_store.h"
#include "base/os/thread.h"

typedef struct gantry__program_counters_t {
    atomic_uint_fast64_t built, loaded, reused, bad_entries, launches, build_ns;
} gantry__program_counters_t;

typedef struct gantry__cached_program_t gantry__cached_program_t;
typedef struct gantry__kernel_table_t gantry__kernel_table_t;

typedef struct gantry__program_cache_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    gantry__binary_store_t *store;
    gantry__program_counters_t *counters;
    const gantry_backend_t *backend;
    gantry_backend_device_t *device;
    const gantry_device_info_t *info;
    gantry__mutex_t lock;
    gantry__cached_program_t *programs;        /* most recently added first */
    _Atomic(gantry__kernel_table_t *) kernels; /* NULL: none yet */
    size_t kernels_used;                       /* slots of the table */
} gantry__program_cache_t;

/* Where a caller that requests the same kernel again found it; 0 at first. A caller with several
 * kernels in turn has no use of it. Threads: thread-safe. */
typedef struct gantry__kernel_memo_t {
    _Atomic(const void *) slot;
} gantry__kernel_memo_t;

gantry_status_t gantry__program_cache_init(gantry__program_cache_t *cache,
                                           const gantry__heap_t *heap, const gantry__log_t *log,
                                           gantry__binary_store_t *store,
                                           gantry__program_counters_t *counters,
                                           const gantry_backend_t *backend,
                                           gantry_backend_device_t *device,
                                           const gantry_device_info_t *info);
void gantry__program_cache_deinit(gantry__program_cache_t *cache);

/* A build failure carries the compiler's log. memo may be NULL; it must end before the cache. */
gantry_status_t gantry__program_cache_kernel(gantry__program_cache_t *cache,
                                             const gantry_program_source_t *source,
                                             const char *options, const char *name,
                                             gantry__kernel_memo_t *memo,
                                             gantry_backend_kernel_t **out_kernel);
/* Writes "name of program" of a kernel, which must come from the cache, cut to fit; for
 * messages. */
void gantry__program_cache_name(gantry__program_cache_t *cache,
                                const gantry_backend_kernel_t *kernel, char *out, size_t out_bytes);

#endif
