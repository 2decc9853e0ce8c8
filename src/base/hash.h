/* SPDX-License-Identifier: Apache-2.0 */
/* 64- and 128-bit hashes of bytes (xxHash 3), for tables and cache keys, not for security. Owner:
 * plain values of the caller. Threads: thread-safe for different hashers. */
#ifndef GANTRY_BASE_HASH_H
#define GANTRY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct gantry__hash128_t {
    uint64_t low, high;
} gantry__hash128_t;

uint64_t gantry__hash64(const void *bytes, size_t size, uint64_t seed);

/* A running 128-bit hash over several pieces; each piece's length is hashed too, so that pieces do
 * not run together. */
typedef struct gantry__hasher_t {
    gantry__hash128_t state;
} gantry__hasher_t;

void gantry__hasher_init(gantry__hasher_t *hasher);
void gantry__hasher_add(gantry__hasher_t *hasher, const void *bytes, size_t size);
void gantry__hasher_add_text(gantry__hasher_t *hasher, const char *text);

#endif
