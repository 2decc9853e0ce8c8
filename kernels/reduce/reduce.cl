/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: Sum, Mean, Max, Min, Prod, All, Any and EuclideanNorm, one tree for every device. A
 * sum's bits depend on the order of its additions. Gantry fixes that order only by the sequence's
 * length, not by threads, vector width, work-group size or the axes' places in memory. So Sum and
 * Mean have the same bits on the CPU backend at any instruction set, on PoCL and on GPUs.
 *
 *   A sequence is what becomes one element of the output: the reduced axes' elements in row-major
 *   order, x[0] to x[n - 1]. A single element is the result (a copy, so that -0 stays). Otherwise:
 *
 *   chunk   x is cut into chunks of 4096; the last one may be shorter.
 *   lane    in a chunk, lane l of 64 starts at the identity and takes x[l], x[l + 64], x[l + 128],
 *           ... in this order.
 *   fold    lane l takes lane l + apart, for apart = 32, 16, 8, 4, 2, 1 and l < apart. Lane 0 is
 *           the chunk's result.
 *   levels  the chunks' results are a sequence of their own, reduced in the same way, until one is
 *           left.
 *
 *       x:    0 1 2 ... 63 | 64 65 ... 127 | ...           lane 0 = ((+0 + x0) + x64) + x128 + ...
 *             `------- one chunk, 64 rows of 64 ---------'
 *       fold: 0+32 1+33 ... 31+63  ->  0+16 ... 15+31  ->  ...  ->  0+1
 *
 * The identity is +0 for sums, 1 for products, -infinity or the least integer for Max, +infinity or
 * the greatest for Min. A lane that starts at +0 never becomes -0, so a lane without elements may
 * be folded or left out: the bits are the same.
 *   Mean divides the sum by the length, correctly rounded, in the element type; for integers the
 * sum is taken in 64 bits and the division truncates. Max and Min spread NaN; of zeros of two signs
 * the earlier wins. Integers wrap. EuclideanNorm is the root of a sum of squares. Halves become
 * float32 when they are read, partial results are float32, and the last level rounds once
 * (reduce_finish.cl). All and Any are Min and Max of bytes.
 *
 * Cost: n operations, n / 4096 elements of scratch. The error of a sum is at most 70 roundings per
 * level.
 *
 * Forms, for one level, in -> out; out is [outer][chunks][columns], columns being the kept axes
 * after the last reduced:
 *   reduce_group   GPUs, few columns: a work-item for each lane of one chunk of one column;
 *                  sequences shorter than 64 have as many lanes as the least power of two that
 *                  holds them, and more chunks in a group
 *   reduce_few     GPUs, so few sequences that each can have a compute unit, up to four chunks: a
 *                  work-group for a whole sequence, its chunks and the level above them
 *   reduce_block8, reduce_block32, reduce_block32_lines
 *                  GPUs, more columns: neighbouring work-items take neighbouring columns, and 8 or
 *                  32 of them share one chunk of a column: item r has lanes r, r + 8, r + 16, ...,
 *                  so the first folds are its own. A group of 256 that shares a column by 32 has 8
 *                  columns, so 32 items touch four rows, a part of a line of memory in each. A
 *                  group of 1024 has 32 columns, and reads lines as a whole
 *   reduce_item    GPUs, so many columns that there is an item for each, or short sequences: a
 *                  work-item for one chunk of one column, fold's order
 *   reduce_narrow  CPUs, few columns: a work-group of one for chunks of all columns, lanes
 *                  [64][columns]
 *   reduce_wide    CPUs, many columns: a work-group of one for chunks of 256 columns, fold's order
 *   reduce_small   CPUs, short sequences: a work-group of one, 64 at a time, transposed
 *   reduce_line    CPUs, longer sequences of neighbours, one column: reduce_line.cl
 *
 * The fold's order: lanes visited with their six bits reversed, 0, 32, 16, 48, ..., as a binary
 * counter carries: each is folded as soon as its partner is there, and six partial sums are kept
 * instead of 64.
 * Options: GANTRY_T, the type that is read; GANTRY_REDUCE_OP, what the nodes do, a
 * GANTRY_TREE_... of reduce_tree.cl; GANTRY_SERIAL 1 for the forms of CPUs, 0 for those of GPUs. */

#define REDUCE_IS_EXTREME \
    (GANTRY_REDUCE_OP == GANTRY_TREE_MAX || GANTRY_REDUCE_OP == GANTRY_TREE_MIN)

/* ACC is the type of partial results; REDUCE_LOAD makes an element what enters its lane. */
#if GANTRY_REDUCE_OP == GANTRY_TREE_WIDE_SUM
typedef ulong ACC;
#define REDUCE_LOAD(x) ((ACC)(GANTRY_LONG)(x))
#elif REDUCE_IS_EXTREME
typedef C ACC;
#define REDUCE_LOAD(x) GANTRY_WIDEN(x)
#else
typedef U ACC;
#if GANTRY_REDUCE_OP == GANTRY_TREE_SQUARES
#define REDUCE_LOAD(x) reduce_square((ACC)GANTRY_WIDEN(x))
GANTRY_FN ACC reduce_square(ACC x) { return x * x; }
#else
#define REDUCE_LOAD(x) ((ACC)GANTRY_WIDEN(x))
#endif
#endif

#if GANTRY_REDUCE_OP == GANTRY_TREE_MAX
#define REDUCE_OP(a, b) (((b) != (b)) | ((b) > (a)) ? (b) : (a)) /* without a branch */
#elif GANTRY_REDUCE_OP == GANTRY_TREE_MIN
#define REDUCE_OP(a, b) (((b) != (b)) | ((b) < (a)) ? (b) : (a))
#elif GANTRY_REDUCE_OP == GANTRY_TREE_PRODUCT
#define REDUCE_OP(a, b) ((a) * (b))
#define REDUCE_IDENTITY ((ACC)1)
#else
#define REDUCE_OP(a, b) ((a) + (b))
#define REDUCE_IDENTITY ((ACC)0)
#endif

/* The greatest value of an integer type has all bits set but the sign. */
#if REDUCE_IS_EXTREME
#if GANTRY_T_IS(f64)
#define REDUCE_IDENTITY                                                                         \
    GANTRY_AS_DOUBLE(((ulong)(GANTRY_REDUCE_OP == GANTRY_TREE_MAX ? 0xfff00000u : 0x7ff00000u)) \
                     << 32)
#elif GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF
#define REDUCE_IDENTITY \
    GANTRY_AS_FLOAT(GANTRY_REDUCE_OP == GANTRY_TREE_MAX ? 0xff800000u : 0x7f800000u)
#elif GANTRY_T_IS_SIGNED
#define REDUCE_GREATEST ((ACC)(~(ulong)0 >> (65 - 8 * sizeof(ACC))))
#define REDUCE_IDENTITY \
    (GANTRY_REDUCE_OP == GANTRY_TREE_MAX ? (ACC)(-REDUCE_GREATEST - 1) : REDUCE_GREATEST)
#else
#define REDUCE_IDENTITY (GANTRY_REDUCE_OP == GANTRY_TREE_MAX ? (ACC)0 : (ACC) ~(ulong)0)
#endif
#endif

#define LANES 64
#define CHUNK 4096

/* One level, with the fields that the host's struct must have. Sizes and strides are in elements,
 * the slowest of `rank` axes first. */
typedef struct {
    GANTRY_LONG length; /* a sequence's */
    GANTRY_LONG chunks, columns;
    GANTRY_LONG units;  /* units of work, which depend on the form */
    GANTRY_LONG each;   /* units of a work-group, on CPUs */
    GANTRY_LONG blocks; /* for reduce_wide, reduce_block: units for the columns of a chunk */
    GANTRY_LONG lanes;  /* for reduce_group: at most 64 */
    GANTRY_LONG finish; /* what to do with results: GANTRY_FINISH_... */
    GANTRY_LONG divisor;
    GANTRY_LONG stored; /* the type of out's elements, a number of abi_types.h */
    GANTRY_LONG kept_rank, kept_dims[4], kept_strides[4];
    GANTRY_LONG reduced_rank, reduced_dims[4], reduced_strides[4];
} reduce_level_t;

GANTRY_FN GANTRY_LONG row_offset(const reduce_level_t *level, GANTRY_LONG row) {
    return gantry__offset(4, level->reduced_rank, level->reduced_dims, level->reduced_strides, row);
}

GANTRY_FN GANTRY_LONG sequence_offset(const reduce_level_t *level, GANTRY_LONG outer) {
    return gantry__offset(4, level->kept_rank, level->kept_dims, level->kept_strides, outer);
}

/* A chunk, by its number in [outer][chunks]: the start of its sequence, and its first row. */
typedef struct {
    GANTRY_LONG offset, row;
} chunk_t;

GANTRY_FN chunk_t find_chunk(const reduce_level_t *level, GANTRY_LONG number) {
    const GANTRY_LONG outer = gantry__divide_position(number, level->chunks);
    chunk_t chunk;
    chunk.offset = sequence_offset(level, outer);
    chunk.row = (number - outer * level->chunks) * CHUNK;
    return chunk;
}

/* Stores the result of value, in the type of out, to out[at]. */
GANTRY_FN void put(GANTRY_SPAN_OUT(out), const reduce_level_t *level, GANTRY_LONG at, ACC value) {
#if REDUCE_IS_EXTREME && !GANTRY_T_IS_HALF && !GANTRY_T_IS(f32)
    GANTRY_OUT(ACC, out)[at] = value;
#elif GANTRY_T_IS(f32) || GANTRY_T_IS_HALF
    value = level->finish == GANTRY_FINISH_QUOTIENT ? value / (ACC)level->divisor
            : level->finish == GANTRY_FINISH_ROOT   ? GANTRY_SQRT_F32(value)
                                                    : value;
    if (level->stored == GANTRY_FLOAT32) {
        GANTRY_OUT(float, out)[at] = value;
    } else {
        GANTRY_OUT(ushort, out)
        [at] = level->stored == GANTRY_FLOAT16 ? gantry__f32_to_f16(value)
                                               : gantry__f32_to_bf16(value);
    }
#elif GANTRY_T_IS(f64)
    GANTRY_OUT(ACC, out)
    [at] = level->finish == GANTRY_FINISH_QUOTIENT ? value / (ACC)level->divisor
           : level->finish == GANTRY_FINISH_ROOT   ? GANTRY_SQRT_F64(value)
                                                   : value;
#else
    const int stored = (int)level->stored;
    const int size = gantry__integer_size(stored);
    ulong result = value;
    if (level->finish == GANTRY_FINISH_QUOTIENT) {
        result = gantry__integer_quotient(result, level->divisor, stored);
    } else if (level->finish == GANTRY_FINISH_ROOT) {
        result = gantry__integer_root(result, stored);
    }
    if (size == 8) {
        GANTRY_OUT(ulong, out)[at] = result;
    } else if (size == 4) {
        GANTRY_OUT(uint, out)[at] = (uint)result;
    } else if (size == 2) {
        GANTRY_OUT(ushort, out)[at] = (ushort)result;
    } else {
        GANTRY_OUT(uchar, out)[at] = (uchar)result;
    }
#endif
}
#define PUT(at, value) put(out_base, out_offset, &level, at, value)

/* The number of elements of the chunk that starts at row. */
GANTRY_FN GANTRY_LONG chunk_rows(const reduce_level_t *level, GANTRY_LONG row) {
    return level->length - row < CHUNK ? level->length - row : CHUNK;
}

/* The least power of two that is at least rows, 64 at most. Lanes beyond it hold the identity. */
GANTRY_FN int lanes_used(GANTRY_LONG rows) {
    int lanes = LANES;
    while (lanes / 2 >= rows) {
        lanes /= 2;
    }
    return lanes;
}

/* The bits of index below lanes, which must be a power of two, in reverse order. */
GANTRY_FN int reversed(int index, int lanes) {
    int result = 0;
    for (int bit = 1; bit < lanes; bit *= 2) {
        result = result * 2 + ((index & bit) != 0);
    }
    return result;
}

#if !GANTRY_SERIAL

/* ---- GPUs ---- */

#define GROUP_MOST 256 /* work-items */

#define AT_ONCE 8 /* loads of an item in flight */

/* values[k] = p[k * step] for k * apart < left, and the identity for the rest, which loads p[0].
 * There is no branch between the loads, so all are in flight before the first is used. */
GANTRY_FN void load_rows(ACC *values, GANTRY_GLOBAL const T *p, GANTRY_LONG step, int apart,
                         GANTRY_LONG left) {
    GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {
        values[k] = REDUCE_LOAD(p[k * apart < left ? k * step : 0]);
    }
    GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {
        values[k] = k * apart < left ? values[k] : REDUCE_IDENTITY;
    }
}

/* Reduces the elements of one lane: x[row], x[row + 64], ... before end. */
GANTRY_FN ACC lane_sum(GANTRY_GLOBAL const T *x, const reduce_level_t *level, GANTRY_LONG row,
                       GANTRY_LONG end) {
    ACC sum = REDUCE_IDENTITY;
    if (level->reduced_rank != 1) {
        for (; row < end; row += LANES) {
            ACC value = REDUCE_LOAD(x[row_offset(level, row)]);
            sum = REDUCE_OP(sum, value);
        }
        return sum;
    }
    const GANTRY_LONG step = level->reduced_strides[0] * LANES;
    GANTRY_GLOBAL const T *p = x + row * level->reduced_strides[0];
    GANTRY_LONG left = end - row;
    ACC values[AT_ONCE];
    for (; left > (AT_ONCE - 1) * LANES; left -= AT_ONCE * LANES, p += AT_ONCE * step) {
        GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) { values[k] = REDUCE_LOAD(p[k * step]); }
        GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) { sum = REDUCE_OP(sum, values[k]); }
    }
    if (left > 0) {
        load_rows(values, p, step, LANES, left);
        GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) { sum = REDUCE_OP(sum, values[k]); }
    }
    return sum;
}

GANTRY_KERNEL reduce_group(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),
                           GANTRY_VALUE(reduce_level_t, level)) {
    GANTRY_TAKE(reduce_level_t, level)
    GANTRY_LOCAL_ARRAY(ACC, sums, GROUP_MOST);
    const int item = (int)GANTRY_LOCAL_ID(0);
    const int lanes = (int)level.lanes;
    const int lane = item % lanes;
    const GANTRY_LONG unit =
        GANTRY_GROUP_ID(0) * ((int)GANTRY_LOCAL_SIZE(0) / lanes) + item / lanes;
    ACC sum = REDUCE_IDENTITY;
    if (unit < level.units) {
        const GANTRY_LONG number = gantry__divide_position(unit, level.columns);
        const chunk_t chunk = find_chunk(&level, number);
        GANTRY_GLOBAL const T *x =
            GANTRY_IN(T, in) + chunk.offset + (unit - number * level.columns);
        sum = lane_sum(x, &level, chunk.row + lane, chunk.row + chunk_rows(&level, chunk.row));
    }
    sums[item] = sum;
    GANTRY_BARRIER();
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            ACC value = sums[item + apart];
            sum = REDUCE_OP(sum, value);
            sums[item] = sum;
        }
        GANTRY_BARRIER();
    }
    if (lane == 0 && unit < level.units) {
        PUT(unit, sum);
    }
}

/* A group does one sequence of up to four chunks; there must be one reduced axis. The items are
 * four parts of 64 lanes. Part q loads the rows 16 q ... 16 q + 15 of a chunk's lane at once and
 * adds them, in order, to what part q - 1 left. The parts are at different chunks, like an assembly
 * line:
 *
 *     step     0   1   2   3   4
 *     part 0   c0  c1                two chunks: a part loads the next one's rows
 *     part 1       c0  c1            when it has added these
 *     part 2           c0  c1
 *     part 3               c0  c1
 *
 * `sums` then has the lanes of all chunks, which are folded together. Chunks that are missing are
 * the identity, and one fold of the four chunks' results makes the level above. */
#define PART_ROWS (2 * AT_ONCE)
#define PARTS (CHUNK / LANES / PART_ROWS)

GANTRY_FN void load_part(ACC *values, GANTRY_GLOBAL const T *x, const reduce_level_t *level,
                         GANTRY_LONG row) {
    const GANTRY_LONG stride = level->reduced_strides[0];
    GANTRY_UNROLLED for (int k = 0; k < PART_ROWS; k += AT_ONCE, row += AT_ONCE * LANES) {
        const GANTRY_LONG left = level->length - row;
        load_rows(values + k, x + (left > 0 ? row * stride : 0), stride * LANES, LANES, left);
    }
}

GANTRY_KERNEL reduce_few(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),
                         GANTRY_VALUE(reduce_level_t, level)) {
    GANTRY_TAKE(reduce_level_t, level)
    GANTRY_LOCAL_ARRAY(ACC, sums, GROUP_MOST);
    ACC values[PART_ROWS];
    const int item = (int)GANTRY_LOCAL_ID(0);
    const int lane = item % LANES;
    const int part = item / LANES;
    const int chunks = (int)level.chunks;
    const GANTRY_LONG unit = GANTRY_GROUP_ID(0);
    const GANTRY_LONG row = part * PART_ROWS * LANES + lane;
    const GANTRY_LONG outer = gantry__divide_position(unit, level.columns);
    GANTRY_GLOBAL const T *x =
        GANTRY_IN(T, in) + sequence_offset(&level, outer) + (unit - outer * level.columns);
    load_part(values, x, &level, row);
    sums[item] = REDUCE_IDENTITY;
    GANTRY_BARRIER();
    for (int step = 0; step < chunks + PARTS - 1; ++step) {
        const int chunk = step - part;
        if (chunk >= 0 && chunk < chunks) {
            ACC sum = sums[chunk * LANES + lane];
            GANTRY_UNROLLED for (int k = 0; k < PART_ROWS; ++k) { sum = REDUCE_OP(sum, values[k]); }
            sums[chunk * LANES + lane] = sum;
            if (chunk + 1 < chunks) {
                load_part(values, x, &level, row + (chunk + 1) * CHUNK);
            }
        }
        GANTRY_BARRIER();
    }
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            ACC sum = sums[item], value = sums[item + apart];
            sums[item] = REDUCE_OP(sum, value);
        }
        GANTRY_BARRIER();
    }
    if (item == 0) {
        ACC first = sums[0], second = sums[LANES], third = sums[2 * LANES],
            fourth = sums[3 * LANES];
        first = REDUCE_OP(first, third);
        second = REDUCE_OP(second, fourth);
        PUT(unit, REDUCE_OP(first, second));
    }
}

/* A group of ITEMS: `width` = ITEMS / APART columns of one chunk, an item for each column and each
 * r in 0 ... APART - 1; `blocks` groups make one chunk. An item's own lanes are APART apart: of
 * the loads in flight at once, k and k + LANES / APART are one lane's. There must be one reduced
 * axis. */
#define REDUCE_BLOCK_KERNEL(name, APART, ITEMS)                                               \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),                              \
                       GANTRY_VALUE(reduce_level_t, level)) {                                 \
        GANTRY_TAKE(reduce_level_t, level)                                                    \
        GANTRY_LOCAL_ARRAY(ACC, sums, ITEMS);                                                 \
        const int width = ITEMS / APART;                                                      \
        const int item = (int)GANTRY_LOCAL_ID(0);                                             \
        const int r = item / width;                                                           \
        const GANTRY_LONG number = gantry__divide_position(GANTRY_GROUP_ID(0), level.blocks); \
        const GANTRY_LONG column =                                                            \
            (GANTRY_GROUP_ID(0) - number * level.blocks) * width + item % width;              \
        const chunk_t chunk = find_chunk(&level, number);                                     \
        const GANTRY_LONG row = chunk.row;                                                    \
        const GANTRY_LONG end = column < level.columns ? row + chunk_rows(&level, row) : row; \
        const GANTRY_LONG step = level.reduced_strides[0] * APART;                            \
        GANTRY_GLOBAL const T *p =                                                            \
            GANTRY_IN(T, in) + chunk.offset + column + (row + r) * level.reduced_strides[0];  \
        GANTRY_LONG left = end - row - r;                                                     \
        ACC own[LANES / APART];                                                               \
        ACC values[AT_ONCE];                                                                  \
        GANTRY_UNROLLED for (int j = 0; j < LANES / APART; ++j) { own[j] = REDUCE_IDENTITY; } \
        for (; left > (AT_ONCE - 1) * APART; left -= AT_ONCE * APART, p += AT_ONCE * step) {  \
            GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {                               \
                values[k] = REDUCE_LOAD(p[k * step]);                                         \
            }                                                                                 \
            GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {                               \
                own[k % (LANES / APART)] = REDUCE_OP(own[k % (LANES / APART)], values[k]);    \
            }                                                                                 \
        }                                                                                     \
        if (left > 0) {                                                                       \
            load_rows(values, p, step, APART, left);                                          \
            GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {                               \
                own[k % (LANES / APART)] = REDUCE_OP(own[k % (LANES / APART)], values[k]);    \
            }                                                                                 \
        }                                                                                     \
        GANTRY_UNROLLED for (int apart = LANES / APART / 2; apart > 0; apart /= 2) {          \
            GANTRY_UNROLLED for (int j = 0; j < LANES / APART / 2; ++j) {                     \
                if (j < apart) own[j] = REDUCE_OP(own[j], own[j + apart]);                    \
            }                                                                                 \
        }                                                                                     \
        sums[item] = own[0];                                                                  \
        GANTRY_BARRIER();                                                                     \
        for (int apart = APART / 2; apart > 0; apart /= 2) {                                  \
            if (r < apart) {                                                                  \
                ACC value = sums[item + apart * width];                                       \
                own[0] = REDUCE_OP(own[0], value);                                            \
                sums[item] = own[0];                                                          \
            }                                                                                 \
            GANTRY_BARRIER();                                                                 \
        }                                                                                     \
        if (r == 0 && column < level.columns) {                                               \
            PUT(number *level.columns + column, own[0]);                                      \
        }                                                                                     \
    }

REDUCE_BLOCK_KERNEL(reduce_block8, 8, GROUP_MOST)
REDUCE_BLOCK_KERNEL(reduce_block32, 32, GROUP_MOST)
REDUCE_BLOCK_KERNEL(reduce_block32_lines, 32, 1024)

/* Adds the sum of the next lane, in the order of the fold; `index` counts lanes. Carries ripple
 * through s0 ... s5. */
#define REDUCE_CARRY(index, sum)                          \
    do {                                                  \
        if ((index)&1) {                                  \
            sum = REDUCE_OP(s0, sum);                     \
            if ((index)&2) {                              \
                sum = REDUCE_OP(s1, sum);                 \
                if ((index)&4) {                          \
                    sum = REDUCE_OP(s2, sum);             \
                    if ((index)&8) {                      \
                        sum = REDUCE_OP(s3, sum);         \
                        if ((index)&16) {                 \
                            sum = REDUCE_OP(s4, sum);     \
                            if ((index)&32) {             \
                                sum = REDUCE_OP(s5, sum); \
                            } else {                      \
                                s5 = sum;                 \
                            }                             \
                        } else {                          \
                            s4 = sum;                     \
                        }                                 \
                    } else {                              \
                        s3 = sum;                         \
                    }                                     \
                } else {                                  \
                    s2 = sum;                             \
                }                                         \
            } else {                                      \
                s1 = sum;                                 \
            }                                             \
        } else {                                          \
            s0 = sum;                                     \
        }                                                 \
    } while (0)

/* Reduces sequences of at most 64 elements, one for each lane. Eight lanes are loaded at once;
 * extra lanes do no harm, so there are at least eight. */
GANTRY_FN ACC item_of_lanes(GANTRY_GLOBAL const T *x, GANTRY_LONG stride, int rows) {
    const int lanes = rows < AT_ONCE ? AT_ONCE : lanes_used(rows);
    const int eighth = lanes / AT_ONCE;
    ACC s0 = REDUCE_IDENTITY, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, sum = s0;
    ACC values[AT_ONCE];
    for (int group = 0; group < eighth; ++group) {
        const int first = reversed(group, eighth);
        GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {
            const int lane = first + reversed(k, AT_ONCE) * eighth;
            values[k] = REDUCE_LOAD(x[lane < rows ? lane * stride : 0]);
        }
        GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {
            const int lane = first + reversed(k, AT_ONCE) * eighth;
            ACC value = lane < rows ? values[k] : REDUCE_IDENTITY;
            sum = REDUCE_IDENTITY;
            sum = REDUCE_OP(sum, value);
            REDUCE_CARRY(group * AT_ONCE + k, sum);
        }
    }
    return sum;
}

GANTRY_FN ACC item_of_chunk(GANTRY_GLOBAL const T *x, const reduce_level_t *level, GANTRY_LONG row,
                            GANTRY_LONG rows) {
    const int lanes = lanes_used(rows);
    ACC s0 = REDUCE_IDENTITY, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, sum = s0;
    for (int index = 0; index < lanes; ++index) {
        sum = lane_sum(x, level, row + reversed(index, lanes), row + rows);
        REDUCE_CARRY(index, sum);
    }
    return sum;
}

GANTRY_KERNEL reduce_item(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),
                          GANTRY_VALUE(reduce_level_t, level)) {
    GANTRY_TAKE(reduce_level_t, level)
    const GANTRY_LONG unit = GANTRY_GLOBAL_ID(0);
    if (unit >= level.units) {
        return;
    }
    const GANTRY_LONG number = gantry__divide_position(unit, level.columns);
    const chunk_t chunk = find_chunk(&level, number);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + chunk.offset + (unit - number * level.columns);
    const ACC sum = level.length <= LANES && level.reduced_rank == 1
                        ? item_of_lanes(x, level.reduced_strides[0], (int)level.length)
                        : item_of_chunk(x, &level, chunk.row, chunk_rows(&level, chunk.row));
    PUT(unit, sum);
}

#endif
