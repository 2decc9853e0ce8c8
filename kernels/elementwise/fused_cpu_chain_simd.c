/* SPDX-License-Identifier: Apache-2.0 */
/* The links of chains (fused_cpu_chain.c) for one instruction set (cpu_simd.h). */
#include <stdint.h>
#include <string.h>

#include "kernels/elementwise/fused_cpu.h"

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

enum { LANES = VECTOR_BYTES / sizeof(float), VECTORS = 8, TILE = LANES * VECTORS };

typedef float vector_t __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t mask_t __attribute__((vector_size(VECTOR_BYTES)));

static inline vector_t chain_load(const char *from, int64_t element) {
    vector_t x;

    memcpy(&x, from + element * (int64_t)sizeof(float), sizeof x);
    return x;
}

static inline void chain_store(char *to, int64_t element, vector_t x) {
    memcpy(to + element * (int64_t)sizeof(float), &x, sizeof x);
}

static inline vector_t chain_repeat(const char *from) {
    int32_t bits;

    memcpy(&bits, from, sizeof bits);
    return (vector_t)((mask_t){0} + bits);
}

static inline vector_t chain_masked(vector_t x, mask_t mask) {
    return (vector_t)((mask_t)x & mask);
}

static inline vector_t chain_select(mask_t mask, vector_t x, vector_t y) {
    return (vector_t)(((mask_t)x & mask) | ((mask_t)y & ~mask));
}

static inline vector_t chain_larger(vector_t x, vector_t y) {
    return chain_select((x > y) | (x != x), x, y);
}

static inline vector_t chain_smaller(vector_t x, vector_t y) {
    return chain_select((x < y) | (x != x), x, y);
}

#define TWO(name, x, y, expression) \
    static inline vector_t link_##name(vector_t x, vector_t y) { return expression; }
#define ONE(name, x, expression) \
    static inline vector_t link_##name(vector_t x) { return expression; }
#include "kernels/elementwise/fused_cpu_links.h"
#undef TWO
#undef ONE

/* The tile is eight variables, because an array would be in memory. */
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define BLOCK(k) chain_load(place, i + (k)*LANES)
#define DECLARE(k) vector_t v##k = {0};
#define LOAD(k) v##k = BLOCK(k);
#define LOAD_SINGLE(k) v##k = single;
#define STORE(k) chain_store(place, i + (k)*LANES, v##k);
#define APPLY_TWO(name, operand)      \
    v0 = link_##name(v0, operand(0)); \
    v1 = link_##name(v1, operand(1)); \
    v2 = link_##name(v2, operand(2)); \
    v3 = link_##name(v3, operand(3)); \
    v4 = link_##name(v4, operand(4)); \
    v5 = link_##name(v5, operand(5)); \
    v6 = link_##name(v6, operand(6)); \
    v7 = link_##name(v7, operand(7));
#define SINGLE(k) single
#define APPLY_ONE(name)   \
    v0 = link_##name(v0); \
    v1 = link_##name(v1); \
    v2 = link_##name(v2); \
    v3 = link_##name(v3); \
    v4 = link_##name(v4); \
    v5 = link_##name(v5); \
    v6 = link_##name(v6); \
    v7 = link_##name(v7);

int64_t GANTRY_CPU_NAME(run_links)(const gantry__cpu_fused_link_t *links,
                                   const gantry__cpu_fused_link_t *end, char *const *at,
                                   int64_t count) {
    int64_t i = 0;
    EACH(DECLARE)

    for (; i + TILE <= count; i += TILE) {
        for (const gantry__cpu_fused_link_t *link = links; link < end; ++link) {
            char *place = at[link->place];
            vector_t single;

            switch (link->code) {
                case GANTRY__CPU_LINK_LOAD: EACH(LOAD) break;
                case GANTRY__CPU_LINK_LOAD_SINGLE:
                    single = chain_repeat(place);
                    EACH(LOAD_SINGLE)
                    break;
                case GANTRY__CPU_LINK_STORE: EACH(STORE) break;
#define TWO(name, x, y, expression)                             \
    case GANTRY__CPU_LINK_##name: APPLY_TWO(name, BLOCK) break; \
    case GANTRY__CPU_LINK_##name##_SINGLE:                      \
        single = chain_repeat(place);                           \
        APPLY_TWO(name, SINGLE) break;
#define ONE(name, x, expression)  \
    case GANTRY__CPU_LINK_##name: \
        APPLY_ONE(name)           \
        break;
#include "kernels/elementwise/fused_cpu_links.h"
#undef TWO
#undef ONE
                default: __builtin_unreachable();
            }
        }
    }
    return i;
}
