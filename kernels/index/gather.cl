/* SPDX-License-Identifier: Apache-2.0 */
/* Gather: out[b, o, k, i] = params[b, o, indices[b, k], i], by element size: T represents all types
 * of that size. Indices have the type I. An index outside [0, limit) gives 0 and is reported by its
 * position in indices (input 1). It must come after dialect, launch, types and work. */
typedef struct gantry__gather_t {
    gantry__work_t work; /* over the output's elements */
    GANTRY_LONG outer;
    GANTRY_LONG limit;
    GANTRY_LONG picks;
    GANTRY_LONG inner;
    /* for prefetch on processors: cache lines of a row, and how many rows ahead */
    GANTRY_LONG lines, ahead;
} gantry__gather_t;

#if GANTRY_SERIAL

#if GANTRY_T_IS(b8)
typedef uchar16 gantry__many_t;
#elif GANTRY_T_IS(u16)
typedef ushort16 gantry__many_t;
#elif GANTRY_T_IS(i32)
typedef int16 gantry__many_t;
#elif GANTRY_T_IS(i64)
typedef long16 gantry__many_t;
#endif

/* Copies `count` elements of a row, or writes zeros. */
GANTRY_FN void gantry__copy_row(GANTRY_GLOBAL const T *ins, GANTRY_GLOBAL T *outs,
                                const GANTRY_LONG count, const int is_there) {
    GANTRY_LONG e = 0;

    if (!is_there) {
        for (; e < count; ++e) {
            outs[e] = GANTRY_T_ZERO;
        }
        return;
    }
#if !GANTRY_T_IS(c128)
    for (; count - e >= 16; e += 16) {
        const gantry__many_t many = vload16(0, ins + e);
        vstore16(many, 0, outs + e);
    }
#endif
    for (; e < count; ++e) {
        outs[e] = ins[e];
    }
}

#define GANTRY_SINGLES 64

/* Copies `count` rows of one element each, prefetched one block ahead. Returns the position of the
 * first bad index, or -1; it searches a block only after it has seen a bad index there. */
GANTRY_FN GANTRY_LONG gantry__pick_singles(GANTRY_GLOBAL const T *ins,
                                           GANTRY_GLOBAL const I *indices, GANTRY_GLOBAL T *outs,
                                           const GANTRY_LONG count, const GANTRY_LONG limit) {
    GANTRY_LONG bad = -1;

    for (GANTRY_LONG start = 0; start < count; start += GANTRY_SINGLES) {
        const int some = (int)(count - start < GANTRY_SINGLES ? count - start : GANTRY_SINGLES);
        int are_bad = 0;

        for (int e = 0; e < some && start + GANTRY_SINGLES + e < count; ++e) {
            GANTRY_PREFETCH((ulong)ins +
                            (ulong)(GANTRY_LONG)indices[start + GANTRY_SINGLES + e] * sizeof(T));
        }
        for (int e = 0; e < some; ++e) {
            const ulong index = (ulong)(GANTRY_LONG)indices[start + e];
            const int is_there = index < (ulong)limit;
            const T value = ins[is_there ? index : 0];

            outs[start + e] = is_there ? value : GANTRY_T_ZERO;
            are_bad |= !is_there;
        }
        for (int e = 0; are_bad && bad < 0 && e < some; ++e) {
            bad = (ulong)(GANTRY_LONG)indices[start + e] < (ulong)limit ? -1 : start + e;
        }
    }
    return bad;
}

GANTRY_KERNEL gather(GANTRY_SPAN_IN(params), GANTRY_SPAN_IN(indices), GANTRY_SPAN_OUT(out),
                     const gantry__gather_t p, GANTRY_SPAN_OUT(fault)) {
    const GANTRY_LONG end = GANTRY_END(p.work);
    GANTRY_LONG i = GANTRY_FIRST(p.work);
    GANTRY_LONG at = i % p.inner; /* within a row */
    GANTRY_LONG pick = i / p.inner % p.picks;
    GANTRY_LONG matrix = i / p.inner / p.picks; /* (b, o) */
    GANTRY_LONG bad = -1;                       /* the first bad one of this work-item */

    while (i < end) { /* a matrix, or this work-item's part of it */
        const GANTRY_LONG position = gantry__divide_position(matrix, p.outer) * p.picks;
        GANTRY_GLOBAL const I *own = GANTRY_IN(I, indices) + position;
        GANTRY_GLOBAL const T *ins = GANTRY_IN(T, params) + matrix * p.limit * p.inner;
        GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);
        GANTRY_LONG first_bad = -1;

        if (p.inner == 1 && p.limit > 0) {
            const GANTRY_LONG count = p.picks - pick < end - i ? p.picks - pick : end - i;

            first_bad = gantry__pick_singles(ins, own + pick, outs + i, count, p.limit);
            first_bad = first_bad < 0 ? -1 : pick + first_bad;
            i += count;
        } else {
            for (; pick < p.picks && i < end; ++pick) {
                const GANTRY_LONG index = (GANTRY_LONG)own[pick];
                const GANTRY_LONG length = p.inner - at < end - i ? p.inner - at : end - i;
                const int is_there = index >= 0 && index < p.limit;

                if (p.picks - pick > p.ahead) {
                    const ulong next =
                        (ulong)ins +
                        (ulong)((GANTRY_LONG)own[pick + p.ahead] * p.inner) * sizeof(T);
                    for (int line = 0; line < (int)p.lines; ++line) {
                        GANTRY_PREFETCH(next + line * 64);
                    }
                }
                gantry__copy_row(ins + (is_there ? index : 0) * p.inner + at, outs + i, length,
                                 is_there);
                first_bad = first_bad < 0 && !is_there ? pick : first_bad;
                i += length;
                at = 0;
            }
        }
        bad = bad < 0 && first_bad >= 0 ? position + first_bad : bad;
        pick = 0;
        matrix++;
    }
    if (bad >= 0) {
        GANTRY_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, bad);
    }
}

#else

GANTRY_KERNEL gather(GANTRY_SPAN_IN(params), GANTRY_SPAN_IN(indices), GANTRY_SPAN_OUT(out),
                     const gantry__gather_t p, GANTRY_SPAN_OUT(fault)) {
    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        const GANTRY_LONG row = gantry__divide_position(i, p.inner);
        const GANTRY_LONG at = i - row * p.inner;
        const GANTRY_LONG matrix = gantry__divide_position(row, p.picks);
        const GANTRY_LONG batch = gantry__divide_position(matrix, p.outer);
        const GANTRY_LONG position = row - (matrix - batch) * p.picks;
        const GANTRY_LONG index = (GANTRY_LONG)GANTRY_IN(I, indices)[position];
        T value = GANTRY_T_ZERO;

        if (GANTRY_IS_WITHIN(index, p.limit)) {
            value = GANTRY_IN(T, params)[(matrix * p.limit + index) * p.inner + at];
        } else {
            GANTRY_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, position);
        }
        GANTRY_OUT(T, out)[i] = value;
    }
}

#endif
