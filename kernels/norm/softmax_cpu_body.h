/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax of rows for one floating type. softmax_cpu_simd.c includes this file once
 * for each type, so it has no guard. The includer must define these, which the file undefines at
 * its end:
 *
 *     SOFT_NAME(x)               the name x with the type pasted on
 *     SOFT_IN, SOFT_T            the type of elements, and the one that they are computed in
 *     SOFT_LOAD(x), SOFT_STORE(x)   the conversions between the two
 *     SOFT_EXP(x), SOFT_LOG(x)   the functions for SOFT_T
 *     SOFT_SUM, SOFT_MOST        the tree's sum of a chunk of SOFT_T, its largest of SOFT_IN
 *
 * Rows of at most 64 elements are transposed, 256 bytes of columns at a time, so that exp runs on
 * whole vectors. The bits are the same. Owner: arrays are the caller's. Threads: thread-safe for
 * rows that do not overlap. */

/* Returns the largest element: +0 if it is a zero of either sign, NaN if the row has one. */
static SOFT_T SOFT_NAME(largest)(const SOFT_IN *x, int64_t count) {
    SOFT_T best = -INFINITY;
    for (int64_t i = 0; i < count; i += GANTRY_REDUCE_CHUNK) {
        SOFT_T value =
            SOFT_MOST(x + i, count - i < GANTRY_REDUCE_CHUNK ? count - i : GANTRY_REDUCE_CHUNK);
        best = MAX(best, value);
    }
    return best + 0;
}

#define SOFT_BLOCK 64 /* elements between two prefetches of the next row */

/* Returns the tree's sum of exp(x - largest) over count elements, which must be at most 4096.
 * Stores the terms to y unless it is NULL. */
static __attribute__((noinline)) SOFT_T SOFT_NAME(leaf)(const SOFT_IN *x, SOFT_T *y, int64_t count,
                                                        SOFT_T largest) {
    _Alignas(64) SOFT_T terms[GANTRY_REDUCE_CHUNK];
    SOFT_T *restrict target = y ? y : terms;
    int64_t i = 0;
    for (; i + SOFT_BLOCK <= count; i += SOFT_BLOCK) {
        gantry__cpu_prefetch((uintptr_t)(x + i) + (uintptr_t)count * sizeof *x,
                             SOFT_BLOCK * sizeof *x);
        if (y) {
            gantry__cpu_prefetch_for_write((uintptr_t)(y + i) + (uintptr_t)count * sizeof *y,
                                           SOFT_BLOCK * sizeof *y);
        }
        for (int64_t k = i; k < i + SOFT_BLOCK; ++k)
            target[k] = SOFT_EXP(SOFT_LOAD(x[k]) - largest);
    }
    for (; i < count; ++i) target[i] = SOFT_EXP(SOFT_LOAD(x[i]) - largest);
    return SOFT_SUM(target, count);
}

/* The same for any number of elements, by levels of 4096. */
static SOFT_T SOFT_NAME(sum)(const SOFT_IN *x, SOFT_T *y, int64_t count, SOFT_T largest) {
    if (count <= GANTRY_REDUCE_CHUNK) return SOFT_NAME(leaf)(x, y, count, largest);
    SOFT_T lanes[GANTRY_REDUCE_LANES] = {0}; /* lanes of the sums of the parts */
    int64_t part = GANTRY_REDUCE_CHUNK;
    int64_t found = 0;
    while ((count + part - 1) / part > GANTRY_REDUCE_CHUNK) part *= GANTRY_REDUCE_CHUNK;
    for (int64_t i = 0; i < count; i += part) {
        lanes[found++ % GANTRY_REDUCE_LANES] +=
            SOFT_NAME(sum)(x + i, y ? y + i : NULL, count - i < part ? count - i : part, largest);
    }
    return SOFT_SUM(lanes, GANTRY_REDUCE_LANES);
}

/* Sets y to the results of x. y keeps the terms if it has their type; the terms of 16-bit floats
 * are computed twice. */
static void SOFT_NAME(row)(const SOFT_IN *x, SOFT_IN *restrict y, int64_t count, bool logarithm) {
    const bool keeps_terms = !logarithm && sizeof(SOFT_IN) == sizeof(SOFT_T);
    SOFT_T largest = SOFT_NAME(largest)(x, count);
    SOFT_T sum = SOFT_NAME(sum)(x, keeps_terms ? (SOFT_T *)(void *)y : NULL, count, largest);
    if (logarithm) {
        SOFT_T log_sum = SOFT_LOG(sum);
        for (int64_t i = 0; i < count; ++i)
            y[i] = SOFT_STORE((SOFT_LOAD(x[i]) - largest) - log_sum);
    } else if (keeps_terms) {
        for (int64_t i = 0; i < count; ++i) y[i] = SOFT_STORE(SOFT_LOAD(y[i]) / sum);
    } else {
        for (int64_t i = 0; i < count; ++i)
            y[i] = SOFT_STORE(SOFT_EXP(SOFT_LOAD(x[i]) - largest) / sum);
    }
}

/* ---- 64 or 32 rows of at most 64 elements, transposed: element k of row i is at
 * [k * SOFT_WIDTH + i] ---- */

#define SOFT_WIDTH ((int64_t)(256 / sizeof(SOFT_T)))

static void SOFT_NAME(transpose)(const SOFT_IN *x, SOFT_T *transposed, int64_t rows,
                                 int64_t length) {
    if (rows < SOFT_WIDTH)
        for (int64_t i = 0; i < length * SOFT_WIDTH; ++i) transposed[i] = 0;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < length; ++k)
            transposed[k * SOFT_WIDTH + i] = SOFT_LOAD(x[i * length + k]);
}

/* Reduces the lanes, one for each element of a row, into terms[0..SOFT_WIDTH), in the order of the
 * tree. */
static void SOFT_NAME(fold)(SOFT_T *terms, int64_t length) {
    int64_t half = 1;
    while (half * 2 < length) half *= 2;
    for (; half > 0; half /= 2) {
        for (int64_t k = 0; k < half && k + half < length; ++k) {
            SOFT_T *restrict a = terms + k * SOFT_WIDTH;
            const SOFT_T *restrict b = terms + (k + half) * SOFT_WIDTH;
            for (int64_t i = 0; i < SOFT_WIDTH; ++i) a[i] = a[i] + b[i];
        }
    }
}

/* Sets transposed to x - largest, and terms to the exponentials of that. */
static void SOFT_NAME(exponentials)(SOFT_T *restrict transposed, SOFT_T *restrict terms,
                                    int64_t length) {
    SOFT_T largest[SOFT_WIDTH];
    for (int64_t i = 0; i < SOFT_WIDTH; ++i) largest[i] = transposed[i];
    for (int64_t k = 1; k < length; ++k)
        for (int64_t i = 0; i < SOFT_WIDTH; ++i)
            largest[i] = MAX(largest[i], transposed[k * SOFT_WIDTH + i]);
    for (int64_t k = 0; k < length; ++k) {
        for (int64_t i = 0; i < SOFT_WIDTH; ++i) {
            SOFT_T shifted = transposed[k * SOFT_WIDTH + i] - (largest[i] + 0);
            transposed[k * SOFT_WIDTH + i] = shifted;
            terms[k * SOFT_WIDTH + i] = SOFT_EXP(shifted);
        }
    }
}

static void SOFT_NAME(transposed_rows)(const SOFT_IN *x, SOFT_IN *y, int64_t rows, int64_t length,
                                       bool logarithm) {
    _Alignas(64) SOFT_T transposed[64 * SOFT_WIDTH];
    _Alignas(64) SOFT_T terms[64 * SOFT_WIDTH];
    _Alignas(64) SOFT_T sum[SOFT_WIDTH];
    SOFT_NAME(transpose)(x, transposed, rows, length);
    SOFT_NAME(exponentials)(transposed, terms, length);
    if (!logarithm) memcpy(transposed, terms, (size_t)(length * SOFT_WIDTH) * sizeof *transposed);
    SOFT_NAME(fold)(terms, length);
    for (int64_t i = 0; i < SOFT_WIDTH; ++i) sum[i] = logarithm ? SOFT_LOG(terms[i]) : terms[i];
    /* a choice inside the loop keeps the compiler from vectors of quotients */
    if (logarithm) {
        for (int64_t k = 0; k < length * SOFT_WIDTH; k += SOFT_WIDTH)
            for (int64_t i = 0; i < SOFT_WIDTH; ++i) transposed[k + i] = transposed[k + i] - sum[i];
    } else {
        for (int64_t k = 0; k < length * SOFT_WIDTH; k += SOFT_WIDTH)
            for (int64_t i = 0; i < SOFT_WIDTH; ++i) transposed[k + i] = transposed[k + i] / sum[i];
    }
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < length; ++k)
            y[i * length + k] = SOFT_STORE(transposed[k * SOFT_WIDTH + i]);
}

static inline void SOFT_NAME(rows)(const gantry__cpu_softmax_plan_t *plan, int64_t begin,
                                   int64_t end, bool logarithm) {
    int64_t length = plan->length;
    const SOFT_IN *x = plan->in;
    SOFT_IN *y = plan->out;
    int64_t step = length <= 64 && end - begin > 2 ? SOFT_WIDTH : 1;
    for (int64_t row = begin; row < end; row += step) {
        if (step == 1) {
            SOFT_NAME(row)(x + row * length, y + row * length, length, logarithm);
        } else {
            int64_t rows = end - row < step ? end - row : step;
            SOFT_NAME(transposed_rows)(x + row * length, y + row * length, rows, length, logarithm);
        }
    }
}

static void SOFT_NAME(softmax)(const gantry__cpu_softmax_plan_t *plan, int64_t begin, int64_t end) {
    SOFT_NAME(rows)(plan, begin, end, false);
}

static void SOFT_NAME(log_softmax)(const gantry__cpu_softmax_plan_t *plan, int64_t begin,
                                   int64_t end) {
    SOFT_NAME(rows)(plan, begin, end, true);
}

#undef SOFT_WIDTH
#undef SOFT_BLOCK
#undef SOFT_NAME
#undef SOFT_IN
#undef SOFT_T
#undef SOFT_LOAD
#undef SOFT_STORE
#undef SOFT_SUM
#undef SOFT_MOST
#undef SOFT_EXP
#undef SOFT_LOG
