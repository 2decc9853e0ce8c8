/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#include <xxhash.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

uint64_t gantry__hash64(const void *bytes, size_t size, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, size, seed);
}

void gantry__hasher_init(gantry__hasher_t *hasher) { *hasher = (gantry__hasher_t){{0, 0}}; }

void gantry__hasher_add(gantry__hasher_t *hasher, const void *bytes, size_t size) {
    XXH128_hash_t piece = XXH3_128bits_withSeed(bytes, size, hasher->state.low);
    uint64_t mix[5] = {hasher->state.low, hasher->state.high, piece.low64, piece.high64, size};
    XXH128_hash_t joined = XXH3_128bits(mix, sizeof mix);
    hasher->state = (gantry__hash128_t){joined.low64, joined.high64};
}

void gantry__hasher_add_text(gantry__hasher_t *hasher, const char *text) {
    gantry__hasher_add(hasher, text, strlen(text));
}
