/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of scan.cl as vectors: a vector holds one element of each of the eight chunks. Eight
 * elements of each chunk are an 8 x 8 tile, which is transposed in registers. This file has only
 * macros and must come before scan.cl; T, and the names of an item's variables, belong to the place
 * of use. In OpenCL C it serves floats, halves, and integers of 32 and 64 bits; in C float32,
 * halves, and integers of 32 bits, with AVX2, where a vector is one register.
 *
 * GANTRY_SCAN_VECTOR(type) is the vector for a type. GANTRY_SCAN_LOAD(type, from) reads one,
 * GANTRY_SCAN_STORE(type, v, to) writes one. */
#ifndef GANTRY_SCAN_SQUARES_CL
#define GANTRY_SCAN_SQUARES_CL

#define GANTRY_SCAN_HAS_SQUARES 0
#define GANTRY_SCAN_VECTOR(type) GANTRY_PASTE(gantry__scan_vector_, type)
#define GANTRY_SCAN_LOAD(type, from) GANTRY_PASTE(gantry__scan_load_, type)(from)
#define GANTRY_SCAN_STORE(type, v, to) GANTRY_PASTE(gantry__scan_store_, type)(v, to)

#if defined(__OPENCL_VERSION__)

#undef GANTRY_SCAN_HAS_SQUARES
#define GANTRY_SCAN_HAS_SQUARES 1

typedef float8 gantry__scan_vector_f32;
#define gantry__scan_load_f32(from) vload8(0, from)
#define gantry__scan_store_f32(v, to) vstore8(v, 0, to)
#if GANTRY_HAS_FLOAT64
typedef double8 gantry__scan_vector_f64;
#define gantry__scan_load_f64(from) vload8(0, from)
#define gantry__scan_store_f64(v, to) vstore8(v, 0, to)
#endif
typedef uint8 gantry__scan_vector_i32;
#define gantry__scan_load_i32(from) as_uint8(vload8(0, from))
#define gantry__scan_store_i32(v, to) vstore8(as_int8(v), 0, to)
typedef ulong8 gantry__scan_vector_i64;
#define gantry__scan_load_i64(from) as_ulong8(vload8(0, from))
#define gantry__scan_store_i64(v, to) vstore8(as_long8(v), 0, to)

/* Halves are converted as in half.cl. */
typedef float8 gantry__scan_vector_bf16;
typedef float8 gantry__scan_vector_f16;
#define gantry__scan_load_bf16(from) as_float8(convert_uint8(vload8(0, from)) << 16)
#define gantry__scan_store_bf16(v, to) vstore8(gantry__scan_narrow_bf16(v), 0, to)
#define gantry__scan_load_f16(from) gantry__scan_widen_f16(convert_uint8(vload8(0, from)))
#define gantry__scan_store_f16(v, to) vstore8(gantry__scan_narrow_f16(v), 0, to)

GANTRY_FN ushort8 gantry__scan_narrow_bf16(float8 v) {
    const uint8 bits = as_uint8(v), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;

    return convert_ushort8(select(rounded, (uint8)0x7fc0u, v != v));
}

GANTRY_FN float8 gantry__scan_widen_f16(uint8 halves) {
    const uint8 magnitude = (halves & 0x7fffu) << 13, normal = magnitude + (112u << 23);
    const uint8 denormal = as_uint8(as_float8(magnitude + (113u << 23)) - as_float(113u << 23));
    const uint8 special =
        magnitude | 0x7f800000u | select((uint8)0u, (uint8)0x00400000u, magnitude > (31u << 23));
    const uint8 finite = select(normal, denormal, magnitude < (1u << 23));

    return as_float8(select(finite, special, magnitude >= (31u << 23)) | (halves & 0x8000u) << 16);
}

GANTRY_FN ushort8 gantry__scan_narrow_f16(float8 v) {
    const uint8 bits = as_uint8(v), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    const uint8 normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    const uint8 denormal = as_uint8(as_float8(magnitude) + 0.5f) - (126u << 23);
    const uint8 finite = select(normal, denormal, magnitude < (113u << 23)) | sign;
    const uint8 special = select(0x7c00u | sign, (uint8)0x7e00u, v != v);

    return convert_ushort8(select(finite, special, magnitude >= 0x477ff000u));
}

#define GANTRY_SCAN_FIRST_4(V, a, b) ((V)(a.s0123, b.s0123))
#define GANTRY_SCAN_SECOND_4(V, a, b) ((V)(a.s4567, b.s4567))
#define GANTRY_SCAN_FIRST_2(V, a, b) ((V)(a.s01, b.s01, a.s45, b.s45))
#define GANTRY_SCAN_SECOND_2(V, a, b) ((V)(a.s23, b.s23, a.s67, b.s67))
#define GANTRY_SCAN_FIRST_1(V, a, b) ((V)(a.s0, b.s0, a.s2, b.s2, a.s4, b.s4, a.s6, b.s6))
#define GANTRY_SCAN_SECOND_1(V, a, b) ((V)(a.s1, b.s1, a.s3, b.s3, a.s5, b.s5, a.s7, b.s7))
#define GANTRY_SCAN_FIRST_11(V, a, b) ((V)(a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5))
#define GANTRY_SCAN_SECOND_11(V, a, b) ((V)(a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7))
#define GANTRY_SCAN_BACKWARDS(a) ((a).s76543210)

#elif defined(__AVX2__) && defined(__GNUC__)

#undef GANTRY_SCAN_HAS_SQUARES
#if defined(__F16C__)
#define GANTRY_SCAN_HAS_SQUARES (GANTRY_T_IS(f32) || GANTRY_T_IS(i32) || GANTRY_T_IS_HALF)
#else
#define GANTRY_SCAN_HAS_SQUARES (GANTRY_T_IS(f32) || GANTRY_T_IS(i32))
#endif

#define GANTRY_UNROLLED _Pragma("GCC unroll 8")
#define GANTRY_SCAN_MEMORY(type, E)                                                        \
    typedef E gantry__scan_vector_##type __attribute__((vector_size(32)));                 \
    static inline gantry__scan_vector_##type gantry__scan_load_##type(const void *from) {  \
        gantry__scan_vector_##type v;                                                      \
        memcpy(&v, from, sizeof v);                                                        \
        return v;                                                                          \
    }                                                                                      \
    static inline void gantry__scan_store_##type(gantry__scan_vector_##type v, void *to) { \
        memcpy(to, &v, sizeof v);                                                          \
    }
GANTRY_SCAN_MEMORY(f32, float)
GANTRY_SCAN_MEMORY(i32, uint)

/* Halves are converted as in half.cl. */
#if defined(__F16C__)
typedef ushort gantry__scan_halves __attribute__((vector_size(16)));
typedef gantry__scan_vector_f32 gantry__scan_vector_bf16;
typedef gantry__scan_vector_f32 gantry__scan_vector_f16;

static inline gantry__scan_vector_bf16 gantry__scan_load_bf16(const void *from) {
    gantry__scan_halves halves;
    memcpy(&halves, from, sizeof halves);
    return (gantry__scan_vector_bf16)(__builtin_convertvector(halves, gantry__scan_vector_i32)
                                      << 16);
}

static inline void gantry__scan_store_bf16(gantry__scan_vector_bf16 v, void *to) {
    const gantry__scan_vector_i32 bits = (gantry__scan_vector_i32)v,
                                  is_nan = (gantry__scan_vector_i32)(v != v);
    const gantry__scan_vector_i32 rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const gantry__scan_halves halves =
        __builtin_convertvector((rounded & ~is_nan) | (is_nan & 0x7fc0u), gantry__scan_halves);
    memcpy(to, &halves, sizeof halves);
}

static inline gantry__scan_vector_f16 gantry__scan_load_f16(const void *from) {
    return (gantry__scan_vector_f16)_mm256_cvtph_ps(_mm_loadu_si128(from));
}

static inline void gantry__scan_store_f16(gantry__scan_vector_f16 v, void *to) {
    const gantry__scan_halves is_nan =
        __builtin_convertvector((gantry__scan_vector_i32)(v != v), gantry__scan_halves);
    const gantry__scan_halves halves = (gantry__scan_halves)_mm256_cvtps_ph((__m256)v, 0);
    _mm_storeu_si128(to, (__m128i)((halves & ~is_nan) | (is_nan & 0x7e00u)));
}
#endif

#if defined(__clang__)
#define GANTRY_SCAN_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define GANTRY_SCAN_MIX(a, b, ...) \
    __builtin_shuffle(a, b, (gantry__scan_vector_places){__VA_ARGS__})
typedef int gantry__scan_vector_places __attribute__((vector_size(32)));
#endif
#define GANTRY_SCAN_FIRST_4(V, a, b) GANTRY_SCAN_MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define GANTRY_SCAN_SECOND_4(V, a, b) GANTRY_SCAN_MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define GANTRY_SCAN_FIRST_2(V, a, b) GANTRY_SCAN_MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define GANTRY_SCAN_SECOND_2(V, a, b) GANTRY_SCAN_MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define GANTRY_SCAN_FIRST_11(V, a, b) GANTRY_SCAN_MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define GANTRY_SCAN_SECOND_11(V, a, b) GANTRY_SCAN_MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define GANTRY_SCAN_BACKWARDS(a) GANTRY_SCAN_MIX(a, a, 7, 6, 5, 4, 3, 2, 1, 0)

#endif

/* A tile is transposed in three steps. Each step mixes pairs of vectors that are `apart` from each
 * other. The mixes are those that are one instruction. For 32 bits, where a vector is one register:
 * single neighbours, pairs, and halves of a register, which swaps columns 1 and 2, and 5 and 6. For
 * 64 bits, where a vector is two registers, other mixes. */
#define GANTRY_SCAN_MIX_ALL(V, from, to, apart, mix)              \
    GANTRY_UNROLLED for (int z = 0; z < GANTRY_SCAN_LINES; ++z) { \
        if ((z & (apart)) == 0) {                                 \
            const V a = from[z], b = from[z + (apart)];           \
            to[z] = GANTRY_SCAN_FIRST_##mix(V, a, b);             \
            to[z + (apart)] = GANTRY_SCAN_SECOND_##mix(V, a, b);  \
        }                                                         \
    }
#define GANTRY_SCAN_TURN_32(V, values)                                     \
    {                                                                      \
        V transposed[GANTRY_SCAN_LINES];                                   \
        GANTRY_SCAN_MIX_ALL(V, values, transposed, 1, 11)                  \
        GANTRY_SCAN_MIX_ALL(V, transposed, values, 2, 2)                   \
        GANTRY_SCAN_MIX_ALL(V, values, transposed, 4, 4)                   \
        GANTRY_UNROLLED for (int z = 0; z < GANTRY_SCAN_LINES; ++z) {      \
            values[z] = transposed[(z & 4) | (z & 1) << 1 | (z & 2) >> 1]; \
        }                                                                  \
    }
#define GANTRY_SCAN_TURN_64(V, values)                                                             \
    {                                                                                              \
        V transposed[GANTRY_SCAN_LINES];                                                           \
        GANTRY_SCAN_MIX_ALL(V, values, transposed, 4, 4)                                           \
        GANTRY_SCAN_MIX_ALL(V, transposed, values, 2, 2)                                           \
        GANTRY_SCAN_MIX_ALL(V, values, transposed, 1, 1)                                           \
        GANTRY_UNROLLED for (int z = 0; z < GANTRY_SCAN_LINES; ++z) { values[z] = transposed[z]; } \
    }
#define gantry__scan_turn_f32 GANTRY_SCAN_TURN_32
#define gantry__scan_turn_f64 GANTRY_SCAN_TURN_64
#define gantry__scan_turn_i32 GANTRY_SCAN_TURN_32
#define gantry__scan_turn_i64 GANTRY_SCAN_TURN_64
#define gantry__scan_turn_bf16 GANTRY_SCAN_TURN_32
#define gantry__scan_turn_f16 GANTRY_SCAN_TURN_32
#define GANTRY_SCAN_TURN(V, values) GANTRY_PASTE(gantry__scan_turn_, GANTRY_T)(V, values)

/* Takes elements k to k + 7 of each chunk. If `totals` keeps its elements for the results, each of
 * the two passes prefetches one half of the next elements: a core can have only so many requests in
 * flight. */
#define GANTRY_SCAN_PREFETCH_HALF \
    GANTRY_SCAN_PREFETCH(0, x)    \
    GANTRY_SCAN_PREFETCH(1, x) GANTRY_SCAN_PREFETCH(2, x) GANTRY_SCAN_PREFETCH(3, x)
#define GANTRY_SCAN_PREFETCH_REST \
    GANTRY_SCAN_PREFETCH(4, x)    \
    GANTRY_SCAN_PREFETCH(5, x) GANTRY_SCAN_PREFETCH(6, x) GANTRY_SCAN_PREFETCH(7, x)
#define GANTRY_SCAN_LOAD_SQUARE(V)                                                 \
    if (k % GANTRY_SCAN_ASK == 0) {                                                \
        GANTRY_SCAN_PREFETCH_HALF                                                  \
        if (p->whole == 0) {                                                       \
            GANTRY_SCAN_PREFETCH_REST                                              \
        }                                                                          \
    }                                                                              \
    GANTRY_UNROLLED for (int c = 0; c < GANTRY_SCAN_LINES; ++c) {                  \
        square[c] = GANTRY_SCAN_LOAD(GANTRY_T, x + starts[c] + at - backwards);    \
        square[c] = backwards != 0 ? GANTRY_SCAN_BACKWARDS(square[c]) : square[c]; \
    }                                                                              \
    GANTRY_SCAN_TURN(V, square)

#define GANTRY_SCAN_SQUARES_TOTAL(V, OP)                              \
    for (; k + GANTRY_SCAN_LINES <= common; k += GANTRY_SCAN_LINES) { \
        const GANTRY_LONG at = k * step;                              \
        V square[GANTRY_SCAN_LINES];                                  \
        GANTRY_SCAN_LOAD_SQUARE(V)                                    \
        GANTRY_UNROLLED for (int j = 0; j < GANTRY_SCAN_LINES; ++j) { \
            sum = sum OP                                              \
            square[j];                                                \
            kept[k + j] = square[j];                                  \
        }                                                             \
    }

/* streams: streaming stores. Each chunk writes a whole cache line after one tile or two, so that
 * reads and writes of memory overlap. */
#define GANTRY_SCAN_SQUARES_ROWS(V, OP)                                                       \
    gantry__stream_line_t past[GANTRY_SCAN_LINES];                                            \
    T *const block = (T *)past;                                                               \
    for (; k + GANTRY_SCAN_LINES <= common; k += GANTRY_SCAN_LINES) {                         \
        const GANTRY_LONG at = k * step;                                                      \
        const int of_line = k % GANTRY_SCAN_ASK;                                              \
        const int within =                                                                    \
            backwards != 0 ? GANTRY_SCAN_ASK - GANTRY_SCAN_LINES - of_line : of_line;         \
        V square[GANTRY_SCAN_LINES];                                                          \
        if (p->whole > 0) {                                                                   \
            GANTRY_UNROLLED for (int j = 0; j < GANTRY_SCAN_LINES; ++j) {                     \
                square[j] = kept[k + j];                                                      \
            }                                                                                 \
            if (of_line == 0) {                                                               \
                GANTRY_SCAN_PREFETCH_REST                                                     \
            }                                                                                 \
        } else {                                                                              \
            GANTRY_SCAN_LOAD_SQUARE(V)                                                        \
        }                                                                                     \
        if (of_line == 0 && !streams) {                                                       \
            GANTRY_SCAN_EACH_LINE(GANTRY_SCAN_PREFETCH, out)                                  \
        }                                                                                     \
        GANTRY_UNROLLED for (int j = 0; j < GANTRY_SCAN_LINES; ++j) {                         \
            const V next = sum OP                                                             \
            square[j];                                                                        \
            square[j] = p->exclusive ? sum : next;                                            \
            sum = next;                                                                       \
        }                                                                                     \
        GANTRY_SCAN_TURN(V, square)                                                           \
        GANTRY_UNROLLED for (int c = 0; c < GANTRY_SCAN_LINES; ++c) {                         \
            square[c] = backwards != 0 ? GANTRY_SCAN_BACKWARDS(square[c]) : square[c];        \
            if (streams) {                                                                    \
                GANTRY_SCAN_STORE(GANTRY_T, square[c], block + c * GANTRY_SCAN_ASK + within); \
            } else {                                                                          \
                GANTRY_SCAN_STORE(GANTRY_T, square[c], out + starts[c] + at - backwards);     \
            }                                                                                 \
        }                                                                                     \
        if (streams && of_line + GANTRY_SCAN_LINES == GANTRY_SCAN_ASK) {                      \
            for (int c = 0; c < GANTRY_SCAN_LINES; ++c) {                                     \
                GANTRY_GLOBAL T *const line = out + starts[c] + at - backwards - within;      \
                GANTRY_STREAM_OUT((GANTRY_GLOBAL gantry__stream_line_t *)line, past + c);     \
            }                                                                                 \
        }                                                                                     \
    }

/* Takes the tiles, then the rest of each chunk one by one: `one` must be the statements for element
 * `at` of chunk c. */
#define GANTRY_SCAN_ALL_SQUARES(V, loop, one)                                       \
    const GANTRY_LONG backwards = p->reverse ? GANTRY_SCAN_LINES - 1 : 0;           \
    int k = 0;                                                                      \
    if (common >= GANTRY_SCAN_LINES) {                                              \
        V sum = GANTRY_SCAN_LOAD(GANTRY_SCAN_SUMS, sums);                           \
        if (p->operation == GANTRY_SCAN_SUM) {                                      \
            loop(V, +)                                                              \
        } else {                                                                    \
            loop(V, *)                                                              \
        }                                                                           \
        GANTRY_SCAN_STORE(GANTRY_SCAN_SUMS, sum, sums);                             \
    }                                                                               \
    for (int c = 0; c < lines; ++c) {                                               \
        for (int left = k; left < lengths[c]; ++left) {                             \
            const GANTRY_LONG at = left * step;                                     \
            const C value = GANTRY_SCAN_WIDEN(x[starts[c] + at]);                   \
            const C next = GANTRY_ITEM_FN(scan_join)(sums[c], value, p->operation); \
            one sums[c] = next;                                                     \
        }                                                                           \
    }

#endif
