/* SPDX-License-Identifier: Apache-2.0 */
/* Defines GANTRY_SELECT_KEYS of kernels/common/indices.cl by the compress instruction of AVX-512,
 * in files that are compiled for AVX-512; in others it defines nothing. It must be included before
 * indices.cl, which has the portable form.
 *
 * Owner: the arrays are the caller's. Threads: thread-safe, because nothing is kept. */
#ifndef GANTRY_KERNELS_CPU_COMPRESS_H
#define GANTRY_KERNELS_CPU_COMPRESS_H

#if defined(__AVX512F__)
#include <immintrin.h>
#include <stdint.h>

/* Does what GANTRY_SELECT_KEYS says, and returns the number of picked keys. It writes 16 elements
 * at a time, so `picked` must have room for 16 more than it picks (GANTRY_SELECT_ROOM). */
static inline uint32_t gantry__select_keys(const uint32_t *keys, uint32_t some, uint32_t first,
                                           uint32_t most, uint32_t *picked) {
    const __m512i firsts = _mm512_set1_epi32((int)first), mosts = _mm512_set1_epi32((int)most);
    __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint32_t picks = 0;

    for (uint32_t k = 0; k < some; k += 16) {
        const __mmask16 there = (__mmask16)(some - k < 16 ? (1u << (some - k)) - 1 : 0xffffu);
        const __m512i own = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(there, keys + k), firsts);
        const __mmask16 is_picked = _mm512_mask_cmplt_epu32_mask(there, own, mosts);

        _mm512_storeu_si512(picked + picks, _mm512_maskz_compress_epi32(is_picked, places));
        picks += (uint32_t)__builtin_popcount(is_picked);
        places = _mm512_add_epi32(places, _mm512_set1_epi32(16));
    }
    return picks;
}

#define GANTRY_SELECT_KEYS(keys, some, first, most, picked, picks) \
    (picks = gantry__select_keys(keys, some, first, most, picked))
#endif

#endif
