/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed as a whole, with a bound. Owner: the arena has all that it gave. Threads:
 * externally synchronised. */
#ifndef GANTRY_ONNX_ARENA_H
#define GANTRY_ONNX_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gantry__onnx_block_t;

/* An arena. Zero but for limit is empty. */
typedef struct gantry__onnx_arena_t {
    struct gantry__onnx_block_t *blocks; /* The newest first. */
    size_t used, capacity;               /* Of the newest. */
    uint64_t total, limit;               /* Bytes of all blocks. */
} gantry__onnx_arena_t;

/* Returns zeroed memory for count items, aligned for any type; count 0 gives an address, too. NULL
 * after a failure: ResourceExhausted as the thread's last message. *out_bound, if the bound is the
 * reason, becomes true, and the message is the caller's to make. */
void *gantry__onnx_arena_alloc(gantry__onnx_arena_t *arena, size_t count, size_t item_bytes,
                               bool *out_bound);
/* Frees all of it. */
void gantry__onnx_arena_deinit(gantry__onnx_arena_t *arena);

#endif
