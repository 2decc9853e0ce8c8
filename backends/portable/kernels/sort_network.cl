/* Many short rows on processors: an item sorts GANTRY_NETWORK_ROWS of them side by side (network.cl). Comes after radix.cl,
 * for keys and elements.
 *
 *     network_values   sorted elements
 *     network_pairs    sorted keys of four bytes and their positions, which ride below the keys and so keep equal keys in
 *                      their order */
#ifndef GANTRY_NETWORK_PARAMETERS
#define GANTRY_NETWORK_PARAMETERS

/* Rows as those of gantry_radix_t. Places are those in the scratch, in bytes. */
typedef struct gantry_network_t {
    gantry_work_t work; /* over groups of rows */
    gantry_order_t order;
    GANTRY_LONG rows, length, inner;
    GANTRY_LONG places;          /* of a group: length, up to a multiple of GANTRY_NETWORK_STEP */
    GANTRY_LONG lanes;           /* of each group: [places, GANTRY_NETWORK_ROWS] */
    GANTRY_LONG keys, positions; /* the results of network_pairs */
} gantry_network_t;

#define GANTRY_NETWORK_BLOCK 64 /* places that are turned at a time, in the nearest cache */

#endif

#if defined(GANTRY_ITEM_TEXT) && (!defined(GANTRY_SERIAL) || GANTRY_SERIAL)

#define K GANTRY_KEY_OF_T
#if GANTRY_T_ID == 9
#define GANTRY_NETWORK_OF_T network_ulong
#else
#define GANTRY_NETWORK_OF_T network_uint
#endif

/* The rows of group i, and where in x each begins; in the place of absent ones the last is sorted again. */
typedef struct GANTRY_ITEM_FN(network_group) {
    GANTRY_LONG starts[GANTRY_NETWORK_ROWS];
    GANTRY_LONG first;
    int rows;
} GANTRY_ITEM_FN(network_group);

GANTRY_ITEM GANTRY_ITEM_FN(network_group)
    GANTRY_ITEM_FN(network_group_of)(GANTRY_PARAMETERS(gantry_network_t) p, const GANTRY_LONG i)
{
    GANTRY_ITEM_FN(network_group) out;

    out.first = i * GANTRY_NETWORK_ROWS;
    out.rows = (int)(p->rows - out.first < GANTRY_NETWORK_ROWS ? p->rows - out.first : GANTRY_NETWORK_ROWS);
    for (int r = 0; r < GANTRY_NETWORK_ROWS; r++) {
        const GANTRY_LONG row = out.first + (r < out.rows ? r : out.rows - 1), outer = row / p->inner;

        out.starts[r] = outer * p->length * p->inner + row - outer * p->inner;
    }
    return out;
}

/* Places [begin, begin + count) of the group's rows, turned: elements as they are. By four rows, which makes one store
 * of four. */
GANTRY_ITEM void GANTRY_ITEM_FN(network_turn)(GANTRY_GLOBAL const T *x, const GANTRY_ITEM_FN(network_group) *group,
                                              const GANTRY_LONG inner, const GANTRY_LONG begin, const int count,
                                              T *turned)
{
    for (int r = 0; r < GANTRY_NETWORK_ROWS; r += 4) {
        GANTRY_GLOBAL const T *f0 = x + group->starts[r] + begin * inner;
        GANTRY_GLOBAL const T *f1 = x + group->starts[r + 1] + begin * inner;
        GANTRY_GLOBAL const T *f2 = x + group->starts[r + 2] + begin * inner;
        GANTRY_GLOBAL const T *f3 = x + group->starts[r + 3] + begin * inner;
        T *to = turned + r;

        for (int e = 0; e < count; e++, to += GANTRY_NETWORK_ROWS) {
            to[0] = f0[e * inner];
            to[1] = f1[e * inner];
            to[2] = f2[e * inner];
            to[3] = f3[e * inner];
        }
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(network_turn_back)(const T *turned, const GANTRY_ITEM_FN(network_group) *group,
                                                   const GANTRY_LONG inner, const GANTRY_LONG begin, const int count,
                                                   GANTRY_GLOBAL T *out)
{
    for (int r = 0; r < GANTRY_NETWORK_ROWS; r += 4) {
        GANTRY_GLOBAL T *t0 = out + group->starts[r] + begin * inner;
        GANTRY_GLOBAL T *t1 = out + group->starts[r + 1] + begin * inner;
        GANTRY_GLOBAL T *t2 = out + group->starts[r + 2] + begin * inner;
        GANTRY_GLOBAL T *t3 = out + group->starts[r + 3] + begin * inner;
        const T *from = turned + r;

        for (int e = 0; e < count; e++, from += GANTRY_NETWORK_ROWS) {
            t0[e * inner] = from[0];
            t1[e * inner] = from[1];
            t2[e * inner] = from[2];
            t3[e * inner] = from[3];
        }
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(network_values)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL uchar *scratch,
                                                GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_network_t) p,
                                                const GANTRY_LONG i)
{
    const GANTRY_ITEM_FN(network_group) group = GANTRY_ITEM_FN(network_group_of)(p, i);
    GANTRY_GLOBAL K *lanes = (GANTRY_GLOBAL K *)(scratch + p->lanes) + i * p->places * GANTRY_NETWORK_ROWS;
    const gantry_order_t order = p->order;
    T turned[GANTRY_NETWORK_BLOCK * GANTRY_NETWORK_ROWS];
    int odd = 0;

    for (GANTRY_LONG begin = 0; begin < p->length; begin += GANTRY_NETWORK_BLOCK) {
        const int count = (int)(p->length - begin < GANTRY_NETWORK_BLOCK ? p->length - begin : GANTRY_NETWORK_BLOCK);
        GANTRY_GLOBAL K *to = lanes + begin * GANTRY_NETWORK_ROWS;

        GANTRY_ITEM_FN(network_turn)(x, &group, p->inner, begin, count, turned);
        for (int e = 0; e < count * GANTRY_NETWORK_ROWS; e++) {
            to[e] = GANTRY_ITEM_FN(sort_key)(turned[e], &order);
            odd |= GANTRY_ITEM_FN(radix_is_odd)(turned[e], order);
        }
    }
    GANTRY_NETWORK_OF_T(lanes, p->length, p->places);
    for (GANTRY_LONG begin = 0; begin < p->length; begin += GANTRY_NETWORK_BLOCK) {
        const int count = (int)(p->length - begin < GANTRY_NETWORK_BLOCK ? p->length - begin : GANTRY_NETWORK_BLOCK);
        GANTRY_GLOBAL const K *from = lanes + begin * GANTRY_NETWORK_ROWS;

        for (int e = 0; e < count * GANTRY_NETWORK_ROWS; e++) {
            turned[e] = GANTRY_ITEM_FN(radix_value)(from[e], order);
        }
        GANTRY_ITEM_FN(network_turn_back)(turned, &group, p->inner, begin, count, out);
    }
    for (int r = 0; odd && r < group.rows; r++) {
        GANTRY_ITEM_FN(radix_zeros)(x + group.starts[r], out + group.starts[r], p->inner, p->length, order);
    }
}
GANTRY_ITEMS_1_2(network_values, T, uchar, T, gantry_network_t)

#if GANTRY_T_ID == 9
GANTRY_NO_ITEM(network_pairs)
#else
GANTRY_ITEM void GANTRY_ITEM_FN(network_pairs)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL uchar *scratch,
                                               GANTRY_PARAMETERS(gantry_network_t) p, const GANTRY_LONG i)
{
    const GANTRY_ITEM_FN(network_group) group = GANTRY_ITEM_FN(network_group_of)(p, i);
    GANTRY_GLOBAL ulong *lanes = (GANTRY_GLOBAL ulong *)(scratch + p->lanes) + i * p->places * GANTRY_NETWORK_ROWS;
    GANTRY_GLOBAL K *keys = (GANTRY_GLOBAL K *)(scratch + p->keys) + group.first * p->length;
    GANTRY_GLOBAL int *positions = (GANTRY_GLOBAL int *)(scratch + p->positions) + group.first * p->length;
    const gantry_order_t order = p->order;
    T turned[GANTRY_NETWORK_BLOCK * GANTRY_NETWORK_ROWS];

    for (GANTRY_LONG begin = 0; begin < p->length; begin += GANTRY_NETWORK_BLOCK) {
        const int count = (int)(p->length - begin < GANTRY_NETWORK_BLOCK ? p->length - begin : GANTRY_NETWORK_BLOCK);
        GANTRY_GLOBAL ulong *to = lanes + begin * GANTRY_NETWORK_ROWS;

        GANTRY_ITEM_FN(network_turn)(x, &group, p->inner, begin, count, turned);
        for (int e = 0; e < count * GANTRY_NETWORK_ROWS; e++) {
            to[e] = (ulong)GANTRY_ITEM_FN(sort_key)(turned[e], &order) << 32 |
                    (ulong)(begin + e / GANTRY_NETWORK_ROWS);
        }
    }
    network_ulong(lanes, p->length, p->places);
    for (GANTRY_LONG begin = 0; begin < p->length; begin += GANTRY_NETWORK_BLOCK) {
        const GANTRY_LONG end = p->length - begin < GANTRY_NETWORK_BLOCK ? p->length : begin + GANTRY_NETWORK_BLOCK;

        for (int r = 0; r < group.rows; r++) {
            for (GANTRY_LONG e = begin; e < end; e++) {
                const ulong pair = lanes[e * GANTRY_NETWORK_ROWS + r];

                keys[r * p->length + e] = (K)(pair >> 32);
                positions[r * p->length + e] = (int)(uint)pair;
            }
        }
    }
}
GANTRY_ITEMS_1_1(network_pairs, T, uchar, gantry_network_t)
#endif

#undef GANTRY_NETWORK_OF_T
#undef K

#endif
