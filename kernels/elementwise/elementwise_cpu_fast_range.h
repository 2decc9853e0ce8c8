/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of floats, block by block: a block without rare arguments skips the steps that only
 * rare arguments need. The bits are the same. The text's own choice, GANTRY_ANY_LANE, would be a
 * branch inside the loop.
 *
 *   Sin, Cos, Tan           rare are large arguments (math_float32_trig.cl); a fourth of the cost
 *   Sin, Cos of float64     rare are large ones (math_float64_trig.cl). The C library computes
 *                           them one by one, so all instruction sets share the base's loop
 *   Lgamma, Digamma         rare are negative ones (math_float32_gamma.cl); half of the cost
 *   FloorMod, TruncateMod   rare are large quotients (math_modulo.cl), computed one by one
 *
 * elementwise_cpu_simd.c must include this once, after the loops of floats, which compute the
 * blocks that have rare arguments. Owner: arrays are the caller's. Threads: thread-safe. */
enum { NEAR_BLOCK = 256 };

/* Whether all magnitudes are below the limit; false for NaN. */
static int32_t all_near(const float *x, int64_t count) {
    uint32_t greatest = 0;

    for (int64_t i = 0; i < count; ++i) {
        const uint32_t magnitude = GANTRY_AS_UINT(x[i]) & 0x7fffffffu;
        greatest = magnitude > greatest ? magnitude : greatest;
    }
    return greatest < GANTRY_AS_UINT(GANTRY_NEAR_LIMIT_F32);
}

static int32_t all_near_double(const double *x, int64_t count) {
    uint64_t below = UINT64_MAX; /* the highest bit says whether all are below */

    for (int64_t i = 0; i < count; ++i) {
        below &=
            (GANTRY_AS_ULONG(x[i]) & (UINT64_MAX >> 1)) - GANTRY_AS_ULONG(GANTRY_NEAR_LIMIT_F64);
    }
    return below >> 63 != 0;
}

/* Whether all have a positive sign. */
static int32_t all_positive(const float *x, int64_t count) {
    uint32_t bits = 0;

    for (int64_t i = 0; i < count; ++i) {
        bits |= GANTRY_AS_UINT(x[i]);
    }
    return bits >> 31 == 0;
}

#if defined(GANTRY_BLOCK_LANES)
#define WHOLE(count) ((count) & -(int64_t)GANTRY_BLOCK_LANES)
#define RUN_NEAR(T_, near, x, out, count) in_blocks_##T_(near, x, 1, x, 1, out, count)
#else
#define WHOLE(count) (count)
#define RUN_NEAR(T_, near, x, out, count) near(x, x, out, count)
#endif

/* name is the op's name with the type, as in the loops' names; far computes the blocks with other
 * arguments. */
#define NEAR_LOOPS(T_, name, function, is_near, far)                                          \
    static void name##_near(const T_ *x, const T_ *y, T_ *out, int64_t count) {               \
        (void)y;                                                                              \
        GANTRY_INDEPENDENT                                                                    \
        for (int64_t i = 0; i < WHOLE(count); ++i) {                                          \
            out[i] = gantry__##function(x[i]);                                                \
        }                                                                                     \
    }                                                                                         \
    static int32_t name##_blocks(const void *xs, const void *ys, void *outs, int64_t count) { \
        for (int64_t i = 0; i < count; i += NEAR_BLOCK) {                                     \
            const T_ *x = (const T_ *)xs + i;                                                 \
            T_ *out = (T_ *)outs + i;                                                         \
            const int64_t length = count - i < NEAR_BLOCK ? count - i : NEAR_BLOCK;           \
            if (is_near(x, length)) {                                                         \
                RUN_NEAR(T_, name##_near, x, out, length);                                    \
            } else {                                                                          \
                far(x, ys, out, length);                                                      \
            }                                                                                 \
        }                                                                                     \
        return 0;                                                                             \
    }

NEAR_LOOPS(float, Sin_f32, sin_near_f32, all_near, Sin_f32_dense)
NEAR_LOOPS(float, Cos_f32, cos_near_f32, all_near, Cos_f32_dense)
NEAR_LOOPS(float, Tan_f32, tan_near_f32, all_near, Tan_f32_dense)
NEAR_LOOPS(float, Lgamma_f32, lgamma_near_f32, all_positive, Lgamma_f32_dense)
NEAR_LOOPS(float, Digamma_f32, digamma_near_f32, all_positive, Digamma_f32_dense)

/* The far numbers of a better set go through the base's loop, so that the library omits the set's
 * own. The base itself cannot do so, nor can a library of one set, which is its base. */
#if defined(GANTRY_BLOCK_LANES) && !defined(GANTRY_CPU_ONLY_SET)
static void far_double(uint32_t row, const void *x, const void *y, void *out, int64_t count) {
    gantry__cpu_element_loops_base(GANTRY_CPU_COLUMN_f64)[row].dense(x, y, out, count);
}

#define FAR_DOUBLE(name, x, y, out, count) \
    ((void)name##_f64_dense, far_double(GANTRY_K_ROW_##name, x, y, out, count))
#define Sin_far(x, y, out, count) FAR_DOUBLE(Sin, x, y, out, count)
#define Cos_far(x, y, out, count) FAR_DOUBLE(Cos, x, y, out, count)
NEAR_LOOPS(double, Sin_f64, sin_near_f64, all_near_double, Sin_far)
NEAR_LOOPS(double, Cos_f64, cos_near_f64, all_near_double, Cos_far)
#else
NEAR_LOOPS(double, Sin_f64, sin_near_f64, all_near_double, Sin_f64_dense)
NEAR_LOOPS(double, Cos_f64, cos_near_f64, all_near_double, Cos_f64_dense)
#endif
#undef NEAR_LOOPS

/* These loops replace the plain ones in the table. */
#define Sin_f32_dense Sin_f32_blocks
#define Cos_f32_dense Cos_f32_blocks
#define Tan_f32_dense Tan_f32_blocks
#define Lgamma_f32_dense Lgamma_f32_blocks
#define Digamma_f32_dense Digamma_f32_blocks
#define Sin_f64_dense Sin_f64_blocks
#define Cos_f64_dense Cos_f64_blocks

#if defined(GANTRY_BLOCK_LANES)
/* Whether every quotient of the block is near; false if there is a zero or a NaN. */
static int32_t all_quotients_near(const float *x, int64_t x_count, const float *y,
                                  int64_t y_count) {
    uint32_t greatest = 0;
    uint32_t least = UINT32_MAX;

    for (int64_t i = 0; i < x_count; ++i) {
        const uint32_t magnitude = GANTRY_AS_UINT(x[i]) & 0x7fffffffu;
        greatest = magnitude > greatest ? magnitude : greatest;
    }
    for (int64_t i = 0; i < y_count; ++i) {
        const uint32_t magnitude = GANTRY_AS_UINT(y[i]) & 0x7fffffffu;
        least = magnitude < least ? magnitude : least;
    }
    return GANTRY_AS_FLOAT(greatest) <= GANTRY_AS_FLOAT(least) * GANTRY_MODULO_NEAR_F32;
}

#define MODULO_LOOP(name, form, x_step, y_step)                                                    \
    static int32_t name##_near_##form(const void *xs, const void *ys, void *outs, int64_t count) { \
        for (int64_t i = 0; i < count; i += NEAR_BLOCK) {                                          \
            const float *x = (const float *)xs + i * x_step;                                       \
            const float *y = (const float *)ys + i * y_step;                                       \
            float *out = (float *)outs + i;                                                        \
            const int64_t length = count - i < NEAR_BLOCK ? count - i : NEAR_BLOCK;                \
            if (all_quotients_near(x, x_step == 0 ? 1 : length, y, y_step == 0 ? 1 : length)) {    \
                in_blocks_float(name##_near, x, x_step, y, y_step, out, length);                   \
            } else {                                                                               \
                name##_f32_##form(x, y, out, length);                                              \
            }                                                                                      \
        }                                                                                          \
        return 0;                                                                                  \
    }
#define MODULO_LOOPS(name, function)                                                     \
    static void name##_near(const float *x, const float *y, float *out, int64_t count) { \
        GANTRY_INDEPENDENT                                                               \
        for (int64_t i = 0; i < WHOLE(count); ++i) {                                     \
            out[i] = gantry__##function##_near_f32(x[i], y[i]);                          \
        }                                                                                \
    }                                                                                    \
    MODULO_LOOP(name, dense, 1, 1)                                                       \
    MODULO_LOOP(name, y_scalar, 1, 0)                                                    \
    MODULO_LOOP(name, x_scalar, 0, 1)

MODULO_LOOPS(FloorMod, floor_mod)
MODULO_LOOPS(TruncateMod, fmod)
#undef MODULO_LOOP
#undef MODULO_LOOPS

#define FloorMod_f32_dense FloorMod_near_dense
#define FloorMod_f32_y_scalar FloorMod_near_y_scalar
#define FloorMod_f32_x_scalar FloorMod_near_x_scalar
#define TruncateMod_f32_dense TruncateMod_near_dense
#define TruncateMod_f32_y_scalar TruncateMod_near_y_scalar
#define TruncateMod_f32_x_scalar TruncateMod_near_x_scalar
#endif
