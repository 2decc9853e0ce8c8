/* The units of one reduction over the tree, for one type and operation: included by cpu_reduce_simd.c, without a
 * guard. Needs BODY_NAME(x), BODY_IN, BODY_ACC, BODY_LOAD(x), BODY_OP(a, b) and BODY_IDENTITY, of the same meaning as
 * the names that cpu_reduce_tree.h, which it includes, begins with TREE_, and BODY_PUT(plan, acc, count, at), which
 * writes results (cpu_reduce_finish.h); undefines them at its end.
 *
 * Three forms give the same bits:
 *   small   rows of at most 64 elements: 64 rows are turned into columns, the lanes of the tree are then whole vectors
 *   narrow  up to 512 bytes of columns: 64 rows of the input lie in memory as the lanes stand in acc
 *   wide    more columns: lane by lane in the order in which the fold needs them, so that seven rows of sums do:
 *
 *             fold of lanes 0..63:      ((0 + 32) + (16 + 48)) + ...        node(l, h) = node(l, 2h) + node(l + h, 2h)
 *                                        `--v--'   `---v---'                node(l, 64) = rows l, l + 64, l + 128, ...
 *                                        node(0,32) node(16,32)
 * Owner: as cpu_reduce.h. Threads: thread-safe. */

#define TREE_NAME(x) BODY_NAME(x)
#define TREE_IN BODY_IN
#define TREE_ACC BODY_ACC
#define TREE_LOAD(x) BODY_LOAD(x)
#define TREE_OP(a, b) BODY_OP(a, b)
#define TREE_IDENTITY BODY_IDENTITY
#include "cpu/cpu_reduce_tree.h"

/* One copy of the loops for sizes that are known late; what follows calls these. */
static __attribute__((noinline)) void BODY_NAME(add)(BODY_ACC *acc, const BODY_IN *x, int64_t rounds, int64_t stride,
                                                     int64_t count)
{
    BODY_NAME(steps)(acc, x, rounds, stride, count);
}

static __attribute__((noinline)) void BODY_NAME(add_lanes)(BODY_ACC *acc, const BODY_IN *x, int64_t count)
{
    BODY_NAME(add_sequence)(acc, x, count);
}

static __attribute__((noinline)) void BODY_NAME(join)(BODY_ACC *restrict a, const BODY_ACC *restrict b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        a[i] = BODY_OP(a[i], b[i]);
    }
}

/* ---- small ---- */

static __attribute__((noinline)) void BODY_NAME(small_rows)(const gantry__cpu_reduce_plan_t *plan, int64_t row,
                                                            int64_t rows)
{
    BODY_ACC turned[64 * GANTRY_REDUCE_LANES];
    const int64_t width = GANTRY_REDUCE_LANES;
    int64_t length = plan->shape.length;
    const BODY_IN *in = (const BODY_IN *)plan->in + row * length;
    int64_t half = 1;
    if (rows < width) {
        BODY_NAME(fill)(turned, length * width);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < length; k++) {
            turned[k * width + i] = BODY_NAME(first)(BODY_LOAD(in[i * length + k]));
        }
    }
    while (half * 2 < length) {
        half *= 2;
    }
    for (; half > 0; half /= 2) {
        for (int64_t k = 0; k < half && k + half < length; k++) {
            BODY_NAME(join)(turned + k * width, turned + (k + half) * width, width);
        }
    }
    BODY_PUT(plan, turned, rows, row);
}

static void BODY_NAME(small)(const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row += GANTRY_REDUCE_LANES) {
        BODY_NAME(small_rows)(plan, row, end - row < GANTRY_REDUCE_LANES ? end - row : GANTRY_REDUCE_LANES);
    }
}

/* ---- narrow ---- */

/* Adds rows that lie side by side, the first of which belongs to lane 0. */
static __attribute__((noinline)) void BODY_NAME(add_rows)(BODY_ACC *acc, const BODY_IN *x, int64_t rows,
                                                          int64_t columns)
{
    int64_t period = GANTRY_REDUCE_LANES * columns;
    int64_t rounds = rows / GANTRY_REDUCE_LANES;
    int64_t rest = rows - rounds * GANTRY_REDUCE_LANES;
    if (columns == 1) {
        BODY_NAME(add_lanes)(acc, x, rows);
        return;
    }
    BODY_NAME(add)(acc, x, rounds, period, period);
    if (rest > 0) {
        BODY_NAME(add)(acc, x + rounds * period, 1, 0, rest * columns);
    }
}

/* Adds rows of a sequence whose rows lie side by side in runs only. */
static __attribute__((noinline)) void BODY_NAME(add_runs)(const gantry__cpu_reduce_plan_t *plan, const BODY_IN *base,
                                                          int64_t row, int64_t rows, BODY_ACC *acc)
{
    const gantry__reduce_axes_t *reduced = &plan->shape.reduced;
    int64_t columns = plan->shape.columns;
    int64_t run = reduced->dims[reduced->rank - 1];
    int64_t lane = 0;
    while (rows > 0) {
        const BODY_IN *x = base + gantry__reduce_offset(reduced, row);
        int64_t piece = run - row % run < rows ? run - row % run : rows;
        row += piece;
        rows -= piece;
        if (lane > 0) {
            int64_t head = GANTRY_REDUCE_LANES - lane < piece ? GANTRY_REDUCE_LANES - lane : piece;
            BODY_NAME(add)(acc + lane * columns, x, 1, 0, head * columns);
            x += head * columns;
            piece -= head;
            lane = (lane + head) % GANTRY_REDUCE_LANES;
        }
        if (piece > 0) {
            BODY_NAME(add_rows)(acc, x, piece, columns);
            lane = piece % GANTRY_REDUCE_LANES;
        }
    }
}

static void BODY_NAME(narrow)(const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end)
{
    _Alignas(64) BODY_ACC acc[GANTRY_REDUCE_LANES * GANTRY_CPU_REDUCE_NARROW_BYTES / sizeof(BODY_ACC)];
    const gantry__reduce_shape_t *shape = &plan->shape;
    int64_t columns = shape->columns;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t row = unit % plan->chunks * GANTRY_REDUCE_CHUNK;
        int64_t rows = shape->length - row < GANTRY_REDUCE_CHUNK ? shape->length - row : GANTRY_REDUCE_CHUNK;
        const BODY_IN *base = (const BODY_IN *)plan->in + gantry__reduce_offset(&shape->kept, unit / plan->chunks);
        int64_t lanes = GANTRY_REDUCE_LANES;
        while (lanes / 2 >= rows && columns > 1) {
            lanes /= 2;
        }
        BODY_NAME(fill)(acc, lanes * columns);
        if (shape->reduced.rank == 1) {
            BODY_NAME(add_rows)(acc, base + row * columns, rows, columns);
        } else {
            BODY_NAME(add_runs)(plan, base, row, rows, acc);
        }
        if (columns == 1) {
            BODY_NAME(fold_lanes)(acc);
        } else {
            BODY_NAME(fold)(acc, lanes, columns);
        }
        BODY_PUT(plan, acc, columns, unit * columns);
    }
}

/* ---- wide ---- */

typedef struct {
    const gantry__reduce_axes_t *reduced;
    const BODY_IN *base; /* column 0 of the unit */
    int64_t row;         /* the chunk's first */
    int64_t rows;
    int64_t width; /* columns of the unit */
} BODY_NAME(wide_t);

static inline const BODY_IN *BODY_NAME(row)(const BODY_NAME(wide_t) * wide, int64_t row)
{
    return wide->base + gantry__reduce_offset(wide->reduced, wide->row + row);
}

/* Sums the rows of one lane into target. */
static __attribute__((noinline)) void BODY_NAME(lane)(const BODY_NAME(wide_t) * wide, int64_t lane, BODY_ACC *target)
{
    BODY_NAME(fill)(target, wide->width);
    if (wide->reduced->rank == 1) {
        int64_t rounds = (wide->rows - lane + GANTRY_REDUCE_LANES - 1) / GANTRY_REDUCE_LANES;
        int64_t stride = wide->reduced->strides[0] * GANTRY_REDUCE_LANES;
        BODY_NAME(add)(target, BODY_NAME(row)(wide, lane), rounds, stride, wide->width);
        return;
    }
    for (int64_t row = lane; row < wide->rows; row += GANTRY_REDUCE_LANES) {
        BODY_NAME(add)(target, BODY_NAME(row)(wide, row), 1, 0, wide->width);
    }
}

#define BODY_FIRST(x) BODY_NAME(first)(BODY_LOAD(x))

/* Folds up to four lanes of one row each, first, first + apart, ..., in one pass. */
static __attribute__((noinline)) void BODY_NAME(few)(const BODY_NAME(wide_t) * wide, int64_t first, int64_t apart,
                                                     int64_t count, BODY_ACC *restrict target)
{
    const BODY_IN *restrict a = BODY_NAME(row)(wide, first);
    const BODY_IN *restrict b = count > 1 ? BODY_NAME(row)(wide, first + apart) : a;
    const BODY_IN *restrict c = count > 2 ? BODY_NAME(row)(wide, first + 2 * apart) : a;
    const BODY_IN *restrict d = count > 3 ? BODY_NAME(row)(wide, first + 3 * apart) : a;
    int64_t width = wide->width;
    if (count == 1) {
        for (int64_t i = 0; i < width; i++) {
            target[i] = BODY_FIRST(a[i]);
        }
    } else if (count == 2) {
        for (int64_t i = 0; i < width; i++) {
            BODY_ACC p = BODY_FIRST(a[i]), q = BODY_FIRST(b[i]);
            target[i] = BODY_OP(p, q);
        }
    } else if (count == 3) {
        for (int64_t i = 0; i < width; i++) {
            BODY_ACC p = BODY_FIRST(a[i]), q = BODY_FIRST(b[i]), r = BODY_FIRST(c[i]);
            BODY_ACC pr = BODY_OP(p, r);
            target[i] = BODY_OP(pr, q);
        }
    } else {
        for (int64_t i = 0; i < width; i++) {
            BODY_ACC p = BODY_FIRST(a[i]), q = BODY_FIRST(b[i]), r = BODY_FIRST(c[i]), s = BODY_FIRST(d[i]);
            BODY_ACC pr = BODY_OP(p, r), qs = BODY_OP(q, s);
            target[i] = BODY_OP(pr, qs);
        }
    }
}

/* Lanes first, first + apart, first + 2 apart, ... folded into target; stack has room for one row per fold that is
 * still open. */
static __attribute__((noinline)) void BODY_NAME(node)(const BODY_NAME(wide_t) * wide, int64_t first, int64_t apart,
                                                      BODY_ACC *target, BODY_ACC *stack)
{
    if (wide->rows <= GANTRY_REDUCE_LANES && (wide->rows - first + apart - 1) / apart <= 4) {
        BODY_NAME(few)(wide, first, apart, (wide->rows - first + apart - 1) / apart, target);
        return;
    }
    if (apart == GANTRY_REDUCE_LANES) {
        BODY_NAME(lane)(wide, first, target);
        return;
    }
    BODY_NAME(node)(wide, first, 2 * apart, target, stack);
    if (first + apart < wide->rows) {
        BODY_NAME(node)(wide, first + apart, 2 * apart, stack, stack + wide->width);
        BODY_NAME(join)(target, stack, wide->width);
    }
}

static void BODY_NAME(wide)(const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end)
{
    _Alignas(64) BODY_ACC stack[7 * GANTRY_CPU_REDUCE_ROW_BYTES / sizeof(BODY_ACC)]; /* the result, six open folds */
    const gantry__reduce_shape_t *shape = &plan->shape;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t column = unit % plan->blocks * plan->block;
        int64_t sequence = unit / plan->blocks;
        int64_t row = sequence % plan->chunks * GANTRY_REDUCE_CHUNK;
        BODY_NAME(wide_t) wide = {
            .reduced = &shape->reduced,
            .base = (const BODY_IN *)plan->in + gantry__reduce_offset(&shape->kept, sequence / plan->chunks) + column,
            .row = row,
            .rows = shape->length - row < GANTRY_REDUCE_CHUNK ? shape->length - row : GANTRY_REDUCE_CHUNK,
            .width = shape->columns - column < plan->block ? shape->columns - column : plan->block};
        BODY_NAME(node)(&wide, 0, 1, stack, stack + wide.width);
        BODY_PUT(plan, stack, wide.width, sequence * shape->columns + column);
    }
}

static void BODY_NAME(run)(const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end)
{
    const gantry__reduce_shape_t *shape = &plan->shape;
    if (shape->columns * (int64_t)sizeof(BODY_ACC) > GANTRY_CPU_REDUCE_NARROW_BYTES) {
        BODY_NAME(wide)(plan, begin, end);
    } else if (shape->columns == 1 && shape->length <= 64 && end - begin > 4 && shape->reduced.rank == 1 &&
               shape->kept.rank == 1) {
        BODY_NAME(small)(plan, begin, end);
    } else {
        BODY_NAME(narrow)(plan, begin, end);
    }
}

#undef BODY_FIRST
#undef BODY_NAME
#undef BODY_IN
#undef BODY_ACC
#undef BODY_LOAD
#undef BODY_PUT
#undef BODY_OP
#undef BODY_IDENTITY
