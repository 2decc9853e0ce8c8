/* SPDX-License-Identifier: Apache-2.0 */
/* The bucket of a form in a table of plans.
 *
 * Owner: none. Threads: any. */
#ifndef GANTRY_CUDA_FORM_HASH_H
#define GANTRY_CUDA_FORM_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns a bucket below `buckets`, which must be a power of two, from the bytes of the form, which
 * must be whole words of 8 bytes without padding. */
static inline uint32_t gantry__cuda_form_bucket(const void *form, size_t bytes, uint32_t buckets) {
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < bytes; at += sizeof hash) {
        uint64_t word;
        memcpy(&word, (const char *)form + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return (uint32_t)hash & (buckets - 1);
}

#endif
