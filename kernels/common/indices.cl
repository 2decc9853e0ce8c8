/* SPDX-License-Identifier: Apache-2.0 */
/* What the families share that sort, scatter and compact. Comes after dialect.cl. */
#ifndef GANTRY_INDICES_CL
#define GANTRY_INDICES_CL

/* Indices of 32 or 64 bits, chosen when the kernel runs, not when it is built: they are few beside
 * what they cost to use. `at` is a pointer to bytes in global memory. */
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

/* The key of an element, by its size; see sort.cl. GANTRY_KEY_OF_T is that of T's. */
typedef uint gantry__key_i32;
typedef ulong gantry__key_i64;
typedef uint gantry__key_b8;
typedef uint gantry__key_u16;
#define GANTRY_KEY_OF_T GANTRY_PASTE(gantry__key_, GANTRY_T)

/* The key of an update that goes to no slice; see scatter.cl. */
#define GANTRY_NO_SLICE 0xffffffffu

/* Updates that a processor's worker picks its own from at a time: into picked, an array of
 * GANTRY_PICK_ROOM uints, go the places among the `some` keys of those in [first, first + most),
 * and how many to picks. C may bring a quicker one. */
#define GANTRY_PICK_BLOCK 256
#define GANTRY_PICK_ROOM (GANTRY_PICK_BLOCK + 16)
#ifndef GANTRY_PICK
#define GANTRY_PICK(keys, some, first, most, picked, picks) \
    do {                                                    \
        picks = 0;                                          \
        for (uint k = 0; k < (some); ++k) {                 \
            picked[picks] = k;                              \
            picks += (keys)[k] - (first) < (most);          \
        }                                                   \
    } while (0)
#endif

#endif
