/* SPDX-License-Identifier: Apache-2.0 */
/* What the families that sort, scatter and compact share. It must come after dialect.cl. */
#ifndef GANTRY_INDICES_CL
#define GANTRY_INDICES_CL

/* Reads an index of 32 or 64 bits. The kernel chooses when it runs, not when it is built, because
 * reading an index is cheap compared with its use. `at` must point to bytes in global memory. */
#define GANTRY_GET_INDEX(at, is_wide, i)                      \
    ((is_wide) ? ((GANTRY_GLOBAL const GANTRY_LONG *)(at))[i] \
               : (GANTRY_LONG)((GANTRY_GLOBAL const int *)(at))[i])
#define GANTRY_PUT_INDEX(at, is_wide, i, value)                            \
    do {                                                                   \
        if (is_wide) {                                                     \
            ((GANTRY_GLOBAL GANTRY_LONG *)(at))[i] = (GANTRY_LONG)(value); \
        } else {                                                           \
            ((GANTRY_GLOBAL int *)(at))[i] = (int)(value);                 \
        }                                                                  \
    } while (0)

/* The key of an element, whose type is chosen by its size (sort.cl). GANTRY_KEY_OF_T: of a T. */
typedef uint gantry__key_i32;
typedef ulong gantry__key_i64;
typedef ulong gantry__key_c128; /* nothing sorts them */
typedef uint gantry__key_b8;
typedef uint gantry__key_u16;
#define GANTRY_KEY_OF_T GANTRY_PASTE(gantry__key_, GANTRY_T)

/* The key of an update that goes to no slice (scatter.cl). */
#define GANTRY_NO_SLICE 0xffffffffu

/* Selects a worker's own updates from a block of keys: writes to `picked`, which must have room for
 * GANTRY_SELECT_ROOM uints, the places of the keys in [first, first + most) among `some` keys, and
 * writes their number to `picks`. C may define a faster form before. */
#define GANTRY_SELECT_BLOCK 256
#define GANTRY_SELECT_ROOM (GANTRY_SELECT_BLOCK + 16)
#ifndef GANTRY_SELECT_KEYS
#define GANTRY_SELECT_KEYS(keys, some, first, most, picked, picks) \
    do {                                                           \
        picks = 0;                                                 \
        for (uint k = 0; k < (some); ++k) {                        \
            picked[picks] = k;                                     \
            picks += (keys)[k] - (first) < (most);                 \
        }                                                          \
    } while (0)
#endif

#endif
