/* Indices of 32 or 64 bits, chosen when the kernel runs, not when it is built: they are few beside what they cost to
 * use. Comes after dialect.cl; `at` is a pointer to bytes in global memory. */
#ifndef GANTRY_INDICES_CL
#define GANTRY_INDICES_CL

#define GANTRY_GET_INDEX(at, is_wide, i)                                        \
    ((is_wide) ? ((GANTRY_GLOBAL const GANTRY_LONG *)(at))[i]                   \
               : (GANTRY_LONG)((GANTRY_GLOBAL const int *)(at))[i])
#define GANTRY_PUT_INDEX(at, is_wide, i, value)                                 \
    do {                                                                        \
        if (is_wide) {                                                          \
            ((GANTRY_GLOBAL GANTRY_LONG *)(at))[i] = (GANTRY_LONG)(value);      \
        } else {                                                                \
            ((GANTRY_GLOBAL int *)(at))[i] = (int)(value);                      \
        }                                                                       \
    } while (0)

/* The key of an update that goes to no slice; see scatter.cl. */
#define GANTRY_NO_SLICE 0xffffffffu

#endif
