/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin for one element type. It has no guard, because argmax_cpu_simd.c includes it
 * once per type. The includer must define ARG_REVERSED(x), a key in reverse order, for all types
 * that follow; and for each type ARG_NAME(x); ARG_IN, the type of elements; ARG_INDEX, an integer
 * at least as wide as keys, that counts to 4096; ARG_LOWEST, the lowest key; and, unless elements
 * are keys, ARG_T, the type of keys, and ARG_LOAD(x), an element as a key. The file undefines these
 * at its end.
 *
 * ArgMin is ArgMax of reversed keys. The loops first find the largest element, by lanes. They
 * search its first place only in chunks that beat all before. Owner: the entry point owns what a
 * plan points to. Threads: thread-safe for units that differ. */

#ifndef ARG_T
#define ARG_T ARG_IN
#define ARG_LOAD(x) (x)
#endif

static inline ARG_T ARG_NAME(key)(ARG_IN x, int32_t reverses) {
    const ARG_T value = ARG_LOAD(x);
    return reverses ? ARG_REVERSED(value) : value;
}

static ARG_T ARG_NAME(largest)(const ARG_IN *x, int64_t count, int32_t reverses) {
    ARG_T lanes[GANTRY_REDUCE_LANES];
    ARG_T best = ARG_LOWEST;
    int64_t i = 0;
    if (count >= GANTRY_REDUCE_LANES) {
        for (int64_t k = 0; k < GANTRY_REDUCE_LANES; ++k) {
            lanes[k] = ARG_LOWEST;
        }
        for (; i + GANTRY_REDUCE_LANES <= count; i += GANTRY_REDUCE_LANES) {
            for (int64_t k = 0; k < GANTRY_REDUCE_LANES; ++k) {
                ARG_T key = ARG_NAME(key)(x[i + k], reverses);
                lanes[k] = key > lanes[k] ? key : lanes[k];
            }
        }
        for (int64_t half = GANTRY_REDUCE_LANES / 2; half > 0; half /= 2) {
            for (int64_t k = 0; k < half; ++k) {
                lanes[k] = lanes[k + half] > lanes[k] ? lanes[k + half] : lanes[k];
            }
        }
        best = lanes[0];
    }
    for (; i < count; ++i) {
        ARG_T key = ARG_NAME(key)(x[i], reverses);
        best = key > best ? key : best;
    }
    return best;
}

/* The index of the first largest element of x; 0 if every element is NaN or the lowest value. */
static int64_t ARG_NAME(first_largest)(const ARG_IN *x, int64_t count, int32_t reverses) {
    ARG_T best = ARG_LOWEST;
    int64_t found = 0;
    for (int64_t begin = 0; begin < count; begin += GANTRY_REDUCE_CHUNK) {
        int64_t length = count - begin < GANTRY_REDUCE_CHUNK ? count - begin : GANTRY_REDUCE_CHUNK;
        ARG_T value = ARG_NAME(largest)(x + begin, length, reverses);
        if (value > best) {
            best = value;
            found = begin;
            while (!(ARG_NAME(key)(x[found], reverses) == value)) {
                found++;
            }
        }
    }
    return found;
}

static void ARG_NAME(store)(const gantry__cpu_argmax_plan_t *plan, int64_t at, int64_t index) {
    if (plan->partial) {
        plan->partial[at] = index;
    } else if (plan->out_dtype == GANTRY_INT32) {
        ((int32_t *)plan->out)[at] = (int32_t)index;
    } else if (plan->out_dtype == GANTRY_INT64) {
        ((int64_t *)plan->out)[at] = index;
    } else {
        ((uint16_t *)plan->out)[at] = (uint16_t)index;
    }
}

static void ARG_NAME(block)(const gantry__cpu_argmax_plan_t *plan, int64_t outer, int64_t column) {
    ARG_T best[GANTRY_CPU_ARGMAX_BLOCK];
    ARG_INDEX place[GANTRY_CPU_ARGMAX_BLOCK];
    int64_t found[GANTRY_CPU_ARGMAX_BLOCK] = {0};
    int64_t width = plan->columns - column < GANTRY_CPU_ARGMAX_BLOCK ? plan->columns - column
                                                                     : GANTRY_CPU_ARGMAX_BLOCK;
    const ARG_IN *in = (const ARG_IN *)plan->in + outer * plan->length * plan->columns + column;
    for (int64_t i = 0; i < width; ++i) {
        best[i] = ARG_LOWEST;
    }
    for (int64_t begin = 0; begin < plan->length; begin += GANTRY_REDUCE_CHUNK) {
        int64_t rows =
            plan->length - begin < GANTRY_REDUCE_CHUNK ? plan->length - begin : GANTRY_REDUCE_CHUNK;
        for (int64_t i = 0; i < width; ++i) {
            place[i] = -1;
        }
        for (ARG_INDEX row = 0; row < rows; ++row) {
            const ARG_IN *x = in + (begin + row) * plan->columns;
            for (int64_t i = 0; i < width; ++i) {
                ARG_T key = ARG_NAME(key)(x[i], plan->reverses);
                place[i] = key > best[i] ? row : place[i];
                best[i] = key > best[i] ? key : best[i];
            }
        }
        for (int64_t i = 0; i < width; ++i) {
            found[i] = place[i] >= 0 ? begin + place[i] : found[i];
        }
    }
    for (int64_t i = 0; i < width; ++i) {
        ARG_NAME(store)(plan, outer * plan->columns + column + i, found[i]);
    }
}

static void ARG_NAME(run)(const gantry__cpu_argmax_plan_t *plan, int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
        int64_t outer = unit / plan->parts;
        int64_t part = unit % plan->parts;
        if (plan->columns > 1) {
            ARG_NAME(block)(plan, outer, part * GANTRY_CPU_ARGMAX_BLOCK);
        } else {
            int64_t first = part * plan->piece;
            int64_t count = plan->length - first < plan->piece ? plan->length - first : plan->piece;
            const ARG_IN *x = (const ARG_IN *)plan->in + outer * plan->length + first;
            int64_t index = ARG_NAME(first_largest)(x, count, plan->reverses);
            ARG_NAME(store)(plan, unit, first + index);
        }
    }
}

/* Joins the pieces of each of the rows [begin, end) to one index. */
static void ARG_NAME(join)(const gantry__cpu_argmax_plan_t *plan, int64_t begin, int64_t end) {
    gantry__cpu_argmax_plan_t target = *plan;
    target.partial = NULL;
    for (int64_t row = begin; row < end; ++row) {
        const ARG_IN *x = (const ARG_IN *)plan->in + row * plan->length;
        ARG_T best = ARG_LOWEST;
        int64_t found = 0;
        for (int64_t part = 0; part < plan->parts; ++part) {
            int64_t index = plan->partial[row * plan->parts + part];
            ARG_T key = ARG_NAME(key)(x[index], plan->reverses);
            found = key > best ? index : found;
            best = key > best ? key : best;
        }
        ARG_NAME(store)(&target, row, found);
    }
}

#undef ARG_NAME
#undef ARG_IN
#undef ARG_T
#undef ARG_LOAD
#undef ARG_INDEX
#undef ARG_LOWEST
