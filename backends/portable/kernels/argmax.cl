/* ArgMax: the index of the first largest element. NaN never wins; where nothing is above the lowest value, the answer
 * is 0.
 *
 * Work is by pieces of rows, each giving one index; argmax_join takes the best of a row's pieces. Equal elements: the
 * lower index, so the cut into pieces and lanes does not show.
 *
 * Options: GANTRY_T_ID; GANTRY_I_ID, the type of the output. */

#if GANTRY_T_ID == GANTRY_FLOAT32
#define ARG_LOWEST GANTRY_AS_FLOAT(0xff800000u)
#elif GANTRY_T_ID == GANTRY_FLOAT64
#define ARG_LOWEST GANTRY_AS_DOUBLE(((ulong)0xfff00000u) << 32)
#elif GANTRY_T_ID == GANTRY_INT32
#define ARG_LOWEST ((int)0x80000000u)
#elif GANTRY_T_ID == GANTRY_INT64
#define ARG_LOWEST ((GANTRY_LONG)((ulong)1 << 63))
#else
#define ARG_LOWEST ((uchar)0)
#endif

#define LANES 64

/* The host's struct of the same name: [outer, length, columns] reduced over its middle axis. */
typedef struct {
    GANTRY_LONG length;
    GANTRY_LONG columns;
    GANTRY_LONG parts; /* pieces of one sequence */
    GANTRY_LONG piece; /* elements of a piece */
    GANTRY_LONG units; /* outer * columns * parts */
} argmax_t;

/* Writes to `out` (type I) when a sequence is one piece, else to `partial`. */
GANTRY_FN void store_index(GANTRY_GLOBAL I *out, GANTRY_GLOBAL GANTRY_LONG *partial, const argmax_t *plan,
                           GANTRY_LONG unit, GANTRY_LONG index)
{
    if (plan->parts == 1) {
        out[unit] = (I)index;
    } else {
        partial[unit] = index;
    }
}

/* Unit: ((outer * columns) + column) * parts + part. */
GANTRY_FN GANTRY_LONG sequence_offset(const argmax_t *plan, GANTRY_LONG sequence)
{
    return sequence / plan->columns * plan->length * plan->columns + sequence % plan->columns;
}

/* One work-item for a unit. */
GANTRY_KERNEL argmax_item(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(partial), const argmax_t plan)
{
    const GANTRY_LONG unit = GANTRY_GLOBAL_ID(0);
    if (unit >= plan.units) {
        return;
    }
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + sequence_offset(&plan, unit / plan.parts);
    const GANTRY_LONG first = unit % plan.parts * plan.piece;
    const GANTRY_LONG end = first + plan.piece < plan.length ? first + plan.piece : plan.length;
    T best = ARG_LOWEST;
    GANTRY_LONG found = first;
    for (GANTRY_LONG i = first; i < end; i++) {
        T value = x[i * plan.columns];
        found = value > best ? i : found;
        best = value > best ? value : best;
    }
    store_index(GANTRY_OUT(I, out), GANTRY_OUT(GANTRY_LONG, partial), &plan, unit, found);
}

/* 64 work-items for a unit. */
GANTRY_KERNEL argmax_group(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(partial), const argmax_t plan)
{
    GANTRY_LOCAL_ARRAY(T, values, LANES);
    GANTRY_LOCAL_ARRAY(GANTRY_LONG, places, LANES);
    const GANTRY_LONG unit = GANTRY_GROUP_ID(0);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + sequence_offset(&plan, unit / plan.parts);
    const GANTRY_LONG first = unit % plan.parts * plan.piece;
    const GANTRY_LONG end = first + plan.piece < plan.length ? first + plan.piece : plan.length;
    const int lane = (int)GANTRY_LOCAL_ID(0);
    T best = ARG_LOWEST;
    GANTRY_LONG found = first + plan.piece; /* behind every place: a lane that found nothing loses ties */
    for (GANTRY_LONG i = first + lane; i < end; i += LANES) {
        T value = x[i * plan.columns];
        found = value > best ? i : found;
        best = value > best ? value : best;
    }
    values[lane] = best;
    places[lane] = found;
    GANTRY_BARRIER();
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            T value = values[lane + apart];
            GANTRY_LONG place = places[lane + apart];
            if (value > best || (value == best && place < found)) {
                best = value;
                found = place;
                values[lane] = best;
                places[lane] = found;
            }
        }
        GANTRY_BARRIER();
    }
    if (lane == 0) {
        store_index(GANTRY_OUT(I, out), GANTRY_OUT(GANTRY_LONG, partial), &plan, unit, found < end ? found : first);
    }
}

/* One work-item for a sequence of several pieces. */
GANTRY_KERNEL argmax_join(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_SPAN_IN(partial), const argmax_t plan)
{
    const GANTRY_LONG sequence = GANTRY_GLOBAL_ID(0);
    if (sequence >= plan.units / plan.parts) {
        return;
    }
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + sequence_offset(&plan, sequence);
    T best = ARG_LOWEST;
    GANTRY_LONG found = 0;
    for (GANTRY_LONG part = 0; part < plan.parts; part++) {
        GANTRY_LONG place = GANTRY_IN(GANTRY_LONG, partial)[sequence * plan.parts + part];
        T value = x[place * plan.columns];
        found = value > best ? place : found;
        best = value > best ? value : best;
    }
    GANTRY_OUT(I, out)[sequence] = (I)found;
}
