/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the loops over costly functions of floats (elementwise_cpu_loops.h) on whole blocks, because
 * a loop that also took the rest, or scalar operands, would hold another copy of the function for
 * each. elementwise_cpu_simd.c must include this once. Owner: arrays are the caller's. Threads:
 * thread-safe. */
#define GANTRY_BLOCK_LANES 16 /* elements of a block: one vector or more */

enum { FILLED_ELEMENTS = 256 };

/* in_blocks_T computes out[i] = f(x[i], y[i]) for i < count. The step of x or y must be 1, or 0 for
 * a scalar. loop_T only computes multiples of GANTRY_BLOCK_LANES, so the last block is padded with
 * its first element. */
#define IN_BLOCKS(T_)                                                                    \
    typedef void (*loop_##T_)(const T_ *x, const T_ *y, T_ *out, int64_t count);         \
    static void fill_##T_(T_ *values, T_ value, int64_t count) {                         \
        for (int64_t i = 0; i < count; ++i) {                                            \
            values[i] = value;                                                           \
        }                                                                                \
    }                                                                                    \
    static void in_blocks_##T_(loop_##T_ loop, const T_ *x, int64_t x_step, const T_ *y, \
                               int64_t y_step, T_ *out, int64_t count) {                 \
        const int64_t whole = count & -(int64_t)GANTRY_BLOCK_LANES;                      \
        const int64_t rest = count - whole;                                              \
        const int64_t most = x_step + y_step == 2 ? whole : FILLED_ELEMENTS;             \
        const int64_t filled = whole == 0                ? GANTRY_BLOCK_LANES            \
                               : whole < FILLED_ELEMENTS ? whole                         \
                                                         : FILLED_ELEMENTS;              \
        T_ xs[FILLED_ELEMENTS];                                                          \
        T_ ys[FILLED_ELEMENTS];                                                          \
        T_ few[GANTRY_BLOCK_LANES];                                                      \
                                                                                         \
        if (x_step == 0) {                                                               \
            fill_##T_(xs, x[0], filled);                                                 \
        }                                                                                \
        if (y_step == 0) {                                                               \
            fill_##T_(ys, y[0], filled);                                                 \
        }                                                                                \
        for (int64_t i = 0; i < whole; i += most) {                                      \
            loop(x_step == 0 ? xs : x + i, y_step == 0 ? ys : y + i, out + i,            \
                 whole - i < most ? whole - i : most);                                   \
        }                                                                                \
        if (rest == 0) {                                                                 \
            return;                                                                      \
        }                                                                                \
        for (int64_t e = 0; e < GANTRY_BLOCK_LANES; ++e) {                               \
            const int64_t at = whole + (e < rest ? e : 0);                               \
            xs[e] = x_step == 0 ? xs[e] : x[at];                                         \
            ys[e] = y_step == 0 ? ys[e] : y[at];                                         \
        }                                                                                \
        loop(xs, ys, few, GANTRY_BLOCK_LANES);                                           \
        memcpy(out + whole, few, (size_t)rest * sizeof *few);                            \
    }

IN_BLOCKS(float)
IN_BLOCKS(double)
#undef IN_BLOCKS
