/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes matrices of elements of one size in vector registers. Before the file is included,
 * once for each size, define
 *
 *     ELEMENT    a type of that size
 *     VECTOR     a vector of LANES of them
 *     ZIP_LOW(a, b), ZIP_HIGH(a, b)   a0 b0 a1 b1 ... of the lower and of the upper halves of two
 *                                     vectors, by SHUFFLE
 *     LOOP(x)    the name x with the size pasted on
 *
 * The file therefore has no include guard. Owner: arrays are the caller's. Threads: thread-safe for
 * ranges that do not overlap. */
#ifndef SHUFFLE
/* Takes the lanes of a, then those of b, by number. GCC before 12 has a name of its own for it. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (VECTOR){__VA_ARGS__})
#else
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif

/* Transposes a square of LANES vectors in registers: log2(LANES) times, it interleaves the vectors
 * of the upper half with those of the lower half. */
static void LOOP(cpu_square)(const ELEMENT *in, int64_t in_stride, ELEMENT *out,
                             int64_t out_stride) {
    VECTOR now[LANES], next[LANES];
    for (int i = 0; i < LANES; ++i) memcpy(&now[i], in + i * in_stride, sizeof(VECTOR));
    for (int width = 1; width < LANES; width *= 2) {
        for (int i = 0; i < LANES / 2; ++i) {
            next[2 * i] = ZIP_LOW(now[i], now[i + LANES / 2]);
            next[2 * i + 1] = ZIP_HIGH(now[i], now[i + LANES / 2]);
        }
        memcpy(now, next, sizeof now);
    }
    for (int i = 0; i < LANES; ++i) memcpy(out + i * out_stride, &now[i], sizeof(VECTOR));
}

/* Transposes rows x columns elements. */
static void LOOP(cpu_tile)(const ELEMENT *in, int64_t in_stride, ELEMENT *out, int64_t out_stride,
                           int64_t rows, int64_t columns) {
    const int64_t whole_rows = rows / LANES * LANES, whole_columns = columns / LANES * LANES;
    for (int64_t c = 0; c < whole_columns; c += LANES) {
        for (int64_t r = 0; r < whole_rows; r += LANES) {
            LOOP(cpu_square)
            (in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
        }
    }
    for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r)
            out[c * out_stride + r] = in[r * in_stride + c];
}
