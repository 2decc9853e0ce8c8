/* SPDX-License-Identifier: Apache-2.0 */
/* A float32 matrix product on NVIDIA's tensor cores, by inline PTX: c[i, j] = sum over p of a[i, p]
 * * b[p, j]. It must follow the portable dialect.cl and launch.cl.
 *
 * Tensor cores multiply TF32, float32 with 10 bits after the point. Each number is therefore split,
 * x = big + small, both TF32, and three products of the four are added up (the fourth is below
 * 2^-22 of the whole):
 *
 *     big * small + small * big + big * big
 *
 * Tensor cores cut their sums off instead of rounding them, which would add up over a long k. So
 * each sum in there spans 8 steps of k and starts from zero; the float32 sums proper are added
 * outside, rounded to nearest.
 *
 * One group of 256 work-items, 8 warps, makes SIDE x SIDE of c. For every DEPTH of k the group
 * copies SIDE x DEPTH of a and DEPTH x SIDE of b to local memory, which holds two such pairs: while
 * one is multiplied, the next is on its way in registers.
 *
 *     c    +---+---+---+---+  a warp has FRAGS x FRAGS fragments of 16 x 8
 *          | 0 | 1 | 2 | 3 |
 *          +---+---+---+---+
 *          | 4 | 5 | 6 | 7 |
 *          +---+---+---+---+
 *
 * An operand that runs on along k in memory does so in local memory, too, DEPTH + 4 apart, else
 * SIDE + 8 apart: either way the 32 lanes that read a fragment hit 32 banks.
 *
 * What cannot be split (infinities, NaN, beyond 2^60) or would lose bits by it (below 2^-112) makes
 * the group multiply that piece of k without tensor cores: results are those of float32 arithmetic,
 * no product overflows in a tensor core. So does a k below DEPTH.
 *
 * Options: GANTRY_SIDE 128 or 64; GANTRY_A_ALONG, GANTRY_B_ALONG 1 when the operand runs on along
 * k; GANTRY_QUADS 1 when rows of both are whole float4; GANTRY_EMULATED 1 for plain OpenCL C that
 * moves fragments as the PTX ISA's tables say and cuts sums off likewise (slow, for tests on any
 * device with float64). Sources of the scheme: the PTX ISA, "Matrix Fragments for mma.m16n8k8";
 * Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing
 * the FP32 theoretical peak performance", 2022. */
#define ITEMS 256
#define SIDE GANTRY_SIDE
#define FRAGS (SIDE / 32)
#define DEPTH 16
#define STRIP 8 /* rows of tiles that are worked on together, for the second cache's sake */

#define LINE_QUADS(is_along) ((is_along) ? DEPTH / 4 : SIDE / 4)
#define PITCH(is_along) ((is_along) ? DEPTH + 4 : SIDE + 8)
#define AT(is_along, i, p) ((is_along) ? (i)*PITCH(1) + (p) : (p)*PITCH(0) + (i))
#define TILE_QUADS (SIDE * (DEPTH + 4) / 4) /* room for either kind */
#define QUADS_EACH (SIDE * DEPTH / 4 / ITEMS)

/* By itself ptxas plans for three groups of the small side at once, for which it must spill; OpenCL
 * has no word for it. */
#if defined(__CUDACC__) && SIDE == 64
#define TENSOR_KERNEL extern "C" __global__ __launch_bounds__(ITEMS, 2) void
#elif defined(__CUDACC__)
#define TENSOR_KERNEL extern "C" __global__ __launch_bounds__(ITEMS) void
#else
#define TENSOR_KERNEL __kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
#endif

/* Must have the same fields as the host's struct. Strides of the batch are in elements, 0 where an
 * operand is broadcast. */
typedef struct {
    GANTRY_LONG m, n, k;
    GANTRY_LONG tiles_down, tiles_across;
    GANTRY_LONG batch_rank;
    GANTRY_LONG batch_dims[6], a_batch[6], b_batch[6];
} problem_t;

/* ---- fragments: a warp's 16 x 8 of a, 8 x 8 of b, 16 x 8 of c, spread over its lanes ---- */

#if GANTRY_EMULATED

#define UNROLL
#define EXCHANGE_WORDS (ITEMS * 6)

GANTRY_FN uint round_tf32(float x) { return (GANTRY_AS_UINT(x) + 0x1000u) & 0xffffe000u; }

/* d += a * b. Lane 4 * g + t holds of a [g, t], [g + 8, t], [g, t + 4], [g + 8, t + 4]; of b [t,
 * g], [t + 4, g]; of d [g, 2 t], [g, 2 t + 1], [g + 8, 2 t], [g + 8, 2 t + 1]. */
GANTRY_FN void multiply(float *d, const uint *a, const uint *b, GANTRY_LOCAL_POINTER(uint) warp,
                        int item) {
    const int lane = item % 32;
    for (int i = 0; i < 6; ++i) {
        warp[lane * 6 + i] = i < 4 ? a[i] : b[i - 4];
    }
    GANTRY_BARRIER();
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8;
        const int column = lane % 4 * 2 + i % 2;
        double sum = d[i];
        for (int p = 0; p < 8; ++p) {
            const uint x = warp[(row % 8 * 4 + p % 4) * 6 + row / 8 + p / 4 * 2];
            const uint y = warp[(column * 4 + p % 4) * 6 + 4 + p / 4];
            sum += (double)GANTRY_AS_FLOAT(x) * (double)GANTRY_AS_FLOAT(y);
        }
        d[i] = convert_float_rtz(sum);
    }
    GANTRY_BARRIER();
}

#else

#define UNROLL _Pragma("unroll")
#define EXCHANGE_WORDS 8

GANTRY_FN uint round_tf32(float x) {
    uint bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

GANTRY_FN void multiply(float *d, const uint *a, const uint *b, GANTRY_LOCAL_POINTER(uint) warp,
                        int item) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

/* ---- from global to local memory ---- */

/* Reads the next four elements, of which `count` exist; the others are zeros. */
GANTRY_FN float4 read_quad(GANTRY_GLOBAL const float *from, int count) {
    float4 quad;
    quad.x = quad.y = quad.z = quad.w = 0.0f;
#if GANTRY_QUADS
    if (count > 0) {
        quad = *(GANTRY_GLOBAL const float4 *)from;
    }
#else
    if (count > 0) {
        quad.x = from[0];
    }
    if (count > 1) {
        quad.y = from[1];
    }
    if (count > 2) {
        quad.z = from[2];
    }
    if (count > 3) {
        quad.w = from[3];
    }
#endif
    return quad;
}

/* Reads this work-item's part of an operand's tile, which has `size` rows of a or columns of b and
 * `depth` steps of k; lines are `length` apart. */
GANTRY_FN void fetch_tile(float4 *quads, GANTRY_GLOBAL const float *from, GANTRY_LONG length,
                          int size, int depth, int is_along, int item) {
    const int lines = is_along ? size : depth;
    const int end = is_along ? depth : size;
    UNROLL
    for (int q = 0; q < QUADS_EACH; ++q) {
        const int line = (item + q * ITEMS) / LINE_QUADS(is_along);
        const int at = (item + q * ITEMS) % LINE_QUADS(is_along) * 4;
        quads[q] = read_quad(from + line * length + at, line < lines ? end - at : 0);
    }
}

/* Whether x must not be split: at least 2^60, or below 2^-112 and not 0. */
GANTRY_FN int is_wild(float x) {
    const uint size = GANTRY_AS_UINT(x) & 0x7fffffffu;
    return size >= 0x5d800000u || size - 1u < 0x077fffffu;
}

/* Returns whether a number among them must not be split. */
GANTRY_FN int store_tile(GANTRY_LOCAL_POINTER(float4) tile, const float4 *quads, int is_along,
                         int item) {
    int wild = 0;
    UNROLL
    for (int q = 0; q < QUADS_EACH; ++q) {
        const int quad = item + q * ITEMS;
        tile[quad / LINE_QUADS(is_along) * (PITCH(is_along) / 4) + quad % LINE_QUADS(is_along)] =
            quads[q];
        wild |=
            is_wild(quads[q].x) | is_wild(quads[q].y) | is_wild(quads[q].z) | is_wild(quads[q].w);
    }
    return wild;
}

/* ---- products of two tiles; row and column are where the warp's part begins ---- */

/* sums[m][n] is a fragment of c, spread over the lanes as multiply() has it. */
#define SUM(m, n, i) sums[((m)*FRAGS + (n)) * 4 + (i)]

GANTRY_FN void split(float x, uint *big, uint *small) {
    *big = round_tf32(x);
    *small = round_tf32(x - GANTRY_AS_FLOAT(*big));
}

GANTRY_FN void multiply_tensor(float *sums, GANTRY_LOCAL_POINTER(const float) a,
                               GANTRY_LOCAL_POINTER(const float) b, int row, int column,
                               GANTRY_LOCAL_POINTER(uint) warp, int item) {
    const int g = item % 32 / 4;
    const int t = item % 4;
    UNROLL
    for (int p = 0; p < DEPTH; p += 8) {
        uint a_big[4], a_small[4], b_big[FRAGS * 2], b_small[FRAGS * 2];
        UNROLL
        for (int i = 0; i < FRAGS * 2; ++i) {
            split(b[AT(GANTRY_B_ALONG, column + i / 2 * 8 + g, p + i % 2 * 4 + t)], &b_big[i],
                  &b_small[i]);
        }
        UNROLL
        for (int m = 0; m < FRAGS; ++m) {
            UNROLL
            for (int i = 0; i < 4; ++i) {
                split(a[AT(GANTRY_A_ALONG, row + m * 16 + i % 2 * 8 + g, p + i / 2 * 4 + t)],
                      &a_big[i], &a_small[i]);
            }
            UNROLL
            for (int n = 0; n < FRAGS; ++n) {
                float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                multiply(part, a_small, b_big + n * 2, warp, item);
                multiply(part, a_big, b_small + n * 2, warp, item);
                multiply(part, a_big, b_big + n * 2, warp, item);
                UNROLL
                for (int i = 0; i < 4; ++i) {
                    SUM(m, n, i) += part[i];
                }
            }
        }
    }
}

/* The same sums in float32 arithmetic. */
GANTRY_FN void multiply_plain(float *sums, GANTRY_LOCAL_POINTER(const float) a,
                              GANTRY_LOCAL_POINTER(const float) b, int row, int column, int item) {
    const int g = item % 32 / 4;
    const int t = item % 4;
    for (int p = 0; p < DEPTH; ++p) {
        UNROLL
        for (int m = 0; m < FRAGS; ++m) {
            UNROLL
            for (int n = 0; n < FRAGS; ++n) {
                UNROLL
                for (int i = 0; i < 4; ++i) {
                    const float x = a[AT(GANTRY_A_ALONG, row + m * 16 + i / 2 * 8 + g, p)];
                    const float y = b[AT(GANTRY_B_ALONG, column + n * 8 + 2 * t + i % 2, p)];
                    SUM(m, n, i) = fma(x, y, SUM(m, n, i));
                }
            }
        }
    }
}

GANTRY_FN void store_sums(GANTRY_GLOBAL float *c, const float *sums, GANTRY_LONG line, int row,
                          int column, int rows, int columns, int item) {
    const int g = item % 32 / 4;
    const int t = item % 4;
    UNROLL
    for (int m = 0; m < FRAGS; ++m) {
        UNROLL
        for (int n = 0; n < FRAGS; ++n) {
            UNROLL
            for (int i = 0; i < 4; ++i) {
                const int to_row = row + m * 16 + i / 2 * 8 + g;
                const int to_column = column + n * 8 + 2 * t + i % 2;
                if (to_row < rows && to_column < columns) {
                    c[to_row * line + to_column] = SUM(m, n, i);
                }
            }
        }
    }
}

/* ---- the kernel ---- */

/* Where the batch's element begins in an operand. */
GANTRY_FN GANTRY_LONG batch_offset(const problem_t *plan, const GANTRY_LONG *strides,
                                   GANTRY_LONG index) {
    GANTRY_LONG offset = 0;
    for (int d = (int)plan->batch_rank - 1; d >= 0; --d) {
        offset += index % plan->batch_dims[d] * strides[d];
        index /= plan->batch_dims[d];
    }
    return offset;
}

GANTRY_FN int at_most(GANTRY_LONG size, int most) { return size < most ? (int)size : most; }

TENSOR_KERNEL opencl_tensor_matmul(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(c),
                                   const problem_t plan) {
    GANTRY_LOCAL_ARRAY(float4, a_tiles, 2 * TILE_QUADS);
    GANTRY_LOCAL_ARRAY(float4, b_tiles, 2 * TILE_QUADS);
    GANTRY_LOCAL_ARRAY(uint, exchange, EXCHANGE_WORDS);
    GANTRY_LOCAL_ARRAY(int, wild, 2); /* the last even and odd step whose tiles cannot be split */
    const GANTRY_LONG batch = GANTRY_GROUP_ID(0) / (plan.tiles_down * plan.tiles_across);
    const GANTRY_LONG tile = GANTRY_GROUP_ID(0) % (plan.tiles_down * plan.tiles_across);
    const GANTRY_LONG strip = tile / (STRIP * plan.tiles_across);
    const int height = at_most(plan.tiles_down - strip * STRIP, STRIP);
    const int place = (int)(tile % (STRIP * plan.tiles_across));
    const GANTRY_LONG row = (strip * STRIP + place % height) * SIDE;
    const GANTRY_LONG column = (GANTRY_LONG)(place / height) * SIDE;
    const int rows = at_most(plan.m - row, SIDE);
    const int columns = at_most(plan.n - column, SIDE);
    const GANTRY_LONG a_line = GANTRY_A_ALONG ? plan.k : plan.m;
    const GANTRY_LONG b_line = GANTRY_B_ALONG ? plan.k : plan.n;
    GANTRY_GLOBAL const float *x = GANTRY_IN(float, a) + batch_offset(&plan, plan.a_batch, batch) +
                                   row * (GANTRY_A_ALONG ? a_line : 1);
    GANTRY_GLOBAL const float *y = GANTRY_IN(float, b) + batch_offset(&plan, plan.b_batch, batch) +
                                   column * (GANTRY_B_ALONG ? b_line : 1);
    GANTRY_GLOBAL float *z = GANTRY_OUT(float, c) + batch * plan.m * plan.n + row * plan.n + column;
    const int steps = (int)((plan.k + DEPTH - 1) / DEPTH);
    const int item = (int)GANTRY_LOCAL_ID(0);
    const int warp_row = item / 128 * (SIDE / 2);
    const int warp_column = item / 32 % 4 * (SIDE / 4);
    /* The warp's memory, and so no constant: PoCL 3.1 lets all groups share an array if functions
     * get only its address. */
    GANTRY_LOCAL_POINTER(uint) warp = exchange + item / 32 * (EXCHANGE_WORDS / 8);
    float4 a_next[QUADS_EACH], b_next[QUADS_EACH];
    float sums[FRAGS * FRAGS * 4];
    UNROLL
    for (int i = 0; i < FRAGS * FRAGS * 4; ++i) {
        sums[i] = 0.0f;
    }
    if (item < 2) {
        wild[item] = -1;
    }
    GANTRY_BARRIER();
    /* the first turn only fetches, the last only multiplies */
    for (int step = -1; step < steps; ++step) {
        const int here = step & 1;
        if (step + 1 < steps) {
            const int depth = at_most(plan.k - (GANTRY_LONG)(step + 1) * DEPTH, DEPTH);
            fetch_tile(a_next, x, a_line, rows, depth, GANTRY_A_ALONG, item);
            fetch_tile(b_next, y, b_line, columns, depth, GANTRY_B_ALONG, item);
            x += DEPTH * (GANTRY_A_ALONG ? 1 : a_line);
            y += DEPTH * (GANTRY_B_ALONG ? 1 : b_line);
        }
        if (step >= 0) {
            GANTRY_LOCAL_POINTER(const float)
            a_tile = (GANTRY_LOCAL_POINTER(const float))(a_tiles + here * TILE_QUADS);
            GANTRY_LOCAL_POINTER(const float)
            b_tile = (GANTRY_LOCAL_POINTER(const float))(b_tiles + here * TILE_QUADS);
            if (wild[here] == step) {
                multiply_plain(sums, a_tile, b_tile, warp_row, warp_column, item);
            } else {
                multiply_tensor(sums, a_tile, b_tile, warp_row, warp_column, warp, item);
            }
        }
        if (step + 1 < steps) {
            /* too few products for their errors, up to 3 ulp each, to even out */
            int found = plan.k < DEPTH;
            found |= store_tile(a_tiles + (1 - here) * TILE_QUADS, a_next, GANTRY_A_ALONG, item);
            found |= store_tile(b_tiles + (1 - here) * TILE_QUADS, b_next, GANTRY_B_ALONG, item);
            if (found) {
                wild[1 - here] = step + 1;
            }
        }
        GANTRY_BARRIER();
    }
    store_sums(z, sums, plan.n, warp_row, warp_column, rows, columns, item);
}
