/* The units of one reduction over the tree, for one type and operation: included by cpu_reduce_simd.c, without a
 * guard. Needs BODY_NAME(x), BODY_IN, BODY_ACC, BODY_OP(a, b) and BODY_IDENTITY, of the same meaning as the names that
 * cpu_reduce_tree.h, which it includes, begins with TREE_; undefines them at its end.
 *
 * Three forms give the same bits:
 *   small   rows of at most 32 elements: 64 rows are turned into columns, the lanes of the tree are then whole vectors
 *   narrow  up to 512 bytes of columns: 64 rows of the input lie in memory as the lanes stand in acc
 *   wide    more columns: lane by lane in the order in which the fold needs them, so that seven rows of sums are enough:
 *
 *             fold of lanes 0..63:      ((0 + 32) + (16 + 48)) + ...        node(l, h) = node(l, 2h) + node(l + h, 2h)
 *                                        `--v--'   `---v---'                node(l, 64) = rows l, l + 64, l + 128, ...
 *                                        node(0,32) node(16,32)
 * Owner: as cpu_reduce.h. Threads: thread-safe. */

#define TREE_NAME(x) BODY_NAME(x)
#define TREE_IN BODY_IN
#define TREE_ACC BODY_ACC
#define TREE_OP(a, b) BODY_OP(a, b)
#define TREE_IDENTITY BODY_IDENTITY
#include "cpu/cpu_reduce_tree.h"

/* One copy of the loops for sizes that are known late; what follows calls these. */
static __attribute__((noinline)) void BODY_NAME(add)(BODY_ACC *acc, const BODY_IN *x, int64_t rounds, int64_t stride, int64_t count)
{
    BODY_NAME(steps)(acc, x, rounds, stride, count);
}

static __attribute__((noinline)) void BODY_NAME(add_lanes)(BODY_ACC *acc, const BODY_IN *x, int64_t rounds)
{
    BODY_NAME(steps)(acc, x, rounds, GANTRY_REDUCE_LANES, GANTRY_REDUCE_LANES);
}

static __attribute__((noinline)) void BODY_NAME(fold_columns)(BODY_ACC *acc, int64_t lanes, int64_t columns)
{
    BODY_NAME(fold)(acc, lanes, columns);
}

static __attribute__((noinline)) void BODY_NAME(join)(BODY_ACC *restrict a, const BODY_ACC *restrict b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        a[i] = BODY_OP(a[i], b[i]);
    }
}

/* A Mean's last step. */
static inline void BODY_NAME(finish)(const gantry__cpu_reduce_plan_t *plan, BODY_ACC *out, int64_t count)
{
    if (plan->divisor == 0) {
        return;
    }
    BODY_ACC divisor = (BODY_ACC)plan->divisor;
    for (int64_t i = 0; i < count; i++) {
        out[i] = out[i] / divisor;
    }
}

/* ---- small ---- */

static void BODY_NAME(small_rows)(const gantry__cpu_reduce_plan_t *plan, int64_t row, int64_t rows)
{
    BODY_ACC turned[32 * GANTRY_REDUCE_LANES];
    const int64_t width = GANTRY_REDUCE_LANES;
    int64_t length = plan->shape.length;
    const BODY_IN *in = (const BODY_IN *)plan->in + row * length;
    BODY_ACC *out = (BODY_ACC *)plan->out + row;
    int64_t half = 1;
    if (rows < width) {
        BODY_NAME(fill)(turned, length * width);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < length; k++) {
            BODY_ACC value = (BODY_ACC)in[i * length + k];
            turned[k * width + i] = BODY_OP(BODY_IDENTITY, value);
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
    BODY_NAME(finish)(plan, turned, rows);
    memcpy(out, turned, (size_t)rows * sizeof *out);
}

static void BODY_NAME(small)(const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row += GANTRY_REDUCE_LANES) {
        BODY_NAME(small_rows)(plan, row, end - row < GANTRY_REDUCE_LANES ? end - row : GANTRY_REDUCE_LANES);
    }
}

/* ---- narrow ---- */

#define BODY_LANES_BYTES (GANTRY_REDUCE_LANES * GANTRY_CPU_REDUCE_NARROW_BYTES)

/* Rows [row, row + rows) of the sequence, brought together at target. */
static void BODY_NAME(gather)(const gantry__cpu_reduce_plan_t *plan, const BODY_IN *base, int64_t row, int64_t rows, BODY_IN *target)
{
    const gantry__reduce_axes_t *reduced = &plan->shape.reduced;
    int64_t columns = plan->shape.columns;
    int64_t run = reduced->dims[reduced->rank - 1];
    while (rows > 0) {
        int64_t piece = run - row % run < rows ? run - row % run : rows;
        memcpy(target, base + gantry__reduce_offset(reduced, row), (size_t)(piece * columns) * sizeof *target);
        target += piece * columns;
        row += piece;
        rows -= piece;
    }
}

/* Adds rows that lie side by side, the first of which belongs to lane 0. */
static inline void BODY_NAME(add_rows)(BODY_ACC *acc, const BODY_IN *x, int64_t rows, int64_t columns)
{
    int64_t period = GANTRY_REDUCE_LANES * columns;
    int64_t rounds = rows / GANTRY_REDUCE_LANES;
    if (columns == 1) {
        BODY_NAME(add_lanes)(acc, x, rounds);
    } else {
        BODY_NAME(add)(acc, x, rounds, period, period);
    }
    BODY_NAME(add)(acc, x + rounds * period, 1, 0, (rows - rounds * GANTRY_REDUCE_LANES) * columns);
}

static void BODY_NAME(gathered)(const gantry__cpu_reduce_plan_t *plan, const BODY_IN *base, int64_t row, int64_t rows, BODY_ACC *acc)
{
    _Alignas(64) BODY_IN buffer[BODY_LANES_BYTES / sizeof(BODY_IN)];
    int64_t columns = plan->shape.columns;
    int64_t period = GANTRY_REDUCE_LANES * columns;
    int64_t room = (int64_t)(sizeof buffer / sizeof buffer[0]) / period * GANTRY_REDUCE_LANES;
    for (int64_t done = 0; done < rows; done += room) {
        int64_t piece = rows - done < room ? rows - done : room;
        BODY_NAME(gather)(plan, base, row + done, piece, buffer);
        BODY_NAME(add_rows)(acc, buffer, piece, columns);
    }
}

static void BODY_NAME(narrow)(const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end)
{
    _Alignas(64) BODY_ACC acc[BODY_LANES_BYTES / sizeof(BODY_ACC)];
    const gantry__reduce_shape_t *shape = &plan->shape;
    int64_t columns = shape->columns;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t row = unit % plan->chunks * GANTRY_REDUCE_CHUNK;
        int64_t rows = shape->length - row < GANTRY_REDUCE_CHUNK ? shape->length - row : GANTRY_REDUCE_CHUNK;
        const BODY_IN *base = (const BODY_IN *)plan->in + gantry__reduce_offset(&shape->kept, unit / plan->chunks);
        int64_t lanes = GANTRY_REDUCE_LANES;
        while (lanes / 2 >= rows) {
            lanes /= 2;
        }
        BODY_NAME(fill)(acc, lanes * columns);
        if (shape->reduced.rank == 1) {
            BODY_NAME(add_rows)(acc, base + row * columns, rows, columns);
        } else {
            BODY_NAME(gathered)(plan, base, row, rows, acc);
        }
        BODY_NAME(fold_columns)(acc, lanes, columns);
        BODY_NAME(finish)(plan, acc, columns);
        memcpy((BODY_ACC *)plan->out + unit * columns, acc, (size_t)columns * sizeof *acc);
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

/* Sums the rows of one lane into target. */
static void BODY_NAME(lane)(const BODY_NAME(wide_t) * wide, int64_t lane, BODY_ACC *target)
{
    BODY_NAME(fill)(target, wide->width);
    if (wide->reduced->rank == 1) {
        int64_t stride = wide->reduced->strides[0];
        int64_t rounds = (wide->rows - lane + GANTRY_REDUCE_LANES - 1) / GANTRY_REDUCE_LANES;
        BODY_NAME(add)(target, wide->base + (wide->row + lane) * stride, rounds, stride * GANTRY_REDUCE_LANES, wide->width);
        return;
    }
    for (int64_t row = lane; row < wide->rows; row += GANTRY_REDUCE_LANES) {
        BODY_NAME(add)(target, wide->base + gantry__reduce_offset(wide->reduced, wide->row + row), 1, 0, wide->width);
    }
}

/* Lanes first, first + apart, first + 2 apart, ... folded into target; stack has room for one row per fold that is still open. */
static void BODY_NAME(node)(const BODY_NAME(wide_t) * wide, int64_t first, int64_t apart, BODY_ACC *target, BODY_ACC *stack)
{
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
    _Alignas(64) BODY_ACC stack[6 * GANTRY_CPU_REDUCE_ROW_BYTES / sizeof(BODY_ACC)];
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
        BODY_ACC *out = (BODY_ACC *)plan->out + sequence * shape->columns + column;
        BODY_NAME(node)(&wide, 0, 1, out, stack);
        BODY_NAME(finish)(plan, out, wide.width);
    }
}

static void BODY_NAME(run)(const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end)
{
    const gantry__reduce_shape_t *shape = &plan->shape;
    if (shape->columns * (int64_t)sizeof(BODY_ACC) > GANTRY_CPU_REDUCE_NARROW_BYTES) {
        BODY_NAME(wide)(plan, begin, end);
    } else if (shape->columns == 1 && shape->length <= 32 && end - begin > 4 && shape->reduced.rank == 1 && shape->kept.rank == 1) {
        BODY_NAME(small)(plan, begin, end);
    } else {
        BODY_NAME(narrow)(plan, begin, end);
    }
}

#undef BODY_LANES_BYTES
#undef BODY_NAME
#undef BODY_IN
#undef BODY_ACC
#undef BODY_OP
#undef BODY_IDENTITY
