/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of 16 bytes, which every x86-64 and every ARMv8 processor has, of elements of one size.
 * Before the file is included, once for each size, define ELEMENT_BYTES as 1, 2, 4, 8 or 16. It
 * then defines
 *
 *     ELEMENT    a type of that size
 *     VECTOR     a vector of LANES of them
 *     ZIP_LOW(a, b), ZIP_HIGH(a, b)   a0 b0 a1 b1 ... of the lower and of the upper halves of two
 *                                     vectors
 *     LOOP(x)    the name x with the size pasted on
 *
 * The file therefore has no include guard. Threads: has no state. */
#ifndef SHUFFLE
/* Takes the lanes of a, then those of b, by number. GCC before 12 has a name of its own for it. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (VECTOR){__VA_ARGS__})
#else
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#undef ELEMENT
#undef VECTOR
#undef LANES
#undef LOOP
#undef ZIP_LOW
#undef ZIP_HIGH

#if ELEMENT_BYTES == 1
typedef uint8_t cpu_lanes_1_t __attribute__((vector_size(16)));
#define ELEMENT uint8_t
#define VECTOR cpu_lanes_1_t
#define LANES 16
#define LOOP(x) x##_1
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif ELEMENT_BYTES == 2
typedef uint16_t cpu_lanes_2_t __attribute__((vector_size(16)));
#define ELEMENT uint16_t
#define VECTOR cpu_lanes_2_t
#define LANES 8
#define LOOP(x) x##_2
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif ELEMENT_BYTES == 4
typedef uint32_t cpu_lanes_4_t __attribute__((vector_size(16)));
#define ELEMENT uint32_t
#define VECTOR cpu_lanes_4_t
#define LANES 4
#define LOOP(x) x##_4
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#elif ELEMENT_BYTES == 8
typedef uint64_t cpu_lanes_8_t __attribute__((vector_size(16)));
#define ELEMENT uint64_t
#define VECTOR cpu_lanes_8_t
#define LANES 2
#define LOOP(x) x##_8
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 2)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 1, 3)
#else
#define ELEMENT gantry__k_pair_t
#define VECTOR gantry__k_pair_t
#define LANES 1
#define LOOP(x) x##_16
#define ZIP_LOW(a, b) a
#define ZIP_HIGH(a, b) b
#endif
#undef ELEMENT_BYTES
