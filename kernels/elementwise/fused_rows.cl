/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the text that fused_rows_text.c makes from a program over rows. It has only macros, and
 * must come after fused.cl.
 *
 *              processors (GANTRY_SERIAL)           other devices
 * a row        one work-item, some rows by turns    64 work-items, one for each lane
 * ROWS_AT      an array of the row                  each item's elements, 64 apart
 * ROWS_LANE    an array of 64 lanes                 a variable
 *
 * Reductions follow the tree of kernels/reduce/reduce.cl: lane l takes elements l, l + 64, ...,
 * then the lanes are folded. Names: n is the length of the row, e an element in a loop, l its
 * lane. */
#define ROWS_LANES 64
#define ROWS_SUM(a, b) ((a) + (b))
#define ROWS_MAX(a, b) (((b) != (b)) | ((b) > (a)) ? (b) : (a))
#define ROWS_MIN(a, b) (((b) != (b)) | ((b) < (a)) ? (b) : (a))

#define ROWS_ZERO_float 0.0f
#define ROWS_ZERO_double 0.0
#define ROWS_MOST_float GANTRY_AS_FLOAT(0x7f800000u)
#define ROWS_MOST_double GANTRY_AS_DOUBLE((ulong)0x7ff00000u << 32)

#if GANTRY_SERIAL

/* Vectors of an array must not cross the border of two cache lines. */
#define ROWS_ARRAY(type, name, length) type name[length] __attribute__((aligned(64)));
#define ROWS_BEGIN(q)                                                          \
    GANTRY_FULL_WIDTH                                                          \
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) * q.each;                     \
    const GANTRY_LONG end = first + q.each < q.rows ? first + q.each : q.rows; \
    const int n = (int)q.length;                                               \
    for (GANTRY_LONG row = first; row < end; ++row) {
#define ROWS_END }
#define ROWS_STORE(type, name, length) ROWS_ARRAY(type, name, length)
#define ROWS_AT(name) name[e]
#define ROWS_START(type, name, identity) \
    ROWS_ARRAY(type, name, ROWS_LANES)   \
    for (int l = 0; l < ROWS_LANES; ++l) name[l] = identity;
#define ROWS_LANE(name) name[l]
#define ROWS_LOOP                                      \
    {                                                  \
        int i = 0;                                     \
        for (; i + ROWS_LANES <= n; i += ROWS_LANES) { \
            GANTRY_FUSED_LOOP                          \
            for (int l = 0; l < ROWS_LANES; ++l) {     \
                const int e = i + l;
/* this is between two copies of the loop's body */
#define ROWS_REST                     \
    }                                 \
    }                                 \
    for (int l = 0; i + l < n; ++l) { \
        const int e = i + l;
#define ROWS_LOOP_END \
    }                 \
    }
#define ROWS_FOLD(OP, type, name)                                               \
    for (int apart = ROWS_LANES / 2; apart > 0; apart /= 2) {                   \
        for (int l = 0; l < apart; ++l) name[l] = OP(name[l], name[l + apart]); \
    }                                                                           \
    const type name##_all = name[0];
#define ROWS_ONCE

#else

#define ROWS_ITEMS 256 /* most items of a group */
/* An item without a row only takes part in the barriers, which all items must reach. */
#define ROWS_BEGIN(q)                                                                      \
    const int item = (int)GANTRY_LOCAL_ID(0);                                              \
    const int lane = item % ROWS_LANES;                                                    \
    const GANTRY_LONG place =                                                              \
        GANTRY_GROUP_ID(0) * ((int)GANTRY_LOCAL_SIZE(0) / ROWS_LANES) + item / ROWS_LANES; \
    const int is_row = place < q.rows;                                                     \
    const GANTRY_LONG row = is_row ? place : q.rows - 1;                                   \
    const int n = is_row ? (int)q.length : 0;                                              \
    {
#define ROWS_END }
#define ROWS_STORE(type, name, length) type name[(length) / ROWS_LANES];
#define ROWS_AT(name) name[e / ROWS_LANES]
#define ROWS_START(type, name, identity) type name = identity;
#define ROWS_LANE(name) name
#define ROWS_LOOP for (int e = lane; e < n; e += ROWS_LANES) {
#define ROWS_LOOP_END }
#define ROWS_FOLD(OP, type, name)                             \
    shared_##type[item] = name;                               \
    GANTRY_BARRIER();                                         \
    for (int apart = ROWS_LANES / 2; apart > 0; apart /= 2) { \
        if (lane < apart) {                                   \
            name = OP(name, shared_##type[item + apart]);     \
            shared_##type[item] = name;                       \
        }                                                     \
        GANTRY_BARRIER();                                     \
    }                                                         \
    const type name##_all = shared_##type[item - lane];       \
    GANTRY_BARRIER();
#define ROWS_ONCE if (lane == 0 && is_row)

#endif
