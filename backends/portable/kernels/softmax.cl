/* Softmax and LogSoftmax over rows: e = exp(x - largest), e / sum(e) or (x - largest) - log(sum(e)).
 *
 * The sum follows the tree of reduce.cl, and exp and log are the same everywhere, so all forms and all devices give the
 * same bits.
 *
 *   softmax_group   GPUs: 64 work-items for a row of at most 4096 elements, a lane each
 *   softmax_item    CPUs, and rows of at most 64 elements: a work-item for a row of at most 4096
 *   longer rows     reduce.cl for the largest, softmax_terms, reduce.cl for the sum, softmax_result
 *
 * Options: GANTRY_T_ID, a float; GANTRY_SOFTMAX_LOG 0 or 1. */

#if GANTRY_T_ID == GANTRY_FLOAT32
#define SOFT_EXP(x) gantry_exp_f32(x)
#define SOFT_LOG(x) gantry_log_f32(x)
#define SOFT_LOWEST GANTRY_AS_FLOAT(0xff800000u)
#else
#define SOFT_EXP(x) gantry_exp_f64(x)
#define SOFT_LOG(x) gantry_log_f64(x)
#define SOFT_LOWEST GANTRY_AS_DOUBLE(((ulong)0xfff00000u) << 32)
#endif

#define SOFT_MAX(a, b) ((b) != (b) || (b) > (a) ? (b) : (a))
#define LANES 64

/* The result for x once the row's largest element and sum are known; for LogSoftmax `sum` is the sum's logarithm. */
GANTRY_FN T result_of(T x, T largest, T sum)
{
#if GANTRY_SOFTMAX_LOG
    return (x - largest) - sum;
#else
    return SOFT_EXP(x - largest) / sum;
#endif
}

GANTRY_FN T scale_of(T sum)
{
#if GANTRY_SOFTMAX_LOG
    return SOFT_LOG(sum);
#else
    return sum;
#endif
}

GANTRY_KERNEL softmax_group(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), const GANTRY_LONG length)
{
    GANTRY_LOCAL_ARRAY(T, lanes, LANES);
    const GANTRY_LONG row = GANTRY_GROUP_ID(0);
    const int lane = (int)GANTRY_LOCAL_ID(0);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length;
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length;
    T largest = SOFT_LOWEST;
    T sum = 0;
    for (GANTRY_LONG i = lane; i < length; i += LANES) {
        largest = SOFT_MAX(largest, x[i]);
    }
    lanes[lane] = largest;
    GANTRY_BARRIER();
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            largest = SOFT_MAX(largest, lanes[lane + apart]);
            lanes[lane] = largest;
        }
        GANTRY_BARRIER();
    }
    largest = lanes[0] + (T)0; /* a zero of either sign is +0 */
    GANTRY_BARRIER();
    for (GANTRY_LONG i = lane; i < length; i += LANES) {
        sum = sum + SOFT_EXP(x[i] - largest);
    }
    lanes[lane] = sum;
    GANTRY_BARRIER();
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            sum = sum + lanes[lane + apart];
            lanes[lane] = sum;
        }
        GANTRY_BARRIER();
    }
    sum = scale_of(lanes[0]);
    for (GANTRY_LONG i = lane; i < length; i += LANES) {
        y[i] = result_of(x[i], largest, sum);
    }
}

GANTRY_FN T row_largest(GANTRY_GLOBAL const T *x, int length)
{
    T lanes[LANES];
    T largest = SOFT_LOWEST;
    int i = 0;
    if (length >= LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] = x[k];
        }
        for (i = LANES; i + LANES <= length; i += LANES) {
            for (int k = 0; k < LANES; k++) {
                lanes[k] = SOFT_MAX(lanes[k], x[i + k]);
            }
        }
        for (int k = 0; k < LANES; k++) {
            largest = SOFT_MAX(largest, lanes[k]);
        }
    }
    for (; i < length; i++) {
        largest = SOFT_MAX(largest, x[i]);
    }
    return largest + (T)0;
}

GANTRY_FN T row_sum(GANTRY_GLOBAL const T *x, int length, T largest)
{
    T lanes[LANES];
    int i = 0;
    for (int k = 0; k < LANES; k++) {
        lanes[k] = 0;
    }
    for (; i + LANES <= length; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] = lanes[k] + SOFT_EXP(x[i + k] - largest);
        }
    }
    for (int k = 0; i + k < length; k++) {
        lanes[k] = lanes[k] + SOFT_EXP(x[i + k] - largest);
    }
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        for (int k = 0; k < apart; k++) {
            lanes[k] = lanes[k] + lanes[k + apart];
        }
    }
    return lanes[0];
}

GANTRY_KERNEL softmax_item(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), const GANTRY_LONG length, const GANTRY_LONG rows)
{
    const GANTRY_LONG row = GANTRY_GLOBAL_ID(0);
    if (row >= rows) {
        return;
    }
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length;
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length;
    const T largest = row_largest(x, (int)length);
    const T scale = scale_of(row_sum(x, (int)length, largest));
    for (int i = 0; i < (int)length; i++) {
        y[i] = result_of(x[i], largest, scale);
    }
}

/* ---- rows of more than 4096 elements: largest[row] and sum[row] come from reduce.cl; a work-group for a piece of a
 * row ---- */

#define PIECE 4096

GANTRY_KERNEL softmax_terms(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(largest), GANTRY_SPAN_OUT(terms),
                            const GANTRY_LONG length, const GANTRY_LONG pieces)
{
    const GANTRY_LONG row = GANTRY_GROUP_ID(0) / pieces;
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) % pieces * PIECE;
    const int count = (int)(length - first < PIECE ? length - first : PIECE);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length + first;
    GANTRY_GLOBAL T *e = GANTRY_OUT(T, terms) + row * length + first;
    const T most = GANTRY_IN(T, largest)[row] + (T)0;
    const int step = (int)GANTRY_LOCAL_SIZE(0);
    for (int i = (int)GANTRY_LOCAL_ID(0); i < count; i += step) {
        e[i] = SOFT_EXP(x[i] - most);
    }
}

GANTRY_KERNEL softmax_result(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(largest), GANTRY_SPAN_IN(sum), GANTRY_SPAN_OUT(out),
                             const GANTRY_LONG length, const GANTRY_LONG pieces)
{
    const GANTRY_LONG row = GANTRY_GROUP_ID(0) / pieces;
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) % pieces * PIECE;
    const int count = (int)(length - first < PIECE ? length - first : PIECE);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length + first;
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length + first;
    const T most = GANTRY_IN(T, largest)[row] + (T)0;
    const T scale = scale_of(GANTRY_IN(T, sum)[row]);
    const int step = (int)GANTRY_LOCAL_SIZE(0);
    for (int i = (int)GANTRY_LOCAL_ID(0); i < count; i += step) {
        y[i] = result_of(x[i], most, scale);
    }
}
