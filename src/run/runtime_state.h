/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's state: the parts below it, put together, and the parts that tensors, scopes and ops
 * share.
 *
 * Owner: the runtime is counted. The creator and every scope, tensor and variable hold one
 * reference each; the last one ends it. After gantry_runtime_release, only releasing the other
 * objects is allowed. In a child of fork every call is refused, and releasing an object does
 * nothing, because threads that do not exist there may hold locks. Threads: thread-safe as its
 * parts say. */
#ifndef GANTRY_RUN_RUNTIME_STATE_H
#define GANTRY_RUN_RUNTIME_STATE_H

#include <stdatomic.h>

#include <gantry/gantry.h>

#include "base/fork_guard.h"
#include "device/device_table.h"
#include "device/logical_device.h"
#include "kernel/binary_store.h"
#include "kernel/kernel_registry.h"
#include "kernel/program_cache.h"
#include "kernel/view_probe.h"
#include "place/crossover.h"
#include "place/placement_log.h"
#include "run/jobs.h"
#include "run/profile.h"
#include "run/random_state.h"
#include "run/repeats.h"

/* The most threads of the CPU backend. */
#define GANTRY__MOST_THREADS 1024

/* As the program set them; 0: the default. */
typedef struct gantry__thread_counts_t {
    atomic_int in_ops, between_ops;
} gantry__thread_counts_t;

typedef struct gantry__wish_node_t {
    gantry__wish_t wish;
    struct gantry__wish_node_t *next;
} gantry__wish_node_t;

/* A user's text that is kept for good. */
typedef struct gantry__word_node_t {
    struct gantry__word_node_t *next;
    size_t length;
    char text[];
} gantry__word_node_t;

/* Settings that are constant. */
typedef struct gantry__switches_t {
    bool crossover;
    bool batch_invariant;
    bool any_order;
} gantry__switches_t;

struct gantry_runtime_t {
    atomic_uint_fast64_t references;
    atomic_bool is_released;
    gantry__fork_guard_t fork;
    gantry__heap_t heap;
    gantry__log_t log;
    gantry__settings_t settings;
    gantry__backend_set_t backends;
    gantry__device_table_t devices;
    gantry__binary_store_t store;
    gantry__program_counters_t counters;
    gantry__view_probe_t probe;
    gantry__plan_cache_t plans;
    gantry__repeats_t repeats;
    gantry__placement_log_t placements;
    gantry__random_state_t random;
    gantry__jobs_t jobs;       /* calls of functions that were started, and threads for functions */
    gantry__profile_t profile; /* whether it records: devices.profiling */
    /* Registries by position of the physical device. They are made at initialisation, one for each
     * view. A program cache is made at the first op on the card, for the view that serves it
     * then. */
    gantry__kernel_registry_t *registries;
    _Atomic(gantry__program_cache_t *) *programs;
    gantry__device_cost_t *costs; /* NULL: crossover is off */
    gantry__switches_t switches;
    atomic_bool is_initialized;
    gantry_logical_device_t *host; /* the first CPU: the home of host constants */
    /* settings that may change at any time */
    atomic_int soft_placement, log_placement, device_policy, placement_mode;
    gantry__thread_counts_t threads; /* until the device table freezes */
    /* under lock */
    gantry__mutex_t lock;
    gantry__wish_node_t *wishes;
    gantry__word_node_t *words;
    gantry_placement_fn placement_callback;
    void *placement_user;
    atomic_bool has_callback;
    atomic_uint_fast64_t traces; /* begun so far: each has a number of its own */
    struct {
        struct gantry_tensor_t *first; /* linked by next */
        uint32_t count;
    } spares; /* empty objects of tensors */
};

/* Takes, and gives back, so many references; the last one ends the runtime. */
gantry_runtime_t *gantry__runtime_retain(gantry_runtime_t *runtime, uint64_t count);
void gantry__runtime_drop(gantry_runtime_t *runtime, uint64_t count);

/* Checks the runtime: FailedPrecondition after release, and in a child of fork. */
gantry_status_t gantry__runtime_check(const gantry_runtime_t *runtime);
/* Whether the runtime is of this process; false in a child of fork. */
static inline bool gantry__runtime_is_ours(const gantry_runtime_t *runtime) {
    return gantry__fork_guard_holds(&runtime->fork);
}
/* Whether this check would succeed. */
static inline bool gantry__runtime_is_well(const gantry_runtime_t *runtime) {
    return gantry__runtime_is_ours(runtime) &&
           !atomic_load_explicit(&runtime->is_released, memory_order_acquire);
}
gantry_status_t gantry__runtime_check_slowly(const gantry_runtime_t *runtime);
/* The same check, but reliable in a child on every system: for calls that begin something or
 * wait. */
static inline gantry_status_t gantry__runtime_check_well(const gantry_runtime_t *runtime) {
    const bool is_well = runtime && runtime->fork.wipes && gantry__runtime_is_well(runtime);
    return is_well ? GANTRY_OK : gantry__runtime_check_slowly(runtime);
}
gantry_status_t gantry__runtime_initialize_slowly(gantry_runtime_t *runtime, const char *by);
/* Initialises on first use; by is the name of the call or op. */
static inline gantry_status_t gantry__runtime_initialize(gantry_runtime_t *runtime,
                                                         const char *by) {
    if (atomic_load_explicit(&runtime->is_initialized, memory_order_acquire)) return GANTRY_OK;
    return gantry__runtime_initialize_slowly(runtime, by);
}
gantry_status_t gantry__runtime_make_programs(gantry_runtime_t *runtime,
                                              gantry_logical_device_t *device,
                                              gantry__program_cache_t **out_cache);
/* The device's program cache, made on first need; NULL if the backend builds no programs, or memory
 * is out. */
static inline gantry_status_t gantry__runtime_programs(gantry_runtime_t *runtime,
                                                       gantry_logical_device_t *device,
                                                       gantry__program_cache_t **out_cache) {
    const gantry_backend_t *backend = device->backend;
    *out_cache = NULL;
    if (!GANTRY_ABI_HAS(backend, program) || !backend->program) return GANTRY_OK;
    *out_cache =
        atomic_load_explicit(&runtime->programs[device->physical->position], memory_order_acquire);
    return *out_cache ? GANTRY_OK : gantry__runtime_make_programs(runtime, device, out_cache);
}
/* Ends what initialisation and the ops made: registries, program caches, costs. */
void gantry__runtime_release_tables(gantry_runtime_t *runtime);

/* Begins a timeline in this file, which is opened now, or, if is_lazy, with the first events. */
gantry_status_t gantry__runtime_trace(gantry_runtime_t *runtime, const char *path, bool is_lazy);
/* Writes all that was recorded; FailedPrecondition if there is no timeline. */
gantry_status_t gantry__runtime_end_trace(gantry_runtime_t *runtime);

/* The one object of this request, so that requests are compared by address. */
gantry_status_t gantry__runtime_wish(gantry_runtime_t *runtime,
                                     const gantry__device_reference_t *reference,
                                     const gantry__wish_t **out_wish);
/* The one copy of this text, which lives as long as the runtime. */
gantry_status_t gantry__runtime_word(gantry_runtime_t *runtime, const char *text,
                                     const char **out_word);
void gantry__runtime_release_words(gantry_runtime_t *runtime);

#endif
