/* SPDX-License-Identifier: Apache-2.0 */
/* The source of an allocator's regions: the driver, as these functions.
 *
 * The implementer must check what the books cannot know (the machine's free memory), and must
 * commit a region before it returns it, so that memory runs out at allocation and not at first use.
 * The functions are called without any lock held. Owner: the device that implements it. Threads:
 * the functions must be thread-safe. */
#ifndef GANTRY_MEMORY_REGION_SOURCE_H
#define GANTRY_MEMORY_REGION_SOURCE_H

#include <stdint.h>

#include <gantry/status.h>

typedef struct gantry__region_source_t {
    void *user;
    /* Takes a region; must return ResourceExhausted when there is no more. */
    gantry_status_t (*take)(void *user, uint64_t size_bytes, uint64_t *out_handle);
    void (*give_back)(void *user, uint64_t handle, uint64_t size_bytes);
    /* Returns when no submitted work uses memory of the device any more. */
    void (*wait)(void *user);
    /* Gives back idle host memory that is charged to the allocator (staging); returns the bytes it
     * discharged. May be NULL. */
    uint64_t (*release_idle)(void *user);
    /* Frees chunks of the allocator that no running call uses; returns their bytes. May be NULL. */
    uint64_t (*take_kept)(void *user);
    /* Reports that memory was allocated or freed. It must fail in silence and must not change the
     * thread's message. NULL: it is not reported. */
    void (*changed)(void *user);
} gantry__region_source_t;

#endif
