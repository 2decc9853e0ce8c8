/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts many short rows on processors: an item sorts GANTRY_NETWORK_ROWS of them at a time
 * (sort_network_rows.cl). It must come after radix.cl, for keys and elements.
 *
 *     network_values   sorts elements
 *     network_pairs    sorts keys of four bytes and their positions. A position is the lower half
 *                      of a lane, so equal keys keep their order */
#ifndef GANTRY_NETWORK_PARAMETERS
#define GANTRY_NETWORK_PARAMETERS

/* Rows are as in gantry__radix_t. Places are byte offsets in the scratch. */
typedef struct gantry__network_t {
    gantry__work_t work; /* over all groups of rows */
    gantry__order_t order;
    GANTRY_LONG rows, length, inner;
    GANTRY_LONG places; /* a group's: length, rounded up to a multiple of GANTRY_NETWORK_STEP */
    GANTRY_LONG lanes;  /* each group's: [places, GANTRY_NETWORK_ROWS] */
    GANTRY_LONG keys, positions; /* the results of network_pairs */
} gantry__network_t;

#define GANTRY_NETWORK_BLOCK 64 /* places that are transposed at a time, in the first-level cache */

#endif

#if defined(GANTRY_ITEM_TEXT) && (!defined(GANTRY_SERIAL) || GANTRY_SERIAL)

#define K GANTRY_KEY_OF_T
#if GANTRY_T_IS(i64)
#define GANTRY_NETWORK_OF_T network_ulong
#else
#define GANTRY_NETWORK_OF_T network_uint
#endif

/* The rows of group i, and the start of each in x. Instead of absent rows the last one is sorted
 * again. */
typedef struct GANTRY_ITEM_FN(network_group) {
    GANTRY_LONG starts[GANTRY_NETWORK_ROWS];
    GANTRY_LONG first;
    int rows;
} GANTRY_ITEM_FN(network_group);

GANTRY_ITEM GANTRY_ITEM_FN(network_group)
    GANTRY_ITEM_FN(network_group_of)(GANTRY_PARAMETERS(gantry__network_t) p, const GANTRY_LONG i) {
    GANTRY_ITEM_FN(network_group) out;

    out.first = i * GANTRY_NETWORK_ROWS;
    out.rows = (int)(p->rows - out.first < GANTRY_NETWORK_ROWS ? p->rows - out.first
                                                               : GANTRY_NETWORK_ROWS);
    for (int r = 0; r < GANTRY_NETWORK_ROWS; ++r) {
        const GANTRY_LONG row = out.first + (r < out.rows ? r : out.rows - 1),
                          outer = row / p->inner;

        out.starts[r] = outer * p->length * p->inner + row - outer * p->inner;
    }
    return out;
}

/* Transposes blocks of four places of four rows in registers, because compilers make loads and
 * stores of single elements of a loop. C has this for elements of four bytes. */
#if defined(__OPENCL_VERSION__)
#define GANTRY_NETWORK_CAN_TURN 1
typedef int4 gantry__quad_i32;
typedef long4 gantry__quad_i64;
typedef uchar4 gantry__quad_b8;
typedef ushort4 gantry__quad_u16;
#define Q GANTRY_PASTE(gantry__quad_, GANTRY_T)
GANTRY_LOOSE_TYPE(Q, T, gantry__loose_quad_t);
#define GANTRY_NETWORK_COLUMN(i) (Q)(quad0.s##i, quad1.s##i, quad2.s##i, quad3.s##i)
#define GANTRY_NETWORK_PAIRS
#elif defined(__GNUC__) && GANTRY_T_IS(i32)
#define GANTRY_NETWORK_CAN_TURN 1
typedef T gantry__quad_i32 __attribute__((vector_size(16)));
typedef gantry__quad_i32 gantry__loose_quad_t __attribute__((aligned(4)));
#define Q gantry__quad_i32
#if defined(__clang__)
#define GANTRY_NETWORK_MIX(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#else
#define GANTRY_NETWORK_MIX(x, y, a, b, c, d) __builtin_shuffle(x, y, (Q){a, b, c, d})
#endif
#define GANTRY_NETWORK_PAIRS                                      \
    const Q low0 = GANTRY_NETWORK_MIX(quad0, quad1, 0, 4, 1, 5),  \
            low1 = GANTRY_NETWORK_MIX(quad2, quad3, 0, 4, 1, 5);  \
    const Q high0 = GANTRY_NETWORK_MIX(quad0, quad1, 2, 6, 3, 7), \
            high1 = GANTRY_NETWORK_MIX(quad2, quad3, 2, 6, 3, 7);
#define GANTRY_NETWORK_COLUMN(i) GANTRY_NETWORK_COLUMN_##i
#define GANTRY_NETWORK_COLUMN_0 GANTRY_NETWORK_MIX(low0, low1, 0, 1, 4, 5)
#define GANTRY_NETWORK_COLUMN_1 GANTRY_NETWORK_MIX(low0, low1, 2, 3, 6, 7)
#define GANTRY_NETWORK_COLUMN_2 GANTRY_NETWORK_MIX(high0, high1, 0, 1, 4, 5)
#define GANTRY_NETWORK_COLUMN_3 GANTRY_NETWORK_MIX(high0, high1, 2, 3, 6, 7)
#else
#define GANTRY_NETWORK_CAN_TURN 0
#endif

#if GANTRY_NETWORK_CAN_TURN
#define GANTRY_NETWORK_TAKE(space, from) *(space const gantry__loose_quad_t *)(from)
#define GANTRY_NETWORK_PUT(space, to, i) \
    *(space gantry__loose_quad_t *)(to) = GANTRY_NETWORK_COLUMN(i)
#define GANTRY_NETWORK_TURN(to_space, to0, to1, to2, to3, from_space, from0, from1, from2, from3) \
    {                                                                                             \
        const Q quad0 = GANTRY_NETWORK_TAKE(from_space, from0),                                   \
                quad1 = GANTRY_NETWORK_TAKE(from_space, from1);                                   \
        const Q quad2 = GANTRY_NETWORK_TAKE(from_space, from2),                                   \
                quad3 = GANTRY_NETWORK_TAKE(from_space, from3);                                   \
        GANTRY_NETWORK_PAIRS                                                                      \
                                                                                                  \
        GANTRY_NETWORK_PUT(to_space, to0, 0);                                                     \
        GANTRY_NETWORK_PUT(to_space, to1, 1);                                                     \
        GANTRY_NETWORK_PUT(to_space, to2, 2);                                                     \
        GANTRY_NETWORK_PUT(to_space, to3, 3);                                                     \
    }
#else
#define GANTRY_NETWORK_TURN(to_space, to0, to1, to2, to3, from_space, from0, from1, from2, from3)
#endif
#define GANTRY_NETWORK_WHOLE(count, inner) \
    (GANTRY_NETWORK_CAN_TURN && (inner) == 1 ? (count) / 4 * 4 : 0)
#define GANTRY_NETWORK_ROW(lanes, place) ((lanes) + (place)*GANTRY_NETWORK_ROWS)

/* Transposes places [begin, begin + count) of the group's rows; elements keep their bits. It takes
 * four rows at a time, which makes one store of four. */
GANTRY_ITEM void GANTRY_ITEM_FN(network_transpose)(GANTRY_GLOBAL const T *x,
                                                   const GANTRY_ITEM_FN(network_group) * group,
                                                   const GANTRY_LONG inner, const GANTRY_LONG begin,
                                                   const int count, T *transposed) {
    const int whole = GANTRY_NETWORK_WHOLE(count, inner);

    for (int r = 0; r < GANTRY_NETWORK_ROWS; r += 4) {
        GANTRY_GLOBAL const T *f0 = x + group->starts[r] + begin * inner;
        GANTRY_GLOBAL const T *f1 = x + group->starts[r + 1] + begin * inner;
        GANTRY_GLOBAL const T *f2 = x + group->starts[r + 2] + begin * inner;
        GANTRY_GLOBAL const T *f3 = x + group->starts[r + 3] + begin * inner;
        T *lanes = transposed + r;

        for (int e = 0; e < whole; e += 4) {
            GANTRY_NETWORK_TURN(, GANTRY_NETWORK_ROW(lanes, e), GANTRY_NETWORK_ROW(lanes, e + 1),
                                GANTRY_NETWORK_ROW(lanes, e + 2), GANTRY_NETWORK_ROW(lanes, e + 3),
                                GANTRY_GLOBAL, f0 + e, f1 + e, f2 + e, f3 + e)
        }
        for (int e = whole; e < count; ++e) {
            T *to = GANTRY_NETWORK_ROW(lanes, e);

            to[0] = f0[e * inner];
            to[1] = f1[e * inner];
            to[2] = f2[e * inner];
            to[3] = f3[e * inner];
        }
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(network_transpose_back)(const T *transposed,
                                                        const GANTRY_ITEM_FN(network_group) * group,
                                                        const GANTRY_LONG inner,
                                                        const GANTRY_LONG begin, const int count,
                                                        GANTRY_GLOBAL T *out) {
    const int whole = GANTRY_NETWORK_WHOLE(count, inner);

    for (int r = 0; r < GANTRY_NETWORK_ROWS; r += 4) {
        GANTRY_GLOBAL T *t0 = out + group->starts[r] + begin * inner;
        GANTRY_GLOBAL T *t1 = out + group->starts[r + 1] + begin * inner;
        GANTRY_GLOBAL T *t2 = out + group->starts[r + 2] + begin * inner;
        GANTRY_GLOBAL T *t3 = out + group->starts[r + 3] + begin * inner;
        const T *lanes = transposed + r;

        for (int e = 0; e < whole; e += 4) {
            GANTRY_NETWORK_TURN(GANTRY_GLOBAL, t0 + e, t1 + e, t2 + e, t3 + e, ,
                                GANTRY_NETWORK_ROW(lanes, e), GANTRY_NETWORK_ROW(lanes, e + 1),
                                GANTRY_NETWORK_ROW(lanes, e + 2), GANTRY_NETWORK_ROW(lanes, e + 3))
        }
        for (int e = whole; e < count; ++e) {
            const T *from = GANTRY_NETWORK_ROW(lanes, e);

            t0[e * inner] = from[0];
            t1[e * inner] = from[1];
            t2[e * inner] = from[2];
            t3[e * inner] = from[3];
        }
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(network_values)(GANTRY_GLOBAL const T *x,
                                                GANTRY_GLOBAL uchar *scratch, GANTRY_GLOBAL T *out,
                                                GANTRY_PARAMETERS(gantry__network_t) p,
                                                const GANTRY_LONG i) {
    const GANTRY_ITEM_FN(network_group) group = GANTRY_ITEM_FN(network_group_of)(p, i);
    GANTRY_GLOBAL K *lanes =
        (GANTRY_GLOBAL K *)(scratch + p->lanes) + i * p->places * GANTRY_NETWORK_ROWS;
    const gantry__order_t order = p->order;
    T transposed[GANTRY_NETWORK_BLOCK * GANTRY_NETWORK_ROWS];
    int odd = 0;

    for (GANTRY_LONG begin = 0; begin < p->length; begin += GANTRY_NETWORK_BLOCK) {
        const int count = (int)(p->length - begin < GANTRY_NETWORK_BLOCK ? p->length - begin
                                                                         : GANTRY_NETWORK_BLOCK);
        GANTRY_GLOBAL K *to = lanes + begin * GANTRY_NETWORK_ROWS;

        GANTRY_ITEM_FN(network_transpose)(x, &group, p->inner, begin, count, transposed);
        for (int e = 0; e < count * GANTRY_NETWORK_ROWS; ++e) {
            to[e] = GANTRY_ITEM_FN(sort_key)(transposed[e], &order);
            odd |= GANTRY_ITEM_FN(radix_is_odd)(transposed[e], order);
        }
    }
    GANTRY_NETWORK_OF_T(lanes, p->length, p->places);
    for (GANTRY_LONG begin = 0; begin < p->length; begin += GANTRY_NETWORK_BLOCK) {
        const int count = (int)(p->length - begin < GANTRY_NETWORK_BLOCK ? p->length - begin
                                                                         : GANTRY_NETWORK_BLOCK);
        GANTRY_GLOBAL const K *from = lanes + begin * GANTRY_NETWORK_ROWS;

        for (int e = 0; e < count * GANTRY_NETWORK_ROWS; ++e) {
            transposed[e] = GANTRY_ITEM_FN(radix_value)(from[e], order);
        }
        GANTRY_ITEM_FN(network_transpose_back)(transposed, &group, p->inner, begin, count, out);
    }
    for (int r = 0; odd && r < group.rows; ++r) {
        GANTRY_ITEM_FN(radix_zeros)
        (x + group.starts[r], out + group.starts[r], p->inner, p->length, order);
    }
}
GANTRY_ITEMS_1_2(network_values, T, uchar, T, gantry__network_t)

#if GANTRY_T_IS(i64)
GANTRY_NO_ITEM(network_pairs)
#else
GANTRY_ITEM void GANTRY_ITEM_FN(network_pairs)(GANTRY_GLOBAL const T *x,
                                               GANTRY_GLOBAL uchar *scratch,
                                               GANTRY_PARAMETERS(gantry__network_t) p,
                                               const GANTRY_LONG i) {
    const GANTRY_ITEM_FN(network_group) group = GANTRY_ITEM_FN(network_group_of)(p, i);
    GANTRY_GLOBAL ulong *lanes =
        (GANTRY_GLOBAL ulong *)(scratch + p->lanes) + i * p->places * GANTRY_NETWORK_ROWS;
    GANTRY_GLOBAL K *keys = (GANTRY_GLOBAL K *)(scratch + p->keys) + group.first * p->length;
    GANTRY_GLOBAL int *positions =
        (GANTRY_GLOBAL int *)(scratch + p->positions) + group.first * p->length;
    const gantry__order_t order = p->order;
    T transposed[GANTRY_NETWORK_BLOCK * GANTRY_NETWORK_ROWS];

    for (GANTRY_LONG begin = 0; begin < p->length; begin += GANTRY_NETWORK_BLOCK) {
        const int count = (int)(p->length - begin < GANTRY_NETWORK_BLOCK ? p->length - begin
                                                                         : GANTRY_NETWORK_BLOCK);
        GANTRY_GLOBAL ulong *to = lanes + begin * GANTRY_NETWORK_ROWS;

        GANTRY_ITEM_FN(network_transpose)(x, &group, p->inner, begin, count, transposed);
        for (int e = 0; e < count * GANTRY_NETWORK_ROWS; ++e) {
            to[e] = (ulong)GANTRY_ITEM_FN(sort_key)(transposed[e], &order) << 32 |
                    (ulong)(begin + e / GANTRY_NETWORK_ROWS);
        }
    }
    network_ulong(lanes, p->length, p->places);
    for (GANTRY_LONG begin = 0; begin < p->length; begin += GANTRY_NETWORK_BLOCK) {
        const GANTRY_LONG end =
            p->length - begin < GANTRY_NETWORK_BLOCK ? p->length : begin + GANTRY_NETWORK_BLOCK;

        for (int r = 0; r < group.rows; ++r) {
            for (GANTRY_LONG e = begin; e < end; ++e) {
                const ulong pair = lanes[e * GANTRY_NETWORK_ROWS + r];

                keys[r * p->length + e] = (K)(pair >> 32);
                positions[r * p->length + e] = (int)(uint)pair;
            }
        }
    }
}
GANTRY_ITEMS_1_1(network_pairs, T, uchar, gantry__network_t)
#endif

#undef GANTRY_NETWORK_ROW
#undef GANTRY_NETWORK_WHOLE
#undef GANTRY_NETWORK_TURN
#undef GANTRY_NETWORK_PUT
#undef GANTRY_NETWORK_TAKE
#undef GANTRY_NETWORK_COLUMN
#undef GANTRY_NETWORK_PAIRS
#undef GANTRY_NETWORK_MIX
#undef GANTRY_NETWORK_CAN_TURN
#undef Q
#undef GANTRY_NETWORK_OF_T
#undef K

#endif
