/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes matrices of elements of one size in vector registers. It is included once for each
 * size, after kernels/common/cpu_lanes.h has defined the size, and therefore has no include guard.
 * Owner: arrays are the caller's. Threads: thread-safe for ranges that do not overlap. */

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
