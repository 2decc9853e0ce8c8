/* Sin, Cos and Tan of float32 block by block: a block without a large argument takes the text's functions for near ones
 * (math_float32_trig.cl), which have the same bits at a fourth of the cost; the text's own choice, GANTRY_ANY, would be
 * a branch in the loop. Included once by cpu_elementwise_simd.c, after the loops of float32, which the others take. */
enum { NEAR_BLOCK = 256 };

/* Are all magnitudes below the limit? NaN is not. */
static int32_t all_near(const float *x, int64_t count)
{
    uint32_t greatest = 0;

    for (int64_t i = 0; i < count; i++) {
        const uint32_t magnitude = GANTRY_AS_UINT(x[i]) & 0x7fffffffu;
        greatest = magnitude > greatest ? magnitude : greatest;
    }
    return greatest < GANTRY_AS_UINT(GANTRY_NEAR_LIMIT_F32);
}

#define NEAR_LOOPS(name, function)                                                                  \
    static void name##_near(const float *x, float *out, int64_t count)                              \
    {                                                                                               \
        GANTRY_INDEPENDENT                                                                          \
        for (int64_t i = 0; i < count; i++) {                                                       \
            out[i] = gantry_##function##_near_f32(x[i]);                                            \
        }                                                                                           \
    }                                                                                               \
    static int32_t name##_blocks(const void *xs, const void *ys, void *outs, int64_t count)         \
    {                                                                                               \
        for (int64_t i = 0; i < count; i += NEAR_BLOCK) {                                           \
            const float *x = (const float *)xs + i;                                                 \
            float *out = (float *)outs + i;                                                         \
            const int64_t length = count - i < NEAR_BLOCK ? count - i : NEAR_BLOCK;                 \
            if (all_near(x, length)) {                                                              \
                name##_near(x, out, length);                                                        \
            } else {                                                                                \
                name##_1_dense(x, ys, out, length);                                                 \
            }                                                                                       \
        }                                                                                           \
        return 0;                                                                                   \
    }

NEAR_LOOPS(Sin, sin)
NEAR_LOOPS(Cos, cos)
NEAR_LOOPS(Tan, tan)
#undef NEAR_LOOPS

/* What the table takes for them. */
#define Sin_1_dense Sin_blocks
#define Cos_1_dense Cos_blocks
#define Tan_1_dense Tan_blocks
